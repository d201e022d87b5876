package fit

import (
	"math"
	"math/rand/v2"

	"vigorlab/distributions"
)

// The names of the families.
const (
	Beta                = "beta"
	SpikedBeta          = "spiked-beta"
	ParetoVariance      = "pareto-variance"
	ParetoVarianceFree  = "pareto-variance-free"
	TruncatedPareto     = "truncated-pareto"
	TruncatedParetoFree = "truncated-pareto-free"
	NPMLE               = "npmle"
)

// Families returns the names of all families, the parametric ones first.
func Families() []string {
	names := make([]string, 0, len(families)+1)
	for _, f := range families {
		names = append(names, f.name)
	}
	return append(names, NPMLE)
}

// A likelihood gives the log-probabilities of cells under the laws of a family.
type likelihood interface {
	// logs writes the log-probability of each cell's count under the law with
	// the parameters theta, -Inf where there is no such law. slopes[j], unless
	// slopes is nil, takes its derivatives by theta[j].
	logs(theta, logs []float64, slopes [][]float64)
}

// A family is a set of laws of p with up to four parameters.
type family struct {
	name   string
	doc    string   // what the law is, for people
	within []string // families that hold this one as a special case
	ranges []parameterRange
	starts func(c *Counts) [][]float64
	over   func(cells []Cell) likelihood
	law    func(theta []float64) (distributions.Law, error)
	spec   func(theta []float64) string // of the law, where there is one
	sqrtU  func(theta []float64) float64
	rand   func(theta []float64, r *rand.Rand) float64 // p, of families with parameters that have no law
}

// A parameterRange is a parameter's name and closed range, searched on a
// logarithmic axis where log is set.
type parameterRange struct {
	name      string
	low, high float64
	log       bool
}

// unit places x in the range, at 0 for low and at 1 for high.
func (r parameterRange) unit(x float64) float64 {
	low, high := r.low, r.high
	if r.log {
		low, high, x = math.Log(low), math.Log(high), math.Log(x)
	}
	return min(max((x-low)/(high-low), 0), 1)
}

// slope returns the derivative of at, at x = at(unit).
func (r parameterRange) slope(x float64) float64 {
	if r.log {
		return x * math.Log(r.high/r.low)
	}
	return r.high - r.low
}

// at is the inverse of unit.
func (r parameterRange) at(unit float64) float64 {
	switch {
	case unit <= 0:
		return r.low
	case unit >= 1:
		return r.high
	case r.log:
		return r.low * math.Exp(unit*math.Log(r.high/r.low))
	}
	return r.low + unit*(r.high-r.low)
}

// largestBeta and smallestBeta are the ends of distributions.Beta.
const smallestBeta, largestBeta = 1e-4, 1e6

var (
	rangeA         = parameterRange{"a", smallestBeta, largestBeta, true}
	rangeB         = parameterRange{"b", smallestBeta, largestBeta, true}
	rangeMin       = parameterRange{"min", smallestU, 1 - 1e-6, true}
	rangeMax       = parameterRange{"max", smallestU, 1, true}
	rangeHard      = parameterRange{"hard", 0, 1, false}
	shapeAboveZero = parameterRange{"shape", 1e-6, largestShape, false}
	shapeOfAnySign = parameterRange{"shape", -largestShape, largestShape, false}
)
