package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/report"
	"vigorlab/plots"
	"vigorlab/sim/verify"
	"vigorlab/theory"
)

// drawings returns the figures of the ladder and, by rung, their names and
// captions.
func (l *ladder) drawings() (*gallery, map[int][]report.Figure) {
	g := newGallery("verify", figures.Caption{Seeds: []uint64{l.Seed}, Commands: []string{l.reproduce}})
	byRung := map[int][]report.Figure{}
	add := func(rung int, name, caption string, curves []verify.Curve, data plots.Data) {
		name = fmt.Sprintf("rung-%d-%s", rung, name)
		stateCurves(&g.add(name, caption, data).Caption, curves)
		caption += fmt.Sprintf(" Seed %d, signed coding.", l.Seed)
		byRung[rung] = append(byRung[rung], report.Figure{Name: name, Caption: caption})
	}
	for _, rung := range report.Rungs(l.Rows()) {
		curves := l.curves(rung)
		kinds := []string{
			verify.FigureGradient, verify.FigureEtaShape, verify.FigureSpeedup,
			verify.FigureAllocation, verify.FigureSizes, verify.FigureScreening, verify.FigureReplay,
			verify.FigureSlopes, verify.FigureBounds, verify.FigureSkipping, verify.FigureLag,
			verify.FigureExcess, verify.FigureArc, verify.FigureObjective,
		}
		for _, kind := range append(kinds, verify.TrainingFigures()...) {
			if c := curves[kind]; len(c) > 0 {
				add(rung, kind, caption(c), c, curvesData(kind, c))
			}
		}
		if data := l.comparisonData(rung); len(byRung[rung]) == 0 && len(data.Rows) > 0 {
			add(rung, "claims", "Estimates with their 95 % intervals beside their references, estimate / reference in the headings; the tables name populations, batches and methods.", nil, &data)
		}
	}
	return g, byRung
}

// stateCurves states in a caption what curves were computed of; those of rows without
// curves are told row by row.
func stateCurves(c *figures.Caption, curves []verify.Curve) {
	if curves == nil {
		told := []string{"row by row in the tables of the run"}
		c.Populations, c.Strategies, c.Replicates, c.Intervals = told, told, told, []string{"95 %, of estimates by Monte Carlo"}
		return
	}
	add := func(list *[]string, s string) {
		if s != "" && !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for _, curve := range curves {
		add(&c.Populations, curve.Population)
		add(&c.Strategies, curve.Strategy)
		if curve.Replicates == 0 {
			continue
		}
		words := strconv.Itoa(curve.Replicates)
		if curve.Batch > 0 {
			words += fmt.Sprintf(" with batches of %d prompts", curve.Batch)
		}
		add(&c.Replicates, words)
		add(&c.Intervals, "95 %, over replicates")
	}
}

// curves returns the curves of a rung by figure.
func (l *ladder) curves(rung int) map[string][]verify.Curve {
	curves := map[string][]verify.Curve{}
	for _, s := range l.Sections {
		if !strings.HasPrefix(s.Study, fmt.Sprintf("%d.", rung)) {
			continue
		}
		for _, c := range s.Curves {
			curves[c.Figure] = append(curves[c.Figure], c)
		}
	}
	return curves
}

// caption says of what the curves of a figure were computed, kind by kind.
func caption(curves []verify.Curve) string {
	if aggregate, rates, ok := verify.SliceOf(curves[0].Figure); ok {
		return trainedCaption(curves, aggregate, rates)
	}
	var parts []string
	for _, kind := range []struct{ name, words string }{
		{verify.ClosedForm, "closed form"},
		{verify.Truncated, "closed form for bounded variance (truncated)"},
		{verify.MeanField, "exact mean field, the limit of large batches"},
		{verify.ExactFlow, "exact flow"},
		{verify.MonteCarlo, "exact"},
	} {
		var strategies, populations []string
		words := kind.words
		for _, c := range curves {
			if c.Kind != kind.name || c.Population == "" {
				continue
			}
			strategies, populations = append(strategies, labelSpec(c.Strategy)), append(populations, c.Population)
			switch {
			case c.Figure == verify.FigureLag:
				words = fmt.Sprintf("training runs of equal length with 95 %% intervals over %d seeds, a line a rule that limits ratios", c.Replicates)
			case c.Figure == verify.FigureReplay:
				words = fmt.Sprintf("replay of whole tables, %d times, with 95 %% intervals over samples of prompts", c.Replicates)
			case c.Figure == verify.FigureExcess:
				words = fmt.Sprintf("variance above Neyman's, %d simulated batches of each size with 95 %% intervals, beside the claimed powers of the rollouts", c.Replicates)
			case c.Figure == verify.FigureSlopes && c.Replicates > 0:
				words = fmt.Sprintf("sampled training, %d runs from each start at two learning rates, with 95 %% intervals", c.Replicates)
			case c.Replicates > 0:
				words = fmt.Sprintf("Monte Carlo with 95 %% intervals, %d batches of B = %d", c.Replicates, c.Batch)
			}
		}
		if len(populations) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s on %s", words, listed(strategies), listed(populations)))
		}
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// listed joins what differs.
func listed(names []string) string {
	var different []string
	for _, name := range names {
		if !slices.Contains(different, name) {
			different = append(different, name)
		}
	}
	return strings.Join(different, " and ")
}

// curvesData returns what a figure of the ladder is drawn from.
func curvesData(kind string, curves []verify.Curve) plots.Data {
	families, ceiling := familiesOf(curves)
	switch {
	case strings.HasPrefix(kind, verify.FigureCalibration):
		return calibrationData(kind, families)
	case strings.HasPrefix(kind, verify.FigureLevels):
		return levelData(kind, families)
	}
	switch kind {
	case verify.FigureGradient:
		return &plots.GradientNormData{Cases: allPoints(curves), Unit: "M"}
	case verify.FigureEtaShape:
		return &plots.EtaShapeData{Schedules: families, Cap: ceiling}
	case verify.FigureSpeedup:
		return &plots.SpeedupData{Shapes: families, Cap: ceiling, Exponent: theory.Exponents()[0].Name}
	case verify.FigureAllocation:
		return &plots.AllocationData{Strategies: families}
	case verify.FigureSizes:
		return sizeLaws(curves)
	case verify.FigureScreening:
		return &plots.ScreeningData{Errors: families}
	case verify.FigureReplay:
		return replayData(curves)
	case verify.FigureSlopes:
		return slopesData(curves)
	case verify.FigureBounds:
		return boundsData(curves)
	case verify.FigureSkipping:
		return skippingData(curves)
	case verify.FigureLag:
		return lagData(curves)
	case verify.FigureExcess:
		return excessData(curves)
	case verify.FigureArc:
		return arcData(curves)
	case verify.FigureObjective:
		return objectiveData(curves)
	}
	panic("figure " + kind + " is unknown")
}

// familiesOf joins the curves of a family and takes the cap out.
func familiesOf(curves []verify.Curve) (families []plots.Family, ceiling []plots.Point) {
	index := map[string]int{}
	for _, c := range curves {
		if c.Kind == verify.Cap {
			ceiling = append(ceiling, points(c)...)
			continue
		}
		i, ok := index[c.Family]
		if !ok {
			i = len(families)
			index[c.Family] = i
			families = append(families, plots.Family{Label: c.Family})
		}
		f := &families[i]
		switch c.Kind {
		case verify.ClosedForm:
			f.ClosedForm = append(f.ClosedForm, points(c)...)
		case verify.Truncated:
			f.Truncated = append(f.Truncated, points(c)...)
		case verify.MeanField:
			f.MeanField = append(f.MeanField, points(c)...)
		case verify.MonteCarlo:
			f.MonteCarlo = append(f.MonteCarlo, points(c)...)
		}
	}
	return families, ceiling
}

func points(c verify.Curve) []plots.Point {
	p := make([]plots.Point, len(c.Points))
	for i, q := range c.Points {
		p[i] = plots.Point(q)
	}
	return p
}

func allPoints(curves []verify.Curve) []plots.Point {
	var all []plots.Point
	for _, c := range curves {
		all = append(all, points(c)...)
	}
	return all
}

func sizeLaws(curves []verify.Curve) *plots.GroupSizesData {
	d := new(plots.GroupSizesData)
	for _, c := range curves {
		law := plots.SizeLaw{Label: c.Family}
		for _, p := range c.Points {
			law.Shares = append(law.Shares, plots.SizeShare{Size: int(p.X), Share: plots.Value{Value: p.Y, Low: p.Low, High: p.High}})
		}
		d.Strategies = append(d.Strategies, law)
	}
	return d
}

func replayData(curves []verify.Curve) *plots.ComparisonData {
	d := &plots.ComparisonData{Figure: "gain over equal groups η", Parties: []string{"replay"}, Reference: 1}
	for _, c := range curves {
		for _, p := range c.Points {
			d.Rows = append(d.Rows, plots.ComparisonRow{Label: c.Family, Values: []plots.Value{{Value: p.Y, Low: p.Low, High: p.High}}})
		}
	}
	return d
}

// slopesData draws local exponents in a panel a target: a curve's family ends in
// ", to " and the target.
func slopesData(curves []verify.Curve) *plots.CurvesData {
	d := &plots.CurvesData{Title: "Local exponents of training time", X: "success probability at the start", LogX: true}
	index := map[string]int{}
	for _, c := range curves {
		flow, target, _ := strings.Cut(c.Family, ", to ")
		i, ok := index[target]
		if !ok {
			i = len(d.Panels)
			index[target] = i
			d.Panels = append(d.Panels, plots.CurvesPanel{Y: "exponent of the time to p = " + target, Reference: 1. / 3, Name: "1/3"})
		}
		if c.Kind == verify.MonteCarlo {
			flow += ", sampled"
		}
		d.Panels[i].Lines = append(d.Panels[i].Lines, plots.Line{Label: flow, First: points(c)})
	}
	return d
}

// boundsData draws how far times lie above their lower bounds.
func boundsData(curves []verify.Curve) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "time over its lower bound, median", LogY: true, Reference: 1, Name: "the bound"}
	return &plots.CurvesData{Title: "Times beside their lower bounds", X: "gain g in expected reward", LogX: true, Panels: lineACurve(panel, curves, points)}
}

// skippingData draws what an answer with skipped layers is worth at its price.
func skippingData(curves []verify.Curve) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "effective rollouts at the price of one", LogY: true, Reference: 1, Name: "no layer skipped"}
	return &plots.CurvesData{Title: "Efficiency of skipped layers", X: "share of layers skipped", Panels: lineACurve(panel, curves, exactPoints)}
}

// lineACurve returns a panel with a line a curve, named by what its points share.
func lineACurve(panel plots.CurvesPanel, curves []verify.Curve, of func(verify.Curve) []plots.Point) []plots.CurvesPanel {
	for _, c := range curves {
		panel.Lines = append(panel.Lines, plots.Line{Label: c.Family, First: of(c)})
	}
	return []plots.CurvesPanel{panel}
}

// exactPoints returns points without intervals.
func exactPoints(c verify.Curve) []plots.Point {
	var p []plots.Point
	for _, q := range c.Points {
		p = append(p, plots.At(q.X, q.Y))
	}
	return p
}

// lagData draws how training ends on answers of a lag, a line a rule.
func lagData(curves []verify.Curve) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "mean success at the end", Reference: math.NaN()}
	return &plots.CurvesData{Title: "Quality against lag", X: "lag in model updates", Panels: lineACurve(panel, curves, points)}
}

// excessData draws how fast MC-UCB comes to Neyman's variance, a panel a batch.
func excessData(curves []verify.Curve) *plots.CurvesData {
	d := &plots.CurvesData{Title: "Excess variance of MC-UCB (reconstruction)", X: "rollouts of the batch", LogX: true}
	index := map[string]int{}
	for _, c := range curves {
		batch, power, _ := strings.Cut(c.Family, ": ")
		i, ok := index[batch]
		if !ok {
			i = len(d.Panels)
			index[batch] = i
			d.Panels = append(d.Panels, plots.CurvesPanel{Y: "excess, " + batch, LogY: true, Reference: math.NaN()})
		}
		line := plots.Line{Label: "simulated", First: points(c)}
		if c.Kind == verify.ClosedForm {
			line = plots.Line{Label: power, First: exactPoints(c)}
		}
		if !slices.ContainsFunc(d.Panels[i].Lines, func(l plots.Line) bool { return l.Label == line.Label }) {
			d.Panels[i].Lines = append(d.Panels[i].Lines, line)
		}
	}
	return d
}

// arcData draws the variance of arc estimates beside what it tends to.
func arcData(curves []verify.Curve) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "variance over 1/(4n+2)", Reference: 1, Name: "1/(4n+2)"}
	return &plots.CurvesData{Title: "Estimates of the arc, ARCUS (reconstruction)", X: "success probability", Panels: lineACurve(panel, curves, exactPoints)}
}

// objectiveData draws the objective that VIGOR climbs beside that of equal groups.
func objectiveData(curves []verify.Curve) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "weight over that of equal groups", Reference: 1, Name: "equal groups"}
	return &plots.CurvesData{Title: "The objective of VIGOR", X: "success probability", Panels: lineACurve(panel, curves, exactPoints)}
}

// trainedCaption says which slice of the training runs a figure shows, and what
// its marks and lines are.
func trainedCaption(curves []verify.Curve, aggregate, rates string) string {
	how := "all strategies at one small learning rate"
	if rates == "best" {
		how = "every strategy at its own best learning rate of a grid, chosen on other seeds than those shown"
	}
	var populations []string
	seeds, batch := 0, 0
	for _, c := range curves {
		populations, seeds, batch = append(populations, c.Population), max(seeds, c.Replicates), max(batch, c.Batch)
	}
	text := fmt.Sprintf("Losses averaged over %ss, %s; runs of %d paired seeds with batches of %d prompts, 95 %% intervals over seeds. ", aggregate, how, seeds, batch)
	if strings.HasPrefix(curves[0].Figure, verify.FigureCalibration) {
		return text + "A mark is a case of the table below under one predictor: prompts, policy, estimator and a schedule of VIGOR (its defaults, or two rounds of 4 and 16): rollouts to target of groups of 8 over VIGOR's, measured beside predicted. " +
			"On the diagonal a prediction is right, above it too low. eta^(1/3), eta^(1/2) and eta are powers of the mean field's eta on the initial prompts, " +
			"progress is what the first step gains, path is the mean field of training, in steps without size at one rate."
	}
	return text + fmt.Sprintf("Solid: rollouts that groups of 8 need to a mean success over those of VIGOR's defaults, GRPO on one logit a prompt. "+
		"Dashed: the same of the mean field of training, the limit of large batches in steps without size at one rate. Populations: %s.", listed(populations))
}

// ofSlice says in a title of an axis which slice a figure shows; "" of none.
func ofSlice(figure string) string {
	aggregate, rates, ok := verify.SliceOf(figure)
	switch {
	case !ok:
		return ""
	case rates == "best":
		return fmt.Sprintf(", loss averaged over %ss, own best rates", aggregate)
	}
	return fmt.Sprintf(", loss averaged over %ss, one small rate", aggregate)
}

func calibrationData(figure string, families []plots.Family) *plots.CalibrationData {
	d := &plots.CalibrationData{Predicted: "ratio of rollouts, predicted", Measured: "ratio of rollouts, measured" + ofSlice(figure)}
	for _, f := range families {
		d.Predictors = append(d.Predictors, plots.Predictor{Label: f.Label, Cases: f.MonteCarlo})
	}
	return d
}

func levelData(figure string, families []plots.Family) *plots.CurvesData {
	panel := plots.CurvesPanel{Y: "rollouts of groups of 8 over VIGOR's" + ofSlice(figure), Reference: 1, Name: "groups of 8"}
	for _, f := range families {
		panel.Lines = append(panel.Lines, plots.Line{Label: f.Label, First: f.MonteCarlo, Second: f.MeanField})
	}
	return &plots.CurvesData{
		Title: "Ratio of rollouts by level", X: "mean success probability reached",
		Styles: [2]string{"training runs", "mean field of training"}, Panels: []plots.CurvesPanel{panel},
	}
}

// comparisonData puts the estimates of a rung beside their references, for a
// rung without a figure of its own.
func (l *ladder) comparisonData(rung int) plots.ComparisonData {
	d := plots.ComparisonData{Figure: "estimate and reference", Parties: []string{"estimate", "reference"}, Reference: math.NaN()}
	for _, r := range l.Rows() {
		if r.Rung != rung || r.Estimate == nil || r.Reference == nil {
			continue
		}
		value := plots.Value{Value: *r.Estimate, Low: math.NaN(), High: math.NaN()}
		if r.Interval != nil {
			value.Low, value.High = r.Interval[0], r.Interval[1]
		}
		study, label, _ := strings.Cut(strings.TrimPrefix(r.ID, fmt.Sprintf("%d.", rung)), ".")
		d.Rows = append(d.Rows, plots.ComparisonRow{
			Group: inWords(r.Rung, study), Label: strings.ReplaceAll(label, "-", " "),
			Values: []plots.Value{value, {Value: *r.Reference, Low: math.NaN(), High: math.NaN()}},
		})
	}
	return d
}

// inWords says what estimates and references of a study are, where its name
// does not.
func inWords(rung int, study string) string {
	switch fmt.Sprintf("%d.%s", rung, study) {
	case "2.closed-form":
		return "η: order statistics / Theorem 2"
	case "2.monte-carlo":
		return "η: Monte Carlo / order statistics"
	case "2.published-speedup":
		return "speedup: its cap / published"
	}
	return strings.ReplaceAll(study, "-", " ")
}
