package tinymodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// A choice is one completion of a reply.
type choice struct {
	Text         string
	FinishReason string `json:"finish_reason"`
	Message      struct{ Content string }
	Logprobs     *struct {
		TokenLogprobs []float64 `json:"token_logprobs"`
		Content       []struct{ Logprob float64 }
	}
}

type reply struct {
	Choices []choice
	Usage   struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
}

// fields are those of a request, by their names.
type fields map[string]any

// with returns the fields and others over them.
func (f fields) with(others fields) fields {
	out := fields{}
	maps.Copy(out, f)
	maps.Copy(out, others)
	return out
}

var client = &http.Client{Timeout: 2 * time.Minute}

// post returns status and body of a request.
func post(t *testing.T, url string, request any) (int, []byte) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text
}

// ask returns the reply to a request that must succeed.
func ask(t *testing.T, url string, request fields) reply {
	t.Helper()
	status, text := post(t, url, request.with(fields{"model": ModelName}))
	var r reply
	if err := json.Unmarshal(text, &r); status != http.StatusOK || err != nil || len(r.Choices) == 0 {
		t.Fatalf("%s: status %d, error %v, %d choices: %.300s", url, status, err, len(r.Choices), text)
	}
	return r
}

// A sample is what n completions of one problem came to.
type sample struct {
	n, right, cutOff int
	tokens, squares  float64 // sums over completions of tokens and their squares
}

// draw asks for n completions of a problem, in as many requests as a server
// takes that may give fewer choices than it was asked for. No two requests of
// any problem share a seed, or their completions would not be independent.
func draw(t *testing.T, base string, p Problem, n int, decoding fields) sample {
	t.Helper()
	const most = 256 // choices of one request
	s := sample{n: n}
	for left := n; left > 0; {
		r := ask(t, base+"/completions", decoding.with(fields{"prompt": p.Prompt, "max_tokens": MaxTokens, "n": min(left, most), "seed": seed(p.ID, left)}))
		for _, c := range r.Choices {
			s.add(p, c)
		}
		left -= len(r.Choices)
	}
	return s
}

// seed hashes a problem and what is left to draw to 32 bits.
func seed(id string, left int) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, id, " ", left)
	return h.Sum32()
}

func (s *sample) add(p Problem, c choice) {
	tokens := float64(len(c.Text)) // one a character
	if c.FinishReason == "length" {
		s.cutOff++
	} else {
		tokens++ // the end
	}
	s.tokens += tokens
	s.squares += tokens * tokens
	if c.Text == p.Answer {
		s.right++
	}
}

// spread returns k problems whose rates spread over [0.05, 0.95].
func spread(k int) []Problem {
	able := slices.DeleteFunc(Problems(), func(p Problem) bool { return !(p.Rate >= 0.05 && p.Rate <= 0.95) })
	slices.SortFunc(able, func(a, b Problem) int { return cmp.Compare(a.Rate, b.Rate) })
	out := make([]Problem, k)
	for i := range out {
		out[i] = able[i*(len(able)-1)/(k-1)]
	}
	return out
}

// falseAlarm is the rate at which deviations finds something in samples of
// the right law.
const falseAlarm = 1e-6

// deviations compares the samples with what is known of their problems and
// returns what disagrees. Cases: the successes of each problem (Bernstein,
// which holds at every n), those of all together (chi-square; the exact law of
// the sum for the eight rates of spread(8), by convolution, has the same tail
// within a third), the mean length and the share cut off of all together
// (normal law, for means of thousands of bounded variables).
func deviations(problems []Problem, samples []sample) []string {
	var out []string
	alpha := falseAlarm / float64(len(problems)+3)
	compare := func(what string, got, want, tolerance float64) {
		if !(math.Abs(got-want) < tolerance) {
			out = append(out, fmt.Sprintf("%s: %.4f, want %.4f ± %.4f", what, got, want, tolerance))
		}
	}
	var chi2, n float64
	var tokens, tokensWant, tokensVar, cutOff, cutOffWant, cutOffVar float64
	for i, p := range problems {
		s, m := samples[i], float64(samples[i].n)
		variance := p.Rate * (1 - p.Rate) / m
		off := float64(s.right)/m - p.Rate
		compare("success rate of "+p.ID, p.Rate+off, p.Rate, bernstein(m*m*variance, alpha)/m)
		chi2 += off * off / variance
		n += m

		share := float64(s.cutOff) / m
		tokens, cutOff = tokens+s.tokens, cutOff+float64(s.cutOff)
		tokensWant, cutOffWant = tokensWant+m*p.Length.Mean, cutOffWant+m*p.CutOff.Mean
		tokensVar += s.squares - s.tokens*s.tokens/m + m*m*p.Length.SE*p.Length.SE
		cutOffVar += m*share*(1-share) + m*m*p.CutOff.SE*p.CutOff.SE
	}
	if tail := (distuv.ChiSquared{K: float64(len(problems))}).Survival(chi2); !(tail > alpha) {
		out = append(out, fmt.Sprintf("success rates of all: chi-square %.1f with %d degrees of freedom, tail %.1g, want above %.1g", chi2, len(problems), tail, alpha))
	}
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	compare("mean length of all", tokens/n, tokensWant/n, z*math.Sqrt(tokensVar)/n)
	compare("share cut off of all", cutOff/n, cutOffWant/n, z*math.Sqrt(cutOffVar)/n)
	return out
}

func drawAll(t *testing.T, base string, problems []Problem, n int, decoding fields) []sample {
	t.Helper()
	out := make([]sample, len(problems))
	for i, p := range problems {
		out[i] = draw(t, base, p, n, decoding)
	}
	return out
}

// TestServer checks one server that serves the exact law, all its sides on the
// same process.
func TestServer(t *testing.T) {
	base := Start(t, Options{})
	t.Run("rates", func(t *testing.T) { testRates(t, base) })
	t.Run("distorted", func(t *testing.T) { testDistorted(t, base) })
	t.Run("probabilities", func(t *testing.T) { testProbabilities(t, base, 5e-4) })
	t.Run("replies", func(t *testing.T) { testReplies(t, base) })
	t.Run("refusals", func(t *testing.T) { testRefusals(t, base) })
}

// TestRounded: llama.cpp's own 16-bit cache and flash attention move a rate by
// up to a hundredth of itself, a third of the standard error of 1,024
// completions at a rate of 1/2.
func TestRounded(t *testing.T) {
	testProbabilities(t, Start(t, Options{Rounded: true}), 2e-2)
}

// testRates compares 8 problems x 1,024 completions of the real server with
// the exact rates. A sample of the right law fails with probability 1e-6; one
// at temperature 0.9 passes with probability 0.2, at 0.8 below 1e-9 (from
// the eight exact rates at these temperatures, noncentral chi-square).
func testRates(t *testing.T, base string) {
	problems := spread(8)
	samples := drawAll(t, base, problems, 1024, nil)
	for i, p := range problems {
		s := samples[i]
		z := (float64(s.right) - 1024*p.Rate) / math.Sqrt(1024*p.Rate*(1-p.Rate))
		t.Logf("%s: %d of 1024 right, rate %.4f, z = %.2f; %.0f tokens, %d cut off", p.ID, s.right, p.Rate, z, s.tokens, s.cutOff)
	}
	for _, d := range deviations(problems, samples) {
		t.Error(d)
	}
}

// testDistorted: what servers do to a policy by default, or where a request
// asks for it, must be seen. Temperature 0.8 passes 512 completions with
// probability 3e-5.
func testDistorted(t *testing.T, base string) {
	problems := spread(8)
	for _, c := range []struct {
		name     string
		decoding fields
	}{
		{"temperature 0.8", fields{"temperature": 0.8}},
		{"top_p 0.9", fields{"top_p": 0.9}},
		{"top_k 2", fields{"top_k": 2}},
		{"repeat_penalty 1.3", fields{"repeat_penalty": 1.3}},
	} {
		found := deviations(problems, drawAll(t, base, problems, 512, c.decoding))
		t.Logf("%s: %q", c.name, found)
		if len(found) == 0 {
			t.Errorf("%s passes for the neutral sampler", c.name)
		}
	}
}

// testProbabilities compares the server's own log-probabilities of right
// completions with the exact rates: no sampling error, only rounding.
func testProbabilities(t *testing.T, base string, tolerance float64) {
	var compared int
	var largest float64
	for _, p := range spread(24) {
		r := ask(t, base+"/completions", fields{"prompt": p.Prompt, "max_tokens": MaxTokens, "n": 64, "seed": 1, "logprobs": 1})
		i := slices.IndexFunc(r.Choices, func(c choice) bool { return c.Text == p.Answer })
		if i < 0 {
			continue
		}
		compared++
		var log float64
		for _, l := range r.Choices[i].Logprobs.TokenLogprobs {
			log += l
		}
		off := math.Abs(log - math.Log(p.Rate))
		largest = max(largest, off)
		if !(off < tolerance) {
			t.Errorf("%s: log rate %.6f, exact %.6f, want within %g", p.ID, log, math.Log(p.Rate), tolerance)
		}
	}
	t.Logf("%d rates compared, the largest difference of logs is %.2g", compared, largest)
	if compared < 16 {
		t.Errorf("%d of 24 problems had a right completion among 64, want at least 16", compared)
	}
}

// testReplies checks what a request gets: choices, seeds, usage, chat, ends.
func testReplies(t *testing.T, base string) {
	p := spread(3)[1]
	request := fields{"prompt": p.Prompt, "max_tokens": MaxTokens, "n": 40, "seed": 1}

	first := ask(t, base+"/completions", request)
	if len(first.Choices) != 40 {
		t.Errorf("n = 40: %d choices", len(first.Choices))
	}
	if n := others(ask(t, base+"/completions", request), first); n > fewOthers {
		t.Errorf("the same seed gives %d other completions of 40, want at most %d", n, fewOthers)
	}
	if n := others(ask(t, base+"/completions", request.with(fields{"seed": 2})), first); n <= fewOthers {
		t.Errorf("another seed gives %d other completions of 40, want more than %d", n, fewOthers)
	}
	unseeded := fields{"prompt": p.Prompt, "max_tokens": MaxTokens, "n": 40}
	if n := others(ask(t, base+"/completions", unseeded), ask(t, base+"/completions", unseeded)); n <= fewOthers {
		t.Errorf("two requests without a seed have %d other completions of 40, want more than %d", n, fewOthers)
	}
	if same := first.Choices[0].Text; !slices.ContainsFunc(first.Choices, func(c choice) bool { return c.Text != same }) {
		t.Errorf("all 40 choices are %q", same)
	}

	tokens := 0
	for _, c := range first.Choices {
		tokens += len(c.Text)
		if c.FinishReason == "stop" {
			tokens++
		}
	}
	u := first.Usage
	if u.CompletionTokens != tokens || u.PromptTokens != len(p.Prompt)+1 || u.TotalTokens != u.PromptTokens+tokens {
		t.Errorf("usage %+v, want %d tokens in and %d out", u, len(p.Prompt)+1, tokens)
	}

	chat := request.with(fields{"messages": []fields{{"role": "system", "content": "ignored"}, {"role": "user", "content": p.Prompt}}, "logprobs": true})
	delete(chat, "prompt")
	talk := ask(t, base+"/chat/completions", chat)
	unlike := 0
	for i, c := range talk.Choices {
		if c.Message.Content != first.Choices[i].Text {
			unlike++
		}
		if c.Logprobs == nil || len(c.Logprobs.Content) == 0 {
			t.Errorf("chat: choice %d is %+v, want log-probabilities", i, c)
		}
	}
	if len(talk.Choices) != len(first.Choices) || unlike > fewOthers {
		t.Errorf("chat: %d of %d choices are others than those of the prompt, want at most %d of %d", unlike, len(talk.Choices), fewOthers, len(first.Choices))
	}

	greedy := ask(t, base+"/completions", request.with(fields{"temperature": 0, "n": 2, "prompt": "9*2="}))
	if got := greedy.Choices; got[0].Text != got[1].Text {
		t.Errorf("temperature 0: %q and %q", got[0].Text, got[1].Text)
	}
	cut := ask(t, base+"/completions", request.with(fields{"temperature": 0, "n": 1, "prompt": "9*2=", "stop": []string{" "}})).Choices[0]
	if whole := greedy.Choices[0].Text; cut.Text != strings.Split(whole, " ")[0] || cut.FinishReason != "stop" {
		t.Errorf("stop at a space: %q (%s) of %q", cut.Text, cut.FinishReason, whole)
	}
	short := ask(t, base+"/completions", request.with(fields{"max_tokens": 1})).Choices[0]
	if len(short.Text) > 1 || (short.FinishReason == "length") != (short.Text != "") {
		t.Errorf("max_tokens 1: %q, %s", short.Text, short.FinishReason)
	}
}

// fewOthers bounds the completions of 40 in which two answers to one seeded request
// may differ: what is computed beside a token moves its probabilities in the seventh
// digit. A seed that does nothing changes most of them.
const fewOthers = 4

// others counts the choices in which two replies differ.
func others(a, b reply) int {
	n := max(len(a.Choices), len(b.Choices)) - min(len(a.Choices), len(b.Choices))
	for i := range min(len(a.Choices), len(b.Choices)) {
		if a.Choices[i].Text != b.Choices[i].Text {
			n++
		}
	}
	return n
}

// TestIgnoreN: some servers give one choice whatever they are asked for.
func TestIgnoreN(t *testing.T) {
	base := Start(t, Options{IgnoreN: true, Sequences: 2})
	r := ask(t, base+"/completions", fields{"prompt": "1+1=", "n": 5})
	if len(r.Choices) != 1 {
		t.Errorf("n = 5, ignored: %d choices, want 1", len(r.Choices))
	}
}

// testRefusals: a bad request is answered by its fault, in OpenAI's form.
func testRefusals(t *testing.T, base string) {
	for _, c := range []struct {
		path    string
		request any
		status  int
		want    string
	}{
		{"/completions", fields{}, 400, "prompt: want a string"},
		{"/completions", "text", 400, "prompt: want a string"},
		{"/completions", nil, 400, "prompt: want a string"},
		{"/chat/completions", fields{"messages": []fields{}}, 400, "messages: want at least one of role user"},
		{"/completions", fields{"prompt": "1+1=", "temperature": -1}, 400, "temperature = -1, want a number in [0, 2]"},
		{"/completions", fields{"prompt": "1+1=", "n": 0}, 400, "n = 0, want a whole number in [1, 1024]"},
		{"/completions", fields{"prompt": "1+1=", "n": 1.5}, 400, "n = 1.5, want a whole number in [1, 1024]"},
		{"/completions", fields{"prompt": "1+1=", "stop": []string{""}}, 400, "stop: want a string or an array of strings"},
		{"/completions", fields{"prompt": strings.Repeat("1", 64)}, 400, "prompt has 65 tokens, the context 64"},
		{"/embeddings", fields{}, 404, "no POST /v1/embeddings here"},
	} {
		status, text := post(t, base+c.path, c.request)
		var r struct{ Error struct{ Message string } }
		if err := json.Unmarshal(text, &r); err != nil || status != c.status || r.Error.Message != c.want {
			t.Errorf("%s %v: status %d, %s (%v), want %d, %q", c.path, c.request, status, text, err, c.status, c.want)
		}
	}
}

// TestStartAndStop: the server is gone when it is stopped, and a model that is
// not there is an error that names it.
func TestStartAndStop(t *testing.T) {
	script := needServer(t)
	url, stop, err := start(script, Options{}.args())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	stop() // twice is once
	if response, err := client.Get(url + "/models"); err == nil {
		response.Body.Close()
		t.Errorf("%s answers after stop", url)
	}
	missing := filepath.Join(t.TempDir(), "no.gguf")
	if _, _, err := start(script, []string{"--exit-with-stdin", "--model", missing}); err == nil || !strings.Contains(err.Error(), "no.gguf") {
		t.Errorf("a model that is not there: %v, want an error that names it", err)
	}
}
