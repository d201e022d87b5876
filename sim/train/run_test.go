package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
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

// TestSameSeedSameBytes: a run repeats to the bit, parameters included; another
// seed gives another start, and another run from the same start.
func TestSameSeedSameBytes(t *testing.T) {
	run := func(start, seed uint64) string {
		cfg := smallConfig()
		cfg.Seed, cfg.MaxSteps, cfg.Target, cfg.Population = start, 20, 1, population
		p, err := NewPolicy("softmax", law(t, population), 32, cfg.StartKey())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Seed = seed
		r := trained(t, cfg, p, "vigor:m0=2,rounds=3")
		return fmt.Sprintf("%x %x %+v", p.Parameters(), r.Last.Success, r.Last.Ledger)
	}
	want := run(1, 1)
	if got := run(1, 1); got != want {
		t.Errorf("the same seed gives %s, then %s", want, got)
	}
	if run(2, 1) == want || run(1, 2) == want {
		t.Error("seeds 1 and 2 give the same run")
	}
}

// TestEveryStrategy lets every strategy train a policy of several outcomes. The
// ledger is conserved: what the source drew is what was generated, the update's
// groups hold what was trained on, and the totals are sums over the steps.
func TestEveryStrategy(t *testing.T) {
	const steps = 12
	cfg := smallConfig()
	cfg.Target = 1
	cfg.Objective.Estimator = estimator(t, "grpo:ddof=1,delta=0.0001")
	specs := append(strategy.Spending(8, steps), "vigor:reuse=false", "vigor:update=survivors",
		"pilot-commit:pilot=4,commit=4,gen=2", "dapo:n=4,gen=2,cap=2", "reinforce-ada:mode=est", "fixed:g=4,prompts=2",
		"control/vigor", "control/dapo:n=4,gen=2,cap=2", "control/pods:n=8,m=4", "control/vigor:reuse=false", "control/sera:n=8,min=2,max=16")
	picked, older, fresh, subsets, own, weighted := false, false, false, false, false, false
	for _, text := range specs {
		s := allocation(t, text)
		r, err := newRun(&cfg, policy(t, "sequence:tokens=3,branching=2,correct=2", population, 96), s)
		if err != nil {
			t.Fatal(text, err)
		}
		var want rollout.Ledger
		start := math.NaN()
		for step := range steps {
			if err := r.look(); err != nil {
				t.Fatal(text, err)
			}
			if step == 0 {
				start = r.point.Success
			}
			if err := r.step(context.Background()); err != nil {
				t.Fatal(text, err)
			}
			drawn, tokens, held := 0, 0, 0
			for _, a := range r.source.answers {
				drawn += a.n
				for k, o := range r.policy.Outcomes(a.x) {
					tokens += r.source.counts[a.counts+k] * o.Tokens
				}
			}
			u, b := r.spender.Update(), r.spender.Batch()
			next := 0
			r.spender.EachTrained(func(x, n, successes int) {
				g := r.groups[next]
				next++
				if all, hits := size(r.policy.Outcomes(g.X), g.Counts); g.X != b.ID[x] || all != n || hits != successes {
					t.Fatalf("%s, step %d: group %+v, want prompt %d with %d successes of %d", text, step, g, b.ID[x], successes, n)
				}
				if u.Fresh {
					counts := make([]int, len(g.Counts))
					r.source.Counts(counts, g.X, b.N[x], math.MaxInt)
					if !slices.Equal(counts, g.Counts) {
						t.Fatalf("%s, step %d: group %+v, want the fresh %v", text, step, g, counts)
					}
				}
				if u.Weights != nil {
					weighted = weighted || g.Weight != 1
					if g.Weight != u.Weights[x] {
						t.Fatalf("%s, step %d: weight %v, want %v", text, step, g.Weight, u.Weights[x])
					}
				}
				if u.Baselines != nil {
					own = true
					if g.Baseline != u.Baselines[x] {
						t.Fatalf("%s, step %d: baseline %v, want %v", text, step, g.Baseline, u.Baselines[x])
					}
				}
				held += n
				older = older || n > r.spender.Batch().N[x]
				subsets = subsets || n < r.spender.Batch().N[x]
			})
			fresh = fresh || r.spender.Update().Fresh
			picked = picked || s.Capabilities().PicksPrompts
			if l := r.spender.Ledger(); l.Generated != drawn || l.GeneratedTokens != tokens || l.Trained != held || next != len(r.groups) {
				t.Fatalf("%s, step %d: ledger %+v, %d rollouts of %d tokens drawn, %d in %d of %d groups", text, step, l, drawn, tokens, held, next, len(r.groups))
			}
			want.Generated += drawn
			want.GeneratedTokens += tokens
			want.Trained += held
			want.Rounds += r.spender.Ledger().Rounds
		}
		if r.point.Ledger != want || want.Generated == 0 {
			t.Errorf("%s: ledger %+v, want %+v", text, r.point.Ledger, want)
		}
		if err := r.look(); err != nil || r.point.Step != steps {
			t.Fatal(text, err)
		}
		if r.point.Success == start {
			t.Errorf("%s moves nothing", text)
		}
	}
	if !picked || !older || !fresh || !subsets || !own || !weighted {
		t.Errorf("picked prompts %v, older rollouts %v, fresh groups %v, subsets %v, own baselines %v, weights %v: want all of them met",
			picked, older, fresh, subsets, own, weighted)
	}
}

// A watcher is fixed groups that learn nothing from a history.
type watcher struct {
	strategy.Strategy
	begun, prompts, observed, rollouts int
}

func (w *watcher) Begin(prompts int) { w.begun, w.prompts = w.begun+1, prompts }

func (w *watcher) Observe(b *rollout.Batch) {
	w.observed++
	for _, n := range b.N {
		w.rollouts += n
	}
}

// TestLearnersObserve: a strategy with a history begins once and sees every step.
func TestLearnersObserve(t *testing.T) {
	cfg := smallConfig()
	cfg.Target, cfg.MaxSteps = 1, 5
	w := &watcher{Strategy: allocation(t, "fixed:g=3")}
	if _, err := Run(context.Background(), cfg, policy(t, "logit", population, 32), w); err != nil {
		t.Fatal(err)
	}
	if w.begun != 1 || w.prompts != 32 || w.observed != 5 || w.rollouts != 5*8*3 {
		t.Errorf("%+v, want one beginning with 32 prompts and 5 steps of 24 rollouts", w)
	}
}

// TestStepsDiffer: a policy that hardly moves gives other answers at every step.
func TestStepsDiffer(t *testing.T) {
	cfg := smallConfig()
	cfg.Batch, cfg.Optimizer = 32, "sgd:lr=1e-300"
	r, err := newRun(&cfg, policy(t, "logit", population, 32), allocation(t, "fixed:g=16"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for step := range 4 {
		if err := r.look(); err != nil {
			t.Fatal(err)
		}
		if err := r.step(context.Background()); err != nil {
			t.Fatal(err)
		}
		successes := make([]int, 32) // by prompt: the order differs
		for _, g := range r.groups {
			successes[g.X] = g.Counts[0]
		}
		if before, ok := seen[fmt.Sprint(successes)]; ok {
			t.Errorf("step %d has the answers of step %d", step, before)
		}
		seen[fmt.Sprint(successes)] = step
	}
}

// TestKeep: of a group's rollouts so many stay, with the rewards that were asked
// for; missing ones come from the prompt's last step.
func TestKeep(t *testing.T) {
	cfg := smallConfig()
	cfg.Batch = 1
	r, err := newRun(&cfg, policy(t, "softmax:answers=5,correct=2", "point:p=0.5", 1), allocation(t, "fixed"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.source.Reset(1); err != nil {
		t.Fatal(err)
	}
	outcomes := r.policy.Outcomes(0)
	copy(r.source.Earlier(0), []int{2, 1, 0, 4, 0})
	for _, c := range []struct {
		n, successes int
		most         []int // of every outcome
	}{
		{16, 7, []int{3, 4, 5, 3, 1}},
		{6, 2, []int{3, 4, 5, 3, 1}},
		{1, 0, []int{0, 0, 5, 3, 1}},
		{18, 9, []int{5, 5, 5, 3, 1}},
		{15, 2, []int{3, 4, 5, 7, 1}},
	} {
		counts := []int{3, 4, 5, 3, 1}
		if err := r.keep(counts, outcomes, c.n, c.successes, 0); err != nil {
			t.Fatal(err)
		}
		n, hits := size(outcomes, counts)
		for k, most := range c.most {
			if n != c.n || hits != c.successes || counts[k] > most || counts[k] < 0 {
				t.Errorf("%d successes of %d: kept %v, at most %v", c.successes, c.n, counts, c.most)
			}
		}
	}
	for _, c := range []struct{ n, successes int }{{20, 11}, {14, 0}} {
		if err := r.keep([]int{3, 4, 5, 3, 1}, outcomes, c.n, c.successes, 0); err == nil || !strings.Contains(err.Error(), "want no more of either than the 7 of 16") {
			t.Errorf("%d successes of %d: error %v", c.successes, c.n, err)
		}
	}
}

// TestThinIsUniform: every rollout is kept alike. The counts of the first outcome
// are hypergeometric with mean 3*4/7; they lie in [0, 3], so by Hoeffding their
// mean strays by more than tol with probability at most 1e-6, and a shift of
// 2*tol = 0.05 is missed with at most that.
func TestThinIsUniform(t *testing.T) {
	const draws = 100_000
	tol := 3 * math.Sqrt(math.Log(2/1e-6)/(2*draws))
	r := newRand(10)
	sum := 0.0
	for range draws {
		counts := []int{3, 9, 4}
		thin(counts, []Outcome{{true, 1}, {false, 1}, {true, 1}}, true, 7, 4, r)
		if counts[0]+counts[2] != 4 || counts[1] != 9 {
			t.Fatalf("kept %v", counts)
		}
		sum += float64(counts[0])
	}
	if got, want := sum/draws, 12./7; !(math.Abs(got-want) < tol) {
		t.Errorf("mean %v, want %v ± %v", got, want, tol)
	}
}

// TestHeldOutTarget: a shared skill carries learning over to held-out prompts,
// and without one they stay as they are. No chance is involved: a group's GRPO
// gradient by its logit, sqrt(s(n-s))/n, is never negative.
func TestHeldOutTarget(t *testing.T) {
	for _, overlap := range []string{"0", "0.5"} {
		cfg := smallConfig()
		cfg.HeldOut, cfg.MaxSteps = true, 200
		var points []Point
		cfg.Step = func(p Point) { points = append(points, p) }
		r := trained(t, cfg, policy(t, "linear:heldout=8,overlap="+overlap, population, 32), "fixed:g=8")
		if r.Reached != (overlap != "0") || (r.Last.HeldOut == points[0].HeldOut) != (overlap == "0") {
			t.Errorf("overlap %s: held out from %v to %+v", overlap, points[0].HeldOut, r)
		}
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

// TestMemoryIsLinear: ten times the prompts take ten times the memory and no
// more, over a few steps with KL and Adam.
func TestMemoryIsLinear(t *testing.T) {
	bytes := func(prompts int) float64 {
		cfg := smallConfig()
		cfg.Target, cfg.MaxSteps, cfg.Batch, cfg.Optimizer, cfg.Objective.KL = 1, 3, prompts, "adam:lr=0.01", 0.1
		p, s := policy(t, "logit", population, prompts), allocation(t, "vigor")
		cfg.MaxRollouts = math.MaxInt
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Run(context.Background(), cfg, p, s); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := bytes(5000), bytes(50_000)
	// Slices that grow by doubling may round up by a factor of two.
	if ratio := many / few; !(ratio < 20) {
		t.Errorf("%.0f bytes for 5,000 prompts, %.0f for 50,000: a factor of %.1f, want 10", few, many, ratio)
	}
	if each := many / 50_000; !(each < 4096) {
		t.Errorf("%.0f bytes a prompt", each)
	}
	t.Logf("%.0f bytes a prompt allocated", many/50_000)
}

// BenchmarkLogit counts prompt-updates: one group of 8 for every prompt of the
// set, drawn, turned into advantages and a gradient, taken as a step of SGD, and
// the mean success read. The rate is too small to move the mix of groups.
func BenchmarkLogit(b *testing.B) {
	for _, c := range []struct {
		name     string
		prompts  int
		recorded bool
	}{{"1000", 1000, false}, {"100000", 100_000, false}, {"100000 recorded", 100_000, true}} {
		b.Run(c.name, func(b *testing.B) {
			prompts, cfg := c.prompts, DefaultConfig()
			if c.recorded {
				cfg.Recorder = NewRecorder(128)
			}
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
