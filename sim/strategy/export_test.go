package strategy

import "math/rand/v2"

// EqualFidelity lets the tests of SERA see how it rounds.
func EqualFidelity(p []float64, budget, least, most int, n []int) {
	new(rounding).equalize(p, budget, least, most, n)
}

// Duals lets the tests of CERO2 see the price, every slope and every posterior
// mean.
func (c *CERO2) Duals() []float64 {
	all := []float64{c.price}
	for _, p := range c.state {
		all = append(all, p.slope)
	}
	for _, p := range c.state {
		all = append(all, p.mean())
	}
	return all
}

// Arc lets the tests of ARCUS see v, Q, the target, and every mean and variance.
func (u *ARCUS) Arc() []float64 {
	all := []float64{u.v, u.q, u.target}
	for _, p := range u.state {
		all = append(all, p.mean)
	}
	for _, p := range u.state {
		all = append(all, p.variance)
	}
	return all
}

// Wanted lets the tests of ARCUS see the target that beliefs want, m groups a
// step.
func (u *ARCUS) Wanted(mean, variance []float64, m int) float64 {
	u.Begin(len(mean))
	for id := range mean {
		u.state[id].arc = arc{mean[id], variance[id]}
	}
	return u.wanted(m)
}

// InclusionScale lets the tests of ARCUS see how odds become probabilities.
func InclusionScale(odds []float64, m int) float64 { return inclusionScale(odds, m) }

// Inclusion lets the tests of Pair see the probabilities of the last step.
func (p *Pair) Inclusion() []float64 { return p.pi }

// LossWeight lets the tests of Pair see the weight of a rollout in a group of m.
func (p *Pair) LossWeight(m int, pi float64) float64 { return p.lossWeight(m, pi) }

// Hits lets the tests of Control see how it keeps a part of a group.
func Hits(n, s, kept int, r *rand.Rand) int { return hits(n, s, kept, r) }

// Priority lets the tests of XRPO see that of a prompt with s successes in n
// rollouts, total in the batch.
func (x *XRPO) Priority(n, s, total int) float64 {
	return x.priority(deviation(n, s), n, x.bonus(total))
}

// Drift lets the tests of ARCUS move its beliefs as a step does.
func (u *ARCUS) Drift() { u.drift() }
