package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// withoutShape hides that a law is Pareto, so that the quadrature is used.
type withoutShape struct{ distributions.VarianceLaw }

// closedUniform is the uniform law of p with TopU in closed form, which is
// quicker than the inversion of a Beta law.
type closedUniform struct{ distributions.Law }

func (closedUniform) TopU(q float64) float64 { return q - q*q*q/3 }

// TestFiniteBatchQuadrature holds the quadrature against closed forms up to
// B = 10^6. For uniform p, TopU(q)/q = 1 - q^2/3 and V ~ Beta(n+1, B-n) give
// M(n) = 3/2 - (n+1)(n+2)/(2(B+1)(B+2)); for the unbounded Pareto law there
// are the order statistics.
func TestFiniteBatchQuadrature(t *testing.T) {
	r := newRuler(t)
	uniform := closedUniform{distributions.NewUniform()}
	pareto := must(distributions.NewUnboundedPareto(1.5, 0.01))
	for _, batch := range []int{1, 2, 3, 10, 64, 1000, 1_000_000} {
		for _, n := range append(schedule.Default().Active(batch), 1, (batch+9)/10, max(1, batch-1)) {
			k, b := float64(n), float64(batch)
			want := 1.5 - (k+1)*(k+2)/(2*(b+1)*(b+2))
			r.check(must(finiteTopMean(uniform, batch)(n)), want, "uniform, top %d of %d", n, batch)
			want = paretoTopMean(1.5, n, batch)
			r.check(must(finiteTopMean(withoutShape{pareto}, batch)(n)), want, "Pareto, top %d of %d", n, batch)
		}
	}
}

// TestFiniteBatchAtoms works an example by hand: two prompts, u = 0 or 1 with
// equal chance, one cut to one prompt. The better of two is 1 in 3 of 4 cases,
// so 2 rollouts each and 4 more for the kept one weigh 2 E[sum u] + 4 E[max u]
// = 2*1 + 4*3/4 = 5 against 8 rollouts of mean u = 1/2.
func TestFiniteBatchAtoms(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0, W: 0.5}, {P: 0.5, W: 0.5}}))
	v := schedule.Default()
	v.Rounds = 2
	eta := must(EtaFiniteBatch(law, v, 2))
	if want := 5. / 8 / 0.5; !(math.Abs(eta-want) <= 1e-14) {
		t.Errorf("eta = %v, want %v", eta, want)
	}
}

// TestFiniteBatchTends checks the limit B -> Inf for a law with atoms and a
// continuous part.
func TestFiniteBatchTends(t *testing.T) {
	law := must(distributions.NewSpikedBeta(0.3, 0.1, 2, 6))
	v := schedule.Default()
	limit := must(EtaPerfect(law, 0.5, 2, 4))
	last := math.Inf(1)
	for _, batch := range []int{8, 64, 512, 4096, 1 << 15} {
		gap := math.Abs(must(EtaFiniteBatch(law, v, batch))/limit - 1)
		if !(gap < last/4) {
			t.Errorf("B = %d: %v from the limit, want under a quarter of the %v before", batch, gap, last)
		}
		last = gap
	}
}

// TestManyRounds checks closed forms where group sizes pass any limit.
func TestManyRounds(t *testing.T) {
	v := schedule.Default()
	v.Rounds = schedule.MaxRounds
	law := must(distributions.NewUnboundedPareto(1.5, 0.01))
	// From round 11 on one prompt is active, and the last rounds dwarf the
	// rest: eta is the mean of the largest of 1024 over the mean.
	want := paretoTopMean(1.5, 1, 1024)
	newRuler(t).check(must(EtaFiniteBatch(law, v, 1024)), want, "10^4 rounds")
	newRuler(t).check(must(CapBatch(v, 1024)), 1024, "cap_batch of 10^4 rounds")
	// Uniform p: TopU(q)/q = 1 - q^2/3, and alpha*gamma = 1 weighs all rounds
	// alike: 3/2 - 1/2 * (sum of 4^-i) / T.
	want = 1.5 - 0.5*(4./3)/schedule.MaxRounds
	newRuler(t).check(must(EtaPerfect(distributions.NewUniform(), 0.5, 2, schedule.MaxRounds)), want, "uniform, 10^4 rounds")
}

// TestFiniteBatchManyAtoms holds the quadrature against E[sum of the n largest]
// = sum over levels of (u - the level below) E[min(n, #{prompts at or above})],
// for 400 atoms. Told of their kinks the quadrature is exact to rounding; left
// to find them it reaches 5e-12.
func TestFiniteBatchManyAtoms(t *testing.T) {
	var atoms []distributions.Node
	for i := range 400 {
		atoms = append(atoms, distributions.Node{P: float64(i+1) / 1000, W: float64(1+i%3) / 799})
	}
	law := must(distributions.NewAtoms(atoms))
	const batch = 50
	for _, n := range []int{1, 7, 25, 49} {
		sum, below, above := 0.0, 0.0, 1.0
		for _, a := range atoms {
			u := distributions.Level(a.P)
			sum += (u - below) * expectedMin(n, batch, above)
			below, above = u, above-a.W
		}
		got, want := must(finiteTopMean(law, batch)(n)), sum/float64(n)/law.MeanU()
		if !(math.Abs(got/want-1) <= 1e-13) {
			t.Errorf("top %d of %d: %v, want %v", n, batch, got, want)
		}
	}
}

// expectedMin returns E[min(n, N)], N ~ Binomial(batch, share): the sum of
// P(N > j) over j < n.
func expectedMin(n, batch int, share float64) float64 {
	pmf, cdf, sum := math.Pow(1-share, float64(batch)), 0.0, 0.0
	if share >= 1 {
		return float64(n)
	}
	for j := range n {
		cdf += pmf
		sum += 1 - cdf
		pmf *= float64(batch-j) / float64(j+1) * share / (1 - share)
	}
	return sum
}

// TestBetaDensityEnds: the density is 0 at the ends, also where rounding takes
// v a little beyond them.
func TestBetaDensityEnds(t *testing.T) {
	for _, d := range []betaDensity{newBetaDensity(2, 1), newBetaDensity(1, 1), newBetaDensity(500, 3)} {
		for _, v := range []float64{0, -1e-17, 1, 1 - 0x1p-53, math.Nextafter(1, 2)} {
			if x := d.at(v); !(x >= 0 && x <= 1e-15) {
				t.Errorf("%+v at %v: %v, want 0", d, v, x)
			}
		}
	}
}

// TestQuadratureThatFails: a function that no panel is too small for to swing in
// has no mean here, and no number must stand for one.
func TestQuadratureThatFails(t *testing.T) {
	noise := func(v float64) float64 { return math.Sin(1e15 * v) }
	if mean, err := betaMean(noise, 3, 10, nil); err == nil || !math.IsNaN(mean) {
		t.Errorf("mean = %v, %v, want an error", mean, err)
	}
}
