package main

import (
	"context"
	"encoding/json"
	"errors"
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
	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
)

type trainFlags struct {
	common
	policy          string
	populationSpecs []string
	strategySpecs   []string
	estimatorSpecs  []string
	systemSpecs     []string
	optimizer       string
	aggregate       string
	rate            string
	eval            string
	group           int
	prompts         int // 0 stands for batchesTrained batches
	clip            float64
	objective       train.Objective
	control         bool
	cfg             trial.Config
	moves           map[string]float64 // of log odds in an epoch at rate 1, by estimator (see train.EpochMove); none where nothing moves
}

// The words of train's flags.
const (
	aggregateBoth = "both"
	rateAuto      = "auto"
	evalTrained   = "trained"
	evalHeldOut   = "held-out"
)

// batchesTrained is the number of batches in a prompt set where --prompts is not
// given: an epoch short enough for histories to tell.
const batchesTrained = 4

// mostArms is what fits into a table and a figure.
const mostArms = 24

func newTrain(a *app) *cobra.Command {
	f := &trainFlags{
		policy: "logit", optimizer: "sgd", rate: rateAuto, group: 8, clip: math.Inf(1),
		objective: train.DefaultObjective(), cfg: trial.DefaultConfig(),
	}
	f.cfg.Train.MaxRollouts = 1_000_000
	cmd := &cobra.Command{
		Use:   "train --population SPEC --strategy SPEC ...",
		Short: "Train policies until a target is reached: does a strategy save rollouts?",
		Long: `train lets small policies, whose success probabilities are exact, learn from the
rollouts that strategies buy, until their mean success reaches a target. The
reference, fixed groups of --group, comes first; every strategy, estimator,
aggregation and system beside it is an arm. All arms of a seed start alike.

An allocation rescales the step. So every arm first runs at each learning rate of
a grid; then, on other seeds, at the rate that was best for it and at the one
that was best for the reference. Without --lr the grid runs from a rate at which an
epoch moves prompts' log odds by at most 1/4 to one of 4, by factors of 2. Beside every
rate stands by how much an epoch of groups of --group, along the exact gradient at the
start, moves the log odds of the prompt that it moves most.

Policies: logit, one logit a prompt; softmax:answers=K, a few answers a prompt;
linear:overlap=X,heldout=N, prompts that share features; sequence:tokens=L, answers
of several tokens. A draw of 0 or 1, which no policy has, wants floor > 0. Estimators:
grpo:ddof=0,delta=0; drgrpo; rloo; reinforce:baseline=B; verl, trl and openrlhf as
these libraries compute them. Optimizers: sgd, momentum:beta=0.9, adam.

A system that makes several updates a step, as m2po does, differs from the reference
by those too: lag=0 of the same system is its fair control. An arm of a system also has
its ratio to the reference's strategy under that system.

Of the five diagnostics of a taxonomy of the field, --control puts a random control at
an equal drop rate beside every method, --ladder compares each strategy with the one
before it, --system m2po:lag=K, repeated, is the sweep of staleness, and rollouts to a
target are matched cost by themselves; compare has acceptance against drift.`,
		Example: `  # does VIGOR save rollouts on a policy with one logit a prompt?
  vigorlab train --population beta:a=0.5,b=0.5 --strategy vigor --policy logit:floor=1e-6 \
    --target 0.8 --batch 16 --lr 1,2,4,8 --seeds 6 --choose-seeds 2 --out trained

  # is it VIGOR's choice of prompts, or its group sizes alone? fixed groups, its random control,
  # VIGOR
  vigorlab train --population beta:a=0.5,b=0.5 --strategy control/vigor --strategy vigor \
    --ladder --policy logit:floor=1e-6 --target 0.8 --batch 16 --lr 4 --seeds 8

  # the same weight for every prompt, at one learning rate of your own
  vigorlab train --population uniform --policy logit:floor=1e-6 --strategy vigor \
    --aggregate both --lr 5 --batch 16 --seeds 6 --target 0.8

  # prompts that share features, judged by prompts that were held out
  vigorlab train --population uniform --policy linear:overlap=0.5,heldout=64,floor=1e-6 \
    --strategy vigor --eval held-out --target 0.8 --batch 16 --lr 0.5 --seeds 6 \
    --max-rollouts 20000

  # how much do stale answers cost, under two rules that limit ratios? quality against lag
  vigorlab train --population beta:a=1,b=4 --policy softmax:answers=5,near=1,gap=1,floor=1e-3 \
    --batch 16 --prompts 32 --lr 2 --system m2po:lag=0 --system m2po:lag=64 \
    --system m2po:lag=0,rule=clip --system m2po:lag=64,rule=clip --target 0.95 --max-steps 80 \
    --seeds 6`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.registerTraining(cmd)
	return cmd
}

func (f *trainFlags) registerTraining(cmd *cobra.Command) {
	flags := cmd.Flags()
	text := func(target *string, name, want, usage string) {
		flags.Var(&textFlag{target, name, want, &f.faults}, name, usage)
	}
	text(&f.policy, "policy", "a spec such as logit", "policy `SPEC` that learns (see vigorlab policies)")
	flags.StringArrayVar(&f.populationSpecs, "population", nil, "population `SPEC` of initial success probabilities (see vigorlab populations)")
	flags.StringArrayVar(&f.strategySpecs, "strategy", nil, "strategy `SPEC`, repeatable (see vigorlab strategies)")
	flags.BoolVar(&f.control, "control", false, "beside every method its random control at an equal drop rate, control/SPEC: the same groups and rounds, prompts by lot")
	flags.BoolVar(&f.cfg.Ladder, "ladder", false, "compare each strategy with the one before it too, the first with the reference")
	f.whole(flags, &f.group, "group", 2, 1000, "the reference is fixed:g=`G`")
	flags.StringArrayVar(&f.estimatorSpecs, "estimator", nil, "advantage estimator `SPEC`, repeatable (default grpo)")
	f.choice(flags, &f.aggregate, "aggregate", []string{sim.AggregateRollout, sim.AggregatePrompt, aggregateBoth}, "`HOW` the update weighs groups")
	flags.StringArrayVar(&f.systemSpecs, "system", nil, "system `SPEC` beside none, repeatable (see vigorlab systems)")
	text(&f.optimizer, "optimizer", "a spec such as sgd", "optimizer `SPEC`, without its learning rate")
	f.real(flags, &f.clip, "clip", 0, 1e6, "ratios are clipped to [1-`X`, 1+X] (default no clipping)")
	flags.Lookup("clip").DefValue = "0"
	f.whole(flags, &f.objective.Epochs, "epochs", 1, 1000, "`N` updates on the same groups")
	f.real(flags, &f.objective.KL, "kl", 0, 1e6, "`X` times the divergence from the initial policy is taken off the objective")
	flags.BoolVar(&f.objective.TokenMean, "token-mean", false, "divide a rollout's sum over tokens by their number")
	text(&f.rate, "lr", "auto, a number or several", "learning rate `X`, a grid X,Y,... to choose from, or auto")
	f.real(flags, &f.cfg.Train.Target, "target", 0, 1, "mean success `X` to reach")
	f.choice(flags, &f.eval, "eval", []string{evalTrained, evalHeldOut}, "the `PROMPTS` whose mean success is the target's")
	f.whole(flags, &f.cfg.Train.MaxRollouts, "max-rollouts", 1, 1_000_000_000, "a run ends after `N` rollouts at the latest")
	f.whole(flags, &f.cfg.Train.MaxSteps, "max-steps", 1, 1_000_000_000, "or after `N` steps")
	f.whole(flags, &f.cfg.Train.Batch, "batch", 1, 100_000, "`B` groups that an update is for")
	f.whole(flags, &f.prompts, "prompts", 1, 10_000_000, "`M` prompts that are trained on (default four batches)")
	flags.Lookup("prompts").DefValue = "0"
	f.whole(flags, &f.cfg.Seeds, "seeds", 1, 10_000, "`K` runs of an arm at a rate that are reported")
	f.whole(flags, &f.cfg.ChooseSeeds, "choose-seeds", 1, 10_000, "`K` other runs that choose its rate")
	f.whole(flags, &f.cfg.Resamples, "resamples", 2, maxResamples, "`N` samples of seeds that the intervals of ratios rest on")
	flags.BoolVar(&f.cfg.Probes, "probes", true, "measure the gradient's signal and noise on the way")
	f.register(flags)
}

func (f *trainFlags) run(ctx context.Context, a *app) error {
	if f.prompts == 0 {
		f.prompts = batchesTrained * f.cfg.Train.Batch
	}
	if f.prompts < f.cfg.Train.Batch {
		f.addf("--prompts = %d, want at least --batch = %d", f.prompts, f.cfg.Train.Batch)
		f.prompts = f.cfg.Train.Batch // go on looking for faults
	}
	f.objective.ClipLow, f.objective.ClipHigh = f.clip, f.clip
	f.cfg.Train.HeldOut = f.eval == evalHeldOut
	population := f.population(ctx, f.populationSpecs)
	if population.Noisy {
		f.addf("--population %s is that of rewards with label noise, which no policy can learn away: success probabilities would end at 1-q, and a policy's own end at 1. "+
			"Want the population of right and wrong, without flip; what noise does to the allocation of one step, theory, simulate and compare say", population.Spec)
	}
	strategies := f.arms(ctx)
	estimators := f.estimators()
	f.checkOptimizer()
	policy := f.checkPolicy(population)
	f.checkTarget(population, policy)
	f.rates(policy, estimators)
	f.cross(strategies, estimators, f.systems(policy))
	if err := f.err(); err != nil {
		return err
	}
	f.policy = policy.Spec()
	f.cfg.Train.Seed, f.cfg.Train.Population, f.cfg.Workers = f.seed, population.Spec, f.workers
	f.cfg.NewPolicy = func(key stream.Key) (train.Policy, error) {
		p, err := train.NewPolicy(f.policy, population.Law, f.prompts, key)
		if err != nil {
			return nil, &startError{err}
		}
		return p, nil
	}
	return f.trial(ctx, a, population, strategies, estimators)
}

// trial runs the trial that the flags describe.
func (f *trainFlags) trial(ctx context.Context, a *app, population spec.Population, strategies []strategy.Strategy, estimators []advantage.Estimator) error {
	line := f.line(population, strategies, estimators)
	record, err := f.record(a, "train", line, f.specs(population, strategies, estimators))
	if err != nil {
		return err
	}
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	f.cfg.Progress = func(phase string, done, total int) { bar.Show(phaseWords[phase], done, total) }
	t := &training{flags: f, reproduce: line.String(), population: population.Spec}
	var notes []string // what figures do not show
	err = f.long(record, func(d *rundir.Dir) error {
		if err := f.journal(a, d, &t.records); err != nil {
			return err
		}
		t.Result, err = await(ctx, func() (*trial.Result, error) { return trial.Run(ctx, f.cfg) })
		if err != nil {
			return f.trialError(err, population)
		}
		if notes, err = saveRun(ctx, d, t.result, t.drawings); err != nil || d == nil {
			return err
		}
		return d.Write("report.md", t.report())
	})
	if errors.Is(err, context.Canceled) && f.out != "" {
		return &stoppedError{err, f.out, "the runs that are finished"}
	}
	if err != nil {
		return err
	}
	bar.Close()
	f.warn(a, append(t.warnings(), notes...))
	return t.result().print(a, f.format)
}

var phaseWords = map[string]string{trial.PhaseChoose: "runs that choose rates", trial.PhaseReport: "runs that report"}

// journal gathers every record, and makes the trial keep it in the run directory
// as soon as its run is finished, and go on behind those of earlier sittings.
func (f *trainFlags) journal(a *app, d *rundir.Dir, records *[]trial.Record) error {
	gather := func(r *trial.Record) error {
		*records = append(*records, *r)
		return nil
	}
	f.cfg.Save = gather
	if d == nil {
		return nil
	}
	j, lines, err := d.Journal()
	if err != nil {
		return err
	}
	f.cfg.Done = make([]trial.Record, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &f.cfg.Done[i]); err != nil {
			return fmt.Errorf("--out %s: line %d of the journal: %w", f.out, i+1, err)
		}
	}
	if len(lines) > 0 && !f.quiet {
		fmt.Fprintf(a.stderr, "vigorlab: going on after the %d runs that %s keeps\n", len(lines), f.out)
	}
	*records = slices.Clone(f.cfg.Done)
	f.cfg.Save = func(r *trial.Record) error {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = j.Append(line)
		return errors.Join(err, gather(r))
	}
	return nil
}

// A startError says why a seed has no initial policy.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// trialError tells a trial's failures apart: of the input, of the learning rate,
// others.
func (f *trainFlags) trialError(err error, population spec.Population) error {
	var start *startError
	var diverged *train.DivergenceError
	switch {
	case errors.As(err, &start):
		f.add(fmt.Sprintf("--population %s with --policy %s:", population.Spec, f.policy), start.err)
		return f.err()
	case errors.As(err, &diverged):
		return fmt.Errorf("--lr %s: %w", f.rate, err)
	}
	return err
}

// arms returns the strategies, the reference first.
func (f *trainFlags) arms(ctx context.Context) []strategy.Strategy {
	reference, err := strategy.Parse(fmt.Sprintf("fixed:g=%d", f.group), nil)
	if err != nil {
		f.add("--group", err)
		return nil
	}
	named := f.strategies(ctx, f.strategySpecs)
	if f.control {
		named = f.withControls(named, f.cfg.Ladder)
	}
	strategies := append([]strategy.Strategy{reference}, slices.DeleteFunc(named, func(s strategy.Strategy) bool { return s.Spec() == reference.Spec() })...)
	if f.cfg.Ladder {
		f.checkLadder(strategies)
	}
	for _, s := range strategies {
		f.add("--strategy "+s.Spec(), s.Start(f.cfg.Train.Batch))
	}
	return strategies
}

func (f *trainFlags) estimators() []advantage.Estimator {
	specs := f.estimatorSpecs
	if len(specs) == 0 {
		specs = []string{"grpo"}
	}
	var estimators []advantage.Estimator
	for _, text := range specs {
		e, err := train.NewEstimator(text)
		if err != nil {
			f.add("--estimator", err)
			continue
		}
		if slices.ContainsFunc(estimators, func(have advantage.Estimator) bool { return have.Spec() == e.Spec() }) {
			f.addf("--estimator %s is given twice, want each estimator once", text)
			continue
		}
		estimators = append(estimators, e)
	}
	return estimators
}

// checkOptimizer normalises the optimizer.
func (f *trainFlags) checkOptimizer() {
	s, err := spec.Parse(f.optimizer)
	if err == nil && slices.ContainsFunc(s.Params, func(p spec.Param) bool { return p.Key == "lr" }) {
		f.addf("--optimizer %s: the learning rate stands in --lr, want no lr here", f.optimizer)
		f.optimizer = "sgd"
		return
	}
	o, err := train.NewOptimizer(train.WithRate(f.optimizer, 1))
	if err != nil {
		f.add("--optimizer", err)
		f.optimizer = "sgd"
		return
	}
	if s, err = spec.Parse(o.Spec()); err == nil {
		s.Params = slices.DeleteFunc(s.Params, func(p spec.Param) bool { return p.Key == "lr" })
		f.optimizer = s.String()
	}
}

// checkPolicy returns the policy of some seed, or nil where there is none. A
// population at fault leaves the policy's own faults to be found.
func (f *trainFlags) checkPolicy(population spec.Population) train.Policy {
	law := population.Law
	if population.Spec != "" && law == nil {
		f.addf("--population %s: an unbounded reward variance belongs to no success probability, want max=1 or less", population.Spec)
	}
	if population.Lengths != nil {
		f.addf("--population %s has lengths, which are a policy's own here, want none, and --policy sequence for answers of several tokens", population.Spec)
	}
	subject := "--policy"
	if law == nil {
		law, _ = distributions.NewPoint(0.5) // cannot fail
	} else {
		subject = fmt.Sprintf("--population %s with --policy %s:", population.Spec, f.policy)
	}
	p, err := train.NewPolicy(f.policy, law, f.prompts, f.cfg.Train.StartKey())
	if err != nil {
		f.add(subject, err)
		return nil
	}
	return p
}

// checkTarget compares the target with where training begins, in the mean.
func (f *trainFlags) checkTarget(population spec.Population, policy train.Policy) {
	if policy != nil && f.cfg.Train.HeldOut && policy.HeldOut() == 0 {
		f.addf("--eval held-out: %s holds no prompts out, want a policy that does, such as linear:overlap=0.5,heldout=16", policy.Spec())
	}
	target := f.cfg.Train.Target
	if target == 0 {
		f.addf("--target = 0, want (0, 1]")
		return
	}
	start := 0.0
	if population.Law != nil {
		start = population.Law.MeanP()
	}
	if start >= target {
		f.addf("--target = %v, want more than %.3g, the mean of %s, where training begins", target, start, population.Spec)
		return
	}
	const parts = 10
	f.cfg.Levels = nil
	for k := 1; k < parts; k++ {
		level := math.Round(1e4*(start+(target-start)*float64(k)/parts)) / 1e4
		if level > 0 && level < target {
			f.cfg.Levels = append(f.cfg.Levels, level)
		}
	}
}

// rates sets the grid of learning rates, and what they move.
func (f *trainFlags) rates(policy train.Policy, estimators []advantage.Estimator) {
	f.measureMoves(policy, estimators)
	if f.rate == rateAuto {
		if len(estimators) == 0 || policy == nil {
			return // which are at fault themselves
		}
		rates, err := train.AutoRates(policy, f.optimizer, estimators, f.cfg.Train.Batch, f.group)
		f.add("--lr auto:", err)
		f.cfg.Rates = rates
		return
	}
	f.cfg.Rates = nil
	for _, word := range strings.Split(f.rate, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(rate > 0 && rate <= math.MaxFloat64) {
			f.addf("--lr = %s, want auto or finite numbers > 0", shown(f.rate))
			return
		}
		f.cfg.Rates = append(f.cfg.Rates, rate)
	}
	slices.Sort(f.cfg.Rates)
	f.cfg.Rates = slices.Compact(f.cfg.Rates)
}

// measureMoves finds what a learning rate of 1 does under every estimator.
func (f *trainFlags) measureMoves(policy train.Policy, estimators []advantage.Estimator) {
	f.moves = map[string]float64{}
	if policy == nil {
		return
	}
	for _, e := range estimators {
		if move, err := train.EpochMove(policy, f.optimizer, e, f.cfg.Train.Batch, f.group); err == nil {
			f.moves[e.Spec()] = move
		}
	}
}

// move returns by how much an epoch at a rate moves log odds, nil where that is not
// known.
func (f *trainFlags) move(estimator string, rate float64) *float64 {
	m, known := f.moves[estimator]
	if !known {
		return nil
	}
	return output.Finite(rate * m)
}

// addMove adds it to a document.
func (f *trainFlags) addMove(o *output.Object, estimator string, rate float64) {
	m := f.move(estimator, rate)
	o.Add("log_odds_per_epoch", m)
	if m == nil {
		o.Add("reason", "groups of the reference move no prompt at the start, or one without bound")
	}
}

// systems returns the systems, none first, whose specs it normalises.
func (f *trainFlags) systems(policy train.Policy) []string {
	specs := []string{""}
	for _, text := range f.systemSpecs {
		s, err := train.NewSystem(text)
		if err == nil && text == "" {
			err = errors.New("is empty, want a spec")
		}
		if err != nil {
			f.add("--system", err)
			f.hint("vigorlab systems lists the systems and their parameters")
			continue
		}
		if slices.Contains(specs, s.Spec()) {
			f.addf("--system %s is given twice, want each system once", text)
			continue
		}
		if err := f.canRun(s, policy); err != nil {
			f.add("--system "+text+":", err)
			continue
		}
		specs = append(specs, s.Spec())
	}
	f.systemSpecs = specs[1:]
	return specs
}

// canRun returns why a system cannot run on the policy.
func (f *trainFlags) canRun(s train.System, policy train.Policy) error {
	if policy == nil {
		return nil // which is at fault itself
	}
	o, err := train.NewOptimizer(train.WithRate(f.optimizer, 1))
	if err != nil {
		return err
	}
	begin := func(clip float64) error {
		objective := train.DefaultObjective()
		objective.ClipLow, objective.ClipHigh = clip, clip
		u, err := train.NewUpdater(policy, objective, o)
		if err != nil {
			return err
		}
		return s.Begin(policy, u, f.cfg.Train.StartKey())
	}
	if err := begin(math.Inf(1)); err != nil {
		return err
	}
	if begin(f.clip) != nil { // a trust region refuses it
		return fmt.Errorf("the system limits ratios itself, want no --clip %v%s", f.clip, clipOf(s.Spec(), f.clip))
	}
	return nil
}

// clipOf says how the spec of a system clips, where it can.
func clipOf(system string, clip float64) string {
	info := infoOf(system)
	has := func(key string) bool {
		return slices.ContainsFunc(info.Parameters, func(p strategy.Parameter) bool { return p.Name == key })
	}
	switch {
	case info == nil || !has("clip"):
		return ""
	case has("rule"):
		return fmt.Sprintf(" but %s:rule=clip,clip=%v", info.Name, clip)
	}
	return fmt.Sprintf(" but %s:clip=%v", info.Name, clip)
}

// cross makes an arm of every strategy, estimator, aggregation and system.
func (f *trainFlags) cross(strategies []strategy.Strategy, estimators []advantage.Estimator, systems []string) {
	aggregates := []string{f.aggregate}
	if f.aggregate == aggregateBoth {
		aggregates = []string{sim.AggregateRollout, sim.AggregatePrompt}
	}
	for _, newStrategy := range makers(strategies) {
		for _, e := range estimators {
			for _, aggregate := range aggregates {
				for _, system := range systems {
					o := f.objective
					o.Estimator, o.Aggregate = e, aggregate
					f.cfg.Arms = append(f.cfg.Arms, trial.Arm{Strategy: newStrategy, Objective: o, System: system, Optimizer: f.optimizer})
				}
			}
		}
	}
	if n := len(f.cfg.Arms); n > mostArms {
		f.addf("%d arms, of %d strategies, %d estimators, %d aggregations and %d systems, want at most %d", n, len(strategies), len(estimators), len(aggregates), len(systems), mostArms)
	}
}

func (f *trainFlags) line(population spec.Population, strategies []strategy.Strategy, estimators []advantage.Estimator) *commandLine {
	l := newCommandLine("train")
	l.add("policy", f.policy)
	l.add("population", population.Spec)
	for _, s := range strategies {
		l.add("strategy", s.Spec())
	}
	l.add("group", f.group)
	for _, e := range estimators {
		l.add("estimator", e.Spec())
	}
	l.add("aggregate", f.aggregate)
	for _, s := range f.systemSpecs {
		l.add("system", s)
	}
	l.add("optimizer", f.optimizer)
	if !math.IsInf(f.clip, 1) {
		l.add("clip", f.clip)
	}
	l.add("epochs", f.objective.Epochs)
	l.add("kl", f.objective.KL)
	if f.objective.TokenMean {
		l.mark("token-mean")
	}
	l.add("lr", f.rate)
	l.add("target", f.cfg.Train.Target)
	l.add("eval", f.eval)
	l.add("max-rollouts", f.cfg.Train.MaxRollouts)
	l.add("max-steps", f.cfg.Train.MaxSteps)
	l.add("batch", f.cfg.Train.Batch)
	l.add("prompts", f.prompts)
	l.add("seeds", f.cfg.Seeds)
	l.add("choose-seeds", f.cfg.ChooseSeeds)
	l.add("resamples", f.cfg.Resamples)
	if !f.cfg.Probes {
		l.mark("probes=false")
	}
	if f.cfg.Ladder {
		l.mark("ladder")
	}
	l.add("seed", f.seed)
	return l
}

// specs returns all that the results depend on.
func (f *trainFlags) specs(population spec.Population, strategies []strategy.Strategy, estimators []advantage.Estimator) output.Object {
	names := []string{}
	for _, e := range estimators {
		names = append(names, e.Spec())
	}
	var clip *float64
	if !math.IsInf(f.clip, 1) {
		clip = &f.clip
	}
	return output.Object{
		{Key: "policy", Value: f.policy},
		{Key: "population", Value: population.Spec},
		{Key: "strategies", Value: specsOf(strategies)},
		{Key: "estimators", Value: names},
		{Key: "aggregate", Value: f.aggregate},
		{Key: "systems", Value: append([]string{}, f.systemSpecs...)},
		{Key: "optimizer", Value: f.optimizer},
		{Key: "clip", Value: clip},
		{Key: "epochs", Value: f.objective.Epochs},
		{Key: "kl", Value: f.objective.KL},
		{Key: "token_mean", Value: f.objective.TokenMean},
		{Key: "learning_rates", Value: f.cfg.Rates},
		{Key: "target", Value: f.cfg.Train.Target},
		{Key: "levels", Value: f.cfg.Levels},
		{Key: "eval", Value: f.eval},
		{Key: "max_rollouts", Value: f.cfg.Train.MaxRollouts},
		{Key: "max_steps", Value: f.cfg.Train.MaxSteps},
		{Key: "batch", Value: f.cfg.Train.Batch},
		{Key: "prompts", Value: f.prompts},
		{Key: "seeds", Value: f.cfg.Seeds},
		{Key: "choose_seeds", Value: f.cfg.ChooseSeeds},
		{Key: "resamples", Value: f.cfg.Resamples},
		{Key: "probes", Value: f.cfg.Probes},
		{Key: "ladder", Value: f.cfg.Ladder},
	}
}
