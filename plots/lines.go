package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A chart is a figure of curves and sampled points, family by family.
type chart struct {
	what     string // for errors
	title    string
	xTitle   string
	yTitle   string
	families []Family // their points in the order of X
	cap      []Point
	capName  string
	x, y     axis
	include  []float64 // y values that must be in range
	xRange   span      // of the axis; empty: that of the data

	inks      map[string]int // by label, see CurvesData
	kindNames []string       // of the first kinds, in place of kinds' own
	apart     bool           // no line leads from point to point
	aside     bool           // points of a number part, as on an axis of whole numbers
}

// kindName names a kind in keys and notes.
func (ch chart) kindName(k kind) string {
	if int(k) < len(ch.kindNames) {
		return ch.kindNames[k]
	}
	return kinds[k]
}

// A trace is the cleaned points of one family and kind, and their look.
type trace struct {
	s      *Style
	family int
	kind   kind
	runs   [][]Point
	zeros  []Point // not on the logarithmic axis

	series int            // whose ink and mark it has
	name   string         // its direct label
	line   draw.LineStyle // unless points stand alone
	apart  bool           // points that no line joins
	shift  vg.Length      // of points
}

// sampled reports whether the trace is points, not a curve.
func (t trace) sampled() bool { return t.kind == monteCarlo }

// bead returns the mark of a curve whose colour another has, else nil.
func (t trace) bead() draw.GlyphDrawer {
	if t.sampled() || t.series < len(t.s.inks) {
		return nil
	}
	return t.s.shapeOf(t.series)
}

// last returns the last point, on the axis where there is one.
func (t trace) last() Point {
	if len(t.runs) == 0 {
		return t.zeros[len(t.zeros)-1]
	}
	run := t.runs[len(t.runs)-1]
	return run[len(run)-1]
}

// figure draws the chart alone.
func (ch chart) figure() (Figure, error) {
	return newFigure(ch.title, func(s *Style, n *notes) ([]*panel, error) {
		p, err := ch.panel(s, n)
		return []*panel{p}, err
	})
}

// panel draws the chart as a panel of a figure.
func (ch chart) panel(s *Style, n *notes) (*panel, error) {
	if len(ch.families) > maxSeries {
		return nil, fmt.Errorf("plots: %s: %d series, want [1, %d]", ch.what, len(ch.families), maxSeries)
	}
	traces := ch.traces(s, n)
	if len(traces) == 0 {
		return nil, fmt.Errorf("plots: %s: no finite point to draw", ch.what)
	}
	caps := n.runs(ch.capName, ch.cap)
	x, y := ch.ranges(traces, caps)
	p := &panel{s: s, x: ch.x, y: ch.y, tall: 2.35 * vg.Inch}
	p.setPlot(n.clean(ch.xTitle), n.clean(ch.yTitle), x, y)
	p.plot.Add(grid{s})
	ch.addCap(p, caps, y)
	addTraces(p, traces)
	p.key = ch.key(s, traces, n)
	return p, nil
}

// traces cleans the points and the labels and gives each trace its look: with
// one family the kinds have the colours and the labels, with more the families.
func (ch chart) traces(s *Style, n *notes) []trace {
	var ts []trace
	for i, fam := range ch.families {
		name, series := n.clean(fam.Label), i
		if ink, given := ch.inks[fam.Label]; given && ink >= 0 {
			series = ink
		}
		for k := range kinds {
			t := trace{s: s, family: i, kind: kind(k), series: series, name: name}
			what := name
			if kindName := n.clean(ch.kindName(kind(k))); kindName != "" {
				what += ", " + kindName
			}
			t.runs = n.runs(what, ch.inRange(what, fam.of(kind(k)), n))
			if ch.y.log {
				t.runs, t.zeros = positive(t.runs)
			}
			if len(t.zeros) > 0 {
				n.add("%s: %d points are zero, drawn as hollow triangles at the foot of the logarithmic axis", what, len(t.zeros))
			}
			if len(t.runs)+len(t.zeros) > 0 {
				ts = append(ts, t)
			}
		}
	}
	dashed := countKinds(ts, trace.curve) > 1
	for i := range ts {
		t := &ts[i]
		if len(ch.families) == 1 && len(ts) > 1 {
			t.series, t.name = int(t.kind), n.clean(ch.kindName(t.kind))
		}
		if ch.x.integer || ch.aside {
			t.shift = s.pt(aside(t.family, len(ch.families)))
		}
		t.line, t.apart = pen(s.inkOf(t.series).mark, s.curve), ch.apart
		if dashed {
			t.line.Dashes = s.dashes[t.kind]
		}
	}
	return ts
}

func (t trace) curve() bool { return !t.sampled() }

// countKinds counts the kinds of the traces that are as asked.
func countKinds(ts []trace, as func(trace) bool) int {
	seen := map[kind]bool{}
	for _, t := range ts {
		if as(t) {
			seen[t.kind] = true
		}
	}
	return len(seen)
}

// inRange drops points that the axis of x cannot show: beside its fixed range, or
// not above 0 where it is logarithmic.
func (ch chart) inRange(what string, points []Point, n *notes) []Point {
	var in []Point
	if ch.x.log {
		for _, p := range points {
			if !(p.X < tiny) {
				in = append(in, p)
			}
		}
		if d := len(points) - len(in); d > 0 {
			n.add("%s: %d of %d points dropped (X not above 0)", what, d, len(points))
		}
		return in
	}
	if ch.xRange.empty() {
		return points
	}
	for _, p := range points {
		if !(p.X < ch.xRange.min || p.X > ch.xRange.max) {
			in = append(in, p)
		}
	}
	if d := len(points) - len(in); d > 0 {
		n.add("%s: %d of %d points dropped (outside [%g, %g])", what, d, len(points), ch.xRange.min, ch.xRange.max)
	}
	return in
}

// positive splits runs at points that a logarithmic axis cannot show.
func positive(runs [][]Point) (above [][]Point, zeros []Point) {
	for _, run := range runs {
		from := 0
		for i, p := range run {
			if p.Y > 0 {
				continue
			}
			zeros = append(zeros, p)
			if i > from {
				above = append(above, run[from:i])
			}
			from = i + 1
		}
		if from < len(run) {
			above = append(above, run[from:])
		}
	}
	return above, zeros
}

// ranges returns the ranges of the axes. A cap that would take much of the
// height stays out, as long as a part of it is seen.
func (ch chart) ranges(ts []trace, caps [][]Point) (x, y span) {
	x, y = emptySpan(), emptySpan().with(ch.include...)
	for _, t := range ts {
		for _, p := range t.zeros {
			x = x.with(p.X)
		}
		for _, run := range t.runs {
			for _, p := range run {
				x, y = x.with(p.X), y.with(p.Y, p.High)
				if !ch.y.log || settle(p.Low) > 0 { // as good as 0 is no end of a logarithmic axis
					y = y.with(p.Low)
				}
			}
		}
	}
	top := emptySpan()
	for _, run := range caps {
		for _, p := range run {
			x, top = x.with(p.X), top.with(p.Y)
		}
	}
	if !(top.min <= y.max && top.max > y.max+0.3*(y.max-y.min)) && !top.empty() {
		y = y.with(top.min, top.max)
	}
	switch {
	case ch.y.log:
		y = y.paddedLog(0.06)
	default:
		y = y.padded(0, 0.05)
	}
	switch {
	case !ch.xRange.empty():
		x = ch.xRange
	case ch.x.log:
		x = x.paddedLog(0)
	case ch.x.integer:
		x = x.padded(0.015, 0.015) // points of the first and last round stand aside
	default:
		x = x.padded(0, 0)
	}
	return x, y
}

// addCap draws the cap as a thin grey line, labelled at its end or, where it
// leaves the plot, above it.
func (ch chart) addCap(p *panel, caps [][]Point, y span) {
	s := p.s
	for i, run := range caps {
		p.plot.Add(curve{points: run, dot: s.dot, style: pen(s.grey.bound.mark, s.bound)})
		if i != len(caps)-1 {
			continue
		}
		if last := run[len(run)-1]; last.Y > y.max {
			p.exits = append(p.exits, exit{ch.capName, run, s.grey.bound})
		} else {
			p.ends = append(p.ends, end{text: ch.capName, x: last.X, y: last.Y, ink: s.grey.bound})
		}
	}
}

// addTraces draws bands first, then curves, then points, and labels the first
// trace of each series.
func addTraces(p *panel, ts []trace) {
	s := p.s
	curved, labelled := map[int]bool{}, map[int]bool{}
	for _, t := range ts {
		for _, run := range t.runs {
			if t.curve() {
				p.plot.Add(band{run, veil(s.inkOf(t.series).mark)})
			}
		}
		curved[t.family] = curved[t.family] || t.curve()
		if last := t.last(); !labelled[t.series] && t.name != "" {
			p.ends = append(p.ends, end{t.name, last.X, max(last.Y, p.plot.Y.Min), s.inkOf(t.series), t.bead()})
		}
		labelled[t.series] = true
	}
	for _, t := range ts {
		for _, run := range t.runs {
			switch {
			case t.curve():
				p.plot.Add(curve{points: run, style: t.line, dot: s.dot})
				if t.bead() != nil {
					p.plot.Add(beads{run, mark{s: s, color: s.inkOf(t.series).mark, shape: t.bead()}})
				}
			case !curved[t.family] && !t.apart: // points alone: guide the eye
				p.plot.Add(curve{run, pen(tint(s.inkOf(t.series).mark, 0.45), s.hair), s.dot, t.shift})
			}
		}
	}
	for _, t := range ts {
		for _, run := range t.runs {
			if t.sampled() {
				p.plot.Add(dots{run, mark{s: s, color: s.inkOf(t.series).mark, shape: s.shapeOf(t.series)}, t.shift})
			}
		}
		p.plot.Add(zeros{s, t.zeros, s.inkOf(t.series).mark, t.shift})
	}
}

// addLevel draws a thin grey line across the panel, labelled at its end.
func (p *panel) addLevel(y float64, name string) {
	x, s := p.plot.X, p.s
	p.plot.Add(curve{points: []Point{At(x.Min, y), At(x.Max, y)}, style: pen(s.grey.bound.mark, s.bound)})
	if name != "" {
		p.ends = append(p.ends, end{text: name, x: x.Max, y: y, ink: s.grey.bound})
	}
}

// key tells the kinds, or names the only family whose kinds have labels.
func (ch chart) key(s *Style, ts []trace, n *notes) []sample {
	if len(ch.families) == 1 {
		if name := n.clean(ch.families[0].Label); name != "" && len(ts) > 1 {
			return []sample{textSample(name)}
		}
		return nil
	}
	if countKinds(ts, func(trace) bool { return true }) < 2 {
		return nil
	}
	var key []sample
	for k := range kinds {
		for _, t := range ts {
			if t.kind != kind(k) {
				continue
			}
			if t.sampled() {
				key = append(key, mark{s: s, color: s.grey.axis, shape: draw.CircleGlyph{}}.sample(n.clean(ch.kindName(kind(k))), vg.Point{Y: s.pt(4)}))
			} else {
				t.line.Color = s.grey.axis
				key = append(key, s.lineSample(n.clean(ch.kindName(kind(k))), t.line))
			}
			break
		}
	}
	return key
}

// aside parts the points that families have in the same round. On a continuous
// axis points stay where they are.
func aside(i, n int) vg.Length {
	step := math.Min(2.2, 9/float64(n))
	return vg.Length(step * (float64(i) - float64(n-1)/2))
}
