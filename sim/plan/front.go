package plan

import (
	"cmp"
	"math"
	"slices"
)

// A Front holds the strategies that train on the whole batch and that none
// beats in the objective's gain at no higher cost, the cheapest first: no
// change is its first point.
type Front struct {
	Rounds []Row // by sequential rounds
	Clock  []Row // by seconds of a step; nil without a clock
}

// newFront takes the fronts of the table and of all other schedules.
func newFront(table, schedules []Row, o Options) Front {
	rows := slices.Clone(table)
	for _, r := range schedules {
		if !slices.ContainsFunc(table, func(x Row) bool { return x.candidate == r.candidate }) {
			rows = append(rows, r)
		}
	}
	f := Front{Rounds: pareto(rows, func(r Row) float64 { return float64(r.Rounds) })}
	if o.Clock.on() {
		f.Clock = pareto(rows, func(r Row) float64 { return r.Seconds })
	}
	return f
}

// pareto returns the rows that gain more than every row of no higher cost, by
// more than rounding.
func pareto(rows []Row, cost func(Row) float64) []Row {
	const rounding = 1e-9
	sorted := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.candidate.whole() || math.IsNaN(r.Gain) })
	slices.SortStableFunc(sorted, func(a, b Row) int {
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(b.Gain, a.Gain))
	})
	var front []Row
	for _, r := range sorted {
		if len(front) == 0 || r.Gain > front[len(front)-1].Gain*(1+rounding) {
			front = append(front, r)
		}
	}
	return front
}
