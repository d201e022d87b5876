package distributions

import (
	"math"
	"math/rand/v2"
)

// A LengthLaw is the law of the tokens L of one rollout, given the prompt's
// success probability p: lognormal with mean tokens*exp(slope*(1/2-p)) and a
// standard deviation in constant proportion to it, cut off at a cap. What is
// cut off counts as cap tokens, as a trainer counts it. A LengthLaw is an
// immutable value; build it with NewLengthLaw.
type LengthLaw struct {
	tokens, slope, cap float64
	sigma              float64 // standard deviation of log L
}

// The ranges of a LengthLaw keep every mean finite.
const (
	maxTokens = 1e9
	maxSlope  = 50
)

// NewLengthLaw returns the law whose rollouts of a prompt with p = 1/2 have
// mean tokens and standard deviation sd before the cap; tokens in (0, 1e9], sd
// in [0, 1e9], slope in [-50, 50] (positive: hard prompts are longer), cap a
// whole number >= 1, or +Inf for none.
func NewLengthLaw(tokens, sd, slope, cap float64) (*LengthLaw, error) {
	var f faults
	f.check("tokens", tokens, tokens > 0 && tokens <= maxTokens, "(0, 1e+09]")
	f.check("tokens-sd", sd, sd >= 0 && sd <= maxTokens, "[0, 1e+09]")
	f.check("tokens-slope", slope, math.Abs(slope) <= maxSlope, "[-50, 50]")
	f.check("tokens-cap", cap, cap >= 1 && cap == math.Trunc(cap), "a whole number >= 1")
	if err := f.err(); err != nil {
		return nil, err
	}
	ratio := sd / tokens
	return &LengthLaw{tokens, slope, cap, math.Sqrt(math.Log1p(ratio * ratio))}, nil
}

// Equal reports whether two length laws are the same; both may be nil.
func (l *LengthLaw) Equal(other *LengthLaw) bool {
	if l == nil || other == nil {
		return l == other
	}
	return *l == *other
}

// uncapped returns E[L | p] before the cap.
func (l *LengthLaw) uncapped(p float64) float64 {
	return l.tokens * math.Exp(l.slope*(0.5-p))
}

// Mean returns E[min(L, cap) | p] in tokens: with m the mean before the cap,
// s the standard deviation of log L and d = log(cap/m)/s,
//
//	m Phi(d - s/2) + cap Phi(-d - s/2).
func (l *LengthLaw) Mean(p float64) float64 {
	m := l.uncapped(p)
	if math.IsInf(l.cap, 1) || l.sigma == 0 {
		return min(m, l.cap)
	}
	d := math.Log(l.cap/m) / l.sigma
	return m*normalCDF(d-l.sigma/2) + l.cap*normalCDF(-d-l.sigma/2)
}

// TruncatedShare returns P(L > cap | p), the share of rollouts cut off.
func (l *LengthLaw) TruncatedShare(p float64) float64 {
	m := l.uncapped(p)
	if l.sigma == 0 {
		if m > l.cap {
			return 1
		}
		return 0
	}
	return normalCDF(-math.Log(l.cap/m)/l.sigma - l.sigma/2)
}

// Rand draws the whole number of tokens of one rollout of a prompt, from r
// alone. Fractions are rounded up or down at random, so that the mean is
// exactly Mean(p).
func (l *LengthLaw) Rand(p float64, r *rand.Rand) int {
	tokens := l.uncapped(p) * math.Exp(l.sigma*(r.NormFloat64()-l.sigma/2))
	return int(min(math.Floor(min(tokens, l.cap)+r.Float64()), math.MaxInt32))
}

// normalCDF returns Phi(x).
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
