package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// line returns n points on a line with intervals.
func line(n int, slope, high float64) []Point {
	var ps []Point
	for i := range n {
		y := slope*float64(i) + 1
		ps = append(ps, Point{float64(i + 1), y, y - high, y + high})
	}
	return ps
}

const long = "vigor:m0=2,rounds=4,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true"

// oddPoints are series that a figure has to survive.
var oddPoints = map[string][]Point{
	"one":            {At(1, 2)},
	"all dead":       {{0, 8, 8, 8}},
	"zero width":     {{1, 2, 2, 2}, {2, 3, 3, 3}, {3, 1, 1, 1}},
	"identical":      {At(3, 2), At(3, 2), At(3, 2)},
	"level":          {At(1, 2), At(2, 2), At(3, 2)},
	"upright":        {At(2, 1), At(2, 2), At(2, 3)},
	"zero":           {At(0, 0)},
	"zeros":          {At(1, 0), At(2, 0)},
	"some bad":       {At(1, 1), At(2, nan), At(3, 3), At(inf, 1), At(4, -inf), At(nan, nan), At(5, 4)},
	"alternating":    {At(1, 1), At(2, nan), At(3, 3), At(4, nan), At(5, 5)},
	"huge":           {At(1, 1e99), At(2, -1e99)},
	"beyond":         {At(1, 1e300), At(2, 1)},
	"tiny":           {At(1, 5e-324), At(2, 1e-300)},
	"small":          {At(1, 3e-9), At(2, 4e-9)},
	"close":          {At(1, 1), At(2, math.Nextafter(1, 2))},
	"close and far":  {At(1, 1e9), At(2, 1e9+1)},
	"negative":       {At(-5, -3), At(-2, -1)},
	"far":            {At(1e15, 1), At(2e15, 2)},
	"log":            {At(1, 1e-12), At(2, 1), At(3, 1e-3)},
	"log with zero":  {At(1, 1e-6), At(2, 0), At(3, 0.5), At(4, -1)},
	"wide":           {{1, 1, -1e50, 1e50}, {2, 2, 1, 3}},
	"bad intervals":  {{1, 2, 3, 4}, {2, 2, nan, 3}, {3, 2, -inf, inf}, {4, 2, 3, 1}},
	"no intervals":   {{X: 1, Y: 1}, {X: 2, Y: 3}},
	"backwards":      {At(3, 1), At(2, 5), At(1, 2)},
	"many":           line(3000, 0.01, 5),
	"probability":    {At(0, 2), At(0.5, 9), At(1, 2)},
	"beside [0, 1]":  {At(-0.5, 1), At(0.5, 2), At(1.5, 3)},
	"a million long": {At(1, 1234567.891), At(1e6, 7654321.123)},
}

// odd builds every kind of figure of the points.
func odd(label string, ps []Point) map[string]func() (Figure, error) {
	families := []Family{
		{Label: label, ClosedForm: ps, Truncated: ps, MeanField: ps, MonteCarlo: ps},
		{Label: label + " 2", MonteCarlo: ps},
	}
	var shares []SizeShare
	var values []Value
	for i, p := range ps {
		shares = append(shares, SizeShare{i, Value{p.Y, p.Low, p.High}})
		if i < 30 {
			values = append(values, Value{p.Y, p.Low, p.High})
		}
	}
	var rows []ComparisonRow
	ranks := RanksData{Objective: label, Populations: []string{label, "b"}}
	for i, v := range values {
		rows = append(rows, ComparisonRow{label, fmt.Sprint(label, " ", i), []Value{v, v}})
		ranks.Strategies = append(ranks.Strategies, RankRow{label, fmt.Sprint(label, " ", i), []RankRange{{i + 1, len(values)}, {}}})
	}
	return map[string]func() (Figure, error){
		"speedup": func() (Figure, error) {
			return Speedup(SpeedupData{Shapes: families, Cap: ps, Exponent: "1/3"})
		},
		"speedup of one": func() (Figure, error) {
			return Speedup(SpeedupData{Shapes: families[:1], Cap: ps, Exponent: "12345678"})
		},
		"eta": func() (Figure, error) {
			return EtaShape(EtaShapeData{Schedules: families, Cap: []Point{At(1, 3.75), At(4, 3.75)}})
		},
		"allocation":  func() (Figure, error) { return Allocation(AllocationData{Strategies: families}) },
		"screening":   func() (Figure, error) { return Screening(ScreeningData{families}) },
		"group sizes": func() (Figure, error) { return GroupSizes(GroupSizesData{[]SizeLaw{{label, shares}, {"b", shares}}}) },
		"gradient":    func() (Figure, error) { return GradientNorm(GradientNormData{ps, label, "M"}) },
		"comparison": func() (Figure, error) {
			return Comparison(ComparisonData{label, []string{label, "b"}, rows, 1})
		},
		"ranks":              func() (Figure, error) { return Ranks(ranks) },
		"cost and quality":   func() (Figure, error) { return CostQuality(CostQualityData{label, families}) },
		"curves":             func() (Figure, error) { return Curves(oddCurves(label, ps, false)) },
		"logarithmic curves": func() (Figure, error) { return Curves(oddCurves(label, ps, true)) },
		"plan": func() (Figure, error) {
			return Plan(PlanData{8, ps, ps, label, label, ps, []NamedPoint{{label, At(1, 1)}, {"b", ps[len(ps)-1]}}})
		},
		"lines":              func() (Figure, error) { return Lines(oddLines(label, ps, false, 1)) },
		"logarithmic lines":  func() (Figure, error) { return Lines(oddLines(label, ps, true, 3)) },
		"many panels":        func() (Figure, error) { return Lines(oddLines(label, ps, false, 7)) },
		"heat":               func() (Figure, error) { return Heat(oddHeat(label, values, nan, 1)) },
		"heat about a value": func() (Figure, error) { return Heat(oddHeat(label, values, 1, 4)) },
		"calibration": func() (Figure, error) {
			return Calibration(CalibrationData{label, label, []Predictor{{label, ps}, {"b", ps}}})
		},
	}
}

// TestTinyIntervals: an interval that ends as good as at 0 leaves a logarithmic axis its
// range.
func TestTinyIntervals(t *testing.T) {
	ps := []Point{{1, 0.3, 1e-320, 0.4}, {2, 1e99, 1, 1e100}, {3, 0.3, 0.2, 0.4}}
	f, err := Curves(CurvesData{Panels: []CurvesPanel{{Y: "y", LogY: true, Lines: []Line{{"a", ps, ps}}, Reference: nan}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		if _, err := Render(f, format, OneColumn, paper); err != nil {
			t.Errorf("as %s: %v", format, err)
		}
	}
}

// oddCurves has two panels, the second of one line.
func oddCurves(label string, ps []Point, log bool) CurvesData {
	return CurvesData{Title: label, X: label, LogX: log, Styles: [2]string{label, "b"}, Panels: []CurvesPanel{
		{Y: label, LogY: log, Lines: []Line{{label, ps, ps}, {"b", nil, ps}}, Reference: 1, Name: label},
		{Y: "b", LogY: log, Lines: []Line{{label, ps, ps}}, Reference: nan},
	}}
}

// oddLines has panels of two lines, the last of one.
func oddLines(label string, ps []Point, log bool, panels int) LinesData {
	d := LinesData{X: label, Y: label, LogX: log, LogY: log, Reference: 1, Name: label, Beside: 2}
	for i := range panels {
		d.Panels = append(d.Panels, LinesPanel{fmt.Sprint(label, " ", i), []SweepLine{{label, ps}, {"b", ps}}})
	}
	d.Panels[panels-1].Lines = []SweepLine{{"b", ps}}
	return d
}

// oddHeat has the values in a row and none in another, panel by panel.
func oddHeat(label string, values []Value, about float64, panels int) HeatData {
	d := HeatData{X: label, Y: label, Rows: []string{label, "b"}, Figure: label, About: about}
	cells := make([][]HeatCell, 2)
	for _, v := range values {
		d.Columns = append(d.Columns, label)
		cells[0] = append(cells[0], HeatCell{v, ""})
		cells[1] = append(cells[1], HeatCell{Value{nan, nan, nan}, label})
	}
	for i := range panels {
		d.Panels = append(d.Panels, HeatPanel{fmt.Sprint(label, " ", i), cells})
	}
	return d
}

// TestExtremes draws every odd series in every kind of figure, with short and
// very long labels, in every look and width: an error or a sound figure.
func TestExtremes(t *testing.T) {
	for what, ps := range oddPoints {
		labels := []string{"a"}
		if what == "some bad" || what == "log" || what == "close and far" {
			labels = []string{"a", long, strings.Repeat("W", 400), "", "日本語 \x00\xff\n🙂", "_{x}^{y}_^{{}"}
		}
		for _, label := range labels {
			for kind, build := range odd(label, ps) {
				f, err := build()
				if err != nil {
					if !strings.HasPrefix(err.Error(), "plots: ") {
						t.Errorf("%s of %s: error %q does not name the package", kind, what, err)
					}
					continue
				}
				for _, s := range looks() {
					widths := []Width{s.column, s.page}
					if s.roman {
						widths = widths[:1] // a page has more room
					}
					for _, w := range widths {
						t.Run(fmt.Sprintf("%s/%s/%.8q/%s", kind, what, label, where(s, w)), func(t *testing.T) { lookIn(f, w, s).check(t) })
					}
				}
			}
		}
	}
}

// TestExtremesRender writes a few of them in every format.
func TestExtremesRender(t *testing.T) {
	for _, what := range []string{"some bad", "huge", "tiny", "log with zero", "close", "bad intervals"} {
		for kind, build := range odd(long, oddPoints[what]) {
			f, err := build()
			if err != nil {
				continue
			}
			for _, format := range Formats() {
				if _, err := Render(f, format, OneColumn, paper); err != nil {
					t.Errorf("%s of %s as %s: %v", kind, what, format, err)
				}
			}
		}
	}
}

// TestTwentySeries draws as many as a figure may well meet, and names each.
func TestTwentySeries(t *testing.T) {
	var families []Family
	var laws []SizeLaw
	var rows []ComparisonRow
	var parties []string
	for i := range 20 {
		label := fmt.Sprintf("strategy %d", i+1)
		ps := line(4, 0.1*float64(i%7), 0.05)
		for k := range ps {
			ps[k].X /= 4
		}
		families = append(families, Family{Label: label, MeanField: ps, MonteCarlo: ps})
		law := SizeLaw{Label: label}
		for k := range 4 {
			law.Shares = append(law.Shares, SizeShare{2 + i%3 + 4*k, Value{0.25, 0.2, 0.3}})
		}
		laws = append(laws, law)
		rows = append(rows, ComparisonRow{"", label, []Value{{float64(i), float64(i) - 1, float64(i) + 1}}})
		parties = append(parties, label)
	}
	party := ComparisonRow{"", "all", make([]Value, 20)}
	var lines []Line
	var predictors []Predictor
	ranks := RanksData{Objective: "x", Populations: parties}
	plan := PlanData{Law: line(5, 0.1, 0.1), Front: line(3, 1, 0)}
	var sweep LinesPanel
	heat := HeatData{X: "strategy", Y: "population", Columns: parties, Rows: parties, About: nan, Panels: make([]HeatPanel, 2)}
	for i, f := range families {
		ranks.Strategies = append(ranks.Strategies, RankRow{"", f.Label, make([]RankRange, 20)})
		ranks.Strategies[i].Ranks[i] = RankRange{1, 20}
		plan.Schedules = append(plan.Schedules, NamedPoint{f.Label, At(float64(i), float64(i%3))})
		lines = append(lines, Line{f.Label, f.MeanField, f.MonteCarlo})
		sweep.Lines = append(sweep.Lines, SweepLine{f.Label, f.MonteCarlo})
		for k := range heat.Panels {
			heat.Panels[k].Cells = append(heat.Panels[k].Cells, make([]HeatCell, 20))
			heat.Panels[k].Cells[i][i].Value = Value{float64(i), 0, 40}
		}
		predictors = append(predictors, Predictor{f.Label, f.MonteCarlo})
	}
	figures := map[string]Figure{
		"speedup":     must(Speedup(SpeedupData{Shapes: families, Exponent: "1"})),
		"eta":         must(EtaShape(EtaShapeData{Schedules: families})),
		"allocation":  must(Allocation(AllocationData{Strategies: families})),
		"screening":   must(Screening(ScreeningData{families})),
		"group sizes": must(GroupSizes(GroupSizesData{laws})),
		"ranks":       must(Ranks(ranks)),
		"plan":        must(Plan(plan)),
		"quality":     must(CostQuality(CostQualityData{"x", families})),
		"comparison":  must(Comparison(ComparisonData{"x", []string{"replay"}, rows, nan})),
		"parties":     must(Comparison(ComparisonData{"x", parties, []ComparisonRow{party}, nan})),
		"curves":      must(Curves(CurvesData{X: "x", Styles: [2]string{"a", "b"}, Panels: []CurvesPanel{{Lines: lines, Reference: nan}}})),
		"calibration": must(Calibration(CalibrationData{"x", "y", predictors})),
		"lines":       must(Lines(LinesData{X: "x", Y: "y", Reference: nan, Panels: []LinesPanel{sweep}})),
		"panels":      must(Lines(LinesData{X: "x", Y: "y", Reference: nan, Panels: []LinesPanel{sweep, sweep, sweep}})),
		"heat":        must(Heat(heat)),
	}
	for name, f := range figures {
		for _, s := range looks() {
			for _, w := range []Width{s.column, s.page} {
				p := lookIn(f, w, s)
				t.Run(name+"/"+where(s, w), func(t *testing.T) { p.check(t) })
				for i := range 20 {
					if label := fmt.Sprintf("strategy %d", i+1); !strings.Contains(p.text(), label) {
						t.Errorf("%s, %s: %q has no label", name, where(s, w), label)
					}
				}
			}
		}
	}
}

func TestConstructorErrors(t *testing.T) {
	many := make([]Family, maxSeries+1)
	for i := range many {
		many[i].MonteCarlo = []Point{At(1, 1)}
	}
	bad := []Family{{Label: "a", MonteCarlo: []Point{At(nan, 1), At(1, inf)}}}
	for _, c := range []struct {
		want  string
		build func() (Figure, error)
	}{
		{"speedup: no finite point", func() (Figure, error) { return Speedup(SpeedupData{}) }},
		{"speedup: no finite point", func() (Figure, error) { return Speedup(SpeedupData{Shapes: bad}) }},
		{`speedup: exponent = "a", want`, func() (Figure, error) { return Speedup(SpeedupData{Shapes: bad, Exponent: "a"}) }},
		{"speedup: 41 series, want [1, 40]", func() (Figure, error) { return Speedup(SpeedupData{Shapes: many}) }},
		{"eta against shape: no finite point", func() (Figure, error) { return EtaShape(EtaShapeData{}) }},
		{"allocation: no finite point", func() (Figure, error) { return Allocation(AllocationData{}) }},
		{"screening errors: no finite point", func() (Figure, error) { return Screening(ScreeningData{bad}) }},
		{"group sizes: no finite share", func() (Figure, error) { return GroupSizes(GroupSizesData{}) }},
		{"group sizes: 41 series", func() (Figure, error) { return GroupSizes(GroupSizesData{make([]SizeLaw, 41)}) }},
		{"gradient norm: no finite case", func() (Figure, error) { return GradientNorm(GradientNormData{}) }},
		{"comparison: no finite value", func() (Figure, error) { return Comparison(ComparisonData{}) }},
		{"comparison: 61 rows, want [1, 60]", func() (Figure, error) {
			return Comparison(ComparisonData{Rows: make([]ComparisonRow, 61)})
		}},
		{"curves: 0 panels, want [1, 6]", func() (Figure, error) { return Curves(CurvesData{}) }},
		{"curves: 7 panels, want [1, 6]", func() (Figure, error) { return Curves(CurvesData{Panels: make([]CurvesPanel, 7)}) }},
		{"curves: no finite point", func() (Figure, error) { return Curves(CurvesData{Panels: make([]CurvesPanel, 1)}) }},
		{"curves: no finite point", func() (Figure, error) {
			return Curves(CurvesData{LogX: true, Panels: []CurvesPanel{{Lines: []Line{{"a", []Point{At(0, 1), At(-1, 2)}, nil}}}}})
		}},
		{"curves: 41 series, want [1, 40]", func() (Figure, error) {
			return Curves(CurvesData{Panels: []CurvesPanel{{Lines: make([]Line, 41)}}})
		}},
		{"calibration: no finite positive case", func() (Figure, error) {
			return Calibration(CalibrationData{Predictors: []Predictor{{"a", []Point{At(0, 1), At(1, -1), At(nan, 1)}}}})
		}},
		{"calibration: 41 series, want [1, 40]", func() (Figure, error) {
			return Calibration(CalibrationData{Predictors: make([]Predictor, 41)})
		}},
		{"lines: 0 panels, want [1, 36]", func() (Figure, error) { return Lines(LinesData{}) }},
		{"lines: 37 panels, want [1, 36]", func() (Figure, error) { return Lines(LinesData{Panels: make([]LinesPanel, 37)}) }},
		{"lines: no finite point", func() (Figure, error) { return Lines(LinesData{Panels: make([]LinesPanel, 1)}) }},
		{"lines: no finite point", func() (Figure, error) { return Lines(LinesData{Panels: make([]LinesPanel, 2)}) }},
		{"lines: 41 series, want [1, 40]", func() (Figure, error) {
			return Lines(LinesData{Panels: []LinesPanel{{"a", make([]SweepLine, 41)}}})
		}},
		{"lines: 41 series, want [1, 40]", func() (Figure, error) {
			d := LinesData{Panels: make([]LinesPanel, 2)}
			for i := range 41 {
				d.Panels[i%2].Lines = append(d.Panels[i%2].Lines, SweepLine{fmt.Sprint(i), []Point{At(1, 1)}})
			}
			return Lines(d)
		}},
		{"heat: 0 rows of 0 cells, want [1, 60] of [1, 60]", func() (Figure, error) { return Heat(HeatData{}) }},
		{"heat: 61 rows of 1 cells", func() (Figure, error) {
			return Heat(HeatData{Rows: make([]string, 61), Columns: []string{"a"}, Panels: make([]HeatPanel, 1)})
		}},
		{"heat: 37 panels, want [1, 36]", func() (Figure, error) {
			return Heat(HeatData{Rows: []string{"a"}, Columns: []string{"a"}, Panels: make([]HeatPanel, 37)})
		}},
		{`heat: panel "a" has 0 rows, want 1`, func() (Figure, error) {
			return Heat(HeatData{Rows: []string{"a"}, Columns: []string{"a"}, Panels: []HeatPanel{{"a", nil}}})
		}},
		{`heat: panel "a": row 1 has 2 cells, want 1`, func() (Figure, error) {
			return Heat(HeatData{Rows: []string{"a"}, Columns: []string{"a"}, Panels: []HeatPanel{{"a", [][]HeatCell{make([]HeatCell, 2)}}}})
		}},
		{"heat: no finite value", func() (Figure, error) {
			return Heat(HeatData{Rows: []string{"a"}, Columns: []string{"a"}, Panels: []HeatPanel{{"a", [][]HeatCell{{{Value{inf, nan, nan}, "failed"}}}}}})
		}},
		{"heat: 4 reasons for missing values, want at most 3", func() (Figure, error) {
			none := Value{nan, nan, nan}
			cells := []HeatCell{{Value{1, 1, 1}, ""}, {none, "a"}, {none, "b"}, {none, "c"}, {none, ""}}
			return Heat(HeatData{Rows: []string{"a"}, Columns: make([]string, 5), Panels: []HeatPanel{{"a", [][]HeatCell{cells}}}})
		}},
		{"plan: no finite point", func() (Figure, error) { return Plan(PlanData{}) }},
		{"plan: no finite point", func() (Figure, error) { return Plan(PlanData{Law: []Point{At(0, 1)}}) }},
		{`comparison: row "r" has 2 values, want at most 1`, func() (Figure, error) {
			return Comparison(ComparisonData{"x", []string{"p"}, []ComparisonRow{{"", "r", make([]Value, 2)}}, nan})
		}},
	} {
		f, err := c.build()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if f.build != nil {
			t.Errorf("%q: a figure comes with the error", c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	f := must(Screening(ScreeningData{[]Family{
		{Label: "a", MonteCarlo: oddPoints["some bad"]},
		{Label: "∇b", MonteCarlo: []Point{At(1, 1e-4), At(2, 0), {3, 2, 3, 4}}},
	}}))
	want := []string{
		"a, Monte Carlo: 4 of 7 points dropped (not finite)",
		`label "∇b": the font has no sign for '∇'`,
		"∇b, Monte Carlo: 1 intervals left out (not finite or without their point)",
		"∇b, Monte Carlo: 1 points are zero, drawn as hollow triangles at the foot of the logarithmic axis",
	}
	got := f.Notes()
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			t.Errorf("note %q is missing in %q", w, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d notes, want %d: %q", len(got), len(want), got)
	}
	f = must(Curves(CurvesData{LogX: true, Styles: [2]string{"trained"}, Panels: []CurvesPanel{
		{Lines: []Line{{Label: "a", First: []Point{At(0, 1), At(1, 1), At(2, 2)}}}, Reference: nan},
	}}))
	if got := f.Notes(); len(got) != 1 || got[0] != "a, trained: 1 of 3 points dropped (X not above 0)" {
		t.Errorf("notes %q, want one on the point at 0", got)
	}
	f = must(Calibration(CalibrationData{"x", "y", []Predictor{{"a", []Point{At(1, 0), At(1, 2), At(inf, 2)}}}}))
	if got := f.Notes(); len(got) != 2 || got[0] != "a: 1 of 3 cases dropped (not above 0)" || got[1] != "a: 1 of 2 points dropped (not finite)" {
		t.Errorf("notes %q, want two on what is dropped", got)
	}
	for name, f := range samples() {
		if n := f.Notes(); name != "gradient" && len(n) > 0 {
			t.Errorf("%s: a sound figure has notes: %q", name, n)
		}
	}
}

// TestGaps wants no line across a point that was dropped.
func TestGaps(t *testing.T) {
	ps := []Point{At(1, 1), At(2, 2), At(3, nan), At(4, 4), At(5, 5)}
	p := look(must(Speedup(SpeedupData{Shapes: []Family{{ClosedForm: ps}}})), OneColumn)
	x, y := p.scales(t, false, false)
	c := paper.inkOf(0).mark
	if !p.hasCurve(ps[:2], x, y, c, nil) || !p.hasCurve(ps[3:], x, y, c, nil) {
		t.Error("the parts beside the gap are not drawn")
	}
	if p.hasCurve([]Point{ps[1], ps[3]}, x, y, c, nil) {
		t.Error("the line bridges the gap")
	}
}

// TestSpread checks the rules of spread against any input: order, no overlap,
// bounds, and no move where none is needed.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heights := rapid.SliceOfN(rapid.Float64Range(1, 20), 0, 12).Draw(t, "heights")
		var want, hs []length
		at, total := 0.0, 0.0
		for _, h := range heights {
			at += rapid.Float64Range(0, 30).Draw(t, "step")
			want, hs, total = append(want, length(at)), append(hs, length(h)), total+h
		}
		lo := rapid.Float64Range(-50, 50).Draw(t, "lo")
		hi := lo + total + rapid.Float64Range(0, 200).Draw(t, "room")
		got := spread(want, hs, length(lo), length(hi))
		const eps = 1e-6
		for i, c := range got {
			if float64(c-hs[i]/2) < lo-eps || float64(c+hs[i]/2) > hi+eps {
				t.Fatalf("box %d at %v leaves [%v, %v]", i, c, lo, hi)
			}
			if i > 0 && c-hs[i]/2 < got[i-1]+hs[i-1]/2-eps {
				t.Fatalf("boxes %d and %d overlap", i-1, i)
			}
		}
		fits := true
		for i := range want {
			fits = fits && float64(want[i]-hs[i]/2) >= lo && float64(want[i]+hs[i]/2) <= hi
			fits = fits && (i == 0 || want[i]-hs[i]/2 >= want[i-1]+hs[i-1]/2)
		}
		for i := range want {
			if fits && math.Abs(float64(got[i]-want[i])) > eps {
				t.Fatalf("box %d moved from %v to %v without need", i, want[i], got[i])
			}
		}
	})
}

// TestTicks checks that ticks lie in range, ascend, are not too many, and read
// as what they are.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := axis{log: rapid.Bool().Draw(t, "log"), integer: rapid.Bool().Draw(t, "integer")}
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + math.Pow(10, rapid.Float64Range(-3, 8).Draw(t, "size"))
		if a.log {
			lo = math.Pow(10, rapid.Float64Range(-12, 3).Draw(t, "loglo"))
			hi = lo * math.Pow(10, rapid.Float64Range(0.05, 12).Draw(t, "decades"))
		}
		n := rapid.IntRange(2, 10).Draw(t, "n")
		labels, last := 0, math.Inf(-1)
		size := math.Max(math.Abs(lo), math.Abs(hi))
		for _, k := range a.ticks(lo, hi, n) {
			if k.Value < lo-1e-6*size || k.Value > hi+1e-6*size || k.Value <= last {
				t.Fatalf("tick %v after %v in [%v, %v]", k.Value, last, lo, hi)
			}
			last = k.Value
			if k.Label == "" {
				continue
			}
			labels++
			v := parse(k.Label)
			if math.Abs(v-k.Value) > 1e-6*math.Max(math.Abs(k.Value), (hi-lo)/100) {
				t.Fatalf("the tick at %v says %s", k.Value, k.Label)
			}
		}
		if most := max(n+2, 7); labels > most {
			t.Fatalf("%d labels in [%v, %v], want <= %d", labels, lo, hi, most)
		}
	})
}

// TestWholeTicks: between two rounds there is nothing to label; between other
// numbers there may be.
func TestWholeTicks(t *testing.T) {
	for middle, want := range map[float64]bool{2: false, 2.5: true} {
		line := Line{Label: "a", First: []Point{At(1, 5), At(middle, 6), At(3, 7)}}
		swept := LinesPanel{"", []SweepLine{{"a", line.First}}}
		for name, f := range map[string]Figure{
			"curves": must(Curves(CurvesData{X: "rounds", Panels: []CurvesPanel{{Y: "gain", Reference: math.NaN(), Lines: []Line{line}}}})),
			"lines":  must(Lines(LinesData{X: "rounds", Y: "gain", Reference: math.NaN(), Panels: []LinesPanel{swept}})),
		} {
			has := func(label string) bool {
				return slices.ContainsFunc(lookIn(f, TwoColumn, Paper()).words, func(w word) bool { return w.text == label })
			}
			if has("1.4") != want || has("2") == want {
				t.Errorf("%s, X of 1, %v, 3: ticks at 1.4 %v and at 2 %v, want %v and %v", name, middle, has("1.4"), has("2"), want, !want)
			}
		}
	}
}

// TestTwoTicks: the axis of a low panel has two numbers at least, without which it has no
// scale; one of whole numbers only where it has two.
func TestTwoTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-10, 10).Draw(t, "lo")
		hi := lo + math.Pow(10, rapid.Float64Range(-3, 8).Draw(t, "size"))
		if ticks := (axis{}).ticks(lo, hi, rapid.IntRange(2, 10).Draw(t, "n")); len(ticks) < 2 {
			t.Fatalf("ticks %v in [%v, %v], want two", ticks, lo, hi)
		}
	})
	if ticks := (axis{whole: true}).ticks(0.9, 1.3, 2); len(ticks) != 1 {
		t.Errorf("whole ticks %v in [0.9, 1.3], want 1 alone", ticks)
	}
}

// TestEverySecondDecade: where not every decade has room for a label, the first
// one in range has one, so that as many have as can.
func TestEverySecondDecade(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []string
	}{
		{1e-5, 0.49, 4, []string{"0.00001", "0.001", "0.1"}},
		{0.5, 2e5, 3, []string{"1", "100", "10000"}},
		{0.5, 2e4, 5, []string{"1", "10", "100", "1000", "10000"}},
	} {
		var got []string
		for _, k := range (axis{log: true}).ticks(c.lo, c.hi, c.n) {
			if k.Label != "" {
				got = append(got, k.Label)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("[%v, %v] has the labels %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v                float64
		decimals, digits int
		want             string
	}{
		{0.5, 1, 1, "0.5"},
		{-0.5, 1, 1, "\u22120.5"},
		{0, 2, 1, "0.00"},
		{math.Copysign(0, -1), 1, 1, "0.0"},
		{-1e-17, 1, 1, "0.0"},
		{20000, 0, 1, "20000"},
		{1e-7, 7, 1, "1e\u22127"},
		{1.5e12, 0, 2, "1.5e12"},
		{2e100, 0, 1, "2e100"},
		{2e8, 0, 2, "2e8"},
		{0, 9, 2, "0"},
		{-1e-20, 9, 2, "0"},
		{-20, 0, 2, "\u221220"},
	} {
		if got := number(c.v, c.decimals, c.digits); got != c.want {
			t.Errorf("number(%v, %d, %d) = %q, want %q", c.v, c.decimals, c.digits, got, c.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 14975: "14,975", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	r := paper.labelRuler(sans(paper.label))
	for _, c := range []struct {
		s     string
		width length
		n     int
		want  string
	}{
		{"fixed, G = 8", 100, 3, "fixed, G = 8"},
		{"false negative, cumulative", 60, 3, "false negative,|cumulative"},
		{"WWWWWWWWWWWWWWWWWWWW", 40, 3, "WW…WW"},
		{"a=1,b=2,c=3,d=4", 30, 2, "a=1,b=2,|c=3,d=4"},
		{"", 40, 2, ""},
	} {
		if got := strings.Join(r.wrap(c.s, c.width, c.n), "|"); got != c.want {
			t.Errorf("wrap(%q, %v, %d) = %q, want %q", c.s, c.width, c.n, got, c.want)
		}
	}
	for _, s := range []string{long, "日本語 text", strings.Repeat("a b ", 50)} {
		for _, l := range r.wrap(s, 50, 3) {
			if r.width(l) > 50 {
				t.Errorf("the line %q of %q is wider than 50 pt", l, s)
			}
		}
	}
}

func TestPieces(t *testing.T) {
	for s, want := range map[string]string{
		"τ_{GRPO}/τ_{VIGOR} = η^{1/3}": "[{τ 0} {GRPO -1} {/τ 0} {VIGOR -1} { = η 0} {1/3 1}]",
		"plain":                        "[{plain 0}]",
		"a_b^c {d}":                    "[{a_b^c {d} 0}]",
		"x_{open":                      "[{x_{open 0}]",
		"":                             "[]",
		"^{2}":                         "[{2 1}]",
	} {
		if got := fmt.Sprint(pieces(s)); got != want {
			t.Errorf("pieces(%q) = %s, want %s", s, got, want)
		}
	}
}
