package strategy

import "container/heap"

// greedy hands out budget rollouts one at a time, each to the prompt where the
// next one gains most, adds them to n and returns what is left where no prompt
// may have more. gain(i, n) is what the rollout after n adds to prompt i; no
// prompt passes most. Of equal gains the prompt of the smaller rank goes
// first, rank nil standing for the order of the batch. For gains that do not
// rise with n this is the exact integer optimum of a separable objective. It
// takes time O((B + budget) log B).
func greedy(n []int, budget, most int, gain func(i, n int) float64, rank []int) (left int) {
	q := offers{rank: rank}
	for i, have := range n {
		if have < most {
			q.list = append(q.list, offer{gain(i, have), i})
		}
	}
	heap.Init(&q)
	for ; budget > 0 && len(q.list) > 0; budget-- {
		top := &q.list[0]
		i := top.i
		n[i]++
		if n[i] == most {
			heap.Pop(&q)
			continue
		}
		top.gain = gain(i, n[i])
		heap.Fix(&q, 0)
	}
	return budget
}

// An offer is what the next rollout of prompt i gains.
type offer struct {
	gain float64
	i    int
}

// offers is a heap, the best on top.
type offers struct {
	list []offer
	rank []int
}

func (q *offers) Len() int { return len(q.list) }

func (q *offers) Less(a, b int) bool {
	x, y := q.list[a], q.list[b]
	if x.gain != y.gain {
		return x.gain > y.gain
	}
	if q.rank != nil {
		return q.rank[x.i] < q.rank[y.i]
	}
	return x.i < y.i
}

func (q *offers) Swap(a, b int) { q.list[a], q.list[b] = q.list[b], q.list[a] }

func (q *offers) Push(x any) { q.list = append(q.list, x.(offer)) }

func (q *offers) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}
