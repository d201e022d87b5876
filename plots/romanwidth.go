package plots

import (
	"unicode"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// romanWidths are those of the signs from space to ~ in cmr8, Computer Modern
// Roman at 8 pt, in thousandths of its size; TestRomanWidths reads them off the
// font. What it has elsewhere, such as < and _, is as wide as there or less.
var romanWidths = [...]uint16{
	354, 295, 531, 885, 531, 885, 826, 295, 413, 413, 531, 826, 295, 354, 295, 531,
	531, 531, 531, 531, 531, 531, 531, 531, 531, 531, 295, 295, 826, 826, 826, 502,
	826, 796, 752, 767, 811, 723, 693, 834, 796, 383, 545, 825, 664, 973, 796, 826,
	723, 826, 782, 590, 767, 796, 796, 1091, 796, 796, 649, 295, 531, 295, 531, 826,
	295, 531, 590, 472, 590, 472, 325, 531, 590, 295, 325, 561, 295, 885, 590, 531,
	590, 561, 414, 419, 413, 590, 561, 767, 561, 561, 472, 531, 295, 531, 531,
}

// romanWidth returns at least the width of a word in Computer Modern; letters
// that TeX has in maths are about the widest of theirs.
func romanWidth(f font.Font, word string) vg.Length {
	sum := 40. // italic letters of maths may be wider
	for _, r := range word {
		switch {
		case r >= ' ' && r <= '~':
			sum += float64(romanWidths[r-' '])
		case unicode.IsMark(r):
		case unicode.IsLower(r):
			sum += 661
		default:
			sum += 885
		}
	}
	const kerns = 1.02 // round letters stand apart
	return f.Size * vg.Length(kerns*sum/1000*romanScale(f))
}

// romanScale is how much wider the letters of a size are than those of cmr8: small
// ones are set wider, bold ones too.
func romanScale(f font.Font) float64 {
	scale := 1.0
	switch {
	case f.Size < 8:
		scale = 1.09
	case f.Size >= 17:
		scale = 0.88
	case f.Size >= 12:
		scale = 0.93
	case f.Size >= 9:
		scale = 0.975
	}
	if f.Weight == stdfont.WeightBold {
		scale *= 1.18
	}
	return scale
}
