package plan

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

// Quadrature nodes: few for a search, where the groups ask for as many as they
// need all the same (theory.VigorMeanField), more for figures that are shown.
const (
	searchNodes = 100
	finalNodes  = theory.DefaultNodes
)

// frontier is that of the mean fields' screening errors, which no plan reads.
const frontier = 1

// A Row is a strategy with what the mean field says of it.
type Row struct {
	Strategy string
	Rounds   int     // sequential rounds of a step
	Rollouts float64 // a prompt of the batch
	Prompts  float64 // prompts trained on for each one of the batch
	Largest  int     // group
	Eta      float64
	Gains    Both
	Gain     float64 // the objective's
	Seconds  float64 // of a step's generation; NaN without a clock
	// PerSecond is Gain over the seconds in units of those of no change, fixed
	// groups of the budget; NaN without a clock.
	PerSecond float64
	Finite    Finite // the objective's gain on finite batches

	candidate candidate
}

// A field evaluates candidates on one law. It remembers the fixed groups that
// they are compared with.
type field struct {
	law     distributions.Law
	lengths *distributions.LengthLaw // nil where unknown
	nodes   int
	noise   bool // whether the gradient's noise is asked for: a mean field or more a cut
	fixed   map[float64]fixedField
	seconds float64 // of no change; 0 where not asked for yet
}

// A fixedField is the mean field of fixed groups with their merits.
type fixedField struct {
	*theory.MeanField
	merits Both
}

func newField(law distributions.Law, lengths *distributions.LengthLaw, nodes int, noise bool) *field {
	return &field{&lawOnce{law, map[int][]distributions.Node{}}, lengths, nodes, noise, map[float64]fixedField{}, 0}
}

// A lawOnce remembers its quadrature, for which every mean field asks anew. Its
// nodes are not to be changed, and goroutines may not share it.
type lawOnce struct {
	distributions.Law
	nodes map[int][]distributions.Node
}

func (l *lawOnce) Nodes(n int, cuts ...float64) []distributions.Node {
	if len(cuts) > 0 {
		return l.Law.Nodes(n, cuts...)
	}
	known, ok := l.nodes[n]
	if !ok {
		known = l.Law.Nodes(n)
		l.nodes[n] = known
	}
	return known
}

// fixedGroups returns fixed groups of a mean size.
func (f *field) fixedGroups(mean float64) (fixedField, error) {
	if known, ok := f.fixed[mean]; ok {
		return known, nil
	}
	m, err := theory.FixedMeanField(f.law, mean, frontier, f.nodes)
	if err != nil {
		return fixedField{}, err
	}
	noise := theory.Noise{Rollout: math.NaN(), Prompt: math.NaN()}
	if f.noise {
		if noise, err = theory.FixedGradientNoise(f.law, mean, f.nodes); err != nil {
			return fixedField{}, err
		}
	}
	f.fixed[mean] = fixedField{m, merits(m, noise)}
	return f.fixed[mean], nil
}

// scheduled returns the mean field of a schedule with its merits.
func (f *field) scheduled(v schedule.Vigor) (*theory.MeanField, Both, error) {
	m, err := theory.VigorMeanField(f.law, v, frontier, f.nodes)
	if err != nil {
		return nil, Both{}, err
	}
	noise := theory.Noise{Rollout: math.NaN(), Prompt: math.NaN()}
	if f.noise {
		noise, err = theory.GradientNoise(f.law, v, f.nodes)
	}
	return m, merits(m, noise), err
}

// row evaluates a candidate, against fixed groups that spend as much on the
// prompts of the batch.
func (f *field) row(c candidate, o Options) (Row, error) {
	row := Row{
		Strategy: c.spec(), Rounds: c.rounds(), Rollouts: float64(o.Group), Prompts: 1,
		Seconds: math.NaN(), PerSecond: math.NaN(), Finite: Finite{math.NaN(), math.NaN()}, candidate: c,
	}
	var m *theory.MeanField
	var own Both
	var err error
	if c.group == 0 {
		if m, own, err = f.scheduled(c.plan); err == nil {
			row.Rollouts = m.Rollouts
		}
	} else {
		var x fixedField
		x, err = f.fixedGroups(float64(c.group))
		m, own = x.MeanField, x.merits
		row.Prompts = float64(c.budget) / float64(c.group)
	}
	if err != nil {
		return Row{}, err
	}
	fixed, err := f.fixedGroups(row.Rollouts)
	if err != nil {
		return Row{}, err
	}
	row.Largest = m.GroupSizes[len(m.GroupSizes)-1].Size
	row.Eta = m.Eta
	row.Gains = own.over(fixed.merits)
	row.Gain = row.Gains.Under(o.Aggregate).Of(o.Objective)
	if o.Clock.on() {
		row.Seconds = o.Clock.step(roundsOf(c, m, o.Batch), f.lengths)
		still, err := f.noChangeSeconds(o)
		if err != nil {
			return Row{}, err
		}
		row.PerSecond = row.Gain * still / row.Seconds
	}
	return row, nil
}

// noChangeSeconds returns the seconds of a step of fixed groups of the budget.
func (f *field) noChangeSeconds(o Options) (float64, error) {
	if f.seconds == 0 {
		m, err := f.fixedGroups(float64(o.Group))
		if err != nil {
			return 0, err
		}
		f.seconds = o.Clock.step(roundsOf(candidate{group: o.Group, budget: o.Group}, m.MeanField, o.Batch), f.lengths)
	}
	return f.seconds, nil
}

// A search is all schedules of the budget on one law, best first.
type search struct {
	law       distributions.Law
	lengths   *distributions.LengthLaw
	schedules []Row
}

// newSearch evaluates every schedule on few nodes.
func newSearch(ctx context.Context, law distributions.Law, lengths *distributions.LengthLaw, o Options) (*search, error) {
	plans := schedules(o)
	s := &search{law: law, lengths: lengths, schedules: make([]Row, len(plans))}
	err := parallel(ctx, o.Workers, len(plans), func() (func(int) error, error) {
		f := newField(law, lengths, searchNodes, o.Objective == GradientVariance)
		return func(i int) error {
			var err error
			s.schedules[i], err = f.row(candidate{plan: plans[i], budget: o.Group}, o)
			return err
		}, nil
	})
	sortRows(s.schedules)
	return s, err
}

// sortRows puts the larger gain first, the fewer rounds among equals, and NaN
// last.
func sortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.Rounds, b.Rounds))
	})
}

// table returns the finalists of the search with the default schedule and the
// fixed groups, on all nodes.
func (s *search) table(o Options) ([]Row, error) {
	f := newField(s.law, s.lengths, finalNodes, true)
	var rows []Row
	for _, c := range s.finalists(o) {
		row, err := f.row(c, o)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	sortRows(rows)
	return rows, nil
}

// finalists returns the best schedules, the best of every number of rounds, the
// best by the clock where there is one, the default schedule, fixed groups at the
// budget, and the best of those on more or fewer prompts.
func (s *search) finalists(o Options) []candidate {
	chosen := []candidate{{group: o.Group, budget: o.Group}}
	add := func(c candidate) {
		if !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	if v := o.standard(); o.affordable(v) {
		add(candidate{plan: v, budget: o.Group})
	}
	seen := map[int]bool{}
	for i, row := range s.schedules {
		if i < o.Finalists || !seen[row.Rounds] {
			add(row.candidate)
		}
		seen[row.Rounds] = true
	}
	if row, ok := fastest(s.schedules); ok {
		add(row.candidate)
	}
	for _, g := range otherGroups(o) {
		add(candidate{group: g, budget: o.Group})
	}
	return chosen
}

// affordable reports whether a schedule keeps the options' limits.
func (o *Options) affordable(v schedule.Vigor) bool {
	rollouts, err := v.Rollouts()
	largest := 0
	for _, m := range rollouts {
		largest += m
	}
	return err == nil && v.Rounds <= o.MaxRounds && largest <= o.MaxGroup && o.inBudget(v.MeanGroup())
}

// otherGroups returns the fixed group sizes that are tried beside G: powers of
// two from 2 to MaxGroup.
func otherGroups(o Options) []int {
	var all []int
	for g := 2; g <= o.MaxGroup; g *= 2 {
		if g != o.Group {
			all = append(all, g)
		}
	}
	return all
}

// best returns the first row of a strategy that trains on the whole batch; rows
// hold the fixed groups at the budget, which are no change where no gain exists.
func best(rows []Row) Row {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.candidate.whole() && r.Gain > 0 })
	if i < 0 {
		i = slices.IndexFunc(rows, func(r Row) bool { return r.candidate.group == r.candidate.budget })
	}
	return rows[i]
}

// fastest returns the row of most gain a second that trains on the whole batch,
// the first of equal ones; false where none has any, as without a clock.
func fastest(rows []Row) (Row, bool) {
	at := -1
	for i, r := range rows {
		if r.candidate.whole() && r.PerSecond > 0 && (at < 0 || r.PerSecond > rows[at].PerSecond) {
			at = i
		}
	}
	if at < 0 {
		return Row{}, false
	}
	return rows[at], true
}

// parallel runs jobs 0 to n-1 on workers, each with work of its own.
func parallel(ctx context.Context, workers, n int, newWork func() (func(int) error, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	for w := range min(workers, n) {
		group.Go(func() error {
			work, err := newWork()
			if err != nil {
				return err
			}
			for i := w; i < n; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
