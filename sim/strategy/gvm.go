package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// GVM tries every prompt on pilot rollouts, and then hands out n rollouts a
// prompt on average, to prompt i in proportion to
//
//	G_i / sqrt(phat_i + alpha / phat_i^(beta-1)),
//
// none where no pilot rollout succeeded: the sample sizes of GVM-RAFT, arXiv
// 2505.02391, as in its released code (RLHFlow/GVM, em/stage_2_calc_sample_size.py
// [code]; pilot = n = 8, alpha = 0.001 and beta = 2 in runs/scripts/run_em.sh).
// Shares are rounded to the nearest whole number, halves to the even one, and
// the sum is mended where the residual is largest. Which of equal residuals
// goes first is left open there (an unstable sort); here it is ties. The pilot
// rollouts are paid for and not trained on.
//
// G_i is the mean norm of the gradient over the accepted pilot responses.
// Gradient norms are not known here, so G_i = 1 wherever phat_i > 0. The
// released code sizes the whole prompt set of an iteration of about ten updates
// at once; here every batch is one. Its two filters on sample sizes are off by
// default and left out, and so is its loss (RAFT, on accepted responses alone,
// or GRPO).
//
// A batch of B prompts costs (pilot + n) B rollouts, unless all its pilot
// rollouts fail: then the released code divides by zero, Update.Failed is set
// and the cost is pilot B (see GvmCost).
type GVM struct {
	pilot, n    int
	alpha, beta float64
	ties        string

	failed         bool
	pilotS         []int // successes of the pilot
	weight         []float64
	size           []int
	trainedN       []int
	trainedS       []int
	trainedPrompts []int
	rounding       remainder
}

var _ Strategy = (*GVM)(nil)

var gvmKind = kind{
	info: Info{
		Name: "gvm",
		Parameters: []Parameter{
			{"pilot", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt in the pilot, discarded"},
			{"n", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "further rollouts a prompt, on average"},
			{"alpha", "0.001", "[0, 1000]", "weight of the penalty on low success rates"},
			{"beta", "2", "[0, 10]", "exponent of the penalty on low success rates"},
			{"ties", tiesRandom, "random, index", "which of equal residuals mends the sum"},
		},
		Capabilities: Capabilities{FirstEpoch: true},
		Provenance:   "code",
		Source:       "GVM-RAFT, arXiv 2505.02391; RLHFlow/GVM, em/stage_2_calc_sample_size.py; gradient norms taken as 1",
		Taxonomy:     budgetsInRounds,
	},
	parse: parseGvm,
	spending: func(g, _ int) string {
		return fmt.Sprintf("gvm:pilot=%d,n=%d", max(1, g/2), max(1, g-g/2))
	},
}

func parseGvm(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	g := &GVM{
		pilot: a.Int("pilot", 8, 1, schedule.MaxGroup),
		n:     a.Int("n", 8, 1, schedule.MaxGroup),
		alpha: a.Float("alpha", 0.001, "[0, 1000]", func(x float64) bool { return x >= 0 && x <= 1000 }),
		beta:  a.Float("beta", 2, "[0, 10]", func(x float64) bool { return x >= 0 && x <= 10 }),
		ties:  a.Choice("ties", tiesRandom, tiesRandom, tiesIndex),
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// Spec implements Strategy.
func (g *GVM) Spec() string {
	return fmt.Sprintf("gvm:pilot=%d,n=%d,alpha=%s,beta=%s,ties=%s",
		g.pilot, g.n, spec.FormatFloat(g.alpha), spec.FormatFloat(g.beta), g.ties)
}

// Capabilities implements Strategy.
func (g *GVM) Capabilities() Capabilities { return gvmKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (g *GVM) Start(int) error { return nil }

// Next asks the pilot, then the sizes that follow from it.
func (g *GVM) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	switch b.Round {
	case 0:
		return askAll(ask, b.Len(), g.pilot)
	case 1:
		g.pilotS = append(g.pilotS[:0], b.S...)
		if g.allocate(r); !g.failed {
			return askGroups(ask, g.size)
		}
	}
	g.settle(b)
	return ask
}

// allocate fills size from pilotS.
func (g *GVM) allocate(r *rand.Rand) {
	total := 0.0
	g.weight = g.weight[:0]
	for _, s := range g.pilotS {
		w := GvmWeight(float64(s)/float64(g.pilot), g.alpha, g.beta)
		g.weight = append(g.weight, w)
		total += w
	}
	if g.failed = total == 0; g.failed {
		return
	}
	budget := g.n * len(g.weight)
	for x := range g.weight {
		g.weight[x] = g.weight[x] / total * float64(budget)
	}
	g.size = g.rounding.nearest(g.size[:0], g.weight, budget, g.ties, r)
}

// settle notes what is trained on: all but the pilot.
func (g *GVM) settle(b *rollout.Batch) {
	g.trainedN, g.trainedS = g.trainedN[:0], g.trainedS[:0]
	g.trainedPrompts = slices.Grow(g.trainedPrompts[:0], b.Len()) // not nil, which stands for all
	for x, n := range b.N {
		g.trainedN = append(g.trainedN, n-g.pilot)
		g.trainedS = append(g.trainedS, b.S[x]-g.pilotS[x])
		if n > g.pilot {
			g.trainedPrompts = append(g.trainedPrompts, x)
		}
	}
}

// Update implements Strategy: the second stage alone is trained on.
func (g *GVM) Update() Update {
	return Update{Prompts: g.trainedPrompts, N: g.trainedN, S: g.trainedS, Failed: g.failed}
}

// GvmWeight returns the unnormalised sample size of a prompt of success rate p
// in [0, 1] and gradient norm 1, 1/sqrt(p + alpha/p^(beta-1)) for alpha >= 0,
// and 0 at p = 0 (RLHFlow/GVM, em/stage_2_calc_sample_size.py).
func GvmWeight(p, alpha, beta float64) float64 {
	if p == 0 {
		return 0
	}
	return 1 / math.Sqrt(p+alpha/math.Pow(p, beta-1))
}

// GvmCost returns the expected rollouts of a batch of prompts of success
// probabilities p, B = len(p), which pilot and n rollouts a prompt are asked of:
//
//	B pilot + B n (1 - prod_i (1-p_i)^pilot).
//
// OWN, from the rule.
func GvmCost(p []float64, pilot, n int) float64 {
	dead := 1.0 // probability that every pilot rollout fails
	for _, p := range p {
		dead *= math.Pow(1-p, float64(pilot))
	}
	return float64(len(p)) * (float64(pilot) + float64(n)*(1-dead))
}
