package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// linear returns the linear-light components of an sRGB colour.
func linear(c color.RGBA) [3]float64 {
	f := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return [3]float64{f(c.R), f(c.G), f(c.B)}
}

// luminance is the relative luminance Y of a linear colour (IEC 61966-2-1).
func luminance(c [3]float64) float64 { return 0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2] }

// lab returns CIE L*a*b* (white D65) of a linear colour.
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := (0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047
	z := (0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883
	fx, fy, fz := f(x), f(luminance(c)), f(z)
	return [3]float64{116*fy - 16, 500 * (fx - fy), 200 * (fy - fz)}
}

// blindness holds what three kinds of full colour blindness make of linear
// colours (Machado, Oliveira and Fernandes 2009, severity 1).
var blindness = map[string][3][3]float64{
	"none":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func seen(m [3][3]float64, c [3]float64) (out [3]float64) {
	for i := range out {
		for j := range c {
			out[i] += m[i][j] * c[j]
		}
		out[i] = math.Max(0, math.Min(1, out[i]))
	}
	return out
}

// TestLab compares sRGB red with its published L*a*b*, 53.24, 80.09, 67.20.
func TestLab(t *testing.T) {
	got := lab(linear(rgb(0xff0000)))
	for i, want := range []float64{53.24, 80.09, 67.20} {
		if math.Abs(got[i]-want) > 0.01 {
			t.Errorf("red is %.2f, want 53.24, 80.09, 67.20", got)
			break
		}
	}
}

// TestPalette wants any two inks of a style 10 apart in lightness (a just
// noticeable difference is about 1), so that they differ in grey, and 20 apart in
// CIE 1976 colour difference under every kind of colour blindness; and each shade
// 10 darker than the one before.
func TestPalette(t *testing.T) {
	for _, s := range styles() {
		t.Run(s.name, func(t *testing.T) { checkInks(t, s) })
	}
}

func checkInks(t *testing.T, s Style) {
	inks := s.inks
	for i, shade := range s.shades[1:] {
		if d := lab(linear(s.shades[i]))[0] - lab(linear(shade))[0]; d < 10 {
			t.Errorf("shade %v is %.1f darker than the one before, want >= 10", shade, d)
		}
	}
	for kind, m := range blindness {
		for i, a := range inks {
			for _, b := range inks[:i] {
				p, q := lab(seen(m, linear(a.mark))), lab(seen(m, linear(b.mark)))
				if d := math.Abs(p[0] - q[0]); kind == "none" && d < 10 {
					t.Errorf("inks %v and %v: lightness differs by %.1f, want >= 10", a.mark, b.mark, d)
				}
				d := math.Sqrt((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2]))
				if d < 20 {
					t.Errorf("%s: inks %v and %v differ by %.1f, want >= 20", kind, a.mark, b.mark, d)
				}
			}
		}
	}
}

// TestContrast wants marks and words of both styles readable on white: 2.3 and
// 4.5 to 1 (the latter is WCAG 2 AA for text), and the frame of axes 7 to 1.
func TestContrast(t *testing.T) {
	contrast := func(c color.RGBA) float64 { return 1.05 / (luminance(linear(c)) + 0.05) }
	for _, s := range styles() {
		for _, k := range append(s.inks, s.grey.bound) {
			if c := contrast(k.mark); c < 2.3 {
				t.Errorf("%v: mark %v: contrast %.2f, want >= 2.3", s, k.mark, c)
			}
			if c := contrast(k.word); c < 4.5 {
				t.Errorf("%v: word %v: contrast %.2f, want >= 4.5", s, k.word, c)
			}
		}
		if c := contrast(s.grey.axis); c < 7 {
			t.Errorf("%v: axes: contrast %.2f, want >= 7", s, c)
		}
	}
}

// TestTalk wants everything of a talk at least twice as large as on paper, and
// the two styles alike in all that tells series apart.
func TestTalk(t *testing.T) {
	p, k := Paper(), Talk()
	for _, c := range []struct {
		name        string
		paper, talk vg.Length
	}{
		{"numbers", p.tick, k.tick},
		{"labels", p.label, k.label},
		{"titles", p.title, k.title},
		{"scripts", p.script, k.script},
		{"hairs", p.hair, k.hair},
		{"intervals", p.interval, k.interval},
		{"curves", p.curve, k.curve},
		{"bounds", p.bound, k.bound},
		{"dots", p.dot, k.dot},
		{"least type", p.leastType, k.leastType},
		{"least line", p.leastLine, k.leastLine},
	} {
		if c.talk < 2*c.paper {
			t.Errorf("%s: %v in a talk, want >= twice the %v on paper", c.name, c.talk, c.paper)
		}
	}
	if !slices.Equal(p.inks, k.inks) || !slices.Equal(p.shapes, k.shapes) {
		t.Error("the inks or the shapes of the styles differ")
	}
	if paper := Paper(); fmt.Sprint(paper.dashes) != fmt.Sprint(p.dashes) {
		t.Error("Talk changes the dashes of Paper")
	}
}

func TestParseStyle(t *testing.T) {
	for _, name := range Styles() {
		if s, err := ParseStyle(name); err != nil || s.String() != name {
			t.Errorf("ParseStyle(%q) = %v, %v", name, s, err)
		}
	}
	const want = `plots: style = "Paper", want one of paper, talk`
	if _, err := ParseStyle("Paper"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestParseWidth(t *testing.T) {
	for _, c := range []struct {
		text  string
		style Style
		want  Width
	}{
		{"column", Paper(), 3.35},
		{"page", Paper(), 7},
		{"column", Talk(), 6},
		{"page", Talk(), 12.5},
		{"2", Paper(), 2},
		{"4.25", Paper(), 4.25},
		{"20", Talk(), 20},
		{"3.6", Talk(), 3.6},
	} {
		if got, err := ParseWidth(c.text, c.style); err != nil || got != c.want {
			t.Errorf("ParseWidth(%q, %v) = %v, %v, want %v", c.text, c.style, got, err, c.want)
		}
	}
	for _, text := range []string{"", "1.99", "20.1", "NaN", "Inf", "-3", "3in", "Column", "two"} {
		want := fmt.Sprintf("plots: width = %q, want column, page or inches in [2, 20]", text)
		if got, err := ParseWidth(text, Paper()); err == nil || err.Error() != want || got != 0 {
			t.Errorf("ParseWidth(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	if _, err := ParseWidth("3", Talk()); err == nil || !strings.HasSuffix(err.Error(), "inches in [3.6, 20]") {
		t.Errorf("a talk of 3 inches: error %v, want [3.6, 20]", err)
	}
	for w, want := range map[Width]Width{OneColumn: 6, TwoColumn: 12.5, 6.7: 12} {
		if got := Talk().Width(w); math.Abs(float64(got-want)) > 1e-12 {
			t.Errorf("%v inches on paper are %v in a talk, want %v", float64(w), float64(got), float64(want))
		}
		if got := Paper().Width(w); math.Abs(float64(got-w)) > 1e-12 {
			t.Errorf("%v inches on paper are %v", float64(w), float64(got))
		}
	}
}
