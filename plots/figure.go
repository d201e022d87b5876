package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Width is the width of a figure on the page, in inches.
type Width float64

// The widths of a column and of a page with two of them.
const (
	OneColumn Width = 3.35
	TwoColumn Width = 7.0
)

// points returns the width in typographic points.
func (w Width) points() vg.Length { return vg.Length(w) * vg.Inch }

// A Figure is a drawing made of one or more plots, with direct labels and keys.
type Figure struct {
	title  string
	panels []*panel
	tall   vg.Length // natural height of a panel at one column
	notes  notes
}

// A panel is a plot with what stands around it.
type panel struct {
	plot  *plot.Plot
	x, y  axis
	ends  []end    // direct labels, right of the data
	exits []exit   // labels of curves that leave through the top
	key   []sample // above the plot
	rows  []row    // labels left of the data, in place of y ticks
	share float64  // of the figure's width or height; 0 stands for 1
}

// An end is a direct label at the last point of a curve.
type end struct {
	text string
	x, y float64 // the point
	ink  ink
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
	draw func(c draw.Canvas, box vg.Rectangle)
}

// A row is a label on the left at height y; a head stands alone and is bold.
type row struct {
	text string
	y    float64
	head bool
}

// Notes tells what the figure does not show: points dropped because they are
// not finite, intervals left out, letters without a sign in the font.
func (f Figure) Notes() []string { return slices.Clone(f.notes) }

// Plots returns the plots of the figure, without direct labels and keys.
func (f Figure) Plots() []*plot.Plot {
	var ps []*plot.Plot
	for _, p := range f.panels {
		ps = append(ps, p.plot)
	}
	return ps
}

// Aspect returns height over width at the width.
func (f Figure) Aspect(w Width) float64 {
	_, h := f.size(w)
	return float64(h / w.points())
}

// stacked reports whether panels stand above each other.
func (f Figure) stacked(w vg.Length) bool { return w < 4.5*vg.Inch }

// size returns the size of the figure on the page. Wider figures are taller,
// but less so; labels get the height that they need.
func (f Figure) size(w Width) (width, height vg.Length) {
	width = w.points()
	natural := f.tall * vg.Length(math.Pow(float64(w/OneColumn), 0.3))
	if len(f.panels) > 1 && f.stacked(width) {
		for _, p := range f.panels {
			height += max(natural*vg.Length(p.part()), p.fit(width).minHeight())
		}
		return width, height
	}
	height = natural
	for i, p := range f.panels {
		height = max(height, p.fit(f.cell(i, width, 0).Max.X-f.cell(i, width, 0).Min.X).minHeight())
	}
	return width, height
}

// part is the panel's share.
func (p *panel) part() float64 {
	if p.share == 0 {
		return 1
	}
	return p.share
}

// cell returns the place of panel i in a figure of the given size.
func (f Figure) cell(i int, width, height vg.Length) vg.Rectangle {
	var before, total float64
	for k, p := range f.panels {
		if k < i {
			before += p.part()
		}
		total += p.part()
	}
	lo, hi := vg.Length(before/total), vg.Length((before+f.panels[i].part())/total)
	if f.stacked(width) {
		return vg.Rectangle{Min: vg.Point{Y: height * (1 - hi)}, Max: vg.Point{X: width, Y: height * (1 - lo)}}
	}
	gap := vg.Length(0)
	if i > 0 {
		gap = 6
	}
	return vg.Rectangle{Min: vg.Point{X: width*lo + gap}, Max: vg.Point{X: width * hi, Y: height}}
}

// Draw draws the figure over the whole of c, which should be at least 2 by 1.5
// inches large.
func (f Figure) Draw(c draw.Canvas) {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	size := c.Size()
	for i, p := range f.panels {
		r := f.cell(i, size.X, size.Y)
		p.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: c.Min.Add(r.Min).Add(vg.Point{X: margin, Y: margin}),
			Max: c.Min.Add(r.Max).Sub(vg.Point{X: margin, Y: margin}),
		}})
	}
}

// A fitted panel is one whose words have been broken to its width.
type fitted struct {
	*panel
	width    vg.Length
	names    [][]string // of ends
	nameCol  vg.Length  // the column that they take
	rowLines [][]string
	rowCol   vg.Length
	keyRows  [][]sample
}

const (
	nameGap  = vg.Length(5)   // between the data and the direct labels
	nameSkip = vg.Length(1.5) // between direct labels
	axisRoom = vg.Length(34)  // what ticks and title of an axis take, about
)

// fit breaks the words of the panel for a width that includes margins.
func (p *panel) fit(width vg.Length) fitted {
	width -= 2 * margin
	f := fitted{panel: p, width: width}
	for _, e := range p.ends {
		lines := wrap(sans(nameSize), e.text, 0.34*width, 3)
		f.names = append(f.names, lines)
		for _, s := range lines {
			f.nameCol = max(f.nameCol, textWidth(sans(nameSize), s)+nameGap)
		}
	}
	for _, r := range p.rows {
		lines := wrap(rowFont(r), r.text, 0.45*width, 3)
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
		rows = vg.Length(n)*(blockHeight(sans(nameSize), tallest)+4) + 4
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

// draw draws the panel over c.
func (p *panel) draw(c draw.Canvas) {
	f := p.fit(c.Max.X - c.Min.X + 2*margin)
	area := draw.Crop(c, f.rowCol, -f.nameCol, 0, -f.head())
	pl := *p.plot
	f.dress(&pl, area)
	pl.Draw(area)
	data := pl.DataCanvas(area)
	f.drawRows(data, &pl)
	f.drawEnds(data, &pl)
	f.drawExits(c, data, &pl)
	drawKey(c, f.keyRows, data.Min.X)
}

// dress gives the plot its ticks and titles, which depend on its size.
func (f fitted) dress(pl *plot.Plot, area draw.Canvas) {
	w, h := area.Size().X-axisRoom, area.Size().Y-axisRoom
	pl.X.Tick.Marker = ticker(f.x, int(max(w/38, 2)))
	pl.Y.Tick.Marker = ticker(f.y, int(min(max(h/22, 2), 7)))
	for _, a := range []struct {
		axis *plot.Axis
		room vg.Length
	}{{&pl.X, area.Size().X - axisRoom}, {&pl.Y, area.Size().Y - axisRoom/2}} {
		lines := wrap(sans(titleSize), a.axis.Label.Text, max(a.room, 20), 2)
		a.axis.Label.Text = lines[0]
		for _, s := range lines[1:] {
			a.axis.Label.Text += "\n" + s
		}
	}
}

func ticker(a axis, n int) plot.Ticker {
	return plot.TickerFunc(func(min, max float64) []plot.Tick { return a.ticks(min, max, n) })
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
	slices.SortStableFunc(order, func(a, b int) int { return compare(at(a), at(b)) })
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
		drawBlock(c, sans(nameSize), e.ink.word, c.Max.X+nameGap, centre, 0, f.names[order[k]])
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
		inside := c.ClipLinesXY(line)
		if len(inside) == 0 {
			continue
		}
		last := inside[len(inside)-1]
		s := elide(sans(nameSize), e.text, page.Max.X-page.Min.X)
		half := textWidth(sans(nameSize), s) / 2
		at := min(max(last[len(last)-1].X, page.Min.X+half), page.Max.X-half)
		drawBlock(c, sans(nameSize), e.ink.word, at, c.Max.Y+0.65*nameSize, 0.5, []string{s})
	}
}

func abs(v vg.Length) vg.Length { return vg.Length(math.Abs(float64(v))) }

func compare(a, b vg.Length) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// newPlot returns an empty plot in the house style with its titles and ranges.
func newPlot(xTitle, yTitle string, x, y span) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.min, x.max, y.min, y.max
	p.X.Label.Text, p.Y.Label.Text = xTitle, yTitle
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle = draw.LineStyle{Color: axisGrey, Width: hairWidth}
		a.Padding = 2
		a.Label.TextStyle.Font = sans(titleSize)
		a.Label.Padding = 2
		a.Tick.Label.Font = sans(tickSize)
		a.Tick.LineStyle = draw.LineStyle{Color: axisGrey, Width: hairWidth}
		a.Tick.Length = tickLength
	}
	// gonum centres the box of a font, not its figures.
	p.Y.Tick.Label.YAlign = text.YAlignment(-0.588)
	return p
}
