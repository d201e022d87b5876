package spec

import "vigorlab/distributions"

// A Population is a parsed population spec. Exactly one of Law and Variance is
// the fullest view: Variance is always set, Law is nil for a law without
// rewards (pareto-variance without max), and Lengths is nil where lengths are
// unknown.
type Population struct {
	Spec     string // normalised; parses to itself
	Variance distributions.VarianceLaw
	Law      distributions.Law
	Lengths  *distributions.LengthLaw
}
