package train

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
)

// ratios appends the weight w = pi/mu of every outcome, from the token log
// probabilities of the two, and 0 for an outcome that no rollout had.
func ratios(dst []float64, g *Group, outcomes []Outcome, pi, mu []float64) []float64 {
	t := 0
	for k, o := range outcomes {
		sum := 0.0
		for end := t + o.Tokens; t < end; t++ {
			sum += pi[t] - mu[t]
		}
		w := 0.0
		if g.Counts[k] > 0 {
			w = math.Exp(sum)
		}
		dst = append(dst, w)
	}
	return dst
}

// snapshot returns the token log probabilities of the groups' prompts under the
// policy as it stands, for later.
func snapshot(p Policy, groups []Group) func(x int) []float64 {
	logp := map[int][]float64{}
	for i := range groups {
		x := groups[i].X
		if logp[x] == nil {
			logp[x] = p.LogProbs(nil, x)
		}
	}
	return func(x int) []float64 { return logp[x] }
}

// eachGroup calls f with the outcome counts of every group of n rollouts of
// outcomes of the given probabilities, and with the group's probability. f must
// not keep the counts.
func eachGroup(prob []float64, n int, f func(counts []int, chance float64)) {
	counts := make([]int, len(prob))
	var fill func(k, left int, chance float64)
	fill = func(k, left int, chance float64) {
		if k == len(prob)-1 {
			counts[k] = left
			f(counts, chance*math.Pow(prob[k], float64(left)))
			return
		}
		for c := range left + 1 {
			counts[k] = c
			fill(k+1, left-c, chance*float64(combin.Binomial(left, c))*math.Pow(prob[k], float64(c)))
		}
	}
	fill(0, n, 1)
}

// ChiSquare returns chi^2(pi || mu) = sum (pi-mu)^2/mu over outcomes of
// probabilities pi and mu, slices of one length: 1 + chi^2 is the second moment
// under mu of the weights pi/mu. It is +Inf where mu is 0 and pi is not.
func ChiSquare(pi, mu []float64) float64 {
	sum := 0.0
	for k := range pi {
		if d := pi[k] - mu[k]; d != 0 {
			sum += d * d / mu[k]
		}
	}
	return sum
}
