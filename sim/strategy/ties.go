package strategy

import "math/rand/v2"

// randomRanks fills rank with a uniformly random order of n prompts, for ties
// that a seeded permutation breaks, and returns it.
func randomRanks(rank []int, n int, r *rand.Rand) []int {
	rank = rank[:0]
	for i := range n {
		rank = append(rank, i)
	}
	r.Shuffle(n, func(i, j int) { rank[i], rank[j] = rank[j], rank[i] })
	return rank
}

// inOrder returns 0..n-1.
func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// orEven returns the gain where there is one. Where the rollout after n gains
// nothing it returns -n: below every gain, and least for the prompt that has
// least, so that greedy spreads evenly what nobody can use.
func orEven(gain float64, n int) float64 {
	if gain > 0 {
		return gain
	}
	return -float64(n)
}
