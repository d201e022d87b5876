package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/stream"
)

// draw asks for one group and returns its successes and tokens.
func draw(t testing.TB, s rollout.Source, x, first, n int) (successes, tokens int) {
	t.Helper()
	got, length := []int{0}, []int{0}
	if err := s.Draw(context.Background(), []rollout.Request{{X: x, N: n}}, []int{first}, got, length); err != nil {
		t.Fatal(err)
	}
	return got[0], length[0]
}

// TestSameCountsAsSynthetic: at the same key and p a policy answers with the
// counts of the synthetic source, so that a run meets the random numbers that
// compare meets.
func TestSameCountsAsSynthetic(t *testing.T) {
	r := newRand(7)
	for _, text := range policySpecs {
		p := policy(t, text, population, 12)
		s := NewSource(p)
		synthetic, err := source.NewSynthetic(law(t, "uniform"), nil, 12)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 5 {
			scatter(p, r, 1)
			key := stream.New(3).With(uint64(step))
			if n, err := s.Reset(key); n != 12 || err != nil {
				t.Fatal(n, err)
			}
			if err := synthetic.Drift(key, s.Truth()); err != nil {
				t.Fatal(err)
			}
			var ask []rollout.Request
			var first []int
			for x := range 12 {
				ask, first = append(ask, rollout.Request{X: x, N: 1 + r.IntN(150)}), append(first, r.IntN(3))
			}
			got, want := make([]int, 12), make([]int, 12)
			for _, err := range []error{
				s.Draw(context.Background(), ask, first, got, nil),
				synthetic.Draw(context.Background(), ask, first, want, nil),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: successes %v, want %v", text, got, want)
			}
		}
	}
}

// TestSameRequestSameOutcomes: outcomes depend on key, prompt, first rollout and
// count alone, and on all of them.
func TestSameRequestSameOutcomes(t *testing.T) {
	p := policy(t, "sequence:tokens=4,branching=3,correct=9", "point:p=0.5", 3)
	s := NewSource(p)
	outcomes := func(key stream.Key, before bool, x, first, n int) string {
		if _, err := s.Reset(key); err != nil {
			t.Fatal(err)
		}
		if before {
			draw(t, s, 1, 0, 7)
			draw(t, s, x, first+n, 100)
		}
		draw(t, s, x, first, n)
		c := make([]int, len(p.Outcomes(x)))
		s.Counts(c, x, first, first+n)
		return fmt.Sprint(c)
	}
	want := outcomes(1, false, 2, 4, 60)
	for range 2 {
		if got := outcomes(1, true, 2, 4, 60); got != want {
			t.Errorf("in other company: %s, want %s", got, want)
		}
	}
	for i, got := range []string{outcomes(2, false, 2, 4, 60), outcomes(1, false, 2, 5, 60), outcomes(1, false, 0, 4, 60)} {
		if got == want {
			t.Errorf("another request, number %d, has the same outcomes", i)
		}
	}
}

// TestOutcomesAreIndependent: where all rollouts succeed, which correct outcomes
// they are still depends on prompt, first rollout, count and key.
func TestOutcomesAreIndependent(t *testing.T) {
	p := policy(t, "softmax:answers=6,correct=5", "point:p=0.9999999999999", 2)
	s := NewSource(p)
	seen := map[string]string{}
	for _, c := range []struct {
		key         stream.Key
		x, first, n int
	}{{1, 0, 0, 400}, {2, 0, 0, 400}, {1, 1, 0, 400}, {1, 0, 1, 400}, {1, 0, 0, 401}} {
		if _, err := s.Reset(c.key); err != nil {
			t.Fatal(err)
		}
		if successes, _ := draw(t, s, c.x, c.first, c.n); successes != c.n {
			t.Fatalf("%+v: %d successes", c, successes)
		}
		counts := make([]int, 6)
		s.Counts(counts, c.x, c.first, c.first+1)
		for k := range 4 { // the last one takes the rest
			name := fmt.Sprint(k, counts[k:5])
			if other, ok := seen[name]; ok {
				t.Errorf("%+v has the outcomes %s of %s", c, name, other)
			}
			seen[name] = fmt.Sprintf("%+v", c)
		}
	}
}

// TestOutcomeLaw draws groups of two and compares how often every pair of
// outcomes comes with the product of their probabilities. By Hoeffding a share
// strays by more than tol with probability at most 1e-6 over all cases; a shift
// of 2*tol = 0.02 is missed with at most a case's share of that.
func TestOutcomeLaw(t *testing.T) {
	const groups = 100_000
	specs := []string{"softmax:answers=5,correct=2,near=1,gap=1", "sequence:tokens=3,branching=2,correct=2"}
	cases := float64(len(specs) * 25)
	tol := math.Sqrt(math.Log(2*cases/1e-6) / (2 * groups))
	for _, text := range specs {
		p := policy(t, text, "point:p=0.4", 1)
		scatter(p, newRand(8), 0.5)
		s := NewSource(p)
		k := len(p.Outcomes(0))
		prob := Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0))
		shares := make([][]float64, k)
		for i := range shares {
			shares[i] = make([]float64, k)
		}
		for g := range groups {
			if _, err := s.Reset(stream.New(uint64(g))); err != nil {
				t.Fatal(err)
			}
			draw(t, s, 0, 0, 2)
			c := make([]int, k)
			s.Counts(c, 0, 0, 2)
			i := slices.IndexFunc(c, func(n int) bool { return n > 0 })
			c[i]--
			j := slices.IndexFunc(c, func(n int) bool { return n > 0 })
			shares[i][j] += 1. / groups
		}
		for i := range k {
			for j := i; j < k; j++ {
				want := prob[i] * prob[j]
				if j > i {
					want *= 2
				}
				if !(math.Abs(shares[i][j]-want) < tol) {
					t.Errorf("%s: outcomes %d and %d come in a share %.4f of the groups, want %.4f ± %.4f", text, i, j, shares[i][j], want, tol)
				}
			}
		}
	}
}

// TestCountsAndTokens: outcome counts add up to what was answered, by rollout
// number, lengths to its tokens, and Reset forgets.
func TestCountsAndTokens(t *testing.T) {
	p := policy(t, "sequence:tokens=4,branching=2,correct=3", population, 2)
	s := NewSource(p)
	if _, err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	type drawn struct{ first, n, successes, tokens int }
	var rounds []drawn
	for _, d := range []drawn{{first: 0, n: 3}, {first: 3, n: 90}, {first: 93, n: 20}} {
		draw(t, s, 0, d.first, d.n) // another prompt's do not count
		d.successes, d.tokens = draw(t, s, 1, d.first, d.n)
		rounds = append(rounds, d)
	}
	outcomes := p.Outcomes(1)
	for from := range rounds {
		for to := from; to < len(rounds); to++ {
			var want drawn
			for _, d := range rounds[from : to+1] {
				want.n, want.successes, want.tokens = want.n+d.n, want.successes+d.successes, want.tokens+d.tokens
			}
			c := make([]int, len(outcomes))
			s.Counts(c, 1, rounds[from].first, rounds[to].first+rounds[to].n)
			n, successes := size(outcomes, c)
			length := 0
			for k, c := range c {
				length += c * outcomes[k].Tokens
			}
			if n != want.n || successes != want.successes || length != want.tokens {
				t.Errorf("rounds %d to %d: %d rollouts, %d successes, %d tokens, want %+v", from, to, n, successes, length, want)
			}
		}
	}
	if _, err := s.Reset(2); err != nil {
		t.Fatal(err)
	}
	c := make([]int, len(outcomes))
	s.Counts(c, 1, 0, 1000)
	if n, _ := size(outcomes, c); n != 0 {
		t.Errorf("%d rollouts after a reset", n)
	}
	prob := Probabilities(nil, outcomes, p.LogProbs(nil, 1))
	mean := 0.0
	for k, o := range outcomes {
		mean += prob[k] * float64(o.Tokens)
	}
	if got := s.MeanTokens()[1]; !(math.Abs(got-mean) < 1e-14) {
		t.Errorf("mean tokens %v, want %v", got, mean)
	}
	if NewSource(policy(t, "softmax", population, 1)).MeanTokens() != nil {
		t.Error("answers of one token have lengths")
	}
}

// TestEarlier: a prompt's counts of the last batch that asked it stay until the
// next batch that asks it is over.
func TestEarlier(t *testing.T) {
	s := NewSource(policy(t, "softmax:answers=4,correct=2", "point:p=0.5", 2))
	want := make([]int, 4)
	for key := range stream.Key(4) {
		if _, err := s.Reset(key); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Earlier(1), want) || !slices.Equal(s.Earlier(0), make([]int, 4)) {
			t.Errorf("batch %d: earlier counts %v and %v, want none and %v", key, s.Earlier(0), s.Earlier(1), want)
		}
		if key == 2 {
			continue // prompt 1 is not asked
		}
		draw(t, s, 1, 0, 30)
		draw(t, s, 1, 30, 7)
		if !slices.Equal(s.Earlier(1), want) {
			t.Errorf("batch %d: this batch counts as earlier", key)
		}
		clear(want)
		s.Counts(want, 1, 0, 37)
	}
}

// TestSourceKeepsItsPolicy: while the policy learns, truth and log probabilities
// stay those of the policy that was asked.
func TestSourceKeepsItsPolicy(t *testing.T) {
	p := policy(t, "logit", population, 2)
	s := NewSource(p)
	if _, err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	truth, old := s.Truth()[1], slices.Clone(s.LogProbs(1))
	p.Parameters()[1] += 1
	if s.Truth()[1] != truth || !slices.Equal(s.LogProbs(1), old) {
		t.Error("the source follows the policy before it is reset")
	}
	if _, err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	if want := 1 / (1 + math.Exp(-p.Parameters()[1])); math.Abs(s.Truth()[1]-want) > 1e-15 || math.Abs(math.Exp(s.LogProbs(1)[0])-want) > 1e-15 {
		t.Errorf("after a reset p = %v, want %v", s.Truth()[1], want)
	}
	if got := meanSuccess(p, 0, 2); math.Abs(got-(s.Truth()[0]+s.Truth()[1])/2) > 1e-15 {
		t.Errorf("mean success %v of %v", got, s.Truth())
	}
}

// TestNothingLeftOver: groups are answered whole where some outcomes have
// probability 0 in floating point.
func TestNothingLeftOver(t *testing.T) {
	for _, text := range []string{"logit", "softmax:answers=4,correct=2", "sequence:tokens=3,branching=2,correct=2"} {
		p := policy(t, text, "point:p=0.5", 40)
		r := newRand(9)
		for i := range p.Parameters() {
			p.Parameters()[i] = float64(r.IntN(3)-1) * 800
		}
		s := NewSource(p)
		if _, err := s.Reset(1); err != nil {
			t.Fatal(err)
		}
		for x := range 40 {
			successes, _ := draw(t, s, x, 0, 1000)
			c := make([]int, len(p.Outcomes(x)))
			s.Counts(c, x, 0, 1000)
			if n, hits := size(p.Outcomes(x), c); n != 1000 || hits != successes {
				t.Errorf("%s, prompt %d: %v has %d rollouts, %d successes, want 1000 and %d", text, x, c, n, hits, successes)
			}
		}
	}
}
