package theory

import (
	"errors"
	"math"
)

// A Coding says what a rollout's reward is worth: Signed rewards are -1 and
// +1, Binary ones 0 and 1.
type Coding string

// The codings of binary-valued rewards.
const (
	Signed Coding = "signed"
	Binary Coding = "binary"
)

// An Estimator turns the rewards of a group of G into advantages A_i
// (theory.md, section 2), mean and standard deviation being the group's.
type Estimator string

// The estimators of the table in theory.md, section 2, for binary-valued
// rewards. Graded rewards have GradedFactor.
const (
	GRPO0  Estimator = "grpo:ddof=0" // (r - mean)/(sd + delta), the paper's with delta = 0
	GRPO1  Estimator = "grpo:ddof=1" // the same with the sample standard deviation: what libraries compute
	DrGRPO Estimator = "drgrpo"      // r - mean
	RLOO   Estimator = "rloo"        // r - mean of the others
)

// A Group is the outcome of one prompt's rollouts: S successes among G >= 1.
type Group struct{ G, S int }

func (g Group) check() error {
	return errors.Join(
		unless(g.G >= 1, outside("group", g.G, "a whole number >= 1")),
		unless(g.S >= 0 && g.S <= g.G, outside("successes", g.S, "a whole number in [0, group]")),
	)
}

// SumAbsAdvantages returns sum_i |A_i| of a group (theory.md, section 2),
// without unit. With sigma = GroupSigma, always that of signed rewards, and h
// = 1 under Signed coding, 1/2 under Binary coding, it is
//
//	GRPO0:  h G sigma^2 / (h sigma + delta), G sigma at delta = 0
//	GRPO1:  h G sigma^2 / (h sigma sqrt(G/(G-1)) + delta)
//	DrGRPO: h G sigma^2
//	RLOO:   h G^2/(G-1) sigma^2
//
// and 0 where sigma = 0, so for every group of one. delta >= 0 belongs to the
// GRPO rows, in units of the coded reward, and must be 0 in the others.
func SumAbsAdvantages(e Estimator, g Group, delta float64, c Coding) (float64, error) {
	normalised := e == GRPO0 || e == GRPO1
	err := errors.Join(
		g.check(),
		unless(normalised || e == DrGRPO || e == RLOO, outside("estimator", e, "one of grpo:ddof=0, grpo:ddof=1, drgrpo, rloo")),
		unless(delta >= 0 && delta <= math.MaxFloat64, outside("delta", delta, "[0, Inf)")),
		unless(normalised || delta == 0, outside("delta", delta, "0 for an estimator that does not divide")),
		unless(c == Signed || c == Binary, outside("coding", c, "one of signed, binary")),
	)
	if err != nil {
		return math.NaN(), err
	}
	size, sigma, h := float64(g.G), GroupSigma(g.G, g.S), 1.0
	if c == Binary {
		h = 0.5
	}
	if sigma == 0 {
		return 0, nil
	}
	sum := h * size * sigma * sigma
	switch e {
	case GRPO0:
		sum /= h*sigma + delta
	case GRPO1:
		sum /= h*sigma*math.Sqrt(size/(size-1)) + delta
	case RLOO:
		sum *= size / (size - 1)
	}
	return sum, nil
}

// BoundFactor returns the factor of M in Theorem 1 of VIGOR (arXiv 2607.22002;
// theory.md, section 2): ||grad L|| <= M/G sum_i |A_i|, where M is the largest
// norm of grad rho (with clipping: of the gradient of PPO's minimum term) over
// all responses that the policy can give. It is SumAbsAdvantages over G.
func BoundFactor(e Estimator, g Group, delta float64, c Coding) (float64, error) {
	sum, err := SumAbsAdvantages(e, g, delta, c)
	return sum / float64(g.G), err
}

// GradedFactor is the BoundFactor of GRPO (ddof 0, delta 0) for graded rewards:
// MAD/sigma in [0, 1], the mean absolute deviation over the standard deviation.
// It does not vanish with sigma, but is 0 where all rewards are equal. Rewards
// are finite; there is at least one.
func GradedFactor(rewards []float64) (float64, error) {
	if len(rewards) == 0 {
		return math.NaN(), errors.New("theory: no rewards, want at least one")
	}
	spread := 0.0
	for _, r := range rewards {
		if !(math.Abs(r) <= math.MaxFloat64/2) {
			return math.NaN(), outside("reward", r, "at most half the largest float64")
		}
		spread = max(spread, math.Abs(r-rewards[0]))
	}
	if spread == 0 {
		return 0, nil
	}
	// In units of the spread and from the first reward: no sum overflows, and
	// differences far below the rewards themselves keep their digits.
	n, mean := float64(len(rewards)), 0.0
	for _, r := range rewards {
		mean += (r - rewards[0]) / spread / n
	}
	mad, variance := 0.0, 0.0
	for _, r := range rewards {
		d := (r-rewards[0])/spread - mean
		mad += math.Abs(d) / n
		variance += d * d / n
	}
	return mad / math.Sqrt(variance), nil
}

// IdentityFactor returns sigma/2, the factor of the exact identity (OWN;
// theory.md, section 2): unclipped, ddof 0 and delta 0, the gradient of GRPO
// is sigma/2 times the mean grad rho over correct rollouts minus that over
// wrong ones.
func IdentityFactor(g Group) float64 { return GroupSigma(g.G, g.S) / 2 }

// OneLogitGradient returns E||grad L|| = E[sigma_G]/2 of GRPO (ddof 0, delta 0)
// on one logit (OWN; theory.md, section 2): p(1-p) at G = 2, and
// sqrt(p(1-p)) as G grows. g in [1, schedule.MaxGroup], p in [0, 1].
func OneLogitGradient(g int, p float64) (float64, error) {
	sigma, err := MeanSigma(g, p)
	return sigma / 2, err
}

// A Policy holds what bounds the gradient of the expected reward V = E[r] of a
// softmax policy, rewards in [-1, 1] (theory.md, section 2). One logit means
// logits (z, 0), with L = J = 1.
//
// Its methods bound ||grad V|| for rewards of standard deviation std in [0, 1].
type Policy struct {
	Tokens   float64 // L >= 1, sampled tokens, end token included
	Jacobian float64 // J >= 0, sup over trajectory, prompts and prefixes of the spectral norm of d(logits)/d(theta)
}

// GradientRazin2024 is 6 L J STD^(2/3): Theorem 1 of Razin et al. 2024 (arXiv
// 2310.20703), as stated in theory.md.
func (l Policy) GradientRazin2024(std float64) (float64, error) {
	return l.bound(6*l.Tokens*l.Jacobian*math.Cbrt(std*std), std)
}

// GradientLinear is 2 L J STD (OWN): E[grad log pi] = 0 lets r - V stand for
// r, and a score has at most the norm sqrt(2) L J.
func (l Policy) GradientLinear(std float64) (float64, error) {
	return l.bound(2*l.Tokens*l.Jacobian*std, std)
}

// GradientSharp is J sqrt(L/2) STD (OWN): scores are martingale differences,
// and the largest eigenvalue of diag(pi) - pi pi' is at most 1/2. Two answers
// of probability 1/2 attain it.
func (l Policy) GradientSharp(std float64) (float64, error) {
	return l.bound(l.Jacobian*math.Sqrt(l.Tokens/2)*std, std)
}

func (l Policy) bound(value, std float64) (float64, error) {
	err := errors.Join(
		unless(l.Tokens >= 1 && l.Tokens <= math.MaxFloat64, outside("tokens", l.Tokens, "[1, Inf)")),
		unless(l.Jacobian >= 0 && l.Jacobian <= math.MaxFloat64, outside("jacobian", l.Jacobian, "[0, Inf)")),
		unless(std >= 0 && std <= 1, outside("std", std, "[0, 1]")),
	)
	if err != nil {
		return math.NaN(), err
	}
	return value, nil
}
