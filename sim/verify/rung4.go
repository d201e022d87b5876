package verify

import (
	"context"
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/schedule"
	"vigorlab/sim/verify/enumerate"
	"vigorlab/theory"
)

// rung4 checks the real algorithm, which sees sample variances: its exact mean
// field, finite batches, and every reward sequence of tiny ones.
func rung4() []study {
	return []study{
		{id: "4.noisy", run: noisy},
		{id: "4.mean-field", comparisons: len(fieldPopulations) * len(fieldFigures), run: meanField},
		{id: "4.random-control", comparisons: 1, run: randomControl},
		{id: "4.enumeration", comparisons: enumeratedComparisons(), run: enumeration},
		{id: "4.fixed-enumeration", run: fixedEnumeration},
		{id: "4.prompt-mean", run: promptMean},
		{id: "4.screening", run: screening},
		{id: "4.rounds", run: roundsCurves},
	}
}

var fieldPopulations = []string{popTP15, popBeta13, popUniform, popBeta55, popSuccess}

// noisy asks of each population whether the algorithm gets the eta of perfect
// selection.
func noisy(context.Context, *env) (*Section, error) {
	s := &Section{}
	for _, population := range fieldPopulations {
		p, err := predictDefault(population)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, claimed(Row{
			ID:     population,
			Claim:  "VIGOR's selection by sample variance gets the eta of perfect selection: " + population,
			Method: "exact mean field", Note: p.String(),
		}, p.Noisy, p.Perfect))
		s.Predictions = append(s.Predictions, p.Prediction)
	}
	theorem, err := theory.EtaPareto(1.5, 0.5, 2, 4)
	if err != nil {
		return nil, err
	}
	p := s.Predictions[0] // of popTP15
	s.Rows = append(s.Rows, claimed(Row{
		ID:     "theorem",
		Claim:  "Theorem 2's eta is what the algorithm gets, shape 1.5 on [0.01, 1]",
		Method: "exact mean field", Note: p.String(),
	}, p.Noisy, theorem))
	return s, nil
}

// A fieldFigure is a figure that simulation and mean field both know.
type fieldFigure struct {
	name string
	sim  func(*sim.Outcome) sim.Estimate
	mean func(*predicted) float64
}

var fieldFigures = []fieldFigure{
	{"eta", func(o *sim.Outcome) sim.Estimate { return o.Eta }, func(p *predicted) float64 { return p.field.Eta }},
	{"signal", func(o *sim.Outcome) sim.Estimate { return o.Signal }, func(p *predicted) float64 { return p.field.Signal }},
	{"signal_prompt_mean", func(o *sim.Outcome) sim.Estimate { return o.SignalPromptMean }, func(p *predicted) float64 { return p.field.SignalPromptMean }},
	{"ineffective", func(o *sim.Outcome) sim.Estimate { return o.Ineffective }, func(p *predicted) float64 { return p.field.Ineffective }},
	{"zero_variance_groups", func(o *sim.Outcome) sim.Estimate { return o.ZeroVarianceGroups }, func(p *predicted) float64 { return p.field.ZeroVarianceGroups }},
	{"progress", func(o *sim.Outcome) sim.Estimate { return o.Progress }, func(p *predicted) float64 { return p.field.Progress / p.fixed.Progress }},
	{"false_negative_cumulative", func(o *sim.Outcome) sim.Estimate {
		return o.Screening[len(o.Screening)-1].FalseNegativeCumulative
	}, func(p *predicted) float64 {
		return p.field.Screening[len(p.field.Screening)-1].FalseNegativeCumulative
	}},
}

// fieldBatch is the smaller of the two batches that are extrapolated.
const fieldBatch = 512

// meanField compares simulation, extrapolated to large batches, with the mean
// field.
func meanField(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for _, population := range fieldPopulations {
		p, err := predictDefault(population)
		if err != nil {
			return nil, err
		}
		small, err := e.simulate(ctx, population, fieldBatch, 2000, 20_000, append(strategies(vigor(nil)), fixed(8))...)
		if err != nil {
			return nil, err
		}
		large, err := e.simulate(ctx, population, 2*fieldBatch, 2000, 20_000, append(strategies(vigor(nil)), fixed(8))...)
		if err != nil {
			return nil, err
		}
		rows, err := extrapolate(population, small, large, p, fieldFigures)
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			row.ID = population + "." + fieldFigures[i].name
			s.Rows = append(s.Rows, row)
		}
		if population == popBeta13 { // many prompts at either end, and enough between
			s.Curves = fieldCurves(population, large, p)
		}
	}
	return s, nil
}

// fieldCurves draws VIGOR beside fixed groups, and its mean field.
func fieldCurves(population string, r *sim.Result, p *predicted) []Curve {
	of := func(o *sim.Outcome) Setting {
		return Setting{Population: population, Strategy: o.Strategy, Batch: r.Batch, Replicates: r.Replicates}
	}
	vigor, fixed := &r.Strategies[0], &r.Strategies[1]
	curves := of(vigor).in(outcomeCurves("VIGOR", vigor)...)
	curves = append(curves, of(fixed).in(outcomeCurves("fixed, G = 8", fixed)[:2]...)...)
	exact := Setting{Population: population, Strategy: vigor.Strategy}
	return append(curves, exact.in(meanFieldCurves("VIGOR", p.field, vigor.Allocation)...)...)
}

// extrapolate compares figures of the first strategy at fieldBatch prompts and
// at twice as many with the mean field, a row a figure.
func extrapolate(population string, small, large *sim.Result, p *predicted, figures []fieldFigure) ([]Row, error) {
	bias, err := cutBias(p, figures)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(figures))
	for i, f := range figures {
		a, b := f.sim(&small.Strategies[0]), f.sim(&large.Strategies[0])
		rows[i] = extrapolated(Row{
			Claim:  fmt.Sprintf("%s of finite batches converges to the mean field: %s", f.name, population),
			Method: fmt.Sprintf("Monte Carlo at B = %d and %d, extrapolated; exact mean field", fieldBatch, 2*fieldBatch),
			Bias:   bias[i],
			Note: fmt.Sprintf("B = %d: %.5f, B = %d: %.5f; cuts near a boundary of levels leave at most %.2g",
				fieldBatch, a.Mean, 2*fieldBatch, b.Mean, bias[i]),
		}, a, b, f.mean(p))
	}
	return rows, nil
}

// cutBias bounds what the extrapolation from batches of fieldBatch and twice
// as many leaves of the error of every figure. The share of the active prompts
// that rank above a level fluctuates, and a cut moves with it: by about
// h = sqrt(alpha (1-alpha) / n) if n prompts are active, and by as much again
// for every earlier cut, whose own fluctuation, on 1/alpha times as many
// prompts, becomes a 1/alpha times larger share. Where a figure f is smooth in
// the cut, E f(alpha + h z) is off by c h^2, which goes away like all that is
// of order 1/B. Where alpha falls on the boundary of two levels or near it, f
// has a kink, the error goes like h, and
// 2 E f(alpha + h z/sqrt 2) - E f(alpha + h z) - f(alpha) is left.
func cutBias(p *predicted, figures []fieldFigure) ([]float64, error) {
	const (
		points = 8   // stand for the normal law of z: the middles of as many equal parts of it
		nodes  = 400 // differences of figures at the same nodes are smoother than the figures
	)
	v := vigor(nil)
	alpha, active := v.Alpha.Float(), v.Active(fieldBatch)
	bias := make([]float64, len(figures))
	variance := 0.0 // h^2
	for cut := 1; cut < v.Rounds; cut++ {
		variance = variance/(alpha*alpha) + alpha*(1-alpha)/float64(active[cut-1])
		left := make([]float64, len(figures))
		add := func(weight, z float64) error {
			field, err := theory.MeanFieldAround(p.law, v, frontier, nodes, cut, math.Sqrt(variance)*z)
			if err != nil {
				return err
			}
			for i, f := range figures {
				left[i] += weight * f.mean(&predicted{field: field, fixed: p.fixed})
			}
			return nil
		}
		err := add(-1, 0)
		for k := range points {
			z := normalQuantile((float64(k) + 0.5) / points)
			err = errors.Join(err, add(2./points, z/math.Sqrt2), add(-1./points, z))
		}
		if err != nil {
			return nil, err
		}
		for i, x := range left {
			bias[i] += math.Abs(x)
		}
	}
	return bias, nil
}

// randomControl selects at random on the same schedule: eta is exactly 1,
// which separates selection from group sizes.
func randomControl(ctx context.Context, e *env) (*Section, error) {
	v := vigor(func(v *schedule.Vigor) { v.Select = schedule.SelectRandom })
	l, err := rewarding(popBeta13)
	if err != nil {
		return nil, err
	}
	field, err := theory.VigorMeanField(l, v, frontier, theory.DefaultNodes)
	if err != nil {
		return nil, err
	}
	r, err := e.simulate(ctx, popBeta13, 256, 2000, 20_000, strategies(v)...)
	if err != nil {
		return nil, err
	}
	claim := "selection at random has eta = 1: " + popBeta13
	return &Section{Rows: []Row{
		agreed(Row{ID: "mean-field", Claim: claim, Method: "exact mean field"}, field.Eta, 1),
		simulated(Row{ID: "monte-carlo", Claim: claim, Method: "Monte Carlo, B = 256"}, r.Strategies[0].Eta, 1),
	}}, nil
}

// An enumerated is a tiny batch whose every reward sequence is visited.
type enumerated struct {
	name       string
	population string // points only
	batch      int
	plan       schedule.Vigor
}

func enumerations() []enumerated {
	const two = "mixture:0.5@point:p=0.3+0.5@point:p=0.9"
	const three = "mixture:0.25@point:p=0+0.5@point:p=0.5+0.25@point:p=0.8"
	half := schedule.MustRatio("0.5")
	plan := func(m0, rounds int, gamma string, edit func(*schedule.Vigor)) schedule.Vigor {
		return vigor(func(v *schedule.Vigor) {
			v.M0, v.Rounds, v.Alpha, v.Gamma = m0, rounds, half, schedule.MustRatio(gamma)
			if edit != nil {
				edit(v)
			}
		})
	}
	return []enumerated{
		{"two prompts", two, 2, plan(2, 2, "2", nil)},
		{"three rounds", two, 3, plan(2, 3, "1", nil)},
		{"four prompts", three, 4, plan(2, 2, "2", nil)},
		{"one rollout first, floor cuts", two, 4, plan(1, 3, "2", func(v *schedule.Vigor) { v.Cut = schedule.CutFloor })},
		{"survivors only", three, 4, plan(2, 2, "2", func(v *schedule.Vigor) { v.Update = schedule.UpdateSurvivors })},
		{"fresh groups", two, 2, plan(2, 2, "2", func(v *schedule.Vigor) { v.Reuse = false })},
		{"ties by index", three, 3, plan(2, 2, "2", func(v *schedule.Vigor) { v.Ties = schedule.TiesIndex })},
		{"perfect selection", two, 3, plan(2, 2, "2", perfect)},
	}
}

// An enumeratedFigure is a figure that simulation and enumeration both know.
type enumeratedFigure struct {
	name  string
	sim   func(*sim.Outcome) sim.Estimate
	exact func(*enumerate.Result) float64
}

var enumeratedFigures = []enumeratedFigure{
	{"eta", func(o *sim.Outcome) sim.Estimate { return o.Eta }, func(r *enumerate.Result) float64 { return r.Eta }},
	{"eta_generated", func(o *sim.Outcome) sim.Estimate { return o.EtaGenerated }, func(r *enumerate.Result) float64 { return r.EtaGenerated }},
	{"signal", func(o *sim.Outcome) sim.Estimate { return o.Signal }, func(r *enumerate.Result) float64 { return r.Signal }},
	{"signal_prompt_mean", func(o *sim.Outcome) sim.Estimate { return o.SignalPromptMean }, func(r *enumerate.Result) float64 { return r.SignalPromptMean }},
	{"ineffective", func(o *sim.Outcome) sim.Estimate { return o.Ineffective }, func(r *enumerate.Result) float64 { return r.Ineffective }},
	{"zero_variance_groups", func(o *sim.Outcome) sim.Estimate { return o.ZeroVarianceGroups }, func(r *enumerate.Result) float64 { return r.ZeroVarianceGroups }},
	{"false_omission", func(o *sim.Outcome) sim.Estimate { return o.Screening[0].FalseOmission }, func(r *enumerate.Result) float64 { return r.Screening[0].FalseOmission }},
	{"false_negative", func(o *sim.Outcome) sim.Estimate { return o.Screening[0].FalseNegative }, func(r *enumerate.Result) float64 { return r.Screening[0].FalseNegative }},
}

func enumeratedComparisons() int { return len(enumerations()) * len(enumeratedFigures) }

func enumeration(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for _, c := range enumerations() {
		exact, err := enumerateCase(c)
		if err != nil {
			return nil, err
		}
		r, err := e.simulate(ctx, c.population, c.batch, 20_000, 200_000, strategies(c.plan)...)
		if err != nil {
			return nil, err
		}
		for _, f := range enumeratedFigures {
			s.Rows = append(s.Rows, simulated(Row{
				ID:     c.name + "." + f.name,
				Claim:  fmt.Sprintf("simulated %s of tiny batches is exact: %s", f.name, c.name),
				Method: fmt.Sprintf("Monte Carlo beside every reward sequence, B = %d", c.batch),
			}, f.sim(&r.Strategies[0]), f.exact(exact)))
		}
	}
	return s, nil
}

func enumerateCase(c enumerated) (*enumerate.Result, error) {
	l, err := rewarding(c.population)
	if err != nil {
		return nil, err
	}
	draws, err := tinyBatches(l, c.batch)
	if err != nil {
		return nil, err
	}
	return enumerate.VigorEnumerate(draws, c.plan, enumerate.Options{Frontier: frontier})
}

// tinyBatches hands the atoms of a law to the enumeration.
func tinyBatches(l distributions.Law, batch int) (enumerate.Population, error) {
	var atoms []enumerate.Atom
	for _, a := range l.Atoms() {
		atoms = append(atoms, enumerate.Atom{P: a.P, W: a.W})
	}
	return enumerate.Draws(batch, atoms...)
}

// fixedEnumeration compares the mean field of fixed groups, which do not
// depend on the batch, with every reward sequence.
func fixedEnumeration(context.Context, *env) (*Section, error) {
	const population, group = "mixture:0.25@point:p=0+0.5@point:p=0.5+0.25@point:p=0.8", 5
	l, err := rewarding(population)
	if err != nil {
		return nil, err
	}
	draws, err := tinyBatches(l, 2)
	if err != nil {
		return nil, err
	}
	exact, err := enumerate.FixedEnumerate(draws, group, enumerate.Options{Frontier: frontier})
	if err != nil {
		return nil, err
	}
	field, err := theory.FixedMeanField(l, group, frontier, theory.DefaultNodes)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, f := range []struct {
		name         string
		field, exact float64
	}{
		{"signal", field.Signal, exact.Signal},
		{"ineffective", field.Ineffective, exact.Ineffective},
		{"progress", field.Progress, exact.Progress},
	} {
		s.Rows = append(s.Rows, agreed(Row{
			ID:     f.name,
			Claim:  fmt.Sprintf("the mean field's %s of fixed groups of %d is that of every reward sequence", f.name, group),
			Method: "enumeration, B = 2",
		}, f.field, f.exact))
	}
	return s, nil
}

// promptMean asks whether VIGOR still gains when groups are averaged over
// prompts (theory.md, section 4.3).
func promptMean(context.Context, *env) (*Section, error) {
	s := &Section{}
	for _, population := range []string{popTP15, popBeta13, popUniform} {
		p, err := predictDefault(population)
		if err != nil {
			return nil, err
		}
		ratio := p.field.SignalPromptMean / p.fixed.SignalPromptMean
		row := Row{
			ID: population, Kind: Claim,
			Claim:  "VIGOR raises the signal when groups are averaged over prompts: " + population,
			Method: "exact mean field, relative to the fixed group of the same mean size",
			Test:   "exact: the ratio is above 1",
			Note:   "most groups are small ones, whose sigma is small; averaged over rollouts the same ratio is " + fmt.Sprintf("%.3f", p.field.Signal/p.fixed.Signal),
		}
		s.Rows = append(s.Rows, bounded(row, ratio, 1, ratio > 1))
	}
	return s, nil
}

// screening asks whether two rollouts can screen with the published error.
func screening(context.Context, *env) (*Section, error) {
	const published = 0.079
	p, err := predictDefault(popTP15)
	if err != nil {
		return nil, err
	}
	first := p.field.Screening[0]
	row := Row{
		ID: "published", Kind: Claim,
		Claim:  "round 1 loses 7.9 % of the frontier prompts",
		Method: "exact mean field, u >= 0.75, " + popTP15,
		Test:   "exact: at most the claim",
		Note: fmt.Sprintf("two rollouts of a prompt differ with probability 2p(1-p) <= 1/2, so with random ties at least (1-alpha)/2 = 25 %% are lost in any population; the false omission rate is %.2g",
			first.FalseOmission),
	}
	return &Section{Rows: []Row{bounded(row, first.FalseNegative, published, first.FalseNegative <= published)}}, nil
}

// roundsCurves draws the speedup of Theorem 2 against rounds, what bounded
// variance leaves of it, and what the algorithm gets.
func roundsCurves(ctx context.Context, e *env) (*Section, error) {
	const most = 8 // rounds: groups of 2 (2^8 - 1) = 510
	s := &Section{}
	third := func(eta float64) float64 { return theory.Speedup(eta, 1./3) }
	schedules := make([]schedule.Vigor, most) // of 1, 2, ... rounds
	ceiling := Curve{Figure: FigureSpeedup, Kind: Cap}
	for i := range schedules {
		schedules[i] = vigor(func(v *schedule.Vigor) { v.Rounds = i + 1 })
		c, err := theory.CapLawFree(schedules[i])
		if err != nil {
			return nil, err
		}
		ceiling.Points = append(ceiling.Points, Point{X: float64(i + 1), Y: third(c)})
	}
	for _, shape := range []float64{1.1, 1.5, 2} {
		l, err := rewarding(bounded01(shape))
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("κ = %v", shape)
		bounded := Setting{Population: anyBounded, Strategy: "vigor:rounds=T"}
		curves := []Curve{
			{Figure: FigureSpeedup, Family: name, Kind: ClosedForm, Setting: Setting{Population: anyUnbounded, Strategy: "vigor:rounds=T,select=truth"}},
			{Figure: FigureSpeedup, Family: name, Kind: Truncated, Setting: Setting{Population: anyBounded, Strategy: "vigor:rounds=T,select=truth"}},
			{Figure: FigureSpeedup, Family: name, Kind: MeanField, Setting: bounded},
			{Figure: FigureSpeedup, Family: name, Kind: MonteCarlo, Setting: bounded},
		}
		for i, v := range schedules {
			rounds := i + 1
			theorem, err := theory.EtaPareto(shape, 0.5, 2, rounds)
			if err != nil {
				return nil, err
			}
			truncated, err := theory.EtaTruncatedPareto(shape, umin, 1, 0.5, 2, rounds)
			if err != nil {
				return nil, err
			}
			field, err := theory.VigorMeanField(l, v, frontier, theory.DefaultNodes)
			if err != nil {
				return nil, err
			}
			for k, eta := range []float64{theorem, truncated, field.Eta} {
				curves[k].Points = append(curves[k].Points, Point{X: float64(rounds), Y: third(eta)})
			}
			if rounds%2 == 0 {
				r, err := e.simulate(ctx, bounded01(shape), 1024, 200, 2000, strategies(v)...)
				if err != nil {
					return nil, err
				}
				curves[3].Batch, curves[3].Replicates = r.Batch, r.Replicates
				eta := r.Strategies[0].Eta
				low, high := eta.Interval95()
				curves[3].Points = append(curves[3].Points, Point{
					X: float64(rounds), Y: third(eta.Mean), Low: third(low), High: third(high),
				})
			}
		}
		s.Curves = append(s.Curves, curves...)
	}
	s.Curves = append(s.Curves, ceiling)
	return s, nil
}
