package schedule

import (
	"fmt"
	"math/big"
	"strings"
)

// A Ratio is a number kept as the exact decimal or fraction that was typed:
// 0.07 is 7/100, so that 0.07*100 is 7 and not 7.000000000000001. The zero
// value is 0. Ratios are immutable and comparable by ==.
type Ratio struct{ text string } // normal; "" is 0

// ParseRatio reads a decimal ("0.5", "5e-1") or a fraction ("1/2").
func ParseRatio(text string) (Ratio, error) {
	text = strings.TrimSpace(text)
	const most = 64 // bytes: what is printed must parse back
	long := fmt.Errorf("%.80q is too long a number, want a decimal or a fraction such as 0.5 or 1/3", text)
	if len(text) > most || exponentTooLarge(text) {
		return Ratio{}, long
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !plain(text) {
		return Ratio{}, fmt.Errorf("%q is not a number, want a decimal or a fraction such as 0.5 or 1/3", text)
	}
	if r.Sign() == 0 {
		return Ratio{}, nil
	}
	normalised := normal(r)
	if len(normalised) > most {
		return Ratio{}, long
	}
	return Ratio{text: normalised}, nil
}

// plain refuses Go's literals, which big.Rat reads and people do not write:
// 0x1p-2, 1_000, and 010/20, which is 8/20 there.
func plain(text string) bool {
	if strings.ContainsAny(text, "_xXpPoObB") {
		return false
	}
	num, den, fraction := strings.Cut(text, "/")
	octal := func(n string) bool { n = strings.TrimLeft(n, "+-"); return len(n) > 1 && n[0] == '0' }
	return !fraction || !octal(num) && !octal(den)
}

// exponentTooLarge guards big.Rat against inputs such as 1e999999999.
func exponentTooLarge(text string) bool {
	_, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if !found {
		return false
	}
	return len(strings.TrimLeft(exponent, "+-0")) > 3
}

// MustRatio is ParseRatio for constants; it panics on a malformed one.
func MustRatio(text string) Ratio {
	r, err := ParseRatio(text)
	if err != nil {
		panic("schedule: " + err.Error())
	}
	return r
}

// normal prints r as a finite decimal of at most 20 places where it is one,
// and as a fraction otherwise; either form parses back to r.
func normal(r *big.Rat) string {
	if n, exact := r.FloatPrec(); exact && n <= 20 {
		return r.FloatString(n)
	}
	return r.RatString()
}

// Float returns the nearest float64.
func (r Ratio) Float() float64 {
	f, _ := r.exact().Float64()
	return f
}

// String returns the normalised text: a decimal where it is finite, else a fraction.
func (r Ratio) String() string {
	if r.text == "" {
		return "0"
	}
	return r.text
}

func (r Ratio) exact() *big.Rat {
	x, _ := new(big.Rat).SetString(r.String())
	return x
}

// Ceil returns r*n rounded up; it must fit an int.
func (r Ratio) Ceil(n int) int {
	x := new(big.Rat).SetInt64(int64(n))
	x.Mul(x, r.exact())
	num, den := x.Num(), x.Denom()
	up := new(big.Int).Add(num, den)
	up.Sub(up, big.NewInt(1))
	return int(up.Quo(up, den).Int64())
}
