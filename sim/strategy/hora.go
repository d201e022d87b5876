package strategy

import (
	"fmt"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// HORA asks base rollouts of every prompt, then spends the rest of g a prompt,
// in one round, where it is most likely to meet a success: on the largest sum of
// HitUtility, the probability that at least one of a prompt's further rollouts
// succeeds under a uniform prior and what the first round showed (HORA, arXiv
// 2605.07114). Greedy is exact, as the utility is concave. This is a
// reconstruction from the abstract (allocation.md, section 11), not the
// published algorithm: neither its first rollouts and caps nor its budget were
// found, and that there is a single round after the first is our reading.
//
// The s successes and f = base - s failures of the first round make the j-th
// further rollout worth (s+1)/(base+2+j) prod_{i<j} (f+1+i)/(base+2+i), j from 0:
// a prompt that always succeeded gets the first further rollout, and one that
// never did the most. Equal gains go by an order drawn at random for the batch.
type HORA struct {
	spec          string
	g, base, most int

	gain [][]float64 // by successes of the first round: of the j-th further rollout
	miss []float64   // by successes: the probability that the listed ones all fail
	n    []int
	rank []int
}

var _ Budgeter = (*HORA)(nil)

var horaKind = kind{
	info: Info{
		Name: "hora",
		Parameters: []Parameter{
			{"g", "", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts a prompt on average; not stated in the abstract"},
			{"base", "", "a whole number in [1, g]", "rollouts of every prompt in the first round; not stated in the abstract"},
			{"max", fmt.Sprint(schedule.MaxGroup), fmt.Sprintf("a whole number in [g, %d]", schedule.MaxGroup), "rollouts of a prompt, at most; the default is no cap"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "reconstruction",
		Source:       "HORA, arXiv 2605.07114, from its abstract; the utility is derived",
		Taxonomy:     budgetsInRounds,
	},
	parse:    parseHORA,
	spending: func(g, _ int) string { return fmt.Sprintf("hora:g=%d,base=%d", g, max(1, g/2)) }, // half of it is our choice
}

func parseHORA(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	h := &HORA{g: needInt(a, "g", 1, schedule.MaxGroup)}
	h.base = needIntUpTo(a, "base", 1, "g", h.g)
	h.most = a.Int("max", schedule.MaxGroup, h.g, schedule.MaxGroup)
	if err := a.Err(); err != nil {
		return nil, err
	}
	h.spec = a.Normal().String()
	h.gain, h.miss = make([][]float64, h.base+1), filled(h.base+1, 1)
	return h, nil
}

// Spec implements Strategy.
func (h *HORA) Spec() string { return h.spec }

// Capabilities implements Strategy.
func (h *HORA) Capabilities() Capabilities { return horaKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (h *HORA) Start(int) error { return nil }

// Budget implements Budgeter.
func (h *HORA) Budget(batch int) int { return h.g * batch }

// Next asks base rollouts of every prompt, then the rest at once.
func (h *HORA) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	switch b.Round {
	case 0:
		return askAll(ask, b.Len(), h.base)
	case 1:
		h.n, h.rank = equalGroups(h.n, b.Len(), 0), randomRanks(h.rank, b.Len(), r)
		greedy(h.n, (h.g-h.base)*b.Len(), h.most-h.base, func(x, j int) float64 { return h.worth(b.S[x], j) }, h.rank)
		return askGroups(ask, h.n)
	}
	return ask
}

// worth returns what the j-th further rollout, from 0, adds to the utility of a
// prompt with s successes in the first round.
func (h *HORA) worth(s, j int) float64 {
	for k := len(h.gain[s]); k <= j; k++ {
		hit := float64(s+1) / float64(h.base+2+k)
		h.gain[s] = append(h.gain[s], h.miss[s]*hit)
		h.miss[s] *= 1 - hit
	}
	return h.gain[s][j]
}

// Update implements Strategy: every group is trained on.
func (h *HORA) Update() Update { return Update{} }
