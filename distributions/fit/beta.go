package fit

import "math"

// A betaBinomial is the likelihood of the Beta family, with parameters a and b:
//
//	P(s | n) = n!/(s!(n-s)!) (a)_s (b)_{n-s} / (a+b)_n,
//
// (a)_s = a(a+1)...(a+s-1), so that no Gamma functions cancel.
type betaBinomial struct {
	cells    []Cell
	choose   []float64
	hit      rising // (a)_i
	miss     rising // (b)_i
	together rising // (a+b)_i
}

func newBetaBinomial(cells []Cell) *betaBinomial {
	n := maxN(cells)
	return &betaBinomial{cells, chooseAll(cells), newRising(n), newRising(n), newRising(n)}
}

// chooseAll returns the logarithm of every cell's binomial coefficient.
func chooseAll(cells []Cell) []float64 {
	choose := make([]float64, len(cells))
	for i, x := range cells {
		choose[i] = logChoose(x.N, x.S)
	}
	return choose
}

func (l *betaBinomial) logs(theta, logs []float64, slopes [][]float64) {
	l.hit.set(theta[0])
	l.miss.set(theta[1])
	l.together.set(theta[0] + theta[1])
	for i, x := range l.cells {
		s, f := x.S, x.N-x.S
		logs[i] = l.choose[i] + l.hit.log[s] + l.miss.log[f] - l.together.log[x.N]
		if slopes != nil {
			slopes[0][i] = l.hit.slope[s] - l.together.slope[x.N]
			slopes[1][i] = l.miss.slope[f] - l.together.slope[x.N]
		}
	}
}

// A rising holds the logarithms of 1, x, x(x+1), ... and their derivatives.
type rising struct{ log, slope []float64 }

func newRising(n int) rising { return rising{make([]float64, n+1), make([]float64, n+1)} }

func (r rising) set(x float64) {
	for i := range len(r.log) - 1 {
		r.log[i+1] = r.log[i] + math.Log(x+float64(i))
		r.slope[i+1] = r.slope[i] + 1/(x+float64(i))
	}
}

// A spikedBeta is the likelihood of the zero- and one-inflated Beta family,
// with parameters dead, solved, a and b.
type spikedBeta struct{ *betaBinomial }

func (l spikedBeta) logs(theta, logs []float64, slopes [][]float64) {
	dead, solved := theta[0], theta[1]
	share := 1 - dead - solved
	if !(share >= 0) {
		fill(logs, math.Inf(-1))
		return
	}
	var body [][]float64
	if slopes != nil {
		body = slopes[2:]
	}
	l.betaBinomial.logs(theta[2:], logs, body)
	for i, x := range l.cells {
		p := share * math.Exp(logs[i]) // of the body
		all := p
		switch x.S {
		case 0:
			all += dead
		case x.N:
			all += solved
		}
		if slopes != nil {
			spike := -math.Exp(logs[i]) / all
			slopes[0][i], slopes[1][i] = spike, spike
			switch x.S {
			case 0:
				slopes[0][i] += 1 / all
			case x.N:
				slopes[1][i] += 1 / all
			}
			body[0][i] *= p / all
			body[1][i] *= p / all
		}
		logs[i] = math.Log(all)
	}
}

func fill(x []float64, value float64) {
	for i := range x {
		x[i] = value
	}
}

// betaMeanSqrtU returns E[sqrt u] = 2 B(a+1/2, b+1/2) / B(a,b).
func betaMeanSqrtU(a, b float64) float64 { return 2 * halfStep(a) * halfStep(b) / (a + b) }

// halfStep returns Gamma(x+1/2)/Gamma(x).
func halfStep(x float64) float64 {
	over, _ := math.Lgamma(x + 0.5)
	under, _ := math.Lgamma(x)
	return math.Exp(over - under)
}
