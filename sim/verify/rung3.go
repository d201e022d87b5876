package verify

import (
	"context"
	"fmt"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

// rung3 asks what is left of Theorem 2 when reward variance is bounded, as it
// is for every binary reward, and when p itself is Pareto.
func rung3() []study {
	return []study{
		{id: "3.truncated", comparisons: len(truncatedShapes), run: truncated},
		{id: "3.pareto-success", comparisons: len(successShapes), run: paretoSuccess},
		{id: "3.saturation", run: saturation},
	}
}

var truncatedShapes = []float64{1, 1.1, 1.5, 2}

// umin is the smallest reward variance of the ladder's Pareto laws.
const umin = 0.01

func bounded01(shape float64) string {
	return fmt.Sprintf("pareto-variance:shape=%v,min=%v,max=1", shape, umin)
}

func truncated(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	v := vigor(perfect)
	for _, shape := range truncatedShapes {
		l, err := rewarding(bounded01(shape))
		if err != nil {
			return nil, err
		}
		exact, err := theory.EtaTruncatedPareto(shape, umin, 1, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		quadrature, err := theory.EtaPerfect(l, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, agreed(Row{
			ID:     fmt.Sprintf("shape-%v", shape),
			Claim:  fmt.Sprintf("truncated closed form, shape %v on [%v, 1]", shape, umin),
			Method: "closed form beside the law's own partial expectations",
		}, quadrature, exact))
		row, err := e.perfectMonteCarlo(ctx, bounded01(shape), l)
		if err != nil {
			return nil, err
		}
		row.ID = fmt.Sprintf("monte-carlo-%v", shape)
		s.Rows = append(s.Rows, row)
		if shape <= 1 {
			continue
		}
		theorem, err := theory.EtaPareto(shape, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		p, err := predict(bounded01(shape), l, v)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, claimed(Row{
			ID:     fmt.Sprintf("theorem-%v", shape),
			Claim:  fmt.Sprintf("Theorem 2's eta holds for bounded reward variance, shape %v on [%v, 1], T = 4", shape, umin),
			Method: "truncated closed form", Note: p.String(),
		}, exact, theorem))
	}
	return s, nil
}

// perfectMonteCarlo runs perfect selection on a law through the engine, beside
// the exact finite batch.
func (e *env) perfectMonteCarlo(ctx context.Context, population string, l distributions.Law) (Row, error) {
	const batch = 256
	v := vigor(perfect)
	exact, err := theory.EtaFiniteBatch(l, v, batch)
	if err != nil {
		return Row{}, err
	}
	r, err := e.simulate(ctx, population, batch, 2000, 20_000, strategies(v)...)
	if err != nil {
		return Row{}, err
	}
	return simulated(Row{
		Claim:  fmt.Sprintf("simulated perfect selection has the exact eta of a batch of %d: %s", batch, population),
		Method: "Monte Carlo beside quadrature over order statistics",
	}, r.Strategies[0].Eta, exact), nil
}

var successShapes = []float64{1.2, 2}

func paretoSuccess(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	v := vigor(perfect)
	for _, shape := range successShapes {
		population := fmt.Sprintf("pareto-success:shape=%v,min=0.01", shape)
		l, err := rewarding(population)
		if err != nil {
			return nil, err
		}
		row, err := e.perfectMonteCarlo(ctx, population, l)
		if err != nil {
			return nil, err
		}
		row.ID = fmt.Sprintf("monte-carlo-%v", shape)
		s.Rows = append(s.Rows, row)
		eta, err := theory.EtaPerfect(l, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		theorem, err := theory.EtaPareto(shape, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		p, err := predict(population, l, v)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, claimed(Row{
			ID:     fmt.Sprintf("theorem-%v", shape),
			Claim:  fmt.Sprintf("Theorem 2's eta holds when p itself is Pareto, shape %v on [0.01, 1]", shape),
			Method: "perfect selection, quadrature", Note: p.String(),
		}, eta, theorem))
	}
	return s, nil
}

// saturation follows the truncated closed form as rounds are added: the
// unbounded one grows without end, and bounded reward variance does not.
func saturation(context.Context, *env) (*Section, error) {
	const shape = 1.5
	s := &Section{}
	v := vigor(perfect)
	alpha, gamma := v.Alpha.Float(), v.Gamma.Float()
	for _, rounds := range []int{2, 8, 16, 32} {
		theorem, err := theory.EtaPareto(shape, alpha, gamma, rounds)
		if err != nil {
			return nil, err
		}
		eta, err := theory.EtaTruncatedPareto(shape, umin, 1, alpha, gamma, rounds)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, claimed(Row{
			ID:     fmt.Sprintf("rounds-%d", rounds),
			Claim:  fmt.Sprintf("Theorem 2's eta at T = %d, shape %v, u in [%v, 1]", rounds, shape, umin),
			Method: "truncated closed form",
			Note:   "with u <= 1, eta stays below 1/E[u] however many rounds there are",
		}, eta, theorem))
	}
	curves, err := shapeCurves(v)
	if err != nil {
		return nil, err
	}
	s.Curves = curves
	return s, nil
}

// The populations of figures that vary or list the shape κ.
var (
	anyUnbounded = fmt.Sprintf("pareto-variance:shape=κ,min=%v", umin)
	anyBounded   = anyUnbounded + ",max=1"
)

// shapeCurves draws eta against the Pareto shape: Theorem 2, bounded variance,
// and the real selection.
func shapeCurves(v schedule.Vigor) ([]Curve, error) {
	const name = "T = 4, α = 1/2, γ = 2"
	theorem := Curve{Figure: FigureEtaShape, Family: name, Kind: ClosedForm, Setting: Setting{Population: anyUnbounded, Strategy: "vigor:select=truth"}}
	bounded := Curve{Figure: FigureEtaShape, Family: name, Kind: Truncated, Setting: Setting{Population: anyBounded, Strategy: "vigor:select=truth"}}
	noisy := Curve{Figure: FigureEtaShape, Family: name, Kind: MeanField, Setting: Setting{Population: anyBounded, Strategy: "vigor"}}
	ceiling := Curve{Figure: FigureEtaShape, Kind: Cap}
	most, err := theory.CapLawFree(v)
	if err != nil {
		return nil, err
	}
	for shape := 0.6; shape < 4.05; shape += 0.1 {
		eta, err := theory.EtaTruncatedPareto(shape, umin, 1, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
		if err != nil {
			return nil, err
		}
		l, err := rewarding(bounded01(shape))
		if err != nil {
			return nil, err
		}
		field, err := theory.VigorMeanField(l, vigor(nil), frontier, theory.DefaultNodes)
		if err != nil {
			return nil, err
		}
		bounded.Points = append(bounded.Points, Point{X: shape, Y: eta})
		noisy.Points = append(noisy.Points, Point{X: shape, Y: field.Eta})
		ceiling.Points = append(ceiling.Points, Point{X: shape, Y: most})
		if shape < 1.05 {
			continue
		}
		if eta, err = theory.EtaPareto(shape, v.Alpha.Float(), v.Gamma.Float(), v.Rounds); err != nil {
			return nil, err
		}
		theorem.Points = append(theorem.Points, Point{X: shape, Y: eta})
	}
	return []Curve{theorem, bounded, noisy, ceiling}, nil
}
