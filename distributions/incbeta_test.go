package distributions

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBetaMiddleTwice: where neither way of computing P(x < X < 1-x) loses
// digits, by the two ends or by quadrature, they agree.
func TestBetaMiddleTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power := func(name string, low, high float64) float64 {
			return math.Pow(10, rapid.Float64Range(low, high).Draw(t, name))
		}
		a, b, end := power("log a", -2, 4), power("log b", -2, 4), power("log end", -2, 1.3)
		x, y := 1/(1+math.Exp(end)), 1/(1+math.Exp(-end)) // y = 1-x
		byEnds := 1 - incompleteBeta(a, b, x, y) - incompleteBeta(b, a, x, y)
		if byEnds < 0.1 {
			return
		}
		if got := betaLogit(a, b, end); !(math.Abs(got/byEnds-1) <= 1e-11) {
			t.Errorf("a = %v, b = %v, x = %v: %v by quadrature, %v by the ends", a, b, x, got, byEnds)
		}
	})
}
