package output

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"vigorlab/cmd/vigorlab/internal/notation"
)

// Width is the number of columns that tables and notes fill at most.
const Width = 100

// Absent stands in tables for a figure that does not exist.
const Absent = notation.Absent

// The colours of a terminal, as ANSI attributes.
const (
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// Coloured reports whether text for w may carry colours: w is a terminal that
// understands them and NO_COLOR (no-color.org) is unset or empty.
func Coloured(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A Text collects what a person reads at a terminal.
type Text struct {
	Colour bool
	b      bytes.Buffer
}

// Bytes returns the text so far.
func (t *Text) Bytes() []byte { return t.b.Bytes() }

// Command prints the line that reproduces the run, marked as a comment.
func (t *Text) Command(line string) { fmt.Fprintf(&t.b, "# %s\n", line) }

// Line prints one line as it is.
func (t *Text) Line(line string) { t.b.WriteString(strings.TrimRight(line, " ") + "\n") }

// Blank prints an empty line.
func (t *Text) Blank() { t.b.WriteByte('\n') }

// Heading prints a line that opens a section, after an empty one.
func (t *Text) Heading(line string) {
	t.Blank()
	t.Line(t.Paint(Bold, line))
}

// Paint wraps s in an ANSI attribute where the text may carry colours.
func (t *Text) Paint(attribute, s string) string {
	if !t.Colour || attribute == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

// Note prints a paragraph that wraps at Width, its further lines indented
// under the text behind the lead.
func (t *Text) Note(lead, paragraph string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for i, line := range Wrap(paragraph, Width-len(indent)) {
		if i == 0 {
			t.Line(lead + line)
			continue
		}
		t.Line(indent + line)
	}
}

// Wrap breaks a paragraph at spaces into lines of at most width columns; a
// longer word is broken behind a comma where there is one.
func Wrap(paragraph string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(paragraph) {
		for utf8.RuneCountInString(word) > width {
			cut := strings.LastIndexByte(word[:min(width, len(word))], ',') + 1
			if cut == 0 {
				break
			}
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			lines, word = append(lines, word[:cut]), word[cut:]
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// A Grid is a table: a label column on the left, then columns that are
// aligned to the right.
type Grid struct {
	Head []string // the label column's head first
	Rows [][]string
	Left int // further columns after the label that are aligned to the left
}

// Add appends a row.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

// Grid prints a table. Where the columns do not fit into Width it breaks long
// labels behind commas, and prints several tables, one under the other, each with
// the label column, where that is not enough.
func (t *Text) Grid(g Grid) {
	widths := g.widths()
	if g.total(widths) > Width {
		g = g.broken()
		widths = g.widths()
	}
	for from := 1; from < len(widths); {
		total, to := widths[0], from
		for to < len(widths) && (to == from || total+2+widths[to] <= Width) {
			total += 2 + widths[to]
			to++
		}
		if from > 1 {
			t.Blank()
		}
		t.block(g, widths, from, to)
		from = to
	}
}

// block prints the label column and the columns in [from, to).
func (t *Text) block(g Grid, widths []int, from, to int) {
	for _, row := range append([][]string{g.Head}, g.Rows...) {
		line := pad(cell(row, 0), widths[0], false)
		for i := from; i < to; i++ {
			line += "  " + pad(cell(row, i), widths[i], i > g.Left)
		}
		t.Line(line)
	}
}

// labelWidth is the number of columns at which labels are broken that leave no room.
const labelWidth = 34

// broken returns the table with long labels broken behind commas: their further
// lines, indented, are rows without figures.
func (g Grid) broken() Grid {
	rows := g.Rows
	g.Rows = nil
	for _, row := range rows {
		lines := []string{cell(row, 0)}
		if columns(lines[0]) > labelWidth {
			lines = Wrap(lines[0], labelWidth)
		}
		g.Add(append(lines[:1:1], row[min(1, len(row)):]...)...)
		for _, line := range lines[1:] {
			g.Add("  " + line)
		}
	}
	return g
}

// total returns the width of the table as one.
func (g Grid) total(widths []int) int {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

// widths returns the width of every column.
func (g Grid) widths() []int {
	widths := make([]int, len(g.Head))
	for _, row := range append([][]string{g.Head}, g.Rows...) {
		for i := range widths {
			widths[i] = max(widths[i], columns(cell(row, i)))
		}
	}
	return widths
}

func cell(row []string, i int) string {
	if i >= len(row) {
		return ""
	}
	return row[i]
}

// pad fills s with spaces up to width columns.
func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-columns(s)))
	if right {
		return space + s
	}
	return s + space
}

// columns counts what a terminal shows of s: its runes without colours.
func columns(s string) int {
	n := utf8.RuneCountInString(s)
	for rest := s; ; {
		start := strings.Index(rest, "\x1b[")
		if start < 0 {
			return n
		}
		end := strings.IndexByte(rest[start:], 'm')
		if end < 0 {
			return n
		}
		n -= end + 1
		rest = rest[start+end+1:]
	}
}

// Number prints x to four significant digits, or Absent.
func Number(x *float64) string { return notation.Number(x) }

// Measured prints a figure as "mean ± se", the error to two significant
// digits and the mean to the same decimal.
func Measured(f Figure) string {
	if f.Mean == nil {
		return Absent
	}
	if f.SE == nil || !(*f.SE > 0) {
		return Number(f.Mean)
	}
	decimals := 1 - int(math.Floor(math.Log10(*f.SE)))
	if decimals > 9 || decimals < -6 {
		return fmt.Sprintf("%.4g ± %.2g", *f.Mean, *f.SE)
	}
	if decimals < 0 { // 560 ± 150: both to the tens
		unit := math.Pow(10, float64(-decimals))
		return fmt.Sprintf("%.0f ± %.0f", math.Round(*f.Mean/unit)*unit, math.Round(*f.SE/unit)*unit)
	}
	return fmt.Sprintf("%.*f ± %.*f", decimals, *f.Mean, decimals, *f.SE)
}

// Between prints an interval, its ends to two significant digits of its width.
func Between(low, high float64) string {
	decimals := 1 - int(math.Floor(math.Log10(high-low)))
	if !(high > low) || decimals < 0 || decimals > 9 {
		return fmt.Sprintf("[%.4g, %.4g]", low, high)
	}
	return fmt.Sprintf("[%.*f, %.*f]", decimals, low, decimals, high)
}

// Parameter prints one parameter of a spec: its name and default, what it is
// and its range.
func (t *Text) Parameter(name, missing, doc, want string) {
	lead := name
	if missing != "" {
		lead += "=" + missing
	}
	if strings.HasPrefix(want, "(") || strings.HasPrefix(want, "[") {
		want = ", in " + want
	} else {
		want = " (" + want + ")"
	}
	t.Note("  "+pad(lead, 17, false)+"  ", doc+want)
}
