package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// DAPO draws prompts until enough groups have both outcomes: dynamic sampling
// (DAPO, arXiv 2503.14476). Every prompt gets one group of n rollouts; a group
// is kept where low < mean reward < high (binary coding), and the update uses
// the first B groups kept, in order of arrival.
//
// With mode=batch every round takes gen*B prompts, as verl's recipe/dapo does
// [code]: what is kept beyond B is thrown away, a group of one rollout is
// kept whatever its mean (verl keeps by a positive standard deviation or a
// single response; low and high are ours there), and where cap rounds have not
// filled the batch the code stops with an error (Update.Failed). DAPOBatches
// is the mean number of rounds. The recipe's configuration has cap=0, its
// scripts 10.
//
// With mode=stream every rejected prompt is replaced by one new prompt, as
// OpenRLHF does [code]: a step costs a negative binomial number of groups,
// B/s on average where a group is kept with probability s. A round is a wave
// of replacements, so rounds overstate the latency of a server that replaces
// at once.
//
// Where the prompt set is exhausted the update is what was kept, as in
// OpenRLHF; verl goes on with the next epoch. An epoch's end does not clear
// the partial batch.
type DAPO struct {
	n, gen, cap int
	stream      bool
	low, high   float64
	spec        string

	batch  int
	judged int   // prompts of the batch whose groups have been judged
	kept   []int // batch indices in order of arrival; not nil, which would stand for all
	failed bool
}

var _ Strategy = (*DAPO)(nil)

var dapoKind = kind{
	info: Info{
		Name: "dapo",
		Parameters: []Parameter{
			{"mode", "batch", "batch, stream", "rounds of gen*B prompts, or a new prompt for every rejected one"},
			{"n", "16", fmt.Sprintf("a whole number in [1, %d]; at least 2 for mode=stream", schedule.MaxGroup), "rollouts of every prompt"},
			{"gen", "3", "a whole number in [1, 1024]; mode=batch only", "prompts of a round for each one of the batch"},
			{"cap", "0", "a whole number in [0, 10000]", "rounds after which the run stops with an error, 0 for never"},
			{"low", "0", "[0, 1)", "a group is kept where its mean reward passes this"},
			{"high", "1", "(low, 1]", "and is below this"},
		},
		Capabilities: Capabilities{FirstEpoch: true, PicksPrompts: true},
		Provenance:   "code",
		Source:       "DAPO, arXiv 2503.14476; verl recipe/dapo (mode=batch), OpenRLHF (mode=stream)",
		Taxonomy:     selectsAfter,
	},
	parse:    parseDAPO,
	spending: func(g, _ int) string { return fmt.Sprintf("dapo:n=%d", g) },
}

func parseDAPO(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	d := &DAPO{stream: a.Choice("mode", "batch", "batch", "stream") == "stream", kept: []int{}}
	least := 1
	if d.stream {
		least = 2 // a single rollout never has both outcomes
	}
	d.n = a.Int("n", 16, least, schedule.MaxGroup)
	if !d.stream {
		d.gen = a.Int("gen", 3, 1, 1024)
	} else if text, given := a.Text("gen"); given {
		a.Fault("gen", text, "none with mode=stream")
	}
	d.cap = a.Int("cap", 0, 0, 10_000)
	d.low = a.Float("low", 0, "[0, 1)", func(x float64) bool { return x >= 0 && x < 1 })
	d.high = a.Float("high", 1, "(low, 1]", func(x float64) bool { return !(x <= d.low) && x > 0 && x <= 1 })
	if err := a.Err(); err != nil {
		return nil, err
	}
	d.spec = a.Normal().String()
	return d, nil
}

// Spec implements Strategy.
func (d *DAPO) Spec() string { return d.spec }

// Capabilities implements Strategy.
func (d *DAPO) Capabilities() Capabilities { return dapoKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (d *DAPO) Start(batch int) error {
	d.batch, d.judged, d.kept, d.failed = batch, 0, d.kept[:0], false
	return nil
}

// Next judges the groups of the last round and, while the batch is short, asks
// groups of further prompts.
func (d *DAPO) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	for ; d.judged < b.Len(); d.judged++ {
		if d.keeps(b.S[d.judged], b.N[d.judged]) {
			d.kept = append(d.kept, d.judged)
		}
	}
	missing := d.batch - len(d.kept)
	if missing <= 0 {
		return ask
	}
	if d.cap > 0 && b.Round >= d.cap {
		d.failed = true
		return ask
	}
	if !d.stream {
		missing = d.gen * d.batch
	}
	first := b.Len()
	b.Set.Load(missing)
	for x := first; x < b.Len(); x++ {
		ask = append(ask, rollout.Request{X: x, N: d.n})
	}
	return ask
}

// keeps reports whether a group with s successes of n is trained on.
func (d *DAPO) keeps(s, n int) bool {
	mean := float64(s) / float64(n)
	return n == 1 || d.low < mean && mean < d.high
}

// Update implements Strategy.
func (d *DAPO) Update() Update {
	return Update{Prompts: d.kept[:min(d.batch, len(d.kept))], Failed: d.failed}
}

// EffectiveProbability returns the probability 1 - p^n - (1-p)^n that a group
// of n >= 0 rollouts has both outcomes, for a success probability p in [0, 1];
// 0 for n < 2.
func EffectiveProbability(p float64, n int) float64 {
	if n < 2 {
		return 0
	}
	q := min(p, 1-p)
	return -math.Expm1(float64(n)*math.Log1p(-q)) - math.Pow(q, float64(n))
}

// DAPOBatches returns the mean number of rounds that DAPO takes to keep batch
// groups out of rounds of gen, each group kept with probability s in [0, 1]
// independently of the others:
//
//	E[K] = sum_{k>=0} P(Bin(k gen, s) < batch)
//
// without cap and on an endless prompt set; a step costs E[K] gen n rollouts.
// It is +Inf at s = 0 and NaN for s outside [0, 1], batch < 1 or gen < 1.
//
// Where a step takes more than 1e5 rounds and a round keeps less than 0.01
// groups the sum is its limit batch/(gen s) + (gen-1)/(2 gen), the mean of
// ceil(T/gen) for a negative binomial T that is uniform modulo gen, with a
// relative error below 1e-10.
func DAPOBatches(batch, gen int, s float64) float64 {
	if batch < 1 || gen < 1 || !(s >= 0 && s <= 1) {
		return math.NaN()
	}
	kept := float64(gen) * s // a round
	if kept == 0 {
		return math.Inf(1)
	}
	if kept < 0.01 && float64(batch)/kept > 1e5 {
		return float64(batch)/kept + float64(gen-1)/float64(2*gen)
	}
	sum := 0.
	for groups := 0; ; groups += gen {
		short := binomialBelow(groups, batch, s)
		if short < 1e-17*sum {
			return sum
		}
		sum += short
	}
}

// binomialBelow returns P(Bin(n, p) < k) for k >= 1: the regularised
// incomplete beta function I_{1-p}(n-k+1, k).
func binomialBelow(n, k int, p float64) float64 {
	if n < k {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k+1), float64(k), 1-p)
}
