package distributions

import "math"

// A fixedPower raises numbers in [smallestBase, 1] to one power, which sampling
// a Pareto law does for every prompt: at a relative error below 2e-14 it takes
// a third of the time of math.Exp(power*math.Log(x)).
//
// It writes x = 2^-e m, m in [1, 2), and m = c(1+r) with c the middle of one
// of 2^cellBits cells, so that |r| < 2^-9. Then x^p = 2^(-ep) c^p (1+r)^p: two
// tables, and a binomial series whose seventh term is below 2^-60 for
// |p| <= maxPower.
type fixedPower struct {
	power  float64
	scale  [64]float64          // 2^(-e p)
	cells  [1 << cellBits]cell  // of m
	series [seriesTerms]float64 // (p-j)/(j+1): the ratio of neighbouring binomial coefficients
}

type cell struct{ inverse, power float64 } // 1/c and c^p

const (
	cellBits     = 8
	seriesTerms  = 6
	smallestBase = 0x1p-63
	// maxPower bounds the powers for which the tables are used. Beyond it the
	// law is so spread out that no sampling of it is worth a table.
	maxPower = 4
)

// newFixedPower returns nil for |power| > maxPower.
func newFixedPower(power float64) *fixedPower {
	if !(math.Abs(power) <= maxPower) {
		return nil
	}
	f := &fixedPower{power: power}
	for e := range f.scale {
		f.scale[e] = math.Exp2(-float64(e) * power)
	}
	for i := range f.cells {
		c := 1 + (float64(i)+0.5)/(1<<cellBits)
		f.cells[i] = cell{1 / c, math.Pow(c, power)}
	}
	for j := range f.series {
		f.series[j] = (power - float64(j)) / float64(j+1)
	}
	return f
}

// of returns x^power for x in [smallestBase, 1].
func (f *fixedPower) of(x float64) float64 {
	b := math.Float64bits(x)
	e := (1023 - b>>52) & 63
	c := &f.cells[b>>(52-cellBits)&(1<<cellBits-1)]
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	r := m*c.inverse - 1
	a := &f.series
	s := 1 + a[0]*r*(1+a[1]*r*(1+a[2]*r*(1+a[3]*r*(1+a[4]*r*(1+a[5]*r)))))
	return f.scale[e] * c.power * s
}
