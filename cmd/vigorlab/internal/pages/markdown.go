package pages

import (
	"regexp"
	"strings"
)

// A Span is text, or code, inside a line.
type Span struct {
	Text string
	Code bool
}

// words returns text that is no code.
func words(text string) []Span { return []Span{{Text: text}} }

// code returns text that is code.
func code(text string) []Span { return []Span{{text, true}} }

// plain returns the text of spans.
func plain(spans []Span) string {
	text := ""
	for _, s := range spans {
		text += s.Text
	}
	return text
}

// A part is one block of a report: the small part of Markdown that vigorlab writes.
type part struct {
	level   int      // of a heading, whose text is in lines
	lines   []string // of a paragraph, list or block of code
	list    bool
	code    bool
	table   [][]string // head first
	figure  string     // name of an image
	caption string
}

var (
	heading = regexp.MustCompile(`^(#{1,6}) +(.+)$`)
	image   = regexp.MustCompile(`^!\[.*\]\(figures/([^()]+)\.png\)$`)
	rule    = regexp.MustCompile(`^\|[\s:|-]+\|$`) // between a table's head and body
)

// parse splits a report into its parts.
func parse(report string) []part {
	var parts []part
	lines := strings.Split(report, "\n")
	for len(lines) > 0 {
		line := strings.TrimRight(lines[0], " ")
		take := func(is func(string) bool) (taken []string) {
			for len(lines) > 0 && is(lines[0]) {
				taken, lines = append(taken, lines[0]), lines[1:]
			}
			return taken
		}
		h, i := heading.FindStringSubmatch(line), image.FindStringSubmatch(line)
		switch {
		case line == "":
			lines = lines[1:]
		case h != nil:
			parts, lines = append(parts, part{level: len(h[1]), lines: []string{h[2]}}), lines[1:]
		case i != nil:
			parts, lines = append(parts, part{figure: i[1]}), lines[1:]
		case emphasis(line) != "" && captionless(parts):
			parts[len(parts)-1].caption, lines = emphasis(line), lines[1:]
		case strings.HasPrefix(line, "    "):
			parts = append(parts, part{code: true, lines: take(func(l string) bool { return strings.HasPrefix(l, "    ") })})
		case strings.HasPrefix(line, "- "):
			parts = append(parts, part{list: true, lines: take(func(l string) bool { return strings.HasPrefix(l, "- ") })})
		case strings.HasPrefix(line, "|"):
			parts = append(parts, part{table: tableOf(take(func(l string) bool { return strings.HasPrefix(l, "|") }))})
		default:
			lines = lines[1:]
			parts = append(parts, part{lines: append([]string{line}, take(continues)...)})
		}
	}
	return parts
}

// captionless reports whether the last part is a figure that has no caption yet.
func captionless(parts []part) bool {
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return last.figure != "" && last.caption == ""
}

// continues reports whether a line goes on with a paragraph.
func continues(line string) bool { return line != "" && !strings.ContainsAny(line[:1], "#|-!") }

// emphasis returns what a line of emphasis emphasises, or "".
func emphasis(line string) string {
	inner, begins := strings.CutPrefix(line, "*")
	inner, ends := strings.CutSuffix(inner, "*")
	if !begins || !ends {
		return ""
	}
	return inner
}

// tableOf splits the lines of a table into cells.
func tableOf(lines []string) [][]string {
	var rows [][]string
	for _, line := range lines {
		if rule.MatchString(line) {
			continue
		}
		var row []string
		cell := ""
		for i := 1; i < len(line); i++ { // behind the first bar
			switch {
			case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
				cell += "|"
				i++
			case line[i] == '|':
				row, cell = append(row, strings.TrimSpace(cell)), ""
			default:
				cell += line[i : i+1]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// inline returns the spans of a line: code stands between backticks, and a backslash
// takes the meaning of the sign behind it.
func inline(line string) []Span {
	var spans []Span
	text := ""
	for line != "" {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if ticks != "" {
			inner, rest, closed := strings.Cut(line[len(ticks):], ticks)
			if closed {
				spans = append(spans, Span{Text: text}, Span{strings.TrimSpace(inner), true})
				text, line = "", rest
				continue
			}
			text, line = text+ticks, line[len(ticks):]
			continue
		}
		if line[0] == '\\' && len(line) > 1 && strings.IndexByte("\\`*_[]<>#|$~&", line[1]) >= 0 {
			line = line[1:]
		}
		text, line = text+line[:1], line[1:]
	}
	spans = append(spans, Span{Text: text})
	var full []Span
	for _, s := range spans {
		if s.Text != "" {
			full = append(full, s)
		}
	}
	return full
}
