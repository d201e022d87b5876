package strategy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/sim/lookahead"
	"vigorlab/sim/rollout"
)

// TestLookaheadTopsUp: what no plan asks for is spent all the same, by lot and
// within max. At a price of 100 nobody is asked anything: of 11 rollouts two
// prompts with 4 of 6 take 2 each, and one with none of them 6; the last one, 1.
func TestLookaheadTopsUp(t *testing.T) {
	l := &Lookahead{plan: lookahead.Parameters{Group: 5, First: 4, Rounds: 2, Max: 6}}
	if err := l.Start(4); err != nil {
		t.Fatal(err)
	}
	b := &rollout.Batch{N: []int{4, 0, 4, 5}, S: []int{0, 0, 4, 2}}
	l.count(b)
	l.grid.Learn(&l.prior, l.mass)
	l.plans.Low.Make(&l.prior, 1, 0, 100)
	l.plans.High.Make(&l.prior, 1, 0, 100)
	l.choose(b, 11, rand.New(rand.NewPCG(1, 1)))
	if want := []int{0, 0, 0, 0}; !slices.Equal(l.n, want) {
		t.Errorf("at a price of 100 the plan asks %v, want nothing", l.n)
	}
	if l.topUp(b, 11); !slices.Equal(l.n, []int{2, 6, 2, 1}) {
		t.Errorf("topped up by %v, want [2 6 2 1]", l.n)
	}
	l.n = []int{0, 0, 0, 0}
	l.topUp(b, 3)
	spent := 0
	for x, n := range l.n {
		if spent += n; n+b.N[x] > 6 {
			t.Errorf("prompt %d has %d rollouts", x, n+b.N[x])
		}
	}
	if spent != 3 {
		t.Errorf("topped up by %v, want 3 rollouts", l.n)
	}
}
