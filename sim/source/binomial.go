// Package source says where rewards come from: synthetic prompts and recorded
// tables. It refuses to decide who gets how many rollouts.
package source

import "vigorlab/sim/stream"

// block is the largest group that is drawn by one inversion: q^block with
// q >= 1/2 is far from underflow, and the expected length of the search, at
// most block/2, stays short.
const block = 64

// odds[m][c] = (m-c+1)/c, the factor that takes the binomial probability of
// c-1 successes in m to that of c, apart from p/q.
var odds = func() (t [block + 1][block + 1]float64) {
	for m := 1; m <= block; m++ {
		for c := 1; c <= m; c++ {
			t[m][c] = float64(m-c+1) / float64(c)
		}
	}
	return t
}()

// groupKey names the draws of all groups of n rollouts that start at rollout
// first, so that the count of prompt x is number x of that stream.
func groupKey(key stream.Key, first, n int) stream.Key {
	return key.With(uint64(first), uint64(n))
}

// binomial returns the successes among n rollouts of success probability p in
// [0, 1], from prompt x's number in the stream.
func binomial(key stream.Key, x, n int, p float64) int {
	if n <= block {
		return invert(key.Uniform(uint64(x)), n, p)
	}
	s := 0
	for first := 0; first < n; first += block {
		s += invert(groupKey(key, first, block).Uniform(uint64(x)), min(block, n-first), p)
	}
	return s
}

// invert returns the smallest c with P(Binomial(n, p) <= c) > v, n <= block,
// for v in [0, 1). It searches from the nearer end, so that p = 0 and p = 1
// need no case of their own.
func invert(v float64, n int, p float64) int {
	if p > 0.5 {
		return n - search(v, n, 1-p)
	}
	return search(v, n, p)
}

// search is invert for p <= 1/2, by the recurrence of the probabilities.
func search(v float64, n int, p float64) int {
	q := 1 - p
	f := power(q, n)
	if v < f {
		return 0
	}
	r := p / q
	row := &odds[n]
	c := 0
	for v >= f && c < n {
		v -= f
		c++
		f *= r * row[c]
	}
	return c
}

// power returns x^n, n >= 0, by squaring.
func power(x float64, n int) float64 {
	r := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			r *= x
		}
		x *= x
	}
	return r
}
