package lookahead

import "math"

// Plans are plans at two prices, so close together that nothing but ties lies
// between them: at the high price the prompts spend no more than the budget, at
// the low one no less. A share of the prompts, any, follows Low, so that the
// budget is spent.
type Plans struct {
	Low, High Plan
	spare     Plan
}

// The prices that are searched. Below the least the rollouts that gain are not
// told from those that do not; none gains more than 2 sqrt(max) each.
const (
	leastPrice = 0x1p-40
	halvings   = 20 // of the range of log price, to a relative 3e-5
)

// Find fills the plans for the given number of rounds left, >= 1, prompts that
// have shown mass[Cell(n, s)] >= 0 times s successes in n rollouts, n >= fewest,
// and a budget >= 0 for all of them. Where even the least price leaves some of
// the budget, Low asks as much as there is to gain from.
func (p *Plans) Find(prior *Prior, rounds, fewest int, mass []float64, budget float64) {
	low, high := math.Log(leastPrice), math.Log(4*math.Sqrt(float64(prior.Max())))
	p.Low.Make(prior, rounds, fewest, math.Exp(low))
	p.High.Make(prior, rounds, fewest, math.Exp(high))
	for range halvings {
		middle := (low + high) / 2
		p.spare.Make(prior, rounds, fewest, math.Exp(middle))
		if p.spare.Total(mass, fewest) > budget {
			low = middle
			p.Low, p.spare = p.spare, p.Low
		} else {
			high = middle
			p.High, p.spare = p.spare, p.High
		}
	}
}

// Total returns the expected rollouts of all prompts in all rounds left.
func (p *Plan) Total(mass []float64, fewest int) float64 {
	total := 0.0
	for n := fewest; n <= p.prior.Max(); n++ {
		for s := range n + 1 {
			if m := mass[Cell(n, s)]; m > 0 {
				total += m * p.Spend(n, s)
			}
		}
	}
	return total
}
