// Package plan holds the search for a schedule on a law of difficulty: what the
// exact mean field promises of every schedule of a budget, checked on finite
// batches and against the noise of the pilot that the law was fitted to. It
// refuses printing and reading files.
package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/pilot"
	"vigorlab/sim/schedule"
	"vigorlab/sim/stream"
	"vigorlab/theory"
)

// Options say what to plan. Make them with DefaultOptions.
type Options struct {
	Batch     int    // B, prompts a step, >= 1
	Group     int    // G, the budget: mean rollouts a prompt, in [2, schedule.MaxGroup]
	Objective string // what to gain: see Objectives
	Aggregate string // sim.AggregateRollout | sim.AggregatePrompt

	MaxGroup  int     // largest group of a schedule, in [Group, 1024]
	MaxRounds int     // most sequential rounds of a step, in [1, 16]
	Tolerance float64 // how far a schedule's rollouts a prompt may be from Group, as a share of it, in (0, 0.5]

	Visits     int    // last rows of every prompt that the fit pools, >= 1
	Smooth     string // the law behind counts: fit.SmoothBeta | fit.SmoothNPMLE
	Finalists  int    // best schedules that are looked at closely, >= 1
	Replicates int    // simulated batches of each finalist; 0 for none
	Worlds     int    // bootstrap samples of the pilot; 0 for none
	Clock      Clock

	Seed    uint64
	Workers int // goroutines, >= 1; no figure depends on it
}

// DefaultOptions returns the defaults of `vigorlab plan`.
func DefaultOptions() Options {
	return Options{
		Batch: 256, Group: 8, Objective: Progress, Aggregate: sim.AggregateRollout,
		MaxGroup: 64, MaxRounds: 6, Tolerance: 0.02,
		Visits: ahead, Smooth: fit.SmoothBeta, Finalists: 5, Replicates: 200, Worlds: 200,
		Seed: 1, Workers: runtime.GOMAXPROCS(0),
	}
}

// The largest values of options: the time of a search grows with either.
const (
	mostGroup  = 1024
	mostRounds = 16
)

// Validate reports every option outside its range, joined.
func (o *Options) Validate() error {
	var errs []error
	whole := func(field string, value, low, high int) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("plan: %s = %d, want a whole number in [%d, %d]", field, value, low, high))
		}
	}
	oneOf := func(field, value string, known ...string) {
		if !slices.Contains(known, value) {
			errs = append(errs, fmt.Errorf("plan: %s = %.80q, want one of %s", field, value, strings.Join(known, ", ")))
		}
	}
	whole("batch", o.Batch, 1, math.MaxInt32)
	whole("group", o.Group, 2, mostGroup)
	whole("max-group", o.MaxGroup, o.Group, mostGroup)
	whole("max-rounds", o.MaxRounds, 1, mostRounds)
	whole("finalists", o.Finalists, 1, 100)
	whole("replicates", o.Replicates, 0, math.MaxInt32)
	whole("worlds", o.Worlds, 0, math.MaxInt32)
	whole("visits", o.Visits, 1, math.MaxInt32)
	whole("workers", o.Workers, 1, math.MaxInt32)
	if o.Replicates == 1 || o.Worlds > 0 && o.Worlds < FewestWorlds {
		errs = append(errs, fmt.Errorf("plan: replicates = %d, worlds = %d: want none, or at least 2 and %d", o.Replicates, o.Worlds, FewestWorlds))
	}
	if !(o.Tolerance > 0 && o.Tolerance <= 0.5) {
		errs = append(errs, fmt.Errorf("plan: tolerance = %v, want (0, 0.5]", o.Tolerance))
	}
	oneOf("objective", o.Objective, Objectives()...)
	oneOf("aggregate", o.Aggregate, sim.AggregateRollout, sim.AggregatePrompt)
	oneOf("smooth", o.Smooth, fit.SmoothBeta, fit.SmoothNPMLE)
	return errors.Join(append(errs, o.Clock.validate())...)
}

// FewestWorlds is the smallest number of worlds of a bootstrap: where the 2.5 %
// point of an error lies inside the sample.
const FewestWorlds = 40

// A Subject is what a plan is for: a known law, or a pilot's table.
type Subject struct {
	Law     distributions.Law        // nil for a table
	Lengths *distributions.LengthLaw // nil where lengths are unknown, or a table has them
	Table   *table.Table             // nil for a law; the last rows of a prompt are pooled for the fit
	Origin  *pilot.Origin            // who chose the sizes of the table's rows; nil where nobody says
	// Beforehand says that the sizes of the table's rows were fixed before any
	// outcome, though they differ.
	Beforehand bool
}

// A Result is a plan with everything that speaks for it and against it.
type Result struct {
	Law       distributions.Law // known or fitted
	Pilot     *fit.Counts       // nil where the law is known
	Family    FamilyCheck       // of the Beta law behind Pilot
	Band      *Band             // Law beside Pilot; nil where that is nil, has more than 64 rollouts a prompt, or sizes that are not fixed beforehand
	Evaluated int               // schedules that the search looked at

	Best        Row // of the strategies that train on the whole batch
	Gain        Interval
	Other       OtherLaw
	Over        Interval // Best over the default schedule; NaN where there is none
	Fastest     Row      // of most gain a second, by the mean field; zero without a clock
	PerSecond   Interval // gain a second of Recommended; NaN without a clock
	Recommended string   // the spec to use: Best's, or the default's or the fixed group's where Best is within noise of it
	DoNotBother bool     // Recommended is the fixed group
	Verdict     []string

	Table     []Row // finalists and fixed groups, best first
	Front     Front
	Simulated []Simulated
	Theory    *theory.Prediction // Theorem 2 and its caps for Best; nil where Best is a fixed group

	Validation *Validation // nil without visits enough
	Unscored   string      // why there is none though prompts have several rows, "" otherwise
	Sizes      []PilotSize // nil without a bootstrap
	Warnings   []string

	design     fit.Design // of Pilot
	beforehand bool       // its sizes
}

// OtherLaw is what Best gains by the mean field of the other law that fits the
// pilot, parametric or not: the bootstrap knows nothing of the family's choice.
type OtherLaw struct {
	Smooth string  // "" where the law is known
	Gain   float64 // NaN where there is none
}

// An Interval is a gain with its 95 % interval; Low and High are NaN where
// there is none.
type Interval struct{ Estimate, Low, High float64 }

// String prints the interval after its estimate, to two significant digits of
// its width; the estimate alone where there is none.
func (i Interval) String() string {
	if !(i.High > i.Low) {
		return fmt.Sprintf("%.4g", i.Estimate)
	}
	d := decimals(i.High - i.Low)
	return fmt.Sprintf("%.*f [%.*f, %.*f]", d, i.Estimate, d, i.Low, d, i.High)
}

// Like prints a figure to the digits of the interval's estimate.
func (i Interval) Like(x float64) string {
	if !(i.High > i.Low) {
		return fmt.Sprintf("%.4g", x)
	}
	return fmt.Sprintf("%.*f", decimals(i.High-i.Low), x)
}

// withoutEnds returns the estimate alone.
func (i Interval) withoutEnds() Interval { return Interval{i.Estimate, math.NaN(), math.NaN()} }

// none is the interval of what does not exist.
func none() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// Run searches a plan.
func Run(ctx context.Context, s Subject, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &Result{Law: s.Law, Gain: none(), Over: none(), PerSecond: none(), Other: OtherLaw{Gain: math.NaN()}}
	if err := r.fit(s, o); err != nil {
		return nil, err
	}
	lengths, err := s.lengths()
	if err != nil {
		return nil, err
	}
	search, err := newSearch(ctx, r.Law, lengths, o)
	if err != nil {
		return nil, err
	}
	r.Evaluated = len(search.schedules)
	if r.Table, err = search.table(o); err != nil {
		return nil, err
	}
	if r.Simulated, err = simulate(ctx, r.Law, lengths, r.Table, o); err != nil {
		return nil, err
	}
	r.Best = best(r.Table)
	r.Fastest, _ = fastest(r.Table)
	r.Front = newFront(r.Table, search.schedules, o)
	if err := r.askOther(o); err != nil {
		return nil, err
	}
	if err := r.checkFamily(ctx, o); err != nil {
		return nil, err
	}
	if err := r.judge(ctx, o); err != nil {
		return nil, err
	}
	if r.Best.candidate.group == 0 {
		v := r.Best.candidate.plan
		r.Theory, err = theory.Predict(theory.Input{
			Variance: r.Law, Law: r.Law, Vigor: &v, Batch: o.Batch, Frontier: frontier, Nodes: theory.DefaultNodes,
		})
		if err != nil {
			return nil, err
		}
	}
	if s.Table != nil {
		r.Unscored = unscored(s.Table.ByPrompt())
		r.Validation, err = validate(s.Table, choiceOf(r.Table, o), o)
	}
	return r, err
}

// fit finds the law behind a table.
func (r *Result) fit(s Subject, o Options) error {
	if (s.Law == nil) == (s.Table == nil) {
		return errors.New("plan: want a law or a table, one of them")
	}
	if s.Table == nil {
		return nil
	}
	counts, pooled, err := Pilot(s.Table, o.Visits)
	if err != nil {
		return err
	}
	if err := r.sizes(s, o); err != nil {
		return err
	}
	if pooled {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the last %d rows of every prompt are pooled as if it had not changed in between", o.Visits))
	}
	r.Pilot = counts
	return r.smooth(o)
}

// sizes learns how the sizes of the pilot came about.
func (r *Result) sizes(s Subject, o Options) (err error) {
	r.beforehand = s.Beforehand || pilot.Beforehand(s.Table)
	if s.Origin == nil {
		return nil
	}
	r.design, err = pilot.Design(pilot.Rows{Table: s.Table, Pooled: true, Last: o.Visits}, *s.Origin)
	r.beforehand = r.design == nil
	return err
}

// Pilot returns the counts of a table, the last rows of every prompt pooled,
// and whether any were. It is an error where a prompt has more than
// fit.MaxRollouts rollouts in them.
func Pilot(t *table.Table, visits int) (counts *fit.Counts, pooled bool, err error) {
	var cells []fit.Cell
	for _, rows := range t.ByPrompt() {
		pooled = pooled || len(rows) > 1 && visits > 1
		last := rows[max(0, len(rows)-visits):]
		n, k := pool(last)
		if n > fit.MaxRollouts {
			return nil, false, fmt.Errorf("%s: prompt %.80q: n = %.0f in its last %d rows, want at most %d", t.Name, rows[0].PromptID, n, len(last), fit.MaxRollouts)
		}
		cells = append(cells, fit.Cell{N: int(n), S: int(k), Prompts: 1})
	}
	counts, err = fit.NewCounts(cells)
	return counts, pooled, err
}

// askOther evaluates Best on the other law.
func (r *Result) askOther(o Options) error {
	if r.Pilot == nil {
		return nil
	}
	r.Other.Smooth = fit.SmoothNPMLE
	if o.Smooth == fit.SmoothNPMLE {
		r.Other.Smooth = fit.SmoothBeta
	}
	law, err := fit.Smooth(r.Pilot, r.Other.Smooth)
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the %s law is not to be had: %v", r.Other.Smooth, err))
		return nil
	}
	o.Clock = Clock{}
	row, err := newField(law, nil, searchNodes, o.Objective == GradientVariance).row(r.Best.candidate, o)
	r.Other.Gain = row.Gain
	return err
}

// lengths returns the law of lengths, that of a table's own tokens; nil where
// they are unknown.
func (s Subject) lengths() (*distributions.LengthLaw, error) {
	if s.Table == nil || !s.Table.HasTokens || s.Lengths != nil {
		return s.Lengths, nil
	}
	recorded := make([]distributions.Recorded, len(s.Table.Rows))
	for i, row := range s.Table.Rows {
		recorded[i] = distributions.Recorded{P: row.P(), Tokens: row.Tokens}
	}
	return distributions.NewRecordedLengths(recorded)
}

// smooth finds the law behind the pilot.
func (r *Result) smooth(o Options) (err error) {
	r.Law, err = fit.Smooth(r.Pilot, o.Smooth)
	return err
}

// streams returns the stream of one purpose.
func (o *Options) streams(purpose string) stream.Key {
	return stream.New(o.Seed).Named("plan").Named(purpose)
}

// inBudget reports whether rollouts a prompt are those of the budget.
func (o *Options) inBudget(rollouts float64) bool {
	g := float64(o.Group)
	return math.Abs(rollouts-g) <= o.Tolerance*g*(1+1e-12)
}

// Default returns the spec of the default schedule at the budget, which Table
// has where it fits.
func (o *Options) Default() string { return candidate{plan: o.standard(), budget: o.Group}.spec() }

// NoChange returns the spec of the fixed groups of the budget.
func (o *Options) NoChange() string { return candidate{group: o.Group, budget: o.Group}.spec() }

// standard returns VIGOR's default schedule at the budget: its m0 is the whole
// number nearest to a quarter of it.
func (o *Options) standard() schedule.Vigor {
	v := schedule.Default()
	v.M0 = max(1, (o.Group+2)/4)
	return v
}
