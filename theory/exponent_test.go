package theory

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// TestExponentsGolden compares with testdata/exponents.py, which integrates and
// differentiates numerically.
func TestExponentsGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/exponents.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows []struct {
			Flow                          LogitFlow
			Start, End, Time, Level, Gain float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Rows) != 42 {
		t.Fatalf("%d rows, want 42", len(golden.Rows))
	}
	r := newRuler(t)
	for _, c := range golden.Rows {
		r.check(must(c.Flow.Time(c.Start, c.End)), c.Time, "Time %+v", c)
		r.check(must(c.Flow.Exponent(c.Start, c.End)), c.Level, "Exponent %+v", c)
		r.check(must(c.Flow.ExponentOfGain(c.Start, c.End-c.Start)), c.Gain, "ExponentOfGain %+v", c)
	}
}

// TestExponentsAtTheEnd: the claims of theory.md, section 4.2, without a
// correction term.
func TestExponentsAtTheEnd(t *testing.T) {
	for flow, want := range map[LogitFlow]float64{PlainFlow: 1, NormalisedFlow: 0.5} {
		for _, p := range []float64{1e-3, 1e-4, 1e-8, 1e-300} {
			if got := must(flow.Exponent(p, 0.5)); !(math.Abs(got-want) < 0.01) {
				t.Errorf("%s at %v: %v, want %v ± 0.01", flow, p, got, want)
			}
		}
	}
}

func TestExponentsRefuse(t *testing.T) {
	nan := math.NaN()
	figure := func(x float64, err error) func() (float64, error) { return func() (float64, error) { return x, err } }
	for _, c := range []struct {
		want string
		call func() (float64, error)
	}{
		{"flow = fast, want one of plain, normalised", figure(LogitFlow("fast").Time(0.1, 0.5))},
		{"from = 0, want (0, 1)", figure(PlainFlow.Time(0, 0.5))},
		{"from = NaN", figure(PlainFlow.Time(nan, 0.5))},
		{"to = 0.1, want (from, 1)", figure(PlainFlow.Time(0.2, 0.1))},
		{"to = 1, want (from, 1)", figure(NormalisedFlow.Exponent(0.2, 1))},
		{"from = 0.5, want (0, 1/2)", figure(NormalisedFlow.Exponent(0.5, 0.9))},
		{"to = NaN", figure(NormalisedFlow.ExponentOfGain(0.2, nan))},
		{"time passes the largest float64", figure(PlainFlow.Time(1e-310, 0.5))},
		{"rate = 0", figure(LocalExponent(0.1, 0, 1))},
		{"tau = NaN", figure(LocalExponent(0.1, 1, nan))},
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
