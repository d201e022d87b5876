package verify

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/sim"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/theory"
)

// Rung 8 learns a law of difficulty from one half of a live run's prompts and
// foretells what the strategy did on the other half (OWN).
//
// Learning. Who gets how many rollouts depends on rewards seen before alone, so
// given the law F all rewards have the likelihood prod_i int p^s_i (1-p)^(n_i-s_i) dF
// times a factor free of F: the fit may take the counts (n_i, s_i) of adaptive
// groups for binomial ones. Each prompt's score is a martingale over rounds,
// and scores of two prompts are uncorrelated.
//
// Foretelling. The exact mean field of the fitted law; what it does not hold,
// and strategies without one, by the mean of simulated runs of the same size.
//
// Judging. Both halves compete in one batch: a cut at a quantile over all
// prompts moves with the rewards of either half, by 1/sqrt(B) as every other
// error does, so that errors of the two halves do not add as independent ones,
// and a bootstrap over the first half's prompts misses that. So whole runs are
// simulated on the fitted law, each with the same halves, fitted and foretold
// anew: the law of seen - foretold has both errors, their covariance, the shift
// of finite batches against the mean field and the fit's own bias.

// The sizes that rung 8 works with.
const (
	liveRuns  = 1000 // simulated runs; quickRuns in a quick climb
	quickRuns = 300
	// innerRuns foretell a figure without a mean field from each refitted law.
	// Their noise widens the test: whole batches have half of a half's variance,
	// so by 1/(2 innerRuns) of it.
	innerRuns = 8
	// liveNodes is enough for the mean field to 1e-6, far below a run's noise.
	liveNodes = 256
	// fewExpected is the least number of prompts, of either kind, that a share
	// is tested on: below it the law of a difference is not smooth.
	fewExpected = 5
	// What a half must have to be learnt from: prompts, and those of them whose
	// rewards differ. Below that fits run to the ends of their ranges.
	leastPrompts = 32
	leastVaried  = 10
	// mostMissing is the largest share of simulated runs without a figure.
	mostMissing = 0.05
)

const liveClaim = "the first half of a live run foretells the second"

// rung8 compares the halves of a live run.
func rung8(cfg *Config) []study {
	const id = "8.live"
	if cfg.Live == nil {
		const why = "needs a run on a live model, or on what stands for one: vigorlab rollout ... --out DIR, then give --live DIR"
		return []study{{id: id, run: func(context.Context, *env) (*Section, error) { return untestable("", liveClaim, why), nil }}}
	}
	return []study{{
		id:          id,
		comparisons: len(smoothers) * (len(measuresOf(cfg.Live)) + 1), // and group sizes
		run:         func(ctx context.Context, e *env) (*Section, error) { return e.live(ctx, cfg.Live) },
	}}
}

// smoothers are the families that the first half is fitted by.
var smoothers = []struct{ name, words string }{
	{fit.SmoothBeta, "the Beta law of largest likelihood"},
	{fit.SmoothNPMLE, "the nonparametric law of largest likelihood"},
}

// live checks what each family foretells.
func (e *env) live(ctx context.Context, l *Live) (*Section, error) {
	o, err := l.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("--live %s: %w", l.Name, err)
	}
	key := stream.New(e.cfg.Seed).Named(e.study).With(uint64(o.Batch))
	first, second := halves(key, o.Batch)
	if few := fewPrompts(o.Part(first)); few != "" {
		return untestable("", liveClaim, few), nil
	}
	section := &Section{Rows: notSeen(l)}
	for i, family := range smoothers {
		h := &half{
			env: e, live: l, first: first, second: second, family: family.name, key: key.Named(family.name),
			measures: measuresOf(l), sizes: sizeBins(o, len(second)), runs: liveRuns, turn: i,
		}
		if e.cfg.Quick {
			h.runs = quickRuns
		}
		rows, err := h.check(ctx, o)
		if err != nil {
			return nil, err
		}
		for k := range rows {
			rows[k].ID = family.name + "." + rows[k].ID
			rows[k].Claim += " by " + family.words
		}
		section.Rows = append(section.Rows, rows...)
	}
	return section, nil
}

// fewPrompts says why a half cannot foretell another; "" where it can.
func fewPrompts(half *sim.Observation) string {
	n, s := half.Counts()
	differ := 0
	for i := range n {
		if s[i] > 0 && s[i] < n[i] {
			differ++
		}
	}
	if half.Batch >= leastPrompts && differ >= leastVaried {
		return ""
	}
	return fmt.Sprintf("the first half has %d prompts, %d of them with rewards that differ, want at least %d and %d: take more prompts", half.Batch, differ, leastPrompts, leastVaried)
}

// A half is what one family makes of the first half.
type half struct {
	*env
	live          *Live
	first, second []int
	family        string
	key           stream.Key
	measures      []measure
	sizes         []sizeBin
	runs          int // simulated
	turn          int // of the families, for progress
}

// A repeat is one simulated run: what its second half showed, and what its first
// foretold, measures and then sizes; NaN for what is missing.
type repeat struct{ seen, foretold, hits, misses []float64 }

// check compares the second half of a run with what the first foretells.
func (h *half) check(ctx context.Context, o *sim.Observation) ([]Row, error) {
	law, err := h.fit(o)
	if err != nil {
		return h.none("the first half cannot be fitted: " + err.Error()), nil
	}
	seen := h.see(o.Part(h.second))
	runs, failed, err := h.simulate(ctx, law)
	if err != nil {
		return nil, err
	}
	if all := len(runs) + failed; float64(failed) > mostMissing*float64(all) {
		return h.none(fmt.Sprintf("%d of %d simulated runs on the fitted law could not be fitted", failed, all)), nil
	}
	field := h.field(law)
	var rows []Row
	for i := range h.measures {
		rows = append(rows, h.row(i, seen[i], field, runs))
	}
	return append(rows, h.sizesRow(seen[len(h.measures):], runs)), nil
}

// none returns the row of a family that nothing can be tested by.
func (h *half) none(why string) []Row { return untestable("all", liveClaim, why).Rows }

// fit returns the law behind the counts of the first half.
func (h *half) fit(o *sim.Observation) (distributions.Law, error) {
	n, s := o.Part(h.first).Counts()
	var cells []fit.Cell
	for i := range n {
		if n[i] > 0 {
			cells = append(cells, fit.Cell{N: n[i], S: s[i], Prompts: 1})
		}
	}
	counts, err := fit.NewCounts(cells)
	if err != nil {
		return nil, err
	}
	return fit.Smooth(counts, h.family)
}

// field returns the mean field of the run's strategy on a law; nil where there
// is none.
func (h *half) field(law distributions.Law) *theory.MeanField {
	var m *theory.MeanField
	err := errors.New("no exact theory")
	switch s := h.strategy().(type) {
	case *strategy.Vigor:
		m, err = theory.VigorMeanField(law, s.Plan(), frontier, liveNodes)
	case *strategy.Fixed:
		m, err = theory.FixedMeanField(law, float64(s.Group()), frontier, liveNodes)
	}
	if err != nil {
		return nil
	}
	return m
}

// strategy returns a fresh strategy of the run, which Observe has parsed before.
func (h *half) strategy() strategy.Strategy {
	s, err := strategy.Parse(h.live.Strategy, nil)
	if err != nil {
		panic(err)
	}
	return s
}

// simulate runs the strategy on whole batches of a law, and does with each what
// is done with the run itself. failed counts those whose first half cannot be
// fitted.
func (h *half) simulate(ctx context.Context, law distributions.Law) (runs []repeat, failed int, err error) {
	err = sim.InOrder(ctx, h.cfg.Workers, h.runs,
		func() (func(context.Context, int) (*repeat, error), error) {
			s := h.strategy()
			return func(ctx context.Context, k int) (*repeat, error) { return h.repeat(ctx, law, s, uint64(k)) }, nil
		},
		func(k int, r *repeat) error {
			if r == nil {
				failed++
			} else {
				runs = append(runs, *r)
			}
			h.progress(h.turn*h.runs+k+1, len(smoothers)*h.runs)
			return nil
		})
	return runs, failed, err
}

// repeat is one simulated run; nil where its first half cannot be fitted.
func (h *half) repeat(ctx context.Context, law distributions.Law, s strategy.Strategy, k uint64) (*repeat, error) {
	o, err := h.run(ctx, law, s, h.key.With(k))
	if err != nil {
		return nil, err
	}
	second := o.Part(h.second)
	r := &repeat{seen: h.see(second), hits: make([]float64, len(h.measures)), misses: make([]float64, len(h.measures))}
	for i, m := range h.measures {
		if m.hits != nil {
			hit, miss := m.hits(second)
			r.hits[i], r.misses[i] = float64(hit), float64(miss)
		}
	}
	refitted, err := h.fit(o)
	if err != nil || refitted.MeanU() == 0 {
		return nil, nil
	}
	r.foretold, err = h.foretell(ctx, refitted, s, h.key.With(k))
	return r, err
}

// run lets the strategy spend its rollouts on one batch of a law.
func (h *half) run(ctx context.Context, law distributions.Law, s strategy.Strategy, key stream.Key) (*sim.Observation, error) {
	src, err := source.NewSynthetic(law, nil, len(h.first)+len(h.second))
	if err != nil {
		return nil, err
	}
	return sim.Observe(ctx, src, s, false, h.live.Holdout, key)
}

// foretell returns every measure of a law, and the sizes: of the mean field
// where that has it, else the mean of innerRuns runs.
func (h *half) foretell(ctx context.Context, law distributions.Law, s strategy.Strategy, key stream.Key) ([]float64, error) {
	field := h.field(law)
	sums := make([]float64, len(h.measures)+len(h.sizes))
	for k := range uint64(innerRuns) {
		o, err := h.run(ctx, law, s, key.Named("inner").With(k))
		if err != nil {
			return nil, err
		}
		shown := newShown(o)
		for i, m := range h.measures {
			if !m.exact(field) {
				sums[i] += m.of(shown) / innerRuns
			}
		}
		for i, share := range sizesOf(o, h.sizes) {
			sums[len(h.measures)+i] += share / innerRuns
		}
	}
	for i, m := range h.measures {
		if m.exact(field) {
			sums[i] = m.field(field)
		}
	}
	return sums, nil
}

// see returns every measure of some prompts, and the sizes.
func (h *half) see(o *sim.Observation) []float64 {
	shown := newShown(o)
	var seen []float64
	for _, m := range h.measures {
		seen = append(seen, m.of(shown))
	}
	return append(seen, sizesOf(o, h.sizes)...)
}

// A sample is what simulated runs say of one measure.
type sample struct {
	differences        []float64 // seen - foretold
	seen, hits, misses float64   // means
}

func sampleOf(i int, runs []repeat) sample {
	var s sample
	for _, r := range runs {
		if d := r.seen[i] - r.foretold[i]; !math.IsNaN(d) {
			s.differences = append(s.differences, d)
			s.seen, s.hits, s.misses = s.seen+r.seen[i], s.hits+r.hits[i], s.misses+r.misses[i]
		}
	}
	n := float64(len(s.differences))
	s.seen, s.hits, s.misses = s.seen/n, s.hits/n, s.misses/n
	return s
}

// row compares a measure of the second half with what the first foretells.
func (h *half) row(i int, seen float64, field *theory.MeanField, runs []repeat) Row {
	m, s := h.measures[i], sampleOf(i, runs)
	row := Row{ID: m.id, Kind: Claim, Claim: m.claim}
	switch missing := len(runs) - len(s.differences); {
	case math.IsNaN(seen):
		return cannot(row, "the second half has no such figure")
	case float64(missing) > mostMissing*float64(len(runs)):
		return cannot(row, fmt.Sprintf("%d of %d simulated runs have no such figure", missing, len(runs)))
	case m.hits != nil && !(min(s.hits, s.misses) >= fewExpected):
		return cannot(row, fmt.Sprintf("of %.3g prompts in the second half that it is a share of, %.2g are expected to be of the rarer kind, want at least %d: take more prompts",
			s.hits+s.misses, min(s.hits, s.misses), fewExpected))
	}
	reference, how := s.seen, "the mean of simulated runs"
	if m.exact(field) {
		reference, how = m.field(field), "the exact mean field"
	}
	if math.IsNaN(reference) {
		return cannot(row, "the fitted law has no such figure")
	}
	row.Method = fmt.Sprintf("%s of the law fitted to %d prompts, beside the other %d; the law of the difference from %d runs simulated on that law, halved, fitted and foretold alike",
		how, len(h.first), len(h.second), len(s.differences))
	return differs(row, seen, reference, pearson(s.differences))
}

// differs fills row with what was seen beside what was foretold, whose
// difference has the law p by chance.
func differs(row Row, seen, reference float64, p pearsonLaw) Row {
	row.Estimate, row.Reference, row.SE, row.Bias = number(seen), number(reference), number(p.sd), math.Abs(p.mean)
	z := normalQuantile(0.975)
	row.Interval = &[2]float64{seen - z*p.sd, seen + z*p.sd}
	d := seen - reference
	row.P = number(min(1, 2*min(p.above(d), p.below(d))))
	row.Test = "two-sided test by the Pearson III law of simulated differences"
	row.Note = fmt.Sprintf("simulated differences have mean %.2g (the batch is finite, the fit has a bias), standard deviation %.2g and skewness %.2g; se and interval are those of the difference, with the fit's error", p.mean, p.sd, p.skew)
	return row
}

func cannot(row Row, why string) Row {
	row.Method, row.Verdict, row.Reason, row.Note = "none", Untestable, why, why
	return row
}

// notSeen names what a live run of this kind cannot show.
func notSeen(l *Live) []Row {
	row := Row{ID: "screening", Kind: Claim, Claim: "the first half foretells the screening errors of the second"}
	if cutsOf(l.Strategy) == 0 {
		return []Row{cannot(row, "the strategy drops no prompts in nested cuts")}
	}
	row.Claim = "the first half foretells the shares of frontier prompts that cuts of the second drop"
	rows := []Row{cannot(row, "which prompts are at the frontier, u >= 0.75, nobody knows on a live model")}
	if l.Holdout < 2 {
		rows = append(rows, cannot(Row{ID: "dropped", Kind: Claim, Claim: "the first half foretells the share of dropped prompts that later rollouts of the second show mixed"},
			"dropped prompts get no more rollouts: hold out 2 of every prompt (vigorlab rollout --holdout 2)"))
	}
	return rows
}

// sizesRow compares the shares of group sizes by a distance like chi-square.
func (h *half) sizesRow(seen []float64, runs []repeat) Row {
	row := Row{ID: "group-sizes", Kind: Claim, Claim: "the group sizes of the second half are foretold"}
	if len(h.sizes) < 2 {
		return cannot(row, "all groups are in one class of sizes, whatever the rewards")
	}
	at := len(h.measures)
	expected := make([]float64, len(h.sizes))
	for _, r := range runs {
		for k := range expected {
			expected[k] += r.seen[at+k] / float64(len(runs))
		}
	}
	distances := make([]float64, len(runs))
	for i, r := range runs {
		distances[i] = distance(r.seen[at:], r.foretold[at:], expected)
	}
	p, x := pearson(distances), distance(seen, expected, expected)
	row.Method = fmt.Sprintf("sum of (seen - foretold)^2/foretold over %d classes of sizes, as shares of groups; the reference is its mean in %d runs simulated on the fitted law", len(h.sizes), len(runs))
	row.Estimate, row.Reference, row.SE = number(x), number(p.mean), number(p.sd)
	row.P = number(p.above(x))
	row.Test = "one-sided test by the Pearson III law of simulated distances"
	row.Reason = "interval: a distance is compared with what chance gives"
	row.Note = sizesText(h.sizes, seen, expected)
	return row
}

// distance is the sum of (a-b)^2/scale, over classes that are expected at all.
func distance(a, b, scale []float64) float64 {
	x := 0.0
	for k := range scale {
		if scale[k] > 0 {
			x += (a[k] - b[k]) * (a[k] - b[k]) / scale[k]
		}
	}
	return x
}

// A pearsonLaw is the Pearson type III law of given moments: a gamma law, shifted,
// and turned round where the skewness is negative. It follows the heavier tail
// of sums and ratios where a normal law is far too small.
type pearsonLaw struct{ mean, sd, skew float64 }

// pearson returns the law with the sample's first three moments.
func pearson(sample []float64) pearsonLaw {
	mean, sd := stat.MeanStdDev(sample, nil)
	p := pearsonLaw{mean: mean, sd: sd}
	if sd > 0 {
		p.skew = stat.Skew(sample, nil)
	}
	return p
}

// above returns P(X >= x), and where the normal law gives more, that: the
// lighter tail of a Pearson III law ends, which the true one does not.
func (p pearsonLaw) above(x float64) float64 {
	z := (x - p.mean) / p.sd
	switch {
	case x == p.mean || math.Abs(x-p.mean) <= exactTolerance*math.Abs(p.mean):
		return 0.5
	case !(p.sd > 0):
		return map[bool]float64{true: 0, false: 1}[x > p.mean]
	}
	normal := math.Erfc(z/math.Sqrt2) / 2
	const straight = 1e-4 // a skewness that no tail shows
	if p.skew < straight {
		return normal
	}
	shape := 4 / (p.skew * p.skew)
	return max(normal, mathext.GammaIncRegComp(shape, max(0, shape+z*math.Sqrt(shape))))
}

// below returns P(X <= x) likewise.
func (p pearsonLaw) below(x float64) float64 {
	return pearsonLaw{-p.mean, p.sd, -p.skew}.above(-x)
}
