package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vigorlab/sim/stream"
)

// maxPoints bounds a sweep by what its files can hold.
const maxPoints = 200_000

// rangeOf returns the values of {from, to, step} or {from, to, count, log}, all of them
// different. Numbers are rounded to 12 digits: 0.1 + 0.2 is 0.3. Whole ones are
// smaller than 2^53, where rounding begins to take one for another.
func rangeOf(table map[string]any) ([]Value, error) {
	if err := keysOf(table, "from", "to", "step", "count", "log"); err != nil {
		return nil, err
	}
	from, errFrom := numberAt(table, "from")
	to, errTo := numberAt(table, "to")
	log, errLog := truthAt(table, "log")
	for _, err := range []error{errFrom, errTo, errLog} {
		if err != nil {
			return nil, err
		}
	}
	_, steps := table["step"]
	_, counts := table["count"]
	switch {
	case steps == counts:
		return nil, fmt.Errorf("has step and count, or neither, want one of them: {from = 1, to = 4, step = 1} or {from = 1, to = 100, count = 3, log = true}")
	case log && !(from > 0 && to > 0):
		return nil, fmt.Errorf("has from = %v and to = %v, want both above 0 for log = true", from, to)
	case steps && log:
		return nil, fmt.Errorf("has step and log = true, want count with log")
	case !finite(to - from), log && !finite(to/from):
		return nil, fmt.Errorf("goes from %v to %v, which is too far", from, to)
	}
	var values []Value
	var err error
	if steps {
		values, err = stepped(table, from, to)
	} else {
		values, err = counted(table, from, to, log)
	}
	if err != nil {
		return nil, err
	}
	return values, different(values)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func stepped(table map[string]any, from, to float64) ([]Value, error) {
	step, err := numberAt(table, "step")
	if err != nil {
		return nil, err
	}
	n := math.Floor((to-from)/step*(1+1e-12)) + 1 // to is one of them where rounding alone says not
	if !(n >= 1 && n <= maxPoints) {
		return nil, fmt.Errorf("goes from %v to %v by step = %v, want a step that leads there in at most %d", from, to, step, maxPoints)
	}
	_, wholeFrom := table["from"].(int64)
	_, wholeStep := table["step"].(int64)
	whole := wholeFrom && wholeStep
	if whole && !(math.Abs(from) < 1<<53 && math.Abs(to) < 1<<53) {
		return nil, fmt.Errorf("goes from %v to %v, want whole numbers between -2^53 and 2^53; a list can have others", table["from"], table["to"])
	}
	var values []Value
	for i := range int(n) {
		x := from + float64(i)*step
		if whole {
			values = append(values, wholeValue(int64(x)))
			continue
		}
		values = append(values, realValue(rounded(x)))
	}
	return values, nil
}

func counted(table map[string]any, from, to float64, log bool) ([]Value, error) {
	n, ok := table["count"].(int64)
	if !ok || n < 2 || n > maxPoints {
		return nil, fmt.Errorf("has count = %v, want a whole number in [2, %d]", table["count"], maxPoints)
	}
	var values []Value
	for i := range n {
		share := float64(i) / float64(n-1)
		x := from + share*(to-from)
		if log {
			x = from * math.Pow(to/from, share)
		}
		values = append(values, realValue(rounded(x)))
	}
	return values, nil
}

// rounded returns x to 12 significant digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// A draw is how an axis of a random search gets its values.
type draw struct {
	list       []Value // one of these, or:
	min, max   float64 // a number between
	log, whole bool
}

// drawOf returns the draw of a list, or of {min, max, log, whole}.
func drawOf(x any) (draw, error) {
	if list, ok := x.([]any); ok {
		values, err := valuesOf(list)
		return draw{list: values}, err
	}
	table, ok := x.(map[string]any)
	if !ok {
		return draw{}, fmt.Errorf("is %s, want a list or {min, max, log, whole}", typeName(x))
	}
	var d draw
	if err := keysOf(table, "min", "max", "log", "whole"); err != nil {
		return d, err
	}
	for _, field := range []struct {
		name string
		to   *float64
	}{{"min", &d.min}, {"max", &d.max}} {
		var err error
		if *field.to, err = numberAt(table, field.name); err != nil {
			return d, err
		}
	}
	for _, field := range []struct {
		name string
		to   *bool
	}{{"log", &d.log}, {"whole", &d.whole}} {
		var err error
		if *field.to, err = truthAt(table, field.name); err != nil {
			return d, err
		}
	}
	switch {
	case !(d.min < d.max):
		return d, fmt.Errorf("has min = %v and max = %v, want min < max", d.min, d.max)
	case !finite(d.max - d.min), d.log && d.min > 0 && !finite(d.max/d.min):
		return d, fmt.Errorf("has min = %v and max = %v, which are too far apart", d.min, d.max)
	case d.log && !(d.min > 0):
		return d, fmt.Errorf("has min = %v, want it above 0 for log = true", d.min)
	case d.whole && (d.min != math.Trunc(d.min) || d.max != math.Trunc(d.max) || math.Abs(d.min) > 1<<53 || math.Abs(d.max) > 1<<53):
		return d, fmt.Errorf("has min = %v and max = %v, want whole numbers for whole = true", d.min, d.max)
	}
	return d, nil
}

// at returns the i-th value of the axis, from its own stream: another axis, or a
// larger n, changes none of the values. Numbers are uniform on [min, max), or their
// logarithms are; whole ones, each of min, ..., max alike, or log-uniform on [min, max+1)
// and rounded down.
func (d draw) at(key stream.Key, i int) Value {
	u := key.Uniform(uint64(i))
	if d.list != nil {
		return d.list[int(u*float64(len(d.list)))]
	}
	top := d.max
	if d.whole {
		top++
	}
	x := d.min + u*(top-d.min)
	if d.log {
		x = d.min * math.Pow(top/d.min, u)
	}
	x = min(x, math.Nextafter(top, d.min)) // rounding
	if d.whole {
		return wholeValue(int64(math.Floor(x)))
	}
	return realValue(x)
}

// valuesOf returns the values of a list.
func valuesOf(list []any) ([]Value, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("is empty, want at least one value")
	}
	var values []Value
	for i, x := range list {
		v, err := valueOf(x)
		if err != nil {
			return nil, fmt.Errorf("[%d] %w", i+1, err)
		}
		values = append(values, v)
	}
	return values, different(values)
}

// different returns an error where a value is there twice as it is typed, such as 1 and
// 1.0: the points would be the same.
func different(values []Value) error {
	seen := map[string]bool{}
	for i, v := range values {
		text := strings.Join(v.texts, "\x00")
		if seen[text] {
			return fmt.Errorf("[%d] = %s is there twice, want each value once", i+1, v)
		}
		seen[text] = true
	}
	return nil
}

// keysOf returns an error where a table has a key that it may not have.
func keysOf(table map[string]any, known ...string) error {
	for _, key := range sortedKeys(table) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("has the key %s, want %s", key, strings.Join(known, ", "))
		}
	}
	return nil
}

func numberAt(table map[string]any, key string) (float64, error) {
	switch x := table[key].(type) {
	case int64:
		return float64(x), nil
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, nil
		}
	case nil:
		return 0, fmt.Errorf("has no %s, want a number", key)
	}
	return 0, fmt.Errorf("has %s = %v, want a finite number", key, table[key])
}

func truthAt(table map[string]any, key string) (bool, error) {
	switch x := table[key].(type) {
	case nil:
		return false, nil
	case bool:
		return x, nil
	}
	return false, fmt.Errorf("has %s = %v, want true or false", key, table[key])
}
