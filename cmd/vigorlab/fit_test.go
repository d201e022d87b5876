package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/fit"
	"vigorlab/plots"
)

// fitOf fits three families to a small table.
func fitOf(t *testing.T) *fitted {
	t.Helper()
	counts, err := fit.NewCounts([]fit.Cell{
		{N: 8, S: 0, Prompts: 20}, {N: 8, S: 1, Prompts: 6}, {N: 8, S: 3, Prompts: 9}, {N: 8, S: 5, Prompts: 4}, {N: 8, S: 8, Prompts: 11},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := fit.Run(t.Context(), counts, fit.Options{
		Families: []string{fit.ParetoVariance, fit.Beta, fit.NPMLE}, Replicates: 9, Workers: 1,
		Streams: func(purpose string, k int) *rand.Rand { return rand.New(rand.NewPCG(uint64(len(purpose)), uint64(k))) },
	})
	if err != nil {
		t.Fatal(err)
	}
	share := fit.Share{Mean: 0.25, SE: 0.125, Prompts: 8}
	drift := &fit.Drift{Correlations: []fit.Correlation{{
		Lag: 2, Pairs: 9, PlainP: fit.Share{Mean: 1, SE: 2}, P: fit.Share{Mean: 3, SE: 4}, PlainU: fit.Share{Mean: 5, SE: 6}, U: fit.Share{Mean: 7, SE: 8},
	}}}
	drift.Next[fit.Mixed][fit.AllWrong] = share
	return &fitted{table: "t.csv", replicates: 9, seed: 3, drift: drift, sizing: &sizing{sizesFlags: &sizesFlags{}}, Result: r}
}

// at follows a path of keys and places.
func at(t *testing.T, node any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			node = node.(map[string]any)[step]
		case int:
			node = node.([]any)[step]
		}
	}
	return node
}

// TestFitNumbers compares the document and the rows with the result, number by
// number.
func TestFitNumbers(t *testing.T) {
	r := fitOf(t)
	content, err := output.JSON(r.document())
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	check := func(want any, path ...any) {
		t.Helper()
		if got := at(t, document, path...); !reflect.DeepEqual(got, want) {
			t.Errorf("%v = %v, want %v", path, got, want)
		}
	}
	for i, f := range r.Fits {
		check(f.Family, "families", i, "family")
		check(f.LogLik, "families", i, "loglik")
		check(f.P, "families", i, "gof_p")
		check(f.PError, "families", i, "gof_p_se")
		check(f.Distance, "families", i, "gof_statistic")
		for _, p := range f.Parameters {
			check(p.Estimate, "families", i, "parameters", p.Name, "estimate")
			check(p.Low, "families", i, "parameters", p.Name, "low")
			check(p.High, "families", i, "parameters", p.Name, "high")
		}
		for key, x := range map[string]fit.Interval{"mean_p": f.MeanP, "mean_u": f.MeanU, "gain": f.Gain} {
			check(x.Estimate, "families", i, key, "estimate")
			check(x.Low, "families", i, key, "low")
			check(x.High, "families", i, key, "high")
		}
		for k, g := range fit.GroupSizes() {
			check(float64(g), "families", i, "zero_variance", k, "g")
			check(f.ZeroVariance[k].Estimate, "families", i, "zero_variance", k, "predicted")
		}
		check(r.Observed[1].Mean, "families", i, "zero_variance", 1, "observed")
		check(r.Observed[1].SE, "families", i, "zero_variance", 1, "se")
	}
	check(r.Fits[0].Spec, "families", 0, "spec")
	check("table:path=t.csv,smooth=npmle", "families", 2, "spec")
	check(r.Fits[2].Atoms[0].W, "families", 2, "atoms", 0, "weight")
	check(r.Fits[1].AIC, "families", 1, "aic")
	check(r.PluginGain, "gain", "plugin")
	check(r.best().Gain.Estimate, "gain", "fitted")
	check(r.best().Family, "gain", "family")
	if r.Fits[1].AIC < r.Fits[0].AIC != (r.best() == &r.Fits[1]) {
		t.Errorf("best by AIC: %s", r.best().Family)
	}
	check(r.Comparisons[0].Difference, "comparisons", 0, "difference")
	check(r.Folded.Fits[1].LogLik, "folded", "families", 1, "loglik")
	check(r.Hill[0].Estimate, "hill", "points", 0, "estimate")
	check(hillWarning, "hill", "warning")
	check([]any{map[string]any{"from": "mixed", "to": "all_wrong", "share": 0.25, "se": 0.125, "groups": 8.}}, "drift", "next")
	for i, key := range []string{"p_recorded", "p", "u_recorded", "u"} {
		check(map[string]any{"mean": float64(2*i + 1), "se": float64(2*i + 2)}, "drift", "correlations", 0, key)
	}
	r.checkRows(t)
}

// checkRows compares some rows.
func (r *fitted) checkRows(t *testing.T) {
	t.Helper()
	rows := map[string]output.Row{}
	for _, row := range r.rows() {
		rows[row.Strategy+" "+row.Figure+" "+row.At] = row
	}
	beta := r.Fits[1]
	for key, want := range map[string]fit.Interval{
		"beta parameters.a ":                 {Estimate: beta.Parameters[0].Estimate, Low: beta.Parameters[0].Low, High: beta.Parameters[0].High},
		"beta gain ":                         beta.Gain,
		"npmle zero_variance.predicted g=16": r.Fits[2].ZeroVariance[3],
		"pareto-variance parameters.hard ":   {Estimate: r.Fits[0].Parameters[2].Estimate, Low: r.Fits[0].Parameters[2].Low, High: r.Fits[0].Parameters[2].High},
	} {
		row, ok := rows[key]
		if !ok || fmt.Sprint(*row.Value, *row.Low, *row.High, *row.Level) != fmt.Sprint(want.Estimate, want.Low, want.High, 0.95) {
			t.Errorf("row %q: %+v, want %+v", key, row, want)
		}
	}
	if row := rows[" drift.next from=mixed,to=all_wrong"]; row.Value == nil || *row.Value != 0.25 || *row.SE != 0.125 {
		t.Errorf("drift: %+v", row)
	}
	if row := rows["npmle aic "]; row.Value != nil || row.Reason != noAIC {
		t.Errorf("AIC of npmle: %+v", row)
	}
}

// TestFitFigures looks at what reaches the figures.
func TestFitFigures(t *testing.T) {
	r := fitOf(t)
	var names []string
	for _, f := range r.drawings().figures {
		names = append(names, f.Name)
		if _, notes, err := f.Pictures(figures.Look{Style: plots.Paper()}); err != nil || len(notes) > 0 {
			t.Errorf("figure %s: %v, %q", f.Name, err, notes)
		}
	}
	if fmt.Sprint(names) != "[counts zero-variance hill]" {
		t.Errorf("figures %v", names)
	}
	var families []string
	for _, f := range r.drawn() {
		families = append(families, f.Family)
	}
	if len(families) != 3 || families[0] != r.best().Family {
		t.Errorf("laws drawn: %v", families)
	}
}

func TestWindowFlag(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, last int
		ok          bool
	}{
		{"3", 8, 10, true},
		{"2:5", 2, 5, true},
		{"5:5", 5, 5, true},
		{"0", 0, 0, false},
		{"5:2", 0, 0, false},
		{"a:2", 0, 0, false},
		{":", 0, 0, false},
	} {
		first, last, ok := window(c.text, 10)
		if ok != c.ok || ok && (first != c.first || last != c.last) {
			t.Errorf("window %q of steps up to 10: [%d, %d], %v", c.text, first, last, ok)
		}
	}
}

// TestFitStreams wants replicates that differ, and that the seed reaches them.
func TestFitStreams(t *testing.T) {
	path := outcomesFile(t, t.TempDir())
	gain := func(seed string) (low, high float64) {
		document, _ := runJSON(t, "fit", path, "--family", "beta", "--replicates", "9", "--seed", seed)
		g := at(t, document, "families", 0, "gain")
		return at(t, g, "low").(float64), at(t, g, "high").(float64)
	}
	low, high := gain("1")
	if !(low < high) {
		t.Errorf("gain in [%v, %v]: the replicates do not differ", low, high)
	}
	if again, _ := gain("1"); again != low {
		t.Errorf("gain from %v, then from %v, under one seed", low, again)
	}
	if other, _ := gain("2"); other == low {
		t.Errorf("gain from %v under two seeds", low)
	}
}
