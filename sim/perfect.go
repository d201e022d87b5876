package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// RunPerfect simulates perfect selection (fixed groups of the batch's prompts and
// vigor:select=truth,update=all,reuse=true) on batches of reward variances
// drawn from law: it needs no rewards, so that Theorem 2's unbounded law will
// do. Figures that need rewards do not exist, screening and allocation among
// them, nor does eta where E[u] is
// infinite; where the variance of u is, eta is marked as not to be trusted.
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
		r.Strategies = append(r.Strategies, perfectOutcome(s, batch, rounds[k], cfg.Aggregate == AggregatePrompt, totals[k], law))
	}
	return r, nil
}

// A roundCount is a round of n prompts, the best by u, with m rollouts each.
type roundCount struct{ n, m int }

func perfectRounds(s strategy.Strategy, batch int) ([]roundCount, error) {
	switch s := s.(type) {
	case *strategy.Fixed:
		if !s.Capabilities().PicksPrompts {
			return []roundCount{{batch, s.Group()}}, nil
		}
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
	return nil, fmt.Errorf("%s: an unbounded reward variance belongs to no binary reward, so that only fixed groups of the batch and perfect selection (vigor:select=truth) can be simulated; give the law max=1 or less: %w",
		s.Spec(), rollout.ErrNoRewards)
}

// The components of a perfect batch's moments.
const (
	perfectGenerated = iota // rollouts generated, all of them trained on
	perfectW                // sum of w: as totW
	perfectWU               // sum of w u
	perfectU                // sum of u
	perfectRatio            // (perfectWU/perfectW) / (perfectU/B), where perfectU > 0
	perfectHasRatio         // 1 where perfectU > 0
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
	err := InOrder(ctx, cfg.Workers, blocks.count(),
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
					addPerfect(t, u, above, rounds, cfg.Aggregate == AggregatePrompt)
				}
				return t, nil
			}, nil
		},
		func(i int, t []*moments) error {
			for k := range t {
				total[k].merge(t[k])
			}
			_, n := blocks.at(i)
			done += n
			if cfg.Progress != nil {
				cfg.Progress(done, cfg.Replicates)
			}
			return nil
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
// With byPrompt every prompt has the weight 1 in place of its rollouts.
func addPerfect(t []*moments, u, above []float64, rounds [][]roundCount, byPrompt bool) {
	for x, v := range u {
		above[x+1] = above[x] + v // the sum of the best x+1
	}
	sum := above[len(u)]
	for k, rs := range rounds {
		var generated, wu, ratio, has float64
		for _, r := range rs {
			generated += float64(r.m) * float64(r.n)
			wu += float64(r.m) * above[r.n]
		}
		w, batch := generated, float64(len(u))
		if byPrompt {
			w, wu = batch, sum
		}
		if sum > 0 {
			ratio, has = wu/w/(sum/batch), 1
		}
		t[k].add([]float64{generated, w, wu, sum, ratio, has})
	}
}

// constant is the estimate of what is x in each of n replicates.
func constant(x, n float64) Estimate {
	if n < 2 {
		return Estimate{Mean: x, SE: math.NaN()}
	}
	return Estimate{Mean: x}
}

func perfectOutcome(s strategy.Strategy, batch int, rounds []roundCount, byPrompt bool, m *moments, law distributions.VarianceLaw) Outcome {
	o := Outcome{Strategy: s.Spec()}
	for _, f := range o.Named() {
		f.Estimate.Reason = "this law has no rewards: perfect selection alone"
	}
	b := float64(batch)
	o.RolloutsPerPrompt = m.product(1/b, "", term{perfectGenerated, 1})
	o.TrainedPerPrompt = o.RolloutsPerPrompt
	o.Rounds = constant(float64(len(rounds)), m.n)
	size := 0
	for t, r := range rounds {
		size += r.m
		leaving := r.n
		if t+1 < len(rounds) {
			leaving -= rounds[t+1].n
		}
		if leaving > 0 {
			o.GroupSizes = append(o.GroupSizes, SizeShare{size, constant(float64(leaving)/b, m.n)})
		}
	}
	o.EtaBatchMean = m.product(1, reasonNoVariance, term{perfectRatio, 1}, term{perfectHasRatio, -1})
	o.Eta = m.product(b, reasonNoVariance, term{perfectWU, 1}, term{perfectW, -1}, term{perfectU, -1})
	_, fixed := s.(*strategy.Fixed)
	pareto, unbounded := law.(distributions.UnboundedPareto)
	switch {
	case math.IsInf(law.MeanU(), 1):
		o.Eta = Estimate{Reason: "E[u] is infinite: a ratio of expectations needs it"}
	case fixed || byPrompt: // 1 on every batch, whatever the variance of u
	case unbounded && pareto.Shape() <= 2:
		o.Eta.Untrusted = fmt.Sprintf("the variance of u is infinite for shape %v <= 2: neither the mean nor its error settles", pareto.Shape())
	}
	o.EtaGenerated = o.Eta
	if byPrompt {
		o.EtaGenerated = Estimate{Reason: reasonPromptMean}
	}
	return o
}
