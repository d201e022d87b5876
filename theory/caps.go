package theory

import (
	"errors"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// CapLawFree returns the largest eta that any law of u allows on an infinite
// batch (OWN; theory.md, section 3.1): the largest group over the mean group
// of the update,
//
//	sum_{i<T} gamma^i / sum_{i<T} (alpha*gamma)^i,
//
// 3.75 at the defaults. With update=survivors every trained group is the
// largest, but only the share alpha^(T-1) of the prompts has one: then it is
// alpha^(-(T-1)) per trained rollout.
func CapLawFree(v schedule.Vigor) (float64, error) {
	if err := v.Validate(); err != nil {
		return math.NaN(), err
	}
	alpha, gamma := v.Alpha.Float(), v.Gamma.Float()
	if v.Update == schedule.UpdateSurvivors {
		return finite("cap", math.Exp(-float64(v.Rounds-1)*math.Log(alpha)))
	}
	return finite("cap", geometricRatio(logProduct(alpha, gamma), -math.Log(alpha), float64(v.Rounds)))
}

// CapLaw returns 1/E[u], the largest eta of any allocation for a law of u on
// [0, 1] (OWN; theory.md, section 3.1). It is an error where E[u] = 0 or where
// u is not bounded by 1.
func CapLaw(law distributions.VarianceLaw) (float64, error) {
	mean := law.MeanU()
	err := errors.Join(
		unless(mean > 0, errors.New("theory: E[u] = 0: no prompt has any reward variance")),
		unless(law.QuantileU(1) <= 1, errors.New("theory: u is not bounded by 1: no cap from the law alone")),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("cap", 1/mean)
}

// CapBatch returns the largest eta that any law of u allows on a batch of the
// given size: G_max over the mean group of the update, from the realised
// counts, whose rounding can let it pass CapLawFree (OWN; theory.md, section
// 3.1: floor cuts, B = 31).
func CapBatch(v schedule.Vigor, batch int) (float64, error) {
	c, err := newCounts(v, batch)
	if err != nil {
		return math.NaN(), err
	}
	return finite("cap", c.largest*float64(batch)/c.trained)
}

// counts holds what a schedule asks of a batch, in units of the rollouts of
// its largest round, so that it has no overflow.
type counts struct {
	active    []int     // n_1..n_T
	rollouts  []float64 // m_1..m_T
	largest   float64   // G_max = sum m_t
	selection float64   // sum m_t n_t
	trained   float64   // rollouts of the update over the batch
}

func newCounts(v schedule.Vigor, batch int) (*counts, error) {
	err := errors.Join(v.Validate(), unless(batch >= 1, outside("batch", batch, "a whole number >= 1")))
	if err != nil {
		return nil, err
	}
	c := &counts{active: v.Active(batch), rollouts: scaledPowers(math.Log(v.Gamma.Float()), v.Rounds)}
	for t, m := range c.rollouts {
		c.largest += m
		c.selection += m * float64(c.active[t])
	}
	c.trained = c.selection
	if v.Update == schedule.UpdateSurvivors {
		c.trained = c.largest * float64(c.active[v.Rounds-1])
	}
	return c, nil
}

// trainedShare returns the trained rollouts over the generated ones for an
// infinite batch, in (0, 1]: 1 where the update uses every selection rollout,
// 1/2 where it uses as many fresh ones. v is valid.
func trainedShare(v schedule.Vigor) float64 {
	trained := 1.0 // in units of the selection rollouts
	if v.Update == schedule.UpdateSurvivors {
		alpha := v.Alpha.Float()
		// alpha^(T-1) sum gamma^i / sum (alpha*gamma)^i
		trained = geometricRatio(logProduct(alpha, v.Gamma.Float()), -math.Log(alpha), float64(v.Rounds))
		trained *= math.Exp(float64(v.Rounds-1) * math.Log(alpha))
	}
	if v.Reuse {
		return trained
	}
	return trained / (1 + trained)
}
