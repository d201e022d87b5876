package plan

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/theory"
)

// A Clock says what a step's generation takes in wall-clock time. The zero
// value is none.
type Clock struct {
	RoundLatency   float64 // seconds that a sequential round costs beside its rollouts, >= 0
	RolloutSeconds float64 // mean seconds of one rollout of the whole population, >= 0
	Concurrency    int     // rollouts generated at once, >= 1; 0 for all of a round
}

func (c Clock) validate() error {
	seconds := func(field string, x float64) error {
		if !(x >= 0 && !math.IsInf(x, 1)) {
			return fmt.Errorf("plan: %s = %v, want a number of seconds >= 0", field, x)
		}
		return nil
	}
	err := errors.Join(seconds("round-latency", c.RoundLatency), seconds("rollout-seconds", c.RolloutSeconds))
	if c.Concurrency < 0 {
		err = errors.Join(err, fmt.Errorf("plan: concurrency = %d, want a whole number >= 0", c.Concurrency))
	}
	return err
}

// on reports whether the clock says anything.
func (c Clock) on() bool { return c.RoundLatency > 0 || c.RolloutSeconds > 0 }

// A round is what one sequential round generates: rollouts of prompts whose p
// has the law of the nodes.
type round struct {
	rollouts float64
	nodes    []distributions.Node
}

// step returns the seconds of a step: every round waits for its last rollout.
func (c Clock) step(rounds []round, lengths *distributions.LengthLaw) float64 {
	if !c.on() {
		return math.NaN()
	}
	seconds := 0.0
	mean := 0.0 // tokens of a rollout of the whole population
	if lengths != nil {
		mean = meanTokens(lengths, rounds[0].nodes)
	}
	for _, r := range rounds {
		seconds += c.RoundLatency + c.RolloutSeconds*c.makespan(r, lengths, mean)
	}
	return seconds
}

// makespan returns the expected time of n rollouts on C places, each given the
// next rollout as soon as it is free, in units of the mean rollout. With
// k = min(n, C) it is
//
//	(n-k)/C mean + E[longest of k],
//
// exact for n <= C and for exponential lengths, and else the sum of the mean
// work and a wait for stragglers. Where lengths are unknown all rollouts take
// as long: ceil(n/C).
func (c Clock) makespan(r round, lengths *distributions.LengthLaw, mean float64) float64 {
	places := float64(c.Concurrency)
	if c.Concurrency == 0 {
		places = math.Inf(1)
	}
	if lengths == nil {
		return max(1, math.Ceil(r.rollouts/places))
	}
	k := min(r.rollouts, places)
	return (r.rollouts-k)/places*meanTokens(lengths, r.nodes)/mean + longest(k, lengths, r.nodes)/mean
}

func meanTokens(lengths *distributions.LengthLaw, nodes []distributions.Node) float64 {
	sum, mass := 0.0, 0.0
	for _, n := range nodes {
		sum += n.W * lengths.Mean(n.P)
		mass += n.W
	}
	return sum / mass
}

// longest returns the expected tokens of the longest of k rollouts, the
// integral of 1 - P(L <= t)^k, by the trapezoid rule on a logarithmic axis: 200
// points, each 6 % above the last one, from a hundredth of the mean on. Below
// it any rollout is taken to be longer.
func longest(k float64, lengths *distributions.LengthLaw, nodes []distributions.Node) float64 {
	const points, step = 200, 0.06
	nodes = binned(nodes)
	start := meanTokens(lengths, nodes) / 100
	integral, last := start, start
	before := 1.0
	for i := 1; i <= points && before > 1e-9; i++ {
		t := start * math.Exp(step*float64(i))
		shorter, mass := 0.0, 0.0
		for _, n := range nodes {
			shorter += n.W * (1 - lengths.Longer(t, n.P))
			mass += n.W
		}
		now := 1 - math.Pow(shorter/mass, k)
		integral += (before + now) / 2 * (t - last)
		before, last = now, t
	}
	return integral
}

// binned joins nodes whose p lie in the same 32nd of [0, 1].
func binned(nodes []distributions.Node) []distributions.Node {
	const bins = 32
	var sums [bins]distributions.Node // P holds the sum of W P
	for _, n := range nodes {
		b := &sums[min(int(n.P*bins), bins-1)]
		b.W += n.W
		b.P += n.W * n.P
	}
	var joined []distributions.Node
	for _, b := range sums {
		if b.W > 0 {
			joined = append(joined, distributions.Node{P: b.P / b.W, W: b.W})
		}
	}
	return joined
}

// roundsOf returns what a candidate generates on a batch: the prompts of round
// t are those that the mean field has not dropped before.
func roundsOf(c candidate, m *theory.MeanField, batch int) []round {
	all := make([]round, c.rounds())
	rollouts, active := []int{c.group}, []int{max(1, int(math.Round(float64(batch)*float64(c.budget)/float64(max(1, c.group)))))}
	if c.group == 0 {
		rollouts, _ = c.plan.Rollouts() // the mean field exists
		active = c.plan.Active(batch)
	}
	for t := range all {
		all[t].rollouts = float64(rollouts[t] * active[t])
		for _, n := range m.Allocation {
			w := n.W
			for _, gone := range n.Shares[:t] {
				w -= n.W * gone
			}
			all[t].nodes = append(all[t].nodes, distributions.Node{P: n.P, W: max(w, 0)})
		}
	}
	return all
}
