package trial

import (
	"fmt"
	"math"
	"slices"

	"vigorlab/sim/train"
)

// DiagnosticSeries begins the name of a series of a system's figure, its mean over
// the steps of the interval that have it.
const DiagnosticSeries = "system_"

// The quantiles of the band of a curve over seeds.
const bandLow, bandHigh = 0.1, 0.9

// curve returns the training curve over the seeds of a report: at the steps of
// the coarsest of their curves, as far as all of them run. Figures of an interval
// speak of the steps since the one before.
func curve(records []Record) []CurveStep {
	interval, shortest, lengths := 1, math.MaxInt, false
	for i := range records {
		interval = max(interval, records[i].Interval) // powers of two
		lengths = lengths || records[i].End.Tokens > 0
	}
	bySeed := make([][]train.CurvePoint, len(records))
	for i := range records {
		bySeed[i] = thin(records[i].Curve, interval)
		shortest = min(shortest, len(bySeed[i]))
	}
	var steps []CurveStep
	for k := range shortest {
		points := make([]*train.CurvePoint, len(bySeed))
		for i := range bySeed {
			points[i] = &bySeed[i][k]
		}
		steps = append(steps, curveStep(k*interval, points, lengths))
	}
	return steps
}

// thin keeps the points at the multiples of the interval.
func thin(points []train.CurvePoint, interval int) []train.CurvePoint {
	var kept []train.CurvePoint
	var since train.CurvePoint
	for _, p := range points {
		p.Add(&since)
		if since = p; p.Step%interval == 0 {
			kept, since = append(kept, p), train.CurvePoint{}
		}
	}
	return kept
}

// curveStep returns every series that a seed has at a step.
func curveStep(step int, points []*train.CurvePoint, lengths bool) CurveStep {
	c := CurveStep{Step: step}
	add := func(name string, of func(*train.CurvePoint) float64) {
		var v []float64
		for _, p := range points {
			if x := of(p); !math.IsNaN(x) {
				v = append(v, x)
			}
		}
		if len(v) > 0 {
			c.Series = append(c.Series, series(name, v))
		}
	}
	add("success", func(p *train.CurvePoint) float64 { return p.Success })
	add("held_out", func(p *train.CurvePoint) float64 {
		if p.HeldOut == nil {
			return math.NaN()
		}
		return *p.HeldOut
	})
	add("rollouts", func(p *train.CurvePoint) float64 { return float64(p.Ledger.Generated) })
	if lengths {
		add("tokens", func(p *train.CurvePoint) float64 { return float64(p.Ledger.GeneratedTokens) })
	}
	add("cost", func(p *train.CurvePoint) float64 { return p.Cost })
	add("rounds", func(p *train.CurvePoint) float64 { return float64(p.Ledger.Rounds) })
	add("zero_variance_groups", func(p *train.CurvePoint) float64 { return float64(p.EqualGroups) / float64(p.Groups) })
	add("ineffective", func(p *train.CurvePoint) float64 { return float64(p.EqualRollouts) / float64(p.Rollouts) })
	add("curriculum", func(p *train.CurvePoint) float64 { return p.SumSuccess / float64(bought(p)) })
	for i := range train.PBins {
		add(fmt.Sprintf("rollouts_at_p_%d", i), func(p *train.CurvePoint) float64 { return float64(p.Asked[i]) / float64(bought(p)) })
	}
	add("starvation_mean", func(p *train.CurvePoint) float64 { return p.Starvation.Mean })
	add("starvation_q90", func(p *train.CurvePoint) float64 { return float64(p.Starvation.Q90) })
	add("starvation_max", func(p *train.CurvePoint) float64 { return float64(p.Starvation.Max) })
	add("never_trained", func(p *train.CurvePoint) float64 { return p.Starvation.Never })
	for i, d := range points[0].Diagnostics {
		add(DiagnosticSeries+d.Name, func(p *train.CurvePoint) float64 { return p.Diagnostics[i].Mean() })
	}
	return c
}

// bought returns the rollouts that the strategy asked for in the interval; a share
// of none is NaN.
func bought(p *train.CurvePoint) int {
	n := 0
	for _, k := range p.Asked {
		n += k
	}
	return n
}

// series sums up a figure over seeds.
func series(name string, v []float64) Series {
	slices.Sort(v)
	return Series{
		Name: name, Estimate: meanOf(v), Low: quantile(v, bandLow), High: quantile(v, bandHigh), Seeds: len(v),
	}
}
