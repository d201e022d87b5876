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
	Asked  [][]rollout.Request // by round
	ID     []int               // the prompts, in a run of many steps
	N, S   []int               // at the end
	Update strategy.Update     // Prompts sorted; a copy
}

// Answer says how many of n new rollouts of prompt x succeed, after first
// earlier ones.
type Answer func(x, first, n int) int

// Run lets s spend its rollouts on batch prompts that answer as told, with
// draws from r, and checks every request as it comes. truth is handed over
// only if the capabilities say so.
func Run(s strategy.Strategy, batch int, answer Answer, truth []float64, r *rand.Rand) (*Trace, error) {
	b := &rollout.Batch{N: make([]int, batch), S: make([]int, batch)}
	return runBatch(s, b, batch, answer, truth, r)
}

// runBatch runs s on b, the batch of a step with groups for an update of the
// given size.
func runBatch(s strategy.Strategy, b *rollout.Batch, batch int, answer Answer, truth []float64, r *rand.Rand) (*Trace, error) {
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
	t := new(Trace)
	for b.Round = 0; b.Round < maxRounds; b.Round++ {
		ask := s.Next(b, nil, r)
		if len(ask) == 0 {
			t.ID, t.N, t.S = slices.Clone(b.ID), slices.Clone(b.N), slices.Clone(b.S)
			t.Update = clone(s.Update())
			return t, checkUpdate(t)
		}
		if err := checkRequests(ask, b.Len()); err != nil {
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

// clone copies what the strategy owns.
func clone(u strategy.Update) strategy.Update {
	u.Prompts = slices.Clone(u.Prompts)
	slices.Sort(u.Prompts)
	u.N, u.S = slices.Clone(u.N), slices.Clone(u.S)
	u.Weights, u.Baselines = slices.Clone(u.Weights), slices.Clone(u.Baselines)
	return u
}

// checkUpdate wants an update of prompts that have groups, each once, with as
// many successes as there can be.
func checkUpdate(t *Trace) error {
	u, n, s := t.Update, t.N, t.S
	if u.N != nil {
		n, s = u.N, u.S
	}
	for _, slice := range []int{len(n), len(s)} {
		if slice != len(t.N) {
			return fmt.Errorf("an update of %d prompts, want %d", slice, len(t.N))
		}
	}
	if u.Weights != nil && len(u.Weights) != len(t.N) || u.Baselines != nil && len(u.Baselines) != len(t.N) {
		return fmt.Errorf("%d weights and %d baselines, want %d or none", len(u.Weights), len(u.Baselines), len(t.N))
	}
	for i, x := range u.Prompts {
		if x < 0 || x >= len(n) || i > 0 && u.Prompts[i-1] == x {
			return fmt.Errorf("the update lists prompts %v of a batch of %d", u.Prompts, len(n))
		}
	}
	for x, g := range n {
		if g < 0 || s[x] < 0 || s[x] > g {
			return fmt.Errorf("prompt %d: %d successes of %d trained rollouts", x, s[x], g)
		}
		if u.Weights != nil && !(u.Weights[x] >= 0 && u.Weights[x] <= math.MaxFloat64) {
			return fmt.Errorf("prompt %d: weight %v, want [0, Inf)", x, u.Weights[x])
		}
		if u.Baselines != nil && !(u.Baselines[x] >= 0 && u.Baselines[x] <= 1) {
			return fmt.Errorf("prompt %d: baseline %v, want [0, 1]", x, u.Baselines[x])
		}
	}
	return nil
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

// A population is a set of prompts that the conformance test tries.
type population struct {
	name string
	p    []float64
}

// answer draws from the prompts' success probabilities, the same for the same
// request.
func (pop *population) answer(step, id, first, n int) int {
	r := rand.New(rand.NewPCG(uint64(id)<<32|uint64(first), uint64(step)<<32|uint64(n)))
	s := 0
	for range n {
		if r.Float64() < pop.p[id] {
			s++
		}
	}
	return s
}

// populations returns prompts of every odd kind: one, two, many, all dead, all
// solved, all alike, mixed.
func populations() []population {
	constant := func(n int, p float64) []float64 { return slices.Repeat([]float64{p}, n) }
	mixed := make([]float64, 37)
	for i := range mixed {
		mixed[i] = float64(i) / 36
	}
	return []population{
		{"one prompt", constant(1, 0.5)},
		{"two prompts", []float64{0.2, 0.9}},
		{"all dead", constant(16, 0)},
		{"all solved", constant(16, 1)},
		{"all alike", constant(33, 0.5)},
		{"mixed", mixed},
	}
}

// run runs s on the prompts of pop in the given order, prompt order[i] as
// number i: as one batch or, for a strategy with a history or with prompts of
// its own choice, over three steps on batches of half the prompts.
func (pop *population) run(s strategy.Strategy, order []int, r *rand.Rand) ([]*Trace, error) {
	p := make([]float64, len(order))
	for i, id := range order {
		p[i] = pop.p[id]
	}
	c := s.Capabilities()
	if !c.History && !c.PicksPrompts {
		answer := func(x, first, n int) int { return pop.answer(0, order[x], first, n) }
		t, err := Run(s, len(order), answer, p, r)
		return []*Trace{t}, err
	}
	return Steps(s, &World{
		Prompts: len(order), Batch: (len(order) + 1) / 2, Steps: 3, Truth: p, Order: r,
		Embeddings: embeddings(p, order),
		Answer:     func(step, id, first, n int) int { return pop.answer(step, order[id], first, n) },
	}, r)
}

// embeddings are vectors of two numbers that tell something of the prompt, and
// nothing of its number in the set.
func embeddings(p []float64, order []int) [][]float64 {
	e := make([][]float64, len(p))
	for i, p := range p {
		e[i] = []float64{math.Asin(math.Sqrt(p)), float64(order[i]%3) / 2}
	}
	return e
}

// inOrder returns 0..n-1.
func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// Conform checks what every strategy promises, on every odd population. make
// returns a new strategy with the same spec at each call. byPlace says that
// the strategy favours some places of a batch on purpose (ties=index).
func Conform(t *testing.T, make func() strategy.Strategy, byPlace bool) {
	t.Helper()
	t.Run("spec", func(t *testing.T) { checkSpec(t, make()) })
	for _, pop := range populations() {
		t.Run(pop.name, func(t *testing.T) {
			first, err := pop.run(make(), inOrder(len(pop.p)), newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			checkAbilities(t, make())
			checkBudget(t, make(), &pop, first)
			checkRepeats(t, make(), &pop, first)
			checkTruth(t, make(), &pop, first)
			checkPermutation(t, make, &pop, byPlace)
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

// checkAbilities wants the interfaces that the capabilities speak of.
func checkAbilities(t *testing.T, s strategy.Strategy) {
	t.Helper()
	c := s.Capabilities()
	if _, ok := s.(strategy.Budgeter); c.ExactBudget != ok {
		t.Errorf("exact_budget is %v, but a Budgeter: %v", c.ExactBudget, ok)
	}
	if _, ok := s.(strategy.Learner); c.History != ok {
		t.Errorf("history is %v, but a Learner: %v", c.History, ok)
	}
}

// checkBudget wants exactly the rollouts that were announced, or fewer where
// the batch has taken in the whole prompt set.
func checkBudget(t *testing.T, s strategy.Strategy, pop *population, got []*Trace) {
	t.Helper()
	b, ok := s.(strategy.Budgeter)
	if !ok {
		return
	}
	for step, trace := range got {
		batch := len(pop.p)
		if trace.ID != nil {
			batch = (batch + 1) / 2
		}
		spent := 0
		for _, n := range trace.N {
			spent += n
		}
		if want := b.Budget(batch); spent > want || spent < want && len(trace.ID) < len(pop.p) {
			t.Errorf("step %d: spent %d rollouts, announced %d", step+1, spent, want)
		}
	}
}

// show prints traces for comparison.
func show(traces []*Trace) string {
	text := ""
	for _, t := range traces {
		text += fmt.Sprintf("%v\n", *t)
	}
	return text
}

// checkRepeats wants the same trace from the same draws, from a strategy that
// has run before as from a new one.
func checkRepeats(t *testing.T, s strategy.Strategy, pop *population, want []*Trace) {
	t.Helper()
	for range 2 {
		got, err := pop.run(s, inOrder(len(pop.p)), newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		if show(got) != show(want) {
			t.Errorf("same draws, other trace:\n%s\n%s", show(got), show(want))
		}
	}
}

// checkTruth wants a strategy without the capability to be blind to the truth
// even when someone hands it over.
func checkTruth(t *testing.T, s strategy.Strategy, pop *population, want []*Trace) {
	t.Helper()
	if _, ok := s.(strategy.TruthSeer); !ok || s.Capabilities().Truth {
		return
	}
	if err := s.Start(len(pop.p)); err != nil {
		t.Fatal(err)
	}
	lie := slices.Clone(pop.p)
	slices.Reverse(lie)
	s.(strategy.TruthSeer).SeeTruth(lie)
	got, err := pop.run(s, inOrder(len(pop.p)), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if show(got) != show(want) {
		t.Errorf("the trace depends on a truth that the capabilities deny")
	}
}

// checkPermutation wants a strategy to treat prompts by their outcomes, not by
// where they stand: over random orders of the prompts, the first has the same
// law of its group as the last, and the first half as the second. Prompts are
// taken by their number in the set, over all steps, and by their place in the
// batch, in the last step, where there are batches that the loader fills;
// byPlace leaves the latter out.
//
// If nothing favours a place, exchanging places turns the sign of the
// difference d and leaves its law alone. So given all |d| of n independent runs
// their signs are fair coins, and by Hoeffding the sum of d passes
// sqrt(2 ln(2/alpha) sum d^2) with probability at most alpha. With alpha =
// 1e-10 that is below 1e-6 for all strategies, populations and contrasts
// together, of which there are below 10,000. No bound on groups enters: a
// rollout that always goes to the front makes n = 1600 against sqrt(47.5 n) =
// 276, and one that does so in a share f of the runs, all else being even, is
// sure to show where f > 47.5/n = 0.03.
func checkPermutation(t *testing.T, make func() strategy.Strategy, pop *population, byPlace bool) {
	t.Helper()
	const n = 1600
	s, r := make(), newRand(2)
	c := s.Capabilities()
	steps := c.History || c.PicksPrompts // otherwise a place is a number
	var first, half [2]contrast
	for range n {
		got, err := pop.run(s, r.Perm(len(pop.p)), r)
		if err != nil {
			t.Fatal(err)
		}
		for i, spent := range [][]int{spentOn(got, len(pop.p)), got[len(got)-1].N} {
			first[i].add(spent[:min(1, len(spent))], spent[max(0, len(spent)-1):])
			half[i].add(spent[:len(spent)/2], spent[(len(spent)+1)/2:])
		}
	}
	if steps || !byPlace {
		first[0].check(t, "the first prompt of the set", "the last")
		half[0].check(t, "the first half of the set", "the second")
	}
	if steps && !c.PicksPrompts && !byPlace {
		first[1].check(t, "the first place of the batch", "the last")
		half[1].check(t, "the first half of the batch", "the second")
	}
}

// A contrast sums the differences between two parts of the prompts over runs.
type contrast struct{ sum, squares float64 }

func (c *contrast) add(front, back []int) {
	d := 0.0
	for _, n := range front {
		d += float64(n)
	}
	for _, n := range back {
		d -= float64(n)
	}
	c.sum += d
	c.squares += d * d
}

func (c *contrast) check(t *testing.T, front, back string) {
	t.Helper()
	const alpha = 1e-10
	if tol := math.Sqrt(2 * math.Log(2/alpha) * c.squares); !(math.Abs(c.sum) <= tol) {
		t.Errorf("%s gets %.0f rollouts more than %s, want 0 ± %.0f", front, c.sum, back, tol)
	}
}

// spentOn returns the rollouts of every prompt over all steps.
func spentOn(traces []*Trace, prompts int) []int {
	spent := make([]int, prompts)
	for _, t := range traces {
		for x, n := range t.N {
			id := x
			if t.ID != nil {
				id = t.ID[x]
			}
			spent[id] += n
		}
	}
	return spent
}
