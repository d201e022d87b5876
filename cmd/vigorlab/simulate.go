package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

// comparing holds the flags that simulate and replay share.
type comparing struct {
	common
	strategySpecs []string
	replicates    int
	aggregate     string
	frontier      float64
}

// registerComparing adds them to a command.
func (f *comparing) registerComparing(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.strategySpecs, "strategy", nil, "strategy `SPEC`, repeatable (default vigor and the fixed group of its mean size)")
	f.replicates, f.frontier = 1000, 0.75
	f.whole(flags, &f.replicates, "replicates", 1, math.MaxInt32, "`N` batches to simulate")
	f.choice(flags, &f.aggregate, "aggregate", []string{sim.AggregateRollout, sim.AggregatePrompt}, "`UNIT` that the update averages over: all rollouts alike, or inside each prompt's group and then over prompts")
	f.real(flags, &f.frontier, "frontier", 0, 1, "screening errors speak of prompts with u >= `C`")
}

// config returns the engine's configuration; population names the prompts.
func (f *comparing) config(population string, bar *progress.Bar) sim.Config {
	return sim.Config{
		Seed: f.seed, Population: population, Replicates: f.replicates, Workers: f.workers,
		Aggregate: f.aggregate, Frontier: f.frontier,
		Progress: func(done, total int) { bar.Show("batches", done, total) },
	}
}

// defaultStrategies stand in where --strategy is not given: the method and the
// fixed group of the same mean size.
var defaultStrategies = []string{"vigor", "fixed:g=8"}

// parseStrategies parses --strategy or the defaults.
func (f *comparing) parseStrategies(ctx context.Context) []strategy.Strategy {
	if len(f.strategySpecs) == 0 {
		return f.strategies(ctx, defaultStrategies)
	}
	return f.strategies(ctx, f.strategySpecs)
}

type simulateFlags struct {
	comparing
	fastFlags
	populationSpecs []string
	batch           int
	emitTable       string
	emitted         bool // a table stands where none stood before
}

func newSimulate(a *app) *cobra.Command {
	f := &simulateFlags{batch: 256}
	cmd := &cobra.Command{
		Use:   "simulate --population SPEC [--strategy SPEC ...]",
		Short: "Compare strategies on synthetic prompts by Monte Carlo",
		Long: `simulate draws batches of prompts from a population, lets every strategy spend
its rollouts on the same batches and prints what that gained, each figure with
its standard error over batches. The result depends on the seed, not on the
number of workers.`,
		Example: `  # VIGOR against the fixed group of the same mean size
  vigorlab simulate --population beta:a=0.1,b=0.3 --replicates 200

  # two schedules and the control that chooses at random
  vigorlab simulate --population uniform --batch 64 --replicates 200 --strategy vigor \
    --strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4 --strategy vigor:select=random

  # keep the figures and tables, and one batch of outcomes to play with
  vigorlab simulate --population spiked-beta:dead=0.3,solved=0.1,a=2,b=6 --replicates 100 \
    --strategy fixed:g=8 --out run --emit-table pilot.csv

  # more batches in the same time, and eta to four digits
  vigorlab simulate --population beta:a=0.3,b=0.7 --batch 1024 --replicates 2000 \
    --fast --precision 1e-4`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.populationSpecs, "population", nil, "population `SPEC` (see vigorlab populations)")
	f.whole(flags, &f.batch, "batch", 1, maxBatch, "`B` prompts a batch")
	f.registerComparing(cmd)
	f.registerFast(flags)
	flags.Var(&textFlag{&f.emitTable, "emit-table", "a file", &f.faults}, "emit-table", "write the outcomes of one batch under the first strategy to `FILE`, once all else is written: CSV, or by its extension .jsonl or .parquet")
	f.register(flags)
	return cmd
}

// maxBatch bounds a batch by what fits into memory.
const maxBatch = 10_000_000

func (f *simulateFlags) run(ctx context.Context, a *app) error {
	population := f.population(ctx, f.populationSpecs)
	if population.Law == nil && len(f.strategySpecs) == 0 {
		f.strategySpecs = []string{"vigor:select=truth", "fixed:g=8"} // all that such a law allows
	}
	strategies := f.parseStrategies(ctx)
	if err := f.startable(ctx, strategies, f.batch); err != nil {
		return err
	}
	f.checkEmit(population)
	f.checkFast(population, strategies)
	if err := f.err(); err != nil {
		return err
	}
	if err := f.canEmit(); err != nil {
		return err
	}
	line := f.line(population.Spec, specsOf(strategies))
	specs := output.Object{
		{Key: "population", Value: population.Spec},
		{Key: "strategies", Value: specsOf(strategies)},
		{Key: "batch", Value: f.batch},
		{Key: "replicates", Value: f.replicates},
		{Key: "aggregate", Value: f.aggregate},
		{Key: "frontier", Value: f.frontier},
	}
	if f.fast {
		specs.Add("fast", true)
	}
	if f.precision > 0 {
		specs.Add("precision", f.precision)
	}
	record, err := f.record(a, "simulate", line, specs)
	if err != nil {
		return err
	}
	c := &comparison{
		command: "simulate", truth: "true reward variance u = 4p(1-p)", reproduce: line.String(), population: population.Spec,
		subject:  output.Object{{Key: "population", Value: population.Spec}},
		warnings: singlePrompts(strategies, f.batch),
	}
	f.warn(a, append(slices.Clone(c.warnings), f.adaptiveTable(strategies[0])...))
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		bar := progress.New(a.stderr, f.quiet)
		defer bar.Close()
		c.Result, err = await(ctx, func() (*sim.Result, error) {
			r, err := f.simulate(ctx, population, strategies, bar)
			if err == nil {
				c.etaBatches, err = f.sharpen(ctx, r, population, strategies, bar)
			}
			return r, err
		})
		if err != nil {
			return f.notFast(f.input(err, "--population "+population.Spec))
		}
		if notes, err = saveRun(ctx, d, c.result, c.drawings); err != nil {
			return err
		}
		return f.emit(ctx, population, strategies) // last: a run that fails leaves none
	})
	if err != nil {
		return errors.Join(err, f.takeBack())
	}
	f.warn(a, notes)
	return c.result().print(a, f.format)
}

// line returns the command that reproduces the run.
func (f *simulateFlags) line(population string, strategies []string) *commandLine {
	l := newCommandLine("simulate")
	l.add("population", population)
	for _, s := range strategies {
		l.add("strategy", s)
	}
	l.add("batch", f.batch)
	f.addTo(l)
	f.addFast(l)
	return l
}

// addTo appends the shared flags.
func (f *comparing) addTo(l *commandLine) {
	l.add("replicates", f.replicates)
	l.add("aggregate", f.aggregate)
	l.add("frontier", f.frontier)
	l.add("seed", f.seed)
}

// simulate runs the engine; a law without rewards has perfect selection alone.
func (f *simulateFlags) simulate(ctx context.Context, p spec.Population, strategies []strategy.Strategy, bar *progress.Bar) (*sim.Result, error) {
	cfg := f.config(p.Spec, bar)
	if p.Law == nil {
		r, err := sim.RunPerfect(ctx, cfg, p.Variance, f.batch, strategies)
		if err != nil {
			return nil, err
		}
		addExact(r, p.Variance, strategies)
		return r, nil
	}
	cfg.Fast = f.fast
	return sim.Run(ctx, cfg, f.newSource(p), makers(strategies))
}

// newSource returns what makes each worker its own source.
func (f *simulateFlags) newSource(p spec.Population) sim.NewSource {
	return func() (rollout.TruthSource, error) { return source.NewSynthetic(p.Law, p.Lengths, f.batch) }
}

// checkEmit records what stands against writing the table of --emit-table.
func (f *simulateFlags) checkEmit(p spec.Population) {
	if f.emitTable == "" {
		return
	}
	if p.Variance != nil && p.Law == nil {
		f.addf("--emit-table: --population %s has no rewards to write", p.Spec)
	}
	f.emitTable = f.target("--emit-table", f.emitTable)
	if f.out != "" && inside(f.emitTable, f.out) {
		f.addf("--emit-table %s lies in the run directory --out %s, want another place", f.emitTable, f.out)
	} else if f.out != "" && inside(f.out, f.emitTable) {
		f.addf("--out %s lies in --emit-table %s, want a file there", f.out, f.emitTable)
	}
}

// inside reports whether a file would lie in a directory or below it, whatever
// links lead there.
func inside(file, dir string) bool {
	name, err := filepath.Rel(followed(dir), followed(file))
	return err == nil && filepath.IsLocal(name)
}

// followed returns an absolute path without links, as far as it exists.
func followed(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path // the working directory is gone: nothing can be opened
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(followed(parent), filepath.Base(path))
	}
	return path
}

// canEmit fails where the table of --emit-table cannot be written, before
// anything is computed for it.
func (f *simulateFlags) canEmit() error {
	if f.emitTable == "" {
		return nil
	}
	if err := rundir.CanWrite(f.emitTable); err != nil {
		return fmt.Errorf("--emit-table: %w", err)
	}
	return nil
}

// adaptiveTable warns where the emitted table comes from a strategy whose
// groups may depend on their own outcomes.
func (f *simulateFlags) adaptiveTable(first strategy.Strategy) []string {
	if _, ok := first.(*strategy.Fixed); ok || f.emitTable == "" {
		return nil
	}
	return []string{fmt.Sprintf("--emit-table under %s: where its n depends on the outcomes, s/n of the table is biased, and fit needs --strategy %s; emit with --strategy fixed:g=40 first", shortSpec(first.Spec()), shortSpec(first.Spec()))}
}

// emit writes the first batch under the first strategy as a table.
func (f *simulateFlags) emit(ctx context.Context, p spec.Population, strategies []strategy.Strategy) error {
	if f.emitTable == "" {
		return nil
	}
	batch, err := await(ctx, func() (*rollout.Batch, error) {
		return sim.Outcomes(ctx, f.config(p.Spec, &progress.Bar{}), f.newSource(p), makers(strategies)[0])
	})
	if err != nil {
		return err
	}
	t := table.Table{Name: f.emitTable, HasTokens: batch.Tokens != nil}
	for x, n := range batch.N {
		row := table.Row{PromptID: strconv.Itoa(x), N: n, S: batch.S[x]}
		if t.HasTokens {
			row.Tokens = float64(batch.Tokens[x]) / float64(n)
		}
		t.Rows = append(t.Rows, row)
	}
	_, none := os.Lstat(f.emitTable)
	if err := rundir.WriteFile(f.emitTable, func(w io.Writer) error { return t.WriteAs(stopped{ctx, w}, f.emitTable) }); err != nil {
		return fmt.Errorf("--emit-table: %w", err)
	}
	f.emitted = errors.Is(none, fs.ErrNotExist)
	return nil
}

// takeBack removes the table of a run that could not be completed, so that the
// same command can be given again. One that replaced another stays.
func (f *simulateFlags) takeBack() error {
	if !f.emitted {
		return nil
	}
	return os.Remove(f.emitTable)
}

// addExact puts the exact eta beside those that may not be trusted, where it
// exists.
func addExact(r *sim.Result, law distributions.VarianceLaw, strategies []strategy.Strategy) {
	for i, s := range strategies {
		v, ok := s.(*strategy.Vigor)
		if !ok || r.Strategies[i].Eta.Untrusted == "" {
			continue
		}
		if eta, err := theory.EtaFiniteBatch(law, v.Plan(), r.Batch); err == nil {
			r.Strategies[i].Eta.Exact = &eta
			r.Strategies[i].EtaGenerated.Exact = &eta // perfect selection trains on every rollout
		}
	}
}

// input turns an engine's complaint about what it was given into a usage
// error under what the user typed.
func (c *common) input(err error, subject string) error {
	var short *source.ShortError
	if !errors.Is(err, rollout.ErrNoRewards) && !errors.As(err, &short) {
		return err
	}
	c.add(subject, err)
	return c.err()
}
