package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func BenchmarkSelectOracle(b *testing.B) {
	for _, objective := range objectives {
		b.Run(objective, func(b *testing.B) { benchmarkBatch(b, "oracle:objective="+objective) })
	}
	b.Run("signal, max=100", func(b *testing.B) { benchmarkBatch(b, "oracle:max=100") }) // 8192 is no multiple of 100
}

// BenchmarkSelectOracleSet times a choice of 8192 rollouts over 4096 prompts of
// every difficulty, for batches of 1024, and of 512 over 512.
func BenchmarkSelectOracleSet(b *testing.B) {
	for _, objective := range setObjectives {
		for _, max := range []int{128, 100, 3} { // 8192 is no multiple of 100 or 3
			text := fmt.Sprintf("oracle:objective=%s,max=%d,g=%d,prompts=set", objective, max, min(8, max))
			b.Run(fmt.Sprintf("%s/max=%d/4096", objective, max), func(b *testing.B) { benchmarkSet(b, text, 4096, 1024) })
			b.Run(fmt.Sprintf("%s/max=%d/512", objective, max), func(b *testing.B) { benchmarkSet(b, text, 512, 64) })
			b.Run(fmt.Sprintf("%s/max=%d/512 equal", objective, max), func(b *testing.B) { benchmarkChoice(b, text, slices.Repeat([]float64{0.2}, 512), 64) })
		}
	}
}

func benchmarkSet(b *testing.B, text string, prompts, batch int) {
	p := make([]float64, prompts)
	for i := range p {
		p[i] = (float64(i) + 0.5) / float64(prompts)
	}
	benchmarkChoice(b, text, p, batch)
}

func benchmarkChoice(b *testing.B, text string, p []float64, batch int) {
	s, r := mustParse(b, text), seeded(1)
	set, seen := rollout.NewSet(len(p)), new(rollout.Batch)
	set.Restart(r)
	var ask []rollout.Request
	b.ReportAllocs()
	for b.Loop() {
		set.Begin(seen)
		if err := s.Start(batch); err != nil {
			b.Fatal(err)
		}
		s.(strategy.TruthSeer).SeeTruth(p)
		ask = s.Next(seen, ask[:0], r)
	}
}

var objectives = []string{"signal", "progress", "effective", "hits", "gradient-variance"}

// setObjectives are those that a choice over the whole set can be best for.
var setObjectives = objectives[:4]

func TestOracleConformance(t *testing.T) {
	wantConform(
		t,
		"oracle", "oracle:g=1,max=1", "oracle:g=3,max=5,objective=progress", "oracle:g=3,max=7,objective=effective",
		"oracle:g=2,max=6,objective=hits,hard=0.5", "oracle:g=4,max=9,objective=gradient-variance",
		"oracle:prompts=set", "oracle:prompts=set,g=1,max=1", "oracle:prompts=set,g=3,max=5,objective=progress",
		"oracle:prompts=set,g=3,max=7,objective=effective", "oracle:prompts=set,g=1,max=2,objective=effective",
		"oracle:prompts=set,g=2,max=6,objective=hits,hard=0.5",
	)
}

func TestOracleSpending(t *testing.T) {
	wantSpending(t, "oracle", map[int]string{
		1:   "oracle:objective=signal,g=1,max=16,prompts=set",
		8:   "oracle:objective=signal,g=8,max=128,prompts=set",
		100: "oracle:objective=signal,g=100,max=1024,prompts=set",
	})
	for g, wants := range map[int][]string{
		1: {"signal,g=1,max=16,set", "progress,g=1,max=16,set", "effective,g=1,max=16,set", "hits,g=1,max=16,set"},
		8: {
			"signal,g=8,max=128,set", "progress,g=8,max=128,set", "effective,g=8,max=128,set", "hits,g=8,max=128,set",
			"gradient-variance,g=8,max=128,batch",
		},
	} {
		got := strategy.Oracles(g, 0.3)
		if len(got) != len(wants) {
			t.Fatalf("for %d rollouts a prompt: %q, want %d", g, got, len(wants))
		}
		for i, want := range wants {
			groups, prompts := want[:strings.LastIndex(want, ",")], want[strings.LastIndex(want, ",")+1:]
			s, hard := mustParse(t, got[i]), "0.2"
			if strings.HasPrefix(groups, "hits") {
				hard = "0.3"
			}
			if want := "oracle:objective=" + groups + ",hard=" + hard + ",prompts=" + prompts; s.Spec() != want {
				t.Errorf("for %d rollouts a prompt: %s, want %s", g, s.Spec(), want)
			}
			if picks := s.Capabilities().PicksPrompts; picks != (prompts == "set") {
				t.Errorf("%s: picks_prompts is %v", s.Spec(), picks)
			}
		}
	}
}

func TestOracleRefuses(t *testing.T) {
	wantRefused(t, map[string]string{
		"oracle:objective=progres":               "did you mean progress?",
		"oracle:g=8,max=7":                       "oracle: g = 8, want at most max = 7",
		"oracle:max=1025":                        "max = 1025, want a whole number in [1, 1024]",
		"oracle:objective=gradient-variance,g=1": "g = 1, want at least 2",
		"oracle:hard=1.1":                        "hard = 1.1, want [0, 1]",
		"oracle:prompts=all":                     "prompts = all, want one of batch, set",
		"oracle:prompts=set,objective=gradient-variance": "oracle: prompts = set, want batch for objective=gradient-variance: " +
			"prompts left out of the mean over the set are bias, not variance",
		"oracle:objective=hits,hard=NaN,budget=10": "hard = NaN",
	})
}

// binomial returns the law of the successes of n rollouts, from logarithms of
// factorials: not as ExpectedSignal makes it.
func binomial(n int, p float64) []float64 {
	law := make([]float64, n+1)
	all, _ := math.Lgamma(float64(n + 1))
	for k := range law {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		law[k] = math.Exp(all-a-b) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	}
	return law
}

// TestOracleFormulas holds the exported values to the specification, to sums
// over the binomial law, and to their documented shapes.
func TestOracleFormulas(t *testing.T) {
	for _, c := range []struct{ p, n, want float64 }{{0.25, 8, 0.007115}, {0.1, 8, 0.007489}, {0.5, 4, 0.010417}} {
		wantNear(t, "variance of RLOO", strategy.RLOOVariance(c.p, int(c.n)), c.want, 5e-7)
	}
	for n, want := range map[int]float64{4: 0.343800, 8: 0.569533, 16: 0.814698, 32: 0.965663, 64: 0.998821} {
		wantNear(t, "effective groups, p = 0.1", strategy.EffectiveProbability(0.1, n), want, 5e-7)
	}
	for _, p := range []float64{0, 0.01, 0.3, 0.5, 0.95, 1} {
		signal := strategy.ExpectedSignal(p, 128)
		wantNear(t, "signal of no rollouts", signal[0], 0, 0)
		for n := 2; n <= 128; n++ {
			var sd, effective, m1, m2 float64
			for k, w := range binomial(n, p) {
				mixed := float64(k) * float64(n-k)
				sd += w * 2 * math.Sqrt(mixed)
				if mixed > 0 {
					effective += w
				}
				rloo := mixed / float64(n*(n-1))
				m1 += w * rloo
				m2 += w * rloo * rloo
			}
			at := fmt.Sprintf(", p = %v, n = %d", p, n)
			wantNear(t, "signal"+at, signal[n], sd, 1e-10)
			wantNear(t, "effective"+at, strategy.EffectiveProbability(p, n), effective, 1e-12)
			wantNear(t, "variance of RLOO"+at, strategy.RLOOVariance(p, n), m2-m1*m1, 1e-12)
			if signal[n]/float64(n) < signal[n-1]/float64(n-1)-1e-14 {
				t.Errorf("signal per rollout falls at%s", at)
			}
		}
	}
	half := strategy.ExpectedSignal(0.5, 4)
	wantNear(t, "third rollout at p = 1/2", half[3]-half[2], 1.121, 5e-4)
	wantNear(t, "fourth rollout at p = 1/2", half[4]-half[3], 1.111, 5e-4)
}

// TestOracleUniformSignal: with uniform p the successes of 8 rollouts are
// uniform on 0..8, and the signal per rollout is 0.6657131 (theory.md, 3.2). The
// midpoint sum of a polynomial of degree 8 over 10,000 values misses by < 1e-7.
func TestOracleUniformSignal(t *testing.T) {
	const m = 10_000
	sum := 0.0
	for i := range m {
		sum += strategy.ExpectedSignal((float64(i)+0.5)/m, 8)[8] / 8
	}
	wantNear(t, "signal of fixed groups of 8", sum/m, 0.6657131, 1.5e-7)
}

// TestOracleTraces follows small cases by hand. E[n sigma_n] at p = 1/2 is 0, 1,
// 2.1213, 3.2320 for n = 1..4; at p = 0.2, v = 0.16: 0, 4v = 0.64,
// 6 sqrt(2) v = 1.3576, 8 sqrt(3) v(1-2v) + 24 v^2 = 2.1220.
func TestOracleTraces(t *testing.T) {
	for _, c := range []struct {
		spec string
		p    []float64
		n    []int
	}{
		// 4 and 2: 3.2320 + 0.64 = 3.872; 3 and 3: 3.479; 2 and 4: 3.122.
		{"oracle:g=2,max=4", []float64{0.5, 0.2, 0}, []int{4, 2, 0}},
		// Not convex: 3 and 3 have 4.2426, 4 and 2 only 4.2320.
		{"oracle:g=3,max=4", []float64{0.5, 0.5}, []int{3, 3}},
		// One prompt can take everything: the best does.
		{"oracle:g=2", []float64{0.2, 0.5, 0.9}, []int{0, 6, 0}},
		// The fourth rollout of p = 1/2 adds 1.11073, the third of p = 0.455, v =
		// 0.247975, (6 sqrt(2) - 4) v = 1.11224 of signal and 4v times that, 1.10323,
		// of progress.
		{"oracle:g=3,max=4", []float64{0.5, 0.455}, []int{3, 3}},
		{"oracle:g=3,max=4,objective=progress", []float64{0.5, 0.455}, []int{4, 2}},
		// 2 and 2 have 0.5 + 0.32 = 0.82; 3 and 1 0.75, 4 and 0 0.875.
		{"oracle:g=2,objective=effective", []float64{0.5, 0.2}, []int{4, 0}},
		// 3 and 3 have 0.75 + 0.48 = 1.23, 4 and 2 0.875 + 0.32, 2 and 4 0.5 + 0.589.
		{"oracle:g=3,objective=effective", []float64{0.5, 0.2}, []int{3, 3}},
		// Gains p q^n of 0.2: 0.2, 0.16, 0.128, 0.1024, 0.0819; of 0.1: 0.1, 0.09.
		// 0.5 is not hard.
		{"oracle:g=2,objective=hits", []float64{0.2, 0.1, 0.5}, []int{4, 2, 0}},
		// All solved or dead: nothing to hit.
		{"oracle:g=2,objective=hits", []float64{0, 1, 0}, []int{2, 2, 2}},
		// v = 0.25: 2v^2/(n(n-1)): 0.0625, 0.020833, 0.010417. p = 0.1, v = 0.09:
		// 0.0576/n + 0.0162/(n(n-1)): 0.0369, 0.0219, 0.01575. Gains 0.041667 and
		// 0.0150; then 0.010417 and 0.0150; then 0.010417 and 0.00615.
		{"oracle:g=3,objective=gradient-variance", []float64{0.5, 0.1, 1}, []int{4, 3, 2}},
	} {
		if got := groupsOf(t, c.spec, c.p, seeded(1)); !slices.Equal(got, c.n) {
			t.Errorf("%s, p = %v: groups %v, want %v", c.spec, c.p, got, c.n)
		}
	}
}

// TestOracleSetTraces follows two steps over a whole set by hand, ties by place.
// Between them a prompt moves.
func TestOracleSetTraces(t *testing.T) {
	for _, c := range []struct {
		spec  string
		batch int
		p     []float64
		moves int // this prompt
		to    float64
		want  []string
	}{
		// 6 rollouts, max = 4: only floor(12/5) = 2 prompts can matter, p = 1/2 and
		// the first 0.2: 4 and 2 have 3.2320 + 0.64 = 3.872, 3 and 3 have 3.479. Then
		// 1/2 is solved, and of two 0.2 4 and 2 have 2.1220 + 0.64 = 2.762, 3 and 3
		// only 2.715.
		{
			"oracle:g=2,max=4,prompts=set", 3,
			[]float64{0.2, 0, 0.5, 0.9, 0.2},
			2, 1,
			[]string{"0:2 2:4 -> all", "0:4 4:2 -> all"},
		},
		// u = 0.64, 0.36, 1: the same choice. Then u = 0.64, 0.36, 0.64, and p = 0.8
		// stands for 0.2: 0.64 times the signal above.
		{
			"oracle:g=2,max=4,objective=progress,prompts=set", 3,
			[]float64{0.2, 0.9, 0.5},
			2, 0.8,
			[]string{"0:2 2:4 -> all", "0:4 2:2 -> all"},
		},
		// 4 rollouts, v = 0.25, 0.16, 0.24: p = 1/2 gets two (0.5) and a third
		// (0.25). The last one is worth 0.125 there; with the third it makes a pair
		// for p = 0.4, 0.48 - 0.25 = 0.23. Then p = 0.4 is 0.2 as well, and the pair
		// brings 0.32 - 0.25 = 0.07 only.
		{
			"oracle:g=2,objective=effective,prompts=set", 2,
			[]float64{0.5, 0.2, 0.4, 0, 0.9},
			2, 0.2,
			[]string{"0:2 2:2 -> all", "0:4 -> all"},
		},
		// Gains 0.2 and 0.16 twice. Then one prompt is no longer hard, and the other
		// gains 0.2, 0.16, 0.128, 0.1024, more than the first rollout of p = 0.1.
		{
			"oracle:g=2,objective=hits,prompts=set", 2,
			[]float64{0.2, 0.1, 0.5, 0.2},
			3, 0.6,
			[]string{"0:2 3:2 -> all", "0:4 -> all"},
		},
	} {
		w := strategytest.World{Prompts: len(c.p), Batch: c.batch, Truth: slices.Clone(c.p)}
		w.Answer = func(_, _, _, _ int) int {
			w.Truth[c.moves] = c.to
			return 0
		}
		follow(t, mustParse(t, c.spec), w, rand.New(inOrder{}), c.want)
	}
}

// oracleWorths are the objectives, hits of prompts with p <= 0.3, and the least
// groups.
var oracleWorths = map[string]struct {
	low   int
	value func(p float64, n int) float64
}{
	"signal":    {0, func(p float64, n int) float64 { return strategy.ExpectedSignal(p, n)[n] }},
	"progress":  {0, func(p float64, n int) float64 { return 4 * p * (1 - p) * strategy.ExpectedSignal(p, n)[n] }},
	"effective": {0, strategy.EffectiveProbability},
	"hits": {0, func(p float64, n int) float64 {
		if p > 0.3 {
			return 0
		}
		return 1 - math.Pow(1-p, float64(n))
	}},
	"gradient-variance": {2, func(p float64, n int) float64 { return -strategy.RLOOVariance(p, n) }},
}

// somePrompts returns success probabilities of a set: any, tied ones, corners,
// hard ones, and such as lie near 1/2.
func somePrompts(n int, r *rand.Rand) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = []float64{r.Float64(), float64(r.IntN(5)) / 4, 0.3 * r.Float64(), 0.4 + 0.2*r.Float64()}[r.IntN(4)]
	}
	return p
}

// TestOracleExact compares every objective with the best of all choices.
func TestOracleExact(t *testing.T) {
	r := seeded(8)
	for _, objective := range objectives {
		worth := oracleWorths[objective]
		for range 80 {
			p := somePrompts(1+r.IntN(4), r)
			g := max(1, worth.low) + r.IntN(3)
			most := g + r.IntN(6)
			text := fmt.Sprintf("oracle:objective=%s,g=%d,max=%d,hard=0.3", objective, g, most)
			want := mostOf(len(p), g*len(p), worth.low, most, func(i, n int) float64 { return worth.value(p[i], n) })
			checkWorth(t, text, p, groupsOf(t, text, p, r), worth.low, most, worth.value, want)
		}
	}
}

// TestOracleSetExact compares every objective over a set with the best of all
// choices, tried one by one for small sets and by a table for larger ones.
func TestOracleSetExact(t *testing.T) {
	r := seeded(9)
	for _, objective := range setObjectives {
		value := oracleWorths[objective].value
		for try := range 300 {
			p := somePrompts(1+r.IntN(5), r)
			best := mostOf
			if try%2 == 0 {
				p, best = somePrompts(5+r.IntN(30), r), mostByTable
			}
			batch, g := 1+r.IntN(len(p)), 1+r.IntN(3)
			most := g + r.IntN(6)
			text := fmt.Sprintf("oracle:objective=%s,g=%d,max=%d,hard=0.3,prompts=set", objective, g, most)
			worths := map[[2]int]float64{}
			for i := range p {
				for n := range most + 1 {
					worths[[2]int{i, n}] = value(p[i], n)
				}
			}
			want := best(len(p), g*batch, 0, most, func(i, n int) float64 { return worths[[2]int{i, n}] })
			checkWorth(t, text, p, setGroupsOf(t, text, p, batch, r), 0, most, value, want)
		}
	}
	// A set whose caps leave room for 6 rollouts of 8.
	for _, objective := range setObjectives {
		got := setGroupsOf(t, "oracle:g=1,max=2,prompts=set,objective="+objective, []float64{0.5, 0, 0.1}, 8, r)
		if !slices.Equal(got, []int{2, 2, 2}) {
			t.Errorf("%s: groups %v, want all at the cap", objective, got)
		}
	}
}

// checkWorth wants groups in [low, most] of the given total worth.
func checkWorth(t *testing.T, text string, p []float64, groups []int, low, most int, value func(p float64, n int) float64, want float64) {
	t.Helper()
	got := 0.0
	for i, n := range groups {
		if n < low || n > most {
			t.Errorf("%s: a group of %d", text, n)
		}
		got += value(p[i], n)
	}
	wantNear(t, fmt.Sprintf("%s, p = %v, groups %v", text, p, groups), got, want, 1e-10)
}

// setGroupsOf returns what a strategy of one round gives every prompt of a set
// with the truth p. It wants g*batch rollouts, or all that the set can take.
func setGroupsOf(t *testing.T, text string, p []float64, batch int, r *rand.Rand) []int {
	t.Helper()
	s := mustParse(t, text)
	steps, err := strategytest.Steps(s, &strategytest.World{
		Prompts: len(p), Batch: batch, Steps: 1, Truth: p,
		Answer: func(int, int, int, int) int { return 0 },
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	groups, sum := make([]int, len(p)), 0
	for x, id := range steps[0].ID {
		groups[id] = steps[0].N[x]
		sum += groups[id]
	}
	if want := s.(strategy.Budgeter).Budget(batch); sum != want && batch <= len(p) {
		t.Errorf("%s, batch %d: %d rollouts, want %d", text, batch, sum, want)
	}
	return groups
}

// mostByTable is mostOf by a table over totals.
func mostByTable(prompts, total, low, high int, value func(i, n int) float64) float64 {
	best := slices.Repeat([]float64{math.Inf(-1)}, total+1)
	best[0] = 0
	for i := range prompts {
		next := slices.Repeat([]float64{math.Inf(-1)}, total+1)
		for sum, sofar := range best {
			for n := low; n <= high && sum+n <= total; n++ {
				next[sum+n] = max(next[sum+n], sofar+value(i, n))
			}
		}
		best = next
	}
	return best[total]
}

// TestOracleSetTies: of four prompts with the same variance, p and 1-p, two
// get the rollouts, each pair of places equally often. wantEqualShares allows
// 7.6 standard deviations of a share of 1/6, and misses one off by twice that
// as rarely as it alarms.
func TestOracleSetTies(t *testing.T) {
	p := []float64{0.9, 0.1, 0.1, 0.9}
	for _, text := range []string{
		"oracle:g=2,max=4,prompts=set", "oracle:g=2,max=4,prompts=set,objective=progress",
		"oracle:g=1,max=2,prompts=set,objective=effective",
	} {
		wantEqualShares(t, 6, func(r *rand.Rand) int {
			var taken []int
			for i, n := range setGroupsOf(t, text, p, 4, r) {
				if n > 0 {
					taken = append(taken, i)
				}
			}
			if len(taken) != 2 {
				t.Fatalf("%s: rollouts for %v, want two prompts", text, taken)
			}
			return slices.Index([]int{1, 2, 3, 12, 13, 23}, 10*taken[0]+taken[1])
		})
	}
}
