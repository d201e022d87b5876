package fit

import "math"

// A Parameter is a fitted parameter with its 95 % interval by profile
// likelihood.
type Parameter struct {
	Name      string
	Estimate  float64
	Low, High float64
	// AtEnd says that the estimate is an end of the parameter's range. The
	// likelihood ratio then has a smaller law than chi-squared (Chernoff 1954),
	// and the interval holds the truth more often than it says.
	AtEnd bool
}

// profileDrop is half the 95 % quantile of chi-squared with one degree of
// freedom (Wilks 1938): by so many nats the profile likelihood falls at the
// ends of an interval.
const profileDrop = 3.841458820694124 / 2

// endTolerance is how near to the end of a range, in its unit, an estimate
// counts as there.
const endTolerance = 1e-9

// atEnd reports whether theta[j] is an end of its range.
func (f *family) atEnd(theta []float64, j int) bool {
	unit := f.ranges[j].unit(theta[j])
	return unit < endTolerance || unit > 1-endTolerance
}

// profile returns the interval of parameter j: where the likelihood, maximised
// over the other parameters, lies at most profileDrop below its maximum. An
// end may be the end of the parameter's range.
func (s *search) profile(top optimum, j int) (low, high float64) {
	return s.profileEnd(top, j, -1), s.profileEnd(top, j, 1)
}

// profileEnd goes from the maximum in one direction, with growing steps, and
// then finds the crossing by false position (Illinois rule) in the square root
// of the drop, which is nearly linear.
func (s *search) profileEnd(top optimum, j int, sign float64) float64 {
	r := s.family.ranges[j]
	theta := append([]float64(nil), top.theta...)
	excess := func(unit float64) float64 { // negative inside the interval
		theta[j] = r.at(unit)
		o := s.climb(theta, j)
		copy(theta, o.theta)
		if !(o.logLik > -math.MaxFloat64) {
			return math.Sqrt(profileDrop)
		}
		return math.Sqrt(max(0, top.logLik-o.logLik)) - math.Sqrt(profileDrop)
	}
	inside, atInside := r.unit(top.theta[j]), -math.Sqrt(profileDrop)
	outside, atOutside := inside, 0.0
	for reach := 1. / 256; ; reach *= 2 {
		outside = min(max(inside+sign*reach, 0), 1)
		if atOutside = excess(outside); atOutside >= 0 {
			break
		}
		inside, atInside = outside, atOutside
		if outside == 0 || outside == 1 {
			return r.at(outside)
		}
	}
	copy(theta, top.theta)
	var last float64 // the sign of the latest excess
	for range 60 {
		at := inside + (outside-inside)*atInside/(atInside-atOutside)
		y := excess(at)
		switch {
		case math.Abs(y) < 1e-5:
			return r.at(at)
		case y < 0:
			if inside, atInside = at, y; last < 0 {
				atOutside /= 2
			}
		default:
			if outside, atOutside = at, y; last > 0 {
				atInside /= 2
			}
		}
		last = y
	}
	return r.at((inside + outside) / 2)
}
