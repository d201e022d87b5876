package plots

import (
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// face returns the font with its metrics.
func face(f font.Font) font.Face {
	return plot.DefaultTextHandler.Cache().Lookup(f, f.Size)
}

func textWidth(f font.Font, s string) vg.Length {
	fc := face(f)
	return fc.Width(s)
}

// blockHeight is the height of n lines.
func blockHeight(f font.Font, n int) vg.Length {
	return f.Size * vg.Length(1+leading*float64(n-1))
}

// drawBlock writes lines whose block is centred at height y. align is 0 for
// text that starts at x, 0.5 centred, 1 for text that ends at x.
func drawBlock(c draw.Canvas, f font.Font, col color.Color, x, y vg.Length, align float64, lines []string) {
	fc := face(f)
	// Figures and capitals are about 0.7 em high.
	base := y + blockHeight(f, len(lines))/2 - 0.85*f.Size
	c.SetColor(col)
	for _, s := range lines {
		c.FillString(fc, vg.Point{X: x - vg.Length(align)*fc.Width(s), Y: base}, s)
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
func labelRuler(f font.Font) ruler {
	return ruler{func(s string) vg.Length { return textWidth(f, s) }, " ,;:/+"}
}

// titleRuler is for titles of axes, which may hold scripts.
func titleRuler() ruler {
	f := sans(titleSize)
	return ruler{func(s string) vg.Length { return piecesWidth(pieces(s), f) }, " "}
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

// font returns the piece's font and how far it is raised.
func (p piece) font(f font.Font) (font.Font, vg.Length) {
	switch p.script {
	case 1:
		return font.From(f, scriptSize), 0.36 * f.Size
	case -1:
		return font.From(f, scriptSize), -0.18 * f.Size
	}
	return f, 0
}

func piecesWidth(ps []piece, f font.Font) vg.Length {
	var w vg.Length
	for _, p := range ps {
		pf, _ := p.font(f)
		w += textWidth(pf, p.text)
	}
	return w
}

// drawTitle writes the lines of a title, centred at the point; upright titles
// run from below.
func drawTitle(c draw.Canvas, lines []string, at vg.Point, upright bool) {
	f := sans(titleSize)
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
		x := at.X - piecesWidth(ps, f)/2
		for _, p := range ps {
			pf, rise := p.font(f)
			// SVG drops spaces at either end of a text.
			word := strings.TrimLeft(p.text, " ")
			indent := textWidth(pf, p.text) - textWidth(pf, word)
			c.FillString(face(pf), vg.Point{X: x + indent, Y: base + rise}, word)
			x += textWidth(pf, p.text)
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
