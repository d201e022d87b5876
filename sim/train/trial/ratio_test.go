package trial

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vigorlab/sim/stream"
)

func at(times ...float64) []Duration {
	var d []Duration
	for _, t := range times { // a negative time is censored
		d = append(d, Duration{math.Abs(t), t >= 0})
	}
	return d
}

// TestCompareByHand: the geometric mean where every pair is known; the median
// where the unknown ones do not matter to it; the reason elsewhere.
func TestCompareByHand(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name           string
		reference, arm []Duration
		want           float64 // NaN for none
		statistic      string
		reason         string
	}{
		{"all known", at(2, 8, 4), at(1, 1, 4), math.Cbrt(16), StatisticMean, ""},
		{"reference censored above the median", at(2, -8, 4), at(1, 1, 4), 2, StatisticMedian, ""},
		{"arm censored below the median", at(2, 8, 4), at(1, 1, -4), 2, StatisticMedian, ""},
		{"reference censored below the median", at(2, 8, -4), at(1, 1, 4), math.NaN(), StatisticMedian, "the median lies in [2, 8]"},
		{"both censored", at(2, 8, -4), at(1, 1, -4), math.NaN(), StatisticMedian, "the median lies in [2, 8]"},
		{"reference never", at(-8, -8, -8), at(1, 2, 4), math.NaN(), StatisticMedian, "by the reference in 3 of 3 runs, by the arm in 0; the median is at least 4"},
		{"arm never", at(1, 2, 4), at(-8, -8, -8), math.NaN(), StatisticMedian, "by the arm in 3; the median is at most 0.25"},
		{"neither", at(-8, -8, -8), at(-8, -8, -8), math.NaN(), StatisticMedian, "never reached"},
		{"reference diverged", at(2, -inf, 4), at(1, 1, 4), 2, StatisticMedian, ""},
		{"reference always diverged", at(-inf, -inf, -inf), at(1, 1, 4), math.NaN(), StatisticMedian, "beyond any bound"},
		{"arm always diverged", at(1, 1, 4), at(-inf, -inf, -inf), math.NaN(), StatisticMedian, "the median is 0"},
		{"both diverged", at(-inf, -inf, -inf), at(-inf, -inf, -inf), math.NaN(), StatisticMedian, "never reached"},
		{"even, middle known", at(1, 2, 8, -64), at(1, 1, 1, 1), 4, StatisticMedian, ""},
		{"at the start", at(0, 2, 8), at(0, 1, 1), math.NaN(), StatisticMean, "reached at the start in 1 of 3 runs"},
		{"a single seed", at(6), at(2), 3, StatisticMean, "a single seed has no interval"},
		{"a single seed, never", at(-6), at(2), math.NaN(), StatisticMedian, "at least 3; a single seed"},
	} {
		r := Compare(c.reference, c.arm, 200, 0.95, stream.New(1))
		if r.Statistic != c.statistic || (r.Estimate == nil) != math.IsNaN(c.want) {
			t.Errorf("%s: %v %s %q, want %v %s", c.name, orInf(r.Estimate), r.Statistic, r.Reason, c.want, c.statistic)
			continue
		}
		if r.Estimate != nil && !(math.Abs(*r.Estimate-c.want) < 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, *r.Estimate, c.want)
		}
		if !strings.Contains(r.Reason, c.reason) || (r.Low == nil || r.High == nil) != (r.Reason != "") {
			t.Errorf("%s: reason %q with ends %v and %v, want %q", c.name, r.Reason, orInf(r.Low), orInf(r.High), c.reason)
		}
	}
}

// TestCompareFew: fewer than 6 pairs bear no interval at 95 %, since none of a
// bootstrap reaches beyond them.
func TestCompareFew(t *testing.T) {
	reference, arm := at(2, 3, 5, 7, 11, 13), at(1, 1, 1, 1, 1, 1)
	for n := 2; n <= 6; n++ {
		r := Compare(reference[:n], arm[:n], 200, 0.95, stream.New(1))
		if r.Estimate == nil || (r.Low == nil || r.High == nil) != (n < 6) || (r.Reason == "") != (n == 6) {
			t.Errorf("%d pairs: %v in [%v, %v], %q", n, orInf(r.Estimate), orInf(r.Low), orInf(r.High), r.Reason)
		}
	}
}

// TestCompareOpposite: where each side diverged on a seed that the other reached,
// nothing is known of the median in the middle.
func TestCompareOpposite(t *testing.T) {
	inf := math.Inf(1)
	r := Compare(at(1, -inf), at(-inf, 1), 200, 0.95, stream.New(1))
	const want = "never reached: by the reference in 1 of 2 runs, by the arm in 1; 2 seeds: too few for an interval of 95 %"
	if r.Estimate != nil || r.Low != nil || r.High != nil || r.Reason != want {
		t.Errorf("%v in [%v, %v], %q, want %q", orInf(r.Estimate), orInf(r.Low), orInf(r.High), r.Reason, want)
	}
}

// TestCompareCoverage measures how often the interval leaves the true ratio out:
// for equal arms that is the false-alarm rate. Over 10,000 samples it was 5.8 % with
// 8 pairs, 5.1 % with 16 and .9 % with a quarter of 16 censored, with 2,000
// resamples; 1,000 resamples add less than .5 %. Of 2,000 samples each bound is
// passed with probability 3e-7 at 6.2 %, 5.6 % and 1.5 %. Percentiles that are not
// widened leave it out in 12 %, 9.3 % and 1.9 %: 12 % passes the first bound but
// for a probability of 1.5e-5.
func TestCompareCoverage(t *testing.T) {
	const trials, resamples = 2000, 1000
	for _, c := range []struct {
		name   string
		pairs  int
		censor float64 // log time at which both are censored
		most   int
	}{
		{"8 pairs", 8, math.Inf(1), 181},
		{"16 pairs", 16, math.Inf(1), 167},
		{"16 pairs, a quarter censored", 16, 1, 61},
	} {
		r := rand.New(rand.NewPCG(20260101, uint64(c.pairs)))
		out := 0
		for range trials {
			var a, b []Duration
			for range c.pairs {
				common := r.NormFloat64()
				x, y := common+r.NormFloat64(), common+r.NormFloat64()
				a = append(a, Duration{math.Exp(min(x, c.censor)), x < c.censor})
				b = append(b, Duration{math.Exp(min(y, c.censor)), y < c.censor})
			}
			f := Compare(a, b, resamples, 0.95, stream.Key(r.Uint64()))
			if f.Low != nil && *f.Low > 1 || f.High != nil && *f.High < 1 {
				out++
			}
		}
		t.Logf("%s: %d of %d", c.name, out, trials)
		if out > c.most {
			t.Errorf("%s: %d of %d intervals miss, want at most %d", c.name, out, trials, c.most)
		}
	}
}
