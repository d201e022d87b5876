package spec_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/distributions"
	"vigorlab/distributions/lawtest"
	"vigorlab/distributions/spec"
)

// shelf holds the files that the specs below name.
func shelf() files {
	return files{
		"pilot.csv":   "prompt_id,n,successes\na,4,1\nb,4,3\nc,4,0\nd,4,4\n",
		"tokens.csv":  "prompt_id,n,successes,tokens\na,4,1,100\nb,4,1,300\nc,4,4,50\n",
		"bad.csv":     "prompt_id,n,successes\na,4,5\nb,0,0\n",
		"atoms.csv":   "p,weight\n0.1,0.25\n0.9,0.5\n0.5,0.25\n",
		"partial.csv": "p,weight\n0.1,0.25\n",
		"long.csv":    "prompt_id,n,successes\na,5000,1\n",
		"spec":        "beta:a=0.1,b=0.3\n",
	}
}

func TestPopulations(t *testing.T) {
	for _, c := range []struct {
		text, normal string
		meanU        float64 // in closed form
	}{
		{"uniform", "uniform", 2. / 3},
		{"beta:a=.1,b=0.30", "beta:a=0.1,b=0.3", 4 * 0.1 * 0.3 / (0.4 * 1.4)},
		{"beta:b=.3,a=.1", "beta:a=0.1,b=0.3", 4 * 0.1 * 0.3 / (0.4 * 1.4)},
		{"@spec", "beta:a=0.1,b=0.3", 4 * 0.1 * 0.3 / (0.4 * 1.4)},
		{"point:p=0.3", "point:p=0.3", 0.84},
		{"spiked-beta:dead=0.3,solved=0.1,a=2,b=6", "spiked-beta:dead=0.3,solved=0.1,a=2,b=6", 0.6 * 48. / 72},
		{"pareto-variance:shape=1.5,min=0.01", "pareto-variance:shape=1.5,min=0.01,hard=0.5", 0.03},
		{"pareto-variance:shape=1.5,min=0.01,max=1", "pareto-variance:shape=1.5,min=0.01,max=1,hard=0.5", 1.5 * 0.001 * 9 / (0.5 * 0.999)},
		{"pareto-variance:min=0.01,shape=1,hard=1,max=1", "pareto-variance:shape=1,min=0.01,max=1,hard=1", 0.01 * math.Log(100) / 0.99},
		{"pareto-success:shape=1,min=0.1", "pareto-success:shape=1,min=0.1,max=1", 4 * (0.1*math.Log(10)/0.9 - 0.1)},
		{"mixture:0.3@beta:a=2,b=6+0.7@uniform", "mixture:0.3@beta:a=2,b=6+0.7@uniform", 0.3*48./72 + 0.7*2./3},
		{" mixture: 0.5 @ uniform + 0.5 @ point : p = 5e-1 ", "mixture:0.5@uniform+0.5@point:p=0.5", 0.5*2./3 + 0.5},
		{"mixture:1@beta:a=1e+0,b=1", "mixture:1@beta:a=1,b=1", 2. / 3},
		{"flip:q=.05@uniform", "flip:q=0.05@uniform", 0.19 + 0.81*2./3},
		{" flip : q = 0.25 @ flip:q=0@ point:p=1", "flip:q=0.25@flip:q=0@point:p=1", 0.75},
		{"flip:q=0.5@@spec", "flip:q=0.5@beta:a=0.1,b=0.3", 1},
		{"flip:q=0.1@uniform:tokens=500", "flip:q=0.1@uniform:tokens=500,tokens-sd=250,tokens-slope=0", 0.36 + 0.64*2./3},
		{"flip:q=1@mixture:0.5@uniform+0.5@point:p=0", "flip:q=1@mixture:0.5@uniform+0.5@point:p=0", 1. / 3},
		{"mixture:0.5@flip:q=0.05@point:p=0+0.5@point:p=0", "mixture:0.5@flip:q=0.05@point:p=0+0.5@point:p=0", 0.095},
		{"atoms:path=atoms.csv", "atoms:path=atoms.csv", 0.75*0.36 + 0.25},
		{"table:path=pilot.csv", "table:path=pilot.csv,smooth=none", 0.375},
		{"mixture:.5@table:path=pilot.csv+.5@point:p=0", "mixture:0.5@table:path=pilot.csv,smooth=none+0.5@point:p=0", 0.1875},
		{
			"uniform:tokens=500", "uniform:tokens=500,tokens-sd=250,tokens-slope=0", 2. / 3,
		},
		{
			"uniform:tokens-cap=4096,tokens-slope=1.5,tokens-sd=0,tokens=500",
			"uniform:tokens=500,tokens-sd=0,tokens-slope=1.5,tokens-cap=4096", 2. / 3,
		},
	} {
		p, err := spec.ParsePopulation(c.text, shelf().open)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if p.Spec != c.normal {
			t.Errorf("%q is normalised to %q, want %q", c.text, p.Spec, c.normal)
		}
		if got := p.Variance.MeanU(); !(math.Abs(got-c.meanU) < 1e-13) {
			t.Errorf("%q: E[u] = %v, want %v", c.text, got, c.meanU)
		}
		if (p.Law == nil) != (c.normal == "pareto-variance:shape=1.5,min=0.01,hard=0.5") {
			t.Errorf("%q: law %v", c.text, p.Law)
		}
		if (p.Lengths == nil) == strings.Contains(c.text, "tokens") {
			t.Errorf("%q: lengths %v", c.text, p.Lengths)
		}
		again, err := spec.ParsePopulation(p.Spec, shelf().open)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q does not parse to itself: %+v, %v", p.Spec, again, err)
		}
	}
}

func TestPopulationsRefuse(t *testing.T) {
	const beta = "want [0.0001, 1e+06]"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{`"" has no name`}},
		{"bta:a=1,b=1", []string{`unknown name "bta", want one of pareto-variance, pareto-success, beta, uniform, point, spiked-beta, mixture, flip, atoms, table (did you mean beta?)`}},
		{"bta:a", []string{`unknown name "bta"`, `bta: "a", want KEY=VALUE`}},
		{"beta", []string{"beta: a is missing, " + beta, "beta: b is missing, " + beta}},
		{"beta:a=0,b=NaN", []string{"beta: b = NaN, " + beta, "beta: a = 0, " + beta}},
		{"beta:a=1,b=1,a=1", []string{"beta: a is given twice, want it once"}},
		{"beta:a=x,c=1", []string{
			"beta: a = x, " + beta, "beta: b is missing, " + beta,
			"beta: unknown parameter c, want one of a, b, tokens, tokens-sd, tokens-slope, tokens-cap",
		}},
		{"uniform:p=1", []string{"uniform: unknown parameter p, want one of tokens, tokens-sd, tokens-slope, tokens-cap"}},
		{"point:p=1.5", []string{"point: p = 1.5, want [0, 1]"}},
		{"point:p=-Inf", []string{"point: p = -Inf, want [0, 1]"}},
		{"spiked-beta:dead=-0.1,solved=0.1,a=2,b=6", []string{"spiked-beta: dead = -0.1, want [0, 1]"}},
		{"spiked-beta:dead=0.6,solved=0.5,a=0,b=6", []string{"spiked-beta: dead+solved = 1.1, want [0, 1]", "spiked-beta: a = 0, " + beta}},
		{"pareto-variance:shape=0,min=2,max=3,hard=-1", []string{
			"pareto-variance: shape = 0, want [1e-09, 10000]", "pareto-variance: min = 2, want [1e-100, 1)",
			"pareto-variance: max = 3, want (min, 1]", "pareto-variance: hard = -1, want [0, 1]",
		}},
		{"pareto-variance:shape=1,min=0.5,max=0.5", []string{"pareto-variance: max = 0.5, want (min, 1]"}},
		{"pareto-variance:shape=1,min=0,hard=2,tokens=5", []string{
			"pareto-variance: hard = 2, want [0, 1]", "pareto-variance: tokens = 5, want it only with max: without, the law has no rewards",
			"pareto-variance: min = 0, want [1e-100, 1e+100]",
		}},
		{"pareto-success:shape=1,min=0.5,max=0.4", []string{"pareto-success: max = 0.4, want (min, 1]"}},
		{"@absent", []string{"open absent: file does not exist"}},
		{"table:path=absent", []string{"table: open absent: file does not exist"}},
		{"table", []string{"table: path is missing, want a file"}},
		{"table:path=bad.csv,smooth=beta", []string{
			`table: bad.csv: line 2, column successes: "5", want a whole number in [0, 4]`, `table: bad.csv: line 3, column n: "0", want`,
		}},
		{"table:path=long.csv,smooth=npmle", []string{`table: long.csv: prompt "a": n = 5000, want at most 4096: pool fewer visits`}},
		{"table:path=pilot.csv,smooth=nome", []string{"table: smooth = nome, want one of none, beta, npmle (did you mean none?)"}},
		{"table:path=tokens.csv,tokens=5", []string{"table: tokens = 5, want it left out: the table has its own tokens"}},
		{"atoms:path=partial.csv", []string{"atoms: sum of weights = 0.25, want 1 within 1e-9"}},
		{"atoms:path=pilot.csv", []string{"atoms: pilot.csv: line 1: column p is missing", "column weight is missing"}},
		{"uniform:tokens=0,tokens-sd=-1,tokens-slope=99,tokens-cap=1.5", []string{
			"uniform: tokens = 0, want (0, 1e+09]", "uniform: tokens-sd = -1, want [0, 1e+09]", "uniform: tokens-slope = 99, want [-50, 50]",
			"uniform: tokens-cap = 1.5, want a whole number >= 1",
		}},
		{"uniform:tokens=x", []string{"uniform: tokens = x, want (0, 1e+09]"}},
		{"uniform:tokens-sd=1,tokens-cap=4", []string{
			"uniform: tokens is missing, want (0, 1e+09]: tokens-sd needs it", "uniform: tokens is missing, want (0, 1e+09]: tokens-cap needs it",
		}},
		{"flip", []string{"flip: q is missing, want [0, 1]", "flip: the population is missing, want flip:q=0.05@POPULATION"}},
		{"flip:q=1.5,p=1@beta:a=0,b=1", []string{"flip: q = 1.5, want [0, 1]", "flip: beta: a = 0, " + beta, "flip: unknown parameter p, want one of q"}},
		{"flip:q=x@", []string{"flip: q = x, want [0, 1]", `flip: "" has no name`}},
		{"flip:q=0.1@pareto-variance:shape=2,min=0.1", []string{"flip: max is missing, want (min, 1]: an unbounded law has no rewards to turn round"}},
		{"flip:q=0.5@uniform:tokens=500,tokens-slope=1", []string{"flip: q = 0.5, want other than 1/2 where lengths depend on p"}},
		{"mixture", []string{`mixture: component 1: "", want WEIGHT@SPEC with a weight in (0, 1]`}},
		{"mixture:a=1", []string{`mixture: component 1: "a=1", want WEIGHT@SPEC`}},
		{"mixture:0@uniform+1@unifrm", []string{`mixture: component 1: "0@uniform", want WEIGHT@SPEC`, `mixture: component 2: unknown name "unifrm"`}},
		{"mixture:0.3@uniform+0.6@point:p=0", []string{"mixture: sum of weights = 0.8999999999999999, want 1 within 1e-9"}},
		{"mixture:0.5@beta:a=0,b=0+0.5@mixture:1@uniform", []string{
			"mixture: component 1: beta: a = 0, " + beta, "mixture: component 1: beta: b = 0, " + beta,
			"mixture: component 2: a mixture inside a mixture, want its components here with their weights multiplied",
		}},
		{"mixture:0.5@pareto-variance:shape=2,min=0.1+0.5@uniform", []string{
			"mixture: component 1: pareto-variance: max is missing, want (min, 1]: an unbounded law has no rewards to mix",
		}},
		{"mixture:0.5@uniform:tokens=5+0.5@point:p=0", []string{"mixture: the components differ in their tokens keys, want the same in all of them, or none"}},
		{"mixture:1@@spec", []string{`mixture: component 1: "@spec" has no name`}},
	} {
		p, err := spec.ParsePopulation(c.text, shelf().open)
		checkFaults(t, c.text, err, c.want)
		if err != nil && !reflect.DeepEqual(p, spec.Population{}) {
			t.Errorf("%q: %+v beside an error", c.text, p)
		}
	}
	if _, err := spec.ParsePopulation("table:path=x", nil); err == nil || !strings.Contains(err.Error(), "no files can be read here") {
		t.Errorf("without an opener: error %v", err)
	}
}

// TestKindsDescribeThemselves checks that what Populations says of every
// parameter is true: it is read, its default applies, and a value outside its
// range is refused with that range.
func TestKindsDescribeThemselves(t *testing.T) {
	sound := map[string]string{
		"shape": "1.5", "min": "0.01", "max": "0.9", "hard": "0.5", "a": "2", "b": "3", "p": "0.3", "dead": "0.1", "solved": "0.2",
		"smooth": "none", "tokens": "500", "tokens-sd": "100", "tokens-slope": "1", "tokens-cap": "1000",
	}
	for _, info := range spec.Populations() {
		if info.Name == "mixture" || info.Name == "flip" {
			continue
		}
		sound["path"] = map[string]string{"atoms": "atoms.csv", "table": "pilot.csv"}[info.Name]
		build := func(change, value string) string {
			var fields []string
			for _, p := range info.Parameters {
				switch {
				case p.Name != change:
					fields = append(fields, p.Name+"="+sound[p.Name])
				case value != "":
					fields = append(fields, p.Name+"="+value)
				}
			}
			return strings.TrimSuffix(info.Name+":"+strings.Join(fields, ","), ":")
		}
		full, err := spec.ParsePopulation(build("", ""), shelf().open)
		if err != nil {
			t.Errorf("%s: %v", info.Name, err)
			continue
		}
		if full.Spec != build("", "") {
			t.Errorf("%s is normalised to %s, want the parameters as listed", build("", ""), full.Spec)
		}
		if info.Capabilities.Rewards != (full.Law != nil) || info.Capabilities.Lengths != (full.Lengths != nil) ||
			info.Capabilities.Atoms != (full.Law != nil && full.Law.Atoms() != nil) || info.Capabilities.File != (sound["path"] != "") {
			t.Errorf("%s: capabilities %+v do not fit", info.Name, info.Capabilities)
		}
		for _, p := range info.Parameters {
			if p.Default != "" {
				got, err := spec.ParsePopulation(build(p.Name, ""), shelf().open)
				if err != nil || !strings.Contains(got.Spec+",", p.Name+"="+p.Default+",") {
					t.Errorf("%s without %s: %q, %v, want the default %s", info.Name, p.Name, got.Spec, err, p.Default)
				}
			}
			if p.Name == "path" || p.Name == "smooth" {
				continue
			}
			_, err := spec.ParsePopulation(build(p.Name, "-1e300"), shelf().open)
			if want := fmt.Sprintf("%s: %s = -1e+300, want %s", info.Name, p.Name, p.Range); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}

// drawSpec draws the spec of any population, its numbers as a user might type
// them.
func drawSpec(t *rapid.T, nested bool) string {
	number := func(label string, low, high float64) string {
		x := rapid.Float64Range(low, high).Draw(t, label)
		format := rapid.SampledFrom([]string{"%v", "%.3g", "%e", "%f", "%+v"}).Draw(t, "format")
		return fmt.Sprintf(format, math.Max(low, math.Min(high, x)))
	}
	var params []string
	add := func(key, value string) { params = append(params, key+"="+value) }
	names := []string{"pareto-variance", "pareto-success", "beta", "uniform", "point", "spiked-beta", "atoms", "table"}
	if !nested {
		names = append(names, "mixture")
	}
	name := rapid.SampledFrom(names).Draw(t, "name")
	switch name {
	case "pareto-variance":
		add("shape", number("shape", 0.1, 20))
		add("min", number("min", 0.001, 0.4))
		add("max", number("max", 0.5, 1))
		if rapid.Bool().Draw(t, "hard?") {
			add("hard", number("hard", 0, 1))
		}
	case "pareto-success":
		add("shape", number("shape", 0.1, 20))
		add("min", number("min", 0.001, 0.4))
		if rapid.Bool().Draw(t, "max?") {
			add("max", number("max", 0.5, 1))
		}
	case "beta":
		add("a", number("a", 0.01, 1e5))
		add("b", number("b", 0.01, 100))
	case "point":
		add("p", number("p", 0, 1))
	case "spiked-beta":
		add("dead", number("dead", 0, 0.5))
		add("solved", number("solved", 0, 0.5))
		add("a", number("a", 0.01, 100))
		add("b", number("b", 0.01, 100))
	case "atoms":
		add("path", "atoms.csv")
	case "table":
		add("path", "pilot.csv")
		add("smooth", rapid.SampledFrom([]string{"none", "beta", "npmle"}).Draw(t, "smooth"))
	case "mixture":
		weight := rapid.Float64Range(0.01, 0.99).Draw(t, "weight")
		return fmt.Sprintf("mixture:%v@%s+%v@%s", weight, drawSpec(t, true), 1-weight, drawSpec(t, true))
	}
	if !nested && rapid.Bool().Draw(t, "tokens?") {
		add("tokens", number("tokens", 1, 1e8))
		add("tokens-slope", number("tokens-slope", -3, 3))
		if rapid.Bool().Draw(t, "cap?") {
			add("tokens-cap", fmt.Sprint(rapid.IntRange(1, 1_000_000_000).Draw(t, "tokens-cap")))
		}
	}
	params = rapid.Permutation(params).Draw(t, "order")
	space := rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
	return strings.TrimSuffix(name+space+":"+space+strings.Join(params, space+","+space), space+":"+space)
}

// TestNormalisedSpecsParseToThemselves is a property of every spec: it is
// accepted, and its normal form means the same and is its own normal form.
func TestNormalisedSpecsParseToThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawSpec(t, false)
		p, err := spec.ParsePopulation(text, shelf().open)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := spec.ParsePopulation(p.Spec, shelf().open)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%q is normalised to %q, which gives %+v, %v", text, p.Spec, again, err)
		}
	})
}

func TestTableLaw(t *testing.T) {
	p, err := spec.ParsePopulation("table:path=tokens.csv", shelf().open)
	if err != nil {
		t.Fatal(err)
	}
	atoms := p.Law.Atoms()
	want := []distributions.Node{{P: 0.25, W: 2. / 3}, {P: 1, W: 1. / 3}}
	if !slices.EqualFunc(atoms, want, func(a, b distributions.Node) bool { return a.P == b.P && math.Abs(a.W-b.W) < 1e-15 }) {
		t.Errorf("atoms %v, want %v", atoms, want)
	}
	for at, tokens := range map[float64]float64{0: 200, 0.25: 200, 0.6: 200, 0.65: 50, 1: 50} {
		if got := p.Lengths.Mean(at); got != tokens {
			t.Errorf("mean tokens at p = %v: %v, want %v", at, got, tokens)
		}
	}
	lawtest.TestLaw(t, "table", p.Law)
}

// TestSmoothedTable checks that smooth= reaches the fit. The recorded success
// rates have E[u] = 3/8, which binomial noise has made smaller by a quarter;
// Beta(a, a) with the derivative of its log-likelihood
//
//	2(1/a + 1/(a+1) + 1/(a+2) + 1/(a+3)) + 2(2/a + 1/(a+1) + 1/(a+2)) - 8(1/(2a) + ... + 1/(2a+3))
//
// zero at a = 0.55274 has E[u] = 2a/(2a+1) = 0.52505, and no Beta law has atoms.
func TestSmoothedTable(t *testing.T) {
	for _, c := range []struct {
		smooth    string
		atoms     bool
		low, high float64 // of E[u]
	}{
		{"beta", false, 0.52504, 0.52506},
		{"npmle", true, 0.4, 0.6},
	} {
		p, err := spec.ParsePopulation("table:path=pilot.csv,smooth="+c.smooth, shelf().open)
		if err != nil {
			t.Errorf("%s: %v", c.smooth, err)
			continue
		}
		if want := "table:path=pilot.csv,smooth=" + c.smooth; p.Spec != want {
			t.Errorf("normalised to %q, want %q", p.Spec, want)
		}
		if (p.Law.Atoms() != nil) != c.atoms {
			t.Errorf("%s: atoms %v", c.smooth, p.Law.Atoms())
		}
		if got := p.Law.MeanU(); !(got > c.low && got < c.high) {
			t.Errorf("%s: E[u] = %v, want (%v, %v)", c.smooth, got, c.low, c.high)
		}
		lawtest.TestLaw(t, "smoothed "+c.smooth, p.Law)
	}
}

// FuzzParsePopulation checks that no text panics, that errors are of bounded
// length, and that accepted specs normalise to a fixed point.
func FuzzParsePopulation(f *testing.F) {
	for _, text := range []string{
		"uniform", "beta:a=.1,b=0.30", "@spec", "point:p=0.3", "spiked-beta:dead=0.3,solved=0.1,a=2,b=6",
		"pareto-variance:shape=1.5,min=0.01", "pareto-variance:shape=1.5,min=0.01,max=1,hard=1", "pareto-success:shape=1,min=0.1",
		"mixture:0.3@beta:a=2,b=6+0.7@uniform", "mixture:1e-1@uniform+9e-1@point:p=1e-5", "atoms:path=atoms.csv", "table:path=pilot.csv",
		"uniform:tokens=500,tokens-sd=1e+2,tokens-cap=5", "mixture:0.5@mixture:1@uniform", "table:path=bad.csv", "beta:a=,b=\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := spec.ParsePopulation(text, shelf().open)
		if err != nil {
			if len(err.Error()) > 1000*(1+len(text)) {
				t.Fatalf("%q: an error of %d bytes", text, len(err.Error()))
			}
			return
		}
		again, err := spec.ParsePopulation(p.Spec, shelf().open)
		if err != nil || again.Spec != p.Spec {
			t.Fatalf("%q is normalised to %q, which gives %q, %v", text, p.Spec, again.Spec, err)
		}
		if mean := p.Variance.MeanU(); !(mean >= 0) || p.Law != nil && !(mean <= 1) {
			t.Fatalf("%q: E[u] = %v", text, mean)
		}
	})
}

// TestNoisyMixtures: one noisy component makes a mixture noisy, wherever it stands.
func TestNoisyMixtures(t *testing.T) {
	for text, want := range map[string]bool{
		"mixture:0.5@flip:q=0.1@uniform+0.5@uniform": true, "mixture:0.5@uniform+0.5@flip:q=0.1@uniform": true, "mixture:0.5@uniform+0.5@uniform": false,
	} {
		if p, err := spec.ParsePopulation(text, nil); err != nil || p.Noisy != want {
			t.Errorf("%s: noisy %v, error %v, want %v", text, p.Noisy, err, want)
		}
	}
}

// TestFlipKeepsLengths: label noise changes rewards, so that a prompt of p = 0.2
// has its tokens at p' = 0.1 + 0.8 p = 0.26.
func TestFlipKeepsLengths(t *testing.T) {
	const population = "uniform:tokens=500,tokens-slope=1"
	right, err := spec.ParsePopulation(population, nil)
	if err != nil {
		t.Fatal(err)
	}
	noisy, err := spec.ParsePopulation("flip:q=0.1@"+population, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := noisy.Lengths.Mean(0.26), right.Lengths.Mean(0.2); !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("mean length %v, want %v", got, want)
	}
}
