package verify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/theory"
)

// A timeBound is a lower bound on t_g, the first time at which the expected
// reward of a prompt has risen by g (theory.md, section 4.1). All hold for the
// flow of the mean over prompts.
type timeBound struct {
	id, name string
	formula  string
	applies  func(c *flowCase) bool
	value    func(c *flowCase, x int, gain float64) (float64, error)
}

var timeBoundList = []timeBound{
	{
		"razin-theorem-4", "Theorem 4",
		"min{1-exp(-g/9), 1-exp(-7/(3 λ))}/(8 L² J²) (E Var)^(-1/3), λ = 0 (Razin et al. 2025, Theorem 4)",
		func(c *flowCase) bool { return c.kl == 0 && !c.normalised }, razinTime,
	},
	{
		"razin-theorem-4-kl", "Theorem 4, λ > 0",
		"min{1-exp(-g/9), 1-exp(-7/(3 λ))}/(8 L² J²) (E Var)^(-1/3), λ > 0 (Razin et al. 2025, Theorem 4)",
		func(c *flowCase) bool { return c.kl > 0 }, razinTime,
	},
	{
		"razin-proposition-3", "Proposition 3",
		"2|S|(1-exp(-g/2)) Var_x^(-1/2), tabular, λ = 0 (Razin et al. 2025, Proposition 3)",
		func(c *flowCase) bool { return c.tabular && c.kl == 0 && !c.normalised }, tabularTime,
	},
	{
		"razin-proposition-3-kl", "Proposition 3, λ > 0",
		"2|S|(1-exp(-g/2)) Var_x^(-1/2), tabular, λ > 0 (Razin et al. 2025, Proposition 3)",
		func(c *flowCase) bool { return c.tabular && c.kl > 0 }, tabularTime,
	},
	{
		"own-general", "own, any rewards",
		"(1-exp(-g/2))/(2 L² J²) (E Var)^(-1/2), λ = 0",
		func(c *flowCase) bool { return c.kl == 0 && !c.normalised },
		func(c *flowCase, _ int, g float64) (float64, error) { return c.flow(g).TimeGeneral(c.meanVariance()) },
	},
	{
		"own-binary", "own, binary-valued",
		"(1-exp(-g))/(4 L² J²) (E Var)^(-1), binary-valued rewards, λ = 0",
		func(c *flowCase) bool { return c.kl == 0 && !c.normalised && !c.graded },
		func(c *flowCase, _ int, g float64) (float64, error) { return c.flow(g).TimeBinary(c.meanVariance()) },
	},
	{
		"own-normalised", "own, normalised",
		"(1-exp(-g/2))/(2 L² J²) Var^(-1/2), std-normalised flow of one prompt, binary-valued rewards",
		func(c *flowCase) bool { return c.normalised },
		func(c *flowCase, x int, g float64) (float64, error) { return c.flow(g).TimeNormalised(c.variance[x]) },
	},
}

func razinTime(c *flowCase, _ int, g float64) (float64, error) {
	return c.flow(g).TimeRazin2025(c.meanVariance(), c.kl)
}

func tabularTime(c *flowCase, x int, g float64) (float64, error) {
	return theory.TimeTabular(g, c.policy.Prompts(), c.variance[x])
}

// boundGains are the g of t_g, of rewards in [-1, 1].
var boundGains = []float64{0.01, 0.1, 0.5, 1}

// flowError is the largest relative error of the times of a flow in steps of
// pace.
const flowError = 1e-4

// A flowCase is one random policy with rewards in [-1, 1] and a flow.
type flowCase struct {
	policy     train.Policy
	rewards    [][]float64
	tabular    bool // a logit an answer
	graded     bool
	normalised bool
	kl         float64
	mean       []float64 // by prompt, at the start
	variance   []float64
	reached    [][]float64 // t_g by prompt and gain, NaN where the flow did not get there
}

func (c *flowCase) meanVariance() float64 { return min(stat.Mean(c.variance, nil), 1) }

// flow returns what theory asks of the case. L is the length of the longest
// answer. J, the sup of the spectral norm of d(logits)/d(theta) over the
// trajectory, prompts and prefixes, is 1: in softmax and sequence each logit after a
// prefix is a parameter of its own; in logit and linear the logits are (z, 0), z
// linear in the parameters with a gradient of norm 1.
func (c *flowCase) flow(gain float64) theory.Flow {
	longest := 0
	for x := range c.policy.Prompts() {
		for _, o := range c.policy.Outcomes(x) {
			longest = max(longest, o.Tokens)
		}
	}
	return theory.Flow{Gain: gain, Tokens: float64(longest), Jacobian: 1}
}

// newFlowCase draws a case: every third flow has KL, every third is
// std-normalised (of one prompt, binary-valued rewards), and half of the others
// have graded rewards.
func newFlowCase(number int, key stream.Key) (*flowCase, error) {
	const floor = "floor=0.001" // from there on the flows take few steps
	r := stream.Rand(key)
	c := &flowCase{}
	prompts := 1 + r.IntN(4)
	switch number % 3 {
	case 1:
		c.kl = math.Pow(10, 2.5*r.Float64()-1) // 0.1 to 30
	case 2:
		c.normalised, prompts = true, 1
	}
	c.graded = !c.normalised && r.IntN(2) == 0
	answers := 2 + r.IntN(6)
	text := []string{
		"logit:" + floor,
		fmt.Sprintf("softmax:answers=%d,correct=%d,%s", answers, 1+r.IntN(answers-1), floor),
		fmt.Sprintf("sequence:tokens=%d,branching=%d,%s", 1+r.IntN(4), 2+r.IntN(2), floor),
		fmt.Sprintf("linear:overlap=%.2f,skills=2,%s", r.Float64(), floor),
	}[r.IntN(4)]
	l, err := rewarding(popStart)
	if err != nil {
		return nil, err
	}
	c.policy, err = train.NewPolicy(text, l, prompts, key)
	if err != nil {
		return nil, err
	}
	c.tabular = strings.HasPrefix(text, "softmax")
	scatter(c.policy, 2*r.Float64(), r)
	c.draw(r)
	return c, nil
}

// popStart is where the policies of the bounds start, hard prompts mostly.
const popStart = "beta:a=0.4,b=1"

// scatter moves every parameter by a normal number of that size.
func scatter(p train.Policy, size float64, r *rand.Rand) {
	for i := range p.Parameters() {
		p.Parameters()[i] += size * r.NormFloat64()
	}
}

// draw sets rewards and their moments at the start.
func (c *flowCase) draw(r *rand.Rand) {
	for x := range c.policy.Prompts() {
		outcomes := c.policy.Outcomes(x)
		rewards := make([]float64, len(outcomes))
		for k, o := range outcomes {
			switch {
			case c.graded:
				rewards[k] = 2*r.Float64() - 1
			case o.Correct:
				rewards[k] = 1
			default:
				rewards[k] = -1
			}
		}
		c.rewards = append(c.rewards, rewards)
		mean, variance := c.moments(x)
		c.mean, c.variance = append(c.mean, mean), append(c.variance, min(variance, 1))
	}
}

func (c *flowCase) moments(x int) (mean, variance float64) {
	return train.Moments(train.Probabilities(nil, c.policy.Outcomes(x), c.policy.LogProbs(nil, x)), c.rewards[x])
}

// run follows the flow until every prompt has every gain, or for so many steps.
func (c *flowCase) run(pace float64) {
	steps := int(50 / pace) // 50 logits
	longest := math.Inf(1)
	if c.kl > 0 {
		longest = 0.5 / c.kl // KL pulls a logit back at a rate of at most KL
	}
	for range c.mean {
		t := make([]float64, len(boundGains))
		floats.AddConst(math.NaN(), t)
		c.reached = append(c.reached, t)
	}
	m := newMarch(c.policy, train.NewAscent(c.policy, train.Ascent{Rewards: c.rewards, KL: c.kl, Normalised: c.normalised}), pace, longest)
	for range steps {
		if !m.step() || c.note(m) {
			return
		}
	}
}

// note writes down what was reached in the last step, and reports whether
// nothing is left.
func (c *flowCase) note(m *march) (done bool) {
	done = true
	for x, reached := range c.reached {
		value := func() float64 {
			v, _ := c.moments(x)
			return v
		}
		now := value()
		for i, g := range boundGains {
			if !math.IsNaN(reached[i]) || c.mean[x]+g > slices.Max(c.rewards[x]) {
				continue
			}
			done = false
			if now >= c.mean[x]+g {
				reached[i] = m.crossing(c.mean[x]+g, value)
			}
		}
	}
	return done
}

// timeBounds holds the bounds on training time to random policies.
func timeBounds(ctx context.Context, e *env) (*Section, error) {
	n := 3000
	if e.cfg.Quick {
		n = 450
	}
	cases, err := e.flowCases(ctx, n)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, b := range timeBoundList {
		row, curve, err := b.hold(cases)
		if err != nil {
			return nil, err
		}
		s.Rows, s.Curves = append(s.Rows, row), append(s.Curves, curve)
	}
	return s, nil
}

// flowCases returns n random cases and how long their flows take.
func (e *env) flowCases(ctx context.Context, n int) ([]*flowCase, error) {
	cases := make([]*flowCase, n)
	key := stream.New(e.cfg.Seed).Named(e.study)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(e.cfg.Workers)
	for i := range cases {
		work.Go(func() error {
			c, err := newFlowCase(i, key.With(uint64(i)))
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			c.run(pace)
			cases[i] = c
			return nil
		})
	}
	return cases, work.Wait()
}

// hold compares every time with the bound.
func (b timeBound) hold(cases []*flowCase) (Row, Curve, error) {
	curve := Curve{
		Figure: FigureBounds, Family: b.name, Kind: MonteCarlo,
		Setting: Setting{Population: "random policies", Strategy: "exact flows"},
	}
	var all []float64
	used, short := 0, 0
	for i, g := range boundGains {
		var ratios []float64
		for _, c := range cases {
			if !b.applies(c) {
				continue
			}
			if i == 0 {
				used++
			}
			for x, reached := range c.reached {
				bound, err := b.value(c, x, g)
				if err != nil {
					return Row{}, curve, err
				}
				if math.IsNaN(reached[i]) {
					short++
					continue
				}
				ratios = append(ratios, reached[i]/bound)
			}
		}
		slices.Sort(ratios)
		if len(ratios) > 0 {
			curve.Points = append(curve.Points, Point{X: g, Y: stat.Quantile(0.5, stat.Empirical, ratios, nil)})
		}
		all = append(all, ratios...)
	}
	slices.Sort(all)
	row := Row{
		ID: b.id, Kind: Claim,
		Claim:  "t_g ≥ " + b.formula,
		Method: "exact flows of random policies (logit, softmax, linear, sequence), every prompt; the estimate is the smallest t_g over its bound",
		Test:   fmt.Sprintf("every prompt and gain, but for %g, relative, of the flow's own error", flowError),
	}
	if len(all) == 0 {
		return missing(row, "no flow reached a gain"), curve, nil
	}
	q := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, all, nil) }
	row.Note = fmt.Sprintf("%d times of %d policies, g from %v to %v, and %d gains that were out of reach; t_g over the bound is %.3g, %.3g, %.3g at the 5, 50, 95 %% quantiles",
		len(all), used, boundGains[0], boundGains[len(boundGains)-1], short, q(.05), q(.5), q(.95))
	return bounded(row, all[0], 1, all[0] >= 1-flowError), curve, nil
}
