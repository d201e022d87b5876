package train

import (
	"math"

	"vigorlab/sim/advantage"
)

// A Rate is the mean gradient that groups of one estimator give a logit whose
// success probability is p, as a function of p and miss = 1-p.
//
// It fixes the mean gradient of every policy: given correctness, a rollout's
// score has mean grad p/p or -grad p/(1-p), and advantages sum to 0, so that a
// group's mean is grad p times Rate/(p(1-p)).
type Rate func(p, miss float64) float64

// PlainRate is p(1-p): plain policy gradient, RLOO, REINFORCE, and Dr. GRPO with
// groups without end, which follow the gradient of p. Signed rewards double it.
func PlainRate(p, miss float64) float64 { return p * miss }

// NormalisedRate is sqrt(p(1-p)): GRPO with groups without end, delta 0, which
// follows the gradient of 2 arcsin sqrt(p).
func NormalisedRate(p, miss float64) float64 { return math.Sqrt(p * miss) }

// GroupRate is the exact mean over groups of n >= 1 rollouts under an estimator
// of sim/advantage, whose advantages sum to 0. It fails where the estimator
// does.
func GroupRate(e advantage.Estimator, n int) (Rate, error) {
	if _, _, err := advantage.OneLogitMoments(e, 0.5, n); err != nil {
		return nil, err
	}
	return func(p, _ float64) float64 {
		mean, _, err := advantage.OneLogitMoments(e, p, n)
		if err != nil {
			return math.NaN() // p itself is
		}
		return mean
	}, nil
}

// A Flow moves a policy along exact gradients: d theta/dt is the mean of a
// rate's gradients over the trained prompts, that of training with steps without
// size. Prompts whose p is 0 or 1 to rounding stand still. Rewards are binary.
type Flow struct {
	policy     Policy
	rate       Rate
	start, sum []float64
	grad       []float64
	logp, prob []float64
	w          []float64
}

// NewFlow returns the flow of a policy.
func NewFlow(p Policy, rate Rate) *Flow {
	n := len(p.Parameters())
	return &Flow{policy: p, rate: rate, start: make([]float64, n), sum: make([]float64, n), grad: make([]float64, n)}
}

// Advance moves the policy by time dt, in one step of the classical Runge-Kutta
// method of order 4: the error of a trajectory falls with the fourth power of dt.
func (f *Flow) Advance(dt float64) {
	theta := f.policy.Parameters()
	copy(f.start, theta)
	clear(f.sum)
	for _, stage := range []struct{ weight, next float64 }{{1. / 6, .5}, {1. / 3, .5}, {1. / 3, 1}, {1. / 6, 0}} {
		clear(f.grad)
		f.Gradient(f.grad)
		for i, g := range f.grad {
			f.sum[i] += stage.weight * g
			theta[i] = f.start[i] + dt*stage.next*g
		}
	}
	for i, g := range f.sum {
		theta[i] = f.start[i] + dt*g
	}
}

// Gradient adds the right-hand side at the policy as it stands to grad, which
// has the length of its parameters.
func (f *Flow) Gradient(grad []float64) {
	n := f.policy.Prompts()
	for x := range n {
		outcomes := f.policy.Outcomes(x)
		f.logp = f.policy.LogProbs(f.logp[:0], x)
		f.prob = Probabilities(f.prob[:0], outcomes, f.logp)
		hit, miss := 0.0, 0.0
		for k, o := range outcomes {
			if o.Correct {
				hit += f.prob[k]
			} else {
				miss += f.prob[k]
			}
		}
		if hit*miss == 0 {
			continue
		}
		scale := f.rate(min(hit, 1), min(miss, 1)) / (hit * miss) / float64(n)
		// The gradient of p is the sum of pi (r - p) times the score: subtracting
		// p changes nothing, since scores have mean 0, and keeps small ones exact.
		f.w = f.w[:0]
		for k, o := range outcomes {
			w := scale * f.prob[k] * miss
			if !o.Correct {
				w = -scale * f.prob[k] * hit
			}
			for range o.Tokens {
				f.w = append(f.w, w)
			}
		}
		f.policy.AddScores(grad, x, f.w)
	}
}
