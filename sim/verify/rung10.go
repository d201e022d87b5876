package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

// rung10 checks the theorems of methods beside VIGOR (systems.md, sections 4 to
// 6, 8 and 10). Those of training systems stand in 6.systems: M2PO's theorem
// along training, R2PO's identity.
func rung10(cfg *Config) []study {
	return append([]study{
		{id: "10.pair", run: pairs},
		{id: "10.sera", run: fidelity},
		{id: "10.arcus", run: arc},
		{id: "10.m2po", run: staleTokens},
		{id: "10.speceval", comparisons: len(publishedDesigns), run: designs},
	}, evaluations(cfg)...)
}

// What rests on notes, an abstract or memory says so wherever it is shown.
const (
	pairLabel    = "PAIR (reconstruction)"
	arcusLabel   = "ARCUS (reconstruction)"
	horaLabel    = "HORA (reconstruction)"
	vipLabel     = "VIP (reconstruction)"
	ucbLabel     = "MC-UCB (reconstruction)"
	halvingLabel = "sequential halving (reconstruction)"
	ar3poLabel   = "AR3PO (reconstruction)"
)

// pairs checks the estimator of finished pairs over every set of finished
// rollouts.
func pairs(_ context.Context, e *env) (*Section, error) {
	var leftOut, joint, design worst
	var unweighted, marginal worst // bias, relative
	r := e.generator("candidates")
	for range e.replicates(100, 1000) {
		c := candidates(r)
		complete, err := theory.CompletePairs(c)
		if err != nil {
			return nil, err
		}
		variance, err := theory.PairVariance(c)
		if err != nil {
			return nil, err
		}
		scale := 1 + floats.Norm(complete, 2)
		leftOut.add(floats.Distance(leaveOneOut(c), complete, 2) / scale)
		all := finishedPairs(c, func(a, b float64) float64 { return 1 / (a * b) })
		joint.add(floats.Distance(all.mean, complete, 2) / scale)
		design.add(math.Abs(all.variance-variance) / (1 + variance))
		if size := floats.Norm(complete, 2); size > 0 {
			one := finishedPairs(c, func(a, b float64) float64 { return 1 / math.Sqrt(a*b) })
			marginal.add(floats.Distance(one.mean, complete, 2) / size)
			none := finishedPairs(c, func(_, _ float64) float64 { return 1 })
			unweighted.add(floats.Distance(none.mean, complete, 2) / size)
		}
	}
	const method = "every set of finished rollouts of random groups of 2 to 6"
	return &Section{Rows: []Row{
		leftOut.equal(Row{ID: "leave-one-out", Kind: Check, Claim: "the leave-one-out gradient is the mean over pairs of (r_i - r_j)(S_i - S_j)/2", Method: "two formulas on random groups; the largest difference"}),
		joint.equal(Row{ID: "joint", Kind: Claim, Claim: pairLabel + ": weights 1/(pi_i pi_j) are unbiased for the complete pairs", Method: method + "; the largest bias"}),
		design.equal(Row{ID: "variance", Kind: Check, Claim: pairLabel + ": the exact design variance of independent inclusion", Method: method + "; the largest difference"}),
		marginal.equal(Row{ID: "marginal", Kind: Claim, Claim: pairLabel + ": one propensity a pair, 1/sqrt(pi_i pi_j), is unbiased too", Method: method + "; the largest bias over the gradient"}),
		unweighted.equal(Row{ID: "unweighted", Kind: Claim, Claim: pairLabel + ": the finished pairs are unbiased without weights", Method: method + "; the largest bias over the gradient"}),
	}}, nil
}

// candidates draws a group with scores in two dimensions.
func candidates(r *rand.Rand) []theory.Candidate {
	c := make([]theory.Candidate, 2+r.IntN(5))
	for i := range c {
		c[i] = theory.Candidate{Reward: float64(r.IntN(2)), Score: []float64{r.NormFloat64(), r.NormFloat64()}, Inclusion: .2 + .8*r.Float64()}
	}
	return c
}

// leaveOneOut returns (1/n) sum (r_i - mean of the others) S_i.
func leaveOneOut(c []theory.Candidate) []float64 {
	sum, out, n := 0.0, make([]float64, len(c[0].Score)), float64(len(c))
	for i := range c {
		sum += c[i].Reward
	}
	for i := range c {
		floats.AddScaled(out, (c[i].Reward-(sum-c[i].Reward)/(n-1))/n, c[i].Score)
	}
	return out
}

// A pairEstimate is an estimate over all sets of finished rollouts.
type pairEstimate struct {
	mean     []float64
	variance float64 // summed over coordinates
}

// finishedPairs enumerates the sets for the estimate that gives a finished pair
// the weight of its two inclusions.
func finishedPairs(c []theory.Candidate, weight func(a, b float64) float64) pairEstimate {
	e := pairEstimate{mean: make([]float64, len(c[0].Score))}
	square := 0.0
	count := float64(len(c)*(len(c)-1)) / 2
	for set := range 1 << len(c) {
		chance, sum := 1.0, make([]float64, len(e.mean))
		for i := range c {
			if set>>i&1 == 0 {
				chance *= 1 - c[i].Inclusion
				continue
			}
			chance *= c[i].Inclusion
			for j := range i {
				if set>>j&1 == 1 {
					w := weight(c[i].Inclusion, c[j].Inclusion) * (c[i].Reward - c[j].Reward) / 2 / count
					floats.AddScaled(sum, w, c[i].Score)
					floats.AddScaled(sum, -w, c[j].Score)
				}
			}
		}
		floats.AddScaled(e.mean, chance, sum)
		square += chance * floats.Dot(sum, sum)
	}
	e.variance = square - floats.Dot(e.mean, e.mean)
	return e
}

// fidelity checks SERA's kappa by enumeration, and its groups of equal fidelity.
func fidelity(context.Context, *env) (*Section, error) {
	w := worst{}
	for _, p := range []float64{1e-3, .05, .2, .5, .9, .999} {
		for n := 1; n <= 64; n++ {
			// One logit: the scores are 1-p and -p, and d ln p/dz = 1-p.
			mean := 0.0
			for k := 1; k <= n; k++ {
				right, wrong := 1/float64(k)-1/float64(n), -1/float64(n)
				mean += distributions.BinomialProbability(n, k, p) * (float64(k)*right*(1-p) - float64(n-k)*wrong*p)
			}
			w.add(math.Abs(mean/(1-p) - strategy.MaxRLFidelity(p, n)))
		}
	}
	p := []float64{.05, .2, .5, .9}
	groups := make([]float64, len(p))
	tau := strategy.Waterline(p, 16*len(p), 2, 64, groups)
	equal := worst{}
	for i, n := range groups {
		if n > 2 && n < 64 {
			equal.add(math.Abs(-math.Expm1((n-1)*math.Log1p(-p[i])) + math.Expm1(-tau)))
		}
	}
	return &Section{Rows: []Row{
		w.equal(Row{
			ID: "kappa", Kind: Claim, Claim: "the centred MaxRL gradient of N rollouts has mean (1 - (1-p)^(N-1)) grad log p",
			Method: "exact binomial sums on one logit, N up to 64; the largest difference",
		}),
		equal.equal(Row{
			ID: "equal", Kind: Claim, Claim: "SERA's groups have one fidelity, 1 - e^-tau, wherever no bound holds them",
			Method: "p = .05, .2, .5, .9, 16 rollouts a prompt, groups of 2 to 64; the largest difference",
		}),
		printed(Row{ID: "tau", Claim: "SERA: tau = 2.3207 at p = .05, .2, .5, .9", Method: "bisection"}, tau, 2.3207, 4),
	}}, nil
}

// staleTokens checks M2PO's theorem for pairs of policies, and which share of
// stale tokens each of its rules leaves without a gradient.
func staleTokens(_ context.Context, e *env) (*Section, error) {
	r, w := e.generator("policies"), worst{}
	for range e.replicates(2000, 20_000) {
		ratio, err := chiSquareRatio(r)
		if err != nil {
			return nil, err
		}
		w.add(ratio)
	}
	s := &Section{Rows: []Row{w.within(Row{
		ID: "theorem", Kind: Claim, Claim: "M2PO, Theorem 5.1: chi^2 <= R^2 E[(ln r)^2] where every ratio lies in [1/R, R]",
		Method: "exact, random pairs of policies of 2 to 12 tokens; the largest chi^2 over its bound",
	})}}
	for _, c := range []struct{ sd, masked, held, capped float64 }{
		{.25, .0928, .1292, .2268}, {.3, .1956, .2055, .3735}, {.5, .4732, .4465, .6466}, {1, .7269, .7032, .8319},
	} {
		masked, err := theory.MaskedGaussian(c.sd, .04)
		if err != nil {
			return nil, err
		}
		held, err := theory.HeldGaussian(c.sd, .04, .7, 1.5)
		if err != nil {
			return nil, err
		}
		const method = "root finding for normal ln r"
		s.Rows = append(s.Rows,
			printed(Row{ID: fmt.Sprintf("masked-%v", c.sd), Claim: fmt.Sprintf("M2PO, Algorithm 1 masks %v of its tokens at sd %v", c.masked, c.sd), Method: method}, masked, c.masked, 4),
			printed(Row{ID: fmt.Sprintf("held-%v", c.sd), Claim: fmt.Sprintf("M2PO, the released code holds %v of them", c.held), Method: method}, held, c.held, 4),
		)
	}
	return s, nil
}

// chiSquareRatio returns chi^2 over its bound for a random pair of policies.
func chiSquareRatio(r *rand.Rand) (float64, error) {
	old, now := make([]float64, 2+r.IntN(11)), []float64(nil)
	scale := 3 * r.Float64()
	for i := range old {
		old[i] = -math.Log(r.Float64())
		now = append(now, old[i]*math.Exp(scale*r.NormFloat64()))
	}
	floats.Scale(1/floats.Sum(old), old)
	floats.Scale(1/floats.Sum(now), now)
	var chi, square, most float64
	for i := range old {
		x := math.Log(now[i] / old[i])
		chi += old[i] * math.Expm1(x) * math.Expm1(x)
		square += old[i] * x * x
		most = max(most, math.Abs(x))
	}
	bound, err := theory.ChiSquareBound(math.Exp(most), square)
	return chi / bound, err
}
