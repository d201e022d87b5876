package train

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
)

// A Group is what an update knows of the rollouts of one prompt.
type Group struct {
	X        int     // prompt
	Counts   []int   // trained rollouts of every outcome, at least one altogether
	Weight   float64 // loss weight of every rollout, >= 0, 1 for most
	Baseline float64 // what is subtracted from rewards in place of the estimator, NaN for none

	// Factors multiply the advantages of every outcome, nil for 1: importance
	// weights of rollouts that another policy answered, constants of the update.
	Factors []float64
}

// An Objective is what updates climb:
//
//	J = sum_x W_x/W [ 1/n_x sum_i sum_t min(rho_it A_i, clip(rho_it) A_i) - KL D_x ],
//
// over the groups x of n_x rollouts i with tokens t, where rho_it is the
// probability of a token, given those before it, over its probability when the
// rollout was drawn, clip limits to [1-ClipLow, 1+ClipHigh], A_i is the
// estimator's advantage and D_x the divergence KL(policy || initial policy) of
// whole outcomes of prompt x, exact. W_x is the group's loss weight, times n_x
// under sim.AggregateRollout, and W their sum; groups without a gradient count.
// Make it with DefaultObjective.
//
// A stated baseline (strategy.Update) replaces the estimator: A = r - baseline.
type Objective struct {
	Estimator advantage.Estimator
	Aggregate string // sim.AggregateRollout | sim.AggregatePrompt
	// TokenMean divides a rollout's sum over tokens by their number, as GRPO's
	// paper does (arXiv 2402.03300). Without it, one step on a fresh group
	// follows the policy gradient.
	TokenMean bool
	ClipLow   float64 // >= 0, +Inf for no clipping
	ClipHigh  float64 // >= 0, +Inf for no clipping
	Epochs    int     // steps on the same groups, >= 1
	KL        float64 // >= 0
}

// DefaultObjective returns GRPO as VIGOR's Theorem 1 has it, by rollout, one
// epoch, so that no ratio differs from 1, and no KL.
func DefaultObjective() Objective {
	return Objective{
		Estimator: advantage.GRPO{}, Aggregate: sim.AggregateRollout,
		ClipLow: math.Inf(1), ClipHigh: math.Inf(1), Epochs: 1,
	}
}

// Validate reports every parameter outside its range, joined.
func (o *Objective) Validate() error {
	var errs []error
	fault := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s = %v, want %s", name, value, want))
	}
	if o.Estimator == nil {
		fault("estimator", "none", "one of sim/advantage or NewEstimator")
	}
	if o.Aggregate != sim.AggregateRollout && o.Aggregate != sim.AggregatePrompt {
		fault("aggregate", o.Aggregate, sim.AggregateRollout+" or "+sim.AggregatePrompt)
	}
	if !(o.ClipLow >= 0) {
		fault("clip low", o.ClipLow, "at least 0")
	}
	if !(o.ClipHigh >= 0) {
		fault("clip high", o.ClipHigh, "at least 0")
	}
	if o.Epochs < 1 {
		fault("epochs", o.Epochs, "at least 1")
	}
	if !(o.KL >= 0 && o.KL <= math.MaxFloat64) {
		fault("kl", o.KL, "a finite number of at least 0")
	}
	return errors.Join(errs...)
}

// A DivergenceError stops a run whose numbers are no longer finite.
type DivergenceError struct {
	Step     int    // of the run, from 1
	Quantity string // "gradient of parameter 3"
	Value    float64
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("step %d: %s = %v, want a finite number; a smaller learning rate may help", e.Step, e.Quantity, e.Value)
}

// An Updater lets one policy learn from groups of its rollouts.
type Updater struct {
	policy    Policy
	objective Objective
	optimizer Optimizer
	steps     int

	grad      []float64
	reference [][]float64 // log probabilities of the initial policy by prompt, nil without KL
	advantage advantages
	logp, w   []float64
}

// NewUpdater returns an updater for a policy as it stands: that is the initial
// policy of its KL.
func NewUpdater(p Policy, o Objective, opt Optimizer) (*Updater, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	u := &Updater{policy: p, objective: o, optimizer: opt, grad: make([]float64, len(p.Parameters()))}
	if o.KL > 0 {
		for x := range p.Prompts() {
			u.reference = append(u.reference, p.LogProbs(nil, x))
		}
	}
	return u, nil
}

// Update takes the policy through the epochs of one step. old returns the token
// log probabilities that a prompt's rollouts were drawn with. Without groups
// nothing moves.
func (u *Updater) Update(groups []Group, old func(x int) []float64) error {
	u.steps++
	if len(groups) == 0 {
		return nil
	}
	for range u.objective.Epochs {
		clear(u.grad)
		if _, err := u.gradient(u.grad, groups, old); err != nil {
			return err
		}
		if err := u.finite("gradient of", u.grad); err != nil {
			return err
		}
		u.optimizer.Step(u.policy.Parameters(), u.grad)
		if err := u.finite("", u.policy.Parameters()); err != nil {
			return err
		}
	}
	return nil
}

func (u *Updater) finite(what string, values []float64) error {
	for i, v := range values {
		if !(math.Abs(v) <= math.MaxFloat64) {
			if what != "" {
				what += " "
			}
			return &DivergenceError{u.steps, fmt.Sprintf("%sparameter %d", what, i), v}
		}
	}
	return nil
}

// gradient adds the gradient of the objective at the policy as it stands to
// grad and returns the objective.
func (u *Updater) gradient(grad []float64, groups []Group, old func(x int) []float64) (float64, error) {
	total := 0.0
	for i := range groups {
		total += u.weight(&groups[i])
	}
	if total == 0 {
		return 0, nil
	}
	objective := 0.0
	for i := range groups {
		g := &groups[i]
		share := u.weight(g) / total
		if share == 0 {
			continue
		}
		outcomes := u.policy.Outcomes(g.X)
		n, successes := size(outcomes, g.Counts)
		plus, minus, err := u.advantage.of(u.objective.Estimator, n, successes, g.Baseline)
		if err != nil {
			return 0, err
		}
		if plus == 0 && minus == 0 && u.reference == nil {
			continue
		}
		u.logp = u.policy.LogProbs(u.logp[:0], g.X)
		u.w = append(u.w[:0], u.logp...)
		value := u.surrogate(g, outcomes, plus/float64(n), minus/float64(n), old(g.X))
		if u.reference != nil {
			value -= u.objective.KL * u.divergence(outcomes, u.reference[g.X])
		}
		objective += share * value
		for t := range u.w {
			u.w[t] *= share
		}
		u.policy.AddScores(grad, g.X, u.w)
	}
	return objective, nil
}

// weight returns W_x.
func (u *Updater) weight(g *Group) float64 {
	if u.objective.Aggregate == sim.AggregatePrompt {
		return g.Weight
	}
	n := 0
	for _, c := range g.Counts {
		n += c
	}
	return g.Weight * float64(n)
}

// size returns a group's rollouts and successes.
func size(outcomes []Outcome, counts []int) (n, successes int) {
	for k, c := range counts {
		n += c
		if outcomes[k].Correct {
			successes += c
		}
	}
	return n, successes
}

// surrogate returns a group's clipped term and fills u.w with its derivatives
// by the log probabilities u.logp. plus and minus are the advantages of correct
// and wrong rollouts over n.
func (u *Updater) surrogate(g *Group, outcomes []Outcome, plus, minus float64, old []float64) float64 {
	value, t := 0.0, 0
	for k, o := range outcomes {
		a := minus
		if o.Correct {
			a = plus
		}
		a *= float64(g.Counts[k])
		if g.Factors != nil {
			a *= g.Factors[k]
		}
		if u.objective.TokenMean {
			a /= float64(o.Tokens)
		}
		for end := t + o.Tokens; t < end; t++ {
			u.w[t] = 0
			if a == 0 {
				continue
			}
			rho := 1.0
			if u.logp[t] != old[t] { // never in the first epoch
				rho = math.Exp(u.logp[t] - old[t])
			}
			clipped := min(max(rho, 1-u.objective.ClipLow), 1+u.objective.ClipHigh)
			if clipped*a < rho*a { // held at the edge of the range
				value += clipped * a
				continue
			}
			value += rho * a
			u.w[t] = rho * a
		}
	}
	return value
}

// divergence returns KL(policy || reference) of a prompt at u.logp and takes KL
// times its derivatives from u.w. The derivative by a token's log probability
// is that of sum pi log(pi/reference) with sum pi = 1, whose scores have mean 0.
func (u *Updater) divergence(outcomes []Outcome, reference []float64) float64 {
	value, t := 0.0, 0
	for _, o := range outcomes {
		logp, ratio := 0.0, 0.0
		for i := t; i < t+o.Tokens; i++ {
			logp += u.logp[i]
			ratio += u.logp[i] - reference[i]
		}
		d := math.Exp(logp) * ratio
		value += d
		for end := t + o.Tokens; t < end; t++ {
			u.w[t] -= u.objective.KL * d
		}
	}
	return value
}

// advantages works out the advantages of groups of binary rewards.
type advantages struct{ buffer []float64 }

// of returns the advantages of a correct and of a wrong rollout in a group of
// n >= 1 with the given successes; one that has no rollout is 0.
func (v *advantages) of(e advantage.Estimator, n, successes int, baseline float64) (plus, minus float64, err error) {
	v.buffer = append(v.buffer[:0], make([]float64, n)...)
	a := v.buffer
	for i := range successes {
		a[i] = 1
	}
	if !math.IsNaN(baseline) {
		for i := range a {
			a[i] -= baseline
		}
	} else if err := e.Advantages(a, a); err != nil {
		return 0, 0, err
	}
	if successes > 0 {
		plus = a[0]
	}
	if successes < n {
		minus = a[n-1]
	}
	return plus, minus, nil
}
