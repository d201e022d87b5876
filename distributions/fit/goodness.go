package fit

import (
	"math"
	"math/rand/v2"
	"sort"
)

// A countLaw is the law of what is seen of a prompt, for every number of
// rollouts that occurs.
type countLaw struct {
	sizes []size
	parts []countPart
}

// A countPart is the law at one number of rollouts.
type countPart struct {
	cells []Cell
	like  likelihood
	logs  []float64
	cdf   []float64
}

func newCountLaw(v view, e *estimate, c *Counts) *countLaw {
	l := &countLaw{sizes: c.sizes()}
	for _, s := range l.sizes {
		cells := v.support(s.n)
		l.parts = append(l.parts, countPart{cells, e.over(v, cells), make([]float64, len(cells)), make([]float64, len(cells))})
	}
	l.set(e)
	return l
}

// set makes it the law under e, which must be of the same family.
func (l *countLaw) set(e *estimate) {
	theta := e.parameters()
	for _, part := range l.parts {
		part.like.logs(theta, part.logs, nil)
		var sum float64
		for i, x := range part.logs {
			sum += math.Exp(x)
			part.cdf[i] = sum
		}
	}
}

// draw draws counts of as many prompts as c has, by inversion.
func (l *countLaw) draw(r *rand.Rand) *Counts {
	c := &Counts{}
	for k, s := range l.sizes {
		part := l.parts[k]
		drawn := make([]int, len(part.cells))
		end := part.cdf[len(part.cdf)-1] // 1 but for rounding
		for range s.prompts {
			v := r.Float64() * end
			drawn[min(sort.Search(len(part.cdf), func(i int) bool { return part.cdf[i] > v }), len(drawn)-1)]++
		}
		for i, prompts := range drawn {
			if prompts > 0 {
				x := part.cells[i]
				c.cells = append(c.cells, Cell{x.N, x.S, prompts})
			}
		}
		c.prompts += s.prompts
		c.rollouts += s.n * s.prompts
	}
	return c
}

// distance returns the Anderson-Darling statistic of counts against the law,
//
//	A^2 = sum over n of N_n sum_s (E_n(s) - F_n(s))^2 f_n(s) / (F_n(s) (1 - F_n(s))),
//
// with N_n prompts of n rollouts, their empirical distribution E_n and the
// law's F_n (Choulakian, Lockhart and Stephens 1994, for discrete laws). c
// must have the sizes of the law.
func (l *countLaw) distance(c *Counts) float64 {
	var sum float64
	for k, s := range c.sizes() {
		part := l.parts[k]
		var seen float64
		next := 0
		for i := range len(part.cdf) - 1 {
			if next < len(s.cells) && s.cells[next].S == part.cells[i].S {
				seen += float64(s.cells[next].Prompts)
				next++
			}
			f := part.cdf[i]
			if spread := f * (1 - f); spread > 0 {
				d := seen/float64(s.prompts) - f
				sum += float64(s.prompts) * d * d * math.Exp(part.logs[i]) / spread
			}
		}
	}
	return sum
}
