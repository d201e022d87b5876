// Package merged holds the merged table of a sweep: a figure of it along the sweep's
// axes, one number a cell, as the mean over the runs of several seeds where there are
// some. It refuses to run points, to draw, and to open files.
package merged

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Seed is the axis whose runs are independent.
const Seed = "seed"

// An Axis is an axis of the sweep, or a column by which a command tells apart rows of
// one figure.
type Axis struct {
	Name    string
	Column  string   // of the table
	Numbers bool     // its values are numbers
	Values  []string // numbers ascending, words as they come
}

// A Table is the rows of one figure of a sweep.
type Table struct {
	Figure  string
	Figures []string // that the sweep has with a value, as they come
	Axes    []Axis   // of the sweep as in its file, then those of the command that differ
	Points  int      // of the sweep
	Failed  int      // of them
	held    []Axis
	own     int // the first of Axes, which are the sweep's
	rows    []row
}

// A row is a number of a point. A failed point has one row, without the values of the
// axes of the command.
type row struct {
	point                int
	values               []string // of the axes, "" for none
	value, se, low, high float64  // NaN for none
	failed               bool
	replicates, seed     string
	coding               string
	population, strategy string // as printed
}

// parts are the columns by which commands tell apart rows of one figure. A level is one
// of success where there is a statistic, as in training, else that of an interval.
var parts = []string{"population", "policy", "strategy", "estimator", "aggregate", "system", "optimizer", "at", "learning_rate", "step", "quarter", "statistic"}

// partPrefix stands before the name of such a column where an axis of the sweep has it.
const partPrefix = "printed_"

// Read reads the merged table of a sweep, as CSV, whose own axes are given by name and
// column, and keeps the rows of a figure, of all for "". A column that is missing is an error.
func Read(r io.Reader, axes []Axis, figure string) (*Table, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("is empty, want the table of a sweep")
	}
	if err != nil {
		return nil, err
	}
	c, err := columnsOf(head, axes)
	if err != nil {
		return nil, err
	}
	t := &Table{Figure: figure, Axes: c.axes, own: len(axes)}
	figures, points := map[string]bool{}, map[int]bool{}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		point, err := strconv.Atoi(record[c.point])
		if err != nil {
			line, _ := in.FieldPos(c.point)
			return nil, fmt.Errorf("line %d: point = %q, want a whole number", line, record[c.point])
		}
		points[point] = true
		name := strings.Clone(record[c.figure])
		if failed := record[c.failed] != ""; failed {
			t.Failed++
		} else if record[c.value] != "" && !figures[name] {
			figures[name] = true
			t.Figures = append(t.Figures, name)
		}
		if figure == "" || name == figure || record[c.failed] != "" {
			t.rows = append(t.rows, c.row(point, record))
		}
	}
	t.Points = len(points)
	t.mergeArms()
	t.split()
	t.count()
	return t, nil
}

// columns are the places of what a row needs.
type columns struct {
	point, figure, value, se, low, high, failed int
	replicates, seed, coding                    int
	population, strategy                        int
	axes                                        []Axis
	at                                          []int // of the axes
}

// columnsOf finds the columns by their names; verify has its own for figure and value.
func columnsOf(head []string, axes []Axis) (columns, error) {
	place := func(names ...string) int {
		for _, name := range names {
			if at := slices.Index(head, name); at >= 0 {
				return at
			}
		}
		return -1
	}
	c := columns{
		point: place("point"), figure: place("figure", "id"), value: place("value", "estimate"), failed: place("error"),
		se: place("se"), low: place("low"), high: place("high"), replicates: place("replicates"), seed: place("seed"), coding: place("coding"),
		population: place("population"), strategy: place("strategy"),
	}
	var missing []string
	for _, need := range []struct {
		name string
		at   int
	}{{"point", c.point}, {"figure or id", c.figure}, {"value or estimate", c.value}, {"error", c.failed}} {
		if need.at < 0 {
			missing = append(missing, need.name)
		}
	}
	for _, a := range axes {
		at := place(a.Column)
		if at < 0 {
			missing = append(missing, a.Column)
		}
		c.axes, c.at = append(c.axes, Axis{Name: a.Name, Column: a.Column}), append(c.at, at)
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("has no column %s, want those of a sweep's merged table", strings.Join(missing, ", "))
	}
	names := parts
	if slices.Contains(head, "statistic") {
		names = append(slices.Clone(parts), "level")
	}
	for _, name := range names {
		at := place(name)
		if at < 0 || slices.Contains(c.at, at) {
			continue
		}
		a := Axis{Name: name, Column: name}
		if slices.ContainsFunc(axes, func(own Axis) bool { return own.Name == name }) {
			a.Name = partPrefix + name
		}
		c.axes, c.at = append(c.axes, a), append(c.at, at)
	}
	return c, nil
}

func (c *columns) row(point int, record []string) row {
	text := func(at int) string {
		if at < 0 {
			return ""
		}
		return strings.Clone(record[at])
	}
	number := func(at int) float64 {
		if v, err := strconv.ParseFloat(text(at), 64); err == nil {
			return v
		}
		return math.NaN()
	}
	r := row{
		point: point, value: number(c.value), se: number(c.se), low: number(c.low), high: number(c.high), failed: record[c.failed] != "",
		replicates: text(c.replicates), seed: text(c.seed), coding: text(c.coding),
		population: text(c.population), strategy: text(c.strategy),
	}
	for _, at := range c.at {
		r.values = append(r.values, text(at))
	}
	return r
}

// split makes axes of the parts of column at, where all of them have a name: round=2.
func (t *Table) split() {
	at := slices.IndexFunc(t.Axes, func(a Axis) bool { return a.Column == "at" })
	if at < 0 {
		return
	}
	var keys []string
	for _, r := range t.rows {
		if r.failed || r.values[at] == "" {
			continue
		}
		for part := range strings.SplitSeq(r.values[at], ",") {
			key, _, named := strings.Cut(part, "=")
			if !named || key == "" || slices.ContainsFunc(t.Axes, func(a Axis) bool { return a.Name == key }) {
				return
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	t.Axes = slices.Delete(t.Axes, at, at+1)
	for _, key := range keys {
		t.Axes = append(t.Axes, Axis{Name: key, Column: "at"})
	}
	for i := range t.rows {
		r := &t.rows[i]
		have := map[string]string{}
		for part := range strings.SplitSeq(r.values[at], ",") {
			key, value, _ := strings.Cut(part, "=")
			have[key] = value
		}
		r.values = slices.Delete(r.values, at, at+1)
		for _, key := range keys {
			r.values = append(r.values, have[key])
		}
	}
}

// count lists the values of every axis; a failed point has none of the command's.
func (t *Table) count() {
	for i := range t.Axes {
		a := &t.Axes[i]
		seen := map[string]bool{}
		a.Numbers = true
		for _, r := range t.rows {
			v := r.values[i]
			if r.failed && v == "" || seen[v] {
				continue
			}
			seen[v] = true
			a.Values = append(a.Values, v)
			_, err := strconv.ParseFloat(v, 64)
			a.Numbers = a.Numbers && err == nil
		}
		if a.Numbers = a.Numbers && len(a.Values) > 0; a.Numbers {
			slices.SortStableFunc(a.Values, func(x, y string) int { return cmp.Compare(numberOf(x), numberOf(y)) })
		}
	}
}

// numberOf returns the number of a value of an axis of numbers.
func numberOf(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Axis returns the axis of a name, and whether there is one.
func (t *Table) Axis(name string) (Axis, bool) {
	i := t.index(name)
	if i < 0 {
		return Axis{}, false
	}
	return t.Axes[i], true
}

// Held returns the axes that are held, each with the value as asked for.
func (t *Table) Held() []Axis { return t.held }

// Names lists the axes that have more than one value.
func (t *Table) Names() []string {
	var names []string
	for _, a := range t.Axes {
		if len(a.Values) > 1 {
			names = append(names, a.Name)
		}
	}
	return names
}

func (t *Table) index(name string) int {
	return slices.IndexFunc(t.Axes, func(a Axis) bool { return a.Name == name })
}

// Distinct returns what the rows of the figure have in a column: population, strategy,
// replicates, seed or coding, as it comes.
func (t *Table) Distinct(column string) []string {
	seen := map[string]bool{}
	var all []string
	for _, r := range t.rows {
		text := map[string]string{
			"population": r.population, "strategy": r.strategy, "replicates": r.replicates, "seed": r.seed, "coding": r.coding,
		}[column]
		if text != "" && !r.failed && !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}
