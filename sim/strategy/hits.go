package strategy

import "math"

// HitUtility is the probability that at least one of n >= 0 further rollouts of
// a prompt succeeds, where s of its rollouts succeeded, f failed and the prior
// is uniform: 1 - prod_{j<n} (b+j)/(a+b+j) with a = 1+s, b = 1+f. It is
// concave in n, so that greedy allocation is exact for its sum (the objective
// of HORA, arXiv 2605.07114, from its abstract; the formula is derived).
func HitUtility(s, f, n int) float64 {
	miss := 1.
	for j := range n {
		miss *= float64(1+f+j) / float64(2+s+f+j)
	}
	return 1 - miss
}

// FirstSuccesses is the expected number of prompts, of success rates p in
// [0, 1], whose first success falls exactly on rollout m >= 1: sum p(1-p)^(m-1).
// It is what an m-th rollout for all wins in prompts solved at least once.
func FirstSuccesses(p []float64, m int) float64 {
	sum := 0.
	for _, p := range p {
		sum += p * math.Pow(1-p, float64(m-1))
	}
	return sum
}

// GoodTuring estimates FirstSuccesses without bias from the successes of m >= 1
// rollouts of every prompt: the number of prompts with exactly one, divided by
// m (Good and Turing; Good, Biometrika 1953).
func GoodTuring(successes []int, m int) float64 {
	once := 0
	for _, s := range successes {
		if s == 1 {
			once++
		}
	}
	return float64(once) / float64(m)
}

// PassAtK estimates 1-(1-p)^k without bias from s successes among n rollouts,
// 0 <= s <= n, 1 <= k <= n: 1 - C(n-s, k)/C(n, k) (Chen et al., arXiv
// 2107.03374, equation 1).
func PassAtK(s, n, k int) float64 {
	miss := 1.
	for j := range k {
		miss *= max(0, float64(n-s-j)) / float64(n-j)
	}
	return 1 - miss
}

// DetectionFloor is the least number of rollouts, not rounded, after which a
// prompt of success rate p in (0, 1) has shown a success with probability
// 1-delta: ln(delta)/ln(1-p). No allocation that learns nothing across prompts
// needs fewer.
func DetectionFloor(p, delta float64) float64 { return math.Log(delta) / math.Log1p(-p) }
