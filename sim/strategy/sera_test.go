package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// TestEqualFidelity: the golden vectors, budget 16 a prompt, groups of 2..64.
func TestEqualFidelity(t *testing.T) {
	for _, c := range []struct {
		p, real []float64
		n       []int
		target  float64
	}{
		{
			[]float64{.05, .2, .5, .9},
			[]float64{46.244, 11.400, 4.348, 2.008},
			[]int{47, 11, 4, 2},
			.9018,
		},
		{
			[]float64{.01, .05, .3, .6, .95, .99, .5, .2},
			nil,
			[]int{64, 38, 6, 3, 2, 2, 4, 9},
			.8468,
		},
	} {
		real, n := make([]float64, len(c.p)), make([]int, len(c.p))
		tau := strategy.Waterline(c.p, 16*len(c.p), 2, 64, real)
		if got := 1 - math.Exp(-tau); math.Abs(got-c.target) > 5e-5 {
			t.Errorf("p %v: target %.5f, want %v", c.p, got, c.target)
		}
		for i, want := range c.real {
			if math.Abs(real[i]-want) > 5e-4 {
				t.Errorf("p %v: real sizes %v, want %v", c.p, real, c.real)
			}
		}
		if c.real != nil && math.Abs(tau-2.3207) > 5e-5 {
			t.Errorf("p %v: tau %v, want 2.3207", c.p, tau)
		}
		if strategy.EqualFidelity(c.p, 16*len(c.p), 2, 64, n); !slices.Equal(n, c.n) {
			t.Errorf("p %v: sizes %v, want %v", c.p, n, c.n)
		}
	}
	for _, c := range []struct {
		p    float64
		n    int
		want float64
	}{{.05, 16, .537}, {.2, 16, .965}, {.5, 16, 1}, {.9, 16, 1}, {.01, 64, .469}, {.01, 16, .140}} {
		if got := strategy.MaxRLFidelity(c.p, c.n); math.Abs(got-c.want) > 5e-4 {
			t.Errorf("kappa(%v, %d) = %v, want %v", c.p, c.n, got, c.want)
		}
	}
}

// TestMaxRLFidelity: in units of grad p a right rollout has score 1/p and a
// wrong one -1/(1-p), so k of n give (1 - k/n)(1/p + 1/(1-p)) for k > 0; the mean
// over the binomial law, times p, is kappa.
func TestMaxRLFidelity(t *testing.T) {
	for _, p := range []float64{1e-6, .01, .3, .5, .9, .999} {
		for _, n := range []int{1, 2, 3, 16, 64} {
			mean := 0.0
			for k := 1; k <= n; k++ {
				law := distuv.Binomial{N: float64(n), P: p}.Prob(float64(k))
				mean += law * (1 - float64(k)/float64(n)) * (1/p + 1/(1-p)) * p
			}
			if got := strategy.MaxRLFidelity(p, n); math.Abs(got-mean) > 1e-12 {
				t.Errorf("p %v, n %d: kappa %v, enumerated %v", p, n, got, mean)
			}
		}
	}
}

// TestWaterline: the conditions of the max-min: the whole budget is spent,
// who is between the bounds has the target's fidelity, who is held at most has
// no more and who is held at least no less. The whole sizes are the floors or
// one more and spend the budget as well, for tiny p and p next to 1 too.
func TestWaterline(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 6))
	for range 3000 {
		p := make([]float64, 1+r.IntN(12))
		for i := range p {
			p[i] = []float64{r.Float64(), r.Float64(), 1e-300, 1e-9, math.Nextafter(1, 0), .5}[r.IntN(6)]
			p[i] = max(p[i], 1e-12)
		}
		least := 1 + r.IntN(4)
		most := least + r.IntN(60)
		budget := len(p)*least + r.IntN(len(p)*(most-least)+1)
		real, n := make([]float64, len(p)), make([]int, len(p))
		tau := strategy.Waterline(p, budget, least, most, real)
		strategy.EqualFidelity(p, budget, least, most, n)
		sum, spent := 0.0, 0
		for i, p := range p {
			lambda := -math.Log1p(-p)
			sum += real[i]
			spent += n[i]
			reach := lambda * (real[i] - 1) // the fidelity is 1 - e^-reach
			slack := 1e-9*tau + 1e-15*lambda*real[i]
			switch {
			case least == most: // both bounds hold it
			case real[i] == float64(most) && reach > tau+slack,
				real[i] == float64(least) && reach < tau-slack,
				real[i] > float64(least) && real[i] < float64(most) && math.Abs(reach-tau) > slack:
				t.Fatalf("p %v: size %v reaches %v, target %v", p, real[i], reach, tau)
			}
			if n[i] != int(real[i]) && n[i] != int(real[i])+1 || n[i] < least || n[i] > most {
				t.Fatalf("p %v: whole size %d for %v", p, n[i], real[i])
			}
		}
		if math.Abs(sum-float64(budget)) > 1e-8*float64(budget) || spent != budget {
			t.Fatalf("p %v in [%d, %d]: real %v, whole %d, budget %d", p, least, most, sum, spent, budget)
		}
	}
}

// TestSeraTrace follows three epochs on three prompts by hand; n = 4, 12 in all.
//
// Epoch 1: no history: 4 each, of which 1, 3, 4 succeed.
//
// Epoch 2: p = 1.5/5, 3.5/5, 4.5/5 = .3, .7, .9. All three active: 1/lambda =
// 2.8037, .8306, .4343, tau = 9/4.0686 = 2.2121, sizes 7.202, 2.837, 1.961: 7 2 1
// and the other two where the error falls most, at .9 and .7: 7 3 2. But two
// rollouts of .9 are mixed with probability .18 < .2. Two active: tau = 10/3.6343
// gives 8.71 > 8, so 8 and 4: prompt 2 gets nothing. 2 of 8 and 4 of 4 succeed.
//
// Epoch 3: evidence .75 (1, 3) + (2, 6) = (2.75, 8.25), .75 (3, 1) + (4, 0) =
// (6.25, .75) and .75 (4, 0) = (3, 0): p = 3.25/12, 6.75/8, 3.5/4. 1/lambda =
// 3.1660, .5387, .4809, tau = 9/4.1856 = 2.1502, sizes 7.808, 2.158, 2.034: 7 2 2,
// the last to prompt 0, whose error falls by .0011 where the others' rise. Two of
// .875 are mixed with probability .219, so all are active.
func TestSeraTrace(t *testing.T) {
	successes := [][]int{{1, 3, 4}, {2, 4, 0}, {0, 0, 0}}
	s := mustParse(t, "sera:n=4,min=1,max=8,threshold=0.2")
	got, err := strategytest.Steps(s, &strategytest.World{
		Prompts: 3, Batch: 3, Steps: 3,
		Answer: func(step, id, _, _ int) int { return successes[step][id] },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if asked, want := fmt.Sprint(byID(got, 3)), "[[4 4 4] [8 4 0] [8 2 2]]"; asked != want {
		t.Errorf("%s, want %s", asked, want)
	}
	weights := [][]float64{{1, 1, 1}, {.5, 1, 0}, {.5, 2, 2}}
	for step, trace := range got {
		trained := 0
		for x, id := range trace.ID {
			if got, want := trace.Update.Weights[x], weights[step][id]; got != want {
				t.Errorf("step %d, prompt %d: weight %v, want %v", step+1, id, got, want)
			}
			if trace.N[x] > 0 {
				trained++
			}
		}
		if len(trace.Update.Prompts) != trained {
			t.Errorf("step %d: trains on %v, want the %d with rollouts", step+1, trace.Update.Prompts, trained)
		}
	}
	for id, want := range []float64{3.25 / 12, 6.75 / 8, 3.5 / 4} {
		if p, ok := s.(strategy.Believer).Belief(id); !ok || math.Abs(p-want) > 1e-12 {
			t.Errorf("prompt %d: belief %v, want %v", id, p, want)
		}
	}
}

// TestSeraFrozen: nothing that an epoch shows moves an allocation before the
// next one, and one prompt without history keeps its batch at n each.
func TestSeraFrozen(t *testing.T) {
	s := mustParse(t, "sera:n=4,min=1,max=8")
	got, err := strategytest.Steps(s, &strategytest.World{
		Prompts: 4, Batch: 2, Steps: 4,
		Answer: func(step, id, _, n int) int { return min(n, id) },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step, trace := range got[:2] {
		if !slices.Equal(trace.N, []int{4, 4}) {
			t.Errorf("step %d of the first epoch: %v, want 4 each", step+1, trace.N)
		}
	}
	for id, want := range []float64{.5 / 5, 1.5 / 5, 2.5 / 5, 3.5 / 5} { // of epoch 1 alone
		if p, _ := s.(strategy.Believer).Belief(id); math.Abs(p-want) > 1e-12 {
			t.Errorf("prompt %d: belief %v, want %v", id, p, want)
		}
	}
	got, err = strategytest.Steps(s, &strategytest.World{
		Prompts: 3, Batch: 2, Steps: 2,
		Answer: func(int, int, int, int) int { return 1 },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[1].N, []int{4, 4}) {
		t.Errorf("a batch with an unknown prompt: %v, want 4 each", got[1].N)
	}
}

// TestSeraAblations on the first golden vector, by the truth; the mixed groups
// of (47, 11, 4, 2) all pass .05.
func TestSeraAblations(t *testing.T) {
	p := []float64{.05, .2, .5, .9}
	covered := 0.0 // mean probability of a success
	for i, n := range []int{47, 11, 4, 2} {
		covered += (1 - math.Pow(1-p[i], float64(n))) / 4
	}
	for _, c := range []struct {
		spec    string
		n       []int
		weights []float64
	}{
		{"sera:p=truth", []int{47, 11, 4, 2}, []float64{16. / 47, 16. / 11, 4, 8}},
		{"sera:p=truth,mode=equalized", []int{47, 11, 4, 2}, []float64{16. / 47, 16. / 11, 4, 8}},
		{"sera:p=truth,mode=fixed", []int{16, 16, 16, 16}, []float64{1, 1, 1, 1}},
		{"sera:p=truth,weights=false", []int{47, 11, 4, 2}, nil},
		{"sera:p=truth,weights=false,coverage=true", []int{47, 11, 4, 2}, []float64{1 / covered, 1 / covered, 1 / covered, 1 / covered}},
	} {
		got, err := strategytest.Steps(mustParse(t, c.spec), &strategytest.World{
			Prompts: 4, Batch: 4, Steps: 1, Truth: p,
			Answer: func(int, int, int, int) int { return 0 },
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := byID(got, 4)[0]; !slices.Equal(n, c.n) {
			t.Errorf("%s: %v, want %v", c.spec, n, c.n)
		}
		u := got[0].Update
		if (u.Weights == nil) != (c.weights == nil) {
			t.Fatalf("%s: weights %v, want %v", c.spec, u.Weights, c.weights)
		}
		for x, w := range u.Weights {
			if want := c.weights[got[0].ID[x]]; math.Abs(w-want) > 1e-12 {
				t.Errorf("%s: weight %v, want %v", c.spec, w, want)
			}
		}
	}
}

// TestSeraForced: where all prompts are dead nobody passes, and as few as can
// take the budget are forced in.
func TestSeraForced(t *testing.T) {
	got, err := strategytest.Steps(mustParse(t, "sera:p=truth,n=3,max=4"), &strategytest.World{
		Prompts: 6, Batch: 6, Steps: 1, Truth: make([]float64, 6),
		Answer: func(int, int, int, int) int { return 0 },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 18 rollouts in groups of at most 4: five, in the batch's order: 1 + tau/lambda
	// is 3.6 for all, and ties of the rounding go by place.
	if want := []int{4, 4, 4, 3, 3, 0}; !slices.Equal(got[0].N, want) {
		t.Errorf("groups %v, want %v", got[0].N, want)
	}
}

func TestSeraConformance(t *testing.T) {
	for _, text := range []string{
		"sera",
		"sera:n=1,min=1,max=1",
		"sera:n=8,max=8,mode=equalized,coverage=true",
		"sera:mode=fixed",
		"sera:p=truth,threshold=0.3",
		"sera:n=4,min=1,max=100,threshold=1,weights=false,discount=0",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, true) // ties of the ranking go to the front of the batch, as in the code
		})
	}
}

// BenchmarkSelectSera allocates for 1,024 prompts by the truth.
func BenchmarkSelectSera(b *testing.B) {
	const batch = 1024
	s := mustParse(b, "sera:p=truth")
	p := make([]float64, batch)
	for i := range p {
		p[i] = float64(i) / (batch - 1)
	}
	set, seen := rollout.NewSet(batch), new(rollout.Batch)
	set.Restart(rand.New(rand.NewPCG(1, 1)))
	s.(strategy.Learner).Begin(batch)
	set.Begin(seen)
	set.Load(batch)
	s.(strategy.TruthSeer).SeeTruth(p)
	var ask []rollout.Request
	b.ReportAllocs()
	for b.Loop() {
		ask = s.Next(seen, ask[:0], nil)
	}
}

func TestSeraSpecs(t *testing.T) {
	const rest = ",threshold=0.05,prior=0.5,discount=0.75,mode=active,weights=true,coverage=false,p=history"
	wantSpecs(t, map[string]string{
		"sera":       "sera:n=16,min=2,max=64" + rest,
		"sera:n=1":   "sera:n=1,min=1,max=64" + rest,
		"sera:n=100": "sera:n=100,min=2,max=100" + rest,
	})
	wantFaults(t, map[string][]string{
		"sera:n=4,min=5,max=3":                {"min = 5, want a whole number in [1, 4]", "max = 3, want a whole number in [4, 10000]"},
		"sera:threshold=2,prior=0,discount=2": {"threshold = 2, want [0, 1]", "prior = 0, want (0, 1000]", "discount = 2"},
		"sera:mode=acitve,p=x":                {"did you mean active?", "p = x, want one of history, truth"},
	})
	wantExactSpending(t, "sera")
}
