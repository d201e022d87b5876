// Package livetest serves completions over the OpenAI protocol, on loopback and
// with every fault that servers have, and keeps book of what it served. It
// refuses to be fast, clever or a model: a completion is right with a known
// probability, and nothing else is known of it.
package livetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vigorlab/sim/stream"
)

// A Fault is what a server does wrong with one request.
type Fault int

// The faults. Those before Reset generate nothing, those from Reset to BadJSON
// generate completions that never arrive, the others deliver.
const (
	None      Fault = iota
	Busy            // 429 with Retry-After
	Broken          // 500
	Unready         // 503 with a web page
	HTML            // 200 with a web page
	ErrorBody       // 200 with an error and no choices
	Empty           // 200 without choices
	Reset           // the connection is reset instead of an answer
	Hang            // no answer, until the client has gone
	Cut             // half of the body, then the connection ends
	BadJSON         // half of the body, and it is said to be all of it
	Slow            // the answer after Config.Delay
	Fewer           // half of the choices, at least one
	More            // one choice too many
	Duplicate       // the last answer to this prompt again, same id and bytes
	NoUsage         // tokens are not counted
	Faults          // how many there are, None included
)

var faultNames = [Faults]string{
	"none", "busy", "broken", "unready", "html", "error body", "empty", "reset", "hang", "cut", "bad json", "slow", "fewer", "more",
	"duplicate", "no usage",
}

func (f Fault) String() string { return faultNames[f] }

// A Config says what the server answers.
type Config struct {
	Seed uint64

	// Success returns the probability that a completion of a prompt is right;
	// nil stands for 1/2.
	Success func(prompt string) float64

	// Answer returns the text of the serial-th completion of this server; nil
	// stands for the serial number and then 1 or 0, each with a word before it.
	Answer func(prompt string, right bool, serial int) string

	// Fault returns what goes wrong with the arrival-th request, counted from
	// 0; nil stands for nothing.
	Fault func(arrival int) Fault

	Delay      time.Duration // of Slow
	RetryAfter string        // of Busy, the header

	IgnoreN    bool     // one choice, whatever n is
	NoLogProbs bool     // none, though asked for
	Refuse     []string // fields that are answered with 400, if they are there ("n" if above 1)
	Key        string   // must be in the Authorization header, and is shown in every error
}

// A Book is what a server did. Completions of prompts are counted in full:
// Generated = Delivered + Lost.
type Book struct {
	Requests  int
	Faults    [Faults]int // requests by fault
	Generated int         // completions drawn
	Delivered int         // of them, in an answer that can be read
	Lost      int         // of them, in one that cannot
	Replayed  int         // completions sent a second time
	Prompts   map[string]Tally
	InFlight  int // now
	Most      int // at most in flight
}

// A Tally counts the completions of one prompt that were delivered.
type Tally struct{ Delivered, Right int }

// A Server is a running server. URL is its base URL.
type Server struct {
	URL string

	config Config
	mu     sync.Mutex
	book   Book
	last   map[string][]byte // last answer by prompt
	bodies []map[string]any  // last few requests
}

// New starts a server on loopback that ends with the test.
func New(tb testing.TB, c Config) *Server {
	s := &Server{config: c, last: map[string][]byte{}}
	s.book.Prompts = map[string]Tally{}
	h := httptest.NewServer(s)
	tb.Cleanup(h.Close)
	s.URL = h.URL + "/v1"
	return s
}

// Book returns a copy of the book.
func (s *Server) Book() Book {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.book
	b.Prompts = make(map[string]Tally, len(s.book.Prompts))
	for prompt, t := range s.book.Prompts {
		b.Prompts[prompt] = t
	}
	return b
}

// Requests returns the bodies of the last requests, at most 100.
func (s *Server) Requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.bodies...)
}

// A query is a request that was read.
type query struct {
	chat     bool
	prompt   string
	n        int
	logProbs bool
	fields   map[string]any
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	if err != nil {
		s.refuse(w, r, http.StatusNotFound, err.Error())
		return
	}
	arrival, fault := s.arrive(q)
	defer s.leave()
	if s.config.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.config.Key {
		s.refuse(w, r, http.StatusUnauthorized, "no such key")
		return
	}
	if field := s.refused(q); field != "" {
		s.refuse(w, r, http.StatusBadRequest, "Unrecognized request argument supplied: "+field)
		return
	}
	s.answer(w, r, q, arrival, fault)
}

func read(r *http.Request) (query, error) {
	q := query{n: 1, fields: map[string]any{}}
	if err := json.NewDecoder(r.Body).Decode(&q.fields); err != nil {
		return q, err
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/chat/completions"):
		q.chat = true
		messages, _ := q.fields["messages"].([]any)
		if len(messages) == 0 {
			return q, fmt.Errorf("messages = %v, want one", q.fields["messages"])
		}
		last, _ := messages[len(messages)-1].(map[string]any)
		q.prompt, _ = last["content"].(string)
	case strings.HasSuffix(r.URL.Path, "/v1/completions"):
		q.prompt, _ = q.fields["prompt"].(string)
	default:
		return q, fmt.Errorf("nothing at %s", r.URL.Path)
	}
	if n, ok := q.fields["n"].(float64); ok {
		q.n = int(n)
	}
	q.logProbs = q.fields["logprobs"] != nil
	return q, nil
}

// arrive books a request and returns its number and its fault.
func (s *Server) arrive(q query) (int, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrival := s.book.Requests
	fault := None
	if s.config.Fault != nil {
		fault = s.config.Fault(arrival)
	}
	s.book.Requests++
	s.book.Faults[fault]++
	s.book.InFlight++
	s.book.Most = max(s.book.Most, s.book.InFlight)
	if len(s.bodies) == 100 {
		s.bodies = s.bodies[1:]
	}
	s.bodies = append(s.bodies, q.fields)
	return arrival, fault
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book.InFlight--
}

// refused returns a field of the query that the server does not take.
func (s *Server) refused(q query) string {
	for _, field := range s.config.Refuse {
		if value, ok := q.fields[field]; ok && (field != "n" || value != 1.0) {
			return field
		}
	}
	return ""
}

// refuse answers with a status and an error, which shows the key that came
// along: the worst that a server does with it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, text+": "+r.Header.Get("Authorization"))
}

// answer answers a query with its fault.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, q query, arrival int, fault Fault) {
	key := r.Header.Get("Authorization")
	switch fault {
	case Busy:
		w.Header().Set("Retry-After", s.config.RetryAfter)
		s.refuse(w, r, http.StatusTooManyRequests, "slow down")
		return
	case Broken:
		s.refuse(w, r, http.StatusInternalServerError, "out of memory")
		return
	case Unready, HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if fault == Unready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "<html><body>no model here for %s</body></html>", key)
		return
	case ErrorBody:
		send(w, fmt.Appendf(nil, `{"error":{"message":%q,"code":500}}`, "engine died: "+key))
		return
	case Empty:
		send(w, []byte(`{"id":"cmpl-empty","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0}}`))
		return
	case Slow:
		select {
		case <-time.After(s.config.Delay):
		case <-r.Context().Done():
		}
	case Duplicate:
		if s.replay(w, q.prompt) {
			return
		}
	}
	body := s.generate(q, arrival, fault)
	switch fault {
	case Reset, Hang, Cut:
		s.lose(w, r.Context(), body, fault)
	case BadJSON:
		send(w, body[:len(body)/2])
	default:
		send(w, body)
	}
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// replay sends the last answer to a prompt again, if there is one.
func (s *Server) replay(w http.ResponseWriter, prompt string) bool {
	s.mu.Lock()
	last := s.last[prompt]
	if last != nil {
		var r struct{ Choices []json.RawMessage }
		_ = json.Unmarshal(last, &r)
		s.book.Replayed += len(r.Choices)
	}
	s.mu.Unlock()
	if last != nil {
		send(w, last)
	}
	return last != nil
}

// lose ends a request without its answer.
func (s *Server) lose(w http.ResponseWriter, gone context.Context, body []byte, fault Fault) {
	if fault == Hang {
		<-gone.Done()
		panic(http.ErrAbortHandler)
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if fault == Cut {
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
		_, _ = conn.Write(body[:len(body)/2])
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing sends a reset
	}
}

// generate draws the completions of a query and books them.
func (s *Server) generate(q query, arrival int, fault Fault) []byte {
	n := q.n
	switch {
	case s.config.IgnoreN:
		n = 1
	case fault == Fewer:
		n = max(1, n/2)
	case fault == More:
		n++
	}
	key := stream.New(s.config.Seed).Named(q.prompt).With(uint64(arrival))
	lost := fault == Reset || fault == Hang || fault == Cut || fault == BadJSON

	s.mu.Lock()
	defer s.mu.Unlock()
	tally := s.book.Prompts[q.prompt]
	texts := make([]string, n)
	for i := range texts {
		right := key.Uniform(uint64(i)) < s.success(q.prompt)
		texts[i] = s.text(q.prompt, right, s.book.Generated)
		s.book.Generated++
		if lost {
			s.book.Lost++
			continue
		}
		s.book.Delivered++
		tally.Delivered++
		if right {
			tally.Right++
		}
	}
	s.book.Prompts[q.prompt] = tally
	body := s.body(q, arrival, texts, fault != NoUsage)
	if !lost {
		s.last[q.prompt] = body
	}
	return body
}

func (s *Server) success(prompt string) float64 {
	if s.config.Success == nil {
		return 0.5
	}
	return s.config.Success(prompt)
}

func (s *Server) text(prompt string, right bool, serial int) string {
	switch {
	case s.config.Answer != nil:
		return s.config.Answer(prompt, right, serial)
	case right:
		return fmt.Sprintf("number %d answer 1", serial)
	}
	return fmt.Sprintf("number %d answer 0", serial)
}

// LogProb is the log probability of every token that the server writes.
const LogProb = -0.25

// logProbs returns the log probabilities of n tokens, in the shape of either API.
func logProbs(chat bool, n int) map[string]any {
	if !chat {
		return map[string]any{"token_logprobs": slices.Repeat([]float64{LogProb}, n)}
	}
	return map[string]any{"content": slices.Repeat([]map[string]float64{{"logprob": LogProb}}, n)}
}

// body writes an answer. A token is a byte, and one more ends the text, unless
// max_tokens has cut it off.
func (s *Server) body(q query, arrival int, texts []string, usage bool) []byte {
	type object = map[string]any
	choices, tokens := make([]object, len(texts)), 0
	for i, text := range texts {
		c, size := object{"index": i, "finish_reason": "stop", "logprobs": nil}, len(text)+1
		if limit, ok := q.fields["max_tokens"].(float64); ok && float64(size) > limit {
			size = int(limit)
			text, c["finish_reason"] = text[:size], "length"
		}
		tokens += size
		if q.chat {
			c["message"] = object{"role": "assistant", "content": text}
		} else {
			c["text"] = text
		}
		if q.logProbs && !s.config.NoLogProbs {
			c["logprobs"] = logProbs(q.chat, size)
		}
		choices[i] = c
	}
	answer := object{"id": fmt.Sprintf("cmpl-%016x%08x", s.config.Seed, arrival), "model": q.fields["model"], "created": 1_700_000_000, "choices": choices}
	if usage {
		answer["usage"] = object{"prompt_tokens": len(q.prompt), "completion_tokens": tokens, "total_tokens": len(q.prompt) + tokens}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return body
}
