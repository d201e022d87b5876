package reward

import (
	"errors"
	"fmt"
	"strings"

	"vigorlab/distributions/spec"
)

// Info describes a verifier as data.
type Info struct {
	Name       string           `json:"name"`
	Form       string           `json:"form"` // how its spec is written
	Doc        string           `json:"doc"`
	Parameters []spec.Parameter `json:"parameters"`
	Provenance string           `json:"provenance"` // own: these verifiers are the project's
}

// Known lists the verifiers that Parse knows, in a fixed order.
func Known() []Info {
	all := makers()
	infos := make([]Info, len(all))
	for i, m := range all {
		infos[i] = m.info
	}
	return infos
}

// A maker joins what a verifier is to how its whole spec is read.
type maker struct {
	info Info
	read func(text string) (Verifier, error)
}

// makers lists them; a function, since the spec of one holds that of another.
func makers() []maker {
	return []maker{
		{exactInfo, readExact},
		{numericInfo, readNumeric},
		{choiceInfo, readChoice},
		{regexInfo, readRegex},
		{mathInfo, readMath},
		{codeInfo, readCode},
		{flipInfo, readFlip},
		{commandInfo, readCommand},
	}
}

// Parse reads the spec of a verifier, such as numeric:tolerance=1e-6. All faults
// are reported at once. A file that holds a spec is for the caller to read, by
// spec.Expand. The caller closes the verifier.
func Parse(text string) (Verifier, error) {
	text = strings.TrimSpace(text)
	name := text
	if i := strings.IndexAny(text, ":@"); i >= 0 {
		name = text[:i]
	}
	name = strings.TrimSpace(name)
	if name == "" {
		return nil, fmt.Errorf("%.80q has no name, want NAME or NAME:KEY=VALUE,KEY=VALUE", text)
	}
	var known []string
	for _, m := range makers() {
		if m.info.Name == name {
			return m.read(text)
		}
		known = append(known, m.info.Name)
	}
	return nil, spec.UnknownName(name, known)
}

// readPlain parses a spec of parameters alone and makes the judge of them; every
// fault is reported.
func readPlain(text string, read func(a *spec.Args) judge) (Verifier, error) {
	s, err := spec.Parse(text)
	a := spec.NewArgs(s)
	j := read(a)
	if err := errors.Join(err, a.Err()); err != nil {
		return nil, err
	}
	return pure{j}, nil
}

// NeedsAnswer reports whether v compares with the item's answer, so that items
// without one cannot be judged. Of a program of the user's it is not known.
func NeedsAnswer(v Verifier) bool {
	n, ok := v.(interface{ needsAnswer() bool })
	return ok && n.needsAnswer()
}

// cutRest splits a spec whose parameter key takes all the text that follows it,
// commas and colons included, and so is the last: the spec before, the text, and
// whether the key is there.
func cutRest(text, key string) (before, rest string, ok bool) {
	name, body, _ := strings.Cut(text, ":")
	var fields []string
	for tail, more := body, true; more; {
		var field string
		here := tail
		field, tail, more = strings.Cut(tail, ",")
		if k, _, equals := strings.Cut(field, "="); equals && strings.TrimSpace(k) == key {
			_, rest, _ = strings.Cut(here, "=")
			before = name
			if len(fields) > 0 {
				before += ":" + strings.Join(fields, ",")
			}
			return before, strings.TrimSpace(rest), true
		}
		fields = append(fields, field)
	}
	return text, "", false
}

// truncatedParameter is a parameter of every verifier that reads the end of a
// completion.
var truncatedParameter = spec.Parameter{
	Name: "truncated", Default: "wrong", Range: "wrong or judge",
	Doc: "what a completion is that a limit on its tokens cut off: wrong, or judged as it stands",
}

// strict reads truncatedParameter: whether truncated completions are wrong.
func strict(a *spec.Args) bool { return a.Choice("truncated", "wrong", "wrong", "judge") == "wrong" }

// cutOff is the grade of a truncated completion that is wrong as such.
func cutOff() Grade { return right(false, "cut off by the limit on tokens") }
