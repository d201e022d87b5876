package fit

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// A golden is what testdata/fit.py found, by other means.
type golden struct {
	Tables      map[string]map[string][]int
	Maxima      []goldenFit
	Likelihoods []goldenFit
	NonParam    []struct {
		Table  string
		LogLik float64
		Cells  [][3]float64 // n, s, probability
	} `json:"nonparametric"`
	Distance []struct {
		Table       string
		A, B, Value float64
	}
	ZeroVariance []struct {
		Table string
		G     int
		Value float64
	} `json:"zero_variance"`
	MeanSqrtU []struct{ A, B, Value float64 } `json:"mean_sqrt_u"`
}

type goldenFit struct {
	Table, Family string
	Theta         []float64
	LogLik        float64
	Ends          []struct {
		Parameter int
		Low, High float64
	}
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	content, err := os.ReadFile("testdata/fit.json")
	if err != nil {
		t.Fatal(err)
	}
	g := new(golden)
	if err := json.Unmarshal(content, g); err != nil {
		t.Fatal(err)
	}
	if len(g.Maxima) == 0 || len(g.Likelihoods) == 0 || len(g.NonParam) == 0 || len(g.Distance) == 0 || len(g.ZeroVariance) == 0 || len(g.MeanSqrtU) == 0 {
		t.Fatal("testdata/fit.json: a part is missing")
	}
	return g
}

func (g *golden) counts(t *testing.T, name string) *Counts {
	t.Helper()
	var cells []Cell
	for n, row := range g.Tables[name] {
		n, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		for s, prompts := range row {
			cells = append(cells, Cell{n, s, prompts})
		}
	}
	return mustCounts(t, cells)
}

func mustCounts(t *testing.T, cells []Cell) *Counts {
	t.Helper()
	c, err := NewCounts(cells)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// near fails unless got is within tol of want.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.15g, want %.15g ± %.1e", what, got, want, tol)
	}
}

func TestLikelihoodGolden(t *testing.T) {
	g := readGolden(t)
	for _, want := range slices.Concat(g.Likelihoods, g.Maxima) {
		c := g.counts(t, want.Table)
		got := newSearch(whole, familyNamed(want.Family), c).at(want.Theta)
		near(t, want.Table+" under "+want.Family, got, want.LogLik, 1e-8*math.Abs(want.LogLik))
	}
}

// TestMaximumGolden compares maxima and the ends of profile intervals. The
// likelihood is flat at its maximum, and the search ends where it no longer
// rises by 1e-9: parameters are good to the root of that.
func TestMaximumGolden(t *testing.T) {
	g := readGolden(t)
	for _, want := range g.Maxima {
		c, f := g.counts(t, want.Table), familyNamed(want.Family)
		e, err := estimateOf(whole, f, c)
		if err != nil {
			t.Fatal(err)
		}
		what := want.Table + " under " + want.Family
		near(t, what+": log-likelihood", e.logLik, want.LogLik, 1e-8)
		for j, r := range f.ranges {
			near(t, what+": "+r.name, e.theta[j], want.Theta[j], 1e-5*want.Theta[j])
		}
		for _, end := range want.Ends {
			low, high := newSearch(whole, f, c).profile(e.optimum, end.Parameter)
			name := what + ": " + f.ranges[end.Parameter].name
			near(t, name+", low", low, end.Low, 1e-5*end.Low)
			near(t, name+", high", high, end.High, 1e-5*end.High)
		}
	}
}

// TestNonparametricGolden compares with the dual, which the script solves to
// about 1e-6 nats on a grid of p.
func TestNonparametricGolden(t *testing.T) {
	g := readGolden(t)
	for _, want := range g.NonParam {
		m, err := Nonparametric(g.counts(t, want.Table))
		if err != nil {
			t.Fatal(err)
		}
		near(t, want.Table+": log-likelihood", m.LogLik, want.LogLik, 2e-6)
		e := &estimate{mixing: m}
		for _, x := range want.Cells {
			p := math.Exp(e.logs(whole, []Cell{{N: int(x[0]), S: int(x[1])}})[0])
			near(t, want.Table+": P("+strconv.Itoa(int(x[1]))+" of "+strconv.Itoa(int(x[0]))+")", p, x[2], 1e-4)
		}
	}
}

func TestDistanceGolden(t *testing.T) {
	g := readGolden(t)
	for _, want := range g.Distance {
		c := g.counts(t, want.Table)
		e := &estimate{family: familyNamed(Beta), optimum: optimum{theta: []float64{want.A, want.B}}}
		near(t, want.Table, newCountLaw(whole, e, c).distance(c), want.Value, 1e-11*want.Value)
	}
}

func TestZeroVarianceGolden(t *testing.T) {
	g := readGolden(t)
	for _, want := range g.ZeroVariance {
		near(t, want.Table+", g = "+strconv.Itoa(want.G), ObservedZeroVariance(g.counts(t, want.Table), want.G).Mean, want.Value, 1e-14)
	}
}

func TestMeanSqrtUGolden(t *testing.T) {
	for _, want := range readGolden(t).MeanSqrtU {
		near(t, "E[sqrt u]", betaMeanSqrtU(want.A, want.B), want.Value, 1e-12)
	}
}
