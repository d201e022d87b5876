package plan

import (
	"math"
	"strings"

	"vigorlab/sim"
	"vigorlab/theory"
)

// The objectives.
const (
	Signal           = "signal"
	Progress         = "progress"
	Effective        = "effective"
	GradientVariance = "gradient-variance"
)

// Objectives returns what can be gained, in a fixed order.
func Objectives() []string { return []string{Signal, Progress, Effective, GradientVariance} }

// Gains hold what a strategy has over fixed groups that spend as many rollouts,
// per rollout: 1 is no change, more is better. Where the groups of the update
// have weight w, their rollouts or 1 as the aggregation says (theory.md,
// section 4.3), they are ratios of
//
//	signal             E[w sigma]/E[w]
//	progress           E[w sigma u]/E[w], theory.md, section 4.6
//	effective          share of w in mixed groups
//	gradient-variance  1/theory.Noise: relative precision of the gradient
//	                   estimate
//
// A figure is NaN where the fixed groups have none.
type Gains struct{ Signal, Progress, Effective, GradientVariance float64 }

// Of returns the gain of an objective; an unknown one panics: Options.Validate
// has checked it.
func (g Gains) Of(objective string) float64 {
	switch objective {
	case Signal:
		return g.Signal
	case Progress:
		return g.Progress
	case Effective:
		return g.Effective
	case GradientVariance:
		return g.GradientVariance
	}
	panic("plan: no objective " + objective)
}

// words names an objective in a sentence.
func words(objective string) string {
	return map[string]string{
		Signal: "signal a rollout", Progress: "progress a rollout",
		Effective: "weight in mixed groups", GradientVariance: "gradient precision a rollout",
	}[objective]
}

// wordsPerSecond names an objective by the clock in a sentence.
func wordsPerSecond(objective string) string {
	return strings.TrimSuffix(words(objective), " a rollout") + " a second"
}

// over returns the ratios of g to other.
func (g Gains) over(other Gains) Gains {
	return Gains{
		ratio(g.Signal, other.Signal), ratio(g.Progress, other.Progress),
		ratio(g.Effective, other.Effective), ratio(g.GradientVariance, other.GradientVariance),
	}
}

// ratio returns x/y, NaN where y is not positive.
func ratio(x, y float64) float64 {
	if !(y > 0) {
		return math.NaN()
	}
	return x / y
}

// Both hold the gains under both aggregations.
type Both struct{ Rollout, Prompt Gains }

// Under returns the gains under an aggregation.
func (b Both) Under(aggregate string) Gains {
	if aggregate == sim.AggregatePrompt {
		return b.Prompt
	}
	return b.Rollout
}

// merits are the figures that gains are ratios of.
func merits(m *theory.MeanField, n theory.Noise) Both {
	return Both{
		Rollout: Gains{m.Signal, m.Progress, 1 - m.Ineffective, precision(n.Rollout)},
		Prompt:  Gains{m.SignalPromptMean, m.ProgressPromptMean, 1 - m.ZeroVarianceGroups, precision(n.Prompt)},
	}
}

// precision returns 1/noise, 0 where no rollouts are enough.
func precision(noise float64) float64 {
	if !(noise > 0) {
		return 0
	}
	return 1 / noise
}

func (b Both) over(other Both) Both {
	return Both{b.Rollout.over(other.Rollout), b.Prompt.over(other.Prompt)}
}
