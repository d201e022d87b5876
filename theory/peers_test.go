package theory

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// TestPeersGolden compares with testdata/peers.py: sums, quadrature, enumeration
// and root finding.
func TestPeersGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/peers.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Arc []struct {
			G                         int
			P, Weight, Mean, Variance float64
		}
		Bound []struct {
			G                     int
			Mean, Variance, Bound float64
		}
		Target []struct {
			K                  int
			Psi, Density, Mode float64
		}
		Pairs []struct {
			Candidates []Candidate
			Complete   []float64
			Variance   float64
		}
		Stale []struct{ SD, Tau, Masked, Held, Capped float64 }
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if n := [5]int{len(golden.Arc), len(golden.Bound), len(golden.Target), len(golden.Pairs), len(golden.Stale)}; n != [5]int{25, 15, 5, 3, 10} {
		t.Fatalf("%d rows", n)
	}
	r := newRuler(t)
	for _, c := range golden.Arc {
		mean, variance, err := ArcMoments(c.G, c.P)
		if err != nil {
			t.Fatal(err)
		}
		r.check(must(ArcWeight(c.G, c.P)), c.Weight, "ArcWeight %+v", c)
		r.check(mean, c.Mean, "mean of ArcMoments %+v", c)
		r.check(variance, c.Variance, "variance of ArcMoments %+v", c)
	}
	for _, c := range golden.Bound {
		r.check(must(ArcZeroVariance(c.G, c.Mean, c.Variance)), c.Bound, "ArcZeroVariance %+v", c)
	}
	for _, c := range golden.Target {
		r.check(must(PassTarget(c.K, c.Psi)), c.Density, "PassTarget %+v", c)
		r.check(must(PassMode(c.K)), c.Mode, "PassMode %+v", c)
	}
	for _, c := range golden.Pairs {
		for i, x := range must(CompletePairs(c.Candidates)) {
			r.check(x, c.Complete[i], "CompletePairs %+v", c)
		}
		r.check(must(PairVariance(c.Candidates)), c.Variance, "PairVariance %+v", c)
	}
	for _, c := range golden.Stale {
		r.check(must(MaskedGaussian(c.SD, c.Tau)), c.Masked, "MaskedGaussian %+v", c)
		r.check(must(HeldGaussian(c.SD, c.Tau, .7, 1.5)), c.Held, "HeldGaussian %+v", c)
		r.check(must(HeldGaussian(c.SD, c.Tau, 1, 1)), c.Capped, "HeldGaussian without floors %+v", c)
	}
}

// TestPeersPublished meets the tables of systems.md, sections 6 and 10, to their
// digits.
func TestPeersPublished(t *testing.T) {
	for g, want := range map[int][4]float64{4: {.241, .507, .749, .808}, 8: {.360, .698, .899, .928}, 16: {.504, .854, .959, .967}, 64: {.821, .976, .991, .992}} {
		for i, p := range []float64{.02, .1, .3, .5} {
			if got := must(ArcWeight(g, p)); !(math.Abs(got-want[i]) <= .0005) {
				t.Errorf("ArcWeight(%d, %v) = %v, want %v", g, p, got, want[i])
			}
		}
	}
	for k, want := range map[int]float64{1: .7854, 2: .5236, 4: .36137, 8: .25268} {
		if got := must(PassMode(k)); !(math.Abs(got-want) <= 5e-5) {
			t.Errorf("PassMode(%d) = %v, want %v", k, got, want)
		}
	}
}

// TestChiSquare: the bound of every two-point law of ratios in [1/R, R].
func TestChiSquare(t *testing.T) {
	for _, r := range []float64{1, 1.2, 3, 50} {
		for i := range 21 {
			x := math.Log(r) * (float64(i)/10 - 1)
			if bound := must(ChiSquareBound(r, x*x)); !(math.Expm1(x)*math.Expm1(x) <= bound*(1+1e-15)) {
				t.Errorf("ratio %v within %v passes %v", math.Exp(x), r, bound)
			}
		}
	}
}

func TestPeersRefuse(t *testing.T) {
	one := func(_ float64, err error) error { return err }
	many := func(_ []float64, err error) error { return err }
	moments := func(_, _ float64, err error) error { return err }
	nan := math.NaN()
	for want, err := range map[string]error{
		"p = 1, want (0, 1)":                 one(ArcWeight(8, 1)),
		"mean = 2, want [0, pi/2]":           one(ArcZeroVariance(8, 2, 0)),
		"variance = NaN, want [0, Inf)":      one(ArcZeroVariance(8, 1, nan)),
		"group = 0, want [1,":                moments(ArcMoments(0, .5)),
		"p = NaN, want [0, 1]":               moments(ArcMoments(8, nan)),
		"k = 0, want [1,":                    one(PassMode(0)),
		"psi = -1, want [0, pi/2]":           one(PassTarget(1, -1)),
		"candidates = 1, want at least 2":    many(CompletePairs(make([]Candidate, 1))),
		"inclusion = 0, want (0, 1]":         one(PairVariance(make([]Candidate, 2))),
		"length of a score = 1, want one":    one(PairVariance([]Candidate{{Inclusion: 1}, {Score: []float64{1}, Inclusion: 1}})),
		"R = 0.5, want [1, Inf)":             one(ChiSquareBound(.5, 1)),
		"R^2 E[(ln r)^2] passes the largest": one(ChiSquareBound(1e200, 1)),
		"sd = 0, want (0, Inf)":              one(MaskedGaussian(0, .04)),
		"tau = NaN, want (0, Inf)":           one(MaskedGaussian(1, nan)),
		"low = 2, want (0, 1]":               one(HeldGaussian(1, .04, 2, 1)),
		"high = 0.5, want [1, Inf)":          one(HeldGaussian(1, .04, 1, .5)),
		"square = -1, want [0, Inf)":         one(ChiSquareBound(2, -1)),
		"variance = -1, want [0, Inf)":       one(ArcZeroVariance(8, 1, -1)),
		"group = 0, want [1, 10000]":         one(ArcZeroVariance(0, 1, 0)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
