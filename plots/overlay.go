package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Run is the data of a figure of one run, and what tells it from other runs.
type Run struct {
	Name string
	Data Data
}

// overlaid is data of a kind whose figures of several runs can share one.
type overlaid interface {
	Data
	// named returns a copy whose series say of which run they are.
	named(run string) overlaid
	// join adds the series of other, data of the same kind.
	join(other Data, n *notes) error
}

// apart says why figures of a kind cannot share one.
var apart = map[string]string{
	KindGradientNorm: "a cloud of cases hides another one",
	KindHeat:         "a cell has one value",
	KindLines:        "its panels hold the points of one sweep, which has an axis for what would differ",
	KindPlan:         "it shows the law and the front of one pilot",
	KindRanks:        "ranks are among the strategies of one comparison",
}

// Overlay returns the data of one figure with the series of all runs, told apart by
// their names in the labels, and what it cannot show of them. It fails where runs do not
// show the same quantity, or where figures of the kind cannot share one.
func Overlay(runs []Run) (Data, []string, error) {
	if len(runs) == 0 {
		return nil, nil, fmt.Errorf("plots: overlay: no run")
	}
	kind := runs[0].Data.Kind()
	for _, r := range runs[1:] {
		if k := r.Data.Kind(); k != kind {
			return nil, nil, fmt.Errorf("plots: overlay: figures of kind %s and %s, want one kind", kind, k)
		}
	}
	first, ok := runs[0].Data.(overlaid)
	if !ok {
		return nil, nil, fmt.Errorf("plots: overlay: figures of kind %s cannot share one: %s", kind, apart[kind])
	}
	var n notes
	all := first.named(runs[0].Name)
	for _, r := range runs[1:] {
		next, _ := r.Data.(overlaid) // of the same kind
		if err := all.join(next.named(r.Name), &n); err != nil {
			return nil, nil, fmt.Errorf("plots: overlay: %w", err)
		}
	}
	return all, n, nil
}

// nameRun returns the label of a series of a run.
func nameRun(label, run string) string {
	switch label {
	case "", run:
		return run
	}
	return label + ", " + run
}

// one returns an error where runs have different values of what a figure has once.
func one[T comparable](what string, a, b T) error {
	if a == b {
		return nil
	}
	return fmt.Errorf("%s is %v in one run and %v in another, want one", what, shownValue(a), shownValue(b))
}

func shownValue(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

func namedFamilies(families []Family, run string) []Family {
	named := slices.Clone(families)
	for i := range named {
		named[i].Label = nameRun(named[i].Label, run)
	}
	return named
}

// kindsOf lists the kinds that families have: where a run has one kind alone, its
// labels say what it is.
func kindsOf(families []Family) string {
	var names []string
	for k := range kinds {
		if slices.ContainsFunc(families, func(f Family) bool { return len(f.of(kind(k))) > 0 }) {
			names = append(names, kinds[k])
		}
	}
	return strings.Join(names, ", ")
}

// joinCaps returns the cap that all runs share; none where they have different ones.
func joinCaps(a, b []Point, n *notes) []Point {
	if slices.EqualFunc(a, b, samePoint) {
		return a
	}
	n.add("the caps of the runs differ and are left out")
	return nil
}

// samePoint is equality under which NaN is itself.
func samePoint(p, q Point) bool {
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	return same(p.X, q.X) && same(p.Y, q.Y) && same(p.Low, q.Low) && same(p.High, q.High)
}

// joinLevels returns the level that all runs share; none where they have different ones.
func joinLevels(what string, a, b float64, n *notes) float64 {
	if samePoint(At(0, a), At(0, b)) {
		return a
	}
	n.add("%s: the levels of the runs differ and are left out", what)
	return math.NaN()
}

func (d *AllocationData) named(run string) overlaid {
	c := *d
	c.Strategies = namedFamilies(d.Strategies, run)
	return &c
}

func (d *AllocationData) join(other Data, _ *notes) error {
	o := other.(*AllocationData)
	d.Strategies = append(d.Strategies, o.Strategies...)
	if err := one("rollouts relative to equal ones", d.Relative, o.Relative); err != nil {
		return err
	}
	return one("success observed", d.Observed, o.Observed)
}

func (d *CalibrationData) named(run string) overlaid {
	c := *d
	c.Predictors = slices.Clone(d.Predictors)
	for i := range c.Predictors {
		c.Predictors[i].Label = nameRun(c.Predictors[i].Label, run)
	}
	return &c
}

func (d *CalibrationData) join(other Data, _ *notes) error {
	o := other.(*CalibrationData)
	d.Predictors = append(d.Predictors, o.Predictors...)
	if err := one("what is predicted", d.Predicted, o.Predicted); err != nil {
		return err
	}
	return one("what is measured", d.Measured, o.Measured)
}

func (d *ComparisonData) named(run string) overlaid {
	c := *d
	c.Parties, c.Rows = slices.Clone(d.Parties), slices.Clone(d.Rows)
	for k := range c.Parties {
		c.Parties[k] = nameRun(c.Parties[k], run)
	}
	return &c
}

// join adds the parties of other: a row of both has the values of both.
func (d *ComparisonData) join(other Data, n *notes) error {
	o := other.(*ComparisonData)
	before := len(d.Parties)
	d.Parties = append(d.Parties, o.Parties...)
	for _, r := range o.Rows {
		i := slices.IndexFunc(d.Rows, func(have ComparisonRow) bool { return have.Group == r.Group && have.Label == r.Label })
		if i < 0 {
			i = len(d.Rows)
			d.Rows = append(d.Rows, ComparisonRow{Group: r.Group, Label: r.Label})
		}
		d.Rows[i].Values = slices.Concat(padded(d.Rows[i].Values, before), r.Values)
	}
	d.Reference = joinLevels(d.Figure, d.Reference, o.Reference, n)
	return one("the figure", d.Figure, o.Figure)
}

// padded returns the values with missing ones up to n.
func padded(values []Value, n int) []Value {
	values = slices.Clone(values)
	for len(values) < n {
		values = append(values, Value{math.NaN(), math.NaN(), math.NaN()})
	}
	return values
}

func (d *CostQualityData) named(run string) overlaid {
	c := *d
	c.Strategies = namedFamilies(d.Strategies, run)
	return &c
}

func (d *CostQualityData) join(other Data, _ *notes) error {
	o := other.(*CostQualityData)
	d.Strategies = append(d.Strategies, o.Strategies...)
	return one("quality", d.Quality, o.Quality)
}

func (d *CurvesData) named(run string) overlaid {
	c := *d
	c.Panels = slices.Clone(d.Panels)
	for i := range c.Panels {
		lines := slices.Clone(c.Panels[i].Lines)
		for k := range lines {
			lines[k].Label = nameRun(lines[k].Label, run)
		}
		c.Panels[i].Lines = lines
	}
	c.Inks = inksOf(c.Panels)
	return &c
}

// join adds the lines of other panel by panel, by what their Y is.
func (d *CurvesData) join(other Data, n *notes) error {
	o := other.(*CurvesData)
	for _, p := range o.Panels {
		i := slices.IndexFunc(d.Panels, func(have CurvesPanel) bool { return have.Y == p.Y })
		if i < 0 {
			d.Panels = append(d.Panels, p)
			continue
		}
		have := &d.Panels[i]
		have.Lines = append(have.Lines, p.Lines...)
		have.Reference = joinLevels(p.Y, have.Reference, p.Reference, n)
		if err := one("logarithmic Y of "+p.Y, have.LogY, p.LogY); err != nil {
			return err
		}
	}
	d.Inks = inksOf(d.Panels)
	if err := one("what the two curves of a line are", d.Styles, o.Styles); err != nil {
		return err
	}
	if err := one("X", d.X, o.X); err != nil {
		return err
	}
	if err := one("logarithmic X", d.LogX, o.LogX); err != nil {
		return err
	}
	if err := one("stairs", d.Stairs, o.Stairs); err != nil {
		return err
	}
	return one("marks", d.Marks, o.Marks)
}

// inksOf gives every label one ink in all panels.
func inksOf(panels []CurvesPanel) map[string]int {
	inks := map[string]int{}
	for _, p := range panels {
		for _, l := range p.Lines {
			if _, given := inks[l.Label]; !given {
				inks[l.Label] = len(inks)
			}
		}
	}
	return inks
}

func (d *EtaShapeData) named(run string) overlaid {
	c := *d
	c.Schedules = namedFamilies(d.Schedules, run)
	return &c
}

func (d *EtaShapeData) join(other Data, n *notes) error {
	o := other.(*EtaShapeData)
	if err := one("the kinds of lines", kindsOf(d.Schedules), kindsOf(o.Schedules)); err != nil {
		return err
	}
	d.Schedules = append(d.Schedules, o.Schedules...)
	d.Cap = joinCaps(d.Cap, o.Cap, n)
	return nil
}

func (d *GroupSizesData) named(run string) overlaid {
	c := *d
	c.Strategies = slices.Clone(d.Strategies)
	for i := range c.Strategies {
		c.Strategies[i].Label = nameRun(c.Strategies[i].Label, run)
	}
	return &c
}

func (d *GroupSizesData) join(other Data, _ *notes) error {
	o := other.(*GroupSizesData)
	d.Strategies = append(d.Strategies, o.Strategies...)
	return nil
}

func (d *ScreeningData) named(run string) overlaid {
	c := *d
	c.Errors = namedFamilies(d.Errors, run)
	return &c
}

func (d *ScreeningData) join(other Data, _ *notes) error {
	o := other.(*ScreeningData)
	d.Errors = append(d.Errors, o.Errors...)
	return nil
}

func (d *SpeedupData) named(run string) overlaid {
	c := *d
	c.Shapes = namedFamilies(d.Shapes, run)
	return &c
}

func (d *SpeedupData) join(other Data, n *notes) error {
	o := other.(*SpeedupData)
	if err := one("the kinds of lines", kindsOf(d.Shapes), kindsOf(o.Shapes)); err != nil {
		return err
	}
	d.Shapes = append(d.Shapes, o.Shapes...)
	d.Cap = joinCaps(d.Cap, o.Cap, n)
	return one("the exponent of eta", d.Exponent, o.Exponent)
}
