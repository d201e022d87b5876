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

// A Flow moves a policy along exact gradients: d theta/dt is a mean over the
// trained prompts, that of training with steps without size.
type Flow struct {
	policy     Policy
	weigh      weigh
	start, sum []float64
	grad       []float64
	logp, prob []float64
	outcome, w []float64
}

// A weigh fills w, which has an entry for every outcome of prompt x, with what
// the prompt's part of the flow multiplies the outcome's score by. logp are the
// log probabilities of tokens, prob those of outcomes.
type weigh func(w []float64, x int, logp, prob []float64)

// NewFlow returns the flow of a policy under binary rewards: the mean of a
// rate's gradients. Prompts whose p is 0 or 1 to rounding stand still.
func NewFlow(p Policy, rate Rate) *Flow {
	return newFlow(p, func(w []float64, x int, _, prob []float64) { rate.weigh(w, p.Outcomes(x), prob) })
}

func newFlow(p Policy, weigh weigh) *Flow {
	n := len(p.Parameters())
	return &Flow{policy: p, weigh: weigh, start: make([]float64, n), sum: make([]float64, n), grad: make([]float64, n)}
}

// An Ascent says what a flow climbs under stated rewards.
type Ascent struct {
	Rewards    [][]float64 // of every outcome of every trained prompt, any numbers
	KL         float64     // lambda >= 0, the weight of KL(policy || policy as it stands)
	Normalised bool        // every prompt's gradient of E[r] is divided by the standard deviation of r
}

// NewAscent returns the flow of the mean over prompts of E[r] - KL D, D the
// divergence from the policy as it stands. A prompt whose rewards have no
// variance left has no gradient of E[r].
func NewAscent(p Policy, a Ascent) *Flow {
	var reference [][]float64
	for x := range p.Prompts() {
		reference = append(reference, p.LogProbs(nil, x))
	}
	return newFlow(p, func(w []float64, x int, logp, prob []float64) {
		mean, variance := Moments(prob, a.Rewards[x])
		scale := 1.0
		if a.Normalised {
			scale = 1 / math.Sqrt(variance)
		}
		t := 0
		for k, o := range p.Outcomes(x) {
			w[k] = 0
			if variance > 0 {
				w[k] = scale * prob[k] * (a.Rewards[x][k] - mean)
			}
			ratio := 0.0
			for end := t + o.Tokens; t < end; t++ {
				ratio += logp[t] - reference[x][t]
			}
			w[k] -= a.KL * prob[k] * ratio
		}
	})
}

// Moments returns mean and variance of rewards that come with probabilities
// prob.
func Moments(prob, rewards []float64) (mean, variance float64) {
	for k, q := range prob {
		mean += q * rewards[k]
	}
	for k, q := range prob {
		variance += q * (rewards[k] - mean) * (rewards[k] - mean)
	}
	return mean, variance
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
		f.outcome = append(f.outcome[:0], f.prob...)
		f.weigh(f.outcome, x, f.logp, f.prob)
		f.w = f.w[:0]
		for k, o := range outcomes {
			for range o.Tokens {
				f.w = append(f.w, f.outcome[k]/float64(n))
			}
		}
		f.policy.AddScores(grad, x, f.w)
	}
}

// weigh is that of a mean group. The gradient of p is the sum of pi (r - p)
// times the score: subtracting p changes nothing, since scores have mean 0, and
// keeps small ones exact.
func (r Rate) weigh(w []float64, outcomes []Outcome, prob []float64) {
	hit, miss := 0.0, 0.0
	for k, o := range outcomes {
		if o.Correct {
			hit += prob[k]
		} else {
			miss += prob[k]
		}
	}
	scale := 0.0
	if hit*miss > 0 {
		scale = r(min(hit, 1), min(miss, 1)) / (hit * miss)
	}
	for k, o := range outcomes {
		w[k] = scale * prob[k] * miss
		if !o.Correct {
			w[k] = -scale * prob[k] * hit
		}
	}
}
