package strategy

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Vigor starts with few rollouts for every prompt and gives more, round by
// round, to the fraction alpha with the highest observed reward variance
// (VIGOR, as stated in arXiv 2607.22002; theory.md, section 1). The options
// that the paper leaves open are those of schedule.Vigor.
//
// Prompts that are still active have had the same number n of rollouts, so
// ranking by the integer s(n-s) is ranking by min(s, n-s): no floating-point
// variance, ddof or reward coding can change it.
type Vigor struct {
	plan     schedule.Vigor
	rollouts []int // m_1..m_T

	kept    []int     // n_1..n_T for the batch of the last Start
	active  []int     // prompts that the next round asks, in batch order
	level   []int     // rank level of every active prompt, high is kept
	count   []int     // prompts at every level
	u       []float64 // true variances, for select=truth
	byTruth []float64 // scratch: the distinct levels of u
}

var (
	_ Budgeter  = (*Vigor)(nil)
	_ TruthSeer = (*Vigor)(nil)
)

// NewVigor returns VIGOR with the given parameters. It fails where a parameter
// is out of range, a round would ask a part of a rollout, or a group would
// pass schedule.MaxGroup.
func NewVigor(plan schedule.Vigor) (*Vigor, error) {
	m, err := plan.Rollouts()
	if err != nil {
		return nil, err
	}
	return &Vigor{plan: plan, rollouts: m}, nil
}

// Plan returns the parameters.
func (v *Vigor) Plan() schedule.Vigor { return v.plan }

// Spec implements Strategy.
func (v *Vigor) Spec() string { return v.plan.String() }

// Capabilities implements Strategy. Only select=truth is handed the truth.
func (v *Vigor) Capabilities() Capabilities {
	return Capabilities{FirstEpoch: true, ExactBudget: true, Truth: v.plan.Select == schedule.SelectTruth}
}

// Start implements Strategy.
func (v *Vigor) Start(batch int) error {
	if len(v.kept) == 0 || v.kept[0] != batch {
		v.kept = v.plan.Active(batch)
	}
	v.active = v.active[:0]
	if cap(v.active) < batch { // growing step by step would copy hundreds of megabytes
		v.active = make([]int, 0, batch)
	}
	for x := range batch {
		v.active = append(v.active, x)
	}
	return nil
}

// SeeTruth implements TruthSeer. The engine calls it for select=truth alone.
func (v *Vigor) SeeTruth(p []float64) {
	v.u = v.u[:0]
	for _, p := range p {
		v.u = append(v.u, distributions.Level(p))
	}
}

// Budget implements Budgeter.
func (v *Vigor) Budget(batch int) int {
	total := 0
	for t, n := range v.plan.Active(batch) {
		total += v.rollouts[t] * n
	}
	return total
}

// Next cuts the active prompts after every round but the last and asks the
// rest for the next round's rollouts.
func (v *Vigor) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == len(v.rollouts) {
		return ask
	}
	if b.Round > 0 && v.kept[b.Round] < len(v.active) {
		v.cut(v.kept[b.Round], v.rank(b), r)
	}
	for _, x := range v.active {
		ask = append(ask, rollout.Request{X: x, N: v.rollouts[b.Round]})
	}
	return ask
}

// Update implements Strategy.
func (v *Vigor) Update() Update {
	u := Update{Fresh: !v.plan.Reuse}
	if v.plan.Update == schedule.UpdateSurvivors {
		u.Prompts = v.active
	}
	return u
}

// rank fills v.level for the active prompts and returns the number of levels.
func (v *Vigor) rank(b *rollout.Batch) int {
	v.level = v.level[:0]
	switch v.plan.Select {
	case schedule.SelectRandom:
		for range v.active {
			v.level = append(v.level, 0)
		}
		return 1
	case schedule.SelectTruth:
		return v.rankByTruth()
	}
	for _, x := range v.active {
		v.level = append(v.level, min(b.S[x], b.N[x]-b.S[x]))
	}
	return b.N[v.active[0]]/2 + 1
}

// rankByTruth gives equal true variances equal levels.
func (v *Vigor) rankByTruth() int {
	v.byTruth = v.byTruth[:0]
	for _, x := range v.active {
		v.byTruth = append(v.byTruth, v.u[x])
	}
	slices.Sort(v.byTruth)
	v.byTruth = slices.Compact(v.byTruth)
	for _, x := range v.active {
		l, _ := slices.BinarySearchFunc(v.byTruth, v.u[x], cmp.Compare[float64])
		v.level = append(v.level, l)
	}
	return len(v.byTruth)
}

// cut keeps the keep active prompts of the highest levels, in batch order, by
// a counting selection. In the level that the cut splits it keeps each prompt
// with the same probability (ties=random, select=random) or the earlier ones
// (ties=index).
func (v *Vigor) cut(keep, levels int, r *rand.Rand) {
	v.count = append(v.count[:0], make([]int, levels)...)
	for _, l := range v.level {
		v.count[l]++
	}
	split := levels - 1
	for keep > v.count[split] {
		keep -= v.count[split]
		split--
	}
	left := v.count[split] // of the split level, yet to be met
	kept := 0
	for i, x := range v.active {
		take := 0
		switch l := v.level[i]; {
		case l > split:
			take = 1
		case l == split:
			take = v.takeTied(keep, left, r)
			keep -= take
			left--
		}
		v.active[kept] = x // without a branch on take, which is random
		kept += take
	}
	v.active = v.active[:kept]
}

// takeTied returns 1 if the next of left tied prompts, of which keep stay, is
// one of them, and 0 otherwise. Ranking by nothing is random whatever ties says:
// by place, the control would favour the prompts that stand first.
func (v *Vigor) takeTied(keep, left int, r *rand.Rand) int {
	place := uint64(0)
	if v.plan.Ties == schedule.TiesRandom || v.plan.Select == schedule.SelectRandom {
		// A whole number below left, with a bias below left/2^64.
		place, _ = bits.Mul64(r.Uint64(), uint64(left))
	}
	take := 0
	if place < uint64(keep) {
		take = 1
	}
	return take
}

// vigorDefault holds the defaults.
var vigorDefault = schedule.Default()

// vigorWords prints the values of an option.
func vigorWords(option string) string { return strings.Join(schedule.Words(option), ", ") }

var vigorKind = kind{
	info: Info{
		Name: "vigor",
		Parameters: []Parameter{
			{"m0", fmt.Sprint(vigorDefault.M0), fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt in round 1"},
			{"rounds", fmt.Sprint(vigorDefault.Rounds), fmt.Sprintf("a whole number in [1, %d]", schedule.MaxRounds), "rounds T"},
			{"alpha", vigorDefault.Alpha.String(), "(0, 1), a decimal or a fraction", "fraction of the active prompts that a cut keeps"},
			{"gamma", vigorDefault.Gamma.String(), "(0, Inf), a decimal or a fraction; m0*gamma^(t-1) whole in every round", "expansion of the rollouts a prompt, round by round"},
			{"ties", vigorDefault.Ties, vigorWords("ties"), "who stays of the level that a cut splits"},
			{"cut", vigorDefault.Cut, vigorWords("cut"), "rounding of alpha*n"},
			{"select", vigorDefault.Select, vigorWords("select"), "rank by the observed variance, or a control; only truth is handed the true success probabilities"},
			{"update", vigorDefault.Update, vigorWords("update"), "groups that the policy update uses"},
			{"reuse", fmt.Sprint(vigorDefault.Reuse), "true, false", "whether the update uses the rollouts that chose the prompts"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "paper",
		Source:       "VIGOR, arXiv 2607.22002",
		Taxonomy:     budgetsInRounds,
	},
	parse:    parseVigor,
	spending: func(g, _ int) string { return fmt.Sprintf("vigor:m0=%d", max(1, (g+2)/4)) }, // the mean group is 4 m0
}

func parseVigor(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	plan := schedule.Vigor{
		M0:     a.Int("m0", vigorDefault.M0, 1, schedule.MaxGroup),
		Rounds: a.Int("rounds", vigorDefault.Rounds, 1, schedule.MaxRounds),
		Alpha:  ratio(a, "alpha", vigorDefault.Alpha.String(), "(0, 1)", func(x float64) bool { return x > 0 && x < 1 }),
		Gamma:  ratio(a, "gamma", vigorDefault.Gamma.String(), "(0, Inf)", func(x float64) bool { return x > 0 }),
		Ties:   a.Choice("ties", vigorDefault.Ties, schedule.Words("ties")...),
		Cut:    a.Choice("cut", vigorDefault.Cut, schedule.Words("cut")...),
		Select: a.Choice("select", vigorDefault.Select, schedule.Words("select")...),
		Update: a.Choice("update", vigorDefault.Update, schedule.Words("update")...),
		Reuse:  a.Choice("reuse", fmt.Sprint(vigorDefault.Reuse), "true", "false") == "true",
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	v, err := NewVigor(plan)
	if err != nil {
		a.Add(err)
		return nil, a.Err()
	}
	return v, nil
}
