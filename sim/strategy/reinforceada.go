package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// The modes of Reinforce-Ada.
const (
	adaSeq = "seq"
	adaEst = "est"
	adaEma = "ema"
)

// When a prompt of AdaSeq has had enough.
const (
	exitBalanced = "balanced"
	exitPositive = "positive"
)

// AdaSeq asks m rollouts of every prompt that has not had enough yet, for at
// most rounds rounds, and trains on n of them: Reinforce-Ada, arXiv 2510.04996,
// as in the code of its first version (verl/trainer/ppo/ray_trainer.py [code]).
// A prompt has had enough after a round with floor(n/2) successes and
// n - floor(n/2) failures (exit=balanced), or with one success
// (exit=positive). All m rollouts of a round are generated, counted and paid
// for even where fewer had been enough.
//
// The kept group has min(floor(n/2), successes) successes and failures up to n,
// more successes where failures are short, and is smaller than n only where the
// prompt had fewer rollouts. That is what the code keeps of finished and
// unfinished prompts alike, in both modes: an unfinished prompt of
// exit=positive has no success at all, so its rule of proportions never shows.
// The code takes the first rollouts of each class. Counts do not tell the
// rollouts of a class apart, so taking the first, or any, keeps the same counts.
//
// Rewards are compared with the success rate of all the prompt's rollouts,
// kept or not (0 where there is just one), so the advantages of a kept group
// need not sum to 0.
//
// The cost of a prompt is random, at most m*rounds: see AdaSeqCost.
type AdaSeq struct {
	exit         string
	rounds, m, n int
	active       []int
	keptN, keptS []int
	mean         []float64
}

var _ Strategy = (*AdaSeq)(nil)

// AdaEst gives m rollouts a prompt on average, in one round, the more the lower
// its success rate was in earlier steps; everything is trained on. The estimate
// of prompt x is (a + S)/(a + b + N), with N and S its rollouts and successes,
// both multiplied by decay whenever x comes again.
//
// mode=est is the estimation-based method of the paper's third version (arXiv
// 2510.04996v3), reconstructed from notes (allocation.md, section 9): sizes
// proportional to 1/sqrt(phat + eps), cut to [min, max], advantages times
// 1/sqrt(rbar + eps), rbar the group's own mean reward. A group without success
// has advantages 0, so its weight of up to 1/sqrt(eps) is without effect; it is
// given as 1, lest it count where weights are summed. How the cut meets the
// budget is open there; here the factor is raised or lowered until the cut
// sizes sum to it. eps, decay and the prior are not stated there: eps is the
// floor of phat in mode=ema, decay and prior are its own.
//
// mode=ema is what the released trainer of that name does
// (verl/trainer/ppo/ray_trainer_ema.py [code]): one rollout each, the rest in
// proportion to 1/phat, no cut, no weight; Beta(1, 16) and decay 0.9.
//
// Both round by largest remainder. Of equal fractions the released code favours
// the earlier place (ties=index); by default the order is random. Rewards are
// compared with the mean of the whole group, the rollout at hand included.
type AdaEst struct {
	mode       string
	m          int
	low, high  int
	eps, decay float64
	prior      posterior
	ties       string

	past     []posterior // of every prompt of the set
	weight   []float64
	share    []float64
	size     []int
	mean     []float64
	rounding remainder
}

var (
	_ Budgeter = (*AdaEst)(nil)
	_ Learner  = (*AdaEst)(nil)
	_ Believer = (*AdaEst)(nil)
)

var reinforceAdaKind = kind{
	info: Info{
		Name: "reinforce-ada",
		Parameters: []Parameter{
			{"mode", adaSeq, "seq, est, ema", "sample until there is enough, or by estimates from earlier steps (est: paper, ema: released trainer)"},
			{"exit", exitBalanced, "balanced, positive", "seq: when a prompt has enough"},
			{"rounds", "4", fmt.Sprintf("a whole number in [1, %d]; m*rounds at most %d", schedule.MaxGroup, schedule.MaxGroup), "seq: rounds at most"},
			{"m", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "seq: rollouts of every active prompt a round; est, ema: rollouts a prompt on average"},
			{"n", "4", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "seq: rollouts of every prompt that are trained on"},
			{"min", "4", "a whole number in [1, m]", "est: smallest group"},
			{"max", "32", fmt.Sprintf("a whole number in [m, %d]", schedule.MaxGroup), "est: largest group"},
			{"eps", "1e-06", "(0, 1]", "est: added to success rates"},
			{"decay", "0.9", "[0, 1]", "est, ema: factor of old counts"},
			{"a", "1", "(0, 1e6]", "est, ema: prior successes"},
			{"b", "16", "(0, 1e6]", "est, ema: prior failures"},
			{"ties", tiesRandom, "random, index", "est, ema: which of equal fractions gets a rollout more"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ChangesLoss: true},
		Provenance:   "code",
		Rebuilt:      "mode=" + adaEst,
		Source:       "Reinforce-Ada, arXiv 2510.04996: seq and ema from its code, est reconstructed from notes on its third version",
		Taxonomy:     PlacedByUs(LeverAlgorithmic, FamilyBudgeting, "C", PaidDuring),
	},
	parse: parseReinforceAda,
	spending: func(g, _ int) string {
		return fmt.Sprintf("reinforce-ada:m=%d,n=%d", max(1, (g+2)/4), max(2, g/2)) // up to four rounds of m
	},
}

func parseReinforceAda(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	mode := a.Choice("mode", adaSeq, adaSeq, adaEst, adaEma)
	if mode == adaSeq {
		return parseAdaSeq(a)
	}
	return parseAdaEst(a, mode)
}

func parseAdaSeq(a *spec.Args) (Strategy, error) {
	s := &AdaSeq{
		exit:   a.Choice("exit", exitBalanced, exitBalanced, exitPositive),
		rounds: a.Int("rounds", 4, 1, schedule.MaxGroup),
		m:      a.Int("m", 8, 1, schedule.MaxGroup),
		n:      a.Int("n", 4, 1, schedule.MaxGroup),
	}
	if s.m*s.rounds > schedule.MaxGroup {
		a.Fault("rounds", s.rounds, fmt.Sprintf("m*rounds at most %d", schedule.MaxGroup))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func parseAdaEst(a *spec.Args, mode string) (Strategy, error) {
	s := &AdaEst{mode: mode, m: a.Int("m", 8, 1, schedule.MaxGroup), low: 1, high: schedule.MaxGroup}
	if mode == adaEst {
		s.low = a.Int("min", 4, 1, schedule.MaxGroup)
		s.high = a.Int("max", 32, 1, schedule.MaxGroup)
		if s.low > s.m {
			a.Fault("min", s.low, fmt.Sprintf("a whole number in [1, m = %d]", s.m))
		}
		if s.high < s.m {
			a.Fault("max", s.high, fmt.Sprintf("a whole number in [m = %d, %d]", s.m, schedule.MaxGroup))
		}
		s.eps = a.Float("eps", 1e-6, "(0, 1]", func(x float64) bool { return x > 0 && x <= 1 })
	}
	positive := func(x float64) bool { return x > 0 && x <= 1e6 }
	s.decay = a.Float("decay", 0.9, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	s.prior.a = a.Float("a", 1, "(0, 1e6]", positive)
	s.prior.b = a.Float("b", 16, "(0, 1e6]", positive)
	s.ties = a.Choice("ties", tiesRandom, tiesRandom, tiesIndex)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Spec implements Strategy.
func (s *AdaSeq) Spec() string {
	return fmt.Sprintf("reinforce-ada:mode=seq,exit=%s,rounds=%d,m=%d,n=%d", s.exit, s.rounds, s.m, s.n)
}

// Capabilities implements Strategy.
func (s *AdaSeq) Capabilities() Capabilities {
	return Capabilities{FirstEpoch: true, ChangesLoss: true}
}

// Start implements Strategy; any batch will do.
func (s *AdaSeq) Start(batch int) error {
	s.active = s.active[:0]
	for x := range batch {
		s.active = append(s.active, x)
	}
	return nil
}

// Next asks m rollouts of every prompt that has not had enough.
func (s *AdaSeq) Next(b *rollout.Batch, ask []rollout.Request, _ *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		s.retire(b)
	}
	if b.Round == s.rounds || len(s.active) == 0 {
		s.keep(b)
		return ask
	}
	for _, x := range s.active {
		ask = append(ask, rollout.Request{X: x, N: s.m})
	}
	return ask
}

// retire takes the prompts that have had enough out of active.
func (s *AdaSeq) retire(b *rollout.Batch) {
	positives, negatives := s.enough()
	left := s.active[:0]
	for _, x := range s.active {
		if b.S[x] < positives || b.N[x]-b.S[x] < negatives {
			left = append(left, x)
		}
	}
	s.active = left
}

// enough returns the successes and failures that a prompt must have had.
func (s *AdaSeq) enough() (positives, negatives int) {
	if s.exit == exitPositive {
		return 1, 0
	}
	return s.n / 2, s.n - s.n/2
}

// keep fills keptN, keptS and mean.
func (s *AdaSeq) keep(b *rollout.Batch) {
	s.keptN, s.keptS = s.keptN[:0], s.keptS[:0]
	for x, n := range b.N {
		positives, negatives := adaKept(b.S[x], n-b.S[x], s.n)
		s.keptN, s.keptS = append(s.keptN, positives+negatives), append(s.keptS, positives)
	}
	s.mean = adaMeans(s.mean[:0], b)
}

// adaKept returns how many of the successes and failures are kept for a group
// of n.
func adaKept(successes, failures, n int) (positives, negatives int) {
	positives = min(n/2, successes)
	negatives = min(n-positives, failures)
	positives = min(n-negatives, successes)
	return positives, negatives
}

// adaMeans appends every prompt's success rate over all its rollouts, 0 where
// there is just one.
func adaMeans(mean []float64, b *rollout.Batch) []float64 {
	for x, n := range b.N {
		m := 0.0
		if n > 1 {
			m = float64(b.S[x]) / float64(n)
		}
		mean = append(mean, m)
	}
	return mean
}

// Update implements Strategy: the kept groups, compared with the success rates
// of all rollouts.
func (s *AdaSeq) Update() Update { return Update{N: s.keptN, S: s.keptS, Baselines: s.mean} }

// AdaSeqCost returns the expected rollouts of a prompt of success probability p
// in [0, 1] that is asked m at a time, in at most rounds rounds, until it has
// had the given successes and failures, and the probability that it never has:
//
//	cost = m sum_{t=0}^{rounds-1} P(not enough after m t),
//	unresolved = P(not enough after m rounds).
//
// exit=balanced wants floor(n/2) successes and n - floor(n/2) failures,
// exit=positive 1 and 0. With m = 1, no failures and rounds -> Inf the cost is
// successes/p. It takes time O(m rounds^2). Allocation.md, section 9.
func AdaSeqCost(p float64, m, rounds, successes, failures int) (cost, unresolved float64) {
	for t := range rounds {
		cost += float64(m) * notEnough(p, m*t, successes, failures)
	}
	return cost, notEnough(p, m*rounds, successes, failures)
}

// notEnough returns the probability that n rollouts have fewer successes, or
// fewer failures, than asked.
func notEnough(p float64, n, successes, failures int) float64 {
	if successes+failures > n {
		return 1
	}
	few := 0.0
	for k := range successes {
		few += distributions.BinomialProbability(n, k, p)
	}
	for k := range failures {
		few += distributions.BinomialProbability(n, k, 1-p)
	}
	return few
}

// Spec implements Strategy.
func (s *AdaEst) Spec() string {
	cut := ""
	if s.mode == adaEst {
		cut = fmt.Sprintf(",min=%d,max=%d,eps=%s", s.low, s.high, spec.FormatFloat(s.eps))
	}
	return fmt.Sprintf("reinforce-ada:mode=%s,m=%d%s,decay=%s,a=%s,b=%s,ties=%s", s.mode, s.m, cut,
		spec.FormatFloat(s.decay), spec.FormatFloat(s.prior.a), spec.FormatFloat(s.prior.b), s.ties)
}

// Capabilities implements Strategy. The first visits of a prompt are estimated
// by the prior alone.
func (s *AdaEst) Capabilities() Capabilities {
	return Capabilities{History: true, ChangesLoss: true, ExactBudget: true}
}

// Budget implements Budgeter.
func (s *AdaEst) Budget(batch int) int { return s.m * batch }

// Begin implements Learner.
func (s *AdaEst) Begin(prompts int) {
	s.past = slices.Repeat([]posterior{s.prior}, prompts)
}

// Start implements Strategy; any batch will do.
func (s *AdaEst) Start(int) error { return nil }

// Next asks every prompt for its share, once.
func (s *AdaEst) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		s.compare(b)
		return ask
	}
	s.weight = s.weight[:0]
	for _, id := range b.ID {
		s.weight = append(s.weight, s.difficulty(s.past[id].mean()))
	}
	s.allocate(r)
	return askGroups(ask, s.size)
}

// difficulty returns the weight that sizes follow.
func (s *AdaEst) difficulty(p float64) float64 {
	if s.mode == adaEma {
		return 1 / max(p, 1e-6) // the floor is the released code's
	}
	return 1 / math.Sqrt(p+s.eps)
}

// allocate fills size from weight.
func (s *AdaEst) allocate(r *rand.Rand) {
	prompts := len(s.weight)
	total := s.m * prompts
	if s.mode == adaEst {
		s.share = clipped(s.share[:0], s.weight, float64(s.low), float64(s.high), float64(total))
		s.size = s.rounding.largest(s.size[:0], s.share, total, s.high, s.ties, r)
		return
	}
	sum := 0.0
	for _, w := range s.weight {
		sum += w
	}
	rest := total - prompts // one each stands aside
	s.share = s.share[:0]
	for _, w := range s.weight {
		s.share = append(s.share, float64(rest)*(w/sum))
	}
	s.size = s.rounding.largest(s.size[:0], s.share, rest, total, s.ties, r)
	for x := range s.size {
		s.size[x]++
	}
}

// compare fills mean and, for mode=est, the loss weights.
func (s *AdaEst) compare(b *rollout.Batch) {
	s.mean = adaMeans(s.mean[:0], b)
	s.weight = s.weight[:0]
	for x, n := range b.N {
		w := 1.0
		if b.S[x] > 0 {
			w = 1 / math.Sqrt(float64(b.S[x])/float64(n)+s.eps)
		}
		s.weight = append(s.weight, w)
	}
}

// Update implements Strategy: everything is trained on.
func (s *AdaEst) Update() Update {
	u := Update{Baselines: s.mean}
	if s.mode == adaEst {
		u.Weights = s.weight
	}
	return u
}

// Observe implements Learner.
func (s *AdaEst) Observe(b *rollout.Batch) {
	for x, id := range b.ID {
		s.past[id].fade(s.prior, s.decay)
		s.past[id].add(b.N[x], b.S[x])
	}
}

// Belief implements Believer: the estimate of a prompt that was seen.
func (s *AdaEst) Belief(id int) (float64, bool) { return s.past[id].mean(), s.past[id] != s.prior }
