package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A Live is what a complete run of rollout left: the rewards of every rollout
// that a strategy spent on one batch of prompts whose truth nobody knows.
type Live struct {
	Name     string     // of its directory, as typed
	Strategy string     // normalised spec
	Holdout  int        // further rollouts of every prompt, at the end
	Key      stream.Key // of the run's streams, as of the strategy's ties
	Outcomes []string   // of every prompt, in batch order, its rollouts by index: '1' for a success, else '0'
}

// Observe lets the strategy spend the recorded rollouts again, as it did in the
// run. It is an error where it asks for others than there are.
func (l *Live) Observe(ctx context.Context) (*sim.Observation, error) {
	s, err := strategy.Parse(l.Strategy, nil)
	if err != nil {
		return nil, err
	}
	o, err := sim.Observe(ctx, recorded(l.Outcomes), s, false, l.Holdout, l.Key)
	if err != nil {
		return nil, err
	}
	n, _ := o.Counts()
	for x, all := range l.Outcomes {
		if n[x] != len(all) {
			return nil, fmt.Errorf("%s asks %d rollouts of prompt %d, %d are recorded: the run was changed, or is of another version", l.Strategy, n[x], x, len(all))
		}
	}
	return o, nil
}

// recorded answers with recorded rollouts.
type recorded []string

// Reset implements rollout.Source.
func (r recorded) Reset(stream.Key) (int, error) { return len(r), nil }

// Draw implements rollout.Source.
func (r recorded) Draw(_ context.Context, ask []rollout.Request, first, s, _ []int) error {
	for i, q := range ask {
		end := first[i] + q.N
		if end > len(r[q.X]) {
			return fmt.Errorf("%d rollouts of prompt %d are asked for, %d are recorded: the run was changed, or is of another version", end, q.X, len(r[q.X]))
		}
		s[i] = strings.Count(r[q.X][first[i]:end], "1")
	}
	return nil
}

// halves splits a batch at random: the prompts to learn from and those to
// check on, each in batch order. Prompts are exchangeable under a random split
// alone: files are often sorted by topic or difficulty. Rounds are no halves:
// later ones hold the prompts that earlier ones kept, which are others.
func halves(key stream.Key, batch int) (first, second []int) {
	order := stream.Rand(key.Named("halves")).Perm(batch)
	first, second = order[:batch/2], order[batch/2:]
	slices.Sort(first)
	slices.Sort(second)
	return first, second
}
