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
	badPlace := 0
	for {
		budget.left = maxRecord
		line, err := in.Read()
		if bad != nil {
			if err := s.torn(badPlace, ended(err), bad); err != nil {
				return err
			}
		}
		if ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
		place, _ := in.FieldPos(0)
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
// nothing closes does not fill the memory.
type budgeted struct {
	io.Reader
	left int
}

func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("a record is longer than %d bytes", maxRecord)
	}
	return n, err
}
