package sim

import (
	"context"
	"fmt"
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

// An arm runs one strategy on batch after batch. The slices are reused, so
// that a replicate allocates nothing once they have grown.
type arm struct {
	strategy strategy.Strategy
	spec     string
	byPrompt bool // AggregatePrompt

	gen    *stream.Generator
	batch  rollout.Batch
	ledger rollout.Ledger
	ask    []rollout.Request
	first  []int
	got    []int
	tokens []int // nil where lengths are unknown
	last   []int // the last round that asked each prompt
	freshS []int // successes of the groups drawn anew, where the update wants them

	totals    [numTotals]float64
	sizes     []int               // sizes[g]: trained groups of g rollouts
	bins      [allocationBins]int // rollouts by p, fresh ones left out
	cuts      []cutCount
	lastAsked [][2]int // prompts, and those at the frontier, by the last round that asked them
}

// A cutCount counts prompts at one cut.
type cutCount struct{ active, frontierActive, dropped, frontierDropped float64 }

// newArm returns an arm for batches of the given size.
func newArm(s strategy.Strategy, batch int, lengths bool, cfg *Config) *arm {
	a := &arm{
		strategy: s,
		spec:     s.Spec(),
		byPrompt: cfg.Aggregate == AggregatePrompt,
		gen:      stream.NewGenerator(0),
		batch:    rollout.Batch{N: make([]int, batch), S: make([]int, batch)},
		last:     make([]int, batch),
	}
	if lengths {
		a.batch.Tokens = make([]int, batch)
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
	sumU     float64
	bins     [allocationBins]int // prompts by p
}

// run lets the strategy spend its rollouts on the source's batch, which key
// names: the strategy asks, the source answers, the ledger counts.
func (a *arm) run(ctx context.Context, src rollout.Source, t *truth, key stream.Key) error {
	if err := a.start(t, key); err != nil {
		return err
	}
	for {
		a.ask = a.strategy.Next(&a.batch, a.ask[:0], a.gen.Rand)
		if len(a.ask) == 0 {
			break
		}
		if err := a.draw(ctx, src, a.batch.N); err != nil {
			return err
		}
		a.batch.Round++
		a.ledger.Rounds++
		for i, q := range a.ask {
			a.batch.N[q.X] += q.N
			a.batch.S[q.X] += a.got[i]
			a.last[q.X] = a.batch.Round
			a.ledger.Generated += q.N
		}
		for i, n := range a.tokens {
			a.batch.Tokens[a.ask[i].X] += n
			a.ledger.GeneratedTokens += n
		}
	}
	return a.update(ctx, src, t)
}

func (a *arm) start(t *truth, key stream.Key) error {
	clear(a.batch.N)
	clear(a.batch.S)
	clear(a.batch.Tokens)
	clear(a.last)
	a.batch.Round = 0
	a.ledger = rollout.Ledger{}
	a.gen.Reset(key.Named(a.spec))
	if err := a.strategy.Start(len(a.batch.N)); err != nil {
		return fmt.Errorf("%s: %w", a.spec, err)
	}
	if a.strategy.Capabilities().Truth {
		a.strategy.(strategy.TruthSeer).SeeTruth(t.p)
	}
	return nil
}

// draw asks the source for a.ask, each prompt's rollouts from first[X] on.
func (a *arm) draw(ctx context.Context, src rollout.Source, first []int) error {
	a.first, a.got = a.first[:0], a.got[:0]
	for _, q := range a.ask {
		a.first = append(a.first, first[q.X])
		a.got = append(a.got, 0)
	}
	if a.batch.Tokens != nil {
		a.tokens = append(a.tokens[:0], a.got...)
	}
	if err := src.Draw(ctx, a.ask, a.first, a.got, a.tokens); err != nil {
		return fmt.Errorf("%s: %w", a.spec, err)
	}
	return nil
}

// update draws fresh groups where the strategy wants them, which the batch
// that strategies see leaves out, and measures the groups that the update uses.
func (a *arm) update(ctx context.Context, src rollout.Source, t *truth) error {
	a.countCuts(t)
	a.countBins(t)
	u := a.strategy.Update()
	if !u.Fresh {
		a.measure(u, a.batch.N, a.batch.S, t.u)
		a.finish(t)
		return nil
	}
	a.askAgain(u.Prompts)
	if err := a.draw(ctx, src, a.batch.N); err != nil {
		return err
	}
	a.freshS = append(a.freshS[:0], a.batch.S...)
	a.ledger.Rounds++
	for i, q := range a.ask {
		a.ledger.Generated += q.N
		a.freshS[q.X] = a.got[i]
	}
	for _, n := range a.tokens {
		a.ledger.GeneratedTokens += n
	}
	a.measure(u, a.batch.N, a.freshS, t.u)
	a.finish(t)
	return nil
}

// askAgain fills a.ask with groups of the sizes so far, for the given prompts
// or, for nil, for all that have one.
func (a *arm) askAgain(prompts []int) {
	a.ask = a.ask[:0]
	for _, x := range prompts {
		a.ask = append(a.ask, rollout.Request{X: x, N: a.batch.N[x]})
	}
	if prompts != nil {
		return
	}
	for x, g := range a.batch.N {
		if g > 0 {
			a.ask = append(a.ask, rollout.Request{X: x, N: g})
		}
	}
}

// measure sums up the groups that the update uses, of n rollouts with s
// successes each unless it says otherwise; u holds the true variances. Loss
// weights and baselines change no figure of one step.
func (a *arm) measure(up strategy.Update, n, s []int, u []float64) {
	if up.N != nil {
		n, s = up.N, up.S
	}
	a.totals = [numTotals]float64{}
	a.sizes = append(a.sizes[:0], make([]int, slices.Max(n)+1)...)
	if up.Prompts == nil {
		a.sum(n, s, u)
		return
	}
	for _, x := range up.Prompts {
		a.sum(n[x:x+1], s[x:x+1], u[x:x+1])
	}
}

// sum adds groups of n rollouts with s successes of prompts with variances u to
// the totals. A prompt without rollouts has no group. This is one of the
// engine's two inner loops; the other is the source's drawCounts.
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
		tot[totRatio] = tot[totWU] / tot[totW] / (t.sumU / float64(len(t.u)))
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

// know takes in the batch's success probabilities.
func (t *truth) know(p []float64, frontier float64) {
	t.p, t.u, t.frontier, t.bin = p, t.u[:0], t.frontier[:0], t.bin[:0]
	t.sumU = 0
	clear(t.bins[:])
	for _, p := range p {
		u := distributions.U(p)
		t.u = append(t.u, u)
		t.sumU += u
		at := 0
		if distributions.AtLeast(p, frontier) {
			at = 1
		}
		t.frontier = append(t.frontier, at)
		bin := min(int(p*allocationBins), allocationBins-1)
		t.bin = append(t.bin, bin)
		t.bins[bin]++
	}
}
