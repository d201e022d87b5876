package logs

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// readCSV hands the lines of a CSV file with a header line to s. A field that
// reads as a number or a truth value is one, an empty field is null.
func readCSV(r io.Reader, s sink) error {
	budget := &budgeted{Reader: r, left: maxRecord}
	in := csv.NewReader(budget)
	in.FieldsPerRecord = -1 // short lines are ours to report
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return err
	}
	header = append([]string(nil), header...)
	if len(header) < 2 {
		return errKind("no kind of file that is known: neither JSON nor a CSV file with a header line")
	}
	fields := make(record, len(header))
	for i, h := range header {
		fields[i].key = strings.TrimSpace(h)
	}
	for {
		budget.left = maxRecord
		line, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		place, _ := in.FieldPos(0)
		if len(line) != len(header) {
			if err := s.torn(place, false, fmt.Errorf("%d fields, want %d as in the header", len(line), len(header))); err != nil {
				return err
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
