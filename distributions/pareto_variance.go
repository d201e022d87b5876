package distributions

import (
	"math"
	"math/rand/v2"
)

// UnboundedPareto is the law of a reward variance u with
// P(u > c) = (min/c)^shape for c >= min, as the theory of VIGOR assumes it. No
// binary reward has a variance above 1, so that this law has no success
// probabilities. Build it with NewUnboundedPareto.
type UnboundedPareto struct{ u pareto }

// NewUnboundedPareto returns the law, for shape in [1e-9, 1e4] and min in
// [1e-100, 1e100].
func NewUnboundedPareto(shape, min float64) (UnboundedPareto, error) {
	var f faults
	f.shape(shape)
	f.check("min", min, min >= smallestMin && min <= 1/smallestMin, "[1e-100, 1e+100]")
	return UnboundedPareto{newPareto(shape, min, math.Inf(1))}, f.err()
}

// Shape returns the shape of the Pareto law of u.
func (d UnboundedPareto) Shape() float64 { return d.u.k }

// MeanU returns min shape/(shape-1), +Inf for shape <= 1.
func (d UnboundedPareto) MeanU() float64 { return d.u.unboundedPart(0) }

// CDFU returns 1 - (c/min)^-shape.
func (d UnboundedPareto) CDFU(c float64) float64 { return d.u.cdf(c) }

// QuantileU returns min (1-q)^(-1/shape), +Inf at q = 1.
func (d UnboundedPareto) QuantileU(q float64) float64 {
	if q >= 1 {
		return math.Inf(1)
	}
	return d.u.quantile(q)
}

// UpperU returns E[u; u > c] = E[u] (c/min)^(1-shape).
func (d UnboundedPareto) UpperU(c float64) float64 {
	if !(c > d.u.low) {
		return d.MeanU()
	}
	return d.u.unboundedPart(d.u.height(c))
}

// TopU returns E[u] q^(1-1/shape), 0 at q = 0.
func (d UnboundedPareto) TopU(q float64) float64 {
	if !(q > 0) {
		return 0 * q
	}
	return d.u.unboundedPart(max(0, -math.Log(q)/d.u.k))
}

// unboundedPart is part where there is no upper end.
func (d pareto) unboundedPart(height float64) float64 {
	if d.k <= 1 {
		return math.Inf(1)
	}
	return d.k / (d.k - 1) * d.low * math.Exp(-(d.k-1)*height)
}

// ParetoVariance is the law of a prompt whose reward variance u is Pareto on
// [min, max], max <= 1: P(u > c) is proportional to c^-shape - max^-shape. The
// prompt is hard, p = (1-sqrt(1-u))/2, with probability hard, and easy, with
// 1-p in its place, otherwise. Build it with NewParetoVariance.
type ParetoVariance struct {
	u     pareto
	hard  float64
	sides [2]side // hard and easy
	meanP float64
}

// NewParetoVariance returns the law, for shape in [1e-9, 1e4], min in
// [1e-100, 1), max in (min, 1] and hard in [0, 1].
func NewParetoVariance(shape, min, max, hard float64) (*ParetoVariance, error) {
	var f faults
	f.shape(shape)
	f.unit(min, max)
	f.probability("hard", hard)
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &ParetoVariance{u: newPareto(shape, min, max), hard: hard, sides: sidesOf(hard), meanP: 0.5}
	if hard != 0.5 { // otherwise the two branches balance
		var p float64
		for _, n := range continuousNodes(d.branch(0, 1), branch{}, 0, nil) {
			p += n.W * n.P
		}
		d.meanP = hard*p + (1-hard)*(1-p)
	}
	return d, nil
}

// Shape returns the shape of the Pareto law of u, which max truncates.
func (d *ParetoVariance) Shape() float64 { return d.u.k }

// MeanP returns E[p].
func (d *ParetoVariance) MeanP() float64 { return d.meanP }

// MeanU returns E[u].
func (d *ParetoVariance) MeanU() float64 { return d.u.part(0, d.u.span) }

// CDFU returns P(u <= c) = (1 - (c/min)^-shape) / (1 - (max/min)^-shape).
func (d *ParetoVariance) CDFU(c float64) float64 { return d.u.cdf(c) }

// QuantileU inverts CDFU in closed form.
func (d *ParetoVariance) QuantileU(q float64) float64 { return d.u.quantile(q) }

// UpperU returns E[u; u > c] (theory.md, section 3.1).
func (d *ParetoVariance) UpperU(c float64) float64 {
	switch {
	case c < d.u.low:
		return d.MeanU()
	case c >= d.u.high:
		return 0
	}
	return d.u.part(d.u.height(c), d.u.depth(c))
}

func (d *ParetoVariance) aboveU(c float64) float64 { return d.u.above(c) }

// TopU returns UpperU at the cut of the share q, in closed form.
func (d *ParetoVariance) TopU(q float64) float64 {
	if !(q > 0) {
		return 0 * q
	}
	depth := min(d.u.cutDepth(min(q, 1)), d.u.span)
	return d.u.part(d.u.span-depth, depth)
}

// Atoms returns none.
func (d *ParetoVariance) Atoms() []Node { return nil }

// Nodes implements Law. In p the density has no singularity at u = 1.
func (d *ParetoVariance) Nodes(n int, cuts ...float64) []Node {
	var lower, upper branch
	if d.hard > 0 {
		lower = d.branch(n, d.hard)
	}
	if d.hard < 1 {
		upper = d.branch(n, 1-d.hard)
	}
	return continuousNodes(lower, upper, n, cuts)
}

// branch returns one branch, of the given mass, for polynomials of degree n/8
// in p. Steeper densities stop where they have fallen by e^-60 against such a
// polynomial.
func (d *ParetoVariance) branch(n int, mass float64) branch {
	high := d.u.reach(float64(max(0, n) / 8))
	return branch{
		low:   lowerRoot(d.u.low),
		high:  lowerRoot(high),
		steep: d.u.k + 1,
		density: func(m float64) float64 {
			return mass * d.u.density(U(m)) * 4 * (1 - 2*m)
		},
	}
}

// reach returns the x beyond which x^degree times the density has no mass.
func (d pareto) reach(degree float64) float64 {
	if d.k <= degree {
		return d.high
	}
	return min(d.high, d.low*math.Exp(60/(d.k-degree)))
}

// density returns k (x/low)^-(k+1) / (low z).
func (d pareto) density(x float64) float64 {
	return d.k / (d.low * d.z) * math.Exp(-(d.k+1)*d.height(x))
}

// A side turns the reduced probability m <= 1/2 of a branch into p = base +
// sign*m, and a uniform variable above offset into one on [0, 1).
type side struct{ offset, scale, base, sign float64 }

// Rand draws one p. A single uniform variable picks the branch and, rescaled,
// the place on it. The branches are looked up rather than branched on: no
// processor could predict which one it is.
func (d *ParetoVariance) Rand(r *rand.Rand) float64 {
	v := r.Float64()
	easy := 0
	if v >= d.hard {
		easy = 1
	}
	s := &d.sides[easy]
	return s.base + s.sign*lowerRoot(d.u.draw((v-s.offset)*s.scale))
}

func sidesOf(hard float64) [2]side {
	return [2]side{{0, 1 / hard, 0, 1}, {hard, 1 / (1 - hard), 1, -1}}
}

// draw turns a uniform variable on [0, 1] into a draw, low (1 - v z)^(-1/k).
func (d pareto) draw(v float64) float64 {
	x := max(1-v*d.z, smallestBase)
	if d.root == nil {
		return min(d.high, d.low*math.Exp(-math.Log(x)/d.k))
	}
	return min(d.high, d.low*d.root.of(x))
}
