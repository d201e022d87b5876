package advantage

import (
	"fmt"

	"vigorlab/distributions"
)

// OneLogitEstimate returns the policy gradient estimate that e makes of a group
// of n >= 1 rollouts with k successes, 0 <= k <= n, under the policy of one
// logit, pi(correct) = p = sigmoid(theta), rewards in {0, 1}:
//
//	g = (1/n) sum_i A_i (a_i - p) = (1/n) sum over successes of A_i,
//
// a_i = 1 for a correct rollout, whose score is a_i - p; the advantages sum to
// 0, so that p drops out. The closed forms (allocation.md, section 0):
//
//	RLOO                            k(n-k)/(n(n-1)), the unbiased sample variance
//	Dr. GRPO                        k(n-k)/n^2
//	GRPO, Delta 0, DDOF 0           sqrt(k(n-k))/n
//	GRPO, Delta 0, DDOF 1           sqrt(k(n-k))/n sqrt((n-1)/n)
//
// and 0 at k = 0, k = n and n = 1. It fails where e does.
func OneLogitEstimate(e Estimator, n, k int) (float64, error) {
	if n < 1 || k < 0 || k > n {
		return 0, fmt.Errorf("advantage: %d successes of %d rollouts, want at least 1 rollout and successes in [0, n]", k, n)
	}
	a := make([]float64, n)
	for i := range k {
		a[i] = 1
	}
	if err := e.Advantages(a, a); err != nil {
		return 0, err
	}
	g := 0.0
	for _, a := range a[:k] {
		g += a
	}
	return g / float64(n), nil
}

// OneLogitMoments returns mean and variance of OneLogitEstimate over groups of
// n rollouts of success probability p in [0, 1], by enumeration of k. The true
// gradient of the expected reward is p(1-p): the mean of RLOO for n >= 2, and
// n/(n-1) times that of Dr. GRPO. At p = 0 and p = 1 both are 0.
func OneLogitMoments(e Estimator, p float64, n int) (mean, variance float64, err error) {
	if !(p >= 0 && p <= 1 && n >= 1) {
		return 0, 0, fmt.Errorf("advantage: p = %v and n = %d, want p in [0, 1] and n >= 1", p, n)
	}
	g, mass := make([]float64, n+1), make([]float64, n+1)
	for k := range g {
		if g[k], err = OneLogitEstimate(e, n, k); err != nil {
			return 0, 0, err
		}
		mass[k] = distributions.BinomialProbability(n, k, p)
		mean += mass[k] * g[k]
	}
	for k := range g {
		variance += mass[k] * (g[k] - mean) * (g[k] - mean)
	}
	return mean, variance, nil
}

// OneLogitRLOOVariance returns the variance of RLOO's OneLogitEstimate for
// n >= 2 rollouts of success probability p, with v = p(1-p) (allocation.md,
// section 0):
//
//	(v(1-3v) - (n-3)/(n-1) v^2) / n.
func OneLogitRLOOVariance(p float64, n int) float64 {
	v, g := p*(1-p), float64(n)
	return (v*(1-3*v) - (g-3)/(g-1)*v*v) / g
}

// OneLogitBaseline returns the estimate of a group of n >= 1 rollouts with k
// successes whose rewards in {0, 1} are compared with a given baseline b,
//
//	(1/n) sum_i (r_i - b)(a_i - p) = (k(1-b)(1-p) + (n-k) b p) / n.
//
// Its mean over k ~ Binomial(n, p) is p(1-p) for every b that does not depend
// on the group: unbiased.
func OneLogitBaseline(n, k int, p, b float64) float64 {
	return (float64(k)*(1-b)*(1-p) + float64(n-k)*b*p) / float64(n)
}
