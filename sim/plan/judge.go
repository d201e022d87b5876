package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/stream"
)

// A choice is a set of strategies with their gains under a law: what is chosen
// among, by the largest gain.
type choice struct {
	candidates []candidate
	logGains   []float64
	standard   int // the default schedule, -1 where it is not among them
}

// choiceOf takes the rows that train on the whole batch and have a gain.
func choiceOf(rows []Row, o Options) *choice {
	c := &choice{standard: -1}
	for _, r := range rows {
		if !r.candidate.whole() || !(r.Gain > 0) {
			continue
		}
		if r.candidate == (candidate{plan: o.standard(), budget: o.Group}) {
			c.standard = len(c.candidates)
		}
		c.candidates = append(c.candidates, r.candidate)
		c.logGains = append(c.logGains, math.Log(r.Gain))
	}
	return c
}

// A miss is by how much a world's plan promises too much, in logarithms: its
// gain, and its gain over the default schedule; and the law fitted there.
type miss struct {
	gain, over float64
	law        distributions.Law
}

// misses repeats pilot, fit and choice in worlds that are drawn from law, under
// which the candidates have the gains of c. In each the best candidate of that
// world promises what its fitted law says, and keeps what law says. That is
// the error of the real plan as far as law is the real law, the optimism of
// having picked the best included (the bootstrap, with selection inside).
// Worlds whose counts show no mixed prompt, or whose fit fails, are left out.
func (c *choice) misses(ctx context.Context, o Options, worlds int, key stream.Key, draw func(stream.Key) (*fit.Counts, error)) ([]miss, error) {
	found := make([]miss, worlds)
	err := parallel(ctx, o.Workers, worlds, func() (func(int) error, error) {
		return func(k int) error {
			found[k] = miss{gain: math.NaN()}
			counts, err := draw(key.With(uint64(k)))
			if err != nil {
				return err
			}
			law, err := fit.Smooth(counts, o.Smooth)
			if err != nil {
				return nil
			}
			found[k], err = c.miss(law, o)
			return err
		}, nil
	})
	found = slices.DeleteFunc(found, func(m miss) bool { return math.IsNaN(m.gain) })
	return found, err
}

// miss compares what a world's law promises with what c says.
func (c *choice) miss(law distributions.Law, o Options) (miss, error) {
	promised, err := c.gains(law, o)
	best := largest(promised)
	if err != nil || best < 0 {
		return miss{gain: math.NaN()}, err
	}
	m := miss{math.Log(promised[best]) - c.logGains[best], math.NaN(), law}
	if c.standard >= 0 {
		m.over = m.gain - (math.Log(promised[c.standard]) - c.logGains[c.standard])
	}
	return m, nil
}

// gains returns the candidates' gains under a law.
func (c *choice) gains(law distributions.Law, o Options) ([]float64, error) {
	o.Clock = Clock{}
	f := newField(law, nil, searchNodes, o.Objective == GradientVariance)
	gains := make([]float64, len(c.candidates))
	for i, candidate := range c.candidates {
		row, err := f.row(candidate, o)
		if err != nil {
			return nil, err
		}
		gains[i] = row.Gain
	}
	return gains, nil
}

// largest returns where the largest gain is, -1 where none exists.
func largest(gains []float64) int {
	best := -1
	for i, x := range gains {
		if x > 0 && (best < 0 || x > gains[best]) {
			best = i
		}
	}
	return best
}

// resample draws as many prompts as the pilot has, with replacement.
func resample(pilot *fit.Counts) func(stream.Key) (*fit.Counts, error) {
	cells := pilot.Cells()
	var owners []int // the cell of every prompt
	for i, x := range cells {
		owners = append(owners, slices.Repeat([]int{i}, x.Prompts)...)
	}
	return func(key stream.Key) (*fit.Counts, error) {
		r, drawn := stream.Rand(key), slices.Clone(cells)
		for i := range drawn {
			drawn[i].Prompts = 0
		}
		for range owners {
			drawn[owners[r.IntN(len(owners))]].Prompts++
		}
		return fit.NewCounts(drawn)
	}
}

// judge sets the intervals, the pilot sizes and the verdict.
func (r *Result) judge(ctx context.Context, o Options) error {
	c := choiceOf(r.Table, o)
	var misses []miss
	var err error
	if r.Pilot != nil && o.Worlds > 0 && len(c.candidates) > 0 {
		misses, err = c.misses(ctx, o, o.Worlds, o.streams("pilot"), resample(r.Pilot))
		if err != nil {
			return err
		}
		if lost := o.Worlds - len(misses); lost > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d bootstrap samples of the pilot have no gain and are left out", lost, o.Worlds))
		}
	}
	if r.Pilot != nil && r.beforehand {
		r.Band = bandOf(r.Pilot, r.Law, misses)
	}
	if !(r.Best.Gain > 0) || r.Pilot != nil && r.varied() == 0 {
		r.say(o)
		return nil
	}
	r.Gain = interval(r.Best.Gain, r.Best.Finite, misses, func(m miss) float64 { return m.gain }, stream.Rand(o.streams("batch noise")))
	if c.standard >= 0 {
		ratio := math.Exp(math.Log(r.Best.Gain) - c.logGains[c.standard])
		r.Over = interval(ratio, Finite{math.NaN(), math.NaN()}, misses, func(m miss) float64 { return m.over }, nil)
	}
	if r.Pilot != nil && (o.Worlds == 0 || r.few() != "") { // what the pilot's noise does is not known
		r.Gain, r.Over = r.Gain.withoutEnds(), r.Over.withoutEnds()
	}
	if r.Best.candidate.group != 0 { // no change is exactly no change
		r.Gain = Interval{1, 1, 1}
	}
	r.say(o)
	if o.Worlds > 0 {
		r.Sizes, err = r.pilotSizes(ctx, c, o)
	}
	return err
}

// interval corrects a gain of the mean field, moves it to the finite batch
// where that was simulated, and takes its 95 % interval: the basic bootstrap of
// the logarithm, the batches' noise added to the misses.
func interval(gain float64, finite Finite, misses []miss, of func(miss) float64, r *rand.Rand) Interval {
	center, noise := math.Log(gain), 0.0
	if finite.Gain > 0 && finite.SE >= 0 {
		center, noise = math.Log(finite.Gain), finite.SE/finite.Gain
	}
	if len(misses) == 0 {
		const normal = 1.959963984540054
		i := Interval{math.Exp(center), math.Exp(center - normal*noise), math.Exp(center + normal*noise)}
		if !(finite.Gain > 0) {
			i.Low, i.High = math.NaN(), math.NaN()
		}
		return i
	}
	errors, mean := make([]float64, len(misses)), 0.0
	for k, m := range misses {
		mean += of(m) / float64(len(misses))
		errors[k] = of(m)
		if noise > 0 {
			errors[k] += noise * r.NormFloat64()
		}
	}
	slices.Sort(errors)
	return Interval{math.Exp(center - mean), math.Exp(center - quantile(errors, 0.975)), math.Exp(center - quantile(errors, 0.025))}
}

// quantile returns a quantile of sorted numbers, linear in between.
func quantile(sorted []float64, q float64) float64 {
	place := q * float64(len(sorted)-1)
	i := min(int(place), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	return sorted[i] + (place-float64(i))*(sorted[i+1]-sorted[i])
}

// say puts the verdict in words and recommends.
func (r *Result) say(o Options) {
	fixed := o.NoChange()
	r.Recommended, r.DoNotBother = fixed, true
	add := func(format string, args ...any) { r.Verdict = append(r.Verdict, fmt.Sprintf(format, args...)) }
	switch {
	case !(r.Best.Gain > 0):
		add("do not bother: no prompt has any reward variance, so no allocation gains anything")
		return
	case r.Pilot != nil && r.varied() == 0:
		add("do not bother: no prompt of the pilot has both outcomes, so that it shows no reward variance to gain from (single rollouts never do)")
		return
	case r.few() != "":
		add("do not bother yet: the pilot is too small to say: %s", r.few())
	case r.Best.candidate.group != 0:
		add("do not bother: no schedule of this budget has more %s than %s", words(o.Objective), fixed)
	case r.Pilot != nil && o.Worlds == 0:
		r.Recommended, r.DoNotBother = r.Best.Strategy, false
		add("by the law fitted to the pilot there is more %s than with %s; how sure that is takes bootstrap samples (worlds)", words(o.Objective), fixed)
	case r.Gain.Low <= 1: // an exact gain has no ends
		add("do not bother: what the best schedule has over %s is within noise of no change", fixed)
	case r.Over.Low <= 1:
		r.Recommended, r.DoNotBother = o.standard().String(), false
		add("worth it, but the best schedule is within noise of the default one: take the default")
	default:
		r.Recommended, r.DoNotBother = r.Best.Strategy, false
		add("worth it: more %s than %s, beyond noise", words(o.Objective), fixed)
	}
	if x := r.Other.Gain; r.Best.candidate.group == 0 && (x < r.Gain.Low || x > r.Gain.High) {
		add("by the %s law, which fits the same pilot, it is %.3g times: the choice of the law weighs more than the interval says, and only more rollouts a prompt settle it", r.Other.Smooth, x)
	}
	r.sayFamily(o, add)
	r.sayClock(o, add)
	r.sayNoise(o, add)
	r.sayOthers(o, add)
}

// sayClock says which schedule is the best by the clock, and whether the
// recommended one is worth it by that. The seconds are taken as they are: only
// the gain has an interval.
func (r *Result) sayClock(o Options, add func(string, ...any)) {
	if r.Fastest.Strategy == "" {
		return
	}
	fixed, what := o.NoChange(), wordsPerSecond(o.Objective)
	r.PerSecond = r.recommendedPerSecond()
	if r.Fastest.candidate.group != 0 {
		add("by the clock no schedule of this budget has more %s than %s", what, fixed)
	} else {
		add("by the clock %s is best: %.3g times the %s of %s (mean field), %.3g times a rollout in %.3g times the seconds",
			r.Fastest.Strategy, r.Fastest.PerSecond, what, fixed, r.Fastest.Gain, r.Fastest.Gain/r.Fastest.PerSecond)
	}
	i := r.PerSecond
	switch {
	case r.DoNotBother:
	case i.Low > 1 || math.IsNaN(i.Low) && i.Estimate > 1:
		add("the recommended schedule is worth it by the clock too: %s times the %s", i, what)
	case i.High < 1 || math.IsNaN(i.High) && !(i.Estimate > 1):
		add("the recommended schedule is not worth it by the clock: %s times the %s, less than %s has", i, what, fixed)
	default:
		add("by the clock the recommended schedule is within noise of %s: %s times the %s", fixed, i, what)
	}
}

// recommendedPerSecond returns the gain a second of what is recommended, with
// the interval of its gain where that is known.
func (r *Result) recommendedPerSecond() Interval {
	i := slices.IndexFunc(r.Table, func(x Row) bool { return x.Strategy == r.Recommended })
	if i < 0 {
		return none()
	}
	row := r.Table[i]
	if row.candidate != r.Best.candidate {
		return Interval{row.PerSecond, math.NaN(), math.NaN()}
	}
	scale := row.PerSecond / row.Gain
	return Interval{r.Gain.Estimate * scale, r.Gain.Low * scale, r.Gain.High * scale}
}

// few says why the pilot has too few prompts for its interval; "" where it has
// enough.
func (r *Result) few() string {
	if r.Pilot == nil {
		return ""
	}
	return sim.FewPrompts(r.Pilot.Prompts(), r.varied())
}

// varied returns how many prompts of the pilot have both outcomes.
func (r *Result) varied() int {
	varied := 0
	for _, x := range r.Pilot.Cells() {
		if x.S > 0 && x.S < x.N {
			varied += x.Prompts
		}
	}
	return varied
}

// asPrecise is what rounds to the precision of equal groups in three digits.
const asPrecise = 0.9995

// sayNoise says where more of the objective comes without selection, or with a
// noisier gradient.
func (r *Result) sayNoise(o Options, add func(string, ...any)) {
	if r.Best.candidate.plan.M0 == 1 && r.Best.candidate.group == 0 {
		add("the best schedule's first cut is at random: one rollout shows no variance")
	}
	precision := r.Best.Gains.Under(o.Aggregate).GradientVariance
	if r.Best.candidate.group == 0 && precision < asPrecise {
		add("the best schedule's gradient is noisier than equal groups': %.3g of their precision a rollout", precision)
	}
}

// sayOthers says where more is to be had otherwise, and what it costs.
func (r *Result) sayOthers(o Options, add func(string, ...any)) {
	if row := r.Table[0]; !row.candidate.whole() && row.Gain > 0 {
		add("%s has %.3g times the %s without any selection, on %.3g prompts for each one of the batch: its gradient has %.3g of the precision a rollout",
			row.Strategy, row.Gain, words(o.Objective), row.Prompts, row.Gains.Under(o.Aggregate).GradientVariance)
	}
	for _, s := range r.Simulated {
		if s.Rounds <= o.MaxRounds && s.Gain-2*s.SE > max(1, r.Best.Gain) {
			add("%s, simulated on the law as it stands at batches of %d, has %s times the %s, in %s", s.Strategy, o.Batch, s.Finite, words(o.Objective), s.cost(o))
		}
	}
}

// largePilot is the number of prompts beyond which nobody asks for more of
// them: the choice of the law then weighs more than their number.
const largePilot = 100_000

// A PilotSize is the interval to expect from a pilot of a size: the gain as it
// is, with the spread of the errors around it.
type PilotSize struct {
	Prompts, Rollouts int // rollouts a prompt
	Gain              Interval
}

// pilotSizes redraws pilots of other sizes from the law, which is taken to be
// the real one (parametric bootstrap).
func (r *Result) pilotSizes(ctx context.Context, c *choice, o Options) ([]PilotSize, error) {
	prompts, rollouts := []int{100, 300, 1000, 3000}, o.Group
	if r.Pilot != nil {
		n := r.Pilot.Prompts()
		prompts, rollouts = slices.Compact([]int{max(1, n/4), max(1, n/2), n, 2 * n, 4 * n}), max(1, r.Pilot.Rollouts()/n)
		if n > largePilot {
			prompts = prompts[:3]
		}
	}
	worlds := max(FewestWorlds, o.Worlds/4)
	var all []PilotSize
	for _, n := range prompts {
		misses, err := c.misses(ctx, o, worlds, o.streams("sizes").With(uint64(n)), drawPilot(ctx, r.Law, n, rollouts))
		if err != nil {
			return nil, err
		}
		size := PilotSize{n, rollouts, none()}
		if len(misses) > 0 {
			i := interval(r.Best.Gain, Finite{}, misses, func(m miss) float64 { return m.gain }, nil)
			size.Gain = Interval{r.Best.Gain, i.Low, i.High}
		}
		all = append(all, size)
	}
	return all, nil
}

// drawPilot draws counts of n rollouts of fresh prompts.
func drawPilot(ctx context.Context, law distributions.Law, prompts, n int) func(stream.Key) (*fit.Counts, error) {
	return func(key stream.Key) (*fit.Counts, error) {
		src, err := source.NewSynthetic(law, nil, prompts)
		if err != nil {
			return nil, err
		}
		if _, err := src.Reset(key); err != nil {
			return nil, err
		}
		ask, cells := make([]rollout.Request, prompts), make([]fit.Cell, prompts)
		first, s := make([]int, prompts), make([]int, prompts)
		for x := range ask {
			ask[x] = rollout.Request{X: x, N: n}
		}
		if err := src.Draw(ctx, ask, first, s, nil); err != nil {
			return nil, err
		}
		for x := range cells {
			cells[x] = fit.Cell{N: n, S: s[x], Prompts: 1}
		}
		return fit.NewCounts(cells)
	}
}
