package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/stream"
)

// TestClockByHand: where lengths are unknown every rollout takes 10 seconds and
// every round 3 more. 5 prompts get 4 rollouts each and the best 2 get 6 more:
// 20 and 12 rollouts on 8 places are 3 and 2 turns.
func TestClockByHand(t *testing.T) {
	rounds := []round{{rollouts: 20}, {rollouts: 12}}
	for _, c := range []struct {
		clock Clock
		want  float64
	}{
		{Clock{3, 10, 8}, 2*3 + 10*(3+2)},
		{Clock{3, 10, 0}, 2*3 + 10*2},
		{Clock{3, 0, 8}, 6},
		{Clock{0, 10, 1}, 320},
		{Clock{0, 10, 100}, 20},
	} {
		if got := c.clock.step(rounds, nil); got != c.want {
			t.Errorf("%+v: %v seconds, want %v", c.clock, got, c.want)
		}
	}
	if got := (Clock{}).step(rounds, nil); !math.IsNaN(got) {
		t.Errorf("no clock: %v seconds, want NaN", got)
	}
}

// TestPerSecondByHand: 256 prompts of 8 rollouts are 4 turns of 512 and one round
// for no change; a schedule's gain is divided by its seconds in units of these.
// Strategies that are simulated count their rounds and seconds as they ask.
func TestPerSecondByHand(t *testing.T) {
	o := quick()
	o.Clock = Clock{20, 60, 512}
	o.Replicates = 4
	law := must(distributions.NewBeta(0.3, 0.7))
	f := newField(law, nil, searchNodes, false)
	const still = 20 + 4*60
	equal := must(f.row(candidate{group: 8, budget: 8}, o))
	if equal.Seconds != still || equal.PerSecond != 1 {
		t.Errorf("no change: %v s, %v a second, want %v and 1", equal.Seconds, equal.PerSecond, still)
	}
	// 256 prompts of 4 rollouts, then 64 of 16: 2 turns each
	two := must(f.row(candidate{plan: planOf(t, "vigor:m0=4,rounds=2,alpha=1/4,gamma=4"), budget: 8}, o))
	if want := two.Gain * still / (2 * (20 + 2*60)); two.Seconds != 280 || !(math.Abs(two.PerSecond-want) < 1e-12) {
		t.Errorf("two rounds: %v s, %v a second, want 280 and %v", two.Seconds, two.PerSecond, want)
	}
	if row, ok := fastest([]Row{equal, two}); !ok || row.Strategy != two.Strategy {
		t.Errorf("the fastest is %q, want %q", row.Strategy, two.Strategy)
	}
	others := must(simulate(t.Context(), law, nil, []Row{equal, two}, o))
	halving := slices.IndexFunc(others, func(s Simulated) bool { return strings.HasPrefix(s.Strategy, "sequential-halving") })
	if halving < 0 {
		t.Fatalf("no sequential halving among %v", others)
	}
	s := others[halving]
	// log2 256 rounds of 2048/8 rollouts, at most one turn each
	if want := s.Gain * still / (8 * 80); s.Rounds != 8 || s.Seconds != 8*80 || !(math.Abs(s.PerSecond-want) < 1e-12) {
		t.Errorf("%s: %d rounds, %v s, %v a second, want 8, 640 and %v", s.Strategy, s.Rounds, s.Seconds, s.PerSecond, want)
	}
	o.Clock = Clock{}
	if row, ok := fastest([]Row{must(newField(law, nil, searchNodes, false).row(two.candidate, o))}); ok {
		t.Errorf("without a clock %q is the fastest, want none", row.Strategy)
	}
}

// TestClockOfEqualLengths: where all rollouts are as long but hard prompts take
// twice as long as easy ones, a round of the hard ones alone takes twice as
// long, in units of the mean rollout of both, 1.5.
func TestClockOfEqualLengths(t *testing.T) {
	lengths := must(distributions.NewRecordedLengths([]distributions.Recorded{{P: 0, Tokens: 200}, {P: 1, Tokens: 100}}))
	both := []distributions.Node{{P: 0, W: 0.5}, {P: 1, W: 0.5}}
	hard := []distributions.Node{{P: 0, W: 0.5}, {P: 1, W: 0}}
	if got := meanTokens(lengths, both); got != 150 {
		t.Errorf("mean %v tokens, want 150", got)
	}
	if got := meanTokens(lengths, hard); got != 200 {
		t.Errorf("mean of the hard ones %v tokens, want 200", got)
	}
	clock := Clock{RolloutSeconds: 1, Concurrency: 1}
	// One place: 1 of 7 rollouts is the longest of one, the mean.
	got := clock.step([]round{{7, both}, {7, hard}}, lengths)
	if want := 7 + 7*200./150; !(math.Abs(got-want) < 0.01*want) {
		t.Errorf("%v seconds, want %v", got, want)
	}
}

// TestStragglers holds the longest of k rollouts to draws: means of 4000 have
// standard errors below 1 % (the longest of k varies by less than half of its
// mean), and 5 of them, a false alarm rate below 1e-6, are 5 %, of which the
// grid of the integral takes a part. An error of 10 % is missed as rarely.
func TestStragglers(t *testing.T) {
	lengths := must(distributions.NewLengthLaw(1000, 700, 1, 6000))
	nodes := []distributions.Node{{P: 0.1, W: 0.3}, {P: 0.5, W: 0.5}, {P: 0.9, W: 0.2}}
	r := stream.Rand(stream.New(3).Named("stragglers"))
	for _, k := range []int{1, 4, 64, 500} {
		const n = 4000
		sum := 0.0
		for range n {
			most := 0
			for range k {
				p, u := 0.9, r.Float64()
				switch {
				case u < 0.3:
					p = 0.1
				case u < 0.8:
					p = 0.5
				}
				most = max(most, lengths.Rand(p, r))
			}
			sum += float64(most)
		}
		if got, want := longest(float64(k), lengths, nodes), sum/n; !(math.Abs(got/want-1) < 0.05) {
			t.Errorf("longest of %d: %.0f tokens, draws have %.0f", k, got, want)
		}
	}
}

// TestRoundsOfASchedule: the default schedule asks 2, 4, 8 and 16 rollouts of a
// batch of 256, of 128, 64 and 32; later rounds have more prompts of p = 1/2.
func TestRoundsOfASchedule(t *testing.T) {
	law := must(distributions.NewAtoms([]distributions.Node{{P: 0.5, W: 0.5}, {P: 1, W: 0.5}}))
	f := newField(law, nil, searchNodes, false)
	m, _, err := f.scheduled(planOf(t, "vigor"))
	if err != nil {
		t.Fatal(err)
	}
	before := 0.0
	for i, r := range roundsOf(candidate{plan: planOf(t, "vigor"), budget: 8}, m, 256) {
		if r.rollouts != 512 {
			t.Errorf("round %d has %v rollouts, want 512", i+1, r.rollouts)
		}
		mass := r.nodes[0].W + r.nodes[1].W
		if !(math.Abs(mass-math.Pow(0.5, float64(i))) < 1e-12) || !(r.nodes[0].W/mass >= before) || i == 1 && !(r.nodes[0].W/mass > 0.5) {
			t.Errorf("round %d: %+v", i+1, r.nodes)
		}
		before = r.nodes[0].W / mass
	}
	rounds := roundsOf(candidate{group: 16, budget: 8}, must(f.fixedGroups(16)).MeanField, 256)
	if len(rounds) != 1 || rounds[0].rollouts != 8*256 {
		t.Errorf("fixed groups of 16 on half of the prompts: %v", rounds)
	}
}
