package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"vigorlab/sim/advantage"
)

// The least and the most that an epoch moves a logit under the rates of AutoRates: a
// quarter follows the flow of steps without size, four takes a prompt from p = 1/2
// to .98 in one visit. Where prompts share nothing a group of binary rewards whose
// advantages sum to 0 never lowers its prompt's success (advantage.
// OneLogitEstimate is at least 0), so that no step is too long and the largest rate
// wins however far a grid goes: it has to end somewhere.
const leastMove, mostMove = 0.25, 4

// AutoRates returns learning rates to choose from, by factors of 2: under the least
// of them an epoch moves no prompt's log odds of success by more than 1/4, under
// the largest some prompt's by 4 or more, whichever of the estimators is used (see
// EpochMove). The optimizer is a spec without its rate. Rates are rounded to 3 digits;
// the policy comes back as it was.
func AutoRates(p Policy, optimizer string, estimators []advantage.Estimator, batch, n int) ([]float64, error) {
	low, high := math.Inf(1), 0.0
	for _, e := range estimators {
		move, err := EpochMove(p, optimizer, e, batch, n)
		if err != nil {
			return nil, err
		}
		low, high = min(low, leastMove/move), max(high, mostMove/move)
	}
	var rates []float64
	const rounding = 1e-3 // finite differences are better than that
	for r := low; ; r *= 2 {
		rates = append(rates, threeDigits(r))
		if r >= high*(1-rounding) {
			return rates, nil
		}
	}
}

// EpochMove returns by how much an epoch at learning rate 1 moves the log odds of
// success of the prompt that it moves most, > 0. Another rate moves them by that many
// times as much, which gives a learning rate a unit. The optimizer is a spec without
// its rate. It fails where groups move no prompt.
//
// An epoch is prompts/batch steps, one visit a prompt, along the exact mean gradient
// of groups of n >= 2 rollouts at the policy as it stands, f averaged over prompts.
// At rate lr it moves the parameters by
//
//	sgd       lr f prompts/batch
//	momentum  the same over 1-beta, until the velocity is gone
//	adam      lr sign(f) sqrt((1-beta2^d)/(1-beta2)), d = prompts/batch
//
// the last one for a parameter that only one prompt moves: the second moment is
// (1-beta2) g^2/(1-beta2^d) after its visit, and is taken to stay there while the
// first moment fades. The log odds follow to first order. The policy comes back as it
// was.
func EpochMove(p Policy, optimizer string, e advantage.Estimator, batch, n int) (float64, error) {
	if !(n >= 2 && batch >= 1 && p.Prompts() >= batch) {
		return 0, fmt.Errorf("groups of %d, batches of %d of %d prompts, want groups of at least 2 and batches in [1, prompts]", n, batch, p.Prompts())
	}
	o, err := NewOptimizer(WithRate(optimizer, 1))
	if err != nil {
		return 0, err
	}
	direction, err := epoch(p, o, e, float64(p.Prompts())/float64(batch), n)
	if err != nil {
		return 0, err
	}
	move := fastest(p, direction)
	if !(move > 0 && move <= math.MaxFloat64) {
		return 0, fmt.Errorf("%s: groups of %d move no prompt at the start, give a learning rate", e.Spec(), n)
	}
	return move, nil
}

// epoch returns how far an epoch of so many steps moves each parameter at rate 1.
func epoch(p Policy, o Optimizer, e advantage.Estimator, steps float64, n int) ([]float64, error) {
	rate := Rate(PlainRate) // of Reinforce, whose advantages do not sum to 0
	if _, ok := e.(Reinforce); !ok {
		var err error
		if rate, err = GroupRate(e, n); err != nil {
			return nil, err
		}
	}
	move := make([]float64, len(p.Parameters()))
	NewFlow(p, rate).Gradient(move)
	for i, f := range move {
		switch o := o.(type) {
		case *momentum:
			move[i] = f * steps / (1 - o.beta)
		case *adam:
			length := 1.0
			if o.beta2 > 0 {
				length = math.Sqrt((1 - math.Pow(o.beta2, steps)) / (1 - o.beta2))
			}
			switch {
			case f > 0:
				move[i] = length
			case f < 0:
				move[i] = -length
			}
		default:
			move[i] = f * steps
		}
	}
	return move, nil
}

// fastest returns the largest derivative of a trained prompt's log odds of success
// along a direction, by central differences.
func fastest(p Policy, direction []float64) float64 {
	theta := p.Parameters()
	start := slices.Clone(theta)
	size := 0.0
	for _, d := range direction {
		size = max(size, math.Abs(d))
	}
	step := 1e-4 / size
	odds := make([]float64, p.Prompts())
	for _, side := range []float64{1, -1} {
		for i, d := range direction {
			theta[i] = start[i] + side*step*d
		}
		for x := range odds {
			odds[x] += side * logOdds(meanSuccess(p, x, x+1))
		}
	}
	copy(theta, start)
	most := 0.0
	for _, d := range odds {
		if m := math.Abs(d) / (2 * step); m <= math.MaxFloat64 { // not at p = 1 to rounding
			most = max(most, m)
		}
	}
	return most
}

func threeDigits(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
