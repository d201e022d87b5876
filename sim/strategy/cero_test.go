package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func newCero(t testing.TB, text string) *strategy.CERO {
	t.Helper()
	return mustParse(t, text).(*strategy.CERO)
}

// TestCeroTrace follows five steps on three prompts by hand. K = 4, B = 8 units
// of four, C = 3, max = 2, so B/K = 2, eta = 1/2, R = 8/3 and the price moves by
// (2 - proposed)/4; a dual falls by (proposed - z/4)/4. First, second and third
// are the prompts in the order of the ties.
//
//	step 1  theta 2/3 each, nu .5: 2 units, then C leaves 1, then none. First 4
//	        of 8, second 0 of 4: qhat 25/110, 5/42, 1/6.
//	        first: 4 qhat/theta = 1.3636, z = ln(1.3636)/(.9091 * 3/8) = .9098,
//	        theta = .6667 - (2 - .2274)/4 = .2235; second: 4 qhat = .4762 < theta,
//	        z = 0, theta = .6667 - 1/4 = .4167; third: z = 0, .6667. nu = .75.
//	step 2  no margin: nothing is asked. first: z = ln(4.067)/.3409 = 4.115, theta
//	        .4807; second: ln(1.1429)/.1786 = .748, .4634; third .6667. nu = .25.
//	step 3  third 2, first 1. Third 8 of 8, first 2 of 4: qhat 9/110, 49/210.
//	        third: .6667 - .5 = .1667; first: z = ln(1.9415)/.35 = 1.896, theta =
//	        .4807 - (1 - .4739)/4 = .3492; second .4729. nu = .5.
//	step 4  no margin. third: z = ln(1.9636)/.1227 = 5.498, theta .5103; first:
//	        ln(2.6728)/.35 = 2.809, .5248; second .4753. nu = 0.
//	step 5  proposed: first 2, third 1; of the budget 2 units are left.
func TestCeroTrace(t *testing.T) {
	var order []int // ids: first, second, third
	c := newCero(t, "cero:units=1,capacity=3/2,rounds=4")
	answer := func(step, id, _, _ int) int {
		if step == 0 {
			order = append(order, id)
		}
		switch {
		case step == 0 && len(order) == 1:
			return 4
		case step == 2 && id == order[0]:
			return 2
		case step == 2:
			return 8
		}
		return 0
	}
	got, err := strategytest.Steps(c, &strategytest.World{Prompts: 3, Batch: 2, Steps: 5, Answer: answer}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	first, second := order[0], order[1]
	third := 3 - first - second
	want := [][]int{{8, 4, 0}, {0, 0, 0}, {4, 0, 8}, {0, 0, 0}, {8, 0, 0}}
	for step, asked := range byID(got, 3) {
		if now := []int{asked[first], asked[second], asked[third]}; fmt.Sprint(now) != fmt.Sprint(want[step]) {
			t.Errorf("step %d: %v, want %v", step+1, now, want[step])
		}
	}
	if id := got[2].ID; id[0] != third || id[1] != first {
		t.Errorf("step 3 asks %v, want the largest margin first: %d, %d", id, third, first)
	}
	if p, ok := c.Belief(third); !ok || p != 9./10 {
		t.Errorf("belief %v, want 9/10", p)
	}
	// Eight more failures for the first: a = 1 + 4 + 2, b = 1 + 4 + 2 + 8.
	if got, want := c.Value(first), 7.*15/(22*23); math.Abs(got-want) > 1e-12 {
		t.Errorf("value %v, want %v", got, want)
	}
}

// TestCeroForgets: rho discounts the evidence of every prompt in every round.
func TestCeroForgets(t *testing.T) {
	c := newCero(t, "cero:a=2,b=1,rho=0.5,rounds=4,units=1")
	_, err := strategytest.Steps(c, &strategytest.World{
		Prompts: 1, Batch: 1, Steps: 2,
		Answer: func(step, _, _, n int) int { return n * (1 - step) },
	}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	// Step 1: theta = 4 * 2/12 = .667, all 2 units, 8 of 8: (10, 1). theta falls by
	// (2 - 0)/4 to .167, nu rises by .25 to .75: step 2 asks nothing, and what
	// is known halves: (2 + 4, 1).
	if p, _ := c.Belief(0); math.Abs(p-6./7) > 1e-12 {
		t.Errorf("belief %v, want 6/7", p)
	}
}

// A ceroRun is what a run of CERO did on prompts that stand still.
type ceroRun struct {
	units              []int   // executed, by prompt
	ebar               float64 // mean |qhat - q|
	predicted, sampled float64 // qhat and q, over the units as they were asked
	spent, largest     int     // units in all, and in a round
}

func runCero(t testing.TB, c *strategy.CERO, p []float64, batch, rounds, g int, r *rand.Rand) ceroRun {
	t.Helper()
	run := ceroRun{units: make([]int, len(p))}
	set, b := rollout.NewSet(len(p)), new(rollout.Batch)
	set.Restart(r)
	c.Begin(len(p))
	var ask []rollout.Request
	for range rounds {
		set.Begin(b)
		if err := c.Start(batch); err != nil {
			t.Fatal(err)
		}
		ask = c.Next(b, ask[:0], r)
		before := run.spent
		for _, q := range ask {
			id, units := b.ID[q.X], q.N/g
			run.units[id] += units
			run.spent += units
			run.predicted += float64(units) * c.Value(id)
			run.sampled += float64(units) * p[id] * (1 - p[id])
			for range q.N {
				if r.Float64() < p[id] {
					b.S[q.X]++
				}
			}
			b.N[q.X] += q.N
		}
		run.largest = max(run.largest, run.spent-before)
		c.Observe(b)
		for id, p := range p {
			run.ebar += math.Abs(c.Value(id) - p*(1-p))
		}
	}
	run.ebar /= float64(rounds * len(p))
	return run
}

// drawRates returns n pass rates from law.
func drawRates(n int, law distuv.Beta, r *rand.Rand) []float64 {
	law.Src = r
	p := make([]float64, n)
	for i := range p {
		p[i] = law.Rand()
	}
	return p
}

// TestCeroTheorem1 asserts the inequality in every run: it is pathwise and so
// has no false alarm. It leaves a wide margin; 0.65/sqrt(K) beside it is a pin,
// since these runs stay within 0.60/sqrt(K) of the optimum. CERO beats the even
// split in all of 24 runs, which has probability at most 2^-24 = 6e-8 if it did
// so in half of all runs. Budget and capacity hold in every run.
func TestCeroTheorem1(t *testing.T) {
	for _, k := range []struct {
		spec                                  string
		prompts, batch, rounds, g, most, runs int
		lambda                                float64
		law                                   distuv.Beta
	}{
		{"cero:rounds=400", 60, 16, 400, 4, 2, 6, 1, distuv.Beta{Alpha: 1, Beta: 1}},
		{"cero:rounds=4000", 60, 16, 4000, 4, 2, 2, 1, distuv.Beta{Alpha: 1, Beta: 1}},
		{"cero:rounds=1000,units=1,capacity=2", 40, 20, 1000, 4, 2, 4, 1, distuv.Beta{Alpha: .3, Beta: .7}},
		{"cero:rounds=300,max=1,g=8,lambda=3,units=1/2", 30, 30, 300, 8, 1, 6, 3, distuv.Beta{Alpha: .5, Beta: .5}},
		{"cero:rounds=50,lambda=0.5,a=0.5,b=0.5", 200, 64, 50, 4, 2, 6, .5, distuv.Beta{Alpha: 1, Beta: 1}},
	} {
		c := newCero(t, k.spec)
		r := rand.New(rand.NewPCG(20260101, 7))
		for range k.runs {
			p := drawRates(k.prompts, k.law, r)
			run := runCero(t, c, p, k.batch, k.rounds, k.g, r)
			budget, capacity := c.Horizon(k.batch)
			if run.spent > budget || run.largest > capacity {
				t.Errorf("%s: spent %d of %d, %d of %d in a round", k.spec, run.spent, budget, run.largest, capacity)
			}
			q := make([]float64, len(p))
			for i, p := range p {
				q[i] = p * (1 - p)
			}
			perPrompt := float64(budget) / float64(k.prompts)
			best, got, uniform := 0.0, 0.0, 0.0
			for i, z := range strategy.CeroOptimum(q, budget, k.most*k.rounds, k.lambda) {
				best += strategy.CeroUtility(q[i], float64(z), k.lambda, perPrompt) / float64(k.prompts)
				got += strategy.CeroUtility(q[i], float64(run.units[i]), k.lambda, perPrompt) / float64(k.prompts)
				uniform += strategy.CeroUtility(q[i], perPrompt, k.lambda, perPrompt) / float64(k.prompts)
			}
			bound := strategy.CeroRegretBound(k.prompts, k.rounds, budget, capacity, k.most, k.lambda, run.ebar)
			if below := (best - got) * math.Sqrt(float64(k.rounds)); below > 0.65 {
				t.Errorf("%s: %.3f/sqrt(K) below the optimum", k.spec, below)
			}
			if !(got > uniform) {
				t.Errorf("%s: CERO %v, the even split %v", k.spec, got, uniform)
			}
			if !(best-got <= bound) {
				t.Errorf("%s: %v below the optimum, bound %v", k.spec, best-got, bound)
			}
			if got > best+1e-9 {
				t.Errorf("%s: CERO %v passes the optimum %v", k.spec, got, best)
			}
		}
	}
}

func TestCeroConformance(t *testing.T) {
	for _, text := range []string{
		"cero",
		"cero:rounds=3",
		"cero:g=1,max=1,units=1,capacity=1,rounds=1",
		"cero:rounds=2,units=1/3,capacity=3,rho=0.5,a=0.5,b=0.5,lambda=2",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// TestCeroOverestimates: what CERO predicts of the units it asks is right on
// average where the prior is the law of the prompts, whatever it selects by,
// and too high where most prompts are dead or solved and the prior is uniform.
// Over a run the sum over units of qhat - q, divided by C K, lies in
// [-1/4, 1/4]; under the matching prior its mean is 0. By Hoeffding a mean of n
// runs strays by tol with probability at most alpha = 5e-7, 1e-6 for both laws.
// A shift of 2 tol = 0.055 is missed with at most that probability; that of
// Beta(.1, .3) is 0.080.
func TestCeroOverestimates(t *testing.T) {
	const n, rounds, batch, alpha = 2500, 10, 16, 5e-7
	tol := math.Sqrt(math.Log(2/alpha)/(2*n)) / 2
	c := newCero(t, fmt.Sprintf("cero:rounds=%d", rounds))
	_, capacity := c.Horizon(batch)
	excess := func(law distuv.Beta) float64 {
		r, sum := rand.New(rand.NewPCG(20260101, 8)), 0.0
		for range n {
			run := runCero(t, c, drawRates(100, law, r), batch, rounds, 4, r)
			sum += (run.predicted - run.sampled) / float64(capacity*rounds)
		}
		return sum / n
	}
	if got := excess(distuv.Beta{Alpha: 1, Beta: 1}); !(math.Abs(got) < tol) {
		t.Errorf("uniform: predicted %v more than sampled, want 0 ± %v", got, tol)
	}
	if got := excess(distuv.Beta{Alpha: .1, Beta: .3}); !(got > tol) {
		t.Errorf("Beta(.1, .3): predicted %v more than sampled, want more than %v", got, tol)
	}
}

// TestPosteriorVariance: the identity E[p(1-p)] by its first two moments, and
// Proposition 2 by enumeration over the binomial law.
func TestPosteriorVariance(t *testing.T) {
	for _, k := range [][2]float64{{1, 1}, {.5, .5}, {3, 9}, {1e-3, 40}} {
		law := distuv.Beta{Alpha: k[0], Beta: k[1]}
		want := law.Mean() - law.Variance() - law.Mean()*law.Mean()
		if got := strategy.PosteriorVariance(k[0], k[1]); math.Abs(got-want) > 1e-12 {
			t.Errorf("Beta(%v, %v): %v, want %v", k[0], k[1], got, want)
		}
	}
	for _, prior := range [][2]float64{{1, 1}, {.5, .5}, {4, 1}, {.1, .3}} {
		for _, n := range []int{0, 1, 2, 4, 8, 32, 128} {
			bound := strategy.PosteriorVarianceError(n, prior[0]+prior[1])
			for i := range 41 {
				p := float64(i) / 40
				law, mean := distuv.Binomial{N: float64(n), P: p}, 0.0
				for k := range n + 1 {
					weight := 1.0
					if p > 0 && p < 1 && n > 0 {
						weight = law.Prob(float64(k))
					} else if float64(k) != p*float64(n) {
						weight = 0
					}
					qhat := strategy.PosteriorVariance(prior[0]+float64(k), prior[1]+float64(n-k))
					mean += weight * math.Abs(qhat-p*(1-p))
				}
				if !(mean <= bound) {
					t.Errorf("Beta%v, %d rollouts, p %v: mean error %v, bound %v", prior, n, p, mean, bound)
				}
			}
		}
	}
}

// TestCeroOptimum: greedy attains the largest utility of all allocations, and
// stays below water-filling, which may part units: z = ln(c/xi)/c clipped to
// [0, most], c = 4 lambda q/R, xi by bisection.
func TestCeroOptimum(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 9))
	for range 200 {
		q := []float64{r.Float64() / 4, r.Float64() / 4, r.Float64() / 4}
		most, lambda := 1+r.IntN(6), 3*r.Float64()
		budget := 1 + r.IntN(3*most)
		perPrompt := float64(budget) / 3
		total := func(z ...float64) (sum float64) {
			for i, z := range z {
				sum += strategy.CeroUtility(q[i], z, lambda, perPrompt)
			}
			return sum
		}
		best := 0.0
		for x := range most + 1 {
			for y := range most + 1 {
				if z := budget - x - y; z >= 0 && z <= most {
					best = max(best, total(float64(x), float64(y), float64(z)))
				}
			}
		}
		z := strategy.CeroOptimum(q, budget, most, lambda)
		got := total(float64(z[0]), float64(z[1]), float64(z[2]))
		if math.Abs(got-best) > 1e-12 {
			t.Errorf("q %v, budget %d, most %d: %v has %v, best %v", q, budget, most, z, got, best)
		}
		fill := func(xi float64) (z []float64, sum float64) {
			for _, q := range q {
				c := 4 * lambda * q / perPrompt
				z = append(z, min(max(math.Log(c/xi)/c, 0), float64(most)))
				sum += z[len(z)-1]
			}
			return z, sum
		}
		low, high := math.Log(1e-300), math.Log(4*lambda/perPrompt)
		for range 200 {
			if _, sum := fill(math.Exp((low + high) / 2)); sum > float64(budget) {
				low = (low + high) / 2
			} else {
				high = (low + high) / 2
			}
		}
		if water, _ := fill(math.Exp(high)); total(water...) < got-1e-9 {
			t.Errorf("q %v, budget %d, most %d: greedy %v above water-filling %v", q, budget, most, got, total(water...))
		}
	}
}

// BenchmarkSelectCero runs rounds of a batch of 1,024 on 4,096 prompts.
func BenchmarkSelectCero(b *testing.B) {
	const prompts, batch = 4096, 1024
	c := newCero(b, "cero:rounds=1000000")
	r := rand.New(rand.NewPCG(1, 1))
	set, seen := rollout.NewSet(prompts), new(rollout.Batch)
	set.Restart(r)
	c.Begin(prompts)
	var ask []rollout.Request
	b.ReportAllocs()
	for b.Loop() {
		set.Begin(seen)
		if err := c.Start(batch); err != nil {
			b.Fatal(err)
		}
		ask = c.Next(seen, ask[:0], r)
		for _, q := range ask {
			seen.N[q.X] = q.N
			seen.S[q.X] = seen.ID[q.X] % (q.N + 1)
		}
		c.Observe(seen)
	}
}

func TestCeroSpecs(t *testing.T) {
	wantSpecs(t, map[string]string{
		"cero":                     "cero:g=4,max=2,units=2,capacity=1.03125,rounds=500,lambda=1,a=1,b=1,rho=1",
		"cero:units=0.5,rho=0,g=1": "cero:g=1,max=2,units=0.5,capacity=1.03125,rounds=500,lambda=1,a=1,b=1,rho=0",
	})
	wantFaults(t, map[string][]string{
		"cero:max=0,units=0,capacity=1/2": {"max = 0, want a whole number in [1, 2500]", "units = 0, want [1/1024, 1024]", "capacity = 1/2, want [1, 1024]"},
		"cero:lambda=0,a=-1,rho=2":        {"lambda = 0, want (0, 1000]", "a = -1", "rho = 2, want [0, 1]"},
		"cero:g=5000,max=3":               {"max = 3, want a whole number in [1, 2]"},
	})
	// The paper's run: 64 prompts of 8, 500 rounds, 256,000 rollouts.
	if budget, capacity := newCero(t, "cero").Horizon(64); budget != 64_000 || capacity != 132 {
		t.Errorf("budget %d, capacity %d, want 64000 and 132", budget, capacity)
	}
	for _, g := range []int{1, 2, 7, 8, 32} {
		c := newCero(t, spending(t, "cero", g))
		budget, _ := c.Horizon(64)
		unit := max(1, g/2)
		if over := budget*unit - 500*64*g; over < 0 || over >= unit { // rounded up
			t.Errorf("%s: %d units of %d, want %d a prompt and round", c.Spec(), budget, unit, g)
		}
	}
}
