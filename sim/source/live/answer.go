package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// A reply is the body of an answer, of chat or completions. Servers mix the
// two shapes of log probabilities, so that both are read.
type reply struct {
	ID      string          `json:"id"`
	Choices []choice        `json:"choices"`
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"` // read apart: odd ones cost no completion
}

// A usage is what the server counted.
type usage struct {
	PromptTokens     *float64 `json:"prompt_tokens"` // some write 12.0
	CompletionTokens *float64 `json:"completion_tokens"`
}

type choice struct {
	Text         *string         `json:"text"`
	Message      *message        `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
	LogProbs     json.RawMessage `json:"logprobs"` // read apart, as usage
}

type message struct {
	Content *string `json:"content"` // null where thinking used up all tokens: an empty answer

	// What came before the content, as vLLM and others name it. It is no part of
	// the answer, but of its tokens.
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
}

type logProbs struct {
	TokenLogProbs []*float64 `json:"token_logprobs"`
	Content       []struct {
		LogProb *float64 `json:"logprob"`
	} `json:"content"`
}

// parse reads a body that came with status 200. Errors, no choices and choices
// that are no samples of the policy come with that status too.
func parse(body []byte, chat bool) (*reply, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("answers what is no JSON of a completion (%w): %s", err, body)
	}
	if given(r.Error) {
		return nil, fmt.Errorf("answers with an error: %s", complaint(body))
	}
	if len(r.Choices) == 0 {
		return nil, fmt.Errorf("answers without choices: %s", body)
	}
	for i := range r.Choices {
		if err := r.Choices[i].check(chat); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// check says whether a choice is a sample of the policy.
func (c *choice) check(chat bool) error {
	switch {
	case given(c.Error):
		return fmt.Errorf("answers with an error in a choice: %s", c.Error)
	case c.FinishReason == "abort" || c.FinishReason == "error":
		return fmt.Errorf("gave up on a choice: finish_reason = %q", c.FinishReason)
	case chat && c.Message == nil:
		return errors.New("answers with a choice without message")
	case !chat && c.Text == nil:
		return errors.New("answers with a choice without text")
	}
	return nil
}

func (c *choice) text() string {
	switch {
	case c.Text != nil:
		return *c.Text
	case c.Message != nil && c.Message.Content != nil:
		return *c.Message.Content
	}
	return ""
}

// thought returns the bytes that a choice has beside its text.
func (c *choice) thought() int {
	if c.Message == nil {
		return 0
	}
	var longest int // some servers send it under both names
	for _, field := range []json.RawMessage{c.Message.Reasoning, c.Message.ReasoningContent} {
		if given(field) {
			longest = max(longest, len(plain(field)))
		}
	}
	return longest
}

// logProb returns the sum of the log probabilities of a choice's tokens, and
// how many there are; nil and 0 where one is missing.
func (c *choice) logProb() (sum *float64, tokens int) {
	var given logProbs
	if json.Unmarshal(c.LogProbs, &given) != nil {
		return nil, 0
	}
	all := given.TokenLogProbs
	for _, t := range given.Content {
		all = append(all, t.LogProb)
	}
	if len(all) == 0 {
		return nil, 0
	}
	sum = new(float64)
	for _, p := range all {
		if p == nil {
			return nil, 0
		}
		*sum += *p
	}
	return sum, len(all)
}

// completions returns the choices as completions, and whether the server
// counted their tokens.
func (r *reply) completions(seconds float64) (all []Completion, counted bool) {
	all = make([]Completion, len(r.Choices))
	tokens, weights := make([]int, len(all)), make([]int, len(all))
	exact := 0
	for i := range r.Choices {
		c := &r.Choices[i]
		all[i] = Completion{Text: c.text(), FinishReason: c.FinishReason, Seconds: seconds}
		all[i].LogProb, tokens[i] = c.logProb()
		exact += tokens[i]
		weights[i] = len(all[i].Text) + c.thought()
		if c.FinishReason != finishLength {
			weights[i]++
		}
	}
	var u usage
	if json.Unmarshal(r.Usage, &u) != nil || !u.counts() {
		for i := range all {
			all[i].Uncounted = true
		}
		return all, false
	}
	all[0].PromptTokens = int(*u.PromptTokens)
	if out := int(*u.CompletionTokens); exact != out {
		tokens = split(out, weights)
	}
	for i := range all {
		all[i].CompletionTokens = tokens[i]
	}
	return all, true
}

// mostTokens is more than any request has, and few enough to be added up.
const mostTokens = 1e9

// counts says whether a usage holds both figures.
func (u *usage) counts() bool {
	for _, tokens := range []*float64{u.PromptTokens, u.CompletionTokens} {
		if tokens == nil || !(*tokens >= 0 && *tokens <= mostTokens) {
			return false
		}
	}
	return true
}

// split divides total in proportion to the weights, each share rounded so that
// the shares up to any place add up to the rounded share of that place.
func split(total int, weights []int) []int {
	var sum, so, given int
	for _, w := range weights {
		sum += w
	}
	shares := make([]int, len(weights))
	for i, w := range weights {
		so += w
		upTo := total * (i + 1) / len(weights) // without any text: alike
		if sum > 0 {
			upTo = int(float64(total)*float64(so)/float64(sum) + 0.5)
		}
		shares[i], given = upTo-given, upTo
	}
	return shares
}

// given says whether a field is there and says something.
func given(field json.RawMessage) bool {
	switch string(field) {
	case "", "null", `""`, "{}", "false":
		return false
	}
	return true
}

// complaint returns what the body of an error says, in the shapes that servers
// know: {"error":{"message":...}}, {"error":...}, {"message":...},
// {"detail":...}, else the whole body.
func complaint(body []byte) string {
	var e struct {
		Error           json.RawMessage
		Message, Detail json.RawMessage
	}
	if json.Unmarshal(body, &e) != nil {
		return string(body)
	}
	var inner struct{ Message string }
	if json.Unmarshal(e.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	return cmp.Or(plain(e.Error), plain(e.Message), plain(e.Detail), string(body))
}

// plain returns a JSON value as text, a string without its quotes.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
