package train

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/combin"

	"vigorlab/distributions/spec"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// nested is Nested-ReFT (arXiv 2508.10123), a reconstruction: only the abstract
// could be read (strategies/systems.md, section 2). Cheaper answers come from the
// policy without some of its layers, and the full policy learns from them.
//
// At every step ceil(skip L) of the L layers are skipped, never the first or the
// last, redrawn with equal chances; mu is the policy without them. A rollout is
// weighted by w = pi/mu of the whole outcome, pi the full policy before the
// update (weight=importance), by min(1, w) (truncated) or not at all (none).
// Ratios that objectives clip are those to pi. Rewards are compared by the
// objective's estimator, which knows nothing of weights (baseline=raw), or with
// the mean reward under the loss's weights, sum w r/sum w, without any division
// (weighted): that replaces the estimator. A strategy's own baseline stays.
//
// A rollout costs (L-s)/L where s layers are skipped. Weights take one pass of
// the full policy over every trained rollout, which costs pass each, in full
// rollouts: 0.1 by default, ours, since tokens are read together and written one
// by one. Without weights there is none.
//
// For a fixed baseline b, E_mu[w (r-b) grad log pi] = grad J: unbiased for every
// set of layers. See NestedGradient and Skipping for what is exactly known.
type nested struct {
	spec             string
	skip             schedule.Ratio
	weight, baseline string
	pass             float64

	policy  Layered
	updater *Updater
	key     stream.Key
	skipped int
}

// nestedKind describes nested.
var nestedKind = systemKind{
	read: readNested,
	info: SystemInfo{
		Name: "nested-reft",
		Parameters: []strategy.Parameter{
			{Name: "skip", Default: "0.1", Range: "[0, 1)", Doc: "share of the layers that are skipped, rounded up; never the first or the last"},
			{Name: "weight", Default: weightImportance, Range: "importance | truncated | none", Doc: "what advantages are multiplied by: w = pi/mu, min(1, w) or 1"},
			{Name: "baseline", Default: baselineRaw, Range: "raw | weighted", Doc: "the estimator, which knows no weights, or the mean reward under the weights in its place"},
			{Name: "pass", Default: "0.1", Range: "x >= 0", Doc: "cost of the full policy's pass over a trained rollout, in full rollouts (ours)"},
		},
		Diagnostics: []Figure{
			{"chi_square", "χ^{2} of π to μ, mean of groups", "chi^2(pi || mu) of the step's groups, exact, their mean"},
			{"max_weight", "largest π/μ of an outcome", "the largest pi/mu of an outcome of the step's groups"},
		},
		Provenance: "reconstruction",
		Source:     "Nested-ReFT, arXiv 2508.10123: only the abstract could be read, the rest is our own derivation",
		Taxonomy:   strategy.PlacedByTaxonomy(strategy.LeverSystem, strategy.FamilyResources, "A, B", strategy.PaidDuring),
	},
}

const (
	weightImportance = "importance"
	weightTruncated  = "truncated"
	weightNone       = "none"

	baselineRaw      = "raw"
	baselineWeighted = "weighted"
)

func readNested(a *spec.Args) (System, error) {
	n := &nested{skip: readSkip(a)}
	n.weight = a.Choice("weight", weightImportance, weightImportance, weightTruncated, weightNone)
	n.baseline = a.Choice("baseline", baselineRaw, baselineRaw, baselineWeighted)
	if n.weight == weightNone && n.baseline == baselineWeighted {
		a.Fault("baseline", n.baseline, "raw where weight=none: there is nothing to weight by")
	}
	n.pass = a.Float("pass", 0.1, "a number >= 0", func(x float64) bool { return x >= 0 })
	n.spec = normal(a)
	return n, a.Err()
}

// readSkip reads a share of the layers, kept as it was typed, so that 0.07 of
// 100 layers are 7.
func readSkip(a *spec.Args) schedule.Ratio {
	const want = "a decimal or a fraction in [0, 1)"
	text, given := a.Text("skip")
	if !given {
		text = "0.1"
	}
	r, err := schedule.ParseRatio(text)
	if err != nil || !(r.Float() >= 0 && r.Float() < 1) {
		a.Fault("skip", text, want)
		return r
	}
	a.Keep("skip", r.String())
	return r
}

func (n *nested) Spec() string { return n.spec }

func (n *nested) Begin(p Policy, u *Updater, key stream.Key) error {
	layered, ok := p.(Layered)
	if !ok {
		return fmt.Errorf("nested-reft: %s has no layers to skip, want a policy such as layered:layers=8", p.Spec())
	}
	layers := len(layered.Skipped())
	n.policy, n.updater, n.key, n.skipped = layered, u, key, n.skip.Ceil(layers)
	if inner := max(0, layers-2); n.skipped > inner {
		return fmt.Errorf("nested-reft: skip = %v is %d of %d layers, want at most %d, since the first and the last are never skipped; give the policy more layers or skip fewer", n.skip, n.skipped, layers, inner)
	}
	return nil
}

// Answer skips the layers of a step's set.
func (n *nested) Answer(step int, read func() error) error {
	if n.skipped > 0 {
		r := stream.Rand(n.key.With(uint64(step)).Named("skip"))
		for _, l := range r.Perm(len(n.policy.Skipped()) - 2)[:n.skipped] {
			n.policy.Skipped()[l+1] = true
		}
	}
	defer clear(n.policy.Skipped())
	return read()
}

func (n *nested) Learn(s *Step) error {
	layers, trained := len(n.policy.Skipped()), 0
	before := snapshot(n.policy, s.Groups)
	for i := range s.Groups {
		g := &s.Groups[i]
		size, _ := size(n.policy.Outcomes(g.X), g.Counts)
		trained += size
		n.weigh(g, before(g.X), s.Old(g.X))
	}
	s.Report(n.distance(s.Groups, before, s.Old)...)
	s.Price = float64(layers-n.skipped) / float64(layers)
	if n.weight != weightNone {
		s.Charge(0, 0, n.pass*float64(trained))
	}
	return n.updater.Update(s.Groups, before)
}

// distance returns the diagnostics of a step, 0 and 1 where it has no groups.
func (n *nested) distance(groups []Group, pi, mu func(x int) []float64) []Diagnostic {
	mean, most := 0.0, 1.0
	for i := range groups {
		outcomes := n.policy.Outcomes(groups[i].X)
		p := Probabilities(nil, outcomes, pi(groups[i].X))
		q := Probabilities(nil, outcomes, mu(groups[i].X))
		mean += ChiSquare(p, q) / float64(len(groups))
		for k := range p {
			most = max(most, p[k]/q[k])
		}
	}
	return []Diagnostic{{"chi_square", mean}, {"max_weight", most}}
}

// weigh sets a group's weights and baseline, from the token log probabilities of
// the policy and of the one that answered.
func (n *nested) weigh(g *Group, pi, mu []float64) {
	if n.weight == weightNone {
		return
	}
	outcomes := n.policy.Outcomes(g.X)
	g.Factors = ratios(nil, g, outcomes, pi, mu)
	if n.weight == weightTruncated {
		for k, w := range g.Factors {
			g.Factors[k] = min(1, w)
		}
	}
	if n.baseline == baselineWeighted && math.IsNaN(g.Baseline) {
		g.Baseline = weightedMean(g, outcomes)
	}
}

// weightedMean returns the mean reward of a group under its factors, NaN where
// all of them are 0.
func weightedMean(g *Group, outcomes []Outcome) float64 {
	sum, total := 0.0, 0.0
	for k, c := range g.Counts {
		w := g.Factors[k] * float64(c)
		total += w
		if outcomes[k].Correct {
			sum += w
		}
	}
	return sum / total
}

// NestedGradient returns the exact mean gradient that nested-reft of the given
// spec takes from a group of size rollouts of prompt x, answered by the policy
// without the layers that skipped names, where the policy stands, under an
// objective without KL: by enumeration of all groups, of which there are
// binomial(size+K-1, K-1) for K outcomes. baseline replaces the estimator unless
// it is NaN.
//
// With importance weights (strategies/systems.md, section 2; all exact):
//
//   - A fixed baseline gives grad J, the gradient of the success probability.
//   - The raw group mean, which includes the sample (drgrpo), gives
//     (size-1)/size grad J, whatever mu is.
//   - The weighted mean and a division by the group's standard deviation give
//     factors that depend on pi and mu, and with more than two outcomes other
//     directions too.
func NestedGradient(p Layered, system string, o Objective, x, size int, skipped []int, baseline float64) ([]float64, error) {
	s, err := NewSystem(system)
	n, ok := s.(*nested)
	if !ok {
		return nil, errors.Join(err, fmt.Errorf("system = %q, want nested-reft", system))
	}
	if o.KL != 0 {
		return nil, fmt.Errorf("kl = %v, want 0", o.KL)
	}
	if size < 1 || !(x >= 0 && x < p.Prompts()) {
		return nil, fmt.Errorf("prompt %d and size %d, want a prompt in [0, %d) and a size of at least 1", x, size, p.Prompts())
	}
	u, err := NewUpdater(p, o, nil)
	if err != nil {
		return nil, err
	}
	n.policy = p
	pi := p.LogProbs(nil, x)
	mu, err := without(p, x, skipped)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, len(p.Parameters()))
	grad := make([]float64, len(mean))
	eachGroup(Probabilities(nil, p.Outcomes(x), mu), size, func(counts []int, chance float64) {
		g := Group{X: x, Counts: counts, Weight: 1, Baseline: baseline}
		n.weigh(&g, pi, mu)
		clear(grad)
		if _, failed := u.gradient(grad, []Group{g}, func(int) []float64 { return pi }); failed != nil {
			err = failed
		}
		for i := range grad {
			mean[i] += chance * grad[i]
		}
	})
	return mean, err
}

// without returns the token log probabilities of prompt x without some layers.
func without(p Layered, x int, skipped []int) ([]float64, error) {
	layers := p.Skipped()
	defer clear(layers)
	for _, l := range skipped {
		if l < 0 || l >= len(layers) {
			return nil, fmt.Errorf("layer %d is skipped, want a number in [0, %d)", l, len(layers))
		}
		layers[l] = true
	}
	return p.LogProbs(nil, x), nil
}

// A SkipReport says what skipping layers costs and saves, exactly. Means are over
// the trained prompts and over all sets of layers that may be skipped.
type SkipReport struct {
	Layers, Skipped int
	ChiSquare       float64 // mean of chi^2(pi || mu)
	// Moment is the mean of E_mu[w^2 (r-p)^2 ||S||^2] over that of
	// E_pi[(r-p)^2 ||S||^2]: what weights do to the second moment of the gradient.
	// S is the score by the logits. It is at most MaxWeight, the largest w.
	Moment, MaxWeight float64
	// Speed is the cost of a full rollout over that of one with its pass,
	// 1/((L-s)/L + pass).
	Speed float64
	// Efficiency is Speed/(1+ChiSquare): effective rollouts at the price of one.
	// It takes 1+chi^2 for the inflation of every variance, which holds for
	// statistics whose square does not go with w; Speed/Moment is the gradient's.
	Efficiency, GradientEfficiency float64
}

// Skipping works out what it costs the policy, as it stands, to answer without
// skipped of its layers, with importance weights whose pass costs pass full
// rollouts. It fails where that many cannot be skipped, and where there are more
// than 10^5 sets of them.
func Skipping(p Layered, skipped int, pass float64) (SkipReport, error) {
	layers := len(p.Skipped())
	inner := max(0, layers-2)
	if skipped < 0 || skipped > inner || !(pass >= 0) {
		return SkipReport{}, fmt.Errorf("skipped = %d and pass = %v, want skipped in [0, %d], since the first and the last layer are never skipped, and pass of at least 0", skipped, pass, inner)
	}
	const most = 1e5
	if sets := combin.GeneralizedBinomial(float64(inner), float64(skipped)); sets > most {
		return SkipReport{}, fmt.Errorf("skipped = %d of %d layers in %.3g ways, want at most %g", skipped, layers, sets, most)
	}
	r := SkipReport{Layers: layers, Skipped: skipped}
	sets, on, off := 0.0, 0.0, 0.0
	for x := range p.Prompts() {
		pi := Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
		eachSet(inner, skipped, func(set []int) {
			logp, _ := without(p, x, set)
			mu := Probabilities(nil, p.Outcomes(x), logp)
			sets++
			r.ChiSquare += ChiSquare(pi, mu)
			for k, m := range secondMoments(p.Outcomes(x), pi) {
				w := pi[k] / mu[k]
				on += m
				off += w * m
				r.MaxWeight = max(r.MaxWeight, w)
			}
		})
	}
	r.ChiSquare /= sets
	r.Moment = off / on
	r.Speed = 1 / (float64(layers-skipped)/float64(layers) + pass)
	r.Efficiency, r.GradientEfficiency = r.Speed/(1+r.ChiSquare), r.Speed/r.Moment
	return r, nil
}

// eachSet calls f with every set of so many inner layers, numbered from 1.
func eachSet(inner, skipped int, f func(set []int)) {
	if skipped == 0 {
		f(nil)
		return
	}
	for g := combin.NewCombinationGenerator(inner, skipped); g.Next(); {
		set := g.Combination(nil)
		for i := range set {
			set[i]++
		}
		f(set)
	}
}

// secondMoments returns every outcome's part of E_pi[(r-p)^2 ||S||^2], where S is
// its score by logits of the outcomes, e_k - pi.
func secondMoments(outcomes []Outcome, pi []float64) []float64 {
	p, square := success(outcomes, pi), 0.0
	for _, q := range pi {
		square += q * q
	}
	m := make([]float64, len(pi))
	for k, o := range outcomes {
		d := p
		if o.Correct {
			d = 1 - p
		}
		m[k] = pi[k] * d * d * (1 - 2*pi[k] + square)
	}
	return m
}

// SkipCrossing returns the report of the fewest skipped layers at which
// Efficiency falls below 1 without any pass, and false where it never does. A
// pass can make few skipped layers lose where more of them win.
func SkipCrossing(p Layered) (SkipReport, bool, error) {
	for skipped := 1; skipped <= len(p.Skipped())-2; skipped++ {
		r, err := Skipping(p, skipped, 0)
		if err != nil || r.Efficiency < 1 {
			return r, err == nil, err
		}
	}
	return SkipReport{}, false, nil
}
