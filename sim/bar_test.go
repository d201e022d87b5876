package sim_test

import (
	"slices"
	"testing"

	"vigorlab/sim"
	"vigorlab/sim/strategy"
)

// figures are the objectives that the oracle is the bar for, in the order of
// strategy.Oracles.
var figures = []struct {
	name string
	of   func(c *sim.Compared) sim.Estimate
}{
	{"signal", func(c *sim.Compared) sim.Estimate { return c.Signal }},
	{"progress", func(c *sim.Compared) sim.Estimate { return c.Progress }},
	{"effective", func(c *sim.Compared) sim.Estimate { return c.Effective }},
	{"hits", func(c *sim.Compared) sim.Estimate { return c.Hits }},
}

// TestOracleIsTheBar: no known strategy with 8 rollouts a prompt passes the
// oracle over the set on its objective by more than seven standard errors,
// where the set is eight batches. The sum of two standard errors is at least
// that of the difference, however the two go together, so that a strategy as
// good as the oracle passes with probability at most 1e-9 (Student's t, 63
// degrees of freedom), 4e-7 for 30 others, four objectives and three
// populations. One that is better by ten, at most 18 % of the bar, is missed
// with probability 0.2 %. The nearest ones have 75 % of the bar's signal, 64 % of
// its progress, 69 % of its effective groups and 53 % of its hits (pins). It is
// no theorem for strategies that look at rewards between rounds: see
// strategy.Oracle.
func TestOracleIsTheBar(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Steps, cfg.Replicates = 16, 8, 64
	bars := strategy.Oracles(8, 0.2)[:len(figures)]
	specs := append([]string{"fixed:g=8", "fixed:g=4,prompts=2", "fixed:g=2,prompts=4"}, strategy.Spending(8, cfg.Steps)...)
	specs = slices.DeleteFunc(specs, func(text string) bool { return slices.Contains(bars, text) })
	for _, population := range []string{"uniform", "beta:a=0.3,b=0.7", "pareto-success:shape=1,min=0.02"} {
		c := runSteps(t, cfg, promptSet(t, population, 128), parsed(append(bars, specs...)...)...)
		for i, f := range figures {
			bar := f.of(&c.Strategies[i])
			for k := range c.Strategies {
				s := &c.Strategies[k]
				got := f.of(s)
				if bar.Reason != "" || got.Reason != "" {
					t.Fatalf("%s: no %s: %s %s", population, f.name, bar.Reason, got.Reason)
				}
				if got.Mean-bar.Mean > 7*(got.SE+bar.SE) {
					t.Errorf("%s: %s has %s %v ± %v, the bar is %v ± %v", population, s.Strategy, f.name, got.Mean, got.SE, bar.Mean, bar.SE)
				}
			}
		}
	}
}

// TestOracleBarsExact: where all prompts are alike the bars are known. 128
// rollouts on 128 prompts of p = 1/2 make 64 mixed groups of probability 1/2,
// or as many with fewer groups of 3: 1/4 a rollout. On p = 0.2 every rollout
// goes to another prompt and hits with probability 0.2. All signal is that of
// one group of 128.
func TestOracleBarsExact(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Steps, cfg.Replicates = 16, 4, 100
	bars := parsed(append([]string{"fixed:g=8"}, strategy.Oracles(8, 0.2)...)...)
	half := runSteps(t, cfg, promptSet(t, "point:p=0.5", 128), bars...).Strategies
	within(t, "effective groups", half[3].Effective, 8*0.25)
	within(t, "signal", half[1].Signal, strategy.ExpectedSignal(0.5, 128)[128]/128)
	fifth := runSteps(t, cfg, promptSet(t, "point:p=0.2", 128), bars...).Strategies
	within(t, "hits", fifth[4].Hits, 8*0.2)
	within(t, "signal", fifth[1].Signal, strategy.ExpectedSignal(0.2, 128)[128]/128)
	for _, s := range fifth {
		within(t, s.Strategy+" generated", s.Generated, 8)
	}
}
