package verify

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"vigorlab/sim"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

// A shown is an observation with its figures, worked out once if at all.
type shown struct {
	*sim.Observation
	outcome func() sim.Outcome
}

func newShown(o *sim.Observation) shown { return shown{o, sync.OnceValue(o.Outcome)} }

// A measure is a figure that a live run shows of some of its prompts.
type measure struct {
	id, claim string
	of        func(shown) float64                // NaN where there is none
	field     func(*theory.MeanField) float64    // nil where only simulation has it
	hits      func(*sim.Observation) (k, no int) // prompts that a share counts and those that it does not; nil for what is no share
}

// exact reports whether a mean field, nil for none, holds the measure.
func (m *measure) exact(f *theory.MeanField) bool { return f != nil && m.field != nil }

// measuresOf returns what a run can show: eta only where a strategy has a
// choice, what cuts do only where VIGOR makes them, and what they lose only with
// rollouts held out.
func measuresOf(l *Live) []measure {
	all := []measure{
		{
			id: "ineffective", claim: "the share of ineffective rollouts in the second half is foretold",
			of:    func(o shown) float64 { return value(o.outcome().Ineffective) },
			field: func(m *theory.MeanField) float64 { return m.Ineffective },
			hits:  zeroVariance,
		},
		{
			id: "signal", claim: "the signal per rollout in the second half is foretold",
			of:    func(o shown) float64 { return value(o.outcome().Signal) },
			field: func(m *theory.MeanField) float64 { return m.Signal },
		},
	}
	if !strings.HasPrefix(l.Strategy, "fixed:") {
		all = append(all, measure{
			id: "eta", claim: "eta of the second half, estimated without the rollouts that chose, is foretold",
			of:    func(o shown) float64 { return value(o.outcome().Eta) },
			field: func(m *theory.MeanField) float64 { return m.Eta },
		})
	}
	for cut := range cutsOf(l.Strategy) {
		all = append(all, share(fmt.Sprintf("kept-alike-%d", cut+1),
			fmt.Sprintf("of the prompts that cut %d keeps in the second half, the share whose rewards all agreed is foretold", cut+1),
			func(o *sim.Observation) (int, int) { return keptAlike(o, cut) }))
		if l.Holdout >= 2 {
			all = append(all, share(fmt.Sprintf("dropped-mixed-%d", cut+1),
				fmt.Sprintf("of the prompts that cut %d drops in the second half, the share that rollouts held out show mixed is foretold", cut+1),
				func(o *sim.Observation) (int, int) { return droppedMixed(o, cut) }))
		}
	}
	return all
}

// share is the measure of a share of prompts.
func share(id, claim string, hits func(*sim.Observation) (int, int)) measure {
	return measure{id: id, claim: claim, hits: hits, of: func(o shown) float64 {
		k, no := hits(o.Observation)
		return float64(k) / float64(k+no) // NaN of nothing
	}}
}

// value returns an estimate, NaN where there is none.
func value(e sim.Estimate) float64 {
	if e.Reason != "" {
		return math.NaN()
	}
	return e.Mean
}

// mostCuts is the number of cuts that are looked at: later ones keep few prompts.
const mostCuts = 8

// cutsOf returns how often a strategy cuts, as far as it is looked at: VIGOR
// between its rounds.
func cutsOf(spec string) int {
	s, err := strategy.Parse(spec, nil)
	if err != nil {
		return 0
	}
	if v, ok := s.(*strategy.Vigor); ok {
		return min(v.Plan().Rounds-1, mostCuts)
	}
	return 0
}

// zeroVariance counts the trained groups whose rewards all agree.
func zeroVariance(o *sim.Observation) (agree, differ int) {
	o.EachTrained(func(_, n, s int) {
		if s == 0 || s == n {
			agree++
		} else {
			differ++
		}
	})
	return agree, differ
}

// keptAlike counts the prompts that a cut, from 0, keeps: those whose rewards
// so far all agreed, of which ties kept some, and the others.
func keptAlike(o *sim.Observation, cut int) (alike, differ int) {
	if cut+1 >= len(o.Rounds) {
		return 0, 0
	}
	before := &sim.Observation{Batch: o.Batch, Rounds: o.Rounds[:cut+1]}
	n, s := before.Counts()
	for _, q := range o.Rounds[cut+1].Ask {
		if s[q.X] == 0 || s[q.X] == n[q.X] {
			alike++
		} else {
			differ++
		}
	}
	return alike, differ
}

// droppedMixed counts the prompts that a cut drops: those whose rollouts held
// out differ, and the others.
func droppedMixed(o *sim.Observation, cut int) (mixed, alike int) {
	if cut+1 >= len(o.Rounds) || o.Holdout == nil {
		return 0, 0
	}
	dropped := make([]bool, o.Batch)
	for _, q := range o.Rounds[cut].Ask {
		dropped[q.X] = true
	}
	for _, q := range o.Rounds[cut+1].Ask {
		dropped[q.X] = false
	}
	for i, q := range o.Holdout.Ask {
		switch s := o.Holdout.S[i]; {
		case !dropped[q.X]:
		case s > 0 && s < q.N:
			mixed++
		default:
			alike++
		}
	}
	return mixed, alike
}

// A sizeBin is a class of group sizes in the update, low to high inclusive.
type sizeBin struct{ low, high int }

func (b sizeBin) String() string {
	if b.low == b.high {
		return fmt.Sprint(b.low)
	}
	return fmt.Sprintf("%d-%d", b.low, b.high)
}

// sizeBins joins neighbouring sizes of a run until a half of the given prompts
// is expected to have fewExpected groups in each class; the last ends at no size.
func sizeBins(o *sim.Observation, half int) []sizeBin {
	groups := groupSizes(o)
	var bins []sizeBin
	low, held := 0, 0.0
	for _, size := range slices.Sorted(maps.Keys(groups)) {
		held += float64(groups[size]) * float64(half) / float64(o.Batch)
		if low == 0 {
			low = size
		}
		if held >= fewExpected {
			bins = append(bins, sizeBin{low, size})
			low, held = 0, 0
		}
	}
	if low > 0 && len(bins) > 0 { // too few are left for a class of their own
		bins[len(bins)-1].high = slices.Max(slices.Collect(maps.Keys(groups)))
	}
	return bins
}

// groupSizes counts the trained groups by size.
func groupSizes(o *sim.Observation) map[int]int {
	groups := map[int]int{}
	o.EachTrained(func(_, n, _ int) { groups[n]++ })
	return groups
}

// sizesOf returns the share of groups in every class; sizes between classes, or
// beyond them, count to the nearest below, or the first.
func sizesOf(o *sim.Observation, bins []sizeBin) []float64 {
	shares, all := make([]float64, len(bins)), 0.0
	for size, n := range groupSizes(o) {
		at := 0
		for k, b := range bins {
			if size >= b.low {
				at = k
			}
		}
		if len(bins) > 0 {
			shares[at] += float64(n)
			all += float64(n)
		}
	}
	for k := range shares {
		shares[k] /= all
	}
	return shares
}

// sizesText prints shares seen beside those foretold.
func sizesText(bins []sizeBin, seen, expected []float64) string {
	var parts []string
	for k, b := range bins {
		parts = append(parts, fmt.Sprintf("groups of %v: %.3f, foretold %.3f", b, seen[k], expected[k]))
	}
	return strings.Join(parts, "; ")
}
