package reward

import (
	"regexp"
	"strings"
)

// ending bounds, in bytes, the end of a completion in which answers without a box
// are looked for: patterns take long on texts of any length.
const ending = 4000

// endOf returns the end of a text, from a word on.
func endOf(text string) string {
	if len(text) <= ending {
		return text
	}
	text = text[len(text)-ending:]
	return text[strings.IndexAny(text, " \n")+1:]
}

// boxOpening ends in the brace that a box begins with.
var boxOpening = regexp.MustCompile(`\\(?:boxed|fbox)\s*\{$`)

// lastBox returns what the last complete \boxed{...} or \fbox{...} of a text
// holds, of nested ones the innermost. Braces nest; \{ and \} do not count. It
// reads the text once.
func lastBox(text string) (string, bool) {
	const longest = len(`\boxed`) + 8 // with a little space before the brace
	type brace struct {
		at    int
		boxes bool
	}
	var open []brace
	begin, end := -1, -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, brace{i, boxOpening.MatchString(text[max(0, i-longest) : i+1])})
		case '}':
			if len(open) == 0 {
				continue
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if last.boxes && last.at > begin {
				begin, end = last.at, i
			}
		}
	}
	if begin < 0 {
		return "", false
	}
	return strings.TrimSpace(text[begin+1 : end]), true
}
