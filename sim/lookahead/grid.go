package lookahead

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// The grid of Beta laws: a and b are the powers of two from 1/64, where all but
// a few in a hundred prompts are as good as dead or solved, to 64, where all are
// much alike.
const (
	gridLow  = -6
	gridHigh = 6
)

// negligible is the weight, relative to the largest, below which a law of the
// grid is left out of a mixture.
const negligible = 1e-6

// A Grid holds Beta laws that are equally likely as long as nothing is known.
type Grid struct {
	A, B []float64 // of every law
	laws []*Prior
	logs [][]float64 // ln h(n, s) of every law, by Cell
}

// NewGrid returns the grid for groups of at most most rollouts, in [1,
// MostRollouts].
func NewGrid(most int) (*Grid, error) {
	g := new(Grid)
	for i := gridLow; i <= gridHigh; i++ {
		for j := gridLow; j <= gridHigh; j++ {
			if err := g.add(math.Ldexp(1, i), math.Ldexp(1, j), most); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

func (g *Grid) add(a, b float64, most int) error {
	law, err := Beta(a, b, most)
	if err != nil {
		return err
	}
	logs := make([]float64, Cells(most))
	for c := range logs {
		logs[c] = math.Log(law.h[c])
	}
	g.A, g.B = append(g.A, a), append(g.B, b)
	g.laws, g.logs = append(g.laws, law), append(g.logs, logs)
	return nil
}

// likelihoods returns ln prod h(n, s)^mass of every law, where mass[Cell(n, s)]
// >= 0 prompts have had s successes in n rollouts. The number of ways to have s of
// n is the same for all laws, whatever rule chose n from what was seen before.
func (g *Grid) likelihoods(mass []float64) []float64 {
	sums := make([]float64, len(g.laws))
	for c, m := range mass {
		if m > 0 {
			for i, logs := range g.logs {
				sums[i] += m * logs[c]
			}
		}
	}
	return sums
}

// Weights returns the probability of every law, by Bayes' rule.
func (g *Grid) Weights(mass []float64) []float64 {
	weights := g.likelihoods(mass)
	most := floats.Max(weights)
	for i, w := range weights {
		weights[i] = math.Exp(w - most)
		if weights[i] < negligible {
			weights[i] = 0
		}
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return weights
}

// Learn sets p to the mixture of the grid with these weights.
func (g *Grid) Learn(p *Prior, mass []float64) { p.mix(g.laws, g.Weights(mass)) }

// LearnAll sets p to what an infinite batch learns, in which shares mass of all
// prompts have shown what they have: the likeliest law, or the mean of those
// that are equally likely, as all of one mean success probability are after one
// rollout each.
func (g *Grid) LearnAll(p *Prior, mass []float64) {
	const equal = 1e-9 // between likelihoods of a prompt
	weights := g.likelihoods(mass)
	most := floats.Max(weights)
	for i, w := range weights {
		weights[i] = 0
		if w > most-equal {
			weights[i] = 1
		}
	}
	floats.Scale(1/floats.Sum(weights), weights)
	p.mix(g.laws, weights)
}
