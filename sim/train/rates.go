package train

import (
	"fmt"
	"math"
	"strconv"

	"vigorlab/sim/advantage"
)

// The least and the most that a visit moves a logit under the rates of AutoRates.
// A quarter is fine for a policy that starts in the middle; eight takes a prompt
// from p = 1/2 past any target below .9997 in one visit, so that a run at the
// largest rate is noisy at best.
const leastMove, mostMove = 0.25, 8

// AutoRates returns learning rates to choose from, by factors of 2: under the
// least of them one visit to a prompt moves its logit by at most 1/4, under the
// largest by at least 8, whichever of the estimators is used. The optimizer is a
// spec without its rate.
//
// A visit is a step of batch groups of n >= 2 rollouts, one of them of a prompt
// with one logit, at p = 1/2. Its mean gradient there, g, is PlainRate for
// Reinforce and the exact mean over groups (advantage.OneLogitMoments) for
// others, its share of the update 1/batch, and the logit moves by
//
//	sgd       lr g/batch
//	momentum  lr g/(batch (1-beta))                  until the velocity is gone
//	adam      lr sqrt((1-beta2^d)/(1-beta2))         likewise
//
// where d = prompts/batch is the number of steps between two visits: then the
// second moment is (1-beta2) (g/batch)^2/(1-beta2^d) after a visit, and is taken
// to stay there while the first moment fades. Shared parameters move logits by
// more. Rates are rounded to 3 digits.
func AutoRates(optimizer string, estimators []advantage.Estimator, batch, prompts, n int) ([]float64, error) {
	if !(n >= 2 && batch >= 1 && prompts >= batch) {
		return nil, fmt.Errorf("groups of %d, batches of %d of %d prompts, want groups of at least 2 and batches in [1, prompts]", n, batch, prompts)
	}
	o, err := NewOptimizer(WithRate(optimizer, 1))
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(1), 0.0
	for _, e := range estimators {
		g, err := unitGradient(e, n)
		if err != nil {
			return nil, err
		}
		move := visitMove(o, g/float64(batch), float64(prompts)/float64(batch))
		if !(move > 0) {
			return nil, fmt.Errorf("%s: groups of %d have no gradient at p = 1/2", e.Spec(), n)
		}
		low, high = min(low, leastMove/move), max(high, mostMove/move)
	}
	var rates []float64
	const rounding = 1e-9
	for r := low; ; r *= 2 {
		rates = append(rates, threeDigits(r))
		if r >= high*(1-rounding) {
			return rates, nil
		}
	}
}

// unitGradient returns the mean gradient of a logit from a group of n at p = 1/2.
func unitGradient(e advantage.Estimator, n int) (float64, error) {
	if _, ok := e.(Reinforce); ok {
		return PlainRate(0.5, 0.5), nil
	}
	mean, _, err := advantage.OneLogitMoments(e, 0.5, n)
	return mean, err
}

// visitMove returns how far a gradient g every d steps moves a parameter, from one
// to the next, at rate 1.
func visitMove(o Optimizer, g, d float64) float64 {
	switch o := o.(type) {
	case *momentum:
		return g / (1 - o.beta)
	case *adam:
		if o.beta2 == 0 {
			return 1
		}
		return math.Sqrt((1 - math.Pow(o.beta2, d)) / (1 - o.beta2))
	}
	return g
}

func threeDigits(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
