package spec_test

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
)

// files is an Opener of files in memory.
type files map[string]string

func (f files) open(path string) (io.ReadCloser, error) {
	content, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func TestParse(t *testing.T) {
	for text, want := range map[string]spec.Spec{
		"uniform":                   {Name: "uniform"},
		"  uniform\n":               {Name: "uniform"},
		"beta:a=1,b=2":              {Name: "beta", Params: []spec.Param{{"a", "1"}, {"b", "2"}}},
		" beta : a = 1 , b =2\t":    {Name: "beta", Params: []spec.Param{{"a", "1"}, {"b", "2"}}},
		"table:path=a=b:c d.csv":    {Name: "table", Params: []spec.Param{{"path", "a=b:c d.csv"}}},
		"x:tokens-sd=1e+5,α_1=größ": {Name: "x", Params: []spec.Param{{"tokens-sd", "1e+5"}, {"α_1", "größ"}}},
	} {
		got, err := spec.Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
		again, err := spec.Parse(got.String())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q prints as %q, which parses to %+v, %v", text, got, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{`"" has no name, want NAME or NAME:KEY=VALUE,KEY=VALUE`}},
		{":a=1", []string{`":a=1" has no name`}},
		{"a b", []string{`"a b" has no name`}},
		{"a\nb:c=1", []string{`"a\nb:c=1" has no name`}},
		{strings.Repeat("n", 65), []string{"has no name"}},
		{"beta:", []string{`beta: "", want KEY=VALUE`}},
		{"beta:a", []string{`beta: "a", want KEY=VALUE`}},
		{"beta:a=,=2,=,,b=1,", []string{
			`beta: "a=", want KEY=VALUE`, `beta: "=2", want`, `beta: "=", want`, `beta: "", want`, `beta: "", want`,
		}},
		{"beta:a=1,a=2,b,b=1,a=1", []string{"beta: a is given twice, want it once", `beta: "b", want`, "beta: a is given twice"}},
		{"beta:a=1\x00,b=2\n3,c=\xff,d e=1", []string{`beta: "a=1\x00", want`, `beta: "b=2\n3", want`, `beta: "c=\xff"`, `beta: "d e=1"`}},
	} {
		_, err := spec.Parse(c.text)
		checkFaults(t, c.text, err, c.want)
	}
}

// checkFaults compares the lines of an error with what each must contain.
func checkFaults(t *testing.T, text string, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Errorf("%q is accepted, want %q", text, want)
		return
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Errorf("%q: faults %q, want %q", text, got, want)
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%q: fault %q, want %q in it", text, got[i], want[i])
		}
	}
}

func TestExpand(t *testing.T) {
	f := files{
		"plain": "beta:a=1,b=2", "spaced": "\ufeff  uniform\r\n", "nested": "@plain", "empty": "",
		"huge": strings.Repeat("x", 1<<20+1),
	}
	for text, want := range map[string]string{
		"uniform": "uniform", "@plain": "beta:a=1,b=2", " @spaced": "uniform", "@empty": "",
	} {
		if got, err := spec.Expand(text, f.open); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"@nested": "nested: names a further file, want a spec",
		"@huge":   "huge: longer than 1048576 bytes, want one spec",
		"@absent": "open absent: file does not exist",
		"@":       "open : file does not exist",
	} {
		if _, err := spec.Expand(text, f.open); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	_, err := spec.Expand("@broken", func(string) (io.ReadCloser, error) {
		return io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), nil
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "broken: ") {
		t.Errorf("error %v, want broken: %v", err, io.ErrUnexpectedEOF)
	}
}

func args(t *testing.T, text string) *spec.Args {
	t.Helper()
	s, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec.NewArgs(s)
}

func TestArgs(t *testing.T) {
	positive := func(x float64) bool { return x > 0 }
	a := args(t, "x:f=0.50,n=007,w=two,t=free")
	if got := a.Float("f", 1, "(0, Inf)", positive); got != 0.5 {
		t.Errorf("f = %v", got)
	}
	if got := a.Int("n", 1, 0, 9); got != 7 {
		t.Errorf("n = %v", got)
	}
	if got := a.Choice("w", "one", "one", "two"); got != "two" {
		t.Errorf("w = %v", got)
	}
	if got, given := a.Text("t"); got != "free" || !given {
		t.Errorf("t = %v, %v", got, given)
	}
	a.Keep("t", "free")
	if f, n, w := a.Float("df", 0.25, "", positive), a.Int("dn", 3, 0, 9), a.Choice("dw", "one", "one", "two"); f != 0.25 || n != 3 || w != "one" {
		t.Errorf("defaults %v, %v, %v", f, n, w)
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
	if got, want := a.Normal().String(), "x:f=0.5,n=7,w=two,t=free,df=0.25,dn=3,dw=one"; got != want {
		t.Errorf("normalised %q, want %q", got, want)
	}
}

func TestArgsFaults(t *testing.T) {
	a := args(t, "x:zero=0,nan=NaN,inf=Inf,huge=1e999,word=five,n=1.5,m=10,w=tow,gama=1,zzzzzzzz=1")
	positive := func(x float64) bool { return x > 0 }
	for _, key := range []string{"zero", "nan", "inf", "huge", "word", "missing"} {
		if got := a.Float(key, math.NaN(), "(0, Inf)", positive); !math.IsNaN(got) {
			t.Errorf("%s = %v, want NaN", key, got)
		}
	}
	a.Int("n", 1, 0, 9)
	a.Int("m", 1, 0, 9)
	a.Choice("w", "one", "one", "two")
	a.Text("gamma")
	a.Text("gamma")
	a.Add(nil)
	a.Add(errors.Join(errors.New("first"), errors.Join(errors.New("second"))))
	a.Add(&distributions.RangeError{Field: "alpha", Value: -1, Want: "[0, 1]"})
	a.Add(&distributions.RangeError{Field: "zero", Value: math.NaN(), Want: "[0, 1]"}) // reported already
	checkFaults(t, "x", a.Err(), []string{
		"x: zero = 0, want (0, Inf)", "x: nan = NaN, want", "x: inf = Inf, want", "x: huge = 1e999, want", "x: word = five, want",
		"x: missing is missing, want (0, Inf)", "x: n = 1.5, want a whole number in [0, 9]", "x: m = 10, want a whole number",
		"x: w = tow, want one of one, two (did you mean two?)", "x: first", "x: second", "x: alpha = -1, want [0, 1]",
		"x: unknown parameter gama, want one of zero, nan, inf, huge, word, missing, n, m, w, gamma (did you mean gamma?)",
		"x: unknown parameter zzzzzzzz, want one of",
	})
	long := args(t, "x:a="+strings.Repeat("9", 400))
	long.Float("a", 1, "(0, Inf)", positive)
	checkFaults(t, "a long value", long.Err(), []string{"x: a = " + strings.Repeat("9", 80) + "..., want (0, Inf)"})
	none := args(t, "x:a=1")
	checkFaults(t, "x:a=1", none.Err(), []string{"x: unknown parameter a, want no parameters"})
}

func TestNearest(t *testing.T) {
	known := []string{"beta", "uniform", "spiked-beta"}
	for word, want := range map[string]string{
		"bta": "beta", "BETA": "beta", "unifrom": "uniform", "spikedbeta": "spiked-beta", "xyzzyxyzzy": "", "a": "", "bt": "", "beat": "beta", "bet": "beta", "bxyta": "beta", "xyta": "", "uniqueform": "uniform", strings.Repeat("beta", 30): "",
	} {
		if got, ok := spec.Nearest(word, known); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", word, got, ok, want)
		}
	}
	if err := spec.UnknownName("bta", known); err.Error() != `unknown name "bta", want one of beta, uniform, spiked-beta (did you mean beta?)` {
		t.Error(err)
	}
}

// FuzzParse checks that no text panics and that what parses prints as itself.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "uniform", "beta:a=1,b=2", "x: a = b = c ,d=1", "a:b=\x00", ":", "é:ü=1", "a:b=c\u00a0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := spec.Parse(text)
		if err != nil {
			return
		}
		again, err := spec.Parse(s.String())
		if err != nil || !reflect.DeepEqual(again, s) || again.String() != s.String() {
			t.Fatalf("%q gives %q, which gives %+v, %v", text, s, again, err)
		}
	})
}
