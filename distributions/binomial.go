package distributions

import "math"

// BinomialProbability returns the probability of k successes among n
// independent rollouts of a prompt with success probability p, for whole
// 0 <= k <= n and p in [0, 1]:
//
//	n!/(k!(n-k)!) p^k (1-p)^(n-k).
//
// It is exact at p = 0 and p = 1, where Gonum's Binomial gives NaN. The relative
// error grows with n, since the factorials are taken as logarithms: below 1e-11
// up to n = 1000, below 1e-10 up to n = 10,000.
func BinomialProbability(n, k int, p float64) float64 {
	switch k {
	case 0:
		return math.Pow(1-p, float64(n))
	case n:
		return math.Pow(p, float64(n))
	}
	all, _ := math.Lgamma(float64(n + 1))
	hit, _ := math.Lgamma(float64(k + 1))
	miss, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(all - hit - miss + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
