package pages

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
)

// A Table is a table that sorts by any column.
type Table struct {
	ID      string
	Caption []Span
	Folded  string // what a reader opens to see it; empty where it is open
	Head    []Column
	Rows    [][]Cell
	Left    string // says which rows are not on the page; empty where all are
}

// most is the number of rows that a page shows of a table: a browser is slow with many
// more, and nobody reads them.
const most = 1000

// shorten returns the first rows of a table, as many as a page shows, and says in its
// caption where the others are.
func shorten[R any](t *Table, rows []R, file string) []R {
	left := len(rows) - most
	if left <= 0 {
		return rows
	}
	t.Caption = append(slices.Clone(t.Caption), Span{Text: fmt.Sprintf(" %d more rows are in %s.", left, file)})
	t.Left = fmt.Sprintf("%d of %d rows of a table of %s", left, len(rows), file)
	return rows[:most]
}

// A Column is the head of a column.
type Column struct {
	Text   []Span
	Number bool // aligned to the right
}

// A Cell is one field of a table.
type Cell struct {
	Text    []Span
	Under   []Span  // beside the text, less loud
	Value   string  // as a program reads the number, with all its digits; empty for words
	Verdict Verdict // in place of a text
	Long    bool    // that wants room
}

// numberColumns marks the columns that hold numbers, and nothing else but absent ones.
func (t *Table) numberColumns() {
	for c := range t.Head {
		numbers := 0
		for _, row := range t.Rows {
			switch text := plain(row[c].Text); {
			case row[c].Value != "":
				numbers++
			case text != "" && text != output.Absent:
				numbers = -len(t.Rows)
			}
		}
		t.Head[c].Number = numbers > 0
	}
}

// longest is the number of characters that a cell has on one line.
const longest = 30

// textCell returns a cell of words.
func textCell(text []Span) Cell { return Cell{Text: text, Long: len(plain(text)) > longest} }

// numberCell returns the cell of a number as a program wrote it, or of a text.
func numberCell(raw string) Cell {
	x, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return textCell(words(raw))
	}
	return Cell{Text: words(output.Number(&x)), Value: raw}
}

// leading is the number that a cell of a report begins with: 1.05 ± 0.02.
var leading = regexp.MustCompile(`^[-+]?\d+(\.\d+)?(e[-+]?\d+)?( |$|%)`)

// markdownTable returns a table of a report.
func markdownTable(id string, caption []Span, rows [][]string) *Table {
	t := &Table{ID: id, Caption: caption}
	for _, text := range rows[0] {
		t.Head = append(t.Head, Column{Text: inline(text)})
	}
	for _, row := range shorten(t, rows[1:], reportFile) {
		cells := make([]Cell, len(t.Head))
		for i := range cells {
			if i >= len(row) {
				continue
			}
			cells[i] = textCell(inline(row[i]))
			if n := leading.FindString(row[i]); n != "" {
				cells[i].Value = strings.TrimRight(n, " %")
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	t.numberColumns()
	return t
}

// Figures are the rows of results.csv.
type figures struct {
	head []string
	rows [][]string
}

// readFigures reads results.csv, which has a row a figure.
func readFigures(content []byte) (*figures, error) {
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no columns, want a row of their names")
	}
	f := &figures{rows[0], rows[1:]}
	for _, name := range []string{"figure", "value"} {
		if f.column(name) < 0 {
			return nil, fmt.Errorf("no column %s among %s", name, strings.Join(f.head, ", "))
		}
	}
	for i, row := range f.rows {
		for _, name := range []string{"value", "se", "low", "high", "exact"} {
			if text := f.field(row, name); text != "" {
				if _, err := strconv.ParseFloat(text, 64); err != nil {
					return nil, fmt.Errorf("row %d: %s = %.40q, want a number or nothing", i+1, name, text)
				}
			}
		}
	}
	return f, nil
}

func (f *figures) column(name string) int { return slices.Index(f.head, name) }

// field returns the field of a row, empty where there is no such column.
func (f *figures) field(row []string, name string) string {
	if i := f.column(name); i >= 0 {
		return row[i]
	}
	return ""
}

// places are the columns that tell a figure's rows apart: its round or its size, the
// level, step and quarter of training runs.
func (f *figures) places() []string {
	if f.column("step") >= 0 {
		return []string{"level", "step", "quarter"}
	}
	return []string{"at"}
}

// measures are the columns that say something of a figure, and not of what.
var measures = strings.Fields("value se low high exact reason replicates seed coding statistic reached seeds figure")

// keys are the columns that say what a figure is of, where rows differ in it.
func (f *figures) keys() []string {
	var keys []string
	for c, name := range f.head {
		other := slices.Contains(measures, name) || slices.Contains(f.places(), name) || name == "level"
		if !other && !f.constant(c) {
			keys = append(keys, name)
		}
	}
	return keys
}

// constant reports whether all rows have the same in a column.
func (f *figures) constant(column int) bool {
	return !slices.ContainsFunc(f.rows, func(row []string) bool { return row[column] != f.rows[0][column] })
}

// single returns the rows of figures that have one row each.
func (f *figures) single() [][]string {
	var rows [][]string
	for _, row := range f.rows {
		if !slices.ContainsFunc(f.places(), func(name string) bool { return f.field(row, name) != "" }) {
			rows = append(rows, row)
		}
	}
	return rows
}

// blocks returns the figures that have one row each: beside each other where several
// strategies or populations have them, else one below the other; and behind them
// every row, folded.
func (f *figures) blocks(id string, overview bool) []Block {
	if len(f.rows) == 0 {
		return []Block{{Paragraph: words("results.csv has no figure.")}}
	}
	blocks := []Block{{Paragraph: f.common()}}
	if rows := f.single(); overview && len(rows) > 0 {
		if keys := f.keys(); len(keys) > 0 {
			blocks = append(blocks, f.matrix(id, keys, rows)...)
		} else {
			blocks = append(blocks, Block{Table: f.list(id, rows)})
		}
		if notes := f.reasons(rows); len(notes) > 0 {
			blocks = append(blocks, Block{List: notes})
		}
	}
	return append(blocks, Block{Table: f.all(id + "-all")})
}

// common says what all rows have in common.
func (f *figures) common() []Span {
	var spans []Span
	for c, name := range f.head {
		value := f.rows[0][c]
		if value == "" || !f.constant(c) || slices.Contains([]string{"figure", "value"}, name) {
			continue
		}
		before := "Every figure: "
		if len(spans) > 0 {
			before = ", "
		}
		spans = append(spans, Span{Text: before + name + " "}, Span{value, true})
	}
	return append(spans, Span{Text: "."})
}

// list returns figures of one strategy, one below the other.
func (f *figures) list(id string, rows [][]string) *Table {
	t := &Table{ID: id, Caption: words("Figures, to four digits; sort by any column.")}
	names := slices.DeleteFunc([]string{"figure", "value", "se", "low", "high", "exact", "statistic", "reached"}, func(name string) bool {
		return !slices.ContainsFunc(rows, func(row []string) bool { return f.field(row, name) != "" })
	})
	for _, name := range names {
		t.Head = append(t.Head, Column{Text: words(name)})
	}
	for _, row := range shorten(t, rows, figuresFile) {
		cells := make([]Cell, len(names))
		for i, name := range names {
			cells[i] = numberCell(f.field(row, name))
			if name == "figure" {
				cells[i] = Cell{Text: code(f.field(row, name))}
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	t.numberColumns()
	return t
}

// beside is the number of figures that a table has beside each other: more would not
// fit on paper.
const beside = 6

// matrix returns figures of several strategies or populations: a row for each, a
// column a figure.
func (f *figures) matrix(id string, keys []string, rows [][]string) []Block {
	var order []string
	of := map[string]map[string][]string{} // a row by its keys and figure
	var names []string
	for _, row := range rows {
		key, name := "", f.field(row, "figure")
		for _, k := range keys {
			key += f.field(row, k) + "\x00"
		}
		if of[key] == nil {
			of[key] = map[string][]string{}
			order = append(order, key)
		}
		of[key][name] = row
		if f.field(row, "value") != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var blocks []Block
	for some := range slices.Chunk(names, beside) {
		t := &Table{ID: fmt.Sprintf("%s-%d", id, len(blocks)+1), Caption: words("Figures with their standard errors, and intervals in brackets where there are some; sort by any column.")}
		for _, k := range keys {
			t.Head = append(t.Head, Column{Text: words(k)})
		}
		for _, name := range some {
			t.Head = append(t.Head, Column{Text: code(name)})
		}
		for _, key := range shorten(t, order, figuresFile) {
			var cells []Cell
			for k := range strings.SplitSeq(strings.TrimSuffix(key, "\x00"), "\x00") {
				cells = append(cells, Cell{Text: code(k), Long: len(k) > longest})
			}
			for _, name := range some {
				cells = append(cells, f.measured(of[key][name]))
			}
			t.Rows = append(t.Rows, cells)
		}
		t.numberColumns()
		blocks = append(blocks, Block{Table: t})
	}
	return blocks
}

// measured returns a figure with its error, and its interval where there is one.
func (f *figures) measured(row []string) Cell {
	if row == nil || f.field(row, "value") == "" {
		return Cell{Text: words(output.Absent)}
	}
	number := func(name string) *float64 {
		x, err := strconv.ParseFloat(f.field(row, name), 64)
		if err != nil {
			return nil
		}
		return &x
	}
	c := Cell{Text: words(output.Measured(output.Figure{Mean: number("value"), SE: number("se")})), Value: f.field(row, "value")}
	if low, high := number("low"), number("high"); low != nil && high != nil {
		c.Under = words(output.Between(*low, *high))
	}
	return c
}

// reasons says why figures do not exist, or may not be trusted, each once.
func (f *figures) reasons(rows [][]string) [][]Span {
	var notes [][]Span
	var seen []string
	for _, row := range rows {
		name, reason := f.field(row, "figure"), f.field(row, "reason")
		if reason == "" || slices.Contains(seen, name+reason) {
			continue
		}
		seen = append(seen, name+reason)
		notes = append(notes, []Span{{name, true}, {Text: ": " + reason}})
	}
	return notes
}

// all returns every row, without the columns in which all are alike, folded.
func (f *figures) all(id string) *Table {
	t := &Table{ID: id, Folded: fmt.Sprintf("All %d rows of results.csv", len(f.rows)), Caption: words("Numbers to four digits.")}
	rows := shorten(t, f.rows, figuresFile)
	if len(rows) < len(f.rows) {
		t.Folded = fmt.Sprintf("The first %d of %d rows of results.csv", len(rows), len(f.rows))
	}
	var columns []int
	for c, name := range f.head {
		if name == "figure" || name == "value" || !f.constant(c) {
			columns = append(columns, c)
			t.Head = append(t.Head, Column{Text: words(name)})
		}
	}
	for _, row := range rows {
		cells := make([]Cell, len(columns))
		for i, c := range columns {
			cells[i] = numberCell(row[c])
		}
		t.Rows = append(t.Rows, cells)
	}
	t.numberColumns()
	return t
}
