package theory

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// The gains of GRPO with ddof 0, delta 0, and of Dr. GRPO, binary rewards.
var gains = map[string]func(n, s int) float64{
	"grpo":   func(n, s int) float64 { return GroupSigma(n, s) / 2 },
	"drgrpo": func(n, s int) float64 { return GroupSigma(n, s) * GroupSigma(n, s) / 4 },
}

// trainingPlan is a strategy of testdata/training.py.
type trainingPlan struct {
	planSpec
	Group      int
	Gain       string
	PromptMean bool `json:"prompt_mean"`
}

func (p trainingPlan) training(start []distributions.Node) Training {
	x := Training{Start: start, Group: p.Group, PromptMean: p.PromptMean, Gain: gains[p.Gain]}
	if p.Group == 0 {
		v := p.plan()
		x.Vigor = &v
	}
	return x
}

// TestTrainingGolden: paths of fixed groups and of VIGOR under every option,
// beside testdata/training.py, whose equal steps are extrapolated to 1e-6 or so,
// to 1e-5 where cuts bend the path. Error may be half of the truth.
func TestTrainingGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/training.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Plan           trainingPlan
			P, W           []float64
			Targets, Times []float64
		}
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range g.Cases {
		var start []distributions.Node
		for i, p := range c.P {
			start = append(start, distributions.Node{P: p, W: c.W[i]})
		}
		got, err := c.Plan.training(start).Arrivals(c.Targets...)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range got {
			if e := math.Abs(a.Time-c.Times[i]) / c.Times[i]; !(e <= max(2*a.Error, 1e-5) && a.Error <= 1e-3) {
				t.Errorf("%+v to %v: time %v with error %v, want %v: off by %v", c.Plan, a.Target, a.Time, a.Error, c.Times[i], e)
			}
		}
	}
}

func startAt(p ...float64) []distributions.Node {
	nodes := make([]distributions.Node, len(p))
	for i := range p {
		nodes[i] = distributions.Node{P: p[i], W: 1 / float64(len(p))}
	}
	return nodes
}

// TestTrainingClosedForms: groups of two make GRPO's mean gradient p(1-p), and
// so do groups of n under Dr. GRPO, times (n-1)/n: one prompt needs
// F(p) - F(p0), F(p) = 2 log(p/(1-p)) + (2p-1)/(p(1-p)), since
// dp/dt = (p(1-p))^2.
func TestTrainingClosedForms(t *testing.T) {
	f := func(p float64) float64 { return 2*math.Log(p/(1-p)) + (2*p-1)/(p*(1-p)) }
	for _, c := range []struct {
		gain  string
		group int
		speed float64
	}{{"grpo", 2, 1}, {"drgrpo", 2, .5}, {"drgrpo", 8, 7. / 8}} {
		const p0 = .03
		got, err := Training{Start: startAt(p0), Group: c.group, Gain: gains[c.gain]}.Arrivals(.01, .1, .5, .99)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			want := max(0, f(a.Target)-f(p0)) / c.speed
			if !(math.Abs(a.Time-want) <= max(2*a.Error, 1e-6)*want && a.Error <= 1e-3) || a.Rollouts != a.Time*float64(c.group) {
				t.Errorf("%s, groups of %d, to %v: %+v, want time %v", c.gain, c.group, a.Target, a, want)
			}
		}
	}
}

// TestTrainingIdentities: what no path may do. Prompts alike leave selection
// nothing to find but luck; aggregation cannot matter to equal groups; a single
// prompt's law is that of many like it; dead and solved prompts stay; fresh
// groups cost their selection.
func TestTrainingIdentities(t *testing.T) {
	v := schedule.Default()
	arrive := func(x Training, target float64) Arrival {
		t.Helper()
		x.Gain = gains["grpo"]
		a, err := x.Arrivals(target)
		if err != nil {
			t.Fatal(err)
		}
		return a[0]
	}
	few := startAt(.1, .4, .6)
	same := func(what string, a, b float64) {
		t.Helper()
		if !(math.Abs(a-b) <= 1e-9*math.Abs(b)) {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	same("aggregation of equal groups", arrive(Training{Start: few, Group: 8}, .9).Time, arrive(Training{Start: few, Group: 8, PromptMean: true}, .9).Time)
	same("one prompt and three like it", arrive(Training{Start: startAt(.2), Vigor: &v}, .7).Time, arrive(Training{Start: startAt(.2, .2, .2), Vigor: &v}, .7).Time)
	plain := arrive(Training{Start: startAt(.2, .5), Vigor: &v}, .8)
	half := arrive(Training{Start: []distributions.Node{{P: 0, W: .25}, {P: .2, W: .25}, {P: .5, W: .25}, {P: 1, W: .25}}, Group: 8}, .25+.4)
	same("dead and solved prompts stay", half.Time, arrive(Training{Start: startAt(.2, .5), Group: 8}, .8).Time)
	if !(plain.Rollouts == plain.Time*v.MeanGroup()) {
		t.Errorf("%v rollouts in time %v of groups of %v", plain.Rollouts, plain.Time, v.MeanGroup())
	}
	fresh := v
	fresh.Reuse = false
	if a := arrive(Training{Start: few, Vigor: &fresh}, .8); !(a.Rollouts == 2*v.MeanGroup()*a.Time) {
		t.Errorf("fresh groups: %v rollouts in time %v, want twice %v", a.Rollouts, a.Time, v.MeanGroup())
	}
	if a := arrive(Training{Start: few, Vigor: &v}, .3); a.Time != 0 || a.Error != 0 {
		t.Errorf("a target that is reached from the start: %+v", a)
	}
}

// TestTrainingStartsAsProgress: a path's first moment is the first-order
// progress of theory.md, 4.6: the mean success climbs at E[G sigma u]/E[G]/8
// and, averaged over prompts, at E[sigma u]/8.
func TestTrainingStartsAsProgress(t *testing.T) {
	law, err := distributions.NewBeta(.5, .5)
	if err != nil {
		t.Fatal(err)
	}
	v := schedule.Default()
	field, err := VigorMeanField(law, v, 1, 300)
	if err != nil {
		t.Fatal(err)
	}
	prompts := 0.0
	for _, n := range field.Allocation {
		prompts += n.W * n.SignalPromptMean * distributions.U(n.P)
	}
	for want, x := range map[float64]Training{field.Progress: {Vigor: &v}, prompts: {Vigor: &v, PromptMean: true}} {
		x.Start, x.Gain = law.Nodes(300, 1), gains["grpo"]
		got, err := x.Progress()
		if want /= 8 * field.Rollouts; err != nil || !(math.Abs(got-want) < 1e-9) {
			t.Errorf("prompt-mean %v: the mean success climbs at %v (%v), want %v", x.PromptMean, got, err, want)
		}
	}
	if _, err := (Training{}).Progress(); err == nil {
		t.Error("progress of nothing")
	}
}

func TestTrainingRefuses(t *testing.T) {
	v, few := schedule.Default(), startAt(.1, .4)
	grpo := gains["grpo"]
	for _, c := range []struct {
		training Training
		targets  []float64
		want     string
	}{
		{Training{Start: few, Group: 8}, []float64{.5}, "no gain"},
		{Training{Start: few, Gain: grpo}, []float64{.5}, "group = 0, want [1, 10000]"},
		{Training{Start: few, Gain: grpo, Group: 8, Vigor: &v}, []float64{.5}, "not both"},
		{Training{Gain: grpo, Group: 8}, []float64{.5}, "sum of the shares of the start = 0, want 1"},
		{Training{Start: startAt(.1, math.NaN()), Gain: grpo, Group: 8}, []float64{.5}, "start 1: p = NaN"},
		{Training{Start: few, Gain: grpo, Group: 8}, []float64{.5, .5}, "target = 0.5, want (0.5, 1)"},
		{Training{Start: few, Gain: grpo, Group: 8}, []float64{math.NaN()}, "target = NaN"},
		{Training{Start: startAt(0, .4), Gain: grpo, Group: 8}, []float64{.6}, "target = 0.6, want below 0.5: the other prompts are dead"},
		{Training{Start: few, Gain: grpo, Group: 1}, []float64{.6}, "stands still before it is 0.6"},
		{Training{Start: few, Gain: grpo, Vigor: &schedule.Vigor{}}, []float64{.6}, "m0 = 0"},
	} {
		if _, err := c.training.Arrivals(c.targets...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v to %v: error %v, want %q", c.training, c.targets, err, c.want)
		}
	}
	if a, err := (Training{Start: few, Gain: grpo, Group: 8}).Arrivals(); a != nil || err != nil {
		t.Errorf("no targets: %v, %v", a, err)
	}
}
