package logs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Evidence is what was seen of a log, for the defects to judge.
type evidence struct {
	o      Options
	format *format
	tally  *tally

	files   int
	skipped []string // files that are no part of the log, each with the reason
	copies  []string // files that are copies of others
	rows    int      // rollouts

	// Records that cannot be read.
	tornTails  []string
	bad        int
	badLine    int
	badExample string

	// Rewards.
	column        string
	support       support
	pairs         []points // files by the two values of their rewards
	graded        bool     // a file has more than two values
	coerced       int
	dropped       int
	reasons       map[string]int
	unreadable    int
	unreadExample string
	candidates    []string
	chosenSeen    bool
	unscored      int
	disagree      int
	between       [2]string

	// Another judge of the answers.
	judge                 string
	leastRight, mostWrong float64

	// Groups.
	joined     bool // no prompt can be told from its answer
	keyed      string
	byText     bool
	parted     bool
	unnamed    int
	misaligned int
	duplicated int
	stepless   bool
	attempts   int

	// Columns of records, and how many of them have each.
	columns  map[string]int
	last     []string // the keys of the last records
	run      int      // how many records had just these
	recorded int

	streams map[string]*stream

	groups []*group // that count, once all is read
	sizes  map[int]int
}

// Points are a two-point set of rewards and a file that has it.
type points struct {
	low, high float64
	file      string
}

func newEvidence(o Options) *evidence {
	return &evidence{
		o: o, tally: newTally(), reasons: map[string]int{}, columns: map[string]int{}, sizes: map[int]int{},
		streams: map[string]*stream{}, leastRight: math.Inf(1), mostWrong: math.Inf(-1),
	}
}

// rewardless reports whether a log's format has no rewards of single rollouts.
func (e *evidence) rewardless() bool { return e.format != nil && e.format.refuse != "" }

// maxColumns bounds how many columns are followed.
const maxColumns = 1000

// count follows which columns records have.
func (e *evidence) count(r record) {
	e.recorded++
	if e.sameKeys(r) {
		e.run++
		return
	}
	e.flush()
	e.last = e.last[:0]
	for _, f := range r {
		e.last = append(e.last, strings.Clone(f.key))
	}
	e.run = 1
}

func (e *evidence) sameKeys(r record) bool {
	if len(r) != len(e.last) {
		return false
	}
	for i, f := range r {
		if f.key != e.last[i] {
			return false
		}
	}
	return true
}

// flush adds the current run of records to the columns.
func (e *evidence) flush() {
	for _, key := range e.last {
		if _, known := e.columns[key]; known || len(e.columns) < maxColumns {
			e.columns[key] += e.run
		}
	}
	e.run = 0
}

// close ends a file: its rewards are compared with those of other files.
func (e *evidence) close(seen *support, file string) {
	if len(seen.values) > 2 {
		e.graded = true
	}
	if !seen.two() {
		return
	}
	for _, p := range e.pairs {
		if same(p.low, seen.values[0]) && same(p.high, seen.values[1]) {
			return
		}
	}
	if len(e.pairs) < maxSupport {
		e.pairs = append(e.pairs, points{seen.values[0], seen.values[1], file})
	}
}

// finish takes stock once all is read.
func (e *evidence) finish() {
	e.flush()
	e.duplicated += e.tally.duplicated
	e.groups = e.tally.kept()
	for _, g := range e.groups {
		e.sizes[len(g.reward)]++
	}
}

// places returns the first files of two streams that share a group.
func (e *evidence) places() []string {
	var places []string
	for _, st := range e.streams {
		if st.id == e.tally.from[0] || st.id == e.tally.from[1] {
			places = append(places, st.first)
		}
	}
	slices.Sort(places)
	return places
}

// usual returns the most frequent group size, the smaller one of two.
func (e *evidence) usual() int {
	usual := 0
	for _, n := range slices.Sorted(maps.Keys(e.sizes)) {
		if e.sizes[n] > e.sizes[usual] {
			usual = n
		}
	}
	return usual
}

// constants counts the groups whose rewards are all the same.
func (e *evidence) constants() int {
	n := 0
	for _, g := range e.groups {
		if g.constant() {
			n++
		}
	}
	return n
}

// split returns the variance of the rewards within groups and that between
// their means, each group of at least two rollouts weighted by its rollouts.
// Both are sums of squares over the same number of rollouts, taken about means
// that were computed first.
func (e *evidence) split() (within, between float64, rollouts int) {
	grand := 0.0
	for _, g := range e.groups {
		if len(g.reward) > 1 {
			rollouts += len(g.reward)
			grand += g.mean() * float64(len(g.reward))
		}
	}
	if rollouts == 0 {
		return 0, 0, 0
	}
	grand /= float64(rollouts)
	for _, g := range e.groups {
		if len(g.reward) < 2 {
			continue
		}
		m := g.mean()
		for _, x := range g.reward {
			within += (x - m) * (x - m)
		}
		between += (m - grand) * (m - grand) * float64(len(g.reward))
	}
	return within / float64(rollouts), between / float64(rollouts), rollouts
}

// repeated counts the groups of one rollout, and those of them whose text
// another group of the same step has, too.
func (e *evidence) repeated() (single, repeated int) {
	type place struct {
		step int32
		text uint64
	}
	seen := map[place]int{}
	for _, g := range e.groups {
		if g.text != 0 {
			seen[place{g.step, g.text}]++
		}
	}
	for _, g := range e.groups {
		if len(g.reward) == 1 {
			single++
			if seen[place{g.step, g.text}] > 1 {
				repeated++
			}
		}
	}
	return single, repeated
}

// namesakes counts the groups of prompts that have several in one step.
func (e *evidence) namesakes() int {
	type place struct{ prompt, step int32 }
	seen := map[place]int{}
	for _, g := range e.groups {
		seen[place{g.prompt, g.step}]++
	}
	n := 0
	for _, count := range seen {
		if count > 1 {
			n += count
		}
	}
	return n
}

// partial returns the columns that some records have and others have not.
func (e *evidence) partial() []string {
	var partial []string
	for _, key := range slices.Sorted(maps.Keys(e.columns)) {
		if n := e.columns[key]; n < e.recorded {
			partial = append(partial, fmt.Sprintf("%s in %d", key, n))
		}
	}
	return partial
}

// grouping says how groups were found.
func (e *evidence) grouping() string {
	how := ""
	switch {
	case e.o.Group == GroupPosition:
		return fmt.Sprintf("position: %d rollouts after the other", e.o.GroupSize)
	case e.keyed != "":
		how = "id: " + e.keyed
	case e.byText:
		how = "text: " + e.format.text
	default:
		return ""
	}
	if e.parted {
		how += ", groups of a step told apart by " + e.format.part
	}
	return how
}

// histogram lists group sizes, the most frequent first.
func (e *evidence) histogram(most int) string {
	sizes := slices.SortedFunc(maps.Keys(e.sizes), func(a, b int) int {
		if c := e.sizes[b] - e.sizes[a]; c != 0 {
			return c
		}
		return a - b
	})
	var parts []string
	for i, n := range sizes {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more sizes", len(sizes)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%d of %d", e.sizes[n], n))
	}
	return strings.Join(parts, ", ")
}
