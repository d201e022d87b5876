package plots

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CalibrationData is ratios as measured beside those that predictors foretold.
type CalibrationData struct {
	Predicted, Measured string // what the ratios are: the titles of the axes
	Predictors          []Predictor
}

// A Predictor is what one predictor foretold.
type Predictor struct {
	Label string
	Cases []Point // X the predicted ratio, Y the measured one with its interval
}

// Calibration draws measured against predicted ratios on logarithmic axes of one
// range, a mark a predictor. On the diagonal a prediction is right; above it, it
// was too low.
func Calibration(d CalibrationData) (Figure, error) {
	return newFigure("Calibration of predictors", d.panels)
}

func (d CalibrationData) panels(s *Style, n *notes) ([]*panel, error) {
	if len(d.Predictors) > maxSeries {
		return nil, fmt.Errorf("plots: calibration: %d series, want [1, %d]", len(d.Predictors), maxSeries)
	}
	p := &panel{s: s, x: axis{log: true}, y: axis{log: true}, tall: 2.6 * vg.Inch}
	both, series := emptySpan(), make([]dots, len(d.Predictors))
	for i, q := range d.Predictors {
		name := n.clean(q.Label)
		series[i] = dots{mark: mark{s: s, color: s.inkOf(i).mark, shape: s.shapes[i%len(s.shapes)]}}
		for _, run := range n.runs(name, n.ratios(name, q.Cases)) {
			series[i].points = append(series[i].points, run...)
		}
		if len(series[i].points) > 0 {
			p.key = append(p.key, series[i].mark.sample(name, vg.Point{}))
		}
		for _, c := range series[i].points {
			both = both.with(c.X, c.Y, c.High)
			if c.Low > 0 {
				both = both.with(c.Low)
			}
		}
	}
	if both.empty() {
		return nil, fmt.Errorf("plots: calibration: no finite positive case to draw")
	}
	both = both.with(1).paddedLog(0.05)
	p.setPlot(n.clean(d.Predicted), n.clean(d.Measured), both, both)
	p.plot.Add(grid{s}, equality{s})
	for _, marks := range series {
		p.plot.Add(marks)
	}
	p.key = append(p.key, s.lineSample("measured = predicted", equality{s}.style()))
	return []*panel{p}, nil
}

// ratios leaves out what logarithmic axes cannot show.
func (n *notes) ratios(name string, cases []Point) []Point {
	var kept []Point
	for _, c := range cases {
		if !(c.X < tiny || c.Y < tiny) { // not finite ones are counted elsewhere
			kept = append(kept, c)
		}
	}
	if low := len(cases) - len(kept); low > 0 {
		n.add("%s: %d of %d cases dropped (not above 0)", name, low, len(cases))
	}
	return kept
}

// equality is the line y = x, as far as it is inside.
type equality struct{ s *Style }

func (e equality) style() draw.LineStyle { return pen(e.s.grey.bound.mark, e.s.bound) }

func (e equality) Plot(c draw.Canvas, p *plot.Plot) {
	if lo, hi := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max); lo < hi {
		curve{points: []Point{At(lo, lo), At(hi, hi)}, style: e.style()}.Plot(c, p)
	}
}
