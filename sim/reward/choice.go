package reward

import (
	"fmt"
	"regexp"
	"strings"

	"vigorlab/distributions/spec"
)

// choice takes a completion for right if the letter it chooses is the answer's.
// Of the forms below the first that occurs counts, and of its occurrences the
// last: \boxed{B}; <answer>B</answer>; "the answer is B", "option: B", "I choose B"; (B), [B], **B**;
// a last line that is B, or begins with "B." or "B)"; a last word B.
// All but boxes and <answer> are looked for behind </think>, in the last 4,000 bytes.
type choice struct {
	forms  []*regexp.Regexp
	alone  *regexp.Regexp
	strict bool
	spec   string
}

var choiceInfo = Info{
	Name: "choice", Form: "choice",
	Doc: `the letter that the completion chooses is the answer's: \boxed{B}, "the answer is B", (B), **B**, a last line or word B; the first of these forms counts, where it stands last`,
	Parameters: []spec.Parameter{
		{Name: "last", Default: "J", Range: "a letter in [B, Z]", Doc: "the letter of the last choice; the first is A"},
		truncatedParameter,
	},
	Provenance: "own",
}

func readChoice(text string) (Verifier, error) {
	return readPlain(text, func(a *spec.Args) judge {
		c := newChoice(lastLetter(a))
		c.strict = strict(a)
		c.spec = a.Normal().String()
		return c
	})
}

// lastLetter reads the letter of the last choice.
func lastLetter(a *spec.Args) byte {
	text, given := a.Text("last")
	if !given {
		text = "J"
	}
	text = strings.ToUpper(text)
	if len(text) != 1 || text[0] < 'B' || text[0] > 'Z' {
		a.Fault("last", text, "a letter in [B, Z]")
		return 'J'
	}
	a.Keep("last", text)
	return text[0]
}

// newChoice makes the patterns for the letters A to last. Small letters count
// where nothing else can be meant: alone in a box, and in brackets or at the end
// of a line after "answer".
func newChoice(last byte) choice {
	upper := fmt.Sprintf("[A-%c]", last)
	any := fmt.Sprintf("[A-%ca-%c]", last, last|0x20)
	const (
		opening = `(?:[*_$"'“‘\x60]|\\[a-z]+\{|\\[(\[])*`
		chooses = `(?i:\b(?:answer|choice|option)\b(?:\s+(?:is|was|would\s+be|should\s+be|must\s+be))?|\b(?:choose|pick|select|go\s+with)\b)` +
			`(?i:\s+(?:option|choice|letter))?[\s:=*_]*`
		end = `(?:[^\pL\pN'’]|$)`
	)
	return choice{
		alone: regexp.MustCompile(`^` + opening + `[(\[]?(` + any + `)[)\]}*_$"'”’\x60.:\s]*$`),
		forms: []*regexp.Regexp{
			regexp.MustCompile(`(?m)` + chooses + opening +
				`(?:[(\[](` + any + `)[)\]]|(` + upper + `)` + end + `|(` + any + `)[.)*_$"'”’}]*\s*$)`),
			regexp.MustCompile(`[(\[]\s*(` + upper + `)\s*[)\]]|\*\*\(?(` + upper + `)(?:[).:]|\*\*)`),
			regexp.MustCompile(`(?:^|\n)\s*` + opening + `(` + upper + `)(?:[.):]\s[^\n]*|[.)]?)\s*$`),
			regexp.MustCompile(`(?:^|[^\pL\pN'’])(` + upper + `)[.!*_$)"']*\s*$`),
		},
	}
}

func (c choice) String() string { return c.spec }

func (choice) needsAnswer() bool { return true }

func (c choice) judge(item Item) Grade {
	if c.strict && item.Truncated {
		return cutOff()
	}
	want, ok := c.letter(item.Answer)
	if !ok {
		return cannotTell("answer: %s is no letter", brief(item.Answer))
	}
	got, ok := c.letter(item.Completion)
	if !ok {
		return right(false, "no letter is chosen")
	}
	return right(got == want, "%s against %s", got, want)
}

// letter returns the letter that a text chooses, as a capital.
func (c choice) letter(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if box, ok := lastBox(text); ok {
		if l, ok := c.letter(box); ok {
			return l, true
		}
	}
	if answer, ok := lastTagged(text); ok {
		if l, ok := c.letter(answer); ok {
			return l, true
		}
	}
	text = thought(text)
	if m := c.alone.FindStringSubmatch(text); m != nil {
		return strings.ToUpper(m[1]), true
	}
	text = endOf(text)
	for _, form := range c.forms {
		if all := form.FindAllStringSubmatch(text, -1); all != nil {
			return strings.ToUpper(strings.Join(all[len(all)-1][1:], "")), true
		}
	}
	return "", false
}
