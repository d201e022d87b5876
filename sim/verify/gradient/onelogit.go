package gradient

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim/advantage"
	"vigorlab/theory"
)

// A OneLogit is the expected gradient norm of the paper's GRPO for a policy of
// one logit, by the exact sum over the successes of a group: E||grad|| =
// E[sigma_G]/2, which is p(1-p) at G = 2 and grows to sqrt(p(1-p)).
type OneLogit struct {
	P     float64
	Group int
	Mean  float64 // E||grad||
	Claim float64 // theory's E[sigma_G]/2
	Limit float64 // sqrt(p(1-p))
}

// Agrees reports whether the two sums agree, to rounding.
func (o OneLogit) Agrees() bool { return math.Abs(o.Mean-o.Claim) <= oneLogitTolerance*o.Claim }

// The grid of OneLogit. The last group shows the limit.
var (
	oneLogitP     = []float64{.02, .1, .25, .5, .9}
	oneLogitGroup = []int{2, 4, 8, 16, 64, 1024}
)

// oneLogitTolerance is the relative agreement asked of the two sums: logarithms
// of factorials up to 1024 lose a few 1e-13.
const oneLogitTolerance = 1e-11

func oneLogits() ([]OneLogit, error) {
	var all []OneLogit
	for _, p := range oneLogitP {
		for _, g := range oneLogitGroup {
			mean, err := toyMean(advantage.GRPO{}, p, g)
			if err != nil {
				return nil, err
			}
			claim, err := theory.OneLogitGradient(g, p)
			if err != nil {
				return nil, err
			}
			all = append(all, OneLogit{p, g, mean, claim, math.Sqrt(p * (1 - p))})
		}
	}
	return all, nil
}

// toyMean returns the mean of the gradient of a group of n under rewards in
// {0, 1} for the policy with logits (0, z), p = 1/(1 + exp(-z)) in
// (0, 1). The gradient, a number >= 0, depends on the successes alone.
func toyMean(e advantage.Estimator, p float64, n int) (float64, error) {
	pol := &policy{space: newSpace(2, 1, false), dim: 1, features: []float64{0, 1}, offset: make([]float64, 2)}
	at := pol.at([]float64{math.Log(p / (1 - p))})
	g := surrogate{clip: math.Inf(1)}.gradients(at, at)
	law := distuv.Binomial{N: float64(n), P: p}
	responses, a := make([]int, n), make([]float64, n)
	rewards := make([]float64, n)
	mean := 0.0
	for s := range n + 1 {
		if s > 0 {
			responses[s-1], rewards[s-1] = 1, 1
		}
		if err := e.Advantages(a, rewards); err != nil {
			return 0, err
		}
		grad := make([]float64, 1)
		g.loss(grad, responses, a)
		mean += law.Prob(float64(s)) * floats.Norm(grad, 2)
	}
	return mean, nil
}
