package strategy

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// PilotCommit gives new prompts a small pilot group and spends the rest on
// those whose pilots were neither too easy nor too hard (Pilot-Commit, arXiv
// 2605.26606; databricks/pilot-commit, recipe/pc [code]).
//
// A round is a tick: gen*B new prompts get pilot rollouts each, and at the
// same time as many prompts as the batch lacks, or the buffer holds, leave the
// buffer and get commit rollouts each. A prompt with a pilot mean in
// [lower, 1-upper] (binary coding) enters the buffer after its tick, so that
// its commit comes at least one tick later; one with a mean of at least evict
// is not served again from the next epoch on. The update uses B committed
// prompts, each with its pilot rollouts, which may be of an earlier step, and
// its commit rollouts; with effective > 0 only that many pilot rollouts, half
// of them right as nearly as may be. Where cap ticks do not fill the batch the
// code stops with an error (Update.Failed).
//
// order=variance takes the prompts of the buffer by the standard deviation of
// the pilot, then the later step, then order of arrival. Of the released
// scripts that for groups of 64 has random, that for groups of 128 variance.
//
// After a step the buffer loses what is older than staleness steps. The
// release does so once the batch is full, so that a pilot is committed up to
// staleness+1 steps later. An epoch's end clears the buffer and the partial
// batch, and the count of ticks with it, and prompts that fill no tick are not
// asked. Departures: a set that is exhausted within a step gives a short tick,
// and the step ends with what the buffer holds; commits are not cut to a
// multiple of the GPUs; and where the buffer holds no more than the batch
// lacks the release forgets effective and stops with an error.
//
// A step of one tick costs PilotCommitCost rollouts; the first step of an
// epoch takes at least two ticks.
type PilotCommit struct {
	pilot, commit, gen   int
	lower, upper, evict  float64
	effective, staleness int
	cap                  int
	byVariance           bool
	spec                 string

	buffer  []piloted // in order of arrival, for order=variance among equals
	evicted []bool    // of every prompt of the set
	step    int
	epoch   int

	batch   int
	ticks   int
	failed  bool
	pilots  []int       // batch indices of the last tick's pilots
	commits []committed // of the last tick
	trained []committed // the partial batch
	update  Update
}

// A piloted prompt waits in the buffer.
type piloted struct{ id, s, step int }

// A committed prompt has place x in the batch of the step and s successes
// among the rollouts that are trained on; before its commit was in, it had had
// before successes in this step.
type committed struct{ x, s, before int }

var _ Learner = (*PilotCommit)(nil)

var pilotCommitKind = kind{
	info: Info{
		Name: "pilot-commit",
		Parameters: []Parameter{
			{"pilot", "16", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "pilot rollouts of every new prompt"},
			{"commit", "48", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "further rollouts of a prompt that is trained on"},
			{"gen", "3", "a whole number in [1, 1024]", "new prompts of a tick for each one of the batch"},
			{"lower", "0.125", "[0, 1]", "least pilot mean of a prompt that is committed"},
			{"upper", "0.25", "[0, 1-lower]", "1 minus the largest such mean"},
			{"evict", "1", "[0, 1]", "pilot mean from which on a prompt is not served again in later epochs, 0 for none"},
			{"effective", "0", "a whole number in [0, pilot]", "pilot rollouts that are trained on, 0 for all"},
			{"staleness", "4", "a whole number in [0, 10000]", "age in steps up to which the buffer keeps a pilot"},
			{"cap", "10", "a whole number in [0, 10000]", "ticks after which the run stops with an error, 0 for never"},
			{"order", "random", "random, variance", "which prompts leave the buffer first"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, PicksPrompts: true},
		Provenance:   "code",
		Source:       "Pilot-Commit, arXiv 2605.26606; databricks/pilot-commit, recipe/pc and train_scripts",
		Taxonomy:     budgetsInRounds,
	},
	parse: parsePilotCommit,
	spending: func(g, _ int) string { // groups of g, a quarter of them pilots, as published
		pilot := max(2, g/4)
		return fmt.Sprintf("pilot-commit:pilot=%d,commit=%d", pilot, max(1, g-pilot))
	},
}

func parsePilotCommit(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	unit := func(x float64) bool { return x >= 0 && x <= 1 }
	p := &PilotCommit{update: Update{Prompts: []int{}}}
	p.pilot = a.Int("pilot", 16, 1, schedule.MaxGroup)
	p.commit = a.Int("commit", 48, 1, schedule.MaxGroup)
	p.gen = a.Int("gen", 3, 1, 1024)
	p.lower = a.Float("lower", 0.125, "[0, 1]", unit)
	p.upper = a.Float("upper", 0.25, "[0, 1-lower]", unit)
	if p.lower > 1-p.upper {
		a.Fault("upper", p.upper, "[0, 1-lower]")
	}
	p.evict = a.Float("evict", 1, "[0, 1]", unit)
	p.effective = a.Int("effective", 0, 0, p.pilot)
	p.staleness = a.Int("staleness", 4, 0, 10_000)
	p.cap = a.Int("cap", 10, 0, 10_000)
	p.byVariance = a.Choice("order", "random", "random", "variance") == "variance"
	if err := a.Err(); err != nil {
		return nil, err
	}
	if p.effective == 0 {
		p.effective = p.pilot
	}
	p.spec = a.Normal().String()
	return p, nil
}

// Spec implements Strategy.
func (p *PilotCommit) Spec() string { return p.spec }

// Capabilities implements Strategy.
func (p *PilotCommit) Capabilities() Capabilities { return pilotCommitKind.info.Capabilities }

// Begin implements Learner.
func (p *PilotCommit) Begin(prompts int) {
	p.buffer = p.buffer[:0]
	p.evicted = append(p.evicted[:0], make([]bool, prompts)...)
	p.step, p.epoch = 0, 0
}

// Start implements Strategy; any batch will do.
func (p *PilotCommit) Start(batch int) error {
	p.batch, p.ticks, p.failed = batch, 0, false
	p.pilots, p.commits, p.trained = p.pilots[:0], p.commits[:0], p.trained[:0]
	return nil
}

// Next takes in the last tick and, while the batch is short, begins another.
func (p *PilotCommit) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	p.settle(b)
	p.failed = len(p.trained) < p.batch && p.cap > 0 && p.ticks == p.cap
	if len(p.trained) < p.batch && !p.failed {
		p.loadPilots(b)
		p.popCommits(b, r)
		p.ticks++
	}
	for _, x := range p.pilots {
		ask = append(ask, rollout.Request{X: x, N: p.pilot})
	}
	for _, c := range p.commits {
		ask = append(ask, rollout.Request{X: c.x, N: p.commit})
	}
	if len(p.pilots)+len(p.commits) == 0 {
		p.finish(b)
	}
	return ask
}

// settle files the pilots of the last tick and adds its commits to the partial
// batch.
func (p *PilotCommit) settle(b *rollout.Batch) {
	for _, x := range p.pilots {
		mean := float64(b.S[x]) / float64(b.N[x])
		if mean >= p.lower && mean <= 1-p.upper {
			p.buffer = append(p.buffer, piloted{b.ID[x], b.S[x], p.step})
		}
		if p.evict > 0 && mean >= p.evict {
			p.evicted[b.ID[x]] = true // an epoch serves a prompt once
		}
	}
	for _, c := range p.commits {
		c.s += b.S[c.x] - c.before
		p.trained = append(p.trained, c)
	}
	p.pilots, p.commits = p.pilots[:0], p.commits[:0]
}

// loadPilots takes the new prompts of a tick.
func (p *PilotCommit) loadPilots(b *rollout.Batch) {
	for len(p.pilots) < p.gen*p.batch && b.Set.Load(1) == 1 {
		if b.Set.Epoch() != p.epoch {
			p.epoch = b.Set.Epoch()
			p.endEpoch()
		}
		if x := b.Len() - 1; !p.evicted[b.ID[x]] {
			p.pilots = append(p.pilots, x)
		}
	}
}

// endEpoch clears what does not outlive an epoch.
func (p *PilotCommit) endEpoch() {
	if len(p.trained) > 0 {
		p.ticks = 0
	}
	p.pilots, p.trained, p.buffer = p.pilots[:0], p.trained[:0], p.buffer[:0]
}

// popCommits takes from the buffer as many prompts as the batch lacks.
func (p *PilotCommit) popCommits(b *rollout.Batch, r *rand.Rand) {
	n := min(p.batch-len(p.trained), len(p.buffer))
	if n < len(p.buffer) {
		p.toFront(n, r)
	}
	for _, e := range p.buffer[:n] {
		x := b.Set.Admit(e.id)
		kept, _, _ := MaxVarianceBinary(p.pilot, e.s, p.effective)
		p.commits = append(p.commits, committed{x, kept, b.S[x]})
	}
	p.buffer = slices.Delete(p.buffer, 0, n)
}

// toFront brings the n prompts that leave the buffer to its front.
func (p *PilotCommit) toFront(n int, r *rand.Rand) {
	if p.byVariance {
		slices.SortStableFunc(p.buffer, func(a, b piloted) int {
			return cmp.Or(
				cmp.Compare(min(b.s, p.pilot-b.s), min(a.s, p.pilot-a.s)),
				cmp.Compare(b.step, a.step),
			)
		})
		return
	}
	for i := range n {
		j := i + r.IntN(len(p.buffer)-i)
		p.buffer[i], p.buffer[j] = p.buffer[j], p.buffer[i]
	}
}

// finish writes down the update.
func (p *PilotCommit) finish(b *rollout.Batch) {
	u := &p.update
	u.Prompts, u.Failed = u.Prompts[:0], p.failed
	u.N = append(u.N[:0], make([]int, b.Len())...)
	u.S = append(u.S[:0], make([]int, b.Len())...)
	for _, c := range p.trained {
		u.Prompts = append(u.Prompts, c.x)
		u.N[c.x], u.S[c.x] = p.effective+p.commit, c.s
	}
}

// Update implements Strategy.
func (p *PilotCommit) Update() Update { return p.update }

// Observe implements Learner: the step is over.
func (p *PilotCommit) Observe(*rollout.Batch) {
	p.buffer = slices.DeleteFunc(p.buffer, func(e piloted) bool { return p.step-e.step > p.staleness })
	p.step++
}

// PilotCommitCost returns the rollouts of a Pilot-Commit step of one tick with
// a full buffer, batch*(gen*pilot + commit). It takes that much step by step
// only where pilots pass with a probability of at least 1/gen.
func PilotCommitCost(batch, gen, pilot, commit int) int { return batch * (gen*pilot + commit) }

// PilotPass returns the probability that a prompt with success probability p
// in [0, 1] passes a pilot of n >= 1 rollouts: P(lower <= Bin(n, p)/n <=
// 1-upper), with the bounds compared in floating point as the release does.
func PilotPass(p float64, n int, lower, upper float64) float64 {
	pass := 0.
	for k := range n + 1 {
		if mean := float64(k) / float64(n); mean >= lower && mean <= 1-upper {
			pass += distributions.BinomialProbability(n, k, p)
		}
	}
	return pass
}
