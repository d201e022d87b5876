package strategy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim/strategy"
)

func BenchmarkSelectNeyman(b *testing.B) { benchmarkBatch(b, "neyman") }

func TestNeymanConformance(t *testing.T) {
	wantConform(t, "neyman", "neyman:g=1", "neyman:g=8,low=2", "neyman:g=3,low=3")
}

func TestNeymanSpending(t *testing.T) {
	wantSpending(t, "neyman", map[int]string{1: "neyman:g=1", 8: "neyman:g=8"})
}

func TestNeymanRefuses(t *testing.T) {
	wantRefused(t, map[string]string{
		"neyman:g=0":       "neyman: g = 0, want a whole number in [1, 10000]",
		"neyman:g=4,low=5": "neyman: low = 5, want at most g = 4",
		"neyman:low=0":     "neyman: low = 0",
		"neyman:max=8":     "unknown parameter max",
	})
}

// TestNeymanVariance holds the closed forms to their golden values: six
// prompts, 48 rollouts, and uniform p. The midpoint sums over m values of p
// miss E[sigma^2] by O(1/m^2) and E[sigma], whose slope is infinite at the ends,
// by O(m^-1.5): below 1e-7 at m = 100,000.
func TestNeymanVariance(t *testing.T) {
	wantNear(t, "optimum", strategy.NeymanVariance(sixPrompts, 48), 0.0846890, 5e-8)
	wantNear(t, "uniform", strategy.UniformVariance(sixPrompts, 48), 0.0971375, 5e-8)
	wantNear(t, "limit", strategy.NeymanUniformLimit, 0.925275, 5e-7)
	p := make([]float64, 100_000)
	for i := range p {
		p[i] = (float64(i) + 0.5) / float64(len(p))
	}
	ratio := strategy.NeymanVariance(p, 1) / strategy.UniformVariance(p, 1)
	wantNear(t, "ratio for uniform p", ratio, strategy.NeymanUniformLimit, 1e-7)
}

// TestNeymanTrace follows the rule by hand on three prompts with v = 0.25,
// 0.09, 0 and nine rollouts. One each; then the decreases v/(n(n+1)):
// 0.125 0.045 0 -> (2 1 1), 0.04167 -> 0.045 of the second (2 2 1), 0.04167
// (3 2 1), 0.02083 (4 2 1), 0.0125 against 0.015 of the second (4 3 1), 0.0125
// (5 3 1). The dead one keeps one.
func TestNeymanTrace(t *testing.T) {
	if got := groupsOf(t, "neyman:g=3", []float64{0.5, 0.1, 0}, seeded(1)); !slices.Equal(got, []int{5, 3, 1}) {
		t.Errorf("groups %v, want [5 3 1]", got)
	}
	// All dead or solved: nothing to gain, so all get g.
	if got := groupsOf(t, "neyman:g=3", []float64{0, 1, 0}, seeded(1)); !slices.Equal(got, []int{3, 3, 3}) {
		t.Errorf("groups %v of dead prompts, want [3 3 3]", got)
	}
}

// TestNeymanTies gives the one spare rollout of two prompts, p = 0.1 and 0.9,
// to either equally often: 0.1 and 0.9 tie though 0.9*(1-0.9) < 0.1*(1-0.1) in
// floating point. By Hoeffding a share strays by tol from 1/2 with probability
// at most 2 exp(-2 n tol^2) = 1e-6; one off by 2 tol is missed as rarely.
func TestNeymanTies(t *testing.T) {
	const n = 4000
	tol := math.Sqrt(math.Log(2/1e-6) / (2 * n))
	r, first := seeded(1), 0
	for range n {
		got := groupsOf(t, "neyman:g=3,low=1", []float64{0.1, 0.9, 0}, r)
		// Nine rollouts, one for the dead prompt: 4 and 4.
		if !slices.Equal(got, []int{4, 4, 1}) {
			t.Fatalf("groups %v, want [4 4 1]", got)
		}
		if groupsOf(t, "neyman:g=2", []float64{0.1, 0.9, 0}, r)[0] == 3 { // five for two, 3 and 2
			first++
		}
	}
	wantNear(t, "share of the first", float64(first)/n, 0.5, tol)
}

// TestNeymanExact compares the greedy groups with the best of all groups.
func TestNeymanExact(t *testing.T) {
	r := seeded(2)
	for range 60 {
		p := []float64{r.Float64(), r.Float64() * 0.1, r.Float64(), r.Float64()}
		low := 1 + r.IntN(2)
		g := low + r.IntN(4)
		text := fmt.Sprintf("neyman:g=%d,low=%d", g, low)
		value := func(i, n int) float64 { return -p[i] * (1 - p[i]) / float64(n) }
		want := mostOf(len(p), g*len(p), low, g*len(p), value)
		got := 0.0
		for i, n := range groupsOf(t, text, p, r) {
			got += value(i, n)
		}
		wantNear(t, text, got, want, 1e-12)
	}
}
