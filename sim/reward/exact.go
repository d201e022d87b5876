package reward

import (
	"strings"

	"vigorlab/distributions/spec"
)

// exact takes a completion for right if it is the answer, letter by letter, but
// for white space around either.
type exact struct {
	strict bool
	spec   string
}

var exactInfo = Info{
	Name: "exact", Form: "exact", Provenance: "own",
	Doc:        "the completion is the answer, letter by letter; white space around either does not count",
	Parameters: []spec.Parameter{truncatedParameter},
}

func readExact(text string) (Verifier, error) {
	return readPlain(text, func(a *spec.Args) judge {
		e := exact{strict: strict(a)}
		e.spec = a.Normal().String()
		return e
	})
}

func (e exact) String() string { return e.spec }

func (exact) needsAnswer() bool { return true }

func (e exact) judge(item Item) Grade {
	if e.strict && item.Truncated {
		return cutOff()
	}
	answer := strings.TrimSpace(item.Answer)
	if answer == "" {
		return cannotTell("there is no answer to compare with")
	}
	got := strings.TrimSpace(item.Completion)
	return right(got == answer, "%s against %s", brief(got), brief(answer))
}
