package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
)

// r2poGolden is testdata/r2po.json, made by r2po.py with mpmath.
type r2poGolden struct {
	Rates []struct {
		N              int
		P              float64
		Rarity, Reward float64
	}
}

// TestRarity by hand: one of eight is rare, whatever its reward; halves tie.
func TestRarity(t *testing.T) {
	for _, c := range []struct {
		rewards []float64
		odd     float64 // advantage of the first
	}{
		// Scores 1 and 7 of 1/7: mean 1/4, sd^2 = (9/16 + 7 (3/28)^2)/7 = 9/98.
		{[]float64{1, 0, 0, 0, 0, 0, 0, 0}, .75 / (3/math.Sqrt(98) + 1e-6)},
		{[]float64{0, 1, 1, 1, 1, 1, 1, 1}, .75 / (3/math.Sqrt(98) + 1e-6)},
		{[]float64{1, 1, 0, 0}, 0},
		{[]float64{1, 1, 1}, 0},
		{[]float64{2.25, .25, 0}, 0},
	} {
		a := slices.Clone(c.rewards)
		if err := (rarity{}).Advantages(a, a); err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(a[0]-c.odd) < 1e-13 && math.Abs(floats.Sum(a)) < 1e-13) {
			t.Errorf("%v: advantages %v, want %v first", c.rewards, a, c.odd)
		}
	}
	if err := (rarity{}).Advantages(make([]float64, 2), make([]float64, 3)); err == nil {
		t.Error("two advantages of three rewards")
	}
}

// TestStageGolden: the mean gradients of both stages, through the updaters that
// they run, over every group. Stage A's has the sign of 1/2 - p: it pushes the
// combined policy's p towards 1/2 from either side.
func TestStageGolden(t *testing.T) {
	var want r2poGolden
	golden(t, "r2po.json", &want)
	for _, c := range want.Rates {
		p := policy(t, "logit", fmt.Sprintf("point:p=%v", c.P), 1)
		r := begun(t, "r2po:a-prompts=1,kl=0", p, DefaultObjective()).(*r2po)
		logp := p.LogProbs(nil, 0)
		a, b := 0.0, 0.0
		eachGroup(Probabilities(nil, p.Outcomes(0), logp), c.N, func(counts []int, chance float64) {
			for u, sum := range map[*Updater]*float64{r.stageA: &a, r.stageB: &b} {
				grad := []float64{0}
				g := Group{X: 0, Counts: counts, Weight: 1, Baseline: math.NaN()}
				if _, err := u.gradient(grad, []Group{g}, func(int) []float64 { return logp }); err != nil {
					t.Fatal(err)
				}
				*sum += chance * grad[0]
			}
		})
		if !(math.Abs(a-c.Rarity) < 1e-13 && math.Abs(b-c.Reward) < 1e-13) {
			t.Errorf("%+v: stage A %v, stage B %v", c, a, b)
		}
		if c.N > 2 && c.P != 0.5 && (c.Rarity > 0) != (c.P < 0.5) {
			t.Errorf("%+v: stage A pushes away from 1/2", c)
		}
	}
}

// headed returns a policy and the token log probabilities of another, the policy
// at theta + phi, by prompt.
func headed(t testing.TB, text string, prompts int, size float64) (Policy, [][]float64) {
	p := policy(t, text, population, prompts)
	theta := slices.Clone(p.Parameters())
	scatter(p, newRand(30), size)
	var mu [][]float64
	for x := range prompts {
		mu = append(mu, p.LogProbs(nil, x))
	}
	copy(p.Parameters(), theta)
	return p, mu
}

// TestStageBIdentity: by logits of one-token outcomes the mean of
// (r - p_mu) grad log pi over mu is mu (r - p_mu), and that of a group under
// stage B the same times rate(p_mu)/(p_mu (1 - p_mu)).
func TestStageBIdentity(t *testing.T) {
	p, mu := headed(t, "softmax:answers=5,correct=2,near=1,gap=1", 3, 1.5)
	r := begun(t, "r2po:kl=0", p, DefaultObjective()).(*r2po)
	for x := range 3 {
		prob := Probabilities(nil, p.Outcomes(x), mu[x])
		q := prob[0] + prob[1]
		want := make([]float64, len(p.Parameters()))
		for k := range prob {
			logits(want, x, 5)[k] = prob[k] * -q
			if k < 2 {
				logits(want, x, 5)[k] = prob[k] * (1 - q)
			}
		}
		got := make([]float64, len(want))
		if mean := climb(got, p, x, mu[x]); !floats.EqualApprox(got, want, 1e-14) || !(math.Abs(mean-q) < 1e-15) {
			t.Errorf("prompt %d: %v at %v, want %v at %v", x, got, mean, want, q)
		}
		rate, err := GroupRate(r.stageB.objective.Estimator, 6)
		if err != nil {
			t.Fatal(err)
		}
		floats.Scale(rate(q, 1-q)/q/(1-q), want)
		clear(got)
		old := p.LogProbs(nil, x)
		eachGroup(prob, 6, func(counts []int, chance float64) {
			grad := make([]float64, len(got))
			g := Group{X: x, Counts: counts, Weight: 1, Baseline: math.NaN()}
			if _, err := r.stageB.gradient(grad, []Group{g}, func(int) []float64 { return old }); err != nil {
				t.Fatal(err)
			}
			floats.AddScaled(got, chance, grad)
		})
		if !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("prompt %d: groups give %v, want %v", x, got, want)
		}
	}
}

// TestStageBOfSequences: of longer outcomes the first token's logits get the
// answering policy's gradient, and later ones do not.
func TestStageBOfSequences(t *testing.T) {
	p, mu := headed(t, "sequence:tokens=3,branching=3,correct=5", 1, 1)
	got := make([]float64, len(p.Parameters()))
	climb(got, p, 0, mu[0])
	q := policy(t, "sequence:tokens=3,branching=3,correct=5", population, 1)
	scatter(q, newRand(30), 1)
	if !floats.EqualApprox(q.LogProbs(nil, 0), mu[0], 1e-15) {
		t.Fatal("another policy answers")
	}
	want := successGradient(q, 0)
	if !floats.EqualApprox(got[:3], want[:3], 1e-14) {
		t.Errorf("first token: %v, want %v", got[:3], want[:3])
	}
	if floats.EqualApprox(got, want, 1e-3) {
		t.Error("all tokens get the answering policy's gradient")
	}
}

// TestHeadBias by hand: two logits at p = 1/2 answered at 1/2 and 9/10. The
// gradients are (1/4, 1/4) and (1/4, 9/100), the latter at angle atan(9/25).
func TestHeadBias(t *testing.T) {
	p := policy(t, "logit", "point:p=0.5", 2)
	mu := [][]float64{appendTwoAnswers(nil, 0), appendTwoAnswers(nil, logOdds(0.9))}
	got := HeadBias(p, func(x int) []float64 { return mu[x] }, 2)
	want := BiasReport{Serving: .5, Behaviour: .7, ZeroVariance: (.5 + .82) / 2, Angle: math.Pi/4 - math.Atan(.36)}
	for i, pair := range [][2]float64{{got.Serving, want.Serving}, {got.Behaviour, want.Behaviour}, {got.ZeroVariance, want.ZeroVariance}, {got.Angle, want.Angle}} {
		if !(math.Abs(pair[0]-pair[1]) < 1e-15) {
			t.Errorf("figure %d is %v, want %v", i, pair[0], pair[1])
		}
	}
	for _, text := range policySpecs {
		p := policy(t, text, population, 4)
		if got := HeadBias(p, func(x int) []float64 { return p.LogProbs(nil, x) }, 8); !(got.Angle < 1e-14) || got.Serving != got.Behaviour {
			t.Errorf("%s without a head: %+v", text, got)
		}
	}
}

// visited trains heads of prompts, and returns the combined success afterwards.
func visited(t testing.TB, text, population string, prompts int) []float64 {
	t.Helper()
	p := policy(t, "logit", population, prompts)
	r := begun(t, text, p, DefaultObjective()).(*r2po)
	theta := slices.Clone(p.Parameters())
	var combined []float64
	err := r.Answer(1, func() error {
		for x := range prompts {
			q, _ := chances(p, x)
			combined = append(combined, q)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Parameters(), theta) {
		t.Fatal("the policy that learns has moved with the head")
	}
	return combined
}

// TestStageALowersZeroVariance is prediction (i) of strategies/systems.md: heads
// of 400 prompts at the same p, of 30 steps each. Their mean combined p moves
// towards 1/2 and the mean share of groups of 8 with equal rewards falls, by more
// than 5 standard errors each (false alarm below 1e-6 for a head that does
// nothing, by the normal law of a mean of 400). Heads at p = 1/2 stay there within
// 6 (1e-6 over the cases).
func TestStageALowersZeroVariance(t *testing.T) {
	for _, p := range []float64{.03, .2, .5, .8, .97} {
		q := visited(t, "r2po:a-steps=30,a-prompts=400", fmt.Sprintf("point:p=%v", p), 400)
		var toHalf, equal []float64
		before := math.Pow(p, 8) + math.Pow(1-p, 8)
		for _, q := range q {
			toHalf = append(toHalf, (q-p)*(1-2*p))
			equal = append(equal, math.Pow(q, 8)+math.Pow(1-q, 8)-before)
		}
		mean, se := meanError(toHalf)
		fall, fallError := meanError(equal)
		t.Logf("p = %v: mean of combined p off by %.4f towards 1/2 (se %.4f), equal groups %.4f (se %.4f) from %.4f", p, mean, se, fall, fallError, before)
		if p == .5 {
			mean, se = meanError(q)
			if !(math.Abs(mean-.5) < 6*se) {
				t.Errorf("p = 1/2: combined mean %v, se %v", mean, se)
			}
			continue
		}
		if !(mean > 5*se) || !(fall < -5*fallError) {
			t.Errorf("p = %v: towards 1/2 by %v (se %v), equal groups %v (se %v)", p, mean, se, fall, fallError)
		}
	}
}

func meanError(x []float64) (mean, se float64) {
	n := float64(len(x))
	mean = floats.Sum(x) / n
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se / n / (n - 1))
}

// TestDrawGroup: frequencies of n = 200000 rollouts lie within .00631 of their
// probabilities by Hoeffding's bound, with false alarms below 1e-6 over the four
// outcomes; a shift of .0127 is missed with probability below 1e-6.
func TestDrawGroup(t *testing.T) {
	const n = 200_000
	p := policy(t, "softmax:answers=4,correct=2,near=1,gap=1", "point:p=0.3", 1)
	g := drawGroup(p, 0, n, newRand(31).Float64)
	for k, want := range Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0)) {
		if got := float64(g.Counts[k]) / n; !(math.Abs(got-want) < .00631) {
			t.Errorf("outcome %d: frequency %v, want %v", k, got, want)
		}
	}
}

// TestHeadsGain is half of prediction (ii) of strategies/systems.md, exactly: on
// one logit a group that is answered nearer to 1/2 moves it further up, however
// close p is to 1. So stage B without correction does not lose there by itself.
func TestHeadsGain(t *testing.T) {
	rate, err := GroupRate(advantage.GRPO{DDOF: 1, Delta: 1e-4}, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{.001, .02, .2, .4, .45, .6, .8, .98, .999} {
		for _, share := range []float64{.05, .5, .95} { // from p to 1-p
			q := p + share*(1-2*p)
			if !(rate(q, 1-q) > rate(p, 1-p)) {
				t.Errorf("answered at %v a logit at %v moves by %v, by itself by %v", q, p, rate(q, 1-q), rate(p, 1-p))
			}
		}
	}
}

// TestStageAIsPaid is the other half, by sampled runs near 0, in the middle and
// near 1: with stage A charged R2PO needs more rollouts to target than the same
// updates without a head. Paired log ratios over 16 seeds, their mean above 8.4
// standard errors: passed by chance with probability below 1e-6/3 by Student's law
// with 15 degrees of freedom, as good as logs of counts of many rollouts are
// normal; a mean of 16 errors is missed with probability below 1e-5. The learning
// rate is common, not each one's best.
func TestStageAIsPaid(t *testing.T) {
	spent := func(system, population string, target float64, seed uint64) (all, asked float64) {
		cfg := smallConfig()
		cfg.Seed, cfg.Batch, cfg.Target, cfg.MaxRollouts, cfg.System = seed, 32, target, 400_000, system
		cfg.Objective.Aggregate = sim.AggregatePrompt
		p, err := NewPolicy("softmax:answers=5,near=1,gap=2", law(t, population), 32, cfg.StartKey())
		if err != nil {
			t.Fatal(err)
		}
		r := trained(t, cfg, p, "fixed:g=8")
		if !r.Reached {
			t.Fatalf("%s from %s: %+v", system, population, r)
		}
		l := r.Last.Ledger
		return math.Log(float64(l.Generated)), math.Log(float64(l.Generated - l.Extra))
	}
	for _, c := range []struct {
		population string
		target     float64
	}{{"point:p=0.01", .5}, {"point:p=0.5", .9}, {"point:p=0.9", .97}} {
		var paid, free []float64
		for seed := range uint64(16) {
			none, _ := spent("r2po:a-steps=0,init=zero,kl=0", c.population, c.target, seed)
			all, asked := spent("r2po:schedule=20,a-steps=5,a-prompts=32,kl=0", c.population, c.target, seed)
			paid, free = append(paid, all-none), append(free, asked-none)
		}
		mean, se := meanError(paid)
		uncharged, unchargedError := meanError(free)
		t.Logf("%s to %v: log ratio %.3f (se %.3f), stage A not charged %.3f (se %.3f)", c.population, c.target, mean, se, uncharged, unchargedError)
		if !(mean > 8.4*se) {
			t.Errorf("%s to %v: log ratio %v, se %v", c.population, c.target, mean, se)
		}
	}
}

// TestTemperature: one temperature for all prompts gives the mean entropy of the
// combined policy, and odds never change sides.
func TestTemperature(t *testing.T) {
	for _, text := range []string{"logit", "softmax:answers=5,correct=2", "sequence:tokens=3,branching=2", "layered:layers=4"} {
		p, mu := headed(t, text, 6, 0.8)
		theta := slices.Clone(p.Parameters())
		scatter(p, newRand(30), 0.8)
		want := meanEntropy(p)
		if first := p.LogProbs(nil, 0); !slices.Equal(first, mu[0]) {
			t.Fatal("another head")
		}
		temper(p, theta, want)
		if got := meanEntropy(p); !(math.Abs(got-want) < 1e-12) {
			t.Errorf("%s: entropy %v, want %v", text, got, want)
		}
		largest := 0
		for i := range theta {
			if math.Abs(theta[i]) > math.Abs(theta[largest]) {
				largest = i
			}
		}
		ratio := p.Parameters()[largest] / theta[largest]
		for i := range theta {
			if !(math.Abs(p.Parameters()[i]-ratio*theta[i]) <= 1e-14*math.Abs(theta[i])) {
				t.Errorf("%s: parameter %d is %v, want %v times %v", text, i, p.Parameters()[i], ratio, theta[i])
			}
		}
	}
	// By hand: one logit at p = 0.9 cooled to the entropy of p = 0.2 stands at 0.8.
	p := policy(t, "logit", "point:p=0.9", 1)
	temper(p, slices.Clone(p.Parameters()), -(.2*math.Log(.2) + .8*math.Log(.8)))
	if q, _ := chances(p, 0); !(math.Abs(q-.8) < 1e-13) {
		t.Errorf("p = %v, want 0.8", q)
	}
}

// TestR2POLearns drives stage B with groups of a logit at p = 5/12, answered at
// 3/5: s of n move it by s A/n, a group of equal rewards does not count, and
// weights are w = 25/36 of hits and 35/24 of misses. A policy that has come to
// p = 5/12 over a distance z from the initial one is pulled back by kl p(1-p) z.
func TestR2POLearns(t *testing.T) {
	a := .75 / (.5 + 1e-4) // of one hit in four: sd^2 = (9/16 + 3/16)/3
	b := -.25 / (.5 + 1e-4)
	const distance = 0.3
	for keys, want := range map[string]float64{
		",kl=0":                       a / 4,
		",kl=0,correction=importance": (25./36*a*7/12 - 35./24*3*b*5/12) / 4,
		",kl=2":                       a/4 - 2*5./12*7/12*distance,
	} {
		p := policy(t, "logit", "point:p=0.4166666666666667", 2)
		floats.AddConst(-distance, p.Parameters())
		o := DefaultObjective()
		o.Aggregate = sim.AggregatePrompt
		s := begun(t, "r2po:init=zero"+keys, p, o)
		floats.AddConst(distance, p.Parameters())
		before := slices.Clone(p.Parameters())
		mu := appendTwoAnswers(nil, logOdds(.6))
		step := &Step{Number: 1, Groups: []Group{
			{X: 1, Counts: []int{0, 5}, Weight: 1, Baseline: math.NaN()},
			{X: 0, Counts: []int{1, 3}, Weight: 1, Baseline: .2},
		}, Old: func(int) []float64 { return mu }, point: &Point{}}
		if err := s.Learn(step); err != nil {
			t.Fatal(err)
		}
		if got := p.Parameters()[0] - before[0]; !(math.Abs(got-want) < 1e-12) || p.Parameters()[1] != before[1] {
			t.Errorf("%q: moves by %v and %v, want %v and 0", keys, got, p.Parameters()[1]-before[1], want)
		}
		if d := step.point.Diagnostics; len(d) != len(r2poKind.info.Diagnostics) || d[0].Name != r2poKind.info.Diagnostics[0].Name || !(math.Abs(d[0].Value-.6) < 1e-15) {
			t.Errorf("diagnostics %v", d)
		}
	}
}

// TestR2POLedger: stage A's rollouts are charged at the steps that the schedule
// names, at full price, the temperature's not; tokens where there are lengths.
func TestR2POLedger(t *testing.T) {
	for _, c := range []struct {
		system string
		extra  []int // summed up to every step
	}{
		{"r2po:schedule=2,a-steps=3,a-prompts=4,n=5", []int{60, 60, 120, 120, 180}},
		{"r2po:a-steps=3,a-prompts=4,n=5", []int{60, 60, 60, 60, 60}},
		{"r2po:schedule=2,a-steps=3,a-prompts=4,n=5,control=temperature", []int{0, 0, 0, 0, 0}},
		{"r2po:schedule=1,a-steps=0", []int{0, 0, 0, 0, 0}},
	} {
		for _, text := range []string{"logit", "sequence:tokens=3,branching=2"} {
			cfg := smallConfig()
			cfg.System, cfg.MaxSteps, cfg.Target = c.system, 5, 1
			var extra []int
			cfg.Step = func(p Point) {
				l := p.Ledger
				if p.Step > 0 {
					extra = append(extra, l.Extra)
				}
				if want := p.Step*64 + l.Extra; l.Generated != want || p.Cost != float64(want) {
					t.Errorf("%s, step %d: %+v at %v, want %d", c.system, p.Step, l, p.Cost, want)
				}
				if long := text != "logit"; long && l.GeneratedTokens < l.Generated || !long && l.GeneratedTokens != 0 {
					t.Errorf("%s of %s: %+v", c.system, text, l)
				}
			}
			trained(t, cfg, policy(t, text, population, 32), "fixed:g=8")
			if !slices.Equal(extra, c.extra) {
				t.Errorf("%s: stage A %v, want %v", c.system, extra, c.extra)
			}
		}
	}
}

// TestStageACharge by hand: two rollouts of three tokens and one of two.
func TestStageACharge(t *testing.T) {
	outcomes, counts := []Outcome{{Correct: true, Tokens: 3}, {Tokens: 2}}, []int{2, 1}
	for temperature, want := range map[bool][2]int{false: {3, 8}, true: {0, 0}} {
		r := &r2po{temperature: temperature}
		r.charge(outcomes, counts)
		if r.spent != want[0] || r.tokens != want[1] {
			t.Errorf("temperature %v: %d rollouts of %d tokens, want %v", temperature, r.spent, r.tokens, want)
		}
	}
}

// TestR2POSchedule: the released visits, the head's resets and its start.
func TestR2POSchedule(t *testing.T) {
	p := policy(t, "logit", population, 4)
	r := begun(t, "r2po:init=zero", p, DefaultObjective()).(*r2po)
	var visits []int
	for step := 1; step <= 400; step++ {
		if r.due(step) {
			visits = append(visits, step)
		}
	}
	if want := []int{1, 41, 81, 101, 121, 141, 161, 181}; !slices.Equal(visits, want) {
		t.Errorf("visits before %v, want %v", visits, want)
	}
	if floats.Norm(r.head, 2) != 0 {
		t.Errorf("a head of zero starts at %v", r.head)
	}
	_ = r.Answer(1, func() error { return nil })
	head := slices.Clone(r.head)
	_ = r.Answer(2, func() error { return nil })
	if floats.Norm(head, 2) == 0 || !slices.Equal(head, r.head) {
		t.Errorf("head %v after the visit, %v a step later", head, r.head)
	}
	anew := begun(t, "r2po:schedule=1,a-steps=0,reset=visit", p, DefaultObjective()).(*r2po)
	_ = anew.Answer(1, func() error { return nil })
	first := slices.Clone(anew.head)
	_ = anew.Answer(2, func() error { return nil })
	if slices.Equal(first, anew.head) || !(floats.Norm(anew.head, math.Inf(1)) < 6e-6) {
		t.Errorf("head %v, then %v: want new noise of size 1e-6", first, anew.head)
	}
}

// TestStageAByHand: one step of size 1 on a logit at 1/2. In a group of three
// with one odd rollout scores are 1, 1/2, 1/2: mean 2/3, sd^2 = 1/12, and the
// logit moves by a third of (1/3)/(sqrt(1/12) + 1e-6) towards the odd one. From
// there the divergence pulls back: d/dz KL(p || 1/2) = p(1-p) z.
func TestStageAByHand(t *testing.T) {
	const kl = 0.5
	moved, pulled := 0, 0
	for seed := range 40 {
		p := policy(t, "logit", "point:p=0.5", 1)
		r := begun(t, fmt.Sprintf("r2po:schedule=%d,a-steps=2,a-prompts=1,n=3,init=zero,kl=%v", seed+1, kl), p, DefaultObjective()).(*r2po)
		r.key = r.key.With(uint64(seed))
		var err error
		if r.stageA.optimizer, err = NewOptimizer("sgd:lr=1"); err != nil {
			t.Fatal(err)
		}
		if err := r.Answer(1, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		step := 1. / 9 / (math.Sqrt(1./12) + 1e-6)
		after := func(z float64) float64 { return z - kl*z/(2+2*math.Cosh(z)) }
		switch got := math.Abs(r.head[0]); {
		case got == 0: // both groups were equal
		case math.Abs(got-step) < 1e-14: // one of them
			moved++
		case math.Abs(got-after(step)-step) < 1e-14, math.Abs(got-math.Abs(after(step)-step)) < 1e-14:
			pulled++
		default:
			t.Errorf("seed %d: the head is %v", seed, r.head[0])
		}
	}
	// A group is unequal with probability 3/4 at first: none of either kind would
	// have probability (5/8)^40 < 1e-8.
	if moved == 0 || pulled == 0 {
		t.Errorf("%d heads moved once and %d twice, of 40", moved, pulled)
	}
}

// TestVisitGoesRound: four steps of two prompts each train heads of all eight,
// but those of equal groups: a group of seven at p = 1/2 is equal with probability
// 1/64, more than four of eight with probability below 1e-7.
func TestVisitGoesRound(t *testing.T) {
	p := policy(t, "logit", "point:p=0.5", 8)
	r := begun(t, "r2po:init=zero,a-steps=4,n=7", p, DefaultObjective()).(*r2po)
	if err := r.Answer(1, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	trained := 0
	for _, phi := range r.head {
		if phi != 0 {
			trained++
		}
	}
	if trained < 4 {
		t.Errorf("heads of %d prompts of 8 are trained", trained)
	}
}

// TestVisitsDiffer: visits from the same head and policy draw other rollouts.
func TestVisitsDiffer(t *testing.T) {
	p := policy(t, "logit", population, 8)
	r := begun(t, "r2po:schedule=1,init=zero,reset=visit,a-prompts=8", p, DefaultObjective()).(*r2po)
	var heads [2][]float64
	for i := range heads {
		if err := r.Answer(i+1, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		heads[i] = slices.Clone(r.head)
	}
	if slices.Equal(heads[0], heads[1]) {
		t.Error("two visits train the same head")
	}
}

// TestR2PORuns: every strategy and policy runs, to the same bytes from the same
// seed; without stage A and KL and with a zero head the run is the objective's
// own, but for the groups that do not count.
func TestR2PORuns(t *testing.T) {
	run := func(system, text, s string, o Objective) string {
		cfg := smallConfig()
		cfg.System, cfg.MaxSteps, cfg.Target, cfg.Objective = system, 4, 1, o
		p := policy(t, text, population, 96)
		last := trained(t, cfg, p, s).Last
		last.Diagnostics = nil
		return fmt.Sprintf("%x %+v", p.Parameters(), last)
	}
	for _, s := range strategy.Spending(8, 4) {
		run("r2po:schedule=2,a-steps=2", "logit", s, objective(t, "grpo:ddof=1"))
	}
	for _, text := range policySpecs {
		system := "r2po:schedule=2,a-steps=3,a-prompts=9,correction=importance"
		if first, again := run(system, text, "vigor", DefaultObjective()), run(system, text, "vigor", DefaultObjective()); first != again {
			t.Errorf("%s: the same seed gives two runs", text)
		}
	}
	o := objective(t, "grpo:ddof=1,delta=0.0001")
	o.Aggregate = sim.AggregatePrompt
	cfg := smallConfig()
	cfg.MaxSteps, cfg.Target, cfg.Objective = 3, 1, o
	p := policy(t, "logit", "point:p=0.5", 32)
	cfg.System = "r2po:a-steps=0,kl=0,init=zero"
	trained(t, cfg, p, "fixed:g=64") // where no group has equal rewards
	q := policy(t, "logit", "point:p=0.5", 32)
	cfg.System = ""
	trained(t, cfg, q, "fixed:g=64")
	if !slices.Equal(p.Parameters(), q.Parameters()) {
		t.Error("stage B without a head is not GRPO")
	}
}

func TestR2PORefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"r2po:schedule=0,a-steps=-1,a-prompts=0,n=1,rate=0,clip=-1,kl=-1,init=one,reset=always,correction=some,control=heat": {
			"schedule = 0, want released, or a whole number of at least 1", "a-steps = -1", "a-prompts = 0", "n = 1, want", "rate = 0, want a number > 0",
			"clip = -1", "kl = -1", "init = one", "reset = always", "correction = some", "control = heat",
		},
		"r2po:a-step=3": {"did you mean a-steps?"},
		"r2p0":          {"did you mean r2po?"},
	} {
		_, err := NewSystem(text)
		for _, want := range want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
	for _, c := range []struct{ system, policy, want string }{
		{"r2po:a-prompts=33", "logit", "a-prompts = 33, want a whole number in [1, 32]"},
		{"r2po:control=temperature", "linear:overlap=0.5", "want logit, softmax, sequence or layered"},
	} {
		cfg := smallConfig()
		cfg.System = c.system
		if _, err := Run(context.Background(), cfg, policy(t, c.policy, population, 32), allocation(t, "fixed:g=8")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: error %v, want %q", c.system, c.policy, err, c.want)
		}
	}
	cfg := smallConfig()
	cfg.System = "r2po:rate=1e308,a-prompts=32"
	_, err := Run(context.Background(), cfg, policy(t, "logit", population, 32), allocation(t, "fixed:g=8"))
	if err == nil || !strings.Contains(err.Error(), "step 1: stage A's") {
		t.Errorf("a head that diverges: error %v", err)
	}
	s, err := NewSystem("r2po")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := NewSystem(s.Spec()); err != nil || again.Spec() != s.Spec() {
		t.Errorf("prints %s: %v", s.Spec(), err)
	}
}
