package plots

import (
	"image/color"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	_ "gonum.org/v1/plot/font/liberation" // the house's typeface
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The house style. Sizes are final: a figure is drawn at the width at which it
// is printed, so that no font is below 7 pt and no line below 0.6 pt.
const (
	tickSize  = vg.Length(7)   // numbers at the ticks, keys
	nameSize  = vg.Length(7.5) // direct labels
	titleSize = vg.Length(8.5) // titles of axes

	scriptSize = vg.Length(7) // what is raised or lowered in them

	hairWidth  = vg.Length(0.6) // axes, ticks, grid, leaders, caps of intervals
	errorWidth = vg.Length(0.8) // intervals
	lineWidth  = vg.Length(1.2) // curves
	boundWidth = vg.Length(0.9) // caps, bounds and references

	dotRadius  = vg.Length(1.9)
	whiskerEnd = vg.Length(1.6) // half the bar across the end of an interval
	tickLength = vg.Length(2.5)
	margin     = vg.Length(2)  // around the page
	panelGap   = vg.Length(4)  // half the gap between panels
	keyLine    = vg.Length(14) // the piece of line in a key
	keyDot     = vg.Length(8)  // the room of a dot in a key
	keyFill    = vg.Length(9)  // the room of a colour in a key
	leading    = 1.15          // line distance over font size
)

// An ink is a colour for marks and its darker twin for words, which has a
// contrast of at least 4.5 to 1 on white.
type ink struct{ mark, word color.RGBA }

// inks are the colours of the series, in order of lightness (CIE L* 11, 32, 43,
// 56, 69), so that they stay apart in grey; TestPalette measures that, and
// their distance under three kinds of colour blindness.
var inks = [...]ink{
	{rgb(0x12174d), rgb(0x12174d)}, // navy
	{rgb(0xcc6f0c), rgb(0xa65605)}, // orange
	{rgb(0x06707c), rgb(0x06707c)}, // teal
	{rgb(0x8f1b38), rgb(0x8f1b38)}, // crimson
	{rgb(0x74acea), rgb(0x3a70b3)}, // sky
}

var (
	black     = rgb(0x000000)
	axisGrey  = rgb(0x404040)
	boundGrey = rgb(0x808080)
	gridGrey  = rgb(0xe4e4e4)
	white     = rgb(0xffffff)
	boundInk  = ink{boundGrey, rgb(0x606060)}
)

// shades colour the cells of a binned scatter, few cases to many.
var shades = [...]color.RGBA{
	rgb(0xd3dbe9), rgb(0xa9b8d4), rgb(0x7d90ba), rgb(0x4f6399), rgb(0x12174d),
}

// A kind says where the numbers of a curve come from; the dash tells it.
type kind int

const (
	closedForm kind = iota
	truncated
	meanField
	monteCarlo
)

var kinds = [...]struct {
	name   string
	dashes []vg.Length
}{
	closedForm: {"closed form", nil},
	truncated:  {"truncated", []vg.Length{5, 2}},
	meanField:  {"mean field", []vg.Length{1.3, 1.5}},
	monteCarlo: {"Monte Carlo", nil},
}

// shapes are the marks of points; a new one each time the inks have run out.
var shapes = [...]draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, diamond{}, draw.PyramidGlyph{},
}

// inkOf returns the colour of series i; beyond the palette they repeat.
func inkOf(i int) ink { return inks[i%len(inks)] }

// shapeOf returns the mark of series i.
func shapeOf(i int) draw.GlyphDrawer { return shapes[i/len(inks)%len(shapes)] }

// tint mixes c with white: share is that of c.
func tint(c color.RGBA, share float64) color.RGBA {
	mix := func(v uint8) uint8 { return uint8(255 - share*(255-float64(v)) + 0.5) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// veil is a see-through c for areas that may lie over each other.
func veil(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 51} } // a fifth

func rgb(v uint32) color.RGBA {
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// sans is Liberation Sans, which has Greek, the comparison signs and square
// roots, but neither superscripts beyond 3 nor a nabla.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func bold(size vg.Length) font.Font {
	f := sans(size)
	f.Weight = stdfont.WeightBold
	return f
}
