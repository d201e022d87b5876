package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Sandbox runs jobs. Goroutines may share it.
type Sandbox struct {
	bwrap  string
	filter []byte
	groups groups
}

// prlimit sets the limits of a program that is no harness, inside.
const prlimit = "/usr/bin/prlimit"

// nobody runs the programs; as root, bubblewrap too.
const nobody = 65534

// New finds what a sandbox needs and runs a program that does nothing. A machine
// without is a [Refusal], which says what brings one.
func New(ctx context.Context) (*Sandbox, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, &Refusal{"bubblewrap (bwrap) is not installed", "apt-get install bubblewrap, dnf install bubblewrap or apk add bubblewrap"}
	}
	if _, err := os.Stat(prlimit); err != nil {
		return nil, &Refusal{"there is no " + prlimit, "apt-get install util-linux"}
	}
	calls, err := filter()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{bwrap: bwrap, filter: calls}
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	s.groups = findGroups(cgroups)
	s.groups.sweep()
	if err := s.probe(ctx); err != nil { // a cgroup that cannot be had after all
		s.groups = groups{}
	}
	return s, ctx.Err()
}

// Whole reports whether memory is bounded for all processes of a program together.
func (s *Sandbox) Whole() bool { return len(s.groups.parents) > 0 }

func (s *Sandbox) probe(ctx context.Context) error {
	const hint = "bubblewrap 0.8 or newer and user namespaces are needed " +
		"(sysctl kernel.unprivileged_userns_clone=1 on older Debian, kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu; " +
		"a container must allow them)"
	limits := DefaultLimits()
	limits.Wall = time.Minute // a machine may be busy
	r, err := s.Run(ctx, Job{Args: []string{"/usr/bin/true"}, Limits: limits})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &Refusal{err.Error(), hint}
	case r.End != Exited || r.Code != 0:
		return &Refusal{fmt.Sprintf("a program that does nothing ended with %s, status %d: %q", r.End, r.Code, r.Stderr), hint}
	}
	return nil
}

// Why a run is cut short.
var (
	errWall = errors.New("the wall clock")
	errLong = errors.New("the length of the output")
)

// Run runs a job to its end. An error says that the sandbox failed or that ctx
// ended, never what the program did.
func (s *Sandbox) Run(ctx context.Context, job Job) (Result, error) {
	defer closeAll(job.Pipes)
	if err := job.Limits.check(); err != nil {
		return Result{}, err
	}
	g, err := s.groups.make(job.Limits)
	if err != nil {
		return Result{}, err
	}
	defer g.remove()
	return s.runIn(ctx, g, job)
}

// runIn runs a job to its end in a cgroup.
func (s *Sandbox) runIn(ctx context.Context, g group, job Job) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	inside := passed{theirs: slices.Clone(job.Pipes)}
	defer inside.start() // where there is no command, nothing waits for it
	if err := keepToOurselves(); err != nil {
		return Result{}, err
	}
	status, err := inside.reader()
	if err != nil {
		return Result{}, err
	}
	defer status.Close()
	args := []string{"--json-status-fd", inside.last()}
	hold, err := inside.writer()
	if err != nil {
		return Result{}, err
	}
	defer hold.Close()
	args, err = s.arguments(append(args, "--block-fd", inside.last()), job, &inside)
	if err != nil {
		return Result{}, err
	}
	cmd := exec.CommandContext(ctx, s.bwrap, args...)
	cmd.Dir, cmd.Env = "/", []string{} // bubblewrap is process 1 inside
	cmd.SysProcAttr, cmd.ExtraFiles, cmd.WaitDelay = apart(), inside.theirs, lingering
	stdout, stderr := &capped{most: job.Limits.Output, full: cancel}, &capped{most: job.Limits.Output, full: cancel}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(job.Stdin), stdout, stderr
	held := &leash{inside: -1}
	if err := held.start(cmd); err != nil {
		return Result{}, err
	}
	defer held.end()
	timer := time.AfterFunc(job.Limits.Wall, func() { cancel(errWall) })
	defer timer.Stop()
	inside.start()
	code := follow(status, func(child int) {
		if err := held.let(child, g, hold); err != nil {
			cancel(err)
		}
	})
	err = cmd.Wait()
	r := Result{Stdout: stdout.text.Bytes(), Stderr: stderr.text.Bytes()}
	return r.ended(context.Cause(ctx), g.exhausted(), <-code, err)
}

// ended returns the result with how its job ended: cut short for a cause, if any,
// by the kernel for its memory, or with a status, which is nil where bubblewrap ended
// before the program did, as bwrap says.
func (r Result) ended(cause error, exhausted bool, status *int, bwrap error) (Result, error) {
	switch {
	case exhausted:
		r.End = NoMemory
	case cause == errWall:
		r.End = TimedOut
	case cause == errLong:
		r.End = TooLong
	case cause != nil:
		return Result{}, cause
	case status == nil:
		return Result{}, fmt.Errorf("sandbox: bubblewrap: %w: %s", bwrap, bytes.TrimSpace(r.Stderr))
	default:
		r.Code, r.End = *status, endOf(*status)
	}
	return r, nil
}

// arguments appends to bubblewrap's arguments those of a job.
func (s *Sandbox) arguments(args []string, job Job, inside *passed) ([]string, error) {
	add := func(more ...string) { args = append(args, more...) }
	if job.First {
		add("--as-pid-1")
	}
	calls, err := inside.data(s.filter)
	if err != nil {
		return nil, err
	}
	add("--seccomp", calls)
	add("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--uid", strconv.Itoa(nobody), "--gid", strconv.Itoa(nobody), "--hostname", "sandbox")
	add("--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp",
		"--setenv", "LANG", "C.UTF-8", "--setenv", "PYTHONHASHSEED", "0")
	add("--ro-bind", "/usr", "/usr")
	add(system()...)
	size := strconv.FormatInt(job.Limits.Scratch, 10)
	// The memory of process 1 would be open to what has the same user.
	add("--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
	add("--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", size, "--tmpfs", "/tmp", "--dir", Box)
	for _, name := range sortedKeys(job.Files) {
		fd, err := inside.data(job.Files[name])
		if err != nil {
			return nil, err
		}
		add("--perms", "0444", "--file", fd, Box+"/"+name)
	}
	// What bubblewrap makes is a file system in memory, without a limit: it must not
	// be written to.
	add("--remount-ro", "/", "--chdir", "/tmp", "--")
	if job.Harness {
		add(job.Args...)
		return append(args, asArgument(job)), nil
	}
	add(prlimit)
	for _, l := range rlimits(job) {
		add(fmt.Sprintf("--%s=%d:%d", l.name, l.soft, l.hard))
	}
	add("--")
	return append(args, job.Args...), nil
}

// An rlimit is a limit of a process, by its name for prlimit and the kernel's number.
type rlimit struct {
	name       string
	resource   int
	soft, hard int64
}

// rlimits are those of a job. That of CPU sends SIGXCPU, and a second later SIGKILL.
func rlimits(job Job) []rlimit {
	l := job.Limits
	cpu := seconds(l.CPU)
	processes := int64(l.Processes + 1) // with process 1
	space := rlimit{"as", unix.RLIMIT_AS, l.Memory, l.Memory}
	if job.Reserves {
		space.name, space.resource = "data", unix.RLIMIT_DATA
	}
	return []rlimit{
		space,
		{"cpu", unix.RLIMIT_CPU, cpu, cpu + 1},
		{"nproc", unix.RLIMIT_NPROC, processes, processes},
		{"fsize", unix.RLIMIT_FSIZE, l.File, l.File},
		{"nofile", unix.RLIMIT_NOFILE, 128, 128},
		{"core", unix.RLIMIT_CORE, 0, 0},
		{"memlock", unix.RLIMIT_MEMLOCK, 0, 0},
		{"msgqueue", unix.RLIMIT_MSGQUEUE, 0, 0},
	}
}

// seconds is a limit of CPU as the kernel knows it, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// asArgument writes the limits of a job for a harness.
func asArgument(job Job) string {
	var each []string
	for _, l := range rlimits(job) {
		each = append(each, fmt.Sprintf("%d:%d:%d", l.resource, l.soft, l.hard))
	}
	return strings.Join(each, " ")
}

// system are the folders that hold programs and libraries beside /usr.
var system = sync.OnceValue(func() []string {
	var args []string
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		switch to, err := os.Readlink(dir); {
		case err == nil:
			args = append(args, "--symlink", to, dir)
		case !errors.Is(err, os.ErrNotExist):
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	return append(args, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
		"--ro-bind-try", "/etc/alternatives", "/etc/alternatives")
})

// apart puts a command into a process group of its own, and makes that of root one
// of nobody, without groups: limits on processes do not bind root.
func apart() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}

// A leash ends what a command started. Bubblewrap starts a process that becomes
// process 1 inside, with which everything there ends. Until it is let go, the
// command's process group holds it; from then on it has a session of its own, and
// for a moment nothing ties its life to its parent's, so it is held by descriptor.
type leash struct {
	mu     sync.Mutex
	group  int
	inside int // a descriptor of process 1, or -1
	pulled bool
}

// start starts a command, which ends when the leash is pulled or the command's context ends.
func (l *leash) start(cmd *exec.Cmd) error {
	l.mu.Lock() // until its group is known
	defer l.mu.Unlock()
	cmd.Cancel = l.pull
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	l.group = cmd.Process.Pid
	return nil
}

// let holds the process, puts it into its cgroup and lets it go on by a byte to
// what it waits for, unless the leash was pulled.
func (l *leash) let(process int, g group, waits io.Writer) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pulled {
		return nil
	}
	if l.inside, err = unix.PidfdOpen(process, 0); err != nil {
		return fmt.Errorf("sandbox: pidfd_open: %w", err)
	}
	if err := g.add(process); err != nil {
		return err
	}
	_, err = waits.Write([]byte{1})
	return err
}

// pull kills everything. What has ended already is no error.
func (l *leash) pull() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pulled = true
	if l.inside >= 0 {
		_ = unix.PidfdSendSignal(l.inside, unix.SIGKILL, nil, 0)
	}
	return syscall.Kill(-l.group, syscall.SIGKILL)
}

// end kills what is left inside, where the command has ended.
func (l *leash) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside >= 0 {
		_ = unix.PidfdSendSignal(l.inside, unix.SIGKILL, nil, 0)
		unix.Close(l.inside)
	}
}

// keepToOurselves marks what this process inherited open (a lock of the shell, a
// file of secrets) as not to be inherited in turn; Go marks what it opens itself.
func keepToOurselves() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// follow reads bubblewrap's status: started gets the process that it made, which
// waits until then; the channel gets the exit status of the program, nil of one
// that bubblewrap did not see end.
func follow(status io.Reader, started func(child int)) <-chan *int {
	code := make(chan *int, 1)
	go func() {
		var s struct {
			Child int  `json:"child-pid"`
			Code  *int `json:"exit-code"`
		}
		for d := json.NewDecoder(status); d.Decode(&s) == nil; s.Child = 0 {
			if s.Child > 0 {
				started(s.Child)
			}
		}
		code <- s.Code
	}()
	return code
}

// passed are the files that a command starts with, from descriptor 3 on.
type passed struct {
	theirs []*os.File // ends for the command
	writes []func()   // what feeds them
}

func (p *passed) add(f *os.File) { p.theirs = append(p.theirs, f) }

// last is the number that the last file has inside.
func (p *passed) last() string { return strconv.Itoa(2 + len(p.theirs)) }

// reader adds a pipe that the command writes to.
func (p *passed) reader() (*os.File, error) {
	r, w, err := os.Pipe()
	if err == nil {
		p.add(w)
	}
	return r, err
}

// writer adds a pipe that the command reads from.
func (p *passed) writer() (*os.File, error) {
	r, w, err := os.Pipe()
	if err == nil {
		p.add(r)
	}
	return w, err
}

// data adds a pipe that holds a text, and returns its number.
func (p *passed) data(text []byte) (string, error) {
	w, err := p.writer()
	if err != nil {
		return "", err
	}
	p.writes = append(p.writes, func() {
		_, _ = w.Write(text) // a command that does not read it says so itself
		w.Close()
	})
	return p.last(), nil
}

// start closes the ends that the started command has now, and feeds it.
func (p *passed) start() {
	closeAll(p.theirs)
	for _, write := range p.writes {
		go write()
	}
	p.theirs, p.writes = nil, nil
}

// closeAll closes files, of which some may be closed.
func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// A capped writer keeps a text up to a length, and then calls full.
type capped struct {
	text bytes.Buffer
	most int64
	full context.CancelCauseFunc
}

func (c *capped) Write(text []byte) (int, error) {
	room := c.most - int64(c.text.Len())
	if int64(len(text)) > room {
		c.text.Write(text[:room])
		c.full(errLong)
		return int(room), errLong
	}
	return c.text.Write(text)
}

func sortedKeys(m map[string][]byte) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Find returns the path of a program that a sandbox has, which is one under /usr.
func Find(name string) (string, bool) {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin"} {
		path := filepath.Join(dir, name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !strings.HasPrefix(real, "/usr/") {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}
