package plots

import (
	"math"
	"math/rand/v2"
)

// The figures of the tests, from numbers of theory.md where it has them.

// eta is the closed form at alpha = 1/2, gamma = 2.
func eta(kappa, rounds float64) float64 {
	q := math.Pow(2, 1/kappa)
	return (math.Pow(q, rounds) - 1) / (rounds * (q - 1))
}

// etaTruncated is the closed form on [0.01, 1] at alpha = 1/2, gamma = 2.
func etaTruncated(kappa, rounds float64) float64 {
	const lo = 0.01
	z := 1 - math.Pow(lo, kappa)
	tail := func(c float64) float64 {
		return kappa * math.Pow(lo, kappa) * (math.Pow(c, 1-kappa) - 1) / ((kappa - 1) * z)
	}
	var sum float64
	for i := 0.0; i < rounds; i++ {
		alpha := math.Pow(0.5, i)
		sum += math.Pow(2, i) * tail(lo*math.Pow(1-(1-alpha)*z, -1/kappa))
	}
	return sum / (rounds * tail(lo))
}

func cube(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = Point{p.X, math.Cbrt(p.Y), math.Cbrt(p.Low), math.Cbrt(p.High)}
	}
	return out
}

func sampleSpeedup() SpeedupData {
	d := SpeedupData{Exponent: "1/3"}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct {
		label string
		kappa float64
	}{{"κ = 1.1", 1.1}, {"κ = 1.5", 1.5}, {"κ = 2", 2}, {"κ = 3", 3}} {
		f := Family{Label: s.label}
		for t := 1.0; t <= 8; t++ {
			f.ClosedForm = append(f.ClosedForm, At(t, eta(s.kappa, t)))
			tr := etaTruncated(s.kappa, t)
			f.Truncated = append(f.Truncated, At(t, tr))
			mf := 1 + 0.28*(tr-1)
			f.MeanField = append(f.MeanField, At(t, mf))
			if int(t)%2 == 0 {
				m, e := mf+0.03*r.NormFloat64(), 0.05
				f.MonteCarlo = append(f.MonteCarlo, Point{t, m, m - e, m + e})
			}
		}
		f.ClosedForm, f.Truncated = cube(f.ClosedForm), cube(f.Truncated)
		f.MeanField, f.MonteCarlo = cube(f.MeanField), cube(f.MonteCarlo)
		d.Shapes = append(d.Shapes, f)
	}
	for t := 1.0; t <= 8; t++ {
		d.Cap = append(d.Cap, At(t, (math.Pow(2, t)-1)/t))
	}
	d.Cap = cube(d.Cap)
	return d
}

func sampleEtaShape() EtaShapeData {
	f := Family{Label: "vigor, T = 4"}
	r := rand.New(rand.NewPCG(3, 4))
	for k := 1.05; k <= 4.001; k += 0.05 {
		f.ClosedForm = append(f.ClosedForm, At(k, eta(k, 4)))
		tr := etaTruncated(k, 4)
		f.Truncated = append(f.Truncated, At(k, tr))
		f.MeanField = append(f.MeanField, At(k, 1+0.16*(tr-1)))
	}
	for k := 1.1; k <= 4.001; k += 0.4 {
		m := 1 + 0.16*(etaTruncated(k, 4)-1) + 0.01*r.NormFloat64()
		f.MonteCarlo = append(f.MonteCarlo, Point{k, m, m - 0.03, m + 0.03})
	}
	return EtaShapeData{Schedules: []Family{f}, Cap: []Point{At(1.05, 3.75), At(4, 3.75)}}
}

func sampleAllocation() AllocationData {
	v, w := Family{Label: "VIGOR 2·2^t, T = 4"}, Family{Label: "VIGOR 4, 16, T = 2"}
	fixed := Family{Label: "fixed, G = 8"}
	r := rand.New(rand.NewPCG(5, 6))
	for i := 0; i <= 200; i++ {
		p := float64(i) / 200
		u := 4 * p * (1 - p)
		v.MeanField = append(v.MeanField, At(p, 2+13.5*math.Pow(u, 1.1)))
		w.MeanField = append(w.MeanField, At(p, 4+9*math.Pow(u, 0.9)))
		fixed.MeanField = append(fixed.MeanField, At(p, 8))
	}
	for i := range 10 {
		p := (float64(i) + 0.5) / 10
		u := 4 * p * (1 - p)
		m := 2 + 13.5*math.Pow(u, 1.1) + 0.2*r.NormFloat64()
		v.MonteCarlo = append(v.MonteCarlo, Point{p, m, m - 0.6, m + 0.6})
		m = 4 + 9*math.Pow(u, 0.9) + 0.2*r.NormFloat64()
		w.MonteCarlo = append(w.MonteCarlo, Point{p, m, m - 0.5, m + 0.5})
	}
	return AllocationData{Strategies: []Family{v, w, fixed}}
}

func sampleGroupSizes() GroupSizesData {
	v := func(m float64) Value { return Value{m, m - 0.012, m + 0.012} }
	return GroupSizesData{Strategies: []SizeLaw{
		{"VIGOR, T = 4", []SizeShare{{2, v(0.5)}, {6, v(0.25)}, {14, v(0.125)}, {30, v(0.125)}}},
		{"VIGOR, T = 2", []SizeShare{{4, v(0.75)}, {20, v(0.25)}}},
		{"fixed, G = 8", []SizeShare{{8, Value{1, math.NaN(), math.NaN()}}}},
	}}
}

func sampleGradient(n int) GradientNormData {
	r := rand.New(rand.NewPCG(7, 8))
	var d GradientNormData
	for range n {
		g := 2 << r.IntN(6)
		s := r.IntN(g + 1)
		sigma := 2 * math.Sqrt(float64(s*(g-s))) / float64(g)
		m := math.Exp(0.5 * r.NormFloat64())
		tight := math.Sqrt(r.Float64()*r.Float64()) * 0.97
		d.Cases = append(d.Cases, At(m*sigma, m*sigma*tight))
	}
	return d
}

func sampleScreening() ScreeningData {
	point := func(t, y, e float64) Point { return Point{t, y, y - e, y + e} }
	return ScreeningData{Errors: []Family{
		{
			Label:      "false omission",
			MeanField:  []Point{At(1, 0.00031207), At(2, 0.0000857), At(3, 0.0000059)},
			MonteCarlo: []Point{point(1, 0.00033, 0.00005), point(2, 0.00009, 0.00003), point(3, 0.000004, 0.000005)},
		},
		{
			Label:      "false negative",
			MeanField:  []Point{At(1, 0.28888), At(2, 0.03972), At(3, 0.00137)},
			MonteCarlo: []Point{point(1, 0.287, 0.01), point(2, 0.041, 0.005), point(3, 0.0012, 0.0006)},
		},
		{
			Label:      "false negative, cumulative",
			MeanField:  []Point{At(1, 0.28888), At(2, 0.31713), At(3, 0.31806)},
			MonteCarlo: []Point{point(1, 0.287, 0.01), point(2, 0.316, 0.01), point(3, 0.317, 0.01)},
		},
	}}
}

func sampleComparison() ComparisonData {
	nan := math.NaN()
	v := func(m, e float64) Value { return Value{m, m - e, m + e} }
	none := Value{nan, nan, nan}
	return ComparisonData{
		Figure:    "signal per rollout, fixed groups of the same size = 1",
		Parties:   []string{"mean field", "replay, 95 % interval"},
		Reference: 1,
		Rows: []ComparisonRow{
			{"one-shot RLVR, steps 1–5", "vigor m0 = 2, T = 4", []Value{{1.98, nan, nan}, v(1.93, 0.08)}},
			{"one-shot RLVR, steps 1–5", "vigor m0 = 4, T = 2", []Value{{1.61, nan, nan}, v(1.64, 0.06)}},
			{"one-shot RLVR, steps 1–5", "random control", []Value{{1, nan, nan}, v(1.01, 0.05)}},
			{"Beta(0.1, 0.3)", "vigor m0 = 2, T = 4", []Value{{2.11, nan, nan}, v(2.10, 0.04)}},
			{"Beta(0.1, 0.3)", "vigor m0 = 4, T = 2", []Value{{1.72, nan, nan}, v(1.71, 0.03)}},
			{"Beta(0.1, 0.3)", "oracle", []Value{none, v(2.6, 0.05)}},
		},
	}
}

func sampleRanks() RanksData {
	return RanksData{
		Objective:   "signal per rollout",
		Populations: []string{"uniform", "beta:a=0.3,b=0.7", "spiked-beta:dead=0.2,solved=0.1,a=0.6,b=0.9"},
		Strategies: []RankRow{
			{"baselines", "fixed:g=8", []RankRange{{3, 4}, {4, 4}, {4, 4}}},
			{"baselines", "fixed:g=16,prompts=0.5", []RankRange{{2, 3}, {2, 3}, {3, 3}}},
			{"methods", "vigor", []RankRange{{1, 2}, {2, 3}, {1, 2}}},
			{"methods", "dapo:n=8", []RankRange{{2, 4}, {1, 1}, {1, 2}}},
			{"methods", "vip:predictor=gp", []RankRange{{5, 5}, {}, {5, 5}}},
		},
	}
}

func sampleCostQuality() CostQualityData {
	curve := func(label string, cost, gain float64) Family {
		f := Family{Label: label}
		for k := 1.0; k <= 8; k++ {
			f.MonteCarlo = append(f.MonteCarlo, Point{cost * k, gain * k, gain*k - 0.1, gain*k + 0.1})
		}
		return f
	}
	return CostQualityData{
		Quality:    "mixed groups trained on, per prompt of the batch",
		Strategies: []Family{curve("fixed:g=8", 8, 0.5), curve("vigor", 8, 0.3), curve("dapo", 21, 1)},
	}
}

// samplePlan has a front of three schedules, and a default beside it.
func samplePlan() PlanData {
	d := PlanData{
		Rollouts: 4, Cost: "seconds of a step", Gain: "gain in progress, fixed groups = 1",
		Front: []Point{At(260, 1), At(340, 1.84), At(480, 2.05)},
		Schedules: []NamedPoint{
			{"best: vigor:m0=1,rounds=6,alpha=5/9", Point{480, 2.04, 1.95, 2.14}},
			{"default: vigor", At(320, 1.79)},
			{"no change: fixed:g=8", At(260, 1)},
		},
	}
	for s, p := range []float64{0.53, 0.14, 0.1, 0.09, 0.14} {
		d.Law = append(d.Law, Point{float64(s), p, p - 0.02, p + 0.02})
		d.Recorded = append(d.Recorded, Point{float64(s), p + 0.01, p - 0.03, p + 0.04})
	}
	return d
}

// sampleCurves has eight lines, with bands and second curves.
func sampleCurves() CurvesData {
	d := CurvesData{
		Title: "Learning curves", X: "rollouts generated per prompt", Styles: [2]string{"trained prompts", "held-out prompts"},
		Panels: []CurvesPanel{
			{Y: "mean success probability", Reference: 0.8, Name: "target"},
			{Y: "zero-variance groups, share", Reference: math.NaN()},
		},
	}
	for i, label := range []string{"fixed:g=8", "vigor", "dapo:n=8", "pods", "gvm", "knapsack", "greso", "oracle:objective=signal"} {
		rate := 0.004 + 0.0015*float64(i)
		success, zero := Line{Label: label}, Line{Label: label}
		for x := 0.0; x <= 400; x += 8 {
			p, e := 0.85-0.75*math.Exp(-rate*x), 0.02*math.Exp(-rate*x)+0.005
			success.First = append(success.First, Point{x, p, p - e, p + e})
			if i < 2 {
				success.Second = append(success.Second, At(x, 0.9*p))
			}
			z := 0.2 + 0.6*math.Exp(-2*rate*x)
			zero.First = append(zero.First, Point{x, z, z - e, z + e})
		}
		d.Panels[0].Lines = append(d.Panels[0].Lines, success)
		d.Panels[1].Lines = append(d.Panels[1].Lines, zero)
	}
	return d
}

// sampleSlopes is local slopes against p0 on a logarithmic axis.
func sampleSlopes() CurvesData {
	one := CurvesPanel{Y: "local slope", Reference: 1, Name: "1"}
	for i, label := range []string{"policy gradient", "GRPO, infinite G"} {
		l := Line{Label: label}
		for k := -5.0; k <= -1; k += 0.5 {
			p0 := math.Pow(10, k)
			l.First = append(l.First, At(p0, (1-p0)/float64(i+1)))
		}
		one.Lines = append(one.Lines, l)
	}
	return CurvesData{Title: "Local slopes", X: "initial success probability p_{init}", LogX: true, Panels: []CurvesPanel{one}}
}

func sampleCalibration() CalibrationData {
	d := CalibrationData{Predicted: "predicted ratio of rollouts to target", Measured: "measured ratio"}
	r := rand.New(rand.NewPCG(9, 10))
	for i, label := range []string{"η^(1/3)", "η^(1/2)", "η", "progress"} {
		q := Predictor{Label: label}
		for k := range 7 {
			truth := 0.7 * math.Pow(1.25, float64(k))
			measured := truth * math.Exp(0.05*r.NormFloat64())
			q.Cases = append(q.Cases, Point{math.Pow(truth, []float64{1. / 3, 1. / 2, 1, 0.9}[i]), measured, measured * 0.9, measured * 1.1})
		}
		d.Predictors = append(d.Predictors, q)
	}
	return d
}

// sampleLines is a sweep over shape, in panels by alpha and gamma.
func sampleLines() LinesData {
	d := LinesData{X: "shape", Y: "progress, fixed groups = 1", Number: "mean over seeds", Reference: 1, Name: "fixed groups", Beside: 3}
	for i, gamma := range []string{"gamma = 1.5", "gamma = 2"} {
		for k, alpha := range []string{"alpha = 0.25", "alpha = 0.5", "alpha = 0.75"} {
			panel := LinesPanel{Head: alpha + ", " + gamma}
			for j, label := range []string{"rounds = 2", "rounds = 3", "rounds = 4"} {
				l := SweepLine{Label: label}
				for _, shape := range []float64{1.2, 1.5, 2, 3} {
					y := 1 + (0.2+0.3*float64(j)+0.15*float64(i)+0.1*float64(k))/shape
					l.Points = append(l.Points, Point{shape, y, y - 0.06, y + 0.06})
				}
				panel.Lines = append(panel.Lines, l)
			}
			d.Panels = append(d.Panels, panel)
		}
	}
	return d
}

// sampleHeat is a map with a failed cell and one that was not asked for.
func sampleHeat() HeatData {
	d := HeatData{
		X: "shape", Y: "rounds", Columns: []string{"1.2", "1.5", "2", "3"}, Rows: []string{"1", "2", "3", "4"},
		Figure: "progress, fixed groups = 1", Number: "mean over seeds", About: math.NaN(), Panels: make([]HeatPanel, 1),
	}
	for i := range d.Rows {
		var cells []HeatCell
		for k := range d.Columns {
			v := 0.8 + 0.4*float64(i)/(0.5+0.4*float64(k))
			cells = append(cells, HeatCell{Value: Value{v, v - 0.02, v + 0.02}})
		}
		d.Panels[0].Cells = append(d.Panels[0].Cells, cells)
	}
	missing := Value{math.NaN(), math.NaN(), math.NaN()}
	d.Panels[0].Cells[2][3] = HeatCell{missing, "failed"}
	d.Panels[0].Cells[3][0] = HeatCell{missing, "not in the sweep"}
	return d
}

// sampleRatios is two maps about 1, of strategies with long names.
func sampleRatios() HeatData {
	d := sampleHeat()
	d.X, d.Columns, d.About = "strategy", []string{"vigor", "dapo:n=8", "knapsack", "vigor:m0=4,rounds=2,alpha=1/4,gamma=4"}, 1
	d.Panels = []HeatPanel{{"population = uniform", d.Panels[0].Cells}, {"population = beta:a=0.3,b=0.7", d.Panels[0].Cells}}
	return d
}

// must returns the figure of a constructor that must not fail.
func must(f Figure, err error) Figure {
	if err != nil {
		panic(err)
	}
	return f
}

// samples are one figure a kind.
func samples() map[string]Figure {
	return map[string]Figure{
		"speedup":     must(Speedup(sampleSpeedup())),
		"eta-shape":   must(EtaShape(sampleEtaShape())),
		"allocation":  must(Allocation(sampleAllocation())),
		"group-sizes": must(GroupSizes(sampleGroupSizes())),
		"gradient":    must(GradientNorm(sampleGradient(20000))),
		"screening":   must(Screening(sampleScreening())),
		"comparison":  must(Comparison(sampleComparison())),

		"ranks":        must(Ranks(sampleRanks())),
		"cost-quality": must(CostQuality(sampleCostQuality())),

		"curves":      must(Curves(sampleCurves())),
		"plan":        must(Plan(samplePlan())),
		"lines":       must(Lines(sampleLines())),
		"heat":        must(Heat(sampleHeat())),
		"ratios":      must(Heat(sampleRatios())),
		"slopes":      must(Curves(sampleSlopes())),
		"calibration": must(Calibration(sampleCalibration())),
	}
}
