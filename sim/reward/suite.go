package reward

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A suite is the tests of a program: of one of the three kinds.
type suite struct {
	pairs []pair
	calls []call
	entry string // the function that calls call, or that asserts test

	setup, asserts []string // Python
}

// A pair is what a program reads and what it must write.
type pair struct{ in, out string }

// A call is what a function gets and what it must return.
type call struct {
	args []any // as readJSON reads them
	want any
	or   any // what is right too, where data sets write it so; else nil
}

// Kinds of tests.
const (
	byPairs   = "stdin"
	byCalls   = "calls"
	byAsserts = "assert"
)

func (s suite) kind() string {
	switch {
	case len(s.pairs) > 0:
		return byPairs
	case len(s.calls) > 0:
		return byCalls
	}
	return byAsserts
}

// readSuite reads the tests that an answer holds. Recognised are
//
//   - an object of lists, as APPS and TACO have it: inputs and outputs (or input and
//     output); with fn_name (or func_name), each input is the list of a call's
//     arguments and each output what it returns. Outputs that all are lists of one
//     element may mean that element, as they do in APPS;
//   - objects of such lists, as CodeContests has them: public_tests, private_tests,
//     generated_tests, which are put together;
//   - a list of objects with input and output, as LiveCodeBench has it. With
//     testtype = functional and a func_name (in metadata or beside it) an input is
//     a text with an argument as JSON in every line, and an output is JSON;
//   - test and entry_point, as HumanEval has it: Python that defines check;
//   - test_list, with test_imports and test_setup_code, as MBPP has it, or a list of
//     texts: Python, each text a test;
//   - a text that is not JSON and holds an assert: Python, where asserts, calls and
//     functions test_... are tests. Classes of unittest are none.
func readSuite(answer string) (suite, error) {
	text := strings.TrimSpace(answer)
	if text == "" {
		return suite{}, errors.New("there are no tests")
	}
	var s suite
	var err error
	switch {
	case json.Valid([]byte(text)) && text[0] == '{':
		s, err = readObject([]byte(text))
	case json.Valid([]byte(text)) && text[0] == '[':
		s, err = readList([]byte(text))
	case regexp.MustCompile(`(?m)^\s*(assert\b|def test_)`).MatchString(text):
		s = suite{asserts: []string{text}}
	default:
		return suite{}, errors.New("the answer holds no tests that are known")
	}
	if err == nil && len(s.pairs)+len(s.calls)+len(s.asserts) == 0 {
		err = errors.New("the answer holds no tests that are known")
	}
	return s, err
}

// texts is a list of texts, or one.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// An object is one that holds tests, in any of the forms.
type object struct {
	Inputs   []json.RawMessage `json:"inputs"`
	Outputs  []json.RawMessage `json:"outputs"`
	Input    json.RawMessage   `json:"input"`
	Output   json.RawMessage   `json:"output"`
	FnName   string            `json:"fn_name"`
	FuncName string            `json:"func_name"`
	TestType string            `json:"testtype"`
	Metadata json.RawMessage   `json:"metadata"`

	Public    *object `json:"public_tests"`
	Private   *object `json:"private_tests"`
	Generated *object `json:"generated_tests"`

	Test       string `json:"test"`
	EntryPoint string `json:"entry_point"`
	TestList   texts  `json:"test_list"`
	Imports    texts  `json:"test_imports"`
	Setup      string `json:"test_setup_code"`
}

// function is the name of the function to call, if there is one.
func (o object) function() string {
	var meta struct {
		FuncName string `json:"func_name"`
	}
	_ = json.Unmarshal(o.Metadata, &meta) // there may be none, or something else
	for _, name := range []string{o.FnName, o.FuncName, meta.FuncName} {
		if name != "" {
			return name
		}
	}
	return ""
}

func readObject(text []byte) (suite, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return suite{}, fmt.Errorf("the tests: %w", err)
	}
	switch {
	case o.Test != "" && o.EntryPoint != "":
		return suite{entry: o.EntryPoint, asserts: []string{o.Test + "\ncheck(" + o.EntryPoint + ")\n"}}, nil
	case len(o.TestList) > 0:
		setup := slices.Clone([]string(o.Imports))
		if o.Setup != "" {
			setup = append(setup, o.Setup)
		}
		return suite{setup: setup, asserts: o.TestList}, nil
	case o.Public != nil || o.Private != nil || o.Generated != nil:
		var all suite
		for _, part := range []*object{o.Public, o.Private, o.Generated} {
			if part == nil {
				continue
			}
			s, err := part.lists()
			if err != nil {
				return suite{}, err
			}
			all.pairs = append(all.pairs, s.pairs...)
		}
		return all, nil
	}
	return o.lists()
}

// lists reads inputs and outputs that are lists.
func (o object) lists() (suite, error) {
	if o.Inputs == nil && o.Outputs == nil {
		if o.Input == nil && o.Output == nil {
			return suite{}, nil
		}
		if json.Unmarshal(o.Input, &o.Inputs) != nil || json.Unmarshal(o.Output, &o.Outputs) != nil {
			return readCases([]object{o}) // a single one
		}
	}
	if len(o.Inputs) != len(o.Outputs) {
		return suite{}, fmt.Errorf("the tests have %d inputs and %d outputs, want as many", len(o.Inputs), len(o.Outputs))
	}
	s := suite{entry: o.function()}
	for i := range o.Inputs {
		if s.entry == "" {
			in, err := textOf(o.Inputs[i])
			out, err2 := textOf(o.Outputs[i])
			if err := errors.Join(err, err2); err != nil {
				return suite{}, fmt.Errorf("test %d: %w", i+1, err)
			}
			s.pairs = append(s.pairs, pair{in, out})
			continue
		}
		args, ok := readJSON(o.Inputs[i]).([]any)
		if !ok {
			return suite{}, fmt.Errorf("test %d: the input of %s is %s, want a list of arguments", i+1, s.entry, brief(string(o.Inputs[i])))
		}
		s.calls = append(s.calls, call{args: args, want: readJSON(o.Outputs[i])})
	}
	unwrap(s.calls)
	return s, nil
}

// unwrap notes the elements of outputs that all are lists of one.
func unwrap(calls []call) {
	for _, c := range calls {
		if list, ok := c.want.([]any); !ok || len(list) != 1 {
			return
		}
	}
	for i := range calls {
		calls[i].or = calls[i].want.([]any)[0]
	}
}

// textOf reads a text; a list is its lines.
func textOf(raw json.RawMessage) (string, error) {
	var lines texts
	if err := json.Unmarshal(raw, &lines); err != nil {
		return "", fmt.Errorf("%s is no text, and there is no fn_name to call", brief(string(raw)))
	}
	return strings.Join(lines, "\n"), nil
}

func readList(text []byte) (suite, error) {
	var asserts []string
	if json.Unmarshal(text, &asserts) == nil {
		return suite{asserts: asserts}, nil
	}
	var cases []object
	if err := json.Unmarshal(text, &cases); err != nil {
		return suite{}, fmt.Errorf("the tests: %w", err)
	}
	return readCases(cases)
}

// readCases reads objects with an input and an output each.
func readCases(cases []object) (suite, error) {
	var s suite
	for i, c := range cases {
		in, err := textOf(c.Input)
		out, err2 := textOf(c.Output)
		if err := errors.Join(err, err2); err != nil {
			return suite{}, fmt.Errorf("test %d: want an input and an output: %w", i+1, err)
		}
		name := c.function()
		if c.TestType != "functional" && name == "" {
			s.pairs = append(s.pairs, pair{in, out})
			continue
		}
		if name == "" || s.entry != "" && name != s.entry {
			return suite{}, fmt.Errorf("test %d: func_name = %q, want that of the function, the same in every test", i+1, name)
		}
		s.entry = name
		parsed := call{want: readJSON([]byte(out))}
		for line := range strings.Lines(in) {
			if line = strings.TrimSpace(line); line != "" {
				parsed.args = append(parsed.args, readJSON([]byte(line)))
			}
		}
		if bad := slices.IndexFunc(append(parsed.args, parsed.want), isBad); bad >= 0 {
			return suite{}, fmt.Errorf("test %d: an argument or the output is no JSON", i+1)
		}
		s.calls = append(s.calls, parsed)
	}
	if len(s.pairs) > 0 && len(s.calls) > 0 {
		return suite{}, errors.New("the tests are calls and texts for stdin, want one kind")
	}
	return s, nil
}
