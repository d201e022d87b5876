package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim/verify"
)

// liveSpecs is what run.json of rollout says of the run.
type liveSpecs struct {
	Source   string `json:"source"` // synthetic:..., table:... or live
	Model    string `json:"model"`  // of a server
	Strategy string `json:"strategy"`
	Batch    int    `json:"batch"`
	Holdout  int    `json:"holdout"`
}

// streams returns the name of the run's streams, as rollout names them.
func (s *liveSpecs) streams() string {
	kind, rest, _ := strings.Cut(s.Source, ":")
	switch kind {
	case sourceSynthetic:
		return rest
	case sourceTable:
		if t, err := spec.Parse(s.Source); err == nil {
			path, _ := spec.NewArgs(t).Text("path")
			return filepath.Base(path)
		}
	}
	return s.Model
}

// readLive reads the run of --live and returns what names it; nil for none.
func (f *verifyFlags) readLive(ctx context.Context, cfg *verify.Config) output.Object {
	if f.live == "" {
		return nil
	}
	subject := "--live " + shown(f.live) + ":"
	record, specs, err := f.liveRecord()
	if err != nil {
		f.add(subject, err)
		return nil
	}
	t, digest, err := readTable(ctx, filepath.Join(f.live, "table.csv"))
	if err == nil {
		err = fits(t, specs)
	}
	if err != nil {
		f.add(subject, err)
		return nil
	}
	l := &verify.Live{
		Name: f.live, Strategy: specs.Strategy, Holdout: specs.Holdout,
		Key: batchKey(record.Seed, specs.streams(), specs.Batch),
	}
	for _, row := range t.Rows {
		l.Outcomes = append(l.Outcomes, row.Outcomes)
	}
	if _, err := l.Observe(ctx); err != nil {
		f.add(subject, err)
		f.hint("make the run anew, in another directory: " + record.Reproduce)
		return nil
	}
	cfg.Live = l
	return output.Object{{Key: "path", Value: f.live}, {Key: "sha256", Value: digest}}
}

// liveRecord returns what run.json says of a complete run of rollout.
func (f *verifyFlags) liveRecord() (*rundir.Record, *liveSpecs, error) {
	record, err := rundir.Read(f.live)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.hint("vigorlab rollout ... --out DIR makes one")
		return nil, nil, errors.New("no run.json there, want the directory of a run of rollout")
	case err != nil:
		return nil, nil, err
	case record.Command != "rollout":
		f.hint("vigorlab rollout ... --out DIR makes one")
		return nil, nil, fmt.Errorf("holds a run of %s, want one of rollout", shown(record.Command))
	case record.Status != rundir.Complete:
		f.hint("this completes it: " + record.Reproduce + " --out " + quote(f.live))
		return nil, nil, fmt.Errorf("holds a run that is %s, want a complete one", shown(record.Status))
	}
	specs := new(liveSpecs)
	if err := json.Unmarshal(record.Specs, specs); err != nil {
		return nil, nil, fmt.Errorf("run.json: %w", err)
	}
	return record, specs, nil
}

// fits says why a table is not that of a run.
func fits(t *table.Table, s *liveSpecs) error {
	if len(t.Rows) != s.Batch {
		return fmt.Errorf("table.csv has %d prompts of a batch of %d, want all: prompts without rollouts leave no trace", len(t.Rows), s.Batch)
	}
	for _, row := range t.Rows {
		if len(row.Outcomes) != row.N {
			return fmt.Errorf("table.csv: prompt %s has no single outcomes, want the table that rollout wrote", row.PromptID)
		}
	}
	return nil
}
