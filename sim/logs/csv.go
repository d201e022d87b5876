package logs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// errNoKind is why prose is no log.
const errNoKind = errKind("no kind of file that is known: neither JSON nor a CSV file with a header line")

// readCSV hands the lines of a CSV file with a header line to s. A field that
// reads as a number or a truth value is one, an empty field is null.
func readCSV(r io.Reader, s sink) error {
	budget := &budgeted{Reader: r, left: maxRecord}
	in := csv.NewReader(budget)
	in.FieldsPerRecord = -1 // short lines are ours to report
	in.ReuseRecord = true
	header, err := in.Read()
	if _, odd := errors.AsType[*csv.ParseError](err); odd {
		return errNoKind
	}
	if err != nil {
		return err
	}
	header = append([]string(nil), header...)
	if len(header) < 2 {
		return errNoKind
	}
	fields := make(record, len(header))
	for i, h := range header {
		fields[i].key = strings.TrimSpace(h)
		fields[i].value = "null"
		if slices.ContainsFunc(fields[:i], func(f field) bool { return f.key == fields[i].key }) {
			return fmt.Errorf("two columns are called %q", fields[i].key)
		}
	}
	strange := recognise(fields, "") == nil
	var bad error // of the last line that was no record
	badPlace, place := 0, 0
	for {
		budget.left = maxRecord
		line, err := in.Read()
		if bad != nil {
			if err := s.torn(badPlace, ended(err), bad); err != nil {
				return err
			}
		}
		parse, odd := errors.AsType[*csv.ParseError](err)
		switch {
		case err == io.EOF && bad == nil && place > 0 && budget.last != '\n' && budget.last != '"':
			return s.torn(place, true, errUnended)
		case err == io.EOF:
			return nil
		case ended(err):
			return s.torn(place+1, true, err)
		case odd && atEnd(in):
			return s.torn(parse.StartLine, true, errTorn)
		case err != nil:
			return err
		}
		place, _ = in.FieldPos(0)
		if bad, badPlace = fit(len(line), len(header)), place; bad != nil {
			if strange {
				return errNoKind
			}
			continue
		}
		for i, text := range line {
			fields[i].value = csvValue(text)
		}
		if err := s.record(fields, place); err != nil {
			return err
		}
	}
}

// errUnended is why the last line of a CSV file may have lost the end of its last
// field: a 1 may have been a 10.
var errUnended = errors.New("has no end of line")

// atEnd reports whether a record that cannot be read is the last one, as where a
// quote was never closed.
func atEnd(in *csv.Reader) bool {
	_, err := in.Read()
	return err == io.EOF
}

// fit checks the number of fields of a line; too few may be those of one that
// was not written to its end.
func fit(fields, want int) error {
	switch {
	case fields < want:
		return fmt.Errorf("%d fields, want %d as in the header: it %w", fields, want, errTorn)
	case fields > want:
		return fmt.Errorf("%d fields, want %d as in the header", fields, want)
	}
	return nil
}

// csvValue returns what a field of a CSV file says.
func csvValue(text string) value {
	trimmed := strings.TrimSpace(text)
	switch trimmed {
	case "":
		return "null"
	case "True", "TRUE":
		return "true"
	case "False", "FALSE":
		return "false"
	}
	if literal(trimmed) {
		return value(trimmed)
	}
	return quote(text)
}

// budgeted fails once more than left bytes were read, so that a quote that
// nothing closes does not fill the memory. It knows the last byte of a file.
type budgeted struct {
	io.Reader
	left int
	last byte // that was read
}

func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.last = p[n-1]
	}
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("a record is longer than %d bytes", maxRecord)
	}
	return n, err
}
