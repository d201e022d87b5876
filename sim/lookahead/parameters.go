package lookahead

import (
	"errors"
	"fmt"
)

// MostRounds bounds the rounds; more than a few gain next to nothing.
const MostRounds = 16

// Parameters are those of the strategy lookahead.
type Parameters struct {
	Group  int // g: rollouts a prompt of the batch on average, in [1, Max]
	First  int // of every prompt in round 1, in [1, Group]
	Rounds int // at most, in [1, MostRounds]
	Max    int // rollouts that a prompt gets at most, in [Group, MostRollouts]
}

// Validate reports every parameter outside its range, joined.
func (p Parameters) Validate() error {
	within := func(name string, x, low, high int) error {
		return unless(x >= low && x <= high, name, x, fmt.Sprintf("a whole number in [%d, %d]", low, high))
	}
	return errors.Join(
		within("g", p.Group, 1, MostRollouts),
		within("first", p.First, 1, p.Group),
		within("rounds", p.Rounds, 1, MostRounds),
		within("max", p.Max, p.Group, MostRollouts),
	)
}
