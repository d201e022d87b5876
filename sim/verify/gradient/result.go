package gradient

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A Result is what Check found.
type Result struct {
	Settings int   // policies
	Counts         // over all cases
	Rows     []Row // the table of theory.md, section 2, estimator by estimator

	MaxExcess   float64 // largest ||grad L|| / bound - 1, at least -1; above 0 by rounding only
	MaxSum      float64 // largest relative difference of (1/G) sum|A_i| and the factor
	MaxIdentity float64 // largest residual of the identity, over M sigma
	Identities  int     // cases that the identity was checked on

	// GradedAtSmallSigma is the largest ||grad L|| / M among groups of graded
	// rewards with standard deviation below 1e-6, where a bound M sigma would
	// be below 1e-6; 0 where no group had one.
	GradedAtSmallSigma float64

	Covered  Coverage
	Points   []Point // of the paper's GRPO on mixed groups, evenly over the settings
	Plants   []Plant // planted mistakes, each of which must be flagged
	Expected []Expected
	OneLogit []OneLogit
}

// Counts counts cases and what flagged them; one case can be flagged for more
// than one reason.
type Counts struct {
	Cases   int
	Flagged int // for any reason

	Bound    int // ||grad L|| > M f
	Sum      int // f differs from (1/G) sum|A_i|
	Identity int // grad L differs from (sigma/2)(gbar_plus - gbar_minus)
	Maximum  int // M is not the maximum over all responses
}

func (c *Counts) add(v *verdict) {
	c.Cases++
	for _, f := range []struct {
		broken bool
		count  *int
	}{
		{v.flagged(), &c.Flagged},
		{v.boundBroken, &c.Bound},
		{v.sumBroken, &c.Sum},
		{v.identityBroken, &c.Identity},
		{v.maximumBroken, &c.Maximum},
	} {
		if f.broken {
			*f.count++
		}
	}
}

// A Row is one estimator under one coding.
type Row struct {
	Estimator string // as a spec
	Coding    string // Signed | Binary | Graded
	Counts
	MaxExcess float64
	Tightness Distribution // ||grad L|| / (M f)
}

// A Plant is a planted mistake and how often the check flagged it, over the
// cases that it applies to. It changes nothing, and is not flagged, where all
// rewards of a group are equal.
type Plant struct {
	Mistake string
	Counts
	Spread int     // cases whose rewards are not all equal
	Least  float64 // share of Spread that must be flagged
}

// Noticed reports whether the mistake was flagged as often as it must be.
func (p *Plant) Noticed() bool {
	return p.Spread > 0 && float64(p.Flagged) >= p.Least*float64(p.Spread)
}

// A Point is a case of the figure "gradient norm against M sigma", both in
// units of the policy's M, which spans many decades over policies.
type Point struct {
	Sigma, Norm float64 // the bound is Norm <= Sigma
	Kind        string  // of group: Sampled | Prescribed | Farthest | Closest
}

// Coverage is the range of what was drawn.
type Coverage struct {
	Sizes       [2]int     // of groups
	Success     [2]float64 // of the policy that sampled
	Responses   [2]int     // that a policy can give
	Moved       int        // settings with ratios other than 1
	MaxRatio    float64    // pi/pi_old of a response
	Clipped     int        // settings where clipping holds some response's gradient
	TokenRatios int        // settings with token ratios
}

// A Distribution describes how a bound's tightness, in [0, 1], is spread over
// the cases whose bound is not 0.
type Distribution struct {
	Cases                                int
	Min, Q05, Q25, Median, Q75, Q95, Max float64
	Attained                             int // cases within 1e-9 of 1
}

// distribution sorts x, which may be empty.
func distribution(x []float64) Distribution {
	d := Distribution{Cases: len(x)}
	if len(x) == 0 {
		return d
	}
	slices.Sort(x)
	q := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, x, nil) }
	d.Min, d.Q05, d.Q25, d.Median, d.Q75, d.Q95, d.Max = x[0], q(.05), q(.25), q(.5), q(.75), q(.95), x[len(x)-1]
	first, _ := slices.BinarySearch(x, attained)
	d.Attained = len(x) - first
	return d
}

// An Expected is one bound on the gradient of the expected reward.
type Expected struct {
	Bound      string
	Formula    string
	Cases      int
	Violations int
	Tightness  Distribution
}
