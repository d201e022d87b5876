package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim/stream"
)

type fitFlags struct {
	common
	window     string
	families   []string
	replicates int
}

// allFamilies stands for every family in --family.
const allFamilies = "all"

func newFit(a *app) *cobra.Command {
	f := &fitFlags{replicates: fit.DefaultOptions().Replicates}
	cmd := &cobra.Command{
		Use:   "fit TABLE",
		Short: "Find the law of difficulty behind recorded counts",
		Long: `fit finds the law of success probabilities that makes the counts of a recorded table
most likely, the binomial noise of few rollouts integrated out: Beta, Beta with
spikes, Pareto reward variance as Theorem 2 assumes, and the best law of all. It
says which of them the counts can tell apart, and prints specs for --population.

TABLE is what import writes: CSV, JSON lines or Parquet with the columns
prompt_id, n and successes. Where it has steps, every row counts as a prompt of
its own; --window pools the rows of each prompt over steps in which it hardly
changes.

--out also writes npmle.csv, the best law of all, for atoms:path=DIR/npmle.csv.`,
		Example: `  # which law do these prompts follow?
  vigorlab fit outcomes.csv --replicates 20

  # the last 40 steps of a training run, two families alone
  vigorlab fit outcomes.csv --window 40 --family beta --family npmle --replicates 20 --format json`,
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	flags := cmd.Flags()
	flags.Var(&textFlag{&f.window, "window", "a number of steps, or FIRST:LAST", &f.faults}, "window", "pool the rows of a prompt over the last `STEPS` steps, or over FIRST:LAST")
	flags.StringArrayVar(&f.families, "family", nil, "`FAMILY` to fit, repeatable: "+strings.Join(fit.Families(), ", ")+" (default all)")
	f.whole(flags, &f.replicates, "replicates", 0, 100_000, "`N` fits to counts drawn from each fitted law, for p-values and intervals of figures; 0 for none")
	f.register(flags)
	return cmd
}

func (f *fitFlags) run(ctx context.Context, a *app, args []string) error {
	t, digest := f.table(ctx, args)
	families := f.chosen()
	pooled := f.pool(t)
	var counts *fit.Counts
	if pooled != nil {
		var err error
		if counts, err = fit.FromTable(pooled); err != nil {
			f.add("TABLE", err)
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	line := f.line(t.Name, families)
	record, err := f.record(a, "fit", line, output.Object{
		{Key: "table", Value: t.Name},
		{Key: "sha256", Value: digest},
		{Key: "window", Value: f.window},
		{Key: "families", Value: families},
		{Key: "replicates", Value: f.replicates},
	})
	if err != nil {
		return err
	}
	r := &fitted{
		reproduce: line.String(), table: t.Name, window: f.window, replicates: f.replicates, seed: f.seed,
		warnings: repeated(pooled, f.window != ""), drift: fit.Drifted(t),
	}
	f.warn(a, r.warnings)
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		r.Result, err = await(ctx, func() (*fit.Result, error) { return f.fit(ctx, a, counts, families) })
		if err != nil {
			return err
		}
		if notes, err = saveRun(ctx, d, r.result, r.drawings); err != nil {
			return err
		}
		return r.saveAtoms(d)
	})
	if err != nil {
		return err
	}
	f.warn(a, notes)
	return r.result().print(a, f.format)
}

// table reads the table that the argument names; nil where it is at fault.
func (f *fitFlags) table(ctx context.Context, args []string) (*table.Table, string) {
	if len(args) != 1 {
		f.addf("%d arguments, want one TABLE: a CSV file with the columns prompt_id, n, successes", len(args))
		f.hint("vigorlab fit outcomes.csv")
		return nil, ""
	}
	t, digest, err := readTable(ctx, args[0])
	f.addTable("TABLE", args[0], err)
	return t, digest
}

// chosen returns the families of --family, each once.
func (f *fitFlags) chosen() []string {
	known := fit.Families()
	var families []string
	seen := map[string]bool{}
	for _, name := range f.families {
		switch near, ok := spec.Nearest(name, append(known, allFamilies)); {
		case seen[name]:
			f.addf("--family %s is given twice, want it once", shown(name))
		case name == allFamilies:
			families = append(families, known...)
		case slices.Contains(known, name):
			families = append(families, name)
		case ok:
			f.addf("--family = %s, want one of %s, %s (did you mean %s?)", shown(name), allFamilies, strings.Join(known, ", "), near)
		default:
			f.addf("--family = %s, want one of %s, %s", shown(name), allFamilies, strings.Join(known, ", "))
		}
		seen[name] = true
	}
	if seen[allFamilies] && len(f.families) > 1 {
		f.addf("--family all stands beside others, want it alone")
	}
	if len(f.families) == 0 {
		return known
	}
	return families
}

// pool returns the table with the rows of --window pooled; nil where there is
// no table or the window is at fault.
func (f *fitFlags) pool(t *table.Table) *table.Table {
	if t == nil || f.window == "" {
		return t
	}
	low, high := fit.Steps(t)
	first, last, ok := window(f.window, high)
	if !ok {
		f.addf("--window = %s, want a number of steps >= 1, or FIRST:LAST", shown(f.window))
		return nil
	}
	pooled, err := fit.Window(t, first, last)
	if err != nil {
		f.add("--window", err)
		f.hint(fmt.Sprintf("the steps of %s run from %d to %d", t.Name, low, high))
	}
	return pooled
}

// window reads a window: the last steps, or from a first to a last one.
func window(text string, high int) (first, last int, ok bool) {
	from, to, both := strings.Cut(text, ":")
	first, err := strconv.Atoi(from)
	if !both {
		return high - first + 1, high, err == nil && first >= 1
	}
	last, fault := strconv.Atoi(to)
	return first, last, err == nil && fault == nil && first <= last
}

// repeated warns where prompts stand in several rows.
func repeated(t *table.Table, pooled bool) []string {
	prompts := map[string]bool{}
	for _, r := range t.Rows {
		prompts[r.PromptID] = true
	}
	switch {
	case pooled:
		return []string{"the rows of a prompt in the window are pooled, as if its success probability stood still; see the drift"}
	case len(prompts) < len(t.Rows):
		return []string{fmt.Sprintf("%d rows of %d prompts count as prompts of their own, though those of one prompt are alike: intervals are too narrow and p-values too small; --window pools them",
			len(t.Rows), len(prompts))}
	}
	return nil
}

func (f *fitFlags) line(path string, families []string) *commandLine {
	l := newCommandLine("fit")
	l.argument(path)
	if f.window != "" {
		l.add("window", f.window)
	}
	for _, name := range families {
		l.add("family", name)
	}
	l.add("replicates", f.replicates)
	l.add("seed", f.seed)
	return l
}

func (f *fitFlags) fit(ctx context.Context, a *app, counts *fit.Counts, families []string) (*fit.Result, error) {
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	key := stream.New(f.seed).Named("fit")
	return fit.Run(ctx, counts, fit.Options{
		Families: families, Replicates: f.replicates, Workers: f.workers,
		Streams: func(purpose string, k int) *rand.Rand {
			return stream.Rand(key.Named(purpose).With(uint64(k)))
		},
		Progress: func(done, total int) { bar.Show("laws", done, total) },
	})
}
