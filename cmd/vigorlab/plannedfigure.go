package main

import (
	"vigorlab/plots"
	"vigorlab/sim/plan"
)

// planFigure returns the law behind the pilot, and beside it the front by
// seconds, or by rounds where seconds are unknown, with no change, the default
// and the best schedule; false where there is no pilot or no front.
func (p *planned) planFigure() (plots.PlanData, bool) {
	f := p.fronts()[0]
	if clocked := p.fronts()[1]; len(clocked.rows) > 0 {
		f = clocked
	}
	if p.Band == nil || len(f.rows) == 0 {
		return plots.PlanData{}, false
	}
	d := plots.PlanData{Rollouts: p.Band.N, Cost: f.axis, Gain: p.gainTitle()}
	for s := range p.Band.Law {
		d.Law = append(d.Law, drawn(float64(s), p.Band.Law[s]))
		d.Recorded = append(d.Recorded, drawn(float64(s), p.Band.Recorded[s]))
	}
	for _, row := range f.rows {
		d.Front = append(d.Front, plots.At(f.cost(row), row.Gain))
	}
	add := func(label string, point plots.Point) {
		d.Schedules = append(d.Schedules, plots.NamedPoint{Label: label, Point: point})
	}
	for _, row := range p.Table {
		switch row.Strategy {
		case p.Best.Strategy:
			add("best: "+shortSpec(row.Strategy), drawn(f.cost(row), p.Gain))
		case p.options.Default():
			add("default: "+shortSpec(row.Strategy), plots.At(f.cost(row), row.Gain))
		case p.options.NoChange():
			add("no change: "+shortSpec(row.Strategy), plots.At(f.cost(row), row.Gain))
		}
	}
	return d, true
}

// drawn returns an estimate with its interval as a point at x.
func drawn(x float64, i plan.Interval) plots.Point {
	return plots.Point{X: x, Y: i.Estimate, Low: i.Low, High: i.High}
}
