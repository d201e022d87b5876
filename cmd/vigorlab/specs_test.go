package main

import (
	"context"
	"errors"
	"strings"
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

// TestSourcesCanBeFound: what lists cite is a paper, code or our own, never notes
// that are not in the repository.
func TestSourcesCanBeFound(t *testing.T) {
	for _, name := range []string{"populations", "strategies", "systems"} {
		var stdout, stderr strings.Builder
		if code := execute(context.Background(), []string{name, "--format", "json"}, &stdout, &stderr); code != exitDone {
			t.Fatalf("%s: exit code %d: %s", name, code, &stderr)
		}
		if strings.Contains(stdout.String(), ".md") {
			t.Errorf("%s cites a file that a reader does not have:\n%s", name, &stdout)
		}
	}
}
