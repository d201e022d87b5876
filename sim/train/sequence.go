package train

import (
	"fmt"
	"math"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// sequence is the tabular policy over a small tree of tokens, a logit for every
// token after every prefix. Token 0 ends an answer, and so does whichever comes
// at the full length: with branching 2 the answers have 1 to tokens tokens, the
// last two of them the full length. A prompt's correct answers are drawn at
// random, the same number for each. Initially the answers are those of uniform
// tokens, given whether they are correct.
type sequence struct {
	spec     string
	tree     *tree
	outcomes [][]Outcome
	theta    []float64 // cells of the tree, prompt after prompt
	logs, w  []float64
	prob     []float64
}

// maxAnswers keeps exact sums over all answers small.
const maxAnswers = 1024

func readSequence(a *spec.Args, s *start) (Policy, error) {
	length := a.Int("tokens", 3, 1, maxAnswers)
	branching := a.Int("branching", 2, 2, maxAnswers)
	n := answers(length, branching)
	if n > maxAnswers {
		a.Fault("tokens", length, fmt.Sprintf("fewer: at branching = %d there are more than %d answers", branching, maxAnswers))
	}
	correct := a.Int("correct", 1, 1, n-1)
	if err := a.Err(); err != nil {
		return nil, err
	}
	p, err := s.difficulties(0)
	if err != nil {
		return nil, err
	}
	q := &sequence{spec: normal(a), tree: newTree(length, branching)}
	r := stream.Rand(s.key.Named("correct"))
	for _, p := range p {
		o := make([]Outcome, n)
		for k, path := range q.tree.paths {
			o[k].Tokens = len(path)
		}
		for _, k := range r.Perm(n)[:correct] {
			o[k].Correct = true
		}
		q.outcomes = append(q.outcomes, o)
		q.theta = q.tree.appendStart(q.theta, o, p)
	}
	return q, nil
}

func (q *sequence) Spec() string             { return q.spec }
func (q *sequence) Prompts() int             { return len(q.outcomes) }
func (q *sequence) HeldOut() int             { return 0 }
func (q *sequence) Parameters() []float64    { return q.theta }
func (q *sequence) Outcomes(x int) []Outcome { return q.outcomes[x] }

func (q *sequence) LogProbs(dst []float64, x int) []float64 {
	z, k := logits(q.theta, x, q.tree.cells), q.tree.branching
	q.logs = q.logs[:0]
	for low := 0; low < len(z); low += k {
		q.logs = appendLogSoftmax(q.logs, z[low:low+k])
	}
	for _, path := range q.tree.paths {
		for _, cell := range path {
			dst = append(dst, q.logs[cell])
		}
	}
	return dst
}

func (q *sequence) AddScores(grad []float64, x int, w []float64) {
	z, k := logits(q.theta, x, q.tree.cells), q.tree.branching
	grad = logits(grad, x, q.tree.cells)
	q.w = append(q.w[:0], make([]float64, len(z))...)
	t := 0
	for _, path := range q.tree.paths {
		for _, cell := range path {
			q.w[cell] += w[t]
			t++
		}
	}
	for low := 0; low < len(z); low += k {
		q.prob = addSoftmaxScores(grad[low:low+k], z[low:low+k], q.w[low:low+k], q.prob)
	}
}

// A tree holds every answer of up to length tokens. Cell prefix*branching+token
// stands for a token after a prefix; prefix 0 is the empty one.
type tree struct {
	branching, cells int
	paths            [][]int // of every answer: its cells
}

// answers returns the number of answers, more than maxAnswers where that is so.
func answers(length, branching int) int {
	n := branching
	for range length - 1 {
		if n > maxAnswers {
			break
		}
		n = 1 + (branching-1)*n
	}
	return n
}

func newTree(length, branching int) *tree {
	t := &tree{branching: branching}
	t.grow(nil, length)
	return t
}

// grow adds the answers that begin with the cells of path.
func (t *tree) grow(path []int, left int) {
	low := t.cells
	t.cells += t.branching
	for token := range t.branching {
		longer := append(path[:len(path):len(path)], low+token)
		if token == 0 || left == 1 {
			t.paths = append(t.paths, longer)
			continue
		}
		t.grow(longer, left-1)
	}
}

// appendStart appends the logits under which a correct answer has probability p:
// the log of the mass at a cell and below, in logarithms throughout, since long
// answers are rare. Softmax divides by the mass below the prefix.
func (t *tree) appendStart(theta []float64, o []Outcome, p float64) []float64 {
	uniform := func(path []int) float64 { return -float64(len(path)) * math.Log(float64(t.branching)) }
	correct, wrong := math.Inf(-1), math.Inf(-1)
	for k, path := range t.paths {
		if o[k].Correct {
			correct = logAdd(correct, uniform(path))
		} else {
			wrong = logAdd(wrong, uniform(path))
		}
	}
	low := len(theta)
	for range t.cells {
		theta = append(theta, math.Inf(-1))
	}
	mass := theta[low:]
	for k, path := range t.paths {
		answer := uniform(path) + math.Log1p(-p) - wrong
		if o[k].Correct {
			answer = uniform(path) + math.Log(p) - correct
		}
		for _, cell := range path {
			mass[cell] = logAdd(mass[cell], answer)
		}
	}
	return theta
}

// logAdd returns log(exp(a) + exp(b)) for b finite.
func logAdd(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}
