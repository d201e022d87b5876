package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// The limits of rounding in nonnegative: a slope is one from slopeTolerance on
// (times the length of its column), and a column that leaves a condition
// number beyond maxCondition depends on the free ones.
const (
	slopeTolerance = 1e-10
	maxCondition   = 1e13
)

// nonnegative returns the x >= 0 that minimises |A x - b|, for the columns of
// A, by the active set method of Lawson and Hanson (1974), "Solving least
// squares problems", chapter 23: the steepest column joins the free ones, the
// unconstrained solution over these is taken as far as x stays nonnegative,
// and what reaches zero leaves.
func nonnegative(columns [][]float64, b []float64) []float64 {
	x := make([]float64, len(columns))
	rest := slices.Clone(b)          // b - A x
	var free []int                   // the places where x may be positive
	barred := make(map[int]struct{}) // columns that depend on the free ones
	for range 10 * len(columns) {
		next := steepest(columns, rest, free, barred)
		if next < 0 {
			break
		}
		z, ok := leastSquares(columns, append(slices.Clone(free), next), b)
		if !ok {
			barred[next] = struct{}{}
			continue
		}
		free = append(free, next)
		clear(barred)
		for !advance(x, z, &free) {
			if z, ok = leastSquares(columns, free, b); !ok {
				break
			}
		}
		copy(rest, b)
		for _, j := range free {
			for i, a := range columns[j] {
				rest[i] -= x[j] * a
			}
		}
	}
	return x
}

// steepest returns the column along which |A x - b| falls fastest, -1 where
// there is none.
func steepest(columns [][]float64, rest []float64, free []int, barred map[int]struct{}) int {
	best, most := -1, 0.0
	for j, column := range columns {
		if _, is := barred[j]; is || slices.Contains(free, j) {
			continue
		}
		if d := dot(column, rest); d > most && d > slopeTolerance*math.Sqrt(dot(column, column)) {
			best, most = j, d
		}
	}
	return best
}

// advance moves x towards z at the free places until one of them reaches zero
// and leaves; it reports whether x has come to z.
func advance(x, z []float64, free *[]int) bool {
	share := 1.0
	for k, j := range *free {
		if !(z[k] > 0) {
			share = math.Min(share, x[j]/(x[j]-z[k]))
		}
	}
	kept := make([]int, 0, len(*free))
	for k, j := range *free {
		x[j] += share * (z[k] - x[j])
		if !(z[k] > 0) && !(x[j] > 1e-15) {
			x[j] = 0
			continue
		}
		kept = append(kept, j)
	}
	arrived := len(kept) == len(*free)
	*free = kept
	return arrived || len(kept) == 0
}

// leastSquares returns the unconstrained solution over the free columns, not
// ok where these depend on each other.
func leastSquares(columns [][]float64, free []int, b []float64) (z []float64, ok bool) {
	if len(free) > len(b) {
		return nil, false
	}
	a := mat.NewDense(len(b), len(free), nil)
	for k, j := range free {
		a.SetCol(k, columns[j])
	}
	var qr mat.QR
	qr.Factorize(a)
	if !(qr.Cond() < maxCondition) {
		return nil, false
	}
	var found mat.VecDense
	if err := qr.SolveVecTo(&found, false, mat.NewVecDense(len(b), b)); err != nil {
		return nil, false
	}
	return found.RawVector().Data, true
}

func dot(x, y []float64) float64 {
	var sum float64
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}
