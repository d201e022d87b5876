package plan

import (
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
)

// A Band is the law behind a pilot beside its counts: of prompts with N
// rollouts, as most prompts have, the share with s successes, for s from 0 to N.
type Band struct {
	N, Prompts int        // rollouts a prompt, and how many prompts have so many
	Law        []Interval // E[C(N, s) p^s (1-p)^(N-s)], with the middle 95 % of the bootstrap's laws
	Recorded   []Interval // shares of Prompts, with Wilson's 95 % interval
}

// mostCounts is the largest N of a Band: the time grows with its square, and what
// many rollouts show of the law is seen without a fit.
const mostCounts = 64

// bandOf compares the law with the pilot. The law's shares have no interval
// where no world was drawn.
func bandOf(pilot *fit.Counts, law distributions.Law, worlds []miss) *Band {
	n, prompts := frequent(pilot)
	if n > mostCounts {
		return nil
	}
	b := &Band{N: n, Prompts: prompts, Recorded: make([]Interval, n+1)}
	for s := range b.Recorded {
		b.Recorded[s] = wilson(0, prompts)
	}
	for _, x := range pilot.Cells() {
		if x.N == n {
			b.Recorded[x.S] = wilson(x.Prompts, prompts)
		}
	}
	spread := make([][]float64, n+1)
	for _, w := range worlds {
		for s, share := range countShares(w.law, n) {
			spread[s] = append(spread[s], share)
		}
	}
	for s, share := range countShares(law, n) {
		i := Interval{share, math.NaN(), math.NaN()}
		if len(worlds) > 0 {
			slices.Sort(spread[s])
			i.Low, i.High = quantile(spread[s], 0.025), quantile(spread[s], 0.975)
		}
		b.Law = append(b.Law, i)
	}
	return b
}

// wilson returns the share k/n with the 95 % interval of Wilson (1927), n >= 1.
func wilson(k, n int) Interval {
	const z = 1.959963984540054
	size, p := float64(n), float64(k)/float64(n)
	scale := 1 + z*z/size
	middle := (p + z*z/(2*size)) / scale
	half := z / scale * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return Interval{p, max(0, middle-half), min(1, middle+half)}
}

// frequent returns the number of rollouts that most prompts have, the largest of
// equally frequent ones, and how many prompts have it.
func frequent(pilot *fit.Counts) (n, prompts int) {
	with := map[int]int{}
	for _, x := range pilot.Cells() {
		with[x.N] += x.Prompts
	}
	for size, k := range with {
		if k > prompts || k == prompts && size > n {
			n, prompts = size, k
		}
	}
	return n, prompts
}

// countShares returns the probability of s successes among n rollouts of a
// prompt of the law, for s from 0 to n.
func countShares(law distributions.Law, n int) []float64 {
	shares := make([]float64, n+1)
	for _, x := range law.Nodes(max(searchNodes, 8*n)) { // exact: s of n is a polynomial of degree n
		for s := range shares {
			shares[s] += x.W * distributions.BinomialProbability(n, s, x.P)
		}
	}
	return shares
}
