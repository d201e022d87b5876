package theory

import (
	"errors"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A Noise is the number of generated rollouts at which the gradient estimate of
// a batch has a standard deviation as large as its mean (OWN; theory.md,
// section 4.5), in the limit of a large batch. With q = s(G-s)/(G(G-1)), RLOO's
// estimate in a prompt's one logit (rewards in {0, 1}; 0 where G = 1), the
// batch's estimate is r = sum w q / sum w over the groups of the update, and
//
//	noise = E[generated rollouts of a batch] Var(r) / E[r]^2.
//
// Prompts are drawn anew for every batch. A learning rate undoes any scale of
// the estimate, and so does this figure; what an allocation does to its
// direction it does not tell. It is NaN where no group is mixed.
type Noise struct {
	Rollout float64 // w = G
	Prompt  float64 // w = 1
}

// GradientNoise returns the noise of VIGOR with any schedule and control.
// nodes >= 1, and more are taken for large groups as by VigorMeanField; errors
// are those of VigorMeanField.
//
// Prompts of a batch are not independent: a cut keeps a fixed number, so that
// one prompt more above the level at the cut is one less in it. To first order
// the sum over prompts of w(q-r) is one of independent terms
//
//	w(q-r) - sum_{t<T} D_t (1[kept by the cut after t] - alpha^t),
//
// D_t the change of E[w(q-r)] by one more prompt of the tied level kept by
// that cut, later rounds having as many prompts as ever. D_t is a central
// difference of mean fields, exact where they are linear in what the cut
// keeps, as they are for the last cut while the level is the same.
func GradientNoise(law distributions.Law, v schedule.Vigor, nodes int) (Noise, error) {
	f, err := vigorField(law, v, 1, nodes, nil)
	if err != nil {
		return Noise{}, err
	}
	survivors := v.Update == schedule.UpdateSurvivors
	rollouts := f.figures(v).Rollouts
	byRollout, byPrompt := f.gradient(bySize, survivors), f.gradient(byGroup, survivors)
	for cut := 1; cut < v.Rounds; cut++ {
		above, below, step, err := aroundCut(law, v, nodes, cut)
		if err != nil {
			return Noise{}, err
		}
		kept := math.Pow(v.Alpha.Float(), float64(cut))
		byRollout.correct(cut, kept, above.gradient(bySize, survivors), below.gradient(bySize, survivors), step)
		byPrompt.correct(cut, kept, above.gradient(byGroup, survivors), below.gradient(byGroup, survivors), step)
	}
	return Noise{rollouts * byRollout.relativeVariance(), rollouts * byPrompt.relativeVariance()}, nil
}

// aroundCut returns the fields whose cut keeps a little more and a little less,
// and by what share of all prompts they differ.
func aroundCut(law distributions.Law, v schedule.Vigor, nodes, cut int) (above, below *field, step float64, err error) {
	kept, before := math.Pow(v.Alpha.Float(), float64(cut)), math.Pow(v.Alpha.Float(), float64(cut-1))
	const small = 1e-4 // of what the cut may move by: rounding and curvature are both near 1e-10
	shift := small * min(kept-kept*v.Alpha.Float(), before-kept)
	move := func(by float64) func([]float64) { return func(shares []float64) { shares[cut] += by } }
	above, errAbove := vigorField(law, v, 1, nodes, move(shift))
	below, errBelow := vigorField(law, v, 1, nodes, move(-shift))
	return above, below, 2 * shift, errors.Join(errAbove, errBelow)
}

// FixedGradientNoise returns the noise of fixed groups of the given mean size,
// as FixedMeanField has them, floor and ceil of it in fixed numbers.
func FixedGradientNoise(law distributions.Law, mean float64, nodes int) (Noise, error) {
	err := errors.Join(
		unless(mean >= 1 && mean <= schedule.MaxGroup, outside("mean group", mean, groupRange)),
		checkQuadrature(1, nodes),
	)
	if err != nil {
		return Noise{}, err
	}
	f := fixedField(law, mean, 1, nodes)
	noise := func(weight func(int) float64) float64 {
		g := f.gradient(weight, false)
		if len(f.leavers) == 2 { // who has the larger group is drawn, how many have it is not
			large, small := f.leavers[1], f.leavers[0]
			d := g.value(large)/large.share - g.value(small)/small.share
			g.shifts[0], g.shifts[1] = -d*large.share, d*(1-large.share)
		}
		return mean * g.relativeVariance()
	}
	return Noise{noise(bySize), noise(byGroup)}, nil
}

// The weights of a group of a size.
func bySize(size int) float64 { return float64(size) }
func byGroup(int) float64     { return 1 }

// A gradient is the weighted mean r of the groups' estimates.
type gradient struct {
	leavers   []leavers
	weight    func(size int) float64
	survivors bool      // the groups that stop early are left out
	shifts    []float64 // by which the terms of leavers are corrected
	r, sum    float64   // r and E[w q]
}

func (f *field) gradient(weight func(int) float64, survivors bool) *gradient {
	g := &gradient{leavers: f.leavers, weight: weight, survivors: survivors, shifts: make([]float64, len(f.leavers))}
	total := 0.0
	for t, l := range f.leavers {
		g.sum += g.weightOf(t) * l.q
		total += g.weightOf(t) * l.share
	}
	g.r = g.sum / total
	return g
}

// weightOf returns the weight of the groups that stop in round t, from 0.
func (g *gradient) weightOf(t int) float64 {
	if g.survivors && t < len(g.leavers)-1 {
		return 0
	}
	return g.weight(g.leavers[t].size)
}

// value returns E[w(q-r); leavers] where all groups are trained on.
func (g *gradient) value(l leavers) float64 { return g.weight(l.size) * (l.q - g.r*l.share) }

// total returns E[w(q-r)] of another field with this one's r.
func (g *gradient) total(other *gradient) float64 {
	sum := 0.0
	for t, l := range other.leavers {
		sum += other.weightOf(t) * (l.q - g.r*l.share)
	}
	return sum
}

// correct books the cut after round cut, which keeps a share of all prompts;
// above and below differ by step of it.
func (g *gradient) correct(cut int, kept float64, above, below *gradient, step float64) {
	d := (g.total(above) - g.total(below)) / step
	for t := range g.shifts {
		g.shifts[t] -= d * kept
		if t >= cut {
			g.shifts[t] += d
		}
	}
}

// relativeVariance returns the variance of a prompt's term over E[w q]^2.
func (g *gradient) relativeVariance() float64 {
	variance := 0.0
	for t, l := range g.leavers {
		w, d := g.weightOf(t), g.shifts[t]
		variance += w*w*(l.qq-2*g.r*l.q+g.r*g.r*l.share) - 2*w*d*(l.q-g.r*l.share) + d*d*l.share
	}
	return ratio(variance, g.sum*g.sum)
}
