package verify

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"vigorlab/distributions"
	"vigorlab/theory"
)

// arc checks what ARCUS states on the arc psi = arcsin sqrt(p).
func arc(context.Context, *env) (*Section, error) {
	weight, err := arcGradient()
	if err != nil {
		return nil, err
	}
	bound, err := arcZeroVariance()
	if err != nil {
		return nil, err
	}
	variance, err := arcVariance()
	if err != nil {
		return nil, err
	}
	target, err := passTarget()
	if err != nil {
		return nil, err
	}
	curves, err := arcCurves()
	return &Section{Rows: slices.Concat([]Row{weight, bound}, variance, target), Curves: curves}, err
}

// arcCurves draws where the estimate's variance is what Proposition 3 says.
func arcCurves() ([]Curve, error) {
	var curves []Curve
	for _, n := range []int{4, 8, 16, 64} {
		c := Curve{Figure: FigureArc, Family: fmt.Sprintf("groups of %d", n), Kind: ClosedForm}
		for i := range 99 {
			p := float64(i+1) / 100
			_, v, err := theory.ArcMoments(n, p)
			if err != nil {
				return nil, err
			}
			c.Points = append(c.Points, Point{X: p, Y: v * float64(4*n+2)})
		}
		curves = append(curves, c)
	}
	return Setting{Population: "every success probability", Strategy: labelled("arcus")}.in(curves...), nil
}

// arcGradient is Proposition 1 on one logit: d psi/dz = sqrt(p(1-p))/2.
func arcGradient() (Row, error) {
	w := worst{}
	for _, g := range []int{2, 3, 4, 8, 16, 64} {
		for _, p := range []float64{1e-3, .02, .1, .3, .5, .9} {
			omega, err := theory.ArcWeight(g, p)
			if err != nil {
				return Row{}, err
			}
			mean := 0.0 // of (1/G) sum A S, A of ddof 0, S = 1-p or -p
			for s := 1; s < g; s++ {
				share := float64(s) / float64(g)
				mean += distributions.BinomialProbability(g, s, p) * (share*math.Sqrt((1-share)/share)*(1-p) + (1-share)*math.Sqrt(share/(1-share))*p)
			}
			w.add(math.Abs(mean-omega*math.Sqrt(p*(1-p))) / mean)
		}
	}
	return w.equal(Row{
		ID: "p1", Kind: Claim, Claim: arcusLabel + ", Proposition 1: the mean gradient of GRPO is 2 omega_G grad psi",
		Method: "exact binomial sums over groups on one logit; the largest relative difference",
	}), nil
}

// arcZeroVariance is Proposition 2, for points and for normal beliefs.
func arcZeroVariance() (Row, error) {
	w := worst{}
	for _, g := range []int{2, 4, 8, 16, 64} {
		for i := range 201 {
			psi := math.Pi / 2 * float64(i) / 200
			sin, cos := math.Sincos(psi)
			for _, variance := range []float64{0, .01, .2} {
				bound, err := theory.ArcZeroVariance(g, psi, variance)
				if err != nil {
					return Row{}, err
				}
				exact := math.Pow(cos, float64(2*g)) + math.Pow(sin, float64(2*g))
				if variance > 0 {
					exact = beliefZeroVariance(g, psi, variance)
				}
				w.add(exact / bound)
			}
		}
	}
	return w.within(Row{
		ID: "p2", Kind: Claim, Claim: arcusLabel + ", Proposition 2: cos^(2G) psi + sin^(2G) psi <= e^(-G psi^2) + e^(-G (pi/2-psi)^2), and its mean over a normal belief",
		Method: "grid of psi, groups of 2 to 64, beliefs of variance 0, .01 and .2 cut to the arc, by quadrature; the largest ratio",
	}), nil
}

// beliefZeroVariance is the mean of p^G + (1-p)^G over the part of a normal
// belief that lies on the arc.
func beliefZeroVariance(g int, mean, variance float64) float64 {
	sd := math.Sqrt(variance)
	return quad.Fixed(func(psi float64) float64 {
		sin, cos := math.Sincos(psi)
		z := (psi - mean) / sd
		return (math.Pow(cos, float64(2*g)) + math.Pow(sin, float64(2*g))) * math.Exp(-z*z/2) / sd / math.Sqrt(2*math.Pi)
	}, 0, math.Pi/2, 200, nil, 0)
}

// arcVariance is Proposition 3, which is asymptotic only.
func arcVariance() ([]Row, error) {
	const large = 10_000
	limit := worst{}
	for _, p := range []float64{.1, .3, .5} {
		_, v, err := theory.ArcMoments(large, p)
		if err != nil {
			return nil, err
		}
		limit.add(math.Abs(4*large*v - 1))
	}
	rows := []Row{bounded(Row{
		ID: "p3", Kind: Claim, Claim: arcusLabel + ", Proposition 3: the estimate of psi has variance 1/(4n) + O(1/n^2), whatever p",
		Method: fmt.Sprintf("exact binomial sums at n = %d, p = .1, .3, .5; the largest relative difference", large), Test: "within 10/n: an asymptotic statement",
		Note: "true as n grows at a fixed p, and not of groups as they are: see the next rows",
	}, limit.most, 0, limit.most <= 10./large)}
	for _, p := range []float64{.5, .3, .1} {
		_, v, err := theory.ArcMoments(8, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, claimed(Row{
			ID: fmt.Sprintf("p3-8-%v", p), Claim: fmt.Sprintf(arcusLabel+": at n = 8 the variance is 1/(4n+2), p = %v", p), Method: "exact binomial sums",
		}, v, 1./(4*8+2)))
	}
	return rows, nil
}

// passTarget is Proposition 4.
func passTarget() ([]Row, error) {
	whole, mode := worst{}, worst{}
	for _, k := range []int{1, 2, 4, 8, 64} {
		density := func(psi float64) float64 {
			h, err := theory.PassTarget(k, psi)
			if err != nil {
				return math.NaN()
			}
			return h
		}
		whole.add(math.Abs(quad.Fixed(density, 0, math.Pi/2, 200, nil, 0) - 1))
		at, err := theory.PassMode(k)
		if err != nil {
			return nil, err
		}
		for _, d := range []float64{-.1, -1e-3, 1e-3, .1} {
			if psi := at + d; psi > 0 && psi < math.Pi/2 {
				mode.add(density(psi) / density(at))
			}
		}
	}
	return []Row{
		whole.equal(Row{ID: "p4", Kind: Claim, Claim: arcusLabel + ", Proposition 4: the slope of pass@k along the arc is a density", Method: "quadrature at k = 1, 2, 4, 8, 64; the largest difference of its mass from 1"}),
		mode.within(Row{ID: "p4-mode", Kind: Claim, Claim: arcusLabel + ", Proposition 4: its mode is arcsin(1/sqrt(2k))", Method: "the density beside it over that at the mode"}),
	}, nil
}
