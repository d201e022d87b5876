package main

import (
	"fmt"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim"
	"vigorlab/sim/train/trial"
)

// A training is what train found.
type training struct {
	flags      *trainFlags
	reproduce  string
	population string
	*trial.Result
	records []trial.Record
}

// The rates that an arm is reported at.
const (
	atCommon = "common" // the best one of the reference
	atBest   = "best"   // its own
)

// An entry is an arm at one rate.
type entry struct {
	arm    int
	at     string
	report *trial.Report
	*trial.ArmResult
}

// entries returns every arm at the common rate and at its own best one, or at the
// only one.
func (t *training) entries() []entry {
	var entries []entry
	for i := range t.Arms {
		a := &t.Arms[i]
		entries = append(entries, entry{i, atCommon, a.Common, a})
		if t.chose() {
			entries = append(entries, entry{i, atBest, a.Own, a})
		}
	}
	return entries
}

// chose reports whether there was a rate to choose.
func (t *training) chose() bool { return t.ChooseSeeds > 0 }

// target returns what it took to reach the target.
func target(r *trial.Report) *trial.LevelResult { return &r.Levels[len(r.Levels)-1] }

func (t *training) result() result[trainRow] {
	return result[trainRow]{t.document(), t.rows(), t.text}
}

// document returns the JSON document of the command contract.
func (t *training) document() output.Object {
	f := t.flags
	h := header("train")
	h.Coding = output.Binary
	o := h.Object()
	o.Add("policy", f.policy)
	o.Add("population", t.population)
	o.Add("target", t.Target)
	o.Add("eval", f.eval)
	o.Add("prompts", f.prompts)
	o.Add("batch", f.cfg.Train.Batch)
	o.Add("max_rollouts", f.cfg.Train.MaxRollouts)
	o.Add("optimizer", f.optimizer)
	o.Add("epochs", f.objective.Epochs)
	o.Add("kl", f.objective.KL)
	o.Add("token_mean", f.objective.TokenMean)
	if clip := output.Finite(f.clip); clip != nil {
		o.Add("clip", clip)
	}
	o.Add("seed", f.seed)
	o.Add("seeds", t.Seeds)
	o.Add("choose_seeds", t.ChooseSeeds)
	o.Add("level", t.Level)
	o.Add("resamples", f.cfg.Resamples)
	o.Add("learning_rates", t.Rates)
	o.Add("common_rate", t.Rates[t.Common])
	arms := []output.Object{}
	for _, e := range t.entries() {
		arms = append(arms, t.arm(e))
	}
	o.Add("arms", arms)
	o.Add("grids", t.grids())
	o.Add("warnings", append([]string{}, t.warnings()...))
	return o
}

// edgeWords says where an arm's best rate lies in the grid.
func (t *training) edge(a *trial.ArmResult) string {
	switch {
	case !t.chose():
		return "not chosen"
	case a.Edge == "":
		return "inside"
	}
	return a.Edge
}

func (t *training) arm(e entry) output.Object {
	o := output.Object{
		{Key: "strategy", Value: e.Strategy},
		{Key: "strategy_provenance", Value: strategyProvenance(e.Strategy)},
		{Key: "estimator", Value: e.Estimator},
		{Key: "aggregate", Value: e.Aggregate},
		{Key: "system", Value: e.System},
		{Key: "provenance", Value: provenance(e.System)},
		{Key: "learning_rate", Value: e.report.Rate},
		{Key: "at", Value: e.at},
		{Key: "edge", Value: t.edge(e.ArmResult)},
	}
	t.flags.addMove(&o, e.Estimator, e.report.Rate)
	last := target(e.report)
	for _, m := range measures(last) {
		o.Add(m.unit+"_to_target", median(m.Median, last))
		m.addRatios(&o)
	}
	o.Add("steps_to_target", median(last.Steps, last))
	o.Add("success", figure(e.report.Success))
	o.Add("diagnostics", diagnosticsOf(e.report))
	levels := []output.Object{}
	for i := range e.report.Levels {
		l := &e.report.Levels[i]
		level := output.Object{{Key: "level", Value: l.Level}}
		for _, m := range measures(l) {
			level.Add(m.unit, median(m.Median, l))
			m.addRatios(&level)
		}
		level.Add("steps", median(l.Steps, l))
		levels = append(levels, level)
	}
	o.Add("by_level", levels)
	probes := []output.Object{}
	for _, p := range e.report.Probes {
		probe := output.Object{
			{Key: "quarter", Value: p.Quarter},
			{Key: "seeds", Value: p.Seeds},
			{Key: "success", Value: p.Success},
			{Key: "rollouts", Value: p.Rollouts},
		}
		for _, f := range probeFigures(&p) {
			probe.Add(f.name, figure(f.estimate))
		}
		probes = append(probes, probe)
	}
	o.Add("probes", probes)
	curve := []output.Object{}
	for _, c := range e.report.Curve {
		point := output.Object{{Key: "step", Value: c.Step}}
		for _, s := range c.Series {
			point.Add(s.Name, series(&s))
		}
		curve = append(curve, point)
	}
	o.Add("curve", curve)
	ledger := output.Object{}
	for _, f := range t.ledger(e) {
		ledger.Add(f.name, figure(f.estimate))
	}
	o.Add("ledger", ledger)
	o.Add("diverged", diverged(e.report.Diverged))
	return o
}

// A measure is what it took to reach a level, in one unit, and the name of its
// ratio.
type measure struct {
	unit, ratio string
	*trial.Measure
}

// withinSuffix ends the names of ratios to the reference's strategy under the same system.
const withinSuffix = "_within"

// beforeSuffix ends those of ratios to the strategy before, on a ladder.
const beforeSuffix = "_before"

// addRatios adds the ratios to a document.
func (m *measure) addRatios(o *output.Object) {
	o.Add(m.ratio, ratio(m.Ratio))
	if m.Within != nil {
		o.Add(m.ratio+withinSuffix, ratio(*m.Within))
	}
	if m.Before != nil {
		o.Add(m.ratio+beforeSuffix, ratio(*m.Before))
	}
}

// measures returns what it took to reach a level, in every unit that differs from
// rollouts.
func measures(l *trial.LevelResult) []measure {
	all := []measure{{"rollouts", "ratio", &l.Rollouts}}
	if l.Tokens != nil {
		all = append(all, measure{"tokens", "token_ratio", l.Tokens})
	}
	if l.Cost != nil {
		all = append(all, measure{"cost", "cost_ratio", l.Cost})
	}
	return all
}

// An estimate is a figure under its name.
type estimate struct {
	name     string
	estimate sim.Estimate
}

func probeFigures(p *trial.ProbeResult) []estimate {
	return []estimate{{"snr", p.SNR}, {"bias", p.Bias}, {"length", p.Length}}
}

// ledger returns what the runs of an entry spent until they ended.
func (t *training) ledger(e entry) []estimate {
	l := trial.Ledger(t.records, e.arm, slices.Index(t.Rates, e.report.Rate))
	figures := []estimate{{"generated", l.Generated}, {"extra", l.Extra}, {"trained", l.Trained}}
	if target(e.report).Tokens != nil {
		figures = append(figures, estimate{"tokens", l.Tokens})
	}
	return append(figures, estimate{"rounds", l.Rounds}, estimate{"steps", l.Steps}, estimate{"cost", l.Cost})
}

// median returns the document of a median over seeds.
func median(f trial.Figure, l *trial.LevelResult) output.Object {
	o := output.Object{
		{Key: "median", Value: f.Estimate},
		{Key: "low", Value: f.Low},
		{Key: "high", Value: f.High},
		{Key: "reached", Value: l.Reached},
		{Key: "seeds", Value: l.Seeds},
	}
	return withReason(o, f)
}

func ratio(r trial.Ratio) output.Object {
	return withReason(output.Object{
		{Key: "estimate", Value: r.Estimate},
		{Key: "low", Value: r.Low},
		{Key: "high", Value: r.High},
		{Key: "statistic", Value: r.Statistic},
	}, r.Figure)
}

// withReason adds why a figure lacks something, where it does.
func withReason(o output.Object, f trial.Figure) output.Object {
	if f.Reason != "" {
		o.Add("reason", f.Reason)
	}
	return o
}

// series returns the document of one figure of a curve: its mean with standard
// error, the band of its 10 % and 90 % quantiles over seeds.
func series(s *trial.Series) output.Object {
	f := figure(s.Estimate)
	o := output.Object{
		{Key: "mean", Value: f.Mean},
		{Key: "se", Value: f.SE},
		{Key: "low", Value: s.Low},
		{Key: "high", Value: s.High},
		{Key: "seeds", Value: s.Seeds},
	}
	if f.Reason != "" {
		o.Add("reason", f.Reason)
	}
	return o
}

func diverged(runs []trial.Diverged) []trial.Diverged { return append([]trial.Diverged{}, runs...) }

// grids returns what every arm did at every rate on the seeds that chose.
func (t *training) grids() []output.Object {
	grids := []output.Object{}
	for i := range t.Arms {
		a := &t.Arms[i]
		for _, g := range a.Grid {
			o := output.Object{
				{Key: "strategy", Value: a.Strategy},
				{Key: "estimator", Value: a.Estimator},
				{Key: "aggregate", Value: a.Aggregate},
				{Key: "system", Value: a.System},
				{Key: "learning_rate", Value: g.Rate},
			}
			t.flags.addMove(&o, a.Estimator, g.Rate)
			o.Add("rollouts_to_target", median(g.Median, &trial.LevelResult{Reached: g.Reached, Seeds: t.ChooseSeeds}))
			o.Add("success", g.Success)
			o.Add("diverged", diverged(g.Diverged))
			grids = append(grids, o)
		}
	}
	return grids
}

// A trainRow is one figure of the tidy table.
type trainRow struct {
	Population   string   `parquet:"population"`
	Policy       string   `parquet:"policy"`
	Strategy     string   `parquet:"strategy"`
	Estimator    string   `parquet:"estimator"`
	Aggregate    string   `parquet:"aggregate"`
	System       string   `parquet:"system"`
	Optimizer    string   `parquet:"optimizer"`
	At           string   `parquet:"at"` // common, best, or grid on the seeds that chose
	LearningRate float64  `parquet:"learning_rate"`
	Figure       string   `parquet:"figure"`         // its path in the JSON document
	Level        *float64 `parquet:"level,optional"` // of success, where the figure is of one
	Step         *int64   `parquet:"step,optional"`  // of the curve, where the figure is of one
	Quarter      *int64   `parquet:"quarter,optional"`
	Value        *float64 `parquet:"value,optional"`
	SE           *float64 `parquet:"se,optional"`
	Low          *float64 `parquet:"low,optional"` // of the interval; of a curve, the 10 % quantile over seeds
	High         *float64 `parquet:"high,optional"`
	Statistic    string   `parquet:"statistic"`
	Reached      *int64   `parquet:"reached,optional"`
	Seeds        int64    `parquet:"seeds"`
	Seed         uint64   `parquet:"seed"`
	Coding       string   `parquet:"coding"`
	Reason       string   `parquet:"reason"`
}

// rows returns the tidy table: one row a figure.
func (t *training) rows() []trainRow {
	var rows []trainRow
	for _, e := range t.entries() {
		base := t.row(e.ArmResult, e.at, e.report.Rate)
		for i := range e.report.Levels {
			rows = append(rows, levelRows(base, &e.report.Levels[i])...)
		}
		for _, p := range e.report.Probes {
			for _, f := range probeFigures(&p) {
				r := base
				r.Figure, r.Quarter, r.Seeds = "probes."+f.name, whole(p.Quarter), int64(p.Seeds)
				rows = append(rows, r.fill(figure(f.estimate)))
			}
		}
		r := base
		r.Figure, r.Value = "log_odds_per_epoch", t.flags.move(e.Estimator, e.report.Rate)
		rows = append(append(rows, r), diagnosticRows(base, e.report)...)
		for _, f := range t.ledger(e) {
			r := base
			r.Figure = "ledger." + f.name
			rows = append(rows, r.fill(figure(f.estimate)))
		}
		for _, c := range e.report.Curve {
			for _, s := range c.Series {
				r := base
				r.Figure, r.Step, r.Seeds, r.Low, r.High = "curve."+s.Name, whole(c.Step), int64(s.Seeds), &s.Low, &s.High
				rows = append(rows, r.fill(figure(s.Estimate)))
			}
		}
	}
	return append(rows, t.gridRows()...)
}

func (t *training) row(a *trial.ArmResult, at string, rate float64) trainRow {
	f := t.flags
	return trainRow{
		Population: t.population, Policy: f.policy, Strategy: a.Strategy, Estimator: a.Estimator, Aggregate: a.Aggregate,
		System: a.System, Optimizer: a.Optimizer, At: at, LearningRate: rate, Seeds: int64(t.Seeds), Seed: f.seed, Coding: output.Binary,
	}
}

func (r trainRow) fill(f output.Figure) trainRow {
	r.Value, r.SE, r.Reason = f.Mean, f.SE, f.Reason
	return r
}

func (r trainRow) fillFigure(f trial.Figure) trainRow {
	r.Value, r.Low, r.High, r.Reason = f.Estimate, f.Low, f.High, f.Reason
	return r
}

func whole(n int) *int64 {
	w := int64(n)
	return &w
}

func levelRows(base trainRow, l *trial.LevelResult) []trainRow {
	var rows []trainRow
	base.Level, base.Reached = &l.Level, whole(l.Reached)
	add := func(name, statistic string, f trial.Figure) {
		r := base
		r.Figure, r.Statistic = "by_level."+name, statistic
		rows = append(rows, r.fillFigure(f))
	}
	for _, m := range measures(l) {
		add(m.unit, "median", m.Median)
		add(m.ratio, m.Ratio.Statistic, m.Ratio.Figure)
		if m.Within != nil {
			add(m.ratio+withinSuffix, m.Within.Statistic, m.Within.Figure)
		}
		if m.Before != nil {
			add(m.ratio+beforeSuffix, m.Before.Statistic, m.Before.Figure)
		}
	}
	add("steps", "median", l.Steps)
	return rows
}

func (t *training) gridRows() []trainRow {
	var rows []trainRow
	for i := range t.Arms {
		a := &t.Arms[i]
		for _, g := range a.Grid {
			r := t.row(a, "grid", g.Rate)
			r.Figure, r.Statistic, r.Level, r.Reached, r.Seeds = "grids.rollouts_to_target", "median", &t.Target, whole(g.Reached), int64(t.ChooseSeeds)
			rows = append(rows, r.fillFigure(g.Median))
			r = t.row(a, "grid", g.Rate)
			r.Figure, r.Value, r.Seeds = "grids.success", output.Finite(g.Success), int64(t.ChooseSeeds)
			rows = append(rows, r)
		}
	}
	return rows
}

// reconstruction is the provenance of what rests on an abstract or on notes; it is
// said wherever such a system is shown.
const reconstruction = "reconstruction"

// isSpecOf reports whether a spec is of that name.
func isSpecOf(text, name string) bool {
	head, _, _ := strings.Cut(text, ":")
	return head == name
}

// names returns a name for every arm: its strategy, and what else differs.
func (t *training) names() []string {
	parts := []func(*trial.ArmResult) string{
		func(a *trial.ArmResult) string { return strings.TrimSuffix(a.Estimator, ":ddof=0,delta=0") },
		func(a *trial.ArmResult) string { return "by " + a.Aggregate },
		func(a *trial.ArmResult) string {
			if provenance(a.System) == reconstruction {
				return shortSystem(a.System) + " (" + reconstruction + ")"
			}
			return shortSystem(a.System)
		},
	}
	names := make([]string, len(t.Arms))
	for i := range t.Arms {
		words := []string{labelSpec(t.Arms[i].Strategy)}
		for _, part := range parts {
			differs := slices.ContainsFunc(t.Arms, func(a trial.ArmResult) bool { return part(&a) != part(&t.Arms[0]) })
			if word := part(&t.Arms[i]); differs && word != "" {
				words = append(words, word)
			}
		}
		names[i] = strings.Join(words, ", ")
	}
	return names
}

// goal says in words what was to be reached.
func (t *training) goal() string {
	return fmt.Sprintf("mean success of the %s prompts %v", t.flags.eval, t.Target)
}

// fewSteps is a number of steps below which one more or less is a tenth of them.
const fewSteps = 10

// warnings says what a reader must know before believing a figure.
func (t *training) warnings() []string {
	var warnings []string
	names := t.names()
	switch steps := target(t.final()[0].report).Steps.Estimate; {
	case steps == nil:
	case *steps == 0:
		warnings = append(warnings, "half of the runs or more start on the target, which has no ratio there: want a higher --target")
	case *steps < fewSteps:
		warnings = append(warnings, fmt.Sprintf("the reference reached the target in %v steps: rollouts are counted by whole steps, and no ratio is finer; a smaller --lr or a larger --prompts makes runs longer", *steps))
	}
	warnings = append(append(warnings, t.slowRates()...), t.unlikeUpdates(names)...)
	for i := range t.Arms {
		a := &t.Arms[i]
		if a.Edge != "" {
			warnings = append(warnings, fmt.Sprintf("%s: the best rate of the grid is the %s, %s", names[i], a.Edge, t.beyond(a)))
		}
		for _, e := range []struct {
			words  string
			report *trial.Report
		}{{"the common rate", a.Common}, {"its best rate", a.Own}} {
			if n := len(e.report.Diverged); n > 0 {
				d := e.report.Diverged[0]
				warnings = append(warnings, fmt.Sprintf("%s: %d of %d runs at %s diverged, the first at step %d: %s = %s", names[i], n, t.Seeds, e.words, d.Step, d.Quantity, d.Value))
			}
			if a.Common == a.Own {
				break
			}
		}
	}
	return warnings
}

// What an epoch moves log odds by: under the least nothing will be learnt, at leastAuto
// the grid of auto begins.
const leastMoved, leastAuto = 1.0 / 100, 1.0 / 4

// slowRates warns of rates that the user gave under which too little moves.
func (t *training) slowRates() []string {
	if t.flags.rate == rateAuto || len(t.flags.moves) == 0 {
		return nil
	}
	var warnings []string
	most := 0.0 // of the largest rate
	for _, rate := range t.Rates {
		most = 0
		for i := range t.Arms {
			if m := t.flags.move(t.Arms[i].Estimator, rate); m != nil {
				most = max(most, *m)
			}
		}
		if most < leastMoved {
			warnings = append(warnings, fmt.Sprintf("--lr %v moves log odds by up to %.2g an epoch: nothing will be learnt; auto starts at 1/4", rate, most))
		}
	}
	reached := slices.ContainsFunc(t.entries(), func(e entry) bool { return target(e.report).Reached > 0 })
	if !reached && most >= leastMoved && most < leastAuto {
		warnings = append(warnings, fmt.Sprintf("no run reached the target, at rates that move log odds by up to %.2g an epoch: auto starts at 1/4", most))
	}
	return warnings
}

// beyond says what lies beyond the end of the grid where an arm is best.
func (t *training) beyond(a *trial.ArmResult) string {
	edge := a.Edge
	if g := a.Gain; g != nil && g.Low != nil && g.High != nil && *g.Low <= 1 && 1 <= *g.High {
		return fmt.Sprintf("a plateau: it cannot be told from the rate below, which spends %s times as many rollouts (%s); a larger one is not worth the search",
			ratioText(1, g.Figure), ratioEnds(1, g.Figure))
	}
	if o := t.flags.objective; edge == "highest" && strings.HasPrefix(t.flags.policy, "logit:") && o.KL == 0 && o.Epochs == 1 {
		return "as is to be expected where prompts share nothing, so that no step is too long"
	}
	rate, factor := t.Rates[0], 0.5
	if edge == "highest" {
		rate, factor = t.Rates[len(t.Rates)-1], 2
	}
	grid := []string{}
	for range 4 {
		grid = append(grid, fmt.Sprintf("%.4g", rate))
		rate *= factor
	}
	if factor < 1 {
		slices.Reverse(grid)
	}
	return "a better one may lie beyond: give --lr a grid such as " + strings.Join(grid, ",")
}
