package plots

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// An axis says how the ticks of an axis are chosen once its length is known.
type axis struct {
	log     bool
	integer bool        // only whole numbers are labelled, and points of a number part
	whole   bool        // only whole numbers are labelled
	fixed   []plot.Tick // these and no others
	bare    bool        // no ticks, no axis line
}

// ticks returns ticks for [min, max], at most about n of them with labels.
func (a axis) ticks(min, max float64, n int) []plot.Tick {
	switch {
	case a.bare:
		return nil
	case a.fixed != nil:
		return a.fixed
	case a.log:
		return logTicks(min, max, n)
	}
	return linearTicks(min, max, n, a.integer || a.whole)
}

// linearTicks returns ticks at multiples of 1, 2 or 5 times a power of ten.
func linearTicks(min, max float64, n int, integer bool) []plot.Tick {
	if !(max > min) || n < 1 {
		return nil
	}
	step, first, last := tickStep(min, max, n, integer)
	for k := n + 1; n > 1 && first >= last && k <= 5; k++ { // one tick is no scale, a fifth of the range has two
		step, first, last = tickStep(min, max, k, integer)
	}
	if !(last-first < 100) { // the numbers are too close for float64
		return []plot.Tick{{Value: min, Label: number(min, 0, 6)}}
	}
	decimals := int(math.Max(0, -math.Floor(math.Log10(step)+1e-9)))
	digits := 1
	if size := math.Max(math.Abs(min), math.Abs(max)); size > step {
		digits += int(math.Floor(math.Log10(size)) - math.Floor(math.Log10(step)+1e-9))
	}
	var ticks []plot.Tick
	for k := first; k <= last; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: number(k*step, decimals, digits)})
	}
	return ticks
}

// tickStep returns a nice step of about n in [min, max], and the first and the last multiple
// of it there.
func tickStep(min, max float64, n int, integer bool) (step, first, last float64) {
	step = niceStep((max - min) / float64(n))
	if integer && step < 1 {
		step = 1
	}
	return step, math.Ceil(min/step - 1e-9), math.Floor(max/step + 1e-9)
}

// niceStep returns the smallest of 1, 2, 5 times a power of ten that is >= x.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// logTicks labels decades, from the first on as many as there is room for; where fewer than two are in range, also 2 and 5
// times them; and where these are too few, multiples as on a linear axis.
func logTicks(min, max float64, n int) []plot.Tick {
	if !(min > 0 && max > min) {
		return nil
	}
	lo, hi := int(math.Ceil(math.Log10(min)-1e-9)), int(math.Floor(math.Log10(max)+1e-9))
	decades := hi - lo + 1
	every := 1
	for decades > n*every {
		every++
	}
	var ticks []plot.Tick
	labelled := 0
	for k := lo - 1; k <= hi; k++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(k))
			if v < min*(1-1e-9) || v > max*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && (k-lo)%every == 0 || decades < 2 && (m == 2 || m == 5) {
				t.Label = number(v, int(math.Max(0, -float64(k))), 1)
				labelled++
			}
			if t.Label != "" || decades <= 5 || m == 1 {
				ticks = append(ticks, t)
			}
		}
	}
	if labelled < 2 {
		return linearTicks(min, max, n, false)
	}
	return ticks
}

// number prints v with the given decimals, or where that gets long with at most
// digits significant ones and an exponent, and with a true minus sign.
func number(v float64, decimals, digits int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	zero := strings.Trim(s, "-0.") == ""
	switch {
	case zero && len(s) > 7:
		return "0"
	case zero:
		return strings.TrimPrefix(s, "-")
	case len(s) > 7:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', max(digits-1, 0), 64), "e")
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		n, _ := strconv.Atoi(exponent) // digits with a sign
		s = mantissa + "e" + strconv.Itoa(n)
	}
	return strings.ReplaceAll(s, "-", "\u2212")
}

// grouped prints a count with commas between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
