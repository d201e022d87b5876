package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// rung9 checks the theorems of allocation that other methods and the classical
// baselines bring with them (allocation.md, section 12).
func rung9() []study {
	return []study{
		{id: "9.cero", run: ceroRegret},
		{id: "9.greedy", run: greedyOptima},
		{id: "9.neyman", run: neymanGap},
		{id: "9.mc-ucb", comparisons: len(slopeCases), run: ucbSlopes},
		{id: "9.halving", comparisons: len(halvingCases), run: halvingErrors},
		{id: "9.costs", comparisons: len(costCases), run: costs},
		{id: "9.good-turing", comparisons: 1, run: goodTuring},
	}
}

// generator returns the stream of a part of the study.
func (e *env) generator(part string) *rand.Rand {
	return stream.Rand(stream.New(e.cfg.Seed).Named(e.study).Named(part))
}

// replicates picks between the two modes.
func (e *env) replicates(quick, full int) int {
	if e.cfg.Quick {
		return quick
	}
	return full
}

// mostRounds ends a strategy that never stops asking.
const mostRounds = 1_000_000

// A bench lets one strategy play on prompts that stand still, outside the
// engine, whose figures are of one batch.
type bench struct {
	s     strategy.Strategy
	p     []float64 // of the prompt set
	set   *rollout.Set
	batch rollout.Batch
	ask   []rollout.Request
	r     *rand.Rand
}

// newBench returns a bench for runs of many steps.
func newBench(text string, p []float64, r *rand.Rand) (*bench, error) {
	s, err := strategy.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	b := &bench{s: s, p: p, set: rollout.NewSet(len(p)), r: r}
	b.restart()
	return b, nil
}

// restart begins another run.
func (b *bench) restart() {
	b.set.Restart(b.r)
	if l, ok := b.s.(strategy.Learner); ok {
		l.Begin(len(b.p))
	}
}

// step lets the strategy spend its rollouts on a batch of the given size; see,
// where not nil, hears of every request before it is answered. The groups are
// in b.batch.
func (b *bench) step(size int, see func(id, n int)) error {
	b.set.Begin(&b.batch)
	if err := b.s.Start(size); err != nil {
		return err
	}
	if !b.s.Capabilities().PicksPrompts {
		b.set.Load(size)
	}
	if seer, ok := b.s.(strategy.TruthSeer); ok && b.s.Capabilities().Truth {
		truth := make([]float64, len(b.batch.ID))
		for x, id := range b.batch.ID {
			truth[x] = b.p[id]
		}
		seer.SeeTruth(truth)
	}
	for range mostRounds {
		if b.ask = b.s.Next(&b.batch, b.ask[:0], b.r); len(b.ask) == 0 {
			if l, ok := b.s.(strategy.Learner); ok {
				l.Observe(&b.batch)
			}
			return nil
		}
		for _, q := range b.ask {
			id := b.batch.ID[q.X]
			if see != nil {
				see(id, q.N)
			}
			b.batch.S[q.X] += successes(q.N, b.p[id], b.r)
			b.batch.N[q.X] += q.N
		}
		b.batch.Round++
	}
	return fmt.Errorf("%s asks for more than %d rounds", b.s.Spec(), mostRounds)
}

// generated returns the rollouts of the last step.
func (b *bench) generated() int {
	n := 0
	for _, group := range b.batch.N {
		n += group
	}
	return n
}

// successes draws the successes among n rollouts.
func successes(n int, p float64, r *rand.Rand) (s int) {
	for range n {
		if r.Float64() < p {
			s++
		}
	}
	return s
}

// drawRates returns n success probabilities of a law.
func drawRates(l distributions.Law, n int, r *rand.Rand) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = l.Rand(r)
	}
	return p
}

// variances returns p(1-p) of every prompt.
func variances(p []float64) []float64 {
	v := make([]float64, len(p))
	for i, p := range p {
		v[i] = p * (1 - p)
	}
	return v
}

// ofMean is the estimate of a mean from independent values.
func ofMean(x []float64) sim.Estimate {
	mean, sd := stat.MeanStdDev(x, nil)
	return sim.Estimate{Mean: mean, SE: sd / math.Sqrt(float64(len(x)))}
}

// A worst keeps the largest of many figures, and counts them.
type worst struct {
	most  float64
	cases int
}

func (w *worst) add(x float64) {
	w.cases++
	if !(x <= w.most) && !math.IsNaN(w.most) { // NaN comes in, and stays
		w.most = x
	}
}

// within fills row with the largest of many ratios to a bound, none of which may
// pass 1.
func (w *worst) within(row Row) Row {
	return w.fill(row, 1, w.most <= 1+exactTolerance)
}

// equal fills row with the largest of many differences, each of a size that
// rounding may be a billionth of.
func (w *worst) equal(row Row) Row {
	return w.fill(row, 0, w.most <= exactTolerance)
}

func (w *worst) fill(row Row, bound float64, holds bool) Row {
	row.Test = joinNotes("every case, to rounding", row.Test)
	row.Note = joinNotes(fmt.Sprintf("%d cases", w.cases), row.Note)
	return bounded(row, w.most, bound, w.cases > 0 && holds)
}

// ceroCases are the settings of 9.cero.
var ceroCases = []struct {
	spec            string
	g, most, rounds int // of the spec
	lambda          float64
	prompts, batch  int
	population      string
	quick, full     int // runs
}{
	{"cero:rounds=400", 4, 2, 400, 1, 60, 16, popUniform, 4, 20},
	{"cero:rounds=2000", 4, 2, 2000, 1, 60, 16, popUniform, 1, 5},
	{"cero:rounds=500,units=1,capacity=2", 4, 2, 500, 1, 40, 20, popBeta55, 4, 20},
	{"cero:rounds=300,max=1,g=8,lambda=3,units=1/2", 8, 1, 300, 3, 30, 30, popBeta55, 4, 20},
	{"cero:rounds=50,lambda=0.5,a=0.5,b=0.5", 4, 2, 50, .5, 200, 64, popBeta13, 4, 20},
}

// ceroRegret asserts CERO's Theorem 1 in every run: it is pathwise, so that one
// run beyond it refutes it.
func ceroRegret(ctx context.Context, e *env) (*Section, error) {
	var regret, optimum worst
	s := &Section{}
	for i, c := range ceroCases {
		l, err := rewarding(c.population)
		if err != nil {
			return nil, err
		}
		r := e.generator(c.spec)
		for range e.replicates(c.quick, c.full) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			run, err := playCero(c.spec, drawRates(l, c.prompts, r), c.batch, c.rounds, c.g, r)
			if err != nil {
				return nil, err
			}
			best, got := run.utilities(c.most*c.rounds, c.lambda)
			bound := strategy.CeroRegretBound(c.prompts, c.rounds, run.budget, run.capacity, c.most, c.lambda, run.ebar)
			regret.add((best - got) / bound)
			optimum.add(got / best)
		}
		e.progress(i+1, len(ceroCases))
	}
	s.Rows = append(s.Rows,
		regret.within(Row{
			ID: "regret", Kind: Claim,
			Claim:  "CERO, Theorem 1: (OPT - ALG)/M <= lambda (max + G/M)/(Nbar sqrt K) + 8 lambda max/Nbar ebar, in every run on prompts that stand still",
			Method: "simulated runs beside the greedy optimum in hindsight; the largest regret over its bound",
			Note:   "on five settings of prompts, rounds, prior and lambda",
		}),
		optimum.within(Row{
			ID: "optimum", Kind: Check,
			Claim:  "no run passes the optimum in hindsight that the regret is measured from",
			Method: "the same runs; the largest utility over the optimum's",
		}))
	return s, nil
}

// A ceroRun is a run of CERO on prompts that stand still.
type ceroRun struct {
	q                []float64 // p(1-p)
	units            []int     // executed, by prompt
	budget, capacity int
	ebar             float64 // mean |qhat - q| over rounds and prompts
}

func playCero(text string, p []float64, batch, rounds, g int, r *rand.Rand) (*ceroRun, error) {
	b, err := newBench(text, p, r)
	if err != nil {
		return nil, err
	}
	c := b.s.(*strategy.CERO) // the text says so
	run := &ceroRun{q: variances(p), units: make([]int, len(p))}
	run.budget, run.capacity = c.Horizon(batch)
	for range rounds {
		if err := b.step(batch, func(id, n int) { run.units[id] += n / g }); err != nil {
			return nil, err
		}
		for id, q := range run.q {
			run.ebar += math.Abs(c.Value(id)-q) / float64(rounds*len(p))
		}
	}
	return run, nil
}

// utilities returns the utility a prompt of the optimum in hindsight, no prompt
// above most units, and that of the run.
func (c *ceroRun) utilities(most int, lambda float64) (best, got float64) {
	prompts := float64(len(c.q))
	r := float64(c.budget) / prompts
	for i, z := range strategy.CeroOptimum(c.q, c.budget, most, lambda) {
		best += strategy.CeroUtility(c.q[i], float64(z), lambda, r) / prompts
		got += strategy.CeroUtility(c.q[i], float64(c.units[i]), lambda, r) / prompts
	}
	return best, got
}
