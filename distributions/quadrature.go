package distributions

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// panelNodes is the number of Gauss points of a panel. On panels whose ends
// differ by a factor of 4, a power singularity at 0 lies on the Bernstein
// ellipse 3, and 3^(-2*20) is below the rounding error.
const panelNodes = 20

// maxRatio is the largest ratio of the ends of a panel that does not touch 0.
const maxRatio = 4

// A branch is the part of a continuous law with p <= 1/2, or that with
// p >= 1/2, as a density in m = min(p, 1-p).
type branch struct {
	low, high float64                 // the range of m, within [0, 1/2]
	density   func(m float64) float64 // of the law's mass, over m
	power     float64                 // where low = 0: the density is m^(power-1) times a smooth function, power > 0
	steep     float64                 // |d log density / d log m| at most, roughly; bounds the panels' ratio
}

// angle maps m in [0, 1/2] to [0, pi/4]. Panels of equal width in it resolve
// polynomials in p evenly, as Chebyshev's points do.
func angle(m float64) float64 { return math.Asin(math.Sqrt(m)) }

func fromAngle(phi float64) float64 {
	if phi >= math.Pi/4 {
		return 0.5
	}
	s := math.Sin(phi)
	return s * s
}

// width returns the length of the branch in angle.
func (b branch) width() float64 { return angle(b.high) - angle(b.low) }

// edges returns the ends of the branch's panels: the breaks that lie inside,
// and between them steps of at most width in angle and at most the allowed
// ratio.
func (b branch) edges(breaks []float64, width float64) []float64 {
	stops := []float64{b.low, b.high}
	for _, x := range breaks {
		if x > b.low && x < b.high {
			stops = append(stops, x)
		}
	}
	slices.Sort(stops)
	stops = slices.Compact(stops)
	ratio := min(maxRatio, math.Exp(16/(1+b.steep)))
	edges := stops[:1:1]
	for _, stop := range stops[1:] {
		for x := edges[len(edges)-1]; x < stop; {
			next := fromAngle(min(angle(x)+width, math.Pi/4))
			if x > 0 {
				next = min(next, x*ratio)
			}
			if !(next > x) || next > x+0.75*(stop-x) {
				next = stop // rather one panel a little wide than a sliver
			}
			x = next
			edges = append(edges, x)
		}
	}
	return edges
}

// nodes returns the quadrature rule of the branch, P standing for m, in
// ascending order.
func (b branch) nodes(breaks []float64, width float64) []Node {
	var legendre, jacobi rule
	edges := b.edges(breaks, width)
	nodes := make([]Node, 0, panelNodes*len(edges))
	for i, x := range edges[:len(edges)-1] {
		y := edges[i+1]
		if y-x <= 1e-12*y { // no room for Gauss points: the midpoint rule
			m := x + (y-x)/2
			onCut := m <= x || m >= y || 1-m >= 1-x || 1-m <= 1-y
			if !onCut || len(edges) == 2 {
				nodes = append(nodes, Node{m, b.density(m) * (y - x)})
			}
			continue
		}
		use := &legendre
		if x == 0 {
			use = &jacobi
		}
		if use.t[0] == 0 {
			use.fill(x == 0, b.power)
		}
		for j, t := range use.t {
			m := x + (y-x)*t
			nodes = append(nodes, Node{m, use.w[j] * (y - x) * b.density(m)})
		}
	}
	return nodes
}

// A rule is a Gauss rule for integrals over [0, 1].
type rule struct{ t, w [panelNodes]float64 }

func (r *rule) fill(singular bool, power float64) {
	if singular && power != 1 {
		r.jacobi(power)
		return
	}
	quad.Legendre{}.FixedLocations(r.t[:], r.w[:], 0, 1)
}

// jacobi makes the rule exact for t^(power-1) times polynomials of degree
// below 2*panelNodes, by the eigenvalues of the Jacobi matrix (Golub and
// Welsch 1969; the recurrence is DLMF 18.9.2 for the weight (1+x)^(power-1) on
// [-1, 1], moved to t = (1+x)/2). The weights include t^(1-power), so that the
// rule applies to the whole integrand. LAPACK's solver for tridiagonal matrices
// is called by itself: the page of vigorlab explore loads what this links.
func (r *rule) jacobi(power float64) {
	var off [panelNodes - 1]float64
	var vectors [panelNodes * panelNodes]float64
	var work [2 * (panelNodes - 1)]float64
	r.t[0] = power / (power + 1)
	for i := 1; i < panelNodes; i++ {
		k, d := float64(i), 2*float64(i)+power-1
		r.t[i] = (1 + (power-1)*(power-1)/(d*(d+2))) / 2
		off[i-1] = math.Sqrt(k * k * (k + power - 1) * (k + power - 1) / (d * d * (d + 1) * (d - 1)))
	}
	if !(gonum.Implementation{}).Dsteqr(lapack.EVTridiag, panelNodes, r.t[:], off[:], vectors[:], panelNodes, work[:]) {
		panic("distributions: the eigenvalues of a Jacobi matrix did not converge")
	}
	for k, t := range r.t {
		v := vectors[k] // of the first row
		r.w[k] = v * v / power * math.Pow(t, 1-power)
	}
}

// smallestBreak bounds the breaks from below: densities of m nearer to 0
// overflow, and no u <= 4m there counts beside any other. A lower break is
// moved up to it.
const smallestBreak = 1e-290

// continuousNodes returns the rule of a law made of up to two branches, with
// about n nodes and weights that sum to 1.
func continuousNodes(lower, upper branch, n int, cuts []float64) []Node {
	breaks := make([]float64, 0, len(cuts))
	for _, c := range cuts {
		if c > 0 && c < 1 {
			breaks = append(breaks, max(lowerRoot(c), smallestBreak))
		}
	}
	panels := max(2, (n+panelNodes-1)/panelNodes)
	width := (lower.width() + upper.width()) / float64(panels)
	nodes := lower.nodes(breaks, width)
	mirrored := upper.nodes(breaks, width)
	for _, m := range slices.Backward(mirrored) {
		nodes = append(nodes, Node{1 - m.P, m.W})
	}
	return mergeNodes(nodes)
}

// joinNodes sorts nodes by p, in place, and joins those at one p.
func joinNodes(nodes []Node) []Node {
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.P, b.P) })
	joined := nodes[:0]
	for _, n := range nodes {
		if k := len(joined); k > 0 && joined[k-1].P == n.P {
			joined[k-1].W += n.W
		} else {
			joined = append(joined, n)
		}
	}
	return joined
}

// mergeNodes joins nodes and scales their weights to sum to 1.
func mergeNodes(nodes []Node) []Node {
	nodes = joinNodes(nodes)
	var total float64
	for _, n := range nodes {
		total += n.W
	}
	for i := range nodes {
		nodes[i].W /= total
	}
	return nodes
}
