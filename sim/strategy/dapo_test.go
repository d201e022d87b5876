package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestDAPOConformance(t *testing.T) {
	for _, text := range []string{
		"dapo", "dapo:mode=stream", "dapo:n=1", "dapo:n=2,gen=1,cap=2", "dapo:mode=stream,n=4,cap=3", "dapo:low=0.2,high=0.8,n=8",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// TestDAPOTraces follows verl's and OpenRLHF's filters by hand: nine prompts
// in the order of the set, two groups of four an update.
func TestDAPOTraces(t *testing.T) {
	// Successes of four by step and prompt.
	successes := [][]int{
		{0, 4, 2, 0, 4, 1, 3, 0, 2},
		{1, 0, 0, 4, 4, 4, 4, 4, 2},
	}
	world := strategytest.World{Prompts: 9, Batch: 2, Answer: func(step, id, _, n int) int {
		return min(successes[step][id], n)
	}}
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{
			// Round 1 takes 2*2 prompts, 0-3, and keeps 2 alone; round 2 takes 4-7
			// and keeps 5 and 6: three, of which the first two in order of arrival
			// stay. Step 2 begins with 8, the last of the epoch, and goes on with
			// 0, 1, 2 of the next; it keeps 8 and 0.
			"batch", "dapo:n=4,gen=2",
			[]string{
				"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 -> 2 2/4, 5 1/4",
				"8:4 0:4 1:4 2:4 -> 8 2/4, 0 1/4",
			},
		},
		{
			// One round is allowed and keeps one group of two.
			"cap", "dapo:n=4,gen=2,cap=1",
			[]string{"0:4 1:4 2:4 3:4 -> 2 2/4 failed"},
		},
		{
			// The batch is full after the second round: no error.
			"cap met", "dapo:n=4,gen=2,cap=2",
			[]string{"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 -> 2 2/4, 5 1/4"},
		},
		{
			// 0 and 1 go, so do two new ones, 2 and 3, but for 2; then 4 goes, and 5
			// stays: six groups for two.
			"stream", "dapo:n=4,mode=stream",
			[]string{"0:4 1:4 | 2:4 3:4 | 4:4 | 5:4 -> 2 2/4, 5 1/4"},
		},
		{
			// Strictly between: 1/4 goes where low = 1/4, so 5 does, and 6 stays.
			"low", "dapo:n=4,gen=2,low=0.25",
			[]string{"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 -> 2 2/4, 6 3/4"},
		},
		{
			// 3/4 goes where high = 3/4: one group until the set is exhausted, then
			// 8 comes in.
			"high", "dapo:n=4,gen=2,low=0.25,high=0.75",
			[]string{"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 | 8:4 -> 2 2/4, 8 2/4"},
		},
		{
			// A single response is kept, right or wrong: the first two of four.
			"singletons", "dapo:n=1,gen=2",
			[]string{"0:1 1:1 2:1 3:1 -> 0 0/1, 1 1/1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) { follow(t, mustParse(t, c.spec), world, nil, c.want) })
	}
	t.Run("dead", func(t *testing.T) {
		// No group is ever kept: the step ends with the set, without an error.
		dead := strategytest.World{Prompts: 5, Batch: 2, Answer: func(int, int, int, int) int { return 0 }}
		follow(t, mustParse(t, "dapo:n=4,gen=2"), dead, nil, []string{"0:4 1:4 2:4 3:4 | 4:4 -> "})
	})
}

// TestDAPOBatches compares with mpmath at 40 digits (testdata/loader.py), and
// 0 and the sum of nothing by hand.
func TestDAPOBatches(t *testing.T) {
	for _, row := range loaderRows(t, "batches") {
		got, want := strategy.DAPOBatches(int(row.x), int(row.y), row.z), row.value
		if !(math.Abs(got/want-1) < 1e-11) {
			t.Errorf("B=%v, gen=%v, s=%v: E[K] = %.15g, want %.15g", row.x, row.y, row.z, got, want)
		}
	}
	if got := strategy.DAPOBatches(3, 3, 0); !math.IsInf(got, 1) {
		t.Errorf("s = 0: E[K] = %v, want +Inf", got)
	}
	for _, s := range []float64{-0.1, 1.1, math.NaN()} {
		if got := strategy.DAPOBatches(8, 8, s); !math.IsNaN(got) {
			t.Errorf("s = %v: E[K] = %v, want NaN", s, got)
		}
	}
}

// TestDAPOCost holds the rounds of steps on prompts of one p against their law
// P(K <= k) = P(Bin(k gen B, s) >= B), and the groups of a streamed step
// against P(T <= t) = P(Bin(t, s) >= B), s the effective probability.
func TestDAPOCost(t *testing.T) {
	const p, batch, steps = 0.1, 8, 20_000
	s := strategy.EffectiveProbability(p, 4)
	atLeast := func(n int) float64 { // P(Bin(n, s) >= batch), by recursion over n
		law := make([]float64, batch+1)
		law[0] = 1
		for range n {
			for k := batch; k >= 0; k-- {
				stay := 1 - s
				if k == batch {
					stay = 1
				}
				law[k] *= stay
				if k > 0 {
					law[k] += s * law[k-1]
				}
			}
		}
		return law[batch]
	}
	for _, c := range []struct {
		spec  string
		count func(*strategytest.Trace) int
		cdf   func(k int) float64
	}{
		{"dapo:n=4,gen=1", func(t *strategytest.Trace) int { return len(t.Asked) }, func(k int) float64 { return atLeast(k * batch) }},
		{"dapo:n=4,gen=2", func(t *strategytest.Trace) int { return len(t.Asked) }, func(k int) float64 { return atLeast(2 * k * batch) }},
		{"dapo:n=4,mode=stream", func(t *strategytest.Trace) int { return spent(t) / 4 }, atLeast},
	} {
		r := rand.New(rand.NewPCG(20260101, 7))
		got, err := strategytest.Steps(mustParse(t, c.spec), &strategytest.World{
			Prompts: 4096, Batch: batch, Steps: steps, Answer: draw(p, r),
		}, r)
		if err != nil {
			t.Fatal(err)
		}
		var sample []int
		for _, trace := range got {
			sample = append(sample, c.count(trace))
			if len(trace.Update.Prompts) != batch {
				t.Fatalf("%s: %d groups trained on, want %d", c.spec, len(trace.Update.Prompts), batch)
			}
		}
		checkLaw(t, sample, 64, c.cdf)
	}
	want := 0.
	for k := range 200 { // E[K] = sum P(K > k)
		want += 1 - atLeast(k*batch)
	}
	if got := strategy.DAPOBatches(batch, batch, s); !(math.Abs(got-want) < 1e-9) {
		t.Errorf("E[K] = %.12f, its own law has %.12f", got, want)
	}
}

// TestDAPOGroups: the groups generated for each one kept where B = 128
// (allocation.md, section 2): E[K] gen/B in rounds of gen, against 1/s in a
// streamed step, whose number of groups is negative binomial.
func TestDAPOGroups(t *testing.T) {
	for _, c := range []struct{ s, batched, streamed float64 }{
		{7. / 9, 3.0, 1.2857},
		{0.2, 6.0246, 5},
	} {
		wantNear(t, "batched", strategy.DAPOBatches(128, 384, c.s)*384/128, c.batched, 5e-5)
		// One prompt a round and a batch of 128: E[K] is the mean of T itself.
		wantNear(t, "streamed", strategy.DAPOBatches(128, 1, c.s)/128, c.streamed, 5e-5)
	}
}

// TestDAPOPublishedCost: 128 groups of 64 out of 384 prompts are 24,576
// rollouts where one round does, and of 128 rollouts 49,152, as Pilot-Commit's
// authors count for DAPO.
func TestDAPOPublishedCost(t *testing.T) {
	for text, want := range map[string]int{"dapo:n=64": 24_576, "dapo:n=128": 49_152} {
		half := func(_, _, _, n int) int { return n / 2 }
		got, err := strategytest.Steps(mustParse(t, text), &strategytest.World{Prompts: 1000, Batch: 128, Steps: 1, Answer: half}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if spent(got[0]) != want {
			t.Errorf("%s: %d rollouts, want %d", text, spent(got[0]), want)
		}
	}
}

// TestEffectiveProbability: shares of groups with both outcomes at p = 0.1,
// and of zero-variance groups under Beta laws, 1 - E over p (2/(n+1) for the
// uniform law), by mpmath (testdata/loader.py).
func TestEffectiveProbability(t *testing.T) {
	for _, row := range loaderRows(t, "effective") {
		n := int(row.x)
		wantNear(t, fmt.Sprintf("p = 0.1, n = %d", n), strategy.EffectiveProbability(row.z, n), row.value, 1e-15)
		if got, want := strategy.EffectiveProbability(0.9, n), strategy.EffectiveProbability(0.1, n); !(math.Abs(got-want) < 1e-15) {
			t.Errorf("n = %d: %v at p = 0.9, %v at 0.1", n, got, want)
		}
	}
	for _, p := range []float64{0, 1} {
		if got := strategy.EffectiveProbability(p, 8); got != 0 {
			t.Errorf("p = %v: %v, want 0", p, got)
		}
	}
	if got := strategy.EffectiveProbability(0.1, 1); got != 0 {
		t.Errorf("n = 1: %v, want 0", got)
	}
	for _, row := range loaderRows(t, "zero variance") {
		law, err := distributions.NewBeta(row.y, row.z)
		if err != nil {
			t.Fatal(err)
		}
		zero := 1.
		for _, node := range law.Nodes(400) {
			zero -= node.W * strategy.EffectiveProbability(node.P, int(row.x))
		}
		wantNear(t, fmt.Sprintf("Beta(%v, %v): zero-variance share", row.y, row.z), zero, row.value, 5e-7)
	}
}

func BenchmarkSelectDAPO(b *testing.B)       { benchmarkSteps(b, "dapo") }
func BenchmarkSelectDAPOStream(b *testing.B) { benchmarkSteps(b, "dapo:mode=stream") }
