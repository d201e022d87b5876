package figures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"vigorlab/plots"
)

// The JSON document has a key a field, named after it in lower case with underscores.
// Numbers read back exactly; one that does not exist, NaN here, is null, and an infinite
// one is "inf" or "-inf". Every key is there, and no other.

// A document is the JSON document of a figure, but for its data.
type document struct {
	Schema  int
	Version string
	Command string
	Coding  string
	Kind    string
	Width   float64 // inches
	Caption Caption
}

// dataKey is the last key of the document.
const dataKey = "data"

// encode returns the JSON document.
func (f *Figure) encode() []byte {
	var e encoder
	e.open('{')
	e.fields(reflect.ValueOf(document{Schema, f.Version, f.Command, f.Coding, f.Data.Kind(), float64(f.Width), f.Caption}))
	e.key(dataKey)
	e.value(reflect.ValueOf(f.Data).Elem())
	e.close('}')
	e.b.WriteByte('\n')
	return e.b.Bytes()
}

// An encoder writes JSON: values of fixed size on one line, others on lines of their
// own.
type encoder struct {
	b     bytes.Buffer
	depth int
	flat  int  // how many values of fixed size it is in
	first bool // nothing stands in the innermost brackets yet
}

func (e *encoder) open(bracket byte) {
	e.b.WriteByte(bracket)
	e.depth++
	e.first = true
}

func (e *encoder) close(bracket byte) {
	e.depth--
	if !e.first && e.flat == 0 {
		e.line()
	}
	e.b.WriteByte(bracket)
	e.first = false
}

func (e *encoder) line() {
	e.b.WriteByte('\n')
	e.b.WriteString(strings.Repeat("  ", e.depth))
}

// next begins another element of the innermost brackets.
func (e *encoder) next() {
	if !e.first {
		e.b.WriteByte(',')
	}
	switch {
	case e.flat == 0:
		e.line()
	case !e.first:
		e.b.WriteByte(' ')
	}
	e.first = false
}

func (e *encoder) key(name string) {
	e.next()
	e.text(name)
	e.b.WriteString(": ")
}

func (e *encoder) text(s string) {
	out := json.NewEncoder(&e.b)
	out.SetEscapeHTML(false)
	_ = out.Encode(s)           // a string can be encoded
	e.b.Truncate(e.b.Len() - 1) // its line break
}

func (e *encoder) fields(v reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			e.fields(v.Field(i))
			continue
		}
		e.key(keyOf(v.Type().Field(i).Name))
		e.value(v.Field(i))
	}
}

func (e *encoder) value(v reflect.Value) {
	if fixed(v.Type()) {
		e.flat++
		defer func() { e.flat-- }()
	}
	switch v.Kind() {
	case reflect.Struct:
		e.open('{')
		e.fields(v)
		e.close('}')
	case reflect.Slice, reflect.Array:
		e.open('[')
		for i := range v.Len() {
			e.next()
			e.value(v.Index(i))
		}
		e.close(']')
	case reflect.Map:
		e.open('{')
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]int))) {
			e.key(name)
			e.value(v.MapIndex(reflect.ValueOf(name)))
		}
		e.close('}')
	case reflect.String:
		e.text(v.String())
	case reflect.Float64:
		e.b.WriteString(number(v.Float()))
	default:
		fmt.Fprint(&e.b, v.Interface())
	}
}

// number writes a number with the fewest digits that read back.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "null"
	case math.IsInf(x, 1):
		return `"inf"`
	case math.IsInf(x, -1):
		return `"-inf"`
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// fixed reports whether values of a type have one size.
func fixed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return fixed(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !fixed(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// keyOf returns the key of a field: MonteCarlo is monte_carlo, LogX log_x.
func keyOf(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// A SchemaError reports data of another version of vigorlab.
type SchemaError struct{ Schema, Version string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema = %s, of version %s, want %d", e.Schema, e.Version, Schema)
}

// Decode reads the JSON document of the figure of a name. An error names the key, with
// dots into nested objects and brackets into lists.
func Decode(name string, content []byte) (*Figure, error) {
	top, err := parse(content)
	if err != nil {
		return nil, err
	}
	if got := shown(top["schema"]); got != strconv.Itoa(Schema) {
		return nil, &SchemaError{got, shown(top["version"])}
	}
	data, ok := top[dataKey]
	if !ok {
		return nil, errors.New("data is missing")
	}
	delete(top, dataKey)
	var d document
	if err := fill(reflect.ValueOf(&d).Elem(), "", top); err != nil {
		return nil, err
	}
	f := &Figure{Name: name, Version: d.Version, Command: d.Command, Coding: d.Coding, Width: plots.Width(d.Width), Caption: d.Caption}
	if f.Data, err = plots.NewData(d.Kind); err != nil {
		return nil, fmt.Errorf("kind = %q, want one of %s", d.Kind, strings.Join(plots.Kinds(), ", "))
	}
	return f, fill(reflect.ValueOf(f.Data).Elem(), dataKey, data)
}

// parse reads one JSON object.
func parse(content []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("is cut off after %d bytes", len(content))
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(content[:min(syntax.Offset, int64(len(content)))], []byte("\n"))
		return nil, fmt.Errorf("line %d: %w", line, err)
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows behind the JSON object")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("is %s, want an object", shown(value))
	}
	return object, nil
}

// fill sets v from a JSON value at a path.
func fill(v reflect.Value, path string, value any) error {
	switch v.Kind() {
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return unfit(path, value, "an object")
		}
		return fillStruct(v, path, object)
	case reflect.Slice, reflect.Array:
		list, ok := value.([]any)
		if !ok {
			return unfit(path, value, "a list")
		}
		return fillList(v, path, list)
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			return unfit(path, value, "an object")
		}
		return fillMap(v, path, object)
	}
	return fillScalar(v, path, value)
}

func fillStruct(v reflect.Value, path string, object map[string]any) error {
	fields := map[string]reflect.Value{}
	gather(v, fields)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if _, ok := fields[key]; !ok {
			return fmt.Errorf("%s is unknown, want %s", inside(path, key), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value, ok := object[key]
		if !ok {
			return fmt.Errorf("%s is missing", inside(path, key))
		}
		if err := fill(fields[key], inside(path, key), value); err != nil {
			return err
		}
	}
	return nil
}

// gather lists the fields of a struct by key, those of embedded ones among them.
func gather(v reflect.Value, fields map[string]reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			gather(v.Field(i), fields)
			continue
		}
		fields[keyOf(v.Type().Field(i).Name)] = v.Field(i)
	}
}

func inside(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// fillList fills a slice, or an array of just as many elements. An empty slice is nil.
func fillList(v reflect.Value, path string, list []any) error {
	if v.Kind() == reflect.Array && len(list) != v.Len() {
		return fmt.Errorf("%s has %d elements, want %d", path, len(list), v.Len())
	}
	if v.Kind() == reflect.Slice && len(list) > 0 {
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	}
	for i, value := range list {
		if err := fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i), value); err != nil {
			return err
		}
	}
	return nil
}

// fillMap fills a map of whole numbers. An empty one is nil.
func fillMap(v reflect.Value, path string, object map[string]any) error {
	if len(object) > 0 {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := fill(element, inside(path, key), object[key]); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key), element)
	}
	return nil
}

func fillScalar(v reflect.Value, path string, value any) error {
	n, _ := value.(json.Number)
	switch v.Kind() {
	case reflect.Float64:
		x, err := parseNumber(value)
		if err != nil {
			return unfit(path, value, "a number, or null for none")
		}
		v.SetFloat(x)
	case reflect.Int:
		x, err := strconv.Atoi(n.String())
		if err != nil {
			return unfit(path, value, "a whole number")
		}
		v.SetInt(int64(x))
	case reflect.Uint64:
		x, err := strconv.ParseUint(n.String(), 10, 64)
		if err != nil {
			return unfit(path, value, fmt.Sprintf("a whole number in [0, %d]", uint64(math.MaxUint64)))
		}
		v.SetUint(x)
	case reflect.Bool:
		x, ok := value.(bool)
		if !ok {
			return unfit(path, value, "true or false")
		}
		v.SetBool(x)
	case reflect.String:
		x, ok := value.(string)
		if !ok {
			return unfit(path, value, "a text")
		}
		v.SetString(x)
	default:
		panic(fmt.Sprintf("figures: %s is of type %v", path, v.Type())) // a test knows all fields
	}
	return nil
}

// parseNumber reads what number writes.
func parseNumber(value any) (float64, error) {
	switch value {
	case nil:
		return math.NaN(), nil
	case "inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	}
	n, ok := value.(json.Number)
	if !ok {
		return 0, errors.New("no number")
	}
	return strconv.ParseFloat(n.String(), 64)
}

func unfit(path string, value any, want string) error {
	return fmt.Errorf("%s = %s, want %s", path, shown(value), want)
}

// shown returns a JSON value in few words.
func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%.60q", value)
	}
	return fmt.Sprint(value)
}
