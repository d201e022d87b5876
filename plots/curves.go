package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// CurvesData is one or more quantities against the same X, such as what training
// runs have reached against what they spent.
type CurvesData struct {
	Title  string    // of the figure, not drawn
	X      string    // what X is, with unit: the title of the axis
	LogX   bool      // X <= 0 is then dropped
	Styles [2]string // what a line's two curves are, where some line has both
	Panels []CurvesPanel
	Stairs bool // first curves keep the value of a point up to the next one
	Marks  bool // second curves are marks with their intervals: between two points there is nothing
	// Inks gives labels their colours and marks, numbers from 0, so that they keep them
	// from figure to figure; a label that is not there has that of its place.
	Inks map[string]int
}

// whole reports whether every X is a whole number, such as a step.
func (d CurvesData) whole() bool {
	for _, p := range d.Panels {
		for _, l := range p.Lines {
			if !wholeX(l.First) || !wholeX(l.Second) {
				return false
			}
		}
	}
	return true
}

// wholeX reports whether every X is a whole number, where it is a number.
func wholeX(points []Point) bool {
	return !slices.ContainsFunc(points, func(q Point) bool { return usable(q.X) && q.X != math.Trunc(q.X) })
}

// A CurvesPanel is one quantity, line by line.
type CurvesPanel struct {
	Y         string // what Y is, with unit: the title of the axis
	LogY      bool   // Y <= 0 is then drawn as triangles at the foot
	Lines     []Line
	Reference float64 // a level across the panel; NaN for none
	Name      string  // of the reference
}

// A Line is one strategy or law: a curve with the band of its intervals, and
// maybe a second, dashed one. More than five lines share colours and are told
// apart by marks; about eight can still be read.
type Line struct {
	Label         string
	First, Second []Point // in the order of X
}

// maxPanels is the number of panels that fit on a page.
const maxPanels = 6

// Curves draws every quantity in a panel of its own: two side by side where the
// figure is wide, else one above the other.
func Curves(d CurvesData) (Figure, error) {
	return newFigure(d.Title, d.panels)
}

func (d CurvesData) panels(s *Style, n *notes) ([]*panel, error) {
	if k := len(d.Panels); k < 1 || k > maxPanels {
		return nil, fmt.Errorf("plots: curves: %d panels, want [1, %d]", k, maxPanels)
	}
	var all []*panel
	for _, q := range d.Panels {
		ch := chart{
			what: "curves", xTitle: d.X, yTitle: q.Y, kindNames: d.Styles[:],
			inks: d.Inks, x: axis{log: d.LogX, whole: d.whole()}, y: axis{log: q.LogY}, xRange: emptySpan(),
		}
		if d.Marks {
			ch.kindNames = []string{closedForm: d.Styles[0], monteCarlo: d.Styles[1]}
		}
		for _, l := range q.Lines {
			family := Family{Label: l.Label, ClosedForm: l.First, Truncated: l.Second}
			if k := len(l.First); d.Stairs && k > 0 {
				family.ClosedForm = stairs(l.First, l.First[k-1].X)
			}
			if d.Marks {
				family.Truncated, family.MonteCarlo = nil, l.Second
			}
			ch.families = append(ch.families, family)
		}
		if usable(q.Reference) && !(q.LogY && q.Reference <= 0) {
			ch.include = []float64{q.Reference}
		}
		p, err := ch.panel(s, n)
		if err != nil {
			return nil, err
		}
		if len(ch.include) > 0 {
			p.addLevel(q.Reference, n.clean(q.Name))
		}
		p.share = 1 / vg.Length(len(d.Panels))
		all = append(all, p)
	}
	return all, nil
}
