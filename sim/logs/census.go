package logs

import (
	"maps"
	"slices"
)

// A census is what is counted of the groups that count, once all is read.
type census struct {
	groups   int
	prompts  int
	steps    int
	sizes    map[int]int // of groups
	constant int         // groups whose rewards are all the same
	largest  int         // rollouts of the largest of these
	single   int         // groups of one rollout
	repeated int         // those of them whose text another group of the step has, too
	namesake int         // groups whose prompt has several in their step
	offEnds  int         // constant groups of several rollouts between the least and the greatest reward
	judged   int         // groups that something else than the reward judges
	shaped   int         // those that are constant by the reward
	raw      int         // and by the judge

	revisits   bool // some group is not the first of its prompt
	stepped    bool // some step is not 0
	unmeasured bool // some rollout has no length
	unended    bool // some rollout has no end

	rollouts        int     // of groups of at least two
	sum             float64 // of their rewards
	within, between float64 // sums of squares about the means of groups, and of these about that of all

	visits []int32 // of every prompt so far
}

func newCensus(prompts int) census {
	return census{sizes: map[int]int{}, visits: make([]int32, prompts)}
}

// add counts the groups of a step, whose visits it numbers; s is the support of
// all rewards. Steps ascend.
func (c *census) add(groups []*group, s *support) {
	if len(groups) == 0 {
		return
	}
	c.steps++
	texts, prompts := map[uint64]int{}, map[int32]int{}
	for _, g := range groups {
		texts[g.text]++
		prompts[g.prompt]++
		c.count(g, s)
	}
	for _, g := range groups {
		if len(g.reward) == 1 {
			c.single++
			if g.text != 0 && texts[g.text] > 1 {
				c.repeated++
			}
		}
		if prompts[g.prompt] > 1 {
			c.namesake++
		}
	}
}

// count counts a group and numbers its visit.
func (c *census) count(g *group, s *support) {
	n := len(g.reward)
	c.groups++
	c.sizes[n]++
	if g.visit = c.visits[g.prompt]; g.visit == 0 {
		c.prompts++
	}
	c.visits[g.prompt]++
	c.revisits = c.revisits || g.visit > 0
	c.stepped = c.stepped || g.step != 0
	c.unmeasured = c.unmeasured || int(g.measured) < n
	c.unended = c.unended || int(g.ended) < n
	constant := g.constant()
	if constant {
		c.constant++
		c.largest = max(c.largest, n)
	}
	if v := s.values; n > 1 && constant && len(v) > 2 && !same(g.mean(), v[0]) && !same(g.mean(), v[len(v)-1]) {
		c.offEnds++
	}
	if int(g.judged) == n {
		c.judged++
		if constant {
			c.shaped++
		}
		if g.right == 0 || g.right == g.judged {
			c.raw++
		}
	}
	if n > 1 {
		c.rollouts += n
		c.sum += g.mean() * float64(n)
		c.within += g.about(g.mean())
	}
}

// spread adds to the sum of squares of the means of groups about that of all,
// which must be known: every group has been counted.
func (c *census) spread(g *group) {
	if n := float64(len(g.reward)); n > 1 {
		d := g.mean() - c.sum/float64(c.rollouts)
		c.between += d * d * n
	}
}

// split returns the variance of the rewards within groups and that between
// their means, each group of at least two rollouts weighted by its rollouts.
// Both are sums of squares over the same number of rollouts, taken about means
// that were computed first.
func (c *census) split() (within, between float64, rollouts int) {
	if c.rollouts == 0 {
		return 0, 0, 0
	}
	n := float64(c.rollouts)
	return c.within / n, c.between / n, c.rollouts
}

// usual returns the most frequent group size, the smaller one of two.
func (c *census) usual() int {
	usual := 0
	for _, n := range slices.Sorted(maps.Keys(c.sizes)) {
		if c.sizes[n] > c.sizes[usual] {
			usual = n
		}
	}
	return usual
}
