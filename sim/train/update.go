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

	// Pad counts wrong answers that the estimator compares with and that no
	// rollout gave.
	Pad int

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
// An updater's trust region replaces the clipping, and masks tokens, which stay
// in all denominators.
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

	trust    TrustRegion // nil for the objective's clipping
	limits   Range
	start    []float64 // log probabilities at the start of the step, by token of its groups
	at       int       // of the update's first token in start
	tokens   []Token   // of the update
	kept     []float64 // of these
	movement drift     // of the step
}

// NewUpdater returns an updater for a policy as it stands: that is the initial
// policy of its KL.
func NewUpdater(p Policy, o Objective, opt Optimizer) (*Updater, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	u := &Updater{policy: p, objective: o, optimizer: opt, grad: make([]float64, len(p.Parameters()))}
	u.limits = Range{Low: 1 - o.ClipLow, High: 1 + o.ClipHigh}
	if o.KL > 0 {
		for x := range p.Prompts() {
			u.reference = append(u.reference, p.LogProbs(nil, x))
		}
	}
	return u, nil
}

// Trust puts a trust region in the place of the objective's clipping, of which
// there must be none.
func (u *Updater) Trust(t TrustRegion) error {
	low, high := u.objective.ClipLow, u.objective.ClipHigh
	if !(math.IsInf(low, 1) && math.IsInf(high, 1)) {
		return fmt.Errorf("clip low = %v, clip high = %v, want +Inf for both: the trust region limits ratios", low, high)
	}
	u.trust = t
	return nil
}

// Update takes the policy through the epochs of one step. old returns the token
// log probabilities that a prompt's rollouts were drawn with. Without groups
// nothing moves.
func (u *Updater) Update(groups []Group, old func(x int) []float64) error {
	return u.UpdateBatches([][]Group{groups}, old)
}

// UpdateBatches is Update with an update on each of some mini-batches, one after
// the other, in every epoch.
func (u *Updater) UpdateBatches(batches [][]Group, old func(x int) []float64) error {
	u.steps++
	u.begin(batches)
	for range u.objective.Epochs {
		u.at = 0
		for _, groups := range batches {
			if err := u.update(groups, old); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin keeps what a trust region wants to know of the start of a step.
func (u *Updater) begin(batches [][]Group) {
	u.movement, u.start, u.at = drift{}, u.start[:0], 0
	if u.trust == nil {
		return
	}
	for _, groups := range batches {
		for i := range groups {
			u.start = u.policy.LogProbs(u.start, groups[i].X)
		}
	}
}

// update takes one step of the optimizer.
func (u *Updater) update(groups []Group, old func(x int) []float64) error {
	if len(groups) == 0 {
		return nil
	}
	clear(u.grad)
	if _, err := u.gradient(u.grad, groups, old); err != nil {
		return err
	}
	if err := u.finite("gradient of", u.grad); err != nil {
		return err
	}
	u.movement.add(u.tokens, u.kept, u.limits)
	u.at += len(u.tokens)
	u.optimizer.Step(u.policy.Parameters(), u.grad)
	return u.finite("", u.policy.Parameters())
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
	if err := u.limit(groups, old); err != nil {
		return 0, err
	}
	total := 0.0
	for i := range groups {
		total += u.weight(&groups[i])
	}
	if total == 0 {
		return 0, nil
	}
	objective, rest := 0.0, u.kept
	for i := range groups {
		g := &groups[i]
		outcomes := u.policy.Outcomes(g.X)
		var kept []float64
		if u.trust != nil {
			kept, rest = rest[:tokens(outcomes)], rest[tokens(outcomes):]
		}
		share := u.weight(g) / total
		if share == 0 {
			continue
		}
		n, plus, minus, err := u.advantages(g, outcomes)
		if err != nil {
			return 0, err
		}
		if plus == 0 && minus == 0 && u.reference == nil {
			continue
		}
		u.logp = u.policy.LogProbs(u.logp[:0], g.X)
		u.w = append(u.w[:0], u.logp...)
		value := u.surrogate(g, outcomes, plus/float64(n), minus/float64(n), old(g.X), kept)
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

// limit asks the trust region how the tokens of an update count.
func (u *Updater) limit(groups []Group, old func(x int) []float64) error {
	if u.trust == nil {
		return nil
	}
	u.tokens, u.kept = u.tokens[:0], u.kept[:0]
	start := u.start[u.at:]
	for i := range groups {
		g := &groups[i]
		outcomes := u.policy.Outcomes(g.X)
		_, plus, minus, err := u.advantages(g, outcomes)
		if err != nil {
			return err
		}
		u.logp = u.policy.LogProbs(u.logp[:0], g.X)
		t, was := 0, old(g.X)
		for k := range outcomes {
			token := Token{Advantage: g.factor(k) * minus, Count: float64(g.Counts[k])}
			if outcomes[k].Correct {
				token.Advantage = g.factor(k) * plus
			}
			if g.Weight == 0 {
				token.Count = 0
			}
			for end := t + outcomes[k].Tokens; t < end; t++ {
				token.LogRatio, token.Stale = u.logp[t]-was[t], start[t]-was[t]
				u.tokens, u.kept = append(u.tokens, token), append(u.kept, 1)
			}
		}
		start = start[t:]
	}
	u.limits = u.trust.Limit(u.tokens, u.kept)
	return nil
}

// advantages returns a group's rollouts and the advantages of correct and wrong
// ones.
func (u *Updater) advantages(g *Group, outcomes []Outcome) (n int, plus, minus float64, err error) {
	n, successes := size(outcomes, g.Counts)
	plus, minus, err = u.advantage.of(u.objective.Estimator, n+g.Pad, successes, g.Baseline)
	return n, plus, minus, err
}

// factor returns what multiplies the advantage of outcome k.
func (g *Group) factor(k int) float64 {
	if g.Factors == nil {
		return 1
	}
	return g.Factors[k]
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
// and wrong rollouts over n; kept are the shares of the tokens that count, nil
// for all.
func (u *Updater) surrogate(g *Group, outcomes []Outcome, plus, minus float64, old, kept []float64) float64 {
	value, t := 0.0, 0
	for k, o := range outcomes {
		a := minus
		if o.Correct {
			a = plus
		}
		a *= float64(g.Counts[k]) * g.factor(k)
		if u.objective.TokenMean {
			a /= float64(o.Tokens)
		}
		for end := t + o.Tokens; t < end; t++ {
			u.w[t] = 0
			part := a
			if kept != nil {
				part *= kept[t]
			}
			if part == 0 {
				continue
			}
			v, slope := part, part
			if logRatio := u.logp[t] - old[t]; logRatio != 0 { // never in the first epoch
				v, slope = u.limits.term(logRatio, part)
			}
			value += v
			u.w[t] = slope
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
