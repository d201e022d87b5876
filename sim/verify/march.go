package verify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/train"
)

// A march follows a flow in Runge-Kutta steps that move no parameter by more
// than about pace, nor last longer than longest: where a gradient is small but
// turns quickly, as beside the end of a flow with KL, long steps would not be stable.
type march struct {
	policy        train.Policy
	flow          *train.Flow
	pace, longest float64
	time, last    float64 // so far, and of the last step
	grad, before  []float64
}

func newMarch(p train.Policy, f *train.Flow, pace, longest float64) *march {
	n := len(p.Parameters())
	return &march{policy: p, flow: f, pace: pace, longest: longest, grad: make([]float64, n), before: make([]float64, n)}
}

// step goes on by one step, and reports whether anything moves.
func (m *march) step() bool {
	copy(m.before, m.policy.Parameters())
	clear(m.grad)
	m.flow.Gradient(m.grad)
	fastest := floats.Norm(m.grad, math.Inf(1))
	if !(fastest > 0) {
		return false
	}
	m.last = min(m.pace/fastest, m.longest)
	m.flow.Advance(m.last)
	m.time += m.last
	return true
}

// crossing returns when value reached target within the last step, by
// bisection. The policy is left at the step's end.
func (m *march) crossing(target float64, value func() float64) float64 {
	const halvings = 45 // to the last digits of a float64
	theta := m.policy.Parameters()
	after := slices.Clone(theta)
	low, high := 0.0, m.last
	for range halvings {
		mid := (low + high) / 2
		copy(theta, m.before)
		m.flow.Advance(mid)
		if value() < target {
			low = mid
		} else {
			high = mid
		}
	}
	copy(theta, after)
	return m.time - m.last + high
}

// reach returns the time at which value reaches target, in the last step or
// from now on, or an error after too many steps.
func (m *march) reach(target float64, value func() float64) (float64, error) {
	const most = 1_000_000
	for range most {
		if value() >= target {
			return m.crossing(target, value), nil
		}
		if !m.step() {
			break
		}
	}
	return math.NaN(), fmt.Errorf("the flow does not reach %v: it is at %v", target, value())
}
