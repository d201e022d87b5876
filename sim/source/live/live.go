// Package live asks served models for completions: the client of any server
// that speaks the OpenAI protocol (vLLM, SGLang, llama.cpp, Ollama, hosted
// ones), chat or completions, and the Source of rollouts that journals each
// before it counts and asks for none twice. It refuses to know who gets how many
// and what a completion is worth, opens no file and reads no environment.
package live

import (
	"net/http"
	"net/url"
	"time"
)

// A Completion is one answer of a model server.
type Completion struct {
	Text         string
	FinishReason string // as the server says: "stop", "length" (cut off by max_tokens), ...

	// PromptTokens are the tokens in that this completion is charged for: a
	// request's prompt tokens once, on its first choice, and 0 on the others.
	PromptTokens int

	// CompletionTokens are the tokens out. The server counts them for a whole
	// request; they are split over its choices by the tokens whose log
	// probabilities came along, else in proportion to the bytes of each text
	// and of the reasoning before it, the token that ends it counted as one, so
	// that the shares add up.
	CompletionTokens int
	Uncounted        bool // the server counted no tokens; those above are 0

	LogProb *float64 // sum of the log probabilities of its tokens, nil where not asked for or not given
	Seconds float64  // wall clock of its request, retries not counted
}

// finishLength is the finish reason of a completion that max_tokens cut off.
const finishLength = "length"

// Truncated reports whether max_tokens cut the completion off.
func (c *Completion) Truncated() bool { return c.FinishReason == finishLength }

// A Sampling is the decoding of the policy. All of it is sent, neutral values
// too, since the defaults of servers (top_k 40, a repetition penalty) distort
// the policy.
type Sampling struct {
	Temperature float64  // at least 0; 1 samples from the model as it is
	TopP        float64  // (0, 1]; 1 keeps every token
	TopK        int      // at least 0; 0 keeps every token
	MaxTokens   int      // at least 1
	Stop        []string // texts that end a completion

	// Seed, if not nil, makes every completion a request of its own, whose seed
	// is derived from Seed, the prompt and the completion's index: so that no
	// two share a seed, and a completion does not depend on its neighbours.
	Seed     *uint64
	LogProbs bool // ask for log probabilities
}

// DefaultSampling returns the decoding that leaves the policy as it is.
func DefaultSampling() Sampling {
	return Sampling{Temperature: 1, TopP: 1, MaxTokens: 1024}
}

// A Config says which servers to ask, and how.
type Config struct {
	BaseURLs []string // of servers of one and the same model, as in http://127.0.0.1:8000/v1
	Model    string   // its name on the servers
	Chat     bool     // chat completions: the prompt is one message of the user
	Key      string   // sent in the Authorization header and shown nowhere; empty for none
	Insecure bool     // allows a key over plain http to a host that is not loopback
	Sampling Sampling

	Concurrency int           // requests in flight at most, over all servers and callers
	Timeout     time.Duration // of one request, its retries not counted
	Retries     int           // of one request, after its first attempt
	Backoff     time.Duration // before the first retry; doubled for each further one
	MaxFailures int           // failures in a row, over all requests, that stop the client

	Proxy  func(*http.Request) (*url.URL, error) // as in http.Transport; nil for none
	Notify func(string)                          // told once a notice: n ignored, ...; from any goroutine, one at a time; may be nil
}

// DefaultConfig returns a configuration that lacks base URLs and model. Its
// waits outlast a server that is away for about 15 s.
func DefaultConfig() Config {
	return Config{
		Sampling:    DefaultSampling(),
		Concurrency: 16,
		Timeout:     5 * time.Minute,
		Retries:     5,
		Backoff:     500 * time.Millisecond,
		MaxFailures: 10,
	}
}

// Counts are what a client sent and received so far.
type Counts struct {
	Requests int // attempts sent, retries included
	Failures int // attempts that brought nothing: what they cost, the server alone knows

	Taken int // completions handed over
	Extra int // completions received and paid for, but not used

	PromptTokens     int // in, of all that was received
	CompletionTokens int // out, of all that was received
	ExtraTokens      int // of them, those of Extra
	NoUsage          int // completions whose tokens the server did not count
}
