package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/spec"
	"vigorlab/plots"
	"vigorlab/sim/strategy"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
)

// diagnosticsOf returns the documents of what a system reports.
func diagnosticsOf(r *trial.Report) []output.Object {
	documents := []output.Object{}
	for _, d := range r.Diagnostics {
		f := figure(d.Estimate)
		o := output.Object{
			{Key: "name", Value: d.Name},
			{Key: "mean", Value: f.Mean},
			{Key: "se", Value: f.SE},
			{Key: "seeds", Value: d.Seeds},
		}
		if f.Reason != "" {
			o.Add("reason", f.Reason)
		}
		documents = append(documents, o)
	}
	return documents
}

// diagnosticRows returns the rows of what a system reports, and of the success
// that runs ended with.
func diagnosticRows(base trainRow, r *trial.Report) []trainRow {
	base.Figure = "success"
	rows := []trainRow{base.fill(figure(r.Success))}
	for _, d := range r.Diagnostics {
		base.Figure, base.Seeds = "diagnostics."+d.Name, int64(d.Seeds)
		rows = append(rows, base.fill(figure(d.Estimate)))
	}
	return rows
}

// infoOf returns what is known of a spec's system, nil for none.
func infoOf(system string) *train.SystemInfo {
	for _, s := range train.Systems() {
		if isSpecOf(system, s.Name) {
			return &s
		}
	}
	return nil
}

// diagnosticGrid prints what the systems report.
func (t *training) diagnosticGrid(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{"", "figure", "mean over a run"}, Left: 2}
	for _, e := range entries {
		name := names[e.arm]
		for _, d := range e.report.Diagnostics {
			g.Add(name, d.Name, output.Measured(figure(d.Estimate)))
			name = ""
		}
	}
	return g
}

// diagnosticNotes says what the figures of the arms' systems are.
func (t *training) diagnosticNotes() []string {
	var notes []string
	for _, s := range train.Systems() {
		if len(s.Diagnostics) == 0 || !slices.ContainsFunc(t.Arms, func(a trial.ArmResult) bool { return isSpecOf(a.System, s.Name) }) {
			continue
		}
		var words []string
		for _, d := range s.Diagnostics {
			words = append(words, d.Name+" is the "+strings.TrimPrefix(d.Doc, "the "))
		}
		name := s.Name
		if s.Provenance == reconstruction {
			name += " (" + reconstruction + ")"
		}
		notes = append(notes, fmt.Sprintf("%s: %s. Means over the steps of a run, then over seeds; a step at which a figure does not exist is left out.", name, strings.Join(words, "; ")))
	}
	return notes
}

// systemPictures returns a figure of what every system reports along training, a
// panel a figure.
func (t *training) systemPictures() []picture {
	var pictures []picture
	for _, s := range train.Systems() {
		p := picture{
			name:  "system-diagnostics-" + s.Name,
			curve: true,
			data:  plots.CurvesData{Title: "What " + s.Name + " reports", X: "steps"},
		}
		var words []string
		for _, d := range s.Diagnostics {
			if panel := t.panelOf(s.Name, d); len(withLines([]plots.CurvesPanel{panel})) > 0 {
				p.data.Panels = append(p.data.Panels, panel)
				words = append(words, strings.ReplaceAll(d.Doc, "^2", "²")+" (in the results: "+d.Name+")")
			}
		}
		p.caption = "What " + s.Name + " reports, means over the steps since the point before. In the order of the panels: " + strings.Join(words, "; ") + "."
		if s.Provenance == reconstruction {
			p.caption = "A " + reconstruction + ". " + p.caption
		}
		pictures = append(pictures, p)
	}
	return pictures
}

// panelOf returns a figure of a system, arm by arm.
func (t *training) panelOf(system string, d train.Figure) plots.CurvesPanel {
	panel := plots.CurvesPanel{Y: d.Title, Reference: math.NaN()}
	names := t.names()
	for _, e := range t.final() {
		if isSpecOf(e.System, system) && len(panel.Lines) < mostCurves {
			panel.Lines = append(panel.Lines, plots.Line{Label: names[e.arm], First: along(e.report, "", trial.DiagnosticSeries+d.Name)})
		}
	}
	return panel
}

// A lagLine is arms that differ in the lag of their system alone.
type lagLine struct {
	label string
	arms  []lagged // by lag
}

type lagged struct {
	lag int
	entry
}

// lagLines returns every such set of two arms or more, at the rates that the
// conclusions rest on.
func (t *training) lagLines() []lagLine {
	var arms []trial.ArmResult // with systems without lag
	byArm := map[string][]lagged{}
	for _, e := range t.final() {
		lag, rest, ok := withoutLag(e.System)
		if !ok {
			continue
		}
		a := trial.ArmResult{Strategy: e.Strategy, Estimator: e.Estimator, Aggregate: e.Aggregate, System: rest}
		key := fmt.Sprint(a)
		if byArm[key] == nil {
			arms = append(arms, a)
		}
		byArm[key] = append(byArm[key], lagged{lag, e})
	}
	arms = slices.DeleteFunc(arms, func(a trial.ArmResult) bool { return len(byArm[fmt.Sprint(a)]) < 2 })
	names := (&training{Result: &trial.Result{Arms: arms}}).names()
	var lines []lagLine
	for i, a := range arms {
		some := byArm[fmt.Sprint(a)]
		slices.SortFunc(some, func(a, b lagged) int { return cmp.Compare(a.lag, b.lag) })
		lines = append(lines, lagLine{names[i], some})
	}
	return lines
}

// withoutLag takes the lag out of a system's spec; ok is false where it has none.
func withoutLag(system string) (lag int, rest string, ok bool) {
	s, err := spec.Parse(system)
	if err != nil {
		return 0, "", false // no system
	}
	s.Params = slices.DeleteFunc(s.Params, func(p spec.Param) bool {
		if p.Key != "lag" {
			return false
		}
		lag, err = strconv.Atoi(p.Value)
		ok = err == nil
		return true
	})
	return lag, s.String(), ok
}

// updatesOf returns the model updates of a step under a system, by epoch, and its lag in
// them.
func updatesOf(system string) (updates, lag int) {
	updates = 1
	s, err := spec.Parse(system)
	if err != nil {
		return updates, 0 // no system
	}
	for _, p := range s.Params {
		n, err := strconv.Atoi(p.Value)
		switch {
		case err != nil:
		case p.Key == "updates":
			updates = n
		case p.Key == "lag":
			lag = n
		}
	}
	return updates, lag
}

// fewLags is a number of lags that a run should outlast: until the first is over all
// answers are those of the initial policy.
const fewLags = 3

// unlikeUpdates warns of arms that make other numbers of updates a step than the
// reference, and of runs that ended before staleness could tell.
func (t *training) unlikeUpdates(names []string) []string {
	var warnings []string
	reference, _ := updatesOf(t.Arms[0].System)
	for i := range t.Arms {
		updates, lag := updatesOf(t.Arms[i].System)
		if updates != reference {
			warnings = append(warnings, fmt.Sprintf("%s makes %d updates a step, the reference %d, so that their ratio mixes updates with what the system does: the fair control is the same system with lag=0",
				names[i], updates, reference))
		}
		short, runs := 0, 0
		for k := range t.records {
			r := &t.records[k]
			if r.Phase != trial.PhaseReport || r.Arm != i || lag == 0 {
				continue
			}
			runs++
			if r.End.Step*updates <= fewLags*lag {
				short++
			}
		}
		if short > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %d of %d runs ended within %d lags, where many answers are still those of the initial policy: a smaller --lr or lag, or a higher --target", names[i], short, runs, fewLags))
		}
	}
	return warnings
}

// shortSystem leaves out of a system's spec what it has by default.
func shortSystem(system string) string {
	s, err := spec.Parse(system)
	info := infoOf(system)
	if err != nil || info == nil {
		return system
	}
	s.Params = slices.DeleteFunc(s.Params, func(p spec.Param) bool {
		return slices.ContainsFunc(info.Parameters, func(k strategy.Parameter) bool { return k.Name == p.Key && k.Default == p.Value })
	})
	return s.String()
}

// lagGrid prints how arms end by the lag of their answers.
func (t *training) lagGrid() output.Grid {
	g := output.Grid{Head: []string{"", "lag", "learning rate", "success at the end", "reached", "median rollouts", fmt.Sprintf("%.3g %%", 100*t.Level)}}
	for _, l := range t.lagLines() {
		label := l.label
		for _, a := range l.arms {
			last := target(a.report)
			g.Add(label, strconv.Itoa(a.lag), brief(a.report.Rate), output.Measured(figure(a.report.Success)),
				fmt.Sprintf("%d of %d", last.Reached, last.Seeds), output.Number(last.Rollouts.Median.Estimate), ends(last.Rollouts.Median))
			label = ""
		}
	}
	return g
}

// lagNote says how to read lag against quality.
const lagNote = "lag counts model updates since the policy that answered. A run ends at the target, so that success at the end tells arms apart where the target was out of reach, and the rollouts to it elsewhere."

// lagPicture returns quality against lag.
func (t *training) lagPicture() picture {
	success := plots.CurvesPanel{Y: "mean success at the end", Reference: t.Target, Name: "target"}
	rollouts := plots.CurvesPanel{Y: "median rollouts to target", Reference: math.NaN()}
	for _, l := range t.lagLines() {
		s, r := plots.Line{Label: l.label}, plots.Line{Label: l.label}
		for _, a := range l.arms {
			x := float64(a.lag)
			low, high := a.report.Success.Interval95()
			s.First = append(s.First, plots.Point{X: x, Y: a.report.Success.Mean, Low: low, High: high})
			if p, ok := pointOf(x, target(a.report).Rollouts.Median); ok {
				r.First = append(r.First, p)
			}
		}
		success.Lines, rollouts.Lines = append(success.Lines, s), append(rollouts.Lines, r)
	}
	return picture{name: "lag-quality", caption: "Quality against lag, the model updates since the policy that answered; a lag without a point was never enough.", data: plots.CurvesData{
		Title: "Quality against lag", X: "lag in model updates", Panels: []plots.CurvesPanel{success, rollouts},
	}}
}
