package strategy_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// wantSpecs wants specs to print as told.
func wantSpecs(t *testing.T, normal map[string]string) {
	t.Helper()
	for text, want := range normal {
		s, err := strategy.Parse(text, open)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if s.Spec() != want {
			t.Errorf("%s: spec %s, want %s", text, s.Spec(), want)
		}
	}
}

// wantFaults wants every spec refused with all the texts in one error.
func wantFaults(t *testing.T, specs map[string][]string) {
	t.Helper()
	for text, wants := range specs {
		_, err := strategy.Parse(text, open)
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %q, want %q in it", text, err, want)
			}
		}
	}
}

// wantRefused is wantFaults for one text each.
func wantRefused(t *testing.T, specs map[string]string) {
	t.Helper()
	for text, want := range specs {
		wantFaults(t, map[string][]string{text: {want}})
	}
}

// spending returns the spec of the named strategy for g rollouts a prompt.
func spending(t *testing.T, name string, g int) string {
	t.Helper()
	for i, info := range strategy.Known() {
		if info.Name == name {
			return strategy.Spending(g, 500)[i]
		}
	}
	t.Fatalf("%s is not known", name)
	return ""
}

// wantSpending wants the named strategy's spec for each number of rollouts a
// prompt, and that it parses.
func wantSpending(t *testing.T, name string, specs map[int]string) {
	t.Helper()
	for g, want := range specs {
		if got := spending(t, name, g); got != want {
			t.Errorf("spending %d: %s, want %s", g, got, want)
		}
		mustParse(t, want)
	}
}

// wantExactSpending wants exactly g rollouts a prompt.
func wantExactSpending(t *testing.T, name string) {
	t.Helper()
	for _, g := range []int{1, 2, 7, 8, 64, 10_000} {
		s := mustParse(t, spending(t, name, g)).(strategy.Budgeter)
		if got := s.Budget(32); got != 32*g {
			t.Errorf("%s: %d rollouts on 32 prompts, want %d", s.Spec(), got, 32*g)
		}
	}
}

// seeded returns the stream of a test.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 20260101)) }

// wantNear fails the test where got is not want to within tol.
func wantNear(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.9g, want %.9g ± %g", what, got, want, tol)
	}
}

// sizesByID returns the groups of a step by prompt.
func sizesByID(trace *strategytest.Trace, prompts int) []int {
	sizes := make([]int, prompts)
	for x, id := range trace.ID {
		sizes[id] = trace.N[x]
	}
	return sizes
}

// byID returns sizesByID of every step.
func byID(traces []*strategytest.Trace, prompts int) [][]int {
	steps := make([][]int, len(traces))
	for step, t := range traces {
		steps[step] = sizesByID(t, prompts)
	}
	return steps
}

// flips returns the successes among n rollouts.
func flips(n int, p float64, r *rand.Rand) int {
	s := 0
	for range n {
		if r.Float64() < p {
			s++
		}
	}
	return s
}

// draw answers for prompts of the same success probability.
func draw(p float64, r *rand.Rand) func(step, id, first, n int) int {
	return func(_, _, _, n int) int { return flips(n, p, r) }
}

// wantEqualShares wants draw to return 0..outcomes-1 equally often. By Hoeffding
// the share of one outcome in n = 20,000 draws strays by tol = 0.0201 with
// probability at most 2 exp(-2 n tol^2) = 1.9e-7, one of up to five with less
// than 1e-6; a share that is off by 2 tol = 0.0402 is missed with probability
// at most 1.9e-7.
func wantEqualShares(t *testing.T, outcomes int, draw func(r *rand.Rand) int) {
	t.Helper()
	const n, tol = 20_000, 0.0201
	r, count := seeded(9), make([]int, outcomes)
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

// benchmarkBatch times all choices for a batch of 1,024 prompts of every
// difficulty. Every round is answered with the expected successes.
func benchmarkBatch(b *testing.B, text string) {
	const batch = 1024
	s, r := mustParse(b, text), seeded(1)
	p := make([]float64, batch)
	for i := range p {
		p[i] = (float64(i) + 0.5) / batch
	}
	var ask []rollout.Request
	b.ReportAllocs()
	for b.Loop() {
		seen := &rollout.Batch{N: make([]int, batch), S: make([]int, batch)}
		if err := s.Start(batch); err != nil {
			b.Fatal(err)
		}
		if seer, ok := s.(strategy.TruthSeer); ok {
			seer.SeeTruth(p)
		}
		for ask = s.Next(seen, ask[:0], r); len(ask) > 0; ask = s.Next(seen, ask[:0], r) {
			for _, q := range ask {
				seen.N[q.X] += q.N
				seen.S[q.X] = int(math.Round(p[q.X] * float64(seen.N[q.X])))
			}
			seen.Round++
		}
	}
}

// benchmarkSteps times a strategy's choices, and the answers, which are cheap,
// on steps of 1024 groups from a set of 16384 prompts.
func benchmarkSteps(b *testing.B, text string) {
	const batch, prompts = 1024, 16 * 1024
	s := mustParse(b, text)
	set, state, r := rollout.NewSet(prompts), new(rollout.Batch), rand.New(rand.NewPCG(1, 1))
	set.Restart(rand.New(rand.NewPCG(1, 2)))
	learner, _ := s.(strategy.Learner)
	if learner != nil {
		learner.Begin(prompts)
	}
	var ask []rollout.Request
	for b.Loop() {
		set.Begin(state)
		if !s.Capabilities().PicksPrompts {
			set.Load(batch)
		}
		if err := s.Start(batch); err != nil {
			b.Fatal(err)
		}
		for {
			if ask = s.Next(state, ask[:0], r); len(ask) == 0 {
				break
			}
			for _, q := range ask {
				state.N[q.X] += q.N
				state.S[q.X] += (state.ID[q.X]*7919 + state.Round) % (q.N + 1)
			}
			state.Round++
		}
		s.Update()
		if learner != nil {
			learner.Observe(state)
		}
	}
}
