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
	unended    []string // files whose last line has no end
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
	wentBack   string // the file in which steps went back too often

	// Columns of records, and how many of them have each.
	columns  map[string]int
	last     []string // the keys of the last records
	run      int      // how many records had just these
	recorded int

	streams map[string]*stream

	paths []string // of the files

	shelf  *shelf // the groups that count, once all is read
	census census // of them
}

// Points are a two-point set of rewards and a file that has it.
type points struct {
	low, high float64
	file      string
}

func newEvidence(o Options) *evidence {
	return &evidence{
		o: o, tally: newTally(), reasons: map[string]int{}, columns: map[string]int{},
		streams: map[string]*stream{}, shelf: newShelf(o.dir()), census: newCensus(0), leastRight: math.Inf(1), mostWrong: math.Inf(-1),
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

// ended ends a file: its rewards are compared with those of other files.
func (e *evidence) ended(seen *support, file string) {
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

// finish takes stock once all is read; groups yields those that count, step by
// step.
func (e *evidence) finish(prompts int, groups func(func([]*group) error) error) error {
	e.flush()
	e.census = newCensus(prompts)
	err := groups(func(step []*group) error {
		e.census.add(step, &e.support)
		for _, g := range step {
			if err := e.shelf.put(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.census.visits = nil
	e.duplicated += e.tally.duplicated
	for g, err := range e.shelf.each() {
		if err != nil {
			return err
		}
		e.census.spread(g)
	}
	return nil
}

// places returns the files of two streams that share a group, none where no two
// do.
func (e *evidence) places() []string {
	if e.tally.spread == 0 {
		return nil
	}
	places := []string{e.paths[e.tally.from[0]], e.paths[e.tally.from[1]]}
	slices.Sort(places)
	return places
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
	sizes := slices.SortedFunc(maps.Keys(e.census.sizes), func(a, b int) int {
		if c := e.census.sizes[b] - e.census.sizes[a]; c != 0 {
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
		parts = append(parts, fmt.Sprintf("%d of %d", e.census.sizes[n], n))
	}
	return strings.Join(parts, ", ")
}
