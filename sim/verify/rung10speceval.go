package verify

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"vigorlab/distributions/table"
	"vigorlab/sim/strategy"
)

// publishedDesigns are the schedules of Speculative Evaluation for 30 tasks: b
// rollouts a task, the pilot, and the risk with its standard error.
var publishedDesigns = []struct {
	b, m             int
	weight, risk, se float64
	replayed         float64 // on AIME24 x Qwen3.5-4B
}{
	{8, 4, .48275, .96551, .00164, .93680},
	{16, 6, .35265, .94040, .00208, .89074},
	{32, 10, .28593, .91498, .00233, .84231},
	{64, 16, .22282, .89126, .00254, .80126},
}

// designs meets the published schedules.
func designs(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for i, c := range publishedDesigns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := strategy.SpecEvalDesignAt(30, c.b, c.m, e.replicates(4, 16))
		row := compared(Row{
			ID:     fmt.Sprintf("design-%d", c.b),
			Claim:  fmt.Sprintf("Speculative Evaluation: 30 tasks, %d rollouts each, pilots of %d have risk %.5f", c.b, c.m, c.risk),
			Method: "the prior's grid beside the published risk, both Monte Carlo",
		}, d.Risk, math.Hypot(d.Error, c.se), c.risk)
		row.Kind = Claim
		s.Rows = append(s.Rows, row)
		e.progress(i+1, len(publishedDesigns))
	}
	return s, nil
}

// aime24 is the digest of the sorted successes in 1,024 rollouts of Qwen3.5-4B on
// the 30 tasks of AIME24: the profile that the published replays are of.
const aime24 = "42bdbfa71a303072"

// evaluations replays SpecEval on every table that is its published profile.
func evaluations(cfg *Config) []study {
	var s []study
	for i, t := range cfg.Tables {
		if isAIME24(t) {
			s = append(s, study{
				id: fmt.Sprintf("10.replay-%d-%s", i+1, strings.TrimSuffix(filepath.Base(t.Name), ".csv")), comparisons: len(publishedDesigns),
				run: func(ctx context.Context, e *env) (*Section, error) { return replayEvaluation(ctx, e, t) },
			})
		}
	}
	if len(s) > 0 {
		return s
	}
	return []study{{id: "10.replay", run: func(context.Context, *env) (*Section, error) {
		return untestable("", "Speculative Evaluation: HBN's published variances on AIME24 x Qwen3.5-4B",
			"needs the profile of 30 tasks with 1,024 rollouts each: give it with --table FILE"), nil
	}}}
}

func isAIME24(t *table.Table) bool {
	var s []int
	for _, row := range t.Rows {
		if row.N != 1024 {
			return false
		}
		s = append(s, row.S)
	}
	slices.Sort(s)
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, s)))[:len(aime24)] == aime24
}

// replayTolerance is what the published replays, Monte Carlo themselves, may be
// off by.
const replayTolerance = .002

// replayEvaluation runs the strategy on the profile's success probabilities.
func replayEvaluation(ctx context.Context, e *env, t *table.Table) (*Section, error) {
	var p []float64
	for _, row := range t.Rows {
		p = append(p, float64(row.S)/float64(row.N))
	}
	s := &Section{}
	for i, c := range publishedDesigns {
		b, err := newBench(fmt.Sprintf("speceval:b=%d,pilot=%d", c.b, c.m), p, e.generator(fmt.Sprint(c.b)))
		if err != nil {
			return nil, err
		}
		risks, rest := make([]float64, e.replicates(500, 5000)), make([]int, len(p))
		for k := range risks {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := b.step(len(p), nil); err != nil {
				return nil, err
			}
			v := make([]float64, len(p))
			for x, id := range b.batch.ID {
				v[x] = p[id] * (1 - p[id])
				rest[x] = b.batch.N[x] - c.m
			}
			risks[k] = strategy.TwoStageRisk(v, rest, c.m, c.weight)
		}
		mean := ofMean(risks)
		row := compared(Row{
			ID: fmt.Sprint(c.b), Bias: replayTolerance,
			Claim:  fmt.Sprintf("Speculative Evaluation: %d rollouts a task have %.5f of the variance of equal ones on AIME24 x Qwen3.5-4B", c.b, c.replayed),
			Method: fmt.Sprintf("the strategy's own continuations on simulated pilots of %d, exact variance given them", c.m),
			Note:   fmt.Sprintf("the published figure is Monte Carlo: %v is allowed for", replayTolerance),
		}, mean.Mean, mean.SE, c.replayed)
		row.Kind = Claim
		s.Rows = append(s.Rows, row)
		e.progress(i+1, len(publishedDesigns))
	}
	return s, nil
}
