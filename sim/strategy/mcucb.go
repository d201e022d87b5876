package strategy

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// MCUCB is Monte Carlo UCB, stratified sampling by an upper confidence bound on
// the standard deviation (Carpentier and Munos, NIPS 2011; Carpentier, Munos
// and Antos, JMLR 2015), on prompts of equal weight: two rollouts of every
// prompt, then, one at a time until g a prompt are spent, the rollout of the
// prompt with the largest
//
//	(sd + c sqrt(ln(N)/n))/n ,  sd^2 = s(n-s)/(n(n-1)),
//
// n its rollouts, s the successes among them, N = g*batch, binary coding. The
// rule is as its abstracts and notes on it say; the papers' constant depends on
// their confidence level and was not read, so c = 1 is this project's choice.
//
// pulls rollouts form a round: within it n counts what was asked, sd only what
// was seen. pulls=1 is the published rule, with (g-2)*batch + 1 rounds. Of equal
// bounds, which are many, an order drawn at random for the batch decides. A
// group of schedule.MaxGroup is closed.
//
// The papers bound the excess of sum v_i/n_i over the best by n^(-3/2) up to
// logarithms, and by n^(-4/3) whatever the prompts.
type MCUCB struct {
	g, pulls int
	c        float64
	spec     string

	left   int       // rollouts yet to be asked
	bonus  float64   // c sqrt(ln N)
	sd     []float64 // of the outcomes seen
	n      []int     // rollouts asked
	asked  []int     // rollouts of the next round
	pulled []int     // prompts of the last round
	queue  bounds
}

var _ Budgeter = (*MCUCB)(nil)

var mcucbKind = kind{
	info: Info{
		Name: "mc-ucb",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts a prompt on average"},
			{"c", "1", "[0, 1000000]", "weight of the confidence bound"},
			{"pulls", "1", "a whole number in [1, 1000000]", "rollouts a round after the first"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "reconstruction",
		Source:       "Carpentier and Munos, NIPS 2011, from its abstract and notes; c is our choice",
		Taxonomy:     budgetsInRounds,
	},
	parse:    parseMCUCB,
	spending: func(g, _ int) string { return fmt.Sprintf("mc-ucb:g=%d", max(2, g)) },
}

func parseMCUCB(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	m := &MCUCB{
		g:     a.Int("g", 8, 2, schedule.MaxGroup),
		c:     a.Float("c", 1, "[0, 1000000]", func(x float64) bool { return x >= 0 && x <= 1e6 }),
		pulls: a.Int("pulls", 1, 1, 1_000_000),
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	m.spec = a.Normal().String()
	return m, nil
}

// Spec implements Strategy.
func (m *MCUCB) Spec() string { return m.spec }

// Capabilities implements Strategy.
func (m *MCUCB) Capabilities() Capabilities { return mcucbKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (m *MCUCB) Start(int) error { return nil }

// Budget implements Budgeter.
func (m *MCUCB) Budget(batch int) int { return m.g * batch }

// Next asks two rollouts of every prompt, then pulls by pulls those of the
// largest bounds.
func (m *MCUCB) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == 0 {
		m.begin(b.Len(), r)
		return askGroups(ask, m.n)
	}
	m.see(b)
	m.pulled = m.pulled[:0]
	for range min(m.pulls, m.left) {
		m.pull()
	}
	m.left -= min(m.pulls, m.left)
	for _, x := range m.pulled {
		ask = append(ask, rollout.Request{X: x, N: m.asked[x]})
		m.asked[x] = 0
	}
	return ask
}

// begin sets up a batch of which two rollouts each are asked.
func (m *MCUCB) begin(batch int, r *rand.Rand) {
	m.left = (m.g - 2) * batch
	m.bonus = m.c * math.Sqrt(math.Log(float64(m.g*batch)))
	m.n = equalGroups(m.n, batch, 2)
	m.asked = equalGroups(m.asked, batch, 0)
	m.sd = append(m.sd[:0], make([]float64, batch)...)
	m.queue.reset(batch, r)
	m.pulled = append(m.pulled[:0], m.queue.at...)
}

// see renews the bounds of the prompts of the last round.
func (m *MCUCB) see(b *rollout.Batch) {
	for _, x := range m.pulled {
		n, s := float64(b.N[x]), float64(b.S[x])
		m.sd[x] = math.Sqrt(s * (n - s) / (n * (n - 1)))
		m.queue.set(x, m.bound(x))
	}
}

// pull asks one rollout of the prompt with the largest bound.
func (m *MCUCB) pull() {
	x := m.queue.at[0]
	if m.asked[x] == 0 {
		m.pulled = append(m.pulled, x)
	}
	m.asked[x]++
	m.n[x]++
	m.queue.set(x, m.bound(x))
}

// bound returns the upper bound of what the next rollout of x is worth.
func (m *MCUCB) bound(x int) float64 {
	if m.n[x] >= schedule.MaxGroup {
		return math.Inf(-1)
	}
	n := float64(m.n[x])
	return (m.sd[x] + m.bonus/math.Sqrt(n)) / n
}

// Update implements Strategy: every group is trained on.
func (m *MCUCB) Update() Update { return Update{} }

// bounds is a heap of prompts, the one of the largest bound on top, that knows
// where every prompt stands.
type bounds struct {
	bound []float64 // of prompt x
	rank  []int     // of prompt x, for ties
	at    []int     // the heap, of prompts
	place []int     // of prompt x in it
}

// reset takes in a batch of prompts with equal bounds and draws their ranks.
func (q *bounds) reset(batch int, r *rand.Rand) {
	q.bound = append(q.bound[:0], make([]float64, batch)...)
	q.rank = randomRanks(q.rank, batch, r)
	q.at, q.place = equalGroups(q.at, batch, 0), equalGroups(q.place, batch, 0)
	for x := range batch {
		q.at[x], q.place[x] = x, x
	}
	heap.Init(q)
}

// set gives prompt x a new bound.
func (q *bounds) set(x int, bound float64) {
	q.bound[x] = bound
	heap.Fix(q, q.place[x])
}

func (q *bounds) Len() int { return len(q.at) }

func (q *bounds) Less(a, b int) bool {
	x, y := q.at[a], q.at[b]
	if q.bound[x] != q.bound[y] {
		return q.bound[x] > q.bound[y]
	}
	return q.rank[x] < q.rank[y]
}

func (q *bounds) Swap(a, b int) {
	q.at[a], q.at[b] = q.at[b], q.at[a]
	q.place[q.at[a]], q.place[q.at[b]] = a, b
}

// Push and Pop complete heap.Interface: the heap keeps all its prompts.
func (q *bounds) Push(any) { panic("strategy: a heap of fixed size") }

// Pop is not used either.
func (q *bounds) Pop() any { panic("strategy: a heap of fixed size") }
