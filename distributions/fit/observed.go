package fit

import (
	"math"
	"slices"

	"vigorlab/distributions"
)

// A Share is an observed share with its standard error over prompts.
type Share struct {
	Mean, SE float64
	Prompts  int // that it rests on, 0 where there is no such share
}

// ObservedZeroVariance returns the share of groups of g whose rewards all
// agree, without bias, from the prompts of at least g rollouts: of all groups
// of g among a prompt's n rollouts the share
//
//	[C(s, g) + C(n-s, g)] / C(n, g),
//
// averaged over prompts.
func ObservedZeroVariance(c *Counts, g int) Share {
	var prompts, sum, square float64
	for _, x := range c.cells {
		if x.N < g {
			continue
		}
		k, share := float64(x.Prompts), allOf(x.S, g, x.N)+allOf(x.N-x.S, g, x.N)
		prompts += k
		sum += k * share
		square += k * share * share
	}
	if prompts == 0 {
		return Share{Mean: math.NaN(), SE: math.NaN()}
	}
	mean := sum / prompts
	return Share{mean, math.Sqrt(max(0, square/prompts-mean*mean) / max(1, prompts-1)), int(prompts)}
}

// allOf returns C(k, g)/C(n, g), g <= n: the probability that g of n things,
// k of them marked, are all marked.
func allOf(k, g, n int) float64 {
	p := 1.0
	for i := range g {
		p *= max(0, float64(k-i)) / float64(n-i)
	}
	return p
}

// PluginGain returns E[u]/E[sqrt u]^2 with 4(s/n)(1-s/n) taken for u, NaN where
// all of them are zero. It is inflated at small n: binomial noise spreads u.
func PluginGain(c *Counts) float64 {
	var u, root float64
	for _, x := range c.cells {
		v := distributions.U(float64(x.S) / float64(x.N))
		u += float64(x.Prompts) * v
		root += float64(x.Prompts) * math.Sqrt(v)
	}
	return float64(c.prompts) * u / (root * root)
}

// A HillPoint is Hill's estimate of a tail index from the k largest u.
type HillPoint struct {
	K        int
	U        float64 // the k+1 largest u, the threshold
	Estimate float64
	SE       float64 // Estimate/sqrt(k)
}

// Hill returns the points of a Hill plot (Hill 1975) on u = 4(s/n)(1-s/n):
// 1/mean(log(u_i/u_{k+1})) over the k largest u, for every k at which u_{k+1}
// is below u_k and above 0.
//
// It is drawn to warn: u <= 1 is bounded, so that no power law can be its tail
// and there is no tail index. The estimate grows without limit as k falls, and
// the u of few rollouts are noise besides.
func Hill(c *Counts) []HillPoint {
	type level struct {
		u       float64
		prompts int
	}
	var levels []level
	for _, x := range c.cells {
		levels = append(levels, level{distributions.Level(float64(x.S) / float64(x.N)), x.Prompts})
	}
	slices.SortFunc(levels, func(a, b level) int {
		switch {
		case a.u > b.u:
			return -1
		case a.u < b.u:
			return 1
		}
		return 0
	})
	var points []HillPoint
	var k int
	var logs float64 // sum of log u over the k largest
	for i, l := range levels {
		if !(l.u > 0) {
			break
		}
		if i > 0 && l.u < levels[i-1].u {
			h := float64(k) / (logs - float64(k)*math.Log(l.u))
			points = append(points, HillPoint{k, l.u, h, h / math.Sqrt(float64(k))})
		}
		k += l.prompts
		logs += float64(l.prompts) * math.Log(l.u)
	}
	return points
}
