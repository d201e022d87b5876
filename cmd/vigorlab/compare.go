package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
)

type compareFlags struct {
	common
	populationSpecs []string
	tables          []string
	strategySpecs   []string
	driftSpecs      []string
	lagTexts        []string
	conditions      []motion // every drift under every lag
	control         bool
	ladder          bool
	atCost          float64
	prompts         int // 0 stands for batchesASet batches; a table is a set of its own
	quick           bool
	cfg             sim.StepsConfig
}

// allStrategies is the value of --strategy that stands for every strategy.
const allStrategies = "all"

// defaultPopulations are compared where none is named: heavy tails, no
// information, and the U shapes of training runs.
var defaultPopulations = []string{
	"pareto-success:shape=1,min=0.02",
	"pareto-variance:shape=1.5,min=0.01,max=1",
	"uniform",
	"beta:a=0.5,b=0.5",
	"beta:a=0.3,b=0.7",
	"beta:a=0.36,b=0.68",
	"spiked-beta:dead=0.2,solved=0.1,a=0.6,b=0.9",
}

// batchesASet is the number of batches in a synthetic prompt set where --prompts
// is not given: room for methods that look at three batches a step, and an
// epoch short enough for histories to tell.
const batchesASet = 8

// What fits into a map of ranks.
const (
	mostWorlds     = 26
	mostStrategies = 60
)

// The replicates of compare, and of compare --quick.
const (
	fullReplicates  = 64
	quickReplicates = 16
)

func newCompare(a *app) *cobra.Command {
	f := &compareFlags{cfg: sim.DefaultSteps()}
	f.cfg.Replicates = 0 // by --quick
	cmd := &cobra.Command{
		Use:   "compare [--population SPEC ...] [--table FILE ...] [--strategy SPEC ...|all]",
		Short: "Compare the field of strategies over many training steps",
		Long: `compare lets every strategy go through the same steps over the same prompt sets:
which would spend the rollouts best? Each step is for a batch of B groups with a
budget of G rollouts a prompt. A strategy whose budget is random keeps its own
ledger, and figures count what a generated rollout buys. Beside the strategies
stand the fair baselines: fixed groups of G, and the same rollouts on more
prompts in smaller groups or on fewer in larger ones. Strategies that paired
differences cannot tell apart share their ranks. A method that needs prompt
embeddings is handed vectors that tell the success probability, with noise.

Five diagnostics of a taxonomy of the field: --control puts a random control at
an equal drop rate beside every method (control/SPEC names one alone); --ladder
compares each strategy with the one before it; several --drift show acceptance
against drift, several --lag what stale rollouts cost; --at-cost compares at
matched cost, not matched steps.`,
		Example: `  # the whole field on prompts like those of a GRPO run; without --population, on seven kinds
  vigorlab compare --population beta:a=0.36,b=0.68 --strategy all --quick --out field

  # three methods on prompts like mine, which move while they are trained on
  vigorlab compare --population beta:a=0.36,b=0.68 --strategy vigor --strategy dapo:n=8 \
    --strategy knapsack --steps 20 --drift learning:rate=0.002 --replicates 8

  # what is VIGOR's choice of prompts worth, beside groups of the same sizes by lot? step by step
  vigorlab compare --population beta:a=0.36,b=0.68 --strategy control/vigor --strategy vigor \
    --ladder --steps 8 --replicates 8

  # how many groups are mixed the more prompts move, and the staler their rollouts are
  vigorlab compare --population uniform --strategy thompson --drift walk:sd=0.05 \
    --drift walk:sd=0.2 --lag 0 --lag 4 --steps 8 --replicates 8

  # on the outcomes of a real training run
  vigorlab compare --table outcomes.csv --strategy vigor --batch 4 --replicates 8`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.populationSpecs, "population", nil, "population `SPEC`, repeatable (default seven of them; see vigorlab populations)")
	flags.StringArrayVar(&f.tables, "table", nil, "recorded outcomes, a `FILE` of CSV, .jsonl or .parquet, repeatable")
	flags.StringArrayVar(&f.strategySpecs, "strategy", nil, "strategy `SPEC`, repeatable, or all (default all; see vigorlab strategies)")
	f.whole(flags, &f.cfg.Batch, "batch", 1, 100_000, "`B` groups that an update is for")
	f.whole(flags, &f.cfg.Group, "group", 1, 1000, "`G` rollouts a prompt of the batch, on average")
	f.whole(flags, &f.cfg.Steps, "steps", 1, 100_000, "`S` steps of a run")
	f.whole(flags, &f.cfg.Replicates, "replicates", 1, 1_000_000, fmt.Sprintf("`R` pairs of runs (default %d, with --quick %d)", fullReplicates, quickReplicates))
	flags.Lookup("replicates").DefValue = "0"
	f.whole(flags, &f.prompts, "prompts", 1, 10_000_000, "`M` prompts of a synthetic prompt set (default eight batches)")
	flags.Lookup("prompts").DefValue = "0"
	flags.StringArrayVar(&f.driftSpecs, "drift", nil,
		"`SPEC` of how success probabilities move: none, walk:sd=X in arcsin sqrt p, learning:rate=X a trained rollout, revival:rate=X,p=P of dead prompts (default none); repeatable: acceptance against drift")
	flags.StringArrayVar(&f.lagTexts, "lag", nil, "rollouts come from the success probabilities of `K` steps ago (default 0); repeatable: a sweep of staleness")
	flags.BoolVar(&f.control, "control", false, "beside every method its random control at an equal drop rate: the same groups and rounds, prompts by lot")
	flags.BoolVar(&f.ladder, "ladder", false, "strategies in the order given, each compared with the one before it, the first with fixed groups of G")
	f.real(flags, &f.atCost, "at-cost", 0, 1e9, "show what is reached at the matched cost of `N` rollouts for each group of the batch (default half of what fixed groups spend)")
	f.choice(flags, &f.cfg.Aggregate, "aggregate", []string{sim.AggregateRollout, sim.AggregatePrompt}, "`HOW` the update weighs groups")
	f.real(flags, &f.cfg.Hard, "hard", 0, 1, "a prompt is hard where p <= `P`")
	f.real(flags, &f.cfg.Noise, "embedding-noise", 0, 100, "prompt embeddings tell arcsin sqrt p with normal noise of standard deviation `X`; the range is 1.57")
	flags.BoolVar(&f.quick, "quick", false, "fewer replicates: the field on the default populations in under a minute")
	f.register(flags)
	return cmd
}

func (f *compareFlags) run(ctx context.Context, a *app) error {
	if len(f.populationSpecs)+len(f.tables) == 0 {
		f.populationSpecs = defaultPopulations
	}
	if f.cfg.Replicates == 0 {
		f.cfg.Replicates = fullReplicates
		if f.quick {
			f.cfg.Replicates = quickReplicates
		}
	}
	if f.prompts == 0 {
		f.prompts = batchesASet * f.cfg.Batch
	}
	if f.prompts < f.cfg.Batch {
		f.addf("--prompts = %d, want at least --batch = %d", f.prompts, f.cfg.Batch)
	}
	f.readConditions()
	f.cfg.Ladder, f.cfg.MatchedCost = f.ladder, f.atCost
	worlds := append(f.syntheticWorlds(ctx), f.tableWorlds(ctx)...)
	worlds = f.underConditions(worlds)
	strategies := f.field(ctx)
	if len(worlds) > mostWorlds {
		f.addf("%d populations and tables, each under every drift and lag, want at most %d: a figure has that many columns", len(worlds), mostWorlds)
	}
	if len(strategies) > mostStrategies {
		f.addf("%d strategies, the baselines among them, want at most %d: a figure has that many rows", len(strategies), mostStrategies)
	}
	if err := f.err(); err != nil {
		return err
	}
	f.cfg.Seed, f.cfg.Workers = f.seed, f.workers
	f.cfg.Level = familyLevel / float64(len(worlds))
	line := f.line(worlds, strategies)
	record, err := f.record(a, "compare", line, f.specs(worlds, strategies))
	if err != nil {
		return err
	}
	for _, w := range worlds {
		if w.drift.Kind == sim.DriftRevival && !w.dead {
			f.warn(a, []string{fmt.Sprintf("--drift %v moves nothing on %s, which has no dead prompts (p = 0)", w.drift, w.name)})
		}
		f.warn(a, w.few)
	}
	c := &fieldComparison{reproduce: line.String(), groups: f.groups(strategies), ladder: f.ladder, atCost: f.atCost > 0}
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		bar := progress.New(a.stderr, f.quiet)
		defer bar.Close()
		for i, w := range worlds {
			cfg := f.cfg
			cfg.Population, cfg.Drift, cfg.Lag = w.stream, w.drift, w.lag
			cfg.Progress = func(done, total int) { bar.Show("replicates", i*total+done, len(worlds)*total) }
			found, err := await(ctx, func() (*sim.Comparison, error) { return sim.RunSteps(ctx, cfg, w.newSet, makers(strategies)) })
			if err != nil {
				return f.input(err, w.flag+" "+w.name)
			}
			c.worlds = append(c.worlds, comparedWorld{w.name, f.label(w), found})
		}
		if notes, err = saveRun(ctx, d, c.result, c.drawings); err != nil || d == nil {
			return err
		}
		return d.Write("report.md", c.report())
	})
	if err != nil {
		return err
	}
	f.warn(a, append(notes, f.otherBudgets(c)...))
	return c.result().print(a, f.format)
}

// familyLevel bounds the probability that compare finds any difference where
// there is none, over all populations, objectives and pairs.
const familyLevel = 0.05

// A world is a population or table that strategies are compared on.
type world struct {
	flag   string   // that named it
	dead   bool     // some prompt has p = 0
	few    []string // warnings of a table's few rollouts
	name   string
	stream string // names its streams
	digest string // of a table
	newSet sim.NewPromptSet
	motion
}

// A motion is how success probabilities move, and how stale rollouts are.
type motion struct {
	drift sim.Drift
	lag   int
}

// readConditions reads every drift and lag.
func (f *compareFlags) readConditions() {
	var drifts []sim.Drift
	for _, text := range f.driftSpecs {
		d, err := sim.ParseDrift(text)
		f.add("--drift", err)
		if err == nil && !f.given("--drift "+d.String(), slices.Contains(drifts, d)) {
			drifts = append(drifts, d)
		}
	}
	if len(drifts) == 0 {
		drifts = []sim.Drift{{Kind: sim.DriftNone}}
	}
	var lags []int
	for _, text := range f.lagTexts {
		k, err := strconv.Atoi(text)
		if err != nil || k < 0 || k > mostLag {
			f.addf("--lag = %s, want a whole number in [0, %d]", shown(text), mostLag)
			continue
		}
		if !f.given("--lag "+text, slices.Contains(lags, k)) {
			lags = append(lags, k)
		}
	}
	if len(lags) == 0 {
		lags = []int{0}
	}
	still := !slices.ContainsFunc(drifts, func(d sim.Drift) bool { return d.Kind != sim.DriftNone })
	if still && slices.Max(lags) > 0 {
		f.addf("--lag = %d without --drift: nothing grows stale where nothing moves, want --drift such as walk:sd=0.05", slices.Max(lags))
	}
	for _, d := range drifts {
		for _, k := range lags {
			f.conditions = append(f.conditions, motion{d, k})
		}
	}
}

// mostLag bounds the success probabilities that are remembered.
const mostLag = 10_000

// underConditions returns every world under every condition.
func (f *compareFlags) underConditions(worlds []world) []world {
	var all []world
	for _, w := range worlds {
		for _, c := range f.conditions {
			w.motion = c
			all = append(all, w)
		}
	}
	return all
}

// label names a world, its condition too where there are several.
func (f *compareFlags) label(w world) string {
	if len(f.conditions) < 2 {
		return w.name
	}
	return w.name + " under " + w.motion.String()
}

// String names what differs from standing still.
func (c motion) String() string {
	if c.lag == 0 {
		return "drift " + c.drift.String()
	}
	return fmt.Sprintf("drift %v, lag %d", c.drift, c.lag)
}

func (f *compareFlags) syntheticWorlds(ctx context.Context) []world {
	var worlds []world
	for _, text := range f.populationSpecs {
		p := f.population(ctx, []string{text})
		if p.Spec == "" {
			continue
		}
		if p.Law == nil {
			f.addf("--population %s: an unbounded reward variance belongs to no success probability, want max=1 or less", p.Spec)
			continue
		}
		if f.given(p.Spec, slices.ContainsFunc(worlds, func(w world) bool { return w.name == p.Spec })) {
			continue
		}
		if p.Noisy && slices.ContainsFunc(f.conditions, func(c motion) bool { return c.drift.Kind != sim.DriftNone }) {
			f.addf("--population %s with --drift: success probabilities drift, and label noise stays: want the population of right and wrong", p.Spec)
			continue
		}
		dead := slices.ContainsFunc(p.Law.Atoms(), func(n distributions.Node) bool { return n.P == 0 })
		worlds = append(worlds, world{flag: "--population", name: p.Spec, stream: p.Spec, dead: dead, newSet: f.syntheticSet(p)})
	}
	return worlds
}

func (f *compareFlags) syntheticSet(p spec.Population) sim.NewPromptSet {
	return func() (rollout.DriftSource, error) { return source.NewSynthetic(p.Law, p.Lengths, f.prompts) }
}

func (f *compareFlags) tableWorlds(ctx context.Context) []world {
	var worlds []world
	for _, path := range f.tables {
		t, digest, err := readTable(ctx, path)
		if err != nil {
			f.add("--table", err)
			continue
		}
		if len(t.Rows) < f.cfg.Batch {
			f.addf("--batch = %d, want a whole number in [1, %d], the prompts of %s", f.cfg.Batch, len(t.Rows), path)
			continue
		}
		if f.given(path, slices.ContainsFunc(worlds, func(w world) bool { return w.digest != "" && followed(w.name) == followed(path) })) {
			continue
		}
		dead := slices.ContainsFunc(t.Rows, func(r table.Row) bool { return r.S == 0 })
		worlds = append(worlds, world{flag: "--table", name: path, stream: digest, digest: digest, dead: dead, few: fewRollouts(t), newSet: tableSet(t)})
	}
	return worlds
}

func tableSet(t *table.Table) sim.NewPromptSet {
	return func() (rollout.DriftSource, error) { return source.NewTable(t, source.DrawReplacement, 0) }
}

// given records a fault where a population or table has been given before.
func (f *compareFlags) given(name string, before bool) bool {
	if before {
		f.addf("%s is given twice, want each population and table once", name)
	}
	return before
}

// field returns the baselines and the strategies of --strategy; all stands for
// every strategy with the parameters that spend --group rollouts a prompt, the
// oracle for each objective.
func (f *compareFlags) field(ctx context.Context) []strategy.Strategy {
	specs := f.baselines()
	asked := f.strategySpecs
	if len(asked) == 0 {
		asked = []string{allStrategies}
	}
	for _, text := range asked {
		if text == allStrategies {
			specs = append(specs, strategy.Spending(f.cfg.Group, f.cfg.Steps)...)
			specs = append(specs, strategy.Oracles(f.cfg.Group, f.cfg.Hard)...)
			continue
		}
		specs = append(specs, text)
	}
	field := f.distinct(ctx, specs)
	if f.control {
		field = f.withControls(field, f.ladder)
	}
	if f.ladder {
		f.checkLadder(field)
		return field
	}
	// Behind the baselines, methods stand by their place in the taxonomy, and bars
	// that see the truth last.
	slices.SortStableFunc(field[min(len(field), len(f.baselines())):], func(a, b strategy.Strategy) int {
		return cmp.Or(cmp.Compare(sees(a), sees(b)), comparePlaces(a.Spec(), b.Spec()))
	})
	return field
}

// sees returns 1 for a strategy that sees the truth, 0 for others.
func sees(s strategy.Strategy) int {
	if s.Capabilities().Truth {
		return 1
	}
	return 0
}

// distinct parses the specs and leaves out those that come again.
func (f *compareFlags) distinct(ctx context.Context, specs []string) []strategy.Strategy {
	var field []strategy.Strategy
	for _, text := range specs {
		s, err := strategy.Parse(text, opener(ctx))
		if err != nil {
			f.add("--strategy", err)
			f.hint(hintStrategies)
			continue
		}
		if err := s.Start(f.cfg.Batch); err != nil {
			f.add("--strategy "+s.Spec(), err)
			continue
		}
		if !slices.ContainsFunc(field, func(have strategy.Strategy) bool { return have.Spec() == s.Spec() }) {
			field = append(field, s)
		}
	}
	return field
}

// baselines returns the baselines, of which a ladder has the first alone.
func (f *compareFlags) baselines() []string {
	if f.ladder {
		return baselines(f.cfg.Group)[:1]
	}
	return baselines(f.cfg.Group)
}

// baselines returns what any strategy must beat: the fixed group of g, first,
// and as many rollouts on twice and four times as many prompts, and on half.
func baselines(g int) []string {
	specs := []string{fmt.Sprintf("fixed:g=%d", g)}
	for _, more := range []int{2, 4} {
		if g%more == 0 && g/more >= 2 {
			specs = append(specs, fmt.Sprintf("fixed:g=%d,prompts=%d", g/more, more))
		}
	}
	return append(specs, fmt.Sprintf("fixed:g=%d,prompts=1/2", 2*g))
}

// The groups of the field.
const (
	groupBaselines = "baselines"
	groupMethods   = "methods"
	groupControls  = "random controls"
	groupBars      = "see the truth"
)

// groups returns the group of every strategy.
func (f *compareFlags) groups(strategies []strategy.Strategy) []string {
	groups := make([]string, len(strategies))
	fair := len(f.baselines()) // which stand first
	for k, s := range strategies {
		switch {
		case k < fair:
			groups[k] = groupBaselines
		case s.Capabilities().Truth:
			groups[k] = groupBars
		case isControl(s.Spec()):
			groups[k] = groupControls
		default:
			groups[k] = groupMethods
		}
	}
	return groups
}

// otherBudgets warns of strategies that were named with parameters that spend
// another budget than fixed groups beside them, and names those of all.
func (f *compareFlags) otherBudgets(c *fieldComparison) []string {
	const close = 0.1
	var warnings []string
	scaled := strategy.Spending(f.cfg.Group, f.cfg.Steps)
	for k, group := range c.groups {
		s := &c.worlds[0].Strategies[k]
		name, _, _ := strings.Cut(s.Strategy, ":")
		i := slices.IndexFunc(scaled, func(spec string) bool { return strings.HasPrefix(spec, name+":") })
		if group == groupBaselines || i < 0 || math.Abs(s.Generated.Mean/float64(f.cfg.Group)-1) <= close || f.runsAll() {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s generates %.3g rollouts a prompt on %s, not --group %d: --strategy all runs it as %s",
			shortSpec(s.Strategy), s.Generated.Mean, c.worlds[0].name, f.cfg.Group, scaled[i]))
	}
	return warnings
}

// runsAll reports whether every strategy runs with the parameters of all.
func (f *compareFlags) runsAll() bool {
	return len(f.strategySpecs) == 0 || slices.Contains(f.strategySpecs, allStrategies)
}

func (f *compareFlags) line(worlds []world, strategies []strategy.Strategy) *commandLine {
	l := newCommandLine("compare")
	for i, w := range worlds {
		if i%len(f.conditions) == 0 { // the same one under every condition
			l.add(w.flag[2:], w.name)
		}
	}
	for _, s := range strategies {
		l.add("strategy", s.Spec())
	}
	l.add("batch", f.cfg.Batch)
	l.add("group", f.cfg.Group)
	l.add("steps", f.cfg.Steps)
	l.add("replicates", f.cfg.Replicates)
	if len(f.populationSpecs) > 0 {
		l.add("prompts", f.prompts)
	}
	f.addConditions(l)
	l.add("aggregate", f.cfg.Aggregate)
	l.add("hard", f.cfg.Hard)
	l.add("embedding-noise", f.cfg.Noise)
	l.add("seed", f.seed)
	return l
}

// addConditions adds the drifts, the lags and the diagnostics.
func (f *compareFlags) addConditions(l *commandLine) {
	var drifts, lags []string
	for _, c := range f.conditions {
		if d := c.drift.String(); !slices.Contains(drifts, d) {
			drifts = append(drifts, d)
			l.add("drift", d)
		}
	}
	for _, c := range f.conditions {
		if k := strconv.Itoa(c.lag); !slices.Contains(lags, k) {
			lags = append(lags, k)
		}
	}
	if !slices.Equal(lags, []string{"0"}) {
		for _, k := range lags {
			l.add("lag", k)
		}
	}
	if f.ladder {
		l.mark("ladder")
	}
	if f.atCost > 0 {
		l.add("at-cost", f.atCost)
	}
}

// specs returns all that the results depend on.
func (f *compareFlags) specs(worlds []world, strategies []strategy.Strategy) output.Object {
	on := make([]output.Object, len(worlds))
	for i, w := range worlds {
		on[i] = output.Object{{Key: "population", Value: w.name}}
		if w.digest != "" {
			on[i] = output.Object{{Key: "table", Value: w.name}, {Key: "sha256", Value: w.digest}}
		}
		on[i].Add("drift", w.drift.String())
		on[i].Add("lag", w.lag)
	}
	return output.Object{
		{Key: "worlds", Value: on},
		{Key: "strategies", Value: specsOf(strategies)},
		{Key: "batch", Value: f.cfg.Batch},
		{Key: "group", Value: f.cfg.Group},
		{Key: "steps", Value: f.cfg.Steps},
		{Key: "replicates", Value: f.cfg.Replicates},
		{Key: "prompts", Value: f.prompts},
		{Key: "ladder", Value: f.ladder},
		{Key: "matched_cost", Value: f.atCost},
		{Key: "aggregate", Value: f.cfg.Aggregate},
		{Key: "hard", Value: f.cfg.Hard},
		{Key: "embeddings", Value: f.cfg.Embeddings},
		{Key: "embedding_noise", Value: f.cfg.Noise},
	}
}
