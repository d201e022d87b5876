package verify

import (
	"fmt"
	"strings"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

// predicted holds what stands beside every predicted speedup: eta of perfect
// and of real selection, the caps and the progress figure.
type predicted struct {
	perfect, noisy, progress float64
	cap, lawCap              float64
	field                    *theory.MeanField
	fixed                    *theory.MeanField // the fixed group of the same mean size
}

// predict computes what the real algorithm does on a law in the limit of large
// batches, whatever v says of selection.
func predict(l distributions.Law, v schedule.Vigor) (*predicted, error) {
	v.Select = schedule.SelectSample
	p := &predicted{}
	var err error
	if p.field, err = theory.VigorMeanField(l, v, frontier, theory.DefaultNodes); err != nil {
		return nil, err
	}
	if p.fixed, err = theory.FixedMeanField(l, p.field.Rollouts, frontier, theory.DefaultNodes); err != nil {
		return nil, err
	}
	if p.perfect, err = theory.EtaPerfect(l, v.Alpha.Float(), v.Gamma.Float(), v.Rounds); err != nil {
		return nil, err
	}
	if p.cap, err = theory.CapLawFree(v); err != nil {
		return nil, err
	}
	if p.lawCap, err = theory.CapLaw(l); err != nil {
		return nil, err
	}
	p.noisy = p.field.Eta
	p.progress = p.field.Progress / p.fixed.Progress
	return p, nil
}

// String prints the speedups of perfect and real selection under all three
// exponents, the caps, and progress.
func (p *predicted) String() string {
	var parts []string
	for _, x := range theory.Exponents() {
		parts = append(parts, fmt.Sprintf("eta^(%s) perfect %.3f, real %.3f, cap %.3f", x.Name,
			theory.Speedup(p.perfect, x.Value), theory.Speedup(p.noisy, x.Value), theory.Speedup(min(p.cap, p.lawCap), x.Value)))
	}
	return fmt.Sprintf("speedup: %s; caps on eta: %.4g any law, %.4g this law; progress %.4f",
		strings.Join(parts, "; "), p.cap, p.lawCap, p.progress)
}

// prediction is predict for a note.
func prediction(l distributions.Law, v schedule.Vigor) (string, error) {
	p, err := predict(l, v)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}
