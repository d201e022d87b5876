// Package trial holds trials: arms of training compared over seeds. It refuses
// to say how a policy learns, and drawing.
package trial

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"vigorlab/sim"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// An Arm is one way to train.
type Arm struct {
	Strategy  sim.NewStrategy
	Objective train.Objective
	System    string // a spec (see train.NewSystem), "" for none
	Optimizer string // a spec without its learning rate, such as "momentum:beta=0.9"
}

// A Config says what a trial compares. Make it with DefaultConfig.
//
// An allocation rescales the step, so every arm has its own best learning rate
// (theory.md, 4.4). Where Rates is a grid, every arm first runs at every rate on
// ChooseSeeds seeds; then it runs on Seeds other ones at its own best rate and at
// the common one, which is the best rate of the reference, the first arm. A single
// rate leaves nothing to choose.
//
// The chance in the choice is in no interval: two arms of one law may be given
// different rates, where their ratio is not 1. Of 150 trials of such twins (logit,
// KL = 0.05, 4 epochs, rates from 8 to 128 by factors of 2, ChooseSeeds = 8, Seeds =
// 16) the 95 % interval left 1 out in 18 at their own rates, which differed in 73,
// and in 8 at the common one.
type Config struct {
	// Train is what all arms share. Its Objective, Optimizer and System are those
	// of the arms, its seed derives every seed of the trial, and Step and Recorder
	// are the trial's own.
	Train train.Config
	// NewPolicy makes the policy that a run starts from; key names its start, the
	// same for all arms of a seed.
	NewPolicy func(key stream.Key) (train.Policy, error)

	Arms        []Arm     // at least 1; Arms[0] is the reference of every ratio
	Rates       []float64 // learning rates > 0, rising; a tabular policy's scale with the batch, over which a step is averaged
	ChooseSeeds int       // of every arm and rate, >= 1; unused with a single rate
	Seeds       int       // of every report, >= 1
	Levels      []float64 // further levels of the target's success to time, in (0, target)

	Resamples int     // of the bootstrap intervals, >= 2
	Level     float64 // of all intervals, in (0, 1)
	Ladder    bool    // whether every arm is compared with the one of the strategy before it too (see Measure.Before)
	Probes    bool    // whether reports of arms without a system measure the gradient on the way (see train.Prober)
	Workers   int     // >= 1; no figure depends on it

	// Done holds the first records of a trial that was stopped, as Save heard
	// them: the trial goes on after them, to the same result.
	Done []Record
	// Save, where not nil, hears of every further record, in order and from one
	// goroutine at a time. A trial stops with its error.
	Save func(*Record) error
	// Progress, where not nil, hears how many runs of the phase are done.
	Progress func(phase string, done, total int)
}

// DefaultConfig returns train's defaults, learning rates from 1/4 to 4 by factors
// of 2, 8 seeds to choose and 16 to report, 95 % intervals of 2,000 resamples,
// whose ends have 50 beyond them, and all cores.
func DefaultConfig() Config {
	return Config{
		Train: train.DefaultConfig(), Rates: []float64{0.25, 0.5, 1, 2, 4}, ChooseSeeds: 8, Seeds: 16,
		Resamples: 2000, Level: 0.95, Probes: true, Workers: runtime.GOMAXPROCS(0),
	}
}

// Validate reports every parameter outside its range, joined.
func (c *Config) Validate() error {
	errs := []error{c.Train.Validate()}
	fault := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s = %v, want %s", name, value, want))
	}
	if c.NewPolicy == nil {
		fault("policy", "none", "one")
	}
	for _, n := range []struct {
		name           string
		value, atLeast int
	}{
		{"arms", len(c.Arms), 1},
		{"rates", len(c.Rates), 1},
		{"seeds to choose the rate", c.ChooseSeeds, 1},
		{"seeds", c.Seeds, 1},
		{"resamples", c.Resamples, 2},
		{"workers", c.Workers, 1},
	} {
		if n.value < n.atLeast {
			fault(n.name, n.value, fmt.Sprintf("at least %d", n.atLeast))
		}
	}
	if !(c.Level > 0 && c.Level < 1) {
		fault("level", c.Level, "(0, 1)")
	}
	before := 0.0
	for _, r := range c.Rates {
		if !(r > before && r <= math.MaxFloat64) {
			fault("learning rate", r, "finite numbers > 0 that rise")
		}
		before = r
	}
	for _, l := range c.Levels {
		if !(l > 0 && l < c.Train.Target) {
			fault("target level", l, fmt.Sprintf("(0, %v), below the target", c.Train.Target))
		}
	}
	for i, a := range c.Arms {
		if err := a.validate(c.Rates); err != nil {
			errs = append(errs, fmt.Errorf("arm %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func (a *Arm) validate(rates []float64) error {
	errs := []error{a.Objective.Validate()}
	if a.Strategy == nil {
		errs = append(errs, errors.New("strategy = none, want one"))
	}
	if _, err := train.NewSystem(a.System); err != nil {
		errs = append(errs, err)
	}
	for _, r := range rates {
		if _, err := train.NewOptimizer(train.WithRate(a.Optimizer, r)); err != nil {
			errs = append(errs, err)
			break
		}
	}
	return errors.Join(errs...)
}
