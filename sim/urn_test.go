package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// TestAliasIsExact adds up the cells of a table: every outcome has the
// probability it was given, to rounding.
func TestAliasIsExact(t *testing.T) {
	for _, weights := range [][]float64{
		{1},
		{0, 3, 0},
		{1, 1, 1, 1},
		{.5, .25, .125, .0625, .0625},
		{1e-30, 1, 1e-3, 7, 1e-9, 2, 2, 2, 0, 5},
	} {
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		table := newAlias(weights)
		got := make([]float64, len(weights))
		for _, c := range table {
			own := float64(c.cut) * 0x1p-64 / float64(len(table))
			got[c.other^c.flip] += own
			got[c.other] += 1/float64(len(table)) - own
		}
		for i, w := range weights {
			if !(math.Abs(got[i]-w/sum) < 1e-15) {
				t.Errorf("weights %v: outcome %d has probability %v, want %v", weights, i, got[i], w/sum)
			}
		}
	}
}

// TestAliasCells draws at both ends of every cell and on both sides of its cut.
func TestAliasCells(t *testing.T) {
	table := newAlias([]float64{3, 1, 4, 1, 5})
	n := uint64(len(table))
	for i, c := range table {
		start := uint64(i) * (math.MaxUint64 / n) // the smallest number of the cell is within a few of it
		for _, at := range []struct {
			rest uint64
			want uint32
		}{{c.cut / 2, c.other ^ c.flip}, {c.cut + (math.MaxUint64-c.cut)/2, c.other}} {
			r := start + uint64(i)/n + at.rest/n + 1
			if got := table.draw(r); got != at.want {
				t.Errorf("cell %d, %v of it: %d, want %d", i, float64(at.rest)/0x1p64, got, at.want)
			}
		}
	}
}

// urnAndPlain returns two workers that differ in Config.Fast alone.
func urnAndPlain(t testing.TB, population string, batch int, strategy string) (fast, plain *worker) {
	t.Helper()
	var workers [2]*worker
	for i := range workers {
		cfg := config(population, 1)
		cfg.Fast = i == 0
		w, err := newWorker(&cfg, synthetic(t, population, batch), parseAll(strategy))
		if err != nil {
			t.Fatal(err)
		}
		workers[i] = w
	}
	return workers[0], workers[1]
}

// measured appends all that a replicate left in the worker's arms.
func (w *worker) measured(x []float64) []float64 {
	for _, a := range w.arms {
		x = append(x, a.totals[:]...)
		for _, c := range a.cuts {
			x = append(x, c.active, c.frontierActive, c.dropped, c.frontierDropped)
		}
		for _, rollouts := range a.bins {
			x = append(x, float64(rollouts))
		}
		for _, groups := range a.sizes {
			x = append(x, float64(groups))
		}
	}
	for _, prompts := range w.truth.bins {
		x = append(x, float64(prompts))
	}
	return x
}

// TestFastHasThePlainMoments compares the two paths in the means of all that
// they measure of a batch, and in the means of their products with
// VIGOR's totals: variances and covariances of one replicate. The batches of 65 have
// two sizes of fixed groups. Differences are judged by their own standard errors,
// after 10,000 replicates of each. All together leave theirs with probability 1e-6,
// as far as these means are normal, and a shift of 8.8 standard errors is missed
// with 1 %: 3 % of the ratio eta on tp15, 1 % of it on the two others.
func TestFastHasThePlainMoments(t *testing.T) {
	const replicates = 10_000
	cases := []struct{ population, strategy string }{
		{tp15, "vigor"},
		{"spiked-beta:dead=0.3,solved=0.1,a=2,b=6", "vigor:m0=1,rounds=3,alpha=2/3,gamma=3"},
		{"mixture:0.3@point:p=0.5+0.7@uniform", "vigor:update=survivors"},
	}
	for _, c := range cases {
		fast, plain := urnAndPlain(t, c.population, 65, c.strategy)
		var sums [2]*moments
		for i, w := range []*worker{fast, plain} {
			var x, all []float64
			for k := range replicates {
				if err := w.replicate(context.Background(), stream.New(uint64(k))); err != nil {
					t.Fatal(err)
				}
				x = w.measured(x[:0])
				all = append(all[:0], x...)
				for j, a := range x[:numTotals] { // beside the totals of VIGOR
					for _, b := range x[j:] {
						all = append(all, a*b)
					}
				}
				if sums[i] == nil {
					sums[i] = &moments{mean: make([]float64, len(all)), delta: make([]float64, len(all))}
				}
				sums[i].addVariances(all)
			}
		}
		figures := len(sums[0].mean)
		z := distuv.UnitNormal.Quantile(1 - 1e-6/float64(len(cases)*2*figures))
		for j := range figures {
			gap := math.Abs(sums[0].mean[j] - sums[1].mean[j])
			se := math.Sqrt((sums[0].delta[j] + sums[1].delta[j]) / (replicates * (replicates - 1)))
			if !(gap <= z*se+1e-9*math.Abs(sums[1].mean[j])) {
				t.Errorf("%s, %s: figure %d of %d is %v on the fast path, %v on the plain one: %.1f standard errors apart, want %.1f",
					c.population, c.strategy, j, figures, sums[0].mean[j], sums[1].mean[j], gap/se, z)
			}
		}
	}
}

// addVariances is add without covariances: delta then holds the sums of squared
// deviations.
func (m *moments) addVariances(x []float64) {
	m.n++
	for i, xi := range x {
		d := xi - m.mean[i]
		m.mean[i] += d / m.n
		m.delta[i] += d * (xi - m.mean[i])
	}
}

// A smallLaw is of batches that can be enumerated: three prompts of one of two
// success probabilities, under smallStrategy, which gives two of them two more
// rollouts. A fixed group of 10/3 has 3, 3 or 4.
type smallLaw struct{ p, weight [2]float64 }

const smallStrategy = "vigor:m0=2,rounds=2,gamma=1"

func (l smallLaw) String() string {
	return fmt.Sprintf("mixture:%v@point:p=%v+%v@point:p=%v", l.weight[0], l.p[0], l.weight[1], l.p[1])
}

// A smallOutcome is what both arms of such a batch amount to.
type smallOutcome [6]int64

func outcomeOf(wu, sigma, sigmaU, zero, fixedSigmaU, fixedZero float64) (o smallOutcome) {
	for i, x := range []float64{wu, sigma, sigmaU, zero, fixedSigmaU, fixedZero} {
		o[i] = int64(math.Round(x * 1e6))
	}
	return o
}

// enumerate calls visit with every way a batch can go, prompt by prompt: p, the
// fixed groups, VIGOR's two rounds, and who stays of equals. sumU is that of the
// batch.
func (l smallLaw) enumerate(visit func(chance float64, o smallOutcome, sumGU, sumU float64)) {
	pmf := func(n, s int, p float64) float64 {
		return float64(combin.Binomial(n, s)) * math.Pow(p, float64(s)) * math.Pow(1-p, float64(n-s))
	}
	// Prompts are exchangeable, so that the group of 4 may be the last one's.
	fixed := [3]int{3, 3, 4}
	at := make([]int, 9)
	for gen := combin.NewCartesianGenerator([]int{2, 2, 2, 4, 4, 5, 3, 3, 3}); gen.Next(); {
		gen.Product(at)
		chance, sumU := 1.0, 0.0
		var p [3]float64
		for x := range p {
			p[x] = l.p[at[x]]
			sumU += 4 * p[x] * (1 - p[x])
			chance *= l.weight[at[x]] * pmf(fixed[x], at[3+x], p[x]) * pmf(2, at[6+x], p[x])
		}
		mixed := 0
		for _, s := range at[6:] {
			mixed += s % 2
		}
		candidates := 3 - mixed // to be dropped: a mixed group only where all are
		if mixed == 3 {
			candidates = 3
		}
		for dropped, s := range at[6:] {
			if s == 1 && mixed < 3 {
				continue
			}
			second := combin.NewCartesianGenerator([]int{3, 3})
			for more := make([]int, 2); second.Next(); {
				second.Product(more)
				part := chance / float64(candidates)
				var wu, sd, sdU, zero, fixedSdU, fixedZero float64
				next := 0
				for x := range p {
					n, s, u := 2, at[6+x], 4*p[x]*(1-p[x])
					if x != dropped {
						part *= pmf(2, more[next], p[x])
						n, s = 4, s+more[next]
						next++
					}
					g := float64(n)
					wu += g * u
					sd += g * sigma(n, s)
					sdU += g * sigma(n, s) * u
					fixedSdU += float64(fixed[x]) * sigma(fixed[x], at[3+x]) * u
					if s == 0 || s == n {
						zero += g
					}
					if f := at[3+x]; f == 0 || f == fixed[x] {
						fixedZero += float64(fixed[x])
					}
				}
				visit(part, outcomeOf(wu, sd, sdU, zero, fixedSdU, fixedZero), wu, sumU)
			}
		}
	}
}

// TestFastIsExact compares 400,000 small batches of the fast path with their
// enumeration by a chi-square test at the level 1e-6, outcomes with an expected
// number below 10 in one cell. A law at a chi-square distance (the sum of
// (q-p)^2/p) of 0.001 is missed with less than 1 %.
func TestFastIsExact(t *testing.T) {
	const batches = 400_000
	small := smallLaw{p: [2]float64{0.6, 0.2}, weight: [2]float64{0.25, 0.75}}
	law, sum := map[smallOutcome]float64{}, 0.0
	small.enumerate(func(chance float64, o smallOutcome, _, _ float64) {
		law[o] += chance
		sum += chance
	})
	if !(math.Abs(sum-1) < 1e-12) {
		t.Fatalf("the enumeration has the mass %v", sum)
	}
	fast, _ := urnAndPlain(t, small.String(), 3, smallStrategy)
	seen := map[smallOutcome]int{}
	for k := range batches {
		if err := fast.replicate(context.Background(), stream.New(uint64(k))); err != nil {
			t.Fatal(err)
		}
		v, f := &fast.arms[0].totals, &fast.arms[1].totals
		seen[outcomeOf(v[totWU], v[totWSigma], v[totWSigmaU], v[totIneffective], f[totWSigmaU], f[totIneffective])]++
	}
	for o := range seen {
		if law[o] == 0 {
			t.Fatalf("the outcome %v came up, which is impossible", o)
		}
	}
	statistic, cells, rest, restSeen := 0.0, 0, 0.0, 0
	for o, p := range law {
		if p*batches < 10 {
			rest += p
			restSeen += seen[o]
			continue
		}
		d := float64(seen[o]) - p*batches
		statistic += d * d / (p * batches)
		cells++
	}
	if d := float64(restSeen) - rest*batches; rest > 0 {
		statistic += d * d / (rest * batches)
		cells++
	}
	if limit := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(1 - 1e-6); !(statistic < limit) {
		t.Errorf("chi-square %.1f with %d cells, want less than %.1f", statistic, cells, limit)
	}
}

// TestUrnMoments: under the uniform law E[p^s (1-p)^(n-s)] is a beta function,
// 1/((n+1) C(n, s)).
func TestUrnMoments(t *testing.T) {
	fast, _ := urnAndPlain(t, "uniform", 16, "vigor")
	for _, n := range []int{0, 1, 2, 8, 22, 38} {
		for s := range n + 1 {
			want := 1 / (float64(n+1) * combin.GeneralizedBinomial(float64(n), float64(s)))
			if got := fast.urn.moment(n, s); !(math.Abs(got-want) < 1e-10*want) {
				t.Errorf("M(%d, %d) = %v, want %v", n, s, got, want)
			}
		}
	}
}

// TestFastWorkersAgree wants the same bytes from any number of workers, and
// others from another seed.
func TestFastWorkersAgree(t *testing.T) {
	var want *Result
	for _, workers := range []int{1, 2, 16} {
		cfg := config(tp15, 700)
		cfg.Workers, cfg.Fast = workers, true
		got := run(t, cfg, synthetic(t, tp15, 33), "vigor:m0=4,rounds=2")
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers give another result than 1", workers)
		}
	}
}

// TestFastSpendsTheSame runs any schedule on both paths: what does not depend on
// outcomes is the same.
func TestFastSpendsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyPlan(t)
		v.Select, v.Ties, v.Reuse = schedule.SelectSample, schedule.TiesRandom, true
		batch := rapid.IntRange(1, 40).Draw(t, "batch")
		law, err := distributions.NewBeta(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		var results [2]*Result
		for i := range results {
			cfg := DefaultConfig()
			cfg.Replicates, cfg.Fast = 2, i == 0
			results[i], err = Run(context.Background(), cfg,
				func() (rollout.TruthSource, error) { return source.NewSynthetic(law, nil, batch) },
				[]NewStrategy{func() (strategy.Strategy, error) { return strategy.NewVigor(v) }})
			if errors.Is(err, ErrNotFast) {
				t.Skip("more rollouts than the fast path takes")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		fast, plain := &results[0].Strategies[0], &results[1].Strategies[0]
		for _, f := range [][2]Estimate{{fast.RolloutsPerPrompt, plain.RolloutsPerPrompt}, {fast.TrainedPerPrompt, plain.TrainedPerPrompt}, {fast.Rounds, plain.Rounds}} {
			if f[0] != f[1] {
				t.Errorf("%+v on the fast path, want %+v", f[0], f[1])
			}
		}
		if !reflect.DeepEqual(fast.GroupSizes, plain.GroupSizes) || len(fast.Screening) != len(plain.Screening) {
			t.Errorf("groups %+v and %d cuts, want %+v and %d", fast.GroupSizes, len(fast.Screening), plain.GroupSizes, len(plain.Screening))
		}
		prompts, rollouts := 0.0, 0.0
		for _, b := range fast.Allocation {
			prompts += b.Share
			if b.Rollouts.Reason == "" {
				rollouts += b.Share * b.Rollouts.Mean
			}
		}
		if !(math.Abs(prompts-1) < 1e-12) || !(math.Abs(rollouts/plain.RolloutsPerPrompt.Mean-1) < 1e-12) {
			t.Errorf("bins hold %v of the prompts and %v rollouts each, want 1 and %v", prompts, rollouts, plain.RolloutsPerPrompt.Mean)
		}
	})
}

// TestMemoryIsLinear runs batches of ten times as many prompts on both paths: what
// is allocated, garbage included, grows at most as they do, but for a megabyte of
// what does not depend on the batch.
func TestMemoryIsLinear(t *testing.T) {
	for _, fast := range []bool{false, true} {
		allocated := func(batch int) uint64 {
			var before, after runtime.MemStats
			cfg := config(tp15, 8)
			cfg.Workers, cfg.Fast = 1, fast
			src := synthetic(t, tp15, batch)
			runtime.ReadMemStats(&before)
			run(t, cfg, src, "vigor")
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		small, large := allocated(20_000), allocated(200_000)
		if large > 10*small+1_000_000 {
			t.Errorf("fast %v: %d bytes for batches of 20,000, %d for 200,000", fast, small, large)
		}
		t.Logf("fast %v: %d bytes a prompt", fast, (large-small)/180_000)
	}
}

func TestFastRefuses(t *testing.T) {
	const tokens = "beta:a=0.5,b=0.5,tokens=100,tokens-cap=300"
	for _, c := range []struct {
		population string
		strategies []string
	}{
		{"uniform", []string{"fixed:g=8"}},
		{"uniform", []string{"vigor", "fixed:g=16"}},
		{"uniform", []string{"vigor", "vigor:m0=4"}},
		{"uniform", []string{"vigor:select=truth"}},
		{"uniform", []string{"vigor:ties=index"}},
		{"uniform", []string{"vigor:reuse=false"}},
		{"uniform", []string{"vigor:m0=20"}},
		{tokens, []string{"vigor"}},
	} {
		cfg := config(c.population, 10)
		cfg.Fast = true
		if _, err := Run(context.Background(), cfg, synthetic(t, c.population, 32), parseAll(c.strategies...)); !errors.Is(err, ErrNotFast) {
			t.Errorf("%s, %v: error %v, want ErrNotFast", c.population, c.strategies, err)
		}
	}
}
