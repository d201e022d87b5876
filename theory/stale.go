package theory

import (
	"errors"
	"math"
)

// ChiSquareBound returns R^2 E[(ln r)^2], which bounds chi^2 = E[(r-1)^2] where
// every ratio r lies in [1/R, R] (M2PO, arXiv 2510.01161, Theorem 5.1: |e^x - 1|
// <= R |x| for |x| <= ln R). r >= 1, square >= 0.
func ChiSquareBound(r, square float64) (float64, error) {
	err := errors.Join(
		unless(r >= 1 && r <= math.MaxFloat64, outside("R", r, "[1, Inf)")),
		unless(square >= 0 && square <= math.MaxFloat64, outside("square", square, "[0, Inf)")),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("R^2 E[(ln r)^2]", r*r*square)
}

// MaskedGaussian returns the share of the tokens in its trust region that M2PO's
// Algorithm 1 masks where ln r ~ N(0, sd^2), independently of the advantage's
// sign, and of many tokens: P(|ln r| > c), E[(ln r)^2 | |ln r| <= c] = tau. It
// is 0 where sd^2 <= tau. sd and tau > 0.
func MaskedGaussian(sd, tau float64) (float64, error) {
	if err := checkGaussian(sd, tau); err != nil {
		return math.NaN(), err
	}
	t := gaussianCut(sd, tau, func(t float64) float64 { return halfSquare(t) / halfMass(t) })
	return 1 - halfMass(t), nil
}

// HeldGaussian is MaskedGaussian for the released code of M2PO, which caps
// |ln r| in place of masking, E[min(|ln r|, c)^2] = tau, and clips ratios to
// [min(e^-c, low), max(e^c, high)]: the share of the trust region's tokens that
// lie beyond. The code has low = 0.7 and high = 1.5; low = high = 1 leaves c
// alone. low in (0, 1], high >= 1.
func HeldGaussian(sd, tau, low, high float64) (float64, error) {
	err := errors.Join(
		checkGaussian(sd, tau),
		unless(low > 0 && low <= 1, outside("low", low, "(0, 1]")),
		unless(high >= 1 && high <= math.MaxFloat64, outside("high", high, "[1, Inf)")),
	)
	if err != nil {
		return math.NaN(), err
	}
	t := gaussianCut(sd, tau, func(t float64) float64 { return halfSquare(t) + t*t*(1-halfMass(t)) })
	below, above := max(t, -math.Log(low)/sd), max(t, math.Log(high)/sd)
	return (1-halfMass(below))/2 + (1-halfMass(above))/2, nil
}

// halfMass is P(|x| <= t) and halfSquare E[x^2; |x| <= t] of a standard normal x.
func halfMass(t float64) float64 { return math.Erf(t / math.Sqrt2) }

func halfSquare(t float64) float64 {
	if math.IsInf(t, 1) {
		return 1
	}
	return halfMass(t) - 2*t*math.Exp(-t*t/2)/math.Sqrt(2*math.Pi)
}

// gaussianCut returns the t with sd^2 square(t) = tau, square rising from 0 to 1,
// and +Inf where no cut is needed.
func gaussianCut(sd, tau float64, square func(t float64) float64) float64 {
	if sd*sd <= tau {
		return math.Inf(1)
	}
	low, high := 0.0, 40.0 // beyond 38 the normal law is 0 in float64
	for range 200 {
		t := (low + high) / 2
		if sd*sd*square(t) < tau {
			low = t
		} else {
			high = t
		}
	}
	return (low + high) / 2
}

func checkGaussian(sd, tau float64) error {
	return errors.Join(
		unless(sd > 0 && sd <= math.MaxFloat64, outside("sd", sd, "(0, Inf)")),
		unless(tau > 0 && tau <= math.MaxFloat64, outside("tau", tau, "(0, Inf)")),
	)
}
