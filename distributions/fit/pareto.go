package fit

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"vigorlab/distributions"
)

// The range of a Pareto family's parameters. Below smallestU a prompt is dead
// or solved to any data, and beyond largestShape the law is a point to it.
const (
	smallestU    = 1e-9
	largestShape = 20
)

// panelPoints is the number of Gauss points of a panel. With panels as wide as
// panelWidth allows they leave a relative error below 1e-10 of a cell's
// probability for shapes up to 20.
const panelPoints = 16

// A paretoMixture is the likelihood of the Pareto families of u, with
// parameters shape, min, max and hard: density proportional to u^(-shape-1) on
// [min, max], shape of any sign, p on its lower branch m = (1-sqrt(1-u))/2
// with probability hard and 1-m otherwise.
//
// Probabilities are integrals over z = log(m/(1-m)), where the density is
// u^-shape (1-2m) up to its norm and every factor is analytic. The binomial
// probabilities of whole panels are computed once; only the panels that min
// and max cut are computed again.
type paretoMixture struct {
	cells  []Cell
	choose []float64
	panels []panel  // from smallestU up to u = 1, the highest first
	cut    [2]panel // those that min and max cut, as last computed

	// The integrals of (u/min)^-shape over u, on both branches, and of the
	// same times log(u/min); the binomial probabilities at an end.
	hard, easy, hardLog, easyLog, hardEnd, easyEnd []float64
}

// A panel is a piece of the z axis with its Gauss points. rows[k][i] holds the
// binomial probability of cell i at point k, mirrored[k][i] that at 1-m.
type panel struct {
	low, high      float64
	points         [panelPoints]point
	rows, mirrored [panelPoints][]float64
}

// A point is a place on the lower branch: its log u and weight (1-2m) dz.
type point struct{ logU, weight float64 }

var legendre = func() (rule struct{ at, weight [panelPoints]float64 }) {
	quad.Legendre{}.FixedLocations(rule.at[:], rule.weight[:], 0, 1)
	return rule
}()

func newParetoMixture(cells []Cell) *paretoMixture {
	l := &paretoMixture{cells: cells, choose: chooseAll(cells)}
	for _, x := range []*[]float64{&l.hard, &l.easy, &l.hardLog, &l.easyLog, &l.hardEnd, &l.easyEnd} {
		*x = make([]float64, len(cells))
	}
	low := logit(smallestU)
	n := float64(maxN(cells))
	for high := 0.0; high > low; {
		next := max(low, high-panelWidth(high, n))
		l.panels = append(l.panels, l.newPanel(next, high))
		high = next
	}
	for i := range l.cut {
		l.cut[i] = l.newPanel(low, 0)
	}
	return l
}

// panelWidth returns the width of the panel below z: three standard deviations
// of a prompt's logit as n rollouts show it, at most 1.
func panelWidth(z, n float64) float64 { return min(1, 3/math.Sqrt(1+n*variance(z))) }

// variance returns m(1-m) at z = log(m/(1-m)).
func variance(z float64) float64 {
	c := math.Cosh(z / 2)
	return 1 / (4 * c * c)
}

// logit returns log(m/(1-m)) of the m <= 1/2 with 4m(1-m) = u.
func logit(u float64) float64 { return -2 * math.Atanh(math.Sqrt(1-u)) }

func (l *paretoMixture) newPanel(low, high float64) panel {
	var p panel
	for k := range p.rows {
		p.rows[k], p.mirrored[k] = make([]float64, len(l.cells)), make([]float64, len(l.cells))
	}
	l.fillPanel(&p, low, high)
	return p
}

func (l *paretoMixture) fillPanel(p *panel, low, high float64) {
	p.low, p.high = low, high
	for k := range p.points {
		z := low + (high-low)*legendre.at[k]
		p.points[k] = point{
			logU:   math.Log(4 * variance(z)),
			weight: -math.Tanh(z/2) * (high - low) * legendre.weight[k],
		}
		l.binomials(z, p.rows[k], p.mirrored[k])
	}
}

// binomials writes the cells' binomial probabilities at p = m and at p = 1-m,
// z = log(m/(1-m)).
func (l *paretoMixture) binomials(z float64, row, mirrored []float64) {
	hit, miss := -math.Log1p(math.Exp(-z)), -math.Log1p(math.Exp(z))
	for i, x := range l.cells {
		s, f := float64(x.S), float64(x.N-x.S)
		row[i] = math.Exp(l.choose[i] + s*hit + f*miss)
		mirrored[i] = math.Exp(l.choose[i] + s*miss + f*hit)
	}
}

func (l *paretoMixture) logs(theta, logs []float64, slopes [][]float64) {
	shape, low, high, hard := theta[0], theta[1], theta[2], theta[3]
	if !(low < high) {
		fill(logs, math.Inf(-1))
		return
	}
	l.integrate(shape, low, high, slopes != nil)
	norm := paretoNorm(shape, math.Log(high/low))
	for i := range logs {
		logs[i] = math.Log((hard*l.hard[i] + (1-hard)*l.easy[i]) / norm)
	}
	if slopes != nil {
		l.slopes(theta, norm, slopes)
	}
}

// slopes writes the derivatives of log(I/Z), I being the integral of
// (u/min)^-shape times a cell's binomial probability and Z that of
// (u/min)^-shape alone: by shape under both integrals, by min and max from the
// integrands at the ends.
func (l *paretoMixture) slopes(theta []float64, norm float64, slopes [][]float64) {
	shape, low, high, hard := theta[0], theta[1], theta[2], theta[3]
	byShape := paretoNormLog(shape, math.Log(high/low)) / norm
	mixed := func(onHard, onEasy []float64, i int) float64 { return hard*onHard[i] + (1-hard)*onEasy[i] }
	for i := range l.cells {
		all := mixed(l.hard, l.easy, i)
		slopes[0][i] = byShape - mixed(l.hardLog, l.easyLog, i)/all
		slopes[3][i] = (l.hard[i] - l.easy[i]) / all
	}
	top := math.Exp(-shape * math.Log(high/low))
	for j, end := range []struct{ u, density float64 }{{low, -1}, {high, top}} {
		l.binomials(logit(end.u), l.hardEnd, l.easyEnd)
		for i := range l.cells {
			slopes[1+j][i] = end.density / end.u * (mixed(l.hardEnd, l.easyEnd, i)/mixed(l.hard, l.easy, i) - 1/norm)
		}
	}
}

// integrate sets the integrals over [low, high], those with the logarithm on
// request.
func (l *paretoMixture) integrate(shape, low, high float64, logs bool) {
	for _, x := range [][]float64{l.hard, l.easy, l.hardLog, l.easyLog} {
		fill(x, 0)
	}
	from, to := logit(low), logit(high)
	for i := range l.panels {
		p := &l.panels[i]
		start, end := max(from, p.low), min(to, p.high)
		if !(start < end) {
			continue
		}
		if start > p.low || end < p.high {
			p = l.cutPanel(start, end, end < p.high)
		}
		p.add(l, shape, math.Log(low), logs)
	}
}

// cutPanel returns the panel from start to end, computed again unless it is
// the one that was cut last.
func (l *paretoMixture) cutPanel(start, end float64, upper bool) *panel {
	p := &l.cut[0]
	if upper {
		p = &l.cut[1]
	}
	if p.low != start || p.high != end {
		l.fillPanel(p, start, end)
	}
	return p
}

// add adds the panel's part of the integrals.
func (p *panel) add(l *paretoMixture, shape, logLow float64, logs bool) {
	for k, at := range p.points {
		height := at.logU - logLow
		w := at.weight * math.Exp(-shape*height)
		addTo(l.hard, w, p.rows[k])
		addTo(l.easy, w, p.mirrored[k])
		if logs {
			addTo(l.hardLog, w*height, p.rows[k])
			addTo(l.easyLog, w*height, p.mirrored[k])
		}
	}
}

// addTo adds w x to sum.
func addTo(sum []float64, w float64, x []float64) {
	for i, v := range x {
		sum[i] += w * v
	}
}

// paretoNorm returns the integral of (u/low)^-shape du/u over u in [low, high],
// log(high/low) = span: (1 - e^(-shape span))/shape, and span at shape = 0.
func paretoNorm(shape, span float64) float64 {
	if math.Abs(shape*span) < 1e-17 {
		return span
	}
	return -math.Expm1(-shape*span) / shape
}

// paretoNormLog returns the integral of log(u/low) (u/low)^-shape du/u over u
// in [low, high], log(high/low) = span:
//
//	(1 - (1+x) e^-x)/shape^2, x = shape span,
//
// by four terms of its series where x is small.
func paretoNormLog(shape, span float64) float64 {
	x := shape * span
	if math.Abs(x) < 1e-3 {
		return span * span * (1./2 - x*(1./3-x*(1./8-x/30)))
	}
	return (-math.Expm1(-x) - x*math.Exp(-x)) / (shape * shape)
}

// paretoMeanSqrtU returns E[sqrt u], the norm at shape-1/2 over that at shape.
func paretoMeanSqrtU(shape, low, high float64) float64 {
	span := math.Log(high / low)
	return math.Sqrt(low) * paretoNorm(shape-0.5, span) / paretoNorm(shape, span)
}

// paretoLaw returns the law where distributions has it: shape > 0.
func paretoLaw(shape, low, high, hard float64) (distributions.Law, error) {
	return distributions.NewParetoVariance(shape, low, high, hard)
}
