package theory

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// drawLaw draws a law of any kind, corners included.
func drawLaw(t *rapid.T) distributions.Law {
	positive := rapid.Float64Range(0.02, 5)
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return must(distributions.NewBeta(positive.Draw(t, "a"), positive.Draw(t, "b")))
	case 1:
		return must(distributions.NewSpikedBeta(0.3, 0.2, positive.Draw(t, "a"), positive.Draw(t, "b")))
	case 2:
		low := rapid.Float64Range(0.01, 0.9).Draw(t, "min")
		return must(distributions.NewParetoSuccess(positive.Draw(t, "shape"), low, rapid.Float64Range(low+0.05, 1).Draw(t, "max")))
	case 3:
		body := must(distributions.NewBeta(positive.Draw(t, "a"), positive.Draw(t, "b")))
		return must(distributions.NewMixture([]float64{0.3, 0.7}, []distributions.Law{body, drawQuickLaw(t)}))
	}
	return drawQuickLaw(t)
}

// drawQuickLaw draws a law whose TopU has a closed form.
func drawQuickLaw(t *rapid.T) distributions.Law {
	if rapid.Bool().Draw(t, "pareto") {
		shape, low := rapid.Float64Range(0.02, 5).Draw(t, "shape"), rapid.Float64Range(0.001, 0.5).Draw(t, "min")
		return must(distributions.NewParetoVariance(shape, low, 1, rapid.Float64Range(0, 1).Draw(t, "hard")))
	}
	// Eighths: p and 1-p often meet, and dead and solved prompts occur.
	weights := rapid.SliceOfN(rapid.IntRange(0, 4), 9, 9).Draw(t, "weights")
	weights[rapid.IntRange(1, 7).Draw(t, "alive")]++ // E[u] > 0
	total := 0
	for _, w := range weights {
		total += w
	}
	var atoms []distributions.Node
	for i, w := range weights {
		atoms = append(atoms, distributions.Node{P: float64(i) / 8, W: float64(w) / float64(total)})
	}
	return must(distributions.NewAtoms(atoms))
}

// drawPlan draws a schedule with whole groups of at most a few hundred.
func drawPlan(t *rapid.T) schedule.Vigor {
	pick := func(name string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, name) }
	v := schedule.Vigor{
		M0:     2 * rapid.IntRange(1, 3).Draw(t, "m0"),
		Rounds: rapid.IntRange(1, 4).Draw(t, "rounds"),
		Alpha:  schedule.MustRatio(pick("alpha", "0.5", "0.25", "1/3", "0.07", "0.9")),
		Gamma:  schedule.MustRatio(pick("gamma", "1", "2", "3")),
		Ties:   schedule.TiesRandom,
		Cut:    pick("cut", schedule.CutCeil, schedule.CutFloor, schedule.CutNearest),
		Select: pick("select", schedule.SelectSample, schedule.SelectTruth, schedule.SelectRandom),
		Update: pick("update", schedule.UpdateAll, schedule.UpdateSurvivors),
		Reuse:  rapid.Bool().Draw(t, "reuse"),
	}
	if v.Rounds == 2 && rapid.Bool().Draw(t, "shrink") {
		v.Gamma = schedule.MustRatio("1/2")
	}
	return v
}

// TestMeanFieldProperties checks what must hold for every law and schedule:
// mass, the budget, the caps of section 3.1, the controls. That no selection
// passes the perfect one follows round by round: E[u; active in round t] is at
// most TopU(alpha^t).
func TestMeanFieldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law, v := drawLaw(t), drawPlan(t)
		m := must(VigorMeanField(law, v, 0.75, 400))
		if !(m.MassError <= 1e-12) {
			t.Fatalf("mass is missed by %v", m.MassError)
		}
		checkBudget(t, m, v)
		const slack = 1 + 1e-10
		perfect := must(etaInfiniteBatch(law, v))
		if !(m.Eta <= perfect*slack) {
			t.Errorf("eta = %v, want at most the perfect %v", m.Eta, perfect)
		}
		if limit := must(CapLawFree(v)); !(perfect <= limit*slack) {
			t.Errorf("perfect eta = %v, want at most the cap %v", perfect, limit)
		}
		if limit := must(CapLaw(law)); !(perfect <= limit*slack) {
			t.Errorf("perfect eta = %v, want at most 1/E[u] = %v", perfect, limit)
		}
		checkOneBit(t, m, v)
		switch v.Select {
		case schedule.SelectRandom:
			if !(math.Abs(m.Eta-1) <= 1e-12) {
				t.Errorf("random selection: eta = %v, want 1", m.Eta)
			}
		case schedule.SelectTruth:
			if !(math.Abs(m.Eta/perfect-1) <= accuracy) {
				t.Errorf("selection by the truth: eta = %v, want %v", m.Eta, perfect)
			}
		}
	})
}

// checkBudget checks sums that the schedule alone decides.
func checkBudget(t *rapid.T, m *MeanField, v schedule.Vigor) {
	share, group, nodes, signal := 0.0, 0.0, 0.0, 0.0
	byNodes := make([]float64, len(m.GroupSizes)) // shares of sizes
	for i, s := range m.GroupSizes {
		share += s.Share
		group += s.Share * float64(s.Size)
		want := math.Pow(v.Alpha.Float(), float64(i))
		if i < v.Rounds-1 {
			want *= 1 - v.Alpha.Float()
		}
		if !(math.Abs(s.Share/want-1) <= accuracy) {
			t.Errorf("share of size %d = %v, want %v", s.Size, s.Share, want)
		}
	}
	for _, n := range m.Allocation {
		nodes += n.W * n.Rollouts
		signal += n.W * n.Signal
		mean := 0.0
		for i, x := range n.Shares {
			byNodes[i] += n.W * x
			mean += x * float64(m.GroupSizes[i].Size)
		}
		if !(math.Abs(mean/n.Rollouts-1) <= accuracy) {
			t.Errorf("p = %v: mean group %v by its law, want %v", n.P, mean, n.Rollouts)
		}
	}
	for i, s := range m.GroupSizes {
		if !(math.Abs(byNodes[i]-s.Share) <= accuracy) {
			t.Errorf("share of size %d = %v by nodes, want %v", s.Size, byNodes[i], s.Share)
		}
	}
	for name, x := range map[string][2]float64{
		"shares":                  {share, 1},
		"mean group by sizes":     {group, m.MeanGroup},
		"mean group by nodes":     {nodes, m.MeanGroup},
		"signal by nodes":         {signal, m.Signal * m.Trained},
		"eta per generated":       {m.EtaGenerated * m.Rollouts, m.Eta * m.Trained},
		"trained over generated":  {m.Trained / m.Rollouts, trainedShare(v)},
		"prompts that never grow": {m.Starved(1), firstShare(m, v)},
	} {
		if !(math.Abs(x[0]-x[1]) <= accuracy*max(1, x[1])) {
			t.Errorf("%s: %v, want %v", name, x[0], x[1])
		}
	}
}

// checkOneBit checks theory.md, section 3.2: a pair is a test of one bit, mixed
// with probability 2p(1-p) <= 1/2, so that the first cut drops at least
// (1-alpha)/2 of any frontier.
func checkOneBit(t *rapid.T, m *MeanField, v schedule.Vigor) {
	if v.M0 != 2 || v.Rounds == 1 || v.Select != schedule.SelectSample {
		return
	}
	missed, least := m.Screening[0].FalseNegative, (1-v.Alpha.Float())/2
	if !math.IsNaN(missed) && !(missed >= least*(1-1e-10)) {
		t.Errorf("false negatives of round 1 = %v, want at least %v", missed, least)
	}
}

func firstShare(m *MeanField, v schedule.Vigor) float64 {
	if v.Rounds == 1 {
		return 0
	}
	return m.GroupSizes[0].Share
}

// TestFiniteBatchProperties checks the caps of a finite batch, and that its
// top mean is at most that of the infinite batch: TopU is concave and
// E[V] = n/B (Jensen).
func TestFiniteBatchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law, v := drawQuickLaw(t), drawPlan(t)
		batch := rapid.IntRange(1, 70).Draw(t, "batch")
		const slack = 1 + 1e-10
		eta := must(EtaFiniteBatch(law, v, batch))
		if limit := must(CapBatch(v, batch)); !(eta <= limit*slack) {
			t.Errorf("eta = %v, want at most cap_batch = %v", eta, limit)
		}
		if limit := must(CapLaw(law)); !(eta <= limit*slack) {
			t.Errorf("eta = %v, want at most 1/E[u] = %v", eta, limit)
		}
		if !(eta >= 1/slack) {
			t.Errorf("perfect selection: eta = %v, want at least 1", eta)
		}
		n := rapid.IntRange(1, batch).Draw(t, "n")
		finite, limit := must(finiteTopMean(law, batch)(n)), topMean(law, float64(n)/float64(batch))
		if !(finite <= limit*slack) {
			t.Errorf("top %d of %d: %v, want at most %v", n, batch, finite, limit)
		}
	})
}

// TestEtaParetoProperties: eta lies between 1 and the cap and falls in kappa,
// because q = alpha^(-1/kappa) does; truncation from above can only lower it.
func TestEtaParetoProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha, gamma := rapid.Float64Range(0.01, 0.99).Draw(t, "alpha"), rapid.Float64Range(0.1, 10).Draw(t, "gamma")
		rounds := rapid.IntRange(1, 200).Draw(t, "rounds")
		low := rapid.Float64Range(1.001, 5).Draw(t, "kappa")
		high := low + rapid.Float64Range(0, 5).Draw(t, "more")
		heavy, light := must(EtaPareto(low, alpha, gamma, rounds)), must(EtaPareto(high, alpha, gamma, rounds))
		const slack = 1 + 1e-11
		limit := geometricRatio(logProduct(alpha, gamma), -math.Log(alpha), float64(rounds))
		if !(light >= 1/slack && heavy >= light/slack && heavy <= limit*slack) {
			t.Errorf("want 1 <= %v <= %v <= %v", light, heavy, limit)
		}
		truncated := must(EtaTruncatedPareto(low, 0.01, 1, alpha, gamma, rounds))
		if !(truncated <= heavy*slack && truncated >= 1/slack) {
			t.Errorf("want 1 <= truncated %v <= %v", truncated, heavy)
		}
	})
}

// TestEtaParetoGrowth checks the growth that EtaPareto documents, at a T where
// what is left out is below 1e-9.
func TestEtaParetoGrowth(t *testing.T) {
	const alpha, kappa, rounds = 0.5, 2.0, 400
	q := math.Pow(alpha, -1/kappa)
	for _, c := range []struct {
		name string
		a    float64
		want func(a, b float64) float64
	}{
		{"a > 1", 1.5, func(a, b float64) float64 { return (a - 1) / (b - 1) * math.Pow(q, rounds) }},
		{"a = 1", 1, func(_, _ float64) float64 { return (math.Pow(q, rounds) - 1) / (rounds * (q - 1)) }},
		{"a < 1, b > 1", 0.9, func(a, b float64) float64 { return (1 - a) / (b - 1) * math.Pow(b, rounds) }},
		{"a < 1, b = 1", 1 / q, func(a, _ float64) float64 { return (1 - a) * rounds }},
		{"a < 1, b < 1", 0.5, func(a, b float64) float64 { return (1 - a) / (1 - b) }},
	} {
		eta := must(EtaPareto(kappa, alpha, c.a/alpha, rounds))
		if want := c.want(c.a, c.a*q); !(math.Abs(eta/want-1) <= 1e-9) {
			t.Errorf("%s: eta = %v, want %v", c.name, eta, want)
		}
	}
	if eta := must(EtaPareto(math.Inf(1), alpha, 2, rounds)); eta != 1 {
		t.Errorf("kappa = Inf: eta = %v, want 1", eta)
	}
}
