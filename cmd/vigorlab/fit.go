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
	"vigorlab/sim/pilot"
	"vigorlab/sim/stream"
)

type fitFlags struct {
	common
	window     string
	families   []string
	replicates int
	sizes      sizesFlags
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

` + fmt.Sprintf(sizesHelp, "--strategy") + `

--out also writes npmle.csv, the best law of all, for atoms:path=DIR/npmle.csv.`,
		Example: `  # which law do these prompts follow?
  vigorlab fit outcomes.csv --replicates 20

  # the last 40 steps of a training run, two families alone
  vigorlab fit outcomes.csv --window 40 --family beta --family npmle --replicates 20 --format json

  # a table of VIGOR, whose groups outcomes chose
  vigorlab simulate --population beta:a=0.3,b=0.7 --strategy vigor --replicates 10 \
    --emit-table adaptive.csv
  vigorlab fit adaptive.csv --strategy vigor --family beta --replicates 20`,
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	flags := cmd.Flags()
	flags.Var(&textFlag{&f.window, "window", "a number of steps, or FIRST:LAST", &f.faults}, "window", "pool the rows of a prompt over the last `STEPS` steps, or over FIRST:LAST")
	flags.StringArrayVar(&f.families, "family", nil, "`FAMILY` to fit, repeatable: "+strings.Join(fit.Families(), ", ")+" (default all)")
	f.whole(flags, &f.replicates, "replicates", 0, 100_000, "`N` fits to counts drawn from each fitted law, for p-values and intervals of figures; 0 for none")
	f.sizes.register(&f.common, flags)
	f.register(flags)
	return cmd
}

func (f *fitFlags) run(ctx context.Context, a *app, args []string) error {
	t, digest := f.table(ctx, args)
	families := f.chosen()
	within, pooled := f.pool(t)
	o := fit.Options{Families: families, Replicates: f.replicates, Workers: f.workers}
	var counts *fit.Counts
	var sizes *sizing
	if pooled != nil {
		var err error
		if counts, err = fit.FromTable(pooled); err != nil {
			f.add("TABLE", err)
		}
		sizes = f.sizing(ctx, &f.sizes, t.Name)
		o.Design = f.design(sizes, pilot.Rows{Table: within, Pooled: f.window != ""})
		o.Beforehand = sizes.strategy == noStrategy || sizes.origin != nil || pilot.Beforehand(within)
	}
	if err := f.err(); err != nil {
		return err
	}
	line := f.line(t.Name, families, sizes)
	record, err := f.record(a, "fit", line, output.Object{
		{Key: "table", Value: t.Name},
		{Key: "sha256", Value: digest},
		{Key: "window", Value: f.window},
		{Key: "families", Value: families},
		{Key: "replicates", Value: f.replicates},
		{Key: "sizes", Value: sizes.object()},
	})
	if err != nil {
		return err
	}
	r := &fitted{
		reproduce: line.String(), table: t.Name, window: f.window, replicates: f.replicates, seed: f.seed,
		warnings: append(repeated(pooled, f.window != ""), sizes.untold(o.Sizes(counts))...), drift: fit.Drifted(t), sizing: sizes,
	}
	f.warn(a, r.warnings)
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		r.Result, err = await(ctx, func() (*fit.Result, error) { return f.fit(ctx, a, counts, o) })
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

// pool returns the rows of --window and the table with those of a prompt pooled;
// nil where there is no table or the window is at fault.
func (f *fitFlags) pool(t *table.Table) (within, pooled *table.Table) {
	if t == nil || f.window == "" {
		return t, t
	}
	low, high := fit.Steps(t)
	first, last, ok := window(f.window, high)
	if !ok {
		f.addf("--window = %s, want a number of steps >= 1, or FIRST:LAST", shown(f.window))
		return nil, nil
	}
	within, err := fit.Within(t, first, last)
	if err != nil {
		f.add("--window", err)
		f.hint(fmt.Sprintf("the steps of %s run from %d to %d", t.Name, low, high))
		return nil, nil
	}
	return within, fit.Pool(within)
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

func (f *fitFlags) line(path string, families []string, sizes *sizing) *commandLine {
	l := newCommandLine("fit")
	l.argument(path)
	if f.window != "" {
		l.add("window", f.window)
	}
	for _, name := range families {
		l.add("family", name)
	}
	l.add("replicates", f.replicates)
	sizes.addTo(l)
	l.add("seed", f.seed)
	return l
}

func (f *fitFlags) fit(ctx context.Context, a *app, counts *fit.Counts, o fit.Options) (*fit.Result, error) {
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	key := stream.New(f.seed).Named("fit")
	o.Streams = func(purpose string, k int) *rand.Rand {
		return stream.Rand(key.Named(purpose).With(uint64(k)))
	}
	o.Progress = func(done, total int) { bar.Show("laws", done, total) }
	return fit.Run(ctx, counts, o)
}
