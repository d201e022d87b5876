package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
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
	notes  notes
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
func (f Figure) stacked(w vg.Length) bool { return len(f.panels) == 1 || w < 4.5*vg.Inch }

// size returns the size of the figure on the page.
func (f Figure) size(w Width) (width, height vg.Length) {
	width = w.points()
	heights := f.heights(width)
	if f.stacked(width) {
		for _, h := range heights {
			height += h
		}
		return width, height
	}
	return width, slices.Max(heights)
}

// heights returns the height of each panel. Wider figures are taller, but less
// so; labels get the height that they need.
func (f Figure) heights(width vg.Length) []vg.Length {
	wider := vg.Length(math.Pow(float64(width/OneColumn.points()), 0.3))
	heights := make([]vg.Length, len(f.panels))
	for i, p := range f.panels {
		room := width
		if !f.stacked(width) {
			room = f.cell(i, width, 0).Size().X
		}
		heights[i] = max(p.tall*wider, p.fit(room).minHeight())
	}
	return heights
}

// cell returns the place of panel i in a figure of the given size.
func (f Figure) cell(i int, width, height vg.Length) vg.Rectangle {
	if f.stacked(width) {
		lo, hi := part(f.heights(width), i)
		return vg.Rectangle{Min: vg.Point{Y: height * (1 - hi)}, Max: vg.Point{X: width, Y: height * (1 - lo)}}
	}
	shares := make([]vg.Length, len(f.panels))
	for k, p := range f.panels {
		shares[k] = p.share
	}
	lo, hi := part(shares, i)
	gap := vg.Length(0)
	if i > 0 {
		gap = 2 * panelGap
	}
	return vg.Rectangle{Min: vg.Point{X: width*lo + gap}, Max: vg.Point{X: width * hi, Y: height}}
}

// part returns where part i of a whole begins and ends, in [0, 1].
func part(sizes []vg.Length, i int) (lo, hi vg.Length) {
	var total vg.Length
	for k, s := range sizes {
		if k < i {
			lo += s
		}
		total += s
	}
	return lo / total, (lo + sizes[i]) / total
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
