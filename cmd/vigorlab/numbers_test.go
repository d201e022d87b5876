package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim"
	"vigorlab/theory"
)

// distinctOutcome returns an outcome whose i-th named figure is i+1 ± (i+1)/100,
// so that no two figures can be taken for each other.
func distinctOutcome() sim.Outcome {
	o := sim.Outcome{Strategy: "vigor:m0=2"}
	for i, f := range o.Named() {
		f.Estimate.Mean, f.Estimate.SE = float64(i)+1, (float64(i)+1)/100
	}
	o.RolloutsPerPrompt.Mean, o.TrainedPerPrompt.Mean = 100, 50 // generates more than it trains on
	o.GroupSizes = []sim.SizeShare{{Size: 8, Share: sim.Estimate{Mean: 0.25, SE: 0.01}}}
	o.Screening = []sim.Screening{{
		Round: 1, FalseOmission: sim.Estimate{Mean: 0.1, SE: 0.01},
		FalseNegative: sim.Estimate{Mean: 0.2, SE: 0.01}, FalseNegativeCumulative: sim.Estimate{Mean: 0.3, SE: 0.01},
	}}
	o.Allocation = []sim.AllocationBin{{Low: 0, High: 0.05, Share: 0.5, Rollouts: sim.Estimate{Mean: 7, SE: 0.07}}}
	return o
}

// reread returns a document as a reader of its JSON has it.
func reread(t *testing.T, document any) map[string]any {
	t.Helper()
	content, err := output.JSON(document)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestComparisonNumbers checks that every figure arrives under its own name in
// every format.
func TestComparisonNumbers(t *testing.T) {
	o := distinctOutcome()
	c := &comparison{
		command: "simulate", population: "uniform", subject: output.Object{{Key: "population", Value: "uniform"}},
		Result: &sim.Result{Batch: 4, Replicates: 10, Seed: 3, Frontier: 0.75, Strategies: []sim.Outcome{o}},
	}
	document := reread(t, c.document())["strategies"].([]any)[0].(map[string]any)
	rows := map[string]output.Row{}
	for _, r := range c.rows() {
		rows[r.Figure+" "+r.At] = r
		if r.Seed != 3 || r.Replicates != 10 || r.Population != "uniform" || r.Strategy != o.Strategy {
			t.Errorf("row %+v", r)
		}
	}
	text := new(output.Text)
	c.text(text)
	check := func(name, row string, e sim.Estimate, inJSON any) {
		want := map[string]any{"mean": e.Mean, "se": e.SE}
		if !reflect.DeepEqual(inJSON, want) {
			t.Errorf("JSON %s = %v, want %v", name, inJSON, want)
		}
		if r := rows[row]; r.Value == nil || *r.Value != e.Mean || *r.SE != e.SE {
			t.Errorf("row %s = %+v, want %v ± %v", row, r, e.Mean, e.SE)
		}
	}
	for _, f := range o.Named() {
		check(f.Name, f.Name+" ", *f.Estimate, document[f.Name])
	}
	for _, line := range comparisonLines {
		want := strings.ReplaceAll(line.words, "UNIT", c.unit()) + " " + strings.ReplaceAll(output.Measured(figure(named(o.Named(), line.name))), " ", "")
		if !strings.Contains(squeeze(string(text.Bytes())), squeeze(want)) {
			t.Errorf("the table has no line %q:\n%s", want, text.Bytes())
		}
	}
	size := document["group_sizes"].([]any)[0].(map[string]any)
	check("group_sizes", "group_sizes.share size=8", o.GroupSizes[0].Share, size["share"])
	cut := document["screening"].([]any)[0].(map[string]any)
	check("false_omission", "screening.false_omission round=1", o.Screening[0].FalseOmission, cut["false_omission"])
	check("false_negative", "screening.false_negative round=1", o.Screening[0].FalseNegative, cut["false_negative"])
	check("cumulative", "screening.false_negative_cumulative round=1", o.Screening[0].FalseNegativeCumulative, cut["false_negative_cumulative"])
	bin := document["allocation"].([]any)[0].(map[string]any)
	check("allocation", "allocation.rollouts p=0..0.05", o.Allocation[0].Rollouts, bin["rollouts"])
	if line := squeeze("1 0.100 ± 0.010 0.200 ± 0.010 0.300 ± 0.010"); !strings.Contains(squeeze(string(text.Bytes())), line) {
		t.Errorf("no screening line in\n%s", text.Bytes())
	}
}

// squeeze drops all spaces.
func squeeze(text string) string { return strings.ReplaceAll(text, " ", "") }

// TestPredictionNumbers does the same for theory.
func TestPredictionNumbers(t *testing.T) {
	next := 0.0
	number := func() theory.Number {
		next++
		return theory.Number{Value: next}
	}
	etas := func() theory.Etas {
		return theory.Etas{
			ClosedForm: number(), Law: number(), FiniteBatch: number(), Noisy: number(),
			Cap: number(), LawCap: number(), CapBatch: number(),
		}
	}
	pair := func() theory.Pair { return theory.Pair{Strategy: number(), Fixed: number()} }
	p := &prediction{
		population: "uniform", strategy: "vigor", input: theory.Input{Batch: 4, Frontier: 0.75},
		Prediction: &theory.Prediction{
			Eta:      etas(),
			Progress: number(), RolloutsPerPrompt: number(), EtaGenerated: number(),
			Ineffective: pair(), ZeroVarianceGroups: pair(), Signal: pair(), SignalPromptMean: pair(),
			GroupSizes: []theory.SizeShare{{Size: 8, Share: 0.125}},
			Screening: []theory.ScreeningNumbers{{
				Round: 1, FalseOmission: number(), FalseNegative: number(), FalseNegativeCumulative: number(),
			}},
			Field: &theory.MeanField{Trained: 1, Rollouts: 2},
		},
	}
	for _, x := range theory.Exponents() {
		p.Speedup = append(p.Speedup, theory.Speedups{Exponent: x, Etas: etas()})
	}
	document := reread(t, p.document())
	rows := map[string]float64{}
	for _, r := range p.rows() {
		rows[strings.TrimSpace(r.Figure+" "+r.At)] = *r.Value
	}
	at := func(path string) any {
		var node any = document
		for step := range strings.SplitSeq(path, ".") {
			if list, ok := node.([]any); ok {
				node = list[0]
			}
			node = node.(map[string]any)[step]
		}
		return node
	}
	check := func(path, row string, n theory.Number) {
		if got := at(path); got != n.Value {
			t.Errorf("JSON %s = %v, want %v", path, got, n.Value)
		}
		if got := rows[row]; got != n.Value {
			t.Errorf("row %s = %v, want %v", row, got, n.Value)
		}
	}
	checkEtas := func(path string, e theory.Etas) {
		for key, n := range map[string]theory.Number{
			"closed_form": e.ClosedForm, "law": e.Law, "finite_batch": e.FiniteBatch, "noisy": e.Noisy,
			"cap": e.Cap, "law_cap": e.LawCap, "cap_batch": e.CapBatch,
		} {
			check(path+"."+key, path+"."+key, n)
		}
	}
	checkEtas("eta", p.Eta)
	for _, s := range p.Speedup {
		checkEtas("speedup."+s.Exponent.Name, s.Etas)
	}
	check("progress", "progress", p.Progress)
	check("rollouts_per_prompt", "rollouts_per_prompt", p.RolloutsPerPrompt)
	check("eta_generated", "eta_generated", p.EtaGenerated)
	for key, pair := range map[string]theory.Pair{
		"ineffective": p.Ineffective, "zero_variance_groups": p.ZeroVarianceGroups,
		"signal": p.Signal, "signal_prompt_mean": p.SignalPromptMean,
	} {
		check(key+".strategy", key+".strategy", pair.Strategy)
		check(key+".fixed", key+".fixed", pair.Fixed)
	}
	cut := p.Screening[0]
	check("screening.false_omission", "screening.false_omission round=1", cut.FalseOmission)
	check("screening.false_negative", "screening.false_negative round=1", cut.FalseNegative)
	check("screening.false_negative_cumulative", "screening.false_negative_cumulative round=1", cut.FalseNegativeCumulative)
	check("group_sizes.share", "group_sizes.share size=8", theory.Number{Value: 0.125})

	text := new(output.Text)
	p.text(text)
	lines := []string{
		fmt.Sprintf("noisy selection, infinite batch %v", p.Eta.Noisy.Value),
		fmt.Sprintf("cap of any allocation, this law %v", p.Eta.LawCap.Value),
		fmt.Sprintf("signal per rollout %v %v", p.Signal.Strategy.Value, p.Signal.Fixed.Value),
		fmt.Sprintf("zero-variance groups, share %v %v", p.ZeroVarianceGroups.Strategy.Value, p.ZeroVarianceGroups.Fixed.Value),
		fmt.Sprintf("progress, fixed group = 1 %v 1", p.Progress.Value),
		fmt.Sprintf("1 %v %v %v", cut.FalseOmission.Value, cut.FalseNegative.Value, cut.FalseNegativeCumulative.Value),
	}
	for i := range lines[:2] {
		for _, s := range p.Speedup {
			n := []theory.Number{s.Noisy, s.LawCap}[i]
			lines[i] += fmt.Sprintf(" %v", n.Value)
		}
	}
	for _, line := range lines {
		if !strings.Contains(squeeze(string(text.Bytes())), squeeze(line)) {
			t.Errorf("the table has no line %q:\n%s", line, text.Bytes())
		}
	}
}
