package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
	"vigorlab/sim"
)

// A fieldComparison is what compare found: the same strategies on population
// after population.
type fieldComparison struct {
	reproduce string
	groups    []string // of the strategies, in their order
	worlds    []comparedWorld
	ladder    bool // each strategy is compared with the one before it
	atCost    bool // what is reached at the matched cost is shown
}

// A comparedWorld is what compare found on one population or table.
type comparedWorld struct {
	population string
	name       string // with its condition, where there are several
	*sim.Comparison
}

// result returns the comparison in each format.
func (c *fieldComparison) result() result[output.Row] {
	return result[output.Row]{c.document(), c.rows(), c.text}
}

// document returns the JSON document of the command contract.
func (c *fieldComparison) document() output.Object {
	o := header("compare").Object()
	first := c.worlds[0]
	o.Add("batch", first.Batch)
	o.Add("group", first.Group)
	o.Add("steps", first.Steps)
	o.Add("replicates", first.Replicates)
	o.Add("seed", first.Seed)
	o.Add("drift", first.Drift)
	o.Add("matched_cost", first.Matched)
	o.Add("aggregate", first.Aggregate)
	o.Add("hard", first.Hard)
	populations := make([]output.Object, len(c.worlds))
	for i, w := range c.worlds {
		rows := make([]output.Object, len(w.Strategies))
		for k := range w.Strategies {
			rows[k] = w.row(k, c.groups[k])
		}
		populations[i] = output.Object{
			{Key: "population", Value: w.population},
			{Key: "drift", Value: w.Drift},
			{Key: "lag", Value: w.Lag},
			{Key: "prompts", Value: w.Prompts},
			{Key: "ranks", Value: output.Object{
				{Key: "test", Value: w.test()},
				{Key: "level", Value: w.Level},
				{Key: "pairs", Value: w.Pairs},
			}},
			{Key: "rows", Value: rows},
		}
	}
	o.Add("populations", populations)
	return o
}

// test says how ranks were told apart.
func (w *comparedWorld) test() string {
	return fmt.Sprintf("two-sided t-tests of paired differences over %d replicates, Holm over %d pairs and objectives", w.Replicates, w.Pairs)
}

// row returns the document of strategy k.
func (w *comparedWorld) row(k int, group string) output.Object {
	s := &w.Strategies[k]
	o := output.Object{{Key: "strategy", Value: s.Strategy}, {Key: "group", Value: group}}
	if info := strategyInfo(s.Strategy); info != nil {
		o.Add("provenance", info.Provenance)
		o.Add("taxonomy", info.Taxonomy)
	}
	for _, f := range s.Named() {
		o.Add(f.Name, figure(*f.Estimate))
	}
	if len(s.Increments) > 0 {
		increments := output.Object{}
		for _, f := range s.Increments {
			increments.Add(f.Name, figure(*f.Estimate))
		}
		o.Add("increment", increments)
	}
	ranks := output.Object{}
	for _, r := range w.Rankings {
		beats := make([]string, len(r.Beats[k]))
		for i, other := range r.Beats[k] {
			beats[i] = w.Strategies[other].Strategy
		}
		ranks.Add(r.Objective, output.Object{
			{Key: "low", Value: r.Ranks[k].Low},
			{Key: "high", Value: r.Ranks[k].High},
			{Key: "beats", Value: beats},
		})
	}
	o.Add("rank", ranks)
	bins := make([]output.Object, len(s.Allocation))
	for i, b := range s.Allocation {
		bins[i] = output.Object{{Key: "low", Value: b.Low}, {Key: "high", Value: b.High}, {Key: "share", Value: b.Share}, {Key: "rollouts", Value: figure(b.Rollouts)}}
	}
	o.Add("allocation", bins)
	curve := make([]output.Object, len(s.Curve))
	for i, p := range s.Curve {
		curve[i] = output.Object{
			{Key: "step", Value: i + 1},
			{Key: "generated", Value: figure(p.Generated)},
			{Key: "effective", Value: figure(p.Effective)},
			{Key: "mean_p", Value: figure(p.MeanP)},
		}
	}
	o.Add("curve", curve)
	return o
}

// rows returns the tidy table: one row a figure.
func (c *fieldComparison) rows() []output.Row {
	var rows []output.Row
	for _, w := range c.worlds {
		for k := range w.Strategies {
			s := &w.Strategies[k]
			add := func(name, at string, f output.Figure) {
				rows = append(rows, output.Row{
					Population: w.name, Strategy: s.Strategy, Figure: name, At: at,
					Replicates: int64(w.Replicates), Seed: w.Seed, Coding: output.Signed,
				}.Fill(f))
			}
			for _, f := range s.Named() {
				add(f.Name, "", figure(*f.Estimate))
			}
			for _, f := range s.Increments {
				add("increment."+f.Name, "", figure(*f.Estimate))
			}
			for _, r := range w.Rankings {
				for _, end := range []struct {
					name string
					rank int
				}{{"low", r.Ranks[k].Low}, {"high", r.Ranks[k].High}} {
					rank := float64(end.rank)
					add("rank."+r.Objective, end.name, output.Figure{Mean: &rank})
				}
			}
			for _, b := range s.Allocation {
				add("allocation.rollouts", fmt.Sprintf("p=%.4g..%.4g", b.Low, b.High), figure(b.Rollouts))
			}
			for i, p := range s.Curve {
				at := fmt.Sprintf("step=%d", i+1)
				add("curve.generated", at, figure(p.Generated))
				add("curve.effective", at, figure(p.Effective))
				add("curve.mean_p", at, figure(p.MeanP))
			}
		}
	}
	return rows
}

// The columns of the tables: what a generated rollout buys, and what it costs.
type column struct{ name, words string }

var (
	gainColumns = []column{
		{"signal", "signal"},
		{"progress", "progress"},
		{"gradient_snr", "gradient SNR"},
		{"hits", "hits"},
		{"effective", "effective"},
		{"acceptance", "acceptance"},
	}
	tokenColumns = []column{
		{"signal_token", "signal/token"},
		{"progress_token", "progress/token"},
		{"hits_token", "hits/token"},
		{"effective_token", "effective/token"},
	}
	costColumns = []column{
		{"generated_per_prompt", "generated"},
		{"trained_per_prompt", "trained"},
		{"rounds", "rounds"},
		{"gradient_bias", "gradient bias"},
		{"gradient_variance", "variance"},
		{"calibration", "calibration"},
	}
	matchedColumns = []column{
		{"matched_effective", "mixed groups trained on"},
		{"matched_mean_p", "mean success probability"},
	}
	troubleColumns = []column{
		{"short", "short steps"},
		{"failed", "failed steps"},
	}
)

// text prints the comparison for a terminal.
func (c *fieldComparison) text(t *output.Text) {
	t.Command(c.reproduce)
	t.Blank()
	first := c.worlds[0]
	conditions := c.conditions()
	t.Note("", fmt.Sprintf("%d steps of %d groups, %d rollouts a prompt; %d replicates, pairs of runs (± is one standard error over them). %s%s.",
		first.Steps, first.Batch, first.Group, first.Replicates, strings.ToUpper(conditions[0][:1]), strings.Join(conditions, "; ")[1:]))
	for i, w := range c.worlds {
		t.Heading(fmt.Sprintf("Population %s, %d prompts", letter(i), w.Prompts))
		t.Note("", w.name)
		w.text(t, c.groups)
		if c.ladder {
			w.ladderText(t)
		}
		if c.atCost {
			t.Blank()
			t.Line(fmt.Sprintf("What is reached after %.4g rollouts for each group of the batch", w.Matched))
			t.Grid(w.grid(w.names(), c.groups, matchedColumns))
		}
	}
	c.summaryText(t)
	c.sweepText(t)
	t.Blank()
	for _, note := range c.footnotes() {
		t.Note("", note)
	}
}

// summaryText prints the ranks by progress on every population, where there are
// several.
func (c *fieldComparison) summaryText(t *output.Text) {
	if len(c.worlds) < 2 {
		return
	}
	const objective = "progress"
	t.Heading("Ranks by " + objectiveWords(objective) + ", population by population")
	g := output.Grid{Head: []string{""}}
	for i := range c.worlds {
		g.Head = append(g.Head, letter(i))
	}
	for k, name := range c.worlds[0].names() {
		c.worlds[0].addSection(&g, k, c.groups)
		cells := []string{name}
		for _, w := range c.worlds {
			i := slices.IndexFunc(w.Rankings, func(r sim.Ranking) bool { return r.Objective == objective })
			cells = append(cells, w.Rankings[i].Ranks[k].String())
		}
		g.Add(cells...)
	}
	t.Grid(g)
}

// conditions lists how the worlds move, and how stale their rollouts are.
func (c *fieldComparison) conditions() []string {
	var all []string
	for _, w := range c.worlds {
		if text := w.condition(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// condition says how a world moves, and how stale its rollouts are.
func (w *comparedWorld) condition() string {
	if w.Lag == 0 {
		return "drift: " + w.Drift
	}
	return fmt.Sprintf("drift: %s, lag %d", w.Drift, w.Lag)
}

// sweepText prints acceptance and progress against the conditions, where there
// are several.
func (c *fieldComparison) sweepText(t *output.Text) {
	n := len(c.conditions())
	if n < 2 {
		return
	}
	for from := 0; from < len(c.worlds); from += n {
		worlds := c.worlds[from : from+n]
		for _, sweep := range []column{
			{"acceptance", "Acceptance against drift and lag: the share of generated groups that are mixed"},
			{"progress", "Progress against drift and lag, fixed groups in the same world = 1"},
		} {
			t.Heading(sweep.words + ", on " + worlds[0].population)
			g := output.Grid{Head: []string{""}}
			for _, w := range worlds {
				g.Head = append(g.Head, strings.TrimPrefix(w.condition(), "drift: "))
			}
			for k, name := range worlds[0].names() {
				worlds[0].addSection(&g, k, c.groups)
				cells := []string{name}
				for _, w := range worlds {
					cells = append(cells, output.Measured(figure(named(w.Strategies[k].Named(), sweep.name))))
				}
				g.Add(cells...)
			}
			t.Grid(g)
		}
	}
}

// footnotes says what the figures mean, and what they do not.
func (c *fieldComparison) footnotes() []string {
	first := c.worlds[0]
	notes := []string{
		fmt.Sprintf("Figures count what a generated rollout buys, so that budgets that differ can be compared. signal is the mean within-group "+
			"standard deviation of the rewards that a trained rollout meets, progress weighs it by u = 4p(1-p) relative to fixed:g=%d. hits are "+
			"hard prompts (p <= %v) with a success, in groups that were discarded too, and effective the mixed groups trained on, both per %d "+
			"rollouts. Rewards are in {-1, +1}.", first.Group, first.Hard, first.Group),
		fmt.Sprintf("gradient bias and variance are those of the one-logit gradient estimate, relative to the true gradient of the whole set; gradient "+
			"SNR is the squared mean over the variance, per %d rollouts. It knows no bias: a method that trains on mixed groups alone is steady by "+
			"construction.", first.Batch*first.Group),
		"generated and trained are rollouts a prompt of the batch, rounds sequential ones a step, calibration the root mean squared error of the " +
			"success probabilities that a method believes. In a short step the update has fewer groups than the batch, in a failed one the method's " +
			"own code stops with an error; both are shares. Figures of methods with a history or a pool hang on the size of the prompt set, which " +
			"decides how often a prompt returns.",
		fmt.Sprintf("A range of ranks runs from one more than the strategies that are better beyond chance to those that are not worse: %s, at family "+
			"level %g over all populations. Two ranges may overlap though the two differ: beats in --format json tells. Strategies that see the truth "+
			"are bars and have no rank; fixed groups are the baselines that any method must beat. No objective here is training: a larger figure need "+
			"not train faster.", first.test(), first.Level*float64(len(c.worlds))),
		"Methods stand by family, and by when they decide and pay for it: before a step's generation, during it, or after it, when rollouts " +
			"are left out (vigorlab strategies has the taxonomy).",
	}
	notes = append(notes, c.diagnosticNotes()...)
	if note, ok := rebuilt(c.specs()); ok {
		notes = append(notes, note)
	}
	return notes
}

// diagnosticNotes explains the diagnostics that were asked for.
func (c *fieldComparison) diagnosticNotes() []string {
	notes := []string{"acceptance is the share of generated groups whose rewards differ, before anything is left out."}
	if slices.Contains(c.groups, groupControls) {
		notes = append(notes, controlNote)
	}
	if c.ladder {
		notes = append(notes, "Increments are ratios of means over the same pairs of runs, with errors by the delta method; each stands alone.")
	}
	if slices.ContainsFunc(c.worlds, func(w comparedWorld) bool { return w.Lag > 0 }) {
		notes = append(notes, "Under lag K rollouts come from the success probabilities of K steps ago, while every figure is judged by those of now.")
	}
	if c.atCost {
		notes = append(notes, "What is reached at the matched cost is read off straight lines between the steps, over the pair of runs together; it is not known of a "+
			"strategy of which some run ended below that cost. Success probabilities hang on the strategy under the drift learning alone.")
	}
	return notes
}

// specs returns the normalised specs.
func (c *fieldComparison) specs() []string {
	var specs []string
	for _, s := range c.worlds[0].Strategies {
		specs = append(specs, s.Strategy)
	}
	return specs
}

// report returns report.md: who leads where, and the figures with captions.
func (c *fieldComparison) report() []byte {
	var b bytes.Buffer
	first := c.worlds[0]
	fmt.Fprintf(&b, "# The field\n\n    %s\n\n", c.reproduce)
	setting := fmt.Sprintf("%d groups of %d, %d steps, %d pairs of runs, %s, signed coding, seed %d",
		first.Batch, first.Group, first.Steps, first.Replicates, strings.Join(c.conditions(), "; "), first.Seed)
	for _, note := range c.footnotes() {
		fmt.Fprintf(&b, "%s\n\n", note)
	}
	b.WriteString("## Ranks\n\n")
	for _, o := range c.objectives() {
		fmt.Fprintf(&b, "![ranks](figures/ranks-%s.png)\n\n*Ranks by %s. %s.*\n\n", strings.ReplaceAll(o, "_", "-"), objectiveWords(o), setting)
	}
	for i, w := range c.worlds {
		fmt.Fprintf(&b, "## Population %s: `%s`\n\n", letter(i), w.name)
		for _, r := range w.Rankings {
			fmt.Fprintf(&b, "- %s\n", w.leaders(r, c.groups))
		}
		caption := fmt.Sprintf("%s, a set of %d prompts. %s.", w.name, w.Prompts, setting)
		fmt.Fprintf(&b, "\n![allocation](figures/allocation-%s.png)\n\n*Who gets the rollouts: fixed:g=%d, VIGOR and the methods with the most progress. %s*\n\n", letter(i), w.Group, caption)
		fmt.Fprintf(&b, "![cost and quality](figures/cost-quality-%s.png)\n\n*What is reached against what is spent: fixed:g=%d, VIGOR and the strategies with the most mixed groups. %s*\n\n", letter(i), w.Group, caption)
	}
	return b.Bytes()
}

// text prints the tables of one population. Selection times stay out: no two
// runs agree on them, and a table can be printed again.
func (w *comparedWorld) text(t *output.Text, groups []string) {
	names := w.names()
	t.Blank()
	for _, r := range w.Rankings {
		t.Note("", w.leaders(r, groups))
	}
	t.Blank()
	t.Line("Ranks, and the rollouts generated a prompt of the batch")
	ranks := output.Grid{Head: []string{""}}
	for _, r := range w.Rankings {
		ranks.Head = append(ranks.Head, strings.TrimSuffix(objectiveWords(r.Objective), " per rollout"))
	}
	ranks.Head = append(ranks.Head, "generated")
	for k, name := range names {
		w.addSection(&ranks, k, groups)
		cells := []string{name}
		for _, r := range w.Rankings {
			cells = append(cells, r.Ranks[k].String())
		}
		cells = append(cells, output.Measured(figure(w.Strategies[k].Generated)))
		ranks.Add(cells...)
	}
	t.Grid(ranks)
	t.Blank()
	t.Line("What a generated rollout buys")
	t.Grid(w.grid(names, groups, gainColumns))
	if w.Strategies[0].Tokens.Reason == "" {
		t.Blank()
		t.Line(fmt.Sprintf("What a generated token buys, fixed:g=%d = 1", w.Group))
		t.Grid(w.grid(names, groups, tokenColumns))
	}
	t.Blank()
	t.Line("What it costs")
	t.Grid(w.grid(names, groups, w.costs()))
}

// leaders says in a line who may be the best by an objective, methods and
// baselines apart: those of which no other is better beyond chance.
func (w *comparedWorld) leaders(r sim.Ranking, groups []string) string {
	var first []string
	for k, rank := range r.Ranks {
		if rank.Low == 1 {
			name := labelSpec(w.Strategies[k].Strategy)
			if groups[k] == groupBaselines {
				name += " (a baseline)"
			}
			first = append(first, name)
		}
	}
	const most = 4
	if n := len(first); n > most {
		first = append(first[:most], fmt.Sprintf("%d more", n-most))
	}
	return fmt.Sprintf("Best by %s: %s.", objectiveWords(r.Objective), strings.Join(first, ", "))
}

// costs returns the columns of what strategies cost: short and failed steps
// where there were any.
func (w *comparedWorld) costs() []column {
	columns := slices.Clone(costColumns)
	for _, c := range troubleColumns {
		if slices.ContainsFunc(w.Strategies, func(s sim.Compared) bool {
			return !strings.HasPrefix(s.Strategy, "fixed:") && named(s.Named(), c.name).Mean > 0 // fewer prompts are fewer groups by design
		}) {
			columns = append(columns, c)
		}
	}
	return columns
}

// names returns the labels of the strategies.
func (w *comparedWorld) names() []string {
	names := make([]string, len(w.Strategies))
	for k, s := range w.Strategies {
		names[k] = labelSpec(s.Strategy)
	}
	return names
}

// ladderText prints what every strategy has over the one before it.
func (w *comparedWorld) ladderText(t *output.Text) {
	t.Blank()
	t.Line("Increments: what each has over the one before it, as a ratio of the same pairs of runs")
	g := output.Grid{Head: []string{""}}
	for _, f := range w.Strategies[len(w.Strategies)-1].Increments {
		g.Head = append(g.Head, strings.TrimSuffix(objectiveWords(f.Name), " per rollout"))
	}
	for k, name := range w.names() {
		cells := []string{name}
		for _, f := range w.Strategies[k].Increments {
			cells = append(cells, output.Measured(figure(*f.Estimate)))
		}
		g.Add(cells...)
	}
	t.Grid(g)
}

// addSection adds a heading where strategy k opens a section of a table.
func (w *comparedWorld) addSection(g *output.Grid, k int, groups []string) {
	of := func(k int) string { return section(groups[k], w.Strategies[k].Strategy) }
	if k == 0 || of(k) != of(k-1) {
		g.Add(of(k) + ":")
	}
}

// grid returns a table with a row a strategy.
func (w *comparedWorld) grid(names, groups []string, columns []column) output.Grid {
	g := output.Grid{Head: []string{""}}
	for _, c := range columns {
		g.Head = append(g.Head, c.words)
	}
	for k, name := range names {
		w.addSection(&g, k, groups)
		cells := []string{name}
		for _, c := range columns {
			cells = append(cells, output.Measured(figure(named(w.Strategies[k].Named(), c.name))))
		}
		g.Add(cells...)
	}
	return g
}

// drawings returns the figures of the comparison: ranks by every objective
// and, population by population, who gets the rollouts and what they reach.
func (c *fieldComparison) drawings() *gallery {
	first := c.worlds[0]
	g := newGallery("compare", figures.Caption{
		Replicates: replicated(first.Replicates, "runs of %d steps of %d prompts", first.Steps, first.Batch),
		Seeds:      []uint64{first.Seed}, Commands: []string{c.reproduce},
	})
	for _, o := range c.objectives() {
		data := c.ranksData(o)
		words := "Ranks by " + data.Objective + ", 1 for the best: the range that paired differences leave open."
		caption := &g.addWide("ranks-"+strings.ReplaceAll(o, "_", "-"), words, data).Caption
		caption.Populations, caption.Strategies = data.Populations, c.ranked()
		caption.Intervals = []string{fmt.Sprintf("ranks hold together with probability %.4g on a population", 1-first.Level)}
	}
	for i, w := range c.worlds {
		add := func(name, what, by string, draw func([]int) plots.Data) {
			shown := w.shown(c.groups, by)
			caption := &g.add(name+"-"+letter(i), what, draw(shown)).Caption
			caption.Populations, caption.Intervals = []string{w.name}, []string{normalReplicates}
			for _, k := range shown {
				caption.Strategies = append(caption.Strategies, w.Strategies[k].Strategy)
			}
		}
		add("allocation", "Mean rollouts of a prompt by its success probability, in bins, relative to equal rollouts for all.", "progress", w.allocationData)
		add("cost-quality", "What was reached by the rollouts generated so far.", "effective", w.curveData)
	}
	return g
}

// ranked lists the strategies that have ranks.
func (c *fieldComparison) ranked() []string {
	var specs []string
	for k, s := range c.worlds[0].Strategies {
		if c.groups[k] != groupBars {
			specs = append(specs, s.Strategy)
		}
	}
	return specs
}

// letter names population i in figures and tables.
func letter(i int) string { return string(rune('A' + i%26)) }

// objectives lists what strategies are ranked by on any population: by tokens
// only where lengths are known.
func (c *fieldComparison) objectives() []string {
	var objectives []string
	for _, w := range c.worlds {
		for _, r := range w.Rankings {
			if !slices.Contains(objectives, r.Objective) {
				objectives = append(objectives, r.Objective)
			}
		}
	}
	return objectives
}

// objectiveWords names an objective in words.
func objectiveWords(objective string) string {
	words, perToken := strings.CutSuffix(objective, "_token")
	switch words {
	case "gradient_snr":
		words = "gradient SNR"
	case "hits":
		words = "hard prompts hit"
	case "effective":
		words = "mixed groups"
	}
	if perToken {
		return words + " per token"
	}
	return words + " per rollout"
}

// ranksData returns the ranks by an objective; populations without it have none.
func (c *fieldComparison) ranksData(objective string) *plots.RanksData {
	d := &plots.RanksData{Objective: objectiveWords(objective)}
	for _, w := range c.worlds {
		d.Populations = append(d.Populations, w.name)
	}
	for k, s := range c.worlds[0].Strategies {
		if c.groups[k] == groupBars {
			continue
		}
		row := plots.RankRow{Group: section(c.groups[k], s.Strategy), Label: labelSpec(s.Strategy)}
		for _, w := range c.worlds {
			var cell plots.RankRange
			for _, r := range w.Rankings {
				if r.Objective == objective {
					cell = plots.RankRange{Low: r.Ranks[k].Low, High: r.Ranks[k].High}
				}
			}
			row.Ranks = append(row.Ranks, cell)
		}
		d.Strategies = append(d.Strategies, row)
	}
	return d
}

// shown returns the strategies that curves are drawn of, as more of them could
// not be told apart: the reference, VIGOR and the methods and baselines with
// the largest figure of that name.
func (w *comparedWorld) shown(groups []string, name string) []int {
	const most = 5
	reference := fmt.Sprintf("fixed:g=%d", w.Group)
	var always, others []int
	for k, s := range w.Strategies {
		switch {
		case s.Strategy == reference, shortSpec(s.Strategy) == "vigor":
			always = append(always, k)
		case groups[k] != groupBars:
			others = append(others, k)
		}
	}
	mean := func(k int) float64 { return named(w.Strategies[k].Named(), name).Mean }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(mean(b), mean(a)) })
	shown := append(always, others[:min(len(others), most-len(always))]...)
	slices.Sort(shown)
	return shown
}

func (w *comparedWorld) allocationData(shown []int) plots.Data {
	d := &plots.AllocationData{Relative: true}
	for _, k := range shown {
		f := plots.Family{Label: labelSpec(w.Strategies[k].Strategy)}
		for _, b := range w.Strategies[k].Allocation {
			if b.Rollouts.Reason == "" {
				f.MonteCarlo = append(f.MonteCarlo, measured((b.Low+b.High)/2, b.Rollouts))
			}
		}
		d.Strategies = append(d.Strategies, f)
	}
	return d
}

// curveData returns the mixed groups that were trained on or, where the
// prompts learn, the mean success probability.
func (w *comparedWorld) curveData(shown []int) plots.Data {
	learns := strings.HasPrefix(w.Drift, sim.DriftLearning)
	d := &plots.CostQualityData{Quality: "mixed groups trained on, per prompt of the batch"}
	if learns {
		d.Quality = "mean success probability of the prompt set"
	}
	for _, k := range shown {
		f := plots.Family{Label: labelSpec(w.Strategies[k].Strategy)}
		spent := 0.0
		for _, p := range w.Strategies[k].Curve {
			if learns { // p is that before the step
				f.MonteCarlo = append(f.MonteCarlo, measured(spent, p.MeanP))
			} else {
				f.MonteCarlo = append(f.MonteCarlo, measured(p.Generated.Mean, p.Effective))
			}
			spent = p.Generated.Mean
		}
		d.Strategies = append(d.Strategies, f)
	}
	return d
}
