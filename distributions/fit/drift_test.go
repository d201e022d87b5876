package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vigorlab/distributions/table"
)

// visits returns a table of groups of n; digits are the successes of a
// prompt's visits.
func visits(n int, prompts ...string) *table.Table {
	t := &table.Table{Name: "visits"}
	for i, digits := range prompts {
		for v, d := range digits {
			t.Rows = append(t.Rows, table.Row{PromptID: fmt.Sprint(i), Visit: v, N: n, S: int(d - '0')})
		}
	}
	return t
}

// TestTransitionsByHand follows prompts with 0 0 3 8, with 8 5 5 0 and with 7
// successes of 8, the last visited once.
func TestTransitionsByHand(t *testing.T) {
	d := Drifted(visits(8, "0038", "8550", "7"))
	want := [3][3]float64{
		AllWrong: {1. / 2, 1. / 2, 0},
		Mixed:    {1. / 3, 1. / 3, 1. / 3}, // 5 to 0, 5 to 5, 3 to 8
		AllRight: {0, 1, 0},
	}
	for i := range want {
		for j := range want[i] {
			near(t, fmt.Sprintf("from %d to %d", i, j), d.Next[i][j].Mean, want[i][j], 1e-15)
		}
	}
	if d.Next[Mixed][0].Prompts != 3 || d.Next[AllRight][0].Prompts != 1 {
		t.Errorf("groups %d and %d, want 3 mixed and 1 all-right", d.Next[Mixed][0].Prompts, d.Next[AllRight][0].Prompts)
	}
	// Residuals of mixed to all-wrong: 0 - 1/3 and 1 - 2/3 and 0, over 3 prompts.
	near(t, "error", d.Next[Mixed][AllWrong].SE, math.Sqrt(2./9*3/2)/3, 1e-15)
	if Drifted(visits(8, "0", "3")) != nil {
		t.Error("drift of prompts that are visited once, want none")
	}
}

// TestRowEstimates sums over all counts of n = 6: the estimates of p, p^2, u
// and u^2 are unbiased whatever p is.
func TestRowEstimates(t *testing.T) {
	const n = 6
	for _, p := range []float64{0, 0.1, 0.5, 0.83, 1} {
		var got [4]float64
		for s := range n + 1 {
			weight := math.Exp(logChoose(n, s)) * math.Pow(p, float64(s)) * math.Pow(1-p, float64(n-s))
			row := table.Row{N: n, S: s}
			for i, v := range []float64{estimateP(row).value, estimateP(row).square, estimateU(row).value, estimateU(row).square} {
				got[i] += weight * v
			}
		}
		u := 4 * p * (1 - p)
		for i, want := range []float64{p, p * p, u, u * u} {
			near(t, fmt.Sprintf("estimate %d at p = %v", i, p), got[i], want, 1e-12)
		}
	}
}

// TestCorrelations draws prompts that keep their p: without noise the
// correlations are 1, and with it smaller. The jackknife error of 1,000 prompts
// and 8 visits of 8 is trusted to a factor of 1.8 = 10/5.4: a normal figure
// strays by 5.4 true errors with probability 7e-8, by 6 figures below 1e-6. A
// correlation of .2 in place of 1 is missed with less, since errors stay below
// .04.
func TestCorrelations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var prompts []string
	for range 1000 {
		p := r.Float64()
		var digits strings.Builder
		for range 8 {
			s := 0
			for range 8 {
				if r.Float64() < p {
					s++
				}
			}
			fmt.Fprint(&digits, s)
		}
		prompts = append(prompts, digits.String())
	}
	d := Drifted(visits(8, prompts...))
	if len(d.Correlations) != 3 {
		t.Fatalf("%d lags, want 1, 2 and 5", len(d.Correlations))
	}
	for _, c := range d.Correlations {
		if c.Pairs != 1000*(8-c.Lag) || c.Prompts != 1000 {
			t.Errorf("lag %d: %d pairs of %d prompts", c.Lag, c.Pairs, c.Prompts)
		}
		for name, x := range map[string]Share{"p": c.P, "u": c.U} {
			if !(math.Abs(x.Mean-1) < 10*x.SE && x.SE < 0.04) {
				t.Errorf("lag %d: correlation of %s = %v ± %v, want 1", c.Lag, name, x.Mean, x.SE)
			}
		}
		if !(c.PlainP.Mean < 0.93 && c.PlainU.Mean < 0.7) {
			t.Errorf("lag %d: plain correlations %v and %v, want them smaller by the noise", c.Lag, c.PlainP.Mean, c.PlainU.Mean)
		}
	}
}

func TestWindow(t *testing.T) {
	tab := &table.Table{Name: "log.csv", HasTokens: true, Rows: []table.Row{
		{PromptID: "a", Step: 1, N: 2, S: 1, Outcomes: "10", Tokens: 10},
		{PromptID: "b", Step: 1, N: 4, S: 0, Tokens: 1},
		{PromptID: "a", Step: 3, N: 6, S: 6, Outcomes: "111111", Tokens: 30},
		{PromptID: "b", Step: 4, N: 1, S: 1, Outcomes: "1", Tokens: 1},
	}}
	if first, last := Steps(tab); first != 1 || last != 4 {
		t.Errorf("steps %d to %d, want 1 to 4", first, last)
	}
	w, err := Window(tab, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []table.Row{{PromptID: "a", N: 8, S: 7, Outcomes: "10111111", Tokens: 25}, {PromptID: "b", N: 4, Tokens: 1}}
	if fmt.Sprint(w.Rows) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", w.Rows, want)
	}
	if _, err := Window(tab, 5, 9); err == nil || !strings.Contains(err.Error(), "no row has a step in [5, 9], want one of its steps in [1, 4]") {
		t.Errorf("an empty window: error %v", err)
	}
	if first, last := Steps(visits(8, "0123")); first != 0 || last != 3 {
		t.Errorf("visits %d to %d, want 0 to 3", first, last)
	}
}

// TestDriftOfFewRollouts has two visits of 2 rollouts: transitions and the
// correlation of p, none of u. Of visits of one prompt alone, or of one
// rollout, only transitions are left, and of no second visit nothing.
func TestDriftOfFewRollouts(t *testing.T) {
	d := Drifted(visits(2, "00", "22", "01", "22"))
	if d == nil || len(d.Correlations) != 1 {
		t.Fatalf("drift of 2 rollouts a visit: %+v", d)
	}
	near(t, "all wrong next", d.Next[AllWrong][AllWrong].Mean, 0.5, 1e-15)
	c := d.Correlations[0]
	// p at the two visits: 0 0, 1 1, 0 .5, 1 1: covariance 2/4 - (1/2)(5/8),
	// squares without noise 2/4 and 2/4.
	near(t, "p", c.P.Mean, (0.5-0.5*0.625)/math.Sqrt((0.5-0.25)*(0.5-0.625*0.625)), 1e-12)
	if c.Pairs != 4 || c.Prompts != 4 || c.U.Prompts != 0 || !math.IsNaN(c.U.Mean) {
		t.Errorf("correlation %+v, want 4 pairs and none of u", c)
	}
	for name, d := range map[string]*Drift{"one prompt": Drifted(visits(8, "038")), "one rollout": Drifted(visits(1, "01", "11"))} {
		if d == nil || d.Correlations != nil || !(d.Next[AllWrong][AllWrong].Prompts == 1) {
			t.Errorf("%s: %+v, want transitions alone", name, d)
		}
	}
	if d := Drifted(visits(8, "3", "4")); d != nil {
		t.Errorf("no second visit: %+v, want none", d)
	}
}
