package sim

import (
	"math"
	"slices"
)

// moments accumulates means and comoments of a vector over replicates
// (Welford; merged by Chan, Golub and LeVeque). A constant component keeps a
// variance of exactly 0.
type moments struct {
	n     float64
	mean  []float64
	co    []float64 // lower triangle: sum of products of deviations, row by row
	delta []float64 // scratch
}

func newMoments(d int) *moments {
	return &moments{mean: make([]float64, d), co: make([]float64, d*(d+1)/2), delta: make([]float64, d)}
}

func (m *moments) reset() {
	m.n = 0
	clear(m.mean)
	clear(m.co)
}

// add takes one replicate; len(x) is the dimension.
func (m *moments) add(x []float64) {
	m.n++
	k := 0
	for i, xi := range x {
		d := xi - m.mean[i]
		m.delta[i] = d
		m.mean[i] += d / m.n
		after := xi - m.mean[i]
		for _, dj := range m.delta[:i+1] {
			m.co[k] += dj * after
			k++
		}
	}
}

// merge adds the replicates of o, which come after those of m.
func (m *moments) merge(o *moments) {
	if o.n == 0 {
		return
	}
	n := m.n + o.n
	k := 0
	for i := range m.mean {
		m.delta[i] = o.mean[i] - m.mean[i]
		for _, dj := range m.delta[:i+1] {
			m.co[k] += o.co[k] + dj*m.delta[i]*m.n*o.n/n
			k++
		}
	}
	for i, d := range m.delta {
		m.mean[i] += d * o.n / n
	}
	m.n = n
}

// cov returns the covariance of the means of components i and j.
func (m *moments) cov(i, j int) float64 {
	if j > i {
		i, j = j, i
	}
	return m.co[i*(i+1)/2+j] / (m.n * (m.n - 1))
}

// A term is one factor of a product of means: mean[i]^power.
type term struct {
	i     int
	power float64
}

// rounding is the size of a variance, as a share of the terms it is summed
// from, below which it is a rounding error of a variance that is 0; and so for
// the difference of two figures.
const rounding = 1e-12

// exists reports whether no denominator is 0, those that cancel included: a
// strategy that is its own reference has no figure where the reference has none.
func (m *moments) exists(terms []term) bool {
	return !slices.ContainsFunc(terms, func(t term) bool { return t.power < 0 && m.mean[t.i] == 0 })
}

// product estimates scale times the product of the terms, with its standard
// error by the delta method. Where a denominator is 0 the figure does not
// exist, for the given reason; with fewer than two replicates its error is NaN.
func (m *moments) product(scale float64, reason string, terms ...term) Estimate {
	if !m.exists(terms) {
		return Estimate{Reason: reason}
	}
	value, slopes := m.gradient(scale, terms)
	if m.n < 2 {
		return Estimate{Mean: value, SE: math.NaN()}
	}
	return Estimate{Mean: value, SE: math.Sqrt(m.variance(slopes))}
}

// collect joins the terms of one component and drops those that cancel.
func collect(terms []term) []term {
	var joined []term
	for _, t := range terms {
		i := slices.IndexFunc(joined, func(j term) bool { return j.i == t.i })
		if i < 0 {
			joined = append(joined, t)
			continue
		}
		joined[i].power += t.power
	}
	return slices.DeleteFunc(joined, func(t term) bool { return t.power == 0 })
}

// A slope is how fast a figure rises with mean i.
type slope struct {
	i  int
	by float64
}

// gradient returns the value of scale times a product of means and its slopes
// in them; no denominator may be 0.
func (m *moments) gradient(scale float64, terms []term) (float64, []slope) {
	terms = collect(terms)
	value := scale
	for _, t := range terms {
		value *= math.Pow(m.mean[t.i], t.power)
	}
	if value == 0 {
		return 0, nil // a sum of non-negative numbers that was 0 in every replicate
	}
	var slopes []slope
	for _, t := range terms {
		slopes = append(slopes, slope{t.i, value * t.power / m.mean[t.i]})
	}
	return value, slopes
}

// variance returns the variance of the mean of the figure with the given
// slopes, by the delta method.
func (m *moments) variance(slopes []slope) float64 {
	v, size := 0.0, 0.0
	for _, a := range slopes {
		for _, b := range slopes {
			c := a.by * b.by * m.cov(a.i, b.i)
			v += c
			size += math.Abs(c)
		}
	}
	if v < rounding*size {
		return 0
	}
	return v
}
