// Package lookahead holds the best screening of prompts under a known law of
// their success probabilities: how many rollouts to ask of a prompt, round by
// round, at a price a rollout. It refuses randomness, batches and the choice of
// the law.
package lookahead

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"
)

// MostRollouts bounds the largest group: a plan takes time that grows with its
// cube.
const MostRollouts = 256

// Cell returns the place of s successes in n rollouts, 0 <= s <= n, in a table
// of all outcomes of up to some number of rollouts.
func Cell(n, s int) int { return n*(n+1)/2 + s }

// Cells returns the number of outcomes of 0 to most rollouts.
func Cells(most int) int { return Cell(most+1, 0) }

// A Prior is a law of success probabilities by its moments
//
//	h(n, s) = E[p^s (1-p)^(n-s)],   0 <= s <= n <= max+2,
//
// the probability of any one sequence of n rollouts with s successes. No more
// than that is known of a law that at most max rollouts of a prompt can meet.
type Prior struct {
	most int // max + 2
	h    []float64
}

// Beta returns Beta(a, b) for groups of at most most rollouts, in [1,
// MostRollouts]; a, b in [2^-10, 2^10].
//
//	h(n, s) = prod_{i<s} (a+i) prod_{j<n-s} (b+j) / prod_{k<n} (a+b+k)
func Beta(a, b float64, most int) (*Prior, error) {
	parameter := func(x float64) bool { return x >= 0x1p-10 && x <= 0x1p10 }
	err := errors.Join(
		unless(parameter(a), "a", a, "[2^-10, 2^10]"),
		unless(parameter(b), "b", b, "[2^-10, 2^10]"),
		checkMost(most),
	)
	if err != nil {
		return nil, err
	}
	p := newPrior(most)
	p.h[0] = 1
	for n := range p.most {
		total := a + b + float64(n)
		for s := range n + 1 {
			p.h[Cell(n+1, s)] = p.h[Cell(n, s)] * (b + float64(n-s)) / total
		}
		p.h[Cell(n+1, n+1)] = p.h[Cell(n, n)] * (a + float64(n)) / total
	}
	return p, nil
}

// Atoms returns the law of success probabilities p in [0, 1] with weights w in
// [0, 1] that sum to 1, for groups of at most most rollouts, in [1,
// MostRollouts]. The slices share one length.
func Atoms(p, w []float64, most int) (*Prior, error) {
	if err := checkMost(most); err != nil {
		return nil, err
	}
	if len(p) != len(w) {
		return nil, fmt.Errorf("lookahead: %d atoms with %d weights, want as many", len(p), len(w))
	}
	law, row := newPrior(most), make([]float64, most+4)
	for i, p := range p {
		if !(p >= 0 && p <= 1 && w[i] >= 0 && w[i] <= 1) {
			return nil, fmt.Errorf("lookahead: atom p = %v of weight %v, want both in [0, 1]", p, w[i])
		}
		row[0] = w[i] // w p^s (1-p)^(n-s) by s
		for n := range law.most + 1 {
			floats.Add(law.h[Cell(n, 0):Cell(n+1, 0)], row[:n+1])
			row[n+1] = row[n] * p
			floats.Scale(1-p, row[:n+1])
		}
	}
	return law, nil
}

func newPrior(most int) *Prior { return &Prior{most + 2, make([]float64, Cells(most+2))} }

func checkMost(most int) error {
	return unless(most >= 1 && most <= MostRollouts, "max", most, fmt.Sprintf("a whole number in [1, %d]", MostRollouts))
}

// unless returns nil where ok, and else what is wrong.
func unless(ok bool, name string, value any, want string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("lookahead: %s = %v, want %s", name, value, want)
}

// Max returns the largest group that the prior is for.
func (p *Prior) Max() int { return p.most - 2 }

// Moment returns h(n, s), 0 <= s <= n <= Max()+2.
func (p *Prior) Moment(n, s int) float64 { return p.h[Cell(n, s)] }

// mix sets p to the mixture of laws with the given weights, which sum to 1. All
// are for the same largest group.
func (p *Prior) mix(laws []*Prior, weights []float64) {
	p.most = laws[0].most
	p.h = append(p.h[:0], laws[0].h...)
	floats.Scale(weights[0], p.h)
	for i, law := range laws[1:] {
		if weights[i+1] > 0 {
			floats.AddScaled(p.h, weights[i+1], law.h)
		}
	}
}
