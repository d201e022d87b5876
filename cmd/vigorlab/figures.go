package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/plots"
	"vigorlab/sim"
)

// saveRun writes the results and figures of a one-shot run into its directory,
// if there is one, and returns what the figures do not show.
func saveRun[R any](ctx context.Context, d *rundir.Dir, r func() result[R], draw func() *gallery) (notes []string, err error) {
	if d == nil {
		return nil, nil
	}
	return await(ctx, func() ([]string, error) {
		g := draw()
		if g.err != nil {
			return nil, g.err
		}
		if err := r().save(d); err != nil {
			return nil, err
		}
		return g.save(d)
	})
}

// A gallery is the figures of a run.
type gallery struct {
	made    figures.Figure // what all of them share
	figures []figures.Figure
	err     error // in place of figures
}

// newGallery returns an empty gallery whose captions share what all figures of a run
// state.
func newGallery(command string, c figures.Caption) *gallery {
	return &gallery{made: figures.Figure{Version: version, Command: command, Coding: output.Signed, Width: plots.OneColumn, Caption: c}}
}

// add adds a figure, and returns it for what its caption has of its own.
func (g *gallery) add(name, what string, data plots.Data) *figures.Figure {
	f := g.made
	f.Name, f.Data, f.Caption.What = name, data, what
	g.figures = append(g.figures, f)
	return &g.figures[len(g.figures)-1]
}

// addWide adds a figure that needs more than a column.
func (g *gallery) addWide(name, what string, data plots.Data) *figures.Figure {
	f := g.add(name, what, data)
	f.Width = plots.TwoColumn
	return f
}

// save writes every figure with its data and captions into figures/, and returns
// what the figures do not show.
func (g *gallery) save(d *rundir.Dir) (notes []string, err error) {
	for i := range g.figures {
		f := &g.figures[i]
		if !f.Bounded() { // as of one replicate, which has no error
			f.Caption.Intervals = nil
		}
		f.Caption.Intervals = cutOff(f.Caption.Intervals, f.Data)
		f.Caption.Strategies, f.Caption.What = markedStrategies(f.Caption.Strategies, f.Caption.What)
		pictures, own, err := f.Pictures(figures.Look{Style: plots.Paper(), Formats: drawnFormats})
		if err != nil {
			return nil, err
		}
		records, err := f.Records()
		if err != nil {
			return nil, err
		}
		for _, file := range append(pictures, records...) {
			if err := d.Write(figuresFolder+"/"+file.Name, file.Content); err != nil {
				return nil, err
			}
		}
		notes = append(notes, own...)
	}
	return notes, nil
}

// figuresFolder is where figures are in a run directory.
const figuresFolder = "figures"

// drawnFormats are the formats that every run draws.
var drawnFormats = []string{plots.PDF, plots.SVG, plots.PNG}

// markedStrategies marks the specs of reconstructions, and says below a figure what
// the mark means.
func markedStrategies(specs []string, what string) ([]string, string) {
	all, note := make([]string, len(specs)), ""
	for i, s := range specs {
		if all[i] = marked(s, s); all[i] != s {
			note = " " + reconstructedNote
		}
	}
	return all, what + note
}

// What intervals of captions are.
const (
	normalBatches    = normalLaw + " over batches"
	normalReplicates = normalLaw + " over replicates"
	normalPrompts    = normalLaw + " over prompts"
)

// normalLaw begins what is said of intervals by the normal law, which know no ends.
const normalLaw = "95 %, mean ± 1.96 standard errors"

// cutOff says of intervals by the normal law that some end at 0, where some do: see
// measured.
func cutOff(intervals []string, data plots.Data) []string {
	cut := slices.ContainsFunc(data.Table(), func(r plots.Row) bool { return r.Low == 0 && r.High > 0 })
	said := slices.Clone(intervals)
	for i, words := range said {
		if cut && strings.HasPrefix(words, normalLaw) {
			said[i] = words + ", cut off at 0"
		}
	}
	return said
}

// replicated says how many of what there are; none where there is no randomness.
func replicated(n int, format string, args ...any) []string {
	if n == 0 {
		return nil
	}
	if n == 1 {
		format = singular.Replace(format)
	}
	return []string{fmt.Sprintf("%d ", n) + fmt.Sprintf(format, args...)}
}

// singular names one of what replicates are.
var singular = strings.NewReplacer("batches", "batch", "runs", "run", "fits", "fit", "samples", "sample")

// drawings returns the figures of a comparison: who gets the rollouts, group
// sizes and, strategy by strategy, screening errors.
func (c *comparison) drawings() *gallery {
	names := c.specs()
	for i, s := range names {
		names[i] = labelSpec(s)
	}
	g := newGallery(c.command, figures.Caption{
		Populations: []string{c.population}, Strategies: c.specs(), Replicates: replicated(c.Replicates, "batches of %d prompts", c.Batch),
		Intervals: []string{normalBatches}, Seeds: []uint64{c.Seed}, Commands: []string{c.reproduce},
	})
	if data := c.allocationData(names); len(data.Strategies) > 0 {
		g.add("allocation", "Mean rollouts of a prompt by its success probability, in bins.", &data)
	}
	if data := c.sizesData(names); len(data.Strategies) > 0 {
		g.add("group-sizes", "Shares of groups by their number of rollouts.", &data)
	}
	n := 0
	for i := range c.Strategies {
		data := screeningData(&c.Strategies[i])
		if len(data.Errors) == 0 {
			continue
		}
		name := "screening"
		if n++; n > 1 {
			name = fmt.Sprintf("screening-%d", n)
		}
		what := fmt.Sprintf("Screening errors of %s against the frontier u ≥ %g, cut by cut: false omission is the share of the prompts dropped that are at the frontier, "+
			"false negative that of the frontier's prompts still active that are dropped, cumulative that of all of them that are dropped by now.", names[i], c.Frontier)
		g.add(name, what, &data).Caption.Strategies = []string{c.Strategies[i].Strategy}
	}
	return g
}

// measured returns a Monte Carlo point of what is never below 0, such as rollouts or a
// share, with its 95 % interval, which ends there at the latest.
func measured(x float64, e sim.Estimate) plots.Point {
	low, high := e.Interval95()
	return plots.Point{X: x, Y: e.Mean, Low: max(low, 0), High: high}
}

func (c *comparison) allocationData(names []string) plots.AllocationData {
	var d plots.AllocationData
	for i, s := range c.Strategies {
		f := plots.Family{Label: names[i]}
		for _, b := range s.Allocation {
			if b.Rollouts.Reason == "" {
				f.MonteCarlo = append(f.MonteCarlo, measured((b.Low+b.High)/2, b.Rollouts))
			}
		}
		if len(f.MonteCarlo) > 0 {
			d.Strategies = append(d.Strategies, f)
		}
	}
	return d
}

func (c *comparison) sizesData(names []string) plots.GroupSizesData {
	var d plots.GroupSizesData
	for i, s := range c.Strategies {
		law := plots.SizeLaw{Label: names[i]}
		for _, g := range s.GroupSizes {
			p := measured(float64(g.Size), g.Share)
			law.Shares = append(law.Shares, plots.SizeShare{Size: g.Size, Share: plots.Value{Value: p.Y, Low: p.Low, High: p.High}})
		}
		if len(law.Shares) > 0 {
			d.Strategies = append(d.Strategies, law)
		}
	}
	return d
}

// screeningData returns the screening errors of a strategy; none where no
// figure exists.
func screeningData(s *sim.Outcome) plots.ScreeningData {
	var d plots.ScreeningData
	for k, label := range []string{"false omission", "false negative", "cumulative"} { // of sim.Screening.Named
		f := plots.Family{Label: label}
		for i := range s.Screening {
			cut := &s.Screening[i]
			if e := cut.Named()[k].Estimate; e.Reason == "" {
				f.MonteCarlo = append(f.MonteCarlo, measured(float64(cut.Round), *e))
			}
		}
		if len(f.MonteCarlo) > 0 {
			d.Errors = append(d.Errors, f)
		}
	}
	return d
}
