package main

import (
	"context"
	"errors"
	"testing"

	"vigorlab/sim/strategy"
)

// A sleeper is a strategy that never gets started.
type sleeper struct{ strategy.Strategy }

func (sleeper) Start(int) error { select {} }

// TestStartableEnds: an interrupt ends the start on a batch, however large.
func TestStartableEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var c common
	if err := c.startable(ctx, []strategy.Strategy{sleeper{}}, 8); !errors.Is(err, context.Canceled) {
		t.Errorf("startable = %v, want %v", err, context.Canceled)
	}
}
