package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestUnknownSizes: where sizes differ and nobody says why, nothing that rests on
// drawn counts is there, and the verdict says so. What rests on likelihoods
// alone stays as it is.
func TestUnknownSizes(t *testing.T) {
	o := options(Beta, ParetoVariance, NPMLE)
	known, err := Run(t.Context(), pilot(t), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Beforehand = false
	r, err := Run(t.Context(), pilot(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if known.Sizes != SizesBeforehand || known.Test != AndersonDarling || r.Sizes != SizesUnknown || r.Test != "" {
		t.Errorf("sizes %s, %s by %q", known.Sizes, r.Sizes, r.Test)
	}
	for i, f := range r.Fits {
		if !math.IsNaN(f.P) || !math.IsNaN(f.Distance) || !math.IsNaN(f.Gain.Low) || !math.IsNaN(f.ZeroVariance[0].High) || f.Band != nil {
			t.Errorf("%s: p = %v of %v, gain %+v, %d points of a band, want none", f.Family, f.P, f.Distance, f.Gain, len(f.Band))
		}
		if f.LogLik != known.Fits[i].LogLik || f.Gain.Estimate != known.Fits[i].Gain.Estimate || len(f.Parameters) != len(known.Fits[i].Parameters) {
			t.Errorf("%s: log-likelihood %v, gain %v, want those of sizes fixed beforehand", f.Family, f.LogLik, f.Gain.Estimate)
		}
	}
	if r.Folded != nil || r.Observed[0].Prompts != 0 || !math.IsNaN(r.Observed[0].Mean) {
		t.Errorf("folded %+v, observed %+v, want none", r.Folded, r.Observed[0])
	}
	verdict := strings.Join(r.Verdict, "\n")
	for want, said := range map[string]bool{"goodness of fit cannot be tested: numbers of rollouts differ": true, "how likely a prompt of n rollouts is mixed": true, "reject": false} {
		if strings.Contains(verdict, want) != said {
			t.Errorf("verdict:\n%s\nsays %q: %v, want %v", verdict, want, !said, said)
		}
	}
	if equal, err := Run(t.Context(), mustCounts(t, []Cell{{8, 3, 4}, {8, 0, 2}}), Options{Families: []string{Beta}}); err != nil || equal.Sizes != SizesBeforehand {
		t.Errorf("equal sizes: %v, %v", equal, err)
	}
}

// tryTwice is a design: two rollouts, and six more of prompts with one success.
func tryTwice(_ context.Context, p []float64, r *rand.Rand) (*Counts, error) {
	var cells []Cell
	for _, p := range p {
		x := Cell{N: 2, Prompts: 1}
		for i := 0; i < x.N; i++ {
			if r.Float64() < p {
				x.S++
			}
			if i == 1 && x.S == 1 {
				x.N = 8
			}
		}
		cells = append(cells, x)
	}
	return NewCounts(cells)
}

// TestDesignIsFollowed: a bootstrap draws sizes too, from the estimate, and
// judges by likelihoods.
func TestDesignIsFollowed(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	p := make([]float64, 300)
	for i := range p {
		p[i] = r.Float64()
	}
	c, err := tryTwice(t.Context(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	o := options(Beta, ParetoVarianceFree, NPMLE)
	asked := 0
	o.Replicates = 19
	o.Design = func(ctx context.Context, p []float64, r *rand.Rand) (*Counts, error) {
		asked++
		if len(p) != 300 {
			t.Fatalf("%d prompts, want 300", len(p))
		}
		return tryTwice(ctx, p, r)
	}
	got, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if asked != 3*o.Replicates || got.Sizes != SizesChosen || got.Test != Shortfall || got.Folded != nil || got.Observed[0].Prompts != 0 {
		t.Errorf("drawn %d times, sizes %s by %s, folded %v, observed %+v", asked, got.Sizes, got.Test, got.Folded, got.Observed[0])
	}
	best := got.Fits[2].LogLik
	for _, f := range got.Fits[:2] {
		near(t, f.Family+": shortfall", f.Distance, best-f.LogLik, 1e-5*300)
		if !(f.P > 0 && f.P <= 1) || !(f.Gain.Low < f.Gain.Estimate && f.Gain.Estimate < f.Gain.High) || f.Band != nil {
			t.Errorf("%s: p = %v, gain %+v, band %v", f.Family, f.P, f.Gain, f.Band)
		}
	}
	if f := got.Fits[2]; !math.IsNaN(f.P) || !(f.Gain.Low < f.Gain.High) {
		t.Errorf("npmle: p = %v, gain %+v, want no p-value and an interval", f.P, f.Gain)
	}
	verdict := strings.Join(got.Verdict, "\n")
	if !strings.Contains(verdict, "log-likelihood short of the best law of all, sizes drawn again") || strings.Contains(verdict, "Anderson") || strings.Contains(verdict, "npmle (p") {
		t.Errorf("verdict:\n%s", verdict)
	}
}

// TestSamplers draws success probabilities of every family, laws and none, and
// compares E[p] and E[u] with those that follow from the likelihood. Draws lie
// in [0, 1]: by Hoeffding all means together raise a false alarm with
// probability at most 1e-6; one that is off by .02 is missed with less.
func TestSamplers(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(31, 7))
	thetas := map[string][]float64{
		Beta: {0.3, 0.7}, SpikedBeta: {0.2, 0.1, 1, 2},
		ParetoVariance: {1.2, 0.1, 0.6}, ParetoVarianceFree: {-0.7, 0.01, 0.3},
		TruncatedPareto: {0.5, 0.02, 0.8, 0.9}, TruncatedParetoFree: {-15, 1e-6, 0.5, 0.2},
	}
	tol := math.Sqrt(math.Log(2*float64(2*len(thetas)+4)/1e-6) / (2 * n))
	check := func(name string, e *estimate) {
		draw := e.sampler()
		var p, u float64
		for range n {
			x := draw(r)
			p, u = p+x/n, u+4*x*(1-x)/n
		}
		f := e.figures()
		near(t, name+": E[p]", p, f.MeanP, tol)
		near(t, name+": E[u]", u, f.MeanU, tol)
	}
	for _, f := range families {
		check(f.name, &estimate{family: f, optimum: optimum{theta: thetas[f.name]}})
	}
	flat := familyNamed(ParetoVarianceFree) // shape 0: log u is uniform
	check("shape 0", &estimate{family: flat, optimum: optimum{theta: []float64{0, 0.01, 0.5}}})
	e, err := estimateOf(whole, nil, pilot(t))
	if err != nil {
		t.Fatal(err)
	}
	check(NPMLE, e)
}
