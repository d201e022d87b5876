package gradient

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"vigorlab/theory"
)

// An expectation is the gradient of V = E[r] of one policy and reward, with
// what the bounds of theory.md, section 2, are made of.
type expectation struct {
	norm   float64 // ||grad V||
	std    float64 // of r
	policy theory.Policy
}

// expect differentiates V exactly, as the sum grad V = E[(r - V) grad log pi]
// over all responses. Rewards lie in [-1, 1].
func (s *state) expect(rewards []float64, jacobian float64) expectation {
	prob := s.probabilities()
	v := floats.Dot(prob, rewards)
	grad := make([]float64, s.dim)
	variance := 0.0
	for o, path := range s.paths {
		d := rewards[o] - v
		variance += prob[o] * d * d
		for _, cell := range path {
			floats.AddScaled(grad, prob[o]*d, s.cellScore(cell))
		}
	}
	return expectation{
		norm:   floats.Norm(grad, 2),
		std:    min(1, math.Sqrt(variance)), // above 1 by rounding only
		policy: theory.Policy{Tokens: float64(s.length), Jacobian: jacobian},
	}
}

// allRewards returns the signed reward of every response.
func (p *problem) allRewards() []float64 {
	r := make([]float64, p.responses())
	for o := range r {
		r[o] = -1
		if p.correct[o] {
			r[o] = 1
		}
	}
	return r
}

// twoAnswers returns the gradient of V where the sharp bound is attained:
// length independent tokens of probability 1/2 each that share their two
// logits, and the mean token, coded -1 and 1, as reward. Every score is then
// in proportion to the reward.
func twoAnswers(length int) expectation {
	p := &policy{space: newSpace(2, length, false), dim: 2}
	p.offset = make([]float64, p.cells())
	p.features = make([]float64, 2*p.cells())
	for cell := range p.cells() {
		p.feature(cell)[cell%2] = 1
	}
	rewards := make([]float64, p.responses())
	for o, path := range p.paths {
		for _, cell := range path {
			rewards[o] += float64(2*(cell%2)-1) / float64(length)
		}
	}
	return p.at(make([]float64, 2)).expect(rewards, p.jacobian())
}

// expectedBounds lists theory's bounds on ||grad V||, loosest first.
var expectedBounds = []struct {
	name, formula string
	value         func(p theory.Policy, std float64) (float64, error)
}{
	{"Razin et al. 2024, Theorem 1", "6 L J STD^(2/3)", theory.Policy.GradientRazin2024},
	{"own", "2 L J STD", theory.Policy.GradientLinear},
	{"own, sharp", "J sqrt(L/2) STD", theory.Policy.GradientSharp},
}
