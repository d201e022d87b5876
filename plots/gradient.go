package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// GradientNormData is the gradient bound of an estimator, case by case.
type GradientNormData struct {
	Cases []Point // X the bound, Y the norm of the gradient
	Bound string  // what the bound is; empty stands for "M·σ"
	Unit  string  // of both, a letter or two; empty where they have none
}

const (
	maxDots   = 600            // cases drawn one by one; more are binned
	cellSize  = vg.Length(2.4) // of a bin
	decadeFor = 100            // ratio of bounds from which the axes are logarithmic
	lowest    = 1e-4           // norms below it times the largest bound are not shown on such axes
	rounding  = 1e-12          // what norm over bound may exceed 1 by, as in the check that counts violations
	tightBins = 20             // a unit of tightness
)

// GradientNorm draws gradient norms under their bound, the diagonal, beside the
// distribution of the tightness, norm over bound. More than 600 cases are
// counted in cells; cases above the bound are drawn one by one whatever their
// number.
func GradientNorm(d GradientNormData) (Figure, error) {
	return newFigure("Gradient norm and its bound", d.panels)
}

func (d GradientNormData) panels(s *Style, n *notes) ([]*panel, error) {
	bound, unit := n.clean(d.Bound), n.clean(d.Unit)
	if bound == "" {
		bound = "M·σ"
	}
	if unit != "" {
		unit = ", in units of " + unit
	}
	var cases []Point
	for _, run := range n.runs("cases", d.Cases) {
		cases = append(cases, run...)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("plots: gradient norm: no finite case to draw")
	}
	return []*panel{
		scatterPanel(s, cases, bound, unit, n),
		tightnessPanel(s, cases, bound),
	}, nil
}

// scatterPanel draws norm against bound.
func scatterPanel(s *Style, cases []Point, bound, unit string, n *notes) *panel {
	p := &panel{s: s, tall: 2.4 * vg.Inch, share: 0.52}
	bounds := emptySpan()
	for _, c := range cases {
		if c.X > 0 {
			bounds = bounds.with(c.X)
		}
	}
	if bounds.max > decadeFor*bounds.min {
		p.x.log, p.y.log = true, true
		cases = onLogAxes(cases, bounds, n)
	}
	var below, above []Point
	x, y := emptySpan(), emptySpan()
	for _, c := range cases {
		x, y = x.with(c.X), y.with(c.Y)
		if c.Y > c.X*(1+rounding) {
			above = append(above, At(c.X, c.Y))
		} else {
			below = append(below, c)
		}
	}
	if p.y.log {
		x, y = x.paddedLog(0.02), y.paddedLog(0.02)
	} else {
		x, y = x.with(0).padded(0, 0.03), y.with(0).padded(0, 0.03)
	}
	p.setPlot("bound "+bound+unit, "gradient norm ||grad L||"+unit, x, y)
	if len(below) > maxDots {
		p.plot.Add(tiles{s, below})
		p.key = append(p.key, s.fillSample(fmt.Sprintf("few to many of %s cases", grouped(len(below))), s.shades[:]...))
	} else {
		p.plot.Add(specks{s, below, s.inkOf(0).mark})
		p.key = append(p.key, s.speckSample(grouped(len(below))+" cases", s.inkOf(0).mark))
	}
	p.plot.Add(diagonal{s})
	p.key = append(p.key, s.lineSample("norm = bound", equality{s}.style()))
	if len(above) > 0 {
		m := mark{s: s, color: s.inkOf(3).mark, shape: diamond{}}
		p.plot.Add(dots{points: above, mark: m})
		p.key = append(p.key, m.sample(fmt.Sprintf("%s above", grouped(len(above))), vg.Point{}))
	}
	return p
}

// onLogAxes returns the cases that logarithmic axes can show: bound and norm
// positive, the norm not below a share of the largest bound that leaves the
// others room. Zero bounds with a positive norm break the bound and are kept,
// at the smallest bound.
func onLogAxes(cases []Point, bounds span, n *notes) []Point {
	var kept []Point
	zero, low := 0, 0
	for _, c := range cases {
		switch {
		case c.Y > 0 && !(c.X > 0):
			kept = append(kept, At(bounds.min, max(c.Y, bounds.min*1.01)))
		case !(c.Y > 0):
			zero++
		case c.Y < bounds.max*lowest && c.Y <= c.X*(1+rounding):
			low++
		default:
			kept = append(kept, c)
		}
	}
	if zero > 0 {
		n.add("cases: %d of %d have norm zero and are not on the logarithmic axes", zero, len(cases))
	}
	if low > 0 {
		n.add("cases: %d of %d have norms below %g of the largest bound and are not shown", low, len(cases), lowest)
	}
	return kept
}

// tightness returns the shares of cases by norm over bound, in bins of 1/20. It
// ends at 1, or where a bound is broken at 2, and the last bin holds what lies
// beyond. Cases with bound zero have none.
func tightness(cases []Point) []float64 {
	bins, n := tightBins, 0.0
	for _, c := range cases {
		if c.X > 0 {
			n++
			if c.Y > c.X*(1+rounding) {
				bins = 2 * tightBins
			}
		}
	}
	shares := make([]float64, bins)
	for _, c := range cases {
		if !(c.X > 0) {
			continue
		}
		last := bins - 1
		if c.Y <= c.X*(1+rounding) {
			last = tightBins - 1
		}
		shares[int(math.Max(0, math.Min(float64(last), c.Y/c.X*tightBins)))] += 1 / n
	}
	return shares
}

// tightnessPanel draws the distribution of norm over bound.
func tightnessPanel(s *Style, cases []Point, bound string) *panel {
	p := &panel{s: s, tall: 1.45 * vg.Inch, share: 0.48}
	shares := tightness(cases)
	end := float64(len(shares)) / tightBins
	p.setPlot("tightness ||grad L||/("+bound+")", "share of cases", span{0, end}, span{0, 0}.with(shares...).padded(0, 0.06))
	p.plot.X.Padding = 0
	p.plot.Add(grid{s}, steps{s, shares})
	if end > 1 {
		p.plot.Add(upright{s, 1})
	}
	return p
}

// steps is a histogram of bars a bin wide, from 0 on.
type steps struct {
	s      *Style
	shares []float64
}

func (h steps) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	gap := h.s.pt(0.3)
	for i, v := range h.shares {
		if v > 0 {
			fillRect(c, h.s.shades[3], x(float64(i)/tightBins)+gap, y(0), x(float64(i+1)/tightBins)-gap, y(v))
		}
	}
}

// specks are points too many for rims and intervals.
type specks struct {
	s      *Style
	points []Point
	color  color.Color
}

func (k specks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range k.points {
		c.DrawGlyph(k.s.speck(k.color), vg.Point{X: x(pt.X), Y: y(pt.Y)})
	}
}

func (s *Style) speck(c color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: s.pt(1), Shape: draw.CircleGlyph{}}
}

func (s *Style) speckSample(text string, col color.Color) sample {
	return sample{text, s.pt(keyDot), func(c draw.Canvas, box vg.Rectangle) {
		c.DrawGlyphNoClip(s.speck(col), vg.Point{X: box.Min.X + s.pt(keyDot)/2, Y: (box.Min.Y + box.Max.Y) / 2})
	}}
}

// diagonal is the line y = x, as far as it is inside. It takes away the parts
// of cells that reach over it: what is above has marks of its own.
type diagonal struct{ s *Style }

func (d diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	lo, hi := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max)
	if lo < hi {
		x, y := p.Transforms(&c)
		from, to := vg.Point{X: x(lo), Y: y(lo)}, vg.Point{X: x(hi), Y: y(hi)}
		c.FillPolygon(white, []vg.Point{from, to, {X: to.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}, {X: c.Min.X, Y: from.Y}})
		equality(d).Plot(c, p)
	}
}

// tiles counts points in square cells of fixed size on the page.
type tiles struct {
	s      *Style
	points []Point
}

func (t tiles) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	cell := t.s.pt(cellSize)
	cols, rows := int((c.Max.X-c.Min.X)/cell)+1, int((c.Max.Y-c.Min.Y)/cell)+1
	counts := make([]int, cols*rows)
	most := 0
	for _, pt := range t.points {
		i, j := int((x(pt.X)-c.Min.X)/cell), int((y(pt.Y)-c.Min.Y)/cell)
		if i < 0 || i >= cols || j < 0 || j >= rows {
			continue
		}
		counts[j*cols+i]++
		most = max(most, counts[j*cols+i])
	}
	// One path a shade keeps the file small; shades are even in log count.
	for i, shade := range t.s.shades {
		var path vg.Path
		for k, count := range counts {
			if count == 0 || t.s.shadeOf(count, most) != i {
				continue
			}
			x0, y0 := c.Min.X+cell*vg.Length(k%cols), c.Min.Y+cell*vg.Length(k/cols)
			x1, y1 := min(x0+cell, c.Max.X), min(y0+cell, c.Max.Y)
			path.Move(vg.Point{X: x0, Y: y0})
			path.Line(vg.Point{X: x1, Y: y0})
			path.Line(vg.Point{X: x1, Y: y1})
			path.Line(vg.Point{X: x0, Y: y1})
			path.Close()
		}
		if path != nil {
			c.SetColor(shade)
			c.Fill(path)
		}
	}
}

// shadeOf returns the shade of a count in [1, most].
func (s *Style) shadeOf(count, most int) int {
	if most <= 1 {
		return len(s.shades) - 1
	}
	share := math.Log(float64(count)) / math.Log(float64(most))
	return min(int(share*float64(len(s.shades))), len(s.shades)-1)
}
