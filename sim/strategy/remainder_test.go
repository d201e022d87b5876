package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRounding(t *testing.T) {
	var m remainder
	for _, c := range []struct {
		name             string
		share            []float64
		total, most      int
		largest, nearest []int // ties by index
	}{
		{"fractions .6 and .7 go up", []float64{1.6, 2.7, 3.7}, 8, 9, []int{1, 3, 4}, []int{1, 3, 4}},
		{"the sum is short: the largest fraction", []float64{1.3, 2.4, 3.3}, 7, 9, []int{1, 3, 3}, []int{1, 3, 3}},
		{"whole shares stay", []float64{0, 5, 3}, 8, 9, []int{0, 5, 3}, []int{0, 5, 3}},
		// Halves: the floor method gives the first the one that is left; to even,
		// 4.5 falls to 4 and 5.5 rises to 6, and the sum is right at once.
		{"halves", []float64{5.5, 4.5}, 10, 9, []int{6, 4}, []int{6, 4}},
		{"halves, the other way round", []float64{4.5, 5.5}, 10, 9, []int{5, 5}, []int{4, 6}},
		{"three equal ones", []float64{4. / 3, 4. / 3, 4. / 3}, 4, 9, []int{2, 1, 1}, []int{2, 1, 1}},
		{"below whole numbers by rounding", []float64{3, 2.9999999, 1}, 7, 3, []int{3, 3, 1}, []int{3, 3, 1}},
	} {
		if got := m.largest(nil, c.share, c.total, c.most, tiesIndex, nil); !slices.Equal(got, c.largest) {
			t.Errorf("%s: largest remainder %v, want %v", c.name, got, c.largest)
		}
		if got := m.nearest(nil, c.share, c.total, tiesIndex, nil); !slices.Equal(got, c.nearest) {
			t.Errorf("%s: nearest %v, want %v", c.name, got, c.nearest)
		}
	}
}

// What is left over where the shares fall short goes on past who has most.
func TestRoundingMost(t *testing.T) {
	var m remainder
	if got, want := m.largest(nil, []float64{0.5, 3, 2, 2}, 9, 3, tiesIndex, nil), []int{1, 3, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Rounded shares keep the sum and stay within one of the share.
func TestRoundingProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 3))
	var m remainder
	for range 2000 {
		w := make([]float64, 1+r.IntN(12))
		sum := 0.0
		for i := range w {
			w[i] = float64(r.IntN(4)) // ties, and zeros
			sum += w[i]
		}
		if sum == 0 {
			continue
		}
		total := 1 + r.IntN(50)
		for i := range w {
			w[i] = w[i] / sum * float64(total)
		}
		for _, got := range [][]int{
			m.largest(nil, w, total, total, tiesRandom, r), m.nearest(nil, w, total, tiesRandom, r),
		} {
			given := 0
			for i, n := range got {
				given += n
				if math.Abs(float64(n)-w[i]) >= 1+1e-9 || w[i] == 0 && n != 0 {
					t.Errorf("share %v is rounded to %d", w[i], n)
				}
			}
			if given != total {
				t.Errorf("%v is rounded to %v, want the sum %d", w, got, total)
			}
		}
	}
}

// Cut shares meet the total, are proportional between the bounds, and are the
// bounds themselves where proportion would pass them.
func TestClipped(t *testing.T) {
	for _, c := range []struct {
		w                []float64
		low, high, total float64
		want             []float64
	}{
		// 24/8.902735 = 2.695801 a unit of weight: nothing is cut.
		{[]float64{5, 5. / 3, math.Sqrt(5)}, 4, 32, 24, []float64{13.479006, 4.493002, 6.027995}},
		// At least 6: the second rises to 6; 18/7.236068 a unit leaves the third
		// 5.562, so it rises too, and the first keeps 12.
		{[]float64{5, 5. / 3, math.Sqrt(5)}, 6, 32, 24, []float64{12, 6, 6}},
		// At most 10: 14 for the others, 14/3.902735 a unit.
		{[]float64{5, 5. / 3, math.Sqrt(5)}, 1, 10, 24, []float64{10, 5.978714, 8.021286}},
		{[]float64{1, 1}, 4, 4, 8, []float64{4, 4}},
		{[]float64{1, 1000}, 1, 9, 10, []float64{1, 9}},
		{[]float64{1000, 1}, 2, 8, 16, []float64{8, 8}},
	} {
		got := clipped(nil, c.w, c.low, c.high, c.total)
		for i, x := range got {
			if !(math.Abs(x-c.want[i]) < 1e-5) {
				t.Errorf("%v in [%v, %v] to %v: %v, want %v", c.w, c.low, c.high, c.total, got, c.want)
				break
			}
		}
	}
}

// Random ties favour nobody: each of five equal keys comes first in a fifth of
// 20,000 orders. By Hoeffding a share strays by tol with probability at most
// 2 exp(-2 n tol^2) = 1e-6/5; a share off by 2 tol = 0.04 is missed with at
// most that probability.
func TestByFallingRandom(t *testing.T) {
	const n, tol = 20_000, 0.0201
	r := rand.New(rand.NewPCG(20260101, 4))
	key := []float64{2, 1, 2, 2, 0, 2, 2}
	first := make([]int, len(key))
	var order []int
	for range n {
		order = byFalling(order, key, tiesRandom, r)
		first[order[0]]++
	}
	for i, k := range first {
		if want := map[bool]float64{true: 0.2}[key[i] == 2]; !(math.Abs(float64(k)/n-want) < tol) {
			t.Errorf("place %d is first in %d of %d orders, want a share of %v", i, k, n, want)
		}
	}
	if got, want := byFalling(nil, key, tiesIndex, nil), []int{0, 2, 3, 5, 6, 1, 4}; !slices.Equal(got, want) {
		t.Errorf("by index %v, want %v", got, want)
	}
}
