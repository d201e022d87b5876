package gradient

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/advantage"
)

// The kinds of groups of a setting.
const (
	Sampled    = "sampled"    // drawn by the policy that samples, all-equal rewards and all
	Prescribed = "prescribed" // mixed: the successes are chosen, the responses drawn given them
	Farthest   = "farthest"   // mixed: one correct and one wrong response, gradients as far apart as any
	Closest    = "closest"    // mixed: gradients as close as any
)

// The sizes of groups.
const (
	minGroup = 2
	maxGroup = 64
)

// A group is the responses of one prompt's rollouts.
type group struct {
	kind      string
	responses []int
	successes int
}

func (g *group) size() int { return len(g.responses) }

// A setting is a problem, a surrogate, and a policy that has moved away from
// the one that sampled, with groups to judge there.
type setting struct {
	*problem
	surrogate surrogate
	after     []float64 // parameters where gradients are taken
	gradients *gradients
	all       []int   // every response
	largest   float64 // M
	audit     audit
	maxRatio  float64 // the largest ratio of a response
	groups    []group
}

// newSetting draws setting i: families and surrogates take turns.
func newSetting(i int, r *rand.Rand) (*setting, error) {
	s := &setting{problem: newProblem(family(i%int(families)), r)}
	s.surrogate = surrogate{token: i/int(families)%2 == 1, clip: math.Inf(1)}
	if i/int(families)/2%2 == 1 {
		s.surrogate.clip = .2
	}
	s.all = make([]int, s.responses())
	for o := range s.all {
		s.all[o] = o
	}
	old := s.at(s.before)
	prob := old.probabilities()
	training := s.prescribed(prob, r)
	if err := s.train(old, training, r); err != nil {
		return nil, err
	}
	now := s.at(s.after)
	for o, p := range now.probabilities() {
		s.maxRatio = max(s.maxRatio, p/prob[o])
	}
	s.gradients = s.surrogate.gradients(old, now)
	s.largest = s.gradients.largest(s.all)
	s.audit = newAudit(s.policy, s.surrogate, s.before, s.after)
	s.groups = []group{training, s.sampled(prob, r), s.extreme(Farthest, r), s.extreme(Closest, r)}
	return s, nil
}

// train moves the parameters by 0 to 4 normalised steps that ascend the
// group's surrogate, each of which changes logits by at most .01 to 3: inner
// epochs. It stays where everything is clipped.
func (s *setting) train(old *state, g group, r *rand.Rand) error {
	steps := r.IntN(5)
	size := 3 * math.Pow(10, -2.5*r.Float64()) / s.jacobian()
	a := make([]float64, g.size())
	if err := (advantage.GRPO{}).Advantages(a, s.rewards(g, Signed)); err != nil {
		return err
	}
	s.after = append([]float64(nil), s.before...)
	for range steps {
		step := make([]float64, s.dim)
		s.surrogate.gradients(old, s.at(s.after)).loss(step, g.responses, a)
		if norm := floats.Norm(step, 2); norm > 0 {
			floats.AddScaled(s.after, size/norm, step)
		}
	}
	return nil
}

// rewards returns the rewards of a group's rollouts under a coding.
func (s *setting) rewards(g group, coding string) []float64 {
	rewards := make([]float64, g.size())
	for i, o := range g.responses {
		switch {
		case coding == Graded:
			rewards[i] = s.graded[o]
		case s.correct[o]:
			rewards[i] = 1
		case coding == Signed:
			rewards[i] = -1
		}
	}
	return rewards
}

// groupSize draws a size from minGroup to maxGroup, uniform in its logarithm.
func groupSize(r *rand.Rand) int {
	return int(minGroup * math.Pow(maxGroup/minGroup+.5, r.Float64()))
}

func (s *setting) sampled(prob []float64, r *rand.Rand) group {
	g := group{kind: Sampled}
	for range groupSize(r) {
		o := draw(prob, r)
		g.responses = append(g.responses, o)
		if s.correct[o] {
			g.successes++
		}
	}
	return g
}

func (s *setting) prescribed(prob []float64, r *rand.Rand) group {
	size := groupSize(r)
	g := group{kind: Prescribed, successes: 1 + r.IntN(size-1)}
	right, wrong := make([]float64, len(prob)), make([]float64, len(prob))
	for o, p := range prob {
		if s.correct[o] {
			right[o] = p
		} else {
			wrong[o] = p
		}
	}
	for i := range size {
		given := wrong
		if i < g.successes {
			given = right
		}
		g.responses = append(g.responses, draw(given, r))
	}
	return g
}

// extreme makes a group of one correct and one wrong response whose gradients
// are as far from each other, or as close, as any.
func (s *setting) extreme(kind string, r *rand.Rand) group {
	good, bad, best := -1, -1, 0.0
	for i := range s.correct {
		for j := range s.correct {
			if !s.correct[i] || s.correct[j] {
				continue
			}
			d := floats.Distance(s.gradients.of(i, positive), s.gradients.of(j, negative), 2)
			if kind == Closest {
				d = -d
			}
			if good < 0 || d > best {
				good, bad, best = i, j, d
			}
		}
	}
	size := groupSize(r)
	g := group{kind: kind, successes: 1 + r.IntN(size-1)}
	for i := range size {
		if i < g.successes {
			g.responses = append(g.responses, good)
		} else {
			g.responses = append(g.responses, bad)
		}
	}
	return g
}

// draw returns an index with probability in proportion to its weight.
func draw(weights []float64, r *rand.Rand) int {
	u, last := r.Float64()*floats.Sum(weights), 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if last = i; u < w {
			break
		}
		u -= w
	}
	return last
}
