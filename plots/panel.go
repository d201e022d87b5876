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
	s     *Style
	plot  *plot.Plot
	x, y  axis
	title struct{ x, y string } // of the axes, with scripts
	ends  []end                 // direct labels, right of the data
	exits []exit                // labels of curves that leave through the top
	key   []sample              // above the plot
	rows  []row                 // labels left of the data, in place of y ticks
	pitch vg.Length             // least distance of rows
	loose bool                  // rows, at y = 0, -1, -2 and so on, are each as tall as their own label
	tall  vg.Length             // natural height at one column
	share vg.Length             // of the width, where panels stand side by side

	facets []facet   // small multiples that stand in place of the plot
	beside int       // how many of them belong side by side; 0 for as many as have room
	least  vg.Length // the width that one needs
}

// An end is a direct label at the last point of a curve.
type end struct {
	text string
	x, y float64 // the point
	ink  ink
	bead draw.GlyphDrawer // the mark of the curve, before the label; nil for none
}

// indent is the room of the bead of an end.
func (s *Style) indent(e end) vg.Length {
	if e.bead == nil {
		return 0
	}
	return s.pt(keyDot)
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
	lattice  lattice // of the small multiples
}

const (
	margin     = vg.Length(2)   // around the page
	panelGap   = vg.Length(4)   // half the gap between panels
	nameGap    = vg.Length(8)   // between the data and the direct labels
	nameSkip   = vg.Length(1.5) // between direct labels
	titleGap   = vg.Length(3)   // between numbers and title of an axis
	axisRoom   = vg.Length(34)  // what numbers and title of an axis take, about
	tickLength = vg.Length(2.5)
)

// fit breaks the words of the panel for a width that includes margins.
func (p *panel) fit(width vg.Length) fitted {
	s := p.s
	width -= 2 * s.pt(margin)
	f := fitted{panel: p}
	for _, e := range p.ends {
		lines := s.labelRuler(sans(s.label)).wrap(e.text, 0.34*width-s.indent(e), 3)
		f.names = append(f.names, lines)
		for _, line := range lines {
			f.nameCol = max(f.nameCol, s.textWidth(sans(s.label), line)+s.indent(e)+s.pt(nameGap))
		}
	}
	for _, r := range p.rows {
		lines := s.labelRuler(s.rowFont(r)).wrap(r.text, 0.42*width, 3)
		f.rowLines = append(f.rowLines, lines)
		for _, line := range lines {
			f.rowCol = max(f.rowCol, s.textWidth(s.rowFont(r), line)+s.pt(nameGap))
		}
	}
	f.keyRows = s.fillKey(p.key, width)
	f.lattice = f.layOut(width)
	return f
}

func (s *Style) rowFont(r row) font.Font {
	if r.head {
		return bold(s.label)
	}
	return sans(s.label)
}

// minHeight is the height that the labels need.
func (f fitted) minHeight() vg.Length {
	s := f.s
	var names, rows vg.Length
	for _, lines := range f.names {
		names += blockHeight(sans(s.label), len(lines)) + s.pt(nameSkip)
	}
	for _, h := range f.rowHeights() {
		rows += h
	}
	if rows > 0 {
		rows += s.pt(4)
	}
	return max(names, f.lattice.height(rows)) + s.pt(axisRoom) + f.head() + 2*s.pt(margin)
}

// rowHeights returns the height that each row needs: that of its label, or that
// of the tallest where all are alike.
func (f fitted) rowHeights() []vg.Length {
	s := f.s
	heights := make([]vg.Length, len(f.rows))
	for i, lines := range f.rowLines {
		heights[i] = max(blockHeight(sans(s.label), len(lines))+s.pt(4), f.pitch)
	}
	if !f.loose && len(heights) > 0 {
		tallest := slices.Max(heights)
		for i := range heights {
			heights[i] = tallest
		}
	}
	return heights
}

// rowScale is an axis on which row i, at y = -i, is as tall as element i in
// proportion to the others.
type rowScale []vg.Length

// Normalize returns the height of y over that of all rows, 1 at the upper edge of
// the first.
func (h rowScale) Normalize(_, _, y float64) float64 {
	var above, total vg.Length
	for i, height := range h {
		total += height
		above += height * vg.Length(min(max(0.5-float64(i)-y, 0), 1))
	}
	return 1 - float64(above/total)
}

// head is the height above the data: the key and the labels of exits.
func (f fitted) head() vg.Length {
	s := f.s
	h := vg.Length(len(f.keyRows)) * s.pt(keyRow)
	if len(f.exits) > 0 {
		h += s.label * leading
	}
	if h == 0 {
		return s.tick / 2 // the uppermost number reaches above the axis
	}
	return h + s.pt(3)
}

// keyWidth is the width of the widest row of the key.
func (f fitted) keyWidth() vg.Length {
	var widest vg.Length
	for _, row := range f.keyRows {
		widest = max(widest, f.s.rowWidth(row))
	}
	return widest
}

// draw draws the panel over c. The titles of the axes are not left to gonum,
// which misplaces them on logarithmic axes.
func (p *panel) draw(c draw.Canvas) {
	s := p.s
	f := p.fit(c.Max.X - c.Min.X + 2*s.pt(margin))
	top := c.Max.Y // up to which the title of y may reach
	if f.keyWidth() > c.Size().X-s.titleRoom(make([]string, 2)) {
		top -= f.head()
	}
	yTitle := s.titleRuler().wrap(p.title.y, top-c.Min.Y, 2)
	left := s.titleRoom(yTitle) // where a long title of y ends in the corner
	xTitle := s.titleRuler().wrap(p.title.x, c.Size().X-left, 2)
	below := s.titleRoom(xTitle)
	area := draw.Crop(c, f.rowCol+left, -f.nameCol, below, -f.head())
	data := f.drawData(c, area)
	s.drawTitle(c, xTitle, vg.Point{
		X: inside(data.Center().X, s.titleWidth(xTitle), c.Min.X+left, c.Max.X),
		Y: c.Min.Y + blockHeight(sans(s.title), len(xTitle))/2,
	}, false)
	s.drawTitle(c, yTitle, vg.Point{
		X: c.Min.X + blockHeight(sans(s.title), len(yTitle))/2,
		Y: inside(data.Center().Y, s.titleWidth(yTitle), c.Min.Y, top),
	}, true)
	s.drawKey(c, f.keyRows, data.Min.X)
}

// drawData draws the plot, or the small multiples, over area of a page, with the labels
// beside the data, and returns where the data are.
func (f fitted) drawData(page, area draw.Canvas) draw.Canvas {
	if len(f.facets) > 0 {
		return f.drawFacets(area)
	}
	pl := *f.plot
	pl.X.Label.Text, pl.Y.Label.Text = "", ""
	if f.loose {
		pl.Y.Scale = rowScale(f.rowHeights())
	}
	f.dress(&pl, area.Size())
	f.dress(&pl, pl.DataCanvas(area).Size()) // now that the numbers have a width
	pl.Draw(area)
	data := pl.DataCanvas(area)
	f.drawRows(data, &pl)
	f.drawEnds(data, &pl)
	f.drawExits(page, data, &pl)
	return data
}

// titleRoom is what the lines of a title take beside their axis.
func (s *Style) titleRoom(lines []string) vg.Length {
	if len(lines) == 1 && lines[0] == "" {
		return 0
	}
	return blockHeight(sans(s.title), len(lines)) + s.pt(titleGap)
}

func (s *Style) titleWidth(lines []string) vg.Length {
	var w vg.Length
	for _, line := range lines {
		w = max(w, s.titleRuler().width(line))
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
			if ticks := f.x.ticks(min, max, n); !f.s.crowded(ticks, size.X) {
				return ticks
			}
		}
		return f.s.thinned(f.x.ticks(min, max, 2), size.X)
	})
	rows := min(max(int(size.Y/(2.8*f.s.tick)), 2), 8)
	pl.Y.Tick.Marker = plot.TickerFunc(func(min, max float64) []plot.Tick { return f.y.ticks(min, max, rows) })
}

// crowded reports whether the labels of ticks do not fit into a width.
func (s *Style) crowded(ticks []plot.Tick, width vg.Length) bool {
	var widest, n vg.Length
	for _, t := range ticks {
		if t.Label != "" {
			n++
			widest = max(widest, s.textWidth(sans(s.tick), t.Label))
		}
	}
	return n*(widest+s.tick) > width+s.tick
}

// thinned takes away every second label until the others fit.
func (s *Style) thinned(ticks []plot.Tick, width vg.Length) []plot.Tick {
	ticks = slices.Clone(ticks)
	for s.crowded(ticks, width) {
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
	s := f.s
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
		heights[k] = blockHeight(sans(s.label), len(f.names[i])) + s.pt(nameSkip)
	}
	for k, centre := range spread(want, heights, c.Min.Y-s.label/2, c.Max.Y+s.label/2) {
		e := f.ends[order[k]]
		from := vg.Point{X: x(e.x) + s.dot + s.pt(0.5), Y: want[k]}
		to := vg.Point{X: c.Max.X + s.pt(nameGap) - s.pt(1), Y: centre}
		if abs(centre-want[k]) > 0.35*s.label || c.Max.X-from.X > 2*s.pt(nameGap) {
			c.StrokeLine2(pen(tint(e.ink.mark, 0.55), s.hair), from.X, from.Y, to.X, to.Y)
		}
		if e.bead != nil {
			mark{s: s, color: e.ink.mark, shape: e.bead}.dot(c, vg.Point{X: c.Max.X + s.pt(nameGap) + s.pt(keyDot)/2, Y: centre})
		}
		s.drawBlock(c, sans(s.label), e.ink.word, c.Max.X+s.pt(nameGap)+s.indent(e), centre, 0, f.names[order[k]])
	}
}

// drawRows writes the labels left of the data.
func (f fitted) drawRows(c draw.Canvas, pl *plot.Plot) {
	_, y := pl.Transforms(&c)
	for i, r := range f.rows {
		f.s.drawBlock(c, f.s.rowFont(r), black, c.Min.X-f.s.pt(nameGap), y(r.y), 1, f.rowLines[i])
	}
}

// drawExits labels curves above the place where they leave the data.
func (f fitted) drawExits(page, c draw.Canvas, pl *plot.Plot) {
	s := f.s
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
		word := s.labelRuler(sans(s.label)).elide(e.text, page.Max.X-page.Min.X)
		at := inside(last[len(last)-1].X, s.textWidth(sans(s.label), word), page.Min.X, page.Max.X)
		s.drawBlock(c, sans(s.label), e.ink.word, at, c.Max.Y+0.65*s.label, 0.5, []string{word})
	}
}

func abs(v vg.Length) vg.Length { return vg.Length(math.Abs(float64(v))) }

// setPlot gives the panel an empty plot in the house style with its titles and
// ranges; the axes are logarithmic as p.x and p.y say.
func (p *panel) setPlot(xTitle, yTitle string, x, y span) {
	s := p.s
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = x.min, x.max, y.min, y.max
	p.title.x, p.title.y = xTitle, yTitle
	pl.X.Label.Text, pl.Y.Label.Text = plainTitle(xTitle), plainTitle(yTitle)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.LineStyle = pen(s.grey.axis, s.hair)
		a.Padding = s.pt(2)
		a.Label.TextStyle.Font = sans(s.title)
		a.Tick.Label.Font = sans(s.tick)
		a.Tick.Label.Handler = s.numbering()
		a.Tick.LineStyle = pen(s.grey.axis, s.hair)
		a.Tick.Length = s.pt(tickLength)
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
