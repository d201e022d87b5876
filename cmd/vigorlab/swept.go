package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/merged"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/cmd/vigorlab/internal/sweep"
	"vigorlab/plots"
)

// A swept is what is drawn of a sweep.
type swept struct {
	record     *rundir.Record
	command    string // that the points ran
	table      *merged.Table
	view       merged.View
	heat       bool
	about      float64 // NaN for none
	logX, logY bool

	cell func(x, series string, panels ...string) merged.Cell
}

// axes reads the axes of a sweep.
func (s *swept) axes(dir string) ([]merged.Axis, error) {
	plan, err := sweep.Open(dir)
	if err != nil {
		return nil, err
	}
	s.command = plan.Name
	var axes []merged.Axis
	for _, a := range plan.Axes {
		axes = append(axes, merged.Axis{Name: a.Name, Column: a.Column})
	}
	return axes, nil
}

// firstAxis returns the first axis that differs: of numbers where there are to be lines,
// seeds last; where there is to be a map, one that differs within a row, or none.
func (s *swept) firstAxis() string {
	if s.heat {
		if loose := s.table.Loose(s.view); len(loose) > 0 {
			return loose[0].Name
		}
		return ""
	}
	found := ""
	for _, name := range s.table.Names() {
		a, _ := s.table.Axis(name)
		if taken := append(s.view.Panels, s.view.Series); slices.Contains(taken, name) || !a.Numbers {
			continue
		}
		if name != merged.Seed {
			return name
		}
		found = name
	}
	return found
}

// seen finds the cells.
func (s *swept) seen() (err error) {
	s.cell, err = s.table.Cells(s.view)
	return err
}

// values returns the values of an axis; of none there is one, of no name.
func (s *swept) values(axis string) []string {
	if a, ok := s.table.Axis(axis); ok {
		return a.Values
	}
	return []string{""}
}

// A sweptPanel is a panel with the values of the axes that panels stand for.
type sweptPanel struct {
	head   string
	values []string
}

// panels lists the panels row by row.
func (s *swept) panels() []sweptPanel {
	all := []sweptPanel{{}}
	for i := len(s.view.Panels) - 1; i >= 0; i-- { // the first axis moves fastest
		axis := s.view.Panels[i]
		var more []sweptPanel
		for _, q := range all {
			for _, v := range s.values(axis) {
				head := valueLabel(axis, v)
				if q.head != "" {
					head += ", " + q.head
				}
				more = append(more, sweptPanel{head, append([]string{v}, q.values...)})
			}
		}
		all = more
	}
	return all
}

// beside returns how many panels belong side by side: the values of the first of two
// axes.
func (s *swept) beside() int {
	if len(s.view.Panels) < maxPanelAxes {
		return 0
	}
	return len(s.values(s.view.Panels[0]))
}

// axisLabel returns the name of an axis as a reader knows it.
func axisLabel(axis string) string {
	return strings.ReplaceAll(strings.TrimPrefix(axis, "printed_"), "_", " ")
}

// valueLabel returns a value of an axis with the name of the axis, where it needs one.
func valueLabel(axis, value string) string {
	switch label := axisLabel(axis); {
	case axis == "":
		return ""
	case label == "strategy":
		return labelSpec(value)
	case selfExplaining[label] || value == "":
		return value
	default:
		return label + " = " + value
	}
}

// A tally is what the cells of a figure are, for its caption and warnings.
type tally struct {
	numbers     int
	least, most int // seeds behind a number
	missing     map[merged.Why]int
	kinds       []string // of intervals
}

func (t *tally) add(c merged.Cell) {
	if c.Why != "" {
		t.missing[c.Why]++
		return
	}
	t.numbers++
	if t.numbers == 1 {
		t.least, t.most = c.Runs, c.Runs
	}
	t.least, t.most = min(t.least, c.Runs), max(t.most, c.Runs)
	if k := string(c.Kind); k != "" && !slices.Contains(t.kinds, k) {
		t.kinds = append(t.kinds, k)
	}
}

// number says what a number is.
func (s *swept) number(t *tally) string {
	var over []string
	switch {
	case t.most > 1 && t.least == t.most:
		over = append(over, fmt.Sprintf("%d seeds", t.most))
	case t.most > 1:
		over = append(over, fmt.Sprintf("%d to %d seeds", t.least, t.most))
	}
	for _, axis := range s.view.Mean {
		over = append(over, axisLabel(axis))
	}
	if len(over) == 0 {
		return "one run"
	}
	return "mean over " + strings.Join(over, " and ")
}

// figure returns the figure, made by the sweep and the command that draws it, and what
// it does not show.
func (s *swept) figure(drawnBy string) (*figures.Figure, []string, error) {
	t := &tally{missing: map[merged.Why]int{}}
	var data plots.Data
	width := plots.OneColumn
	if s.heat {
		h := s.heatData(t)
		if data = h; len(h.Panels) > 1 || len(h.Columns) > 8 {
			width = plots.TwoColumn
		}
	} else {
		l := s.linesData(t)
		if data = l; len(l.Panels) > 1 {
			width = plots.TwoColumn
		}
	}
	if t.numbers == 0 {
		return nil, nil, fmt.Errorf("%s has no number to draw: %s", s.table.Figure, missingWords(t.missing))
	}
	codings := s.table.Distinct("coding")
	switch {
	case len(codings) > 1:
		return nil, nil, fmt.Errorf("%s has rewards of %s coding, want one", s.table.Figure, strings.Join(codings, " and "))
	case len(codings) == 0:
		codings = []string{output.Signed}
	}
	f := &figures.Figure{
		Name: s.name(), Version: version, Command: "sweep", Coding: codings[0], Width: width, Data: data,
		Caption: figures.Caption{
			Populations: s.table.Distinct("population"), Replicates: s.runs(), Intervals: t.kinds,
			Seeds: s.seeds(), Commands: []string{s.record.Reproduce, drawnBy},
		},
	}
	f.Caption.Strategies, f.Caption.What = markedStrategies(s.table.Distinct("strategy"), s.what(t))
	return f, s.warnings(t), nil
}

// unseen lists the axes in which points of the figure differ unseen, as a reader knows
// them.
func (s *swept) unseen() []string {
	var labels []string
	for _, name := range s.table.Unseen(s.view) {
		labels = append(labels, axisLabel(name))
	}
	return labels
}

// linesData fills lines; a cell that no point has is no point of a line.
func (s *swept) linesData(t *tally) *plots.LinesData {
	d := &plots.LinesData{X: axisLabel(s.view.X), Y: s.table.Figure, LogX: s.logX, LogY: s.logY, Reference: s.about, Beside: s.beside(), Apart: len(s.unseen()) > 0}
	if !math.IsNaN(s.about) {
		d.Name = strconv.FormatFloat(s.about, 'g', -1, 64)
	}
	for _, q := range s.panels() {
		panel := plots.LinesPanel{Head: q.head}
		for _, series := range s.values(s.view.Series) {
			line := plots.SweepLine{Label: valueLabel(s.view.Series, series)}
			for _, x := range s.values(s.view.X) {
				c := s.cell(x, series, q.values...)
				if c.Why == merged.Absent {
					continue
				}
				t.add(c)
				at, _ := strconv.ParseFloat(x, 64) // an axis of numbers
				line.Points = append(line.Points, plots.Point{X: at, Y: c.Value, Low: c.Low, High: c.High})
			}
			if len(line.Points) > 0 {
				panel.Lines = append(panel.Lines, line)
			}
		}
		d.Panels = append(d.Panels, panel)
	}
	d.Number = s.number(t)
	return d
}

// heatData fills maps. Numbers go up, words down.
func (s *swept) heatData(t *tally) *plots.HeatData {
	d := &plots.HeatData{X: axisLabel(s.view.X), Y: axisLabel(s.view.Series), Figure: s.table.Figure, About: s.about, Beside: s.beside()}
	columns, rows := s.values(s.view.X), slices.Clone(s.values(s.view.Series))
	if a, _ := s.table.Axis(s.view.Series); !a.Numbers {
		slices.Reverse(rows)
	}
	for _, x := range columns {
		d.Columns = append(d.Columns, cellLabel(s.view.X, x))
	}
	for _, y := range rows {
		d.Rows = append(d.Rows, cellLabel(s.view.Series, y))
	}
	for _, q := range s.panels() {
		panel := plots.HeatPanel{Head: q.head}
		for _, y := range rows {
			var cells []plots.HeatCell
			for _, x := range columns {
				c := s.cell(x, y, q.values...)
				t.add(c)
				cells = append(cells, plots.HeatCell{Value: plots.Value{Value: c.Value, Low: c.Low, High: c.High}, Missing: string(c.Why)})
			}
			panel.Cells = append(panel.Cells, cells)
		}
		d.Panels = append(d.Panels, panel)
	}
	d.Number = s.number(t)
	return d
}

// cellLabel returns a value as it stands beside its row or column, below the axis's name.
func cellLabel(axis, value string) string {
	if axisLabel(axis) == "strategy" {
		return labelSpec(value)
	}
	return value
}

// across lists the axes of the picture that are axes of the sweep: of a map both, where
// it has several columns.
func (s *swept) across() []string {
	switch {
	case !s.heat:
		return []string{s.view.X}
	case s.view.X == "":
		return []string{s.view.Series}
	}
	return []string{s.view.X, s.view.Series}
}

// name returns the name of the figure's files: eta-by-shape, eta-by-shape-rounds.
func (s *swept) name() string {
	name := s.table.Figure + "-by"
	for _, axis := range s.across() {
		name += "-" + axis
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, name)
}

// what says what is drawn.
func (s *swept) what(t *tally) string {
	var b strings.Builder
	var across []string
	for _, axis := range s.across() {
		across = append(across, axisLabel(axis))
	}
	fmt.Fprintf(&b, "%s of vigorlab %s against %s", s.table.Figure, s.command, strings.Join(across, " and "))
	if !s.heat && s.view.Series != "" {
		fmt.Fprintf(&b, ", a line for each value of %s", axisLabel(s.view.Series))
	}
	for i, axis := range s.view.Panels {
		fmt.Fprintf(&b, "%s %s", []string{", in panels by", " and"}[i], axisLabel(axis))
	}
	fmt.Fprintf(&b, ". Every number is %s.", strings.Replace(strings.Replace(s.number(t), "mean", "the mean", 1), "one", "of one", 1))
	for i, axis := range s.table.Held() {
		fmt.Fprintf(&b, "%s %s", []string{" Held:", ","}[min(i, 1)], valueLabel(axis.Name, axis.Values[0]))
	}
	if len(s.table.Held()) > 0 {
		b.WriteString(".")
	}
	if hidden := s.unseen(); len(hidden) > 0 {
		fmt.Fprintf(&b, " Its points differ in %s too.", strings.Join(hidden, " and "))
	}
	if words := missingWords(t.missing); words != "" {
		fmt.Fprintf(&b, " Without a number: %s.", words)
	}
	if s.table.Failed > 0 && t.most > t.least {
		b.WriteString(" Means are over the runs that ended well.")
	}
	return b.String()
}

// missingWords counts cells by why they have no number.
func missingWords(missing map[merged.Why]int) string {
	var parts []string
	for _, why := range []merged.Why{merged.Failed, merged.None, merged.Absent, merged.Uneven} {
		if n := missing[why]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, why))
		}
	}
	return strings.Join(parts, ", ")
}

// runs says how many points there are, and of how many replicates.
func (s *swept) runs() []string {
	runs := fmt.Sprintf("%d points of the sweep", s.table.Points)
	if s.table.Failed > 0 {
		runs += fmt.Sprintf(", %d of them failed", s.table.Failed)
	}
	replicates := s.table.Distinct("replicates")
	if len(replicates) == 1 && replicates[0] != "0" {
		runs += fmt.Sprintf(", %s replicates each", replicates[0])
	}
	return []string{runs}
}

// seeds returns the seeds of all runs.
func (s *swept) seeds() []uint64 {
	var seeds []uint64
	for _, text := range s.table.Distinct("seed") {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			seeds = append(seeds, n)
		}
	}
	return seeds
}

// fewSeeds is the number of seeds up to which an interval from their spread says little.
const fewSeeds = 3

// warnings says what the figure lacks.
func (s *swept) warnings(t *tally) []string {
	var all []string
	if hidden := s.unseen(); len(hidden) > 0 {
		all = append(all, fmt.Sprintf("%s: points differ in %s too, which the figure does not show", s.table.Figure, strings.Join(hidden, " and ")))
	}
	if t.most > 1 && t.most <= fewSeeds {
		wide := distuv.StudentsT{Sigma: 1, Nu: float64(t.most - 1)}.Quantile(0.975)
		all = append(all, fmt.Sprintf("%s: intervals are from %d seeds alone, and so %.1f standard errors to either side (Student's t); more seeds narrow them", s.table.Figure, t.most, wide))
	}
	if words := missingWords(t.missing); words != "" {
		all = append(all, fmt.Sprintf("%s: cells without a number: %s", s.table.Figure, words))
	}
	if s.table.Failed > 0 && t.most > t.least {
		all = append(all, fmt.Sprintf("%s: failed points are left out, so that numbers are means over %d to %d seeds", s.table.Figure, t.least, t.most))
	}
	return all
}
