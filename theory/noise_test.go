package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// An outcome is a share of all prompts with the weight and estimate of its
// groups, and whether the cut has kept them.
type outcome struct {
	share, w, q float64
	kept        bool
}

// noiseOf adds up the definition; d is the change of E[w(q-r)] by one more kept
// prompt, of half of all.
func noiseOf(rollouts float64, prompt bool, d func(r float64) float64, outcomes []outcome) float64 {
	total, sum := 0.0, 0.0
	for i := range outcomes {
		if prompt {
			outcomes[i].w = 1
		}
		total += outcomes[i].share * outcomes[i].w
		sum += outcomes[i].share * outcomes[i].w * outcomes[i].q
	}
	r, variance := sum/total, 0.0
	for _, x := range outcomes {
		term := x.w*(x.q-r) + d(r)/2
		if x.kept {
			term -= d(r)
		}
		variance += x.share * term * term
	}
	return rollouts * variance / (sum * sum)
}

// TestGradientNoiseByHand goes on from TestMeanFieldByHand: half of the groups
// stop at 2 rollouts, all of them equal. Of the others p = 1/2 has mass 1/4
// with a mixed first pair, where s - 1 is Binomial(2, 1/2), and 1/12 with an
// equal one, where s or 2 - s is; q = s(4-s)/12 is 1/4 at s = 1 and 3, 1/3 at
// 2. The tied level is that of the equal pairs, a third of them p = 1/2: kept,
// they have q = 5/72 on average, dropped 0.
func TestGradientNoiseByHand(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.5, W: 0.5}, {P: 1, W: 0.5}}))
	v := schedule.Default()
	v.Rounds, v.Gamma = 2, schedule.MustRatio("1")
	seen := func() []outcome {
		return []outcome{
			{1. / 2, 2, 0, false},
			{1. / 6, 4, 0, true},
			{1. / 8, 4, 1. / 4, true},
			{1. / 8, 4, 1. / 3, true},
			{1. / 48, 4, 0, true},
			{1. / 24, 4, 1. / 4, true},
			{1. / 48, 4, 1. / 3, true},
		}
	}
	// Fresh groups of p = 1/2: a pair is mixed with chance 1/2 and then has q =
	// 1/2; of four s is 1 or 3 half of the time and 2 in 3/8. On the tied level
	// q is 1/12 on average, kept or not.
	anew := func() []outcome {
		return []outcome{
			{1. / 12, 2, 1. / 2, false},
			{1. / 12, 2, 0, false},
			{1. / 3, 2, 0, false},
			{1. / 6, 4, 1. / 4, true},
			{1. / 8, 4, 1. / 3, true},
			{1. / 24, 4, 0, true},
			{1. / 6, 4, 0, true},
		}
	}
	reused := must(GradientNoise(law, v, 10))
	v.Reuse = false
	fresh := must(GradientNoise(law, v, 10))
	for name, x := range map[string][2]float64{
		"reused":              {reused.Rollout, noiseOf(3, false, func(r float64) float64 { return 4*(5./72-r) + 2*r }, seen())},
		"reused, prompt-mean": {reused.Prompt, noiseOf(3, true, func(float64) float64 { return 5. / 72 }, seen())},
		"fresh":               {fresh.Rollout, noiseOf(6, false, func(r float64) float64 { return 2 * (1./12 - r) }, anew())},
		"fresh, prompt-mean":  {fresh.Prompt, noiseOf(6, true, func(float64) float64 { return 0 }, anew())},
	} {
		if !(math.Abs(x[0]-x[1]) <= 1e-9*x[1]) {
			t.Errorf("%s = %v, want %v", name, x[0], x[1])
		}
	}
}

// TestGradientNoiseOfFixedGroups: for one p it is G Var(q)/E[q]^2, with the
// variance v(1-4v)/G + 2v^2/(G(G-1)) of a sample variance, v = p(1-p). A law
// adds the variance of v over prompts. Groups of one say nothing. Of groups of
// 2 and 3, as many of each, only what varies among those of a size counts, and
// under equal weights.
func TestGradientNoiseOfFixedGroups(t *testing.T) {
	variance := func(p, g float64) float64 { v := p * (1 - p); return v*(1-4*v)/g + 2*v*v/(g*(g-1)) }
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.3, W: 0.5}, {P: 0, W: 0.5}}))
	check := func(name string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, g := range []float64{2, 3, 8, 50} {
		point := must(FixedGradientNoise(must(distributions.NewPoint(0.3)), g, 10))
		two := must(FixedGradientNoise(law, g, 10))
		check("one p", point.Rollout, g*variance(0.3, g)/(0.21*0.21))
		check("one p, prompt-mean", point.Prompt, point.Rollout)
		check("two p", two.Rollout, g*(variance(0.3, g)/2+0.105*0.105)/(0.105*0.105))
		m := must(FixedMeanField(law, g, 1, 10))
		check("progress", m.ProgressPromptMean, m.Progress)
	}
	mixed := must(FixedGradientNoise(must(distributions.NewPoint(0.3)), 2.5, 10))
	check("groups of 2 and 3", mixed.Rollout, 2.5*(4*variance(0.3, 2)+9*variance(0.3, 3))/2/(2.5*0.21*2.5*0.21))
	check("groups of 2 and 3, prompt-mean", mixed.Prompt, 2.5*(variance(0.3, 2)+variance(0.3, 3))/2/(0.21*0.21))
	if x := must(FixedGradientNoise(must(distributions.NewPoint(0.3)), 1, 10)).Rollout; !math.IsNaN(x) {
		t.Errorf("groups of 1: %v, want NaN", x)
	}
}
