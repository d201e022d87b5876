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

// SERA spends exactly n rollouts a prompt of the batch so that MaxRL's
// likelihood gradient is shrunk alike on all of them (SERA, arXiv 2609.36552;
// [code] read in ChenZihao0121/SERA, verl/trainer/ppo/SERA.py and
// ray_trainer.py): the max-min of MaxRLFidelity over the prompts that can give
// a mixed group.
//
// A prompt's success probability is the mean of a discounted Beta: at every
// epoch's end a <- prior + discount (a - prior) + successes of the epoch, b
// likewise, and the means stand for the whole next epoch. A batch where some
// prompt has none yet gets n each. (The code's loader drops a last part batch;
// here it is filled from the next epoch and counts to that.)
//
// Active set: prompts in order of their probability of a mixed group at max
// rollouts, ties by the batch's order, which is random; a binary search finds
// how many of them can share the whole budget at equal fidelity and all have a
// mixed group with probability threshold at least: the most that can, but for
// the rounding to whole groups. The others get nothing.
// Where too few pass to take the budget under max, the best are forced in.
//
// weights=true weights every rollout n/N of its prompt's N, so that unequal
// groups leave the sum over prompts as it is. Ablations, as in the code:
// mode=equalized (no active set), mode=fixed (n each), weights=false,
// coverage=true (weights divided by the active prompts' mean probability of a
// success); p=truth allocates by the true probabilities, from the first step.
type SERA struct {
	spec              string
	n, least, most    int
	threshold         float64
	prior             posterior
	discount          float64
	mode              string
	weights, coverage bool
	truth             bool

	epoch int
	seen  []discounted // by prompt of the set
	exact []float64    // the truth, by place

	p       []float64
	asked   []int
	active  []int // places that got rollouts
	score   []float64
	ranked  []int
	subset  []float64
	weight  []float64
	rounded rounding
}

// discounted is the evidence on a prompt.
type discounted struct {
	posterior               // of finished epochs
	pendingN, pendingS int  // rollouts and successes of the running one
	known              bool // a finished epoch has seen it
}

var (
	_ Budgeter  = (*SERA)(nil)
	_ Learner   = (*SERA)(nil)
	_ Believer  = (*SERA)(nil)
	_ TruthSeer = (*SERA)(nil)
)

const (
	seraActive    = "active"
	seraEqualized = "equalized"
	seraFixed     = "fixed"
)

// seraSlack forgives rounding where a mixed group's probability is compared
// with the threshold, as in the code.
const seraSlack = 1e-12

var seraKind = kind{
	info: Info{
		Name: "sera",
		Parameters: []Parameter{
			{"n", "16", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "mean rollouts of a prompt, and those of a prompt without history"},
			{"min", "2", "a whole number in [1, n]", "rollouts of an active prompt, at least"},
			{"max", "64", fmt.Sprintf("a whole number in [n, %d]", schedule.MaxGroup), "at most"},
			{"threshold", "0.05", "[0, 1]", "probability of a mixed group that an active prompt needs"},
			{"prior", "0.5", "(0, 1000]", "both parameters of the Beta prior"},
			{"discount", "0.75", "[0, 1]", "what an epoch leaves of the evidence before it"},
			{"mode", seraActive, "active, equalized, fixed", "active set and equal fidelity, equal fidelity alone, or n each"},
			{"weights", "true", "true, false", "whether a rollout weighs n/N in a group of N; false where groups are averaged over prompts"},
			{"coverage", "false", "true, false", "whether weights are divided by the mean probability of a success"},
			{"p", "history", "history, truth", "success probabilities that allocate; only truth is handed the true ones"},
		},
		Capabilities: Capabilities{History: true, ChangesLoss: true, ExactBudget: true},
		Provenance:   "code",
		Source:       "SERA, arXiv 2609.36552; ChenZihao0121/SERA, SERA.py",
		Taxonomy:     taxonomyBudgets,
	},
	parse: parseSera,
	spending: func(g, _ int) string {
		return fmt.Sprintf("sera:n=%d,min=%d,max=%d", g, min(g, max(2, g/8)), min(4*g, schedule.MaxGroup))
	},
}

func parseSera(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	e := &SERA{n: a.Int("n", 16, 1, schedule.MaxGroup)}
	e.least = a.Int("min", min(2, e.n), 1, e.n)
	e.most = a.Int("max", max(64, e.n), e.n, schedule.MaxGroup)
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	e.threshold = a.Float("threshold", 0.05, "[0, 1]", share)
	e.prior.a = a.Float("prior", 0.5, "(0, 1000]", func(x float64) bool { return x > 0 && x <= 1000 })
	e.prior.b = e.prior.a
	e.discount = a.Float("discount", 0.75, "[0, 1]", share)
	e.mode = a.Choice("mode", seraActive, seraActive, seraEqualized, seraFixed)
	e.weights = a.Choice("weights", "true", "true", "false") == "true"
	e.coverage = a.Choice("coverage", "false", "true", "false") == "true"
	e.truth = a.Choice("p", "history", "history", "truth") == "truth"
	e.spec = a.Normal().String()
	if err := a.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// MaxRLFidelity returns kappa = 1 - (1-p)^(n-1), for p in [0, 1] and n >= 1:
// the centred MaxRL gradient of n rollouts, sum_i (r_i/K - 1/n) S_i if K > 0 of
// them succeed and 0 otherwise, has mean kappa times the gradient of log p
// (arXiv 2609.36552).
func MaxRLFidelity(p float64, n int) float64 {
	return -math.Expm1(float64(n-1) * math.Log1p(-p))
}

// Waterline solves the equal-fidelity allocation with real group sizes: it
// fills n, of len(p), with clip(1 + tau/lambda, least, most), lambda =
// -ln(1-p), which sum to budget, and returns tau; the prompts that no bound
// holds have fidelity 1 - e^-tau. p lies in (0, 1); budget in
// [least, most]*len(p). tau is found by bisection of its logarithm (arXiv
// 2609.36552, as coded). At budget = least*len(p) every tau up to the returned
// one will do.
func Waterline(p []float64, budget, least, most int, n []float64) (tau float64) {
	low, high := math.Inf(1), 0.0 // extremes of lambda
	inverse := make([]float64, len(p))
	for i, p := range p {
		lambda := -math.Log1p(-p)
		low, high = min(low, lambda), max(high, lambda)
		inverse[i] = 1 / lambda
	}
	fill := func(lnTau float64) (sum float64) {
		tau := math.Exp(lnTau)
		for i, inverse := range inverse {
			n[i] = clip(1+tau*inverse, float64(least), float64(most))
			sum += n[i]
		}
		return sum
	}
	from := math.Log(max(math.SmallestNonzeroFloat64, float64(least-1)*low))
	to := math.Log(max(math.SmallestNonzeroFloat64, float64(most-1)*high))
	return math.Exp(waterline(from, to, float64(budget), fill))
}

// rounding holds the buffers of equalize.
type rounding struct {
	real  []float64
	order []int
	error []float64
}

// equalize fills n with whole group sizes in [least, most] that sum to budget:
// the floors of Waterline and one rollout more for the prompts where it changes
// (fidelity - target)^2 least, ties by place; the target is 1 - e^-tau (arXiv
// 2609.36552, as coded).
func (f *rounding) equalize(p []float64, budget, least, most int, n []int) {
	f.real = resize(f.real, len(p))
	target := -math.Expm1(-Waterline(p, budget, least, most, f.real))
	f.order, f.error = f.order[:0], resize(f.error, len(p))
	for i, real := range f.real {
		n[i] = int(real)
		budget -= n[i]
		if n[i] < most {
			f.order = append(f.order, i)
		}
		now, then := MaxRLFidelity(p[i], n[i])-target, MaxRLFidelity(p[i], n[i]+1)-target
		f.error[i] = then*then - now*now
	}
	slices.SortFunc(f.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(f.error[i], f.error[j]), cmp.Compare(i, j))
	})
	for _, i := range f.order[:budget] {
		n[i]++
	}
}

// resize returns a slice of length n, the old one where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Spec implements Strategy.
func (e *SERA) Spec() string { return e.spec }

// Capabilities implements Strategy.
func (e *SERA) Capabilities() Capabilities {
	c := seraKind.info.Capabilities
	c.FirstEpoch, c.Truth = e.truth, e.truth
	c.ChangesLoss = e.weights || e.coverage
	return c
}

// Begin implements Learner.
func (e *SERA) Begin(prompts int) {
	e.seen, e.epoch = slices.Repeat([]discounted{{posterior: e.prior}}, prompts), 0
}

// Start implements Strategy; any batch will do.
func (e *SERA) Start(int) error { return nil }

// SeeTruth implements TruthSeer. The engine calls it for p=truth alone.
func (e *SERA) SeeTruth(p []float64) { e.exact = append(e.exact[:0], p...) }

// Budget implements Budgeter.
func (e *SERA) Budget(batch int) int { return e.n * batch }

// Next asks the whole allocation in one round.
func (e *SERA) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	for ; e.epoch < b.Set.Epoch(); e.epoch++ {
		e.endEpoch()
	}
	e.allocate(e.probabilities(b.ID), b.Len())
	e.active = e.active[:0]
	for x, n := range e.asked {
		if n > 0 {
			e.active = append(e.active, x)
		}
	}
	return askGroups(ask, e.asked)
}

// Update implements Strategy: the active prompts are trained on.
func (e *SERA) Update() Update {
	u := Update{Prompts: e.active}
	if e.weights || e.coverage {
		u.Weights = e.weight
	}
	return u
}

// Observe implements Learner.
func (e *SERA) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		e.seen[id].pendingN += b.N[x]
		e.seen[id].pendingS += b.S[x]
	}
}

// endEpoch takes the running epoch's outcomes into the evidence.
func (e *SERA) endEpoch() {
	for id := range e.seen {
		d := &e.seen[id]
		d.fade(e.prior, e.discount)
		d.add(d.pendingN, d.pendingS)
		d.known = d.known || d.pendingN > 0
		d.pendingN, d.pendingS = 0, 0
	}
}

// Belief implements Believer: the mean that stands for the running epoch.
func (e *SERA) Belief(id int) (float64, bool) {
	return e.seen[id].mean(), e.seen[id].known
}

// probabilities returns the success probabilities that allocate, each inside
// (0, 1), or nil where one of them is not known.
func (e *SERA) probabilities(ids []int) []float64 {
	e.p = e.p[:0]
	for x, id := range ids {
		p, known := e.Belief(id)
		if e.truth {
			p, known = e.exact[x], true
		}
		if !known {
			return nil
		}
		e.p = append(e.p, min(max(p, minTruth), math.Nextafter(1, 0)))
	}
	return e.p
}

// minTruth is the smallest normal float64: 1/lambda must be finite.
const minTruth = 0x1p-1022

// allocate fills asked, and the weights, for a batch of prompts; p is nil
// where it is not known.
func (e *SERA) allocate(p []float64, batch int) {
	e.asked, e.weight = resize(e.asked, batch), resize(e.weight, batch)
	switch {
	case p == nil || e.mode == seraFixed:
		for x := range e.asked {
			e.asked[x], e.weight[x] = e.n, 1
		}
		return
	case e.mode == seraEqualized:
		e.rounded.equalize(p, e.n*batch, e.least, e.most, e.asked)
	default:
		e.activate(p)
	}
	e.weigh(p)
}

// weigh fills the weights.
func (e *SERA) weigh(p []float64) {
	covered, active := 0.0, 0.0
	for x, n := range e.asked {
		e.weight[x] = 0
		if n > 0 {
			covered += MaxRLFidelity(p[x], n+1) // 1 - (1-p)^n
			active++
			e.weight[x] = 1
			if e.weights {
				e.weight[x] = float64(e.n) / float64(n)
			}
		}
	}
	if e.coverage {
		for x := range e.weight {
			e.weight[x] *= active / covered
		}
	}
}

// activate allocates to the active prompts alone.
func (e *SERA) activate(p []float64) {
	e.rank(p)
	eligible := 0
	for _, score := range e.score {
		if score >= e.threshold {
			eligible++
		}
	}
	budget := e.n * len(p)
	needed := (budget + e.most - 1) / e.most
	best := needed
	for low, high := needed, eligible; low <= high; {
		middle := (low + high) / 2
		if e.give(p, middle, budget) {
			best, low = middle, middle+1
		} else {
			high = middle - 1
		}
	}
	e.give(p, best, budget)
}

// rank orders the prompts by their probability of a mixed group at most
// rollouts, the highest first.
func (e *SERA) rank(p []float64) {
	e.score, e.ranked = e.score[:0], e.ranked[:0]
	for x, p := range p {
		e.score = append(e.score, EffectiveProbability(p, e.most))
		e.ranked = append(e.ranked, x)
	}
	slices.SortStableFunc(e.ranked, func(x, y int) int { return cmp.Compare(e.score[y], e.score[x]) })
}

// give spends the budget on the first prompts of the ranking and reports
// whether each of them has a mixed group with the probability it needs.
func (e *SERA) give(p []float64, prompts, budget int) bool {
	e.active = append(e.active[:0], e.ranked[:prompts]...)
	slices.Sort(e.active) // ties of the rounding go by place in the batch
	e.subset = e.subset[:0]
	for _, x := range e.active {
		e.subset = append(e.subset, p[x])
	}
	given := make([]int, prompts)
	e.rounded.equalize(e.subset, budget, e.least, e.most, given)
	clear(e.asked)
	useful := true
	for i, x := range e.active {
		e.asked[x] = given[i]
		useful = useful && EffectiveProbability(p[x], given[i]) >= e.threshold-seraSlack
	}
	return useful
}
