package lookahead

import "math"

// A Plan says what the next of some rounds should ask of a prompt, by what it
// has shown so far, where a rollout costs a price (OWN).
//
// A group of n rollouts with s successes is worth n sigma u to an update that
// averages over rollouts (theory.md, section 4.6): sigma = 2 sqrt(s(n-s))/n,
// signed coding, and u = 4p(1-p), which is not known. Given the outcomes its
// mean is E[u | n, s] = 4 h(n+2, s+1)/h(n, s), whatever the rounds were: the
// likelihood p^s (1-p)^(n-s) does not know when one stopped. So the best that a
// prompt with s of n is worth, less what its further rollouts cost, is
//
//	J_0(n, s) = 4 h(n+2, s+1)/h(n, s) * 2 sqrt(s(n-s))
//	J_t(n, s) = max_m { -price m + sum_k C(m, k) h(n+m, s+k)/h(n, s) J_{t-1}(n+m, s+k) }
//
// with t rounds left, m in [0, max-n]. Prompts compete for the budget alone,
// and there is one price at which they spend it, but for ties: in an
// infinite batch the plan at this price is the best of all ways to spend the
// budget in so many rounds on groups of at most max, by Lagrangian duality.
//
// The program runs on J h, where a rollout more is a sum of two neighbours. It
// takes time O(rounds max^3).
type Plan struct {
	prior *Prior
	price float64
	ask   []int
	worth []float64 // J h
	spend []float64 // the rollouts of all rounds left, times h

	nextWorth, nextSpend []float64 // scratch: a further m rollouts
}

// tie is the relative gain in worth below which a rollout is not asked, or not
// yet: rounding decides nothing.
const tie = 1e-12

// Make fills the plan for the given number of rounds left, >= 1, at a price >=
// 0. fewest is the least number of rollouts that a prompt has had: of less the
// plan says nothing.
func (p *Plan) Make(prior *Prior, rounds, fewest int, price float64) {
	p.prior, p.price = prior, price
	size := Cells(prior.Max())
	p.worth, p.spend, p.ask = resize(p.worth, size), resize(p.spend, size), resize(p.ask, size)
	clear(p.spend)
	for n := range prior.Max() + 1 {
		for s := range n + 1 {
			p.worth[Cell(n, s)] = prior.Moment(n+2, s+1) * 8 * math.Sqrt(float64(s)*float64(n-s))
		}
	}
	for range rounds {
		p.round(fewest)
	}
}

// round puts a round before those that the plan is for.
func (p *Plan) round(fewest int) {
	clear(p.ask)
	p.nextWorth = append(p.nextWorth[:0], p.worth...)
	p.nextSpend = append(p.nextSpend[:0], p.spend...)
	for m := 1; fewest+m <= p.prior.Max(); m++ {
		for n := fewest; n+m <= p.prior.Max(); n++ {
			p.offer(n, m)
		}
	}
}

// offer lets all prompts of n rollouts have m more where that is best so far. It
// is called for m = 1, 2, ..., and for every m by increasing n: what m-1 more of
// n+1 are worth is still there, with the next rollout a success or not.
func (p *Plan) offer(n, m int) {
	from, next, end := Cell(n, 0), Cell(n+1, 0), Cell(n+2, 0)
	worth, nextWorth := p.nextWorth[from:next], p.nextWorth[next:end]
	spend, nextSpend := p.nextSpend[from:next], p.nextSpend[next:end]
	best, h := p.worth[from:next], p.prior.h[from:next]
	for s := range worth {
		worth[s] = nextWorth[s] + nextWorth[s+1]
		spend[s] = nextSpend[s] + nextSpend[s+1]
		if net := worth[s] - p.price*float64(m)*h[s]; net > best[s]*(1+tie) {
			best[s] = net
			p.spend[from+s] = spend[s] + float64(m)*h[s]
			p.ask[from+s] = m
		}
	}
}

// Ask returns the rollouts that the next round asks of a prompt with s
// successes in n rollouts, n at least what Make was told.
func (p *Plan) Ask(n, s int) int { return p.ask[Cell(n, s)] }

// Spend returns the expected rollouts of such a prompt in all rounds left. It
// does not rise with the price.
func (p *Plan) Spend(n, s int) float64 {
	i := Cell(n, s)
	if p.ask[i] == 0 && p.spend[i] == 0 {
		return 0 // also where the prior has it that no prompt is there
	}
	return p.spend[i] / p.prior.h[i]
}

// Worth returns J, the expected worth of such a prompt less the price of what it
// spends; 0 where the prior has it that no prompt is there.
func (p *Plan) Worth(n, s int) float64 {
	i := Cell(n, s)
	if p.worth[i] == 0 {
		return 0
	}
	return p.worth[i] / p.prior.h[i]
}

// resize returns a slice of length n, the old one where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
