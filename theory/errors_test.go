package theory

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// TestRefused checks that every parameter outside its range, NaN first, is
// refused by name, and that the figure is then NaN.
func TestRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	uniform := distributions.NewUniform()
	dead := must(distributions.NewPoint(0))
	heavy := must(distributions.NewUnboundedPareto(1, 0.01))
	v := schedule.Default()
	flow := Flow{1, 1, 1}
	figure := func(x float64, err error) func() (float64, error) { return func() (float64, error) { return x, err } }
	for _, c := range []struct {
		want string
		call func() (float64, error)
	}{
		{"kappa = 1", figure(EtaPareto(1, 0.5, 2, 4))},
		{"kappa = NaN", figure(EtaPareto(nan, 0.5, 2, 4))},
		{"alpha = 1", figure(EtaPareto(2, 1, 2, 4))},
		{"alpha = 0", figure(EtaPareto(2, 0, 2, 4))},
		{"alpha = NaN", figure(EtaPareto(2, nan, 2, 4))},
		{"gamma = 0", figure(EtaPareto(2, 0.5, 0, 4))},
		{"gamma = +Inf", figure(EtaPareto(2, 0.5, inf, 4))},
		{"rounds = 0", figure(EtaPareto(2, 0.5, 2, 0))},
		{"rounds = 10001, want [1, 10000]", figure(EtaTruncatedPareto(2, 0.01, 1, 0.5, 2, 10_001))},
		{"rounds = 9223372036854775807", figure(EtaPerfect(uniform, 0.5, 2, math.MaxInt))},
		{"largest float64", figure(EtaPareto(1.0001, 0.1, 10, 10_000))},
		{"kappa = 0.5", figure(EtaParetoSurvivors(0.5, 0.5, 4))},
		{"kappa = 0", figure(EtaTruncatedPareto(0, 0.01, 1, 0.5, 2, 4))},
		{"kappa = +Inf", figure(EtaTruncatedPareto(inf, 0.01, 1, 0.5, 2, 4))},
		{"umin = 1", figure(EtaTruncatedPareto(2, 1, 1, 0.5, 2, 4))},
		{"umin = NaN", figure(EtaTruncatedPareto(2, nan, 1, 0.5, 2, 4))},
		{"umax = +Inf", figure(EtaTruncatedPareto(2, 0.01, inf, 0.5, 2, 4))},
		{"E[u] = 0", figure(EtaPerfect(dead, 0.5, 2, 4))},
		{"no mean", figure(EtaPerfect(heavy, 0.5, 2, 4))},
		{"rounds = -1", figure(EtaPerfectSurvivors(uniform, 0.5, -1))},
		{"batch = 0", figure(EtaFiniteBatch(uniform, v, 0))},
		{"m0 = 0", figure(EtaFiniteBatch(uniform, schedule.Vigor{}, 8))},
		{"batch = -3", figure(CapBatch(v, -3))},
		{"m0 = 0", figure(CapLawFree(schedule.Vigor{}))},
		{"E[u] = 0", figure(CapLaw(dead))},
		{"not bounded", figure(CapLaw(heavy))},
		{"order = 0", figure(ParetoOrderMean(2, 0, 8))},
		{"order = 9", figure(ParetoOrderMean(2, 9, 8))},
		{"kappa = NaN", figure(ParetoOrderMean(nan, 1, 8))},
		{"group = 0", figure(MeanSigma(0, 0.5))},
		{"group = 9223372036854775807, want [1, 10000]", figure(MeanSigma(math.MaxInt, 0.5))},
		{"p = NaN", figure(MeanSigma(8, nan))},
		{"p = 1.5", figure(OneLogitGradient(8, 1.5))},
		{"successes = 9", figure(SumAbsAdvantages(GRPO0, Group{8, 9}, 0, Signed))},
		{"group = 0", figure(SumAbsAdvantages(RLOO, Group{0, 0}, 0, Signed))},
		{"delta = 0.1", figure(SumAbsAdvantages(DrGRPO, Group{8, 4}, 0.1, Signed))},
		{"delta = NaN", figure(BoundFactor(GRPO1, Group{8, 4}, nan, Signed))},
		{"estimator = ppo", figure(BoundFactor("ppo", Group{8, 4}, 0, Signed))},
		{"coding = 01", figure(BoundFactor(GRPO0, Group{8, 4}, 0, "01"))},
		{"no rewards", figure(GradedFactor(nil))},
		{"reward = NaN", figure(GradedFactor([]float64{1, nan}))},
		{"tokens = 0", figure(Policy{0, 1}.GradientRazin2024(0.5))},
		{"jacobian = -1", figure(Policy{1, -1}.GradientLinear(0.5))},
		{"std = 1.5", figure(Policy{1, 1}.GradientSharp(1.5))},
		{"gain = 3", figure(Flow{3, 1, 1}.TimeGeneral(0.5))},
		{"gain = NaN", figure(TimeTabular(nan, 3, 0.5))},
		{"prompts = 0", figure(TimeTabular(1, 0, 0.5))},
		{"variance = 0", figure(flow.TimeBinary(0))},
		{"variance = NaN", figure(flow.TimeNormalised(nan))},
		{"jacobian = 0", figure(Flow{1, 1, 0}.TimeGeneral(0.5))},
		{"lambda = -1", figure(flow.TimeRazin2025(0.5, -1))},
	} {
		x, err := c.call()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if !math.IsNaN(x) {
			t.Errorf("%s: figure %v, want NaN", c.want, x)
		}
	}
}

func TestMeanFieldRefuses(t *testing.T) {
	uniform := distributions.NewUniform()
	for name, change := range map[string]func(*schedule.Vigor){
		"want a whole number":         func(v *schedule.Vigor) { v.Gamma = schedule.MustRatio("1.2") },
		"passes 10000 rollouts":       func(v *schedule.Vigor) { v.Rounds = 20 },
		"is below 1e-200":             func(v *schedule.Vigor) { v.Rounds, v.Gamma = 1000, schedule.MustRatio("1") },
		"select = best, want one of ": func(v *schedule.Vigor) { v.Select = "best" },
	} {
		v := schedule.Default()
		change(&v)
		if _, err := VigorMeanField(uniform, v, 0.75, 100); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
	for _, frontier := range []float64{math.NaN(), -1, 1.1} {
		if _, err := VigorMeanField(uniform, schedule.Default(), frontier, 100); err == nil {
			t.Errorf("frontier = %v is accepted", frontier)
		}
	}
	for _, mean := range []float64{math.NaN(), 0.5, 10_001} {
		want := fmt.Sprintf("mean group = %v, want [1, 10000]", mean)
		if _, err := FixedMeanField(uniform, mean, 0.75, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := FixedMeanField(uniform, 8, 0.75, 0); err == nil || !strings.Contains(err.Error(), "nodes = 0") {
		t.Errorf("error %v, want one about nodes = 0", err)
	}
}

// TestManyErrors checks that all faults are reported at once.
func TestManyErrors(t *testing.T) {
	_, err := EtaPareto(math.NaN(), 2, -1, 0)
	for _, want := range []string{"kappa", "alpha", "gamma", "rounds"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}
