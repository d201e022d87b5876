package source

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions/table"
	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// The ways to draw rollouts from a recorded prompt with s successes in n.
const (
	DrawReplacement = "replacement" // each rollout succeeds with probability s/n
	DrawWithout     = "without"     // the recorded rollouts in a random order, at most n
	DrawPosterior   = "posterior"   // p drawn anew from Beta(s+1/2, n-s+1/2) for every batch (Jeffreys' prior)
)

// Draws lists the ways to draw.
func Draws() []string { return []string{DrawReplacement, DrawWithout, DrawPosterior} }

// Table answers with the recorded outcomes of a table.
type Table struct {
	table   *table.Table
	draw    string
	prompts [][]int // the rows of every prompt
	sample  []int   // the rows that stand for the table: itself, or a bootstrap sample

	rows   []int // of these, the first batch make the batch
	batch  int
	p      []float64 // success probabilities of the batch
	tokens []float64 // mean tokens a rollout, nil where the table has none
	draws  stream.Key
	gen    *stream.Generator
}

var (
	_ rollout.DriftSource  = (*Table)(nil)
	_ rollout.LengthSource = (*Table)(nil)
)

// NewTable returns a source of batches of batch prompts of t, drawn without
// replacement at every Reset; batch 0 stands for the whole table. draw is one
// of Draws.
func NewTable(t *table.Table, draw string, batch int) (*Table, error) {
	if batch < 0 || batch > len(t.Rows) {
		return nil, fmt.Errorf("batch = %d, want a whole number in [1, %d], the prompts of %s, or all", batch, len(t.Rows), t.Name)
	}
	switch draw {
	case DrawReplacement, DrawWithout, DrawPosterior:
	default:
		return nil, fmt.Errorf("draw = %s, want one of %v", draw, Draws())
	}
	if batch == 0 {
		batch = len(t.Rows)
	}
	s := &Table{
		table: t, draw: draw, batch: batch, prompts: rowsByPrompt(t), gen: stream.NewGenerator(0),
		sample: make([]int, len(t.Rows)), rows: make([]int, len(t.Rows)), p: make([]float64, batch),
	}
	s.Resample(0)
	if t.HasTokens {
		s.tokens = make([]float64, batch)
	}
	return s, nil
}

// rowsByPrompt returns the rows of every prompt, prompts in order of their first
// row.
func rowsByPrompt(t *table.Table) [][]int {
	place := map[string]int{}
	var all [][]int
	for i, r := range t.Rows {
		x, known := place[r.PromptID]
		if !known {
			x = len(all)
			place[r.PromptID] = x
			all = append(all, nil)
		}
		all[x] = append(all[x], i)
	}
	return all
}

// Resample makes every later batch come from a bootstrap sample of the
// prompts, named by key: prompts are drawn with replacement, each with all its
// rows, until there are as many rows as the table has; of the last prompt those
// that do not fit are left out. Rows are kept in the table's order. The key 0
// stands for the table itself.
//
// Rows of one prompt are alike: drawn apart, as if they were prompts of their
// own, they would make intervals too narrow.
func (s *Table) Resample(key stream.Key) {
	rows := len(s.sample)
	s.sample = s.sample[:0]
	for i := 0; len(s.sample) < rows; i++ {
		x := i
		if key != 0 {
			x = scale(key.Bits(uint64(i)), len(s.prompts))
		}
		s.sample = append(s.sample, s.prompts[x][:min(len(s.prompts[x]), rows-len(s.sample))]...)
	}
	slices.Sort(s.sample)
}

// Prompts returns the number of prompts in the table, which may have several
// rows each.
func (s *Table) Prompts() int { return len(s.prompts) }

// Reset implements rollout.Source. A batch of the whole table, or of a whole
// bootstrap sample, keeps the table's order.
func (s *Table) Reset(key stream.Key) (int, error) {
	s.chooseRows(key)
	for x := range s.p {
		row := s.table.Rows[s.rows[x]]
		s.p[x] = row.P()
		if s.draw == DrawPosterior {
			s.gen.Reset(key.Named("posterior").With(uint64(x)))
			s.p[x] = distuv.Beta{Alpha: float64(row.S) + 0.5, Beta: float64(row.N-row.S) + 0.5, Src: s.gen.Rand}.Rand()
		}
	}
	for x := range s.tokens {
		s.tokens[x] = s.table.Rows[s.rows[x]].Tokens
	}
	s.draws = key.Named("rollouts")
	return s.batch, nil
}

// Drift implements rollout.DriftSource. Lengths stay as recorded.
func (s *Table) Drift(key stream.Key, p []float64) error {
	if s.draw == DrawWithout {
		return fmt.Errorf("%s: draw = %s deals out recorded rollouts, which last one step, want %s or %s",
			s.table.Name, s.draw, DrawReplacement, DrawPosterior)
	}
	copy(s.p, p)
	s.draws = key.Named("rollouts")
	return nil
}

// chooseRows fills the first batch entries of s.rows.
func (s *Table) chooseRows(key stream.Key) {
	copy(s.rows, s.sample)
	if s.batch == len(s.rows) {
		return
	}
	order := key.Named("batch")
	for i := range s.batch { // Fisher-Yates, as far as needed
		j := i + scale(order.Bits(uint64(i)), len(s.rows)-i)
		s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
	}
}

// Truth implements rollout.TruthSource: s/n, or the drawn p for
// draw=posterior.
func (s *Table) Truth() []float64 { return s.p }

// MeanTokens implements rollout.LengthSource.
func (s *Table) MeanTokens() []float64 { return s.tokens }

// Draw implements rollout.Source. Without replacement, asking a prompt for
// more than it has recorded is an error that names the prompt and both numbers.
// A recorded prompt has one mean length, so a group's tokens are that times
// its rollouts, rounded.
func (s *Table) Draw(_ context.Context, ask []rollout.Request, first, got, tokens []int) error {
	if s.draw == DrawWithout {
		if err := s.drawWithout(ask, first, got); err != nil {
			return err
		}
	} else {
		DrawCounts(s.draws, s.p, ask, first, got)
	}
	if tokens != nil {
		for i, a := range ask {
			tokens[i] = int(s.tokens[a.X]*float64(a.N) + 0.5)
		}
	}
	return nil
}

// drawWithout walks a random permutation of each prompt's recorded outcomes:
// the i-th outcome is a success with probability (successes left)/(n-i).
func (s *Table) drawWithout(ask []rollout.Request, first, got []int) error {
	for i, a := range ask {
		row := s.table.Rows[s.rows[a.X]]
		if end := first[i] + a.N; end > row.N {
			return &ShortError{Prompt: row.PromptID, Asked: end, Recorded: row.N, Table: s.table.Name}
		}
		order := s.draws.With(uint64(a.X))
		left := row.S
		for j := range first[i] + a.N {
			if j == first[i] {
				got[i] = left
			}
			if scale(order.Bits(uint64(j)), row.N-j) < left {
				left--
			}
		}
		got[i] -= left
	}
	return nil
}

// A ShortError reports a draw without replacement that asks a prompt for more
// rollouts than were recorded of it.
type ShortError struct {
	Prompt   string
	Asked    int // rollouts of the prompt, earlier ones included
	Recorded int
	Table    string
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("prompt %s: %d rollouts asked, but %s has %d recorded; draw with replacement or choose smaller groups",
		e.Prompt, e.Asked, e.Table, e.Recorded)
}

// scale maps 64 uniform bits to a whole number in [0, n), with a bias below
// n/2^64.
func scale(b uint64, n int) int {
	hi, _ := bits.Mul64(b, uint64(n))
	return int(hi)
}
