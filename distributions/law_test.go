package distributions_test

import (
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/lawtest"
)

// must turns the result of a constructor into a law.
func must[L any](law L, err error) L {
	if err != nil {
		panic(err)
	}
	return law
}

type namedLaw struct {
	name string
	law  distributions.Law
}

// laws holds every kind of law, at its corners and in between.
func laws() []namedLaw {
	node := func(p, w float64) distributions.Node { return distributions.Node{P: p, W: w} }
	var tenths, shares []distributions.Node
	for s := range 11 {
		tenths = append(tenths, node(float64(s)/10, 1./11))
	}
	for n := 1; n <= 40; n++ {
		for s := range n + 1 {
			shares = append(shares, node(float64(s)/float64(n), 1./860))
		}
	}
	beta := func(a, b float64) distributions.Law { return must(distributions.NewBeta(a, b)) }
	flip := func(q float64, l distributions.Law) distributions.Law { return must(distributions.NewFlip(q, l)) }
	spiked := must(distributions.NewSpikedBeta(0.3, 0.1, 2, 6))
	tenth := must(distributions.NewAtoms(tenths))
	return []namedLaw{
		{"uniform", distributions.NewUniform()},
		{"beta .02 .05", beta(0.02, 0.05)},
		{"beta .1 .3", beta(0.1, 0.3)},
		{"beta .5 .5", beta(0.5, 0.5)},
		{"beta 2 6", beta(2, 6)},
		{"beta 30 2", beta(30, 2)},
		{"beta 1e-4 1e-4", beta(1e-4, 1e-4)},
		{"beta 1e-4 1e6", beta(1e-4, 1e6)},
		{"beta 300 5", beta(300, 5)},
		{"beta 1e4 9e3", beta(1e4, 9e3)},
		{"beta 1e6 1e6", beta(1e6, 1e6)},
		{"beta 1e6 .3", beta(1e6, 0.3)},
		{"pareto-variance 1.5", must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5))},
		{"pareto-variance 1", must(distributions.NewParetoVariance(1, 0.01, 1, 0.3))},
		{"pareto-variance .5", must(distributions.NewParetoVariance(0.5, 0.001, 0.9, 1))},
		{"pareto-variance 20", must(distributions.NewParetoVariance(20, 0.1, 1, 0))},
		{"pareto-variance 1e4", must(distributions.NewParetoVariance(1e4, 0.01, 1, 0.9))},
		{"pareto-variance 1e-9", must(distributions.NewParetoVariance(1e-9, 1e-4, 0.3, 0.5))},
		{"pareto-variance narrow", must(distributions.NewParetoVariance(2, 0.5, 0.5000001, 0.5))},
		{"pareto-success 1.2", must(distributions.NewParetoSuccess(1.2, 0.01, 1))},
		{"pareto-success 1", must(distributions.NewParetoSuccess(1, 0.05, 0.4))},
		{"pareto-success 2", must(distributions.NewParetoSuccess(2, 0.01, 0.7))},
		{"pareto-success .3", must(distributions.NewParetoSuccess(0.3, 0.6, 0.95))},
		{"pareto-success 12", must(distributions.NewParetoSuccess(12, 0.2, 1))},
		{"pareto-success 1e4", must(distributions.NewParetoSuccess(1e4, 0.49, 1))},
		{"pareto-success near 1", must(distributions.NewParetoSuccess(3, 0.999, 1))},
		{"point 0", must(distributions.NewPoint(0))},
		{"point .3", must(distributions.NewPoint(0.3))},
		{"point 1", must(distributions.NewPoint(1))},
		{"tenths", tenth},
		{"fractions to 40", must(distributions.NewAtoms(shares))},
		{"spiked", spiked},
		{"spikes alone", must(distributions.NewSpikedBeta(0.3, 0.7, 1, 1))},
		{"spiked .02 .05", must(distributions.NewSpikedBeta(0, 0.25, 0.02, 0.05))},
		{"mixture", must(distributions.NewMixture([]float64{0.3, 0.7}, []distributions.Law{beta(2, 6), distributions.NewUniform()}))},
		{"mixture of all kinds", must(distributions.NewMixture(
			[]float64{0.2, 0.2, 0.2, 0.2, 0.1, 0.1},
			[]distributions.Law{
				beta(0.1, 0.3), must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5)), tenth, spiked,
				must(distributions.NewParetoSuccess(1.2, 0.01, 1)), must(distributions.NewPoint(0.25)),
			}))},
		{"flip beta 2 6", flip(0.05, beta(2, 6))},
		{"flip beta .3 .7", flip(0.05, beta(0.3, 0.7))},
		{"flip beta .1 .3", flip(0.2, beta(0.1, 0.3))},
		{"flip beyond 1/2", flip(0.9, beta(0.5, 2))},
		{"flip all", flip(1, beta(2, 6))},
		{"flip none", flip(0, beta(2, 6))},
		{"flip half", flip(0.5, beta(2, 6))},
		{"flip pareto-variance", flip(0.1, must(distributions.NewParetoVariance(1.5, 0.01, 0.9, 0.3)))},
		{"flip pareto-success", flip(0.1, must(distributions.NewParetoSuccess(1.2, 0.01, 1)))},
		{"flip tenths", flip(0.05, tenth)},
		{"flip spiked", flip(0.05, spiked)},
		{"flip mixture", flip(0.25, must(distributions.NewMixture([]float64{0.3, 0.4, 0.3}, []distributions.Law{beta(2, 6), tenth, spiked})))},
		{"mixture of flips", must(distributions.NewMixture([]float64{0.5, 0.5}, []distributions.Law{flip(0.05, spiked), beta(1, 3)}))},
	}
}

func TestLaws(t *testing.T) {
	for _, l := range laws() {
		lawtest.TestLaw(t, l.name, l.law)
	}
	for name, shape := range map[string]float64{"unbounded 1.1": 1.1, "unbounded 3": 3, "unbounded 1": 1, "unbounded .5": 0.5} {
		lawtest.TestVarianceLaw(t, name, must(distributions.NewUnboundedPareto(shape, 0.01)))
	}
}

// TestLawsConcurrent is what the race detector watches of TestLaws.
func TestLawsConcurrent(t *testing.T) {
	for _, l := range laws() {
		lawtest.TestConcurrent(t, l.name, l.law)
	}
}

// TestMixtureOfUnequalSlices: laws without a weight are a broken contract.
func TestMixtureOfUnequalSlices(t *testing.T) {
	laws := []distributions.Law{distributions.NewUniform(), distributions.NewUniform()}
	for _, weights := range [][]float64{{1}, {0.2, 0.3, 0.5}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d weights for %d laws are accepted", len(weights), len(laws))
				}
			}()
			_, _ = distributions.NewMixture(weights, laws)
		}()
	}
}
