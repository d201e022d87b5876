package verify

import (
	"math"

	"vigorlab/sim"
	"vigorlab/theory"
)

// The figures of the ladder: Curve.Figure.
const (
	FigureGradient   = "gradient-norm" // X M sigma, Y ||grad L||, both in units of M
	FigureSpeedup    = "speedup"       // X rounds T, Y eta^(1/3)
	FigureEtaShape   = "eta-shape"     // X Pareto shape, Y eta
	FigureAllocation = "allocation"    // X the middle of a bin of p, Y the bin's mean rollouts
	FigureSizes      = "group-sizes"   // X size, Y share of groups
	FigureScreening  = "screening"     // X round of the cut, Y probability
	FigureSlopes     = "local-slopes"  // X start p0, Y local exponent of the time to a target in u0
	FigureBounds     = "time-bounds"   // X gain g, Y median of t_g over its lower bound
	FigureReplay     = "replay"        // X 0, Y eta: one point a table and strategy
	FigureExcess     = "excess"        // X rollouts of a batch, Y excess of MC-UCB's variance over the least
	FigureArc        = "arc-variance"  // X success probability, Y variance of the estimate of the arc over 1/(4n+2)
	FigureObjective  = "objective"     // X success probability, Y the update's weight of it over that of equal groups
)

// point returns a figure with its 95 % interval.
func point(x float64, e sim.Estimate) Point {
	low, high := e.Interval95()
	return Point{X: x, Y: e.Mean, Low: low, High: high}
}

// outcomeCurves draws who gets the rollouts, the sizes and the screening
// errors of one simulated strategy.
func outcomeCurves(name string, o *sim.Outcome) []Curve {
	allocation := Curve{Figure: FigureAllocation, Family: name, Kind: MonteCarlo}
	for _, b := range o.Allocation {
		if b.Rollouts.Reason == "" {
			allocation.Points = append(allocation.Points, point(middle(b), b.Rollouts))
		}
	}
	sizes := Curve{Figure: FigureSizes, Family: name, Kind: MonteCarlo}
	for _, s := range o.GroupSizes {
		sizes.Points = append(sizes.Points, point(float64(s.Size), s.Share))
	}
	return append([]Curve{allocation, sizes}, screeningCurves(o)...)
}

func middle(b sim.AllocationBin) float64 { return (b.Low + b.High) / 2 }

// The families of the screening figure.
const (
	falseOmission           = "false omission"
	falseNegative           = "false negative"
	falseNegativeCumulative = "false negative, cumulative"
)

func screeningCurves(o *sim.Outcome) []Curve {
	curves := []Curve{
		{Figure: FigureScreening, Family: falseOmission, Kind: MonteCarlo},
		{Figure: FigureScreening, Family: falseNegative, Kind: MonteCarlo},
		{Figure: FigureScreening, Family: falseNegativeCumulative, Kind: MonteCarlo},
	}
	for _, s := range o.Screening {
		for k, f := range s.Named() {
			if f.Estimate.Reason == "" {
				curves[k].Points = append(curves[k].Points, point(float64(s.Round), *f.Estimate))
			}
		}
	}
	return curves
}

// meanFieldCurves draws the exact limits of allocation, averaged over the
// simulation's bins, and of screening.
func meanFieldCurves(name string, m *theory.MeanField, bins []sim.AllocationBin) []Curve {
	curves := []Curve{
		{Figure: FigureAllocation, Family: name, Kind: MeanField, Points: binned(m, bins)},
		{Figure: FigureScreening, Family: falseOmission, Kind: MeanField},
		{Figure: FigureScreening, Family: falseNegative, Kind: MeanField},
		{Figure: FigureScreening, Family: falseNegativeCumulative, Kind: MeanField},
	}
	for _, s := range m.Screening {
		for k, y := range []float64{s.FalseOmission, s.FalseNegative, s.FalseNegativeCumulative} {
			if !math.IsNaN(y) { // the condition has a probability
				curves[k+1].Points = append(curves[k+1].Points, Point{X: float64(s.Round), Y: y})
			}
		}
	}
	return curves
}

// binned averages the mean rollouts over the law's nodes in each bin: neither
// they nor the density are straight inside a bin, and only means over the same
// prompts compare.
func binned(m *theory.MeanField, bins []sim.AllocationBin) []Point {
	var points []Point
	for _, b := range bins {
		weight, rollouts := 0.0, 0.0
		for _, n := range m.Allocation {
			if n.P >= b.Low && (n.P < b.High || b.High == 1) {
				weight += n.W
				rollouts += n.W * n.Rollouts
			}
		}
		if weight > 0 {
			points = append(points, Point{X: middle(b), Y: rollouts / weight})
		}
	}
	return points
}
