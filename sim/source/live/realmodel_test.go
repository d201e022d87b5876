package live_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"vigorlab/distributions/ratetest"
	"vigorlab/sim/source/live"
	"vigorlab/sim/source/live/tinymodel"
)

// realProblems is the number of prompts of the tests on the real model.
const realProblems = 8

// spreadProblems returns problems whose exact rates spread over [0.05, 0.95].
func spreadProblems() []tinymodel.Problem {
	able := slices.DeleteFunc(tinymodel.Problems(), func(p tinymodel.Problem) bool { return !(p.Rate >= 0.05 && p.Rate <= 0.95) })
	slices.SortFunc(able, func(a, b tinymodel.Problem) int { return cmp.Compare(a.Rate, b.Rate) })
	out := make([]tinymodel.Problem, realProblems)
	for i := range out {
		out[i] = able[i*(len(able)-1)/(realProblems-1)]
	}
	return out
}

// A realCase is one way of asking the real server.
type realCase struct {
	name     string
	ignoreN  bool
	change   func(*live.Config)
	n        int      // completions of each problem
	requests int      // that it takes, of all problems
	notices  []string // what the client says of the server
}

// realCases: n honoured, in requests of 64 choices; n ignored, which the first
// answers show, so that every further request is for one; a seed, which makes
// every completion a request of its own.
func realCases() []realCase {
	seed := uint64(20260101)
	return []realCase{
		{name: "completions", change: func(*live.Config) {}, n: 1024, requests: realProblems * 1024 / 64},
		{name: "chat", change: func(c *live.Config) { c.Chat = true }, n: 1024, requests: realProblems * 1024 / 64},
		{name: "n ignored", ignoreN: true, change: func(*live.Config) {}, n: 256, requests: realProblems * 256, notices: []string{"ignores n"}},
		{name: "chat with seeds", change: func(c *live.Config) { c.Chat, c.Sampling.Seed = true, &seed }, n: 256, requests: realProblems * 256},
	}
}

// TestServedRates compares the success rates of the project's own model, as the
// client has them from a real server, with the exact ones. Samples of the right
// law fail one of all cases together with probability 1e-6 at most, by exact
// binomial tails for each of the 8 rates, and by Bernstein for their sum, which
// hold at every n (the other tokens of a right text, at most 2e-4, are within
// what the rest of the tolerance of 0.02 and more leaves). A client
// that takes one right answer in ten for a wrong one passes 1,024 completions a
// problem with probability 3e-9, and one in five 256 with 2e-6, by the same
// tails. Only the last case has a seed to fix; requests for several choices carry
// none.
func TestServedRates(t *testing.T) {
	cases, problems := realCases(), spreadProblems()
	alpha := 1e-6 / float64(len(cases)*(realProblems+1))
	servers := map[bool]string{}
	for _, c := range cases {
		if servers[c.ignoreN] == "" {
			servers[c.ignoreN] = tinymodel.Start(t, tinymodel.Options{IgnoreN: c.ignoreN})
		}
		base := servers[c.ignoreN]
		t.Run(c.name, func(t *testing.T) {
			before := tinymodel.Drawn(t, base)
			l, notices := realClient(t, base, c)
			var right, want, variance float64
			for _, p := range problems {
				k := successes(t, l, p, c.n, c.requests == realProblems*c.n)
				if low, high := ratetest.Limits(c.n, p.Rate, alpha); !(k >= low && k <= high) {
					t.Errorf("%s: %d of %d right, want %d to %d at rate %.4f", p.ID, k, c.n, low, high, p.Rate)
				}
				right += float64(k)
				want += float64(c.n) * p.Rate
				variance += float64(c.n) * p.Rate * (1 - p.Rate)
			}
			t.Logf("%.0f right, want %.1f, z = %.2f", right, want, (right-want)/math.Sqrt(variance))
			if tol := bernstein(variance, alpha); !(math.Abs(right-want) < tol) {
				t.Errorf("%.0f right in all, want %.1f ± %.1f", right, want, tol)
			}
			checkRealBook(t, l, c, tinymodel.Drawn(t, base)-before)
			if got := notices(); len(got) != len(c.notices) || (len(got) > 0 && !strings.Contains(got[0], c.notices[0])) {
				t.Errorf("notices %q, want of %q", got, c.notices)
			}
		})
	}
	t.Run("seeds", func(t *testing.T) { testServedSeeds(t, servers[false]) })
}

// realClient returns a client of the real server and what it has said of it.
func realClient(t *testing.T, base string, c realCase) (*live.Client, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var said []string
	cfg := live.DefaultConfig()
	cfg.BaseURLs, cfg.Model, cfg.Sampling.MaxTokens = []string{base}, tinymodel.ModelName, tinymodel.MaxTokens
	cfg.Notify = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}
	c.change(&cfg)
	return client(t, cfg), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
}

// successes asks for n completions of a problem and counts the right ones. Their
// tokens must be within the limit together, as a request for several tells the sum
// alone; one that came alone has its own count.
func successes(t *testing.T, l *live.Client, p tinymodel.Problem, n int, alone bool) int {
	t.Helper()
	got, err := collect(t, l, p.Prompt, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	right, tokens := 0, 0
	for _, c := range got {
		if c.Text == p.Answer {
			right++
		}
		tokens += c.CompletionTokens
		if cut := c.FinishReason == "length"; alone && (c.CompletionTokens < 1 || c.CompletionTokens > tinymodel.MaxTokens || (cut && c.CompletionTokens != tinymodel.MaxTokens)) {
			t.Errorf("%s: %+v, want 1 to %d tokens, and so many where it was cut off", p.ID, c, tinymodel.MaxTokens)
		}
	}
	if !(tokens >= n && tokens <= n*tinymodel.MaxTokens) {
		t.Errorf("%s: %d tokens in %d completions, want 1 to %d each", p.ID, tokens, n, tinymodel.MaxTokens)
	}
	return right
}

// checkRealBook compares what the client counted with what the server says.
func checkRealBook(t *testing.T, l *live.Client, c realCase, drawn int) {
	t.Helper()
	counts, want := l.Counts(), realProblems*c.n
	if drawn != want || counts.Taken != want || counts.Extra != 0 || counts.Failures != 0 || counts.Requests != c.requests || counts.NoUsage != 0 {
		t.Errorf("%d completions drawn, client %+v; want %d in %d requests", drawn, counts, want, c.requests)
	}
}

// bernstein returns the t with P(|S - E S| >= t) <= alpha for a sum S of
// independent variables in [0, 1] of the given total variance: Bernstein's
// inequality 2 exp(-t^2 / (2 (v + t/3))) = alpha, solved.
func bernstein(v, alpha float64) float64 {
	l := math.Log(2 / alpha)
	return l/3 + math.Sqrt(l*l/9+2*v*l)
}

// testServedSeeds: a seed of the client gives the same completions again, and
// another one others.
func testServedSeeds(t *testing.T, base string) {
	texts := func(seed uint64) string {
		l, _ := realClient(t, base, realCase{change: func(c *live.Config) { c.Sampling.Seed = &seed }})
		got, err := collect(t, l, "17+25=", 0, 40)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintln(&b, got[i].Text)
		}
		return b.String()
	}
	if once := texts(1); once != texts(1) || once == texts(2) {
		t.Error("the same seed gives other completions, or another the same")
	}
}
