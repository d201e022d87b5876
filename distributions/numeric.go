package distributions

import (
	"math"
	"math/bits"
)

// smallest returns the smallest float64 c in [low, high], 0 <= low, with
// f(c) >= 0. It takes f to be non-decreasing, and f(high) >= 0.
//
// It searches among the bits of c, as non-negative floats are ordered as their
// bits are, by the ITP method of Oliveira and Takahashi (2020), "An enhancement
// of the bisection method average performance preserving minmax optimality",
// with kappa_1 = 2^-52, kappa_2 = 2 and n_0 = 4: the exponent takes some 10
// steps, and then some 8 find the fraction of a smooth f; no f takes more than
// bisection does and 4.
func smallest(low, high float64, f func(c float64) float64) float64 {
	const (
		extra  = 4
		binade = 1 << 52 // the floats from one power of 2 to the next
	)
	fNo := f(low)
	if fNo >= 0 {
		return low
	}
	fYes := f(high)
	no, yes := math.Float64bits(low), math.Float64bits(high)
	reach := math.Ldexp(1, bits.Len64(yes-no)+extra) // how wide the bracket may still be
	for yes-no > 1 {
		width := float64(yes - no)
		offset := width / 2 // from no
		if secant := width * fNo / (fNo - fYes); secant >= 0 && secant <= width {
			toMiddle := offset - secant
			secant += math.Copysign(min(width*(width/binade), math.Abs(toMiddle)), toMiddle)
			slack := max(0, reach/2-width/2)
			offset = min(max(secant, offset-slack), offset+slack)
		}
		at := no + min(max(uint64(offset), 1), yes-no-1)
		if y := f(math.Float64frombits(at)); y >= 0 {
			yes, fYes = at, y
		} else {
			no, fNo = at, y
		}
		reach /= 2
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
	return smallest(low, high, func(c float64) float64 { return cdf(c) - q })
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
	cut := smallest(0, 1, func(c float64) float64 { return q - t.aboveU(c) })
	return t.UpperU(cut) + cut*max(0, q-t.aboveU(cut))
}
