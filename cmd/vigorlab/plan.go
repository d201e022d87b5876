package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/fit"
	"vigorlab/sim"
	"vigorlab/sim/pilot"
	"vigorlab/sim/plan"
)

type planFlags struct {
	common
	options         plan.Options
	populationSpecs []string
	tables          []string
	maxGroup        int // 0 stands for 8 times the budget
	sizes           sizesFlags
	sizing          *sizing // nil without a table
}

func newPlan(a *app) *cobra.Command {
	f := &planFlags{options: plan.DefaultOptions(), sizes: sizesFlags{prefix: "pilot-"}}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "plan TABLE | --population SPEC",
		Short: "Search the schedule for a budget, and say how sure it is",
		Long: `plan fits the law of difficulty behind a table of pilot outcomes, or takes a
population, and searches the schedules of VIGOR that spend a budget of rollouts
a prompt: for the gain over fixed groups that spend as much, by the exact mean
field. It simulates the best on finite batches, bootstraps the pilot with the
choice made anew in every sample, so that the interval pays for having picked
the best, and scores the recorded past on the next visits where a table has
any. "Do not bother" is a plan.

TABLE is what import writes: CSV, JSON lines or Parquet with the columns
prompt_id, n and successes. What a rollout is to gain, on average: progress, the
first-order gain of a step of GRPO; signal, the spread of its group's rewards;
effective, to be in a group whose rewards differ; gradient-variance, a gradient
estimate of less relative variance. Seconds of a step are known, and a front by
them is printed, where --round-latency or --rollout-seconds is given: a round of
n rollouts takes S of --round-latency and ceil(n/C) times S of --rollout-seconds,
or waits for its longest rollouts where lengths are known. The plan is the best
a rollout, not the best a second: gain/second and the verdict say which that is.

The past is scored where nine in ten prompts, 40 at least, have 10 rows or more.

` + fmt.Sprintf(sizesHelp, "--pilot-strategy") + `

--out also writes plan.json, which --strategy @DIR/plan.json takes.`,
		Example: `  # a known population
  vigorlab plan --population beta:a=0.1,b=0.3 --batch 64 --replicates 20 --worlds 40 --max-rounds 3

  # a pilot's table, by wall clock too
  vigorlab plan outcomes.csv --batch 64 --group 8 --replicates 20 --worlds 40 --max-rounds 3 \
    --round-latency 20 --rollout-seconds 60 --concurrency 512

  # what equal weight for every prompt makes of it
  vigorlab plan outcomes.csv --batch 64 --aggregate prompt --replicates 20 --worlds 40 \
    --max-rounds 3 --format json`,
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			f.tables = args
			return f.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.populationSpecs, "population", nil, "population `SPEC` (see vigorlab populations), in place of a table")
	f.whole(flags, &o.Batch, "batch", 1, maxBatch, "`B` prompts a step")
	f.whole(flags, &o.Group, "group", 2, 1024, "budget: `G` rollouts a prompt on average")
	o.Objective = "" // the first of the choices is the default
	f.choice(flags, &o.Objective, "objective", []string{plan.Progress, plan.Signal, plan.Effective, plan.GradientVariance}, "`WHAT` a rollout is to gain")
	f.choice(flags, &o.Aggregate, "aggregate", []string{sim.AggregateRollout, sim.AggregatePrompt}, "`UNIT` that the update averages over: all rollouts alike, or inside each prompt's group and then over prompts")
	f.whole(flags, &f.maxGroup, "max-group", 0, 1024, "largest group of a schedule, `N` rollouts; 0 for 8 times --group")
	f.whole(flags, &o.MaxRounds, "max-rounds", 1, 16, "at most `R` sequential rounds a step")
	f.real(flags, &o.Tolerance, "tolerance", 1e-6, 0.5, "how far `SHARE` a schedule's rollouts a prompt may be from --group")
	f.sizes.register(&f.common, flags)
	f.whole(flags, &o.Visits, "visits", 1, math.MaxInt32, "pool the last `N` rows of every prompt for the fit")
	f.choice(flags, &o.Smooth, "smooth", []string{fit.SmoothBeta, fit.SmoothNPMLE}, "`LAW` that is fitted to the table")
	f.whole(flags, &o.Replicates, "replicates", 0, math.MaxInt32, "`N` batches of each finalist to simulate, 0 for none")
	f.whole(flags, &o.Worlds, "worlds", 0, 100_000, "`N` bootstrap samples of the pilot, 0 for no intervals")
	f.real(flags, &o.Clock.RoundLatency, "round-latency", 0, 1e9, "seconds `S` that a round costs beside its rollouts")
	f.real(flags, &o.Clock.RolloutSeconds, "rollout-seconds", 0, 1e9, "mean seconds `S` of a rollout")
	f.whole(flags, &o.Clock.Concurrency, "concurrency", 0, math.MaxInt32, "`C` rollouts at once, 0 for all of a round")
	f.register(flags)
	return cmd
}

func (f *planFlags) run(ctx context.Context, a *app) error {
	subject, name, digest := f.subject(ctx)
	o := f.resolve()
	if err := f.err(); err != nil {
		return err
	}
	line := f.line(name, o)
	record, err := f.record(a, "plan", line, f.specs(name, digest, o))
	if err != nil {
		return err
	}
	p := &planned{reproduce: line.String(), subject: name, options: o}
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		p.Result, err = await(ctx, func() (*plan.Result, error) { return plan.Run(ctx, subject, o) })
		if err != nil {
			return err
		}
		if notes, err = saveRun(ctx, d, p.result, p.drawings); err != nil || d == nil {
			return err
		}
		content, err := output.JSON(p.strategyFile())
		if err != nil {
			return err
		}
		return d.Write("plan.json", content)
	})
	if err != nil {
		return err
	}
	if p.Family.Untold {
		notes = append(notes, f.sizing.untold(fit.SizesUnknown)...)
	}
	f.warn(a, append(p.Warnings, notes...))
	return p.result().print(a, f.format)
}

// subject returns what to plan for, its name and, of a table, the digest of its
// bytes.
func (f *planFlags) subject(ctx context.Context) (s plan.Subject, name, digest string) {
	switch {
	case len(f.tables) > 1:
		f.addf("%d tables are given, want one", len(f.tables))
	case len(f.tables) == 1 && len(f.populationSpecs) > 0:
		f.addf("a table and --population are given, want one of them")
	case len(f.tables) == 1:
		var err error
		name = f.tables[0]
		s.Table, digest, err = readTable(ctx, name)
		f.addTable("table", name, err)
		f.pilot(ctx, &s)
	case len(f.populationSpecs) == 0:
		f.addf("nothing to plan for, want a table of outcomes or --population")
		f.hint("vigorlab plan outcomes.csv, with the columns prompt_id, n, successes")
	default:
		p := f.population(ctx, f.populationSpecs)
		if p.Variance != nil && p.Law == nil {
			f.addf("--population %s has no rewards to plan for", p.Spec)
		}
		s.Law, s.Lengths, name = p.Law, p.Lengths, p.Spec
	}
	return s, name, digest
}

// pilot learns how the sizes of a table came about, and records what is wrong with
// its pooled rows.
func (f *planFlags) pilot(ctx context.Context, s *plan.Subject) {
	if s.Table == nil {
		return
	}
	if _, _, err := plan.Pilot(s.Table, f.options.Visits); err != nil {
		f.add("table", err)
		f.hint("--visits 1 pools no rows, and --visits N the last N of every prompt")
	}
	f.sizing = f.common.sizing(ctx, &f.sizes, s.Table.Name)
	s.Origin, s.Beforehand = f.sizing.origin, f.sizing.strategy == noStrategy
	f.design(f.sizing, pilot.Rows{Table: s.Table, Pooled: true, Last: f.options.Visits})
}

// resolve returns the options, their faults recorded.
func (f *planFlags) resolve() plan.Options {
	o := f.options
	o.Seed, o.Workers, o.MaxGroup = f.seed, f.workers, f.maxGroup
	if o.MaxGroup == 0 {
		o.MaxGroup = min(8*o.Group, 1024)
	}
	if o.MaxGroup < o.Group {
		f.addf("--max-group = %d, want at least --group = %d", o.MaxGroup, o.Group)
	}
	if o.Replicates == 1 {
		f.addf("--replicates = 1, want 0 or at least 2: a single batch has no error")
	}
	if o.Worlds > 0 && o.Worlds < plan.FewestWorlds {
		f.addf("--worlds = %d, want 0 or at least %d: fewer make no 95 %% interval", o.Worlds, plan.FewestWorlds)
	}
	return o
}

// specs is all that the results depend on.
func (f *planFlags) specs(name, digest string, o plan.Options) output.Object {
	specs := output.Object{{Key: f.kind(), Value: name}}
	if digest != "" {
		specs.Add("sha256", digest)
	}
	if f.sizing != nil {
		specs.Add("sizes", f.sizing.object())
	}
	return append(specs, optionFields(o)...)
}

// kind says whether a plan is for a table or a population.
func (f *planFlags) kind() string {
	if len(f.tables) > 0 {
		return "table"
	}
	return "population"
}

func optionFields(o plan.Options) output.Object {
	return output.Object{
		{Key: "batch", Value: o.Batch},
		{Key: "group", Value: o.Group},
		{Key: "objective", Value: o.Objective},
		{Key: "aggregate", Value: o.Aggregate},
		{Key: "max_group", Value: o.MaxGroup},
		{Key: "max_rounds", Value: o.MaxRounds},
		{Key: "tolerance", Value: o.Tolerance},
		{Key: "visits", Value: o.Visits},
		{Key: "smooth", Value: o.Smooth},
		{Key: "replicates", Value: o.Replicates},
		{Key: "worlds", Value: o.Worlds},
		{Key: "round_latency", Value: o.Clock.RoundLatency},
		{Key: "rollout_seconds", Value: o.Clock.RolloutSeconds},
		{Key: "concurrency", Value: o.Clock.Concurrency},
	}
}

func (f *planFlags) line(name string, o plan.Options) *commandLine {
	l := newCommandLine("plan")
	if f.kind() == "table" {
		l.argument(name)
	} else {
		l.add("population", name)
	}
	for _, x := range []struct {
		flag  string
		value any
	}{
		{"batch", o.Batch},
		{"group", o.Group},
		{"objective", o.Objective},
		{"aggregate", o.Aggregate},
		{"max-group", o.MaxGroup},
		{"max-rounds", o.MaxRounds},
		{"tolerance", o.Tolerance},
		{"visits", o.Visits},
		{"smooth", o.Smooth},
		{"replicates", o.Replicates},
		{"worlds", o.Worlds},
	} {
		l.add(x.flag, x.value)
	}
	if o.Clock != (plan.Clock{}) {
		l.add("round-latency", o.Clock.RoundLatency)
		l.add("rollout-seconds", o.Clock.RolloutSeconds)
		l.add("concurrency", o.Clock.Concurrency)
	}
	f.sizing.addTo(l)
	l.add("seed", f.seed)
	return l
}

// strategyFile is what --strategy @plan.json reads, with what it is for.
func (p *planned) strategyFile() output.Object {
	return output.Object{
		{Key: "strategy", Value: p.Recommended},
		{Key: "made_by", Value: p.reproduce},
		{Key: "verdict", Value: p.Verdict},
	}
}
