// Command testall runs every test of the module and says in few lines what
// happened: each package's closing line, failures with their output, every
// skipped part with its reason, and the totals. It refuses to be silent: where
// VIGORLAB_NO_SKIP is set, a skipped test is a failure.
//
// Packages run under the race detector, but for those of -plain: their Monte
// Carlo runs once without it, and again under it only the tests whose name
// matches -shared, those in which goroutines share something. Packages without
// such a test are not even built for it. Those that take long start first, so
// that none of them is left to run alone at the end: -first names them among
// the packages under the race detector, and -plain lists its own in that order,
// with the longest of all first, which has a lane to itself. Tests of -plain that
// mostly wait are named by -waiting: they run beside all others.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testall", flag.ContinueOnError)
	flags.SetOutput(stderr)
	plain := flags.String("plain", "", "`patterns` of packages that run without the race detector")
	shared := flags.String("shared", "Worker|Concurrent", "`regexp` of the tests of these that run under it all the same")
	waiting := flags.String("waiting", "^$", "`regexp` of the tests of these that mostly wait")
	first := flags.String("first", "", "`patterns` of packages that start first under the race detector")
	also := flags.String("also", "", "`patterns` of packages that ./... leaves out")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	start := time.Now()
	noSkip := os.Getenv("VIGORLAB_NO_SKIP") != ""
	t := newTally(stdout)
	plan, err := makePlan(strings.Fields(*plain), strings.Fields(*first), strings.Fields(*also), *shared, *waiting)
	if err != nil {
		fmt.Fprintln(stderr, "testall:", err)
		return 1
	}
	if !plan.race {
		t.skip("the race detector", "it needs cgo and a C compiler: apt-get install gcc libc6-dev")
	}
	cores := fmt.Sprint("-p=", max(1, runtime.GOMAXPROCS(0)/min(lanes, len(plan.runs))))
	if err := t.runAll(plan, func(t *tally, args []string) error { return goTest(t, stderr, append([]string{cores}, args...)) }); err != nil {
		fmt.Fprintln(stderr, "testall:", err)
		return 1
	}
	fmt.Fprintf(stdout, "\n%.0f s\n", time.Since(start).Seconds())
	return t.close(noSkip)
}

// lanes is how many calls of `go test` run side by side, each with its part of the
// cores: a package that waits, or has one thread, leaves no core idle.
const lanes = 2

// runAll makes the calls, those that come first first, and counts their events.
func (t *tally) runAll(p plan, call func(*tally, []string) error) error {
	out := &lockedWriter{w: t.out}
	var tallies []*tally // a package may be in two runs
	var inLanes, beside errgroup.Group
	inLanes.SetLimit(lanes)
	start := func(group *errgroup.Group, args []string) {
		own := newTally(out)
		tallies = append(tallies, own)
		group.Go(func() error { return call(own, args) })
	}
	if len(p.waiting) > 0 {
		start(&beside, p.waiting)
	}
	for _, args := range p.runs {
		start(&inLanes, args)
	}
	err := errors.Join(inLanes.Wait(), beside.Wait())
	for _, own := range tallies {
		t.merge(own)
	}
	return err
}

// A lockedWriter lets goroutines write one after the other.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// A plan is the calls of `go test`, by their arguments, in the order in which they
// start, and the call that runs beside them, outside the lanes: it mostly waits.
type plan struct {
	race    bool
	runs    [][]string
	waiting []string
}

// makePlan sorts the packages into runs.
func makePlan(plain, first, also []string, shared, waiting string) (plan, error) {
	all, err := list(append([]string{"./..."}, also...))
	if err != nil {
		return plan{}, err
	}
	if !canRace() {
		return plan{runs: [][]string{all}}, nil
	}
	slow, err := list(plain)
	if err != nil {
		return plan{}, err
	}
	long, err := list(first)
	if err != nil {
		return plan{}, err
	}
	quick := slices.DeleteFunc(inOrder(long, all), func(p string) bool { return slices.Contains(slow, p) })
	p := plan{race: true}
	once := func(packages []string) { p.runs = append(p.runs, append([]string{"-skip", waiting}, packages...)) }
	if len(slow) > 0 {
		once(slow[:1]) // as long as all others together
	}
	p.runs = append(p.runs, append([]string{"-race"}, quick...))
	if len(slow) > 1 {
		for _, hand := range deal(slow[1:]) {
			once(hand)
		}
	}
	again, err := withTests(slow, shared, "race")
	if err != nil {
		return p, err
	}
	if len(again) > 0 {
		p.runs = append(p.runs, append([]string{"-race", "-run", shared}, again...))
	}
	wait, err := withTests(slow, waiting, "")
	if len(wait) > 0 {
		p.waiting = append([]string{"-run", waiting}, wait...)
	}
	return p, err
}

// deal deals packages in turns, so that every lane has some as long as others do.
func deal(packages []string) [][]string {
	hands := make([][]string, min(lanes, len(packages)))
	for i, p := range packages {
		hands[i%len(hands)] = append(hands[i%len(hands)], p)
	}
	return hands
}

// inOrder returns all, those of first before the others.
func inOrder(first, all []string) []string {
	out := slices.DeleteFunc(slices.Clone(first), func(p string) bool { return !slices.Contains(all, p) })
	for _, p := range all {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// tests is what -run may name in a test file.
var tests = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// withTests returns the packages that have a test whose name matches a pattern, in the
// files that are built with a tag.
func withTests(packages []string, pattern, tag string) ([]string, error) {
	match, err := regexp.Compile(pattern)
	if err != nil || len(packages) == 0 {
		return nil, err
	}
	const files = `{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}
{{end}}`
	out, err := goCommand(append([]string{"list", "-tags=" + tag, "-f", files}, packages...)...) // -race wants a C compiler
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(out) {
		p, file, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if !ok || slices.Contains(found, p) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(tests.FindAllSubmatch(content, -1), func(m [][]byte) bool { return match.Match(m[1]) }) {
			found = append(found, p)
		}
	}
	return found, nil
}

// list expands package patterns; none of them gives no package.
func list(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	out, err := goCommand(append([]string{"list"}, patterns...)...)
	return strings.Fields(out), err
}

// canRace reports whether the race detector, which needs cgo, can be built.
func canRace() bool {
	return exec.Command("go", "build", "-race", "runtime/cgo").Run() == nil
}

func goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// goTest runs `go test -json` and counts its events. Results are never taken
// from the test cache, which does not see files outside the module: recorded
// tables beside the checkout, pdftotext. An error means that go test failed
// without naming a test or package. A package may take long: it shares its cores
// with others, on a machine that others use.
func goTest(t *tally, stderr io.Writer, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=30m"}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := t.failed
	if err := t.read(out); err != nil {
		return errors.Join(err, cmd.Wait())
	}
	if err := cmd.Wait(); err != nil && t.failed == before {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// An event is one line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	FailedBuild string // of a package that did not build
	Test        string
	Output      string
}

// A tally counts the tests, with their subtests.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[string]*bytes.Buffer // by package and test, or buildKey
	failures, skips         []string
	broken                  map[string]bool // packages with a test that failed
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, output: map[string]*bytes.Buffer{}, broken: map[string]bool{}}
}

// read counts the events of one stream. A line that is no event is printed.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(t.out, "%s\n", bytes.TrimSpace(line))
			} else {
				t.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) add(e event) {
	key := e.Package + " " + e.Test
	if e.Action == "build-output" {
		key = buildKey(e.ImportPath)
	}
	switch e.Action {
	case "output", "build-output":
		if t.output[key] == nil {
			t.output[key] = new(bytes.Buffer)
		}
		t.output[key].WriteString(e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	text := t.take(key)
	switch {
	case e.Test == "":
		t.addPackage(e, text)
	case e.Action == "pass":
		t.passed++
	case e.Action == "skip":
		t.skip(e.Package+" "+e.Test, reason(text))
	default:
		t.broken[e.Package] = true
		t.fail(e.Package+" "+e.Test, text)
	}
}

// addPackage closes a package: its last line is go test's own. A test that never
// ended (a time-out, a killed process) counts as failed; so does a package that
// failed without a failed test (it did not build, or ended by itself).
func (t *tally) addPackage(e event, text string) {
	for _, test := range t.unfinished(e.Package) {
		t.broken[e.Package] = true
		t.fail(e.Package+" "+test, t.take(e.Package+" "+test))
	}
	switch {
	case e.Action == "fail" && e.FailedBuild != "":
		t.fail(e.Package, t.take(buildKey(e.FailedBuild))+text)
	case e.Action == "fail" && !t.broken[e.Package]:
		t.fail(e.Package, text)
	default:
		lines := strings.Split(strings.TrimSpace(text), "\n")
		fmt.Fprintln(t.out, lines[len(lines)-1])
	}
	delete(t.broken, e.Package)
}

// unfinished returns the tests of a package whose output nobody took.
func (t *tally) unfinished(pkg string) []string {
	var tests []string
	for key := range t.output {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

func buildKey(importPath string) string { return "build " + importPath }

// take returns what was printed under a key, and forgets it.
func (t *tally) take(key string) string {
	b := t.output[key]
	delete(t.output, key)
	if b == nil {
		return ""
	}
	return b.String()
}

// merge adds what another tally counted.
func (t *tally) merge(o *tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.skipped += o.skipped
	t.failures = append(t.failures, o.failures...)
	t.skips = append(t.skips, o.skips...)
}

func (t *tally) fail(what, text string) {
	t.failed++
	t.failures = append(t.failures, what)
	fmt.Fprint(t.out, text)
}

func (t *tally) skip(what, why string) {
	t.skipped++
	t.skips = append(t.skips, what+": "+why)
}

// reason takes the words of t.Skip out of a test's output, cut where a script's
// log follows.
func reason(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	const most = 200
	text = strings.Join(words, " ")
	return text[:min(len(text), most)]
}

// close prints what failed, what was skipped and the totals, and returns the
// exit code. No test at all is a failure too.
func (t *tally) close(noSkip bool) int {
	for _, s := range t.skips {
		fmt.Fprintln(t.out, "SKIPPED", s)
	}
	for _, f := range t.failures {
		fmt.Fprintln(t.out, "FAILED", f)
	}
	code := 0
	switch {
	case t.failed > 0:
		code = 1
	case t.passed == 0:
		fmt.Fprintln(t.out, "no test has run")
		code = 1
	case t.skipped > 0 && noSkip:
		fmt.Fprintln(t.out, "skipping is forbidden here (VIGORLAB_NO_SKIP is set)")
		code = 1
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	return code
}
