package sim

import (
	"context"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A Spender lets one strategy spend its rollouts on step after step of a run
// over a prompt set: the loop of RunSteps. It is exported for worlds that a
// Drift does not move, such as a policy that learns. A run is Begin, then for
// every step Step and, once its update is done with, Observe.
type Spender struct {
	spender
	learner strategy.Learner  // nil for none
	follows strategy.Follower // nil for none
	shadow  *Spender          // lets the one that is followed spend
	set     *rollout.Set
	order   *stream.Generator
	batchP  []float64 // success probabilities of the batch, for strategies that may see them
}

// NewSpender returns a spender over a set of prompts >= 1 prompts; lengths says
// whether the source to come knows those of its rollouts.
func NewSpender(s strategy.Strategy, prompts int, lengths bool) *Spender {
	sp := &Spender{spender: newSpender(s, lengths), set: rollout.NewSet(prompts), order: stream.NewGenerator(0)}
	if lengths {
		sp.batch.Tokens = []int{}
	}
	sp.learner, _ = s.(strategy.Learner)
	if sp.follows, _ = s.(strategy.Follower); sp.follows != nil {
		sp.shadow = NewSpender(sp.follows.Of(), prompts, lengths)
		sp.shadow.plan = new(strategy.Plan)
	}
	return sp
}

// Begin begins a run: key names the order of its epochs, the same for all
// strategies. embeddings has a vector for every prompt, nil for none.
func (s *Spender) Begin(key stream.Key, embeddings [][]float64) {
	s.order.Reset(key.Named("order"))
	s.set.Embeddings = embeddings
	s.set.Restart(s.order.Rand)
	if s.learner != nil {
		s.learner.Begin(s.set.Len())
	}
	if s.shadow != nil {
		s.shadow.Begin(key, embeddings)
	}
}

// Step lets the strategy spend its rollouts on the step that key names, for an
// update of batch >= 1 groups, and draws fresh groups where its update wants
// them. p are the success probabilities of the whole set, for the strategies
// that may see them.
func (s *Spender) Step(ctx context.Context, src rollout.Source, batch int, p []float64, key stream.Key) error {
	if err := s.follow(ctx, src, batch, p, key); err != nil {
		return err
	}
	s.set.Begin(&s.batch)
	if !s.strategy.Capabilities().PicksPrompts {
		s.set.Load(batch)
		s.batchP = s.batchP[:0]
		for _, id := range s.batch.ID {
			s.batchP = append(s.batchP, p[id])
		}
		p = s.batchP
	}
	if err := s.spend(ctx, src, batch, p, key); err != nil {
		return err
	}
	if err := s.train(ctx, src); err != nil {
		return err
	}
	s.EachTrained(func(_, n, _ int) { s.ledger.Trained += n })
	return nil
}

// follow lets the strategy that is followed spend on the step, unseen and
// uncharged, and hands over what it did.
func (s *Spender) follow(ctx context.Context, src rollout.Source, batch int, p []float64, key stream.Key) error {
	if s.follows == nil {
		return nil
	}
	plan := s.shadow.plan
	plan.Rounds = plan.Rounds[:0]
	step := func() error { return s.shadow.Step(ctx, src, batch, p, key) }
	if remembers, ok := src.(rollout.RememberingSource); ok {
		own := step
		step = func() error { return remembers.Unseen(own) }
	}
	if err := step(); err != nil {
		return err
	}
	plan.Prompts, plan.Update = s.shadow.batch.Len(), s.shadow.update
	s.follows.Follow(plan)
	return nil
}

// Observe shows the step to a strategy with a history.
func (s *Spender) Observe() {
	if s.learner != nil {
		defer s.clock()()
		s.learner.Observe(&s.batch)
	}
	if s.shadow != nil {
		s.shadow.Observe()
	}
}

// Batch returns what was seen of the step's prompts, fresh groups apart. Like
// the slices of Update it belongs to the spender and is read until the next
// Step.
func (s *Spender) Batch() *rollout.Batch { return &s.batch }

// Update returns what the step's policy update uses.
func (s *Spender) Update() strategy.Update { return s.update }

// Ledger returns what the step has cost.
func (s *Spender) Ledger() rollout.Ledger { return s.ledger }

// EachTrained calls f for every group that the update uses: its place in the
// batch, its trained rollouts and the successes among them.
func (s *Spender) EachTrained(f func(x, n, successes int)) {
	if s.update.Prompts != nil {
		for _, x := range s.update.Prompts {
			if s.trainedN[x] > 0 {
				f(x, s.trainedN[x], s.trainedS[x])
			}
		}
		return
	}
	for x, n := range s.trainedN {
		if n > 0 {
			f(x, n, s.trainedS[x])
		}
	}
}
