package prompts

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"vigorlab/distributions/table"
)

// Limits of what a file of prompts may hold.
const (
	maxLine    = 1 << 24 // bytes of a record
	maxParquet = 1 << 30 // bytes of a Parquet file, which is read as a whole
)

// A reader says how files with an extension are read.
type reader struct {
	extension string
	read      func(r io.Reader, take func(int, map[string]any)) error
}

var readers = []reader{
	{".jsonl", eachLine}, {".csv", eachRow}, {".parquet", eachParquet},
}

// Extensions returns the extensions of the files that are read.
func Extensions() []string {
	var all []string
	for _, r := range readers {
		all = append(all, r.extension)
	}
	return all
}

// eachRecord hands every record of a file to take, with its number from 1.
func eachRecord(r io.Reader, name string, take func(int, map[string]any)) error {
	extension := strings.ToLower(filepath.Ext(name))
	i := slices.IndexFunc(readers, func(k reader) bool { return k.extension == extension })
	if i < 0 {
		return fmt.Errorf("want a file that ends in %s", strings.Join(Extensions(), ", "))
	}
	return readers[i].read(r, take)
}

// withoutMark drops a UTF-8 byte order mark.
func withoutMark(in *bufio.Reader) *bufio.Reader {
	mark := []byte("\ufeff")
	if start, _ := in.Peek(len(mark)); bytes.Equal(start, mark) {
		in.Discard(len(mark)) // cannot fail: they were peeked
	}
	return in
}

// eachLine reads an object a line.
func eachLine(r io.Reader, take func(int, map[string]any)) error {
	lines := bufio.NewScanner(withoutMark(bufio.NewReader(r)))
	lines.Buffer(nil, maxLine)
	place, n := 0, 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		record, err := object(line)
		if err != nil {
			return cmp.Or(lines.Err(), fmt.Errorf("line %d: %w", n, err)) // what stopped the reader cut its line
		}
		place++
		take(place, record)
	}
	if lines.Err() == bufio.ErrTooLong {
		return fmt.Errorf("line %d: %d bytes or more, want a shorter record", n, maxLine)
	}
	return lines.Err()
}

// object reads the one object of a line.
func object(line []byte) (map[string]any, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not valid UTF-8, want a file in UTF-8") // the decoder would change it silently
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber() // an answer stays as it is written
	var record map[string]any
	if err := in.Decode(&record); err != nil {
		return nil, err
	}
	if _, err := in.Token(); err != io.EOF || record == nil {
		return nil, fmt.Errorf("%.40q, want one object", line)
	}
	return record, nil
}

// eachRow reads a CSV file with a header line.
func eachRow(r io.Reader, take func(int, map[string]any)) error {
	in := csv.NewReader(withoutMark(bufio.NewReader(r)))
	in.ReuseRecord = true
	header, err := in.Read()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	keys := make([]string, len(header))
	for i, h := range header {
		if keys[i] = strings.TrimSpace(h); slices.Contains(keys[:i], keys[i]) {
			return fmt.Errorf("line 1: column %.40q is there twice, want it once", keys[i])
		}
	}
	for place := 1; ; place++ {
		row, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		record := make(map[string]any, len(keys))
		for i, text := range row {
			record[keys[i]] = text
		}
		take(place, record)
	}
}

// eachParquet reads a Parquet file.
func eachParquet(r io.Reader, take func(int, map[string]any)) (err error) {
	defer table.Malformed(&err)
	content, err := io.ReadAll(io.LimitReader(r, maxParquet+1))
	if err != nil {
		return err
	}
	if len(content) > maxParquet {
		return fmt.Errorf("longer than %d bytes", maxParquet)
	}
	file, err := table.OpenParquet(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	rows := parquet.NewGenericReader[any](file)
	defer rows.Close() // only read
	for place := 1; ; place++ {
		var one [1]any
		n, err := rows.Read(one[:])
		if n == 0 && err == io.EOF {
			return nil
		}
		record, ok := one[0].(map[string]any)
		if n == 0 || !ok {
			return fmt.Errorf("a malformed Parquet file: record %d cannot be read: %v", place, err)
		}
		take(place, record)
	}
}
