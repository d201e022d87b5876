package plots

import (
	"image/color"
	"math"
	"testing"
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

// TestPalette wants any two inks 10 apart in lightness (a just noticeable
// difference is about 1), so that they differ in grey, and 20 apart in CIE 1976
// colour difference under every kind of colour blindness.
func TestPalette(t *testing.T) {
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

// TestContrast wants marks and words readable on white: 2.3 and 4.5 to 1 (the
// latter is WCAG 2 AA for text).
func TestContrast(t *testing.T) {
	contrast := func(c color.RGBA) float64 { return 1.05 / (luminance(linear(c)) + 0.05) }
	for _, k := range append(inks[:], boundInk) {
		if c := contrast(k.mark); c < 2.3 {
			t.Errorf("mark %v: contrast %.2f, want >= 2.3", k.mark, c)
		}
		if c := contrast(k.word); c < 4.5 {
			t.Errorf("word %v: contrast %.2f, want >= 4.5", k.word, c)
		}
	}
	last := 1.0
	for _, s := range shades {
		l := luminance(linear(s))
		if l >= last {
			t.Errorf("shade %v is not darker than the one before", s)
		}
		last = l
	}
}
