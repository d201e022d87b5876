package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// quoted checks a figure against theory.md, to half a unit of its last digit.
func quoted(t *testing.T, name string, got, want float64, digits int) {
	t.Helper()
	if tol := 0.5001 * math.Pow10(-digits); !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, theory.md says %v", name, got, want)
	}
}

// reference holds the populations of theory.md by name.
func reference() map[string]distributions.Law {
	return map[string]distributions.Law{
		"tp15":    must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5)),
		"beta1-3": must(distributions.NewBeta(0.1, 0.3)),
		"uniform": distributions.NewUniform(),
		"beta5-5": must(distributions.NewBeta(0.5, 0.5)),
		"beta3-7": must(distributions.NewBeta(0.3, 0.7)),
	}
}

func TestSection3(t *testing.T) {
	for _, c := range []struct{ kappa, eta, speedup float64 }{
		{1.1, 3.256563, 1.482244}, {1.5, 2.276811, 1.315555}, {2, 1.810660, 1.218837}, {3, 1.461831, 1.134921},
	} {
		eta := must(EtaPareto(c.kappa, 0.5, 2, 4))
		quoted(t, "eta", eta, c.eta, 6)
		quoted(t, "speedup", Speedup(eta, Exponents()[0].Value), c.speedup, 6)
	}
}

func TestSection31(t *testing.T) {
	v := schedule.Default()
	limit := must(CapLawFree(v))
	quoted(t, "cap", limit, 3.75, 12)
	quoted(t, "cap^(1/3)", Speedup(limit, 1./3), 1.5536, 4)
	quoted(t, "eta that 2.3 needs", math.Pow(2.3, 3), 12.2, 1)
	for _, c := range []struct{ kappa, eta float64 }{{1.5, 2.116556}, {2, 1.791414}, {1, 2.507505}} {
		quoted(t, "truncated eta", must(EtaTruncatedPareto(c.kappa, 0.01, 1, 0.5, 2, 4)), c.eta, 6)
	}
	laws := reference()
	quoted(t, "perfect eta, Beta(.1,.3)", must(EtaPerfect(laws["beta1-3"], 0.5, 2, 4)), 2.66620, 5)
	quoted(t, "perfect eta, uniform", must(EtaPerfect(laws["uniform"], 0.5, 2, 4)), 1.333984, 6)

	heavy := must(distributions.NewUnboundedPareto(1.5, 0.01))
	quoted(t, "B = 64", must(EtaFiniteBatch(heavy, v, 64)), 2.2607, 4)
	quoted(t, "its limit", must(EtaPareto(1.5, 0.5, 2, 4)), 2.2768, 4)
	v.Cut = schedule.CutFloor
	heavier := must(distributions.NewUnboundedPareto(1.02, 0.01))
	quoted(t, "floor cuts, B = 31", must(EtaFiniteBatch(heavier, v, 31)), 3.97, 2)
	if eta, most := must(EtaFiniteBatch(heavier, v, 31)), must(CapBatch(v, 31)); !(eta > limit && eta < most) {
		t.Errorf("floor cuts, B = 31: eta = %v, want it between the law-free cap %v and cap_batch %v", eta, limit, most)
	}
}

func TestSection32(t *testing.T) {
	laws := reference()
	for _, c := range []struct {
		law                                          string
		eta, ineffective, fixedIneffective           float64
		signal, fixedSignal, other, promptMean, gain float64
	}{
		{"tp15", 1.1750961, .8345863, .9490790, .0684935, .0345610, 1.10585, .528, 2.2540},
		{"beta1-3", 2.0364970, .4435454, .7294805, .4687318, .2220982, 1.80962, .633, 2.3862},
		{"uniform", 1.1922408, .1785714, .2222222, .7540096, .6657131, 0, .559, 1.2467},
		// theory.md has .3927613, but 2 E[p^8] = 2 C(16,8)/4^8 = .39276123046875.
		{"beta5-5", 1.3919784, .2377930, .3927612, .6865838, .5087681, 0, 0, 1.5406},
		{"beta3-7", 1.5309417, .2725784, .4844497, .6467072, .4295245, 0, 0, 0},
	} {
		law := laws[c.law]
		m := must(VigorMeanField(law, schedule.Default(), 0.75, DefaultNodes))
		f := must(FixedMeanField(law, 8, 0.75, DefaultNodes))
		quoted(t, c.law+" eta", m.Eta, c.eta, 7)
		quoted(t, c.law+" ineffective", m.Ineffective, c.ineffective, 7)
		quoted(t, c.law+" fixed ineffective", f.Ineffective, c.fixedIneffective, 7)
		quoted(t, c.law+" signal", m.Signal, c.signal, 7)
		quoted(t, c.law+" fixed signal", f.Signal, c.fixedSignal, 7)
		if c.promptMean > 0 {
			quoted(t, c.law+" prompt-mean signal", m.SignalPromptMean/f.SignalPromptMean, c.promptMean, 3)
		}
		if c.gain > 0 {
			quoted(t, c.law+" progress", m.Progress/f.Progress, c.gain, 4)
		}
		if c.other > 0 {
			other := schedule.Default()
			other.M0, other.Rounds = 4, 2
			other.Alpha, other.Gamma = schedule.MustRatio("1/4"), schedule.MustRatio("4")
			quoted(t, c.law+" other schedule", must(VigorMeanField(law, other, 0.75, DefaultNodes)).Eta, c.other, 5)
		}
	}
}

func TestUniformZeroVariance(t *testing.T) {
	m := must(VigorMeanField(distributions.NewUniform(), schedule.Default(), 0.75, DefaultNodes))
	quoted(t, "ineffective", m.Ineffective, 0.179, 3)
	quoted(t, "zero-variance groups", m.ZeroVarianceGroups, 0.571, 3)
	// By hand: after two rollouts s is uniform on {0, 1, 2}; the half that is
	// dropped is 1/2 of the 2/3 that agree and none of the mixed, so that all
	// of it agrees, and 1/6 of the prompts stay with equal rewards.
	quoted(t, "dropped in round 1", m.GroupSizes[0].Share, 0.5, 12)
}

func TestScreeningReference(t *testing.T) {
	m := must(VigorMeanField(reference()["tp15"], schedule.Default(), 0.75, DefaultNodes))
	quoted(t, "false omission", m.Screening[0].FalseOmission, .00031207, 8)
	for i, c := range []struct{ rate, cumulative float64 }{{.28888, .28888}, {.03972, .31713}, {.00137, .31806}} {
		quoted(t, "false negative", m.Screening[i].FalseNegative, c.rate, 5)
		quoted(t, "cumulative", m.Screening[i].FalseNegativeCumulative, c.cumulative, 5)
	}
}

// TestPublishedSpeedups checks the eta^(1/3) that theory.md, section 4.6, sets
// against progress.
func TestPublishedSpeedups(t *testing.T) {
	for law, want := range map[string]float64{"tp15": 1.055, "beta1-3": 1.268, "beta5-5": 1.117, "uniform": 1.060} {
		m := must(VigorMeanField(reference()[law], schedule.Default(), 0.75, DefaultNodes))
		quoted(t, law+" eta^(1/3)", Speedup(m.Eta, 1./3), want, 3)
	}
}
