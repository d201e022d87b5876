package plots

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Width is the width of a figure on the page, in inches.
type Width float64

// The widths of a column of a paper and of a page with two of them.
const (
	OneColumn Width = 3.35
	TwoColumn Width = 7.0
)

// maxWidth is the largest width that Render takes, in inches.
const maxWidth Width = 20

// ParseWidth returns the width that a user typed for a style: "column", "page",
// or a number of inches, for Paper in [2, 20], for Talk in [3.6, 20].
func ParseWidth(text string, s Style) (Width, error) {
	switch text {
	case "column":
		return s.column, nil
	case "page":
		return s.page, nil
	}
	inches, err := strconv.ParseFloat(text, 64)
	w := Width(inches)
	if err != nil || !(w >= s.least && w <= maxWidth) {
		return 0, fmt.Errorf("plots: width = %q, want %s", text, s.Widths())
	}
	return w, nil
}

// Widths says which widths ParseWidth takes for the style.
func (s Style) Widths() string {
	return fmt.Sprintf("column, page or inches in [%v, %v]", s.least, maxWidth)
}

// points returns the width in typographic points.
func (w Width) points() vg.Length { return vg.Length(w) * vg.Inch }

// A Figure is a drawing made of one or more plots, with direct labels and keys.
// It keeps the numbers that it was made of, which must not change any more.
type Figure struct {
	title string
	notes notes
	build builder
}

// A builder makes the panels of a figure in a style.
type builder func(s *Style, n *notes) ([]*panel, error)

// newFigure returns a figure; whatever is wrong with its numbers comes out here.
func newFigure(title string, build builder) (Figure, error) {
	f := Figure{title: title, build: build}
	paper := Paper()
	if _, err := build(&paper, &f.notes); err != nil {
		return Figure{}, err
	}
	return f, nil
}

// Notes tells what the figure does not show: points dropped because they are
// not finite, intervals left out, letters without a sign in the font.
func (f Figure) Notes() []string { return slices.Clone(f.notes) }

// Plots returns the plots of the figure in the style of Paper, without direct
// labels and keys.
func (f Figure) Plots() []*plot.Plot {
	var ps []*plot.Plot
	paper := Paper()
	if sh, err := f.in(&paper); err == nil {
		for _, p := range sh.panels {
			if len(p.facets) == 0 {
				ps = append(ps, p.plot)
			}
			for _, q := range p.facets {
				ps = append(ps, q.plot)
			}
		}
	}
	return ps
}

// Aspect returns height over width at the width; 0 for the zero Figure.
func (f Figure) Aspect(w Width, s Style) float64 {
	sh, err := f.in(&s)
	if err != nil {
		return 0
	}
	_, h := sh.size(w)
	return float64(h / w.points())
}

// A sheet is a figure in a style.
type sheet struct {
	s      *Style
	panels []*panel
}

// in returns the figure in a style.
func (f Figure) in(s *Style) (sheet, error) {
	if f.build == nil {
		return sheet{}, errors.New("plots: the figure is empty")
	}
	if s.name == "" {
		return sheet{}, fmt.Errorf("plots: the style is empty, want one of %s", strings.Join(Styles(), ", "))
	}
	var seen notes // by newFigure
	panels, err := f.build(s, &seen)
	return sheet{s, panels}, err
}

// perRow returns how many panels stand side by side: two where the figure is wide.
func (f sheet) perRow(w vg.Length) int {
	if w < 4.5*vg.Inch*f.scale() {
		return 1
	}
	return min(len(f.panels), 2)
}

// scale is how large a column is to that of a paper.
func (f sheet) scale() vg.Length { return vg.Length(f.s.column / OneColumn) }

// size returns the size of the figure on the page.
func (f sheet) size(w Width) (width, height vg.Length) {
	width = w.points()
	for _, h := range f.heights(width) {
		height += h
	}
	return width, height
}

// heights returns the height of each row of panels. Wider figures are taller, but
// less so; labels get the height that they need.
func (f sheet) heights(width vg.Length) []vg.Length {
	wider := vg.Length(math.Pow(float64(width/f.s.column.points()), 0.3))
	n := f.perRow(width)
	heights := make([]vg.Length, (len(f.panels)+n-1)/n)
	for i, p := range f.panels {
		left, right := f.sides(i, width)
		heights[i/n] = max(heights[i/n], p.tall*f.scale()*wider, p.fit(right-left).minHeight())
	}
	return heights
}

// sides returns where panel i begins and ends in a figure of the width.
func (f sheet) sides(i int, width vg.Length) (left, right vg.Length) {
	n := f.perRow(width)
	if n == 1 {
		return 0, width
	}
	first := i - i%n
	shares := make([]vg.Length, n)
	for k := range shares {
		shares[k] = f.panels[min(first+k, len(f.panels)-1)].share // the last may stand alone
	}
	lo, hi := part(shares, i%n)
	if i > first {
		left = 2 * f.s.pt(panelGap)
	}
	return width*lo + left, width * hi
}

// cell returns the place of panel i in a figure of the given size.
func (f sheet) cell(i int, width, height vg.Length) vg.Rectangle {
	left, right := f.sides(i, width)
	lo, hi := part(f.heights(width), i/f.perRow(width))
	return vg.Rectangle{Min: vg.Point{X: left, Y: height * (1 - hi)}, Max: vg.Point{X: right, Y: height * (1 - lo)}}
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

// draw draws the figure over the whole of c, which should be at least 2 by 1.5
// inches large.
func (f sheet) draw(c draw.Canvas) {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	size, rim := c.Size(), f.s.pt(margin)
	for i, p := range f.panels {
		r := f.cell(i, size.X, size.Y)
		p.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: c.Min.Add(r.Min).Add(vg.Point{X: rim, Y: rim}),
			Max: c.Min.Add(r.Max).Sub(vg.Point{X: rim, Y: rim}),
		}})
	}
}
