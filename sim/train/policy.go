// Package train holds small policies that learn from the rollouts that a
// strategy buys, until a target is reached. It refuses to decide who gets how
// many rollouts, and to draw.
//
// Rewards are binary throughout: 1 for a correct outcome, 0 for a wrong one.
// Signed rewards would double the advantages of Dr. GRPO, RLOO and REINFORCE,
// and leave those of GRPO with delta = 0 alone.
package train

import (
	"errors"
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// A Policy answers every prompt with one of finitely many outcomes, whose
// probabilities follow from its parameters: small enough that success
// probabilities and gradients are exact. Prompts 0 to Prompts()-1 are trained
// on, the HeldOut() ones after them never. One goroutine uses it at a time.
//
// An outcome is a sequence of tokens. The tokens of a prompt are laid out one
// outcome after another, in the order of Outcomes.
type Policy interface {
	// Spec returns the normalised spec, which parses to the same policy.
	Spec() string
	Prompts() int
	HeldOut() int
	// Parameters returns the policy's own parameters, one flat vector, which
	// updates write into.
	Parameters() []float64
	// Outcomes lists the outcomes of prompt x; the policy owns the slice, which
	// never changes.
	Outcomes(x int) []Outcome
	// LogProbs appends to dst the log probability of every token of every
	// outcome of prompt x, given the tokens before it. It is finite while the
	// logits are.
	LogProbs(dst []float64, x int) []float64
	// AddScores adds to grad, which has the length of Parameters, the sum over
	// the tokens of prompt x of w times the gradient of the token's log
	// probability; w has one entry a token.
	AddScores(grad []float64, x int, w []float64)
}

// An Outcome is one answer to a prompt.
type Outcome struct {
	Correct bool
	Tokens  int // >= 1, the end token included
}

// NewPolicy makes the policy of a spec such as `logit:floor=1e-9`. It answers
// prompts >= 1 prompts, and those that the spec holds out, whose initial success
// probabilities are the ones drawn from law, in order, under key: policies of
// different specs start from the same.
//
// No softmax policy has a success probability of 0 or 1: a draw outside
// [floor, 1-floor] is moved to the nearest end, and where floor is 0, the
// default, a draw of 0 or 1 is refused.
func NewPolicy(text string, law distributions.Law, prompts int, key stream.Key) (Policy, error) {
	if prompts < 1 {
		return nil, fmt.Errorf("prompts = %d, want at least 1", prompts)
	}
	if law == nil {
		return nil, fmt.Errorf("an unbounded reward variance belongs to no success probability, give max=1 or less: %w", rollout.ErrNoRewards)
	}
	s, err := spec.Parse(text)
	if s.Name == "" {
		return nil, err
	}
	for _, k := range policyKinds {
		if k.name == s.Name {
			a := spec.NewArgs(s)
			start := &start{law: law, prompts: prompts, key: key}
			start.floor = a.Float("floor", 0, "[0, 0.5)", func(x float64) bool { return x >= 0 && x < 0.5 })
			p, readErr := k.read(a, start)
			if err := errors.Join(err, readErr); err != nil {
				return nil, err
			}
			return p, nil
		}
	}
	return nil, errors.Join(spec.UnknownName(s.Name, policyNames()), err)
}

// A policyKind joins the name of a policy to how its spec is read.
type policyKind struct {
	name string
	read func(a *spec.Args, s *start) (Policy, error)
}

var policyKinds = []policyKind{
	{"logit", readLogit},
	{"softmax", readSoftmax},
	{"linear", readLinear},
	{"sequence", readSequence},
	{"layered", readLayered},
}

func policyNames() []string {
	var names []string
	for _, k := range policyKinds {
		names = append(names, k.name)
	}
	return names
}

// A start is what a policy starts from.
type start struct {
	law     distributions.Law
	prompts int
	floor   float64
	key     stream.Key
}

// difficulties draws the initial success probabilities of the prompts and of
// the held-out ones after them.
func (s *start) difficulties(heldOut int) ([]float64, error) {
	r := stream.Rand(s.key.Named("difficulty"))
	p := make([]float64, s.prompts+heldOut)
	for x := range p {
		p[x] = min(max(s.law.Rand(r), s.floor), 1-s.floor)
		if !(p[x] > 0 && p[x] < 1) {
			return nil, fmt.Errorf("prompt %d: p = %v, which no softmax policy has, want p in (0, 1), or floor > 0 to move it there", x, p[x])
		}
	}
	return p, nil
}

// logOdds returns the logit of p in (0, 1).
func logOdds(p float64) float64 { return math.Log(p) - math.Log1p(-p) }

// twoAnswers are the outcomes of a policy with one logit a prompt.
var twoAnswers = []Outcome{{Correct: true, Tokens: 1}, {Correct: false, Tokens: 1}}

// appendTwoAnswers appends their log probabilities at logit z.
func appendTwoAnswers(dst []float64, z float64) []float64 {
	rare := math.Log1p(math.Exp(-math.Abs(z)))
	return append(dst, min(z, 0)-rare, min(-z, 0)-rare)
}

// scoreTwoAnswers returns the derivative by z of their weighted sum.
func scoreTwoAnswers(z float64, w []float64) float64 {
	e := math.Exp(-math.Abs(z))
	p, miss := 1/(1+e), e/(1+e)
	if z < 0 {
		p, miss = miss, p
	}
	return w[0]*miss - w[1]*p
}

// Probabilities appends the probability of every outcome of prompt x under the
// token log probabilities logp (see Policy.LogProbs).
func Probabilities(dst []float64, outcomes []Outcome, logp []float64) []float64 {
	for _, o := range outcomes {
		sum := 0.0
		for _, l := range logp[:o.Tokens] {
			sum += l
		}
		logp = logp[o.Tokens:]
		dst = append(dst, math.Exp(sum))
	}
	return dst
}

// success returns the probability of a correct outcome.
func success(outcomes []Outcome, prob []float64) float64 {
	p := 0.0
	for k, o := range outcomes {
		if o.Correct {
			p += prob[k]
		}
	}
	return min(p, 1)
}

// tokens returns the number of tokens of all outcomes together.
func tokens(outcomes []Outcome) int {
	n := 0
	for _, o := range outcomes {
		n += o.Tokens
	}
	return n
}
