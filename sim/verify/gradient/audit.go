package gradient

import "math"

// An audit repeats the enumeration of M by another route, which shares only
// the numbering of prefixes with the first: every string of tokens, cut where
// it ends, probabilities from plain exponentials, gradients one coordinate at
// a time.
type audit struct {
	largest   float64 // M
	responses int
	mass      float64 // probability of all responses when they were sampled: 1 if none is missing
}

func newAudit(p *policy, s surrogate, before, theta []float64) audit {
	var a audit
	old, now := p.plain(before), p.plain(theta)
	strings := int(math.Pow(float64(p.tokens), float64(p.length)))
	cells, ratios := make([]int, 0, p.length), make([]float64, 0, p.length)
	for code := range strings {
		cells, ratios = cells[:0], ratios[:0]
		prob, ratio, rest := 1.0, 1.0, code
		for prefix := 0; prefix >= 0; rest /= p.tokens {
			cell := prefix*p.tokens + rest%p.tokens
			cells = append(cells, cell)
			ratios = append(ratios, now[cell]/old[cell])
			prob *= old[cell]
			ratio *= now[cell] / old[cell]
			prefix = p.next[cell]
		}
		if rest != 0 {
			continue // tokens behind the end: the same response as without them
		}
		a.responses++
		a.mass += prob
		for i := range ratios {
			if !s.token {
				ratios[i] = ratio
			}
		}
		a.largest = max(a.largest, p.plainNorm(s, now, cells, ratios, 1), p.plainNorm(s, now, cells, ratios, -1))
	}
	return a
}

// plain returns the probability of every cell given its prefix.
func (p *policy) plain(theta []float64) []float64 {
	prob := make([]float64, len(p.offset))
	for low := 0; low < len(prob); low += p.tokens {
		sum := 0.0
		for cell := low; cell < low+p.tokens; cell++ {
			logit := p.offset[cell]
			for k, x := range theta {
				logit += x * p.features[cell*p.dim+k]
			}
			prob[cell] = math.Exp(logit)
			sum += prob[cell]
		}
		for cell := low; cell < low+p.tokens; cell++ {
			prob[cell] /= sum
		}
	}
	return prob
}

// plainNorm returns the norm of the gradient of min(rho A, clip(rho) A), or of
// its mean over tokens, for A = 1 or A = -1.
func (p *policy) plainNorm(s surrogate, prob []float64, cells []int, ratios []float64, advantage float64) float64 {
	square := 0.0
	for k := range p.dim {
		sum := 0.0
		for i, cell := range cells {
			r := ratios[i]
			if clipped := min(max(r, 1-s.clip), 1+s.clip); r*advantage > clipped*advantage {
				continue // the minimum is the clipped term, a constant
			}
			low := cell - cell%p.tokens
			score := 0.0
			for other := low; other < low+p.tokens; other++ {
				score += prob[other] * (p.features[cell*p.dim+k] - p.features[other*p.dim+k])
			}
			sum += r * score
		}
		square += sum * sum
	}
	if s.token {
		return math.Sqrt(square) / float64(len(cells))
	}
	return math.Sqrt(square)
}

// confirms reports whether the audit met every response and agrees that m is
// the largest norm.
func (a audit) confirms(m float64, responses int) bool {
	return a.responses == responses && math.Abs(a.mass-1) <= auditTolerance &&
		math.Abs(m-a.largest) <= auditTolerance*a.largest
}
