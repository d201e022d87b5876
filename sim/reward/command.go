package reward

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"vigorlab/distributions/spec"
)

// command asks a program of the user's, which runs as long as the verifier does.
// It reads a JSON object a line,
//
//	{"id": 17, "prompt": "...", "completion": "...", "answer": "...", "truncated": false, "index": 3}
//
// and writes one for each, which it flushes:
//
//	{"id": 17, "reward": 0.5, "kind": "partial", "detail": "..."}
//
// or the reward alone. The id is that of the request; without one replies count in
// their order. A kind is one of Kinds and, with the detail, may be left out; of
// "cannot tell" the reward is 0 and may be. An "error" in place of the reward is a
// failure of the verifier.
//
// There are a number of such processes, each with one item at a time; further
// items wait for one that is free. One that ends, is late or writes something else
// is killed, with the processes it started, and the item asked again of a new
// one; after the given number of further tries it is an error, which holds the
// end of what the program wrote to stderr.
type command struct {
	run     string
	timeout time.Duration
	retries int
	spec    string

	slots  chan *process // every slot has a process or, not yet started, nil
	closed context.Context
	close  context.CancelFunc
}

var commandInfo = Info{
	Name: "command", Form: "command:CMD or command:timeout=60,run=CMD",
	Doc: `a program of yours, run by the shell: reads a JSON object a line (id, prompt, completion, answer, truncated, index), writes {"id": ..., "reward": ...} for each`,
	Parameters: []spec.Parameter{
		{Name: "timeout", Default: "60", Range: "(0, 86400]", Doc: "seconds that a reply may take"},
		{Name: "processes", Default: "1", Range: "a whole number in [1, 256]", Doc: "processes, each with one item at a time"},
		{Name: "retries", Default: "1", Range: "a whole number in [0, 10]", Doc: "further tries, each with a new process, before the item is an error"},
		{Name: "run", Range: "a command of the shell", Doc: "takes the rest of the spec, commas and colons too, and so stands last"},
	},
	Provenance: "own",
}

// keyed is how the long form of the spec begins, which has keys.
var keyed = regexp.MustCompile(`^[^:]*:\s*[\w-]+\s*=`)

func readCommand(text string) (Verifier, error) {
	before, run, _ := cutRest(text, "run")
	if !keyed.MatchString(text) {
		before, run, _ = strings.Cut(text, ":")
		run = strings.TrimSpace(run)
	}
	s, err := spec.Parse(before)
	a := spec.NewArgs(s)
	seconds := a.Float("timeout", 60, "(0, 86400]", func(x float64) bool { return x > 0 && x <= 86400 })
	processes := a.Int("processes", 1, 1, 256)
	retries := a.Int("retries", 1, 0, 10)
	if run == "" {
		err = errors.Join(err, errors.New("command: there is no command, want command:CMD or command:timeout=60,run=CMD"))
	}
	if err := errors.Join(err, a.Err()); err != nil {
		return nil, err
	}
	c := &command{
		run: run, timeout: time.Duration(seconds * float64(time.Second)), retries: retries,
		spec:  a.Normal().String() + ",run=" + run,
		slots: make(chan *process, processes),
	}
	c.closed, c.close = context.WithCancel(context.Background())
	for range processes {
		c.slots <- nil
	}
	return c, nil
}

func (c *command) String() string { return c.spec }

// ErrClosed is the error of a verifier that was closed.
var ErrClosed = errors.New("the verifier is closed")

// Close ends the processes: those that do not end by themselves when there are
// no more items are killed after a grace.
func (c *command) Close() error {
	c.close()
	for range cap(c.slots) {
		if p := <-c.slots; p != nil {
			p.end()
		}
		defer func() { c.slots <- nil }() // a second Close finds them again
	}
	return nil
}

func (c *command) Verify(ctx context.Context, item Item) (Grade, error) {
	if c.closed.Err() != nil {
		return Grade{}, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.closed, cancel)()
	var p *process
	select {
	case p = <-c.slots:
	case <-ctx.Done():
		return Grade{}, c.ended(ctx)
	}
	defer func() { c.slots <- p }()
	if c.closed.Err() != nil { // while this item waited
		return Grade{}, ErrClosed
	}
	for try := 1; ; try++ {
		g, err := c.ask(ctx, &p, item)
		switch {
		case err == nil:
			return g, nil
		case ctx.Err() != nil:
			return Grade{}, c.ended(ctx)
		case try > c.retries:
			return Grade{}, fmt.Errorf("command %s, try %d: %w", brief(c.run), try, err)
		}
	}
}

// ended says why ctx did.
func (c *command) ended(ctx context.Context) error {
	if c.closed.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

// ask asks the process of a slot, which it starts where there is none, and kills
// where it fails.
func (c *command) ask(ctx context.Context, slot **process, item Item) (g Grade, err error) {
	if err := ctx.Err(); err != nil {
		return g, err
	}
	if *slot != nil && (*slot).ended() { // on its own account, between items
		(*slot).kill()
		*slot = nil
	}
	if *slot == nil {
		if *slot, err = start(c.run); err != nil {
			return g, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no reply within %v", c.timeout))
	defer cancel()
	if g, err = (*slot).ask(ctx, item); err != nil {
		(*slot).kill()
		err = (*slot).explain(err)
		*slot = nil
	}
	return g, err
}

// A process is a program that judges items, one at a time.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan line // what it writes; closed at its end
	early  *line     // one that it wrote without being asked
	stderr tail
	id     int
}

// A line is one that a process wrote, or why there is none.
type line struct {
	text []byte
	err  error
}

// longestReply bounds a line, in bytes.
const longestReply = 1 << 20

// grace is how long a process may take to end by itself.
const grace = 2 * time.Second

// start runs a command by the shell, in a process group of its own.
func start(run string) (*process, error) {
	p := &process{cmd: exec.Command("/bin/sh", "-c", run), lines: make(chan line, 1)}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = grace
	separate(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in = in
	go p.read(out)
	return p, nil
}

// read hands on the lines of out, up to its end or one that is too long.
func (p *process) read(out io.Reader) {
	defer close(p.lines)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestReply)
	for lines.Scan() {
		p.lines <- line{text: bytes.Clone(lines.Bytes())}
	}
	if err := lines.Err(); err != nil {
		p.lines <- line{err: err}
	}
}

// A request is what a process reads.
type request struct {
	ID         int    `json:"id"`
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	Answer     string `json:"answer"`
	Truncated  bool   `json:"truncated"`
	Index      uint64 `json:"index"`
}

// ended reports whether the process has closed its output.
func (p *process) ended() bool {
	select {
	case l, ok := <-p.lines:
		if ok {
			p.early = &l
		}
		return !ok
	default:
		return false
	}
}

// ask writes an item and waits for the reply.
func (p *process) ask(ctx context.Context, item Item) (Grade, error) {
	if p.early != nil {
		return Grade{}, fmt.Errorf("the program wrote %s without being asked", brief(string(p.early.text)))
	}
	p.id++
	text, err := json.Marshal(request{p.id, item.Prompt, item.Completion, item.Answer, item.Truncated, item.Index})
	if err != nil {
		return Grade{}, err
	}
	// Where the program does not read, its end ends the write, which then fails;
	// where it fails, the program has ended.
	go func() { _, _ = p.in.Write(append(text, '\n')) }()
	select {
	case l, ok := <-p.lines:
		switch {
		case !ok:
			return Grade{}, errors.New("the program ended")
		case l.err != nil:
			return Grade{}, fmt.Errorf("the program's reply: %w", l.err)
		}
		return p.grade(l.text)
	case <-ctx.Done():
		return Grade{}, context.Cause(ctx)
	}
}

// grade reads a reply.
func (p *process) grade(text []byte) (Grade, error) {
	var reply struct {
		ID     *int     `json:"id"`
		Reward *float64 `json:"reward"`
		Kind   Kind     `json:"kind"`
		Detail string   `json:"detail"`
		Error  string   `json:"error"`
	}
	if bare := new(float64); json.Unmarshal(text, bare) == nil && string(text) != "null" {
		reply.Reward = bare
	} else if err := json.Unmarshal(text, &reply); err != nil {
		return Grade{}, fmt.Errorf("the program wrote %s, want a JSON object with a reward: %w", brief(string(text)), err)
	}
	switch {
	case reply.ID != nil && *reply.ID != p.id:
		return Grade{}, fmt.Errorf("the program's reply has id = %d, want %d, that of the request", *reply.ID, p.id)
	case reply.Error != "":
		return Grade{}, fmt.Errorf("the program's error: %s", brief(reply.Error))
	case reply.Kind == CannotTell && (reply.Reward == nil || *reply.Reward == 0):
		return cannotTell("%s", reply.Detail), nil
	case reply.Reward == nil:
		return Grade{}, fmt.Errorf("the program wrote %s, which has no reward", brief(string(text)))
	case !(*reply.Reward >= 0 && *reply.Reward <= 1):
		return Grade{}, fmt.Errorf("the program's reply has reward = %v, want [0, 1]", *reply.Reward)
	case reply.Kind == "":
		reply.Kind = kindOf(*reply.Reward)
	}
	if want := kindOf(*reply.Reward); !belongs(reply.Kind, want) {
		return Grade{}, fmt.Errorf("the program's reply has kind = %q with reward = %v, want one such as %q", reply.Kind, *reply.Reward, want)
	}
	return Grade{*reply.Reward, reply.Kind, reply.Detail}, nil
}

// belongs reports whether a kind is one of rewards of that simple kind.
func belongs(k, simple Kind) bool {
	switch simple {
	case Right:
		return k == Right || k == Pass
	case Partial:
		return k == Partial
	}
	return slices.Contains([]Kind{Wrong, Error, Time, Memory, Sandbox}, k)
}

// kill ends the process and those it started, at once.
func (p *process) kill() {
	killGroup(p.cmd) // before Wait, while the id cannot be another's
	drained := p.drain()
	_ = p.cmd.Wait() // the exit status says nothing that matters here
	<-drained
}

// end lets the process end by itself, now that there are no more items, and
// kills what is left of it after the grace.
func (p *process) end() {
	p.in.Close() // an error says that the process is gone
	select {
	case <-p.drain():
	case <-time.After(grace):
	}
	p.kill()
}

// drain reads what is left of the output, so that read ends; the channel is
// closed at its end.
func (p *process) drain() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		for range p.lines {
		}
		close(done)
	}()
	return done
}

// explain adds to an error the end of what the process wrote to stderr.
func (p *process) explain(err error) error {
	if said := p.stderr.String(); said != "" {
		return fmt.Errorf("%w; its stderr ends in %q", err, said)
	}
	return err
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(text []byte) (int, error) {
	const most = 400
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text[max(0, len(text)-most):]...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
