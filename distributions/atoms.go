package distributions

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// sumTolerance is how far probabilities that a user types may miss their sum:
// 0.333333333+0.666666667 is meant to be 1, and 0.33+0.66 is not.
const sumTolerance = 1e-9

// Atoms is the law of a p that takes finitely many values: a point, a list of
// weighted points, the success rates of a recorded table. Two values with the
// same Level are one level of u. Build it with NewAtoms or NewPoint.
type Atoms struct {
	nodes  []Node    // ascending p, weights sum to 1
	cdf    []float64 // P(p <= nodes[i].P), the last 1
	guide  []int     // guide[k]: the first i with cdf[i] > k/len(guide)
	u      []float64 // levels of u, ascending
	cdfU   []float64 // P(u <= u[i]), the last 1
	above  []float64 // P(u > u[i])
	upperU []float64 // E[u; u > u[i]]
	meanP  float64
	meanU  float64
}

// NewPoint returns the law of a prompt whose success probability is p.
func NewPoint(p float64) (*Atoms, error) {
	var f faults
	f.probability("p", p)
	if err := f.err(); err != nil {
		return nil, err
	}
	return NewAtoms([]Node{{p, 1}})
}

// NewAtoms returns the law with the given points, each P in [0, 1] with its
// weight W >= 0. Weights must sum to 1 within 1e-9 and are scaled to do so
// exactly; points at one P are joined, those without weight left out.
func NewAtoms(nodes []Node) (*Atoms, error) {
	var f faults
	var sum float64
	for _, n := range nodes {
		f.probability("p", n.P)
		f.probability("weight", n.W)
		sum += n.W
	}
	if len(f) == 0 {
		f.check("sum of weights", sum, math.Abs(sum-1) <= sumTolerance, "1 within 1e-9")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &Atoms{nodes: mergeNodes(slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.W == 0 }))}
	d.setUp()
	return d, nil
}

// setUp fills what follows from the nodes.
func (d *Atoms) setUp() {
	levels := slices.Clone(d.nodes) // P holds the level
	var mass float64
	for i, n := range d.nodes {
		mass += n.W
		d.cdf = append(d.cdf, mass)
		d.meanP += n.W * n.P
		levels[i].P = Level(n.P)
	}
	levels = mergeNodes(levels)
	k := len(levels)
	d.u, d.cdfU = make([]float64, k), make([]float64, k)
	d.above, d.upperU = make([]float64, k), make([]float64, k)
	mass = 0
	for i, l := range levels {
		mass += l.W
		d.u[i], d.cdfU[i] = l.P, mass
	}
	for i := k - 2; i >= 0; i-- {
		next := levels[i+1]
		d.above[i] = d.above[i+1] + next.W
		d.upperU[i] = d.upperU[i+1] + next.W*next.P
	}
	d.meanU = d.upperU[0] + levels[0].W*levels[0].P
	d.cdf[len(d.cdf)-1], d.cdfU[k-1] = 1, 1
	d.guide = make([]int, len(d.nodes))
	for g, i := 0, 0; g < len(d.guide); g++ {
		for d.cdf[i] <= float64(g)/float64(len(d.guide)) {
			i++
		}
		d.guide[g] = i
	}
}

// levelAt returns the index of the largest level <= c, or -1.
func (d *Atoms) levelAt(c float64) int {
	return sort.Search(len(d.u), func(i int) bool { return d.u[i] > c }) - 1
}

// MeanP returns E[p].
func (d *Atoms) MeanP() float64 { return d.meanP }

// MeanU returns E[u].
func (d *Atoms) MeanU() float64 { return d.meanU }

// CDFU returns P(u <= c).
func (d *Atoms) CDFU(c float64) float64 {
	if i := d.levelAt(c); i >= 0 {
		return d.cdfU[i]
	}
	return 0
}

// QuantileU returns the smallest level whose CDF reaches q.
func (d *Atoms) QuantileU(q float64) float64 {
	i, _ := slices.BinarySearch(d.cdfU, q)
	return d.u[min(i, len(d.u)-1)]
}

// UpperU returns E[u; u > c].
func (d *Atoms) UpperU(c float64) float64 {
	if i := d.levelAt(c); i >= 0 {
		return d.upperU[i]
	}
	return d.meanU
}

func (d *Atoms) aboveU(c float64) float64 {
	if i := d.levelAt(c); i >= 0 {
		return d.above[i]
	}
	return 1
}

// TopU implements VarianceLaw.
func (d *Atoms) TopU(q float64) float64 {
	// the first level with at most q above it
	i := sort.Search(len(d.u)-1, func(i int) bool { return d.above[i] <= q })
	mass := 1 - d.above[i]
	if i > 0 {
		mass = d.above[i-1] - d.above[i]
	}
	return d.upperU[i] + d.u[i]*min(mass, max(0, q-d.above[i]))
}

// Atoms implements Law.
func (d *Atoms) Atoms() []Node { return slices.Clone(d.nodes) }

// Nodes returns the atoms, whatever n and cuts.
func (d *Atoms) Nodes(int, ...float64) []Node { return slices.Clone(d.nodes) }

// Rand draws one p: by inversion, with a guide to where in the CDF to start
// (Chen and Asau 1974), which takes two steps on average however many atoms
// there are.
func (d *Atoms) Rand(r *rand.Rand) float64 {
	v := r.Float64()
	i := d.guide[int(v*float64(len(d.guide)))]
	for d.cdf[i] <= v {
		i++
	}
	return d.nodes[i].P
}
