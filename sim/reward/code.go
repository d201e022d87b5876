package reward

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"vigorlab/distributions/spec"
	"vigorlab/sim/reward/sandbox"
)

// code runs the program of a completion against the tests that the answer holds
// (readSuite says in which forms). The program is the last fenced block of the
// completion, of those that name its language where some do: what it writes may
// stand behind it in another. It is the whole completion where there is none; where
// tests name a function that it does not define and the prompt does (HumanEval), the
// prompt and then the completion.
//
// Every program runs in sandboxes of its own and is judged outside of them: what
// tests expect is never where the program is. Python's start without site, by a harness
// that was compiled once (python/start.py).
//
//   - stdin: a run a test; what the program writes is compared with what it must
//     write, line by line.
//   - calls: a run for all of them, and a further one after a call that ends it;
//     what comes back is compared as values.
//   - assert: two runs side by side. One holds the tests, in a process of a sandbox that
//     waits for files of tests (python/nursery.py), and the other the program, which
//     answers the calls of the first: see python/asserts.py.
type code struct {
	language    language
	interpreter string
	tests       string
	all         bool // reward is the share of tests, so that all are run
	strict      bool
	limits      sandbox.Limits
	judgement   judgement
	spec        string

	slots  chan struct{}
	closed context.Context
	close  context.CancelFunc
	box    *sandbox.Sandbox
	python python
	idle   chan *sandbox.Nursery // of files of tests, as many as there are slots
}

// auto takes the tests for what they are.
const auto = "auto"

var codeInfo = Info{
	Name: "code", Form: "code:language=python,wall=10", Provenance: "own",
	Doc: "the completion's program against the unit tests in the answer (JSON of APPS, CodeContests, LiveCodeBench, HumanEval, MBPP, or an assert file), in a bubblewrap sandbox",
	Parameters: []spec.Parameter{
		{Name: "language", Default: "python", Range: strings.Join(languageNames(), ", "), Doc: "what programs are written in; calls and asserts are of Python alone"},
		{Name: "tests", Default: auto, Range: "auto, stdin, calls or assert", Doc: "the kind of tests to run; auto: the kind that the answer holds"},
		{Name: "reward", Default: "pass", Range: "pass or share", Doc: "1 if every test passes and else 0, or the share of tests that pass"},
		{Name: "wall", Default: "10", Range: "[0.1, 3600]", Doc: "seconds that a test on stdin, a call or a file of asserts may take"},
		{Name: "cpu", Default: "5", Range: "[1, 3600]", Doc: "seconds of processor time that it may take"},
		{Name: "memory", Default: "512", Range: "a whole number in [32, 1048576]", Doc: "MiB of each process, and of all together where cgroups allow"},
		{Name: "processes", Default: "32", Range: "a whole number in [1, 4096]", Doc: "processes and threads"},
		{Name: "tolerance", Default: "1e-06", Range: "[0, 1)", Doc: "of numbers that are not whole: of 1, or of the right number if that is larger"},
		{Name: "parallel", Default: "0", Range: "a whole number in [0, 4096]", Doc: "programs at a time; 0: as many as there are cores"},
		truncatedParameter,
	},
}

func readCode(text string) (Verifier, error) {
	s, err := spec.Parse(text)
	a := spec.NewArgs(s)
	within := func(low, high float64) func(float64) bool {
		return func(x float64) bool { return x >= low && x <= high }
	}
	c := &code{limits: sandbox.DefaultLimits()}
	name := a.Choice("language", "python", languageNames()...)
	c.tests = a.Choice("tests", auto, auto, byPairs, byCalls, byAsserts)
	c.all = a.Choice("reward", "pass", "pass", "share") == "share"
	c.limits.Wall = seconds(a.Float("wall", 10, "[0.1, 3600]", within(0.1, 3600)))
	c.limits.CPU = seconds(a.Float("cpu", 5, "[1, 3600]", within(1, 3600)))
	c.limits.Memory = int64(a.Int("memory", 512, 32, 1<<20)) << 20
	c.limits.Processes = a.Int("processes", 32, 1, 4096)
	c.judgement.tolerance = a.Float("tolerance", 1e-6, "[0, 1)", func(x float64) bool { return x >= 0 && x < 1 })
	parallel := a.Int("parallel", 0, 0, 4096)
	c.strict = strict(a)
	c.spec = a.Normal().String()
	err = errors.Join(err, a.Err())
	var missing error
	c.language, c.interpreter, missing = findLanguage(name)
	if !c.language.serves && (c.tests == byCalls || c.tests == byAsserts) {
		err = errors.Join(err, fmt.Errorf("code: tests = %s, want stdin or auto with language = %s", c.tests, name))
	}
	if err != nil {
		return nil, err
	}
	// Both are asked for at once, so that one refusal names all that is missing.
	var refused error
	c.box, refused = sandbox.New(context.Background())
	if err := errors.Join(refused, missing); err != nil {
		return nil, err
	}
	if c.language.serves {
		if err := c.prepare(context.Background()); err != nil {
			return nil, err
		}
	}
	if parallel == 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	c.slots, c.idle = make(chan struct{}, parallel), make(chan *sandbox.Nursery, parallel)
	c.closed, c.close = context.WithCancel(context.Background())
	return c, nil
}

// seconds is a duration; NaN, which is at fault already, is none.
func seconds(x float64) time.Duration {
	if math.IsNaN(x) {
		return 0
	}
	return time.Duration(x * float64(time.Second))
}

func (c *code) String() string { return c.spec }

func (c *code) needsAnswer() bool { return true }

// Close ends the programs that run, and waits for what waits for tests.
func (c *code) Close() error {
	c.close()
	for {
		select {
		case n := <-c.idle:
			n.Close()
		default:
			return nil
		}
	}
}

func (c *code) Verify(ctx context.Context, item Item) (Grade, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.closed, cancel)()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
	}
	g, err := c.judge(ctx, item)
	switch {
	case c.closed.Err() != nil:
		return Grade{}, ErrClosed
	case ctx.Err() != nil:
		return Grade{}, ctx.Err()
	}
	return g, err
}

func (c *code) judge(ctx context.Context, item Item) (Grade, error) {
	if err := ctx.Err(); err != nil {
		return Grade{}, err
	}
	if c.strict && item.Truncated {
		return cutOff(), nil
	}
	tests, err := readSuite(item.Answer)
	if err != nil {
		return cannotTell("%v", err), nil
	}
	kind := tests.kind()
	switch {
	case c.tests != auto && c.tests != kind:
		return cannotTell("the answer holds tests of kind %s, and not %s", kind, c.tests), nil
	case kind != byPairs && !c.language.serves:
		return cannotTell("tests of kind %s are of Python alone, and not of %s", kind, c.language.name), nil
	}
	program, from := programOf(item, tests.entry, c.language.labels)
	run := map[string]func(context.Context, string, suite) ([]outcome, error){
		byPairs: c.pairs, byCalls: c.calls, byAsserts: c.asserts,
	}[kind]
	outcomes, err := run(ctx, program, tests)
	if err != nil {
		return Grade{}, err
	}
	return c.grade(outcomes, from), nil
}

// An outcome is what became of a test.
type outcome struct {
	kind   Kind // Pass, or what the program fell short by
	detail string
}

// grade makes the grade of the outcomes of all tests, or of those up to the first
// that did not pass. One that cannot be told leaves the others to say what they
// can only where another fails.
func (c *code) grade(outcomes []outcome, from string) Grade {
	passed, first, untold := 0, -1, -1
	for i, o := range outcomes {
		switch {
		case o.kind == Pass:
			passed++
		case o.kind == CannotTell && untold < 0:
			untold = i
		case o.kind != CannotTell && first < 0:
			first = i
		}
	}
	say := func(i int) string { return fmt.Sprintf("%s: test %d: %s", from, i+1, outcomes[i].detail) }
	switch {
	case len(outcomes) == 0:
		return cannotTell("the tests hold nothing to test")
	case passed == len(outcomes):
		return Grade{1, Pass, fmt.Sprintf("%s: %d of %d tests pass", from, passed, passed)}
	case untold >= 0 && (c.all || first < 0):
		return cannotTell("%s", say(untold))
	case c.all && passed > 0:
		share := float64(passed) / float64(len(outcomes))
		return Grade{share, Partial, fmt.Sprintf("%d of %d tests pass; %s", passed, len(outcomes), say(first))}
	}
	return Grade{0, outcomes[first].kind, say(first)}
}

// programOf returns the program of a completion, and where it was.
func programOf(item Item, entry string, labels []string) (program, from string) {
	program, fenced := lastFenced(item.Completion, labels)
	defined := func(text string) bool {
		return regexp.MustCompile(`(?m)^\s*(async\s+)?(def|class)\s+` + regexp.QuoteMeta(entry) + `\b`).MatchString(text)
	}
	switch {
	case fenced:
		from = "the last fenced block"
	case entry != "" && !defined(program) && defined(item.Prompt):
		return item.Prompt + item.Completion, "prompt and completion"
	default:
		from = "the whole completion"
	}
	return program, from
}

// lastFenced returns the last block between fences of a text that is not empty,
// without the indentation of its fence, of those with one of the labels where there
// are any; a block without an end goes up to that of the text. Without a block it is
// the text.
func lastFenced(text string, labels []string) (string, bool) {
	var block, last []string
	open, indent := "", 0
	labelled, found := false, false // the block; any so far
	keep := func() {
		if strings.TrimSpace(strings.Join(block, "")) != "" && (labelled || !found) {
			last, found = block, labelled
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " \t")
		marks := fenceOf(bare)
		switch {
		case open == "" && marks != "":
			open, indent = marks, len(line)-len(bare)
			labelled = slices.Contains(labels, labelOf(bare[len(marks):]))
		case open != "" && strings.HasPrefix(marks, open) && strings.TrimSpace(bare) == marks:
			open = ""
			keep()
		case open != "":
			block = append(block, line[min(indent, len(line)-len(bare)):])
		}
	}
	keep()
	if last == nil {
		return text, false
	}
	return strings.Join(last, ""), true
}

// labelOf returns the word behind a fence, in small letters: python of
// "python title=x" and of "{.python}".
func labelOf(text string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(text), "{."), " ")
	return strings.ToLower(strings.TrimRight(word, "}"))
}

// fenceOf returns the marks that a line begins with, if they make a fence.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		marks := line[:len(line)-len(strings.TrimLeft(line, mark))]
		if len(marks) >= 3 && !(mark == "`" && strings.Contains(line[len(marks):], mark)) {
			return marks
		}
	}
	return ""
}
