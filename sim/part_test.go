package sim_test

import (
	"reflect"
	"testing"

	"vigorlab/sim/stream"
)

// TestPartByHand: VIGOR on four prompts whose rewards are written down. Round 1
// asks 2 of each; prompts 0 and 2 are mixed, and kept.
func TestPartByHand(t *testing.T) {
	src := scripted{{0, 1, 0, 0, 1, 1, 1, 0}, {0, 0, 1, 1}, {1, 0, 1, 1, 1, 1, 0, 1}, {1, 1, 1, 0}}
	o := observe(t, src, "vigor:rounds=2", 2, stream.New(1))
	p := o.Part([]int{2, 3})
	if p.Batch != 2 || len(p.Rounds) != 2 || len(p.Rounds[0].Ask) != 2 || len(p.Rounds[1].Ask) != 1 {
		t.Fatalf("part %+v, want prompts 2 and 3 in round 1, and 2 in round 2", p)
	}
	if q := p.Rounds[1].Ask[0]; q.X != 0 || q.N != 4 || p.Rounds[1].S[0] != 4 {
		t.Errorf("round 2 asks %+v with %d successes, want 4 of the part's first prompt, all correct", q, p.Rounds[1].S[0])
	}
	n, s := p.Counts()
	if want := []int{8, 4}; !reflect.DeepEqual(n, want) {
		t.Errorf("rollouts %v, want %v: 2 + 4 and 2, and 2 held out", n, want)
	}
	if want := []int{6, 3}; !reflect.DeepEqual(s, want) {
		t.Errorf("successes %v, want %v", s, want)
	}
	survivors := observe(t, src, "vigor:rounds=2,update=survivors", 2, stream.New(1)).Part([]int{3, 2})
	if got := survivors.Update.Prompts; !reflect.DeepEqual(got, []int{1}) {
		t.Errorf("the update uses %v of the part of prompts 3 and 2, want its second", got)
	}
	if out := p.Outcome(); out.Ineffective.Mean != 2.0/8 {
		t.Errorf("ineffective = %v, want 2/8: of groups of 6 and 2 the second agrees", out.Ineffective.Mean)
	}
}

// TestPartOfAll: the part of all prompts is the whole, apart from its budget.
func TestPartOfAll(t *testing.T) {
	for _, spec := range []string{"vigor", "vigor:update=survivors", "vigor:reuse=false", "pods", "sequential-halving", "mc-ucb"} {
		o := observe(t, syntheticBatch(t, 40, nil), spec, 2, stream.New(3))
		all := make([]int, o.Batch)
		for x := range all {
			all[x] = x
		}
		whole, part := o.Outcome(), o.Part(all).Outcome()
		if whole.Eta != part.Eta || whole.Signal != part.Signal || whole.Ineffective != part.Ineffective || whole.ZeroVarianceGroups != part.ZeroVarianceGroups {
			t.Errorf("%s: %+v, of all prompts %+v", spec, whole, part)
		}
	}
}
