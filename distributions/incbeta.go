package distributions

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// betaPower returns x^a y^b / B(a,b) with y = 1-x given apart, for a, b > 0.
// Writing it around its maximum at x = a/(a+b) keeps the relative error near
// 1e-14 where a or b is large, as Loader (2000), "Fast and accurate computation
// of binomial probabilities", does for the binomial.
func betaPower(a, b, x, y float64) float64 {
	const tiny, shift = 1e-200, 300 // x 2^shift is still nothing against 1
	switch {
	case x <= 0 || y <= 0:
		return 0
	case x < tiny: // keep clear of underflow
		return betaPower(a, b, math.Ldexp(x, shift), y) * math.Exp2(-a*shift)
	case y < tiny:
		return betaPower(b, a, y, x)
	}
	n := a + b
	exponent := stirlingError(n) - stirlingError(a) - stirlingError(b) -
		deviance(a, n*x) - deviance(b, n*y)
	return math.Sqrt(a/n*b/(2*math.Pi)) * math.Exp(exponent)
}

// stirlingError returns log Gamma(z+1) - [(z+1/2) log z - z + log(2 pi)/2],
// z > 0. From z = 12 on six terms of Stirling's series (DLMF 5.11.1) leave less
// than 1e-16.
func stirlingError(z float64) float64 {
	if z < 12 {
		logGamma, _ := math.Lgamma(z + 1)
		return logGamma - (z+0.5)*math.Log(z) + z - 0.5*math.Log(2*math.Pi)
	}
	w := 1 / (z * z)
	return (1./12 - w*(1./360-w*(1./1260-w*(1./1680-w*(1./1188-w*691./360360))))) / z
}

// deviance returns x log(x/m) + m - x, for x, m > 0, by the series of atanh
// where x is near m.
func deviance(x, m float64) float64 {
	v := (x - m) / (x + m)
	if !(math.Abs(v) <= 0.1) {
		return x*math.Log(x/m) + m - x
	}
	sum, power := v*(x-m), 2*x*v
	for k := 3.0; ; k += 2 {
		power *= v * v
		next := sum + power/k
		if next == sum {
			return sum
		}
		sum = next
	}
}

// incompleteBeta returns the regularised incomplete beta function I_x(a,b),
// with y = 1-x given apart.
func incompleteBeta(a, b, x, y float64) float64 {
	switch {
	case x <= 0:
		return 0
	case y <= 0:
		return 1
	case x > (a+1)/(a+b+2): // beyond, the continued fraction converges slowly
		return 1 - incompleteBeta(b, a, y, x)
	}
	return betaPower(a, b, x, y) / a * betaFraction(a, b, x)
}

// betaFraction evaluates the continued fraction DLMF 8.17.22 by the modified
// Lentz method, for x <= (a+1)/(a+b+2), where it takes of the order of
// sqrt(a+b) terms.
func betaFraction(a, b, x float64) float64 {
	const (
		tiny     = 1e-300
		maxTerms = 100_000
	)
	c, d := 1.0, 1/(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < maxTerms; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / nonzero(1+even*d, tiny)
		c = nonzero(1+even/c, tiny)
		f *= c * d
		d = 1 / nonzero(1+odd*d, tiny)
		c = nonzero(1+odd/c, tiny)
		step := c * d
		f *= step
		if !(math.Abs(step-1) > 4e-16) {
			break
		}
	}
	return f
}

func nonzero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// betaMiddle returns P(4X(1-X) > c) for X ~ Beta(a,b) and c in (0, 1), to full
// relative accuracy also where it is small.
func betaMiddle(a, b, c float64) float64 {
	x := lowerRoot(c)
	rest := incompleteBeta(a, b, x, 1-x) + incompleteBeta(b, a, x, 1-x)
	if rest < 0.9 { // the subtraction costs at most one digit
		return 1 - rest
	}
	return betaLogit(a, b, logitEnd(c))
}

// logitEnd returns log((1-x)/x) for the x <= 1/2 with 4x(1-x) = c, from
// sqrt(1-c) = 1-2x where x is so near 1/2 that it has lost 1-2x.
func logitEnd(c float64) float64 {
	if x := lowerRoot(c); c < 0.5 {
		return math.Log((1 - x) / x)
	}
	return 2 * math.Atanh(math.Sqrt(1-c))
}

// betaLogit integrates Beta(a,b) over |y| < end in the variable
// y = log(x/(1-x)), where its density x^a (1-x)^b / B(a,b) is log-concave and
// analytic for |Im y| < pi. It cuts off where the density has fallen by a
// factor e^-45.
func betaLogit(a, b, end float64) float64 {
	const (
		fall   = 45
		points = 20
	)
	height := func(y float64) float64 { // log density + const
		return -a*softplus(-y) - b*softplus(y)
	}
	mode := min(max(math.Log(a/b), -end), end)
	top := height(mode)
	edge := func(to float64) float64 {
		from, far := mode, to
		if height(to) >= top-fall {
			return to
		}
		for range 30 {
			if middle := (from + far) / 2; height(middle) >= top-fall {
				from = middle
			} else {
				far = middle
			}
		}
		return far
	}
	low, high := edge(-end), edge(end)
	// On a width of 4, 20 points leave an error of 3.4^-40; a steep density
	// asks for one panel for every factor e^6 that it falls by.
	drop := top - min(height(low), height(high))
	panels := max(1, math.Ceil((high-low)/4), math.Ceil(drop/6))
	width := (high - low) / panels
	var t, w [points]float64
	quad.Legendre{}.FixedLocations(t[:], w[:], 0, width)
	var sum float64
	for k := range int(panels) {
		for i := range t {
			y := low + float64(k)*width + t[i]
			p, q := math.Exp(-softplus(-y)), math.Exp(-softplus(y))
			sum += w[i] * betaPower(a, b, p, q)
		}
	}
	return sum
}

// softplus returns log(1 + e^y).
func softplus(y float64) float64 { return max(y, 0) + math.Log1p(math.Exp(-math.Abs(y))) }
