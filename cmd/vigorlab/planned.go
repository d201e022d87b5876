package main

import (
	"fmt"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/fit"
	"vigorlab/plots"
	"vigorlab/sim/plan"
)

// planned is what plan found.
type planned struct {
	reproduce string
	subject   string // the population's spec or the table's name
	options   plan.Options
	*plan.Result
}

func (p *planned) result() result[output.Row] {
	return result[output.Row]{p.document(), p.rows(), p.text}
}

const (
	noGain       = "no prompt has any reward variance, or the pilot shows none"
	noIntervals  = "nothing was bootstrapped or simulated, or the pilot is too small for an interval"
	noClock      = "no --round-latency or --rollout-seconds"
	notSimulated = "not simulated: exact at any batch, or --replicates 0"
)

// gainInterval returns an interval; ends that do not exist are null, and so
// is the estimate.
func gainInterval(i plan.Interval) output.Object {
	o := output.Object{
		{Key: "estimate", Value: output.Finite(i.Estimate)},
		{Key: "low", Value: output.Finite(i.Low)},
		{Key: "high", Value: output.Finite(i.High)},
	}
	switch {
	case output.Finite(i.Estimate) == nil:
		o.Add("reason", noGain)
	case output.Finite(i.Low) == nil:
		o.Add("reason", "low, high: "+noIntervals)
	}
	return o
}

// finiteFigure returns a simulated figure.
func finiteFigure(f plan.Finite) output.Figure {
	figure := output.Figure{Mean: output.Finite(f.Gain), SE: output.Finite(f.SE)}
	if figure.Mean == nil {
		figure.Reason = notSimulated
	}
	return figure
}

// gainNumbers are the gains of every objective, in their order.
func gainNumbers(g plan.Gains) output.Object {
	var o output.Object
	for _, objective := range plan.Objectives() {
		o.Add(strings.ReplaceAll(objective, "-", "_"), output.Finite(g.Of(objective)))
	}
	for _, field := range o {
		if field.Value.(*float64) == nil {
			o.Add("reason", noGain)
			break
		}
	}
	return o
}

// document returns the JSON document of the command contract.
func (p *planned) document() output.Object {
	o := header("plan").Object()
	o.Add("strategy", p.Recommended)
	o.Add("subject", p.subject)
	o = append(o, optionFields(p.options)...)
	o.Add("seed", p.options.Seed)
	best := output.Object{
		{Key: "strategy", Value: p.Best.Strategy},
		{Key: "gain", Value: gainInterval(p.Gain)},
		{Key: "verdict", Value: strings.Join(p.Verdict, "; ")},
		{Key: "do_not_bother", Value: p.DoNotBother},
		{Key: "recommended", Value: p.Recommended},
	}
	over := gainInterval(p.Over)
	if output.Finite(p.Over.Estimate) == nil {
		over = append(over[:3], output.Field{Key: "reason", Value: "the default schedule does not fit the budget and its limits, or has no gain"})
	}
	best.Add("over_default", over)
	if p.Other.Smooth != "" {
		other := output.Object{{Key: "smooth", Value: p.Other.Smooth}, {Key: "gain", Value: output.Finite(p.Other.Gain)}}
		if output.Finite(p.Other.Gain) == nil {
			other.Add("reason", noGain)
		}
		best.Add("other_law", other)
	}
	o.Add("best", best)
	o.Add("evaluated", p.Evaluated)
	table := make([]output.Object, len(p.Table))
	for i, row := range p.Table {
		table[i] = rowObject(row)
	}
	o.Add("table", table)
	simulated := make([]output.Object, len(p.Simulated))
	for i, s := range p.Simulated {
		simulated[i] = output.Object{{Key: "strategy", Value: s.Strategy}, {Key: "gain", Value: finiteFigure(s.Finite)}}
	}
	o.Add("simulated", simulated)
	front := []output.Object{}
	for _, f := range p.fronts() {
		for _, row := range f.rows {
			front = append(front, output.Object{
				{Key: "by", Value: f.by},
				{Key: "strategy", Value: row.Strategy},
				{Key: "rounds", Value: row.Rounds},
				{Key: "seconds", Value: output.Finite(row.Seconds)},
				{Key: "gain", Value: output.Finite(row.Gain)},
			})
			if output.Finite(row.Seconds) == nil {
				front[len(front)-1].Add("reason", "seconds: "+noClock)
			}
		}
	}
	o.Add("front", front)
	o.Add("theorem2", p.theorem())
	o.Add("validation", p.validation())
	pilot := make([]output.Object, len(p.Sizes))
	for i, s := range p.Sizes {
		pilot[i] = output.Object{{Key: "prompts", Value: s.Prompts}, {Key: "rollouts", Value: s.Rollouts}, {Key: "gain", Value: gainInterval(s.Gain)}}
	}
	o.Add("pilot", pilot)
	o.Add("warnings", append([]string{}, p.Warnings...))
	return o
}

func rowObject(row plan.Row) output.Object {
	o := output.Object{
		{Key: "strategy", Value: row.Strategy},
		{Key: "gain", Value: output.Finite(row.Gain)},
		{Key: "finite_batch", Value: finiteFigure(row.Finite)},
		{Key: "rounds", Value: row.Rounds},
		{Key: "rollouts_per_prompt", Value: row.Rollouts},
		{Key: "prompts_per_prompt", Value: row.Prompts},
		{Key: "largest_group", Value: row.Largest},
		{Key: "eta", Value: output.Finite(row.Eta)},
		{Key: "seconds", Value: output.Finite(row.Seconds)},
		{Key: "gains_rollout", Value: gainNumbers(row.Gains.Rollout)},
		{Key: "gains_prompt", Value: gainNumbers(row.Gains.Prompt)},
	}
	var missing []string
	if output.Finite(row.Gain) == nil {
		missing = append(missing, "gain, eta: "+noGain)
	}
	if output.Finite(row.Seconds) == nil {
		missing = append(missing, "seconds: "+noClock)
	}
	if len(missing) > 0 {
		o.Add("reason", strings.Join(missing, "; "))
	}
	return o
}

// theorem returns Theorem 2 and its caps for the best schedule.
func (p *planned) theorem() output.Object {
	if p.Theory == nil {
		return output.Object{{Key: "eta", Value: nil}, {Key: "reason", Value: "the best strategy is a fixed group"}}
	}
	o := output.Object{{Key: "strategy", Value: p.Best.Strategy}, {Key: "eta", Value: numbersOf(etaNumbers(p.Theory.Eta))}}
	var speedup output.Object
	for _, s := range p.Theory.Speedup {
		speedup.Add(s.Exponent.Name, numbersOf(etaNumbers(s.Etas)))
	}
	o.Add("speedup", speedup)
	return o
}

// validation returns the scores of the recorded past.
func (p *planned) validation() output.Object {
	v := p.Validation
	if v == nil {
		return output.Object{{Key: "times", Value: 0}, {Key: "reason", Value: "no recorded visits enough: 40 prompts of 10 visits at least"}}
	}
	o := output.Object{
		{Key: "times", Value: v.Times},
		{Key: "prompts", Value: v.Prompts},
		{Key: "hindsight", Value: finiteFigure(v.Hindsight)},
	}
	weights := make([]output.Object, len(v.Weights))
	for i, w := range v.Weights {
		weights[i] = output.Object{{Key: "visits", Value: w.Visits}, {Key: "gain", Value: finiteFigure(w.Gain)}}
	}
	o.Add("weights", weights)
	if s := v.Schedule; s != nil {
		o.Add("schedule", output.Object{{Key: "promised", Value: s.Promised}, {Key: "kept", Value: s.Kept}})
	} else {
		o.Add("schedule", nil)
		o.Add("reason", "schedule: "+noGain+fmt.Sprintf(", or 5 visits have more than %d rollouts", fit.MaxRollouts))
	}
	return o
}

// A front is one of the fronts, and what its cost is.
type front struct {
	by, axis string
	rows     []plan.Row
	cost     func(plan.Row) float64
}

func (p *planned) fronts() []front {
	return []front{
		{"rounds", "sequential rounds of a step", p.Front.Rounds, func(r plan.Row) float64 { return float64(r.Rounds) }},
		{"seconds", "seconds of a step", p.Front.Clock, func(r plan.Row) float64 { return r.Seconds }},
	}
}

// rows returns the tidy table.
func (p *planned) rows() []output.Row {
	var rows []output.Row
	at := func(strategy, figure, at string) *output.Row {
		rows = append(rows, output.Row{
			Population: p.subject, Strategy: strategy, Figure: figure, At: at,
			Seed: p.options.Seed, Coding: output.Signed,
		})
		return &rows[len(rows)-1]
	}
	exact := func(strategy, figure, where string, x float64, missing string) {
		r := at(strategy, figure, where)
		if r.Value = output.Finite(x); r.Value == nil {
			r.Reason = missing
		}
	}
	between := func(strategy, figure, where string, i plan.Interval) {
		level := 0.95
		r := at(strategy, figure, where)
		r.Value, r.Low, r.High = output.Finite(i.Estimate), output.Finite(i.Low), output.Finite(i.High)
		if r.Low != nil {
			r.Level = &level
		}
		if r.Value == nil {
			r.Reason = noGain
		}
	}
	measured := func(strategy, figure string, f plan.Finite) {
		r := at(strategy, figure, "")
		*r = r.Fill(finiteFigure(f))
		r.Replicates = int64(p.options.Replicates)
	}
	between(p.Best.Strategy, "best.gain", "", p.Gain)
	between(p.Best.Strategy, "best.over_default", "", p.Over)
	if p.Other.Smooth != "" {
		exact(p.Best.Strategy, "best.other_law", "smooth="+p.Other.Smooth, p.Other.Gain, noGain)
	}
	for _, row := range p.Table {
		exact(row.Strategy, "table.gain", "", row.Gain, noGain)
		measured(row.Strategy, "table.finite_batch", row.Finite)
		exact(row.Strategy, "table.eta", "", row.Eta, noGain)
		exact(row.Strategy, "table.seconds", "", row.Seconds, noClock)
		for _, objective := range plan.Objectives() {
			exact(row.Strategy, "table.gains_rollout."+objective, "", row.Gains.Rollout.Of(objective), noGain)
			exact(row.Strategy, "table.gains_prompt."+objective, "", row.Gains.Prompt.Of(objective), noGain)
		}
	}
	for _, s := range p.Simulated {
		measured(s.Strategy, "simulated.gain", s.Finite)
	}
	for _, f := range p.fronts() {
		for _, row := range f.rows {
			exact(row.Strategy, "front.gain", fmt.Sprintf("%s=%v", f.by, f.cost(row)), row.Gain, noGain)
		}
	}
	for _, s := range p.Sizes {
		between(p.Best.Strategy, "pilot.gain", fmt.Sprintf("prompts=%d", s.Prompts), s.Gain)
	}
	return rows
}

// text prints the plan for a terminal.
func (p *planned) text(t *output.Text) {
	o := p.options
	t.Command(p.reproduce)
	t.Blank()
	t.Note("plan for      ", p.subject)
	if p.Pilot != nil {
		t.Note("pilot         ", fmt.Sprintf("%d prompts, %d rollouts; %s fit: E[p] %.3g, E[u] %.3g", p.Pilot.Prompts(), p.Pilot.Rollouts(), o.Smooth, p.Law.MeanP(), p.Law.MeanU()))
	}
	t.Note("budget        ", fmt.Sprintf("%d rollouts a prompt within %.3g %%, %d prompts a step", o.Group, 100*o.Tolerance, o.Batch))
	t.Note("objective     ", fmt.Sprintf("%s under %s-mean, over fixed groups that spend as much", o.Objective, o.Aggregate))
	t.Heading("Plan")
	t.Note("strategy      ", shortSpec(p.Recommended))
	t.Note("gain          ", fmt.Sprintf("%s of %s", between(p.Gain), shortSpec(p.Best.Strategy)))
	if p.Other.Smooth != "" {
		t.Note("other law     ", fmt.Sprintf("%s by the %s fit, infinite batch", output.Number(output.Finite(p.Other.Gain)), p.Other.Smooth))
	}
	if output.Finite(p.Over.Estimate) != nil {
		t.Note("over default  ", between(p.Over))
	}
	for _, line := range p.Verdict {
		t.Note("verdict       ", line)
	}
	p.tableText(t)
	p.frontText(t)
	p.theoremText(t)
	p.validationText(t)
	p.pilotText(t)
	t.Blank()
	t.Note("", "The gain is of one step's expected update on prompts as they are now, in the mean field of an infinite batch, "+
		"moved to this batch by simulation; intervals are 95 %, of the plan chosen, choosing included. "+
		"It is no promise of training time. Rewards are in {-1, +1}.")
}

// between prints an interval after its estimate.
func between(i plan.Interval) string {
	x := output.Number(output.Finite(i.Estimate))
	if output.Finite(i.Low) == nil {
		return x
	}
	return x + " " + output.Between(i.Low, i.High)
}

func (p *planned) tableText(t *output.Text) {
	t.Heading(fmt.Sprintf("Of %d schedules searched, the best and what to compare with", p.Evaluated))
	g := output.Grid{Head: []string{"strategy", "gain", "this batch", "rounds", "largest", "prompts", "noise"}}
	for _, row := range p.Table {
		gains := row.Gains.Under(p.options.Aggregate)
		g.Add(shortSpec(row.Strategy), output.Number(output.Finite(row.Gain)), output.Measured(finiteFigure(row.Finite)),
			fmt.Sprint(row.Rounds), fmt.Sprint(row.Largest), fmt.Sprintf("%.4g", row.Prompts),
			output.Number(output.Finite(1/gains.GradientVariance)))
	}
	t.Grid(g)
	t.Note("", "prompts: trained on for each one of the batch. noise: relative variance of the gradient estimate a rollout, fixed groups = 1.")
	for _, s := range p.Simulated {
		t.Note("also simulated  ", fmt.Sprintf("%s: %s", shortSpec(s.Strategy), output.Measured(finiteFigure(s.Finite))))
	}
}

func (p *planned) frontText(t *output.Text) {
	for _, f := range p.fronts() {
		if len(f.rows) == 0 {
			continue
		}
		t.Heading("Most gain for the " + f.axis)
		g := output.Grid{Head: []string{"strategy", f.by, "gain"}}
		for _, row := range f.rows {
			g.Add(shortSpec(row.Strategy), fmt.Sprintf("%.4g", f.cost(row)), output.Number(output.Finite(row.Gain)))
		}
		t.Grid(g)
	}
}

func (p *planned) theoremText(t *output.Text) {
	if p.Theory == nil {
		return
	}
	t.Heading("Theorem 2 and its caps for the best schedule")
	t.Grid((&prediction{Prediction: p.Theory}).etaGrid())
}

func (p *planned) validationText(t *output.Text) {
	v := p.Validation
	if v == nil {
		return
	}
	t.Heading(fmt.Sprintf("The recorded past scored on the next 5 visits, mean over %d times", v.Times))
	g := output.Grid{Head: []string{"", "gain"}}
	g.Add("weights in hindsight, their own claim", output.Measured(finiteFigure(v.Hindsight)))
	for _, w := range v.Weights {
		g.Add(fmt.Sprintf("weights by past visits, the last %d", w.Visits), output.Measured(finiteFigure(w.Gain)))
	}
	if s := v.Schedule; s != nil {
		g.Add("schedule chosen on the last 5 visits, promised", output.Number(&s.Promised))
		g.Add("the same, by the law of the next 5", output.Number(&s.Kept))
	}
	t.Grid(g)
}

func (p *planned) pilotText(t *output.Text) {
	if len(p.Sizes) == 0 {
		return
	}
	t.Heading("How large a pilot: the interval to expect")
	g := output.Grid{Head: []string{"prompts", "rollouts each", "gain"}}
	for _, s := range p.Sizes {
		g.Add(fmt.Sprint(s.Prompts), fmt.Sprint(s.Rollouts), between(s.Gain))
	}
	t.Grid(g)
}

// gainTitle says what is gained, as the title of an axis.
func (p *planned) gainTitle() string {
	return fmt.Sprintf("gain in %s, fixed groups = 1", p.options.Objective)
}

// drawings returns the law with the front, the fronts and the interval against
// the pilot's size.
func (p *planned) drawings() ([]drawing, error) {
	var g gallery
	if data, ok := p.planFigure(); ok {
		g.addWide("plan", plots.TwoColumn, func() (plots.Figure, error) { return plots.Plan(data) })
	}
	title := p.gainTitle()
	for _, f := range p.fronts() {
		line := plots.Line{Label: p.subject}
		for _, row := range f.rows {
			line.First = append(line.First, plots.At(f.cost(row), row.Gain))
			if s := row.Finite; output.Finite(s.Gain) != nil {
				const normal = 1.959963984540054 // 95 %
				line.Second = append(line.Second, plots.Point{X: f.cost(row), Y: s.Gain, Low: s.Gain - normal*s.SE, High: s.Gain + normal*s.SE})
			}
		}
		if len(line.First) < 2 {
			continue
		}
		g.add("front-"+f.by, func() (plots.Figure, error) {
			return plots.Curves(plots.CurvesData{
				Title: "Front of gain against " + f.axis, X: f.axis,
				Styles: [2]string{"mean field", fmt.Sprintf("batches of %d", p.options.Batch)},
				Panels: []plots.CurvesPanel{{Y: title, Lines: []plots.Line{line}, Reference: 1, Name: "no change"}},
			})
		})
	}
	line := plots.Line{Label: p.subject}
	for _, s := range p.Sizes {
		if output.Finite(s.Gain.Low) != nil {
			line.First = append(line.First, plots.Point{X: float64(s.Prompts), Y: s.Gain.Estimate, Low: s.Gain.Low, High: s.Gain.High})
		}
	}
	if len(line.First) > 1 {
		g.add("pilot", func() (plots.Figure, error) {
			return plots.Curves(plots.CurvesData{
				Title: "Interval of the gain against the size of the pilot", X: "prompts of the pilot", LogX: true,
				Panels: []plots.CurvesPanel{{Y: title, Lines: []plots.Line{line}, Reference: 1, Name: "no change"}},
			})
		})
	}
	return g.drawings, g.err
}
