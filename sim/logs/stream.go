package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxRecord bounds the bytes of one record, and with them the memory of a
// reader. The longest rollouts, with a log-probability a token, are megabytes.
const maxRecord = 1 << 26

// A sink takes the records of a file. An error ends the reading.
type sink interface {
	// record takes one record, valid only during the call; place is its line, or
	// its number where records spread over lines.
	record(r record, place int) error
	// torn takes a record that cannot be read, or of which errUnended says that
	// its last field may be cut short. last reports that nothing follows it.
	torn(place int, last bool, err error) error
}

// readJSON hands the JSON objects of r to s: one a line, or as elements of an
// array, or one after the other over any number of lines.
func readJSON(r io.Reader, s sink) error {
	in := bufio.NewReaderSize(r, 1<<16)
	first, err := in.Peek(2)
	if err != nil && err != io.EOF {
		return err
	}
	if len(first) > 0 && first[0] == '[' || string(first) == "{\n" || string(first) == "{\r" {
		return readDocuments(in, s)
	}
	return readLines(in, s)
}

// readLines reads a record a line.
func readLines(in *bufio.Reader, s sink) error {
	var line []byte
	var fields record
	var bad error // of the last line that was no record
	badLine := 0
	for place := 1; ; place++ {
		var err error
		line, err = readLine(in, line[:0])
		if err != nil && !ended(err) {
			return fmt.Errorf("line %d: %w", place, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if bad != nil {
				if err := s.torn(badLine, false, bad); err != nil {
					return err
				}
			}
			if fields, bad = fields.parse(string(text)); bad != nil {
				badLine = place
			} else if err := s.record(fields, place); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if bad == nil && err != io.EOF {
			bad, badLine = err, place // the compressed stream ends too early, between two lines
		}
		if bad != nil {
			return s.torn(badLine, true, bad)
		}
		return nil
	}
}

// ended reports the end of a stream, also the early end of a compressed one.
func ended(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }

// readLine appends a line of at most maxRecord bytes to line.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxRecord {
			return nil, fmt.Errorf("longer than %d bytes", maxRecord)
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// readDocuments reads objects that spread over lines, alone or in arrays.
func readDocuments(in *bufio.Reader, s sink) error {
	d := documents{in: in}
	var fields record
	for place := 1; ; place++ {
		text, err := d.next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return s.torn(place, true, errTorn)
		case errors.Is(err, errNoObject) && place == 1:
			return errKind("no log: " + err.Error())
		case err != nil:
			return fmt.Errorf("record %d: %w", place, err)
		}
		if fields, err = fields.parse(text); err != nil {
			if err := s.torn(place, false, err); err != nil {
				return err
			}
			continue
		}
		if err := s.record(fields, place); err != nil {
			return err
		}
	}
}

var errNoObject = errors.New("want an object")

// documents splits a stream into objects.
type documents struct {
	in    *bufio.Reader
	array bool // inside an array of objects
	buf   []byte
}

// next returns the text of the next object, io.EOF at the end and
// io.ErrUnexpectedEOF inside an object or array.
func (d *documents) next() (string, error) {
	for {
		c, err := d.in.ReadByte()
		switch {
		case ended(err) && d.array:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		}
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' && d.array:
		case c == '[' && !d.array:
			d.array = true
		case c == ']' && d.array:
			d.array = false
		case c == '{':
			return d.object()
		default:
			return "", fmt.Errorf("%q, %w", c, errNoObject)
		}
	}
}

// object reads the rest of an object whose brace is read.
func (d *documents) object() (string, error) {
	d.buf = append(d.buf[:0], '{')
	depth, quoted, escaped := 1, false, false
	for depth > 0 {
		c, err := d.in.ReadByte()
		if ended(err) {
			return "", io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		if d.buf = append(d.buf, c); len(d.buf) > maxRecord {
			return "", fmt.Errorf("longer than %d bytes", maxRecord)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return string(d.buf), nil
}
