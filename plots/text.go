package plots

import (
	"image/color"
	"math"
	"regexp"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	_ "gonum.org/v1/plot/font/liberation" // the house's typeface
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// face returns the font with its metrics.
func face(f font.Font) font.Face {
	return plot.DefaultTextHandler.Cache().Lookup(f, f.Size)
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

// leading is the distance of lines over the size of their font.
const leading = 1.15

// textWidth returns the room that a word takes, its powers raised.
func (s *Style) textWidth(f font.Font, word string) vg.Length {
	if ps := powers(word); len(ps) > 1 {
		return s.piecesWidth(f, ps)
	}
	if s.roman {
		return romanWidth(f, word)
	}
	fc := face(f)
	return fc.Width(word)
}

// A setter is a canvas that sets words in fonts of its own, so that it has to
// know which point of a line stays in its place.
type setter interface {
	// set writes a line, of a title or not, on the baseline of at, into the room that
	// the layout leaves it; align as in drawBlock.
	set(f font.Font, at vg.Point, room vg.Length, align float64, line string, title bool)
}

// setterOf returns the setter below a canvas, nil if there is none.
func setterOf(c vg.Canvas) setter {
	for {
		switch inner := c.(type) {
		case setter:
			return inner
		case draw.Canvas:
			c = inner.Canvas
		case *draw.Canvas:
			c = inner.Canvas
		default:
			return nil
		}
	}
}

// write writes one line on the baseline of at.
func (s *Style) write(c vg.Canvas, f font.Font, at vg.Point, align float64, word string) {
	room := s.textWidth(f, word)
	if c := setterOf(c); c != nil {
		c.set(f, at, room, align, word, false)
		return
	}
	s.fill(c, f, vg.Point{X: at.X - vg.Length(align)*room, Y: at.Y}, powers(word))
}

// fill writes pieces from a point on.
func (s *Style) fill(c vg.Canvas, f font.Font, at vg.Point, ps []piece) {
	for _, p := range ps {
		pf, rise := s.pieceFont(f, p)
		// SVG drops spaces at either end of a text.
		word := strings.TrimLeft(p.text, " ")
		indent := s.textWidth(pf, p.text) - s.textWidth(pf, word)
		c.FillString(face(pf), vg.Point{X: at.X + indent, Y: at.Y + rise}, word)
		at.X += s.textWidth(pf, p.text)
	}
}

// numbering writes the numbers of axes, for gonum.
type numbering struct {
	text.Plain
	s *Style
}

func (s *Style) numbering() text.Handler {
	return numbering{text.Plain{Fonts: plot.DefaultTextHandler.Cache()}, s}
}

// Box has the width of the style.
func (n numbering) Box(word string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = n.Plain.Box(word, f)
	return n.s.textWidth(f, word), height, depth
}

// Draw writes a number that is not turned.
func (n numbering) Draw(c vg.Canvas, word string, sty text.Style, at vg.Point) {
	c.SetColor(sty.Color)
	at.Y += sty.Height(word)*vg.Length(sty.YAlign) - sty.FontExtents().Ascent + sty.Font.Size
	n.s.write(c, sty.Font, at, -float64(sty.XAlign), word)
}

// blockHeight is the height of n lines.
func blockHeight(f font.Font, n int) vg.Length {
	return f.Size * vg.Length(1+leading*float64(n-1))
}

// drawBlock writes lines whose block is centred at height y. align is 0 for
// text that starts at x, 0.5 centred, 1 for text that ends at x.
func (s *Style) drawBlock(c draw.Canvas, f font.Font, col color.Color, x, y vg.Length, align float64, lines []string) {
	// Figures and capitals are about 0.7 em high.
	base := y + blockHeight(f, len(lines))/2 - 0.85*f.Size
	c.SetColor(col)
	for _, line := range lines {
		s.write(c, f, vg.Point{X: x, Y: base}, align, line)
		base -= f.Size * leading
	}
}

// A ruler measures text of one kind and knows where it may be broken: after any
// of the signs in after.
type ruler struct {
	width func(string) vg.Length
	after string
}

// labelRuler is for labels: specifications also break where their parts join.
func (s *Style) labelRuler(f font.Font) ruler {
	return ruler{func(word string) vg.Length { return s.textWidth(f, word) }, " ,;:/+"}
}

// titleRuler is for titles of axes, which may hold scripts.
func (s *Style) titleRuler() ruler {
	return ruler{func(title string) vg.Length { return s.piecesWidth(sans(s.title), pieces(title)) }, " "}
}

// wrap breaks s into the fewest lines no wider than width, at most n, and makes
// them about even. What does not fit is elided.
func (r ruler) wrap(s string, width vg.Length, n int) []string {
	lines, whole := r.fill(s, width, n)
	if len(lines) == 1 || !whole {
		return lines
	}
	lo, hi := width/vg.Length(len(lines)+1), width
	for range 12 {
		mid := (lo + hi) / 2
		if even, whole := r.fill(s, mid, n); whole && len(even) <= len(lines) {
			lines, hi = even, mid
		} else {
			lo = mid
		}
	}
	return lines
}

// fill breaks s line by line and reports whether nothing had to be elided.
func (r ruler) fill(s string, width vg.Length, n int) (lines []string, whole bool) {
	for len(lines) < n-1 && r.width(s) > width {
		cut := r.breakAt(s, width)
		if cut == 0 {
			break
		}
		lines = append(lines, strings.TrimRight(s[:cut], " "))
		s = strings.TrimLeft(s[cut:], " ")
	}
	last := r.elide(s, width)
	return append(lines, last), last == s
}

// breakAt returns the byte after which the first line of s ends, 0 if s has no
// place to break within width.
func (r ruler) breakAt(s string, width vg.Length) int {
	cut := 0
	for i, sign := range s {
		end := i + len(string(sign))
		if !strings.ContainsRune(r.after, sign) || end == len(s) {
			continue
		}
		if r.width(strings.TrimRight(s[:end], " ")) > width {
			break
		}
		cut = end
	}
	return cut
}

// elide shortens s in its middle until it fits: two specifications often differ
// at the end.
func (r ruler) elide(s string, width vg.Length) string {
	if r.width(s) <= width {
		return s
	}
	all := []rune(s)
	short := func(k int) string {
		return string(all[:(k+1)/2]) + "…" + string(all[len(all)-k/2:])
	}
	lo, hi := 0, len(all) // the number of signs kept, by bisection
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if r.width(short(mid)) <= width {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return short(lo)
}

// A piece is a part of a title at one height: script is 1 raised, -1 lowered.
type piece struct {
	text   string
	script int
}

// A script in a title is written _{low} or ^{high}; all other signs mean
// themselves.
var script = regexp.MustCompile(`[_^]\{[^{}]*\}`)

// pieces splits a title at its scripts.
func pieces(s string) []piece {
	var out []piece
	from := 0
	for _, m := range script.FindAllStringIndex(s, -1) {
		if m[0] > from {
			out = append(out, piece{s[from:m[0]], 0})
		}
		height := 1
		if s[m[0]] == '_' {
			height = -1
		}
		out = append(out, piece{s[m[0]+2 : m[1]-1], height})
		from = m[1]
	}
	if from < len(s) {
		out = append(out, piece{s[from:], 0})
	}
	return out
}

// power is an exponent in a label, such as those of η^(1/3) and 2^t.
var power = regexp.MustCompile(`\^(?:\(([^(){}]*)\)|([0-9A-Za-z]+))`)

// raised writes the powers of a label as scripts.
func raised(label string) string { return power.ReplaceAllString(label, "^{$1$2}") }

// powers splits a label at its powers.
func powers(label string) []piece {
	if !power.MatchString(label) {
		return []piece{{label, 0}}
	}
	return pieces(raised(label))
}

// pieceFont returns the font of a piece of a line in a font, and how far it is raised.
func (s *Style) pieceFont(f font.Font, p piece) (font.Font, vg.Length) {
	switch p.script {
	case 1:
		return sans(s.script), 0.36 * f.Size
	case -1:
		return sans(s.script), -0.18 * f.Size
	}
	return f, 0
}

func (s *Style) piecesWidth(f font.Font, ps []piece) vg.Length {
	var w vg.Length
	for _, p := range ps {
		pf, _ := s.pieceFont(f, p)
		w += s.textWidth(pf, p.text)
	}
	return w
}

// drawTitle writes the lines of a title, centred at the point; upright titles
// run from below.
func (s *Style) drawTitle(c draw.Canvas, lines []string, at vg.Point, upright bool) {
	f := sans(s.title)
	c.Push()
	defer c.Pop()
	if upright {
		c.Rotate(math.Pi / 2)
		at = vg.Point{X: at.Y, Y: -at.X}
	}
	c.SetColor(black)
	base := at.Y + blockHeight(f, len(lines))/2 - 0.85*f.Size
	for _, line := range lines {
		ps := pieces(line)
		room := s.piecesWidth(f, ps)
		if t := setterOf(c); t != nil {
			t.set(f, vg.Point{X: at.X, Y: base}, room, 0.5, line, true)
		} else {
			s.fill(c, f, vg.Point{X: at.X - room/2, Y: base}, ps)
		}
		base -= leading * f.Size
	}
}

// plainTitle is a title without marks of scripts.
func plainTitle(s string) string {
	var b strings.Builder
	for _, p := range pieces(s) {
		switch p.script {
		case 1:
			b.WriteString("^(" + p.text + ")")
		case -1:
			b.WriteString("_" + p.text)
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// spread returns the centres of boxes of the given heights in [lo, hi] that
// keep their order, do not overlap and are nearest to want in the sum of
// squares. want must ascend. Boxes that do not fit overlap evenly.
func spread(want, heights []vg.Length, lo, hi vg.Length) []vg.Length {
	n := len(want)
	offset := make([]float64, n) // centre of box i above the bottom of a stack
	var total float64
	for i, h := range heights {
		offset[i] = total + float64(h)/2
		total += float64(h)
	}
	if room := math.Max(float64(hi-lo), 0); total > room {
		for i := range offset {
			offset[i] *= room / total
		}
		total = room
	}
	// want - offset must ascend: isotonic regression by pooling neighbours.
	type pool struct {
		sum float64
		n   int
	}
	mean := func(p pool) float64 { return p.sum / float64(p.n) }
	var pools []pool
	for i := range want {
		p := pool{float64(want[i]) - offset[i], 1}
		for len(pools) > 0 && mean(pools[len(pools)-1]) > mean(p) {
			last := pools[len(pools)-1]
			p = pool{p.sum + last.sum, p.n + last.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	centres := make([]vg.Length, 0, n)
	for _, p := range pools {
		at := math.Max(float64(lo), math.Min(float64(hi)-total, mean(p)))
		for range p.n {
			centres = append(centres, vg.Length(at+offset[len(centres)]))
		}
	}
	return centres
}
