package strategy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim/strategy"
)

func BenchmarkSelectOracle(b *testing.B) {
	for _, objective := range objectives {
		b.Run(objective, func(b *testing.B) { benchmarkBatch(b, "oracle:objective="+objective) })
	}
	b.Run("signal, max=100", func(b *testing.B) { benchmarkBatch(b, "oracle:max=100") }) // 8192 is no multiple of 100
}

var objectives = []string{"signal", "progress", "effective", "hits", "gradient-variance"}

func TestOracleConformance(t *testing.T) {
	wantConform(
		t,
		"oracle", "oracle:g=1,max=1", "oracle:g=3,max=5,objective=progress", "oracle:g=3,max=7,objective=effective",
		"oracle:g=2,max=6,objective=hits,hard=0.5", "oracle:g=4,max=9,objective=gradient-variance",
	)
}

func TestOracleSpending(t *testing.T) {
	wantSpending(t, "oracle", map[int]string{1: "oracle:objective=signal,g=1,max=16", 8: "oracle:objective=signal,g=8,max=128", 100: "oracle:objective=signal,g=100,max=1024"})
}

func TestOracleRefuses(t *testing.T) {
	wantRefused(t, map[string]string{
		"oracle:objective=progres":                 "did you mean progress?",
		"oracle:g=8,max=7":                         "oracle: g = 8, want at most max = 7",
		"oracle:max=1025":                          "max = 1025, want a whole number in [1, 1024]",
		"oracle:objective=gradient-variance,g=1":   "g = 1, want at least 2",
		"oracle:hard=1.1":                          "hard = 1.1, want [0, 1]",
		"oracle:objective=hits,hard=NaN,budget=10": "hard = NaN",
	})
}

// binomial returns the law of the successes of n rollouts, from logarithms of
// factorials: not as ExpectedSignal makes it.
func binomial(n int, p float64) []float64 {
	law := make([]float64, n+1)
	all, _ := math.Lgamma(float64(n + 1))
	for k := range law {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		law[k] = math.Exp(all-a-b) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	}
	return law
}

// TestOracleFormulas holds the exported values to the specification, to sums
// over the binomial law, and to their documented shapes.
func TestOracleFormulas(t *testing.T) {
	for _, c := range []struct{ p, n, want float64 }{{0.25, 8, 0.007115}, {0.1, 8, 0.007489}, {0.5, 4, 0.010417}} {
		wantNear(t, "variance of RLOO", strategy.RLOOVariance(c.p, int(c.n)), c.want, 5e-7)
	}
	for n, want := range map[int]float64{4: 0.343800, 8: 0.569533, 16: 0.814698, 32: 0.965663, 64: 0.998821} {
		wantNear(t, "effective groups, p = 0.1", strategy.EffectiveProbability(0.1, n), want, 5e-7)
	}
	for _, p := range []float64{0, 0.01, 0.3, 0.5, 0.95, 1} {
		signal := strategy.ExpectedSignal(p, 128)
		wantNear(t, "signal of no rollouts", signal[0], 0, 0)
		for n := 2; n <= 128; n++ {
			var sd, effective, m1, m2 float64
			for k, w := range binomial(n, p) {
				mixed := float64(k) * float64(n-k)
				sd += w * 2 * math.Sqrt(mixed)
				if mixed > 0 {
					effective += w
				}
				rloo := mixed / float64(n*(n-1))
				m1 += w * rloo
				m2 += w * rloo * rloo
			}
			at := fmt.Sprintf(", p = %v, n = %d", p, n)
			wantNear(t, "signal"+at, signal[n], sd, 1e-10)
			wantNear(t, "effective"+at, strategy.EffectiveProbability(p, n), effective, 1e-12)
			wantNear(t, "variance of RLOO"+at, strategy.RLOOVariance(p, n), m2-m1*m1, 1e-12)
			if signal[n]/float64(n) < signal[n-1]/float64(n-1)-1e-14 {
				t.Errorf("signal per rollout falls at%s", at)
			}
		}
	}
	half := strategy.ExpectedSignal(0.5, 4)
	wantNear(t, "third rollout at p = 1/2", half[3]-half[2], 1.121, 5e-4)
	wantNear(t, "fourth rollout at p = 1/2", half[4]-half[3], 1.111, 5e-4)
}

// TestOracleUniformSignal: with uniform p the successes of 8 rollouts are
// uniform on 0..8, and the signal per rollout is 0.6657131 (theory.md, 3.2). The
// midpoint sum of a polynomial of degree 8 over 10,000 values misses by < 1e-7.
func TestOracleUniformSignal(t *testing.T) {
	const m = 10_000
	sum := 0.0
	for i := range m {
		sum += strategy.ExpectedSignal((float64(i)+0.5)/m, 8)[8] / 8
	}
	wantNear(t, "signal of fixed groups of 8", sum/m, 0.6657131, 1.5e-7)
}

// TestOracleTraces follows small cases by hand. E[n sigma_n] at p = 1/2 is 0, 1,
// 2.1213, 3.2320 for n = 1..4; at p = 0.2, v = 0.16: 0, 4v = 0.64,
// 6 sqrt(2) v = 1.3576, 8 sqrt(3) v(1-2v) + 24 v^2 = 2.1220.
func TestOracleTraces(t *testing.T) {
	for _, c := range []struct {
		spec string
		p    []float64
		n    []int
	}{
		// 4 and 2: 3.2320 + 0.64 = 3.872; 3 and 3: 3.479; 2 and 4: 3.122.
		{"oracle:g=2,max=4", []float64{0.5, 0.2, 0}, []int{4, 2, 0}},
		// Not convex: 3 and 3 have 4.2426, 4 and 2 only 4.2320.
		{"oracle:g=3,max=4", []float64{0.5, 0.5}, []int{3, 3}},
		// One prompt can take everything: the best does.
		{"oracle:g=2", []float64{0.2, 0.5, 0.9}, []int{0, 6, 0}},
		// The fourth rollout of p = 1/2 adds 1.11073, the third of p = 0.455, v =
		// 0.247975, (6 sqrt(2) - 4) v = 1.11224 of signal and 4v times that, 1.10323,
		// of progress.
		{"oracle:g=3,max=4", []float64{0.5, 0.455}, []int{3, 3}},
		{"oracle:g=3,max=4,objective=progress", []float64{0.5, 0.455}, []int{4, 2}},
		// 2 and 2 have 0.5 + 0.32 = 0.82; 3 and 1 0.75, 4 and 0 0.875.
		{"oracle:g=2,objective=effective", []float64{0.5, 0.2}, []int{4, 0}},
		// 3 and 3 have 0.75 + 0.48 = 1.23, 4 and 2 0.875 + 0.32, 2 and 4 0.5 + 0.589.
		{"oracle:g=3,objective=effective", []float64{0.5, 0.2}, []int{3, 3}},
		// Gains p q^n of 0.2: 0.2, 0.16, 0.128, 0.1024, 0.0819; of 0.1: 0.1, 0.09.
		// 0.5 is not hard.
		{"oracle:g=2,objective=hits", []float64{0.2, 0.1, 0.5}, []int{4, 2, 0}},
		// All solved or dead: nothing to hit.
		{"oracle:g=2,objective=hits", []float64{0, 1, 0}, []int{2, 2, 2}},
		// v = 0.25: 2v^2/(n(n-1)): 0.0625, 0.020833, 0.010417. p = 0.1, v = 0.09:
		// 0.0576/n + 0.0162/(n(n-1)): 0.0369, 0.0219, 0.01575. Gains 0.041667 and
		// 0.0150; then 0.010417 and 0.0150; then 0.010417 and 0.00615.
		{"oracle:g=3,objective=gradient-variance", []float64{0.5, 0.1, 1}, []int{4, 3, 2}},
	} {
		if got := groupsOf(t, c.spec, c.p, seeded(1)); !slices.Equal(got, c.n) {
			t.Errorf("%s, p = %v: groups %v, want %v", c.spec, c.p, got, c.n)
		}
	}
}

// TestOracleExact compares every objective with the best of all choices.
func TestOracleExact(t *testing.T) {
	worth := map[string]func(p float64, n int) float64{
		"signal":    func(p float64, n int) float64 { return strategy.ExpectedSignal(p, n)[n] },
		"progress":  func(p float64, n int) float64 { return 4 * p * (1 - p) * strategy.ExpectedSignal(p, n)[n] },
		"effective": strategy.EffectiveProbability,
		"hits": func(p float64, n int) float64 {
			if p > 0.3 {
				return 0
			}
			return 1 - math.Pow(1-p, float64(n))
		},
		"gradient-variance": func(p float64, n int) float64 { return -strategy.RLOOVariance(p, n) },
	}
	r := seeded(8)
	for _, objective := range objectives {
		low := 0
		if objective == "gradient-variance" {
			low = 2
		}
		for range 80 {
			p := make([]float64, 1+r.IntN(4))
			for i := range p {
				p[i] = []float64{r.Float64(), float64(r.IntN(5)) / 4, 0.3 * r.Float64()}[r.IntN(3)]
			}
			g := max(1, low) + r.IntN(3)
			most := g + r.IntN(6)
			text := fmt.Sprintf("oracle:objective=%s,g=%d,max=%d,hard=0.3", objective, g, most)
			value := func(i, n int) float64 { return worth[objective](p[i], n) }
			want := mostOf(len(p), g*len(p), low, most, value)
			got := 0.0
			for i, n := range groupsOf(t, text, p, r) {
				if n < low || n > most {
					t.Errorf("%s: a group of %d", text, n)
				}
				got += value(i, n)
			}
			wantNear(t, fmt.Sprintf("%s, p = %v", text, p), got, want, 1e-10)
		}
	}
}
