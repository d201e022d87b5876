package agreement_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"vigorlab/sim/reward/agreement"
)

// A want is a figure of the golden file; null stands for NaN.
type want struct{ Value, SE, Low, High *float64 }

// groupsOf counts single rewards, by prompt, group and rollout.
func groupsOf(rewards [][][][2]int) []agreement.Group {
	var groups []agreement.Group
	for prompt, visits := range rewards {
		for _, visit := range visits {
			g := agreement.Group{Prompt: prompt}
			for _, r := range visit {
				switch r {
				case [2]int{1, 1}:
					g.Both++
				case [2]int{1, 0}:
					g.First++
				case [2]int{0, 1}:
					g.Second++
				default:
					g.None++
				}
			}
			groups = append(groups, g)
		}
	}
	return groups
}

func near(t *testing.T, what string, got float64, want *float64) {
	t.Helper()
	switch {
	case want == nil && math.IsNaN(got):
	case want != nil && math.Abs(got-*want) <= 1e-12*max(1, math.Abs(*want)):
	case want == nil:
		t.Errorf("%s = %v, want none", what, got)
	default:
		t.Errorf("%s = %v, want %v", what, got, *want)
	}
}

// TestAgainstPython compares every figure with testdata/agreement.py, which
// computes them from single rewards.
func TestAgainstPython(t *testing.T) {
	content, err := os.ReadFile("testdata/agreement.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases   []json.RawMessage
		Flipped []struct{ Q01, Q10, P, U, Want float64 }
	}
	if err := json.Unmarshal(content, &golden); err != nil {
		t.Fatal(err)
	}
	for _, text := range golden.Cases {
		var c struct {
			Name              string
			Rewards           [][][][2]int
			Constant, Mixes   [2]int
			MixesWant         [2]*float64 `json:"mixes_want"`
			Disagreeing, Half int
		}
		figures := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &figures); err != nil {
			t.Fatal(err)
		}
		r := agreement.Measure(groupsOf(c.Rewards))
		for name, got := range map[string]agreement.Figure{
			"agreement": r.Agreement, "kappa": r.Kappa, "first_success": r.FirstSuccess, "second_success": r.SecondSuccess,
			"second_of_first_failed": r.SecondOfFirstFailed, "first_of_second_failed": r.FirstOfSecondFailed,
			"second_fails_succeeded": r.SecondFailsSucceeded, "first_fails_succeeded": r.FirstFailsSucceeded,
			"first_variance": r.FirstVariance, "second_variance": r.SecondVariance, "added": r.Added,
			"covariance": r.Covariance, "correlation": r.Correlation,
			"second_predicted": r.SecondPredicted, "first_predicted": r.FirstPredicted,
		} {
			var w want
			if figures[name] == nil {
				t.Fatalf("%s: no golden %s", c.Name, name)
			}
			if err := json.Unmarshal(figures[name], &w); err != nil {
				t.Fatal(err)
			}
			near(t, c.Name+": "+name, got.Value, w.Value)
			near(t, c.Name+": error of "+name, got.SE, w.SE)
			near(t, c.Name+": low end of "+name, got.Low, w.Low)
			near(t, c.Name+": high end of "+name, got.High, w.High)
		}
		if got := [2]int{r.FirstConstant, r.SecondConstant}; got != c.Constant {
			t.Errorf("%s: constant groups %v, want %v", c.Name, got, c.Constant)
		}
		if got := [2]int{r.SecondMixes, r.FirstMixes}; got != c.Mixes {
			t.Errorf("%s: groups mixed by the other %v, want %v", c.Name, got, c.Mixes)
		}
		near(t, c.Name+": groups that errors of the second would mix", r.SecondMixesWant, c.MixesWant[0])
		near(t, c.Name+": groups that errors of the first would mix", r.FirstMixesWant, c.MixesWant[1])
		if r.Disagreeing != c.Disagreeing || r.HoldHalf != c.Half {
			t.Errorf("%s: %d prompts disagree and %d hold half, want %d and %d", c.Name, r.Disagreeing, r.HoldHalf, c.Disagreeing, c.Half)
		}
	}
	for _, f := range golden.Flipped {
		near(t, fmt.Sprintf("Flipped at q01 = %v, q10 = %v", f.Q01, f.Q10), agreement.Flipped(f.P, f.U, f.Q01, f.Q10), &f.Want)
	}
}

// TestPredictedHolds: where the second errs at random, the variance predicted for
// it is the one it has. 20,000 prompts in groups of 8; both figures have normal
// errors over so many, and their difference, whose error is below the sum of
// theirs, is beyond 4.9 of that with probability below 1e-6. The sum is below
// 0.006, so that an excess of 0.06 in the variance is missed with probability
// below 1e-6, too.
func TestPredictedHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 3))
	var groups []agreement.Group
	for x := range 20_000 {
		p := []float64{0, 0.1, 0.5, 1}[r.IntN(4)]
		g := agreement.Group{Prompt: x}
		for range 8 {
			first := r.Float64() < p
			second := first != (r.Float64() < map[bool]float64{false: 0.1, true: 0.2}[first])
			switch {
			case first && second:
				g.Both++
			case first:
				g.First++
			case second:
				g.Second++
			default:
				g.None++
			}
		}
		groups = append(groups, g)
	}
	m := agreement.Measure(groups)
	if diff, se := m.SecondVariance.Value-m.SecondPredicted.Value, m.SecondVariance.SE+m.SecondPredicted.SE; !(math.Abs(diff) <= 4.9*se && se < 0.006) {
		t.Errorf("variance %v, predicted %v: the difference is %.1f errors", m.SecondVariance, m.SecondPredicted, diff/se)
	}
	if want := m.SecondMixesWant; !(math.Abs(float64(m.SecondMixes)-want) <= 4.9*math.Sqrt(want)) {
		t.Errorf("%d groups are mixed, want %.0f", m.SecondMixes, want)
	}
}

// TestNothing: no group, or empty ones, give no figure and no panic.
func TestNothing(t *testing.T) {
	for _, groups := range [][]agreement.Group{nil, {{}}, {{Prompt: 7}, {Prompt: 3}}, {{Both: 1}}} {
		r := agreement.Measure(groups)
		if !math.IsNaN(r.FirstVariance.Value) || !math.IsNaN(r.Correlation.Value) {
			t.Errorf("%v: variance %v, correlation %v, want none", groups, r.FirstVariance, r.Correlation)
		}
	}
}
