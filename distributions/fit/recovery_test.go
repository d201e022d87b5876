package fit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"vigorlab/distributions/ratetest"
)

// coverageAlarm is the false-alarm rate of a whole coverage test.
const coverageAlarm = 1e-4

// TestCoverage fits counts drawn from known laws and asks whether the 95 %
// intervals hold the truth: as often as Binomial(fits, .95) says, with an exact
// two-sided tolerance that raises a false alarm with probability at most 1e-4
// over all 22 intervals together. Of 200 fits at least 173 must hold it, so that
// a coverage of .80 is missed with probability 1.1 %; of 2,000 at least 1,852,
// so that one of .91 is missed with 0.6 %. Where the truth is an end of
// a range the interval holds it more often, and only the lower bound is asked
// for. An interval holds the truth where the likelihood ratio accepts it, which
// the ends of the first fits confirm.
func TestCoverage(t *testing.T) {
	cases := []struct {
		family   string
		theta    []float64
		prompts  int
		rollouts []int
		atEnd    []bool
	}{
		{Beta, []float64{0.35, 0.7}, 400, []int{8}, nil},
		{Beta, []float64{2, 5}, 400, []int{4, 16}, nil},
		{SpikedBeta, []float64{0.3, 0.15, 2, 3}, 600, []int{16}, nil},
		{SpikedBeta, []float64{0, 0, 1.5, 2}, 600, []int{16}, []bool{true, true, false, false}},
		{ParetoVariance, []float64{1.5, 0.05, 0.6}, 600, []int{40}, nil},
		{ParetoVarianceFree, []float64{-0.6, 0.05, 0.5}, 600, []int{40}, nil},
		{TruncatedPareto, []float64{1, 0.04, 0.7, 0.4}, 600, []int{40}, nil},
	}
	intervals := 0
	for _, c := range cases {
		intervals += len(c.theta)
	}
	n := ratetest.Trials(t, os.Getenv("VIGORLAB_COVERAGE"))
	low, high := ratetest.Limits(n, 0.95, coverageAlarm/float64(intervals))
	for k, c := range cases {
		t.Run(c.family+strconv.Itoa(k), func(t *testing.T) {
			t.Parallel()
			f := familyNamed(c.family)
			held := make([]int, len(c.theta))
			for i := range n {
				r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
				s := newSearch(whole, f, drawn(t, f, c.theta, c.prompts, c.rollouts, r))
				top := s.best(f.starts(s.counts))
				for j, truth := range c.theta {
					start := append([]float64(nil), top.theta...)
					start[j] = truth
					holds := top.logLik-s.climb(start, j).logLik <= profileDrop
					if holds {
						held[j]++
					}
					if i < 3 {
						if from, to := s.profile(top, j); holds != (from <= truth && truth <= to) {
							t.Errorf("fit %d: %s in [%v, %v], but the likelihood ratio says of %v: %v", i, f.ranges[j].name, from, to, truth, holds)
						}
					}
				}
			}
			for j, x := range held {
				end := c.atEnd != nil && c.atEnd[j]
				t.Logf("%s: %d of %d", f.ranges[j].name, x, n)
				if x < low || x > high && !end {
					t.Errorf("%s = %v: %d of %d intervals hold it, want [%d, %d]", f.ranges[j].name, c.theta[j], x, n, low, high)
				}
			}
		})
	}
}

// TestPValue draws from a Beta law and asks how often the p-value of the right
// family is at most 1/5: in a fifth of the fits, as 49 replicates can say
// exactly. The tolerance is binomial, with a false alarm of 1e-6: 15 to 70 of
// 200. A p-value that rejects half of the time is missed with probability
// 1.3e-5, one that never does not at all.
func TestPValue(t *testing.T) {
	const n, replicates = 200, 49
	f := familyNamed(Beta)
	small := 0
	for i := range n {
		c := drawn(t, f, []float64{0.5, 1}, 100, []int{6}, rand.New(rand.NewPCG(90, uint64(i))))
		e, err := estimateOf(whole, f, c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Options{Replicates: replicates, Streams: func(_ string, k int) *rand.Rand {
			return rand.New(rand.NewPCG(uint64(i), uint64(k)))
		}}.bootstrap(t.Context(), whole, e, c, "")
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := exceeded(newCountLaw(whole, e, c).distance(c), again); p <= 0.2 {
			small++
		}
	}
	if low, high := ratetest.Limits(n, 0.2, 1e-6); small < low || small > high {
		t.Errorf("%d of %d p-values are at most 1/5, want [%d, %d]", small, n, low, high)
	}
}
