package train

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
)

// evenPolicy has so many prompts, all at p = 1/2.
func evenPolicy(t *testing.T, text string, prompts int) Policy {
	t.Helper()
	law, err := distributions.NewPoint(0.5)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	p, err := NewPolicy(text, law, prompts, cfg.StartKey())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAutoRatesByHand: the mean gradient of GRPO in groups of 2 at p = 1/2 is
// P(mixed) sqrt(1)/2 = 1/4, that of RLOO p(1-p) = 1/4 too, that of Dr. GRPO 1/8. On
// logits in batches of 10 a visit moves one by lr/40. Where all prompts share all
// features, a step moves every logit by the mean gradient, and an epoch of 5 steps
// by 5 lr/4.
func TestAutoRatesByHand(t *testing.T) {
	for _, c := range []struct {
		policy, optimizer, estimators string
		n                             int
		low, high                     float64
	}{
		{"logit", "sgd", "grpo", 2, 10, 160},
		{"logit", "sgd", "drgrpo", 2, 20, 320},
		{"logit", "sgd", "grpo drgrpo", 2, 10, 320},
		{"logit", "sgd", "rloo", 7, 10, 160},
		{"logit", "sgd", "reinforce:baseline=1", 2, 10, 160},
		{"logit", "momentum:beta=0.75", "grpo", 2, 2.5, 40},
		{"logit", "adam:beta2=0", "grpo", 2, 0.25, 4},
		{"logit", "adam:beta2=0.5", "grpo", 2, 0.25 / math.Sqrt(1.9375), 4 / math.Sqrt(1.9375)}, // (1-2^-5)/(1/2)
		{"linear:overlap=1", "sgd", "grpo", 2, 0.2, 3.2},
	} {
		var e []advantage.Estimator
		for _, s := range strings.Fields(c.estimators) {
			e = append(e, estimator(t, s))
		}
		p := evenPolicy(t, c.policy, 50)
		before := slices.Clone(p.Parameters())
		most := 0.0
		for _, e := range e {
			move, err := EpochMove(p, c.optimizer, e, 10, c.n)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, move)
		}
		if !(math.Abs(most*c.low/0.25-1) < 1e-6) {
			t.Errorf("%s, %s, %s in groups of %d: an epoch at rate 1 moves log odds by %v, want %v", c.policy, c.optimizer, c.estimators, c.n, most, 0.25/c.low)
		}
		rates, err := AutoRates(p, c.optimizer, e, 10, c.n)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Parameters(), before) {
			t.Errorf("%s, %s: the policy is left elsewhere", c.policy, c.optimizer)
		}
		first, last := rates[0], rates[len(rates)-1]
		if !(math.Abs(first/c.low-1) < 0.005 && math.Abs(last/c.high-1) < 0.005) { // of 3 digits
			t.Errorf("%s, %s, %s in groups of %d: rates from %v to %v, want %v to %v", c.policy, c.optimizer, c.estimators, c.n, first, last, c.low, c.high)
		}
		for i := 1; i < len(rates); i++ {
			if r := rates[i] / rates[i-1]; !(math.Abs(r-2) < 0.02) {
				t.Errorf("%s: rates rise by %v, want 2", c.optimizer, r)
			}
		}
	}
	for _, c := range []struct {
		optimizer string
		batch, n  int
	}{{"sgd", 4, 1}, {"sgd", 51, 2}, {"sgd", 0, 2}, {"sdg", 4, 2}} {
		if _, err := AutoRates(evenPolicy(t, "logit", 50), c.optimizer, []advantage.Estimator{advantage.GRPO{}}, c.batch, c.n); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestAutoRatesMove trains: at the third rate, the one of a move of 1, a visit
// moves a logit by 1 in the mean. The moves of SGD lie in [0, m], m the move of an
// even group, so that by Hoeffding the mean of 8192 visits is off by more than
// m sqrt(ln(2e6)/(2*8192)) = .030 m with probability <= 1e-6; a rate wrong by a
// factor of 1.1 is missed with no more. Adam's are of a constant gradient, whose
// move the formula has within 3 %.
func TestAutoRatesMove(t *testing.T) {
	const prompts, n = 8192, 8
	grpo := []advantage.Estimator{advantage.GRPO{}}
	p := evenPolicy(t, "logit", prompts)
	rates, err := AutoRates(p, "sgd", grpo, prompts, n)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Batch, cfg.MaxSteps, cfg.Target, cfg.Optimizer = prompts, 1, 1, WithRate("sgd", rates[2])
	s, err := strategy.Parse("fixed:g=8", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), cfg, p, s); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, z := range p.Parameters() {
		sum += z
	}
	most := rates[2] / prompts / 2 // an even group's gradient is 1/2
	const rounded = 0.005          // to 3 digits
	if got, tol := sum/prompts, most*math.Sqrt(math.Log(2e6)/(2*prompts))+rounded; !(math.Abs(got-1) <= tol) {
		t.Errorf("a visit moves a logit by %v in the mean, want 1 ± %.3f", got, tol)
	}

	const gap = 4
	for _, optimizer := range []string{"adam", "adam:beta2=0.99", "momentum"} {
		rates, err := AutoRates(evenPolicy(t, "logit", 16*gap), optimizer, grpo, 16, n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOptimizer(WithRate(optimizer, rates[2]))
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := advantage.OneLogitMoments(advantage.GRPO{}, 0.5, n)
		if err != nil {
			t.Fatal(err)
		}
		theta, before := []float64{0}, 0.0
		const visits = 3000 // the moments have settled
		for i := range visits * gap {
			if i == (visits-1)*gap {
				before = theta[0]
			}
			grad := []float64{0}
			if i%gap == 0 {
				grad[0] = g / 16
			}
			o.Step(theta, grad)
		}
		if got := theta[0] - before; !(math.Abs(got-1) < 0.03) {
			t.Errorf("%s: a visit moves a parameter by %v, want 1 within 3 %%", optimizer, got)
		}
	}
}
