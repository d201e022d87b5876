package distributions

import (
	"math"
	"math/rand/v2"
)

// ParetoSuccess is the law of a success probability p that is itself Pareto on
// [min, max]: P(p > x) is proportional to x^-shape - max^-shape. Build it with
// NewParetoSuccess.
type ParetoSuccess struct {
	p           pareto
	meanU       float64
	lowU, highU float64 // the range of u
}

// NewParetoSuccess returns the law, for shape in [1e-9, 1e4], min in
// [1e-100, 1) and max in (min, 1].
func NewParetoSuccess(shape, min, max float64) (*ParetoSuccess, error) {
	var f faults
	f.shape(shape)
	f.unit(min, max)
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &ParetoSuccess{p: newPareto(shape, min, max), lowU: math.Min(U(min), U(max)), highU: math.Max(U(min), U(max))}
	if min <= 0.5 && max >= 0.5 {
		d.highU = 1
	}
	d.meanU = d.between(min, max, d.p.span)
	return d, nil
}

// MeanP returns E[p].
func (d *ParetoSuccess) MeanP() float64 { return d.p.part(0, d.p.span) }

// MeanU returns 4 (E[p] - E[p^2]).
func (d *ParetoSuccess) MeanU() float64 { return d.meanU }

// CDFU returns the mass at both ends, P(p <= x) + P(p >= 1-x) with
// x = (1-sqrt(1-c))/2.
func (d *ParetoSuccess) CDFU(c float64) float64 {
	switch {
	case c <= 0:
		return 0
	case c >= d.highU:
		return 1
	}
	x := lowerRoot(c)
	return min(1, d.p.cdf(x)+d.above(x))
}

// above returns P(p > 1-x), from x, of which 1-x has lost digits.
func (d *ParetoSuccess) above(x float64) float64 {
	switch excess := d.p.high - 1 + x; {
	case 1-x <= d.p.low:
		return 1
	case excess <= 0:
		return 0
	default:
		return d.p.mass(1-x, math.Log1p(excess/(1-x)))
	}
}

// QuantileU inverts CDFU by search, to the float64.
func (d *ParetoSuccess) QuantileU(q float64) float64 { return quantile(d.CDFU, d.lowU, d.highU, q) }

// middle returns the part of [min, max] where u > c, for c in [0, 1), and the
// logarithm of the ratio of its ends; ok tells whether there is any.
func (d *ParetoSuccess) middle(c float64) (low, high, span float64, ok bool) {
	x := lowerRoot(c)
	low, high = max(d.p.low, x), min(d.p.high, 1-x)
	switch {
	case !(low < high):
		return 0, 0, 0, false
	case low == x && high == 1-x:
		span = logitEnd(c)
	default:
		span = logRatio(high, low)
	}
	return low, high, span, true
}

// UpperU returns E[u; u > c].
func (d *ParetoSuccess) UpperU(c float64) float64 {
	switch {
	case c < 0:
		return d.meanU
	case c >= d.highU:
		return 0
	}
	low, high, span, ok := d.middle(c)
	if !ok {
		return 0
	}
	return d.between(low, high, span)
}

// between returns E[u; low < p < high], span being log(high/low):
//
//	4 (k/z) [min (low/min)^(1-k) decay(k-1) - min^2 (low/min)^(2-k) decay(k-2)]
//
// The difference loses a factor of about 1/(1-p); near p = 1 it is taken by
// quadrature instead.
func (d *ParetoSuccess) between(low, high, span float64) float64 {
	k, height := d.p.k, d.p.height(low)
	scale := 4 * k / d.p.z * math.Exp(-k*height) * low
	if low < 0.5 {
		return scale * (decay(k-1, span) - low*decay(k-2, span))
	}
	var sum float64
	b := branch{low: 1 - high, high: 1 - low, power: 1, density: func(m float64) float64 {
		return U(m) * d.p.density(1-m)
	}}
	for _, n := range b.nodes(nil, math.Pi/64) {
		sum += n.W
	}
	return sum
}

func (d *ParetoSuccess) aboveU(c float64) float64 {
	switch {
	case c < 0:
		return 1
	case c >= d.highU:
		return 0
	}
	low, _, span, ok := d.middle(c)
	if !ok {
		return 0
	}
	return d.p.mass(low, span)
}

// TopU returns UpperU at the cut that leaves the share q.
func (d *ParetoSuccess) TopU(q float64) float64 { return topU(d, q) }

// Atoms returns none.
func (d *ParetoSuccess) Atoms() []Node { return nil }

// Nodes implements Law.
func (d *ParetoSuccess) Nodes(n int, cuts ...float64) []Node {
	end := d.p.reach(float64(max(0, n) / 8))
	var lower, upper branch
	if d.p.low < 0.5 {
		lower = branch{low: d.p.low, high: min(end, 0.5), steep: d.p.k + 1, density: d.p.density}
	}
	if end > 0.5 {
		upper = branch{
			low: 1 - end, high: 1 - max(d.p.low, 0.5), power: 1, steep: d.p.k + 1,
			density: func(m float64) float64 { return d.p.density(1 - m) },
		}
	}
	return continuousNodes(lower, upper, n, cuts)
}

// Rand draws one p.
func (d *ParetoSuccess) Rand(r *rand.Rand) float64 { return d.p.draw(r.Float64()) }
