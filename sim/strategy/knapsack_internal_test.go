package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newKnapsack(t testing.TB, text string) *Knapsack {
	t.Helper()
	s, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Knapsack)
}

// TestKnapsackAllocation follows the released allocation by hand; both solvers
// agree unless dp says otherwise. A negative rate is
// seen too little to count. The golden rows p =
// (.1, .3, .5, .9) hold at least 2 each and are checked against all
// compositions below.
func TestKnapsackAllocation(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		rates      []float64
		want, dp   []int
		failed     bool // the released code divides by zero
	}{
		{"golden, budget 12", "n=3", []float64{.1, .3, .5, .9}, []int{2, 4, 4, 2}, []int{3, 4, 3, 2}, false},
		{"golden, budget 16", "n=4", []float64{.1, .3, .5, .9}, []int{3, 6, 5, 2}, nil, false},
		{"golden, budget 32", "n=8", []float64{.1, .3, .5, .9}, []int{14, 9, 7, 2}, []int{14, 9, 6, 3}, false},
		// left 12, needed int(3.32) each, nobody to take the surplus.
		{"others alone", "n=8", []float64{.5, .5}, []int{8, 8}, nil, true},
		{"a batch of one", "n=8", []float64{.25}, []int{8}, nil, false}, // needs int(8.004) of 6
		// 24 - 6 = 18 to the two at 0.
		{"no others", "n=8", []float64{0, 0, 1}, []int{11, 11, 2}, nil, false},
		{"the remainder goes to the front", "n=7", []float64{0, 1, 0}, []int{10, 2, 9}, nil, false},
		{"all solved", "n=8", []float64{1, 1}, []int{8, 8}, nil, false},
		{"all unseen", "n=8", []float64{-1, -1}, []int{8, 8}, nil, false},
		// 16 - 10 = 6 left: the unseen one counts as rate 0 and takes half.
		{"unseen and dead", "n=8", []float64{-1, 0}, []int{11, 5}, nil, false},
		// 6 left, 3 needed: the unseen one takes 3 beside its 8.
		{"unseen takes the surplus", "n=8", []float64{-1, .5}, []int{11, 5}, nil, false},
		// 12 left, 3 needed, nobody at 0: the solved one takes 9.
		{"solved takes the surplus", "n=8", []float64{1, .5}, []int{11, 5}, nil, false},
		// As above, but a dead one is there: 24 - 6 = 18, 15 to it.
		{"dead before solved", "n=8", []float64{1, .5, 0}, []int{2, 5, 17}, nil, false},
		// 18 left, min(8, 21) each needed: 2 to the dead one; of 16 only 12 fit
		// under max, 2 each pass it.
		{"more than fits", "n=8,max=8", []float64{.1, .1, 0}, []int{10, 10, 4}, nil, false},
		// cost 1/(pq) - 1: 3 and int(10.1), so 13 of 18 left and 5 to the dead one.
		// .5 gains .0312 .0156 .0078 .0039 .0020; .1 gains .0073 .0060 .0053 .0048
		// .0043 .0039 (below .5's .00391) .0035 .0031 .0028 .0025: 4 and 9 further.
		{"expectation", "n=8,cost=expectation", []float64{.5, .1, 0}, []int{6, 11, 7}, nil, false},
		// Equal rates. Greedy serves the front first; the program keeps the
		// smallest k of the last prompt among equal sums.
		{"ties, 3 left", "n=3", []float64{.5, .5, 1}, []int{4, 3, 2}, nil, false},
		{"ties, 1 left", "n=2,positive=1", []float64{.5, .5, 1}, []int{3, 2, 1}, nil, false},
	} {
		for _, solver := range []string{"greedy", "dp"} {
			k := newKnapsack(t, "knapsack:seen=8,solver="+solver+","+c.spec)
			ids := make([]int, len(c.rates))
			k.Begin(len(ids))
			for i, rate := range c.rates {
				ids[i] = i
				k.history[i] = visited{count: 8, rate: rate}
				if rate < 0 {
					k.history[i] = visited{count: 4, rate: -rate}
				}
			}
			if err := k.Start(len(ids)); err != nil {
				t.Fatal(err)
			}
			k.allocate(ids)
			want := c.want
			if solver == "dp" && c.dp != nil {
				want = c.dp
			}
			if !slices.Equal(k.asked, want) {
				t.Errorf("%s, %s: %v, want %v", c.name, solver, k.asked, want)
			}
			if failed := c.failed && solver == "dp"; k.Update().Failed != failed {
				t.Errorf("%s, %s: failed %v, want %v", c.name, solver, !failed, failed)
			}
		}
	}
}

// TestKnapsackUnseen: with seen=0 a prompt that was never visited has no rate,
// though 0 rewards are enough; one failure is a rate of 0. Both lie in a batch
// with a prompt at 1/2. First 8, 2 and 2, so that 12 of 24 are left, of which
// int(ln .1/ln .5) = 3 go to the last; 9 are split over the two at 0.
func TestKnapsackUnseen(t *testing.T) {
	k := newKnapsack(t, "knapsack:seen=0")
	k.Begin(3)
	k.history[1], k.history[2] = visited{count: 1}, visited{count: 2, rate: .5}
	k.allocate([]int{0, 1, 2})
	if want := []int{13, 6, 5}; !slices.Equal(k.asked, want) {
		t.Errorf("%v, want %v", k.asked, want)
	}
	if p, ok := k.Belief(0); ok {
		t.Errorf("rate %v of a prompt that was never visited", p)
	}
}

// compositions calls f with every way to hand out units among len(n) prompts
// on top of low.
func compositions(n []int, low, units int, f func()) {
	var place func(i, left int)
	place = func(i, left int) {
		if i == len(n)-1 {
			n[i] = low + left
			f()
			return
		}
		for u := range left + 1 {
			n[i] = low + u
			place(i+1, left-u)
		}
	}
	place(0, units)
}

// TestKnapsackOptimal: against all compositions greedy attains the largest sum
// of values, and the program the largest of its own score, in which a prompt
// without a further rollout counts 0.
func TestKnapsackOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 2))
	suboptimal := 0
	for range 40 {
		p := make([]float64, 4)
		for i := range p {
			p[i] = r.Float64()
		}
		low, units, most := 1+r.IntN(3), r.IntN(12), 9
		total := func(n []int, released bool) float64 {
			sum := 0.0
			for i, n := range n {
				if n > most {
					return math.Inf(-1)
				}
				if !released || n > low {
					sum += KnapsackValue(p[i], n)
				}
			}
			return sum
		}
		var best [2]float64
		n := make([]int, len(p))
		compositions(n, low, units, func() {
			best[0] = max(best[0], total(n, false))
			best[1] = max(best[1], total(n, true))
		})
		exact, released := []int{low, low, low, low}, []int{low, low, low, low}
		greedy(exact, units, most, func(i, n int) float64 { return knapsackGain(p[i], n) }, nil)
		knapsackDP(p, released, most, units)
		if got := total(exact, false); math.Abs(got-best[0]) > 1e-12 {
			t.Errorf("p %v, %d units on %d: greedy %v has %v, best %v", p, units, low, exact, got, best[0])
		}
		if got := total(released, true); math.Abs(got-best[1]) > 1e-12 {
			t.Errorf("p %v, %d units on %d: dp %v scores %v, best %v", p, units, low, released, got, best[1])
		}
		if total(released, false) < best[0]-1e-12 {
			suboptimal++
		}
	}
	if suboptimal == 0 {
		t.Error("the released program is optimal in all cases, want its flaw")
	}
	if got := KnapsackValue(.1, 2) + KnapsackValue(.3, 4) + KnapsackValue(.5, 4) + KnapsackValue(.9, 2); math.Abs(got-.2360896) > 1e-12 {
		t.Errorf("golden optimum %v, want .2360896", got)
	}
	if got := KnapsackValue(.1, 3) + KnapsackValue(.3, 4) + KnapsackValue(.5, 3); math.Abs(got-.2261346) > 1e-12 {
		t.Errorf("golden score of the program %v, want .2261346", got)
	}
}

// TestKnapsackCosts: the golden values, and ExpectedMixed against the sum of
// tail probabilities.
func TestKnapsackCosts(t *testing.T) {
	for _, c := range []struct{ p, expected, mixed float64 }{
		{.5, 3, 3.3219},
		{.25, 4.3333, 8.0039},
		{.1, 10.1111, 21.8543},
		{.05, 20.0526, 44.8906},
		{.01, 100.0101, 229.1053},
	} {
		for _, p := range []float64{c.p, 1 - c.p} {
			if got := ExpectedMixed(p); math.Abs(got-c.expected) > 5e-5 {
				t.Errorf("p = %v: %v rollouts to a mixed group, want %v", p, got, c.expected)
			}
			if got := MixedCost(p, .9); math.Abs(got-c.mixed) > 5e-5 {
				t.Errorf("p = %v: cost %v, want %v", p, got, c.mixed)
			}
			sum := 1.0
			for n := 1; n < 20_000; n++ {
				sum += math.Pow(p, float64(n)) + math.Pow(1-p, float64(n))
			}
			if math.Abs(ExpectedMixed(p)-sum) > 1e-9*sum {
				t.Errorf("p = %v: %v rollouts, the sum says %v", p, ExpectedMixed(p), sum)
			}
		}
	}
}

// BenchmarkSelectKnapsack allocates for 1,024 prompts with rates.
func BenchmarkSelectKnapsack(b *testing.B) {
	const batch = 1024
	k := newKnapsack(b, "knapsack")
	k.Begin(batch)
	ids := make([]int, batch)
	for i := range ids {
		ids[i] = i
		k.history[i] = visited{count: 16, rate: float64(i%17) / 16}
	}
	b.ReportAllocs()
	for b.Loop() {
		k.allocate(ids)
	}
}
