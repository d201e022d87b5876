// Package agreement holds how two raters of the same rollouts agree: shares with
// intervals, and what their disagreement does to the reward variance of groups.
// It refuses to take either rater for the truth.
package agreement

import (
	"math"
	"slices"
)

// A Group is how two raters judged the rollouts of one visit of a prompt: how
// many both call a success, the first or the second alone, and neither. What a
// rater could not judge has no place here.
type Group struct {
	Prompt int // number of its prompt, at least 0: groups of one prompt are alike
	Both   int
	First  int
	Second int
	None   int
}

// size returns the number of rollouts.
func (g Group) size() int { return g.Both + g.First + g.Second + g.None }

// constant reports whether rewards with so many successes are all the same.
func (g Group) constant(successes int) bool { return successes == 0 || successes == g.size() }

func (g Group) first() int  { return g.Both + g.First }
func (g Group) second() int { return g.Both + g.Second }

// A Figure is an estimate with its standard error and its 95 % interval, both for
// other samples of prompts. What does not exist is NaN.
type Figure struct{ Value, SE, Low, High float64 }

// A Result is how two raters agree. Every share is one of rollouts, every
// variance a mean over the groups of at least two rollouts, in signed coding: a
// group of n rollouts with s successes has the unbiased estimate 4 s (n-s) /
// (n (n-1)) of u = 4 p (1-p).
type Result struct {
	Prompts, Groups, Rollouts int
	Total                     Group // over all groups

	Agreement     Figure // share of rollouts that both judge alike
	Kappa         Figure // Cohen's (1960): agreement beyond that of independent raters with the same shares of successes
	FirstSuccess  Figure // share that the first calls a success
	SecondSuccess Figure

	SecondOfFirstFailed  Figure // share of the first's failures that the second calls a success
	FirstOfSecondFailed  Figure
	SecondFailsSucceeded Figure // share of the first's successes that the second calls a failure
	FirstFailsSucceeded  Figure

	FirstVariance  Figure // mean u by the first's rewards
	SecondVariance Figure
	Added          Figure // second minus first: what the disagreement adds to the variance
	Covariance     Figure // 4 Cov of both rewards within groups: the variance that they share
	Correlation    Figure // covariance over the root of the product of the variances

	// What the variance of one rater would be if the other were right, and the
	// one erred independently at the rates above: see Flipped.
	SecondPredicted Figure
	FirstPredicted  Figure

	FirstConstant, SecondConstant   int     // groups whose rewards are all the same
	SecondMixes, FirstMixes         int     // groups that are constant by the other and mixed by this one
	SecondMixesWant, FirstMixesWant float64 // as many as independent errors would make so

	Disagreeing int // prompts with any disagreement
	HoldHalf    int // the fewest prompts that hold half of all disagreements
}

// Flipped returns E[u'] of the success probability p' = p (1-q10) + (1-p) q01,
// that of a prompt whose rewards are turned independently, failures into
// successes with probability q01 and successes into failures with q10:
//
//	E[u'] = 4 q01 (1-q01) + 4 k (q10-q01) E[p] + k^2 E[u],  k = 1 - q01 - q10,
//
// from p' = q01 + k p and p^2 = p - u/4. With q01 = q10 = q it is 4q(1-q) +
// (1-2q)^2 E[u]: noise adds to the variance of every prompt with u < 1, most to
// dead and solved ones.
func Flipped(meanP, meanU, q01, q10 float64) float64 {
	k := 1 - q01 - q10
	return 4*q01*(1-q01) + 4*k*(q10-q01)*meanP + k*k*meanU
}

// Measure returns how two raters agree. Groups of one prompt count as one draw
// of a sample of prompts: standard errors are the jackknife's over prompts, and
// the intervals of shares Wilson's (1927) for as many rollouts as, independent,
// would have that error.
func Measure(groups []Group) Result {
	var r Result
	prompts := 0
	for _, g := range groups {
		prompts = max(prompts, g.Prompt+1)
		if g.size() > 0 {
			r.Groups++
		}
	}
	parts := make([]sums, prompts)
	for _, g := range groups {
		if g.size() > 0 {
			parts[g.Prompt].add(g)
		}
	}
	parts = slices.DeleteFunc(parts, func(s sums) bool { return s.rollouts() == 0 })
	var all sums
	for _, s := range parts {
		all = all.plus(s, 1)
	}
	r.Prompts, r.Rollouts = len(parts), int(all.rollouts())
	r.Total = Group{Both: int(all.both), First: int(all.first), Second: int(all.second), None: int(all.none)}
	r.shares(sample{parts, all})
	r.variances(sample{parts, all})
	r.count(groups, all)
	r.concentration(parts)
	return r
}

// sums are what the figures are made of, over some groups.
type sums struct {
	both, first, second, none float64

	groups         float64 // of at least two rollouts; the rest is over these
	p1, p2         float64 // shares of successes
	u1, u2, shared float64 // unbiased variances, and covariance
}

func (s *sums) add(g Group) {
	s.both += float64(g.Both)
	s.first += float64(g.First)
	s.second += float64(g.Second)
	s.none += float64(g.None)
	if g.size() < 2 {
		return
	}
	n, s1, s2 := float64(g.size()), float64(g.first()), float64(g.second())
	s.groups++
	s.p1 += s1 / n
	s.p2 += s2 / n
	s.u1 += 4 * s1 * (n - s1) / (n * (n - 1))
	s.u2 += 4 * s2 * (n - s2) / (n * (n - 1))
	s.shared += 4 * (float64(g.Both)*n - s1*s2) / (n * (n - 1))
}

// plus returns s and w times t.
func (s sums) plus(t sums, w float64) sums {
	return sums{
		s.both + w*t.both, s.first + w*t.first, s.second + w*t.second, s.none + w*t.none,
		s.groups + w*t.groups, s.p1 + w*t.p1, s.p2 + w*t.p2, s.u1 + w*t.u1, s.u2 + w*t.u2, s.shared + w*t.shared,
	}
}

func (s sums) rollouts() float64 { return s.both + s.first + s.second + s.none }

// swapped exchanges the raters.
func (s sums) swapped() sums {
	s.first, s.second, s.p1, s.p2, s.u1, s.u2 = s.second, s.first, s.p2, s.p1, s.u2, s.u1
	return s
}

// errors returns the shares of the first's failures that the second calls
// successes, and of its successes that it calls failures.
func (s sums) errors() (q01, q10 float64) {
	return s.second / (s.second + s.none), s.first / (s.both + s.first)
}

// kappa returns Cohen's kappa.
func (s sums) kappa() float64 {
	n := s.rollouts()
	p1, p2 := (s.both+s.first)/n, (s.both+s.second)/n
	chance := p1*p2 + (1-p1)*(1-p2)
	return ((s.both+s.none)/n - chance) / (1 - chance)
}

// predicted returns the second's variance if the first were right. A rate of
// errors on what the first never saw is not needed.
func (s sums) predicted() float64 {
	q01, q10 := s.errors()
	if s.both+s.first == 0 {
		q10 = 0
	}
	if s.second+s.none == 0 {
		q01 = 0
	}
	return Flipped(s.p1/s.groups, s.u1/s.groups, q01, q10)
}

// correlation returns that of both rewards within groups. A variance that is a
// rounding error, where sums of prompts are taken off again, is none.
func (s sums) correlation() float64 {
	const rounding = 1e-9
	if !(min(s.u1, s.u2) > rounding*s.groups) {
		return math.NaN()
	}
	return s.shared / math.Sqrt(s.u1*s.u2)
}

// A sample is the sums of every prompt, and over all.
type sample struct {
	prompts []sums
	all     sums
}

// jackknife returns the standard error of f over samples of prompts, NaN where f
// does not exist without one of them: sqrt((m-1)/m sum (f_i - mean f_i)^2).
func (s sample) jackknife(f func(sums) float64) float64 {
	m := float64(len(s.prompts))
	if m < 2 {
		return math.NaN()
	}
	without := make([]float64, len(s.prompts))
	mean := 0.0
	for i, x := range s.prompts {
		without[i] = f(s.all.plus(x, -1))
		mean += without[i] / m
	}
	const rounding = 1e-12 // differences below it are those of sums alone
	total := 0.0
	for _, x := range without {
		if d := x - mean; !(math.Abs(d) <= rounding) {
			total += d * d
		}
	}
	return math.Sqrt((m - 1) / m * total)
}

// z is the 97.5 % quantile of the normal law.
const z = 1.959963984540054

// figure returns f, which lies in [low, high], with the interval of the normal
// law; none where no prompt makes a difference, as where raters agree throughout.
func (s sample) figure(f func(sums) float64, low, high float64) Figure {
	x := f(s.all)
	se := s.jackknife(f)
	if !(se > 0) {
		return Figure{x, se, math.NaN(), math.NaN()}
	}
	return Figure{x, se, max(low, x-z*se), min(high, x+z*se)}
}

// share returns part/whole with Wilson's interval. Rollouts of a prompt are
// alike: the interval is that of as many independent ones as would have the
// jackknife's error, at most those there are; of as many as there are prompts
// where the share has no error, being 0 or 1 or that of one prompt.
func (s sample) share(part, whole func(sums) float64) Figure {
	f := func(x sums) float64 { return part(x) / whole(x) }
	x, n := f(s.all), whole(s.all)
	se := s.jackknife(f)
	if variance := x * (1 - x) / (se * se); se > 0 && variance > 0 {
		n = min(n, variance)
	} else {
		n = min(n, float64(len(slices.DeleteFunc(slices.Clone(s.prompts), func(p sums) bool { return whole(p) == 0 }))))
	}
	low, high := wilson(x, n)
	return Figure{x, se, low, high}
}

// wilson returns Wilson's 95 % interval of the share x of n.
func wilson(x, n float64) (low, high float64) {
	scale := 1 / (1 + z*z/n)
	middle := scale * (x + z*z/(2*n))
	half := scale * z * math.Sqrt(x*(1-x)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}

func (r *Result) shares(s sample) {
	r.Agreement = s.share(func(x sums) float64 { return x.both + x.none }, sums.rollouts)
	r.Kappa = s.figure(sums.kappa, -1, 1)
	r.FirstSuccess = s.share(func(x sums) float64 { return x.both + x.first }, sums.rollouts)
	r.SecondSuccess = s.share(func(x sums) float64 { return x.both + x.second }, sums.rollouts)
	r.SecondOfFirstFailed = s.share(func(x sums) float64 { return x.second }, func(x sums) float64 { return x.second + x.none })
	r.FirstOfSecondFailed = s.share(func(x sums) float64 { return x.first }, func(x sums) float64 { return x.first + x.none })
	r.SecondFailsSucceeded = s.share(func(x sums) float64 { return x.first }, func(x sums) float64 { return x.both + x.first })
	r.FirstFailsSucceeded = s.share(func(x sums) float64 { return x.second }, func(x sums) float64 { return x.both + x.second })
}

func (r *Result) variances(s sample) {
	most := math.Inf(1) // an unbiased estimate may pass 1
	r.FirstVariance = s.figure(func(x sums) float64 { return x.u1 / x.groups }, 0, most)
	r.SecondVariance = s.figure(func(x sums) float64 { return x.u2 / x.groups }, 0, most)
	r.Added = s.figure(func(x sums) float64 { return (x.u2 - x.u1) / x.groups }, -most, most)
	r.Covariance = s.figure(func(x sums) float64 { return x.shared / x.groups }, -most, most)
	r.Correlation = s.figure(sums.correlation, -1, 1)
	r.SecondPredicted = s.figure(sums.predicted, 0, most)
	r.FirstPredicted = s.figure(func(x sums) float64 { return x.swapped().predicted() }, 0, most)
}

// count counts the groups of at least two rollouts that one rater or the other
// finds mixed.
func (r *Result) count(groups []Group, all sums) {
	q01, q10 := all.errors()
	p01, p10 := all.swapped().errors()
	for _, g := range groups {
		if g.size() < 2 {
			continue
		}
		c1, c2 := g.constant(g.first()), g.constant(g.second())
		if c1 {
			r.FirstConstant++
			r.SecondMixesWant += mixed(g.size(), g.first(), q01, q10)
		}
		if c2 {
			r.SecondConstant++
			r.FirstMixesWant += mixed(g.size(), g.second(), p01, p10)
		}
		if c1 && !c2 {
			r.SecondMixes++
		}
		if c2 && !c1 {
			r.FirstMixes++
		}
	}
}

// mixed returns the probability that independent errors mix a group of n rewards
// that are all failures (successes = 0) or all successes: not all of them, and
// not none, are turned.
func mixed(n, successes int, q01, q10 float64) float64 {
	q := q10
	if successes == 0 {
		q = q01
	}
	return 1 - math.Pow(1-q, float64(n)) - math.Pow(q, float64(n))
}

// concentration says on how many prompts the raters disagree.
func (r *Result) concentration(prompts []sums) {
	var each []float64
	total := 0.0
	for _, s := range prompts {
		if d := s.first + s.second; d > 0 {
			each = append(each, d)
			total += d
		}
	}
	r.Disagreeing = len(each)
	slices.Sort(each)
	slices.Reverse(each)
	for held := 0.0; held < total/2; r.HoldHalf++ {
		held += each[r.HoldHalf]
	}
}
