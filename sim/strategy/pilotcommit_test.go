package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestPilotCommitConformance(t *testing.T) {
	for _, text := range []string{
		"pilot-commit", "pilot-commit:order=variance,pilot=4,commit=12,cap=0", "pilot-commit:pilot=8,effective=3,gen=1,staleness=0,evict=0.75,lower=0,upper=0",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// TestPilotCommitTraces follows pilots of four and commits of six by hand, in
// the order of the set. A pilot passes with 1, 2 or 3 successes of four, both
// bounds inclusive, and 4 of 4 evict.
func TestPilotCommitTraces(t *testing.T) {
	const four = "pilot-commit:pilot=4,commit=6,lower=0.25"
	for _, c := range []struct {
		name, spec     string
		prompts, batch int
		pilot, commit  []map[int]int // by step, successes by prompt; 0 for the others
		want           []string
	}{
		{
			// Step 1: of 0-3 pass 0 (2) and 2 (1); 1 is evicted. The second tick
			// commits both while 4-7 are piloted: 2+1 and 1+3 of ten.
			// Step 2: the buffer has 4 (3), 5 (2), 6 (1), 7 (2): 5 and 7 vary most.
			// One tick; 10 is evicted; 4 (3), 6 (1), 8 (2), 11 (3) stay.
			// Step 3: 12 and 13 fill no tick and the epoch ends: the buffer is
			// cleared, and 0, 2, 3, 4 come, without 1. Their commits, 0 and
			// 2, come with the second tick.
			// Step 4: 9, then 11, 12, 13 without 10; 5 and 8 had passed in step 3.
			name: "epochs", spec: four + ",gen=2,order=variance", prompts: 14, batch: 2,
			pilot: []map[int]int{
				{0: 2, 1: 4, 2: 1, 4: 3, 5: 2, 6: 1, 7: 2},
				{8: 2, 10: 4, 11: 3},
				{0: 2, 2: 2, 4: 4, 5: 2, 8: 1},
				{},
			},
			commit: []map[int]int{{0: 1, 2: 3}, {5: 4}, {0: 6}, {5: 1, 8: 1}},
			want: []string{
				"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 0:6 2:6 -> 0 3/10, 2 4/10",
				"8:4 9:4 10:4 11:4 5:6 7:6 -> 5 6/10, 7 2/10",
				"0:4 2:4 3:4 4:4 | 5:4 6:4 7:4 8:4 0:6 2:6 -> 0 8/10, 2 2/10",
				"9:4 11:4 12:4 13:4 5:6 8:6 -> 5 3/10, 8 2/10",
			},
		},
		{
			// Ties go by the later step, then by arrival: 0, then 1, then 4, which
			// is a step later than 2, then 2; 6 (1 of four) before the older 3. That
			// is five steps old when it is committed: the buffer was last cleaned
			// when it was four.
			name: "later step first", spec: four + ",gen=2,order=variance", prompts: 40, batch: 1,
			pilot: []map[int]int{{0: 2, 1: 2, 2: 2, 3: 1}, {4: 2}, {6: 1}, {}, {}, {12: 2}, {}},
			want: []string{
				"0:4 1:4 | 2:4 3:4 0:6 -> 0 2/10",
				"4:4 5:4 1:6 -> 1 2/10",
				"6:4 7:4 4:6 -> 4 2/10",
				"8:4 9:4 2:6 -> 2 2/10",
				"10:4 11:4 6:6 -> 6 1/10",
				"12:4 13:4 3:6 -> 3 1/10",
				"14:4 15:4 12:6 -> 12 2/10",
			},
			commit: make([]map[int]int, 7),
		},
		{
			// staleness=0 keeps pilots for the next step alone: 1 is committed, 2
			// and 3 are dropped after step 2. Step 5 needs three ticks.
			name: "stale", spec: four + ",gen=2,order=variance,staleness=0", prompts: 40, batch: 1,
			pilot: []map[int]int{{0: 2, 1: 2, 2: 2, 3: 1}, {4: 2}, {6: 1}, {}, {12: 2}},
			want: []string{
				"0:4 1:4 | 2:4 3:4 0:6 -> 0 2/10",
				"4:4 5:4 1:6 -> 1 2/10",
				"6:4 7:4 4:6 -> 4 2/10",
				"8:4 9:4 6:6 -> 6 1/10",
				"10:4 11:4 | 12:4 13:4 | 14:4 15:4 12:6 -> 12 2/10",
			},
			commit: make([]map[int]int, 5),
		},
		{
			// In step 2 the epoch ends after the commit of 2, which is lost, and the
			// count of ticks begins anew: two more are allowed. 2, 4 and 5 have been
			// served in this step, so 3 alone is left for its last tick.
			name: "partial batch", spec: four + ",gen=1,cap=2", prompts: 6, batch: 2,
			pilot:  []map[int]int{{0: 2, 1: 2, 2: 2}, {0: 2, 1: 1}},
			commit: []map[int]int{{0: 3}, {2: 5, 1: 6}},
			want: []string{
				"0:4 1:4 | 2:4 3:4 0:6 1:6 -> 0 5/10, 1 2/10",
				"4:4 5:4 2:6 | 0:4 1:4 | 3:4 0:6 1:6 -> 0 2/10, 1 7/10",
			},
		},
		{
			name: "cap", spec: four + ",gen=1,cap=2", prompts: 20, batch: 2,
			pilot:  []map[int]int{{0: 2}},
			commit: []map[int]int{{0: 1}},
			want:   []string{"0:4 1:4 | 2:4 3:4 0:6 -> 0 3/10 failed"},
		},
		{
			name: "dead", spec: four + ",gen=2,cap=0", prompts: 5, batch: 1,
			pilot:  []map[int]int{{}},
			commit: []map[int]int{{}},
			want:   []string{"0:4 1:4 | 2:4 3:4 | 4:4 -> "},
		},
		{
			// Three of four pilots are kept, one success of three where there are
			// enough failures: 1 of 4 gives 1 of 3, 3 of 4 two of 3.
			name: "effective", spec: four + ",gen=2,effective=3", prompts: 20, batch: 2,
			pilot:  []map[int]int{{0: 1, 1: 3}},
			commit: []map[int]int{{1: 4}},
			want:   []string{"0:4 1:4 2:4 3:4 | 4:4 5:4 6:4 7:4 0:6 1:6 -> 0 1/9, 1 6/9"},
		},
		{
			// Without eviction 1 comes again; a lower bound of 0 lets dead pilots
			// pass: both 0 and 1 here, so that the second tick fills the batch.
			name: "no eviction", spec: "pilot-commit:pilot=4,commit=6,lower=0,upper=0,evict=0,gen=1", prompts: 4, batch: 2,
			pilot:  []map[int]int{{1: 4}, {1: 4}},
			commit: []map[int]int{{}, {}},
			want: []string{
				"0:4 1:4 | 2:4 3:4 0:6 1:6 -> 0 0/10, 1 4/10",
				"0:4 1:4 | 2:4 3:4 0:6 1:6 -> 0 0/10, 1 4/10",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := strategytest.World{Prompts: c.prompts, Batch: c.batch, Answer: func(step, id, _, n int) int {
				if n == 4 {
					return c.pilot[step][id]
				}
				return c.commit[step][id]
			}}
			follow(t, mustParse(t, c.spec), w, rand.New(inOrder{}), c.want)
		})
	}
}

// TestPilotCommitRandomOrder commits two of four waiting prompts, each equally
// often. By Hoeffding a share strays by more than tol with probability at most
// 2 exp(-2 n tol^2) = 1e-6/4; one that is off by 2 tol is missed with at most
// that probability.
func TestPilotCommitRandomOrder(t *testing.T) {
	const n, tol = 20_000, 0.0202
	s := mustParse(t, "pilot-commit:pilot=4,commit=6,gen=2")
	half := func(_, _, _, n int) int { return n / 2 }
	r := rand.New(rand.NewPCG(20260101, 9))
	var picked [4]int
	for range n {
		w := &strategytest.World{Prompts: 40, Batch: 2, Steps: 1, Answer: half, Order: rand.New(inOrder{})}
		got, err := strategytest.Steps(s, w, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got[0].Update.Prompts {
			picked[got[0].ID[x]]++
		}
	}
	for id, k := range picked {
		if share := float64(k) / n; !(math.Abs(share-0.5) < tol) {
			t.Errorf("prompt %d is committed in a share %.4f of the steps, want 0.5 ± %v", id, share, tol)
		}
	}
}

// TestPilotCommitManyTies: twenty pilots a tick, one success of four where the
// number is a multiple of three and two elsewhere. Of those with two the first
// to arrive goes: 1, then 2 of the pilots of step 1, and then the first of the
// step before, 40, 61 and 80.
func TestPilotCommitManyTies(t *testing.T) {
	w := &strategytest.World{Prompts: 400, Batch: 1, Steps: 5, Order: rand.New(inOrder{}), Answer: func(_, id, _, _ int) int {
		return 1 + min(1, id%3)
	}}
	got, err := strategytest.Steps(mustParse(t, "pilot-commit:pilot=4,commit=6,gen=20,order=variance"), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range []int{1, 2, 40, 61, 80} {
		if id := got[step].ID[got[step].Update.Prompts[0]]; id != want {
			t.Errorf("step %d commits prompt %d, want %d", step+1, id, want)
		}
	}
}

// TestPilotCommitCost: a step of k ticks costs k gen B pilots and B commits,
// whatever the outcomes.
func TestPilotCommitCost(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 10))
	got, err := strategytest.Steps(mustParse(t, "pilot-commit:pilot=4,commit=12"), &strategytest.World{
		Prompts: 30_000, Batch: 8, Steps: 200, Answer: draw(0.05, r), // 4.5 of 24 pilots pass: several ticks a step
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for step, trace := range got {
		ticks := len(trace.Asked)
		if want := ticks*3*8*4 + 8*12; spent(trace) != want || trace.Update.Failed {
			t.Errorf("step %d: %d ticks cost %d rollouts (failed: %v), want %d", step+1, ticks, spent(trace), trace.Update.Failed, want)
		}
		if ticks > 1 {
			several++
		}
	}
	if several < 20 {
		t.Errorf("%d of 200 steps take more than one tick: too few to test", several)
	}
}

// TestPilotCommitPublishedCost: where every pilot passes, a step after the
// first takes one tick: 384*16 + 128*48 = 12,288 rollouts for groups of 64 and
// 24,576 for groups of 128, where fixed groups, GRPO's, cost 128*64 = 8,192 and
// 16,384. The first has nothing to commit in its first tick.
func TestPilotCommitPublishedCost(t *testing.T) {
	for text, want := range map[string][3]int{
		"pilot-commit":                    {18_432, 12_288, 12_288},
		"pilot-commit:pilot=32,commit=96": {36_864, 24_576, 24_576},
		"fixed:g=64":                      {8_192, 8_192, 8_192},
		"fixed:g=128":                     {16_384, 16_384, 16_384},
	} {
		half := func(_, _, _, n int) int { return n / 2 }
		got, err := strategytest.Steps(mustParse(t, text), &strategytest.World{Prompts: 2000, Batch: 128, Steps: 3, Answer: half}, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for step, trace := range got {
			if spent(trace) != want[step] {
				t.Errorf("%s: step %d costs %d rollouts, want %d", text, step+1, spent(trace), want[step])
			}
		}
	}
	if got := strategy.PilotCommitCost(128, 3, 16, 48); got != 12_288 {
		t.Errorf("groups of 64: %d rollouts, want 12288", got)
	}
	if got := strategy.PilotCommitCost(128, 3, 32, 96); got != 24_576 {
		t.Errorf("groups of 128: %d rollouts, want 24576", got)
	}
}

// TestPilotPass: binomial sums over k = 2..12 of 16 and 1..6 of 8, by mpmath
// (testdata/loader.py), and nothing of dead and solved prompts.
func TestPilotPass(t *testing.T) {
	for _, row := range loaderRows(t, "pilot pass") {
		n := int(row.x)
		wantNear(t, fmt.Sprintf("p = %v, n = %d", row.z, n), strategy.PilotPass(row.z, n, 0.125, 0.25), row.value, 1e-13)
	}
	for _, p := range []float64{0, 1} {
		if got := strategy.PilotPass(p, 16, 0.125, 0.25); got != 0 {
			t.Errorf("p = %v: %v pass, want 0", p, got)
		}
	}
	for _, p := range []float64{0, 0.3, 1} {
		if got := strategy.PilotPass(p, 16, 0, 0); !(math.Abs(got-1) < 1e-13) {
			t.Errorf("p = %v: %v pass without bounds, want 1", p, got)
		}
	}
}

func BenchmarkSelectPilotCommit(b *testing.B) { benchmarkSteps(b, "pilot-commit") }
func BenchmarkSelectPilotCommitVariance(b *testing.B) {
	benchmarkSteps(b, "pilot-commit:order=variance")
}
