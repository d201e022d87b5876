package strategy_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestPodsConforms(t *testing.T) {
	for _, text := range []string{"pods", "pods:n=8,m=3", "pods:n=5,m=5", "pods:n=1,m=1", "pods:n=6,m=3,ties=floor"} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

func TestPodsParses(t *testing.T) {
	wantSpecs(t, map[string]string{
		"pods":                      "pods:n=64,m=16,ties=random",
		"pods:m=3,ties=floor,n=512": "pods:n=512,m=3,ties=floor",
	})
	wantRefused(t, map[string]string{
		"pods:n=8,m=9":    "m = 9, want a whole number in [1, n = 8]",
		"pods:m=0":        "m = 0",
		"pods:n=8":        "m = 16, want a whole number in [1, n = 8]",
		"pods:ties=index": "ties = index",
	})
	wantSpending(t, "pods", map[int]string{8: "pods:n=8,m=2", 64: "pods:n=64,m=16", 1: "pods:n=1,m=1", 6: "pods:n=6,m=2"})
}

// TestPodsTrace is worked by hand: n = 6, m = 3, by the formula j = 3/2 cut to
// [3-(6-k), k].
//
//	k = 0: j in [-3, 0], 0: the group 0 of 3.
//	k = 1: j in [-2, 1], 3/2 is cut to 1.
//	k = 2: j in [-1, 2]: 1 and 2 are equally good, a tie.
//	k = 4: j in [ 1, 3]: a tie of 1 and 2.
//	k = 5: j in [ 2, 3], 3/2 is cut to 2.
//	k = 6: j in [ 3, 3], 3.
func TestPodsTrace(t *testing.T) {
	rewards := []string{"000000", "000100", "010100", "110110", "110111", "111111"}
	for ties, kept := range map[string][]int{"floor": {0, 1, 1, 1, 2, 3}, "ceil": {0, 1, 2, 2, 2, 3}} {
		got, err := strategytest.Run(mustParse(t, "pods:n=6,m=3,ties="+ties), len(rewards), script(rewards...), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Asked) != 1 || !slices.Equal(got.N, []int{6, 6, 6, 6, 6, 6}) || !slices.Equal(got.S, []int{0, 1, 2, 4, 5, 6}) {
			t.Errorf("ties=%s: asked %v, got %v of %v", ties, got.Asked, got.S, got.N)
		}
		if !slices.Equal(got.Update.N, []int{3, 3, 3, 3, 3, 3}) || !slices.Equal(got.Update.S, kept) || got.Update.Prompts != nil {
			t.Errorf("ties=%s: trained on %v of %v, want %v of 3 each", ties, got.Update.S, got.Update.N, kept)
		}
	}
}

// TestPodsRandomTies: with random ties the middle prompt keeps 1 or 2 of its
// successes equally often. By Hoeffding the share of 20,000 strays by 0.02 with
// probability at most 2 exp(-2 n 0.0004) < 3e-7; a share off by 0.04 is missed
// with at most that probability.
func TestPodsRandomTies(t *testing.T) {
	const n = 20_000
	s, r := mustParse(t, "pods:n=6,m=3"), rand.New(rand.NewPCG(20260101, 5))
	more := 0
	for range n {
		got, err := strategytest.Run(s, 1, script("000111"), nil, r)
		if err != nil {
			t.Fatal(err)
		}
		switch got.Update.S[0] {
		case 1:
		case 2:
			more++
		default:
			t.Fatalf("kept %d successes of 3, want 1 or 2", got.Update.S[0])
		}
	}
	if share := float64(more) / n; !(math.Abs(share-.5) < .02) {
		t.Errorf("two successes in a share %v of the batches, want 0.5", share)
	}
}

// variance returns the ddof-0 variance of the rewards at the places.
func variance(rewards []float64, places []int) float64 {
	mean := 0.0
	for _, i := range places {
		mean += rewards[i] / float64(len(places))
	}
	v := 0.0
	for _, i := range places {
		v += (rewards[i] - mean) * (rewards[i] - mean) / float64(len(places))
	}
	return v
}

// best returns the largest variance of all subsets of m rewards, and their
// common number of top values where they are binary.
func best(rewards []float64, m int) (v float64, successes map[int]bool) {
	v = -1
	for set := range 1 << len(rewards) {
		if bits.OnesCount(uint(set)) != m {
			continue
		}
		var places []int
		sum := 0
		for i := range rewards {
			if set>>i&1 == 1 {
				places = append(places, i)
				sum += int(rewards[i])
			}
		}
		switch got := variance(rewards, places); {
		case got > v+1e-12:
			v, successes = got, map[int]bool{sum: true}
		case got > v-1e-12:
			successes[sum] = true
		}
	}
	return v, successes
}

// Every subset, of every binary group of up to nine rollouts.
func TestMaxVarianceBinaryIsBest(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for k := range n + 1 {
			rewards := make([]float64, n)
			for i := range k {
				rewards[i] = 1
			}
			for m := 1; m <= n; m++ {
				low, high, v := strategy.MaxVarianceBinary(n, k, m)
				want, successes := best(rewards, m)
				if !(math.Abs(v-want) < 1e-12) || len(successes) != high-low+1 || !successes[low] || !successes[high] {
					t.Errorf("n=%d, k=%d, m=%d: %d to %d successes with variance %v, want %v with %v", n, k, m, low, high, v, successes, want)
				}
				if j := float64(low); v != j*(float64(m)-j)/float64(m*m) {
					t.Errorf("n=%d, k=%d, m=%d: variance %v is not j(m-j)/m^2", n, k, m, v)
				}
			}
		}
	}
}

// Every subset, of random graded rewards: few levels, many ties, and none.
func TestMaxVarianceIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 6))
	for range 400 {
		rewards := make([]float64, 1+r.IntN(10))
		levels := []int{2, 3, 5, 1 << 20}[r.IntN(4)]
		for i := range rewards {
			rewards[i] = float64(r.IntN(levels))*.7 - 3
		}
		for m := 1; m <= len(rewards); m++ {
			got, err := strategy.MaxVariance(rewards, m, r)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != m || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != m {
				t.Fatalf("%d places %v, want %d, rising", len(got), got, m)
			}
			want, _ := best(rewards, m)
			if v := variance(rewards, got); !(math.Abs(v-want) <= 1e-9*(1+want)) {
				t.Errorf("%v, m=%d: %v with variance %v, want %v", rewards, m, got, v, want)
			}
		}
	}
}

// The graded function on binary rewards keeps a number of successes that the
// closed form allows, both where it allows two, and any rollout of a class.
// By Hoeffding the share of n = 2000 choices that keep one success, 1/2, is
// below 0.4 with probability at most exp(-2 n 0.1^2) = 4e-18, and one of 0.3 is
// missed with at most that. A success is chosen in a share of 1/2 and a failure
// of 3/8; below 0.3 a failure comes with probability at most
// exp(-2 n 0.075^2) = 1.7e-10, one of the seven rollouts with less than 2e-9, and a
// share of 0.225 is missed with at most 1.7e-10.
func TestMaxVarianceTies(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 7))
	rewards := []float64{1, 0, 1, 0, 1, 0, 0}
	low, high, _ := strategy.MaxVarianceBinary(7, 3, 3)
	seen, chosen := map[int]int{}, make([]int, 7)
	for range 2000 {
		got, err := strategy.MaxVariance(rewards, 3, r)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, i := range got {
			sum += int(rewards[i])
			chosen[i]++
		}
		seen[sum]++
	}
	if low != 1 || high != 2 || len(seen) != 2 || seen[1] < 800 || seen[2] < 800 {
		t.Errorf("successes kept %v, want %d and %d about equally often", seen, low, high)
	}
	for i, k := range chosen {
		if k < 600 {
			t.Errorf("rollout %d is chosen %d times of 2000", i, k)
		}
	}
}

func TestMaxVarianceRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		rewards []float64
		m       int
	}{
		{nil, 1},
		{[]float64{1, 2}, 0},
		{[]float64{1, 2}, 3},
		{[]float64{1, math.NaN()}, 1},
		{[]float64{1, math.Inf(1)}, 1},
		{[]float64{-1e200, 1e200}, 1},
	} {
		if got, err := strategy.MaxVariance(c.rewards, c.m, r); err == nil {
			t.Errorf("m = %d of %v gives %v", c.m, c.rewards, got)
		}
	}
}

// The scale of the gradient does not depend on k once both classes have m/2:
// one-logit GRPO (ddof 0) of the kept group is its standard deviation, 1/2
// (allocation.md, section 4, with its A = ±1). So E[g] lies between half of
// 1 - P(a class is too small) and 1/2.
func TestPodsGradientScale(t *testing.T) {
	const n, m, p = 64, 16, .2
	mean, small := 0.0, 0.0
	for k := range n + 1 {
		mass := distributions.BinomialProbability(n, k, p)
		_, _, v := strategy.MaxVarianceBinary(n, k, m)
		mean += mass * math.Sqrt(v)
		if k < m/2 || n-k < m/2 {
			small += mass
		} else if v != .25 {
			t.Errorf("k = %d: variance %v, want 1/4", k, v)
		}
	}
	if !(mean >= (1-small)/2 && mean <= .5 && small > .03) {
		t.Errorf("E[g] = %v with P(a class is too small) = %v", mean, small)
	}
}

func ExampleMaxVarianceBinary() {
	low, high, v := strategy.MaxVarianceBinary(64, 5, 16) // only 5 successes for 16/2 places
	fmt.Printf("%d to %d successes, variance 5*11/256 = %.3f\n", low, high, v)
	// Output: 5 to 5 successes, variance 5*11/256 = 0.215
}

func BenchmarkSelectPods(b *testing.B) { benchmarkBatch(b, "pods:n=8,m=3") }
