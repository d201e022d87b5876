package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// The extensions of files that are not CSV.
const (
	extensionJSONL   = ".jsonl"
	extensionParquet = ".parquet"
)

// Extensions returns the extensions of the files that a table is written to.
func Extensions() []string { return []string{".csv", extensionJSONL, extensionParquet} }

// WriteAs writes the table as the extension of name says, so that Read, or
// ReadGraded, reads it back under that name.
func (t *Table) WriteAs(w io.Writer, name string) error {
	return WriteRows(w, name, t.Shape(), t.All())
}

// WriteRows writes rows as WriteAs does those of a table, without having them all
// in memory. It ends at the first error that rows yields.
func WriteRows(w io.Writer, name string, s Shape, rows iter.Seq2[Row, error]) error {
	switch extension(name) {
	case extensionJSONL:
		return writeJSONL(w, s, rows)
	case extensionParquet:
		return writeParquet(w, s, rows)
	}
	return writeCSV(w, s, rows)
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// rowsOf returns the records of a file as the extension of its name says.
func rowsOf(r io.Reader, name string) (rows, error) {
	switch extension(name) {
	case extensionJSONL:
		return &jsonRows{in: bufio.NewReader(withoutMark(&lines{source: r}))}, nil
	case extensionParquet:
		return newParquetRows(r)
	}
	return newCSVRows(r), nil
}

// known are the columns that a reader may ask for.
var known = append([]string{columnPrompt, columnN, columnS, columnRewards}, optionalColumns...)

// writeJSONL writes an object a line, numbers as numbers.
func writeJSONL(w io.Writer, s Shape, rows iter.Seq2[Row, error]) error {
	buffered := bufio.NewWriter(w)
	columns := s.columns()
	for r, err := range rows {
		if err != nil {
			return err
		}
		var line bytes.Buffer
		for i, c := range columns {
			line.WriteByte(",{"[max(0, 1-i)])
			fmt.Fprintf(&line, "%q:%s", c, r.json(c))
		}
		line.WriteString("}\n")
		if _, err := buffered.Write(line.Bytes()); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// json returns a row's entry in a column as JSON.
func (r Row) json(column string) string {
	text := r.text(column)
	switch column {
	case columnRewards:
		return "[" + strings.ReplaceAll(text, " ", ",") + "]"
	case columnPrompt, columnOutcomes:
		quoted, err := json.Marshal(text)
		if err != nil {
			return `""` // cannot be: a string always has a JSON text
		}
		return string(quoted)
	}
	return text
}

// jsonRows are the objects of JSON lines, as records of the known columns that
// the first object has.
type jsonRows struct {
	in      *bufio.Reader
	columns []string
	line    int
	first   map[string]json.RawMessage // held back for the record after the header
}

func (j *jsonRows) read() ([]string, int, error) {
	if j.columns == nil {
		object, err := j.object()
		if err != nil {
			return nil, 0, err
		}
		j.first = object
		for _, c := range known {
			if _, ok := object[c]; ok {
				j.columns = append(j.columns, c)
			}
		}
		return j.columns, 1, nil
	}
	object := j.first
	if j.first = nil; object == nil {
		var err error
		if object, err = j.object(); err != nil {
			return nil, 0, err
		}
	}
	record := make([]string, len(j.columns))
	for i, c := range j.columns {
		record[i] = plain(object[c])
	}
	return record, j.line, nil
}

// object reads the next line that is not blank.
func (j *jsonRows) object() (map[string]json.RawMessage, error) {
	for {
		line, err := j.in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		j.line++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(line, &object); err != nil {
				return nil, fmt.Errorf("line %d: %w", j.line, err)
			}
			if object == nil {
				return nil, fmt.Errorf("line %d: null, want an object", j.line)
			}
			return object, nil
		}
		if err == io.EOF {
			return nil, io.EOF
		}
	}
}

// plain returns the text of a JSON value as CSV has it.
func plain(v json.RawMessage) string {
	var text string
	var list []json.Number
	switch {
	case len(v) == 0 || string(v) == "null":
		return ""
	case v[0] == '"' && json.Unmarshal(v, &text) == nil:
		return text
	case v[0] == '[' && json.Unmarshal(v, &list) == nil:
		texts := make([]string, len(list))
		for i, x := range list {
			texts[i] = x.String()
		}
		return strings.Join(texts, " ")
	}
	return string(v)
}

// A parquetRow is a row as Parquet holds it, with what every table may have.
// Columns that a table does not have are null throughout.
type parquetRow struct {
	PromptID  string   `parquet:"prompt_id"`
	N         int64    `parquet:"n"`
	Step      int64    `parquet:"step"`
	Visit     int64    `parquet:"visit"`
	Tokens    *float64 `parquet:"tokens,optional"`
	Truncated *float64 `parquet:"truncated,optional"`
}

// A countedRow is a row of successes.
type countedRow struct {
	parquetRow
	Successes int64   `parquet:"successes"`
	Outcomes  *string `parquet:"outcomes,optional"`
}

// A gradedRow is a row of a graded table.
type gradedRow struct {
	parquetRow
	Rewards []float64 `parquet:"rewards,list"`
}

func writeParquet(w io.Writer, s Shape, rows iter.Seq2[Row, error]) error {
	if s.Graded {
		return writeWhole(w, s, rows, func(row parquetRow, r *Row) gradedRow { return gradedRow{row, r.Rewards} })
	}
	return writeWhole(w, s, rows, func(row parquetRow, r *Row) countedRow {
		counted := countedRow{row, int64(r.S), nil}
		if s.Outcomes {
			counted.Outcomes = &r.Outcomes
		}
		return counted
	})
}

// rowsAGroup is how many rows of a Parquet file are gathered in memory before
// they are written.
const rowsAGroup = 1 << 18

// writeWhole writes the rows that whole completes.
func writeWhole[R any](w io.Writer, s Shape, rows iter.Seq2[Row, error], whole func(parquetRow, *Row) R) error {
	out := parquet.NewGenericWriter[R](w, parquet.MaxRowsPerRowGroup(rowsAGroup))
	for r, err := range rows {
		if err != nil {
			return err
		}
		row := parquetRow{PromptID: r.PromptID, N: int64(r.N), Step: int64(r.Step), Visit: int64(r.Visit)}
		if s.Tokens {
			row.Tokens = &r.Tokens
		}
		if s.Truncated {
			row.Truncated = &r.Truncated
		}
		if _, err := out.Write([]R{whole(row, &r)}); err != nil {
			return err
		}
	}
	return out.Close()
}

// maxParquet bounds the bytes of a Parquet table, which is read as a whole.
const maxParquet = 1 << 30

// parquetRows are the rows of a Parquet file, as records of the known columns
// in which its first row has something.
type parquetRows struct {
	in      *parquet.GenericReader[any]
	columns []string
	line    int
	first   map[string]any // held back for the record after the header
}

func newParquetRows(r io.Reader) (rows, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxParquet+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxParquet {
		return nil, fmt.Errorf("longer than %d bytes", maxParquet)
	}
	file, err := OpenParquet(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	return &parquetRows{in: parquet.NewGenericReader[any](file)}, nil
}

// maxRowsAByte bounds the rows that a Parquet file may claim: rows that repeat
// take little, but names and answers do not.
const maxRowsAByte = 16

// OpenParquet opens a Parquet file that nobody has checked. What the file claims
// of itself is bounded by its size, and a panic of the library, which some
// malformed files cause, is an error.
func OpenParquet(r io.ReaderAt, size int64) (file *parquet.File, err error) {
	defer Malformed(&err)
	end := make([]byte, 8) // the length of the footer, and a mark
	if _, err := r.ReadAt(end, size-8); size < 12 || err != nil && err != io.EOF {
		return nil, errors.New("a malformed Parquet file: it ends too early")
	}
	if footer := int64(binary.LittleEndian.Uint32(end)); footer > size-12 {
		return nil, fmt.Errorf("a malformed Parquet file: a footer of %d bytes in a file of %d", footer, size)
	}
	file, err = parquet.OpenFile(r, size, parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("a malformed Parquet file: %w", err)
	}
	if file.NumRows() > maxRowsAByte*size {
		return nil, fmt.Errorf("a malformed Parquet file: %d rows in %d bytes", file.NumRows(), size)
	}
	return file, nil
}

// Malformed turns a panic of the Parquet library into an error, where it is
// deferred.
func Malformed(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("a malformed Parquet file: %v", p)
	}
}

func (p *parquetRows) read() (record []string, line int, err error) {
	defer Malformed(&err)
	if p.columns == nil {
		if p.first, err = p.row(); err != nil {
			return nil, 0, err
		}
		for _, c := range known {
			if entry(p.first[c]) != "" {
				p.columns = append(p.columns, c)
			}
		}
		return p.columns, 1, nil
	}
	row := p.first
	if p.first = nil; row == nil {
		if row, err = p.row(); err != nil {
			return nil, 0, err
		}
	}
	p.line++
	record = make([]string, len(p.columns))
	for i, c := range p.columns {
		record[i] = entry(row[c])
	}
	return record, p.line, nil
}

// row reads the next row.
func (p *parquetRows) row() (map[string]any, error) {
	rows := make([]any, 1)
	n, err := p.in.Read(rows)
	if n == 0 && err != nil {
		return nil, err
	}
	row, ok := rows[0].(map[string]any)
	if n == 0 || !ok {
		return nil, errors.New("a malformed Parquet file: a row that is none")
	}
	return row, nil
}

// entry returns what Parquet holds as CSV has it.
func entry(x any) string {
	switch x := x.(type) {
	case nil:
		return ""
	case string:
		return x
	case []byte:
		return string(x)
	case float32:
		return decimal(float64(x))
	case float64:
		return decimal(x)
	case int32:
		return strconv.Itoa(int(x))
	case []any:
		texts := make([]string, len(x))
		for i, e := range x {
			texts[i] = entry(e)
		}
		return strings.Join(texts, " ")
	}
	return fmt.Sprint(x)
}
