package theory

import (
	"errors"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/lookahead"
)

// LookaheadMeanField returns the mean field of lookahead (OWN): the limit of its
// figures in large batches. frontier is c in [0, 1]; nodes >= 1, and more are
// taken for large groups as by VigorMeanField. There are no cuts, so none of
// their figures.
//
// Prompts that have shown the same are asked the same, and the number c(n, s) of
// ways to get there, those that the asking has closed left out, is free of p: a
// share c(n, s) p^s (1-p)^(n-s) of the prompts at p is there. What a round
// learns of the law depends on the shares of all prompts alone, which have no
// noise in this limit: of the Beta laws of the grid the likeliest is learnt. Nor has
// the price at which they spend what is left; between the plans of two prices that
// nothing but ties lies between, a share of the prompts follows each.
//
// With that Beta law for the law of difficulty nothing has more progress, under
// the limits that the strategy's comment names. Other laws are met by the nearest
// law of the grid.
func LookaheadMeanField(law distributions.Law, l lookahead.Parameters, frontier float64, nodes int) (*MeanField, error) {
	if err := errors.Join(l.Validate(), checkQuadrature(frontier, nodes)); err != nil {
		return nil, err
	}
	at := law.Nodes(enough(nodes, l.Max), inner(frontier)...)
	f, err := newOutcomes(at, l)
	if err != nil {
		return nil, err
	}
	if l.Rounds == 1 {
		f.step(func(int, int) int { return l.Group }, 1)
		f.turn()
		return f.figures(at), nil
	}
	f.step(func(int, int) int { return l.First }, 1)
	f.turn()
	for left := l.Rounds - 1; left > 0; left-- {
		f.plan(left)
	}
	return f.figures(at), nil
}

// outcomes is an infinite batch on its way through the rounds, by successes s of
// n rollouts.
type outcomes struct {
	l          lookahead.Parameters
	law        *lookahead.Prior // the truth
	grid       *lookahead.Grid
	ways, next []float64 // c(n, s) now and after this round, by lookahead.Cell
}

func newOutcomes(nodes []distributions.Node, l lookahead.Parameters) (*outcomes, error) {
	var p, w []float64
	for _, n := range nodes {
		p, w = append(p, n.P), append(w, n.W)
	}
	law, err := lookahead.Atoms(p, w, l.Max)
	if err != nil {
		return nil, err
	}
	grid, err := lookahead.NewGrid(l.Max)
	if err != nil {
		return nil, err
	}
	f := &outcomes{l: l, law: law, grid: grid}
	f.ways, f.next = make([]float64, lookahead.Cells(l.Max)), make([]float64, lookahead.Cells(l.Max))
	f.ways[0] = 1
	return f, nil
}

// plan lets the prompts spend what the plans ask, with so many rounds left.
func (f *outcomes) plan(rounds int) {
	mass, budget := make([]float64, len(f.ways)), float64(f.l.Group)
	f.each(func(n, s int, ways float64) {
		mass[lookahead.Cell(n, s)] = ways * f.law.Moment(n, s)
		budget -= mass[lookahead.Cell(n, s)] * float64(n)
	})
	if !(budget > 1e-12) {
		return
	}
	var prior lookahead.Prior
	var plans lookahead.Plans
	f.grid.LearnAll(&prior, mass)
	plans.Find(&prior, rounds, f.l.First, mass, budget)
	low, high := plans.Low.Total(mass, f.l.First), plans.High.Total(mass, f.l.First)
	share := 0.0 // of the prompts that follow the low price
	if low > high {
		share = min(max((budget-high)/(low-high), 0), 1)
	}
	f.step(plans.High.Ask, 1-share)
	f.step(plans.Low.Ask, share)
	f.turn()
}

// step asks a share of the prompts.
func (f *outcomes) step(ask func(n, s int) int, share float64) {
	if share == 0 {
		return
	}
	f.each(func(n, s int, ways float64) {
		m := ask(n, s)
		choose := ways * share // times C(m, k)
		for k := range m + 1 {
			f.next[lookahead.Cell(n+m, s+k)] += choose
			choose *= float64(m-k) / float64(k+1)
		}
	})
}

// turn ends a round.
func (f *outcomes) turn() {
	f.ways, f.next = f.next, f.ways
	clear(f.next)
}

// each visits the outcomes that some prompt has shown.
func (f *outcomes) each(visit func(n, s int, ways float64)) {
	for n := range f.l.Max + 1 {
		for s := range n + 1 {
			if ways := f.ways[lookahead.Cell(n, s)]; ways > 0 {
				visit(n, s, ways)
			}
		}
	}
}

// figures integrates over the nodes.
func (f *outcomes) figures(nodes []distributions.Node) *MeanField {
	sizes := make([]bool, f.l.Max+1)
	f.each(func(n, _ int, _ float64) { sizes[n] = true })
	m := new(MeanField)
	place := make([]int, len(sizes))
	for n, met := range sizes {
		if met {
			place[n] = len(m.GroupSizes)
			m.GroupSizes = append(m.GroupSizes, SizeShare{Size: n})
		}
	}
	mass, meanU, meanGU := 0.0, 0.0, 0.0
	for _, node := range nodes {
		u := distributions.U(node.P)
		at := NodeRollouts{P: node.P, W: node.W, Shares: make([]float64, len(m.GroupSizes))}
		f.each(func(n, s int, ways float64) {
			x := ways * math.Pow(node.P, float64(s)) * math.Pow(1-node.P, float64(n-s))
			at.Shares[place[n]] += x
			at.Rollouts += x * float64(n)
			at.Signal += x * float64(n) * GroupSigma(n, s)
			at.SignalPromptMean += x * GroupSigma(n, s)
			if s == 0 || s == n {
				m.Ineffective += node.W * x * float64(n)
				m.ZeroVarianceGroups += node.W * x
			}
		})
		for i, x := range at.Shares {
			m.GroupSizes[i].Share += node.W * x
			mass += node.W * x
		}
		m.Rollouts += node.W * at.Rollouts
		m.Signal += node.W * at.Signal
		m.SignalPromptMean += node.W * at.SignalPromptMean
		m.Progress += node.W * at.Signal * u
		m.ProgressPromptMean += node.W * at.SignalPromptMean * u
		meanU += node.W * u
		meanGU += node.W * at.Rollouts * u
		m.Allocation = append(m.Allocation, at)
	}
	m.MassError = math.Abs(mass - 1)
	m.Trained, m.MeanGroup = m.Rollouts, m.Rollouts
	m.Ineffective /= m.Rollouts
	m.Signal /= m.Rollouts
	m.Progress /= m.Rollouts
	m.Eta = ratio(meanGU, m.Rollouts*meanU)
	m.EtaGenerated = m.Eta
	return m
}
