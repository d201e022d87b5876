package plots

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"golang.org/x/image/font/sfnt"
)

// A Point is a figure Y at X with its interval [Low, High] in Y. No interval is
// drawn where Low or High is NaN, or both are zero.
type Point struct{ X, Y, Low, High float64 }

// At returns a point without an interval.
func At(x, y float64) Point { return Point{x, y, math.NaN(), math.NaN()} }

// A Value is a figure with its interval, as in Point.
type Value struct{ Value, Low, High float64 }

// A Family is one law, shape or strategy: its curves and its sampled points. Any
// of them may be empty.
type Family struct {
	Label      string
	ClosedForm []Point
	Truncated  []Point
	MeanField  []Point
	MonteCarlo []Point
}

// of returns the points of a kind.
func (f Family) of(k kind) []Point {
	return [...][]Point{f.ClosedForm, f.Truncated, f.MeanField, f.MonteCarlo}[k]
}

// Numbers beyond huge are dropped like infinities, and those below tiny count
// as zero: the distance of two of them would overflow or vanish.
const (
	huge = 1e100
	tiny = 1e-100
)

// maxSeries is the number of series that can still be told apart at all.
const maxSeries = 40

// usable reports whether v can be drawn.
func usable(v float64) bool { return math.Abs(v) <= huge }

// settle replaces what is indistinguishable from zero by zero.
func settle(v float64) float64 {
	if math.Abs(v) < tiny {
		return 0
	}
	return v
}

// hasInterval reports whether [Low, High] is to be drawn.
func (p Point) hasInterval() bool {
	return usable(p.Low) && usable(p.High) && p.Low <= p.Y && p.Y <= p.High &&
		(p.Low != 0 || p.High != 0)
}

// badInterval reports whether an interval was given that does not hold Y.
func (p Point) badInterval() bool {
	given := !math.IsNaN(p.Low) && !math.IsNaN(p.High) && (p.Low != 0 || p.High != 0)
	return given && !p.hasInterval()
}

// notes collects what a reader of the figure has to know: points dropped,
// intervals left out, letters that the font lacks.
type notes []string

func (n *notes) add(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	for _, have := range *n {
		if have == s {
			return
		}
	}
	*n = append(*n, s)
}

// runs splits points at those that cannot be drawn, which are counted: a curve
// must not bridge a gap. name says in the note whose points they are.
func (n *notes) runs(name string, points []Point) [][]Point {
	var runs [][]Point
	var run []Point
	dropped, bare := 0, 0
	for _, p := range points {
		if !usable(p.X) || !usable(p.Y) {
			dropped++
			if run != nil {
				runs, run = append(runs, run), nil
			}
			continue
		}
		if p.badInterval() {
			bare++
		}
		p.X, p.Y = settle(p.X), settle(p.Y)
		if !p.hasInterval() {
			p.Low, p.High = math.NaN(), math.NaN()
		}
		run = append(run, p)
	}
	if run != nil {
		runs = append(runs, run)
	}
	if dropped > 0 {
		n.add("%s: %d of %d points dropped (not finite)", name, dropped, len(points))
	}
	if bare > 0 {
		n.add("%s: %d intervals left out (not finite or without their point)", name, bare)
	}
	return runs
}

// clean returns a label that every format can hold: one line of valid UTF-8. It
// notes letters that the font cannot show.
func (n *notes) clean(label string) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		// XML has no place for these, not even escaped.
		if r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(label, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	var buf sfnt.Buffer
	f := face(sans(10))
	for _, r := range s {
		if g, err := f.Face.GlyphIndex(&buf, r); err != nil || g == 0 {
			n.add("label %q: the font has no sign for %q", s, r)
		}
	}
	return s
}

// A span is the range of the numbers on an axis.
type span struct{ min, max float64 }

func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s span) empty() bool { return s.min > s.max }

// with returns the span widened to hold the finite ones of v.
func (s span) with(v ...float64) span {
	for _, x := range v {
		if usable(x) {
			s.min, s.max = min(s.min, x), max(s.max, x)
		}
	}
	return s
}

// padded returns the span widened by a share of its length at each end, and
// opened where all numbers are (nearly) the same.
func (s span) padded(low, high float64) span {
	if s.empty() {
		return span{0, 1}
	}
	size := max(math.Abs(s.min), math.Abs(s.max))
	if d := s.max - s.min; d > size*1e-9 {
		return span{s.min - low*d, s.max + high*d}
	}
	if size == 0 {
		return span{0, 1}
	}
	return span{s.min - size/10, s.max + size/10}
}

// paddedLog is padded on a logarithmic axis. The span must be positive.
func (s span) paddedLog(share float64) span {
	if s.empty() {
		return span{0.1, 1}
	}
	if s.max < s.min*1.05 {
		return span{s.min / 2, s.max * 2}
	}
	k := math.Exp(share * math.Log(s.max/s.min))
	return span{s.min / k, s.max * k}
}
