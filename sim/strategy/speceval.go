package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// SpecEval is the two-stage policy of Speculative Evaluation (HBN, arXiv
// 2609.28560; ShenQianli/SpecEval [code]), made for estimating a mean score:
// round 1 gives every prompt a pilot, round 2 divides the rest of exactly b
// rollouts a prompt so as to minimise sum s_i/L_i, L_i >= 1, with s_i the
// expected p(1-p) after the pilot (HBN.Scores, NeymanIntegers). The pilot is
// NewSpecEvalDesign's, chosen before any rollout.
//
// As an estimator its unbiasedness rests on TwoStageMean, which weighs the
// pilot by a constant (see Design). As a training strategy, which is this
// project's use of it, all rollouts of a prompt are one group, whose size
// depends on its pilot.
//
// Equal scores are common, since equal counts have them. The released code
// hands the last rollouts to those of the tied prompts that stand first
// (ties=index); ties=random draws an order anew for every batch. Its
// asynchronous variant allocates the same and is not built.
type SpecEval struct {
	b     int
	pilot int // 0 for auto
	ties  string

	m, designed int // the pilot, and the batch it was chosen for
	hbn         *HBN
	tasks       []int // by count
	scores      []float64
	score       []float64 // by prompt
	l, rank     []int
}

var _ Budgeter = (*SpecEval)(nil)

const (
	// autoBudget bounds the search for a pilot, which takes seconds there.
	autoBudget = 64
	// autoDraws makes the standard error of the risk about .002.
	autoDraws = 4
)

var specEvalKind = kind{
	info: Info{
		Name: "speceval",
		Parameters: []Parameter{
			{"b", "8", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts a prompt, on average exactly"},
			{"pilot", "auto", fmt.Sprintf("auto (b up to %d), or a whole number in [1, b-1]", autoBudget), "rollouts of every prompt in round 1; auto is of least expected risk"},
			{"ties", tiesIndex, "index, random", "who of equal scores gets the last rollouts"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "code",
		Source:       "Speculative Evaluation (HBN), arXiv 2609.28560; ShenQianli/SpecEval, core.py and design.py; its use in training is ours",
		Taxonomy:     PlacedByTaxonomy(LeverAlgorithmic, FamilyEvaluation, none, PaidDuring),
	},
	parse: parseSpecEval,
	spending: func(g, _ int) string {
		if g > autoBudget {
			return fmt.Sprintf("speceval:b=%d,pilot=%d", g, largePilot(g))
		}
		return fmt.Sprintf("speceval:b=%d", max(2, g))
	},
}

// largePilot returns b^(2/3), rounded, the pilot of a budget that auto does not
// search. The published pilots 4, 6, 10 and 16 of b = 8, 16, 32 and 64 are all
// this; at N = 30 its risk is within .002 of the least that SpecEvalDesignAt
// finds for b = 128 and 1000.
func largePilot(b int) int { return int(math.Round(math.Pow(float64(b), 2./3))) }

func parseSpecEval(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	e := &SpecEval{
		b:    a.Int("b", 8, 2, schedule.MaxGroup),
		ties: a.Choice("ties", tiesIndex, tiesIndex, tiesRandom),
	}
	e.pilot = parsePilot(a, e.b)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// parsePilot reads the pilot, 0 for auto.
func parsePilot(a *spec.Args, b int) int {
	text, given := a.Text("pilot")
	if !given {
		text = "auto"
	}
	if text == "auto" && b <= autoBudget {
		return 0
	}
	m, err := strconv.Atoi(text)
	if err == nil && m >= 1 && m < b {
		return m
	}
	want := fmt.Sprintf("auto or a whole number in [1, %d]", b-1)
	if b > autoBudget {
		want = fmt.Sprintf("a whole number in [1, %d] (auto is for b up to %d)", b-1, autoBudget)
	}
	a.Fault("pilot", text, want)
	return 0
}

// Spec implements Strategy.
func (e *SpecEval) Spec() string {
	pilot := "auto"
	if e.pilot > 0 {
		pilot = strconv.Itoa(e.pilot)
	}
	return fmt.Sprintf("speceval:b=%d,pilot=%s,ties=%s", e.b, pilot, e.ties)
}

// Capabilities implements Strategy.
func (e *SpecEval) Capabilities() Capabilities { return specEvalKind.info.Capabilities }

// Budget implements Budgeter: b rollouts a prompt.
func (e *SpecEval) Budget(batch int) int { return e.b * batch }

// Design returns the schedule for a batch of the given size: the pilot, and the
// constant weight that TwoStageMean is to give it.
func (e *SpecEval) Design(batch int) SpecEvalDesign {
	if e.pilot > 0 {
		return SpecEvalDesignAt(batch, e.b, e.pilot, autoDraws)
	}
	return NewSpecEvalDesign(batch, e.b, autoDraws)
}

// Start implements Strategy. It chooses the pilot where the size is new.
func (e *SpecEval) Start(batch int) error {
	if e.designed == batch {
		return nil
	}
	m := e.pilot
	if m == 0 {
		m = e.Design(batch).Pilot
	}
	if e.hbn == nil || m != e.m {
		e.hbn, e.tasks = NewHBN(m), make([]int, m+1)
	}
	e.m, e.designed = m, batch
	return nil
}

// Next asks the pilots, then the continuations.
func (e *SpecEval) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	switch b.Round {
	case 0:
		return askAll(ask, b.Len(), e.m)
	case 1:
		e.divide(b, r)
		return askGroups(ask, e.l)
	}
	return ask
}

// divide fills e.l with the continuations.
func (e *SpecEval) divide(b *rollout.Batch, r *rand.Rand) {
	clear(e.tasks)
	for _, k := range b.S {
		e.tasks[k]++
	}
	e.scores = e.hbn.Scores(e.tasks, e.scores)
	e.score, e.l = e.score[:0], e.l[:0]
	for _, k := range b.S {
		e.score = append(e.score, e.scores[k])
		e.l = append(e.l, 1)
	}
	e.rank = tieRanks(e.rank, b.Len(), e.ties, r)
	NeymanIntegers(e.score, b.Len()*(e.b-e.m), e.rank, e.l)
}

// Update implements Strategy: every group is trained on.
func (e *SpecEval) Update() Update { return Update{} }
