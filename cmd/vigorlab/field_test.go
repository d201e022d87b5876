package main

import (
	"testing"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim"
)

// TestSummaryRanks: the table over all populations has the ranks by progress, each
// under the letter of its own population, and is not there for a single one.
func TestSummaryRanks(t *testing.T) {
	world := func(progress sim.Rank) comparedWorld {
		return comparedWorld{"law", "law", &sim.Comparison{
			Strategies: []sim.Compared{{Strategy: "greso"}},
			Rankings: []sim.Ranking{
				{Objective: "signal", Ranks: []sim.Rank{{Low: 9, High: 9}}},
				{Objective: "progress", Ranks: []sim.Rank{progress}},
			},
		}}
	}
	c := &fieldComparison{groups: []string{groupMethods}, worlds: []comparedWorld{world(sim.Rank{Low: 1, High: 2}), world(sim.Rank{Low: 3, High: 4})}}
	var text output.Text
	c.summaryText(&text)
	const want = "\nRanks by progress per rollout, population by population\n" +
		"                           A    B\nbudgeting, paid before:\ngreso                    1-2  3-4\n"
	if got := string(text.Bytes()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.worlds = c.worlds[:1]
	var alone output.Text
	if c.summaryText(&alone); len(alone.Bytes()) > 0 {
		t.Errorf("one population has the summary %q", alone.Bytes())
	}
}

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
