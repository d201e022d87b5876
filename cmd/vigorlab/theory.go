package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/plots"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

type theoryFlags struct {
	common
	populationSpecs []string
	strategySpecs   []string
	batch           int
	frontier        float64
}

func newTheory(a *app) *cobra.Command {
	f := &theoryFlags{batch: 256, frontier: 0.75}
	cmd := &cobra.Command{
		Use:   "theory --population SPEC [--strategy SPEC]",
		Short: "Print what theory says of a strategy on a population, without randomness",
		Long: `theory prints the gain of an allocation over equal groups, eta, in closed form,
for the law at hand and with the real, noisy selection, the caps that no law and
no allocation can pass, and the speedup eta^x under three exponents.`,
		Example: `  # Theorem 2 under its own assumptions: an unbounded Pareto reward variance
  vigorlab theory --population pareto-variance:shape=1.5,min=0.01

  # the same with a variance that stays in [0, 1], as a reward's does
  vigorlab theory --population pareto-variance:shape=1.5,min=0.01,max=1 --strategy vigor

  # another schedule on a population of mostly dead and solved prompts
  vigorlab theory --population beta:a=0.1,b=0.3 --strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4 \
    --batch 64 --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.populationSpecs, "population", nil, "population `SPEC` (see vigorlab populations)")
	flags.StringArrayVar(&f.strategySpecs, "strategy", nil, "strategy `SPEC` (default vigor)")
	f.whole(flags, &f.batch, "batch", 1, maxBatch, "`B` prompts, for the figures of a finite batch")
	f.real(flags, &f.frontier, "frontier", 0, 1, "screening errors speak of prompts with u >= `C`")
	f.register(flags)
	return cmd
}

func (f *theoryFlags) run(ctx context.Context, a *app) error {
	population := f.population(ctx, f.populationSpecs)
	input := theory.Input{
		Variance: population.Variance, Law: population.Law,
		Batch: f.batch, Frontier: f.frontier, Nodes: theory.DefaultNodes,
	}
	strategySpec := f.strategy(ctx, &input)
	if err := f.err(); err != nil {
		return err
	}
	line := newCommandLine("theory")
	line.add("population", population.Spec)
	line.add("strategy", strategySpec)
	line.add("batch", f.batch)
	line.add("frontier", f.frontier)
	line.add("seed", f.seed)
	record, err := f.record(a, "theory", line, output.Object{
		{Key: "population", Value: population.Spec},
		{Key: "strategy", Value: strategySpec},
		{Key: "batch", Value: f.batch},
		{Key: "frontier", Value: f.frontier},
	})
	if err != nil {
		return err
	}
	p := &prediction{
		reproduce: line.String(), population: population.Spec, strategy: strategySpec, input: input, seed: f.seed,
		warnings: singlePrompt(input.Vigor, f.batch),
	}
	f.warn(a, p.warnings)
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		p.Prediction, err = await(ctx, func() (*theory.Prediction, error) { return theory.Predict(input) })
		if err != nil {
			return err
		}
		notes, err = saveRun(ctx, d, p.result, p.drawings)
		return err
	})
	if err != nil {
		return err
	}
	f.warn(a, notes)
	return p.result().print(a, f.format)
}

// strategy names the strategy of --strategy, vigor where it is not given, to
// the theory, and returns its normalised spec: no strategy where it has no
// exact theory. A schedule whose groups are too
// large to be run has closed forms all the same.
func (f *theoryFlags) strategy(ctx context.Context, in *theory.Input) string {
	specs := f.strategySpecs
	if len(specs) == 0 {
		specs = []string{"vigor"}
	}
	text, ok := f.once(specs, "strategy", "a spec such as vigor:rounds=5")
	if !ok {
		f.hint(hintStrategies)
		return ""
	}
	s, err := strategy.Parse(text, opener(ctx))
	var large *schedule.LargeError
	if errors.As(err, &large) {
		in.Vigor = &large.Plan
		return large.Plan.String()
	}
	if err != nil {
		f.add("--strategy", err)
		f.hint(hintStrategies)
		return ""
	}
	switch s := s.(type) {
	case *strategy.Vigor:
		plan := s.Plan()
		in.Vigor = &plan
	case *strategy.Fixed:
		if !s.Capabilities().PicksPrompts {
			in.Group = s.Group()
		}
	case *strategy.Lookahead:
		plan := s.Plan()
		in.Lookahead = &plan
	}
	return s.Spec()
}

// A prediction is what theory found.
type prediction struct {
	reproduce  string
	population string
	strategy   string
	input      theory.Input
	seed       uint64
	warnings   []string
	*theory.Prediction
}

// A numbered is a number under its key.
type numbered struct {
	key    string
	number theory.Number
}

// numbersOf returns an object of numbers; those that do not exist are null,
// and a field "reason" says why.
func numbersOf(numbers []numbered) output.Object {
	var o output.Object
	for _, n := range numbers {
		o.Add(n.key, value(n.number))
	}
	if why := reasons(numbers); why != "" {
		o.Add("reason", why)
	}
	return o
}

// value returns the number, nil where it does not exist.
func value(n theory.Number) *float64 {
	if n.Reason != "" {
		return nil
	}
	return output.Finite(n.Value)
}

func reasonOf(n theory.Number) string {
	if n.Reason == "" && output.Finite(n.Value) == nil {
		return "not a finite number"
	}
	return n.Reason
}

// reasons says of every number that does not exist why, those of one reason
// together: "law, noisy: ...; cap_batch: ...".
func reasons(numbers []numbered) string {
	var all []string
	for _, g := range byReason(numbers) {
		all = append(all, strings.Join(g.keys, ", ")+": "+g.reason)
	}
	return strings.Join(all, "; ")
}

// A missing is a reason with the keys of the numbers that do not exist for it.
type missing struct {
	reason string
	keys   []string
}

// byReason groups the numbers that do not exist, in their order.
func byReason(numbers []numbered) []missing {
	var groups []missing
	for _, n := range numbers {
		why := reasonOf(n.number)
		if why == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g missing) bool { return g.reason == why })
		if i < 0 {
			i = len(groups)
			groups = append(groups, missing{reason: why})
		}
		groups[i].keys = append(groups[i].keys, n.key)
	}
	return groups
}

func etaNumbers(e theory.Etas) []numbered {
	return []numbered{
		{"closed_form", e.ClosedForm},
		{"law", e.Law},
		{"finite_batch", e.FiniteBatch},
		{"noisy", e.Noisy},
		{"cap", e.Cap},
		{"law_cap", e.LawCap},
		{"cap_batch", e.CapBatch},
	}
}

// etaWords describe etaNumbers, in their order.
var etaWords = []string{
	"closed form, unbounded Pareto",
	"perfect selection, infinite batch",
	"perfect selection, this batch",
	"noisy selection, infinite batch",
	"cap of any law, infinite batch",
	"cap of any allocation, this law",
	"cap of any law, this batch",
}

func pairNumbers(p theory.Pair) []numbered {
	return []numbered{{"strategy", p.Strategy}, {"fixed", p.Fixed}}
}

func cutNumbers(s theory.ScreeningNumbers) []numbered {
	return []numbered{
		{"false_omission", s.FalseOmission},
		{"false_negative", s.FalseNegative},
		{"false_negative_cumulative", s.FalseNegativeCumulative},
	}
}

// stopNumbers are the figures of VIGOR stopped after a round.
func stopNumbers(s theory.Stop) []numbered {
	return []numbered{
		{"rollouts_per_prompt", s.RolloutsPerPrompt},
		{"eta", s.Eta},
		{"signal", s.Signal},
		{"signal_prompt_mean", s.SignalPromptMean},
		{"ineffective", s.Ineffective},
		{"zero_variance_groups", s.ZeroVarianceGroups},
		{"progress", s.Progress},
	}
}

// singles are the figures that stand alone in the document.
func (p *prediction) singles() []numbered {
	n := []numbered{{"progress", p.Progress}, {"rollouts_per_prompt", p.RolloutsPerPrompt}}
	if p.Field != nil && p.Field.Trained < p.Field.Rollouts {
		n = append(n, numbered{"eta_generated", p.EtaGenerated})
	}
	return n
}

// pairs are the figures that compare with the fixed group.
func (p *prediction) pairs() []struct {
	key, words string
	pair       theory.Pair
} {
	return []struct {
		key, words string
		pair       theory.Pair
	}{
		{"ineffective", "ineffective rollouts, share", p.Ineffective},
		{"zero_variance_groups", "zero-variance groups, share", p.ZeroVarianceGroups},
		{"signal", "signal per rollout", p.Signal},
		{"signal_prompt_mean", "signal, mean over prompts", p.SignalPromptMean},
	}
}

func (p *prediction) result() result[output.Row] {
	return result[output.Row]{p.document(), p.rows(), p.text}
}

// document returns the JSON document of the command contract.
func (p *prediction) document() output.Object {
	o := header("theory").Object()
	o.Add("population", p.population)
	o.Add("strategy", p.strategy)
	o.Add("provenance", strategyProvenance(p.strategy))
	o.Add("batch", p.input.Batch)
	o.Add("frontier", p.input.Frontier)
	o.Add("eta", numbersOf(etaNumbers(p.Eta)))
	var speedup output.Object
	for _, s := range p.Speedup {
		speedup.Add(s.Exponent.Name, numbersOf(etaNumbers(s.Etas)))
	}
	o.Add("speedup", speedup)
	o = append(o, numbersOf(p.singles())...)
	sizes := make([]output.Object, len(p.GroupSizes))
	for i, g := range p.GroupSizes {
		sizes[i] = output.Object{{Key: "size", Value: g.Size}, {Key: "share", Value: g.Share}}
	}
	o.Add("group_sizes", sizes)
	for _, pair := range p.pairs() {
		o.Add(pair.key, numbersOf(pairNumbers(pair.pair)))
	}
	cuts := make([]output.Object, len(p.Screening))
	for i, s := range p.Screening {
		cuts[i] = append(output.Object{{Key: "round", Value: s.Round}}, numbersOf(cutNumbers(s))...)
	}
	o.Add("screening", cuts)
	rounds := make([]output.Object, len(p.Rounds))
	for i, s := range p.Rounds {
		rounds[i] = append(output.Object{{Key: "round", Value: s.Round}}, numbersOf(stopNumbers(s))...)
	}
	o.Add("rounds", rounds)
	o.Add("warnings", append([]string{}, p.warnings...))
	return o
}

// rows returns the tidy table.
func (p *prediction) rows() []output.Row {
	var rows []output.Row
	add := func(prefix, at string, numbers []numbered) {
		for _, n := range numbers {
			rows = append(rows, output.Row{
				Population: p.population, Strategy: p.strategy, Figure: prefix + n.key, At: at,
				Value: value(n.number), Seed: p.seed, Coding: output.Signed, Reason: reasonOf(n.number),
			})
		}
	}
	add("eta.", "", etaNumbers(p.Eta))
	for _, s := range p.Speedup {
		add("speedup."+s.Exponent.Name+".", "", etaNumbers(s.Etas))
	}
	add("", "", p.singles())
	for _, g := range p.GroupSizes {
		add("group_sizes.", fmt.Sprintf("size=%d", g.Size), []numbered{{"share", theory.Number{Value: g.Share}}})
	}
	for _, pair := range p.pairs() {
		add(pair.key+".", "", pairNumbers(pair.pair))
	}
	for _, s := range p.Screening {
		add("screening.", fmt.Sprintf("round=%d", s.Round), cutNumbers(s))
	}
	for _, s := range p.Rounds {
		add("rounds.", fmt.Sprintf("round=%d", s.Round), stopNumbers(s))
	}
	return rows
}

// text prints the prediction for a terminal.
func (p *prediction) text(t *output.Text) {
	t.Command(p.reproduce)
	t.Blank()
	t.Note("population  ", p.population)
	t.Note("strategy    ", marked(p.strategy, p.strategy))
	t.Note("batch       ", fmt.Sprintf("%d prompts, for the figures of a finite batch", p.input.Batch))
	t.Heading("Gain over equal groups")
	t.Grid(p.etaGrid())
	t.Heading("Beside the fixed group of the same mean size")
	t.Grid(p.pairGrid())
	p.sizesText(t)
	p.screeningText(t)
	p.roundsText(t)
	p.notes(t)
}

func (p *prediction) etaGrid() output.Grid {
	g := output.Grid{Head: []string{"", "eta"}}
	for _, s := range p.Speedup {
		g.Head = append(g.Head, "speedup eta^("+s.Exponent.Name+")")
	}
	for i, n := range etaNumbers(p.Eta) {
		row := []string{etaWords[i], output.Number(value(n.number))}
		for _, s := range p.Speedup {
			row = append(row, output.Number(value(etaNumbers(s.Etas)[i].number)))
		}
		g.Add(row...)
	}
	return g
}

func (p *prediction) pairGrid() output.Grid {
	g := output.Grid{Head: []string{"", "strategy", "fixed"}}
	for _, n := range p.singles() {
		switch n.key {
		case "rollouts_per_prompt":
			g.Add("rollouts per prompt", output.Number(value(n.number)), "")
		case "eta_generated":
			g.Add("eta per generated rollout", output.Number(value(n.number)), "")
		}
	}
	for _, pair := range p.pairs() {
		g.Add(pair.words, output.Number(value(pair.pair.Strategy)), output.Number(value(pair.pair.Fixed)))
	}
	one := ""
	if value(p.Progress) != nil {
		one = "1"
	}
	g.Add("progress, fixed group = 1", output.Number(value(p.Progress)), one)
	return g
}

func (p *prediction) sizesText(t *output.Text) {
	if len(p.GroupSizes) == 0 {
		return
	}
	t.Heading("Groups by size")
	g := output.Grid{Head: []string{"size", "share"}}
	for _, s := range p.GroupSizes[:min(len(p.GroupSizes), sizesShown)] {
		g.Add(fmt.Sprint(s.Size), output.Number(&s.Share))
	}
	t.Grid(g)
	more(t, len(p.GroupSizes), "sizes")
}

func (p *prediction) screeningText(t *output.Text) {
	if len(p.Screening) == 0 || p.Field == nil {
		return
	}
	t.Heading(fmt.Sprintf("Screening errors at the frontier u >= %v", p.input.Frontier))
	g := output.Grid{Head: []string{"cut after round", "false omission", "false negative", "cumulative"}}
	for _, s := range p.Screening[:min(len(p.Screening), sizesShown)] {
		row := []string{fmt.Sprint(s.Round)}
		for _, n := range cutNumbers(s) {
			row = append(row, output.Number(value(n.number)))
		}
		g.Add(row...)
	}
	t.Grid(g)
	more(t, len(p.Screening), "cuts")
}

func (p *prediction) roundsText(t *output.Text) {
	if len(p.Rounds) < 2 {
		return
	}
	t.Heading("Round by round, infinite batch: the figures if it stopped there")
	g := output.Grid{Head: []string{"after round", "rollouts", "eta", "signal", "by prompts", "ineffective", "zero-variance", "progress"}}
	for _, s := range p.Rounds[:min(len(p.Rounds), sizesShown)] {
		row := []string{fmt.Sprint(s.Round)}
		for _, n := range stopNumbers(s) {
			row = append(row, output.Number(value(n.number)))
		}
		g.Add(row...)
	}
	t.Grid(g)
	more(t, len(p.Rounds), "rounds")
}

// sizesShown is the number of group sizes and of cuts that a terminal shows.
const sizesShown = 12

// more says what a terminal's table leaves out.
func more(t *output.Text, all int, what string) {
	if n := all - sizesShown; n > 0 {
		t.Line(fmt.Sprintf("and %d more %s: --format json lists them", n, what))
	}
}

// notes says in plain words what the figures mean and why some do not exist.
func (p *prediction) notes(t *output.Text) {
	t.Blank()
	t.Note("", "eta is the reward variance u = 4p(1-p) that an average rollout of the update meets, relative to equal groups. "+
		"No exponent turns it into time everywhere (verify, rungs 5 and 6): 1/3 is the published one, a ratio of two lower bounds. "+
		"Rewards are in {-1, +1}.")
	if note, ok := rebuilt([]string{p.strategy}); ok {
		t.Note("", note)
	}
	for _, line := range p.absent() {
		t.Note(output.Absent+"  ", line)
	}
}

// absent says in words which figures do not exist and why, a line a reason.
func (p *prediction) absent() []string {
	var all []numbered
	for i, n := range etaNumbers(p.Eta) {
		all = append(all, numbered{etaWords[i], n.number})
	}
	for _, n := range p.singles() {
		all = append(all, numbered{strings.ReplaceAll(n.key, "_", " "), n.number})
	}
	for _, pair := range p.pairs() {
		all = append(all, numbered{pair.words, pair.pair.Strategy})
	}
	var lines []string
	for _, g := range byReason(all) {
		list := g.keys
		if len(list) > 2 {
			list = []string{list[0], fmt.Sprintf("%d more", len(list)-1)}
		}
		lines = append(lines, strings.Join(list, " and ")+": "+g.reason)
	}
	return lines
}

// roundsDrawn is the number of rounds up to which the figure follows eta: at the
// defaults the largest group is then one of 510.
const roundsDrawn = 8

// drawings returns the speedup against rounds for this population; fixed
// groups have none.
func (p *prediction) drawings() *gallery {
	g := newGallery("theory", figures.Caption{
		Populations: []string{p.population}, Strategies: []string{p.strategy}, Seeds: []uint64{p.seed}, Commands: []string{p.reproduce},
	})
	if p.input.Vigor == nil {
		return g
	}
	data := plots.SpeedupData{Exponent: theory.Exponents()[0].Name}
	var closed, perfect, noisy []plots.Point
	for rounds := 1; rounds <= roundsDrawn; rounds++ {
		in := p.input
		plan := *p.input.Vigor
		plan.Rounds = rounds
		in.Vigor = &plan
		predicted, err := theory.Predict(in)
		if err != nil {
			g.err = err
			return g
		}
		add := func(line *[]plots.Point, n theory.Number) {
			if y := value(n); y != nil {
				*line = append(*line, plots.At(float64(rounds), *y))
			}
		}
		s := predicted.Speedup[0]
		add(&closed, s.ClosedForm)
		add(&perfect, s.Law)
		add(&noisy, s.Noisy)
		add(&data.Cap, s.Cap)
	}
	if len(perfect)+len(noisy) == 0 {
		return g
	}
	data.Shapes = []plots.Family{
		{Label: "perfect selection", ClosedForm: perfect},
		{Label: "real selection", ClosedForm: noisy},
	}
	if len(closed) > 0 { // u is Pareto: these are the kinds of line that the figure knows
		data.Shapes = []plots.Family{{Label: p.population, ClosedForm: closed, Truncated: perfect, MeanField: noisy}}
	}
	what := fmt.Sprintf("Speedup eta^(%s) by the number of rounds T, all else as in the strategy, for large batches. Closed form: Theorem 2, unbounded Pareto variance. "+
		"Perfect selection (truncated, where the variance is Pareto): by the true reward variance under this law. Real selection (mean field): by the variance of the rewards seen. Cap: no law reaches more.", data.Exponent)
	g.add("speedup", what, &data)
	return g
}
