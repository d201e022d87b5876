package gradient

import (
	"vigorlab/sim/advantage"
	"vigorlab/theory"
)

// A plant is a mistake that the check must flag.
type plant struct {
	name    string
	least   float64 // share of the spread groups that must be flagged, as Plant.Least
	applies func(w row) bool
	spoil   func(p *parts)
}

// A wrong factor shows in sum|A| of every spread group. A doubled gradient
// breaks loose bounds only where they were tighter than 1/2, and the responses
// of a group often have the largest gradient among them: half of the groups
// show these two, and a quarter is far below what chance does to half of
// thousands.
const (
	every   = 1
	quarter = 0.25
)

func everyRow(row) bool { return true }

func grpoRows(w row) bool { return w.claim == theory.GRPO0 || w.claim == theory.GRPO1 }

func binaryGRPORows(w row) bool { return grpoRows(w) && w.coding != Graded }

func rlooRows(w row) bool { return w.claim == theory.RLOO }

// otherDDOF returns a GRPO row with the other ddof.
func otherDDOF(w row) row {
	ddof := 1
	if w.claim == theory.GRPO1 {
		ddof = 0
	}
	return grpoRow(ddof, w.delta, w.coding)
}

// plants lists the mistakes, each in either place where it can be made: one
// breaks the bound, the other makes it loose.
func plants() []plant {
	return []plant{
		{"gradient doubled", quarter, everyRow, func(p *parts) { p.scale = 2 }},
		{"bound doubled", every, everyRow, func(p *parts) {
			p.factor = func(w row, g group, rewards []float64) (float64, error) {
				f, err := w.factor(g, rewards)
				return 2 * f, err
			}
		}},
		{"ddof swapped in the advantages", every, grpoRows, func(p *parts) {
			p.estimator = func(w row) advantage.Estimator { return otherDDOF(w).estimator }
		}},
		{"ddof swapped in the bound", every, binaryGRPORows, func(p *parts) {
			p.factor = func(w row, g group, rewards []float64) (float64, error) {
				return otherDDOF(w).factor(g, rewards)
			}
		}},
		{"G/(G-1) forgotten in the advantages", every, rlooRows, func(p *parts) {
			p.estimator = func(row) advantage.Estimator { return advantage.DrGRPO{} }
		}},
		{"G/(G-1) forgotten in the bound", every, rlooRows, func(p *parts) {
			p.factor = func(w row, g group, rewards []float64) (float64, error) {
				return drGRPORow(w.coding).factor(g, rewards)
			}
		}},
		{"M from sampled responses only", quarter, everyRow, func(p *parts) {
			p.largest = func(s *setting, g group) float64 { return s.gradients.largest(g.responses) }
		}},
	}
}
