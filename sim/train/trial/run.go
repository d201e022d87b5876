package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"vigorlab/sim"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// Run runs the trial. Its result depends on cfg (Workers, Done, Save and Progress
// apart) alone, byte for byte. It stops early with ctx's error; with a
// train.DivergenceError where a run diverges and there was one rate alone; and
// where Done is not of this trial.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &trial{cfg: &cfg, levels: levels(&cfg), done: cfg.Done}
	result, err := t.describe()
	if err != nil {
		return nil, err
	}
	chosen, err := t.phase(ctx, PhaseChoose, t.choices())
	if err != nil {
		return nil, err
	}
	t.choose(result, chosen)
	reports, err := t.phase(ctx, PhaseReport, t.reports(result))
	if err != nil {
		return nil, err
	}
	if len(t.done) > 0 {
		return nil, fmt.Errorf("%d records beyond the last run, want those of this trial", len(t.done))
	}
	t.report(result, reports)
	return result, nil
}

// A trial is one trial under way.
type trial struct {
	cfg    *Config
	levels []float64
	done   []Record // that are still to be taken in
}

// levels returns the levels to time, rising, the target last.
func levels(cfg *Config) []float64 {
	l := append(slices.Clone(cfg.Levels), cfg.Train.Target)
	slices.Sort(l)
	return slices.Compact(l)
}

// describe returns a result without figures.
func (t *trial) describe() (*Result, error) {
	cfg := t.cfg
	r := &Result{
		Target: cfg.Train.Target, HeldOut: cfg.Train.HeldOut, Levels: t.levels,
		Rates: cfg.Rates, Seeds: cfg.Seeds, Level: cfg.Level,
	}
	if t.chooses() {
		r.ChooseSeeds = cfg.ChooseSeeds
	}
	for i := range cfg.Arms {
		a := &cfg.Arms[i]
		s, err := a.Strategy()
		if err != nil {
			return nil, err
		}
		system, err := train.NewSystem(a.System)
		if err != nil {
			return nil, err
		}
		r.Arms = append(r.Arms, ArmResult{
			Strategy: s.Spec(), Estimator: a.Objective.Estimator.Spec(), Aggregate: a.Objective.Aggregate,
			System: system.Spec(), Optimizer: a.Optimizer,
		})
	}
	return r, nil
}

// chooses reports whether there is a rate to choose.
func (t *trial) chooses() bool { return len(t.cfg.Rates) > 1 }

// choices lists the runs that choose the rates.
func (t *trial) choices() []Job {
	var jobs []Job
	if !t.chooses() {
		return nil
	}
	for arm := range t.cfg.Arms {
		for rate := range t.cfg.Rates {
			for seed := range t.cfg.ChooseSeeds {
				jobs = append(jobs, Job{PhaseChoose, arm, rate, seed})
			}
		}
	}
	return jobs
}

// reports lists the runs that report: every arm at the common rate and, where it
// is another, at its own.
func (t *trial) reports(r *Result) []Job {
	var jobs []Job
	for arm := range r.Arms {
		for _, rate := range r.reported(arm) {
			for seed := range t.cfg.Seeds {
				jobs = append(jobs, Job{PhaseReport, arm, rate, seed})
			}
		}
	}
	return jobs
}

// reported returns the places of the rates that an arm reports at.
func (r *Result) reported(arm int) []int {
	if best := r.Arms[arm].Best; best != r.Common {
		return []int{r.Common, best}
	}
	return []int{r.Common}
}

// phase returns the records of the jobs, in order: those already done, then the
// runs of the others.
func (t *trial) phase(ctx context.Context, phase string, jobs []Job) ([]Record, error) {
	n := min(len(t.done), len(jobs))
	records := slices.Clone(t.done[:n])
	t.done = t.done[n:]
	for i := range records {
		if err := t.check(&records[i], jobs[i]); err != nil {
			return nil, err
		}
	}
	todo := jobs[n:]
	err := sim.InOrder(ctx, t.cfg.Workers, len(todo),
		func() (func(context.Context, int) (*outcome, error), error) {
			return func(ctx context.Context, i int) (*outcome, error) { return t.run(ctx, todo[i]) }, nil
		},
		func(i int, o *outcome) error {
			if o.err != nil && !t.chooses() {
				return fmt.Errorf("arm %d, seed %d: %w", todo[i].Arm+1, todo[i].Seed+1, o.err)
			}
			if t.cfg.Save != nil {
				if err := t.cfg.Save(&o.record); err != nil {
					return err
				}
			}
			records = append(records, o.record)
			if t.cfg.Progress != nil {
				t.cfg.Progress(phase, len(records), len(jobs))
			}
			return nil
		})
	return records, err
}

// check refuses a record that is not of the job, or has not its probes.
func (t *trial) check(r *Record, j Job) error {
	probes := 0
	if j.Phase == PhaseReport && t.probed(j) {
		probes = quarters
	}
	if r.Job != j || len(r.Levels) != len(t.levels) || len(r.Probes) != probes {
		return fmt.Errorf("a record of %+v with %d levels and %d probes, want one of %+v with %d and %d: is it of another trial?",
			r.Job, len(r.Levels), len(r.Probes), j, len(t.levels), probes)
	}
	return nil
}

// probed reports whether the reports of a job's arm have probes.
func (t *trial) probed(j Job) bool { return t.cfg.Probes && t.cfg.Arms[j.Arm].System == "" }

// An outcome is a record and, of a run that diverged, where.
type outcome struct {
	record Record
	err    *train.DivergenceError
}

// seed derives the seed of a job: of the phase and its seed alone, so that all
// arms and rates start alike and meet common random numbers, and those that
// report are never those that chose.
func (t *trial) seed(j Job) uint64 {
	return uint64(stream.New(t.cfg.Train.Seed).Named("trial").Named(j.Phase).With(uint64(j.Seed)))
}

// run trains one policy.
func (t *trial) run(ctx context.Context, j Job) (*outcome, error) {
	arm := &t.cfg.Arms[j.Arm]
	cfg := t.cfg.Train
	cfg.Seed, cfg.Objective, cfg.System = t.seed(j), arm.Objective, arm.System
	cfg.Optimizer = train.WithRate(arm.Optimizer, t.cfg.Rates[j.Rate])
	cfg.Step, cfg.Recorder = nil, nil
	policy, err := t.cfg.NewPolicy(cfg.StartKey())
	if err != nil {
		return nil, err
	}
	strategy, err := arm.Strategy()
	if err != nil {
		return nil, err
	}
	w := &watch{ctx: ctx, target: cfg.Target, heldOut: cfg.HeldOut, levels: t.levels}
	w.record = Record{Job: j, Levels: make([]*Spent, len(t.levels))}
	if j.Phase == PhaseReport {
		const points = 128 // of a curve: finer than a figure shows
		cfg.Recorder = train.NewRecorder(points)
		if t.probed(j) {
			if w.prober, err = train.NewProber(cfg, policy, arm.Strategy); err != nil {
				return nil, err
			}
			w.record.Probes = make([]*train.Probe, quarters)
		}
	}
	cfg.Step = w.step
	_, err = train.Run(ctx, cfg, policy, strategy)
	o := &outcome{}
	if err := w.failed(err, &o.err); err != nil {
		return nil, err
	}
	if cfg.Recorder != nil {
		w.record.Interval, w.record.Curve = cfg.Recorder.Interval(), cfg.Recorder.Curve()
	}
	o.record = w.record
	return o, nil
}

// quarters is the number of probes of a run: at the start and at each quarter of
// the way to the target before the last.
const quarters = 4

// A watch fills the record of a run on its way.
type watch struct {
	ctx     context.Context
	target  float64
	heldOut bool
	levels  []float64
	prober  *train.Prober // nil for none
	start   float64
	probed  int
	record  Record
	err     error // of a probe, the first one
}

// step hears of every step.
func (w *watch) step(p train.Point) {
	l := p.Ledger
	w.record.End = Spent{Step: p.Step, Rollouts: l.Generated, Tokens: l.GeneratedTokens, Cost: p.Cost}
	w.record.Success = p.Success
	if !math.IsNaN(p.HeldOut) {
		w.record.HeldOut = &p.HeldOut
	}
	success := p.Success
	if w.heldOut {
		success = p.HeldOut
	}
	for i, level := range w.levels {
		if w.record.Levels[i] == nil && success >= level {
			end := w.record.End
			w.record.Levels[i] = &end
		}
	}
	w.probe(p, success)
}

// probe measures the gradient where the run first comes to a quarter of its way.
func (w *watch) probe(p train.Point, success float64) {
	if w.prober == nil || w.err != nil {
		return
	}
	if p.Step == 0 {
		w.start = success
	}
	for w.probed < quarters && success >= w.start+float64(w.probed)/quarters*(w.target-w.start) {
		probe, err := w.prober.Probe(w.ctx, w.probed, p)
		if err != nil {
			w.err = err
			return
		}
		w.record.Probes[w.probed] = probe
		w.probed++
	}
}

// failed takes in how the run ended: a divergence is data, other errors are
// returned. A probe that is not finite is of a policy that is about to diverge.
func (w *watch) failed(err error, diverged **train.DivergenceError) error {
	for _, err := range []error{w.err, err} {
		if err == nil {
			continue
		}
		if !errors.As(err, diverged) {
			return err
		}
		d := *diverged
		w.record.Diverged = &Diverged{Step: d.Step, Quantity: d.Quantity, Value: fmt.Sprint(d.Value)}
		return nil
	}
	return nil
}
