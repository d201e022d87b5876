package reward

import "strings"

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

// opensBox reports whether the brace behind a text is that of a box.
func opensBox(text string) bool {
	text = strings.TrimRight(text, " \t\n")
	return strings.HasSuffix(text, `\boxed`) || strings.HasSuffix(text, `\fbox`)
}

// lastTagged returns what the last <answer>...</answer> of a text holds.
func lastTagged(text string) (string, bool) {
	const opening, closing = "<answer>", "</answer>"
	end := strings.LastIndex(text, closing)
	if end < 0 {
		return "", false
	}
	begin := strings.LastIndex(text[:end], opening)
	if begin < 0 {
		return "", false
	}
	return strings.TrimSpace(text[begin+len(opening) : end]), true
}

// thought cuts what stands before the end of a model's thoughts, </think>, where
// something follows.
func thought(text string) string {
	const end = "</think>"
	if i := strings.LastIndex(text, end); i >= 0 && strings.TrimSpace(text[i+len(end):]) != "" {
		return text[i+len(end):]
	}
	return text
}

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
			open = append(open, brace{i, opensBox(text[max(0, i-longest):i])})
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
