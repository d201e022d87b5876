package strategy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestLookaheadConforms(t *testing.T) {
	for _, text := range []string{
		"lookahead:g=4,first=1,rounds=3,max=8",
		"lookahead:g=3,first=2,rounds=4,max=6",
		"lookahead:g=2,rounds=1,max=2",
		"lookahead:g=5,first=5,max=9",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// TestLookaheadGolden: whole batches beside sim/lookahead/testdata/lookahead.py,
// which finds weights, prices and plans by another route: rollouts and successes
// of all prompts after every round, in order of size. Prompts that the lot decides
// between answer alike, so every seed must give the same.
func TestLookaheadGolden(t *testing.T) {
	text, err := os.ReadFile("../lookahead/testdata/lookahead.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Batches []struct {
			Spec     string
			Rewards  []string
			Outcomes [][][2]int
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Batches) == 0 {
		t.Fatal("no batches")
	}
	for _, c := range golden.Batches {
		s := mustParse(t, c.Spec)
		for seed := range uint64(3) {
			got, err := strategytest.Run(s, len(c.Rewards), script(c.Rewards...), nil, seeded(seed))
			if err != nil {
				t.Fatal(err)
			}
			n := make([]int, len(c.Rewards))
			for round, ask := range got.Asked {
				for _, q := range ask {
					n[q.X] += q.N
				}
				if outcomes := outcomesOf(n, c.Rewards); !slices.Equal(outcomes, c.Outcomes[round]) {
					t.Errorf("%s, round %d: outcomes\n%v, want\n%v", c.Spec, round+1, outcomes, c.Outcomes[round])
				}
			}
			if len(got.Asked) != len(c.Outcomes) {
				t.Errorf("%s: %d rounds, want %d", c.Spec, len(got.Asked), len(c.Outcomes))
			}
		}
	}
}

// outcomesOf returns rollouts and successes of every prompt, sorted.
func outcomesOf(n []int, rewards []string) [][2]int {
	var all [][2]int
	for x, n := range n {
		all = append(all, [2]int{n, script(rewards...)(x, 0, n)})
	}
	slices.SortFunc(all, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return all
}

// TestLookaheadSpendsAll: every rollout of the budget, in no more rounds and no
// larger groups than it may, whatever the prompts are like; all alike too, where
// everything is a tie and a round in which nobody is asked must not end the batch.
func TestLookaheadSpendsAll(t *testing.T) {
	r := seeded(1)
	for _, law := range [][2]float64{{0.1, 0.3}, {1, 1}, {0.02, 0.02}, {5, 60}, {60, 60}} {
		for _, batch := range []int{1, 2, 7, 64} {
			p := make([]float64, batch)
			for x := range p {
				p[x] = distuv.Beta{Alpha: law[0], Beta: law[1], Src: r}.Rand()
			}
			for _, text := range []string{"lookahead", "lookahead:g=8,first=1,rounds=6,max=12", "lookahead:g=3,first=3,max=3", "lookahead:g=4,first=3,rounds=2,max=5"} {
				s := mustParse(t, text).(*strategy.Lookahead)
				got, err := strategytest.Run(s, batch, func(x, _, n int) int { return flips(n, p[x], r) }, nil, r)
				if err != nil {
					t.Fatal(err)
				}
				spent := 0
				for _, n := range got.N {
					spent += n
				}
				if spent != s.Budget(batch) || slices.Max(got.N) > s.Plan().Max || len(got.Asked) > s.Plan().Rounds {
					t.Errorf("%s on %d prompts of Beta(%v): %d rollouts, want %d; largest group %d, %d rounds",
						s.Spec(), batch, law, spent, s.Budget(batch), slices.Max(got.N), len(got.Asked))
				}
			}
		}
	}
}

// TestLookaheadMeetsTheField compares 60 batches of 1,000 prompts from Beta(.25,
// .5), a law of the grid, with progress and signal of its mean field
// (theory.LookaheadMeanField, itself checked by testdata/lookahead.py). Means of
// independent batches of 1,000 bounded terms are as good as normal, so the t-test
// of each has a false alarm with probability below 5e-7. What a finite batch is
// off by goes like 1/B and is allowed for by d. A shift of twice the tolerance, 4 %
// of progress, is missed with probability below 1e-6.
func TestLookaheadMeetsTheField(t *testing.T) {
	const batches, batch, d = 60, 1000, 0.002
	tails := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(1 - 2.5e-7)
	s, r := mustParse(t, "lookahead"), seeded(3)
	law := distuv.Beta{Alpha: 0.25, Beta: 0.5, Src: r}
	var sums, squares [2]float64
	p := make([]float64, batch)
	for range batches {
		for x := range p {
			p[x] = law.Rand()
		}
		got, err := strategytest.Run(s, batch, func(x, _, n int) int { return flips(n, p[x], r) }, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		var figure [2]float64 // progress, signal
		for x, n := range got.N {
			spread := 2 * math.Sqrt(float64(got.S[x]*(n-got.S[x])))
			figure[0] += spread * distributions.U(p[x]) / (8 * batch)
			figure[1] += spread / (8 * batch)
		}
		for i, f := range figure {
			sums[i] += f / batches
			squares[i] += f * f / batches
		}
	}
	for i, want := range []float64{0.5646464526849525, 0.6894589106882585} {
		se := math.Sqrt((squares[i] - sums[i]*sums[i]) / (batches - 1))
		wantNear(t, []string{"progress", "signal"}[i], sums[i], want, tails*se+d*want)
		t.Logf("%.5f ± %.5f, mean field %.5f", sums[i], se, want)
	}
}

func TestLookaheadParameters(t *testing.T) {
	wantFaults(t, map[string][]string{
		"lookahead:g=0,rounds=0":    {"g = 0, want a whole number in [1, 256]", "rounds = 0, want a whole number in [1, 16]"},
		"lookahead:g=9,first=10":    {"first = 10, want a whole number in [1, 9]"},
		"lookahead:g=9,max=8":       {"max = 8, want a whole number in [9, 256]"},
		"lookahead:max=257,round=3": {"max = 257, want a whole number in [8, 256]", "round"},
	})
	wantSpending(t, "lookahead", map[int]string{
		1:      "lookahead:g=1,first=1,max=3",
		8:      "lookahead:g=8,first=2,max=30",
		16:     "lookahead:g=16,first=4,max=60",
		10_000: "lookahead:g=256,first=64,max=256",
	})
	if got := mustParse(t, "lookahead:g=40").Spec(); got != "lookahead:g=40,first=2,rounds=4,max=40" {
		t.Errorf("spec %s", got)
	}
}

func BenchmarkSelectLookahead(b *testing.B) {
	for _, most := range []int{30, 64, 256} {
		b.Run(fmt.Sprint(most), func(b *testing.B) { benchmarkBatch(b, fmt.Sprintf("lookahead:max=%d", most)) })
	}
}
