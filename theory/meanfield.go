package theory

import (
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
	Eta          float64 // E[G u] / (E[G] E[u]) over trained rollouts
	EtaGenerated float64 // the same weight per generated rollout

	Signal             float64 // E[G sigma] / E[G]
	SignalPromptMean   float64 // E[sigma] over trained groups
	Ineffective        float64 // share of rollouts in groups with s = 0 or s = G
	ZeroVarianceGroups float64 // share of such groups
	Progress           float64 // E[G sigma u] / E[G], not yet relative to anything

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

// NodeRollouts is the mean group of the prompts at one quadrature node.
type NodeRollouts struct {
	P, W     float64
	Rollouts float64
}

// DefaultNodes is the number of quadrature nodes that commands use.
const DefaultNodes = 2000

// VigorMeanField returns the mean field of VIGOR with any schedule and
// control. frontier is c in [0, 1].
func VigorMeanField(law distributions.Law, v schedule.Vigor, frontier float64, nodes int) (*MeanField, error) {
	panic("to be written")
}

// FixedMeanField returns the mean field of fixed groups of the given mean
// size >= 1: floor and ceil of it, mixed to the exact mean at random over
// prompts.
func FixedMeanField(law distributions.Law, mean, frontier float64, nodes int) (*MeanField, error) {
	panic("to be written")
}
