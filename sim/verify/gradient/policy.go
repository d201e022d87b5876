package gradient

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A policy is a softmax policy: the logit of a cell is the base model's offset
// plus the cell's features times the parameters.
type policy struct {
	*space
	dim      int
	features []float64 // dim a cell
	offset   []float64 // one a cell
}

// feature returns the features of a cell.
func (p *policy) feature(cell int) []float64 {
	return p.features[cell*p.dim : (cell+1)*p.dim]
}

// jacobian returns J, the largest spectral norm of d(logits)/d(parameters)
// over prefixes; it does not depend on the parameters.
func (p *policy) jacobian() float64 {
	largest := 0.0
	gram := mat.NewSymDense(p.tokens, nil)
	for prefix := range p.prefixes {
		cell := prefix * p.tokens
		for i := range p.tokens {
			for j := i; j < p.tokens; j++ {
				gram.SetSym(i, j, floats.Dot(p.feature(cell+i), p.feature(cell+j)))
			}
		}
		var eigen mat.EigenSym
		eigen.Factorize(gram, false)
		largest = max(largest, floats.Max(eigen.Values(nil)))
	}
	return math.Sqrt(largest)
}

// A state is a policy at one value of its parameters.
type state struct {
	*policy
	logProb []float64 // of a cell, given its prefix
	score   []float64 // gradient of logProb, dim a cell
}

// at evaluates the policy at theta. The score of token a is the features of a
// minus their mean, taken as sum_b pi(b) (phi(a) - phi(b)): where a is nearly
// certain, a difference to the mean would lose its digits.
func (p *policy) at(theta []float64) *state {
	s := &state{
		policy:  p,
		logProb: make([]float64, p.cells()),
		score:   make([]float64, p.cells()*p.dim),
	}
	prob := make([]float64, p.tokens)
	for low := 0; low < p.cells(); low += p.tokens {
		logs := s.logProb[low : low+p.tokens]
		for token := range logs {
			logs[token] = p.offset[low+token] + floats.Dot(p.feature(low+token), theta)
		}
		floats.AddConst(-floats.LogSumExp(logs), logs)
		for token, l := range logs {
			prob[token] = math.Exp(l)
		}
		for a := range logs {
			score, feature := s.cellScore(low+a), p.feature(low+a)
			for b, weight := range prob {
				for k, other := range p.feature(low + b) {
					score[k] += weight * (feature[k] - other)
				}
			}
		}
	}
	return s
}

func (s *state) cellScore(cell int) []float64 {
	return s.score[cell*s.dim : (cell+1)*s.dim]
}

// probabilities returns the probability of every response.
func (s *state) probabilities() []float64 {
	prob := make([]float64, s.responses())
	for o, path := range s.paths {
		sum := 0.0
		for _, cell := range path {
			sum += s.logProb[cell]
		}
		prob[o] = math.Exp(sum)
	}
	return prob
}

// tilt changes the offsets so that, at theta, a correct response comes with
// probability p in (0, 1), and the law of responses given correctness stays as
// it was: pi(o) becomes proportional to pi(o) w with w = 1 for wrong responses
// and the ratio of odds for correct ones. Token by token, the offset of a cell
// gains the log of E[w] over the responses below it.
func (p *policy) tilt(theta []float64, correct []bool, target float64) {
	s := p.at(theta)
	hit, miss := 0.0, 0.0
	for o, prob := range s.probabilities() {
		if correct[o] {
			hit += prob
		} else {
			miss += prob
		}
	}
	odds := target / (1 - target) * miss / hit
	value := make([]float64, p.prefixes) // E[w] below a prefix
	for cell := p.cells() - 1; cell >= 0; cell-- {
		w := 1.0
		switch next := p.next[cell]; {
		case next >= 0:
			w = value[next]
		case correct[^next]:
			w = odds
		}
		value[cell/p.tokens] += math.Exp(s.logProb[cell]) * w
		p.offset[cell] += math.Log(w)
	}
}
