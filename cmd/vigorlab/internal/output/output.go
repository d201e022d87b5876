// Package output turns result structs into JSON documents, tidy CSV and
// parquet rows, and text for a terminal. It refuses to compute: every number
// that it prints was finished elsewhere.
package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Schema is the version of the JSON documents: keys may be added under it,
// none renamed.
const Schema = 1

// The codings of figures.
const (
	Signed = "signed" // rewards in {-1, +1}, u = 4p(1-p)
	Binary = "binary" // rewards in {0, 1}, those of training runs
)

// A Header opens every JSON document.
type Header struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Command string `json:"command"`
	Coding  string `json:"coding"`
}

// Object returns the fields of the header, for a document to go on from.
func (h Header) Object() Object {
	return Object{{"schema", h.Schema}, {"version", h.Version}, {"command", h.Command}, {"coding", h.Coding}}
}

// A Figure is a number with its standard error. A number that does not exist
// is nil, and Reason says why. Untrusted says why a number may not be believed
// though it could be computed; Exact is then the one to use, where known.
type Figure struct {
	Mean      *float64  `json:"mean"`
	SE        *float64  `json:"se"`
	Reason    string    `json:"reason,omitempty"`
	Untrusted string    `json:"untrusted,omitempty"`
	Exact     *float64  `json:"exact,omitempty"`
	Prompts   *Interval `json:"prompts,omitempty"` // over other samples of prompts
}

// An Interval is a confidence interval of the given level.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`

	Missing int `json:"missing"` // samples that have no such figure and no part in the interval
}

// A Row is one figure of a tidy table.
type Row struct {
	Population string   `parquet:"population"`
	Strategy   string   `parquet:"strategy"`
	Figure     string   `parquet:"figure"`         // its path in the JSON document: eta.noisy
	At         string   `parquet:"at"`             // round=1, size=8; empty for a single figure
	Value      *float64 `parquet:"value,optional"` // absent where the figure does not exist
	SE         *float64 `parquet:"se,optional"`    // absent where the figure is exact or has no error
	Low        *float64 `parquet:"low,optional"`   // interval over other samples of prompts
	High       *float64 `parquet:"high,optional"`
	Level      *float64 `parquet:"level,optional"`
	Exact      *float64 `parquet:"exact,optional"` // the figure to use where the value may not be trusted
	Replicates int64    `parquet:"replicates"`     // 0 for a figure without randomness
	Seed       uint64   `parquet:"seed"`
	Coding     string   `parquet:"coding"`
	Reason     string   `parquet:"reason"` // why there is no value, or why it may not be trusted
}

// Fill sets the columns of a figure.
func (r Row) Fill(f Figure) Row {
	r.Value, r.SE, r.Exact, r.Reason = f.Mean, f.SE, f.Exact, f.Reason
	if f.Untrusted != "" {
		r.Reason = f.Untrusted
	}
	if p := f.Prompts; p != nil {
		r.Low, r.High, r.Level = &p.Low, &p.High, &p.Level
	}
	return r
}

// An Object is a JSON object that keeps the order of its fields.
type Object []Field

// A Field is one key of an Object, plain ASCII.
type Field struct {
	Key   string
	Value any
}

// Add appends a field.
func (o *Object) Add(key string, value any) { *o = append(*o, Field{key, value}) }

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", f.Key)
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(f.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Finite returns a pointer to x, or nil where x is NaN or infinite.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// JSON returns the document, indented and with a final newline.
func JSON(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// CSV writes rows, a slice of structs, with the columns that their parquet
// tags name; an absent value is an empty field.
func CSV[T any](w io.Writer, rows []T) error {
	out := csv.NewWriter(w)
	kind := reflect.TypeFor[T]()
	record := make([]string, kind.NumField())
	for i := range record {
		record[i], _, _ = strings.Cut(kind.Field(i).Tag.Get("parquet"), ",")
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for _, row := range rows {
		v := reflect.ValueOf(row)
		for i := range record {
			record[i] = field(v.Field(i))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// field prints one CSV field; floats take the fewest digits that read back.
func field(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// Parquet writes rows, a slice of structs with parquet tags.
func Parquet[T any](w io.Writer, rows []T) error {
	out := parquet.NewGenericWriter[T](w)
	if _, err := out.Write(rows); err != nil {
		return err
	}
	return out.Close()
}
