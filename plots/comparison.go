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
	return newFigure("Comparison of strategies", d.panels)
}

func (d ComparisonData) panels(s *Style, n *notes) ([]*panel, error) {
	if len(d.Rows) > maxRows {
		return nil, fmt.Errorf("plots: comparison: %d rows, want [1, %d]", len(d.Rows), maxRows)
	}
	p := &panel{s: s, y: axis{bare: true}, tall: 1.2 * vg.Inch, pitch: s.pt(partyStep) * vg.Length(len(d.Parties)+1)}
	points, foot, err := p.addRows(d, n)
	if err != nil {
		return nil, err
	}
	x := emptySpan()
	for _, ps := range points {
		for _, q := range ps {
			x = x.with(q.Y, q.Low, q.High)
		}
	}
	if x.empty() {
		return nil, fmt.Errorf("plots: comparison: no finite value to draw")
	}
	x = x.with(d.Reference)
	p.setPlot(n.clean(d.Figure), "", x.padded(0.04, 0.04), span{foot + 0.4, 0.6})
	p.plot.Y.Width = 0
	p.plot.Add(rules{s, p.rows})
	if usable(d.Reference) {
		p.plot.Add(upright{s, d.Reference})
	}
	for k, ps := range points {
		p.addParty(n.clean(d.Parties[k]), ps, k, len(points))
	}
	return []*panel{p}, nil
}

// addRows gives the panel its rows and returns the points of each party, whose X
// is the row, and the height below the last row.
func (p *panel) addRows(d ComparisonData, n *notes) (points [][]Point, foot float64, err error) {
	points = make([][]Point, len(d.Parties))
	y, group := 0.0, ""
	for _, r := range d.Rows {
		if g := n.clean(r.Group); g != group {
			p.rows = append(p.rows, row{text: g, y: y, head: true})
			group = g
			y--
		}
		name := n.clean(r.Label)
		if len(r.Values) > len(d.Parties) {
			return nil, 0, fmt.Errorf("plots: comparison: row %q has %d values, want at most %d, one a party", name, len(r.Values), len(d.Parties))
		}
		p.rows = append(p.rows, row{text: name, y: y})
		for k, v := range r.Values {
			if math.IsNaN(v.Value) {
				continue // missing, and no fault
			}
			for _, run := range n.runs(name, []Point{{y, v.Value, v.Low, v.High}}) {
				points[k] = append(points[k], run...)
			}
		}
		y--
	}
	return points, y, nil
}

// addParty draws the points of party k of n and names it in the key.
func (p *panel) addParty(name string, points []Point, k, n int) {
	s := p.s
	m := mark{s: s, color: s.inkOf(k).mark, shape: s.shapeOf(k), hollow: k > 0}
	shift := partyStep * (float64(n-1)/2 - float64(k))
	p.plot.Add(lyingDots{points, m, s.pt(vg.Length(shift))})
	var arm vg.Point
	if slices.ContainsFunc(points, Point.hasInterval) {
		arm.X = s.pt(5)
	}
	p.key = append(p.key, m.sample(name, arm))
}

// rules are faint lines that lead from a label to its dots.
type rules struct {
	s    *Style
	rows []row
}

func (r rules) Plot(c draw.Canvas, p *plot.Plot) {
	for _, row := range r.rows {
		if !row.head {
			y := c.Y(p.Y.Norm(row.y))
			c.StrokeLine2(pen(r.s.grey.grid, r.s.hair), c.Min.X, y, c.Max.X, y)
		}
	}
}

// upright is a vertical reference line.
type upright struct {
	s *Style
	x float64
}

func (u upright) Plot(c draw.Canvas, p *plot.Plot) {
	x := c.X(p.X.Norm(u.x))
	c.StrokeLine2(pen(u.s.grey.bound.mark, u.s.bound), x, c.Min.Y, x, c.Max.Y)
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
