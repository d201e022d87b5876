package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// A row has a cell for every column, as CSV prints it; "" is what a number or a truth
// does not have.
type row = []string

// schemaOf returns the Parquet schema of a table, its columns in order.
func schemaOf(columns []Column) *parquet.Schema {
	types := map[Kind]reflect.Type{
		Whole: reflect.TypeFor[*int64](), Natural: reflect.TypeFor[*uint64](), Real: reflect.TypeFor[*float64](),
		Truth: reflect.TypeFor[*bool](), Text: reflect.TypeFor[string](),
	}
	var fields []reflect.StructField
	for i, c := range columns {
		options := ",optional"
		if c.Kind == Text {
			options = ""
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("C%d", i), Type: types[c.Kind],
			Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s"`, c.Name, options)),
		})
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// cellValue returns a cell as Parquet holds it.
func cellValue(c Column, cell string) (parquet.Value, error) {
	if c.Kind == Text {
		return parquet.ByteArrayValue([]byte(cell)), nil
	}
	if cell == "" {
		return parquet.NullValue(), nil
	}
	var v parquet.Value
	var err error
	switch c.Kind {
	case Whole:
		var x int64
		x, err = strconv.ParseInt(cell, 10, 64)
		v = parquet.Int64Value(x)
	case Natural:
		var x uint64
		x, err = strconv.ParseUint(cell, 10, 64)
		v = parquet.Int64Value(int64(x))
	case Truth:
		var x bool
		x, err = strconv.ParseBool(cell)
		v = parquet.BooleanValue(x)
	default:
		var x float64
		x, err = strconv.ParseFloat(cell, 64)
		v = parquet.DoubleValue(x)
	}
	if err != nil {
		return v, fmt.Errorf("column %s holds %q, want a %s number", c.Name, cell, c.Kind)
	}
	return v, nil
}

// cellText is the inverse of cellValue.
func cellText(c Column, v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case c.Kind == Whole:
		return strconv.FormatInt(v.Int64(), 10)
	case c.Kind == Natural:
		return strconv.FormatUint(v.Uint64(), 10)
	case c.Kind == Truth:
		return strconv.FormatBool(v.Boolean())
	case c.Kind == Text:
		return string(v.ByteArray())
	}
	return strconv.FormatFloat(v.Double(), 'g', -1, 64)
}

// writeParquet writes the rows that each yields.
func writeParquet(w io.Writer, columns []Column, each func(func(row) error) error) error {
	out := parquet.NewWriter(w, schemaOf(columns))
	err := each(func(r row) error {
		line := make(parquet.Row, len(columns))
		for i, c := range columns {
			v, err := cellValue(c, r[i])
			if err != nil {
				return err
			}
			defined := 0
			if c.Kind != Text && !v.IsNull() {
				defined = 1
			}
			line[i] = v.Level(0, defined, i)
		}
		_, err := out.WriteRows([]parquet.Row{line})
		return err
	})
	return errors.Join(err, out.Close())
}

// readParquet returns the rows of a table that writeParquet wrote.
func readParquet(content []byte, columns []Column) ([]row, error) {
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	if want := schemaOf(columns); f.Schema().String() != want.String() {
		return nil, fmt.Errorf("holds other columns")
	}
	var rows []row
	for _, group := range f.RowGroups() {
		more, err := groupRows(group, columns)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func groupRows(group parquet.RowGroup, columns []Column) (rows []row, err error) {
	in := group.Rows()
	defer func() { err = errors.Join(err, in.Close()) }()
	buffer := make([]parquet.Row, 256) // rows read at once
	for {
		n, err := in.ReadRows(buffer)
		for _, line := range buffer[:n] {
			r := make(row, len(columns))
			for i, c := range columns {
				r[i] = cellText(c, line[i])
			}
			rows = append(rows, r)
		}
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// writeCSV writes the rows that each yields under the names of the columns.
func writeCSV(w io.Writer, columns []Column, each func(func(row) error) error) error {
	out := csv.NewWriter(w)
	if err := out.Write(namesOf(columns)); err != nil {
		return err
	}
	if err := each(func(r row) error { return out.Write(r) }); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func namesOf(columns []Column) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// writeJSON writes the rows that each yields as a list of objects.
func writeJSON(w io.Writer, columns []Column, each func(func(row) error) error) error {
	lead := "[\n"
	if err := each(func(r row) error {
		line := lead + "    {"
		for i, c := range columns {
			if i > 0 {
				line += ", "
			}
			value, err := jsonCell(c, r[i])
			if err != nil {
				return err
			}
			line += strconv.Quote(c.Name) + ": " + value
		}
		lead = ",\n"
		_, err := io.WriteString(w, line+"}")
		return err
	}); err != nil {
		return err
	}
	end := "\n  ]"
	if lead == "[\n" {
		end = "[]"
	}
	_, err := io.WriteString(w, end)
	return err
}

// jsonCell returns a cell as JSON: null where there is nothing.
func jsonCell(c Column, cell string) (string, error) {
	if c.Kind != Text {
		if cell == "" {
			return "null", nil
		}
		return cell, nil // printed as JSON reads it: '1e-09', not '1e-9.'
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(cell); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}
