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

// A facet is one of small multiples: all have the same axes, whose numbers stand below
// and left of the outermost alone.
type facet struct {
	head string
	plot *plot.Plot
}

// MaxFacets is the number of small multiples that fit on a page.
const MaxFacets = 36

// facetGap parts small multiples.
const facetGap = vg.Length(10)

// A lattice is where small multiples stand.
type lattice struct {
	n, columns int
	head       vg.Length // the height of their heads
	heads      int       // lines of the longest of them
	tall       vg.Length // the height of one without rows
	gap        vg.Length
}

// rows returns the number of rows of multiples.
func (l lattice) rows() int { return (l.n + l.columns - 1) / l.columns }

// height is what the data take, given the height that rows of labels need.
func (l lattice) height(rows vg.Length) vg.Length {
	if l.n == 0 {
		return rows
	}
	m := vg.Length(l.rows())
	return m*(max(rows, l.tall)+l.head) + (m-1)*l.gap
}

// layOut finds how many small multiples stand side by side in a width, and the room of
// their heads.
func (f fitted) layOut(width vg.Length) lattice {
	l := lattice{n: len(f.facets)}
	if l.n == 0 {
		return l
	}
	s := f.s
	l.gap = s.pt(facetGap)
	room := width - f.rowCol - s.pt(axisRoom)
	if f.y.bare {
		room = width - f.rowCol - s.titleRoom([]string{f.title.y})
	}
	l.columns = abreast(l.n, f.beside, int((room+l.gap)/(f.least+l.gap)))
	wide := (room+l.gap)/vg.Length(l.columns) - l.gap
	for _, q := range f.facets {
		if q.head != "" {
			l.heads = max(l.heads, len(s.labelRuler(sans(s.label)).wrap(q.head, wide, 2)))
		}
	}
	if l.heads > 0 {
		l.head = blockHeight(sans(s.label), l.heads) + s.pt(3)
	}
	if len(f.rows) == 0 {
		l.tall = min(max(0.62*wide, s.pt(54)), s.pt(150))
	}
	return l
}

// abreast returns how many of n multiples stand side by side, at most fit of them:
// wanted where that many have room, else a part of it without remainder, else so many
// that the rows are about even.
func abreast(n, wanted, fit int) int {
	fit = min(max(fit, 1), n)
	for k := min(wanted, fit); k > 1; k-- {
		if wanted%k == 0 {
			return k
		}
	}
	rows := (n + fit - 1) / fit
	return (n + rows - 1) / rows
}

// drawFacets draws the small multiples over area, and returns the canvas that their data
// span. Those of the last row have numbers at x, and those above an empty place.
func (f fitted) drawFacets(area draw.Canvas) draw.Canvas {
	l := f.lattice
	outer, inner, size := f.divide(area)
	step := inner.Min.X + inner.Max.X + l.gap // between the data of two neighbours
	at := func(i int) vg.Rectangle {
		c, r := vg.Length(i%l.columns), vg.Length(i/l.columns)
		low := vg.Point{
			X: area.Min.X + outer.Min.X + c*(size.X+step),
			Y: area.Max.Y - outer.Max.Y - l.head - size.Y - r*(size.Y+l.head+inner.Min.Y+inner.Max.Y+l.gap),
		}
		return vg.Rectangle{Min: low, Max: low.Add(size)}
	}
	span := at(0)
	for i, q := range f.facets {
		r := at(i)
		pl := f.dressed(q.plot, size, i+l.columns >= l.n, i%l.columns == 0)
		data := draw.Canvas{Canvas: area.Canvas, Rectangle: r}
		pl.Draw(around(pl, data))
		if i%l.columns == 0 {
			f.drawRows(data, pl)
		}
		if q.head != "" {
			lines := f.s.labelRuler(sans(f.s.label)).wrap(q.head, size.X, l.heads)
			f.s.drawBlock(data, sans(f.s.label), black, r.Min.X, r.Max.Y+f.s.pt(2)+blockHeight(sans(f.s.label), len(lines))/2, 0, lines)
		}
		span.Min.X, span.Min.Y = min(span.Min.X, r.Min.X), min(span.Min.Y, r.Min.Y)
		span.Max.X, span.Max.Y = max(span.Max.X, r.Max.X), max(span.Max.Y, r.Max.Y)
	}
	return draw.Canvas{Canvas: area.Canvas, Rectangle: span}
}

// dressed returns a copy of the plot with its ticks, for data of a size; numbers are
// those of the axes that have them.
func (f fitted) dressed(pl *plot.Plot, size vg.Point, below, left bool) *plot.Plot {
	c := *pl
	c.X.Label.Text, c.Y.Label.Text = "", ""
	f.dress(&c, size)
	ticks := c.X.Tick.Marker
	c.X.Tick.Marker = plot.TickerFunc(func(min, max float64) []plot.Tick {
		return f.s.inside(ticks.Ticks(min, max), c.X.Norm, size.X)
	})
	if !below {
		c.X.Tick.Label.Handler = silent{f.s.numbering()}
	}
	if !left {
		c.Y.Tick.Label.Handler = silent{f.s.numbering()}
	}
	return &c
}

// inside takes away the labels that reach further beyond an axis of the width than half
// the gap to the next one.
func (s *Style) inside(ticks []plot.Tick, norm func(float64) float64, width vg.Length) []plot.Tick {
	ticks = slices.Clone(ticks)
	for i, t := range ticks {
		at, half := width*vg.Length(norm(t.Value)), s.textWidth(sans(s.tick), t.Label)/2
		if beyond := s.pt(facetGap) / 2; at-half < -beyond || at+half > width+beyond {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// divide returns the size of the data of a multiple, and what its axes take beside them
// with numbers and without: Min below and left, Max above and right. Which numbers there
// are hangs on the size: the steps soon end.
func (f fitted) divide(area draw.Canvas) (outer, inner vg.Rectangle, size vg.Point) {
	l := f.lattice
	columns, rows := vg.Length(l.columns), vg.Length(l.rows())
	size = vg.Point{X: area.Size().X / columns, Y: area.Size().Y / rows}
	for range 4 {
		outer, inner = f.frameOf(area, size, true), f.frameOf(area, size, false)
		outer.Max.X = max(outer.Max.X, f.s.pt(facetGap)/2-f.s.pt(margin)) // for the last number of x
		room := area.Size().Sub(outer.Min).Sub(outer.Max)
		size = vg.Point{
			X: max((room.X-(columns-1)*(inner.Min.X+inner.Max.X+l.gap))/columns, 1),
			Y: max((room.Y-rows*l.head-(rows-1)*(inner.Min.Y+inner.Max.Y+l.gap))/rows, 1),
		}
	}
	return outer, inner, size
}

// frameOf returns what axes with or without numbers take beside data of a size.
func (f fitted) frameOf(c draw.Canvas, size vg.Point, numbers bool) vg.Rectangle {
	data := f.dressed(f.facets[0].plot, size, numbers, numbers).DataCanvas(c)
	return vg.Rectangle{Min: data.Min.Sub(c.Min), Max: c.Max.Sub(data.Max)}
}

// around returns the canvas over which the plot has its data on the given one. What
// stands beside them hangs on the size a little: the steps soon end.
func around(pl *plot.Plot, data draw.Canvas) draw.Canvas {
	c := data
	for range 8 {
		now := pl.DataCanvas(c)
		low, high := data.Min.Sub(now.Min), data.Max.Sub(now.Max)
		c.Min, c.Max = c.Min.Add(low), c.Max.Add(high)
		if math.Hypot(float64(low.X), float64(low.Y))+math.Hypot(float64(high.X), float64(high.Y)) < 1e-3 {
			break
		}
	}
	return c
}

// silent writes no numbers and takes no room for them.
type silent struct{ text.Handler }

func (silent) Box(string, font.Font) (width, height, depth vg.Length) { return 0, 0, 0 }

func (silent) Draw(vg.Canvas, string, text.Style, vg.Point) {}
