package sim

import (
	"cmp"
	"slices"
)

// Holm says which of the comparisons with the given p-values are significant
// by Holm's step-down procedure (1979), under which the probability of any false
// alarm in the family is at most level. family, at least len(p), counts further
// comparisons as if they had agreed.
func Holm(p []float64, level float64, family int) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	significant := make([]bool, len(p))
	for n, i := range order {
		if !(p[i] <= level/float64(family-n)) {
			break
		}
		significant[i] = true
	}
	return significant
}
