package train

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/distributions/spec"
	"vigorlab/sim/advantage"
)

// solve returns z with f(z) = y for a rising f, by bisection.
func solve(f func(float64) float64, y float64) float64 {
	low, high := -60., 60.
	for range 200 {
		if mid := (low + high) / 2; f(mid) < y {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// TestLogitTrajectories compares the flow of logit with its closed forms, prompt
// by prompt. With B prompts, one logit obeys, under plain policy gradient,
//
//	B dz/dt = p(1-p) = 1/(2 + e^z + e^-z), so that 2z + e^z - e^-z rises by t/B,
//
// and under GRPO with groups without end
//
//	B dz/dt = sqrt(p(1-p)) = 1/(e^(z/2) + e^(-z/2)), so that 4 sinh(z/2) rises by t/B.
func TestLogitTrajectories(t *testing.T) {
	for _, c := range []struct {
		name      string
		rate      Rate
		invariant func(z float64) float64
		time      float64
	}{
		{"plain", PlainRate, func(z float64) float64 { return 2*z + 2*math.Sinh(z) }, 2000},
		{"normalised", NormalisedRate, func(z float64) float64 { return 4 * math.Sinh(z/2) }, 200},
	} {
		for _, population := range []string{"point:p=0.001", "point:p=0.3", "beta:a=1,b=3"} {
			const prompts, steps = 4, 8000
			p := policy(t, "logit:floor=0.001", population, prompts)
			z := p.Parameters()
			start := append([]float64(nil), z...)
			f := NewFlow(p, c.rate)
			for step := 1; step <= steps; step++ {
				f.Advance(c.time / steps)
				if step%2000 != 0 {
					continue
				}
				for x := range z {
					now := c.time * float64(step) / steps
					want := solve(c.invariant, c.invariant(start[x])+now/prompts)
					if !(math.Abs(z[x]-want) < 1e-6) {
						t.Errorf("%s, %s, t = %v: logit %v, want %v", c.name, population, now, z[x], want)
					}
				}
			}
		}
	}
}

// TestFlowGradient: the flow's right-hand side is that of the mean success
// probability, by central differences (see TestScores), or of every prompt's
// 2 arcsin sqrt(p), whose derivative by p is 1/sqrt(p(1-p)).
func TestFlowGradient(t *testing.T) {
	const h = 1e-5
	r := newRand(11)
	for _, text := range policySpecs {
		for _, normalised := range []bool{false, true} {
			p := policy(t, text, population, 4)
			scatter(p, r, 1)
			theta := p.Parameters()
			value := func() float64 {
				sum := 0.0
				for x := range p.Prompts() {
					s, _ := chances(p, x)
					if normalised {
						s = 2 * math.Asin(math.Sqrt(s))
					}
					sum += s / float64(p.Prompts())
				}
				return sum
			}
			rate := Rate(PlainRate)
			if normalised {
				rate = NormalisedRate
			}
			grad := make([]float64, len(theta))
			NewFlow(p, rate).Gradient(grad)
			for i := range theta {
				at := theta[i]
				theta[i] = at + h
				up := value()
				theta[i] = at - h
				down := value()
				theta[i] = at
				if want := (up - down) / (2 * h); !(math.Abs(grad[i]-want) < 2e-9) {
					t.Errorf("%s, normalised %v: %v by parameter %d, want %v", text, normalised, grad[i], i, want)
				}
			}
		}
	}
}

// TestFlowAgreesWithUpdates: averaged over every group of n with its exact
// probability, a group's GRPO gradient of a logit tends to the flow's: by Taylor
// it lies 1/(8 n sqrt(v)) below sqrt(v), up to 1/n^2 (v = p(1-p)).
func TestFlowAgreesWithUpdates(t *testing.T) {
	const n = 1000
	w := newWorkbench(t, "logit", DefaultObjective(), newRand(12))
	p := policy(t, "logit", "point:p=0.3", 1)
	logp := p.LogProbs(nil, 0)
	u, err := NewUpdater(p, DefaultObjective(), w.updater.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	got, logMass := []float64{0}, n*logp[1]
	for s := range n + 1 {
		grad := []float64{0}
		g := Group{X: 0, Counts: []int{s, n - s}, Weight: 1, Baseline: math.NaN()}
		if _, err := u.gradient(grad, []Group{g}, func(int) []float64 { return logp }); err != nil {
			t.Fatal(err)
		}
		floats.AddScaled(got, math.Exp(logMass), grad)
		logMass += math.Log(float64(n-s)/float64(s+1)) + logp[0] - logp[1]
	}
	want := []float64{0}
	NewFlow(p, NormalisedRate).Gradient(want)
	v := math.Sqrt(.21)
	if !(math.Abs(want[0]-v) < 1e-15 && math.Abs(got[0]-(v-1/(8*n*v))) < 1e-6) {
		t.Errorf("mean gradient %v beside the flow's %v, want %v and %v", got[0], want[0], v-1/(8*n*v), v)
	}
}

// TestGroupRate: over every group of three rollouts, each with its exact
// probability, the mean gradient of a group is the flow's, for every policy.
func TestGroupRate(t *testing.T) {
	for _, text := range policySpecs {
		for _, spec := range []string{"grpo", "grpo:ddof=1,delta=0.1", "drgrpo", "rloo"} {
			o := DefaultObjective()
			o.Estimator = estimator(t, spec)
			got := meanGradient(t, text, o)
			p := newWorkbench(t, text, o, newRand(4)).policy
			rate, err := GroupRate(o.Estimator, 3)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, len(got))
			NewFlow(onePrompt{p}, rate).Gradient(want)
			if !(floats.Distance(got, want, math.Inf(1)) < 1e-13) {
				t.Errorf("%s of %s: mean gradient %v, want %v", spec, text, got, want)
			}
		}
	}
	if _, err := GroupRate(advantage.GRPO{DDOF: 2}, 4); err == nil {
		t.Error("ddof = 2 is accepted")
	}
	if _, err := GroupRate(advantage.GRPO{}, 0); err == nil {
		t.Error("groups of 0 are accepted")
	}
}

// onePrompt is a policy whose other prompts are not trained.
type onePrompt struct{ Policy }

func (onePrompt) Prompts() int { return 1 }

// TestSlopes compares local exponents of the time from p0 to 1/2 in u0 with
// quadrature (theory.md, section 4.2; the golden file is made by
// testdata/slopes.py): within .01 of 1 and of 1/2 at p0 = 10^-3 without end,
// and near 1 with groups of 8.
func TestSlopes(t *testing.T) {
	text, err := os.ReadFile("testdata/slopes.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows []struct {
			Rate         string
			P0, Exponent float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	eight, err := GroupRate(advantage.GRPO{}, 8)
	if err != nil {
		t.Fatal(err)
	}
	rates := map[string]Rate{"plain": PlainRate, "normalised": NormalisedRate, "group of 8": eight}
	// reach returns the time to 1/2: steps of a hundredth of a logit, the last cut.
	reach := func(rate Rate, p0 float64) float64 {
		p := policy(t, "logit", "point:p="+spec.FormatFloat(p0), 1)
		z, f, time := p.Parameters(), NewFlow(p, rate), 0.0
		for range 10_000 {
			before, dt := z[0], .01/rate(sigmoid(z[0]), sigmoid(-z[0]))
			f.Advance(dt)
			if z[0] >= 0 {
				return time + dt*(-before)/(z[0]-before)
			}
			time += dt
		}
		t.Fatalf("from %v to a logit of %v, want 0", p0, z[0])
		return 0
	}
	if len(golden.Rows) != 9 {
		t.Fatalf("%d rows, want 9", len(golden.Rows))
	}
	for _, c := range golden.Rows {
		// The quotient over a range of ±1% strays by about 1e-5 from the slope.
		low, high := c.P0/1.01, c.P0*1.01
		got := -math.Log(reach(rates[c.Rate], high)/reach(rates[c.Rate], low)) / math.Log(high*(1-high)/low/(1-low))
		if !(math.Abs(got-c.Exponent) < 5e-5) {
			t.Errorf("%s from %v: exponent %.6f, want %.6f", c.Rate, c.P0, got, c.Exponent)
		}
	}
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// TestFlowAtTheCorners: prompts that are solved or dead to rounding stand still.
func TestFlowAtTheCorners(t *testing.T) {
	for _, rate := range []Rate{PlainRate, NormalisedRate} {
		p := policy(t, "logit", "point:p=0.5", 2)
		copy(p.Parameters(), []float64{800, -800})
		NewFlow(p, rate).Advance(1)
		if got := p.Parameters(); got[0] != 800 || got[1] != -800 {
			t.Errorf("%v", got)
		}
	}
}

// TestAscentGradient: the right-hand side of an ascent is the gradient of the
// mean over prompts of E[r] - KL D, or of E[r] with every prompt's part over its
// standard deviation, by central differences.
func TestAscentGradient(t *testing.T) {
	const h, kl = 1e-5, 0.3
	r := newRand(13)
	for _, text := range policySpecs {
		for _, normalised := range []bool{false, true} {
			p := policy(t, text, population, 4)
			scatter(p, r, 1)
			a := Ascent{KL: kl, Normalised: normalised}
			var reference [][]float64
			for x := range p.Prompts() {
				rewards := make([]float64, len(p.Outcomes(x)))
				for k := range rewards {
					rewards[k] = 2*r.Float64() - 1
				}
				a.Rewards = append(a.Rewards, rewards)
				reference = append(reference, Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x)))
			}
			f := NewAscent(p, a)
			scatter(p, r, 0.5)
			theta, scale := p.Parameters(), make([]float64, p.Prompts())
			for x := range scale {
				scale[x] = 1
				if normalised {
					_, variance := Moments(Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x)), a.Rewards[x])
					scale[x] = 1 / math.Sqrt(variance)
				}
			}
			value := func() float64 {
				sum := 0.0
				for x := range p.Prompts() {
					prob := Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
					for k, q := range prob {
						sum += q * (scale[x]*a.Rewards[x][k] - kl*math.Log(q/reference[x][k])) / float64(p.Prompts())
					}
				}
				return sum
			}
			grad := make([]float64, len(theta))
			f.Gradient(grad)
			for i := range theta {
				at := theta[i]
				theta[i] = at + h
				up := value()
				theta[i] = at - h
				down := value()
				theta[i] = at
				if want := (up - down) / (2 * h); !(math.Abs(grad[i]-want) < 5e-9) {
					t.Errorf("%s, normalised %v: %v by parameter %d, want %v", text, normalised, grad[i], i, want)
				}
			}
		}
	}
}
