// Package lawtest checks any law of prompt difficulty against the contract of
// package distributions. It knows no law in particular, and states both error
// rates of its tests of sampling.
package lawtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"vigorlab/distributions"
)

// Tolerances. Figures of u are compared relative to E[u] or to 1.
const (
	nodeSum   = 1e-13 // the weights' sum, as Law promises
	accuracy  = 1e-10 // quadrature against formulas, as Law promises
	roundTrip = 1e-12 // CDF of a quantile
)

// smallestCut is the smallest u at which a rule is cut: nodes carry p, and 1-p
// is resolved to 1e-16 only.
const smallestCut = 1e-5

// TestLaw checks one law, in subtests under name.
func TestLaw(t *testing.T, name string, law distributions.Law) {
	t.Run(name, func(t *testing.T) {
		testVariance(t, law)
		t.Run("nodes", func(t *testing.T) { testNodes(t, law) })
		t.Run("polynomials", func(t *testing.T) { testPolynomials(t, law) })
		t.Run("moments", func(t *testing.T) { testMoments(t, law) })
		t.Run("cuts", func(t *testing.T) { testCuts(t, law) })
		t.Run("top", func(t *testing.T) { testTop(t, law) })
		t.Run("atoms", func(t *testing.T) { testAtoms(t, law) })
		t.Run("sampling", func(t *testing.T) { testSampling(t, law) })
		t.Run("streams", func(t *testing.T) { testStreams(t, law) })
		t.Run("goroutines", func(t *testing.T) { testGoroutines(t, law) })
	})
}

// TestConcurrent checks of one law, in a subtest under name, what TestLaw checks with
// goroutines, for a run under the race detector that has no time for the rest.
func TestConcurrent(t *testing.T, name string, law distributions.Law) {
	t.Run(name, func(t *testing.T) { testGoroutines(t, law) })
}

// TestVarianceLaw checks what can be checked of a law of u alone.
func TestVarianceLaw(t *testing.T, name string, law distributions.VarianceLaw) {
	t.Run(name, func(t *testing.T) { testVariance(t, law) })
}

func testVariance(t *testing.T, law distributions.VarianceLaw) {
	t.Run("quantiles", func(t *testing.T) { testQuantiles(t, law) })
	t.Run("concave", func(t *testing.T) { testConcave(t, law) })
	t.Run("corners", func(t *testing.T) { testCorners(t, law) })
}

// shares are the arguments of quantiles and of TopU.
func shares() []float64 {
	q := []float64{0, 1e-9, 1e-6, 1e-3, 1 - 1e-3, 1 - 1e-6, 1}
	for i := 1; i < 32; i++ {
		q = append(q, float64(i)/32)
	}
	slices.Sort(q)
	return q
}

// near fails the test unless |got-want| <= tol; NaN fails.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %.2g", what, got, want, tol)
	}
}

func below(c float64) float64 { return math.Nextafter(c, math.Inf(-1)) }

// rounding is the relative error that a closed form may make in a threshold,
// and that the threshold's p may have.
const rounding = 8 * 0x1p-53

// resolution returns how much CDFU moves where c moves by a rounding: no rule
// can be compared more closely.
func resolution(law distributions.VarianceLaw, c float64) float64 {
	for _, l := range levelsOf(law) {
		if c == l {
			return 0
		}
	}
	return law.CDFU(c*(1+rounding)) - law.CDFU(c*(1-rounding))
}

// levelsOf returns the levels of u that have mass.
func levelsOf(law distributions.VarianceLaw) []float64 {
	var levels []float64
	if l, ok := law.(distributions.Law); ok {
		for _, a := range l.Atoms() {
			levels = append(levels, distributions.Level(a.P))
		}
	}
	return levels
}

func testQuantiles(t *testing.T, law distributions.VarianceLaw) {
	last := math.Inf(-1)
	for _, q := range shares() {
		c := law.QuantileU(q)
		if !(c >= last && c >= 0) {
			t.Errorf("QuantileU(%v) = %v, below that of a smaller share, %v", q, c, last)
		}
		last = c
		if math.IsInf(c, 1) && q == 1 {
			continue
		}
		tol := roundTrip + resolution(law, c)
		if got := law.CDFU(c); !(got >= q-tol) {
			t.Errorf("CDFU(QuantileU(%v)) = %v", q, got)
		}
		if got := law.CDFU(below(c)); !(got <= q+tol) && q > 0 {
			t.Errorf("CDFU just below QuantileU(%v) = %v: not the smallest", q, got)
		}
		if again := law.QuantileU(law.CDFU(c)); !(again <= c*(1+1e-9)) {
			t.Errorf("QuantileU(CDFU(%v)) = %v, want at most the same", c, again)
		}
	}
}

func testConcave(t *testing.T, law distributions.VarianceLaw) {
	mean := law.MeanU()
	if math.IsInf(mean, 1) {
		return
	}
	var lastQ, lastTop float64
	lastSlope := math.Inf(1)
	for _, q := range shares() {
		top := law.TopU(q)
		if q > 0 {
			slope := (top - lastTop) / (q - lastQ)
			if !(slope >= -roundTrip && slope <= lastSlope*(1+1e-9)+1e-9*mean) {
				t.Errorf("TopU rises by %v per share before %v, want at least 0 and at most %v as before", slope, q, lastSlope)
			}
			lastSlope = slope
		}
		lastQ, lastTop = q, top
	}
	near(t, "TopU(0)", law.TopU(0), 0, 0)
	near(t, "TopU(1)", law.TopU(1), mean, 1e-13*mean)
}

func testCorners(t *testing.T, law distributions.VarianceLaw) {
	for _, f := range []func(float64) float64{law.CDFU, law.QuantileU, law.UpperU, law.TopU} {
		f(math.NaN()) // whatever it returns, it must return
	}
	near(t, "CDFU(-1)", law.CDFU(-1), 0, 0)
	near(t, "CDFU(-tiny)", law.CDFU(-math.SmallestNonzeroFloat64), 0, 0)
	near(t, "CDFU(+Inf)", law.CDFU(math.Inf(1)), 1, 0)
	if mean := law.MeanU(); !math.IsInf(mean, 1) {
		near(t, "UpperU(-1)", law.UpperU(-1), mean, 1e-13*mean)
	}
	if high := law.QuantileU(1); !math.IsInf(high, 1) {
		near(t, "CDFU at the upper end", law.CDFU(high), 1, 0)
		near(t, "UpperU at the upper end", law.UpperU(high), 0, 0)
	}
}

// cuts are thresholds of u that matter: quantiles, the default frontier and
// every level of an atom, up to a few.
func cuts(law distributions.Law) []float64 {
	c := []float64{0.02, 0.36, 0.75, 0.84, 0.99}
	for _, q := range shares() {
		c = append(c, law.QuantileU(q))
	}
	for i, a := range law.Atoms() {
		if i < 20 {
			c = append(c, distributions.Level(a.P))
		}
	}
	slices.Sort(c)
	return slices.DeleteFunc(slices.Compact(c), func(c float64) bool { return c < smallestCut })
}

// expect returns the rule's E[f(p)].
func expect(nodes []distributions.Node, f func(p float64) float64) float64 {
	var sum float64
	for _, n := range nodes {
		sum += n.W * f(n.P)
	}
	return sum
}

func testNodes(t *testing.T, law distributions.Law) {
	all := cuts(law)
	atom := map[float64]float64{}
	for _, a := range law.Atoms() {
		atom[a.P] = a.W
	}
	for _, n := range []int{-1, 1, 64, 2000} {
		for _, cut := range [][]float64{nil, {0.75}, {0, 1, 2, -1, math.NaN(), 0.75, 0.75}, all} {
			nodes := law.Nodes(n, cut...)
			if most := 4*max(n, 0) + 100*(1+len(cut)) + 400 + len(atom); len(nodes) == 0 || len(nodes) > most {
				t.Errorf("%d nodes for n = %d and %d cuts, want 1 to %d", len(nodes), n, len(cut), most)
			}
			near(t, fmt.Sprintf("weights of n = %d", n), expect(nodes, func(float64) float64 { return 1 }), 1, nodeSum)
			last := math.Inf(-1)
			for _, x := range nodes {
				if !(x.P > last && x.P >= 0 && x.P <= 1 && x.W >= 0) {
					t.Fatalf("node %+v after p = %v: want ascending p in [0, 1] and weights >= 0", x, last)
				}
				last = x.P
				if _, isAtom := atom[x.P]; !isAtom && onCut(x.P, cut) {
					t.Errorf("the continuous node %+v lies on a cut", x)
				}
			}
			for p, w := range atom {
				i := slices.IndexFunc(nodes, func(x distributions.Node) bool { return x.P == p })
				if i < 0 || !(nodes[i].W >= w*(1-1e-9)) {
					t.Errorf("n = %d: no node holds the atom at %v of weight %v", n, p, w)
				}
			}
		}
	}
	before := law.Nodes(64)
	for i := range before {
		before[i] = distributions.Node{P: -1, W: -1}
	}
	if first := law.Nodes(64)[0]; first.P < 0 {
		t.Error("the caller's change to a rule shows in the next one")
	}
}

// onCut reports whether p is one of the two roots of 4p(1-p) = c for a cut c.
func onCut(p float64, cuts []float64) bool {
	return slices.ContainsFunc(cuts, func(c float64) bool {
		root := c / (2 * (1 + math.Sqrt(1-c)))
		return c > 0 && (p == root || p == 1-root)
	})
}

// testPolynomials compares E[p^s (1-p)^(d-s)], d = n/8, between rules of n and
// of 8n nodes, to the promised relative accuracy.
func testPolynomials(t *testing.T, law distributions.Law) {
	for _, n := range []int{64, 480, 2000} {
		d := n / 8
		coarse, fine := law.Nodes(n), law.Nodes(8*n)
		for _, s := range []int{0, d / 8, d / 2, d - d/8, d} {
			f := func(p float64) float64 {
				return math.Pow(p, float64(s)) * math.Pow(1-p, float64(d-s))
			}
			want := expect(fine, f)
			if want < 1e-290 {
				continue
			}
			near(t, fmt.Sprintf("n = %d: E[p^%d (1-p)^%d]", n, s, d-s), expect(coarse, f), want, accuracy*want)
		}
	}
}

func testMoments(t *testing.T, law distributions.Law) {
	nodes := law.Nodes(2000)
	near(t, "MeanP", law.MeanP(), expect(nodes, func(p float64) float64 { return p }), accuracy*law.MeanP())
	near(t, "MeanU", law.MeanU(), expect(nodes, distributions.U), accuracy*law.MeanU())
}

// above returns the rule's P(u > c) and E[u; u > c].
func above(nodes []distributions.Node, c float64) (mass, part float64) {
	for _, n := range nodes {
		if u := distributions.Level(n.P); u > c {
			mass += n.W
			part += n.W * u
		}
	}
	return mass, part
}

func testCuts(t *testing.T, law distributions.Law) {
	for _, c := range cuts(law) {
		mass, part := above(law.Nodes(2000, c), c)
		tol := resolution(law, c)
		near(t, fmt.Sprintf("CDFU(%v)", c), law.CDFU(c), 1-mass, accuracy+tol)
		near(t, fmt.Sprintf("UpperU(%v)", c), law.UpperU(c), part, accuracy*law.MeanU()+c*tol)
	}
}

func testTop(t *testing.T, law distributions.Law) {
	for _, q := range shares() {
		c := law.QuantileU(1 - q)
		if c < smallestCut {
			continue
		}
		mass, part := above(law.Nodes(2000, c), c)
		near(t, fmt.Sprintf("TopU(%v)", q), law.TopU(q), part+c*(q-mass), accuracy*law.MeanU())
	}
}

// testAtoms checks that CDFU jumps, and TopU is straight, where an atom says so.
func testAtoms(t *testing.T, law distributions.Law) {
	atoms := law.Atoms()
	levels := map[float64]float64{}
	last, mass := math.Inf(-1), 0.0
	for _, a := range atoms {
		if !(a.P > last && a.P >= 0 && a.P <= 1 && a.W > 0) {
			t.Fatalf("atom %+v after p = %v: want ascending p in [0, 1] without repeats and weights > 0", a, last)
		}
		last = a.P
		levels[distributions.Level(a.P)] += a.W
		mass += a.W
	}
	var exact float64 // where all is atoms; otherwise the CDF beside one may waver in its last digit
	if mass < 1-1e-9 {
		exact = 1e-12
	}
	for c, w := range levels {
		near(t, fmt.Sprintf("QuantileU(CDFU(%v))", c), law.QuantileU(law.CDFU(c)), c, exact)
		beside := law.CDFU(below(c)) - law.CDFU(below(c)-rounding) // continuous mass that cannot be told from the atom
		near(t, fmt.Sprintf("jump of CDFU at %v", c), law.CDFU(c)-law.CDFU(below(c)), w, 1e-12+beside)
		high := 1 - law.CDFU(below(c))
		near(t, fmt.Sprintf("TopU across the atom at u = %v", c), law.TopU(high-w/2), (law.TopU(high-w)+law.TopU(high))/2, 1e-12)
		near(t, fmt.Sprintf("slope of TopU across the atom at u = %v", c), law.TopU(high)-law.TopU(high-w), c*w, 1e-12)
	}
	for i := range atoms {
		atoms[i].P = -1
	}
	if again := law.Atoms(); len(again) > 0 && again[0].P < 0 {
		t.Error("the caller's change to the atoms shows in the law")
	}
}

const (
	draws = 200_000
	// A false alarm over all laws and their three tests has probability at
	// most 1e-6, over seeds, up to 100 laws.
	alpha = 1e-6 / 300
)

// testSampling compares draws with the law. By the inequality of Dvoretzky,
// Kiefer, Wolfowitz and Massart, P(sup |F_n - F| > tol) <= alpha for any law,
// atoms or not, and by Hoeffding P(|mean - E[p]| > tol) <= alpha. A mean that
// is off by 2*tol = 0.0142, or a distribution function that is off by as much
// at a point compared below, is missed with probability at most alpha. The seed
// is fixed; never reseed to pass.
func testSampling(t *testing.T, law distributions.Law) {
	tol := math.Sqrt(math.Log(2/alpha) / (2 * draws))
	r := rand.New(rand.NewPCG(20260101, 7))
	p, u := make([]float64, draws), make([]float64, draws)
	var mean float64
	for i := range p {
		p[i] = law.Rand(r)
		if !(p[i] >= 0 && p[i] <= 1) {
			t.Fatalf("draw %d is %v, want [0, 1]", i, p[i])
		}
		u[i] = distributions.Level(p[i])
		mean += p[i] / draws
	}
	near(t, "mean of p", mean, law.MeanP(), tol)
	slices.Sort(p)
	slices.Sort(u)
	for _, x := range []float64{smallestCut, 1e-3, 0.01, 0.1, 0.2, 0.3, 0.4, 0.49, 0.5, 0.51, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999} {
		want := expect(law.Nodes(2000, distributions.U(x)), func(p float64) float64 {
			if p <= x {
				return 1
			}
			return 0
		})
		near(t, fmt.Sprintf("share of p <= %v", x), share(p, x), want, tol)
	}
	for _, q := range shares() {
		c := max(smallestCut, law.QuantileU(q))
		near(t, fmt.Sprintf("share of u <= %v", c), share(u, c), law.CDFU(c), tol+resolution(law, c))
	}
}

// share returns the share of the sorted xs that are at most x.
func share(xs []float64, x float64) float64 {
	i, _ := slices.BinarySearch(xs, math.Nextafter(x, math.Inf(1)))
	return float64(i) / float64(len(xs))
}

// testStreams checks that a draw depends on the given stream, and on it alone.
func testStreams(t *testing.T, law distributions.Law) {
	a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		if x, y := law.Rand(a), law.Rand(b); x != y {
			t.Fatalf("draw %d: %v and %v from the same seed", i, x, y)
		}
	}
	if a.Uint64() != b.Uint64() {
		t.Error("the streams differ after the same draws")
	}
}

// testGoroutines uses the law from several goroutines, for the race detector
// to watch, and compares what they find.
func testGoroutines(t *testing.T, law distributions.Law) {
	figures := func() []float64 {
		r := rand.New(rand.NewPCG(3, 4))
		f := []float64{law.MeanP(), law.MeanU(), law.CDFU(0.3), law.UpperU(0.3), law.TopU(0.25), law.QuantileU(0.7), law.Rand(r)}
		for _, n := range append(law.Nodes(64, 0.75), law.Atoms()...) {
			f = append(f, n.P, n.W)
		}
		return f
	}
	want := figures()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := figures(); !slices.Equal(got, want) {
				t.Errorf("another goroutine finds %v, want %v", got, want)
			}
		})
	}
	group.Wait()
}
