package trial

import (
	"context"
	"errors"
)

// Run runs the trial. Its result depends on cfg (Workers, Done, Save and Progress
// apart) alone, byte for byte. It stops early with ctx's error; with a
// train.DivergenceError where a run diverges and there was one rate alone; and
// where Done is not of this trial.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	return nil, errors.New("trial: not yet")
}
