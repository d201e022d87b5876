package strategy

import (
	"fmt"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Fixed gives every prompt the same group in one round: GRPO's allocation
// (DeepSeekMath, arXiv 2402.03300).
type Fixed struct{ g int }

var _ Budgeter = (*Fixed)(nil)

// NewFixed returns fixed groups of g rollouts, g in [1, schedule.MaxGroup].
func NewFixed(g int) (*Fixed, error) {
	if g < 1 || g > schedule.MaxGroup {
		return nil, fmt.Errorf("fixed: g = %d, want a whole number in [1, %d]", g, schedule.MaxGroup)
	}
	return &Fixed{g}, nil
}

var fixedCapabilities = Capabilities{FirstEpoch: true, ExactBudget: true}

// Group returns the common group size.
func (f *Fixed) Group() int { return f.g }

// Spec implements Strategy.
func (f *Fixed) Spec() string { return fmt.Sprintf("fixed:g=%d", f.g) }

// Capabilities implements Strategy.
func (f *Fixed) Capabilities() Capabilities { return fixedCapabilities }

// Start implements Strategy; any batch will do.
func (f *Fixed) Start(int) error { return nil }

// Budget implements Budgeter.
func (f *Fixed) Budget(batch int) int { return f.g * batch }

// Rounds implements Budgeter.
func (f *Fixed) Rounds() int { return 1 }

// Next asks g rollouts of every prompt, once.
func (f *Fixed) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	for x := range b.Len() {
		ask = append(ask, rollout.Request{X: x, N: f.g})
	}
	return ask
}

// Update implements Strategy: every group is trained on.
func (f *Fixed) Update() Update { return Update{} }

// FixedMean is the fixed group of a given mean size: groups of floor and ceil
// of the mean, mixed to the exact mean at random over prompts (theory.md,
// section 0). It is the reference that other strategies are measured against,
// not a spec that users type.
type FixedMean struct{ total, batch int }

var _ Budgeter = (*FixedMean)(nil)

// NewFixedMean returns fixed groups that spend total rollouts, at least one a
// prompt, on every batch of the given size.
func NewFixedMean(total, batch int) (*FixedMean, error) {
	if batch < 1 || total < batch {
		return nil, fmt.Errorf("fixed mean: total = %d rollouts for %d prompts, want at least one a prompt", total, batch)
	}
	return &FixedMean{total, batch}, nil
}

// Spec implements Strategy. The mean is printed for people and parses only
// where it is whole.
func (f *FixedMean) Spec() string {
	return "fixed:g=" + spec.FormatFloat(float64(f.total)/float64(f.batch))
}

// Capabilities implements Strategy.
func (f *FixedMean) Capabilities() Capabilities { return fixedCapabilities }

// Start implements Strategy.
func (f *FixedMean) Start(batch int) error {
	if batch != f.batch {
		return fmt.Errorf("fixed mean: batch = %d, want %d", batch, f.batch)
	}
	return nil
}

// Budget implements Budgeter.
func (f *FixedMean) Budget(int) int { return f.total }

// Rounds implements Budgeter.
func (f *FixedMean) Rounds() int { return 1 }

// Next asks the floor of the mean of every prompt and one more of as many
// random prompts as the remainder.
func (f *FixedMean) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	floor, extra := f.total/f.batch, f.total%f.batch
	for x := range f.batch {
		n := floor
		if extra > 0 && r.IntN(f.batch-x) < extra {
			n++
			extra--
		}
		ask = append(ask, rollout.Request{X: x, N: n})
	}
	return ask
}

// Update implements Strategy: every group is trained on.
func (f *FixedMean) Update() Update { return Update{} }
