package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions"
)

// A Mixing is the nonparametric maximum likelihood estimate of a law of p
// (Kiefer and Wolfowitz 1956): the best of all laws, reached by one with few
// atoms.
//
// With the log-likelihood l, N prompts and the counts' probabilities f under
// the estimate, the directional derivative towards the point p is
//
//	D(p) = sum over prompts of P(s | n, p)/f(s | n) - N,
//
// and l is concave in the law, so that no law is better by more than the
// largest D(p). An estimate is the maximum where that is zero (Lindsay 1983).
type Mixing struct {
	Atoms  []distributions.Node // ascending in P
	LogLik float64
	Gap    float64 // largest D(p) over p in [0, 1]: at most so many nats are missing
}

// The search for the estimate.
const (
	gapTolerance  = 1e-8 // nats a prompt: the gradient condition, as far as rounding lets it be met
	maxIterations = 500  // steps; 10 to 60 are usual
	gridDensity   = 16   // points of the first look over an angle of 1/sqrt(n), two standard deviations of asin sqrt(s/n)
	maxJoins      = 10   // rounds of joining, each of which squares how far atoms are from their place
	startDensity  = 4    // first atoms, likewise: so near that no count starts out nearly impossible
	joinDistance  = 0.02 // the same unit: how near atoms are joined
)

// Nonparametric returns the estimate by the constrained Newton method of Wang
// (2007), "On fast computation of the non-parametric maximum likelihood
// estimate of a mixing distribution": every local maximum of D joins the
// atoms, and weights follow from a quadratic model with nonnegative weights. D
// is looked at on a grid finer than its features, and then at its maxima
// themselves. It fails where Gap stays above 1e-8 nats a prompt.
func Nonparametric(c *Counts) (*Mixing, error) { return mixingOf(c, gapTolerance) }

// mixingOf is Nonparametric up to a gap, in nats a prompt. A fine search joins
// neighbouring atoms and goes on, until none are left.
func mixingOf(c *Counts, gap float64) (*Mixing, error) {
	g := newMixingSearch(c)
	var found *Mixing
	joins := 0
	tolerance := gap * g.prompts
	for range maxIterations {
		if g.gap() > tolerance {
			g.step()
			continue
		}
		if found = g.mixing(); gap > gapTolerance || joins == maxJoins || !g.join() {
			return found, nil
		}
		joins++
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("fit: npmle: the gradient condition is missed by %.3g nats after %d steps, want at most %.3g", g.gap(), maxIterations, tolerance)
}

// join joins neighbouring atoms, which stand on both sides of the one that
// they approach, and reports whether there were any. The gradient condition
// may be missed thereafter.
func (g *mixingSearch) join() bool {
	near := joinDistance / math.Sqrt(float64(maxN(g.cells)))
	joined := g.atoms[:0:0]
	for _, a := range g.atoms {
		k := len(joined) - 1
		if k < 0 || a.phi-joined[k].phi > near {
			joined = append(joined, a)
			continue
		}
		last := &joined[k]
		sum := last.weight + a.weight
		last.phi += (a.phi - last.phi) * a.weight / sum
		last.weight, last.row = sum, g.row(last.phi)
	}
	if len(joined) == len(g.atoms) {
		return false
	}
	g.atoms = joined
	g.mix()
	g.look()
	return true
}

// A mixingSearch holds atoms at angles phi, p = sin^2 phi, in which counts are
// about equally spread whatever p.
type mixingSearch struct {
	cells   []Cell
	weights []float64 // prompts of each cell
	choose  []float64
	grid    []float64   // angles of the first look
	onGrid  [][]float64 // probabilities of the cells there
	atoms   []atom
	f       []float64 // probabilities of the cells under the atoms
	maxima  []atom    // local maxima of D, of weight 0
	prompts float64
}

// An atom is an angle with its weight and its probabilities of the cells.
type atom struct {
	phi, weight float64
	row         []float64
	slope       float64 // D there, for maxima
}

func newMixingSearch(c *Counts) *mixingSearch {
	g := &mixingSearch{cells: c.cells, choose: chooseAll(c.cells), f: make([]float64, len(c.cells)), prompts: float64(c.prompts)}
	for _, x := range c.cells {
		g.weights = append(g.weights, float64(x.Prompts))
	}
	g.grid = angles(gridDensity, maxN(c.cells))
	for _, phi := range g.grid {
		g.onGrid = append(g.onGrid, g.row(phi))
	}
	start := angles(startDensity, maxN(c.cells))
	for _, phi := range start {
		g.atoms = append(g.atoms, atom{phi: phi, weight: 1 / float64(len(start)), row: g.row(phi)})
	}
	g.mix()
	g.look()
	return g
}

// angles returns equally spaced angles from 0 to pi/2, density of them over an
// angle of 1/sqrt(n).
func angles(density float64, n int) []float64 {
	last := math.Ceil(density * math.Pi / 2 * math.Sqrt(float64(n)))
	phi := make([]float64, int(last)+1)
	for i := range phi {
		phi[i] = math.Pi / 2 * (float64(i) / last)
	}
	return phi
}

// row returns the probabilities of the cells at p = sin^2 phi.
func (g *mixingSearch) row(phi float64) []float64 {
	row := make([]float64, len(g.cells))
	hit, miss := 2*math.Log(math.Sin(phi)), 2*math.Log(math.Cos(phi))
	for i, x := range g.cells {
		sum := g.choose[i]
		if x.S > 0 { // else 0 log 0
			sum += float64(x.S) * hit
		}
		if x.S < x.N {
			sum += float64(x.N-x.S) * miss
		}
		row[i] = math.Exp(sum)
	}
	return row
}

// mix sets f from the atoms.
func (g *mixingSearch) mix() {
	fill(g.f, 0)
	for _, a := range g.atoms {
		for i, b := range a.row {
			g.f[i] += a.weight * b
		}
	}
}

func (g *mixingSearch) logLik() float64 {
	var sum float64
	for i, w := range g.weights {
		sum += w * math.Log(g.f[i])
	}
	return sum
}

// slope returns D of a row.
func (g *mixingSearch) slope(row []float64) float64 {
	var sum float64
	for i, w := range g.weights {
		sum += w * (row[i] / g.f[i])
	}
	return sum - g.prompts
}

// look finds the local maxima of D.
func (g *mixingSearch) look() {
	slopes := make([]float64, len(g.grid))
	for k, row := range g.onGrid {
		slopes[k] = g.slope(row)
	}
	g.maxima = g.maxima[:0]
	last := len(g.grid) - 1
	for k := range slopes {
		if k > 0 && slopes[k-1] > slopes[k] || k < last && slopes[k+1] >= slopes[k] {
			continue
		}
		phi := g.climb(g.grid[max(0, k-1)], g.grid[min(last, k+1)])
		row := g.row(phi)
		if d := g.slope(row); d >= slopes[k] {
			g.maxima = append(g.maxima, atom{phi: phi, row: row, slope: d})
		} else { // the end of the axis
			g.maxima = append(g.maxima, atom{phi: g.grid[k], row: g.onGrid[k], slope: slopes[k]})
		}
	}
}

// climb finds a maximum of D between two angles: the zero of its derivative by
// Newton's method, or by halving where that leaves the bracket.
func (g *mixingSearch) climb(low, high float64) float64 {
	phi := (low + high) / 2
	for range 60 {
		slope, curvature := g.derivatives(phi)
		if slope > 0 {
			low = phi
		} else {
			high = phi
		}
		next := phi - slope/curvature
		if !(curvature < 0 && next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-phi) < 1e-9 {
			return next
		}
		phi = next
	}
	return phi
}

// derivatives returns the first and second derivative of D by phi. That of
// log P(s | n) is 2(s cot phi - (n-s) tan phi).
func (g *mixingSearch) derivatives(phi float64) (first, second float64) {
	sin, cos := math.Sincos(phi)
	for i, b := range g.row(phi) {
		s, f := float64(g.cells[i].S), float64(g.cells[i].N-g.cells[i].S)
		slope := 2 * (s*cos/sin - f*sin/cos)
		curvature := -2 * (s/(sin*sin) + f/(cos*cos))
		w := g.weights[i] * b / g.f[i]
		first += w * slope
		second += w * (slope*slope + curvature)
	}
	return first, second
}

// gap returns the largest D.
func (g *mixingSearch) gap() float64 {
	return slices.MaxFunc(g.maxima, func(a, b atom) int { return cmp.Compare(a.slope, b.slope) }).slope
}

// step lets the maxima join the atoms and moves the weights towards those of
// the quadratic model, as far as the likelihood rises by a third of what its
// slope promises.
func (g *mixingSearch) step() {
	for _, a := range g.maxima {
		g.add(a)
	}
	slices.SortFunc(g.atoms, func(a, b atom) int { return cmp.Compare(a.phi, b.phi) })
	target := g.model()
	var promise float64
	from := make([]float64, len(g.atoms))
	for j, a := range g.atoms {
		from[j] = a.weight
		promise += (target[j] - a.weight) * g.slope(a.row)
	}
	before := g.logLik()
	for share := 1.0; share > 1e-10; share /= 2 {
		for j := range g.atoms {
			g.atoms[j].weight = from[j] + share*(target[j]-from[j])
		}
		g.mix()
		if g.logLik() >= before+share*promise/3 {
			break
		}
	}
	g.atoms = slices.DeleteFunc(g.atoms, func(a atom) bool { return !(a.weight > 0) })
	g.look()
}

// add lets a maximum join the atoms: with the weight of one prompt where that
// is more likely, and without any otherwise. A count that the last step left
// nearly impossible is mended at once that way, while the quadratic model, true
// for small changes alone, would double its probability in a step.
func (g *mixingSearch) add(a atom) {
	share := 1 / (g.prompts + 1)
	var rise float64
	for i, w := range g.weights {
		rise += w * math.Log1p(share*(a.row[i]/g.f[i]-1))
	}
	if rise > 0 {
		for j := range g.atoms {
			g.atoms[j].weight *= 1 - share
		}
		a.weight = share
	}
	for i, b := range a.row {
		g.f[i] += a.weight * (b - g.f[i])
	}
	g.atoms = append(g.atoms, a)
}

// model returns the weights w that maximise the quadratic model of the
// log-likelihood: the least squares |S w - 2|, S = row/f, cells weighted by
// their prompts, under w >= 0 and sum w = 1. Since the sum is 1 that is |P w|
// with P = S - 2, which nonnegative least squares solve with one more row that
// asks for the sum, and a scaling (Wang 2007, section 3.2).
func (g *mixingSearch) model() []float64 {
	columns := make([][]float64, len(g.atoms))
	for j, a := range g.atoms {
		column := make([]float64, len(g.cells)+1)
		for i, w := range g.weights {
			column[i] = math.Sqrt(w/g.prompts) * (a.row[i]/g.f[i] - 2)
		}
		column[len(g.cells)] = 1
		columns[j] = column
	}
	right := make([]float64, len(g.cells)+1)
	right[len(g.cells)] = 1
	w := nonnegative(columns, right)
	var sum float64
	for _, x := range w {
		sum += x
	}
	for j := range w {
		w[j] /= sum
	}
	return w
}

func (g *mixingSearch) mixing() *Mixing {
	m := &Mixing{LogLik: g.logLik(), Gap: g.gap()}
	for _, a := range g.atoms {
		sin := math.Sin(a.phi)
		m.Atoms = append(m.Atoms, distributions.Node{P: sin * sin, W: a.weight})
	}
	return m
}
