package reward

import (
	"bufio"
	"bytes"
	"context"
	"embed" // the Python that runs in sandboxes
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vigorlab/sim/reward/sandbox"
)

//go:embed python/*.py
var sources embed.FS

// python is what its harnesses need, made once by [code.prepare].
type python struct {
	path  string            // where it looks for modules, put together with colons
	files map[string][]byte // byte code of every harness, by its name
}

// prepare asks the interpreter for its path and has it compile the harnesses, which
// at every start would take longer than what they do.
func (c *code) prepare(ctx context.Context) error {
	job := sandbox.Job{
		Args:  []string{c.interpreter, "-s", "-B", sandbox.Box + "/prepare.py"},
		Files: map[string][]byte{}, Limits: sandbox.DefaultLimits(),
	}
	job.Limits.Wall = time.Minute // a machine may be busy
	names, err := sources.ReadDir("python")
	if err != nil {
		return err
	}
	for _, name := range names {
		if job.Files[name.Name()], err = sources.ReadFile("python/" + name.Name()); err != nil {
			return err
		}
	}
	r, err := c.box.Run(ctx, job)
	if err != nil {
		return err
	}
	var made struct {
		Path  []string          `json:"path"`
		Files map[string]string `json:"files"`
	}
	if r.Code != 0 || json.Unmarshal(r.Stdout, &made) != nil {
		return fmt.Errorf("code: language = python, and %s cannot begin: %s", c.interpreter, brief(lastLine(r.Stderr)))
	}
	c.python = python{strings.Join(made.Path, ":"), map[string][]byte{}}
	for name, text := range made.Files {
		if c.python.files[name], err = hex.DecodeString(text); err != nil {
			return fmt.Errorf("code: %w", err)
		}
	}
	return nil
}

// harness is the job of a program of ours, python/*.py, with arguments.
func (c *code) harness(name string, args ...string) sandbox.Job {
	file := name + ".pyc"
	return sandbox.Job{
		// No byte code to write, no packages of a user, no site: start.py does what it does.
		Args:    append([]string{c.interpreter, "-s", "-B", "-S", sandbox.Box + "/" + file, c.python.path}, args...),
		Files:   map[string][]byte{file: c.python.files[name]},
		Harness: true, Limits: c.limits,
	}
}

// program is the job that runs a program.
func (c *code) program(text string) sandbox.Job {
	var job sandbox.Job
	if c.language.serves {
		job = c.harness("run")
	} else {
		job = sandbox.Job{
			Args:  append([]string{c.interpreter}, append(c.language.args(c.limits.Memory), sandbox.Box+"/"+c.language.file)...),
			Files: map[string][]byte{}, Reserves: c.language.reserves, Limits: c.limits,
		}
	}
	job.Files[c.language.file] = []byte(text)
	return job
}

// pairs runs the program on every input.
func (c *code) pairs(ctx context.Context, program string, tests suite) ([]outcome, error) {
	var outcomes []outcome
	for _, p := range tests.pairs {
		job := c.program(program)
		job.Stdin = []byte(p.in)
		r, err := c.box.Run(ctx, job)
		if err != nil {
			return nil, err
		}
		o, ok := c.failed(r)
		if !ok {
			o = outcome{Pass, ""}
			if got := string(r.Stdout); !c.judgement.output(got, p.out) {
				o = outcome{Wrong, fmt.Sprintf("writes %s, want %s", brief(strings.TrimSpace(got)), brief(strings.TrimSpace(p.out)))}
			}
		}
		outcomes = append(outcomes, o)
		if o.kind != Pass && !c.all {
			break
		}
	}
	return outcomes, nil
}

// failed reads how a run ended: whether it failed, and by what.
func (c *code) failed(r sandbox.Result) (outcome, bool) {
	last := lastLine(r.Stderr)
	switch r.End {
	case sandbox.TimedOut:
		return outcome{Time, fmt.Sprintf("takes longer than %v, or %v of processor time", c.limits.Wall, c.limits.CPU)}, true
	case sandbox.NoMemory:
		return outcome{Memory, fmt.Sprintf("takes more than %d MiB", c.limits.Memory>>20)}, true
	case sandbox.TooLong:
		return outcome{Sandbox, fmt.Sprintf("writes more than %d MiB", c.limits.Output>>20)}, true
	case sandbox.Forbidden:
		return outcome{Sandbox, fmt.Sprintf("%v: calls the kernel for what the sandbox forbids, or writes a file of more than %d MiB", syscall.Signal(r.Code-128), c.limits.File>>20)}, true
	}
	switch {
	case r.Code == 0:
		return outcome{}, false
	case c.language.exhausted.Match(r.Stderr[max(0, len(r.Stderr)-4096):]):
		return outcome{Memory, fmt.Sprintf("takes more than %d MiB: %s", c.limits.Memory>>20, brief(last))}, true
	case r.Code > 128:
		return outcome{Error, fmt.Sprintf("ended by signal %v: %s", syscall.Signal(r.Code-128), brief(last))}, true
	}
	return outcome{Error, fmt.Sprintf("exit status %d: %s", r.Code, brief(last))}, true
}

// lastLine is the last line of a text, which of a traceback is the exception.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// server is the job of a program that answers calls, as many as given.
func (c *code) server(program string, calls int, requests, answers *os.File) sandbox.Job {
	each := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	job := c.harness("serve", each(c.limits.Wall), each(c.limits.CPU))
	job.Files["program.py"] = []byte(program)
	job.Pipes = []*os.File{requests, answers}
	job.Limits.Wall *= time.Duration(calls)
	job.Limits.CPU *= time.Duration(calls)
	return job
}

// calls asks the program for every call. After one that ended it, the others are
// asked of a new run.
func (c *code) calls(ctx context.Context, program string, tests suite) ([]outcome, error) {
	var outcomes []outcome
	for len(outcomes) < len(tests.calls) {
		rest := tests.calls[len(outcomes):]
		lines, r, err := c.serve(ctx, program, tests.entry, rest)
		switch {
		case err != nil:
			return nil, err
		case len(lines) > 1+len(rest):
			return []outcome{{Sandbox, "answers calls that nobody made"}}, nil
		}
		loaded := len(lines) > 0 // the first line says so
		for i, line := range lines[min(1, len(lines)):] {
			o := c.compare(line, rest[i], tests.entry)
			outcomes = append(outcomes, o)
			if o.kind != Pass && !c.all {
				return outcomes, nil
			}
		}
		for len(outcomes) < len(tests.calls) {
			outcomes = append(outcomes, c.unfinished(r))
			if !c.all {
				return outcomes, nil
			}
			if loaded {
				break
			}
		}
	}
	return outcomes, nil
}

// unfinished is the outcome of a test before whose end the run ended.
func (c *code) unfinished(r sandbox.Result) outcome {
	if o, failed := c.failed(r); failed {
		return o
	}
	return outcome{Error, "ended before its tests did"}
}

// compare judges the answer to a call.
func (c *code) compare(line []byte, call call, entry string) outcome {
	answer, _ := readJSON(line).(map[string]any)
	if raised, ok := answer["raise"].([]any); ok && len(raised) == 2 {
		return outcome{Error, fmt.Sprintf("%s raises %s", entry, brief(fmt.Sprintf("%v: %v", raised...)))}
	}
	got, ok := answer["value"]
	switch {
	case !ok:
		return outcome{Sandbox, fmt.Sprintf("answers a call with %s", brief(string(line)))}
	case c.judgement.value(got, call.want), call.or != nil && c.judgement.value(got, call.or):
		return outcome{Pass, ""}
	}
	return outcome{Wrong, fmt.Sprintf("%s returns %s, want %s", entry, brief(asJSON(got)), brief(asJSON(call.want)))}
}

// asJSON writes a value for a detail.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// serve asks a run for calls, and returns the lines that came back. Every one must
// come in time: a program can silence the clock that serve.py sets.
func (c *code) serve(ctx context.Context, program, entry string, calls []call) (lines [][]byte, r sandbox.Result, err error) {
	var text bytes.Buffer
	for _, call := range calls {
		line, err := json.Marshal(map[string]any{"call": entry, "args": packed(call.args)})
		if err != nil {
			return nil, r, err
		}
		text.Write(append(line, '\n'))
	}
	p, err := pipes(2)
	if err != nil {
		return nil, r, err
	}
	requests, answers := p[0], p[1]
	go func() {
		_, _ = requests.w.Write(text.Bytes()) // a program that has ended reads no more
		requests.w.Close()
	}()
	watched, cut := context.WithCancel(ctx)
	defer cut()
	late := time.AfterFunc(c.limits.Wall+margin, cut)
	defer late.Stop()
	read := make(chan [][]byte, 1)
	go func() {
		read <- readLines(answers.r, c.limits.Output, func() { late.Reset(c.limits.Wall + margin) })
	}()
	r, err = c.box.Run(watched, c.server(program, len(calls)+1, requests.r, answers.w))
	sandbox.Linger(answers.r)
	if err != nil && watched.Err() != nil && ctx.Err() == nil {
		r, err = sandbox.Result{End: sandbox.TimedOut}, nil
	}
	return <-read, r, err
}

// margin is what is allowed beyond a limit of time that the program's side keeps,
// and that a program may do away with there.
const margin = 2 * time.Second

// readLines reads lines up to the end of a file, or to its first so many bytes,
// and closes it: of one that goes on, the writer finds that nobody reads it. It calls
// each after every line.
func readLines(f *os.File, most int64, each func()) (lines [][]byte) {
	defer f.Close()
	in := bufio.NewReader(io.LimitReader(f, most))
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return lines
		}
		lines = append(lines, line)
		each()
	}
}

// A pipe is one, with its two ends.
type pipe struct{ r, w *os.File }

// pipes makes some pipes.
func pipes(n int) ([]pipe, error) {
	made := make([]pipe, n)
	for i := range made {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range made[:i] {
				err = errors.Join(err, p.r.Close(), p.w.Close())
			}
			return nil, err
		}
		made[i] = pipe{r, w}
	}
	return made, nil
}

// asserts runs the tests in one sandbox and the program in another.
func (c *code) asserts(ctx context.Context, program string, tests suite) ([]outcome, error) {
	text, err := json.Marshal(map[string]any{
		"setup": append([]string{}, tests.setup...), "tests": tests.asserts, "first": !c.all,
	})
	if err != nil {
		return nil, err
	}
	p, err := pipes(3)
	if err != nil {
		return nil, err
	}
	requests, answers, report := p[0], p[1], p[2]
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var served sandbox.Result
	var servedErr error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		served, servedErr = c.box.Run(serving, c.server(program, 1, requests.r, answers.w))
	}()
	read := make(chan [][]byte, 1)
	go func() { read <- readLines(report.r, c.limits.Output, func() {}) }()
	limits := c.limits
	limits.Wall += margin // so that what takes too long is the program
	tested, err := c.runTests(ctx, text, []*os.File{requests.w, answers.r, report.w}, limits)
	sandbox.Linger(report.r)
	found := readFindings(<-read)
	if found.done || err != nil {
		stop() // the program has nothing more to do
	}
	<-ended
	switch {
	case err != nil:
		return nil, err
	case found.done && !found.asked && found.allPass():
		return []outcome{{CannotTell, "the tests ask the program for nothing"}}, nil
	case found.done:
		return found.outcomes, nil
	case servedErr != nil:
		return nil, servedErr
	case !found.begun:
		return []outcome{{CannotTell, "the tests cannot be read: " + brief(lastLine(tested.Stderr))}}, nil
	}
	rest, failed := c.failed(served)
	if !failed && tested.End != sandbox.Exited {
		rest, failed = c.failed(tested)
	}
	if !failed {
		rest = outcome{Error, "ended before its tests did, or answers what is no answer"}
	}
	return found.fill(rest), nil
}

// runTests runs a file of tests in a nursery, which goes on to others where it is as
// it was: the tests of an answer vouch for nothing but its own grade, and a program
// never is where they are.
func (c *code) runTests(ctx context.Context, text []byte, pipes []*os.File, limits sandbox.Limits) (sandbox.Result, error) {
	n, err := c.nursery()
	if err != nil {
		for _, p := range pipes {
			p.Close()
		}
		return sandbox.Result{}, err
	}
	r, err := n.Run(ctx, text, pipes, limits)
	if err == nil && !n.Spent() && c.closed.Err() == nil {
		select {
		case c.idle <- n:
			return r, nil
		default:
		}
	}
	n.Close()
	return r, err
}

// nursery returns one that waits, or starts one.
func (c *code) nursery() (*sandbox.Nursery, error) {
	for {
		select {
		case n := <-c.idle:
			if !n.Spent() {
				return n, nil
			}
			n.Close()
		default:
			return c.box.Nursery(c.closed, c.harness("nursery"))
		}
	}
}

// findings are what python/asserts.py reports.
type findings struct {
	begun    bool // the tests could be read
	tests    int  // how many there are
	outcomes []outcome
	done     bool // it came to its end
	asked    bool // for something that the program has
}

// mostTests bounds the tests of a file.
const mostTests = 1_000_000

// readFindings reads the lines of the report.
func readFindings(lines [][]byte) findings {
	var found findings
	for _, line := range lines {
		var f struct {
			Tests  *int   `json:"tests"`
			Kind   Kind   `json:"kind"`
			Detail string `json:"detail"`
			All    bool   `json:"all"` // of every test that is left
			Done   bool   `json:"done"`
			Asked  bool   `json:"asked"`
		}
		if json.Unmarshal(line, &f) != nil {
			return found // what follows a torn line is no report
		}
		switch o := (outcome{f.Kind, f.Detail}); {
		case f.Tests != nil && !(*f.Tests >= 0 && *f.Tests <= mostTests):
			return found
		case f.Tests != nil:
			found.begun, found.tests = true, *f.Tests
		case f.Done:
			found.done, found.asked = true, f.Asked
		case f.All:
			found.outcomes = found.fill(o)
		default:
			found.outcomes = append(found.outcomes, o)
		}
	}
	return found
}

// allPass reports whether there are outcomes and all of them pass.
func (f findings) allPass() bool {
	return len(f.outcomes) > 0 && !slices.ContainsFunc(f.outcomes, func(o outcome) bool { return o.kind != Pass })
}

// fill gives every test that has no outcome the same one.
func (f findings) fill(o outcome) []outcome {
	for len(f.outcomes) < f.tests {
		f.outcomes = append(f.outcomes, o)
	}
	return f.outcomes
}
