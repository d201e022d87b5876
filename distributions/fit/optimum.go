package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// A search maximises the log-likelihood of a family. It is for one goroutine.
type search struct {
	family    *family
	counts    *Counts
	like      likelihood
	tolerance float64     // nats: where a climb ends
	buffer    []float64   // a log-probability for every cell
	slopes    [][]float64 // its derivatives by every parameter
}

// fine is the tolerance of fits.
const fine = 1e-9

func newSearch(v view, f *family, c *Counts) *search {
	s := &search{family: f, counts: c, like: v.over(f, c.cells), tolerance: fine, buffer: make([]float64, len(c.cells))}
	for range f.ranges {
		s.slopes = append(s.slopes, make([]float64, len(c.cells)))
	}
	return s
}

// at returns the log-likelihood at theta.
func (s *search) at(theta []float64) float64 {
	s.like.logs(theta, s.buffer, nil)
	return total(s.counts.cells, s.buffer)
}

// slope writes the log-likelihood's derivatives.
func (s *search) slope(theta, slope []float64) {
	s.like.logs(theta, s.buffer, s.slopes)
	for j := range slope {
		slope[j] = total(s.counts.cells, s.slopes[j])
	}
}

// An optimum is a place of largest log-likelihood.
type optimum struct {
	theta  []float64
	logLik float64
}

// best returns the best of what climbs from every start, and of the starts
// themselves: a climb from the end of a range begins beside it, and may lead
// elsewhere.
func (s *search) best(starts [][]float64) optimum {
	best := optimum{logLik: math.Inf(-1)}
	for _, start := range starts {
		for _, o := range []optimum{s.climb(start, none), {slices.Clone(start), s.at(start)}} {
			if best.theta == nil || o.logLik > best.logLik {
				best = o
			}
		}
	}
	return best
}

// none stands for no fixed parameter.
const none = -1

// edge keeps starts off the ends of the ranges, where the slope in the
// searched variable is zero whatever the likelihood does.
const edge = 1e-3

// climb maximises over every parameter but the fixed one, from start. A
// parameter is searched as low + (high-low) sin^2 x, so that x is free and the
// ends of a range are ordinary places.
func (s *search) climb(start []float64, fixed int) optimum {
	theta := append([]float64(nil), start...)
	slopes := make([]float64, len(theta))
	var x []float64
	var places []int
	for j, r := range s.family.ranges {
		if j != fixed {
			unit := min(max(r.unit(theta[j]), edge), 1-edge)
			x, places = append(x, math.Asin(math.Sqrt(unit))), append(places, j)
		}
	}
	if len(x) == 0 {
		return optimum{theta, s.at(theta)}
	}
	set := func(x []float64) {
		for k, j := range places {
			sin := math.Sin(x[k])
			theta[j] = s.family.ranges[j].at(sin * sin)
		}
	}
	set(minimise(optimize.Problem{
		Func: func(x []float64) float64 {
			set(x)
			if logLik := s.at(theta); logLik > -math.MaxFloat64 {
				return -logLik
			}
			return math.MaxFloat64
		},
		Grad: func(slope, x []float64) {
			set(x)
			s.slope(theta, slopes)
			for k, j := range places {
				slope[k] = -slopes[j] * s.family.ranges[j].slope(theta[j]) * math.Sin(2*x[k])
			}
		},
	}, x, s.tolerance))
	return s.settle(optimum{theta, s.at(theta)}, fixed)
}

// settle moves a parameter that is next to an end of its range to that end
// where this costs no likelihood: a slope that is zero at the end stops every
// search beside it.
func (s *search) settle(o optimum, fixed int) optimum {
	for j, r := range s.family.ranges {
		unit := r.unit(o.theta[j])
		end := math.Round(unit)
		if j == fixed || math.Abs(unit-end) > 0.01 {
			continue
		}
		moved := append([]float64(nil), o.theta...)
		moved[j] = r.at(end)
		if logLik := s.at(moved); logLik > o.logLik-1e-7 {
			o = optimum{moved, max(logLik, o.logLik)}
		}
	}
	return o
}

// minimise returns where BFGS finds the function smallest. It ends where steps
// no longer lower it by the tolerance, or where the line search finds no lower place,
// as it does at the limits of rounding.
func minimise(p optimize.Problem, x []float64, tolerance float64) []float64 {
	settings := &optimize.Settings{
		GradientThreshold: 1e-6,
		Converger:         &optimize.FunctionConverge{Absolute: tolerance, Iterations: 3},
		MajorIterations:   500,
	}
	found, err := optimize.Minimize(p, x, settings, &optimize.BFGS{})
	if err != nil && (found == nil || !(found.F <= p.Func(x))) {
		return x
	}
	return found.X
}
