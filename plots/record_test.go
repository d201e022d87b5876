package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// sampleData is one data of every kind.
func sampleData() []Data {
	speedup, etaShape, allocation, sizes, gradient, screening := sampleSpeedup(), sampleEtaShape(), sampleAllocation(), sampleGroupSizes(), sampleGradient(30), sampleScreening()
	comparison, ranks, cost, curves, plan, calibration := sampleComparison(), sampleRanks(), sampleCostQuality(), sampleCurves(), samplePlan(), sampleCalibration()
	lines, heat := sampleLines(), sampleHeat()
	return []Data{&allocation, &calibration, &comparison, &cost, &curves, &etaShape, &gradient, &sizes, &heat, &lines, &plan, &ranks, &screening, &speedup}
}

func TestKinds(t *testing.T) {
	for i, d := range sampleData() {
		empty, err := NewData(Kinds()[i])
		if err != nil || d.Kind() != Kinds()[i] || empty.Kind() != d.Kind() || fmt.Sprintf("%T", empty) != fmt.Sprintf("%T", d) {
			t.Errorf("%s: %T of kind %s, %v", Kinds()[i], d, d.Kind(), err)
		}
		if _, err := d.Draw(); err != nil {
			t.Errorf("%s: %v", d.Kind(), err)
		}
		if len(empty.Table()) != 0 && empty.Kind() != KindComparison { // whose reference is 0
			t.Errorf("%s: no data have the rows %v", d.Kind(), empty.Table())
		}
	}
	if _, err := NewData("pie"); err == nil || !strings.Contains(err.Error(), `kind = "pie", want one of`) {
		t.Errorf("error %v", err)
	}
}

// TestTable: a row a number, with what it is, as handed in.
func TestTable(t *testing.T) {
	nan := math.NaN()
	points := []Point{{1, 2, 1.5, 2.5}, {3, 4, 0, 0}}
	families := []Family{{Label: "vigor", ClosedForm: points[:1], MonteCarlo: points[1:]}}
	line := Line{Label: "vigor", First: points[:1], Second: points[1:]}
	row := func(panel, group, series, number string, v ...float64) Row {
		return Row{panel, group, series, number, v[0], v[1], v[2], v[3]}
	}
	for _, c := range []struct {
		data Data
		want []Row
	}{
		{&AllocationData{Strategies: families, Relative: true}, []Row{
			row("rollouts of a prompt, equal rollouts = 1", "", "vigor", "closed form", 1, 2, 1.5, 2.5),
			row("rollouts of a prompt, equal rollouts = 1", "", "vigor", "Monte Carlo", 3, 4, nan, nan),
		}},
		{&SpeedupData{Shapes: families[:0], Cap: points, Exponent: "1/3"}, []Row{
			row("speedup, eta^(1/3)", "", "cap, any law", "cap", 1, 2, 1.5, 2.5), row("speedup, eta^(1/3)", "", "cap, any law", "cap", 3, 4, nan, nan),
		}},
		{&EtaShapeData{Schedules: []Family{{Label: "T = 4", Truncated: points[:1], MeanField: points[1:]}}}, []Row{
			row("reward variance per rollout, fixed groups = 1", "", "T = 4", "truncated", 1, 2, 1.5, 2.5),
			row("reward variance per rollout, fixed groups = 1", "", "T = 4", "mean field", 3, 4, nan, nan),
		}},
		{&CostQualityData{Quality: "success", Strategies: families[:1]}, []Row{
			row("success", "", "vigor", "closed form", 1, 2, 1.5, 2.5), row("success", "", "vigor", "Monte Carlo", 3, 4, nan, nan),
		}},
		{&ScreeningData{Errors: []Family{{Label: "false omission", MonteCarlo: points[:1]}}}, []Row{
			row("probability of a screening error", "", "false omission", "Monte Carlo", 1, 2, 1.5, 2.5),
		}},
		{&CalibrationData{Measured: "measured", Predicted: "predicted", Predictors: []Predictor{{"eta", points[:1]}}}, []Row{
			row("measured", "", "eta", "measured against predicted", 1, 2, 1.5, 2.5),
		}},
		{&ComparisonData{Figure: "gain", Parties: []string{"a", "b"}, Reference: nan, Rows: []ComparisonRow{{"beta", "vigor", []Value{{2, 1.5, 2.5}, {nan, nan, nan}}}}}, []Row{
			row("gain", "beta", "vigor", "a", nan, 2, 1.5, 2.5), row("gain", "beta", "vigor", "b", nan, nan, nan, nan),
		}},
		{&CurvesData{Styles: [2]string{"trained", "held out"}, Panels: []CurvesPanel{{Y: "success", Lines: []Line{line}, Reference: 0.8, Name: "target"}}}, []Row{
			row("success", "", "vigor", "trained", 1, 2, 1.5, 2.5), row("success", "", "vigor", "held out", 3, 4, nan, nan), row("success", "", "target", "reference", nan, 0.8, nan, nan),
		}},
		{&GradientNormData{Cases: points[:1]}, []Row{row("gradient norm", "", "cases", "norm against bound", 1, 2, 1.5, 2.5)}},
		{&GroupSizesData{Strategies: []SizeLaw{{"vigor", []SizeShare{{8, Value{0.5, 0.4, 0.6}}}}}}, []Row{row("share of groups", "", "vigor", "share", 8, 0.5, 0.4, 0.6)}},
		{&HeatData{X: "shape", Y: "rounds", Columns: []string{"1.2", "2"}, Rows: []string{"3"}, Figure: "gain", Panels: []HeatPanel{
			{"alpha = 0.5", [][]HeatCell{{{Value{2, 1.5, 2.5}, ""}, {Value{nan, nan, nan}, "failed"}}}},
		}}, []Row{
			row("gain", "alpha = 0.5", "rounds = 3", "shape = 1.2", nan, 2, 1.5, 2.5), row("gain", "alpha = 0.5", "rounds = 3", "shape = 2, failed", nan, nan, nan, nan),
		}},
		{&LinesData{X: "shape", Y: "gain", Number: "mean over seeds", Reference: 1, Name: "one", Panels: []LinesPanel{{"alpha = 0.5", []SweepLine{{"rounds = 3", points}}}}}, []Row{
			row("gain", "alpha = 0.5", "rounds = 3", "mean over seeds", 1, 2, 1.5, 2.5), row("gain", "alpha = 0.5", "rounds = 3", "mean over seeds", 3, 4, nan, nan),
			row("gain", "", "one", "reference", nan, 1, nan, nan),
		}},
		{&PlanData{Rollouts: 4, Gain: "gain", Law: points[:1], Recorded: points[1:], Front: points[:1], Schedules: []NamedPoint{{"best", points[0]}}}, []Row{
			row("share of prompts by successes among 4 rollouts", "", "fitted law", "law", 1, 2, 1.5, 2.5),
			row("share of prompts by successes among 4 rollouts", "", "recorded", "counts", 3, 4, nan, nan),
			row("gain", "", "most gain at this cost", "front", 1, 2, 1.5, 2.5), row("gain", "", "best", "schedule", 1, 2, 1.5, 2.5),
		}},
		{&RanksData{Objective: "signal", Populations: []string{"uniform", "beta"}, Strategies: []RankRow{{"methods", "vigor", []RankRange{{1, 2}, {}}}}}, []Row{
			row("uniform", "methods", "vigor", "ranks by signal", nan, nan, 1, 2), row("beta", "methods", "vigor", "ranks by signal", nan, nan, nan, nan),
		}},
	} {
		if got := c.data.Table(); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.data.Kind(), got, c.want)
		}
	}
}

// TestOverlayHoldsBoth: a figure of two runs has the rows of both, each under the label
// that names its run, and none is lost, moved or shared; the runs stay as they are.
func TestOverlayHoldsBoth(t *testing.T) {
	for _, d := range sampleData() {
		before := fmt.Sprint(d.Table())
		all, notes, err := Overlay([]Run{{"seed = 1", d}, {"seed = 2", d}})
		if _, ok := d.(overlaid); !ok {
			if err == nil || !strings.Contains(err.Error(), "figures of kind "+d.Kind()+" cannot share one: "+apart[d.Kind()]) || apart[d.Kind()] == "" {
				t.Errorf("%s: error %v", d.Kind(), err)
			}
			continue
		}
		if err != nil || len(notes) > 0 {
			t.Fatalf("%s: %v, %q", d.Kind(), err, notes)
		}
		if after := fmt.Sprint(d.Table()); after != before {
			t.Errorf("%s: the run became %s", d.Kind(), after)
		}
		got, had := counts(all.Table()), counts(d.Table())
		for _, r := range d.Table() {
			shared := r.Number == "cap" || r.Number == "reference" // once in the figure
			for _, run := range []string{"seed = 1", "seed = 2"} {
				want := r
				switch {
				case shared:
				case d.Kind() == KindComparison:
					want.Number += ", " + run
				default:
					want.Series += ", " + run
				}
				if n := got[fmt.Sprint(want)]; n != had[fmt.Sprint(r)] {
					t.Errorf("%s: %d times %+v", d.Kind(), n, want)
				}
			}
		}
		if _, err := all.Draw(); err != nil {
			t.Errorf("%s: %v", d.Kind(), err)
		}
	}
}

// counts counts equal rows, NaN being itself.
func counts(rows []Row) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		n[fmt.Sprint(r)]++
	}
	return n
}

// TestOverlayRefuses: runs that do not show one quantity have no figure in common, and a
// cap or level that differs is left out, with a note.
func TestOverlayRefuses(t *testing.T) {
	curves := func(edit func(*CurvesData)) Data {
		d := sampleCurves()
		d.Panels = slices.Clone(d.Panels)
		edit(&d)
		return &d
	}
	same := curves(func(*CurvesData) {})
	speedup := func(edit func(*SpeedupData)) Data {
		d := sampleSpeedup()
		edit(&d)
		return &d
	}
	allocation, observed := sampleAllocation(), sampleAllocation()
	observed.Observed = true
	relative := sampleAllocation()
	relative.Relative = true
	quality, other := sampleCostQuality(), sampleCostQuality()
	other.Quality = "success"
	comparison, figure := sampleComparison(), sampleComparison()
	figure.Figure = "eta"
	calibration, measured := sampleCalibration(), sampleCalibration()
	measured.Measured = "seconds"
	perfect := SpeedupData{Exponent: "1/3", Shapes: []Family{{Label: "perfect selection", ClosedForm: []Point{At(1, 1)}}}, Cap: sampleSpeedup().Cap}
	for _, c := range []struct {
		a, b Data
		want string // of the error, or of the note
	}{
		{&allocation, &observed, "success observed is false in one run and true in another, want one"},
		{&allocation, &relative, "rollouts relative to equal ones is false in one run and true in another"},
		{&allocation, &quality, "figures of kind allocation and cost-quality, want one kind"},
		{&quality, &other, `quality is "mixed groups trained on, per prompt of the batch" in one run and "success" in another`},
		{&comparison, &figure, `the figure is "signal per rollout`},
		{&calibration, &measured, `what is measured is "measured ratio" in one run and "seconds" in another`},
		{same, curves(func(d *CurvesData) { d.X = "steps" }), `X is "rollouts generated per prompt" in one run and "steps" in another`},
		{same, curves(func(d *CurvesData) { d.LogX = true }), "logarithmic X is false"},
		{same, curves(func(d *CurvesData) { d.Stairs = true }), "stairs is false"},
		{same, curves(func(d *CurvesData) { d.Marks = true }), "marks is false"},
		{same, curves(func(d *CurvesData) { d.Styles[1] = "tested" }), "what the two curves of a line are is"},
		{same, curves(func(d *CurvesData) { d.Panels[0].LogY = true }), "logarithmic Y of mean success probability is false"},
		{same, curves(func(d *CurvesData) { d.Panels[0].Reference = 0.9 }), "note: mean success probability: the levels of the runs differ and are left out"},
		{speedup(func(*SpeedupData) {}), speedup(func(d *SpeedupData) { d.Exponent = "1" }), `the exponent of eta is "1/3" in one run and "1" in another`},
		{speedup(func(*SpeedupData) {}), &perfect, `the kinds of lines is "closed form, truncated, mean field, Monte Carlo" in one run and "closed form" in another`},
		{speedup(func(*SpeedupData) {}), speedup(func(d *SpeedupData) { d.Cap = d.Cap[1:] }), "note: the caps of the runs differ and are left out"},
	} {
		all, notes, err := Overlay([]Run{{"a", c.a}, {"b", c.b}})
		if note, ok := strings.CutPrefix(c.want, "note: "); ok {
			if err != nil || !slices.Equal(notes, []string{note}) || slices.ContainsFunc(all.Table(), func(r Row) bool {
				return r.Number == "cap" || r.Panel == "mean success probability" && r.Number == "reference"
			}) {
				t.Errorf("notes %q, %v, want %s and nothing drawn of it", notes, err, note)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if _, _, err := Overlay(nil); err == nil {
		t.Error("no run has a figure")
	}
}

// TestOverlayKeepsColours: a label has one ink in all panels, and no other label has it.
func TestOverlayKeepsColours(t *testing.T) {
	d := sampleCurves()
	d.Panels[1].Lines = slices.Clone(d.Panels[1].Lines[3:5]) // panels of other lines
	all, _, err := Overlay([]Run{{"a", &d}, {"b", &d}})
	if err != nil {
		t.Fatal(err)
	}
	inks := all.(*CurvesData).Inks
	taken := map[int]string{}
	for _, p := range all.(*CurvesData).Panels {
		for _, l := range p.Lines {
			ink, ok := inks[l.Label]
			if who, known := taken[ink]; !ok || known && who != l.Label {
				t.Errorf("%s has ink %d of %q", l.Label, ink, who)
			}
			taken[ink] = l.Label
		}
	}
	if len(inks) != 16 {
		t.Errorf("%d inks, want those of 16 lines", len(inks))
	}
}
