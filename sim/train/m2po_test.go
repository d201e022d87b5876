package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim/stream"
)

// figure returns a diagnostic of the last step.
func figure(t testing.TB, r *run, name string) float64 {
	t.Helper()
	for _, d := range r.point.Diagnostics {
		if d.Name == name {
			return d.Value
		}
	}
	t.Fatalf("no %s in %v", name, r.point.Diagnostics)
	return 0
}

// TestLagQueue: the policy that answers a step is the one that began so many
// steps before, at first the initial one, and asking it moves nothing.
func TestLagQueue(t *testing.T) {
	for lag, text := range map[int]string{0: "m2po:lag=0", 1: "m2po:lag=4", 3: "m2po:lag=6,updates=2"} {
		r := systemRun(t, text, "softmax", "fixed:g=4", nil)
		var starts [][]float64
		for range 10 {
			starts = append(starts, slices.Clone(r.policy.Parameters()))
			next(t, r)
			before := slices.Clone(r.policy.Parameters())
			copy(r.policy.Parameters(), starts[max(0, len(starts)-1-lag)])
			for x := range r.policy.Prompts() {
				if want := r.policy.LogProbs(nil, x); !slices.Equal(r.source.LogProbs(x), want) {
					t.Fatalf("%s, step %d: prompt %d is answered with %v, want %v", text, len(starts), x, r.source.LogProbs(x), want)
				}
			}
			copy(r.policy.Parameters(), before)
			if err := r.system.Answer(len(starts)+1, func() error { return nil }); err != nil || !slices.Equal(before, r.policy.Parameters()) {
				t.Fatalf("%s: asking moves the policy", text)
			}
		}
		if slices.Equal(starts[0], starts[9]) {
			t.Errorf("%s moves nothing", text)
		}
	}
}

// split is m2po without lag, taken apart: one Update after another on the shares
// of a step's groups.
type split struct {
	plain
	updates int
}

func (s *split) Learn(step *Step) error {
	n := len(step.Groups)
	for i := range s.updates {
		if err := s.updater.Update(step.Groups[i*n/s.updates:(i+1)*n/s.updates], step.Old); err != nil {
			return err
		}
	}
	return nil
}

// TestLagZero: without lag m2po is a plain run whose steps are split, to the bit,
// with one update a plain run as it is.
func TestLagZero(t *testing.T) {
	for _, c := range []struct {
		spec    string
		updates int
		clip    float64
	}{
		{"m2po:lag=0,updates=1,rule=none", 0, math.Inf(1)},
		{"m2po:lag=0,updates=1,rule=clip", 0, .2},
		{"m2po:lag=0,updates=4,rule=none", 4, math.Inf(1)},
		{"m2po:lag=0,updates=3,rule=clip,clip=0.1", 3, .1},
		{"m2po:lag=0,updates=4,rule=paper,tau=1e9", 4, math.Inf(1)},
		{"m2po:lag=0,updates=4,rule=released,tau=1e9", 4, math.Inf(1)},
		{"m2po:lag=0,updates=4,rule=areal,tau=1e9,clip=0.3", 4, .3},
	} {
		for _, s := range []string{"fixed:g=4", "vigor:m0=2,rounds=2,update=survivors"} {
			fast := func(c *Config) { c.Optimizer = "momentum:lr=8" }
			stale := systemRun(t, c.spec, "sequence:correct=2", s, fast)
			same := systemRun(t, "", "sequence:correct=2", s, fast)
			same.updater.objective.ClipLow, same.updater.objective.ClipHigh = c.clip, c.clip
			same.updater.limits = Range{Low: 1 - c.clip, High: 1 + c.clip}
			if c.updates > 0 {
				same.system = &split{plain{same.updater}, c.updates}
			}
			for step := range 10 {
				next(t, stale)
				next(t, same)
				a, b := stale.point, same.point
				a.Diagnostics = nil
				if fmt.Sprint(a) != fmt.Sprint(b) || !slices.Equal(stale.policy.Parameters(), same.policy.Parameters()) {
					t.Fatalf("%s of %s, step %d: %+v, want %+v", c.spec, s, step, a, b)
				}
			}
		}
	}
}

// TestEpochsOfBatches: every epoch goes through all mini-batches, and a step
// counts once in a divergence.
func TestEpochsOfBatches(t *testing.T) {
	o := DefaultObjective()
	o.Epochs = 2
	w := newWorkbench(t, "softmax", o, newRand(8))
	batches := [][]Group{w.groups[:1], nil, w.groups[1:]}
	if err := w.updater.UpdateBatches(batches, w.oldLogProbs); err != nil {
		t.Fatal(err)
	}
	o.Epochs = 1
	same := newWorkbench(t, "softmax", o, newRand(8))
	for range 2 {
		for _, b := range batches {
			if err := same.updater.Update(b, same.oldLogProbs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(w.policy.Parameters(), same.policy.Parameters()) || w.updater.steps != 1 {
		t.Errorf("%v after %d steps, want %v after 1", w.policy.Parameters(), w.updater.steps, same.policy.Parameters())
	}
}

// TestSecondMomentBound: chi2 <= R^2 m2 (Theorem 5.1) along training, R the
// largest ratio or its inverse, for the tokens of every step, and exactly: for
// the expectations under the policy that answered, prompt by prompt. With ratios
// other than 1 the figures agree with their definitions on what was answered.
func TestSecondMomentBound(t *testing.T) {
	const rounding = 1 + 1e-12
	moved, loosest := 0, 0.0
	for _, rule := range []string{"paper", "released", "areal", "clip", "none", "truncated-is"} {
		r := systemRun(t, "m2po:lag=8,rule="+rule, "softmax:answers=5", "fixed:g=8", func(c *Config) { c.Optimizer = "sgd:lr=8" })
		for range 40 {
			next(t, r)
			chi2, m2, largest := figure(t, r, "chi2"), figure(t, r, "m2"), figure(t, r, "max_log")
			if !(chi2 <= math.Exp(2*largest)*m2*rounding) {
				t.Errorf("%s: chi2 = %v above R^2 m2, m2 = %v, ln R = %v", rule, chi2, m2, largest)
			}
			for x := range r.policy.Prompts() {
				now, old := r.policy.LogProbs(nil, x), r.source.LogProbs(x)
				chi2, m2, largest := 0.0, 0.0, 0.0
				for k := range now {
					l := now[k] - old[k]
					chi2 += math.Exp(old[k]) * math.Pow(math.Expm1(l), 2)
					m2 += math.Exp(old[k]) * l * l
					largest = max(largest, math.Abs(l))
				}
				if m2 > 0 {
					moved++
					loosest = max(loosest, math.Exp(2*largest)*m2/chi2)
				}
				if !(chi2 <= math.Exp(2*largest)*m2*rounding) {
					t.Errorf("%s, prompt %d: chi2 = %v above R^2 m2, m2 = %v, ln R = %v", rule, x, chi2, m2, largest)
				}
			}
		}
	}
	if moved < 1000 {
		t.Errorf("%d prompts with ratios other than 1, want many", moved)
	}
	t.Logf("the bound is at most %.3g times too large", loosest)
}

// TestDiagnosticsByHand: two groups of a logit policy, answered at z = 0 where now
// z = 1 and -2. ln r = ln sigmoid(z) + ln 2 for correct and ln sigmoid(-z) + ln 2
// for wrong rollouts. Clipping to [.8, 1.2] holds rollouts whose ratio has left it
// the way of their advantage.
func TestDiagnosticsByHand(t *testing.T) {
	p := policy(t, "logit", "point:p=0.5", 3)
	m := system(t, "m2po:updates=1,rule=clip")
	opt, err := NewOptimizer("sgd:lr=1e-300")
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUpdater(p, DefaultObjective(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Begin(p, u, stream.New(1)); err != nil {
		t.Fatal(err)
	}
	copy(p.Parameters(), []float64{1, -2, 0})
	old := func(int) []float64 { return []float64{-math.Ln2, -math.Ln2} }
	none := math.NaN()
	var point Point
	err = m.Learn(bareStep(&point, []Group{
		{X: 0, Counts: []int{3, 1}, Weight: 1, Baseline: none}, // both ratios went the way of their advantage
		{X: 1, Counts: []int{2, 2}, Weight: 1, Baseline: none}, // both against it
		{X: 2, Counts: []int{4, 0}, Weight: 1, Baseline: none}, // ratio 1
		{X: 0, Counts: []int{1, 1}, Weight: 0, Baseline: none}, // not trained on
	}, old))
	if err != nil {
		t.Fatal(err)
	}
	l := func(z float64) float64 { return math.Ln2 - math.Log1p(math.Exp(-z)) }
	m2 := (3*l(1)*l(1) + l(-1)*l(-1) + 2*l(-2)*l(-2) + 2*l(2)*l(2)) / 12
	d := func(z float64) float64 { return math.Pow(math.Exp(l(z))-1, 2) }
	chi2 := (3*d(1) + d(-1) + 2*d(-2) + 2*d(2)) / 12
	for i, want := range []Diagnostic{{"held", 4. / 12}, {"m2", m2}, {"chi2", chi2}, {"max_log", -l(-2)}} {
		if got := point.Diagnostics[i]; got.Name != want.Name || !(math.Abs(got.Value-want.Value) < 1e-14) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// A recorder is a trust region without limits that remembers what it was shown.
type recorder struct{ seen *[][]Token }

func (r recorder) Limit(tokens []Token, _ []float64) Range {
	*r.seen = append(*r.seen, slices.Clone(tokens))
	return unlimited
}

// TestTokens: what a trust region is shown in every mini-batch of every epoch. The
// ratio is that of the policy as it stands then, Stale that of the start of the
// step, both to the policy that answered.
func TestTokens(t *testing.T) {
	o := DefaultObjective()
	o.Epochs = 2
	w := newWorkbench(t, "sequence:tokens=3,branching=2,correct=2", o, newRand(9))
	var seen [][]Token
	if err := w.updater.Trust(recorder{&seen}); err != nil {
		t.Fatal(err)
	}
	batches := [][]Group{w.groups[:1], nil, w.groups[1:3], w.groups[3:]}
	for range 2 { // steps
		seen = nil
		var start [][]float64
		for x := range w.policy.Prompts() {
			start = append(start, w.policy.LogProbs(nil, x))
		}
		if err := w.updater.UpdateBatches(batches, w.oldLogProbs); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 6 {
			t.Fatalf("%d updates, want 3 in each of 2 epochs", len(seen))
		}
		changed := 0
		for i, tokens := range seen {
			for _, g := range [][]Group{w.groups[:1], w.groups[1:3], w.groups[3:]}[i%3] {
				tok := 0
				for k, o := range w.policy.Outcomes(g.X) {
					for range o.Tokens {
						got, old := tokens[0], w.old[g.X][tok]
						count := float64(g.Counts[k])
						if g.Weight == 0 {
							count = 0
						}
						if got.Stale != start[g.X][tok]-old || got.Count != count || i < 3 && got.LogRatio != got.Stale {
							t.Fatalf("update %d, prompt %d, token %d: %+v, want Stale = %v and Count = %v", i, g.X, tok, got, start[g.X][tok]-old, count)
						}
						if got.LogRatio != got.Stale {
							changed++
						}
						tokens, tok = tokens[1:], tok+1
					}
				}
			}
			if len(tokens) != 0 {
				t.Fatalf("update %d: %d tokens too many", i, len(tokens))
			}
		}
		if changed == 0 {
			t.Error("no ratio changes within a step")
		}
	}
}
