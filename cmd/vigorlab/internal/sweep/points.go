package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"vigorlab/sim/stream"
)

// An Axis is an axis of a sweep's table.
type Axis struct {
	Name   string `json:"name"`
	Column string `json:"column"` // of the table: the name, unless the command prints a column called so
	Kind   Kind   `json:"kind"`
}

// A Point is one run of the command.
type Point struct {
	Number int      `json:"point"`  // from 1, in the order of the table
	Values []Value  `json:"-"`      // of the axes, in their order
	Cells  []string `json:"values"` // the same as the table has them
	Words  []string `json:"words"`  // the command with its arguments and flags
}

// A Plan is what a sweep is to do, resolved.
type Plan struct {
	Command Command  `json:"-"`
	Name    string   `json:"command"`
	Columns []Column `json:"columns"` // of what the command prints
	Timed   []string `json:"timed,omitempty"`
	Axes    []Axis   `json:"axes"`
	Points  []Point  `json:"points"`
	Inputs  []Input  `json:"inputs,omitempty"`
	Slurm   Slurm    `json:"-"`
	Seed    uint64   `json:"-"` // of a random search
	Given   []string `json:"-"` // every flag that some point is given, with its value behind it, each once

	corners []float64 // of each point, its share in a mean over the corners of the grid; 0 for no corner
}

// New reads a sweep's file, whose text is content, for one of the commands, and
// resolves its points: first the list, then the draws of a random search, then the
// grid, whose last axis moves fastest. The error joins all that is wrong.
func New(content []byte, commands []Command) (*Plan, error) {
	f, err := read(content, commands)
	if err != nil {
		return nil, err
	}
	p := &Plan{Command: f.command, Name: f.command.Name, Columns: f.command.Columns, Timed: f.command.Timed, Slurm: f.slurm, Seed: f.seed}
	if n := f.count(); n > maxPoints {
		return nil, fmt.Errorf("has more than %d points, want at most so many; several files can share them", maxPoints)
	}
	given := map[string][]string{}
	for values := range f.points {
		point := Point{Number: len(p.Points) + 1, Values: slices.Clone(values), Words: f.words(values)}
		for _, arg := range point.Words[1 : 1+len(f.args)] {
			if strings.HasPrefix(arg, "-") {
				return nil, fmt.Errorf("args of point %d have %s, want texts that are no flags; flags stand in [flags]", point.Number, arg)
			}
		}
		p.Points = append(p.Points, point)
		for _, words := range f.given(values) {
			given[strings.Join(words, "\x00")] = words
		}
	}
	for _, key := range sortedKeys(given) {
		p.Given = append(p.Given, given[key]...)
	}
	p.name(f.axes)
	return p, nil
}

// count returns the number of points, or more than maxPoints.
func (f *file) count() int {
	n := max(1, len(f.list)) * max(1, f.random)
	for _, a := range f.axes {
		if a.grid && n <= maxPoints {
			n *= len(a.values)
		}
	}
	return n
}

// points yields the values of every point; they are overwritten by the next.
func (f *file) points(yield func([]Value) bool) {
	values := make([]Value, len(f.axes))
	key := stream.New(f.seed).Named("sweep")
	for l := range max(1, len(f.list)) {
		for i := range max(1, f.random) {
			for at, a := range f.axes {
				switch {
				case a.draw != nil:
					values[at] = a.draw.at(key.Named(a.name), i)
				case !a.grid:
					values[at] = a.values[l]
				}
			}
			if !f.spread(values, 0, yield) {
				return
			}
		}
	}
}

// spread yields all combinations of the grid's axes from one on.
func (f *file) spread(values []Value, from int, yield func([]Value) bool) bool {
	for at := from; at < len(f.axes); at++ {
		if !f.axes[at].grid {
			continue
		}
		for _, v := range f.axes[at].values {
			values[at] = v
			if !f.spread(values, at+1, yield) {
				return false
			}
		}
		return true
	}
	return yield(values)
}

// words returns the command line of a point.
func (f *file) words(values []Value) []string {
	words := []string{f.command.Name}
	for _, text := range f.args {
		words = append(words, f.expand(text, values))
	}
	return append(words, slices.Concat(f.given(values)...)...)
}

// given returns the flags of a point, each with its value behind it where it is not
// in the same word.
func (f *file) given(values []Value) [][]string {
	var given [][]string
	add := func(name string, v Value) {
		for _, text := range v.texts {
			if v.kind == Truth {
				given = append(given, []string{"--" + name + "=" + text})
				continue
			}
			given = append(given, []string{"--" + name, f.expand(text, values)})
		}
	}
	for _, s := range f.flags {
		add(s.name, s.value)
	}
	for at, a := range f.axes {
		if !a.placed {
			add(a.name, values[at])
		}
	}
	return given
}

// expand puts the values of a point in the place of placeholders.
func (f *file) expand(text string, values []Value) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		at := slices.IndexFunc(f.axes, func(a axis) bool { return "{"+a.name+"}" == name })
		return f.expand(values[at].texts[0], values)
	})
}

// name gives the axes their columns and kinds, and the points their cells.
func (p *Plan) name(axes []axis) {
	for at, a := range axes {
		var all []Value
		for _, point := range p.Points {
			all = append(all, point.Values[at])
		}
		column := a.name
		if slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Name == column }) {
			column = axisPrefix + column
		}
		p.Axes = append(p.Axes, Axis{Name: a.name, Column: column, Kind: kindOf(all)})
	}
	ends := make([]map[string]float64, len(axes))
	for at, a := range axes {
		ends[at] = a.ends()
	}
	for i := range p.Points {
		corner := 1.0
		for at := range axes {
			text := p.Points[i].Values[at].String()
			p.Points[i].Cells = append(p.Points[i].Cells, text)
			corner *= ends[at][text]
		}
		p.corners = append(p.corners, corner)
	}
}

// ends returns the ends of an axis of the grid, by their texts, with the shares that make
// of them the mean over the axis for what is linear in its numbers: 1 by 0.64 and 100 by
// 0.36 are the mean of 1, 10 and 100. Words are ends all of them, as one says nothing of
// another.
func (a axis) ends() map[string]float64 {
	if !a.grid {
		return nil
	}
	ends := map[string]float64{}
	x := a.numbers()
	if len(x) < 2 {
		for _, v := range a.values {
			ends[v.String()] = 1 / float64(len(a.values))
		}
		return ends
	}
	low, high := slices.Min(x), slices.Max(x)
	share := (stat.Mean(x, nil) - low) / (high - low)
	if !(share > 0 && share < 1) { // out of the range of numbers
		share = 0.5
	}
	ends[a.values[slices.Index(x, low)].String()] = 1 - share
	ends[a.values[slices.Index(x, high)].String()] = share
	return ends
}

// numbers returns the values of an axis, nil where one is no number.
func (a axis) numbers() []float64 {
	var all []float64
	for _, v := range a.values {
		x, err := strconv.ParseFloat(v.String(), 64)
		if err != nil || v.kind == Text {
			return nil
		}
		all = append(all, x)
	}
	return all
}

// Table returns the columns of the sweep's table.
func (p *Plan) Table() []Column {
	columns := []Column{{pointColumn, Whole}}
	for _, a := range p.Axes {
		columns = append(columns, Column{a.Column, a.Kind})
	}
	return append(append(columns, p.Columns...), Column{errorColumn, Text})
}

// Digest names all that the results depend on: two sweeps of one digest have the same
// table.
func (p *Plan) Digest() (string, error) {
	content, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// Repeated returns how many points have the command line of an earlier one.
func (p *Plan) Repeated() int {
	seen := map[string]bool{}
	for _, point := range p.Points {
		seen[strings.Join(point.Words, "\x00")] = true
	}
	return len(p.Points) - len(seen)
}
