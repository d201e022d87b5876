package schedule

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestActive(t *testing.T) {
	with := func(edit func(*Vigor)) Vigor {
		v := Default()
		edit(&v)
		return v
	}
	for _, c := range []struct {
		name  string
		v     Vigor
		batch int
		want  []int
	}{
		{"default", Default(), 1024, []int{1024, 512, 256, 128}},
		{"ceil is nested: 7 -> 4 -> 2 -> 1", Default(), 7, []int{7, 4, 2, 1}},
		{"floor", with(func(v *Vigor) { v.Cut = CutFloor }), 31, []int{31, 15, 7, 3}},
		{"nearest rounds half up: 5 -> 3 -> 2 -> 1", with(func(v *Vigor) { v.Cut = CutNearest }), 5, []int{5, 3, 2, 1}},
		{"floor leaves at least one", with(func(v *Vigor) { v.Cut = CutFloor }), 2, []int{2, 1, 1, 1}},
		{"alpha is exact: 0.07*100 is 7", with(func(v *Vigor) { v.Alpha = MustRatio("0.07") }), 100, []int{100, 7, 1, 1}},
		{"a third of 9", with(func(v *Vigor) { v.Alpha = MustRatio("1/3") }), 9, []int{9, 3, 1, 1}},
		{"ceil can fail to cut", with(func(v *Vigor) { v.Alpha = MustRatio("0.9") }), 3, []int{3, 3, 3, 3}},
		{"one prompt", Default(), 1, []int{1, 1, 1, 1}},
	} {
		if got := c.v.Active(c.batch); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRollouts(t *testing.T) {
	for _, c := range []struct {
		m0, rounds int
		gamma      string
		want       []int
	}{
		{2, 4, "2", []int{2, 4, 8, 16}},
		{4, 2, "4", []int{4, 16}},
		{4, 3, "3/2", []int{4, 6, 9}},
		{8, 4, "0.5", []int{8, 4, 2, 1}},
		{3, 1, "0.1", []int{3}},
	} {
		v := Default()
		v.M0, v.Rounds, v.Gamma = c.m0, c.rounds, MustRatio(c.gamma)
		got, err := v.Rollouts()
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("m0=%d rounds=%d gamma=%s: %v, %v, want %v", c.m0, c.rounds, c.gamma, got, err, c.want)
		}
	}
	for gamma, want := range map[string]string{"3/2": "round 3 would ask 9/2 rollouts", "1.1": "round 2 would ask 11/5", "100": "passes 10000 rollouts in round 3"} {
		v := Default()
		v.Gamma = MustRatio(gamma)
		if _, err := v.Rollouts(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("gamma=%s: error %v, want %q in it", gamma, err, want)
		}
	}
}

func TestOnePrompt(t *testing.T) {
	for batch, want := range map[int]string{1024: "0 false", 8: "0 false", 7: "0 false", 3: "3 true", 2: "2 true", 1: "0 false"} {
		round, ok := Default().OnePrompt(batch)
		if got := fmt.Sprint(round, ok); got != want {
			t.Errorf("batch %d: %s, want %s", batch, got, want)
		}
	}
}

func TestRatio(t *testing.T) {
	for text, want := range map[string]string{
		"0.5": "0.5", "1/2": "0.5", "2/4": "0.5", "1/3": "1/3", "0.070": "0.07", "5e-1": "0.5", "7": "7", "-1/4": "-0.25", "1/1024": "0.0009765625",
	} {
		r, err := ParseRatio(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, r, err, want)
		}
	}
	for _, text := range []string{"", "x", "NaN", "Inf", "1/0", "0x1p-2", "1e9999", "1e-99999999", "1e-300", "1e99", "1_000", "1/010", "-010/20", strings.Repeat("1", 65)} {
		if r, err := ParseRatio(text); err == nil {
			t.Errorf("%q is accepted as %v", text, r)
		}
	}
	if (Ratio{}).String() != "0" || (Ratio{}).Float() != 0 || MustRatio("0.0") != (Ratio{}) || MustRatio("0/5") != (Ratio{}) {
		t.Error("the zero ratio is not 0")
	}
}

// TestCutsAreExact compares every cut with integer arithmetic on alpha = a/b.
func TestCutsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.IntRange(2, 1000).Draw(t, "denominator")
		a := rapid.IntRange(1, b-1).Draw(t, "numerator")
		n := rapid.IntRange(1, 1_000_000).Draw(t, "n")
		v := Default()
		v.Alpha = MustRatio(big.NewRat(int64(a), int64(b)).RatString())
		for cut, want := range map[string]int{
			CutFloor:   a * n / b,
			CutCeil:    (a*n + b - 1) / b,
			CutNearest: (2*a*n + b) / (2 * b),
		} {
			v.Cut = cut
			v.Rounds = 2
			if got := v.Active(n)[1]; got != max(1, want) {
				t.Fatalf("%s of %d/%d * %d = %d, want %d", cut, a, b, n, got, max(1, want))
			}
		}
	})
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Errorf("the default is refused: %v", err)
	}
	err := Vigor{}.Validate()
	for _, field := range []string{"m0 = 0", "rounds = 0", "alpha = 0", "gamma = 0", "ties =", "cut =", "select =", "update ="} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the zero value: error %v, want %q in it", err, field)
		}
	}
}

// TestMeanGroup: m0 sum_{i<T} (alpha gamma)^i, worked by hand; where
// alpha*gamma = 1 it is m0*T exactly, whatever alpha is.
func TestMeanGroup(t *testing.T) {
	for _, c := range []struct {
		m0, rounds   int
		alpha, gamma string
		want         float64
	}{
		{2, 4, "0.5", "2", 8},
		{1, 1, "0.3", "1", 1},
		{1, 3, "1/3", "3", 3},
		{7, 5, "0.1", "10", 35},
		{4, 2, "1/4", "4", 8},
		{3, 3, "1/2", "3", 3 * (1 + 1.5 + 2.25)},
		{8, 4, "0.5", "0.5", 8 * 1.328125},
		{1, 10_000, "0.9999", "1", (1 - math.Pow(0.9999, 10_000)) / 1e-4},
	} {
		v := Default()
		v.M0, v.Rounds, v.Alpha, v.Gamma = c.m0, c.rounds, MustRatio(c.alpha), MustRatio(c.gamma)
		got := v.MeanGroup()
		if exact := c.rounds < 10_000; exact && got != c.want || !(math.Abs(got/c.want-1) < 1e-11) {
			t.Errorf("%v: %v, want %v", v, got, c.want)
		}
	}
}
