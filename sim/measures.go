package sim

import (
	"math"

	"vigorlab/sim/advantage"
)

// halves is the number of runs in a replicate of many steps.
const halves = 2

// The totals of one replicate of a strategy that figures are made of: over the
// steps of both runs. The update weighs a group by w: its loss weight, 1 for
// most strategies, times its rollouts, or times 1 under AggregatePrompt.
const (
	stGenerated        = iota // rollouts generated
	stTrained                 // rollouts in the update
	stTokens                  // generated tokens
	stRounds                  // sequential rounds
	stGroups                  // trained groups
	stEffective               // of these, mixed ones
	stHits                    // hard prompts with a success, step by step
	stAsked                   // groups generated
	stMixed                   // of these, those whose rewards differ
	stShort                   // steps whose update has fewer groups than the batch
	stFailed                  // steps at which the method's own code stops with an error
	stW                       // sum of w
	stWSigma                  // sum of w sigma
	stWSigmaU                 // sum of w sigma u
	stGradient                // sum of q, the gradient estimate over the true gradient
	stGradients               // number of q
	stVariance                // sum of half the squared difference of the two runs' q
	stVariances               // number of such differences
	stBeliefError             // sum of squared errors of believed success probabilities
	stBeliefs                 // number of beliefs
	stMatched                 // 1 where the pair of runs has passed the matched cost
	stMatchedEffective        // mixed groups trained on at that cost, per group of the batch
	stMatchedP                // mean success probability of the set there
	numStepTotals
)

// The components of a step's moments; those of the first two are summed over
// the steps so far when the run is over.
const (
	curveGenerated = iota // rollouts generated
	curveEffective        // mixed groups trained on
	curveMeanP            // mean success probability of the set at the step's start
	numCurve
)

// measures are what is summed up of one replicate of one strategy.
type measures struct {
	totals [numStepTotals]float64
	q      [halves][]float64 // by step; NaN where the true gradient is 0
	bins   [allocationBins][2]float64
	curve  [][numCurve]float64 // by step, summed over both runs
}

func newMeasures(steps int) measures {
	m := measures{curve: make([][numCurve]float64, steps)}
	for half := range m.q {
		m.q[half] = make([]float64, steps)
	}
	return m
}

func (m *measures) clear() {
	clear(m.totals[:])
	clear(m.bins[:])
	clear(m.curve)
}

// judgeBeliefs compares what the strategy believes of every prompt of the set
// with the truth.
func (a *stepsArm) judgeBeliefs() {
	if a.belief == nil {
		return
	}
	for id, p := range a.p {
		if believed, ok := a.belief.Belief(id); ok {
			a.totals[stBeliefError] += (believed - p) * (believed - p)
			a.totals[stBeliefs]++
		}
	}
}

// measure sums up a step that is over.
func (a *stepsArm) measure(half, step int) {
	before := a.totals[stEffective]
	t := &a.totals
	t[stGenerated] += float64(a.ledger.Generated)
	t[stTokens] += float64(a.ledger.GeneratedTokens)
	t[stRounds] += float64(a.ledger.Rounds)
	t[stHits] += a.hits()
	for x, n := range a.batch.N {
		if n > 0 {
			t[stAsked]++
		}
		if s := a.batch.S[x]; s > 0 && s < n {
			t[stMixed]++
		}
	}
	groups, gradient := a.sumUpdate()
	if groups < a.w.cfg.Batch {
		t[stShort]++
	}
	if a.update.Failed {
		t[stFailed]++
	}
	a.addGradient(half, step, gradient)
	a.addBins()
	a.addCurve(step, t[stEffective]-before)
}

// hits counts the hard prompts that had a success.
func (a *stepsArm) hits() float64 {
	n := 0.0
	for x, s := range a.batch.S {
		if s > 0 && a.p[a.batch.ID[x]] <= a.w.cfg.Hard {
			n++
		}
	}
	return n
}

// sumUpdate adds the groups that the update uses to the totals and returns
// their number and the gradient estimate, the w-weighted mean of the groups'
// estimates, 0 where there is none.
func (a *stepsArm) sumUpdate() (groups int, gradient float64) {
	t := &a.totals
	var sumW, sumWG float64
	a.EachTrained(func(x, n, s int) {
		w := 1.0
		if a.w.cfg.Aggregate == AggregateRollout {
			w = float64(n)
		}
		if a.update.Weights != nil {
			w *= a.update.Weights[x]
		}
		id := a.batch.ID[x]
		groups++
		t[stTrained] += float64(n)
		if s > 0 && s < n {
			sd := sigma(n, s)
			t[stEffective]++
			t[stWSigma] += w * sd
			t[stWSigmaU] += w * sd * a.u[id]
		}
		sumW += w
		sumWG += w * a.groupGradient(x, n, s, a.p[id])
	})
	t[stGroups] += float64(groups)
	t[stW] += sumW
	if sumW > 0 {
		gradient = sumWG / sumW
	}
	return groups, gradient
}

// groupGradient returns a group's estimate of the policy gradient p(1-p) of the
// one-logit policy: RLOO's s(n-s)/(n(n-1)), which is unbiased and needs no p, or
// that of the update's own baseline (advantage.OneLogitEstimate and
// OneLogitBaseline). A group of one has no other rollouts to compare with.
func (a *stepsArm) groupGradient(x, n, s int, p float64) float64 {
	if a.update.Baselines != nil {
		return advantage.OneLogitBaseline(n, s, p, a.update.Baselines[x])
	}
	if n < 2 {
		return 0
	}
	return float64(s) * float64(n-s) / (float64(n) * float64(n-1))
}

// addGradient compares the gradient estimate with the true gradient of the
// set's mean success probability in the direction in which all logits rise
// alike: the mean of p(1-p).
func (a *stepsArm) addGradient(half, step int, gradient float64) {
	truth := 0.0
	for _, u := range a.u {
		truth += u / 4
	}
	truth /= float64(len(a.u))
	q := math.NaN()
	if truth > 0 {
		q = gradient / truth
		a.totals[stGradient] += q
		a.totals[stGradients]++
	}
	a.q[half][step] = q
	if half == 1 {
		if d := q - a.q[0][step]; !math.IsNaN(d) {
			a.totals[stVariance] += d * d / 2
			a.totals[stVariances]++
		}
	}
}

// addBins counts prompts of the set and their rollouts by p.
func (a *stepsArm) addBins() {
	for _, p := range a.p {
		a.bins[bin(p)][0]++
	}
	for x, n := range a.batch.N {
		a.bins[bin(a.p[a.batch.ID[x]])][1] += float64(n)
	}
}

// addCurve adds a step to the curves over steps.
func (a *stepsArm) addCurve(step int, effective float64) {
	mean := 0.0
	for _, p := range a.p {
		mean += p / float64(len(a.p))
	}
	at := &a.curve[step]
	at[curveGenerated] += float64(a.ledger.Generated)
	at[curveEffective] += effective
	at[curveMeanP] += mean
}

// match fills what the pair of runs had reached when it had spent the matched
// cost, rollouts for each group of the batch: straight lines between the steps.
func (m *measures) match(cost, batch float64) {
	spent, effective := 0.0, 0.0 // before the step
	for i, c := range m.curve {
		now, gained := spent+c[curveGenerated]/(halves*batch), c[curveEffective]/(halves*batch)
		if now < cost {
			spent, effective = now, effective+gained
			continue
		}
		next := c // success probabilities are those before a step
		if i+1 < len(m.curve) {
			next = m.curve[i+1]
		}
		share := (cost - spent) / (now - spent)
		m.totals[stMatched] = 1
		m.totals[stMatchedEffective] = effective + share*gained
		m.totals[stMatchedP] = (c[curveMeanP] + share*(next[curveMeanP]-c[curveMeanP])) / halves
		return
	}
}
