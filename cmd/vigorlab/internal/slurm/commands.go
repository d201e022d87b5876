package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// hints have the next step for what Slurm's commands say, the particular before the
// general: what breaks any limit is a breach of "job submit limit, user's size and/or
// time limits".
var hints = []struct{ said, hint string }{
	{"Unable to contact slurm controller", "see whether the cluster's controller is up: scontrol ping"},
	{"configuration source", "this machine is of no cluster: log in to one that is, or set SLURM_CONF"},
	{submitLimit, "you may have no more tasks on the cluster: give the same command again when others have ended, or have fewer, --shards N into another --out"},
	{"temporarily unable to accept job", "the cluster has as many jobs as it takes: give the same command again later, or have fewer tasks, --shards N into another --out"},
	{"WallDuration", "ask for less: --time; what you may ask for: sacctmgr show qos"},
	{"job submit limit", "ask for less: --time, --memory, --cpus; what you may ask for: sacctmgr show qos"},
	{"nvalid account", "the accounts that are yours: sacctmgr show associations user=$USER"},
	{"nvalid partition", "the cluster's partitions: sinfo --summarize"},
	{"nvalid qos", "what you may ask for: sacctmgr show qos; unset SBATCH_QOS where that is another cluster's"},
	{"node configuration is not available", "ask for less: --memory, --cpus; what nodes have: sinfo --Node --long"},
	{"time limit", "ask for less: --time; what partitions allow: sinfo --summarize"},
}

// submitLimit is in the names of all limits on how many jobs are submitted, of users,
// accounts and qualities of service: QOSMaxSubmitJobPerUserLimit, ...
const submitLimit = "SubmitJob"

// crowded reports whether sbatch refused tasks since there are too many on the cluster.
func crowded(err error) bool {
	var refused *CommandError
	return errors.As(err, &refused) && strings.Contains(refused.Said, submitLimit)
}

// misleading are variables that would make Slurm's commands do or show something else
// than they are asked for. Others of sbatch (SBATCH_QOS) are a user's own defaults.
var misleading = regexp.MustCompile(`^(SQUEUE_|SCANCEL_|SCONTROL_|SLURM_CLUSTERS=|SBATCH_(CLUSTERS|WAIT|ERROR|INPUT)=)`)

// environment returns the variables that Slurm's commands are given.
func environment() []string { return slices.DeleteFunc(os.Environ(), misleading.MatchString) }

// run runs a command of Slurm and returns what it prints.
func run(ctx context.Context, name string, args ...string) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(bounded, name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	said := complaints(name, stderr.String())
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", &CommandError{name, "", errors.New("it is not on PATH"), "run this on a login node of a Slurm cluster, or take --engine local; --print-script is for other schedulers"}
	case ctx.Err() != nil:
		return "", &CommandError{name, "", ctx.Err(), ""}
	case bounded.Err() != nil:
		said = strings.TrimSuffix(fmt.Sprintf("no answer in %v; %s", slowest, said), "; ")
	}
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
	printed, err := run(ctx, "sbatch", slices.Concat([]string{"--parsable"}, j.Options.arguments(), j.arguments(a))...)
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
