package distributions_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/distributions"
)

// exactLevel returns 4s(n-s)/n^2, rounded once, in rational arithmetic.
func exactLevel(s, n int64) float64 {
	num := new(big.Int).Mul(big.NewInt(4*s), big.NewInt(n-s))
	den := new(big.Int).Mul(big.NewInt(n), big.NewInt(n))
	f, _ := new(big.Rat).SetFrac(num, den).Float64()
	return f
}

func TestLevelOfFractions(t *testing.T) {
	check := func(s, n int64) {
		want := exactLevel(s, n)
		if got := distributions.Level(float64(s) / float64(n)); got != want {
			t.Fatalf("Level(%d/%d) = %v, want %v", s, n, got, want)
		}
		if got := distributions.Level(float64(n-s) / float64(n)); got != want {
			t.Fatalf("Level(%d/%d) = %v, want %v", n-s, n, got, want)
		}
	}
	for n := int64(1); n <= 300; n++ {
		for s := range n + 1 {
			check(s, n)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 1<<20).Draw(rt, "n")
		check(rapid.Int64Range(0, n).Draw(rt, "s"), n)
	})
}

// TestLevelMeetsDecimals checks that thresholds typed as decimals include the
// prompts that lie on them, where U alone fails.
func TestLevelMeetsDecimals(t *testing.T) {
	for _, c := range []struct{ p, u float64 }{
		{0.1, 0.36}, {0.2, 0.64}, {0.3, 0.84}, {0.4, 0.96}, {0.25, 0.75}, {0.05, 0.19}, {0.01, 0.0396}, {0.5, 1}, {0, 0},
	} {
		for _, p := range []float64{c.p, 1 - c.p, math.Round(100*(1-c.p)) / 100} {
			if p == 1-c.p && p != math.Round(100*p)/100 {
				continue // 1-c.p is no decimal
			}
			if got := distributions.Level(p); got != c.u {
				t.Errorf("Level(%v) = %v, want %v", p, got, c.u)
			}
			if !distributions.AtLeast(p, c.u) || distributions.AtLeast(p, math.Nextafter(c.u, 2)) {
				t.Errorf("p = %v is not on the frontier of %v, or on that above it", p, c.u)
			}
		}
	}
	if !(distributions.U(0.9) < 0.36 && 0.36 < distributions.U(0.1)) {
		t.Error("U(0.9) < 0.36 < U(0.1) no longer holds, which Level's comment says")
	}
}

func TestLevelIsU(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Map(rapid.Float64Range(-300, 0), func(e float64) float64 {
			return math.Pow(10, e)
		})).Draw(rt, "p")
		level, u := distributions.Level(p), distributions.U(p)
		if !(math.Abs(level-u) <= 0x1p-50) {
			rt.Fatalf("Level(%v) = %v, U = %v", p, level, u)
		}
		for _, c := range []float64{u, level, 0.75, math.Nextafter(u, 0), math.Nextafter(level, 2), u - 1e-12, u + 1e-12, u - 1e-3} {
			if got, want := distributions.AtLeast(p, c), level >= c; got != want {
				rt.Fatalf("AtLeast(%v, %v) = %v, want %v", p, c, got, want)
			}
		}
	})
}

func BenchmarkLevel(b *testing.B) {
	p := []float64{0.3, 0.123456789, 0.9, 0.98765432}
	var sum float64
	for i := range b.N {
		sum += distributions.Level(p[i&3])
	}
	_ = sum
}

func BenchmarkAtLeast(b *testing.B) {
	p := []float64{0.3, 0.123456789, 0.9, 0.98765432}
	n := 0
	for i := range b.N {
		if distributions.AtLeast(p[i&3], 0.75) {
			n++
		}
	}
	_ = n
}
