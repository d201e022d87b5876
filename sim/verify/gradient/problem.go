package gradient

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// A family is a way to make policies and rewards.
type family int

const (
	tabular    family = iota // one parameter a cell
	featured                 // random features a cell
	shared                   // random features a token, the same at every prefix
	opposed                  // a correct and a wrong answer have opposite gradients of norm M
	cancelling               // a correct and a wrong answer have nearly the same gradient
	families
)

// likeness is the relative difference between the two features of a cancelling
// policy: far below what random features meet, far above rounding.
const likeness = 1e-6

// corners are the success probabilities under the policy that samples.
var corners = []float64{1e-6, 1e-4, 1e-2, .1, .3, .5, .7, .9, 1 - 1e-2, 1 - 1e-4, 1 - 1e-6}

// A problem is a policy, the parameters that sample, and rewards.
type problem struct {
	*policy
	before  []float64 // parameters that sample
	success float64   // probability of a correct response there
	correct []bool    // of every response
	graded  []float64 // a graded reward of every response, in [-1, 1]
}

// newProblem draws a problem with 2 to 4 tokens, responses of up to 1 to 3,
// features of any scale, logits of order 1 and success at one of the corners.
func newProblem(f family, r *rand.Rand) *problem {
	tokens, length, ends := 2+r.IntN(3), 1+r.IntN(3), r.IntN(2) == 0
	success := corners[r.IntN(len(corners))]
	scale := math.Pow(10, 6*r.Float64()-3)
	dim := 1 + r.IntN(6)
	var p *problem
	switch f {
	case tabular:
		p = newTabular(tokens, length, ends, r)
	case featured, shared:
		p = newFeatured(tokens, length, dim, ends, f == shared, scale, r)
	case opposed:
		p = newOpposed(tokens, length, dim, ends, success, scale, r)
	default:
		p = newCancelling(max(3, tokens), length, dim, ends, scale, r)
	}
	if f != opposed {
		p.success = success
		p.tilt(p.before, p.correct, success)
	}
	p.graded = make([]float64, p.responses())
	spread := math.Pow(10, -8*r.Float64())
	center := (1 - spread) * (2*r.Float64() - 1)
	for o := range p.graded {
		p.graded[o] = center + spread*(2*r.Float64()-1)
	}
	return p
}

// newBlank returns a problem whose features, parameters and rewards are zero.
func newBlank(s *space, dim int, r *rand.Rand) *problem {
	return &problem{
		policy: &policy{
			space: s, dim: dim,
			features: make([]float64, s.cells()*dim),
			offset:   normals(s.cells(), 1, r),
		},
		before:  make([]float64, dim),
		correct: make([]bool, s.responses()),
	}
}

func newTabular(tokens, length int, ends bool, r *rand.Rand) *problem {
	s := newSpace(tokens, length, ends)
	p := newBlank(s, s.cells(), r)
	for cell := range p.cells() {
		p.feature(cell)[cell] = 1
	}
	p.before = normals(p.dim, 1, r)
	p.rewardRandomly(r)
	return p
}

func newFeatured(tokens, length, dim int, ends, shared bool, scale float64, r *rand.Rand) *problem {
	p := newBlank(newSpace(tokens, length, ends), dim, r)
	p.features = normals(len(p.features), scale, r)
	if shared {
		root := p.features[:tokens*dim]
		for prefix := range p.prefixes {
			copy(p.features[prefix*len(root):], root)
		}
	}
	p.before = normals(dim, 1/(scale*math.Sqrt(float64(dim))), r)
	p.rewardRandomly(r)
	return p
}

// rewardRandomly calls responses correct by the toss of a coin, or by the side
// of a random direction that their score lies on; the mean score is 0, so that
// either side has some.
func (p *problem) rewardRandomly(r *rand.Rand) {
	if r.IntN(2) == 0 {
		order := r.Perm(p.responses())
		for i, o := range order {
			p.correct[o] = i == 0 || i > 1 && r.IntN(2) == 0 // at least one of each
		}
		return
	}
	s, direction := p.at(p.before), normals(p.dim, 1, r)
	for o, path := range p.paths {
		side := 0.0
		for _, cell := range path {
			side += floats.Dot(direction, s.cellScore(cell))
		}
		p.correct[o] = side > 0
	}
}

// newOpposed gives two first tokens the features v and -v and equal
// probability; everything else has feature 0. The mean feature is then 0, the
// gradients of the two are v and -v, and no response has a longer one: the
// bound is attained, at any success probability. Two tokens leave room for
// success 1/2 only, more tokens for any other.
func newOpposed(tokens, length, dim int, ends bool, success, scale float64, r *rand.Rand) *problem {
	if tokens == 2 || success == .5 {
		tokens, ends, success = 2, false, .5
	}
	p := newBlank(newSpace(tokens, length, ends), dim, r)
	p.success = success
	v := normals(dim, scale, r)
	good, bad := tokens-1, tokens-2
	copy(p.feature(good), v)
	floats.AddScaled(p.feature(bad), -1, v)
	q := min(success, 1-success)
	p.offset[good], p.offset[bad] = math.Log(q), math.Log(q)
	for token := range bad {
		p.offset[token] = math.Log((1 - 2*q) / float64(bad))
	}
	for o := range p.correct {
		if success > .5 {
			p.correct[o] = p.first(o) != bad
		} else {
			p.correct[o] = p.first(o) == good
		}
	}
	return p
}

// newCancelling gives two first tokens, one of them correct, nearly the same
// feature v, and the other first tokens -v.
func newCancelling(tokens, length, dim int, ends bool, scale float64, r *rand.Rand) *problem {
	p := newBlank(newSpace(tokens, length, ends), dim, r)
	v := normals(dim, scale, r)
	good, bad := tokens-1, tokens-2
	for token := range tokens {
		switch token {
		case good:
			copy(p.feature(token), v)
		case bad:
			floats.AddScaled(p.feature(token), 1-likeness, v)
		default:
			floats.AddScaled(p.feature(token), -1, v)
		}
	}
	for o := range p.correct {
		p.correct[o] = p.first(o) == good
	}
	return p
}

// normals returns n normal deviates of the given scale.
func normals(n int, scale float64, r *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
	return x
}
