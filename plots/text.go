package plots

import (
	"image/color"
	"math"
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
	base := y + blockHeight(f, len(lines))/2 - 0.5*f.Size - 0.35*f.Size
	c.SetColor(col)
	for _, s := range lines {
		c.FillString(fc, vg.Point{X: x - vg.Length(align)*fc.Width(s), Y: base}, s)
		base -= f.Size * leading
	}
}

// wrap breaks s into at most n lines no wider than width, after spaces and the
// signs that join the parts of a specification; what is left over is elided.
func wrap(f font.Font, s string, width vg.Length, n int) []string {
	var lines []string
	for len(lines) < n-1 && textWidth(f, s) > width {
		cut := breakAt(f, s, width)
		if cut == 0 {
			break
		}
		lines = append(lines, strings.TrimRight(s[:cut], " "))
		s = strings.TrimLeft(s[cut:], " ")
	}
	return append(lines, elide(f, s, width))
}

// breakAt returns the byte after which the first line of s ends, 0 if s has no
// place to break within width.
func breakAt(f font.Font, s string, width vg.Length) int {
	cut := 0
	for i, r := range s {
		if !strings.ContainsRune(" ,;:/+|", r) {
			continue
		}
		end := i + len(string(r))
		if textWidth(f, strings.TrimRight(s[:end], " ")) > width {
			break
		}
		cut = end
	}
	return cut
}

// elide shortens s in its middle until it fits: two specifications often differ
// at the end.
func elide(f font.Font, s string, width vg.Length) string {
	if textWidth(f, s) <= width {
		return s
	}
	r := []rune(s)
	lo, hi := 0, len(r) // the largest number of letters kept, by bisection
	short := func(k int) string {
		return string(r[:(k+1)/2]) + "…" + string(r[len(r)-k/2:])
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if textWidth(f, short(mid)) <= width {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return short(lo)
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
	if room := float64(hi - lo); total > room && total > 0 {
		for i := range offset {
			offset[i] *= max(room, 0) / total
		}
		total = room
	}
	// want - offset must ascend: isotonic regression by pooling neighbours.
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	for i := range want {
		p := pool{float64(want[i]) - offset[i], 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum/float64(last.n) <= p.sum/float64(p.n) {
				break
			}
			p = pool{p.sum + last.sum, p.n + last.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	centres := make([]vg.Length, 0, n)
	for _, p := range pools {
		at := math.Max(float64(lo), math.Min(float64(hi)-total, p.sum/float64(p.n)))
		for range p.n {
			centres = append(centres, vg.Length(at+offset[len(centres)]))
		}
	}
	return centres
}
