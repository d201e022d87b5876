package strategy

import (
	"fmt"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// What AR3PO does with a stored correct response.
const (
	reuseNone         = "none"
	reuseStopGradient = "stop-gradient"
)

// AR3PO asks k rollouts, stage after stage, of every prompt that has had no
// success yet, for at most stages stages (AR3PO, arXiv 2509.25808). This is a
// reconstruction from notes on the paper (allocation.md, section 5), not the
// published algorithm: stages and k were not stated there and have no default.
//
// A prompt without success after the last stage that had one in an earlier step
// has a correct response stored, and with reuse=stop-gradient one of its n wrong
// rollouts is overwritten by it: it moves the mean that the others are compared
// with, from 0 to 1/n, and is not trained on itself. All groups are then
// compared with their own mean, the rollout at hand included. The notes' other
// option, to train on a stored response as on a fresh one, did worse there and
// is not built: worlds keep no rollouts older than a prompt's last visit.
// reuse=none adapts the rollouts alone and needs no history. What an update
// divides by is the spread of the rewards that it is handed.
//
// It is one-sided: a prompt whose first k rollouts all succeed has no mixed
// group, with probability p^k. The cost of a prompt is random, at most
// k*stages, with the mean k sum_{t<stages} (1-p)^{kt}:
// AdaSeqCost(p, k, stages, 1, 0).
type AR3PO struct {
	stages, k int
	reuse     string

	active []int
	stored []bool // by prompt of the set: whether a correct response is there
	n, s   []int  // trained
	mean   []float64
}

var (
	_ Strategy = (*AR3PO)(nil)
	_ Learner  = ar3poReusing{}
)

// ar3poReusing is AR3PO with a store, and so a history.
type ar3poReusing struct{ *AR3PO }

var ar3poKind = kind{
	info: Info{
		Name: "ar3po",
		Parameters: []Parameter{
			{"stages", "", fmt.Sprintf("a whole number in [1, %d]; k*stages at most %[1]d", schedule.MaxGroup), "stages at most; not stated in the notes"},
			{"k", "", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts a stage of a prompt without success; not stated in the notes"},
			{"reuse", reuseStopGradient, "none, stop-gradient", "what a stored correct response does for a group without success"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, ChangesLoss: true},
		Provenance:   "reconstruction",
		Source:       "AR3PO, arXiv 2509.25808, from notes on it",
		Taxonomy:     PlacedByUs(LeverAlgorithmic, FamilyBudgeting, "C", PaidDuring),
	},
	parse: parseAR3PO,
	spending: func(g, _ int) string { // two stages of half of g: at most g a prompt
		return fmt.Sprintf("ar3po:stages=2,k=%d", max(1, g/2))
	},
}

func parseAR3PO(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	p := &AR3PO{
		stages: needInt(a, "stages", 1, schedule.MaxGroup),
		k:      needInt(a, "k", 1, schedule.MaxGroup),
		reuse:  a.Choice("reuse", reuseStopGradient, reuseNone, reuseStopGradient),
	}
	if p.stages*p.k > schedule.MaxGroup {
		a.Fault("stages", p.stages, fmt.Sprintf("k*stages at most %d", schedule.MaxGroup))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	if p.reuse == reuseNone {
		return p, nil
	}
	return ar3poReusing{p}, nil
}

// Spec implements Strategy.
func (p *AR3PO) Spec() string {
	return fmt.Sprintf("ar3po:stages=%d,k=%d,reuse=%s", p.stages, p.k, p.reuse)
}

// Capabilities implements Strategy. The first visit of a prompt reuses nothing.
func (p *AR3PO) Capabilities() Capabilities {
	reuses := p.reuse != reuseNone
	return Capabilities{FirstEpoch: true, History: reuses, ChangesLoss: reuses}
}

// Start implements Strategy; any batch will do.
func (p *AR3PO) Start(batch int) error {
	p.active = tieRanks(p.active, batch, tiesIndex, nil)
	return nil
}

// Next asks k rollouts of every prompt without success.
func (p *AR3PO) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	left := p.active[:0]
	for _, x := range p.active {
		if b.S[x] == 0 {
			left = append(left, x)
		}
	}
	p.active = left
	if b.Round == p.stages || len(left) == 0 {
		p.settle(b)
		return ask
	}
	for _, x := range left {
		ask = append(ask, rollout.Request{X: x, N: p.k})
	}
	return ask
}

// settle fills what the update uses where stored responses are reused.
func (p *AR3PO) settle(b *rollout.Batch) {
	if p.reuse == reuseNone {
		return
	}
	p.n, p.mean = append(p.n[:0], b.N...), p.mean[:0]
	p.s = append(p.s[:0], b.S...)
	for x, n := range b.N {
		correct := b.S[x]
		if correct == 0 && p.stored[b.ID[x]] {
			correct = 1
			p.n[x]-- // overwritten
		}
		p.mean = append(p.mean, float64(correct)/float64(n))
	}
}

// Update implements Strategy: every group is trained on.
func (p *AR3PO) Update() Update {
	if p.reuse == reuseNone {
		return Update{}
	}
	return Update{N: p.n, S: p.s, Baselines: p.mean}
}

// Begin implements Learner.
func (p ar3poReusing) Begin(prompts int) { p.stored = make([]bool, prompts) }

// Observe implements Learner: successes are stored.
func (p ar3poReusing) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		p.stored[id] = p.stored[id] || b.S[x] > 0
	}
}
