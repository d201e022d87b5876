package plots

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A panel is a plot with what stands around it.
type panel struct {
	plot  *plot.Plot
	x, y  axis
	title struct{ x, y string } // of the axes, with scripts
	ends  []end                 // direct labels, right of the data
	exits []exit                // labels of curves that leave through the top
	key   []sample              // above the plot
	rows  []row                 // labels left of the data, in place of y ticks
	pitch vg.Length             // least distance of rows
	tall  vg.Length             // natural height at one column
	share vg.Length             // of the width, where panels stand side by side
}

// An end is a direct label at the last point of a curve.
type end struct {
	text string
	x, y float64 // the point
	ink  ink
	bead draw.GlyphDrawer // the mark of the curve, before the label; nil for none
}

// indent is the room of the bead.
func (e end) indent() vg.Length {
	if e.bead == nil {
		return 0
	}
	return keyDot
}

// An exit labels a curve above the place where it leaves the plot.
type exit struct {
	text string
	line []Point
	ink  ink
}

// A sample is an entry of a key.
type sample struct {
	text string
	room vg.Length // the width that draw fills
	draw func(c draw.Canvas, box vg.Rectangle)
}

// A row is a label on the left at height y; a head stands alone and is bold.
type row struct {
	text string
	y    float64
	head bool
}

// A fitted panel is one whose words have been broken to its width.
type fitted struct {
	*panel
	names    [][]string // of ends
	nameCol  vg.Length  // the column that they take
	rowLines [][]string
	rowCol   vg.Length
	keyRows  [][]sample
}

const (
	nameGap  = vg.Length(8)   // between the data and the direct labels
	nameSkip = vg.Length(1.5) // between direct labels
	titleGap = vg.Length(3)   // between numbers and title of an axis
	axisRoom = vg.Length(34)  // what numbers and title of an axis take, about
)

// fit breaks the words of the panel for a width that includes margins.
func (p *panel) fit(width vg.Length) fitted {
	width -= 2 * margin
	f := fitted{panel: p}
	for _, e := range p.ends {
		lines := labelRuler(sans(nameSize)).wrap(e.text, 0.34*width-e.indent(), 3)
		f.names = append(f.names, lines)
		for _, s := range lines {
			f.nameCol = max(f.nameCol, textWidth(sans(nameSize), s)+e.indent()+nameGap)
		}
	}
	for _, r := range p.rows {
		lines := labelRuler(rowFont(r)).wrap(r.text, 0.42*width, 3)
		f.rowLines = append(f.rowLines, lines)
		for _, s := range lines {
			f.rowCol = max(f.rowCol, textWidth(rowFont(r), s)+nameGap)
		}
	}
	f.keyRows = fillKey(p.key, width)
	return f
}

func rowFont(r row) font.Font {
	if r.head {
		return bold(nameSize)
	}
	return sans(nameSize)
}

// minHeight is the height that the labels need.
func (f fitted) minHeight() vg.Length {
	var names, rows vg.Length
	for _, lines := range f.names {
		names += blockHeight(sans(nameSize), len(lines)) + nameSkip
	}
	tallest := 0
	for _, lines := range f.rowLines {
		tallest = max(tallest, len(lines))
	}
	if n := len(f.rows); n > 0 {
		rows = vg.Length(n)*max(blockHeight(sans(nameSize), tallest)+4, f.pitch) + 4
	}
	return max(names, rows) + axisRoom + f.head() + 2*margin
}

// head is the height above the data: the key and the labels of exits.
func (f fitted) head() vg.Length {
	h := vg.Length(len(f.keyRows)) * keyRow
	if len(f.exits) > 0 {
		h += nameSize * leading
	}
	if h == 0 {
		return tickSize / 2 // the uppermost number reaches above the axis
	}
	return h + 3
}

// draw draws the panel over c. The titles of the axes are not left to gonum,
// which misplaces them on logarithmic axes.
func (p *panel) draw(c draw.Canvas) {
	f := p.fit(c.Max.X - c.Min.X + 2*margin)
	yTitle := titleRuler().wrap(p.title.y, c.Size().Y, 2)
	left := titleRoom(yTitle) // where a long title of y ends in the corner
	xTitle := titleRuler().wrap(p.title.x, c.Size().X-left, 2)
	below := titleRoom(xTitle)
	area := draw.Crop(c, f.rowCol+left, -f.nameCol, below, -f.head())
	pl := *p.plot
	pl.X.Label.Text, pl.Y.Label.Text = "", ""
	f.dress(&pl, area.Size())
	f.dress(&pl, pl.DataCanvas(area).Size()) // now that the numbers have a width
	pl.Draw(area)
	data := pl.DataCanvas(area)
	drawTitle(c, xTitle, vg.Point{
		X: inside(data.Center().X, titleWidth(xTitle), c.Min.X+left, c.Max.X),
		Y: c.Min.Y + blockHeight(sans(titleSize), len(xTitle))/2,
	}, false)
	drawTitle(c, yTitle, vg.Point{
		X: c.Min.X + f.rowCol + blockHeight(sans(titleSize), len(yTitle))/2,
		Y: inside(data.Center().Y, titleWidth(yTitle), c.Min.Y, c.Max.Y),
	}, true)
	f.drawRows(data, &pl)
	f.drawEnds(data, &pl)
	f.drawExits(c, data, &pl)
	drawKey(c, f.keyRows, data.Min.X)
}

// titleRoom is what the lines of a title take beside their axis.
func titleRoom(lines []string) vg.Length {
	if len(lines) == 1 && lines[0] == "" {
		return 0
	}
	return blockHeight(sans(titleSize), len(lines)) + titleGap
}

func titleWidth(lines []string) vg.Length {
	var w vg.Length
	for _, s := range lines {
		w = max(w, titleRuler().width(s))
	}
	return w
}

// inside moves the centre of something so wide into [lo, hi].
func inside(centre, width, lo, hi vg.Length) vg.Length {
	return max(min(centre, hi-width/2), lo+width/2)
}

// dress gives the plot its ticks, as many as have room.
func (f fitted) dress(pl *plot.Plot, size vg.Point) {
	pl.X.Tick.Marker = plot.TickerFunc(func(min, max float64) []plot.Tick {
		for n := 10; n > 2; n-- {
			if ticks := f.x.ticks(min, max, n); !crowded(ticks, size.X) {
				return ticks
			}
		}
		return thinned(f.x.ticks(min, max, 2), size.X)
	})
	rows := min(max(int(size.Y/(2.8*tickSize)), 2), 8)
	pl.Y.Tick.Marker = plot.TickerFunc(func(min, max float64) []plot.Tick { return f.y.ticks(min, max, rows) })
}

// crowded reports whether the labels of ticks do not fit into a width.
func crowded(ticks []plot.Tick, width vg.Length) bool {
	var widest, n vg.Length
	for _, t := range ticks {
		if t.Label != "" {
			n++
			widest = max(widest, textWidth(sans(tickSize), t.Label))
		}
	}
	return n*(widest+tickSize) > width+tickSize
}

// thinned takes away every second label until the others fit.
func thinned(ticks []plot.Tick, width vg.Length) []plot.Tick {
	ticks = slices.Clone(ticks)
	for crowded(ticks, width) {
		left := 0
		for i := range ticks {
			if ticks[i].Label == "" {
				continue
			}
			if left++; left%2 == 0 {
				ticks[i].Label = ""
			}
		}
		if left < 2 {
			break
		}
	}
	return ticks
}

// drawEnds writes the direct labels beside the ends of their curves, moved
// apart where they would overlap, and joins those that moved to their ends.
func (f fitted) drawEnds(c draw.Canvas, pl *plot.Plot) {
	order := make([]int, len(f.ends))
	for i := range order {
		order[i] = i
	}
	x, y := pl.Transforms(&c)
	at := func(i int) vg.Length { return min(max(y(f.ends[i].y), c.Min.Y), c.Max.Y) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	want, heights := make([]vg.Length, len(order)), make([]vg.Length, len(order))
	for k, i := range order {
		want[k] = at(i)
		heights[k] = blockHeight(sans(nameSize), len(f.names[i])) + nameSkip
	}
	for k, centre := range spread(want, heights, c.Min.Y-nameSize/2, c.Max.Y+nameSize/2) {
		e := f.ends[order[k]]
		from := vg.Point{X: x(e.x) + dotRadius + 0.5, Y: want[k]}
		to := vg.Point{X: c.Max.X + nameGap - 1, Y: centre}
		if abs(centre-want[k]) > 0.35*nameSize || c.Max.X-from.X > 2*nameGap {
			c.StrokeLine2(draw.LineStyle{Color: tint(e.ink.mark, 0.55), Width: hairWidth}, from.X, from.Y, to.X, to.Y)
		}
		if e.bead != nil {
			mark{color: e.ink.mark, shape: e.bead}.dot(c, vg.Point{X: c.Max.X + nameGap + keyDot/2, Y: centre})
		}
		drawBlock(c, sans(nameSize), e.ink.word, c.Max.X+nameGap+e.indent(), centre, 0, f.names[order[k]])
	}
}

// drawRows writes the labels left of the data.
func (f fitted) drawRows(c draw.Canvas, pl *plot.Plot) {
	_, y := pl.Transforms(&c)
	for i, r := range f.rows {
		drawBlock(c, rowFont(r), black, c.Min.X-nameGap, y(r.y), 1, f.rowLines[i])
	}
}

// drawExits labels curves above the place where they leave the data.
func (f fitted) drawExits(page, c draw.Canvas, pl *plot.Plot) {
	x, y := pl.Transforms(&c)
	for _, e := range f.exits {
		line := make([]vg.Point, len(e.line))
		for i, p := range e.line {
			line[i] = vg.Point{X: x(p.X), Y: y(p.Y)}
		}
		seen := c.ClipLinesXY(line)
		if len(seen) == 0 {
			continue
		}
		last := seen[len(seen)-1]
		s := labelRuler(sans(nameSize)).elide(e.text, page.Max.X-page.Min.X)
		at := inside(last[len(last)-1].X, textWidth(sans(nameSize), s), page.Min.X, page.Max.X)
		drawBlock(c, sans(nameSize), e.ink.word, at, c.Max.Y+0.65*nameSize, 0.5, []string{s})
	}
}

func abs(v vg.Length) vg.Length { return vg.Length(math.Abs(float64(v))) }

// setPlot gives the panel an empty plot in the house style with its titles and
// ranges; the axes are logarithmic as p.x and p.y say.
func (p *panel) setPlot(xTitle, yTitle string, x, y span) {
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = x.min, x.max, y.min, y.max
	p.title.x, p.title.y = xTitle, yTitle
	pl.X.Label.Text, pl.Y.Label.Text = plainTitle(xTitle), plainTitle(yTitle)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.LineStyle = draw.LineStyle{Color: axisGrey, Width: hairWidth}
		a.Padding = 2
		a.Label.TextStyle.Font = sans(titleSize)
		a.Tick.Label.Font = sans(tickSize)
		a.Tick.LineStyle = draw.LineStyle{Color: axisGrey, Width: hairWidth}
		a.Tick.Length = tickLength
	}
	if p.x.log {
		pl.X.Scale = plot.LogScale{}
	}
	if p.y.log {
		pl.Y.Scale = plot.LogScale{}
	}
	// gonum centres the box of a font, not its figures.
	pl.Y.Tick.Label.YAlign = text.YAlignment(-0.588)
	p.plot = pl
}
