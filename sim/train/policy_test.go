package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// policySpecs has every kind of policy.
var policySpecs = []string{
	"logit",
	"softmax:answers=5,correct=2,near=1,gap=3",
	"softmax:answers=2,correct=1",
	"linear:overlap=0.3,skills=3,order=0.5,heldout=4",
	"linear:overlap=1",
	"sequence:tokens=3,branching=3,correct=4",
	"sequence:tokens=6,branching=2,correct=2",
	"layered:layers=3,answers=2",
	"layered:layers=7,answers=4,correct=2,near=1,gap=2,spread=0.5",
}

// scatter moves every parameter by normal noise of the given size.
func scatter(p Policy, r *rand.Rand, size float64) {
	for i := range p.Parameters() {
		p.Parameters()[i] += size * r.NormFloat64()
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(20261101, seed)) }

// chances returns the probabilities of correct and of wrong outcomes.
func chances(p Policy, x int) (correct, wrong float64) {
	prob := Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
	for k, o := range p.Outcomes(x) {
		if o.Correct {
			correct += prob[k]
		} else {
			wrong += prob[k]
		}
	}
	return correct, wrong
}

// TestStartsAsDrawn: the initial success probabilities are those drawn, which
// are the same for all policies, tiny ones of either outcome included.
func TestStartsAsDrawn(t *testing.T) {
	for _, population := range []string{population, "point:p=1e-300", "point:p=0.3", "point:p=0.999999999", "beta:a=0.1,b=0.3"} {
		var first []float64
		for _, text := range policySpecs {
			name, keys, _ := strings.Cut(text, ":")
			p := policy(t, strings.TrimSuffix(name+":floor=1e-300,"+keys, ","), population, 20)
			s := &start{law: law(t, population), prompts: 20, floor: 1e-300, key: stream.New(7)}
			if population == "beta:a=0.1,b=0.3" {
				s.floor = 1e-9
				p = policy(t, strings.TrimSuffix(name+":floor=1e-9,"+keys, ","), population, 20)
			}
			want, err := s.difficulties(p.HeldOut())
			if err != nil {
				t.Fatal(err)
			}
			for x, want := range want {
				got, miss := chances(p, x)
				if !(math.Abs(got-want) <= 2e-13*want && math.Abs(miss-(1-want)) <= 2e-13*(1-want)+1e-16) {
					t.Errorf("%s of %s: prompt %d starts at %v, want %v", text, population, x, got, want)
				}
			}
			if first == nil {
				first = want
			}
			if !slices.Equal(first, want[:20]) {
				t.Errorf("%s starts from other prompts than %s", text, policySpecs[0])
			}
		}
	}
}

// TestScores compares AddScores with central differences at step h, whose error
// is h^2 times a third derivative that stays below 1 here, with the rounding of
// differences below 1e-10.
func TestScores(t *testing.T) {
	const h = 1e-5
	r := newRand(1)
	for _, text := range policySpecs {
		p := policy(t, text, population, 6)
		scatter(p, r, 2)
		theta := p.Parameters()
		for x := range p.Prompts() + p.HeldOut() {
			w := p.LogProbs(nil, x)
			for i := range w {
				w[i] = r.NormFloat64()
			}
			grad := make([]float64, len(theta))
			p.AddScores(grad, x, w)
			p.AddScores(grad, x, w) // adds, not sets
			for i := range theta {
				at := theta[i]
				theta[i] = at + h
				up := floats.Dot(w, p.LogProbs(nil, x))
				theta[i] = at - h
				down := floats.Dot(w, p.LogProbs(nil, x))
				theta[i] = at
				if want := (up - down) / (2 * h); !(math.Abs(grad[i]/2-want) < 2e-9) {
					t.Errorf("%s, prompt %d, parameter %d: %v, want %v", text, x, i, grad[i]/2, want)
				}
			}
		}
	}
}

// TestExtremeLogits: parameters of ±700, and far larger ones, overflow nothing:
// log probabilities are finite and probabilities sum to 1.
func TestExtremeLogits(t *testing.T) {
	r := newRand(2)
	for _, size := range []float64{700, 1e5} {
		for _, text := range policySpecs {
			p := policy(t, text, population, 10)
			for i := range p.Parameters() {
				p.Parameters()[i] = float64(r.IntN(3)-1) * size
			}
			for x := range p.Prompts() + p.HeldOut() {
				logp := p.LogProbs(nil, x)
				for _, l := range logp {
					if !(l <= 0 && l >= -15*size) { // two answers are at most 14 apart, in 7 layers
						t.Errorf("%s: log probability %v", text, l)
					}
				}
				if sum := floats.Sum(Probabilities(nil, p.Outcomes(x), logp)); !(math.Abs(sum-1) < 1e-12) {
					t.Errorf("%s: probabilities sum to %v", text, sum)
				}
				grad := make([]float64, len(p.Parameters()))
				p.AddScores(grad, x, logp)
				if n := floats.Norm(grad, 2); !(n <= 1e3*size) {
					t.Errorf("%s: gradient of norm %v", text, n)
				}
			}
		}
	}
}

// TestScoresOfTheNearlyCertain: at logit -700 the score of the wrong answer is
// -p = -exp(-700), and keeps its digits, in every policy of two answers.
func TestScoresOfTheNearlyCertain(t *testing.T) {
	want := math.Exp(-700)
	for _, text := range []string{"logit", "softmax:answers=2", "sequence:tokens=1,branching=2,correct=1"} {
		p := policy(t, text, "point:p=0.5", 1)
		correct := 0
		if !p.Outcomes(0)[0].Correct {
			correct = 1
		}
		clear(p.Parameters())
		p.Parameters()[correct*(len(p.Parameters())-1)] = -700
		w, grad := []float64{0, 0}, make([]float64, len(p.Parameters()))
		w[1-correct] = 1
		p.AddScores(grad, 0, w)
		if got := grad[correct*(len(grad)-1)]; !(math.Abs(got+want) <= 1e-12*want) {
			t.Errorf("%s: score %v, want %v", text, got, -want)
		}
		if got, _ := chances(p, 0); !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("%s: p = %v, want %v", text, got, want)
		}
	}
}

// TestNearAnswers: exp(gap) between a near and a far wrong answer, correct ones
// alike. Worked by hand for p = 0.4, gap = log 3, two correct, one near, two far:
// .2, .2, .6 3/5, .6 1/5, .6 1/5.
func TestNearAnswers(t *testing.T) {
	p := policy(t, "softmax:answers=5,correct=2,near=1,gap=1.0986122886681098", "point:p=0.4", 1)
	got := Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0))
	if want := []float64{.2, .2, .36, .12, .12}; !floats.EqualApprox(got, want, 1e-15) {
		t.Errorf("probabilities %v, want %v", got, want)
	}
}

// TestOverlap: gradients of two prompts have the cosine that the spec names
// where their skill is the same and 0 elsewhere, and held-out prompts move with
// the skill alone.
func TestOverlap(t *testing.T) {
	for _, overlap := range []float64{0, 0.3, 1} {
		p := policy(t, "linear:skills=2,order=1,heldout=4,overlap="+spec.FormatFloat(overlap), population, 6).(*linear)
		grads := make([][]float64, 10)
		for x := range grads {
			grads[x] = make([]float64, len(p.theta))
			p.AddScores(grads[x], x, []float64{1, 0})
		}
		for x := range 6 {
			for y := range x {
				want := 0.0
				if p.skill[x] == p.skill[y] {
					want = overlap
				}
				cos := floats.Dot(grads[x], grads[y]) / floats.Norm(grads[x], 2) / floats.Norm(grads[y], 2)
				if !(math.Abs(cos-want) < 1e-14) {
					t.Errorf("overlap %v: cosine %v of prompts %d and %d, want %v", overlap, cos, x, y, want)
				}
			}
		}
		for x := 6; x < 10; x++ {
			for i, g := range grads[x] {
				want := 0.0
				if i == 6+p.skill[x] {
					_, miss := chances(p, x)
					want = math.Sqrt(overlap) * miss
				}
				if !(math.Abs(g-want) < 1e-14) {
					t.Errorf("overlap %v: held-out prompt %d has %v by parameter %d, want %v", overlap, x, g, i, want)
				}
			}
		}
		// order=1: the harder half needs skill 0, trained and held out.
		for _, half := range [][2]int{{0, 6}, {6, 10}} {
			for x := half[0]; x < half[1]; x++ {
				for y := half[0]; y < half[1]; y++ {
					if p.skill[x] < p.skill[y] && p.offset[x] > p.offset[y] {
						t.Errorf("prompt %d is easier than %d and needs the skill of the harder half", x, y)
					}
				}
			}
		}
	}
}

// TestTree: lengths and number of answers, worked by hand: with two branches one
// answer of every length and a second of the full one; with three branches over
// three tokens 1, 2 and 4*3 answers.
func TestTree(t *testing.T) {
	for _, c := range []struct {
		length, branching, cells int
		want                     []int // answers by length
	}{
		{1, 2, 2, []int{2}},
		{3, 2, 6, []int{1, 1, 2}},
		{3, 3, 21, []int{1, 2, 12}},
	} {
		tr := newTree(c.length, c.branching)
		got := make([]int, c.length)
		for _, path := range tr.paths {
			got[len(path)-1]++
		}
		if !slices.Equal(got, c.want) || tr.cells != c.cells || len(tr.paths) != answers(c.length, c.branching) {
			t.Errorf("length %d, branching %d: %v answers by length, %d cells, want %v and %d", c.length, c.branching, got, tr.cells, c.want, c.cells)
		}
	}
	p := policy(t, "sequence:tokens=3,branching=2,correct=1", "point:p=0.25", 50)
	seen := map[int]bool{}
	for x := range 50 {
		for k, o := range p.Outcomes(x) {
			if o.Correct {
				seen[k] = true
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("the correct answer is one of %d over 50 prompts, want all 4: each of them is missed by chance with probability (3/4)^50 < 1e-6", len(seen))
	}
}

// TestPolicySpecs: a printed spec makes the same policy.
func TestPolicySpecs(t *testing.T) {
	for _, text := range policySpecs {
		p := policy(t, text, population, 5)
		again := policy(t, p.Spec(), population, 5)
		if again.Spec() != p.Spec() || !slices.Equal(again.Parameters(), p.Parameters()) {
			t.Errorf("%s prints %s, which makes %s", text, p.Spec(), again.Spec())
		}
	}
	if got := policy(t, "softmax", population, 1).Spec(); got != "softmax:floor=0,answers=4,correct=1,near=0,gap=0" {
		t.Errorf("softmax prints %s", got)
	}
}

func TestPolicyRefuses(t *testing.T) {
	for _, c := range []struct{ text, population, want string }{
		{"logits", population, "did you mean logit?"},
		{"logit:flor=0.1", population, "did you mean floor?"},
		{"logit:floor=0.5", population, "floor = 0.5, want [0, 0.5)"},
		{"logit", "point:p=0", "prompt 0: p = 0, which no softmax policy has"},
		{"softmax", "point:p=1", "prompt 0: p = 1, which no softmax policy has"},
		{"softmax:answers=1", population, "answers = 1, want a whole number in [2, 1024]"},
		{"softmax:answers=3,correct=3", population, "correct = 3, want a whole number in [1, 2]"},
		{"softmax:answers=3,near=3", population, "near = 3, want a whole number in [0, 2]"},
		{"linear", population, "overlap is missing"},
		{"linear:overlap=1.5,heldout=-1", population, "heldout = -1"},
		{"sequence:tokens=11,branching=3", population, "more than 1024 answers"},
		{"layered:layers=0,spread=-1,answers=1", population, "layers = 0, want a whole number in [1, 1024]"},
		{"layered:layers=0,spread=-1,answers=1", population, "spread = -1, want [0, 100]"},
		{"layered:layers=0,spread=-1,answers=1", population, "answers = 1, want a whole number in [2, 1024]"},
		{"sequence:tokens=2,branching=2,correct=3", population, "correct = 3, want a whole number in [1, 2]"},
	} {
		if _, err := NewPolicy(c.text, law(t, c.population), 3, stream.New(1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: error %v, want %q", c.text, c.population, err, c.want)
		}
	}
	if _, err := NewPolicy("logit", law(t, population), 0, stream.New(1)); err == nil {
		t.Error("0 prompts are accepted")
	}
	if _, err := NewPolicy("logit", nil, 3, stream.New(1)); err == nil {
		t.Error("a law without rewards is accepted")
	}
	if p := policy(t, "logit:floor=0.01", "point:p=0", 1); math.Abs(p.Parameters()[0]-logOdds(0.01)) > 1e-15 {
		t.Errorf("floor 0.01 starts a dead prompt at %v", p.Parameters())
	}
}
