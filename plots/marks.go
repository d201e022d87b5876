package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The plotters. Each draws points that have been cleaned (notes.runs).

// A grid is faint lines at the labelled ticks of y.
type grid struct{ s *Style }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := c.Y(p.Y.Norm(t.Value)); !t.IsMinor() && c.ContainsY(y) {
			c.StrokeLine2(pen(g.s.grey.grid, g.s.hair), c.Min.X, y, c.Max.X, y)
		}
	}
}

// A curve is a line through its points, clipped to the plot; shift moves it
// aside.
type curve struct {
	points []Point
	style  draw.LineStyle
	dot    vg.Length // radius of a point alone
	shift  vg.Length
}

func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := make([]vg.Point, len(l.points))
	for i, pt := range l.points {
		line[i] = vg.Point{X: x(pt.X) + l.shift, Y: y(pt.Y)}
	}
	if len(line) == 1 {
		c.DrawGlyph(draw.GlyphStyle{Color: l.style.Color, Radius: l.dot, Shape: draw.CircleGlyph{}}, line[0])
		return
	}
	c.StrokeLines(l.style, c.ClipLinesXY(line)...)
}

// A band fills the intervals of the points of a curve.
type band struct {
	points []Point
	fill   color.Color
}

func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	bottom := p.Y.Min
	draw := func(run []Point) {
		if len(run) < 2 {
			return
		}
		var outline []vg.Point
		for _, pt := range run {
			outline = append(outline, vg.Point{X: x(pt.X), Y: y(pt.High)})
		}
		for i := len(run) - 1; i >= 0; i-- {
			outline = append(outline, vg.Point{X: x(run[i].X), Y: y(max(run[i].Low, bottom))})
		}
		c.FillPolygon(b.fill, outline)
	}
	from := 0
	for i, pt := range b.points {
		if !pt.hasInterval() {
			draw(b.points[from:i])
			from = i + 1
		}
	}
	draw(b.points[from:])
}

const whiskerEnd = vg.Length(1.6) // half the bar across the end of an interval

// A mark is how a series draws its points and their intervals.
type mark struct {
	s      *Style
	color  color.RGBA
	shape  draw.GlyphDrawer
	hollow bool
}

// rim draws the white edge that parts a point from lines and other points; it
// lies below the intervals.
func (m mark) rim(c draw.Canvas, at vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: white, Radius: m.rimRadius(), Shape: m.shape}, at)
}

func (m mark) rimRadius() vg.Length { return m.s.dot + m.s.pt(0.7) }

// dot draws the point.
func (m mark) dot(c draw.Canvas, at vg.Point) {
	style := draw.GlyphStyle{Color: m.color, Radius: m.s.dot, Shape: m.shape}
	c.DrawGlyphNoClip(style, at)
	if m.hollow {
		style.Color, style.Radius = white, m.s.dot-m.s.interval
		c.DrawGlyphNoClip(style, at)
	}
}

// interval draws the interval of the point at: a bar with ends, save those that
// the point hides and, where open, that at low.
func (m mark) interval(c draw.Canvas, at, low, high vg.Point, open bool) {
	s := m.s
	across := vg.Point{X: s.pt(whiskerEnd)}
	if low.Y == high.Y && low.X != high.X {
		across = vg.Point{Y: s.pt(whiskerEnd)}
	}
	lines := [][]vg.Point{{low, high}}
	hidden := func(end vg.Point) bool {
		d := end.Sub(at)
		return m.shape != nil && math.Hypot(float64(d.X), float64(d.Y)) < float64(s.dot)
	}
	if !hidden(high) {
		lines = append(lines, []vg.Point{high.Sub(across), high.Add(across)})
	}
	if !open && !hidden(low) {
		lines = append(lines, []vg.Point{low.Sub(across), low.Add(across)})
	}
	c.StrokeLines(pen(white, s.interval+s.pt(1)), lines[0])
	c.StrokeLines(pen(m.color, s.interval), lines...)
}

// dots are points with intervals; shift moves them aside.
type dots struct {
	points []Point
	mark   mark
	shift  vg.Length
}

func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range d.points {
		d.mark.rim(c, vg.Point{X: x(pt.X) + d.shift, Y: y(pt.Y)})
	}
	for _, pt := range d.points {
		if !pt.hasInterval() {
			continue
		}
		at := x(pt.X) + d.shift
		d.mark.interval(c, vg.Point{X: at, Y: y(pt.Y)}, vg.Point{X: at, Y: y(max(pt.Low, p.Y.Min))},
			vg.Point{X: at, Y: y(pt.High)}, pt.Low < p.Y.Min)
	}
	for _, pt := range d.points {
		d.mark.dot(c, vg.Point{X: x(pt.X) + d.shift, Y: y(pt.Y)})
	}
}

// GlyphBoxes keeps marks at the rim of the plot whole.
func (d dots) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	r := d.mark.rimRadius()
	var boxes []plot.GlyphBox
	for _, pt := range d.points {
		boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(pt.X), Y: p.Y.Norm(pt.Y), Rectangle: vg.Rectangle{
			Min: vg.Point{X: d.shift - r, Y: -r}, Max: vg.Point{X: d.shift + r, Y: r},
		}})
	}
	return boxes
}

// beads are marks on a curve, at the points nearest to even places.
type beads struct {
	points []Point
	mark   mark
}

// beadStep is the distance of these places.
const beadStep = vg.Length(22)

func (b beads) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	next := c.Min.X
	for i, pt := range b.points {
		at := vg.Point{X: x(pt.X), Y: y(pt.Y)}
		if at.X < next && i < len(b.points)-1 || !c.Contains(at) {
			continue
		}
		next = at.X + b.mark.s.pt(beadStep)
		b.mark.rim(c, at)
		b.mark.dot(c, at)
	}
}

// diamond is a filled square on its corner.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	r := sty.Radius * 1.25
	c.FillPolygon(sty.Color, []vg.Point{
		{X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y},
	})
}

// zeros are points below a logarithmic axis: hollow triangles at its foot that
// point down.
type zeros struct {
	s      *Style
	points []Point
	color  color.RGBA
	shift  vg.Length
}

func (z zeros) Plot(c draw.Canvas, p *plot.Plot) {
	r := z.s.dot + z.s.pt(0.4)
	for _, pt := range z.points {
		x := c.X(p.X.Norm(pt.X)) + z.shift
		triangle := []vg.Point{{X: x - r, Y: c.Min.Y + 2*r}, {X: x + r, Y: c.Min.Y + 2*r}, {X: x, Y: c.Min.Y}}
		c.FillPolygon(white, triangle)
		c.StrokeLines(pen(z.color, z.s.interval), append(triangle, triangle[0], triangle[1]))
	}
}
