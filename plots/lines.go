package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A chart is a figure of curves and sampled points, family by family.
type chart struct {
	what     string // for errors
	title    string
	xTitle   string
	yTitle   string
	families []Family
	cap      []Point
	capName  string
	x, y     axis
	include  []float64 // y values that must be in range
	xRange   span      // of the axis; empty: that of the data
}

// A trace is the cleaned points of one family and kind.
type trace struct {
	family int
	kind   kind
	runs   [][]Point
	zeros  []Point // not on the logarithmic axis
}

// last returns the last point, on the axis where there is one.
func (t trace) last() Point {
	if len(t.runs) == 0 {
		return t.zeros[len(t.zeros)-1]
	}
	run := t.runs[len(t.runs)-1]
	return run[len(run)-1]
}

// figure draws the chart.
func (ch chart) figure() (Figure, error) {
	f := Figure{title: ch.title}
	if len(ch.families) > maxSeries {
		return Figure{}, fmt.Errorf("plots: %s: %d series, want [1, %d]", ch.what, len(ch.families), maxSeries)
	}
	traces, names := ch.traces(&f.notes)
	if len(traces) == 0 {
		return Figure{}, fmt.Errorf("plots: %s: no finite point to draw", ch.what)
	}
	xs, ys := ch.spans(traces)
	caps := f.notes.runs(ch.capName, ch.cap)
	above := false
	for _, run := range caps {
		for _, p := range run {
			above = above || p.Y > ys.max+0.3*(ys.max-ys.min)
		}
	}
	if !above {
		for _, run := range caps {
			for _, p := range run {
				ys = ys.with(p.Y)
			}
		}
	}
	p := &panel{x: ch.x, y: ch.y, tall: 2.35 * vg.Inch}
	if ch.y.log {
		ys = ys.paddedLog(0.06)
	} else {
		ys = ys.padded(0, 0.05)
	}
	if !ch.xRange.empty() {
		xs = ch.xRange
	} else {
		pad := 0.0
		if ch.x.integer {
			pad = 0.015 // points at the first and the last round stand aside
		}
		xs = xs.padded(pad, pad)
	}
	p.setPlot(f.notes.clean(ch.xTitle), f.notes.clean(ch.yTitle), xs, ys)
	p.plot.Add(grid{})
	ch.addCap(p, caps, ys)
	ch.addTraces(p, traces, names)
	f.panels = []*panel{p}
	return f, nil
}

// traces cleans the points and the labels.
func (ch chart) traces(n *notes) (ts []trace, names []string) {
	for i, fam := range ch.families {
		names = append(names, n.clean(fam.Label))
		for k := range kinds {
			k := kind(k)
			t := trace{family: i, kind: k, runs: n.runs(names[i]+", "+kinds[k].name, fam.of(k))}
			if ch.y.log {
				t.runs, t.zeros = positive(t.runs)
			}
			if len(t.zeros) > 0 {
				n.add("%s, %s: %d points are zero, drawn as ▽ at the foot of the logarithmic axis", names[i], kinds[k].name, len(t.zeros))
			}
			if len(t.runs)+len(t.zeros) > 0 {
				ts = append(ts, t)
			}
		}
	}
	return ts, names
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

func (ch chart) spans(ts []trace) (x, y span) {
	x, y = emptySpan(), emptySpan()
	for _, t := range ts {
		for _, p := range t.zeros {
			x = x.with(p.X)
		}
		for _, run := range t.runs {
			for _, p := range run {
				x, y = x.with(p.X), y.with(p.Y)
				if p.hasInterval() {
					y = y.with(p.High)
					if !ch.y.log || p.Low > 0 {
						y = y.with(p.Low)
					}
				}
			}
		}
	}
	return x, y.with(ch.include...)
}

// addCap draws the cap as a thin grey line, labelled at its end or, where it
// leaves the plot, above it.
func (ch chart) addCap(p *panel, caps [][]Point, ys span) {
	for i, run := range caps {
		p.plot.Add(curve{run, draw.LineStyle{Color: boundGrey, Width: boundWidth}})
		if i != len(caps)-1 {
			continue
		}
		if last := run[len(run)-1]; last.Y > ys.max {
			p.exits = append(p.exits, exit{ch.capName, run, boundInk})
		} else {
			p.ends = append(p.ends, end{ch.capName, last.X, last.Y, boundInk})
		}
	}
}

// addTraces draws bands first, then curves, then points. With one family the
// kinds have the colours and the labels; with more, the families have them and
// a key tells the kinds.
func (ch chart) addTraces(p *panel, ts []trace, names []string) {
	single := len(ch.families) == 1
	curveKinds, used := 0, [len(kinds)]bool{}
	for _, t := range ts {
		if !used[t.kind] && t.kind != monteCarlo {
			curveKinds++
		}
		used[t.kind] = true
	}
	series := func(t trace) int {
		if single {
			return int(t.kind)
		}
		return t.family
	}
	style := func(k kind) draw.LineStyle {
		s := draw.LineStyle{Width: lineWidth}
		if curveKinds > 1 {
			s.Dashes = kinds[k].dashes
		}
		return s
	}
	for _, t := range ts {
		for _, run := range t.runs {
			if t.kind != monteCarlo {
				p.plot.Add(band{run, tint(inkOf(series(t)).mark, 0.2)})
			}
		}
	}
	for _, t := range ts {
		for _, run := range t.runs {
			if t.kind != monteCarlo {
				s := style(t.kind)
				s.Color = inkOf(series(t)).mark
				p.plot.Add(curve{run, s})
			}
		}
	}
	for _, t := range ts {
		for _, run := range t.runs {
			if t.kind == monteCarlo {
				p.plot.Add(dots{
					points: run,
					mark:   mark{color: inkOf(series(t)).mark, shape: shapeOf(series(t))},
					shift:  aside(t.family, len(ch.families)),
				})
			}
		}
	}
	for _, t := range ts {
		p.plot.Add(zeros{t.zeros, inkOf(series(t)).mark, aside(t.family, len(ch.families))})
	}
	ch.label(p, ts, names, single, series)
	if single {
		return
	}
	for k, on := range used {
		switch {
		case !on || curveKinds+btoi(used[monteCarlo]) < 2:
		case kind(k) == monteCarlo:
			p.key = append(p.key, dotSample(kinds[k].name, mark{color: axisGrey, shape: draw.CircleGlyph{}}, vg.Point{Y: 4}))
		default:
			s := style(kind(k))
			s.Color = axisGrey
			p.key = append(p.key, lineSample(kinds[k].name, s))
		}
	}
}

// aside parts the points that families have at the same x.
func aside(i, n int) vg.Length {
	step := min(2.2, 9/vg.Length(n))
	return step * (vg.Length(i) - vg.Length(n-1)/2)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// label names each family, or each kind of the only family, at its right end.
func (ch chart) label(p *panel, ts []trace, names []string, single bool, series func(trace) int) {
	done := map[int]bool{}
	for _, t := range ts {
		if done[series(t)] {
			continue
		}
		done[series(t)] = true
		name := names[t.family]
		if single {
			name = kinds[t.kind].name
		}
		if name == "" {
			continue
		}
		last := t.last()
		p.ends = append(p.ends, end{name, last.X, last.Y, inkOf(series(t))})
	}
}
