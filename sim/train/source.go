package train

import (
	"context"
	"math"
	"slices"

	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/stream"
)

// A Source lets a policy answer requests for rollouts of its trained prompts:
// its batch is the whole set. Reset reads the policy, which may then learn while
// the answers, the truth and the log probabilities stay those of the policy that
// was asked. The successes of a group are those that sim/source gives for the
// same key, prompt, first rollout, count and p. The outcomes of every group since
// the last Reset are remembered, and those of the last batch before it in which
// a prompt was asked.
type Source struct {
	policy   Policy
	outcomes []int // of prompt x: places outcomes[x] to outcomes[x+1]
	tokens   []int // of prompt x's outcomes: places tokens[x] to tokens[x+1]

	logp  []float64 // by token
	prob  []float64 // by outcome
	p     []float64 // by prompt
	mean  []float64 // mean tokens of a rollout by prompt, nil where every outcome has one
	draws stream.Key

	answers []answer
	counts  []int // of every answer, one an outcome
	last    []int // the last answer of every prompt, -1 for none
	earlier []int // by outcome
	rest    []float64
}

// An answer is one group that was drawn.
type answer struct{ x, first, n, counts, before int }

var (
	_ rollout.TruthSource  = (*Source)(nil)
	_ rollout.LengthSource = (*Source)(nil)

	_ rollout.RememberingSource = (*Source)(nil)
)

// NewSource returns the policy as a source.
func NewSource(p Policy) *Source {
	n := p.Prompts()
	s := &Source{policy: p, outcomes: make([]int, n+1), tokens: make([]int, n+1), p: make([]float64, n), last: make([]int, n)}
	long := false
	for x := range n {
		o := p.Outcomes(x)
		s.outcomes[x+1], s.tokens[x+1] = s.outcomes[x]+len(o), s.tokens[x]+tokens(o)
		long = long || tokens(o) > len(o)
		s.last[x] = -1
	}
	if long {
		s.mean = make([]float64, n)
	}
	s.logp, s.prob, s.earlier = make([]float64, 0, s.tokens[n]), make([]float64, 0, s.outcomes[n]), make([]int, s.outcomes[n])
	return s
}

// Reset implements rollout.Source.
func (s *Source) Reset(key stream.Key) (int, error) {
	s.turn(key)
	s.readPolicy()
	return len(s.p), nil
}

// turn begins the step that key names, with the policy that was read last.
func (s *Source) turn(key stream.Key) {
	for _, a := range s.answers {
		earlier := s.Earlier(a.x)
		if a.before < 0 {
			clear(earlier)
		}
		for k := range earlier {
			earlier[k] += s.counts[a.counts+k]
		}
		s.last[a.x] = -1
	}
	s.answers, s.counts = s.answers[:0], s.counts[:0]
	s.draws = key.Named("rollouts")
}

// readPolicy takes in the policy as it stands.
func (s *Source) readPolicy() {
	s.logp, s.prob = s.logp[:0], s.prob[:0]
	for x := range s.p {
		o := s.policy.Outcomes(x)
		s.logp = s.policy.LogProbs(s.logp, x)
		s.prob = Probabilities(s.prob, o, s.LogProbs(x))
		prob := s.prob[s.outcomes[x]:]
		s.p[x] = success(o, prob)
		if s.mean != nil {
			s.mean[x] = 0
			for k := range o {
				s.mean[x] += prob[k] * float64(o[k].Tokens)
			}
		}
	}
}

// read is Reset without the size.
func (s *Source) read(key stream.Key) error {
	_, err := s.Reset(key)
	return err
}

// Truth implements rollout.TruthSource.
func (s *Source) Truth() []float64 { return s.p }

// MeanTokens implements rollout.LengthSource: nil where every outcome is one
// token, so that a rollout is a token.
func (s *Source) MeanTokens() []float64 { return s.mean }

// LogProbs returns the log probabilities of prompt x's tokens at the last Reset.
// Like Truth it belongs to the source.
func (s *Source) LogProbs(x int) []float64 { return s.logp[s.tokens[x]:s.tokens[x+1]] }

// Draw implements rollout.Source: a binomial count of successes, which is then
// split over the correct outcomes, and the rest over the wrong ones.
func (s *Source) Draw(_ context.Context, ask []rollout.Request, first, got, tokens []int) error {
	source.DrawCounts(s.draws, s.p, ask, first, got)
	for i, q := range ask {
		a := answer{q.X, first[i], q.N, len(s.counts), s.last[q.X]}
		s.last[q.X] = len(s.answers)
		s.answers = append(s.answers, a)
		o := s.policy.Outcomes(q.X)
		s.split(o, a, got[i])
		if tokens != nil {
			tokens[i] = 0
			for k, c := range s.counts[a.counts:] {
				tokens[i] += c * o[k].Tokens
			}
		}
	}
	return nil
}

// Unseen implements rollout.RememberingSource.
func (s *Source) Unseen(f func() error) error {
	answers, counts, last := len(s.answers), len(s.counts), slices.Clone(s.last)
	err := f()
	s.answers, s.counts, s.last = s.answers[:answers], s.counts[:counts], last
	return err
}

// split appends the outcomes of a group with the given successes to s.counts.
// Given how many outcomes of a class are left, the next one's count is binomial
// with its share of the class's remaining probability.
func (s *Source) split(o []Outcome, a answer, successes int) {
	prob := s.prob[s.outcomes[a.x]:s.outcomes[a.x+1]]
	s.rest = append(s.rest[:0], prob...) // of the class, from an outcome on
	correct, wrong := 0.0, 0.0
	for k := len(o) - 1; k >= 0; k-- {
		class := &wrong
		if o[k].Correct {
			class = &correct
		}
		*class += prob[k]
		s.rest[k] = *class
	}
	hits, misses := successes, a.n-successes
	for k := range o {
		left := &misses
		if o[k].Correct {
			left = &hits
		}
		n := *left
		if share := prob[k] / s.rest[k]; n > 0 && share < 1 {
			n = source.Count(s.draws.With(uint64(a.first), uint64(a.n), uint64(k)), a.x, n, share)
		}
		*left -= n
		s.counts = append(s.counts, n)
	}
}

// Counts adds to dst, which has an entry for every outcome of prompt x, what was
// answered since the last Reset in groups whose first rollout has a number in
// [from, to).
func (s *Source) Counts(dst []int, x, from, to int) {
	for i := s.last[x]; i >= 0; i = s.answers[i].before {
		if a := s.answers[i]; a.first >= from && a.first < to {
			for k := range dst {
				dst[k] += s.counts[a.counts+k]
			}
		}
	}
}

// Earlier returns the outcome counts of prompt x in the last batch before this
// one in which it was asked. The slice belongs to the source.
func (s *Source) Earlier(x int) []int { return s.earlier[s.outcomes[x]:s.outcomes[x+1]] }

// meanSuccess returns the mean success probability of the policy's prompts from
// number low to number high-1, as it stands, NaN where there are none.
func meanSuccess(p Policy, low, high int) float64 {
	sum := 0.0
	var logp, prob []float64
	for x := low; x < high; x++ {
		logp = p.LogProbs(logp[:0], x)
		prob = Probabilities(prob[:0], p.Outcomes(x), logp)
		sum += success(p.Outcomes(x), prob)
	}
	if low == high {
		return math.NaN()
	}
	return sum / float64(high-low)
}
