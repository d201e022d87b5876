package reward

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Values are JSON's, read by readJSON: nil, bool, string, json.Number, []any and
// map[string]any; of a program beside them tagged, a value that JSON has not.

// A bad value is a text that is no JSON.
type bad struct{}

func isBad(v any) bool { return v == bad{} }

// readJSON reads one value, its numbers as they are written.
func readJSON(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return bad{}
	}
	return v
}

// packed writes a value as python/plain.py reads it: objects are pairs.
func packed(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = packed(v[i])
		}
		return list
	case map[string]any:
		pairs := []any{}
		for key, value := range v {
			pairs = append(pairs, []any{key, packed(value)})
		}
		return map[string]any{"dict": pairs}
	}
	return v
}

// A judgement compares values, numbers with a tolerance.
type judgement struct{ tolerance float64 }

// value reports whether got, which python/plain.py has packed, equals want, which
// is JSON: as Python's ==, but a tuple is a list, a dict's whole numbers are keys by
// their digits, and numbers that are not whole may differ by the tolerance.
func (j judgement) value(got, want any) bool {
	switch g := got.(type) {
	case map[string]any:
		if list, ok := g["tuple"].([]any); ok && len(g) == 1 {
			return j.value(list, want)
		}
		pairs, ok := g["dict"].([]any)
		w, isObject := want.(map[string]any)
		return ok && isObject && j.pairs(pairs, w)
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range g {
			if !j.value(g[i], w[i]) {
				return false
			}
		}
		return true
	case string:
		w, ok := want.(string)
		return ok && g == w
	case nil:
		return want == nil
	}
	g, ok := numberOf(got)
	w, ok2 := numberOf(want)
	return ok && ok2 && j.numbers(g, w)
}

// pairs compares a dict with an object.
func (j judgement) pairs(pairs []any, want map[string]any) bool {
	seen := map[string]bool{}
	for _, p := range pairs {
		kv, ok := p.([]any)
		if !ok || len(kv) != 2 {
			return false
		}
		key := fmt.Sprint(kv[0])
		w, ok := want[key]
		if !ok || seen[key] || !j.value(kv[1], w) {
			return false
		}
		seen[key] = true
	}
	return len(seen) == len(want)
}

// numberOf returns a number as it is written; a truth is 0 or 1, as in Python.
func numberOf(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	}
	return "", false
}

// longestNumber bounds, in digits, numbers that are compared as such.
const longestNumber = 10_000

// numbers compares two numbers as they are written: two whole ones must be equal,
// others may differ by tolerance·max(1, |want|).
func (j judgement) numbers(got, want string) bool {
	if got == want {
		return true
	}
	if len(got) > longestNumber || len(want) > longestNumber {
		return false
	}
	if !strings.ContainsAny(got, ".eE") && !strings.ContainsAny(want, ".eE") {
		g, ok := new(big.Int).SetString(got, 10)
		w, ok2 := new(big.Int).SetString(want, 10)
		return ok && ok2 && g.Cmp(w) == 0
	}
	g, ok := asFloat(got)
	w, ok2 := asFloat(want)
	return ok && ok2 && math.Abs(g-w) <= j.tolerance*max(1, math.Abs(w))
}

// asFloat reads a decimal number that is finite.
func asFloat(text string) (float64, bool) {
	if strings.Trim(text, "+-.0123456789eE") != "" { // no "inf", "0x1p4" or "1_000"
		return 0, false
	}
	f, _, err := big.ParseFloat(text, 10, 53, big.ToNearestEven)
	if err != nil {
		return 0, false
	}
	x, _ := f.Float64()
	return x, !math.IsInf(x, 0)
}

// output reports whether what a program wrote is what it must write: the same
// lines, white space at their ends and empty lines at the end apart, and in a
// line the same words, where numbers that are not whole may differ by the tolerance.
func (j judgement) output(got, want string) bool {
	g, w := lines(got), lines(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if g[i] != w[i] && !j.words(strings.Fields(g[i]), strings.Fields(w[i])) {
			return false
		}
	}
	return true
}

func (j judgement) words(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] && !(strings.ContainsAny(want[i], "0123456789") && j.numbers(got[i], want[i])) {
			return false
		}
	}
	return true
}

// lines splits a text.
func lines(text string) []string {
	all := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	for i, l := range all {
		all[i] = strings.TrimSpace(l)
	}
	return all
}
