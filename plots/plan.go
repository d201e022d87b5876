package plots

import "fmt"

// PlanData is a plan for a pilot: the law behind its counts, and what schedules
// gain for what they cost.
type PlanData struct {
	Rollouts int     // n, rollouts a prompt of the pilot
	Law      []Point // X = s, Y the law's share of prompts with s successes among n
	Recorded []Point // the same as recorded

	Cost, Gain string       // what the axes of the front are, with unit
	Front      []Point      // X the cost, Y the most gain at no more, in the order of X
	Schedules  []NamedPoint // those to compare with
}

// A NamedPoint is a point with its label.
type NamedPoint struct {
	Label string
	Point
}

// Plan draws the law with its band over the recorded counts, and beside it the
// front with the schedules: a staircase, since between two of its points no
// schedule gains more than the cheaper one.
func Plan(d PlanData) (Figure, error) {
	return newFigure("The law behind the pilot, and the front of the plan", d.panels)
}

func (d PlanData) panels(s *Style, n *notes) ([]*panel, error) {
	law := chart{
		what: "plan", xTitle: fmt.Sprintf("successes s among %d rollouts", d.Rollouts), yTitle: "share of prompts",
		x: axis{integer: true}, xRange: emptySpan(), include: []float64{0},
		kindNames: []string{closedForm: "fitted law", monteCarlo: "recorded"},
		families:  []Family{{ClosedForm: d.Law, MonteCarlo: d.Recorded}},
	}
	costs := emptySpan()
	for _, p := range d.Front {
		costs = costs.with(p.X)
	}
	for _, p := range d.Schedules {
		costs = costs.with(p.X)
	}
	costs = costs.padded(0, 0.05)
	front := chart{
		what: "plan", xTitle: d.Cost, yTitle: d.Gain, xRange: costs,
		kindNames: []string{closedForm: "most gain at this cost", monteCarlo: "schedule"},
		families:  []Family{{ClosedForm: stairs(d.Front, costs.max)}},
	}
	for _, p := range d.Schedules {
		front.families = append(front.families, Family{Label: p.Label, MonteCarlo: []Point{p.Point}})
	}
	var both []*panel
	for _, ch := range []chart{law, front} {
		p, err := ch.panel(s, n)
		if err != nil {
			return nil, err
		}
		p.share = 0.5
		both = append(both, p)
	}
	return both, nil
}

// stairs returns the points with a step before each but the first, and the last
// step up to end.
func stairs(points []Point, end float64) []Point {
	var all []Point
	for i, p := range points {
		if i > 0 {
			all = append(all, At(p.X, points[i-1].Y))
		}
		all = append(all, At(p.X, p.Y))
	}
	if len(points) > 0 {
		all = append(all, At(end, points[len(points)-1].Y))
	}
	return all
}
