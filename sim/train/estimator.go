package train

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"vigorlab/distributions/spec"
	"vigorlab/sim/advantage"
)

// NewEstimator makes the estimator of a spec:
//
//	grpo:ddof=0|1,delta=X    advantage.GRPO, both 0 by default
//	drgrpo                   advantage.DrGRPO
//	rloo                     advantage.RLOO
//	reinforce:baseline=B     A = r - B; B must be given
//	verl:advantage=grpo|grpo-vectorised|drgrpo|rloo|rloo-vectorised
//	trl:advantage=grpo|drgrpo|rloo
//	openrlhf:advantage=grpo|drgrpo|rloo
//
// The last three compute what the library of that name does (strategies/
// allocation.md, section 1, read in their code: verl 0.5 to 0.8, its vectorised
// estimators at HEAD of January 2026, TRL 1.10 dev, OpenRLHF of August 2026),
// groups of one included: A = r/(1+1e-6) for verl's GRPO, A = r for its Dr. GRPO
// and its RLOO in a loop, 0 for its vectorised RLOO and for TRL, and an error
// for OpenRLHF, which rejects them, and for TRL's RLOO, which divides by n-1.
func NewEstimator(text string) (advantage.Estimator, error) {
	s, err := spec.Parse(text)
	if s.Name == "" {
		return nil, err
	}
	a := spec.NewArgs(s)
	var e advantage.Estimator
	switch s.Name {
	case "grpo":
		e = advantage.GRPO{
			DDOF:  a.Int("ddof", 0, 0, 1),
			Delta: a.Float("delta", 0, "a number >= 0", func(x float64) bool { return x >= 0 }),
		}
	case "drgrpo":
		e = advantage.DrGRPO{}
	case "rloo":
		e = advantage.RLOO{}
	case "reinforce":
		e = Reinforce{a.Float("baseline", math.NaN(), "a number", func(float64) bool { return true })}
	case "verl", "trl", "openrlhf":
		e = newLibrary(s.Name, a)
	default:
		known := []string{"grpo", "drgrpo", "rloo", "reinforce", "verl", "trl", "openrlhf"}
		return nil, errors.Join(spec.UnknownName(s.Name, known), err)
	}
	if err := errors.Join(err, a.Err()); err != nil {
		return nil, err
	}
	return e, nil
}

// Reinforce compares with a baseline that is stated beforehand, A = r - Baseline,
// in groups of any size, also of one (Williams, 1992). Equal rewards have
// advantages, unlike under any estimator that compares within the group.
type Reinforce struct{ Baseline float64 }

// Spec implements advantage.Estimator.
func (e Reinforce) Spec() string { return "reinforce:baseline=" + spec.FormatFloat(e.Baseline) }

// Advantages implements advantage.Estimator.
func (e Reinforce) Advantages(dst, rewards []float64) error {
	if len(rewards) == 0 || len(dst) != len(rewards) {
		return fmt.Errorf("reinforce: room for %d advantages of %d rewards, want one each of at least 1", len(dst), len(rewards))
	}
	for i, r := range rewards {
		dst[i] = r - e.Baseline
	}
	return nil
}

// A library is an estimator as a library computes it.
type library struct {
	spec  string
	many  advantage.Estimator
	alone float64 // the advantage of a group of one, per reward; NaN where it is rejected
}

// newLibrary reads the advantage key of a library's spec.
func newLibrary(name string, a *spec.Args) advantage.Estimator {
	grpo := func(delta float64) advantage.Estimator { return advantage.GRPO{DDOF: 1, Delta: delta} }
	var known []string
	byName := map[string]library{}
	add := func(name string, many advantage.Estimator, alone float64) {
		known = append(known, name)
		byName[name] = library{many: many, alone: alone}
	}
	rejected := math.NaN()
	switch name {
	case "verl":
		const eps = 1e-6
		add("grpo", grpo(eps), 1/(1+eps))
		add("grpo-vectorised", flooredGRPO{eps}, 1/(1+eps))
		add("drgrpo", advantage.DrGRPO{}, 1)
		add("rloo", advantage.RLOO{}, 1)
		add("rloo-vectorised", advantage.RLOO{}, 0)
	case "trl":
		add("grpo", grpo(1e-4), 0)
		add("drgrpo", advantage.DrGRPO{}, 0)
		add("rloo", advantage.RLOO{}, rejected)
	case "openrlhf":
		add("grpo", grpo(1e-9), rejected)
		add("drgrpo", advantage.DrGRPO{}, rejected)
		add("rloo", advantage.RLOO{}, rejected)
	}
	l := byName[a.Choice("advantage", "grpo", known...)]
	l.spec = normal(a)
	return l
}

// Spec implements advantage.Estimator.
func (l library) Spec() string { return l.spec }

// Advantages implements advantage.Estimator. It fails on a group of one where
// the library does.
func (l library) Advantages(dst, rewards []float64) error {
	if len(rewards) != 1 {
		return l.many.Advantages(dst, rewards)
	}
	if len(dst) != 1 {
		return fmt.Errorf("%s: room for %d advantages, want 1", l.spec, len(dst))
	}
	if math.IsNaN(l.alone) {
		return fmt.Errorf("%s: a group of 1 rollout, want at least 2", l.spec)
	}
	dst[0] = rewards[0] * l.alone
	return nil
}

// flooredGRPO divides by sd + delta, where the variance, ddof 1, is at least
// delta before the root.
type flooredGRPO struct{ delta float64 }

func (e flooredGRPO) Spec() string { return fmt.Sprintf("grpo:ddof=1,floor=%v", e.delta) }

func (e flooredGRPO) Advantages(dst, rewards []float64) error {
	if err := (advantage.DrGRPO{}).Advantages(dst, rewards); err != nil {
		return err
	}
	variance := floats.Dot(dst, dst) / float64(len(dst)-1)
	floats.Scale(1/(math.Sqrt(max(variance, e.delta))+e.delta), dst)
	return nil
}
