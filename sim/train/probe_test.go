package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

func maker(text string) sim.NewStrategy {
	return func() (strategy.Strategy, error) { return strategy.Parse(text, nil) }
}

// TestProbeIsExact compares the mean probe of fixed groups on the logit policy
// with the closed form. A step of b of n prompts has (h_x)/b in each coordinate of
// its batch, with mean m_x and variance v_x of h_x (advantage.OneLogitMoments), so
// that E g = m/n, E ||g||^2 = sum(m^2 + v)/(n b), and the mean of a run's epoch,
// whatever order its prompts come in, has the product of independent runs.
//
// The mean of 1,500 probes is normal to good accuracy: 9 comparisons stray beyond
// 5.4 standard errors with probability 1e-6; a shift by 11 of them is missed with
// as little. Steps of one run taken for independent would give a signal of 0.
func TestProbeIsExact(t *testing.T) {
	const prompts, probes, far = 12, 1500, 5.4
	for _, c := range []struct {
		estimator string
		batch, g  int
		aggregate string
	}{
		{"grpo", 4, 4, sim.AggregateRollout},
		{"rloo", 12, 2, sim.AggregatePrompt},
		{"trl:advantage=grpo", 1, 8, sim.AggregateRollout},
	} {
		cfg := smallConfig()
		cfg.Batch, cfg.Objective.Estimator, cfg.Objective.Aggregate = c.batch, estimator(t, c.estimator), c.aggregate
		p := policy(t, "logit", population, prompts)
		limit, _ := limitRate(cfg.Objective.Estimator)
		var signal, square, along, exact float64
		n, b := float64(prompts), float64(c.batch)
		for x := range prompts {
			success := meanSuccess(p, x, x+1)
			m, v, err := advantage.OneLogitMoments(cfg.Objective.Estimator, success, c.g)
			if err != nil {
				t.Fatal(err)
			}
			e := limit(success, 1-success)
			signal += m * m / (n * n)
			square += (m*m + v) / (n * b)
			along += m * e / (n * n)
			exact += e * e / (n * n)
		}
		start := slices.Clone(p.Parameters())
		var signals, squares, alongs []float64
		for seed := range uint64(probes) {
			cfg.Seed = seed
			pr, err := NewProber(cfg, p, maker(fmt.Sprintf("fixed:g=%d", c.g)))
			if err != nil {
				t.Fatal(err)
			}
			probe, err := pr.Probe(context.Background(), 0, Point{Step: 3, Success: 0.4})
			if err != nil {
				t.Fatal(err)
			}
			if probe.Steps != prompts/c.batch || probe.Rollouts != float64(c.batch*c.g) || probe.Step != 3 || probe.Success != 0.4 || !(math.Abs(*probe.Exact-exact) < 1e-14) {
				t.Fatalf("%+v, want the exact square %v", probe, exact)
			}
			signals, squares, alongs = append(signals, probe.Signal), append(squares, probe.Square), append(alongs, *probe.Along)
		}
		if !slices.Equal(p.Parameters(), start) {
			t.Error("a probe moves the policy")
		}
		for _, f := range []struct {
			name   string
			values []float64
			want   float64
		}{{"signal", signals, signal}, {"square", squares, square}, {"along", alongs, along}} {
			mean, sd := stat.MeanStdDev(f.values, nil)
			if z := (mean - f.want) / (sd / math.Sqrt(probes)); !(math.Abs(z) < far) {
				t.Errorf("%s: %s %v, want %v: %.1f standard errors", c.estimator, f.name, mean, f.want, z)
			}
		}
	}
}

// TestProbeChangesNothing: a run that is probed on its way is the same run, and the
// probes of a run differ.
func TestProbeChangesNothing(t *testing.T) {
	cfg := smallConfig()
	cfg.Objective.KL = 0.05
	const strategy = "vigor"
	p := policy(t, "linear:overlap=0.3", population, 32)
	want := trained(t, cfg, p, strategy)
	wantParameters := slices.Clone(p.Parameters())
	p = policy(t, "linear:overlap=0.3", population, 32)
	pr, err := NewProber(cfg, p, maker(strategy))
	if err != nil {
		t.Fatal(err)
	}
	signals := map[float64]bool{}
	probed := 0
	cfg.Step = func(at Point) {
		for number := range 2 {
			probe, err := pr.Probe(context.Background(), number, at)
			if err != nil {
				t.Fatal(err)
			}
			signals[probe.Signal] = true
			probed++
		}
	}
	got := trained(t, cfg, p, strategy)
	if got.Last.Success != want.Last.Success || got.Last.Ledger != want.Last.Ledger || !slices.Equal(p.Parameters(), wantParameters) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(signals) != probed || probed < 8 {
		t.Errorf("%d different signals of %d probes", len(signals), probed)
	}
}

// A pupil has fixed groups of 2 in the first epoch of 4 steps and of 4 after it.
type pupil struct {
	strategy.Strategy
	seen, begun *int
}

func (p pupil) Capabilities() strategy.Capabilities {
	c := p.Strategy.Capabilities()
	c.History = true
	return c
}

func (p pupil) Begin(int)              { *p.seen = 0; *p.begun++ }
func (p pupil) Observe(*rollout.Batch) { *p.seen++ }

func (p pupil) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	ask = p.Strategy.Next(b, ask, r)
	for i := range ask {
		if *p.seen < 4 {
			ask[i].N = 2
		}
	}
	return ask
}

// TestProbeLetsLearn: a strategy with a history has an epoch to learn in, which is
// not measured.
func TestProbeLetsLearn(t *testing.T) {
	cfg := smallConfig()
	seen, begun := 0, 0
	pr, err := NewProber(cfg, policy(t, "logit", population, 32), func() (strategy.Strategy, error) {
		s, err := strategy.Parse("fixed:g=4", nil)
		return pupil{s, &seen, &begun}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	probe, err := pr.Probe(context.Background(), 0, Point{})
	if err != nil {
		t.Fatal(err)
	}
	if probe.Steps != 4 || probe.Rollouts != 8*4 || seen != 8 || begun != 2 {
		t.Errorf("%+v, %d steps seen in the last of %d runs; want 4 steps of 32 rollouts after 4 others, twice", probe, seen, begun)
	}
}

// TestPull compares the gradient of the KL term with finite differences.
func TestPull(t *testing.T) {
	cfg := smallConfig()
	cfg.Objective.KL = 0.3
	for _, text := range policySpecs {
		p := policy(t, text, population, 6)
		u, err := NewUpdater(p, cfg.Objective, nil)
		if err != nil {
			t.Fatal(err)
		}
		theta := p.Parameters()
		r := newRand(3)
		for i := range theta {
			theta[i] += r.NormFloat64()
		}
		value := func() float64 {
			sum := 0.0
			for x := range p.Prompts() {
				logp := p.LogProbs(nil, x)
				prob := Probabilities(nil, p.Outcomes(x), logp)
				before := Probabilities(nil, p.Outcomes(x), u.reference[x])
				for k := range prob {
					sum -= prob[k] * math.Log(prob[k]/before[k])
				}
			}
			return cfg.Objective.KL * sum / float64(p.Prompts())
		}
		grad := make([]float64, len(theta))
		u.pull(grad)
		for i := range theta {
			const h = 1e-5
			at := theta[i]
			theta[i] = at + h
			up := value()
			theta[i] = at - h
			down := value()
			theta[i] = at
			if want := (up - down) / (2 * h); !(math.Abs(grad[i]-want) < 1e-8) {
				t.Errorf("%s, parameter %d: %v, want %v", text, i, grad[i], want)
			}
		}
	}
}

// TestProbeKL: the KL of a probe is to the start of the run. TRL gives a group of one
// no advantage, so that the gradient of such groups is the KL's alone, and a batch
// of all prompts makes it the same in every step.
func TestProbeKL(t *testing.T) {
	cfg := smallConfig()
	cfg.Batch, cfg.Objective.KL, cfg.Objective.Estimator = 32, 0.3, estimator(t, "trl:advantage=grpo")
	p := policy(t, "logit", population, 32)
	pr, err := NewProber(cfg, p, maker("fixed:g=1"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUpdater(p, cfg.Objective, nil)
	if err != nil {
		t.Fatal(err)
	}
	for x := range p.Parameters() {
		p.Parameters()[x] += 1 + float64(x%3)
	}
	probe, err := pr.Probe(context.Background(), 0, Point{})
	if err != nil {
		t.Fatal(err)
	}
	kl, exact := make([]float64, 32), make([]float64, 32)
	u.pull(kl)
	limit, _ := limitRate(cfg.Objective.Estimator)
	NewFlow(p, limit).Gradient(exact)
	var square, sum float64
	for x := range kl {
		square += kl[x] * kl[x]
		sum += (kl[x] + exact[x]) * (kl[x] + exact[x])
	}
	if !(square > 1e-4 && math.Abs(probe.Signal/square-1) < 1e-12 && math.Abs(*probe.Exact/sum-1) < 1e-12) {
		t.Errorf("%+v with the exact square %v, want a signal of %v and %v", probe, *probe.Exact, square, sum)
	}
}

// TestLimitRate: the exact mean of larger and larger groups comes to the limit,
// with an error that falls as 1/n.
func TestLimitRate(t *testing.T) {
	for _, text := range []string{
		"grpo", "grpo:ddof=1,delta=0.3", "drgrpo", "rloo", "verl:advantage=grpo", "verl:advantage=grpo-vectorised",
		"verl:advantage=rloo", "trl:advantage=grpo", "openrlhf:advantage=drgrpo",
	} {
		e := estimator(t, text)
		limit, ok := limitRate(e)
		if !ok {
			t.Fatal(text)
		}
		for _, p := range []float64{0.1, 0.5, 0.8} {
			want := limit(p, 1-p)
			for _, n := range []int{64, 512} {
				rate, err := GroupRate(e, n)
				if err != nil {
					t.Fatal(err)
				}
				if got := rate(p, 1-p); !(math.Abs(got/want-1) < 3/float64(n)+1e-5) {
					t.Errorf("%s, p = %v: groups of %d give %v, want %v in the limit", text, p, n, got, want)
				}
			}
		}
	}
	floored, _ := limitRate(estimator(t, "verl:advantage=grpo-vectorised"))
	if got, want := floored(1e-8, 1-1e-8), 1e-8*(1-1e-8)/(1e-3+1e-6); !(math.Abs(got/want-1) < 1e-12) {
		t.Errorf("below the floor of the variance: %v, want %v", got, want)
	}
	if _, ok := limitRate(infinite{}); ok {
		t.Error("a limit of an unknown estimator")
	}
}

// infinite has advantages that are not finite.
type infinite struct{}

func (infinite) Spec() string { return "infinite" }

func (infinite) Advantages(dst, _ []float64) error {
	for i := range dst {
		dst[i] = math.Inf(1)
	}
	return nil
}

func TestProbeRefuses(t *testing.T) {
	p := policy(t, "logit", population, 32)
	cfg := smallConfig()
	cfg.System = "nonsense"
	if _, err := NewProber(cfg, p, maker("fixed")); err == nil || !strings.Contains(err.Error(), "system = nonsense, want none") {
		t.Errorf("error %v", err)
	}
	cfg = smallConfig()
	cfg.Objective.Estimator = infinite{}
	pr, err := NewProber(cfg, p, maker("fixed"))
	if err != nil {
		t.Fatal(err)
	}
	var d *DivergenceError
	if _, err := pr.Probe(context.Background(), 0, Point{Step: 7}); !errors.As(err, &d) || d.Step != 7 {
		t.Errorf("error %v, want a divergence at step 7", err)
	}
	cfg = smallConfig()
	cfg.Objective.TokenMean = true
	if pr, err = NewProber(cfg, p, maker("fixed")); err != nil {
		t.Fatal(err)
	}
	probe, err := pr.Probe(context.Background(), 0, Point{})
	if err != nil || probe.Exact != nil || probe.Along != nil || !strings.Contains(probe.Why, "tokens") {
		t.Errorf("%+v, %v, want no exact gradient and a reason", probe, err)
	}
}
