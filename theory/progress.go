package theory

import (
	"errors"
	"math"

	"vigorlab/sim/schedule"
)

// GroupSigma returns the within-group standard deviation (ddof 0, signed
// coding) of s successes in a group of g: 2 sqrt(s(g-s))/g, in [0, 1], for
// g >= 1 and 0 <= s <= g. Binary coding gives half of it.
func GroupSigma(g, s int) float64 {
	return 2 * math.Sqrt(float64(s)*float64(g-s)) / float64(g)
}

// MeanSigma returns E[sigma_g], the expected within-group standard deviation
// (ddof 0, signed coding) of g rollouts, g in [1, schedule.MaxGroup], at
// success probability p in [0, 1]. It is 0 at g = 1, p = 0 and p = 1, 2p(1-p) at g = 2, and tends to
// sqrt(4p(1-p)) as g grows.
func MeanSigma(g int, p float64) (float64, error) {
	err := errors.Join(
		unless(g >= 1 && g <= schedule.MaxGroup, outside("group", g, groupRange)),
		unless(p >= 0 && p <= 1, outside("p", p, "[0, 1]")),
	)
	if err != nil {
		return math.NaN(), err
	}
	t := newBinomialTable(g)
	low, high, sum := t.fill(p, 1e-30)
	mean := 0.0
	for s := low; s < high; s++ {
		mean += t.b[s] * GroupSigma(g, s)
	}
	return mean / sum, nil
}

// ImplicitWeight returns the weight that an update gives to the prompts at a
// node, E[G sigma | p] / sqrt(p(1-p)), as a function of p the implicit
// objective (OWN; theory.md, section 4.6). At p = 0 and p = 1 it is 0, its
// limit.
func (n NodeRollouts) ImplicitWeight() float64 {
	if n.Signal == 0 {
		return 0
	}
	return n.Signal / math.Sqrt(n.P*(1-n.P))
}

// ObjectiveCosine returns the cosine, under the law of p, of the implicit
// weights of two allocations of the same law on the same nodes, in [0, 1]: 1
// where they differ by a factor only. It is NaN where one of them is 0.
func ObjectiveCosine(a, b *MeanField) (float64, error) {
	if len(a.Allocation) != len(b.Allocation) {
		return math.NaN(), errors.New("theory: the two mean fields have different nodes")
	}
	ab, aa, bb := 0.0, 0.0, 0.0
	for i, x := range a.Allocation {
		y := b.Allocation[i]
		if x.P != y.P {
			return math.NaN(), errors.New("theory: the two mean fields have different nodes")
		}
		v, w := x.ImplicitWeight(), y.ImplicitWeight()
		ab += x.W * v * w
		aa += x.W * v * v
		bb += x.W * w * w
	}
	return ratio(ab, math.Sqrt(aa*bb)), nil
}

// Starved returns the share of prompts that the cut after round 1 drops in
// each of the given number of epochs >= 1, under a policy that does not change
// (OWN; theory.md, section 4.6). It is 0 where there is no cut.
func (m *MeanField) Starved(epochs int) float64 {
	share := 0.0
	if len(m.Screening) == 0 {
		return share
	}
	for _, n := range m.Allocation {
		share += n.W * math.Pow(n.Shares[0], float64(epochs))
	}
	return share
}
