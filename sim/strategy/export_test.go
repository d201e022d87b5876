package strategy

// EqualFidelity lets the tests of SERA see how it rounds.
func EqualFidelity(p []float64, budget, least, most int, n []int) {
	new(rounding).equalize(p, budget, least, most, n)
}
