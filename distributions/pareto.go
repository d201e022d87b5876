package distributions

import "math"

// pareto is a Pareto law on [low, high], or on [low, Inf): its distribution
// function is (1 - (x/low)^-k) / z. All its sums are written in logarithms of
// ratios, so that they keep their accuracy for any shape, 1 included.
type pareto struct {
	k, low, high float64
	span         float64     // log(high/low), Inf where there is no upper end
	z            float64     // mass of [low, high] under the unbounded law: 1 - e^(-k span)
	root         *fixedPower // x^(-1/k), for sampling; nil where exp and log must do
}

func newPareto(k, low, high float64) pareto {
	span := logRatio(high, low)
	return pareto{k, low, high, span, -math.Expm1(-k * span), newFixedPower(-1 / k)}
}

// logRatio returns log(x/y), x >= y > 0, without cancellation where they are
// close.
func logRatio(x, y float64) float64 {
	if x < 2*y {
		return math.Log1p((x - y) / y)
	}
	return math.Log(x) - math.Log(y)
}

// height returns log(x/low), depth log(high/x).
func (d pareto) height(x float64) float64 { return logRatio(x, d.low) }

func (d pareto) depth(x float64) float64 { return logRatio(d.high, x) }

// cdf returns P(X <= x).
func (d pareto) cdf(x float64) float64 {
	switch {
	case x <= d.low:
		return 0
	case x >= d.high:
		return 1
	}
	return -math.Expm1(-d.k*d.height(x)) / d.z
}

// above returns P(X > x).
func (d pareto) above(x float64) float64 {
	switch {
	case x < d.low:
		return 1
	case x >= d.high:
		return 0
	}
	return d.mass(x, d.depth(x))
}

// mass returns P(x < X < y), low <= x < y <= high, for log(y/x) = span.
func (d pareto) mass(x, span float64) float64 {
	return math.Exp(-d.k*d.height(x)) * -math.Expm1(-d.k*span) / d.z
}

// quantile returns low (1 - q z)^(-1/k), for q in [0, 1].
func (d pareto) quantile(q float64) float64 {
	switch {
	case q <= 0:
		return d.low
	case q >= 1:
		return d.high
	}
	return min(d.high, d.low*math.Exp(-math.Log1p(-q*d.z)/d.k))
}

// cutDepth returns log(high/c) for the cut c that leaves the share q in
// [0, 1] above it: log(1 + q (e^(k span) - 1)) / k.
func (d pareto) cutDepth(q float64) float64 {
	if d.k*d.span < 700 {
		return math.Log1p(q*math.Expm1(d.k*d.span)) / d.k
	}
	return max(0, d.span+math.Log(q)/d.k)
}

// part returns E[X; X > x] for log(x/low) = height and log(high/x) = depth:
//
//	(k/z) low e^(-(k-1) height) (1 - e^(-(k-1) depth)) / (k-1),
//
// the last factor being depth at k = 1.
func (d pareto) part(height, depth float64) float64 {
	return d.k / d.z * d.low * math.Exp(-(d.k-1)*height) * decay(d.k-1, depth)
}

// decay returns the integral of e^(-rate t) over t in [0, length].
func decay(rate, length float64) float64 {
	if math.Abs(rate)*length < 1e-17 {
		return length
	}
	return -math.Expm1(-rate*length) / rate
}
