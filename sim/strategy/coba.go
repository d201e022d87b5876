package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// CoBA spends n rollouts a prompt of the batch by pass rates over each
// prompt's last visits and a taste for difficulty that follows the model's
// success (CoBA-RL, arXiv 2602.03048; [code] read in Within-yao/CoBA-RL,
// recipe/coba_rl/budget_allocators.py, whose defaults these are; its only run
// script sets n = 16, up = 128, window = 1, sum = 11).
//
// Every prompt gets low. A share of the rest goes greedily to prompts of rate
// in [0.05, 0.99] by CobaValue, none passing up; the share is explore, or
// 0.6 + 2m(explore - 0.6) where a fraction m <= 1/2 of the batch is there. What
// then is left goes to rates below 0.05, then to the middle, then to rates
// above 0.99. A prompt without visits counts as rate 0.5; a batch of such
// prompts alone gets n each.
//
// rest=weighted hands out by (1-p)^power, as coded: one prompt after the other
// takes its share of what is left by then, so that the front of the batch,
// whose order is random, gets more; then an even split of the remainder.
//
// Budget: at most n a prompt. Where up binds, rollouts may be left unspent,
// since every group of prompts is gone through once, as in the code.
type CoBA struct {
	spec                 string
	n, low, up, window   int
	sum, smooth          float64
	tauMin, tauMax, vMax float64
	explore, power       float64
	weighted             bool

	visits [][]cobaVisit // by prompt of the set, the last ones
	steps  []float64     // mean pass rate of the last steps
	alpha  float64       // of the Beta density

	rate               []float64 // of every prompt of the batch
	asked              []int
	hard, middle, easy []int // places
	worth, scale       []float64
	alloc              []int
}

// A cobaVisit is one group: rollouts and successes.
type cobaVisit struct{ n, s int }

var (
	_ Learner  = (*CoBA)(nil)
	_ Believer = (*CoBA)(nil)
)

// The constants that the code has no parameter for.
const (
	cobaHard     = 0.05 // rates below are hard
	cobaEasy     = 0.99 // rates above are easy
	cobaLeast    = 0.6  // of what is left, for the middle, where it is empty
	cobaUnknown  = 0.5  // rate of a prompt without visits
	cobaSteep    = 10   // of the sigmoid in CobaAlpha
	cobaClipRest = 1e-6 // keeps rates from 0 and 1 in the weights
)

var cobaKind = kind{
	info: Info{
		Name: "coba",
		Parameters: []Parameter{
			{"n", "16", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "mean rollouts of a prompt"},
			{"low", "2", "a whole number in [1, n]", "rollouts of every prompt"},
			{"up", "32", fmt.Sprintf("a whole number in [n, %d]", schedule.MaxGroup), "rollouts of a prompt, at most"},
			{"window", "3", "a whole number in [1, 1000]", "last visits, and last steps, that count"},
			{"sum", "7", "[2, 1000]", "alpha + beta of the Beta density"},
			{"smooth", "0.01", "(0, 0.5)", "keeps rates from 0 and 1 in the value"},
			{"tau_min", "3", "(0, 1000]", "tau where the middle's rates do not vary"},
			{"tau_max", "12", "[tau_min, 1000]", "tau where their variance reaches var_max"},
			{"var_max", "0.1667", "(0, 1]", "that variance"},
			{"explore", "0.8", "[0, 1]", "share of the rest for the middle, where it is most of the batch"},
			{"rest", "weighted", "weighted, uniform", "how what is left is split"},
			{"power", "1", "[0, 10]", "of 1-p in the weights"},
		},
		Capabilities: Capabilities{History: true},
		Provenance:   "code",
		Source:       "CoBA-RL, arXiv 2602.03048; Within-yao/CoBA-RL, budget_allocators.py",
		Taxonomy:     budgetsBefore,
	},
	parse: parseCoba,
	spending: func(g, _ int) string {
		return fmt.Sprintf("coba:n=%d,low=%d,up=%d", g, min(g, max(2, g/8)), min(2*g, schedule.MaxGroup))
	},
}

func parseCoba(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	c := &CoBA{n: a.Int("n", 16, 1, schedule.MaxGroup)}
	c.low = a.Int("low", min(2, c.n), 1, c.n)
	c.up = a.Int("up", max(32, c.n), c.n, schedule.MaxGroup)
	c.window = a.Int("window", 3, 1, 1000)
	c.sum = a.Float("sum", 7, "[2, 1000]", func(x float64) bool { return x >= 2 && x <= 1000 })
	c.smooth = a.Float("smooth", 0.01, "(0, 0.5)", func(x float64) bool { return x > 0 && x < 0.5 })
	c.tauMin = a.Float("tau_min", 3, "(0, 1000]", func(x float64) bool { return x > 0 && x <= 1000 })
	tauMax := 12.0
	if c.tauMin > tauMax {
		tauMax = c.tauMin
	}
	c.tauMax = a.Float("tau_max", tauMax, "[tau_min, 1000]", func(x float64) bool { return !(x < c.tauMin) && x <= 1000 })
	c.vMax = a.Float("var_max", 0.1667, "(0, 1]", func(x float64) bool { return x > 0 && x <= 1 })
	c.explore = a.Float("explore", 0.8, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	c.weighted = a.Choice("rest", "weighted", "weighted", "uniform") == "weighted"
	c.power = a.Float("power", 1, "[0, 10]", func(x float64) bool { return x >= 0 && x <= 10 })
	c.spec = a.Normal().String()
	if err := a.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// CobaValue returns (1 - exp(-n p(1-p)/tau)) f(p), what n >= 0 rollouts of a
// prompt with pass rate p in (0, 1) are worth; f is the Beta(alpha, beta)
// density (arXiv 2602.03048, as coded). It is concave in n.
func CobaValue(p float64, n int, tau, alpha, beta float64) float64 {
	return -math.Expm1(-float64(n)*p*(1-p)/tau) * distuv.Beta{Alpha: alpha, Beta: beta}.Prob(p)
}

// CobaAlpha returns alpha = 1 + (sum-2) x for a mean failure rate in [0, 1] and
// sum = alpha + beta: x is the rate itself above 1/2 and
// 1/(1 + exp(-10 (rate - 1/2))) up to there, so that a model that succeeds
// turns to hard prompts sooner than in proportion (arXiv 2602.03048, as coded).
func CobaAlpha(failure, sum float64) float64 {
	if failure <= 0.5 {
		failure = 1 / (1 + math.Exp(-cobaSteep*(failure-0.5)))
	}
	return 1 + (sum-2)*failure
}

// Spec implements Strategy.
func (c *CoBA) Spec() string { return c.spec }

// Capabilities implements Strategy.
func (c *CoBA) Capabilities() Capabilities { return cobaKind.info.Capabilities }

// Begin implements Learner.
func (c *CoBA) Begin(prompts int) {
	c.visits = make([][]cobaVisit, prompts)
	c.steps = c.steps[:0]
}

// Start implements Strategy; any batch will do.
func (c *CoBA) Start(int) error { return nil }

// Next asks the whole allocation in one round.
func (c *CoBA) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	c.allocate(b.ID)
	return askGroups(ask, c.asked)
}

// Update implements Strategy: every group is trained on.
func (c *CoBA) Update() Update { return Update{} }

// Observe implements Learner.
func (c *CoBA) Observe(b *rollout.Batch) {
	mean := 0.0
	for x, id := range b.ID {
		mean += float64(b.S[x]) / float64(b.N[x]) / float64(b.Len())
		c.visits[id] = appendLast(c.visits[id], cobaVisit{b.N[x], b.S[x]}, c.window)
	}
	c.steps = appendLast(c.steps, mean, c.window)
	c.alpha = CobaAlpha(1-stat.Mean(c.steps, nil), c.sum)
}

// appendLast appends v to list and keeps the last n.
func appendLast[T any](list []T, v T, n int) []T {
	if len(list) < n {
		return append(list, v)
	}
	copy(list, list[1:])
	list[n-1] = v
	return list
}

// Belief implements Believer: the pass rate over the last visits.
func (c *CoBA) Belief(id int) (float64, bool) {
	var sum cobaVisit
	for _, v := range c.visits[id] {
		sum.n, sum.s = sum.n+v.n, sum.s+v.s
	}
	if sum.n == 0 {
		return 0, false
	}
	return float64(sum.s) / float64(sum.n), true
}

// allocate fills asked for the prompts of the batch.
func (c *CoBA) allocate(ids []int) {
	c.asked, c.rate = c.asked[:0], c.rate[:0]
	known := false
	for _, id := range ids {
		p, ok := c.Belief(id)
		if !ok {
			p = cobaUnknown
		}
		known = known || ok
		c.rate = append(c.rate, p)
		c.asked = append(c.asked, c.low)
	}
	if !known {
		for x := range c.asked {
			c.asked[x] = c.n
		}
		return
	}
	c.sort()
	left := (c.n - c.low) * len(ids)
	left -= c.spendMiddle(int(float64(left) * c.share(len(ids))))
	for _, group := range [][]int{c.hard, c.middle, c.easy} {
		left = c.spendRest(group, left)
	}
}

// sort parts the batch by rate.
func (c *CoBA) sort() {
	c.hard, c.middle, c.easy = c.hard[:0], c.middle[:0], c.easy[:0]
	for x, p := range c.rate {
		switch {
		case p < cobaHard:
			c.hard = append(c.hard, x)
		case p > cobaEasy:
			c.easy = append(c.easy, x)
		default:
			c.middle = append(c.middle, x)
		}
	}
}

// share returns what the middle gets of what is left, in [0, 1].
func (c *CoBA) share(batch int) float64 {
	m := float64(len(c.middle)) / float64(batch)
	if m > 0.5 {
		return c.explore
	}
	return cobaLeast + (c.explore-cobaLeast)*(m*2)
}

// spendMiddle hands out up to budget rollouts greedily and returns how many.
func (c *CoBA) spendMiddle(budget int) int {
	if len(c.middle) == 0 {
		return 0
	}
	c.weigh()
	c.alloc = c.alloc[:0]
	for range c.middle {
		c.alloc = append(c.alloc, c.low)
	}
	left := greedy(c.alloc, budget, c.up, func(i, n int) float64 {
		return c.worth[i] * math.Exp(-float64(n)*c.scale[i])
	}, nil)
	for i, x := range c.middle {
		c.asked[x] = c.alloc[i]
	}
	return budget - left
}

// weigh prepares the gain of the rollout after n, which is
// CobaValue(n+1) - CobaValue(n) = worth exp(-n scale) with scale = p(1-p)/tau
// and worth = f(p) (1 - exp(-scale)).
func (c *CoBA) weigh() {
	c.worth, c.scale = c.worth[:0], c.scale[:0]
	for _, x := range c.middle {
		c.scale = append(c.scale, min(max(c.rate[x], c.smooth), 1-c.smooth))
	}
	tau := c.tauMin + (c.tauMax-c.tauMin)*min(1, stat.PopVariance(c.scale, nil)/c.vMax)
	for i, p := range c.scale {
		c.worth = append(c.worth, CobaValue(p, 1, tau, c.alpha, c.sum-c.alpha))
		c.scale[i] = p * (1 - p) / tau
	}
}

// spendRest hands out what is left among the group and returns what then is.
func (c *CoBA) spendRest(group []int, left int) int {
	if c.weighted {
		left = c.spendWeighted(group, left)
	}
	return c.spendEvenly(group, left)
}

func (c *CoBA) spendWeighted(group []int, left int) int {
	total := 0.0
	for _, x := range group {
		if c.asked[x] < c.up {
			total += c.weight(x)
		}
	}
	for _, x := range group {
		if c.asked[x] < c.up {
			n := min(int(float64(left)*c.weight(x)/total), c.up-c.asked[x])
			c.asked[x] += n
			left -= n
		}
	}
	return left
}

func (c *CoBA) weight(x int) float64 {
	return math.Pow(1-min(max(c.rate[x], cobaClipRest), 1-cobaClipRest), c.power)
}

// spendEvenly splits what is left among the prompts below up, the remainder to
// the first of them; what passes up stays unspent.
func (c *CoBA) spendEvenly(group []int, left int) int {
	var open []int
	for _, x := range group {
		if c.asked[x] < c.up {
			open = append(open, x)
		}
	}
	if len(open) == 0 {
		return left
	}
	each, more := left/len(open), left%len(open)
	for i, x := range open {
		n := each
		if i < more {
			n++
		}
		n = min(n, c.up-c.asked[x])
		c.asked[x] += n
		left -= n
	}
	return left
}
