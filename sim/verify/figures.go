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
	FigureAllocation = "allocation"    // X p, Y mean rollouts
	FigureSizes      = "group-sizes"   // X size, Y share of groups
	FigureScreening  = "screening"     // X round of the cut, Y probability
	FigureReplay     = "replay"        // X 0, Y eta: one point a table and strategy
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
			allocation.Points = append(allocation.Points, point((b.Low+b.High)/2, b.Rollouts))
		}
	}
	sizes := Curve{Figure: FigureSizes, Family: name, Kind: MonteCarlo}
	for _, s := range o.GroupSizes {
		sizes.Points = append(sizes.Points, point(float64(s.Size), s.Share))
	}
	return append([]Curve{allocation, sizes}, screeningCurves(o)...)
}

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

// meanFieldCurves draws the exact limits of allocation and screening.
func meanFieldCurves(name string, m *theory.MeanField) []Curve {
	allocation := Curve{Figure: FigureAllocation, Family: name, Kind: MeanField}
	const points = 200 // of the curve, of some 2,000 nodes
	step := max(1, len(m.Allocation)/points)
	for i := 0; i < len(m.Allocation); i += step {
		n := m.Allocation[i]
		allocation.Points = append(allocation.Points, Point{X: n.P, Y: n.Rollouts})
	}
	curves := []Curve{
		allocation,
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
