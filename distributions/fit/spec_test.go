package fit_test

import (
	"fmt"
	"reflect"
	"testing"

	"vigorlab/distributions/fit"
	"vigorlab/distributions/spec"
)

// TestSpecs pastes the spec of every fit that has one, and wants its law back.
func TestSpecs(t *testing.T) {
	for _, cells := range [][]fit.Cell{
		{{N: 8, S: 0, Prompts: 30}, {N: 8, S: 1, Prompts: 9}, {N: 8, S: 4, Prompts: 5}, {N: 8, S: 7, Prompts: 3}, {N: 8, S: 8, Prompts: 11}},
		{{N: 8, S: 0, Prompts: 30}},
		{{N: 8, S: 3, Prompts: 2}, {N: 16, S: 5, Prompts: 4}},
	} {
		counts, err := fit.NewCounts(cells)
		if err != nil {
			t.Fatal(err)
		}
		r, err := fit.Run(t.Context(), counts, fit.Options{Families: fit.Families(), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		pasted := 0
		for _, f := range r.Fits {
			if f.Spec == "" {
				continue
			}
			pasted++
			p, err := spec.ParsePopulation(f.Spec, nil)
			if err != nil || p.Spec != f.Spec || !reflect.DeepEqual(p.Law, f.Law) {
				t.Errorf("%v: %s gives %s, %v, want the fitted law", cells, f.Spec, p.Spec, err)
			}
		}
		if pasted < 4 {
			t.Errorf("%v: %d specs, want one of beta, spiked-beta and two Pareto laws", cells, pasted)
		}
	}
}

// TestSmooth checks that smoothing gives the laws of the fits.
func TestSmooth(t *testing.T) {
	counts, err := fit.NewCounts([]fit.Cell{{N: 8, S: 0, Prompts: 30}, {N: 8, S: 4, Prompts: 5}, {N: 8, S: 8, Prompts: 11}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := fit.Run(t.Context(), counts, fit.Options{Families: []string{fit.Beta, fit.NPMLE}, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, how := range []string{fit.SmoothBeta, fit.SmoothNPMLE} {
		law, err := fit.Smooth(counts, how)
		if err != nil || !reflect.DeepEqual(law, r.Fits[i].Law) {
			t.Errorf("%s: %v, %v, want the law of the fit", how, law, err)
		}
	}
}

func ExampleNonparametric() {
	counts, err := fit.NewCounts([]fit.Cell{{N: 1, S: 0, Prompts: 3}, {N: 1, S: 1, Prompts: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	law, err := fit.Nonparametric(counts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log-likelihood %.3f\n", law.LogLik) // 3 log 3/4 + log 1/4
	// Output: log-likelihood -2.249
}
