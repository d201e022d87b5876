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

// CERO2 chooses, over a run of K rounds, which prompts get a group of g rollouts
// and when (CERO: Where and When to Allocate Rollouts, arXiv 2610.09679). It is a
// reconstruction from the abstract and notes (systems.md, section 3b), not the
// published algorithm: the structure is sure there, the equations are rebuilt
// and no constant was found, so that none has a default.
//
// Of the objective sum_i K qhat_i f(n_i/K), f(z) = 1 - exp(-c z), n_i the groups
// of prompt i and qhat = PosteriorVariance(a, b), every prompt has a supporting
// slope y_i in [c exp(-c), c], and groups have a common price:
//
//   - prompts of positive margin qhat_i y_i - price are admitted, x_i = 1, each
//     at most once a round; this virtual allocation is executed, the largest
//     margins first, as far as the budget of K b groups lasts;
//   - then y_i falls by eta/sqrt(K) qhat_i (x_i - ln(c/y_i)/c) and the price by
//     step/sqrt(K) (b - sum x)/b, to 0 at least; b = groups * batch. Both go by the
//     virtual allocation, not by what was executed;
//   - then a <- a0 + rho (a - a0) + successes, b likewise with failures.
//
// Open in the notes, and read so here: y starts at c, the slope of an untouched
// prompt, and the price where price says; equal margins go by a permutation drawn
// at the start of the run; rho discounts every prompt in every round; past K
// rounds it goes on with what is left. A round that admits nobody has no update.
type CERO2 struct {
	spec         string
	g, rounds    int
	groups       schedule.Ratio
	c, eta, step float64
	startPrice   float64
	prior        posterior
	rho          float64

	fresh           bool // the run has had no step
	left            int  // groups
	pace            int  // b
	price           float64
	state           []cero2Prompt
	tie             []int
	admitted        []int // by margin
	proposed, spent int   // groups of the run so far, virtual and executed
}

// cero2Prompt is what is kept of a prompt.
type cero2Prompt struct {
	posterior
	slope    float64
	admitted bool // in the round
}

var (
	_ Learner  = (*CERO2)(nil)
	_ Believer = (*CERO2)(nil)
)

var cero2Kind = kind{
	info: Info{
		Name: "cero-v2",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of a group"},
			{"groups", "1", "[1/1024, 1024], a decimal or a fraction", "mean groups a round for each prompt of the batch"},
			{"rounds", "500", "a whole number in [1, 1000000]", "steps K over which the budget is meant to last"},
			{"c", "", "(0, 100]", "how soon exposure saturates; not stated in the notes"},
			{"a", "", "(0, 1000]", "first parameter of the Beta prior; not stated in the notes"},
			{"b", "", "(0, 1000]", "second parameter of the Beta prior; not stated in the notes"},
			{"rho", "", "[0, 1]", "what a round leaves of the evidence before it; not stated in the notes"},
			{"eta", "", "(0, 1000]", "steps of the slopes, times sqrt(K); not stated in the notes"},
			{"price", "", "[0, 100]", "the price at the start; not stated in the notes"},
			{"step", "", "(0, 1000]", "how far the price moves, times sqrt(K), where a round admits twice its groups; not stated in the notes"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, PicksPrompts: true},
		Provenance:   "reconstruction",
		Source:       "CERO: Where and When to Allocate Rollouts, arXiv 2610.09679, from its abstract and notes",
		Taxonomy:     taxonomyBudgets,
	},
	parse: parseCero2,
	spending: func(g, steps int) string { // all but g and rounds is our choice
		return fmt.Sprintf("cero-v2:g=%d,rounds=%d,c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=0.5", g, steps)
	},
}

func parseCero2(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	within := func(low, high float64) func(float64) bool {
		return func(x float64) bool { return x >= low && x <= high }
	}
	positive := func(high float64) func(float64) bool { return func(x float64) bool { return x > 0 && x <= high } }
	c := &CERO2{
		g:      a.Int("g", 8, 1, schedule.MaxGroup),
		groups: ratio(a, "groups", "1", "[1/1024, 1024]", within(1./1024, 1024)),
	}
	a.Keep("groups", c.groups.String())
	c.rounds = a.Int("rounds", 500, 1, 1_000_000)
	c.c = needFloat(a, "c", "(0, 100]", positive(100))
	c.prior.a = needFloat(a, "a", "(0, 1000]", positive(1000))
	c.prior.b = needFloat(a, "b", "(0, 1000]", positive(1000))
	c.rho = needFloat(a, "rho", "[0, 1]", within(0, 1))
	c.eta = needFloat(a, "eta", "(0, 1000]", positive(1000))
	c.startPrice = needFloat(a, "price", "[0, 100]", within(0, 100))
	c.step = needFloat(a, "step", "(0, 1000]", positive(1000))
	if err := a.Err(); err != nil {
		return nil, err
	}
	c.spec = a.Normal().String()
	return c, nil
}

// Spec implements Strategy.
func (c *CERO2) Spec() string { return c.spec }

// Capabilities implements Strategy.
func (c *CERO2) Capabilities() Capabilities { return cero2Kind.info.Capabilities }

// Begin implements Learner.
func (c *CERO2) Begin(prompts int) {
	c.state = slices.Repeat([]cero2Prompt{{posterior: c.prior, slope: c.c}}, prompts)
	c.tie, c.price, c.fresh = c.tie[:0], c.startPrice, true
	c.proposed, c.spent = 0, 0
}

// Start implements Strategy. The first batch of a run sets its budget.
func (c *CERO2) Start(batch int) error {
	if c.fresh {
		c.pace = c.groups.Ceil(batch)
		c.left, c.fresh = c.rounds*c.pace, false
	}
	return nil
}

// Next admits prompts, and asks a group of each that the budget allows, in one
// round.
func (c *CERO2) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	if len(c.tie) == 0 {
		c.tie = randomRanks(c.tie, len(c.state), r)
	}
	c.admit()
	for _, id := range c.admitted[:min(c.left, len(c.admitted))] {
		ask = append(ask, rollout.Request{X: b.Set.Admit(id), N: c.g})
	}
	c.left -= len(ask)
	c.spent += len(ask)
	return ask
}

// admit settles the virtual allocation of the round.
func (c *CERO2) admit() {
	c.admitted = c.admitted[:0]
	for id := range c.state {
		c.state[id].admitted = c.value(id)*c.state[id].slope > c.price
		if c.state[id].admitted {
			c.admitted = append(c.admitted, id)
		}
	}
	slices.SortFunc(c.admitted, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.value(j)*c.state[j].slope, c.value(i)*c.state[i].slope), cmp.Compare(c.tie[i], c.tie[j]))
	})
	c.proposed += len(c.admitted)
}

// value returns qhat of a prompt of the set.
func (c *CERO2) value(id int) float64 { return PosteriorVariance(c.state[id].a, c.state[id].b) }

// Update implements Strategy: every group is trained on.
func (c *CERO2) Update() Update { return Update{} }

// Observe implements Learner: it moves the duals, then the evidence.
func (c *CERO2) Observe(b *rollout.Batch) {
	root := math.Sqrt(float64(c.rounds))
	for id := range c.state {
		p := &c.state[id]
		x := 0.0
		if p.admitted {
			x = 1
		}
		move := c.eta / root * c.value(id) * (x - math.Log(c.c/p.slope)/c.c)
		p.slope = clip(p.slope-move, c.c*math.Exp(-c.c), c.c)
		p.fade(c.prior, c.rho)
	}
	free := 1 - float64(len(c.admitted))/float64(c.pace)
	c.price = max(0, c.price-c.step/root*free)
	for x, id := range b.ID {
		c.state[id].add(b.N[x], b.S[x])
	}
}

// Groups returns the groups of the run so far: admitted, and executed, which
// are fewer once the budget is spent.
func (c *CERO2) Groups() (admitted, executed int) { return c.proposed, c.spent }

// Belief implements Believer: the posterior mean, the prior's for a prompt that
// had no rollouts.
func (c *CERO2) Belief(id int) (float64, bool) { return c.state[id].mean(), true }
