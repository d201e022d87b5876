package trial

import (
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/train"
)

// TestCurve: two seeds, one of every step and one of every other, meet at the
// steps that both have, with what happened in between summed.
func TestCurve(t *testing.T) {
	point := func(step, groups, equal int, success float64) train.CurvePoint {
		p := train.CurvePoint{
			Step: step, Ledger: rollout.Ledger{Generated: 8 * step}, Cost: 4 * float64(step), Success: success,
			Groups: groups, EqualGroups: equal, Rollouts: 8 * groups, EqualRollouts: 8 * equal, SumSuccess: float64(groups) / 2,
		}
		p.Asked[2], p.Asked[9] = groups, 3*groups
		return p
	}
	records := []Record{
		{Interval: 1, End: Spent{Step: 5}, Curve: []train.CurvePoint{
			point(0, 0, 0, 0.2), point(1, 2, 1, 0.3), point(2, 2, 1, 0.4), point(3, 2, 2, 0.5), point(4, 2, 0, 0.6), point(5, 2, 2, 0.7),
		}},
		{Interval: 2, End: Spent{Step: 7}, Curve: []train.CurvePoint{
			point(0, 0, 0, 0.2), point(2, 4, 3, 0.6), point(4, 0, 0, 0.6), point(6, 4, 3, 0.8), point(7, 2, 1, 0.9),
		}},
	}
	steps := curve(records)
	if len(steps) != 3 {
		t.Fatalf("%d steps, want 0, 2 and 4", len(steps))
	}
	named := func(c CurveStep, name string) *Series {
		for i := range c.Series {
			if c.Series[i].Name == name {
				return &c.Series[i]
			}
		}
		return nil
	}
	check := func(k int, name string, mean, se float64, seeds int) {
		t.Helper()
		s := named(steps[k], name)
		if s == nil || !(math.Abs(s.Mean-mean) < 1e-12) || !(math.Abs(s.SE-se) < 1e-12 || math.IsNaN(s.SE) && math.IsNaN(se)) || s.Seeds != seeds || steps[k].Step != 2*k {
			t.Errorf("step %d: %s %+v, want %v ± %v of %d seeds", steps[k].Step, name, s, mean, se, seeds)
		}
	}
	check(0, "success", 0.2, 0, 2)
	check(1, "success", 0.5, 0.1, 2)
	check(1, "rollouts", 16, 0, 2)
	check(1, "cost", 8, 0, 2)
	check(1, "zero_variance_groups", 0.625, 0.125, 2) // 2/4 and 3/4
	check(1, "ineffective", 0.625, 0.125, 2)
	check(1, "curriculum", 0.125, 0, 2) // (groups/2)/(4 groups)
	check(1, "rollouts_at_p_2", 0.25, 0, 2)
	check(1, "rollouts_at_p_9", 0.75, 0, 2)
	check(2, "zero_variance_groups", 0.5, math.NaN(), 1) // the other trained on nothing
	if s := named(steps[0], "zero_variance_groups"); s != nil {
		t.Errorf("%+v before any group", s)
	}
	if s := named(steps[1], "success"); !(math.Abs(s.Low-0.42) < 1e-12 && math.Abs(s.High-0.58) < 1e-12) {
		t.Errorf("band %+v, want [.42, .58]", s)
	}
	for _, name := range []string{"tokens", "held_out"} {
		if s := named(steps[1], name); s != nil {
			t.Errorf("%s %+v of runs that have none", name, s)
		}
	}
}

// TestProbeResult works the figures out by hand, and their errors by the bootstrap.
func TestProbeResult(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 5))
	var probes []*train.Probe
	for range 400 {
		exact, along := 4+0.3*r.NormFloat64(), 3+0.5*r.NormFloat64()
		signal := 9 + r.NormFloat64()
		probes = append(probes, &train.Probe{Success: 0.5, Rollouts: 64, Signal: signal, Square: signal + 36 + 6*r.NormFloat64(), Exact: &exact, Along: &along})
	}
	got := probeResult(2, probes, 0.95)
	figures := func(p []*train.Probe) [3]float64 {
		var signal, square, along, exact float64
		for _, p := range p {
			signal += p.Signal
			square += p.Square
			along += *p.Along
			exact += *p.Exact
		}
		return [3]float64{signal / (square - signal), 1 - along/math.Sqrt(signal*exact), math.Sqrt(signal / exact)}
	}
	want := figures(probes)
	var samples [3][]float64
	for range 2000 {
		sample := make([]*train.Probe, len(probes))
		for i := range sample {
			sample[i] = probes[r.IntN(len(probes))]
		}
		for k, v := range figures(sample) {
			samples[k] = append(samples[k], v)
		}
	}
	for k, e := range []struct{ mean, se float64 }{{got.SNR.Mean, got.SNR.SE}, {got.Bias.Mean, got.Bias.SE}, {got.Length.Mean, got.Length.SE}} {
		// The spread of 2,000 resamples has an error of 1.6 %: 8 % is five of them.
		if se := spread(samples[k]); !(math.Abs(e.mean-want[k]) < 1e-12) || !(math.Abs(e.se/se-1) < 0.08) {
			t.Errorf("figure %d: %+v, want %v ± %v", k, e, want[k], se)
		}
	}
	if got.Quarter != 2 || got.Seeds != 400 || !(math.Abs(got.Success-0.5) < 1e-12) || !(math.Abs(got.Rollouts-64) < 1e-9) {
		t.Errorf("%+v", got)
	}
	for i := range probes {
		probes[i].Exact, probes[i].Along, probes[i].Why = nil, nil, "no limit"
	}
	if r := probeResult(0, probes, 0.95); r.SNR.Reason != "" || r.Bias.Reason != "no limit" || r.Length.Reason != "no limit" {
		t.Errorf("without an exact gradient: %+v", r)
	}
	for i := range probes {
		probes[i].Signal = 10 * r.NormFloat64()
	}
	if r := probeResult(0, probes[:20], 0.95); r.SNR.Reason == "" || r.Bias.Reason == "" {
		t.Errorf("noise alone: %+v", r)
	}
}

// spread returns the standard deviation.
func spread(v []float64) float64 {
	s := series("", v)
	return s.SE * math.Sqrt(float64(len(v)))
}

// TestUnits: where a rollout costs less than one of the full policy, or has tokens,
// both are measured apart; a run that diverged never reaches the level.
func TestUnits(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Seeds = 3
	tr := &trial{cfg: &cfg, levels: []float64{0.9}}
	record := func(rollouts int, cost float64, reached bool) Record {
		spent := Spent{Step: rollouts / 8, Rollouts: rollouts, Tokens: 3 * rollouts, Cost: cost}
		r := Record{Levels: []*Spent{nil}, End: spent}
		if reached {
			r.Levels[0] = &spent
		}
		return r
	}
	reference := []Record{record(80, 80, true), record(160, 160, true), record(240, 240, true)}
	own := []Record{record(80, 40, true), record(160, 80, true), record(240, 120, true)}
	l := tr.levelResult(0, own, &bases{reference: reference}, true, true)
	if *l.Rollouts.Ratio.Estimate != 1 || !(math.Abs(*l.Cost.Ratio.Estimate-2) < 1e-12) || *l.Cost.Median.Estimate != 80 || *l.Tokens.Median.Estimate != 480 || *l.Steps.Estimate != 20 || l.Reached != 3 {
		t.Errorf("%+v", l)
	}
	held := 0.3
	own[0].Success, own[0].HeldOut = 0.7, &held
	for _, heldOut := range []bool{false, true} {
		cfg.Train.HeldOut = heldOut
		if got, want := tr.rateResult(1, own[:1]).Success, map[bool]float64{false: 0.7, true: held}[heldOut]; got != want {
			t.Errorf("held out %v: success %v, want %v", heldOut, got, want)
		}
	}
	own[1] = record(8, 8, false) // an early end, not a fast one
	own[1].Diverged = &Diverged{Step: 1, Quantity: "gradient", Value: "NaN"}
	l = tr.levelResult(0, own, &bases{reference: reference}, false, false)
	if l.Tokens != nil || l.Cost != nil || l.Reached != 2 || *l.Rollouts.Median.Estimate != 240 || l.Rollouts.Ratio.Statistic != StatisticMedian || *l.Rollouts.Ratio.Estimate != 1 {
		t.Errorf("%+v, median %v", l, orInf(l.Rollouts.Median.Estimate))
	}
}

// TestDiagnostics by hand: means over a run weigh intervals by their steps; a run
// without the figure does not count; summing up changes no record.
func TestDiagnostics(t *testing.T) {
	sums := func(held, steps float64, chi2Steps int) []train.DiagnosticSum {
		return []train.DiagnosticSum{{Name: "held", Sum: held, Steps: int(steps)}, {Name: "chi2", Sum: 5 * float64(chi2Steps), Steps: chi2Steps}, {Name: "never"}}
	}
	records := []Record{
		{Interval: 2, Curve: []train.CurvePoint{{}, {Step: 2, Diagnostics: sums(3, 2, 0)}, {Step: 3, Diagnostics: sums(6, 1, 0)}}}, // held 9/3
		{Interval: 1, Curve: []train.CurvePoint{{}, {Step: 1, Diagnostics: sums(4, 1, 1)}, {Step: 2, Diagnostics: sums(6, 1, 1)}}}, // held 10/2, chi2 10/2
	}
	for range 2 {
		d := diagnostics(records)
		if len(d) != 3 || d[0].Name != "held" || d[0].Mean != 4 || math.Abs(d[0].SE-1) > 1e-12 || d[0].Seeds != 2 {
			t.Errorf("%+v, want held 4 ± 1 of 2 seeds", d)
		}
		if d[1].Mean != 5 || !math.IsNaN(d[1].SE) || d[1].Seeds != 1 || d[2].Reason == "" || d[2].Seeds != 0 {
			t.Errorf("%+v, want chi2 5 of one seed, and nothing of none", d)
		}
		last := curve(records)[1].Series
		s := last[len(last)-2]
		if s.Name != "system_held" || s.Mean != 3.25 || s.Seeds != 2 { // 3/2 and 10/2
			t.Errorf("%+v, want 3.25 at step 2", s)
		}
		if last[len(last)-1].Name != "system_chi2" || last[len(last)-1].Mean != 5 {
			t.Errorf("%+v, want chi2 of one seed at step 2", last[len(last)-1])
		}
	}
	if d := diagnostics([]Record{{Curve: []train.CurvePoint{{}, {Step: 1}}}}); d != nil {
		t.Errorf("%+v without a system", d)
	}
}

// TestWithin by hand: an arm of a system is compared with the reference's strategy
// under that system at that one's best rate, wherever the arm stands in the list.
func TestWithin(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Seeds = 1
	tr := &trial{cfg: &cfg, levels: []float64{0.9}}
	arm := func(strategy, estimator, system string, best int) ArmResult {
		return ArmResult{Strategy: strategy, Estimator: estimator, System: system, Best: best}
	}
	r := &Result{Rates: []float64{1, 2}, Common: 0, Arms: []ArmResult{
		arm("fixed", "grpo", "", 0), arm("vigor", "grpo", "stale", 0), arm("fixed", "rloo", "stale", 0),
		arm("fixed", "grpo", "stale", 1), arm("vigor", "grpo", "", 0), arm("vigor", "rloo", "other", 0),
	}}
	var records []Record
	for _, n := range []int{80, 40, 16, 500, 120, 20, 10} { // the fourth arm reports at both rates
		spent := Spent{Rollouts: n, Cost: float64(n)}
		records = append(records, Record{Levels: []*Spent{&spent}, End: spent})
	}
	tr.report(r, records)
	for i, want := range []float64{0, 3, 0, 0, 0, 0} { // 120/40
		within := r.Arms[i].Own.Levels[0].Rollouts.Within
		if (within == nil) != (want == 0) || within != nil && !(math.Abs(*within.Estimate-want) < 1e-12) {
			t.Errorf("arm %d: %+v, want %v", i, within, want)
		}
	}
	if ratio := *r.Arms[1].Own.Levels[0].Rollouts.Ratio.Estimate; !(math.Abs(ratio-2) < 1e-12) {
		t.Errorf("ratio to the reference %v, want 80/40", ratio)
	}
}

// TestLadder by hand: an arm is compared with the one of the strategy before it under
// the same estimator, best rate beside best rate; without a ladder with none.
func TestLadder(t *testing.T) {
	for _, ladder := range []bool{false, true} {
		cfg := DefaultConfig()
		cfg.Seeds, cfg.Ladder = 1, ladder
		tr := &trial{cfg: &cfg, levels: []float64{0.9}}
		arm := func(strategy, estimator string, best int) ArmResult {
			return ArmResult{Strategy: strategy, Estimator: estimator, Best: best}
		}
		r := &Result{Rates: []float64{1, 2}, Common: 0, Arms: []ArmResult{
			arm("fixed", "grpo", 0), arm("fixed", "rloo", 0), arm("control", "grpo", 1), arm("control", "rloo", 0), arm("vigor", "grpo", 0),
		}}
		var records []Record
		for _, n := range []int{80, 60, 90, 30, 20, 10} { // the third arm reports at both rates
			spent := Spent{Rollouts: n, Cost: float64(n)}
			records = append(records, Record{Levels: []*Spent{&spent}, End: spent})
		}
		tr.report(r, records)
		own := func(i int) *Ratio { return r.Arms[i].Own.Levels[0].Rollouts.Before }
		for i, want := range []float64{0, 0, 80. / 30, 60. / 20, 30. / 10} {
			if !ladder {
				want = 0
			}
			if before := own(i); (before == nil) != (want == 0) || before != nil && !(math.Abs(*before.Estimate-want) < 1e-12) {
				t.Errorf("arm %d: %+v, want %v", i, before, want)
			}
		}
		if at := r.Arms[2].Common.Levels[0].Rollouts.Before; ladder && !(math.Abs(*at.Estimate-80./90) < 1e-12) {
			t.Errorf("at the common rate %+v, want 80/90", at)
		}
	}
}

// TestGain by hand: where the largest rate is best, what the one before it spent over
// what it did.
func TestGain(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Rates, cfg.ChooseSeeds = []float64{1, 2, 4}, 6
	tr := &trial{cfg: &cfg, levels: []float64{0.9}}
	for _, c := range []struct {
		spent [3]int
		gain  float64 // 0 for none
	}{{[3]int{320, 160, 40}, 4}, {[3]int{40, 160, 320}, 0}, {[3]int{160, 40, 320}, 0}} {
		var records []Record
		for _, n := range c.spent {
			for seed := range cfg.ChooseSeeds {
				spent := Spent{Rollouts: n + seed*n/10}
				records = append(records, Record{Levels: []*Spent{&spent}, End: spent})
			}
		}
		r := &Result{Rates: cfg.Rates, Arms: make([]ArmResult, 1)}
		tr.choose(r, records)
		gain := r.Arms[0].Gain
		if (gain == nil) != (c.gain == 0) || gain != nil && !(math.Abs(*gain.Estimate-c.gain) < 1e-12 && *gain.Low > 3.9) {
			t.Errorf("%v: %+v, want %v", c.spent, gain, c.gain)
		}
	}
}
