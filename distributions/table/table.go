// Package table holds recorded outcome tables: how many rollouts of each
// prompt succeeded. It reads and writes them as CSV, JSON lines or Parquet, and
// refuses drawing from them.
package table

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Table is a recorded table. Rows are in file order.
type Table struct {
	Name      string // of the file, for messages
	Rows      []Row
	HasTokens bool // every row has Tokens

	HasTruncated bool // every row has Truncated
	Graded       bool // rows have Rewards in the place of S and Outcomes
}

// A Row is what was recorded of one prompt at one visit of a training run. The
// key (PromptID, Step, Visit) is unique in a table.
type Row struct {
	PromptID string
	Step     int     // training step, 0 where the table has none
	Visit    int     // how often the prompt was visited before, 0 where the table has none
	N        int     // rollouts, >= 1
	S        int     // successes among them, in [0, N]
	Outcomes string  // N digits 0 or 1 in file order, or "" where single rollouts are unknown
	Tokens   float64 // mean tokens of a rollout, > 0, or 0 where lengths are unknown

	Truncated float64   // share of rollouts that were truncated, in [0, 1], 0 where unknown
	Rewards   []float64 // of a graded table: N finite rewards in file order; nil elsewhere
}

// P returns the success rate S/N.
func (r Row) P() float64 { return float64(r.S) / float64(r.N) }

// Varied reports whether recorded outcomes differ: s/n is neither 0 nor 1.
func (r Row) Varied() bool { return r.S > 0 && r.S < r.N }

// Varied returns the number of rows whose recorded outcomes differ.
func (t *Table) Varied() int {
	n := 0
	for _, r := range t.Rows {
		if r.Varied() {
			n++
		}
	}
	return n
}

// ByPrompt returns every prompt's rows in order of time, by step and then by
// visit, prompts in order of their first row.
func (t *Table) ByPrompt() [][]Row {
	place := map[string]int{}
	var all [][]Row
	for _, r := range t.Rows {
		i, known := place[r.PromptID]
		if !known {
			i = len(all)
			place[r.PromptID] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	for _, rows := range all {
		slices.SortStableFunc(rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Visit, b.Visit))
		})
	}
	return all
}

// Limits of what a table may hold.
const (
	maxCount  = 1_000_000_000
	maxTokens = 1e9
)

// The columns of a table.
const (
	columnPrompt   = "prompt_id"
	columnN        = "n"
	columnS        = "successes"
	columnOutcomes = "outcomes"
	columnStep     = "step"
	columnVisit    = "visit"
	columnTokens   = "tokens"

	columnTruncated = "truncated"
	columnRewards   = "rewards"
)

// optionalColumns may be in a table.
var optionalColumns = []string{columnOutcomes, columnStep, columnVisit, columnTokens, columnTruncated}

// Read reads a table with the columns prompt_id, n and successes; outcomes,
// step, visit, tokens and truncated are optional, and further columns are
// ignored. name stands for the file in messages, and its extension says how it
// is written: .jsonl for an object a line, .parquet, anything else for CSV with a
// header line. A byte order mark and CRLF are accepted.
//
// It is strict: a missing column, a short row, a count out of range or a
// repeated (prompt_id, step, visit) is an error that names file, line, column,
// value and what was wanted. Up to 20 faults are reported at once. A graded
// table is refused, since it has no successes.
func Read(r io.Reader, name string) (*Table, error) {
	return readTable(r, name, columnS, optionalColumns)
}

// ReadGraded reads a graded table: its column rewards has the n rewards of a
// row, in text with a space between them, in the place of successes and
// outcomes.
func ReadGraded(r io.Reader, name string) (*Table, error) {
	return readTable(r, name, columnRewards, []string{columnStep, columnVisit, columnTokens, columnTruncated})
}

// readTable reads a table whose outcomes are in the column result.
func readTable(r io.Reader, name, result string, optional []string) (*Table, error) {
	t := &Table{Name: name, Graded: result == columnRewards}
	seen := map[key]int{}
	from, err := rowsOf(r, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in := newReader(from, name, []string{columnPrompt, columnN, result}, optional)
	t.HasTokens, t.HasTruncated = in.has(columnTokens), in.has(columnTruncated)
	for in.next() {
		row, ok := in.row()
		if !ok {
			continue
		}
		k := key{row.PromptID, row.Step, row.Visit}
		if first, twice := seen[k]; twice {
			in.fault(columnPrompt, fmt.Sprintf("%.80q", row.PromptID), fmt.Sprintf(
				"(prompt_id, step, visit) once, but (%.80q, %d, %d) is on line %d too", k.prompt, k.step, k.visit, first))
			continue
		}
		seen[k] = in.line
		t.Rows = append(t.Rows, row)
	}
	if err := in.err("prompt"); err != nil {
		return nil, err
	}
	return t, nil
}

// A key identifies a row.
type key struct {
	prompt      string
	step, visit int
}

// row reads the current record.
func (in *reader) row() (Row, bool) {
	before := in.faults.count
	r := Row{PromptID: in.text(columnPrompt)}
	if r.PromptID == "" {
		in.fault(columnPrompt, `""`, "a name")
	}
	var sound bool
	if r.N, sound = in.whole(columnN, 1, maxCount); in.has(columnRewards) {
		r.Rewards = in.rewards(r.N, sound)
	} else if sound {
		r.S, sound = in.whole(columnS, 0, r.N)
	} else {
		in.whole(columnS, 0, maxCount)
	}
	if in.has(columnStep) {
		r.Step, _ = in.whole(columnStep, 0, maxCount)
	}
	if in.has(columnVisit) {
		r.Visit, _ = in.whole(columnVisit, 0, maxCount)
	}
	if in.has(columnTokens) {
		r.Tokens = in.number(columnTokens, "a number in (0, 1e+09]", func(x float64) bool { return x > 0 && x <= maxTokens })
	}
	if in.has(columnTruncated) {
		r.Truncated = in.number(columnTruncated, "a number in [0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	}
	if r.Outcomes = in.text(columnOutcomes); sound && r.Outcomes != "" {
		in.checkOutcomes(r)
	}
	return r, in.faults.count == before
}

// checkOutcomes checks the digits of single rollouts against the counts.
func (in *reader) checkOutcomes(r Row) {
	ones, zeros := strings.Count(r.Outcomes, "1"), strings.Count(r.Outcomes, "0")
	if ones != r.S || zeros != r.N-r.S || len(r.Outcomes) != r.N {
		in.fault(columnOutcomes, fmt.Sprintf("%.80q", r.Outcomes),
			fmt.Sprintf("%d digits, %d of them 1 and the others 0, as n and successes say", r.N, r.S))
	}
}

// rewards reads the n rewards of a row.
func (in *reader) rewards(n int, sound bool) []float64 {
	texts := strings.Fields(in.text(columnRewards))
	list := make([]float64, len(texts))
	for i, text := range texts {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			in.fault(columnRewards, fmt.Sprintf("%.80q", text), "finite numbers with spaces between them")
			return nil
		}
		list[i] = x
	}
	if sound && len(list) != n {
		in.fault(columnRewards, fmt.Sprintf("%d rewards", len(list)), fmt.Sprintf("%d, as n says", n))
	}
	return list
}

// A Shape says which columns a table has beside prompt_id and n.
type Shape struct {
	Graded    bool // rewards, and neither successes nor outcomes
	Outcomes  bool
	Steps     bool
	Visits    bool
	Tokens    bool
	Truncated bool
}

// Shape returns what the table has. Columns in which no row has anything are left
// out.
func (t *Table) Shape() Shape {
	s := Shape{Graded: t.Graded, Tokens: t.HasTokens, Truncated: t.HasTruncated}
	for _, r := range t.Rows {
		s.Steps, s.Visits, s.Outcomes = s.Steps || r.Step != 0, s.Visits || r.Visit != 0, s.Outcomes || r.Outcomes != ""
	}
	return s
}

// columns returns the columns of a table, in their order.
func (s Shape) columns() []string {
	columns := []string{columnPrompt, columnN}
	for _, c := range []struct {
		name    string
		present bool
	}{
		{columnS, !s.Graded},
		{columnOutcomes, s.Outcomes && !s.Graded},
		{columnRewards, s.Graded},
		{columnStep, s.Steps},
		{columnVisit, s.Visits},
		{columnTokens, s.Tokens},
		{columnTruncated, s.Truncated},
	} {
		if c.present {
			columns = append(columns, c.name)
		}
	}
	return columns
}

// All yields the rows, and no error.
func (t *Table) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range t.Rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// text returns a row's entry in a column.
func (r Row) text(column string) string {
	switch column {
	case columnPrompt:
		return r.PromptID
	case columnN:
		return strconv.Itoa(r.N)
	case columnS:
		return strconv.Itoa(r.S)
	case columnOutcomes:
		return r.Outcomes
	case columnStep:
		return strconv.Itoa(r.Step)
	case columnVisit:
		return strconv.Itoa(r.Visit)
	case columnTokens:
		return decimal(r.Tokens)
	case columnTruncated:
		return decimal(r.Truncated)
	}
	texts := make([]string, len(r.Rewards))
	for i, x := range r.Rewards {
		texts[i] = decimal(x)
	}
	return strings.Join(texts, " ")
}

// decimal returns the shortest text that reads back as x.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Write writes the table as CSV that Read, or ReadGraded, reads back. Columns
// in which no row has anything are left out.
func (t *Table) Write(w io.Writer) error { return writeCSV(w, t.Shape(), t.All()) }

func writeCSV(w io.Writer, s Shape, rows iter.Seq2[Row, error]) error {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	columns := s.columns()
	if err := out.Write(columns); err != nil {
		return err
	}
	record := make([]string, len(columns))
	for r, err := range rows {
		if err != nil {
			return err
		}
		for i, c := range columns {
			record[i] = r.text(c)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return buffered.Flush()
}
