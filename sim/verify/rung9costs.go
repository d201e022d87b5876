package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
)

// A costCase is a strategy whose expected rollouts a step are known in closed
// form, on prompts that are all alike.
type costCase struct {
	id, spec string
	p        float64
	batch    int
	cost     float64 // of a step
	quick    int
	full     int
}

// costCases lists the closed-form costs (allocation.md, sections 2, 8 and 9).
// DAPO's assumes an endless prompt set; one of alike prompts is.
var costCases = func() []costCase {
	const batch, gen, n = 32, 96, 8
	dapo := func(p float64) float64 {
		return strategy.DAPOBatches(batch, gen, strategy.EffectiveProbability(p, n)) * gen * n
	}
	ada := func(p float64, successes, failures int) float64 {
		cost, _ := strategy.AdaSeqCost(p, 8, 4, successes, failures)
		return batch * cost
	}
	cases := []costCase{
		{"dapo", fmt.Sprintf("dapo:n=%d,gen=%d", n, gen/batch), .05, batch, dapo(.05), 200, 2000},
		{"dapo-hard", fmt.Sprintf("dapo:n=%d,gen=%d", n, gen/batch), .02, batch, dapo(.02), 200, 2000},
		{"ada-balanced", "reinforce-ada:exit=balanced,rounds=4,m=8,n=4", .1, batch, ada(.1, 2, 2), 500, 5000},
		{"ada-positive", "reinforce-ada:exit=positive,rounds=4,m=8,n=4", .05, batch, ada(.05, 1, 0), 500, 5000},
		{"ar3po", "ar3po:stages=2,k=4", .1, batch, batch * stagesCost(.1, 4, 2), 500, 5000},
		{"gvm", "gvm:pilot=2,n=4", .05, batch, strategy.GvmCost(alike(.05, batch), 2, 4), 500, 5000},
	}
	return cases
}()

// stagesCost is the expected rollouts of a prompt that gets k a stage until it
// has a success.
func stagesCost(p float64, k, stages int) float64 {
	cost, _ := strategy.AdaSeqCost(p, k, stages, 1, 0)
	return cost
}

// labelled returns the spec of a strategy, and says where it is a reconstruction.
func labelled(text string) string {
	name, _, _ := strings.Cut(text, ":")
	for _, info := range strategy.Known() {
		if info.Name == name && info.Provenance == "reconstruction" {
			return text + " (reconstruction)"
		}
	}
	return text
}

// costs plays strategies beside their closed-form costs, and meets the numbers
// that follow from them.
func costs(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for i, c := range costCases {
		b, err := newBench(c.spec, alike(c.p, 64*c.batch), e.generator(c.id))
		if err != nil {
			return nil, err
		}
		spent := make([]float64, e.replicates(c.quick, c.full))
		for k := range spent {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b.restart()
			if err := b.step(c.batch, nil); err != nil {
				return nil, err
			}
			spent[k] = float64(b.generated())
		}
		s.Rows = append(s.Rows, simulated(Row{
			ID: c.id, Claim: "the mean rollouts of a step are those of the closed form: " + labelled(c.spec),
			Method: fmt.Sprintf("Monte Carlo, %d prompts with p = %v", c.batch, c.p),
		}, ofMean(spent), c.cost))
		e.progress(i+1, len(costCases))
	}
	s.Rows = append(s.Rows,
		printed(Row{ID: "pilot-commit", Claim: "Pilot-Commit's step takes 12,288 rollouts: 384 pilots of 16, 128 commits of 48", Method: "closed form"}, float64(strategy.PilotCommitCost(128, 3, 16, 48)), 12288, 0),
		printed(Row{ID: "ar3po-stages", Claim: ar3poLabel + ": two stages of 4 cost 6.6244 rollouts at p = .1, the first success ends them", Method: "closed form"}, stagesCost(.1, 4, 2), 6.6244, 4),
		printed(Row{ID: "dapo-rounds", Claim: "DAPO takes 2.008209 rounds of 384 to keep 128 of which a fifth is mixed", Method: "negative binomial sums"}, strategy.DAPOBatches(128, 384, .2), 2.008209, 6),
		printed(Row{ID: "first-mixed", Claim: "1/p + 1/(1-p) - 1 rollouts until both outcomes: 20.0526 at p = .05", Method: "closed form"}, strategy.ExpectedMixed(.05), 20.0526, 4),
	)
	return s, nil
}

// goodTuring checks the identity behind what one more rollout for all will win.
func goodTuring(_ context.Context, e *env) (*Section, error) {
	const m = 8
	p := []float64{.05, .1, .2, .4, .7}
	once := 0.0
	for _, p := range p {
		once += distributions.BinomialProbability(m, 1, p) / m
	}
	b, err := newBench(fmt.Sprintf("fixed:g=%d", m), p, e.generator("good-turing"))
	if err != nil {
		return nil, err
	}
	estimates := make([]float64, e.replicates(2000, 20_000))
	for k := range estimates {
		if err := b.step(len(p), nil); err != nil {
			return nil, err
		}
		estimates[k] = strategy.GoodTuring(b.batch.S, m)
	}
	const claim = "E[prompts with one success]/m = sum p(1-p)^(m-1), what rollout m wins"
	return &Section{Rows: []Row{
		agreed(Row{ID: "identity", Claim: claim, Method: "exact binomial sums"}, once, strategy.FirstSuccesses(p, m)),
		printed(Row{ID: "value", Claim: claim + ": .136040 at p = .05, .1, .2, .4, .7 and m = 8", Method: "closed form"}, strategy.FirstSuccesses(p, m), .136040, 6),
		simulated(Row{ID: "estimate", Claim: "the Good-Turing estimate is unbiased", Method: "Monte Carlo, five prompts, m = 8"}, ofMean(estimates), strategy.FirstSuccesses(p, m)),
	}}, nil
}

// alike returns n prompts with one success probability.
func alike(p float64, n int) []float64 { return slices.Repeat([]float64{p}, n) }
