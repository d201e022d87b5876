package live_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigorlab/sim/source/live"
	"vigorlab/sim/source/live/livetest"
	"vigorlab/sim/stream"
)

// key is the secret that no error may show.
const key = "sk-this-is-the-secret-0123456789"

// config returns a configuration with waits of milliseconds.
func config(bases ...string) live.Config {
	c := live.DefaultConfig()
	c.BaseURLs, c.Model, c.Key = bases, "tiny", key
	c.Backoff = time.Millisecond
	c.Timeout = 20 * time.Second
	return c
}

func client(t testing.TB, c live.Config) *live.Client {
	t.Helper()
	client, err := live.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// collect completes a prompt into a map, and fails where an index comes twice
// or is not one of those asked for.
func collect(t testing.TB, c *live.Client, prompt string, index, n int) (map[int]live.Completion, error) {
	t.Helper()
	got := map[int]live.Completion{}
	err := c.Complete(t.Context(), prompt, index, n, func(i int, completion live.Completion) error {
		if _, twice := got[i]; twice || i < index || i >= index+n {
			t.Errorf("%s: completion %d comes twice or was not asked for, want %d to %d once", prompt, i, index, index+n-1)
		}
		got[i] = completion
		return nil
	})
	if err == nil && len(got) != n {
		t.Errorf("%s: %d completions without an error, want %d", prompt, len(got), n)
	}
	return got, err
}

// at returns faults by arrival, and none afterwards.
func at(faults ...livetest.Fault) func(int) livetest.Fault {
	return func(arrival int) livetest.Fault {
		if arrival < len(faults) {
			return faults[arrival]
		}
		return livetest.None
	}
}

func always(f livetest.Fault) func(int) livetest.Fault {
	return func(int) livetest.Fault { return f }
}

// checkBooks compares what the client counted with what the server did:
// everything delivered was taken or is extra.
func checkBooks(t *testing.T, c *live.Client, servers ...*livetest.Server) {
	t.Helper()
	var requests, received int
	for _, s := range servers {
		b := s.Book()
		requests += b.Requests
		received += b.Delivered + b.Replayed
	}
	n := c.Counts()
	if n.Requests != requests || n.Taken+n.Extra != received {
		t.Errorf("client counts %+v, servers %d requests and %d completions that arrived", n, requests, received)
	}
}

// TestPlain checks a completion of either kind, field by field.
func TestPlain(t *testing.T) {
	for _, chat := range []bool{false, true} {
		t.Run(fmt.Sprint("chat ", chat), func(t *testing.T) {
			s := livetest.New(t, livetest.Config{Seed: 1, Key: key, Answer: func(string, bool, int) string { return "four" }})
			c := config(s.URL)
			c.Chat, c.Sampling.LogProbs = chat, true
			c.Sampling.Stop = []string{"\n\n"}
			l := client(t, c)
			got, err := collect(t, l, "2+2=", 7, 3)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range got {
				prompt := 0
				if i == 7 {
					prompt = 4 // once a request
				}
				// Five tokens: a byte each, and the end.
				if a.Text != "four" || a.FinishReason != "stop" || a.PromptTokens != prompt || a.CompletionTokens != 5 || !(a.Seconds > 0) {
					t.Errorf("completion %d = %+v", i, a)
				}
				if a.LogProb == nil || *a.LogProb != 5*livetest.LogProb {
					t.Errorf("completion %d: log probability %v, want %v", i, a.LogProb, 5*livetest.LogProb)
				}
			}
			if n := l.Counts(); n != (live.Counts{Requests: 1, Taken: 3, PromptTokens: 4, CompletionTokens: 15}) {
				t.Errorf("counts %+v", n)
			}
			want := map[string]any{
				"model": "tiny", "n": 3.0, "temperature": 1.0, "top_p": 1.0, "max_tokens": 1024.0, "top_k": -1.0, "min_p": 0.0,
				"repetition_penalty": 1.0, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
			}
			sent := s.Requests()[0]
			for field, value := range want {
				if sent[field] != value {
					t.Errorf("sent %s = %v, want %v", field, sent[field], value)
				}
			}
			if _, seeded := sent["seed"]; seeded || fmt.Sprint(sent["stop"]) != "[\n\n]" {
				t.Errorf("sent seed %v and stop %q", sent["seed"], sent["stop"])
			}
		})
	}
}

// hangTimeout ends requests that hang. One that does not must be answered within it,
// on however busy a machine: of 30 runs beside a load of 19 on two cores, one took
// longer than 0.5 s.
const hangTimeout = 5 * time.Second

// TestEveryFault meets each fault once, alone, and then for ever. Once, it is
// got over: nothing lost, nothing double, what is surplus charged. For ever,
// it ends the run if it brings nothing, in words that do not hold the key.
func TestEveryFault(t *testing.T) {
	texts := map[livetest.Fault]string{
		livetest.Busy: "429 Too Many Requests: slow down", livetest.Broken: "500 Internal Server Error: out of memory",
		livetest.Unready: "503 Service Unavailable: <html>", livetest.HTML: "web page, want JSON: is this the base URL",
		livetest.ErrorBody: "answers with an error: engine died", livetest.Empty: "without choices",
		livetest.Reset: "reset by peer", livetest.Hang: "no answer within", livetest.Cut: "unexpected EOF",
		livetest.BadJSON: "no JSON of a completion", livetest.Duplicate: "a second time",
	}
	for fault := livetest.None; fault < livetest.Faults; fault++ {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			retries := 2
			if fault == livetest.Hang {
				retries = 1 // each waits for hangTimeout
			}
			serve := func(f func(int) livetest.Fault) (*livetest.Server, *live.Client) {
				s := livetest.New(t, livetest.Config{Seed: 2, Key: key, Fault: f, RetryAfter: "0.01", Delay: 5 * time.Millisecond})
				c := config(s.URL)
				c.Retries, c.MaxFailures = retries, 100
				if fault == livetest.Hang {
					c.Timeout = hangTimeout
				}
				return s, client(t, c)
			}
			s, c := serve(at(livetest.None, fault))
			for i := range 3 { // before, meanwhile, after
				if _, err := collect(t, c, "p", 4*i, 4); err != nil {
					t.Fatal(err)
				}
			}
			checkBooks(t, c, s)
			n, b := c.Counts(), s.Book()
			brings := fault == livetest.None || fault >= livetest.Slow && fault != livetest.Duplicate
			if failed := n.Failures > 0; failed == brings || n.Taken != 12 || b.Faults[fault] == 0 {
				t.Errorf("counts %+v after one %v", n, fault)
			}
			if want := map[livetest.Fault]int{livetest.More: 1, livetest.Duplicate: 4}[fault]; n.Extra != want {
				t.Errorf("extra = %d, want %d", n.Extra, want)
			}
			if unknown := n.NoUsage; (unknown > 0) != (fault == livetest.NoUsage) {
				t.Errorf("tokens of %d completions not counted", unknown)
			}

			s, c = serve(func(arrival int) livetest.Fault {
				if arrival == 0 {
					return livetest.None // something to repeat
				}
				return fault
			})
			if _, err := collect(t, c, "p", 0, 4); err != nil {
				t.Fatal(err)
			}
			got, err := collect(t, c, "p", 4, 4)
			switch {
			case brings && err != nil:
				t.Error(err)
			case !brings && err == nil:
				t.Error("no error")
			case !brings:
				checkError(t, err, s.URL, fmt.Sprintf("gave up after %d attempts", 1+retries), texts[fault])
				if len(got) != 0 || c.Counts().Requests != 2+retries {
					t.Errorf("%d completions, %+v, want none and 2 + %d requests", len(got), c.Counts(), retries)
				}
			}
			checkBooks(t, c, s)
		})
	}
}

// checkError wants an error with all of the words and without the key.
func checkError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		text += fmt.Sprintf("%#v", e)
	}
	if strings.Contains(text, key) || strings.Contains(text, key[:12]) {
		t.Errorf("the error shows the key: %s", text)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

// TestRefusals has errors that no retry mends: one request, at once.
func TestRefusals(t *testing.T) {
	s := livetest.New(t, livetest.Config{Key: "another", Refuse: []string{"top_p"}})
	c := client(t, config(s.URL))
	_, err := collect(t, c, "p", 0, 2)
	checkError(t, err, s.URL, "401 Unauthorized: no such key: Bearer [key]", "--api-key-env")
	if n := c.Counts(); n.Requests != 1 || n.Failures != 1 {
		t.Errorf("counts %+v", n)
	}

	_, err = collect(t, client(t, config(strings.TrimSuffix(s.URL, "/v1"))), "p", 0, 2)
	checkError(t, err, "404 Not Found: nothing at /completions", "hint: base URLs of the protocol often end in /v1")

	s = livetest.New(t, livetest.Config{Refuse: []string{"temperature"}})
	_, err = collect(t, client(t, config(s.URL)), "p", 0, 1)
	checkError(t, err, "400 Bad Request", "temperature")

	other := livetest.New(t, livetest.Config{})
	move := httptest.NewServer(http.RedirectHandler(other.URL+"/completions", http.StatusTemporaryRedirect))
	defer move.Close()
	_, err = collect(t, client(t, config(move.URL+"/v1")), "p", 0, 1)
	checkError(t, err, "redirects to "+other.URL)
	if other.Book().Requests != 0 {
		t.Error("the key was carried to another server")
	}
}

// TestFieldsRefused leaves out what a server does not know and the policy can
// do without, and says so once; what the user asked for is never left out.
func TestFieldsRefused(t *testing.T) {
	s := livetest.New(t, livetest.Config{Refuse: []string{"min_p", "n", "top_k", "logprobs"}})
	c := config(s.URL)
	c.Sampling.LogProbs = true
	var notices []string
	c.Notify = func(text string) { notices = append(notices, text) }
	l := client(t, c)
	for i := range 3 {
		if _, err := collect(t, l, "p", 4*i, 4); err != nil {
			t.Fatal(err)
		}
	}
	sent := s.Requests()
	last := sent[len(sent)-1]
	for _, field := range []string{"min_p", "top_k", "logprobs"} {
		if _, ok := last[field]; ok {
			t.Errorf("still sends %s", field)
		}
		if count := strings.Count(strings.Join(notices, "\n"), "refuses "+field); count != 1 {
			t.Errorf("%d notices of %s, want 1: %q", count, field, notices)
		}
	}
	if last["n"] != 1.0 || last["repeat_penalty"] != 1.0 {
		t.Errorf("last request %v, want n = 1 and the other neutral values", last)
	}
	if n := l.Counts(); n.Taken != 12 || n.Failures < 4 || n.Extra != 0 {
		t.Errorf("counts %+v", n)
	}

	c.Sampling.TopK = 50
	_, err := collect(t, client(t, c), "p", 0, 1)
	checkError(t, err, "400 Bad Request", "top_k")
}

// TestNIgnored falls back to one completion a request, and says so once.
func TestNIgnored(t *testing.T) {
	s := livetest.New(t, livetest.Config{IgnoreN: true, NoLogProbs: true})
	c := config(s.URL)
	c.Sampling.LogProbs = true
	var notices []string
	c.Notify = func(text string) { notices = append(notices, text) }
	l := client(t, c)
	for i := range 3 {
		got, err := collect(t, l, fmt.Sprint(i), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			if a.LogProb != nil || a.PromptTokens != 1 {
				t.Errorf("completion %+v, want no log probability and the prompt charged", a)
			}
		}
	}
	for i, r := range s.Requests()[1:] {
		if r["n"] != 1.0 {
			t.Errorf("request %d asks for n = %v after the first was ignored", i+1, r["n"])
		}
	}
	if b := s.Book(); b.Requests != 30 {
		t.Errorf("%d requests for 30 completions", b.Requests)
	}
	slices.Sort(notices)
	if len(notices) != 2 || !strings.Contains(notices[0], "log prob") || !strings.Contains(notices[1], "ignores n") {
		t.Errorf("notices %q", notices)
	}
}

// TestHonouredNStays: once a server has given several choices, a short answer
// is a short answer.
func TestHonouredNStays(t *testing.T) {
	s := livetest.New(t, livetest.Config{Fault: at(livetest.None, livetest.Fewer, livetest.Fewer)})
	l := client(t, config(s.URL))
	for i := range 3 {
		if _, err := collect(t, l, "p", 2*i, 2); err != nil {
			t.Fatal(err)
		}
	}
	all := s.Requests()
	if last := all[len(all)-1]; len(all) != 4 || last["n"] != 2.0 {
		t.Errorf("%d requests, the last of them for n = %v, want 1 + 2 + 1 and 2", len(all), last["n"])
	}
}

// TestMost: a call asks for two completions until a server shows what n does there.
func TestMost(t *testing.T) {
	for name, c := range map[string]struct {
		server livetest.Config
		seed   *uint64
		before int
		after  int
	}{
		"n honoured": {livetest.Config{}, nil, 2, 64},
		"n ignored":  {livetest.Config{IgnoreN: true}, nil, 2, 1},
		"n refused":  {livetest.Config{Refuse: []string{"n"}}, nil, 2, 1},
		"seeds":      {livetest.Config{}, new(uint64), 1, 1},
	} {
		asks := config(livetest.New(t, c.server).URL)
		asks.Sampling.Seed = c.seed
		l := client(t, asks)
		before := l.Most()
		if _, err := collect(t, l, "p", 0, 2); err != nil {
			t.Fatal(err)
		}
		if after := l.Most(); before != c.before || after != c.after {
			t.Errorf("%s: %d and then %d completions a call, want %d and %d", name, before, after, c.before, c.after)
		}
	}
}

// TestSeeds gives every completion a seed of its own, the same whatever else
// is asked for, so that a server that obeys seeds repeats nothing.
func TestSeeds(t *testing.T) {
	s := livetest.New(t, livetest.Config{})
	c := config(s.URL)
	seed := uint64(5)
	c.Sampling.Seed = &seed
	seeds := func(index, n int) map[float64]bool {
		before := len(s.Requests())
		if _, err := collect(t, client(t, c), "p", index, n); err != nil {
			t.Fatal(err)
		}
		got := map[float64]bool{}
		for _, r := range s.Requests()[before:] {
			v, _ := r["seed"].(float64)
			if v != math.Trunc(v) || !(v >= 0 && v < 1<<31) || r["n"] != 1.0 {
				t.Errorf("seed %v, n = %v, want a whole number in [0, 2^31) and 1", r["seed"], r["n"])
			}
			got[v] = true
		}
		return got
	}
	all, half := seeds(0, 40), seeds(20, 20)
	if len(all) != 40 || len(half) != 20 {
		t.Errorf("%d and %d seeds, want 40 and 20: no two alike", len(all), len(half))
	}
	for v := range half {
		if !all[v] {
			t.Errorf("seed %v of the second half alone, not the first time", v)
		}
	}
}

// TestAlikeAnswersAreSamples: a solved prompt has one answer, and all of them
// count; so do they where a server has but one id.
func TestAlikeAnswersAreSamples(t *testing.T) {
	s := livetest.New(t, livetest.Config{Answer: func(string, bool, int) string { return "4" }})
	l := client(t, config(s.URL))
	if _, err := collect(t, l, "p", 0, 200); err != nil {
		t.Fatal(err)
	}
	checkBooks(t, l, s)
	one := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"x","choices":[{"text":"4","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	defer one.Close()
	l = client(t, config(one.URL))
	got, err := collect(t, l, "p", 0, 50)
	if err != nil {
		t.Fatal(err)
	}
	if n := l.Counts(); n.Requests != 50 || n.Failures != 0 || got[49].FinishReason != "length" {
		t.Errorf("counts %+v, finish reason %q", n, got[49].FinishReason)
	}
}

// TestSampling sends what the user wants of the policy as it is.
func TestSampling(t *testing.T) {
	s := livetest.New(t, livetest.Config{})
	c := config(s.URL)
	c.Sampling.Temperature, c.Sampling.TopP, c.Sampling.TopK, c.Sampling.MaxTokens = 0.7, 0.9, 50, 99
	if _, err := collect(t, client(t, c), "p", 0, 1); err != nil {
		t.Fatal(err)
	}
	sent := s.Requests()[0]
	for field, want := range map[string]float64{"temperature": 0.7, "top_p": 0.9, "top_k": 50, "max_tokens": 99, "min_p": 0, "repetition_penalty": 1} {
		if sent[field] != want {
			t.Errorf("sent %s = %v, want %v", field, sent[field], want)
		}
	}
}

// TestLength keeps what max_tokens cut off, and shares tokens exactly.
func TestLength(t *testing.T) {
	texts := []string{"four", "4", "is four"}
	s := livetest.New(t, livetest.Config{Answer: func(_ string, _ bool, serial int) string { return texts[serial] }})
	c := config(s.URL)
	c.Sampling.MaxTokens = 5
	got, err := collect(t, client(t, c), "p", 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"four stop 5", "4 stop 2", "is fo length 5"} {
		if g := fmt.Sprint(got[i].Text, " ", got[i].FinishReason, " ", got[i].CompletionTokens); g != want {
			t.Errorf("completion %d: %q, want %q", i, g, want)
		}
	}
}

// TestNothingFromTheEnvironment: neither keys nor servers, and nothing
// about this machine goes out.
func TestNothingFromTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, key)
	}
	s := livetest.New(t, livetest.Config{})
	seen := make(chan http.Header, 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		s.ServeHTTP(w, r)
	}))
	defer front.Close()
	c := config(front.URL + "/v1")
	c.Key = ""
	if _, err := collect(t, client(t, c), "p", 0, 1); err != nil {
		t.Fatal(err)
	}
	sent := <-seen
	if text := fmt.Sprint(sent); strings.Contains(text, key) || strings.Contains(text, "Stainless") || sent.Get("Authorization") != "" {
		t.Errorf("sent %s", text)
	}
}

// TestRetryAfter waits as long as the server asks, though the backoff is a
// millisecond and the timeout shorter.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := livetest.New(t, livetest.Config{Fault: at(livetest.Busy), RetryAfter: "1"})
	c := config(s.URL)
	c.Timeout = 900 * time.Millisecond
	begin := time.Now()
	if _, err := collect(t, client(t, c), "p", 0, 1); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d < time.Second {
		t.Errorf("came back after %v, want 1s", d)
	}
	s = livetest.New(t, livetest.Config{Fault: always(livetest.Busy), RetryAfter: "3600"})
	_, err := collect(t, client(t, config(s.URL)), "p", 0, 1)
	checkError(t, err, "no server may be asked for the next 1h0m0s", "429 Too Many Requests")
	if s.Book().Requests != 1 {
		t.Errorf("%d requests, want 1", s.Book().Requests)
	}
}

// TestStop stops after failures in a row, over all prompts, and stays stopped.
func TestStop(t *testing.T) {
	s := livetest.New(t, livetest.Config{Key: key, Fault: always(livetest.Broken)})
	c := config(s.URL)
	c.Retries, c.MaxFailures, c.Concurrency = 1000, 7, 4
	l := client(t, c)
	_, err := collect(t, l, "p", 0, 1)
	checkError(t, err, "stopped after 7 failures in a row, the last of them: "+s.URL+": 500")
	if b := s.Book(); b.Requests != 7 {
		t.Errorf("%d requests, want 7", b.Requests)
	}
	if _, err := collect(t, l, "q", 0, 1); err == nil || s.Book().Requests != 7 {
		t.Errorf("error %v, %d requests: a stopped client asked on", err, s.Book().Requests)
	}

	// A success in between begins a new row.
	s = livetest.New(t, livetest.Config{Fault: func(arrival int) livetest.Fault {
		if arrival%7 == 6 {
			return livetest.None
		}
		return livetest.Broken
	}})
	c.BaseURLs = []string{s.URL}
	l = client(t, c)
	if _, err := collect(t, l, "p", 0, 3); err != nil {
		t.Error(err)
	}
}

// TestConcurrentBurst: 32 requests that a server loses together are one failure of the
// server, not 32 in a row.
func TestConcurrentBurst(t *testing.T) {
	var all sync.WaitGroup
	all.Add(32)
	var arrivals atomic.Int32
	s := livetest.New(t, livetest.Config{})
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrivals.Add(1) <= 32 {
			all.Done()
			all.Wait()
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}))
	defer gate.Close()
	c := config(gate.URL + "/v1")
	seed := uint64(1)
	c.Sampling.Seed = &seed // one completion a request
	c.Concurrency, c.MaxFailures = 32, 4
	l := client(t, c)
	if _, err := collect(t, l, "p", 0, 32); err != nil {
		t.Error(err)
	}
	if n := l.Counts(); n.Requests != 64 || n.Failures != 32 {
		t.Errorf("counts %+v, want 32 failures and 32 retries", n)
	}
}

// TestConcurrentServers gives to each an even share, sets one aside that is
// dead, and goes back to it when it lives again.
func TestConcurrentServers(t *testing.T) {
	var mu sync.Mutex
	dead := false
	fault := func(int) livetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if dead {
			return livetest.Reset
		}
		return livetest.None
	}
	a, b := livetest.New(t, livetest.Config{Seed: 1, Fault: fault}), livetest.New(t, livetest.Config{Seed: 2})
	c := config(a.URL, b.URL)
	c.Concurrency = 4
	seed := uint64(1)
	c.Sampling.Seed = &seed // one completion a request
	l := client(t, c)
	ask := func(index int) (int, int) {
		beforeA, beforeB := a.Book(), b.Book()
		if _, err := collect(t, l, "p", index, 200); err != nil {
			t.Fatal(err)
		}
		return a.Book().Requests - beforeA.Requests, b.Book().Requests - beforeB.Requests
	}
	if ra, rb := ask(0); ra < 20 || rb < 20 {
		t.Errorf("%d and %d requests, want about 100 each", ra, rb)
	}
	mu.Lock()
	dead = true
	mu.Unlock()
	if ra, rb := ask(200); ra > 60 || rb != 200 {
		t.Errorf("%d requests to a dead server, %d to the other, want few and 200", ra, rb)
	}
	mu.Lock()
	dead = false
	mu.Unlock()
	end := time.Now().Add(time.Minute) // the wait doubles with every probe that fails
	for index := 400; ; index += 200 {
		if ra, _ := ask(index); ra > 20 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a server that is back is not asked again")
		}
	}
	checkBooks(t, l, a, b)
}

// TestConcurrentLimit holds the limit over callers and servers, and meets it.
func TestConcurrentLimit(t *testing.T) {
	s := livetest.New(t, livetest.Config{Fault: always(livetest.Slow), Delay: 2 * time.Millisecond})
	c := config(s.URL)
	c.Concurrency = 5
	l := client(t, c)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := collect(t, l, fmt.Sprint(i), 0, 4); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most := s.Book().Most; most != 5 {
		t.Errorf("at most %d requests in flight, want 5", most)
	}
}

// TestCancel ends at once, in flight, in a wait and before anything.
func TestCancel(t *testing.T) {
	for name, fault := range map[string]livetest.Fault{"in flight": livetest.Hang, "waiting": livetest.Busy, "backing off": livetest.Broken} {
		t.Run(name, func(t *testing.T) {
			s := livetest.New(t, livetest.Config{Fault: always(fault), RetryAfter: "60"})
			c := config(s.URL)
			c.Backoff = time.Minute
			l := client(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for s.Book().Requests == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			begin := time.Now()
			err := l.Complete(ctx, "p", 0, 5, func(int, live.Completion) error { return nil })
			if !errors.Is(err, context.Canceled) || time.Since(begin) > 10*time.Second {
				t.Errorf("error %v after %v", err, time.Since(begin))
			}
			if err := l.Complete(ctx, "p", 0, 5, nil); !errors.Is(err, context.Canceled) || s.Book().Requests != 1 {
				t.Errorf("error %v, %d requests", err, s.Book().Requests)
			}
		})
	}
}

// TestTakeFails returns the error of take as it is; what is not taken is paid.
func TestTakeFails(t *testing.T) {
	s := livetest.New(t, livetest.Config{})
	l := client(t, config(s.URL))
	full := errors.New("disk full")
	taken := 0
	err := l.Complete(t.Context(), "p", 0, 10, func(int, live.Completion) error {
		if taken == 3 {
			return full
		}
		taken++
		return nil
	})
	if err != full {
		t.Errorf("error %v, want that of take", err)
	}
	if n := l.Counts(); n.Taken != 3 || n.Extra != 7 || n.ExtraTokens == 0 {
		t.Errorf("counts %+v, want 3 taken and 7 extra", n)
	}
}

// TestPaidIsTaken: what is in flight when another request fails for good is
// paid for, and taken: three answers wait until the fourth request has failed.
// Nothing more is asked.
func TestPaidIsTaken(t *testing.T) {
	seed := uint64(1) // one completion a request
	c := config()
	c.Sampling.Seed, c.Retries, c.Concurrency = &seed, 0, 4
	s := livetest.New(t, livetest.Config{Delay: 50 * time.Millisecond, Fault: func(arrival int) livetest.Fault {
		if arrival == 0 {
			return livetest.Broken
		}
		return livetest.Slow
	}})
	var l *live.Client
	var arrivals atomic.Int32
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for first := arrivals.Add(1) < 4; first && l.Counts().Failures == 0 && r.Context().Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		s.ServeHTTP(w, r)
	}))
	defer gate.Close()
	c.BaseURLs = []string{gate.URL + "/v1"}
	l = client(t, c)
	got, err := collect(t, l, "p", 0, 4)
	checkError(t, err, "gave up after 1 attempts", "500")
	if len(got) != 3 || s.Book().Requests != 4 {
		t.Errorf("%d taken of %d requests, want 3 of 4", len(got), s.Book().Requests)
	}
	checkBooks(t, l, s)

	s = livetest.New(t, livetest.Config{Fault: at(livetest.None, livetest.None, livetest.None, livetest.Broken)})
	c.BaseURLs, c.Concurrency = []string{s.URL}, 1
	got, err = collect(t, client(t, c), "p", 0, 50)
	checkError(t, err, "gave up after 1 attempts", "500")
	if len(got) != 3 || s.Book().Requests != 4 {
		t.Errorf("one after the other: %d taken of %d requests, want 3 of 4", len(got), s.Book().Requests)
	}
}

// TestServerGone names the server that does not answer.
func TestServerGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String() + "/v1"
	l.Close()
	c := config(base)
	c.Retries = 1
	_, err = collect(t, client(t, c), "p", 0, 1)
	checkError(t, err, "gave up after 2 attempts", base+": dial tcp", "refused")
}

// TestConfigFaults wants all faults at once, by field, value and range, and
// never the key.
func TestConfigFaults(t *testing.T) {
	_, err := live.NewClient(live.Config{Sampling: live.Sampling{Temperature: math.NaN(), TopP: 1.5, TopK: -1, Stop: []string{""}}, Retries: -1, Backoff: -1, Key: key + "\n"})
	checkError(t, err, "base-url = nothing", "model = nothing", "temperature = NaN, want a number of at least 0", "top-p = 1.5, want (0, 1]", "top-k = -1",
		"max-tokens = 0, want at least 1", "stop", "concurrency = 0", "timeout = 0s", "retries = -1", "backoff = -1ns", "max-failures = 0", "printable ASCII")
	for base, want := range map[string]string{
		"http://127.0.0.1:8000/v1":          "",
		"http://[::1]:8000":                 "",
		"http://localhost:8000":             "",
		"https://models.example/v1":         "",
		"http://models.example/v1":          "want https",
		"http://10.0.0.1/v1":                "want https",
		"http://127.0.0.1.example/v1":       "want https",
		"http://localhost.example/v1":       "want https",
		"http://me:" + key + "@localhost/":  "no user and no password",
		"https://" + key + "@localhost/":    "no user and no password",
		"http://:8000/v1":                   "and a host",
		"http://localhost:65536/v1":         "a port of at most 65535",
		"http://localhost/?k=" + key:        "want neither",
		"ftp://localhost/":                  "want http://",
		"localhost:8000":                    "want http://",
		"http://" + key + " bad\x7f host/%": "no URL",
	} {
		_, err := live.NewClient(config(base))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", base, err)
			}
			continue
		}
		checkError(t, err, want)
	}
	c := config("http://models.example/v1")
	c.Insecure = true
	client(t, c)
	c.Insecure, c.Key = false, ""
	client(t, c)
}

// TestConcurrentMixture has every fault at random, on two servers, with many callers:
// none lost, none double, what is surplus charged, and the answers still have
// the law of the prompts. The two requests that hang take their time.
func TestConcurrentMixture(t *testing.T) { soak(t, 4000, 2) }

// TestSoak is the same with 10^5 completions, and the heap stays flat.
func TestSoak(t *testing.T) {
	soak(t, 100_000, 2)
}

// soak asks for n completions in groups of 1 to 16 of 50 prompts, at a fault
// rate of 1/4.
//
// Prompt x is right with probability x/49. Over seeds, the successes of one of
// 50 prompts stray by more than tol = sqrt(log(2*50/1e-6) / 2k) in share, k its
// completions (Hoeffding), with probability 1e-6; at 10^5 completions, k = 2000
// and tol = 0.068, so that a shift of 0.136 is missed with probability 2e-8.
func soak(t *testing.T, n, servers int) {
	const prompts, callers = 50, 8
	faults := stream.New(77)
	var all []*livetest.Server
	c := config()
	for i := range servers {
		s := livetest.New(t, livetest.Config{
			Seed: uint64(i + 1), Delay: time.Millisecond, RetryAfter: "0.001", Key: key,
			Success: func(prompt string) float64 {
				var x float64
				fmt.Sscanf(prompt, "prompt %g", &x)
				return x / (prompts - 1)
			},
			Answer: func(_ string, right bool, serial int) string { return fmt.Sprintf("%d %d %t", i, serial, right) },
			Fault: func(arrival int) livetest.Fault {
				u := faults.With(uint64(i)).Uniform(uint64(arrival))
				switch f := livetest.Fault(1 + 4*u*float64(livetest.Faults-1)); {
				case arrival == 50:
					return livetest.Hang
				case u >= 0.25 || f == livetest.Hang:
					return livetest.None
				default:
					return f
				}
			},
		})
		all = append(all, s)
		c.BaseURLs = append(c.BaseURLs, s.URL)
	}
	c.Retries, c.MaxFailures, c.Timeout = 20, 40, 5*time.Second
	l := client(t, c)

	var mu sync.Mutex
	seen := make([][]bool, servers) // by server and serial number
	for i := range seen {
		seen[i] = make([]bool, 4*n)
	}
	var tallies [prompts]livetest.Tally
	group := func(k, size int) {
		x := k % prompts
		got, err := collect(t, l, fmt.Sprint("prompt ", x), 16*(k/prompts), size)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, a := range got {
			var server, serial int
			var right bool
			if _, err := fmt.Sscan(a.Text, &server, &serial, &right); err != nil || seen[server][serial] {
				t.Errorf("answer %q comes twice or is none: %v", a.Text, err)
			}
			seen[server][serial] = true
			tallies[x].Delivered++
			if right {
				tallies[x].Right++
			}
		}
	}
	asked, k := 0, 0
	var heap [2]uint64
	for half := range 2 {
		work := make(chan func())
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for f := range work {
					f()
				}
			})
		}
		for ; asked < n*(half+1)/2; k++ {
			size := min(1+k%16, n-asked)
			asked += size
			at := k
			work <- func() { group(at, size) }
		}
		close(work)
		wg.Wait()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		heap[half] = m.HeapAlloc
	}
	if grown := int64(heap[1]) - int64(heap[0]); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes from the first half to the second", grown)
	}
	checkBooks(t, l, all...)
	counts := l.Counts()
	if counts.Taken != n {
		t.Errorf("%d taken, want %d", counts.Taken, n)
	}
	var b livetest.Book
	for _, s := range all {
		for f, k := range s.Book().Faults {
			b.Faults[f] += k
		}
	}
	for f, k := range b.Faults {
		if k == 0 {
			t.Errorf("no fault of kind %v in the mixture", livetest.Fault(f))
		}
	}
	for x, tally := range tallies {
		p, tol := float64(x)/(prompts-1), math.Sqrt(math.Log(2*prompts/1e-6)/(2*float64(tally.Delivered)))
		if share := float64(tally.Right) / float64(tally.Delivered); !(math.Abs(share-p) < tol) {
			t.Errorf("prompt %d: %d of %d right, want %v ± %v", x, tally.Right, tally.Delivered, p, tol)
		}
	}
	t.Logf("%+v, heap %v, faults %v", counts, heap, b.Faults)
}
