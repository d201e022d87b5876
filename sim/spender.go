package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A spender lets one strategy spend its rollouts on batch after batch. The
// slices are reused.
type spender struct {
	strategy strategy.Strategy
	spec     string

	gen    *stream.Generator
	timed  bool          // whether taken is kept
	taken  time.Duration // by the strategy
	batch  rollout.Batch
	ledger rollout.Ledger
	ask    []rollout.Request
	byID   []rollout.Request // ask with the prompts' numbers in the set
	first  []int
	got    []int
	tokens []int // nil where lengths are unknown
	last   []int // the last round that asked each prompt

	plan *strategy.Plan // what the step asked, nil where nobody follows

	update             strategy.Update
	trainedN, trainedS []int // rollouts of every prompt in the update, and successes
	freshS             []int // of groups drawn anew
}

func newSpender(s strategy.Strategy, lengths bool) spender {
	sp := spender{strategy: s, spec: s.Spec(), gen: stream.NewGenerator(0)}
	if lengths {
		sp.tokens = []int{}
	}
	return sp
}

// spend is the heart of the engine: on the batch that key names the strategy
// asks, the source answers, the ledger counts. size is what Start is told; p
// are the success probabilities, for the strategies that may see them.
func (s *spender) spend(ctx context.Context, src rollout.Source, size int, p []float64, key stream.Key) error {
	s.ledger = rollout.Ledger{}
	s.gen.Reset(key.Named(s.spec))
	if err := s.start(size, p); err != nil {
		return fmt.Errorf("%s: %w", s.spec, err)
	}
	s.last = s.last[:0]
	for {
		s.next()
		if len(s.ask) == 0 {
			return nil
		}
		if s.plan != nil {
			s.plan.Rounds = append(s.plan.Rounds, slices.Clone(s.ask))
		}
		s.last = append(s.last, make([]int, s.batch.Len()-len(s.last))...)
		if err := s.draw(ctx, src); err != nil {
			return err
		}
		s.batch.Round++
		s.ledger.Rounds++
		for i, q := range s.ask {
			s.batch.N[q.X] += q.N
			s.batch.S[q.X] += s.got[i]
			s.last[q.X] = s.batch.Round
			s.ledger.Generated += q.N
		}
		for i, n := range s.tokens {
			s.batch.Tokens[s.ask[i].X] += n
			s.ledger.GeneratedTokens += n
		}
	}
}

func (s *spender) start(size int, p []float64) error {
	defer s.clock()()
	if err := s.strategy.Start(size); err != nil {
		return err
	}
	if s.strategy.Capabilities().Truth {
		s.strategy.(strategy.TruthSeer).SeeTruth(p)
	}
	return nil
}

func (s *spender) next() {
	defer s.clock()()
	s.ask = s.strategy.Next(&s.batch, s.ask[:0], s.gen.Rand)
}

// clock starts the clock of the strategy, if it has one, and returns what
// stops it.
func (s *spender) clock() (stop func()) {
	if !s.timed {
		return func() {}
	}
	start := time.Now()
	return func() { s.taken += time.Since(start) }
}

// draw asks the source for s.ask, each prompt's rollouts from the number on
// that it has had.
func (s *spender) draw(ctx context.Context, src rollout.Source) error {
	s.first, s.got = s.first[:0], s.got[:0]
	for _, q := range s.ask {
		s.first = append(s.first, s.batch.N[q.X])
		s.got = append(s.got, 0)
	}
	if s.tokens != nil {
		s.tokens = append(s.tokens[:0], s.got...)
	}
	ask := s.ask
	if s.batch.ID != nil {
		s.byID = s.byID[:0]
		for _, q := range s.ask {
			s.byID = append(s.byID, rollout.Request{X: s.batch.ID[q.X], N: q.N})
		}
		ask = s.byID
	}
	if err := src.Draw(ctx, ask, s.first, s.got, s.tokens); err != nil {
		return fmt.Errorf("%s: %w", s.spec, err)
	}
	return nil
}

// train learns what the update uses and draws fresh groups where it wants
// them, which the batch that strategies see leaves out.
func (s *spender) train(ctx context.Context, src rollout.Source) error {
	s.update = s.strategy.Update()
	s.trainedN, s.trainedS = s.batch.N, s.batch.S
	if s.update.Fresh {
		s.askAgain()
		if err := s.draw(ctx, src); err != nil {
			return err
		}
		s.freshS = append(s.freshS[:0], s.batch.S...)
		s.trainedS = s.freshS
		s.ledger.Rounds++
		for i, q := range s.ask {
			s.ledger.Generated += q.N
			s.freshS[q.X] = s.got[i]
		}
		for _, n := range s.tokens {
			s.ledger.GeneratedTokens += n
		}
	}
	if s.update.N != nil {
		s.trainedN, s.trainedS = s.update.N, s.update.S
	}
	return nil
}

// askAgain fills s.ask with groups of the sizes so far, for the prompts of the
// update or, where it has all, for those that have a group.
func (s *spender) askAgain() {
	s.ask = s.ask[:0]
	for _, x := range s.update.Prompts {
		s.ask = append(s.ask, rollout.Request{X: x, N: s.batch.N[x]})
	}
	if s.update.Prompts != nil {
		return
	}
	for x, g := range s.batch.N {
		if g > 0 {
			s.ask = append(s.ask, rollout.Request{X: x, N: g})
		}
	}
}
