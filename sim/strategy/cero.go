package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// CERO chooses, over a whole run, which prompts get groups and when (CERO,
// arXiv 2606.05606, as stated in its full text, read through notes). A unit is
// g rollouts. Over K rounds it may spend a budget of B units on the M prompts
// of the set, no prompt more than max a round, no round more than C:
//
//   - the value of prompt i is qhat = PosteriorVariance(a, b), with a <- a0 +
//     rho (a - a0) + successes after every round, b likewise with failures;
//   - it has a dual theta_i, first 4 qhat, and the budget a price nu, first 1/2,
//     all in [0, 1]. Prompts of positive margin theta_i - nu are proposed max
//     units each, the largest margins first, until C is reached, ties by a
//     permutation drawn at the start of the run;
//   - proposals are executed in that order within the budget that is left;
//   - after the round, with eta = 1/sqrt(K) and the proposals N, theta_i falls by
//     eta (N_i - z/K)/max and nu by eta (B/K - sum N)/max(B/K, C - B/K); z is the
//     exposure at which the utility of the fresh qhat has the slope theta_i.
//
// The sources leave two points open. Read here: the last proposal is cut where
// C would be passed, and rho discounts every prompt in every round.
//
// Parameters scale with the batch that an update is for: B/K = units * batch,
// C = capacity * B/K, rounded up. The defaults on a batch of 64 are the paper's:
// K = 500, C = 132, B = 64,000. The budget is that of the run: a step spends
// from nothing to g C rollouts. Past K steps it goes on with what is left. Set
// rounds to the steps of the run: the pace and the moves of the duals go by it.
type CERO struct {
	spec            string
	g, most, rounds int
	units, capacity schedule.Ratio
	lambda          float64
	prior           posterior
	rho             float64

	horizon  horizon
	fresh    bool // the run has had no step
	left     int  // units
	nu       float64
	state    []ceroPrompt
	tie      []int
	margin   []int // prompts of positive margin, the largest first
	proposed int   // of them, those that are proposed units
}

// ceroPrompt is what is kept of a prompt.
type ceroPrompt struct {
	posterior
	theta    float64
	proposal int // units of the round
}

// A horizon is what a run may spend, in units.
type horizon struct {
	budget, capacity int
	pace             float64 // budget a round
}

var (
	_ Learner  = (*CERO)(nil)
	_ Believer = (*CERO)(nil)
)

var ceroKind = kind{
	info: Info{
		Name: "cero",
		Parameters: []Parameter{
			{"g", "4", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of a unit"},
			{"max", "2", fmt.Sprintf("a whole number in [1, %d], g*max at most %[1]d", schedule.MaxGroup), "units of a prompt in a round, at most"},
			{"units", "2", "[1/1024, 1024], a decimal or a fraction", "mean units a round for each prompt of the batch"},
			{"capacity", "1.03125", "[1, 1024], a decimal or a fraction", "most units a round, in that mean"},
			{"rounds", "500", "a whole number in [1, 1000000]", "steps K over which the budget is meant to last"},
			{"lambda", "1", "(0, 1000]", "how soon exposure saturates"},
			{"a", "1", "(0, 1000]", "first parameter of the Beta prior"},
			{"b", "1", "(0, 1000]", "second parameter of the Beta prior"},
			{"rho", "1", "[0, 1]", "what a round leaves of the evidence before it"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, PicksPrompts: true},
		Provenance:   "paper",
		Source:       "CERO, arXiv 2606.05606",
		Taxonomy:     taxonomyBudgets,
	},
	parse: parseCero,
	spending: func(g, steps int) string {
		unit := max(1, g/2)
		return fmt.Sprintf("cero:g=%d,units=%d/%[1]d,rounds=%[3]d", unit, g, steps)
	},
}

func parseCero(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	c := &CERO{g: a.Int("g", 4, 1, schedule.MaxGroup)}
	c.most = a.Int("max", min(2, schedule.MaxGroup/c.g), 1, schedule.MaxGroup/c.g)
	c.units = ratio(a, "units", "2", "[1/1024, 1024]", func(x float64) bool { return x >= 1./1024 && x <= 1024 })
	a.Keep("units", c.units.String())
	c.capacity = ratio(a, "capacity", "1.03125", "[1, 1024]", func(x float64) bool { return x >= 1 && x <= 1024 })
	a.Keep("capacity", c.capacity.String())
	c.rounds = a.Int("rounds", 500, 1, 1_000_000)
	positive := func(x float64) bool { return x > 0 && x <= 1000 }
	c.lambda = a.Float("lambda", 1, "(0, 1000]", positive)
	c.prior.a = a.Float("a", 1, "(0, 1000]", positive)
	c.prior.b = a.Float("b", 1, "(0, 1000]", positive)
	c.rho = a.Float("rho", 1, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	c.spec = a.Normal().String()
	if err := a.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// PosteriorVariance returns ab/((a+b)(a+b+1)), the mean of p(1-p) over
// p ~ Beta(a, b), for a, b > 0: in [0, 1/4], rewards coded {0,1}.
func PosteriorVariance(a, b float64) float64 { return a / (a + b) * (b / (a + b + 1)) }

// PosteriorVarianceError returns sqrt(n)/(2(n+s)) + s/(n+s) + 1/(4(n+s+1)),
// s = a + b of the prior: a bound on the mean distance of PosteriorVariance
// after n >= 0 rollouts from p(1-p), for every p in [0, 1] (arXiv 2606.05606,
// Proposition 2).
func PosteriorVarianceError(n int, s float64) float64 {
	x := float64(n)
	return math.Sqrt(x)/(2*(x+s)) + s/(x+s) + 1/(4*(x+s+1))
}

// CeroUtility returns 1 - exp(-4 lambda q z/R), what z >= 0 units of a prompt
// with reward variance q in [0, 1/4] (coded {0,1}) are worth over a run that
// has R > 0 units a prompt (arXiv 2606.05606).
func CeroUtility(q, z, lambda, r float64) float64 { return -math.Expm1(-4 * lambda * q * z / r) }

// CeroOptimum returns the whole units a prompt, at most most each and budget
// in all, of the largest sum of CeroUtility with R = budget/len(q): the
// offline optimum that CeroRegretBound speaks of, with most = max K. The
// utility is concave, so that greedy is exact; a round's capacity does not
// bind where C K >= budget.
func CeroOptimum(q []float64, budget, most int, lambda float64) []int {
	z, r := make([]int, len(q)), float64(budget)/float64(len(q))
	greedy(z, budget, most, func(i, n int) float64 {
		return math.Exp(-4*lambda*q[i]*float64(n)/r) * CeroUtility(q[i], 1, lambda, r)
	}, nil)
	return z
}

// CeroRegretBound returns min(1, lambda (max + G/M)/(Nbar sqrt(K)) +
// 8 lambda max/Nbar ebar), G = max(B/K, C - B/K), Nbar = B/(K M): a bound, in
// every run on prompts that stand still, on the utility a prompt that the
// offline optimum has and CERO has not; ebar is the mean over rounds and prompts of
// |PosteriorVariance after the round - p(1-p)| (arXiv 2606.05606, Theorem 1).
func CeroRegretBound(prompts, rounds, budget, capacity, most int, lambda, ebar float64) float64 {
	pace := float64(budget) / float64(rounds)
	mean := pace / float64(prompts)
	g := max(pace, float64(capacity)-pace)
	first := (float64(most) + g/float64(prompts)) / (mean * math.Sqrt(float64(rounds)))
	return min(1, lambda*first+8*lambda*float64(most)/mean*ebar)
}

// Spec implements Strategy.
func (c *CERO) Spec() string { return c.spec }

// Capabilities implements Strategy.
func (c *CERO) Capabilities() Capabilities { return ceroKind.info.Capabilities }

// Begin implements Learner.
func (c *CERO) Begin(prompts int) {
	c.state, c.tie, c.nu, c.fresh = make([]ceroPrompt, prompts), c.tie[:0], 0.5, true
	for i := range c.state {
		c.state[i] = ceroPrompt{posterior: c.prior, theta: 4 * PosteriorVariance(c.prior.a, c.prior.b)}
	}
}

// Start implements Strategy. The first batch of a run sets its budget.
func (c *CERO) Start(batch int) error {
	if c.fresh {
		c.horizon.budget, c.horizon.capacity = c.Horizon(batch)
		c.horizon.pace = float64(c.horizon.budget) / float64(c.rounds)
		c.left, c.fresh = c.horizon.budget, false
	}
	return nil
}

// Horizon returns the units that a run may spend, in all and in a round.
func (c *CERO) Horizon(batch int) (budget, capacity int) {
	return c.units.Ceil(c.rounds * batch), c.capacity.Ceil(c.units.Ceil(batch))
}

// Next proposes, and asks what the budget allows of it, in one round.
func (c *CERO) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	if len(c.tie) == 0 {
		c.tie = randomRanks(c.tie, len(c.state), r)
	}
	c.propose()
	for _, id := range c.margin[:c.proposed] {
		units := min(c.state[id].proposal, c.left)
		if units == 0 {
			break
		}
		c.left -= units
		ask = append(ask, rollout.Request{X: b.Set.Admit(id), N: c.g * units})
	}
	return ask
}

// propose settles the proposals of the round.
func (c *CERO) propose() {
	c.margin = c.margin[:0]
	for id := range c.state {
		c.state[id].proposal = 0
		if c.state[id].theta > c.nu {
			c.margin = append(c.margin, id)
		}
	}
	slices.SortFunc(c.margin, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.state[j].theta, c.state[i].theta), cmp.Compare(c.tie[i], c.tie[j]))
	})
	c.proposed = 0
	for room := c.horizon.capacity; room > 0 && c.proposed < len(c.margin); c.proposed++ {
		units := min(c.most, room)
		c.state[c.margin[c.proposed]].proposal = units
		room -= units
	}
}

// Update implements Strategy: every group is trained on.
func (c *CERO) Update() Update { return Update{} }

// Observe implements Learner: it moves the evidence, then the duals.
func (c *CERO) Observe(b *rollout.Batch) {
	for id := range c.state {
		c.state[id].fade(c.prior, c.rho)
	}
	for x, id := range b.ID {
		c.state[id].add(b.N[x], b.S[x])
	}
	eta, proposed := 1/math.Sqrt(float64(c.rounds)), 0
	for id := range c.state {
		p := &c.state[id]
		proposed += p.proposal
		due := c.exposure(p.theta, c.Value(id)) / float64(c.rounds)
		p.theta = min(max(p.theta-eta*(float64(p.proposal)-due)/float64(c.most), 0), 1)
	}
	pace := c.horizon.pace
	slope := (pace - float64(proposed)) / max(pace, float64(c.horizon.capacity)-pace)
	c.nu = min(max(c.nu-eta*slope, 0), 1)
}

// exposure returns the units over the run, in [0, max K], at which
// CeroUtility(q) has the slope theta lambda/R: ln(4q/theta)/(4 lambda q/R).
func (c *CERO) exposure(theta, q float64) float64 {
	r := float64(c.horizon.budget) / float64(len(c.state))
	most := float64(c.most * c.rounds)
	if theta >= 4*q {
		return 0
	}
	return min(most, math.Log(4*q/theta)*r/(4*c.lambda*q))
}

// Value returns qhat of a prompt of the set, the mean of p(1-p) under what is
// known of it, in [0, 1/4]. On average over the prompts that are asked it is
// right if the prior is the law of the prompts and they stand still, and may be
// far too high if not.
func (c *CERO) Value(id int) float64 {
	p := c.state[id]
	return PosteriorVariance(p.a, p.b)
}

// Belief implements Believer: the posterior mean, the prior's for a prompt
// that had no rollouts.
func (c *CERO) Belief(id int) (float64, bool) {
	return c.state[id].mean(), true
}
