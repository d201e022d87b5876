package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
}

func newSweep(a *app) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE.toml --out DIR",
		Short: "Run a command at every point of a grid, on this machine",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("", "%d arguments, want one file: vigorlab sweep FILE.toml --out DIR", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0]) },
	}
	flags := cmd.Flags()
	f.choice(flags, &f.engine, "engine", []string{engineLocal}, "`ENGINE` that runs the tasks")
	f.whole(flags, &f.shards, "shards", 1, maxShards, "deal the points to `N` shards, each a task (default a shard a point, at most 1000)")
	flags.BoolVar(&f.retry, "retry-failed", false, "run the shards again in which a point failed")
	f.workers = defaultWorkers()
	f.whole(flags, &f.workers, "workers", 1, 4096, "`N` tasks at once; the results do not depend on it")
	flags.Lookup("workers").DefValue = "all cores"
	f.registerFormat(flags)
	flags.Var(&textFlag{&f.out, "out", "a directory", &f.faults}, "out", "write a run directory `DIR`: run.json, results, shards")
	flags.BoolVar(&f.force, "force", false, "replace what an earlier run wrote")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress and no warnings on standard error")
	cmd.AddCommand(newSweepTask())
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
	if f.out == "" {
		f.addf("--out is missing, want a directory for the results")
	}
	if err := f.err(); err != nil {
		return err
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
		{Key: "digest", Value: digest},
	})
	if err != nil {
		return err
	}
	if err := f.reopen(); err != nil {
		return err
	}
	var s *sweep.Sweep
	if err := f.long(record, func(d *rundir.Dir) error {
		if s, err = f.open(d, plan, digest); err != nil {
			return err
		}
		return f.finish(ctx, a, d, s)
	}); err != nil {
		return &stoppedError{err, f.out, "every finished shard"}
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
	return plan
}

// A runnable is a command that a sweep may run.
type runnable struct {
	make    func(*app) *cobra.Command
	columns []sweep.Column
	scale   string
	scaled  int
	timed   []string
}

func runnables() []runnable {
	tidy := columnsOf[output.Row]()
	return []runnable{
		{newSimulate, tidy, "replicates", 1000, nil},
		{newCompare, tidy, "replicates", 64, []string{"select_ns"}},
		{newTrain, columnsOf[trainRow](), "seeds", 16, nil},
		{newVerify, columnsOf[ladderRow](), "", 0, nil},
		{newPlan, tidy, "", 0, nil},
	}
}

// withheld are the flags that a sweep sets, or whose files every point would write.
var withheld = []string{"workers", "format", "out", "force", "quiet", "emit-table", "help"}

// sweepable returns the commands that a sweep may run.
func sweepable() []sweep.Command {
	var commands []sweep.Command
	for _, r := range runnables() {
		cmd := r.make(&app{})
		c := sweep.Command{Name: cmd.Name(), Columns: r.columns, Timed: r.timed, Scale: r.scale, Scaled: r.scaled, Args: cmd.Args != nil}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if slices.Contains(withheld, flag.Name) {
				return
			}
			kind := flag.Value.Type()
			c.Flags = append(c.Flags, sweep.Flag{
				Name: flag.Name, Switch: kind == "bool", Repeats: kind == "stringArray" || kind == "stringSlice",
			})
		})
		commands = append(commands, c)
	}
	return commands
}

// columnsOf returns the columns of a struct with parquet tags.
func columnsOf[R any]() []sweep.Column {
	var columns []sweep.Column
	for field := range reflect.TypeFor[R]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		columns = append(columns, sweep.Column{Name: name, Kind: map[reflect.Kind]sweep.Kind{
			reflect.String: sweep.Text, reflect.Int64: sweep.Whole, reflect.Uint64: sweep.Natural,
			reflect.Float64: sweep.Real, reflect.Bool: sweep.Truth,
		}[kind.Kind()]})
	}
	return columns
}

// checkFlags gives the command every flag that some point has, and returns what it
// says of them.
func checkFlags(plan *sweep.Plan) error {
	for _, r := range runnables() {
		cmd := r.make(&app{})
		if cmd.Name() != plan.Name {
			continue
		}
		if err := cmd.ParseFlags(plan.Given); err != nil {
			return err
		}
		return errors.Join(cmd.Flags().Lookup("seed").Value.(*seedFlag).faults.errs...)
	}
	return nil
}

// reopen makes a complete run incomplete where it has something left to do.
func (f *sweepFlags) reopen() error {
	r, err := rundir.Read(f.out)
	if err != nil || r.Status != rundir.Complete || f.force {
		return nil // what is wrong there is found when the directory is taken
	}
	s, err := sweep.Open(f.out)
	if err != nil {
		return nil // likewise
	}
	shards, _, err := s.Scan()
	if err != nil {
		return err
	}
	if len(s.Missing(shards)) == 0 && !(f.retry && failures(shards) > 0) {
		return nil
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
func (f *sweepFlags) open(d *rundir.Dir, plan *sweep.Plan, digest string) (*sweep.Sweep, error) {
	_, err := os.Stat(d.Path(sweep.PlanFile))
	if errors.Is(err, os.ErrNotExist) {
		folder, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		n := f.shards
		if n == 0 {
			n = defaultShards(len(plan.Points))
		}
		s := &sweep.Sweep{
			Digest: digest, Version: version, Revision: sourceRevision(), Folder: folder,
			Shards: sweep.Deal(len(plan.Points), n), Plan: *plan,
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
		return nil, err
	}
	if s.Digest != digest {
		return nil, fmt.Errorf("%s is of other points than the file; name another directory, or replace the run with --force", d.Path(sweep.PlanFile))
	}
	return s, nil
}

// finish runs what is missing and merges.
func (f *sweepFlags) finish(ctx context.Context, a *app, d *rundir.Dir, s *sweep.Sweep) error {
	shards, _, err := s.Scan()
	if err != nil {
		return err
	}
	for _, k := range shards {
		if k.Fault != "" {
			fmt.Fprintf(a.stderr, "vigorlab: shard %04d is run again: %s\n", k.Number, k.Fault)
		}
		if f.retry && len(k.Failed) > 0 {
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
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	go watch(watched, s, bar, total)
	engine := &sweep.Local{Executable: executable, Workers: f.workers}
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
	if err := s.Whole(); err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.csv", s.WriteCSV},
		{"results.parquet", s.WriteParquet},
		{"results.json", func(w io.Writer) error { return sweepDocument(w, s) }},
	} {
		if err := d.WriteWith(file.name, file.write); err != nil {
			return err
		}
	}
	return nil
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

// newSweepTask returns the hidden command that runs one shard.
func newSweepTask() *cobra.Command {
	var c common
	shard := 0
	cmd := &cobra.Command{
		Use:    "task DIR --shard N",
		Short:  "Run one shard of a sweep",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := sweep.Open(args[0])
			if err != nil {
				return usagef("", "%w", err)
			}
			if shard < 1 || shard > len(s.Shards) {
				c.addf("--shard = %d, want a whole number in [1, %d]", shard, len(s.Shards))
			}
			if s.Version != version || s.Revision != sourceRevision() {
				c.addf("%s was begun by vigorlab %s %s, this is %s %s", args[0], s.Version, s.Revision, version, sourceRevision())
			}
			if err := c.err(); err != nil {
				return err
			}
			executable, err := os.Executable()
			if err != nil {
				return err
			}
			return s.Run(cmd.Context(), executable, shard)
		},
	}
	c.whole(cmd.Flags(), &shard, "shard", 1, maxShards, "the shard `N`")
	return cmd
}
