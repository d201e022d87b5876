package sim

import (
	"maps"
	"slices"
)

// A tally sums up replicates: for each of the user's strategies the moments of
// its totals beside those of its reference, its cuts, sizes and bins.
type tally struct {
	worker *worker // whose layout of strategies and references it follows
	arms   []armTally
}

type armTally struct {
	totals *moments // numTotals of the strategy, then numTotals of its reference if it has one
	cuts   []*moments
	sizes  map[int]*moments // trained groups, by size
	bins   [allocationBins]*moments
	joint  []float64 // scratch
}

// The components of a cut's moments.
const (
	cutDropped         = iota // prompts dropped here
	cutFrontierDropped        // of these, at the frontier
	cutFrontierActive         // prompts at the frontier that were still active
	cutFrontierLost           // prompts at the frontier dropped here or before
	cutFrontier               // prompts at the frontier
	numCut
)

// newTally returns an empty tally, one that was released where there is one.
func (w *worker) newTally() *tally {
	select {
	case t := <-w.free:
		return t
	default:
	}
	t := &tally{worker: w, arms: make([]armTally, w.named)}
	for k := range t.arms {
		d := numTotals
		if w.fixed[k] >= 0 {
			d += numTotals
		}
		a := &t.arms[k]
		a.totals = newMoments(d)
		a.sizes = map[int]*moments{}
		for i := range a.bins {
			a.bins[i] = newMoments(2)
		}
	}
	return t
}

// release empties t and hands it back to its worker.
func (t *tally) release() {
	for k := range t.arms {
		a := &t.arms[k]
		a.totals.reset()
		for _, m := range a.cuts {
			m.reset()
		}
		for _, m := range a.sizes {
			m.reset()
		}
		for _, m := range a.bins {
			m.reset()
		}
	}
	select {
	case t.worker.free <- t:
	default:
	}
}

// add takes the replicate that w has just run.
func (t *tally) add(w *worker) {
	for k := range t.arms {
		a, own := &t.arms[k], w.arms[k]
		a.joint = append(a.joint[:0], own.totals[:]...)
		if f := w.fixed[k]; f >= 0 {
			a.joint = append(a.joint, w.arms[f].totals[:]...)
		}
		a.addSizes(own.sizes) // before the totals: it counts the replicates so far
		a.totals.add(a.joint)
		a.addCuts(own.cuts)
		for i := range a.bins {
			a.bins[i].add([]float64{float64(w.truth.bins[i]), float64(own.bins[i])})
		}
	}
}

// addSizes counts groups by size. A size that was not met before had no group
// in the replicates so far.
func (a *armTally) addSizes(groups []int) {
	for g, n := range groups {
		if n > 0 {
			a.size(g)
		}
	}
	for g, m := range a.sizes {
		n := 0.0
		if g < len(groups) {
			n = float64(groups[g])
		}
		m.add([]float64{n})
	}
}

// size returns the moments of a size, zero so far if it is new.
func (a *armTally) size(g int) *moments {
	m, ok := a.sizes[g]
	if !ok {
		m = newMoments(1)
		m.n = a.totals.n
		a.sizes[g] = m
	}
	return m
}

func (a *armTally) addCuts(cuts []cutCount) {
	frontier, lost := 0.0, 0.0
	for i, c := range cuts {
		if i == 0 {
			frontier = c.frontierActive
		}
		if i == len(a.cuts) {
			a.cuts = append(a.cuts, newMoments(numCut))
		}
		lost += c.frontierDropped
		a.cuts[i].add([]float64{c.dropped, c.frontierDropped, c.frontierActive, lost, frontier})
	}
}

// merge adds the replicates of o, which come after those of t.
func (t *tally) merge(o *tally) {
	for k := range t.arms {
		a, b := &t.arms[k], &o.arms[k]
		for g := range a.sizes {
			b.size(g)
		}
		for g, m := range b.sizes {
			a.size(g).merge(m)
		}
		a.totals.merge(b.totals)
		for i, m := range b.cuts {
			if i == len(a.cuts) {
				a.cuts = append(a.cuts, newMoments(numCut))
			}
			a.cuts[i].merge(m)
		}
		for i := range a.bins {
			a.bins[i].merge(b.bins[i])
		}
	}
}

// result turns the sums into figures.
func (t *tally) result() *Result {
	w := t.worker
	r := &Result{
		Batch: w.batch, Replicates: w.cfg.Replicates, Seed: w.cfg.Seed,
		Aggregate: w.cfg.Aggregate, Frontier: w.cfg.Frontier,
	}
	for k := range t.arms {
		r.Strategies = append(r.Strategies, t.outcome(k))
	}
	return r
}

// The reasons why a figure does not exist.
const (
	reasonNoVariance  = "E[u] = 0: every prompt was dead or solved"
	reasonNoSignal    = "the fixed group of the same mean size has no signal"
	reasonNoReference = "no fixed group has this strategy's mean size: its budget is random"
	reasonNoLengths   = "lengths are unknown"
	reasonPromptMean  = "the weight of a prompt does not depend on its rollouts under --aggregate prompt"
	reasonNoneDropped = "no prompt was dropped here"
	reasonNoFrontier  = "no prompt at the frontier was active"
	reasonEmptyBin    = "no prompt has such a p"
)

// shares are the figures of an outcome that cannot pass 1, but can be 1 in every
// batch by chance.
var shares = []string{
	"signal", "signal_prompt_mean", "ineffective", "zero_variance_groups",
	"fixed_signal", "fixed_signal_prompt_mean", "fixed_ineffective", "fixed_zero_variance_groups",
}

// outcome returns the figures of strategy k.
func (t *tally) outcome(k int) Outcome {
	w, a := t.worker, &t.arms[k]
	m := a.totals
	batch := float64(w.batch)
	o := Outcome{
		Strategy:           w.arms[k].spec,
		RolloutsPerPrompt:  m.product(1/batch, "", term{totGenerated, 1}),
		TrainedPerPrompt:   m.product(1/batch, "", term{totTrained, 1}),
		Rounds:             m.product(1, "", term{totRounds, 1}),
		Eta:                m.product(batch, reasonNoVariance, term{totWU, 1}, term{totW, -1}, term{totU, -1}),
		EtaGenerated:       m.product(batch, reasonNoVariance, term{totWU, 1}, term{totGenerated, -1}, term{totU, -1}),
		EtaBatchMean:       m.product(1, reasonNoVariance, term{totRatio, 1}, term{totHasRatio, -1}),
		Signal:             m.product(1, "", term{totWSigma, 1}, term{totW, -1}),
		SignalPromptMean:   m.product(1, "", term{totSigma, 1}, term{totGroups, -1}),
		Ineffective:        m.product(1, "", term{totIneffective, 1}, term{totTrained, -1}),
		ZeroVarianceGroups: m.product(1, "", term{totZeroVariance, 1}, term{totGroups, -1}),
	}
	if w.cfg.Aggregate == AggregatePrompt {
		o.EtaGenerated = Estimate{Reason: reasonPromptMean}
	}
	t.relative(k, &o)
	t.perToken(k, &o)
	if m.mean[totU] > 0 { // else no reward can differ
		for _, f := range o.Named() {
			if f.Estimate.Mean == 0 || slices.Contains(shares, f.Name) {
				f.Estimate.unseen(m.n)
			}
		}
	}
	for _, g := range slices.Sorted(maps.Keys(a.sizes)) {
		share := a.sizes[g].product(1, "", term{0, 1})
		groups := m.mean[totGroups] // the same in every batch, for fixed groups and VIGOR
		o.GroupSizes = append(o.GroupSizes, SizeShare{g, Estimate{Mean: share.Mean / groups, SE: share.SE / groups}})
	}
	for i, c := range a.cuts {
		cut := Screening{
			Round:                   i + 1,
			FalseOmission:           c.product(1, reasonNoneDropped, term{cutFrontierDropped, 1}, term{cutDropped, -1}),
			FalseNegative:           c.product(1, reasonNoFrontier, term{cutFrontierDropped, 1}, term{cutFrontierActive, -1}),
			FalseNegativeCumulative: c.product(1, reasonNoFrontier, term{cutFrontierLost, 1}, term{cutFrontier, -1}),
		}
		for _, f := range cut.Named() {
			f.Estimate.unseen(m.n)
		}
		o.Screening = append(o.Screening, cut)
	}
	for i, b := range a.bins {
		o.Allocation = append(o.Allocation, AllocationBin{
			Low: float64(i) / allocationBins, High: float64(i+1) / allocationBins,
			Share:    b.mean[0] / batch,
			Rollouts: b.product(1, reasonEmptyBin, term{1, 1}, term{0, -1}),
		})
	}
	return o
}

// relative fills the figures that stand beside the fixed group of the same
// mean size, on the same prompts.
func (t *tally) relative(k int, o *Outcome) {
	w, m := t.worker, t.arms[k].totals
	if w.fixed[k] < 0 {
		none := Estimate{Reason: reasonNoReference}
		o.SignalRelative, o.Progress, o.SignalToken = none, none, none
		o.FixedSignal, o.FixedSignalPromptMean, o.FixedIneffective, o.FixedZeroVarianceGroups = none, none, none, none
		return
	}
	ref := numTotals
	if w.fixed[k] == k {
		ref = 0 // the strategy is its own reference
	}
	ratio := func(i, j int) Estimate {
		return m.product(1, reasonNoSignal, term{i, 1}, term{j, -1}, term{ref + i, -1}, term{ref + j, 1})
	}
	own := func(i, j int) Estimate { return m.product(1, "", term{ref + i, 1}, term{ref + j, -1}) }
	o.SignalRelative = ratio(totWSigma, totW)
	o.Progress = ratio(totWSigmaU, totW)
	o.SignalToken = ratio(totWSigma, totTokens)
	o.FixedSignal = own(totWSigma, totW)
	o.FixedSignalPromptMean = own(totSigma, totGroups)
	o.FixedIneffective = own(totIneffective, totTrained)
	o.FixedZeroVarianceGroups = own(totZeroVariance, totGroups)
}

// perToken fills the figures that need lengths.
func (t *tally) perToken(k int, o *Outcome) {
	if t.worker.lengths == nil {
		none := Estimate{Reason: reasonNoLengths}
		o.TokensPerPrompt, o.EtaToken, o.SignalToken = none, none, none
		return
	}
	m := t.arms[k].totals
	o.TokensPerPrompt = m.product(1/float64(t.worker.batch), "", term{totTokens, 1})
	o.EtaToken = m.product(1, reasonNoVariance,
		term{totWU, 1}, term{totTokens, -1}, term{totU, -1}, term{totUniformTokens, 1})
	if t.worker.cfg.Aggregate == AggregatePrompt {
		o.EtaToken, o.SignalToken = Estimate{Reason: reasonPromptMean}, Estimate{Reason: reasonPromptMean}
	}
}
