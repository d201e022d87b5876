package distributions

import "math"

// maxDenominator is the largest n for which a success rate s/n is recognised
// by its float64: fractions with denominators up to 2^26 differ by more than
// one rounding step, and 2^20 rollouts of one prompt are more than anybody
// records.
const maxDenominator = 1 << 20

// levelMargin is more than |Level(p) - U(p)| can be: p, 1-p and their product
// are each rounded by at most 2^-53, which moves u by less than 2^-50.
const levelMargin = 0x1p-50

// Level returns the reward variance of a prompt whose success probability was
// written as a fraction: where p is the float64 nearest to some s/n with
// n <= 2^20 it is 4s(n-s)/n^2, rounded once, and otherwise U(p).
//
// In floating point U(0.9) < 0.36 < U(0.1), though all three are equal: Level
// gives prompts with s and with n-s successes the same value, and that value
// compares with a threshold as the decimals do. Use it wherever u decides
// between prompts; U is the faster one for sums.
func Level(p float64) float64 {
	if s, n, ok := fraction(p); ok {
		return 4 * s * (n - s) / (n * n) // below 2^53 until the division: exact
	}
	return U(p)
}

// AtLeast reports whether Level(p) >= c: whether a prompt with success
// probability p is on the frontier u >= c.
func AtLeast(p, c float64) bool {
	if u := U(p); math.Abs(u-c) > levelMargin {
		return u > c
	}
	return Level(p) >= c
}

// fraction finds s/n with n <= maxDenominator whose nearest float64 is p, by
// continued fractions: such a fraction is a convergent of p, because it lies
// within 2^-54 < 1/(2 n^2) of it.
func fraction(p float64) (s, n float64, ok bool) {
	if !(p >= 0 && p <= 1) {
		return 0, 0, false
	}
	s0, n0 := 1.0, 0.0 // the convergent before
	s, n = 0, 1
	for rest := p; s/n != p; {
		rest = 1 / rest
		whole := math.Floor(rest)
		rest -= whole
		s0, s = s, whole*s+s0
		n0, n = n, whole*n+n0
		if !(n <= maxDenominator) {
			return 0, 0, false
		}
	}
	return s, n, true
}

// lowerRoot returns the p <= 1/2 with 4p(1-p) = c, for c in [0, 1], without
// the cancellation of (1-sqrt(1-c))/2.
func lowerRoot(c float64) float64 { return c / (2 * (1 + math.Sqrt(1-c))) }
