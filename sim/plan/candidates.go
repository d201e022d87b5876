package plan

import (
	"fmt"
	"math"

	"vigorlab/sim/schedule"
)

// A candidate is a schedule of VIGOR or, where group is not 0, fixed groups on
// as many prompts as the budget pays for.
type candidate struct {
	plan   schedule.Vigor
	group  int
	budget int // G
}

// whole reports whether the candidate trains on the prompts of the batch, all
// of them and no others.
func (c candidate) whole() bool { return c.group == 0 || c.group == c.budget }

// spec returns the strategy's normalised spec.
func (c candidate) spec() string {
	switch {
	case c.group == 0:
		return c.plan.String()
	case c.whole():
		return fmt.Sprintf("fixed:g=%d", c.group)
	}
	return fmt.Sprintf("fixed:g=%d,prompts=%v", c.group, fraction(c.budget, c.group))
}

// rounds returns the sequential rounds of a step.
func (c candidate) rounds() int {
	if c.group != 0 {
		return 1
	}
	return c.plan.Rounds
}

// schedules returns what is tried: rounds, and the rollouts m0 and m0*gamma of
// the first two of them, on a grid. The budget leaves one alpha for each, the
// root of
//
//	m0 sum_{i<T} (alpha*gamma)^i = G,
//
// of which the simplest fraction is taken that keeps the mean group within the
// tolerance. The batch must keep the budget too, cuts rounded up, and no cut
// may meet a single prompt.
func schedules(o Options) []schedule.Vigor {
	var all []schedule.Vigor
	for rounds := 2; rounds <= o.MaxRounds; rounds++ {
		for _, m0 := range grid(o.Group - 1) {
			for _, second := range grid(o.MaxGroup - m0) {
				v := schedule.Default()
				v.M0, v.Rounds, v.Gamma = m0, rounds, fraction(second, m0)
				if fits(&v, o) {
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// grid returns whole numbers from 1 to last: all up to 16, then steps of an
// eighth.
func grid(last int) []int {
	var all []int
	for m := 1; m <= last; m += max(1, m/8) {
		all = append(all, m)
	}
	return all
}

// fraction returns n/d, both positive.
func fraction(n, d int) schedule.Ratio { return schedule.MustRatio(fmt.Sprintf("%d/%d", n, d)) }

// fits sets v.Alpha to what the budget leaves, and reports whether there is
// such a schedule.
func fits(v *schedule.Vigor, o Options) bool {
	rollouts, err := v.Rollouts()
	if err != nil {
		return false
	}
	largest := 0
	for _, m := range rollouts {
		largest += m
	}
	low, high := shareFor(rollouts, float64(o.Group)*(1-o.Tolerance)), shareFor(rollouts, float64(o.Group)*(1+o.Tolerance))
	if largest > o.MaxGroup || !(low < high) || !(low > 0) || !(high < 1) {
		return false
	}
	v.Alpha = simplest(low, high)
	spent := 0
	for t, n := range v.Active(o.Batch) {
		spent += n * rollouts[t]
	}
	_, alone := v.OnePrompt(o.Batch)
	return !alone && o.inBudget(float64(spent)/float64(o.Batch)) && o.inBudget(v.MeanGroup())
}

// shareFor returns the alpha in [0, 1] at which sum m_t alpha^(t-1) is mean:
// the sum rises with alpha.
func shareFor(rollouts []int, mean float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		middle, sum := (low+high)/2, 0.0
		for t := len(rollouts) - 1; t >= 0; t-- {
			sum = sum*middle + float64(rollouts[t])
		}
		if sum < mean {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// simplest returns the fraction of the smallest denominator in [low, high], 0 <
// low < high < 1.
func simplest(low, high float64) schedule.Ratio {
	for d := 2; ; d++ {
		n := int(math.Ceil(low * float64(d)))
		if float64(n) <= high*float64(d) {
			return fraction(n, d)
		}
	}
}
