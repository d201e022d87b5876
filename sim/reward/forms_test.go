package reward_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"vigorlab/sim/reward"
)

func TestNumeric(t *testing.T) {
	const r, w, c = reward.Right, reward.Wrong, reward.CannotTell
	try(t, "numeric", []trial{
		{"so 3 and 4 make 7", "7", r},
		{"7", "so 3 and 4 make 7.", r},
		{"The total is $1,234.50.", "1234.5", r},
		{"#### 1,000", "She has 1000 coins\n#### 1,000", r},
		{"1,234,567", "1234567", r},
		{"12{,}345", "12345", r},
		{`12\,345`, "12345", r},
		{"12\u202f345", "12345", r},
		{"12 345", "345", r}, // a plain space does not group
		{"-5", "-5", r},
		{"−5", "-5", r},
		{"x=-5", "-5", r},
		{"-$5", "$-5", r},
		{"5", "-5", w},
		{"8-5", "5", r}, // the minus subtracts
		{"8 - 5", "5", r},
		{"(8)-5", "-5", w},
		{"3/4", "0.75", r},
		{"3 / 4", ".75", r},
		{"-3/4", "-0.75", r},
		{`\frac{3}{4}`, "0.75", r},
		{`\dfrac34`, "0.75", r},
		{`-\frac{3}{4}`, "-0.75", r},
		{`\frac{-3}{4}`, "-0.75", r},
		{"1 3/4 cups", "1.75", r},
		{`1\frac{3}{4}`, "1.75", r},
		{`-1\frac{3}{4}`, "-1.75", r},
		{"1/3", "0.3333333", r},
		{"1/3", "0.333", w},
		{"0.1+0.2 = 0.3", "3/10", r},
		{"1e3", "1000", r},
		{"1.5E-3", "0.0015", r},
		{"1.5 × 10^{-3}", "0.0015", r},
		{`1.5 \times 10^{-3}`, "0.0015", r},
		{"1.5 x 10^-3", "0.0015", r},
		{"1.5*10**4", "15000", r},
		{"10^6", "1000000", r},
		{"10^{6}", "1e6", r},
		{"50%", "0.5", r},
		{"50%", "50", r},
		{`50\%`, "50 percent", r},
		{"50 per cent", "1/2", r},
		{"0.5", "50%", r},
		{"50", "50%", r},
		{"0.5%", "50%", w},
		{"50%", "0.5%", w},
		{"50", "0.5", w},
		{"7" + strings.Repeat(" H2O", 500), "7", r},
		{"5km", "5", r},
		{"5th", "5", r},
		{"CO2 is 44 in H2O", "44", r},
		{"version 2.1.3", "2.1", r},
		{"5.", "5", r},
		{"", "5", w},
		{"no idea", "5", w},
		{"2^10", "1024", c},
		{"2^{10}", "1024", c},
		{"3^2", "9", c},
		{"3,14", "3.14", c},
		{"1/0", "5", c},
		{"5", "", c},
		{"5", "none", c},
		{"1e99999", "5", c},
		{"1e1000", "1e1000", r},
		{strings.Repeat("9", 500), "5", c},
		{"1000001", "1000000", w}, // whole numbers are exact
		{"1000000.1", "1000000", r},
		{"1e-9", "2e-9", w},
		{"0", "0.0", r},
		{"0", "1e-12", w},
		{"1e-12", "0", w},
		{"12345678901234567891", "12345678901234567890", w},
	})
	try(t, "numeric:tolerance=0.1,integers=tolerance", []trial{
		{"105", "100", r}, {"110", "100", r}, {"89.9", "100", w}, {"-105", "-100", r}, {"105", "-100", w},
	})
	try(t, "numeric:tolerance=0", []trial{{"0.3333333333333333333", "1/3", w}, {"0.5", "1/2", r}})
}

func TestChoice(t *testing.T) {
	const r, w, c = reward.Right, reward.Wrong, reward.CannotTell
	try(t, "choice", []trial{
		{"B", "B", r},
		{"b", "B", r},
		{"B", "b", r},
		{"B.", "(B)", r},
		{"(B)", "B", r},
		{"[b]", "B", r},
		{"**B**", "B", r},
		{"<think>(A)?</think><answer>B</answer>", "B", r},
		{"<think>The answer is A.</think>\nB", "B", r},
		{"B) Paris", "B", r},
		{"B. Paris", "B. Paris", r},
		{`\boxed{B}`, "B", r},
		{`$\boxed{\text{(B)}}$`, "B", r},
		{`\boxed{\textbf{B}}`, "B", r},
		{`\boxed{b}`, "B", r},
		{`\boxed{B. Paris}`, "B", r},
		{`I like (A), so \boxed{B}. Not (C).`, "B", r},
		{`\boxed{A} no, \boxed{B}`, "B", r},
		{"The answer is B", "B", r},
		{"The answer is (B), since (C) is false.", "B", r},
		{"The correct option is **B**.", "B", r},
		{"answer: B", "B", r},
		{"Answer:\n\nB", "B", r},
		{"**Answer: B**", "B", r},
		{"**Answer:** B", "B", r},
		{"answer: b", "B", r},
		{"the answer is (b) Paris", "B", r},
		{"I choose B.", "B", r},
		{`Answer: \text{B}`, "B", r},
		{"The answer is A at first. The answer is B.", "B", r},
		{"the answer is a number", "A", w},
		{"Answer: Bern", "B", w},
		{"(A) is wrong, (B) is right", "B", r},
		{"Paris is large.\nB. Paris", "B", r},
		{"It must be B.", "B", r},
		{"It must be C", "B", w},
		{"It must be Bern", "B", w},
		{"", "B", w},
		{"Plan B is good", "B", w}, // in none of the forms
		{"K", "B", w},              // beyond the last letter
		{"B", "", c},
		{"B", "2", c},
		{"B", "Paris", c},
	})
	try(t, "choice:last=Z", []trial{{"K", "K", r}})
	try(t, "choice:last=c", []trial{{"(D)", "C", w}, {"c", "C", r}})
}

func TestRegex(t *testing.T) {
	const r, w, c = reward.Right, reward.Wrong, reward.CannotTell
	try(t, `regex:pattern=(?i)answer: *(\d{1,3})`, []trial{
		{"Answer: 1, answer: 42", "42", r},
		{"Answer: 42, answer: 1", "42", w},
		{"no", "42", w},
		{"answer: 4", " ", c},
	})
	try(t, "regex:pattern=^[a-z],:=@$", []trial{{"x,:=@", "", r}, {"x", "", w}})
}

func TestNeedsAnswer(t *testing.T) {
	for spec, want := range map[string]bool{
		"exact": true, "numeric": true, "choice": true, "math": true, "flip:q=0@math": true, "regex:pattern=(a)": true, "regex:pattern=a": false,
	} {
		if got := reward.NeedsAnswer(parse(t, spec)); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

func TestSpecs(t *testing.T) {
	for text, want := range map[string]string{
		"exact":                                         "exact:truncated=wrong",
		" exact : truncated = judge":                    "exact:truncated=judge",
		"numeric":                                       "numeric:tolerance=1e-06,integers=exact,truncated=wrong",
		"math":                                          "math:tolerance=1e-06,truncated=wrong",
		"flip:q=0.05@math:tolerance=0":                  "flip:q=0.05,seed=1@math:tolerance=0,truncated=wrong",
		"flip:q=.1,seed=7@regex:pattern=a@b":            "flip:q=0.1,seed=7@regex:truncated=wrong,pattern=a@b",
		"command: python3 judge.py --a=1,b:c":           "command:timeout=60,processes=1,retries=1,run=python3 judge.py --a=1,b:c",
		"command:processes=2,run=a,run=b@c":             "command:timeout=60,processes=2,retries=1,run=a,run=b@c",
		"flip:q=1@command:cat":                          "flip:q=1,seed=1@command:timeout=60,processes=1,retries=1,run=cat",
		"choice:last=d":                                 "choice:last=D,truncated=wrong",
		"regex:pattern=a,truncated=judge":               "regex:truncated=wrong,pattern=a,truncated=judge",
		"regex:truncated=judge, pattern = a:b,c=(d)@@ ": "regex:truncated=judge,pattern=a:b,c=(d)@@",
	} {
		v := parse(t, text)
		if got := v.String(); got != want {
			t.Errorf("%q prints as %q, want %q", text, got, want)
		}
		if again := parse(t, v.String()).String(); again != want {
			t.Errorf("%q prints as %q, which prints as %q", text, want, again)
		}
	}
}

func TestSpecFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                              `"" has no name`,
		":a=1":                          `":a=1" has no name`,
		"exat":                          `unknown name "exat", want one of exact, numeric`,
		"exact:trucated=judge":          "exact: unknown parameter trucated, want one of truncated (did you mean truncated?)",
		"exact:truncated=right":         "exact: truncated = right, want one of wrong, judge",
		"numeric:tolerance=-1,a=1":      "numeric: tolerance = -1, want [0, 1)\nnumeric: unknown parameter a",
		"numeric:tolerance=NaN":         "numeric: tolerance = NaN, want [0, 1)",
		"numeric:tolerance=":            `numeric: "tolerance=", want KEY=VALUE`,
		"flip:q=0.1":                    "flip: the verifier is missing, want flip:q=0.05@VERIFIER",
		"flip:q=2@mth":                  "flip: q = 2, want [0, 1]\nunknown name \"mth\", want one of exact, numeric, choice, regex, math, code, flip, command (did you mean math?)",
		"flip@math":                     "flip: q is missing, want [0, 1]",
		"flip:q=0.1,seed=-1@":           "flip: seed = -1, want a whole number",
		"command":                       "command: there is no command, want command:CMD",
		"command:timeout=5":             "command: there is no command",
		"command:timeout=0,x=1,run=cat": "command: timeout = 0, want (0, 86400]\ncommand: unknown parameter x",
		"command:HOME=/ cat":            "command: there is no command",
		"choice:last=A":                 "choice: last = A, want a letter in [B, Z]",
		"choice:last=EF":                "choice: last = EF, want a letter",
		"regex":                         "regex: pattern is missing, want an RE2 pattern",
		"regex:pattern=":                "regex: pattern is missing",
		"regex:pattern=(":               "regex: pattern: error parsing regexp: missing closing )",
		"regex:pattern=(a)(b)":          "regex: pattern has 2 groups (...), want at most one; (?:...) is none",
		"regex:truncated=x,a=1,pattern": "regex: truncated = x, want",
	} {
		v, err := reward.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %q", text, v, err, want)
		}
	}
}

// TestKnown checks the table of verifiers: the form is a spec, and what Parse
// makes of it has the parameters.
func TestKnown(t *testing.T) {
	for _, k := range reward.Known() {
		t.Run(k.Name, func(t *testing.T) {
			if k.Name == "code" {
				needPrograms(t, "python3")
			}
			v := parse(t, strings.ReplaceAll(k.Form, "command:CMD or ", ""))
			for _, p := range k.Parameters {
				if !strings.Contains(v.String(), p.Name+"="+p.Default) {
					t.Errorf("%s prints as %q, without %s=%s", k.Form, v, p.Name, p.Default)
				}
			}
			if k.Doc == "" || k.Provenance != "own" {
				t.Errorf("%+v", k)
			}
		})
	}
}

// FuzzVerify checks that no text panics, that grades are proper, and that the
// answer itself is never wrong.
func FuzzVerify(f *testing.F) {
	for _, text := range []string{
		"", "42", "1,234.5", `\boxed{\frac{1}{2}}`, "1.5 × 10^{-3}", "(B)", "answer: b", `\boxed{\boxed{`, "}{", "-−$5 1/0%", "\xff^",
	} {
		f.Add(text, text)
	}
	var all []reward.Verifier
	for _, spec := range []string{"exact", "numeric", "choice", "math", `regex:pattern=(\w+)`} {
		all = append(all, parse(f, spec))
	}
	f.Fuzz(func(t *testing.T, completion, answer string) {
		for _, v := range all {
			grade(t, v, reward.Item{Completion: completion, Answer: answer})
			switch lower := strings.ToLower(answer); {
			case strings.HasPrefix(v.String(), "regex"):
				continue
			case strings.HasPrefix(v.String(), "math") && (strings.Contains(lower, "answer") || strings.Contains(lower, "\n")):
				continue // as a completion it gives what follows
			}
			if g := grade(t, v, reward.Item{Completion: answer, Answer: answer}); g.Kind == reward.Wrong {
				t.Errorf("%v: %q is not itself: %s", v, answer, g.Detail)
			}
		}
	})
}

var benchmarkGrade reward.Grade

// BenchmarkVerify judges completions of 32,000 bytes.
func BenchmarkVerify(b *testing.B) {
	text := strings.Repeat("We add 3 and 4 (A) to get 7, so ", 1000) + `the answer is B 1\frac{1}{2}`
	for _, spec := range []string{"exact", "numeric", "choice", "math", `regex:pattern=(\w+)$`} {
		b.Run(spec, func(b *testing.B) {
			v := parse(b, spec)
			shortest := time.Duration(1 << 62)
			for b.Loop() {
				begin := time.Now()
				benchmarkGrade, _ = v.Verify(context.Background(), reward.Item{Completion: text, Answer: "B 1.5"})
				shortest = min(shortest, time.Since(begin))
			}
			b.ReportMetric(float64(shortest.Nanoseconds()), "ns/shortest")
		})
	}
}
