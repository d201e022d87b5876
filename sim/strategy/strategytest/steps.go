package strategytest

import (
	"math/rand/v2"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

// A World is a prompt set for a run of many steps.
type World struct {
	Prompts    int
	Batch      int // groups of an update
	Steps      int
	Truth      []float64   // of every prompt, for strategies that may see it
	Embeddings [][]float64 // of every prompt; nil for none
	// Answer says how many of n new rollouts of prompt id succeed in a step,
	// after first earlier ones in the same step.
	Answer func(step, id, first, n int) int
	// Order draws the order of the epochs, nil for a fixed generator.
	Order *rand.Rand
}

// Steps runs s over w from its first step on, with draws from r, and checks
// every request as it comes.
func Steps(s strategy.Strategy, w *World, r *rand.Rand) ([]*Trace, error) {
	order := w.Order
	if order == nil {
		order = newRand(3)
	}
	set := rollout.NewSet(w.Prompts)
	set.Embeddings = w.Embeddings
	set.Restart(order)
	learner, _ := s.(strategy.Learner)
	if learner != nil {
		learner.Begin(w.Prompts)
	}
	var traces []*Trace
	b := new(rollout.Batch)
	for step := range w.Steps {
		set.Begin(b)
		truth := w.Truth
		if !s.Capabilities().PicksPrompts {
			set.Load(w.Batch)
			truth = nil
			for _, id := range b.ID {
				if w.Truth != nil {
					truth = append(truth, w.Truth[id])
				}
			}
		}
		answer := func(x, first, n int) int { return w.Answer(step, b.ID[x], first, n) }
		t, err := runBatch(s, b, w.Batch, answer, truth, r)
		if err != nil {
			return nil, err
		}
		if learner != nil {
			learner.Observe(b)
		}
		traces = append(traces, t)
	}
	return traces, nil
}
