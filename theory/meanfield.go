package theory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A MeanField holds the exact figures of an allocation in the limit of an
// infinite batch (theory.md, sections 0, 3.2, 4.3 and 4.6), under signed
// coding. A figure that does not exist is NaN: Eta where E[u] = 0, a screening
// figure whose condition has probability 0.
type MeanField struct {
	Rollouts     float64 // generated rollouts per prompt
	Trained      float64 // rollouts in the update per prompt
	MeanGroup    float64 // mean group after the last round, trained or not
	Eta          float64 // E[G u] / (E[G] E[u]) over trained rollouts
	EtaGenerated float64 // the same weight per generated rollout

	Signal             float64 // E[G sigma] / E[G]
	SignalPromptMean   float64 // E[sigma] over trained groups
	Ineffective        float64 // share of rollouts in groups with s = 0 or s = G
	ZeroVarianceGroups float64 // share of such groups
	Progress           float64 // E[G sigma u] / E[G], not yet relative to anything
	ProgressPromptMean float64 // E[sigma u] over trained groups

	GroupSizes []SizeShare
	Screening  []Screening // one entry a cut
	Allocation []NodeRollouts
	MassError  float64 // largest |mass - 1| met in any round
}

// A SizeShare is the share of prompts whose group has a size.
type SizeShare struct {
	Size  int
	Share float64
}

// Screening holds the errors of the cut after a round, against the frontier
// u >= c (theory.md, section 0).
type Screening struct {
	Round                   int
	FalseOmission           float64
	FalseNegative           float64
	FalseNegativeCumulative float64
}

// NodeRollouts holds what the prompts at one quadrature node get.
type NodeRollouts struct {
	P, W     float64
	Rollouts float64   // mean group
	Shares   []float64 // the law of the group: the chance of MeanField.GroupSizes[i].Size
	Signal   float64   // E[G sigma | p] over the groups of the update, 0 for the others

	SignalPromptMean float64 // E[sigma | p], likewise
}

// DefaultNodes is the number of quadrature nodes that commands use.
const DefaultNodes = 2000

// smallestShare bounds alpha^(T-1), the share of prompts that reach the last
// round: below it, products of shares and binomial tails would underflow.
const smallestShare = 1e-200

// VigorMeanField returns the mean field of VIGOR with any schedule and control
// (OWN; theory.md, section 3.2). frontier is c in [0, 1]; nodes >= 1. The
// figures integrate polynomials in p of degree G+2, G the largest group, or
// 2G+2 where groups are drawn afresh; 8(G+2) nodes are enough for either, and
// so many are taken where nodes is less.
//
// After n rollouts the sequences with s successes are equally likely whatever
// p is, so the chance that a prompt is still active given s does not depend on
// p. The mass of active prompts at (p, s) is therefore W(p) a(p) r(s) b(s; n,
// p): a quadrature weight, a share that the controls cut by p (truth, random),
// a share that the algorithm cuts by s (sample), and a binomial probability.
// Every factor is positive and nothing cancels.
//
// Errors: parameters out of range; a group that is not whole or passes
// schedule.MaxGroup; less than 1e-200 of the prompts reaching the last round.
// Rounding of cuts does not matter in this limit, nor do ties in expectation.
func VigorMeanField(law distributions.Law, v schedule.Vigor, frontier float64, nodes int) (*MeanField, error) {
	return vigorMeanField(law, v, frontier, nodes, nil)
}

// MeanFieldAround returns the mean field of VIGOR where the cut after round
// cut, in [1, T-1], keeps a share alpha + shift of the active prompts, in
// (0, 1), and later rounds have as many prompts as ever. Parameters and errors
// are otherwise those of VigorMeanField.
//
// It shows what a finite batch does to a cut: the share of active prompts
// above a level fluctuates, as if alpha did.
func MeanFieldAround(law distributions.Law, v schedule.Vigor, frontier float64, nodes, cut int, shift float64) (*MeanField, error) {
	kept := v.Alpha.Float() + shift
	err := errors.Join(
		unless(cut >= 1 && cut < v.Rounds, outside("cut", float64(cut), "a round before the last")),
		unless(kept > 0 && kept < 1, outside("alpha + shift", kept, "(0, 1)")),
	)
	if err != nil {
		return nil, err
	}
	return vigorMeanField(law, v, frontier, nodes, func(shares []float64) { shares[cut] = shares[cut-1] * kept })
}

// vigorMeanField is VigorMeanField on a schedule whose shares of active
// prompts, round by round, are edited.
func vigorMeanField(law distributions.Law, v schedule.Vigor, frontier float64, nodes int, edit func(shares []float64)) (*MeanField, error) {
	f, err := vigorField(law, v, frontier, nodes, edit)
	if err != nil {
		return nil, err
	}
	return f.figures(v), nil
}

// vigorField takes a field through all rounds. edit, unless nil, moves the
// shares that reach them, and the field then has no figures of nodes.
func vigorField(law distributions.Law, v schedule.Vigor, frontier float64, nodes int, edit func(shares []float64)) (*field, error) {
	rollouts, shares, err := roundShares(v)
	if err := errors.Join(err, checkQuadrature(frontier, nodes)); err != nil {
		return nil, err
	}
	if edit != nil {
		edit(shares)
	}
	largest := 0
	for _, m := range rollouts {
		largest += m
	}
	f := newField(law.Nodes(enough(nodes, largest), cutsInU(law, v, frontier)...), frontier, v.Rounds)
	f.unbooked = edit != nil
	f.run(v, rollouts, shares)
	return f, nil
}

// roundShares returns the rollouts that a prompt gets in every round, and the
// shares of all prompts that get them.
func roundShares(v schedule.Vigor) (rollouts []int, shares []float64, err error) {
	if rollouts, err = v.Rollouts(); err != nil {
		return nil, nil, err
	}
	shares = make([]float64, v.Rounds)
	for t := range shares {
		shares[t] = math.Pow(v.Alpha.Float(), float64(t))
	}
	return rollouts, shares, unless(shares[v.Rounds-1] >= smallestShare,
		fmt.Errorf("theory: the share alpha^%d of prompts that reach the last round is below %v", v.Rounds-1, smallestShare))
}

// FixedMeanField returns the mean field of fixed groups of the given mean
// size, in [1, schedule.MaxGroup]: floor and ceil of it, mixed to the exact
// mean at random over prompts. frontier is c in [0, 1]; nodes >= 1, and more are
// taken for large groups as by VigorMeanField.
func FixedMeanField(law distributions.Law, mean, frontier float64, nodes int) (*MeanField, error) {
	err := errors.Join(
		unless(mean >= 1 && mean <= schedule.MaxGroup, outside("mean group", mean, groupRange)),
		checkQuadrature(frontier, nodes),
	)
	if err != nil {
		return nil, err
	}
	f := fixedField(law, mean, frontier, nodes)
	m := f.figures(schedule.Vigor{Update: schedule.UpdateAll, Reuse: true})
	m.Screening = nil
	return m, nil
}

// fixedField gives every prompt its fixed group.
func fixedField(law distributions.Law, mean, frontier float64, nodes int) *field {
	size, fraction := math.Modf(mean)
	f := newField(law.Nodes(enough(nodes, int(math.Ceil(mean))), inner(frontier)...), frontier, 2)
	f.fixed(int(size), 1-fraction)
	if fraction > 0 {
		f.fixed(int(size)+1, fraction)
	}
	return f
}

// enough returns at least the quadrature nodes that groups of the given size
// need.
func enough(nodes, group int) int { return max(nodes, 8*(group+2)) }

func checkQuadrature(frontier float64, nodes int) error {
	return errors.Join(
		unless(frontier >= 0 && frontier <= 1, outside("frontier", frontier, "[0, 1]")),
		unless(nodes >= 1, outside("nodes", nodes, "a whole number >= 1")),
	)
}

// cutsInU returns where the integrands jump: at the frontier and, for
// select=truth, at the true variances of the cuts.
func cutsInU(law distributions.Law, v schedule.Vigor, frontier float64) []float64 {
	cuts := []float64{frontier}
	if v.Select == schedule.SelectTruth {
		for t := 1; t < v.Rounds; t++ {
			share := math.Pow(v.Alpha.Float(), float64(t))
			if share < 1e-15 { // 1-share is no longer told from 1
				break
			}
			cuts = append(cuts, law.QuantileU(1-share))
		}
	}
	return inner(cuts...)
}

// inner returns the distinct cuts in (0, 1), where u may jump, in order.
func inner(cuts ...float64) []float64 {
	cuts = slices.DeleteFunc(cuts, func(c float64) bool { return !(c > 0 && c < 1) })
	slices.Sort(cuts)
	return slices.Compact(cuts)
}
