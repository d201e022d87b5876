package distributions

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A LengthLaw is the law of the tokens L of one rollout, given the prompt's
// success probability p: lognormal with mean tokens*exp(slope*(1/2-p)) and a
// standard deviation in constant proportion to it, cut off at a cap. What is
// cut off counts as cap tokens, as a trainer counts it. A LengthLaw is an
// immutable value; build it with NewLengthLaw or NewRecordedLengths.
type LengthLaw struct {
	tokens, slope, cap float64
	sigma              float64    // standard deviation of log L
	recorded           []Recorded // means in place of tokens and slope, ascending p
}

// Recorded is a prompt of which mean tokens were recorded.
type Recorded struct{ P, Tokens float64 }

// recordedRatio is the standard deviation over the mean of lengths whose mean
// alone was recorded, and the default of a spec that gives the mean alone.
const recordedRatio = 0.5

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
	return &LengthLaw{tokens: tokens, slope: slope, cap: cap, sigma: logDeviation(sd / tokens)}, nil
}

// NewRecordedLengths returns the law under which a rollout of a prompt with
// success probability p is as long as those of the prompts recorded at p were
// on average, or at the nearest p; nothing is cut off, and the standard
// deviation is half the mean. Tokens must lie in (0, 1e9], P in [0, 1].
func NewRecordedLengths(prompts []Recorded) (*LengthLaw, error) {
	var f faults
	f.check("prompts", float64(len(prompts)), len(prompts) > 0, "at least 1")
	for _, r := range prompts {
		f.probability("p", r.P)
		f.check("tokens", r.Tokens, r.Tokens > 0 && r.Tokens <= maxTokens, "(0, 1e+09]")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return &LengthLaw{cap: math.Inf(1), sigma: logDeviation(recordedRatio), recorded: averages(prompts)}, nil
}

// averages returns the mean tokens at every distinct p, in ascending order.
func averages(prompts []Recorded) []Recorded {
	prompts = slices.Clone(prompts)
	slices.SortStableFunc(prompts, func(a, b Recorded) int { return cmp.Compare(a.P, b.P) })
	means := prompts[:0]
	for i := 0; i < len(prompts); {
		p, first, sum := prompts[i].P, i, 0.0
		for ; i < len(prompts) && prompts[i].P == p; i++ {
			sum += prompts[i].Tokens
		}
		means = append(means, Recorded{p, sum / float64(i-first)})
	}
	return slices.Clip(means)
}

// logDeviation returns the standard deviation of log L where that of L is
// ratio times its mean.
func logDeviation(ratio float64) float64 { return math.Sqrt(math.Log1p(ratio * ratio)) }

// Flipped returns the law of lengths given p' = q + (1-2q) p, the success
// probability under label noise (see NewFlip), q in [0, 1]: noise changes rewards,
// and a prompt's tokens stay those of its p. Since 1/2 - p = (1/2 - p') / (1-2q),
// the slope is divided by 1-2q. Under q = 1/2 every p' is 1/2, so that lengths
// which depend on p are an error.
func (l *LengthLaw) Flipped(q float64) (*LengthLaw, error) {
	var f faults
	f.probability("q", q)
	if q == 0.5 && (l.slope != 0 || len(l.recorded) > 1) {
		f.check("q", q, false, "other than 1/2 where lengths depend on p: every success probability is 1/2 then")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	flipped := *l
	if l.slope != 0 {
		flipped.slope /= 1 - 2*q
	}
	flipped.recorded = slices.Clone(l.recorded)
	for i := range flipped.recorded {
		flipped.recorded[i].P = turn(q, flipped.recorded[i].P)
	}
	flipped.recorded = averages(flipped.recorded)
	return &flipped, nil
}

// Equal reports whether two length laws are the same; both may be nil.
func (l *LengthLaw) Equal(other *LengthLaw) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.tokens == other.tokens && l.slope == other.slope && l.cap == other.cap &&
		l.sigma == other.sigma && slices.Equal(l.recorded, other.recorded)
}

// uncapped returns E[L | p] before the cap.
func (l *LengthLaw) uncapped(p float64) float64 {
	if len(l.recorded) > 0 {
		return l.nearest(p)
	}
	return l.tokens * math.Exp(l.slope*(0.5-p))
}

// nearest returns the recorded mean at the nearest p, the lower one in the
// middle.
func (l *LengthLaw) nearest(p float64) float64 {
	i, _ := slices.BinarySearchFunc(l.recorded, p, func(r Recorded, p float64) int { return cmp.Compare(r.P, p) })
	switch {
	case i == len(l.recorded):
		i--
	case i > 0 && p-l.recorded[i-1].P <= l.recorded[i].P-p:
		i--
	}
	return l.recorded[i].Tokens
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
func (l *LengthLaw) TruncatedShare(p float64) float64 { return l.beyond(l.cap, p) }

// Longer returns P(min(L, cap) > tokens | p), for tokens >= 0.
func (l *LengthLaw) Longer(tokens, p float64) float64 {
	if tokens >= l.cap {
		return 0
	}
	return l.beyond(tokens, p)
}

// beyond returns P(L > tokens | p), before the cap.
func (l *LengthLaw) beyond(tokens, p float64) float64 {
	m := l.uncapped(p)
	if l.sigma == 0 {
		if m > tokens {
			return 1
		}
		return 0
	}
	return normalCDF(-math.Log(tokens/m)/l.sigma - l.sigma/2)
}

// Rand draws the whole number of tokens of one rollout of a prompt, from r
// alone. Fractions are rounded up or down at random, so that the mean is
// exactly Mean(p), short of 2^31 tokens, where draws stop.
func (l *LengthLaw) Rand(p float64, r *rand.Rand) int {
	tokens := l.uncapped(p) * math.Exp(l.sigma*(r.NormFloat64()-l.sigma/2))
	return int(min(math.Floor(min(tokens, l.cap)+r.Float64()), math.MaxInt32))
}

// normalCDF returns Phi(x).
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
