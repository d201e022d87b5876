package main

import (
	"testing"

	"vigorlab/sim"
)

// TestRanksLeaveOutBars: what sees the truth is in no map of ranks, and a
// population without an objective has no cell in its map.
func TestRanksLeaveOutBars(t *testing.T) {
	ranks := []sim.Rank{{Low: 1, High: 2}, {Low: 1, High: 2}, {}}
	strategies := []sim.Compared{{Strategy: "fixed:g=8"}, {Strategy: "greso"}, {Strategy: "neyman"}}
	c := &fieldComparison{
		groups: []string{groupBaselines, groupMethods, groupBars},
		worlds: []comparedWorld{
			{"short", "short", &sim.Comparison{Strategies: strategies, Rankings: []sim.Ranking{{Objective: "signal", Ranks: ranks}}}},
			{"long", "long", &sim.Comparison{Strategies: strategies, Rankings: []sim.Ranking{{Objective: "signal", Ranks: ranks}, {Objective: "signal_token", Ranks: ranks}}}},
		},
	}
	d := c.ranksData("signal_token")
	if len(d.Strategies) != 2 || d.Strategies[1].Label != "greso" || d.Strategies[1].Group != "budgeting, paid before" {
		t.Fatalf("rows %+v, want fixed:g=8 and greso", d.Strategies)
	}
	for _, row := range d.Strategies {
		if row.Ranks[0].Low != 0 || row.Ranks[1].Low != 1 || row.Ranks[1].High != 2 {
			t.Errorf("%s: ranks %v, want none and 1-2", row.Label, row.Ranks)
		}
	}
}
