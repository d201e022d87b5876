package strategy

import (
	"math"
	"math/rand/v2"
)

// A remainder rounds shares of a budget to whole rollouts; it keeps its
// buffers.
type remainder struct {
	key   []float64
	order []int
}

// largest appends to n the floors of the shares, and hands what is left of the
// total out one by one, the largest fraction first; none passes most (the
// method of Hamilton). The shares are >= 0 and at most most, and sum to total
// up to rounding.
func (m *remainder) largest(n []int, share []float64, total, most int, ties string, r *rand.Rand) []int {
	m.key = m.key[:0]
	for _, x := range share {
		floor := math.Floor(x)
		m.key = append(m.key, x-floor)
		n = append(n, int(floor))
		total -= int(floor)
	}
	given := n[len(n)-len(share):]
	m.order = byFalling(m.order, m.key, ties, r)
	for i := 0; total > 0; i++ {
		if x := m.order[i%len(m.order)]; given[x] < most {
			given[x]++
			total--
		}
	}
	return n
}

// nearest appends to n the shares rounded to the nearest whole number, halves
// to the even one, and mends the sum by one each where the residual share - n
// is largest, in the direction that the sum needs. The shares are >= 0 and sum
// to total up to rounding. It differs from largest in ties alone.
func (m *remainder) nearest(n []int, share []float64, total int, ties string, r *rand.Rand) []int {
	m.key = m.key[:0]
	for _, x := range share {
		whole := math.RoundToEven(x)
		m.key = append(m.key, x-whole)
		n = append(n, int(whole))
		total -= int(whole)
	}
	given := n[len(n)-len(share):]
	step := 1
	if total < 0 {
		step = -1
		for i := range m.key {
			m.key[i] = -m.key[i]
		}
	}
	m.order = byFalling(m.order, m.key, ties, r)
	for _, x := range m.order[:step*total] {
		given[x] += step
	}
	return n
}
