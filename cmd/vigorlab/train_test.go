package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/plots"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
)

// distinctTraining returns a trial of two arms in which no two numbers are the
// same, and those numbers by what they are.
func distinctTraining() (*training, map[string]float64) {
	want, next := map[string]float64{}, 100.0
	number := func(name string) *float64 {
		next++
		want[name] = next
		n := next
		return &n
	}
	figure := func(name string) trial.Figure {
		return trial.Figure{Estimate: number(name), Low: number(name + " low"), High: number(name + " high")}
	}
	measure := func(name, ratio string) trial.Measure {
		of := func(name string) trial.Ratio {
			return trial.Ratio{Figure: figure(name), Statistic: trial.StatisticMean}
		}
		m := trial.Measure{Median: figure(name), Ratio: of(ratio)}
		if within := of(ratio + "_within"); strings.HasPrefix(name, "vigor") {
			m.Within = &within
		}
		return m
	}
	mean := func(name string) sim.Estimate {
		return sim.Estimate{Mean: *number(name), SE: *number(name + " se")}
	}
	report := func(arm, at string, rate float64) *trial.Report {
		r := &trial.Report{Rate: rate}
		for _, level := range []float64{0.5, 0.75} {
			under := fmt.Sprintf("%s %s level %v ", arm, at, level)
			tokens, cost := measure(under+"tokens", under+"token_ratio"), measure(under+"cost", under+"cost_ratio")
			r.Levels = append(r.Levels, trial.LevelResult{
				Level: level, Reached: 3, Seeds: 4, Steps: figure(under + "steps"),
				Rollouts: measure(under+"rollouts", under+"ratio"), Tokens: &tokens, Cost: &cost,
			})
		}
		under := arm + " " + at + " "
		r.Probes = []trial.ProbeResult{{Quarter: 2, Seeds: 4, SNR: mean(under + "snr"), Bias: mean(under + "bias"), Length: mean(under + "length")}}
		r.Success = mean(under + "end")
		r.Diagnostics = []trial.Diagnostic{{Name: "held", Estimate: mean(under + "held"), Seeds: 4}, {Name: "m2", Estimate: sim.Estimate{Reason: "finite at no step"}}}
		r.Curve = []trial.CurveStep{{Step: 8, Series: []trial.Series{{
			Name: "success", Estimate: mean(under + "success"), Low: *number(under + "success low"), High: *number(under + "success high"), Seeds: 4,
		}}}}
		return r
	}
	t := &training{
		flags: &trainFlags{policy: "logit:floor=0", eval: evalTrained, prompts: 64, cfg: trial.DefaultConfig(), moves: map[string]float64{"rloo": 0.375}}, population: "uniform",
		Result: &trial.Result{Target: 0.75, Levels: []float64{0.5, 0.75}, Rates: []float64{1, 2}, ChooseSeeds: 2, Seeds: 4, Level: 0.95, Common: 0},
	}
	for i, arm := range []string{"fixed:g=8", "vigor:m0=2"} {
		a := trial.ArmResult{Strategy: arm, Estimator: "rloo", Aggregate: sim.AggregatePrompt, Optimizer: "sgd", Best: i}
		for _, rate := range t.Rates {
			a.Grid = append(a.Grid, trial.RateResult{Rate: rate, Reached: 1, Median: figure(fmt.Sprintf("%s grid %v", arm, rate)), Success: *number(fmt.Sprintf("%s grid %v success", arm, rate))})
		}
		a.Common = report(arm, atCommon, 1)
		a.Own = a.Common
		if i > 0 {
			a.Own = report(arm, atBest, 2)
		}
		t.Arms = append(t.Arms, a)
	}
	for _, generated := range []int{10, 14} { // 12 ± 2
		t.records = append(t.records, trial.Record{
			Job: trial.Job{Phase: trial.PhaseReport, Arm: 1, Rate: 1}, End: trial.Spent{Step: 2},
			Curve: []train.CurvePoint{{Ledger: rollout.Ledger{Generated: generated}}},
		})
	}
	return t, want
}

// TestTrainingNumbers checks that every figure arrives under its own name, arm and
// rate in the document and in the tidy table.
func TestTrainingNumbers(t *testing.T) {
	training, want := distinctTraining()
	document := reread(t, training.document())
	arms := document["arms"].([]any)
	if len(arms) != 4 {
		t.Fatalf("%d entries, want 2 arms at 2 rates", len(arms))
	}
	rows := map[string]trainRow{}
	for _, r := range training.rows() {
		key := fmt.Sprintf("%s %s %v %s", r.Strategy, r.At, r.LearningRate, r.Figure)
		if r.Level != nil {
			key += fmt.Sprintf(" %v", *r.Level)
		}
		if _, twice := rows[key]; twice {
			t.Errorf("two rows %s", key)
		}
		rows[key] = r
	}
	same := func(what string, got any, name string) {
		t.Helper()
		if p, ok := got.(*float64); ok && p != nil {
			got = *p
		}
		if number, ok := got.(float64); !ok || number != want[name] {
			t.Errorf("%s is %v, want %v, the %s", what, got, want[name], name)
		}
	}
	for _, one := range arms {
		e := one.(map[string]any)
		strategy, at, rate := e["strategy"].(string), e["at"].(string), e["learning_rate"].(float64)
		source := at
		if strategy == "fixed:g=8" {
			source = atCommon // the same report
		}
		key := fmt.Sprintf("%s %s %v ", strategy, at, rate)
		under := fmt.Sprintf("%s %s ", strategy, source)
		if move := rows[key+"log_odds_per_epoch"].Value; e["log_odds_per_epoch"] != rate*0.375 || move == nil || *move != rate*0.375 {
			t.Errorf("%s: log odds an epoch %v, in rows %v, want %v", key, e["log_odds_per_epoch"], move, rate*0.375)
		}
		for _, unit := range []string{"rollouts", "tokens", "cost", "steps"} {
			figure := e[unit+"_to_target"].(map[string]any)
			name := under + "level 0.75 " + unit
			same(key+unit, figure["median"], name)
			same(key+unit+" low", figure["low"], name+" low")
			same(key+unit+" high", figure["high"], name+" high")
			if figure["reached"] != 3.0 || figure["seeds"] != 4.0 {
				t.Errorf("%s%s: reached %v of %v", key, unit, figure["reached"], figure["seeds"])
			}
			for i, level := range []string{"0.5", "0.75"} {
				l := e["by_level"].([]any)[i].(map[string]any)
				same(key+unit+" at "+level, l[unit].(map[string]any)["median"], under+"level "+level+" "+unit)
				r := rows[key+"by_level."+unit+" "+level]
				same(key+unit+" row at "+level, r.Value, under+"level "+level+" "+unit)
				same(key+unit+" row's low at "+level, r.Low, under+"level "+level+" "+unit+" low")
				same(key+unit+" row's high at "+level, r.High, under+"level "+level+" "+unit+" high")
			}
		}
		for _, ratio := range []string{"ratio", "token_ratio", "cost_ratio"} {
			figure := e[ratio].(map[string]any)
			same(key+ratio, figure["estimate"], under+"level 0.75 "+ratio)
			same(key+ratio+" high", figure["high"], under+"level 0.75 "+ratio+" high")
			r := rows[key+"by_level."+ratio+" 0.5"]
			same(key+ratio+" row", r.Value, under+"level 0.5 "+ratio)
			if figure["statistic"] != trial.StatisticMean || r.Statistic != trial.StatisticMean {
				t.Errorf("%s%s: statistic %v", key, ratio, figure["statistic"])
			}
		}
		probe := e["probes"].([]any)[0].(map[string]any)
		for _, name := range []string{"snr", "bias", "length"} {
			same(key+name, probe[name].(map[string]any)["mean"], under+name)
			same(key+name+" row", rows[key+"probes."+name].Value, under+name)
			same(key+name+" row's error", rows[key+"probes."+name].SE, under+name+" se")
		}
		same(key+"success at the end", e["success"].(map[string]any)["mean"], under+"end")
		same(key+"success at the end's row", rows[key+"success"].Value, under+"end")
		held, none := e["diagnostics"].([]any)[0].(map[string]any), e["diagnostics"].([]any)[1].(map[string]any)
		same(key+"held", held["mean"], under+"held")
		same(key+"held's error", held["se"], under+"held se")
		same(key+"held row", rows[key+"diagnostics.held"].Value, under+"held")
		same(key+"held row's error", rows[key+"diagnostics.held"].SE, under+"held se")
		if held["name"] != "held" || none["mean"] != nil || none["reason"] != "finite at no step" || rows[key+"diagnostics.m2"].Reason == "" {
			t.Errorf("%sdiagnostics %v and %v, want null with a reason", key, held, none)
		}
		success := e["curve"].([]any)[0].(map[string]any)["success"].(map[string]any)
		same(key+"success", success["mean"], under+"success")
		same(key+"success high", success["high"], under+"success high")
		same(key+"success row's low", rows[key+"curve.success"].Low, under+"success low")
		if generated := e["ledger"].(map[string]any)["generated"].(map[string]any); strategy == "vigor:m0=2" && at == atBest && (generated["mean"] != 12.0 || generated["se"] != 2.0) {
			t.Errorf("ledger: %v generated, want 12 ± 2", generated)
		}
	}
	for _, one := range document["grids"].([]any) {
		g := one.(map[string]any)
		name := fmt.Sprintf("%s grid %v", g["strategy"], g["learning_rate"])
		same(name, g["rollouts_to_target"].(map[string]any)["median"], name)
		same(name+" success", g["success"], name+" success")
		same(name+" row", rows[name+" grids.rollouts_to_target 0.75"].Value, name)
		same(name+" success row", rows[name+" grids.success"].Value, name+" success")
	}
}

// TestTrainingText checks the table: whose figures stand beside whose name, at
// which rate.
func TestTrainingText(t *testing.T) {
	training, want := distinctTraining()
	text := textOf(training.result())
	own, common, ok := strings.Cut(text, "all at 1, the reference's best rate of the grid:")
	if !ok {
		t.Fatal("no table at the common rate")
	}
	for _, c := range []struct{ part, name, at string }{{own, "vigor:m0=2", atBest}, {common, "vigor:m0=2", atCommon}} {
		row, move := "", map[string]string{atBest: " 0.75 ", atCommon: " 0.38 "}[c.at]
		for line := range strings.Lines(c.part) {
			if strings.HasPrefix(line, c.name+" ") && strings.Contains(line, "3 of 4") {
				row = line
			}
		}
		if !strings.Contains(row, move) {
			t.Errorf("%s at %s: no%sin %q", c.name, c.at, move, row)
		}
		for _, figure := range []string{"rollouts", "rollouts low", "rollouts high", "ratio", "ratio low", "ratio high"} {
			if n := fmt.Sprint(want[c.name+" "+c.at+" level 0.75 "+figure]); !strings.Contains(row, n) {
				t.Errorf("%s at %s: no %s %s in %q", c.name, c.at, figure, n, row)
			}
		}
	}
}

// TestLagLines: arms that differ in the lag alone make a line, by lag; names leave
// out what all lines share, and what a system has by default.
func TestLagLines(t *testing.T) {
	tr, want := distinctTraining()
	template := tr.Arms[1]
	tr.Arms = tr.Arms[:1]
	for _, system := range []string{
		"m2po:lag=64,updates=4,rule=paper,tau=0.04", "m2po:lag=8,updates=4,rule=clip,clip=0.2", "m2po:lag=8,updates=4,rule=paper,tau=0.04",
		"m2po:lag=16,updates=4,rule=clip,clip=0.2", "m2po:lag=16,updates=4,rule=none", "saturated:level=advantage,pad=8",
	} {
		a := template
		a.System = system
		tr.Arms = append(tr.Arms, a)
	}
	lines := tr.lagLines()
	if len(lines) != 2 || lines[0].label != "vigor:m0=2, m2po" || lines[1].label != "vigor:m0=2, m2po:rule=clip" {
		t.Fatalf("%+v, want the paper's rule and clipping", lines)
	}
	for i, lags := range [][2]int{{8, 64}, {8, 16}} {
		if a := lines[i].arms; len(a) != 2 || a[0].lag != lags[0] || a[1].lag != lags[1] || !strings.Contains(a[0].System, fmt.Sprintf("lag=%d,", lags[0])) {
			t.Errorf("%s: %+v, want lags %v", lines[i].label, a, lags)
		}
	}
	p := tr.lagPicture().data.Panels
	end, rollouts := p[0].Lines[0].First[1], p[1].Lines[0].First[1]
	if end.X != 64 || end.Y != want["vigor:m0=2 best end"] || rollouts.Y != want["vigor:m0=2 best level 0.75 rollouts"] || rollouts.Low != want["vigor:m0=2 best level 0.75 rollouts low"] {
		t.Errorf("%+v and %+v, want success at the end and rollouts to the target at lag 64", end, rollouts)
	}
	if g := tr.lagGrid(); len(g.Rows) != 4 || g.Rows[1][1] != "64" || g.Rows[1][3] != output.Measured(figure(lines[0].arms[1].report.Success)) {
		t.Errorf("%v", g.Rows)
	}
}

// TestSystemPictures: every system's figures have a panel with the arms that
// report it.
func TestSystemPictures(t *testing.T) {
	tr, _ := distinctTraining()
	tr.Arms[1].System = "nested-reft:skip=0.1,weight=importance,baseline=raw,pass=0.1"
	for _, r := range []*trial.Report{tr.Arms[0].Common, tr.Arms[1].Own} {
		r.Curve[0].Series = append(r.Curve[0].Series, trial.Series{Name: "system_chi_square", Estimate: sim.Estimate{Mean: 7}, Low: 6, High: 8, Seeds: 2})
	}
	i := 0
	for _, p := range tr.pictures() {
		if !strings.HasPrefix(p.name, "system-diagnostics") {
			continue
		}
		i++
		if p.name != "system-diagnostics-nested-reft" || !strings.HasPrefix(p.caption, "A reconstruction. ") || !strings.Contains(p.caption, "exact, their mean (in the results: chi_square)") || len(p.data.Panels) != 1 || len(p.data.Panels[0].Lines) != 1 {
			t.Fatalf("%+v, want one panel of one arm, labelled", p)
		}
		if got := p.data.Panels[0].Y; !strings.HasPrefix(got, "χ^{2} of π to μ") {
			t.Errorf("the axis is %q, want words and a symbol", got)
		}
		if q := p.data.Panels[0].Lines[0].First; len(q) != 1 || q[0] != (plots.Point{X: 8, Y: 7, Low: 6, High: 8}) {
			t.Errorf("%+v", q)
		}
	}
	if i != 1 {
		t.Errorf("%d pictures of systems, want 1", i)
	}
}

// TestDiagnosticsHaveTitles: what systems report has words for an axis, not its key.
func TestDiagnosticsHaveTitles(t *testing.T) {
	for _, s := range train.Systems() {
		for _, d := range s.Diagnostics {
			if len(d.Title) < 8 || strings.Contains(d.Title, d.Name) {
				t.Errorf("%s: %s has the title %q", s.Name, d.Name, d.Title)
			}
		}
	}
}

// TestBandsOfSeeds: a band along training is that of two seeds or more, and the
// captions claim no other.
func TestBandsOfSeeds(t *testing.T) {
	for _, seeds := range []int{1, 2} {
		tr, _ := distinctTraining()
		for i := range tr.Arms {
			for _, r := range []*trial.Report{tr.Arms[i].Common, tr.Arms[i].Own} {
				for c := range r.Curve {
					for s := range r.Curve[c].Series {
						r.Curve[c].Series[s].Seeds = seeds
					}
				}
			}
		}
		curves := 0
		for _, p := range tr.pictures() {
			band := strings.Contains(p.caption, curveBand)
			if band != (p.curve && seeds > 1) {
				t.Errorf("%d seeds: %s says %q", seeds, p.name, p.caption)
			}
			if bounded := (&figures.Figure{Data: &p.data}).Bounded(); p.curve && bounded != (seeds > 1) {
				t.Errorf("%d seeds: %s has a band: %v", seeds, p.name, bounded)
			}
			if p.curve {
				curves++
			}
		}
		if curves == 0 {
			t.Error("no picture along training")
		}
	}
}

// TestSlowRates: only rates of the user's own are warned of, those that move little
// always, others below auto's where nothing was reached.
func TestSlowRates(t *testing.T) {
	for _, c := range []struct {
		rate    string
		move    float64
		reached int
		want    []string
	}{
		{"1,2", 0.004, 3, []string{"--lr 1 moves log odds by up to 0.004 an epoch: nothing will be learnt; auto starts at 1/4", "--lr 2 moves log odds by up to 0.008 an epoch"}},
		{"1,2", 0.006, 3, []string{"--lr 1 moves"}},
		{"1,2", 0.006, 0, []string{"--lr 1 moves", "no run reached the target, at rates that move log odds by up to 0.012 an epoch"}},
		{"1,2", 0.15, 0, nil},
		{rateAuto, 0.004, 0, nil},
	} {
		tr, _ := distinctTraining()
		tr.flags.rate, tr.flags.moves = c.rate, map[string]float64{"rloo": c.move}
		for _, e := range tr.entries() {
			target(e.report).Reached = c.reached
		}
		got := tr.slowRates()
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", c, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%q, want %q", got[i], c.want[i])
			}
		}
	}
}

// TestWithinText: the ratio within a system has a block of its own, here and in the
// report.
func TestWithinText(t *testing.T) {
	tr, want := distinctTraining()
	row := fmt.Sprint(want["vigor:m0=2 best level 0.75 ratio_within"])
	for _, text := range []string{textOf(tr.result()), string(tr.report())} {
		_, block, ok := strings.Cut(text, "Ratio to fixed:g=8 under the same system")
		if !ok || !strings.Contains(block, row) || strings.Contains(text[:len(text)-len(block)], row) {
			t.Errorf("no block of its own with %s in %q", row, text)
		}
	}
}

// TestPlateau: a grid whose largest rates are alike is not to be extended.
func TestPlateau(t *testing.T) {
	ratio := func(low, high float64) *trial.Ratio {
		estimate := math.Sqrt(low * high)
		return &trial.Ratio{Figure: trial.Figure{Estimate: &estimate, Low: &low, High: &high}}
	}
	for _, c := range []struct {
		gain *trial.Ratio
		want string
	}{
		{ratio(0.5, 2), "a plateau: it cannot be told from the rate below, which spends 1 times as many rollouts ([0.5, 2])"},
		{ratio(1.1, 2), "a better one may lie beyond: give --lr a grid such as 2,4,8,16"},
		{ratio(0.5, 0.9), "a better one may lie beyond"},
		{&trial.Ratio{}, "a better one may lie beyond"},
		{nil, "a better one may lie beyond"},
	} {
		tr, _ := distinctTraining()
		tr.flags.objective.KL = 0.1
		if got := tr.beyond(&trial.ArmResult{Edge: "highest", Gain: c.gain}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestUnlikeUpdates: an arm of other updates a step, and one whose runs end within
// three lags of updates, are warned of.
func TestUnlikeUpdates(t *testing.T) {
	for _, c := range []struct {
		system string
		steps  int
		want   []string
	}{
		{"", 1, nil},
		{"m2po:lag=8,updates=4,rule=none", 7, []string{"a makes 4 updates a step, the reference 1,"}},
		{"m2po:lag=8,updates=4,rule=none", 6, []string{"a makes 4 updates", "a: 1 of 1 runs ended within 3 lags"}},
		{"m2po:lag=0,updates=1,rule=none", 1, nil},
		{"m2po:lag=8,updates=1,rule=none", 24, []string{"a: 1 of 1 runs ended"}},
		{"m2po:lag=8,updates=1,rule=none", 25, nil},
	} {
		tr, _ := distinctTraining()
		tr.Arms[1].System = c.system
		record := func(phase string, arm, steps int) trial.Record {
			return trial.Record{Job: trial.Job{Phase: phase, Arm: arm}, End: trial.Spent{Step: steps}}
		}
		tr.records = []trial.Record{record(trial.PhaseChoose, 1, 1), record(trial.PhaseReport, 0, 1), record(trial.PhaseReport, 1, c.steps)}
		got := tr.unlikeUpdates([]string{"r", "a"})
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", c, got)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%q, want %q", got[i], c.want[i])
			}
		}
	}
}

// TestInks: an arm keeps its colour where the reference is left out.
func TestInks(t *testing.T) {
	tr, _ := distinctTraining()
	for _, p := range tr.pictures() {
		for _, q := range p.data.Panels {
			for _, l := range q.Lines {
				if ink, ok := p.data.Inks[l.Label]; !ok || ink != map[string]int{"fixed:g=8": 0, "vigor:m0=2": 1}[l.Label] {
					t.Errorf("%s: %s has colour %d, %v", p.name, l.Label, ink, ok)
				}
			}
		}
		if alt := p.alt(); !strings.Contains(alt, " against "+p.data.X) || !strings.Contains(alt, "vigor:m0=2") || !strings.Contains(string(tr.report()), "!["+alt+"](figures/"+p.name+".png)") {
			t.Errorf("%s: %q", p.name, alt)
		}
	}
}

// TestGoingOn: an interrupt says how to go on where a directory keeps the runs, and
// the next command from where.
func TestGoingOn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	var stderr bytes.Buffer
	a := &app{stderr: &stderr}
	f := &trainFlags{}
	f.out = out
	for _, want := range []string{"", "vigorlab: going on after the 1 runs that " + out + " keeps\n"} {
		stderr.Reset()
		record, err := f.record(a, "train", newCommandLine("train"), output.Object{})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := rundir.Resume(out, record, false)
		if err != nil {
			t.Fatal(err)
		}
		var records []trial.Record
		if err := f.journal(a, d, &records); err != nil {
			t.Fatal(err)
		}
		if got := stderr.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := f.cfg.Save(&trial.Record{}); err != nil {
			t.Fatal(err)
		}
		if err := d.End(context.Canceled); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	stderr.Reset()
	code := exitCode(&stderr, &stoppedError{context.Canceled, "run", "the runs that are finished"})
	if got, want := stderr.String(), "vigorlab: interrupted\nhint: give the same command again to go on; run keeps the runs that are finished\n"; code != exitInterrupted || got != want {
		t.Errorf("%d, %q, want %q", code, got, want)
	}
}

// TestFinding: the sentence follows from the interval.
func TestFinding(t *testing.T) {
	f := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	for _, c := range []struct {
		estimate, low, high float64
		want                string
	}{
		{1.5, 1.1, 2, "a needs fewer rollouts than r: the reference spends 1.5 times as many ([1.1, 2])."},
		{0.5, 0.4, 0.9, "a needs more rollouts than r: the reference spends 0.5 times as many ([0.4, 0.9])."},
		{1, 1, 1, "a is identical to r on every seed, in the rollouts that it needs."},
		{1.5, 0.9, 2, "a cannot be told from r: the reference spends 1.5 times as many ([0.9, 2])."},
		{1.5, 1, 2, "a cannot be told from r"},
		{math.NaN(), 1.2, math.NaN(), "a needs fewer rollouts than r: the interval of the ratio is [1.2, -]."},
		{math.NaN(), math.NaN(), math.NaN(), "a has no ratio: why."},
		{1.2, math.NaN(), math.NaN(), "a: the reference spends 1.2 times as many rollouts, without an interval: why."},
	} {
		l := &trial.LevelResult{Rollouts: trial.Measure{Ratio: trial.Ratio{Figure: trial.Figure{Estimate: f(c.estimate), Low: f(c.low), High: f(c.high), Reason: "why"}}}}
		if got := finding("a", "r", l); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func textOf[R any](r result[R]) string {
	x := &output.Text{}
	r.text(x)
	return string(x.Bytes())
}
