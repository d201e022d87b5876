package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// A Resampler is a source whose prompts are a sample, which can be drawn
// again with replacement. The key 0 stands for the sample itself.
type Resampler interface {
	rollout.TruthSource
	Resample(key stream.Key)
	Prompts() int // in the sample, of which a batch may be a part
}

// A BootstrapConfig says how often prompts are drawn again. Make it with
// DefaultBootstrap.
type BootstrapConfig struct {
	Resamples  int     // samples of prompts, >= 2
	Replicates int     // batches of each, >= 1: see Bootstrap for when more or fewer
	Level      float64 // of the intervals, in (0, 1)
}

// DefaultBootstrap returns 200 samples of 50 batches and a level of 0.95: each
// end of the interval has five samples beyond it. One batch of all prompts
// varies by its rewards with one to three times the variance that other prompts
// bring (VIGOR's eta, signal and ineffective on two recorded tables), so that
// the mean of 50 batches adds 2 to 6 % to the variance of a figure over samples.
func DefaultBootstrap() BootstrapConfig { return BootstrapConfig{200, 50, 0.95} }

// Bootstrap gives every figure of r, the result of Run with the same
// arguments, an interval over samples of prompts: the percentiles of the
// figure over b.Resamples bootstrap samples, each simulated on b.Replicates
// batches, or on more where batches are small parts of a sample: as many as meet
// every prompt ten times. They are never more than cfg.Replicates, so that the
// whole costs at most b.Resamples times the run.
//
// Where a batch has the variance v for given prompts, n batches of a sample add
// v/n to the variance of the figure over samples. With n = cfg.Replicates that
// is the squared standard error of r itself, 1/n to 3/n of the rest for batches of
// all prompts: ten batches widen the interval by 5 to 14 %, a single one by 40 to
// 100 %. It is never too narrow for lack of replicates. A single prompt has no other samples,
// and its figures no interval. newSource must make Resamplers.
//
// For lack of prompts it is too narrow, and on one side, since a sample that
// repeats prompts is less diverse than they are. Of 60 tables of m prompts with
// 200 rollouts each, the 95 % interval of eta under vigor held the eta of batches
// of m prompts of the law in
//
//	m                    3      8     30    100
//	beta:a=0.1,b=0.3  34/56  55/60  58/60  59/60
//	uniform           42/60  51/60  55/60  54/60
//	beta:a=0.02,b=2    5/15  14/33  27/57  47/60
//
// where a table had an interval: some of few prompts have no reward variance. See
// FewPrompts.
func Bootstrap(ctx context.Context, cfg Config, b BootstrapConfig, newSource NewSource, strategies []NewStrategy, r *Result) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if !(b.Resamples >= 2 && b.Replicates >= 1 && b.Level > 0 && b.Level < 1) {
		return fmt.Errorf("bootstrap = %+v, want at least 2 resamples, 1 replicate and a level in (0, 1)", b)
	}
	first, err := newSource()
	if err != nil {
		return err
	}
	if sample, ok := first.(Resampler); !ok {
		return errors.New("this source's prompts cannot be drawn again")
	} else if sample.Prompts() < 2 {
		return nil
	}
	samples := stream.New(cfg.Seed).Named(cfg.Population).Named("bootstrap")
	values := make([][][]float64, len(r.Strategies)) // by strategy and figure, one a sample
	for k := range values {
		values[k] = make([][]float64, len(r.Strategies[k].Named()))
	}
	done := 0
	return InOrder(ctx, cfg.Workers, b.Resamples,
		func() (func(context.Context, int) (*Result, error), error) {
			w, err := newWorker(&cfg, newSource, strategies)
			if err != nil {
				return nil, err
			}
			src := w.source.(Resampler) // as the first one is
			const passes = 10           // over the prompts
			batches := min(max(b.Replicates, passes*src.Prompts()/w.batch), cfg.Replicates)
			return func(ctx context.Context, i int) (*Result, error) {
				key := samples.With(uint64(i))
				src.Resample(key)
				w.prompts = key
				t, err := w.block(ctx, 0, batches)
				if err != nil {
					return nil, err
				}
				defer t.release()
				return t.result(), nil
			}, nil
		},
		func(_ int, sample *Result) error {
			for k := range values {
				for f, figure := range sample.Strategies[k].Named() {
					if figure.Estimate.Reason == "" {
						values[k][f] = append(values[k][f], figure.Estimate.Mean)
					}
				}
			}
			if done++; done == b.Resamples {
				setIntervals(r, values, b.Resamples, b.Level)
			}
			if cfg.Progress != nil {
				cfg.Progress(done, b.Resamples)
			}
			return nil
		})
}

// setIntervals fills the percentile intervals of the figures that exist.
func setIntervals(r *Result, values [][][]float64, resamples int, level float64) {
	for k := range values {
		for f, figure := range r.Strategies[k].Named() {
			v := values[k][f]
			if figure.Estimate.Reason != "" || len(v) < 2 {
				continue
			}
			slices.Sort(v)
			figure.Estimate.Prompts = &Interval{
				Low: percentile(v, (1-level)/2), High: percentile(v, (1+level)/2), Level: level, Missing: resamples - len(v),
			}
		}
	}
}

// What intervals over samples of prompts rest on, at least.
const (
	fewPrompts = 30 // prompts
	fewVaried  = 10 // of these, with outcomes that differ
)

// FewPrompts says why the intervals of Bootstrap miss their level on a table of
// so many prompts, of which varied have outcomes that differ (u > 0); "" where
// they rest on enough.
func FewPrompts(prompts, varied int) string {
	if prompts >= fewPrompts && varied >= fewVaried {
		return ""
	}
	return fmt.Sprintf("%d prompts, %d of them with outcomes that differ: percentiles over samples of prompts want at least %d and %d",
		prompts, varied, fewPrompts, fewVaried)
}

// percentile returns the q-quantile of the sorted v by linear interpolation
// between order statistics (Hyndman and Fan's type 7).
func percentile(v []float64, q float64) float64 {
	h := q * float64(len(v)-1)
	i := min(int(h), len(v)-2)
	return v[i] + (h-float64(i))*(v[i+1]-v[i])
}
