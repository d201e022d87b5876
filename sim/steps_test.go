package sim_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
)

func promptSet(t testing.TB, population string, prompts int) sim.NewPromptSet {
	t.Helper()
	p, err := spec.ParsePopulation(population, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() (rollout.DriftSource, error) { return source.NewSynthetic(p.Law, p.Lengths, prompts) }
}

func makers(specs ...string) []sim.NewStrategy {
	var m []sim.NewStrategy
	for _, s := range specs {
		m = append(m, func() (strategy.Strategy, error) { return strategy.Parse(s, nil) })
	}
	return m
}

func runSteps(t testing.TB, cfg sim.StepsConfig, set sim.NewPromptSet, specs ...string) *sim.Comparison {
	t.Helper()
	c, err := sim.RunSteps(context.Background(), cfg, set, makers(specs...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStepsTry(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Replicates = 200
	c := runSteps(t, cfg, promptSet(t, "uniform", 256), "fixed:g=8", "vigor", "fixed:g=4,prompts=2", "fixed:g=16,prompts=1/2", "vigor:select=random")
	for _, s := range c.Strategies {
		fmt.Println(s.Strategy)
		for _, f := range s.Named() {
			fmt.Printf("   %s %.4f %.4f %s\n", f.Name, f.Estimate.Mean, f.Estimate.SE, f.Estimate.Reason)
		}
	}
	fmt.Println(c.Rankings)
	_ = math.Pi
	_ = distributions.U
}
