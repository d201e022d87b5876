package fit

import (
	"vigorlab/distributions"
)

// The smoothers of counts, as `smooth=` of a table spec names them.
const (
	SmoothBeta  = "beta"
	SmoothNPMLE = "npmle"
)

// Smooth returns the law of p behind counts: the Beta law of largest
// likelihood, or the nonparametric one. Any other name panics: its caller has
// checked it.
func Smooth(c *Counts, how string) (distributions.Law, error) {
	var f *family
	switch how {
	case SmoothBeta:
		f = familyNamed(Beta)
	case SmoothNPMLE:
	default:
		panic("fit: no smoother " + how)
	}
	e, err := estimateOf(whole, f, c)
	if err != nil {
		return nil, err
	}
	law, _, err := e.law()
	return law, err
}
