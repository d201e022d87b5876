package strategy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// sixPrompts is the worked example of the specification of VIP and Neyman.
var sixPrompts = []float64{0.02, 0.1, 0.3, 0.5, 0.8, 0.95}

// wantConform runs the conformance test on every spec; none favours a place.
func wantConform(t *testing.T, specs ...string) {
	t.Helper()
	for _, text := range specs {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// groupsOf returns what a strategy of one round gives prompts with the truth p.
func groupsOf(t testing.TB, text string, p []float64, r *rand.Rand) []int {
	t.Helper()
	got, err := strategytest.Run(mustParse(t, text), len(p), never, p, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Asked) != 1 {
		t.Fatalf("%s: %d rounds, want 1", text, len(got.Asked))
	}
	return got.N
}

// mostOf returns the largest sum of value over groups of sizes in [low, high]
// with the given total, tried one by one.
func mostOf(prompts, total, low, high int, value func(i, n int) float64) float64 {
	if prompts == 0 {
		if total == 0 {
			return 0
		}
		return math.Inf(-1)
	}
	most := math.Inf(-1)
	for n := low; n <= min(high, total); n++ {
		most = max(most, value(prompts-1, n)+mostOf(prompts-1, total-n, low, high, value))
	}
	return most
}
