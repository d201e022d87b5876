package theory

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// The arc of a success probability p is psi = arcsin sqrt(p), in [0, pi/2]: on
// it one rollout has Fisher information 4 everywhere. What follows is stated of
// it by ARCUS (arXiv 2609.38018, a reconstruction from readers' notes in
// systems.md, section 6) and was derived anew.

// ArcWeight returns omega_G = E[sqrt(s(G-s))]/(G sqrt(p(1-p))), in [0, 1): the
// mean gradient of GRPO (ddof 0, delta 0) is 2 omega_G grad psi (Proposition 1).
// It tends to 1 as G grows. g in [1, schedule.MaxGroup], p in (0, 1).
func ArcWeight(g int, p float64) (float64, error) {
	if !(p > 0 && p < 1) {
		return math.NaN(), outside("p", p, "(0, 1)")
	}
	sigma, err := MeanSigma(g, p)
	return sigma / 2 / math.Sqrt(p*(1-p)), err
}

// ArcZeroVariance bounds the probability p^G + (1-p)^G of a group without reward
// variance by e^(-G psi^2) + e^(-G (pi/2-psi)^2), averaged over psi ~
// N(mean, variance) on the whole line:
//
//	(e^(-G mean^2/a) + e^(-G (pi/2-mean)^2/a))/sqrt(a),  a = 1 + 2 G variance
//
// (Proposition 2; ln cos psi <= -psi^2/2 gives the case of variance 0). g in
// [1, schedule.MaxGroup], mean in [0, pi/2], variance finite and at least 0.
func ArcZeroVariance(g int, mean, variance float64) (float64, error) {
	err := errors.Join(
		unless(g >= 1 && g <= schedule.MaxGroup, outside("group", g, groupRange)),
		unless(mean >= 0 && mean <= math.Pi/2, outside("mean", mean, "[0, pi/2]")),
		unless(variance >= 0 && variance <= math.MaxFloat64, outside("variance", variance, "[0, Inf)")),
	)
	if err != nil {
		return math.NaN(), err
	}
	n, rest := float64(g), math.Pi/2-mean
	a := 1 + 2*n*variance
	return (math.Exp(-n*mean*mean/a) + math.Exp(-n*rest*rest/a)) / math.Sqrt(a), nil
}

// ArcMoments returns mean and variance of arcsin sqrt((s+3/8)/(G+3/4)), s
// binomial(G, p): Anscombe's estimate of the arc. Its variance is 1/(4G) +
// O(1/G^2) at a fixed p in (0, 1) (Proposition 3); at p = 0 and 1 it is 0. g in
// [1, schedule.MaxGroup], p in [0, 1]. It takes time O(g).
func ArcMoments(g int, p float64) (mean, variance float64, err error) {
	err = errors.Join(
		unless(g >= 1 && g <= schedule.MaxGroup, outside("group", g, groupRange)),
		unless(p >= 0 && p <= 1, outside("p", p, "[0, 1]")),
	)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	arc := func(s int) float64 { return math.Asin(math.Sqrt((float64(s) + 3./8) / (float64(g) + 3./4))) }
	for s := range g + 1 {
		mean += distributions.BinomialProbability(g, s, p) * arc(s)
	}
	for s := range g + 1 {
		d := arc(s) - mean
		variance += distributions.BinomialProbability(g, s, p) * d * d
	}
	return mean, variance, nil
}

// PassTarget returns 2k sin psi cos^(2k-1) psi, the slope of pass@k = 1 -
// cos^(2k) psi along the arc: a density on [0, pi/2], whose mode PassMode
// returns (Proposition 4). k >= 1, psi in [0, pi/2].
func PassTarget(k int, psi float64) (float64, error) {
	err := errors.Join(checkPass(k), unless(psi >= 0 && psi <= math.Pi/2, outside("psi", psi, "[0, pi/2]")))
	if err != nil {
		return math.NaN(), err
	}
	sin, cos := math.Sincos(psi)
	return 2 * float64(k) * sin * math.Pow(cos, float64(2*k-1)), nil
}

// PassMode returns arcsin(1/sqrt(2k)), where PassTarget is largest, k >= 1. The
// curvature of its logarithm there is -4k.
func PassMode(k int) (float64, error) {
	if err := checkPass(k); err != nil {
		return math.NaN(), err
	}
	return math.Asin(1 / math.Sqrt(2*float64(k))), nil
}

func checkPass(k int) error {
	return unless(k >= 1 && k <= schedule.MaxGroup, fmt.Errorf("theory: k = %d, want %s", k, groupRange))
}
