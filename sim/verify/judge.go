package verify

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim"
)

const (
	// familyLevel bounds the probability that an error-free ladder contradicts
	// itself anywhere: the level of Holm's correction over all Monte Carlo
	// comparisons.
	familyLevel = 1e-4
	// missLevel is the probability of missing a true difference of Row.Detects.
	missLevel = 0.01
	// exactTolerance is the relative difference of two exact computations that
	// rounding and quadrature explain.
	exactTolerance = 1e-9
	// closeBy is the largest relative difference for which a claim still
	// "holds within d".
	closeBy = 0.1
)

// judge gives every Monte Carlo comparison its verdict by Holm's step-down
// procedure. Its threshold lies near z = 5 standard errors, where the normal law
// is off by a factor of about exp(g z^3 / (6 sqrt(n))) for means over n replicates
// of skewness g (Cramér): 1.6 at g = 1 and n = 2,000, so that familyLevel holds
// to a factor of 2 or so. Events too rare to be seen once have their own error, sim's. The family is the whole ladder: comparisons that were not
// selected count as if they had agreed.
func judge(r *Report) {
	var rows []*Row
	for i := range r.Sections {
		for k := range r.Sections[i].Rows {
			if row := &r.Sections[i].Rows[k]; row.P != nil {
				rows = append(rows, row)
			}
		}
	}
	p := make([]float64, len(rows))
	for i, row := range rows {
		p[i] = *row.P
	}
	rejected := sim.Holm(p, r.Level, r.Family)
	for i, row := range rows {
		row.Verdict = Holds
		if rejected[i] {
			row.reject()
		}
		row.Test = fmt.Sprintf("%s, Holm over %d comparisons at family level %g", cmp.Or(row.Test, "two-sided z-test"), r.Family, r.Level)
		z := normalQuantile(1-r.Level/(2*float64(r.Family))) + normalQuantile(1-missLevel)
		row.Detects = number(row.Bias + z**row.SE)
	}
}

// reject gives a comparison that chance does not explain its verdict. A claim
// still holds within d where d, of what it claims, is small; a check of ours
// does not.
func (row *Row) reject() {
	row.Verdict = Fails
	if row.Kind != Claim || row.Interval == nil { // a distance has no d
		return
	}
	if d := math.Abs(*row.Estimate-*row.Reference) / math.Abs(*row.Reference); d <= closeBy {
		row.Verdict = HoldsWithin
		row.Note = joinNotes(fmt.Sprintf("off by d = %.2g, relative", d), row.Note)
	}
}

func normalQuantile(q float64) float64 { return distuv.UnitNormal.Quantile(q) }

func number(x float64) *float64 { return &x }

// compared fills row with a Monte Carlo estimate, standard error se, beside an
// exact reference. Its verdict is judge's: the difference must exceed row.Bias
// by more than noise explains.
func compared(row Row, estimate, se, reference float64) Row {
	row.Kind = Check
	row.Estimate, row.SE, row.Reference = number(estimate), number(se), number(reference)
	low, high := sim.Estimate{Mean: estimate, SE: se}.Interval95()
	row.Interval = &[2]float64{low, high}
	p := 1.0
	if excess := math.Abs(estimate-reference) - row.Bias; !(excess <= exactTolerance*math.Abs(reference)) {
		p = math.Erfc(excess / se / math.Sqrt2) // 0 for se = 0: certain to differ
	}
	if math.IsNaN(p) {
		p = 0 // what is no number agrees with nothing
	}
	row.P = number(p)
	return row
}

// simulated is compared for an engine's figure.
func simulated(row Row, e sim.Estimate, reference float64) Row {
	if e.Reason != "" {
		return missing(row, e.Reason)
	}
	return compared(row, e.Mean, e.SE, reference)
}

// missing fills row with a figure that the simulation does not have.
func missing(row Row, why string) Row {
	row.Kind, row.Verdict, row.Reason = Check, Untestable, "the simulation has no such figure: "+why
	row.Note = joinNotes(row.Reason, row.Note)
	return row
}

// extrapolated is compared for the limit of large batches of a figure that was
// simulated, apart, at B and at 2B. The figure at B is off by c/B and smaller
// terms; 2 f(2B) - f(B) is off by these alone (Richardson), which at
// B = fieldBatch are below the noise, and by row.Bias (cutBias).
func extrapolated(row Row, small, large sim.Estimate, limit float64) Row {
	if why := cmp.Or(small.Reason, large.Reason); why != "" {
		return missing(row, why)
	}
	return compared(row, 2*large.Mean-small.Mean, math.Hypot(2*large.SE, small.SE), limit)
}

// agreed fills row with two exact computations of one number.
func agreed(row Row, estimate, reference float64) Row {
	row.Kind = Check
	row.Estimate, row.Reference = number(estimate), number(reference)
	row.Test = fmt.Sprintf("two exact computations agree within %g, relative", exactTolerance)
	row.Verdict = Fails
	if math.Abs(estimate-reference) <= exactTolerance*math.Abs(reference) {
		row.Verdict = Holds
	}
	return row
}

// claimed fills row with what an exact computation makes of a published
// number: it holds, holds within a tenth, or fails.
func claimed(row Row, estimate, reference float64) Row {
	row.Kind = Claim
	row.Estimate, row.Reference = number(estimate), number(reference)
	row.Test = fmt.Sprintf("exact: holds within %g, holds within d up to d = %g, relative", exactTolerance, closeBy)
	d := math.Abs(estimate-reference) / math.Abs(reference)
	difference := fmt.Sprintf("the claimed %.4g is off by d = %.2g, relative", reference, d)
	switch {
	case d <= exactTolerance:
		row.Verdict = Holds
		return row
	case d <= closeBy:
		row.Verdict = HoldsWithin
	default:
		row.Verdict = Fails
	}
	row.Note = joinNotes(difference, row.Note)
	return row
}

// untestable returns the section of a claim that nothing was run for.
func untestable(id, claim, why string) *Section {
	return &Section{Rows: []Row{{ID: id, Kind: Claim, Claim: claim, Method: "none", Verdict: Untestable, Note: why, Reason: why}}}
}

// atMost is compared for a figure that is claimed to be at most a bound: only
// what it exceeds the bound by speaks against it.
func atMost(row Row, estimate, se, bound float64) Row {
	row = compared(row, estimate, se, bound)
	row.Test = "one-sided z-test"
	*row.P = 1
	if estimate > bound {
		*row.P = math.Erfc((estimate-bound)/se/math.Sqrt2) / 2
	}
	if math.IsNaN(*row.P) || math.IsNaN(estimate) {
		*row.P = 0
	}
	return row
}

// printed fills row with an exact figure beside a published one that has so many
// decimals.
func printed(row Row, estimate, reference float64, decimals int) Row {
	half := math.Pow(10, -float64(decimals)) / 2
	row.Kind = Claim
	row.Test = fmt.Sprintf("exact: to the %d decimals that are printed", decimals)
	return bounded(row, estimate, reference, math.Abs(estimate-reference) <= half*(1+exactTolerance))
}

// bounded fills row with a figure beside the bound of its claim, or the one
// that it must reach: holds says whether it keeps to it.
func bounded(row Row, worst, bound float64, holds bool) Row {
	row.Estimate, row.Reference = number(worst), number(bound)
	row.Verdict = Fails
	if holds {
		row.Verdict = Holds
	}
	return row
}

func joinNotes(notes ...string) string {
	text := ""
	for _, n := range notes {
		switch {
		case n == "":
		case text == "":
			text = n
		default:
			text += "; " + n
		}
	}
	return text
}
