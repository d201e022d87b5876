package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LinesData is a figure of a sweep against one of its axes, in a panel, or in small
// multiples over further axes that share their scales.
type LinesData struct {
	X, Y       string // the axis and the figure: the titles of the axes
	LogX, LogY bool   // X <= 0 is then dropped, Y <= 0 drawn as triangles at the foot
	Number     string // what a point is, such as the mean over seeds
	Reference  float64
	Name       string // of the reference, a level across every panel; NaN for none
	Beside     int    // panels that belong side by side, where they have room; 0 for as many as have
	Apart      bool   // points of a line differ in more than X: between two of them there is nothing
	Panels     []LinesPanel
}

// A LinesPanel is the lines of one value of the further axes.
type LinesPanel struct {
	Head  string // which; empty where there is one panel
	Lines []SweepLine
}

// A SweepLine is one value of a second axis. A label has one colour in all panels.
type SweepLine struct {
	Label  string
	Points []Point // in the order of X
}

// maxMarks is the number of points of a line up to which they are marks with the bars of
// their intervals; more are a curve with a band.
const maxMarks = 16

// maxAside is the number of points of a line up to which those of several lines stand
// aside at one X, so that none hides another.
const maxAside = 8

// Lines draws a figure of a sweep line by line: with direct labels in one panel, with a
// key above small multiples.
func Lines(d LinesData) (Figure, error) {
	return newFigure("A sweep along an axis", d.panels)
}

func (d LinesData) panels(s *Style, n *notes) ([]*panel, error) {
	if k := len(d.Panels); k < 1 || k > MaxFacets {
		return nil, fmt.Errorf("plots: lines: %d panels, want [1, %d]", k, MaxFacets)
	}
	charts := d.charts()
	if len(charts) == 1 {
		p, err := charts[0].panel(s, n)
		if err == nil && len(charts[0].include) > 0 {
			p.addLevel(d.Reference, n.clean(d.Name))
		}
		return []*panel{p}, err
	}
	names := d.labels()
	if len(names) > maxSeries {
		return nil, fmt.Errorf("plots: lines: %d series, want [1, %d]", len(names), maxSeries)
	}
	p := &panel{s: s, x: charts[0].x, y: charts[0].y, beside: d.Beside, least: s.pt(62)}
	traces := make([][]trace, len(charts))
	var all []trace
	for i, ch := range charts {
		traces[i] = ch.traces(s, n)
		all = append(all, traces[i]...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("plots: lines: no finite point to draw")
	}
	x, y := charts[0].ranges(all, nil)
	x, y = d.widened(x, y)
	for i, q := range d.Panels {
		p.setPlot(n.clean(d.X), n.clean(d.Y), x, y)
		p.plot.Add(grid{s})
		if len(charts[0].include) > 0 {
			p.addLevel(d.Reference, "")
		}
		addTraces(p, traces[i])
		p.facets = append(p.facets, facet{n.clean(q.Head), p.plot})
	}
	p.ends = nil // the key names lines
	p.key = d.key(s, n)
	return []*panel{p}, nil
}

// charts returns a chart a panel; few points are marks, many a curve.
func (d LinesData) charts() []chart {
	inks, most := map[string]int{}, 0
	for i, name := range d.labels() {
		inks[name] = i
	}
	for _, q := range d.Panels {
		for _, l := range q.Lines {
			most = max(most, len(l.Points))
		}
	}
	var all []chart
	for _, q := range d.Panels {
		where := d.Y // of the points, in notes
		if q.Head != "" {
			where = q.Head
		}
		ch := chart{
			what: "lines", xTitle: d.X, yTitle: d.Y, x: axis{log: d.LogX, whole: d.whole()}, y: axis{log: d.LogY}, xRange: emptySpan(),
			apart: d.Apart, aside: most <= maxAside, inks: inks, kindNames: []string{closedForm: where, truncated: where, meanField: where, monteCarlo: where},
		}
		if usable(d.Reference) && !(d.LogY && d.Reference <= 0) {
			ch.include = []float64{d.Reference}
		}
		for _, l := range q.Lines {
			if most > maxMarks && !d.Apart {
				ch.families = append(ch.families, Family{Label: l.Label, ClosedForm: l.Points})
			} else {
				ch.families = append(ch.families, Family{Label: l.Label, MonteCarlo: l.Points})
			}
		}
		all = append(all, ch)
	}
	return all
}

// whole reports whether every X is a whole number, such as of rounds.
func (d LinesData) whole() bool {
	for _, q := range d.Panels {
		for _, l := range q.Lines {
			if !wholeX(l.Points) {
				return false
			}
		}
	}
	return true
}

// labels lists the labels of all panels, as they come.
func (d LinesData) labels() []string {
	var names []string
	seen := map[string]bool{}
	for _, q := range d.Panels {
		for _, l := range q.Lines {
			if !seen[l.Label] {
				seen[l.Label] = true
				names = append(names, l.Label)
			}
		}
	}
	return names
}

// widened returns ranges that leave marks at the rim of a small panel whole.
func (d LinesData) widened(x, y span) (wx, wy span) {
	const rim = 0.05
	if wx = x.padded(rim, rim); d.LogX {
		wx = x.paddedLog(rim)
	}
	if wy = y.padded(rim, 0); d.LogY {
		wy = y.paddedLog(0)
	}
	return wx, wy
}

// key shows the lines by their marks, and the reference.
func (d LinesData) key(s *Style, n *notes) []sample {
	var key []sample
	for i, name := range d.labels() {
		if name = n.clean(name); name != "" {
			m := mark{s: s, color: s.inkOf(i).mark, shape: s.shapeOf(i)}
			key = append(key, s.markedLine(name, m))
		}
	}
	if name := n.clean(d.Name); name != "" && usable(d.Reference) {
		key = append(key, s.lineSample(name, pen(s.grey.bound.mark, s.bound)))
	}
	return key
}

// markedLine shows a line with its mark.
func (s *Style) markedLine(text string, m mark) sample {
	return sample{text, s.pt(keyLine) + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		y := (box.Min.Y + box.Max.Y) / 2
		c.StrokeLine2(pen(m.color, s.interval), box.Min.X, y, box.Min.X+s.pt(keyLine), y)
		m.dot(c, vg.Point{X: box.Min.X + s.pt(keyLine)/2, Y: y})
	}}
}
