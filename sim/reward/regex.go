package reward

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"vigorlab/distributions/spec"
)

// regex takes a completion for right if the pattern matches it; where the pattern
// has a group (...), if what the group holds in the last match is the answer, as
// exact has it. The syntax is RE2's, whose matching takes linear time.
type regex struct {
	pattern *regexp.Regexp
	strict  bool
	spec    string
}

var regexInfo = Info{
	Name: "regex", Form: `regex:pattern=(?i)answer: *(\w+)`,
	Doc: "the pattern matches; with a group (...), what the group holds in the last match is the answer",
	Parameters: []spec.Parameter{
		truncatedParameter,
		{Name: "pattern", Range: "an RE2 pattern with at most one group", Doc: "takes the rest of the spec, commas and colons too, and so stands last"},
	},
	Provenance: "own",
}

const wantPattern = "want an RE2 pattern, which takes the rest of the spec, as in " + `regex:pattern=(?i)answer: *(\w+)`

func readRegex(text string) (Verifier, error) {
	before, pattern, given := cutRest(text, "pattern")
	s, err := spec.Parse(before)
	a := spec.NewArgs(s)
	r := regex{strict: strict(a)}
	var compileErr error
	switch r.pattern, compileErr = regexp.Compile(pattern); {
	case !given || pattern == "":
		compileErr = errors.New("regex: pattern is missing, " + wantPattern)
	case compileErr != nil:
		compileErr = fmt.Errorf("regex: pattern: %w", compileErr)
	case r.pattern.NumSubexp() > 1:
		compileErr = fmt.Errorf("regex: pattern has %d groups (...), want at most one; (?:...) is none", r.pattern.NumSubexp())
	}
	if err := errors.Join(err, a.Err(), compileErr); err != nil {
		return nil, err
	}
	r.spec = a.Normal().String() + ",pattern=" + pattern
	return pure{r}, nil
}

func (r regex) String() string { return r.spec }

func (r regex) needsAnswer() bool { return r.pattern.NumSubexp() == 1 }

func (r regex) judge(item Item) Grade {
	if r.strict && item.Truncated {
		return cutOff()
	}
	answer := strings.TrimSpace(item.Answer)
	if r.needsAnswer() && answer == "" {
		return cannotTell("there is no answer to compare with")
	}
	all := r.pattern.FindAllStringSubmatch(item.Completion, -1)
	switch {
	case all == nil:
		return right(false, "the pattern does not match")
	case !r.needsAnswer():
		return right(true, "the pattern matches")
	}
	got := strings.TrimSpace(all[len(all)-1][1])
	return right(got == answer, "%s against %s", brief(got), brief(answer))
}
