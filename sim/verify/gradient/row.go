package gradient

import (
	"vigorlab/sim/advantage"
	"vigorlab/theory"
)

// The codings of rewards.
const (
	Signed = string(theory.Signed)
	Binary = string(theory.Binary)
	Graded = "graded" // any reward in [-1, 1]
)

// A row is one line of the table of theory.md, section 2, under one coding: an
// estimator and what theory calls it.
type row struct {
	estimator advantage.Estimator
	claim     theory.Estimator
	delta     float64
	coding    string
}

func grpoRow(ddof int, delta float64, coding string) row {
	claim := [...]theory.Estimator{theory.GRPO0, theory.GRPO1}[ddof]
	return row{advantage.GRPO{DDOF: ddof, Delta: delta}, claim, delta, coding}
}

func drGRPORow(coding string) row { return row{advantage.DrGRPO{}, theory.DrGRPO, 0, coding} }

func rlooRow(coding string) row { return row{advantage.RLOO{}, theory.RLOO, 0, coding} }

// rows lists the table. Its deltas are verl's and TRL's, and one so large that
// its place in the formula matters.
func rows() []row {
	var rows []row
	for _, coding := range []string{Signed, Binary} {
		rows = append(
			rows,
			grpoRow(0, 0, coding),
			grpoRow(1, 0, coding),
			grpoRow(1, 1e-6, coding),
			grpoRow(1, 1e-4, coding),
			grpoRow(1, .5, coding),
			drGRPORow(coding),
			rlooRow(coding),
		)
	}
	return append(rows, grpoRow(0, 0, Graded))
}

// paper reports whether the row is the GRPO of the paper, ddof 0 and delta 0,
// on binary-valued rewards.
func (w row) paper() bool { return w.claim == theory.GRPO0 && w.delta == 0 && w.coding != Graded }

// factor returns theory's factor f of the bound M f.
func (w row) factor(g group, rewards []float64) (float64, error) {
	if w.coding == Graded {
		return theory.GradedFactor(rewards)
	}
	return theory.BoundFactor(w.claim, g.counts(), w.delta, theory.Coding(w.coding))
}

// counts returns the group as theory sees it.
func (g *group) counts() theory.Group { return theory.Group{G: g.size(), S: g.successes} }
