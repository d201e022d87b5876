package train

import (
	"context"
	"math"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
)

// TestAutoRatesByHand: the mean gradient of GRPO in groups of 2 at p = 1/2 is
// P(mixed) sqrt(1)/2 = 1/4, that of RLOO p(1-p) = 1/4 too, that of Dr. GRPO 1/8.
func TestAutoRatesByHand(t *testing.T) {
	for _, c := range []struct {
		optimizer, estimators string
		n                     int
		low, high             float64
	}{
		{"sgd", "grpo", 2, 10, 320}, // 1/4 * batch/g = .25 * 10/.25
		{"sgd", "drgrpo", 2, 20, 640},
		{"sgd", "grpo drgrpo", 2, 10, 640},
		{"sgd", "rloo", 7, 10, 320},
		{"sgd", "reinforce:baseline=1", 2, 10, 320},
		{"momentum:beta=0.75", "grpo", 2, 2.5, 80},
		{"adam:beta2=0", "grpo", 2, 0.25, 8},
		{"adam:beta2=0.5", "grpo", 2, 0.25 / math.Sqrt(1.9375), 8 / math.Sqrt(1.9375)}, // (1-2^-5)/(1/2)
	} {
		var e []advantage.Estimator
		for _, s := range strings.Fields(c.estimators) {
			e = append(e, estimator(t, s))
		}
		rates, err := AutoRates(c.optimizer, e, 10, 50, c.n)
		if err != nil {
			t.Fatal(err)
		}
		first, last := rates[0], rates[len(rates)-1]
		if !(math.Abs(first/c.low-1) < 0.005 && math.Abs(last/c.high-1) < 0.005) { // of 3 digits
			t.Errorf("%s, %s in groups of %d: rates from %v to %v, want %v to %v", c.optimizer, c.estimators, c.n, first, last, c.low, c.high)
		}
		for i := 1; i < len(rates); i++ {
			if r := rates[i] / rates[i-1]; !(math.Abs(r-2) < 0.02) {
				t.Errorf("%s: rates rise by %v, want 2", c.optimizer, r)
			}
		}
	}
	for _, c := range []struct {
		optimizer, estimator string
		batch, prompts, n    int
	}{{"sgd", "grpo", 4, 4, 1}, {"sgd", "grpo", 5, 4, 2}, {"sgd", "grpo", 0, 4, 2}, {"sdg", "grpo", 4, 4, 2}} {
		if _, err := AutoRates(c.optimizer, []advantage.Estimator{estimator(t, c.estimator)}, c.batch, c.prompts, c.n); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestAutoRatesMove trains: at the third rate, the one of a move of 1, a visit
// moves a logit by 1 in the mean. The moves of SGD lie in [-m, m], m the move of
// an even group, so that by Hoeffding the mean of 8192 visits is off by more
// than m sqrt(2 ln(2e6)/8192) = .0595 m with probability <= 1e-6; a rate wrong by
// a factor of 1.2 is missed with no more. Adam's are of a constant gradient, whose
// move the formula has within 3 %.
func TestAutoRatesMove(t *testing.T) {
	const prompts, n = 8192, 8
	grpo := []advantage.Estimator{advantage.GRPO{}}
	rates, err := AutoRates("sgd", grpo, prompts, prompts, n)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Batch, cfg.MaxSteps, cfg.Target, cfg.Optimizer = prompts, 1, 1, WithRate("sgd", rates[2])
	law, err := distributions.NewPoint(0.5)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy("logit", law, prompts, cfg.StartKey())
	if err != nil {
		t.Fatal(err)
	}
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
	if got, tol := sum/prompts, most*math.Sqrt(2*math.Log(2e6)/prompts)+0.005; !(math.Abs(got-1) <= tol) {
		t.Errorf("a visit moves a logit by %v in the mean, want 1 ± %.3f", got, tol)
	}

	const gap = 4
	for _, optimizer := range []string{"adam", "adam:beta2=0.99", "momentum"} {
		rates, err := AutoRates(optimizer, grpo, 16, 16*gap, n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOptimizer(WithRate(optimizer, rates[2]))
		if err != nil {
			t.Fatal(err)
		}
		g, err := unitGradient(advantage.GRPO{}, n)
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
