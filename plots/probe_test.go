package plots

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A probe is a canvas that keeps what is drawn, in coordinates of the page.
type probe struct {
	s      *Style
	w, h   vg.Length
	state  probeState
	stack  []probeState
	words  []word
	lines  []stroke
	fills  []stroke
	broken []string // coordinates that are not finite
}

type probeState struct {
	a, b, c, d, e, f float64 // x' = ax + cy + e, y' = bx + dy + f
	color            color.Color
	width            vg.Length
	dashes           []vg.Length
}

// A word is a string and the box that its signs fill.
type word struct {
	text           string
	size           vg.Length
	color          color.Color
	x0, y0, x1, y1 float64
	upright        bool
}

// A stroke is a path that was stroked or filled.
type stroke struct {
	points []vg.Point
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	radius vg.Length // of a circle
}

var _ vg.CanvasSizer = (*probe)(nil)

// paper is the style of the tests of numbers.
var paper = Paper()

// looks are all that a figure may look like.
func looks() []Style {
	all := styles()
	for _, s := range styles() {
		all = append(all, s.inTeX())
	}
	return all
}

// where names a look and a width of it.
func where(s Style, w Width) string {
	if s.roman {
		return fmt.Sprint(s, " in TeX, ", float64(w), " in")
	}
	return fmt.Sprint(s, ", ", float64(w), " in")
}

// look draws the figure at a width on a probe.
func look(f Figure, w Width) *probe { return lookIn(f, w, paper) }

// lookIn does so in a style.
func lookIn(f Figure, w Width, s Style) *probe {
	sh, err := f.in(&s)
	if err != nil {
		panic(err)
	}
	width, height := sh.size(w)
	p := &probe{s: &s, w: width, h: height, state: probeState{a: 1, d: 1, color: color.Black, width: 1}}
	sh.draw(draw.New(p))
	return p
}

func (p *probe) Size() (w, h vg.Length)                  { return p.w, p.h }
func (p *probe) SetLineWidth(w vg.Length)                { p.state.width = w }
func (p *probe) SetLineDash(ds []vg.Length, _ vg.Length) { p.state.dashes = ds }
func (p *probe) SetColor(c color.Color)                  { p.state.color = c }
func (p *probe) Push()                                   { p.stack = append(p.stack, p.state) }
func (p *probe) DrawImage(vg.Rectangle, image.Image)     { panic("no figure holds pixels") }

func (p *probe) Pop() {
	p.state = p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
}

func (p *probe) Rotate(t float64) {
	s, sin, cos := p.state, math.Sin(t), math.Cos(t)
	p.state.a, p.state.b = s.a*cos+s.c*sin, s.b*cos+s.d*sin
	p.state.c, p.state.d = s.c*cos-s.a*sin, s.d*cos-s.b*sin
}

func (p *probe) Translate(by vg.Point) {
	p.state.e += p.state.a*float64(by.X) + p.state.c*float64(by.Y)
	p.state.f += p.state.b*float64(by.X) + p.state.d*float64(by.Y)
}

func (p *probe) Scale(x, y float64) {
	p.state.a, p.state.b = p.state.a*x, p.state.b*x
	p.state.c, p.state.d = p.state.c*y, p.state.d*y
}

// page moves a point to the page.
func (p *probe) page(q vg.Point) vg.Point {
	x, y, s := float64(q.X), float64(q.Y), p.state
	out := vg.Point{X: vg.Length(s.a*x + s.c*y + s.e), Y: vg.Length(s.b*x + s.d*y + s.f)}
	if !(math.Abs(float64(out.X)) < 1e6 && math.Abs(float64(out.Y)) < 1e6) {
		p.broken = append(p.broken, fmt.Sprint(out))
	}
	return out
}

func (p *probe) keep(path vg.Path) stroke {
	s := stroke{color: p.state.color, width: p.state.width, dashes: p.state.dashes}
	for _, step := range path {
		switch step.Type {
		case vg.MoveComp, vg.LineComp:
			s.points = append(s.points, p.page(step.Pos))
		case vg.ArcComp:
			s.points, s.radius = []vg.Point{p.page(step.Pos)}, step.Radius
		}
	}
	return s
}

func (p *probe) Stroke(path vg.Path) { p.lines = append(p.lines, p.keep(path)) }
func (p *probe) Fill(path vg.Path)   { p.fills = append(p.fills, p.keep(path)) }

func (p *probe) FillString(f font.Face, at vg.Point, s string) {
	if s == "" {
		return
	}
	// Letters of the font reach from 0.21 em below the baseline to 0.73 above.
	w, size := p.s.textWidth(f.Font, s), f.Font.Size
	a, b := p.page(at.Add(vg.Point{Y: -0.21 * size})), p.page(at.Add(vg.Point{X: w, Y: 0.73 * size}))
	p.words = append(p.words, word{
		s, size, p.state.color,
		math.Min(float64(a.X), float64(b.X)), math.Min(float64(a.Y), float64(b.Y)),
		math.Max(float64(a.X), float64(b.X)), math.Max(float64(a.Y), float64(b.Y)),
		math.Abs(p.state.b) > 0.5,
	})
}

// circles returns the discs of a colour.
func (p *probe) circles(c color.Color) []vg.Point {
	var at []vg.Point
	for _, f := range p.fills {
		if f.radius > 0 && f.color == c {
			at = append(at, f.points[0])
		}
	}
	return at
}

// check tests what holds for every figure: nothing is clipped, no words
// overlap, and sizes are readable.
func (p *probe) check(t *testing.T) {
	t.Helper()
	if len(p.broken) > 0 {
		t.Errorf("coordinates are not finite: %s", p.broken[0])
	}
	for i, w := range p.words {
		if w.size < p.s.leastType {
			t.Errorf("%q is set in %.3g pt, want >= %v", w.text, float64(w.size), p.s.leastType)
		}
		if strings.HasPrefix(w.text, " ") {
			t.Errorf("%q begins with a space, which SVG drops", w.text)
		}
		if w.x0 < 0 || w.y0 < 0 || w.x1 > float64(p.w) || w.y1 > float64(p.h) {
			t.Errorf("%q at [%.1f, %.1f]x[%.1f, %.1f] is clipped by the page %.1fx%.1f", w.text, w.x0, w.x1, w.y0, w.y1, float64(p.w), float64(p.h))
		}
		for _, v := range p.words[:i] {
			scripts := w.size != v.size || w.size == p.s.script && (w.upright || p.s.roman) // in talk in TeX they have the size of labels
			if scripts && w.upright == v.upright && !w.near(v, 1.5*float64(p.s.unit)) {
				continue // they may touch their line, and the next
			}
			if w.overlaps(v, 0.3*float64(p.s.unit)) {
				t.Errorf("%q and %q overlap", v.text, w.text)
			}
		}
	}
	for _, l := range slices.Concat(p.lines, p.fills) {
		for _, q := range l.points {
			if r := float64(l.radius) - 0.01; float64(q.X) < r || float64(q.Y) < r || float64(q.X) > float64(p.w)-r || float64(q.Y) > float64(p.h)-r {
				t.Errorf("a mark at (%.1f, %.1f) of radius %.1f is clipped by the page %.1fx%.1f", float64(q.X), float64(q.Y), float64(l.radius), float64(p.w), float64(p.h))
			}
		}
	}
	for _, l := range p.lines {
		if l.width > 0 && l.width < p.s.leastLine { // none is drawn at width 0
			t.Errorf("a line is %.3g pt wide, want >= %v", float64(l.width), p.s.leastLine)
		}
	}
}

func (w word) overlaps(v word, slack float64) bool {
	return w.x0 < v.x1-slack && v.x0 < w.x1-slack && w.y0 < v.y1-slack && v.y0 < w.y1-slack
}

// near reports whether the boxes overlap by more than d in both directions.
func (w word) near(v word, d float64) bool {
	return math.Min(w.x1, v.x1)-math.Max(w.x0, v.x0) > d && math.Min(w.y1, v.y1)-math.Max(w.y0, v.y0) > d
}

// A scale maps data to the page along one axis, as a reader does by the numbers
// at the ticks.
type scale struct {
	log        bool
	at, factor float64 // page = at + factor*value (or its logarithm)
}

func (s scale) page(v float64) float64 {
	if s.log {
		v = math.Log10(v)
	}
	return s.at + s.factor*v
}

// scales reads the axes off the numbers: those of x share the lowest line of
// numbers, those of y end at the same place.
func (p *probe) scales(t *testing.T, logX, logY bool) (x, y scale) {
	t.Helper()
	type number struct{ value, x0, mid, right, low, high float64 }
	var numbers []number
	lowest := math.Inf(1)
	for _, w := range p.words {
		v := parse(w.text)
		if math.IsNaN(v) || w.size != paper.tick {
			continue
		}
		// Figures stand on the baseline and are 0.7 em high.
		base := w.y0 + 0.21*float64(paper.tick)
		numbers = append(numbers, number{v, w.x0, (w.x0 + w.x1) / 2, w.x1, base, base + 0.7*float64(paper.tick)})
		lowest = math.Min(lowest, base)
	}
	var xs, ys [][2]float64
	for _, n := range numbers {
		if math.Abs(n.low-lowest) < 0.1 {
			xs = append(xs, [2]float64{n.value, n.mid})
		} else {
			ys = append(ys, [2]float64{n.value, (n.low + n.high) / 2})
		}
	}
	fit := func(name string, ps [][2]float64, log bool) scale {
		if len(ps) < 2 {
			t.Fatalf("%s axis: %d numbers, want >= 2", name, len(ps))
		}
		a, b := ps[0], ps[len(ps)-1]
		if log {
			a[0], b[0] = math.Log10(a[0]), math.Log10(b[0])
		}
		k := (b[1] - a[1]) / (b[0] - a[0])
		return scale{log, a[1] - k*a[0], k}
	}
	return fit("x", xs, logX), fit("y", ys, logY)
}

type length = vg.Length

// parse reads a number of an axis.
func parse(s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "\u2212", "-"), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
