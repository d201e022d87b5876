package distributions

import "math"

// smallest returns the smallest float64 c in [low, high], 0 <= low, for which
// holds(c), by bisection over the bits of c: non-negative floats are ordered
// as their bits are. It takes holds to be monotone, and true at high.
func smallest(low, high float64, holds func(c float64) bool) float64 {
	if holds(low) {
		return low
	}
	no, yes := math.Float64bits(low), math.Float64bits(high)
	for yes-no > 1 {
		middle := no + (yes-no)/2
		if holds(math.Float64frombits(middle)) {
			yes = middle
		} else {
			no = middle
		}
	}
	return math.Float64frombits(yes)
}

// quantile returns the smallest u in [low, high] with cdf(u) >= q; low and
// high are the ends of the law's support, which are the quantiles of 0 and 1.
func quantile(cdf func(c float64) float64, low, high, q float64) float64 {
	switch {
	case math.IsNaN(q):
		return q
	case q <= 0:
		return low
	case q >= 1:
		return high
	}
	return smallest(low, high, func(c float64) bool { return cdf(c) >= q })
}

// A tail knows its upper tails to full relative accuracy: P(u > c) and
// E[u; u > c], for c in [0, 1].
type tail interface {
	aboveU(c float64) float64
	UpperU(c float64) float64
}

// topU returns TopU(q) of a law with u in [0, 1]: all of u above the cut and,
// of the mass at the cut, what is left of q. Where there is no atom an error
// in the cut only counts squared.
func topU(t tail, q float64) float64 {
	if !(q > 0) {
		return 0 * q // keeps NaN
	}
	q = min(q, 1)
	cut := smallest(0, 1, func(c float64) bool { return t.aboveU(c) <= q })
	return t.UpperU(cut) + cut*max(0, q-t.aboveU(cut))
}
