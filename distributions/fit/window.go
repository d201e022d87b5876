package fit

import (
	"fmt"
	"slices"

	"vigorlab/distributions/table"
)

// Moment returns when a row was recorded: its step, or its visit in a table
// without steps.
func Moment(t *table.Table) func(table.Row) int {
	if slices.ContainsFunc(t.Rows, func(r table.Row) bool { return r.Step != 0 }) {
		return func(r table.Row) int { return r.Step }
	}
	return func(r table.Row) int { return r.Visit }
}

// Steps returns the first and last step of a table, or its visits where it has
// no steps; both are 0 where it has neither.
func Steps(t *table.Table) (first, last int) {
	at := Moment(t)
	first, last = at(t.Rows[0]), at(t.Rows[0])
	for _, r := range t.Rows {
		first, last = min(first, at(r)), max(last, at(r))
	}
	return first, last
}

// Within returns the table of the rows from step first to step last.
func Within(t *table.Table, first, last int) (*table.Table, error) {
	at := Moment(t)
	within := *t
	within.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r table.Row) bool { return !(at(r) >= first && at(r) <= last) })
	if len(within.Rows) == 0 {
		low, high := Steps(t)
		return nil, fmt.Errorf("%s: no row has a step in [%d, %d], want one of its steps in [%d, %d]", t.Name, first, last, low, high)
	}
	return &within, nil
}

// Window returns the table of the rows from step first to step last, those of
// one prompt pooled into one.
func Window(t *table.Table, first, last int) (*table.Table, error) {
	within, err := Within(t, first, last)
	if err != nil {
		return nil, err
	}
	return Pool(within), nil
}

// Pool returns the table with the rows of every prompt made one: prompts are
// taken not to change in between. Prompts are in order of their first row, and
// carry no step.
func Pool(t *table.Table) *table.Table {
	pooled := &table.Table{Name: t.Name, HasTokens: t.HasTokens}
	place := map[string]int{}
	for _, r := range t.Rows {
		i, known := place[r.PromptID]
		if !known {
			i = len(pooled.Rows)
			place[r.PromptID] = i
			pooled.Rows = append(pooled.Rows, table.Row{PromptID: r.PromptID})
		}
		p := &pooled.Rows[i]
		p.Tokens = (p.Tokens*float64(p.N) + r.Tokens*float64(r.N)) / float64(p.N+r.N)
		if len(p.Outcomes) == p.N && len(r.Outcomes) == r.N {
			p.Outcomes += r.Outcomes
		} else {
			p.Outcomes = ""
		}
		p.N, p.S = p.N+r.N, p.S+r.S
	}
	return pooled
}
