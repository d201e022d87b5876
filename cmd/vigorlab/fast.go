package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/strategy"
)

// fastFlags are those of simulate that save time.
type fastFlags struct {
	fast      bool
	precision float64 // 0: eta comes from the batches, like all else
}

func (f *simulateFlags) registerFast(flags *pflag.FlagSet) {
	flags.BoolVar(&f.fast, "fast", false, "draw counts before success probabilities: the same law by other random numbers, several times faster; for one VIGOR beside the fixed group of its mean size")
	f.real(flags, &f.precision, "precision", 0, 1, "eta of every VIGOR with a standard error of about `E`, from batches of its own, by control variates; 0 takes it from the batches of all else")
}

// checkFast records what stands against --fast and --precision.
func (f *simulateFlags) checkFast(p spec.Population, strategies []strategy.Strategy) {
	if f.fast && f.emitTable != "" {
		f.addf("--emit-table: --fast has no prompts one by one, give one of the two")
	}
	if p.Variance != nil && p.Law == nil && (f.fast || f.precision > 0) {
		f.addf("--fast, --precision: --population %s has no rewards", p.Spec)
	}
	if f.precision > 0 && len(vigors(strategies)) == 0 {
		f.addf("--precision: want --strategy vigor:... among the strategies")
	}
}

// addFast appends the flags that were given.
func (f *fastFlags) addFast(l *commandLine) {
	if f.fast {
		l.mark("fast")
	}
	if f.precision > 0 {
		l.add("precision", f.precision)
	}
}

// vigors returns the places of VIGOR among the strategies.
func vigors(strategies []strategy.Strategy) []int {
	var at []int
	for i, s := range strategies {
		if _, ok := s.(*strategy.Vigor); ok {
			at = append(at, i)
		}
	}
	return at
}

// sharpen puts the precise eta of every VIGOR in the place of that of r, and
// returns the batches that it took, by strategy.
func (f *simulateFlags) sharpen(ctx context.Context, r *sim.Result, p spec.Population, strategies []strategy.Strategy, bar *progress.Bar) (map[string]int, error) {
	if f.precision == 0 {
		return nil, nil
	}
	took := map[string]int{}
	for _, i := range vigors(strategies) {
		if p.Lengths != nil {
			return nil, fmt.Errorf("%s: %w", strategies[i].Spec(), sim.ErrNotFast)
		}
		precise, err := sim.RunPrecise(ctx, f.config(p.Spec, bar), p.Law, strategies[i].(*strategy.Vigor).Plan(), f.batch, f.precision)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strategies[i].Spec(), err)
		}
		o := &r.Strategies[i]
		o.Eta, o.EtaBatchMean = precise.Eta, precise.EtaBatchMean
		if o.EtaGenerated.Reason == "" { // VIGOR's rollouts are the same in every batch
			share := o.TrainedPerPrompt.Mean / o.RolloutsPerPrompt.Mean
			o.EtaGenerated = sim.Estimate{Mean: share * o.Eta.Mean, SE: share * o.Eta.SE, Reason: o.Eta.Reason}
		}
		took[o.Strategy] = precise.Replicates
	}
	return took, nil
}

// notFast turns what the fast path cannot do into a usage error under the flags
// that asked for it.
func (f *simulateFlags) notFast(err error) error {
	switch {
	case errors.Is(err, sim.ErrPrecision), f.precision > 0 && errors.Is(err, sim.ErrNotFast):
		f.addf("--precision: %v", err)
	case errors.Is(err, sim.ErrNotFast):
		f.addf("--fast: %v", err)
	default:
		return err
	}
	return f.err()
}
