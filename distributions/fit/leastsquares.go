package fit

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// nonnegative returns the x >= 0 that minimises |A x - b|, for the columns of
// A, by the active set method of Lawson and Hanson (1974), "Solving least
// squares problems", chapter 23.
func nonnegative(columns [][]float64, b []float64) []float64 {
	x := make([]float64, len(columns))
	rest := append([]float64(nil), b...) // b - A x
	var free []int                       // the places where x may be positive
	for range 10 * len(columns) {
		next, steepest := -1, 1e-12
		for j, column := range columns {
			if d := dot(column, rest); x[j] == 0 && d > steepest && !contains(free, j) {
				next, steepest = j, d
			}
		}
		if next < 0 {
			break
		}
		free = append(free, next)
		for len(free) > 0 {
			z := leastSquares(columns, free, b)
			step, blocked := 1.0, false
			for k, j := range free {
				if !(z[k] > 0) {
					blocked = true
					step = math.Min(step, x[j]/(x[j]-z[k]))
				}
			}
			kept := free[:0]
			for k, j := range free {
				x[j] += step * (z[k] - x[j])
				if blocked && !(x[j] > 1e-15) {
					x[j] = 0
					continue
				}
				kept = append(kept, j)
			}
			dropped := len(kept) < len(free)
			free = kept
			if !blocked || !dropped {
				break
			}
		}
		copy(rest, b)
		for j, column := range columns {
			if x[j] == 0 {
				continue
			}
			for i, a := range column {
				rest[i] -= x[j] * a
			}
		}
	}
	return x
}

// leastSquares returns the unconstrained solution over the free columns.
func leastSquares(columns [][]float64, free []int, b []float64) []float64 {
	rows := max(len(b), len(free))
	a, right := mat.NewDense(rows, len(free), nil), mat.NewVecDense(rows, nil)
	for k, j := range free {
		for i, x := range columns[j] {
			a.Set(i, k, x)
		}
	}
	for i, x := range b {
		right.SetVec(i, x)
	}
	var qr mat.QR
	qr.Factorize(a)
	var z mat.VecDense
	if err := qr.SolveVecTo(&z, false, right); err != nil && z.IsEmpty() {
		return make([]float64, len(free))
	}
	return z.RawVector().Data
}

func dot(x, y []float64) float64 {
	var sum float64
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func contains(list []int, j int) bool {
	for _, x := range list {
		if x == j {
			return true
		}
	}
	return false
}
