package verify

import (
	"context"
	"errors"
	"fmt"
	"math"

	"vigorlab/sim/train"
	"vigorlab/theory"
)

// A line is a softmax policy of one parameter theta, one prompt and answers
// with the logits offset + slope theta. The spectral norm of d(logits)/d(theta)
// is the Euclidean norm of slope.
type line struct {
	theta         [1]float64
	offset, slope []float64
	outcomes      []train.Outcome
}

var _ train.Policy = (*line)(nil)

func (l *line) Spec() string                 { return "line" }
func (l *line) Prompts() int                 { return 1 }
func (l *line) HeldOut() int                 { return 0 }
func (l *line) Parameters() []float64        { return l.theta[:] }
func (l *line) Outcomes(int) []train.Outcome { return l.outcomes }

func (l *line) LogProbs(dst []float64, _ int) []float64 {
	top := math.Inf(-1)
	for k := range l.offset {
		top = max(top, l.offset[k]+l.slope[k]*l.theta[0])
	}
	sum := 0.0
	for k := range l.offset {
		sum += math.Exp(l.offset[k] + l.slope[k]*l.theta[0] - top)
	}
	for k := range l.offset {
		dst = append(dst, l.offset[k]+l.slope[k]*l.theta[0]-top-math.Log(sum))
	}
	return dst
}

func (l *line) AddScores(grad []float64, _ int, w []float64) {
	mean := 0.0
	for k, logp := range l.LogProbs(nil, 0) {
		mean += math.Exp(logp) * l.slope[k]
	}
	for k := range w {
		grad[0] += w[k] * (l.slope[k] - mean)
	}
}

// The counterexample (OWN). Three answers have the logits -theta/sqrt(2), ln b
// and ln q + theta/sqrt(2), so that J = 1, and rewards 0, delta and 1; the flow
// starts at theta = 0. As theta grows, probability moves from the first answer
// to the second and raises E[r] by no more than delta, but at a speed that does
// not fall with STD, since STD divides: of order 1 while the third answer is
// too rare to matter, and of order delta/sqrt(q) while its probability q makes
// nearly all the variance, up to q of order delta. So q grows to 1 in a time of
// order 1/sqrt(delta), where the bound asks for Var^(-1/2), here of order 1/delta. Under
// binary-valued rewards the speed is at most of order STD.
const (
	gradedDelta  = 1e-4
	gradedSecond = 1e-2  // b
	gradedThird  = 1e-10 // q at the start, but for the norm
	gradedGain   = 0.5
)

// gradedLine returns the policy at theta = 0.
func gradedLine() *line {
	return &line{
		offset:   []float64{0, math.Log(gradedSecond), math.Log(gradedThird)},
		slope:    []float64{-math.Sqrt2 / 2, 0, math.Sqrt2 / 2},
		outcomes: []train.Outcome{{Tokens: 1}, {Tokens: 1}, {Correct: true, Tokens: 1}},
	}
}

// gradedBound holds the bound for the std-normalised flow to the counterexample,
// and to the same policy under binary-valued rewards.
func gradedBound(context.Context, *env) (*Section, error) {
	s := &Section{}
	for _, c := range []struct {
		id, claim string
		rewards   []float64
	}{
		{"graded", "the bound of the std-normalised flow holds for graded rewards", []float64{0, gradedDelta, 1}},
		{"binary", "the bound of the std-normalised flow holds for binary-valued rewards, same policy", []float64{0, 0, 1}},
	} {
		reached, bound, err := normalisedTime(gradedLine(), c.rewards, gradedGain)
		if err != nil {
			return nil, err
		}
		row := Row{
			ID: c.id, Kind: Claim, Claim: c.claim,
			Method: fmt.Sprintf("exact flow of three answers with logits -θ/√2, ln %v and ln %v + θ/√2, J = 1, rewards %v; the estimate is t_g over the bound", gradedSecond, gradedThird, c.rewards),
			Test:   "exact: at least 1",
			Note:   fmt.Sprintf("E[r] rises by %v in %.5g, the bound is %.5g", gradedGain, reached, bound),
		}
		s.Rows = append(s.Rows, bounded(row, reached/bound, 1, reached >= bound))
	}
	return s, nil
}

// normalisedTime returns the time in which the flow of grad E[r] / STD of one
// prompt raises E[r] by gain, and theory's bound for binary-valued rewards.
func normalisedTime(l *line, rewards []float64, gain float64) (reached, bound float64, err error) {
	const pace = 0.01
	moments := func() (mean, variance float64) {
		return train.Moments(train.Probabilities(nil, l.Outcomes(0), l.LogProbs(nil, 0)), rewards)
	}
	mean, variance := moments()
	jacobian := 0.0
	for _, a := range l.slope {
		jacobian = math.Hypot(jacobian, a)
	}
	bound, boundErr := theory.Flow{Gain: gain, Tokens: 1, Jacobian: jacobian}.TimeNormalised(variance)
	flow := train.NewAscent(l, train.Ascent{Rewards: [][]float64{rewards}, Normalised: true})
	reached, err = newMarch(l, flow, pace, math.Inf(1)).reach(mean+gain, func() float64 {
		v, _ := moments()
		return v
	})
	return reached, bound, errors.Join(err, boundErr)
}
