package reward

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"vigorlab/sim/reward/sandbox"
)

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
