package fit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions"
)

// families are the parametric families.
var families = []*family{
	{
		name: Beta, doc: "Beta(a, b)", within: []string{SpikedBeta},
		ranges: []parameterRange{rangeA, rangeB},
		starts: betaStarts,
		over:   func(cells []Cell) likelihood { return newBetaBinomial(cells) },
		law:    func(t []float64) (distributions.Law, error) { return lawOf(distributions.NewBeta(t[0], t[1])) },
		spec:   func(t []float64) string { return fmt.Sprintf("beta:a=%v,b=%v", t[0], t[1]) },
		sqrtU:  func(t []float64) float64 { return betaMeanSqrtU(t[0], t[1]) },
	},
	{
		name: SpikedBeta, doc: "Beta(a, b) with spikes at p = 0 and p = 1",
		ranges: []parameterRange{{"dead", 0, 1, false}, {"solved", 0, 1, false}, rangeA, rangeB},
		starts: spikedStarts,
		over:   func(cells []Cell) likelihood { return spikedBeta{newBetaBinomial(cells)} },
		law: func(t []float64) (distributions.Law, error) {
			return lawOf(distributions.NewSpikedBeta(t[0], t[1], t[2], t[3]))
		},
		spec: func(t []float64) string {
			return fmt.Sprintf("spiked-beta:dead=%v,solved=%v,a=%v,b=%v", t[0], t[1], t[2], t[3])
		},
		sqrtU: func(t []float64) float64 { return (1 - t[0] - t[1]) * betaMeanSqrtU(t[2], t[3]) },
	},
	pareto(ParetoVariance, "Pareto reward variance on [min, 1]", []string{ParetoVarianceFree, TruncatedPareto, TruncatedParetoFree}, shapeAboveZero, true),
	pareto(ParetoVarianceFree, "power law of the reward variance on [min, 1], shape of any sign", []string{TruncatedParetoFree}, shapeOfAnySign, true),
	pareto(TruncatedPareto, "Pareto reward variance on [min, max]", []string{TruncatedParetoFree}, shapeAboveZero, false),
	pareto(TruncatedParetoFree, "power law of the reward variance on [min, max], shape of any sign", nil, shapeOfAnySign, false),
}

// pareto returns a Pareto family: with max among its parameters, or at 1.
func pareto(name, doc string, within []string, shape parameterRange, whole bool) *family {
	full := func(t []float64) []float64 { return t }
	f := &family{name: name, doc: doc, within: within, ranges: []parameterRange{shape, rangeMin, rangeMax, rangeHard}}
	if whole {
		full = func(t []float64) []float64 { return []float64{t[0], t[1], 1, t[2]} }
		f.ranges = []parameterRange{shape, rangeMin, rangeHard}
	}
	f.starts = func(c *Counts) [][]float64 {
		hard := hardShare(c)
		var starts [][]float64
		for _, t := range [][]float64{{0.3, 1e-3, 0.95}, {1, 0.05, 0.95}, {0.1, 1e-5, 0.9}} {
			start := []float64{t[0], t[1], t[2], hard}
			if whole {
				start = []float64{t[0], t[1], hard}
			}
			starts = append(starts, start)
		}
		if shape.low < 0 {
			low := append([]float64(nil), starts[0]...)
			low[0] = -0.5
			starts = append(starts, low)
		}
		return starts
	}
	f.over = func(cells []Cell) likelihood {
		return paretoLikelihood{newParetoMixture(cells), full, make([]float64, len(cells))}
	}
	f.law = func(t []float64) (distributions.Law, error) {
		t = full(t)
		return lawOf(paretoLaw(t[0], t[1], t[2], t[3]))
	}
	f.spec = func(t []float64) string {
		t = full(t)
		return fmt.Sprintf("pareto-variance:shape=%v,min=%v,max=%v,hard=%v", t[0], t[1], t[2], t[3])
	}
	f.sqrtU = func(t []float64) float64 {
		t = full(t)
		return paretoMeanSqrtU(t[0], t[1], t[2])
	}
	f.rand = func(t []float64, r *rand.Rand) float64 {
		t = full(t)
		return paretoRand(t[0], t[1], t[2], t[3], r)
	}
	return f
}

// A paretoLikelihood fills in max where it is fixed.
type paretoLikelihood struct {
	*paretoMixture
	full   func([]float64) []float64
	unused []float64
}

func (l paretoLikelihood) logs(theta, logs []float64, slopes [][]float64) {
	if slopes != nil && len(theta) == 3 { // max is fixed: its slopes are not asked for
		slopes = [][]float64{slopes[0], slopes[1], l.unused, slopes[2]}
	}
	l.paretoMixture.logs(l.full(theta), logs, slopes)
}

func lawOf[L distributions.Law](l L, err error) (distributions.Law, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// betaStarts returns the moments' estimate of a and b, at the mean success
// rate and an intraclass correlation inside (0, 1).
func betaStarts(c *Counts) [][]float64 {
	mean, correlation := moments(c)
	size := 1/correlation - 1
	return [][]float64{{mean * size, (1 - mean) * size}}
}

func spikedStarts(c *Counts) [][]float64 {
	beta := betaStarts(c)[0]
	return [][]float64{{0.01, 0.01, beta[0], beta[1]}, {0.2, 0.2, 1, 1}, {0.2, 0.01, 1, 1}, {0.01, 0.2, 1, 1}}
}

// moments returns the mean success rate and the correlation of two rollouts of
// a prompt, each kept inside (0, 1).
func moments(c *Counts) (mean, correlation float64) {
	var both, pairs float64
	for _, x := range c.cells {
		k, n, s := float64(x.Prompts), float64(x.N), float64(x.S)
		mean += k * s / n
		if x.N > 1 {
			both += k * s * (s - 1) / (n * (n - 1))
			pairs += k
		}
	}
	mean = inside(mean/float64(c.prompts), 1e-3)
	if pairs == 0 {
		return mean, 0.5
	}
	return mean, inside((both/pairs-mean*mean)/(mean*(1-mean)), 0.01)
}

// inside keeps x off 0 and 1 by margin.
func inside(x, margin float64) float64 { return math.Min(math.Max(x, margin), 1-margin) }

// hardShare returns the share of prompts with fewer successes than failures,
// half of the even ones among them.
func hardShare(c *Counts) float64 {
	var share float64
	for _, x := range c.cells {
		switch {
		case 2*x.S < x.N:
			share += float64(x.Prompts)
		case 2*x.S == x.N:
			share += float64(x.Prompts) / 2
		}
	}
	return inside(share/float64(c.prompts), 1e-3)
}
