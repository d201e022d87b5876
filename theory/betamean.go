package theory

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"vigorlab/distributions"
)

// betaMean returns E[f(V)] for V ~ Beta(n+1, batch-n), f(1) for n = batch. f is
// continuous on (0, 1] and smooth between the kinks. The density is taken
// relative to its value at the mode, in a form in which the large exponents
// cancel exactly, and the same nodes normalise it.
func betaMean(f func(float64) float64, n, batch int, kinks []float64) float64 {
	if n == batch {
		return f(1)
	}
	density := newBetaDensity(float64(n), float64(batch-n-1))
	low, high := density.window()
	edges := []float64{low, density.mode, high}
	for _, k := range kinks {
		if k > low && k < high {
			edges = append(edges, k)
		}
	}
	slices.Sort(edges)
	moments := func(v float64) (weight, weighted float64) {
		weight = density.at(v)
		return weight, weight * f(v)
	}
	return integrateRatio(moments, slices.Compact(edges))
}

// A betaDensity is proportional to v^a (1-v)^b with a >= 1 and b >= 0.
type betaDensity struct{ a, b, mode float64 }

func newBetaDensity(a, b float64) betaDensity { return betaDensity{a, b, a / (a + b)} }

// at returns the density over that at the mode.
func (d betaDensity) at(v float64) float64 { return math.Exp(d.logAt(v)) }

func (d betaDensity) logAt(v float64) float64 {
	if d.b == 0 {
		return d.a * math.Log(v)
	}
	// The terms linear in v-mode are a/mode and -b/(1-mode): they cancel.
	x, y := (v-d.mode)/d.mode, (d.mode-v)/(d.b/(d.a+d.b))
	return d.a*(math.Log1p(x)-x) + d.b*(math.Log1p(y)-y)
}

// window returns the interval outside which the density is below exp(-46), or
// 1e-20, of its largest value.
func (d betaDensity) window() (low, high float64) {
	const negligible = -46
	search := func(inside, outside float64) float64 {
		if d.logAt(outside) >= negligible {
			return outside
		}
		for range 60 {
			middle := (inside + outside) / 2
			if d.logAt(middle) >= negligible {
				inside = middle
			} else {
				outside = middle
			}
		}
		return outside
	}
	return search(d.mode, 0), search(d.mode, 1)
}

// topKinks returns the shares q at which TopU has a kink: the two ends of every
// atom of u.
func topKinks(law distributions.VarianceLaw) []float64 {
	atomic, ok := law.(interface{ Atoms() []distributions.Node })
	if !ok {
		return nil
	}
	mass := map[float64]float64{}
	for _, atom := range atomic.Atoms() {
		mass[distributions.Level(atom.P)] += atom.W
	}
	var kinks []float64
	for u, w := range mass {
		above := 1 - law.CDFU(u)
		kinks = append(kinks, above, above+w)
	}
	return kinks
}

// A panel is a part of an integration range with the integrals of a weight
// and of a weighted function over each of its halves.
type panel struct {
	low, high   float64
	left, right integrals
	err         float64 // the weighted integral over the whole panel against its halves
}

type integrals struct{ weight, weighted float64 }

// The Gauss-Legendre rule of a panel, and the most panels that are split. A
// kink that nobody announced costs one panel a binary digit of its place.
const (
	panelNodes = 16
	maxPanels  = 400
)

// integrateRatio returns the integral of the second value of f over that of
// the first, by splitting the panel with the largest error until the errors
// sum to less than 1e-12; the halves that are summed are better than that.
func integrateRatio(f func(float64) (weight, weighted float64), edges []float64) float64 {
	x, w := make([]float64, panelNodes), make([]float64, panelNodes)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	integrate := func(low, high float64) (sum integrals) {
		for i := range x {
			weight, weighted := f(low + (high-low)*(1+x[i])/2)
			sum.weight += w[i] * weight * (high - low) / 2
			sum.weighted += w[i] * weighted * (high - low) / 2
		}
		return sum
	}
	split := func(low, high float64, whole integrals) panel {
		middle := low + (high-low)/2
		p := panel{low: low, high: high, left: integrate(low, middle), right: integrate(middle, high)}
		p.err = math.Abs(p.left.weighted + p.right.weighted - whole.weighted)
		return p
	}
	var panels []panel
	for i := 1; i < len(edges); i++ {
		panels = append(panels, split(edges[i-1], edges[i], integrate(edges[i-1], edges[i])))
	}
	for {
		var total integrals
		worst, errors := 0, 0.0
		for i, p := range panels {
			total.weight += p.left.weight + p.right.weight
			total.weighted += p.left.weighted + p.right.weighted
			errors += p.err
			if p.err > panels[worst].err {
				worst = i
			}
		}
		if !(errors > 1e-12*math.Abs(total.weighted)) || len(panels) >= maxPanels {
			return total.weighted / total.weight
		}
		p := panels[worst]
		middle := p.low + (p.high-p.low)/2
		panels[worst] = split(p.low, middle, p.left)
		panels = append(panels, split(middle, p.high, p.right))
	}
}
