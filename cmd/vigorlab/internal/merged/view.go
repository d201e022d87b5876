package merged

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A View says which axes of a table are seen: at most MaxPanels in Panels, and "" for
// none. What is not seen is held at a value, averaged over, or has one value in each
// cell.
type View struct {
	X, Series string
	Panels    []string
	Mean      []string
}

// Hold keeps the rows that have a value of an axis: that text, the same number, or
// where there is neither a spec of that name. It fails where the axis or the value is
// unknown.
func (t *Table) Hold(axis, value string) error {
	i := t.index(axis)
	if i < 0 {
		return fmt.Errorf("axis = %s, want one of %s", axis, listed(t.Names()))
	}
	a := t.Axes[i]
	held := func(have string) bool { return have == value }
	if !slices.ContainsFunc(a.Values, held) {
		held = func(have string) bool { return a.Numbers && numberOf(have) == numberOf(value) }
	}
	if !slices.ContainsFunc(a.Values, held) {
		held = func(have string) bool { name, _, _ := strings.Cut(have, ":"); return name == value }
	}
	if !slices.ContainsFunc(a.Values, held) {
		return fmt.Errorf("%s = %s, want one of %s", axis, value, listed(a.Values))
	}
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return !held(r.values[i]) && !(r.failed && r.values[i] == "") })
	t.held = append(t.held, Axis{Name: axis, Column: a.Column, Values: []string{value}})
	for k := range t.Axes {
		t.Axes[k].Values = nil
	}
	t.count()
	return nil
}

// listed joins words, the first twenty of them.
func listed(words []string) string {
	const most = 20
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// seen lists the axes that a view shows.
func (v View) seen() []string {
	var names []string
	for _, name := range append([]string{v.X, v.Series}, v.Panels...) {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Loose returns the axes that differ within a cell of the view though they are neither
// seen nor averaged over, the seed aside; those of the command only where they differ
// within a cell of all axes of the sweep that are loose.
func (t *Table) Loose(v View) []Axis {
	fixed := append(append(v.seen(), v.Mean...), Seed)
	own := t.differing(fixed, t.Axes[:t.own])
	for _, a := range own {
		fixed = append(fixed, a.Name)
	}
	return append(own, t.differing(fixed, t.Axes[t.own:])...)
}

// differing returns those of the axes that have several values within a cell of the fixed
// ones. A failed point is of every value that the command would have printed.
func (t *Table) differing(fixed []string, axes []Axis) []Axis {
	key := t.keys(fixed)
	loose := map[string]bool{}
	first := map[string]string{} // value by cell and axis
	for _, r := range t.rows {
		cell := key(r)
		for _, a := range axes {
			v := r.values[t.index(a.Name)]
			if r.failed && v == "" {
				continue
			}
			at := cell + "\x00" + a.Name
			if earlier, ok := first[at]; ok {
				loose[a.Name] = loose[a.Name] || earlier != v
				continue
			}
			first[at] = v
		}
	}
	var all []Axis
	for _, a := range axes {
		if loose[a.Name] && !slices.Contains(fixed, a.Name) {
			all = append(all, a)
		}
	}
	return all
}

// Unseen lists the axes of the sweep, the seed aside, that differ from cell to cell of a
// view and not within one, as in a list of points or a random search.
func (t *Table) Unseen(v View) []string {
	var names []string
	for _, a := range t.Axes[:t.own] {
		if len(a.Values) > 1 && a.Name != Seed && !slices.Contains(append(v.seen(), v.Mean...), a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// keys returns what tells cells of some axes apart.
func (t *Table) keys(names []string) func(row) string {
	var at []int
	for _, name := range names {
		if i := t.index(name); i >= 0 {
			at = append(at, i)
		}
	}
	return func(r row) string {
		var b strings.Builder
		for _, i := range at {
			b.WriteString(r.values[i])
			b.WriteByte(0)
		}
		return b.String()
	}
}

// Why says why a cell has no number.
type Why string

// The reasons.
const (
	Failed Why = "failed"                // no run of it ended well, or one did not that a mean over axes needs
	None   Why = "no value"              // a run has no such figure
	Absent Why = "not in the sweep"      // no point has these values
	Uneven Why = "seeds of unlike means" // they would be averaged over other values of an axis
)

// A Cell is one number of a view.
type Cell struct {
	Value, Low, High float64 // NaN for none
	Why              Why     // of none; empty where there is a number
	Runs             int     // seeds behind it
	Kind             Kind
}

// A Kind is what the interval of a cell is.
type Kind string

// The kinds, all at 95 %.
const (
	Exact   Kind = ""
	OneRun  Kind = "95 %, value ± 1.96 standard errors of the run"
	Own     Kind = "as the command gives it"
	Seeds   Kind = "95 %, mean ± t standard errors, from the spread of independent runs of different seeds (Student's t)"
	Bounded Kind = "95 %, mean ± 1.96 times the mean of the standard errors, which bounds that of the mean however the runs depend on each other"
)

// Cells returns the cells of a view. An axis that is loose is an error, and so are two
// points alike in all that tells points apart.
func (t *Table) Cells(v View) (func(x, series string, panels ...string) Cell, error) {
	if loose := t.Loose(v); len(loose) > 0 {
		return nil, &LooseError{loose}
	}
	shown := v.seen()
	key, seed, averaged := t.keys(shown), t.keys([]string{Seed}), t.keys(v.Mean)
	apart := t.keys(slices.Concat(shown, v.Mean, []string{Seed}))
	groups := map[string]map[string][]row{} // by cell, then by seed
	points := map[string]int{}
	var failed []row
	for _, r := range t.rows {
		if r.failed {
			failed = append(failed, r)
			continue
		}
		if earlier, twice := points[apart(r)]; twice {
			return nil, fmt.Errorf("%s is there twice, of points %d and %d, with the same values of all axes, want points that differ", t.Figure, earlier, r.point)
		}
		points[apart(r)] = r.point
		k := key(r)
		if groups[k] == nil {
			groups[k] = map[string][]row{}
		}
		groups[k][seed(r)] = append(groups[k][seed(r)], r)
	}
	return func(x, series string, panels ...string) Cell {
		at := row{values: make([]string, len(t.Axes))}
		for i, value := range append([]string{x, series}, panels...) {
			if name := append([]string{v.X, v.Series}, v.Panels...)[i]; name != "" {
				at.values[t.index(name)] = value
			}
		}
		seeds := groups[key(at)]
		if len(seeds) > 0 && len(v.Mean) == 0 {
			return cellOf(seeds)
		}
		seeds, lost := maps.Clone(seeds), false
		for _, r := range failed {
			if t.covers(r, at, shown) {
				delete(seeds, seed(r)) // whose mean would be over other runs than that of the others
				lost = true
			}
		}
		switch {
		case !alike(seeds, averaged):
			return noCell(Uneven)
		case len(seeds) > 0:
			return cellOf(seeds)
		case lost:
			return noCell(Failed)
		}
		return noCell(Absent)
	}, nil
}

// alike reports whether the runs of every seed have the same values of what is averaged
// over.
func alike(seeds map[string][]row, averaged func(row) string) bool {
	var first []string
	for _, rows := range seeds {
		var values []string
		for _, r := range rows {
			values = append(values, averaged(r))
		}
		slices.Sort(values)
		if first == nil {
			first = values
		}
		if !slices.Equal(values, first) {
			return false
		}
	}
	return true
}

// noCell returns a cell without a number.
func noCell(why Why) Cell {
	return Cell{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Why: why}
}

// covers reports whether a failed point has the values of a cell, as far as it has any.
func (t *Table) covers(r, cell row, shown []string) bool {
	return !slices.ContainsFunc(shown, func(name string) bool {
		i := t.index(name)
		return r.values[i] != "" && r.values[i] != cell.values[i]
	})
}

// cellOf returns the number of a cell from its runs, by seed: of every seed the mean over
// what is averaged over, then the mean over the seeds. A figure that one run does not
// have, as it never reached a target, has no mean.
func cellOf(seeds map[string][]row) Cell {
	var values []float64
	var last []row
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		last = seeds[seed]
		sum := 0.0
		for _, r := range last {
			sum += r.value
		}
		values = append(values, sum/float64(len(last)))
	}
	c := noCell("")
	c.Runs = len(values)
	switch {
	case slices.ContainsFunc(values, math.IsNaN):
		return noCell(None)
	case c.Runs > 1:
		mean, sd := stat.MeanStdDev(values, nil)
		t := distuv.StudentsT{Sigma: 1, Nu: float64(c.Runs - 1)}.Quantile(0.975)
		return c.around(mean, t*sd/math.Sqrt(float64(c.Runs)), Seeds)
	case len(last) > 1:
		se := 0.0
		for _, r := range last {
			se += r.se / float64(len(last))
		}
		return c.around(values[0], normal95*se, Bounded)
	}
	r := last[0]
	if math.IsNaN(r.se) && !math.IsNaN(r.low) && !math.IsNaN(r.high) {
		c.Value, c.Low, c.High, c.Kind = r.value, r.low, r.high, Own
		return c
	}
	return c.around(r.value, normal95*r.se, OneRun)
}

const normal95 = 1.959963984540054 // the 97.5 % quantile of the normal law

// around sets a number with its interval, if it has one.
func (c Cell) around(value, half float64, kind Kind) Cell {
	c.Value = value
	if !math.IsNaN(half) {
		c.Low, c.High, c.Kind = value-half, value+half, kind
	}
	return c
}

// A LooseError reports axes that differ within cells.
type LooseError struct{ Axes []Axis }

func (e *LooseError) Error() string {
	var parts []string
	for _, a := range e.Axes {
		parts = append(parts, fmt.Sprintf("%s (%s)", a.Name, listed(a.Values)))
	}
	return "would be averaged over " + strings.Join(parts, " and ")
}
