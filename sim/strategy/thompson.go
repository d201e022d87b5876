package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// Thompson chooses which prompts to run, g rollouts each, by Thompson sampling
// on their success probabilities: MoPPS (arXiv 2507.04632; verl recipe/mopps,
// mopps.py and our_ray_trainer.py [code]).
//
// Every prompt has a Beta(a, b) belief, Beta(1, 1) at first. A step takes the
// next floor(pool*B) prompts of a shuffled epoch as candidates (all prompts
// where there are no more; what is too short for a pool at the end of an epoch
// is left out of it), draws q from every candidate's belief and runs the B
// candidates of the smallest (q-target)^2 (select=topk), or of the smallest
// distance of q to [low, high] (threshold), ties by lot; select=uniform is the
// control that takes any. After the step, for s successes of g,
//
//	a <- decay*a + (1-decay) + s,  b <- decay*b + (1-decay) + g-s
//
// for the prompts that ran: a belief fades only when it is renewed. The
// defaults are those of the recipe and of its MATH scripts; the Countdown
// scripts have pool=8, decay=0.5. For g = 1 the released line sets a = b = 8
// whatever happened, by the precedence of its conditional; here g = 1 counts as
// written above.
//
// Where the set has fewer than B prompts the code stops with an error: all of
// them are run and the update says that it failed.
type Thompson struct {
	g          int
	pool       float64
	choose     string
	target     float64
	low, high  float64
	decay      float64
	belief     []posterior // of every prompt of the set
	order      []int       // of the epoch
	next       int         // in order
	batch      int
	candidates []candidate
	short      bool // fewer prompts than the batch
}

var (
	_ Budgeter = (*Thompson)(nil)
	_ Learner  = (*Thompson)(nil)
	_ Believer = (*Thompson)(nil)
)

// flat is the belief in a prompt that has not run.
var flat = posterior{1, 1}

// How a candidate is scored.
const (
	chooseTopK      = "topk"
	chooseThreshold = "threshold"
	chooseUniform   = "uniform"
)

var thompsonKind = kind{
	info: Info{
		Name: "thompson",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every chosen prompt"},
			{"pool", "16", "[1, 1024]", "candidates for each prompt of the batch, rounded down, at most the prompt set"},
			{"select", chooseTopK, "topk, threshold, uniform", "nearest to target, nearest to [low, high], or any"},
			{"target", "0.5", "[0, 1]", "the success probability that topk looks for"},
			{"low", "0.3", "[0, 1]", "lower end for threshold"},
			{"high", "0.7", "[low, 1]", "upper end for threshold"},
			{"decay", "1", "[0, 1]", "weight of a prompt's earlier rollouts when it is run again"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, ExactBudget: true, PicksPrompts: true},
		Provenance:   "code",
		Source:       "MoPPS, arXiv 2507.04632; verl recipe/mopps",
		Taxonomy:     budgetsBefore,
	},
	parse:    parseThompson,
	spending: func(g, _ int) string { return fmt.Sprintf("thompson:g=%d", g) },
}

func parseThompson(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	within := func(low, high float64) func(float64) bool {
		return func(x float64) bool { return x >= low && x <= high }
	}
	t := &Thompson{
		g:      a.Int("g", 8, 1, schedule.MaxGroup),
		pool:   a.Float("pool", 16, "[1, 1024]", within(1, 1024)),
		choose: a.Choice("select", chooseTopK, chooseTopK, chooseThreshold, chooseUniform),
		target: a.Float("target", 0.5, "[0, 1]", within(0, 1)),
		low:    a.Float("low", 0.3, "[0, 1]", within(0, 1)),
		high:   a.Float("high", 0.7, "[low, 1]", within(0, 1)),
		decay:  a.Float("decay", 1, "[0, 1]", within(0, 1)),
	}
	if t.low > t.high {
		a.Fault("low", spec.FormatFloat(t.low), "at most high = "+spec.FormatFloat(t.high))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Spec implements Strategy.
func (t *Thompson) Spec() string {
	f := spec.FormatFloat
	return fmt.Sprintf("thompson:g=%d,pool=%s,select=%s,target=%s,low=%s,high=%s,decay=%s",
		t.g, f(t.pool), t.choose, f(t.target), f(t.low), f(t.high), f(t.decay))
}

// Capabilities implements Strategy.
func (t *Thompson) Capabilities() Capabilities { return thompsonKind.info.Capabilities }

// Budget implements Budgeter.
func (t *Thompson) Budget(batch int) int { return t.g * batch }

// Begin implements Learner.
func (t *Thompson) Begin(prompts int) {
	t.belief, t.order = slices.Repeat([]posterior{flat}, prompts), make([]int, prompts)
	t.next = prompts // the first step shuffles
}

// Start implements Strategy.
func (t *Thompson) Start(batch int) error {
	t.batch = batch
	return nil
}

// Next chooses the prompts and asks g rollouts of each, once.
func (t *Thompson) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	t.candidates = t.candidates[:0]
	for _, id := range t.advance(r) {
		t.candidates = append(t.candidates, candidate{id, t.score(id, r), r.Uint64()})
	}
	rankCandidates(t.candidates)
	t.short = len(t.candidates) < t.batch
	for _, c := range t.candidates[:min(t.batch, len(t.candidates))] {
		ask = append(ask, rollout.Request{X: b.Set.Admit(c.x), N: t.g})
	}
	return ask
}

// advance returns the next pool of the epoch, or of a new one where too few
// prompts are left of it.
func (t *Thompson) advance(r *rand.Rand) []int {
	size := min(len(t.order), int(t.pool*float64(t.batch)))
	if t.next+size > len(t.order) {
		t.order = randomRanks(t.order, len(t.order), r)
		t.next = 0
	}
	t.next += size
	return t.order[t.next-size : t.next]
}

// score draws a success probability for prompt id and returns how far it is
// from what is looked for.
func (t *Thompson) score(id int, r *rand.Rand) float64 {
	if t.choose == chooseUniform {
		return 0
	}
	q := distuv.Beta{Alpha: t.belief[id].a, Beta: t.belief[id].b, Src: r}.Rand()
	if t.choose == chooseThreshold {
		return max(0, t.low-q, q-t.high)
	}
	return (q - t.target) * (q - t.target)
}

// Update implements Strategy: every group is trained on.
func (t *Thompson) Update() Update { return Update{Failed: t.short} }

// Observe implements Learner.
func (t *Thompson) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		t.belief[id].fade(flat, t.decay)
		t.belief[id].add(b.N[x], b.S[x])
	}
}

// Belief implements Believer: the mean a/(a+b) of a prompt that has run.
func (t *Thompson) Belief(id int) (p float64, ok bool) {
	return t.belief[id].mean(), t.belief[id] != flat
}
