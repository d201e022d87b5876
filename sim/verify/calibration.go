package verify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A foretold is a ratio as measured on several seeds beside what was predicted.
type foretold struct {
	logs      []float64   // logarithm of the measured ratio, by seed
	interval  *[2]float64 // of the measured ratio, at 95 %; nil for none
	predicted float64
}

// A calibration says how well one predictor foretold ratios of several cases,
// on the same number of seeds each. Errors are log(measured/predicted).
type calibration struct {
	cases int
	mean  overSeeds // error: above 0 the prediction is too low
	rms   overSeeds // root mean square error of the cases, less what seeds add
	rank  float64   // Spearman's correlation of measured and predicted ratios, NaN for one case or no spread
	cover int       // cases whose interval holds the prediction
}

// An overSeeds is a figure with its standard error and 95 % interval over seeds.
type overSeeds struct{ value, se, low, high float64 }

// student returns a figure with the interval of Student's law over n seeds.
func student(value, se float64, n int) overSeeds {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
	return overSeeds{value, se, value - t*se, value + t*se}
}

// calibrate compares cases of the same n >= 3 seeds. Cases share seeds and so are
// not independent, but seeds are: the mean error is taken seed by seed, and the
// error of the root mean square is the jackknife's, which leaves out one seed of
// all cases at a time.
func calibrate(cases []foretold) calibration {
	seeds := len(cases[0].logs)
	c := calibration{cases: len(cases)}
	bySeed := make([]float64, seeds)
	var measured, predicted []float64
	for _, f := range cases {
		for k, l := range f.logs {
			bySeed[k] += (l - math.Log(f.predicted)) / float64(len(cases))
		}
		measured, predicted = append(measured, stat.Mean(f.logs, nil)), append(predicted, math.Log(f.predicted))
		if i := f.interval; i != nil && i[0] <= f.predicted && f.predicted <= i[1] {
			c.cover++
		}
	}
	mean, sd := stat.MeanStdDev(bySeed, nil)
	c.mean = student(mean, sd/math.Sqrt(float64(seeds)), seeds)
	left := make([]float64, seeds)
	for k := range left {
		left[k] = rootMeanSquare(cases, k)
	}
	se := math.Sqrt(stat.PopVariance(left, nil) * float64(seeds-1))
	c.rms = student(rootMeanSquare(cases, -1), se, seeds)
	c.rms.low = max(c.rms.low, 0)
	c.rank = stat.Correlation(midranks(measured), midranks(predicted), nil)
	return c
}

// rootMeanSquare returns the root of the mean over cases of the squared mean
// error, less the variance of that mean, without the seed of that number: 0 where
// seeds explain all of it.
func rootMeanSquare(cases []foretold, without int) float64 {
	sum := 0.0
	for _, f := range cases {
		logs := slices.Clone(f.logs)
		if without >= 0 {
			logs = slices.Delete(logs, without, without+1)
		}
		mean, variance := stat.MeanVariance(logs, nil)
		e := mean - math.Log(f.predicted)
		sum += e*e - variance/float64(len(logs))
	}
	return math.Sqrt(max(0, sum/float64(len(cases))))
}

// midranks returns ranks from 1, equal values sharing the mean of theirs. Values
// that differ by rounding alone are equal.
func midranks(x []float64) []float64 {
	ranks := make([]float64, len(x))
	for i, a := range x {
		for _, b := range x {
			switch {
			case math.Abs(a-b) <= 1e-12:
				ranks[i] += 0.5
			case b < a:
				ranks[i]++
			}
		}
		ranks[i] += 0.5
	}
	return ranks
}

// exactBy is the root mean square log error up to which a predictor holds.
const exactBy = 0.05

// predictorTest is how a predictor's verdict is reached.
var predictorTest = fmt.Sprintf("95 %% interval of the root mean square log error over cases, jackknife over seeds, pointwise: "+
	"the predictor holds if it ends at or below %g, holds within d if at or below %g, fails if it begins above %[2]g, else these seeds cannot tell", exactBy, closeBy)

// judged fills row, a claim that a predictor is right, with its calibration.
func judged(row Row, c calibration) Row {
	row.Kind, row.Test = Claim, predictorTest
	row.Estimate, row.SE, row.Reference = number(c.rms.value), number(c.rms.se), number(exactBy)
	row.Interval = &[2]float64{c.rms.low, c.rms.high}
	row.Reason = "p, detects: the verdict is read off the interval"
	switch {
	case c.rms.high <= exactBy:
		row.Verdict = Holds
	case c.rms.high <= closeBy:
		row.Verdict = HoldsWithin
	case c.rms.low > closeBy:
		row.Verdict = Fails
	default:
		row.Verdict = Untestable
		row.Reason = "the interval leaves it open: these seeds cannot tell"
	}
	row.Note = joinNotes(c.String(), row.Note)
	return row
}

// String prints what the verdict does not show.
func (c calibration) String() string {
	rank := "no rank correlation: the predictions are all alike"
	if !math.IsNaN(c.rank) {
		rank = fmt.Sprintf("rank correlation %.2f", c.rank)
	}
	return fmt.Sprintf("measured over predicted %.3f [%.3f, %.3f], geometric mean of %d cases; %s; %d of %d 95 %% intervals hold the prediction",
		math.Exp(c.mean.value), math.Exp(c.mean.low), math.Exp(c.mean.high), c.cases, rank, c.cover, c.cases)
}
