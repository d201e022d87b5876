package train

import (
	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// A Layered policy adds up layers, some of which can be skipped.
type Layered interface {
	Policy
	// Skipped returns a switch for every layer, true where the layer is left out
	// of answers and of scores. The caller may write into it; a policy that is not
	// asked otherwise has all its layers.
	Skipped() []bool
}

// layered is the tabular softmax policy over some answers (see softmax) whose
// logits are sums over layers, theta_x = sum_l theta_xl: what a residual stream
// adds up to. Initially
//
//	theta_xl = theta_x/L + spread (e_xl - mean_l e_xl),
//
// e independent standard normal numbers by prompt, layer and answer, so that
// layers are alike with spread 0 and theta_x is softmax's in any case. Without s
// of L equal layers all logits shrink by (L-s)/L: that is a temperature.
//
// A layer's gradient is that of the logits: a step moves the logits L times as
// far as the same step moves softmax's, and the differences between the layers
// stay as they began.
type layered struct {
	spec     string
	outcomes []Outcome
	skipped  []bool
	theta    []float64 // one logit an answer, layer after layer, prompt after prompt
	z, g     []float64 // sums over the layers
	prob     []float64
}

var _ Layered = (*layered)(nil)

// maxLayers bounds the depth: the deepest models have some hundred layers.
const maxLayers = 1024

func readLayered(a *spec.Args, s *start) (Policy, error) {
	layers := a.Int("layers", 8, 1, maxLayers)
	c := readChoice(a)
	spread := a.Float("spread", 0, "[0, 100]", func(x float64) bool { return x >= 0 && x <= 100 })
	if err := a.Err(); err != nil {
		return nil, err
	}
	p, err := s.difficulties(0)
	if err != nil {
		return nil, err
	}
	m := &layered{
		spec: normal(a), outcomes: c.outcomes(), skipped: make([]bool, layers),
		theta: make([]float64, len(p)*layers*c.answers), z: make([]float64, c.answers), g: make([]float64, c.answers),
	}
	r := stream.Rand(s.key.Named("layers"))
	noise := make([]float64, layers)
	for x, p := range p {
		for k, z := range c.appendLogits(nil, p) {
			mean := 0.0
			for l := range noise {
				noise[l] = spread * r.NormFloat64()
				mean += noise[l] / float64(layers)
			}
			rest := z
			for l := range layers - 1 {
				part := z/float64(layers) + noise[l] - mean
				m.layer(m.theta, x, l)[k] = part
				rest -= part
			}
			m.layer(m.theta, x, layers-1)[k] = rest // the sum is z to rounding
		}
	}
	return m, nil
}

func (m *layered) Spec() string           { return m.spec }
func (m *layered) Prompts() int           { return len(m.theta) / len(m.skipped) / len(m.outcomes) }
func (m *layered) HeldOut() int           { return 0 }
func (m *layered) Parameters() []float64  { return m.theta }
func (m *layered) Outcomes(int) []Outcome { return m.outcomes }
func (m *layered) Skipped() []bool        { return m.skipped }

// layer returns the entries of layer l of prompt x.
func (m *layered) layer(theta []float64, x, l int) []float64 {
	return logits(theta, x*len(m.skipped)+l, len(m.outcomes))
}

// logits fills m.z with the sum over the layers that are not skipped.
func (m *layered) logits(x int) {
	clear(m.z)
	for l, skipped := range m.skipped {
		if skipped {
			continue
		}
		for k, z := range m.layer(m.theta, x, l) {
			m.z[k] += z
		}
	}
}

func (m *layered) LogProbs(dst []float64, x int) []float64 {
	m.logits(x)
	return appendLogSoftmax(dst, m.z)
}

func (m *layered) AddScores(grad []float64, x int, w []float64) {
	m.logits(x)
	clear(m.g)
	m.prob = addSoftmaxScores(m.g, m.z, w, m.prob)
	for l, skipped := range m.skipped {
		if skipped {
			continue
		}
		layer := m.layer(grad, x, l)
		for k, g := range m.g {
			layer[k] += g
		}
	}
}
