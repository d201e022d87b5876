package sim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Comparison holds what a run of many steps measured, strategy by strategy.
type Comparison struct {
	Prompts    int // of the set
	Batch      int
	Group      int
	Steps      int
	Replicates int
	Seed       uint64
	Aggregate  string
	Hard       float64
	Drift      string
	Lag        int
	Matched    float64 // cost at which runs are compared, in rollouts for each group of the batch
	Level      float64 // of the family of comparisons that the ranks rest on
	Pairs      int     // comparisons in it
	Strategies []Compared
	Rankings   []Ranking
}

// A Compared holds the figures of one strategy, over all steps. What a rollout
// buys is counted per generated rollout, whatever the budget turned out to be.
type Compared struct {
	Strategy string // normalised spec

	Generated Estimate // rollouts generated a step, per group of the batch
	Trained   Estimate // rollouts in the update, per group of the batch
	Rounds    Estimate // sequential rounds of generation a step
	Groups    Estimate // groups in the update, per group of the batch
	Short     Estimate // share of steps whose update has fewer groups than the batch
	Failed    Estimate // share of steps at which the method's own code stops with an error

	Signal    Estimate // sum of w sigma / sum of w, the spread of rewards that a trained rollout meets, times trained per generated
	Progress  Estimate // the same of w sigma u, relative to the reference (theory.md, 4.6)
	Effective Estimate // mixed groups trained on, per Group generated rollouts
	Hits      Estimate // hard prompts with a success in the step, per Group generated rollouts

	Acceptance Estimate // share of the generated groups whose rewards differ, before anything is left out

	// What is reached at the matched cost, in the pair of runs together.
	MatchedEffective Estimate // mixed groups trained on so far, per group of the batch
	MatchedP         Estimate // mean success probability of the set

	// The estimate of the gradient that the one-logit policy has in the
	// direction in which all logits rise alike, relative to the true gradient
	// of the whole set.
	GradientBias     Estimate // its mean less 1
	GradientVariance Estimate // its variance
	GradientSNR      Estimate // its mean squared over its variance, per Batch*Group generated rollouts

	Tokens         Estimate // generated tokens a step, per group of the batch; the rest needs lengths
	SignalToken    Estimate // the figures above per generated token, relative to the reference
	ProgressToken  Estimate
	EffectiveToken Estimate
	HitsToken      Estimate

	Calibration Estimate // root mean squared error of the believed success probabilities, over the set and the steps
	SelectNS    Estimate // nanoseconds that the strategy takes a step: to start, choose and learn; no two runs agree on it

	Allocation []AllocationBin // Rollouts: of a prompt of the bin, relative to equal rollouts for the whole set
	Curve      []CurvePoint    // by step

	// Increments are the paired ratios of the objectives to those of the strategy
	// before this one, where a ladder was asked for; the first has none.
	Increments []Named
}

// A CurvePoint is where the run stands after a step.
type CurvePoint struct {
	Generated Estimate // rollouts so far, per group of the batch
	Effective Estimate // mixed groups trained on so far, per group of the batch
	MeanP     Estimate // mean success probability of the set, before the step
}

// A Ranking orders the strategies by one objective, the larger the better.
// Those that see the truth are bars: they have no rank, and none is tested
// against them.
type Ranking struct {
	Objective string
	Ranks     []Rank  // one a strategy, in the order of Comparison.Strategies; the zero Rank for a bar
	Beats     [][]int // by strategy: those that it is better than beyond chance
}

// A Rank is the range of ranks that the paired differences leave open: Low-1
// strategies are better beyond chance, and High is how many are not worse
// beyond chance. Strategies that cannot be told apart share ranks; some that
// can may share one too, as each range also knows of the others.
type Rank struct{ Low, High int }

// Named lists the single figures of c under their names in documents; the
// pointers point into c.
func (c *Compared) Named() []Named {
	return []Named{
		{"generated_per_prompt", &c.Generated},
		{"trained_per_prompt", &c.Trained},
		{"rounds", &c.Rounds},
		{"groups_per_prompt", &c.Groups},
		{"short", &c.Short},
		{"failed", &c.Failed},
		{"signal", &c.Signal},
		{"progress", &c.Progress},
		{"gradient_bias", &c.GradientBias},
		{"gradient_variance", &c.GradientVariance},
		{"gradient_snr", &c.GradientSNR},
		{"hits", &c.Hits},
		{"effective", &c.Effective},
		{"acceptance", &c.Acceptance},
		{"matched_effective", &c.MatchedEffective},
		{"matched_mean_p", &c.MatchedP},
		{"tokens_per_prompt", &c.Tokens},
		{"signal_token", &c.SignalToken},
		{"progress_token", &c.ProgressToken},
		{"hits_token", &c.HitsToken},
		{"effective_token", &c.EffectiveToken},
		{"calibration", &c.Calibration},
		{"select_ns", &c.SelectNS},
	}
}

// A stepsTally sums up replicates of many steps. The totals of all strategies
// stand side by side in one vector, so that their differences are paired.
type stepsTally struct {
	worker *stepsWorker
	joint  *moments // numStepTotals a strategy
	bins   [][allocationBins]*moments
	curves [][]*moments
	taken  []*moments
}

// tally returns the tally of the replicate that w has just run.
func (w *stepsWorker) tally() *stepsTally {
	t := &stepsTally{worker: w, joint: newMoments(numStepTotals * len(w.arms))}
	var x []float64
	for _, a := range w.arms {
		x = append(x, a.totals[:]...)
		var bins [allocationBins]*moments
		for i, b := range a.bins {
			bins[i] = newMoments(3)
			bins[i].add([]float64{b[0], b[1], a.totals[stGenerated]})
		}
		t.bins = append(t.bins, bins)
		curve := make([]*moments, len(a.curve))
		var soFar [numCurve]float64
		for i, c := range a.curve {
			soFar[curveGenerated] += c[curveGenerated]
			soFar[curveEffective] += c[curveEffective]
			soFar[curveMeanP] = c[curveMeanP]
			curve[i] = newMoments(numCurve)
			curve[i].add(soFar[:])
		}
		t.curves = append(t.curves, curve)
		taken := newMoments(1)
		taken.add([]float64{float64(a.taken.Nanoseconds())})
		t.taken = append(t.taken, taken)
	}
	t.joint.add(x)
	return t
}

// merge adds the replicates of o, which come after those of t.
func (t *stepsTally) merge(o *stepsTally) {
	t.joint.merge(o.joint)
	for k := range t.bins {
		for i, m := range o.bins[k] {
			t.bins[k][i].merge(m)
		}
		for i, m := range o.curves[k] {
			t.curves[k][i].merge(m)
		}
		t.taken[k].merge(o.taken[k])
	}
}

// A product is a figure: scale times a product of powers of mean totals.
type product struct {
	name   string
	scale  float64
	reason string // why it does not exist where a denominator is 0
	terms  []term
	// reference is what relates the figure to the reference. Differences are
	// tested without it: beside itself the reference would be sure to be 1.
	reference []term
}

// all returns the terms, those of the reference included.
func (p product) all() []term { return append(slices.Clone(p.terms), p.reference...) }

// The reasons why a figure of many steps does not exist.
const (
	reasonNothing    = "nothing was generated"
	reasonNoUpdate   = "no rollouts were trained on"
	reasonNoGradient = "the true gradient is 0: every prompt is dead or solved"
	reasonOneValue   = "the gradient estimate never varied"
	reasonNoProgress = "the reference makes no progress: every prompt is dead or solved"
	reasonNoBelief   = "the strategy keeps no estimate of success probabilities"
	reasonNoHits     = "the reference hits no hard prompt"
	reasonCheaper    = "some run ended below the matched cost"
	reasonNoRung     = "the strategy before it has none"
)

// comparison turns the sums into figures.
func (t *stepsTally) comparison(cfg *StepsConfig) *Comparison {
	c := &Comparison{
		Prompts: t.worker.prompts, Batch: cfg.Batch, Group: cfg.Group, Steps: cfg.Steps,
		Replicates: cfg.Replicates, Seed: cfg.Seed, Aggregate: cfg.Aggregate, Hard: cfg.Hard, Drift: cfg.Drift.String(),
		Lag: cfg.Lag, Matched: cfg.matchedCost(),
	}
	for k := range t.worker.arms {
		c.Strategies = append(c.Strategies, t.compared(k))
	}
	t.rank(c, cfg.Level)
	return c
}

// figure estimates a product.
func (t *stepsTally) figure(p product) Estimate {
	return t.joint.product(p.scale, p.reason, p.all()...)
}

// at returns the place of a total of strategy k in the joint vector.
func at(k, total int) int { return k*numStepTotals + total }

// reference returns the place of the reference among the strategies.
func (w *stepsWorker) reference() int {
	spec := fmt.Sprintf("fixed:g=%d", w.cfg.Group)
	return slices.IndexFunc(w.arms, func(a *stepsArm) bool { return a.spec == spec })
}

// compared returns the figures of strategy k.
func (t *stepsTally) compared(k int) Compared {
	w := t.worker
	steps := float64(halves * w.cfg.Steps)
	groups := steps * float64(w.cfg.Batch)
	mean := func(scale float64, total int) Estimate {
		return t.figure(product{scale: scale, terms: []term{{at(k, total), 1}}})
	}
	o := t.objectives(k)
	c := Compared{
		Strategy:  w.arms[k].spec,
		Generated: mean(1/groups, stGenerated),
		Trained:   mean(1/groups, stTrained),
		Rounds:    mean(1/steps, stRounds),
		Groups:    mean(1/groups, stGroups),
		Short:     mean(1/steps, stShort),
		Failed:    mean(1/steps, stFailed),
		Signal:    t.figure(o.signal),
		Progress:  t.figure(o.progress),
		Effective: t.figure(o.effective),
		Hits:      t.figure(o.hits),
		Acceptance: t.figure(product{
			scale: 1, reason: reasonNothing,
			terms: []term{{at(k, stMixed), 1}, {at(k, stAsked), -1}},
		}),
		MatchedEffective: t.matched(k, stMatchedEffective),
		MatchedP:         t.matched(k, stMatchedP),
		GradientBias: t.figure(product{
			scale: 1, reason: reasonNoGradient,
			terms: []term{{at(k, stGradient), 1}, {at(k, stGradients), -1}},
		}),
		GradientVariance: t.figure(product{
			scale: 1, reason: reasonNoGradient,
			terms: []term{{at(k, stVariance), 1}, {at(k, stVariances), -1}},
		}),
		GradientSNR: t.figure(o.snr),
		Calibration: t.figure(product{
			scale: 1, reason: reasonNoBelief,
			terms: []term{{at(k, stBeliefError), 0.5}, {at(k, stBeliefs), -0.5}},
		}),
		SelectNS: t.taken[k].product(1/steps, "", term{0, 1}),
	}
	if c.GradientBias.Reason == "" {
		c.GradientBias.Mean--
	}
	if w.lengths {
		c.Tokens = mean(1/groups, stTokens)
		c.SignalToken, c.ProgressToken = t.figure(o.signalToken), t.figure(o.progressToken)
		c.EffectiveToken, c.HitsToken = t.figure(o.effectiveToken), t.figure(o.hitsToken)
	} else {
		none := Estimate{Reason: reasonNoLengths}
		c.Tokens, c.SignalToken, c.ProgressToken, c.EffectiveToken, c.HitsToken = none, none, none, none, none
	}
	if w.cfg.Ladder && k > 0 {
		c.Increments = t.increments(k)
	}
	c.Allocation = t.allocation(k)
	for _, m := range t.curves[k] {
		per := 1 / float64(halves*w.cfg.Batch)
		c.Curve = append(c.Curve, CurvePoint{
			Generated: m.product(per, "", term{curveGenerated, 1}),
			Effective: m.product(per, "", term{curveEffective, 1}),
			MeanP:     m.product(1./halves, "", term{curveMeanP, 1}),
		})
	}
	return c
}

// matched estimates what is reached at the matched cost, where every pair of runs
// got there.
func (t *stepsTally) matched(k, total int) Estimate {
	if t.joint.mean[at(k, stMatched)] < 1 {
		return Estimate{Reason: reasonCheaper}
	}
	return t.figure(product{scale: 1, terms: []term{{at(k, total), 1}}})
}

// increments returns the ratios of strategy k to the one before it.
func (t *stepsTally) increments(k int) []Named {
	own, before := t.objectives(k), t.objectives(k-1)
	rungs := before.all(t.worker.lengths)
	var named []Named
	for i, p := range own.all(t.worker.lengths) {
		ratio := product{scale: 1, reason: reasonNoRung, terms: slices.Clone(p.terms)}
		for _, x := range rungs[i].terms {
			ratio.terms = append(ratio.terms, term{x.i, -x.power})
		}
		e := t.figure(ratio)
		named = append(named, Named{p.name, &e})
	}
	return named
}

// objectives are the figures by which strategies are ranked.
type objectives struct {
	signal, progress, snr, hits, effective                product
	signalToken, progressToken, hitsToken, effectiveToken product
}

func (t *stepsTally) objectives(k int) objectives {
	cfg, ref := t.worker.cfg, t.worker.reference()
	group := float64(cfg.Group)
	// spread is the w-weighted mean of a total, times the trained rollouts a cost.
	spread := func(k, total, cost int, power float64) []term {
		return []term{{at(k, total), power}, {at(k, stW), -power}, {at(k, stTrained), power}, {at(k, cost), -power}}
	}
	count := func(k, total, cost int, power float64) []term {
		return []term{{at(k, total), power}, {at(k, cost), -power}}
	}
	relative := func(name, reason string, f func(k, total, cost int, power float64) []term, total, cost int) product {
		return product{name: name, scale: 1, reason: reason, terms: f(k, total, cost, 1), reference: f(ref, total, cost, -1)}
	}
	own := func(name string, scale float64, reason string, terms ...term) product {
		return product{name: name, scale: scale, reason: reason, terms: terms}
	}
	budget := float64(halves*cfg.Steps*cfg.Batch) * group // of the reference
	return objectives{
		signal:    own("signal", 1, reasonNoUpdate, spread(k, stWSigma, stGenerated, 1)...),
		progress:  relative("progress", reasonNoProgress, spread, stWSigmaU, stGenerated),
		effective: own("effective", group, reasonNothing, count(k, stEffective, stGenerated, 1)...),
		hits:      own("hits", group, reasonNothing, count(k, stHits, stGenerated, 1)...),
		snr: own("gradient_snr", budget, reasonOneValue,
			term{at(k, stGradient), 2}, term{at(k, stGradients), -2},
			term{at(k, stVariance), -1}, term{at(k, stVariances), 1}, term{at(k, stGenerated), -1}),
		signalToken:    relative("signal_token", reasonNoProgress, spread, stWSigma, stTokens),
		progressToken:  relative("progress_token", reasonNoProgress, spread, stWSigmaU, stTokens),
		effectiveToken: relative("effective_token", reasonNoProgress, count, stEffective, stTokens),
		hitsToken:      relative("hits_token", reasonNoHits, count, stHits, stTokens),
	}
}

// all lists the objectives that can be measured.
func (o *objectives) all(lengths bool) []product {
	p := []product{o.signal, o.progress, o.snr, o.hits, o.effective}
	if lengths {
		p = append(p, o.signalToken, o.progressToken, o.hitsToken, o.effectiveToken)
	}
	return p
}

// allocation returns who gets strategy k's rollouts.
func (t *stepsTally) allocation(k int) []AllocationBin {
	w := t.worker
	prompts := float64(halves * w.cfg.Steps * w.prompts)
	var bins []AllocationBin
	for i, m := range t.bins[k] {
		bins = append(bins, AllocationBin{
			Low: float64(i) / allocationBins, High: float64(i+1) / allocationBins,
			Share:    m.mean[0] / prompts,
			Rollouts: m.product(prompts, reasonEmptyBin, term{1, 1}, term{0, -1}, term{2, -1}),
		})
	}
	return bins
}

// rank orders the strategies of c by every objective: two differ where their
// paired difference over replicates does by a two-sided t-test, with Holm's
// correction over all pairs and objectives at the given family level. A pair of
// which a figure does not exist stays open.
func (t *stepsTally) rank(c *Comparison, level float64) {
	arms := len(c.Strategies)
	bar := make([]bool, arms)
	contenders := 0
	for k, a := range t.worker.arms {
		bar[k] = a.strategy.Capabilities().Truth
		if !bar[k] {
			contenders++
		}
	}
	byObjective := make([][]product, 0)
	for k := range arms {
		o := t.objectives(k)
		for i, p := range o.all(t.worker.lengths) {
			if k == 0 {
				byObjective = append(byObjective, nil)
			}
			byObjective[i] = append(byObjective[i], p)
		}
	}
	var pairs []pair
	for o, products := range byObjective {
		for i := range arms {
			for j := range i {
				if bar[i] || bar[j] {
					continue
				}
				pairs = append(pairs, t.compare(products[i], products[j], o, i, j))
			}
		}
	}
	c.Level, c.Pairs = level, len(pairs)
	for o, products := range byObjective {
		c.Rankings = append(c.Rankings, Ranking{Objective: products[0].name, Ranks: make([]Rank, arms), Beats: make([][]int, arms)})
		for k := range arms {
			if !bar[k] {
				c.Rankings[o].Ranks[k] = Rank{1, contenders}
			}
		}
	}
	p := make([]float64, len(pairs))
	for n := range pairs {
		p[n] = pairs[n].p
	}
	for n, differ := range Holm(p, level, len(pairs)) {
		if differ {
			r, better, worse := c.Rankings[pairs[n].objective], pairs[n].better, pairs[n].worse
			r.Ranks[worse].Low++
			r.Ranks[better].High--
			r.Beats[better] = append(r.Beats[better], worse)
		}
	}
}

// A pair is two strategies beside each other on one objective.
type pair struct {
	objective, better, worse int
	p                        float64 // of their difference
}

// compare tests the difference of two figures, of strategies i and j.
func (t *stepsTally) compare(a, b product, objective, i, j int) pair {
	d := pair{objective: objective, better: i, worse: j, p: 1}
	if t.joint.n < 2 || !t.joint.exists(a.all()) || !t.joint.exists(b.all()) {
		return d // nothing is known of the difference
	}
	x, gx := t.joint.gradient(a.scale, a.terms)
	y, gy := t.joint.gradient(b.scale, b.terms)
	if x < y {
		d.better, d.worse = j, i
	}
	for _, g := range gy {
		gx = append(gx, slope{g.i, -g.by})
	}
	difference, se := math.Abs(x-y), math.Sqrt(t.joint.variance(gx))
	switch {
	case difference <= rounding*max(math.Abs(x), math.Abs(y)):
	case se == 0:
		// The same difference in every replicate: by the sign test, as no t-test
		// can say how little that means in a few replicates.
		d.p = math.Exp2(1 - t.joint.n)
	default:
		d.p = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.joint.n - 1}.Survival(difference/se)
	}
	return d
}

// String prints the range: 1, or 2-4; "bar" for none.
func (r Rank) String() string {
	if r == (Rank{}) {
		return "bar"
	}
	if r.Low == r.High {
		return fmt.Sprint(r.Low)
	}
	return fmt.Sprintf("%d-%d", r.Low, r.High)
}
