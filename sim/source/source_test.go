package source

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/table"
	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// ask draws one group and returns its successes.
func ask(t *testing.T, s rollout.Source, x, first, n int) int {
	t.Helper()
	got := []int{0}
	if err := s.Draw(context.Background(), []rollout.Request{{X: x, N: n}}, []int{first}, got, nil); err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// binomialPMF is the exact probability by logarithms of factorials: another
// route than the recurrence under test.
func binomialPMF(n, k int, p float64) float64 {
	if p == 0 || p == 1 {
		if (p == 0) == (k == 0) && (p == 1) == (k == n) {
			return 1
		}
		return 0
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// TestInvertIsTheQuantile walks inversion over a grid of v: the count is c
// exactly where v lies between the exact distribution function at c-1 and at
// c, of the rarer outcome.
func TestInvertIsTheQuantile(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 16, 30, 64} {
		for _, p := range []float64{0, 1e-12, 0.01, 0.3, 0.5, 0.51, 0.55, 0.7, 0.99, 1 - 1e-12, 1} {
			rare := min(p, 1-p)
			for i := range 500 {
				v := (float64(i) + 0.5) / 500
				got := invert(v, n, p)
				if p > 0.5 {
					got = n - got
				}
				below, upTo := 0.0, 0.0
				for k := range got + 1 {
					below, upTo = upTo, upTo+binomialPMF(n, k, rare)
				}
				if !(below <= v+1e-12 && v < upTo+1e-12) {
					t.Fatalf("n=%d p=%v v=%v: count %d, but P(<%d) = %v and P(<=%d) = %v", n, p, v, got, got, below, got, upTo)
				}
			}
		}
	}
}

// TestGroupLaws draws groups and compares counts with the exact law by the
// largest distance of distribution functions. By Massart's inequality it
// passes tol with probability at most 2 exp(-2 n tol^2); the level of 1e-6 is
// split over the cases. A distance of 2*tol = 0.02 is missed with at most a
// case's share of it.
func TestGroupLaws(t *testing.T) {
	const draws = 90_000
	sizes, rates := []int{2, 8, 30, 64, 65, 200}, []float64{0.02, 0.3, 0.5, 0.55, 0.9}
	cases := float64(len(sizes) * len(rates))
	tol := math.Sqrt(math.Log(2*cases/1e-6) / (2 * draws))
	for _, n := range sizes {
		for _, p := range rates {
			law, err := distributions.NewPoint(p)
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewSynthetic(law, nil, draws)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Reset(stream.New(uint64(n))); err != nil {
				t.Fatal(err)
			}
			requests, first, got := make([]rollout.Request, draws), make([]int, draws), make([]int, draws)
			for x := range requests {
				requests[x] = rollout.Request{X: x, N: n}
			}
			if err := s.Draw(context.Background(), requests, first, got, nil); err != nil {
				t.Fatal(err)
			}
			counts := make([]int, n+1)
			for _, k := range got {
				counts[k]++
			}
			empirical, exact := 0.0, 0.0
			for k, c := range counts {
				empirical += float64(c) / draws
				exact += binomialPMF(n, k, p)
				if !(math.Abs(empirical-exact) < tol) {
					t.Errorf("n=%d p=%v: P(S<=%d) = %.4f, want %.4f ± %.4f", n, p, k, empirical, exact, tol)
					break
				}
			}
		}
	}
}

// TestSameRequestSameCount is the promise that strategies meet common random
// numbers: neither order, nor company, nor repetition changes an answer, and
// other requests get other numbers.
func TestSameRequestSameCount(t *testing.T) {
	law := distributions.NewUniform()
	s, err := NewSynthetic(law, nil, 50)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]table.Row, 50)
	for i := range rows {
		rows[i] = table.Row{PromptID: fmt.Sprint(i), N: 60, S: i}
	}
	sources := map[string]rollout.Source{"synthetic": s}
	for _, draw := range Draws() {
		src, err := NewTable(&table.Table{Name: "t", Rows: rows}, draw, 0)
		if err != nil {
			t.Fatal(err)
		}
		sources[draw] = src
	}
	for name, s := range sources {
		if _, err := s.Reset(stream.New(5)); err != nil {
			t.Fatal(err)
		}
		requests := []rollout.Request{{X: 3, N: 8}, {X: 30, N: 8}, {X: 7, N: 16}, {X: 49, N: 8}}
		first, together := []int{0, 0, 2, 8}, make([]int, 4)
		if err := s.Draw(context.Background(), requests, first, together, nil); err != nil {
			t.Fatal(err)
		}
		for i, q := range slices.Backward(requests) {
			if got := ask(t, s, q.X, first[i], q.N); got != together[i] {
				t.Errorf("%s: prompt %d alone: %d, together: %d", name, q.X, got, together[i])
			}
		}
		differ := 0
		for x := range 50 {
			if ask(t, s, x, 0, 8) != ask(t, s, x, 8, 8) {
				differ++
			}
		}
		if differ == 0 {
			t.Errorf("%s: later rollouts repeat the earlier ones", name)
		}
		a := ask(t, s, 25, 0, 30)
		if _, err := s.Reset(stream.New(5)); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, 25, 0, 30); got != a {
			t.Errorf("%s: after Reset with the same key: %d, want %d", name, got, a)
		}
	}
}

// TestWithoutReplacement: the recorded rollouts come in a random order, so any
// way of asking for all of them finds exactly the recorded successes, and
// asking for one more is an error that names prompt and numbers.
func TestWithoutReplacement(t *testing.T) {
	tab := &table.Table{Name: "pilot.csv", Rows: []table.Row{{PromptID: "a", N: 40, S: 13}, {PromptID: "b", N: 40, S: 0}, {PromptID: "c", N: 40, S: 40}}}
	s, err := NewTable(tab, DrawWithout, 0)
	if err != nil {
		t.Fatal(err)
	}
	same := true
	for seed := range uint64(20) {
		if _, err := s.Reset(stream.New(seed)); err != nil {
			t.Fatal(err)
		}
		for x, want := range []int{13, 0, 40} {
			sum := 0
			for _, r := range [][2]int{{0, 2}, {2, 4}, {6, 8}, {14, 16}, {30, 10}} {
				sum += ask(t, s, x, r[0], r[1])
			}
			if sum != want {
				t.Errorf("prompt %d: %d successes in all, want %d", x, sum, want)
			}
		}
		same = same && ask(t, s, 0, 0, 8) == 2
	}
	if same {
		t.Error("the order never changes")
	}
	err = s.Draw(context.Background(), []rollout.Request{{X: 1, N: 11}}, []int{30}, []int{0}, nil)
	for _, want := range []string{"prompt b", "41 rollouts", "40 recorded", "pilot.csv"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// TestWithoutReplacementIsHypergeometric checks the mean and the variance of 8
// of 40 rollouts with 13 successes: 8*13/40 = 2.6 and
// 8*(13/40)*(27/40)*(32/39) = 1.44. A count lies in [0, 8], so by Hoeffding
// the mean of n strays by more than 8 sqrt(ln(2/alpha)/(2n)) with probability
// at most alpha = 5e-7, and the mean square deviation, in [0, 29.2], by more
// than 29.2 times the same root. Twice that is missed with at most alpha; the
// binomial variance, 1.755, is that far.
func TestWithoutReplacementIsHypergeometric(t *testing.T) {
	const n = 400_000
	root := math.Sqrt(math.Log(2/5e-7) / (2 * n))
	rows := make([]table.Row, 1000)
	for i := range rows {
		rows[i] = table.Row{PromptID: fmt.Sprint(i), N: 40, S: 13}
	}
	s, err := NewTable(&table.Table{Rows: rows}, DrawWithout, 0)
	if err != nil {
		t.Fatal(err)
	}
	mean, square := 0.0, 0.0
	for i := range n / len(rows) {
		if _, err := s.Reset(stream.New(uint64(i))); err != nil {
			t.Fatal(err)
		}
		for x := range rows {
			d := float64(ask(t, s, x, 5, 8)) - 2.6
			mean += d / n
			square += d * d / n
		}
	}
	if !(math.Abs(mean) < 8*root) {
		t.Errorf("mean off by %v, want 0 ± %v", mean, 8*root)
	}
	if !(math.Abs(square-1.44) < 29.2*root) {
		t.Errorf("variance %v, want 1.44 ± %v", square, 29.2*root)
	}
}

// TestPosterior: p is drawn from Beta(s+1/2, n-s+1/2), whose mean for 0 of 8
// is 1/18; the mean of n draws in [0, 1] strays by more than tol with
// probability at most 1e-6 (Hoeffding), and a prompt that stays dead for ever,
// or p from Laplace's prior (mean 1/10), is more than 2*tol = 0.027 away.
func TestPosterior(t *testing.T) {
	const n = 40_000
	tol := math.Sqrt(math.Log(2/1e-6) / (2 * n))
	s, err := NewTable(&table.Table{Rows: []table.Row{{PromptID: "a", N: 8, S: 0}}}, DrawPosterior, 0)
	if err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	for i := range n {
		if _, err := s.Reset(stream.New(uint64(i))); err != nil {
			t.Fatal(err)
		}
		mean += s.Truth()[0] / n
	}
	if !(math.Abs(mean-1.0/18) < tol) {
		t.Errorf("mean %v, want 1/18 ± %v", mean, tol)
	}
}

// TestTableBatches: a batch is a sample of the prompts without replacement in
// which every prompt is as likely as any other, and a bootstrap sample is one
// with replacement.
func TestTableBatches(t *testing.T) {
	rows := make([]table.Row, 20)
	for i := range rows {
		rows[i] = table.Row{PromptID: fmt.Sprint(i), N: 20, S: i}
	}
	tab := &table.Table{Name: "t", Rows: rows}
	s, err := NewTable(tab, DrawReplacement, 5)
	if err != nil {
		t.Fatal(err)
	}
	// Each prompt is in a share 1/4 of n batches; Hoeffding at 1e-6, split over
	// 20 prompts, which misses a shift of 2*tol = 0.03 with at most its part.
	const n = 40_000
	tol := math.Sqrt(math.Log(2*20/1e-6) / (2 * n))
	var seen [20]int
	for i := range n {
		if size, err := s.Reset(stream.New(uint64(i))); err != nil || size != 5 {
			t.Fatal(size, err)
		}
		var batch uint
		for _, p := range s.Truth() {
			x := int(math.Round(p * 20))
			seen[x]++
			batch |= 1 << x
		}
		if bits.OnesCount(batch) != 5 {
			t.Fatalf("batch %v repeats a prompt", s.Truth())
		}
	}
	for x, c := range seen {
		if share := float64(c) / n; !(math.Abs(share-0.25) < tol) {
			t.Errorf("prompt %d is in a share %.4f of the batches, want 0.25 ± %.4f", x, share, tol)
		}
	}
	whole, err := NewTable(tab, DrawReplacement, 0)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := whole.Reset(0); err != nil || size != 20 || whole.Truth()[7] != 7.0/20 {
		t.Errorf("the whole table: %d prompts, %v, want 20 in order", size, err)
	}
	whole.Resample(stream.New(1))
	if _, err := whole.Reset(stream.New(2)); err != nil {
		t.Fatal(err)
	}
	first := slices.Clone(whole.Truth())
	if _, err := whole.Reset(stream.New(3)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first, whole.Truth()) {
		t.Error("a bootstrap sample changes from batch to batch")
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(first))); len(distinct) == 20 {
		t.Error("a bootstrap sample repeats no prompt")
	}
	for _, batch := range []int{-1, 21} {
		if _, err := NewTable(tab, DrawReplacement, batch); err == nil {
			t.Errorf("batch = %d of 20 prompts is accepted", batch)
		}
	}
	if _, err := NewTable(tab, "some", 0); err == nil {
		t.Error("draw = some is accepted")
	}
}

// TestResamplePrompts: a sample of a table with several rows a prompt has whole
// prompts, as many rows as the table, and of one row a prompt the same prompts as
// a table that counts every row as one.
func TestResamplePrompts(t *testing.T) {
	const prompts, visits = 8, 5
	tab := &table.Table{Name: "visits.csv"}
	for visit := range visits {
		for x := range prompts {
			tab.Rows = append(tab.Rows, table.Row{PromptID: strconv.Itoa(x), Visit: visit, N: prompts * visits, S: len(tab.Rows)})
		}
	}
	src, err := NewTable(tab, DrawReplacement, 0)
	if err != nil {
		t.Fatal(err)
	}
	if src.Prompts() != prompts {
		t.Errorf("%d prompts, want %d", src.Prompts(), prompts)
	}
	repeated := false
	for k := range uint64(20) {
		src.Resample(stream.New(k))
		if size, err := src.Reset(stream.New(100)); err != nil || size != prompts*visits {
			t.Fatalf("%d rows, %v, want %d", size, err, prompts*visits)
		}
		times := map[int]int{} // how often a row stands in the sample
		for _, p := range src.Truth() {
			times[int(math.Round(p*prompts*visits))]++
		}
		for row, n := range times {
			repeated = repeated || n > 1
			if n != times[row%prompts] {
				t.Errorf("sample %d: row %d stands in it %d times, the first row of its prompt %d times", k, row, n, times[row%prompts])
			}
		}
	}
	if !repeated {
		t.Error("no sample repeats a prompt")
	}
	src.Resample(0)
	if _, err := src.Reset(0); err != nil || !slices.IsSorted(src.Truth()) || len(slices.Compact(slices.Clone(src.Truth()))) != prompts*visits {
		t.Errorf("the table itself: %v, %v", src.Truth(), err)
	}
	tab.Rows = append(tab.Rows, table.Row{PromptID: "long", N: 1})
	for visit := range 30 {
		tab.Rows = append(tab.Rows, table.Row{PromptID: "long", Visit: visit + 1, N: 1})
	}
	uneven, err := NewTable(tab, DrawReplacement, 0)
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(20) {
		uneven.Resample(stream.New(k))
		if size, err := uneven.Reset(0); err != nil || size != len(tab.Rows) || len(uneven.Truth()) != size {
			t.Fatalf("uneven prompts: %d rows, %v", size, err)
		}
	}
}

// TestTokens: lengths have the law's mean and do not change the counts. Tokens
// lie in [0, 301], so by Hoeffding their mean strays by more than tol with
// probability at most 1e-6; a shift of 2*tol = 9.1 is missed with at most that.
func TestTokens(t *testing.T) {
	const prompts, group = 2000, 16
	lengths, err := distributions.NewLengthLaw(100, 80, 1, 300)
	if err != nil {
		t.Fatal(err)
	}
	law, err := distributions.NewPoint(0.2)
	if err != nil {
		t.Fatal(err)
	}
	with, err := NewSynthetic(law, lengths, prompts)
	if err != nil {
		t.Fatal(err)
	}
	without, err := NewSynthetic(law, nil, prompts)
	if err != nil {
		t.Fatal(err)
	}
	requests, first := make([]rollout.Request, prompts), make([]int, prompts)
	for x := range requests {
		requests[x] = rollout.Request{X: x, N: group}
	}
	got, plain, tokens := make([]int, prompts), make([]int, prompts), make([]int, prompts)
	for _, s := range []*Synthetic{with, without} {
		if _, err := s.Reset(stream.New(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := with.Draw(context.Background(), requests, first, got, tokens); err != nil {
		t.Fatal(err)
	}
	if err := without.Draw(context.Background(), requests, first, plain, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, plain) {
		t.Error("lengths change the counts")
	}
	sum := 0
	for _, n := range tokens {
		sum += n
	}
	n := float64(prompts * group)
	mean, tol := float64(sum)/n, 301*math.Sqrt(math.Log(2/1e-6)/(2*n))
	if want := with.MeanTokens()[0]; !(math.Abs(mean-want) < tol) {
		t.Errorf("mean tokens %v, want %v ± %v", mean, want, tol)
	}
	tab, err := NewTable(&table.Table{HasTokens: true, Rows: []table.Row{{PromptID: "a", N: 4, S: 2, Tokens: 10.4}}}, DrawReplacement, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Reset(0); err != nil {
		t.Fatal(err)
	}
	one := []int{0}
	if err := tab.Draw(context.Background(), []rollout.Request{{X: 0, N: 8}}, []int{0}, []int{0}, one); err != nil || one[0] != 83 {
		t.Errorf("8 rollouts of 10.4 tokens: %d, %v, want 83", one[0], err)
	}
}
