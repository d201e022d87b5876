package sim

import (
	"fmt"
	"math"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// The kinds of drift: how success probabilities move from step to step.
const (
	DriftNone     = "none"     // they stay
	DriftWalk     = "walk"     // a random walk of psi = arcsin sqrt(p), reflected at 0 and pi/2
	DriftLearning = "learning" // 1-p falls by exp(-rate n) with the n trained rollouts of a mixed group
	DriftRevival  = "revival"  // a dead prompt (p = 0) gets the success probability p with probability rate
)

// A Drift says how success probabilities move between the steps of a run: a
// stationary world hides what a history costs. All prompts of the set move,
// whether they were asked or not, learning apart. The zero value is none.
type Drift struct {
	Kind string  // "" stands for none
	SD   float64 // walk: standard deviation of a step in psi, > 0, in radians; the whole range is pi/2
	Rate float64 // learning: per trained rollout, > 0; revival: per step, in (0, 1]
	P    float64 // revival: success probability of a revived prompt, in (0, 1]
}

// ParseDrift reads none, walk:sd=0.05, learning:rate=0.01 or
// revival:rate=0.01,p=0.1.
func ParseDrift(text string) (Drift, error) {
	s, err := spec.Parse(text)
	if err != nil {
		return Drift{}, err
	}
	a, d := spec.NewArgs(s), Drift{Kind: s.Name}
	positive := func(x float64) bool { return x > 0 && x <= 10 }
	share := func(x float64) bool { return x > 0 && x <= 1 }
	switch s.Name {
	case DriftNone:
	case DriftWalk:
		d.SD = a.Float("sd", 0.05, "(0, 10]", positive)
	case DriftLearning:
		d.Rate = a.Float("rate", 0.01, "(0, 10]", positive)
	case DriftRevival:
		d.Rate = a.Float("rate", 0.01, "(0, 1]", share)
		d.P = a.Float("p", 0.1, "(0, 1]", share)
	default:
		return Drift{}, spec.UnknownName(s.Name, []string{DriftNone, DriftWalk, DriftLearning, DriftRevival})
	}
	return d, a.Err()
}

// String returns the normalised spec.
func (d Drift) String() string {
	switch d.Kind {
	case DriftWalk:
		return fmt.Sprintf("walk:sd=%s", spec.FormatFloat(d.SD))
	case DriftLearning:
		return fmt.Sprintf("learning:rate=%s", spec.FormatFloat(d.Rate))
	case DriftRevival:
		return fmt.Sprintf("revival:rate=%s,p=%s", spec.FormatFloat(d.Rate), spec.FormatFloat(d.P))
	}
	return DriftNone
}

// move moves the success probabilities p of the whole set after a step that
// key names. The moves by chance depend on the key and the prompt's number
// alone, so that all strategies meet the same.
func (d Drift) move(p []float64, key stream.Key, g *stream.Generator) {
	switch d.Kind {
	case DriftWalk:
		g.Reset(key.Named("drift"))
		for id := range p {
			s := math.Sin(angle(p[id]) + d.SD*g.NormFloat64()) // squared, reflects at 0 and pi/2
			p[id] = s * s
		}
	case DriftRevival:
		key = key.Named("drift")
		for id := range p {
			if p[id] == 0 && key.Uniform(uint64(id)) < d.Rate {
				p[id] = d.P
			}
		}
	}
}

// angle returns psi = arcsin sqrt(p), in [0, pi/2].
func angle(p float64) float64 { return math.Asin(math.Sqrt(p)) }

// learn returns the success probability after training on a mixed group of n
// rollouts.
func (d Drift) learn(p float64, n int) float64 {
	if d.Kind != DriftLearning {
		return p
	}
	return 1 - (1-p)*math.Exp(-d.Rate*float64(n))
}
