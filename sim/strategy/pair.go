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

// Pair finishes each of n rollouts of a prompt with an inclusion probability that
// is settled before any reward is seen, and weights pairs of finished ones by
// their joint probability (PAIR, arXiv 2608.11368). It is a reconstruction of
// the design and the weights from the abstract and notes (systems.md, section
// 4), not the published algorithm, which decides after a prefix of every
// rollout: worlds of counts have no prefixes, so that all rollouts of a prompt
// share one probability pi, predicted by the prompt's history, and prefixes cost
// nothing. n, g and min were not stated there and have no default.
//
// The prediction p is the posterior mean, under a uniform prior, of all earlier
// rollouts of the prompt, and c their mean length (that of all prompts where
// there is none, 1 where lengths are unknown). design=pair minimises, over pi in
// [min, 1] with sum n pi c = g sum c,
//
//	sum p(1-p) (1/2 (1/pi^2 - 1) + (n-2)/4 (1/pi - 1)) ,
//
// up to a factor the variance that the design adds to the mean over all pairs,
// for scores of unit variance that are independent of rewards and of each other;
// the notes' cost regulariser is left out. design=pointwise takes pi
// proportional to sqrt(p(1-p)), design=uniform g/n. Then the finished m of every
// prompt are binomial.
//
// A finished rollout of a group of m has the loss weight (m-1)/((n-1) pi^2)
// (weights=joint): where groups weigh by their rollouts, the sum over the batch
// is then n times the mean over all n(n-1)/2 pairs in expectation, for
// advantages that compare with the mean of the others (RLOO). weights=marginal
// has 1/pi in place of 1/pi^2, weights=none 1 for all: both are biased. Standard
// deviations, clipping and a division by the weights' sum are outside the
// theorem.
type Pair struct {
	spec            string
	n, g            int
	least           float64
	design, weights string

	past    []pairHistory // by prompt of the set
	p, cost []float64     // predicted
	pi      []float64
	weight  []float64
}

// A pairHistory is the evidence on a prompt.
type pairHistory struct{ n, s, tokens int }

var (
	_ Learner  = (*Pair)(nil)
	_ Believer = (*Pair)(nil)
)

// The designs and weights of Pair.
const (
	designPair      = "pair"
	designPointwise = "pointwise"
	designUniform   = "uniform"
	weightsJoint    = "joint"
	weightsMarginal = "marginal"
	weightsNone     = "none"
)

var pairKind = kind{
	info: Info{
		Name: "pair",
		Parameters: []Parameter{
			{"n", "", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts of a prompt that may be finished; not stated in the notes"},
			{"g", "", "a whole number in [1, n]", "finished ones a prompt on average; not stated in the notes"},
			{"min", "", "(0, g/n]", "inclusion probability at least; not stated in the notes"},
			{"design", designPair, "pair, pointwise, uniform", "how inclusion probabilities follow predictions"},
			{"weights", weightsJoint, "joint, marginal, none", "what pairs of finished rollouts are weighted by"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, ChangesLoss: true},
		Provenance:   "reconstruction",
		Source:       "PAIR, arXiv 2608.11368, its inclusion design and weights, from its abstract and notes; prompts in place of prefixes are ours",
		Taxonomy:     PlacedByTaxonomy(LeverBoth, FamilyPartial, "B, C", PaidDuring),
	},
	parse: parsePair,
	spending: func(g, _ int) string { // n and min are our choice
		return fmt.Sprintf("pair:n=%d,g=%d,min=0.1", min(max(2, 2*g), schedule.MaxGroup), g)
	},
}

func parsePair(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	p := &Pair{n: needInt(a, "n", 2, schedule.MaxGroup)}
	p.g = needIntUpTo(a, "g", 1, "n", p.n)
	p.least = needFloat(a, "min", "(0, g/n]", func(x float64) bool { return x > 0 && x <= float64(p.g)/float64(p.n) })
	p.design = a.Choice("design", designPair, designPair, designPointwise, designUniform)
	p.weights = a.Choice("weights", weightsJoint, weightsJoint, weightsMarginal, weightsNone)
	if err := a.Err(); err != nil {
		return nil, err
	}
	p.spec = a.Normal().String()
	return p, nil
}

// Spec implements Strategy.
func (p *Pair) Spec() string { return p.spec }

// Capabilities implements Strategy.
func (p *Pair) Capabilities() Capabilities { return pairKind.info.Capabilities }

// Begin implements Learner.
func (p *Pair) Begin(prompts int) { p.past = make([]pairHistory, prompts) }

// Start implements Strategy; any batch will do.
func (p *Pair) Start(int) error { return nil }

// Next settles the inclusion probabilities and asks the rollouts that they
// finish, once.
func (p *Pair) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	p.predict(b)
	p.pi = Inclusion(p.design, p.p, p.cost, p.n, float64(p.g), p.least, p.pi[:0])
	p.weight = p.weight[:0]
	for x, pi := range p.pi {
		m := 0
		for range p.n {
			if r.Float64() < pi {
				m++
			}
		}
		p.weight = append(p.weight, p.lossWeight(m, pi))
		if m > 0 {
			ask = append(ask, rollout.Request{X: x, N: m})
		}
	}
	return ask
}

// predict fills p and cost.
func (p *Pair) predict(b *rollout.Batch) {
	tokens, rollouts := 0, 0
	for _, h := range p.past {
		tokens, rollouts = tokens+h.tokens, rollouts+h.n
	}
	mean := 1.0
	if tokens > 0 {
		mean = float64(tokens) / float64(rollouts)
	}
	p.p, p.cost = p.p[:0], p.cost[:0]
	for _, id := range b.ID {
		h, cost := p.past[id], mean
		if h.tokens > 0 {
			cost = float64(h.tokens) / float64(h.n)
		}
		p.p, p.cost = append(p.p, h.mean()), append(p.cost, cost)
	}
}

// mean returns the posterior mean under a uniform prior.
func (h pairHistory) mean() float64 { return float64(1+h.s) / float64(2+h.n) }

// lossWeight returns that of a finished rollout in a group of m.
func (p *Pair) lossWeight(m int, pi float64) float64 {
	pairs := float64(max(0, m-1)) / float64(p.n-1)
	switch p.weights {
	case weightsJoint:
		return pairs / (pi * pi)
	case weightsMarginal:
		return pairs / pi
	}
	return 1
}

// Inclusion appends to pi the inclusion probabilities of prompts with predicted
// success probabilities p in (0, 1) and costs c > 0 a rollout (see Pair): each
// in [least, 1], with sum n pi c = g sum c. n >= 2, g in [least n, n]. The
// design is pair, pointwise or uniform.
func Inclusion(design string, p, c []float64, n int, g, least float64, pi []float64) []float64 {
	if design == designUniform {
		return append(pi, slices.Repeat([]float64{g / float64(n)}, len(p))...)
	}
	d := pairDesign{cost: c, n: n, least: least, pi: pi, at: len(pi), pointwise: design == designPointwise}
	d.pi = append(d.pi, p...)
	total, from, to := 0.0, math.Inf(1), math.Inf(-1)
	for i, p := range p {
		v := p * (1 - p)
		total += g * c[i]
		low, high := math.Log(least)-math.Log(v)/2, -math.Log(v)/2 // where pi is least, and 1
		if !d.pointwise {
			price := math.Log(c[i] / v)
			low, high = price-math.Log(slope(1/least, n)), price-math.Log(slope(1, n))
		}
		d.v = append(d.v, v)
		from, to = min(from, low), max(to, high)
	}
	waterline(from, to, total, d.fill)
	return d.pi
}

// A pairDesign fills inclusion probabilities from a level: the logarithm of what
// sqrt(p(1-p)) is multiplied by, or minus that of the price of a rollout.
type pairDesign struct {
	v, cost   []float64 // p(1-p), and the cost of a rollout
	n, at     int       // pi[at:] is filled
	least     float64
	pi        []float64
	pointwise bool
}

// fill sets the probabilities of a level and returns what they spend.
func (d *pairDesign) fill(level float64) (spend float64) {
	scale, price := math.Exp(level), math.Exp(-level)
	for i, v := range d.v {
		pi := scale * math.Sqrt(v)
		if !d.pointwise {
			pi = 1 / inverseSlope(price*d.cost[i]/v, d.n)
		}
		d.pi[d.at+i] = clip(pi, d.least, 1)
		spend += float64(d.n) * d.pi[d.at+i] * d.cost[i]
	}
	return spend
}

// slope returns x^3 + (n-2)/4 x^2: minus the slope of what a prompt adds to the
// variance, over p(1-p), at pi = 1/x.
func slope(x float64, n int) float64 { return x * x * (x + float64(n-2)/4) }

// inverseSlope returns the x > 0 of a slope > 0, by Newton's method from above,
// where the slope is convex and so falls to the root without passing it.
func inverseSlope(to float64, n int) float64 {
	b := float64(n-2) / 4
	x := math.Cbrt(to)
	if b > 0 {
		x = min(x, math.Sqrt(to/b))
	}
	for range 50 {
		next := x - (slope(x, n)-to)/(x*(3*x+2*b))
		if !(next < x) {
			return x
		}
		x = next
	}
	return x
}

// Update implements Strategy: every finished group is trained on.
func (p *Pair) Update() Update { return Update{Weights: p.weight} }

// Observe implements Learner.
func (p *Pair) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		h := &p.past[id]
		h.n += b.N[x]
		h.s += b.S[x]
		if b.Tokens != nil {
			h.tokens += b.Tokens[x]
		}
	}
}

// Belief implements Believer: the prediction for a prompt that had rollouts.
func (p *Pair) Belief(id int) (float64, bool) { return p.past[id].mean(), p.past[id].n > 0 }
