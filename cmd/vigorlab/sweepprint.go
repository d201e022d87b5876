package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// A planRow is a point that would be run.
type planRow struct {
	Point   int64  `parquet:"point"`
	Shard   int64  `parquet:"shard"`
	Command string `parquet:"command"`
}

// pointLine returns the command line of a point.
func pointLine(p sweep.Point) string {
	l := newCommandLine(p.Words[0])
	for _, w := range p.Words[1:] {
		l.argument(w)
	}
	return l.String()
}

// printPlan shows the points, and what they cost where the format has room for it.
func (f *sweepFlags) printPlan(ctx context.Context, a *app, plan *sweep.Plan) error {
	var e *sweep.Estimate
	if f.format != formatCSV {
		executable, err := os.Executable()
		if err != nil {
			return err
		}
		if e, err = plan.Calibrate(ctx, executable); err != nil {
			return err
		}
	}
	spans := f.deal(plan)
	var rows []planRow
	for k, span := range spans {
		for _, p := range plan.Points[span.From-1 : span.To] {
			rows = append(rows, planRow{int64(p.Number), int64(k + 1), pointLine(p)})
		}
	}
	o := header("sweep").Object()
	o.Add("of", plan.Name)
	o.Add("axes", plan.Axes)
	o.Add("shards", len(spans))
	if e != nil {
		o.Add("cost", f.costDocument(len(plan.Points), len(spans), e))
	}
	points := []output.Object{}
	for i, p := range plan.Points {
		points = append(points, output.Object{
			{Key: "point", Value: p.Number}, {Key: "shard", Value: rows[i].Shard}, {Key: "values", Value: p.Values}, {Key: "command", Value: rows[i].Command},
		})
	}
	o.Add("points", points)
	return result[planRow]{o, rows, func(t *output.Text) { f.planText(t, plan, spans, e) }}.print(a, f.format)
}

// costDocument returns the estimate, in seconds of one core.
func (f *sweepFlags) costDocument(points, shards int, e *sweep.Estimate) output.Object {
	samples := []output.Object{}
	for _, s := range e.Samples {
		o := output.Object{{Key: "point", Value: s.Point}}
		if s.Failed != "" {
			o.Add("seconds", nil)
			o.Add("reason", s.Failed)
		} else {
			o.Add("seconds", s.Seconds)
			o.Add("at_least", s.AtLeast)
			o.Add("scaled", s.Scaled)
		}
		samples = append(samples, o)
	}
	about, low, high, atLeast, ok := e.Cost(points, shards)
	if !ok {
		return output.Object{{Key: "seconds", Value: nil}, {Key: "reason", Value: "every point that was timed failed"}, {Key: "samples", Value: samples}}
	}
	return output.Object{
		{Key: "seconds", Value: about},
		{Key: "low", Value: low},
		{Key: "high", Value: high},
		{Key: "at_least", Value: atLeast},
		{Key: "samples", Value: samples},
	}
}

// fewPoints is how many points a table shows of the first and of the last.
const fewPoints = 3

func (f *sweepFlags) planText(t *output.Text, plan *sweep.Plan, spans []sweep.Span, e *sweep.Estimate) {
	g := output.Grid{Head: []string{"point"}}
	for _, axis := range plan.Axes {
		g.Head = append(g.Head, axis.Name)
	}
	for i, p := range plan.Points {
		if i == fewPoints && len(plan.Points) > 2*fewPoints {
			g.Add("...")
		}
		if i < fewPoints || i >= len(plan.Points)-fewPoints {
			g.Add(append([]string{fmt.Sprint(p.Number)}, p.Cells...)...)
		}
	}
	t.Grid(g)
	t.Blank()
	t.Note("First point:  ", pointLine(plan.Points[0]))
	t.Note("Points:       ", fmt.Sprintf("%d, in %d shards of %s", len(plan.Points), len(spans), perShard(spans)))
	if n := plan.Repeated(); n > 0 {
		t.Note("              ", fmt.Sprintf("%d of them have the command line of an earlier point", n))
	}
	f.costText(t, plan, spans, e)
}

// perShard says how many points a shard has.
func perShard(spans []sweep.Span) string {
	least, most := math.MaxInt, 0
	for _, s := range spans {
		least, most = min(least, s.To-s.From+1), max(most, s.To-s.From+1)
	}
	if least == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d or %d", least, most)
}

func (f *sweepFlags) costText(t *output.Text, plan *sweep.Plan, spans []sweep.Span, e *sweep.Estimate) {
	seconds, low, high, atLeast, ok := e.Cost(len(plan.Points), len(spans))
	if !ok {
		t.Note("Cost:         ", "unknown: every point that was timed failed")
	} else {
		about := "about "
		if atLeast {
			about = "at least "
		}
		workers := float64(min(f.workers, len(spans)))
		t.Note("Cost:         ", fmt.Sprintf("%s%s of one core, %s with %s; %s if all points were as the cheapest, %s as the dearest that was timed",
			about, spell(seconds), spell(seconds/workers), several(int(workers), "worker"), spell(low), spell(high)))
		t.Note("A shard:      ", about+spell(seconds/float64(len(spans))))
		t.Note("              ", timedText(e))
	}
	for _, s := range e.Samples {
		if s.Failed != "" {
			t.Note("Fails:        ", fmt.Sprintf("point %d: %s", s.Point, s.Failed))
		}
	}
}

// timedText says how the estimate was made.
func timedText(e *sweep.Estimate) string {
	var points []string
	scaled := false
	for _, s := range e.Samples {
		if s.Failed == "" {
			points = append(points, fmt.Sprint(s.Point))
			scaled = scaled || s.Scaled
		}
	}
	text := "timed one after the other, on one worker: points " + strings.Join(points, ", ")
	if scaled {
		text += "; with fewer replicates, from which the rest is extrapolated"
	}
	return text
}

// several returns a number with its noun.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// spell writes seconds to two digits in the unit that a person would use.
func spell(seconds float64) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}} {
		if size := unit.size.Seconds(); seconds >= 2*size {
			return fmt.Sprintf("%s %s", twoDigits(seconds/size), unit.name)
		}
	}
	return twoDigits(seconds) + " s"
}

func twoDigits(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
