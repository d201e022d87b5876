// Package table holds recorded outcome tables: how many rollouts of each
// prompt succeeded. It reads and writes them as CSV, and refuses drawing from
// them.
package table

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Table is a recorded table. Rows are in file order.
type Table struct {
	Name      string // of the file, for messages
	Rows      []Row
	HasTokens bool // every row has Tokens
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
)

// Read reads a table from CSV with a header line and the columns prompt_id, n
// and successes; outcomes, step, visit and tokens are optional, and further
// columns are ignored. A byte order mark and CRLF are accepted. name stands
// for the file in messages.
//
// It is strict: a missing column, a short row, a count out of range or a
// repeated (prompt_id, step, visit) is an error that names file, line, column,
// value and what was wanted. Up to 20 faults are reported at once.
func Read(r io.Reader, name string) (*Table, error) {
	t := &Table{Name: name}
	seen := map[key]int{}
	in := newReader(r, name, []string{columnPrompt, columnN, columnS},
		[]string{columnOutcomes, columnStep, columnVisit, columnTokens})
	t.HasTokens = in.has(columnTokens)
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
	if r.N, sound = in.whole(columnN, 1, maxCount); sound {
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

// Write writes the table as CSV that Read reads back. Columns in which no row
// has anything are left out.
func (t *Table) Write(w io.Writer) error {
	var steps, visits, outcomes bool
	for _, r := range t.Rows {
		steps, visits, outcomes = steps || r.Step != 0, visits || r.Visit != 0, outcomes || r.Outcomes != ""
	}
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	record := []string{columnPrompt, columnN, columnS}
	add := func(present bool, value string) {
		if present {
			record = append(record, value)
		}
	}
	add(outcomes, columnOutcomes)
	add(steps, columnStep)
	add(visits, columnVisit)
	add(t.HasTokens, columnTokens)
	if err := out.Write(record); err != nil {
		return err
	}
	for _, r := range t.Rows {
		record = append(record[:0], r.PromptID, strconv.Itoa(r.N), strconv.Itoa(r.S))
		add(outcomes, r.Outcomes)
		add(steps, strconv.Itoa(r.Step))
		add(visits, strconv.Itoa(r.Visit))
		add(t.HasTokens, strconv.FormatFloat(r.Tokens, 'g', -1, 64))
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
