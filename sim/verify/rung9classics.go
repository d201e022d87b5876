package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/strategy"
)

// greedyOptima tries greedy allocation against every allocation of small
// batches, and the real optima of VIP against their conditions.
func greedyOptima(_ context.Context, e *env) (*Section, error) {
	s := &Section{}
	for _, g := range []struct {
		id, claim string
		ratio     func(r *rand.Rand) float64
	}{
		{"neyman", "sum s_i/L_i is least where each further rollout goes to the largest s/(L(L+1)) (Speculative Evaluation, Neyman in whole numbers)", neymanBeside},
		{"cero", "sum 1 - exp(-4 lambda q z/R) is largest by greedy units (CERO's optimum)", ceroBeside},
		{"hits", "sum 1 - (1-p)^n is largest by greedy rollouts (the objective of " + horaLabel + ")", oracleBeside("hits", func(p float64, n int) float64 { return 1 - math.Pow(1-p, float64(n)) })},
		{"effective", "sum 1 - p^n - (1-p)^n is largest by greedy rollouts after the second (Knapsack's probability)", oracleBeside("effective", strategy.EffectiveProbability)},
		{"gradient-variance", "sum Var(RLOO) is least by greedy rollouts after the second: " + vipLabel, oracleBeside("gradient-variance", func(p float64, n int) float64 { return -strategy.RLOOVariance(p, n) })},
	} {
		r, w := e.generator(g.id), worst{}
		for range e.replicates(100, 1000) {
			w.add(g.ratio(r))
		}
		s.Rows = append(s.Rows, w.within(Row{
			ID: g.id, Kind: Claim, Claim: g.claim,
			Method: "every allocation of random batches of three or four prompts; the best of all over greedy's",
		}))
	}
	rows, err := e.shiftedNeyman()
	if err != nil {
		return nil, err
	}
	s.Rows = append(s.Rows, rows...)
	return s, nil
}

// everySum calls f with every vector of prompts whole numbers in [least, most]
// that sum to total; f keeps no copy.
func everySum(prompts, total, least, most int, f func(n []int)) {
	n := make([]int, prompts)
	var fill func(i, left int)
	fill = func(i, left int) {
		if i == prompts-1 {
			if n[i] = left; left >= least && left <= most {
				f(n)
			}
			return
		}
		for n[i] = least; n[i] <= min(most, left); n[i]++ {
			fill(i+1, left-n[i])
		}
	}
	fill(0, total)
}

// neymanBeside returns the least sum s/L over that of NeymanIntegers, inverted,
// so that 1 is exact and more is worse.
func neymanBeside(r *rand.Rand) float64 {
	s, l := make([]float64, 4), make([]int, 4)
	for i := range s {
		s[i] = r.Float64() * r.Float64()
	}
	total := 4 + r.IntN(12)
	strategy.NeymanIntegers(s, total, nil, l)
	sum := func(n []int) (sum float64) {
		for i, n := range n {
			sum += s[i] / float64(n)
		}
		return sum
	}
	best := math.Inf(1)
	everySum(len(s), total, 1, total, func(n []int) { best = min(best, sum(n)) })
	return sum(l) / best
}

func ceroBeside(r *rand.Rand) float64 {
	q := []float64{r.Float64() / 4, r.Float64() / 4, r.Float64() / 4}
	most, lambda := 1+r.IntN(6), 3*r.Float64()
	budget := 1 + r.IntN(3*most)
	sum := func(z []int) (sum float64) {
		for i, z := range z {
			sum += strategy.CeroUtility(q[i], float64(z), lambda, float64(budget)/3)
		}
		return sum
	}
	best := 0.0
	everySum(len(q), budget, 0, most, func(z []int) { best = max(best, sum(z)) })
	return best / sum(strategy.CeroOptimum(q, budget, most, lambda))
}

// oracleBeside returns how the best of all allocations of a batch compares with
// the oracle's for a sum of values that do not fall, or that are negative. A
// ratio of 1 is exact, and more is worse.
func oracleBeside(objective string, value func(p float64, n int) float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		p := []float64{r.Float64(), r.Float64() * r.Float64(), r.Float64(), 1 - r.Float64()*r.Float64()}
		g, least := 2+r.IntN(3), 0
		if objective == "gradient-variance" {
			least = 2
		}
		b, err := newBench(fmt.Sprintf("oracle:objective=%s,g=%d,hard=1", objective, g), p, r)
		if err != nil {
			return math.NaN()
		}
		if err := b.step(len(p), nil); err != nil {
			return math.NaN()
		}
		got := 0.0
		for x, n := range b.batch.N {
			got += value(b.p[b.batch.ID[x]], n)
		}
		best := math.Inf(-1)
		everySum(len(p), g*len(p), least, g*len(p), func(n []int) {
			sum := 0.0
			for i, n := range n {
				sum += value(p[i], n)
			}
			best = max(best, sum)
		})
		if best < 0 {
			return got / best
		}
		return best / got
	}
}

// shiftedNeyman checks VIP's optimum in real numbers by its Karush-Kuhn-Tucker
// conditions: a/(n-1)^2 is one price for all groups within their bounds, at most
// that for those at the lower, at least for those at the upper. The problem is
// convex, so that they are enough.
func (e *env) shiftedNeyman() ([]Row, error) {
	const low, high, tolerance = 2, 32, 1e-6
	r, price, total := e.generator("vip"), worst{}, worst{}
	for range e.replicates(200, 2000) {
		a := variances([]float64{r.Float64(), r.Float64(), r.Float64() * r.Float64(), 1 - r.Float64()*r.Float64(), r.Float64(), r.Float64()})
		want := float64(len(a)) * (low + r.Float64()*10)
		n, err := strategy.RLOOGroups(a, want, low, high)
		if err != nil {
			return nil, err
		}
		sum, inner := 0.0, []float64{}
		for i, n := range n {
			sum += n
			if n > low && n < high {
				inner = append(inner, a[i]/(n-1)/(n-1))
			}
		}
		total.add(math.Abs(sum-want) / want)
		for i, n := range n {
			for _, lambda := range inner {
				switch slope := a[i] / (n - 1) / (n - 1); {
				case n <= low:
					price.add(slope / lambda / (1 + tolerance))
				case n >= high:
					price.add(lambda / slope / (1 + tolerance))
				default:
					price.add(max(slope/lambda, lambda/slope) / (1 + tolerance))
				}
			}
		}
	}
	row := price.within(Row{
		ID: "vip", Kind: Claim,
		Claim:  vipLabel + ": the optimum is Neyman's shifted by one, n - 1 proportional to sqrt(p(1-p)) between the bounds, by the Karush-Kuhn-Tucker conditions",
		Method: "random batches of six prompts; the largest ratio of two prices that must be equal, or ordered",
		Test:   fmt.Sprintf("prices agree within %g, the accuracy of a bisection", tolerance),
	})
	spent := total.equal(Row{
		ID: "vip-budget", Kind: Check, Claim: "these groups spend the budget", Method: "the same batches; the largest relative difference",
	})
	return []Row{row, spent}, nil
}

// neymanGap checks by how much equal groups are worse than Neyman's, and the
// ceiling on what allocation by variance can save.
func neymanGap(_ context.Context, e *env) (*Section, error) {
	r, gap := e.generator("gap"), worst{}
	for range e.replicates(200, 2000) {
		p, total := make([]float64, 2+r.IntN(30)), 1+100*r.Float64()
		for i := range p {
			p[i] = r.Float64()
		}
		pairs := 0.0 // Lagrange's identity
		for i := range p {
			for j := range i {
				d := math.Sqrt(p[i]*(1-p[i])) - math.Sqrt(p[j]*(1-p[j]))
				pairs += d * d / total
			}
		}
		gap.add(math.Abs(strategy.UniformVariance(p, total)-strategy.NeymanVariance(p, total)-pairs) / strategy.UniformVariance(p, total))
	}
	six := []float64{.02, .1, .3, .5, .8, .95}
	uniform, err := rewarding(popUniform)
	if err != nil {
		return nil, err
	}
	var sd, v float64
	for _, n := range uniform.Nodes(20_000) {
		sd += n.W * math.Sqrt(n.P*(1-n.P))
		v += n.W * n.P * (1 - n.P)
	}
	return &Section{Rows: []Row{
		gap.equal(Row{
			ID: "gap", Kind: Claim,
			Claim:  "equal groups have a variance larger than Neyman's by sum_{i<j} (sigma_i - sigma_j)^2/N, never smaller",
			Method: "two formulas on random batches; the largest relative difference",
		}),
		printed(Row{ID: "six", Claim: "six prompts, 48 rollouts: the least variance is .0846890", Method: "closed form"}, strategy.NeymanVariance(six, 48), .0846890, 7),
		printed(Row{ID: "six-equal", Claim: "six prompts, 48 rollouts: equal groups have .0971375", Method: "closed form"}, strategy.UniformVariance(six, 48), .0971375, 7),
		printed(Row{
			ID: "ceiling", Claim: "of uniform p no allocation by variance saves more than 7.5 %: (E sigma)^2/E[sigma^2] = .925275", Method: "quadrature over the law",
		}, sd*sd/v, strategy.NeymanUniformLimit, 8),
	}}, nil
}

// slopeCases are batches on which MC-UCB's excess variance falls at least by a
// power of the rollouts, as its papers bound it.
var slopeCases = []struct {
	id, claim   string
	p           []float64
	logs        float64 // the power of ln n that is divided out
	slope       float64
	note        string
	quick, full int
}{
	{
		"mixed", "with variance in every prompt the excess over Neyman's variance falls at least as n^(-3/2)",
		[]float64{.5, .2, .05, .9},
		0, -1.5,
		"the best allocation has no first-order error, so that the local slope tends to -2: the bound is loose here", 100, 1000,
	},
	{
		"dead", "with a dead prompt it falls at least as n^(-4/3) (ln n)^(1/3), the rate whatever the prompts",
		[]float64{.5, .2, 0},
		1. / 3, -4. / 3, "a dead prompt keeps its confidence bound level with the others': its rollouts grow as n^(2/3)", 100, 1000,
	},
	{
		"dead-mixed", "n^(-3/2) holds with a dead prompt too",
		[]float64{.5, .2, 0},
		0, -1.5, "the bound that depends on the prompts grows without limit as a variance goes to 0", 100, 1000,
	},
}

// ucbSlopes measures how fast MC-UCB comes to Neyman's variance.
func ucbSlopes(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for i, c := range slopeCases {
		excess, err := e.ucbExcess(ctx, c.id, c.p, e.replicates(c.quick, c.full))
		if err != nil {
			return nil, err
		}
		slope := logSlope(excess, c.logs)
		row := atMost(Row{
			ID: c.id, Claim: ucbLabel + ": " + c.claim, Note: c.note,
			Method: fmt.Sprintf("simulated at p = %v with c = 0.5 and 64, 256 and 1,024 rollouts a prompt; slope of ln(excess) in ln(n), weighted", c.p),
		}, slope.Mean, slope.SE, c.slope)
		row.Kind = Claim
		s.Rows = append(s.Rows, row)
		s.Curves = append(s.Curves, excessCurves(c.p, c.slope, excess, e.replicates(c.quick, c.full))...)
		e.progress(i+1, len(slopeCases))
	}
	return s, nil
}

// An excess is how far MC-UCB's variance with so many rollouts lies above the
// least.
type excess struct {
	rollouts float64
	sim.Estimate
}

// ucbExcess measures it at three budgets.
func (e *env) ucbExcess(ctx context.Context, part string, p []float64, runs int) ([]excess, error) {
	var all []excess
	r := e.generator(part)
	for _, g := range []int{64, 256, 1024} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := newBench(fmt.Sprintf("mc-ucb:g=%d,c=0.5", g), p, r)
		if err != nil {
			return nil, err
		}
		total := float64(g * len(p))
		over := make([]float64, runs)
		for k := range over {
			if err := b.step(len(p), nil); err != nil {
				return nil, err
			}
			over[k] = -strategy.NeymanVariance(p, total)
			for x, id := range b.batch.ID {
				over[k] += p[id] * (1 - p[id]) / float64(b.batch.N[x])
			}
		}
		all = append(all, excess{total, ofMean(over)})
	}
	return all, nil
}

// logSlope fits the slope of ln(excess/(ln n)^logs) in ln n.
func logSlope(all []excess, logs float64) sim.Estimate {
	var x, y, weight []float64
	for _, e := range all {
		x = append(x, math.Log(e.rollouts))
		y = append(y, math.Log(e.Mean)-logs*math.Log(math.Log(e.rollouts)))
		weight = append(weight, e.Mean*e.Mean/(e.SE*e.SE)) // 1/variance of ln mean
	}
	_, slope := stat.LinearRegression(x, y, weight, false)
	center, spread := stat.Mean(x, weight), 0.0
	for i := range x {
		spread += weight[i] * (x[i] - center) * (x[i] - center)
	}
	return sim.Estimate{Mean: slope, SE: 1 / math.Sqrt(spread)}
}

// excessCurves draws the excess, and beside it the claimed power of the rollouts
// from where it begins.
func excessCurves(p []float64, power float64, all []excess, runs int) []Curve {
	batch := fmt.Sprintf("p = %s", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(p), "[]")), ", "))
	seen, claim := Curve{Figure: FigureExcess, Family: batch, Kind: MonteCarlo}, Curve{Figure: FigureExcess, Family: fmt.Sprintf("%s: n^(%.3g)", batch, power), Kind: ClosedForm}
	for _, e := range all {
		seen.Points = append(seen.Points, point(e.rollouts, e.Estimate))
		claim.Points = append(claim.Points, Point{X: e.rollouts, Y: all[0].Mean * math.Pow(e.rollouts/all[0].rollouts, power)})
	}
	return append(Setting{Population: batch, Strategy: labelled("mc-ucb:c=0.5"), Batch: len(p), Replicates: runs}.in(seen), claim)
}

// halvingCases are batches whose first prompt has the highest variance.
var halvingCases = []struct {
	g int
	p []float64
}{
	{2500, []float64{.5, .1, .05, 0}},
	{1500, []float64{.5, .1, .1, .05, .95, 0, 0, 0}},
}

// halvingErrors holds sequential halving's bound, for means, against errors in
// ranking variances, where the sample variance is a U-statistic with a kernel in
// [0, 1/2].
func halvingErrors(ctx context.Context, e *env) (*Section, error) {
	const claim = "P(the best is lost) <= 3 log2 K exp(-T/(8 H2 log2 K)), H2 of the gaps between p(1-p)"
	two := worst{}
	for _, p := range []float64{.5, .4, .3, .2} {
		for _, q := range []float64{0, .05, .1, .85, .98, 1} {
			for _, n := range []int{2, 3, 5, 8, 40, 101, 300, 1000, 3000} {
				two.add(errorOfTwo(n, p, q) / strategy.SequentialHalvingBound([]float64{q * (1 - q), p * (1 - p)}, 2*n))
			}
		}
	}
	s := &Section{Rows: []Row{two.within(Row{
		ID: "two", Kind: Claim, Claim: halvingLabel + " for reward variances, two prompts: " + claim,
		Method: "exact binomial sums; the largest probability over its bound",
		Note:   "the transfer from means to variances is this project's",
	})}}
	for i, c := range halvingCases {
		id := fmt.Sprintf("%d-prompts", len(c.p))
		b, err := newBench(fmt.Sprintf("sequential-halving:g=%d", c.g), c.p, e.generator(id))
		if err != nil {
			return nil, err
		}
		h := b.s.(*strategy.SequentialHalving) // the text says so
		runs, lost := e.replicates(1000, 10_000), 0
		for range runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := b.step(len(c.p), nil); err != nil {
				return nil, err
			}
			if b.batch.ID[h.Kept()[0]] != 0 {
				lost++
			}
		}
		share := float64(lost) / float64(runs)
		se := max(math.Sqrt(share*(1-share)/float64(runs)), 1/float64(runs)) // none lost is not none
		row := atMost(Row{
			ID: id, Claim: fmt.Sprintf("%s for reward variances, %d prompts: %s", halvingLabel, len(c.p), claim),
			Method: fmt.Sprintf("simulated at p = %v, %d rollouts", c.p, h.Budget(len(c.p))),
		}, share, se, strategy.SequentialHalvingBound(variances(c.p), h.Budget(len(c.p))))
		row.Kind = Claim
		s.Rows = append(s.Rows, row)
		e.progress(i+1, len(halvingCases))
	}
	return s, nil
}

// errorOfTwo is the probability that n rollouts each rank the prompt of success
// rate q above that of p by min(s, n-s), a tie counting half.
func errorOfTwo(n int, p, q float64) float64 {
	best, other := make([]float64, n/2+1), make([]float64, n/2+1)
	for s := range n + 1 {
		best[min(s, n-s)] += distributions.BinomialProbability(n, s, p)
		other[min(s, n-s)] += distributions.BinomialProbability(n, s, q)
	}
	below, wrong := 0., 0.
	for l := range best {
		wrong += other[l] * (below + best[l]/2)
		below += best[l]
	}
	return wrong
}
