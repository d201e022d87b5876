package live

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"vigorlab/sim/stream"
)

// A poster sends one request and returns the answer's status, headers and
// whole body, whatever they are.
type poster func(ctx context.Context, r request) (*http.Response, []byte, error)

// A request is what differs between the requests of one client.
type request struct {
	prompt string
	n      int
	seed   *int64
	common *common
}

// A common is what requests share, as long as no field is refused: encoded once,
// since that took as long as the rest of a short request.
type common struct {
	refused map[string]bool // names of fields that are left out, see neutral
	head    []byte          // the JSON object of the shared fields, without its end
}

// neutral are the fields that are sent only to keep a server from distorting
// the policy by its own defaults, at the values that leave it as it is. A server
// that refuses one does not know it, so that it may be left out. The
// repetition penalty has two names: vLLM's and SGLang's, llama.cpp's.
var neutral = map[string]any{
	"top_k":              -1,
	"min_p":              0,
	"repetition_penalty": 1,
	"repeat_penalty":     1,
	"presence_penalty":   0,
	"frequency_penalty":  0,
}

// Neutral returns the fields that a request carries beside what Sampling has, by
// name, with the values that leave the policy as it is. The caller owns it. A field
// that a server refuses is left out from then on, and Config.Notify is told.
func Neutral() map[string]any {
	fields := maps.Clone(neutral)
	delete(fields, "top_k") // Sampling.TopK says it
	return fields
}

// surplusHeaders are what the library tells of this machine. No model server
// reads it, and it would make up half of a short request.
const surplusHeaders = `X-Stainless-Lang X-Stainless-Package-Version X-Stainless-OS X-Stainless-Arch X-Stainless-Runtime
	X-Stainless-Runtime-Version X-Stainless-Retry-Count X-Stainless-Timeout`

// newPoster returns the poster of one base URL. The library sends the requests;
// it is handed their bodies as they are, since its own types lack some fields and
// cost a third of the time of a request to encode. Its retries are off: they wait
// within the time of one attempt, they know neither timeouts nor answers of
// another shape nor other servers, and two loops would multiply. Its NewClient
// reads the environment, a Client made here does not.
func (c *Client) newPoster(base string, transport http.RoundTripper) poster {
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key stays here
		}),
	}
	for name := range strings.FieldsSeq(surplusHeaders) {
		options = append(options, option.WithHeaderDel(name))
	}
	if c.config.Key != "" {
		options = append(options, option.WithAPIKey(c.config.Key))
	}
	library, path := openai.Client{Options: options}, "completions"
	if c.config.Chat {
		path = "chat/completions"
	}
	return func(ctx context.Context, r request) (*http.Response, []byte, error) {
		var res *http.Response
		var body []byte
		err := library.Post(ctx, path, c.body(r), &body, option.WithResponseInto(&res))
		if res != nil && res.StatusCode >= http.StatusBadRequest { // the library has put the body back
			body, err = io.ReadAll(res.Body)
		}
		return res, body, err
	}
}

// newCommon encodes the fields that requests share.
func (c *Client) newCommon(refused map[string]bool) *common {
	s := c.config.Sampling
	fields := maps.Clone(neutral)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return refused[name] })
	fields["model"] = c.config.Model
	fields["temperature"] = s.Temperature
	fields["top_p"] = s.TopP
	if s.TopK > 0 {
		fields["top_k"] = s.TopK
	}
	if len(s.Stop) > 0 {
		fields["stop"] = s.Stop
	}
	if refused["max_tokens"] {
		fields["max_completion_tokens"] = s.MaxTokens
	} else {
		fields["max_tokens"] = s.MaxTokens
	}
	withLogProbs := s.LogProbs && !refused["logprobs"]
	switch {
	case withLogProbs && c.config.Chat:
		fields["logprobs"] = true
	case withLogProbs:
		fields["logprobs"] = 1 // 0 asks llama.cpp for none
	}
	object := encode(fields)
	return &common{refused, object[:len(object)-1]}
}

// body returns the JSON object of a request.
func (c *Client) body(r request) []byte {
	body := append(make([]byte, 0, len(r.common.head)+len(r.prompt)+longestRest), r.common.head...)
	body = strconv.AppendInt(append(body, `,"n":`...), int64(r.n), 10)
	if r.seed != nil {
		body = strconv.AppendInt(append(body, `,"seed":`...), *r.seed, 10)
	}
	prompt := encode(r.prompt)
	if !c.config.Chat {
		return append(append(append(body, `,"prompt":`...), prompt...), '}')
	}
	return append(append(append(body, `,"messages":[{"role":"user","content":`...), prompt...), "}]}"...)
}

// longestRest is about what a body has beside the shared fields and its prompt.
const longestRest = 128

// encode returns the JSON of what cannot fail: finite numbers and valid UTF-8.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// aboutN finds n by its name, or by what llama.cpp calls it.
var aboutN = regexp.MustCompile(`\bn\b|\bchoices?\b`)

// refusable returns a field of r that the text of a refusal names and that r
// can do without, or "".
func (c *Client) refusable(r request, text string) string {
	may := func(name string) bool { return !r.common.refused[name] && strings.Contains(text, name) }
	for _, name := range slices.Sorted(maps.Keys(neutral)) {
		if may(name) && (name != "top_k" || c.config.Sampling.TopK == 0) {
			return name
		}
	}
	if c.config.Sampling.LogProbs && may("logprobs") {
		return "logprobs"
	}
	if c.config.Chat && may("max_tokens") && strings.Contains(text, "max_completion_tokens") {
		return "max_tokens"
	}
	if r.n > 1 && aboutN.MatchString(text) {
		return "n"
	}
	return ""
}

// seed returns the seed of a completion, or nil. It lies in [0, 2^31), which
// every server can read. An odd multiple of the index modulo 2^31 is different
// for every index, and the golden ratio keeps those of neighbours apart.
func (c *Client) seed(prompt string, index int) *int64 {
	if c.config.Sampling.Seed == nil {
		return nil
	}
	start := uint64(stream.New(*c.config.Sampling.Seed).Named(prompt))
	s := int64((start + 0x9E3779B1*uint64(index)) % (1 << 31))
	return &s
}

// show returns text fit for an error: one line, not endless, without the key.
func (c *Client) show(text string) string {
	if c.config.Key != "" {
		text = strings.ReplaceAll(text, c.config.Key, "[key]")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if r := []rune(text); len(r) > longestText {
		text = string(r[:longestText]) + "..."
	}
	return text
}

// longestText is how many characters of a server's words an error repeats.
const longestText = 200
