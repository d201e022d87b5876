package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
)

// A Follower is a strategy that spends as another one would. The engine lets
// that one spend on the same step first, unseen and uncharged.
type Follower interface {
	Strategy
	// Of returns the other strategy.
	Of() Strategy
	// Follow is called before Start with what the other one did in the step; the
	// plan belongs to the engine.
	Follow(p *Plan)
}

// A Plan is what a strategy did in a step.
type Plan struct {
	Rounds  [][]rollout.Request // what it asked, by round; X is a place in its batch
	Prompts int                 // in its batch at the end
	Update  Update
}

// Control is the random control of a strategy at an equal drop rate: in every
// step it asks as many rollouts, in groups and rounds of the same sizes, and
// trains on as many groups of them, but of prompts by lot. What a method has
// over its control is what its choice of prompts is worth; what the control has
// over equal groups comes of the sizes alone (a diagnostic of the taxonomy,
// arXiv 2609.25463, from notes: systems.md, section 9).
//
// A strategy that picks its prompts has a control that takes as many prompts of
// the set at random; otherwise both have the batch that the loader brings. Loss
// weights go with the group sizes that they were made for. Where a group is
// trained on in part, as many rollouts of it are kept by lot; rollouts of
// earlier steps and baselines, which come of outcomes, are left out.
//
// Its spec is that of the strategy behind control/, as in control/vigor:m0=2. It
// needs a run of many steps.
type Control struct {
	of      Strategy
	plan    *Plan
	batch   int
	place   []int // of the plan's prompts in the batch
	prompts []int
	n, s    []int
	weights []float64
}

var _ Follower = (*Control)(nil)

// controlPrefix opens the spec of a control.
const controlPrefix = "control/"

// ControlSpec returns the spec of a strategy's random control.
func ControlSpec(of string) string { return controlPrefix + of }

// ControlOf returns the spec of the strategy that a spec is a control of.
func ControlOf(text string) (of string, ok bool) { return strings.CutPrefix(text, controlPrefix) }

// parseControl reads the spec of the strategy behind control/.
func parseControl(text string, open spec.Opener) (Strategy, error) {
	if _, again := ControlOf(strings.TrimSpace(text)); again {
		return nil, fmt.Errorf("%s%s: a control of a control, want that of a strategy", controlPrefix, text)
	}
	of, err := Parse(text, open)
	if err != nil {
		return nil, err
	}
	return &Control{of: of}, nil
}

// Of implements Follower.
func (c *Control) Of() Strategy { return c.of }

// Spec implements Strategy.
func (c *Control) Spec() string { return ControlSpec(c.of.Spec()) }

// Capabilities implements Strategy: the control itself learns nothing.
func (c *Control) Capabilities() Capabilities {
	of := c.of.Capabilities()
	return Capabilities{FirstEpoch: of.FirstEpoch, Embeddings: of.Embeddings, ChangesLoss: of.ChangesLoss, PicksPrompts: true}
}

// Follow implements Follower.
func (c *Control) Follow(p *Plan) { c.plan = p }

// Start implements Strategy. It fails where the other strategy would.
func (c *Control) Start(batch int) error {
	c.batch = batch
	if c.plan == nil {
		return c.of.Start(batch)
	}
	return nil
}

// Next asks what the plan asks, of prompts by lot.
func (c *Control) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == 0 {
		c.draw(b, r)
	}
	if b.Round == len(c.plan.Rounds) {
		c.settle(b, r)
		return ask
	}
	for _, q := range c.plan.Rounds[b.Round] {
		ask = append(ask, rollout.Request{X: c.place[q.X], N: q.N})
	}
	return ask
}

// draw gives every prompt of the plan one of its own.
func (c *Control) draw(b *rollout.Batch, r *rand.Rand) {
	if !c.of.Capabilities().PicksPrompts {
		b.Set.Load(c.batch)
		c.place = randomRanks(c.place, b.Len(), r)
		return
	}
	c.place = c.place[:0]
	for _, id := range r.Perm(b.Set.Len())[:c.plan.Prompts] {
		c.place = append(c.place, b.Set.Admit(id))
	}
}

// settle fills what the update uses.
func (c *Control) settle(b *rollout.Batch, r *rand.Rand) {
	u := &c.plan.Update
	c.prompts = c.prompts[:0]
	for _, x := range u.Prompts {
		c.prompts = append(c.prompts, c.place[x])
	}
	c.n, c.s = append(c.n[:0], b.N...), append(c.s[:0], b.S...)
	c.weights = append(c.weights[:0], make([]float64, b.Len())...)
	for x, at := range c.place {
		if u.N != nil {
			c.n[at] = min(u.N[x], b.N[at])
			c.s[at] = hits(b.N[at], b.S[at], c.n[at], r)
		}
		if u.Weights != nil {
			c.weights[at] = u.Weights[x]
		}
	}
}

// hits returns the successes among kept of n rollouts with s successes, taken by
// lot.
func hits(n, s, kept int, r *rand.Rand) int {
	got := 0
	for range kept {
		if r.IntN(n) < s {
			got++
			s--
		}
		n--
	}
	return got
}

// Update implements Strategy.
func (c *Control) Update() Update {
	of := &c.plan.Update
	u := Update{Fresh: of.Fresh, Failed: of.Failed}
	if of.Prompts != nil {
		u.Prompts = slices.Clip(c.prompts)
		if u.Prompts == nil {
			u.Prompts = []int{} // nil stands for all
		}
	}
	if of.N != nil {
		u.N, u.S = c.n, c.s
	}
	if of.Weights != nil {
		u.Weights = c.weights
	}
	return u
}
