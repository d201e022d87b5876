// Package strategytest holds the conformance test that every strategy passes.
// It refuses to judge how well a strategy allocates.
package strategytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

// maxRounds ends a strategy that never stops asking.
const maxRounds = 20_000

// A Trace is what a strategy did on one batch.
type Trace struct {
	Asked   [][]rollout.Request // by round
	N, S    []int               // at the end
	Trained []int               // prompts of the update, sorted; all if nil
	Fresh   bool
}

// Answer says how many of n new rollouts of prompt x succeed, after first
// earlier ones.
type Answer func(x, first, n int) int

// Run lets s spend its rollouts on batch prompts that answer as told, with
// tie-breaking draws from r, and checks every request as it comes. truth is
// handed over only if the capabilities say so.
func Run(s strategy.Strategy, batch int, answer Answer, truth []float64, r *rand.Rand) (*Trace, error) {
	if err := s.Start(batch); err != nil {
		return nil, err
	}
	if s.Capabilities().Truth {
		seer, ok := s.(strategy.TruthSeer)
		if !ok {
			return nil, fmt.Errorf("capabilities say truth, but %T has no SeeTruth", s)
		}
		seer.SeeTruth(truth)
	}
	b := rollout.Batch{N: make([]int, batch), S: make([]int, batch)}
	t := &Trace{N: b.N, S: b.S}
	for b.Round = 0; b.Round < maxRounds; b.Round++ {
		ask := s.Next(&b, nil, r)
		if len(ask) == 0 {
			u := s.Update()
			t.Trained, t.Fresh = slices.Sorted(slices.Values(u.Prompts)), u.Fresh
			return t, nil
		}
		if err := checkRequests(ask, batch); err != nil {
			return nil, fmt.Errorf("round %d: %w", b.Round+1, err)
		}
		for _, q := range ask {
			got := answer(q.X, b.N[q.X], q.N)
			b.N[q.X] += q.N
			b.S[q.X] += got
		}
		t.Asked = append(t.Asked, slices.Clone(ask))
	}
	return nil, fmt.Errorf("still asking after %d rounds", maxRounds)
}

func checkRequests(ask []rollout.Request, batch int) error {
	seen := make([]bool, batch)
	for _, q := range ask {
		switch {
		case q.X < 0 || q.X >= batch:
			return fmt.Errorf("prompt %d asked, want [0, %d]", q.X, batch-1)
		case q.N < 1:
			return fmt.Errorf("prompt %d: %d rollouts asked, want at least 1", q.X, q.N)
		case seen[q.X]:
			return fmt.Errorf("prompt %d asked twice", q.X)
		}
		seen[q.X] = true
	}
	return nil
}

// A population is a batch of prompts that the conformance test tries.
type population struct {
	name   string
	p      []float64
	answer Answer
}

// populations returns batches of every odd kind: one prompt, two, many, all
// dead, all solved, all alike, mixed.
func populations() []population {
	constant := func(n int, p float64) []float64 { return slices.Repeat([]float64{p}, n) }
	mixed := make([]float64, 37)
	for i := range mixed {
		mixed[i] = float64(i) / 36
	}
	list := []population{
		{name: "one prompt", p: constant(1, 0.5)},
		{name: "two prompts", p: []float64{0.2, 0.9}},
		{name: "all dead", p: constant(16, 0)},
		{name: "all solved", p: constant(16, 1)},
		{name: "all alike", p: constant(33, 0.5)},
		{name: "mixed", p: mixed},
	}
	for i := range list {
		p := list[i].p
		list[i].answer = func(x, first, n int) int { // the same for the same request
			r := rand.New(rand.NewPCG(uint64(x)<<32|uint64(first), uint64(n)))
			s := 0
			for range n {
				if r.Float64() < p[x] {
					s++
				}
			}
			return s
		}
	}
	return list
}

// Conform checks what every strategy promises, on every odd population. make
// returns a new strategy with the same spec at each call. byPlace says that
// the strategy favours earlier places on purpose (ties=index).
func Conform(t *testing.T, make func() strategy.Strategy, byPlace bool) {
	t.Helper()
	t.Run("spec", func(t *testing.T) { checkSpec(t, make()) })
	for _, pop := range populations() {
		t.Run(pop.name, func(t *testing.T) {
			first, err := Run(make(), len(pop.p), pop.answer, pop.p, newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			checkBudget(t, make(), first)
			checkRepeats(t, make(), pop, first)
			checkTruth(t, make(), pop, first)
			if !byPlace {
				checkPermutation(t, make, pop)
			}
		})
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 20260101)) }

// checkSpec wants the printed spec to parse to itself.
func checkSpec(t *testing.T, s strategy.Strategy) {
	t.Helper()
	again, err := strategy.Parse(s.Spec(), nil)
	if err != nil {
		t.Fatalf("%s does not parse: %v", s.Spec(), err)
	}
	if again.Spec() != s.Spec() {
		t.Errorf("spec %s parses to %s", s.Spec(), again.Spec())
	}
}

// checkBudget wants exactly the rollouts and rounds that were announced.
func checkBudget(t *testing.T, s strategy.Strategy, got *Trace) {
	t.Helper()
	b, ok := s.(strategy.Budgeter)
	if ok != s.Capabilities().ExactBudget {
		t.Errorf("exact_budget is %v, but a Budgeter: %v", s.Capabilities().ExactBudget, ok)
	}
	if !ok {
		return
	}
	spent := 0
	for _, n := range got.N {
		spent += n
	}
	if want := b.Budget(len(got.N)); spent != want {
		t.Errorf("spent %d rollouts, announced %d", spent, want)
	}
	if len(got.Asked) != b.Rounds() {
		t.Errorf("took %d rounds, announced %d", len(got.Asked), b.Rounds())
	}
}

// checkRepeats wants the same trace from the same draws, from a strategy that
// has run before as from a new one.
func checkRepeats(t *testing.T, s strategy.Strategy, pop population, want *Trace) {
	t.Helper()
	for range 2 {
		got, err := Run(s, len(pop.p), pop.answer, pop.p, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(*got) != fmt.Sprint(*want) {
			t.Errorf("same draws, other trace:\n%v\n%v", *got, *want)
		}
	}
}

// checkTruth wants a strategy without the capability to be blind to the truth
// even when someone hands it over.
func checkTruth(t *testing.T, s strategy.Strategy, pop population, want *Trace) {
	t.Helper()
	seer, ok := s.(strategy.TruthSeer)
	if !ok || s.Capabilities().Truth {
		return
	}
	lie := slices.Clone(pop.p)
	slices.Reverse(lie)
	if err := s.Start(len(pop.p)); err != nil {
		t.Fatal(err)
	}
	seer.SeeTruth(lie)
	got, err := Run(s, len(pop.p), pop.answer, nil, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(*got) != fmt.Sprint(*want) {
		t.Errorf("the trace depends on a truth that the capabilities deny")
	}
}

// checkPermutation wants a strategy to treat prompts by their outcomes, not by
// their place: over random orders of the batch the prompts that stand first
// and last have the same mean group. Their difference lies in [-L, L], L the
// largest group, so by Hoeffding the mean of n differences passes
// L sqrt(2 ln(2/alpha)/n) with probability at most alpha = 1e-8, a hundredth of
// 1e-6 for as many populations and strategies; a favour of twice that (0.3 L)
// is missed with probability at most alpha.
func checkPermutation(t *testing.T, make func() strategy.Strategy, pop population) {
	t.Helper()
	const (
		alpha = 1e-8
		n     = 1600
	)
	batch := len(pop.p)
	s, r := make(), newRand(2)
	truth := slices.Clone(pop.p)
	largest, sum := 0, 0
	for range n {
		order := r.Perm(batch)
		for place, x := range order {
			truth[place] = pop.p[x]
		}
		answer := func(place, first, n int) int { return pop.answer(order[place], first, n) }
		got, err := Run(s, batch, answer, truth, r)
		if err != nil {
			t.Fatal(err)
		}
		sum += got.N[0] - got.N[batch-1]
		largest = max(largest, slices.Max(got.N))
	}
	tol := float64(largest) * math.Sqrt(2*math.Log(2/alpha)/n)
	if mean := float64(sum) / n; math.Abs(mean) >= tol {
		t.Errorf("the first place gets %.2f rollouts more than the last, want 0 ± %.2f", mean, tol)
	}
}
