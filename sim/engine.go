package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// How the update aggregates groups (theory.md, section 4.3).
const (
	AggregateRollout = "rollout" // every trained rollout has the same weight
	AggregatePrompt  = "prompt"  // averaged inside a group, then over prompts
)

// A Config says how much to simulate. Make it with DefaultConfig.
type Config struct {
	Seed       uint64
	Population string  // names the prompts' streams: the normalised population or table
	Replicates int     // batches, >= 1
	Workers    int     // >= 1; no figure depends on it
	Aggregate  string  // AggregateRollout | AggregatePrompt
	Frontier   float64 // c in [0, 1]: screening errors speak of prompts with u >= c

	// Fast draws batches from their counts on: the same law, other numbers. See
	// ErrNotFast for what it can do.
	Fast bool

	// Progress, where not nil, hears how many of all replicates are done. It
	// is called from one goroutine at a time.
	Progress func(done, total int)
}

// DefaultConfig returns the defaults of the commands: seed 1, 1,000
// replicates, all cores, rollout-mean, frontier 0.75.
func DefaultConfig() Config {
	return Config{Seed: 1, Replicates: 1000, Workers: runtime.GOMAXPROCS(0), Aggregate: AggregateRollout, Frontier: 0.75}
}

// Validate reports every parameter outside its range, joined.
func (c *Config) Validate() error {
	var errs []error
	if c.Replicates < 1 {
		errs = append(errs, fmt.Errorf("replicates = %d, want at least 1", c.Replicates))
	}
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers = %d, want at least 1", c.Workers))
	}
	if c.Aggregate != AggregateRollout && c.Aggregate != AggregatePrompt {
		errs = append(errs, fmt.Errorf("aggregate = %s, want %s or %s", c.Aggregate, AggregateRollout, AggregatePrompt))
	}
	if !(c.Frontier >= 0 && c.Frontier <= 1) {
		errs = append(errs, fmt.Errorf("frontier = %v, want [0, 1]", c.Frontier))
	}
	return errors.Join(errs...)
}

// ErrManySteps is wrapped by Run's error for a strategy with a history, or
// with prompts of its own choice.
var ErrManySteps = errors.New("needs a run of many steps over a prompt set")

// NewSource makes a worker's own source.
type NewSource func() (rollout.TruthSource, error)

// NewStrategy makes a worker's own strategy.
type NewStrategy func() (strategy.Strategy, error)

// Run simulates every strategy on the same batches, replicate by replicate,
// beside the fixed group of each one's mean size. The result depends on cfg
// (Workers and Progress apart), the source and the strategies alone, byte for
// byte. It stops early with ctx's error.
func Run(ctx context.Context, cfg Config, newSource NewSource, strategies []NewStrategy) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var total *tally
	blocks := blocksOf(cfg.Replicates)
	done := 0
	err := InOrder(ctx, cfg.Workers, blocks.count(),
		func() (func(ctx context.Context, i int) (*tally, error), error) {
			w, err := newWorker(&cfg, newSource, strategies)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, i int) (*tally, error) {
				first, n := blocks.at(i)
				return w.block(ctx, first, n)
			}, nil
		},
		func(i int, t *tally) error {
			if total == nil {
				total = t
			} else {
				total.merge(t)
				t.release()
			}
			_, n := blocks.at(i)
			done += n
			if cfg.Progress != nil {
				cfg.Progress(done, cfg.Replicates)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return total.result(), nil
}

// blocks cuts replicates into blocks of equal size, the last one smaller: a
// worker's units of work. They do not depend on the number of workers, and
// neither does the order of summation.
type blocks struct{ replicates, size int }

func blocksOf(replicates int) blocks {
	const (
		fewest = 256 // blocks, where replicates allow: work for many workers
		most   = 64  // replicates a block: merging costs little beside them
	)
	return blocks{replicates, min(max(1, replicates/fewest), most)}
}

// count returns the number of blocks.
func (b blocks) count() int { return (b.replicates-1)/b.size + 1 }

// at returns the first replicate of block i and how many it has.
func (b blocks) at(i int) (first, n int) {
	first = i * b.size
	return first, min(b.size, b.replicates-first)
}

// InOrder runs n jobs on the given number of workers and hands their results
// to collect in the order of the jobs, from one goroutine, whose error ends it. A
// bounded number of results waits, so that memory does not grow with n. Packages
// above keep their own records in this order.
func InOrder[T any](ctx context.Context, workers, n int, newWork func() (func(context.Context, int) (T, error), error), collect func(int, T) error) error {
	type result struct {
		i     int
		value T
	}
	works := make([]func(context.Context, int) (T, error), min(workers, n))
	for k := range works {
		var err error
		if works[k], err = newWork(); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	waiting := make(chan struct{}, resultsInFlight(workers))
	// With room for all, so that a worker waits neither to be given a job nor to
	// hand over its result.
	jobs, results := make(chan int, len(works)), make(chan result, cap(waiting))
	group.Go(func() error {
		defer close(jobs)
		for i := range n {
			select {
			case waiting <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case jobs <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for _, work := range works {
		group.Go(func() error {
			for i := range jobs {
				if ctx.Err() != nil {
					return ctx.Err() // jobs that were given out before wait in the channel
				}
				value, err := work(ctx, i)
				if err != nil {
					return err
				}
				results <- result{i, value}
			}
			return nil
		})
	}
	group.Go(func() error {
		early := map[int]T{}
		for next := 0; next < n; {
			select {
			case r := <-results:
				early[r.i] = r.value
			case <-ctx.Done():
				return ctx.Err()
			}
			for value, ok := early[next]; ok; value, ok = early[next] {
				delete(early, next)
				if err := collect(next, value); err != nil {
					return err
				}
				<-waiting
				next++
			}
		}
		return nil
	})
	return group.Wait()
}

// resultsInFlight is how many results may be worked at or wait for their turn
// to be collected: enough that one slow job does not halt the other workers.
func resultsInFlight(workers int) int { return 4 * workers }

// A worker owns a source and an arm for every strategy and reference.
type worker struct {
	cfg     *Config
	source  rollout.TruthSource
	lengths rollout.LengthSource // nil where lengths are unknown
	prompts stream.Key
	batch   int
	held    int // prompts of a batch of which arms keep anything, one by one
	truth   truth
	arms    []*arm
	named   int   // the first named arms are the user's strategies, the rest references
	fixed   []int // fixed[k]: the arm of the fixed group of strategy k's mean size, -1 for none
	free    chan *tally
	urn     *urn // nil but where Config.Fast
	vigor   int  // the arm of VIGOR, with urn
}

func newWorker(cfg *Config, newSource NewSource, strategies []NewStrategy) (*worker, error) {
	src, err := newSource()
	if err != nil {
		return nil, err
	}
	w := &worker{cfg: cfg, source: src, free: make(chan *tally, resultsInFlight(cfg.Workers))}
	w.batch, err = src.Reset(0)
	if err != nil {
		return nil, err
	}
	w.held = w.batch
	if cfg.Fast {
		w.held = 0
	}
	w.truth = newTruth(w.held)
	if l, ok := src.(rollout.LengthSource); ok && l.MeanTokens() != nil {
		w.lengths = l
	}
	w.prompts = stream.New(cfg.Seed).Named(cfg.Population).With(uint64(w.batch), firstStep)
	for _, newStrategy := range strategies {
		s, err := newStrategy()
		if err != nil {
			return nil, err
		}
		if c := s.Capabilities(); c.History || c.PicksPrompts {
			return nil, fmt.Errorf("%s: %w", s.Spec(), ErrManySteps)
		}
		w.arms = append(w.arms, newArm(s, w.held, w.lengths != nil, cfg))
	}
	w.named = len(w.arms)
	for k := range w.named {
		if err := w.addReference(w.arms[k].strategy); err != nil {
			return nil, err
		}
	}
	if cfg.Fast {
		if w.urn, w.vigor, err = w.urnOf(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// firstStep labels the only step of a one-step run in the streams.
const firstStep = 0

// addReference finds or makes the arm of the fixed group of s's mean size.
func (w *worker) addReference(s strategy.Strategy) error {
	b, ok := s.(strategy.Budgeter)
	if !ok {
		w.fixed = append(w.fixed, -1)
		return nil
	}
	ref, err := strategy.NewFixedMean(b.Budget(w.batch), w.batch)
	if err != nil {
		return err
	}
	for i, a := range w.arms {
		if a.spec == ref.Spec() {
			w.fixed = append(w.fixed, i)
			return nil
		}
	}
	w.fixed = append(w.fixed, len(w.arms))
	w.arms = append(w.arms, newArm(ref, w.held, w.lengths != nil, w.cfg))
	return nil
}

// block runs n replicates from first on.
func (w *worker) block(ctx context.Context, first, n int) (*tally, error) {
	t := w.newTally()
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.replicate(ctx, w.prompts.With(uint64(first+k))); err != nil {
			return nil, err
		}
		t.add(w)
	}
	return t, nil
}

// replicate runs every arm on the batch that key names.
func (w *worker) replicate(ctx context.Context, key stream.Key) error {
	if w.urn != nil {
		w.urn.run(key)
		vigor, fixed := w.arms[w.vigor], w.arms[1-w.vigor]
		w.urn.report(vigor, fixed, &w.truth)
		return nil
	}
	if _, err := w.source.Reset(key); err != nil {
		return err
	}
	w.truth.know(w.source.Truth(), w.cfg.Frontier)
	if w.lengths != nil {
		w.truth.tokens = w.lengths.MeanTokens()
	}
	for _, a := range w.arms {
		if err := a.run(ctx, w.source, &w.truth, key); err != nil {
			return err
		}
	}
	return nil
}
