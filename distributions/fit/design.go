package fit

import (
	"context"
	"math"
	"math/rand/v2"
)

// How the numbers of rollouts, the sizes, of a table came about. The likelihood
// does not care: who gets a further rollout depends on outcomes seen before
// alone, so that prompts with s_i successes among n_i rollouts have the
// probability
//
//	prod_i p_i^s_i (1-p_i)^(n_i-s_i)
//
// times a factor free of every p_i, whatever the rule. Drawn counts do: given n,
// s is binomial only where outcomes had no say in n.
const (
	SizesBeforehand = "beforehand" // fixed before any outcome, as equal ones are taken to be
	SizesChosen     = "chosen"     // by a rule that saw outcomes, and that Options.Design follows again
	SizesUnknown    = "unknown"    // they differ, and nobody says why
)

// A Design draws the counts of a table again, sizes included, as they came about
// in the first place: p holds the success probability of every prompt and
// belongs to the bootstrap. It draws from r alone; goroutines share it.
type Design func(ctx context.Context, p []float64, r *rand.Rand) (*Counts, error)

// The tests of goodness of fit, both with the p-value of a parametric
// bootstrap. The first looks at successes given the sizes, so that these must
// be fixed beforehand; the second at likelihoods alone, but says nothing of
// NPMLE itself.
const (
	AndersonDarling = "anderson-darling" // A^2, over all prompts of as many rollouts
	Shortfall       = "npmle-shortfall"  // log-likelihood of the best law of all less that of the family's best
)

// Sizes says how the sizes of counts came about, as far as the options know.
func (o Options) Sizes(c *Counts) string {
	switch {
	case o.Design != nil:
		return SizesChosen
	case o.Beforehand || c.cells[0].N == c.cells[len(c.cells)-1].N:
		return SizesBeforehand
	}
	return SizesUnknown
}

// redrawing returns what draws counts by the design from an estimate, fits its
// family again and measures the shortfall.
func (o Options) redrawing(e *estimate, prompts int) func(ctx context.Context, r *rand.Rand) (replicate, error) {
	draw, p := e.sampler(), make([]float64, prompts)
	return func(ctx context.Context, r *rand.Rand) (replicate, error) {
		for i := range p {
			p[i] = draw(r)
		}
		drawn, err := o.Design(ctx, p, r)
		if err != nil {
			return replicate{}, err
		}
		again, err := e.refit(whole, drawn)
		if err != nil {
			return replicate{}, err
		}
		short, err := shortfall(again, drawn)
		return replicate{estimate: again, distance: short, figures: again.figures()}, err
	}
}

// shortfall returns by how many nats an estimate is less likely than the best
// law of all, >= 0 but for the tolerance of a refit; NaN for that law itself.
func shortfall(e *estimate, c *Counts) (float64, error) {
	if e.family == nil {
		return math.NaN(), nil
	}
	best, err := nonparametric(c, rough)
	if err != nil {
		return math.NaN(), err
	}
	return best.logLik - e.logLik, nil
}

// sampler returns what draws success probabilities of the estimate.
func (e *estimate) sampler() func(r *rand.Rand) float64 {
	law, _, err := e.law()
	if err != nil { // a shape below 0
		return func(r *rand.Rand) float64 { return e.family.rand(e.theta, r) }
	}
	return law.Rand
}

// paretoRand draws p of the density proportional to u^(-shape-1) on [low, high],
// shape of any sign, by inversion of the distribution function of log(u/low).
func paretoRand(shape, low, high, hard float64, r *rand.Rand) float64 {
	v, span := r.Float64(), math.Log(high/low)
	x := v * span
	if math.Abs(shape*span) > 1e-12 {
		x = -math.Log1p(v*math.Expm1(-shape*span)) / shape
	}
	u := min(low*math.Exp(x), high)
	m := u / (2 * (1 + math.Sqrt(1-u))) // the branch m <= 1/2 of u = 4m(1-m)
	if r.Float64() < hard {
		return m
	}
	return 1 - m
}
