package strategy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

func TestControlSpecs(t *testing.T) {
	wantSpecs(t, map[string]string{
		"control/fixed:g=4":          "control/fixed:g=4",
		" control/vigor":             "control/" + mustParse(t, "vigor").Spec(),
		"control/ar3po:stages=2,k=4": "control/ar3po:stages=2,k=4,reuse=stop-gradient",
	})
	wantFaults(t, map[string][]string{
		"control/":              {"has no name"},
		"control/vigr":          {"did you mean vigor?"},
		"control/control/vigor": {"a control of a control"},
		"control/fixed:g=0":     {"g = 0"},
	})
	if err := mustParse(t, "control/speceval").Start(8); err != nil {
		t.Error(err)
	}
}

// TestControlTrace follows a plan by hand: two rounds on a batch of three of a set
// of five, one group trained on in part, another left out, weights. Whoever the
// lot takes, sizes, rounds, parts and weights stay together.
func TestControlTrace(t *testing.T) {
	c := mustParse(t, "control/vigor").(*strategy.Control)
	plan := &strategy.Plan{
		Rounds:  [][]rollout.Request{{{X: 0, N: 2}, {X: 1, N: 2}, {X: 2, N: 2}}, {{X: 1, N: 4}}},
		Prompts: 3,
		Update: strategy.Update{
			Prompts: []int{1, 2}, N: []int{2, 3, 2}, S: []int{0, 1, 2}, Weights: []float64{1, 5, 7}, Failed: true,
			Baselines: []float64{0.5, 0.5, 0.5},
		},
	}
	set, b, r := rollout.NewSet(5), new(rollout.Batch), seeded(4)
	set.Restart(seeded(5))
	second := map[int]int{} // who gets the second round
	for range 60 {
		set.Begin(b)
		c.Follow(plan)
		if err := c.Start(3); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for {
			ask := c.Next(b, nil, r)
			if len(ask) == 0 {
				break
			}
			for _, q := range ask {
				b.N[q.X] += q.N
				b.S[q.X] += q.N // all succeed
				sizes = append(sizes, q.N)
			}
			b.Round++
		}
		if fmt.Sprint(sizes, b.Round) != "[2 2 2 4] 2" || b.Len() != 3 {
			t.Fatalf("rollouts and rounds %v %d on %d prompts", sizes, b.Round, b.Len())
		}
		at := slices.Index(b.N, 6)
		second[at]++
		u := c.Update()
		if !u.Failed || u.Baselines != nil || len(u.Prompts) != 2 || u.Prompts[0] != at || u.N[at] != 3 || u.S[at] != 3 || u.Weights[at] != 5 {
			t.Fatalf("update %+v of groups %v", u, b.N)
		}
		if x := u.Prompts[1]; u.N[x] != 2 || u.S[x] != 2 || u.Weights[x] != 7 {
			t.Fatalf("update %+v of groups %v", u, b.N)
		}
	}
	if len(second) != 3 {
		t.Errorf("the second round goes to places %v alone", second)
	}
	// Nobody trained on is not everybody.
	c = mustParse(t, "control/vigor").(*strategy.Control)
	c.Follow(&strategy.Plan{Update: strategy.Update{Prompts: []int{}}})
	set.Begin(b)
	if c.Next(b, nil, r); c.Update().Prompts == nil {
		t.Error("an update of no group became one of all")
	}
}

// TestControlPicks: the control of a strategy that picks prompts takes as many, any
// of the set. In 100 steps of 2 of 5 one stays out with probability 5 * .6^100 =
// 3e-22.
func TestControlPicks(t *testing.T) {
	c := mustParse(t, "control/dapo").(*strategy.Control)
	set, b, r := rollout.NewSet(5), new(rollout.Batch), seeded(8)
	set.Restart(seeded(9))
	taken := map[int]bool{}
	for range 100 {
		set.Begin(b)
		c.Follow(&strategy.Plan{Prompts: 2, Rounds: [][]rollout.Request{{{X: 0, N: 1}, {X: 1, N: 1}}}})
		if ask := c.Next(b, nil, r); len(ask) != 2 || b.Len() != 2 {
			t.Fatalf("%v asked of %d prompts, want 2 of 2", ask, b.Len())
		}
		taken[b.ID[0]], taken[b.ID[1]] = true, true
	}
	if len(taken) != 5 {
		t.Errorf("prompts %v alone are taken", taken)
	}
}

// TestHits: of 6 rollouts with 2 successes 3 are kept, which have 0, 1 or 2 of
// them with probability 1/5, 3/5, 1/5. By Hoeffding the share of one outcome in n =
// 20,000 strays by .0201 with probability at most 1.9e-7, one of three with less
// than 1e-6; a share off by .0402 is missed with at most that.
func TestHits(t *testing.T) {
	const n, tol = 20_000, 0.0201
	r := seeded(6)
	var count [3]int
	for range n {
		count[strategy.Hits(6, 2, 3, r)]++
	}
	for k, want := range []float64{0.2, 0.6, 0.2} {
		if share := float64(count[k]) / n; !(math.Abs(share-want) < tol) {
			t.Errorf("%d successes kept in a share %.4f, want %.4f", k, share, want)
		}
	}
	if strategy.Hits(5, 2, 5, r) != 2 || strategy.Hits(5, 5, 3, r) != 3 || strategy.Hits(5, 2, 0, r) != 0 {
		t.Error("a whole group loses successes, or none keeps some")
	}
}
