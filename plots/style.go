package plots

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Style is how figures look: Paper or Talk. Sizes are final: a figure is drawn
// at the width at which it is shown. Render refuses the zero Style.
type Style struct {
	name         string
	column, page Width     // of figures in a column, and across a page or slide
	least        Width     // that words have room in
	unit         vg.Length // what a point of a distance on paper is here

	sizes          // of type
	texSizes sizes // of type in TeX, whose own fonts come in steps
	lines

	dot    vg.Length                   // radius
	dashes [monteCarlo + 1][]vg.Length // of the kinds of curves

	inks   []ink
	shades []color.RGBA // the cells of a binned scatter, few cases to many
	heat   []color.RGBA // the cells of a map, small values to large
	// diverging is the same for values on both sides of its middle one.
	diverging []color.RGBA
	grey      greys
	shapes    []draw.GlyphDrawer // the marks of points; a new one each time the inks have run out

	leastType, leastLine vg.Length // what nothing is below

	roman bool // type is that of a document, which is measured as Computer Modern
}

// sizes are those of type, in points.
type sizes struct {
	tick   vg.Length // numbers at the ticks, keys
	label  vg.Length // direct labels
	title  vg.Length // titles of axes
	script vg.Length // what is raised or lowered in them
}

// lines are widths of lines, in points.
type lines struct {
	hair     vg.Length // axes, ticks, grid, leaders, caps of intervals
	interval vg.Length
	curve    vg.Length
	bound    vg.Length // caps, bounds and references
}

// greys are the colours of what is no series.
type greys struct {
	axis, grid color.RGBA
	bound      ink
}

// An ink is a colour for marks and its darker twin for words, which has a
// contrast of at least 4.5 to 1 on white.
type ink struct{ mark, word color.RGBA }

// Paper returns the style of a column or a page of a paper: type of 7 to 8.5 pt,
// no line below 0.6 pt.
func Paper() Style {
	return Style{
		name:   "paper",
		column: OneColumn, page: TwoColumn, least: 2, unit: 1,

		sizes:    sizes{tick: 7, label: 7.5, title: 8.5, script: 7},
		texSizes: sizes{tick: 8, label: 8, title: 9, script: 7},
		lines:    lines{hair: 0.6, interval: 0.8, curve: 1.2, bound: 0.9},

		dot: 1.9,
		dashes: [...][]vg.Length{
			closedForm: nil,
			truncated:  {5, 2},
			meanField:  {1.3, 1.5},
			monteCarlo: nil,
		},

		// In order of lightness (CIE L* 11, 32, 43, 56, 69), so that they stay apart in
		// grey; TestPalette measures that, and their distance under three kinds of
		// colour blindness.
		inks: []ink{
			{rgb(0x12174d), rgb(0x12174d)}, // navy
			{rgb(0xcc6f0c), rgb(0xa65605)}, // orange
			{rgb(0x06707c), rgb(0x06707c)}, // teal
			{rgb(0x8f1b38), rgb(0x8f1b38)}, // crimson
			{rgb(0x74acea), rgb(0x3a70b3)}, // sky
		},
		shades: []color.RGBA{
			rgb(0xd3dbe9), rgb(0xa9b8d4), rgb(0x7d90ba), rgb(0x4f6399), rgb(0x12174d),
		},
		// Nine even steps of CIE L*a*b* from (95, -1, -4) to (13, 19, -35), L* 10.3 apart.
		heat: []color.RGBA{
			rgb(0xebf2f8), rgb(0xcfd3e2), rgb(0xb4b6cd), rgb(0x9a99b7), rgb(0x807da3), rgb(0x66638e), rgb(0x4d497a), rgb(0x333166), rgb(0x161b53),
		},
		// Five even steps each from (95, 0, 0) to (38, 31, 44) and to (38, -2, -35).
		diverging: []color.RGBA{
			rgb(0x92420e), rgb(0xaa643a), rgb(0xc08565), rgb(0xd3a892), rgb(0xe3ccc0), rgb(0xf1f1f1),
			rgb(0xc9d1dd), rgb(0xa2b3ca), rgb(0x7a95b7), rgb(0x4f79a5), rgb(0x105d92),
		},
		grey: greys{
			axis: rgb(0x404040), grid: rgb(0xe4e4e4),
			bound: ink{rgb(0x808080), rgb(0x606060)},
		},
		shapes: []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, diamond{}, draw.PyramidGlyph{}},

		leastType: 7, leastLine: 0.6,
	}
}

// Talk returns the style of a slide 13.33 inches wide, half of it or all: twice
// the type of Paper and more than twice its lines, in its colours. Type is of 14
// to 17 pt, no line below 1.25 pt.
func Talk() Style {
	s := Paper()
	s.name = "talk"
	s.column, s.page, s.least, s.unit = 6, 12.5, 3.6, 2
	s.sizes = sizes{tick: 14, label: 15, title: 17, script: 14}
	s.texSizes = sizes{tick: 14.4, label: 14.4, title: 17.28, script: 14.4}
	s.lines = lines{hair: 1.25, interval: 1.9, curve: 2.8, bound: 2}
	s.dot = 3.9
	s.dashes[truncated], s.dashes[meanField] = []vg.Length{11, 4.5}, []vg.Length{3, 3.3}
	s.leastType, s.leastLine = 14, 1.25
	return s
}

// styles are all there are.
func styles() []Style { return []Style{Paper(), Talk()} }

// Styles lists the names of all styles.
func Styles() []string {
	var names []string
	for _, s := range styles() {
		names = append(names, s.name)
	}
	return names
}

// ParseStyle returns the style of a name.
func ParseStyle(name string) (Style, error) {
	for _, s := range styles() {
		if s.name == name {
			return s, nil
		}
	}
	return Style{}, fmt.Errorf("plots: style = %q, want one of %s", name, strings.Join(Styles(), ", "))
}

// String returns the style's name.
func (s Style) String() string { return s.name }

// Width returns the width in this style of what is w wide on paper: its column
// for OneColumn, its page for TwoColumn, and others in proportion.
func (s Style) Width(w Width) Width {
	switch w {
	case OneColumn:
		return s.column
	case TwoColumn:
		return s.page
	}
	return w * s.column / OneColumn
}

// inkOf returns the colour of series i; beyond the palette they repeat.
func (s *Style) inkOf(i int) ink { return s.inks[i%len(s.inks)] }

// shapeOf returns the mark of series i.
func (s *Style) shapeOf(i int) draw.GlyphDrawer { return s.shapes[i/len(s.inks)%len(s.shapes)] }

// pt returns a distance that is v points on paper.
func (s *Style) pt(v vg.Length) vg.Length { return v * s.unit }

// pen returns the line style of a colour.
func pen(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}
