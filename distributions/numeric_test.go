package distributions

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSmallest searches smooth functions, steps and stairs, and counts steps.
func TestSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := math.Pow(10, rapid.Float64Range(-320, 0).Draw(t, "log root"))
		power := rapid.SampledFrom([]float64{0.01, 0.5, 1, 2, 7}).Draw(t, "power")
		for name, f := range map[string]func(float64) float64{
			"step":   func(c float64) float64 { return math.Copysign(1, c-root) },
			"smooth": func(c float64) float64 { return math.Pow(c, power) - math.Pow(root, power) },
			"stairs": func(c float64) float64 { return math.Floor(64*c) - math.Floor(64*root) },
			"skewed": func(c float64) float64 {
				if c < root {
					return -1e-300
				}
				return 1e300
			},
		} {
			steps := 0
			got := smallest(0, 1, func(c float64) float64 {
				steps++
				return f(c)
			})
			if !(f(got) >= 0) || got > 0 && f(math.Nextafter(got, 0)) >= 0 {
				t.Fatalf("%s, root %v: %v is not the smallest", name, root, got)
			}
			if steps > 70 {
				t.Fatalf("%s, root %v: %d steps", name, root, steps)
			}
		}
	})
}
