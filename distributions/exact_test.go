package distributions_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/distributions"
)

// TestUniformInClosedForm: with t = |1-2p| uniform and u = 1-t^2,
// P(u > c) = sqrt(1-c) and TopU(q) = q - q^3/3.
func TestUniformInClosedForm(t *testing.T) {
	law := distributions.NewUniform()
	for _, q := range []float64{1e-300, 1e-12, 1e-6, 0.01, 0.125, 0.5, 0.9, 1} {
		relative(t, fmt.Sprintf("TopU(%v)", q), law.TopU(q), q-q*q*q/3, 1e-14)
	}
	for _, c := range []float64{1e-300, 1e-9, 0.01, 0.5, 0.75, 0.99, 1 - 1e-9, 1 - 0x1p-53} {
		x := math.Sqrt(1 - c)
		relative(t, fmt.Sprintf("CDFU(%v)", c), law.CDFU(c), c/(1+x), 1e-13)
		relative(t, fmt.Sprintf("UpperU(%v)", c), law.UpperU(c), x-x*x*x/3, 1e-13)
	}
	for _, q := range []float64{1e-9, 0.01, 0.5, 0.75, 0.999} {
		relative(t, fmt.Sprintf("QuantileU(%v)", q), law.QuantileU(q), q*(2-q), 1e-14)
	}
}

// TestParetoSuccessNearOne: at shape 1 on [1-d, 1],
// E[u] = 4 (1-d) (-log(1-d)/d - 1) = 4 (1-d) (d/2 + d^2/3 + ...), which p and
// p^2 would lose in their difference.
func TestParetoSuccessNearOne(t *testing.T) {
	for _, d := range []float64{0x1p-10, 0x1p-23, 0x1p-40} {
		law := must(distributions.NewParetoSuccess(1, 1-d, 1))
		relative(t, fmt.Sprintf("MeanU for d = %v", d), law.MeanU(), 4*(1-d)*d*(1./2+d/3+d*d/4+d*d*d/5), 1e-12)
	}
}

// TestUnboundedInClosedForm (theory.md, section 3).
func TestUnboundedInClosedForm(t *testing.T) {
	for _, k := range []float64{1.000001, 1.1, 1.5, 2, 3, 100} {
		law := must(distributions.NewUnboundedPareto(k, 0.01))
		mean := 0.01 * k / (k - 1)
		relative(t, "MeanU", law.MeanU(), mean, 1e-15)
		for _, q := range []float64{1e-12, 0.125, 0.5, 1} {
			relative(t, "TopU", law.TopU(q), mean*math.Pow(q, 1-1/k), 1e-13)
			relative(t, "QuantileU", law.QuantileU(1-q), 0.01*math.Pow(1-(1-q), -1/k), 1e-13)
		}
		for _, c := range []float64{0.01, 0.02, 1, 50} {
			relative(t, "CDFU", law.CDFU(c), 1-math.Pow(c/0.01, -k), 1e-13)
			relative(t, "UpperU", law.UpperU(c), mean*math.Pow(c/0.01, 1-k), 1e-13)
		}
	}
	for _, k := range []float64{1, 0.5} { // no mean
		law := must(distributions.NewUnboundedPareto(k, 0.01))
		if !math.IsInf(law.MeanU(), 1) || !math.IsInf(law.UpperU(5), 1) || !math.IsInf(law.TopU(0.5), 1) || law.TopU(0) != 0 {
			t.Errorf("shape %v: means %v, %v, %v, %v, want +Inf, and 0 at q = 0", k, law.MeanU(), law.UpperU(5), law.TopU(0.5), law.TopU(0))
		}
	}
}

// TestEtaOfTheory compares perfect selection at the defaults, alpha = 1/2,
// gamma = 2, T = 4, with theory.md, sections 3 to 3.2.
func TestEtaOfTheory(t *testing.T) {
	for _, c := range []struct {
		law distributions.VarianceLaw
		eta float64
	}{
		{must(distributions.NewUnboundedPareto(1.1, 0.01)), 3.256563},
		{must(distributions.NewUnboundedPareto(1.5, 0.2)), 2.276811},
		{must(distributions.NewUnboundedPareto(3, 0.2)), 1.461831},
		{must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5)), 2.116556},
		{must(distributions.NewParetoVariance(2, 0.01, 1, 0)), 1.791414},
		{must(distributions.NewParetoVariance(1, 0.01, 1, 1)), 2.507505},
		{must(distributions.NewBeta(0.1, 0.3)), 2.66620},
		{distributions.NewUniform(), 1.333984},
	} {
		eta := 0.0
		for i := range 4 {
			eta += math.Pow(2, float64(i)) * c.law.TopU(math.Pow(2, -float64(i))) / (4 * c.law.MeanU())
		}
		relative(t, fmt.Sprintf("eta of %+v", c.law), eta, c.eta, 4e-7)
	}
}

// TestAtomsByEnumeration compares random lists of s/n, ties between s and n-s
// among them, with sorting.
func TestAtomsByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 30).Draw(t, "prompts")
		var nodes []distributions.Node
		var levels []float64
		for range count {
			n := rapid.SampledFrom([]int{1, 7, 8, 10, 40, 1024}).Draw(t, "n")
			s := rapid.IntRange(0, n).Draw(t, "s")
			nodes = append(nodes, distributions.Node{P: float64(s) / float64(n), W: 1 / float64(count)})
			levels = append(levels, 4*float64(s)*float64(n-s)/float64(n*n))
		}
		law := must(distributions.NewAtoms(nodes))
		slices.Sort(levels)
		slices.Reverse(levels)
		for _, c := range append(slices.Clone(levels), 0.75, 0.36, 0.84) {
			var atMost int
			var upper float64
			for _, u := range levels {
				if u <= c {
					atMost++
				} else {
					upper += u / float64(count)
				}
			}
			share := float64(atMost) / float64(count)
			if got := law.CDFU(c); !(math.Abs(got-share) < 1e-14) {
				t.Fatalf("CDFU(%v) = %v, want %v", c, got, share)
			}
			if got := law.UpperU(c); !(math.Abs(got-upper) < 1e-14) {
				t.Fatalf("UpperU(%v) = %v, want %v", c, got, upper)
			}
		}
		var top float64 // of the best i prompts
		for i, u := range levels {
			half := (float64(i) + 0.5) / float64(count)
			if got, want := law.TopU(half), top+u/float64(2*count); !(math.Abs(got-want) < 1e-14) {
				t.Fatalf("TopU(%v) = %v, want %v", half, got, want)
			}
			if got := law.QuantileU(1 - half); got != u {
				t.Fatalf("QuantileU(%v) = %v, want %v", 1-half, got, u)
			}
			top += u / float64(count)
		}
	})
}

// TestFrontierOfATable: with 8 rollouts, 2 and 6 successes lie on the frontier
// u >= 3/4 exactly, and with 40, 10 and 30.
func TestFrontierOfATable(t *testing.T) {
	for _, n := range []int{8, 40} {
		var nodes []distributions.Node
		for s := range n + 1 {
			nodes = append(nodes, distributions.Node{P: float64(s) / float64(n), W: 1 / float64(n+1)})
		}
		law := must(distributions.NewAtoms(nodes))
		want := float64(n/2+1) / float64(n+1) // s from n/4 to 3n/4
		if got := 1 - law.CDFU(math.Nextafter(0.75, 0)); !(math.Abs(got-want) < 1e-14) {
			t.Errorf("n = %d: P(u >= 3/4) = %v, want %v", n, got, want)
		}
		var mass float64
		for _, x := range law.Nodes(2000, 0.75) {
			if distributions.AtLeast(x.P, 0.75) {
				mass += x.W
			}
		}
		if !(math.Abs(mass-want) < 1e-14) {
			t.Errorf("n = %d: nodes on the frontier weigh %v, want %v", n, mass, want)
		}
	}
}

// TestNodesAtTinyCuts: a cut at a u that float64 can barely hold costs no mass
// and no moment.
func TestNodesAtTinyCuts(t *testing.T) {
	law := must(distributions.NewBeta(0.0005, 0.5))
	for _, c := range []float64{1e-250, 1e-289, 1e-300, 1e-310, 1.5e-323, math.SmallestNonzeroFloat64} {
		var mass, u float64
		for _, x := range law.Nodes(2000, c, 0.75) {
			mass += x.W
			u += x.W * distributions.U(x.P)
		}
		relative(t, fmt.Sprintf("mass at the cut %v", c), mass, 1, 1e-12)
		relative(t, fmt.Sprintf("E[u] at the cut %v", c), u, law.MeanU(), 1e-10)
	}
}

// TestParetoEdges: at the ends of the ranges, E[u] is still that of the nodes.
// All prompts are hard: p is resolved to 1e-16 only next to 1.
func TestParetoEdges(t *testing.T) {
	for _, shape := range []float64{1e-9, 0.5, 1e4} {
		for _, low := range []float64{1e-100, 0.3} {
			for name, law := range map[string]distributions.Law{
				"pareto-variance": must(distributions.NewParetoVariance(shape, low, 1, 1)),
				"pareto-success":  must(distributions.NewParetoSuccess(shape, low, 1)),
			} {
				var u float64
				for _, x := range law.Nodes(2000) {
					u += x.W * distributions.U(x.P)
				}
				relative(t, fmt.Sprintf("%s:shape=%v,min=%v: E[u]", name, shape, low), u, law.MeanU(), 1e-10)
			}
		}
	}
}

// TestPartsAddUp: a spiked Beta is the mixture of its parts.
func TestPartsAddUp(t *testing.T) {
	whole := must(distributions.NewSpikedBeta(0.3, 0.1, 0.5, 0.7))
	parts := must(distributions.NewMixture([]float64{0.3, 0.1, 0.6}, []distributions.Law{
		must(distributions.NewPoint(0)), must(distributions.NewPoint(1)), must(distributions.NewBeta(0.5, 0.7)),
	}))
	relative(t, "MeanP", whole.MeanP(), parts.MeanP(), 1e-15)
	relative(t, "MeanU", whole.MeanU(), parts.MeanU(), 1e-15)
	for _, x := range []float64{0, 1e-6, 0.1, 0.39, 0.4, 0.41, 0.6, 0.75, 0.999, 1} {
		relative(t, fmt.Sprintf("CDFU(%v)", x), whole.CDFU(x), parts.CDFU(x), 1e-14)
		relative(t, fmt.Sprintf("UpperU(%v)", x), whole.UpperU(x), parts.UpperU(x), 1e-14)
		relative(t, fmt.Sprintf("TopU(%v)", x), whole.TopU(x), parts.TopU(x), 1e-13)
		relative(t, fmt.Sprintf("QuantileU(%v)", x), whole.QuantileU(x), parts.QuantileU(x), 1e-12)
	}
}

func benchmarkRand(b *testing.B, law distributions.Law) {
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	var sum float64
	for b.Loop() {
		sum += law.Rand(r)
	}
	_ = sum
}

func BenchmarkRandParetoSuccess(b *testing.B) {
	benchmarkRand(b, must(distributions.NewParetoSuccess(1.2, 0.01, 1)))
}

func BenchmarkRandSpikedBeta(b *testing.B) {
	benchmarkRand(b, must(distributions.NewSpikedBeta(0.3, 0.1, 2, 6)))
}

func BenchmarkRandBeta(b *testing.B) { benchmarkRand(b, must(distributions.NewBeta(0.1, 0.3))) }

func BenchmarkRandUniform(b *testing.B) { benchmarkRand(b, distributions.NewUniform()) }

func BenchmarkRandAtoms(b *testing.B) {
	nodes := make([]distributions.Node, 41)
	for s := range nodes {
		nodes[s] = distributions.Node{P: float64(s) / 40, W: 1. / 41}
	}
	benchmarkRand(b, must(distributions.NewAtoms(nodes)))
}

func benchmarkNodes(b *testing.B, law distributions.Law) {
	for b.Loop() {
		law.Nodes(2000, 0.75)
	}
}

func BenchmarkNodesBeta(b *testing.B) { benchmarkNodes(b, must(distributions.NewBeta(0.02, 0.05))) }

func BenchmarkNodesParetoVariance(b *testing.B) {
	benchmarkNodes(b, must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5)))
}

func BenchmarkTopUBeta(b *testing.B) {
	law := must(distributions.NewBeta(0.1, 0.3))
	for b.Loop() {
		law.TopU(0.125)
	}
}

func BenchmarkQuantileUBeta(b *testing.B) {
	law := must(distributions.NewBeta(0.1, 0.3))
	for b.Loop() {
		law.QuantileU(0.3)
	}
}
