package gradient

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// tokensOf returns the tokens of response o.
func (s *space) tokensOf(o int) []int {
	tokens := make([]int, 0, s.length)
	for _, cell := range s.paths[o] {
		tokens = append(tokens, cell%s.tokens)
	}
	return tokens
}

// Two tokens, at most two a response, by hand: the root is prefix 0, what
// follows token 1 is prefix 1.
func TestSpaceByHand(t *testing.T) {
	s := newSpace(2, 2, true)
	if want := []int{^0, 1, ^1, ^2}; !slices.Equal(s.next, want) {
		t.Errorf("next = %v, want %v", s.next, want)
	}
	want := [][]int{{0}, {1, 2}, {1, 3}}
	if !slices.EqualFunc(s.paths, want, slices.Equal[[]int]) {
		t.Errorf("paths = %v, want %v", s.paths, want)
	}
}

// With an end there are 1 + k + ... + k^(L-1) prefixes, k = tokens - 1, each of
// which can end, and k^L responses that do not; without, tokens^L responses.
func TestSpaceCounts(t *testing.T) {
	for tokens := 2; tokens <= 4; tokens++ {
		for length := 1; length <= 4; length++ {
			for _, ends := range []bool{false, true} {
				k := tokens
				if ends {
					k--
				}
				prefixes, last := 0, 1
				for range length {
					prefixes += last
					last *= k
				}
				responses := last
				if ends {
					responses += prefixes
				}
				// The last prefixes' ends are responses of full length.
				s := newSpace(tokens, length, ends)
				if s.prefixes != prefixes || s.responses() != responses {
					t.Errorf("%d tokens, length %d, ends %v: %d prefixes and %d responses, want %d and %d",
						tokens, length, ends, s.prefixes, s.responses(), prefixes, responses)
				}
				seen := map[string]bool{}
				for o := range s.responses() {
					key := ""
					for _, token := range s.tokensOf(o) {
						key += string(rune('0' + token))
					}
					if seen[key] {
						t.Errorf("response %s twice", key)
					}
					seen[key] = true
				}
			}
		}
	}
}

func eachProblem(t *testing.T, check func(p *problem, r *rand.Rand)) {
	t.Helper()
	r := rand.New(rand.NewPCG(20260201, 1))
	for i := range 200 {
		f := family(i % int(families))
		p := newProblem(f, r)
		check(p, r)
		if t.Failed() {
			t.Fatalf("problem %d of family %d", i, f)
		}
	}
}

// chances returns the probabilities of a correct and of a wrong response.
func chances(p *problem, theta []float64) (hit, miss float64) {
	for o, prob := range p.at(theta).probabilities() {
		if p.correct[o] {
			hit += prob
		} else {
			miss += prob
		}
	}
	return hit, miss
}

// Success is what the problem says, at either corner too, and responses make up
// all of the probability.
func TestProblems(t *testing.T) {
	seen := map[float64]bool{}
	eachProblem(t, func(p *problem, _ *rand.Rand) {
		seen[p.success] = true
		if sum := floats.Sum(p.at(p.before).probabilities()); !(math.Abs(sum-1) < 1e-13) {
			t.Errorf("probabilities sum to %v", sum)
		}
		hit, miss := chances(p, p.before)
		if want := 1 - p.success; !(math.Abs(hit/p.success-1) <= 1e-9 && math.Abs(miss/want-1) <= 1e-9) {
			t.Errorf("success %v and failure %v, want %v and %v", hit, miss, p.success, want)
		}
		for o, r := range p.graded {
			if !(r >= -1 && r <= 1) {
				t.Errorf("graded reward of response %d = %v, want [-1, 1]", o, r)
			}
		}
	})
	if len(seen) != len(corners) {
		t.Errorf("met success %v, want %v", seen, corners)
	}
}

// Tilting moves the success and leaves the law given correctness alone.
func TestTiltKeepsConditionalLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(20260201, 2))
	p := newTabular(3, 3, true, r)
	before := p.at(p.before).probabilities()
	hit, miss := chances(p, p.before)
	p.tilt(p.before, p.correct, 1e-3)
	for o, prob := range p.at(p.before).probabilities() {
		want := before[o] / miss * (1 - 1e-3)
		if p.correct[o] {
			want = before[o] / hit * 1e-3
		}
		if !(math.Abs(prob-want) <= 1e-12*want) {
			t.Errorf("probability of response %d = %v, want %v", o, prob, want)
		}
	}
}

// Tabular policies have J = 1; so, up to scale, has any orthogonal set of
// features. One shared feature v for one token of each prefix has J = ||v||.
func TestJacobian(t *testing.T) {
	r := rand.New(rand.NewPCG(20260201, 3))
	if j := newTabular(4, 2, true, r).jacobian(); !(math.Abs(j-1) < 1e-14) {
		t.Errorf("tabular J = %v, want 1", j)
	}
	p := newOpposed(3, 2, 5, true, .1, 100, r)
	if want := math.Sqrt2 * floats.Norm(p.feature(2), 2); !(math.Abs(p.jacobian()/want-1) < 1e-12) {
		t.Errorf("J of v and -v = %v, want sqrt(2) ||v|| = %v", p.jacobian(), want)
	}
}

// Scores keep their digits where a token is nearly certain: of two tokens with
// logits (30, 0), the first has the score 1/(1+e^30) (1, -1).
func TestScoreOfCertainToken(t *testing.T) {
	p := &policy{space: newSpace(2, 1, false), dim: 2, features: []float64{1, 0, 0, 1}, offset: []float64{30, 0}}
	score, want := p.at(make([]float64, 2)).cellScore(0), 1/(1+math.Exp(30))
	if !(math.Abs(score[0]/want-1) < 1e-13 && math.Abs(score[1]/want+1) < 1e-13) {
		t.Errorf("score %v, want %v and %v", score, want, -want)
	}
}

// Draws of a response are proportional to weights. By Hoeffding the frequency
// of one response strays by tol or more with probability at most alpha; over
// all 4 frequencies a false alarm has probability at most 1e-6, and a shift of
// 2 tol = 0.013 is missed with probability at most alpha.
func TestDraw(t *testing.T) {
	const n = 200_000
	weights := []float64{0, 1, 6, 3}
	tol := math.Sqrt(math.Log(2/(1e-6/4)) / (2 * n))
	r := rand.New(rand.NewPCG(20260201, 4))
	counts := make([]int, len(weights))
	for range n {
		counts[draw(weights, r)]++
	}
	for i, w := range weights {
		if got, want := float64(counts[i])/n, w/10; !(math.Abs(got-want) < tol) {
			t.Errorf("frequency of %d = %v, want %v ± %.4f", i, got, want, tol)
		}
	}
	if counts[0] > 0 {
		t.Error("drew a response of weight 0")
	}
}

// The gradients of a farthest group are as far apart as any correct and wrong
// response's, those of a closest group as close.
func TestExtremes(t *testing.T) {
	for i := range 100 {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260206, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		apart := func(right, wrong int) float64 {
			return floats.Distance(s.gradients.of(right, positive), s.gradients.of(wrong, negative), 2)
		}
		bounds := map[string]float64{}
		for _, g := range s.groups {
			bounds[g.kind] = apart(g.responses[0], g.responses[g.size()-1])
		}
		for _, right := range s.all {
			for _, wrong := range s.all {
				if !s.correct[right] || s.correct[wrong] {
					continue
				}
				if d := apart(right, wrong); !(bounds[Closest] <= d && d <= bounds[Farthest]) {
					t.Fatalf("setting %d: responses %d and %d are %v apart, want in [%v, %v]",
						i, right, wrong, d, bounds[Closest], bounds[Farthest])
				}
			}
		}
	}
}

// Groups have sizes 2 to 64, both ends met; mixed ones are mixed.
func TestGroups(t *testing.T) {
	sizes := map[int]bool{}
	for i := range 400 {
		s, err := newSetting(i, rand.New(rand.NewPCG(20260201, 100+uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range s.groups {
			sizes[g.size()] = true
			successes := 0
			for _, o := range g.responses {
				if s.correct[o] {
					successes++
				}
			}
			if successes != g.successes {
				t.Fatalf("setting %d, %s: %d successes, counted %d", i, g.kind, successes, g.successes)
			}
			if g.kind != Sampled && (successes == 0 || successes == g.size()) {
				t.Fatalf("setting %d, %s: %d of %d, want a mixed group", i, g.kind, successes, g.size())
			}
		}
	}
	for n := range sizes {
		if n < minGroup || n > maxGroup {
			t.Errorf("a group of %d, want [%d, %d]", n, minGroup, maxGroup)
		}
	}
	if !sizes[minGroup] || !sizes[maxGroup] {
		t.Errorf("sizes %d and %d not met in 1600 groups", minGroup, maxGroup)
	}
}
