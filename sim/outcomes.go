package sim

import (
	"context"

	"vigorlab/sim/rollout"
)

// Outcomes runs one strategy on the first batch that Run would simulate and
// returns what the strategy saw of it; fresh rollouts of the update (see
// strategy.Update) are left out.
func Outcomes(ctx context.Context, cfg Config, newSource NewSource, s NewStrategy) (*rollout.Batch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	w, err := newWorker(&cfg, newSource, []NewStrategy{s})
	if err != nil {
		return nil, err
	}
	if err := w.replicate(ctx, w.prompts.With(0)); err != nil {
		return nil, err
	}
	return &w.arms[0].batch, nil
}
