package reward_test

import (
	"context"
	"testing"

	"vigorlab/sim/reward"
)

// parse makes the verifier of a spec, closed at the end of the test.
func parse(t testing.TB, text string) reward.Verifier {
	t.Helper()
	v, err := reward.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// grade judges an item, which must not fail, and checks that reward and kind
// belong together.
func grade(t testing.TB, v reward.Verifier, item reward.Item) reward.Grade {
	t.Helper()
	g, err := v.Verify(context.Background(), item)
	if err != nil {
		t.Fatalf("%v of %+v: %v", v, item, err)
	}
	if one := g.Kind == reward.Right || g.Kind == reward.Pass; !(g.Reward >= 0 && g.Reward <= 1) ||
		one != (g.Reward == 1) || (g.Kind == reward.Partial) != (g.Reward > 0 && g.Reward < 1) {
		t.Errorf("%v of %+v: reward %v is of kind %q", v, item, g.Reward, g.Kind)
	}
	return g
}

// A trial is a completion and an answer with the kind that a verifier must give.
type trial struct {
	completion, answer string
	want               reward.Kind
}

// try runs trials on the verifier of a spec.
func try(t *testing.T, spec string, trials []trial) {
	t.Helper()
	v := parse(t, spec)
	for _, c := range trials {
		if g := grade(t, v, reward.Item{Completion: c.completion, Answer: c.answer}); g.Kind != c.want {
			t.Errorf("%s: %.80q against %q is %q (%s), want %q", spec, c.completion, c.answer, g.Kind, g.Detail, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	try(t, "exact", []trial{
		{"42", "42", reward.Right},
		{" 42\n", "\t42", reward.Right},
		{"4 2", "42", reward.Wrong},
		{"Paris", "paris", reward.Wrong},
		{"", "42", reward.Wrong},
		{"42", "", reward.CannotTell},
		{"", " ", reward.CannotTell},
	})
}

func TestTruncated(t *testing.T) {
	for spec, want := range map[string]reward.Kind{
		"exact": reward.Wrong, "exact:truncated=wrong": reward.Wrong, "exact:truncated=judge": reward.Right,
	} {
		if g := grade(t, parse(t, spec), reward.Item{Completion: "B 1", Answer: "B 1", Truncated: true}); g.Kind != want {
			t.Errorf("%s: %q (%s), want %q", spec, g.Kind, g.Detail, want)
		}
	}
}

func TestVerifyHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := parse(t, "exact").Verify(ctx, reward.Item{Answer: "1"}); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
