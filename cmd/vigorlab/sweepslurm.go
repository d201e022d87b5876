package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/slurm"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// engineSlurm is the engine of a cluster.
const engineSlurm = "slurm"

// taskSeconds is how long a task of a cluster takes about, by default: much longer than
// it takes a cluster to begin one.
const taskSeconds = 60

// slurmFlags are what a sweep asks of a cluster.
type slurmFlags struct {
	slurm.Options
	script bool // it is printed, and nothing submitted
	cancel bool
}

func (s *slurmFlags) register(f *pflag.FlagSet, c *common) {
	text := func(target *string, name, usage string) {
		f.Var(&textFlag{target, name, "what sbatch takes", &c.faults}, name, usage)
	}
	text(&s.Account, "account", "slurm: the `ACCOUNT` that pays")
	text(&s.Partition, "partition", "slurm: the `PARTITION`")
	text(&s.Time, "time", "slurm: most wall-clock `TIME` of a task: minutes, H:MM:SS, D-H")
	text(&s.Memory, "memory", "slurm: `MEMORY` of a task, such as 4G")
	c.whole(f, &s.CPUs, "cpus", 1, 4096, "slurm: `N` processors of a task, which runs as many points at once (default 1)")
	f.BoolVar(&s.cancel, "cancel-on-interrupt", false, "slurm: Ctrl-C cancels the tasks; without this they go on, and the same command finds them again")
	f.BoolVar(&s.script, "print-script", false, "slurm: prepare DIR, print the batch script and the lines that submit it, and submit nothing")
}

// resolve adds what the sweep's file says where no flag was given, and checks it all.
func (s *slurmFlags) resolve(path string, file sweep.Slurm, f *faults) {
	for _, e := range flatten(s.Check()) {
		f.addf("--%w", e)
	}
	theirs := slurm.Options{Account: file.Account, Partition: file.Partition, Time: file.Time, Memory: file.Memory, CPUs: file.CPUs, Setup: file.Setup}
	for _, e := range flatten(theirs.Check()) {
		f.addf("%s: slurm.%w", path, e)
	}
	for _, o := range []struct{ mine, theirs *string }{
		{&s.Account, &theirs.Account},
		{&s.Partition, &theirs.Partition},
		{&s.Time, &theirs.Time},
		{&s.Memory, &theirs.Memory},
	} {
		if *o.mine == "" {
			*o.mine = *o.theirs
		}
	}
	if s.CPUs == 0 {
		s.CPUs = theirs.CPUs
	}
	s.Setup = theirs.Setup
}

// checkEngine refuses flags that are of the other engine.
func (f *sweepFlags) checkEngine(flags *pflag.FlagSet) {
	if f.engine == engineSlurm || f.cluster.script {
		return
	}
	for _, name := range []string{"account", "partition", "time", "memory", "cpus", "cancel-on-interrupt"} {
		if flags.Changed(name) {
			f.addf("--%s is for --engine slurm", name)
		}
	}
}

// job returns the sweep's tasks as a job of a cluster. Its name is of this sweep, in
// this directory, in these shards.
func (f *sweepFlags) job(s *sweep.Sweep, executable string) slurm.Job {
	command := []string{executable, "sweep", "task", s.Dir, "--workers", fmt.Sprint(max(1, f.cluster.CPUs)), "--shard"}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", s.Dir, s.Digest, len(s.Shards)))
	return slurm.Job{
		Name:    fmt.Sprintf("vigorlab-%x", sum[:6]),
		Command: command,
		Dir:     filepath.Join(s.Dir, "slurm"),
		Options: f.cluster.Options,
	}
}

// A slurmEngine runs the tasks of a sweep on a cluster.
type slurmEngine struct {
	job    slurm.Job
	sweep  *sweep.Sweep
	cancel bool // its tasks with the end of the context
	show   func(slurm.Progress)
	notice func(string)
}

var _ sweep.Engine = (*slurmEngine)(nil)

// Run implements sweep.Engine.
func (e *slurmEngine) Run(ctx context.Context, tasks []sweep.Task) error {
	shards := numbers(tasks)
	err := e.job.Run(ctx, shards, slurm.Watch{Done: e.sweep.Sound, Show: e.show, Notice: e.notice})
	if ctx.Err() == nil {
		return shardErrors(err)
	}
	if !e.cancel {
		e.notice("tasks go on on the cluster; the same command finds them again, with --cancel-on-interrupt and Ctrl-C it cancels them")
		return ctx.Err()
	}
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	return errors.Join(ctx.Err(), e.job.Cancel(late, shards))
}

// numbers returns the shards of tasks.
func numbers(tasks []sweep.Task) []int {
	shards := make([]int, len(tasks))
	for i, t := range tasks {
		shards[i] = t.Shard
	}
	return shards
}

// A shardError is the end of a task, which is a shard.
type shardError struct{ *slurm.EndError }

func (e *shardError) Error() string { return fmt.Sprintf("shard %04d %s", e.Task, e.Why) }
func (e *shardError) Unwrap() error { return e.EndError }

// shardErrors says shard where a cluster says task, and names some where many fail.
func shardErrors(err error) error {
	const most = 10 // that are named
	var errs []error
	all := flatten(err)
	for i, e := range all {
		var end *slurm.EndError
		if i == most {
			errs = append(errs, fmt.Errorf("and %d more", len(all)-most))
			break
		}
		if errors.As(e, &end) {
			e = &shardError{end}
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// slurmEngine returns the engine of a sweep.
func (f *sweepFlags) slurmEngine(a *app, s *sweep.Sweep, executable string, bar *progress.Bar) *slurmEngine {
	return &slurmEngine{
		job: f.job(s, executable), sweep: s, cancel: f.cluster.cancel,
		show: func(p slurm.Progress) { bar.Note(fmt.Sprintf("%d tasks run, %d wait", p.Running, p.Waiting)) },
		notice: func(text string) {
			if !f.quiet {
				bar.Beside(func() { fmt.Fprintf(a.stderr, "vigorlab: slurm: %s\n", text) })
			}
		},
	}
}

// errPrinted ends a sweep whose script is printed, and whose tasks others run.
var errPrinted = errors.New("the script is printed")

// printScript prints the batch script, how to submit it, and how to go on.
func (f *sweepFlags) printScript(ctx context.Context, a *app, s *sweep.Sweep, tasks []sweep.Task, executable string) error {
	job := f.job(s, executable)
	if err := job.WriteScript(); err != nil {
		return err
	}
	text, err := job.Script()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(text)
	fmt.Fprintf(&b, "\n# This is %s. To submit it:\n#\n", job.ScriptFile())
	lines, size, known := job.Lines(ctx, numbers(tasks))
	for _, line := range lines {
		fmt.Fprintf(&b, "#   %s\n", line)
	}
	if !known && len(tasks) > 1 {
		fmt.Fprintf(&b, "#\n# No cluster answers here; an array has indices below %d. Where yours takes fewer\n", size)
		b.WriteString("# (scontrol show config: MaxArraySize), add what is too much to the last number:\n# --array=120-130 ... 0 are the tasks of --array=20-30 ... 100.\n")
	}
	fmt.Fprintf(&b, "#\n# When all tasks have ended:\n#\n#   vigorlab sweep merge %s\n", quote(s.Dir))
	return errors.Join(write(a.stdout, []byte(b.String())), errPrinted)
}

// calibratedShards returns into how many shards points are dealt for tasks that are
// worth a cluster's while.
func (f *sweepFlags) calibratedShards(ctx context.Context, a *app, plan *sweep.Plan) (int, error) {
	executable, err := os.Executable()
	if err != nil {
		return 0, err
	}
	e, err := plan.Calibrate(ctx, executable)
	if err != nil {
		return 0, err
	}
	n := shardsOf(e, len(plan.Points))
	if !f.quiet {
		cost := "unknown cost"
		if about, _, _, _, ok := e.Cost(len(plan.Points), n); ok {
			cost = fmt.Sprintf("about %s, from timing %s", spell(about/float64(n)), several(len(e.Samples), "point"))
		}
		fmt.Fprintf(a.stderr, "vigorlab: %s in %s of %s; --shards chooses another number\n", several(len(plan.Points), "point"), several(n, "task"), cost)
	}
	return n, nil
}

// shardsOf returns into how many shards points of such a cost are dealt.
func shardsOf(e *sweep.Estimate, points int) int {
	return min(e.Shards(points, taskSeconds), maxShards)
}
