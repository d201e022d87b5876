package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// The tests of comparisons.
const (
	// Vuong is the test of Vuong (1989), "Likelihood ratio tests for model
	// selection and non-nested hypotheses", of equal distance from the truth:
	// the sum over prompts of the differences of log-likelihoods over its
	// standard deviation, two-sided, against the normal law.
	Vuong = "vuong"
	// LikelihoodRatio is for families of which one holds the other: twice the
	// difference against chi-squared with as many degrees of freedom as it has
	// more parameters, at least one. Where the smaller one lies on the
	// larger one's edge that is conservative.
	LikelihoodRatio = "likelihood-ratio"
)

// Level is the level of every verdict; comparisons of one Result share it by
// Holm's procedure (1979).
const Level = 0.05

// A Comparison says whether the counts tell two families apart.
type Comparison struct {
	A, B       string
	Difference float64 // log-likelihood of A minus that of B
	Test       string  // Vuong | LikelihoodRatio
	P          float64
	Apart      bool // at Level, by Holm's procedure over all pairs
}

// compare tests every pair of parametric estimates.
func compare(v view, c *Counts, estimates []*estimate) []Comparison {
	var all []Comparison
	for i, a := range estimates {
		for _, b := range estimates[i+1:] {
			if a.family != nil && b.family != nil {
				all = append(all, comparePair(v, c, a, b))
			}
		}
	}
	p := make([]float64, len(all))
	for i := range all {
		p[i] = all[i].P
	}
	for i, apart := range holm(p, Level) {
		all[i].Apart = apart
	}
	return all
}

func comparePair(v view, c *Counts, a, b *estimate) Comparison {
	x := Comparison{A: a.family.name, B: b.family.name, Difference: a.logLik - b.logLik}
	if slices.Contains(a.family.within, x.B) || slices.Contains(b.family.within, x.A) {
		more, free := x.Difference, len(a.theta)-len(b.theta) // of the one that holds the other
		if slices.Contains(a.family.within, x.B) {
			more, free = -more, -free
		}
		x.Test = LikelihoodRatio
		x.P = distuv.ChiSquared{K: float64(max(1, free))}.Survival(max(0, 2*more))
		return x
	}
	x.Test, x.P = Vuong, vuong(c, a.logs(v, c.cells), b.logs(v, c.cells))
	return x
}

// sameLaw bounds the mean square difference of log-probabilities of two laws
// that are one to the counts.
const sameLaw = 1e-10

// vuong returns the two-sided p-value, 1 where the two are the same law.
func vuong(c *Counts, a, b []float64) float64 {
	n := float64(c.prompts)
	var sum, square float64
	for i, x := range c.cells {
		d := a[i] - b[i]
		sum += float64(x.Prompts) * d
		square += float64(x.Prompts) * d * d
	}
	spread := square/n - (sum/n)*(sum/n)
	if !(spread > sameLaw) {
		return 1
	}
	return 2 * distuv.UnitNormal.Survival(math.Abs(sum)/math.Sqrt(n*spread))
}

// holm returns which of the hypotheses with the given p-values are rejected so
// that one true one is with probability at most level: in ascending order, as
// long as each p is at most level over how many are left.
func holm(p []float64, level float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if p[i] < p[j] {
			return -1
		}
		if p[i] > p[j] {
			return 1
		}
		return 0
	})
	rejected := make([]bool, len(p))
	for k, i := range order {
		if !(p[i] <= level/float64(len(p)-k)) {
			break
		}
		rejected[i] = true
	}
	return rejected
}
