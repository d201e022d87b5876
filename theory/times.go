package theory

import (
	"errors"
	"math"
)

// A Flow describes gradient flow d theta/dt on the expected reward of a
// softmax policy, rewards in [-1, 1] (theory.md, section 4.1). All times below
// are lower bounds on t_g, the first time at which the expected reward of a
// prompt has risen by g; under signed coding p has then risen by g/2.
type Flow struct {
	Gain     float64 // g, in (0, 2]
	Tokens   float64 // L >= 1, sampled tokens, end token included
	Jacobian float64 // J > 0, sup of the spectral norm of d(logits)/d(theta)
}

func (f Flow) check() error {
	return errors.Join(
		unless(f.Gain > 0 && f.Gain <= 2, outside("gain", f.Gain, "(0, 2]")),
		unless(f.Tokens >= 1 && f.Tokens <= math.MaxFloat64, outside("tokens", f.Tokens, "[1, Inf)")),
		unless(f.Jacobian > 0 && f.Jacobian <= math.MaxFloat64, outside("jacobian", f.Jacobian, "(0, Inf)")),
	)
}

// bound returns numerator / (c L^2 J^2) * variance^power.
func (f Flow) bound(numerator, c, variance, power float64) (float64, error) {
	if err := errors.Join(f.check(), checkVariance(variance)); err != nil {
		return math.NaN(), err
	}
	lj := f.Tokens * f.Jacobian
	return finite("time", numerator/(c*lj*lj)*math.Pow(variance, power))
}

// checkVariance validates a reward variance of rewards in [-1, 1]. At 0 the
// gradient vanishes and every bound is infinite.
func checkVariance(variance float64) error {
	return unless(variance > 0 && variance <= 1, outside("variance", variance, "(0, 1]"))
}

// TimeRazin2025 is Theorem 4 of Razin et al. 2025 (arXiv 2503.15477), as
// stated in theory.md, section 4.1: with a KL penalty lambda >= 0 and the mean
// reward variance over prompts,
//
//	t_g >= min{1 - exp(-g/9), 1 - exp(-7/(3 lambda))} / (8 L^2 J^2) * (E Var)^(-1/3).
func (f Flow) TimeRazin2025(variance, lambda float64) (float64, error) {
	if !(lambda >= 0) {
		return math.NaN(), outside("lambda", lambda, "[0, Inf)")
	}
	rise := -math.Expm1(-f.Gain / 9)
	if lambda > 0 {
		rise = min(rise, -math.Expm1(-7/(3*lambda)))
	}
	return f.bound(rise, 8, variance, -1./3)
}

// TimeGeneral is the bound for any softmax policy without KL (OWN; theory.md,
// section 4.1): t_g >= (1 - exp(-g/2)) / (2 L^2 J^2) * (E Var)^(-1/2).
//
// With K = 2L^2J^2 and S = E[STD], |grad V| <= 2LJ STD and |grad Var| <= 2LJ Var
// give S' <= K S^2 and V' <= 2K S, so that V has risen by at most
// -2 ln(1 - K S(0) t), and S(0)^2 <= E Var.
func (f Flow) TimeGeneral(variance float64) (float64, error) {
	return f.bound(-math.Expm1(-f.Gain/2), 2, variance, -1./2)
}

// TimeBinary is the bound for plain policy gradient and binary-valued rewards
// (OWN; theory.md, section 4.1): t_g >= (1 - exp(-g)) / (4 L^2 J^2) * (E Var)^(-1).
//
// Binary-valued rewards have E|r - V| = Var, hence |grad V| <= 2LJ Var; with
// K = 4L^2J^2 and D = E Var, D' <= K D^2 and V' <= K D.
func (f Flow) TimeBinary(variance float64) (float64, error) {
	return f.bound(-math.Expm1(-f.Gain), 4, variance, -1)
}

// TimeNormalised is the bound for one prompt under the flow of grad V / STD
// and binary-valued rewards (OWN; theory.md, section 4.1; false for graded
// rewards): t_g >= (1 - exp(-g/2)) / (2 L^2 J^2) * Var^(-1/2).
func (f Flow) TimeNormalised(variance float64) (float64, error) {
	return f.bound(-math.Expm1(-f.Gain/2), 2, variance, -1./2)
}

// TimeTabular is Proposition 3 of Razin et al. 2025 (arXiv 2503.15477), as
// stated in theory.md, section 4.1, for a tabular policy on |S| prompts:
// t_g >= 2|S|(1 - exp(-g/2)) Var^(-1/2), t_g and Var of the same prompt.
// gain is g in (0, 2], prompts >= 1, variance in (0, 1].
func TimeTabular(gain float64, prompts int, variance float64) (float64, error) {
	err := errors.Join(
		Flow{gain, 1, 1}.check(),
		unless(prompts >= 1, outside("prompts", prompts, "a whole number >= 1")),
		checkVariance(variance),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("time", 2*float64(prompts)*-math.Expm1(-gain/2)/math.Sqrt(variance))
}
