package train

import "vigorlab/distributions/spec"

// logit is the tabular policy of one logit a prompt, p = sigmoid(z): everything
// about it has a closed form.
type logit struct {
	spec string
	z    []float64
}

func readLogit(a *spec.Args, s *start) (Policy, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	p, err := s.difficulties(0)
	for x := range p {
		p[x] = logOdds(p[x])
	}
	return &logit{normal(a), p}, err
}

func (l *logit) Spec() string                            { return l.spec }
func (l *logit) Prompts() int                            { return len(l.z) }
func (l *logit) HeldOut() int                            { return 0 }
func (l *logit) Parameters() []float64                   { return l.z }
func (l *logit) Outcomes(int) []Outcome                  { return twoAnswers }
func (l *logit) LogProbs(dst []float64, x int) []float64 { return appendTwoAnswers(dst, l.z[x]) }

func (l *logit) AddScores(grad []float64, x int, w []float64) {
	grad[x] += scoreTwoAnswers(l.z[x], w)
}
