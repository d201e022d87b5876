// Package source says where rewards come from: synthetic prompts and recorded
// tables. It refuses to decide who gets how many rollouts.
package source

import (
	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

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

// DrawCounts fills got with the successes of every request, from prompt x's
// number in the stream of its group: by inversion, counting the rarer outcome,
// so that p = 0 and p = 1 need no case of their own and no branch depends on
// which outcome is the rarer, which no processor could predict. It is the
// engine's innermost loop. p holds the success probability of every prompt; the
// other slices are those of rollout.Source, so that sources with other prompts
// keep its promise by calling it.
func DrawCounts(key stream.Key, p []float64, ask []rollout.Request, first, got []int) {
	var group stream.Key
	lastFirst, n := -1, -1
	for i, a := range ask {
		if first[i] != lastFirst || a.N != n { // seldom: a round mostly asks the same of all
			lastFirst, n = first[i], a.N
			group = groupKey(key, lastFirst, n)
		}
		got[i] = Count(group, a.X, n, p[a.X])
	}
}

// Count returns a binomial count of n >= 0 trials of probability p in [0, 1]:
// number x of the stream that key names.
func Count(key stream.Key, x, n int, p float64) int {
	if n > block {
		return drawBlocks(key, x, n, p)
	}
	return invert(key.Uniform(uint64(x)), n, p)
}

// drawBlocks draws a group of more than block rollouts, block by block.
func drawBlocks(group stream.Key, x, n int, p float64) int {
	s := 0
	for first := 0; first < n; first += block {
		s += invert(groupKey(group, first, block).Uniform(uint64(x)), min(block, n-first), p)
	}
	return s
}

// invert returns a binomial count by inversion of v in [0, 1), n <= block.
func invert(v float64, n int, p float64) int {
	q := max(p, 1-p) // of the commoner outcome
	rare := 0
	if f := power(q, n); v >= f {
		rare = search(v, n, q, f)
	}
	common := n - rare
	if p > 0.5 {
		rare = common
	}
	return rare
}

// search returns the smallest c with P(Binomial(n, 1-q) <= c) > v >= f = q^n,
// by the recurrence of the probabilities.
func search(v float64, n int, q, f float64) int {
	r := (1 - q) / q
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
