package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

func law(t testing.TB, text string) distributions.Law {
	t.Helper()
	p, err := spec.ParsePopulation(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Law
}

func policy(t testing.TB, text, population string, prompts int) Policy {
	t.Helper()
	p, err := NewPolicy(text, law(t, population), prompts, stream.New(7))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allocation(t testing.TB, text string) strategy.Strategy {
	t.Helper()
	s, err := strategy.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func trained(t testing.TB, cfg Config, p Policy, s string) Result {
	t.Helper()
	r, err := Run(context.Background(), cfg, p, allocation(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// smallConfig trains in a few dozen steps.
func smallConfig() Config {
	c := DefaultConfig()
	c.Batch, c.Target, c.MaxRollouts, c.Optimizer = 8, 0.8, 20_000, "sgd:lr=4"
	return c
}

const population = "beta:a=2,b=3"

// TestRunReachesTarget: a policy learns, the run ends at the first step on
// target, and every point before it is below.
func TestRunReachesTarget(t *testing.T) {
	cfg := smallConfig()
	var curve []Point
	cfg.Step = func(p Point) { curve = append(curve, p) }
	r := trained(t, cfg, policy(t, "logit", population, 32), "fixed:g=8")
	if !r.Reached || r.Last.Success < cfg.Target || len(curve) != r.Last.Step+1 {
		t.Fatalf("%+v after %d points, want the target %v", r, len(curve), cfg.Target)
	}
	for i, p := range curve[:r.Last.Step] {
		if p.Step != i || p.Success >= cfg.Target || p.Ledger.Generated != i*8*8 {
			t.Errorf("point %d: %+v", i, p)
		}
	}
}

// TestRunLimits: rollouts or steps that are spent end a run off target, and a
// target that is met already costs nothing.
func TestRunLimits(t *testing.T) {
	for _, c := range []struct {
		change  func(*Config)
		reached bool
		steps   int
	}{
		{func(c *Config) { c.Target, c.MaxRollouts = 1, 129 }, false, 3},
		{func(c *Config) { c.Target, c.MaxRollouts = 1, 128 }, false, 2},
		{func(c *Config) { c.Target, c.MaxSteps = 1, 5 }, false, 5},
		{func(c *Config) { c.Target = 0.1 }, true, 0},
	} {
		cfg := smallConfig()
		c.change(&cfg)
		r := trained(t, cfg, policy(t, "logit", population, 32), "fixed:g=8")
		if r.Reached != c.reached || r.Last.Step != c.steps || r.Last.Ledger.Generated != 64*c.steps {
			t.Errorf("%+v, want reached %v after %d steps", r, c.reached, c.steps)
		}
	}
}

// TestSameSeedSameBytes: a run repeats to the bit, parameters included, and
// another seed gives another run.
func TestSameSeedSameBytes(t *testing.T) {
	run := func(seed uint64) (string, []float64) {
		cfg := smallConfig()
		cfg.Seed, cfg.MaxSteps, cfg.Target = seed, 20, 1
		p := policy(t, "logit", population, 32)
		r := trained(t, cfg, p, "vigor:m0=2,rounds=3")
		return fmt.Sprintf("%x", []float64{r.Last.Success, float64(r.Last.Ledger.Generated)}), p.Parameters()
	}
	a, thetaA := run(1)
	b, thetaB := run(1)
	if a != b || !reflect.DeepEqual(thetaA, thetaB) {
		t.Errorf("the same seed gives %s, then %s", a, b)
	}
	if c, _ := run(2); c == a {
		t.Errorf("seeds 1 and 2 both give %s", a)
	}
}

// TestDivergence: a run whose numbers overflow stops, and says where.
func TestDivergence(t *testing.T) {
	cfg := smallConfig()
	cfg.Optimizer, cfg.Target = "momentum:lr=1e308,beta=0.99", 1
	cfg.Objective.Epochs = 500
	_, err := Run(context.Background(), cfg, policy(t, "logit", population, 32), allocation(t, "fixed:g=8"))
	var d *DivergenceError
	if !errors.As(err, &d) || d.Step < 1 || !strings.Contains(err.Error(), "parameter") || !strings.Contains(err.Error(), fmt.Sprintf("step %d:", d.Step)) {
		t.Errorf("error %v, want a divergence that names step and parameter", err)
	}
}

func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"batch = 0, want at least 1":                 func(c *Config) { c.Batch = 0 },
		"batch = 33, want a whole number in [1, 32]": func(c *Config) { c.Batch = 33 },
		"max rollouts = 0, want at least 1":          func(c *Config) { c.MaxRollouts = 0 },
		"max steps = -1, want at least 1":            func(c *Config) { c.MaxSteps = -1 },
		"target = NaN, want (0, 1]":                  func(c *Config) { c.Target = math.NaN() },
		"lr is missing":                              func(c *Config) { c.Optimizer = "sgd" },
		"holds no prompts out":                       func(c *Config) { c.HeldOut = true },
		"epochs = 0, want at least 1":                func(c *Config) { c.Objective.Epochs = 0 },
	} {
		cfg := smallConfig()
		change(&cfg)
		if _, err := Run(context.Background(), cfg, policy(t, "logit", population, 32), allocation(t, "fixed:g=8")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Run(ctx, smallConfig(), policy(t, "logit", population, 32), allocation(t, "fixed:g=8")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
}

// TestDefaults: what the doc comments say.
func TestDefaults(t *testing.T) {
	cfg := DefaultConfig()
	if err := errors.Join(cfg.Validate(), cfg.Objective.Validate()); err != nil {
		t.Error(err)
	}
	if cfg.Objective.Estimator.Spec() != "grpo:ddof=0,delta=0" {
		t.Errorf("the default estimator is %s", cfg.Objective.Estimator.Spec())
	}
	var _ rollout.TruthSource = NewSource(policy(t, "logit", population, 1))
}

// BenchmarkLogit counts prompt-updates: one group of 8 for every prompt of the
// set, drawn, turned into advantages and a gradient, taken as a step of SGD, and
// the mean success read. The rate is too small to move the mix of groups.
func BenchmarkLogit(b *testing.B) {
	for _, prompts := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(prompts), func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.Batch, cfg.Target, cfg.MaxRollouts, cfg.MaxSteps = prompts, 1, math.MaxInt, b.N
			cfg.Optimizer = "sgd:lr=1e-6"
			p := policy(b, "logit", population, prompts)
			b.ReportAllocs()
			b.ResetTimer()
			trained(b, cfg, p, "fixed:g=8")
			b.ReportMetric(float64(b.N)*float64(prompts)/b.Elapsed().Seconds(), "prompt-updates/s")
		})
	}
}
