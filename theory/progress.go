package theory

import (
	"errors"
	"math"

	"vigorlab/distributions"
)

// GroupSigma returns the within-group standard deviation (ddof 0, signed
// coding) of s successes in a group of g: 2 sqrt(s(g-s))/g, in [0, 1], for
// g >= 1 and 0 <= s <= g. Binary coding gives half of it.
func GroupSigma(g, s int) float64 {
	return 2 * math.Sqrt(float64(s)*float64(g-s)) / float64(g)
}

// MeanSigma returns E[sigma_g], the expected within-group standard deviation
// (ddof 0, signed coding) of g >= 1 rollouts at success probability p in
// [0, 1]. It is 0 at g = 1, p = 0 and p = 1, 2p(1-p) at g = 2, and tends to
// sqrt(4p(1-p)) as g grows.
func MeanSigma(g int, p float64) (float64, error) {
	err := errors.Join(
		unless(g >= 1, outside("group", g, "a whole number >= 1")),
		unless(p >= 0 && p <= 1, outside("p", p, "[0, 1]")),
	)
	if err != nil {
		return math.NaN(), err
	}
	t := newBinomialTable(g)
	low, high, sum := t.fill(p, 1e-30)
	mean := 0.0
	for s := low; s < high; s++ {
		mean += t.b[s] * GroupSigma(g, s)
	}
	return mean / sum, nil
}

// FixedProgress returns E[sigma_g u], the first-order progress per rollout of
// uncoupled one-logit prompts under GRPO with fixed groups of the given mean
// size (OWN; theory.md, section 4.6).
func FixedProgress(law distributions.Law, mean float64, nodes int) (float64, error) {
	m, err := FixedMeanField(law, mean, 0, nodes)
	if err != nil {
		return math.NaN(), err
	}
	return m.Progress, nil
}
