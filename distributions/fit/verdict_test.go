package fit

import (
	"strings"
	"testing"
)

// TestVerdictByHand has results made up for it, each with what its verdict must
// say and must not.
func TestVerdictByHand(t *testing.T) {
	result := func(fits []Fit, folded *Folded, comparisons ...Comparison) *Result {
		return &Result{Replicates: 99, Sizes: SizesBeforehand, Test: AndersonDarling, Fits: fits, Folded: folded, Comparisons: comparisons}
	}
	shape := func(estimate, low, high float64, atEnd bool, p float64) *Folded {
		return &Folded{Prompts: 9, Rollouts: 40, Fits: []FoldedFit{{
			Family: ParetoVariance, P: p, Parameters: []Parameter{{Name: "shape", Estimate: estimate, Low: low, High: high, AtEnd: atEnd}},
		}}}
	}
	both := []Fit{{Family: Beta, AIC: 10, P: 0.05}, {Family: SpikedBeta, AIC: 9, P: 0.06}, {Family: TruncatedPareto, AIC: 12, P: 0.5}}
	for _, c := range []struct {
		name   string
		r      *Result
		says   []string
		silent []string
	}{
		{
			"the smallest AIC", result(both, nil, Comparison{A: Beta, B: SpikedBeta}, Comparison{A: Beta, B: TruncatedPareto, Apart: true}, Comparison{A: SpikedBeta, B: TruncatedPareto, Apart: true}),
			[]string{"by AIC spiked-beta describes the counts best; they cannot tell it from beta; they tell it from truncated-pareto (", "over 3 pairs"},
			nil,
		},
		{
			"rejected at the level", result(both, nil),
			[]string{"the counts of all prompts reject beta (p = 0.05) and not spiked-beta (p = 0.06) and truncated-pareto (p = 0.5)"},
			nil,
		},
		{"none rejected", result(both[1:], nil), []string{"the counts of all prompts reject no family: spiked-beta (p = 0.06)"}, nil},
		{"all rejected", result(both[:1], nil), []string{"the counts of all prompts reject every family: beta (p = 0.05)"}, nil},
		{"nothing mixed", result(both, nil), []string{"no prompt is mixed"}, []string{"Theorem 2"}},
		{
			"a shape around 1", result(both, shape(1.2, 0.8, 1.6, false, 0.5)),
			[]string{"cut off at 1 it is not rejected on the folded counts of the mixed prompts alone (p = 0.5,", "its shape is 1.2 [0.8, 1.6] of [1e-06, 20]"},
			[]string{"1 lies outside", "no Pareto law", "cannot be told", "allowed"},
		},
		{
			"a shape below 1", result(both, shape(0.6, 0.4, 0.9, false, 0.05)),
			[]string{"it is rejected on the folded counts of the mixed prompts alone (p = 0.05,", "1 lies outside the interval"},
			[]string{"no Pareto law"},
		},
		{
			"a shape at its end", result(both, shape(1e-6, 1e-6, 1.1, true, 0.5)),
			[]string{"whether it holds cannot be told", "the smallest allowed", "no Pareto law"},
			[]string{"1 lies outside", "it is"},
		},
		{"the largest shape", result(both, shape(20, 15, 20, true, 0.5)), []string{"cannot be told", "its shape is 20 [15, 20]", "the largest allowed"}, []string{"the smallest allowed", "1 lies outside"}},
		{"any shape", result(both, shape(3, 1e-6, 20, false, 0.5)), []string{"cannot be told", "its shape is 3 [1e-06, 20] of [1e-06, 20]"}, []string{"allowed", "1 lies outside"}},
		{"any shape, rejected", result(both, shape(3, 1e-6, 20, false, 0.01)), []string{"it is rejected"}, []string{"cannot be told"}},
	} {
		verdict := strings.Join(c.r.verdict(), "\n")
		for _, want := range c.says {
			if !strings.Contains(verdict, want) {
				t.Errorf("%s:\n%s\nwant in it: %s", c.name, verdict, want)
			}
		}
		for _, not := range c.silent {
			if strings.Contains(verdict, not) {
				t.Errorf("%s:\n%s\nwant nothing of: %s", c.name, verdict, not)
			}
		}
	}
}

// TestAtEnd: an estimate at either end of its range says so.
func TestAtEnd(t *testing.T) {
	f := familyNamed(ParetoVariance)
	for _, c := range []struct {
		theta []float64
		want  [3]bool
	}{
		{[]float64{1e-6, smallestU, 0}, [3]bool{true, true, true}},
		{[]float64{largestShape, 1 - 1e-6, 1}, [3]bool{true, true, true}},
		{[]float64{1, 0.1, 0.5}, [3]bool{}},
	} {
		for j, want := range c.want {
			if f.atEnd(c.theta, j) != want {
				t.Errorf("%s = %v: at an end %v, want %v", f.ranges[j].name, c.theta[j], !want, want)
			}
		}
	}
}
