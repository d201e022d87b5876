package distributions

import "math/rand/v2"

// SpikedBeta is the law of p that is 0 with probability dead, 1 with
// probability solved, and Beta(a,b) otherwise. Build it with NewSpikedBeta.
type SpikedBeta struct {
	dead, solved float64
	share        float64 // of the body: 1 - dead - solved
	body         Beta
}

// NewSpikedBeta returns the law, for dead and solved in [0, 1] with
// dead+solved <= 1, and a and b in [1e-4, 1e6].
func NewSpikedBeta(dead, solved, a, b float64) (SpikedBeta, error) {
	var f faults
	f.probability("dead", dead)
	f.probability("solved", solved)
	if len(f) == 0 {
		f.check("dead+solved", dead+solved, dead+solved <= 1+sumTolerance, "[0, 1]")
	}
	body, err := NewBeta(a, b)
	if err != nil {
		f = append(f, err.(interface{ Unwrap() []error }).Unwrap()...)
	}
	return SpikedBeta{dead, solved, max(0, 1-dead-solved), body}, f.err()
}

// MeanP returns E[p].
func (d SpikedBeta) MeanP() float64 { return d.solved + d.share*d.body.MeanP() }

// MeanU returns E[u].
func (d SpikedBeta) MeanU() float64 { return d.share * d.body.MeanU() }

// CDFU returns P(u <= c). Both spikes lie at u = 0.
func (d SpikedBeta) CDFU(c float64) float64 {
	if c < 0 {
		return 0
	}
	return min(1, 1-d.share+d.share*d.body.CDFU(c))
}

// QuantileU returns 0 for q up to the mass of the spikes, else a quantile of
// the body.
func (d SpikedBeta) QuantileU(q float64) float64 {
	if q <= 1-d.share {
		return 0
	}
	return d.body.QuantileU(min(1, (q-(1-d.share))/d.share))
}

// UpperU returns E[u; u > c].
func (d SpikedBeta) UpperU(c float64) float64 { return d.share * d.body.UpperU(c) }

func (d SpikedBeta) aboveU(c float64) float64 {
	if c < 0 {
		return 1
	}
	return d.share * d.body.aboveU(c)
}

// TopU implements VarianceLaw: the spikes come last and add nothing.
func (d SpikedBeta) TopU(q float64) float64 {
	if q >= d.share {
		return d.MeanU()
	}
	return d.share * d.body.TopU(q/d.share)
}

// Atoms returns the spikes that have mass.
func (d SpikedBeta) Atoms() []Node {
	var atoms []Node
	if d.dead > 0 {
		atoms = append(atoms, Node{0, d.dead})
	}
	if d.solved > 0 {
		atoms = append(atoms, Node{1, d.solved})
	}
	return atoms
}

// Nodes implements Law.
func (d SpikedBeta) Nodes(n int, cuts ...float64) []Node {
	nodes := d.Atoms()
	if d.share > 0 {
		for _, b := range d.body.Nodes(n, cuts...) {
			nodes = append(nodes, Node{b.P, b.W * d.share})
		}
	}
	return mergeNodes(nodes)
}

// Rand draws one p.
func (d SpikedBeta) Rand(r *rand.Rand) float64 {
	switch v := r.Float64(); {
	case v < d.dead:
		return 0
	case v < d.dead+d.solved:
		return 1
	}
	return d.body.Rand(r)
}
