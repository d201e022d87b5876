package source

import (
	"context"
	"fmt"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// Synthetic draws fresh prompts from a law at every Reset and answers with
// binomial counts.
type Synthetic struct {
	law     distributions.Law
	lengths *distributions.LengthLaw // nil where lengths are unknown
	p       []float64
	tokens  []float64 // mean tokens a rollout, nil where lengths is
	draws   stream.Key
	gen     *stream.Generator
}

var (
	_ rollout.DriftSource  = (*Synthetic)(nil)
	_ rollout.LengthSource = (*Synthetic)(nil)
)

// NewSynthetic returns a source of batches of batch >= 1 prompts from law,
// with rollouts of random length where lengths is not nil.
func NewSynthetic(law distributions.Law, lengths *distributions.LengthLaw, batch int) (*Synthetic, error) {
	if batch < 1 {
		return nil, fmt.Errorf("batch = %d, want at least 1", batch)
	}
	if law == nil {
		return nil, fmt.Errorf("an unbounded reward variance belongs to no success probability, give max=1 or less: %w", rollout.ErrNoRewards)
	}
	s := &Synthetic{law: law, lengths: lengths, p: make([]float64, batch), gen: stream.NewGenerator(0)}
	if lengths != nil {
		s.tokens = make([]float64, batch)
	}
	return s, nil
}

// Reset implements rollout.Source.
func (s *Synthetic) Reset(key stream.Key) (int, error) {
	s.gen.Reset(key.Named("difficulty"))
	for x := range s.p {
		s.p[x] = s.law.Rand(s.gen.Rand)
	}
	s.begin(key)
	return len(s.p), nil
}

// begin makes the source answer for s.p under key.
func (s *Synthetic) begin(key stream.Key) {
	for x := range s.tokens {
		s.tokens[x] = s.lengths.Mean(s.p[x])
	}
	s.draws = key.Named("rollouts")
}

// Drift implements rollout.DriftSource. Lengths follow p.
func (s *Synthetic) Drift(key stream.Key, p []float64) error {
	copy(s.p, p)
	s.begin(key)
	return nil
}

// Law returns the law that prompts are drawn from.
func (s *Synthetic) Law() distributions.Law { return s.law }

// Truth implements rollout.TruthSource.
func (s *Synthetic) Truth() []float64 { return s.p }

// MeanTokens implements rollout.LengthSource.
func (s *Synthetic) MeanTokens() []float64 { return s.tokens }

// Draw implements rollout.Source.
func (s *Synthetic) Draw(_ context.Context, ask []rollout.Request, first, got, tokens []int) error {
	DrawCounts(s.draws, s.p, ask, first, got)
	if tokens == nil {
		return nil
	}
	for i, a := range ask {
		s.gen.Reset(groupKey(s.draws, first[i], a.N).Named("tokens").With(uint64(a.X)))
		tokens[i] = 0
		for range a.N {
			tokens[i] += s.lengths.Rand(s.p[a.X], s.gen.Rand)
		}
	}
	return nil
}
