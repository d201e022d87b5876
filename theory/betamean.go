package theory

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"vigorlab/distributions"
)

// betaMean returns E[f(V)] for V ~ Beta(n+1, batch-n), f(1) for n = batch. f is
// continuous on (0, 1] and smooth between the kinks. The density is taken
// relative to its value at the mode, in a form in which the large exponents
// cancel exactly, and the same nodes normalise it.
// It is an error where the quadrature does not converge.
func betaMean(f func(float64) float64, n, batch int, kinks []float64) (float64, error) {
	if n == batch {
		return f(1), nil
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
	return integrateRatio(func(v float64) integrals {
		weight := density.at(v)
		return integrals{weight, weight * f(v)}
	}, slices.Compact(edges))
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
	x, y = max(x, -1), max(y, -1) // the ends, whichever way they were rounded
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

// integrals holds a weight and a weighted function, or their integrals.
type integrals struct{ weight, weighted float64 }

func (s integrals) plus(t integrals, scale float64) integrals {
	return integrals{s.weight + scale*t.weight, s.weighted + scale*t.weighted}
}

// A panel is a part of an integration range, integrated over its halves.
type panel struct {
	low, middle, high float64
	left, right       integrals
	err               float64 // the weighted integral over the whole panel against its halves
}

// The Gauss-Legendre rule of a panel, and the most splits. A kink that nobody
// announced costs one split a binary digit of its place.
const (
	panelNodes = 16
	maxSplits  = 400
)

// A gauss integrates f by the Gauss-Legendre rule with nodes x on [0, 1].
type gauss struct {
	f    func(v float64) integrals
	x, w []float64
}

func (g *gauss) integrate(low, high float64) (sum integrals) {
	for i, x := range g.x {
		sum = sum.plus(g.f(low+(high-low)*x), g.w[i]*(high-low))
	}
	return sum
}

// panel returns the panel from low to high, whose integral is known as whole.
func (g *gauss) panel(low, high float64, whole integrals) panel {
	middle := low + (high-low)/2
	p := panel{low: low, middle: middle, high: high, left: g.integrate(low, middle), right: g.integrate(middle, high)}
	p.err = math.Abs(p.left.weighted + p.right.weighted - whole.weighted)
	return p
}

// integrateRatio returns the integral of f's weighted function over that of
// its weight, by splitting the panel with the largest error until the errors
// sum to less than 1e-12; the halves that are summed are better than that. It
// is an error where maxSplits do not get there.
func integrateRatio(f func(v float64) integrals, edges []float64) (float64, error) {
	g := gauss{f, make([]float64, panelNodes), make([]float64, panelNodes)}
	quad.Legendre{}.FixedLocations(g.x, g.w, 0, 1)
	var panels []panel
	for i, low := range edges[:len(edges)-1] {
		panels = append(panels, g.panel(low, edges[i+1], g.integrate(low, edges[i+1])))
	}
	for splits := 0; ; splits++ {
		total, err, worst := sumPanels(panels)
		switch {
		case err <= 1e-12*math.Abs(total.weighted):
			return total.weighted / total.weight, nil
		case splits == maxSplits:
			return math.NaN(), fmt.Errorf("theory: the mean over order statistics is still off by %.2g, relative, after %d splits", err/math.Abs(total.weighted), splits)
		}
		p := panels[worst]
		panels[worst] = g.panel(p.low, p.middle, p.left)
		panels = append(panels, g.panel(p.middle, p.high, p.right))
	}
}

// sumPanels adds up integrals and errors, and finds the largest error.
func sumPanels(panels []panel) (total integrals, err float64, worst int) {
	for i, p := range panels {
		total = total.plus(p.left, 1).plus(p.right, 1)
		err += p.err
		if p.err > panels[worst].err {
			worst = i
		}
	}
	return total, err, worst
}
