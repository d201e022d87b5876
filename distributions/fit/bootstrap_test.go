package fit

import "testing"

// TestQuantilesByHand: of 0, 1, ..., 40 the 2.5 % point is 1 and the 97.5 %
// point 39; between order statistics they are linear.
func TestQuantilesByHand(t *testing.T) {
	figure := func(r replicate) float64 { return r.distance }
	var replicates []replicate
	for k := range 41 {
		replicates = append(replicates, replicate{distance: float64(7 * k % 41)}) // not in order
	}
	if low, high := quantiles(replicates, figure); low != 1 || high != 39 {
		t.Errorf("[%v, %v], want [1, 39]", low, high)
	}
	low, high := quantiles(replicates[:2], figure)
	near(t, "2.5 % point of 0 and 7", low, 0.175, 1e-14)
	near(t, "97.5 % point", high, 6.825, 1e-14)
}
