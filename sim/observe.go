package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// ErrTruth is wrapped by Observe's error for a strategy that is handed the
// true success probabilities.
var ErrTruth = errors.New("is handed the true success probabilities, which nobody knows here")

// An Exchange is what one round asked of the prompts and what it got.
type Exchange struct {
	Ask    []rollout.Request
	S      []int // successes of every request
	Tokens []int // generated tokens of every request; nil where lengths are unknown
}

// An Observation is all that can be seen of one strategy on one batch whose
// success probabilities nobody knows, as on a live model. Outcome makes figures
// of it.
type Observation struct {
	Strategy string // normalised spec
	Batch    int
	Budgeted bool // the strategy spends an exact budget

	Rounds  []Exchange // those that chose
	Fresh   *Exchange  // the groups that the update uses in their place; nil for none
	Holdout *Exchange  // further rollouts of every prompt, for estimates alone; nil for none

	Update             strategy.Update
	TrainedN, TrainedS []int // rollouts of every prompt that the update uses, and successes
	Ledger             rollout.Ledger

	survivors bool // the update uses the prompts of the last round, whatever that gave
}

// Observable returns why a strategy cannot be observed: it wants many steps, or
// the truth.
func Observable(s strategy.Strategy) error {
	switch c := s.Capabilities(); {
	case c.History || c.PicksPrompts:
		return ErrManySteps
	case c.Embeddings:
		return errors.New("needs embeddings of the prompts, which are not there")
	case c.Truth:
		return ErrTruth
	}
	return nil
}

// Observe lets a strategy spend its rollouts on the batch of src that key
// names, and then asks holdout >= 0 further rollouts of every prompt, which are
// charged as extra. tokens says whether src knows the lengths of its rollouts.
// The strategy's own stream comes from key too, so that the same key and the
// same answers give the same requests.
func Observe(ctx context.Context, src rollout.Source, s strategy.Strategy, tokens bool, holdout int, key stream.Key) (*Observation, error) {
	if err := Observable(s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Spec(), err)
	}
	batch, err := src.Reset(key)
	if err != nil {
		return nil, err
	}
	sp := newSpender(s, tokens)
	sp.batch.N, sp.batch.S = make([]int, batch), make([]int, batch)
	if tokens {
		sp.batch.Tokens = make([]int, batch)
	}
	seen := &recorder{Source: src}
	if err := sp.spend(ctx, seen, batch, nil, key); err != nil {
		return nil, err
	}
	rounds := len(seen.exchanges)
	if err := sp.train(ctx, seen); err != nil {
		return nil, err
	}
	o := &Observation{
		Strategy: sp.spec, Batch: batch, Budgeted: s.Capabilities().ExactBudget,
		Update: sp.update, TrainedN: sp.trainedN, TrainedS: sp.trainedS, Ledger: sp.ledger,
	}
	_, vigor := s.(*strategy.Vigor)
	o.survivors = vigor && sp.update.Prompts != nil
	if sp.update.Fresh {
		o.Fresh = &seen.exchanges[rounds]
	}
	o.EachTrained(func(_, n, _ int) { o.Ledger.Trained += n })
	if holdout > 0 {
		if err := o.holdOut(ctx, seen, sp.batch.N, holdout); err != nil {
			return nil, err
		}
	}
	o.Rounds = seen.exchanges[:rounds]
	return o, nil
}

// holdOut asks for further rollouts of every prompt, of which chosen were drawn
// to choose.
func (o *Observation) holdOut(ctx context.Context, src *recorder, chosen []int, holdout int) error {
	ask, first := make([]rollout.Request, o.Batch), slices.Clone(chosen)
	for x := range ask {
		ask[x] = rollout.Request{X: x, N: holdout}
	}
	if o.Fresh != nil {
		for _, q := range o.Fresh.Ask {
			first[q.X] += q.N
		}
	}
	var tokens []int
	if src.exchanges[0].Tokens != nil {
		tokens = make([]int, o.Batch)
	}
	if err := src.Draw(ctx, ask, first, make([]int, o.Batch), tokens); err != nil {
		return fmt.Errorf("%s: %w", o.Strategy, err)
	}
	o.Holdout = &src.exchanges[len(src.exchanges)-1]
	o.Ledger.Rounds++
	o.Ledger.Generated += holdout * o.Batch
	o.Ledger.Extra += holdout * o.Batch
	for _, n := range tokens {
		o.Ledger.GeneratedTokens += n
	}
	return nil
}

// ForgetTokens drops the lengths of rollouts, which turned out not to be known.
func (o *Observation) ForgetTokens() {
	for i := range o.Rounds {
		o.Rounds[i].Tokens = nil
	}
	for _, e := range []*Exchange{o.Fresh, o.Holdout} {
		if e != nil {
			e.Tokens = nil
		}
	}
	o.Ledger.GeneratedTokens = 0
}

// EachTrained calls f for every group that the update uses: s successes among
// n > 0 rollouts of prompt x.
func (o *Observation) EachTrained(f func(x, n, s int)) {
	trained := o.Update.Prompts
	if trained == nil {
		for x, n := range o.TrainedN {
			if n > 0 {
				f(x, n, o.TrainedS[x])
			}
		}
		return
	}
	for _, x := range trained {
		if n := o.TrainedN[x]; n > 0 {
			f(x, n, o.TrainedS[x])
		}
	}
}

// A recorder is a source that keeps what it was asked and what it answered.
type recorder struct {
	rollout.Source
	exchanges []Exchange
}

// Draw implements rollout.Source.
func (r *recorder) Draw(ctx context.Context, ask []rollout.Request, first, s, tokens []int) error {
	if err := r.Source.Draw(ctx, ask, first, s, tokens); err != nil {
		return err
	}
	r.exchanges = append(r.exchanges, Exchange{slices.Clone(ask), slices.Clone(s), slices.Clone(tokens)})
	return nil
}
