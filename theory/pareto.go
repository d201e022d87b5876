package theory

import (
	"errors"
	"math"
)

// An Exponent turns a ratio of reward variances into a predicted speedup.
type Exponent struct {
	Name  string  // "1/3", as commands print it
	Value float64 // in (0, 1]
}

// Exponents returns the three exponents that stand beside every prediction
// (theory.md, sections 3.1 and 4.2).
func Exponents() []Exponent {
	return []Exponent{
		{"1/3", 1. / 3}, // Theorem 2 of VIGOR, from the lower bound of Razin et al. 2025, Theorem 4
		{"1/2", 1. / 2}, // GRPO on one logit as the group grows without bound
		{"1", 1},        // policy gradient on one logit, and GRPO where p << 1/G
	}
}

// Speedup returns eta^exponent, the predicted ratio of times tau_GRPO to
// tau_VIGOR (VIGOR, Theorem 2, with exponent 1/3), for eta >= 0.
func Speedup(eta, exponent float64) float64 {
	switch exponent {
	case 1. / 3:
		return math.Cbrt(eta)
	case 1. / 2:
		return math.Sqrt(eta)
	}
	return math.Pow(eta, exponent)
}

// EtaPareto returns the closed form of Theorem 2 of VIGOR (arXiv 2607.22002;
// theory.md, section 3): the mean reward variance per rollout of VIGOR over
// that of equal groups,
//
//	eta = sum_{i<T} (gamma*alpha^(1-1/kappa))^i / sum_{i<T} (alpha*gamma)^i,
//
// where u ~ Pareto(u_min, kappa) without an upper end, selection sees the true
// u, and the batch is infinite. It has no unit and does not depend on u_min or
// on the coding.
//
// With a = alpha*gamma, q = alpha^(-1/kappa) and b = a*q, as T grows
//
//	a = 1:        eta = (q^T - 1) / (T(q-1)), so eta^(1/3) = Theta(q^(T/3)/T^(1/3))
//	a > 1:        eta -> (a-1)/(b-1) * q^T
//	a < 1, b > 1: eta -> (1-a)/(b-1) * b^T
//	a < 1, b = 1: eta -> (1-a) * T
//	a < 1, b < 1: eta -> (1-a)/(1-b)
//
// and eta -> 1 as kappa -> Inf. Domain: kappa > 1 (below, u has no mean), alpha
// in (0, 1), gamma > 0, rounds in [1, schedule.MaxRounds]; other values, and a
// result beyond float64, are errors. The relative error is about
// rounds * 1e-16 * max(1, |ln alpha|): nothing cancels near a = 1 or b = 1.
func EtaPareto(kappa, alpha, gamma float64, rounds int) (float64, error) {
	err := errors.Join(
		unless(kappa > 1, outside("kappa", kappa, "(1, Inf): at or below 1 the reward variance has no mean")),
		checkSchedule(alpha, gamma, rounds),
	)
	if err != nil {
		return math.NaN(), err
	}
	eta := geometricRatio(logProduct(alpha, gamma), -math.Log(alpha)/kappa, float64(rounds))
	return finite("eta", eta)
}

// EtaParetoSurvivors is EtaPareto where the update uses only the prompts that
// reach the last round: alpha^(-(T-1)/kappa) per trained rollout (OWN).
func EtaParetoSurvivors(kappa, alpha float64, rounds int) (float64, error) {
	err := errors.Join(
		unless(kappa > 1, outside("kappa", kappa, "(1, Inf): at or below 1 the reward variance has no mean")),
		checkSchedule(alpha, 1, rounds),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("eta", math.Exp(-float64(rounds-1)*math.Log(alpha)/kappa))
}

// EtaTruncatedPareto is EtaPareto for u ~ Pareto(kappa) truncated to [umin,
// umax] (OWN; theory.md, section 3.1): with Z = 1 - (umin/umax)^kappa,
//
//	cut(q)      = umin (1 - (1-q)Z)^(-1/kappa)
//	E[u; u > c] = kappa umin^kappa (c^(1-kappa) - umax^(1-kappa)) / ((kappa-1)Z),
//	              umin ln(umax/c) / Z at kappa = 1
//	eta         = sum_i gamma^i E[u; u > cut(alpha^i)] / (sum_i (alpha*gamma)^i E[u]).
//
// Domain: kappa > 0, also at and below 1; 0 < umin < umax < Inf; the rest as
// for EtaPareto. It costs one term a round.
func EtaTruncatedPareto(kappa, umin, umax, alpha, gamma float64, rounds int) (float64, error) {
	err := errors.Join(
		unless(kappa > 0 && kappa <= math.MaxFloat64, outside("kappa", kappa, "(0, Inf)")),
		unless(umin > 0 && umin < umax, outside("umin", umin, "(0, umax)")),
		unless(umax <= math.MaxFloat64, outside("umax", umax, "(umin, Inf)")),
		checkSchedule(alpha, gamma, rounds),
	)
	if err != nil {
		return math.NaN(), err
	}
	law := truncatedPareto{kappa, logQuotient(umax, umin)}
	logAlpha, weights := math.Log(alpha), scaledPowers(logProduct(alpha, gamma), rounds)
	sum, total := 0.0, 0.0
	for i, w := range weights {
		sum += w * law.topMean(float64(i)*logAlpha)
		total += w
	}
	return finite("eta", sum/total)
}

// logQuotient returns ln(x/y) for x > y > 0, exact to rounding near x = y.
func logQuotient(x, y float64) float64 {
	if x < 2*y {
		return math.Log1p((x - y) / y)
	}
	return math.Log(x) - math.Log(y)
}

// scaledPowers returns exp(i*l), i < n, over the largest of them.
func scaledPowers(l float64, n int) []float64 {
	powers := make([]float64, n)
	largest := max(0, float64(n-1)*l)
	for i := range powers {
		powers[i] = math.Exp(float64(i)*l - largest)
	}
	return powers
}

// A truncatedPareto is a Pareto law of shape kappa on an interval whose ends
// have the quotient exp(span). Only ratios of u matter here.
type truncatedPareto struct{ kappa, span float64 }

// topMean returns E[u | top share q] / E[u] for q = exp(logQ) in [0, 1]. With
// z = 1 - kappa and depth = ln(umax/cut(q)) it is
//
//	exp(min(z, 0)(span - depth)) expm1(-|z| depth) / expm1(-|z| span) / q,
//
// which is continuous at z = 0.
func (l truncatedPareto) topMean(logQ float64) float64 {
	z := 1 - l.kappa
	k := l.kappa * l.span
	// depth = ln(1 + q*expm1(k)) / kappa, in logarithms because k may be large.
	y := logQ + k + math.Log(-math.Expm1(-k))
	if y < -40 { // the top share sits at umax to 1e-17
		return math.Exp(l.span-max(z, 0)*l.span) * -math.Expm1(-k) / (l.kappa * decay(z, l.span))
	}
	depth := max(y, 0) + math.Log1p(math.Exp(-math.Abs(y)))
	depth /= l.kappa
	return math.Exp(min(z, 0)*(l.span-depth)-logQ) * decay(z, depth) / decay(z, l.span)
}

// decay returns the integral of exp(-|z|x) over [0, x].
func decay(z, x float64) float64 {
	z = math.Abs(z)
	if z == 0 {
		return x
	}
	return -math.Expm1(-z*x) / z
}
