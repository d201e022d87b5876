// Package fit holds laws of difficulty fitted to noisy counts by maximum
// likelihood, with the binomial sampling integrated out: a prompt of success
// probability p shows s successes among n rollouts with the binomial
// probability, and p itself is never observed. It refuses plug-in variances
// treated as data, files and printing.
//
// Throughout, u = 4p(1-p) is the reward variance of a prompt (signed coding).
package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions/table"
)

// MaxRollouts bounds the rollouts of one prompt: a law is asked for the
// probability of every count, at hundreds of points of p.
const MaxRollouts = 4096

// A Cell says that Prompts prompts had S successes among N rollouts.
type Cell struct{ N, S, Prompts int }

// Counts are the recorded counts of prompts that are alike otherwise. They are
// an immutable value that goroutines may share.
type Counts struct {
	cells    []Cell // ascending in N, then in S, without repeats
	prompts  int
	rollouts int
}

// NewCounts returns the counts of the given cells, for N in [1, 4096], S in
// [0, N] and Prompts >= 0; repeated cells are added up.
func NewCounts(cells []Cell) (*Counts, error) {
	var errs []error
	check := func(field string, value, low, high int) {
		if !(value >= low && value <= high) {
			errs = append(errs, fmt.Errorf("fit: %s = %d, want a whole number in [%d, %d]", field, value, low, high))
		}
	}
	c := &Counts{}
	for _, x := range cells {
		check("n", x.N, 1, MaxRollouts)
		check("successes", x.S, 0, x.N)
		check("prompts", x.Prompts, 0, math.MaxInt32)
		c.prompts += x.Prompts
		c.rollouts += x.N * x.Prompts
	}
	if len(errs) == 0 && c.prompts == 0 {
		errs = append(errs, errors.New("fit: no prompts, want at least one"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.cells = joinCells(cells)
	return c, nil
}

// FromTable returns the counts of a table, every row a prompt of at most 4096
// rollouts. Pool rows of one prompt beforehand: see Window.
func FromTable(t *table.Table) (*Counts, error) {
	cells := make([]Cell, len(t.Rows))
	for i, row := range t.Rows {
		if row.N > MaxRollouts {
			return nil, fmt.Errorf("%s: prompt %.80q: n = %d, want at most %d: pool fewer visits", t.Name, row.PromptID, row.N, MaxRollouts)
		}
		cells[i] = Cell{row.N, row.S, 1}
	}
	return NewCounts(cells)
}

// joinCells sorts cells and adds up the repeated ones.
func joinCells(cells []Cell) []Cell {
	sorted := slices.Clone(cells)
	slices.SortFunc(sorted, func(a, b Cell) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.S, b.S)) })
	joined := sorted[:0]
	for _, x := range sorted {
		switch k := len(joined); {
		case x.Prompts == 0:
		case k > 0 && joined[k-1].N == x.N && joined[k-1].S == x.S:
			joined[k-1].Prompts += x.Prompts
		default:
			joined = append(joined, x)
		}
	}
	return joined
}

// Prompts returns how many prompts there are.
func (c *Counts) Prompts() int { return c.prompts }

// Rollouts returns how many rollouts they have together.
func (c *Counts) Rollouts() int { return c.rollouts }

// Cells returns the cells in ascending order of N, then of S; the caller owns
// the slice.
func (c *Counts) Cells() []Cell { return slices.Clone(c.cells) }

// A size is a number of rollouts with its prompts.
type size struct {
	n, prompts int
	cells      []Cell // those of n
}

// sizes returns the numbers of rollouts that occur, in ascending order.
func (c *Counts) sizes() []size {
	var sizes []size
	for i, x := range c.cells {
		if k := len(sizes); k > 0 && sizes[k-1].n == x.N {
			last := &sizes[k-1]
			last.prompts += x.Prompts
			last.cells = last.cells[:len(last.cells)+1]
		} else {
			sizes = append(sizes, size{x.N, x.Prompts, c.cells[i : i+1]})
		}
	}
	return sizes
}

// maxN returns the largest number of rollouts of a prompt.
func maxN(cells []Cell) int {
	n := 0
	for _, x := range cells {
		n = max(n, x.N)
	}
	return n
}

// total returns the log-likelihood of counts with the given log-probabilities.
func total(cells []Cell, logs []float64) float64 {
	var sum float64
	for i, x := range cells {
		sum += float64(x.Prompts) * logs[i]
	}
	return sum
}

// logChoose returns log n!/(s!(n-s)!).
func logChoose(n, s int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	hit, _ := math.Lgamma(float64(s) + 1)
	miss, _ := math.Lgamma(float64(n-s) + 1)
	return all - hit - miss
}
