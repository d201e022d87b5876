package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/spec"
	"vigorlab/plots"
)

// A fitted is what fit found.
type fitted struct {
	reproduce  string
	table      string
	window     string // "" where every row counts
	replicates int
	seed       uint64
	warnings   []string
	drift      *fit.Drift // nil where no prompt is visited twice
	sizing     *sizing
	*fit.Result
}

// Reasons for figures that do not exist.
const (
	noBootstrap = "needs --replicates: percentiles and p-values come from fits to drawn counts"
	noAIC       = "the nonparametric law has no fixed number of parameters"
	noVisits    = "no prompt is visited twice"
	fewVisits   = "fewer than two prompts have visits of enough rollouts: 2 for p, 4 for u"
	onePrompt   = "errors are over prompts, and there is one"
	noMixed     = "no prompt is mixed: the counts say nothing of u but that it is near 0"
	noMixedGain = "all recorded variances are zero"

	noSizes   = "sizes differ, and how they came about is not said: name the strategy that chose them, or none"
	selected  = "outcomes chose, or may have, how many rollouts a prompt got: prompts of so many are a selection"
	noFolding = "how likely a prompt of n rollouts is mixed depends on what chose n"
	bestOfAll = "gof_p: the other laws are judged by how far they fall short of this one"

	noSampleGain = "some bootstrap samples show no reward variance, and so no gain"
)

// hillWarning stands wherever Hill's estimates are shown.
const hillWarning = "u <= 1 is bounded, so that no power law is its tail and there is no tail index: " +
	"the estimates grow without limit towards the largest u, and binomial noise is in them besides"

// atomsFile is the nonparametric law in a run directory, for atoms:path=FILE.
const atomsFile = "npmle.csv"

func (r *fitted) result() result[output.Row] {
	return result[output.Row]{r.document(), r.rows(), r.text}
}

// spec returns the spec of a fit, and why there is none.
func (r *fitted) spec(f *fit.Fit) (text, reason string) {
	if f.Family != fit.NPMLE {
		return f.Spec, f.Reason
	}
	switch {
	case r.window != "":
		return "", "the atoms of a window: atoms:path=DIR/" + atomsFile + " of a run with --out DIR"
	case strings.ContainsRune(r.table, ','):
		return "", "the table's name has a comma: atoms:path=DIR/" + atomsFile + " of a run with --out DIR"
	}
	return spec.Spec{Name: "table", Params: []spec.Param{{Key: "path", Value: r.table}, {Key: "smooth", Value: fit.SmoothNPMLE}}}.String(), ""
}

// saveAtoms writes the nonparametric law, if it was fitted and there is a run
// directory.
func (r *fitted) saveAtoms(d *rundir.Dir) error {
	for _, f := range r.Fits {
		if d == nil || f.Atoms == nil {
			continue
		}
		var b bytes.Buffer
		b.WriteString("p,weight\n")
		for _, a := range f.Atoms {
			fmt.Fprintf(&b, "%s,%s\n", spec.FormatFloat(a.P), spec.FormatFloat(a.W))
		}
		if err := d.Write(atomsFile, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// explained adds the first of the reasons that is one.
func explained(o output.Object, reasons ...string) output.Object {
	var given []string
	for _, r := range reasons {
		if r != "" {
			given = append(given, r)
		}
	}
	if len(given) > 0 {
		o.Add("reason", strings.Join(given, "; "))
	}
	return o
}

// intervalObject returns estimate, low and high; the ends are null without a
// bootstrap.
func (r *fitted) intervalObject(x fit.Interval) output.Object {
	o := output.Object{
		{Key: "estimate", Value: output.Finite(x.Estimate)}, {Key: "low", Value: output.Finite(x.Low)}, {Key: "high", Value: output.Finite(x.High)},
	}
	return explained(o, missingEstimate(x.Estimate), r.missingEnds(x))
}

// missingEnds says why an interval's ends do not exist.
func (r *fitted) missingEnds(x fit.Interval) string {
	switch {
	case r.replicates == 0 || r.Sizes == fit.SizesUnknown:
		return r.missingBootstrap(x.Low)
	case output.Finite(x.Low) == nil && output.Finite(x.Estimate) != nil:
		return noSampleGain
	}
	return ""
}

func missingEstimate(x float64) string {
	if output.Finite(x) == nil {
		return noMixedGain
	}
	return ""
}

// missingBootstrap says why a figure that rests on drawn counts does not exist.
func (r *fitted) missingBootstrap(x float64) string {
	switch {
	case output.Finite(x) != nil:
		return ""
	case r.Sizes == fit.SizesUnknown:
		return noSizes
	}
	return noBootstrap
}

// missingTest says why a fit has no p-value.
func (r *fitted) missingTest(f *fit.Fit) string {
	if f.Family == fit.NPMLE && r.Test == fit.Shortfall {
		return bestOfAll
	}
	return r.missingBootstrap(f.P)
}

// document returns the JSON document of the command contract.
func (r *fitted) document() output.Object {
	o := header("fit").Object()
	o.Add("table", r.table)
	o.Add("window", r.window)
	o.Add("prompts", r.Prompts)
	o.Add("rollouts", r.Rollouts)
	o.Add("replicates", r.replicates)
	o.Add("seed", r.seed)
	o.Add("sizes", append(output.Object{{Key: "came_about", Value: r.Sizes}}, r.sizing.object()...))
	o.Add("gof_test", r.Test)
	families := make([]output.Object, len(r.Fits))
	for i := range r.Fits {
		families[i] = r.familyObject(&r.Fits[i])
	}
	o.Add("families", families)
	o.Add("comparisons", comparisonObjects(r.Comparisons))
	o.Add("folded", r.foldedObject())
	o.Add("verdict", append([]string{}, r.Verdict...))
	o.Add("gain", r.gainObject())
	hill := make([]output.Object, len(r.Hill))
	for i, h := range r.Hill {
		hill[i] = output.Object{{Key: "k", Value: h.K}, {Key: "u", Value: h.U}, {Key: "estimate", Value: h.Estimate}, {Key: "se", Value: h.SE}}
	}
	o.Add("hill", output.Object{{Key: "warning", Value: hillWarning}, {Key: "points", Value: hill}})
	o.Add("drift", r.driftObject())
	o.Add("warnings", append([]string{}, r.warnings...))
	return o
}

func (r *fitted) familyObject(f *fit.Fit) output.Object {
	text, reason := r.spec(f)
	var spec *string
	if text != "" {
		spec = &text
	}
	aic := ""
	if output.Finite(f.AIC) == nil {
		aic = noAIC
	}
	o := output.Object{
		{Key: "family", Value: f.Family},
		{Key: "law", Value: f.Doc},
		{Key: "spec", Value: spec},
		{Key: "parameters", Value: parametersObject(f.Parameters)},
		{Key: "loglik", Value: f.LogLik},
		{Key: "aic", Value: output.Finite(f.AIC)},
		{Key: "gof_statistic", Value: output.Finite(f.Distance)},
		{Key: "gof_p", Value: output.Finite(f.P)},
		{Key: "gof_p_se", Value: output.Finite(f.PError)},
		{Key: "mean_p", Value: r.intervalObject(f.MeanP)},
		{Key: "mean_u", Value: r.intervalObject(f.MeanU)},
		{Key: "gain", Value: r.intervalObject(f.Gain)},
	}
	var groups []output.Object
	for i, g := range fit.GroupSizes() {
		groups = append(groups, r.zeroVarianceObject(g, f.ZeroVariance[i], r.Observed[i]))
	}
	o.Add("zero_variance", groups)
	if f.Atoms != nil {
		atoms := make([]output.Object, len(f.Atoms))
		for i, a := range f.Atoms {
			atoms[i] = output.Object{{Key: "p", Value: a.P}, {Key: "weight", Value: a.W}}
		}
		o.Add("atoms", atoms)
		o.Add("gap", f.Gap)
	}
	return explained(o, reason, aic, r.missingTest(f))
}

func (r *fitted) zeroVarianceObject(g int, predicted fit.Interval, observed fit.Share) output.Object {
	o := output.Object{
		{Key: "g", Value: g},
		{Key: "predicted", Value: output.Finite(predicted.Estimate)},
		{Key: "low", Value: output.Finite(predicted.Low)},
		{Key: "high", Value: output.Finite(predicted.High)},
		{Key: "observed", Value: output.Finite(observed.Mean)},
		{Key: "se", Value: output.Finite(observed.SE)},
		{Key: "prompts", Value: observed.Prompts},
	}
	few := ""
	switch {
	case r.Sizes != fit.SizesBeforehand:
		few = selected
	case observed.Prompts == 0:
		few = fmt.Sprintf("no prompt has %d rollouts", g)
	}
	return explained(o, few, r.missingBootstrap(predicted.Low))
}

func parametersObject(all []fit.Parameter) output.Object {
	o := output.Object{}
	for _, p := range all {
		o.Add(p.Name, output.Object{
			{Key: "estimate", Value: p.Estimate},
			{Key: "low", Value: p.Low},
			{Key: "high", Value: p.High},
			{Key: "method", Value: "profile"},
			{Key: "at_end", Value: p.AtEnd},
		})
	}
	return o
}

func comparisonObjects(all []fit.Comparison) []output.Object {
	objects := make([]output.Object, len(all))
	for i, x := range all {
		objects[i] = output.Object{
			{Key: "a", Value: x.A},
			{Key: "b", Value: x.B},
			{Key: "difference", Value: x.Difference},
			{Key: "test", Value: x.Test},
			{Key: "p", Value: x.P},
			{Key: "level", Value: fit.Level},
			{Key: "apart", Value: x.Apart},
		}
	}
	return objects
}

func (r *fitted) foldedObject() output.Object {
	families := []output.Object{}
	if r.Folded == nil {
		why := noMixed
		if r.Sizes != fit.SizesBeforehand {
			why = noFolding
		}
		return output.Object{
			{Key: "prompts", Value: 0},
			{Key: "families", Value: families},
			{Key: "comparisons", Value: []output.Object{}},
			{Key: "reason", Value: why},
		}
	}
	for _, f := range r.Folded.Fits {
		families = append(families, explained(output.Object{
			{Key: "family", Value: f.Family},
			{Key: "parameters", Value: parametersObject(f.Parameters)},
			{Key: "loglik", Value: f.LogLik},
			{Key: "gof_p", Value: output.Finite(f.P)},
			{Key: "gof_p_se", Value: output.Finite(f.PError)},
		}, r.missingBootstrap(f.P)))
	}
	return output.Object{
		{Key: "prompts", Value: r.Folded.Prompts}, {Key: "families", Value: families}, {Key: "comparisons", Value: comparisonObjects(r.Folded.Comparisons)},
	}
}

// best returns the parametric fit of smallest AIC, or the first fit.
func (r *fitted) best() *fit.Fit {
	best := &r.Fits[0]
	for i := range r.Fits {
		if f := &r.Fits[i]; f.AIC < best.AIC || math.IsNaN(best.AIC) {
			best = f
		}
	}
	return best
}

func (r *fitted) gainObject() output.Object {
	best := r.best()
	o := output.Object{
		{Key: "plugin", Value: output.Finite(r.PluginGain)}, {Key: "fitted", Value: output.Finite(best.Gain.Estimate)}, {Key: "family", Value: best.Family},
	}
	return explained(o, missingEstimate(r.PluginGain))
}

// classes are the words of fit's classes of groups.
var classes = [...]string{fit.AllWrong: "all_wrong", fit.Mixed: "mixed", fit.AllRight: "all_right"}

func (r *fitted) driftObject() output.Object {
	next, correlations := []output.Object{}, []output.Object{}
	if r.drift == nil {
		return output.Object{{Key: "next", Value: next}, {Key: "correlations", Value: correlations}, {Key: "reason", Value: noVisits}}
	}
	for from, row := range r.drift.Next {
		for to, x := range row {
			if x.Prompts > 0 {
				alone := ""
				if output.Finite(x.SE) == nil {
					alone = onePrompt
				}
				next = append(next, explained(output.Object{
					{Key: "from", Value: classes[from]},
					{Key: "to", Value: classes[to]},
					{Key: "share", Value: x.Mean},
					{Key: "se", Value: output.Finite(x.SE)},
					{Key: "groups", Value: x.Prompts},
				}, alone))
			}
		}
	}
	for _, c := range r.drift.Correlations {
		o := output.Object{{Key: "lag", Value: c.Lag}, {Key: "pairs", Value: c.Pairs}}
		for _, x := range correlationsOf(&c) {
			o.Add(x.key, explained(output.Object{
				{Key: "mean", Value: output.Finite(x.share.Mean)}, {Key: "se", Value: output.Finite(x.share.SE)},
			}, missingCorrelation(x.share)))
		}
		correlations = append(correlations, o)
	}
	return output.Object{{Key: "next", Value: next}, {Key: "correlations", Value: correlations}}
}

// missingCorrelation says why a correlation or its error does not exist.
func missingCorrelation(x fit.Share) string {
	switch {
	case output.Finite(x.Mean) != nil && output.Finite(x.SE) != nil:
		return ""
	case x.Prompts < 2:
		return fewVisits
	}
	return "a variance is not positive"
}

// A keyedShare is a figure under its key.
type keyedShare struct {
	key   string
	share fit.Share
}

func correlationsOf(c *fit.Correlation) []keyedShare {
	return []keyedShare{{"p_recorded", c.PlainP}, {"p", c.P}, {"u_recorded", c.PlainU}, {"u", c.U}}
}

// rows returns the tidy table.
func (r *fitted) rows() []output.Row {
	var rows []output.Row
	add := func(family, figure, at string, value, se, low, high float64, reason string) {
		row := output.Row{
			Population: "table:path=" + r.table, Strategy: family, Figure: figure, At: at,
			Value: output.Finite(value), SE: output.Finite(se), Low: output.Finite(low), High: output.Finite(high),
			Replicates: int64(r.replicates), Seed: r.seed, Coding: output.Signed, Reason: reason,
		}
		if row.Low != nil {
			level := 0.95
			row.Level = &level
		}
		rows = append(rows, row)
	}
	none := math.NaN()
	for i := range r.Fits {
		f := &r.Fits[i]
		for _, p := range f.Parameters {
			add(f.Family, "parameters."+p.Name, "", p.Estimate, none, p.Low, p.High, "")
		}
		add(f.Family, "loglik", "", f.LogLik, none, none, none, "")
		if output.Finite(f.AIC) != nil {
			add(f.Family, "aic", "", f.AIC, none, none, none, "")
		} else {
			add(f.Family, "aic", "", none, none, none, none, noAIC)
		}
		add(f.Family, "gof_p", "", f.P, f.PError, none, none, r.missingTest(f))
		for _, x := range []struct {
			key string
			of  fit.Interval
		}{{"mean_p", f.MeanP}, {"mean_u", f.MeanU}, {"gain", f.Gain}} {
			add(f.Family, x.key, "", x.of.Estimate, none, x.of.Low, x.of.High, missingEstimate(x.of.Estimate))
		}
		for k, g := range fit.GroupSizes() {
			x := f.ZeroVariance[k]
			add(f.Family, "zero_variance.predicted", fmt.Sprintf("g=%d", g), x.Estimate, none, x.Low, x.High, "")
		}
	}
	for k, g := range fit.GroupSizes() {
		if x := r.Observed[k]; x.Prompts > 0 {
			add("", "zero_variance.observed", fmt.Sprintf("g=%d", g), x.Mean, x.SE, none, none, "")
		}
	}
	add("", "gain.plugin", "", r.PluginGain, none, none, none, missingEstimate(r.PluginGain))
	if r.drift != nil {
		for from, row := range r.drift.Next {
			for to, x := range row {
				if x.Prompts > 0 {
					add("", "drift.next", "from="+classes[from]+",to="+classes[to], x.Mean, x.SE, none, none, "")
				}
			}
		}
		for _, c := range r.drift.Correlations {
			for _, x := range correlationsOf(&c) {
				add("", "drift.correlations."+x.key, fmt.Sprintf("lag=%d", c.Lag), x.share.Mean, x.share.SE, none, none, "")
			}
		}
	}
	return rows
}

// drawings returns the fitted laws beside the counts, and the zero-variance
// groups that they predict beside the observed ones.
func (r *fitted) drawings() *gallery {
	counts := plots.CurvesPanel{Y: "share of prompts with at most s successes", Reference: math.NaN()}
	groups := plots.CurvesPanel{Y: "share of zero-variance groups", Reference: math.NaN()}
	var n int
	for _, f := range r.drawn() {
		var cdf, zero []plots.Point
		for _, b := range belowAll(f.Band) {
			n = b.N
			cdf = append(cdf, plots.Point{X: float64(b.S), Y: b.Fitted.Estimate, Low: b.Fitted.Low, High: b.Fitted.High})
		}
		for i, g := range fit.GroupSizes() {
			x := f.ZeroVariance[i]
			zero = append(zero, plots.Point{X: float64(g), Y: x.Estimate, Low: x.Low, High: x.High})
		}
		counts.Lines = append(counts.Lines, plots.Line{Label: f.Family, First: cdf})
		groups.Lines = append(groups.Lines, plots.Line{Label: f.Family, First: zero})
	}
	var seen, alike []plots.Point
	for _, b := range belowAll(r.Fits[0].Band) {
		seen = append(seen, plots.At(float64(b.S), b.Observed))
	}
	for i, g := range fit.GroupSizes() {
		if x := r.Observed[i]; x.Prompts > 0 {
			alike = append(alike, plots.Point{X: float64(g), Y: x.Mean, Low: x.Mean - 1.96*x.SE, High: x.Mean + 1.96*x.SE})
		}
	}
	counts.Lines = append(counts.Lines, plots.Line{Label: "observed", Second: seen})
	if alike != nil {
		groups.Lines = append(groups.Lines, plots.Line{Label: "observed", Second: alike})
	}
	styles := [2]string{"fitted law", "observed counts"}
	g := newGallery("fit", figures.Caption{
		Populations: []string{"table:path=" + r.table}, Replicates: replicated(r.replicates, "fits to counts drawn from each law"),
		Intervals: []string{"95 %, of laws by percentiles of the fits to drawn counts, of shares of groups mean ± 1.96 standard errors over prompts"},
		Seeds:     []uint64{r.seed}, Commands: []string{r.reproduce},
	})
	if s := r.sizing.strategy; s != "" && s != noStrategy {
		g.made.Caption.Strategies = []string{s}
	}
	if r.Sizes == fit.SizesBeforehand { // counts of prompts that outcomes selected look like no law
		g.add("counts", fmt.Sprintf("Fitted laws beside the recorded counts: share of the prompts with at most s successes among %d rollouts.", n), &plots.CurvesData{
			Title: "Fitted laws beside the counts", X: fmt.Sprintf("successes s among %d rollouts", n), Styles: styles, Marks: true, Panels: []plots.CurvesPanel{counts},
		})
	}
	g.add("zero-variance", "Share of groups whose rewards all agree by group size, as the fitted laws say and as observed.", &plots.CurvesData{
		Title: "Zero-variance groups", X: "group size G", LogX: true, Styles: styles, Marks: true, Panels: []plots.CurvesPanel{groups},
	})
	if len(r.Hill) > 0 {
		c := &g.add("hill", "Hill's estimates of a Pareto shape from the k largest recorded u: "+hillWarning+".", r.hillData()).Caption
		c.Replicates, c.Intervals = nil, []string{"95 %, estimate ± 1.96 standard errors, cut off at 0"}
	}
	return g
}

// belowAll leaves out that all prompts have at most n successes, as any law says.
func belowAll(band []fit.BandPoint) []fit.BandPoint {
	return slices.DeleteFunc(slices.Clone(band), func(b fit.BandPoint) bool { return b.S == b.N })
}

// hillData returns Hill's estimates with their 95 % intervals, the warning in
// the figure's title.
func (r *fitted) hillData() *plots.CurvesData {
	var line plots.Line
	for _, h := range r.Hill {
		line.First = append(line.First, plots.Point{X: float64(h.K), Y: h.Estimate, Low: max(0, h.Estimate-1.96*h.SE), High: h.Estimate + 1.96*h.SE})
	}
	return &plots.CurvesData{
		Title: "Hill plot: " + hillWarning, X: "largest recorded u, their number k", LogX: true,
		Panels: []plots.CurvesPanel{{Y: "Hill's estimate of a shape", LogY: true, Lines: []plots.Line{line}, Reference: math.NaN()}},
	}
}

// drawn returns the fits of a figure: the best by AIC, Theorem 2's Pareto law
// and the nonparametric law, as far as they were fitted.
func (r *fitted) drawn() []*fit.Fit {
	best := r.best()
	list := []*fit.Fit{best}
	for i := range r.Fits {
		if f := &r.Fits[i]; f != best && (f.Family == fit.ParetoVariance || f.Family == fit.NPMLE) {
			list = append(list, f)
		}
	}
	return list
}
