package sim

import (
	"context"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// The totals of one batch that figures are made of. The update weighs a group
// by w: its rollouts G, or 1 under AggregatePrompt.
const (
	totGenerated     = iota // rollouts generated
	totTrained              // rollouts in the update
	totW                    // sum of w
	totWU                   // sum of w u
	totWSigma               // sum of w sigma
	totWSigmaU              // sum of w sigma u
	totIneffective          // trained rollouts in groups with s = 0 or s = G
	totZeroVariance         // such groups
	totGroups               // trained groups
	totSigma                // sum of sigma over trained groups
	totU                    // sum of u over the batch
	totRatio                // (totWU/totW) / (totU/B), where totU > 0
	totHasRatio             // 1 where totU > 0
	totRounds               // sequential rounds
	totTokens               // generated tokens
	totUniformTokens        // mean tokens of one rollout of every prompt
	numTotals
)

// allocationBins is the number of equal bins of p in which rollouts are counted.
const allocationBins = 20

// An arm runs one strategy on batch after batch and measures them. The slices
// are reused, so that a replicate allocates nothing once they have grown.
type arm struct {
	spender
	byPrompt bool // AggregatePrompt

	totals    [numTotals]float64
	sizes     []int               // sizes[g]: trained groups of g rollouts
	bins      [allocationBins]int // rollouts by p, fresh ones left out
	cuts      []cutCount
	lastAsked [][2]int // prompts, and those at the frontier, by the last round that asked them
}

// A cutCount counts prompts at one cut.
type cutCount struct{ active, frontierActive, dropped, frontierDropped float64 }

// newArm returns an arm for batches of the given size. What a large batch needs
// is allocated at once: slices that grow are copied, and neither a garbage
// collection nor an interrupt gets through meanwhile.
func newArm(s strategy.Strategy, batch int, lengths bool, cfg *Config) *arm {
	a := &arm{spender: newSpender(s, lengths), byPrompt: cfg.Aggregate == AggregatePrompt}
	a.batch.N, a.batch.S = make([]int, batch), make([]int, batch)
	a.ask = make([]rollout.Request, 0, batch)
	a.first, a.got, a.last = make([]int, 0, batch), make([]int, 0, batch), make([]int, 0, batch)
	if lengths {
		a.batch.Tokens = make([]int, batch)
		a.tokens = make([]int, 0, batch)
	}
	return a
}

// truth holds what the engine knows of a batch and strategies do not. The
// slices have one entry a prompt.
type truth struct {
	p        []float64
	u        []float64 // true variances
	frontier []int     // 1 where u >= Config.Frontier
	bin      []int     // of p
	tokens   []float64 // mean tokens a rollout, nil where lengths are unknown
	prompts  int
	sumU     float64
	bins     [allocationBins]int // prompts by p
}

// newTruth returns what holds the truth of batches of the given size.
func newTruth(batch int) truth {
	return truth{u: make([]float64, 0, batch), frontier: make([]int, 0, batch), bin: make([]int, 0, batch)}
}

// run lets the strategy spend its rollouts on the source's batch, which key
// names, and measures the groups that the update uses.
func (a *arm) run(ctx context.Context, src rollout.Source, t *truth, key stream.Key) error {
	clear(a.batch.N)
	clear(a.batch.S)
	clear(a.batch.Tokens)
	a.batch.Round = 0
	if err := a.spend(ctx, src, a.batch.Len(), t.p, key); err != nil {
		return err
	}
	a.countCuts(t)
	a.countBins(t)
	if err := a.train(ctx, src); err != nil {
		return err
	}
	a.measure(t.u)
	a.finish(t)
	return nil
}

// measure sums up the groups that the update uses; u holds the true variances.
// Loss weights and baselines change no figure of one step.
func (a *arm) measure(u []float64) {
	a.totals = [numTotals]float64{}
	a.sizes = append(a.sizes[:0], make([]int, slices.Max(a.trainedN)+1)...)
	if a.update.Prompts == nil {
		a.sum(a.trainedN, a.trainedS, u)
		return
	}
	for _, x := range a.update.Prompts {
		a.sum(a.trainedN[x:x+1], a.trainedS[x:x+1], u[x:x+1])
	}
}

// sum adds groups of n rollouts with s successes of prompts with variances u to
// the totals. A prompt without rollouts has no group. This is one of the
// engine's two inner loops; the other is source.DrawCounts.
func (a *arm) sum(n, s []int, u []float64) {
	s, u = s[:len(n)], u[:len(n)]
	var groups, trained, zero, ineffective int
	var wSum, wu, sigmas, wSigma, wSigmaU float64
	for x, g := range n {
		if g == 0 {
			continue
		}
		a.sizes[g]++
		groups++
		trained += g
		w := float64(g)
		if a.byPrompt {
			w = 1
		}
		wSum += w
		wu += w * u[x]
		if k := s[x]; k == 0 || k == g {
			zero++
			ineffective += g
			continue
		}
		sd := sigma(g, s[x])
		sigmas += sd
		wSigma += w * sd
		wSigmaU += w * sd * u[x]
	}
	t := &a.totals
	t[totGroups] += float64(groups)
	t[totTrained] += float64(trained)
	t[totZeroVariance] += float64(zero)
	t[totIneffective] += float64(ineffective)
	t[totW] += wSum
	t[totWU] += wu
	t[totSigma] += sigmas
	t[totWSigma] += wSigma
	t[totWSigmaU] += wSigmaU
}

// finish fills the totals that do not depend on single groups.
func (a *arm) finish(t *truth) {
	tot := &a.totals
	a.ledger.Trained = int(tot[totTrained])
	tot[totGenerated] = float64(a.ledger.Generated)
	tot[totU] = t.sumU
	tot[totRounds] = float64(a.ledger.Rounds)
	tot[totTokens] = float64(a.ledger.GeneratedTokens)
	for _, l := range t.tokens {
		tot[totUniformTokens] += l
	}
	if t.sumU > 0 {
		tot[totHasRatio] = 1
		tot[totRatio] = tot[totWU] / tot[totW] / (t.sumU / float64(t.prompts))
	}
}

// countCuts counts who was dropped where: a prompt is dropped at the cut after
// the last round that asked it, unless that was the last round of all.
func (a *arm) countCuts(t *truth) {
	rounds := a.batch.Round
	a.cuts = append(a.cuts[:0], make([]cutCount, max(0, rounds-1))...)
	if rounds < 2 {
		return
	}
	a.lastAsked = append(a.lastAsked[:0], make([][2]int, rounds+1)...)
	for x, last := range a.last {
		c := &a.lastAsked[last]
		c[0]++
		c[1] += t.frontier[x]
	}
	active, frontierActive := len(a.last), 0
	for _, c := range a.lastAsked {
		frontierActive += c[1]
	}
	for i := range a.cuts {
		dropped := a.lastAsked[i+1]
		a.cuts[i] = cutCount{float64(active), float64(frontierActive), float64(dropped[0]), float64(dropped[1])}
		active -= dropped[0]
		frontierActive -= dropped[1]
	}
}

func (a *arm) countBins(t *truth) {
	clear(a.bins[:])
	for x, n := range a.batch.N {
		a.bins[t.bin[x]] += n
	}
}

// sigmaTable holds sigma for groups of up to maxSigmaTable rollouts.
const maxSigmaTable = 64

var sigmaTable = func() (t [maxSigmaTable + 1][maxSigmaTable + 1]float64) {
	for g := 1; g <= maxSigmaTable; g++ {
		for s := 0; s <= g; s++ {
			t[g][s] = 2 * math.Sqrt(float64(s)*float64(g-s)) / float64(g)
		}
	}
	return t
}()

// sigma returns the within-group standard deviation of s successes in a group
// of g, ddof 0, signed coding: 2 sqrt(s(g-s))/g, in [0, 1].
func sigma(g, s int) float64 {
	if g <= maxSigmaTable {
		return sigmaTable[g][s]
	}
	return 2 * math.Sqrt(float64(s)*float64(g-s)) / float64(g)
}

// bin returns the bin of p, the last one for p = 1.
func bin(p float64) int { return min(int(p*allocationBins), allocationBins-1) }

// know takes in the batch's success probabilities.
func (t *truth) know(p []float64, frontier float64) {
	t.p, t.u, t.frontier, t.bin = p, t.u[:0], t.frontier[:0], t.bin[:0]
	t.clear(len(p))
	for _, p := range p {
		u := distributions.U(p)
		t.u = append(t.u, u)
		t.sumU += u
		at := 0
		if distributions.AtLeast(p, frontier) {
			at = 1
		}
		t.frontier = append(t.frontier, at)
		bin := bin(p)
		t.bin = append(t.bin, bin)
		t.bins[bin]++
	}
}
