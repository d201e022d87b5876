package sim

import (
	"context"
	"fmt"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// RunPerfect simulates perfect selection (fixed groups and
// vigor:select=truth,update=all,reuse=true) on batches of reward variances
// drawn from law: it needs no rewards, so that Theorem 2's unbounded law will
// do. Figures that need rewards do not exist. Where the variance of u is
// infinite, eta is marked as not to be trusted.
func RunPerfect(ctx context.Context, cfg Config, law distributions.VarianceLaw, batch int, strategies []strategy.Strategy) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if batch < 1 {
		return nil, fmt.Errorf("batch = %d, want at least 1", batch)
	}
	rounds := make([][]roundCount, len(strategies))
	for k, s := range strategies {
		var err error
		if rounds[k], err = perfectRounds(s, batch); err != nil {
			return nil, err
		}
	}
	totals, err := perfectTotals(ctx, cfg, law, batch, rounds)
	if err != nil {
		return nil, err
	}
	r := &Result{Batch: batch, Replicates: cfg.Replicates, Seed: cfg.Seed, Aggregate: cfg.Aggregate, Frontier: cfg.Frontier}
	for k, s := range strategies {
		r.Strategies = append(r.Strategies, perfectOutcome(s, batch, totals[k], law))
	}
	return r, nil
}

// A roundCount is a round of n prompts, the best by u, with m rollouts each.
type roundCount struct{ n, m int }

func perfectRounds(s strategy.Strategy, batch int) ([]roundCount, error) {
	switch s := s.(type) {
	case *strategy.Fixed:
		return []roundCount{{batch, s.Group()}}, nil
	case *strategy.Vigor:
		p := s.Plan()
		if p.Select == schedule.SelectTruth && p.Update == schedule.UpdateAll && p.Reuse {
			m, err := p.Rollouts()
			if err != nil {
				return nil, err
			}
			var r []roundCount
			for t, n := range p.Active(batch) {
				r = append(r, roundCount{n, m[t]})
			}
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s: an unbounded reward variance belongs to no binary reward, so that only fixed groups and perfect selection (vigor:select=truth) can be simulated; give the law max=1 or less: %w",
		s.Spec(), rollout.ErrNoRewards)
}

// The components of a perfect batch's moments.
const (
	perfectWU    = iota // sum of G u
	perfectW            // sum of G
	perfectU            // sum of u
	perfectRatio        // (perfectWU/perfectW) / (perfectU/B)
	numPerfect
)

func perfectTotals(ctx context.Context, cfg Config, law distributions.VarianceLaw, batch int, rounds [][]roundCount) ([]*moments, error) {
	key := stream.New(cfg.Seed).Named(cfg.Population).With(uint64(batch), firstStep)
	blocks := blocksOf(cfg.Replicates)
	newTotals := func() []*moments {
		t := make([]*moments, len(rounds))
		for k := range t {
			t[k] = newMoments(numPerfect)
		}
		return t
	}
	total, done := newTotals(), 0
	err := inOrder(ctx, cfg.Workers, blocks.count(),
		func() (func(context.Context, int) ([]*moments, error), error) {
			u, above := make([]float64, batch), make([]float64, batch+1)
			return func(ctx context.Context, i int) ([]*moments, error) {
				t := newTotals()
				first, n := blocks.at(i)
				for k := range n {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					drawVariances(u, law, key.With(uint64(first+k)))
					addPerfect(t, u, above, rounds)
				}
				return t, nil
			}, nil
		},
		func(i int, t []*moments) {
			for k := range t {
				total[k].merge(t[k])
			}
			_, n := blocks.at(i)
			done += n
			if cfg.Progress != nil {
				cfg.Progress(done, cfg.Replicates)
			}
		})
	return total, err
}

// drawVariances fills u with independent draws in descending order.
func drawVariances(u []float64, law distributions.VarianceLaw, key stream.Key) {
	for x := range u {
		u[x] = law.QuantileU(key.Uniform(uint64(x)))
	}
	slices.Sort(u)
	slices.Reverse(u)
}

// addPerfect adds the batch u, in descending order, to every strategy's totals.
func addPerfect(t []*moments, u, above []float64, rounds [][]roundCount) {
	for x, v := range u {
		above[x+1] = above[x] + v // the sum of the best x+1
	}
	sum := above[len(u)]
	for k, rs := range rounds {
		var wu, w float64
		for _, r := range rs {
			wu += float64(r.m) * above[r.n]
			w += float64(r.m) * float64(r.n)
		}
		t[k].add([]float64{wu, w, sum, wu / w / (sum / float64(len(u)))})
	}
}

func perfectOutcome(s strategy.Strategy, batch int, m *moments, law distributions.VarianceLaw) Outcome {
	o := Outcome{Strategy: s.Spec()}
	for _, f := range o.Named() {
		f.Estimate.Reason = "this law has no rewards: perfect selection alone"
	}
	b := float64(batch)
	o.RolloutsPerPrompt = m.product(1/b, "", term{perfectW, 1})
	o.TrainedPerPrompt = o.RolloutsPerPrompt
	o.Eta = m.product(b, reasonNoVariance, term{perfectWU, 1}, term{perfectW, -1}, term{perfectU, -1})
	o.EtaGenerated = o.Eta
	o.EtaBatchMean = m.product(1, "", term{perfectRatio, 1})
	if _, fixed := s.(*strategy.Fixed); fixed {
		return o // exactly 1 on every batch, whatever the law
	}
	if d, ok := law.(distributions.UnboundedPareto); ok && d.Shape() <= 2 {
		why := fmt.Sprintf("the variance of u is infinite for shape %v <= 2: neither the mean nor its error settles", d.Shape())
		o.Eta.Untrusted, o.EtaGenerated.Untrusted = why, why
	}
	return o
}
