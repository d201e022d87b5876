package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A Config says how a policy is trained. Make it with DefaultConfig.
type Config struct {
	Seed        uint64
	Population  string // names the streams: the normalised population
	Batch       int    // groups that an update is for, >= 1
	Objective   Objective
	Optimizer   string  // a spec (see NewOptimizer)
	System      string  // a spec (see NewSystem), "" for none
	Target      float64 // mean success to reach, in (0, 1]
	HeldOut     bool    // the target is one of the held-out prompts
	MaxRollouts int     // generated; the run ends after the step that reaches it, >= 1
	MaxSteps    int     // >= 1: a strategy may ask for nothing, step after step

	// Embeddings and Noise are what strategies that need embeddings are handed,
	// of the initial policy (sim.Embed): vectors of so many numbers >= 1.
	Embeddings int
	Noise      float64 // >= 0

	// Step, where not nil, hears of every step, and of step 0, the start.
	Step func(Point)
	// Recorder, where not nil, keeps the curve of the run.
	Recorder *Recorder
}

// DefaultConfig returns batches of 64 groups, GRPO by rollout, SGD at rate 1, a
// target of 0.9, at most 10^7 rollouts or 10^6 steps, and the embeddings of
// sim.DefaultSteps.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Batch: 64, Objective: DefaultObjective(), Optimizer: "sgd:lr=1",
		Target: 0.9, MaxRollouts: 1e7, MaxSteps: 1e6, Embeddings: 4, Noise: 0.3,
	}
}

// Validate reports every parameter outside its range, joined, those of Objective
// and Optimizer apart.
func (c *Config) Validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{{"batch", c.Batch}, {"max rollouts", c.MaxRollouts}, {"max steps", c.MaxSteps}, {"embeddings", c.Embeddings}} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%s = %d, want at least 1", n.name, n.value))
		}
	}
	if !(c.Target > 0 && c.Target <= 1) {
		errs = append(errs, fmt.Errorf("target = %v, want (0, 1]", c.Target))
	}
	if !(c.Noise >= 0) {
		errs = append(errs, fmt.Errorf("noise = %v, want at least 0", c.Noise))
	}
	return errors.Join(errs...)
}

// StartKey names the initial state of a run's policy: hand it to NewPolicy. All
// strategies, objectives and optimizers of a seed start alike and meet common
// random numbers.
func (c *Config) StartKey() stream.Key {
	return stream.New(c.Seed).Named(c.Population).Named("policy")
}

// A Point is what a run looks like after a step.
type Point struct {
	Step    int
	Ledger  rollout.Ledger // summed up to and with the step
	Cost    float64        // of all rollouts so far, in rollouts of the full policy: Ledger.Generated without a system
	Success float64        // true mean success probability of the trained prompts
	HeldOut float64        // and of the held-out ones, NaN where there are none

	Diagnostics []Diagnostic // of the step, by the system: none at the start, nor from some systems
}

// A Result is how a run ended: at Last, on target or not.
type Result struct {
	Reached bool
	Last    Point
}

// Run trains a policy on what a strategy buys, until the true mean success, read
// after every step, reaches the target, or rollouts or steps are spent. The
// result depends on cfg, the policy's state and the strategy alone, byte for
// byte. It stops early with ctx's error, and with a DivergenceError where a
// number is no longer finite.
func Run(ctx context.Context, cfg Config, p Policy, s strategy.Strategy) (Result, error) {
	r, err := newRun(&cfg, p, s)
	if err != nil {
		return Result{}, err
	}
	for {
		if err := r.look(); err != nil {
			return Result{}, err
		}
		if r.reached() || r.point.Ledger.Generated >= cfg.MaxRollouts || r.point.Step == cfg.MaxSteps {
			return Result{r.reached(), r.point}, nil
		}
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if err := r.step(ctx); err != nil {
			return Result{}, err
		}
	}
}

// A run is one policy in training.
type run struct {
	cfg     *Config
	policy  Policy
	source  *Source
	spender *sim.Spender
	updater *Updater
	system  System
	key     stream.Key
	point   Point
	groups  []Group
	counts  []int // of the groups
	gen     *stream.Generator
}

func newRun(cfg *Config, p Policy, s strategy.Strategy) (*run, error) {
	opt, err := NewOptimizer(cfg.Optimizer)
	system, systemErr := NewSystem(cfg.System)
	if err := errors.Join(cfg.Validate(), err, systemErr); err != nil {
		return nil, err
	}
	if cfg.Batch > p.Prompts() {
		return nil, fmt.Errorf("batch = %d, want a whole number in [1, %d], the prompts of the set", cfg.Batch, p.Prompts())
	}
	if cfg.HeldOut && p.HeldOut() == 0 {
		return nil, fmt.Errorf("%s holds no prompts out, want a policy that does for a target of them", p.Spec())
	}
	u, err := NewUpdater(p, cfg.Objective, opt)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, policy: p, source: NewSource(p), updater: u, system: system, gen: stream.NewGenerator(0)}
	r.spender = sim.NewSpender(s, p.Prompts(), r.source.MeanTokens() != nil)
	r.key = stream.New(cfg.Seed).Named(cfg.Population).With(uint64(p.Prompts()), uint64(cfg.Batch))
	r.spender.Begin(r.key, r.embeddings(s.Capabilities().Embeddings))
	return r, system.Begin(p, u, r.key.Named("system"))
}

// embeddings returns a vector for every prompt, nil where none are needed.
func (r *run) embeddings(needed bool) [][]float64 {
	if !needed {
		return nil
	}
	p, vectors := make([]float64, r.policy.Prompts()), make([][]float64, r.policy.Prompts())
	for x := range p {
		p[x] = meanSuccess(r.policy, x, x+1)
		vectors[x] = make([]float64, r.cfg.Embeddings)
	}
	r.gen.Reset(r.key.Named("embeddings"))
	sim.Embed(vectors, p, r.cfg.Noise, r.gen.Rand)
	return vectors
}

// stepKey names the streams of the step after r.point.
func (r *run) stepKey() stream.Key { return r.key.With(uint64(r.point.Step)) }

// look reads the policy at the end of a step.
func (r *run) look() error {
	if err := r.system.Answer(r.point.Step+1, func() error { return r.source.read(r.stepKey()) }); err != nil {
		return err
	}
	n := r.policy.Prompts()
	r.point.Success = r.success()
	r.point.HeldOut = meanSuccess(r.policy, n, n+r.policy.HeldOut())
	if math.IsNaN(r.point.Success) {
		return &DivergenceError{r.point.Step, "mean success", r.point.Success}
	}
	if r.policy.HeldOut() > 0 && math.IsNaN(r.point.HeldOut) {
		return &DivergenceError{r.point.Step, "mean success of the held-out prompts", r.point.HeldOut}
	}
	if r.cfg.Recorder != nil {
		r.cfg.Recorder.look(r.point, n)
	}
	if r.cfg.Step != nil {
		r.cfg.Step(r.point)
	}
	return nil
}

// success returns the mean success probability of the trained prompts.
func (r *run) success() float64 {
	n := r.policy.Prompts()
	if _, own := r.system.(ownAnswers); !own {
		return meanSuccess(r.policy, 0, n)
	}
	sum := 0.0
	for _, p := range r.source.Truth() {
		sum += p
	}
	return sum / float64(n)
}

func (r *run) reached() bool {
	if r.cfg.HeldOut {
		return r.point.HeldOut >= r.cfg.Target
	}
	return r.point.Success >= r.cfg.Target
}

// step lets the strategy spend and the policy learn.
func (r *run) step(ctx context.Context) error {
	if err := r.spender.Step(ctx, r.source, r.cfg.Batch, r.source.Truth(), r.stepKey()); err != nil {
		return err
	}
	r.point.Step++
	spent, l := r.spender.Ledger(), &r.point.Ledger
	l.Generated += spent.Generated
	l.Trained += spent.Trained
	l.GeneratedTokens += spent.GeneratedTokens
	l.Rounds += spent.Rounds
	if err := r.collect(); err != nil {
		return err
	}
	if r.cfg.Recorder != nil {
		r.cfg.Recorder.step(r.point.Step, r.source, r.groups)
	}
	step := &Step{
		Number: r.point.Step, Groups: r.groups, Old: r.source.LogProbs, Key: r.stepKey().Named("system"), Price: 1,
		point: &r.point, lengths: r.source.MeanTokens() != nil,
	}
	if err := r.system.Learn(step); err != nil {
		return err
	}
	r.point.Cost += step.Price * float64(spent.Generated)
	r.spender.Observe()
	return nil
}

// collect fills r.groups with the groups of the step's update.
func (r *run) collect() error {
	b, u := r.spender.Batch(), r.spender.Update()
	r.groups, r.counts = r.groups[:0], r.counts[:0]
	var err error
	r.spender.EachTrained(func(x, n, successes int) {
		id := b.ID[x]
		outcomes := r.policy.Outcomes(id)
		at := len(r.counts)
		r.counts = append(r.counts, make([]int, len(outcomes))...)
		g := Group{X: id, Counts: r.counts[at:], Weight: 1, Baseline: math.NaN()}
		from, to := 0, b.N[x]
		if u.Fresh {
			from, to = to, math.MaxInt
		}
		r.source.Counts(g.Counts, id, from, to)
		if keepErr := r.keep(g.Counts, outcomes, n, successes, id); keepErr != nil && err == nil {
			err = fmt.Errorf("step %d: prompt %d: %w", r.point.Step, id, keepErr)
		}
		if u.Weights != nil {
			g.Weight = u.Weights[x]
		}
		if u.Baselines != nil {
			g.Baseline = u.Baselines[x]
		}
		r.groups = append(r.groups, g)
	})
	return err
}

// keep leaves n rollouts, so many of them successes, in the counts of a group.
// Where the update has fewer than were answered at this step, each of the same
// reward is kept with the same probability: strategies tell rollouts apart by
// their rewards alone. Where it has more, the others come from the last step that
// asked the prompt, chosen likewise; their ratios are taken to the policy of this
// step, as by trainers that work old log probabilities out anew.
func (r *run) keep(counts []int, outcomes []Outcome, n, successes, id int) error {
	all, hits := size(outcomes, counts)
	if n == all && successes == hits {
		return nil
	}
	r.gen.Reset(r.key.With(uint64(r.point.Step), uint64(id)).Named("kept"))
	earlier := slices.Clone(r.source.Earlier(id))
	before, beforeHits := size(outcomes, earlier)
	for _, class := range []struct {
		correct            bool
		want, have, before int
	}{{true, successes, hits, beforeHits}, {false, n - successes, all - hits, before - beforeHits}} {
		missing := max(0, class.want-class.have)
		if missing > class.before {
			return fmt.Errorf("%d successes of %d rollouts are trained on, want no more of either than the %d of %d of this step and the %d of %d of the prompt's last one",
				successes, n, hits, all, beforeHits, before)
		}
		thin(counts, outcomes, class.correct, class.have, class.want-missing, r.gen.Rand)
		thin(earlier, outcomes, class.correct, class.before, missing, r.gen.Rand)
	}
	for k, c := range earlier {
		counts[k] += c
	}
	return nil
}

// thin leaves want of have rollouts in the counts of correct outcomes, or of
// wrong ones, chosen without replacement.
func thin(counts []int, outcomes []Outcome, correct bool, have, want int, rand *rand.Rand) {
	for k, o := range outcomes {
		if o.Correct != correct {
			continue
		}
		kept := 0
		for range counts[k] {
			if rand.IntN(have) < want {
				kept++
				want--
			}
			have--
		}
		counts[k] = kept
	}
}
