package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
)

const (
	oracleSignal    = "signal"
	oracleProgress  = "progress"
	oracleEffective = "effective"
	oracleHits      = "hits"
	oracleGradient  = "gradient-variance"

	// oracleMost bounds max: the values of a prompt take time max^2.
	oracleMost = 1024
)

// Oracle is handed the true success probabilities and makes, in one round, the
// best possible choice of groups of at most max rollouts, g a prompt on
// average, for a stated objective: no other choice made before the rewards are
// seen has a higher expectation. A strategy that looks at rewards and stops
// where a group is mixed can pass it, in effective groups and in hits.
//
//	signal             largest sum of E[G sigma_G]         ExpectedSignal
//	progress           largest sum of u E[G sigma_G]       u = 4p(1-p)
//	effective          largest sum of 1 - p^G - (1-p)^G    0 for G = 0
//	hits               largest sum of 1 - (1-p)^G          over prompts with p <= hard
//	gradient-variance  least sum of Var(RLOO), G >= 2      RLOOVariance
//
// The last two are concave in G, so the largest gain first is exact. Signal and
// progress are not, and neither are they convex: E[G sigma_G]/G rises with G,
// so that groups as large as max pay best, but at p = 1/2 the fourth rollout
// adds less (1.111) than the third (1.121). Effective groups are worth nothing
// before the second rollout. allocate finds these exactly. That E[G sigma_G]/G
// rises: the mean of G rewards averages over those of G-1 of them, and sigma is
// concave in the mean.
//
// Without max one prompt would take everything; 128 is the largest cap of a
// published strategy (Knapsack, Reinforce-Ada). Between equal choices a random
// order decides. A step spends exactly g rollouts a prompt; what nobody can use
// is spent all the same.
type Oracle struct {
	g, max    int
	objective string
	hard      float64
	spec      string

	p    []float64
	n    []int
	rank []int
}

var (
	_ Budgeter  = (*Oracle)(nil)
	_ TruthSeer = (*Oracle)(nil)
)

var oracleKind = kind{
	info: Info{
		Name: "oracle",
		Parameters: []Parameter{
			{"objective", oracleSignal, "signal, progress, effective, hits, gradient-variance", "what the groups are best for"},
			{"g", "8", "a whole number in [1, max], from 2 for gradient-variance", "rollouts a prompt on average"},
			{"max", "128", fmt.Sprintf("a whole number in [1, %d]", oracleMost), "rollouts that a prompt gets at most"},
			{"hard", "0.2", "[0, 1]", "largest success probability of the prompts whose hits count"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true, Truth: true},
		Provenance:   "own",
		Source:       "the best choice before rewards are seen, by definition",
	},
	parse:    parseOracle,
	spending: func(g, _ int) string { return Oracles(g)[0] },
}

// Oracles returns the specs of the oracle for every objective that a group of
// g >= 1 rollouts a prompt on average allows.
func Oracles(g int) []string {
	g = min(g, oracleMost)
	var specs []string
	for _, objective := range []string{oracleSignal, oracleProgress, oracleEffective, oracleHits, oracleGradient} {
		if objective != oracleGradient || g >= 2 {
			specs = append(specs, fmt.Sprintf("oracle:objective=%s,g=%d,max=%d", objective, g, min(16*g, oracleMost)))
		}
	}
	return specs
}

func parseOracle(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	o := &Oracle{
		objective: a.Choice("objective", oracleSignal, oracleSignal, oracleProgress, oracleEffective, oracleHits, oracleGradient),
		g:         a.Int("g", 8, 1, oracleMost),
		max:       a.Int("max", 128, 1, oracleMost),
		hard:      a.Float("hard", 0.2, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 }),
	}
	if o.g > o.max {
		a.Fault("g", o.g, fmt.Sprintf("at most max = %d", o.max))
	}
	if o.g < o.low() {
		a.Fault("g", o.g, "at least 2 for objective=gradient-variance")
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	o.spec = a.Normal().String()
	return o, nil
}

// low returns the rollouts that every prompt gets at least.
func (o *Oracle) low() int {
	if o.objective == oracleGradient {
		return 2 // RLOO needs another rollout to compare with
	}
	return 0
}

// Spec implements Strategy.
func (o *Oracle) Spec() string { return o.spec }

// Capabilities implements Strategy.
func (o *Oracle) Capabilities() Capabilities { return oracleKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (o *Oracle) Start(int) error { return nil }

// SeeTruth implements TruthSeer.
func (o *Oracle) SeeTruth(p []float64) { o.p = append(o.p[:0], p...) }

// Budget implements Budgeter.
func (o *Oracle) Budget(batch int) int { return o.g * batch }

// Next asks the whole allocation at once.
func (o *Oracle) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	o.rank = randomRanks(o.rank, b.Len(), r)
	if gain := o.gain(); gain != nil {
		o.n = equalGroups(o.n, b.Len(), o.low())
		greedy(o.n, (o.g-o.low())*b.Len(), o.max, gain, o.rank)
	} else {
		total := o.g * b.Len()
		o.n = allocate(o.values(min(o.max, total)), total, o.rank)
	}
	return askGroups(ask, o.n)
}

// gain returns what the rollout after n adds to prompt i, for the objectives
// that are concave; nil for the others.
func (o *Oracle) gain() func(i, n int) float64 {
	switch o.objective {
	case oracleHits:
		return func(i, n int) float64 {
			p := o.p[i]
			if p > o.hard {
				p = 0
			}
			return orEven(p*math.Pow(1-p, float64(n)), n)
		}
	case oracleGradient:
		return func(i, n int) float64 { return orEven(RLOOVariance(o.p[i], n)-RLOOVariance(o.p[i], n+1), n) }
	}
	return nil
}

// values returns what 0 to most rollouts of every prompt are worth; prompts of
// equal p share a slice.
func (o *Oracle) values(most int) [][]float64 {
	value := make([][]float64, len(o.p))
	known := map[float64][]float64{}
	for i, p := range o.p {
		if known[p] == nil {
			known[p] = o.worth(p, most)
		}
		value[i] = known[p]
	}
	return value
}

// worth returns what 0 to most rollouts of a prompt are worth.
func (o *Oracle) worth(p float64, most int) []float64 {
	if o.objective == oracleEffective {
		worth := make([]float64, most+1)
		for n := range worth {
			worth[n] = EffectiveProbability(p, n)
		}
		return worth
	}
	worth := ExpectedSignal(p, most)
	if o.objective == oracleProgress {
		for n := range worth {
			worth[n] *= distributions.Level(p)
		}
	}
	return worth
}

// Update implements Strategy: every group is trained on.
func (o *Oracle) Update() Update { return Update{} }

// ExpectedSignal returns E[n sigma_n] for n = 0 to most: sigma_n is the
// standard deviation, ddof 0, of n rewards in {-1, 1} of a prompt with success
// probability p in [0, 1], so that n sigma_n = 2 sqrt(s(n-s)) with s binomial.
// It takes time O(most^2).
func ExpectedSignal(p float64, most int) []float64 {
	root := make([]float64, most+1)
	for s := range root {
		root[s] = math.Sqrt(float64(s))
	}
	signal := make([]float64, most+1)
	law := make([]float64, most+1) // of s, after n rollouts
	law[0] = 1
	for n := 1; n <= most; n++ {
		for s := n; s > 0; s-- {
			law[s] = law[s]*(1-p) + law[s-1]*p
			signal[n] += law[s] * 2 * root[s] * root[n-s]
		}
		law[0] *= 1 - p
	}
	return signal
}

// RLOOVariance returns the variance of k(n-k)/(n(n-1)), k binomial(n, p), n >= 2
// and p in [0, 1]: the RLOO estimate of the gradient of p in the one logit of a
// prompt, rewards in {0, 1}. With v = p(1-p) it is v(1-4v)/n + 2v^2/(n(n-1)),
// convex in n, and 0 for p = 0 and p = 1. (The variance of a sample variance;
// with central fourth moment v(1-3v) it is (v(1-3v) - (n-3)/(n-1) v^2)/n.)
func RLOOVariance(p float64, n int) float64 {
	v, m := p*(1-p), float64(n)
	return v*(1-4*v)/m + 2*v*v/(m*(m-1))
}
