package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestReinforceAdaConforms(t *testing.T) {
	for _, c := range []struct {
		text    string
		byPlace bool
	}{
		{"reinforce-ada", false},
		{"reinforce-ada:exit=positive", false},
		{"reinforce-ada:n=3,m=1,rounds=20", false},
		{"reinforce-ada:n=5,m=1,rounds=1", false},
		{"reinforce-ada:mode=est", false},
		{"reinforce-ada:mode=est,min=8,max=8", false},
		{"reinforce-ada:mode=est,m=5,min=1,max=6,decay=0", false},
		{"reinforce-ada:mode=ema", false},
		{"reinforce-ada:mode=ema,m=1", false},
		{"reinforce-ada:mode=ema,m=3,decay=1,ties=index", true},
	} {
		t.Run(c.text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, c.text) }, c.byPlace)
		})
	}
}

func TestReinforceAdaParses(t *testing.T) {
	wantSpecs(t, map[string]string{
		"reinforce-ada":                     "reinforce-ada:mode=seq,exit=balanced,rounds=4,m=8,n=4",
		"reinforce-ada:mode=est,m=16":       "reinforce-ada:mode=est,m=16,min=4,max=32,eps=1e-06,decay=0.9,a=1,b=16,ties=random",
		"reinforce-ada:ties=index,mode=ema": "reinforce-ada:mode=ema,m=8,decay=0.9,a=1,b=16,ties=index",
	})
	wantRefused(t, map[string]string{
		"reinforce-ada:mode=sqe":            "did you mean seq?",
		"reinforce-ada:rounds=200,m=100":    "rounds = 200, want m*rounds at most 10000",
		"reinforce-ada:exit=any":            "exit = any",
		"reinforce-ada:decay=0.5":           "unknown parameter decay",
		"reinforce-ada:mode=est,n=4":        "unknown parameter n",
		"reinforce-ada:mode=est,m=2":        "min = 4, want a whole number in [1, m = 2]",
		"reinforce-ada:mode=est,m=33":       "max = 32, want a whole number in [m = 33, 10000]",
		"reinforce-ada:mode=est,eps=0":      "eps = 0, want (0, 1]",
		"reinforce-ada:mode=ema,a=0":        "a = 0",
		"reinforce-ada:mode=ema,decay=-0.1": "decay = -0.1",
	})
	wantSpending(t, "reinforce-ada", map[int]string{8: "reinforce-ada:m=2,n=4", 16: "reinforce-ada:m=4,n=8", 1: "reinforce-ada:m=1,n=2"})
}

// TestAdaSeqTraces is worked by hand from the released code: three rounds of
// three, a group of 3 = 1 success and 2 failures.
func TestAdaSeqTraces(t *testing.T) {
	rewards := []string{
		"100" + "111111",      // enough after round 1 both ways
		"110" + "110" + "111", // balanced: 2 and 1, then 4 and 2
		"111" + "111" + "111", // never a failure
		"000" + "000" + "010", // the first success in round 3
		"111" + "111" + "011", // balanced: one failure only, unresolved
		"000" + "000" + "000", // never a success
	}
	for _, c := range []struct {
		exit         string
		asked        [][]int // by round
		n, s         []int
		keptN, keptS []int
		baselines    []float64
	}{
		{
			exit:  "balanced",
			asked: [][]int{{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, {2, 3, 4, 5}},
			n:     []int{3, 6, 9, 9, 9, 9},
			s:     []int{1, 4, 9, 1, 8, 0},
			// One success and two failures where both are there; prompt 2 has
			// successes alone; prompt 4 fills the place of a failure.
			keptN: []int{3, 3, 3, 3, 3, 3}, keptS: []int{1, 1, 3, 1, 2, 0},
			// Of everything generated, so the advantages of prompt 1 sum to
			// 1(1-2/3) + 2(0-2/3) = -1.
			baselines: []float64{1. / 3, 2. / 3, 1, 1. / 9, 8. / 9, 0},
		},
		{
			exit:  "positive",
			asked: [][]int{{0, 1, 2, 3, 4, 5}, {3, 5}, {3, 5}},
			n:     []int{3, 3, 3, 9, 3, 9},
			s:     []int{1, 2, 3, 1, 3, 0},
			keptN: []int{3, 3, 3, 3, 3, 3}, keptS: []int{1, 2, 3, 1, 3, 0},
			baselines: []float64{1. / 3, 2. / 3, 1, 1. / 9, 1, 0},
		},
	} {
		t.Run(c.exit, func(t *testing.T) {
			s := mustParse(t, "reinforce-ada:rounds=3,m=3,n=3,exit="+c.exit)
			for range 2 { // the second batch starts afresh
				got, err := strategytest.Run(s, len(rewards), script(rewards...), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				var asked [][]int
				for _, round := range got.Asked {
					var xs []int
					for _, q := range round {
						if xs = append(xs, q.X); q.N != 3 {
							t.Errorf("prompt %d is asked %d, want 3", q.X, q.N)
						}
					}
					asked = append(asked, xs)
				}
				if fmt.Sprint(asked) != fmt.Sprint(c.asked) {
					t.Errorf("asked %v, want %v", asked, c.asked)
				}
				if !slices.Equal(got.N, c.n) || !slices.Equal(got.S, c.s) {
					t.Errorf("counts %v of %v, want %v of %v", got.S, got.N, c.s, c.n)
				}
				u := got.Update
				if !slices.Equal(u.N, c.keptN) || !slices.Equal(u.S, c.keptS) || !slices.Equal(u.Baselines, c.baselines) {
					t.Errorf("kept %v of %v against %v, want %v of %v against %v", u.S, u.N, u.Baselines, c.keptS, c.keptN, c.baselines)
				}
			}
		})
	}
}

// A group that is short of rollouts keeps them all, and a single rollout is
// compared with 0.
func TestAdaSeqShort(t *testing.T) {
	for _, c := range []struct {
		spec, rewards string
		n, s          int
		baseline      float64
	}{
		{"reinforce-ada:rounds=1,m=2,n=4", "11", 2, 2, 1},
		{"reinforce-ada:rounds=2,m=1,n=4", "10", 2, 1, .5},
		{"reinforce-ada:rounds=1,m=1,n=1", "1", 1, 1, 0},
		{"reinforce-ada:rounds=1,m=3,n=1", "110", 1, 0, 2. / 3}, // floor(1/2) = 0 successes
	} {
		got, err := strategytest.Run(mustParse(t, c.spec), 1, script(c.rewards), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if u := got.Update; u.N[0] != c.n || u.S[0] != c.s || u.Baselines[0] != c.baseline {
			t.Errorf("%s of %s: kept %v of %v against %v, want %d of %d against %v", c.spec, c.rewards, u.S, u.N, u.Baselines, c.s, c.n, c.baseline)
		}
	}
}

// TestAdaSeqCostIsExact runs the strategy on every sequence of round counts and
// weighs it with its probability: cost and unresolved share must be those of
// the closed form, up to rounding.
func TestAdaSeqCostIsExact(t *testing.T) {
	const m, rounds = 8, 4
	for _, exit := range []struct {
		name                string
		successes, failures int
	}{{"balanced", 2, 2}, {"positive", 1, 0}} {
		s := mustParse(t, fmt.Sprintf("reinforce-ada:exit=%s,rounds=%d,m=%d,n=4", exit.name, rounds, m))
		ps := []float64{0, .05, .1, .25, .5, .9, 1}
		cost, unresolved := make([]float64, len(ps)), make([]float64, len(ps))
		var path [rounds]int
		for code := range int(math.Pow(m+1, rounds)) {
			for i, left := 0, code; i < rounds; i, left = i+1, left/(m+1) {
				path[i] = left % (m + 1)
			}
			got, err := strategytest.Run(s, 1, func(_, first, _ int) int { return path[first/m] }, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			never := got.S[0] < exit.successes || got.N[0]-got.S[0] < exit.failures
			for i, p := range ps {
				prob := 1.0
				for _, k := range path {
					prob *= distributions.BinomialProbability(m, k, p)
				}
				cost[i] += prob * float64(got.N[0])
				if never {
					unresolved[i] += prob
				}
			}
		}
		for i, p := range ps {
			wantCost, wantUnresolved := strategy.AdaSeqCost(p, m, rounds, exit.successes, exit.failures)
			if !(math.Abs(cost[i]-wantCost) < 1e-11 && math.Abs(unresolved[i]-wantUnresolved) < 1e-12) {
				t.Errorf("%s, p=%v: cost %v and unresolved %v by enumeration, %v and %v in closed form", exit.name, p, cost[i], unresolved[i], wantCost, wantUnresolved)
			}
		}
	}
}

// The values are those of strategies/allocation.md, section 9: N=4, M=8, n=4.
func TestAdaSeqCostGolden(t *testing.T) {
	for _, c := range []struct {
		p                   float64
		successes, failures int
		cost, unresolved    float64
	}{
		{.05, 2, 2, 27.3147, .519962},
		{.1, 2, 2, 20.9625, .156423},
		{.25, 2, 2, 11.5198, .001172},
		{.5, 2, 2, 8.5667, 0},
		{.05, 1, 0, 19.1643, .193711},
		{.1, 1, 0, 13.5643, .034337},
		{.5, 1, 0, 8.0314, 0},
	} {
		cost, unresolved := strategy.AdaSeqCost(c.p, 8, 4, c.successes, c.failures)
		if !(math.Abs(cost-c.cost) < 5.1e-5 && math.Abs(unresolved-c.unresolved) < 5.1e-7) {
			t.Errorf("p=%v, %d successes, %d failures: cost %.5f, unresolved %.7f, want %v, %v", c.p, c.successes, c.failures, cost, unresolved, c.cost, c.unresolved)
		}
		if c.failures == c.successes {
			other, _ := strategy.AdaSeqCost(1-c.p, 8, 4, c.failures, c.successes)
			if !(math.Abs(cost-other) < 1e-11) {
				t.Errorf("p=%v: %v, and %v at 1-p", c.p, cost, other)
			}
		}
	}
	// One at a time without a cap: negative binomial, successes/p.
	for _, p := range []float64{.05, .3, 1} {
		for _, k := range []int{1, 3} {
			if got, _ := strategy.AdaSeqCost(p, 1, 3000, k, 0); !(math.Abs(got-float64(k)/p) < 1e-9) {
				t.Errorf("p=%v: %v rollouts to %d successes, want %v", p, got, k, float64(k)/p)
			}
		}
	}
	// Dead and solved prompts cost all there is.
	for _, p := range []float64{0, 1} {
		if cost, unresolved := strategy.AdaSeqCost(p, 8, 4, 2, 2); cost != 32 || unresolved != 1 {
			t.Errorf("p=%v: cost %v, unresolved %v, want 32, 1", p, cost, unresolved)
		}
	}
}

// TestAdaEstTraces is worked by hand: three prompts, 24 rollouts a step.
// Step 1 knows nothing: 8 each. Then S = 0, 8, 4 of 8.
//
// mode=est, step 2: phat = 1/25, 9/25, 5/25; 1/sqrt 5, 1.6667, 2.2361, sum
// 8.9027: shares 13.479, 4.493, 6.028. Floors 13, 4, 6 leave one for the
// fraction .493: 13, 5, 6. All succeed, none, none: N = .9*8 + 13 = 20.2, 12.2,
// 13.2 and S = 13, 7.2, 3.6.
// Step 3: phat = 14/37.2, 8.2/29.2, 4.6/30.2; 1/sqrt 1.6301, 1.8871, 2.5623,
// sum 6.0794: shares 6.435, 7.450, 10.115. Floors 6, 7, 10; 6, 8, 10.
//
// With min=6, step 2: see TestClipped: 12, 6, 6.
//
// mode=ema, step 2: 1/phat = 25, 2.7778, 5, sum 32.7778; of the 21 beyond one
// each 16.017, 1.780, 3.203. Floors 16, 1, 3 leave one for .780: 17, 3, 4 with
// the one each. All succeed, none, none: N = 24.2, 10.2, 11.2 and S = 17, 7.2,
// 3.6.
// Step 3: 1/phat = 41.2/18, 27.2/8.2, 28.2/4.6, sum 11.7364: 4.096, 5.935,
// 10.969. Floors 4, 5, 10 leave two, for .969 and .935: 5, 7, 12.
func TestAdaEstTraces(t *testing.T) {
	for text, want := range map[string][][]int{
		"reinforce-ada:mode=est":       {{8, 8, 8}, {13, 5, 6}, {6, 8, 10}},
		"reinforce-ada:mode=est,min=6": {{8, 8, 8}, {12, 6, 6}},
		"reinforce-ada:mode=ema":       {{8, 8, 8}, {17, 3, 4}, {5, 7, 12}},
	} {
		s := mustParse(t, text)
		traces, err := strategytest.Steps(s, &strategytest.World{
			Prompts: 3, Batch: 3, Steps: len(want),
			Answer: func(step, id, _, n int) int {
				switch {
				case step == 0:
					return []int{0, 8, 4}[id]
				case step == 1 && id == 0:
					return n
				}
				return 0
			},
		}, seeded(9))
		if err != nil {
			t.Fatal(err)
		}
		for step, trace := range traces {
			if got := sizesByID(trace, 3); len(trace.Asked) != 1 || !slices.Equal(got, want[step]) {
				t.Errorf("%s, step %d: groups %v, want %v", text, step+1, got, want[step])
			}
			checkAdaEstUpdate(t, text, trace)
		}
		if text != "reinforce-ada:mode=est" {
			continue
		}
		// After step 3: N = .9*20.2 + 6 = 24.18 and S = .9*13 = 11.7.
		if p, ok := s.(strategy.Believer).Belief(0); !ok || !(math.Abs(p-12.7/41.18) < 1e-14) {
			t.Errorf("belief %v, %v, want %v", p, ok, 12.7/41.18)
		}
		s.(strategy.Learner).Begin(3)
		if p, ok := s.(strategy.Believer).Belief(0); ok {
			t.Errorf("after Begin: belief %v", p)
		}
	}
}

// checkAdaEstUpdate wants everything trained on, compared with its own mean,
// and with mode=est weighted by 1/sqrt(mean + 1e-6), by 1 without success.
func checkAdaEstUpdate(t *testing.T, text string, trace *strategytest.Trace) {
	t.Helper()
	u := trace.Update
	if u.N != nil || u.Prompts != nil || u.Failed {
		t.Errorf("%s: update %+v, want everything trained on", text, u)
	}
	for x, n := range trace.N {
		mean := float64(trace.S[x]) / float64(n)
		if u.Baselines[x] != mean {
			t.Errorf("%s: baseline %v, want %v", text, u.Baselines[x], mean)
		}
		if text == "reinforce-ada:mode=ema" {
			continue
		}
		w := 1 / math.Sqrt(mean+1e-6)
		if mean == 0 {
			w = 1
		}
		if !(math.Abs(u.Weights[x]-w) < 1e-9*w) {
			t.Errorf("%s: weight %v at mean %v, want %v", text, u.Weights[x], mean, w)
		}
	}
	if text == "reinforce-ada:mode=ema" && u.Weights != nil {
		t.Errorf("%s: weights %v, want none", text, u.Weights)
	}
}

// Prompts 0 and 1 are dead, 2 and 3 solved, in batches of two: the sizes of the
// second epoch follow from each prompt's own history. A dead and a solved one
// share 16 as 5 to 5/3 (see TestAdaEstTraces): 12 and 4.
func TestAdaEstRemembersByPrompt(t *testing.T) {
	mixed := false
	for seed := range uint64(4) {
		traces, err := strategytest.Steps(mustParse(t, "reinforce-ada:mode=est,eps=1e-12"), &strategytest.World{
			Prompts: 4, Batch: 2, Steps: 4, Order: rand.New(rand.NewPCG(seed, 1)),
			Answer: func(_, id, _, n int) int { return n * (id / 2) },
		}, seeded(9))
		if err != nil {
			t.Fatal(err)
		}
		for step, trace := range traces {
			for x, id := range trace.ID {
				want := 8
				if step >= 2 && trace.ID[0]/2 != trace.ID[1]/2 {
					want, mixed = []int{12, 4}[id/2], true
				}
				if trace.N[x] != want {
					t.Errorf("seed %d, step %d: prompt %d of %v gets %d, want %d", seed, step+1, id, trace.ID, trace.N[x], want)
				}
			}
		}
	}
	if !mixed {
		t.Error("no batch of a dead and a solved prompt: the test shows nothing")
	}
}

// Prompt 0 is solved and three are dead. After seven rollouts phat is 8/24 and
// 1/24, 1/phat 3 and 24, sum 75: of the 24 beyond one each they get .96 and
// 7.68. Floors 0, 7, 7, 7 leave three: one for .96, two for three equal .68,
// with ties=index the earlier places.
func TestAdaEmaTies(t *testing.T) {
	traces, err := strategytest.Steps(mustParse(t, "reinforce-ada:mode=ema,m=7,ties=index"), &strategytest.World{
		Prompts: 4, Batch: 4, Steps: 2,
		Answer: func(_, id, _, n int) int {
			if id == 0 {
				return n
			}
			return 0
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dead := []int{9, 9, 8}
	for x, id := range traces[1].ID {
		want := 2
		if id != 0 {
			want, dead = dead[0], dead[1:]
		}
		if traces[1].N[x] != want {
			t.Errorf("place %d, prompt %d: %d rollouts, want %d", x, id, traces[1].N[x], want)
		}
	}
}

// TestAdaEstRandomTies: prompt 3 is solved and three are dead; of the tied
// three the odd one out is each equally often. Rates as in TestGvmRandomTies.
// mode=ema: 7.68 beyond one each, see TestAdaEmaTies: two get 9, one 8.
// mode=est: 1/sqrt(phat) goes as sqrt(8) to 1, and of 28 the dead ones get 8.349
// and the solved one 2.952: it takes one of the two left over, one of the dead
// the other.
func TestAdaEstRandomTies(t *testing.T) {
	for text, odd := range map[string]int{"reinforce-ada:mode=ema,m=7": 8, "reinforce-ada:mode=est,m=7,min=1": 9} {
		s := mustParse(t, text)
		wantEqualShares(t, 3, func(r *rand.Rand) int {
			traces, err := strategytest.Steps(s, &strategytest.World{
				Prompts: 4, Batch: 4, Steps: 2,
				Answer: func(_, id, _, n int) int { return n * (id / 3) },
			}, r)
			if err != nil {
				t.Fatal(err)
			}
			return slices.Index(sizesByID(traces[1], 4), odd)
		})
	}
}

func ExampleAdaSeqCost() {
	// 8 at a time, at most four times, until there are 2 successes and 2 failures.
	cost, unresolved := strategy.AdaSeqCost(0.1, 8, 4, 2, 2)
	fmt.Printf("%.2f rollouts, %.3f unresolved\n", cost, unresolved)
	// Output: 20.96 rollouts, 0.156 unresolved
}

func BenchmarkSelectReinforceAdaSeq(b *testing.B) { benchmarkBatch(b, "reinforce-ada") }

func BenchmarkSelectReinforceAdaEst(b *testing.B) { benchmarkSteps(b, "reinforce-ada:mode=est") }

func BenchmarkSelectReinforceAdaEma(b *testing.B) { benchmarkSteps(b, "reinforce-ada:mode=ema") }
