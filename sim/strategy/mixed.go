package strategy

import (
	"container/heap"
	"math"
)

// mixedGroups raises n, all 0, to whole numbers in [0, most] with sum total <=
// most*len(n) that maximise the expected number of mixed groups, the sum of
// 1 - q^n - (1-q)^n where n >= 2. q[i] in [0, 1/2] is the probability of a
// prompt's rarer outcome. Of equal choices the prompt of the smaller rank goes
// first. It takes time O((len(n) + total) log len(n)).
//
// With v = q(1-q) the first two rollouts of a prompt, a start, are worth 2v, and
// the rollout after n >= 2, a single, v (q^(n-1) + (1-q)^(n-1)): v at first, and
// less and less. So what pays best per rollout comes first, a start before its
// own singles, and the choice is the best of all, even in fractions, unless
// one rollout is left for a start, of v = w. Then the best is one of two: that
// rollout on the best single that is left, or a start for it and for the last
// single taken.
//
// Proof. A best choice starts the k prompts of the largest v, for some k: for
// every n the probability of a mixed group rises with v. It takes the total-2k
// largest of their singles, and is worth F(k). Let t(k) be the least of these, 0
// where they run out; it does not fall with k. Where t(k) >= v of prompt k+1,
// F falls from there on: a further start is worth 2v, and takes two singles of
// at least t(k) away. Let k* be the first such k. Below k* the start takes the
// least single away, worth less than v, and one other: if that is worth v or
// less F does not fall, and if it is more then t(k+1) > v, so k+1 = k*. Hence k*
// or k*-1 is best. Where one rollout is left with k starts made, the best single
// left is t(k). If it is >= w, k is k*. Otherwise the singles taken, without the
// last, are those of k+1 starts, all >= w, and k+1 is k*.
func mixedGroups(n []int, q []float64, total, most int, rank []int) {
	left := total
	if most >= 2 {
		left = startGroups(n, q, total, most, rank)
	}
	greedy(n, left, most, func(_, n int) float64 { return -float64(n) }, rank)
}

// startGroups is mixedGroups for most >= 2, without the rollouts that are worth
// nothing, whose number it returns.
func startGroups(n []int, q []float64, total, most int, rank []int) (left int) {
	worth := func(i, n int) float64 { // of each rollout of the start or single after n
		v := q[i] * (1 - q[i])
		if n == 0 {
			return v
		}
		return v * (math.Pow(q[i], float64(n-1)) + math.Pow(1-q[i], float64(n-1)))
	}
	offered := offers{rank: rank}
	for i := range n {
		offered.list = append(offered.list, offer{worth(i, 0), i})
	}
	heap.Init(&offered)
	last := -1 // whose single was taken last
	for total > 0 && offered.Len() > 0 && offered.list[0].gain > 0 {
		top := &offered.list[0]
		i := top.i
		switch {
		case n[i] > 0:
			n[i]++
			total--
			last = i
		case total >= 2:
			n[i] = 2
			total -= 2
		default:
			return lastRollout(n, worth, &offered, last)
		}
		if n[i] == most {
			heap.Pop(&offered)
			continue
		}
		top.gain = worth(i, n[i])
		heap.Fix(&offered, 0)
	}
	return total
}

// lastRollout spends one rollout where a start is on offer first, and returns
// what is left of it.
func lastRollout(n []int, worth func(i, n int) float64, offered *offers, last int) (left int) {
	start, single, gain := offered.list[0], -1, 0.0
	for k, o := range offered.list {
		if n[o.i] > 0 && o.gain > 0 && (single < 0 || offered.Less(k, single)) {
			single, gain = k, o.gain
		}
	}
	switch {
	case last >= 0 && 2*start.gain-worth(last, n[last]-1) > gain:
		n[last]--
		n[start.i] = 2
		return 0
	case single >= 0:
		n[offered.list[single].i]++
		return 0
	}
	return 1
}
