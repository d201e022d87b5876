package trial

import "vigorlab/sim"

// A Figure is an estimate with a confidence interval; an end, or the estimate,
// that the data do not determine is nil, and Reason says why.
type Figure struct {
	Estimate, Low, High *float64
	Reason              string
}

// A Result is what a trial found. Its figures are worked out from the records
// alone.
type Result struct {
	Target      float64
	HeldOut     bool      // the target is one of the held-out prompts
	Levels      []float64 // Config.Levels, then the target
	Rates       []float64
	ChooseSeeds int // 0 where there was nothing to choose
	Seeds       int
	Level       float64 // of all intervals
	Common      int     // the place of the common rate in Rates
	Arms        []ArmResult
}

// An ArmResult is what a trial found of one arm.
type ArmResult struct {
	Strategy, Estimator, Aggregate, System, Optimizer string // normalised specs, but the optimizer's, which is that of Arm

	Grid []RateResult // by rate, on the seeds that chose; nil where there was nothing to choose
	Best int          // the place of the arm's own best rate in Rates
	// Edge says that the best rate is at an end of the grid, "lowest" or
	// "highest", so that a better one may lie beyond; "" elsewhere.
	Edge string
	// Gain is, where Edge is "highest", what the second largest rate spent over what the
	// largest did, paired by seed: where its interval holds 1 they cannot be told
	// apart, and no larger rate is worth the search; nil elsewhere.
	Gain *Ratio

	Common *Report // at the common rate
	Own    *Report // at the arm's own best rate: the same report where the rates are
}

// A RateResult is what an arm did at one rate on the seeds that chose. The best
// rate is the one of the smallest median; among those that tie or have none, the
// one that reached the target on more seeds, then the one of the highest success
// at the end, then the smallest. A rate at which a run diverged is chosen only
// where all did.
type RateResult struct {
	Rate     float64
	Median   Figure  // of rollouts to target
	Reached  int     // seeds
	Success  float64 // at the end, mean over seeds
	Diverged []Diverged
}

// A Report is what an arm did at one rate on the seeds that report.
type Report struct {
	Rate     float64
	Levels   []LevelResult // by level, the target last
	Diverged []Diverged
	// Success is that of the target's prompts at the end of a run, mean over seeds:
	// about the target where runs reached it.
	Success     sim.Estimate
	Diagnostics []Diagnostic // of the system; nil for none
	Curve       []CurveStep
	Probes      []ProbeResult // by quarter of the way to the target; nil without probes
}

// A LevelResult is what it took to reach one level.
type LevelResult struct {
	Level    float64
	Reached  int // of the seeds
	Seeds    int
	Steps    Figure // median
	Rollouts Measure
	Tokens   *Measure // nil where every rollout is one token
	Cost     *Measure // nil where every rollout costs as much as one of the full policy
}

// A Measure is what it took in one unit. Within compares an arm of a system with the
// reference's strategy under the same system, estimator and aggregation, at that arm's
// own best rate: what the strategy is worth there, apart from what the system costs. It
// is nil of arms without a system, of that arm itself and where no arm is it. Median is the Kaplan-Meier median over
// seeds (see Median); a run that diverged, or ran out of steps, never gets there.
// Others are censored at what they had spent when they ran out of rollouts: all
// alike in rollouts, but not in tokens and cost. Ratio is what the reference spent, at its best rate, over
// what the arm spent, paired by seed: above 1 the arm saves (see Compare). Before,
// of a ladder alone, is the same for the arm of the strategy before this one, under
// the same estimator, aggregation and system: at its own best rate beside an arm at
// its own, and at the common one there; nil of the first.
type Measure struct {
	Median Figure
	Ratio  Ratio
	Within *Ratio
	Before *Ratio
}

// A Ratio compares an arm with the reference, paired by seed: Figure estimates
// exp of the mean or of the median of log(reference/arm), as Statistic says, with
// a bootstrap interval over seeds.
type Ratio struct {
	Figure
	Statistic string // StatisticMean | StatisticMedian
}

// What a Ratio estimates.
const (
	StatisticMean   = "geometric mean" // where both reached the level on every seed
	StatisticMedian = "median"         // where some did not: of what is known of the ratios
)

// A Diagnostic is a figure of an arm's system: its mean over the steps of a run,
// then over seeds. Steps at which it is not finite are left out.
type Diagnostic struct {
	Name string
	sim.Estimate
	Seeds int // those that have the figure
}

// A CurveStep is a training curve at one step, over seeds.
type CurveStep struct {
	Step   int
	Series []Series
}

// A Series is one figure of a curve over seeds: its mean with standard error and
// the band of its 10 % and 90 % quantiles.
type Series struct {
	Name string
	sim.Estimate
	Low, High float64
	Seeds     int // those that have the figure: others trained on nothing in the interval
}

// A ProbeResult judges the gradient estimate of an arm at a quarter of the way from
// the start to the target, over the seeds that came so far (see train.Probe).
// The gradients of all seeds, one below the other, count as one vector.
type ProbeResult struct {
	Quarter  int // 0 for the start
	Seeds    int
	Success  float64 // mean
	Rollouts float64 // generated a step, mean
	// SNR is the squared norm of the mean gradient over the variance of one
	// step's, summed over parameters.
	SNR sim.Estimate
	// Bias is 1 less the cosine of the mean gradient to the exact gradient of
	// groups without end, every prompt alike; Length is its length over that one's.
	Bias, Length sim.Estimate
}
