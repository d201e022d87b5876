package strategy

import (
	"fmt"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Fixed gives every prompt the same group in one round: GRPO's allocation
// (DeepSeekMath, arXiv 2402.03300). Where prompts is not 1 it takes that many
// prompts for each one of the batch: with g=4,prompts=2 as many rollouts as
// with g=8, on twice the prompts. Where the set has fewer prompts than that, it
// takes them all and spends less than Budget says.
type Fixed struct {
	g       int
	prompts schedule.Ratio
	picks   bool // prompts is not 1
	batch   int
}

var _ Budgeter = (*Fixed)(nil)

var fixedKind = kind{
	info: Info{
		Name: "fixed",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt"},
			{"prompts", "1", "[1/1024, 1024], a decimal or a fraction", "prompts taken for each one of the batch, rounded up"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "paper",
		Source:       "GRPO: DeepSeekMath, arXiv 2402.03300",
		Taxonomy:     unplaced,
	},
	parse:    parseFixed,
	spending: func(g, _ int) string { return fmt.Sprintf("fixed:g=%d", g) },
}

func parseFixed(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	f := &Fixed{
		g:       a.Int("g", 8, 1, schedule.MaxGroup),
		prompts: ratio(a, "prompts", "1", "[1/1024, 1024]", func(x float64) bool { return x >= 1./1024 && x <= 1024 }),
	}
	f.picks = f.prompts != schedule.MustRatio("1")
	if err := a.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// NewFixed returns fixed groups of g rollouts, g in [1, schedule.MaxGroup].
func NewFixed(g int) (*Fixed, error) {
	if g < 1 || g > schedule.MaxGroup {
		return nil, fmt.Errorf("fixed: g = %d, want a whole number in [1, %d]", g, schedule.MaxGroup)
	}
	return &Fixed{g: g, prompts: schedule.MustRatio("1")}, nil
}

// Group returns the common group size.
func (f *Fixed) Group() int { return f.g }

// Spec implements Strategy.
func (f *Fixed) Spec() string {
	if f.picks {
		return fmt.Sprintf("fixed:g=%d,prompts=%v", f.g, f.prompts)
	}
	return fmt.Sprintf("fixed:g=%d", f.g)
}

// Capabilities implements Strategy.
func (f *Fixed) Capabilities() Capabilities {
	return Capabilities{FirstEpoch: true, ExactBudget: true, PicksPrompts: f.picks}
}

// Start implements Strategy; any batch will do.
func (f *Fixed) Start(batch int) error {
	f.batch = batch
	return nil
}

// Budget implements Budgeter.
func (f *Fixed) Budget(batch int) int { return f.g * f.taken(batch) }

// taken returns the prompts taken for a batch, rounded up.
func (f *Fixed) taken(batch int) int { return f.prompts.Ceil(batch) }

// Next asks g rollouts of every prompt, once.
func (f *Fixed) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	if f.picks {
		b.Set.Load(f.taken(f.batch))
	}
	return askAll(ask, b.Len(), f.g)
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
func (f *FixedMean) Capabilities() Capabilities {
	return Capabilities{FirstEpoch: true, ExactBudget: true}
}

// Start implements Strategy.
func (f *FixedMean) Start(batch int) error {
	if batch != f.batch {
		return fmt.Errorf("fixed mean: batch = %d, want %d", batch, f.batch)
	}
	return nil
}

// Budget implements Budgeter.
func (f *FixedMean) Budget(int) int { return f.total }

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
