package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// ARCUS follows every prompt's psi = arcsin sqrt(p) by a Kalman filter and runs
// the prompts that are likely to be informative near a target, which moves
// towards harder prompts (Prompts Live on an Arc, arXiv 2609.38018). It is a
// reconstruction from two detailed notes and a third party's implementation
// (systems.md, section 6), not the published algorithm. A step for a batch of B:
//
//   - beliefs psi ~ N(mu, P), at first N(pi/4, pi^2/48), of prompts that were seen
//     drift: mu <- mu + v sin(2 mu), within the arc, P <- P + Q. Once 100 prompts
//     were seen the others take their mean and total variance;
//   - M = ceil((1+rho) B) prompts of the whole set are drawn without replacement,
//     with odds ArcScore^(1/T) at the target (Gumbel-top-M), and get g rollouts;
//   - z, with the variance R, is ArcObservation of each group, and updates mu and P;
//     the B mixed groups of the largest refreshed scores are trained on;
//   - v <- v + beta sum(z - mu)/sum(gap max(sin 2mu, .05)) and Q <- max(1e-5,
//     (1-beta) Q + beta max(0, Q + mean((z-mu)^2 - P - R)/mean(gap))) over
//     the prompts that had been seen before, gap steps ago;
//   - of evenly spaced targets from arcsin sqrt(1/(2g)) to its mirror the smallest
//     is wanted whose predicted share of mixed groups is at most eps below the
//     largest; the target moves there by at most delta a step. It stays at pi/4
//     for a warm-up of ceil(set/M) steps.
//
// Open in the notes, and read so here: v starts at 0 and Q at 1e-5; the first
// visit of a prompt tells nothing of drift; a negative probability of a mixed
// group, which comes of a bound, is 0; with fewer than B mixed groups the update is
// smaller. Equal scores go by lot.
type ARCUS struct {
	spec                         string
	g, targets, warmup           int // warmup 0 stands for a pass through the set
	rho, eps, temperature, delta float64
	beta                         float64

	state      []arcPrompt
	seen       int // prompts
	v, q       float64
	target     float64
	batch      int
	step       int
	moments    arcMoments
	candidates []candidate
	trained    []int
	yield      []float64 // of every prompt: probability of a mixed group
	logYield   []float64
	odds       []float64
}

// An arc is a normal belief about psi = arcsin sqrt(p).
type arc struct{ mean, variance float64 }

// arcPrompt is what is kept of a prompt; gap is the steps since its last
// rollouts, 0 for one that had none before this step.
type arcPrompt struct {
	arc
	gap int
}

// arcMoments sum up what a step tells of drift.
type arcMoments struct{ n, innovation, pull, excess, gap float64 }

// The prior of a prompt: the mean and variance of the uniform law on the arc.
var arcPrior = arc{math.Pi / 4, math.Pi * math.Pi / 48}

const (
	arcPooled    = 100  // prompts that must have been seen before the others take their law
	arcLeastPull = 0.05 // of a prompt near the ends in the drift
	arcLeastQ    = 1e-5
)

var (
	_ Budgeter = (*ARCUS)(nil)
	_ Learner  = (*ARCUS)(nil)
	_ Believer = (*ARCUS)(nil)
)

var arcusKind = kind{
	info: Info{
		Name: "arcus",
		Parameters: []Parameter{
			{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every chosen prompt"},
			{"rho", "0.25", "[0, 1024]", "prompts chosen beyond the batch, as a share of it"},
			{"eps", "0.03", "[0, 1]", "predicted share of mixed groups that a harder target may cost"},
			{"temperature", "0.3", "(0, 1000]", "T: the smaller, the nearer to the largest scores"},
			{"delta", "0.005", "[0, 2]", "how far the target moves in a step, in radians of psi"},
			{"targets", "41", "a whole number in [2, 1001]", "targets that are compared"},
			{"beta", "0.1", "[0, 1]", "rate at which the drift is matched; from a third party's implementation"},
			{"warmup", "auto", "auto or a whole number in [1, 1000000]", "steps at the first target; auto is a pass through the set"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, ExactBudget: true, PicksPrompts: true},
		Provenance:   "reconstruction",
		Source:       "Prompts Live on an Arc, arXiv 2609.38018, from notes and a third party's implementation",
		Taxonomy:     taxonomyBudgets,
	},
	parse: parseArcus,
	spending: func(g, _ int) string { // (1+rho) g' rollouts a prompt of the batch, the nearest to g
		return fmt.Sprintf("arcus:g=%d", max(2, int(math.Round(float64(g)/1.25))))
	},
}

func parseArcus(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	within := func(low, high float64) func(float64) bool {
		return func(x float64) bool { return x >= low && x <= high }
	}
	u := &ARCUS{
		g:           a.Int("g", 8, 1, schedule.MaxGroup),
		rho:         a.Float("rho", 0.25, "[0, 1024]", within(0, 1024)),
		eps:         a.Float("eps", 0.03, "[0, 1]", within(0, 1)),
		temperature: a.Float("temperature", 0.3, "(0, 1000]", func(x float64) bool { return x > 0 && x <= 1000 }),
		delta:       a.Float("delta", 0.005, "[0, 2]", within(0, 2)),
		targets:     a.Int("targets", 41, 2, 1001),
		beta:        a.Float("beta", 0.1, "[0, 1]", within(0, 1)),
	}
	if text, given := a.Text("warmup"); given && text != "auto" {
		u.warmup = a.Int("warmup", 1, 1, 1_000_000)
	} else {
		a.Keep("warmup", "auto")
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	u.spec = a.Normal().String()
	return u, nil
}

// ArcObservation returns what a group of g >= 1 rollouts with s successes tells of
// psi = arcsin sqrt(p), and the variance that goes with it: arcsin sqrt((s+3/8)/
// (g+3/4)) and 1/(4g+2), or an end of the arc and 1/(2g) where all rewards agree
// (arXiv 2609.38018, from notes). That the variance is free of p is asymptotic.
func ArcObservation(s, g int) (z, r float64) {
	switch s {
	case 0:
		return 0, 1 / float64(2*g)
	case g:
		return math.Pi / 2, 1 / float64(2*g)
	}
	return math.Asin(math.Sqrt((float64(s) + 0.375) / (float64(g) + 0.75))), 1 / float64(4*g+2)
}

// ArcYield returns the least probability that a group of g >= 1 rollouts is mixed
// under the belief psi ~ N(mean, variance):
//
//	1 - (exp(-g mean^2/a) + exp(-g (pi/2 - mean)^2/a))/sqrt(a) ,  a = 1 + 2 g variance,
//
// or 0 where that is negative (arXiv 2609.38018, proposition 2 under a belief,
// from notes).
func ArcYield(mean, variance float64, g int) float64 {
	n := float64(g)
	a := 1 + 2*n*variance
	far := math.Pi/2 - mean
	return max(0, 1-(math.Exp(-n*mean*mean/a)+math.Exp(-n*far*far/a))/math.Sqrt(a))
}

// ArcKernel returns how near to a target in (0, pi/2) the belief psi ~ N(mean,
// variance) lies: sqrt(w/(w+variance)) exp(-(mean-target)^2/(2(w+variance))),
// w = min(sin, cos)^2(target)/2 (arXiv 2609.38018, from notes).
func ArcKernel(mean, variance, target float64) float64 {
	return math.Exp(logKernel(arc{mean, variance}, target))
}

func logKernel(b arc, target float64) float64 { return logNear(b, target, kernelWidth(target)) }

// kernelWidth returns w.
func kernelWidth(target float64) float64 {
	width := min(math.Sin(target), math.Cos(target))
	return width * width / 2
}

// logNear returns logKernel of the width w of its target.
func logNear(b arc, target, w float64) float64 {
	d := b.mean - target
	return (math.Log(w/(w+b.variance)) - d*d/(w+b.variance)) / 2
}

// Spec implements Strategy.
func (u *ARCUS) Spec() string { return u.spec }

// Capabilities implements Strategy.
func (u *ARCUS) Capabilities() Capabilities { return arcusKind.info.Capabilities }

// Budget implements Budgeter.
func (u *ARCUS) Budget(batch int) int { return u.g * u.groups(batch) }

// groups returns M.
func (u *ARCUS) groups(batch int) int { return int(math.Ceil((1 + u.rho) * float64(batch))) }

// Begin implements Learner.
func (u *ARCUS) Begin(prompts int) {
	u.state = slices.Repeat([]arcPrompt{{arc: arcPrior}}, prompts)
	u.seen, u.step = 0, 0
	u.v, u.q, u.target = 0, arcLeastQ, math.Pi/4
}

// Start implements Strategy.
func (u *ARCUS) Start(batch int) error {
	u.batch, u.trained = batch, append([]int{}, u.trained[:0]...)
	return nil
}

// Next chooses the prompts and asks g rollouts of each, once; then it learns
// from them which to train on.
func (u *ARCUS) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		u.learn(b)
		u.choose(b, r)
		return ask
	}
	u.drift()
	u.candidates = u.candidates[:0]
	for id, p := range u.state {
		key := u.logScore(p.arc)/u.temperature - math.Log(r.ExpFloat64()) // Gumbel noise
		u.candidates = append(u.candidates, candidate{id, -key, r.Uint64()})
	}
	rankCandidates(u.candidates)
	for _, c := range u.candidates[:min(u.groups(u.batch), len(u.candidates))] {
		ask = append(ask, rollout.Request{X: b.Set.Admit(c.x), N: u.g})
	}
	return ask
}

// drift predicts where the prompts that were seen are now.
func (u *ARCUS) drift() {
	for id := range u.state {
		p := &u.state[id]
		if p.gap > 0 {
			p.mean = clip(p.mean+u.v*math.Sin(2*p.mean), 0, math.Pi/2)
			p.variance += u.q
		}
	}
}

// logScore returns ln(kernel * yield) at the target.
func (u *ARCUS) logScore(b arc) float64 {
	return logKernel(b, u.target) + math.Log(ArcYield(b.mean, b.variance, u.g))
}

// learn updates the beliefs by the step's groups.
func (u *ARCUS) learn(b *rollout.Batch) {
	u.moments = arcMoments{}
	for x, id := range b.ID {
		p := &u.state[id]
		z, r := ArcObservation(b.S[x], b.N[x])
		d := z - p.mean
		if gap := float64(p.gap); gap > 0 {
			m := &u.moments
			m.n++
			m.innovation += d
			m.pull += gap * max(math.Sin(2*p.mean), arcLeastPull)
			m.excess += d*d - p.variance - r
			m.gap += gap
		} else {
			u.seen++
		}
		gain := p.variance / (p.variance + r)
		p.mean += gain * d
		p.variance *= 1 - gain
		p.gap = -1 // seen in this step
	}
}

// choose fills trained.
func (u *ARCUS) choose(b *rollout.Batch, r *rand.Rand) {
	u.candidates = u.candidates[:0]
	for x, id := range b.ID {
		if b.S[x] > 0 && b.S[x] < b.N[x] {
			u.candidates = append(u.candidates, candidate{x, -u.logScore(u.state[id].arc), r.Uint64()})
		}
	}
	rankCandidates(u.candidates)
	for _, c := range u.candidates[:min(u.batch, len(u.candidates))] {
		u.trained = append(u.trained, c.x)
	}
}

// Update implements Strategy: the chosen groups.
func (u *ARCUS) Update() Update { return Update{Prompts: u.trained} }

// Observe implements Learner: it matches the drift and moves the target.
func (u *ARCUS) Observe(b *rollout.Batch) {
	u.step++
	if m := u.moments; m.n > 0 {
		u.v += u.beta * m.innovation / m.pull
		u.q = max(arcLeastQ, (1-u.beta)*u.q+u.beta*max(0, u.q+m.excess/m.gap))
	}
	for id := range u.state {
		switch p := &u.state[id]; {
		case p.gap < 0:
			p.gap = 1
		case p.gap > 0:
			p.gap++
		}
	}
	u.pooled()
	if u.step >= u.warm() {
		want := u.wanted(u.groups(u.batch))
		u.target += clip(want-u.target, -u.delta, u.delta)
	}
}

// warm returns the steps of the warm-up.
func (u *ARCUS) warm() int {
	if u.warmup > 0 {
		return u.warmup
	}
	m := u.groups(u.batch)
	return (len(u.state) + m - 1) / m
}

// pooled sets what is believed of prompts that were not seen, once enough were.
func (u *ARCUS) pooled() {
	if u.seen < arcPooled {
		return
	}
	n, mean, square, variance := float64(u.seen), 0.0, 0.0, 0.0
	for _, p := range u.state {
		if p.gap > 0 {
			mean += p.mean / n
			square += p.mean * p.mean / n
			variance += p.variance / n
		}
	}
	for id := range u.state {
		if p := &u.state[id]; p.gap == 0 {
			p.arc = arc{mean, variance + max(0, square-mean*mean)}
		}
	}
}

// wanted returns the smallest target of the largest predicted share of mixed
// groups among m, within eps.
func (u *ARCUS) wanted(m int) float64 {
	u.yield, u.logYield = u.yield[:0], u.logYield[:0]
	for _, p := range u.state {
		y := ArcYield(p.mean, p.variance, u.g)
		u.yield, u.logYield = append(u.yield, y), append(u.logYield, math.Log(y))
	}
	low := math.Asin(math.Sqrt(1 / float64(2*u.g)))
	share, best := make([]float64, u.targets), 0.0
	at := func(k int) float64 { return low + (math.Pi/2-2*low)*float64(k)/float64(u.targets-1) }
	for k := range share {
		share[k] = u.predicted(at(k), m)
		best = max(best, share[k])
	}
	return at(slices.IndexFunc(share, func(y float64) bool { return y >= best-u.eps }))
}

// predicted returns the share of mixed groups among m that are drawn at a
// target: sum pi yield/m, with pi = min(1, c score^(1/T)) and c such that the pi
// sum to m.
func (u *ARCUS) predicted(target float64, m int) float64 {
	u.odds = u.odds[:0]
	largest, width := math.Inf(-1), kernelWidth(target)
	for id, p := range u.state {
		odds := (logNear(p.arc, target, width) + u.logYield[id]) / u.temperature
		u.odds = append(u.odds, odds)
		largest = max(largest, odds)
	}
	if math.IsInf(largest, -1) {
		return 0 // nobody can be mixed
	}
	for id, odds := range u.odds {
		u.odds[id] = math.Exp(odds - largest)
	}
	c := inclusionScale(u.odds, m)
	sum := 0.0
	for id, odds := range u.odds {
		if odds > 0 { // 0 times an infinite scale is no number
			sum += min(1, c*odds) * u.yield[id]
		}
	}
	return sum / float64(m)
}

// inclusionScale returns the c at which sum min(1, c odds) = m, +Inf where there
// are no more than m positive odds. Those that reach 1 are taken out until no
// other does.
func inclusionScale(odds []float64, m int) float64 {
	c := 0.0
	for {
		sum, full := 0.0, 0
		for _, o := range odds {
			if c*o >= 1 {
				full++
			} else {
				sum += o
			}
		}
		if sum == 0 {
			return math.Inf(1)
		}
		next := float64(m-full) / sum
		if !(next > c) {
			return c
		}
		c = next
	}
}

// Belief implements Believer: the mean of p = sin^2 psi under the belief, (1 -
// exp(-2P) cos 2mu)/2, for a prompt that was seen.
func (u *ARCUS) Belief(id int) (float64, bool) {
	p := u.state[id]
	return (1 - math.Exp(-2*p.variance)*math.Cos(2*p.mean)) / 2, p.gap != 0
}
