package train

import "math"

// A Flow moves a policy along exact gradients, d theta/dt = mean over the trained
// prompts of g_x: training with groups without end and steps without size.
//
//	Normalised false   g = grad p: plain policy gradient, Dr. GRPO, RLOO
//	Normalised true    g = grad p / sqrt(p(1-p)): GRPO, ddof and delta 0
//
// and g = 0 where p = 0 or p = 1 to rounding. Rewards are binary: signed ones
// double the first and leave the second alone.
type Flow struct {
	Normalised bool

	policy     Policy
	start, sum []float64
	grad       []float64
	logp, prob []float64
	w          []float64
}

// NewFlow returns the flow of a policy.
func NewFlow(p Policy, normalised bool) *Flow {
	n := len(p.Parameters())
	return &Flow{Normalised: normalised, policy: p, start: make([]float64, n), sum: make([]float64, n), grad: make([]float64, n)}
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
		scale := 1 / float64(n)
		if f.Normalised {
			if hit*miss == 0 {
				continue
			}
			scale /= math.Sqrt(hit * miss)
		}
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
