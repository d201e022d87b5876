package sim_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// aSpender returns a spender over a set of synthetic prompts, and their source.
func aSpender(t testing.TB, text, population string, prompts int, key stream.Key) (*sim.Spender, rollout.DriftSource) {
	t.Helper()
	src, err := promptSet(t, population, prompts)()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Reset(key); err != nil {
		t.Fatal(err)
	}
	s, err := strategy.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	vectors := make([][]float64, prompts)
	for id, p := range src.Truth() {
		vectors[id] = []float64{p}
	}
	sp := sim.NewSpender(s, prompts, false)
	sp.Begin(key, vectors)
	return sp, src
}

// spent describes a step without saying who got what: the sizes of the groups,
// and of those that are trained on.
func spent(sp *sim.Spender) string {
	var asked, trained []int
	for _, n := range sp.Batch().N {
		if n > 0 {
			asked = append(asked, n)
		}
	}
	sp.EachTrained(func(_, n, _ int) { trained = append(trained, n) })
	slices.Sort(asked)
	slices.Sort(trained)
	return fmt.Sprintf("%v trained %v, %+v", asked, trained, sp.Ledger())
}

// TestControlSpendsAlike: step by step, the random control of every strategy asks
// and trains on groups of the sizes that the strategy itself asks and trains on
// in the same run, at the same cost, and of other prompts. The method's rollouts
// are the same beside it as without it: nothing of the control is seen by it.
// Rollouts kept from earlier steps are no control's.
func TestControlSpendsAlike(t *testing.T) {
	specs := append(strategy.Spending(8, 4), "vigor:update=survivors", "vigor:update=survivors,reuse=false", "vigor:ties=index", "dapo:n=4,gen=2,cap=2")
	moved := 0
	for _, text := range specs {
		if name, _, _ := cut(text); name == "pilot-commit" || name == "oracle" || name == "neyman" {
			continue // the first trains on earlier rollouts, the others see the truth
		}
		key := stream.New(3)
		own, src := aSpender(t, text, "beta:a=0.5,b=0.5", 64, key)
		control, other := aSpender(t, strategy.ControlSpec(text), "beta:a=0.5,b=0.5", 64, key)
		for step := range 4 {
			at := key.With(uint64(step))
			for _, s := range []struct {
				sp  *sim.Spender
				src rollout.DriftSource
			}{{own, src}, {control, other}} {
				if err := s.src.Drift(at, slices.Clone(s.src.Truth())); err != nil {
					t.Fatal(err)
				}
				if err := s.sp.Step(context.Background(), s.src, 8, s.src.Truth(), at); err != nil {
					t.Fatal(text, err)
				}
			}
			if got, want := spent(control), spent(own); got != want {
				t.Errorf("%s, step %d: the control spends\n%s, want\n%s", text, step+1, got, want)
			}
			if !slices.Equal(own.Batch().N, control.Batch().N) || !slices.Equal(own.Batch().ID, control.Batch().ID) {
				moved++
			}
			own.Observe()
			control.Observe()
		}
	}
	if moved < 40 {
		t.Errorf("a control asks other prompts than its strategy in %d steps alone", moved)
	}
}

// cut parts a spec.
func cut(text string) (name, rest string, ok bool) {
	for i, r := range text {
		if r == ':' {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// TestControlIsBlind: VIGOR gives prompts of p = 1/2 more rollouts than dead ones,
// its control does not. On 8 prompts, half of them dead, no prompt has more than
// 30 rollouts, so by Hoeffding the difference of the means of a batch, below 30
// in absolute value, strays over n = 4,000 batches from 0 by tol = 2.6 with
// probability at most 2 exp(-2 n tol^2/60^2) = 6e-7; a difference of 5.2 is missed
// with at most that. VIGOR's own is above it.
func TestControlIsBlind(t *testing.T) {
	const n, tol = 4_000, 2.6
	for text, chooses := range map[string]bool{"vigor": true, "control/vigor": false} {
		key := stream.New(5)
		sp, src := aSpender(t, text, "mixture:0.5@point:p=0.5+0.5@point:p=0", 64, key)
		difference, batches := 0.0, 0
		for step := range n {
			at := key.With(uint64(step))
			if err := src.Drift(at, slices.Clone(src.Truth())); err != nil {
				t.Fatal(err)
			}
			if err := sp.Step(context.Background(), src, 8, src.Truth(), at); err != nil {
				t.Fatal(err)
			}
			var sum, count [2]float64
			for x, id := range sp.Batch().ID {
				kind := 0
				if src.Truth()[id] > 0 {
					kind = 1
				}
				sum[kind] += float64(sp.Batch().N[x])
				count[kind]++
			}
			if count[0] > 0 && count[1] > 0 {
				difference += sum[1]/count[1] - sum[0]/count[0]
				batches++
			}
		}
		if batches < n*9/10 {
			t.Fatalf("%d batches of both kinds, want nearly %d", batches, n)
		}
		if mean := difference / float64(batches); (math.Abs(mean) > tol) != chooses {
			t.Errorf("%s: prompts of p = 1/2 have %.3f rollouts more than dead ones", text, mean)
		}
	}
}

// TestLag: dead prompts that live from the second step on are still dead for
// rollouts that are two steps old, until the fourth.
func TestLag(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Replicates = 8, 2
	cfg.Drift = sim.Drift{Kind: sim.DriftRevival, Rate: 1, P: 0.5}
	for _, c := range []struct {
		lag, steps int
		alive      float64 // share of steps in which rollouts come from living prompts
	}{{0, 1, 0}, {0, 2, 1. / 2}, {1, 2, 0}, {1, 4, 1. / 2}, {2, 3, 0}, {2, 6, 1. / 2}} {
		cfg.Lag, cfg.Steps = c.lag, c.steps
		got := runSteps(t, cfg, promptSet(t, "point:p=0", 8), parsed("fixed:g=8")...).Strategies[0].Acceptance
		// Of 8 rollouts at p = 1/2 all agree with probability 2^-7: 64 groups or more.
		if want := c.alive * (1 - 1./128); !(math.Abs(got.Mean-want) <= 0.1*c.alive) {
			t.Errorf("lag %d, %d steps: acceptance %v, want %v", c.lag, c.steps, got.Mean, want)
		}
	}
	cfg.Lag, cfg.MatchedCost = -1, math.NaN()
	if err := cfg.Validate(); err == nil {
		t.Error("a lag of -1 and a cost that is no number are accepted")
	}
}

// TestAcceptance: on uniform prompts 1 - 2/9 of the groups of 8 are mixed, whatever
// is trained on.
func TestAcceptance(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Steps, cfg.Replicates = 32, 4, 200
	c := runSteps(t, cfg, promptSet(t, "uniform", 1024), parsed("fixed:g=8", "dapo:n=8", "control/dapo:n=8")...)
	for k := range c.Strategies {
		within(t, c.Strategies[k].Strategy, c.Strategies[k].Acceptance, 1-2./9)
	}
}

// TestLadder: every increment is the ratio of the figures to those of the rung
// before, with a paired error; equal rungs differ by nothing.
func TestLadder(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Steps, cfg.Replicates, cfg.Ladder = 8, 4, 8, true
	c := runSteps(t, cfg, promptSet(t, "uniform:tokens=100", 64), parsed("fixed:g=8", "control/vigor", "vigor", "fixed:g=8,prompts=1")...)
	if c.Strategies[0].Increments != nil {
		t.Errorf("the first rung has increments %v", c.Strategies[0].Increments)
	}
	for k := 1; k < len(c.Strategies); k++ {
		if n := len(c.Strategies[k].Increments); n != 9 {
			t.Fatalf("%d increments, want those of 9 objectives", n)
		}
		for _, f := range c.Strategies[k].Increments {
			of := func(k int) sim.Estimate {
				for _, own := range c.Strategies[k].Named() {
					if own.Name == f.Name {
						return *own.Estimate
					}
				}
				t.Fatalf("no figure is called %s", f.Name)
				return sim.Estimate{}
			}
			if got, want := f.Estimate.Mean, of(k).Mean/of(k-1).Mean; !(math.Abs(got-want) <= 1e-12*want) || !(f.Estimate.SE > 0) {
				t.Errorf("%s of rung %d: %v ± %v, want %v", f.Name, k, got, f.Estimate.SE, want)
			}
		}
	}
	twins := runSteps(t, cfg, promptSet(t, "uniform", 64), parsed("fixed:g=8", "fixed:g=8")...)
	for _, f := range twins.Strategies[1].Increments {
		if math.Abs(f.Estimate.Mean-1) > 1e-12 || !(f.Estimate.SE < 1e-9) {
			t.Errorf("%s of twins: %v ± %v, want 1", f.Name, f.Estimate.Mean, f.Estimate.SE)
		}
	}
}

// TestMatchedCost: fixed groups of 8 have reached, at the cost of two of their
// four steps, what groups of 16 on as many prompts have at the end of the first
// of theirs; what costs more than a whole run is not known.
func TestMatchedCost(t *testing.T) {
	cfg := sim.DefaultSteps()
	cfg.Batch, cfg.Steps, cfg.Replicates, cfg.MatchedCost = 8, 4, 50, 16
	set := promptSet(t, "point:p=0.5", 64)
	c := runSteps(t, cfg, set, parsed("fixed:g=8", "fixed:g=16", "fixed:g=2")...)
	within(t, "groups of 8", c.Strategies[0].MatchedEffective, 2*(1-1./128))
	// Of 800 groups of 16 five are alike with probability 1e-10.
	if got := c.Strategies[1].MatchedEffective.Mean; !(got > 1-5./800 && got <= 1) {
		t.Errorf("groups of 16: %v, want about 1", got)
	}
	if r := c.Strategies[2].MatchedEffective.Reason; r == "" || c.Strategies[2].MatchedP.Reason == "" {
		t.Errorf("groups of 2 never cost 16, and have %+v", c.Strategies[2].MatchedEffective)
	}
	// Between steps by a straight line, and half of the reference's cost by default.
	cfg.MatchedCost = 20
	c = runSteps(t, cfg, set, parsed("fixed:g=8")...)
	within(t, "two and a half steps", c.Strategies[0].MatchedEffective, 2.5*(1-1./128))
	cfg.MatchedCost = 32 // the whole run
	c = runSteps(t, cfg, set, parsed("fixed:g=8")...)
	within(t, "the whole run", c.Strategies[0].MatchedEffective, 4*(1-1./128))
	cfg.MatchedCost = 0
	if c = runSteps(t, cfg, set, parsed("fixed:g=8")...); c.Matched != 16 {
		t.Errorf("matched at %v, want half of 4 steps of 8", c.Matched)
	}
	// Learning: 1-p falls by exp(-rate 8) with every mixed group, all prompts in
	// every step. Half way through the second step of two half of its rise is there.
	cfg.Batch, cfg.Steps, cfg.MatchedCost, cfg.Drift = 64, 3, 12, sim.Drift{Kind: sim.DriftLearning, Rate: 0.01}
	c = runSteps(t, cfg, set, parsed("fixed:g=8")...)
	first := 1 - 0.5*(1-(1-1./128)*(1-math.Exp(-0.08)))
	p, next := c.Strategies[0].Curve[1].MeanP, c.Strategies[0].Curve[2].MeanP
	within(t, "before the second step", p, first)
	if got, want := c.Strategies[0].MatchedP.Mean, (p.Mean+next.Mean)/2; math.Abs(got-want) > 1e-12 {
		t.Errorf("half way through the second step: %v, want %v", got, want)
	}
}
