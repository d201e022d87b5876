package plan

import (
	"context"
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim"
)

// TestBatchesMeetTheField holds the simulated gains to the mean field's: within
// 5.2 standard errors, a false alarm rate below 1e-6 over the 18 cases, and the
// half a percent that 1024 prompts may leave of the limit. Standard errors are
// below half a percent, so that an error of 6 % is missed as rarely; counting
// prompts where rollouts count, or the other way, is one of 30 %.
func TestBatchesMeetTheField(t *testing.T) {
	law := must(distributions.NewBeta(0.3, 0.7))
	for _, aggregate := range []string{sim.AggregateRollout, sim.AggregatePrompt} {
		for _, objective := range []string{Signal, Progress, Effective} {
			o := quick()
			o.Batch, o.Replicates, o.Aggregate, o.Objective = 1024, 60, aggregate, objective
			f := newField(law, nil, searchNodes, false)
			var rows []Row
			for _, spec := range []string{"vigor", "vigor:m0=4,rounds=2,alpha=1/4,gamma=4", "vigor:m0=3,rounds=3,alpha=2/9,gamma=4"} {
				rows = append(rows, must(f.row(candidate{plan: planOf(t, spec), budget: o.Group}, o)))
			}
			must(simulate(context.Background(), law, nil, rows, o))
			for _, row := range rows {
				got := row.Finite
				if tol := 5.2*got.SE + 0.005*row.Gain; !(got.SE < 0.01 && math.Abs(got.Gain-row.Gain) <= tol) {
					t.Errorf("%s, %s-mean, %s: %.4f ± %.4f, the field has %.4f", objective, aggregate, row.Strategy, got.Gain, got.SE, row.Gain)
				}
			}
		}
	}
}

// TestJackknifeOfAMean: where the fixed groups are alike in every batch a gain
// is a mean, whose jackknife error is its standard error.
func TestJackknifeOfAMean(t *testing.T) {
	var batches [][]pair
	for _, x := range []float64{1, 2, 4, 9} {
		batches = append(batches, []pair{{}, {own: sums{batches: 1, w: 1, sigma: x}, fixed: sums{batches: 1, w: 1, sigma: 2}}})
	}
	// mean 4, variance (9+4+0+25)/3; both halved
	want := Finite{2, math.Sqrt(38./3/4) / 2}
	if got := jackknife(batches, 1, Signal); !(math.Abs(got.Gain-want.Gain) < 1e-14) || !(math.Abs(got.SE-want.SE) < 1e-14) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
