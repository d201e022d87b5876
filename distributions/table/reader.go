package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxFaults is how many faults of one file are spelled out.
const maxFaults = 20

// faults collects the faults of one file.
type faults struct {
	name  string
	errs  []error
	count int
}

func (f *faults) add(err error) {
	if f.count++; f.count <= maxFaults {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", f.name, err))
	}
}

func (f *faults) err() error {
	if more := f.count - maxFaults; more > 0 {
		return errors.Join(append(slices.Clip(f.errs), fmt.Errorf("%s: and %d more faults", f.name, more))...)
	}
	return errors.Join(f.errs...)
}

// A reader reads records by column name, and goes on after a fault to find
// the others.
type reader struct {
	rows    rows
	columns map[string]int // place of every known column
	width   int            // columns of the header
	record  []string
	line    int // of the current record
	records int
	broken  bool // nothing further can be read
	faults  faults
}

// rows are the records of a file, each with its line; the first one is the
// header. A record is valid until the next one is read.
type rows interface {
	read() (record []string, line int, err error)
}

// csvRows are the records of a CSV file.
type csvRows struct{ *csv.Reader }

func newCSVRows(r io.Reader) csvRows {
	in := csv.NewReader(withoutMark(&lines{source: r}))
	in.FieldsPerRecord = -1 // short rows are ours to report
	in.ReuseRecord = true
	return csvRows{in}
}

func (c csvRows) read() ([]string, int, error) {
	record, err := c.Read()
	if err != nil {
		return nil, 0, err
	}
	line, _ := c.FieldPos(0)
	return record, line, nil
}

// A MissingError reports a column that a file lacks: it is another table, or the
// log of a trainer and none.
type MissingError struct {
	Column      string
	Want, Found []string // columns
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("line 1: column %s is missing, want the columns %s; found %.200s",
		e.Column, strings.Join(e.Want, ", "), strconv.Quote(strings.Join(e.Found, ",")))
}

// newReader reads the header.
func newReader(from rows, name string, required, optional []string) *reader {
	in := &reader{rows: from, columns: map[string]int{}, faults: faults{name: name}}
	header, _, err := in.rows.read()
	if err != nil {
		in.broken = true
		if err == io.EOF {
			err = fmt.Errorf("empty, want a header line with the columns %s", strings.Join(required, ", "))
		}
		in.faults.add(err)
		return in
	}
	in.width = len(header)
	for i, h := range header {
		h = strings.TrimSpace(h)
		if !slices.Contains(required, h) && !slices.Contains(optional, h) {
			continue
		}
		if _, twice := in.columns[h]; twice {
			in.broken = true
			in.faults.add(fmt.Errorf("line 1: column %s is there twice, want it once", h))
		}
		in.columns[h] = i
	}
	for _, h := range required {
		if h == columnS && !in.has(h) && slices.Contains(header, columnRewards) {
			in.broken = true
			in.faults.add(fmt.Errorf("line 1: a graded table, with the column %s and no %s: say what succeeds when it is imported, as in --success \"reward > 0\"", columnRewards, columnS))
		} else if !in.has(h) {
			in.broken = true
			in.faults.add(&MissingError{h, required, header})
		}
	}
	return in
}

// maxLine bounds the bytes of a line, so that a file that is no table does not
// fill the memory before that is noticed.
const maxLine = 1 << 24

// A lines passes its source on, and fails at a line that is too long.
type lines struct {
	source io.Reader
	length int // of the current line so far
}

func (l *lines) Read(b []byte) (int, error) {
	n, err := l.source.Read(b)
	for _, c := range b[:n] {
		if l.length++; c == '\n' {
			l.length = 0
		}
		if l.length > maxLine {
			return 0, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
	}
	return n, err
}

// withoutMark drops a UTF-8 byte order mark.
func withoutMark(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	mark := []byte("\ufeff")
	if start, _ := b.Peek(len(mark)); bytes.Equal(start, mark) {
		b.Discard(len(mark)) // cannot fail: they were peeked
	}
	return b
}

// next reads the next record with enough fields.
func (in *reader) next() bool {
	for !in.broken {
		record, line, err := in.rows.read()
		if err != nil {
			in.broken = true // a stray quote shifts everything after it
			if err != io.EOF {
				in.faults.add(err)
			}
			return false
		}
		in.records++
		in.record, in.line = record, line
		if len(record) == in.width {
			return true
		}
		in.faults.add(fmt.Errorf("line %d: %d fields, want %d as in the header", in.line, len(record), in.width))
	}
	return false
}

// err reports every fault; a file without records is one, too.
func (in *reader) err(what string) error {
	if in.faults.count == 0 && in.records == 0 {
		in.faults.add(fmt.Errorf("no rows, want at least one %s", what))
	}
	return in.faults.err()
}

func (in *reader) has(column string) bool {
	_, ok := in.columns[column]
	return ok
}

// text returns a field, "" where the file has no such column.
func (in *reader) text(column string) string {
	if i, ok := in.columns[column]; ok {
		return in.record[i]
	}
	return ""
}

func (in *reader) fault(column, value, want string) {
	in.faults.add(fmt.Errorf("line %d, column %s: %s, want %s", in.line, column, value, want))
}

// whole reads a whole number in [low, high].
func (in *reader) whole(column string, low, high int) (int, bool) {
	text := in.text(column)
	x, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || x < low || x > high {
		in.fault(column, fmt.Sprintf("%.80q", text), fmt.Sprintf("a whole number in [%d, %d]", low, high))
		return 0, false
	}
	return x, true
}

// number reads a number that ok accepts; NaN must fail.
func (in *reader) number(column, want string, ok func(float64) bool) float64 {
	text := in.text(column)
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !ok(x) {
		in.fault(column, fmt.Sprintf("%.80q", text), want)
		return 0
	}
	return x
}
