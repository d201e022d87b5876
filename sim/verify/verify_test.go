package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/schedule"
)

// TestHolm works Holm's procedure by hand: level 0.05, a family of five, of
// which four were selected. Sorted p: .009 <= .05/5, .012 <= .05/4, and
// .018 > .05/3 = .0167 stops it, so that .02 holds too though .02 <= .05/2.
func TestHolm(t *testing.T) {
	row := func(p float64) Row { return Row{P: number(p), SE: number(1)} }
	r := &Report{Level: 0.05, Family: 5, Sections: []Section{
		{Rows: []Row{row(.02), {Verdict: Untestable}, row(.009)}}, {Rows: []Row{row(.018), row(.012)}},
	}}
	judge(r)
	var got []Verdict
	for _, row := range r.Rows() {
		got = append(got, row.Verdict)
	}
	if want := []Verdict{Holds, Untestable, Fails, Holds, Fails}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	// 1 - .05/10 and .99 of the normal law: 2.575829 + 2.326348.
	if d := *r.Rows()[0].Detects; math.Abs(d-4.902177) > 1e-5 {
		t.Errorf("detects %v, want 4.902177", d)
	}
}

func TestCompared(t *testing.T) {
	// Two standard errors away: p = 0.0455.
	if p := *compared(Row{}, 1.2, 0.1, 1).P; math.Abs(p-0.04550026) > 1e-7 {
		t.Errorf("p = %v, want 0.0455", p)
	}
	if p := *compared(Row{}, 1, 0, 1).P; p != 1 {
		t.Errorf("equal without noise: p = %v, want 1", p)
	}
	if p := *compared(Row{}, 1.1, 0, 1).P; p != 0 {
		t.Errorf("different without noise: p = %v, want 0", p)
	}
}

// TestBias: three standard errors of which two are the method's own error,
// and a difference that is all its own.
func TestBias(t *testing.T) {
	if p := *compared(Row{Bias: 0.2}, 1.3, 0.1, 1).P; math.Abs(p-0.31731051) > 1e-7 {
		t.Errorf("p = %v, want 0.3173", p)
	}
	if p := *compared(Row{Bias: 0.4}, 0.7, 0, 1).P; p != 1 {
		t.Errorf("a difference within the bias: p = %v, want 1", p)
	}
}

// TestNoFigure: what does not exist agrees with nothing.
func TestNoFigure(t *testing.T) {
	none := sim.Estimate{Reason: "no prompt was dropped"}
	for _, row := range []Row{simulated(Row{}, none, 0), extrapolated(Row{}, sim.Estimate{Mean: 1}, none, 0)} {
		if row.Verdict != Untestable || row.P != nil || row.Kind != Check || !strings.Contains(row.Reason, none.Reason) {
			t.Errorf("a figure that does not exist: %+v", row)
		}
	}
}

// TestNoNumberAgreesWithNothing: NaN must not pass for an agreement.
func TestNoNumberAgreesWithNothing(t *testing.T) {
	nan := math.NaN()
	for _, c := range [][3]float64{{nan, 0.1, 1}, {1.1, nan, 1}, {1.1, 0.1, nan}} {
		if p := *compared(Row{}, c[0], c[1], c[2]).P; p != 0 {
			t.Errorf("%v ± %v beside %v: p = %v, want 0", c[0], c[1], c[2], p)
		}
	}
}

// TestExtrapolated: f(B) = 3 + 10/B at 100 and 200 gives 3 with the error
// hypot(2*0.03, 0.08) = 0.1.
func TestExtrapolated(t *testing.T) {
	row := extrapolated(Row{}, sim.Estimate{Mean: 3.1, SE: 0.08}, sim.Estimate{Mean: 3.05, SE: 0.03}, 3)
	if math.Abs(*row.Estimate-3) > 1e-12 || math.Abs(*row.SE-0.1) > 1e-12 || *row.P != 1 {
		t.Errorf("%v ± %v, p = %v, want 3 ± 0.1, 1", *row.Estimate, *row.SE, *row.P)
	}
}

func TestVerdictsOfExactClaims(t *testing.T) {
	for _, c := range []struct {
		estimate, reference float64
		want                Verdict
	}{{2, 2, Holds}, {2.1, 2, HoldsWithin}, {2.3, 2, Fails}, {1.9, 2, HoldsWithin}, {1, 2, Fails}, {math.NaN(), 2, Fails}} {
		if got := claimed(Row{}, c.estimate, c.reference).Verdict; got != c.want {
			t.Errorf("claimed(%v, %v) = %s, want %s", c.estimate, c.reference, got, c.want)
		}
	}
	if agreed(Row{}, 1+1e-8, 1).Verdict != Fails || agreed(Row{}, 1+1e-10, 1).Verdict != Holds || agreed(Row{}, math.NaN(), 1).Verdict != Fails {
		t.Error("agreed does not tell 1e-8 from 1e-10, or passes NaN")
	}
}

// TestDIsRelative: 9 beside 10 is off by d = 0.1, as the test defines it.
func TestDIsRelative(t *testing.T) {
	if row := claimed(Row{}, 9, 10); !strings.Contains(row.Note, "d = 0.1, relative") || !strings.Contains(row.Test, "relative") {
		t.Errorf("note %q, test %q", row.Note, row.Test)
	}
}

func TestOnly(t *testing.T) {
	run := func(only ...string) (*Report, error) {
		return Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Only: only})
	}
	r, err := run("2.published-speedup", "8")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range r.Sections {
		ids = append(ids, s.Study)
	}
	if want := []string{"2.published-speedup", "8.live"}; !slices.Equal(ids, want) {
		t.Errorf("studies %v, want %v", ids, want)
	}
	_, err = run("2.publishd-speedup")
	if err == nil || !strings.Contains(err.Error(), "did you mean 2.published-speedup?") {
		t.Errorf("error %v, want the nearest study", err)
	}
	if _, err := run("12"); err == nil {
		t.Error("rung 12 is accepted")
	}
}

// TestLadder climbs the whole quick ladder once and holds it to its promises:
// no check of ours fails (at seed 1; over seeds with probability 1 - 1e-4),
// the family is what was announced, the published claims get the verdicts that
// theory.md derives, no number is NaN, and a study taken over from an earlier
// run, alone or in company, is the same to the last byte for any number of
// workers.
func TestLadder(t *testing.T) {
	if testing.Short() {
		t.Log("short: the ladder is climbed in full runs")
		return
	}
	saved := map[string]*Section{}
	cfg := Config{Seed: 1, Workers: 2, Quick: true, Save: func(s *Section) error {
		text, err := json.Marshal(s) // fails on NaN
		if err != nil {
			return err
		}
		saved[s.Study] = new(Section)
		return json.Unmarshal(text, saved[s.Study])
	}}
	r, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Wrong() {
		t.Errorf("%s: our own check fails: %v, want %v; %s", row.ID, *row.Estimate, *row.Reference, row.Note)
	}
	checkFamily(t, r)
	checkVerdicts(t, r)

	taken := Config{Seed: 1, Workers: 1, Quick: true, Done: func(study string) (*Section, bool) {
		s, ok := saved[study]
		return s, ok && study != "4.random-control" // one study anew, by another number of workers
	}}
	again, err := Run(context.Background(), taken)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, r) {
		t.Error("a resumed ladder differs from an unbroken one")
	}
	alone, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Only: []string{"4.random-control"}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Sections, func(s Section) bool { return s.Study == "4.random-control" })
	if !reflect.DeepEqual(alone.Sections[0], r.Sections[i]) {
		t.Error("a study alone differs from the same study in company")
	}
}

func checkFamily(t *testing.T, r *Report) {
	t.Helper()
	compared := 0
	ids := map[string]bool{}
	for _, row := range r.Rows() {
		if row.P != nil {
			compared++
		}
		if ids[row.ID] {
			t.Errorf("two rows are called %s", row.ID)
		}
		ids[row.ID] = true
		if row.Verdict == "" || row.Claim == "" || row.Method == "" || !strings.HasPrefix(row.ID, fmt.Sprintf("%d.", row.Rung)) {
			t.Errorf("%s: an incomplete row: %+v", row.ID, row)
		}
		checkReason(t, row)
	}
	if compared != r.Family {
		t.Errorf("%d comparisons in a family of %d", compared, r.Family)
	}
}

// checkReason: a row has a reason where it cannot be tested, and where a figure
// with an error was not compared by it.
func checkReason(t *testing.T, row Row) {
	t.Helper()
	if want := row.Verdict == Untestable || row.SE != nil && row.P == nil; want != (row.Reason != "") {
		t.Errorf("%s: verdict %s, SE %v, P %v with reason %q", row.ID, row.Verdict, row.SE, row.P, row.Reason)
	}
}

func checkVerdicts(t *testing.T, r *Report) {
	t.Helper()
	for id, want := range map[string]Verdict{
		"1.gradient-bounds.cases":                                 Holds,
		"1.gradient-bounds.identity":                              Holds,
		"2.closed-form.shape-1.5":                                 HoldsWithin,
		"2.published-speedup.exponent-1/3":                        Fails,
		"2.published-speedup.exponent-1":                          Holds,
		"3.truncated.theorem-1.1":                                 Fails,
		"3.truncated.theorem-1.5":                                 HoldsWithin,
		"3.saturation.rounds-32":                                  Fails,
		"4.noisy.theorem":                                         Fails,
		"4.prompt-mean.uniform":                                   Fails,
		"4.screening.published":                                   Fails,
		"4.mean-field.uniform.eta":                                Holds,
		"4.enumeration.fresh groups.eta_generated":                Holds,
		"5.exponents.time-plain":                                  Holds,
		"5.exponents.limit-plain":                                 Holds,
		"5.exponents.limit-normalised":                            Holds,
		"5.exponents.limit-group-8":                               Holds,
		"5.exponents.third-plain":                                 Fails,
		"5.exponents.third-normalised":                            Fails,
		"5.exponents.target-normalised":                           Fails,
		"5.exponents.gain-plain":                                  HoldsWithin,
		"5.exponents.easy-plain":                                  Fails,
		"5.exponents.range-normalised":                            Fails,
		"5.sampled.from-0.001-to-0.004":                           Holds,
		"5.bounds.razin-theorem-4":                                Holds,
		"5.bounds.razin-theorem-4-kl":                             Holds,
		"5.bounds.razin-proposition-3":                            Holds,
		"5.bounds.own-general":                                    Holds,
		"5.bounds.own-binary":                                     Holds,
		"5.bounds.own-normalised":                                 Holds,
		"5.graded.graded":                                         Fails,
		"5.graded.binary":                                         Holds,
		"6.rollout-small.eta^(1/3)":                               Fails,
		"6.rollout-small.progress":                                Fails,
		"6.rollout-small.vigor":                                   Holds,
		"6.rollout-best.vigor":                                    Fails,
		"6.rollout-best.published":                                Fails,
		"6.prompt-small.eta":                                      Fails,
		"6.prompt-small.vigor":                                    Fails,
		"6.prompt-best.published":                                 Fails,
		"6.reach.start.beta:a=0.1,b=0.3":                          Holds,
		"6.reach.defaults.beta:a=0.1,b=0.3":                       Fails,
		"7.replay":                                                Untestable,
		"6.systems.nested-fixed-baseline":                         Holds,
		"6.systems.nested-raw-mean":                               Holds,
		"6.systems.nested-weighted-mean":                          Fails,
		"6.systems.nested-no-weights":                             Fails,
		"6.systems.nested-efficiency-2-answers-spread-0.3":        Holds,
		"6.systems.nested-efficiency-128-answers-spread-0.3":      Fails,
		"6.systems.nested-second-moment-16-answers-spread-1":      Holds,
		"6.systems.m2po-theorem-5.1":                              Holds,
		"6.systems.m2po-masked":                                   Holds,
		"6.systems.m2po-limits":                                   Fails,
		"6.systems.m2po-collapse":                                 Untestable,
		"6.systems.r2po-stage-b":                                  Holds,
		"6.systems.r2po-zero-variance-point:p=0.9":                Holds,
		"6.systems.r2po-charged-point:p=0.01":                     Fails,
		"6.systems.saturated-padding-0.99":                        Holds,
		"6.systems.saturated-residual":                            Holds,
		"6.systems.saturated-uniform":                             Fails,
		"9.cero.regret":                                           Holds,
		"9.greedy.vip":                                            Holds,
		"9.neyman.ceiling":                                        Holds,
		"9.mc-ucb.mixed":                                          Holds,
		"9.mc-ucb.dead-mixed":                                     Fails,
		"9.halving.two":                                           Holds,
		"9.good-turing.value":                                     Holds,
		"10.pair.joint":                                           Holds,
		"10.pair.marginal":                                        Fails,
		"10.pair.unweighted":                                      Fails,
		"10.sera.kappa":                                           Holds,
		"10.arcus.p1":                                             Holds,
		"10.arcus.p2":                                             Holds,
		"10.arcus.p3":                                             Holds,
		"10.arcus.p3-8-0.1":                                       Fails,
		"10.arcus.p4":                                             Holds,
		"10.m2po.theorem":                                         Holds,
		"10.speceval.design-8":                                    Holds,
		"10.replay":                                               Untestable,
		"11.adaptivity.mixed-pair":                                Holds,
		"11.objective.uniform":                                    HoldsWithin,
		"1.gradient-bounds.planted-M from sampled responses only": Holds,
	} {
		i := slices.IndexFunc(r.Rows(), func(row Row) bool { return row.ID == id })
		if i < 0 {
			t.Errorf("no row %s", id)
		} else if got := r.Rows()[i].Verdict; got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// TestReplayTables climbs rung 7 on hand-made tables: one where VIGOR must
// gain, one without reward variance.
func TestReplayTables(t *testing.T) {
	gain := &table.Table{Name: "gain.csv"}
	dead := &table.Table{Name: "dead.csv"}
	for i := range 200 {
		s := 0
		if i%4 == 0 {
			s = 4
		}
		gain.Rows = append(gain.Rows, table.Row{PromptID: string(rune('a' + i)), N: 8, S: s})
		dead.Rows = append(dead.Rows, table.Row{PromptID: string(rune('a' + i)), N: 8, S: 8 * (i % 2)})
	}
	r, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Tables: []*table.Table{gain, dead}, Only: []string{"7"}})
	if err != nil {
		t.Fatal(err)
	}
	checkReplay(t, r, "7.table-1-gain.gain", Holds)
	checkReplay(t, r, "7.table-2-dead.gain", Untestable)
}

// tableOf returns a table with so many prompts of every s in n.
func tableOf(name string, n int, prompts map[int]int) *table.Table {
	t := &table.Table{Name: name}
	for _, s := range slices.Sorted(maps.Keys(prompts)) {
		for i := range prompts[s] {
			t.Rows = append(t.Rows, table.Row{PromptID: fmt.Sprint(s, "-", i), N: n, S: s})
		}
	}
	return t
}

// TestReplayCannotTell: where u is the same for every prompt, eta is 1 and its
// interval is 1 to rounding, on either side; and a few prompts, or a few whose
// outcomes differ, are no sample, however clear their own gain is.
func TestReplayCannotTell(t *testing.T) {
	tables := []*table.Table{
		tableOf("mirrored.csv", 40, map[int]int{13: 50, 27: 50}),
		tableOf("tenths.csv", 10, map[int]int{1: 20, 9: 20}),
		tableOf("small.csv", 40, map[int]int{0: 20, 20: 9}),
		tableOf("solved.csv", 8, map[int]int{7: 1, 8: 2000}),
	}
	r, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Tables: tables, Only: []string{"7"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"holds 1", "holds 1", "29 prompts, 9 of them", "2001 prompts, 1 of them"} {
		row := rowOf(t, r, fmt.Sprintf("7.table-%d-%s.gain", i+1, strings.TrimSuffix(tables[i].Name, ".csv")))
		if row.Verdict != Untestable || !strings.Contains(row.Reason, want) {
			t.Errorf("%s: %s (%v): %q, want %q", row.ID, row.Verdict, *row.Interval, row.Reason, want)
		}
		if !strings.Contains(row.Test, "each of 4 tables has its own 2.5 % a side") {
			t.Errorf("%s: test %q does not say what it is a family of", row.ID, row.Test)
		}
	}
}

// TestPerfectReference: the reference of a batch of nine prompts, one of them
// with all the variance, is perfect selection on these nine, worked by hand:
// it is in all four rounds, which ask 9, 5, 3 and 2 prompts for 2, 4, 8 and 16
// rollouts, so that eta is 9*30/94. The limit of large batches is 3.75.
func TestPerfectReference(t *testing.T) {
	nine := tableOf("nine.csv", 80, map[int]int{40: 1, 0: 8})
	r, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Tables: []*table.Table{nine}, Only: []string{"7"}})
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, r, "7.table-1-nine.perfect")
	if got, want := *row.Reference, 9*30/94.; math.Abs(got-want) > 1e-12 {
		t.Errorf("perfect selection %v, want %v", got, want)
	}
}

func rowOf(t *testing.T, r *Report, id string) Row {
	t.Helper()
	i := slices.IndexFunc(r.Rows(), func(row Row) bool { return row.ID == id })
	if i < 0 {
		t.Fatalf("no row %s", id)
	}
	return r.Rows()[i]
}

func checkReplay(t *testing.T, r *Report, id string, want Verdict) {
	t.Helper()
	for _, row := range r.Rows() {
		checkReason(t, row)
		if row.ID == id && row.Verdict != want {
			t.Errorf("%s: %s (%+v), want %s", id, row.Verdict, row.Interval, want)
		}
	}
	for _, row := range r.Wrong() {
		t.Errorf("%s: our own check fails: %v, want %v", row.ID, *row.Estimate, *row.Reference)
	}
	if !slices.ContainsFunc(r.Rows(), func(row Row) bool { return row.ID == id }) {
		t.Errorf("no row %s", id)
	}
}

// TestReplayRealRun climbs rung 7 on the outcomes of a real GRPO run (see
// SOURCES.md there): VIGOR gains reward variance on them.
func TestReplayRealRun(t *testing.T) {
	tab := realTable(t, "oneshot_rlvr/window_first5.csv")
	r, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Quick: true, Tables: []*table.Table{tab}, Only: []string{"7"}})
	if err != nil {
		t.Fatal(err)
	}
	checkReplay(t, r, "7.table-1-window_first5.gain", Holds)
}

// TestCutsOnBoundaries climbs rung 7 in full on tables whose cuts fall on a
// boundary of levels or next to one, where the error of a finite batch goes
// like 1/sqrt(B): half of a prompt of p = 1/2 is mixed after two rollouts, and
// .497 of these real prompts are after the second round, beside alpha = 1/2.
// There our own checks must not fail, nor allow for more than a fiftieth of the figure.
func TestCutsOnBoundaries(t *testing.T) {
	if testing.Short() {
		t.Log("short: the full rung is climbed in full runs")
		return
	}
	for _, tab := range []*table.Table{
		{Name: "one.csv", Rows: []table.Row{{PromptID: "a", N: 8, S: 4}}},
		realTable(t, "speceval/aime24/qwen3_5_9b.csv"),
	} {
		r, err := Run(context.Background(), Config{Seed: 1, Workers: 2, Tables: []*table.Table{tab}, Only: []string{"7"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows() {
			if row.Kind != Check {
				continue
			}
			if row.Verdict != Holds || row.Bias > 0.02**row.Reference {
				t.Errorf("%s: %s: %v ± %v beside %v, bias %v", row.ID, row.Verdict, *row.Estimate, *row.SE, *row.Reference, row.Bias)
			}
			t.Logf("%s: %+.2g ± %.2g, bias at most %.2g", row.ID, *row.Estimate-*row.Reference, *row.SE, row.Bias)
		}
	}
}

// realTable reads a recorded table from the shared folder, or skips.
func realTable(t *testing.T, name string) *table.Table {
	t.Helper()
	shared := os.Getenv("VIGORLAB_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(shared, "data", filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) && os.Getenv("VIGORLAB_NO_SKIP") == "" {
		t.Skipf("needs ../shared/data/%s: set VIGORLAB_SHARED to the shared folder", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := table.Read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestPredictFreshGroups: with groups drawn afresh the fixed group has the mean
// size that selection generates, 8, and not the 16 rollouts of a prompt in all.
func TestPredictFreshGroups(t *testing.T) {
	l, err := rewarding(popUniform)
	if err != nil {
		t.Fatal(err)
	}
	p, err := predict(popUniform, l, vigor(func(v *schedule.Vigor) { v.Reuse = false }))
	if err != nil {
		t.Fatal(err)
	}
	if g := p.fixed.MeanGroup; math.Abs(g-8) > 1e-12 || p.Progress != p.field.Progress/p.fixed.Progress {
		t.Errorf("fixed groups of %v, progress %v, want 8 and the ratio of the mean fields", g, p.Progress)
	}
	dead, err := rewarding("point:p=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := predict("point:p=1", dead, vigor(nil)); err == nil {
		t.Error("a law without reward variance is accepted")
	}
}
