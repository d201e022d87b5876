package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/distributions"
)

// randomTheta draws parameters inside their ranges, away from where a law has
// no probability to speak of.
func randomTheta(f *family, r *rand.Rand) []float64 {
	within := map[string][2]float64{
		"a": {0.05, 20}, "b": {0.05, 20}, "dead": {0, 0.4}, "solved": {0, 0.4},
		"min": {0.01, 0.3}, "max": {0.4, 1}, "hard": {0.1, 0.9}, "shape": {-3, 3},
	}
	theta := make([]float64, len(f.ranges))
	for j, p := range f.ranges {
		ends := within[p.name]
		if p.log {
			theta[j] = ends[0] * math.Pow(ends[1]/ends[0], r.Float64())
		} else {
			theta[j] = max(p.low, ends[0]+(ends[1]-ends[0])*r.Float64())
		}
	}
	return theta
}

// TestProbabilitiesSumToOne asks every family for every count.
func TestProbabilitiesSumToOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, v := range []view{whole, foldedMixed} {
		for _, f := range families {
			for _, n := range []int{2, 3, 8, 200} {
				theta := randomTheta(f, r)
				cells := v.support(n)
				logs := make([]float64, len(cells))
				v.over(f, cells).logs(theta, logs, nil)
				var sum float64
				for _, x := range logs {
					sum += math.Exp(x)
				}
				near(t, fmt.Sprintf("%s of %s%v, n = %d: sum", v.name, f.name, theta, n), sum, 1, 1e-9)
			}
		}
	}
}

// TestFoldedByHand: of 4 rollouts of a uniform p every count is as likely; where
// prompts are next to dead, all that are mixed have a single success.
func TestFoldedByHand(t *testing.T) {
	for _, c := range []struct {
		family string
		theta  []float64
		n      int
		want   []float64
		tol    float64
	}{
		{Beta, []float64{1, 1}, 4, []float64{2. / 3, 1. / 3}, 1e-15},
		{Beta, []float64{smallestBeta, largestBeta}, 6, []float64{1, 0, 0}, 3e-6},
		{TruncatedPareto, []float64{1, smallestU, 1.5 * smallestU, 0.3}, 32, slices.Concat([]float64{1}, make([]float64, 15)), 1e-7},
		{ParetoVariance, []float64{20, 1e-8, 1}, 3, []float64{1}, 1e-15},
	} {
		cells := foldedMixed.support(c.n)
		logs := make([]float64, len(cells))
		foldedMixed.over(familyNamed(c.family), cells).logs(c.theta, logs, nil)
		for i, x := range cells {
			near(t, fmt.Sprintf("%s%v: P(%d of %d)", c.family, c.theta, x.S, x.N), math.Exp(logs[i]), c.want[i], c.tol)
		}
	}
}

// TestProbabilitiesOfLaws compares each family with its law's quadrature nodes.
func TestProbabilitiesOfLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, f := range families {
		for range 20 {
			theta := randomTheta(f, r)
			law, err := f.law(theta)
			if err != nil {
				if f.ranges[0].low < 0 && theta[0] <= 0 {
					continue // a shape that distributions has no law for
				}
				t.Errorf("%s%v: %v", f.name, theta, err)
				continue
			}
			nodes := law.Nodes(2000)
			cells := []Cell{{N: 1}, {N: 5}, {N: 5, S: 2}, {N: 5, S: 5}, {N: 40, S: 39}}
			logs := make([]float64, len(cells))
			f.over(cells).logs(theta, logs, nil)
			for i, x := range cells {
				var want float64
				for _, node := range nodes {
					want += node.W * distributions.BinomialProbability(x.N, x.S, node.P)
				}
				near(t, fmt.Sprintf("%s%v: P(%d of %d)", f.name, theta, x.S, x.N), math.Exp(logs[i]), want, 1e-9)
			}
		}
	}
}

// TestSlopes compares derivatives with differences of four points, whose error
// is of the order of step^4.
func TestSlopes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	cells := []Cell{{N: 2, S: 1}, {N: 9, S: 1}, {N: 9, S: 4}}
	for _, v := range []view{whole, foldedMixed} {
		for _, f := range families {
			for range 10 {
				seen := cells
				if v.name == whole.name {
					seen = append(slices.Clone(cells), Cell{N: 9}, Cell{N: 9, S: 9}, Cell{N: 9, S: 8})
				}
				theta := randomTheta(f, r)
				like := v.over(f, seen)
				logs, slopes := make([]float64, len(seen)), make([][]float64, len(theta))
				for j := range slopes {
					slopes[j] = make([]float64, len(seen))
				}
				like.logs(theta, logs, slopes)
				for j, p := range f.ranges {
					step := 1e-3 * math.Abs(theta[j])
					if theta[j]-2*step < p.low || theta[j]+2*step > p.high {
						continue
					}
					want := make([]float64, len(seen))
					for _, d := range []struct{ by, weight float64 }{{-2, 1}, {-1, -8}, {1, 8}, {2, -1}} {
						moved := slices.Clone(theta)
						moved[j] += d.by * step
						like.logs(moved, logs, nil)
						for i := range want {
							want[i] += d.weight * logs[i] / (12 * step)
						}
					}
					for i, x := range seen {
						near(t, fmt.Sprintf("%s, %s%v: slope by %s at %d of %d", v.name, f.name, theta, p.name, x.S, x.N),
							slopes[j][i], want[i], 1e-6*(1+math.Abs(want[i])))
					}
				}
			}
		}
	}
}

// TestRanges checks unit, at and slope against each other.
func TestRanges(t *testing.T) {
	for _, p := range []parameterRange{rangeA, rangeHard, rangeMin, shapeOfAnySign} {
		for _, unit := range []float64{0, 0.1, 0.5, 0.9, 1} {
			x := p.at(unit)
			near(t, p.name+": unit", p.unit(x), unit, 1e-13)
			if unit > 0 && unit < 1 {
				const h = 1e-6
				near(t, p.name+": slope", p.slope(x), (p.at(unit+h)-p.at(unit-h))/(2*h), 1e-6*p.slope(x))
			}
		}
	}
}

// TestShapeZero walks through shape 0, where the norms are differences of
// equals.
func TestShapeZero(t *testing.T) {
	f := familyNamed(TruncatedParetoFree)
	s := newSearch(whole, f, mustCounts(t, []Cell{{8, 0, 5}, {8, 3, 2}, {8, 8, 1}}))
	at := func(shape float64) float64 { return s.at([]float64{shape, 0.01, 0.9, 0.6}) }
	slope := make([]float64, 4)
	for _, shape := range []float64{0, 1e-18, 1e-9, 1e-5, 2.2e-4, 1e-3} {
		s.slope([]float64{shape, 0.01, 0.9, 0.6}, slope)
		near(t, fmt.Sprintf("slope by shape at %v", shape), slope[0], (at(shape+1e-4)-at(shape-1e-4))/2e-4, 1e-7)
	}
}

// TestFigures checks what probabilities of counts say of E[p], E[u] and groups
// against the law itself.
func TestFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, f := range families {
		for range 5 {
			theta := randomTheta(f, r)
			law, err := f.law(theta)
			if err != nil {
				continue
			}
			e := &estimate{family: f, optimum: optimum{theta: theta}}
			got := e.figures()
			what := fmt.Sprintf("%s%v: ", f.name, theta)
			near(t, what+"E[p]", got.MeanP, law.MeanP(), 1e-9)
			near(t, what+"E[u]", got.MeanU, law.MeanU(), 1e-9)
			sqrtU := meanSqrtByTails(law)
			near(t, what+"gain", got.Gain, law.MeanU()/(sqrtU*sqrtU), 1e-4*got.Gain)
			for i, g := range groupSizes {
				var want float64
				for _, node := range law.Nodes(2000) {
					want += node.W * (math.Pow(node.P, float64(g)) + math.Pow(1-node.P, float64(g)))
				}
				near(t, what+fmt.Sprintf("zero variance at %d", g), got.ZeroVariance[i], want, 1e-9)
			}
		}
	}
}

// meanSqrtByTails returns E[sqrt u], the integral of P(sqrt u > x), by the
// midpoint rule over x = y^4, which tames laws that crowd at u = 0.
func meanSqrtByTails(law distributions.Law) float64 {
	const n = 20_000
	var sum float64
	for i := range n {
		y := (float64(i) + 0.5) / n
		x := y * y * y * y
		sum += (1 - law.CDFU(x*x)) * 4 * y * y * y / n
	}
	return sum
}
