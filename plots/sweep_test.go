package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// places returns the middles of the words of a text, from left to right.
func (p *probe) places(text string) []vg.Point {
	var at []vg.Point
	for _, w := range p.words {
		if w.text == text {
			at = append(at, vg.Point{X: vg.Length(w.x0+w.x1) / 2, Y: vg.Length(w.y0) + 0.56*w.size}) // figures are 0.7 em high
		}
	}
	slices.SortFunc(at, func(a, b vg.Point) int { return cmp.Compare(a.X, b.X) })
	return at
}

// between returns the scale on which a number stands at either place.
func between(a, b, atA, atB float64) scale {
	k := (atB - atA) / (b - a)
	return scale{at: atA - k*a, factor: k}
}

func TestNumbersReachLines(t *testing.T) {
	one := sampleLines()
	one.Panels = one.Panels[:1]
	p := look(must(Lines(one)), OneColumn)
	x, y := p.scales(t, false, false)
	for i, l := range one.Panels[0].Lines {
		for _, q := range l.Points {
			if !p.hasDot(q, x, y, paper.inkOf(i).mark, aside(i, 3)) {
				t.Errorf("%s: no dot with its interval at %+v", l.Label, q)
			}
		}
	}
	if !strings.Contains(p.text(), "rounds = 4") || !p.hasCurve([]Point{At(1.2, 1), At(3, 1)}, x, y, paper.grey.bound.mark, nil) {
		t.Error("a direct label or the reference is missing")
	}
}

// TestNumbersReachPanels reads every panel by the numbers below its column and left of
// its row.
func TestNumbersReachPanels(t *testing.T) {
	d := sampleLines()
	p := look(must(Lines(d)), TwoColumn)
	left, right := p.places("1.5"), p.places("3.0") // the first of them at y: in two rows
	ones, twos := p.places("1.0"), p.places("2.0")[:2]
	if len(left) != 5 || len(right) != 3 || len(ones) != 2 {
		t.Fatalf("numbers at %v, %v, %v: want them below three columns, left of two rows", left, right, ones)
	}
	for i, q := range d.Panels {
		column, row := i%3, i/3
		x := between(1.5, 3, float64(left[2+column].X), float64(right[column].X))
		high := func(at []vg.Point) float64 { // the first row is above the second
			ys := []float64{float64(at[0].Y), float64(at[1].Y)}
			slices.Sort(ys)
			return ys[1-row]
		}
		y := between(1, 2, high(ones), high(twos))
		for k, l := range q.Lines {
			for _, point := range l.Points {
				if !p.hasDot(point, x, y, paper.inkOf(k).mark, aside(k, 3)) {
					t.Errorf("%s, %s: no dot with its interval at %+v", q.Head, l.Label, point)
				}
			}
		}
		head := p.places(q.Head)
		if len(head) != 1 || float64(head[0].X) < x.page(1.2) || float64(head[0].X) > x.page(3) || float64(head[0].Y) < y.page(2) {
			t.Errorf("%s stands at %v, want it above its panel", q.Head, head)
		}
	}
	for _, once := range []string{"shape", "progress, fixed groups = 1", "rounds = 2", "rounds = 3", "rounds = 4", "fixed groups"} {
		if n := len(p.places(once)); n != 1 && !strings.Contains(once, "progress") {
			t.Errorf("%q stands there %d times, want once", once, n)
		}
	}
}

// TestManyPointsAreACurve: a line of more points than have room for marks has a band.
func TestManyPointsAreACurve(t *testing.T) {
	for n, marks := range map[int]bool{maxMarks: true, maxMarks + 1: false} {
		l := SweepLine{Label: "a", Points: line(n, 0.1, 0.5)}
		p := look(must(Lines(LinesData{X: "x", Y: "y", Reference: nan, Panels: []LinesPanel{{"", []SweepLine{l}}}})), OneColumn)
		band := slices.ContainsFunc(p.fills, func(s stroke) bool { return s.color == color.Color(veil(paper.inkOf(0).mark)) })
		if got := len(p.circles(paper.inkOf(0).mark)); (got == n) != marks || band == marks {
			t.Errorf("%d points: %d marks and a band %v", n, got, band)
		}
	}
}

// TestApart: points that differ in more than X are marks, and no line joins them, however
// many they are.
func TestApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for _, n := range []int{3, maxMarks + 1} {
			l := SweepLine{Label: "a", Points: line(n, 0.1, 0.5)}
			p := look(must(Lines(LinesData{X: "x", Y: "y", Reference: nan, Apart: apart, Panels: []LinesPanel{{"", []SweepLine{l}}}})), OneColumn)
			joined := slices.ContainsFunc(p.lines, func(s stroke) bool {
				return len(s.points) >= 2 && s.points[len(s.points)-1].X-s.points[0].X > 10 && (s.color == color.Color(tint(paper.inkOf(0).mark, 0.45)) || s.color == color.Color(paper.inkOf(0).mark))
			})
			if marks := len(p.circles(paper.inkOf(0).mark)) == n; joined == apart || marks != (apart || n <= maxMarks) {
				t.Errorf("%d points, apart %v: joined %v, marks %v", n, apart, joined, marks)
			}
		}
	}
}

// TestNumbersReachHeat reads the cells by the labels of their rows and columns: number,
// half interval and colour; one without a value is hatched.
func TestNumbersReachHeat(t *testing.T) {
	for name, d := range map[string]HeatData{"one hue": sampleHeat(), "about 1": func() HeatData { d := sampleHeat(); d.About = 1; return d }()} {
		p := look(must(Heat(d)), OneColumn)
		h := d.hues(&paper, span{0.8, 2.4})
		for i, cells := range d.Panels[0].Cells {
			rows := p.places(d.Rows[i])
			for k, cell := range cells {
				columns := p.places(d.Columns[k])
				at := vg.Point{X: columns[len(columns)-1].X, Y: rows[0].Y} // labels of rows are left of all
				text, half := fmt.Sprintf("%.2f", cell.Value.Value), "±0.02"
				if cell.why() != "" {
					if !p.hatchedAt(at) {
						t.Errorf("%s: row %s, column %s: no hatch", name, d.Rows[i], d.Columns[k])
					}
					continue
				}
				if !nearWord(p.places(text), at, 10) || !nearWord(p.places(half), at, 10) {
					t.Errorf("%s: row %s, column %s: no %s with %s", name, d.Rows[i], d.Columns[k], text, half)
				}
				if got, want := p.colourAt(at), h.of(cell.Value.Value); got != want {
					t.Errorf("%s: row %s, column %s: colour %v, want %v", name, d.Rows[i], d.Columns[k], got, want)
				}
				if p.hatchedAt(at) {
					t.Errorf("%s: row %s, column %s is hatched", name, d.Rows[i], d.Columns[k])
				}
			}
		}
		for _, text := range []string{"failed", "not in the sweep", "0.80", "2.40"} {
			if !strings.Contains(p.text(), text) {
				t.Errorf("%s: the key does not say %s", name, text)
			}
		}
		if got := strings.Contains(p.text(), "below 1"); got != (name == "about 1") {
			t.Errorf("%s: the key says below 1: %v", name, got)
		}
	}
}

func nearWord(places []vg.Point, at vg.Point, d float64) bool {
	return slices.ContainsFunc(places, func(q vg.Point) bool { return math.Abs(float64(q.X-at.X)) < 3 && math.Abs(float64(q.Y-at.Y)) < d })
}

// colourAt returns the colour of the box that lies uppermost at a place.
func (p *probe) colourAt(at vg.Point) color.Color {
	var seen color.Color
	for _, f := range p.fills {
		if len(f.points) >= 4 && f.points[0].X <= at.X && at.X <= f.points[2].X && f.points[0].Y <= at.Y && at.Y <= f.points[2].Y {
			seen = f.color
		}
	}
	return seen
}

// hatchedAt reports whether slanting lines pass within a step of a place.
func (p *probe) hatchedAt(at vg.Point) bool {
	n := 0
	for _, l := range p.lines {
		if l.color != color.Color(paper.grey.bound.mark) || len(l.points) != 2 {
			continue
		}
		a, b := l.points[0], l.points[1]
		if math.Abs(math.Abs(float64(b.X-a.X))-math.Abs(float64(b.Y-a.Y))) < 1e-6 && math.Min(float64(a.X), float64(b.X)) <= float64(at.X) &&
			float64(at.X) <= math.Max(float64(a.X), float64(b.X)) && math.Min(float64(a.Y), float64(b.Y)) <= float64(at.Y)+4 && float64(at.Y)-4 <= math.Max(float64(a.Y), float64(b.Y)) {
			n++
		}
	}
	return n > 1
}

// TestBelowIsMarked: on both sides of the middle of a map the colours are alike in grey;
// the cells below it have a mark in their corner, and the key one.
func TestBelowIsMarked(t *testing.T) {
	d := sampleHeat()
	d.About = 1.5
	p := look(must(Heat(d)), OneColumn)
	below := 0
	for _, r := range d.Table() {
		if r.Y < 1.5 {
			below++
		}
	}
	marks := 0
	for _, f := range p.fills {
		if len(f.points) == 3 {
			marks++
		}
	}
	if marks != below+1 {
		t.Errorf("%d marks, want those of %d cells and of the key", marks, below)
	}
}

// TestMapColours: lightness falls in even steps over the whole of a map, the two sides of
// a diverging one are alike in grey and far apart in colour under every colour blindness,
// and words are readable on all of it.
func TestMapColours(t *testing.T) {
	for _, s := range styles() {
		for name, ramp := range map[string][]color.RGBA{"heat": s.heat, "above": s.diverging[5:]} {
			h := hues{0, 1, ramp, span{0, 1}}
			first, last := lab(linear(h.of(0)))[0], lab(linear(h.of(1)))[0]
			if first-last < 50 {
				t.Errorf("%v, %s: lightness from %.1f to %.1f, want 50 of it", s, name, first, last)
			}
			for k := range 101 {
				share := float64(k) / 100
				if got, want := lab(linear(h.of(share)))[0], first+share*(last-first); math.Abs(got-want) > 1 {
					t.Errorf("%v, %s: lightness %.1f at %v, want %.1f", s, name, got, share, want)
				}
			}
		}
		two := hues{0, 1, s.diverging, span{0, 1}}
		for k := range 51 {
			share := float64(k) / 100
			a, b := linear(two.of(share)), linear(two.of(1-share))
			if d := lab(a)[0] - lab(b)[0]; math.Abs(d) > 1 {
				t.Errorf("%v: lightness differs by %.1f at %v of the middle", s, d, 0.5-share)
			}
			for kind, m := range blindness {
				p, q := lab(seen(m, a)), lab(seen(m, b))
				if d := math.Hypot(p[1]-q[1], p[2]-q[2]); share <= 0.25 && d < 20 {
					t.Errorf("%v, %s: colours differ by %.1f at %v of the middle, want 20", s, kind, d, 0.5-share)
				}
			}
		}
		for _, h := range []hues{two, {0, 1, s.heat, span{0, 1}}} {
			for k := range 101 {
				c := h.of(float64(k) / 100)
				a, b := luminance(linear(c))+0.05, luminance(linear(wordOn(c)))+0.05
				if contrast := math.Max(a, b) / math.Min(a, b); contrast < 4.5 {
					t.Errorf("%v: words on %v have contrast %.2f, want >= 4.5", s, c, contrast)
				}
			}
		}
	}
}

// TestAbreast: how many of n panels stand side by side, where so many were wanted and so
// many fit.
func TestAbreast(t *testing.T) {
	for _, c := range []struct{ n, wanted, fit, want int }{
		{6, 3, 3, 3}, {6, 3, 5, 3}, {6, 3, 2, 2}, {12, 4, 3, 2}, {8, 0, 3, 3}, {4, 0, 3, 2}, {5, 0, 8, 5}, {7, 0, 6, 4}, {3, 0, 0, 1}, {10, 5, 3, 3}, {1, 1, 4, 1},
	} {
		if got := abreast(c.n, c.wanted, c.fit); got != c.want {
			t.Errorf("abreast(%d, %d, %d) = %d, want %d", c.n, c.wanted, c.fit, got, c.want)
		}
	}
}

// TestLetters: columns beyond Z have two letters.
func TestLetters(t *testing.T) {
	for k, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 27: "AB", 52: "BA", 59: "BH"} {
		if got := letterOf(k); got != want {
			t.Errorf("letterOf(%d) = %s, want %s", k, got, want)
		}
	}
}
