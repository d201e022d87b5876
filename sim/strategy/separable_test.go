package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAllocate compares allocate with every other choice, for values of any
// shape: rough, convex, concave, stepped, flat, falling.
func TestAllocate(t *testing.T) {
	shapes := map[string]func(r *rand.Rand, n float64) float64{
		"rough":   func(r *rand.Rand, _ float64) float64 { return r.NormFloat64() },
		"stepped": func(r *rand.Rand, n float64) float64 { return float64(r.IntN(3)) + math.Floor(n/3) },
		"convex":  func(r *rand.Rand, n float64) float64 { return n * n },
		"concave": func(r *rand.Rand, n float64) float64 { return math.Sqrt(n) },
		"s":       func(r *rand.Rand, n float64) float64 { return n * n / (9 + n*n) },
		"flat":    func(*rand.Rand, float64) float64 { return 0 },
		"falling": func(_ *rand.Rand, n float64) float64 { return -n * n },
	}
	r := rand.New(rand.NewPCG(1, 20260101))
	for name, shape := range shapes {
		for range 100 {
			prompts, most := 1+r.IntN(4), 1+r.IntN(8)
			value := make([][]float64, prompts)
			for i := range value {
				factor := 0.5 + float64(r.IntN(4)) // of which some are equal
				for n := range most + 1 {
					value[i] = append(value[i], factor*shape(r, float64(n)))
				}
			}
			total := r.IntN(prompts*most + 1)
			n := allocate(value, total, r.Perm(prompts))
			got, sum := 0.0, 0
			for i := range n {
				got += value[i][n[i]]
				sum += n[i]
			}
			want := bestOfAll(value, total)
			if sum != total || !(math.Abs(got-want) <= 1e-9) {
				t.Fatalf("%s %v: %v has sum %d and value %v, want %d and %v", name, value, n, sum, got, total, want)
			}
		}
	}
}

// bestOfAll tries every choice.
func bestOfAll(value [][]float64, total int) float64 {
	if len(value) == 0 {
		if total == 0 {
			return 0
		}
		return math.Inf(-1)
	}
	best := math.Inf(-1)
	for n, v := range value[0] {
		if n <= total {
			best = max(best, v+bestOfAll(value[1:], total-n))
		}
	}
	return best
}

// BenchmarkAllocate times the worst of the oracle's cases, 8000 rollouts in
// groups of at most 128 for the 2*8000/129 = 124 prompts that can matter: equal
// ones, of which the budget is no multiple of the largest group, and the middle
// ones of 1000 uniform ones.
func BenchmarkAllocate(b *testing.B) {
	const prompts = 124
	for _, c := range []struct {
		name string
		p    func(i int) float64
	}{
		{"equal", func(int) float64 { return 0.5 }},
		{"uniform", func(i int) float64 { return 0.5 + float64(i-prompts/2)/1000 }},
	} {
		value, order := make([][]float64, prompts), inOrder(prompts)
		for i := range value {
			value[i] = ExpectedSignal(c.p(i), 128)
		}
		b.Run(fmt.Sprint(c.name), func(b *testing.B) {
			for b.Loop() {
				allocate(value, 8000, order)
			}
		})
	}
}
