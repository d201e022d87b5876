package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ComparisonData is one figure of several strategies, each said by one or more
// parties, such as a prediction and a replay.
type ComparisonData struct {
	Figure    string   // what the numbers are, with symbol and unit: the title of the axis
	Parties   []string // the names of the values of a row
	Rows      []ComparisonRow
	Reference float64 // a line across all rows; NaN for none
}

// A ComparisonRow holds one strategy's values, one a party; a missing value is
// NaN. Rows of a group stand together under its name.
type ComparisonRow struct {
	Group, Label string
	Values       []Value
}

// maxRows is the number of rows that fit on a page.
const maxRows = 60

// partyStep parts the dots of a row.
const partyStep = 4.6

// Comparison draws dots with intervals, a row a strategy.
func Comparison(d ComparisonData) (Figure, error) {
	f := Figure{title: "Comparison of strategies"}
	if len(d.Rows) > maxRows {
		return Figure{}, fmt.Errorf("plots: comparison: %d rows, want [1, %d]", len(d.Rows), maxRows)
	}
	p := &panel{y: axis{bare: true}, tall: 1.2 * vg.Inch, pitch: partyStep * vg.Length(len(d.Parties)+1)}
	x := emptySpan()
	if !math.IsNaN(d.Reference) {
		x = x.with(d.Reference)
	}
	points := make([][]Point, len(d.Parties))
	any := false
	y, group := 0.0, ""
	for _, r := range d.Rows {
		if g := f.notes.clean(r.Group); g != group {
			p.rows = append(p.rows, row{text: g, y: y, head: true})
			group = g
			y--
		}
		name := f.notes.clean(r.Label)
		p.rows = append(p.rows, row{text: name, y: y})
		if len(r.Values) > len(d.Parties) {
			return Figure{}, fmt.Errorf("plots: comparison: row %q has %d values, want at most %d, one a party", name, len(r.Values), len(d.Parties))
		}
		for k, v := range r.Values {
			if math.IsNaN(v.Value) {
				continue
			}
			for _, run := range f.notes.runs(name, []Point{{y, v.Value, v.Low, v.High}}) {
				points[k] = append(points[k], run...)
				any = true
				x = x.with(run[0].Y, run[0].Low, run[0].High)
			}
		}
		y--
	}
	if !any {
		return Figure{}, fmt.Errorf("plots: comparison: no finite value to draw")
	}
	p.setPlot(f.notes.clean(d.Figure), "", x.padded(0.04, 0.04), span{y + 0.4, 0.6})
	p.plot.Y.Width = 0
	p.plot.Add(rules{p.rows})
	if !math.IsNaN(d.Reference) {
		p.plot.Add(upright{d.Reference})
	}
	for k, ps := range points {
		m := mark{color: inkOf(k).mark, shape: shapeOf(k), hollow: k > 0}
		shift := partyStep * (float64(len(points)-1)/2 - float64(k))
		var arm vg.Point
		if slices.ContainsFunc(ps, Point.hasInterval) {
			arm.X = 5
		}
		p.plot.Add(lyingDots{ps, m, vg.Length(shift)})
		p.key = append(p.key, dotSample(f.notes.clean(d.Parties[k]), m, arm))
	}
	f.panels = []*panel{p}
	return f, nil
}

// rules are faint lines that lead from a label to its dots.
type rules struct{ rows []row }

func (r rules) Plot(c draw.Canvas, p *plot.Plot) {
	for _, row := range r.rows {
		if !row.head {
			y := c.Y(p.Y.Norm(row.y))
			c.StrokeLine2(draw.LineStyle{Color: gridGrey, Width: hairWidth}, c.Min.X, y, c.Max.X, y)
		}
	}
}

// upright is a vertical reference line.
type upright struct{ x float64 }

func (u upright) Plot(c draw.Canvas, p *plot.Plot) {
	x := c.X(p.X.Norm(u.x))
	c.StrokeLine2(draw.LineStyle{Color: boundGrey, Width: boundWidth}, x, c.Min.Y, x, c.Max.Y)
}

// lyingDots is points whose X is the row and whose interval lies along the axis;
// shift lifts them from the middle of the row.
type lyingDots struct {
	points []Point
	mark   mark
	shift  vg.Length
}

func (s lyingDots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range s.points {
		at := y(pt.X) + s.shift
		s.mark.rim(c, vg.Point{X: x(pt.Y), Y: at})
		if pt.hasInterval() {
			s.mark.interval(c, vg.Point{X: x(pt.Y), Y: at}, vg.Point{X: x(pt.Low), Y: at}, vg.Point{X: x(pt.High), Y: at}, false)
		}
		s.mark.dot(c, vg.Point{X: x(pt.Y), Y: at})
	}
}
