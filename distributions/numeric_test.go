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

// TestSqueeze: what gammaRand accepts early it would accept anyway,
// log(1 - squeeze x^4) <= x^2/2 + d (1 - v + log v) with v = (1+cx)^3.
func TestSqueeze(t *testing.T) {
	for _, a := range []float64{1, 1.1, 2, 10, 1e3, 1e6} {
		d := a - 1./3
		for x := -2.6; x <= 2.6; x += 0.001 {
			v := math.Pow(1+x/math.Sqrt(9*d), 3)
			early := 1 - squeeze*x*x*x*x
			if v > 0 && early > 0 && math.Log(early) > x*x/2+d*(1-v+math.Log(v))+1e-9 {
				t.Fatalf("a = %v, x = %v: accepted early up to %v, and rightly only below", a, x, early)
			}
			if v <= 0 && early > 0 {
				t.Fatalf("a = %v, x = %v: v = %v", a, x, v)
			}
		}
	}
}

// TestBetaPowerScales: x^a (1-x)^b / B(a,b) goes with x^a near 0, down to the
// smallest floats.
func TestBetaPowerScales(t *testing.T) {
	for _, a := range []float64{1e-4, 0.001, 0.02} {
		high := betaPower(a, 0.3, 1e-250, 1)
		for _, x := range []float64{1e-290, 1e-300, 1e-308, 1e-312} {
			want := high * math.Pow(10, a*math.Log10(x/1e-250))
			if got := betaPower(a, 0.3, x, 1); !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("a = %v, x = %v: %v, want %v", a, x, got, want)
			}
			if got := betaPower(0.3, a, 1, x); !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("mirrored, a = %v, x = %v: %v, want %v", a, x, got, want)
			}
		}
	}
}
