package verify

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
)

// rung6 asks whether what a strategy gains in one step survives learning: it
// measures rollouts to target (theory.md, 4.4) in a slice for either aggregation
// and either way to set learning rates, beside what eta (4.1, 4.2), progress
// (4.6) and the mean field of training foretell.
func rung6() []study {
	s := []study{{id: "6.path", comparisons: len(pathCases), run: pathBesideTraining}}
	for _, sl := range slices6 {
		s = append(s, study{id: "6." + sl.name(), run: sl.run})
	}
	return append(s, study{id: "6.reach", run: reach}, study{id: "6.systems", run: systems})
}

// What all training runs of the rung share. A success probability below the
// floor starts at it, since no policy has one of 0.
const (
	trainPrompts = 512
	trainBatch   = 64
	trainFloor   = 0.001
	trainHeldOut = 128
	trainMost    = 5_000_000 // rollouts of a run
)

// popSparse is prompts most of which are dead, if not for the floor.
const popSparse = "spiked-beta:dead=0.7,solved=0,a=0.5,b=0.5"

// The strategies of the rung. Groups of 8 are the reference; VIGOR has their
// budget; smaller and larger groups at the same rate are free rivals.
const (
	reference = "fixed:g=8"
	vigorPlan = "vigor"
	vigorTwo  = "vigor:m0=4,rounds=2,alpha=1/4,gamma=4"
)

func rivals(quick bool) []string {
	if quick {
		return []string{"fixed:g=2", "fixed:g=16"}
	}
	return []string{"fixed:g=2", "fixed:g=16", "thompson:g=8"}
}

// A regime is how learning rates are set.
type regime string

const (
	smallSteps regime = "small"
	bestRate   regime = "best"
)

func (r regime) String() string {
	if r == bestRate {
		return "every strategy at its own best rate"
	}
	return "all at one small rate"
}

// rates returns the learning rates of a regime. At trainBatch c a group of usual
// size moves its logit by c gain: at most c/2 under GRPO and c/4 under Dr. GRPO,
// where c is twice as large for steps as small.
func (r regime) rates(estimator string) []float64 {
	switch {
	case r == bestRate:
		return []float64{trainBatch, 4 * trainBatch, 16 * trainBatch, 64 * trainBatch}
	case estimator == "drgrpo":
		return []float64{trainBatch / 2}
	}
	return []float64{trainBatch / 4}
}

// A slice is all that is compared under one aggregation and one regime.
type slice struct {
	aggregate string
	regime    regime
}

var slices6 = []slice{
	{sim.AggregateRollout, smallSteps},
	{sim.AggregateRollout, bestRate},
	{sim.AggregatePrompt, smallSteps},
	{sim.AggregatePrompt, bestRate},
}

func (s slice) name() string { return s.aggregate + "-" + string(s.regime) }

func (s slice) String() string {
	return fmt.Sprintf("averaged over %ss, %s", s.aggregate, s.regime)
}

// A world is what strategies meet.
type world struct {
	population string
	levels     []float64 // of the mean success; the last one is the target
	policy     string    // a spec without its floor
	heldOut    bool      // whether the levels are of the held-out prompts
	estimator  string
}

const tabular = "logit"

var linked = fmt.Sprintf("linear:overlap=0.3,skills=64,heldout=%d", trainHeldOut)

// starts returns the populations of the rung and the levels to time on them.
func starts() []world {
	return []world{
		{population: popBeta13, levels: []float64{0.3, 0.35, 0.4, 0.5}},
		{population: popSparse, levels: []float64{0.18, 0.195, 0.21}},
		{population: popUniform, levels: []float64{0.55, 0.6, 0.75, 0.9}},
		{population: popBeta55, levels: []float64{0.55, 0.6, 0.75, 0.9}},
		{population: popTP15, levels: []float64{0.6, 0.75}},
	}
}

// worlds returns the worlds of a slice. Prompts that share features learn from
// each other, in a few steps at the largest rates: too few to compare.
func (s slice) worlds(quick bool) []world {
	starts := starts()
	kinds := []world{{policy: tabular, estimator: "grpo"}}
	if quick {
		starts = starts[:3]
	} else {
		kinds = append(kinds, world{policy: tabular, estimator: "drgrpo"})
		if s.regime == smallSteps {
			kinds = append(kinds, world{policy: linked, estimator: "grpo"}, world{policy: linked, estimator: "grpo", heldOut: true})
		}
	}
	var all []world
	for _, kind := range kinds {
		for _, w := range starts {
			w.policy, w.estimator, w.heldOut = kind.policy, kind.estimator, kind.heldOut
			all = append(all, w)
		}
	}
	return all
}

func (w world) target() float64 { return w.levels[len(w.levels)-1] }

func (w world) String() string {
	held := ""
	if w.heldOut {
		held = ", held out"
	}
	return fmt.Sprintf("%s to %v%s, %s, %s", w.population, w.target(), held, w.policy, w.estimator)
}

// A Ratio is how many times fewer rollouts a strategy needs than fixed groups of
// 8 until the mean success probability first is Target, as measured and as
// foretold.
type Ratio struct {
	Population string  `json:"population"`
	Policy     string  `json:"policy"`
	HeldOut    bool    `json:"held_out"` // the target is one of held-out prompts
	Estimator  string  `json:"estimator"`
	Aggregate  string  `json:"aggregate"`
	Regime     string  `json:"rates"` // "small" | "best"
	Rate       float64 `json:"rate"`
	Edge       string  `json:"edge,omitempty"` // of the grid, where the best rate is there: "lowest" | "highest"
	Target     float64 `json:"target"`
	Strategy   string  `json:"strategy"`

	Measured *float64 `json:"measured"` // geometric mean over seeds, or the median where some did not reach it
	Low      *float64 `json:"low"`      // 95 % interval over seeds, Student's of the logarithm, or trial's of the median
	High     *float64 `json:"high"`
	SE       *float64 `json:"se"` // nil for a median
	Seeds    int      `json:"seeds"`
	Reason   string   `json:"reason,omitempty"`

	// Predicted has an entry a predictor, in the order of PredictorNames; nil
	// where a strategy has no such theory.
	Predicted []*float64 `json:"predicted"`

	// Logs has the logarithm of the ratio by seed, nil where some did not reach the
	// target.
	Logs []float64 `json:"logs,omitempty"`
}

// run compares all strategies in all worlds of the slice.
func (s slice) run(ctx context.Context, e *env) (*Section, error) {
	section := &Section{}
	worlds := s.worlds(e.cfg.Quick)
	foretold, err := s.foretell(ctx, e, worlds)
	if err != nil {
		return nil, err
	}
	for i, w := range worlds {
		e.progress(i, len(worlds))
		r, records, arms, err := s.train(ctx, e, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		for a := 1; a < len(arms); a++ {
			p := foretold[forecastKey{w.population, w.estimator, arms[a]}]
			section.Ratios = append(section.Ratios, s.ratio(w, arms[a], r, a, records, p))
			if arms[a] == vigorPlan && w.policy == tabular && w.estimator == "grpo" {
				section.Curves = append(section.Curves, s.levelCurves(w, r, a, p)...)
			}
		}
	}
	section.Curves = append(section.Curves, s.calibrationCurves(section.Ratios)...)
	section.Rows = s.rows(section.Ratios)
	return section, nil
}

// train runs one world's trial. Its reports alone are kept as records.
func (s slice) train(ctx context.Context, e *env, w world) (*trial.Result, []trial.Record, []string, error) {
	l, err := rewarding(w.population)
	if err != nil {
		return nil, nil, nil, err
	}
	objective := train.DefaultObjective()
	objective.Aggregate = s.aggregate
	if objective.Estimator, err = train.NewEstimator(w.estimator); err != nil {
		return nil, nil, nil, err
	}
	cfg := trial.DefaultConfig()
	cfg.Train.Seed, cfg.Train.Population, cfg.Train.Batch = e.cfg.Seed, e.study+" "+w.population, trainBatch
	cfg.Train.Target, cfg.Train.HeldOut, cfg.Train.MaxRollouts = w.target(), w.heldOut, trainMost
	cfg.Levels = w.levels[:len(w.levels)-1]
	cfg.NewPolicy = func(key stream.Key) (train.Policy, error) {
		return train.NewPolicy(withFloor(w.policy), l, trainPrompts, key)
	}
	cfg.Rates, cfg.ChooseSeeds, cfg.Seeds = s.regime.rates(w.estimator), 3, 10
	if e.cfg.Quick {
		cfg.ChooseSeeds, cfg.Seeds = 2, 6
	}
	cfg.Probes, cfg.Workers = false, e.cfg.Workers
	arms := append([]string{reference, vigorPlan, vigorTwo}, rivals(e.cfg.Quick)...)
	for _, text := range arms {
		cfg.Arms = append(cfg.Arms, trial.Arm{
			Strategy:  func() (strategy.Strategy, error) { return strategy.Parse(text, nil) },
			Objective: objective, Optimizer: "sgd",
		})
	}
	var records []trial.Record
	cfg.Save = func(r *trial.Record) error {
		if r.Phase == trial.PhaseReport {
			records = append(records, *r)
		}
		return nil
	}
	r, err := trial.Run(ctx, cfg)
	return r, records, arms, err
}

func withFloor(policy string) string {
	if policy == tabular {
		return fmt.Sprintf("%s:floor=%v", policy, trainFloor)
	}
	return fmt.Sprintf("%s,floor=%v", policy, trainFloor)
}

// ratio is what an arm's own report says of its target.
func (s slice) ratio(w world, name string, r *trial.Result, arm int, records []trial.Record, p *forecast) Ratio {
	own := r.Arms[arm].Own
	level := own.Levels[len(own.Levels)-1].Rollouts.Ratio
	x := Ratio{
		Population: w.population, Policy: w.policy, HeldOut: w.heldOut, Estimator: w.estimator,
		Aggregate: s.aggregate, Regime: string(s.regime), Rate: own.Rate, Edge: r.Arms[arm].Edge,
		Target: w.target(), Strategy: name,
		Measured: level.Estimate, Low: level.Low, High: level.High, Reason: level.Reason, Seeds: r.Seeds,
		Predicted: p.ratios(), Logs: logRatios(r, arm, records),
	}
	switch {
	case x.Logs != nil && x.Measured != nil:
		mean, sd := stat.MeanStdDev(x.Logs, nil)
		over := student(mean, sd/math.Sqrt(float64(len(x.Logs))), len(x.Logs))
		x.SE = number(*x.Measured * over.se)
		x.Low, x.High = number(math.Exp(over.low)), number(math.Exp(over.high))
	case x.Reason == "":
		x.Reason = "se: the ratio is a median"
	}
	return x
}

// logRatios returns the logarithm of what the reference spent at its best rate
// over what an arm spent at its own, by seed; nil where some did not reach the
// target.
func logRatios(r *trial.Result, arm int, records []trial.Record) []float64 {
	spent := func(arm, rate int) []float64 {
		var logs []float64
		for i := range records {
			if q := &records[i]; q.Arm == arm && q.Rate == rate {
				if end := q.Levels[len(q.Levels)-1]; end != nil && end.Rollouts > 0 {
					logs = append(logs, math.Log(float64(end.Rollouts)))
				}
			}
		}
		return logs
	}
	reference, own := spent(0, r.Common), spent(arm, r.Arms[arm].Best)
	if len(reference) < r.Seeds || len(own) < r.Seeds {
		return nil
	}
	for k := range own {
		own[k] = reference[k] - own[k]
	}
	return own
}

// trainingStart returns the nodes of a law as policies start from it.
func trainingStart(l distributions.Law) []distributions.Node {
	const nodes = 200
	start := l.Nodes(nodes, distributions.U(trainFloor))
	for i, n := range start {
		start[i].P = min(max(n.P, trainFloor), 1-trainFloor)
	}
	return start
}

// parsePlan returns the schedule of a spec, nil where it is none of VIGOR's, and
// the group of one of fixed groups.
func parsePlan(text string) (*schedule.Vigor, int, error) {
	s, err := strategy.Parse(text, nil)
	if err != nil {
		return nil, 0, err
	}
	switch s := s.(type) {
	case *strategy.Vigor:
		v := s.Plan()
		return &v, 0, nil
	case *strategy.Fixed:
		return nil, s.Group(), nil
	}
	return nil, 0, nil
}

// of returns the ratios of some strategies.
func of(ratios []Ratio, strategies ...string) []Ratio {
	return slices.DeleteFunc(slices.Clone(ratios), func(r Ratio) bool { return !slices.Contains(strategies, r.Strategy) })
}
