package distributions_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/distributions"
)

type lengthCase struct{ Tokens, SD, Slope, Cap, P, Mean, Truncated float64 }

func lengthCases(t *testing.T) []lengthCase {
	var golden struct{ Cases []lengthCase }
	readGolden(t, "testdata/lengths.json", &golden)
	if len(golden.Cases) < 20 {
		t.Errorf("%d cases in testdata/lengths.json, want at least 20", len(golden.Cases))
	}
	return golden.Cases
}

func TestLengthsAgainstMpmath(t *testing.T) {
	for _, c := range lengthCases(t) {
		law := must(distributions.NewLengthLaw(c.Tokens, c.SD, c.Slope, c.Cap))
		relative(t, fmt.Sprintf("%+v: Mean", c), law.Mean(c.P), c.Mean, 1e-12)
		relative(t, fmt.Sprintf("%+v: TruncatedShare", c), law.TruncatedShare(c.P), c.Truncated, 1e-12)
		if math.IsInf(c.Cap, 1) {
			continue
		}
		uncapped := must(distributions.NewLengthLaw(c.Tokens, c.SD, c.Slope, math.Inf(1)))
		relative(t, fmt.Sprintf("%+v: Longer", c), uncapped.Longer(c.Cap, c.P), c.Truncated, 1e-12)
		if x := law.Longer(c.Cap, c.P); x != 0 {
			t.Errorf("%+v: P(longer than the cap) = %v, want 0", c, x)
		}
	}
}

// TestLengthsDrawn compares draws with the law. Tokens lie in [0, cap], so by
// Hoeffding P(|mean - E| > tol*cap) <= alpha, and the same for the share at
// the cap. Over seeds, all cases together raise a false alarm with probability
// at most 1e-6; a mean off by 2*tol*cap, tol = 0.0067, or a share off by
// 2*tol is missed with probability at most alpha. Never reseed to pass.
func TestLengthsDrawn(t *testing.T) {
	const n = 200_000
	cases := lengthCases(t)
	alpha := 1e-6 / float64(2*len(cases))
	tol := math.Sqrt(math.Log(2/alpha) / (2 * n))
	for i, c := range cases {
		law := must(distributions.NewLengthLaw(c.Tokens, c.SD, c.Slope, c.Cap))
		r, again := rand.New(rand.NewPCG(20260101, uint64(i))), rand.New(rand.NewPCG(20260101, uint64(i)))
		var sum, full float64
		for range n {
			x := law.Rand(c.P, r)
			if y := law.Rand(c.P, again); x != y || x < 0 || float64(x) > c.Cap {
				t.Fatalf("%+v: draws %d and %d from one seed, want the same, in [0, cap]", c, x, y)
			}
			sum += float64(x)
			if float64(x) == c.Cap {
				full++
			}
		}
		if !(math.Abs(sum/n-c.Mean) <= tol*c.Cap) {
			t.Errorf("%+v: mean of draws %v, want within %v", c, sum/n, tol*c.Cap)
		}
		// a draw within one token below the cap may be rounded up to it
		near := must(distributions.NewLengthLaw(c.Tokens, c.SD, c.Slope, c.Cap-1)).TruncatedShare(c.P)
		if !(full/n >= c.Truncated-tol && full/n <= near+tol) {
			t.Errorf("%+v: share at the cap %v, want [%v, %v] within %v", c, full/n, c.Truncated, near, tol)
		}
	}
}

func TestLengthsAtTheCorners(t *testing.T) {
	inf := math.Inf(1)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ tokens, sd, slope, cap, p, mean, truncated float64 }{
		{500, 250, 0, inf, 0, 500, 0},
		{500, 0, 0, inf, 0.5, 500, 0},
		{500, 0, 0, 500, 0.5, 500, 0},
		{500, 0, 0, 400, 0.5, 400, 1},
		{500, 0, 2 * math.Ln2, inf, 0, 1000, 0},
		{500, 0, 2 * math.Ln2, inf, 1, 250, 0},
		{500, 100, -2 * math.Ln2, inf, 1, 1000, 0},
	} {
		law := must(distributions.NewLengthLaw(c.tokens, c.sd, c.slope, c.cap))
		relative(t, fmt.Sprintf("%+v: Mean", c), law.Mean(c.p), c.mean, 1e-14)
		if got := law.TruncatedShare(c.p); got != c.truncated {
			t.Errorf("%+v: TruncatedShare = %v", c, got)
		}
		if x := law.Rand(c.p, r); c.sd == 0 && math.Abs(float64(x)-c.mean) > 1 {
			t.Errorf("%+v: draw %d, want about the mean", c, x)
		}
	}
	var none *distributions.LengthLaw
	one := must(distributions.NewLengthLaw(500, 250, 0, inf))
	if !none.Equal(nil) || none.Equal(one) || one.Equal(none) || !one.Equal(must(distributions.NewLengthLaw(500, 250, 0, inf))) ||
		one.Equal(must(distributions.NewLengthLaw(500, 250, 0, 9))) || one.Equal(must(distributions.NewRecordedLengths([]distributions.Recorded{{0, 500}}))) {
		t.Error("Equal does not tell length laws apart")
	}
}

func TestRecordedLengths(t *testing.T) {
	prompts := []distributions.Recorded{{P: 0.5, Tokens: 100}, {P: 0, Tokens: 900}, {P: 0.5, Tokens: 300}, {P: 1, Tokens: 10}}
	law := must(distributions.NewRecordedLengths(prompts))
	prompts[0].Tokens = 1e6 // the law keeps a copy
	for p, want := range map[float64]float64{0: 900, 0.2: 900, 0.25: 900, 0.3: 200, 0.5: 200, 0.74: 200, 0.75: 200, 0.76: 10, 1: 10} {
		if got := law.Mean(p); got != want {
			t.Errorf("Mean(%v) = %v, want %v", p, got, want)
		}
	}
}

// TestFlippedLengths: under label noise a prompt's rollouts are as long as before,
// also where right and wrong change places.
func TestFlippedLengths(t *testing.T) {
	inf := math.Inf(1)
	for _, law := range []*distributions.LengthLaw{
		must(distributions.NewLengthLaw(500, 250, 2, 700)),
		must(distributions.NewLengthLaw(500, 0, 0, inf)),
		must(distributions.NewRecordedLengths([]distributions.Recorded{{0, 900}, {0.1, 700}, {0.1, 500}, {0.8, 300}, {1, 100}})),
	} {
		for _, q := range []float64{0, 0.05, 0.3, 0.9, 1} {
			flipped := must(law.Flipped(q))
			for _, p := range []float64{0, 0.1, 0.3, 0.5, 0.8, 1} {
				turned := q + (1-2*q)*p
				if got, want := flipped.Mean(turned), law.Mean(p); !(math.Abs(got-want) <= 1e-12*want) {
					t.Errorf("q = %v: mean %v at p = %v, want %v", q, got, p, want)
				}
				if got, want := flipped.TruncatedShare(turned), law.TruncatedShare(p); !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("q = %v: share cut off %v at p = %v, want %v", q, got, p, want)
				}
			}
		}
	}
	for _, c := range []struct {
		slope, q float64
		ok       bool
	}{{1, 0.5, false}, {0, 0.5, true}, {1, math.NaN(), false}, {1, 1.1, false}, {1, -0.1, false}} {
		if _, err := must(distributions.NewLengthLaw(500, 250, c.slope, inf)).Flipped(c.q); (err == nil) != c.ok {
			t.Errorf("slope %v, q = %v: error %v", c.slope, c.q, err)
		}
	}
}
