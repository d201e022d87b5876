// Package pilot holds how a table of outcomes came about where a strategy chose
// the numbers of rollouts: which prompts stood in a batch together, and the same
// choice made again on other prompts. It refuses fitting and reading files.
package pilot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// An Origin says who chose the numbers of rollouts of a table.
type Origin struct {
	Strategy sim.NewStrategy
	Batch    int // prompts that a strategy saw together, in the table's order; 0 for all of a step
	Holdout  int // further rollouts of every prompt beside the strategy's, as of vigorlab rollout
}

// Beforehand reports whether outcomes had no say in the sizes of a table's rows,
// as far as the rows show: all have the same. Prompts with other numbers of
// visits then have other sizes when visits are pooled; who was visited is taken
// not to depend on outcomes.
func Beforehand(t *table.Table) bool {
	for _, r := range t.Rows {
		if r.N != t.Rows[0].N {
			return false
		}
	}
	return true
}

// A replay repeats what strategies did on the batches of a table.
type replay struct {
	Origin
	batches [][]member
	prompts int
	fresh   bool // groups drawn anew for the update are in the table
}

// A member of a batch is a prompt, by its place among the counts, and whether
// this row of it is counted.
type member struct {
	prompt  int
	counted bool
}

// Rows are the rows of a table that counts are made of.
type Rows struct {
	Table *table.Table
	// Pooled says that the rows of a prompt are counted as one, as fit.Window makes
	// them; otherwise every row counts as a prompt of its own.
	Pooled bool
	// Last, unless 0, is how many rows of every prompt are counted, its last ones.
	Last int
}

// Design returns the design by which counts of rows came about: every step of
// the table is cut into batches, on each of which the strategy chose sizes from
// outcomes. It is nil where no outcome had a say in the sizes, as under fixed
// groups. It fails for a strategy that needs more than the batch at hand (see
// sim.Observable), and where the strategy spends a budget that is not the
// table's.
func Design(rows Rows, o Origin) (fit.Design, error) {
	s, err := o.Strategy()
	if err != nil {
		return nil, err
	}
	if err := sim.Observable(s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Spec(), err)
	}
	r := &replay{Origin: o}
	r.batches, r.prompts = rows.batches(o.Batch)
	if err := r.checkBudget(rows.Table, s); err != nil {
		return nil, err
	}
	if _, fixed := s.(*strategy.Fixed); fixed {
		return nil, nil
	}
	r.batches = slices.DeleteFunc(r.batches, func(b []member) bool {
		return !slices.ContainsFunc(b, func(m member) bool { return m.counted })
	})
	return r.draw, nil
}

// batches returns what stood in a batch together, and how many prompts there
// are.
func (rows Rows) batches(size int) (batches [][]member, prompts int) {
	at := fit.Moment(rows.Table)
	counted := rows.counted()
	place := map[string]int{} // of a prompt among the counts
	open := map[int]int{}     // the batch of a moment that takes further prompts
	for i, row := range rows.Table.Rows {
		x := i
		if rows.Pooled {
			var known bool
			if x, known = place[row.PromptID]; !known {
				x = len(place)
				place[row.PromptID] = x
			}
		}
		prompts = max(prompts, x+1)
		b, known := open[at(row)]
		if !known || size > 0 && len(batches[b]) == size {
			b = len(batches)
			open[at(row)] = b
			batches = append(batches, nil)
		}
		batches[b] = append(batches[b], member{x, counted(row)})
	}
	return batches, prompts
}

// counted returns whether a row is counted.
func (rows Rows) counted() func(table.Row) bool {
	if rows.Last == 0 {
		return func(table.Row) bool { return true }
	}
	type key struct {
		prompt      string
		step, visit int
	}
	of := func(r table.Row) key { return key{r.PromptID, r.Step, r.Visit} }
	last := map[key]bool{}
	for _, all := range rows.Table.ByPrompt() {
		for _, r := range all[max(0, len(all)-rows.Last):] {
			last[of(r)] = true
		}
	}
	return func(r table.Row) bool { return last[of(r)] }
}

// checkBudget compares the table's rollouts with those of a strategy that
// spends a known budget.
func (r *replay) checkBudget(t *table.Table, s strategy.Strategy) error {
	budgeter, ok := s.(strategy.Budgeter)
	if !ok {
		return nil
	}
	recorded, asked := 0, 0
	for _, row := range t.Rows {
		recorded += row.N
	}
	for _, b := range r.batches {
		if err := s.Start(len(b)); err != nil {
			return fmt.Errorf("%s on a batch of %d prompts: %w", s.Spec(), len(b), err)
		}
		asked += budgeter.Budget(len(b)) + r.Holdout*len(b)
	}
	if v, ok := s.(*strategy.Vigor); ok && !v.Plan().Reuse {
		r.fresh = recorded != asked
		return nil
	}
	if recorded != asked {
		return fmt.Errorf("%s asks for %d rollouts of these prompts, and %s has %d: want the strategy, batch and holdout that made it",
			s.Spec(), asked, t.Name, recorded)
	}
	return nil
}

// draw implements fit.Design.
func (r *replay) draw(ctx context.Context, p []float64, random *rand.Rand) (*fit.Counts, error) {
	s, err := r.Strategy()
	if err != nil {
		return nil, err
	}
	key := stream.Key(random.Uint64())
	n, hits := make([]int, r.prompts), make([]int, r.prompts)
	for i, batch := range r.batches {
		src := &known{}
		for _, m := range batch {
			src.p = append(src.p, p[m.prompt])
		}
		seen, err := sim.Observe(ctx, src, s, false, r.Holdout, key.With(uint64(i)))
		if err != nil {
			return nil, err
		}
		if !r.fresh {
			seen.Fresh = nil
		}
		more, right := seen.Counts()
		for k, m := range batch {
			if m.counted {
				n[m.prompt] += more[k]
				hits[m.prompt] += right[k]
			}
		}
	}
	cells := make([]fit.Cell, 0, len(n))
	for x := range n {
		if n[x] > 0 { // a prompt without rollouts leaves no row
			cells = append(cells, fit.Cell{N: n[x], S: hits[x], Prompts: 1})
		}
	}
	return fit.NewCounts(cells)
}

// known is a source of prompts with the given success probabilities.
type known struct {
	p     []float64
	draws stream.Key
}

var _ rollout.Source = (*known)(nil)

// Reset implements rollout.Source.
func (k *known) Reset(key stream.Key) (int, error) {
	k.draws = key.Named("rollouts")
	return len(k.p), nil
}

// Draw implements rollout.Source.
func (k *known) Draw(_ context.Context, ask []rollout.Request, first, s, _ []int) error {
	source.DrawCounts(k.draws, k.p, ask, first, s)
	return nil
}
