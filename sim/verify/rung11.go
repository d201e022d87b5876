package verify

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"vigorlab/theory"
)

// rung11 asks what choosing by rewards does to the update (theory.md, sections
// 4.5 and 4.6): bias of kept groups, concentration on few prompts, the objective
// that the allocation climbs in place of the fixed group's.
func rung11() []study {
	return []study{
		{id: "11.adaptivity", run: adaptivity},
		{id: "11.concentration", comparisons: len(fieldPopulations), run: concentration},
		{id: "11.objective", run: implicitObjective},
	}
}

// adaptivity is the bias of a prompt that was kept for a mixed pair, by every
// sequence of six rewards.
func adaptivity(context.Context, *env) (*Section, error) {
	w := worst{}
	for i := range 99 {
		p := float64(i+1) / 100
		kept, mass := 0.0, 0.0
		for rewards := range uint(1 << 6) {
			if rewards&3 == 0 || rewards&3 == 3 {
				continue
			}
			s := bits.OnesCount(rewards)
			chance := math.Pow(p, float64(s)) * math.Pow(1-p, float64(6-s))
			mass += chance
			kept += chance * float64(s) / 6
		}
		w.add(math.Abs(kept/mass - (1+4*p)/6))
	}
	return &Section{Rows: []Row{w.equal(Row{
		ID: "mixed-pair", Kind: Claim, Claim: "a prompt kept for a mixed pair has the mean (1 + 4p)/6 over six rollouts, not p",
		Method: "every sequence of six rewards at 99 values of p; the largest difference",
	})}}, nil
}

// concentration compares (E G)^2/E[G^2], the share of independent prompts that
// the update's weights are worth, of the mean field with simulated batches.
func concentration(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for i, population := range fieldPopulations {
		p, err := predictDefault(population)
		if err != nil {
			return nil, err
		}
		share := concentrationOf(p.field.GroupSizes)
		r, err := e.simulate(ctx, population, fieldBatch, 200, 2000, strategies(vigor(nil))...)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			row := printed(Row{
				ID: "default", Claim: "at the defaults (E G)^2/E[G^2] = .432: rollout-mean has 2.3 times the prompt-sampling variance",
				Method: "exact mean field", Note: "the same on every law: cuts keep a share, whoever it is",
			}, share, .432, 3)
			s.Rows = append(s.Rows, row)
		}
		second, se := 0.0, 0.0
		for _, size := range r.Strategies[0].GroupSizes {
			second += float64(size.Size*size.Size) * size.Share.Mean
			se += float64(size.Size*size.Size) * size.Share.SE
		}
		mean := r.Strategies[0].RolloutsPerPrompt.Mean
		s.Rows = append(s.Rows, compared(Row{
			ID: population, Claim: "simulated groups are as concentrated as the mean field says: " + population,
			Method: fmt.Sprintf("Monte Carlo, batches of %d: (E G)^2/E[G^2]", fieldBatch),
			Note:   "errors of the shares of sizes add up at most",
		}, mean*mean/second, mean*mean/(second*second)*se, share))
	}
	return s, nil
}

// concentrationOf returns (E G)^2/E[G^2].
func concentrationOf(sizes []theory.SizeShare) float64 {
	var first, second float64
	for _, s := range sizes {
		first += float64(s.Size) * s.Share
		second += float64(s.Size*s.Size) * s.Share
	}
	return first * first / second
}

// implicitObjective says how far the update of VIGOR points from that of equal
// groups: the cosine of their weights of p, E[G sigma | p]/sqrt(p(1-p)).
func implicitObjective(context.Context, *env) (*Section, error) {
	s := &Section{}
	for _, population := range fieldPopulations {
		p, err := predictDefault(population)
		if err != nil {
			return nil, err
		}
		cosine, err := theory.ObjectiveCosine(p.field, p.fixed)
		if err != nil {
			return nil, err
		}
		row := claimed(Row{
			ID: population, Claim: "VIGOR climbs the objective of equal groups: the cosine of their weights of p is 1, " + population,
			Method: "exact mean field", Note: fmt.Sprintf("in each of five epochs VIGOR drops %.3g of the prompts after round 1", p.field.Starved(5)),
		}, cosine, 1)
		s.Rows = append(s.Rows, row)
		s.Curves = append(s.Curves, objectiveCurve(population, p)...)
	}
	return s, nil
}

// objectiveCurve draws VIGOR's weight of a success probability over that of equal
// groups, E[G sigma | p] beside theirs.
func objectiveCurve(population string, p *predicted) []Curve {
	const points = 60
	c := Curve{Figure: FigureObjective, Family: population, Kind: MeanField}
	nodes, equal := p.field.Allocation, p.fixed.Allocation
	step := max(1, len(nodes)/points)
	for i := step / 2; i < len(nodes); i += step {
		if equal[i].Signal > 0 { // neither dead nor solved
			c.Points = append(c.Points, Point{X: nodes[i].P, Y: nodes[i].Signal / equal[i].Signal})
		}
	}
	return Setting{Population: population, Strategy: vigor(nil).String()}.in(c)
}
