package verify

import (
	"fmt"
	"strings"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

// A Prediction is what theory foretells of VIGOR on a population of bounded
// reward variance, in the limit of large batches, with the caps that no law
// can pass (theory.md, sections 3.1 and 4.6).
type Prediction struct {
	Population string  `json:"population"`
	Perfect    float64 `json:"perfect"`  // eta of perfect selection
	Noisy      float64 `json:"noisy"`    // eta of the real selection: the mean field
	Cap        float64 `json:"cap"`      // of eta, for any law
	LawCap     float64 `json:"law_cap"`  // of eta, for this law: 1/E[u]
	Progress   float64 `json:"progress"` // first-order progress per rollout, relative to the fixed group

	Speedups []SpeedupPrediction `json:"speedup"`
}

// A SpeedupPrediction is eta to one exponent.
type SpeedupPrediction struct {
	Exponent string  `json:"exponent"` // "1/3", "1/2", "1"
	Perfect  float64 `json:"perfect"`
	Noisy    float64 `json:"noisy"`
	Cap      float64 `json:"cap"` // the lower of the two caps
}

// predicted is a Prediction with the mean fields behind it.
type predicted struct {
	Prediction
	law   distributions.Law
	field *theory.MeanField
	fixed *theory.MeanField // the fixed group of the same mean size
}

// predict computes what the real algorithm does on a law, whatever v says of
// selection. It is an error where the law has no reward variance.
func predict(population string, l distributions.Law, v schedule.Vigor) (*predicted, error) {
	v.Select = schedule.SelectSample
	t, err := theory.Predict(theory.Input{
		Variance: l, Law: l, Vigor: &v, Batch: 1, // no figure of a finite batch is read
		Frontier: frontier, Nodes: theory.DefaultNodes,
	})
	if err != nil {
		return nil, err
	}
	p := &predicted{Prediction: Prediction{Population: population}, law: l, field: t.Field, fixed: t.Fixed}
	for _, f := range []struct {
		to   *float64
		from theory.Number
	}{
		{&p.Perfect, t.Eta.Law},
		{&p.Noisy, t.Eta.Noisy},
		{&p.Cap, t.Eta.Cap},
		{&p.LawCap, t.Eta.LawCap},
		{&p.Progress, t.Progress},
	} {
		if f.from.Reason != "" {
			return nil, fmt.Errorf("%s: %s", population, f.from.Reason)
		}
		*f.to = f.from.Value
	}
	for _, s := range t.Speedup {
		p.Speedups = append(p.Speedups, SpeedupPrediction{
			Exponent: s.Exponent.Name,
			Perfect:  s.Law.Value,
			Noisy:    s.Noisy.Value,
			Cap:      min(s.Cap.Value, s.LawCap.Value),
		})
	}
	return p, nil
}

// predictDefault is predict for a population of the ladder and the default
// schedule.
func predictDefault(population string) (*predicted, error) {
	l, err := rewarding(population)
	if err != nil {
		return nil, err
	}
	return predict(population, l, vigor(nil))
}

// String prints the prediction for a note.
func (p Prediction) String() string {
	var parts []string
	for _, s := range p.Speedups {
		parts = append(parts, fmt.Sprintf("eta^(%s) perfect %.3f, real %.3f, cap %.3f", s.Exponent, s.Perfect, s.Noisy, s.Cap))
	}
	return fmt.Sprintf("speedup: %s; caps on eta: %.4g any law, %.4g this law; progress %.4f",
		strings.Join(parts, "; "), p.Cap, p.LawCap, p.Progress)
}
