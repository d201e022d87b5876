package distributions

import (
	"math"
	"math/rand/v2"
)

// Beta is the law of p with density p^(a-1) (1-p)^(b-1) / B(a,b). Build it
// with NewBeta.
type Beta struct{ a, b float64 }

// The range of a and b: smaller ones are dead and solved prompts to any
// purpose, larger ones a single p.
const (
	minBeta  = 1e-4
	maxBeta  = 1e6
	wantBeta = "[0.0001, 1e+06]"
)

// NewBeta returns Beta(a,b), for a and b in [1e-4, 1e6].
func NewBeta(a, b float64) (Beta, error) {
	var f faults
	f.check("a", a, a >= minBeta && a <= maxBeta, wantBeta)
	f.check("b", b, b >= minBeta && b <= maxBeta, wantBeta)
	return Beta{a, b}, f.err()
}

// NewUniform returns the uniform law of p, which is Beta(1,1).
func NewUniform() Beta { return Beta{1, 1} }

// MeanP returns a/(a+b).
func (d Beta) MeanP() float64 { return d.a / (d.a + d.b) }

// MeanU returns 4ab / ((a+b)(a+b+1)).
func (d Beta) MeanU() float64 {
	n := d.a + d.b
	return 4 * (d.a / n) * (d.b / (n + 1))
}

// CDFU returns I_x(a,b) + I_x(b,a) with x = (1-sqrt(1-c))/2, the mass at both
// ends.
func (d Beta) CDFU(c float64) float64 {
	switch {
	case c <= 0:
		return 0
	case c >= 1:
		return 1
	}
	x := lowerRoot(c)
	return min(1, incompleteBeta(d.a, d.b, x, 1-x)+incompleteBeta(d.b, d.a, x, 1-x))
}

// QuantileU inverts CDFU by search, to the float64.
func (d Beta) QuantileU(q float64) float64 { return quantile(d.CDFU, 0, 1, q) }

// UpperU returns E[u; u > c] = E[u] P(x < Y < 1-x), Y ~ Beta(a+1,b+1).
func (d Beta) UpperU(c float64) float64 {
	switch {
	case c <= 0:
		return d.MeanU()
	case c >= 1:
		return 0
	}
	return d.MeanU() * betaMiddle(d.a+1, d.b+1, c)
}

func (d Beta) aboveU(c float64) float64 {
	switch {
	case c <= 0:
		return 1
	case c >= 1:
		return 0
	}
	return betaMiddle(d.a, d.b, c)
}

// TopU returns UpperU at the cut that leaves the share q.
func (d Beta) TopU(q float64) float64 { return topU(d, q) }

// Atoms returns none.
func (d Beta) Atoms() []Node { return nil }

// Nodes implements Law: Gauss-Jacobi panels at p = 0 and p = 1, Gauss-Legendre
// panels between. 1-p is resolved to 1e-16 only, so that nodes closer to p = 1
// fall together.
func (d Beta) Nodes(n int, cuts ...float64) []Node {
	lower, upper := d.branch(n), Beta{d.b, d.a}.branch(n)
	return continuousNodes(lower, upper, n, cuts)
}

// branch returns the lower branch for polynomials of degree n/8. Where a is
// large the branch starts, or stops, where no such polynomial finds any mass:
// 12 standard deviations of sqrt(p) beyond the mean of Beta(a, b+n/8), or of
// Beta(a+n/8, b), the laws tilted most.
func (d Beta) branch(n int) branch {
	degree := float64(max(0, n) / 8)
	total := d.a + d.b + degree
	reach := 6 / math.Sqrt(total)
	low := math.Asin(math.Sqrt(d.a/total)) - reach
	high := math.Asin(math.Sqrt((d.a+degree)/total)) + reach
	return branch{
		low:     fromAngle(min(max(0, low), math.Pi/4)),
		high:    fromAngle(min(high, math.Pi/4)),
		density: func(m float64) float64 { return betaPower(d.a, d.b, m, 1-m) / (m * (1 - m)) },
		power:   d.a,
	}
}

// Rand draws one p: by Johnk's method (1964) for a, b <= 1, otherwise as
// X/(X+Y) of two Gamma variables, in logarithms where they may underflow.
func (d Beta) Rand(r *rand.Rand) float64 {
	switch {
	case d.a == 1 && d.b == 1:
		return r.Float64()
	case d.a <= 1 && d.b <= 1:
		return d.johnk(r)
	case d.a >= 1 && d.b >= 1:
		x := gammaRand(d.a, r)
		return x / (x + gammaRand(d.b, r))
	}
	x := logGammaRand(d.a, r)
	return 1 / (1 + math.Exp(logGammaRand(d.b, r)-x))
}

// johnk draws X/(X+Y) with X = U^(1/a) and Y = V^(1/b), U and V uniform,
// given X+Y <= 1.
func (d Beta) johnk(r *rand.Rand) float64 {
	for {
		logX, logY := math.Log(1-r.Float64())/d.a, math.Log(1-r.Float64())/d.b
		x, y := math.Exp(logX), math.Exp(logY)
		switch sum := x + y; {
		case sum > 1:
		case sum > 1e-290:
			return x / sum
		default: // near underflow
			return 1 / (1 + math.Exp(logY-logX))
		}
	}
}

// logGammaRand draws log X, X ~ Gamma(a), for a > 0: X = Y V^(1/a) with
// Y ~ Gamma(a+1) and V uniform on (0, 1].
func logGammaRand(a float64, r *rand.Rand) float64 {
	if a >= 1 {
		return math.Log(gammaRand(a, r))
	}
	return math.Log(gammaRand(a+1, r)) + math.Log(1-r.Float64())/a
}

// squeeze bounds the acceptance of gammaRand from below by 1-squeeze*x^4, which
// saves nearly all its logarithms.
const squeeze = 0.0331

// gammaRand draws X ~ Gamma(a), a >= 1, as in Marsaglia and Tsang (2000), "A
// simple method for generating gamma variables".
func gammaRand(a float64, r *rand.Rand) float64 {
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		y := 1 - r.Float64() // never 0
		if y < 1-squeeze*x*x*x*x || math.Log(y) < x*x/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}
