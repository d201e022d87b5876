package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

// PODS generates n rollouts of every prompt and trains on the m of them whose
// rewards have the largest variance: PODS with max-variance down-sampling,
// arXiv 2504.13818. It is a reconstruction from notes on the paper (allocation.md,
// section 4 [2nd]; n = 64 and m = 16 are its main setting there). Everything generated is paid for:
// n rollouts a prompt, of which m are trained on.
//
// With binary rewards the kept group depends on the successes alone (see
// MaxVarianceBinary): half and half wherever both classes have m/2. Which
// rollouts of a class stay changes no count. Where m is odd and both classes
// have more than m/2, one success more and one less are equally good: ties
// says which (random; floor, as in the released code of Pilot-Commit; ceil).
//
// The kept group is not a sample of the policy: its mean is near 1/2 whatever
// p, so an estimate computed inside it is biased. That is the method.
type PODS struct {
	n, m         int
	ties         string
	keptN, keptS []int
}

var _ Budgeter = (*PODS)(nil)

const (
	tiesFloor = "floor" // the fewer successes
	tiesCeil  = "ceil"  // the more successes
)

var podsKind = kind{
	info: Info{
		Name: "pods",
		Parameters: []Parameter{
			{"n", "64", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt"},
			{"m", "16", "a whole number in [1, n]", "rollouts of every prompt that are trained on"},
			{"ties", tiesRandom, "random, floor, ceil", "successes kept where an odd m splits evenly both ways"},
		},
		Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true, ChangesLoss: true},
		Provenance:   "reconstruction",
		Source:       "PODS, arXiv 2504.13818, max-variance down-sampling, from notes on it",
		Taxonomy:     selectsAfter,
	},
	parse: parsePods,
	spending: func(g, _ int) string {
		return fmt.Sprintf("pods:n=%d,m=%d", g, min(g, max(2, g/4)))
	},
}

func parsePods(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	p := &PODS{
		n:    a.Int("n", 64, 1, schedule.MaxGroup),
		m:    a.Int("m", 16, 1, schedule.MaxGroup),
		ties: a.Choice("ties", tiesRandom, tiesRandom, tiesFloor, tiesCeil),
	}
	if p.m > p.n {
		a.Fault("m", p.m, fmt.Sprintf("a whole number in [1, n = %d]", p.n))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Spec implements Strategy.
func (p *PODS) Spec() string { return fmt.Sprintf("pods:n=%d,m=%d,ties=%s", p.n, p.m, p.ties) }

// Capabilities implements Strategy. The loss changes with the subset that it
// is computed on.
func (p *PODS) Capabilities() Capabilities { return podsKind.info.Capabilities }

// Start implements Strategy; any batch will do.
func (p *PODS) Start(int) error { return nil }

// Budget implements Budgeter.
func (p *PODS) Budget(batch int) int { return p.n * batch }

// Next asks n rollouts of every prompt, once, and then chooses the kept ones.
func (p *PODS) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		p.choose(b, r)
		return ask
	}
	return askAll(ask, b.Len(), p.n)
}

// choose fills keptN and keptS.
func (p *PODS) choose(b *rollout.Batch, r *rand.Rand) {
	p.keptN, p.keptS = p.keptN[:0], p.keptS[:0]
	for x, n := range b.N {
		low, high, _ := MaxVarianceBinary(n, b.S[x], p.m)
		kept := low
		if p.ties == tiesCeil || p.ties == tiesRandom && low < high && r.IntN(2) == 1 {
			kept = high
		}
		p.keptN, p.keptS = append(p.keptN, p.m), append(p.keptS, kept)
	}
}

// Update implements Strategy: m rollouts of every prompt are trained on.
func (p *PODS) Update() Update { return Update{N: p.keptN, S: p.keptS} }

// MaxVarianceBinary returns how many successes the subsets of m rollouts with
// the largest reward variance have, out of n binary rewards of which k are
// successes, 0 <= k <= n and 1 <= m <= n, and that variance (ddof 0, coding
// {0, 1}; four times as much for {-1, 1}):
//
//	j = m/2 cut to [m-(n-k), k], variance j(m-j)/m^2.
//
// low and high differ, by one, where m is odd and both are optimal. At k = 0
// and k = n the variance is 0. PODS, arXiv 2504.13818, Theorem 2, as stated in
// allocation.md, section 4.
func MaxVarianceBinary(n, k, m int) (low, high int, variance float64) {
	least, most := max(0, m-(n-k)), min(m, k)
	low = min(max(m/2, least), most)
	high = min(max((m+1)/2, least), most)
	return low, high, float64(low) * float64(m-low) / (float64(m) * float64(m))
}

// MaxVariance is the rule of PODS for rewards of any kind. PODS itself needs
// MaxVarianceBinary alone, since strategies are told counts of successes.
//
// It returns the places of m of the rewards, in rising order, whose
// variance is the largest that m of them can have. The rewards may be graded;
// they and the squares of their differences must be finite, and 1 <= m <=
// len(rewards). Among equal rewards, and among equally good subsets of the form
// below, the choice is random and drawn from r.
//
// Some best subset is made of the j highest and the m-j lowest rewards, for one
// of j = 0..m: the variance is convex in every single reward, so a chosen one
// between two that are left out can be changed for one of them without loss
// (PODS, arXiv 2504.13818, as stated in allocation.md, section 4).
// After sorting, running sums give the variance of each j at once: O(n log n).
func MaxVariance(rewards []float64, m int, r *rand.Rand) ([]int, error) {
	n := len(rewards)
	if m < 1 || m > n {
		return nil, fmt.Errorf("max variance: m = %d of %d rewards, want [1, %d]", m, n, n)
	}
	order := r.Perm(n)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rewards[a], rewards[b]) })
	// Differences to the lowest reward: shifting changes no variance, and equal
	// rewards, and whole ones, are summed without rounding.
	lowest := rewards[order[0]]
	if spread := rewards[order[n-1]] - lowest; !(spread*spread*float64(n)*float64(n) <= math.MaxFloat64) {
		return nil, fmt.Errorf("max variance: rewards from %v to %v, want finite ones whose squared differences have a finite sum", lowest, rewards[order[n-1]])
	}
	sum, squares := 0.0, 0.0 // of the chosen
	add := func(place int, sign float64) {
		d := rewards[order[place]] - lowest
		sum += sign * d
		squares += sign * d * d
	}
	for place := range m {
		add(place, 1)
	}
	scaled := func() float64 { return float64(m)*squares - sum*sum } // m^2 times the variance
	best, top, equal := scaled(), 0, 1
	for j := 1; j <= m; j++ {
		add(m-j, -1)
		add(n-j, 1)
		switch v := scaled(); {
		case v > best:
			best, top, equal = v, j, 1
		case v == best:
			if equal++; r.IntN(equal) == 0 {
				top = j
			}
		}
	}
	chosen := append(slices.Clone(order[:m-top]), order[n-top:]...)
	slices.Sort(chosen)
	return chosen, nil
}
