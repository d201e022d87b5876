package sim

import (
	"math"
	"slices"
	"testing"

	"vigorlab/sim/stream"
)

// TestMoments compares running and merged moments with the definition, in two
// passes: cov = sum (x - mean x)(y - mean y) / (n (n-1)) of the means.
func TestMoments(t *testing.T) {
	const n = 23
	var rows [n][3]float64
	var mean [3]float64
	for r := range rows {
		x := stream.New(uint64(r))
		rows[r] = [3]float64{1e6 + x.Uniform(0), x.Uniform(1), x.Uniform(0) - 2*x.Uniform(1)}
		for i := range mean {
			mean[i] += rows[r][i] / n
		}
	}
	for _, cut := range []int{0, 1, 7, n} {
		m, tail := newMoments(3), newMoments(3)
		for r := range rows {
			if r < cut {
				m.add(rows[r][:])
			} else {
				tail.add(rows[r][:])
			}
		}
		m.merge(tail)
		for i := range mean {
			if !(math.Abs(m.mean[i]-mean[i]) < 1e-9) {
				t.Errorf("cut at %d: mean %d = %v, want %v", cut, i, m.mean[i], mean[i])
			}
			for j := range mean {
				want := 0.0
				for r := range rows {
					want += (rows[r][i] - mean[i]) * (rows[r][j] - mean[j]) / (n * (n - 1))
				}
				if got := m.cov(i, j); !(math.Abs(got-want) < 1e-10) {
					t.Errorf("cut at %d: cov(%d, %d) = %v, want %v", cut, i, j, got, want)
				}
			}
		}
	}
}

// TestInterval95: 2 ± 1.96 * 0.5.
func TestInterval95(t *testing.T) {
	low, high := Estimate{Mean: 2, SE: 0.5}.Interval95()
	if math.Abs(low-1.02001801) > 1e-8 || math.Abs(high-2.97998199) > 1e-8 {
		t.Errorf("[%v, %v], want [1.02001801, 2.97998199]", low, high)
	}
}

// TestProduct works the delta method by hand. x = 1, 3, 2 and y = 4, 2, 3 have
// means 2 and 3; the means' variances are 2/(3*2) = 1/3 each, their covariance
// is -1/3. The relative variance of x/y is
//
//	(1/3)/4 + (1/3)/9 + 2 (1/3)/(2*3) = 1/12 + 1/27 + 1/9 = 25/108
func TestProduct(t *testing.T) {
	m := newMoments(2)
	for _, x := range [][]float64{{1, 4}, {3, 2}, {2, 3}} {
		m.add(x)
	}
	got := m.product(3, "none", term{0, 1}, term{1, -1})
	if want := 2 * math.Sqrt(25.0/108); !(math.Abs(got.Mean-2) < 1e-15) || !(math.Abs(got.SE-want) < 1e-15) {
		t.Errorf("3 x/y = %v ± %v, want 2 ± %v", got.Mean, got.SE, want)
	}
	if got := m.product(1, "none", term{0, 1}, term{1, 1}, term{0, -1}, term{1, -1}); got.Mean != 1 || got.SE != 0 {
		t.Errorf("x/x = %v ± %v, want 1 without error", got.Mean, got.SE)
	}
}

// TestPercentile: type 7 of Hyndman and Fan. Of five values the 30 % point
// lies 1.2 steps from the first.
func TestPercentile(t *testing.T) {
	v := []float64{1, 2, 4, 8, 16}
	for q, want := range map[float64]float64{0: 1, 0.3: 2.4, 0.5: 4, 0.975: 15.2, 1: 16} {
		if got := percentile(v, q); !(math.Abs(got-want) < 1e-12) {
			t.Errorf("the %v point of %v is %v, want %v", q, v, got, want)
		}
	}
	r := &Result{Strategies: make([]Outcome, 1)}
	values := [][][]float64{make([][]float64, len(r.Strategies[0].Named()))}
	for i := range 101 {
		values[0][3] = append(values[0][3], float64(100-i))
	}
	setIntervals(r, values, 110, 0.9)
	if p := r.Strategies[0].Eta.Prompts; p == nil || !(math.Abs(p.Low-5) < 1e-12) || !(math.Abs(p.High-95) < 1e-12) || p.Missing != 9 {
		t.Errorf("90 %% interval of 0..100, which 9 of 110 samples miss: %+v, want [5, 95]", p)
	}
}

// TestHolm works the procedure by hand: level 0.05, a family of five, of which
// four are given. Sorted p: .009 <= .05/5, .012 <= .05/4, and .018 > .05/3 =
// .0167 stops it, so that .02 is not significant though .02 <= .05/2. Without the
// fifth the bounds are .0125, .0167, .025 and .05, and nothing stops it.
func TestHolm(t *testing.T) {
	p := []float64{.02, .009, .018, .012}
	if got := Holm(p, .05, 5); !slices.Equal(got, []bool{false, true, false, true}) {
		t.Errorf("of %v in a family of 5 %v are significant, want .009 and .012", p, got)
	}
	if got := Holm(p, .05, 4); !slices.Equal(got, []bool{true, true, true, true}) {
		t.Errorf("of %v in a family of 4 %v are significant, want all: .02 <= .05", p, got)
	}
}

// TestSizesThatComeAndGo counts groups of sizes that not every batch has, in one
// go and merged: 2, 0 and 1 groups of size 1, 0, 1 and 1 of size 2.
func TestSizesThatComeAndGo(t *testing.T) {
	batches := [][]int{{0, 2}, {0, 0, 1}, {0, 1, 1}}
	count := func(batches [][]int) *tally {
		a := armTally{totals: newMoments(1), sizes: map[int]*moments{}}
		for i := range a.bins {
			a.bins[i] = newMoments(2)
		}
		for _, groups := range batches {
			a.addSizes(groups)
			a.totals.add([]float64{1})
		}
		return &tally{arms: []armTally{a}}
	}
	for cut := range batches {
		got := count(batches[:cut])
		got.merge(count(batches[cut:]))
		for g, want := range map[int]float64{1: 1, 2: 2. / 3} {
			if m := got.arms[0].sizes[g]; m.n != 3 || !(math.Abs(m.mean[0]-want) < 1e-15) {
				t.Errorf("cut at %d: %v groups of size %d a batch over %v, want %v over 3", cut, m.mean[0], g, m.n, want)
			}
		}
	}
}
