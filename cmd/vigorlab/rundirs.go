package main

import (
	"encoding/json"
	"fmt"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

// record returns what run.json says of a run; specs are all that its results
// depend on.
func (c *common) record(a *app, command string, line *commandLine, specs output.Object) (rundir.Record, error) {
	specs.Add("seed", c.seed)
	resolved, err := json.Marshal(specs)
	return rundir.Record{
		Schema: output.Schema, Version: version, Revision: sourceRevision(), Command: command,
		CommandLine: append([]string{"vigorlab"}, a.args...), Reproduce: line.String(),
		Specs: resolved, Seed: c.seed, Workers: c.workers,
	}, err
}

// oneShot runs work inside the run directory of --out, or with nil where
// there is none.
func (c *common) oneShot(record rundir.Record, work func(*rundir.Dir) error) error {
	if c.out == "" {
		return work(nil)
	}
	d, err := rundir.Create(c.out, record, c.force)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return d.End(work(d))
}

// warn prints warnings to stderr, unless --quiet.
func (c *common) warn(a *app, warnings []string) {
	if c.quiet {
		return
	}
	for _, w := range warnings {
		fmt.Fprintf(a.stderr, "vigorlab: warning: %s\n", w)
	}
}

// long runs work inside the run directory of --out, going on with what an
// interrupted run left there, or with nil where there is none.
func (c *common) long(record rundir.Record, work func(*rundir.Dir) error) error {
	if c.out == "" {
		return work(nil)
	}
	d, _, err := rundir.Resume(c.out, record, c.force)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return d.End(work(d))
}
