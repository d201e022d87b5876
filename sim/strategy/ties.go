package strategy

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"vigorlab/sim/schedule"
)

// How equal claims are settled.
const (
	tiesRandom = schedule.TiesRandom // every order with the same probability
	tiesIndex  = schedule.TiesIndex  // the earlier place in the batch first
)

// tieRanks fills rank with the order in which n prompts of equal claims are
// served, a random one or, where ties is tiesIndex, that of the batch, and
// returns it. Only a random order draws from r.
func tieRanks(rank []int, n int, ties string, r *rand.Rand) []int {
	rank = rank[:0]
	for i := range n {
		rank = append(rank, i)
	}
	if ties == tiesRandom {
		r.Shuffle(n, func(i, j int) { rank[i], rank[j] = rank[j], rank[i] })
	}
	return rank
}

// randomRanks is tieRanks where ties are always random.
func randomRanks(rank []int, n int, r *rand.Rand) []int { return tieRanks(rank, n, tiesRandom, r) }

// inOrder returns 0..n-1.
func inOrder(n int) []int { return tieRanks(nil, n, tiesIndex, nil) }

// byFalling fills order with 0..len(key)-1, the largest key first, and returns
// it. Equal keys stand as tieRanks has them.
func byFalling(order []int, key []float64, ties string, r *rand.Rand) []int {
	order = tieRanks(order, len(key), ties, r)
	slices.SortFunc(order, func(a, b int) int {
		if c := cmp.Compare(key[b], key[a]); c != 0 || ties == tiesRandom {
			return c
		}
		return cmp.Compare(a, b)
	})
	return order
}

// A candidate is ranked by its key, and by lot among equals: the order is
// random though the candidates come one by one, each with a lot of its own.
type candidate struct {
	x   int // a place in the batch or a prompt of the set
	key float64
	lot uint64
}

// rankCandidates sorts the candidates, the smallest key first.
func rankCandidates(list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.lot, b.lot))
	})
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
