package ratetest

import "testing"

// TestLimits by hand: of ten fair coins 0 or 10 have 1/1024 each, 1 or 9 have 10
// times that. The tests of rates state 15 to 70 and 14 to 71 of 200 at 1/5.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		n         int
		p, alpha  float64
		low, high int
	}{
		{10, .5, 2.1 / 1024, 1, 9},
		{10, .5, 1.9 / 1024, 0, 10},
		{10, .5, 22.1 / 1024, 2, 8},
		{200, .2, 1e-6, 15, 70},
		{200, .2, 2.5e-7, 14, 71},
	} {
		if low, high := Limits(c.n, c.p, c.alpha); low != c.low || high != c.high {
			t.Errorf("%+v: %d to %d", c, low, high)
		}
	}
}
