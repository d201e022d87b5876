package theory

import "math"

// logProduct returns ln(alpha*gamma), both positive and finite, to 1e-16
// absolutely where the product is near 1.
func logProduct(alpha, gamma float64) float64 {
	if x := alpha * gamma; x > 1e-300 {
		return math.Log(x)
	}
	return math.Log(alpha) + math.Log(gamma) // the product may have underflowed
}

// geometric returns exp(-max(0, (n-1)l)) * sum_{i<n} exp(i*l), the geometric
// sum over its largest term. It lies in [1, n] and has no cancellation near
// l = 0.
func geometric(l, n float64) float64 {
	l = math.Abs(l)
	if l == 0 {
		return n
	}
	return math.Expm1(-n*l) / math.Expm1(-l)
}

// geometricRatio returns sum_{i<n} b^i / sum_{i<n} a^i for b = a*q, from
// logA = ln a and logQ = ln q >= 0. Its relative error is about
// n*1e-16*max(|ln a|, ln q); it is +Inf only where the ratio passes float64.
func geometricRatio(logA, logQ, n float64) float64 {
	logB := logA + logQ
	top := (n - 1) * max(logB, 0) // ln of b's largest term over a's
	if logA > 0 {
		top = (n - 1) * logQ
	}
	half := math.Exp(top / 2) // the ratio may be finite where exp(top) is not
	return half * (geometric(logB, n) / geometric(logA, n)) * half
}
