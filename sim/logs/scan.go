package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is the JSON text of a value, without space around it; "" stands for
// none. Beside JSON's own literals it may be NaN, Infinity or -Infinity, which
// Python's json module writes.
type value string

// A field is a key of a record with its value.
type field struct {
	key   string
	value value
}

// A record is a JSON object, its fields in their order.
type record []field

// errTorn is the error of a text that ends too early.
var errTorn = errors.New("ends in the middle")

// parse splits a JSON object into its fields, into r's memory. Only the object
// itself is checked: of nested values just that brackets and quotes match, since
// most of a log is text that no reader asks for.
func (r record) parse(text string) (record, error) {
	r = r[:0]
	i := space(text, 0)
	if i == len(text) || text[i] == 0 { // a crash may leave NULs where the rest should be
		return r, errTorn
	}
	if text[i] != '{' {
		return r, fmt.Errorf("%.40q, want an object", text[i:])
	}
	i = space(text, i+1)
	if i < len(text) && text[i] == '}' {
		return r, rest(text, i+1)
	}
	for {
		key, next, err := pair(text, i)
		if err != nil {
			return r, err
		}
		end, err := skip(text, next)
		if err != nil {
			return r, err
		}
		r = append(r, field{key, value(text[next:end])})
		i = space(text, end)
		switch {
		case i == len(text):
			return r, errTorn
		case text[i] == '}':
			return r, rest(text, i+1)
		case text[i] != ',':
			return r, fmt.Errorf("%.40q after a value, want a comma or a brace", text[i:])
		}
		i = space(text, i+1)
	}
}

// rest checks that nothing follows.
func rest(text string, i int) error {
	if i = space(text, i); i < len(text) {
		return fmt.Errorf("%.40q after the end of the object", text[i:])
	}
	return nil
}

// pair reads a key and its colon at i and returns where the value starts.
func pair(text string, i int) (key string, next int, err error) {
	if i == len(text) {
		return "", 0, errTorn
	}
	if text[i] != '"' {
		return "", 0, fmt.Errorf("%.40q, want a key in quotes", text[i:])
	}
	end, err := skip(text, i)
	if err != nil {
		return "", 0, err
	}
	key, ok := value(text[i:end]).text()
	if !ok {
		return "", 0, fmt.Errorf("%.40q is no key", text[i:end])
	}
	next = space(text, end)
	if next == len(text) {
		return "", 0, errTorn
	}
	if text[next] != ':' {
		return "", 0, fmt.Errorf("%.40q after a key, want a colon", text[next:])
	}
	return key, space(text, next+1), nil
}

// space returns the first place from i on that is no space.
func space(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i.
func skip(text string, i int) (int, error) {
	if i >= len(text) {
		return 0, errTorn
	}
	switch c := text[i]; c {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	default:
		end := i
		for end < len(text) && !delimits(text[end]) {
			end++
		}
		if end == i {
			return 0, fmt.Errorf("%.40q, want a value", text[i:])
		}
		if end == len(text) {
			return 0, errTorn // nothing that a record holds ends its text
		}
		if !literal(text[i:end]) {
			return 0, fmt.Errorf("%.40q is no value", text[i:end])
		}
		return end, nil
	}
}

// delimits reports whether a byte ends a number or a word.
func delimits(c byte) bool {
	switch c {
	case ' ', '\n', '\r', '\t', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}

// literal reports whether text is a number or one of the known words.
func literal(text string) bool {
	switch text {
	case "true", "false", "null", "NaN", "Infinity", "-Infinity":
		return true
	}
	if text[0] == '+' || text[0] == '.' {
		return false
	}
	for i := range len(text) {
		// ParseFloat reads more than JSON has: 0x1p-2, 1_000.
		if c := text[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// skipString returns the end of the string whose first quote is at i.
func skipString(text string, i int) (int, error) {
	for j := i + 1; ; {
		k := strings.IndexByte(text[j:], '"')
		if k < 0 {
			return 0, errTorn
		}
		j += k
		slashes := j
		for text[slashes-1] == '\\' {
			slashes--
		}
		j++
		if (j-1-slashes)%2 == 0 {
			return j, nil
		}
	}
}

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// skipNested returns the end of the array or object that starts at i.
func skipNested(text string, i int) (int, error) {
	var open []byte
	for i < len(text) {
		switch c := text[i]; c {
		case '"':
			end, err := skipString(text, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case '{', '[':
			if open = append(open, c+2); len(open) > maxDepth { // '{'+2 == '}', '['+2 == ']'
				return 0, fmt.Errorf("nested deeper than %d", maxDepth)
			}
		case '}', ']':
			if open[len(open)-1] != c {
				return 0, fmt.Errorf("%q closes %q", c, open[len(open)-1]-2)
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errTorn
}

// get returns the value at a path of keys, "info.prime_rl.env_name"; none where
// there is none. A key that itself has dots is found, too.
func (r record) get(path string) value {
	if v := r.key(path); v != "" {
		return v
	}
	head, tail, nested := strings.Cut(path, ".")
	if !nested {
		return ""
	}
	inner, err := record(nil).parse(string(r.key(head)))
	if err != nil {
		return ""
	}
	return inner.get(tail)
}

// key returns the value of a key, the last one as JSON readers do.
func (r record) key(key string) value {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i].key == key {
			return r[i].value
		}
	}
	return ""
}

func (r record) has(keys ...string) bool {
	for _, k := range keys {
		if r.key(k) == "" {
			return false
		}
	}
	return true
}

// keys returns the keys, for messages.
func (r record) keys() string {
	keys := make([]string, len(r))
	for i, f := range r {
		keys[i] = f.key
	}
	return strings.Join(keys, ", ")
}

// is reports whether v is an array ('['), an object ('{') or a string ('"').
func (v value) is(first byte) bool { return v != "" && v[0] == first }

// null reports whether v is absent or null.
func (v value) null() bool { return v == "" || v == "null" }

// text returns the text of a string.
func (v value) text() (string, bool) {
	if !v.is('"') {
		return "", false
	}
	if strings.IndexByte(string(v), '\\') < 0 {
		return string(v[1 : len(v)-1]), true
	}
	var s string
	err := json.Unmarshal([]byte(v), &s)
	return s, err == nil
}

// name returns what v names: the text of a string, the digits of a number.
func (v value) name() (string, bool) {
	if s, ok := v.text(); ok {
		if !utf8.ValidString(s) { // tables could not tell it from other such names
			s = strings.Trim(strconv.Quote(s), `"`)
		}
		return s, s != ""
	}
	return string(v), !v.null() && !v.is('[') && !v.is('{')
}

// elements returns the elements of an array.
func (v value) elements() ([]value, error) {
	if !v.is('[') {
		return nil, fmt.Errorf("%.40q, want a list", v)
	}
	var list []value
	text := string(v)
	i := space(text, 1)
	if text[i] == ']' {
		return nil, nil
	}
	for {
		end, err := skip(text, i)
		if err != nil {
			return nil, err
		}
		list = append(list, value(text[i:end]))
		i = space(text, end)
		switch {
		case i < len(text) && text[i] == ']':
			return list, nil
		case i == len(text) || text[i] != ',':
			return nil, fmt.Errorf("%.40q after an element, want a comma", text[i:])
		}
		i = space(text, i+1)
	}
}

// count returns the number of elements of an array.
func (v value) count() int {
	list, _ := v.elements()
	return len(list)
}

// A reading is what a value says as a number.
type reading int

const (
	isNumber  reading = iota // a number, or a truth value as 1 or 0
	isText                   // the same, written as text
	isMissing                // absent, null, NaN or infinite: no reward was given
	isOther                  // anything else
)

// maxNumber bounds the size of a number: its square, in variances, is finite.
const maxNumber = 1e100

// number reads v as a number: missing rewards are NaN, never 0.
func (v value) number() (float64, reading) {
	switch {
	case v.null():
		return math.NaN(), isMissing
	case v.is('"'):
		s, _ := v.text()
		return textNumber(s)
	case v.is('['), v.is('{'):
		return math.NaN(), isOther
	case v == "true":
		return 1, isNumber
	case v == "false":
		return 0, isNumber
	}
	x, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil || math.IsInf(x, 0) || math.IsNaN(x):
		return math.NaN(), isMissing
	case math.Abs(x) > maxNumber:
		return math.NaN(), isOther
	}
	return x, isNumber
}

// textNumber reads a number that was written as text, as `default=str` does.
func textNumber(s string) (float64, reading) {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "true":
		return 1, isText
	case "false":
		return 0, isText
	case "", "none", "null", "nan":
		return math.NaN(), isMissing
	}
	x, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || strings.ContainsAny(s, "_xX"): // ParseFloat reads 1_0, too
		return math.NaN(), isOther
	case math.IsInf(x, 0) || math.IsNaN(x):
		return math.NaN(), isMissing
	case math.Abs(x) > maxNumber:
		return math.NaN(), isOther
	}
	return x, isText
}

// quote returns the JSON text of a string, with nothing escaped that need not be.
func quote(s string) value {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return "null" // cannot be: a string always has a JSON text
	}
	return value(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
