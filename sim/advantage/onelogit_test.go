package advantage

import (
	"math"
	"testing"

	"vigorlab/distributions"
)

// The table is that of strategies/allocation.md, section 0, item 5, which cuts
// .1640625 to six digits.
func TestOneLogitTable(t *testing.T) {
	for _, c := range []struct {
		e              Estimator
		p              float64
		n              int
		mean, variance float64
	}{
		{RLOO{}, .25, 8, .187500, .007115},
		{DrGRPO{}, .25, 8, .164062, .005447},
		{GRPO{}, .25, 8, .379897, .019741},
		{GRPO{DDOF: 1}, .25, 8, .355361, .017273},
		{RLOO{}, .1, 8, .090000, .007489},
		{DrGRPO{}, .1, 8, .078750, .005734},
		{GRPO{}, .1, 8, .209492, .034863},
		{GRPO{DDOF: 1}, .1, 8, .195962, .030505},
		{RLOO{}, .5, 4, .250000, .010417},
		{DrGRPO{}, .5, 4, .187500, .005859},
		{GRPO{}, .5, 4, .404006, .024279},
		{GRPO{DDOF: 1}, .5, 4, .349880, .018209},
	} {
		mean, variance, err := OneLogitMoments(c.e, c.p, c.n)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(mean-c.mean) < 6e-7 && math.Abs(variance-c.variance) < 6e-7) {
			t.Errorf("%s, p=%v, n=%d: mean %.7f and variance %.7f, want %v and %v", c.e.Spec(), c.p, c.n, mean, variance, c.mean, c.variance)
		}
	}
}

// Every sequence of rewards, each with its probability and the definition
// (1/n) sum A_i (a_i - p), against the moments over counts.
func TestOneLogitMomentsBySequences(t *testing.T) {
	const n = 6
	for _, e := range estimators {
		for _, p := range []float64{0, .02, .3, .5, .9, 1} {
			mean, square := 0.0, 0.0
			for bits := range 1 << n {
				rewards, prob := make([]float64, n), 1.0
				for i := range rewards {
					if rewards[i] = float64(bits >> i & 1); rewards[i] == 1 {
						prob *= p
					} else {
						prob *= 1 - p
					}
				}
				g := 0.0
				for i, a := range advantages(t, e, rewards) {
					g += a * (rewards[i] - p) / n
				}
				mean, square = mean+prob*g, square+prob*g*g
			}
			gotMean, gotVariance, err := OneLogitMoments(e, p, n)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(gotMean-mean) < 1e-13 && math.Abs(gotVariance-(square-mean*mean)) < 1e-13) {
				t.Errorf("%s, p=%v: %v and %v, want %v and %v", e.Spec(), p, gotMean, gotVariance, mean, square-mean*mean)
			}
		}
	}
}

func TestOneLogitClosedForms(t *testing.T) {
	for n := 1; n <= 20; n++ {
		g := float64(n)
		for k := range n + 1 {
			spread := float64(k * (n - k))
			for _, c := range []struct {
				e    Estimator
				want float64
			}{
				{RLOO{}, spread / (g * math.Max(g-1, 1))},
				{DrGRPO{}, spread / (g * g)},
				{GRPO{}, math.Sqrt(spread) / g},
				{GRPO{DDOF: 1}, math.Sqrt(spread*(g-1)/g) / g},
			} {
				got, err := OneLogitEstimate(c.e, n, k)
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(got-c.want) < 1e-14) {
					t.Errorf("%s, n=%d, k=%d: %v, want %v", c.e.Spec(), n, k, got, c.want)
				}
			}
		}
		for _, p := range []float64{0, .03, .4, .5, .8, 1} {
			v := p * (1 - p)
			if n > 1 {
				mean, variance, err := OneLogitMoments(RLOO{}, p, n)
				if err != nil {
					t.Fatal(err)
				}
				if want := OneLogitRLOOVariance(p, n); !(math.Abs(mean-v) < 1e-13 && math.Abs(variance-want) < 1e-13) {
					t.Errorf("RLOO, p=%v, n=%d: %v and %v, want %v and %v", p, n, mean, variance, v, want)
				}
			}
			for _, b := range []float64{0, .3, 1} {
				mean := 0.0
				for k := range n + 1 {
					mean += distributions.BinomialProbability(n, k, p) * OneLogitBaseline(n, k, p, b)
				}
				if !(math.Abs(mean-v) < 1e-13) {
					t.Errorf("baseline %v, p=%v, n=%d: mean %v, want %v", b, p, n, mean, v)
				}
			}
		}
	}
	// With the group's own mean as baseline it is Dr. GRPO, whatever p.
	if got, want := OneLogitBaseline(8, 3, .9, 3./8), 15./64; !(math.Abs(got-want) < 1e-15) {
		t.Errorf("own mean as baseline: %v, want %v", got, want)
	}
}

// GRPO follows sqrt(v) as groups grow: the gradient of 2 arcsin sqrt(p).
func TestOneLogitLimit(t *testing.T) {
	mean, _, err := OneLogitMoments(GRPO{}, .3, 2000)
	if err != nil {
		t.Fatal(err)
	}
	// By Taylor E sqrt(x(1-x)) = sqrt(v) - 1/(8 n sqrt(v)) + O(1/n^2): 1.4e-4 here.
	if want := math.Sqrt(.21) - 1/(8*2000*math.Sqrt(.21)); !(math.Abs(mean-want) < 1e-6) {
		t.Errorf("mean %v, want %v", mean, want)
	}
}

func TestOneLogitRefuses(t *testing.T) {
	for _, c := range []struct{ n, k int }{{0, 0}, {4, -1}, {4, 5}} {
		if _, err := OneLogitEstimate(RLOO{}, c.n, c.k); err == nil {
			t.Errorf("%d successes of %d are accepted", c.k, c.n)
		}
	}
	for _, p := range []float64{-.1, 1.1, math.NaN()} {
		if _, _, err := OneLogitMoments(RLOO{}, p, 4); err == nil {
			t.Errorf("p = %v is accepted", p)
		}
	}
	for _, n := range []int{0, -2} {
		if _, _, err := OneLogitMoments(RLOO{}, .5, n); err == nil {
			t.Errorf("n = %d is accepted", n)
		}
	}
	if _, _, err := OneLogitMoments(GRPO{DDOF: 2}, .5, 4); err == nil {
		t.Error("ddof = 2 is accepted")
	}
}
