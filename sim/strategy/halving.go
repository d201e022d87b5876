package strategy

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// SequentialHalving looks for the prompt of the highest reward variance
// (Karnin, Koren and Somekh 2013, stated from memory; the transfer from means
// to variances is this project's). The budget g*B is divided equally over
// ceil(log2 B) rounds, or as many as asked; every round divides its part
// equally over the prompts that are left and keeps the half, rounded up, of the
// highest s(n-s), by the round's own rollouts (counts=fresh, as published) or
// by all (cumulative). Of equal ones, each stays with the same probability.
//
// Both divisions round down: a round of n prompts asks t = max(1, floor(g*B /
// (n*rounds))) of each, and what is left of its part is not spent. So the
// spending is known beforehand (Budget): at most g*B, but for rounds whose part
// is below n, which the paper's rule cannot run: they ask one rollout each. One
// rollout has no variance: such a round halves at random.
//
// The policy update, of which the paper knows nothing, uses every group.
type SequentialHalving struct {
	g          int
	rounds     int // 0 for ceil(log2 B)
	cumulative bool

	plan   []int // t of every round, for the batch of the last Start
	batch  int
	active []int       // prompts that are left, in batch order
	before []int       // successes of every prompt before the round
	ranked []candidate // the highest s(n-s) first
}

var _ Budgeter = (*SequentialHalving)(nil)

var halvingKind = kind{
	info: Info{
		Name: "sequential-halving",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts a prompt of the batch, before rounding down"},
			{"rounds", "auto", fmt.Sprintf("auto, or a whole number in [1, %d]", schedule.MaxRounds), "rounds; auto is ceil(log2 of the batch)"},
			{"counts", "fresh", "fresh, cumulative", "rank by the round's own rollouts or by all"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "reconstruction",
		Source:       "Karnin, Koren and Somekh, ICML 2013, from memory; reward variances in place of means is ours",
		Taxonomy:     budgetsInRounds,
	},
	parse:    parseHalving,
	spending: func(g, _ int) string { return fmt.Sprintf("sequential-halving:g=%d", g) },
}

func parseHalving(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	h := &SequentialHalving{g: a.Int("g", 8, 1, schedule.MaxGroup)}
	if text, given := a.Text("rounds"); given && text != "auto" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > schedule.MaxRounds {
			a.Fault("rounds", text, fmt.Sprintf("auto or a whole number in [1, %d]", schedule.MaxRounds))
		}
		h.rounds = n
	}
	h.cumulative = a.Choice("counts", "fresh", "fresh", "cumulative") == "cumulative"
	if err := a.Err(); err != nil {
		return nil, err
	}
	return h, nil
}

// Spec implements Strategy.
func (h *SequentialHalving) Spec() string {
	rounds, counts := "auto", "fresh"
	if h.rounds > 0 {
		rounds = strconv.Itoa(h.rounds)
	}
	if h.cumulative {
		counts = "cumulative"
	}
	return fmt.Sprintf("sequential-halving:g=%d,rounds=%s,counts=%s", h.g, rounds, counts)
}

// Capabilities implements Strategy.
func (h *SequentialHalving) Capabilities() Capabilities { return halvingKind.info.Capabilities }

// schedule appends the rollouts that each round asks of every prompt left.
func (h *SequentialHalving) schedule(batch int, t []int) []int {
	rounds := h.rounds
	if rounds == 0 {
		rounds = max(1, ceilLog2(batch))
	}
	n := batch
	for range rounds {
		t = append(t, max(1, h.g*batch/(n*rounds)))
		n = (n + 1) / 2
	}
	return t
}

// ceilLog2 returns ceil(log2 n) for n >= 1.
func ceilLog2(n int) int { return bits.Len(uint(n - 1)) }

// Budget implements Budgeter: the sum of n*t over the rounds.
func (h *SequentialHalving) Budget(batch int) int {
	total, n := 0, batch
	for _, t := range h.schedule(batch, nil) {
		total += n * t
		n = (n + 1) / 2
	}
	return total
}

// Start implements Strategy.
func (h *SequentialHalving) Start(batch int) error {
	if h.batch != batch {
		h.plan, h.batch = h.schedule(batch, h.plan[:0]), batch
	}
	h.active, h.before = h.active[:0], h.before[:0]
	for x := range batch {
		h.active, h.before = append(h.active, x), append(h.before, 0)
	}
	return nil
}

// Next halves the prompts after every round, the last included, and asks the
// next round's rollouts.
func (h *SequentialHalving) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		h.halve(b, r)
	}
	if b.Round == len(h.plan) {
		return ask
	}
	for _, x := range h.active {
		h.before[x] = b.S[x]
		ask = append(ask, rollout.Request{X: x, N: h.plan[b.Round]})
	}
	return ask
}

// halve keeps the better half, rounded up, in batch order.
func (h *SequentialHalving) halve(b *rollout.Batch, r *rand.Rand) {
	h.ranked = h.ranked[:0]
	for _, x := range h.active {
		n, s := b.N[x], b.S[x]
		if !h.cumulative {
			n, s = h.plan[b.Round-1], s-h.before[x]
		}
		// s(n-s) ranks as min(s, n-s), for the same n.
		h.ranked = append(h.ranked, candidate{x, -float64(min(s, n-s)), r.Uint64()})
	}
	rankCandidates(h.ranked)
	h.active = h.active[:(len(h.active)+1)/2]
	for i := range h.active {
		h.active[i] = h.ranked[i].x
	}
	slices.Sort(h.active)
}

// Kept returns the prompts that are left, in batch order; after the last round
// of the published schedule, the one that is taken for the best. The slice is
// the strategy's, valid until Next.
func (h *SequentialHalving) Kept() []int { return h.active }

// Update implements Strategy: every group is trained on.
func (h *SequentialHalving) Update() Update { return Update{} }

// SequentialHalvingBound bounds the probability that sequential halving with
// budget >= 1 rollouts ends with another than the best of K >= 2 prompts of the
// given values, by 3 log2 K exp(-budget/(8 H2 log2 K)), H2 = max_{i>=2}
// i/D_i^2, D_i the distance of the i-th highest value to the highest (Karnin et
// al. 2013, Theorem 4.1, from memory; rounding left out). It returns 1 where
// that is more, as for a tie at the top.
//
// The theorem is for means of rewards in [0, 1]. It holds for the reward
// variances p(1-p), coding {0,1}, if every round gives each prompt n >= 2 fresh
// rollouts: s(n-s) ranks as the unbiased sample variance, a U-statistic of
// kernel (x-y)^2/2 in [0, 1/2], and by Hoeffding (1963, section 5) the
// difference of two exceeds its mean by D with probability at most
// exp(-4 floor(n/2) D^2), where the proof needs exp(-n D^2/2). (Own argument,
// checked exactly for two prompts and by simulation for more.)
func SequentialHalvingBound(values []float64, budget int) float64 {
	v := slices.Clone(values)
	slices.Sort(v)
	slices.Reverse(v)
	h2 := 0.
	for i, x := range v[1:] {
		gap := v[0] - x
		h2 = max(h2, float64(i+2)/(gap*gap))
	}
	l := math.Log2(float64(len(v)))
	return min(1, 3*l*math.Exp(-float64(budget)/(8*h2*l)))
}
