package merged

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// golden is what merged.py found, by mpmath.
type golden struct {
	Table string
	Views []struct {
		Figure, X, Series string
		Panels, Mean      []string
		Hold              [][2]string
		Cells             []struct {
			At               []string
			Value, Low, High float64
			Runs             int
			Why              Why
		}
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "merged.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(content, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// axes are those of merged.py.
func axes() []Axis {
	return []Axis{{Name: "shape", Column: "shape"}, {Name: "alpha", Column: "alpha"}, {Name: "seed", Column: "axis_seed"}}
}

func mustRead(t *testing.T, table, figure string) *Table {
	t.Helper()
	read, err := Read(strings.NewReader(table), axes(), figure)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestGolden(t *testing.T) {
	g := readGolden(t)
	kinds := map[Kind]bool{}
	for _, w := range g.Views {
		name := fmt.Sprint(w.Figure, w.X, w.Series, w.Panels, w.Mean, w.Hold)
		table := mustRead(t, g.Table, w.Figure)
		for _, h := range w.Hold {
			if err := table.Hold(h[0], h[1]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		cell, err := table.Cells(View{X: w.X, Series: w.Series, Panels: w.Panels, Mean: w.Mean})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range w.Cells {
			at := slices.Clone(want.At)
			for i, a := range append([]string{w.X, w.Series}, w.Panels...) { // strategies by their labels
				if a == "strategy" {
					at[i] = map[string]string{"fixed": "fixed:g=8", "vigor": "vigor:m0=2"}[at[i]]
				}
			}
			got := cell(at[0], at[1], at[2:]...)
			kinds[got.Kind] = true
			if got.Why != want.Why || got.Why == "" && got.Runs != want.Runs {
				t.Errorf("%s at %v: %+v, want %+v", name, want.At, got, want)
				continue
			}
			for k, pair := range [][2]float64{{got.Value, want.Value}, {got.Low, want.Low}, {got.High, want.High}} {
				if want.Why != "" && !math.IsNaN(pair[0]) || want.Why == "" && !(math.Abs(pair[0]-pair[1]) <= 1e-9*math.Max(1, math.Abs(pair[1]))) {
					t.Errorf("%s at %v: number %d of %+v, want %+v", name, want.At, k, got, want)
				}
			}
		}
	}
	for _, kind := range []Kind{OneRun, Seeds, Bounded} {
		if !kinds[kind] {
			t.Errorf("no interval %s", kind)
		}
	}
}

// TestAxes: numbers ascend by their size, seeds are an axis under its own name, specs
// that an axis sets are one, and the rounds of a figure are an axis.
func TestAxes(t *testing.T) {
	g := readGolden(t)
	for figure, want := range map[string]string{
		"eta":  "shape[1.5 2 10] alpha[0.25 0.5] seed[1 2 7] population[pareto-variance] strategy[fixed:g=8 vigor:m0=2] at[]",
		"loss": "shape[1.5 2 10] alpha[0.25 0.5] seed[1 2 7] population[pareto-variance] strategy[fixed:g=8 vigor:m0=2] round[1 2]",
	} {
		table := mustRead(t, g.Table, figure)
		var got []string
		for _, a := range table.Axes {
			got = append(got, a.Name+fmt.Sprint(a.Values))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s has the axes %s, want %s", figure, s, want)
		}
		if table.Points != 18 || table.Failed != 1 || !slices.Equal(table.Figures, []string{"eta", "loss"}) {
			t.Errorf("%d points, %d failed, figures %q", table.Points, table.Failed, table.Figures)
		}
		if got := table.Distinct("population"); len(got) != 3 || got[0] != "pareto-variance:shape=1.5" {
			t.Errorf("populations as printed: %q", got)
		}
	}
}

// TestLoose: nothing but seeds is averaged over unless asked, and the error names what
// would be, with its values; specs that hang on an axis are not named beside it.
func TestLoose(t *testing.T) {
	g := readGolden(t)
	for _, c := range []struct {
		view View
		want string
	}{
		{View{X: "shape"}, "would be averaged over alpha (0.25, 0.5) and strategy (fixed:g=8, vigor:m0=2)"},
		{View{X: "shape", Series: "alpha"}, "would be averaged over strategy (fixed:g=8, vigor:m0=2)"},
		{View{X: "alpha", Series: "strategy"}, "would be averaged over shape (1.5, 2, 10)"},
		{View{X: "shape", Series: "strategy", Mean: []string{"alpha"}}, ""},
	} {
		_, err := mustRead(t, g.Table, "eta").Cells(c.view)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: error %v, want %s", c.view, err, c.want)
		}
	}
}

// TestHold: a value is held as typed, by its number or by the name of its spec.
func TestHold(t *testing.T) {
	g := readGolden(t)
	for held, want := range map[string]string{
		"shape=2": "2", "shape=2.0": "2", "strategy=vigor": "vigor:m0=2", "strategy=vigor:m0=2": "vigor:m0=2",
		"shape=3": "shape = 3, want one of 1.5, 2, 10", "gamma=2": "axis = gamma, want one of shape, alpha, seed, strategy",
		"shape=NaN": "shape = NaN, want one of 1.5, 2, 10", "strategy=": "strategy = , want one of fixed:g=8, vigor:m0=2",
	} {
		table := mustRead(t, g.Table, "eta")
		axis, value, _ := strings.Cut(held, "=")
		err := table.Hold(axis, value)
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: error %v, want %s", held, err, want)
			}
			continue
		}
		if a, _ := table.Axis(axis); len(a.Values) != 1 || a.Values[0] != want {
			t.Errorf("%s holds %v, want %s", held, a.Values, want)
		}
	}
}

// TestReadRefuses: what is no merged table is refused, by column and line.
func TestReadRefuses(t *testing.T) {
	for table, want := range map[string]string{
		"":           "is empty, want the table of a sweep",
		"a,b\n1,2\n": "has no column point, figure or id, value or estimate, error, shape, alpha, axis_seed, want those of a sweep's merged table",
		"point,shape,alpha,axis_seed,figure,value,error\nx,1,1,1,eta,1,\n": `line 2: point = "x", want a whole number`,
		"point,shape,alpha,axis_seed,figure,value,error\n1,1\n":            "record on line 2: wrong number of fields",
	} {
		if _, err := Read(strings.NewReader(table), axes(), "eta"); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", table, err, want)
		}
	}
	twice := "point,shape,alpha,axis_seed,figure,value,error\n1,1,1,1,eta,1,\n2,1,1,1,eta,2,\n"
	table := mustRead(t, twice, "eta")
	if _, err := table.Cells(View{X: "shape"}); err == nil || !strings.Contains(err.Error(), "eta is there twice, of points 1 and 2") {
		t.Errorf("two points alike: error %v", err)
	}
}

// TestOwnInterval: a figure that comes with an interval and no standard error keeps it,
// as the rungs of verify and the medians of train have.
func TestOwnInterval(t *testing.T) {
	content := "point,shape,alpha,axis_seed,id,estimate,se,low,high,error\n1,1,1,1,4.mean-field,2,,1,5,\n2,2,1,1,4.mean-field,3,,,,\n"
	cell, err := mustRead(t, content, "4.mean-field").Cells(View{X: "shape"})
	if err != nil {
		t.Fatal(err)
	}
	if c := cell("1", ""); c.Value != 2 || c.Low != 1 || c.High != 5 || c.Kind != Own {
		t.Errorf("%+v, want 2 in [1, 5]", c)
	}
	if c := cell("2", ""); c.Value != 3 || !math.IsNaN(c.Low) || c.Kind != Exact {
		t.Errorf("%+v, want 3 without an interval", c)
	}
}

// TestArms: specs of a place are one where their names agree everywhere, and stay apart
// where they do not.
func TestArms(t *testing.T) {
	for _, c := range []struct {
		rows [][2]string // point and strategy
		want string
	}{
		{[][2]string{{"1", "vigor:a=1,b=2"}, {"1", "fixed:g=8"}, {"2", "vigor:a=2,b=2"}, {"2", "fixed:g=8"}}, "[fixed:g=8 vigor:b=2]"},
		{[][2]string{{"1", "vigor:a=1"}, {"2", "vigor:a=2"}}, "[vigor]"},
		{[][2]string{{"1", "vigor:a=1"}, {"2", "dapo:n=8"}}, "[dapo:n=8 vigor:a=1]"},
		{[][2]string{{"1", "vigor:a=1"}, {"2", "vigor:a=2"}, {"2", "fixed:g=8"}}, "[fixed:g=8 vigor:a=1 vigor:a=2]"},
		{[][2]string{{"1", "vigor:a=1,b=1"}, {"1", "vigor:a=1,c=1"}, {"2", "vigor:a=1,b=2"}, {"2", "vigor:a=1,c=2"}}, "[vigor:a=1,b=1 vigor:a=1,b=2 vigor:a=1,c=1 vigor:a=1,c=2]"},
		{[][2]string{{"1", "vigor:a=1"}, {"1", "vigor:a=2"}, {"2", "vigor:a=2"}, {"2", "vigor:a=3"}}, "[vigor:a=1 vigor:a=2 vigor:a=3]"},
		{[][2]string{{"1", "a"}, {"1", "b"}, {"2", "b"}, {"2", "a"}}, "[a b]"},
	} {
		content := "point,strategy,figure,value,error\n"
		for _, r := range c.rows {
			content += fmt.Sprintf("%s,%q,eta,1,\n", r[0], r[1])
		}
		table, err := Read(strings.NewReader(content), nil, "eta")
		if err != nil {
			t.Fatal(err)
		}
		a, _ := table.Axis("strategy")
		slices.Sort(a.Values)
		if got := fmt.Sprint(a.Values); got != c.want {
			t.Errorf("%v: %s, want %s", c.rows, got, c.want)
		}
	}
}

// TestFailedRunsOfAMean: a seed of which one of the runs to be averaged failed is left
// out, as its mean would be over other values of the axis than that of the other seeds.
func TestFailedRunsOfAMean(t *testing.T) {
	cell, err := mustRead(t, readGolden(t).Table, "eta").Cells(View{X: "shape", Series: "strategy", Mean: []string{"alpha"}})
	if err != nil {
		t.Fatal(err)
	}
	for shape, want := range map[string]int{"2": 2, "10": 3} { // point 8 is of shape 2
		if c := cell(shape, "vigor:m0=2"); c.Runs != want || c.Why != "" {
			t.Errorf("shape %s: %+v, want a mean over %d seeds", shape, c, want)
		}
	}
}

// TestUnevenMeans: seeds that would be averaged over other values of an axis have no
// common mean; cells may differ in them.
func TestUnevenMeans(t *testing.T) {
	content := "point,shape,alpha,axis_seed,figure,value,error\n1,1,1,1,eta,1,\n2,1,2,1,eta,3,\n3,1,1,2,eta,5,\n4,2,1,1,eta,1,\n5,2,1,2,eta,2,\n6,3,1,1,eta,1,\n7,3,2,2,eta,2,\n"
	cell, err := mustRead(t, content, "eta").Cells(View{X: "shape", Mean: []string{"alpha"}})
	if err != nil {
		t.Fatal(err)
	}
	for shape, want := range map[string]Why{"1": Uneven, "2": "", "3": Uneven} {
		if c := cell(shape, ""); c.Why != want {
			t.Errorf("shape %s: %+v, want %q", shape, c, want)
		}
	}
}
