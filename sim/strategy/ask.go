package strategy

import "vigorlab/sim/rollout"

// askAll asks n rollouts of every prompt of the batch.
func askAll(ask []rollout.Request, batch, n int) []rollout.Request {
	for x := range batch {
		ask = append(ask, rollout.Request{X: x, N: n})
	}
	return ask
}

// askGroups asks n[x] rollouts of every prompt x that gets any.
func askGroups(ask []rollout.Request, n []int) []rollout.Request {
	for x, n := range n {
		if n > 0 {
			ask = append(ask, rollout.Request{X: x, N: n})
		}
	}
	return ask
}

// equalGroups fills n with groups of size rollouts for every prompt of a batch.
func equalGroups(n []int, batch, size int) []int {
	n = n[:0]
	for range batch {
		n = append(n, size)
	}
	return n
}
