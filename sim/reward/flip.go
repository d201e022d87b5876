package reward

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// flip turns the rewards of another verifier round with probability q: r becomes
// 1 - r, whatever its kind, so that a completion that is right with probability p
// is rewarded with probability q + (1-2q)p. Whether it does depends on seed,
// prompt, completion and index alone: the stream keyed by them gives one uniform
// number, and the reward is turned where it is below q. So the same log graded
// again gets the same rewards, a larger q turns those of a smaller one too, and
// equal completions of a prompt are turned apart if their indexes differ.
type flip struct {
	inner Verifier
	q     float64
	key   stream.Key
	spec  string
}

var flipInfo = Info{
	Name: "flip", Form: "flip:q=0.05@math",
	Doc: "the rewards of the verifier behind the @, each turned round (r becomes 1-r) with probability q: label noise; what cannot be told is a reward of 0, and is turned as one",
	Parameters: []spec.Parameter{
		{Name: "q", Range: "[0, 1]", Doc: "probability that a reward is turned round"},
		{Name: "seed", Default: "1", Range: "a whole number >= 0", Doc: "another seed turns other rewards round; --seed of a command does not"},
	},
	Provenance: "own",
}

func readFlip(text string) (Verifier, error) {
	before, after, at := strings.Cut(text, "@")
	s, err := spec.Parse(before)
	a := spec.NewArgs(s)
	q := a.Float("q", math.NaN(), "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	seed := a.Int("seed", 1, 0, math.MaxInt)
	err = errors.Join(err, a.Err())
	if !at {
		return nil, errors.Join(err, fmt.Errorf("flip: the verifier is missing, want flip:q=0.05@VERIFIER"))
	}
	inner, innerErr := Parse(after)
	if err := errors.Join(err, innerErr); err != nil {
		if inner != nil {
			err = errors.Join(err, inner.Close())
		}
		return nil, err
	}
	return &flip{inner, q, stream.New(uint64(seed)).Named("flip"), a.Normal().String() + "@" + inner.String()}, nil
}

func (f *flip) String() string { return f.spec }

func (f *flip) Close() error { return f.inner.Close() }

func (f *flip) needsAnswer() bool { return NeedsAnswer(f.inner) }

func (f *flip) Verify(ctx context.Context, item Item) (Grade, error) {
	g, err := f.inner.Verify(ctx, item)
	if err != nil || f.key.Named(item.Prompt).Named(item.Completion).With(item.Index).Uniform(0) >= f.q {
		return g, err
	}
	turned := 1 - g.Reward
	return Grade{turned, kindOf(turned), fmt.Sprintf("turned round, was %s: %s", g.Kind, g.Detail)}, nil
}
