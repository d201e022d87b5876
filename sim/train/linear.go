package train

import (
	"cmp"
	"math"
	"slices"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// linear is a policy of one logit a prompt on shared features: prompt x needs
// one of some skills, and
//
//	z_x = z_x(0) + sqrt(1-overlap) own_x + sqrt(overlap) skill_s(x).
//
// The features of two prompts have norm 1 and the scalar product overlap where
// they need the same skill, 0 otherwise: learning on one moves the other so
// much. With overlap 0 it is logit; with overlap 1 prompts have nothing of their
// own. Held-out prompts have no own parameter. A prompt's skill is, with
// probability order, that of its difficulty's rank (the hardest prompts need
// skill 0), held-out ones ranked apart, and any of them otherwise.
type linear struct {
	spec        string
	prompts     int
	own, shared float64 // features
	offset      []float64
	skill       []int
	theta       []float64 // own, then skills
}

func readLinear(a *spec.Args, s *start) (Policy, error) {
	const most = 1 << 24
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	overlap := a.Float("overlap", math.NaN(), "[0, 1]", share)
	skills := a.Int("skills", 1, 1, most)
	order := a.Float("order", 0, "[0, 1]", share)
	heldOut := a.Int("heldout", 0, 0, most)
	if err := a.Err(); err != nil {
		return nil, err
	}
	z, err := s.difficulties(heldOut)
	if err != nil {
		return nil, err
	}
	l := &linear{
		spec: normal(a), prompts: s.prompts, own: math.Sqrt(1 - overlap), shared: math.Sqrt(overlap),
		offset: z, theta: make([]float64, s.prompts+skills),
	}
	r := stream.Rand(s.key.Named("skills"))
	for _, p := range [][]float64{z[:s.prompts], z[s.prompts:]} {
		for _, rank := range ranks(p) {
			skill := rank * skills / len(p)
			if u, other := r.Float64(), r.IntN(skills); u >= order {
				skill = other
			}
			l.skill = append(l.skill, skill)
		}
	}
	for x, p := range z {
		z[x] = logOdds(p)
	}
	return l, nil
}

// ranks returns the rank of every entry, 0 for the smallest.
func ranks(p []float64) []int {
	order, rank := make([]int, len(p)), make([]int, len(p))
	for x := range p {
		order[x] = x
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	for i, x := range order {
		rank[x] = i
	}
	return rank
}

func (l *linear) Spec() string           { return l.spec }
func (l *linear) Prompts() int           { return l.prompts }
func (l *linear) HeldOut() int           { return len(l.offset) - l.prompts }
func (l *linear) Parameters() []float64  { return l.theta }
func (l *linear) Outcomes(int) []Outcome { return twoAnswers }

func (l *linear) logit(x int) float64 {
	z := l.offset[x] + l.shared*l.theta[l.prompts+l.skill[x]]
	if x < l.prompts {
		z += l.own * l.theta[x]
	}
	return z
}

func (l *linear) LogProbs(dst []float64, x int) []float64 {
	return appendTwoAnswers(dst, l.logit(x))
}

func (l *linear) AddScores(grad []float64, x int, w []float64) {
	score := scoreTwoAnswers(l.logit(x), w)
	grad[l.prompts+l.skill[x]] += l.shared * score
	if x < l.prompts {
		grad[x] += l.own * score
	}
}
