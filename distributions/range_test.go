package distributions_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"vigorlab/distributions"
)

// fault returns the RangeErrors joined in err.
func rangeErrors(t *testing.T, err error) []*distributions.RangeError {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v, want joined RangeErrors", err)
	}
	var all []*distributions.RangeError
	for _, e := range joined.Unwrap() {
		var r *distributions.RangeError
		if !errors.As(e, &r) {
			t.Fatalf("error %v, want a RangeError", e)
		}
		all = append(all, r)
	}
	return all
}

// TestConstructorsRefuse hands every parameter of every constructor values
// outside its range, NaN and infinities, the others being sound.
func TestConstructorsRefuse(t *testing.T) {
	type parameter struct {
		field, want string
		sound       float64
		bad         []float64
	}
	inf := math.Inf(1)
	beta := func(field string) parameter {
		return parameter{field, "[0.0001, 1e+06]", 1, []float64{0, -1, 0.00009, 1.1e6}}
	}
	shape := parameter{"shape", "[1e-09, 10000]", 1.5, []float64{0, -1, 0.9e-9, 10001}}
	for _, c := range []struct {
		name       string
		build      func(x []float64) error
		parameters []parameter
	}{
		{"beta", func(x []float64) error { _, err := distributions.NewBeta(x[0], x[1]); return err }, []parameter{beta("a"), beta("b")}},
		{"spiked-beta", func(x []float64) error {
			_, err := distributions.NewSpikedBeta(x[0], x[1], x[2], x[3])
			return err
		}, []parameter{
			{"dead", "[0, 1]", 0.3, []float64{-0.1, 1.1}},
			{"solved", "[0, 1]", 0.1, []float64{-0.1, 1.1}},
			beta("a"), beta("b"),
		}},
		{"pareto-variance", func(x []float64) error {
			_, err := distributions.NewParetoVariance(x[0], x[1], x[2], x[3])
			return err
		}, []parameter{
			shape,
			{"min", "[1e-100, 1)", 0.01, []float64{0, 1, -1, 2, 0.9e-100, math.SmallestNonzeroFloat64}},
			{"max", "(min, 1]", 1, []float64{0.01, 0.001, 1.5}},
			{"hard", "[0, 1]", 0.5, []float64{-0.1, 1.1}},
		}},
		{"unbounded", func(x []float64) error { _, err := distributions.NewUnboundedPareto(x[0], x[1]); return err }, []parameter{
			shape, {"min", "[1e-100, 1e+100]", 0.01, []float64{0, -1, 0.9e-100, 1.1e100}},
		}},
		{"pareto-success", func(x []float64) error { _, err := distributions.NewParetoSuccess(x[0], x[1], x[2]); return err }, []parameter{
			shape,
			{"min", "[1e-100, 1)", 0.01, []float64{0, 1, -1, 2, 0.9e-100, math.SmallestNonzeroFloat64}},
			{"max", "(min, 1]", 1, []float64{0.01, 0.001, 1.5}},
		}},
		{"point", func(x []float64) error { _, err := distributions.NewPoint(x[0]); return err }, []parameter{
			{"p", "[0, 1]", 0.5, []float64{-0.1, 1.1}},
		}},
		{"flip", func(x []float64) error { _, err := distributions.NewFlip(x[0], distributions.NewUniform()); return err }, []parameter{
			{"q", "[0, 1]", 0.05, []float64{-0.1, 1.1}},
		}},
		{"atoms", func(x []float64) error {
			_, err := distributions.NewAtoms([]distributions.Node{{P: x[0], W: x[1]}, {P: 1, W: 0.5}})
			return err
		}, []parameter{
			{"p", "[0, 1]", 0.5, []float64{-0.1, 1.1}},
			{"weight", "[0, 1]", 0.5, []float64{-0.1, 1.1}},
		}},
		{"mixture", func(x []float64) error {
			_, err := distributions.NewMixture([]float64{x[0], 0.5}, []distributions.Law{distributions.NewUniform(), distributions.NewUniform()})
			return err
		}, []parameter{{"weight", "(0, 1]", 0.5, []float64{0, -0.1, 1.1}}}},
		{"length", func(x []float64) error { _, err := distributions.NewLengthLaw(x[0], x[1], x[2], x[3]); return err }, []parameter{
			{"tokens", "(0, 1e+09]", 500, []float64{0, -1, 2e9}},
			{"tokens-sd", "[0, 1e+09]", 250, []float64{-1, 2e9}},
			{"tokens-slope", "[-50, 50]", 0, []float64{-51, 51}},
			{"tokens-cap", "a whole number >= 1", 1000, []float64{0, -1, 10.5}},
		}},
		{"recorded", func(x []float64) error {
			_, err := distributions.NewRecordedLengths([]distributions.Recorded{{P: x[0], Tokens: x[1]}})
			return err
		}, []parameter{
			{"p", "[0, 1]", 0.5, []float64{-0.1, 1.1}},
			{"tokens", "(0, 1e+09]", 500, []float64{0, -1, 2e9}},
		}},
	} {
		sound := make([]float64, len(c.parameters))
		for i, p := range c.parameters {
			sound[i] = p.sound
		}
		if err := c.build(sound); err != nil {
			t.Errorf("%s%v: %v, want no error", c.name, sound, err)
		}
		for i, p := range c.parameters {
			for _, bad := range append(p.bad, math.NaN(), inf, -inf) {
				if bad > 0 && math.IsInf(bad, 0) && p.field == "tokens-cap" {
					continue // no cap
				}
				x := append([]float64(nil), sound...)
				x[i] = bad
				err := c.build(x)
				if err == nil {
					t.Errorf("%s%v is accepted, want %s refused", c.name, x, p.field)
					continue
				}
				e := rangeErrors(t, err)[0]
				if e.Field != p.field || fmt.Sprint(e.Value) != fmt.Sprint(bad) || e.Want != p.want {
					t.Errorf("%s%v: %v, want %s = %v, want %s", c.name, x, e, p.field, bad, p.want)
				}
			}
		}
		all := make([]float64, len(sound)) // every parameter NaN: every one is reported
		for i := range all {
			all[i] = math.NaN()
		}
		if got := rangeErrors(t, c.build(all)); len(got) != len(all) {
			t.Errorf("%s%v: %d faults %v, want %d", c.name, all, len(got), got, len(all))
		}
	}
}

// TestSumsRefuse checks the ranges that are not those of one parameter.
func TestSumsRefuse(t *testing.T) {
	for _, c := range []struct {
		field string
		err   error
	}{
		{"dead+solved", second(distributions.NewSpikedBeta(0.6, 0.5, 1, 1))},
		{"sum of weights", second(distributions.NewAtoms(nil))},
		{"sum of weights", second(distributions.NewAtoms([]distributions.Node{{P: 0, W: 0.33}, {P: 1, W: 0.66}}))},
		{"sum of weights", second(distributions.NewMixture([]float64{0.5}, []distributions.Law{distributions.NewUniform()}))},
		{"sum of weights", second(distributions.NewMixture(nil, nil))},
		{"prompts", second(distributions.NewRecordedLengths(nil))},
	} {
		if got := rangeErrors(t, c.err); len(got) != 1 || got[0].Field != c.field {
			t.Errorf("error %v, want %s refused", c.err, c.field)
		}
	}
	if _, err := distributions.NewAtoms([]distributions.Node{{P: 0, W: 0.333333333}, {P: 1, W: 0.666666667}}); err != nil {
		t.Errorf("weights that miss 1 by a rounding: %v, want no error", err)
	}
}

func second[T any](_ T, err error) error { return err }
