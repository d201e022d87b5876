package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
)

// A group is the rollouts of one prompt at one visit. There are as many as a log
// has, so that it is kept small: counts are of at most 2^31 rollouts.
type group struct {
	reward   []float64 // of each rollout, in file order
	rollouts []uint64  // digests of the rollouts' own names, where they have any
	text     uint64    // digest of the prompt's text, 0 where unknown
	tokens   float64   // of the measured rollouts
	ordinal  int32     // among all groups, in order of appearance
	prompt   int32     // index into the tally's names
	step     int32
	visit    int32 // how often the prompt was visited before, once all is read
	stream   int32 // of files, that it was last seen in
	file     int32 // that it was last seen in

	judged, right int32 // rollouts that something else than the reward judges, and finds right
	measured      int32 // rollouts of known length
	ended, cut    int32 // rollouts whose end is known, and that were truncated

	superseded bool // by a later attempt at the same step
	spread     bool // over several streams
}

// A groupKey finds a group while rollouts are added.
type groupKey struct {
	prompt, step int32
	part         uint64
}

// A sample is one rollout as its record describes it.
type sample struct {
	name    []byte // of the prompt
	prompt  int32  // its number
	file    int32  // that it stands in
	text    uint64
	part    uint64
	rollout uint64
	step    int32
	reward  float64 // finite
	right   int32   // 1 right, 0 wrong, -1 not judged
	tokens  float64 // 0 where unknown
	cut     int32   // 1 truncated, 0 not, -1 unknown
}

// A tally gathers rollouts into groups.
type tally struct {
	groups  []*group
	live    map[groupKey]*group // those not superseded
	streams []int32             // of the files

	duplicated int      // rollouts that were logged before under their own name
	superseded int      // rollouts of earlier attempts
	manyTexts  int      // rollouts whose group has another text
	spread     int      // groups with rollouts of several streams
	from       [2]int32 // files of two streams that share a group
}

func newTally() *tally { return &tally{live: map[groupKey]*group{}} }

// add puts a rollout into its group, the last of it, and returns that; nil for a
// rollout that was logged before.
func (t *tally) add(s *sample) *group {
	key := groupKey{s.prompt, s.step, s.part}
	g := t.live[key]
	if g == nil {
		g = &group{ordinal: int32(len(t.groups)), prompt: s.prompt, step: s.step, text: s.text}
		t.groups = append(t.groups, g)
		t.live[key] = g
	}
	stream := t.streams[s.file]
	if len(g.reward) > 0 && g.stream != stream && !g.spread {
		g.spread = true
		t.spread++
		t.from = [2]int32{g.file, s.file}
	}
	g.stream, g.file = stream, s.file
	if s.rollout != 0 {
		if slices.Contains(g.rollouts, s.rollout) {
			t.duplicated++
			return nil
		}
		g.rollouts = append(g.rollouts, s.rollout)
	}
	if s.text != g.text {
		t.manyTexts++
	}
	g.reward = append(g.reward, s.reward)
	if s.right >= 0 {
		g.judged++
		g.right += s.right
	}
	if s.tokens > 0 {
		g.measured++
		g.tokens += s.tokens
	}
	if s.cut >= 0 {
		g.ended++
		g.cut += s.cut
	}
	return g
}

// supersede sets the groups of a stream from a step on aside: a later attempt
// writes them again.
func (t *tally) supersede(stream, step int32) {
	for key, g := range t.live {
		if g.stream == stream && g.step >= step {
			g.superseded = true
			t.superseded += len(g.reward)
			delete(t.live, key)
		}
	}
}

// clear forgets all groups and keeps the counts.
func (t *tally) clear() {
	clear(t.live)
	clear(t.groups)
	t.groups = t.groups[:0]
}

// kept returns the groups that count, by step, then in order of appearance.
func (t *tally) kept() []*group {
	kept := slices.DeleteFunc(slices.Clone(t.groups), func(g *group) bool { return g.superseded })
	slices.SortStableFunc(kept, func(a, b *group) int { return cmp.Compare(a.step, b.step) })
	return kept
}

// closeness is the relative difference below which rewards are equal: a group
// of rewards 0.35 in single precision has a standard deviation of 1e-8 to 1e-4
// that is all rounding.
const closeness = 1e-6

// same reports whether two rewards differ by no more than rounding.
func same(x, y float64) bool {
	return math.Abs(x-y) <= closeness*max(1, math.Abs(x), math.Abs(y))
}

// constant reports whether all rewards of a group are the same: its spread
// decides, not its mean.
func (g *group) constant() bool {
	return same(slices.Min(g.reward), slices.Max(g.reward))
}

// about returns the sum of the squares of a group's rewards about m.
func (g *group) about(m float64) float64 {
	sum := 0.0
	for _, x := range g.reward {
		sum += (x - m) * (x - m)
	}
	return sum
}

// mean returns the mean reward of a group.
func (g *group) mean() float64 {
	sum := 0.0
	for _, x := range g.reward {
		sum += x
	}
	return sum / float64(len(g.reward))
}

// maxSupport is how many reward values are told apart; more are a continuum.
const maxSupport = 32

// A support is the set of reward values, ascending, with their counts.
type support struct {
	values  []float64
	counts  []int
	rounded bool // values were merged that differ by rounding
	more    bool // there are further values, and the counts are not complete
}

func (s *support) add(x float64) {
	i, _ := slices.BinarySearch(s.values, x)
	for _, k := range []int{i, i - 1} {
		if k >= 0 && k < len(s.values) && same(s.values[k], x) {
			s.rounded = s.rounded || s.values[k] != x
			s.counts[k]++
			return
		}
	}
	if len(s.values) == maxSupport {
		s.more = true
		return
	}
	s.values = slices.Insert(s.values, i, x)
	s.counts = slices.Insert(s.counts, i, 1)
}

// two reports whether rewards have two values, and so are successes or not.
func (s *support) two() bool { return len(s.values) == 2 }

// digest returns 64 bits of the SHA-256 digest of a text, never 0. Among a
// million prompts two share it with probability 3e-8.
func digest(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// appendName appends the name of a prompt that is known by its text.
func appendName(b []byte, text uint64) []byte {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], text)
	return hex.AppendEncode(b, raw[:])
}

// appendPlace appends the name of a prompt that is known by its place in a step.
func appendPlace(b []byte, step, place int) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(append(b, "step"...), int64(step), 10), '/'), int64(place), 10)
}
