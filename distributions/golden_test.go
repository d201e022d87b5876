package distributions_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"vigorlab/distributions"
)

// readGolden decodes a file of testdata.
func readGolden(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// relative fails the test unless got is want to within the relative error.
func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s = %v, want %v: relative error %.1e, want %.1e", what, got, want, got/want-1, tol)
	}
}

// TestLawsAgainstMpmath compares every figure of the laws with a density with
// an independent computation, testdata/laws.py. TestAtomsByEnumeration and
// TestPartsAddUp see to the others.
func TestLawsAgainstMpmath(t *testing.T) {
	var golden struct {
		Laws []struct {
			Law        string
			Parameters []float64
			MeanP      float64 `json:"mean_p"`
			MeanU      float64 `json:"mean_u"`
			Cuts       []struct{ C, CDF, Upper float64 }
			Tops       []struct{ Q, Cut, Top float64 }
			Moments    []struct {
				N, S int
				Mean float64
			}
		}
	}
	readGolden(t, "testdata/laws.json", &golden)
	const tol = 1e-11 // the package promises 1e-10
	for _, g := range golden.Laws {
		x := g.Parameters
		var law distributions.Law
		switch g.Law {
		case "beta":
			law = must(distributions.NewBeta(x[0], x[1]))
		case "pareto-variance":
			law = must(distributions.NewParetoVariance(x[0], x[1], x[2], x[3]))
		case "pareto-success":
			law = must(distributions.NewParetoSuccess(x[0], x[1], x[2]))
		}
		t.Run(fmt.Sprint(g.Law, x), func(t *testing.T) {
			relative(t, "MeanP", law.MeanP(), g.MeanP, tol)
			relative(t, "MeanU", law.MeanU(), g.MeanU, tol)
			for _, c := range g.Cuts {
				relative(t, fmt.Sprintf("CDFU(%v)", c.C), law.CDFU(c.C), c.CDF, tol)
				relative(t, fmt.Sprintf("UpperU(%v)", c.C), law.UpperU(c.C), c.Upper, tol)
			}
			for _, c := range g.Tops {
				relative(t, fmt.Sprintf("TopU(%v)", c.Q), law.TopU(c.Q), c.Top, tol)
				if c.Cut > 1e-320 { // 1-q has lost digits of q
					relative(t, fmt.Sprintf("QuantileU(1-%v)", c.Q), law.QuantileU(1-c.Q), c.Cut, tol+1e-16/c.Q)
				}
			}
			for _, n := range []int{480, 2000} {
				nodes := law.Nodes(n, 0.75)
				for _, m := range g.Moments {
					var sum float64
					for _, x := range nodes {
						sum += x.W * math.Pow(x.P, float64(m.S)) * math.Pow(1-x.P, float64(m.N-m.S))
					}
					relative(t, fmt.Sprintf("%d nodes: E[p^%d (1-p)^%d]", n, m.S, m.N-m.S), sum, m.Mean, tol)
				}
			}
		})
	}
	if len(golden.Laws) < 19 {
		t.Errorf("%d laws in testdata/laws.json, want at least 19", len(golden.Laws))
	}
}
