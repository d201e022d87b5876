package theory

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

func vigorInput(law distributions.Law) Input {
	v := schedule.Default()
	return Input{Variance: law, Law: law, Vigor: &v, Batch: 256, Frontier: 0.75, Nodes: DefaultNodes}
}

// value fails the test where the figure does not exist.
func value(t *testing.T, name string, n Number) float64 {
	t.Helper()
	if n.Reason != "" {
		t.Errorf("%s does not exist: %s", name, n.Reason)
	}
	return n.Value
}

// missing checks that a figure does not exist, for a reason that says why.
func missing(t *testing.T, name string, n Number, why string) {
	t.Helper()
	if !strings.Contains(n.Reason, why) || strings.Contains(n.Reason, "theory:") {
		t.Errorf("%s = %+v, want a reason with %q", name, n, why)
	}
}

func TestPredictVigor(t *testing.T) {
	p := must(Predict(vigorInput(reference()["tp15"])))
	quoted(t, "closed form", value(t, "closed form", p.Eta.ClosedForm), 2.276811, 6)
	quoted(t, "law", value(t, "law", p.Eta.Law), 2.116556, 6)
	quoted(t, "noisy", value(t, "noisy", p.Eta.Noisy), 1.1750961, 7)
	quoted(t, "cap", value(t, "cap", p.Eta.Cap), 3.75, 12)
	quoted(t, "cap_batch", value(t, "cap_batch", p.Eta.CapBatch), 3.75, 12) // 256 halves evenly
	mean := reference()["tp15"].MeanU()
	quoted(t, "law_cap", value(t, "law_cap", p.Eta.LawCap), 1/mean, 9)
	finite := must(EtaFiniteBatch(reference()["tp15"], schedule.Default(), 256))
	quoted(t, "finite batch", value(t, "finite batch", p.Eta.FiniteBatch), finite, 15)
	quoted(t, "progress", value(t, "progress", p.Progress), 2.2540, 4)
	quoted(t, "rollouts", value(t, "rollouts", p.RolloutsPerPrompt), 8, 9)
	quoted(t, "signal", value(t, "signal", p.Signal.Strategy), .0684935, 7)
	quoted(t, "fixed signal", value(t, "signal", p.Signal.Fixed), .0345610, 7)
	quoted(t, "ineffective", value(t, "ineffective", p.Ineffective.Strategy), .8345863, 7)
	quoted(t, "fixed ineffective", value(t, "ineffective", p.Ineffective.Fixed), .9490790, 7)
	if len(p.Screening) != 3 || len(p.GroupSizes) != 4 || len(p.Speedup) != 3 {
		t.Fatalf("%d cuts, %d sizes, %d exponents, want 3, 4, 3", len(p.Screening), len(p.GroupSizes), len(p.Speedup))
	}
	quoted(t, "false negative", value(t, "false negative", p.Screening[0].FalseNegative), .28888, 5)
	quoted(t, "speedup 1/3", p.Speedup[0].Noisy.Value, math.Cbrt(p.Eta.Noisy.Value), 15)
	quoted(t, "speedup 1/2", p.Speedup[1].Cap.Value, math.Sqrt(3.75), 15)
	quoted(t, "speedup 1", p.Speedup[2].Law.Value, p.Eta.Law.Value, 15)
}

func TestPredictFixed(t *testing.T) {
	in := vigorInput(reference()["tp15"])
	in.Vigor, in.Group = nil, 8
	p := must(Predict(in))
	for name, n := range map[string]Number{
		"closed form": p.Eta.ClosedForm, "law": p.Eta.Law, "finite": p.Eta.FiniteBatch, "noisy": p.Eta.Noisy,
		"cap": p.Eta.Cap, "cap_batch": p.Eta.CapBatch, "progress": p.Progress, "generated": p.EtaGenerated,
		"speedup": p.Speedup[0].Noisy,
	} {
		quoted(t, name, value(t, name, n), 1, 12)
	}
	quoted(t, "rollouts", value(t, "rollouts", p.RolloutsPerPrompt), 8, 12)
	quoted(t, "signal", value(t, "signal", p.Signal.Strategy), .0345610, 7)
	if len(p.Screening) != 0 {
		t.Errorf("%d cuts, want none", len(p.Screening))
	}
}

func TestPredictUnboundedPareto(t *testing.T) {
	in := vigorInput(nil)
	in.Variance, in.Law = must(distributions.NewUnboundedPareto(1.5, 0.01)), nil
	p := must(Predict(in))
	quoted(t, "law", value(t, "law", p.Eta.Law), p.Eta.ClosedForm.Value, 12)
	finite := must(EtaFiniteBatch(in.Variance, *in.Vigor, in.Batch))
	quoted(t, "finite batch", value(t, "finite batch", p.Eta.FiniteBatch), finite, 15)
	missing(t, "noisy", p.Eta.Noisy, "no rewards")
	missing(t, "speedup", p.Speedup[1].Noisy, "no rewards")
	missing(t, "signal", p.Signal.Fixed, "no rewards")
	missing(t, "law_cap", p.Eta.LawCap, "not bounded")
	missing(t, "false negative", p.Screening[2].FalseNegative, "no rewards")
	quoted(t, "rollouts", value(t, "rollouts", p.RolloutsPerPrompt), 8, 12)
	quoted(t, "last share", p.GroupSizes[3].Share, 0.125, 12)

	// The top eighth of a Pareto law of shape 3/2: 8^(1/1.5) = 4 times the mean.
	in.Vigor.Update = schedule.UpdateSurvivors
	p = must(Predict(in))
	quoted(t, "survivors' closed form", value(t, "closed form", p.Eta.ClosedForm), 4, 12)
	quoted(t, "survivors' law", value(t, "law", p.Eta.Law), 4, 12)
	in.Vigor.Update = schedule.UpdateAll

	in.Variance = must(distributions.NewUnboundedPareto(1, 0.01))
	p = must(Predict(in))
	missing(t, "closed form", p.Eta.ClosedForm, "shape <= 1")
	missing(t, "law", p.Eta.Law, "no mean")
	missing(t, "finite batch", p.Eta.FiniteBatch, "no mean")
	quoted(t, "cap_batch", value(t, "cap_batch", p.Eta.CapBatch), 3.75, 12)
}

func TestPredictNothingToLearn(t *testing.T) {
	in := vigorInput(must(distributions.NewPoint(1)))
	p := must(Predict(in))
	missing(t, "closed form", p.Eta.ClosedForm, "not Pareto")
	for name, n := range map[string]Number{
		"law": p.Eta.Law, "finite": p.Eta.FiniteBatch, "noisy": p.Eta.Noisy, "law_cap": p.Eta.LawCap, "generated": p.EtaGenerated,
	} {
		missing(t, name, n, "E[u] = 0")
	}
	missing(t, "progress", p.Progress, "no progress")
	missing(t, "false negative", p.Screening[0].FalseNegative, "frontier")
	quoted(t, "signal", value(t, "signal", p.Signal.Strategy), 0, 15)
	quoted(t, "ineffective", value(t, "ineffective", p.Ineffective.Strategy), 1, 12)
	quoted(t, "false omission", value(t, "false omission", p.Screening[0].FalseOmission), 0, 15)
}

func TestPredictLargeGroups(t *testing.T) {
	in := vigorInput(reference()["tp15"])
	in.Vigor.Rounds = 30
	p := must(Predict(in))
	missing(t, "noisy", p.Eta.Noisy, "passes 10000 rollouts")
	missing(t, "rollouts", p.RolloutsPerPrompt, "passes 10000 rollouts")
	want := must(EtaPareto(1.5, 0.5, 2, 30))
	quoted(t, "closed form", value(t, "closed form", p.Eta.ClosedForm), want, 9)
	value(t, "law", p.Eta.Law)
	value(t, "finite batch", p.Eta.FiniteBatch)
}

func TestPredictSurvivorsDrawnAfresh(t *testing.T) {
	in := vigorInput(reference()["beta1-3"])
	in.Vigor.Update, in.Vigor.Reuse = schedule.UpdateSurvivors, false
	p := must(Predict(in))
	// One prompt in eight has a fresh group of 30 beside the 8 of selection.
	quoted(t, "rollouts", value(t, "rollouts", p.RolloutsPerPrompt), 8+30./8, 9)
	ratio := value(t, "eta", p.Eta.Noisy) / value(t, "eta per generated", p.EtaGenerated)
	quoted(t, "trained over generated", 1/ratio, 3.75/11.75, 9)
	quoted(t, "cap", value(t, "cap", p.Eta.Cap), 8, 9)
	in.Law = nil
	quoted(t, "rollouts without rewards", value(t, "rollouts", must(Predict(in)).RolloutsPerPrompt), 11.75, 9)
}

// TestPredictWithoutStrategy: of a strategy that has no exact theory only the
// cap of the law is known, 1/E[u] = 3/2.
func TestPredictWithoutStrategy(t *testing.T) {
	in := vigorInput(reference()["uniform"])
	in.Vigor = nil
	p := must(Predict(in))
	quoted(t, "law cap", value(t, "law cap", p.Eta.LawCap), 1.5, 12)
	for i, n := range []Number{
		p.Eta.ClosedForm, p.Eta.Law, p.Eta.FiniteBatch, p.Eta.Noisy, p.Eta.Cap, p.Eta.CapBatch, p.Speedup[0].Noisy,
		p.EtaGenerated, p.Progress, p.RolloutsPerPrompt, p.Ineffective.Strategy, p.Signal.Fixed, p.SignalPromptMean.Strategy,
	} {
		if n.Reason != "this strategy has no exact theory" {
			t.Errorf("number %d: %+v, want none", i, n)
		}
	}
}

// TestPredictBrief: what is left out says so, and nothing else moves.
func TestPredictBrief(t *testing.T) {
	in := vigorInput(reference()["uniform"])
	whole := must(Predict(in))
	in.Brief = true
	brief := must(Predict(in))
	if brief.Rounds != nil || brief.Eta.FiniteBatch.Reason == "" || brief.Speedup[0].FiniteBatch.Reason == "" {
		t.Errorf("brief: %+v, rounds %v", brief.Eta, brief.Rounds)
	}
	brief.Rounds, brief.Eta.FiniteBatch = whole.Rounds, whole.Eta.FiniteBatch
	for i := range brief.Speedup {
		brief.Speedup[i].FiniteBatch = whole.Speedup[i].FiniteBatch
	}
	if got, want := fmt.Sprintf("%+v", *brief.Field), fmt.Sprintf("%+v", *whole.Field); got != want {
		t.Errorf("field %s, want %s", got, want)
	}
	brief.Field, brief.Fixed = whole.Field, whole.Fixed
	if !reflect.DeepEqual(brief, whole) {
		t.Errorf("brief %+v, want %+v", brief, whole)
	}
}

func TestPredictRefuses(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"no law":          func(in *Input) { in.Variance = nil },
		"batch = 0":       func(in *Input) { in.Batch = 0 },
		"frontier = NaN":  func(in *Input) { in.Frontier = math.NaN() },
		"frontier = -0.1": func(in *Input) { in.Frontier = -0.1 },
		"nodes = 0":       func(in *Input) { in.Nodes = 0 },
		"not both":        func(in *Input) { in.Group = 8 },
		"alpha = 0":       func(in *Input) { in.Vigor.Alpha = schedule.Ratio{} },
		"g = 20000":       func(in *Input) { in.Vigor, in.Group = nil, 20000 },
	} {
		in := vigorInput(reference()["uniform"])
		change(&in)
		if _, err := Predict(in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %q", err, name)
		}
	}
}
