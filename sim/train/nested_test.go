package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/strategy"
)

// nestedGolden is testdata/nested.json, made by nested.py with mpmath.
type nestedGolden struct {
	Equal []struct {
		Answers, Layers, Skipped int
		P                        float64
		ChiSquare                float64 `json:"chi_square"`
	}
	Crossing []struct {
		Answers int
		P       float64
		Rho     *float64
	}
	Groups []struct {
		P, Mu                     [2]float64
		Size                      int
		Raw, Weighted, Normalised float64
	}
}

// deep returns a layered policy.
func deep(t testing.TB, keys, population string, prompts int) Layered {
	t.Helper()
	return policy(t, "layered:"+keys, population, prompts).(Layered)
}

// TestSkippingGolden: chi^2 of equal layers, and the share at which the
// efficiency crosses 1, rounded up to whole layers.
func TestSkippingGolden(t *testing.T) {
	var want nestedGolden
	golden(t, "nested.json", &want)
	for _, c := range want.Equal {
		p := deep(t, fmt.Sprintf("layers=%d,answers=%d", c.Layers, c.Answers), fmt.Sprintf("point:p=%v", c.P), 1)
		r, err := Skipping(p, c.Skipped, 0)
		if err != nil || !(math.Abs(r.ChiSquare/c.ChiSquare-1) < 1e-10) {
			t.Errorf("%+v: chi^2 = %v, %v, want %v", c, r.ChiSquare, err, c.ChiSquare)
		}
		if speed := float64(c.Layers) / float64(c.Layers-c.Skipped); !(math.Abs(r.Speed-speed) < 1e-14 && math.Abs(r.Efficiency-speed/(1+c.ChiSquare)) < 1e-10) {
			t.Errorf("%+v: %+v, want a speed of %v", c, r, speed)
		}
	}
	for _, c := range want.Crossing {
		for _, layers := range []int{4, 8, 12} {
			p := deep(t, fmt.Sprintf("layers=%d,answers=%d", layers, c.Answers), fmt.Sprintf("point:p=%v", c.P), 1)
			got, crosses, err := SkipCrossing(p)
			if err != nil || crosses != (c.Rho != nil) {
				t.Errorf("%+v, %d layers: crosses %v at %+v, %v", c, layers, crosses, got, err)
				continue
			}
			if crosses && got.Skipped != int(math.Ceil(*c.Rho*float64(layers))) {
				t.Errorf("%+v: crosses 1 at %d of %d layers", c, got.Skipped, layers)
			}
		}
	}
}

// twoOdds returns a layered policy of two answers that are correct with
// probability p, and with probability mu without layer 1 of 3.
func twoOdds(t testing.TB, p, mu float64) *layered {
	m := deep(t, "layers=3,answers=2", "point:p=0.5", 1).(*layered)
	clear(m.theta)
	m.layer(m.theta, 0, 0)[0] = logOdds(mu)
	m.layer(m.theta, 0, 1)[0] = logOdds(p) - logOdds(mu)
	return m
}

// successGradient returns the exact gradient of the success probability of
// prompt x, by the weights of a policy gradient.
func successGradient(p Policy, x int) []float64 {
	prob := Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
	mean := success(p.Outcomes(x), prob)
	var w []float64
	for k, o := range p.Outcomes(x) {
		reward := -mean
		if o.Correct {
			reward = 1 - mean
		}
		for range o.Tokens {
			w = append(w, prob[k]*reward)
		}
	}
	grad := make([]float64, len(p.Parameters()))
	p.AddScores(grad, x, w)
	return grad
}

func objective(t testing.TB, e string) Objective {
	o := DefaultObjective()
	o.Estimator = estimator(t, e)
	return o
}

// TestNestedBiasGolden: the factors of grad J of groups of 3, 5 and 8, two
// answers. The first one is the .643 beside 2/3 of strategies/systems.md.
func TestNestedBiasGolden(t *testing.T) {
	var want nestedGolden
	golden(t, "nested.json", &want)
	for _, c := range want.Groups {
		m := twoOdds(t, c.P[0]/c.P[1], c.Mu[0]/c.Mu[1])
		slope := floats.Norm(successGradient(m, 0), 2)
		for _, v := range []struct {
			system, estimator string
			want              float64
		}{
			{"nested-reft", "drgrpo", c.Raw},
			{"nested-reft:baseline=weighted", "drgrpo", c.Weighted},
			{"nested-reft", "grpo", c.Normalised},
		} {
			grad, err := NestedGradient(m, v.system, objective(t, v.estimator), 0, c.Size, []int{1}, math.NaN())
			if err != nil {
				t.Fatal(err)
			}
			if got := floats.Dot(grad, successGradient(m, 0)) / slope / slope; !(math.Abs(got-v.want) < 1e-12) {
				t.Errorf("%+v, %s, %s: factor %v, want %v", c, v.system, v.estimator, got, v.want)
			}
		}
	}
}

// TestNestedUnbiased: with weights w and a fixed baseline the mean gradient is
// grad J for every set of layers, whatever the layers are, and (G-1)/G of it with
// the group's raw mean. Truncated weights and none do not have that, so that the
// test can tell.
func TestNestedUnbiased(t *testing.T) {
	p := deep(t, "layers=4,answers=4,correct=2,spread=1", population, 3)
	scatter(p, newRand(21), 0.5)
	for x := range p.Prompts() {
		want := successGradient(p, x)
		for _, skipped := range [][]int{nil, {1}, {2}, {1, 2}} {
			for _, c := range []struct {
				system   string
				size     int
				baseline float64
				factor   float64
			}{
				{"nested-reft", 1, 0.3, 1},
				{"nested-reft", 3, -2, 1},
				{"nested-reft:baseline=weighted", 2, 0.3, 1},
				{"nested-reft", 2, math.NaN(), 1. / 2},
				{"nested-reft", 4, math.NaN(), 3. / 4},
				{"nested-reft:weight=truncated", 1, 0.3, math.NaN()},
				{"nested-reft:weight=none", 1, 0.3, math.NaN()},
			} {
				got, err := NestedGradient(p, c.system, objective(t, "drgrpo"), x, c.size, skipped, c.baseline)
				if err != nil {
					t.Fatal(err)
				}
				biased := math.IsNaN(c.factor) && skipped != nil
				if math.IsNaN(c.factor) {
					c.factor = 1
				}
				floats.AddScaled(got, -c.factor, want)
				if off := floats.Norm(got, math.Inf(1)); biased != (off > 1e-3) || !biased && !(off < 1e-14) {
					t.Errorf("%s, groups of %d, baseline %v, prompt %d without %v: off by %v", c.system, c.size, c.baseline, x, skipped, off)
				}
			}
		}
	}
}

// TestSkippingMoments: the second moment of a weighted gradient is at most the
// largest weight times the full policy's, and 1 + chi^2 is not its inflation: it
// lies on either side.
func TestSkippingMoments(t *testing.T) {
	above, below := false, false
	for _, keys := range []string{"layers=6", "layers=6,spread=0.4", "layers=4,answers=8,correct=3,spread=1", "layers=5,answers=40,near=3,gap=2"} {
		p := deep(t, keys, population, 6)
		for skipped := range len(p.Skipped()) - 1 {
			r, err := Skipping(p, skipped, 0.25)
			if err != nil {
				t.Fatal(err)
			}
			if !(r.Moment <= r.MaxWeight*(1+1e-14) && r.MaxWeight >= 1 && 1+r.ChiSquare <= r.MaxWeight*(1+1e-14)) {
				t.Errorf("%s: %+v", keys, r)
			}
			if skipped == 0 && !(math.Abs(r.Moment-1) < 1e-14 && r.ChiSquare == 0 && math.Abs(r.Speed-0.8) < 1e-14) {
				t.Errorf("%s: %+v with nothing skipped", keys, r)
			}
			above = above || r.Moment > 1.01*(1+r.ChiSquare)
			below = below || r.Moment < 0.99*(1+r.ChiSquare)
			if r.GradientEfficiency != r.Speed/r.Moment {
				t.Errorf("%s: %+v", keys, r)
			}
		}
	}
	if !above || !below {
		t.Errorf("second moments above 1 + chi^2: %v, below: %v, want both", above, below)
	}
}

// TestMomentByAnswers works the weighted second moment out over the answers of
// the policy without a layer, as E_mu[w^2 (r-p)^2 ||S||^2].
func TestMomentByAnswers(t *testing.T) {
	p := deep(t, "layers=3,answers=4,spread=1", population, 1)
	pi := Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0))
	logp, err := without(p, 0, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	on, off := 0.0, 0.0
	for k, mu := range Probabilities(nil, p.Outcomes(0), logp) {
		reward, norm := 0.0, 0.0
		if k == 0 {
			reward = 1
		}
		for j := range pi { // of e_k - pi
			d := -pi[j]
			if j == k {
				d++
			}
			norm += d * d
		}
		w := pi[k] / mu
		on += mu * w * (reward - pi[0]) * (reward - pi[0]) * norm
		off += mu * w * w * (reward - pi[0]) * (reward - pi[0]) * norm
	}
	r, err := Skipping(p, 1, 0)
	if err != nil || !(math.Abs(r.Moment-off/on) < 1e-13) {
		t.Errorf("second moment %v, %v, want %v", r.Moment, err, off/on)
	}
}

// TestRatios: weights are of whole outcomes, and 0 for those that no rollout had.
func TestRatios(t *testing.T) {
	p, mu := headed(t, "sequence:tokens=3,branching=2,correct=2", 1, 1)
	outcomes := p.Outcomes(0)
	pi, q := Probabilities(nil, outcomes, p.LogProbs(nil, 0)), Probabilities(nil, outcomes, mu[0])
	g := Group{Counts: []int{1, 0, 2, 1}}
	for k, w := range ratios(nil, &g, outcomes, p.LogProbs(nil, 0), mu[0]) {
		want := pi[k] / q[k]
		if k == 1 {
			want = 0
		}
		if !(math.Abs(w-want) < 1e-13*want+1e-300) {
			t.Errorf("outcome %d: weight %v, want %v", k, w, want)
		}
	}
}

// TestSecondMomentByScores works the second moment out from scores of the policy
// itself: layers share the logits' score, so that L layers' norm is L times its
// square.
func TestSecondMomentByScores(t *testing.T) {
	p := deep(t, "layers=3,answers=5,correct=2,spread=1", population, 1)
	prob := Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0))
	mean := success(p.Outcomes(0), prob)
	for k, got := range secondMoments(p.Outcomes(0), prob) {
		grad, w := make([]float64, len(p.Parameters())), make([]float64, 5)
		w[k] = 1
		p.AddScores(grad, 0, w)
		reward := 0.0
		if k < 2 {
			reward = 1
		}
		want := prob[k] * (reward - mean) * (reward - mean) * floats.Dot(grad, grad) / 3
		if !(math.Abs(got-want) < 1e-15) {
			t.Errorf("outcome %d: %v, want %v", k, got, want)
		}
	}
}

// TestEachGroup: probabilities sum to 1, and counts have their binomial means.
func TestEachGroup(t *testing.T) {
	prob, total, groups := []float64{.2, .5, 0, .3}, 0.0, 0
	mean := make([]float64, 4)
	eachGroup(prob, 5, func(counts []int, chance float64) {
		groups++
		total += chance
		for k, c := range counts {
			mean[k] += chance * float64(c)
		}
	})
	if groups != 56 || !(math.Abs(total-1) < 1e-14) || !floats.EqualApprox(mean, []float64{1, 2.5, 0, 1.5}, 1e-14) {
		t.Errorf("%d groups of probability %v and means %v", groups, total, mean)
	}
}

// TestNestedSets: every inner set of layers has the same chance, and the policy
// has all its layers outside Answer. 6 sets of 2 of 4, n = 6000 draws: a count
// has mean 1000 and standard deviation 28.9, and passes 6 of them (exact binomial
// tail below 1e-8 a side) with probability below 1e-6 altogether; a set that is
// 35 % too frequent is missed with probability below 1e-6.
func TestNestedSets(t *testing.T) {
	p := deep(t, "layers=6", population, 4)
	s := begun(t, "nested-reft:skip=1/3", p, objective(t, "drgrpo"))
	seen := map[string]int{}
	for step := range 6000 {
		if err := s.Answer(step+1, func() error {
			seen[fmt.Sprint(p.Skipped())]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(p.Skipped(), true) {
			t.Fatal("layers stay skipped after the answers")
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d sets, want 6", len(seen))
	}
	for set, n := range seen {
		if strings.HasPrefix(set, "[true") || strings.HasSuffix(set, "true]") || !(math.Abs(float64(n)-1000) < 6*28.9) {
			t.Errorf("%s is skipped %d times of 6000, want 1000", set, n)
		}
	}
	again := map[string]int{}
	for step := range 6000 {
		_ = s.Answer(step+1, func() error { again[fmt.Sprint(p.Skipped())]++; return nil })
	}
	if fmt.Sprint(again) != fmt.Sprint(seen) {
		t.Error("the same steps skip other layers")
	}
}

// begun returns the system of a spec at the start of a run.
func begun(t testing.TB, text string, p Policy, o Objective) System {
	t.Helper()
	s, err := NewSystem(text)
	if err != nil {
		t.Fatal(err)
	}
	opt, err := NewOptimizer("sgd:lr=1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUpdater(p, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(p, u, 5); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNestedLedger: cost is (L-s)/L a generated rollout and a pass a trained one
// under weights; nothing else is generated; nothing skipped with no pass is the
// plain run to the bit.
func TestNestedLedger(t *testing.T) {
	for _, c := range []struct {
		system string
		skip   float64
		pass   float64
	}{
		{"nested-reft:skip=1/2", 1. / 2, 0.1},
		{"nested-reft:skip=0.1,weight=truncated,pass=0.5", 1. / 8, 0.5},
		{"nested-reft:skip=0.3,weight=none,pass=0.5", 3. / 8, 0},
	} {
		for _, s := range []string{"fixed:g=8", "vigor:update=survivors"} {
			cfg := smallConfig()
			cfg.System, cfg.MaxSteps, cfg.Target = c.system, 6, 1
			last := trained(t, cfg, policy(t, "layered:layers=8", population, 32), s).Last
			l := last.Ledger
			if want := (1-c.skip)*float64(l.Generated) + c.pass*float64(l.Trained); l.Extra != 0 || !(math.Abs(last.Cost-want) < 1e-9) {
				t.Errorf("%s, %s: cost %v of %+v, want %v", c.system, s, last.Cost, l, want)
			}
		}
	}
	run := func(system string) string {
		cfg := smallConfig()
		cfg.System, cfg.MaxSteps, cfg.Target = system, 6, 1
		p := policy(t, "layered:layers=8,spread=1", population, 32)
		last := trained(t, cfg, p, "vigor").Last
		last.Diagnostics = nil
		return fmt.Sprintf("%x %+v", p.Parameters(), last)
	}
	if plain, none := run(""), run("nested-reft:skip=0,pass=0"); plain != none {
		t.Error("nothing skipped is not the plain run")
	}
	if first, again := run("nested-reft:skip=0.25"), run("nested-reft:skip=0.25"); first != again {
		t.Error("the same seed gives two runs")
	}
}

// TestNestedLearns drives Learn with a group: the step taken is the weighted one
// worked out by hand, one answered rollout of each kind, p = 5/12, mu = 3/5:
// w = 25/36 and 35/24; weighted mean 25/36/(25/36 + 35/24) = 10/31.
func TestNestedLearns(t *testing.T) {
	const wHit, wMiss = 25. / 36, 35. / 24
	for _, c := range []struct {
		keys      string
		hit, miss float64 // weights
		base      float64
	}{
		{"", wHit, wMiss, 1. / 2},
		{",baseline=weighted", wHit, wMiss, 10. / 31},
		{",weight=truncated", wHit, 1, 1. / 2},
		{",weight=truncated,baseline=weighted", wHit, 1, wHit / (wHit + 1)},
		{",weight=none", 1, 1, 1. / 2},
	} {
		m := twoOdds(t, 5./12, 3./5)
		s := begun(t, "nested-reft:skip=1/3"+c.keys, m, objective(t, "drgrpo"))
		mu, err := without(m, 0, []int{1})
		if err != nil {
			t.Fatal(err)
		}
		before := m.theta[0]
		step := &Step{Number: 1, Groups: []Group{{X: 0, Counts: []int{1, 1}, Weight: 1, Baseline: math.NaN()}}, Old: func(int) []float64 { return mu }, point: &Point{}}
		if err := s.Learn(step); err != nil {
			t.Fatal(err)
		}
		want := (c.hit*(1-c.base)*7/12 + c.miss*c.base*5/12) / 2
		if got := m.theta[0] - before; !(math.Abs(got-want) < 1e-14) {
			t.Errorf("%s: the logit moves by %v, want %v", c.keys, got, want)
		}
		d := step.point.Diagnostics // chi^2 = (11/60)^2 (1/.6 + 1/.4)
		if len(d) != 2 || !(math.Abs(d[0].Value-121./3600*(1/.6+1/.4)) < 1e-14 && math.Abs(d[1].Value-wMiss) < 1e-14) {
			t.Errorf("%s: diagnostics %v", c.keys, d)
		}
	}
}

func TestNestedRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"nested-reft:skip=1,weight=all,pass=-1":       {"skip = 1, want a decimal or a fraction in [0, 1)", "weight = all, want one of", "pass = -1, want a number >= 0"},
		"nested-reft:weight=none,baseline=weighted":   {"baseline = weighted, want raw where weight=none"},
		"nested-reft:skips=0.1":                       {"did you mean skip?"},
		"nested-reft:skip=x":                          {"skip = x, want"},
		"nested-raft":                                 {"did you mean nested-reft?"},
		"nested-reft:skip=-0.1,baseline=mean,lr=1e-6": {"skip = -0.1", "baseline = mean", "unknown parameter lr"},
	} {
		_, err := NewSystem(text)
		for _, want := range want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
	for _, c := range []struct{ system, policy, want string }{
		{"nested-reft", "softmax", "no layers to skip, want a policy such as layered:layers=8"},
		{"nested-reft:skip=0.5", "layered:layers=3", "skip = 0.5 is 2 of 3 layers, want at most 1"},
		{"nested-reft:skip=0.5", "layered:layers=1", "want at most 0"},
	} {
		cfg := smallConfig()
		cfg.System = c.system
		if _, err := Run(context.Background(), cfg, policy(t, c.policy, population, 32), allocation(t, "fixed:g=8")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: error %v, want %q", c.system, c.policy, err, c.want)
		}
	}
	s, err := NewSystem("nested-reft")
	if err != nil || s.Spec() != "nested-reft:skip=0.1,weight=importance,baseline=raw,pass=0.1" {
		t.Errorf("prints %v, %v", s, err)
	}
	p := deep(t, "layers=32", population, 2)
	if _, err := Skipping(p, 10, 0); err == nil || !strings.Contains(err.Error(), "skipped = 10 of 32 layers in 3e+07 ways") {
		t.Errorf("error %v", err)
	}
	if _, err := Skipping(p, 31, 0); err == nil {
		t.Error("31 of 32 layers are skipped")
	}
	for _, c := range []struct {
		system   string
		x, size  int
		skipped  []int
		kl       float64
		contains string
	}{
		{"", 0, 2, nil, 0, "want nested-reft"},
		{"nested-reft", 2, 2, nil, 0, "prompt 2"},
		{"nested-reft", 0, 0, nil, 0, "size 0"},
		{"nested-reft", 0, 2, []int{32}, 0, "layer 32"},
		{"nested-reft", 0, 2, nil, 1, "kl = 1"},
	} {
		o := objective(t, "drgrpo")
		o.KL = c.kl
		if _, err := NestedGradient(p, c.system, o, c.x, c.size, c.skipped, 0); err == nil || !strings.Contains(err.Error(), c.contains) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// TestNestedEveryStrategy: every strategy runs under nested-reft.
func TestNestedEveryStrategy(t *testing.T) {
	cfg := smallConfig()
	cfg.System, cfg.Target, cfg.MaxSteps = "nested-reft:skip=0.25,baseline=weighted", 1, 4
	cfg.Objective = objective(t, "grpo:ddof=1,delta=0.0001")
	for _, text := range strategy.Spending(8, 4) {
		if last := trained(t, cfg, policy(t, "layered:layers=8,spread=0.3", population, 96), text).Last; !(last.Cost > 0) {
			t.Errorf("%s: %+v", text, last)
		}
	}
}
