// Package reward judges completions: it holds the verifiers, which turn what a
// model wrote into a reward. It refuses to know where completions come from and
// who gets how many.
package reward

import (
	"context"
	"fmt"
)

// An Item is what a verifier judges.
type Item struct {
	Prompt     string
	Completion string // what the model wrote
	Answer     string // the reference, as the data set has it; "" where there is none
	Truncated  bool   // the completion was cut off by a limit on its tokens
	// Index numbers the completions of a prompt. Verifiers that draw at random
	// tell equal completions apart by it; the others do not look at it.
	Index uint64
}

// A Kind says in a word how a completion was judged.
type Kind string

// The kinds. A reward of 1 is Right (of a program, Pass), one inside (0, 1)
// Partial, and one of 0 any other.
const (
	Right      Kind = "right"
	Wrong      Kind = "wrong"
	CannotTell Kind = "cannot tell" // outside what the verifier can judge; not the same as wrong
	Partial    Kind = "partial"     // a reward inside (0, 1)

	// What becomes of a program, beside Wrong and Partial.
	Pass    Kind = "pass"
	Error   Kind = "error"
	Time    Kind = "time"
	Memory  Kind = "memory"
	Sandbox Kind = "sandbox" // it tried what the sandbox forbids
)

// Kinds lists every kind, the best first.
func Kinds() []Kind {
	return []Kind{Right, Pass, Partial, Wrong, Error, Time, Memory, Sandbox, CannotTell}
}

// A Grade is a verifier's judgement of a completion.
type Grade struct {
	Reward float64 // in [0, 1]; 0 for CannotTell
	Kind   Kind
	Detail string // the reason in a few words, for people
}

// A Verifier judges completions. Goroutines may share one, and equal items get
// equal rewards, from whatever goroutine and in whatever order; of Command,
// which asks a program of the user's, that is for the program to keep.
type Verifier interface {
	// Verify judges the item. An error is a failure of the verifier (or ctx
	// ended), never of the completion, which gets a Grade however bad it is.
	Verify(ctx context.Context, item Item) (Grade, error)
	// String returns the normalised spec, which Parse reads back.
	String() string
	// Close ends what the verifier runs; Verify fails after it.
	Close() error
}

// judge is a Verifier that needs nothing but the item, and so never fails.
type judge interface {
	judge(item Item) Grade
	needsAnswer() bool
	String() string
}

// pure makes a Verifier of a judge.
type pure struct{ judge }

func (p pure) Verify(ctx context.Context, item Item) (Grade, error) {
	if err := ctx.Err(); err != nil {
		return Grade{}, err
	}
	return p.judge.judge(item), nil
}

func (pure) Close() error { return nil }

// right grades by a yes or no; the detail says what was compared.
func right(yes bool, detail string, args ...any) Grade {
	g := Grade{Reward: 0, Kind: Wrong, Detail: fmt.Sprintf(detail, args...)}
	if yes {
		g.Reward, g.Kind = 1, Right
	}
	return g
}

// cannotTell is the grade of what a verifier cannot judge.
func cannotTell(detail string, args ...any) Grade {
	return Grade{Kind: CannotTell, Detail: fmt.Sprintf(detail, args...)}
}

// brief cuts a text for a detail.
func brief(text string) string {
	const most = 60
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%.*q...", most, text)
}

// kindOf returns the kind of a reward where nothing else is known.
func kindOf(reward float64) Kind {
	switch {
	case reward == 1:
		return Right
	case reward > 0:
		return Partial
	}
	return Wrong
}
