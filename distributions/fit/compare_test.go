package fit

import (
	"math"
	"slices"
	"testing"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		want []bool
	}{
		{nil, []bool{}},
		{[]float64{0.05}, []bool{true}},
		{[]float64{math.NaN()}, []bool{false}},
		{[]float64{0.03, 0.01, 0.04}, []bool{false, true, false}},             // .01 <= .05/3, .03 > .05/2
		{[]float64{0.02, 0.01, 0.04}, []bool{true, true, true}},               // .02 <= .05/2, .04 <= .05
		{[]float64{0.02, 0.2, 0.001, 0.5}, []bool{false, false, true, false}}, // .02 > .05/3
	} {
		if got := holm(c.p, 0.05); !slices.Equal(got, c.want) {
			t.Errorf("holm(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

// TestVuongByHand: differences 1, 1, -1 for 2, 1 and 1 prompts have the sum 2,
// the mean square 1 and the variance 1 - 1/4, so that z = 2/sqrt(4 * 3/4) =
// 1.1547, whose two tails hold 0.24821.
func TestVuongByHand(t *testing.T) {
	c := mustCounts(t, []Cell{{4, 0, 2}, {4, 1, 1}, {4, 2, 1}})
	a, b := []float64{-1, -2, -3}, []float64{-2, -3, -2}
	near(t, "p", vuong(c, a, b), 0.248213, 1e-6)
	near(t, "p, exchanged", vuong(c, b, a), 0.248213, 1e-6)
	near(t, "p of one law", vuong(c, a, a), 1, 0)
}

// TestNestedFamilies: a family that holds another is at least as likely, and is
// compared with it by likelihood ratio; two parameters more ask for
// chi-squared with two degrees of freedom, whose tail is exp(-x/2).
func TestNestedFamilies(t *testing.T) {
	c := readGolden(t).counts(t, "spiked")
	var all []*estimate
	for _, f := range families {
		e, err := estimateOf(whole, f, c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for _, x := range compare(whole, c, all) {
		a, b := familyNamed(x.A), familyNamed(x.B)
		nested := slices.Contains(a.within, x.B) || slices.Contains(b.within, x.A)
		if (x.Test == LikelihoodRatio) != nested {
			t.Errorf("%s and %s are compared by %s", x.A, x.B, x.Test)
		}
		if slices.Contains(a.within, x.B) && !(x.Difference <= 1e-6) || slices.Contains(b.within, x.A) && !(x.Difference >= -1e-6) {
			t.Errorf("%s is likelier than %s by %v nats, though one holds the other", x.A, x.B, x.Difference)
		}
		if x.A == Beta && x.B == SpikedBeta {
			near(t, "p of beta in spiked-beta", x.P, math.Exp(x.Difference), 1e-12)
			if !x.Apart {
				t.Error("beta is not told from spiked-beta")
			}
		}
	}
}
