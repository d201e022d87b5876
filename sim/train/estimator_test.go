package train

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/advantage"
)

func estimator(t testing.TB, text string) advantage.Estimator {
	t.Helper()
	e, err := NewEstimator(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The golden file is made by testdata/estimators.py with Python's decimal.
func TestLibrariesGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/estimators.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Estimator           string
			Rewards, Advantages []float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) != 11*9 {
		t.Fatalf("%d cases, want 9 of each of 11 estimators", len(golden.Cases))
	}
	for _, c := range golden.Cases {
		e := estimator(t, c.Estimator)
		if e.Spec() != c.Estimator {
			t.Errorf("%s prints %s", c.Estimator, e.Spec())
		}
		got := make([]float64, len(c.Rewards))
		err := e.Advantages(got, c.Rewards)
		if c.Advantages == nil {
			if err == nil || !strings.Contains(err.Error(), "a group of 1 rollout, want at least 2") {
				t.Errorf("%s of %v: %v, %v, want it refused", c.Estimator, c.Rewards, got, err)
			}
			continue
		}
		if err != nil || !(floats.Distance(got, c.Advantages, math.Inf(1)) <= 1e-14*floats.Norm(c.Advantages, math.Inf(1))) {
			t.Errorf("%s of %v: %v, %v, want %v", c.Estimator, c.Rewards, got, err, c.Advantages)
		}
	}
}

// The values of strategies/allocation.md, section 1, as the libraries print them
// to six digits: epsilon 1e-4 shows, smaller ones do not.
func TestLibrariesPublished(t *testing.T) {
	for _, c := range []struct {
		spec        string
		n, s        int
		plus, minus float64
	}{
		{"verl", 8, 2, 1.620185 / (1 + 1e-6/.46291), -.540062 / (1 + 1e-6/.46291)},
		{"openrlhf", 8, 1, 2.474874, -.353553},
		{"trl", 8, 2, 1.620185 / (1 + 1e-4/.46291), -.540062 / (1 + 1e-4/.46291)},
		{"trl:advantage=drgrpo", 8, 2, .75, -.25},
		{"openrlhf:advantage=rloo", 8, 2, .857143, -.285714},
	} {
		var v advantages
		plus, minus, err := v.of(estimator(t, c.spec), c.n, c.s, math.NaN())
		if err != nil || !(math.Abs(plus-c.plus) < 1e-6 && math.Abs(minus-c.minus) < 1e-6) {
			t.Errorf("%s: %v and %v, %v, want %v and %v", c.spec, plus, minus, err, c.plus, c.minus)
		}
	}
}

// TestReinforce: A = r - b in any group, as under a strategy's own baseline.
func TestReinforce(t *testing.T) {
	for _, c := range []struct{ n, s int }{{1, 0}, {1, 1}, {4, 0}, {4, 3}, {4, 4}} {
		var v advantages
		for _, e := range []struct {
			e        advantage.Estimator
			baseline float64
		}{{estimator(t, "reinforce:baseline=0.25"), math.NaN()}, {advantage.GRPO{}, 0.25}} {
			plus, minus, err := v.of(e.e, c.n, c.s, e.baseline)
			wantPlus, wantMinus := .75, -.25
			if c.s == 0 {
				wantPlus = 0
			}
			if c.s == c.n {
				wantMinus = 0
			}
			if err != nil || plus != wantPlus || minus != wantMinus {
				t.Errorf("%d of %d: %v and %v, %v", c.s, c.n, plus, minus, err)
			}
		}
	}
}

func TestEstimatorSpecs(t *testing.T) {
	for text, want := range map[string]string{
		"grpo": "grpo:ddof=0,delta=0", "grpo:delta=1e-4,ddof=1": "grpo:ddof=1,delta=0.0001", "drgrpo": "drgrpo", "rloo": "rloo",
		"reinforce:baseline=0.5": "reinforce:baseline=0.5", "verl": "verl:advantage=grpo", "trl": "trl:advantage=grpo",
	} {
		if got := estimator(t, text).Spec(); got != want || estimator(t, got).Spec() != want {
			t.Errorf("%s prints %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"gpro":                           "did you mean grpo?",
		"grpo:ddof=2":                    "ddof = 2, want a whole number in [0, 1]",
		"grpo:delta=-1":                  "delta = -1, want a number >= 0",
		"reinforce":                      "baseline is missing",
		"trl:advantage=rloo-vectorised":  "advantage = rloo-vectorised, want one of grpo, drgrpo, rloo",
		"rloo:ddof=1":                    "unknown parameter ddof",
		"openrlhf:advantage=reinforce++": "want one of",
	} {
		if _, err := NewEstimator(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
