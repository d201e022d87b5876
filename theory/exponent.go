package theory

import (
	"errors"
	"math"
)

// A LogitFlow is the exact flow of one logit z, p = 1/(1 + exp(-z)), under
// binary rewards (theory.md, section 4.2). Signed rewards double the plain
// rate and leave exponents alone.
type LogitFlow string

// The flows of one logit.
const (
	PlainFlow      LogitFlow = "plain"      // dz/dt = p(1-p): policy gradient
	NormalisedFlow LogitFlow = "normalised" // dz/dt = sqrt(p(1-p)): GRPO with groups without end
)

// known reports whether the flow is one of the two.
func (f LogitFlow) known() error {
	return unless(f == PlainFlow || f == NormalisedFlow, outside("flow", f, "one of plain, normalised"))
}

// rate returns dz/dt at p.
func (f LogitFlow) rate(p float64) float64 {
	if f == PlainFlow {
		return p * (1 - p)
	}
	return math.Sqrt(p * (1 - p))
}

// clock returns a function of p that rises with time at rate 1, up to a
// constant.
func (f LogitFlow) clock(p float64) float64 {
	if f == PlainFlow {
		return 2*(math.Log(p)-math.Log1p(-p)) + (2*p-1)/(p*(1-p))
	}
	return 2 * (2*p - 1) / math.Sqrt(p*(1-p))
}

// Time returns the time tau that p takes from one value in (0, 1) to a larger
// one (OWN): tau = F(to) - F(from) with
//
//	plain:      F = 2 ln(p/(1-p)) + (2p-1)/(p(1-p)), since dz/dt = 1/(2 + e^z + e^-z)
//	normalised: F = 2 (2p-1)/sqrt(p(1-p)), since dz/dt = 1/(e^(z/2) + e^(-z/2))
//
// As from -> 0 they grow like 1/from and 2/sqrt(from). Where to - from is small
// the difference has an absolute error of some 1e-16 F.
func (f LogitFlow) Time(from, to float64) (float64, error) {
	err := errors.Join(
		f.known(),
		unless(from > 0 && from < 1, outside("from", from, "(0, 1)")),
		unless(to > from && to < 1, outside("to", to, "(from, 1)")),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("time", f.clock(to)-f.clock(from))
}

// Exponent returns the local exponent -d ln tau(from -> to) / d ln u(from) at a
// fixed level to, in (from, 1), for from in (0, 1/2), where u = 4p(1-p) rises
// with p (OWN; see LocalExponent). For to = 1/2 it tends to 1 under the plain
// flow and to 1/2 under the normalised one as from -> 0.
func (f LogitFlow) Exponent(from, to float64) (float64, error) {
	tau, err := f.Time(from, to)
	if err != nil {
		return math.NaN(), err
	}
	return LocalExponent(from, f.rate(from), tau)
}

// ExponentOfGain returns the local exponent at a fixed gain, tau(from -> from +
// gain), for from in (0, 1/2) and from + gain < 1 (OWN):
//
//	(1/rate(from) - v(from)/(v(to) rate(to))) / ((1 - 2 from) tau), v = p(1-p),
//
// because dz = dp/v, and the end moves by as much as the start. gain is one of
// p: half the g of signed rewards.
func (f LogitFlow) ExponentOfGain(from, gain float64) (float64, error) {
	to := from + gain
	tau, err := f.Time(from, to)
	if err != nil {
		return math.NaN(), err
	}
	end := from * (1 - from) / (to * (1 - to) * f.rate(to)) // what the end's move takes from the time
	return LocalExponent(from, 1/(1/f.rate(from)-end), tau)
}

// LocalExponent returns -d ln tau / d ln u at a start from in (0, 1/2), where
// the flow has dz/dt = rate and takes time tau to a fixed level (OWN):
// d tau/dz = -1/rate and d ln u/dz = 1 - 2 from, hence
//
//	1 / (rate (1 - 2 from) tau).
//
// rate and tau share their unit of time.
func LocalExponent(from, rate, tau float64) (float64, error) {
	err := errors.Join(
		unless(from > 0 && from < 0.5, outside("from", from, "(0, 1/2)")),
		unless(tau > 0 && tau <= math.MaxFloat64, outside("tau", tau, "(0, Inf)")),
		unless(rate != 0 && math.Abs(rate) <= math.MaxFloat64, outside("rate", rate, "finite and not 0")),
	)
	if err != nil {
		return math.NaN(), err
	}
	return finite("exponent", 1/(rate*(1-2*from)*tau))
}
