package sim

// An Estimate is a Monte Carlo figure with its standard error over replicates.
type Estimate struct {
	Mean float64
	SE   float64 // NaN with a single replicate
	// Reason says why the figure does not exist; Mean and SE then mean nothing.
	Reason string
	// Untrusted says why Mean and SE may not be believed though they could be
	// computed, as where the variance is infinite; Exact, where it is known,
	// is the figure to use.
	Untrusted string
	Exact     *float64
	// Prompts, from Bootstrap alone, is an interval over other samples of
	// prompts: how far the figure would move with prompts like these.
	Prompts *Interval
}

// Interval95 returns the 95 % interval of the normal law, mean ± 1.96 SE.
func (e Estimate) Interval95() (low, high float64) {
	const near95 = 1.959963984540054 // the 97.5 % quantile
	return e.Mean - near95*e.SE, e.Mean + near95*e.SE
}

// unseen gives a figure that was 0 in each of n replicates, or a share that was
// 0 or 1, the error 1/n: it need not be so in all. A mean off by 1 in one replicate of n
// has that error, and n replicates miss it with probability 1/e, or 1/20 at
// three times as often, the rule of three.
func (e *Estimate) unseen(n float64) {
	if e.Reason == "" && (e.Mean == 0 || e.Mean == 1) {
		e.SE = max(e.SE, 1/n)
	}
}

// An Interval is a confidence interval of the given level.
type Interval struct {
	Low, High, Level float64
	Missing          int // samples in which the figure does not exist, and which the interval leaves out
}

// A Result holds what a run measured, strategy by strategy.
type Result struct {
	Batch      int
	Replicates int
	Seed       uint64
	Aggregate  string // AggregateRollout | AggregatePrompt
	Frontier   float64
	Strategies []Outcome
}

// An Outcome holds the figures of one strategy (theory.md, sections 0, 3.2 and
// 4). All are under signed coding.
type Outcome struct {
	Strategy string // normalised spec

	RolloutsPerPrompt Estimate // generated rollouts per prompt of the batch
	TrainedPerPrompt  Estimate // rollouts in the update per prompt of the batch
	Rounds            Estimate // sequential rounds of generation

	// Eta is E[sum w u] / (E[sum w] E[u]) over the groups that the update
	// uses: a ratio of means, its error by the delta method. The weight w of a
	// group is its size G, or 1 under AggregatePrompt.
	Eta Estimate
	// EtaGenerated is the same weight per generated rollout.
	EtaGenerated Estimate
	// EtaBatchMean is the mean over batches of the per-batch ratio: another
	// figure than Eta.
	EtaBatchMean Estimate

	Signal             Estimate // E[sum w sigma] / E[sum w]
	SignalPromptMean   Estimate // mean over prompts of sigma
	SignalRelative     Estimate // Signal over that of the fixed group of the same mean size
	Ineffective        Estimate // share of rollouts in groups with s = 0 or s = G
	ZeroVarianceGroups Estimate // share of such groups
	Progress           Estimate // E[sum w sigma u]/E[sum w] over that of the fixed group of the same mean size (4.6)

	// The fixed group of the same mean size, on the same prompts.
	FixedSignal             Estimate
	FixedSignalPromptMean   Estimate
	FixedIneffective        Estimate
	FixedZeroVarianceGroups Estimate

	TokensPerPrompt Estimate // generated tokens per prompt; the Token figures need a length law
	EtaToken        Estimate // reward variance per generated token, relative to equal rollouts for every prompt
	SignalToken     Estimate // signal per generated token, relative to the fixed group of the same mean size

	GroupSizes []SizeShare
	Screening  []Screening
	Allocation []AllocationBin
}

// A SizeShare is the share of a batch's groups that have a size.
type SizeShare struct {
	Size  int
	Share Estimate
}

// Screening holds the errors of one cut against the frontier u >= Frontier.
type Screening struct {
	Round                   int      // the round after which the cut falls, from 1
	FalseOmission           Estimate // P(frontier | dropped here)
	FalseNegative           Estimate // P(dropped here | frontier and still active)
	FalseNegativeCumulative Estimate // P(dropped by now | frontier)
}

// An AllocationBin is the mean group of the prompts with Low <= p < High (the
// last bin includes p = 1).
type AllocationBin struct {
	Low, High float64
	Share     float64 // of the prompts
	Rollouts  Estimate
}

// A Named is a figure under its name in documents and tables.
type Named struct {
	Name     string
	Estimate *Estimate
}

// Named lists the errors of a cut in a fixed order; the pointers point into s.
func (s *Screening) Named() []Named {
	return []Named{
		{"false_omission", &s.FalseOmission},
		{"false_negative", &s.FalseNegative},
		{"false_negative_cumulative", &s.FalseNegativeCumulative},
	}
}

// Named lists the figures of o that are single numbers, in a fixed order; the
// pointers point into o.
func (o *Outcome) Named() []Named {
	return []Named{
		{"rollouts_per_prompt", &o.RolloutsPerPrompt},
		{"trained_per_prompt", &o.TrainedPerPrompt},
		{"rounds", &o.Rounds},
		{"eta", &o.Eta},
		{"eta_generated", &o.EtaGenerated},
		{"eta_batch_mean", &o.EtaBatchMean},
		{"signal", &o.Signal},
		{"signal_prompt_mean", &o.SignalPromptMean},
		{"signal_relative", &o.SignalRelative},
		{"ineffective", &o.Ineffective},
		{"zero_variance_groups", &o.ZeroVarianceGroups},
		{"progress", &o.Progress},
		{"fixed_signal", &o.FixedSignal},
		{"fixed_signal_prompt_mean", &o.FixedSignalPromptMean},
		{"fixed_ineffective", &o.FixedIneffective},
		{"fixed_zero_variance_groups", &o.FixedZeroVarianceGroups},
		{"tokens_per_prompt", &o.TokensPerPrompt},
		{"eta_token", &o.EtaToken},
		{"signal_token", &o.SignalToken},
	}
}
