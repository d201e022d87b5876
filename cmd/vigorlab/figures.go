package main

import (
	"context"
	"fmt"

	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/plots"
	"vigorlab/sim"
)

// A drawing is a figure under its file name.
type drawing struct {
	name   string
	figure plots.Figure
	width  plots.Width
}

// saveRun writes the results and figures of a one-shot run into its directory,
// if there is one, and returns what the figures do not show.
func saveRun[R any](ctx context.Context, d *rundir.Dir, r func() result[R], draw func() ([]drawing, error)) (notes []string, err error) {
	if d == nil {
		return nil, nil
	}
	return await(ctx, func() ([]string, error) {
		drawings, err := draw()
		if err != nil {
			return nil, err
		}
		if err := r().save(d); err != nil {
			return nil, err
		}
		return saveDrawings(d, drawings)
	})
}

// saveDrawings writes every figure in every format into figures/, and returns
// what they do not show.
func saveDrawings(d *rundir.Dir, drawings []drawing) (notes []string, err error) {
	for _, g := range drawings {
		for _, format := range []string{plots.PDF, plots.SVG, plots.PNG} {
			content, err := plots.Render(g.figure, format, g.width, plots.Paper())
			if err != nil {
				return nil, fmt.Errorf("figure %s: %w", g.name, err)
			}
			if err := d.Write("figures/"+g.name+"."+format, content); err != nil {
				return nil, err
			}
		}
		for _, note := range g.figure.Notes() {
			notes = append(notes, fmt.Sprintf("figure %s: %s", g.name, note))
		}
	}
	return notes, nil
}

// drawings returns the figures of a comparison: who gets the rollouts, group
// sizes and, strategy by strategy, screening errors.
func (c *comparison) drawings() ([]drawing, error) {
	names := c.specs()
	for i, s := range names {
		names[i] = labelSpec(s)
	}
	var g gallery
	if data := c.allocationData(names); len(data.Strategies) > 0 {
		g.add("allocation", func() (plots.Figure, error) { return plots.Allocation(data) })
	}
	if data := c.sizesData(names); len(data.Strategies) > 0 {
		g.add("group-sizes", func() (plots.Figure, error) { return plots.GroupSizes(data) })
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
		g.add(name, func() (plots.Figure, error) { return plots.Screening(data) })
	}
	return g.drawings, g.err
}

// A gallery collects drawings up to the first error.
type gallery struct {
	drawings []drawing
	err      error
}

func (g *gallery) add(name string, draw func() (plots.Figure, error)) {
	g.addWide(name, plots.OneColumn, draw)
}

// addWide adds a figure that needs more than a column.
func (g *gallery) addWide(name string, width plots.Width, draw func() (plots.Figure, error)) {
	if g.err != nil {
		return
	}
	figure, err := draw()
	if err != nil {
		g.err = fmt.Errorf("figure %s: %w", name, err)
		return
	}
	g.drawings = append(g.drawings, drawing{name, figure, width})
}

// measured returns a Monte Carlo point with its 95 % interval.
func measured(x float64, e sim.Estimate) plots.Point {
	low, high := e.Interval95()
	return plots.Point{X: x, Y: e.Mean, Low: low, High: high}
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
