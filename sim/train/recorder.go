package train

import (
	"math"
	"slices"

	"vigorlab/sim/rollout"
)

// PBins is the number of equal bins of p in which a curve counts rollouts: bin i
// holds p in [i/PBins, (i+1)/PBins), the last one p = 1 too.
const PBins = 10

// A CurvePoint is where a run stands after a step, and what happened since the
// point before. Every number in it is finite.
type CurvePoint struct {
	Step    int            `json:"step"`
	Ledger  rollout.Ledger `json:"ledger"` // summed up to and with the step
	Cost    float64        `json:"cost"`
	Success float64        `json:"success"`
	HeldOut *float64       `json:"held_out"` // nil where no prompts are held out

	// Since the point before; all 0 at step 0.
	Groups        int        `json:"groups"`       // trained on
	EqualGroups   int        `json:"equal_groups"` // of these, groups whose rewards all agree
	Rollouts      int        `json:"rollouts"`     // trained on
	EqualRollouts int        `json:"equal_rollouts"`
	Asked         [PBins]int `json:"asked"`       // rollouts that the strategy bought, by the p that answered
	SumSuccess    float64    `json:"sum_success"` // sum of that p over them

	Diagnostics []DiagnosticSum `json:"diagnostics,omitempty"` // of the system, in the order of its reports; since the point before

	Starvation Starvation `json:"starvation"` // at the step itself
}

// A DiagnosticSum sums a figure of the system up over the steps that have it: a
// figure that is not finite is none.
type DiagnosticSum struct {
	Name  string  `json:"name"`
	Sum   float64 `json:"sum"`
	Steps int     `json:"steps"`
}

// Mean returns the mean over steps, NaN over none.
func (d *DiagnosticSum) Mean() float64 { return d.Sum / float64(d.Steps) }

// Starvation is how many steps ago the trained prompts were last in an update,
// over all prompts of the set: 0 for those of the last step. A prompt never
// trained on counts as last trained on before step 1, at step 0.
type Starvation struct {
	Mean  float64 `json:"mean"`
	Q90   int     `json:"q90"` // the smallest number that 90 % of the prompts do not exceed
	Max   int     `json:"max"`
	Never float64 `json:"never"` // share of the prompts never trained on
}

// A Recorder keeps the curve of one run in at most so many points, evenly spaced
// in steps: when they are full, every other one is dropped, what happened since
// the point before is summed, and the interval doubles. It keeps one number a
// prompt and allocates nothing from step to step. Make it with NewRecorder and
// hand it to one run (Config.Recorder).
type Recorder struct {
	interval int
	points   []CurvePoint
	since    CurvePoint // what happened since the last point
	latest   Point
	last     []int // the step at which each prompt was last trained on, 0 for never
	ages     []int
}

// NewRecorder returns a recorder of at most the given number of points, an even
// number of at least 2, and the end of the run beside them.
func NewRecorder(points int) *Recorder {
	if points < 2 || points%2 != 0 {
		panic("train: a recorder wants an even number of points, at least 2")
	}
	return &Recorder{interval: 1, points: make([]CurvePoint, 0, points)}
}

// Interval returns the steps between the points of Curve, the end of the run
// apart.
func (r *Recorder) Interval() int { return r.interval }

// Curve returns the points at the multiples of Interval, step 0 included, and
// the end of the run.
func (r *Recorder) Curve() []CurvePoint {
	curve := slices.Clone(r.points)
	if n := len(curve); n > 0 && curve[n-1].Step < r.latest.Step {
		curve = append(curve, r.point())
	}
	return curve
}

// step hears of a step's rollouts and of the groups it learns from, before the
// policy moves.
func (r *Recorder) step(number int, s *Source, groups []Group) {
	for _, a := range s.answers {
		p := s.p[a.x]
		r.since.Asked[min(int(p*PBins), PBins-1)] += a.n
		r.since.SumSuccess += p * float64(a.n)
	}
	for i := range groups {
		g := &groups[i]
		n, successes := size(s.policy.Outcomes(g.X), g.Counts)
		r.since.Groups++
		r.since.Rollouts += n
		if successes == 0 || successes == n {
			r.since.EqualGroups++
			r.since.EqualRollouts += n
		}
		r.last[g.X] = number
	}
}

// look hears where the run stands after a step.
func (r *Recorder) look(p Point, prompts int) {
	if r.last == nil {
		r.last, r.ages = make([]int, prompts), make([]int, prompts)
	}
	r.latest = p
	r.report(p.Diagnostics)
	if p.Step%r.interval != 0 {
		return
	}
	if len(r.points) == cap(r.points) {
		r.halve() // the step is a multiple of the doubled interval too
	}
	r.points = append(r.points, r.point())
	r.since = CurvePoint{}
}

// report takes in a system's figures of one step.
func (r *Recorder) report(figures []Diagnostic) {
	for i, d := range figures {
		if i == len(r.since.Diagnostics) {
			r.since.Diagnostics = append(r.since.Diagnostics, DiagnosticSum{Name: d.Name})
		}
		if sum := &r.since.Diagnostics[i]; !math.IsNaN(d.Value) && !math.IsInf(sum.Sum+d.Value, 0) {
			sum.Sum += d.Value
			sum.Steps++
		}
	}
}

// point returns the point of the last step.
func (r *Recorder) point() CurvePoint {
	c := r.since
	c.Diagnostics = slices.Clone(c.Diagnostics)
	c.Step, c.Ledger, c.Cost, c.Success = r.latest.Step, r.latest.Ledger, r.latest.Cost, r.latest.Success
	if h := r.latest.HeldOut; h == h {
		c.HeldOut = &h
	}
	c.Starvation = r.starvation(c.Step)
	return c
}

// halve keeps every other point, from step 0 on.
func (r *Recorder) halve() {
	kept := r.points[:1]
	for i := 2; i < len(r.points); i += 2 {
		p := r.points[i]
		p.Add(&r.points[i-1])
		kept = append(kept, p)
	}
	r.since.Add(&r.points[len(r.points)-1]) // an odd one, now inside an interval
	r.points = kept
	r.interval *= 2
}

// Add takes in what happened in the interval before the point's own.
func (c *CurvePoint) Add(o *CurvePoint) {
	c.Groups += o.Groups
	c.EqualGroups += o.EqualGroups
	c.Rollouts += o.Rollouts
	c.EqualRollouts += o.EqualRollouts
	c.SumSuccess += o.SumSuccess
	for i, n := range o.Asked {
		c.Asked[i] += n
	}
	c.Diagnostics = added(c.Diagnostics, o.Diagnostics)
}

// added returns the sums of two intervals of one run, of which either may have
// none, in a slice of its own.
func added(a, b []DiagnosticSum) []DiagnosticSum {
	if len(a) < len(b) {
		a, b = b, a
	}
	sums := slices.Clone(a)
	for i, d := range b {
		sums[i].Sum += d.Sum
		sums[i].Steps += d.Steps
	}
	return sums
}

// starvation returns how long prompts have waited after the step.
func (r *Recorder) starvation(step int) Starvation {
	sum, never := 0, 0
	for x, last := range r.last {
		r.ages[x] = step - last
		sum += step - last
		if last == 0 {
			never++
		}
	}
	slices.Sort(r.ages)
	n := len(r.ages)
	return Starvation{
		Mean: float64(sum) / float64(n), Q90: r.ages[(9*n+9)/10-1], Max: r.ages[n-1],
		Never: float64(never) / float64(n),
	}
}
