package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"vigorlab/distributions/table"
)

// readParquet hands the rows of a Parquet file to s.
func readParquet(r io.ReaderAt, size int64, s sink) (err error) {
	defer table.Malformed(&err)
	file, err := table.OpenParquet(r, size)
	if err != nil {
		return err
	}
	rows := parquet.NewGenericReader[any](file)
	defer rows.Close() // only read
	var fields record
	for place := 1; ; place++ {
		var one [1]any
		n, err := rows.Read(one[:])
		if n == 0 && err == io.EOF {
			return nil
		}
		row, ok := one[0].(map[string]any)
		if n == 0 || !ok {
			return fmt.Errorf("row %d cannot be read: %v", place, err)
		}
		fields = fields[:0]
		for _, column := range file.Schema().Columns() {
			if len(fields) > 0 && fields[len(fields)-1].key == column[0] {
				continue // a further part of a nested column
			}
			v, err := jsonText(row[column[0]])
			if err != nil {
				return fmt.Errorf("row %d, column %s: %w", place, column[0], err)
			}
			fields = append(fields, field{column[0], v})
		}
		if err := s.record(fields, place); err != nil {
			return err
		}
	}
}

// jsonText returns the JSON text of what a container holds; NaN stays NaN.
func jsonText(x any) (value, error) {
	switch x := x.(type) {
	case nil:
		return "null", nil
	case string:
		return quote(x), nil
	case []byte:
		return quote(string(x)), nil
	case float32:
		return number(float64(x)), nil
	case float64:
		return number(x), nil
	case int32:
		return value(strconv.Itoa(int(x))), nil
	case int64:
		return value(strconv.FormatInt(x, 10)), nil
	case bool:
		return value(strconv.FormatBool(x)), nil
	case []any:
		return jsonList(x)
	case map[string]any:
		return jsonMap(x)
	}
	b, err := json.Marshal(x)
	return value(b), err
}

func jsonList(list []any) (value, error) {
	text := []byte{'['}
	for i, x := range list {
		v, err := jsonText(x)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, v...)
	}
	return value(append(text, ']')), nil
}

func jsonMap(m map[string]any) (value, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	text := []byte{'{'}
	for i, k := range keys {
		v, err := jsonText(m[k])
		if err != nil {
			return "", err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quote(k)...), ':'), v...)
	}
	return value(append(text, '}')), nil
}

// number returns the JSON text of a number, Python's for those that have none.
func number(x float64) value {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return value(strconv.FormatFloat(x, 'g', -1, 64))
}
