package main

import (
	"fmt"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/fit"
)

// steps says which steps the window holds.
func (r *fitted) steps() string {
	if strings.Contains(r.window, ":") {
		return "steps " + r.window
	}
	return "the last " + r.window + " steps"
}

// text prints the fits for a terminal.
func (r *fitted) text(t *output.Text) {
	t.Command(r.reproduce)
	t.Blank()
	t.Note("table       ", r.table)
	if r.window != "" {
		t.Note("window      ", r.steps()+", the rows of a prompt pooled")
	}
	t.Note("prompts     ", fmt.Sprintf("%d, with %d rollouts", r.Prompts, r.Rollouts))
	t.Note("sizes       ", r.sizing.words(r.Sizes))
	t.Heading("Verdict")
	for _, sentence := range r.Verdict {
		t.Note("- ", sentence)
	}
	t.Heading("Families, by the likelihood of the counts")
	t.Grid(r.familyGrid())
	t.Heading("What they say of a prompt, with 95 % bootstrap intervals")
	t.Grid(r.figureGrid())
	t.Heading("Parameters, with 95 % profile likelihood intervals")
	t.Grid(r.parameterGrid())
	t.Heading("Share of zero-variance groups")
	t.Grid(r.zeroVarianceGrid())
	if r.Folded != nil {
		t.Heading(fmt.Sprintf("On the folded counts min(s, n-s) of the %d mixed prompts", r.Folded.Prompts))
		t.Grid(r.foldedGrid())
	}
	r.driftText(t)
	t.Heading("Populations to paste")
	for i := range r.Fits {
		f := &r.Fits[i]
		text, reason := r.spec(f)
		if text == "" {
			text = output.Absent + " " + reason
		}
		t.Note(fmt.Sprintf("%-22s  ", f.Family), text)
	}
	r.notes(t)
}

// within prints an estimate with its interval.
func within(x fit.Interval) string {
	if output.Finite(x.Low) == nil {
		return output.Number(output.Finite(x.Estimate))
	}
	return output.Number(&x.Estimate) + " " + output.Between(x.Low, x.High)
}

func (r *fitted) familyGrid() output.Grid {
	g := output.Grid{Head: []string{"family", "log-likelihood", "AIC", "goodness of fit, p"}}
	for _, f := range r.Fits {
		aic := output.Absent
		if output.Finite(f.AIC) != nil {
			aic = fmt.Sprintf("%.2f", f.AIC)
		}
		p := output.Measured(output.Figure{Mean: output.Finite(f.P), SE: output.Finite(f.PError)})
		g.Add(f.Family, fmt.Sprintf("%.2f", f.LogLik), aic, p)
	}
	return g
}

func (r *fitted) figureGrid() output.Grid {
	g := output.Grid{Head: []string{"family", "E[p]", "E[u]", "gain"}}
	for _, f := range r.Fits {
		g.Add(f.Family, within(f.MeanP), within(f.MeanU), within(f.Gain))
	}
	g.Add("recorded s/n", "", "", output.Number(output.Finite(r.PluginGain)))
	return g
}

func (r *fitted) parameterGrid() output.Grid {
	g := output.Grid{Head: []string{"family", "parameter", "estimate", "from", "to", ""}, Left: 1}
	for _, f := range r.Fits {
		for i, p := range f.Parameters {
			family, end := f.Family, ""
			if i > 0 {
				family = ""
			}
			if p.AtEnd {
				end = "end of its range"
			}
			g.Add(family, p.Name, output.Number(&p.Estimate), output.Number(&p.Low), output.Number(&p.High), end)
		}
	}
	return g
}

func (r *fitted) zeroVarianceGrid() output.Grid {
	g := output.Grid{Head: []string{"family"}}
	observed := []string{"observed"}
	for i, size := range fit.GroupSizes() {
		g.Head = append(g.Head, fmt.Sprintf("G = %d", size))
		x := r.Observed[i]
		observed = append(observed, output.Measured(output.Figure{Mean: output.Finite(x.Mean), SE: output.Finite(x.SE)}))
	}
	g.Add(observed...)
	for _, f := range r.Fits {
		row := []string{f.Family}
		for _, x := range f.ZeroVariance {
			row = append(row, output.Number(&x.Estimate))
		}
		g.Add(row...)
	}
	return g
}

func (r *fitted) foldedGrid() output.Grid {
	g := output.Grid{Head: []string{"family", "log-likelihood", "goodness of fit, p", "parameters"}}
	for _, f := range r.Folded.Fits {
		var parameters []string
		for _, p := range f.Parameters {
			parameters = append(parameters, p.Name+" = "+output.Number(&p.Estimate))
		}
		p := output.Measured(output.Figure{Mean: output.Finite(f.P), SE: output.Finite(f.PError)})
		g.Add(f.Family, fmt.Sprintf("%.2f", f.LogLik), p, strings.Join(parameters, ", "))
	}
	return g
}

func (r *fitted) driftText(t *output.Text) {
	if r.drift == nil {
		return
	}
	measured := func(x fit.Share) string {
		return output.Measured(output.Figure{Mean: output.Finite(x.Mean), SE: output.Finite(x.SE)})
	}
	t.Heading("Drift: a prompt's next group, given this one")
	g := output.Grid{Head: []string{"this group", "groups", "all wrong", "mixed", "all right"}}
	for from, row := range r.drift.Next {
		if row[0].Prompts > 0 {
			g.Add(strings.ReplaceAll(classes[from], "_", " "), fmt.Sprint(row[0].Prompts), measured(row[0]), measured(row[1]), measured(row[2]))
		}
	}
	t.Grid(g)
	if len(r.drift.Correlations) == 0 {
		return
	}
	t.Heading("Correlation over visits, as recorded and without binomial noise")
	g = output.Grid{Head: []string{"visits apart", "p recorded", "p", "u recorded", "u"}}
	for _, c := range r.drift.Correlations {
		row := []string{fmt.Sprint(c.Lag)}
		for _, x := range correlationsOf(&c) {
			row = append(row, measured(x.share))
		}
		g.Add(row...)
	}
	t.Grid(g)
}

// statistics name what p-values are of.
var statistics = map[string]string{
	fit.AndersonDarling: "Anderson-Darling's statistic",
	fit.Shortfall:       "the nats by which a law falls short of npmle's likelihood",
}

// notes says in plain words what the figures mean.
func (r *fitted) notes(t *output.Text) {
	t.Blank()
	t.Note("", "gain is E[u]/E[sqrt u]^2: by how much rollouts in proportion to sqrt u, were it known, cut the variance of a mean over equal ones; "+
		"recorded shares s/n inflate it, since binomial noise spreads them. u = 4p(1-p) is the reward variance of a prompt, rewards in {-1, +1}.")
	t.Note("", "pareto-variance is Pareto on [min, 1] with a shape above 0, truncated-pareto the same on [min, max]; "+
		"the shape of their -free versions may be negative, which makes them power laws but no Pareto laws.")
	if len(r.Hill) > 0 {
		t.Note("", "Hill's estimates are in the JSON document, with a warning: "+hillWarning+".")
	}
	if r.replicates > 0 && r.Test != "" {
		t.Note("", fmt.Sprintf("p-values are those of "+statistics[r.Test]+"; they and the bootstrap intervals rest on %d fits to counts drawn from each fitted law.", r.replicates))
	}
}
