package strategy

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Knapsack spends exactly n rollouts a prompt of the batch by the pass rates
// that earlier visits showed (Knapsack RL, arXiv 2509.25849; [code] read in
// liziniu/KnapsackRL, verl/trainer/ppo/exploration_utils.py and
// verl/utils/dataset/rl_dataset.py).
//
// The rate of a prompt is that of its last visit where that had window
// rollouts, or of its newest window rewards; it counts once seen rewards, and one at least, are
// there. Prompts without a rate get n, those at 0 negative, those at 1
// positive, all others min; what is left goes to these others so as to
// maximise the sum of KnapsackValue, none passing max.
//
// Where the others need less than what is left, by the cost that the spec
// names, the surplus is first split evenly over the prompts at rate 0 or, if
// there are none, over all but the others. As in the code, these shares may
// pass max, and prompts without a rate count as rate 0. Without others all
// that is left goes to rate 0, or, where nobody is there, every prompt gets n.
// Uneven shares favour the front of the batch, whose order is random.
//
// solver=greedy is exact, since the value is concave in the rollouts (own).
// solver=dp is the released program, which scores an other prompt without a
// further rollout as 0 where it is worth KnapsackValue(p, min): an objective
// that is not concave. It takes time O(B * nB * max). The code divides by zero
// where a surplus meets a batch of others alone; here the solver spends it
// all, and dp reports Failed.
type Knapsack struct {
	spec                           string
	n, least, most, negative, full int
	cost                           func(p float64) float64
	seen, window                   int
	released                       bool // solver=dp

	history []visited // by prompt of the set

	rate   []float64 // 0 where there is none, as in the code
	asked  []int
	others []int    // places of the prompts with a rate inside (0, 1)
	newest []uint64 // newest rewards of the visit at hand
	p      []float64
	alloc  []int
	failed bool
}

// visited is what is kept of a prompt.
type visited struct {
	rewards uint64  // the newest ones, the last in bit 0
	kept    int     // of them
	count   int     // rewards ever
	rate    float64 // pass rate
}

var (
	_ Budgeter = (*Knapsack)(nil)
	_ Learner  = (*Knapsack)(nil)
	_ Believer = (*Knapsack)(nil)
)

var knapsackKind = kind{
	info: Info{
		Name: "knapsack",
		Parameters: []Parameter{
			{"n", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "mean rollouts of a prompt, and those of a prompt without a rate"},
			{"min", "2", "a whole number in [1, n]", "rollouts of a prompt with a rate inside (0, 1), at least"},
			{"max", "128", fmt.Sprintf("a whole number in [n, %d]", schedule.MaxGroup), "at most"},
			{"negative", "2", "a whole number in [0, n]", "rollouts at rate 0, the surplus apart"},
			{"positive", "2", "a whole number in [0, n]", "rollouts at rate 1, the surplus apart"},
			{"cost", "probability", "probability, expectation", "what a prompt needs: MixedCost or ExpectedMixed"},
			{"alpha", "0.9", "(0, 1)", "probability of a mixed group for cost=probability"},
			{"seen", "8", fmt.Sprintf("a whole number in [0, %d]", schedule.MaxGroup), "rewards before the rate counts"},
			{"window", "16", "a whole number in [1, 64]", "newest rewards that make the rate of a smaller visit"},
			{"solver", "greedy", "greedy, dp", "the exact optimum, or the released dynamic program"},
		},
		Capabilities: Capabilities{History: true, ExactBudget: true},
		Provenance:   "code",
		Source:       "Knapsack RL, arXiv 2509.25849; liziniu/KnapsackRL, exploration_utils.py",
		Taxonomy:     budgetsBefore,
	},
	parse: parseKnapsack,
	spending: func(g, _ int) string {
		least := min(g, max(2, g/4))
		return fmt.Sprintf("knapsack:n=%d,min=%[2]d,max=%d,negative=%[2]d,positive=%[2]d,seen=%[1]d,window=%[4]d",
			g, least, min(16*g, schedule.MaxGroup), min(2*g, 64))
	},
}

func parseKnapsack(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	k := &Knapsack{n: a.Int("n", 8, 1, schedule.MaxGroup)}
	k.least = a.Int("min", min(2, k.n), 1, k.n)
	k.most = a.Int("max", max(128, k.n), k.n, schedule.MaxGroup)
	k.negative = a.Int("negative", min(2, k.n), 0, k.n)
	k.full = a.Int("positive", min(2, k.n), 0, k.n)
	cost := a.Choice("cost", "probability", "probability", "expectation")
	alpha := a.Float("alpha", 0.9, "(0, 1)", func(x float64) bool { return x > 0 && x < 1 })
	k.cost = ExpectedMixed
	if cost == "probability" {
		k.cost = func(p float64) float64 { return MixedCost(p, alpha) }
	}
	k.seen = a.Int("seen", 8, 0, schedule.MaxGroup)
	k.window = a.Int("window", 16, 1, 64)
	k.released = a.Choice("solver", "greedy", "greedy", "dp") == "dp"
	k.spec = a.Normal().String()
	if err := a.Err(); err != nil {
		return nil, err
	}
	return k, nil
}

// KnapsackValue returns (1 - p^n - (1-p)^n) p (1-p)^2, what n >= 1 rollouts of
// a prompt with pass rate p in [0, 1] are worth: the probability of a mixed
// group times the worth of one (arXiv 2509.25849, as coded). It is concave in n.
func KnapsackValue(p float64, n int) float64 {
	q := 1 - p
	return EffectiveProbability(p, n) * p * (q * q)
}

// knapsackGain returns KnapsackValue(p, n+1) - KnapsackValue(p, n) without
// cancellation: (p^n (1-p) + (1-p)^n p) p (1-p)^2, which falls in n.
func knapsackGain(p float64, n int) float64 {
	q := 1 - p
	return (math.Pow(p, float64(n))*q + math.Pow(q, float64(n))*p) * p * q * q
}

// MixedCost returns ln(1-alpha) / ln max(p, 1-p), for p and alpha in (0, 1):
// the rollouts after which the likelier outcome alone has been seen with
// probability 1-alpha (arXiv 2509.25849, as coded; it leaves the other
// outcome's min(p, 1-p)^n out).
func MixedCost(p, alpha float64) float64 { return math.Log(1-alpha) / math.Log(max(p, 1-p)) }

// ExpectedMixed returns 1/p + 1/(1-p) - 1 = 1/(p(1-p)) - 1, for p in (0, 1):
// the mean number of rollouts until both outcomes have been seen, since
// sum_{n>=0} P(not yet after n) = 1 + sum_{n>=1} (p^n + (1-p)^n).
func ExpectedMixed(p float64) float64 { return 1/(p*(1-p)) - 1 }

// Spec implements Strategy.
func (k *Knapsack) Spec() string { return k.spec }

// Capabilities implements Strategy.
func (k *Knapsack) Capabilities() Capabilities { return knapsackKind.info.Capabilities }

// Begin implements Learner.
func (k *Knapsack) Begin(prompts int) {
	k.history = make([]visited, prompts)
}

// Start implements Strategy; any batch will do.
func (k *Knapsack) Start(int) error {
	k.failed = false
	return nil
}

// Budget implements Budgeter.
func (k *Knapsack) Budget(batch int) int { return k.n * batch }

// Next asks the whole allocation in one round. Then it settles which rewards
// of the visit are the newest: all orders of a group are equally likely.
func (k *Knapsack) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		k.order(b, r)
		return ask
	}
	k.allocate(b.ID)
	return askGroups(ask, k.asked)
}

// Update implements Strategy: every group is trained on.
func (k *Knapsack) Update() Update { return Update{Failed: k.failed} }

// Observe implements Learner.
func (k *Knapsack) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		if b.N[x] == 0 {
			continue
		}
		h, take := &k.history[id], min(b.N[x], k.window)
		h.rewards = h.rewards<<take | k.newest[x]
		h.kept = min(h.kept+take, k.window)
		h.count += b.N[x]
		h.rate = float64(b.S[x]) / float64(b.N[x])
		if b.N[x] < k.window {
			h.rate = float64(bits.OnesCount64(h.rewards<<(64-h.kept))) / float64(h.kept)
		}
	}
}

// Belief implements Believer: the rate, where it counts.
func (k *Knapsack) Belief(id int) (float64, bool) {
	h := k.history[id]
	return h.rate, h.count > 0 && h.count >= k.seen
}

// order draws the newest rewards of every group, the last in bit 0.
func (k *Knapsack) order(b *rollout.Batch, r *rand.Rand) {
	k.newest = k.newest[:0]
	for x, n := range b.N {
		rewards, successes := uint64(0), b.S[x]
		for i := range min(n, k.window) {
			if r.IntN(n-i) < successes {
				rewards |= 1 << i
				successes--
			}
		}
		k.newest = append(k.newest, rewards)
	}
}

// allocate fills asked for the prompts of the batch.
func (k *Knapsack) allocate(ids []int) {
	left := k.begin(ids)
	if len(k.others) == 0 {
		k.withoutOthers(left)
		return
	}
	need := 0
	for _, x := range k.others {
		need += int(min(float64(k.most), k.cost(k.rate[x])))
	}
	if need < left {
		left = k.spendSurplus(left, need)
	}
	k.solve(left)
}

// begin gives every prompt its first rollouts and returns what is left.
func (k *Knapsack) begin(ids []int) (left int) {
	k.asked, k.rate, k.others = k.asked[:0], k.rate[:0], k.others[:0]
	left = k.n * len(ids)
	for x, id := range ids {
		h, n := k.history[id], k.least
		switch {
		case h.count == 0 || h.count < k.seen:
			h.rate, n = 0, k.n
		case h.rate == 0:
			n = k.negative
		case h.rate == 1:
			n = k.full
		default:
			k.others = append(k.others, x)
		}
		k.rate = append(k.rate, h.rate)
		k.asked = append(k.asked, n)
		left -= n
	}
	return left
}

// withoutOthers spends what is left where no prompt has a rate inside (0, 1).
func (k *Knapsack) withoutOthers(left int) {
	if zero := k.atZero(); len(zero) > 0 {
		spread(k.asked, zero, left)
		return
	}
	for x := range k.asked {
		k.asked[x] = k.n
	}
}

// spendSurplus spends all but need of what is left and returns what then is.
func (k *Knapsack) spendSurplus(left, need int) int {
	takers := k.atZero()
	if len(takers) == 0 {
		for x, rate := range k.rate {
			if rate == 1 {
				takers = append(takers, x)
			}
		}
	}
	if len(takers) == 0 {
		k.failed = k.released
		return left
	}
	spread(k.asked, takers, left-need)
	return need
}

// atZero returns the places of the prompts whose rate reads 0.
func (k *Knapsack) atZero() []int {
	var zero []int
	for x, rate := range k.rate {
		if rate == 0 {
			zero = append(zero, x)
		}
	}
	return zero
}

// solve spends what is left on the others; what passes max for all of them is
// spread evenly.
func (k *Knapsack) solve(left int) {
	k.p, k.alloc = k.p[:0], k.alloc[:0]
	for _, x := range k.others {
		k.p = append(k.p, k.rate[x])
		k.alloc = append(k.alloc, k.least)
	}
	usable := min(left, len(k.others)*(k.most-k.least))
	if k.released {
		knapsackDP(k.p, k.alloc, k.most, usable)
	} else {
		greedy(k.alloc, usable, k.most, func(i, n int) float64 { return knapsackGain(k.p[i], n) }, nil)
	}
	for i, x := range k.others {
		k.asked[x] = k.alloc[i]
	}
	spread(k.asked, k.others, left-usable)
}

// knapsackDP adds budget rollouts to n, no prompt passing most, by the released
// dynamic program: no further rollout scores 0, k further ones
// KnapsackValue(p, n+k). A later state replaces an earlier one only if it is
// strictly better, so that of equal ones the last prompt gets the fewest; sums
// that differ only in order may be unequal in their last bit.
func knapsackDP(p []float64, n []int, most, budget int) {
	before, after := make([]float64, budget+1), make([]float64, budget+1)
	for w := range before {
		before[w] = math.Inf(-1)
	}
	before[0] = 0
	take := make([][]int32, len(p))
	for i := range p {
		value := make([]float64, min(most-n[i], budget)+1)
		for k := 1; k < len(value); k++ {
			value[k] = KnapsackValue(p[i], n[i]+k)
		}
		take[i] = make([]int32, budget+1)
		for w := range after {
			best, units := before[w], 0
			for k := 1; k < len(value) && k <= w; k++ {
				if v := before[w-k] + value[k]; v > best {
					best, units = v, k
				}
			}
			after[w], take[i][w] = best, int32(units)
		}
		before, after = after, before
	}
	for i, w := len(p)-1, budget; i >= 0; i-- {
		units := int(take[i][w])
		n[i] += units
		w -= units
	}
}

// spread adds units to n at the given places as evenly as can be, the
// remainder to the first of them.
func spread(n, places []int, units int) {
	for i, x := range places {
		n[x] += units / len(places)
		if i < units%len(places) {
			n[x]++
		}
	}
}
