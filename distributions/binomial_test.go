package distributions_test

import (
	"math"
	"math/big"
	"testing"

	"vigorlab/distributions"
)

// TestBinomialProbability compares with big.Float at 200 digits, for the
// float64 that p is.
func TestBinomialProbability(t *testing.T) {
	const bits = 700
	power := func(x *big.Float, k int) *big.Float {
		y := big.NewFloat(1).SetPrec(bits)
		for range k {
			y.Mul(y, x)
		}
		return y
	}
	for _, n := range []int{0, 1, 2, 7, 64, 1000, 10_000} {
		tol := 1e-11
		if n > 1000 {
			tol = 1e-10
		}
		for _, p := range []float64{0x1p-60, 0.1, 0.5, 0.9} {
			hit := new(big.Float).SetPrec(bits).SetFloat64(p)
			miss := new(big.Float).SetPrec(bits).Sub(big.NewFloat(1), hit)
			for _, k := range []int{0, 1, 2, n / 3, n / 2, n - 1, n} {
				if k < 0 || k > n {
					continue
				}
				ways := new(big.Float).SetPrec(bits).SetInt(new(big.Int).Binomial(int64(n), int64(k)))
				exact := ways.Mul(ways, power(hit, k))
				want, _ := exact.Mul(exact, power(miss, n-k)).Float64()
				got := distributions.BinomialProbability(n, k, p)
				if !(math.Abs(got-want) <= tol*want+0x1p-1022) {
					t.Errorf("n = %d, k = %d, p = %v: %v, want %v", n, k, p, got, want)
				}
			}
		}
		for k := range n + 1 {
			dead, solved := 0.0, 0.0
			if k == 0 {
				dead = 1
			}
			if k == n {
				solved = 1
			}
			if got := distributions.BinomialProbability(n, k, 0); got != dead {
				t.Errorf("n = %d, k = %d, p = 0: %v, want %v", n, k, got, dead)
			}
			if got := distributions.BinomialProbability(n, k, 1); got != solved {
				t.Errorf("n = %d, k = %d, p = 1: %v, want %v", n, k, got, solved)
			}
		}
	}
}
