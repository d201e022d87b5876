package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Value is what a flag or an axis is set to.
type Value struct {
	kind  Kind
	texts []string // as typed on a command line; one unless list is set
	list  bool     // for a flag that is given once for each text
}

// String returns the value in one cell of a table: the parts of a list with spaces
// between.
func (v Value) String() string { return strings.Join(v.texts, " ") }

// MarshalJSON returns the value as JSON.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.list:
		return json.Marshal(v.texts)
	case v.kind == Text:
		return json.Marshal(v.texts[0])
	}
	return []byte(v.texts[0]), nil
}

// real returns a number as a Value.
func realValue(x float64) Value {
	return Value{kind: Real, texts: []string{strconv.FormatFloat(x, 'g', -1, 64)}}
}

func wholeValue(x int64) Value {
	return Value{kind: Whole, texts: []string{strconv.FormatInt(x, 10)}}
}

// valueOf returns what TOML holds as a Value; a list of scalars is one too.
func valueOf(x any) (Value, error) {
	if list, ok := x.([]any); ok {
		return listOf(list)
	}
	return scalarOf(x)
}

func listOf(list []any) (Value, error) {
	v := Value{kind: Text, list: true}
	if len(list) == 0 {
		return v, fmt.Errorf("is empty, want at least one value")
	}
	for _, x := range list {
		s, err := scalarOf(x)
		if err != nil {
			return v, err
		}
		v.texts = append(v.texts, s.texts[0])
	}
	return v, nil
}

func scalarOf(x any) (Value, error) {
	switch x := x.(type) {
	case string:
		if strings.TrimSpace(x) == "" {
			return Value{}, fmt.Errorf("= %q, want a text that is not empty", x)
		}
		if strings.Contains(x, "\x00") {
			return Value{}, fmt.Errorf("= %q, want a text without the character 0, which no command line can have", x)
		}
		return Value{kind: Text, texts: []string{x}}, nil
	case int64:
		return wholeValue(x), nil
	case bool:
		return Value{kind: Truth, texts: []string{strconv.FormatBool(x)}}, nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Value{}, fmt.Errorf("= %v, want a finite number", x)
		}
		return realValue(x), nil
	}
	return Value{}, fmt.Errorf("is %s, want a number, a text or true or false", typeName(x))
}

// typeName says what TOML holds.
func typeName(x any) string {
	switch x.(type) {
	case string:
		return "a text"
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return fmt.Sprintf("a %T", x)
}

// kindOf returns the kind of a column that holds all the values: numbers of both kinds
// are real, and what does not go together is text.
func kindOf(values []Value) Kind {
	kind := Kind("")
	for _, v := range values {
		switch {
		case kind == "" || kind == v.kind:
			kind = v.kind
		case kind == Whole && v.kind == Real, kind == Real && v.kind == Whole:
			kind = Real
		default:
			return Text
		}
	}
	return kind
}
