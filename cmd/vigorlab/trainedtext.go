package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
)

// text prints the training runs for a terminal.
func (t *training) text(x *output.Text) {
	x.Command(t.reproduce)
	x.Blank()
	x.Note("", t.setting())
	names := t.names()
	for i, name := range names {
		const widest = 40 // beside figures
		if len(name) > widest {
			strategy, _, _ := strings.Cut(name, ":")
			if provenance(t.Arms[i].System) == reconstruction {
				strategy += ", " + reconstruction
			}
			names[i] = marked(t.Arms[i].Strategy, fmt.Sprintf("%s (%s)", strategy, letter(i)))
			x.Note(names[i]+"  ", name)
		}
	}
	for _, at := range []string{atBest, atCommon} {
		entries := t.at(at)
		if len(entries) == 0 {
			continue
		}
		x.Heading("Rollouts until " + t.goal())
		x.Note("", t.atWords(at)+":")
		x.Grid(t.targetGrid(names, entries))
	}
	entries := t.final()
	if len(entries) > 1 {
		x.Heading("Ratio to the reference by level of success")
		x.Note("", t.atWords(entries[0].at)+":")
		x.Grid(t.levelGrid(names, entries[1:]))
	}
	if g := t.withinGrid(names, entries); len(g.Rows) > 0 {
		x.Heading(withinHeading(names[0]))
		x.Note("", withinNote)
		x.Grid(g)
	}
	if g := t.ladderGrid(names, entries); len(g.Rows) > 0 {
		x.Heading(ladderHeading)
		x.Note("", ladderNote)
		x.Grid(g)
	}
	if g := t.otherUnits(names, entries); len(g.Rows) > 0 {
		x.Heading("In tokens, and at the price of the system")
		x.Grid(g)
	}
	if g := t.probeGrid(names, entries); len(g.Rows) > 0 {
		x.Heading("The gradient on the way to the target")
		x.Grid(g)
	}
	if g := t.diagnosticGrid(names, entries); len(g.Rows) > 0 {
		x.Heading("What the systems report")
		x.Grid(g)
	}
	if g := t.lagGrid(); len(g.Rows) > 0 {
		x.Heading("Quality against lag")
		x.Grid(g)
	}
	x.Heading("What the runs spent until they ended")
	x.Grid(t.ledgerGrid(names, entries))
	x.Blank()
	for _, line := range t.findings() {
		x.Note("", line)
	}
	for _, line := range t.footnotes() {
		x.Note("", line)
	}
}

// at returns the entries at a rate.
func (t *training) at(at string) []entry {
	return slices.DeleteFunc(t.entries(), func(e entry) bool { return e.at != at })
}

// final returns the entries that the conclusions rest on: those at their best
// rates, where there was one to choose.
func (t *training) final() []entry {
	if t.chose() {
		return t.at(atBest)
	}
	return t.at(atCommon)
}

func (t *training) atWords(at string) string {
	switch {
	case !t.chose():
		return fmt.Sprintf("all at the learning rate %s", brief(t.Rates[0]))
	case at == atCommon:
		return fmt.Sprintf("all at %s, the reference's best rate of the grid", brief(t.Rates[t.Common]))
	}
	return "each at its own best rate of the grid"
}

func brief(x float64) string { return output.Number(&x) }

// setting says what was run.
func (t *training) setting() string {
	f := t.flags
	chosen := "at one learning rate."
	if t.chose() {
		chosen = fmt.Sprintf("%d other seeds chose among %d learning rates.", t.ChooseSeeds, len(t.Rates))
	}
	return fmt.Sprintf("Policy %s on %d prompts of %s, %d groups a step, %s; %d seeds, %s",
		f.policy, f.prompts, t.population, f.cfg.Train.Batch, f.optimizer, t.Seeds, chosen)
}

func (t *training) targetGrid(names []string, entries []entry) output.Grid {
	percent := fmt.Sprintf("%.3g %%", 100*t.Level)
	g := output.Grid{Head: []string{"", "learning rate", "log odds", "reached", "median rollouts", percent, "ratio", percent}}
	for _, e := range entries {
		l := target(e.report)
		rate := brief(e.report.Rate)
		if t.chose() && e.at == atBest && e.Edge != "" {
			rate += " (" + e.Edge + ")"
		}
		g.Add(names[e.arm], rate, t.moveText(e.Estimator, e.report.Rate), fmt.Sprintf("%d of %d", l.Reached, l.Seeds),
			output.Number(l.Rollouts.Median.Estimate), ends(l.Rollouts.Median), ratioText(e.arm, l.Rollouts.Ratio.Figure), ratioEnds(e.arm, l.Rollouts.Ratio.Figure))
	}
	return g
}

// moveText prints by how much an epoch at a rate moves log odds.
func (t *training) moveText(estimator string, rate float64) string {
	m := t.flags.move(estimator, rate)
	if m == nil {
		return output.Absent
	}
	return fmt.Sprintf("%.2g", *m)
}

// ends prints an interval, whose upper end may not exist.
func ends(f trial.Figure) string {
	if f.Low == nil && f.High == nil {
		return output.Absent
	}
	return fmt.Sprintf("[%s, %s]", output.Number(f.Low), output.Number(f.High))
}

// ratioText prints a ratio; the reference has none to itself.
func ratioText(arm int, f trial.Figure) string {
	if arm == 0 {
		return "reference"
	}
	if f.Estimate == nil {
		return output.Absent
	}
	return fmt.Sprintf("%.3g", *f.Estimate)
}

func ratioEnds(arm int, f trial.Figure) string {
	if arm == 0 || f.Low == nil && f.High == nil {
		return output.Absent
	}
	end := func(x *float64) string {
		if x == nil {
			return output.Absent
		}
		return fmt.Sprintf("%.3g", *x)
	}
	return fmt.Sprintf("[%s, %s]", end(f.Low), end(f.High))
}

// levelGrid prints the ratios at about six levels, the target last.
func (t *training) levelGrid(names []string, entries []entry) output.Grid {
	const most = 6
	every := (len(t.Levels) + most - 1) / most
	g := output.Grid{Head: []string{""}}
	var shown []int
	for i, level := range t.Levels {
		if (len(t.Levels)-1-i)%every == 0 {
			shown = append(shown, i)
			g.Head = append(g.Head, fmt.Sprintf("p = %.3g", level))
		}
	}
	for _, e := range entries {
		cells := []string{names[e.arm]}
		for _, i := range shown {
			f := e.report.Levels[i].Rollouts.Ratio.Figure
			cell := ratioText(e.arm, f)
			if ends := ratioEnds(e.arm, f); ends != output.Absent {
				cell += " " + ends
			}
			cells = append(cells, cell)
		}
		g.Add(cells...)
	}
	return g
}

// withinHeading heads the ratios within systems; reference is the name of the reference.
func withinHeading(reference string) string {
	return "Ratio to " + reference + " under the same system"
}

// withinNote says what they compare.
const withinNote = "what the reference's strategy spends under an arm's own system, estimator and aggregation, at its own best rate of the grid, over what the arm spends:"

// withinGrid prints what a strategy is worth under its system, where the run has the
// reference's strategy there too.
func (t *training) withinGrid(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{"", "ratio", fmt.Sprintf("%.3g %%", 100*t.Level)}}
	for _, e := range entries {
		if w := target(e.report).Rollouts.Within; w != nil {
			g.Add(names[e.arm], ratioText(e.arm, w.Figure), ratioEnds(e.arm, w.Figure))
		}
	}
	return g
}

// What a ladder compares.
const (
	ladderHeading = "Increments: what each strategy has over the one before it"
	ladderNote    = "what the strategy before spends under the same estimator, aggregation and system over what the arm spends, paired by seed, above 1 a saving:"
)

// ladderGrid prints what every strategy has over the one before it, where a ladder
// was asked for.
func (t *training) ladderGrid(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{"", "ratio", fmt.Sprintf("%.3g %%", 100*t.Level)}}
	for _, e := range entries {
		if b := target(e.report).Rollouts.Before; b != nil {
			g.Add(names[e.arm], ratioText(e.arm, b.Figure), ratioEnds(e.arm, b.Figure))
		}
	}
	return g
}

// otherUnits prints ratios in tokens and in cost, where these differ from
// rollouts.
func (t *training) otherUnits(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{"", "median tokens", "ratio", "median cost", "ratio"}}
	for _, e := range entries {
		l := target(e.report)
		if l.Tokens == nil && l.Cost == nil {
			continue
		}
		cells := []string{names[e.arm]}
		for _, m := range []*trial.Measure{l.Tokens, l.Cost} {
			if m == nil {
				cells = append(cells, output.Absent, output.Absent)
				continue
			}
			cells = append(cells, output.Number(m.Median.Estimate), ratioText(e.arm, m.Ratio.Figure)+" "+ratioEnds(e.arm, m.Ratio.Figure))
		}
		g.Add(cells...)
	}
	return g
}

// probeGrid prints signal-to-noise, bias and length at the start and half way.
func (t *training) probeGrid(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{""}}
	const start, half = 0, 2
	for _, when := range []string{"at the start", "half way"} {
		for _, f := range []string{"SNR", "bias", "length"} {
			g.Head = append(g.Head, f+" "+when)
		}
	}
	for _, e := range entries {
		if len(e.report.Probes) == 0 {
			continue
		}
		cells := []string{names[e.arm]}
		for _, quarter := range []int{start, half} {
			i := slices.IndexFunc(e.report.Probes, func(p trial.ProbeResult) bool { return p.Quarter == quarter })
			if i < 0 {
				cells = append(cells, output.Absent, output.Absent, output.Absent)
				continue
			}
			for _, f := range probeFigures(&e.report.Probes[i]) {
				cells = append(cells, output.Measured(figure(f.estimate)))
			}
		}
		g.Add(cells...)
	}
	return g
}

// ledgerGrid prints what runs spent, in the columns that say more than others.
func (t *training) ledgerGrid(names []string, entries []entry) output.Grid {
	g := output.Grid{Head: []string{""}}
	extra := slices.ContainsFunc(t.records, func(r trial.Record) bool {
		return slices.ContainsFunc(r.Curve, func(p train.CurvePoint) bool { return p.Ledger.Extra > 0 })
	})
	for _, e := range entries {
		figures := slices.DeleteFunc(t.ledger(e), func(f estimate) bool {
			return f.name == "extra" && !extra || f.name == "cost" && target(e.report).Cost == nil
		})
		if len(g.Head) == 1 {
			for _, f := range figures {
				g.Head = append(g.Head, f.name)
			}
		}
		cells := []string{names[e.arm]}
		for _, f := range figures {
			cells = append(cells, output.Measured(figure(f.estimate)))
		}
		g.Add(cells...)
	}
	return g
}

// findings says in a sentence an arm what was seen at the target.
func (t *training) findings() []string {
	names := t.names()
	var lines []string
	for _, e := range t.final() {
		l := target(e.report)
		switch {
		case e.arm == 0 && l.Reached < l.Seeds:
			lines = append(lines, fmt.Sprintf("%s, the reference, reached the target on %d of %d seeds within %d rollouts.", names[0], l.Reached, l.Seeds, t.flags.cfg.Train.MaxRollouts))
		case e.arm > 0:
			lines = append(lines, finding(names[e.arm], names[0], l))
		}
	}
	return lines
}

func finding(name, reference string, l *trial.LevelResult) string {
	f := l.Rollouts.Ratio.Figure
	spends := fmt.Sprintf("the reference spends %s times as many (%s)", ratioText(1, f), ratioEnds(1, f))
	if f.Estimate == nil {
		spends = fmt.Sprintf("the interval of the ratio is %s", ratioEnds(1, f))
	}
	switch {
	case f.Estimate != nil && f.Low != nil && f.High != nil && *f.Low == 1 && *f.Estimate == 1 && *f.High == 1:
		return fmt.Sprintf("%s is identical to %s on every seed, in the rollouts that it needs.", name, reference)
	case f.Low != nil && *f.Low > 1:
		return fmt.Sprintf("%s needs fewer rollouts than %s: %s.", name, reference, spends)
	case f.High != nil && *f.High < 1:
		return fmt.Sprintf("%s needs more rollouts than %s: %s.", name, reference, spends)
	case f.Estimate == nil:
		return fmt.Sprintf("%s has no ratio: %s.", name, f.Reason)
	case f.Low == nil || f.High == nil:
		return fmt.Sprintf("%s: the reference spends %s times as many rollouts, without an interval: %s.", name, ratioText(1, f), f.Reason)
	}
	return fmt.Sprintf("%s cannot be told from %s: %s.", name, reference, spends)
}

// footnotes says what the figures mean, and what they do not.
func (t *training) footnotes() []string {
	lines := []string{
		fmt.Sprintf("rollouts are those generated until the true mean success, read after every step, first reached the target: Kaplan-Meier medians over seeds "+
			"with intervals of Brookmeyer and Crowley. A run that did not get there in %d rollouts or %d steps is censored.", t.flags.cfg.Train.MaxRollouts, t.flags.cfg.Train.MaxSteps),
		fmt.Sprintf("ratio is what the reference spent over what the arm spent on the same seed, above 1 a saving: the geometric mean where every run reached the "+
			"target, else the median, with a bootstrap interval of %d resamples of the seeds. Every interval stands alone at %.3g %%: of twenty arms like the "+
			"reference about one will seem to differ.", t.flags.cfg.Resamples, 100*t.Level),
	}
	lines = append(lines, fmt.Sprintf("log odds says what the learning rate beside it does: it moves log odds by up to so much an epoch, those of the prompt that moves most, to first order along "+
		"the exact gradient of groups of %d at the start, one update a step. A quarter is little, four much: what auto ranges over.", t.flags.group))
	if t.chose() {
		lines = append(lines, "The best rate of an arm was chosen on other seeds than those reported. Which one it is hangs on chance too, which no interval "+
			"knows of: arms that are alike may be reported at different rates, where they do differ, and more than one in twenty will seem to. At the common rate an arm that rescales the step is judged by "+
			"a rate that may suit the reference alone. Where prompts share nothing, as under logit, a group never lowers its prompt's success, and the "+
			"largest rate wins: look at the rollouts by learning rate in grids of --format json, or give --lr a small one.")
	}
	if t.flags.cfg.Probes {
		lines = append(lines, "SNR is the squared norm of the mean gradient over the variance of one step's, bias 1 less its cosine to the exact gradient of large groups, "+
			"length its length over that one's; - where the signal cannot be told from 0.")
	}
	lines = append(lines, t.diagnosticNotes()...)
	var specs []string
	for i := range t.Arms {
		specs = append(specs, t.Arms[i].Strategy)
	}
	if slices.ContainsFunc(specs, isControl) {
		lines = append(lines, controlNote)
	}
	if note, ok := rebuilt(specs); ok {
		lines = append(lines, note)
	}
	if len(t.lagLines()) > 0 {
		lines = append(lines, lagNote)
	}
	return append(lines, "Rewards are in {0, 1}. A policy this small has no generalisation but what its features share: the ratio is that of these prompts, this policy and this target.")
}

// report returns report.md: what was seen, with which test, and what not to
// conclude.
func (t *training) report() []byte {
	var b bytes.Buffer
	names := t.names()
	fmt.Fprintf(&b, "# Training runs\n\n    %s\n\n%s\n\n## What was seen\n\n", strings.ReplaceAll(t.reproduce, "\n", "\n    "), t.setting())
	for _, line := range append(t.findings(), t.byLevel(names)...) {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	for _, line := range t.warnings() {
		fmt.Fprintf(&b, "- Mind: %s.\n", line)
	}
	for _, at := range []string{atBest, atCommon} {
		if entries := t.at(at); len(entries) > 0 {
			fmt.Fprintf(&b, "\n## Rollouts until %s, %s\n\n", t.goal(), t.atWords(at))
			markdown(&b, t.targetGrid(names, entries))
		}
	}
	if g := t.withinGrid(names, t.final()); len(g.Rows) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", withinHeading(names[0]), withinNote)
		markdown(&b, g)
	}
	if g := t.ladderGrid(names, t.final()); len(g.Rows) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", ladderHeading, ladderNote)
		markdown(&b, g)
	}
	if g := t.diagnosticGrid(names, t.final()); len(g.Rows) > 0 {
		fmt.Fprintf(&b, "\n## What the systems report, %s\n\n", t.atWords(t.final()[0].at))
		markdown(&b, g)
	}
	if g := t.lagGrid(); len(g.Rows) > 0 {
		fmt.Fprintf(&b, "\n## Quality against lag, %s\n\n", t.atWords(t.final()[0].at))
		markdown(&b, g)
	}
	b.WriteString("\n## How it was measured\n\n")
	for _, line := range t.footnotes() {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	b.WriteString("\n## What not to conclude\n\n")
	for _, line := range []string{
		"That a ratio holds beyond this population, policy, target and batch: `vigorlab verify` tries a grid of them, and the ratio by level shows how it hangs on the target.",
		"That an arm at the common rate is better or worse by its allocation: it may only take longer steps. Its own best rate is the fairer figure.",
		"That rollouts are time: rounds run one after another, and harder prompts are usually longer. The ledger has rounds and, where answers have tokens, tokens.",
		"That a language model learns so: these policies have no more than their logits and features, and their exact success probabilities are read off, not estimated.",
	} {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	b.WriteString("\n## Figures\n\n")
	for _, p := range t.pictures() {
		fmt.Fprintf(&b, "![%s](figures/%s.png)\n\n*%s %s*\n\n", p.alt(), p.name, p.caption, t.setting())
	}
	return b.Bytes()
}

// byLevel says where on the way an arm saves and where not.
func (t *training) byLevel(names []string) []string {
	var lines []string
	for _, e := range t.final() {
		if e.arm == 0 {
			continue
		}
		var saves, loses []string
		for i := range e.report.Levels {
			f := e.report.Levels[i].Rollouts.Ratio.Figure
			at := fmt.Sprintf("%.3g", e.report.Levels[i].Level)
			switch {
			case f.Low != nil && *f.Low > 1:
				saves = append(saves, at)
			case f.High != nil && *f.High < 1:
				loses = append(loses, at)
			}
		}
		line := fmt.Sprintf("%s, level by level of success, each at the rate of the target: ", names[e.arm])
		switch {
		case len(saves)+len(loses) == 0:
			line += "told from the reference at none."
		default:
			line += fmt.Sprintf("fewer rollouts at %s; more at %s.", someOf(saves), someOf(loses))
		}
		lines = append(lines, line)
	}
	return lines
}

func someOf(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// markdown writes a grid as a table.
func markdown(b *bytes.Buffer, g output.Grid) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(g.Head, " | "), strings.Repeat("---|", len(g.Head)))
	for _, row := range g.Rows {
		cells := slices.Clone(row)
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}
