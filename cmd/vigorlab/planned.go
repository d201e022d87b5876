package main

import (
	"fmt"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
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
	if p.Fastest.Strategy != "" {
		best.Add("per_second", output.Object{{Key: "fastest", Value: p.Fastest.Strategy}, {Key: "fastest_gain", Value: p.Fastest.PerSecond}, {Key: "gain", Value: gainInterval(p.PerSecond)}})
	} else {
		best.Add("per_second", output.Object{{Key: "fastest", Value: nil}, {Key: "fastest_gain", Value: nil}, {Key: "gain", Value: nil}, {Key: "reason", Value: p.noSeconds()}})
	}
	if p.Family.Asked() {
		beta := output.Object{{Key: "gof_p", Value: output.Finite(p.Family.P)}, {Key: "gof_p_se", Value: output.Finite(p.Family.PError)}, {Key: "spiked_p", Value: p.Family.SpikedP}}
		if p.Family.Untold {
			beta.Add("reason", noSizes)
		}
		best.Add("beta", beta)
	}
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
		table[i] = p.rowObject(row)
	}
	o.Add("table", table)
	simulated := make([]output.Object, len(p.Simulated))
	for i, s := range p.Simulated {
		simulated[i] = output.Object{
			{Key: "strategy", Value: s.Strategy},
			{Key: "provenance", Value: strategyProvenance(s.Strategy)},
			{Key: "gain", Value: finiteFigure(s.Finite)},
			{Key: "rounds", Value: s.Rounds},
			{Key: "seconds", Value: output.Finite(s.Seconds)},
			{Key: "gain_per_second", Value: output.Finite(s.PerSecond)},
		}
		if output.Finite(s.PerSecond) == nil {
			simulated[i].Add("reason", "seconds, gain_per_second: "+p.noSeconds())
		}
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
				{Key: "gain_per_second", Value: output.Finite(row.PerSecond)},
			})
			if output.Finite(row.PerSecond) == nil {
				front[len(front)-1].Add("reason", "seconds, gain_per_second: "+p.noSeconds())
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

// noSeconds says why there is no gain a second.
func (p *planned) noSeconds() string {
	if p.options.Clock == (plan.Clock{}) {
		return noClock
	}
	return noGain
}

func (p *planned) rowObject(row plan.Row) output.Object {
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
		{Key: "gain_per_second", Value: output.Finite(row.PerSecond)},
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
	if output.Finite(row.PerSecond) == nil {
		missing = append(missing, "gain_per_second: "+p.noSeconds())
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
		reason := p.Unscored
		if reason == "" {
			reason = "no prompt has more than one recorded row"
		}
		return output.Object{{Key: "times", Value: 0}, {Key: "reason", Value: reason}}
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
	if p.Fastest.Strategy != "" {
		between(p.Recommended, "best.gain_per_second", "", p.PerSecond)
		exact(p.Fastest.Strategy, "fastest.gain_per_second", "", p.Fastest.PerSecond, noGain)
	}
	if p.Other.Smooth != "" {
		exact(p.Best.Strategy, "best.other_law", "smooth="+p.Other.Smooth, p.Other.Gain, noGain)
	}
	for _, row := range p.Table {
		exact(row.Strategy, "table.gain", "", row.Gain, noGain)
		measured(row.Strategy, "table.finite_batch", row.Finite)
		exact(row.Strategy, "table.eta", "", row.Eta, noGain)
		exact(row.Strategy, "table.seconds", "", row.Seconds, noClock)
		exact(row.Strategy, "table.gain_per_second", "", row.PerSecond, p.noSeconds())
		for _, objective := range plan.Objectives() {
			exact(row.Strategy, "table.gains_rollout."+objective, "", row.Gains.Rollout.Of(objective), noGain)
			exact(row.Strategy, "table.gains_prompt."+objective, "", row.Gains.Prompt.Of(objective), noGain)
		}
	}
	for _, s := range p.Simulated {
		measured(s.Strategy, "simulated.gain", s.Finite)
		exact(s.Strategy, "simulated.rounds", "", float64(s.Rounds), "")
		exact(s.Strategy, "simulated.seconds", "", s.Seconds, noClock)
		exact(s.Strategy, "simulated.gain_per_second", "", s.PerSecond, p.noSeconds())
	}
	for _, f := range p.fronts() {
		for _, row := range f.rows {
			exact(row.Strategy, "front.gain", fmt.Sprintf("%s=%v", f.by, f.cost(row)), row.Gain, noGain)
			if p.timed() {
				exact(row.Strategy, "front.gain_per_second", fmt.Sprintf("%s=%v", f.by, f.cost(row)), row.PerSecond, noGain)
			}
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
	t.Note("gain          ", p.gainWords())
	if p.Other.Smooth != "" {
		t.Note("other law     ", fmt.Sprintf("%s by the %s fit, infinite batch", p.otherGain(), p.Other.Smooth))
	}
	switch {
	case output.Finite(p.Over.Estimate) == nil:
	case p.unchanged():
		t.Note("the default   ", fmt.Sprintf("%s loses: %s has %v times as much", shortSpec(p.options.Default()), shortSpec(p.Best.Strategy), p.Over))
	default:
		t.Note("over default  ", p.Over.String())
	}
	if output.Finite(p.PerSecond.Estimate) != nil {
		t.Note("a second      ", fmt.Sprintf("%v of %s, the seconds taken as they are", p.PerSecond, shortSpec(p.Recommended)))
	}
	for _, line := range p.Verdict {
		t.Note("verdict       ", p.shortened(line))
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

// shortened returns a line of the verdict with the specs in it as the tables
// print them.
func (p *planned) shortened(line string) string {
	for _, row := range p.Table {
		line = strings.ReplaceAll(line, row.Strategy, shortSpec(row.Strategy))
	}
	for _, s := range p.Simulated {
		line = strings.ReplaceAll(line, s.Strategy, shortSpec(s.Strategy))
	}
	return line
}

// unchanged reports whether fixed groups are the best there is, though there is
// something to gain from.
func (p *planned) unchanged() bool { return p.Best.Strategy == p.options.NoChange() && p.Best.Gain > 0 }

// gainWords says what the best strategy gains.
func (p *planned) gainWords() string {
	switch {
	case output.Finite(p.Gain.Estimate) == nil:
		return output.Absent
	case p.unchanged():
		return fmt.Sprintf("none: %s, which is no change, is the best of this budget", shortSpec(p.Best.Strategy))
	}
	return fmt.Sprintf("%v of %s", p.Gain, shortSpec(p.Best.Strategy))
}

// otherGain prints the gain by the other law as the gain itself is printed.
func (p *planned) otherGain() string {
	if output.Finite(p.Other.Gain) == nil {
		return output.Absent
	}
	return p.Gain.Like(p.Other.Gain)
}

// timed reports whether seconds are known.
func (p *planned) timed() bool { return p.options.Clock != (plan.Clock{}) }

// clocked appends what a step takes by the clock where that is known.
func (p *planned) clocked(cells []string, seconds, perSecond float64) []string {
	if !p.timed() {
		return cells
	}
	return append(cells, output.Number(output.Finite(seconds)), output.Number(output.Finite(perSecond)))
}

func (p *planned) tableText(t *output.Text) {
	t.Heading(fmt.Sprintf("Of %d schedules searched, the best and what to compare with", p.Evaluated))
	head := []string{"strategy", "gain", "this batch", "rounds", "largest", "prompts", "noise"}
	if p.timed() {
		head = append(head, "seconds", "gain/second")
	}
	g := output.Grid{Head: head}
	for _, row := range p.Table {
		gains := row.Gains.Under(p.options.Aggregate)
		cells := []string{
			shortSpec(row.Strategy), output.Number(output.Finite(row.Gain)), output.Measured(finiteFigure(row.Finite)),
			fmt.Sprint(row.Rounds), fmt.Sprint(row.Largest), fmt.Sprintf("%.4g", row.Prompts),
			output.Number(output.Finite(1 / gains.GradientVariance)),
		}
		g.Add(p.clocked(cells, row.Seconds, row.PerSecond)...)
	}
	t.Grid(g)
	t.Note("", fmt.Sprintf("gain: in the mean field, an infinite batch. this batch: simulated at %d prompts. The plan's own gain is the latter, "+
		"where it is simulated, less what the bootstrap finds that the choice promises too much.", p.options.Batch))
	if p.timed() {
		t.Note("", "gain/second: the gain over the seconds of a step, those of no change = 1.")
	}
	t.Note("", "prompts: trained on for each one of the batch. noise: relative variance of the gradient estimate a rollout, fixed groups = 1.")
	p.simulatedText(t)
}

// simulatedText prints the strategies without a mean field.
func (p *planned) simulatedText(t *output.Text) {
	if len(p.Simulated) == 0 {
		return
	}
	t.Heading("Also simulated on the law, in no search and no interval")
	head := []string{"strategy", "this batch", "rounds"}
	if p.timed() {
		head = append(head, "seconds", "gain/second")
	}
	g := output.Grid{Head: head}
	for _, s := range p.Simulated {
		rounds := fmt.Sprint(s.Rounds)
		if s.Rounds > p.options.MaxRounds {
			rounds += " > " + fmt.Sprint(p.options.MaxRounds)
		}
		g.Add(p.clocked([]string{labelSpec(s.Strategy), output.Measured(finiteFigure(s.Finite)), rounds}, s.Seconds, s.PerSecond)...)
	}
	t.Grid(g)
	var specs []string
	for _, s := range p.Simulated {
		specs = append(specs, s.Strategy)
	}
	if note, ok := rebuilt(specs); ok {
		t.Note("", note)
	}
}

func (p *planned) frontText(t *output.Text) {
	for _, f := range p.fronts() {
		if len(f.rows) == 0 {
			continue
		}
		t.Heading("Most gain for the " + f.axis)
		head := []string{"strategy", f.by, "gain"}
		if p.timed() {
			head = append(head, "gain/second")
		}
		g := output.Grid{Head: head}
		for _, row := range f.rows {
			cells := []string{shortSpec(row.Strategy), fmt.Sprintf("%.4g", f.cost(row)), output.Number(output.Finite(row.Gain))}
			if p.timed() {
				cells = append(cells, output.Number(output.Finite(row.PerSecond)))
			}
			g.Add(cells...)
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
		if p.Unscored != "" {
			t.Heading("The recorded past is not scored")
			t.Note("", p.Unscored)
		}
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
		g.Add(fmt.Sprint(s.Prompts), fmt.Sprint(s.Rollouts), s.Gain.String())
	}
	t.Grid(g)
}

// gainTitle says what is gained, as the title of an axis.
func (p *planned) gainTitle() string {
	return fmt.Sprintf("gain in %s, fixed groups = 1", p.options.Objective)
}

// drawings returns the law with the front, the fronts and the interval against
// the pilot's size.
func (p *planned) drawings() *gallery {
	o := &p.options
	g := newGallery("plan", figures.Caption{
		Populations: []string{p.subject}, Strategies: []string{p.Best.Strategy, o.Default(), o.NoChange()},
		Seeds: []uint64{o.Seed}, Commands: []string{p.reproduce},
	})
	worlds, batches := replicated(o.Worlds, "bootstrap samples of the pilot"), replicated(o.Replicates, "batches of %d prompts of each finalist", o.Batch)
	if data, ok := p.planFigure(); ok {
		c := &g.addWide("plan", "", &data).Caption
		c.What, c.Intervals = p.planWords()
		c.Replicates = p.orExact(append(worlds, batches...))
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
		what := "The most gain at each cost: exact for large batches, and simulated where there are intervals."
		if o.Replicates == 0 {
			what = "The most gain at each cost, exact for large batches."
		}
		c := &g.add("front-"+f.by, what, &plots.CurvesData{
			Title: "Front of gain against " + f.axis, X: f.axis, Stairs: true, Marks: true,
			Styles: [2]string{"mean field", fmt.Sprintf("batches of %d", p.options.Batch)},
			Panels: []plots.CurvesPanel{{Y: title, Lines: []plots.Line{line}, Reference: 1, Name: "no change"}},
		}).Caption
		c.Strategies = nil
		for _, row := range f.rows {
			c.Strategies = append(c.Strategies, row.Strategy)
		}
		c.Replicates, c.Intervals = p.orExact(batches), []string{normalBatches}
	}
	line := plots.Line{Label: p.subject}
	for _, s := range p.Sizes {
		if output.Finite(s.Gain.Low) != nil {
			line.First = append(line.First, plots.Point{X: float64(s.Prompts), Y: s.Gain.Estimate, Low: s.Gain.Low, High: s.Gain.High})
		}
	}
	if len(line.First) > 1 {
		c := &g.add("pilot", "The gain and the interval to expect of a pilot of so many prompts.", &plots.CurvesData{
			Title: "Interval of the gain against the size of the pilot", X: "prompts of the pilot", LogX: true,
			Panels: []plots.CurvesPanel{{Y: title, Lines: []plots.Line{line}, Reference: 1, Name: "no change"}},
		}).Caption
		c.Strategies = []string{p.Best.Strategy}
		c.Replicates, c.Intervals = worlds, []string{overPilots}
	}
	return g
}

const overPilots = "95 %, over bootstrap samples of the pilot"

// orExact says, where nothing was simulated, in which sense numbers are exact: a law
// that was fitted is an estimate all the same.
func (p *planned) orExact(replicates []string) []string {
	if len(replicates) > 0 || p.Pilot == nil {
		return replicates
	}
	return []string{"none, gains are exact for large batches of the law fitted to the pilot, whose error is not shown"}
}

// planWords says what the figure of the plan shows, and what its intervals are.
func (p *planned) planWords() (what string, intervals []string) {
	law, of := "", "95 %, Wilson's of the recorded shares"
	intervals = []string{of}
	if p.options.Worlds > 0 {
		law, intervals = "the middle 95 % of the bootstrap's laws and ", []string{overPilots, of}
		if p.options.Replicates > 0 {
			intervals[0] += " and over batches"
		}
	}
	return "Left: the law behind the pilot's counts over the recorded ones, with " + law +
		"Wilson's 95 % intervals. Right: the most gain at each cost, and schedules to compare with.", intervals
}
