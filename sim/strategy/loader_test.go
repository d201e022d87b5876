package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// inOrder is a source under which Shuffle leaves everything in its place.
type inOrder struct{}

func (inOrder) Uint64() uint64 { return math.MaxUint64 }

// A coin is a source whose Float64 is always the same number.
type coin float64

func (c coin) Uint64() uint64 { return uint64(c * (1 << 53)) }

// tell writes a step down, prompts by their number in the set: the rollouts
// asked, round by round, and the groups trained on as successes/rollouts, such
// as `0:4 1:4 | 2:4 -> 1 3/4`.
func tell(t *strategytest.Trace) string {
	var rounds, trained []string
	for _, ask := range t.Asked {
		var round []string
		for _, q := range ask {
			round = append(round, fmt.Sprintf("%d:%d", t.ID[q.X], q.N))
		}
		rounds = append(rounds, strings.Join(round, " "))
	}
	n, s := t.N, t.S
	if t.Update.N != nil {
		n, s = t.Update.N, t.Update.S
	}
	for _, x := range t.Update.Prompts {
		trained = append(trained, fmt.Sprintf("%d %d/%d", t.ID[x], s[x], n[x]))
	}
	text := strings.Join(rounds, " | ") + " -> " + strings.Join(trained, ", ")
	if t.Update.Prompts == nil {
		text += "all"
	}
	if t.Update.Failed {
		text += " failed"
	}
	return text
}

// follow runs a strategy whose loader keeps to the order of the set and
// compares every step with what it should do.
func follow(t *testing.T, s strategy.Strategy, w strategytest.World, r *rand.Rand, want []string) {
	t.Helper()
	w.Steps, w.Order = len(want), rand.New(inOrder{})
	got, err := strategytest.Steps(s, &w, r)
	if err != nil {
		t.Fatal(err)
	}
	for step, trace := range got {
		if text := tell(trace); text != want[step] {
			t.Errorf("step %d:\n got %s\nwant %s", step+1, text, want[step])
		}
	}
}

// draw answers for prompts of the same success probability.
func draw(p float64, r *rand.Rand) func(step, id, first, n int) int {
	return func(_, _, _, n int) int {
		s := 0
		for range n {
			if r.Float64() < p {
				s++
			}
		}
		return s
	}
}

// spent returns the rollouts of a step.
func spent(t *strategytest.Trace) int {
	sum := 0
	for _, n := range t.N {
		sum += n
	}
	return sum
}

// checkLaw compares the sample, whole numbers from 1 on, with the distribution
// function cdf at 1..upTo. By the Dvoretzky-Kiefer-Wolfowitz inequality the
// largest gap passes sqrt(ln(2/alpha)/(2n)) with probability at most alpha =
// 1e-7, a tenth of 1e-6 for as many cases; a law that is off by twice that
// somewhere is missed with probability at most alpha.
func checkLaw(t *testing.T, sample []int, upTo int, cdf func(k int) float64) {
	t.Helper()
	const alpha = 1e-7
	n := float64(len(sample))
	tol := math.Sqrt(math.Log(2/alpha) / (2 * n))
	at := make([]float64, upTo+1)
	for _, k := range sample {
		if k <= upTo {
			at[k]++
		}
	}
	below := 0.
	for k := 1; k <= upTo; k++ {
		below += at[k] / n
		if want := cdf(k); !(math.Abs(below-want) < tol) {
			t.Errorf("P(K <= %d) = %.4f, want %.4f ± %.4f", k, below, want, tol)
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
