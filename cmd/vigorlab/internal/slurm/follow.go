package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Watch is how a caller takes part in a run.
type Watch struct {
	Done   func(task int) bool // whether what the task was to leave is there, as far as can be seen here
	Show   func(Progress)      // is told after every look at the queue; may be nil
	Notice func(string)        // is told what a user should hear of; may be nil
}

// A Progress is how many tasks are where.
type Progress struct{ Waiting, Running, Ended int }

// An EndError is a task that has ended, and has not left what it was to leave.
type EndError struct {
	Task int
	Why  string
	Hint string // the next step, or ""
}

func (e *EndError) Error() string { return fmt.Sprintf("task %d %s", e.Task, e.Why) }

const (
	// tries is how often a task is begun again that the cluster has lost.
	tries = 3
	// patience is how long a cluster may not answer, as while its controller is begun
	// anew.
	patience = 15 * time.Minute
	// shortest and longest are the pauses between two looks at the queue: long ones
	// where nothing happens, since thousands may ask one controller.
	shortest = time.Second
	longest  = 15 * time.Second
	// settling is how long a task that is held back is left alone. Nodes tell whether they
	// were told to end a task before it was begun by seconds: one begun again in the
	// second of its end does not start ("Job credential revoked").
	settling = 2 * time.Second
	// lag is how long a network's file system may show a node's files late.
	lag = time.Minute
)

// A task is what is known of one.
type task struct {
	number int
	job    int       // the array that it is of, 0 before it is submitted
	begun  int       // how often it was begun again
	since  time.Time // when it was first seen held back, zero where it is not
	entry  entry     // what squeue last said of it
	end    string    // how it ended, "" before
}

// A follower takes tasks from submission to end.
type follower struct {
	job   Job
	watch Watch
	size  int // of arrays
	tasks []*task
	pace  time.Duration // the shortest pause between two looks
	told  []string      // what the user has heard, and hears once: reasons to wait, texts of tell
	later time.Time     // no task is submitted before, since there are too many
}

// Run submits those of tasks (ascending) that do not wait or run already, and returns
// when all have ended. Tasks that the cluster loses are begun again, a few times. The
// end of ctx ends Run alone, and no task. Where some have not left what they should,
// the error joins an EndError of each.
func (j Job) Run(ctx context.Context, tasks []int, w Watch) error {
	if err := j.WriteScript(); err != nil {
		return err
	}
	size, err := arraySize(ctx)
	if err != nil {
		return err
	}
	f := &follower{job: j, watch: w, size: size, pace: shortest}
	for _, t := range tasks {
		f.tasks = append(f.tasks, &task{number: t})
	}
	if err := f.follow(ctx); err != nil {
		return err
	}
	return f.verdict(ctx)
}

// follow looks at the queue until every task has ended. A cluster that does not answer
// at first is an error, a later silence is waited for.
func (f *follower) follow(ctx context.Context) error {
	var answered time.Time
	var last Progress
	silent := false
	for pause := f.pace; ; pause = min(longest, pause*5/4) {
		err := f.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (answered.IsZero() || time.Since(answered) > patience):
			return err
		case err == nil:
			answered, silent = time.Now(), false
		case !silent:
			silent = true
			f.notice("%v; asking again for up to %v", err, patience)
		}
		now := f.progress()
		if now.Ended == len(f.tasks) {
			return nil
		}
		if now != last {
			last, pause = now, f.pace
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// turn looks at the queue once and does what follows from it.
func (f *follower) turn(ctx context.Context) error {
	seen, err := f.job.queue(ctx, f.numbers(func(t *task) bool { return t.end == "" }), f.size)
	if err != nil {
		return err
	}
	attached := 0
	for _, t := range f.tasks {
		if t.end != "" {
			continue
		}
		e, there := latest(seen.tasks[t.number], t.job)
		if state, ended := seen.rest[t.job]; !there && ended {
			e, there = entry{job: t.job, index: t.entry.index, state: state}, true
		}
		if there && t.job == 0 {
			attached++
		}
		f.judge(ctx, t, e, there)
	}
	if attached > 0 {
		f.notice("%d of %d tasks wait or run already", attached, len(f.tasks))
	}
	f.explain()
	return f.submit(ctx)
}

// explain tells once of every reason to wait that may never end.
func (f *follower) explain() {
	for _, t := range f.tasks {
		why := t.entry.reason
		if t.end != "" || !t.entry.waiting() || slices.Contains(usual, why) || slices.Contains(f.told, why) {
			continue
		}
		f.told = append(f.told, why)
		step := "where that will not come, cancel, and ask for less"
		if known, ok := steps[why]; ok {
			step = fmt.Sprintf(known, t.entry.job)
		}
		f.notice("task %d waits for %s, as squeue says; %s", t.number, why, step)
	}
}

// latest returns the entry of a task that counts: of the newest array in which it waits
// or runs, else of the array that it was last seen in.
func latest(entries []entry, job int) (best entry, found bool) {
	for _, e := range entries {
		if e.ended() && e.job != job {
			continue
		}
		if !found || best.ended() || !e.ended() && e.job > best.job {
			best, found = e, true
		}
	}
	return best, found
}

// judge draws the conclusions of what squeue says of a task, or does not say.
func (f *follower) judge(ctx context.Context, t *task, e entry, there bool) {
	if there {
		t.job, t.entry = e.job, e
	}
	switch {
	case t.job == 0: // to be submitted
	case !there || e.lost():
		f.lose(t)
	case e.ended():
		t.end = e.state
	case e.reason != heldBack && e.reason != held:
		t.since = time.Time{}
	case t.since.IsZero():
		t.since = time.Now()
	case time.Since(t.since) >= settling:
		t.since = time.Time{}
		f.release(ctx, t)
	}
}

// lose makes a task that is gone one to be submitted again, where it has not done its
// work and has not been lost too often.
func (f *follower) lose(t *task) {
	switch {
	case f.watch.Done(t.number):
		t.end = "COMPLETED"
	case t.begun == tries:
		t.end = fmt.Sprintf("was lost by the cluster, %d times", tries+1)
	default:
		f.notice("task %d was lost by the cluster, and is submitted again", t.number)
		t.job, t.begun = 0, t.begun+1
	}
}

// release lets a task begin that Slurm holds back since its node was lost, or could not
// begin it. That it cannot be released is no failure: it may have begun by itself.
func (f *follower) release(ctx context.Context, t *task) {
	args := []string{"update", "JobId=" + t.entry.id(), "StartTime=now"}
	if t.entry.reason == held {
		args = []string{"release", t.entry.id()}
	}
	if t.begun == tries {
		if t.entry.reason == held {
			_, err := run(ctx, "scancel", t.entry.id())
			t.end = fmt.Sprint("cannot be begun by any node: ", errors.Join(errors.New(held), err))
		}
		return
	}
	t.begun++
	if _, err := run(ctx, "scontrol", args...); err == nil {
		f.notice("task %d lost its node, or its place to another job, and is begun again", t.number)
	}
}

// submit submits what is to be submitted: where a user may have only so many tasks on
// the cluster, as many as that, and the others when some of these have ended.
func (f *follower) submit(ctx context.Context) error {
	if time.Now().Before(f.later) {
		return nil
	}
	for _, a := range arrays(f.numbers(func(t *task) bool { return t.end == "" && t.job == 0 }), f.size) {
		all, err := f.submitArray(ctx, a)
		if crowded(err) && len(f.numbers(func(t *task) bool { return t.end == "" && t.job != 0 })) > 0 {
			all, err = false, nil
		}
		if err != nil {
			return err
		}
		if !all {
			f.tell("you may have no more tasks on the cluster; the others are submitted when some have ended")
			f.later = time.Now().Add(longest)
			return nil
		}
	}
	return nil
}

// submitArray submits an array, or of one that is refused since it has too many tasks
// the first half, the first quarter, ...; all is false then.
func (f *follower) submitArray(ctx context.Context, a array) (all bool, err error) {
	for n := len(a.indices); n > 0; n /= 2 {
		part := array{a.base, a.indices[:n]}
		var job int
		if job, err = f.job.submit(ctx, part); err == nil {
			f.submitted(job, part)
			return n == len(a.indices), nil
		}
		if !crowded(err) {
			return false, err
		}
	}
	return false, err
}

// submitted notes of what job tasks are.
func (f *follower) submitted(job int, a array) {
	for _, t := range f.tasks {
		if i := t.number - a.base; slices.Contains(a.indices, i) && t.job == 0 {
			t.job, t.entry = job, entry{job: job, index: i, state: "PENDING"}
		}
	}
}

// numbers returns the numbers of some tasks, ascending.
func (f *follower) numbers(of func(*task) bool) []int {
	var numbers []int
	for _, t := range f.tasks {
		if of(t) {
			numbers = append(numbers, t.number)
		}
	}
	return numbers
}

// progress counts tasks, and shows it.
func (f *follower) progress() Progress {
	var p Progress
	for _, t := range f.tasks {
		switch {
		case t.end != "":
			p.Ended++
		case t.entry.running():
			p.Running++
		default:
			p.Waiting++
		}
	}
	if f.watch.Show != nil {
		f.watch.Show(p)
	}
	return p
}

func (f *follower) notice(format string, args ...any) {
	if f.watch.Notice != nil {
		f.watch.Notice(fmt.Sprintf(format, args...))
	}
}

// tell notices something once.
func (f *follower) tell(text string) {
	if !slices.Contains(f.told, text) {
		f.told = append(f.told, text)
		f.notice("%s", text)
	}
}

// verdict says which tasks have not left what they should, and tidies after the others.
// What tasks have left whose end was good may be seen late.
func (f *follower) verdict(ctx context.Context) error {
	var errs []error
	late := time.Now().Add(lag)
	for _, t := range f.tasks {
		for t.end == "COMPLETED" && !f.watch.Done(t.number) && time.Now().Before(late) {
			if !sleep(ctx, f.pace) {
				return ctx.Err()
			}
		}
		if f.watch.Done(t.number) {
			f.tidy(t)
			continue
		}
		errs = append(errs, &EndError{t.number, f.why(t, f.signal(ctx, t, len(errs))), f.remedy(t)})
	}
	return errors.Join(errs...)
}

// fewErrors is for how many tasks that failed Slurm is asked more.
const fewErrors = 10

var exitSignal = regexp.MustCompile(`ExitCode=\d+:([1-9]\d*)`)

// signal returns the signal that ended a task that failed after so many others, or "".
func (f *follower) signal(ctx context.Context, t *task, others int) string {
	if t.end != "FAILED" || others >= fewErrors {
		return ""
	}
	printed, _ := run(ctx, "scontrol", "show", "job", t.entry.id()) // no answer says no less than none
	if m := exitSignal.FindStringSubmatch(printed); m != nil {
		return "by signal " + m[1]
	}
	return ""
}

// why says how a task ended, by the signal where there is one, with the last line that it
// printed.
func (f *follower) why(t *task, signal string) string {
	why := t.end
	switch {
	case why == "COMPLETED":
		why = "ended well, but left nothing that is seen here"
	case why == t.entry.state: // a word of Slurm's
		why = fmt.Sprintf("ended as %s", why)
		if r := cmp.Or(signal, t.entry.reason); !slices.Contains(meaningless, r) {
			why += ", " + r
		}
	}
	if line := lastLine(f.log(t)); line != "" {
		why += fmt.Sprintf(": %s (%s)", line, f.log(t))
	}
	return why
}

// meaningless are the reasons that squeue gives for the end of a task, and say no more.
var meaningless = []string{"", "None", "NonZeroExitCode"}

// remedies are the next step after an end of Slurm's making.
var remedies = map[string]string{
	"TIMEOUT":       "tasks need longer: more --time, or --shards N into another --out for fewer points in each",
	"OUT_OF_MEMORY": "tasks need more memory: --memory",
	"DEADLINE":      "the cluster ends tasks at a deadline: scontrol show partition",
}

// remedy returns the next step after the end of a task, or "".
func (f *follower) remedy(t *task) string {
	if hint, ok := remedies[t.end]; ok {
		return hint
	}
	if _, err := os.Stat(f.log(t)); t.end == "COMPLETED" || t.end == "FAILED" && errors.Is(err, os.ErrNotExist) {
		return "the nodes must see, and write into, " + filepath.Dir(f.job.Dir)
	}
	return ""
}

// log returns the file of what a task printed.
func (f *follower) log(t *task) string { return filepath.Join(f.job.Dir, t.entry.id()+".log") }

// tidy removes an empty log.
func (f *follower) tidy(t *task) {
	if info, err := os.Stat(f.log(t)); err == nil && info.Size() == 0 {
		_ = os.Remove(f.log(t)) // it does no harm
	}
}

// lastLine returns the last line of a file that has text, or "".
func lastLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	const end = 4096 // bytes
	if info, err := file.Stat(); err == nil && info.Size() > end {
		if _, err := file.Seek(-end, io.SeekEnd); err != nil {
			return ""
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	content = bytes.TrimSpace(content)
	return strings.ToValidUTF8(string(content[bytes.LastIndexByte(content, '\n')+1:]), "?")
}

// sleep reports whether it slept to the end, before that of ctx.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
