package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestMixedGroups compares mixedGroups with the dynamic program that finds the
// best for values of any shape, with caps and totals at which one rollout is
// left for a pair.
func TestMixedGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 20260101))
	for range 3000 {
		q, most := make([]float64, 1+r.IntN(12)), 1+r.IntN(9)
		value := make([][]float64, len(q))
		spread := 0.5 * r.Float64()
		for i := range q {
			q[i] = []float64{0.5 * r.Float64(), 0.5 - spread*r.Float64(), float64(r.IntN(6)) / 10}[r.IntN(3)]
			for n := range most + 1 {
				value[i] = append(value[i], EffectiveProbability(q[i], n))
			}
		}
		total := r.IntN(len(q)*most + 1)
		order := r.Perm(len(q))
		rank := make([]int, len(q))
		for k, i := range order {
			rank[i] = k
		}
		n := make([]int, len(q))
		mixedGroups(n, q, total, most, rank)
		got, sum := 0.0, 0
		for i := range n {
			if n[i] < 0 || n[i] > most {
				t.Fatalf("a group of %d, want at most %d", n[i], most)
			}
			got += value[i][n[i]]
			sum += n[i]
		}
		want := 0.0
		for i, n := range allocate(value, total, order) {
			want += value[i][n]
		}
		if sum != total || !(math.Abs(got-want) <= 1e-12*(1+want)) {
			t.Fatalf("q = %v, most = %d: %v has sum %d and value %v, want %d and %v", q, most, n, sum, got, total, want)
		}
	}
}

// TestMixedGroupsByHand follows the last rollout: v = 0.25 and 0.16 as in
// TestOracleTraces.
func TestMixedGroupsByHand(t *testing.T) {
	for _, c := range []struct {
		q           []float64
		total, most int
		want        string
	}{
		{[]float64{0.5, 0.2}, 4, 9, "[4 0]"},         // 0.125 against 0.32 - 0.25 for a pair
		{[]float64{0.5, 0.2}, 4, 3, "[2 2]"},         // no fourth: 0.07 for a pair
		{[]float64{0.5, 0.4}, 4, 9, "[2 2]"},         // 0.125 against 0.48 - 0.25
		{[]float64{0.5, 0.2}, 3, 2, "[2 1]"},         // no single to add to or to take back
		{[]float64{0.5, 0.2}, 1, 9, "[1 0]"},         // worth nothing
		{[]float64{0, 0, 0}, 6, 9, "[2 2 2]"},        // nobody can use it
		{[]float64{0.5, 0, 0}, 9, 4, "[4 3 2]"},      // what is left of 5 is spread, by rank
		{[]float64{0.1, 0.5, 0.5}, 3, 1, "[1 1 1]"},  // no pairs
		{[]float64{0.5, 0.5, 0.4}, 7, 9, "[3 2 2]"},  // 0.125 against 0.48 - 0.25 for the third
		{[]float64{0.5, 0.5, 0.01}, 7, 9, "[4 3 0]"}, // 0.125 against 0.0198 - 0.25
	} {
		n, rank := make([]int, len(c.q)), inOrder(len(c.q))
		mixedGroups(n, c.q, c.total, c.most, rank)
		if got := fmt.Sprint(n); got != c.want {
			t.Errorf("q = %v, %d rollouts, at most %d each: %s, want %s", c.q, c.total, c.most, got, c.want)
		}
	}
}
