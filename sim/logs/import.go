package logs

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Auto is the choice of From and Group that looks at the log.
const Auto = "auto"

// The ways to find groups.
const (
	GroupID       = "id"       // by what the log calls the prompt or the group
	GroupText     = "text"     // by the text of the prompt
	GroupPosition = "position" // by the place in the step, GroupSize rollouts each
)

// Options say what to import and how to read it. The zero value lets the log
// decide.
type Options struct {
	Paths     []string // files, folders, patterns
	From      string   // a format by name, "" or "auto" for the one that fits
	Group     string   // "" or "auto", or one of the ways to find groups
	GroupSize int      // rollouts a group, for GroupPosition only
	Reward    string   // the column of the reward, "" for the format's own
	Success   Rule     // which rewards are successes, zero for that of two-point rewards
	Lenient   bool     // count records that cannot be read, and go on
	KeepAll   bool     // keep the rollouts of every attempt at a step, not of the last one alone, and those of several runs

	Out string // the file that the table goes to, which is no log; may be ""

	Completion string // the column of completions, "" for the format's own; for ReadTexts alone
	Answer     string // the column of answers, likewise

	// Answers finds the answer of a rollout that has none, by the prompt's name and
	// text; "" where there is none. ReadTexts alone asks it; nil: there are no others.
	Answers func(prompt, text string) string

	Progress func(done, total int64) // bytes read of all files; may be nil
}

// dir returns the folder for what does not fit in memory: that of the table, ""
// for that of the system.
func (o *Options) dir() string {
	if o.Out == "" {
		return ""
	}
	return filepath.Dir(o.Out)
}

// errStop ends the reading of a log that is refused anyway.
var errStop = errors.New("stop")

// An importer reads files into a tally and collects evidence. It is the sink
// of the file that is open.
type importer struct {
	*evidence
	ctx context.Context

	file   logFile
	stream *stream // the file is part of
	opened bool    // the file's format is known
	twice  bool    // the file is the copy of another one
	seen   support // rewards of the file
	place  int
	rank   int   // how many rollouts of the step there were in the file
	rankOf int32 // that step

	pathStep    int32 // the step that the file's path says
	pathStepped bool  // it says one
	sample      sample

	names   names
	digests map[uint64]uint64 // of prompts, by the quick hash of their JSON text

	steps *steps // the rollouts so far; nil where the tally gathers them at once

	twins  map[string]string          // digest and step of files read to their paths
	visit  func(record, *group) error // is shown every rollout that its group takes; may be nil
	before *placed                    // the groups by position that came last
	now    *placed
	done   int64
	total  int64
}

// A stream is a file, or files numbered one after the other, that a trainer
// appends to.
type stream struct {
	id   int32
	step int32 // of the last rollout
	any  bool

	attempt int    // how often the steps went back
	mark    uint64 // tells this attempt from others; 0 until it is needed
}

// own returns what a rollout is called among those of all streams and attempts:
// each numbers its own from the start. Two short answers may well be the same, so
// that texts could not tell a copy.
func (st *stream) own(rollout uint64) uint64 {
	if st.mark == 0 {
		st.mark = digest(fmt.Sprintf("stream %d, attempt %d", st.id, st.attempt))
	}
	return max(1, rollout^st.mark)
}

// A placed group is one found by position: prefix is what its texts begin with.
type placed struct {
	step, place int
	prefix      string
}

// record takes a record of the open file.
func (im *importer) record(r record, place int) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	if im.badLine > 0 && !im.o.Lenient { // something follows it after all
		return errStop
	}
	im.place = place
	if !im.opened {
		if err := im.recognise(r); err != nil {
			return err
		}
	}
	im.count(r)
	expand := im.format.expand
	if expand == nil {
		return im.rollout(r)
	}
	err := expand(r, im.rollout)
	if err != nil && !errors.Is(err, errStop) && im.ctx.Err() == nil {
		err = fmt.Errorf("record %d: %w", place, err)
	}
	return err
}

// torn takes a record that cannot be read: the last one of a file was not
// written to its end, one before is damage.
func (im *importer) torn(place int, last bool, err error) error {
	if errors.Is(err, errUnended) { // a record all the same
		im.unended = append(im.unended, im.file.path)
		return nil
	}
	if last && (errors.Is(err, errTorn) || ended(err)) {
		im.tornTails = append(im.tornTails, im.file.path)
		return nil
	}
	im.bad++
	if im.badExample == "" {
		im.badLine, im.badExample = place, fmt.Sprintf("%s, line %d: %v", im.file.path, place, err)
	}
	if im.o.Lenient {
		return nil
	}
	return errStop
}

// recognise finds the format of the open file from its first record.
func (im *importer) recognise(r record) error {
	f := recognise(r, im.o.From)
	switch {
	case f == nil:
		return &unknown{keys: r.keys()}
	case f.ignore != "":
		return errKind(f.ignore)
	case im.format != nil && im.format != f:
		return &otherFormat{f}
	}
	im.format, im.opened, im.stream = f, true, im.streamOf(im.file.path, f.single)
	im.pathStep, im.pathStepped = stepOf(f.stepIn, im.file.path)
	if f.refuse != "" || f.ready() {
		return errStop
	}
	im.files++
	im.paths = append(im.paths, im.file.path)
	im.tally.streams = append(im.tally.streams, im.stream.id)
	im.joined = f.joined && im.o.Group != GroupPosition
	if im.joined {
		return errStop
	}
	if im.file.twin != "" {
		own := im.file.twin + filepath.Base(im.file.path)
		if f.stepIn == nil && !f.fileName {
			own = im.file.twin
		} else {
			own += strconv.Itoa(int(im.pathStep))
		}
		first, twice := im.twins[own]
		if im.twice = twice; twice {
			im.copies = append(im.copies, fmt.Sprintf("%s of %s", im.file.path, first))
		}
		im.twins[own] = im.file.path
	}
	return nil
}

// stepOf reads the step from a path.
func stepOf(in *regexp.Regexp, path string) (int32, bool) {
	if in == nil {
		return 0, false
	}
	m := in.FindStringSubmatch(filepath.ToSlash(path))
	if m == nil {
		return 0, false
	}
	step, err := strconv.Atoi(m[1])
	if err != nil || step > maxStep {
		return 0, false
	}
	return int32(step), true
}

// maxStep bounds steps as tables do.
const maxStep = 1_000_000_000

// rollout takes one rollout of the open file.
func (im *importer) rollout(r record) error {
	im.rows++
	if im.twice {
		im.duplicated++
		return nil
	}
	if r.key(unscored) != "" {
		im.unscored++
	}
	s := &im.sample
	*s = sample{name: s.name[:0], right: -1, cut: -1}
	if err := im.where(r, s); err != nil {
		return err
	}
	im.rank++ // also where there is no reward: later rollouts keep their place
	reward, ok := im.reward(r)
	if !ok {
		return nil
	}
	s.reward = reward
	im.measure(r, s)
	if err := im.named(r, s); err != nil {
		return err
	}
	im.support.add(s.reward)
	im.seen.add(s.reward)
	im.relate(s)
	if err := im.attempt(s.step); err != nil {
		return err
	}
	if im.o.KeepAll && s.rollout != 0 {
		s.rollout = im.stream.own(s.rollout)
	}
	s.prompt, s.file = im.names.of(s.name), int32(len(im.paths)-1)
	if im.steps != nil {
		return im.steps.put(s)
	}
	if g := im.tally.add(s); g != nil {
		return im.visit(r, g)
	}
	return nil
}

// where reads the step of a rollout, its record's or the path's. With a step,
// ranks begin anew.
func (im *importer) where(r record, s *sample) error {
	v := value("")
	if im.format.step != "" {
		v = r.get(im.format.step)
	}
	if x, kind := v.number(); v.null() {
		s.step = im.pathStep
		im.stepless = im.stepless || !im.pathStepped && (im.format.step != "" || im.format.stepIn != nil)
	} else if (kind != isNumber && kind != isText) || x != math.Trunc(x) || !(x >= 0 && x <= maxStep) {
		return fmt.Errorf("record %d: %s = %.40s, want a whole number in [0, %d]", im.place, im.format.step, v, maxStep)
	} else {
		s.step = int32(x)
	}
	if s.step != im.rankOf {
		im.rank, im.rankOf = 0, s.step
	}
	return nil
}

// measure reads what else is known of a rollout.
func (im *importer) measure(r record, s *sample) {
	f := im.format
	for _, path := range f.correct {
		if path == im.o.Reward {
			continue
		}
		if x, _ := r.get(path).number(); x == 0 || x == 1 { // anything between judges in parts
			s.right = int32(x)
			im.judge = path
		}
	}
	if v := r.get(f.tokens); f.tokens != "" && v.is('[') {
		s.tokens = float64(v.count())
	} else if x, kind := v.number(); f.tokens != "" && kind == isNumber && x > 0 {
		s.tokens = x
	}
	for _, path := range f.truncated {
		switch v := r.get(path); v {
		case `"length"`, `"truncated"`, "true":
			s.cut = 1
		case "", "null":
		default:
			s.cut = 0
		}
	}
	if v := r.get(f.rollout); f.rollout != "" && !v.null() {
		s.rollout = digest(string(v))
	}
}

// named finds the prompt and the group of a rollout.
func (im *importer) named(r record, s *sample) error {
	f := im.format
	text := value("")
	if f.text != "" {
		text = r.get(f.text)
	}
	if !f.joined { // no two of those would be the same
		s.text = im.digestOf(text)
	}
	switch {
	case im.o.Group == GroupPosition:
		return im.byPosition(r, s, string(text))
	case f.fileName:
		s.name = append(s.name, im.file.name()...)
		im.keyed = "the file's name"
	case im.o.Group != GroupText && im.byID(r, s):
		im.keyed = strings.Join(f.id, ", ")
	case s.text == 0:
		im.unnamed++
		return nil
	default:
		s.name = appendName(s.name, s.text)
		im.byText = true
	}
	im.apart(r, s)
	return nil
}

// apart tells the groups of one prompt within a step apart.
func (im *importer) apart(r record, s *sample) {
	path := im.format.part
	if path == "" || im.o.Group == GroupText {
		return
	}
	if path == eachRecord {
		s.part, im.parted = uint64(im.recorded), true
	} else if v := r.get(path); !v.null() {
		s.part, im.parted = digest(string(v)), true
	}
}

// maxDigests is how many digests are kept.
const maxDigests = 1 << 17

// digestOf returns the digest of a prompt's text, 0 where it has none. Digests
// are kept by a quicker hash of the JSON text, since every prompt comes often.
func (im *importer) digestOf(text value) uint64 {
	if text.null() {
		return 0
	}
	quick := maphash.String(im.names.seed, string(text))
	d, known := im.digests[quick]
	if !known {
		if len(im.digests) == maxDigests {
			clear(im.digests)
		}
		t, ok := text.text()
		if !ok {
			t = string(text)
		}
		d = digest(t)
		im.digests[quick] = d
	}
	return d
}

// byID names the prompt by the log's own names.
func (im *importer) byID(r record, s *sample) bool {
	for i, path := range im.format.id {
		name, ok := r.get(path).name()
		if !ok && i == len(im.format.id)-1 {
			s.name = s.name[:0]
			return false
		}
		if ok && len(s.name) > 0 {
			s.name = append(s.name, '/')
		}
		if ok {
			s.name = append(s.name, name...)
		}
	}
	return len(s.name) > 0
}

// byPosition finds the group from the rollout's place in its step, and checks
// that the texts of the group agree.
func (im *importer) byPosition(r record, s *sample, text string) error {
	rank := im.rank - 1
	if im.format.order != "" {
		x, kind := r.get(im.format.order).number()
		if kind != isNumber || x != math.Trunc(x) || !(x >= 0 && x <= maxStep) {
			return fmt.Errorf("record %d: %s = %.40s, want a whole number in [0, %d]", im.place, im.format.order, r.get(im.format.order), maxStep)
		}
		rank = int(x)
	}
	place := rank / im.o.GroupSize
	s.name = appendPlace(s.name, int(s.step), place)
	if !im.format.joined {
		return nil // the tally sees where texts of a group differ
	}
	im.align(int(s.step), place, text)
	return nil
}

// align checks groups by position where the text goes on with the answer. Two
// neighbours of different prompts share less than each has in common; a group
// that begins too early or too late has in common just what two prompts share,
// and so does the union with its neighbour.
func (im *importer) align(step, place int, text string) {
	if im.now != nil && (im.now.step != step || im.now.place != place) {
		im.compare()
		im.before, im.now = im.now, nil
		if im.before.step != step {
			im.before = nil
		}
	}
	if im.now == nil {
		im.now = &placed{step, place, strings.Clone(text)}
		return
	}
	im.now.prefix = im.now.prefix[:common(im.now.prefix, text)]
}

// compare compares the last two groups by position.
func (im *importer) compare() {
	if im.before == nil || im.now == nil {
		return
	}
	both := common(im.before.prefix, im.now.prefix)
	if both >= len(im.before.prefix) || both >= len(im.now.prefix) {
		im.misaligned++
	}
}

// common returns the length of what two texts begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// relate compares the reward with what else judges the answer: no right answer
// may have less reward than a wrong one.
func (im *importer) relate(s *sample) {
	switch s.right {
	case 1:
		im.leastRight = min(im.leastRight, s.reward)
	case 0:
		im.mostWrong = max(im.mostWrong, s.reward)
	}
}

// maxAttempts is how often steps of a stream may go back before they count as
// interleaved.
const maxAttempts = 64

var digits = regexp.MustCompile(`\d+`)

// streamOf returns the stream of a file: that of all files of its folder whose
// names differ in numbers alone, or of all that have one rollout each.
func (im *importer) streamOf(path string, single bool) *stream {
	name := filepath.Dir(path)
	if !single {
		name = filepath.Join(name, digits.ReplaceAllString(filepath.Base(path), "#"))
	}
	st := im.streams[name]
	if st == nil {
		st = &stream{id: int32(len(im.streams))}
		im.streams[name] = st
	}
	return st
}

// attempt follows the steps of the open file's stream. Where they go back, a
// run was resumed: what it had logged from that step on is superseded.
func (im *importer) attempt(step int32) error {
	st := im.stream
	back := st.any && step < st.step
	st.any, st.step = true, step
	if !back {
		return nil
	}
	st.attempt, st.mark = st.attempt+1, 0
	if im.attempts++; im.attempts == maxAttempts+1 {
		im.wentBack = im.file.path
	}
	switch {
	case im.attempts > maxAttempts || im.o.KeepAll:
		return nil
	case im.steps != nil:
		return im.steps.supersede(st.id, step)
	}
	im.tally.supersede(st.id, step)
	return nil
}

// reward reads the reward of a rollout; false where it has none.
func (im *importer) reward(r record) (float64, bool) {
	v, column := im.rewardValue(r)
	if v == "" && im.format.sparse {
		im.rows--
		return 0, false
	}
	if path := im.format.void; path != "" {
		if status, _ := r.get(path).text(); slices.Contains([]string{"pending", "aborted", "failed"}, status) {
			im.drop("status " + status)
			return 0, false
		}
	}
	x, kind := v.number()
	if v.is('[') && im.format.sum {
		x, kind = total(v)
	}
	switch kind {
	case isText:
		im.coerced++
	case isMissing:
		im.drop("no reward")
		return 0, false
	case isOther:
		im.unread(column, v)
		return 0, false
	}
	im.column = column
	return x, true
}

// drop counts a rollout that is left out.
func (im *importer) drop(why string) {
	im.dropped++
	im.reasons[why]++
}

// unread remembers a reward that is no number.
func (im *importer) unread(column string, v value) {
	im.unreadable++
	if im.unreadExample == "" {
		im.unreadExample = fmt.Sprintf("%s = %.60s in %s, record %d", column, v, im.file.path, im.place)
	}
}

// total adds the rewards of single tokens.
func total(v value) (float64, reading) {
	list, err := v.elements()
	if err != nil || len(list) == 0 {
		return math.NaN(), isMissing
	}
	sum := 0.0
	for _, e := range list {
		x, kind := e.number()
		if kind != isNumber {
			return math.NaN(), kind
		}
		sum += x
	}
	return sum, isNumber
}

// rewardValue returns the value of the reward with the name of its column.
func (im *importer) rewardValue(r record) (value, string) {
	if im.o.Reward != "" {
		v := im.chosen(r)
		im.chosenSeen = im.chosenSeen || v != ""
		return v, im.o.Reward
	}
	for i, path := range im.format.reward {
		v := r.get(path)
		if v == "" {
			continue
		}
		for _, other := range im.format.reward[i+1:] { // a second one must agree
			im.second(path, v, other, r.get(other))
		}
		return v, path
	}
	if im.format.others != nil {
		return im.candidate(r)
	}
	return "", ""
}

// chosen returns the value of --reward. Where that is a key of the reward, as
// in reward.acc, a reward that is a number and no object is it.
func (im *importer) chosen(r record) value {
	if v := r.get(im.o.Reward); v != "" {
		return v
	}
	for _, path := range im.format.reward {
		if _, within := strings.CutPrefix(im.o.Reward, path+"."); !within {
			continue
		}
		if v := r.get(path); !v.is('{') {
			return v
		}
	}
	return ""
}

// second compares the reward with a second column of rewards.
func (im *importer) second(first string, v value, other string, w value) {
	x, kindX := v.number()
	y, kindY := w.number()
	if kindX == isNumber && kindY == isNumber && !same(x, y) {
		im.disagree++
		im.between = [2]string{first, other}
	}
}

// candidate returns the first column that may be a reward, and remembers all.
func (im *importer) candidate(r record) (value, string) {
	for _, f := range r {
		if slices.Contains(im.format.others, f.key) || slices.Contains(im.candidates, f.key) || f.value.is('"') {
			continue
		}
		if _, kind := f.value.number(); kind == isNumber && f.value != "true" && f.value != "false" && f.key != unscored {
			im.candidates = append(im.candidates, f.key)
		}
	}
	if len(im.candidates) == 0 {
		return "", ""
	}
	return r.key(im.candidates[0]), im.candidates[0]
}
