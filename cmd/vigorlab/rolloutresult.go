package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
	"vigorlab/sim"
	"vigorlab/sim/source/live"
	"vigorlab/sim/strategy"
)

// result returns what the run found in each format.
func (r *rolled) result() result[output.Row] {
	outcome := r.seen.Outcome()
	return result[output.Row]{r.document(&outcome), r.rows(&outcome), func(t *output.Text) { r.text(t, &outcome) }}
}

// comparison returns the run as a comparison of one strategy, which knows how to
// lay its figures out.
func (r *rolled) comparison(o *sim.Outcome) *comparison {
	return &comparison{
		command: "rollout", reproduce: r.reproduce, subject: r.subject, population: r.name,
		Result: &sim.Result{
			Batch: r.batch, Replicates: 1, Seed: r.flags.seed, Aggregate: sim.AggregateRollout, Strategies: []sim.Outcome{*o},
		},
	}
}

// What a round was for.
const (
	forChoice  = "choose"
	forFresh   = "fresh groups"
	forHoldout = "hold out"
)

// purpose says what a round was for, by its number from 0.
func (r *rolled) purpose(round int) string {
	switch {
	case round < len(r.seen.Rounds):
		return forChoice
	case round == len(r.seen.Rounds) && r.seen.Fresh != nil:
		return forFresh
	}
	return forHoldout
}

// costFigures returns the figures of a cost by name; unused are rollouts paid for
// beside those that count, a part of the ledger's extra ones, as the held-out ones
// are. Only a server takes time that means anything, and truncates.
func (r *rolled) costFigures(c live.Cost) output.Object {
	o := output.Object{{Key: "rollouts", Value: c.Rollouts}, {Key: "unused", Value: c.Extra}}
	if r.tokens {
		o.Add("tokens_out", c.Tokens)
	}
	if r.served {
		o.Add("tokens_in", c.PromptTokens)
		o.Add("truncated", c.Truncated)
		o.Add("seconds", c.Seconds)
		o.Add("kept", c.Kept)
	}
	return o
}

// total returns the cost of all rounds.
func (r *rolled) total() live.Cost {
	var sum live.Cost
	for _, c := range r.rounds {
		sum = sum.Plus(c)
	}
	return sum
}

// document returns the JSON document.
func (r *rolled) document(outcome *sim.Outcome) output.Object {
	o := header("rollout").Object()
	o = append(o, r.subject...)
	o.Add("batch", r.batch)
	o.Add("holdout", r.flags.holdout)
	o.Add("seed", r.flags.seed)
	figures := slices.DeleteFunc(outcomeDocument(outcome), func(f output.Field) bool {
		return slices.Contains([]string{"eta_batch_mean", "screening", "allocation"}, f.Key) // of many batches, or of known p
	})
	o = append(o, figures...)
	o.Add("variance", figure(r.seen.Variance()))
	l := r.seen.Ledger
	ledger := output.Object{
		{Key: "generated", Value: l.Generated}, {Key: "extra", Value: l.Extra}, {Key: "held_out", Value: r.flags.holdout * r.batch}, {Key: "trained", Value: l.Trained}, {Key: "rounds", Value: l.Rounds},
	}
	if r.tokens {
		ledger.Add("tokens_out", l.GeneratedTokens)
	}
	if r.served {
		total := r.total()
		ledger.Add("tokens_in", total.PromptTokens)
		ledger.Add("truncated", total.Truncated)
		ledger.Add("seconds", total.Seconds)
	}
	o.Add("ledger", ledger)
	rounds := make([]output.Object, len(r.rounds))
	for i, c := range r.rounds {
		rounds[i] = append(output.Object{{Key: "round", Value: i + 1}, {Key: "purpose", Value: r.purpose(i)}}, r.costFigures(c)...)
	}
	o.Add("rounds", rounds)
	o.Add("judged", r.kept.kinds)
	o.Add("warnings", append([]string{}, r.warnings()...))
	return o
}

// rows returns the tidy table: one row a figure.
func (r *rolled) rows(outcome *sim.Outcome) []output.Row {
	rows := slices.DeleteFunc(r.comparison(outcome).rows(), func(row output.Row) bool { return row.Figure == "eta_batch_mean" })
	add := func(name, at string, f output.Figure) {
		rows = append(rows, output.Row{
			Population: r.name, Strategy: outcome.Strategy, Figure: name, At: at, Replicates: 1, Seed: r.flags.seed, Coding: output.Signed,
		}.Fill(f))
	}
	add("variance", "", figure(r.seen.Variance()))
	for i, c := range r.rounds {
		for _, f := range r.costFigures(c) {
			add("rounds."+f.Key, fmt.Sprintf("round=%d", i+1), exactly(f.Value))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.kept.kinds)) {
		add("judged", "kind="+kind, exactly(r.kept.kinds[kind]))
	}
	return rows
}

// exactly returns a number that has no error.
func exactly(x any) output.Figure {
	var mean, se float64
	switch x := x.(type) {
	case int:
		mean = float64(x)
	case float64:
		mean = x
	}
	return output.Figure{Mean: &mean, SE: &se}
}

// text prints the run for a terminal.
func (r *rolled) text(t *output.Text, outcome *sim.Outcome) {
	t.Command(r.reproduce)
	t.Blank()
	for _, f := range r.subject {
		if settings, ok := f.Value.(output.Object); ok {
			f.Value = settingsText(settings)
		}
		t.Note(fmt.Sprintf("%-12s", f.Key), fmt.Sprint(f.Value))
	}
	t.Line(fmt.Sprintf("%-12s%d prompts in one batch (± is one standard error over prompts)", "sample", r.batch))
	t.Note(fmt.Sprintf("%-12s", "strategy"), marked(outcome.Strategy, outcome.Strategy))
	t.Blank()
	c := r.comparison(outcome)
	names := labels([]string{outcome.Strategy})
	g := c.mainGrid(names)
	g.Add("mean reward variance u", output.Measured(figure(r.seen.Variance())))
	t.Grid(g)
	c.sizesText(t, names)
	r.roundsText(t)
	r.judgedText(t)
	t.Blank()
	t.Note("", "eta is the reward variance u = 4p(1-p) that an average rollout of the update meets, relative to equal groups; it is estimated without the rewards that chose a prompt. "+
		"signal is the mean within-group standard deviation of the rewards, ineffective the share of rollouts in groups whose rewards all agree. Rewards are in {-1, +1}.")
	if note, ok := rebuilt([]string{outcome.Strategy}); ok {
		t.Note("", note)
	}
	for _, reason := range reasonsOf(outcome, r.seen.Variance()) {
		t.Note("", reason)
	}
	if total := r.total(); total.Extra > 0 {
		t.Note("", inFlight(total)+".")
	}
}

// settingsText prints settings in a line.
func settingsText(settings output.Object) string {
	var parts []string
	for _, s := range settings {
		if list, ok := s.Value.([]string); s.Value == nil || ok && len(list) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%v", s.Key, s.Value))
	}
	return strings.Join(parts, ", ")
}

// reasonsOf says why figures of the table do not exist, each reason once.
func reasonsOf(o *sim.Outcome, variance sim.Estimate) []string {
	var reasons []string
	add := func(name, reason string) {
		if reason != "" && !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasSuffix(r, reason+".") }) {
			reasons = append(reasons, fmt.Sprintf("no %s: %s.", strings.ReplaceAll(name, "_", " "), reason))
		}
	}
	for _, f := range o.Named() {
		if slices.ContainsFunc(comparisonLines, func(l struct{ name, words string }) bool { return l.name == f.Name }) {
			add(f.Name, f.Estimate.Reason)
		}
	}
	add("mean reward variance", variance.Reason)
	return reasons
}

// roundsText prints what every round cost.
func (r *rolled) roundsText(t *output.Text) {
	t.Heading("Rounds")
	g := output.Grid{Head: []string{"round", "for", "rollouts"}}
	if r.tokens {
		g.Head = append(g.Head, "tokens out")
	}
	if r.served {
		g.Head = append(g.Head, "tokens in", "truncated", "seconds", "unused")
	}
	add := func(name, purpose string, c live.Cost) {
		row := []string{name, purpose, fmt.Sprint(c.Rollouts)}
		if r.tokens {
			row = append(row, fmt.Sprint(c.Tokens))
		}
		if r.served {
			row = append(row, fmt.Sprint(c.PromptTokens), fmt.Sprintf("%.1f %%", 100*share(c.Truncated, c.Rollouts)), fmt.Sprintf("%.3g", c.Seconds), fmt.Sprint(c.Extra))
		}
		g.Add(row...)
	}
	for i, c := range r.rounds {
		add(fmt.Sprint(i+1), r.purpose(i), c)
	}
	if len(r.rounds) > 1 {
		add("all", "", r.total())
	}
	t.Grid(g)
}

// judgedText prints how completions were judged.
func (r *rolled) judgedText(t *output.Text) {
	if len(r.kept.kinds) == 0 {
		return
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.kept.kinds)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.kept.kinds[kind], kind))
	}
	t.Blank()
	t.Note(fmt.Sprintf("%-12s", "judged"), strings.Join(parts, ", "))
}

// warnings says what a reader must know before believing a figure.
func (r *rolled) warnings() []string {
	warnings := append([]string{}, r.notes...)
	if _, fixed := r.strategy.(*strategy.Fixed); !fixed {
		warnings = append(warnings, "errors take prompts for independent, which choosing among them undoes: the default vigor's come out too wide, others too small (64 prompts, nominal 95 % intervals: signal of vigor:update=survivors held in 79 %, gvm's figures in 82 to 86 %)")
		warnings = append(warnings, fmt.Sprintf("table.csv under %s: where its n depends on the outcomes, s/n is biased; fit and plan draw the sizes again, as run.json beside it says", shortSpec(r.strategy.Spec())))
	}
	if total := r.total(); r.served && total.Truncated*10 > total.Rollouts {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the completions were cut off by --max-tokens, and most verifiers take them for wrong: p is that of short answers", 100*share(total.Truncated, total.Rollouts)))
	}
	varied := 0
	for _, p := range r.kept.prompts {
		if o := string(p.outcomes); strings.Contains(o, "0") && strings.Contains(o, "1") {
			varied++
		}
	}
	if few := sim.FewPrompts(r.batch, varied); few != "" {
		warnings = append(warnings, "few prompts make standard errors too small: "+strings.Replace(few, "percentiles over samples of prompts want", "errors over prompts want", 1))
	}
	return warnings
}

// observedBins is the number of equal bins of observed success in the figure.
const observedBins = 10

// drawings returns the figures: group sizes, and who got the rollouts.
func (r *rolled) drawings() *gallery {
	outcome := r.seen.Outcome()
	name := shortSpec(outcome.Strategy)
	g := newGallery("rollout", figures.Caption{
		Populations: []string{r.name}, Strategies: []string{outcome.Strategy}, Replicates: replicated(1, "batch of %d prompts", r.batch),
		Intervals: []string{normalPrompts}, Seeds: []uint64{r.flags.seed}, Commands: []string{r.reproduce},
	})
	if data := r.comparison(&outcome).sizesData([]string{name}); len(data.Strategies) > 0 {
		g.add("group-sizes", "Shares of groups by their number of rollouts.", &data)
	}
	if len(outcome.GroupSizes) > 1 {
		g.add("allocation", "Mean rollouts of a prompt in the update by its observed share of successes, in bins.", r.allocation(name))
	}
	return g
}

// allocation returns the rollouts of the update against observed success, and what
// equal groups of an exact budget have.
func (r *rolled) allocation(name string) *plots.AllocationData {
	var groups [observedBins][]float64
	for x, n := range r.seen.TrainedN {
		if n > 0 {
			bin := min(observedBins*r.seen.TrainedS[x]/n, observedBins-1)
			groups[bin] = append(groups[bin], float64(n))
		}
	}
	family := plots.Family{Label: name}
	for bin, sizes := range groups {
		if len(sizes) == 0 {
			continue
		}
		mean, square := 0.0, 0.0
		for _, n := range sizes {
			mean += n / float64(len(sizes))
		}
		for _, n := range sizes {
			square += (n - mean) * (n - mean)
		}
		e := sim.Estimate{Mean: mean}
		if n := float64(len(sizes)); n > 1 {
			e.SE = math.Sqrt(square / (n - 1) / n)
		}
		family.MonteCarlo = append(family.MonteCarlo, measured((float64(bin)+0.5)/observedBins, e))
	}
	d := &plots.AllocationData{Observed: true, Strategies: []plots.Family{family}}
	if r.seen.Budgeted {
		d.Strategies = append(d.Strategies, r.equalGroups())
	}
	return d
}

// equalGroups is the line of as many rollouts for every prompt.
func (r *rolled) equalGroups() plots.Family {
	total := 0
	for _, e := range r.seen.Rounds {
		for _, q := range e.Ask {
			total += q.N
		}
	}
	g := float64(total) / float64(r.batch)
	line := plots.Family{Label: fmt.Sprintf("fixed group of %.4g", g)}
	for _, x := range []float64{0, 1} {
		line.ClosedForm = append(line.ClosedForm, plots.Point{X: x, Y: g})
	}
	return line
}
