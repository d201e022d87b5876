package gradient

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// A surrogate is the form of the objective that groups are trained on: PPO's
// minimum term (see the package comment).
type surrogate struct {
	token bool    // ratios of tokens, averaged over the response, not of the sequence
	clip  float64 // eps > 0; +Inf for none
}

// Signs of an advantage, as an index.
const (
	positive = iota
	negative
	signs
)

// active reports whether the ratio of the minimum term moves with the policy,
// or is held at the edge of the clipping range.
func (s surrogate) active(ratio float64, sign int) bool {
	if sign == positive {
		return ratio <= 1+s.clip
	}
	return ratio >= 1-s.clip
}

// A gradients holds g(o, sign) of every response: the gradient of the minimum
// term per unit of |A|, times the sign of A. Unclipped, both signs share one.
type gradients struct {
	dim   int
	value [signs][]float64 // dim a response
}

func (g *gradients) of(o, sign int) []float64 {
	return g.value[sign][o*g.dim : (o+1)*g.dim]
}

// gradients returns g at the policy now, of rollouts that old sampled.
func (s surrogate) gradients(old, now *state) *gradients {
	g := &gradients{dim: now.dim}
	for sign := range g.value {
		g.value[sign] = make([]float64, now.responses()*now.dim)
		for o, path := range now.paths {
			s.add(g.of(o, sign), path, sign, old, now)
		}
	}
	return g
}

// add adds the gradient of one response to dst.
func (s surrogate) add(dst []float64, path []int, sign int, old, now *state) {
	sequence := 0.0
	for _, cell := range path {
		sequence += now.logProb[cell] - old.logProb[cell]
	}
	for _, cell := range path {
		ratio, weight := math.Exp(sequence), 1.0
		if s.token {
			ratio = math.Exp(now.logProb[cell] - old.logProb[cell])
			weight = 1 / float64(len(path))
		}
		if s.active(ratio, sign) {
			floats.AddScaled(dst, weight*ratio, now.cellScore(cell))
		}
	}
}

// largest returns the largest norm of g over the given responses and both
// signs; over all responses it is M.
func (g *gradients) largest(responses []int) float64 {
	largest := 0.0
	for sign := range g.value {
		for _, o := range responses {
			largest = max(largest, floats.Norm(g.of(o, sign), 2))
		}
	}
	return largest
}

// loss adds (1/G) sum_i A_i g(o_i, sign A_i), the gradient of a group's
// surrogate, to dst.
func (g *gradients) loss(dst []float64, responses []int, advantages []float64) {
	for i, a := range advantages {
		sign := positive
		if a < 0 {
			sign = negative
		}
		floats.AddScaled(dst, a/float64(len(responses)), g.of(responses[i], sign))
	}
}
