package theory

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// EtaPerfect returns eta for any law of u under perfect selection, by the true
// u, on an infinite batch (OWN; theory.md, section 3.1):
//
//	eta = sum_{i<T} gamma^i TopU(alpha^i) / (sum_{i<T} (alpha*gamma)^i E[u]),
//
// where TopU(q) is the part of E[u] that the top share q holds, atoms split in
// proportion. The update uses every group. Its accuracy is that of the law's
// TopU. Domain: 0 < E[u] < Inf; alpha in (0, 1), gamma > 0, rounds in
// [1, schedule.MaxRounds].
func EtaPerfect(law distributions.VarianceLaw, alpha, gamma float64, rounds int) (float64, error) {
	if err := errors.Join(checkMean(law), checkSchedule(alpha, gamma, rounds)); err != nil {
		return math.NaN(), err
	}
	sum, total := 0.0, 0.0
	// The top mean rises with the round, and not beyond this.
	top, highest := 0.0, (1-1e-15)*law.QuantileU(1)/law.MeanU()
	for i, w := range scaledPowers(logProduct(alpha, gamma), rounds) {
		if !(top >= highest) {
			top = topMean(law, math.Pow(alpha, float64(i)))
		}
		sum += w * top
		total += w
	}
	return finite("eta", sum/total)
}

// EtaPerfectSurvivors is EtaPerfect where the update uses only the prompts
// that reach the last round, per trained rollout.
func EtaPerfectSurvivors(law distributions.VarianceLaw, alpha float64, rounds int) (float64, error) {
	if err := errors.Join(checkMean(law), checkSchedule(alpha, 1, rounds)); err != nil {
		return math.NaN(), err
	}
	return finite("eta", topMean(law, math.Pow(alpha, float64(rounds-1))))
}

// etaInfiniteBatch is EtaPerfect for the update of v, per trained rollout.
func etaInfiniteBatch(law distributions.VarianceLaw, v schedule.Vigor) (float64, error) {
	if v.Update == schedule.UpdateSurvivors {
		return EtaPerfectSurvivors(law, v.Alpha.Float(), v.Rounds)
	}
	return EtaPerfect(law, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
}

// checkMean asks for a mean reward variance that eta can be relative to.
func checkMean(law distributions.VarianceLaw) error {
	switch mean := law.MeanU(); {
	case math.IsInf(mean, 1):
		return errors.New("theory: the reward variance has no mean")
	case !(mean > 0):
		return errors.New("theory: E[u] = 0: no prompt has any reward variance")
	}
	return nil
}

// topMean returns E[u | top share q] / E[u] for q in [0, 1].
func topMean(law distributions.VarianceLaw, q float64) float64 {
	if q < 1e-300 { // TopU(q)/q would lose its digits
		return law.QuantileU(1) / law.MeanU()
	}
	return law.TopU(q) / (q * law.MeanU())
}

// EtaFiniteBatch returns eta of VIGOR under perfect selection for a batch of
// finite size, exact in the counts n_t of nested cuts (OWN; theory.md, section
// 3.1): the n_t prompts of round t are the n_t largest of the batch, so that
//
//	eta = sum_t m_t n_t M(n_t) / (sum_t m_t n_t),  M(n) = E[mean of the n largest u] / E[u],
//
// and M(n_T) per trained rollout where the update uses survivors only; v.Select
// is not looked at. For an unbounded Pareto law M comes from the means of its
// order statistics (ParetoOrderMean), at a cost that does not grow with n. For
// any other law it is the mean of TopU(V)/(V E[u]) with V ~ Beta(n+1, batch-n),
// by adaptive quadrature that adds about 1e-12 to the error of the law's TopU.
func EtaFiniteBatch(law distributions.VarianceLaw, v schedule.Vigor, batch int) (float64, error) {
	c, err := newCounts(v, batch)
	if err := errors.Join(err, checkMean(law)); err != nil {
		return math.NaN(), err
	}
	mean := finiteTopMean(law, batch)
	if v.Update == schedule.UpdateSurvivors {
		eta, err := mean(c.active[v.Rounds-1])
		if err != nil {
			return math.NaN(), err
		}
		return finite("eta", eta)
	}
	eta := 0.0
	for t, n := range c.active {
		m, err := mean(n)
		if err != nil {
			return math.NaN(), err
		}
		eta += c.rollouts[t] * float64(n) / c.selection * m
	}
	return finite("eta", eta)
}

// finiteTopMean returns M(n), remembering the last n: cuts soon reach 1.
func finiteTopMean(law distributions.VarianceLaw, batch int) func(n int) (float64, error) {
	var compute func(n int) (float64, error)
	if pareto, ok := law.(paretoLaw); ok && math.IsInf(law.QuantileU(1), 1) {
		compute = func(n int) (float64, error) { return paretoTopMean(pareto.Shape(), n, batch), nil }
	} else {
		top, kinks := func(q float64) float64 { return topMean(law, q) }, topKinks(law)
		compute = func(n int) (float64, error) { return betaMean(top, n, batch, kinks) }
	}
	last, value, err := 0, 0.0, error(nil)
	return func(n int) (float64, error) {
		if n != last {
			last = n
			value, err = compute(n)
		}
		return value, err
	}
}

// A paretoLaw is a law under which u is Pareto of the given shape, truncated
// or not.
type paretoLaw interface {
	distributions.VarianceLaw
	Shape() float64
}

// paretoTopMean returns the expected mean of the n largest of batch draws from
// an unbounded Pareto law, over its mean (OWN; theory.md, section 3.1). With
// s = 1/kappa the order statistics telescope to
//
//	g(n)/g(batch),  g(k) = Gamma(k+1-s) / Gamma(k+1).
//
// Domain: kappa > 1, 1 <= n <= batch.
func paretoTopMean(kappa float64, n, batch int) float64 {
	return math.Exp(logGammaQuotient(kappa, n) - logGammaQuotient(kappa, batch))
}

// ParetoOrderMean returns E[X_(r:n)] / u_min, the mean of the r-th smallest of n
// draws from an unbounded Pareto law over its lower end (theory.md, section
// 3.1): Gamma(n+1) Gamma(n-r+1-s) / (Gamma(n-r+1) Gamma(n+1-s)), s = 1/kappa.
// Domain: kappa > 1, 1 <= r <= n.
func ParetoOrderMean(kappa float64, r, n int) (float64, error) {
	err := errors.Join(
		unless(kappa > 1, outside("kappa", kappa, "(1, Inf): at or below 1 the reward variance has no mean")),
		unless(r >= 1 && r <= n, outside("order", r, fmt.Sprintf("a whole number in [1, %d]", n))),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("order statistic", math.Exp(logGammaQuotient(kappa, n-r)-logGammaQuotient(kappa, n)))
}

// logGammaQuotient returns ln(Gamma(k+1-s)/Gamma(k+1)), s = 1/kappa in (0, 1)
// and k >= 0, with an absolute error near 1e-16 max(1, s ln k): lgamma itself
// would lose nine digits at k = 10^6. From 32 on it takes the difference of
// Stirling's series, term by term; below, it recurs upwards.
func logGammaQuotient(kappa float64, k int) float64 {
	s, rest := 1/kappa, (kappa-1)/kappa // rest = 1-s, exact for kappa near 1
	x := float64(k)
	below := 1.0
	for ; x < 32; x++ {
		below *= (x + 1) / (x + rest)
	}
	// ln Gamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + stirling(z), at z = x+1-s and x+1.
	quotient := (x+rest-0.5)*math.Log1p(-s/(x+1)) - s*math.Log(x+1) + s
	return quotient + stirling(x+rest) - stirling(x+1) + math.Log(below)
}

// stirling returns the remainder of Stirling's formula, to 1e-17 for z >= 32.
func stirling(z float64) float64 {
	y := 1 / (z * z)
	return (1./12 - y*(1./360-y*(1./1260-y*(1./1680-y/1188)))) / z
}
