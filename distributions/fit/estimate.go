package fit

import (
	"math"
	"slices"

	"vigorlab/distributions"
)

// An estimate is a fitted law of one family: of a parametric one with theta,
// or nonparametric with mixing.
type estimate struct {
	family *family
	mixing *Mixing
	optimum
}

// estimateOf fits a family to counts; nil stands for the nonparametric one. A
// family that holds others starts from their estimates too, as far as these
// are among the known ones: it is never less likely than they are.
func estimateOf(v view, f *family, c *Counts, known ...*estimate) (*estimate, error) {
	if f == nil {
		return nonparametric(c, gapTolerance)
	}
	starts := v.starts(f, c)
	for _, e := range known {
		if e.family != nil && slices.Contains(e.family.within, f.name) {
			starts = append(starts, f.holding(e))
		}
	}
	return &estimate{family: f, optimum: newSearch(v, f, c).best(starts)}, nil
}

// holding returns f's parameters of the estimate of a family that f holds: what
// that family lacks is a spike, which is then 0, or max, which is then 1.
func (f *family) holding(e *estimate) []float64 {
	theta := make([]float64, len(f.ranges))
	for j, r := range f.ranges {
		if r.name == rangeMax.name {
			theta[j] = rangeMax.high
		}
		for k, held := range e.family.ranges {
			if held.name == r.name {
				theta[j] = e.theta[k]
			}
		}
	}
	return theta
}

// rough is as well as a bootstrap needs a fit: to 1e-5 nats, or 1e-5 a prompt.
const rough = 1e-5

// refit fits the estimate's family to other counts like its own, roughly and
// starting from it.
func (e *estimate) refit(v view, c *Counts) (*estimate, error) {
	if e.family == nil {
		return nonparametric(c, rough)
	}
	s := newSearch(v, e.family, c)
	s.tolerance = rough
	return &estimate{family: e.family, optimum: s.climb(e.theta, none)}, nil
}

func nonparametric(c *Counts, tolerance float64) (*estimate, error) {
	m, err := mixingOf(c, tolerance)
	if err != nil {
		return nil, err
	}
	return &estimate{mixing: m, optimum: optimum{logLik: m.LogLik}}, nil
}

// over returns the likelihood of cells under the estimate's family.
func (e *estimate) over(v view, cells []Cell) likelihood {
	if e.family == nil {
		return newAtomic(cells)
	}
	return v.over(e.family, cells)
}

// parameters returns what over's likelihood takes.
func (e *estimate) parameters() []float64 {
	if e.family == nil {
		return flat(e.mixing.Atoms)
	}
	return e.theta
}

// logs returns the log-probabilities of cells.
func (e *estimate) logs(v view, cells []Cell) []float64 {
	logs := make([]float64, len(cells))
	e.over(v, cells).logs(e.parameters(), logs, nil)
	return logs
}

// An atomic is the likelihood of finitely many atoms, with parameters
// p1, weight1, p2, weight2, ... It has no slopes: nobody climbs on it.
type atomic struct {
	cells  []Cell
	choose []float64
}

func newAtomic(cells []Cell) atomic { return atomic{cells, chooseAll(cells)} }

func (l atomic) logs(theta, logs []float64, _ [][]float64) {
	fill(logs, 0)
	for k := 0; k < len(theta); k += 2 {
		p, weight := theta[k], theta[k+1]
		hit, miss := math.Log(p), math.Log1p(-p)
		for i, x := range l.cells {
			logs[i] += weight * math.Exp(l.choose[i]+times(x.S, hit)+times(x.N-x.S, miss))
		}
	}
	for i := range logs {
		logs[i] = math.Log(logs[i])
	}
}

// times returns k x, 0 for k = 0 whatever x is.
func times(k int, x float64) float64 {
	if k == 0 {
		return 0
	}
	return float64(k) * x
}

// flat returns atoms as parameters.
func flat(atoms []distributions.Node) []float64 {
	theta := make([]float64, 0, 2*len(atoms))
	for _, a := range atoms {
		theta = append(theta, a.P, a.W)
	}
	return theta
}

// Figures are what a law says of groups and of gain.
type Figures struct {
	MeanP float64
	MeanU float64
	// Gain is E[u]/E[sqrt u]^2: by how much rollouts in proportion to sqrt u
	// (Neyman 1934), were it known, cut the variance of a mean over prompts
	// against equally many. It is NaN where u is 0 for certain.
	Gain         float64
	ZeroVariance [len(groupSizes)]float64 // shares of groups whose rewards all agree, by GroupSizes
}

// groupSizes are the group sizes of the zero-variance figures.
var groupSizes = [...]int{2, 4, 8, 16, 32, 64}

// GroupSizes returns the group sizes of ZeroVariance.
func GroupSizes() []int { return groupSizes[:] }

// figures follow from probabilities of counts: E[p] = P(1 of 1), E[u] =
// 4 E[p(1-p)] = 2 P(1 of 2), and so on.
func (e *estimate) figures() Figures {
	cells := []Cell{{N: 1, S: 1}, {N: 2, S: 1}}
	for _, g := range groupSizes {
		cells = append(cells, Cell{N: g}, Cell{N: g, S: g})
	}
	p := e.logs(whole, cells)
	for i := range p {
		p[i] = math.Exp(p[i])
	}
	f := Figures{MeanP: p[0], MeanU: 2 * p[1]}
	for i := range groupSizes {
		f.ZeroVariance[i] = p[2+2*i] + p[3+2*i]
	}
	sqrtU := e.meanSqrtU()
	f.Gain = f.MeanU / (sqrtU * sqrtU)
	return f
}

// meanSqrtU returns E[sqrt u].
func (e *estimate) meanSqrtU() float64 {
	if e.family != nil {
		return e.family.sqrtU(e.theta)
	}
	var sum float64
	for _, a := range e.mixing.Atoms {
		sum += a.W * math.Sqrt(distributions.U(a.P))
	}
	return sum
}

// law returns the estimate as a law, with a spec that parses to it where there
// is one.
func (e *estimate) law() (law distributions.Law, spec string, err error) {
	if e.family == nil {
		law, err = distributions.NewAtoms(e.mixing.Atoms)
		return law, "", err
	}
	law, err = e.family.law(e.theta)
	if err != nil {
		return nil, "", err
	}
	return law, e.family.spec(e.theta), nil
}
