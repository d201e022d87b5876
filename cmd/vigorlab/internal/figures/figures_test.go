package figures_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
)

// odd are the numbers and texts that an encoding may lose.
var (
	odd = []float64{
		0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64,
		0.1, 1. / 3, math.Nextafter(1, 2), 1e21, 1e-7, 123456789012345678, math.Pi,
	}
	oddTexts = []string{"", "η^(1/3)", "two\nlines\tand a tab", `"quoted" \back`, "<&>", "null", "日本", "a,b;c", "\u2028"}
)

// scramble fills a value with odd ones.
func scramble(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		scramble(v.Elem(), r)
	case reflect.Struct:
		for i := range v.NumField() {
			scramble(v.Field(i), r)
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 { // an empty slice reads back as nil
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			scramble(v.Index(i), r)
		}
	case reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i), r)
		}
	case reflect.Map:
		m := map[string]int{}
		for range 1 + r.IntN(3) {
			m[oddTexts[r.IntN(len(oddTexts))]] = r.Int()
		}
		v.Set(reflect.ValueOf(m))
	case reflect.Float64:
		x := odd[r.IntN(len(odd))]
		if r.IntN(2) == 0 {
			x = math.Float64frombits(r.Uint64())
		}
		v.SetFloat(x)
	case reflect.Int:
		v.SetInt(int64(r.Uint64()))
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(oddTexts[r.IntN(len(oddTexts))])
	default:
		panic(v.Kind())
	}
}

// same reports whether two values are equal to the last bit, NaN being itself.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// scrambled returns a figure of a kind with odd data and an odd caption.
func scrambled(t testing.TB, kind string, r *rand.Rand) *figures.Figure {
	t.Helper()
	data, err := plots.NewData(kind)
	if err != nil {
		t.Fatal(err)
	}
	f := &figures.Figure{Name: "odd", Version: "0.1", Command: "simulate", Coding: output.Signed, Width: plots.OneColumn, Data: data}
	scramble(reflect.ValueOf(data), r)
	scramble(reflect.ValueOf(&f.Caption), r)
	return f
}

// record returns the content of one of the files beside a picture.
func record(t testing.TB, f *figures.Figure, end string) string {
	t.Helper()
	files, err := f.Records()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file.Name == f.Name+end {
			return string(file.Content)
		}
	}
	t.Fatalf("no %s", end)
	return ""
}

// TestRoundTrip reads back what is written, to the last bit, and writes the same bytes
// again.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 1))
	for _, kind := range plots.Kinds() {
		for range 40 {
			f := scrambled(t, kind, r)
			document := record(t, f, figures.DataEnd)
			got, err := figures.Decode(f.Name, []byte(document))
			if err != nil {
				t.Fatalf("%s: %v\n%s", kind, err, document)
			}
			if !same(reflect.ValueOf(got), reflect.ValueOf(f)) {
				t.Fatalf("%s: read back\n%+v\nwant\n%+v", kind, got.Data, f.Data)
			}
			if again := record(t, got, figures.DataEnd); again != document {
				t.Fatalf("%s: written again\n%s\nwant\n%s", kind, again, document)
			}
			if !json.Valid([]byte(document)) {
				t.Fatalf("%s: no JSON: %s", kind, document)
			}
		}
	}
}

// small is a figure that is worked out by hand below.
func small() *figures.Figure {
	return &figures.Figure{
		Name: "front_1%", Version: "0.1.0", Command: "plan", Coding: output.Signed, Width: plots.TwoColumn,
		Caption: figures.Caption{
			What: "Gain [R] at 95 % of_cost.", Populations: []string{"beta:a=0.1,b=0.3", "random policies"}, Strategies: []string{"vigor:m0=2"},
			Replicates: []string{"20 batches"}, Intervals: []string{"95 %, mean ± 1.96 standard errors"}, Seeds: []uint64{1, 18446744073709551615},
			Commands: []string{"vigorlab plan 'it'\\''s.csv' --seed 1"},
		},
		Data: &plots.PlanData{
			Rollouts: 2, Cost: "rounds", Gain: "gain",
			Law:       []plots.Point{{X: 0, Y: 0.25, Low: 0.2, High: 0.3}},
			Schedules: []plots.NamedPoint{{Label: "best", Point: plots.At(1.5, 1e-7)}},
		},
	}
}

func TestDocument(t *testing.T) {
	const want = `{
  "schema": 1,
  "version": "0.1.0",
  "command": "plan",
  "coding": "signed",
  "kind": "plan",
  "width": 7,
  "caption": {
    "what": "Gain [R] at 95 % of_cost.",
    "populations": [
      "beta:a=0.1,b=0.3",
      "random policies"
    ],
    "strategies": [
      "vigor:m0=2"
    ],
    "replicates": [
      "20 batches"
    ],
    "intervals": [
      "95 %, mean ± 1.96 standard errors"
    ],
    "seeds": [
      1,
      18446744073709551615
    ],
    "commands": [
      "vigorlab plan 'it'\\''s.csv' --seed 1"
    ]
  },
  "data": {
    "rollouts": 2,
    "law": [
      {"x": 0, "y": 0.25, "low": 0.2, "high": 0.3}
    ],
    "recorded": [],
    "cost": "rounds",
    "gain": "gain",
    "front": [],
    "schedules": [
      {"label": "best", "x": 1.5, "y": 1e-07, "low": null, "high": null}
    ]
  }
}
`
	if got := record(t, small(), figures.DataEnd); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSchema pins the keys of all kinds: more may be added, none renamed.
func TestSchema(t *testing.T) {
	want := map[string]string{
		"allocation":    "observed relative strategies{closed_form label mean_field{high low x y} monte_carlo truncated}",
		"calibration":   "measured predicted predictors{cases{high low x y} label}",
		"comparison":    "figure parties reference rows{group label values{high low value}}",
		"cost-quality":  "quality strategies{closed_form label mean_field monte_carlo truncated{high low x y}}",
		"curves":        "inks log_x marks panels{lines{first{high low x y} label second} log_y name reference y} stairs styles title x",
		"eta-shape":     "cap{high low x y} schedules{closed_form{high low x y} label mean_field monte_carlo truncated}",
		"gradient-norm": "bound cases{high low x y} unit",
		"group-sizes":   "strategies{label shares{share size}}",
		"heat":          "about beside columns figure number panels{cells{high low missing value} head} rows x y",
		"lines":         "apart beside log_x log_y name number panels{head lines{label points{high low x y}}} reference x y",
		"plan":          "cost front{high low x y} gain law recorded rollouts schedules{high label low x y}",
		"ranks":         "objective populations strategies{group label ranks{high low}}",
		"screening":     "errors{closed_form label mean_field monte_carlo{high low x y} truncated}",
		"speedup":       "cap{high low x y} exponent shapes{closed_form label mean_field monte_carlo truncated{high low x y}}",
	}
	for _, kind := range plots.Kinds() {
		var document map[string]any
		data, err := plots.NewData(kind)
		if err != nil {
			t.Fatal(err)
		}
		fillOnce(reflect.ValueOf(data))
		f := &figures.Figure{Name: kind, Data: data}
		if err := json.Unmarshal([]byte(record(t, f, figures.DataEnd)), &document); err != nil {
			t.Fatal(err)
		}
		got := schema(document["data"])
		// A list is described once, wherever it stands.
		plain := strings.NewReplacer("{high low x y}", "", "{high low value}", "").Replace
		if plain(got) != plain(want[kind]) {
			t.Errorf("%s has %s, want %s", kind, got, want[kind])
		}
	}
}

// fillOnce gives every list one element.
func fillOnce(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		fillOnce(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fillOnce(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillOnce(v.Index(0))
	}
}

// schema lists the keys of nested objects.
func schema(node any) string {
	var keys []string
	switch node := node.(type) {
	case []any:
		if len(node) > 0 {
			return schema(node[0])
		}
	case map[string]any:
		for k, x := range node {
			if inner := schema(x); inner != "" && k != "share" {
				k += "{" + inner + "}"
			}
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// TestDecodeRefuses: hand-edited documents are refused by the name of the key.
func TestDecodeRefuses(t *testing.T) {
	whole := record(t, small(), figures.DataEnd)
	for _, c := range []struct{ from, to, want string }{
		{`"schema": 1`, `"schema": 3`, `schema = 3, of version "0.1.0", want 1`},
		{`"schema": 1,`, ``, `schema = null, of version "0.1.0", want 1`},
		{`"kind": "plan"`, `"kind": "pie"`, `kind = "pie", want one of allocation, calibration, `},
		{`"kind": "plan"`, `"kind": "speedup"`, `data.cost is unknown, want cap, exponent, shapes`},
		{`"width": 7`, `"width": "wide"`, `width = "wide", want a number, or null for none`},
		{`"width": 7`, `"width": 1e999`, `width = 1e999, want a number`},
		{`"rollouts": 2`, `"rollouts": 2.5`, `data.rollouts = 2.5, want a whole number`},
		{`"rollouts": 2`, `"rollouts": null`, `data.rollouts = null, want a whole number`},
		{`"rollouts": 2,`, ``, `data.rollouts is missing`},
		{`"rollouts": 2`, `"rolouts": 2`, `data.rolouts is unknown, want cost, front, gain, law, recorded, rollouts, schedules`},
		{`"x": 1.5`, `"x": true`, `data.schedules[0].x = true, want a number`},
		{`"label": "best", `, ``, `data.schedules[0].label is missing`},
		{`"label": "best"`, `"label": 7`, `data.schedules[0].label = 7, want a text`},
		{`"front": []`, `"front": {}`, `data.front = an object, want a list`},
		{`"front": []`, `"front": [[]]`, `data.front[0] = a list, want an object`},
		{`      1,`, `      -1,`, `caption.seeds[0] = -1, want a whole number in [0, 18446744073709551615]`},
		{`"caption": {`, `"caption": [], "data": {`, `caption = a list, want an object`},
		{`"schema": 1`, `"schema" 1`, `line 2: invalid character '1'`},
		{"}\n}\n", "}\n}\n{}", `more follows behind the JSON object`},
	} {
		if !strings.Contains(whole, c.from) {
			t.Fatalf("the document has no %s", c.from)
		}
		_, err := figures.Decode("front", []byte(strings.Replace(whole, c.from, c.to, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.to, err, c.want)
		}
	}
	for n := range len(whole) - 1 {
		if _, err := figures.Decode("front", []byte(whole[:n])); err == nil || err.Error() != fmt.Sprintf("is cut off after %d bytes", n) {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
	if _, err := figures.Decode("front", []byte("[1]")); err == nil || err.Error() != "is a list, want an object" {
		t.Errorf("a list: %v", err)
	}
}

// TestCaptions: the facts of a caption in their order, specials escaped.
func TestCaptions(t *testing.T) {
	const markdown = `Gain \[R\] at 95 % of\_cost. Populations: ` + "`beta:a=0.1,b=0.3`; random policies. Strategy: `vigor:m0=2`" +
		`. Replicates: 20 batches. Intervals: 95 %, mean ± 1.96 standard errors. Seeds 1, 18446744073709551615, ` +
		`signed coding: rewards in {−1, +1}. Made by ` + "`vigorlab plan 'it'\\''s.csv' --seed 1`.\n"
	if got := record(t, small(), figures.MarkdownEnd); got != markdown {
		t.Errorf("got\n%s\nwant\n%s", got, markdown)
	}
	const latex = `\caption[{Gain [R] at 95 \% of\_cost.}]{\emergencystretch=3em\relax{}Gain [R] at 95 \% of\_cost. ` +
		`Populations: \texttt{beta:\allowbreak{}a=0.1,\allowbreak{}b=0.3}; random policies. Strategy: \texttt{vigor:\allowbreak{}m0=2}. ` +
		`Replicates: 20 batches. Intervals: 95 \%, mean $\pm$ 1.96 standard errors. Seeds 1, 18446744073709551615, ` +
		`signed coding: rewards in \{$-$1, +1\}. Made by \texttt{vigorlab plan \textquotesingle{}it\textquotesingle{}\char92{}\textquotesingle{}\textquotesingle{}s.csv\textquotesingle{} -{}-{}seed 1}.}` +
		"\n\\label{fig:front-1-}\n"
	if got := record(t, small(), figures.LaTeXEnd); got != latex {
		t.Errorf("got\n%s\nwant\n%s", got, latex)
	}
	exact := small()
	exact.Coding, exact.Caption = output.Binary, figures.Caption{What: "Exact.", Seeds: []uint64{7}, Commands: []string{"a `b` c"}}
	const none = "Exact. Population: none. Strategy: none. Replicates: none, every number is exact. Intervals: none. " +
		"Seed 7, binary coding: rewards in {0, 1}. Made by ``a `b` c``.\n"
	if got := record(t, exact, figures.MarkdownEnd); got != none {
		t.Errorf("got\n%s\nwant\n%s", got, none)
	}
}

// TestCaptionsOfOneRun: where there are intervals, nothing is said to be exact.
func TestCaptionsOfOneRun(t *testing.T) {
	f := small()
	f.Caption.Replicates = nil
	if got := record(t, f, figures.MarkdownEnd); !strings.Contains(got, "Replicates: none. Intervals: 95 %") {
		t.Errorf("estimates without replicates: %s", got)
	}
	for want, bar := range map[bool]plots.Point{
		false: {X: 1, Y: 0.5, Low: math.NaN(), High: math.NaN()},
		true:  {X: 1, Y: 0.5, Low: 0.5, High: 0.5},
	} {
		f.Data = &plots.AllocationData{Strategies: []plots.Family{{Label: "a", MonteCarlo: []plots.Point{plots.At(0, 1), bar, {X: 2, Y: 0}}}}}
		if got := f.Bounded(); got != want {
			t.Errorf("%+v: bounded = %t, want %t", bar, got, want)
		}
	}
}

// TestOverlayNamesCommands: a caption that has no room for command lines names every
// command.
func TestOverlayNamesCommands(t *testing.T) {
	var runs []figures.Run
	for i, command := range []string{"simulate", "replay", "simulate"} {
		f := small()
		f.Command = command
		f.Caption.Commands = []string{fmt.Sprint(i) + strings.Repeat("x", 300)}
		f.Data = &plots.AllocationData{Strategies: []plots.Family{{Label: "a", MonteCarlo: []plots.Point{plots.At(0, 1)}}}}
		runs = append(runs, figures.Run{Name: fmt.Sprint(i), Figure: f})
	}
	all, _, err := figures.Overlay(runs)
	if err != nil {
		t.Fatal(err)
	}
	const want = "Made by `vigorlab simulate` and `vigorlab replay`, in full in `front_1%.json`.\n"
	if got := record(t, all, figures.MarkdownEnd); !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want at its end %s", got, want)
	}
}

// TestLongCaptions: what has no room in a caption is counted, and said to be in the data.
func TestLongCaptions(t *testing.T) {
	f := small()
	long := strings.Repeat("x", 250)
	f.Caption = figures.Caption{
		What: "Many.", Populations: []string{long + long + long}, Strategies: []string{long + "1", long + "2", long + "3", "4"},
		Commands: []string{long, long, long}, Seeds: []uint64{3},
	}
	want := "Many. Population: 1, in `front_1%.json`. Strategies: `" + long + "1`; `" + long + "2`; 2 more in `front_1%.json`. " +
		"Replicates: none, every number is exact. Intervals: none. Seed 3, signed coding: rewards in {−1, +1}. Made by `vigorlab plan`, in full in `front_1%.json`.\n"
	if got := record(t, f, figures.MarkdownEnd); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTable reads the tidy table back: a row a number, as handed in.
func TestTable(t *testing.T) {
	f := small()
	f.Data = &plots.ComparisonData{
		Figure: "gain", Parties: []string{"mean field", "replay"}, Reference: 1,
		Rows: []plots.ComparisonRow{{Group: "beta", Label: "vigor, \"v\"", Values: []plots.Value{{Value: 1. / 3, Low: math.NaN(), High: math.NaN()}, {Value: 2, Low: 1.5, High: math.Inf(1)}}}},
	}
	rows, err := csv.NewReader(strings.NewReader(record(t, f, figures.TableEnd))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"panel", "group", "series", "number", "x", "y", "low", "high"},
		{"gain", "beta", `vigor, "v"`, "mean field", "", "0.3333333333333333", "", ""},
		{"gain", "beta", `vigor, "v"`, "replay", "", "2", "1.5", "+Inf"},
		{"gain", "", "reference", "reference", "", "1", "", ""},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// TestOverlay: what runs state is joined, and refusals name the figure.
func TestOverlay(t *testing.T) {
	run := func(seed uint64, coding string, data plots.Data) figures.Run {
		f := small()
		f.Coding, f.Data, f.Caption.Seeds = coding, data, []uint64{seed}
		f.Caption.Populations = []string{"uniform", strconv.FormatUint(seed, 10)}
		return figures.Run{Name: fmt.Sprintf("seed = %d", seed), Figure: f}
	}
	bars := func(label string) plots.Data {
		return &plots.GroupSizesData{Strategies: []plots.SizeLaw{{Label: label, Shares: []plots.SizeShare{{Size: 8, Share: plots.Value{Value: 1}}}}}}
	}
	a, b := run(1, output.Signed, bars("vigor")), run(2, output.Signed, bars("vigor"))
	b.Figure.Width = plots.OneColumn
	all, notes, err := figures.Overlay([]figures.Run{a, b})
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	if !slices.Equal(all.Caption.Seeds, []uint64{1, 2}) || !slices.Equal(all.Caption.Populations, []string{"uniform", "1", "2"}) ||
		all.Caption.What != a.Figure.Caption.What+" Labels end in the run that numbers are of: seed = 1; seed = 2." || all.Width != plots.TwoColumn || len(all.Data.Table()) != 2 {
		t.Errorf("%+v", all)
	}
	if len(a.Figure.Caption.Seeds) != 1 || a.Figure.Data.Table()[0].Series != "vigor" {
		t.Errorf("the first run became %+v", a.Figure)
	}
	b.Figure.Caption.What, b.Figure.Caption.Commands = "Other.", []string{"vigorlab plan --seed 2"}
	if all, _, err = figures.Overlay([]figures.Run{a, b}); err != nil {
		t.Fatal(err)
	}
	const what = "seed = 1: Gain [R] at 95 % of_cost. seed = 2: Other. Labels end in the run that numbers are of: seed = 1; seed = 2, in the order of their commands."
	if got := all.Caption.What; got != what {
		t.Errorf("the caption says %q, want %q", got, what)
	}
	for want, runs := range map[string][]figures.Run{
		"figure front_1%: rewards are of signed coding in one run and of binary in another": {a, run(2, output.Binary, bars("vigor"))},
		"figure front_1%: plots: overlay: figures of kind plan cannot share one":            {{Name: "a", Figure: small()}, {Name: "b", Figure: small()}},
		"figure front_1%: plots: overlay: figures of kind group-sizes and plan":             {a, {Name: "b", Figure: small()}},
	} {
		if _, _, err := figures.Overlay(runs); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// FuzzDecode: whatever is read is refused, or can be written again and drawn or refused.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(20260101, 2))
	for _, kind := range plots.Kinds() {
		for range 3 {
			f.Add([]byte(record(f, scrambled(f, kind, r), figures.DataEnd)))
		}
	}
	f.Add([]byte(record(f, small(), figures.DataEnd)))
	f.Fuzz(func(t *testing.T, content []byte) {
		figure, err := figures.Decode("fuzzed", content)
		if err != nil {
			return
		}
		again, err := figures.Decode("fuzzed", []byte(record(t, figure, figures.DataEnd)))
		if err != nil || !same(reflect.ValueOf(again), reflect.ValueOf(figure)) {
			t.Fatalf("%v: written and read again\n%+v\nwant\n%+v", err, again, figure)
		}
		_, _, _ = figure.Pictures(figures.Look{Style: plots.Paper(), Formats: []string{plots.SVG, plots.TeX}}) // an error is fine, a panic is not
		for i := range 2 {
			_, _, _ = figures.Overlay([]figures.Run{{Name: "a", Figure: figure}, {Name: "b", Figure: []*figures.Figure{figure, again}[i]}})
		}
	})
}
