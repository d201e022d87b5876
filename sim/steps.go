package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A StepsConfig says how a run of many steps over a prompt set is simulated.
// Make it with DefaultSteps.
type StepsConfig struct {
	Seed       uint64
	Population string  // names the prompts' streams: the normalised population or table
	Batch      int     // groups that an update is for, >= 1
	Group      int     // rollouts of a group of the reference, the strategy fixed:g=Group
	Steps      int     // of a run, >= 1
	Replicates int     // pairs of runs, >= 1
	Workers    int     // >= 1; no figure depends on it, selection times apart
	Aggregate  string  // AggregateRollout | AggregatePrompt
	Hard       float64 // a prompt is hard where p <= Hard, in [0, 1]
	Drift      Drift
	Level      float64 // of the family of paired differences that the ranks rest on, in (0, 1)

	// Lag is by how many steps rollouts are stale: they come from the success
	// probabilities of so many steps ago, of the start at first, while figures are
	// those of now.
	Lag int
	// Ladder compares every strategy with the one before it.
	Ladder bool
	// MatchedCost is the cost at which runs are compared, in rollouts for each
	// group of the batch over the whole run; 0 for half of the reference's.
	MatchedCost float64

	// Embeddings, where positive, hands out vectors of that many numbers: the
	// first one is psi = arcsin sqrt(p) at the start of the run with normal
	// noise of that standard deviation, the others are noise alone.
	Embeddings int
	Noise      float64

	// Progress, where not nil, hears how many of all replicates are done. It
	// is called from one goroutine at a time.
	Progress func(done, total int)
}

// DefaultSteps returns the defaults of compare: batches of 64 groups of 8, 32
// steps, 64 replicates, no drift, hard prompts up to p = 0.2, ranks at level
// 0.05, and embeddings of four numbers with a noise of 0.3 in psi, whose whole
// range is 1.57.
func DefaultSteps() StepsConfig {
	return StepsConfig{
		Seed: 1, Batch: 64, Group: 8, Steps: 32, Replicates: 64, Workers: runtime.GOMAXPROCS(0),
		Aggregate: AggregateRollout, Hard: 0.2, Level: 0.05, Embeddings: 4, Noise: 0.3,
	}
}

// Validate reports every parameter outside its range, joined.
func (c *StepsConfig) Validate() error {
	var errs []error
	fault := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s = %v, want %s", name, value, want))
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"batch", c.Batch},
		{"group", c.Group},
		{"steps", c.Steps},
		{"replicates", c.Replicates},
		{"workers", c.Workers},
	} {
		if n.value < 1 {
			fault(n.name, n.value, "at least 1")
		}
	}
	if c.Aggregate != AggregateRollout && c.Aggregate != AggregatePrompt {
		fault("aggregate", c.Aggregate, AggregateRollout+" or "+AggregatePrompt)
	}
	if !(c.Hard >= 0 && c.Hard <= 1) {
		fault("hard", c.Hard, "[0, 1]")
	}
	if !(c.Level > 0 && c.Level < 1) {
		fault("level", c.Level, "(0, 1)")
	}
	if c.Lag < 0 {
		fault("lag", c.Lag, "at least 0")
	}
	if !(c.MatchedCost >= 0) {
		fault("matched cost", c.MatchedCost, "at least 0")
	}
	if c.Embeddings < 0 {
		fault("embeddings", c.Embeddings, "at least 0")
	}
	if !(c.Noise >= 0) {
		fault("noise", c.Noise, "at least 0")
	}
	return errors.Join(errs...)
}

// matchedCost returns the cost at which runs are compared.
func (c *StepsConfig) matchedCost() float64 {
	if c.MatchedCost > 0 {
		return c.MatchedCost
	}
	return float64(c.Group*c.Steps) / 2
}

// NewPromptSet makes a worker's own source, whose batches are prompt sets.
type NewPromptSet func() (rollout.DriftSource, error)

// RunSteps simulates runs of many steps: every strategy on the same prompt
// sets, in the same order of epochs, with common random numbers. A replicate
// is a pair of independent runs: their difference measures the variance of the
// gradient estimate. fixed:g=Group must be among the strategies: progress is
// relative to it. The result depends on cfg (Workers and Progress apart), the
// source and the strategies alone, byte for byte, selection times apart. It
// stops early with ctx's error.
func RunSteps(ctx context.Context, cfg StepsConfig, newSet NewPromptSet, strategies []NewStrategy) (*Comparison, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var total *stepsTally
	done := 0
	err := InOrder(ctx, cfg.Workers, cfg.Replicates,
		func() (func(context.Context, int) (*stepsTally, error), error) {
			w, err := newStepsWorker(&cfg, newSet, strategies)
			if err != nil {
				return nil, err
			}
			return w.replicate, nil
		},
		func(_ int, t *stepsTally) error {
			if total == nil {
				total = t
			} else {
				total.merge(t)
			}
			done++
			if cfg.Progress != nil {
				cfg.Progress(done, cfg.Replicates)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return total.comparison(&cfg), nil
}

// A stepsWorker owns a source and an arm for every strategy.
type stepsWorker struct {
	cfg     *StepsConfig
	source  rollout.DriftSource
	lengths bool
	prompts int // of the set
	key     stream.Key
	arms    []*stepsArm
	gen     *stream.Generator
	start   []float64 // success probabilities of the set at the start of a run
	vectors [][]float64
}

func newStepsWorker(cfg *StepsConfig, newSet NewPromptSet, strategies []NewStrategy) (*stepsWorker, error) {
	src, err := newSet()
	if err != nil {
		return nil, err
	}
	w := &stepsWorker{cfg: cfg, source: src, gen: stream.NewGenerator(0)}
	if w.prompts, err = src.Reset(0); err != nil {
		return nil, err
	}
	if w.prompts < cfg.Batch {
		return nil, fmt.Errorf("batch = %d, want a whole number in [1, %d], the prompts of the set", cfg.Batch, w.prompts)
	}
	if l, ok := src.(rollout.LengthSource); ok {
		w.lengths = l.MeanTokens() != nil
	}
	w.key = stream.New(cfg.Seed).Named(cfg.Population).With(uint64(w.prompts), uint64(cfg.Batch), uint64(cfg.Steps))
	for _, newStrategy := range strategies {
		s, err := newStrategy()
		if err != nil {
			return nil, err
		}
		if s.Capabilities().Embeddings && cfg.Embeddings == 0 {
			return nil, fmt.Errorf("%s needs embeddings, want embeddings = at least 1", s.Spec())
		}
		w.arms = append(w.arms, newStepsArm(s, w))
	}
	if w.reference() < 0 {
		return nil, fmt.Errorf("strategies = %d without the reference fixed:g=%d, want it among them", len(w.arms), cfg.Group)
	}
	if cfg.Embeddings > 0 {
		w.vectors = make([][]float64, w.prompts)
		for id := range w.vectors {
			w.vectors[id] = make([]float64, cfg.Embeddings)
		}
	}
	return w, nil
}

// replicate runs every arm on the two prompt sets of replicate i.
func (w *stepsWorker) replicate(ctx context.Context, i int) (*stepsTally, error) {
	for half := range halves {
		if err := w.run(ctx, half, w.key.With(uint64(i), uint64(half))); err != nil {
			return nil, err
		}
	}
	for _, a := range w.arms {
		a.match(w.cfg.matchedCost(), float64(w.cfg.Batch))
	}
	return w.tally(), nil
}

// run lets every arm go through the steps of the run that key names.
func (w *stepsWorker) run(ctx context.Context, half int, key stream.Key) error {
	if _, err := w.source.Reset(key); err != nil {
		return err
	}
	w.start = append(w.start[:0], w.source.Truth()...)
	w.embed(key)
	for _, a := range w.arms {
		a.begin(half, key)
		for step := range w.cfg.Steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := a.step(ctx, half, step, key.With(uint64(step))); err != nil {
				return err
			}
		}
	}
	return nil
}

// embed fills the vectors of the prompt set.
func (w *stepsWorker) embed(key stream.Key) {
	w.gen.Reset(key.Named("embeddings"))
	Embed(w.vectors, w.start, w.cfg.Noise, w.gen.Rand)
}

// Embed fills a vector for every prompt of a set with normal noise of the given
// standard deviation, drawn from r, and adds psi = arcsin sqrt(p) to its first
// number.
func Embed(vectors [][]float64, p []float64, noise float64, r *rand.Rand) {
	for id, v := range vectors {
		for i := range v {
			v[i] = noise * r.NormFloat64()
		}
		v[0] += angle(p[id])
	}
}

// A stepsArm runs one strategy through the steps of run after run and measures
// them. The slices are reused.
type stepsArm struct {
	*Spender
	w      *stepsWorker
	belief strategy.Believer // nil for none
	p      []float64         // success probabilities of the set, which drift
	past   [][]float64       // those of the Lag steps before, the oldest first
	u      []float64         // true variances of the set
	measures
}

func newStepsArm(s strategy.Strategy, w *stepsWorker) *stepsArm {
	a := &stepsArm{Spender: NewSpender(s, w.prompts, w.lengths), w: w, measures: newMeasures(w.cfg.Steps)}
	a.belief, _ = s.(strategy.Believer)
	a.timed = true
	return a
}

// begin begins a run: the set is as it was for every arm.
func (a *stepsArm) begin(half int, key stream.Key) {
	if half == 0 {
		a.measures.clear()
		a.taken = 0
	}
	a.p, a.past = append(a.p[:0], a.w.start...), a.past[:0]
	a.Begin(key, a.w.vectors)
}

// step lets the strategy spend its rollouts on the step that key names, and
// moves the world on.
func (a *stepsArm) step(ctx context.Context, half, step int, key stream.Key) error {
	if err := a.w.source.Drift(key, a.answering()); err != nil {
		return err
	}
	a.u = a.u[:0]
	for _, p := range a.p {
		a.u = append(a.u, distributions.U(p))
	}
	a.judgeBeliefs()
	if err := a.Step(ctx, a.w.source, a.w.cfg.Batch, a.p, key); err != nil {
		return err
	}
	a.measure(half, step)
	a.Observe()
	a.drift(key)
	return nil
}

// answering returns the success probabilities that rollouts come from.
func (a *stepsArm) answering() []float64 {
	if a.w.cfg.Lag == 0 {
		return a.p
	}
	if len(a.past) > a.w.cfg.Lag {
		a.past = append(a.past[1:], append(a.past[0][:0], a.p...))
	} else {
		a.past = append(a.past, slices.Clone(a.p))
	}
	return a.past[0]
}

// drift moves the success probabilities after a step.
func (a *stepsArm) drift(key stream.Key) {
	if a.w.cfg.Drift.Kind == DriftLearning {
		a.EachTrained(func(x, n, s int) {
			if s > 0 && s < n {
				id := a.batch.ID[x]
				a.p[id] = a.w.cfg.Drift.learn(a.p[id], n)
			}
		})
	}
	a.w.cfg.Drift.move(a.p, key, a.w.gen)
}
