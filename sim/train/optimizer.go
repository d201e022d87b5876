package train

import (
	"errors"
	"math"
	"strings"

	"vigorlab/distributions/spec"
)

// An Optimizer moves parameters up a gradient. It keeps the state of one run.
type Optimizer interface {
	// Spec returns the normalised spec, such as "sgd:lr=0.1".
	Spec() string
	// Step moves theta; the slices share one length, the same in every call.
	Step(theta, grad []float64)
}

// NewOptimizer makes the optimizer of a spec, at the start of a run:
//
//	sgd:lr=X                            theta += lr g
//	momentum:lr=X,beta=0.9              v = beta v + g, theta += lr v
//	adam:lr=X,beta1=0.9,beta2=0.999,eps=1e-8
//
// the last one with bias correction and eps outside the root (Kingma and Ba,
// arXiv 1412.6980, Algorithm 1; the defaults are theirs). lr must be given.
func NewOptimizer(text string) (Optimizer, error) {
	s, err := spec.Parse(text)
	if s.Name == "" {
		return nil, err
	}
	a := spec.NewArgs(s)
	positive := func(x float64) bool { return x > 0 }
	share := func(x float64) bool { return x >= 0 && x < 1 }
	rate := a.Float("lr", math.NaN(), "a number > 0", positive)
	var o Optimizer
	switch s.Name {
	case "sgd":
		o = &sgd{normal(a), rate}
	case "momentum":
		beta := a.Float("beta", 0.9, "[0, 1)", share)
		o = &momentum{spec: normal(a), rate: rate, beta: beta}
	case "adam":
		beta1, beta2 := a.Float("beta1", 0.9, "[0, 1)", share), a.Float("beta2", 0.999, "[0, 1)", share)
		eps := a.Float("eps", 1e-8, "a number > 0", positive)
		o = &adam{spec: normal(a), rate: rate, beta1: beta1, beta2: beta2, eps: eps}
	default:
		return nil, errors.Join(spec.UnknownName(s.Name, []string{"sgd", "momentum", "adam"}), err)
	}
	if err := errors.Join(err, a.Err()); err != nil {
		return nil, err
	}
	return o, nil
}

func normal(a *spec.Args) string { return a.Normal().String() }

type sgd struct {
	spec string
	rate float64
}

func (o *sgd) Spec() string { return o.spec }

func (o *sgd) Step(theta, grad []float64) {
	for i, g := range grad {
		theta[i] += o.rate * g
	}
}

type momentum struct {
	spec       string
	rate, beta float64
	velocity   []float64
}

func (o *momentum) Spec() string { return o.spec }

func (o *momentum) Step(theta, grad []float64) {
	if o.velocity == nil {
		o.velocity = make([]float64, len(theta))
	}
	for i, g := range grad {
		o.velocity[i] = o.beta*o.velocity[i] + g
		theta[i] += o.rate * o.velocity[i]
	}
}

type adam struct {
	spec                    string
	rate, beta1, beta2, eps float64
	steps                   float64
	mean, square            []float64
}

func (o *adam) Spec() string { return o.spec }

func (o *adam) Step(theta, grad []float64) {
	if o.mean == nil {
		o.mean, o.square = make([]float64, len(theta)), make([]float64, len(theta))
	}
	o.steps++
	bias1, bias2 := 1-math.Pow(o.beta1, o.steps), 1-math.Pow(o.beta2, o.steps)
	for i, g := range grad {
		o.mean[i] = o.beta1*o.mean[i] + (1-o.beta1)*g
		o.square[i] = o.beta2*o.square[i] + (1-o.beta2)*g*g
		theta[i] += o.rate * (o.mean[i] / bias1) / (math.Sqrt(o.square[i]/bias2) + o.eps)
	}
}

// WithRate adds a learning rate to the spec of an optimizer without one.
func WithRate(optimizer string, rate float64) string {
	separator := ":"
	if strings.Contains(optimizer, ":") {
		separator = ","
	}
	return optimizer + separator + "lr=" + spec.FormatFloat(rate)
}
