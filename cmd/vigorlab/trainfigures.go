package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
	"vigorlab/sim/train/trial"
)

// A picture is a figure of training runs, and what it shows.
type picture struct {
	name, caption string
	data          plots.CurvesData
	chose         bool // it shows every rate, on the seeds that chose one
	curve         bool // it follows runs along training, with the band of curveBand
}

// alt says in words what is drawn, for those who do not see it.
func (p *picture) alt() string {
	var panels []string
	for _, q := range p.data.Panels {
		var lines []string
		for _, l := range q.Lines {
			lines = append(lines, l.Label)
		}
		panels = append(panels, fmt.Sprintf("%s against %s, a line each for %s", q.Y, p.data.X, strings.Join(lines, "; ")))
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(strings.Join(panels, ". "))
}

// drawings returns the figures of training runs.
func (t *training) drawings() *gallery {
	var strategies []string
	for _, a := range t.Arms {
		if !slices.Contains(strategies, a.Strategy) {
			strategies = append(strategies, a.Strategy)
		}
	}
	g := newGallery("train", figures.Caption{
		Populations: []string{t.population}, Strategies: strategies, Replicates: replicated(t.Seeds, "training runs an arm, one a seed"),
		Intervals: []string{fmt.Sprintf("%.3g %% of medians, ratios and means over seeds", 100*t.Level)},
		Seeds:     []uint64{t.flags.seed}, Commands: []string{t.reproduce},
	})
	g.made.Coding = output.Binary
	for _, p := range t.pictures() {
		f := g.add(p.name, p.caption, &p.data)
		if len(p.data.Panels) > 1 {
			f.Width = plots.TwoColumn
		}
		if p.curve {
			f.Caption.Intervals = []string{curveBand}
		}
		if p.chose {
			f.Caption.Replicates = replicated(t.ChooseSeeds, "training runs an arm and rate, one a seed")
			f.Caption.Intervals = []string{fmt.Sprintf("%.3g %% of medians", 100*t.Level)}
		}
	}
	return g
}

// mostCurves is how many arms a figure tells apart.
const mostCurves = 8

// drawn returns the arms that figures show: all, or the reference and the next.
func (t *training) drawn() []entry {
	entries := t.final()
	return entries[:min(len(entries), mostCurves)]
}

// pictures returns the figures that have something to show, of arms at the rate
// that the conclusions rest on.
func (t *training) pictures() []picture {
	at := t.atWords(t.final()[0].at)
	all := []picture{
		t.learning("learning-rollouts", "rollouts generated", "rollouts"),
		t.learning("learning-tokens", "tokens generated", "tokens"),
		t.learning("learning-steps", "steps", ""),
		t.over("zero-variance", "Groups, and rollouts in groups, whose rewards all agree.", "rollouts generated", "rollouts",
			axisOf{"share of groups of equal rewards", "zero_variance_groups"}, axisOf{"share of rollouts in them", "ineffective"}),
		t.over("curriculum", "The true success probability of the prompts that rollouts were bought for, weighted by rollouts.", "rollouts generated", "rollouts",
			axisOf{"success probability of a rollout's prompt", "curriculum"}),
		t.over("starvation", "Steps since a prompt was last trained on, and the share of prompts that never was.", "steps", "",
			axisOf{"steps since last trained on, mean", "starvation_mean"}, axisOf{"share of prompts never trained on", "never_trained"}),
		t.byTarget(),
		t.sensitivity(),
	}
	all = append(all, t.systemPictures()...)
	inks := map[string]int{} // an arm has one colour in all figures
	for i, name := range t.names() {
		inks[name] = i
	}
	for i := range all {
		all[i].data.Inks = inks
	}
	all = append(all, t.lagPicture()) // whose lines are no arms
	var some []picture
	for _, p := range all {
		p.data.Panels = withLines(p.data.Panels)
		if len(p.data.Panels) > 0 {
			if !p.chose {
				p.caption += " Arms are shown " + at + p.bands() + "."
			}
			some = append(some, p)
		}
	}
	return some
}

// curveBand is what the bands along training are, of two seeds or more.
const curveBand = "the middle 80 % of the seeds"

// bands says what the picture's bands are, where it has some.
func (p *picture) bands() string {
	switch f := (figures.Figure{Data: &p.data}); {
	case !f.Bounded():
		return ""
	case p.curve:
		return "; bands are " + curveBand
	}
	return "; bands are intervals"
}

// withLines leaves out panels without a point.
func withLines(panels []plots.CurvesPanel) []plots.CurvesPanel {
	var some []plots.CurvesPanel
	for _, p := range panels {
		var lines []plots.Line
		for _, l := range p.Lines {
			if len(l.First)+len(l.Second) > 0 {
				lines = append(lines, l)
			}
		}
		if p.Lines = lines; len(lines) > 0 {
			some = append(some, p)
		}
	}
	return some
}

// seriesAt returns a series of a step, nil where it has none.
func seriesAt(c *trial.CurveStep, name string) *trial.Series {
	for i := range c.Series {
		if c.Series[i].Name == name {
			return &c.Series[i]
		}
	}
	return nil
}

// along returns a series against what was spent so far, or against steps where
// that is "".
func along(r *trial.Report, spent, name string) []plots.Point {
	var points []plots.Point
	for i := range r.Curve {
		c := &r.Curve[i]
		x := float64(c.Step)
		if spent != "" {
			s := seriesAt(c, spent)
			if s == nil || spent == "tokens" && target(r).Tokens == nil {
				continue
			}
			x = s.Mean
		}
		if s := seriesAt(c, name); s != nil {
			p := plots.At(x, s.Mean)
			if s.Seeds > 1 { // one has no middle
				p.Low, p.High = s.Low, s.High
			}
			points = append(points, p)
		}
	}
	return points
}

// learning returns the learning curves: success of the trained prompts, and of
// the held-out ones beside it.
func (t *training) learning(name, xTitle, spent string) picture {
	panel := plots.CurvesPanel{Y: "mean success probability", Reference: t.Target, Name: "target"}
	names := t.names()
	for _, e := range t.drawn() {
		panel.Lines = append(panel.Lines, plots.Line{
			Label: names[e.arm], First: along(e.report, spent, "success"), Second: along(e.report, spent, "held_out"),
		})
	}
	return picture{name: name, curve: true, caption: "Learning curves, as far as all seeds run.", data: plots.CurvesData{
		Title: "Learning curves", X: xTitle, Styles: [2]string{"trained prompts", "held-out prompts"}, Panels: []plots.CurvesPanel{panel},
	}}
}

// An axisOf is a series with its title.
type axisOf struct{ title, series string }

// over returns a figure of one or two series over training.
func (t *training) over(name, caption, xTitle, spent string, axes ...axisOf) picture {
	d := plots.CurvesData{Title: caption, X: xTitle}
	names := t.names()
	for _, a := range axes {
		panel := plots.CurvesPanel{Y: a.title, Reference: math.NaN()}
		for _, e := range t.drawn() {
			panel.Lines = append(panel.Lines, plots.Line{Label: names[e.arm], First: along(e.report, spent, a.series)})
		}
		d.Panels = append(d.Panels, panel)
	}
	return picture{name: name, curve: true, caption: caption, data: d}
}

// pointOf returns a figure at x; without an estimate it is not drawn.
func pointOf(x float64, f trial.Figure) (plots.Point, bool) {
	if f.Estimate == nil {
		return plots.Point{}, false
	}
	p := plots.At(x, *f.Estimate)
	if f.Low != nil && f.High != nil {
		p.Low, p.High = *f.Low, *f.High
	}
	return p, true
}

// byTarget returns the ratio to the reference as a function of the target.
func (t *training) byTarget() picture {
	panel := plots.CurvesPanel{Y: "rollouts of the reference over those of the arm", Reference: 1, Name: "reference"}
	names := t.names()
	for _, e := range t.drawn()[1:] {
		line := plots.Line{Label: names[e.arm]}
		for i := range e.report.Levels {
			if p, ok := pointOf(e.report.Levels[i].Level, e.report.Levels[i].Rollouts.Ratio.Figure); ok {
				line.First = append(line.First, p)
			}
		}
		panel.Lines = append(panel.Lines, line)
	}
	return picture{name: "ratio-by-level", caption: "What the reference spends over what an arm spends until a level of success is reached.", data: plots.CurvesData{
		Title: "Ratio by level", X: "level of mean success", Panels: []plots.CurvesPanel{panel},
	}}
}

// sensitivity returns how the rollouts to target hang on the learning rate, on
// the seeds that chose it.
func (t *training) sensitivity() picture {
	panel := plots.CurvesPanel{Y: "median rollouts to target", LogY: true, Reference: math.NaN()}
	names := t.names()
	for _, e := range t.drawn() {
		line := plots.Line{Label: names[e.arm]}
		for _, g := range e.Grid {
			if p, ok := pointOf(g.Rate, g.Median); ok {
				line.First = append(line.First, p)
			}
		}
		panel.Lines = append(panel.Lines, line)
	}
	return picture{name: "learning-rates", chose: true, caption: "How the rollouts to target hang on the learning rate, on the seeds that chose it; a rate without a point was not enough.", data: plots.CurvesData{
		Title: "Learning rates", X: "learning rate", LogX: true, Panels: []plots.CurvesPanel{panel},
	}}
}
