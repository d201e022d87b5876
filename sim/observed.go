package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"vigorlab/sim/rollout"
)

// The figures of one observed batch are sums over its prompts, which stand for
// replicates: means over prompts, their errors by the delta method. Where a
// strategy compares prompts its cuts tie them together, which the error leaves
// out; TestObservedCovers says how often intervals hold the mean field.
const (
	obGenerated        = iota // rollouts that the strategy asked for, fresh ones included
	obTokens                  // their tokens
	obTrained                 // rollouts in the update
	obWU                      // estimate of their number times u
	obWSigma                  // their number times sigma
	obWSigmaU                 // estimate of that times u
	obGroups                  // trained groups
	obSigma                   // sigma
	obIneffective             // trained rollouts where rewards all agree
	obZeroVariance            // such groups
	obU                       // estimate of u
	obLength                  // estimate of the mean tokens of a rollout
	obFixedW                  // of the fixed group of the same mean size: its rollouts,
	obFixedWSigma             // times sigma, estimated,
	obFixedWSigmaU            // times sigma u, estimated,
	obFixedSigma              // sigma,
	obFixedIneffective        // rollouts where rewards all agree,
	obFixedZero               // such groups
	numObserved
)

// Outcome estimates the figures of Outcome from one batch, without any truth
// and without using the rollouts that chose a prompt to say how good the choice
// was. What the update holds, such as Signal, is seen. What needs a prompt's u
// is estimated: of s successes among n rollouts, asked for before they were
// seen, 4s(n-s)/(n(n-1)) has the mean u, n >= 2 (signed coding). So
//
//	Eta = [sum_r sum_i n_ir u_ir / sum_r sum_i n_ir] / [sum_i u_i1 / B],
//
// n_ir the rollouts of prompt i in round r and u_ir the estimate from them alone,
// has unbiased sums: n_ir depends on earlier rounds. An update of VIGOR's
// survivors takes u from their last round, fresh groups theirs. Rollouts held
// out, which nothing depends on, join every estimate. The ratio is biased by
// terms of order 1/B, a small part of its error (TestObservedUnbiased).
//
// Progress multiplies a group's sigma by u, which takes u from rollouts held
// out, at least 2 a prompt. The fixed group of size g beside it takes g of the
// rollouts that every prompt had in round 1 or was held out, in all ways, and 2
// more for Progress. A figure whose rollouts are missing has a reason instead.
func (o *Observation) Outcome() Outcome {
	v := newView(o)
	m := v.moments()
	out := Outcome{
		Strategy:           o.Strategy,
		RolloutsPerPrompt:  o.spent(m.product(1, "", term{obGenerated, 1})),
		TrainedPerPrompt:   o.spent(m.product(1, "", term{obTrained, 1})),
		Rounds:             Estimate{Mean: float64(v.rounds())},
		EtaBatchMean:       Estimate{Reason: "one batch"},
		Eta:                v.estimate(m, []*string{&v.noWU, &v.noU}, term{obWU, 1}, term{obTrained, -1}, term{obU, -1}),
		EtaGenerated:       v.estimate(m, []*string{&v.noWU, &v.noU}, term{obWU, 1}, term{obGenerated, -1}, term{obU, -1}),
		Signal:             m.product(1, reasonNothingTrained, term{obWSigma, 1}, term{obTrained, -1}),
		SignalPromptMean:   m.product(1, reasonNothingTrained, term{obSigma, 1}, term{obGroups, -1}),
		Ineffective:        m.product(1, reasonNothingTrained, term{obIneffective, 1}, term{obTrained, -1}),
		ZeroVarianceGroups: m.product(1, reasonNothingTrained, term{obZeroVariance, 1}, term{obGroups, -1}),

		SignalRelative: v.estimate(m, []*string{&v.noFixed}, term{obWSigma, 1}, term{obTrained, -1}, term{obFixedWSigma, -1}, term{obFixedW, 1}),
		Progress: v.estimate(m, []*string{&v.noWSigmaU, &v.noFixedU},
			term{obWSigmaU, 1}, term{obTrained, -1}, term{obFixedWSigmaU, -1}, term{obFixedW, 1}),
		FixedSignal:             v.estimate(m, []*string{&v.noFixed}, term{obFixedWSigma, 1}, term{obFixedW, -1}),
		FixedSignalPromptMean:   v.estimate(m, []*string{&v.noFixed}, term{obFixedSigma, 1}),
		FixedIneffective:        v.estimate(m, []*string{&v.noFixed}, term{obFixedIneffective, 1}, term{obFixedW, -1}),
		FixedZeroVarianceGroups: v.estimate(m, []*string{&v.noFixed}, term{obFixedZero, 1}),

		TokensPerPrompt: v.estimate(m, []*string{&v.noTokens}, term{obTokens, 1}),
		EtaToken: v.estimate(m, []*string{&v.noTokens, &v.noWU, &v.noU, &v.noLength},
			term{obWU, 1}, term{obTokens, -1}, term{obU, -1}, term{obLength, 1}),
		SignalToken: v.estimate(m, []*string{&v.noTokens, &v.noFixed, &v.noLength},
			term{obWSigma, 1}, term{obTokens, -1}, term{obFixedWSigma, -1}, term{obLength, 1}, term{obFixedW, 1}),
	}
	if v.isFixed {
		out.ownReference()
	}
	for _, e := range []*Estimate{&out.Signal, &out.SignalPromptMean, &out.Ineffective, &out.ZeroVarianceGroups} {
		e.unseen(float64(o.Batch))
	}
	out.GroupSizes = o.sizes()
	return out
}

// ownReference gives a fixed group the figures of what is compared with itself:
// 1, where there is anything to compare.
func (out *Outcome) ownReference() {
	signal, eta := Estimate{Mean: 1}, Estimate{Mean: 1}
	if out.Signal.Mean == 0 {
		signal = Estimate{Reason: reasonNoSignal}
	}
	if out.Eta.Reason != "" {
		eta = out.Eta
	}
	out.SignalRelative, out.Progress = signal, signal
	if out.TokensPerPrompt.Reason == "" {
		out.SignalToken, out.EtaToken = signal, eta
	}
}

// Variance estimates the mean u of the prompts, which is what an average
// rollout of equal groups meets.
func (o *Observation) Variance() Estimate {
	v := newView(o)
	return v.estimate(v.moments(), []*string{&v.noU}, term{obU, 1})
}

// spent takes the error off what an exact budget fixes.
func (o *Observation) spent(e Estimate) Estimate {
	if o.Budgeted {
		e.SE = 0
	}
	return e
}

// rounds returns the rounds that the update needs, those of fresh groups included.
func (o *Observation) rounds() int {
	if o.Fresh != nil {
		return len(o.Rounds) + 1
	}
	return len(o.Rounds)
}

// sizes returns the shares of group sizes in the update.
func (o *Observation) sizes() []SizeShare {
	groups, all := map[int]int{}, 0
	o.EachTrained(func(_, n, _ int) { groups[n]++; all++ })
	var shares []SizeShare
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		share := float64(groups[g]) / float64(all)
		e := Estimate{Mean: share}
		if !o.Budgeted {
			e.SE = math.Sqrt(share * (1 - share) / float64(all))
		}
		shares = append(shares, SizeShare{g, e})
	}
	return shares
}

// Why observed figures do not exist.
const (
	reasonNothingTrained = "no group is trained on"
	reasonNoneDiffer     = "no two rewards of a prompt were seen to differ where estimates may look"
)

// A count is s successes among n rollouts of a prompt, and their tokens.
type count struct{ n, s, tokens int }

func (c count) plus(d count) count { return count{c.n + d.n, c.s + d.s, c.tokens + d.tokens} }

// u is the unbiased estimate of the prompt's reward variance, n >= 2.
func (c count) u() float64 {
	return 4 * float64(c.s) * float64(c.n-c.s) / (float64(c.n) * float64(c.n-1))
}

// A view is an observation prompt by prompt, with the reasons why parts of it
// cannot be estimated, "" where they can.
type view struct {
	*Observation
	rows    [][numObserved]float64
	held    []count // rollouts held out
	first   []count // rollouts that nothing chose: of round 1, if it asked all prompts, and held out
	last    []count // rollouts of the last round
	fresh   []count
	isFixed bool

	noWU, noU, noWSigmaU, noFixed, noFixedU, noTokens, noLength string

	lacks map[*string]int // of those, what would have to be held out
}

func newView(o *Observation) *view {
	v := &view{Observation: o, rows: make([][numObserved]float64, o.Batch), lacks: map[*string]int{}}
	v.held, v.fresh = o.counts(o.Holdout), o.counts(o.Fresh)
	v.last = o.counts(&o.Rounds[len(o.Rounds)-1])
	v.first = slices.Clone(v.held)
	if round1 := o.counts(&o.Rounds[0]); !slices.ContainsFunc(round1, func(c count) bool { return c.n == 0 }) {
		for x, c := range round1 {
			v.first[x] = v.first[x].plus(c)
		}
	}
	if o.Rounds[0].Tokens == nil {
		v.noTokens = reasonNoLengths
	}
	v.see()
	v.judgePrompts()
	v.judgeUpdate()
	v.judgeFixed()
	v.advise()
	return v
}

// lack notes why figures do not exist that holdout rollouts a prompt would give.
func (v *view) lack(reason *string, holdout int, text string) {
	*reason, v.lacks[reason] = text, holdout
}

// advise adds to every reason what to hold out, for it and for all of them: one
// run more is enough.
func (v *view) advise() {
	if v.isFixed { // whose progress is 1, whatever is held out
		delete(v.lacks, &v.noWSigmaU)
		delete(v.lacks, &v.noFixedU)
	}
	most := 0
	for _, n := range v.lacks {
		most = max(most, n)
	}
	for reason, n := range v.lacks {
		*reason += fmt.Sprintf(": hold out %d (--holdout)", n)
		if n < most {
			*reason += fmt.Sprintf(", or %d for every figure", most)
		}
	}
}

// counts returns what an exchange gave of every prompt, nothing for nil.
func (o *Observation) counts(e *Exchange) []count {
	c := make([]count, o.Batch)
	if e == nil {
		return c
	}
	for i, q := range e.Ask {
		c[q.X] = count{n: q.N, s: e.S[i]}
		if e.Tokens != nil {
			c[q.X].tokens = e.Tokens[i]
		}
	}
	return c
}

// see sums up what needs no estimate.
func (v *view) see() {
	exchanges := v.Rounds
	if v.Fresh != nil {
		exchanges = append(slices.Clone(exchanges), *v.Fresh)
	}
	for _, e := range exchanges {
		for i, q := range e.Ask {
			v.rows[q.X][obGenerated] += float64(q.N)
			if e.Tokens != nil {
				v.rows[q.X][obTokens] += float64(e.Tokens[i])
			}
		}
	}
	v.EachTrained(func(x, n, s int) {
		row, w := &v.rows[x], float64(n)
		row[obTrained], row[obGroups] = w, 1
		row[obSigma], row[obWSigma] = sigma(n, s), w*sigma(n, s)
		if s == 0 || s == n {
			row[obIneffective], row[obZeroVariance] = w, 1
		}
	})
}

// least returns the fewest rollouts that a prompt has.
func least(c []count) int {
	return slices.MinFunc(c, func(a, b count) int { return a.n - b.n }).n
}

// judgePrompts estimates u and the mean length of every prompt.
func (v *view) judgePrompts() {
	n := least(v.first)
	if n < 2 {
		v.lack(&v.noU, 2-n+least(v.held), fmt.Sprintf("the mean reward variance of the prompts needs 2 rollouts of each that nothing chose, there are %d", n))
	}
	if n < 1 {
		v.lack(&v.noLength, 1, "the mean length of every prompt's rollouts needs one that nothing chose")
	}
	for x, c := range v.first {
		if n >= 2 {
			v.rows[x][obU] = c.u()
		}
		if n >= 1 {
			v.rows[x][obLength] = float64(c.tokens) / float64(c.n)
		}
	}
}

// judgeUpdate estimates the u that the rollouts of the update meet.
func (v *view) judgeUpdate() {
	add := func(x int, weight float64, c count, holdout int, why string) {
		if c.n < 2 {
			v.lack(&v.noWU, holdout, why)
			return
		}
		v.rows[x][obWU] += weight * c.u()
	}
	if v.Update.Prompts == nil && v.Update.N == nil && !v.Update.Fresh {
		for r := range v.Rounds {
			for x, c := range v.counts(&v.Rounds[r]) {
				if c.n > 0 {
					add(x, float64(c.n), c.plus(v.held[x]), 1, fmt.Sprintf("round %d asks single rollouts, which show no variance", r+1))
				}
			}
		}
	} else {
		evidence, holdout, why := v.evidence()
		v.EachTrained(func(x, n, _ int) { add(x, float64(n), evidence[x].plus(v.held[x]), holdout, why) })
	}
	if least(v.held) < 2 {
		v.lack(&v.noWSigmaU, 2, "progress needs 2 rollouts of every prompt that neither chose nor trained")
		return
	}
	for x, c := range v.held {
		v.rows[x][obWSigmaU] = v.rows[x][obWSigma] * c.u()
	}
}

// evidence returns rollouts that had no part in choosing the groups of an
// update that uses some of them, or fresh ones, and what to hold out where a prompt
// has too few, and why.
func (v *view) evidence() ([]count, int, string) {
	switch {
	case v.Update.Fresh:
		return v.fresh, 1, "fresh groups of one rollout show no variance"
	case v.survivors && v.Update.N == nil:
		return v.last, 1, "the last round asks single rollouts, which show no variance"
	}
	return make([]count, v.Batch), 2, "the update chooses by the rewards of all rounds, which leaves none to judge it by"
}

// judgeFixed estimates what the fixed group of the same mean size has on the
// same prompts: groups of g, and a share of them of g+1.
func (v *view) judgeFixed() {
	if !v.Budgeted {
		v.noFixed = reasonNoReference
		v.noFixedU = reasonNoReference
		return
	}
	total := 0
	for _, e := range v.Rounds {
		for _, q := range e.Ask {
			total += q.N
		}
	}
	g, more := total/v.Batch, float64(total%v.Batch)/float64(v.Batch)
	v.isFixed = more == 0 && len(v.Rounds) == 1 && v.Update.Prompts == nil && v.Update.N == nil && !v.Update.Fresh &&
		!slices.ContainsFunc(v.Rounds[0].Ask, func(q rollout.Request) bool { return q.N != g })
	largest := g
	if more > 0 {
		largest++
	}
	n := least(v.first)
	if want := largest; n < want {
		v.lack(&v.noFixed, want-n+least(v.held), fmt.Sprintf("a fixed group of %d needs as many rollouts of every prompt that nothing chose, there are %d", want, n))
	}
	if want := largest + 2; n < want {
		v.lack(&v.noFixedU, want-n+least(v.held), fmt.Sprintf("the progress of a fixed group of %d needs %d rollouts of every prompt that nothing chose, there are %d", largest, want, n))
	}
	for x, c := range v.first {
		row := &v.rows[x]
		row[obFixedW] = float64(g) + more
		v.addFixed(row, c, g, 1-more)
		if more > 0 {
			v.addFixed(row, c, g+1, more)
		}
	}
}

// addFixed adds a share of fixed groups of g to a prompt of which c is known.
func (v *view) addFixed(row *[numObserved]float64, c count, g int, share float64) {
	if v.noFixed != "" {
		return
	}
	w := float64(g)
	eachPart(c, g, func(probability float64, k int) {
		p := share * probability
		sd := sigma(g, k)
		row[obFixedSigma] += p * sd
		row[obFixedWSigma] += p * w * sd
		if k == 0 || k == g {
			row[obFixedIneffective] += p * w
			row[obFixedZero] += p
		}
		if v.noFixedU == "" {
			row[obFixedWSigmaU] += p * w * sd * count{n: c.n - g, s: c.s - k}.u()
		}
	})
}

// eachPart calls f for every number of successes in a random part of g of the
// rollouts of c, with its probability: the hypergeometric law.
func eachPart(c count, g int, f func(probability float64, k int)) {
	choose := func(n, k int) float64 {
		lg := func(x int) float64 { l, _ := math.Lgamma(float64(x) + 1); return l }
		return lg(n) - lg(k) - lg(n-k)
	}
	for k := max(0, g-(c.n-c.s)); k <= min(g, c.s); k++ {
		f(math.Exp(choose(c.s, k)+choose(c.n-c.s, g-k)-choose(c.n, g)), k)
	}
}

// moments takes every prompt for a replicate.
func (v *view) moments() *moments {
	m := newMoments(numObserved)
	for x := range v.rows {
		m.add(v.rows[x][:])
	}
	return m
}

// estimate returns a figure, or the reason why it does not exist: of several that
// want more held out the one that wants most.
func (v *view) estimate(m *moments, reasons []*string, terms ...term) Estimate {
	var why *string
	for _, reason := range reasons {
		if *reason != "" && (why == nil || v.lacks[reason] > v.lacks[why]) {
			why = reason
		}
	}
	if why != nil {
		return Estimate{Reason: *why}
	}
	return m.product(1, reasonNoneDiffer, terms...)
}
