package verify

import (
	"context"
	"fmt"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
)

// The populations of the ladder, those of theory.md, section 3.2, and the
// brief's own case of success probabilities that are Pareto.
const (
	popTP15    = "pareto-variance:shape=1.5,min=0.01,max=1"
	popBeta13  = "beta:a=0.1,b=0.3"
	popUniform = "uniform"
	popBeta55  = "beta:a=0.5,b=0.5"
	popSuccess = "pareto-success:shape=1.2,min=0.01"
)

// frontier is the c of theory.md, section 0.
const frontier = 0.75

// law reads a population of the ladder, which names no files.
func law(text string) (*spec.Population, error) {
	p, err := spec.ParsePopulation(text, nil)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// rewarding reads a population that has rewards.
func rewarding(text string) (distributions.Law, error) {
	p, err := law(text)
	if err != nil {
		return nil, err
	}
	if p.Law == nil {
		return nil, fmt.Errorf("%s: %w", text, rollout.ErrNoRewards)
	}
	return p.Law, nil
}

// vigor returns the default schedule, edited.
func vigor(edit func(*schedule.Vigor)) schedule.Vigor {
	v := schedule.Default()
	if edit != nil {
		edit(&v)
	}
	return v
}

func perfect(v *schedule.Vigor) { v.Select = schedule.SelectTruth }

// strategies makes VIGOR with each plan.
func strategies(plans ...schedule.Vigor) []sim.NewStrategy {
	var s []sim.NewStrategy
	for _, p := range plans {
		s = append(s, func() (strategy.Strategy, error) { return strategy.NewVigor(p) })
	}
	return s
}

func fixed(g int) sim.NewStrategy {
	return func() (strategy.Strategy, error) { return strategy.NewFixed(g) }
}

// simulate runs strategies on synthetic batches of a population. quick and
// full are the replicates of the two modes.
func (e *env) simulate(ctx context.Context, population string, batch, quick, full int, s ...sim.NewStrategy) (*sim.Result, error) {
	l, err := rewarding(population)
	if err != nil {
		return nil, err
	}
	return e.simulateLaw(ctx, population, l, batch, quick, full, s...)
}

// simulateLaw is simulate for a law under a name of its own.
func (e *env) simulateLaw(ctx context.Context, name string, l distributions.Law, batch, quick, full int, s ...sim.NewStrategy) (*sim.Result, error) {
	return sim.Run(ctx, e.config(name, quick, full), func() (rollout.TruthSource, error) {
		return source.NewSynthetic(l, nil, batch)
	}, s)
}

// config returns the engine's configuration for a study. The study is part of
// the stream's name, so that studies share no draws. Comparisons within one
// may; Holm's correction does not ask for independence.
func (e *env) config(population string, quick, full int) sim.Config {
	c := sim.DefaultConfig()
	c.Seed, c.Workers, c.Frontier = e.cfg.Seed, e.cfg.Workers, frontier
	c.Population = e.study + " " + population
	c.Replicates = full
	if e.cfg.Quick {
		c.Replicates = quick
	}
	c.Progress = e.progress
	return c
}
