package theory

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/lookahead"
	"vigorlab/sim/schedule"
)

// TestLookaheadGolden: every figure of the mean field beside
// sim/lookahead/testdata/lookahead.py, which follows predictive probabilities
// from outcome to outcome and knows no quadrature.
func TestLookaheadGolden(t *testing.T) {
	text, err := os.ReadFile("../sim/lookahead/testdata/lookahead.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Fields []struct {
			Population                string
			Group, First, Rounds, Max int
			Rollouts, Eta, Signal     float64
			Progress, Ineffective     float64
			PromptMean                float64 `json:"signal_prompt_mean"`
			ZeroVariance              float64 `json:"zero_variance"`
			Sizes                     [][2]float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	spiked, err := distributions.NewSpikedBeta(0.2, 0.1, 0.6, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	point, err := distributions.NewPoint(0.3)
	if err != nil {
		t.Fatal(err)
	}
	laws := map[string]distributions.Law{
		"beta:a=0.1,b=0.3": betaLaw(t, 0.1, 0.3), "uniform": distributions.NewUniform(),
		"spiked-beta:dead=0.2,solved=0.1,a=0.6,b=0.9": spiked, "point:p=0.3": point,
	}
	for _, c := range golden.Fields {
		m, err := LookaheadMeanField(laws[c.Population], lookahead.Parameters{Group: c.Group, First: c.First, Rounds: c.Rounds, Max: c.Max}, 0.75, DefaultNodes)
		if err != nil {
			t.Fatal(err)
		}
		for what, x := range map[string][2]float64{
			"rollouts": {m.Rollouts, c.Rollouts}, "eta": {m.Eta, c.Eta}, "signal": {m.Signal, c.Signal},
			"progress": {m.Progress, c.Progress}, "ineffective": {m.Ineffective, c.Ineffective},
			"signal_prompt_mean": {m.SignalPromptMean, c.PromptMean}, "zero_variance": {m.ZeroVarianceGroups, c.ZeroVariance},
			"sizes": {float64(len(m.GroupSizes)), float64(len(c.Sizes))}, "budget": {m.Rollouts, float64(c.Group)}, "mass error": {m.MassError, 0},
		} {
			if !(math.Abs(x[0]-x[1]) < 1e-9) {
				t.Errorf("%s: %s = %.12g, want %.12g", c.Population, what, x[0], x[1])
			}
		}
		for i, want := range c.Sizes {
			if got := m.GroupSizes[i]; got.Size != int(want[0]) || !(math.Abs(got.Share-want[1]) < 1e-9) {
				t.Errorf("%s: groups %v, want %v", c.Population, got, want)
			}
		}
	}
}

func betaLaw(t *testing.T, a, b float64) distributions.Law {
	t.Helper()
	law, err := distributions.NewBeta(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// TestLookaheadBeatsVigor: with as many rollouts and rounds, and no larger
// groups, it has more progress than VIGOR's default and the schedules that
// `vigorlab plan --max-rounds 4 --max-group 30` finds best. Where all prompts have
// one p nothing can be found, and fixed groups of 30 on fewer prompts have more.
func TestLookaheadBeatsVigor(t *testing.T) {
	progress := func(m *MeanField, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m.Progress
	}
	const nodes = 400
	own := lookahead.Parameters{Group: 8, First: 2, Rounds: 4, Max: 30}
	schedules := []schedule.Vigor{
		schedule.Default(),
		vigorPlan(3, 2, "2/11", "9"), vigorPlan(4, 2, "1/6", "6"), vigorPlan(4, 3, "0.3", "2"), vigorPlan(2, 3, "3/7", "3"),
	}
	for name, law := range map[string]distributions.Law{
		"Beta(.1,.3)": betaLaw(t, .1, .3), "uniform": distributions.NewUniform(), "Beta(.25,.5)": betaLaw(t, .25, .5), "Beta(2,8)": betaLaw(t, 2, 8),
	} {
		got := progress(LookaheadMeanField(law, own, .75, nodes))
		for _, v := range schedules {
			if vigor := progress(VigorMeanField(law, v, .75, nodes)); !(got > vigor) {
				t.Errorf("%s: progress %v, %v of %v", name, got, vigor, v)
			}
		}
	}
	point, err := distributions.NewPoint(0.5)
	if err != nil {
		t.Fatal(err)
	}
	alike, fixed := progress(LookaheadMeanField(point, own, .75, nodes)), progress(FixedMeanField(point, 30, .75, nodes))
	if !(alike < fixed) {
		t.Errorf("prompts alike: progress %v, of groups of 30 %v", alike, fixed)
	}
}

func vigorPlan(m0, rounds int, alpha, gamma string) schedule.Vigor {
	v := schedule.Default()
	v.M0, v.Rounds, v.Alpha, v.Gamma = m0, rounds, schedule.MustRatio(alpha), schedule.MustRatio(gamma)
	return v
}

func TestLookaheadRefusals(t *testing.T) {
	_, err := LookaheadMeanField(distributions.NewUniform(), lookahead.Parameters{Group: 9, First: 10, Rounds: 0, Max: 8}, math.NaN(), 0)
	for _, want := range []string{"max = 8", "first = 10", "rounds = 0", "frontier = NaN", "nodes = 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
