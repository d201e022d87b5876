// Package distributions holds laws of prompt difficulty: immutable values with
// moments, CDF, quantile and partial expectations of the reward variance,
// quadrature nodes and sampling. It refuses rewards, strategies and files.
//
// Throughout, p is the success probability of the current policy on a prompt
// and u = 4p(1-p), in [0, 1], the reward variance under signed coding
// ({-1, +1}). Binary coding would give u/4. The values p = 0 (a dead prompt)
// and p = 1 (a solved one) are ordinary: both have u = 0.
package distributions

import "math/rand/v2"

// A VarianceLaw is the law of the reward variance u of a prompt. It is an
// immutable value that goroutines may share.
type VarianceLaw interface {
	// MeanU returns E[u], +Inf where the mean does not exist.
	MeanU() float64
	// CDFU returns P(u <= c) for any real c.
	CDFU(c float64) float64
	// QuantileU returns the smallest c with P(u <= c) >= q, for q in [0, 1].
	QuantileU(q float64) float64
	// UpperU returns the upper partial expectation E[u; u > c].
	UpperU(c float64) float64
	// TopU returns the integral of u over the share q of the prompts with the
	// largest u, q in [0, 1]; an atom at the cut is split in proportion. Thus
	// TopU(1) = MeanU().
	TopU(q float64) float64
}

// A Law is the law of the success probability p of a prompt, and through it of
// u. It is an immutable value that goroutines may share.
type Law interface {
	VarianceLaw
	// MeanP returns E[p].
	MeanP() float64
	// Atoms returns the points of positive mass in ascending order of p,
	// without repeats; the caller owns the slice.
	Atoms() []Node
	// Nodes returns a quadrature rule for E[f(p)]: the atoms, and about n
	// points for the continuous part, in ascending order of p, with weights
	// that sum to 1 within 1e-13. Panels are split at u = 1 and wherever
	// u equals one of cuts, so that f may jump there: no continuous node lies
	// on a split. For f a polynomial of degree at most n/8 between the splits
	// the relative error is below 1e-10, whatever the law's singularities at
	// p = 0 and p = 1.
	Nodes(n int, cuts ...float64) []Node
	// Rand draws one success probability, from r alone.
	Rand(r *rand.Rand) float64
}

// A Node is a success probability P in [0, 1] with its weight W >= 0.
type Node struct{ P, W float64 }

// U returns the reward variance 4p(1-p) of a prompt with success probability
// p, in [0, 1] (signed coding). Where u decides between prompts use Level or
// AtLeast, which are not misled by rounding.
func U(p float64) float64 { return 4 * p * (1 - p) }
