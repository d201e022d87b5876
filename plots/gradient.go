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
}

const (
	maxDots   = 600            // cases drawn one by one; more are binned
	cellSize  = vg.Length(2.4) // of a bin
	decadeFor = 100            // ratio of bounds from which the axes are logarithmic
	tightBins = 20
)

// GradientNorm draws gradient norms under their bound, the diagonal, beside the
// distribution of the tightness, norm over bound. More than 600 cases are
// counted in cells; cases above the bound are drawn one by one whatever their
// number.
func GradientNorm(d GradientNormData) (Figure, error) {
	f := Figure{title: "Gradient norm and its bound", tall: 2.2 * 72}
	bound := f.notes.clean(d.Bound)
	if bound == "" {
		bound = "M·σ"
	}
	var cases []Point
	for _, run := range f.notes.runs("cases", d.Cases) {
		cases = append(cases, run...)
	}
	if len(cases) == 0 {
		return Figure{}, fmt.Errorf("plots: gradient norm: no finite case to draw")
	}
	f.panels = []*panel{
		scatterPanel(cases, bound, &f.notes),
		tightnessPanel(cases, bound),
	}
	return f, nil
}

// scatterPanel draws norm against bound.
func scatterPanel(cases []Point, bound string, n *notes) *panel {
	p := &panel{share: 0.58}
	s := emptySpan()
	for _, c := range cases {
		if c.X > 0 {
			s = s.with(c.X)
		}
	}
	log := !s.empty() && s.max > decadeFor*s.min
	zero := 0
	var shown, above []Point
	x, y := emptySpan(), emptySpan()
	for _, c := range cases {
		if log && !(c.X > 0 && c.Y > 0) {
			zero++
			if !(c.Y > c.X) {
				continue
			}
			c.X = max(c.X, s.min)
		}
		x, y = x.with(c.X), y.with(c.Y)
		if c.Y > c.X*(1+1e-9) {
			above = append(above, c)
		} else {
			shown = append(shown, c)
		}
	}
	if zero > 0 {
		n.add("cases: %d of %d have bound or norm zero and are not on the logarithmic axes", zero, len(cases))
	}
	if log {
		p.x.log, p.y.log = true, true
		x, y = x.paddedLog(0.02), y.paddedLog(0.02)
	} else {
		x, y = x.with(0).padded(0, 0.03), y.with(0).padded(0, 0.03)
	}
	p.plot = newPlot("bound "+bound, "gradient norm ||grad L||", x, y)
	if log {
		p.plot.X.Scale, p.plot.Y.Scale = plot.LogScale{}, plot.LogScale{}
	}
	if len(shown) > maxDots {
		t := &tiles{points: shown}
		p.plot.Add(t)
		p.key = append(p.key, fillSample(fmt.Sprintf("few to many of %d cases", len(cases)), shades[:]...))
	} else {
		p.plot.Add(specks{shown, inkOf(0).mark})
	}
	p.plot.Add(diagonal{})
	if len(above) > 0 {
		p.plot.Add(dots{points: bare(above), mark: mark{color: inkOf(3).mark, shape: diamond{}}})
	}
	p.key = append(p.key, lineSample(fmt.Sprintf("bound (%d cases above)", len(above)), draw.LineStyle{Color: boundGrey, Width: boundWidth}))
	return p
}

// bare returns the points without their intervals.
func bare(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = At(p.X, p.Y)
	}
	return out
}

// tightnessPanel draws the distribution of norm over bound.
func tightnessPanel(cases []Point, bound string) *panel {
	p := &panel{share: 0.42}
	var counts [tightBins]float64
	var n float64
	for _, c := range cases {
		if !(c.X > 0) {
			continue
		}
		n++
		counts[int(math.Max(0, math.Min(tightBins-1, c.Y/c.X*tightBins)))]++
	}
	top := span{0, 0}
	for i := range counts {
		counts[i] /= math.Max(n, 1)
		top = top.with(counts[i])
	}
	p.plot = newPlot("tightness ||grad L||/("+bound+")", "share of cases", span{0, 1}, top.padded(0, 0.06))
	p.plot.X.Padding = 0
	p.plot.Add(grid{}, steps{counts[:]})
	return p
}

// steps is a histogram on [0, 1].
type steps struct{ shares []float64 }

func (s steps) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n := float64(len(s.shares))
	for i, v := range s.shares {
		if v > 0 {
			fillRect(c, inkOf(0).mark, x(float64(i)/n)+0.3, y(0), x(float64(i+1)/n)-0.3, y(v))
		}
	}
}

// specks are points too many for rims and intervals.
type specks struct {
	points []Point
	color  color.Color
}

func (s specks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range s.points {
		c.DrawGlyph(draw.GlyphStyle{Color: s.color, Radius: 1, Shape: draw.CircleGlyph{}}, vg.Point{X: x(pt.X), Y: y(pt.Y)})
	}
}

// diagonal is the line y = x, as far as it is inside.
type diagonal struct{}

func (diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	lo, hi := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max)
	if lo < hi {
		curve{[]Point{At(lo, lo), At(hi, hi)}, draw.LineStyle{Color: boundGrey, Width: boundWidth}}.Plot(c, p)
	}
}

// tiles counts points in square cells of fixed size on the page.
type tiles struct{ points []Point }

func (t *tiles) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	cols, rows := int((c.Max.X-c.Min.X)/cellSize)+1, int((c.Max.Y-c.Min.Y)/cellSize)+1
	counts := make([]int, cols*rows)
	most := 0
	for _, pt := range t.points {
		i, j := int((x(pt.X)-c.Min.X)/cellSize), int((y(pt.Y)-c.Min.Y)/cellSize)
		if i < 0 || i >= cols || j < 0 || j >= rows {
			continue
		}
		counts[j*cols+i]++
		most = max(most, counts[j*cols+i])
	}
	// One path a shade keeps the file small; shades are even in log count.
	for s, shade := range shades {
		var path vg.Path
		for k, count := range counts {
			if count == 0 || shadeOf(count, most) != s {
				continue
			}
			x0, y0 := c.Min.X+cellSize*vg.Length(k%cols), c.Min.Y+cellSize*vg.Length(k/cols)
			x1, y1 := min(x0+cellSize, c.Max.X), min(y0+cellSize, c.Max.Y)
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
func shadeOf(count, most int) int {
	if most <= 1 {
		return len(shades) - 1
	}
	s := math.Log(float64(count)) / math.Log(float64(most))
	return min(int(s*float64(len(shades))), len(shades)-1)
}
