package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// r2po is R2PO (arXiv 2601.11960) as its released code does it (github
// RRPO-ARR/Code, as stated in strategies/systems.md, section 1): the policy is
// answered for by another, theta + phi, that a residual head phi turns towards
// rewards that are rare.
//
// Here phi has the shape of theta, and the combined policy is the policy at
// theta + phi: the logits of every policy of this package are linear in its
// parameters, up to a constant, so that they add up as the two heads' do.
//
// Stage A trains phi, at visits before steps that the schedule names: a-steps
// steps of a-prompts prompts with n rollouts each of the combined policy. A
// rollout scores 1/(members of its group with the same reward), standardised by
// sd + 1e-6, ddof 1; a group of equal scores, n/2 against n/2 included, is
// dropped. PPO on the combined policy with an exact KL of kl to the initial one,
// by Adam at the given rate: the released 1e-6 is for weights of a network, ours
// is for logits. These rollouts are charged with the step that the visit is for;
// a visit that no step follows is not.
//
// Stage B trains theta on what the strategy bought, answered by the combined
// policy: groups of equal rewards are dropped, A = (r - mean)/(sd + 1e-4), ddof 1,
// the ratio is pi_theta over pi_theta at generation, with clip and KL. That
// replaces the objective's estimator, clipping and KL, and a strategy's baseline;
// aggregation, epochs and loss weights stay the run's. Nothing corrects for the
// head, as released, unless correction=importance (ours): weights pi_theta/
// pi_combined of the whole outcome. The mean gradient of a stage B without
// division is, in logits, mu (r - p_mu): that of the combined policy, applied to
// theta (see HeadBias). Dropped groups do not thin a step, as they do under the
// run's own objective: the arm to compare with is a-steps=0,init=zero, the same
// updates without a head.
//
// control=temperature answers from softmax(theta/tau) in place of the combined
// policy: one tau for all prompts, at which the mean over the trained prompts of
// the entropy of whole outcomes is that of the combined policy at the same step,
// found by bisection. Stage A then only says which entropy: it is not charged.
//
// Left out: format rewards, so that groups have two values of reward and not
// four; rewards 0 and 1 are half as far apart as the code's, so that the 1e-4
// counts double; the temperature of 0.9; weight decay.
type r2po struct {
	spec          string
	visits        int // steps between visits, 0 for the released ones
	steps         int // of a visit
	prompts, n    int // of a step of a visit
	rate          float64
	clip, kl      float64
	normal        bool // the head begins with normal noise, not 0
	reset         bool // at every visit
	importance    bool
	temperature   bool
	policy        Policy
	key           stream.Key
	head          []float64
	stageA        *Updater
	stageB        *Updater
	spent, tokens int // by stage A, not yet charged
}

// releasedVisits are the policy checkpoints, in steps, at which the released
// schedule trains the head.
var releasedVisits = []int{0, 40, 80, 100, 120, 140, 160, 180}

var r2poKind = systemKind{
	read: readR2PO,
	info: SystemInfo{
		Name: "r2po",
		Parameters: []strategy.Parameter{
			{Name: "schedule", Default: "released", Range: "released | whole number >= 1", Doc: "stage A before steps 1, 41, 81, 101, 121, 141, 161 and 181, or before every so many"},
			{Name: "a-steps", Default: "20", Range: "whole number >= 0", Doc: "steps of a visit to stage A"},
			{Name: "a-prompts", Default: "2", Range: "whole number >= 1", Doc: "prompts of a step of stage A"},
			{Name: "n", Default: "8", Range: "whole number >= 2", Doc: "rollouts of a prompt in stage A"},
			{Name: "rate", Default: "0.1", Range: "x > 0", Doc: "Adam's learning rate of the head (ours)"},
			{Name: "clip", Default: "0.2", Range: "x >= 0", Doc: "clipping range of both stages"},
			{Name: "kl", Default: "0.04", Range: "x >= 0", Doc: "KL to the initial policy, both stages"},
			{Name: "init", Default: "normal", Range: "normal | zero", Doc: "the head's start: normal noise of size 1e-6, or 0"},
			{Name: "reset", Default: "never", Range: "never | visit", Doc: "when the head starts anew"},
			{Name: "correction", Default: "none", Range: "none | importance", Doc: "stage B as released, or with weights pi/mu (ours); either way it replaces the estimator, clipping and KL of the run"},
			{Name: "control", Default: "none", Range: "none | temperature", Doc: "a temperature of the same mean entropy in place of the head (ours)"},
		},
		Diagnostics: []Figure{
			{"behaviour_success", "success of the policy that answers", "mean success probability of the policy that answered, over the trained prompts"},
			{"zero_variance", "probability of n equal rewards", "mean probability that n of its rollouts have equal rewards"},
			{"bias_angle", "bias of the gradient, angle in radians", "angle in radians of stage B's mean gradient without correction or division to that of the success, 0 where either vanishes"},
			{"stage_a", "rollouts of stage A charged to a step", "rollouts of stage A that were charged with the step"},
		},
		Provenance: "code",
		Source:     "R2PO, arXiv 2601.11960; RRPO-ARR/Code",
		Taxonomy:   strategy.PlacedByTaxonomy(strategy.LeverAlgorithmic, strategy.FamilyOther, "C", strategy.PaidBefore),
	},
}

func readR2PO(a *spec.Args) (System, error) {
	const most = 1 << 20
	atLeast0 := func(x float64) bool { return x >= 0 }
	r := &r2po{visits: readSchedule(a)}
	r.steps = a.Int("a-steps", 20, 0, most)
	r.prompts = a.Int("a-prompts", 2, 1, most)
	r.n = a.Int("n", 8, 2, most)
	r.rate = a.Float("rate", 0.1, "a number > 0", func(x float64) bool { return x > 0 })
	r.clip = a.Float("clip", 0.2, "a number >= 0", atLeast0)
	r.kl = a.Float("kl", 0.04, "a number >= 0", atLeast0)
	r.normal = a.Choice("init", "normal", "normal", "zero") == "normal"
	r.reset = a.Choice("reset", "never", "never", "visit") == "visit"
	r.importance = a.Choice("correction", "none", "none", "importance") == "importance"
	r.temperature = a.Choice("control", "none", "none", "temperature") == "temperature"
	r.spec = normal(a)
	return r, a.Err()
}

// readSchedule returns the steps between visits, 0 for the released ones.
func readSchedule(a *spec.Args) int {
	text, given := a.Text("schedule")
	if !given || text == "released" {
		a.Keep("schedule", "released")
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		a.Fault("schedule", text, "released, or a whole number of at least 1")
		return 0
	}
	a.Keep("schedule", strconv.Itoa(n))
	return n
}

func (r *r2po) Spec() string { return r.spec }

func (r *r2po) Begin(p Policy, u *Updater, key stream.Key) error {
	if r.prompts > p.Prompts() {
		return fmt.Errorf("r2po: a-prompts = %d, want a whole number in [1, %d], the prompts of the set", r.prompts, p.Prompts())
	}
	if _, ok := p.(*linear); ok && r.temperature {
		return fmt.Errorf("r2po: control = temperature divides parameters by it, and %s keeps initial logits apart; want logit, softmax, sequence or layered", p.Spec())
	}
	r.policy, r.key = p, key
	r.head = make([]float64, len(p.Parameters()))
	stageB := u.objective
	stageB.Estimator = advantage.GRPO{DDOF: 1, Delta: 1e-4}
	stageB.ClipLow, stageB.ClipHigh, stageB.KL = r.clip, r.clip, r.kl
	var err error
	if r.stageB, err = NewUpdater(p, stageB, u.optimizer); err != nil {
		return err
	}
	stageA := DefaultObjective()
	stageA.Estimator, stageA.Aggregate, stageA.TokenMean = rarity{}, sim.AggregatePrompt, true
	stageA.ClipLow, stageA.ClipHigh, stageA.KL = r.clip, r.clip, r.kl
	if r.stageA, err = NewUpdater(p, stageA, nil); err != nil {
		return err
	}
	r.start(0)
	return nil
}

// start begins a head, that of the visit before a step.
func (r *r2po) start(step int) {
	const size = 1e-6
	clear(r.head)
	if r.normal {
		gen := stream.Rand(r.key.With(uint64(step)).Named("head"))
		for i := range r.head {
			r.head[i] = size * gen.NormFloat64()
		}
	}
	r.stageA.optimizer, _ = NewOptimizer("adam:lr=" + spec.FormatFloat(r.rate))
}

// due tells whether stage A comes before the step.
func (r *r2po) due(step int) bool {
	if r.visits > 0 {
		return (step-1)%r.visits == 0
	}
	return slices.Contains(releasedVisits, step-1)
}

// Answer visits stage A where that is due, and lets the combined policy answer.
func (r *r2po) Answer(step int, read func() error) error {
	r.spent, r.tokens = 0, 0
	if r.due(step) {
		if err := r.visit(step); err != nil {
			return err
		}
	}
	theta := slices.Clone(r.policy.Parameters())
	defer copy(r.policy.Parameters(), theta)
	floats.Add(r.policy.Parameters(), r.head)
	if r.temperature {
		temper(r.policy, theta, meanEntropy(r.policy))
	}
	return read()
}

// visit trains the head.
func (r *r2po) visit(step int) error {
	if r.reset {
		r.start(step)
	}
	combined := r.policy.Parameters()
	theta := slices.Clone(combined)
	defer copy(combined, theta)
	floats.Add(combined, r.head)
	gen := stream.Rand(r.key.With(uint64(step)).Named("stage A"))
	order := gen.Perm(r.policy.Prompts())
	for k := range r.steps {
		var groups []Group
		for j := range r.prompts {
			g := drawGroup(r.policy, order[(k*r.prompts+j)%len(order)], r.n, gen.Float64)
			outcomes := r.policy.Outcomes(g.X)
			r.charge(outcomes, g.Counts)
			if _, successes := size(outcomes, g.Counts); r.unequal(successes) {
				groups = append(groups, g)
			}
		}
		if err := r.stageA.Update(groups, snapshot(r.policy, groups)); err != nil {
			return headFault(err, step)
		}
	}
	floats.SubTo(r.head, combined, theta)
	return nil
}

// unequal tells whether rarity differs in a group of stage A.
func (r *r2po) unequal(successes int) bool {
	return successes > 0 && successes < r.n && 2*successes != r.n
}

// charge counts a group of stage A, which the temperature does not need.
func (r *r2po) charge(outcomes []Outcome, counts []int) {
	if r.temperature {
		return
	}
	for k, c := range counts {
		r.spent += c
		r.tokens += c * outcomes[k].Tokens
	}
}

// headFault names what diverged before which step.
func headFault(err error, step int) error {
	var d *DivergenceError
	if errors.As(err, &d) {
		return &DivergenceError{step, "stage A's " + d.Quantity, d.Value}
	}
	return err
}

// Learn is stage B.
func (r *r2po) Learn(s *Step) error {
	before := snapshot(r.policy, s.Groups)
	bias := HeadBias(r.policy, s.Old, r.n)
	s.Report(
		Diagnostic{"behaviour_success", bias.Behaviour},
		Diagnostic{"zero_variance", bias.ZeroVariance},
		Diagnostic{"bias_angle", bias.Angle},
		Diagnostic{"stage_a", float64(r.spent)},
	)
	s.Charge(r.spent, r.tokens, 0)
	s.Groups = slices.DeleteFunc(s.Groups, func(g Group) bool {
		n, successes := size(r.policy.Outcomes(g.X), g.Counts)
		return successes == 0 || successes == n
	})
	for i := range s.Groups {
		g := &s.Groups[i]
		g.Baseline = math.NaN()
		if r.importance {
			g.Factors = ratios(nil, g, r.policy.Outcomes(g.X), before(g.X), s.Old(g.X))
		}
	}
	return r.stageB.Update(s.Groups, before)
}

// rarity scores a rollout by how few of its group have the same reward, and
// standardises the scores: R2PO's stage A.
type rarity struct{}

func (rarity) Spec() string { return "rarity" }

func (rarity) Advantages(dst, rewards []float64) error {
	if len(dst) != len(rewards) {
		return fmt.Errorf("rarity: room for %d advantages of %d rewards", len(dst), len(rewards))
	}
	members := map[float64]float64{}
	for _, r := range rewards {
		members[r]++
	}
	for i, r := range rewards {
		dst[i] = 1 / members[r]
	}
	return advantage.GRPO{DDOF: 1, Delta: 1e-6}.Advantages(dst, dst)
}

// drawGroup draws n rollouts of prompt x, each from one uniform number.
func drawGroup(p Policy, x, n int, uniform func() float64) Group {
	prob := Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
	g := Group{X: x, Counts: make([]int, len(prob)), Weight: 1, Baseline: math.NaN()}
	for range n {
		u, k := uniform(), 0
		for ; k < len(prob)-1 && u >= prob[k]; k++ {
			u -= prob[k]
		}
		g.Counts[k]++
	}
	return g
}

// meanEntropy returns the entropy of the outcomes of a trained prompt, in nats,
// on average.
func meanEntropy(p Policy) float64 {
	sum := 0.0
	var logp, prob []float64
	for x := range p.Prompts() {
		logp = p.LogProbs(logp[:0], x)
		prob = Probabilities(prob[:0], p.Outcomes(x), logp)
		for _, q := range prob {
			if q > 0 {
				sum -= q * math.Log(q)
			}
		}
	}
	return sum / float64(p.Prompts())
}

// temper sets a policy whose logits are its parameters, theta, to theta/tau, with
// tau in [1/64, 64] such that the mean entropy is the given one; the nearest end
// where there is none. Without end, entropy rises with tau if outcomes are one
// token; for longer ones bisection finds one of the crossings.
func temper(p Policy, theta []float64, entropy float64) {
	low, high := -math.Log(64), math.Log(64)
	for range 50 { // to 1e-14
		middle := (low + high) / 2
		floats.ScaleTo(p.Parameters(), math.Exp(-middle), theta)
		if meanEntropy(p) < entropy {
			low = middle
		} else {
			high = middle
		}
	}
}

// A BiasReport says how answers of another policy lead the one that learns,
// exactly: means over the trained prompts.
type BiasReport struct {
	Serving, Behaviour float64 // success of the policy, and of the one that answers
	ZeroVariance       float64 // probability of equal rewards in a group of the latter
	// Angle, in radians, is between the gradient of Serving and the mean over
	// prompts of E_mu[(r - p_mu) grad log pi], mu the policy that answers: stage B
	// of R2PO without division by a standard deviation. 0 where either vanishes.
	Angle float64
}

// HeadBias works out the report where the policy stands; mu returns the token log
// probabilities that prompt x is answered with, and groups have n rollouts. Where
// outcomes are one token, E_mu[(r - p_mu) grad log pi] is mu (r - p_mu) by their
// logits, whatever pi is: the gradient of the answering policy. Of longer ones
// that holds for the first token alone, and only weights pi/mu turn it into the
// policy's own.
func HeadBias(p Policy, mu func(x int) []float64, n int) BiasReport {
	var b BiasReport
	led, own := make([]float64, len(p.Parameters())), make([]float64, len(p.Parameters()))
	share := 1 / float64(p.Prompts())
	for x := range p.Prompts() {
		q := climb(led, p, x, mu(x))
		b.Behaviour += share * q
		b.ZeroVariance += share * (math.Pow(q, float64(n)) + math.Pow(1-q, float64(n)))
		b.Serving += share * climb(own, p, x, p.LogProbs(nil, x))
	}
	b.Angle = angle(led, own)
	return b
}

// angle returns the angle between two vectors, 0 where one of them is 0, with the
// digits of small ones (Kahan's formula); it scales a and b to length 1.
func angle(a, b []float64) float64 {
	lengthA, lengthB := floats.Norm(a, 2), floats.Norm(b, 2)
	if lengthA*lengthB == 0 {
		return 0
	}
	floats.Scale(1/lengthA, a)
	floats.Scale(1/lengthB, b)
	apart := floats.Distance(a, b, 2)
	floats.Add(a, b)
	return 2 * math.Atan2(apart, floats.Norm(a, 2))
}

// climb adds E_mu[(r - p_mu) grad log pi] of prompt x to grad, from mu's token
// log probabilities, and returns p_mu.
func climb(grad []float64, p Policy, x int, mu []float64) float64 {
	outcomes := p.Outcomes(x)
	prob := Probabilities(nil, outcomes, mu)
	mean := success(outcomes, prob)
	miss := 0.0
	for k, o := range outcomes {
		if !o.Correct {
			miss += prob[k]
		}
	}
	var w []float64
	for k, o := range outcomes {
		reward := -mean
		if o.Correct {
			reward = miss // 1 - mean would lose its digits
		}
		for range o.Tokens {
			w = append(w, prob[k]*reward)
		}
	}
	p.AddScores(grad, x, w)
	return mean
}
