package verify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/sim/advantage"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/theory"
)

// rung5 asks how reward variance turns into training time (theory.md, sections
// 4.1 and 4.2).
func rung5() []study {
	return []study{
		{id: "5.exponents", run: exponents},
		{id: "5.sampled", comparisons: len(sampledStarts) - 1, run: sampledExponents},
		{id: "5.bounds", run: timeBounds},
		{id: "5.graded", run: gradedBound},
	}
}

// A logitFlow is a flow of one logit, whose local exponents tend to limit as
// p0 -> 0.
type logitFlow struct {
	id, name string
	rate     train.Rate
	closed   theory.LogitFlow // "" where there is no closed form
	limit    float64
	near     float64 // the p0 at which the exponent must be within exponentWithin of limit
}

// exponentWithin is how near to their limits local exponents must be, without
// a correction term.
const exponentWithin = 0.01

// logitFlows returns policy gradient, GRPO with groups without end and with
// groups of some sizes.
func logitFlows(groups ...int) ([]logitFlow, error) {
	flows := []logitFlow{
		{"plain", "policy gradient", train.PlainRate, theory.PlainFlow, 1, 1e-3},
		{"normalised", "GRPO, G → ∞", train.NormalisedRate, theory.NormalisedFlow, 0.5, 1e-3},
	}
	for _, g := range groups {
		rate, err := train.GroupRate(advantage.GRPO{}, g)
		if err != nil {
			return nil, err
		}
		flows = append(flows, logitFlow{fmt.Sprintf("group-%d", g), fmt.Sprintf("GRPO, G = %d", g), rate, "", 1, 1e-3 / float64(g)})
	}
	return flows, nil
}

// The paces of logits: with the fine one, times agree with their closed forms
// within exactTolerance, with the other one within 1e-7.
const (
	finePace = 0.01
	pace     = 0.05
)

// times returns when p passes each of some levels, which rise, along the exact
// flow from the first one.
func (f logitFlow) times(levels []float64, pace float64) ([]float64, error) {
	p, err := oneLogit(levels[0])
	if err != nil {
		return nil, err
	}
	z := p.Parameters()
	m := newMarch(p, train.NewFlow(p, f.rate), pace, math.Inf(1))
	times := make([]float64, len(levels))
	for i, level := range levels[1:] {
		t, err := m.reach(math.Log(level/(1-level)), func() float64 { return z[0] })
		if err != nil {
			return nil, err
		}
		times[i+1] = t
	}
	return times, nil
}

// time returns the time from p0 to the target along the exact flow.
func (f logitFlow) time(p0, target, pace float64) (float64, error) {
	t, err := f.times([]float64{p0, target}, pace)
	if err != nil {
		return math.NaN(), err
	}
	return t[1], nil
}

// oneLogit returns a policy of one prompt and one logit that starts at p0.
func oneLogit(p0 float64) (train.Policy, error) {
	point, err := distributions.NewPoint(p0)
	if err != nil {
		return nil, err
	}
	return train.NewPolicy("logit", point, 1, stream.New(0))
}

// exponent returns the local exponent at p0 < 1/2: the closed form's, or the exact
// flow's.
func (f logitFlow) exponent(p0, target float64) (float64, error) {
	if f.closed != "" {
		return f.closed.Exponent(p0, target)
	}
	tau, err := f.time(p0, target, pace)
	if err != nil {
		return math.NaN(), err
	}
	return theory.LocalExponent(p0, f.rate(p0, 1-p0), tau)
}

// kind is that of the flow's curve.
func (f logitFlow) kind() string {
	if f.closed != "" {
		return ClosedForm
	}
	return ExactFlow
}

// exponentTargets are the levels that times are taken to.
var exponentTargets = []float64{0.5, 0.9, 0.99}

// exponents finds the local exponents of one logit's training time.
func exponents(context.Context, *env) (*Section, error) {
	flows, err := logitFlows(8, 64)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	add := func(row Row, e error) {
		s.Rows = append(s.Rows, row)
		err = errors.Join(err, e)
	}
	for _, f := range flows {
		if f.closed != "" {
			add(timeRow(f))
		}
		add(limitRow(f))
		curves, e := slopeCurves(f)
		err = errors.Join(err, e)
		s.Curves = append(s.Curves, curves...)
		add(thirdRow(f, curves))
	}
	for _, f := range flows[:2] {
		add(targetRow(f))
		add(gainRow(f))
		add(easyRow(f))
	}
	add(rangeRow())
	return s, err
}

// timeRow compares the exact flow with the closed form.
func timeRow(f logitFlow) (Row, error) {
	worst := 0.0
	for _, p0 := range []float64{1e-4, 1e-3, 0.02, 0.2, 0.7} {
		for _, target := range exponentTargets {
			if target <= p0 {
				continue
			}
			flow, err := f.time(p0, target, finePace)
			closed, closedErr := f.closed.Time(p0, target)
			if err := errors.Join(err, closedErr); err != nil {
				return Row{}, err
			}
			worst = max(worst, math.Abs(flow/closed-1))
		}
	}
	row := Row{
		ID: "time-" + f.id, Kind: Check,
		Claim:  "the exact flow takes the time of the closed form: " + f.name,
		Method: "Runge-Kutta steps of a logit policy beside the closed form, p0 from 10^-4 to 0.7, targets 0.5 to 0.99",
		Test:   fmt.Sprintf("largest relative difference at most %g", exactTolerance),
	}
	return bounded(row, worst, 0, worst <= exactTolerance), nil
}

// limitRow holds the exponent at a small p0 to its limit.
func limitRow(f logitFlow) (Row, error) {
	got, err := f.exponent(f.near, 0.5)
	nearer, nearerErr := f.exponent(f.near/10, 0.5)
	row := Row{
		ID: "limit-" + f.id, Kind: Claim,
		Claim:  fmt.Sprintf("training time to p = 1/2 goes like u0^-%v as p0 → 0: %s", f.limit, f.name),
		Method: fmt.Sprintf("local exponent at p0 = %.3g, one logit, %s, no correction term", f.near, methodOf(f)),
		Test:   fmt.Sprintf("exact: within %v", exponentWithin),
		Note:   fmt.Sprintf("%.6f at p0 = %.3g", nearer, f.near/10),
	}
	if f.closed == "" {
		coarse, coarseErr := f.exponent(1e-3, 0.5)
		coarser, coarserErr := f.exponent(5e-3, 0.5)
		err = errors.Join(err, coarseErr, coarserErr)
		row.Note += fmt.Sprintf(", but %.6f at 10^-3 and %.6f at 5*10^-3: the limit needs p0 far below 1/G", coarse, coarser)
	}
	return bounded(row, got, f.limit, math.Abs(got-f.limit) <= exponentWithin), errors.Join(err, nearerErr)
}

func methodOf(f logitFlow) string {
	if f.closed != "" {
		return "closed form"
	}
	return "exact flow"
}

// slopeCurves returns a curve of local exponents for every target.
func slopeCurves(f logitFlow) ([]Curve, error) {
	var curves []Curve
	for _, target := range exponentTargets {
		curve, err := slopeCurve(f, target)
		if err != nil {
			return nil, err
		}
		curves = append(curves, curve)
	}
	return curves, nil
}

// slopeCurve returns local exponents over the hard branch, p0 < 1/2.
func slopeCurve(f logitFlow, target float64) (Curve, error) {
	curve := Curve{
		Figure: FigureSlopes, Family: fmt.Sprintf("%s, to %v", f.name, target), Kind: f.kind(),
		Setting: Setting{Population: "point:p=X", Strategy: f.name},
	}
	starts := slopeStarts()
	times, err := f.times(append(starts, target), pace)
	if err != nil {
		return curve, err
	}
	for i, p0 := range starts {
		y, err := theory.LocalExponent(p0, f.rate(p0, 1-p0), times[len(starts)]-times[i])
		if f.closed != "" {
			y, err = f.closed.Exponent(p0, target)
		}
		if err != nil {
			return curve, err
		}
		curve.Points = append(curve.Points, Point{X: p0, Y: y})
	}
	return curve, nil
}

// slopeStarts returns the p0 of the curves, even in their logarithm.
func slopeStarts() []float64 {
	const low, high, points = 1e-5, 0.2, 44
	starts := make([]float64, points)
	for i := range starts {
		starts[i] = low * math.Pow(high/low, float64(i)/(points-1))
	}
	return starts
}

// third is the published exponent.
const third = 1. / 3

// thirdRow asks whether the exponent is 1/3 along the curves, one a target.
func thirdRow(f logitFlow, curves []Curve) (Row, error) {
	const p0 = 1e-3
	got, err := f.exponent(p0, exponentTargets[0])
	holds, note := true, ""
	for i, c := range curves {
		low, high := math.Inf(1), math.Inf(-1)
		for _, q := range c.Points {
			low, high = min(low, q.Y), max(high, q.Y)
		}
		holds = holds && low >= third-exponentWithin && high <= third+exponentWithin
		note = joinNotes(note, fmt.Sprintf("to %v from %.3g to %.3g, %s", exponentTargets[i], low, high, whereThird(c)))
	}
	row := Row{
		ID: "third-" + f.id, Kind: Claim,
		Claim:  "training time goes like u0^(-1/3): " + f.name,
		Method: fmt.Sprintf("local exponents of one logit, %s; the estimate is that at p0 = 10^-3 to 1/2", methodOf(f)),
		Test:   fmt.Sprintf("exact: within %v of 1/3 at every p0 in [10^-5, 0.2], to every target", exponentWithin),
		Note:   note,
	}
	return bounded(row, got, third, holds), err
}

// whereThird says where a curve passes 1/3.
func whereThird(c Curve) string {
	var where []string
	for i, q := range c.Points[1:] {
		if before := c.Points[i]; (before.Y-third)*(q.Y-third) < 0 {
			where = append(where, fmt.Sprintf("%.2g", math.Sqrt(before.X*q.X)))
		}
	}
	if where == nil {
		return "nowhere 1/3"
	}
	return "1/3 near p0 = " + strings.Join(where, " and ")
}

// targetRow asks whether the level matters.
func targetRow(f logitFlow) (Row, error) {
	const p0 = 0.02
	half, err := f.closed.Exponent(p0, 0.5)
	far, farErr := f.closed.Exponent(p0, 0.9)
	small, smallErr := f.closed.Exponent(1e-3, 0.9)
	return claimed(Row{
		ID:     "target-" + f.id,
		Claim:  fmt.Sprintf("the exponent to p = 0.9 is that to 1/2: %s, p0 = %v", f.name, p0),
		Method: "local exponents of one logit, closed form",
		Note:   fmt.Sprintf("to 0.9 it is %.4f at p0 = 10^-3: the last stretch takes the same time from every start", small),
	}, far, half), errors.Join(err, farErr, smallErr)
}

// gainRow asks whether a fixed gain and a fixed level have one exponent.
func gainRow(f logitFlow) (Row, error) {
	const p0, gain = 0.02, 0.1
	level, err := f.closed.Exponent(p0, p0+gain)
	moved, movedErr := f.closed.ExponentOfGain(p0, gain)
	small, smallErr := f.closed.ExponentOfGain(1e-3, gain)
	return claimed(Row{
		ID:     "gain-" + f.id,
		Claim:  fmt.Sprintf("the exponent at a fixed gain is that at a fixed level: %s, p from %v to %v", f.name, p0, p0+gain),
		Method: "local exponents of one logit, closed form",
		Note:   fmt.Sprintf("at p0 = 10^-3 a gain of %v in p has %.4f", gain, small),
	}, moved, level), errors.Join(err, movedErr, smallErr)
}

// easyRow asks whether u0 alone decides: it is the same at p0 and at 1 - p0.
func easyRow(f logitFlow) (Row, error) {
	hard, err := f.closed.Time(0.2, 0.9)
	easy, easyErr := f.closed.Time(0.8, 0.9)
	return claimed(Row{
		ID:     "easy-" + f.id,
		Claim:  fmt.Sprintf("equal reward variance, equal time: %s, from p0 = 0.8 and from 0.2 to 0.9", f.name),
		Method: "time of one logit, closed form",
		Note:   "u0 = 0.64 for both; past p0 = 1/2 it falls while the target comes nearer, so that more variance means more time and an exponent has no meaning",
	}, easy, hard), errors.Join(err, easyErr)
}

// rangeRow fits one exponent over a range of starts, as a measurement would.
func rangeRow() (Row, error) {
	const low, high, target, points = 0.01, 0.2, 0.9, 200
	var x, y []float64
	for i := range points {
		p0 := low * math.Pow(high/low, float64(i)/(points-1))
		tau, err := theory.NormalisedFlow.Time(p0, target)
		if err != nil {
			return Row{}, err
		}
		x, y = append(x, math.Log(4*p0*(1-p0))), append(y, math.Log(tau))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	chord := (y[points-1] - y[0]) / (x[points-1] - x[0])
	return claimed(Row{
		ID:     "range-normalised",
		Claim:  "a fit over p0 in [0.01, 0.2], to p = 0.9, finds the exponent's limit: GRPO, G → ∞",
		Method: "least squares of ln tau on ln u0, closed form, 200 starts even in ln p0",
		Note:   fmt.Sprintf("%.4f between the two ends; near 1/3 by accident of range and target", -chord),
	}, -slope, 0.5), nil
}
