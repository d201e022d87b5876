package report_test

import (
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/report"
	"vigorlab/sim/verify"
)

func number(x float64) *float64 { return &x }

func ladder(rows ...verify.Row) *verify.Report {
	return &verify.Report{Level: 1e-4, Family: 7, Within: 0.1, Sections: []verify.Section{{Study: "4.noisy", Rows: rows}}}
}

func TestReportNamesTheWorstFailure(t *testing.T) {
	text := string(report.Ladder(ladder(
		verify.Row{ID: "4.noisy.a", Rung: 4, Kind: verify.Claim, Claim: "near", Estimate: number(1), Reference: number(1.5), Verdict: verify.Fails},
		verify.Row{ID: "4.noisy.b", Rung: 4, Kind: verify.Claim, Claim: "far|off", Estimate: number(1), Reference: number(3), Verdict: verify.Fails},
		verify.Row{ID: "4.noisy.c", Rung: 4, Kind: verify.Claim, Claim: "fine", Estimate: number(2), Reference: number(2), Verdict: verify.Holds},
		verify.Row{ID: "4.noisy.e", Rung: 4, Kind: verify.Claim, Claim: "close", Estimate: number(2), Reference: number(2.1), Verdict: verify.HoldsWithin},
		verify.Row{ID: "4.check.d", Rung: 4, Kind: verify.Check, Claim: "own", Verdict: verify.Holds, Interval: &[2]float64{1, 2}},
	), "vigorlab verify", map[int][]report.Figure{4: {{Name: "rung-4-screening", Caption: "Who is lost."}}}))
	for _, want := range []string{
		"    vigorlab verify\n",
		"Claims: 1 hold, 1 hold within d, 2 fail, 0 cannot be tested here.",
		"off by d, at most 10 % of itself",
		"All 1 checks of vigorlab's own code",
		`Farthest off: "far|off", 1 instead of 3.`,
		`| fails | far\|off | 1 |  | 3 |`,
		"## Appendix: checks of vigorlab's own code\n\nIntervals are pointwise, at 95 %: the reference of about one check in twenty",
		"of all 7 Monte Carlo comparisons together, at level 0.0001.\n\n### Rung 4: ",
		"| holds | own | - | [1, 2] | - |",
		"![rung 4 screening](figures/rung-4-screening.png)\n\n*Who is lost.*\n",
		"## What not to conclude", "## What rollouts leave out", "Length.", "Latency.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
}

// TestRungsHaveTitles: every rung that the ladder has is named where it stands.
func TestRungsHaveTitles(t *testing.T) {
	for rung := 1; rung <= 11; rung++ {
		if report.RungTitle(rung) == "" {
			t.Errorf("rung %d has no title", rung)
		}
	}
}

// TestReportKeepsNamesInPlace: a path may hold what Markdown takes for its own.
func TestReportKeepsNamesInPlace(t *testing.T) {
	r := ladder()
	r.Sections[0].Predictions = []verify.Prediction{{Population: "table:path=a|b\n.csv", Speedups: []verify.SpeedupPrediction{{Exponent: "1/3"}}}}
	text := string(report.Ladder(r, "vigorlab verify --table 'a|b\n.csv'", nil))
	for _, want := range []string{"\n    vigorlab verify --table 'a|b\n    .csv'\n", `| table:path=a\|b .csv | 1/3 |`} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
}

func TestReportOfFailedChecksConcludesNothing(t *testing.T) {
	r := ladder(verify.Row{ID: "4.check", Rung: 4, Kind: verify.Check, Claim: "own", Verdict: verify.Fails})
	if text := string(report.Ladder(r, "", nil)); !strings.Contains(text, "- Nothing, before this is mended: 1 checks") {
		t.Errorf("the report concludes something:\n%s", text)
	}
	if s := strings.Join(report.Summary(r), " "); !strings.Contains(s, "1 of 1 checks of vigorlab's own code fail") {
		t.Errorf("Summary = %s", s)
	}
}

// TestReportSaysARepeatedNoteOnce, and claims before checks.
func TestReportSaysARepeatedNoteOnce(t *testing.T) {
	row := func(claim, kind, note string) verify.Row {
		return verify.Row{Rung: 1, Kind: kind, Claim: claim, Verdict: verify.Holds, Note: note}
	}
	text := string(report.Ladder(ladder(row("check", verify.Check, "same"), row("a", verify.Claim, "same"), row("b", verify.Claim, "same"),
		row("c", verify.Claim, "other"), row("d", verify.Claim, "same")), "", nil))
	var notes []string
	for _, line := range strings.Split(text, "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| holds") {
			notes = append(notes, cells[1]+": "+strings.TrimSuffix(cells[len(cells)-1], " |"))
		}
	}
	if got, want := strings.Join(notes, ", "), "a: same, b: as above, c: other, d: same, check: same"; got != want {
		t.Errorf("rows and notes %q, want %q", got, want)
	}
}

func TestEveryRungHasATitle(t *testing.T) {
	for rung := 1; rung <= 8; rung++ {
		if report.RungTitle(rung) == "" {
			t.Errorf("rung %d has no title", rung)
		}
	}
}

// TestReportSaysWhereTheSpeedupComesFrom: from the rows, whatever they hold, and
// not at all without training runs.
func TestReportSaysWhereTheSpeedupComesFrom(t *testing.T) {
	claim := func(id string, estimate float64, v verify.Verdict, interval *[2]float64) verify.Row {
		return verify.Row{ID: id, Rung: int(id[0] - '0'), Kind: verify.Claim, Claim: id, Estimate: number(estimate), Reference: number(2.3), Verdict: v, Interval: interval}
	}
	r := ladder(
		claim("2.published-speedup.exponent-1/3", 1.55, verify.Fails, nil),
		claim("6.rollout-small.vigor", 1.432, verify.Holds, &[2]float64{1.4, 1.465}),
		claim("6.rollout-best.vigor", 0.6, verify.Fails, &[2]float64{0.5, 0.7}),
		claim("6.reach.start.uniform", 1.25, verify.Fails, nil),
		claim("6.reach.defaults.beta:a=1,b=2", 2.5, verify.Holds, nil),
		claim("6.rollout-small.eta^(1/3)", 0.2, verify.Fails, nil),
		claim("6.rollout-small.path", 0.03, verify.Holds, nil),
	)
	r.Sections[0].Rows[len(r.Sections[0].Rows)-1].Test = "the test of predictors"
	x := 1.5
	r.Sections[0].Ratios = []verify.Ratio{{Population: "uniform", Policy: "logit", Estimator: "grpo", Aggregate: "rollout", Regime: "small", Target: .9, Strategy: "vigor", Reason: "never|reached", Predicted: []*float64{&x, nil}}}
	text := string(report.Ladder(r, "", nil))
	for _, want := range []string{
		"cap eta^(1/3) at 1.55 on any prompts",
		"VIGOR needs 1.43 [1.4, 1.47] times fewer rollouts",
		"VIGOR then has 0.6 [0.5, 0.7], below 1",
		"at least 2.3 times as much on none of the populations tried.",
		"2.3 or more is reached on beta:a=1,b=2 (2.5).",
		"eta^(1/3), the published predictor, does not foretell",
		"## Rung 6: rollouts to target\n\nA ratio is the rollouts to target of groups of 8 over those of a strategy",
		"path, the mean field of training: ",
		"the estimate is the root mean square over cases of log(measured/predicted)",
		"Verdict: the test of predictors.\n\n",
		`| rollouts | small | uniform to 0.9, logit, grpo | vigor | never\|reached |  | 1.500 |  |`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
	if text := string(report.Ladder(ladder(claim("2.x", 1, verify.Fails, nil)), "", nil)); strings.Contains(text, "can come from") {
		t.Error("a report without training runs says where a speedup comes from")
	}
	if text := string(report.Ladder(ladder(claim("6.path.x", 1, verify.Holds, nil)), "", nil)); strings.Contains(text, "Predictors of it") {
		t.Error("a report without predictors says how to read them")
	}
}
