package enumerate

import (
	"math"
	"testing"

	"vigorlab/sim/schedule"
)

// exact is the accuracy that Result promises.
const exact = 1e-13

// small is the schedule of the hand-worked traces: m0=2, rounds=2, alpha=1/2,
// gamma=1, so that a batch of 2 ends with groups of 2 and 4.
func small() schedule.Vigor {
	v := schedule.Default()
	v.Rounds, v.Gamma = 2, schedule.MustRatio("1")
	return v
}

func prompts(t testing.TB, p ...float64) Population {
	t.Helper()
	pop, err := Prompts(p...)
	if err != nil {
		t.Fatal(err)
	}
	return pop
}

func enumerated(t testing.TB, pop Population, v schedule.Vigor, frontier float64) *Result {
	t.Helper()
	r, err := VigorEnumerate(pop, v, Options{Frontier: frontier, SizeVectors: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// near fails unless got is within 1e-13 of want, relative to want where it is
// larger than 1, or both are NaN.
func near(t testing.TB, name string, got, want float64) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) {
		return
	}
	if !(math.Abs(got-want) <= exact*max(1, math.Abs(want))) {
		t.Errorf("%s = %.17g, want %.17g", name, got, want)
	}
}

func nearVectors(t testing.TB, got, want []SizeVector) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("size vectors %v, want %v", got, want)
	}
	for i := range want {
		for x := range want[i].Sizes {
			if got[i].Sizes[x] != want[i].Sizes[x] {
				t.Fatalf("size vectors %v, want %v", got, want)
			}
		}
		near(t, "P(sizes)", got[i].Probability, want[i].Probability)
	}
}

// meanSuccess returns E[s/G] over the groups of an atom that have a size, or
// all its groups where size is 0.
func meanSuccess(r *Result, atom, size int) float64 {
	var rate, number float64
	for _, g := range r.Groups {
		if g.Atom == atom && (size == 0 || g.Size == size) {
			rate += g.Expected * float64(g.Successes) / float64(g.Size)
			number += g.Expected
		}
	}
	return rate / number
}
