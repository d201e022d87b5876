package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A CommandError is a command of Slurm that cannot be run, or that fails.
type CommandError struct {
	Command string
	Said    string // what it wrote to its standard error
	Err     error
	Hint    string // the next step, or ""
}

func (e *CommandError) Error() string {
	if e.Said != "" {
		return e.Command + ": " + e.Said
	}
	return e.Command + ": " + e.Err.Error()
}

func (e *CommandError) Unwrap() error { return e.Err }

// slowest bounds a command of Slurm: they try again for themselves where the
// controller does not answer, for some ten seconds.
const slowest = 2 * time.Minute

// hints have the next step for what Slurm's commands say.
var hints = []struct{ said, hint string }{
	{"Unable to contact slurm controller", "see whether the cluster's controller is up: scontrol ping"},
	{"configuration source", "this machine is of no cluster: log in to one that is, or set SLURM_CONF"},
	{"job submit limit", "fewer tasks: --shards N"},
	{"QOSMaxSubmitJobPerUserLimit", "fewer tasks: --shards N"},
	{"AssocMaxSubmitJobLimit", "fewer tasks: --shards N"},
	{"nvalid account", "the accounts that are yours: sacctmgr show associations user=$USER"},
	{"nvalid partition", "the cluster's partitions: sinfo --summarize"},
	{"node configuration is not available", "ask for less: --memory, --cpus; what nodes have: sinfo --Node --long"},
	{"time limit", "ask for less: --time; what partitions allow: sinfo --summarize"},
}

// run runs a command of Slurm and returns what it prints.
func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", &CommandError{name, "", errors.New("it is not on PATH"), "run this on a login node of a Slurm cluster, or take --engine local; --print-script is for other schedulers"}
	case ctx.Err() != nil:
		return "", &CommandError{name, "", ctx.Err(), ""}
	}
	said := complaints(name, stderr.String())
	failure := &CommandError{name, said, err, ""}
	for _, h := range hints {
		if strings.Contains(said, h.said) {
			failure.Hint = h.hint
			break
		}
	}
	return "", failure
}

// complaints returns what a command complained of, in one line.
func complaints(name, stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{name + ": ", "error: ", "fatal: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// submit submits an array and returns its number.
func (j Job) submit(ctx context.Context, a array) (int, error) {
	printed, err := run(ctx, "sbatch", append([]string{"--parsable"}, j.arguments(a)...)...)
	if err != nil {
		return 0, err
	}
	number, _, _ := strings.Cut(strings.TrimSpace(printed), ";") // number;cluster
	id, err := strconv.Atoi(number)
	if err != nil {
		return 0, &CommandError{"sbatch", fmt.Sprintf("it printed %q, want the number of a job", printed), err, ""}
	}
	return id, nil
}

// Cancel ends the job's tasks, of whatever array: those that wait and those that run.
func (j Job) Cancel(ctx context.Context, tasks []int) error {
	size, err := arraySize(ctx)
	if err != nil {
		return err
	}
	for _, a := range arrays(tasks, size) {
		if _, err := run(ctx, "scancel", "--name="+j.name(a.base)); err != nil {
			return err
		}
	}
	return nil
}

var maxArraySize = regexp.MustCompile(`(?m)^MaxArraySize\s*=\s*(\d+)`)

// arraySize returns how many indices, from 0, an array of the cluster has at most.
func arraySize(ctx context.Context) (int, error) {
	printed, err := run(ctx, "scontrol", "show", "config")
	if err != nil {
		return 0, err
	}
	if m := maxArraySize.FindStringSubmatch(printed); m != nil {
		if size, err := strconv.Atoi(m[1]); err == nil && size >= 1 {
			return min(size, most), nil
		}
	}
	return most, nil
}
