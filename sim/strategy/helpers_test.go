package strategy_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

// wantRefused wants every spec refused with the text in the error.
func wantRefused(t *testing.T, specs map[string]string) {
	t.Helper()
	for text, want := range specs {
		if _, err := strategy.Parse(text, open); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

// wantSpending wants the named strategy's spec for each number of rollouts a
// prompt, and that it parses.
func wantSpending(t *testing.T, name string, specs map[int]string) {
	t.Helper()
	for g, want := range specs {
		found := false
		for _, text := range strategy.Spending(g, 500) {
			if got, _, _ := strings.Cut(text, ":"); got != name {
				continue
			}
			found = true
			if text != want {
				t.Errorf("spending %d: %s, want %s", g, text, want)
			}
			mustParse(t, text)
		}
		if !found {
			t.Errorf("spending %d: no %s", g, name)
		}
	}
}

func newStream() *rand.Rand { return rand.New(rand.NewPCG(20260101, 9)) }

// syntheticBatch returns a batch of prompts that have had n rollouts each in
// one round, with every number of successes.
func syntheticBatch(prompts, n int) *rollout.Batch {
	b := &rollout.Batch{Round: 1}
	for x := range prompts {
		b.N, b.S, b.ID = append(b.N, n), append(b.S, x%(n+1)), append(b.ID, x)
	}
	return b
}

// benchmarkSelect times the choice after a first round of n rollouts each, a
// batch of 1,024.
func benchmarkSelect(b *testing.B, text string, n int) {
	s, r := mustParse(b, text), rand.New(rand.NewPCG(1, 1))
	batch := syntheticBatch(1024, n)
	var ask []rollout.Request
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Start(batch.Len()); err != nil {
			b.Fatal(err)
		}
		ask = s.Next(batch, ask[:0], r)
	}
}

// wantEqualShares wants draw to return 0..outcomes-1 equally often. By Hoeffding
// the share of one outcome in n = 20,000 draws strays by tol = 0.0201 with
// probability at most 2 exp(-2 n tol^2) = 1.9e-7, one of up to five with less
// than 1e-6; a share that is off by 2 tol = 0.0402 is missed with probability
// at most 1.9e-7.
func wantEqualShares(t *testing.T, outcomes int, draw func(r *rand.Rand) int) {
	t.Helper()
	const n, tol = 20_000, 0.0201
	r, count := newStream(), make([]int, outcomes)
	for range n {
		k := draw(r)
		if k < 0 || k >= outcomes {
			t.Fatalf("outcome %d, want one of %d", k, outcomes)
		}
		count[k]++
	}
	for k, c := range count {
		if share := float64(c) / n; !(math.Abs(share-1/float64(outcomes)) < tol) {
			t.Errorf("outcome %d in a share %.4f of the draws, want %.4f", k, share, 1/float64(outcomes))
		}
	}
}
