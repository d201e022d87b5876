package verify

import (
	"fmt"
	"math"
	"slices"

	"vigorlab/sim/train/trial"
)

// The figures of the rung, one a slice: the name of the slice follows.
const (
	FigureCalibration = "calibration-" // X predicted, Y measured ratio of rollouts to target
	FigureLevels      = "levels-"      // X level of the mean success, Y ratio of rollouts to it
)

// TrainingFigures returns the figures of the rung.
func TrainingFigures() []string {
	var names []string
	for _, s := range slices6 {
		names = append(names, FigureLevels+s.name(), FigureCalibration+s.name())
	}
	return names
}

// SliceOf returns by what losses average, "rollout" or "prompt", and the rates,
// "small" or "best", that a figure of training runs shows; ok is false of another
// figure.
func SliceOf(figure string) (aggregate, rates string, ok bool) {
	for _, s := range slices6 {
		if figure == FigureLevels+s.name() || figure == FigureCalibration+s.name() {
			return s.aggregate, string(s.regime), true
		}
	}
	return "", "", false
}

// published is the speedup that VIGOR's paper states (theory.md, 3.1).
const published = 2.3

// rows says what a slice's ratios come to.
func (s slice) rows(ratios []Ratio) []Row {
	plans := of(ratios, vigorPlan, vigorTwo)
	var rows []Row
	for i, name := range PredictorNames {
		rows = append(rows, s.predictorRow(Row{
			ID:    name,
			Claim: fmt.Sprintf("%s%s how many times fewer rollouts VIGOR needs to a target, %s", inWords(name), predicts, s),
		}, plans, i))
	}
	if linkedOnes := withPolicy(plans, linked); len(linkedOnes) > 0 {
		rows = append(rows, s.predictorRow(Row{
			ID:    "path-of-uncoupled-prompts",
			Claim: fmt.Sprintf("%s%s how many times fewer rollouts VIGOR needs where every prompt has its own logit, %s", inWords("path"), predicts, s),
		}, withPolicy(plans, tabular), pathAt), s.predictorRow(Row{
			ID:    "path-of-linked-prompts",
			Claim: fmt.Sprintf("%s%s how many times fewer rollouts VIGOR needs where prompts share features, of which it knows nothing, %s", inWords("path"), predicts, s),
		}, linkedOnes, pathAt))
	}
	if s.regime == smallSteps {
		rows = append(rows, s.predictorRow(Row{
			ID:    "path-of-fixed-groups",
			Claim: fmt.Sprintf("%s%s the rollouts of fixed groups of 2 and 16 beside groups of 8, %s", inWords("path"), predicts, s),
			Note:  "a step of the same rate is a step: smaller groups make more of them of the same rollouts",
		}, of(ratios, "fixed:g=2", "fixed:g=16"), pathAt))
	}
	for _, name := range strategiesOf(ratios) {
		rows = append(rows, s.gainRow(name, of(ratios, name)))
	}
	return append(rows, s.publishedRow(plans))
}

// predicts is the claim of a predictor: its row has the root mean square error as
// the estimate and the allowed size as the reference.
var predicts = fmt.Sprintf(" predicts within %g, root mean square error of the logarithm,", exactBy)

// inWords says what a predictor is, where its name does not.
func inWords(predictor string) string {
	switch predictor {
	case "progress":
		return "progress (what the first step gains)"
	case "path":
		return "path (the mean field of training, step after step)"
	}
	return predictor
}

// withPolicy returns the ratios of a policy.
func withPolicy(ratios []Ratio, policy string) []Ratio {
	return slices.DeleteFunc(slices.Clone(ratios), func(r Ratio) bool { return r.Policy != policy })
}

// strategiesOf returns the strategies of ratios, each once.
func strategiesOf(ratios []Ratio) []string {
	var names []string
	for _, r := range ratios {
		if !slices.Contains(names, r.Strategy) {
			names = append(names, r.Strategy)
		}
	}
	return names
}

// method says what was run.
func (s slice) method(cases int, seeds int) string {
	return fmt.Sprintf("%d cases of %d seeds: %d prompts in batches of %d, success probabilities from %v, plain gradient ascent, %s",
		cases, seeds, trainPrompts, trainBatch, trainFloor, s.regime)
}

// complete returns the ratios whose target was reached on every seed.
func complete(ratios []Ratio) []Ratio {
	var all []Ratio
	for _, r := range ratios {
		if r.Logs != nil {
			all = append(all, r)
		}
	}
	return all
}

// leftOut says how many cases complete left out.
func leftOut(all, kept []Ratio) string {
	if len(all) == len(kept) {
		return ""
	}
	return fmt.Sprintf("left out, since the target was not reached on every seed: %d of %d", len(all)-len(kept), len(all))
}

const neverReached = "no case reached its target on every seed"

// predictorRow gives a predictor its verdict.
func (s slice) predictorRow(row Row, ratios []Ratio, predictor int) Row {
	kept := complete(ratios)
	row.Note = joinNotes(row.Note, leftOut(ratios, kept))
	if len(kept) == 0 {
		row.Kind, row.Method, row.Verdict, row.Reason = Claim, "training runs", Untestable, neverReached
		return row
	}
	var cases []foretold
	for _, r := range kept {
		f := foretold{logs: r.Logs, predicted: *r.Predicted[predictor]}
		if r.Low != nil && r.High != nil {
			f.interval = &[2]float64{*r.Low, *r.High}
		}
		cases = append(cases, f)
	}
	row.Method = s.method(len(kept), kept[0].Seeds)
	return judged(row, calibrate(cases))
}

// gainRow says whether a strategy needs fewer rollouts than the reference.
func (s slice) gainRow(name string, ratios []Ratio) Row {
	kept := complete(ratios)
	row := Row{
		ID: name, Kind: Claim,
		Claim: fmt.Sprintf("%s needs fewer rollouts to a target than %s, %s", name, reference, s),
		Test:  "95 % interval of the geometric mean over cases, Student's law over seeds, pointwise: above 1 holds, below 1 fails, else these runs cannot tell",
		Note:  leftOut(ratios, kept), Reference: number(1),
	}
	if len(kept) == 0 {
		row.Method, row.Verdict, row.Reason = "training runs", Untestable, neverReached
		return row
	}
	row.Method = s.method(len(kept), kept[0].Seeds)
	ones := make([]foretold, len(kept))
	for i, r := range kept {
		ones[i] = foretold{logs: r.Logs, predicted: 1}
	}
	mean := calibrate(ones).mean
	row.Estimate, row.SE = number(math.Exp(mean.value)), number(math.Exp(mean.value)*mean.se)
	row.Interval = &[2]float64{math.Exp(mean.low), math.Exp(mean.high)}
	row.Note = joinNotes(spreadOf(kept), row.Note)
	row = readOff(row, 1)
	if row.Verdict == Holds && len(kept) < len(ratios) {
		row.Verdict, row.Reason = Untestable, "cases that never came to an end are left out, which may favour the strategy"
	}
	return row
}

// readOff gives a row the verdict of its interval beside a bound that the
// estimate must pass.
func readOff(row Row, bound float64) Row {
	row.Reason = "p, detects: the verdict is read off the interval"
	switch {
	case row.Interval == nil:
		row.Verdict, row.Reason = Untestable, "there is no interval"
	case row.Interval[0] > bound:
		row.Verdict = Holds
	case row.Interval[1] < bound:
		row.Verdict = Fails
	default:
		row.Verdict, row.Reason = Untestable, fmt.Sprintf("the interval holds %v: these runs cannot tell", bound)
	}
	return row
}

// spreadOf says how the cases of a strategy differ.
func spreadOf(ratios []Ratio) string {
	least, most := 0, 0
	above, below, edge := 0, 0, 0
	for i, r := range ratios {
		if *r.Measured < *ratios[least].Measured {
			least = i
		}
		if *r.Measured > *ratios[most].Measured {
			most = i
		}
		if r.Low != nil && *r.Low > 1 {
			above++
		}
		if r.High != nil && *r.High < 1 {
			below++
		}
		if r.Edge != "" {
			edge++
		}
	}
	note := fmt.Sprintf("from %.3f (%s) to %.3f (%s); by its own interval a case is above 1 in %d of %d, below 1 in %d",
		*ratios[least].Measured, ratios[least].Where(), *ratios[most].Measured, ratios[most].Where(), above, len(ratios), below)
	if edge > 0 {
		note += fmt.Sprintf("; the best rate is at an end of the grid in %d", edge)
	}
	return note
}

// Where names a ratio's prompts, target, policy and estimator.
func (r *Ratio) Where() string {
	return world{population: r.Population, levels: []float64{r.Target}, policy: r.Policy, heldOut: r.HeldOut, estimator: r.Estimator}.String()
}

// publishedRow puts the largest ratio of VIGOR beside the published one.
func (s slice) publishedRow(ratios []Ratio) Row {
	row := Row{
		ID: "published", Kind: Claim,
		Claim:     fmt.Sprintf("VIGOR trains %v times faster than fixed groups of 8 somewhere, %s", published, s),
		Test:      "95 % interval of the case with the largest ratio: above the claim holds, below it fails, else these runs cannot tell",
		Reference: number(published),
	}
	var best *Ratio
	for i := range ratios {
		if r := &ratios[i]; r.Measured != nil && (best == nil || *r.Measured > *best.Measured) {
			best = r
		}
	}
	if best == nil {
		row.Method, row.Verdict, row.Reason = "training runs", Untestable, neverReached
		return row
	}
	row.Method = s.method(len(ratios), best.Seeds)
	row.Estimate, row.SE = best.Measured, best.SE
	if best.Low != nil && best.High != nil {
		row.Interval = &[2]float64{*best.Low, *best.High}
	}
	row.Note = fmt.Sprintf("%s on %s, the largest of %d cases and so favoured by chance", best.Strategy, best.Where(), len(ratios))
	return readOff(row, published)
}

// calibrationCurves draws measured against predicted ratios of VIGOR.
func (s slice) calibrationCurves(ratios []Ratio) []Curve {
	var curves []Curve
	for i, name := range PredictorNames {
		c := Curve{Figure: FigureCalibration + s.name(), Family: name, Kind: MonteCarlo}
		for _, r := range of(ratios, vigorPlan, vigorTwo) {
			if r.Measured == nil || r.Low == nil || r.High == nil || r.Predicted[i] == nil {
				continue
			}
			c.Points = append(c.Points, Point{X: *r.Predicted[i], Y: *r.Measured, Low: *r.Low, High: *r.High})
			c.Replicates = r.Seeds
		}
		c.Batch, c.Strategy, c.Population = trainBatch, "vigor", "every population of the rung"
		curves = append(curves, c)
	}
	return curves
}

// levelCurves draws a strategy's ratio against the level of the mean success, and
// the path's.
func (s slice) levelCurves(w world, r *trial.Result, arm int, p *forecast) []Curve {
	setting := Setting{Population: w.population, Strategy: vigorPlan}
	path := Curve{Figure: FigureLevels + s.name(), Family: w.population, Kind: MeanField, Setting: setting}
	setting.Batch, setting.Replicates = trainBatch, r.Seeds
	measured := Curve{Figure: path.Figure, Family: path.Family, Kind: MonteCarlo, Setting: setting}
	for i, l := range r.Arms[arm].Own.Levels {
		path.Points = append(path.Points, Point{X: l.Level, Y: p.path(i)})
		if x := l.Rollouts.Ratio; x.Estimate != nil && x.Low != nil && x.High != nil {
			measured.Points = append(measured.Points, Point{X: l.Level, Y: *x.Estimate, Low: *x.Low, High: *x.High})
		}
	}
	return []Curve{measured, path}
}
