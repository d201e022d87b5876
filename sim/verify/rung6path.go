package verify

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/theory"
)

// A pathCase is a training whose mean field is checked by training.
type pathCase struct {
	population string
	target     float64
	strategy   string
	estimator  string
	aggregate  string
}

var pathCases = []pathCase{
	{popUniform, 0.75, reference, "grpo", sim.AggregateRollout},
	{popUniform, 0.75, vigorPlan, "grpo", sim.AggregateRollout},
	{popBeta13, 0.35, vigorPlan, "grpo", sim.AggregateRollout},
	{popBeta13, 0.35, vigorPlan, "grpo", sim.AggregatePrompt},
	{popBeta55, 0.75, vigorTwo, "grpo", sim.AggregateRollout},
	{popBeta55, 0.75, vigorPlan, "drgrpo", sim.AggregateRollout},
}

func (c pathCase) String() string {
	return fmt.Sprintf("%s, %s averaged over %ss, %s to %v", c.strategy, c.estimator, c.aggregate, c.population, c.target)
}

const (
	pathPrompts = 256
	// pathStep is how many gains a visit moves a logit by, at most.
	pathStep = 1. / 8
)

// pathBesideTraining compares the mean field of training with training on
// uncoupled logits. Steps of a size and batches of a size each leave an error of
// the time, which halves as the step is halved and the batch, the whole set, is
// doubled: twice the one less the other has errors of second order alone.
func pathBesideTraining(ctx context.Context, e *env) (*Section, error) {
	seeds := 60
	if e.cfg.Quick {
		seeds = 12
	}
	s := &Section{}
	for i, c := range pathCases {
		e.progress(i, len(pathCases))
		l, err := rewarding(c.population)
		if err != nil {
			return nil, err
		}
		start, err := c.policy(e, l, 1)
		if err != nil {
			return nil, err
		}
		t, err := training(logitNodes(start), c.strategy, c.estimator, c.aggregate)
		if err != nil {
			return nil, err
		}
		want, err := t.Arrivals(c.target)
		if err != nil {
			return nil, err
		}
		var logs [2][]float64 // of time over the path's
		err = sim.InOrder(ctx, e.cfg.Workers, 2*seeds,
			func() (func(context.Context, int) (float64, error), error) {
				return func(ctx context.Context, i int) (float64, error) {
					return c.time(ctx, e, l, 1+i%2, uint64(i/2))
				}, nil
			},
			func(i int, time float64) error {
				logs[i%2] = append(logs[i%2], math.Log(time/want[0].Time))
				return nil
			})
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, pathRow(c, logs, want[0]))
	}
	return s, nil
}

// pathRow extrapolates to steps without size and sets without end.
func pathRow(c pathCase, logs [2][]float64, want theory.Arrival) Row {
	var e [2]sim.Estimate
	for k := range e {
		mean, sd := stat.MeanStdDev(logs[k], nil)
		e[k] = sim.Estimate{Mean: mean, SE: sd / math.Sqrt(float64(len(logs[k])))}
	}
	moved := math.Abs(e[0].Mean - e[1].Mean)
	ratio := math.Exp(2*e[1].Mean - e[0].Mean)
	return compared(Row{
		ID:    c.String(),
		Claim: "training in small steps takes the time that its mean field takes: " + c.String(),
		Method: fmt.Sprintf("%d runs each on %d logits in steps of %v and on two of each in steps half as long, extrapolated; mean field on the same prompts",
			len(logs[0]), pathPrompts, pathStep),
		Bias: moved + want.Error, // what is left may be as much as went: terms of first order can cancel
		Note: fmt.Sprintf("time over the mean field's: %.4f at first, %.4f at half", math.Exp(e[0].Mean), math.Exp(e[1].Mean)),
	}, ratio, ratio*math.Hypot(2*e[1].SE, e[0].SE), 1)
}

// policy returns pathPrompts prompts of the law, each so many times.
func (c pathCase) policy(e *env, l distributions.Law, copies int) (train.Policy, error) {
	key := stream.New(e.cfg.Seed).Named(e.study).Named(c.population)
	p, err := train.NewPolicy(withFloor(tabular), l, copies*pathPrompts, key)
	if err != nil {
		return nil, err
	}
	z := p.Parameters()
	for i := range z {
		z[i] = z[i%pathPrompts]
	}
	return p, nil
}

// logitNodes returns the success probabilities of a policy of one logit a prompt.
func logitNodes(p train.Policy) []distributions.Node {
	z := p.Parameters()
	nodes := make([]distributions.Node, len(z))
	for i := range z {
		nodes[i] = distributions.Node{P: 1 / (1 + math.Exp(-z[i])), W: 1 / float64(len(z))}
	}
	return nodes
}

// time trains so many copies of every prompt until the target and returns the
// time of theory.Arrival, between two steps in proportion to the success.
func (c pathCase) time(ctx context.Context, e *env, l distributions.Law, copies int, seed uint64) (float64, error) {
	p, err := c.policy(e, l, copies)
	if err != nil {
		return 0, err
	}
	s, err := strategy.Parse(c.strategy, nil)
	if err != nil {
		return 0, err
	}
	cfg := train.DefaultConfig()
	cfg.Seed = uint64(stream.New(e.cfg.Seed).Named(e.study).With(seed))
	cfg.Population, cfg.Target, cfg.Batch = c.population, c.target, p.Prompts()
	cfg.Objective.Aggregate = c.aggregate
	if cfg.Objective.Estimator, err = train.NewEstimator(c.estimator); err != nil {
		return 0, err
	}
	step := pathStep / float64(copies)
	cfg.Optimizer = fmt.Sprintf("sgd:lr=%v", step*float64(cfg.Batch))
	var before, last float64 // mean success at the last two steps
	cfg.Step = func(p train.Point) { before, last = last, p.Success }
	r, err := train.Run(ctx, cfg, p, s)
	if err != nil {
		return 0, err
	}
	if !r.Reached {
		return 0, fmt.Errorf("%s: the mean success is %v after %d steps", c, last, r.Last.Step)
	}
	steps := float64(r.Last.Step) - (last-c.target)/(last-before)
	return steps * step, nil
}

// reach asks where the mean field of training comes to the published speedup: in
// steps without size, all strategies at one rate.
func reach(context.Context, *env) (*Section, error) {
	s := &Section{}
	add := func(id, plan, aggregate, population string, targets []float64, note string) error {
		r, err := pathRatio(plan, aggregate, population, targets)
		if err != nil {
			return err
		}
		when := "from the very first rollouts"
		if len(targets) > 0 {
			when = fmt.Sprintf("to a mean success of %v", targets[0])
		}
		s.Rows = append(s.Rows, bounded(Row{
			ID: id + "." + population, Kind: Claim,
			Claim: fmt.Sprintf("%s needs %v times fewer rollouts than groups of 8 %s, averaged over %ss: %s",
				plan, published, when, aggregate, population),
			Method: "exact mean field of training at one rate, steps without size, GRPO", Test: "exact: the ratio is at least the claim",
			Note: note,
		}, r, published, r >= published))
		return nil
	}
	const sixRounds = "vigor:rounds=6"
	const cost = "six generations one after another, and groups of up to 126 rollouts"
	for _, w := range starts() {
		target := []float64{w.target()}
		for _, err := range []error{
			add("start", vigorPlan, sim.AggregateRollout, w.population, nil, "first-order progress: what the first step shows, not what training takes"),
			add("defaults", vigorPlan, sim.AggregateRollout, w.population, target, ""),
			add("six-rounds", sixRounds, sim.AggregateRollout, w.population, target, cost),
			add("prompt-mean", vigorPlan, sim.AggregatePrompt, w.population, target, ""),
		} {
			if err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// pathRatio returns how many times fewer rollouts than the reference a strategy
// needs to the only target, or, without one, how many times its progress is.
func pathRatio(plan, aggregate, population string, targets []float64) (float64, error) {
	l, err := rewarding(population)
	if err != nil {
		return 0, err
	}
	var value [2]float64
	for k, name := range []string{reference, plan} {
		t, err := training(trainingStart(l), name, "grpo", aggregate)
		if err != nil {
			return 0, err
		}
		if len(targets) == 0 {
			value[k], err = t.Progress()
			value[k] = 1 / value[k]
		} else {
			var a []theory.Arrival
			if a, err = t.Arrivals(targets...); err == nil {
				value[k] = a[0].Rollouts
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return value[0] / value[1], nil
}
