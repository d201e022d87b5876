package strategy

import (
	"cmp"
	"math"
	"slices"
)

// allocate returns whole numbers n[i] in [0, most], most = len(value[i])-1,
// with sum total <= most*len(value), that maximise sum_i value[i][n[i]]. The
// values may have any shape; where the best is not unique, prompts go in the
// given order. total must be within reach.
//
// The concave envelopes of the values give a bound: their steepest pieces
// first, until total is reached at a slope lambda. Where the last piece is cut
// in two, its prompt falls short of its envelope, and the result short of the
// bound. Any better one loses less in all, when n rollouts of prompt i lose
//
//	max_m (value[i][m] - lambda m) - (value[i][n] - lambda n) >= 0,
//
// so a dynamic program over the few n that lose less finds it. That takes time
// O(len(value) total most) at worst, and none where the bound is reached.
func allocate(value [][]float64, total int, order []int) []int {
	n, lambda := fillEnvelopes(value, total, order)
	short := 0.0
	for i := range value {
		short += losses(value[i], lambda)[n[i]]
	}
	// What rounding can make of a loss of nothing.
	if short -= 1e-12 * (1 + math.Abs(lambda)*float64(total)); short > 0 {
		cheapest(n, value, lambda, short, order)
	}
	return n
}

// A piece is a straight part of a concave envelope, up to a point.
type piece struct {
	slope        float64
	prompt, rank int
	to           int
}

// fillEnvelopes takes pieces of the envelopes by slope until they have total,
// and returns the numbers and the slope of the last piece.
func fillEnvelopes(value [][]float64, total int, order []int) (n []int, lambda float64) {
	var pieces []piece
	for rank, i := range order {
		for _, to := range envelope(value[i]) {
			pieces = append(pieces, piece{to.slope, i, rank, to.at})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.slope, a.slope), cmp.Compare(a.rank, b.rank))
	})
	n = make([]int, len(value))
	for _, p := range pieces {
		if total == 0 {
			break
		}
		take := min(total, p.to-n[p.prompt])
		n[p.prompt] += take
		total -= take
		lambda = p.slope
	}
	return n, lambda
}

// A corner is a point of an envelope and the slope of the piece that ends there.
type corner struct {
	at    int
	slope float64
}

// envelope returns the corners of the least concave function above v, from 0
// on, without the one at 0. The slopes fall strictly.
func envelope(v []float64) []corner {
	var c []corner
	from := func() int { // where the next piece starts
		if len(c) == 0 {
			return 0
		}
		return c[len(c)-1].at
	}
	for m := 1; m < len(v); m++ {
		for len(c) > 0 && c[len(c)-1].slope <= rise(v, from(), m) {
			c = c[:len(c)-1]
		}
		c = append(c, corner{m, rise(v, from(), m)})
	}
	return c
}

// rise returns the slope from point a to point b > a of v.
func rise(v []float64, a, b int) float64 { return (v[b] - v[a]) / float64(b-a) }

// losses returns what every number loses at the price lambda.
func losses(v []float64, lambda float64) []float64 {
	loss := make([]float64, len(v))
	best := math.Inf(-1)
	for m := range v {
		loss[m] = v[m] - lambda*float64(m)
		best = max(best, loss[m])
	}
	for m := range loss {
		loss[m] = best - loss[m]
	}
	return loss
}

// A choice is a number of rollouts and what it loses.
type choice struct {
	n    int
	loss float64
}

// cheapest replaces n by the numbers with the same sum that lose least, if
// they lose less than bound together.
func cheapest(n []int, value [][]float64, lambda, bound float64, order []int) {
	total := 0
	for _, n := range n {
		total += n
	}
	only := make([]int, len(n)) // for prompts with one choice
	var free []int
	var choices [][]choice
	for _, i := range order {
		var c []choice
		for m, loss := range losses(value[i], lambda) {
			if loss < bound {
				c = append(c, choice{m, loss})
			}
		}
		if len(c) > 1 {
			free, choices = append(free, i), append(choices, c)
			continue
		}
		only[i] = c[0].n
		total -= c[0].n
	}
	chosen := leastLoss(choices, total, bound)
	if chosen == nil {
		return
	}
	copy(n, only)
	for k, i := range free {
		n[i] = chosen[k]
	}
}

// leastLoss picks one of every list of choices, with numbers that sum to total
// and the least loss below bound; nil where there are none. Every list is in
// increasing order of n.
func leastLoss(choices [][]choice, total int, bound float64) []int {
	if total < 0 {
		return nil
	}
	low, high := reach(choices)
	loss := filled(total+1, math.Inf(1)) // by the numbers' sum so far
	loss[0] = 0
	picks := make([][]int, len(choices))
	for k, list := range choices {
		next := filled(total+1, math.Inf(1))
		picks[k] = make([]int, total+1)
		for sum, sofar := range loss {
			if !(sofar < bound) {
				continue
			}
			for _, c := range list {
				to, with := sum+c.n, sofar+c.loss
				if to+low[k+1] <= total && to+high[k+1] >= total && with < bound && with < next[to] {
					next[to], picks[k][to] = with, c.n
				}
			}
		}
		loss = next
	}
	if !(loss[total] < bound) {
		return nil
	}
	chosen := make([]int, len(choices))
	for k := len(choices) - 1; k >= 0; k-- {
		chosen[k] = picks[k][total]
		total -= chosen[k]
	}
	return chosen
}

// reach returns the least and the largest sum that the lists from k on allow.
func reach(choices [][]choice) (low, high []int) {
	low, high = make([]int, len(choices)+1), make([]int, len(choices)+1)
	for k := len(choices) - 1; k >= 0; k-- {
		list := choices[k]
		low[k], high[k] = low[k+1]+list[0].n, high[k+1]+list[len(list)-1].n
	}
	return low, high
}

// filled returns n copies of x.
func filled(n int, x float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = x
	}
	return s
}
