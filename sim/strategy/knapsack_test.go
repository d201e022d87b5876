package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// TestKnapsackTrace follows three steps on four prompts by hand, both solvers.
//
// Step 1: nobody has a rate: 8 each, of which 0, 8, 4, 2 succeed.
//
// Step 2: rates 0, 1, .5, .25, so 2 each and 32 - 8 = 24 left. ln .1 / ln .5 =
// 3.32 and ln .1 / ln .75 = 8.004 make 3 + 8 = 11 needed: 13 go to prompt 0.
// Gains of .5: .125 * .5^n = .0312 .0156 .0078 .0039; of .25: .0264 .0165 .0115
// .0084 .0063 .0047 .0035: in order the 11 units are 4 for .5 and 7 for .25.
//
// Step 3: successes 0 of 15, 2 of 2, 6 of 6, 1 of 9: all groups are below the
// window of 32, so all rewards count: 0/23, 10/10, 10/14, 3/17. Needed int(6.84)
// + int(11.86) = 17 of 24: 7 to prompt 0. Gains of 10/14, weight .0583: .0119
// .0070 .0046 .0032 .0022 | .0016; of 3/17, weight .1197: .0174 .0123 .0098 .0080
// .0066 .0054 .0045 .0037 .0030 .0025 .0021 .0017: 5 and 12 units.
func TestKnapsackTrace(t *testing.T) {
	successes := [][]int{{0, 8, 4, 2}, {0, 2, 6, 1}, {0, 0, 0, 0}}
	const want = "[[8 8 8 8] [15 2 6 9] [9 2 7 14]]"
	for _, solver := range []string{"greedy", "dp"} {
		s := mustParse(t, "knapsack:window=32,solver="+solver)
		got, err := strategytest.Steps(s, &strategytest.World{
			Prompts: 4, Batch: 4, Steps: 3,
			Answer: func(step, id, _, _ int) int { return successes[step][id] },
		}, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if asked := fmt.Sprint(byID(got, 4)); asked != want {
			t.Errorf("%s: %s, want %s", solver, asked, want)
		}
	}
}

// TestKnapsackNewest: after groups of 9 with 2 successes, then none, the rate
// is that of the second group and of the newest 7 rewards of the first, which
// hold both successes with probability C(7,2)/C(9,2) = 7/12. By Hoeffding the
// share of runs where they do strays by tol with probability at most
// 2 exp(-2 n tol^2) = 1e-6; a share off by 2*tol = 0.039 is missed with at most
// that.
func TestKnapsackNewest(t *testing.T) {
	const n, tol = 20_000, 0.0191
	s := mustParse(t, "knapsack:n=9,min=9,max=9,negative=9,positive=9")
	r := rand.New(rand.NewPCG(20260101, 3))
	both := 0
	for range n {
		_, err := strategytest.Steps(s, &strategytest.World{
			Prompts: 1, Batch: 1, Steps: 2,
			Answer: func(step, _, _, _ int) int { return 2 * (1 - step) },
		}, r)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := s.(strategy.Believer).Belief(0)
		if !ok || p != 0 && p != 1./16 && p != 2./16 {
			t.Fatalf("rate %v, %v: want 0, 1/16 or 2/16", p, ok)
		}
		if p == 2./16 {
			both++
		}
	}
	if share := float64(both) / n; !(math.Abs(share-7./12) < tol) {
		t.Errorf("both successes count in a share %.4f of the runs, want %.4f ± %v", share, 7./12, tol)
	}
}

func TestKnapsackConformance(t *testing.T) {
	for _, text := range []string{
		"knapsack",
		"knapsack:solver=dp",
		"knapsack:n=1,min=1,max=1,negative=0,positive=0,seen=1,window=1",
		"knapsack:n=4,seen=0,cost=expectation,negative=0,positive=4",
		"knapsack:n=16,min=4,max=20,seen=16,alpha=0.5",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, true) // ties go to the front of the batch, as in the code
		})
	}
}

func TestKnapsackSpecs(t *testing.T) {
	const rest = ",cost=probability,alpha=0.9,seen=8,window=16,solver=greedy"
	wantSpecs(t, map[string]string{
		"knapsack":       "knapsack:n=8,min=2,max=128,negative=2,positive=2" + rest,
		"knapsack:n=1":   "knapsack:n=1,min=1,max=128,negative=1,positive=1" + rest,
		"knapsack:n=200": "knapsack:n=200,min=2,max=200,negative=2,positive=2" + rest,
	})
	wantFaults(t, map[string][]string{
		"knapsack:n=4,min=5,max=3,negative=-1,positive=9": {
			"min = 5, want a whole number in [1, 4]", "max = 3, want a whole number in [4, 10000]",
			"negative = -1, want a whole number in [0, 4]", "positive = 9",
		},
		"knapsack:alpha=1,window=65,solver=lp,cost=x": {"alpha = 1, want (0, 1)", "window = 65", "solver = lp, want one of greedy, dp", "cost = x"},
	})
	wantExactSpending(t, "knapsack")
}
