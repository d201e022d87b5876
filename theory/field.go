package theory

import (
	"cmp"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A field is an infinite batch on its way through the rounds.
type field struct {
	p, w, u  []float64 // the nodes
	frontier []bool    // u >= c
	active   []float64 // a(p): the share of a node's prompts that no cut by p has dropped
	staying  []float64 // a(p) after this round
	at       []NodeRollouts
	levels   []level // the nodes by u, descending; select=truth

	n        int                   // rollouts of every active prompt
	survival []float64             // r(s): the chance to be active given s
	binomial *binomialTable        // for n
	spread   func(n int) []float64 // of a group by its successes, what the figures call sigma

	meanU, meanFrontier float64 // E[u] and P(frontier)
	massError           float64
	leavers             []leavers // one entry a round
	unbooked            bool      // only the leavers are asked for, not what is booked at nodes
}

// leavers are the prompts that get their last rollouts in the same round.
// Every figure is a part of an expectation over all prompts, E[f; leaver].
type leavers struct {
	size           int
	share          float64
	u              float64
	sigma, sigmaU  float64
	q, qq          float64 // of the gradient estimate and its square
	zero           float64 // in groups with s = 0 or s = size
	frontier       float64
	activeFrontier float64 // at the frontier and active before the cut
}

// newField starts a field whose groups have at most the given number of sizes.
func newField(nodes []distributions.Node, frontier float64, sizes int) *field {
	n := len(nodes)
	f := &field{
		p: make([]float64, n), w: make([]float64, n), u: make([]float64, n), frontier: make([]bool, n),
		active: make([]float64, n), staying: make([]float64, n), at: make([]NodeRollouts, n),
		spread: groupSigmas,
	}
	for i, node := range nodes {
		f.at[i] = NodeRollouts{P: node.P, W: node.W, Shares: make([]float64, 0, sizes)}
		f.p[i], f.w[i], f.u[i] = node.P, node.W, distributions.U(node.P)
		f.active[i] = 1
		f.meanU += node.W * f.u[i]
		if f.frontier[i] = distributions.AtLeast(node.P, frontier); f.frontier[i] {
			f.meanFrontier += node.W
		}
	}
	return f
}

// run takes the field through all rounds. A share shares[t] of all prompts is
// active in round t, from 0.
func (f *field) run(v schedule.Vigor, rollouts []int, shares []float64) {
	bySample := v.Select == schedule.SelectSample
	gone := 0.0
	for t, m := range rollouts {
		last, share, next := t == len(rollouts)-1, shares[t], 0.0
		if !last {
			next = shares[t+1]
		}
		alpha := next / share
		f.ask(m, bySample)
		f.cutByNode(v.Select, alpha, next, last)
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
		l := c.leave(drop, f.spread(f.n))
		if !f.unbooked || !v.Reuse { // fresh groups are drawn at nodes
			f.leaveNodes(&l, drop, share, v, t)
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
	l := c.leave(f.survival, f.spread(f.n))
	f.leaveNodes(&l, f.survival, share, schedule.Vigor{Rounds: 1, Reuse: true}, 0)
	f.leavers = append(f.leavers, l)
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
// rollouts. Binomial tails are left out where they are below 1e-30 of the active
// share, relative to the most probable number of successes.
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
		f.at[i].Rollouts += float64(m) * active
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
func (c *bySuccesses) leave(drop, sigmas []float64) leavers {
	n := len(drop) - 1
	l := leavers{size: n, activeFrontier: c.activeFrontier}
	for s, d := range drop {
		sigma := sigmas[s]
		l.share += c.mass[s] * d
		l.u += c.massU[s] * d
		l.frontier += c.massFrontier[s] * d
		l.sigma += c.mass[s] * d * sigma
		l.sigmaU += c.massU[s] * d * sigma
		q := gradientEstimate(n, s)
		l.q += c.mass[s] * d * q
		l.qq += c.mass[s] * d * q * q
	}
	l.zero = c.mass[0]*drop[0] + c.mass[n]*drop[n]
	return l
}

// leaveNodes books those who leave after round t, from 0, at their nodes. With
// fresh groups it replaces the rewards of the leavers' groups by independent
// ones of the same sizes: what is left of the selection is its choice of p.
func (f *field) leaveNodes(l *leavers, drop []float64, share float64, v schedule.Vigor, t int) {
	if !v.Reuse {
		l.sigma, l.sigmaU, l.zero, l.q, l.qq = 0, 0, 0, 0, 0
	}
	trained := t == v.Rounds-1 || v.Update != schedule.UpdateSurvivors
	sigmas := f.spread(f.n)
	for i, p := range f.p {
		part := f.active[i] - f.staying[i]
		if part == 0 {
			f.at[i].Shares = append(f.at[i].Shares, 0)
			continue
		}
		low, high, sum := f.binomial.fill(p, 1e-30*share)
		leaving, signal, sigma := 0.0, 0.0, 0.0
		d, sg := drop[low:high], sigmas[low:high]
		for s, x := range f.binomial.b[low:high] {
			leaving += x * d[s]
			signal += x * d[s] * sg[s]
			sigma += x * sg[s]
		}
		leaving *= part / sum
		signal *= part / sum
		if !v.Reuse {
			sigma /= sum
			signal = leaving * sigma
			l.sigma += f.w[i] * signal
			l.sigmaU += f.w[i] * signal * f.u[i]
			l.zero += f.w[i] * leaving * (math.Pow(p, float64(f.n)) + math.Pow(1-p, float64(f.n)))
			for k, x := range f.binomial.b[low:high] {
				q := gradientEstimate(f.n, low+k)
				l.q += f.w[i] * leaving * x / sum * q
				l.qq += f.w[i] * leaving * x / sum * q * q
			}
		}
		if trained {
			f.at[i].Signal += float64(f.n) * signal
			f.at[i].SignalPromptMean += signal
		}
		f.at[i].Shares = append(f.at[i].Shares, leaving)
	}
}

// gradientEstimate returns RLOO's estimate of the gradient p(1-p) of a prompt's
// one logit, s(n-s)/(n(n-1)), rewards in {0, 1}; 0 for n = 1.
func gradientEstimate(n, s int) float64 {
	if n == 1 {
		return 0
	}
	return float64(s) * float64(n-s) / (float64(n) * float64(n-1))
}

// groupSigmas returns GroupSigma(n, s) for every s.
func groupSigmas(n int) []float64 {
	sigmas := make([]float64, n+1)
	for s := range sigmas {
		sigmas[s] = GroupSigma(n, s)
	}
	return sigmas
}

// figures puts the leavers of all rounds together.
func (f *field) figures(v schedule.Vigor) *MeanField {
	m := &MeanField{MassError: f.massError}
	var trained leavers // sums over the groups of the update, weighted by their rollouts
	groups, sigma, sigmaU, zeroGroups := 0.0, 0.0, 0.0, 0.0
	for t, l := range f.leavers {
		size := float64(l.size)
		m.MeanGroup += size * l.share
		m.GroupSizes = append(m.GroupSizes, SizeShare{l.size, l.share})
		if v.Update == schedule.UpdateSurvivors && t < len(f.leavers)-1 {
			continue
		}
		groups += l.share
		sigma += l.sigma
		sigmaU += l.sigmaU
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
	m.ProgressPromptMean = sigmaU / groups
	m.Screening = f.screening()
	m.Allocation = f.at
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
