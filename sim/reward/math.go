package reward

import (
	"regexp"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim/reward/formula"
)

// mathematics takes a completion for right if the answer it gives equals the
// item's, as sim/reward/formula compares them; "cannot tell" is a grade of its
// own. The answer that a text gives is what stands in its last \boxed{}; else in its
// last <answer>; else behind its last "####"; else behind its last "the answer is"
// or "answer:"; else its last line, of which the last formula between dollars, or
// what follows the last equals sign. Of the last two, what stands before </think> is
// not looked at, and no more than the last 4,000 bytes.
type mathematics struct {
	tolerance float64
	strict    bool
	spec      string
}

var mathInfo = Info{
	Name: "math", Form: "math",
	Doc: `the answer given, in \boxed{}, in <answer>, after "####" or "the answer is", or in the last line, equals the item's: numbers, expressions, tuples, sets, intervals, matrices, equations, units, in LaTeX or plain text`,
	Parameters: []spec.Parameter{
		{Name: "tolerance", Default: "1e-06", Range: "[0, 1)", Doc: "largest difference where a number has a decimal point, as a share of the larger"},
		truncatedParameter,
	},
	Provenance: "own",
}

func readMath(text string) (Verifier, error) {
	return readPlain(text, func(a *spec.Args) judge {
		m := mathematics{
			tolerance: a.Float("tolerance", 1e-6, "[0, 1)", func(x float64) bool { return x >= 0 && x < 1 }),
			strict:    strict(a),
		}
		m.spec = a.Normal().String()
		return m
	})
}

func (m mathematics) String() string { return m.spec }

func (mathematics) needsAnswer() bool { return true }

func (m mathematics) judge(item Item) Grade {
	if m.strict && item.Truncated {
		return cutOff()
	}
	want, ok := marked(item.Answer)
	if !ok {
		want = strings.TrimSpace(item.Answer)
	}
	if want == "" {
		return cannotTell("there is no answer to compare with")
	}
	got := given(item.Completion)
	if got == "" {
		return right(false, "no answer is given")
	}
	switch v, reason := formula.Compare(got, want, m.tolerance); v {
	case formula.CannotTell:
		return cannotTell("%s against %s: %s", brief(got), brief(want), reason)
	default:
		return right(v == formula.Equal, "%s against %s: %s", brief(got), brief(want), reason)
	}
}

// given returns the answer that a completion gives, "" for none.
func given(text string) string {
	if answer, ok := marked(text); ok {
		return answer
	}
	text = endOf(thought(text))
	if answer, ok := stated(text); ok {
		return answer
	}
	return concluded(text)
}

// marked returns what the last box or <answer> holds, or the line behind the last
// ####.
func marked(text string) (string, bool) {
	if box, ok := lastBox(text); ok {
		return box, true
	}
	if answer, ok := lastTagged(text); ok {
		return answer, true
	}
	if i := strings.LastIndex(text, "####"); i >= 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(text[i+len("####"):]), "\n")
		return strings.TrimSpace(line), true
	}
	return "", false
}

var statement = regexp.MustCompile(`(?i)\banswers?\b(?:\s+is|\s+are|\s*:|\s*=)[\s:*]*`)

// stated returns what follows the last "answer is" or "answer:".
func stated(text string) (string, bool) {
	all := statement.FindAllStringIndex(text, -1)
	if all == nil {
		return "", false
	}
	rest := strings.TrimSpace(text[all[len(all)-1][1]:])
	if strings.HasPrefix(rest, "$$") || strings.HasPrefix(rest, `\[`) {
		return firstFormula(rest)
	}
	line, _, _ := strings.Cut(rest, "\n")
	if answer, ok := firstFormula(line); ok && strings.HasPrefix(line, answer[:1]) {
		return answer, true
	}
	line = sentence(line)
	for _, end := range []string{"", ", ", " because ", " since ", " as ", " (", " "} {
		part := line
		if end != "" {
			part, _, _ = strings.Cut(line, end)
		}
		if formula.Readable(part) {
			return part, true
		}
	}
	return line, line != ""
}

// sentence returns a line up to its first full stop.
func sentence(line string) string {
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSpace(line)
}

var delimited = regexp.MustCompile(`(?s)\$\$.+?\$\$|\$[^$\n]+\$|\\\(.+?\\\)|\\\[.+?\\\]`)

// firstFormula returns the first formula between delimiters, with them.
func firstFormula(text string) (string, bool) {
	f := delimited.FindString(text)
	return f, f != ""
}

// concluded returns what the last line says.
func concluded(text string) string {
	text = strings.TrimSpace(text)
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if all := delimited.FindAllString(line, -1); all != nil {
		line = all[len(all)-1]
	}
	if formula.Readable(line) {
		return line
	}
	if i := strings.LastIndexByte(line, '='); i >= 0 && formula.Readable(line[i+1:]) {
		return strings.TrimSpace(line[i+1:])
	}
	return line
}
