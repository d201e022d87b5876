package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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
// best possible choice of groups of at most max rollouts for a stated objective.
//
//	signal             largest sum of E[G sigma_G]         ExpectedSignal
//	progress           largest sum of u E[G sigma_G]       u = 4p(1-p)
//	effective          largest sum of 1 - p^G - (1-p)^G    0 for G = 0
//	hits               largest sum of 1 - (1-p)^G          over prompts with p <= hard
//	gradient-variance  least sum of Var(RLOO), G >= 2      RLOOVariance
//
// With prompts=batch it spreads g rollouts a prompt over the prompts of its
// batch. With prompts=set it spreads as many over the whole prompt set, where
// a prompt may get none. Either way a step spends exactly g rollouts for each
// of the B groups of the batch, or max for every prompt of a set that can take
// no more; what nobody can use is spent all the same. Between equal choices a
// random order decides, which takes p for equal to 1-p wherever the objective
// does.
//
// What is a theorem: of all choices of groups of at most max made before the
// rewards of the step are seen, with as many rollouts, none has a higher
// expectation. What is not: a strategy that looks at rewards between the rounds
// of a step, and stops where a group is mixed or a prompt is hit, is no such
// choice, nor is one that spends fewer rollouts a step and is judged by what
// each buys (GRESO passes so, in effective groups, where the set is one batch),
// nor one that leaves groups out of the update, weighs them, or trains on
// rollouts of earlier steps. Nor does the best of every step make the best run
// where success probabilities move with training. And prompts=batch is no bar
// for strategies that pick prompts from the set.
//
// Gradient-variance has no prompts=set: what is estimated is the mean over the
// set, and a prompt without rollouts is missing from it, which is bias, not
// variance.
//
// Without max one prompt would take everything; 128 is the largest cap of a
// published strategy (Knapsack, Reinforce-Ada).
//
// # Why it is exact
//
// Hits and gradient-variance are concave in G, so the largest gain first is
// exact (greedy). Effective groups are worth nothing before the second rollout
// (mixedGroups). Signal and progress are neither concave nor convex:
// E[G sigma_G]/G rises with G, so that groups as large as max pay best, but at p
// = 1/2 the fourth rollout adds less (1.111) than the third (1.121). A dynamic
// program finds the best (allocate) among the prompts that can matter (likely).
type Oracle struct {
	g, max    int
	objective string
	hard      float64
	set       bool // prompts=set
	spec      string

	batch int
	p     []float64
	q     []float64 // the rarer outcome's probability, by rarer
	n     []int
	rank  []int
}

var (
	_ Budgeter  = (*Oracle)(nil)
	_ TruthSeer = (*Oracle)(nil)
)

// Whose prompts the oracle chooses among.
const (
	oracleBatch = "batch"
	oracleSet   = "set"
)

var oracleKind = kind{
	info: Info{
		Name: "oracle",
		Parameters: []Parameter{
			{"objective", oracleSignal, "signal, progress, effective, hits, gradient-variance", "what the groups are best for"},
			{"g", "8", "a whole number in [1, max], from 2 for gradient-variance", "rollouts a prompt of the batch on average"},
			{"max", "128", fmt.Sprintf("a whole number in [1, %d]", oracleMost), "rollouts that a prompt gets at most"},
			{"hard", "0.2", "[0, 1]", "largest success probability of the prompts whose hits count"},
			{"prompts", oracleBatch, "batch, set; batch for gradient-variance", "choose among the prompts of the batch, or of the whole prompt set"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true, Truth: true},
		Provenance:   "own",
		Source:       "the best choice before rewards are seen, by definition",
		Taxonomy:     budgetsBefore,
	},
	parse:    parseOracle,
	spending: func(g, _ int) string { return Oracles(g, 0.2)[0] },
}

// Oracles returns the specs of the oracle for every objective that a group of
// g >= 1 rollouts a prompt on average allows: over the whole prompt set, and
// over the batch where only that makes sense. Hits count for prompts with p <=
// hard, in [0, 1].
func Oracles(g int, hard float64) []string {
	g = min(g, oracleMost)
	var specs []string
	for _, objective := range []string{oracleSignal, oracleProgress, oracleEffective, oracleHits, oracleGradient} {
		text := fmt.Sprintf("oracle:objective=%s,g=%d,max=%d", objective, g, min(16*g, oracleMost))
		switch {
		case objective != oracleGradient:
			text += ",prompts=" + oracleSet
		case g < 2:
			continue
		}
		if objective == oracleHits {
			text += ",hard=" + spec.FormatFloat(hard)
		}
		specs = append(specs, text)
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
		set:       a.Choice("prompts", oracleBatch, oracleBatch, oracleSet) == oracleSet,
	}
	if o.g > o.max {
		a.Fault("g", o.g, fmt.Sprintf("at most max = %d", o.max))
	}
	if o.g < o.low() {
		a.Fault("g", o.g, "at least 2 for objective=gradient-variance")
	}
	if o.set && o.objective == oracleGradient {
		a.Fault("prompts", oracleSet, "batch for objective=gradient-variance: prompts left out of the mean over the set are bias, not variance")
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
func (o *Oracle) Capabilities() Capabilities {
	c := oracleKind.info.Capabilities
	c.PicksPrompts = o.set
	return c
}

// Start implements Strategy; any batch will do.
func (o *Oracle) Start(batch int) error {
	o.batch = batch
	return nil
}

// SeeTruth implements TruthSeer.
func (o *Oracle) SeeTruth(p []float64) {
	o.p = append(o.p[:0], p...)
	o.q = o.q[:0]
	for _, p := range p {
		o.q = append(o.q, rarer(p))
	}
}

// rarer returns the least success probability whose variance is that of p, the
// same number for s/n and (n-s)/n: min(p, 1-p) to within rounding, but near 1/2,
// where errors of 1e-8 leave p(1-p) and all that is smooth in it what it is.
func rarer(p float64) float64 {
	u := distributions.Level(p)
	return u / 2 / (1 + math.Sqrt(1-u))
}

// Budget implements Budgeter. A set of fewer than batch*g/max prompts cannot
// take it all.
func (o *Oracle) Budget(batch int) int { return o.g * batch }

// Next asks the whole allocation at once.
func (o *Oracle) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	o.rank = randomRanks(o.rank, len(o.p), r)
	o.n = equalGroups(o.n, len(o.p), 0)
	o.choose(min(o.g*o.batch, o.max*len(o.p)))
	if !o.set {
		return askGroups(ask, o.n)
	}
	for id, n := range o.n {
		if n > 0 {
			ask = append(ask, rollout.Request{X: b.Set.Admit(id), N: n})
		}
	}
	return ask
}

// choose raises n from nothing to the best numbers with sum total.
func (o *Oracle) choose(total int) {
	switch o.objective {
	case oracleHits:
		greedy(o.n, total, o.max, o.hitGain, o.rank)
	case oracleGradient:
		o.n = equalGroups(o.n, len(o.p), o.low())
		greedy(o.n, total-o.low()*len(o.p), o.max, o.varianceGain, o.rank)
	case oracleEffective:
		mixedGroups(o.n, o.q, total, o.max, o.rank)
	default:
		likely := o.likely(total)
		n := allocate(o.values(likely, min(o.max, total)), total, inOrder(len(likely)))
		for k, i := range likely {
			o.n[i] = n[k]
		}
	}
}

// hitGain returns what the rollout after n adds to the hits of prompt i.
func (o *Oracle) hitGain(i, n int) float64 {
	p := o.p[i]
	if p > o.hard {
		p = 0
	}
	return orEven(p*math.Pow(1-p, float64(n)), n)
}

// varianceGain returns what the rollout after n >= 2 takes off the variance of
// prompt i.
func (o *Oracle) varianceGain(i, n int) float64 {
	return orEven(RLOOVariance(o.p[i], n)-RLOOVariance(o.p[i], n+1), n)
}

// likely returns prompts among which a best choice of total rollouts for the
// signal or the progress is found: those of the largest u = 4p(1-p), ties in
// random order, floor(2 total/(max+1)) of them and at least one.
//
// Let V(n) be what n rollouts of a prompt are worth. V(n)/n does not fall with
// n: the mean of n rewards averages over those of n-1 of them, and sigma is
// concave in the mean (for progress V is multiplied by u). For every n, V(n)
// does not fall with u either: E[sqrt(s(n-s))] is the Bernstein polynomial in p
// of a concave function symmetric about 1/2, hence such a function itself.
//
// Where two prompts have n1 and n2 rollouts, n1+n2 <= max, the one of the larger
// u may have all: V(n1+n2) = (n1+n2) V(n1+n2)/(n1+n2) >= V(n1) + V(n2), and the
// other one's share was worth no more than its own. So some best choice has
// n1+n2 >= max+1 for any two of its k prompts. Summed around a circle of all k
// >= 2 that is 2 total >= k (max+1). And a prompt left out whose u is larger than
// that of one taken may have its place.
func (o *Oracle) likely(total int) []int {
	prompts := inOrder(len(o.p))
	slices.SortFunc(prompts, func(a, b int) int {
		return cmp.Or(cmp.Compare(o.q[b], o.q[a]), cmp.Compare(o.rank[a], o.rank[b]))
	})
	return prompts[:min(len(prompts), max(1, 2*total/(o.max+1)))]
}

// values returns what 0 to most rollouts of the prompts are worth; prompts of
// equal variance share a slice.
func (o *Oracle) values(prompts []int, most int) [][]float64 {
	value := make([][]float64, len(prompts))
	for k, i := range prompts {
		if k > 0 && o.q[i] == o.q[prompts[k-1]] {
			value[k] = value[k-1]
			continue
		}
		value[k] = ExpectedSignal(o.q[i], most)
		if o.objective == oracleProgress {
			for n := range value[k] {
				value[k][n] *= distributions.Level(o.p[i])
			}
		}
	}
	return value
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
