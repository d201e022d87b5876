package theory

// A binomialTable computes binomial probabilities for one n and many p.
type binomialTable struct {
	n        int
	up, down []float64 // (n-s)/(s+1), and (s+1)/(n-s), from s to s+1 and back
	b        []float64 // the last fill
}

func newBinomialTable(n int) *binomialTable {
	t := &binomialTable{n: n, up: make([]float64, n), down: make([]float64, n), b: make([]float64, n+1)}
	for s := range n {
		t.up[s] = float64(n-s) / float64(s+1)
		t.down[s] = float64(s+1) / float64(n-s)
	}
	return t
}

// fill sets b[s], low <= s < high, to the probability of s successes in n,
// over that of the most likely s, and returns their sum. Outside, the values
// are below floor. The recurrence starts at the mode and so never overflows;
// its relative error grows by 1e-16 a step. p = 0 and p = 1 are ordinary.
func (t *binomialTable) fill(p, floor float64) (low, high int, sum float64) {
	mode := min(int(float64(t.n+1)*p), t.n)
	t.b[mode], sum = 1, 1
	low, high = mode, mode+1
	for x, odds := 1.0, p/(1-p); high <= t.n; high++ {
		if x *= t.up[high-1] * odds; !(x > floor) {
			break
		}
		t.b[high] = x
		sum += x
	}
	for x, odds := 1.0, (1-p)/p; low > 0; low-- {
		if x *= t.down[low-1] * odds; !(x > floor) {
			break
		}
		t.b[low-1] = x
		sum += x
	}
	return low, high, sum
}

// pool returns, for every total of successes S in n+m rollouts, the mean of
// r[s] over the successes s among the first n of them, which are
// hypergeometric whatever p is. len(r) = n+1.
func pool(r []float64, m int) []float64 {
	n := len(r) - 1
	pooled := make([]float64, n+m+1)
	for total := range pooled {
		pooled[total] = hypergeometricMean(r, m, total)
	}
	return pooled
}

// hypergeometricMean returns sum_s r[s] C(n,s) C(m,total-s) / C(n+m,total), by
// the ratio recurrence from the mode.
func hypergeometricMean(r []float64, m, total int) float64 {
	n := len(r) - 1
	low, high := max(0, total-m), min(n, total)
	mode := int(float64(total+1) * float64(n+1) / float64(n+m+2))
	mode = min(max(mode, low), high)
	sum, mean := 1.0, r[mode]
	for s, x := mode, 1.0; s < high && x > 1e-290; s++ {
		x *= float64(n-s) * float64(total-s) / (float64(s+1) * float64(m-total+s+1))
		sum += x
		mean += x * r[s+1]
	}
	for s, x := mode, 1.0; s > low && x > 1e-290; s-- {
		x *= float64(s) * float64(m-total+s) / (float64(n-s+1) * float64(total-s+1))
		sum += x
		mean += x * r[s-1]
	}
	return mean / sum
}
