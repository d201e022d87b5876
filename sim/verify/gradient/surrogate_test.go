package gradient

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim/advantage"
)

// objective is the surrogate of a group by its definition, for differences.
func (s *setting) objective(theta []float64, responses []int, a []float64) float64 {
	old, now := s.at(s.before).probabilities(), s.at(theta).probabilities()
	before, after := s.plain(s.before), s.plain(theta)
	term := func(ratio, a float64) float64 {
		return min(ratio*a, min(max(ratio, 1-s.surrogate.clip), 1+s.surrogate.clip)*a)
	}
	sum := 0.0
	for i, o := range responses {
		if !s.surrogate.token {
			sum += term(now[o]/old[o], a[i])
			continue
		}
		for _, cell := range s.paths[o] {
			sum += term(after[cell]/before[cell], a[i]) / float64(len(s.paths[o]))
		}
	}
	return sum / float64(len(responses))
}

// nearKink reports whether a ratio lies within d of the clipping range's ends,
// where the objective has no derivative.
func (s *setting) nearKink(d float64) bool {
	old, now := s.at(s.before), s.at(s.after)
	for _, path := range s.paths {
		sequence := 0.0
		for _, cell := range path {
			token := now.logProb[cell] - old.logProb[cell]
			sequence += token
			for _, edge := range []float64{math.Log1p(s.surrogate.clip), math.Log1p(-s.surrogate.clip)} {
				if math.Abs(token-edge) < d || math.Abs(sequence-edge) < d {
					return true
				}
			}
		}
	}
	return false
}

// Exact gradients against central differences of the objective, in every
// family, with either kind of ratio, clipped and not. A step h along one
// parameter changes logits by at most 1e-4, and costs about 1e-8 of the
// derivative's scale in truncation.
func TestGradientIsDerivative(t *testing.T) {
	checked, skipped := map[surrogate]int{}, 0
	for i := range 300 {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260202, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		if s.nearKink(1e-3) {
			skipped++
			continue
		}
		checked[s.surrogate]++
		g := s.groups[0]
		a := make([]float64, g.size())
		if err := (advantage.RLOO{}).Advantages(a, s.rewards(g, Signed)); err != nil {
			t.Fatal(err)
		}
		exact := make([]float64, s.dim)
		s.gradients.loss(exact, g.responses, a)
		h := 1e-4 / s.jacobian()
		for k := range exact {
			up, down := slices.Clone(s.after), slices.Clone(s.after)
			up[k] += h
			down[k] -= h
			got := (s.objective(up, g.responses, a) - s.objective(down, g.responses, a)) / (2 * h)
			if scale := floats.Norm(a, 1) / float64(g.size()) * s.largest; !(math.Abs(got-exact[k]) <= 1e-6*scale) {
				t.Fatalf("setting %d, %+v: derivative %d = %v by differences, %v exactly, M = %v", i, s.surrogate, k, got, exact[k], s.largest)
			}
		}
	}
	if len(checked) != 4 || skipped > 60 {
		t.Errorf("checked %v, skipped %d of 300 at kinks; want every surrogate and at most 60", checked, skipped)
	}
}

// Ratios have mean 1 under the policy that sampled, so that their gradients
// have mean 0.
func TestMeanRatioGradientIsZero(t *testing.T) {
	for i := range 200 {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260203, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		if s.surrogate.token || !math.IsInf(s.surrogate.clip, 1) {
			continue
		}
		mean := make([]float64, s.dim)
		for o, p := range s.at(s.before).probabilities() {
			floats.AddScaled(mean, p, s.gradients.of(o, positive))
		}
		if norm := floats.Norm(mean, 2); !(norm <= 1e-12*s.largest) {
			t.Errorf("setting %d: ||E grad rho|| = %v, want 0 beside M = %v", i, norm, s.largest)
		}
	}
}

// PPO's minimum: a positive advantage stops at 1+eps, a negative one at 1-eps,
// and only the negative one goes on growing with the ratio.
func TestActive(t *testing.T) {
	s := surrogate{clip: .2}
	for _, c := range []struct {
		ratio              float64
		positive, negative bool
	}{
		{.5, true, false},
		{1, true, true},
		{1.5, false, true},
		{100, false, true},
	} {
		if s.active(c.ratio, positive) != c.positive || s.active(c.ratio, negative) != c.negative {
			t.Errorf("ratio %v: active %v and %v, want %v and %v", c.ratio,
				s.active(c.ratio, positive), s.active(c.ratio, negative), c.positive, c.negative)
		}
	}
}

// An audit notices a response that the first enumeration missed, however
// improbable, and a maximum that is too small or too large.
func TestAudit(t *testing.T) {
	for i := range 40 {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260204, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		if !s.audit.confirms(s.largest, s.responses()) {
			t.Errorf("setting %d: audit %+v, want M = %v and %d responses", i, s.audit, s.largest, s.responses())
		}
		if s.audit.confirms(s.largest, s.responses()-1) {
			t.Errorf("setting %d: a missing response passed", i)
		}
		for _, x := range []float64{.999, 1.001, math.NaN()} {
			if s.audit.confirms(x*s.largest, s.responses()) {
				t.Errorf("setting %d: M times %v passed", i, x)
			}
		}
		s.audit.mass -= 1e-6
		if s.audit.confirms(s.largest, s.responses()) {
			t.Errorf("setting %d: a missing probability of 1e-6 passed", i)
		}
	}
}

// A golden policy with its gradients, made by testdata/gradient.py with mpmath.
type golden struct {
	Tokens, Length                   int
	Features, Offsets, Before, After []float64
	Responses, Group                 []string
	Correct                          []bool
	Graded, Probabilities            []float64
	Surrogates                       []goldenSurrogate
	Expected                         struct {
		Gradient      []float64
		Std, Jacobian float64
	}
}

type goldenSurrogate struct {
	Token   bool
	Clip    *float64
	Largest float64
	Losses  []struct {
		Coding, Estimator string
		Gradient          []float64
		SumAbs            float64 `json:"sum_abs"`
	}
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	text, err := os.ReadFile("testdata/gradient.json")
	if err != nil {
		t.Fatal(err)
	}
	g := new(golden)
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// setting builds the golden policy with its one group.
func (g *golden) setting(s goldenSurrogate) *setting {
	p := &problem{
		policy: &policy{space: newSpace(g.Tokens, g.Length, true), dim: 2, features: g.Features, offset: g.Offsets},
		before: g.Before,
	}
	index := map[string]int{}
	for o := range p.responses() {
		name := ""
		for _, token := range p.tokensOf(o) {
			name += string(rune('0' + token))
		}
		index[name] = o
	}
	p.correct, p.graded = make([]bool, p.responses()), make([]float64, p.responses())
	for i, name := range g.Responses {
		p.correct[index[name]], p.graded[index[name]] = g.Correct[i], g.Graded[i]
	}
	built := &setting{problem: p, surrogate: surrogate{token: s.Token, clip: math.Inf(1)}, after: g.After}
	if s.Clip != nil {
		built.surrogate.clip = *s.Clip
	}
	var responses []int
	for _, name := range g.Group {
		responses = append(responses, index[name])
	}
	built.groups = []group{{responses: responses}}
	built.gradients = built.surrogate.gradients(p.at(g.Before), p.at(g.After))
	for o := range p.responses() {
		built.all = append(built.all, o)
	}
	return built
}

func TestGolden(t *testing.T) {
	g := readGolden(t)
	estimators := map[string]advantage.Estimator{}
	for _, e := range []advantage.Estimator{advantage.GRPO{}, advantage.GRPO{DDOF: 1, Delta: .5}, advantage.DrGRPO{}, advantage.RLOO{}} {
		estimators[e.Spec()] = e
	}
	for _, c := range g.Surrogates {
		s := g.setting(c)
		if m := s.gradients.largest(s.all); !(math.Abs(m-c.Largest) <= 1e-13*c.Largest) {
			t.Errorf("%+v: M = %v, want %v", s.surrogate, m, c.Largest)
		}
		if a := newAudit(s.policy, s.surrogate, s.before, s.after); !a.confirms(c.Largest, len(g.Responses)) {
			t.Errorf("%+v: audit %+v, want M = %v and %d responses", s.surrogate, a, c.Largest, len(g.Responses))
		}
		for _, l := range c.Losses {
			responses := s.groups[0].responses
			a := make([]float64, len(responses))
			if err := estimators[l.Estimator].Advantages(a, s.rewards(s.groups[0], l.Coding)); err != nil {
				t.Fatal(err)
			}
			got := make([]float64, 2)
			s.gradients.loss(got, responses, a)
			if !(floats.Distance(got, l.Gradient, 2) <= 1e-13*c.Largest) {
				t.Errorf("%+v, %s %s: gradient %v, want %v", s.surrogate, l.Coding, l.Estimator, got, l.Gradient)
			}
			if sum := floats.Norm(a, 1); !(math.Abs(sum-l.SumAbs) <= 1e-13*l.SumAbs) {
				t.Errorf("%s %s: sum|A| = %v, want %v", l.Coding, l.Estimator, sum, l.SumAbs)
			}
		}
	}
	s := g.setting(g.Surrogates[0])
	e := s.at(s.after).expect(s.graded, s.jacobian())
	if want := floats.Norm(g.Expected.Gradient, 2); !(math.Abs(e.norm-want) <= 1e-13*want) {
		t.Errorf("||grad V|| = %v, want %v", e.norm, want)
	}
	if !(math.Abs(e.std-g.Expected.Std) <= 1e-13) {
		t.Errorf("STD = %v, want %v", e.std, g.Expected.Std)
	}
	if !(math.Abs(e.policy.Jacobian-g.Expected.Jacobian) <= 1e-13*g.Expected.Jacobian) {
		t.Errorf("J = %v, want %v", e.policy.Jacobian, g.Expected.Jacobian)
	}
	// Its responses come in the golden file's order.
	if prob := s.at(s.after).probabilities(); !floats.EqualApprox(prob, g.Probabilities, 1e-14) {
		t.Errorf("probabilities %v, want %v", prob, g.Probabilities)
	}
}
