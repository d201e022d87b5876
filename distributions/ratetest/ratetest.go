// Package ratetest holds what tests of rates share: how many trials a rate rests
// on, and how many hits chance explains. It refuses to know what is tried.
package ratetest

import (
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Trials returns how many trials a rate rests on: 200, or what coverage says, the
// environment's VIGORLAB_COVERAGE, which `make coverage` sets.
func Trials(t *testing.T, coverage string) int {
	t.Helper()
	if coverage == "" {
		return 200
	}
	n, err := strconv.Atoi(coverage)
	if err != nil || n < 1 {
		t.Fatalf("VIGORLAB_COVERAGE = %q, want a whole number >= 1", coverage)
	}
	return n
}

// Limits returns the least and the most of n hits that are not refused where each
// has probability p, 0 < p < 1: each tail beyond has probability alpha/2 at most.
func Limits(n int, p, alpha float64) (low, high int) {
	law := distuv.Binomial{N: float64(n), P: p}
	for high = n; law.Survival(float64(high-1)) <= alpha/2; high-- {
	}
	for law.CDF(float64(low)) <= alpha/2 {
		low++
	}
	return low, high
}
