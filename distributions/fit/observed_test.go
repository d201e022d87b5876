package fit

import (
	"math"
	"testing"
)

// TestHillByHand: n = 4 gives u = 3/4 for one and three successes and 1 for
// two. Two prompts at 1 and three at 3/4 above the threshold 0 of the others.
func TestHillByHand(t *testing.T) {
	got := Hill(mustCounts(t, []Cell{{4, 0, 5}, {4, 1, 2}, {4, 2, 2}, {4, 3, 1}, {8, 1, 1}}))
	want := []HillPoint{
		{2, 0.75, 1 / math.Log(4./3), 1 / math.Log(4./3) / math.Sqrt2},
		{5, 0.4375, 5 / (3*math.Log(0.75) - 5*math.Log(0.4375)), math.Sqrt(5) / (3*math.Log(0.75) - 5*math.Log(0.4375))},
	}
	if len(got) != len(want) {
		t.Fatalf("%d points %v, want %v", len(got), got, want)
	}
	for i, w := range want {
		if got[i].K != w.K || got[i].U != w.U {
			t.Errorf("point %+v, want %+v", got[i], w)
		}
		near(t, "estimate", got[i].Estimate, w.Estimate, 1e-12)
		near(t, "error", got[i].SE, w.SE, 1e-12)
	}
	if got := Hill(mustCounts(t, []Cell{{4, 0, 5}, {4, 4, 2}})); got != nil {
		t.Errorf("without mixed prompts: %v, want none", got)
	}
}

// TestPluginGainByHand: u = 3/4, 1 and 0 for one, one and two prompts.
func TestPluginGainByHand(t *testing.T) {
	root := math.Sqrt(0.75) + 1
	near(t, "gain", PluginGain(mustCounts(t, []Cell{{4, 1, 1}, {4, 2, 1}, {4, 0, 2}})), 4*1.75/(root*root), 1e-14)
}

// TestObservedError: shares 1, 1/3 and 1/3 of pairs that agree (n = 4, two
// successes: 2 of 6) have the mean 5/9 and the error sqrt(4/27/3).
func TestObservedError(t *testing.T) {
	got := ObservedZeroVariance(mustCounts(t, []Cell{{4, 0, 1}, {4, 2, 2}, {1, 1, 7}}), 2)
	near(t, "mean", got.Mean, 5./9, 1e-15)
	near(t, "error", got.SE, math.Sqrt(4./27/3), 1e-15)
	if got.Prompts != 3 {
		t.Errorf("%d prompts, want the 3 with at least 2 rollouts", got.Prompts)
	}
	if got := ObservedZeroVariance(mustCounts(t, []Cell{{4, 0, 1}}), 8); !math.IsNaN(got.Mean) || got.Prompts != 0 {
		t.Errorf("groups of 8 of 4 rollouts: %+v, want none", got)
	}
}
