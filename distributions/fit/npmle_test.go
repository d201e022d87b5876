package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/distributions"
)

// drawn returns counts of prompts from a family's law, with each number of
// rollouts equally often.
func drawn(t *testing.T, f *family, theta []float64, prompts int, rollouts []int, r *rand.Rand) *Counts {
	t.Helper()
	var shape []Cell
	for _, n := range rollouts {
		shape = append(shape, Cell{n, 0, prompts / len(rollouts)})
	}
	e := &estimate{family: f, optimum: optimum{theta: theta}}
	return newCountLaw(whole, e, mustCounts(t, shape)).draw(r)
}

// TestGradientCondition looks for a better law at 20,001 places, and checks
// that no parametric law is better by more than the gap allows.
func TestGradientCondition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for k, rollouts := range [][]int{{1}, {2}, {8}, {3, 8, 17}, {80}, {400}, {2, 1024}} {
		f := families[k%len(families)]
		c := drawn(t, f, randomTheta(f, r), 300, rollouts, r)
		m, err := Nonparametric(c)
		if err != nil {
			t.Errorf("n = %v: %v", rollouts, err)
			continue
		}
		tolerance := gapTolerance * float64(c.prompts)
		var weight float64
		for _, a := range m.Atoms {
			weight += a.W
		}
		near(t, "sum of weights", weight, 1, 1e-9)
		e := &estimate{mixing: m}
		under := e.logs(whole, c.cells)
		near(t, "log-likelihood", m.LogLik, total(c.cells, under), 1e-7)
		for i := range 20_001 {
			p := math.Pow(math.Sin(math.Pi/2*float64(i)/20_000), 2)
			slope := -float64(c.prompts)
			for j, x := range c.cells {
				slope += float64(x.Prompts) * distributions.BinomialProbability(x.N, x.S, p) / math.Exp(under[j])
			}
			if !(slope <= 2*tolerance) {
				t.Errorf("n = %v: D(%v) = %v, want at most %v", rollouts, p, slope, 2*tolerance)
				break
			}
		}
		for _, f := range families {
			other, err := estimateOf(whole, f, c)
			if err != nil {
				t.Fatal(err)
			}
			if !(other.logLik <= m.LogLik+2*tolerance) {
				t.Errorf("n = %v: %s has log-likelihood %v, more than the nonparametric %v", rollouts, f.name, other.logLik, m.LogLik)
			}
		}
	}
}

// TestNonparametricByHand has estimates that need no computing: with one
// rollout a prompt only E[p] is known; all-wrong prompts are dead; one prompt
// has p = s/n.
func TestNonparametricByHand(t *testing.T) {
	for _, c := range []struct {
		cells         []Cell
		logLik, meanP float64
	}{
		{[]Cell{{1, 0, 3}, {1, 1, 1}}, 3*math.Log(0.75) + math.Log(0.25), 0.25},
		{[]Cell{{7, 0, 9}}, 0, 0},
		{[]Cell{{7, 7, 9}, {3, 3, 1}}, 0, 1},
		{[]Cell{{5, 2, 1}}, math.Log(10 * 0.4 * 0.4 * 0.6 * 0.6 * 0.6), 0.4},
	} {
		m, err := Nonparametric(mustCounts(t, c.cells))
		if err != nil {
			t.Errorf("%v: %v", c.cells, err)
			continue
		}
		e := &estimate{mixing: m}
		near(t, "log-likelihood", m.LogLik, c.logLik, 2e-6)
		near(t, "E[p]", e.figures().MeanP, c.meanP, 1e-4)
	}
}

// TestNonnegative checks the conditions of Karush, Kuhn and Tucker on random
// problems, columns that nearly repeat among them.
func TestNonnegative(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 200 {
		rows, columns := 1+r.IntN(12), 1+r.IntN(12)
		a := make([][]float64, columns)
		for j := range a {
			a[j] = make([]float64, rows)
			for i := range a[j] {
				a[j][i] = r.NormFloat64()
				if j > 0 && j%3 == 0 {
					a[j][i] = a[j-1][i] + 1e-6*a[j][i]
				}
			}
		}
		b := make([]float64, rows)
		for i := range b {
			b[i] = r.NormFloat64()
		}
		x := nonnegative(a, b)
		rest := append([]float64(nil), b...)
		for j := range a {
			for i := range rest {
				rest[i] -= x[j] * a[j][i]
			}
		}
		for j := range a {
			switch d := dot(a[j], rest); {
			case !(x[j] >= 0):
				t.Errorf("x[%d] = %v, want >= 0", j, x[j])
			case x[j] > 0 && !(math.Abs(d) < 1e-7):
				t.Errorf("slope %v along a positive x, want 0", d)
			case !(d < 1e-7):
				t.Errorf("slope %v along a zero x, want <= 0", d)
			}
		}
	}
}
