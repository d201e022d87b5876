package distributions

import (
	"math"
	"math/rand/v2"
)

// flip is the law of the success probability of rewards that are turned round
// with probability q, p' = q + (1-2q) p, for a law of p without atoms. Then
//
//	1 - u' = (1-2q)^2 (1 - u),
//
// so that u' rises with u, from 4q(1-q) at u = 0.
type flip struct {
	law       Law
	q         float64
	keep      float64 // (1-2q)^2, not 0
	low, high float64 // the ends of u'
}

// NewFlip returns the law of p' = q + (1-2q) p, q in [0, 1], where p follows law:
// the success probability that a group shows where each reward, right or wrong,
// is turned round with probability q. Label noise looks like reward variance: with
// E[u'] = 4q(1-q) + (1-2q)^2 E[u] a dead or solved prompt has u' = 4q(1-q). What
// is found of rewards under this law holds of the rewards given; an average u' of
// rollouts stands for the average u = 1 - (1-u') / (1-2q)^2 of right and wrong.
// With q = 1/2 rewards say nothing, and every p' is 1/2. Near q and 1-q, where
// dead and solved prompts come to lie, p' is resolved to 1e-16.
func NewFlip(q float64, law Law) (Law, error) {
	var f faults
	f.probability("q", q)
	if err := f.err(); err != nil {
		return nil, err
	}
	switch {
	case q == 0:
		return law, nil
	case q == 0.5:
		return NewPoint(q)
	}
	return flipped(q, law)
}

// flipped returns the law of p' for q other than 0 and 1/2. Atoms become atoms.
func flipped(q float64, law Law) (Law, error) {
	switch l := law.(type) {
	case *Atoms:
		nodes := l.Atoms()
		for i := range nodes {
			nodes[i].P = turn(q, nodes[i].P)
		}
		return NewAtoms(nodes)
	case *Mixture:
		return flippedMixture(q, l.weights, l.laws)
	case SpikedBeta:
		var weights []float64
		var laws []Law
		for _, part := range []struct {
			weight float64
			law    Law
		}{{l.dead, point(0)}, {l.solved, point(1)}, {l.share, l.body}} {
			if part.weight > 0 {
				weights, laws = append(weights, part.weight), append(laws, part.law)
			}
		}
		return flippedMixture(q, weights, laws)
	}
	if len(law.Atoms()) > 0 {
		panic("distributions: flip: a law with atoms that is no mixture")
	}
	keep := (1 - 2*q) * (1 - 2*q)
	d := &flip{law: law, q: q, keep: keep}
	d.low, d.high = d.up(law.QuantileU(0)), d.up(law.QuantileU(1))
	return d, nil
}

// point returns the law of one p in [0, 1].
func point(p float64) Law {
	l, err := NewPoint(p)
	if err != nil {
		panic(err)
	}
	return l
}

func flippedMixture(q float64, weights []float64, laws []Law) (Law, error) {
	turned := make([]Law, len(laws))
	for i, l := range laws {
		var err error
		if turned[i], err = flipped(q, l); err != nil {
			return nil, err
		}
	}
	return NewMixture(weights, turned)
}

// turn returns q + (1-2q) p, so that turn(q, 1-p) = 1 - turn(q, p) to rounding.
func turn(q, p float64) float64 {
	if p > 0.5 {
		return 1 - q - (1-2*q)*(1-p)
	}
	return q + (1-2*q)*p
}

// up returns u' of u.
func (d *flip) up(u float64) float64 { return 1 - d.keep*(1-u) }

// down returns u of u'.
func (d *flip) down(c float64) float64 { return 1 - (1-c)/d.keep }

// MeanP returns q + (1-2q) E[p].
func (d *flip) MeanP() float64 { return turn(d.q, d.law.MeanP()) }

// MeanU returns 4q(1-q) + (1-2q)^2 E[u].
func (d *flip) MeanU() float64 { return d.up(d.law.MeanU()) }

// CDFU returns P(u' <= c).
func (d *flip) CDFU(c float64) float64 {
	switch {
	case c < d.low:
		return 0
	case c >= d.high:
		return 1
	}
	return d.law.CDFU(d.down(c))
}

// QuantileU inverts CDFU by search, to the float64.
func (d *flip) QuantileU(q float64) float64 { return quantile(d.CDFU, d.low, d.high, q) }

// UpperU returns 4q(1-q) P(u' > c) + (1-2q)^2 E[u; u' > c].
func (d *flip) UpperU(c float64) float64 {
	switch {
	case c < d.low:
		return d.MeanU()
	case c >= d.high:
		return 0
	}
	return (1-d.keep)*d.aboveU(c) + d.keep*d.law.UpperU(d.down(c))
}

func (d *flip) aboveU(c float64) float64 {
	switch {
	case c < d.low:
		return 1
	case c >= d.high:
		return 0
	}
	if t, ok := d.law.(tail); ok {
		return t.aboveU(d.down(c))
	}
	return 1 - d.law.CDFU(d.down(c))
}

// TopU implements VarianceLaw.
func (d *flip) TopU(q float64) float64 { return topU(d, q) }

// Atoms returns none.
func (d *flip) Atoms() []Node { return nil }

// Nodes implements Law: the nodes of the law, turned. Where rounding puts one on a
// cut it goes to the next float64 of its side.
func (d *flip) Nodes(n int, cuts ...float64) []Node {
	below := make([]float64, len(cuts))
	for i, c := range cuts {
		below[i] = d.down(c)
	}
	nodes := d.law.Nodes(n, below...)
	for i := range nodes {
		u := U(nodes[i].P)
		nodes[i].P = turn(d.q, nodes[i].P)
		for k, c := range cuts {
			nodes[i].P = beside(c, nodes[i].P, u > below[k])
		}
	}
	return mergeNodes(nodes)
}

// beside returns p, but where 4p(1-p) = c its neighbour above or below c.
func beside(c, p float64, above bool) float64 {
	root := lowerRoot(c)
	if p != root && p != 1-root {
		return p
	}
	if above {
		return math.Nextafter(p, 0.5)
	}
	return math.Nextafter(p, math.Round(p))
}

// Rand draws one p'.
func (d *flip) Rand(r *rand.Rand) float64 { return turn(d.q, d.law.Rand(r)) }
