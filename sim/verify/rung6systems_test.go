package verify

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"vigorlab/sim/advantage"
	"vigorlab/sim/rollout"
	"vigorlab/sim/train"
)

// TestSystemsWorkersAgree: a few steps under every system are the same to the last
// byte for any number of workers.
func TestSystemsWorkersAgree(t *testing.T) {
	few := func(cfg *train.Config) {
		cfg.Target, cfg.MaxSteps, cfg.MaxRollouts, cfg.Optimizer = 1, 3, math.MaxInt, "sgd:lr=1"
	}
	for _, c := range []systemCase{
		{stalePolicy, stalePopulation, "m2po:lag=4,rule=paper", few},
		{"softmax:answers=5,near=1,gap=2", stalePopulation, withHead, few},
		{"softmax:answers=5,near=1,gap=2", stalePopulation, "saturated:level=rollout,proposal=policy", few},
		{"layered:floor=0.001,layers=5,answers=4", popSkipped, "nested-reft", few},
	} {
		run := func(workers int) []systemRun {
			e := &env{cfg: &Config{Seed: 2, Workers: workers, Quick: true}, study: "6.systems"}
			runs, err := e.runs(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			return runs
		}
		one, three := fmt.Sprintf("%+v", run(1)), fmt.Sprintf("%+v", run(3)) // NaN does not equal itself
		if one != three || !strings.Contains(one, "Step:3") {
			t.Errorf("%s: one worker: %s\nthree: %s", c.system, one, three)
		}
	}
}

// TestSystemsAgree: the whole study is the same to the last byte for any number of
// workers.
func TestSystemsAgree(t *testing.T) {
	if testing.Short() {
		t.Log("short: the study is run in full runs")
		return
	}
	run := func(workers int) *Report {
		r, err := Run(context.Background(), Config{Seed: 2, Workers: workers, Quick: true, Only: []string{"6.systems"}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if !reflect.DeepEqual(run(1), run(3)) {
		t.Error("the number of workers changes the study")
	}
}

// TestSystemRunStep by hand: three steps of a run.
func TestSystemRunStep(t *testing.T) {
	var r systemRun
	figures := func(held, chi2, m2, maxLog, equal float64) []train.Diagnostic {
		return []train.Diagnostic{{Name: "held", Value: held}, {Name: "chi2", Value: chi2}, {Name: "m2", Value: m2}, {Name: "max_log", Value: maxLog}, {Name: "zero_variance", Value: equal}}
	}
	r.step(train.Point{Success: 0.5})
	r.step(train.Point{Step: 1, Success: 0.75, Diagnostics: figures(0.25, 0, 0, 0, 0.125)})
	r.step(train.Point{Step: 2, Success: 0.25, Diagnostics: figures(0.5, 6, 2, math.Log(2), 0.375)}) // 6/(4*2)
	r.step(train.Point{Step: 3, Success: 0.625, Diagnostics: figures(0.5, 1, 2, math.Log(2), 0.5)})
	if r.held != 1.25 || math.Abs(r.theorem-0.75) > 1e-15 || r.fall != 0.75 || r.equal != 0.125 {
		t.Errorf("%+v, want held 1.25, 3/4 of the bound, a highest success of .75 and .125 at step 1", r)
	}
}

// TestAbove by hand: 1, 2, 3 have mean 2 and error 1/sqrt(3), and Student's 97.5 %
// quantile of two degrees of freedom is 4.302653.
func TestAbove(t *testing.T) {
	const half = 4.302653 * 0.5773502692
	row := above(Row{}, []float64{1, 2, 3})
	if row.Verdict != Untestable || *row.Estimate != 2 || *row.Reference != 0 || math.Abs(row.Interval[0]-(2-half)) > 1e-5 || math.Abs(row.Interval[1]-(2+half)) > 1e-5 {
		t.Errorf("%v %v: %s, want 2 and [%v, %v], which cannot tell", *row.Estimate, row.Interval, row.Verdict, 2-half, 2+half)
	}
	row = saves(Row{}, []float64{11, 12, 13})
	if row.Verdict != Holds || *row.Reference != 1 || math.Abs(*row.Estimate/math.Exp(12)-1) > 1e-12 || math.Abs(row.Interval[0]/math.Exp(12-half)-1) > 1e-4 {
		t.Errorf("%v %v: %s, want exp(12)", *row.Estimate, row.Interval, row.Verdict)
	}
	if row := saves(Row{}, []float64{-11, -12, -13}); row.Verdict != Fails {
		t.Errorf("a loss %s", row.Verdict)
	}
	for v, want := range map[Verdict]Verdict{Holds: Fails, Fails: Holds, Untestable: Untestable} {
		if got := opposite(v); got != want {
			t.Errorf("the opposite of %s is %s", v, got)
		}
	}
}

// TestDifferences: a less b, run by run, of what was generated.
func TestDifferences(t *testing.T) {
	run := func(generated int) systemRun {
		return systemRun{Result: train.Result{Last: train.Point{Ledger: rollout.Ledger{Generated: generated}}}}
	}
	d := differences([]systemRun{run(8), run(4)}, []systemRun{run(2), run(16)}, func(r *systemRun) float64 { return float64(r.Last.Ledger.Generated) })
	if !reflect.DeepEqual(d, []float64{6, -12}) {
		t.Errorf("%v, want 6 and -12", d)
	}
}

// TestApart: where the factor is 3/4 and 1 is claimed, the gradient is 1/4 apart.
func TestApart(t *testing.T) {
	e := &env{cfg: &Config{Seed: 1}, study: "6.systems"}
	p, err := e.layered("layers=5,answers=3,spread=1", popUniform, 2)
	if err != nil {
		t.Fatal(err)
	}
	o := train.DefaultObjective()
	o.Estimator = advantage.DrGRPO{}
	off, low, high, err := apart(p, "nested-reft", o, math.NaN(), 1)
	if err != nil || math.Abs(off-0.25) > 1e-12 || math.Abs(low-0.75) > 1e-12 || math.Abs(high-0.75) > 1e-12 {
		t.Errorf("%v apart, in [%v, %v], error %v; want 1/4 and 3/4", off, low, high, err)
	}
}

// TestSkippingCurve: without s of 12 equal layers the logits of two answers
// shrink by (12-s)/12, and chi^2 = (p-q)^2/(q(1-q)).
func TestSkippingCurve(t *testing.T) {
	e := &env{cfg: &Config{Seed: 1}, study: "6.systems"}
	rows, curve, err := e.skipping(skipCase{answers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for s := range 11 {
		left, p := float64(12-s)/12, 0.9
		q := 1 / (1 + math.Exp(-left*math.Log(p/(1-p))))
		want := 1 / left / (1 + (p-q)*(p-q)/(q*(1-q)))
		if got := curve.Points[s]; math.Abs(got.Y-want) > 1e-12 || math.Abs(got.X-float64(s)/12) > 1e-15 {
			t.Errorf("without %d layers: %+v, want %v", s, got, want)
		}
	}
	if rows[0].Verdict != Holds || *rows[0].Estimate != 10./12 {
		t.Errorf("%+v, want no crossing", rows[0])
	}
	if rows, _, err = e.skipping(skipCase{16, 0.3}); err != nil || rows[0].Verdict != Fails || !(*rows[0].Estimate < 10./12) {
		t.Errorf("%+v, error %v; want a crossing", rows[0], err)
	}
}

// TestMeanMove: without padding the mean update of one logit is the 2.33 and 2.61
// grad p that strategies/systems.md, section 7, prints.
func TestMeanMove(t *testing.T) {
	for p, want := range map[float64]float64{0.9: 2.33, 0.99: 2.61} {
		got, err := meanMove("", p)
		if got /= p * (1 - p); err != nil || math.Abs(got-want) > 0.005 {
			t.Errorf("p = %v: %v, error %v; want %v", p, got, err, want)
		}
	}
}
