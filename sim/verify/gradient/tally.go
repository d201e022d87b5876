package gradient

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A tally adds up sessions, in their order.
type tally struct {
	cfg       Config
	rows      []row
	plants    []plant
	res       *Result
	byRow     [][]float64
	byBound   [][]float64
	seenMixed int
}

var kinds = []string{Sampled, Prescribed, Farthest, Closest}

// smallSigma is the standard deviation of Result.GradedAtSmallSigma.
const smallSigma = 1e-6

func newTally(cfg Config) *tally {
	t := &tally{
		cfg: cfg, rows: rows(), plants: plants(),
		res: &Result{
			Settings:  cfg.Settings,
			MaxExcess: -1,
			Covered: Coverage{
				Sizes: [2]int{math.MaxInt, 0}, Responses: [2]int{math.MaxInt, 0}, Success: [2]float64{1, 0},
			},
		},
	}
	for _, w := range t.rows {
		t.res.Rows = append(t.res.Rows, Row{Estimator: w.estimator.Spec(), Coding: w.coding, MaxExcess: -1})
	}
	for _, p := range t.plants {
		t.res.Plants = append(t.res.Plants, Plant{Mistake: p.name, Least: p.least})
	}
	for _, b := range expectedBounds {
		t.res.Expected = append(t.res.Expected, Expected{Bound: b.name, Formula: b.formula})
	}
	t.byRow = make([][]float64, len(t.rows))
	t.byBound = make([][]float64, len(expectedBounds))
	return t
}

// widen widens a range to include x.
func widen[T int | float64](r *[2]T, x T) { r[0], r[1] = min(r[0], x), max(r[1], x) }

func (t *tally) add(s *session) error {
	c := &t.res.Covered
	widen(&c.Success, s.success)
	widen(&c.Responses, s.responses())
	for _, g := range s.groups {
		widen(&c.Sizes, g.size())
	}
	c.MaxRatio = max(c.MaxRatio, s.maxRatio)
	for _, n := range []struct {
		so    bool
		count *int
	}{
		{!slices.Equal(s.before, s.after), &c.Moved},
		{!slices.Equal(s.gradients.value[positive], s.gradients.value[negative]), &c.Clipped},
		{s.surrogate.token, &c.TokenRatios},
	} {
		if n.so {
			*n.count++
		}
	}
	for _, j := range s.cases {
		t.addCase(s, j)
	}
	for _, j := range s.planted {
		p := &t.res.Plants[j.row]
		p.Counts.add(&j.verdict)
		if j.spread {
			p.Spread++
		}
	}
	for _, e := range s.expected {
		if err := t.addExpected(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tally) addCase(s *session, j judged) {
	w, row := t.rows[j.row], &t.res.Rows[j.row]
	t.res.Counts.add(&j.verdict)
	row.Counts.add(&j.verdict)
	t.res.MaxSum = max(t.res.MaxSum, j.sum)
	if !math.IsNaN(j.identity) {
		t.res.Identities++
		t.res.MaxIdentity = max(t.res.MaxIdentity, j.identity)
	}
	if j.bound == 0 {
		return
	}
	tightness := j.tightness()
	row.MaxExcess = max(row.MaxExcess, tightness-1)
	t.res.MaxExcess = max(t.res.MaxExcess, tightness-1)
	t.byRow[j.row] = append(t.byRow[j.row], tightness)
	if w.coding == Graded {
		if stat.PopStdDev(s.rewards(*j.group, Graded), nil) < smallSigma {
			t.res.GradedAtSmallSigma = max(t.res.GradedAtSmallSigma, j.norm/s.largest)
		}
	}
	if w.paper() && w.coding == Signed {
		t.addPoint(Point{j.bound / s.largest, j.norm / s.largest, j.group.kind})
	}
}

// addPoint keeps every k-th point, k such that at most MaxPoints are kept of
// the groups that all settings have together.
func (t *tally) addPoint(p Point) {
	if t.cfg.MaxPoints == 0 {
		return
	}
	groups := t.cfg.Settings * len(kinds)
	// An odd stride meets every kind in turn.
	if every := (groups+t.cfg.MaxPoints-1)/t.cfg.MaxPoints | 1; t.seenMixed%every == 0 {
		t.res.Points = append(t.res.Points, p)
	}
	t.seenMixed++
}

func (t *tally) addExpected(e expectation) error {
	for k, b := range expectedBounds {
		bound, err := b.value(e.policy, e.std)
		if err != nil {
			return err
		}
		row := &t.res.Expected[k]
		row.Cases++
		if !(e.norm <= bound*(1+tolerance)) {
			row.Violations++
		}
		if bound > 0 {
			t.byBound[k] = append(t.byBound[k], e.norm/bound)
		}
	}
	return nil
}

func (t *tally) result() (*Result, error) {
	for length := 1; length <= 6; length++ {
		if err := t.addExpected(twoAnswers(length)); err != nil {
			return nil, err
		}
	}
	for k := range t.res.Rows {
		t.res.Rows[k].Tightness = distribution(t.byRow[k])
	}
	for k := range t.res.Expected {
		t.res.Expected[k].Tightness = distribution(t.byBound[k])
	}
	var err error
	t.res.OneLogit, err = oneLogits()
	return t.res, err
}
