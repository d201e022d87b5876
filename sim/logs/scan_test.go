package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	r, err := record(nil).parse(`{"a": 1, "b\"c": "x\\" , "d": [1, {"e": "}]"}], "f": NaN, "info": {"p.q": {"r": "s"}}, "a": -2e3 } `)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]value{
		"a": "-2e3", `b"c`: `"x\\"`, "d": `[1, {"e": "}]"}]`, "f": "NaN", "info.p.q.r": "", "z": "", "a.b": "", "d.e": "",
	} {
		if got := r.get(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if got := r.keys(); got != `a, b"c, d, f, info, a` {
		t.Errorf("keys %s", got)
	}
	if inner, err := r.key("d").elements(); err != nil || len(inner) != 2 || inner[1] != `{"e": "}]"}` {
		t.Errorf("elements %q, %v", inner, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		`{"a": 1`, `{"a": `, `{"a"`, `{"a": "x`, `{"a": [1, {"b": 2]`, `{`, ``, `{"a": 1,`, `{"a": "x\"`, `{"a": tru`, `{"a": [`,
	} {
		if _, err := record(nil).parse(text); err == nil || text != `{"a": [1, {"b": 2]` && !errors.Is(err, errTorn) {
			t.Errorf("%s: %v, want %v", text, err, errTorn)
		}
	}
	for _, text := range []string{
		`{"a": 1}}`, `{"a" 1}`, `{a: 1}`, `{"a": 1 "b": 2}`, `{"a": "y", "sco{"a": "x"}`, `{"a": [1}]}`, `[1]`, `7`, `{"a":,}`, `{"a": nan}`,
		`{"a": 1.0{"a": 1}`, `{"a": {"b": 1}`[:13] + `]}`, strings.Repeat(`{"a":`, 2000) + `1` + strings.Repeat(`}`, 2000), `{"a": 1,}`, `{"a": 1_0}`,
	} {
		if _, err := record(nil).parse(text); err == nil || errors.Is(err, errTorn) {
			t.Errorf("%.40s: %v, want an error that tells it from a torn one", text, err)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    value
		want float64
		kind reading
	}{
		{"1", 1, isNumber},
		{"-0.5e1", -5, isNumber},
		{"true", 1, isNumber},
		{"false", 0, isNumber},
		{`"True"`, 1, isText},
		{`"false"`, 0, isText},
		{`" 3 "`, 3, isText},
		{`"-1.0"`, -1, isText},
		{"null", 0, isMissing},
		{"", 0, isMissing},
		{"NaN", 0, isMissing},
		{"Infinity", 0, isMissing},
		{"-Infinity", 0, isMissing},
		{"1e999", 0, isMissing},
		{`"None"`, 0, isMissing},
		{`""`, 0, isMissing},
		{`"nan"`, 0, isMissing},
		{`"inf"`, 0, isMissing},
		{`"good"`, 0, isOther},
		{"[1]", 0, isOther},
		{`{"a": 1}`, 0, isOther},
	} {
		x, kind := c.v.number()
		if kind != c.kind || kind <= isText && x != c.want || kind > isText && !math.IsNaN(x) {
			t.Errorf("%s = %v, %v, want %v, %v", c.v, x, kind, c.want, c.kind)
		}
	}
}

// TestNatural orders paths with their numbers as numbers.
func TestNatural(t *testing.T) {
	ordered := []string{"", "1.jsonl", "2.jsonl", "9.jsonl", "10.jsonl", "a/step_2/x", "a/step_10/x", "a/step_010/y", "b", "b1"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := natural(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("natural(%q, %q) = %d, want the order of %d and %d", a, b, got, i, j)
			}
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		x, y float64
		want bool
	}{
		{1, 1, true},
		{0.35, float64(float32(0.35)), true},
		{0, 1e-7, true},
		{0, 1e-5, false},
		{1e9, 1e9 + 100, true},
		{1, 1.00001, false},
		{-1, 1, false},
	} {
		if got := same(c.x, c.y); got != c.want || same(c.y, c.x) != got {
			t.Errorf("same(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestRule(t *testing.T) {
	for text, want := range map[string]struct {
		printed string
		passes  []float64
		fails   []float64
	}{
		"> 0":             {"reward > 0", []float64{1, 0.5, 1e-3}, []float64{0, -1, 1e-9}},
		"reward>=0.5":     {"reward >= 0.5", []float64{0.5, 0.49999999, 2}, []float64{0.4, -1}},
		" reward == 1 ":   {"reward == 1", []float64{1, 0.9999999}, []float64{0, 2}},
		"!=0":             {"reward != 0", []float64{1, -1}, []float64{0}},
		"< -0.5":          {"reward < -0.5", []float64{-1}, []float64{-0.5, 0}},
		"reward <= 1e-2":  {"reward <= 0.01", []float64{0.01, -3}, []float64{0.02}},
		"reward   >   -1": {"reward > -1", []float64{0}, []float64{-1}},
	} {
		r, err := ParseRule(text)
		if err != nil || r.String() != want.printed {
			t.Errorf("%q = %q, %v, want %q", text, r, err, want.printed)
			continue
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%q reads back as %q, %v", r, again, err)
		}
		for _, x := range want.passes {
			if !r.Success(x) {
				t.Errorf("%s: %v fails", r, x)
			}
		}
		for _, x := range want.fails {
			if r.Success(x) {
				t.Errorf("%s: %v succeeds", r, x)
			}
		}
	}
	for _, text := range []string{"", "reward", "1", "> x", "> NaN", "> Inf", "=> 1", "score > 0", "> 0 && < 1", "> 1_0", "> 0x1p2", "> 0 or 1", "0 < reward"} {
		if r, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), "want reward, one of") {
			t.Errorf("%q = %q, %v, want an error", text, r, err)
		}
	}
}

// FuzzRecord compares the scanner with encoding/json: what that accepts as an
// object has the same keys and values here.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"a": 1, "b": "x\"y", "c": [1, {"d": null}], "a": true}`, `{}`, `{"": {}}`, ` {"a" :-0.5e-3 , "\u00e9": "\\"} `, `{"a": "}"}`, `{"a": "\\\\"}`, `{"a":[]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // encoding/json puts another character there
		}
		r, err := record(nil).parse(text)
		for _, field := range r {
			field.value.number()
			field.value.count()
			field.value.name()
		}
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		if err != nil && !strings.Contains(err.Error(), "nested deeper") {
			t.Fatalf("%q: %v, but it is JSON", text, err)
		}
		for _, field := range r {
			want, got := want[field.key], string(r.key(field.key))
			if string(bytes.TrimSpace(want)) != got {
				t.Fatalf("%q: %q = %s, want %s", text, field.key, got, want)
			}
			if s, ok := r.key(field.key).text(); ok {
				var expected string
				if err := json.Unmarshal(want, &expected); err != nil || s != expected {
					t.Fatalf("%q: %q = %q, want %q", text, field.key, s, expected)
				}
			}
		}
		if err == nil && len(r) < len(want) {
			t.Fatalf("%q: %d fields, want %d", text, len(r), len(want))
		}
	})
}
