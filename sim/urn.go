package sim

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A LawSource is a source whose prompts are independent draws from a law, which
// Config.Fast needs.
type LawSource interface {
	rollout.TruthSource
	Law() distributions.Law
}

// ErrNotFast is wrapped by Run's error for what Config.Fast cannot do.
var ErrNotFast = errors.New("want one VIGOR (select=sample, ties=random, reuse=true), alone or beside the fixed group of its mean size, on prompts from a law without lengths")

// An urn runs one VIGOR beside the fixed group of its mean size on batches of
// independent prompts from one law: the fast path of Run. It draws what the
// plain path draws, in another order: counts first, success probabilities last.
//
// Whatever their order, S successes in N rollouts leave a prompt with the
// posterior law p^S (1-p)^(N-S) dP(p) / M(N, S), M(N, S) = E[p^S (1-p)^(N-S)],
// and its next m rollouts have x successes with probability
//
//	C(m, x) M(N+m, S+x) / M(N, S).
//
// VIGOR looks at counts alone, so that prompts with the same counts are
// exchangeable, and a batch is known by how many prompts have which: how many
// successes in the fixed group, and how many in VIGOR's. When all counts are
// known, every prompt's p is drawn from its posterior. Nothing is left out or
// averaged over: the totals of a batch have the joint law that they have prompt
// by prompt.
//
// For the law of p stands its quadrature rule (distributions.Law.Nodes), split
// at the frontier and at the bins of p. The probabilities of counts are
// polynomials in p, which it integrates to 1e-10 of their value. p given the
// counts is one of its nodes: on either side of the frontier and in every bin
// the moments of that law are right, to 1e-10, up to a degree of spareDegree at
// least, and so are means, variances and covariances of all figures, which are
// sums of u over prompts or a ratio of two. An atom is a node of its own.
type urn struct {
	batch     int
	starts    []urnStart
	survivors bool  // the update uses those of the last round alone
	extra     int   // prompts whose fixed group is one larger
	rollouts  []int // m_1..m_T
	kept      []int // n_1..n_T

	nodes   []distributions.Node
	truth   []urnNode
	moments [][]float64 // M(N, S), NaN where nobody has asked yet
	first   [2]alias    // successes of the smaller and the larger fixed group
	rounds  []urnRound

	prompts       []int     // by start
	live          []int     // the starts that have any
	sumU          []float64 // of these
	active, asked [][]int   // prompts by start and VIGOR's successes, before and after a round's rollouts
	split         []urnCell // scratch: where the prompts are of the level that a cut splits

	key  stream.Key
	used uint64 // numbers drawn
}

// spareDegree is the degree in p, beyond that of the counts, up to which the
// moments of p given the counts are right: u^16.
const spareDegree = 32

// maxUrn is the most rollouts of a prompt, fixed group and VIGOR's together: the
// moments M(N, S) then stay far from underflow.
const maxUrn = 256

// An urnStart is an outcome of the fixed group: s successes in n.
type urnStart struct{ larger, n, s int }

// An urnRound is a round of VIGOR and those who got their last rollouts in it.
type urnRound struct {
	n    int        // rollouts of a prompt by now
	next [2][]alias // by size of the fixed group and successes so far: those of the round
	p    [2][]alias // by size of the fixed group and successes by now, both arms: the node
	left [][]int    // those who left, by start and VIGOR's successes

	prompts []int     // those who left, by VIGOR's successes
	sumU    []float64 // of these
	at      [2]urnSums
}

// urnSums are sums over the prompts of one fixed group's size that leave in one
// round.
type urnSums struct {
	frontier int
	bins     [allocationBins]int
}

// An urnNode is what is asked of a node.
type urnNode struct {
	u             float64
	bin, frontier int32
}

// An urnCell is where prompts of a level are.
type urnCell struct{ start, s, prompts int }

// newUrn returns an urn for batches of the given size. fixed is the budget of
// the fixed groups of a batch.
func newUrn(law distributions.Law, v schedule.Vigor, batch, fixed int, frontier float64) (*urn, error) {
	rollouts, err := v.Rollouts()
	if err != nil {
		return nil, err
	}
	if v.Select != schedule.SelectSample || v.Ties != schedule.TiesRandom || !v.Reuse {
		return nil, ErrNotFast
	}
	u := &urn{batch: batch, rollouts: rollouts, kept: v.Active(batch), extra: fixed % batch, survivors: v.Update == schedule.UpdateSurvivors}
	size := fixed / batch
	sizes := []int{size} // of fixed groups
	if u.extra > 0 {
		sizes = append(sizes, size+1)
	}
	most := size + 1
	for _, m := range rollouts {
		most += m
	}
	if most > maxUrn {
		return nil, fmt.Errorf("%d rollouts of a prompt, fixed group included, want at most %d: %w", most, maxUrn, ErrNotFast)
	}
	u.lay(law, most, frontier)
	u.allocate(sizes)
	return u, nil
}

// allocate makes room for fixed groups of the given sizes and all that may come
// after them.
func (u *urn) allocate(sizes []int) {
	for larger, size := range sizes {
		u.first[larger] = newAlias(u.successes(0, 0, size))
		for s := range size + 1 {
			u.starts = append(u.starts, urnStart{larger, size, s})
		}
	}
	n := 0
	for _, m := range u.rollouts {
		r := urnRound{n: n + m, left: u.counts(n + m), prompts: make([]int, n+m+1), sumU: make([]float64, n+m+1)}
		for larger, size := range sizes {
			r.next[larger] = make([]alias, size+n+1)
			r.p[larger] = make([]alias, size+n+m+1)
		}
		u.rounds = append(u.rounds, r)
		n += m
	}
	u.active, u.asked = u.counts(n), u.counts(n)
	u.prompts, u.sumU = make([]int, len(u.starts)), make([]float64, len(u.starts))
}

// counts returns a count of 0 for every start and number of successes in n.
func (u *urn) counts(n int) [][]int {
	c := make([][]int, len(u.starts))
	for f := range c {
		c[f] = make([]int, n+1)
	}
	return c
}

// lay fills the nodes; most is the largest number of rollouts of a prompt.
func (u *urn) lay(law distributions.Law, most int, frontier float64) {
	cuts := []float64{frontier}
	for i := 1; i < allocationBins/2; i++ { // the bins lie symmetrically about 1/2
		cuts = append(cuts, distributions.U(float64(i)/allocationBins))
	}
	slices.Sort(cuts)
	cuts = slices.DeleteFunc(slices.Compact(cuts), func(c float64) bool { return !(c > 0 && c < 1) })
	u.nodes = law.Nodes(8*(most+spareDegree), cuts...)
	for _, n := range u.nodes {
		t := urnNode{u: distributions.U(n.P), bin: int32(bin(n.P))}
		if distributions.AtLeast(n.P, frontier) {
			t.frontier = 1
		}
		u.truth = append(u.truth, t)
	}
	u.moments = make([][]float64, most+2)
	for n := range u.moments {
		u.moments[n] = make([]float64, n+1)
		for s := range u.moments[n] {
			u.moments[n][s] = math.NaN()
		}
	}
}

// posterior returns the weight of every node given s successes in n, before it
// is divided by M(n, s).
func (u *urn) posterior(n, s int) []float64 {
	w := make([]float64, len(u.nodes))
	for i, node := range u.nodes {
		w[i] = node.W * math.Pow(node.P, float64(s)) * math.Pow(1-node.P, float64(n-s))
	}
	return w
}

// moment returns M(n, s).
func (u *urn) moment(n, s int) float64 {
	m := &u.moments[n][s]
	if math.IsNaN(*m) {
		*m = 0
		for _, w := range u.posterior(n, s) {
			*m += w
		}
	}
	return *m
}

// successes returns the law of the successes in the next m rollouts of a prompt
// that had s in n, before it is divided by M(n, s).
func (u *urn) successes(n, s, m int) []float64 {
	w, choose := make([]float64, m+1), 1.0
	for x := range w {
		w[x] = choose * u.moment(n+m, s+x)
		choose *= float64(m-x) / float64(x+1)
	}
	return w
}

// reserve takes n numbers of the stream and returns the first one's place.
func (u *urn) reserve(n int) uint64 {
	used := u.used
	u.used += uint64(n)
	return used
}

// run plays the batch that key names.
func (u *urn) run(key stream.Key) {
	u.begin(key)
	for t := range u.rounds {
		u.ask(t)
		u.cut(t)
	}
	for t := range u.rounds {
		u.leave(&u.rounds[t])
	}
}

// begin draws the fixed groups of the prompts of the batch that key names. All
// prompts are then active.
func (u *urn) begin(key stream.Key) {
	u.key, u.used = key.Named("urn"), 0
	clear(u.sumU)
	clear(u.prompts)
	smaller := u.starts[0].n + 1 // starts of the smaller group
	u.first[0].count(u.prompts[:smaller], u.batch-u.extra, u.key, u.reserve(u.batch-u.extra))
	u.first[1].count(u.prompts[smaller:], u.extra, u.key, u.reserve(u.extra))
	u.live = u.live[:0]
	for f, prompts := range u.prompts {
		if prompts > 0 {
			u.active[f][0] = prompts
			u.live = append(u.live, f)
		}
	}
}

// ask draws the rollouts of round t of all active prompts: u.active to u.asked.
func (u *urn) ask(t int) {
	r, m := &u.rounds[t], u.rollouts[t]
	before := r.n - m
	for _, f := range u.live {
		start, asked := u.starts[f], u.asked[f][:r.n+1]
		clear(asked)
		next := r.next[start.larger][start.s:]
		for s, prompts := range u.active[f][:before+1] {
			if prompts == 0 {
				continue
			}
			if next[s] == nil {
				next[s] = newAlias(u.successes(start.n+before, start.s+s, m))
			}
			next[s].count(asked[s:], prompts, u.key, u.reserve(prompts))
		}
	}
}

// cut lets the prompts of round t go that get no further rollouts, u.asked to
// left, and keeps the rest in u.active. It keeps those of the highest levels
// min(s, n-s), and some of the level that it splits.
func (u *urn) cut(t int) {
	r := &u.rounds[t]
	split, keep := r.n/2+1, 0 // all leave
	if t+1 < len(u.rounds) {
		split, keep = u.level(r.n, u.kept[t+1])
	}
	for _, f := range u.live {
		asked, active, left := u.asked[f][:r.n+1], u.active[f][:r.n+1], r.left[f]
		for s, prompts := range asked {
			active[s], left[s] = 0, prompts
			if min(s, r.n-s) > split {
				active[s], left[s] = prompts, 0
			}
		}
	}
	if keep > 0 {
		u.keepTied(r, split, keep)
	}
}

// level returns the level that a cut to kept prompts after n rollouts splits,
// and how many of it stay.
func (u *urn) level(n, kept int) (split, keep int) {
	for split, keep = n/2, kept; ; split-- {
		prompts := 0
		for _, f := range u.live {
			asked := u.asked[f]
			prompts += asked[split]
			if split != n-split {
				prompts += asked[n-split]
			}
		}
		if prompts >= keep {
			return split, keep
		}
		keep -= prompts
	}
}

// keepTied keeps a random keep of the prompts of a level. It draws one by one
// how many stay of those with the same counts, and of the largest number of
// such prompts those that are still missing, without a draw.
func (u *urn) keepTied(r *urnRound, level, keep int) {
	u.split = u.split[:0]
	of := []int{level, r.n - level}
	if level == r.n-level {
		of = of[:1]
	}
	total, largest := 0, 0
	for _, f := range u.live {
		for _, s := range of {
			prompts := u.asked[f][s]
			if prompts == 0 {
				continue
			}
			if len(u.split) > 0 && prompts > u.split[largest].prompts {
				largest = len(u.split)
			}
			u.split = append(u.split, urnCell{f, s, prompts})
			total += prompts
		}
	}
	last := len(u.split) - 1
	u.split[largest], u.split[last] = u.split[last], u.split[largest]
	for k, c := range u.split {
		stay := keep
		if k < last {
			stay = u.staying(c.prompts, keep, total)
		}
		u.active[c.start][c.s], r.left[c.start][c.s] = stay, c.prompts-stay
		keep -= stay
		total -= c.prompts
	}
}

// staying draws how many of a number of prompts are among the keep of total that
// stay: hypergeometric, prompt by prompt.
func (u *urn) staying(prompts, keep, total int) int {
	key, used := u.key, u.reserve(prompts)
	left := uint64(keep)
	for i := range uint64(prompts) {
		place, _ := bits.Mul64(key.Bits(used+i), uint64(total)-i) // biased by less than total/2^64
		_, stays := bits.Sub64(place, left, 0)
		left -= stays
	}
	return keep - int(left)
}

// leave draws p of every prompt that left in the round.
func (u *urn) leave(r *urnRound) {
	clear(r.prompts)
	clear(r.sumU)
	r.at = [2]urnSums{}
	for _, f := range u.live {
		start := u.starts[f]
		laws := r.p[start.larger]
		for s, prompts := range r.left[f] {
			if prompts == 0 {
				continue
			}
			law := laws[start.s+s]
			if law == nil {
				law = newAlias(u.posterior(start.n+r.n, start.s+s))
				laws[start.s+s] = law
			}
			sumU := u.drawTruth(law, prompts, &r.at[start.larger])
			r.prompts[s] += prompts
			r.sumU[s] += sumU
			u.sumU[f] += sumU
		}
	}
}

// drawTruth draws p of a number of prompts, counts them and returns the sum of
// their u.
func (u *urn) drawTruth(law alias, prompts int, sums *urnSums) (sumU float64) {
	key, used, truth := u.key, u.reserve(prompts), u.truth
	frontier := 0
	for i := range uint64(prompts) {
		t := &truth[law.draw(key.Bits(used+i))]
		sumU += t.u
		frontier += int(t.frontier)
		sums.bins[t.bin]++
	}
	sums.frontier += frontier
	return sumU
}

// report fills the arms of VIGOR and of the fixed group, and what is known of
// the batch, with the batch that was played last.
func (u *urn) report(vigor, fixed *arm, t *truth) {
	t.clear(u.batch)
	vigor.begin(u.rounds[len(u.rounds)-1].n)
	fixed.begin(u.starts[len(u.starts)-1].n)
	vigor.ledger, fixed.ledger = rollout.Ledger{Rounds: len(u.rounds)}, rollout.Ledger{Rounds: 1}
	for f, start := range u.starts {
		fixed.addGroups(start.n, start.s, u.prompts[f], u.sumU[f])
		fixed.ledger.Generated += start.n * u.prompts[f]
		t.sumU += u.sumU[f]
	}
	for i := range u.rounds {
		r := &u.rounds[i]
		for s, prompts := range r.prompts {
			vigor.ledger.Generated += r.n * prompts
			if !u.survivors || i == len(u.rounds)-1 {
				vigor.addGroups(r.n, s, prompts, r.sumU[s])
			}
		}
		for larger := range r.at {
			for b, prompts := range r.at[larger].bins {
				t.bins[b] += prompts
				vigor.bins[b] += r.n * prompts
				fixed.bins[b] += (u.starts[0].n + larger) * prompts
			}
		}
	}
	u.reportCuts(vigor)
	vigor.finish(t)
	fixed.finish(t)
}

// reportCuts fills who was dropped where.
func (u *urn) reportCuts(a *arm) {
	active, frontier := u.batch, 0
	for i := range u.rounds {
		frontier += u.rounds[i].at[0].frontier + u.rounds[i].at[1].frontier
	}
	for i := range len(u.rounds) - 1 {
		r := &u.rounds[i]
		dropped, lost := 0, r.at[0].frontier+r.at[1].frontier
		for _, prompts := range r.prompts {
			dropped += prompts
		}
		a.cuts = append(a.cuts, cutCount{float64(active), float64(frontier), float64(dropped), float64(lost)})
		active, frontier = active-dropped, frontier-lost
	}
}

// begin empties the arm's measures, for groups of up to most rollouts.
func (a *arm) begin(most int) {
	a.totals = [numTotals]float64{}
	a.sizes = append(a.sizes[:0], make([]int, most+1)...)
	clear(a.bins[:])
	a.cuts = a.cuts[:0]
}

// addGroups adds a number of groups of n rollouts with s successes of prompts
// whose variances sum to u.
func (a *arm) addGroups(n, s, groups int, u float64) {
	if groups == 0 {
		return
	}
	a.sizes[n] += groups
	w, g, size := float64(n), float64(groups), float64(n)
	if a.byPrompt {
		w = 1
	}
	t := &a.totals
	t[totGroups] += g
	t[totTrained] += size * g
	t[totW] += w * g
	t[totWU] += w * u
	if s == 0 || s == n {
		t[totZeroVariance] += g
		t[totIneffective] += size * g
		return
	}
	sd := sigma(n, s)
	t[totSigma] += sd * g
	t[totWSigma] += w * sd * g
	t[totWSigmaU] += w * sd * u
}

// clear forgets the batch; the next has the given number of prompts.
func (t *truth) clear(prompts int) {
	t.prompts, t.sumU = prompts, 0
	clear(t.bins[:])
}

// urnOf returns the urn of the worker's arms, and which of them is VIGOR's.
func (w *worker) urnOf() (*urn, int, error) {
	src, ok := w.source.(LawSource)
	if !ok || w.lengths != nil || len(w.arms) != 2 {
		return nil, 0, ErrNotFast
	}
	for k, a := range w.arms {
		v, isVigor := a.strategy.(*strategy.Vigor)
		b, budgeted := w.arms[1-k].strategy.(strategy.Budgeter)
		if isVigor && budgeted && k < w.named && w.fixed[k] == 1-k {
			u, err := newUrn(src.Law(), v.Plan(), w.batch, b.Budget(w.batch), w.cfg.Frontier)
			return u, k, err
		}
	}
	return nil, 0, ErrNotFast
}

// An alias draws from a finite law with one 64-bit number and one look-up, by
// Walker's method as Vose builds it (1991): a uniform cell, and in it one of two
// outcomes. Probabilities are kept to rounding, about 2^-53.
type alias []aliasCell

// An aliasCell has an outcome of its own, other^flip, where the rest of the
// number is below cut, and else the other one. Flipped rather than branched on:
// no processor could predict which it is.
type aliasCell struct {
	cut         uint64
	other, flip uint32
}

// newAlias returns the law of outcome i with probability weights[i] over their
// sum, which is positive. Outcomes below 2^-64 of it, which no number could
// tell from none, are left out.
func newAlias(weights []float64) alias {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	var t alias
	var share []float64 // of a cell
	for i, w := range weights {
		if w > 0x1p-64*sum {
			t = append(t, aliasCell{other: uint32(i)})
			share = append(share, w/sum)
		}
	}
	var small, large []int
	for i := range t {
		share[i] *= float64(len(t))
		if share[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		own := t[s].other
		t[s] = aliasCell{uint64(share[s] * 0x1p64), t[l].other, own ^ t[l].other}
		share[l] -= 1 - share[s]
		if share[l] < 1 {
			small, large = append(small, l), large[:len(large)-1]
		}
	}
	return t // what is left over by rounding is a cell of its own
}

// draw returns the outcome that the uniform number r stands for.
func (t alias) draw(r uint64) uint32 {
	i, rest := bits.Mul64(r, uint64(len(t)))
	_, below := bits.Sub64(rest, t[i].cut, 0) // 1 where rest < cut
	return t[i].other ^ t[i].flip&-uint32(below)
}

// count draws n outcomes, by the numbers of the stream from number used on, and
// adds how often each came up to counts.
func (t alias) count(counts []int, n int, key stream.Key, used uint64) {
	for i := range uint64(n) {
		counts[t.draw(key.Bits(used+i))]++
	}
}
