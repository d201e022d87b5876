package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

const population = "beta:a=2,b=3"

func arm(text string) Arm {
	return Arm{
		Strategy:  func() (strategy.Strategy, error) { return strategy.Parse(text, nil) },
		Objective: train.DefaultObjective(), Optimizer: "sgd",
	}
}

// policies makes policies of a spec.
func policies(t testing.TB, text, population string, prompts int) func(stream.Key) (train.Policy, error) {
	t.Helper()
	p, err := spec.ParsePopulation(population, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(key stream.Key) (train.Policy, error) { return train.NewPolicy(text, p.Law, prompts, key) }
}

// small is a trial of a few hundred short runs.
func small(t testing.TB, arms ...string) Config {
	cfg := DefaultConfig()
	cfg.Train.Batch, cfg.Train.Target, cfg.Train.MaxRollouts, cfg.Train.Population = 8, 0.8, 20_000, population
	cfg.NewPolicy = policies(t, "logit", population, 32)
	cfg.Rates, cfg.ChooseSeeds, cfg.Seeds, cfg.Levels, cfg.Resamples = []float64{2, 4, 8}, 3, 5, []float64{0.5, 0.7}, 200
	for _, a := range arms {
		cfg.Arms = append(cfg.Arms, arm(a))
	}
	return cfg
}

func run(t testing.TB, cfg Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bytesOf writes a result out in full.
func bytesOf(t testing.TB, r *Result) string {
	t.Helper()
	var b strings.Builder
	var write func(v any)
	write = func(v any) { fmt.Fprintf(&b, "%+v\n", v) }
	write(r)
	for _, a := range r.Arms {
		for _, report := range []*Report{a.Common, a.Own} {
			write(report)
			for _, l := range report.Levels {
				for _, f := range []Figure{l.Steps, l.Rollouts.Median, l.Rollouts.Ratio.Figure} {
					for _, x := range []*float64{f.Estimate, f.Low, f.High} {
						if x != nil {
							write(*x)
						}
					}
				}
			}
		}
		for _, g := range a.Grid {
			if g.Median.Estimate != nil {
				write(*g.Median.Estimate)
			}
		}
	}
	return b.String()
}

var (
	_ = json.Marshal
	_ = errors.As
	_ = math.Inf
	_ = slices.Sort[[]int]
	_ sim.Estimate
)

func TestSmoke(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Train.Population = population
	cfg.NewPolicy = policies(t, "logit", population, 256)
	cfg.Arms = []Arm{arm("fixed:g=8"), arm("vigor")}
	cfg.Rates = []float64{4, 8, 16, 32, 64}
	cfg.Levels = []float64{0.5, 0.7}
	start := time.Now()
	n := 0
	cfg.Save = func(r *Record) error {
		b, err := json.Marshal(r)
		n += len(b)
		return err
	}
	r := run(t, cfg)
	t.Log(time.Since(start), n)
	for _, a := range r.Arms {
		t.Log(a.Strategy, a.Best, a.Edge)
		for _, g := range a.Grid {
			t.Logf("%+v %v", g, orInf(g.Median.Estimate))
		}
		for _, rep := range []*Report{a.Common, a.Own} {
			for _, l := range rep.Levels {
				f := func(f Figure) string {
					return fmt.Sprintf("%v [%v, %v] %s", orInf(f.Estimate), orInf(f.Low), orInf(f.High), f.Reason)
				}
				t.Log(rep.Rate, l.Level, l.Reached, f(l.Rollouts.Median), l.Rollouts.Ratio.Statistic, f(l.Rollouts.Ratio.Figure))
			}
			for _, p := range rep.Probes {
				t.Logf("%+v", p)
			}
			t.Logf("%d %+v", len(rep.Curve), rep.Curve[len(rep.Curve)-1])
		}
	}
}
