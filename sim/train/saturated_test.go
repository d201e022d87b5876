package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/stream"
)

// A bench is a policy that a system takes through steps of plain gradient ascent
// at rate 1.
type bench struct {
	policy Policy
	system System
	start  []float64
	point  Point
}

func newBench(t testing.TB, systemSpec, policySpec, population, e string) *bench {
	t.Helper()
	b := &bench{policy: policy(t, policySpec, population, 1), system: system(t, systemSpec)}
	opt, err := NewOptimizer("sgd:lr=1")
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultObjective()
	o.Estimator = estimator(t, e)
	u, err := NewUpdater(b.policy, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.system.Begin(b.policy, u, stream.New(1)); err != nil {
		t.Fatal(err)
	}
	b.start = slices.Clone(b.policy.Parameters())
	return b
}

// learn returns the move that one group makes, from the start, and the group as
// the system left it.
func (b *bench) learn(t testing.TB, seed uint64, counts ...int) (move []float64, g Group) {
	t.Helper()
	copy(b.policy.Parameters(), b.start)
	b.point = Point{}
	old := b.policy.LogProbs(nil, 0)
	groups := []Group{{X: 0, Counts: slices.Clone(counts), Weight: 1, Baseline: math.NaN()}}
	s := bareStep(&b.point, groups, func(int) []float64 { return old })
	s.Key, s.lengths = stream.New(seed), true
	if err := b.system.Learn(s); err != nil {
		t.Fatal(err)
	}
	move = slices.Clone(b.policy.Parameters())
	floats.Sub(move, b.start)
	return move, groups[0]
}

// TestPaddingGolden compares with testdata/saturated.py: on a logit at p = 1/2 a
// group of n correct rollouts moves by A(1-p), and without padding by nothing.
// The closed form of the doc comment, epsilon 0, and the values printed in
// strategies/systems.md, section 7, agree with it.
func TestPaddingGolden(t *testing.T) {
	var want struct {
		Padding []struct {
			N, K              int
			Advantage, Closed float64
		}
	}
	golden(t, "saturated.json", &want)
	published := map[int]float64{1: .333, 4: .677, 7: .904, 8: .968}
	for _, w := range want.Padding {
		k := fmt.Sprintf("saturated:pad=%d", w.K)
		move, _ := newBench(t, k, "logit", "point:p=0.5", "verl").learn(t, 1, w.N, 0)
		exact, _ := newBench(t, k, "logit", "point:p=0.5", "grpo:ddof=1").learn(t, 1, w.N, 0)
		if !(math.Abs(move[0]-w.Advantage/2) < 1e-14 && math.Abs(exact[0]-w.Closed/2) < 1e-14) {
			t.Errorf("%d rollouts, %d zeros: moves of %v and %v, want half of %v and %v", w.N, w.K, move, exact, w.Advantage, w.Closed)
		}
		if p := published[w.K]; w.N == 8 && !(math.Abs(w.Advantage-p) < .0005) {
			t.Errorf("%d zeros: advantage %v, published %v", w.K, w.Advantage, p)
		}
	}
	for _, counts := range [][]int{{7, 1}, {0, 8}} {
		got, _ := newBench(t, "saturated", "logit", "point:p=0.5", "grpo").learn(t, 1, counts...)
		if want, _ := newBench(t, "m2po:updates=1,rule=none", "logit", "point:p=0.5", "grpo").learn(t, 1, counts...); got[0] != want[0] {
			t.Errorf("%v, which has a wrong rollout: a move of %v, want %v", counts, got, want)
		}
	}
}

// TestPaddingUpdate: over every group that a logit gives, each with its exact
// probability, padding adds p^(n-1) sqrt(k/n) grad p to the mean update, grad p =
// p(1-p) by the logit; against the enumeration of testdata/saturated.py and what
// strategies/systems.md prints.
func TestPaddingUpdate(t *testing.T) {
	var want struct {
		Update []struct {
			N, K           int
			P, Base, Added float64
		}
	}
	golden(t, "saturated.json", &want)
	published := map[float64][2]float64{.9: {2.33, .338}, .99: {2.61, .659}}
	for _, w := range want.Update {
		mean := func(system string) (mean float64) {
			b := newBench(t, system, "logit", fmt.Sprintf("point:p=%v", w.P), "grpo")
			for m := range w.N + 1 {
				move, _ := b.learn(t, 1, m, w.N-m)
				mean += choose(w.N, m) * math.Pow(w.P, float64(m)) * math.Pow(1-w.P, float64(w.N-m)) * move[0]
			}
			return mean / (w.P * (1 - w.P))
		}
		base, padded := mean("m2po:updates=1,rule=none"), mean(fmt.Sprintf("saturated:pad=%d", w.K))
		formula := math.Pow(w.P, float64(w.N-1)) * math.Sqrt(float64(w.K)/float64(w.N))
		if !(math.Abs(base-w.Base) < 1e-12 && math.Abs(padded-base-w.Added) < 1e-12 && math.Abs(w.Added-formula) < 1e-12) {
			t.Errorf("%+v: %v and %v more, formula %v", w, base, padded-base, formula)
		}
		if p, ok := published[w.P]; ok && !(math.Abs(w.Base-p[0]) < .005 && math.Abs(w.Added-p[1]) < .0005) {
			t.Errorf("%+v, published %v", w, p)
		}
	}
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// TestInjectionGolden: with j of n rollouts overwritten by wrong ones a logit at
// p = 1/2 moves by ((n-j) A+ - j A-)/2n, advantages from testdata/saturated.py
// and as strategies/systems.md prints them.
func TestInjectionGolden(t *testing.T) {
	var want struct {
		Injection []struct {
			N, J           int
			Correct, Wrong float64
		}
	}
	golden(t, "saturated.json", &want)
	published := map[int][2]float64{1: {.354, -2.475}, 2: {.540, -1.620}}
	for _, w := range want.Injection {
		b := newBench(t, fmt.Sprintf("saturated:level=rollout,mistakes=%d", w.J), "logit", "point:p=0.5", "verl")
		move, g := b.learn(t, 1, w.N, 0)
		n, j := float64(w.N), float64(w.J)
		if exact := ((n-j)*w.Correct - j*w.Wrong) / (2 * n); !(math.Abs(move[0]-exact) < 1e-14) || !slices.Equal(g.Counts, []int{w.N - w.J, w.J}) {
			t.Errorf("%d of %d wrong: a move of %v by %v, want %v", w.J, w.N, move, g.Counts, exact)
		}
		if p := published[w.J]; w.N == 8 && !(math.Abs(w.Correct-p[0]) < .0005 && math.Abs(w.Wrong-p[1]) < .0005) {
			t.Errorf("%+v, published %v", w, p)
		}
		if l := b.point.Ledger; l.Extra != w.J || l.Generated != w.J || l.GeneratedTokens != w.J || b.point.Cost != j {
			t.Errorf("%d mistakes: ledger %+v at cost %v", w.J, l, b.point.Cost)
		}
	}
}

// TestInjectionDirection: a wrong answer w moves an all-correct group by
// A+(n-1)/n (grad log pi(c) - grad log pi(w)), in logits e_c - e_w; where the
// policy is nearly certain that is -grad log pi(w), to within |grad log pi(c)|.
func TestInjectionDirection(t *testing.T) {
	const n, answers = 8, 5
	seen := map[int]bool{}
	b := newBench(t, "saturated:level=rollout,mistakes=1,proposal=uniform", "softmax:answers=5", "point:p=0.999999", "grpo")
	prob := Probabilities(nil, b.policy.Outcomes(0), b.policy.LogProbs(nil, 0))
	for seed := range uint64(40) {
		move, g := b.learn(t, seed, n, 0, 0, 0, 0)
		w := slices.Index(g.Counts[1:], 1) + 1
		seen[w] = true
		a := math.Sqrt(1./(n-1)) * (n - 1) / n // A+ = sqrt(j/(n-j))
		score := make([]float64, answers)      // of w
		for k := range score {
			score[k] = -prob[k]
		}
		score[w]++
		for k := range move {
			want := 0.0
			switch k {
			case 0:
				want = a
			case w:
				want = -a
			}
			if !(math.Abs(move[k]-want) < 1e-14 && math.Abs(move[k]+a*score[k]) < 2e-6) {
				t.Errorf("seed %d: wrong answer %d moves %v, want %v on the first and its negative there", seed, w, move, a)
				break
			}
		}
	}
	if len(seen) != answers-1 {
		t.Errorf("wrong answers %v were proposed, want all", seen)
	}
}

// TestProposals: wrong answers come from pi^(1/T) restricted to them, or evenly,
// and correct ones where the request fails. Shares lie in [0, 1], so that by
// Hoeffding one strays by more than tol with probability at most 1e-6 over the
// cases; a shift of 2 tol = 0.03 is missed with at most that. The policy's own
// shares, of temperature 1, are more than that away.
func TestProposals(t *testing.T) {
	const draws = 40_000
	policySpec := "softmax:answers=6,correct=2,near=1,gap=2"
	tempered := func(temperature float64) []float64 {
		near := math.Exp(2 / temperature)
		return []float64{0, 0, near / (near + 3), 1 / (near + 3), 1 / (near + 3), 1 / (near + 3)}
	}
	cases := []struct {
		keys string
		want []float64
	}{
		{"", tempered(1.2)},
		{",temperature=3", tempered(3)},
		{",proposal=uniform", []float64{0, 0, .25, .25, .25, .25}},
		{",proposal=uniform,wrong=0.4", []float64{0, 0, .1, .1, .1, .1}},
		{",wrong=0", make([]float64, 6)},
	}
	tol := math.Sqrt(math.Log(2*6*float64(len(cases))/1e-6) / (2 * draws))
	for _, c := range cases {
		b := newBench(t, "saturated:level=rollout,mistakes=1"+c.keys, policySpec, "point:p=0.7", "grpo")
		wrong := make([]float64, 6)
		for seed := range uint64(draws) {
			_, g := b.learn(t, seed, 2, 2, 0, 0, 0, 0)
			for k, n := range g.Counts[2:] {
				wrong[2+k] += float64(n) / draws
			}
			if n, _ := size(b.policy.Outcomes(0), g.Counts); n != 4 || b.point.Ledger.Extra != 1 {
				t.Fatalf("%s: group %v, ledger %+v", c.keys, g.Counts, b.point.Ledger)
			}
		}
		for k := range wrong {
			if !(math.Abs(wrong[k]-c.want[k]) < tol) {
				t.Errorf("%q: answer %d is proposed in %v of the groups, want %v ± %v", c.keys, k, wrong[k], c.want[k], tol)
			}
		}
	}
}

// TestInjectionKeeps: one correct answer stays, groups with a wrong rollout and
// those of a system that pads are left as they are, and what is charged is what
// was asked for, tokens included: on a tree every answer of whose prompt but the
// last two has another length.
func TestInjectionKeeps(t *testing.T) {
	b := newBench(t, "saturated:level=rollout,mistakes=5", "logit", "point:p=0.5", "grpo")
	if _, g := b.learn(t, 1, 3, 0); !slices.Equal(g.Counts, []int{1, 2}) || b.point.Ledger.Extra != 5 {
		t.Errorf("3 correct rollouts and 5 mistakes: %v, ledger %+v", g.Counts, b.point.Ledger)
	}
	if _, g := b.learn(t, 1, 1, 0); !slices.Equal(g.Counts, []int{1, 0}) || b.point.Ledger.Extra != 5 {
		t.Errorf("1 correct rollout and 5 mistakes: %v, ledger %+v", g.Counts, b.point.Ledger)
	}
	for _, counts := range [][]int{{7, 1}, {0, 4}} {
		if _, g := b.learn(t, 1, counts...); !slices.Equal(g.Counts, counts) || b.point.Ledger.Extra != 0 {
			t.Errorf("%v: %v, ledger %+v", counts, g.Counts, b.point.Ledger)
		}
	}
	b = newBench(t, "saturated:level=rollout,mistakes=1", "sequence:tokens=4,branching=2", "point:p=0.5", "grpo")
	outcomes := b.policy.Outcomes(0)
	for seed := range uint64(50) {
		counts, want := make([]int, len(outcomes)), 0
		for k, o := range outcomes {
			if o.Correct {
				counts[k] = 4
			}
		}
		_, g := b.learn(t, seed, counts...)
		for k, o := range outcomes {
			if !o.Correct {
				want += g.Counts[k] * o.Tokens
			}
		}
		if got := b.point.Ledger.GeneratedTokens; got != want {
			t.Errorf("seed %d: %d tokens charged for %v, want %d", seed, got, g.Counts, want)
		}
	}
}

// TestMistakesAreIndependent: every prompt has a stream of its own. By chance all
// 32 prompts would get the same one of 7 wrong answers with probability 7^-31, and
// both steps the same 32 with 7^-32.
func TestMistakesAreIndependent(t *testing.T) {
	const prompts = 32
	r := systemRun(t, "saturated:level=rollout,mistakes=1,proposal=uniform", "softmax:answers=8", "fixed:g=2", nil)
	if err := r.look(); err != nil {
		t.Fatal(err)
	}
	draw := func(seed uint64) (answers []int) {
		var groups []Group
		for x := range prompts {
			groups = append(groups, Group{X: x, Counts: []int{4, 0, 0, 0, 0, 0, 0, 0}, Weight: 1, Baseline: math.NaN()})
		}
		s := bareStep(&Point{}, groups, r.source.LogProbs)
		s.Key = stream.New(seed)
		if err := r.system.Learn(s); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			answers = append(answers, slices.Index(g.Counts[1:], 1))
		}
		return answers
	}
	first, second := draw(1), draw(2)
	if slices.Equal(first, second) || slices.Max(first) == slices.Min(first) {
		t.Errorf("wrong answers %v, then %v", first, second)
	}
}

// TestRefusedMistakes: where the request for a mistake fails, the answer is a
// correct one from the same proposal, charged by its tokens. Their mean lies in
// [1, 4], so that by Hoeffding it strays by more than tol with probability at most
// 1e-6; a shift of 2 tol = 0.16 is missed with at most that.
func TestRefusedMistakes(t *testing.T) {
	const draws = 10_000
	b := newBench(t, "saturated:level=rollout,mistakes=1,temperature=1,wrong=0", "sequence:tokens=4,branching=2,correct=3", "point:p=0.6", "grpo")
	outcomes := b.policy.Outcomes(0)
	prob := Probabilities(nil, outcomes, b.policy.LogProbs(nil, 0))
	counts, want := make([]int, len(outcomes)), 0.0
	for k, o := range outcomes {
		if o.Correct {
			counts[k] = 1
			want += prob[k] / .6 * float64(o.Tokens)
		}
	}
	mean := 0.0
	for seed := range uint64(draws) {
		if _, g := b.learn(t, seed, counts...); !slices.Equal(g.Counts, counts) {
			t.Fatalf("group %v, want %v as it was", g.Counts, counts)
		}
		mean += float64(b.point.Ledger.GeneratedTokens) / draws
	}
	if tol := 3 * math.Sqrt(math.Log(2/1e-6)/(2*draws)); !(math.Abs(mean-want) < tol) {
		t.Errorf("%v tokens an answer, want %v ± %v", mean, want, tol)
	}
}
