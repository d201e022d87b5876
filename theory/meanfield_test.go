package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// TestMeanFieldByHand works one cut by hand. Prompts have p = 1/2 or p = 1 with
// equal chance; groups of 2, the better half gets 2 more. Mixed pairs are 1/4
// of all, so that the cut keeps them and 1/4 of the 3/4 that agree, a third of
// these: p = 1/2 stays with chance 1/2 + 1/2*1/3 = 2/3, p = 1 with 1/3.
func TestMeanFieldByHand(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.5, W: 0.5}, {P: 1, W: 0.5}}))
	v := schedule.Default()
	v.Rounds, v.Gamma = 2, schedule.MustRatio("1")
	m := must(VigorMeanField(law, v, 1, 10))
	for name, x := range map[string][2]float64{
		"group of p = 1/2": {m.Allocation[0].Rollouts, 2 + 2*2./3},
		"group of p = 1":   {m.Allocation[1].Rollouts, 2 + 2*1./3},
		"2 for p = 1/2":    {m.Allocation[0].Shares[0], 1. / 3},
		"4 for p = 1/2":    {m.Allocation[0].Shares[1], 2. / 3},
		"2 for p = 1":      {m.Allocation[1].Shares[0], 2. / 3},
		"4 for p = 1":      {m.Allocation[1].Shares[1], 1. / 3},
		"eta":              {m.Eta, (2 + 4./3) / 3},
		"false negative":   {m.Screening[0].FalseNegative, 1. / 3},
		"false omission":   {m.Screening[0].FalseOmission, 1. / 3},
		// Kept groups of 4 of p = 1/2, by their first pair: mixed (mass 1/4 of
		// all) or equal (1/4 of all times a third); then s - 1 or s is
		// Binomial(2, 1/2). Only equal pairs can end with equal rewards.
		"zero-variance groups": {m.ZeroVarianceGroups, 0.5 + 1./12*1./4 + 1./6},
		"signal": {m.Signal * m.Trained, 4 * (1./4*(1./2*1+1./2*math.Sqrt(3)/2) +
			1./12*(1./4*0+1./2*math.Sqrt(3)/2+1./4*1))},
		"progress":       {m.Progress, m.Signal}, // all signal is at u = 1
		"never grow":     {m.Starved(1), 0.5},
		"in two epochs":  {m.Starved(2), 0.5*1./9 + 0.5*4./9},
		"mass":           {m.MassError, 0},
		"implicit at 1":  {m.Allocation[1].ImplicitWeight(), 0},
		"implicit at .5": {m.Allocation[0].ImplicitWeight(), 4 * m.Signal * m.Trained},
	} {
		if !(math.Abs(x[0]-x[1]) <= 1e-14) {
			t.Errorf("%s = %v, want %v", name, x[0], x[1])
		}
	}
}

// TestFrontierIsInclusive: atoms on the frontier are inside, whichever way
// 4p(1-p) was rounded.
func TestFrontierIsInclusive(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.1, W: 0.25}, {P: 0.25, W: 0.25}, {P: 0.75, W: 0.25}, {P: 0.9, W: 0.25}}))
	for _, c := range []struct{ frontier, share float64 }{{0.36, 1}, {0.75, 0.5}, {0.7500001, 0}} {
		f := newField(law.Nodes(10), c.frontier, 1)
		if f.meanFrontier != c.share {
			t.Errorf("P(u >= %v) = %v, want %v", c.frontier, f.meanFrontier, c.share)
		}
	}
}

// TestTruthTies: p and 1-p rank alike, though 4p(1-p) is rounded differently.
// Above u = .36 lie .375 of the prompts, at it another .375: the cut keeps a third
// of these.
func TestTruthTies(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.1, W: 0.25}, {P: 0.5, W: 0.375}, {P: 0.9, W: 0.125}, {P: 1, W: 0.25}}))
	v := schedule.Default()
	v.Rounds, v.Select = 2, schedule.SelectTruth
	m := must(VigorMeanField(law, v, 0.75, 10))
	for i, want := range []float64{2 + 4./3, 6, 2 + 4./3, 2} {
		if got := m.Allocation[i].Rollouts; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("p = %v: group %v, want %v", m.Allocation[i].P, got, want)
		}
	}
}

// TestTruthBelowTheSmallestFloat: where nearly all prompts are as good as dead
// or solved, a cut may fall at a u that float64 can barely hold. The prompts
// that matter are few and all kept: eta is the cap.
func TestTruthBelowTheSmallestFloat(t *testing.T) {
	r := newRuler(t)
	v := schedule.Default()
	v.Select = schedule.SelectTruth
	for _, a := range []float64{0.002, 0.0005, 0.0001} {
		for _, b := range []float64{a, 1} {
			m := must(VigorMeanField(must(distributions.NewBeta(a, b)), v, 0.75, DefaultNodes))
			r.check(m.Eta, must(CapLawFree(v)), "Beta(%v,%v) eta", a, b)
			r.check(m.Rollouts, 8, "Beta(%v,%v) rollouts", a, b)
			r.check(m.GroupSizes[0].Share, 0.5, "Beta(%v,%v) share of groups of 2", a, b)
		}
	}
}

// TestSymmetry: p and 1-p are the same to every cut, so that turning the law
// over changes no figure.
func TestSymmetry(t *testing.T) {
	r := newRuler(t)
	for _, selection := range []string{schedule.SelectSample, schedule.SelectTruth} {
		v := schedule.Default()
		v.Select = selection
		m := must(VigorMeanField(must(distributions.NewBeta(0.1, 0.3)), v, 0.75, DefaultNodes))
		w := must(VigorMeanField(must(distributions.NewBeta(0.3, 0.1)), v, 0.75, DefaultNodes))
		r.check(m.Eta, w.Eta, "%s eta", selection)
		r.check(m.Signal, w.Signal, "%s signal", selection)
		r.check(m.Progress, w.Progress, "%s progress", selection)
		r.check(m.Screening[2].FalseNegative, w.Screening[2].FalseNegative, "%s false negative", selection)
	}
}

// TestNodesConverge: twice the nodes change nothing, for small groups and for
// the largest that can be built.
func TestNodesConverge(t *testing.T) {
	r := newRuler(t)
	v := schedule.Default()
	v.Rounds = 12 // groups of up to 8190
	for _, c := range []struct {
		v     schedule.Vigor
		nodes int
	}{{schedule.Default(), DefaultNodes}, {v, 20_000}} {
		law := reference()["beta1-3"]
		m, w := must(VigorMeanField(law, c.v, 0.75, c.nodes)), must(VigorMeanField(law, c.v, 0.75, 2*c.nodes))
		r.check(m.Eta, w.Eta, "eta")
		r.check(m.Signal, w.Signal, "signal")
		r.check(m.Progress, w.Progress, "progress")
		r.check(m.Screening[2].FalseNegative, w.Screening[2].FalseNegative, "false negative")
		if !(m.MassError <= 1e-12) {
			t.Errorf("mass is missed by %v", m.MassError)
		}
	}
}

// TestFreshGroups: drawing the update's groups anew leaves the allocation
// alone and doubles the price.
func TestFreshGroups(t *testing.T) {
	law := reference()["uniform"]
	v := schedule.Default()
	reused := must(VigorMeanField(law, v, 0.75, DefaultNodes))
	v.Reuse = false
	fresh := must(VigorMeanField(law, v, 0.75, DefaultNodes))
	r := newRuler(t)
	r.check(fresh.Eta, reused.Eta, "eta")
	r.check(fresh.Rollouts, 16, "rollouts")
	r.check(fresh.EtaGenerated, reused.Eta/2, "eta per generated rollout")
	cosine := must(ObjectiveCosine(fresh, reused))
	if !(cosine > 0.9 && cosine <= 1) {
		t.Errorf("cosine of fresh and reused = %v, want it near 1", cosine)
	}
	r.check(must(ObjectiveCosine(fresh, fresh)), 1, "cosine with itself")
}

// TestObjectiveCosineRefuses mean fields on different nodes.
func TestObjectiveCosineRefuses(t *testing.T) {
	a := must(FixedMeanField(reference()["uniform"], 8, 0.75, 100))
	b := must(FixedMeanField(reference()["uniform"], 8, 0.75, 200))
	if _, err := ObjectiveCosine(a, b); err == nil {
		t.Error("different nodes are accepted")
	}
}

// TestOneLogit checks the identities of theory.md, section 2.
func TestOneLogit(t *testing.T) {
	r := newRuler(t)
	for _, p := range []float64{0, 1e-9, 0.1, 0.5, 0.9, 1} {
		r.check(must(OneLogitGradient(2, p)), p*(1-p), "G = 2, p = %v", p)
		r.check(must(OneLogitGradient(1, p)), 0, "G = 1, p = %v", p)
	}
	// As G grows E[sigma_G] = sqrt(4pq) (1 - 1/(8 G p q) + ...).
	large, p := must(OneLogitGradient(10_000, 0.3)), 0.3
	if want := math.Sqrt(p*(1-p)) * (1 - 1/(8*10_000*p*(1-p))); !(math.Abs(large/want-1) < 1e-7) {
		t.Errorf("G = 10^4: %v, want %v", large, want)
	}
	if f := IdentityFactor(Group{8, 2}); f != math.Sqrt(12)/8 {
		t.Errorf("IdentityFactor = %v, want sqrt(12)/8", f)
	}
}

// TestExpectedGradientBounds: the sharp bound is attained by two answers, V =
// 2p-1 with dV/dz = 2p(1-p), J = L = 1, at p = 1/2.
func TestExpectedGradientBounds(t *testing.T) {
	one := Policy{1, 1}
	for _, p := range []float64{0.001, 0.1, 0.5, 0.9} {
		gradient, std := 2*p*(1-p), math.Sqrt(4*p*(1-p))
		razin, linear, sharp := must(one.GradientRazin2024(std)), must(one.GradientLinear(std)), must(one.GradientSharp(std))
		if !(gradient <= sharp && sharp <= linear && linear <= razin) {
			t.Errorf("p = %v: want %v <= %v <= %v <= %v", p, gradient, sharp, linear, razin)
		}
	}
	two := Policy{2, 3}
	newRuler(t).check(must(two.GradientSharp(0.5)), 1.5, "J sqrt(L/2) STD")
	newRuler(t).check(must(two.GradientLinear(0.5)), 6, "2 L J STD")
	newRuler(t).check(must(two.GradientRazin2024(0.125)), 9, "6 L J STD^(2/3)")
}

// TestMeanFieldAround: a cut that keeps .6 where alpha is .5 leaves .4 of the
// prompts with 2 rollouts; .5^2 reach the last round as ever.
func TestMeanFieldAround(t *testing.T) {
	v := schedule.Default()
	v.Rounds = 3
	law := distributions.NewUniform()
	m, err := MeanFieldAround(law, v, 0.75, 100, 1, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.4, 0.35, 0.25} {
		if got := m.GroupSizes[i].Share; math.Abs(got-want) > 1e-12 {
			t.Errorf("share %d = %v, want %v", i, got, want)
		}
	}
	there, err := VigorMeanField(law, v, 0.75, 100)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = MeanFieldAround(law, v, 0.75, 100, 2, 0); err != nil || m.Eta != there.Eta {
		t.Errorf("no shift: eta %v, %v, want %v", m, err, there.Eta)
	}
	for _, c := range []struct {
		cut   int
		shift float64
	}{{0, 0}, {3, 0}, {1, 0.5}, {1, -0.5}, {1, math.NaN()}} {
		if _, err := MeanFieldAround(law, v, 0.75, 100, c.cut, c.shift); err == nil {
			t.Errorf("cut %d, shift %v is accepted", c.cut, c.shift)
		}
	}
}
