package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// engineLocal is the engine of this machine's cores.
const engineLocal = "local"

type sweepFlags struct {
	common
	engine string
	shards int
	retry  bool
	show   bool

	cluster slurmFlags
}

func newSweep(a *app) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE.toml --out DIR",
		Short: "Run a command at every point of a grid, a list or a random search",
		Long: `sweep runs simulate, compare, train, verify or plan once for every point that FILE.toml
names, each in a process of its own, and makes one table of what they print. The file has
a command, flags that are the same for all points, and axes:

  command = "simulate"
  [flags]
  population = "pareto-variance:shape={shape},min=0.01,max=1"
  replicates = 200
  [grid]
  shape = [1.2, 1.5, 2]
  alpha = {from = 0.3, to = 0.6, step = 0.1}
  strategy = ["vigor:alpha={alpha}", "vigor:alpha={alpha},rounds=3"]

An axis goes where {its name} stands, or else to the flag of its name. [grid] has every
combination, the last axis moving fastest, from lists, {from, to, step} or {from, to, count,
log}; beside it or in its place stand list = [{shape = 1.2, alpha = 0.3}, ...], points by
name, and [random] with n, seed and axes.alpha = {min, max, log, whole} or a list. A list
as a value gives a repeatable flag several times: strategy = ["vigor", "fixed:g=8"] under
[flags] are two strategies of every point, under [grid] points of one each. args = ["FILE"]
are arguments that are no flags, as the table of plan; only = ["2", "4"] under [grid], with
quick = true under [flags], are rungs of verify. Seeds are those of the flags: points of
one population meet the same prompts.

A point that fails is a row with its error. The table is the same, to the last byte, for
any number of shards and workers, and whatever was killed on the way: the same command
again runs only the shards that are missing or not as they were written. Times of this
machine (select_ns of compare) are left out.

--engine slurm submits the shards as job arrays, follows them by squeue, begins those
again whose node is lost, and makes the table. DIR and vigorlab must be where the nodes
see them. What a task asks for are flags, or a table of the file; setup is lines of bash
that run before it:

  [slurm]
  account = "lab"
  partition = "cpu"
  time = "2:00:00"
  memory = "2G"
  setup = ["module load go"]

By default a task has points for about a minute. Ctrl-C leaves tasks on the cluster, and
the same command finds them there, unless --cancel-on-interrupt is given.`,
		Example: `  # the points, and what they cost, from timing a few of them
  vigorlab sweep grid.toml --print

  # run them; again where it was interrupted
  vigorlab sweep grid.toml --out grid

  # which points are done, have failed or are missing
  vigorlab sweep status grid

  # for a scheduler of your own: the batch script, and how to submit it
  vigorlab sweep grid.toml --out byhand --shards 2 --print-script`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("", "%d arguments, want one file: vigorlab sweep FILE.toml --out DIR", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.checkEngine(cmd.Flags())
			return f.run(cmd.Context(), a, args[0])
		},
	}
	flags := cmd.Flags()
	f.choice(flags, &f.engine, "engine", []string{engineLocal, engineSlurm}, "`ENGINE` that runs the tasks")
	f.whole(flags, &f.shards, "shards", 1, maxShards, "deal the points to `N` shards, each a task (default a shard a point, at most 1000)")
	flags.BoolVar(&f.show, "print", false, "show the points, their number and what they cost, and run nothing else")
	flags.BoolVar(&f.retry, "retry-failed", false, "run the shards again in which a point failed")
	f.workers = defaultWorkers()
	f.whole(flags, &f.workers, "workers", 1, 4096, "`N` tasks at once; the results do not depend on it")
	flags.Lookup("workers").DefValue = "all cores"
	f.registerFormat(flags)
	flags.Var(&textFlag{&f.out, "out", "a directory", &f.faults}, "out", "write a run directory `DIR`: run.json, results, shards")
	flags.BoolVar(&f.force, "force", false, "replace what an earlier run wrote")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress and no warnings on standard error")
	f.cluster.register(flags, &f.common)
	cmd.AddCommand(newSweepStatus(a), newSweepMerge(a), newSweepTask())
	for _, sub := range cmd.Commands() {
		sub.DisableFlagsInUseLine = true
		sub.Flags().SortFlags = false
	}
	return cmd
}

// maxShards bounds the tasks of a sweep by what a folder and a scheduler like.
const maxShards = 10_000

// defaultShards is the number of shards of a sweep on this machine: a task costs
// little there, and one that is killed loses its points.
func defaultShards(points int) int { return min(points, 1000) }

func (f *sweepFlags) run(ctx context.Context, a *app, path string) error {
	plan := f.read(ctx, path)
	if f.out == "" && !f.show {
		f.addf("--out is missing, want a directory for the results, or --print")
	}
	if plan != nil {
		f.cluster.resolve(path, plan.Slurm, &f.faults)
	}
	if err := f.err(); err != nil {
		return err
	}
	if f.show {
		return f.printPlan(ctx, a, plan)
	}
	line := newCommandLine("sweep")
	line.argument(path)
	digest, err := plan.Digest()
	if err != nil {
		return err
	}
	f.seed = plan.Seed
	record, err := f.record(a, "sweep", line, output.Object{
		{Key: "command", Value: plan.Name},
		{Key: "points", Value: len(plan.Points)},
		{Key: "axes", Value: plan.Axes},
		{Key: "files", Value: append([]sweep.Input{}, plan.Inputs...)},
		{Key: "digest", Value: digest},
	})
	if err != nil {
		return err
	}
	if err := f.reopen(digest); err != nil {
		return err
	}
	var s *sweep.Sweep
	if err := f.long(record, func(d *rundir.Dir) error {
		if s, err = f.open(ctx, a, d, plan, digest); err != nil {
			return err
		}
		err := f.finish(ctx, a, d, s)
		if err != nil && !errors.Is(err, errPrinted) {
			err = &stoppedError{err, f.out, "every finished shard"}
		}
		return err
	}); err != nil {
		if errors.Is(err, errPrinted) {
			return nil
		}
		return err
	}
	return f.print(a, s, line.String())
}

// read reads the sweep's file and checks it against the flags of the command.
func (f *sweepFlags) read(ctx context.Context, path string) *sweep.Plan {
	in, err := opener(ctx)(path)
	if err != nil {
		f.addf("%w", err)
		return nil
	}
	content, err := io.ReadAll(in)
	if err := errors.Join(err, in.Close()); err != nil {
		f.addf("%s: %w", path, err)
		return nil
	}
	plan, err := sweep.New(content, sweepable())
	if err != nil {
		f.add(path+":", err)
		return nil
	}
	f.add(path+":", checkFlags(plan))
	f.add(path+":", plan.FindInputs())
	return plan
}

// reopen makes a complete run of the same points incomplete where something is left to do.
func (f *sweepFlags) reopen(digest string) error {
	r, err := rundir.Read(f.out)
	if err != nil || r.Status != rundir.Complete || f.force {
		return nil // what is wrong there is found when the directory is taken
	}
	s, err := sweep.Open(f.out)
	if err != nil || s.Digest != digest || s.Version != version || s.Revision != sourceRevision() {
		return nil // likewise
	}
	shards, _, err := s.Scan()
	if err != nil {
		return err
	}
	if len(s.Missing(shards)) > 0 {
		return rundir.Reopen(f.out)
	}
	switch failed := failures(shards); {
	case failed == 0:
		return nil
	case !f.retry:
		return usagef("--retry-failed runs them again, --force all points", "--out %s holds a complete run, in which %d of %d points failed", f.out, failed, len(s.Points))
	}
	return rundir.Reopen(f.out)
}

func failures(shards []sweep.Shard) int {
	n := 0
	for _, k := range shards {
		n += len(k.Failed)
	}
	return n
}

// open returns the sweep of the run directory, which it writes there first where there
// is none.
func (f *sweepFlags) open(ctx context.Context, a *app, d *rundir.Dir, plan *sweep.Plan, digest string) (*sweep.Sweep, error) {
	_, err := os.Stat(d.Path(sweep.PlanFile))
	if errors.Is(err, os.ErrNotExist) {
		folder, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if f.shards == 0 && (f.engine == engineSlurm || f.cluster.script) {
			if f.shards, err = f.calibratedShards(ctx, a, plan); err != nil {
				return nil, err
			}
		}
		s := &sweep.Sweep{
			Digest: digest, Version: version, Revision: sourceRevision(), Folder: folder,
			Shards: f.deal(plan), Plan: *plan,
		}
		content, err := s.Encode()
		if err != nil {
			return nil, err
		}
		if err := d.Write(sweep.PlanFile, content); err != nil {
			return nil, err
		}
	}
	s, err := sweep.Open(d.Path("."))
	if err != nil {
		return nil, fmt.Errorf("%w; replace the run with --force", err)
	}
	if n := len(s.Shards); f.shards != 0 && f.shards != n {
		f.warn(a, []string{fmt.Sprintf("%s has %d shards already; --shards %d is for a new directory", f.out, n, f.shards)})
	}
	if s.Digest != digest {
		return nil, fmt.Errorf("%s is of other points than the file; name another directory, or replace the run with --force", d.Path(sweep.PlanFile))
	}
	return s, nil
}

// deal deals the points to shards.
func (f *sweepFlags) deal(plan *sweep.Plan) []sweep.Span {
	n := f.shards
	if n == 0 {
		n = defaultShards(len(plan.Points))
	}
	return sweep.Deal(len(plan.Points), n)
}

// finish runs what is missing and merges.
func (f *sweepFlags) finish(ctx context.Context, a *app, d *rundir.Dir, s *sweep.Sweep) error {
	shards, strays, err := s.Scan()
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		return fmt.Errorf("%s: %s; take it away", filepath.Join(f.out, sweep.ShardsDir), strings.Join(strays, "; "))
	}
	for _, k := range shards {
		if k.Fault != "" {
			fmt.Fprintf(a.stderr, "vigorlab: shard %04d is run again: %s\n", k.Number, k.Fault)
		}
		if k.Fault != "" || f.retry && len(k.Failed) > 0 {
			if err := s.Forget(k.Number); err != nil {
				return err
			}
		}
	}
	if shards, _, err = s.Scan(); err != nil {
		return err
	}
	if err := f.work(ctx, a, s, s.Missing(shards), len(shards)); err != nil {
		return err
	}
	return mergeInto(d, s)
}

// work runs tasks and shows how far they are.
func (f *sweepFlags) work(ctx context.Context, a *app, s *sweep.Sweep, tasks []sweep.Task, total int) error {
	if len(tasks) == 0 {
		return nil
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	if f.cluster.script {
		return f.printScript(ctx, a, s, tasks, executable)
	}
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	go watch(watched, s, bar, total)
	var engine sweep.Engine = &sweep.Local{Executable: executable, Workers: f.workers}
	if f.engine == engineSlurm {
		engine = f.slurmEngine(a, s, executable, bar)
	}
	return engine.Run(ctx, tasks)
}

// watch shows how many shards are finished until ctx ends.
func watch(ctx context.Context, s *sweep.Sweep, bar *progress.Bar, total int) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		bar.Show("shards", s.Finished(), total)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// mergeInto writes the merged table as the results of the run.
func mergeInto(d *rundir.Dir, s *sweep.Sweep) error {
	if err := errors.Join(s.Whole(), s.Tidy()); err != nil {
		return err
	}
	for _, file := range mergedFiles(s) {
		if err := d.WriteWith(file.name, file.write); err != nil {
			return err
		}
	}
	return nil
}

// A mergedFile is a file of the merged table.
type mergedFile struct {
	name  string
	write func(io.Writer) error
}

func mergedFiles(s *sweep.Sweep) []mergedFile {
	return []mergedFile{
		{"results.csv", s.WriteCSV},
		{"results.parquet", s.WriteParquet},
		{"results.json", func(w io.Writer) error { return sweepDocument(w, s) }},
	}
}

// isMerged reports whether the files of a directory are the merged table of its shards,
// which must be sound.
func isMerged(dir string, s *sweep.Sweep) (bool, error) {
	for _, file := range mergedFiles(s) {
		want := sha256.New()
		if err := file.write(want); err != nil {
			return false, err
		}
		content, err := os.ReadFile(filepath.Join(dir, file.name))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if sum := sha256.Sum256(content); !bytes.Equal(sum[:], want.Sum(nil)) {
			return false, nil
		}
	}
	return true, nil
}

// sweepDocument writes the sweep's JSON document, its rows last.
func sweepDocument(w io.Writer, s *sweep.Sweep) error {
	shards, _, err := s.Scan()
	if err != nil {
		return err
	}
	failed := []sweep.Failure{}
	for _, k := range shards {
		failed = append(failed, k.Failed...)
	}
	o := header("sweep").Object()
	o.Add("of", s.Name)
	o.Add("points", len(s.Points))
	o.Add("failed", failed)
	o.Add("axes", s.Axes)
	o.Add("columns", s.Table())
	content, err := output.JSON(o)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(bytes.TrimSuffix(content, []byte("\n}\n")), ",\n  \"rows\": "...)); err != nil {
		return err
	}
	if err := s.WriteRows(w); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n}\n")
	return err
}

// print prints the merged table, or says where it is.
func (f *sweepFlags) print(a *app, s *sweep.Sweep, line string) error {
	shards, _, err := s.Scan()
	if err != nil {
		return err
	}
	if n := failures(shards); n > 0 {
		f.warn(a, []string{fmt.Sprintf("%d of %d points failed; vigorlab sweep status %s says why, and --retry-failed runs them again", n, len(s.Points), quote(f.out))})
	}
	name := map[string]string{formatCSV: "results.csv", formatJSON: "results.json"}[f.format]
	if name != "" {
		content, err := os.ReadFile(filepath.Join(f.out, name))
		if err != nil {
			return err
		}
		return write(a.stdout, content)
	}
	t := &output.Text{Colour: a.colour}
	t.Command(line)
	t.Line(fmt.Sprintf("%d points, %d failed: %s", len(s.Points), failures(shards), filepath.Join(f.out, "results.csv")))
	return write(a.stdout, t.Bytes())
}
