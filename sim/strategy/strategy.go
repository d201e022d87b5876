// Package strategy decides who gets how many rollouts, one file a strategy and
// one conformance test for all. It refuses to know where rewards come from.
package strategy

import (
	"math/rand/v2"

	"vigorlab/sim/rollout"
)

// A Strategy allocates the rollouts of one batch, round by round. One
// goroutine uses it at a time. It sees outcomes only: counts and tokens, never
// a success probability (but see TruthSeer).
type Strategy interface {
	// Spec returns the normalised spec, which parses to the same strategy.
	Spec() string
	// Capabilities says what this strategy, with its parameters, can and needs.
	Capabilities() Capabilities
	// Start begins a fresh batch of the given size >= 1 and fails where the
	// strategy cannot run on it. A strategy whose capabilities say
	// picks_prompts is handed an empty batch and brings prompts in from
	// Batch.Set itself; batch is then the number of groups an update is for.
	Start(batch int) error
	// Next appends the requests of the next round to ask and returns it, each
	// prompt at most once; a round without requests ends the batch. It draws
	// only from r, which belongs to this strategy and replicate.
	Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request
	// Update says, after the last round, what the policy update uses.
	Update() Update
}

// An Update names the rollouts that a policy update uses.
type Update struct {
	// Prompts lists the batch indices of the groups that are trained on; nil
	// stands for all. The strategy owns the slice, valid until Start.
	Prompts []int
	// Fresh asks for groups of the same sizes, drawn anew and charged apart,
	// in place of the rollouts that chose the prompts.
	Fresh bool
	// N and S are the trained rollouts of every prompt and the successes among
	// them, where they are not all of this step's and no others: some were
	// left out, or kept from an earlier step. Both are nil elsewhere.
	N, S []int
	// Weights are the loss weights of every prompt's rollouts, nil for 1.
	Weights []float64
	// Baselines are what is subtracted from the rewards of every prompt's
	// trained rollouts, in [0, 1] (binary coding), nil for the mean of the
	// trained group without the rollout at hand (RLOO).
	Baselines []float64
	// Failed says that the method's own code stops with an error here. The
	// update is what it had gathered.
	Failed bool
}

// A Budgeter is a strategy whose capabilities say exact_budget.
type Budgeter interface {
	Strategy
	// Budget returns the rollouts that choosing costs on a batch of the given
	// size, fresh ones (Update.Fresh) left out.
	Budget(batch int) int
}

// A TruthSeer is a strategy that can rank by the truth, as the control
// select=truth does. It is handed the truth only if its capabilities say so.
type TruthSeer interface {
	Strategy
	// SeeTruth is called after Start with every prompt's success probability,
	// in batch order or, for a strategy that picks prompts, in the order of the
	// prompt set; the slice belongs to the engine.
	SeeTruth(p []float64)
}

// A Learner is a strategy that keeps a history across the steps of a run, as
// its capabilities say.
type Learner interface {
	Strategy
	// Begin forgets everything, before the first step of a run over a set of
	// the given number of prompts.
	Begin(prompts int)
	// Observe is called once after the last round of every step, after Update,
	// with all that the step has seen.
	Observe(b *rollout.Batch)
}

// A Believer is a strategy that estimates success probabilities.
type Believer interface {
	Strategy
	// Belief returns the estimate for a prompt of the set, in [0, 1], as it
	// stands between steps; false where the strategy has none.
	Belief(id int) (p float64, ok bool)
}

// Capabilities say what a strategy can do and what it needs.
type Capabilities struct {
	FirstEpoch  bool `json:"first_epoch"`  // works without any history
	History     bool `json:"history"`      // learns across steps: a Learner
	Embeddings  bool `json:"embeddings"`   // needs prompt embeddings
	ChangesLoss bool `json:"changes_loss"` // reweights the update
	ExactBudget bool `json:"exact_budget"` // spends a budget known beforehand
	Truth       bool `json:"truth"`        // is handed the true success probabilities

	PicksPrompts bool `json:"picks_prompts"` // brings prompts in from the prompt set: needs a run of many steps
}

// Info describes a strategy as data.
type Info struct {
	Name         string       `json:"name"`
	Parameters   []Parameter  `json:"parameters"`
	Capabilities Capabilities `json:"capabilities"`
	Provenance   string       `json:"provenance"` // paper | code | reconstruction | own
	Rebuilt      string       `json:"-"`          // KEY=VALUE of a variant that is a reconstruction where the rest is not; "" of none
	Source       string       `json:"source"`     // where its rule was read
	Taxonomy     Placement    `json:"taxonomy"`
}

// A Parameter is one key of a spec.
type Parameter struct {
	Name    string `json:"name"`
	Default string `json:"default"` // "" where it must be given
	Range   string `json:"range"`
	Doc     string `json:"doc"`
}
