package live

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSplitByHand divides 10 tokens over weights 1, 1, 2: the rounded sums are
// 2.5, 5 and 10, halves up.
func TestSplitByHand(t *testing.T) {
	for _, c := range []struct {
		total   int
		weights []int
		want    []int
	}{
		{10, []int{1, 1, 2}, []int{3, 2, 5}},
		{7, []int{7}, []int{7}},
		{5, []int{0, 0}, []int{2, 3}},
		{0, []int{3, 4}, []int{0, 0}},
		{3, []int{0, 1}, []int{0, 3}},
	} {
		if got := split(c.total, c.weights); !slices.Equal(got, c.want) {
			t.Errorf("split(%d, %v) = %v, want %v", c.total, c.weights, got, c.want)
		}
	}
}

// TestSplitAddsUp: no share is negative, they add up, and each is within 1 of
// its proportion.
func TestSplitAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, mostTokens).Draw(t, "total")
		weights := rapid.SliceOfN(rapid.IntRange(0, 100_000), 1, MaxChoices).Draw(t, "weights")
		sum, so := 0, 0
		for _, w := range weights {
			sum += w
		}
		for i, share := range split(total, weights) {
			so += share
			if sum > 0 {
				if exact := float64(total) * float64(weights[i]) / float64(sum); !(math.Abs(float64(share)-exact) <= 1+1e-6) {
					t.Fatalf("share %d of %d is %d, want about %v", i, total, share, exact)
				}
			}
			if share < 0 {
				t.Fatalf("share %d is %d", i, share)
			}
		}
		if so != total {
			t.Fatalf("shares add up to %d, want %d", so, total)
		}
	})
}

// TestAnswers reads what servers write, and what they should not.
func TestAnswers(t *testing.T) {
	const choices = `"choices":[{"text":"ab","finish_reason":"stop"},{"text":"abcde","finish_reason":"length"}]`
	for _, c := range []struct {
		name, body string
		chat       bool
		want       string // texts, tokens and log probabilities, or the error
	}{
		{"by bytes, the end one token", `{` + choices + `,"usage":{"prompt_tokens":4,"completion_tokens":16}}`, false, "ab 4+6 <nil>; abcde 0+10 <nil>"},
		{"by log probabilities", `{"choices":[{"text":"ab","logprobs":{"token_logprobs":[-1,-2]}},{"text":"abcde","logprobs":{"content":[{"logprob":-0.5}]}}],"usage":{"prompt_tokens":4.0,"completion_tokens":3}}`, false, "ab 4+2 -3; abcde 0+1 -0.5"},
		{"log probabilities of another count", `{"choices":[{"text":"ab","logprobs":{"token_logprobs":[-1,-2]}}],"usage":{"prompt_tokens":4,"completion_tokens":3}}`, false, "ab 4+3 -3"},
		{"a token without log probability", `{"choices":[{"text":"ab","logprobs":{"token_logprobs":[null,-2]}}]}`, false, "ab 0+0 <nil>"},
		{"odd log probabilities, odd usage", `{"choices":[{"text":"ab","logprobs":[]}],"usage":7}`, false, "ab 0+0 <nil>"},
		{"usage below 0", `{"choices":[{"text":"ab"}],"usage":{"prompt_tokens":4,"completion_tokens":-1}}`, false, "ab 0+0 <nil>"},
		{"no error", `{"error":null,"choices":[{"text":"ab"}]}`, false, "ab 0+0 <nil>"},
		{"all tokens thought away", `{"choices":[{"message":{"content":null},"finish_reason":"length"}]}`, true, " 0+0 <nil>"},
		{"chat", `{"choices":[{"message":{"content":"ab"}}]}`, true, "ab 0+0 <nil>"},
		{"chat to completions", `{"choices":[{"message":{"content":"ab"}}]}`, false, "without text"},
		{"completions to chat", `{"choices":[{"text":"ab"}]}`, true, "without message"},
		{"no text", `{"choices":[{"text":null}]}`, false, "without text"},
		{"no choice", `{"choices":[null]}`, false, "without text"},
		{"an error", `{"error":"overloaded",` + choices + `}`, false, "answers with an error: overloaded"},
		{"an error in a choice", `{"choices":[{"text":"","error":{"message":"x"}}]}`, false, "error in a choice"},
		{"given up", `{"choices":[{"text":"a","finish_reason":"abort"}]}`, false, "gave up on a choice"},
		{"nothing", ``, false, "no JSON"},
		{"two answers", `{` + choices + `}{` + choices + `}`, false, "no JSON"},
		{"a list", `[]`, false, "no JSON"},
		{"null", `null`, false, "without choices"},
	} {
		r, err := parse([]byte(c.body), c.chat)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, "<nil>") {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			continue
		}
		all, _ := r.completions(1)
		var got []string
		for _, a := range all {
			p := "<nil>"
			if a.LogProb != nil {
				p = fmt.Sprint(*a.LogProb)
			}
			got = append(got, fmt.Sprintf("%s %d+%d %s", a.Text, a.PromptTokens, a.CompletionTokens, p))
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
}

// FuzzAnswer wants no panic, and of what is no error tokens that add up.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"id":"x","choices":[{"text":"a","logprobs":{"content":[{"logprob":-1}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`), false)
	f.Add([]byte(`{"error":{"message":"x"},"choices":[{"message":{"content":"a"}}]}`), true)
	f.Fuzz(func(t *testing.T, body []byte, chat bool) {
		complaint(body)
		r, err := parse(body, chat)
		if err != nil {
			return
		}
		all, counted := r.completions(1)
		sum := 0
		for _, a := range all {
			sum += a.CompletionTokens
			if a.CompletionTokens < 0 || a.PromptTokens < 0 {
				t.Errorf("completion %+v", a)
			}
		}
		var u usage
		if counted && (json.Unmarshal(r.Usage, &u) != nil || sum != int(*u.CompletionTokens)) {
			t.Errorf("%d tokens of %s", sum, r.Usage)
		}
	})
}

// TestRetryAfterHeader reads seconds and dates.
func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "NaN": 0, "soon": 0, "1e300": 1e9 * time.Second,
		"Fri, 02 Jan 2026 03:04:25 GMT": 20 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", header, got, want)
		}
	}
}

// TestBackoff doubles, and ends at half a minute.
func TestBackoff(t *testing.T) {
	c := Client{config: Config{Backoff: 500 * time.Millisecond}}
	for failures, want := range map[int]time.Duration{0: 500 * time.Millisecond, 1: time.Second, 5: 16 * time.Second, 6: longestBackoff, 10_000: longestBackoff} {
		if got := c.backoff(failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

// TestRepeats keeps the last answers in fixed space, and does not judge by ids
// that say nothing.
func TestRepeats(t *testing.T) {
	var r repeats
	id := func(i int) string { return fmt.Sprintf("cmpl-%016d", i) }
	for i := range 3 * recentAnswers {
		if r.seen(id(i), []byte("4")) {
			t.Fatalf("answer %d was never seen", i)
		}
	}
	if len(r.bodies) != recentAnswers {
		t.Errorf("remembers %d answers, want %d", len(r.bodies), recentAnswers)
	}
	if !r.seen(id(2*recentAnswers), []byte("4")) || !r.seen(id(3*recentAnswers-1), []byte("4")) || r.seen(id(0), []byte("4")) {
		t.Error("want the last answers known and the first forgotten")
	}
	for range 2 {
		if r.seen("chatcmpl-123", []byte("4")) {
			t.Error("judged by a short id")
		}
	}
	if r.seen(id(3*recentAnswers-1), []byte("5")) || r.seen(id(3*recentAnswers-2), []byte("4")) {
		t.Error("judged by ids that do not tell answers apart")
	}
}

// TestSeedsDiffer over indices, prompts and seeds.
func TestSeedsDiffer(t *testing.T) {
	seen := map[int64]bool{}
	for _, seed := range []uint64{1, 2} {
		c := Client{config: Config{Sampling: Sampling{Seed: &seed}}}
		for _, prompt := range []string{"a", "b"} {
			for i := range 2000 {
				s := *c.seed(prompt, i)
				if !(s >= 0 && s < 1<<31) || seen[s] {
					t.Fatalf("seed %d of %q %d is out of [0, 2^31) or comes twice", s, prompt, i)
				}
				seen[s] = true
			}
		}
	}
}

// TestRefusable tells a field that the policy can do without from what ends a
// run.
func TestRefusable(t *testing.T) {
	c := Client{config: Config{Chat: true, Sampling: Sampling{LogProbs: true, TopK: 5}}}
	refused := map[string]bool{"min_p": true}
	for text, want := range map[string]string{
		"Unrecognized request argument supplied: repeat_penalty": "repeat_penalty",
		"unknown min_p":                              "", // it was not sent
		"top_k must be 0":                            "", // the user asked for it
		"logprobs are not supported":                 "logprobs",
		"Only one completion choice is allowed":      "n",
		"Invalid value for 'n'":                      "n",
		"the prompt has 9000 tokens, more than 4096": "",
		"'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": "max_tokens",
		"max_tokens is too large": "",
	} {
		if got := c.refusable(request{n: 2, common: &common{refused: refused}}, text); got != want {
			t.Errorf("%q: leaves out %q, want %q", text, got, want)
		}
	}
	if got := c.refusable(request{n: 1, common: &common{}}, "n"); got != "" {
		t.Errorf("a single completion refused: leaves out %q", got)
	}
}

// TestPoolWaits: a server that asks for an hour is no hope, but one that is
// being tried may be back at any time; one that failed a request is its last choice.
func TestPoolWaits(t *testing.T) {
	now := time.Now()
	busy := &server{until: now.Add(time.Hour)}
	tried := &server{failures: tripAt, probing: true}
	p := pool{servers: []*server{busy, tried}}
	if s, wait := p.best(now, nil); s != nil || wait != longestWait {
		t.Errorf("server %v in %v, want none for %v", s, wait, longestWait)
	}
	p.servers = p.servers[:1]
	if s, wait := p.best(now, nil); s != nil || wait != time.Hour {
		t.Errorf("server %v in %v, want none for an hour", s, wait)
	}
	p.servers = []*server{busy, {inFlight: 2}, {inFlight: 1, asked: 9}, {inFlight: 1, asked: 3}}
	if s, _ := p.best(now, nil); s != p.servers[3] {
		t.Errorf("asks %+v, want the one with least in flight and fewest requests", s)
	}
	if s, _ := p.best(now, p.servers[3]); s != p.servers[2] {
		t.Errorf("asks %+v again, want another than the one that failed", s)
	}
	for _, servers := range [][]*server{{busy, p.servers[3]}, {p.servers[3], busy}} {
		one := pool{servers: servers}
		if s, _ := one.best(now, p.servers[3]); s != p.servers[3] {
			t.Errorf("asks %+v, want the one that failed, as the other is set aside", s)
		}
	}
}

// TestEmptyAnswersAreCounted: an answer of no tokens is not one whose tokens nobody
// counted, and what a model thinks before it answers has tokens too.
func TestEmptyAnswersAreCounted(t *testing.T) {
	const choices = `"choices":[{"finish_reason":"length","message":{"content":null%s}},{"message":{"content":"four"}}]`
	for _, c := range []struct {
		thought, usage string
		tokens         int // of the first choice
		uncounted      bool
	}{
		{"", `{"prompt_tokens":1,"completion_tokens":10}`, 0, false},
		{`,"reasoning_content":"12345"`, `{"prompt_tokens":1,"completion_tokens":10}`, 5, false},
		{`,"reasoning":"12345","reasoning_content":"12345"`, `{"prompt_tokens":1,"completion_tokens":10}`, 5, false},
		{`,"reasoning":null`, `null`, 0, true},
	} {
		r, err := parse(fmt.Appendf(nil, "{"+choices+`,"usage":%s}`, c.thought, c.usage), true)
		if err != nil {
			t.Fatal(err)
		}
		all, counted := r.completions(0)
		if a := all[0]; a.CompletionTokens != c.tokens || a.Uncounted != c.uncounted || counted == c.uncounted {
			t.Errorf("%s, usage %s: %d tokens, uncounted %v, want %d, %v", c.thought, c.usage, a.CompletionTokens, a.Uncounted, c.tokens, c.uncounted)
		}
	}
}
