package live

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"vigorlab/sim/stream"
)

// MaxChoices bounds the choices of one request: hosted servers allow 128, and
// what is lost with a request is lost with all of its choices.
const MaxChoices = 64

// firstChoices is how many choices are asked for until an answer of several shows
// that a server honours n: where it does not, the rest of a request was never in
// flight.
const firstChoices = 2

// connectTimeout is what a server may take to be reached; to answer, it has
// Config.Timeout.
const connectTimeout = 10 * time.Second

// A Client asks the servers. Goroutines may share it. Once it has stopped after
// too many failures in a row, it stays stopped.
type Client struct {
	config Config
	pool   pool
	slots  chan struct{} // one for every request in flight

	mu       sync.Mutex
	counts   Counts
	honoured bool    // n, by an answer of several choices
	single   bool    // n is ignored or refused
	common   *common // what requests share; replaced, never changed
	repeats  repeats

	saying sync.Mutex
	said   map[string]bool
}

// NewClient returns a client, or every fault of the configuration at once. It
// sends nothing yet.
func NewClient(c Config) (*Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.BaseURLs, c.Sampling.Stop = slices.Clone(c.BaseURLs), slices.Clone(c.Sampling.Stop)
	client := &Client{config: c, slots: make(chan struct{}, c.Concurrency), said: map[string]bool{}}
	client.common = client.newCommon(map[string]bool{})
	client.pool = pool{backoff: client.backoff, maxFailures: c.MaxFailures, changed: make(chan struct{})}
	transport := &http.Transport{
		Proxy:               c.Proxy,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: c.Concurrency, // every request in flight keeps its connection
		ForceAttemptHTTP2:   true,
	}
	for _, base := range c.BaseURLs {
		client.pool.servers = append(client.pool.servers, &server{base: base, post: client.newPoster(base, bounded{transport, longestBody(c.Sampling.MaxTokens)})})
	}
	return client, nil
}

// Counts returns what was sent and received so far.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// A span is n >= 1 completions of a prompt, from index on.
type span struct{ index, n int }

// An answer is what became of a span: completions of its first indices, or an
// error.
type answer struct {
	span
	completions []Completion
	err         error
}

// Complete asks for n further completions of a prompt; index names the first.
// It hands each to take as it comes, on the caller's goroutine and not in the
// order of indices, and returns when n were taken or an error ends it. What
// was taken stays taken and counted.
//
// After an error of a request, those in flight are waited for and taken, since
// they are paid for; after an error of take, which is returned as it is, and at
// the end of ctx they are given up, and what still arrives counts as Extra.
func (c *Client) Complete(ctx context.Context, prompt string, index, n int, take func(index int, c Completion) error) error {
	if !(index >= 0 && n >= 0) {
		return fmt.Errorf("completions %d to %d+%d, want at least 0", index, index, n)
	}
	if !utf8.ValidString(prompt) {
		return fmt.Errorf("prompt %q is not valid UTF-8, which JSON cannot carry", prompt)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	more, enough := context.WithCancel(ctx) // ends when no attempt may begin any more
	defer enough()

	var todo []span
	if n > 0 {
		todo = append(todo, span{index, n})
	}
	spans, answers := make(chan span, c.config.Concurrency), make(chan answer)
	defer close(spans)
	work := func() {
		for s := range spans {
			answers <- c.ask(ctx, more, prompt, s)
		}
	}
	var ended error
	inFlight, workers := 0, 0
	for {
		for ended == nil && len(todo) > 0 && inFlight < c.config.Concurrency {
			var s span
			s, todo = cut(todo, c.width(n))
			spans <- s
			if inFlight++; inFlight > workers {
				workers++
				go work()
			}
		}
		if inFlight == 0 {
			return ended
		}
		a := <-answers
		inFlight--
		if a.err != nil {
			ended = first(ended, a.err)
			enough()
			continue
		}
		taken, err := c.hand(a, take, ended != nil && ctx.Err() != nil)
		if err != nil {
			ended = first(ended, err)
			cancel()
		}
		if rest := a.n - taken; rest > 0 {
			todo = append(todo, span{a.index + taken, rest})
		}
	}
}

// first returns the error that ended it all, not those of what it cut short.
func first(ended, err error) error {
	if ended != nil {
		return ended
	}
	return err
}

// cut takes up to width completions off the last span.
func cut(todo []span, width int) (span, []span) {
	last := &todo[len(todo)-1]
	if last.n <= width {
		return *last, todo[:len(todo)-1]
	}
	s := span{last.index, width}
	last.index += width
	last.n -= width
	return s, todo
}

// width returns how many of n completions to ask for in one request: an even
// share of every server, or one where each has its seed or n is not honoured.
func (c *Client) width(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.single || c.config.Sampling.Seed != nil {
		return 1
	}
	servers := len(c.config.BaseURLs)
	return min(MaxChoices, (n+servers-1)/servers)
}

// Most returns how many completions one call of Complete should ask for, so that
// no more is in flight than one request makes.
func (c *Client) Most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.single || c.config.Sampling.Seed != nil:
		return 1
	case !c.honoured:
		return firstChoices
	}
	return MaxChoices
}

// hand gives an answer's completions to take, unless it is too late, and
// returns how many were taken.
func (c *Client) hand(a answer, take func(int, Completion) error, late bool) (taken int, err error) {
	for i, completion := range a.completions {
		if !late {
			err = take(a.index+i, completion)
		}
		c.mu.Lock()
		if late || err != nil {
			late = true
			c.counts.extra(completion)
		} else {
			taken++
			c.counts.Taken++
		}
		c.mu.Unlock()
	}
	return taken, err
}

func (c *Counts) extra(completion Completion) {
	c.Extra++
	c.ExtraTokens += completion.CompletionTokens
}

// ask brings completions of a span, at least one and as many as one request
// yields, or says why not.
func (c *Client) ask(ctx, more context.Context, prompt string, s span) answer {
	var last *server // that failed it
	for failed := 0; ; {
		completions, err := c.attempt(ctx, more, prompt, s, last)
		f, ok := err.(*failure) // itself, not wrapped: a client that has stopped wraps the last one
		switch {
		case err == nil:
			return answer{span: s, completions: completions}
		case ctx.Err() != nil:
			return answer{err: context.Cause(ctx)}
		case !ok || f.final:
			return answer{err: err}
		case f.again: // without the field that was refused
			continue
		case failed == c.config.Retries:
			return answer{err: fmt.Errorf("gave up after %d attempts, the last of them: %w", failed+1, err)}
		}
		jitter := 1 - stream.New(uint64(s.index)).Named(prompt).Uniform(uint64(failed))/4
		select {
		case <-more.Done():
			return answer{err: context.Cause(more)}
		case <-time.After(time.Duration(jitter * float64(c.backoff(failed)))):
		}
		failed++
		last = f.server
	}
}

// backoff returns the wait after so many earlier failures.
func (c *Client) backoff(failures int) time.Duration {
	return time.Duration(math.Min(float64(longestBackoff), math.Ldexp(float64(c.config.Backoff), failures)))
}

// attempt sends one request, to another server than the last where it can, and
// judges what comes back. It waits for its turn only until more ends.
func (c *Client) attempt(ctx, more context.Context, prompt string, s span, last *server) ([]Completion, error) {
	select {
	case <-more.Done():
		return nil, context.Cause(more)
	case c.slots <- struct{}{}:
	}
	defer func() { <-c.slots }()
	v, err := c.pool.pick(more, last)
	if err != nil {
		return nil, err
	}
	r := request{prompt: prompt, n: s.n, seed: c.seed(prompt, s.index)}
	c.mu.Lock()
	r.common = c.common
	if c.single {
		r.n = 1
	}
	c.counts.Requests++
	c.mu.Unlock()

	completions, f := c.visit(ctx, v, r)
	switch {
	case f == nil:
		c.pool.succeed(v)
		return completions, nil
	case ctx.Err() != nil || f.final || f.again:
		c.pool.abandon(v)
	default:
		c.pool.fail(v, f)
	}
	f.server = v.server
	c.mu.Lock()
	c.counts.Failures++
	c.mu.Unlock()
	return nil, f
}

// visit sends one request to one server.
func (c *Client) visit(ctx context.Context, v visit, r request) ([]Completion, *failure) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	begin := time.Now()
	res, body, err := v.post(ctx, r)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, c.judge(ctx, v.base, r, res, body, err)
	}
	reply, err := parse(body, c.config.Chat)
	if err != nil {
		text := err.Error()
		if kind := res.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
			text = "answers with a web page, want JSON: is this the base URL of the protocol, which often ends in /v1? " + string(body)
		}
		return nil, c.fail(v.base, text)
	}
	return c.receive(v.base, r, reply, body, time.Since(begin).Seconds())
}

// receive counts what came and returns what was asked for.
func (c *Client) receive(base string, r request, reply *reply, body []byte, seconds float64) ([]Completion, *failure) {
	all, counted := reply.completions(seconds)
	c.mu.Lock()
	repeated := c.config.Sampling.Temperature > 0 && c.repeats.seen(reply.ID, body)
	c.honoured = c.honoured || len(all) > 1
	ignored := r.n > 1 && !c.honoured
	c.single = c.single || ignored
	used := min(len(all), r.n)
	if repeated {
		used = 0
	}
	for i, completion := range all {
		c.counts.PromptTokens += completion.PromptTokens
		c.counts.CompletionTokens += completion.CompletionTokens
		if i >= used {
			c.counts.extra(completion)
		}
		if !counted {
			c.counts.NoUsage++
		}
	}
	c.mu.Unlock()

	c.say(ignored, "the server ignores n: every completion is a request of its own")
	c.say(len(all) > r.n, "the server gives more choices than it was asked for: they are paid for and not used")
	c.say(!counted, "the server does not count tokens (no usage in its answer): figures per token lack these completions")
	c.say(c.config.Sampling.LogProbs && all[0].LogProb == nil, "the server gives no log probabilities")
	if repeated {
		return nil, c.fail(base, fmt.Sprintf("gives the answer %s a second time, for another request: is there a cache in between? Rollouts have to be drawn anew", reply.ID))
	}
	return all[:used], nil
}

// say notifies of something once.
func (c *Client) say(so bool, text string) {
	if !so || c.config.Notify == nil {
		return
	}
	c.saying.Lock()
	defer c.saying.Unlock()
	if !c.said[text] {
		c.said[text] = true
		c.config.Notify(text)
	}
}
