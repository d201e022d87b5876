package strategy

import "slices"

// waterSteps of bisection exhaust the digits of a float64 between any two
// bounds that occur here.
const waterSteps = 100

// waterline returns the level x in [from, to] at which clipped shares fill up
// to total: fill(x) sets the shares and returns their sum, which does not fall
// in x. A water level has no closed form where some shares are clipped, so it
// is bisected. The sum at the result is at most total, a rounding error below
// it; the shares are those of the result. At from the sum must be at most
// total and at to at least that.
func waterline(from, to, total float64, fill func(x float64) (sum float64)) (x float64) {
	for range waterSteps {
		if middle := (from + to) / 2; fill(middle) <= total {
			from = middle
		} else {
			to = middle
		}
	}
	fill(from)
	return from
}

// clip cuts x to [low, high].
func clip(x, low, high float64) float64 { return min(max(x, low), high) }

// clipped appends to share c w[i], cut to [low, high], with c such that the
// shares sum to total (waterline). The weights are positive and low len(w) <=
// total <= high len(w).
func clipped(share, w []float64, low, high, total float64) []float64 {
	share = append(share, w...)
	given := share[len(share)-len(w):]
	// At the first bound every share is low, at the second high.
	waterline(low/slices.Max(w), high/slices.Min(w), total, func(c float64) (sum float64) {
		for i, w := range w {
			given[i] = clip(c*w, low, high)
			sum += given[i]
		}
		return sum
	})
	return share
}
