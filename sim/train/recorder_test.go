package train

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestRecorder compares curves of few points with a run that is followed step by
// step: what happened in every interval, and how long every prompt has waited.
func TestRecorder(t *testing.T) {
	const steps = 45
	for _, points := range []int{2, 4, 16, 64} {
		for _, text := range []string{"vigor", "dapo:n=4,gen=2,cap=2", "vigor:reuse=false"} {
			cfg := smallConfig()
			cfg.Target, cfg.Recorder = 1, NewRecorder(points)
			p := policy(t, "linear:heldout=4,overlap=0.2", population, 32)
			r, err := newRun(&cfg, p, allocation(t, text))
			if err != nil {
				t.Fatal(err)
			}
			truth := []CurvePoint{}
			last := make([]int, p.Prompts())
			look := func() {
				if err := r.look(); err != nil {
					t.Fatal(err)
				}
				held := r.point.HeldOut
				c := CurvePoint{Step: r.point.Step, Ledger: r.point.Ledger, Cost: r.point.Cost, Success: r.point.Success, HeldOut: &held}
				truth = append(truth, c)
			}
			look()
			for range steps {
				before := slices.Clone(r.source.Truth())
				if err := r.step(context.Background()); err != nil {
					t.Fatal(err)
				}
				var c CurvePoint
				for _, a := range r.source.answers {
					c.Asked[min(int(before[a.x]*10), 9)] += a.n
					c.SumSuccess += before[a.x] * float64(a.n)
				}
				r.spender.EachTrained(func(x, n, successes int) {
					last[r.spender.Batch().ID[x]] = r.point.Step
					c.Groups++
					c.Rollouts += n
					if successes%n == 0 {
						c.EqualGroups++
						c.EqualRollouts += n
					}
				})
				look()
				at := &truth[len(truth)-1]
				at.Add(&c)
				at.Starvation = waited(last, r.point.Step)
			}
			truth[0].Starvation = Starvation{Never: 1}
			interval := cfg.Recorder.Interval()
			want := []CurvePoint{}
			var since CurvePoint
			for _, c := range truth {
				c.Add(&since)
				if since = c; c.Step%interval == 0 || c.Step == steps {
					want, since = append(want, c), CurvePoint{}
				}
			}
			got := cfg.Recorder.Curve()
			if len(got) > points+1 || len(got) < points/2 || len(got) != len(want) {
				t.Fatalf("%s: %d points of at most %d, want %d at the interval %d", text, len(got), points, len(want), interval)
			}
			for i := range got {
				if !(math.Abs(got[i].SumSuccess-want[i].SumSuccess) < 1e-9) {
					t.Errorf("%s: step %d: sum %v, want %v", text, got[i].Step, got[i].SumSuccess, want[i].SumSuccess)
				}
				got[i].SumSuccess = want[i].SumSuccess // added in another order
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%s: %+v, want %+v", text, got[i], want[i])
				}
			}
		}
	}
}

// waited works starvation out by the definition.
func waited(last []int, step int) Starvation {
	var s Starvation
	n := float64(len(last))
	for _, l := range last {
		s.Mean += float64(step-l) / n
		s.Max = max(s.Max, step-l)
		if l == 0 {
			s.Never += 1 / n
		}
	}
	for within := 0.0; within < 0.9*n; s.Q90++ {
		within = 0
		for _, l := range last {
			if step-l <= s.Q90 {
				within++
			}
		}
	}
	s.Q90--
	return s
}

// TestRecorderAllocates: from step to step it allocates nothing.
func TestRecorderAllocates(t *testing.T) {
	cfg := smallConfig()
	cfg.Target, cfg.Recorder = 1, NewRecorder(8)
	r, err := newRun(&cfg, policy(t, "logit", population, 32), allocation(t, "fixed:g=8"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.look(); err != nil {
		t.Fatal(err)
	}
	if err := r.step(context.Background()); err != nil {
		t.Fatal(err)
	}
	step := 0
	if n := testing.AllocsPerRun(100, func() {
		step++
		cfg.Recorder.step(step, r.source, r.groups)
		cfg.Recorder.look(Point{Step: step, HeldOut: math.NaN()}, 32)
	}); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestRecorderDiagnostics: whatever the interval, the sums of a system's figures
// over the whole curve are those of the steps that have the figure, and no point
// shares its sums with another.
func TestRecorderDiagnostics(t *testing.T) {
	figures := func(step int) []Diagnostic {
		held := float64(step)
		if step%3 == 0 {
			held = math.NaN()
		}
		return []Diagnostic{{"held", held}, {"chi2", math.Inf(1)}, {"m2", 1 / float64(step)}}
	}
	for steps := range 40 {
		r := NewRecorder(4)
		r.look(Point{}, 1)
		for step := 1; step <= steps; step++ {
			r.look(Point{Step: step, Diagnostics: figures(step)}, 1)
		}
		want := []DiagnosticSum{{Name: "held"}, {Name: "chi2"}, {Name: "m2", Steps: steps}}
		for step := 1; step <= steps; step++ {
			want[2].Sum += 1 / float64(step)
			if step%3 != 0 {
				want[0].Sum += float64(step)
				want[0].Steps++
			}
		}
		var all CurvePoint
		for _, p := range r.Curve() {
			before := p
			if p.Add(&all); all.Diagnostics != nil && len(before.Diagnostics) > 0 && &p.Diagnostics[0] == &before.Diagnostics[0] {
				t.Fatal("Add writes into the sums of the point that it was copied from")
			}
			all = p
		}
		if steps == 0 {
			want = nil
		}
		if len(all.Diagnostics) != len(want) {
			t.Fatalf("%d steps: %+v, want %+v", steps, all.Diagnostics, want)
		}
		for i, d := range all.Diagnostics {
			if d.Name != want[i].Name || d.Steps != want[i].Steps || !(math.Abs(d.Sum-want[i].Sum) < 1e-12) {
				t.Errorf("%d steps: %+v, want %+v", steps, d, want[i])
			}
		}
	}
	if none := (&DiagnosticSum{}).Mean(); !math.IsNaN(none) {
		t.Errorf("the mean over no step is %v, want NaN", none)
	}
}
