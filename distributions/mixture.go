package distributions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Mixture is the law of a p that comes from one of several laws. Build it with
// NewMixture.
type Mixture struct {
	weights []float64
	laws    []Law
	cdf     []float64 // of the components, the last 1
}

// NewMixture returns the mixture of laws with weights in (0, 1], which must
// sum to 1 within 1e-9 and are scaled to do so exactly. The slices share one
// length >= 1; it panics where their lengths differ.
func NewMixture(weights []float64, laws []Law) (*Mixture, error) {
	if len(weights) != len(laws) {
		panic(fmt.Sprintf("distributions: mixture: %d weights for %d laws", len(weights), len(laws)))
	}
	var f faults
	var sum float64
	for _, w := range weights {
		f.check("weight", w, w > 0 && w <= 1, "(0, 1]")
		sum += w
	}
	if len(f) == 0 {
		f.check("sum of weights", sum, math.Abs(sum-1) <= sumTolerance, "1 within 1e-9")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &Mixture{laws: slices.Clone(laws)}
	var mass float64
	for _, w := range weights {
		mass += w / sum
		d.weights = append(d.weights, w/sum)
		d.cdf = append(d.cdf, mass)
	}
	d.cdf[len(d.cdf)-1] = 1
	return d, nil
}

// sum returns the weighted sum of f over the components.
func (d *Mixture) sum(f func(Law) float64) float64 {
	var total float64
	for i, l := range d.laws {
		total += d.weights[i] * f(l)
	}
	return total
}

// MeanP returns E[p].
func (d *Mixture) MeanP() float64 { return d.sum(Law.MeanP) }

// MeanU returns E[u].
func (d *Mixture) MeanU() float64 { return d.sum(Law.MeanU) }

// CDFU returns P(u <= c).
func (d *Mixture) CDFU(c float64) float64 {
	if c >= 1 {
		return 1
	}
	return min(1, d.sum(func(l Law) float64 { return l.CDFU(c) }))
}

// QuantileU inverts CDFU by search, to the float64.
func (d *Mixture) QuantileU(q float64) float64 {
	low, high := 1.0, 0.0
	for _, l := range d.laws {
		low, high = min(low, l.QuantileU(0)), max(high, l.QuantileU(1))
	}
	return quantile(d.CDFU, low, high, q)
}

// UpperU returns E[u; u > c].
func (d *Mixture) UpperU(c float64) float64 {
	return d.sum(func(l Law) float64 { return l.UpperU(c) })
}

func (d *Mixture) aboveU(c float64) float64 {
	return d.sum(func(l Law) float64 {
		if t, ok := l.(tail); ok {
			return t.aboveU(c)
		}
		return 1 - l.CDFU(c)
	})
}

// TopU returns UpperU at the cut that leaves the share q, and the share of an
// atom at the cut.
func (d *Mixture) TopU(q float64) float64 { return topU(d, q) }

// Atoms implements Law.
func (d *Mixture) Atoms() []Node {
	var atoms []Node
	for i, l := range d.laws {
		for _, a := range l.Atoms() {
			atoms = append(atoms, Node{a.P, a.W * d.weights[i]})
		}
	}
	return joinNodes(atoms)
}

// Nodes implements Law. The continuous components share the n nodes, but none
// gets fewer than a quarter of them, which is enough for the stated degree.
func (d *Mixture) Nodes(n int, cuts ...float64) []Node {
	share := max(1, min(4, len(d.laws)))
	var nodes []Node
	for i, l := range d.laws {
		for _, x := range l.Nodes(n/share, cuts...) {
			nodes = append(nodes, Node{x.P, x.W * d.weights[i]})
		}
	}
	return mergeNodes(nodes)
}

// Rand draws one p.
func (d *Mixture) Rand(r *rand.Rand) float64 {
	v := r.Float64()
	for i, c := range d.cdf {
		if v < c {
			return d.laws[i].Rand(r)
		}
	}
	panic("unreachable: a uniform variable in [0, 1) is below the last sum, 1")
}
