package distributions_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"vigorlab/distributions"
)

// TestFlipAgainstMpmath compares laws under label noise with testdata/flip.py.
func TestFlipAgainstMpmath(t *testing.T) {
	var golden struct {
		Laws []struct {
			Law        string
			Parameters []float64
			Q          float64
			MeanP      float64 `json:"mean_p"`
			MeanU      float64 `json:"mean_u"`
			Cuts       []struct{ C, Above, Upper float64 }
		}
	}
	readGolden(t, "testdata/flip.json", &golden)
	const tol = 1e-11
	for _, g := range golden.Laws {
		x := g.Parameters
		var inner distributions.Law
		switch g.Law {
		case "beta":
			inner = must(distributions.NewBeta(x[0], x[1]))
		case "pareto-success":
			inner = must(distributions.NewParetoSuccess(x[0], x[1], x[2]))
		}
		law := must(distributions.NewFlip(g.Q, inner))
		t.Run(fmt.Sprint(g.Law, x, g.Q), func(t *testing.T) {
			relative(t, "MeanP", law.MeanP(), g.MeanP, tol)
			relative(t, "MeanU", law.MeanU(), g.MeanU, tol)
			for _, c := range g.Cuts {
				if got := 1 - law.CDFU(c.C); !(math.Abs(got-c.Above) <= tol) {
					t.Errorf("P(u' > %v) = %v, want %v", c.C, got, c.Above)
				}
				if got := law.UpperU(c.C); !(math.Abs(got-c.Upper) <= tol) {
					t.Errorf("UpperU(%v) = %v, want %v", c.C, got, c.Upper)
				}
			}
		})
	}
}

// TestFlipOfAtoms: dead prompts succeed with probability q, solved ones with 1-q,
// and levels of u stay levels; u' of dead and solved prompts is 4 * 1/16 * 15/16.
func TestFlipOfAtoms(t *testing.T) {
	law := must(distributions.NewFlip(1./16, must(distributions.NewSpikedBeta(0.25, 0.5, 2, 6))))
	want := []distributions.Node{{P: 1. / 16, W: 0.25}, {P: 15. / 16, W: 0.5}}
	if got := law.Atoms(); !reflect.DeepEqual(got, want) {
		t.Errorf("atoms %v, want %v", got, want)
	}
	const level = 15. / 64
	if got := law.CDFU(level); got != 0.75 {
		t.Errorf("P(u' <= %v) = %v, want 0.75", level, got)
	}
	if got := law.QuantileU(0.5); got != level {
		t.Errorf("median of u' = %v, want %v", got, level)
	}
}

// TestFlipCorners: q = 0 is the law itself, with q = 1/2 rewards say nothing.
func TestFlipCorners(t *testing.T) {
	beta := must(distributions.NewBeta(2, 6))
	if got := must(distributions.NewFlip(0, beta)); got != distributions.Law(beta) {
		t.Errorf("%v, want the law itself", got)
	}
	if got := must(distributions.NewFlip(0.5, beta)).Atoms(); !reflect.DeepEqual(got, []distributions.Node{{P: 0.5, W: 1}}) {
		t.Errorf("atoms %v, want 1/2 alone", got)
	}
}
