package enumerate

import (
	"math/bits"

	"vigorlab/sim/schedule"
)

// A walk plays one batch through every reward sequence and every way of
// breaking ties. Sets of prompts are bit masks: bit x is prompt x.
type walk struct {
	plan plan
	p    []float64 // success probability of each prompt
	rank []int     // its place by the true u, ties equal

	n     []int // rollouts so far, fresh ones apart
	s     []int // successes among them
	last  []int // the last round, from 1, that a prompt was active in
	redo  []int // successes of the fresh group
	leave func(prob float64)
}

func newWalk(pl plan, p []float64, rank []int) *walk {
	batch := len(p)
	return &walk{
		plan: pl, p: p, rank: rank,
		n: make([]int, batch), s: make([]int, batch), last: make([]int, batch), redo: make([]int, batch),
	}
}

// run calls leave at the end of every sequence, with the probability of having
// come there by that way of breaking ties.
func (w *walk) run(prob float64, leave func(prob float64)) {
	w.leave = leave
	w.play(1, 1<<len(w.p)-1, prob)
}

// play gives every active prompt the rollouts of the round, cuts and goes on.
func (w *walk) play(round int, active uint, prob float64) {
	m := w.plan.ask[round-1]
	var queue []int
	for x := range w.p {
		if has(active, x) {
			queue = appendTimes(queue, x, m)
			w.n[x] += m
			w.last[x] = round
		}
	}
	w.roll(w.s, queue, prob, func(prob float64) {
		if round == w.plan.rounds() {
			w.redraw(prob)
			return
		}
		sets := w.keepable(active, w.plan.active[round])
		for _, set := range sets {
			w.play(round+1, set, prob/float64(len(sets)))
		}
	})
	for x := range w.p {
		if has(active, x) {
			w.n[x] -= m
			w.last[x] = round - 1
		}
	}
}

// redraw ends the batch, after fresh groups where the update asks for them.
func (w *walk) redraw(prob float64) {
	if !w.plan.fresh {
		w.leave(prob)
		return
	}
	var queue []int
	for x := range w.p {
		if w.plan.trained(w.last[x]) {
			queue = appendTimes(queue, x, w.n[x])
		}
	}
	w.roll(w.redo, queue, prob, w.leave)
}

// roll gives one rollout to each entry of the queue, in turn: it follows the
// success and then the failure, counts successes in s, and calls then at the
// end of each sequence. Outcomes of probability 0 are not followed.
func (w *walk) roll(s, queue []int, prob float64, then func(prob float64)) {
	if len(queue) == 0 {
		then(prob)
		return
	}
	x, rest := queue[0], queue[1:]
	if w.p[x] > 0 {
		s[x]++
		w.roll(s, rest, prob*w.p[x], then)
		s[x]--
	}
	if w.p[x] < 1 {
		w.roll(s, rest, prob*(1-w.p[x]), then)
	}
}

// keepable returns the sets of the given size, out of the active prompts, that
// the cut may keep, all equally likely: those that no dropped prompt outranks.
// They share what lies above the cut and differ in the tied level, so there is
// one for each subset of that level. Where ties go to the earlier position it
// is the one with the lowest bits. Ranking by nothing is random, whatever the
// rule for ties.
func (w *walk) keepable(active uint, size int) []uint {
	var sets []uint
	for set := uint(0); set <= active; set++ {
		if set&^active == 0 && bits.OnesCount(set) == size && w.outrankedByNone(set, active&^set) {
			sets = append(sets, set)
		}
	}
	if w.plan.byIndex && w.plan.selectBy != schedule.SelectRandom {
		return sets[:1]
	}
	return sets
}

func (w *walk) outrankedByNone(set, dropped uint) bool {
	for x := range w.p {
		for y := range w.p {
			if has(set, x) && has(dropped, y) && w.score(y) > w.score(x) {
				return false
			}
		}
	}
	return true
}

// score is what the cut ranks by; active prompts have had the same rollouts.
func (w *walk) score(x int) int {
	switch w.plan.selectBy {
	case schedule.SelectTruth:
		return w.rank[x]
	case schedule.SelectRandom:
		return 0
	default:
		return w.s[x] * (w.n[x] - w.s[x])
	}
}

// successes returns those of the group that the update uses, or of the
// rollouts that dropped the prompt where it uses none.
func (w *walk) successes(x int) int {
	if w.plan.fresh && w.plan.trained(w.last[x]) {
		return w.redo[x]
	}
	return w.s[x]
}

func has(set uint, x int) bool { return set>>x&1 == 1 }

func appendTimes(queue []int, x, times int) []int {
	for range times {
		queue = append(queue, x)
	}
	return queue
}
