package reward_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/reward"
	"vigorlab/sim/reward/agreement"
)

// TestFlipIsTheFlippedLaw: rewards that flip:q=0.05@exact gives have the mean and
// the reward variance of the population flip:q=0.05@beta:a=0.3,b=0.7, and what
// the two raters disagree in is q. 20,000 prompts in groups of 8; every figure is
// a mean over prompts, normal over so many, and is beyond 5.1 of its error with
// probability below 1e-6 / 3. A q of 0.06 would move E[u'] by 0.02, 10 errors, and is
// missed with probability below 1e-6.
func TestFlipIsTheFlippedLaw(t *testing.T) {
	const q, size = 0.05, 8
	inner, err := distributions.NewBeta(0.3, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	law, err := distributions.NewFlip(q, inner)
	if err != nil {
		t.Fatal(err)
	}
	v, err := reward.Parse("flip:q=0.05@exact")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(20260101, 5))
	groups := make([]agreement.Group, 20_000)
	for x := range groups {
		p := inner.Rand(r)
		groups[x].Prompt = x
		for i := range size {
			right := r.Float64() < p
			item := reward.Item{Prompt: fmt.Sprint(x), Completion: fmt.Sprint(right), Answer: "true", Index: uint64(i)}
			g, err := v.Verify(context.Background(), item)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case right && g.Reward == 1:
				groups[x].Both++
			case right:
				groups[x].First++
			case g.Reward == 1:
				groups[x].Second++
			default:
				groups[x].None++
			}
		}
	}
	m := agreement.Measure(groups)
	for _, c := range []struct {
		what string
		got  agreement.Figure
		want float64
	}{
		{"E[p']", m.SecondSuccess, law.MeanP()},
		{"E[u']", m.SecondVariance, law.MeanU()},
		{"agreement", m.Agreement, 1 - q},
	} {
		if !(math.Abs(c.got.Value-c.want) <= 5.1*c.got.SE && c.got.SE < 0.004) {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
}

// A slow verifier takes longer for some items, so that workers overtake.
type slow struct{ fails string }

func (slow) String() string { return "slow" }
func (slow) Close() error   { return nil }

func (s slow) Verify(ctx context.Context, item reward.Item) (reward.Grade, error) {
	sum := 0
	for i := range 1 + len(item.Completion)%3*20_000 {
		sum += i
	}
	if item.Completion == s.fails {
		return reward.Grade{}, fmt.Errorf("cannot judge %s", item.Completion)
	}
	return reward.Grade{Reward: 1, Kind: reward.Right, Detail: item.Completion[:min(1, sum+1)] + item.Completion}, ctx.Err()
}

// number yields items whose completions are numbers in unary.
func number(n int) func(context.Context, func(reward.Item, int) error) error {
	return func(_ context.Context, yield func(reward.Item, int) error) error {
		for i := range n {
			if err := yield(reward.Item{Completion: fmt.Sprint(i)}, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestInOrderConcurrent: grades come in the order of the items, each with its own,
// for any number of workers.
func TestInOrderConcurrent(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		next := 0
		err := reward.InOrder(context.Background(), slow{}, workers, number(500), func(i int, item reward.Item, g reward.Grade) error {
			text := fmt.Sprint(i)
			if i != next || item.Completion != text || g.Detail != text[:1]+text {
				t.Errorf("%d workers: item %d is %d, %q with %q", workers, next, i, item.Completion, g.Detail)
			}
			next++
			return nil
		})
		if err != nil || next != 500 {
			t.Errorf("%d workers: %d items, %v", workers, next, err)
		}
	}
}

// TestInOrderEndsConcurrent: the failure of the verifier, of the source or of who takes grades ends it,
// and so does the end of the context.
func TestInOrderEndsConcurrent(t *testing.T) {
	full := fmt.Errorf("full")
	take := func(int, reward.Item, reward.Grade) error { return nil }
	var failed *reward.ItemError
	err := reward.InOrder(context.Background(), slow{fails: "77"}, 3, number(500), take)
	if !errors.As(err, &failed) || failed.About != 77 || err.Error() != "cannot judge 77" {
		t.Errorf("%v, want that of item 77", err)
	}
	err = reward.InOrder(context.Background(), slow{}, 3, number(500), func(i int, _ reward.Item, _ reward.Grade) error {
		if i == 50 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("%v, want that of who takes", err)
	}
	err = reward.InOrder(context.Background(), slow{}, 3, func(_ context.Context, yield func(reward.Item, int) error) error {
		return errors.Join(yield(reward.Item{Completion: "1"}, 1), full)
	}, take)
	if !errors.Is(err, full) {
		t.Errorf("%v, want that of the source", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = reward.InOrder(ctx, slow{}, 3, number(1_000_000), func(i int, _ reward.Item, _ reward.Grade) error {
		if i == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
