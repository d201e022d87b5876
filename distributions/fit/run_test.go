package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func options(families ...string) Options {
	return Options{Families: families, Replicates: 40, Workers: 1, Beforehand: true, Streams: func(purpose string, k int) *rand.Rand {
		return rand.New(rand.NewPCG(uint64(len(purpose)), uint64(k)))
	}}
}

// pilot is a table that every family has something to say about.
func pilot(t *testing.T) *Counts {
	return drawn(t, familyNamed(SpikedBeta), []float64{0.2, 0.1, 1, 2}, 300, []int{8, 16}, rand.New(rand.NewPCG(8, 1)))
}

func TestWorkersAgree(t *testing.T) {
	c := pilot(t)
	o := options(Beta, ParetoVariance, NPMLE)
	o.Replicates = 12
	one, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 3
	three, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	// NaN differs from itself: compare what is printed of it.
	if a, b := printed(one), printed(three); a != b {
		t.Errorf("3 workers differ from one:\n%s\n%s", b, a)
	}
	if reflect.DeepEqual(one.Fits[0].Gain, Interval{}) {
		t.Error("no gain")
	}
}

func printed(r *Result) string {
	var b strings.Builder
	for _, f := range r.Fits {
		f.Law = nil // prints addresses
		b.WriteString(strings.Join(strings.Fields(fmt.Sprint(f)), " ") + "\n")
	}
	b.WriteString(fmt.Sprint(r.Comparisons) + fmt.Sprint(*r.Folded) + fmt.Sprint(r.Verdict))
	return b.String()
}

// TestRunShape checks what every fit must have.
func TestRunShape(t *testing.T) {
	c := pilot(t)
	r, err := Run(t.Context(), c, options(Families()...))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.Fits {
		if f.Family != Families()[i] {
			t.Errorf("fit %d is %s, want %s", i, f.Family, Families()[i])
		}
		if (f.Spec == "") != (f.Reason != "") || (f.Law == nil) != (f.Family == ParetoVarianceFree || f.Family == TruncatedParetoFree) {
			t.Errorf("%s: spec %q, reason %q, law %v", f.Family, f.Spec, f.Reason, f.Law)
		}
		if f.Law != nil {
			near(t, f.Family+": E[u] of the law", f.Law.MeanU(), f.MeanU.Estimate, 1e-8)
		}
		for name, x := range map[string]Interval{"E[p]": f.MeanP, "E[u]": f.MeanU, "gain": f.Gain} {
			if !(x.Low < x.Estimate && x.Estimate < x.High) {
				t.Errorf("%s: %s = %+v, want it inside its interval", f.Family, name, x)
			}
		}
		for _, p := range f.Parameters {
			if !(p.Low <= p.Estimate && p.Estimate <= p.High && p.Low < p.High) {
				t.Errorf("%s: %+v, want it inside its interval", f.Family, p)
			}
		}
		if !(f.P > 0 && f.P <= 1 && f.PError >= 0) {
			t.Errorf("%s: p = %v ± %v", f.Family, f.P, f.PError)
		}
		last := f.Band[len(f.Band)-1]
		if len(f.Band) != 17 || last.N != 16 || last.S != 16 {
			t.Errorf("%s: a band of %d points that ends at %+v, want all counts of 16 rollouts", f.Family, len(f.Band), last)
		}
		near(t, f.Family+": end of the band", last.Fitted.Estimate, 1, 1e-8)
		near(t, f.Family+": end of the counts", last.Observed, 1, 1e-12)
		if f.Family != NPMLE {
			near(t, f.Family+": AIC", f.AIC, 2*float64(len(f.Parameters))-2*f.LogLik, 1e-9)
		}
	}
	if r.Prompts != 300 || r.Rollouts != 300*12 || len(r.Comparisons) != 15 || len(r.Folded.Comparisons) != 10 {
		t.Errorf("%d prompts, %d rollouts, %d and %d comparisons", r.Prompts, r.Rollouts, len(r.Comparisons), len(r.Folded.Comparisons))
	}
}

// TestWrongFamily wants the Pareto law of Theorem 2 to fall on counts of a Beta
// law, with the reason in words: by some 300 and 160 nats, which no other draw
// of 1,000 prompts would make up for. That the right family stands as often as
// it should is for TestPValue.
func TestWrongFamily(t *testing.T) {
	r, err := Run(t.Context(), drawn(t, familyNamed(Beta), []float64{0.4, 0.6}, 1000, []int{40}, rand.New(rand.NewPCG(9, 1))),
		options(Beta, ParetoVariance))
	if err != nil {
		t.Fatal(err)
	}
	if !(r.Fits[1].P <= Level && r.Folded.Fits[1].P <= Level && r.Comparisons[0].Apart && r.Folded.Comparisons[0].Apart) {
		t.Errorf("p = %v, folded %v; comparisons %+v, %+v", r.Fits[1].P, r.Folded.Fits[1].P, r.Comparisons, r.Folded.Comparisons)
	}
	verdict := strings.Join(r.Verdict, "\n")
	for _, want := range []string{
		"by AIC beta describes the counts best; they tell it from pareto-variance (Vuong's test",
		"pareto-variance (p = 0.024)", "the data tell beta from pareto-variance (+", "cut off at 1 it is rejected", "no Pareto law",
	} {
		if !strings.Contains(verdict, want) {
			t.Errorf("verdict:\n%s\nwant in it: %s", verdict, want)
		}
	}
}

// TestFewRollouts has a fifth of the counts that a Pareto law with shape 1.2 and
// min 0.15 leads one to expect of 8 rollouts, rounded: no draw, so that Pareto
// must stand, and the folded counts must not tell it from Beta.
func TestFewRollouts(t *testing.T) {
	var cells []Cell
	for s, prompts := range []int{108, 65, 24, 9, 4, 4, 11, 28, 46} {
		cells = append(cells, Cell{8, s, prompts})
	}
	c := mustCounts(t, cells)
	r, err := Run(t.Context(), c, options(Beta, ParetoVariance))
	if err != nil {
		t.Fatal(err)
	}
	verdict := strings.Join(r.Verdict, "\n")
	for _, want := range []string{"tell no two families apart", "with 8 rollouts a prompt there are 4 values", "whether it holds cannot be told", "(not rejected, p ="} {
		if !strings.Contains(verdict, want) {
			t.Errorf("verdict:\n%s\nwant in it: %s", verdict, want)
		}
	}
}

// TestWithoutBootstrap has no p-values and no intervals of figures, and says
// so.
func TestWithoutBootstrap(t *testing.T) {
	o := options(Beta, ParetoVariance, NPMLE)
	o.Replicates = 0
	r, err := Run(t.Context(), pilot(t), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fits {
		if !math.IsNaN(f.P) || !math.IsNaN(f.Gain.Low) || !(f.Gain.Estimate > 1) {
			t.Errorf("%s: p = %v, gain %+v", f.Family, f.P, f.Gain)
		}
	}
	if verdict := strings.Join(r.Verdict, "\n"); strings.Count(verdict, "0 bootstrap replicates can reject nothing at 5 %: that takes 19") != 2 || strings.Contains(verdict, "rejected") {
		t.Errorf("verdict:\n%s", verdict)
	}
}

// TestExtremeCounts has no panic, and no NaN where there is an answer.
func TestExtremeCounts(t *testing.T) {
	for _, cells := range [][]Cell{
		{{8, 0, 50}},
		{{8, 8, 50}},
		{{8, 4, 50}},
		{{1, 0, 3}, {1, 1, 2}},
		{{2, 1, 1}},
		{{8, 0, 30}, {8, 8, 20}},
		{{700, 0, 2}, {700, 7, 1}, {700, 700, 1}},
	} {
		o := options(Families()...)
		o.Replicates = 2
		r, err := Run(t.Context(), mustCounts(t, cells), o)
		if err != nil {
			t.Errorf("%v: %v", cells, err)
			continue
		}
		for _, f := range r.Fits {
			if math.IsNaN(f.LogLik) || math.IsInf(f.LogLik, 0) || math.IsNaN(f.MeanP.Estimate) {
				t.Errorf("%v under %s: log-likelihood %v, E[p] = %v", cells, f.Family, f.LogLik, f.MeanP.Estimate)
			}
			for _, p := range f.Parameters {
				if math.IsNaN(p.Estimate) || math.IsNaN(p.Low) || math.IsNaN(p.High) {
					t.Errorf("%v under %s: %+v", cells, f.Family, p)
				}
			}
		}
	}
}

// TestHoldingFamilies wants no family to be less likely than one that it holds,
// and no verdict to take that for a difference: on prompts that are all alike
// the shape of any sign climbs to its end, where the fit of u near 1 is not.
func TestHoldingFamilies(t *testing.T) {
	cases := [][]Cell{
		{{8, 4, 50}},
		{{8, 3, 1}},
		{{8, 0, 49}, {8, 3, 1}},
		{{8, 0, 30}, {8, 8, 20}},
		{{2, 1, 5}, {2, 0, 3}},
		{{100, 50, 40}, {100, 45, 30}},
		{{1, 0, 3}, {4, 2, 9}, {16, 8, 9}},
	}
	for i := range 20 { // and at random
		r := rand.New(rand.NewPCG(21, uint64(i)))
		var cells []Cell
		for range 1 + r.IntN(12) {
			n := 1 + r.IntN(12)
			cells = append(cells, Cell{n, r.IntN(n + 1), 1 + r.IntN(40)})
		}
		cases = append(cases, cells)
	}
	o := options(Families()[:6]...)
	o.Replicates = 0
	for _, cells := range cases {
		r, err := Run(t.Context(), mustCounts(t, cells), o)
		if err != nil {
			t.Fatal(err)
		}
		checkHolding(t, fmt.Sprint(cells), r.Comparisons)
		if r.Folded != nil {
			checkHolding(t, fmt.Sprint("folded ", cells), r.Folded.Comparisons)
		}
	}
}

func checkHolding(t *testing.T, name string, all []Comparison) {
	t.Helper()
	for _, x := range all {
		more := x.Difference
		if slices.Contains(familyNamed(x.A).within, x.B) {
			more = -more
		}
		if x.Test == LikelihoodRatio && !(more > -1e-6) {
			t.Errorf("%s: of %s and %s the larger family is less likely by %v nats (p = %v)", name, x.A, x.B, -more, x.P)
		}
	}
}

// TestNotLessLikely wants a larger family that fell short to be no evidence.
func TestNotLessLikely(t *testing.T) {
	c := mustCounts(t, []Cell{{8, 4, 50}})
	small, large := &estimate{family: familyNamed(ParetoVariance)}, &estimate{family: familyNamed(TruncatedPareto)}
	small.theta, small.logLik = make([]float64, 3), -60
	large.theta, large.logLik = make([]float64, 4), -70
	for _, x := range []Comparison{comparePair(whole, c, small, large), comparePair(whole, c, large, small)} {
		if x.Test != LikelihoodRatio || x.P != 1 {
			t.Errorf("%+v, want p = 1", x)
		}
	}
	large.logLik = -58 // chi-squared of 4 with one degree of freedom: erfc(sqrt 2)
	for _, x := range []Comparison{comparePair(whole, c, small, large), comparePair(whole, c, large, small)} {
		near(t, "p of 2 nats", x.P, math.Erfc(math.Sqrt2), 1e-12)
	}
}

// TestEqualDistances wants what rounding tells apart to count as a tie: every
// sample of a law of dead prompts is the pilot itself, so that p is 1.
func TestEqualDistances(t *testing.T) {
	r, err := Run(t.Context(), mustCounts(t, []Cell{{8, 0, 50}}), options(Families()...))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fits {
		if f.P != 1 {
			t.Errorf("%s: p = %v, want 1: distance %v", f.Family, f.P, f.Distance)
		}
	}
	if p, _ := exceeded(6e-6, []replicate{{distance: 1e-7}, {distance: 0}}); p != 1 {
		t.Errorf("p = %v of distances that rounding tells apart, want 1", p)
	}
	if p, _ := exceeded(0.5, []replicate{{distance: 0.4}, {distance: 0.6}, {distance: 0.3}}); p != 0.5 {
		t.Errorf("p = %v of one larger distance of three, want 1/2", p)
	}
}

// TestMissingGains wants both ends of an interval or none: one mixed prompt of
// 50 is in about two samples of three, and the others have no gain.
func TestMissingGains(t *testing.T) {
	r, err := Run(t.Context(), mustCounts(t, []Cell{{8, 0, 49}, {8, 3, 1}}), options(NPMLE))
	if err != nil {
		t.Fatal(err)
	}
	if x := r.Fits[0].Gain; !(x.Estimate > 1) || !math.IsNaN(x.Low) || !math.IsNaN(x.High) {
		t.Errorf("gain %+v, want an estimate without interval", x)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		cells []Cell
		want  []string
	}{
		{nil, []string{"fit: no prompts, want at least one"}},
		{[]Cell{{4, 2, 0}}, []string{"fit: no prompts, want at least one"}},
		{[]Cell{{0, 0, 1}}, []string{"fit: n = 0, want a whole number in [1, 4096]"}},
		{[]Cell{{5000, 3, 1}, {4, 5, -1}}, []string{
			"fit: n = 5000, want a whole number in [1, 4096]", "fit: successes = 5, want a whole number in [0, 4]", "fit: prompts = -1, want a whole number in [0, ",
		}},
	} {
		_, err := NewCounts(c.cells)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %v, want %s", c.cells, err, want)
			}
		}
	}
	if _, err := Run(t.Context(), pilot(t), options("bta")); err == nil || !strings.Contains(err.Error(), `family = "bta", want one of`) {
		t.Errorf("an unknown family: error %v", err)
	}
	if _, err := Run(t.Context(), pilot(t), options()); err == nil || !strings.Contains(err.Error(), "no families") {
		t.Errorf("no family: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, pilot(t), options(Beta)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: error %v", err)
	}
}
