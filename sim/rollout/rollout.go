// Package rollout holds the vocabulary that strategies, sources and the engine
// share: prompts, groups of rollouts, the Source that answers requests and the
// Ledger of costs. It refuses policy: nothing here decides who gets how many.
package rollout

import (
	"context"
	"errors"

	"vigorlab/sim/stream"
)

// A Request asks for N >= 1 further rollouts of prompt X, an index into the
// batch.
type Request struct{ X, N int }

// A Batch is what has been seen of a batch of prompts so far: the only view
// that a strategy gets. All slices have one entry a prompt, in batch order,
// and belong to the engine: strategies read them and keep no reference.
type Batch struct {
	N      []int // rollouts so far, over all rounds
	S      []int // successes among them
	Tokens []int // generated tokens; nil where lengths are unknown
	Round  int   // rounds finished

	// In a run of many steps ID names every prompt by its number in the prompt
	// set, and Set brings in further ones, at the end of the batch. Both are nil
	// in a run of one step, where no prompt returns.
	ID  []int
	Set *Set
}

// Len returns the number of prompts.
func (b *Batch) Len() int { return len(b.N) }

// add appends a prompt that has no rollouts yet.
func (b *Batch) add(id int) {
	b.N, b.S, b.ID = append(b.N, 0), append(b.S, 0), append(b.ID, id)
	if b.Tokens != nil {
		b.Tokens = append(b.Tokens, 0)
	}
}

// A Source answers requests for rollouts. One goroutine uses it at a time.
//
// What it answers depends on the key of the last Reset and on the request
// alone: the same prompt, first rollout (how many the prompt has had) and
// count get the same successes, whoever asks and in whatever order, so that
// strategies meet common random numbers.
type Source interface {
	// Reset starts a fresh batch of prompts under the key and returns its
	// size, which is the same after every Reset.
	Reset(key stream.Key) (int, error)
	// Draw fills s[i] with the successes among ask[i].N new rollouts of prompt
	// ask[i].X, of which first[i] rollouts were drawn before, and, where
	// tokens is not nil, tokens[i] with their generated tokens. The slices
	// share one length and belong to the caller; tokens is nil where lengths
	// are unknown. It never reveals a prompt's p.
	// It fails rather than answer in part, and stops when ctx ends.
	Draw(ctx context.Context, ask []Request, first, s, tokens []int) error
}

// A TruthSource is a Source that knows its prompts' success probabilities. The
// engine reads them for its estimates and hands them to a strategy only if
// the strategy's capabilities say so.
type TruthSource interface {
	Source
	// Truth returns p of every prompt of the batch, in batch order, valid
	// until the next Reset; the source owns the slice.
	Truth() []float64
}

// A DriftSource is a TruthSource whose prompts' success probabilities can be
// moved, from step to step of a run.
type DriftSource interface {
	TruthSource
	// Drift gives the prompts of the last Reset the success probabilities p,
	// which it copies, and names the rollouts to come by key. It fails where
	// recorded rollouts are dealt out, whose p is what it is.
	Drift(key stream.Key, p []float64) error
}

// A LengthSource is a Source whose rollouts have lengths.
type LengthSource interface {
	Source
	// MeanTokens returns the mean tokens of one rollout of every prompt of the
	// batch, in batch order, valid until the next Reset, or nil where lengths
	// are unknown; the source owns the slice.
	MeanTokens() []float64
}

// A RememberingSource is a Source whose answers are asked about later.
type RememberingSource interface {
	Source
	// Unseen runs f, whose draws answer as ever and leave no trace.
	Unseen(f func() error) error
}

// A Ledger counts what a batch has cost.
type Ledger struct {
	Generated       int // rollouts generated: those that chose, fresh and extra ones alike
	Extra           int // of these, what a training system generated beside what the strategy asked for
	Trained         int // of these, in groups that the update uses
	GeneratedTokens int // 0 where lengths are unknown
	Rounds          int // sequential rounds of generation, that of fresh groups included
}

// ErrNoRewards is wrapped by errors of laws that have no rewards: an unbounded
// reward variance is no variance of a binary reward.
var ErrNoRewards = errors.New("this law has no rewards")
