package gradient

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"vigorlab/sim/advantage"
)

func small() Config {
	c := DefaultConfig(true)
	c.Settings, c.PlantSettings, c.MaxPoints = 600, 200, 100
	return c
}

func check(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Check(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// smallResult is shared by the tests that only read it.
var smallResult = sync.OnceValues(func() (*Result, error) { return Check(context.Background(), small()) })

func TestCheckHolds(t *testing.T) {
	r, err := smallResult()
	if err != nil {
		t.Fatal(err)
	}
	if r.Flagged != 0 {
		t.Errorf("flagged cases: %+v", r.Counts)
	}
	for _, p := range r.Plants {
		if !p.Noticed() {
			t.Errorf("a plant goes unnoticed: %+v", p)
		}
	}
	for _, e := range r.Expected {
		if e.Violations != 0 {
			t.Errorf("a bound of the expected reward is broken: %+v", e)
		}
	}
	for _, o := range r.OneLogit {
		wrong, none := o, o
		wrong.Mean *= 1.001
		none.Mean = math.NaN()
		if !o.Agrees() || wrong.Agrees() || none.Agrees() {
			t.Errorf("one logit: %+v agrees %v, a thousandth more %v, NaN %v", o, o.Agrees(), wrong.Agrees(), none.Agrees())
		}
	}
	if want := 600 * 4 * 15; r.Cases != want {
		t.Errorf("%d cases, want %d", r.Cases, want)
	}
	if !(r.MaxExcess <= tolerance && r.MaxSum <= tolerance && r.MaxIdentity <= tolerance) || r.Identities == 0 {
		t.Errorf("excess %v, sum %v, identity %v on %d cases", r.MaxExcess, r.MaxSum, r.MaxIdentity, r.Identities)
	}
	// Bounds are attained, not only held: each row's would break if it were any
	// smaller.
	for _, row := range r.Rows {
		if row.Tightness.Attained == 0 || row.Tightness.Max > 1+tolerance || row.Tightness.Min < 0 {
			t.Errorf("%s %s: tightness %+v", row.Estimator, row.Coding, row.Tightness)
		}
	}
	// Graded rewards: the gradient does not vanish with sigma.
	if !(r.GradedAtSmallSigma > .5 && r.GradedAtSmallSigma <= 1+tolerance) {
		t.Errorf("||grad||/M at sigma < 1e-6 = %v, want in (.5, 1]", r.GradedAtSmallSigma)
	}
	c := r.Covered
	if c.Sizes != [2]int{2, 64} || c.Success != [2]float64{1e-6, 1 - 1e-6} || c.Responses != [2]int{2, 64} ||
		c.Moved < 300 || c.Clipped < 60 || c.TokenRatios != 300 || !(c.MaxRatio > 10) {
		t.Errorf("covered %+v", c)
	}
}

// The check flags every planted mistake, for the reason that it should.
func TestPlants(t *testing.T) {
	r, err := smallResult()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Counts{}
	for _, p := range r.Plants {
		got[p.Mistake] = p.Counts
	}
	for name, broken := range map[string]func(c Counts) bool{
		"gradient doubled":                    func(c Counts) bool { return c.Bound > 0 && c.Identity > 0 && c.Sum == 0 },
		"bound doubled":                       func(c Counts) bool { return c.Bound == 0 && c.Sum > 0 },
		"ddof swapped in the advantages":      func(c Counts) bool { return c.Bound > 0 && c.Sum > 0 && c.Identity > 0 },
		"ddof swapped in the bound":           func(c Counts) bool { return c.Bound > 0 && c.Sum > 0 },
		"G/(G-1) forgotten in the advantages": func(c Counts) bool { return c.Bound == 0 && c.Sum > 0 },
		"G/(G-1) forgotten in the bound":      func(c Counts) bool { return c.Bound > 0 && c.Sum > 0 },
		// The triangle inequality: no comparison of norms can flag it.
		"M from sampled responses only": func(c Counts) bool { return c.Bound == 0 && c.Sum == 0 && c.Maximum > 0 },
	} {
		c, ok := got[name]
		if !ok || !broken(c) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, p := range r.Plants {
		if !p.Noticed() || p.Flagged > p.Spread {
			t.Errorf("%s: %d flagged of %d whose rewards differ, want at least %v of them and no other", p.Mistake, p.Flagged, p.Spread, p.Least)
		}
		if p.Flagged = int(p.Least*float64(p.Spread)) - 1; p.Noticed() {
			t.Errorf("%s: one too few is enough", p.Mistake)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d plants, want 7", len(got))
	}
}

// Hand-worked: one correct and one wrong answer of two, tabular, on policy at
// p = 1/2. Scores are (1/2, -1/2) and (-1/2, 1/2), so M = 1/sqrt(2); sigma = 1,
// A = (1, -1), and grad L = (1/2, -1/2) attains M sigma.
func TestByHand(t *testing.T) {
	p := &problem{
		policy:  &policy{space: newSpace(2, 1, false), dim: 2, features: []float64{1, 0, 0, 1}, offset: make([]float64, 2)},
		before:  make([]float64, 2),
		correct: []bool{true, false},
	}
	s := &setting{problem: p, surrogate: surrogate{clip: math.Inf(1)}, after: p.before}
	s.gradients = s.surrogate.gradients(p.at(p.before), p.at(p.before))
	s.largest = s.gradients.largest([]int{0, 1})
	s.audit = newAudit(p.policy, s.surrogate, p.before, p.before)
	g := group{responses: []int{0, 1}, successes: 1}
	for _, c := range []struct {
		w           row
		norm, bound float64
	}{
		{grpoRow(0, 0, Signed), 1 / math.Sqrt2, 1 / math.Sqrt2},
		{grpoRow(1, 0, Signed), .5, .5},
		{grpoRow(1, math.Sqrt2, Signed), .25, .25}, // A = 1/(2 sqrt 2)
		{drGRPORow(Signed), 1 / math.Sqrt2, 1 / math.Sqrt2},
		{rlooRow(Signed), math.Sqrt2, math.Sqrt2},
		{drGRPORow(Binary), math.Sqrt2 / 4, math.Sqrt2 / 4},
		{rlooRow(Binary), 1 / math.Sqrt2, 1 / math.Sqrt2},
	} {
		v, err := s.judge(g, c.w, honest())
		if err != nil {
			t.Fatal(err)
		}
		if v.flagged() || !(math.Abs(v.norm-c.norm) < 1e-15 && math.Abs(v.bound-c.bound) < 1e-15) {
			t.Errorf("%s %s: %+v, want norm %v and bound %v", c.w.estimator.Spec(), c.w.coding, v, c.norm, c.bound)
		}
	}
}

// Opposed answers attain the bound wherever the policy has not moved, at any
// success probability.
func TestOpposedAttains(t *testing.T) {
	seen := map[float64]bool{}
	for i := int(opposed); i < 1000; i += int(families) {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260205, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		if s.maxRatio > 1+1e-9 {
			continue
		}
		seen[s.success] = true
		for _, g := range s.groups {
			if g.kind != Farthest {
				continue
			}
			v, err := s.judge(g, grpoRow(0, 0, Signed), honest())
			if err != nil || !(v.tightness() > attained) {
				t.Errorf("setting %d, p = %v: tightness %v (%v), want 1", i, s.success, v.tightness(), err)
			}
		}
	}
	if len(seen) < len(corners)-2 {
		t.Errorf("only at success %v", seen)
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	c := small()
	c.Settings, c.PlantSettings = 300, 20
	c.Workers = 1
	want := check(t, c)
	for _, workers := range []int{2, 5} {
		c.Workers = workers
		if got := check(t, c); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers: another result than 1", workers)
		}
	}
	c.Seed++
	if got := check(t, c); reflect.DeepEqual(got.Points, want.Points) {
		t.Error("another seed gave the same points")
	}
}

func TestPoints(t *testing.T) {
	c := small()
	c.Settings, c.PlantSettings = 300, 0
	for _, most := range []int{0, 1, 7, 100, 1000, 5000} {
		c.MaxPoints = most
		r := check(t, c)
		if n := len(r.Points); n > most || most == 100 && n < 50 {
			t.Errorf("%d points, want at most %d", n, most)
		}
		kinds := map[string]int{}
		for _, p := range r.Points {
			kinds[p.Kind]++
			if !(p.Sigma > 0 && p.Sigma <= 1+tolerance && p.Norm >= 0 && p.Norm <= p.Sigma*(1+tolerance)) {
				t.Errorf("point %+v", p)
			}
		}
		if most == 100 && len(kinds) != 4 {
			t.Errorf("kinds of points %v, want 4", kinds)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Check(ctx, small()); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("result %v and error %v, want none and %v", r, err, context.Canceled)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, spoil := range map[string]func(c *Config){
		"workers = 0":          func(c *Config) { c.Workers = 0 },
		"settings = 0":         func(c *Config) { c.Settings, c.PlantSettings = 0, 0 },
		"plant settings = 601": func(c *Config) { c.PlantSettings = 601 },
		"points = -1":          func(c *Config) { c.MaxPoints = -1 },
	} {
		c := small()
		spoil(&c)
		if _, err := Check(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

func TestDistribution(t *testing.T) {
	d := distribution([]float64{.5, 1, .25, 0})
	if want := (Distribution{4, 0, 0, 0, .25, .5, 1, 1, 1}); d != want {
		t.Errorf("%+v, want %+v", d, want)
	}
	if d := distribution(nil); d != (Distribution{}) {
		t.Errorf("of nothing: %+v", d)
	}
}

// The means of strategies/allocation.md, section 0, for rewards in {0, 1}.
func TestToyMean(t *testing.T) {
	for _, c := range []struct {
		e    advantage.Estimator
		p    float64
		n    int
		mean float64
	}{
		{advantage.RLOO{}, .25, 8, .187500},
		{advantage.DrGRPO{}, .25, 8, .164062},
		{advantage.GRPO{}, .25, 8, .379897},
		{advantage.GRPO{DDOF: 1}, .25, 8, .355361},
		{advantage.RLOO{}, .1, 8, .090000},
		{advantage.DrGRPO{}, .1, 8, .078750},
		{advantage.GRPO{}, .1, 8, .209492},
		{advantage.GRPO{DDOF: 1}, .1, 8, .195962},
		{advantage.RLOO{}, .5, 4, .250000},
		{advantage.DrGRPO{}, .5, 4, .187500},
		{advantage.GRPO{}, .5, 4, .404006},
		{advantage.GRPO{DDOF: 1}, .5, 4, .349880},
	} {
		mean, err := toyMean(c.e, c.p, c.n)
		if err != nil || !(math.Abs(mean-c.mean) < 1e-6) {
			t.Errorf("%s, p=%v, n=%d: %v (%v), want %v", c.e.Spec(), c.p, c.n, mean, err, c.mean)
		}
	}
}

// E||grad|| is p(1-p) at G = 2, grows with G, stays below Jensen's
// sqrt(p(1-p)(G-1)/G), and is within 1% of sqrt(p(1-p)) at G = 1024.
func TestOneLogit(t *testing.T) {
	r := check(t, Config{Seed: 1, Workers: 1, Settings: 1})
	last := OneLogit{}
	for _, o := range r.OneLogit {
		v := o.P * (1 - o.P)
		if o.Group == 2 && !(math.Abs(o.Mean-v) <= 1e-14*v) {
			t.Errorf("p = %v, G = 2: %v, want %v", o.P, o.Mean, v)
		}
		if jensen := math.Sqrt(v * (1 - 1/float64(o.Group))); !(o.Mean <= jensen*(1+1e-12)) {
			t.Errorf("p = %v, G = %d: %v above %v", o.P, o.Group, o.Mean, jensen)
		}
		if o.P == last.P && !(o.Mean > last.Mean) {
			t.Errorf("p = %v: %v at G = %d, %v at G = %d", o.P, last.Mean, last.Group, o.Mean, o.Group)
		}
		if o.Group == 1024 && !(o.Mean >= .99*o.Limit) {
			t.Errorf("p = %v, G = 1024: %v, want %v within 1%%", o.P, o.Mean, o.Limit)
		}
		last = o
	}
}

// The sharp bound on the expected reward's gradient is attained by two answers
// of probability 1/2, at any length.
func TestSharpBoundAttained(t *testing.T) {
	for length := 1; length <= 6; length++ {
		e := twoAnswers(length)
		bound, err := e.policy.GradientSharp(e.std)
		if err != nil || !(math.Abs(e.norm/bound-1) < 1e-14) {
			t.Errorf("L = %d: ||grad V|| = %v, bound %v (%v), want equal", length, e.norm, bound, err)
		}
	}
}
