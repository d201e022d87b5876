package plan

import (
	"math"
	"slices"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
)

// TestBandByHand: half of the prompts dead, half at p = 1/2, seen through two
// rollouts. Wilson's intervals are those of python3, 1.959963984540054 for z:
//
//	(p + z*z/2/n -+ z*sqrt(p*(1-p)/n + z*z/4/n/n)) / (1 + z*z/n).
func TestBandByHand(t *testing.T) {
	pilot := must(fit.NewCounts([]fit.Cell{{N: 2, S: 0, Prompts: 6}, {N: 2, S: 1, Prompts: 1}, {N: 2, S: 2, Prompts: 3}, {N: 8, S: 4, Prompts: 9}}))
	atoms := func(dead float64) distributions.Law {
		return must(distributions.NewAtoms([]distributions.Node{{P: 0, W: dead}, {P: 0.5, W: 1 - dead}}))
	}
	b := bandOf(pilot, atoms(0.5), []miss{{law: atoms(0.4)}, {law: atoms(0.6)}})
	if b.N != 2 || b.Prompts != 10 {
		t.Fatalf("%d prompts of %d rollouts, want 10 of 2", b.Prompts, b.N)
	}
	near := func(what string, got, want Interval) {
		for _, d := range []float64{got.Estimate - want.Estimate, got.Low - want.Low, got.High - want.High} {
			if !(math.Abs(d) < 1e-12) {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
	}
	// Of the two worlds' shares, 0.55 and 0.7 dead-looking, the 2.5 % and 97.5 % points.
	near("all wrong", b.Law[0], Interval{0.625, 0.55 + 0.025*0.15, 0.55 + 0.975*0.15})
	near("one right", b.Law[1], Interval{0.25, 0.2 + 0.025*0.1, 0.2 + 0.975*0.1})
	near("all right", b.Law[2], Interval{0.125, 0.1 + 0.025*0.05, 0.1 + 0.975*0.05})
	near("6 of 10", b.Recorded[0], Interval{0.6, 0.3126737697336583, 0.8318196702937638})
	near("1 of 10", b.Recorded[1], Interval{0.1, 0.01787621309507289, 0.4041500267952385})

	if b := bandOf(must(fit.NewCounts([]fit.Cell{{N: 2, Prompts: 1}, {N: 3, Prompts: 1}})), atoms(0.5), nil); b.N != 3 || !math.IsNaN(b.Law[0].Low) {
		t.Errorf("%+v, want the larger of equally frequent numbers and no band without worlds", b)
	}
	if b := bandOf(must(fit.NewCounts([]fit.Cell{{N: mostCounts + 1, Prompts: 1}})), atoms(0.5), nil); b != nil {
		t.Errorf("%d rollouts: %+v, want none", mostCounts+1, b)
	}
}

// TestCountSharesAreExact: under Beta(a, b) counts are beta-binomial, and sum
// to 1 at every number of rollouts that is drawn.
func TestCountSharesAreExact(t *testing.T) {
	const a, b = 0.3, 0.7
	logBeta := func(x, y float64) float64 {
		p, _ := math.Lgamma(x)
		q, _ := math.Lgamma(y)
		r, _ := math.Lgamma(x + y)
		return p + q - r
	}
	for _, n := range []int{1, 8, 40, mostCounts} {
		sum := 0.0
		for s, got := range countShares(must(distributions.NewBeta(a, b)), n) {
			choose := -math.Log(float64(n+1)) - logBeta(float64(n-s+1), float64(s+1))
			want := math.Exp(choose + logBeta(a+float64(s), b+float64(n-s)) - logBeta(a, b))
			if !(math.Abs(got-want) < 1e-9*want) {
				t.Errorf("%d of %d: %v, want %v", s, n, got, want)
			}
			sum += got
		}
		if !(math.Abs(sum-1) < 1e-12) {
			t.Errorf("the shares of %d rollouts sum to %v", n, sum)
		}
	}
}

// TestLawOnce: remembered nodes are those that were asked for.
func TestLawOnce(t *testing.T) {
	law := must(distributions.NewBeta(0.3, 0.7))
	f := newField(law, nil, searchNodes, false)
	for _, n := range []int{40, 90, 40} {
		if got, want := f.law.Nodes(n), law.Nodes(n); !slices.Equal(got, want) {
			t.Errorf("%d nodes: %d others", n, len(got))
		}
	}
	if got, want := f.law.Nodes(40, 0.5), law.Nodes(40, 0.5); !slices.Equal(got, want) {
		t.Error("a cut is lost")
	}
}
