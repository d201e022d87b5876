package distributions

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFixedPower compares with math.Pow, whose own error reaches some 1e-14
// for the smallest numbers, at the ends, at every cell's ends and at random
// places of every binade.
func TestFixedPower(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 9))
	for _, power := range []float64{-4, -2, -1 / 1.1, -2.0 / 3, -0.5, -0.01, 0, 0.5, 4} {
		f := newFixedPower(power)
		check := func(x float64) {
			t.Helper()
			got, want := f.of(x), math.Pow(x, power)
			if !(math.Abs(got-want) <= 2e-14*want) {
				t.Errorf("%v^%v = %v, want %v", x, power, got, want)
			}
		}
		check(1)
		check(smallestBase)
		for e := range 63 {
			binade := math.Ldexp(1, -e-1)
			for i := range 1 << cellBits {
				left := binade * (1 + float64(i)/(1<<cellBits))
				check(left)
				check(max(smallestBase, math.Nextafter(left, 0)))
			}
			for range 200 {
				check(binade * (1 + r.Float64()))
			}
		}
	}
	if newFixedPower(4.1) != nil || newFixedPower(math.NaN()) != nil {
		t.Error("a power beyond maxPower has a table")
	}
}

func BenchmarkParetoVarianceRand(b *testing.B) {
	d, err := NewParetoVariance(1.5, 0.01, 1, 0.5)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	sum := 0.0
	for b.Loop() {
		sum += d.Rand(r)
	}
	_ = sum
}
