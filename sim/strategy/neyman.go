package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Neyman is the allocation of Neyman (1934) for true variances, which it is
// handed: of all groups of at least low rollouts with g a prompt on average it
// takes those that minimise sum_i v_i/n_i, v = p(1-p), the variance of the sum
// of the prompts' mean rewards (binary coding). In real numbers n_i is
// proportional to sqrt(v_i) (NeymanVariance); in whole ones the largest
// decrease v/(n(n+1)) first is exact, the objective being separable and convex.
//
// Between equal decreases a random order decides. Prompts with v = 0 keep low
// rollouts, unless all have v = 0: then all get g. No group passes
// schedule.MaxGroup.
type Neyman struct {
	g, low int
	spec   string
	v      []float64 // true variances, binary
	n      []int
	rank   []int
}

var (
	_ Budgeter  = (*Neyman)(nil)
	_ TruthSeer = (*Neyman)(nil)
)

var neymanKind = kind{
	info: Info{
		Name: "neyman",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [low, %d]", schedule.MaxGroup), "rollouts a prompt on average"},
			{"low", "1", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts that every prompt gets at least"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true, Truth: true},
		Provenance:   "paper",
		Source:       "Neyman 1934, J. R. Stat. Soc. 97(4), in whole rollouts",
		Taxonomy:     budgetsBefore,
	},
	parse:    parseNeyman,
	spending: func(g, _ int) string { return fmt.Sprintf("neyman:g=%d", g) },
}

func parseNeyman(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	y := &Neyman{
		g:   a.Int("g", 8, 1, schedule.MaxGroup),
		low: a.Int("low", 1, 1, schedule.MaxGroup),
	}
	if y.low > y.g {
		a.Fault("low", y.low, fmt.Sprintf("at most g = %d", y.g))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	y.spec = a.Normal().String()
	return y, nil
}

// Spec implements Strategy.
func (y *Neyman) Spec() string { return y.spec }

// Capabilities implements Strategy.
func (y *Neyman) Capabilities() Capabilities { return neymanKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (y *Neyman) Start(int) error { return nil }

// SeeTruth implements TruthSeer.
func (y *Neyman) SeeTruth(p []float64) { y.v = trueVariances(y.v, p) }

// trueVariances fills v with p(1-p), equal for p = s/n and (n-s)/n.
func trueVariances(v, p []float64) []float64 {
	v = v[:0]
	for _, p := range p {
		v = append(v, distributions.Level(p)/4)
	}
	return v
}

// Budget implements Budgeter.
func (y *Neyman) Budget(batch int) int { return y.g * batch }

// Next asks the whole allocation at once.
func (y *Neyman) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	y.rank = randomRanks(y.rank, b.Len(), r)
	y.n = equalGroups(y.n, b.Len(), y.low)
	gain := func(i, n int) float64 { return orEven(y.v[i]/float64(n*(n+1)), n) }
	greedy(y.n, (y.g-y.low)*b.Len(), schedule.MaxGroup, gain, y.rank)
	return askGroups(ask, y.n)
}

// Update implements Strategy: every group is trained on.
func (y *Neyman) Update() Update { return Update{} }

// NeymanVariance returns the least sum_i p_i(1-p_i)/n_i over real n_i >= 0 with
// sum total > 0, which n_i proportional to sigma_i = sqrt(p_i(1-p_i)) attains
// (binary coding, p_i in [0, 1]): (sum_i sigma_i)^2/total (Neyman 1934). Equal
// groups have UniformVariance.
func NeymanVariance(p []float64, total float64) float64 {
	sd := 0.0
	for _, p := range p {
		sd += math.Sqrt(p * (1 - p))
	}
	return sd * sd / total
}

// UniformVariance returns sum_i p_i(1-p_i)/n for the equal groups n =
// total/len(p), total > 0 (binary coding, p_i in [0, 1]).
func UniformVariance(p []float64, total float64) float64 {
	v := 0.0
	for _, p := range p {
		v += p * (1 - p)
	}
	return v * float64(len(p)) / total
}

// NeymanUniformLimit is NeymanVariance over UniformVariance for many prompts
// with uniform p: (E sigma)^2/E[sigma^2] = (pi/8)^2/(1/6) = 0.925275. On such
// prompts no allocation lowers this variance by more than 7.5 %.
const NeymanUniformLimit = 6 * (math.Pi / 8) * (math.Pi / 8)
