package fit

import (
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/distributions/table"
)

// The classes of a group.
const (
	AllWrong = iota
	Mixed
	AllRight
)

// Drift says how prompts change from visit to visit. Standard errors are over
// prompts, whose visits are not independent.
type Drift struct {
	// Next[i][j] is the share of groups of class i whose prompt's next group
	// is of class j; its Prompts counts the groups of class i.
	Next         [3][3]Share
	Correlations []Correlation
}

// A Correlation is that of p, and of u, at two visits of a prompt, Lag visits
// apart, over all prompts and such pairs: as recorded, s/n for p and
// 4s(n-s)/(n(n-1)) for u, and with the binomial noise taken out of both
// variances. Pairs and Prompts are those of p, whose visits have at least 2
// rollouts; those of u have at least 4. A mean is NaN where a variance is not
// positive, an error where only one prompt has pairs.
type Correlation struct {
	Lag            int
	Pairs, Prompts int
	PlainP, P      Share
	PlainU, U      Share
}

// lags are those that Drifted looks at.
var lags = []int{1, 2, 5, 10, 20, 40}

// Drifted returns the drift of a table, nil where no prompt is visited twice.
func Drifted(t *table.Table) *Drift {
	prompts := t.ByPrompt()
	if !slices.ContainsFunc(prompts, func(rows []table.Row) bool { return len(rows) > 1 }) {
		return nil
	}
	d := &Drift{Next: transitions(prompts)}
	for _, lag := range lags {
		if c := correlation(prompts, lag); c.Prompts > 1 {
			d.Correlations = append(d.Correlations, c)
		}
	}
	return d
}

func class(r table.Row) int {
	switch r.S {
	case 0:
		return AllWrong
	case r.N:
		return AllRight
	}
	return Mixed
}

// transitions counts from each visit to the next. The error of a ratio of sums
// over prompts is that of its linearisation.
func transitions(prompts [][]table.Row) [3][3]Share {
	counts := make([][3][3]float64, len(prompts))
	for i, rows := range prompts {
		for k := range len(rows) - 1 {
			counts[i][class(rows[k])][class(rows[k+1])]++
		}
	}
	var next [3][3]Share
	for from := range 3 {
		var all float64
		var to [3]float64
		for _, c := range counts {
			for j := range 3 {
				to[j] += c[from][j]
				all += c[from][j]
			}
		}
		for j := range 3 {
			share := to[j] / all
			var square float64
			for _, c := range counts {
				rest := c[from][j] - share*(c[from][0]+c[from][1]+c[from][2])
				square += rest * rest
			}
			n := float64(len(counts))
			next[from][j] = Share{share, math.Sqrt(square*n/(n-1)) / all, int(all)}
		}
	}
	return next
}

// Sums of pairs (x, y): how many, x, y, xy and, of the squares, the plain and
// those without noise.
const (
	sumPairs = iota
	sumX
	sumY
	sumXY
	sumXX
	sumYY
	sumXXPure
	sumYYPure
	sums
)

type pairSums [sums]float64

func (s *pairSums) add(x, y estimateOfRow) {
	for i, v := range [sums]float64{1, x.value, y.value, x.value * y.value, x.value * x.value, y.value * y.value, x.square, y.square} {
		s[i] += v
	}
}

func (s pairSums) minus(t pairSums) pairSums {
	for i := range s {
		s[i] -= t[i]
	}
	return s
}

// correlation returns that of the sums: pure without noise.
func (s pairSums) correlation(pure bool) float64 {
	xx, yy := s[sumXX], s[sumYY]
	if pure {
		xx, yy = s[sumXXPure], s[sumYYPure]
	}
	n := s[sumPairs]
	covariance := s[sumXY]/n - s[sumX]/n*s[sumY]/n
	varX, varY := xx/n-(s[sumX]/n)*(s[sumX]/n), yy/n-(s[sumY]/n)*(s[sumY]/n)
	if !(varX > 0 && varY > 0) {
		return math.NaN()
	}
	return covariance / math.Sqrt(varX*varY)
}

// An estimateOfRow is an unbiased estimate of p or u, and one of its square.
type estimateOfRow struct{ value, square float64 }

// estimateP returns s/n and s(s-1)/(n(n-1)).
func estimateP(r table.Row) estimateOfRow {
	s, n := float64(r.S), float64(r.N)
	return estimateOfRow{s / n, s * (s - 1) / (n * (n - 1))}
}

// estimateU returns 4s(n-s)/(n(n-1)), and 16 times the share of ordered
// fourfold choices of rollouts that are right, right, wrong, wrong.
func estimateU(r table.Row) estimateOfRow {
	s, n := float64(r.S), float64(r.N)
	f := n - s
	return estimateOfRow{
		value:  distributions.U(s/n) * n / (n - 1),
		square: 16 * s * (s - 1) * f * (f - 1) / (n * (n - 1) * (n - 2) * (n - 3)),
	}
}

// The rollouts of a visit from which the square of p, and of u, can be told.
const enoughForP, enoughForU = 2, 4

// correlation pairs the visits of every prompt; errors are by the jackknife
// over prompts.
func correlation(prompts [][]table.Row, lag int) Correlation {
	p, u := pairsOf(prompts, lag, enoughForP, estimateP), pairsOf(prompts, lag, enoughForU, estimateU)
	c := Correlation{Lag: lag, Prompts: len(p)}
	for _, s := range p {
		c.Pairs += int(s[sumPairs])
	}
	c.PlainP, c.P = jackknife(p, false), jackknife(p, true)
	c.PlainU, c.U = jackknife(u, false), jackknife(u, true)
	return c
}

// pairsOf returns the sums of every prompt that has pairs of visits with
// rollouts enough.
func pairsOf(prompts [][]table.Row, lag, enough int, of func(table.Row) estimateOfRow) []pairSums {
	var all []pairSums
	for _, rows := range prompts {
		var sums pairSums
		for k := range max(0, len(rows)-lag) {
			if x, y := rows[k], rows[k+lag]; x.N >= enough && y.N >= enough {
				sums.add(of(x), of(y))
			}
		}
		if sums[sumPairs] > 0 {
			all = append(all, sums)
		}
	}
	return all
}

func jackknife(prompts []pairSums, pure bool) Share {
	var all pairSums
	for _, s := range prompts {
		for i, v := range s {
			all[i] += v
		}
	}
	n := float64(len(prompts))
	left := make([]float64, len(prompts))
	var mean float64
	for i, s := range prompts {
		left[i] = all.minus(s).correlation(pure)
		mean += left[i] / n
	}
	var square float64
	for _, x := range left {
		square += (x - mean) * (x - mean)
	}
	return Share{all.correlation(pure), math.Sqrt(square * (n - 1) / n), len(prompts)}
}
