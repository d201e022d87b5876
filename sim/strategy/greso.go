package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// GRESO leaves out, before generation, prompts whose last visits were all
// right or all wrong (GRESO, arXiv 2506.02177; the released trainer [code]).
//
// A prompt that the loader serves is skipped with probability
// 1 - max(p_easy^z, 0.01), z its latest visits in a row with a mean reward of
// at least easy; if it is not, with probability 1 - max(p_hard^z, 0.01), z its
// latest visits in a row with a mean of at most hard. The defaults suit binary
// rewards; the release has hard=0.11 because a wrong answer in the right
// format earns 0.1 there.
//
// The loader serves loader prompts at a time until as many as the sampling
// size have passed, size*B in the first round; each gets n rollouts, and the
// groups with both outcomes are kept. While less than B are, the next sampling
// size is what is missing divided by the share kept in the last round, times
// 1.25, rounded down; if that is at most size*B the next round is the last,
// and the batch may stay short. The size is cut to [least, size*B] (least wins)
// and the batch to B groups.
//
// After every step of a later epoch than the first p_hard falls by 0.01 if the
// share of all-wrong groups was at least 2/3 of target and rises by 0.01 if
// not, and so does p_easy by all-right groups and 1/3 of target; both stay in
// [0.05, 0.95].
//
// The released code divides by zero where a round keeps no group and a further
// one is due: Update.Failed. It estimates the sampling size in floating point,
// where this is exact, drops the prompts of an epoch that fill no mini-batch,
// where this goes on into the next epoch, and serves a prompt again within a
// step, where this does not: an exhausted set ends the step.
type GRESO struct {
	n, loader, least, gpus int
	size                   schedule.Ratio
	target, easy, hard     float64
	startEasy, startHard   float64 // p_easy and p_hard of the first step
	spec                   string

	pEasy, pHard     float64
	easyRun, hardRun []int // of every prompt of the set: latest visits in a row

	batch    int
	first    int // sampling size of the first round
	sampling int
	last     bool // whatever this round keeps ends the step
	failed   bool
	asked    []int // batch indices of the last round
	kept     []int // in order of arrival; not nil, which would stand for all
	// Groups of this step.
	groups, allRight, allWrong int
}

var _ Learner = (*GRESO)(nil)

// What the release writes as numbers, for skipping and its adaptation.
const (
	gresoFloor = 0.01 // least probability of keeping a prompt
	gresoStep  = 0.01 // change of p_easy and p_hard a step
	gresoLow   = 0.05 // their range
	gresoHigh  = 0.95
)

var gresoKind = kind{
	info: Info{
		Name: "greso",
		Parameters: []Parameter{
			{"n", "8", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts of every prompt"},
			{"size", "1.5", "[1/1024, 1024], a decimal or a fraction", "sampling size of the first round for each prompt of the batch"},
			{"least", "64", "a whole number in [1, 10000]", "least sampling size of a further round"},
			{"loader", "32", "a whole number in [1, 10000]", "prompts that the loader serves at a time"},
			{"p_easy", "0.5", "[0, 1]", "at the start: each all-right visit in a row multiplies the probability of keeping by this"},
			{"p_hard", "0.5", "[0, 1]", "the same for all-wrong visits"},
			{"target", "0.25", "[0, 1]", "share of groups without both outcomes that p_easy and p_hard are steered to"},
			{"easy", "0.98", "(0, 1]", "least mean reward of an all-right visit"},
			{"hard", "0", "[0, easy)", "largest mean reward of an all-wrong visit"},
			{"gpus", "1", "a whole number in [1, 10000]", "a round is cut to a multiple of this; the released scripts have 4 or 8"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, PicksPrompts: true},
		Provenance:   "code",
		Source:       "GRESO, arXiv 2506.02177; Infini-AI-Lab/GRESO",
		Taxonomy:     PlacedByUs(LeverAlgorithmic, FamilyBudgeting, "C, D", PaidBefore),
	},
	parse:    parseGRESO,
	spending: func(g, _ int) string { return fmt.Sprintf("greso:n=%d", max(2, g)) },
}

func parseGRESO(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	unit := func(x float64) bool { return x >= 0 && x <= 1 }
	g := &GRESO{kept: []int{}}
	g.n = a.Int("n", 8, 2, schedule.MaxGroup)
	g.size = ratio(a, "size", "1.5", "[1/1024, 1024]", func(x float64) bool { return x >= 1./1024 && x <= 1024 })
	a.Keep("size", g.size.String())
	g.least = a.Int("least", 64, 1, 10_000)
	g.loader = a.Int("loader", 32, 1, 10_000)
	g.startEasy = a.Float("p_easy", 0.5, "[0, 1]", unit)
	g.startHard = a.Float("p_hard", 0.5, "[0, 1]", unit)
	g.target = a.Float("target", 0.25, "[0, 1]", unit)
	g.easy = a.Float("easy", 0.98, "(0, 1]", func(x float64) bool { return x > 0 && x <= 1 })
	g.hard = a.Float("hard", 0, "[0, easy)", func(x float64) bool { return x >= 0 && x < 1 && !(x >= g.easy) })
	g.gpus = a.Int("gpus", 1, 1, 10_000)
	if err := a.Err(); err != nil {
		return nil, err
	}
	g.spec = a.Normal().String()
	return g, nil
}

// Spec implements Strategy.
func (g *GRESO) Spec() string { return g.spec }

// Capabilities implements Strategy.
func (g *GRESO) Capabilities() Capabilities { return gresoKind.info.Capabilities }

// Rates returns p_easy and p_hard as they stand.
func (g *GRESO) Rates() (easy, hard float64) { return g.pEasy, g.pHard }

// Begin implements Learner.
func (g *GRESO) Begin(prompts int) {
	g.pEasy, g.pHard = g.startEasy, g.startHard
	g.easyRun = append(g.easyRun[:0], make([]int, prompts)...)
	g.hardRun = append(g.hardRun[:0], make([]int, prompts)...)
}

// Start implements Strategy; any batch will do.
func (g *GRESO) Start(batch int) error {
	if batch != g.batch {
		g.batch, g.first = batch, g.size.Ceil(batch)
	}
	g.sampling = g.first
	g.last, g.failed = false, false
	g.asked, g.kept = g.asked[:0], g.kept[:0]
	g.groups, g.allRight, g.allWrong = 0, 0, 0
	return nil
}

// Next judges the groups of the last round and, while the batch is short, asks
// groups of the prompts that pass the filter.
func (g *GRESO) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 && !g.refill(b) {
		return ask
	}
	g.sample(b, r)
	for _, x := range g.asked {
		ask = append(ask, rollout.Request{X: x, N: g.n})
	}
	return ask
}

// sample fills asked with the prompts of a round.
func (g *GRESO) sample(b *rollout.Batch, r *rand.Rand) {
	g.asked = g.asked[:0]
	for len(g.asked) < g.sampling {
		first := b.Len()
		if b.Set.Load(g.loader) == 0 {
			break
		}
		for x := first; x < b.Len(); x++ {
			if !g.skips(b.ID[x], r) {
				g.asked = append(g.asked, x)
			}
		}
	}
	g.asked = g.asked[:len(g.asked)-len(g.asked)%g.gpus]
}

// skips draws whether a prompt is left out.
func (g *GRESO) skips(id int, r *rand.Rand) bool {
	return r.Float64() >= gresoKeep(g.pEasy, g.easyRun[id]) || r.Float64() >= gresoKeep(g.pHard, g.hardRun[id])
}

// gresoKeep returns the probability that one of the two tests lets a prompt
// pass after z visits in a row.
func gresoKeep(q float64, z int) float64 { return max(math.Pow(q, float64(z)), gresoFloor) }

// refill judges the groups of the last round and reports whether there is to
// be another, of the sampling size that it sets.
func (g *GRESO) refill(b *rollout.Batch) bool {
	before := len(g.kept)
	for _, x := range g.asked {
		switch b.S[x] {
		case 0:
			g.allWrong++
		case b.N[x]:
			g.allRight++
		default:
			g.kept = append(g.kept, x)
		}
	}
	g.groups += len(g.asked)
	missing := g.batch - len(g.kept)
	if missing <= 0 || g.last {
		return false
	}
	mixed := len(g.kept) - before
	if mixed == 0 {
		g.failed = true
		return false
	}
	estimate := missing * len(g.asked) * 5 / (4 * mixed)
	g.last = estimate <= g.first
	g.sampling = max(min(estimate, g.first), g.least)
	return true
}

// Update implements Strategy.
func (g *GRESO) Update() Update {
	return Update{Prompts: g.kept[:min(g.batch, len(g.kept))], Failed: g.failed}
}

// Observe implements Learner: it lengthens or ends the runs of the prompts
// that were visited and steers p_easy and p_hard.
func (g *GRESO) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		if b.N[x] == 0 {
			continue
		}
		mean := float64(b.S[x]) / float64(b.N[x])
		g.easyRun[id] = lengthen(g.easyRun[id], mean >= g.easy)
		g.hardRun[id] = lengthen(g.hardRun[id], mean <= g.hard)
	}
	if b.Set.Epoch() == 0 || g.groups == 0 {
		return
	}
	g.pEasy = steer(g.pEasy, float64(g.allRight)/float64(g.groups) >= g.target/3)
	g.pHard = steer(g.pHard, float64(g.allWrong)/float64(g.groups) >= g.target*2/3)
}

// lengthen returns the length of a run after one more visit.
func lengthen(run int, goesOn bool) int {
	if goesOn {
		return run + 1
	}
	return 0
}

// steer moves p_easy or p_hard a step.
func steer(q float64, down bool) float64 {
	if down {
		return max(q-gresoStep, gresoLow)
	}
	return min(q+gresoStep, gresoHigh)
}

// GRESOWait returns the mean number of epochs, each of which serves a prompt
// once, from one visit of GRESO to the next, for a prompt whose last z >= 0
// visits were all right, or all wrong, and q = p_easy or p_hard in [0, 1]:
// a geometric wait of mean min(q^-z, 100).
func GRESOWait(q float64, z int) float64 { return 1 / gresoKeep(q, z) }
