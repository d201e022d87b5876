package strategy

// A posterior holds the parameters a, b > 0 of a Beta law of a success
// probability: the prior's and what rollouts added to them.
type posterior struct{ a, b float64 }

// fade leaves a share rho in [0, 1] of what rollouts added to the prior.
func (p *posterior) fade(prior posterior, rho float64) {
	p.a = prior.a + rho*(p.a-prior.a)
	p.b = prior.b + rho*(p.b-prior.b)
}

// add takes in n rollouts with s successes.
func (p *posterior) add(n, s int) {
	p.a += float64(s)
	p.b += float64(n - s)
}

// mean returns E[p] = a/(a+b).
func (p posterior) mean() float64 { return p.a / (p.a + p.b) }
