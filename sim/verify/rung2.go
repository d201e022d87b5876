package verify

import (
	"context"
	"fmt"
	"math"

	"vigorlab/sim"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

// rung2 checks Theorem 2 under its own assumptions: u unbounded Pareto,
// perfect selection (theory.md, section 3).
func rung2() []study {
	return []study{
		{id: "2.closed-form", run: closedForm},
		{id: "2.monte-carlo", comparisons: len(trustedRounds), run: closedFormMonteCarlo},
		{id: "2.published-speedup", run: publishedSpeedup},
	}
}

// shapes are the Pareto shapes of theory.md, section 3.
var shapes = []float64{1.1, 1.5, 2, 3}

func unbounded(shape float64) string {
	return fmt.Sprintf("pareto-variance:shape=%v,min=0.01", shape)
}

// closedForm compares the closed form with the exact order statistics of a
// batch of a million prompts.
func closedForm(_ context.Context, _ *env) (*Section, error) {
	const batch = 1_000_000
	s := &Section{}
	v := vigor(perfect)
	for _, shape := range shapes {
		p, err := law(unbounded(shape))
		if err != nil {
			return nil, err
		}
		limit, err := theory.EtaPareto(shape, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		finite, err := theory.EtaFiniteBatch(p.Variance, v, batch)
		if err != nil {
			return nil, err
		}
		at1024, err := theory.EtaFiniteBatch(p.Variance, v, 1024)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, claimed(Row{
			ID:     fmt.Sprintf("shape-%v", shape),
			Claim:  fmt.Sprintf("eta of Theorem 2 under its own assumptions, shape %v", shape),
			Method: "exact order statistics, B = 10^6",
			Note:   fmt.Sprintf("B = 1,024 gives %.4f: the closed form is the limit of large batches", at1024),
		}, finite, limit))
	}
	return s, nil
}

// trustedRounds are the numbers of rounds that Monte Carlo is tried on, at a
// shape whose fourth moment exists, so that the error's own error is small.
var trustedRounds = []int{4, 8}

const trustedShape = 5

func closedFormMonteCarlo(ctx context.Context, e *env) (*Section, error) {
	const batch = 256
	s := &Section{}
	population := unbounded(trustedShape)
	p, err := law(population)
	if err != nil {
		return nil, err
	}
	for _, rounds := range trustedRounds {
		v := vigor(func(v *schedule.Vigor) { perfect(v); v.Rounds = rounds })
		strat, err := strategy.NewVigor(v)
		if err != nil {
			return nil, err
		}
		r, err := sim.RunPerfect(ctx, e.config(fmt.Sprintf("%s rounds=%d", population, rounds), 2000, 20_000), p.Variance, batch, []strategy.Strategy{strat})
		if err != nil {
			return nil, err
		}
		exact, err := theory.EtaFiniteBatch(p.Variance, v, batch)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, simulated(Row{
			ID:     fmt.Sprintf("rounds-%d", rounds),
			Claim:  fmt.Sprintf("simulated perfect selection has the eta of the order statistics, shape %d, T = %d, B = %d", trustedShape, rounds, batch),
			Method: "Monte Carlo; for shapes <= 2 its mean may not be trusted, and order statistics stand in its place",
		}, r.Strategies[0].Eta, exact))
	}
	return s, nil
}

// publishedSpeedup asks whether a schedule of four rounds can reach the
// published 2.3 under each exponent: eta is capped for every law.
func publishedSpeedup(context.Context, *env) (*Section, error) {
	const published = 2.3
	s := &Section{}
	eta, err := theory.CapLawFree(vigor(nil))
	if err != nil {
		return nil, err
	}
	for _, x := range theory.Exponents() {
		reachable := theory.Speedup(eta, x.Value)
		row := Row{
			ID: "exponent-" + x.Name, Kind: Claim,
			Claim:  fmt.Sprintf("a speedup of %v is within reach at T = 4 if time goes like eta^(-%s)", published, x.Name),
			Method: "the cap on eta of any law of u, 3.75 for the defaults, to the exponent",
			Test:   "exact: the cap is at least the claim",
			Note:   fmt.Sprintf("needs eta = %.3g; no law allows more than %.3g", math.Pow(published, 1/x.Value), eta),
		}
		s.Rows = append(s.Rows, bounded(row, reachable, published, reachable >= published))
	}
	return s, nil
}
