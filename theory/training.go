package theory

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A Training is training in its mean field (OWN): uncoupled prompts of one logit
// z each, p = sigmoid(z), in a set without end, under steps without size, so
// that every logit follows its mean. A group of n rollouts with s successes adds
// the sum of its advantages times its scores, n Gain(n, s), to the gradient of
// its logit; an update divides by its rollouts, or takes means over groups
// (PromptMean). Hence
//
//	dz/dt = E[G gain | p] / E[G]        averaged over rollouts
//	dz/dt = E[gain | p]                 averaged over prompts
//
// over the groups of the update, where the law of G and s given p is that of the
// mean field (VigorMeanField, FixedMeanField) of the population as it is at time
// t, not as it was at first.
//
// GRPO with ddof 0 and delta 0 has gain = sqrt(s(n-s))/n = GroupSigma(n, s)/2
// under either coding: s advantages sqrt((n-s)/s), and as they sum to 0, the
// scores 1-p and -p may both be raised by p. Dr. GRPO has s(n-s)/n^2 =
// GroupSigma(n, s)^2/4 under binary coding.
type Training struct {
	// Start holds the initial success probabilities, in [0, 1], and the shares
	// of the prompts that have them, which sum to 1. Prompts at 0 and 1 stay.
	Start []distributions.Node
	// Vigor is the strategy; where it is nil, fixed groups of Group rollouts.
	Vigor      *schedule.Vigor
	Group      int
	PromptMean bool
	Gain       func(n, s int) float64 // for n >= 1 and 0 <= s <= n
}

// An Arrival says when the mean success probability first reaches a target.
type Arrival struct {
	Target float64
	// Time is in steps times learning rate over prompts: n prompts, trained in
	// batches of any size b by steps of plain gradient ascent at rate r, take
	// Time n/r steps.
	Time float64
	// Rollouts is Time times the generated rollouts per prompt of a batch: n
	// prompts take Rollouts n b/r of them.
	Rollouts float64
	// Error is the relative difference from the same path in steps twice as
	// long: about what the steps leave, mostly less. The nodes of a law leave
	// 1e-3 or so beside: prompts of one difficulty learn together, at a front
	// that moves over the nodes. Prompts themselves, as nodes, leave nothing.
	Error float64
}

const (
	// pathTolerance is the Error at which a path is exact enough: far below
	// what a training run can be measured to.
	pathTolerance = 1e-3
	// longestMove and shortestMove are how far the fastest logit moves in a
	// step, at first and at last.
	longestMove, shortestMove = 1., 1. / 32
	// mostSteps of a path: a logit that moves by longestMove in each has left
	// the range of float64 long before.
	mostSteps = 100_000
)

// Arrivals follows the path until the last target is reached. Targets increase,
// inside (0, 1); one that is reached from the start has time 0.
//
// It integrates by the classical Runge-Kutta method of order 4, in steps in
// which the fastest logit moves by a given length, and halves that length until
// no Error is above 1e-3 or it is 1/32. Cuts make the right-hand side smooth in
// pieces only, which costs accuracy where two pieces meet.
//
// Errors: parameters out of range, as VigorMeanField; a target that dead prompts
// keep out of reach, or a path that stands still.
func (t Training) Arrivals(targets ...float64) ([]Arrival, error) {
	p, err := newPath(t)
	if err := errors.Join(err, t.checkTargets(targets)); err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, nil
	}
	arrivals, err := p.follow(targets, 2*longestMove)
	for move := longestMove; err == nil; move /= 2 {
		coarse := arrivals
		worst := 0.0
		if arrivals, err = p.follow(targets, move); err != nil {
			break
		}
		for i := range arrivals {
			a := &arrivals[i]
			if a.Time > 0 {
				a.Error = math.Abs(a.Time-coarse[i].Time) / a.Time
			}
			worst = max(worst, a.Error)
		}
		if worst <= pathTolerance || move <= shortestMove {
			return arrivals, nil
		}
	}
	return nil, err
}

// Progress returns how fast the mean success climbs at the start per generated
// rollout of a prompt: the first-order progress of theory.md, 4.6, under any
// gain and either aggregation, in units of Arrival.Rollouts. Averaged over
// rollouts GRPO has E[G sigma u]/E[G]/8 a rollout of a batch, and E[G] of them.
// Errors are those of Arrivals.
func (t Training) Progress() (float64, error) {
	p, err := newPath(t)
	if err != nil {
		return math.NaN(), err
	}
	p.begin()
	rate := make([]float64, len(p.z))
	p.drift(rate, p.z)
	_, climb := p.mean(p.z, rate)
	return climb / p.cost, nil
}

// checkTargets validates targets; Start is valid.
func (t Training) checkTargets(targets []float64) error {
	reach := 1.0
	for _, n := range t.Start {
		if n.P == 0 {
			reach -= n.W
		}
	}
	last := 0.0
	for _, x := range targets {
		if !(x > last && x < 1) {
			return outside("target", x, fmt.Sprintf("(%v, 1): targets increase", last))
		}
		if !(x < reach) {
			return outside("target", x, fmt.Sprintf("below %v: the other prompts are dead", reach))
		}
		last = x
	}
	return nil
}

// A path is a training on its way.
type path struct {
	Training
	rollouts []int // of every round, nil for fixed groups
	shares   []float64
	gains    map[int][]float64
	divisor  float64 // of the update: rollouts per prompt, or groups
	cost     float64 // generated rollouts per prompt

	nodes []distributions.Node
	z     []float64
}

func newPath(t Training) (*path, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	p := &path{Training: t, gains: map[int][]float64{}, nodes: make([]distributions.Node, len(t.Start)), z: make([]float64, len(t.Start))}
	if t.Vigor == nil {
		p.divisor, p.cost = float64(t.Group), float64(t.Group)
	} else if err := p.plan(*t.Vigor); err != nil {
		return nil, err
	}
	if t.PromptMean {
		p.divisor = 1
		if t.Vigor != nil && t.Vigor.Update == schedule.UpdateSurvivors {
			p.divisor = p.shares[len(p.shares)-1]
		}
	}
	return p, nil
}

// plan lays out VIGOR's rounds.
func (p *path) plan(v schedule.Vigor) (err error) {
	if p.rollouts, p.shares, err = roundShares(v); err != nil {
		return err
	}
	size, selection := 0, 0.0
	for i, m := range p.rollouts {
		size += m
		selection += float64(m) * p.shares[i]
	}
	p.divisor, p.cost = selection, selection
	if v.Update == schedule.UpdateSurvivors {
		p.divisor = float64(size) * p.shares[len(p.shares)-1]
	}
	if !v.Reuse {
		p.cost += p.divisor
	}
	return nil
}

func (t Training) check() error {
	errs := []error{
		unless(t.Gain != nil, errors.New("theory: no gain, want one")),
		unless(t.Vigor == nil || t.Group == 0, errors.New("theory: want a schedule or a fixed group, not both")),
		unless(t.Vigor != nil || t.Group >= 1 && t.Group <= schedule.MaxGroup, outside("group", t.Group, groupRange)),
	}
	sum := 0.0
	for i, n := range t.Start {
		if !(n.P >= 0 && n.P <= 1 && n.W >= 0) {
			errs = append(errs, fmt.Errorf("theory: start %d: p = %v and share = %v, want p in [0, 1] and a share >= 0", i, n.P, n.W))
		}
		sum += n.W
	}
	return errors.Join(append(errs, unless(math.Abs(sum-1) <= 1e-9, outside("sum of the shares of the start", sum, "1")))...)
}

// follow returns the arrivals of the path in steps in which the fastest logit
// moves by move.
func (p *path) follow(targets []float64, move float64) ([]Arrival, error) {
	p.begin()
	var arrivals []Arrival
	rate, z, after := make([]float64, len(p.z)), make([]float64, len(p.z)), make([]float64, len(p.z))
	p.drift(rate, p.z)
	now := 0.0
	for range mostSteps {
		fastest := 0.0
		for _, r := range rate {
			fastest = max(fastest, math.Abs(r))
		}
		dt := move / fastest
		if !(now+dt <= math.MaxFloat64) {
			break
		}
		p.advance(z, rate, dt)
		p.drift(after, z)
		step := p.between(p.z, rate, z, after, dt)
		for targets[len(arrivals)] <= step.end {
			target := targets[len(arrivals)]
			t := now + dt*step.reaches(target)
			arrivals = append(arrivals, Arrival{Target: target, Time: t, Rollouts: t * p.cost})
			if len(arrivals) == len(targets) {
				return arrivals, nil
			}
		}
		p.z, z = z, p.z
		rate, after = after, rate
		now += dt
	}
	return nil, fmt.Errorf("theory: the mean success probability stands still before it is %v", targets[len(arrivals)])
}

// begin goes back to the start.
func (p *path) begin() {
	for i, n := range p.Start {
		p.nodes[i].W = n.W
		p.z[i] = math.Log(n.P) - math.Log1p(-n.P)
	}
}

// A segment is the mean success probability over one step, as the cubic through
// both ends with their slopes per step.
type segment struct{ start, climb, end, climbEnd float64 }

// between returns the mean success on the way from logits z to after, which
// takes dt.
func (p *path) between(z, rate, after, rateAfter []float64, dt float64) segment {
	var s segment
	s.start, s.climb = p.mean(z, rate)
	s.end, s.climbEnd = p.mean(after, rateAfter)
	s.climb *= dt
	s.climbEnd *= dt
	return s
}

// reaches returns the part of the step after which the mean success is target,
// which is at most its end: 0 where it is no more than its start.
func (s segment) reaches(target float64) float64 {
	if s.start >= target {
		return 0
	}
	low, high := 0.0, 1.0
	for range 53 { // to the last bit
		x := (low + high) / 2
		y := 1 - x
		if s.start*(1+2*x)*y*y+s.climb*x*y*y+s.end*x*x*(3-2*x)-s.climbEnd*x*x*y < target {
			low = x
		} else {
			high = x
		}
	}
	return high
}

// advance sets next to the logits after a time dt from p.z, whose rates are
// given.
func (p *path) advance(next, rate []float64, dt float64) {
	stage, at := append([]float64{}, rate...), make([]float64, len(rate))
	copy(next, p.z)
	for k, weight := range []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6} {
		if k > 0 {
			reach := dt / 2
			if k == 3 {
				reach = dt
			}
			for i, z := range p.z {
				at[i] = z + reach*stage[i]
			}
			p.drift(stage, at)
		}
		for i, r := range stage {
			next[i] += dt * weight * r
		}
	}
}

// drift sets rate to dz/dt at logits z: the mean field of the population there.
func (p *path) drift(rate, z []float64) {
	for i, z := range z {
		p.nodes[i].P = 1 / (1 + math.Exp(-z))
	}
	f := newField(p.nodes, 1, max(len(p.rollouts), 1))
	f.spread = p.gain
	if p.Vigor == nil {
		f.fixed(p.Group, 1)
	} else {
		f.run(*p.Vigor, p.rollouts, p.shares)
	}
	for i, n := range f.at {
		if rate[i] = n.Signal / p.divisor; p.PromptMean {
			rate[i] = n.SignalPromptMean / p.divisor
		}
	}
}

// gain returns the gains of groups of n by their successes.
func (p *path) gain(n int) []float64 {
	g, ok := p.gains[n]
	if !ok {
		g = make([]float64, n+1)
		for s := range g {
			g[s] = p.Gain(n, s)
		}
		p.gains[n] = g
	}
	return g
}

// mean returns the mean success probability at logits z and its derivative by
// time.
func (p *path) mean(z, rate []float64) (mean, climb float64) {
	for i, n := range p.nodes {
		x := 1 / (1 + math.Exp(-z[i]))
		mean += n.W * x
		climb += n.W * x * (1 - x) * rate[i]
	}
	return mean, climb
}
