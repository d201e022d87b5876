package strategy

import (
	"fmt"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/lookahead"
	"vigorlab/sim/rollout"
)

// Lookahead spends exactly g rollouts a prompt of the batch, in so many rounds,
// where they make most first-order progress: E[G sigma u]/E[G], rewards in {-1,
// 1} (OWN; theory.md, section 4.6).
//
// VIGOR ranks prompts by what they have shown and gives all that stay the same,
// so a pair of rewards decides, mostly by lot, who is left for ever. Here every
// round asks each prompt for what a dynamic program over the rounds to come finds
// best for its own s successes of n (lookahead.Plan): a mixed pair gets more, a
// prompt that failed or solved both may be asked again before it is given up, and
// nobody gets more than max. The law of difficulty that the program needs is learnt in
// the batch: after every round, by Bayes' rule over all counts so far, a mixture
// of the Beta laws of lookahead.Grid that were equally likely before. That the
// groups were chosen by outcomes does not matter to a likelihood. The price of a
// rollout is the one at which the prompts, as they stand, spend what is left.
//
//	round 1     first rollouts of every prompt
//	round t     what lookahead.Plans ask, rounds-t more rounds to come; a lot
//	            decides between prompts at a tie, so that all is spent
//	last round  the rest: partial groups and what nobody has use for by lot
//
// What is a theorem: for a batch without end, a law among those of the grid and
// first >= 2, which tells it, no way to spend g a prompt in so many rounds has
// more progress, if it starts with first rollouts of every prompt, sees outcomes
// only, gives nobody more than max, and trains on all that it generates without
// weights. What is not: a finite batch learns its law with errors; other laws are
// met by the nearest of the grid; and the progress of a step is not the time of a
// training run.
//
// Where it does not help:
//
//   - Small batches learn little of the law. On uniform prompts, where VIGOR's
//     default is near the best, it has less progress than VIGOR in batches of 8 to
//     32 prompts, as much in those of 64 and more in larger ones.
//   - Prompts that are alike: there is nothing to find, and fixed groups of max on
//     fewer prompts have more progress.
//   - Two rounds are too few for first=2; take first=3 or more. One round is fixed
//     groups.
//   - A larger max buys more progress on fewer prompts. At 30, VIGOR's largest
//     group, (E G)^2/E[G^2] is often below VIGOR's 0.43; max=24 keeps it above.
//   - Hard prompts: fewer of them are hit than under VIGOR. Averaged over prompts
//     and not over rollouts there is less signal than in fixed groups, as with
//     VIGOR.
//
// No loss is reweighted and the update uses the rollouts that chose the prompts,
// as VIGOR's does with reuse=true. So given its size a group's mean reward is
// biased (theory.md, section 4.5), and its sample variance too, which falls short
// by some percent on average over rollouts: a prompt that has shown less than it
// has is not asked again. Progress counts what an update really does with the
// rewards it has, not an estimate that this could flatter.
//
// A round takes time O(rounds max^3), whatever the batch (BenchmarkSelectLookahead).
type Lookahead struct {
	plan lookahead.Parameters

	grid   *lookahead.Grid
	prior  lookahead.Prior
	mass   []float64 // prompts by outcomes, by lookahead.Cell
	plans  lookahead.Plans
	left   int   // rounds after this one
	n      []int // what this round asks
	serial []int // the prompts in random order
}

var _ Budgeter = (*Lookahead)(nil)

var lookaheadKind = kind{
	info: Info{
		Name: "lookahead",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", lookahead.MostRollouts), "rollouts a prompt of the batch on average"},
			{"first", "2", "a whole number in [1, g]", "rollouts of every prompt in round 1"},
			{"rounds", "4", fmt.Sprintf("a whole number in [1, %d]", lookahead.MostRounds), "rounds, at most"},
			{"max", "30", fmt.Sprintf("a whole number in [g, %d]", lookahead.MostRollouts), "rollouts that a prompt gets at most; 30 is VIGOR's largest group"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
		Provenance:   "own",
		Source:       "the most progress by a dynamic program, under a law of difficulty learnt in the batch",
		Taxonomy:     budgetsInRounds,
	},
	parse:    parseLookahead,
	spending: lookaheadSpending,
}

// lookaheadSpending scales the first round and the largest group as VIGOR's are.
func lookaheadSpending(g, _ int) string {
	g = min(g, lookahead.MostRollouts)
	most := min(max(g, 15*g/4), lookahead.MostRollouts)
	return fmt.Sprintf("lookahead:g=%d,first=%d,max=%d", g, max(1, g/4), most)
}

func parseLookahead(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	var p lookahead.Parameters
	p.Group = a.Int("g", 8, 1, lookahead.MostRollouts)
	p.First = a.Int("first", min(2, p.Group), 1, p.Group)
	p.Rounds = a.Int("rounds", 4, 1, lookahead.MostRounds)
	p.Max = a.Int("max", max(30, p.Group), p.Group, lookahead.MostRollouts)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return &Lookahead{plan: p}, nil
}

// Plan returns the parameters.
func (l *Lookahead) Plan() lookahead.Parameters { return l.plan }

// Spec implements Strategy.
func (l *Lookahead) Spec() string {
	return fmt.Sprintf("lookahead:g=%d,first=%d,rounds=%d,max=%d", l.plan.Group, l.plan.First, l.plan.Rounds, l.plan.Max)
}

// Capabilities implements Strategy.
func (l *Lookahead) Capabilities() Capabilities { return lookaheadKind.info.Capabilities }

// Budget implements Budgeter.
func (l *Lookahead) Budget(batch int) int { return l.plan.Group * batch }

// Start implements Strategy; any batch will do.
func (l *Lookahead) Start(int) error {
	if l.grid != nil {
		return nil
	}
	grid, err := lookahead.NewGrid(l.plan.Max)
	l.grid, l.mass = grid, make([]float64, lookahead.Cells(l.plan.Max))
	return err
}

// Next asks the first rollouts, then those of the plans. A round in which nobody
// should be asked anything, since all can wait for the next, is left out.
func (l *Lookahead) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == 0 {
		l.left = l.plan.Rounds - 1
		if l.left == 0 {
			return askAll(ask, b.Len(), l.plan.Group)
		}
		return askAll(ask, b.Len(), l.plan.First)
	}
	budget := l.count(b)
	if budget == 0 {
		return ask
	}
	l.grid.Learn(&l.prior, l.mass)
	for before := len(ask); l.left > 0 && len(ask) == before; l.left-- {
		l.plans.Find(&l.prior, l.left, l.plan.First, l.mass, float64(budget))
		l.choose(b, float64(budget), r)
		if l.left == 1 {
			l.topUp(b, budget)
		}
		ask = askGroups(ask, l.n)
	}
	return ask
}

// Update implements Strategy: every group is trained on.
func (l *Lookahead) Update() Update { return Update{} }

// count sorts the prompts by outcomes and returns the rollouts that are left of
// the budget.
func (l *Lookahead) count(b *rollout.Batch) (budget int) {
	budget = l.Budget(b.Len())
	clear(l.mass)
	for x, n := range b.N {
		budget -= n
		l.mass[lookahead.Cell(n, b.S[x])]++
	}
	return budget
}

// choose fills n with what the plan of the high price asks, and with what that
// of the low one asks of as many prompts, in random order, as can spend the rest
// in this and later rounds. So it never asks more than is left: no plan asks
// more than it expects to spend.
func (l *Lookahead) choose(b *rollout.Batch, budget float64, r *rand.Rand) {
	low, high := &l.plans.Low, &l.plans.High
	l.n = l.n[:0]
	for x, n := range b.N {
		l.n = append(l.n, high.Ask(n, b.S[x]))
		budget -= high.Spend(n, b.S[x])
	}
	l.serial = randomRanks(l.serial, b.Len(), r)
	for _, x := range l.serial {
		n, s := b.N[x], b.S[x]
		if more := low.Spend(n, s) - high.Spend(n, s); more > 0 && more <= budget {
			l.n[x] = low.Ask(n, s)
			budget -= more
		}
	}
}

// topUp hands out what the last round would leave: first to prompts of which the
// plan of the low price asks more than they got, then to any that have room.
func (l *Lookahead) topUp(b *rollout.Batch, budget int) {
	for _, n := range l.n {
		budget -= n
	}
	give := func(upTo func(x int) int) {
		for _, x := range l.serial {
			more := min(budget, max(0, upTo(x)-l.n[x]))
			l.n[x] += more
			budget -= more
		}
	}
	give(func(x int) int { return l.plans.Low.Ask(b.N[x], b.S[x]) })
	give(func(x int) int { return l.plan.Max - b.N[x] })
}
