package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func halving(t testing.TB, spec string) *strategy.SequentialHalving {
	t.Helper()
	h, ok := mustParse(t, spec).(*strategy.SequentialHalving)
	if !ok {
		t.Fatalf("%s is no sequential halving", spec)
	}
	return h
}

// TestHalvingBudget adds up n*t by hand.
func TestHalvingBudget(t *testing.T) {
	for _, c := range []struct {
		spec        string
		batch, want int
	}{
		{"sequential-halving:g=6", 5, 5*2 + 3*3 + 2*5},    // 30 rollouts, 3 rounds of 10
		{"sequential-halving:g=8", 8, 8*2 + 4*5 + 2*10},   // 64, 3 rounds of 21.3
		{"sequential-halving:g=8", 256, 256 * 8},          // 2048, 8 rounds of 256: 1, 2, 4, ...
		{"sequential-halving:g=8", 1, 8},                  // one round
		{"sequential-halving:g=8", 2, 16},                 // one round
		{"sequential-halving:g=1", 4, 4 + 2},              // rounds of 2: 0.5 each becomes 1
		{"sequential-halving:g=8,rounds=4", 16, 4*32 + 0}, // 2, 4, 8, 16
		{"sequential-halving:g=3,rounds=2", 3, 3*1 + 2*2}, // 9, rounds of 4.5
		{"sequential-halving:g=4,rounds=3", 1, 1 + 1 + 1}, // the only prompt stays
		{"sequential-halving:g=8", 1024, 1024 + 512 + 256*3 + 128*6 + 64*12 + 32*25 + 16*51 + 8*102 + 4*204 + 2*409},
	} {
		if got := halving(t, c.spec).Budget(c.batch); got != c.want {
			t.Errorf("%s on %d: %d, want %d", c.spec, c.batch, got, c.want)
		}
	}
}

// TestHalvingTraces follows two batches by hand; no cut has a choice of ties.
func TestHalvingTraces(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		successes  [][]int // by round and prompt
		asked      [][]int // by round and prompt
		best       int
	}{
		{
			// Rounds of 10: 2 for 5, 3 for 3, 5 for 2. Round 1: prompts 0, 2 and 4
			// are mixed, 1 dead, 3 solved: they stay. Round 2 by its own rollouts:
			// 0 has 3 of 3 (level 0), 2 has 1 and 4 has 2 of 3: the tied pair stays.
			// Round 3: 2 of 5 beats 1 of 5.
			name: "fresh counts", spec: "sequential-halving:g=6",
			successes: [][]int{{1, 0, 1, 2, 1}, {3, 0, 1, 0, 2}, {0, 0, 2, 0, 1}},
			asked:     [][]int{{2, 2, 2, 2, 2}, {3, 0, 3, 0, 3}, {0, 0, 5, 0, 5}},
			best:      2,
		},
		{
			// 48 rollouts in rounds of 24: 8 for 3, 12 for 2. Levels 4, 1, 0, then
			// 2 and 3 of the round's 12: prompt 1.
			name: "fresh counts forget", spec: "sequential-halving:g=16",
			successes: [][]int{{4, 1, 0}, {2, 3, 0}},
			asked:     [][]int{{8, 8, 8}, {12, 12, 0}},
			best:      1,
		},
		{
			// The same by all rollouts: 6 and 4 of 20: prompt 0.
			name: "cumulative counts do not", spec: "sequential-halving:g=16,counts=cumulative",
			successes: [][]int{{4, 1, 0}, {2, 3, 0}},
			asked:     [][]int{{8, 8, 8}, {12, 12, 0}},
			best:      0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := halving(t, c.spec)
			if _, err := strategytest.Run(h, 7, never, nil, rand.New(rand.NewPCG(1, 1))); err != nil {
				t.Fatal(err)
			}
			for range 2 { // nothing of an earlier batch may reach the next
				round := make([]int, len(c.asked[0]))
				got, err := strategytest.Run(h, len(round), func(x, _, _ int) int {
					round[x]++
					return c.successes[round[x]-1][x]
				}, nil, rand.New(rand.NewPCG(1, 1)))
				if err != nil {
					t.Fatal(err)
				}
				for k, ask := range got.Asked {
					if n := sizes(ask, len(round)); !slices.Equal(n, c.asked[k]) {
						t.Errorf("round %d: asked %v, want %v", k+1, n, c.asked[k])
					}
				}
				if len(got.Asked) != len(c.asked) || !slices.Equal(h.Kept(), []int{c.best}) {
					t.Errorf("%d rounds, kept %v, want %d, %d", len(got.Asked), h.Kept(), len(c.asked), c.best)
				}
			}
		})
	}
}

// levels returns P(min(s, n-s) = l) of a binomial s.
func levels(n int, p float64) []float64 {
	q := make([]float64, n/2+1)
	for s := range n + 1 {
		q[min(s, n-s)] += distributions.BinomialProbability(n, s, p)
	}
	return q
}

// errorOfTwo is the exact probability that n rollouts each rank the prompt of
// success rate q above that of p, a tie counting half.
func errorOfTwo(n int, p, q float64) float64 {
	best, other := levels(n, p), levels(n, q)
	below, wrong := 0., 0.
	for l := range best {
		wrong += other[l] * (below + best[l]/2)
		below += best[l]
	}
	return wrong
}

// TestHalvingBoundTwo holds the bound against the exact probability of an error
// between two prompts, wherever it says anything.
func TestHalvingBoundTwo(t *testing.T) {
	informative := 0
	for _, p := range []float64{0.5, 0.4, 0.3, 0.2} {
		for _, q := range []float64{0, 0.05, 0.1, 0.85, 0.98, 1} {
			for _, n := range []int{2, 3, 5, 8, 40, 101, 300, 1000, 3000} {
				bound := strategy.SequentialHalvingBound([]float64{q * (1 - q), p * (1 - p)}, 2*n)
				if exact := errorOfTwo(n, p, q); exact > bound {
					t.Errorf("p=%v, q=%v, n=%d: error %v above the bound %v", p, q, n, exact, bound)
				}
				if bound < 0.1 {
					informative++
				}
			}
		}
	}
	if informative < 20 {
		t.Errorf("the bound is below 0.1 in %d cases: a test of nothing", informative)
	}
	// H2 = 2/.25^2 = 32, 3 exp(-1024/(8*32)) = 3 e^-4.
	wantNear(t, "bound", strategy.SequentialHalvingBound([]float64{.25, 0}, 1024), 3*math.Exp(-4), 1e-15)
	// Sorted: .25 .16 .09 0, gaps .09 .16 .25, H2 = max(246.9, 117.2, 64).
	wantNear(t, "bound", strategy.SequentialHalvingBound([]float64{0, .16, .25, .09}, 8000), 6*math.Exp(-8000/(8*2/.0081*2)), 1e-12)
	wantNear(t, "bound of a tie", strategy.SequentialHalvingBound([]float64{.25, .25}, 1e6), 1, 0)
}

// misses returns the share of n runs that end with another prompt than 0.
func misses(t *testing.T, h *strategy.SequentialHalving, p []float64, n int) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(20260101, uint64(len(p))))
	answer := func(x, _, n int) int {
		if p[x] == 0 {
			return 0
		}
		return int(distuv.Binomial{N: float64(n), P: p[x], Src: r}.Rand())
	}
	wrong := 0
	for range n {
		if _, err := strategytest.Run(h, len(p), answer, nil, r); err != nil {
			t.Fatal(err)
		}
		if h.Kept()[0] != 0 {
			wrong++
		}
	}
	return float64(wrong) / float64(n)
}

// TestHalvingErrors compares the strategy with the exact error of two prompts
// and with the bound for more. By Hoeffding the share of errors in n = 20,000
// runs strays from its mean by tol = .0185 or more, to one side, with
// probability below 1.1e-6: so rarely is either a right strategy refused, or
// one missed whose error is 2*tol off, or 2*tol above the bound.
func TestHalvingErrors(t *testing.T) {
	const n, tol = 20_000, .0185
	for _, g := range []int{2, 5, 16} {
		h := halving(t, fmt.Sprintf("sequential-halving:g=%d", g))
		wantNear(t, fmt.Sprintf("g=%d: error", g), misses(t, h, []float64{.4, .1}, n), errorOfTwo(g, .4, .1), tol)
	}
	for _, c := range []struct {
		g int
		p []float64
	}{
		{2500, []float64{.5, .1, .05, 0}},
		{1500, []float64{.5, .1, .1, .05, .95, 0, 0, 0}},
		{1600, []float64{.5, .05, .05, 0, 0, 1e-3, 1e-3, 0, 0, 0, 0}},
	} {
		var v []float64
		for _, p := range c.p {
			v = append(v, p*(1-p))
		}
		h := halving(t, fmt.Sprintf("sequential-halving:g=%d", c.g))
		bound := strategy.SequentialHalvingBound(v, h.Budget(len(v)))
		if !(bound < .5) {
			t.Errorf("%v: the bound %v says nothing", c, bound)
		}
		if got := misses(t, h, c.p, n); got > bound+tol {
			t.Errorf("%v: error %v, bound %v", c, got, bound)
		}
	}
}

func TestHalvingParameters(t *testing.T) {
	wantRefused(t, map[string]string{
		"sequential-halving:g=0":      "g = 0, want a whole number in [1, 10000]",
		"sequential-halving:rounds=0": "rounds = 0, want auto or a whole number in [1,",
		"sequential-halving:counts=f": "want one of fresh, cumulative",
	})
	wantSpending(t, "sequential-halving", map[int]string{8: "sequential-halving:g=8"})
}

func BenchmarkSelectSequentialHalving(b *testing.B) {
	benchmarkBatch(b, "sequential-halving:g=40,counts=cumulative")
}
