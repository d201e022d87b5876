package reward

import (
	"fmt"
	"strings"
	"testing"
)

func TestLastFenced(t *testing.T) {
	for text, want := range map[string]string{
		"no fence":                                 "no fence",
		"a\n```\nx\n```\nb":                        "x\n",
		"```python\nx\n```\n```py\ny\n```":         "y\n",
		"```\nx\n```\nand\n```\n\n```":             "x\n",
		"```\nx\n  y":                              "x\n  y",
		"- so:\n  ```\n  if x:\n    y\n  ```\n":    "if x:\n  y\n",
		"~~~\nx\n```\ny\n~~~":                      "x\n```\ny\n",
		"````\nx\n```\ny\n````":                    "x\n```\ny\n",
		"```x``` is one line\n```\ny\n```":         "y\n",
		"```python\ns = '''\n```'''\nx\n```\n":     "s = '''\n```'''\nx\n",
		"```\nx\n```\nmore text with `code` in it": "x\n",
		// Behind a program stands what it writes, or how it is run.
		"```python\nx\n```\nOutput:\n```\n3\n```":            "x\n",
		"```Python title=\"a\"\nx\n```\n```text\n3\n```":     "x\n",
		"```py\nx\n```\n```{.python}\ny\n```\n```sh\nz\n```": "y\n",
		"```python\nx\n```\n```py\n```\n```\nz":              "x\n",
		"```cpp\nx\n```\n```pythonic\ny\n```":                "y\n",
	} {
		if got, fenced := lastFenced(text, []string{"python", "py"}); got != want || fenced != strings.ContainsAny(text, "\n") {
			t.Errorf("%q: %q, %v, want %q", text, got, fenced, want)
		}
	}
}

func TestOutputs(t *testing.T) {
	j := judgement{1e-6}
	for _, c := range []struct {
		got, want string
		equal     bool
	}{
		{"1 2\n3\n", "1 2\n3", true},
		{" 1 2 \n3\n\n", "1  2\n3", true},
		{"1\n2", "1 2", false},
		{"1\n2", "1", false},
		{"1", "1\n2", false},
		{"1\n\n2", "1\n2", false},
		{"", "", true},
		{"\n", "", true},
		{"0", "", false},
		{"YES", "Yes", false},
		{"1000000", "1000001", false},
		{"10000000000000000000001", "10000000000000000000000", false},
		{"1.0", "1", true},
		{"01", "1", true},
		{"0.3333333", "0.33333333", true},
		{"0.333", "0.33333333", false},
		{"1000000.5", "1000001.4", true}, // by 0.9 of 1e6+1: the tolerance is of the right number
		{"1000000.5", "1000001.6", false},
		{"1e3", "1000.0", true},
		{"nan", "nan", true},
		{"nan", "1.0", false},
		{"inf", "1e308", false},
		{"1e999999999", "2e999999999", false},
		{"0x10", "16", false},
		{"x", "y", false},
	} {
		if got := j.output(c.got, c.want); got != c.equal {
			t.Errorf("%q for %q: %v, want %v", c.got, c.want, got, c.equal)
		}
	}
}

func TestValues(t *testing.T) {
	j := judgement{1e-6}
	for _, c := range []struct {
		got, want string
		equal     bool
	}{
		{`[1, [2, "x"], null]`, `[1, [2, "x"], null]`, true},
		{`{"tuple": [1, {"tuple": []}]}`, `[1, []]`, true},
		{`{"set": [1]}`, `[1]`, false},
		{`{"dict": [["a", 1], ["b", {"dict": []}]]}`, `{"a": 1, "b": {}}`, true},
		{`{"dict": [["a", 1], ["a", 1]]}`, `{"a": 1, "b": 1}`, false},
		{`{"dict": [["a", 1]]}`, `{"a": 1, "b": 1}`, false},
		{`{"dict": [[1, 5], ["1", 5]]}`, `{"1": 5}`, false},
		{`{"dict": [["a"]]}`, `{"a": 1}`, false},
		{`{"dict": 1}`, `{}`, false},
		{`{"a": 1}`, `{"a": 1}`, false}, // not as plain.py packs
		{`{"float": "nan"}`, `"nan"`, false},
		{`{"ref": 1}`, `1`, false},
		{`true`, `1`, true},
		{`0`, `false`, true},
		{`true`, `"true"`, false},
		{`""`, `null`, false},
		{`null`, `0`, false},
		{`1`, `1.0000001`, true},
		{`1`, `2`, false},
		{`"1"`, `1`, false},
		{`"x"`, `"y"`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`[]`, `{}`, false},
		{`[1]`, `[1, 2]`, false},
	} {
		if got := j.value(readJSON([]byte(c.got)), readJSON([]byte(c.want))); got != c.equal {
			t.Errorf("%s for %s: %v, want %v", c.got, c.want, got, c.equal)
		}
	}
}

func TestSuites(t *testing.T) {
	for text, want := range map[string]string{
		`{"inputs": ["1"], "outputs": [["a", "b"]]}`:                                                 `[{1 a` + "\n" + `b}] [] "" [] []`,
		`{"input": "1", "output": "2"}`:                                                              `[{1 2}] [] "" [] []`,
		`{"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [2]]}`:                              `[] [{[1] [1] 1} {[2] [2] 2}] "f" [] []`,
		`{"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [2, 3]]}`:                           `[] [{[1] [1] <nil>} {[2] [2 3] <nil>}] "f" [] []`,
		`[{"input": "1\n\"x\"", "output": "[2]", "testtype": "functional", "func_name": "f"}]`:       `[] [{[1 x] [2] <nil>}] "f" [] []`,
		`{"test_list": ["assert f()"], "test_imports": ["import math"], "test_setup_code": "x = 1"}`: `[] [] "" [import math x = 1] [assert f()]`,
		`["assert f()"]`:                    `[] [] "" [] [assert f()]`,
		"x = 1\nassert f(x)":                "[] [] \"\" [] [x = 1\nassert f(x)]",
		`{"test": "T", "entry_point": "f"}`: "[] [] \"f\" [] [T\ncheck(f)\n]",
	} {
		s, err := readSuite(text)
		if got := fmt.Sprintf("%v %v %q %v %v", s.pairs, s.calls, s.entry, s.setup, s.asserts); err != nil || got != want {
			t.Errorf("%s: %s, error %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                  "there are no tests",
		"42":                                "no tests that are known",
		"{}":                                "no tests that are known",
		"[]":                                "no tests that are known",
		"[42]":                              "the tests: json:",
		`{"inputs": [1], "outputs": ["1"]}`: `"1" is no text, and there is no fn_name`,
		`{"inputs": ["1", "2"], "outputs": ["1"]}`:                  "2 inputs and 1 outputs, want as many",
		`{"fn_name": "f", "inputs": [1], "outputs": [1]}`:           `the input of f is "1", want a list of arguments`,
		`[{"input": "1", "output": "2", "testtype": "functional"}]`: `func_name = "", want that of the function`,
		`[{"input": "x", "output": "2", "func_name": "f"}]`:         "is no JSON",
		`[{"input": "1"}]`: "want an input and an output",
		`[{"input": "1", "output": "2"}, {"input": "1", "output": "2", "fn_name": "f"}]`: "want one kind",
	} {
		if s, err := readSuite(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v, want %q", text, s, err, want)
		}
	}
}

// FuzzSuite checks that no answer, completion or value makes a panic.
func FuzzSuite(f *testing.F) {
	for _, text := range []string{
		`{"fn_name": "f", "inputs": [[1]], "outputs": [[1]]}`, `[{"input": "1", "output": "2"}]`, "```\nassert x\n```",
		`{"public_tests": {"input": ["1"], "output": ["1"]}}`, `{"dict": [[1, 2]]}`,
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(_ *testing.T, a, b string) {
		_, _ = readSuite(a)
		lastFenced(a, []string{"python"})
		j := judgement{1e-6}
		j.output(a, b)
		j.value(readJSON([]byte(a)), readJSON([]byte(b)))
		readFindings([][]byte{[]byte(a), []byte(b)})
	})
}
