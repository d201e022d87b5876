package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// XRPO is the allocator of XRPO (arXiv 2510.06672), without its seeding of
// prompts by solved examples and its sharpening of novel answers. It is a
// reconstruction from notes on the paper (allocation.md, section 6), not the
// published algorithm: alpha, lambda, the base and the number of phases were not
// stated there and have no default.
//
// Every prompt gets base rollouts; then every one of the phases hands out an
// equal part of the rest of g a prompt (the first phases one rollout more),
// one at a time, to the largest
//
//	h(n) - h(n+1) + lambda sqrt(ln(1+T)/n) ,  h(n) = t_{1-alpha/2, n-1} sd/sqrt(n),
//
// n the prompt's rollouts, asked ones included, sd their standard deviation (ddof
// 1, binary coding), T all rollouts of the batch, both as the phase began: what
// a confidence interval would shrink by, and a bonus. One reading of the paper
// prints the bonus without the root: bonus=linear. Within a phase all of it falls
// with n, so that greedy is the descending order of priorities. A prompt with
// sd = 0 is reached by the bonus alone. Equal priorities go by an order drawn at
// random for the phase.
//
// Without bonus, n grows like sd^(2/3): flatter than Neyman's n ~ sd.
type XRPO struct {
	spec          string
	g, base       int
	phases        int
	alpha, lambda float64
	linear        bool // the bonus

	reduction []float64 // by n: (h(n) - h(n+1))/sd
	n         []int
	sd        []float64
	rank      []int
}

var _ Budgeter = (*XRPO)(nil)

var xrpoKind = kind{
	info: Info{
		Name: "xrpo",
		Parameters: []Parameter{
			{"g", "16", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts a prompt on average"},
			{"base", "", "a whole number in [2, g]", "rollouts of every prompt in the first round; not stated in the notes"},
			{"phases", "", "a whole number in [1, 1000]", "rounds after the first; a review speaks of three phases in all"},
			{"alpha", "", "(0, 1)", "level of the confidence interval; not stated in the notes"},
			{"lambda", "", "[0, 1000000]", "weight of the bonus; not stated in the notes"},
			{"bonus", "root", "root, linear", "sqrt(ln(1+T)/n), or one third-party reading's ln(1+T)/n"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "reconstruction",
		Source:       "XRPO, arXiv 2510.06672, its allocator alone, from notes on it",
		Taxonomy:     budgetsInRounds,
	},
	parse: parseXRPO,
	spending: func(g, _ int) string { // base, phases, alpha and lambda are our choice
		g = max(2, g)
		return fmt.Sprintf("xrpo:g=%d,base=%d,phases=2,alpha=0.05,lambda=0.1", g, max(2, g/2))
	},
}

func parseXRPO(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	x := &XRPO{g: a.Int("g", 16, 2, schedule.MaxGroup)}
	x.base = needInt(a, "base", 2, x.g)
	x.phases = needInt(a, "phases", 1, 1000)
	x.alpha = needFloat(a, "alpha", "(0, 1)", func(v float64) bool { return v > 0 && v < 1 })
	x.lambda = needFloat(a, "lambda", "[0, 1000000]", func(v float64) bool { return v >= 0 && v <= 1e6 })
	x.linear = a.Choice("bonus", "root", "root", "linear") == "linear"
	if err := a.Err(); err != nil {
		return nil, err
	}
	x.spec = a.Normal().String()
	return x, nil
}

// Spec implements Strategy.
func (x *XRPO) Spec() string { return x.spec }

// Capabilities implements Strategy.
func (x *XRPO) Capabilities() Capabilities { return xrpoKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (x *XRPO) Start(int) error { return nil }

// Budget implements Budgeter.
func (x *XRPO) Budget(batch int) int { return x.g * batch }

// Next asks base rollouts of every prompt, then what the phase hands out.
func (x *XRPO) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == 0 {
		return askAll(ask, b.Len(), x.base)
	}
	if b.Round > x.phases {
		return ask
	}
	total := 0
	x.n, x.sd = append(x.n[:0], b.N...), x.sd[:0]
	for i, n := range b.N {
		total += n
		x.sd = append(x.sd, deviation(n, b.S[i]))
	}
	bonus := x.bonus(total)
	x.rank = randomRanks(x.rank, b.Len(), r)
	greedy(x.n, x.part(b.Round, b.Len()), math.MaxInt, func(i, n int) float64 { return x.priority(x.sd[i], n, bonus) }, x.rank)
	for i := range x.n {
		x.n[i] -= b.N[i]
	}
	return askGroups(ask, x.n)
}

// part returns the rollouts of a phase, from 1.
func (x *XRPO) part(phase, batch int) int {
	rest := (x.g - x.base) * batch
	if phase <= rest%x.phases {
		return rest/x.phases + 1
	}
	return rest / x.phases
}

// deviation returns the standard deviation, ddof 1, of n rewards with s
// successes.
func deviation(n, s int) float64 {
	return math.Sqrt(float64(s) * float64(n-s) / (float64(n) * float64(n-1)))
}

// bonus returns that of a prompt with one rollout, total in the batch.
func (x *XRPO) bonus(total int) float64 {
	b := math.Log1p(float64(total))
	if !x.linear {
		b = math.Sqrt(b)
	}
	return x.lambda * b
}

// priority returns that of the rollout after n.
func (x *XRPO) priority(sd float64, n int, bonus float64) float64 {
	share := 1 / float64(n)
	if !x.linear {
		share = math.Sqrt(share)
	}
	return sd*x.shrinks(n) + bonus*share
}

// shrinks returns (h(n) - h(n+1))/sd, n >= 2.
func (x *XRPO) shrinks(n int) float64 {
	for k := len(x.reduction); k <= n; k++ {
		d := 0.0
		if k >= 2 {
			d = x.halfWidth(k) - x.halfWidth(k+1)
		}
		x.reduction = append(x.reduction, d)
	}
	return x.reduction[n]
}

// halfWidth returns h(n)/sd.
func (x *XRPO) halfWidth(n int) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	return -t.Quantile(x.alpha/2) / math.Sqrt(float64(n))
}

// Update implements Strategy: every group is trained on.
func (x *XRPO) Update() Update { return Update{} }
