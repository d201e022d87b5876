package strategy_test

import (
	"fmt"
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
)

// TestHitUtility meets the values of allocation.md, section 11, and asks that
// every further rollout adds less.
func TestHitUtility(t *testing.T) {
	for _, c := range []struct {
		s, f int
		want [4]float64 // n = 1, 2, 4, 8
	}{
		{0, 0, [4]float64{.5, .666667, .8, .888889}},
		{0, 4, [4]float64{.166667, .285714, .444444, .615385}},
		{1, 3, [4]float64{.333333, .523810, .722222, .871795}},
	} {
		for i, n := range []int{1, 2, 4, 8} {
			wantNear(t, fmt.Sprintf("%+v, n=%d", c, n), strategy.HitUtility(c.s, c.f, n), c.want[i], 5e-7)
		}
		for n := range 40 {
			gain := strategy.HitUtility(c.s, c.f, n+1) - strategy.HitUtility(c.s, c.f, n)
			next := strategy.HitUtility(c.s, c.f, n+2) - strategy.HitUtility(c.s, c.f, n+1)
			if !(next < gain) {
				t.Errorf("%+v: rollout %d adds %v, the next %v", c, n+1, gain, next)
			}
		}
		// With no success yet, n/(f+n+1).
		if c.s == 0 {
			wantNear(t, "no success", strategy.HitUtility(0, c.f, 7), 7/float64(c.f+8), 1e-15)
		}
	}
	wantNear(t, "nothing", strategy.HitUtility(3, 2, 0), 0, 0)
}

// TestGoodTuring: allocation.md, section 12, and the identity by enumeration of
// every outcome, prompt by prompt.
func TestGoodTuring(t *testing.T) {
	p := []float64{.05, .1, .2, .4, .7}
	wantNear(t, "first successes", strategy.FirstSuccesses(p, 8), .136040, 5e-7)
	wantNear(t, "corners", strategy.FirstSuccesses([]float64{0, 1}, 1)+strategy.FirstSuccesses([]float64{0, 1}, 2), 1, 0)
	for _, m := range []int{1, 2, 8} {
		mean := 0.
		for _, p := range p {
			for s := range m + 1 {
				mean += distributions.BinomialProbability(m, s, p) * strategy.GoodTuring([]int{s}, m)
			}
		}
		wantNear(t, fmt.Sprintf("m=%d", m), mean, strategy.FirstSuccesses(p, m), 1e-14)
	}
	wantNear(t, "five prompts", strategy.GoodTuring([]int{0, 1, 1, 2, 8}, 8), .25, 0)
}

// TestPassAtK: unbiased, by enumeration, and the corners.
func TestPassAtK(t *testing.T) {
	for _, k := range []int{1, 3, 6} {
		mean := 0.
		for s := range 7 {
			mean += distributions.BinomialProbability(6, s, .3) * strategy.PassAtK(s, 6, k)
		}
		wantNear(t, fmt.Sprintf("k=%d", k), mean, 1-math.Pow(.7, float64(k)), 1e-14)
	}
	wantNear(t, "one left out", strategy.PassAtK(5, 6, 2), 1, 0)
	wantNear(t, "none", strategy.PassAtK(0, 6, 6), 0, 0)
}

func TestDetectionFloor(t *testing.T) {
	n := strategy.DetectionFloor(.1, .05)
	wantNear(t, "miss", math.Pow(.9, n), .05, 1e-14)
}
