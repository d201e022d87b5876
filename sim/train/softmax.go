package train

import (
	"math"

	"vigorlab/distributions/spec"
)

// softmax is the tabular policy over some answers a prompt, of which the first
// ones are correct. Initially every correct answer is as likely as any other,
// and a near wrong one, which comes next in order, is exp(gap) times as likely as
// a far one.
type softmax struct {
	spec     string
	outcomes []Outcome
	theta    []float64 // one logit an answer, prompt after prompt
	prob     []float64
}

func readSoftmax(a *spec.Args, s *start) (Policy, error) {
	c := readChoice(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	p, err := s.difficulties(0)
	if err != nil {
		return nil, err
	}
	m := &softmax{spec: normal(a), outcomes: c.outcomes()}
	for _, p := range p {
		m.theta = c.appendLogits(m.theta, p)
	}
	return m, nil
}

// A choice says how the answers to a prompt differ: see softmax.
type choice struct {
	answers, correct, near int
	gap                    float64
}

func readChoice(a *spec.Args) choice {
	var c choice
	c.answers = a.Int("answers", 4, 2, maxAnswers)
	c.correct = a.Int("correct", 1, 1, c.answers-1)
	c.near = a.Int("near", 0, 0, c.answers-c.correct)
	c.gap = a.Float("gap", 0, "[0, 100]", func(x float64) bool { return x >= 0 && x <= 100 })
	return c
}

// outcomes returns the answers, of one token each.
func (c choice) outcomes() []Outcome {
	o := make([]Outcome, c.answers)
	for k := range o {
		o[k] = Outcome{Correct: k < c.correct, Tokens: 1}
	}
	return o
}

// appendLogits appends the initial logits, which are log probabilities, of a
// prompt of success probability p in (0, 1).
func (c choice) appendLogits(dst []float64, p float64) []float64 {
	// Of all wrong answers' probability a far one has 1/mass, where the near ones
	// count exp(gap) each.
	far := c.answers - c.correct - c.near
	logMass := math.Log(float64(c.near)*math.Exp(c.gap) + float64(far))
	for k := range c.answers {
		logit := math.Log1p(-p) - logMass
		switch {
		case k < c.correct:
			logit = math.Log(p) - math.Log(float64(c.correct))
		case k < c.correct+c.near:
			logit += c.gap
		}
		dst = append(dst, logit)
	}
	return dst
}

func (m *softmax) Spec() string           { return m.spec }
func (m *softmax) Prompts() int           { return len(m.theta) / len(m.outcomes) }
func (m *softmax) HeldOut() int           { return 0 }
func (m *softmax) Parameters() []float64  { return m.theta }
func (m *softmax) Outcomes(int) []Outcome { return m.outcomes }

func (m *softmax) LogProbs(dst []float64, x int) []float64 {
	return appendLogSoftmax(dst, logits(m.theta, x, len(m.outcomes)))
}

func (m *softmax) AddScores(grad []float64, x int, w []float64) {
	k := len(m.outcomes)
	m.prob = addSoftmaxScores(logits(grad, x, k), logits(m.theta, x, k), w, m.prob)
}

// logits returns the k entries of number x.
func logits(theta []float64, x, k int) []float64 { return theta[x*k : (x+1)*k] }

// appendLogSoftmax appends the log probabilities of the given logits, the
// largest one's, which may be near 0, with all its digits.
func appendLogSoftmax(dst, z []float64) []float64 {
	top := 0
	for k := range z {
		if z[k] > z[top] {
			top = k
		}
	}
	others := 0.0
	for k := range z {
		if k != top {
			others += math.Exp(z[k] - z[top])
		}
	}
	norm := math.Log1p(others)
	for k := range z {
		dst = append(dst, z[k]-z[top]-norm)
	}
	return dst
}

// addSoftmaxScores adds to grad the gradient by the logits z of the sum of
// w log prob, with prob as scratch space that it returns. By logit a it is
// sum_b (w_a p_b - w_b p_a): a difference to the mean, w_a - p_a sum_b w_b,
// would lose its digits where an answer is nearly certain.
func addSoftmaxScores(grad, z, w, prob []float64) []float64 {
	prob = appendLogSoftmax(prob[:0], z)
	for k, l := range prob {
		prob[k] = math.Exp(l)
	}
	for a := range grad {
		for b := range grad {
			grad[a] += w[a]*prob[b] - w[b]*prob[a]
		}
	}
	return prob
}
