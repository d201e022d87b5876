// Package view holds what the explorer shows of VIGOR on a population: the figures of
// `vigorlab theory`, and who gets the rollouts. It refuses to draw, and to know that
// there is a browser.
package view

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"vigorlab/cmd/vigorlab/internal/notation"
	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

// What `vigorlab theory` takes where nothing is given.
const (
	batch    = 256
	frontier = 0.75
)

// A Query is what the reader has chosen.
type Query struct {
	Population string // a spec, as typed
	M0         int    // rollouts of every prompt in round 1, in [1, schedule.MaxGroup]
	Rounds     int    // in [1, schedule.MaxRounds]
	Alpha      string // the share that a cut keeps, in (0, 1): "0.5", "1/3"
	Gamma      string // expansion of the rollouts a prompt, > 0
}

// A View is the answer to a Query.
type View struct {
	Command  string   // that prints the same figures
	Figures  []Figure // by their places in the JSON of `vigorlab theory`
	Curves   *Curves  // nil where nobody gets rollouts: NoCurves says why
	NoCurves string
}

// A Figure is a number of theory under its place in the JSON of `vigorlab theory`,
// "eta.law"; it does not exist where there is a reason.
type Figure struct {
	Key string
	theory.Number
}

// Text returns the figure as the command's table prints it.
func (f Figure) Text() string {
	if f.Reason != "" {
		return notation.Number(nil)
	}
	return notation.Number(&f.Value)
}

// Curves are mean rollouts against success probability p.
type Curves struct {
	Sampled []Point // ranked by observed variance: the algorithm
	Perfect []Point // ranked by the true one
	Fixed   float64 // equal groups of the same mean size

	// The prompts with u >= 3/4, p in [1/4, 3/4]: their share of all prompts, and
	// of all rollouts, both in [0, 1].
	Prompts, Rollouts float64
}

// A Point says how many rollouts a prompt of success probability P gets on average.
type Point struct{ P, Rollouts float64 }

// Look answers a query. Its errors, joined, are those of `vigorlab theory` for the
// same specs, each under the flag that it belongs to.
func Look(q Query) (*View, error) {
	population, err := parsePopulation(q.Population)
	plan, fault := q.plan()
	if err := errors.Join(err, fault); err != nil {
		return nil, err
	}
	in := theory.Input{
		Variance: population.Variance, Law: population.Law, Vigor: &plan,
		Batch: batch, Frontier: frontier, Nodes: theory.DefaultNodes, Brief: true,
	}
	p, err := theory.Predict(in)
	if err != nil {
		return nil, err
	}
	v := &View{Command: q.command(population.Spec), Figures: figures(p)}
	if p.Field == nil {
		v.NoCurves = p.Eta.Noisy.Reason
		return v, nil
	}
	v.Curves, err = curves(in, p)
	return v, err
}

// parsePopulation reads a spec that can name no files.
func parsePopulation(text string) (spec.Population, error) {
	if strings.TrimSpace(text) == "" {
		return spec.Population{}, errors.New("--population is empty, want a spec such as beta:a=0.1,b=0.3")
	}
	p, err := spec.ParsePopulation(text, nil)
	return p, under("--population", err)
}

// under puts what the user typed before each of joined errors.
func under(flag string, err error) error {
	var all []error
	for _, e := range Faults(err) {
		all = append(all, fmt.Errorf("%s %w", flag, e))
	}
	return errors.Join(all...)
}

// Faults returns the parts of joined errors; none for nil.
func Faults(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var parts []error
	for _, e := range joined.Unwrap() {
		parts = append(parts, Faults(e)...)
	}
	return parts
}

// plan returns the schedule. One whose groups are too large to be run has closed
// forms all the same.
func (q Query) plan() (schedule.Vigor, error) {
	v := schedule.Default()
	v.M0, v.Rounds = q.M0, q.Rounds
	var alpha, gamma error
	v.Alpha, alpha = schedule.ParseRatio(q.Alpha)
	v.Gamma, gamma = schedule.ParseRatio(q.Gamma)
	err := errors.Join(named("alpha", alpha), named("gamma", gamma))
	if err == nil {
		_, err = v.Rollouts()
	}
	var large *schedule.LargeError
	if errors.As(err, &large) {
		err = nil
	}
	return v, under("--strategy vigor:", err)
}

func named(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", key, err)
}

// command returns the command that prints the figures, on two lines.
func (q Query) command(population string) string {
	strategy := fmt.Sprintf("vigor:m0=%d,rounds=%d,alpha=%s,gamma=%s", q.M0, q.Rounds, q.Alpha, q.Gamma)
	return "vigorlab theory --population " + notation.Word(population) + " \\\n  --strategy " + notation.Word(strategy)
}

// figures returns the figures that the page shows.
func figures(p *theory.Prediction) []Figure {
	var all []Figure
	add := func(key string, n theory.Number) {
		if n.Reason == "" && (math.IsNaN(n.Value) || math.IsInf(n.Value, 0)) {
			n.Reason = "not a finite number"
		}
		all = append(all, Figure{key, n})
	}
	etas := func(under string, e theory.Etas) {
		add(under+".closed_form", e.ClosedForm)
		add(under+".law", e.Law)
		add(under+".noisy", e.Noisy)
		add(under+".cap", e.Cap)
		add(under+".law_cap", e.LawCap)
		add(under+".cap_batch", e.CapBatch)
	}
	pair := func(key string, both theory.Pair) {
		add(key+".strategy", both.Strategy)
		add(key+".fixed", both.Fixed)
	}
	etas("eta", p.Eta)
	for _, s := range p.Speedup {
		etas("speedup."+s.Exponent.Name, s.Etas)
	}
	add("progress", p.Progress)
	add("rollouts_per_prompt", p.RolloutsPerPrompt)
	pair("signal", p.Signal)
	pair("ineffective", p.Ineffective)
	pair("zero_variance_groups", p.ZeroVarianceGroups)
	return all
}

// curves returns who gets the rollouts, with real selection and with perfect one.
func curves(in theory.Input, p *theory.Prediction) (*Curves, error) {
	plan := *in.Vigor
	plan.Select = schedule.SelectTruth
	perfect, err := theory.VigorMeanField(in.Law, plan, in.Frontier, in.Nodes)
	if err != nil {
		return nil, err
	}
	c := &Curves{Sampled: thin(p.Field.Allocation), Perfect: thin(perfect.Allocation), Fixed: p.Field.MeanGroup}
	for _, n := range p.Field.Allocation {
		if distributions.AtLeast(n.P, in.Frontier) {
			c.Prompts += n.W
			c.Rollouts += n.W * n.Rollouts / p.Field.MeanGroup
		}
	}
	return c, nil
}

// closest is the distance in p below which a drawing leaves nodes out: a fraction of
// a pixel.
const closest = 1. / 1024

// thin leaves out nodes that no drawing tells apart, never the first and last.
func thin(nodes []theory.NodeRollouts) []Point {
	var points []Point
	for i, n := range nodes {
		if k := len(points); k > 0 && i < len(nodes)-1 && n.P-points[k-1].P < closest {
			continue
		}
		points = append(points, Point{n.P, n.Rollouts})
	}
	return points
}
