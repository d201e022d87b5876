package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim/stream"
)

// Compare estimates reference/arm from durations paired by seed, as many of both: the geometric
// mean of the ratios where every one is known, and their median where some
// durations are censored. A censored reference bounds its ratio from below, a
// censored arm from above, and a pair of both is unknown; the median is
// determined where the medians of the lower and of the upper bounds agree, and its
// interval covers both. A reference that is censored at +Inf, while the arm is not,
// lost by any factor.
//
// The interval has percentiles over resamples >= 2 of the pairs, drawn under key.
// They leave out less than (1-level)/2 at either end, so that an interval for the
// mean of m normal logarithms is as wide as Student's:
//
//	Phi(-sqrt(m/(m-1)) t), t the (1+level)/2 quantile of Student's law, m-1 degrees
//
// (the expanded percentile interval of Hesterberg, What Teachers Should Know about
// the Bootstrap, 2015, and of its R package resample): the bootstrap's standard
// deviation of a mean is Student's times sqrt((m-1)/m).
// Of 10,000 samples of normal logarithms without an effect the 95 % interval of
// 2,000 resamples left 0 out in 5.1 % for 16 pairs and 5.8 % for 8; for 16 pairs
// censored to a quarter in .9 %. It never reaches beyond the pairs, all of which
// lie on one side of their median with probability 2 (1/2)^m: where that is more
// than 1-level, at 95 % below 6 pairs, there is none.
func Compare(reference, arm []Duration, resamples int, level float64, key stream.Key) Ratio {
	n := len(arm)
	low, high := make([]float64, n), make([]float64, n)
	known, lostReference, lostArm, atStart := true, 0, 0, 0
	for i := range arm {
		low[i], high[i] = logRatio(reference[i], arm[i])
		known = known && reference[i].Event && arm[i].Event
		if !reference[i].Event {
			lostReference++
		}
		if !arm[i].Event {
			lostArm++
		}
		if math.IsNaN(low[i]) {
			atStart++
		}
	}
	r := Ratio{Statistic: StatisticMedian}
	lower, upper := median, upperMedian
	if known {
		r.Statistic = StatisticMean
		lower, upper = mean, mean
	}
	if atStart > 0 {
		r.Reason = fmt.Sprintf("reached at the start in %d of %d runs", atStart, n)
		return r
	}
	lost := fmt.Sprintf("never reached: by the reference in %d of %d runs, by the arm in %d", lostReference, n, lostArm)
	from, to := lower(low), upper(high)
	if from == to && !math.IsInf(from, 0) {
		r.Estimate = exp(from)
	} else {
		r.Reason = lost + bounds(from, to)
	}
	if few := tooFew(n, level); few != "" {
		r.Reason = join(r.Reason, few)
		return r
	}
	beyond := tail(n, level)
	r.Low = exp(quantile(resample(low, lower, resamples, stream.Rand(key)), beyond))
	r.High = exp(quantile(resample(high, upper, resamples, stream.Rand(key)), 1-beyond))
	if r.Reason == "" && (r.Low == nil || r.High == nil) {
		r.Reason = lost
	}
	return r
}

// logRatio returns what is known of log(reference/arm): both ends are the same
// where it is. They are NaN where both are 0, at the start.
func logRatio(reference, arm Duration) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	bound := math.Log(reference.Time) - math.Log(arm.Time)
	switch {
	case reference.Event && arm.Event:
		return bound, bound
	case arm.Event:
		return bound, high
	case reference.Event:
		return low, bound
	}
	return low, high
}

// bounds says between which ratios the median lies.
func bounds(from, to float64) string {
	switch {
	case math.IsInf(from, 1):
		return "; the median is beyond any bound"
	case math.IsInf(to, -1):
		return "; the median is 0"
	case math.IsInf(from, -1) && math.IsInf(to, 1):
		return ""
	case math.IsInf(from, -1):
		return fmt.Sprintf("; the median is at most %.3g", math.Exp(to))
	case math.IsInf(to, 1):
		return fmt.Sprintf("; the median is at least %.3g", math.Exp(from))
	}
	return fmt.Sprintf("; the median lies in [%.3g, %.3g]", math.Exp(from), math.Exp(to))
}

// exp returns the exponential of a finite number, nil for others.
func exp(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	e := math.Exp(x)
	return &e
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// resample returns the statistic, sorted, of samples of v drawn with replacement.
func resample(v []float64, statistic func([]float64) float64, resamples int, r *rand.Rand) []float64 {
	sample, values := make([]float64, len(v)), make([]float64, resamples)
	for i := range values {
		for k := range sample {
			sample[k] = v[r.IntN(len(v))]
		}
		values[i] = statistic(sample)
	}
	slices.Sort(values)
	return values
}

// tail returns the share of resamples of m >= 2 pairs that lies beyond either end
// of an interval (see Compare).
func tail(m int, level float64) float64 {
	n := float64(m)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + level) / 2)
	return distuv.UnitNormal.CDF(-math.Sqrt(n/(n-1)) * t)
}

func mean(v []float64) float64 { return stat.Mean(v, nil) }

// median returns the median of v: the mean of the two in the middle where v has an
// even length, and -Inf where these are -Inf and +Inf.
func median(v []float64) float64 {
	return quantile(slices.Sorted(slices.Values(v)), 0.5)
}

// upperMedian is median, but +Inf where the two in the middle are -Inf and +Inf: a
// median between them is not known.
func upperMedian(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	if upper := sorted[len(v)/2]; math.IsInf(upper, 1) {
		return upper
	}
	return quantile(sorted, 0.5)
}

// quantile returns the q-quantile of the sorted v by linear interpolation between
// order statistics (Hyndman and Fan's type 7). Beside an infinity it is that
// infinity.
func quantile(v []float64, q float64) float64 {
	h := q * float64(len(v)-1)
	i := min(int(h), max(0, len(v)-2))
	part := h - float64(i)
	if part == 0 || math.IsInf(v[i], 0) {
		return v[i]
	}
	return v[i] + part*(v[i+1]-v[i])
}
