package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
)

func BenchmarkSelectVIP(b *testing.B) { benchmarkBatch(b, "vip:predictor=oracle") }

// BenchmarkSelectVIPProcess times the Gaussian process: conditioned on 1024
// prompts with embeddings of 384 numbers, it predicts as many others.
func BenchmarkSelectVIPProcess(b *testing.B) {
	r := seeded(1)
	embeddings := make([][]float64, 2048)
	for i := range embeddings {
		embeddings[i] = make([]float64, 384)
		for j := range embeddings[i] {
			embeddings[i][j] = r.NormFloat64() / math.Sqrt(384)
		}
	}
	w := newSteps(embeddings)
	v := mustParse(b, "vip").(*strategy.VIPProcess)
	first, second := make([]int, 1024), make([]int, 1024)
	for i := range first {
		first[i], second[i] = i, 1024+i
	}
	for b.Loop() {
		v.Begin(len(embeddings))
		w.step(v, first, func(id, n int) int { return id % (n + 1) })
		w.step(v, second, func(int, int) int { return 0 })
	}
}

func TestVIPConformance(t *testing.T) {
	wantConform(
		t,
		"vip", "vip:predictor=oracle", "vip:n=2,low=2,high=2", "vip:n=4,low=3,high=30,estimator=drgrpo",
		"vip:n=3,low=3,high=9,estimator=drgrpo,predictor=oracle", "vip:n=8,low=2,window=3,scale=1.5,prior=0,jitter=0.1",
	)
}

func TestVIPSpending(t *testing.T) {
	wantSpending(t, "vip", map[int]string{1: "vip:n=2,low=2,high=4", 8: "vip:n=8,low=4,high=16", 16: "vip:n=16,low=8,high=32"})
}

func TestVIPRefuses(t *testing.T) {
	wantRefused(t, map[string]string{
		"vip:n=40":                        "vip: n = 40, want between low = 8 and high = 32",
		"vip:n=4":                         "n = 4",
		"vip:low=1":                       "low = 1, want a whole number in [2, 10000]",
		"vip:estimator=drgrpo,low=2":      "low = 2, want at least 3",
		"vip:estimator=grpo":              "estimator = grpo, want one of rloo, drgrpo",
		"vip:predictor=ridge":             "predictor = ridge",
		"vip:window=0":                    "window = 0",
		"vip:scale=0":                     "scale = 0, want (0, Inf)",
		"vip:jitter=0":                    "jitter = 0",
		"vip:prior=99":                    "prior = 99",
		"vip:lambda=2,scale=NaN,window=x": "scale = NaN",
	})
}

// TestVIPFactors holds the variance factors to the specification's values, and
// the convexity that the exact allocation rests on: 1/(n-1) from 2 on,
// (n-1)/n^2 from 3 on and not from 2 on.
func TestVIPFactors(t *testing.T) {
	for _, c := range []struct {
		n            int
		drgrpo, rloo float64
	}{{4, 0.1875, 1. / 3}, {8, 0.109375, 0.142857}, {16, 0.058594, 0.066667}} {
		wantNear(t, fmt.Sprintf("Dr. GRPO, n=%d", c.n), strategy.DrGRPOFactor(c.n), c.drgrpo, 5e-7)
		wantNear(t, fmt.Sprintf("RLOO, n=%d", c.n), strategy.RLOOFactor(c.n), c.rloo, 5e-7)
	}
	convex := func(f func(int) float64, n int) bool { return f(n)-f(n+1) > f(n+1)-f(n+2) }
	for n := 2; n < 1000; n++ {
		if !convex(strategy.RLOOFactor, n) || convex(strategy.DrGRPOFactor, n) != (n >= 3) {
			t.Errorf("n = %d: convexity is not as documented", n)
		}
	}
}

// variances returns p(1-p).
func variances(p []float64) []float64 {
	a := make([]float64, len(p))
	for i, p := range p {
		a[i] = p * (1 - p)
	}
	return a
}

// TestVIPGolden holds the six-prompt example to the specification: 48
// rollouts, at most 32 a prompt, equal groups of 8 for comparison.
func TestVIPGolden(t *testing.T) {
	a := variances(sixPrompts)
	sum := func(factor func(float64) float64, n []float64) (s float64) {
		for i, a := range a {
			s += a * factor(n[i])
		}
		return s
	}
	rloo := func(n float64) float64 { return 1 / (n - 1) }
	drgrpo := func(n float64) float64 { return (n - 1) / (n * n) }
	equal := []float64{8, 8, 8, 8, 8, 8}
	wantNear(t, "RLOO, equal groups", sum(rloo, equal), 0.1110143, 5e-8)
	wantNear(t, "Dr. GRPO, equal groups", sum(drgrpo, equal), 0.0849953, 5e-8)

	real, err := strategy.RLOOGroups(a, 48, 2, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{3.9164, 7.2494, 10.5461, 11.4156, 9.3325, 5.5401} {
		wantNear(t, fmt.Sprintf("RLOO, real n[%d]", i), real[i], want, 5e-5)
	}
	wantNear(t, "RLOO, real optimum", sum(rloo, real), 0.0967874, 5e-8)

	for _, c := range []struct {
		spec   string
		factor func(float64) float64
		n      []int
		value  float64
	}{
		{"vip:n=8,low=2,predictor=oracle", rloo, []int{4, 7, 11, 11, 9, 6}, 0.0970333},
		{"vip:n=8,low=3,predictor=oracle,estimator=drgrpo", drgrpo, []int{3, 7, 11, 13, 10, 4}, 0.0737891},
	} {
		got := groupsOf(t, c.spec, sixPrompts, seeded(1))
		if !slices.Equal(got, c.n) {
			t.Errorf("%s: groups %v, want %v", c.spec, got, c.n)
		}
		size := make([]float64, len(got))
		for i, n := range got {
			size[i] = float64(n)
		}
		wantNear(t, c.spec, sum(c.factor, size), c.value, 5e-8)
	}
}

// TestVIPReal checks the real optima by their conditions: they sum to the
// total, every group strictly inside has the same slope lambda, those at low a
// smaller one and those at high a larger one.
func TestVIPReal(t *testing.T) {
	r := seeded(5)
	for _, c := range []struct {
		name  string
		solve func(a []float64, total, low, high float64) ([]float64, error)
		low   float64
		slope func(n float64) float64
	}{
		{"RLOO", strategy.RLOOGroups, 2, func(n float64) float64 { return 1 / ((n - 1) * (n - 1)) }},
		{"Dr. GRPO", strategy.DrGRPOGroups, 3, func(n float64) float64 { return (n - 2) / (n * n * n) }},
	} {
		for range 200 {
			a := make([]float64, 2+r.IntN(8))
			for i := range a {
				a[i] = 0.25 * math.Pow(r.Float64(), 6)
			}
			high := c.low + 20*r.Float64()
			count := float64(len(a))
			total := count * (c.low + (high-c.low)*r.Float64())
			n, err := c.solve(a, total, c.low, high)
			if err != nil {
				t.Fatal(err)
			}
			sum, lowest, highest := 0.0, math.Inf(1), 0.0 // slopes of groups that could give, and take
			for i, n := range n {
				sum += n
				if n > c.low+1e-9 {
					lowest = min(lowest, a[i]*c.slope(n))
				}
				if n < high-1e-9 {
					highest = max(highest, a[i]*c.slope(n))
				}
			}
			wantNear(t, c.name+": sum", sum, total, 1e-9*total)
			if lowest < highest*(1-1e-6) {
				t.Errorf("%s: a = %v, n = %v: moving a rollout gains: slopes %g < %g", c.name, a, n, lowest, highest)
			}
		}
	}
	// Prompts with a = 0 take what the others cannot: 4 + 3.5 + 3.5.
	if n, err := strategy.RLOOGroups([]float64{0, 0.2, 0}, 11, 2, 4); err != nil || !slices.Equal(n, []float64{3.5, 4, 3.5}) {
		t.Errorf("groups %v, %v, want [3.5 4 3.5]", n, err)
	}
	for _, bad := range []struct{ total, low, high float64 }{{3, 2, 8}, {17, 2, 8}, {8, 1, 8}, {8, math.NaN(), 8}, {8, 5, 3}} {
		if _, err := strategy.RLOOGroups([]float64{0.1, 0.2}, bad.total, bad.low, bad.high); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := strategy.DrGRPOGroups([]float64{0.1, math.NaN()}, 8, 3, 8); err == nil {
		t.Error("a = NaN is accepted")
	}
}

// TestVIPTies: 0.1 and 0.9 tie for the last of nine rollouts, the solved prompt
// keeping two. Either gets it equally often (wantEqualShares).
func TestVIPTies(t *testing.T) {
	wantEqualShares(t, 2, func(r *rand.Rand) int {
		n := groupsOf(t, "vip:n=3,low=2,high=4,predictor=oracle", []float64{0.1, 0.9, 1}, r)
		if n[2] != 2 {
			t.Fatalf("groups %v, want 2 for the last", n)
		}
		return slices.Index(n, 4)
	})
}

// TestVIPExact compares the groups with the best of all groups.
func TestVIPExact(t *testing.T) {
	r := seeded(3)
	for i := range 60 {
		estimator, factor, low := "rloo", strategy.RLOOFactor, 2
		if i%2 == 1 {
			estimator, factor, low = "drgrpo", strategy.DrGRPOFactor, 3
		}
		p := []float64{r.Float64(), r.Float64() * 0.1, 1 - r.Float64()*0.1, r.Float64()}
		n, high := low+r.IntN(4), low+4+r.IntN(6)
		text := fmt.Sprintf("vip:n=%d,low=%d,high=%d,estimator=%s,predictor=oracle", n, low, high, estimator)
		value := func(i, n int) float64 { return -p[i] * (1 - p[i]) * factor(n) }
		want := mostOf(len(p), n*len(p), low, high, value)
		got := 0.0
		for i, n := range groupsOf(t, text, p, r) {
			got += value(i, n)
		}
		wantNear(t, text, got, want, 1e-12)
	}
}

// newSteps returns a prompt set with the given embeddings, for steps on prompts
// of the test's choice.
func newSteps(embeddings [][]float64) *stepper {
	set := rollout.NewSet(len(embeddings))
	set.Embeddings = embeddings
	set.Restart(seeded(1))
	return &stepper{set, new(rollout.Batch)}
}

type stepper struct {
	set   *rollout.Set
	batch *rollout.Batch
}

// step runs one step of v on the given prompts, of whose n rollouts answer
// succeed, and returns the groups.
func (w *stepper) step(v *strategy.VIPProcess, ids []int, answer func(id, n int) int) []int {
	w.set.Begin(w.batch)
	for _, id := range ids {
		w.set.Admit(id)
	}
	if err := v.Start(len(ids)); err != nil {
		panic(err)
	}
	for _, q := range v.Next(w.batch, nil, seeded(7)) {
		w.batch.N[q.X] += q.N
		w.batch.S[q.X] += answer(w.batch.ID[q.X], q.N)
	}
	w.batch.Round++
	v.Observe(w.batch)
	return slices.Clone(w.batch.N)
}

// TestVIPTrace follows two steps by hand on the line, where prompts 0, 1, 2
// stand at 0, 10, 20 and 3, 4, 5 each 0.4 = scale behind: neighbours correlate
// by k = exp(-1/2) = 0.606531, others not at all.
//
// Step 1, no data: 4 each, with 3, 1 and 0 successes: logits ln 3 = 1.098612,
// -1.098612 and ln(1e-6/(1-1e-6)) = -13.815510.
//
// Step 2: with k/1.0001 = 0.606470 the logits -1 + 0.606470 (y + 1) are
// 0.272745, -1.059805, -8.772222, so that p = 0.567767, 0.257347, 0.000155 and
// a = 0.245408, 0.191119, 0.000155. Two each, six left, by a/(n(n-1)), n = 2, 3,
// 4: 0.122704 0.040901 0.020451 for prompt 3, 0.095560 0.031853 0.015927 for 4,
// 0.000077 for 5. So 3 4 3 4 3 4 take turns: groups 5, 5, 2.
func TestVIPTrace(t *testing.T) {
	w := newSteps([][]float64{{0}, {10}, {20}, {0.4}, {10.4}, {20.4}})
	v := mustParse(t, "vip:n=4,low=2").(*strategy.VIPProcess)
	v.Begin(6)
	if _, ok := v.Belief(0); ok {
		t.Error("a belief before any data")
	}
	successes := map[int]int{0: 3, 1: 1, 2: 0, 3: 5, 4: 1, 5: 1}
	answer := func(id, _ int) int { return successes[id] }
	if got := w.step(v, []int{2, 0, 1}, answer); !slices.Equal(got, []int{4, 4, 4}) {
		t.Fatalf("step 1: groups %v, want 4 each", got)
	}
	for id, want := range []float64{0.75, 0.25, 1e-6, 0.567767, 0.257347, 0.000155} {
		got, _ := v.Belief(id)
		wantNear(t, fmt.Sprintf("belief in prompt %d", id), got, want, 5e-7)
	}
	if got := w.step(v, []int{4, 5, 3}, answer); !slices.Equal(got, []int{5, 2, 5}) {
		t.Fatalf("step 2: groups %v, want 5, 2, 5 for prompts 4, 5, 3", got)
	}
	// One batch is the window: prompt 1 is now predicted from 4 alone, which
	// had 1 of 5: -1 + 0.606470 (ln(1/4) + 1) = -1.234276, p = 0.225434.
	got, _ := v.Belief(1)
	wantNear(t, "belief in prompt 1 after step 2", got, 0.225434, 5e-7)
	// A new run has forgotten.
	v.Begin(6)
	if got := w.step(v, []int{3, 4, 5}, answer); !slices.Equal(got, []int{4, 4, 4}) {
		t.Errorf("a new run: groups %v, want 4 each", got)
	}
}

// TestVIPWindow: a window of two batches conditions on both, by the newest
// outcome of a prompt that stands in both. Prompts 0 and 1 lie 0.4 apart, 2
// lies 0.4 from 1: with c = 1.0001 and k = exp(-1/2) the weights of 0 and 1
// solve c w0 + k w1 = y0 + 1, k w0 + c w1 = y1 + 1, and prompt 2 is predicted
// -1 + exp(-2) w0 + k w1.
func TestVIPWindow(t *testing.T) {
	w := newSteps([][]float64{{0}, {0.4}, {0.8}})
	v := mustParse(t, "vip:n=4,low=2,window=2").(*strategy.VIPProcess)
	v.Begin(3)
	w.step(v, []int{0, 1}, func(id, n int) int { return 1 + id })           // 1 and 2 of 4
	w.step(v, []int{0}, func(_, n int) int { return 3 })                    // 3 of 4, the newest
	y0, y1, c, k := math.Log(3)+1, 0.0+1, 1.0001, math.Exp(-0.5)            // ln 3, ln 1
	w0, w1 := (c*y0-k*y1)/(c*c-k*k), (c*y1-k*y0)/(c*c-k*k)                  // Cramer
	want := 1 / (1 + math.Exp(-(-1 + math.Exp(-2)*w0 + math.Exp(-0.5)*w1))) // d = 0.8 = 2 scale
	got, _ := v.Belief(2)
	wantNear(t, "belief in prompt 2", got, want, 1e-12)
	// The first batch leaves the window: only prompt 0 is left.
	w.step(v, []int{0}, func(_, n int) int { return 3 })
	got, _ = v.Belief(1)
	wantNear(t, "belief in prompt 1", got, 1/(1+math.Exp(-(-1+k*y0/c))), 1e-12)
}

// TestVIPWithoutEmbeddings is uniform for ever, and has no belief.
func TestVIPWithoutEmbeddings(t *testing.T) {
	w := newSteps([][]float64{{0}, {1}})
	w.set.Embeddings = nil
	v := mustParse(t, "vip").(*strategy.VIPProcess)
	v.Begin(2)
	for range 3 {
		if got := w.step(v, []int{0, 1}, func(id, n int) int { return id }); !slices.Equal(got, []int{16, 16}) {
			t.Errorf("groups %v, want 16 each", got)
		}
	}
	if _, ok := v.Belief(0); ok {
		t.Error("a belief without embeddings")
	}
}
