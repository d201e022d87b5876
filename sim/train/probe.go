package train

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/stream"
)

// A Probe is the gradient estimate of a strategy at a policy that stands still.
// Two independent runs of an epoch of steps each measure it, with fresh strategies
// and uncharged; a strategy with a history has an epoch before that to learn in.
// g_t are the gradients of a run's steps, A and B their means over the two runs.
type Probe struct {
	Step    int     `json:"step"` // of the run that the policy stands in
	Success float64 `json:"success"`

	Steps    int     `json:"steps"`    // of each of the two runs
	Rollouts float64 `json:"rollouts"` // generated a step, mean
	// Signal is <A, B>. Its mean is ||E A||^2, since the runs are independent; the
	// steps of one run are not, for they share no prompts.
	Signal float64 `json:"signal"`
	// Square is the mean of ||g_t||^2: the mean of Square - Signal is the variance
	// of one step's gradient, summed over parameters.
	Square float64 `json:"square"`

	// Exact is the squared norm of the exact gradient of fixed groups without end,
	// every prompt alike, and Along its inner product with (A+B)/2, whose mean is
	// that with E A. Both are nil, and Why says why, where it is not known.
	Exact *float64 `json:"exact"`
	Along *float64 `json:"along"`
	Why   string   `json:"why,omitempty"`
}

// A Prober measures the gradients of a run on its way. Between probes the policy
// learns; a probe leaves it as it is.
type Prober struct {
	cfg         Config
	policy      Policy
	newStrategy sim.NewStrategy
	updater     *Updater
	exact       *Flow
	why         string
}

// NewProber returns the prober of a run that starts from the policy as it stands,
// the initial policy of its KL. A run with a system has none: what a system learns
// from is its own.
func NewProber(cfg Config, p Policy, newStrategy sim.NewStrategy) (*Prober, error) {
	if cfg.System != "" {
		return nil, fmt.Errorf("system = %s, want none for probes", cfg.System)
	}
	u, err := NewUpdater(p, cfg.Objective, nil)
	if err != nil {
		return nil, err
	}
	cfg.Step, cfg.Recorder = nil, nil
	pr := &Prober{cfg: cfg, policy: p, newStrategy: newStrategy, updater: u}
	rate, ok := limitRate(cfg.Objective.Estimator)
	switch {
	case !ok:
		pr.why = "no limit is known for " + cfg.Objective.Estimator.Spec()
	case cfg.Objective.TokenMean:
		pr.why = "the mean over tokens follows no gradient of a success probability"
	default:
		pr.exact = NewFlow(p, rate)
	}
	return pr, nil
}

// limitRate returns the limit of GroupRate for groups without end: p(1-p) times
// the difference of the advantages of a correct and of a wrong rollout.
func limitRate(e advantage.Estimator) (Rate, bool) {
	switch e := e.(type) {
	case advantage.GRPO:
		if e.Delta == 0 {
			return NormalisedRate, true
		}
		return func(p, miss float64) float64 { return p * miss / (math.Sqrt(p*miss) + e.Delta) }, true
	case flooredGRPO:
		return func(p, miss float64) float64 {
			return p * miss / (math.Sqrt(max(p*miss, e.delta)) + e.delta)
		}, true
	case advantage.DrGRPO, advantage.RLOO, Reinforce:
		return PlainRate, true
	case library:
		return limitRate(e.many)
	}
	return nil, false
}

// Probe measures at the policy as it stands at a point of its run. number tells
// the probes of a run apart. It fails with a DivergenceError where a figure is not
// finite.
func (p *Prober) Probe(ctx context.Context, number int, at Point) (*Probe, error) {
	n := len(p.policy.Parameters())
	probe := &Probe{Step: at.Step, Success: at.Success, Why: p.why}
	var means [2][]float64
	for half := range means {
		f := &frozen{updater: p.updater, grad: make([]float64, n), mean: make([]float64, n)}
		key := stream.New(p.cfg.Seed).Named("probe").With(uint64(number), uint64(half))
		generated, err := p.run(ctx, f, key)
		if err != nil {
			return nil, err
		}
		floats.Scale(1/float64(f.steps), f.mean)
		means[half] = f.mean
		probe.Steps = f.steps
		probe.Square += f.square / float64(2*f.steps)
		probe.Rollouts += float64(generated) / float64(2*f.steps)
	}
	probe.Signal = floats.Dot(means[0], means[1])
	figures := []float64{probe.Signal, probe.Square}
	if p.exact != nil {
		exact := make([]float64, n)
		p.exact.Gradient(exact)
		p.updater.pull(exact)
		square := floats.Dot(exact, exact)
		along := (floats.Dot(exact, means[0]) + floats.Dot(exact, means[1])) / 2
		probe.Exact, probe.Along = &square, &along
		figures = append(figures, square, along)
	}
	for _, v := range figures {
		if !(math.Abs(v) <= math.MaxFloat64) {
			return nil, &DivergenceError{at.Step, "squared norm of the gradient", v}
		}
	}
	return probe, nil
}

// run lets a fresh strategy take an epoch of steps at the frozen policy and
// returns the rollouts generated in it.
func (p *Prober) run(ctx context.Context, f *frozen, key stream.Key) (generated int, err error) {
	s, err := p.newStrategy()
	if err != nil {
		return 0, err
	}
	cfg := p.cfg
	cfg.Seed = uint64(key)
	r, err := newRun(&cfg, p.policy, s)
	if err != nil {
		return 0, err
	}
	r.system = f
	r.source.readPolicy() // once: it stands still
	epoch := (p.policy.Prompts()-1)/cfg.Batch + 1
	if s.Capabilities().History {
		f.skip = epoch
	}
	for last := f.skip + epoch; r.point.Step < last; {
		if r.point.Step == f.skip {
			generated = r.point.Ledger.Generated
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		r.source.turn(r.stepKey())
		if err := r.step(ctx); err != nil {
			return 0, err
		}
	}
	return r.point.Ledger.Generated - generated, nil
}

// frozen sums gradients in place of learning.
type frozen struct {
	plain
	updater    *Updater
	skip       int // steps that are not counted
	steps      int
	grad, mean []float64
	square     float64
}

// Learn takes in the gradient of a step.
func (f *frozen) Learn(s *Step) error {
	if s.Number <= f.skip {
		return nil
	}
	clear(f.grad)
	if _, err := f.updater.gradient(f.grad, s.Groups, s.Old); err != nil {
		return err
	}
	f.steps++
	f.square += floats.Dot(f.grad, f.grad)
	floats.Add(f.mean, f.grad)
	return nil
}

// pull adds the gradient of the objective's KL term, every prompt alike, to grad.
func (u *Updater) pull(grad []float64) {
	for x := range u.reference {
		u.logp = u.policy.LogProbs(u.logp[:0], x)
		u.w = append(u.w[:0], make([]float64, len(u.logp))...)
		u.divergence(u.policy.Outcomes(x), u.reference[x])
		floats.Scale(1/float64(len(u.reference)), u.w)
		u.policy.AddScores(grad, x, u.w)
	}
}
