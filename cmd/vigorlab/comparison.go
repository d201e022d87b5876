package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim"
)

// A comparison is what simulate and replay found: strategies side by side on
// the same prompts.
type comparison struct {
	command    string
	reproduce  string
	subject    output.Object // what opens the document: population or table
	population string
	truth      string // what eta counts as the reward variance
	warnings   []string
	etaBatches map[string]int // by strategy, where eta comes from batches of its own
	*sim.Result
}

// result returns the comparison in each format.
func (c *comparison) result() result[output.Row] {
	return result[output.Row]{c.document(), c.rows(), c.text}
}

// document returns the JSON document of the command contract.
func (c *comparison) document() output.Object {
	o := header(c.command).Object()
	o = append(o, c.subject...)
	o.Add("batch", c.Batch)
	o.Add("replicates", c.Replicates)
	o.Add("seed", c.Seed)
	o.Add("aggregate", c.Aggregate)
	o.Add("frontier", c.Frontier)
	strategies := make([]output.Object, len(c.Strategies))
	for i := range c.Strategies {
		strategies[i] = outcomeDocument(&c.Strategies[i])
		if n := c.etaBatches[c.Strategies[i].Strategy]; n > 0 {
			strategies[i].Add("eta_replicates", n)
		}
	}
	o.Add("strategies", strategies)
	o.Add("warnings", append([]string{}, c.warnings...))
	return o
}

func outcomeDocument(s *sim.Outcome) output.Object {
	o := output.Object{{Key: "strategy", Value: s.Strategy}, {Key: "provenance", Value: strategyProvenance(s.Strategy)}}
	for _, f := range s.Named() {
		if f.Name == "eta_generated" && !generatesMore(s) {
			continue
		}
		o.Add(f.Name, figure(*f.Estimate))
	}
	sizes := make([]output.Object, len(s.GroupSizes))
	for i, g := range s.GroupSizes {
		sizes[i] = output.Object{{Key: "size", Value: g.Size}, {Key: "share", Value: figure(g.Share)}}
	}
	o.Add("group_sizes", sizes)
	cuts := make([]output.Object, len(s.Screening))
	for i, cut := range s.Screening {
		cuts[i] = output.Object{{Key: "round", Value: cut.Round}}
		for _, f := range cut.Named() {
			cuts[i].Add(f.Name, figure(*f.Estimate))
		}
	}
	o.Add("screening", cuts)
	bins := make([]output.Object, len(s.Allocation))
	for i, b := range s.Allocation {
		bins[i] = output.Object{{Key: "low", Value: b.Low}, {Key: "high", Value: b.High}, {Key: "share", Value: b.Share}, {Key: "rollouts", Value: figure(b.Rollouts)}}
	}
	o.Add("allocation", bins)
	return o
}

// generatesMore reports whether a strategy generates rollouts that the update
// does not use.
func generatesMore(s *sim.Outcome) bool {
	return s.TrainedPerPrompt.Mean < s.RolloutsPerPrompt.Mean
}

// figure turns an estimate into what is printed.
func figure(e sim.Estimate) output.Figure {
	if e.Reason != "" {
		return output.Figure{Reason: e.Reason}
	}
	f := output.Figure{Mean: output.Finite(e.Mean), SE: output.Finite(e.SE), Untrusted: e.Untrusted, Exact: e.Exact}
	switch {
	case f.Mean == nil:
		f.SE, f.Reason = nil, "not a finite number"
	case f.SE == nil:
		f.Reason = "a single replicate has no standard error"
	}
	if e.Prompts != nil {
		f.Prompts = &output.Interval{Low: e.Prompts.Low, High: e.Prompts.High, Level: e.Prompts.Level, Missing: e.Prompts.Missing}
	}
	return f
}

// rows returns the tidy table: one row a figure.
func (c *comparison) rows() []output.Row {
	var rows []output.Row
	for i := range c.Strategies {
		s := &c.Strategies[i]
		add := func(name, at string, e sim.Estimate) {
			replicates := c.Replicates
			if n := c.etaBatches[s.Strategy]; n > 0 && slices.Contains([]string{"eta", "eta_generated", "eta_batch_mean"}, name) {
				replicates = n
			}
			rows = append(rows, output.Row{
				Population: c.population, Strategy: s.Strategy, Figure: name, At: at,
				Replicates: int64(replicates), Seed: c.Seed, Coding: output.Signed,
			}.Fill(figure(e)))
		}
		for _, f := range s.Named() {
			if f.Name != "eta_generated" || generatesMore(s) {
				add(f.Name, "", *f.Estimate)
			}
		}
		for _, g := range s.GroupSizes {
			add("group_sizes.share", fmt.Sprintf("size=%d", g.Size), g.Share)
		}
		for _, cut := range s.Screening {
			for _, f := range cut.Named() {
				add("screening."+f.Name, fmt.Sprintf("round=%d", cut.Round), *f.Estimate)
			}
		}
		for _, b := range s.Allocation {
			add("allocation.rollouts", fmt.Sprintf("p=%.4g..%.4g", b.Low, b.High), b.Rollouts)
		}
	}
	return rows
}

// The figures of the main table, in words, with UNIT for what the update
// averages over; those that exist for no strategy are left out.
var comparisonLines = []struct{ name, words string }{
	{"rollouts_per_prompt", "rollouts per prompt"},
	{"trained_per_prompt", "  in the update"},
	{"rounds", "rounds of generation"},
	{"eta", "eta"},
	{"eta_generated", "  per generated rollout"},
	{"signal", "signal per UNIT"},
	{"fixed_signal", "  fixed, same mean size"},
	{"signal_prompt_mean", "signal, mean over prompts"},
	{"fixed_signal_prompt_mean", "  fixed, same mean size"},
	{"ineffective", "ineffective rollouts, share"},
	{"fixed_ineffective", "  fixed, same mean size"},
	{"zero_variance_groups", "zero-variance groups, share"},
	{"fixed_zero_variance_groups", "  fixed, same mean size"},
	{"progress", "progress, fixed group = 1"},
	{"tokens_per_prompt", "tokens per prompt"},
	{"eta_token", "eta per token"},
	{"signal_token", "signal per token, fixed group = 1"},
}

// text prints the comparison for a terminal.
func (c *comparison) text(t *output.Text) {
	t.Command(c.reproduce)
	t.Blank()
	for _, f := range c.subject {
		t.Note(fmt.Sprintf("%-12s", f.Key), fmt.Sprint(f.Value))
	}
	t.Line(fmt.Sprintf("%-12s%d prompts a batch, %d batches (± is one standard error over batches)", "sample", c.Batch, c.Replicates))
	specs := c.specs()
	names := labels(specs)
	width := widest(names)
	for i, name := range names {
		lead := ""
		if i == 0 {
			lead = "strategies"
		}
		t.Note(fmt.Sprintf("%-12s%-*s  ", lead, width, name), specs[i])
	}
	t.Blank()
	t.Grid(c.mainGrid(names))
	c.sizesText(t, names)
	c.screeningText(t, names)
	c.notes(t)
}

// unit is what the update averages over.
func (c *comparison) unit() string {
	if c.Aggregate == sim.AggregatePrompt {
		return "group"
	}
	return "rollout"
}

// widest returns the length of the longest name.
func widest(names []string) int {
	n := 0
	for _, name := range names {
		n = max(n, len(name))
	}
	return n
}

// specs returns the normalised specs.
func (c *comparison) specs() []string {
	specs := make([]string, len(c.Strategies))
	for i, s := range c.Strategies {
		specs[i] = s.Strategy
	}
	return specs
}

// mainGrid returns the table of single figures, a column a strategy.
func (c *comparison) mainGrid(names []string) output.Grid {
	g := output.Grid{Head: append([]string{""}, names...)}
	more := slices.ContainsFunc(c.Strategies, func(s sim.Outcome) bool { return generatesMore(&s) })
	for _, line := range comparisonLines {
		if (line.name == "trained_per_prompt" || line.name == "eta_generated") && !more {
			continue
		}
		row, exists := []string{strings.ReplaceAll(line.words, "UNIT", c.unit())}, false
		for i := range c.Strategies {
			f := figure(named(c.Strategies[i].Named(), line.name))
			exists = exists || f.Mean != nil
			row = append(row, output.Measured(f))
		}
		if exists {
			g.Add(row...)
			c.addPrompts(&g, line.name)
		}
	}
	return g
}

// addPrompts adds the intervals over other samples of prompts, where the
// figure has any and is none of the fixed group beside it.
func (c *comparison) addPrompts(g *output.Grid, name string) {
	if strings.HasPrefix(name, "fixed_") {
		return
	}
	row, exists, level := []string{""}, false, 0.0
	for i := range c.Strategies {
		p := figure(named(c.Strategies[i].Named(), name)).Prompts
		if p == nil || !(p.High-p.Low > 1e-9*math.Abs(p.High)) { // a constant
			row = append(row, "")
			continue
		}
		exists, level = true, p.Level
		row = append(row, output.Between(p.Low, p.High))
	}
	if exists {
		row[0] = fmt.Sprintf("  other prompts, %g %%", 100*level)
		g.Add(row...)
	}
}

// named returns the figure of that name.
func named(figures []sim.Named, name string) sim.Estimate {
	for _, f := range figures {
		if f.Name == name {
			return *f.Estimate
		}
	}
	panic("no figure is called " + name)
}

func (c *comparison) sizesText(t *output.Text, names []string) {
	shares := map[int][]string{}
	for i, s := range c.Strategies {
		for _, g := range s.GroupSizes {
			if shares[g.Size] == nil {
				shares[g.Size] = slices.Repeat([]string{""}, len(c.Strategies))
			}
			shares[g.Size][i] = output.Measured(figure(g.Share))
		}
	}
	if len(shares) == 0 {
		return
	}
	sizes := make([]int, 0, len(shares))
	for size := range shares {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	t.Heading("Groups in the update by size, share")
	g := output.Grid{Head: append([]string{"size"}, names...)}
	for _, size := range sizes[:min(len(sizes), sizesShown)] {
		g.Add(append([]string{fmt.Sprint(size)}, shares[size]...)...)
	}
	t.Grid(g)
	more(t, len(sizes), "sizes")
}

func (c *comparison) screeningText(t *output.Text, names []string) {
	for i, s := range c.Strategies {
		if len(s.Screening) == 0 {
			continue
		}
		t.Heading(fmt.Sprintf("Screening by %s: errors at the frontier u >= %v", names[i], c.Frontier))
		g := output.Grid{Head: []string{"cut after round", "false omission", "false negative", "cumulative"}}
		for _, cut := range s.Screening[:min(len(s.Screening), sizesShown)] {
			row := []string{fmt.Sprint(cut.Round)}
			for _, f := range cut.Named() {
				row = append(row, output.Measured(figure(*f.Estimate)))
			}
			g.Add(row...)
		}
		t.Grid(g)
		more(t, len(s.Screening), "cuts")
	}
}

// notes says in plain words what the figures mean.
func (c *comparison) notes(t *output.Text) {
	t.Blank()
	words := []string{
		"eta is the " + c.truth + " that an average " + c.unit() + " of the update meets, relative to equal groups.",
		"signal is the mean within-group standard deviation of the rewards, ineffective the share of rollouts in groups whose rewards all agree.",
		"Rewards are in {-1, +1}.",
	}
	if c.Aggregate == sim.AggregatePrompt {
		words = append(words, "Every group has the same weight in the update (--aggregate prompt).")
	}
	words = append(words, "progress weighs each "+c.unit()+" by sigma u, sigma the spread of its group's rewards; it is another figure than eta.")
	if note, ok := rebuilt(c.specs()); ok {
		words = append(words, note)
	}
	t.Note("", strings.Join(words, " "))
	for _, s := range c.Strategies {
		if n := c.etaBatches[s.Strategy]; n > 0 {
			t.Note("", fmt.Sprintf("eta of %s comes from %d batches of its own, by control variates (--precision).", shortSpec(s.Strategy), n))
		}
		if p := s.Eta.Prompts; p != nil && p.Missing > 0 {
			t.Note("", fmt.Sprintf("%d samples of prompts of %s have no reward variance: they have no eta, and no part in its interval.", p.Missing, shortSpec(s.Strategy)))
		}
		if s.Eta.Untrusted == "" {
			continue
		}
		exact := "unknown"
		if s.Eta.Exact != nil {
			exact = output.Number(s.Eta.Exact)
		}
		t.Note("", fmt.Sprintf("eta of %s may not be trusted: %s; the exact figure is %s.", shortSpec(s.Strategy), s.Eta.Untrusted, exact))
	}
}
