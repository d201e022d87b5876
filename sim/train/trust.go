package train

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Token is a token of an update's rollouts, as a trust region sees it.
type Token struct {
	Advantage float64 // of its rollout
	LogRatio  float64 // ln r: its log probability as the policy stands, less that under the policy that answered
	Stale     float64 // the same for the policy at the start of the step
	Count     float64 // rollouts with the same outcome, a whole number >= 0: their tokens are alike
}

// A TrustRegion limits what an update learns from tokens whose probability is no
// longer the one that they were answered with. It is an immutable value.
type TrustRegion interface {
	// Limit returns the range of ratios for an update on the given tokens, and
	// sets kept, which has an entry of 1 for every token, to the share of its
	// Count that the update learns from, in [0, 1].
	Limit(tokens []Token, kept []float64) Range
}

// A Range says what a token of ratio r and advantage A adds to the objective:
// min(r A, clip(r) A), where clip limits to [Low, High]. Truncated it adds r A
// for r <= 1 and (1 + ln r) A above, whose gradient is min(1, r) A times that of
// the log probability: truncated importance weights.
type Range struct {
	Low, High float64 // around 1; -Inf and +Inf for no limit
	Truncated bool    // in place of them
}

// term returns what a token adds, and its derivative by the log probability.
func (r *Range) term(logRatio, a float64) (value, slope float64) {
	rho := math.Exp(logRatio)
	if r.Truncated && rho > 1 {
		return (1 + logRatio) * a, a
	}
	clipped := min(max(rho, r.Low), r.High)
	if !r.Truncated && clipped*a < rho*a { // held at the edge of the range
		return clipped * a, 0
	}
	return rho * a, rho * a
}

// clipRange is the clipping of PPO and GRPO to [1-eps, 1+eps].
type clipRange struct{ eps float64 }

func (c clipRange) Limit([]Token, []float64) Range { return Range{Low: 1 - c.eps, High: 1 + c.eps} }

// noRegion follows the ratio wherever it goes.
type noRegion struct{}

func (noRegion) Limit([]Token, []float64) Range { return unlimited }

var unlimited = Range{Low: math.Inf(-1), High: math.Inf(1)}

// truncatedWeights are importance weights min(1, r), token by token.
type truncatedWeights struct{}

func (truncatedWeights) Limit([]Token, []float64) Range { return Range{Truncated: true} }

// harmful tells the tokens that a trust region guards: those whose probability
// already moved the way that their advantage pushes it. The square is (ln r)^2.
func harmful(t *Token) (square float64, in bool) {
	in = t.Advantage > 0 && t.LogRatio > 0 || t.Advantage < 0 && t.LogRatio < 0
	return t.LogRatio * t.LogRatio, in
}

// stale takes in every token, by (ln pi_start - ln pi_behaviour)^2.
func stale(t *Token) (square float64, in bool) { return t.Stale * t.Stale, true }

// paperRule is M2PO's Algorithm 1 (arXiv 2510.01161): while the mean of (ln r)^2
// over the harmful tokens exceeds tau, the largest of them is masked. Equal ones
// are masked in proportion, so that no order of rollouts matters. What is left
// follows the ratio without limits; masked tokens stay in all denominators.
type paperRule struct{ tau float64 }

func (p paperRule) Limit(tokens []Token, kept []float64) Range {
	within := func(sum, n float64) bool { return sum <= p.tau*n }
	maskLargest(tokens, kept, harmful, within)
	return unlimited
}

// arealRule is the variant of the library AReaL, as strategies/systems.md,
// section 10, states it: of all tokens the largest by how stale they were at the
// start of the step are masked, whatever the advantage, until the mean is below
// tau or one token is left; then clipping, here of the ratio to the policy that
// answered.
type arealRule struct {
	tau  float64
	clip clipRange
}

func (a arealRule) Limit(tokens []Token, kept []float64) Range {
	within := func(sum, n float64) bool { return n <= 1 || sum < a.tau*n }
	maskLargest(tokens, kept, stale, within)
	return a.clip.Limit(tokens, kept)
}

// releasedRule is the code released with M2PO: it caps |ln r| of the harmful
// tokens at the largest c, one of their own values, that brings the mean of
// (ln r)^2 below tau, turns c into a range of ratios, never tighter than
// [1-0.3, 1+0.5], and clips as PPO does. Where the mean is within tau from the
// start it clips nothing. Where not even the smallest value will do, c is 0.
type releasedRule struct{ tau float64 }

// The code never clips tighter than this.
const releasedLow, releasedHigh = 1 - 0.3, 1 + 0.5

// releasedSlack is how far below its breakpoint the code takes c^2, so that
// rounding does not decide whether the breakpoint's own tokens are held: they
// are.
const releasedSlack = 1e-12

func (p releasedRule) Limit(tokens []Token, _ []float64) Range {
	square := capSquare(levels(tokens, harmful), p.tau)
	c := math.Sqrt(max(0, square-releasedSlack))
	return Range{Low: min(math.Exp(-c), releasedLow), High: max(math.Exp(c), releasedHigh)}
}

// capSquare returns the largest square at which capping all of them brings their
// mean below tau, 0 where there is none, and +Inf where no cap is needed.
func capSquare(all []level, tau float64) float64 {
	sum, n := total(all)
	if sum <= tau*n {
		return math.Inf(1)
	}
	below, left, last := 0.0, n, 0.0
	for i := len(all) - 1; i >= 0; i-- { // from the smallest
		if !(below+all[i].square*left < tau*n) {
			break
		}
		last = all[i].square
		below += all[i].square * all[i].count
		left -= all[i].count
	}
	return last
}

// A level is a number of tokens whose squares are equal.
type level struct{ square, count float64 }

// levels returns the squares of the tokens that of takes in, the largest first.
func levels(tokens []Token, of func(*Token) (square float64, in bool)) []level {
	var all []level
	for i := range tokens {
		if square, in := of(&tokens[i]); in && tokens[i].Count > 0 {
			all = append(all, level{square, tokens[i].Count})
		}
	}
	slices.SortFunc(all, func(a, b level) int { return cmp.Compare(b.square, a.square) })
	distinct := all[:0]
	for _, l := range all {
		if n := len(distinct); n > 0 && distinct[n-1].square == l.square {
			distinct[n-1].count += l.count
			continue
		}
		distinct = append(distinct, l)
	}
	return distinct
}

// total returns the sum of the squares of all tokens, and their number.
func total(all []level) (sum, n float64) {
	for i := len(all) - 1; i >= 0; i-- { // the small ones first
		sum += all[i].square * all[i].count
		n += all[i].count
	}
	return sum, n
}

// maskLargest masks the tokens with the largest squares, one by one and equal
// ones in proportion, until the sum and number of those left are within limits.
func maskLargest(tokens []Token, kept []float64, of func(*Token) (float64, bool), within func(sum, n float64) bool) {
	cut, share := cutLargest(levels(tokens, of), within)
	for i := range tokens {
		switch square, in := of(&tokens[i]); {
		case in && square > cut:
			kept[i] = 0
		case in && square == cut:
			kept[i] = share
		}
	}
}

// cutLargest returns the level that the last token to mask belongs to, and the
// share of it that stays: squares above it are masked.
func cutLargest(all []level, within func(sum, n float64) bool) (square, share float64) {
	below := make([]level, len(all)+1) // the sum and number of all squares from a level on
	for i := len(all) - 1; i >= 0; i-- {
		below[i] = level{below[i+1].square + all[i].square*all[i].count, below[i+1].count + all[i].count}
	}
	for i, l := range all {
		rest := below[i+1]
		drop := sort.Search(int(l.count), func(m int) bool {
			left := l.count - float64(m)
			return within(rest.square+l.square*left, rest.count+left)
		})
		if left := l.count - float64(drop); left > 0 {
			return l.square, left / l.count
		}
	}
	return math.Inf(-1), 0
}

// A drift sums up how far tokens are from the policy that answered.
type drift struct {
	tokens    float64
	held      float64 // of these, masked or held at the edge of the range
	squareLog float64 // sum of (ln r)^2
	square    float64 // sum of (r-1)^2
	largest   float64 // |ln r|
}

// add counts the tokens of one update.
func (d *drift) add(tokens []Token, kept []float64, r Range) {
	for i, t := range tokens {
		if t.Count == 0 {
			continue
		}
		d.tokens += t.Count
		held := 1 - kept[i]
		if _, slope := r.term(t.LogRatio, t.Advantage); slope == 0 && t.Advantage != 0 {
			held = 1
		}
		d.held += held * t.Count
		d.squareLog += t.LogRatio * t.LogRatio * t.Count
		move := math.Expm1(t.LogRatio)
		d.square += move * move * t.Count
		d.largest = max(d.largest, math.Abs(t.LogRatio))
	}
}
