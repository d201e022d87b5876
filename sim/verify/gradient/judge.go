package gradient

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/advantage"
	"vigorlab/theory"
)

// Relative tolerances, well above rounding: sums of at most 64 terms, each off
// by a few ulp, are off by less than 1e-13, and M, which depends on exponentials
// of sums of logits, by little more.
const (
	tolerance      = 1e-12 // of bound, sum and identity
	auditTolerance = 1e-10 // of M, and of the sum of all probabilities
	attained       = 1 - 1e-9
)

// The parts that a case puts together. A plant replaces one of them by a
// mistake.
type parts struct {
	estimator func(w row) advantage.Estimator
	scale     float64                                                  // of the gradient
	factor    func(w row, g group, rewards []float64) (float64, error) // f of the bound M f
	largest   func(s *setting, g group) float64                        // M
}

func honest() parts {
	return parts{
		estimator: func(w row) advantage.Estimator { return w.estimator },
		scale:     1,
		factor:    row.factor,
		largest:   func(s *setting, _ group) float64 { return s.largest },
	}
}

// A verdict is what the check finds on one case. Norm and bound are in units
// of the policy's features.
type verdict struct {
	norm, bound float64
	identity    float64 // residual over M sigma; NaN where the identity does not apply
	sum         float64 // |(1/G) sum|A| - f|, relative to f

	boundBroken, sumBroken, identityBroken, maximumBroken bool
}

func (v *verdict) flagged() bool {
	return v.boundBroken || v.sumBroken || v.identityBroken || v.maximumBroken
}

// tightness is ||grad L|| / (M f), NaN for 0/0.
func (v *verdict) tightness() float64 { return v.norm / v.bound }

// judge checks one case.
func (s *setting) judge(g group, w row, p parts) (verdict, error) {
	rewards := s.rewards(g, w.coding)
	a := make([]float64, g.size())
	if err := p.estimator(w).Advantages(a, rewards); err != nil {
		return verdict{}, err
	}
	grad := make([]float64, s.dim)
	s.gradients.loss(grad, g.responses, a)
	floats.Scale(p.scale, grad)

	f, err := p.factor(w, g, rewards)
	if err != nil {
		return verdict{}, err
	}
	m := p.largest(s, g)
	v := verdict{norm: floats.Norm(grad, 2), bound: m * f, identity: math.NaN()}
	v.boundBroken = !(v.norm <= v.bound*(1+tolerance))
	if sum := floats.Norm(a, 1) / float64(g.size()); sum != f {
		v.sum = math.Abs(sum-f) / f
	}
	v.sumBroken = !(v.sum <= tolerance)
	if w.paper() && f > 0 {
		v.identity = floats.Distance(grad, s.contrast(g), 2) / v.bound
		v.identityBroken = !(v.identity <= tolerance)
	}
	v.maximumBroken = !s.audit.confirms(m, s.responses())
	return v, nil
}

// contrast returns (sigma/2) (gbar_plus - gbar_minus): the mean g over correct
// minus that over wrong rollouts of a mixed group.
func (s *setting) contrast(g group) []float64 {
	c := make([]float64, s.dim)
	for _, o := range g.responses {
		if s.correct[o] {
			floats.AddScaled(c, 1/float64(g.successes), s.gradients.of(o, positive))
		} else {
			floats.AddScaled(c, -1/float64(g.size()-g.successes), s.gradients.of(o, negative))
		}
	}
	floats.Scale(theory.IdentityFactor(g.counts()), c)
	return c
}
