package verify

import (
	"context"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/train"
	"vigorlab/theory"
)

// PredictorNames names the predictors of a ratio of rollouts to target: the mean
// field's eta on the initial prompts to three exponents, whatever the aggregation
// and the estimator; first-order progress on the initial prompts, and the path of
// training's mean field, both of the aggregation and estimator at hand.
var PredictorNames = []string{"eta^(1/3)", "eta^(1/2)", "eta", "progress", "path"}

// The places of predictors that are asked by name.
const (
	progressAt = 3
	pathAt     = 4
)

// A forecastKey says what a forecast is of.
type forecastKey struct{ population, estimator, strategy string }

// A forecast is what theory foretells of a strategy's rollouts to target.
type forecast struct {
	levels   []float64 // by the path: rollouts to every level, in theory.Arrival's units
	progress float64   // theory.Training.Progress
	eta      float64   // NaN for fixed groups

	reference *forecast // of the reference on the same prompts
}

// ratios returns the predicted ratios to the reference, by predictor: all nil
// where there is no forecast.
func (f *forecast) ratios() []*float64 {
	r := make([]*float64, len(PredictorNames))
	if f == nil {
		return r
	}
	if !math.IsNaN(f.eta) {
		for i, x := range theory.Exponents() {
			r[i] = number(theory.Speedup(f.eta, x.Value))
		}
	}
	r[progressAt] = number(f.progress / f.reference.progress)
	r[pathAt] = number(f.path(len(f.levels) - 1))
	return r
}

// path returns the path's ratio at a level.
func (f *forecast) path(level int) float64 { return f.reference.levels[level] / f.levels[level] }

// foretell returns the forecasts of every strategy that has a theory. They know
// nothing of what prompts share: those of linked worlds are those of tabular ones.
func (s slice) foretell(ctx context.Context, e *env, worlds []world) (map[forecastKey]*forecast, error) {
	var keys []forecastKey
	var levels [][]float64
	for _, w := range worlds {
		if w.policy == tabular {
			for _, name := range []string{reference, vigorPlan, vigorTwo, "fixed:g=2", "fixed:g=16"} {
				keys, levels = append(keys, forecastKey{w.population, w.estimator, name}), append(levels, w.levels)
			}
		}
	}
	all := map[forecastKey]*forecast{}
	err := sim.InOrder(ctx, e.cfg.Workers, len(keys),
		func() (func(context.Context, int) (*forecast, error), error) {
			return func(_ context.Context, i int) (*forecast, error) { return s.forecast(keys[i], levels[i]) }, nil
		},
		func(i int, f *forecast) error {
			all[keys[i]] = f
			return nil
		})
	for k, f := range all {
		k.strategy = reference
		f.reference = all[k]
	}
	return all, err
}

// forecast foretells one strategy.
func (s slice) forecast(k forecastKey, levels []float64) (*forecast, error) {
	l, err := rewarding(k.population)
	if err != nil {
		return nil, err
	}
	t, err := training(trainingStart(l), k.strategy, k.estimator, s.aggregate)
	if err != nil {
		return nil, err
	}
	arrivals, err := t.Arrivals(levels...)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", k.strategy, k.population, err)
	}
	f := &forecast{eta: math.NaN()}
	for _, a := range arrivals {
		f.levels = append(f.levels, a.Rollouts)
	}
	if f.progress, err = t.Progress(); err != nil {
		return nil, err
	}
	if t.Vigor != nil {
		field, err := theory.VigorMeanField(l, *t.Vigor, frontier, theory.DefaultNodes)
		if err != nil {
			return nil, err
		}
		f.eta = field.Eta
	}
	return f, nil
}

// training returns the mean field of training of VIGOR or fixed groups.
func training(start []distributions.Node, strategy, estimator, aggregate string) (theory.Training, error) {
	t := theory.Training{Start: start, PromptMean: aggregate == sim.AggregatePrompt}
	e, err := train.NewEstimator(estimator)
	if err != nil {
		return t, err
	}
	t.Gain = func(n, s int) float64 {
		g, err := advantage.OneLogitEstimate(e, n, s)
		if err != nil {
			return math.NaN()
		}
		return g
	}
	t.Vigor, t.Group, err = parsePlan(strategy)
	return t, err
}
