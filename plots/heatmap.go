package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// hues are the colours of values in [lo, hi].
type hues struct {
	lo, hi float64
	ramp   []color.RGBA // even steps
	seen   span         // of the values that there are
}

// of returns the colour of a value; the middle one where all are the same.
func (h hues) of(v float64) color.RGBA {
	share := 0.5
	if h.hi > h.lo {
		share = v/(h.hi-h.lo) - h.lo/(h.hi-h.lo) // v-lo may overflow
	}
	at := math.Max(0, math.Min(1, share)) * float64(len(h.ramp)-1)
	k := min(int(at), len(h.ramp)-2)
	return blend(h.ramp[k], h.ramp[k+1], at-float64(k))
}

// blend mixes two colours: share is that of b.
func blend(a, b color.RGBA, share float64) color.RGBA {
	mix := func(v, w uint8) uint8 { return uint8(math.Round(float64(v) + share*(float64(w)-float64(v)))) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// wordOn returns black or white, whichever has more contrast with a colour: their
// contrasts (WCAG 2) are equal at relative luminance sqrt(1.05*0.05)-0.05 = 0.179.
func wordOn(c color.RGBA) color.RGBA {
	light := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) } // sRGB, near enough
	if 0.2126*light(c.R)+0.7152*light(c.G)+0.0722*light(c.B) < 0.179 {
		return white
	}
	return black
}

// A heatMap is what the maps of a figure share.
type heatMap struct {
	s        *Style
	hues     hues
	reasons  []string // of missing values; a hatch each
	decimals int
	mark     bool // there are cells below the middle of the colours: they have a mark, as grey does not tell them
}

// heatCells draws the cells of one map.
type heatCells struct {
	*heatMap
	cells [][]HeatCell
}

func (h heatCells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	gap := min(h.s.pt(0.4), (x(1)-x(0))/8, (y(1)-y(0))/8) // white between cells
	for i, cells := range h.cells {
		for k, cell := range cells {
			box := vg.Rectangle{
				Min: vg.Point{X: x(float64(k)-0.5) + gap, Y: y(float64(i)-0.5) + gap},
				Max: vg.Point{X: x(float64(k)+0.5) - gap, Y: y(float64(i)+0.5) - gap},
			}
			if why := cell.why(); why != "" {
				h.hatch(c, box, slices.Index(h.reasons, why))
				continue
			}
			h.cell(c, box, cell)
		}
	}
}

// cell fills the box of a value and writes what has room of it.
func (h heatCells) cell(c draw.Canvas, box vg.Rectangle, cell HeatCell) {
	s, v := h.s, settle(cell.Value.Value)
	fill := h.hues.of(v)
	fillRect(c, fill, box.Min.X, box.Min.Y, box.Max.X, box.Max.Y)
	if h.mark && v < (h.hues.lo+h.hues.hi)/2 {
		h.below(c, box, wordOn(fill))
	}
	lines := []string{h.number(v)}
	if q := (Point{0, v, cell.Low, cell.High}); q.hasInterval() {
		if half := (q.High - q.Low) / 2; half > 1e-9*math.Abs(v) { // not what rounding leaves of none
			lines = append(lines, "±"+h.small(half))
		}
	}
	for n := len(lines); n > 0; n-- {
		if h.hasRoom(box, lines[:n]) {
			s.drawBlock(c, sans(s.tick), wordOn(fill), (box.Min.X+box.Max.X)/2, (box.Min.Y+box.Max.Y)/2, 0.5, lines[:n])
			return
		}
	}
}

func (h *heatMap) number(v float64) string { return number(v, h.decimals, 3) }

// small prints a number of its own size, with up to two decimals more than the values.
func (h *heatMap) small(v float64) string {
	more := 0
	for more < 2 && v < 0.5*math.Pow10(-h.decimals-more) {
		more++
	}
	return number(v, h.decimals+more, 1)
}

func (h *heatMap) hasRoom(box vg.Rectangle, lines []string) bool {
	size, f := box.Size(), sans(h.s.tick)
	for _, line := range lines {
		if h.s.textWidth(f, line) > size.X-h.s.pt(2) {
			return false
		}
	}
	return blockHeight(f, len(lines)) <= size.Y
}

// below marks a box whose value lies below the middle: a triangle in its corner.
func (h *heatMap) below(c draw.Canvas, box vg.Rectangle, col color.Color) {
	r := min(h.s.pt(3.2), box.Size().X/3, box.Size().Y/3)
	c.FillPolygon(col, []vg.Point{{X: box.Max.X, Y: box.Min.Y}, {X: box.Max.X, Y: box.Min.Y + r}, {X: box.Max.X - r, Y: box.Min.Y}})
}

// hatchStep is the distance of the lines of a hatch.
const hatchStep = vg.Length(3.5)

// hatch draws the frame of a box without a value and the lines of its reason: rising,
// falling, or both.
func (h *heatMap) hatch(c draw.Canvas, box vg.Rectangle, reason int) {
	style := pen(h.s.grey.bound.mark, h.s.hair)
	w, t := box.Size().X, box.Size().Y
	step := h.s.pt(hatchStep)
	for d := step / 2; d < w+t; d += step { // x + y = d from the lower left, cut to the box
		x0, x1 := max(0, d-t), min(d, w)
		if reason != 0 {
			c.StrokeLine2(style, box.Min.X+x0, box.Min.Y+d-x0, box.Min.X+x1, box.Min.Y+d-x1)
		}
		if reason != 1 {
			c.StrokeLine2(style, box.Max.X-x0, box.Min.Y+d-x0, box.Max.X-x1, box.Min.Y+d-x1)
		}
	}
}

// bar shows the colours between the least value and the largest.
func (h *heatMap) bar() sample {
	s, seen := h.s, h.hues.seen
	lo, hi := h.number(seen.min), h.number(seen.max)
	if lo == hi {
		return s.fillSample(hi, h.hues.of(seen.max))
	}
	left := s.textWidth(sans(s.tick), lo) + s.pt(keySkip)
	wide := s.pt(3 * keyLine)
	return sample{hi, left + wide + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		const steps = 48
		s.drawBlock(c, sans(s.tick), black, box.Min.X, (box.Min.Y+box.Max.Y)/2, 0, []string{lo})
		from := box.Min.X + left
		for k := range steps {
			share := (float64(k) + 0.5) / steps
			fillRect(c, h.hues.of(seen.min*(1-share)+seen.max*share), from+wide*vg.Length(k)/steps, box.Min.Y+s.pt(2), from+wide, box.Max.Y-s.pt(2))
		}
	}}
}

// belowSample shows the mark of values below the middle.
func (h *heatMap) belowSample(text string) sample {
	s := h.s
	return sample{text, s.pt(keyFill) + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		box.Min.Y, box.Max.Y = box.Min.Y+s.pt(2), box.Max.Y-s.pt(2)
		box.Max.X = box.Min.X + s.pt(keyFill)
		fill := h.hues.of(h.hues.lo*0.75 + h.hues.hi*0.25)
		fillRect(c, fill, box.Min.X, box.Min.Y, box.Max.X, box.Max.Y)
		h.below(c, box, wordOn(fill))
	}}
}

// hatchSample shows the hatch of a reason.
func (h *heatMap) hatchSample(text string, reason int) sample {
	s := h.s
	return sample{text, s.pt(keyFill) + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		box.Min.Y, box.Max.Y = box.Min.Y+s.pt(1), box.Max.Y-s.pt(1)
		box.Max.X = box.Min.X + s.pt(keyFill)
		h.hatch(c, box, reason)
	}}
}
