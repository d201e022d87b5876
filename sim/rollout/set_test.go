package rollout_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 20260101)) }

// TestSetEpochs: every epoch visits every prompt once, in another order, and
// Load tells the epochs apart.
func TestSetEpochs(t *testing.T) {
	const prompts, batch = 12, 4
	s := rollout.NewSet(prompts)
	s.Restart(newRand())
	b := &rollout.Batch{Tokens: []int{}}
	var orders [][]int
	for epoch := range 3 {
		var seen []int
		for range prompts / batch {
			s.Begin(b)
			if got := s.Load(batch); got != batch || b.Len() != batch || len(b.Tokens) != batch {
				t.Fatalf("loaded %d of %d, %d in the batch, %d with tokens", got, batch, b.Len(), len(b.Tokens))
			}
			if s.Epoch() != epoch {
				t.Errorf("epoch %d, want %d", s.Epoch(), epoch)
			}
			seen = append(seen, b.ID...)
		}
		orders = append(orders, slices.Clone(seen))
		slices.Sort(seen)
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
			t.Errorf("epoch %d visits %v", epoch, seen)
		}
	}
	if slices.Equal(orders[0], orders[1]) {
		t.Errorf("two epochs in the same order %v", orders[0])
	}
	s.Restart(newRand())
	s.Begin(b)
	s.Load(prompts)
	if !slices.Equal(b.ID, orders[0]) {
		t.Errorf("the same generator gives the order %v, then %v", orders[0], b.ID)
	}
}

// TestSetAdmit: no prompt stands twice in a batch, and a set that is in the
// batch already loads nothing more.
func TestSetAdmit(t *testing.T) {
	s := rollout.NewSet(5)
	s.Restart(newRand())
	b := new(rollout.Batch)
	s.Begin(b)
	for place, id := range []int{3, 1} {
		if got := s.Admit(id); got != place {
			t.Errorf("prompt %d stands at %d, want %d", id, got, place)
		}
	}
	if got := s.Admit(3); got != 0 || b.Len() != 2 {
		t.Errorf("prompt 3 again: place %d of %d, want 0 of 2", got, b.Len())
	}
	if got := s.Load(9); got != 3 {
		t.Errorf("loaded %d, want the 3 that were left", got)
	}
	if got := s.Load(1); got != 0 || b.Tokens != nil {
		t.Errorf("loaded %d more, tokens %v", got, b.Tokens)
	}
	s.Begin(b)
	if b.Len() != 0 || s.Admit(3) != 0 {
		t.Errorf("a step begins with %d prompts", b.Len())
	}
}
