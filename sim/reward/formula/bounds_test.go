package formula_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vigorlab/sim/reward/formula"
)

// hard are texts that are long, deep or heavy, each within or beyond the bounds.
func hard() map[string]string {
	rep := strings.Repeat
	return map[string]string{
		"braces":     rep("{", 900) + "x" + rep("}", 900),
		"brackets":   rep("(", 30) + "x" + rep("+1)", 30),
		"fractions":  rep(`\frac{1}{1+`, 30) + "x" + rep("}", 30),
		"roots":      rep(`\sqrt{1+`, 30) + "x" + rep("}", 30),
		"powers":     "2" + rep("^{2", 30) + rep("}", 30),
		"power":      "x^{399939993999399999}",
		"sum":        "1" + rep("+x^{99}", 120),
		"functions":  rep(`\sin(\cos(`, 15) + "x" + rep("))", 15),
		"digits":     rep("9", 1900),
		"decimals":   "0." + rep("7", 1900),
		"repeating":  `0.\overline{` + rep("7", 1900) + "}",
		"exponents":  "1e999" + rep("+1e999", 300),
		"factorials": "3999!" + rep("+3999!", 200),
		"factorial":  "3!" + rep("!", 300),
		"binomials":  `\binom{n}{3999}` + rep(`+\binom{n}{3999}`, 100),
		"list":       "x" + rep(",x+1", 23),
		"roots list": `\sqrt{x}` + rep(`,\sqrt{x+1}`, 23),
		"distinct":   strings.TrimPrefix(distinct(23), ","),
		"matrix":     `\begin{pmatrix}` + rep(`\sqrt{x}&`, 22) + `1\end{pmatrix}`,
		"signs":      rep("-", 1900) + "x",
		"plusminus":  "x" + rep(`\pm 1`, 150),
		"letters":    rep("x", 3) + rep(" x y z", 130),
		"text":       rep(`\text{`, 300) + "x" + rep("}", 300),
		"boxes":      rep(`\boxed{`, 30) + "5" + rep("}", 30),
		"bars":       rep("|", 400),
		"logs":       rep(`\log(1+`, 30) + "x" + rep(")", 30),
		"variables":  `\sqrt{a}` + rep(`+b\sqrt{c+d+e+f}`, 60),
		"unions":     "(1,2)" + rep(`\cup(x,\sqrt{x})`, 23),
		"sets":       nested(7, 1),
		"works":      `\sin(x)` + rep(`+\sqrt{\binom{x}{3999}^2}`, 50),
		"too long":   rep("1+", 5000) + "1",
	}
}

// nested is a set of two sets of two sets and so on.
func nested(depth, first int) string {
	if depth == 0 {
		return strconv.Itoa(first)
	}
	return `\{` + nested(depth-1, first) + ", " + nested(depth-1, first+1<<(depth-1)) + `\}`
}

// distinct is a list of n different roots.
func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,\sqrt{x+` + strings.Repeat("1", i%9+1) + `+y/` + strings.Repeat("3", i/9+1) + `}`)
	}
	return b.String()
}

// TestHard bounds the time of what is built to take long, in either place and
// against itself with a term more or a digit changed. The limit is ten times what the benchmark
// states, for busy machines and the race detector.
func TestHard(t *testing.T) {
	const limit = 10 * time.Millisecond
	for name, text := range hard() {
		for _, c := range [][2]string{{text, "1"}, {"x", text}, {text, text + "+0"}, {text, strings.Replace(text, "1", "2", 1)}, {text, text}} {
			if v, reason := formula.Compare(c[0], c[1], tolerance); c[0] == c[1] && v == formula.Different {
				t.Errorf("%s is not itself: %s", name, reason)
			}
			fastest := limit + 1
			for try := 0; try < 50 && fastest > limit; try++ {
				begin := time.Now()
				formula.Compare(c[0], c[1], tolerance)
				fastest = min(fastest, time.Since(begin))
			}
			if fastest > limit {
				t.Errorf("%s: %.40q against %.40q takes %v", name, c[0], c[1], fastest)
			}
		}
	}
}

// TestSpent: 8000 parts evaluated are what takes a comparison less than 1 ms
// (BenchmarkHard), and what no text takes more of, but for what is not evaluated any
// more. An answer is evaluated once, and once times its unit, however many others it
// meets: twice as long a list takes twice as much, not four times.
func TestSpent(t *testing.T) {
	within := func(got, want string) int {
		visits, pairs, work := formula.Spent(got, want, tolerance)
		const begun = 4000 // of which all is charged, and nothing evaluated
		if visits > formula.MaxVisits+begun || pairs > formula.MaxPairs+200 || work > formula.MaxWork {
			t.Errorf("%.40q against %.40q: %d visits, %d pairs, %d factors", got, want, visits, pairs, work)
		}
		return visits
	}
	for _, text := range hard() {
		within(text, text+"+0")
		within(text, strings.Replace(text, "1", "2", 1))
	}
	for _, c := range [][2]string{
		{`\sin(x+%d)\%%`, `\cos(x+%d)`},
		{`%d/7`, `1%d.1\%%`},
		{`-\sqrt{x+%d}\%%`, `\sqrt{y+%d}`},
		{`%d.5^\circ`, `1%d.1`},
		{`\sqrt{x+%d}\text{ cm}`, `\sqrt{y+%d}\text{ m}`},
		{`\sqrt{x+%d}\text{ square cm}`, `\sqrt{y+%d}\text{ square m}`},
		{`\sqrt{x+%d}\text{ million}`, `\sqrt{y+%d}`},
	} {
		half, all := within(many(c[0], 5), many(c[1], 5)), within(many(c[0], 10), many(c[1], 10))
		if half == 0 || all > 2*half+half/4 {
			t.Errorf("%s against %s: %d visits for 5 parts each, %d for 10", c[0], c[1], half, all)
		}
	}
	if visits, pairs, work := formula.Spent("x+1", "x+2", tolerance); visits != 2*3*2 || pairs != 1 || work != 0 {
		t.Errorf("x+1 against x+2: %d visits, %d pairs, %d factors, want 3 parts of 2 answers at 2 points, 1 and 0", visits, pairs, work)
	}
}

// many is a list of n parts.
func many(f string, n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(f, i))
	}
	return strings.Join(parts, ",")
}

// TestTooLong checks that what is beyond a bound is not compared.
func TestTooLong(t *testing.T) {
	rep := strings.Repeat
	for _, text := range []string{
		rep("(", 50) + "5" + rep(")", 50), rep(`\text{(`, 50) + "5" + rep(")}", 50),
		"5" + rep("+0", 300), "5" + rep("*1", 1000), "5, 5" + rep(", 5", 30), rep("9", 3000), "0" + rep("0", 2000) + "5",
	} {
		if v, reason := formula.Compare(text, "5", tolerance); v != formula.CannotTell {
			t.Errorf("%.40q is %v (%s), want %v", text, v, reason, formula.CannotTell)
		}
	}
}

// TestTooMuch checks that lists of what takes long to compare are not: each of the
// parts would meet each of the other's, at every point.
func TestTooMuch(t *testing.T) {
	const visits, pairs = "too much to compare", "some items cannot be compared"
	for _, c := range [][3]string{
		{`x^2+\sin y=%d`, `x^2-\sin y=%d`, visits}, {`\sqrt{x+%d}\text{ cm}`, `\sqrt{y+%d}\text{ m}`, pairs}, {`\sin(x+%d)\%%`, `\cos(x+%d)`, pairs},
	} {
		if v, reason := formula.Compare(many(c[0], 24), many(c[1], 24), tolerance); v != formula.CannotTell || reason != c[2] {
			t.Errorf("%s and %s are %v (%s)", c[0], c[1], v, reason)
		}
	}
	// A long answer alone is not too much.
	long := "(x+1)" + strings.Repeat(`+\sqrt{x+y}\sin x`, 30)
	if v, reason := formula.Compare(long, "1+x"+strings.Repeat(`+\sin x\sqrt{y+x}`, 30), tolerance); v != formula.Equal {
		t.Errorf("%v (%s), want %v", v, reason, formula.Equal)
	}
}

// FuzzCompare checks that no text panics, that the verdict does not depend on
// the order, and that a text is not different from itself.
func FuzzCompare(f *testing.F) {
	for _, p := range pairs(f) {
		f.Add(p.got, p.want)
	}
	for _, text := range hard() {
		if len(text) < 200 { // long ones make the fuzzer slow
			f.Add(text, text+"+0")
		}
	}
	f.Fuzz(func(t *testing.T, got, want string) {
		v, _ := formula.Compare(got, want, tolerance)
		if w, reason := formula.Compare(want, got, tolerance); w != v {
			t.Errorf("%q against %q is %v, the other way round %v (%s)", got, want, v, w, reason)
		}
		if w, reason := formula.Compare(got, got, tolerance); w == formula.Different {
			t.Errorf("%q is not itself: %s", got, reason)
		}
	})
}

var benchmarkVerdict formula.Verdict

// BenchmarkPairs reports the mean time of a pair of the table, and the longest.
func BenchmarkPairs(b *testing.B) {
	all := pairs(b)
	longest := make([]time.Duration, len(all))
	for i := range longest {
		longest[i] = 1 << 62
	}
	n := 0
	for b.Loop() {
		for i, p := range all {
			begin := time.Now()
			benchmarkVerdict, _ = formula.Compare(p.got, p.want, tolerance)
			longest[i] = min(longest[i], time.Since(begin))
		}
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*len(all)), "ns/pair")
	b.ReportMetric(float64(slices.Max(longest).Nanoseconds()), "ns/slowest-pair")
}

// BenchmarkHard reports the shortest time of every hard text against itself with
// a term more, which other work on the machine does not lengthen.
func BenchmarkHard(b *testing.B) {
	for name, text := range hard() {
		b.Run(name, func(b *testing.B) {
			shortest := time.Duration(1 << 62)
			for b.Loop() {
				begin := time.Now()
				benchmarkVerdict, _ = formula.Compare(text, text+"+0", tolerance)
				shortest = min(shortest, time.Since(begin))
			}
			b.ReportMetric(float64(shortest.Nanoseconds()), "ns/shortest")
		})
	}
}
