// Package tinymodel holds the project's own small model for tests of live
// sources: its problems with their exact success probabilities, and a real
// server of it over llama.cpp. It refuses to be a client: how rollouts are
// asked for and judged is what it is there to test.
//
// The model, testdata/model.gguf, has a hundred thousand parameters and knows
// sums and running products of small numbers in characters; model/train.py
// makes it, testdata/rates.py computes its success probabilities from the file
// by another route. A completion is right if it is the answer and nothing else.
package tinymodel

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

const (
	// ModelName is what the server calls the model.
	ModelName = "vigorlab-arithmetic"

	// MaxTokens is the limit of a completion, its end token counted, at which
	// the figures of Problems hold. It cuts off a tenth of all completions.
	MaxTokens = 21

	// Draws is the number of completions behind each of the Estimates.
	Draws = 4096
)

// A Problem is a prompt, its one right completion and what the model does with
// it at temperature 1, every token a candidate, in at most MaxTokens tokens.
type Problem struct {
	ID     string `json:"id"`
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`

	// Rate is the probability of the answer's tokens and the end, in [0, 1],
	// exact to double precision. It is 0 where MaxTokens has no room for the
	// answer, and only there. Other tokens of the same text, white space around
	// it included, add at most More.
	Rate float64 `json:"-"`
	More float64 `json:"-"`

	Estimates `json:"-"`
}

// Estimates are figures that have no short exact sum, from completions drawn
// by model/train.py in single precision.
type Estimates struct {
	Length     Estimate `json:"length"`      // tokens of a completion, end counted
	CutOff     Estimate `json:"cut_off"`     // share of completions without an end
	LastNumber Estimate `json:"last_number"` // share whose last number is the result
}

// An Estimate is a mean with its standard error.
type Estimate struct {
	Mean float64 `json:"mean"`
	SE   float64 `json:"se"`
}

//go:embed testdata/prompts.jsonl
var promptsFile []byte

//go:embed testdata/rates.json
var ratesFile []byte

//go:embed testdata/estimates.json
var estimatesFile []byte

// Problems returns all problems, sums before products, in the order of
// testdata/prompts.jsonl. It panics where the embedded files disagree.
func Problems() []Problem {
	var exact struct {
		MaxTokens int `json:"max_tokens"`
		Rates     map[string]struct {
			Rate float64 `json:"rate"`
			More float64 `json:"more"`
		} `json:"rates"`
	}
	var drawn struct {
		MaxTokens int                  `json:"max_tokens"`
		Draws     int                  `json:"draws"`
		Estimates map[string]Estimates `json:"estimates"`
	}
	decode("rates.json", ratesFile, &exact)
	decode("estimates.json", estimatesFile, &drawn)
	if exact.MaxTokens != MaxTokens || drawn.MaxTokens != MaxTokens {
		panic(fmt.Sprintf("tinymodel: rates.json and estimates.json are for max_tokens = %d and %d, want %d", exact.MaxTokens, drawn.MaxTokens, MaxTokens))
	}
	if drawn.Draws != Draws {
		panic(fmt.Sprintf("tinymodel: estimates.json has %d draws, want %d", drawn.Draws, Draws))
	}
	var out []Problem
	for lines := bufio.NewScanner(bytes.NewReader(promptsFile)); lines.Scan(); {
		var p Problem
		decode("prompts.jsonl", lines.Bytes(), &p)
		rate, hasRate := exact.Rates[p.ID]
		estimates, hasEstimates := drawn.Estimates[p.ID]
		if !hasRate || !hasEstimates {
			panic("tinymodel: prompt " + p.ID + " has no figures: run model/train.py, then testdata/rates.py")
		}
		p.Rate, p.More, p.Estimates = rate.Rate, rate.More, estimates
		out = append(out, p)
	}
	return out
}

func decode(name string, data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		panic("tinymodel: " + name + ": " + err.Error())
	}
}
