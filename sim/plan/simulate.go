package plan

import (
	"context"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// Finite is the objective's gain on batches of the given size, over fixed
// groups that spend as much on the same batches, with its standard error (the
// jackknife over batches). Both are NaN where nothing was simulated.
type Finite struct{ Gain, SE float64 }

// A Simulated is a strategy without an exact mean field. It is simulated alone:
// its gain is no promise of the fit's noise either.
type Simulated struct {
	Strategy string
	Finite
}

// simulate measures the rows' schedules on finite batches, and other
// strategies of the same budget that look at one step alone, need no truth and
// train on all that they generate.
func simulate(ctx context.Context, law distributions.Law, rows []Row, o Options) ([]Simulated, error) {
	others := otherStrategies(o)
	var specs []string
	var at []*Finite
	for i := range rows {
		rows[i].Finite = Finite{math.NaN(), math.NaN()}
		if rows[i].candidate.group == 0 {
			specs, at = append(specs, rows[i].Strategy), append(at, &rows[i].Finite)
		}
	}
	for i := range others {
		specs, at = append(specs, others[i].Strategy), append(at, &others[i].Finite)
	}
	if o.Replicates == 0 || len(specs) == 0 {
		return nil, nil
	}
	batches := make([][]pair, o.Replicates) // by strategy
	key := o.streams("batches")
	err := parallel(ctx, o.Workers, o.Replicates, func() (func(int) error, error) {
		w, err := newBatches(law, specs, o)
		if err != nil {
			return nil, err
		}
		return func(k int) error {
			var err error
			batches[k], err = w.run(ctx, key.With(uint64(k)))
			return err
		}, nil
	})
	if err != nil {
		return nil, err
	}
	for j, f := range at {
		*f = jackknife(batches, j, o.Objective)
	}
	return others, nil
}

// otherStrategies returns the other strategies that can be simulated beside
// schedules, at the budget.
func otherStrategies(o Options) []Simulated {
	var all []Simulated
	for _, text := range strategy.Spending(o.Group, 1) {
		s, err := strategy.Parse(text, nil)
		if err != nil {
			continue // the budget is too small for its parameters
		}
		c := s.Capabilities()
		_, exact := s.(strategy.Budgeter)
		_, fixed := s.(*strategy.Fixed)
		_, vigor := s.(*strategy.Vigor)
		if exact && !fixed && !vigor && !c.History && !c.PicksPrompts && !c.Truth && !c.ChangesLoss {
			all = append(all, Simulated{Strategy: s.Spec()})
		}
	}
	return all
}

// sums are what one batch, or several, come to.
type sums struct {
	batches, generated        float64
	w, sigma, sigmaU, mixed   float64 // of the update: weights, and weighted figures
	estimate, estimateSquared float64 // of the batches' gradient estimates
}

// A pair is a strategy's batch with that of the fixed groups.
type pair struct{ own, fixed sums }

// batches runs strategies, each followed by the fixed groups that spend as
// much, on the same prompts.
type batches struct {
	o        Options
	source   *source.Synthetic
	spenders []*sim.Spender
}

func newBatches(law distributions.Law, specs []string, o Options) (*batches, error) {
	b := &batches{o: o}
	var err error
	if b.source, err = source.NewSynthetic(law, nil, o.Batch); err != nil {
		return nil, err
	}
	for _, text := range specs {
		s, err := strategy.Parse(text, nil)
		if err != nil {
			return nil, err
		}
		if err := s.Start(o.Batch); err != nil {
			return nil, fmt.Errorf("plan: %s: %w", text, err)
		}
		fixed, err := strategy.NewFixedMean(s.(strategy.Budgeter).Budget(o.Batch), o.Batch)
		if err != nil {
			return nil, err
		}
		b.spenders = append(b.spenders, sim.NewSpender(s, o.Batch, false), sim.NewSpender(fixed, o.Batch, false))
	}
	return b, nil
}

// run simulates the batch that key names.
func (b *batches) run(ctx context.Context, key stream.Key) ([]pair, error) {
	if _, err := b.source.Reset(key); err != nil {
		return nil, err
	}
	all := make([]pair, len(b.spenders)/2)
	for i, s := range b.spenders {
		s.Begin(key, nil)
		if err := s.Step(ctx, b.source, b.o.Batch, b.source.Truth(), key); err != nil {
			return nil, err
		}
		if i%2 == 0 {
			all[i/2].own = b.sum(s)
		} else {
			all[i/2].fixed = b.sum(s)
		}
	}
	return all, nil
}

func (b *batches) sum(s *sim.Spender) sums {
	t := sums{batches: 1, generated: float64(s.Ledger().Generated)}
	p, id := b.source.Truth(), s.Batch().ID
	gradient := 0.0
	s.EachTrained(func(x, n, k int) {
		w := 1.0
		if b.o.Aggregate == sim.AggregateRollout {
			w = float64(n)
		}
		t.w += w
		if k == 0 || k == n {
			return
		}
		sigma := 2 * math.Sqrt(float64(k)*float64(n-k)) / float64(n)
		t.mixed += w
		t.sigma += w * sigma
		t.sigmaU += w * sigma * distributions.U(p[id[x]])
		gradient += w * float64(k) * float64(n-k) / (float64(n) * float64(n-1))
	})
	t.estimate = gradient / t.w
	t.estimateSquared = t.estimate * t.estimate
	return t
}

// plus returns t + sign*other.
func (t sums) plus(sign float64, other sums) sums {
	t.batches += sign * other.batches
	t.generated += sign * other.generated
	t.w += sign * other.w
	t.sigma += sign * other.sigma
	t.sigmaU += sign * other.sigmaU
	t.mixed += sign * other.mixed
	t.estimate += sign * other.estimate
	t.estimateSquared += sign * other.estimateSquared
	return t
}

// merits are the figures of MeanField, estimated.
func (t sums) merits() Gains {
	mean := t.estimate / t.batches
	variance := (t.estimateSquared/t.batches - mean*mean) * t.batches / (t.batches - 1)
	return Gains{t.sigma / t.w, t.sigmaU / t.w, t.mixed / t.w, precision(t.generated / t.batches * variance / (mean * mean))}
}

// jackknife returns the gain of strategy j.
func jackknife(batches [][]pair, j int, objective string) Finite {
	var own, fixed sums
	for _, b := range batches {
		own, fixed = own.plus(1, b[j].own), fixed.plus(1, b[j].fixed)
	}
	gain := func(without pair) float64 {
		return own.plus(-1, without.own).merits().over(fixed.plus(-1, without.fixed).merits()).Of(objective)
	}
	all, n := gain(pair{}), float64(len(batches))
	mean, square := 0.0, 0.0
	left := make([]float64, len(batches))
	for k, b := range batches {
		left[k] = gain(b[j])
		mean += left[k] / n
	}
	for _, x := range left {
		square += (x - mean) * (x - mean)
	}
	return Finite{all, math.Sqrt(square * (n - 1) / n)}
}
