package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func thompson(t testing.TB, spec string) *strategy.Thompson {
	t.Helper()
	s, ok := mustParse(t, spec).(*strategy.Thompson)
	if !ok {
		t.Fatalf("%s is no Thompson sampling", spec)
	}
	return s
}

// TestThompsonBeliefs follows three prompts over two steps of 8 rollouts by
// hand, each with all of them (batch 3 of 3).
func TestThompsonBeliefs(t *testing.T) {
	successes := [][]int{{6, 0, 8}, {2, 0, 4}} // by step and prompt
	for _, c := range []struct {
		spec string
		want [][]float64
	}{
		// a, b from 1, 1: step 1 gives 7, 3; 1, 9; 9, 1. Step 2 adds 2, 6; 0, 8;
		// 4, 4: 9, 9; 1, 17; 13, 5.
		{"thompson:pool=1", [][]float64{{.7, .1, .9}, {9. / 18, 1. / 18, 13. / 18}}},
		// The same first step, as .5*1 + .5 = 1. Then .5*7 + .5 + 2 = 6 and .5*3 +
		// .5 + 6 = 8; 1 and 13; 9 and 5.
		{"thompson:pool=1,decay=0.5", [][]float64{{.7, .1, .9}, {6. / 14, 1. / 14, 9. / 14}}},
		// Nothing but the last step: 3, 7; 1, 9; 5, 5.
		{"thompson:pool=1,decay=0", [][]float64{{.7, .1, .9}, {.3, .1, .5}}},
	} {
		s := thompson(t, c.spec)
		for steps := 1; steps <= 2; steps++ {
			got, err := strategytest.Steps(s, &strategytest.World{
				Prompts: 3, Batch: 3, Steps: steps,
				Answer: func(step, id, _, _ int) int { return successes[step][id] },
			}, rand.New(rand.NewPCG(1, uint64(steps))))
			if err != nil {
				t.Fatal(err)
			}
			for id, want := range c.want[steps-1] {
				p, ok := s.Belief(id)
				wantNear(t, fmt.Sprintf("%s: belief in %d after %d steps", c.spec, id, steps), p, want, 1e-15)
				if !ok {
					t.Errorf("%s: no belief in %d", c.spec, id)
				}
			}
			for step, trace := range got {
				if len(trace.Asked) != 1 || !slices.Equal(trace.N, []int{8, 8, 8}) || trace.Update.Failed {
					t.Errorf("%s, step %d: asked %v, failed %v", c.spec, step+1, trace.Asked, trace.Update.Failed)
				}
			}
		}
	}
}

// chosen returns the prompts that s runs for a batch after it has seen s[id] of
// n[id] successes, nothing where n is 0.
func chosen(t *testing.T, th *strategy.Thompson, batch int, n, s []int, r *rand.Rand) []int {
	t.Helper()
	th.Begin(len(n))
	var seen rollout.Batch
	for id := range n {
		if n[id] > 0 {
			seen.ID, seen.N, seen.S = append(seen.ID, id), append(seen.N, n[id]), append(seen.S, s[id])
		}
	}
	th.Observe(&seen)
	return run(t, th, batch, len(n), r)
}

// run returns the prompts of one step.
func run(t *testing.T, th *strategy.Thompson, batch, prompts int, r *rand.Rand) []int {
	t.Helper()
	set, b := rollout.NewSet(prompts), new(rollout.Batch)
	set.Restart(r)
	set.Begin(b)
	if err := th.Start(batch); err != nil {
		t.Fatal(err)
	}
	th.Next(b, nil, r)
	ids := slices.Clone(b.ID)
	slices.Sort(ids)
	return ids
}

// TestThompsonChoice: after 8000 rollouts a prompt's draw is within .03 of its
// rate with probability above 1 - 1e-7, and the choice is certain.
func TestThompsonChoice(t *testing.T) {
	n, s := []int{8000, 8000, 8000, 8000}, []int{0, 4000, 6400, 8000} // 0, .5, .8, 1
	for _, c := range []struct {
		spec string
		want []int
	}{
		{"thompson", []int{1, 2}},
		{"thompson:target=0.95", []int{2, 3}},
		{"thompson:target=0", []int{0, 1}},
		{"thompson:select=threshold", []int{1, 2}},                  // distances .3 0 .1 .3
		{"thompson:select=threshold,low=0.05", []int{0, 1}},         // .05 0 .1 .3
		{"thompson:select=threshold,low=0.75,high=1", []int{2, 3}},  // .75 .25 0 0
		{"thompson:select=threshold,high=0.9,low=0.9", []int{2, 3}}, // .9 .4 .1 .1
	} {
		got := chosen(t, thompson(t, c.spec), 2, n, s, rand.New(rand.NewPCG(1, 1)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: chose %v, want %v", c.spec, got, c.want)
		}
	}
	th := thompson(t, "thompson")
	if got := chosen(t, th, 5, n, s, rand.New(rand.NewPCG(1, 1))); len(got) != 4 || !th.Update().Failed {
		t.Errorf("a batch of 5 of 4 prompts: %v, failed %v, want all, true", got, th.Update().Failed)
	}
	chosen(t, th, 1, []int{0, 8}, []int{0, 8}, rand.New(rand.NewPCG(1, 1)))
	if _, ok := th.Belief(0); ok {
		t.Error("a belief in a prompt that never ran")
	}
	th.Begin(2)
	if _, ok := th.Belief(1); ok {
		t.Error("a belief from an earlier run")
	}
}

// TestThompsonShares compares how often one of two prompts is run with
// P(|q0-1/2| < |q1-1/2|), q0 ~ Beta(8, 2), q1 ~ Beta(1, 1), by quadrature. By
// Hoeffding a share of n runs strays from its mean by tol or more with
// probability at most 2 exp(-2 n tol^2) < 1e-6/4; a share off by 2*tol is
// missed with at most that probability.
func TestThompsonShares(t *testing.T) {
	const n, tol = 20_000, .0201
	believed := distuv.Beta{Alpha: 8, Beta: 2}
	// q1 is uniform, so that it is farther away with probability 1 - 2|q0-1/2|.
	topk := quad.Fixed(func(q float64) float64 {
		return believed.Prob(q) * (1 - 2*math.Abs(q-.5))
	}, 0, 1, 400, nil, 0)
	// Distances 0 tie. Outside [.1, .9], q1 is farther than d with probability
	// .2 - 2d.
	threshold := quad.Fixed(func(q float64) float64 {
		d := max(0, .1-q, q-.9)
		if d > 0 {
			return believed.Prob(q) * (.2 - 2*d)
		}
		return believed.Prob(q) * (.2 + .8/2)
	}, 0, 1, 4000, nil, 0)
	for spec, want := range map[string]float64{
		"thompson": topk, "thompson:select=threshold,low=0.1,high=0.9": threshold,
		"thompson:select=uniform": .5, "thompson:target=1": .8, // P(q0 > q1) = E[q0]
	} {
		s, r, first := thompson(t, spec), rand.New(rand.NewPCG(20260101, 7)), 0
		for range n {
			if chosen(t, s, 1, []int{8, 0}, []int{7, 0}, r)[0] == 0 {
				first++
			}
		}
		wantNear(t, spec+": share", float64(first)/n, want, tol)
	}
}

// TestThompsonPools: a pool of floor(1.9*2) = 3 leaves three pools of ten
// prompts an epoch, and no prompt in two of them. A prompt that is always
// nearest runs in every step where the pool is the set, and once an epoch where
// it is a third of it.
func TestThompsonPools(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := thompson(t, "thompson:pool=1.9")
		s.Begin(10)
		ran := map[int]bool{}
		for range 3 {
			for _, id := range run(t, s, 2, 10, r) {
				if ran[id] {
					t.Fatalf("seed %d: prompt %d ran twice in an epoch", seed, id)
				}
				ran[id] = true
			}
		}
	}
	n, successes := slices.Repeat([]int{8000}, 6), []int{0, 0, 4000, 8000, 8000, 0}
	for spec, want := range map[string]int{"thompson:pool=16": 6, "thompson:pool=2": 2} {
		s, r, got := thompson(t, spec), rand.New(rand.NewPCG(1, 1)), 0
		ids := chosen(t, s, 1, n, successes, r)
		for range 6 {
			if ids[0] == 2 {
				got++
			}
			ids = run(t, s, 1, 6, r)
		}
		if got != want {
			t.Errorf("%s: the nearest prompt ran %d times of 6, want %d", spec, got, want)
		}
	}
}

func TestThompsonParameters(t *testing.T) {
	wantRefused(t, map[string]string{
		"thompson:pool=0.5":   "pool = 0.5, want [1, 1024]",
		"thompson:decay=1.1":  "decay = 1.1, want [0, 1]",
		"thompson:target=x":   "target = x, want [0, 1]",
		"thompson:low=0.8":    "low = 0.8, want at most high = 0.7",
		"thompson:select=top": "want one of topk, threshold, uniform",
	})
	wantSpending(t, "thompson", map[int]string{8: "thompson:g=8"})
}

func BenchmarkSelectThompson(b *testing.B) {
	const prompts = 16 * 1024
	s := thompson(b, "thompson")
	s.Begin(prompts)
	set, batch, ask := rollout.NewSet(prompts), new(rollout.Batch), []rollout.Request(nil)
	r := rand.New(rand.NewPCG(1, 1))
	set.Restart(r)
	for b.Loop() {
		set.Begin(batch)
		if err := s.Start(1024); err != nil {
			b.Fatal(err)
		}
		ask = s.Next(batch, ask[:0], r)
	}
}
