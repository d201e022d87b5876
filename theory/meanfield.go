package theory

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A MeanField holds the exact figures of an allocation in the limit of an
// infinite batch (theory.md, sections 0, 3.2, 4.3 and 4.6), under signed
// coding. A figure that does not exist is NaN: Eta where E[u] = 0, a screening
// figure whose condition has probability 0.
type MeanField struct {
	Rollouts     float64 // generated rollouts per prompt
	Trained      float64 // rollouts in the update per prompt
	MeanGroup    float64 // mean group after the last round, trained or not
	Eta          float64 // E[G u] / (E[G] E[u]) over trained rollouts
	EtaGenerated float64 // the same weight per generated rollout

	Signal             float64 // E[G sigma] / E[G]
	SignalPromptMean   float64 // E[sigma] over trained groups
	Ineffective        float64 // share of rollouts in groups with s = 0 or s = G
	ZeroVarianceGroups float64 // share of such groups
	Progress           float64 // E[G sigma u] / E[G], not yet relative to anything

	GroupSizes []SizeShare
	Screening  []Screening // one entry a cut
	Allocation []NodeRollouts
	MassError  float64 // largest |mass - 1| met in any round
}

// A SizeShare is the share of prompts whose group has a size.
type SizeShare struct {
	Size  int
	Share float64
}

// Screening holds the errors of the cut after a round, against the frontier
// u >= c (theory.md, section 0).
type Screening struct {
	Round                   int
	FalseOmission           float64
	FalseNegative           float64
	FalseNegativeCumulative float64
}

// NodeRollouts is the mean group of the prompts at one quadrature node.
type NodeRollouts struct {
	P, W     float64
	Rollouts float64
}

// DefaultNodes is the number of quadrature nodes that commands use.
const DefaultNodes = 2000

// smallestShare bounds alpha^(T-1), the share of prompts that reach the last
// round: below it, products of shares and binomial tails would underflow.
const smallestShare = 1e-200

// VigorMeanField returns the mean field of VIGOR with any schedule and control
// (OWN; theory.md, section 3.2). frontier is c in [0, 1]; nodes >= 1.
//
// After n rollouts the sequences with s successes are equally likely whatever
// p is, so the chance that a prompt is still active given s does not depend on
// p. The mass of active prompts at (p, s) is therefore W(p) a(p) r(s) b(s; n,
// p): a quadrature weight, a share that the controls cut by p (truth, random),
// a share that the algorithm cuts by s (sample), and a binomial probability.
// Every factor is positive and nothing cancels.
//
// Errors: parameters out of range; a group that is not whole or passes
// schedule.MaxGroup; less than 1e-200 of the prompts reaching the last round.
// Rounding of cuts does not matter in this limit, nor do ties in expectation.
func VigorMeanField(law distributions.Law, v schedule.Vigor, frontier float64, nodes int) (*MeanField, error) {
	rollouts, err := v.Rollouts()
	if err != nil {
		return nil, err
	}
	last := math.Pow(v.Alpha.Float(), float64(v.Rounds-1))
	err = errors.Join(
		checkQuadrature(frontier, nodes),
		unless(last >= smallestShare, fmt.Errorf("theory: the share alpha^%d of prompts that reach the last round is below %v", v.Rounds-1, smallestShare)),
	)
	if err != nil {
		return nil, err
	}
	f := newField(law.Nodes(nodes, cutsInU(law, v, frontier)...), frontier)
	f.run(v, rollouts)
	return f.figures(v), nil
}

// FixedMeanField returns the mean field of fixed groups of the given mean
// size, in [1, schedule.MaxGroup]: floor and ceil of it, mixed to the exact
// mean at random over prompts. frontier is c in [0, 1]; nodes >= 1.
func FixedMeanField(law distributions.Law, mean, frontier float64, nodes int) (*MeanField, error) {
	err := errors.Join(
		unless(mean >= 1 && mean <= schedule.MaxGroup, outside("mean group", mean, groupRange)),
		checkQuadrature(frontier, nodes),
	)
	if err != nil {
		return nil, err
	}
	size, fraction := math.Modf(mean)
	f := newField(law.Nodes(nodes, inner(frontier)...), frontier)
	f.fixed(int(size), 1-fraction)
	if fraction > 0 {
		f.fixed(int(size)+1, fraction)
	}
	m := f.figures(schedule.Vigor{Update: schedule.UpdateAll, Reuse: true})
	m.Screening = nil
	return m, nil
}

func checkQuadrature(frontier float64, nodes int) error {
	return errors.Join(
		unless(frontier >= 0 && frontier <= 1, outside("frontier", frontier, "[0, 1]")),
		unless(nodes >= 1, outside("nodes", nodes, "a whole number >= 1")),
	)
}

// cutsInU returns where the integrands jump: at the frontier and, for
// select=truth, at the true variances of the cuts.
func cutsInU(law distributions.Law, v schedule.Vigor, frontier float64) []float64 {
	cuts := []float64{frontier}
	if v.Select == schedule.SelectTruth {
		for t := 1; t < v.Rounds; t++ {
			share := math.Pow(v.Alpha.Float(), float64(t))
			if share < 1e-15 { // 1-share is no longer told from 1
				break
			}
			cuts = append(cuts, law.QuantileU(1-share))
		}
	}
	return inner(cuts...)
}

// inner returns the distinct cuts in (0, 1), where u may jump, in order.
func inner(cuts ...float64) []float64 {
	cuts = slices.DeleteFunc(cuts, func(c float64) bool { return !(c > 0 && c < 1) })
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// A field is an infinite batch on its way through the rounds.
type field struct {
	p, w, u  []float64 // the nodes
	frontier []bool    // u >= c
	active   []float64 // a(p): the share of a node's prompts that no cut by p has dropped
	staying  []float64 // a(p) after this round
	group    []float64 // mean group so far
	levels   []level   // the nodes by u, descending; select=truth

	n        int            // rollouts of every active prompt
	survival []float64      // r(s): the chance to be active given s
	binomial *binomialTable // for n

	meanU, meanFrontier float64 // E[u] and P(frontier)
	massError           float64
	leavers             []leavers // one entry a round
}

// leavers are the prompts that get their last rollouts in the same round.
// Every figure is a part of an expectation over all prompts, E[f; leaver].
type leavers struct {
	size           int
	share          float64
	u              float64
	sigma, sigmaU  float64
	zero           float64 // in groups with s = 0 or s = size
	frontier       float64
	activeFrontier float64 // at the frontier and active before the cut
}

func newField(nodes []distributions.Node, frontier float64) *field {
	n := len(nodes)
	f := &field{
		p: make([]float64, n), w: make([]float64, n), u: make([]float64, n), frontier: make([]bool, n),
		active: make([]float64, n), staying: make([]float64, n), group: make([]float64, n),
	}
	for i, node := range nodes {
		f.p[i], f.w[i], f.u[i] = node.P, node.W, distributions.U(node.P)
		f.active[i] = 1
		f.meanU += node.W * f.u[i]
		if f.frontier[i] = distributions.AtLeast(node.P, frontier); f.frontier[i] {
			f.meanFrontier += node.W
		}
	}
	return f
}

// run takes the field through all rounds.
func (f *field) run(v schedule.Vigor, rollouts []int) {
	alpha, bySample := v.Alpha.Float(), v.Select == schedule.SelectSample
	gone := 0.0
	for t, m := range rollouts {
		last := t == len(rollouts)-1
		share := math.Pow(alpha, float64(t)) // active in this round
		f.ask(m, bySample)
		f.cutByNode(v.Select, alpha, share*alpha, last)
		c := f.count(m, share)
		f.massError = max(f.massError, math.Abs(gone+c.active-1))

		keep := make([]float64, f.n+1)
		if bySample && !last {
			keep = cutBySample(c.mass, f.survival, alpha)
		}
		drop := make([]float64, f.n+1)
		for s, r := range f.survival {
			drop[s] = r * (1 - keep[s])
			f.survival[s] = r * keep[s]
		}
		l := c.leave(drop)
		if !v.Reuse {
			f.drawAfresh(&l, drop, share)
		}
		f.leavers = append(f.leavers, l)
		gone += l.share
		if !bySample {
			f.active, f.staying = f.staying, f.active
		}
	}
}

// fixed gives a share of every node's prompts a group of m.
func (f *field) fixed(m int, share float64) {
	for i := range f.active {
		f.active[i], f.staying[i] = share, 0
	}
	f.n = 0
	f.ask(m, false)
	c := f.count(m, 1)
	f.massError = max(f.massError, math.Abs(c.active-share))
	f.leavers = append(f.leavers, c.leave(f.survival))
}

// ask gives every active prompt m rollouts. Where no cut looks at outcomes,
// survival is 1 whatever they are.
func (f *field) ask(m int, bySample bool) {
	if f.n > 0 && bySample {
		f.survival = pool(f.survival, m)
	} else {
		f.survival = slices.Repeat([]float64{1}, f.n+m+1)
	}
	f.n += m
	f.binomial = newBinomialTable(f.n)
}

// cutByNode decides who stays after this round where the cut looks at p or at
// nothing, so that a share next of all prompts is left. A cut by s is left to
// cutBySample: here everyone leaves, as after the last round.
func (f *field) cutByNode(selection string, alpha, next float64, last bool) {
	clear(f.staying)
	switch {
	case last || selection == schedule.SelectSample:
	case selection == schedule.SelectRandom:
		for i, a := range f.active {
			f.staying[i] = alpha * a
		}
	default:
		f.cutByTruth(next)
	}
}

// A level is a node with the u that it ranks by.
type level struct {
	u    float64
	node int
}

// cutByTruth lets the share next of all prompts with the largest u stay. Equal
// variances, those of p and 1-p, are cut in proportion.
func (f *field) cutByTruth(next float64) {
	if f.levels == nil {
		for i, p := range f.p {
			f.levels = append(f.levels, level{distributions.Level(p), i})
		}
		slices.SortFunc(f.levels, func(a, b level) int { return cmp.Compare(b.u, a.u) })
	}
	for rest := f.levels; len(rest) > 0 && next > 0; {
		mass, tied := 0.0, 0
		for tied < len(rest) && rest[tied].u == rest[0].u {
			mass += f.w[rest[tied].node]
			tied++
		}
		part := min(1, next/mass)
		for _, l := range rest[:tied] {
			f.staying[l.node] = part
		}
		next -= mass
		rest = rest[tied:]
	}
}

// bySuccesses holds the part of the population that leaves after a round if the cut
// does not look at s, by successes s so far, before the factor r(s).
type bySuccesses struct {
	mass, massU, massFrontier []float64
	active, activeFrontier    float64 // all active prompts
}

// count integrates over the nodes, and charges the active prompts for m
// rollouts. Binomial tails below 1e-30 of the active share are left out.
func (f *field) count(m int, share float64) *bySuccesses {
	c := &bySuccesses{mass: make([]float64, f.n+1), massU: make([]float64, f.n+1), massFrontier: make([]float64, f.n+1)}
	for i, p := range f.p {
		if f.active[i] == 0 {
			continue
		}
		low, high, sum := f.binomial.fill(p, 1e-30*share)
		b, r := f.binomial.b[low:high], f.survival[low:high]
		active := 0.0
		for s, x := range b {
			active += x * r[s]
		}
		active *= f.active[i] / sum
		f.group[i] += float64(m) * active
		c.active += f.w[i] * active
		scale := f.w[i] * (f.active[i] - f.staying[i]) / sum
		mass, massU, u := c.mass[low:high], c.massU[low:high], f.u[i]
		for s, x := range b {
			x *= scale
			mass[s] += x
			massU[s] += x * u
		}
		if !f.frontier[i] {
			continue
		}
		c.activeFrontier += f.w[i] * active
		massFrontier := c.massFrontier[low:high]
		for s, x := range b {
			massFrontier[s] += x * scale
		}
	}
	return c
}

// cutBySample returns, for every s, the share of active prompts that the cut
// keeps: it leaves alpha of the active mass, the largest s(n-s) first, and
// splits the tied level {s, n-s} in proportion.
func cutBySample(mass, survival []float64, alpha float64) []float64 {
	n := len(mass) - 1
	left := 0.0 // to be kept
	for s, r := range survival {
		left += alpha * mass[s] * r
	}
	keep := make([]float64, n+1)
	for s := n / 2; s >= 0 && left > 0; s-- {
		level := mass[s] * survival[s]
		if s != n-s {
			level += mass[n-s] * survival[n-s]
		}
		part := 1.0
		if level > left {
			part = left / level
		}
		keep[s], keep[n-s] = part, part
		left -= level
	}
	return keep
}

// leave sums over s those who leave after the round: drop(s) of the mass.
func (c *bySuccesses) leave(drop []float64) leavers {
	n := len(drop) - 1
	l := leavers{size: n, activeFrontier: c.activeFrontier}
	for s, d := range drop {
		sigma := GroupSigma(n, s)
		l.share += c.mass[s] * d
		l.u += c.massU[s] * d
		l.frontier += c.massFrontier[s] * d
		l.sigma += c.mass[s] * d * sigma
		l.sigmaU += c.massU[s] * d * sigma
	}
	l.zero = c.mass[0]*drop[0] + c.mass[n]*drop[n]
	return l
}

// drawAfresh replaces the rewards of the leavers' groups by independent ones
// of the same sizes: what is left of the selection is its choice of p.
func (f *field) drawAfresh(l *leavers, drop []float64, share float64) {
	l.sigma, l.sigmaU, l.zero = 0, 0, 0
	n := f.n
	sigmas := make([]float64, n+1)
	for s := range sigmas {
		sigmas[s] = GroupSigma(n, s)
	}
	for i, p := range f.p {
		low, high, sum := f.binomial.fill(p, 1e-30*share)
		leaving, sigma := 0.0, 0.0
		for s, x := range f.binomial.b[low:high] {
			leaving += x * drop[low+s]
			sigma += x * sigmas[low+s]
		}
		leaving *= f.w[i] * (f.active[i] - f.staying[i]) / sum
		sigma /= sum
		l.sigma += leaving * sigma
		l.sigmaU += leaving * sigma * f.u[i]
		l.zero += leaving * (math.Pow(p, float64(n)) + math.Pow(1-p, float64(n)))
	}
}

// figures puts the leavers of all rounds together.
func (f *field) figures(v schedule.Vigor) *MeanField {
	m := &MeanField{MassError: f.massError}
	var trained leavers // sums over the groups of the update, weighted by their rollouts
	groups, sigma, zeroGroups := 0.0, 0.0, 0.0
	for t, l := range f.leavers {
		size := float64(l.size)
		m.MeanGroup += size * l.share
		m.GroupSizes = append(m.GroupSizes, SizeShare{l.size, l.share})
		if v.Update == schedule.UpdateSurvivors && t < len(f.leavers)-1 {
			continue
		}
		groups += l.share
		sigma += l.sigma
		zeroGroups += l.zero
		trained.share += size * l.share
		trained.u += size * l.u
		trained.sigma += size * l.sigma
		trained.sigmaU += size * l.sigmaU
		trained.zero += size * l.zero
	}
	m.Trained, m.Rollouts = trained.share, m.MeanGroup
	if !v.Reuse {
		m.Rollouts += m.Trained
	}
	m.Eta = ratio(trained.u, m.Trained*f.meanU)
	m.EtaGenerated = ratio(trained.u, m.Rollouts*f.meanU)
	m.Signal = trained.sigma / m.Trained
	m.SignalPromptMean = sigma / groups
	m.Ineffective = trained.zero / m.Trained
	m.ZeroVarianceGroups = zeroGroups / groups
	m.Progress = trained.sigmaU / m.Trained
	m.Screening = f.screening()
	for i := range f.p {
		m.Allocation = append(m.Allocation, NodeRollouts{f.p[i], f.w[i], f.group[i]})
	}
	return m
}

// screening compares those that every cut but the last round's end drops with
// the frontier.
func (f *field) screening() []Screening {
	var cuts []Screening
	missed := 0.0
	for t, l := range f.leavers[:len(f.leavers)-1] {
		missed += l.frontier
		cuts = append(cuts, Screening{
			Round:                   t + 1,
			FalseOmission:           ratio(l.frontier, l.share),
			FalseNegative:           ratio(l.frontier, l.activeFrontier),
			FalseNegativeCumulative: ratio(missed, f.meanFrontier),
		})
	}
	return cuts
}

// ratio returns x/y, NaN where y = 0.
func ratio(x, y float64) float64 {
	if y == 0 {
		return math.NaN()
	}
	return x / y
}
