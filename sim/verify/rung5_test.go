package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"vigorlab/sim"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// readGolden reads a golden file of some package's testdata.
func readGolden(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

// TestExponentsOfFlows compares local exponents to 1/2 with quadrature
// (sim/train/testdata/slopes.py, six digits).
func TestExponentsOfFlows(t *testing.T) {
	var golden struct {
		Rows []struct {
			Rate         string
			P0, Exponent float64
		}
	}
	readGolden(t, "../train/testdata/slopes.json", &golden)
	flows, err := logitFlows(8)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]logitFlow{"plain": flows[0], "normalised": flows[1], "group of 8": flows[2]}
	for _, c := range golden.Rows {
		got, err := byName[c.Rate].exponent(c.P0, 0.5)
		if err != nil || !(math.Abs(got-c.Exponent) < 1e-6) {
			t.Errorf("%s from %v: %v (%v), want %v", c.Rate, c.P0, got, err, c.Exponent)
		}
	}
}

// TestSlopeCurves: times to a target along one trajectory, from many starts,
// are those of trajectories of their own; and closed forms and flow draw one curve.
func TestSlopeCurves(t *testing.T) {
	flows, err := logitFlows()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flows {
		closed, err := slopeCurve(f, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		f.closed = ""
		flow, err := slopeCurve(f, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range flow.Points {
			if want := closed.Points[i]; q.X != want.X || !(math.Abs(q.Y/want.Y-1) < 1e-6) {
				t.Errorf("%s at %v: %v, want %v", f.name, q.X, q.Y, want.Y)
			}
		}
	}
}

// TestThird: a curve that is 1/3 throughout holds, one that passes it fails
// and says where.
func TestThird(t *testing.T) {
	flows, err := logitFlows()
	if err != nil {
		t.Fatal(err)
	}
	flat := Curve{Points: []Point{{X: 0.01, Y: 0.33}, {X: 0.04, Y: 0.34}}}
	steep := Curve{Points: []Point{{X: 0.01, Y: 0.33}, {X: 0.04, Y: 0.35}}}
	if row, err := thirdRow(flows[0], []Curve{flat}); err != nil || row.Verdict != Holds {
		t.Errorf("a third throughout: %s (%v)", row.Verdict, err)
	}
	row, err := thirdRow(flows[0], []Curve{flat, steep})
	if want := "to 0.9 from 0.33 to 0.35, 1/3 near p0 = 0.02"; err != nil || row.Verdict != Fails || row.Note[len(row.Note)-len(want):] != want {
		t.Errorf("%s: %q (%v), want the end %q", row.Verdict, row.Note, err, want)
	}
}

// TestChord by hand: four times the time at a ratio of v of 1/4 is the
// exponent 1; errors of 3 % and 4 % are 5 % of ln 4.
func TestChord(t *testing.T) {
	low, high := 0.2, 0.5 // v = .16 and .25
	span := math.Log(.25 / .16)
	got := chord(low, high, sim.Estimate{Mean: 100 * .25 / .16, SE: 3 * .25 / .16}, sim.Estimate{Mean: 100, SE: 4})
	if !(math.Abs(got.Mean-1) < 1e-14 && math.Abs(got.SE-0.05/span) < 1e-14) {
		t.Errorf("%+v, want 1 ± %v", got, 0.05/span)
	}
}

// TestSampledWorkersAgree: training runs are the same for any number of
// workers, differ from each other, and another seed gives others.
func TestSampledWorkersAgree(t *testing.T) {
	run := func(workers int, seed uint64) sim.Estimate {
		e := &env{cfg: &Config{Seed: seed, Workers: workers, Quick: true}, study: "5.sampled"}
		got, err := e.rolloutsToTarget(context.Background(), 0.1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := run(1, 1)
	if run(3, 1) != one || run(2, 2) == one || !(one.SE > 0) {
		t.Errorf("%+v, %+v by three workers, %+v of another seed", one, run(3, 1), run(2, 2))
	}
}

// TestGradedGolden compares the counterexample with quadrature
// (testdata/graded.py).
func TestGradedGolden(t *testing.T) {
	var golden struct {
		Rows []struct {
			Name        string
			Time, Bound float64
		}
	}
	readGolden(t, "testdata/graded.json", &golden)
	if len(golden.Rows) != 2 {
		t.Fatalf("%d rows, want 2", len(golden.Rows))
	}
	for i, rewards := range [][]float64{{0, gradedDelta, 1}, {0, 0, 1}} {
		reached, bound, err := normalisedTime(gradedLine(), rewards, gradedGain)
		want := golden.Rows[i]
		if err != nil || !(math.Abs(reached/want.Time-1) < 1e-8 && math.Abs(bound/want.Bound-1) < 1e-12) {
			t.Errorf("%s: %v and %v (%v), want %v and %v", want.Name, reached, bound, err, want.Time, want.Bound)
		}
	}
}

// handCase is a tabular policy of two prompts and two answers, p = .2 and .5, so
// that Var is .64 and 1, and their mean .82.
func handCase(t *testing.T, kl float64) *flowCase {
	t.Helper()
	l, err := rewarding("point:p=0.2")
	if err != nil {
		t.Fatal(err)
	}
	p, err := train.NewPolicy("softmax:answers=2", l, 2, stream.New(1))
	if err != nil {
		t.Fatal(err)
	}
	p.Parameters()[2] = p.Parameters()[3]
	c := &flowCase{policy: p, tabular: true, kl: kl}
	c.draw(stream.Rand(stream.New(1)))
	return c
}

// TestBoundsByHand: for g = .5 and the first prompt of handCase.
func TestBoundsByHand(t *testing.T) {
	want := map[string]float64{
		"razin-theorem-4":        -math.Expm1(-.5/9) / 8 * math.Pow(.82, -1./3),
		"razin-theorem-4-kl":     -math.Expm1(-7./300) / 8 * math.Pow(.82, -1./3),
		"razin-proposition-3":    4 * -math.Expm1(-.25) / .8,
		"razin-proposition-3-kl": 4 * -math.Expm1(-.25) / .8,
		"own-general":            -math.Expm1(-.25) / 2 / math.Sqrt(.82),
		"own-binary":             -math.Expm1(-.5) / 4 / .82,
		"own-normalised":         -math.Expm1(-.25) / 2 / .8,
	}
	for _, b := range timeBoundList {
		kl := 0.0
		if strings.HasSuffix(b.id, "-kl") {
			kl = 100
		}
		c := handCase(t, kl)
		got, err := b.value(c, 0, 0.5)
		if err != nil || !(math.Abs(got/want[b.id]-1) < 1e-12) {
			t.Errorf("%s: %v (%v), want %v", b.id, got, err, want[b.id])
		}
		if c.normalised = b.id == "own-normalised"; !b.applies(c) {
			t.Errorf("%s does not apply", b.id)
		}
	}
}

// TestBoundsApply: which bounds are about which flows.
func TestBoundsApply(t *testing.T) {
	for _, c := range []struct {
		flow flowCase
		want string
	}{
		{flowCase{}, "razin-theorem-4 own-general own-binary"},
		{flowCase{tabular: true}, "razin-theorem-4 razin-proposition-3 own-general own-binary"},
		{flowCase{graded: true}, "razin-theorem-4 own-general"},
		{flowCase{kl: 1, tabular: true}, "razin-theorem-4-kl razin-proposition-3-kl"},
		{flowCase{normalised: true, tabular: true}, "own-normalised"},
	} {
		var got []string
		for _, b := range timeBoundList {
			if b.applies(&c.flow) {
				got = append(got, b.id)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.flow, got, c.want)
		}
	}
}

// TestKLHoldsBack: with KL of weight 10 the reward cannot rise by .5, since KL
// would cost more than it brings; without, it does.
func TestKLHoldsBack(t *testing.T) {
	free, held := handCase(t, 0), handCase(t, 10)
	free.run(pace)
	held.run(pace)
	if !(free.reached[0][2] > 0 && held.reached[0][0] > 0) || !math.IsNaN(held.reached[0][2]) {
		t.Errorf("without KL %v, with %v", free.reached[0], held.reached[0])
	}
}

// TestLine: the scores of a line are the derivatives of its log probabilities,
// by central differences, for weights of any sum.
func TestLine(t *testing.T) {
	const h = 1e-5
	l, w := gradedLine(), []float64{0.3, -1.2, 2}
	l.theta[0] = 20
	grad := []float64{0}
	l.AddScores(grad, 0, w)
	value := func(theta float64) float64 {
		l.theta[0] = theta
		return floats.Dot(w, l.LogProbs(nil, 0))
	}
	if want := (value(20+h) - value(20-h)) / (2 * h); !(math.Abs(grad[0]-want) < 1e-9) {
		t.Errorf("score %v, want %v", grad[0], want)
	}
}

// flowCases draws n cases of the bounds.
func flowCases(t *testing.T, n int) []*flowCase {
	t.Helper()
	cases := make([]*flowCase, n)
	for i := range cases {
		c, err := newFlowCase(i, stream.New(7).With(uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		cases[i] = c
	}
	return cases
}

// TestFlowTimes: times at the pace of the study are those at a fifth of it, to a
// fifth of what verdicts allow for.
func TestFlowTimes(t *testing.T) {
	coarse, fine := flowCases(t, 60), flowCases(t, 60)
	compared := 0
	for i, c := range coarse {
		c.run(pace)
		fine[i].run(pace / 5)
		for x := range c.reached {
			for k, got := range c.reached[x] {
				want := fine[i].reached[x][k]
				if math.IsNaN(got) { // not in so many steps: nothing is compared
					continue
				}
				compared++
				if !(math.Abs(got/want-1) < flowError/5) {
					t.Errorf("case %d, %s, KL %v, prompt %d, g = %v: %v, want %v", i, c.policy.Spec(), c.kl, x, boundGains[k], got, want)
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d times compared, want more", compared)
	}
}

// TestBoundsBite: a bound of three times Proposition 3, of 30 times our own, of
// a thousand times Theorem 4 is passed, and said to be.
func TestBoundsBite(t *testing.T) {
	cases := flowCases(t, 150)
	for _, c := range cases {
		c.run(pace)
	}
	factors := map[string]float64{
		"razin-theorem-4": 1000, "razin-theorem-4-kl": 1000, "razin-proposition-3": 3.5, "razin-proposition-3-kl": 3.5,
		"own-general": 30, "own-binary": 30, "own-normalised": 30,
	}
	for _, b := range timeBoundList {
		row, _, err := b.hold(cases)
		if err != nil || row.Verdict != Holds {
			t.Errorf("%s: %s, %v (%v)", b.id, row.Verdict, *row.Estimate, err)
		}
		value := b.value
		b.value = func(c *flowCase, x int, g float64) (float64, error) {
			v, err := value(c, x, g)
			return factors[b.id] * v, err
		}
		if row, _, err := b.hold(cases); err != nil || row.Verdict != Fails {
			t.Errorf("%v times %s: %s, %v (%v)", factors[b.id], b.id, row.Verdict, *row.Estimate, err)
		}
	}
}

// TestBoundsWorkersAgree: the flows of random policies are the same for any
// number of workers, and another seed gives others.
func TestBoundsWorkersAgree(t *testing.T) {
	run := func(workers int, seed uint64) (Row, Curve) {
		e := &env{cfg: &Config{Seed: seed, Workers: workers}, study: "5.bounds"}
		cases, err := e.flowCases(context.Background(), 9)
		if err != nil {
			t.Fatal(err)
		}
		row, curve, err := timeBoundList[0].hold(cases)
		if err != nil {
			t.Fatal(err)
		}
		return row, curve
	}
	row, curve := run(1, 1)
	again, curveAgain := run(3, 1)
	other, _ := run(2, 2)
	if !reflect.DeepEqual(again, row) || !reflect.DeepEqual(curveAgain, curve) || *other.Estimate == *row.Estimate {
		t.Errorf("%v by one worker, %v by three, %v of another seed", *row.Estimate, *again.Estimate, *other.Estimate)
	}
}

// TestFlowCases: the cases cover every policy, coding and flow that bounds are
// about.
func TestFlowCases(t *testing.T) {
	seen := map[string]int{}
	for _, c := range flowCases(t, 150) {
		for name, is := range map[string]bool{
			"tabular": c.tabular, "graded": c.graded, "normalised": c.normalised, "kl": c.kl > 0, "plain, binary": c.kl == 0 && !c.graded && !c.normalised,
			"long": c.flow(1).Tokens > 2, "many prompts": c.policy.Prompts() > 2, "tabular, plain, graded": c.tabular && c.graded && c.kl == 0,
		} {
			if is {
				seen[name]++
			}
		}
		if _, after, ok := strings.Cut(c.policy.Spec(), "tokens="); ok && after[:1] != fmt.Sprint(c.flow(1).Tokens) {
			t.Errorf("%s: L = %v", c.policy.Spec(), c.flow(1).Tokens)
		}
		if c.normalised && (c.policy.Prompts() > 1 || c.graded || c.kl > 0) || !(c.meanVariance() <= 1) {
			t.Errorf("a normalised case %+v", c)
		}
	}
	for _, name := range []string{"tabular", "graded", "normalised", "kl", "plain, binary", "long", "many prompts", "tabular, plain, graded"} {
		if seen[name] < 5 {
			t.Errorf("%d cases that are %s, want more", seen[name], name)
		}
	}
}

// TestJacobian: J is at most 1 for the policies of one token. The scores are
// the logits' derivatives less their mean under the policy, so that, less their own
// mean, they are the derivatives of the centred logits, whose spectral norm is at
// most J, and 1 for tabular policies.
func TestJacobian(t *testing.T) {
	for _, c := range flowCases(t, 60) {
		if c.flow(1).Tokens > 1 {
			continue
		}
		for x := range c.policy.Prompts() {
			n, dim := len(c.policy.Outcomes(x)), len(c.policy.Parameters())
			scores := mat.NewDense(n, dim, nil)
			for k := range n {
				w := make([]float64, n)
				for i := range w {
					w[i] = -1 / float64(n)
				}
				w[k]++
				c.policy.AddScores(scores.RawRowView(k), x, w)
			}
			var svd mat.SVD
			svd.Factorize(scores, mat.SVDNone)
			norm := svd.Values(nil)[0]
			want := 1.0
			if strings.HasPrefix(c.policy.Spec(), "l") {
				want = math.Sqrt2 / 2 // the logits (z, 0), centred
			}
			if !(math.Abs(norm-want) < 1e-12) {
				t.Errorf("%s: J of prompt %d is %v, want %v", c.policy.Spec(), x, norm, want)
			}
		}
	}
}
