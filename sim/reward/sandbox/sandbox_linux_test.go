package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain checks after all tests that they left no cgroups.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, parent := range findGroups(cgroups).parents {
		if left, _ := filepath.Glob(fmt.Sprintf("%s/%s%d-*", parent, prefix, os.Getpid())); left != nil {
			fmt.Fprintln(os.Stderr, "left:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// box makes a sandbox, or skips.
func box(t testing.TB) *Sandbox {
	t.Helper()
	for program, pkg := range map[string]string{"bwrap": "bubblewrap", "python3": "python3"} {
		if _, ok := Find(program); !ok {
			missing := "no " + program + ": apt-get install " + pkg
			if os.Getenv("VIGORLAB_NO_SKIP") != "" {
				t.Fatal(missing)
			}
			t.Skip(missing)
		}
	}
	s, err := New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// limits are small ones, but for time, which a busy machine needs.
func limits() Limits {
	l := DefaultLimits()
	l.Wall, l.CPU, l.Memory = time.Minute, 20*time.Second, 256<<20
	return l
}

// helper begins every program of a test: attempt reports whether something that must
// be refused is, by its error or its return value -1.
const helper = `
import ctypes, errno, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, act):
    try:
        got = act()
        if got == -1: raise OSError(ctypes.get_errno(), '')
    except (OSError, ValueError, AttributeError) as e:
        print(name, 'refused', errno.errorcode.get(getattr(e, 'errno', None), ''), flush=True)
        return
    print(name, 'ALLOWED', repr(got)[:200], flush=True)
def read(path):
    with open(path, 'rb') as f: return f.read(100)
def write(path, text=b'x'):
    with open(path, 'wb') as f: return f.write(text)
`

// run runs a program with the helper and arguments.
func run(t testing.TB, s *Sandbox, l Limits, program string, args ...string) Result {
	t.Helper()
	r, err := s.Run(context.Background(), Job{
		Args:  append([]string{"/usr/bin/python3", "-s", "-B", Box + "/p.py"}, args...),
		Files: map[string][]byte{"p.py": []byte(helper + program)}, Limits: l,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refuses runs a program whose every attempt must be refused, at least so many.
func refuses(t *testing.T, s *Sandbox, least int, program string, args ...string) {
	t.Helper()
	r := run(t, s, limits(), program, args...)
	out := string(r.Stdout)
	if r.End != Exited || r.Code != 0 || strings.Contains(out, "ALLOWED") || strings.Count(out, "refused") < least {
		t.Errorf("%s, status %d, want %d attempts and all of them refused:\n%s%s", r.End, r.Code, least, out, r.Stderr)
	}
}

// left lists the processes of this machine that have the mark in their arguments.
func left(t testing.TB, mark string) []string {
	t.Helper()
	var found []string
	for try := 0; try < 200; try++ { // the kernel takes a moment
		found = nil
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err == nil && strings.Contains(string(text), mark) {
				found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
		if len(found) == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return found
}

// mark is one that no other process of the machine has.
func mark(t testing.TB) string {
	return fmt.Sprintf("mark-%s-%d-%d", strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), os.Getpid(), time.Now().UnixNano())
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := box(t)
	r, err := s.Run(context.Background(), Job{
		Args:  []string{"/usr/bin/python3", "-c", "import sys; print(input(), open('/box/x').read()); print('e', file=sys.stderr); sys.exit(3)"},
		Files: map[string][]byte{"x": []byte("text")}, Stdin: []byte("in\n"), Limits: limits(),
	})
	if err != nil || r.End != Exited || r.Code != 3 || string(r.Stdout) != "in text\n" || string(r.Stderr) != "e\n" {
		t.Errorf("%s, status %d, %q, %q, error %v", r.End, r.Code, r.Stdout, r.Stderr, err)
	}
}

func TestRunFaults(t *testing.T) {
	t.Parallel()
	s := box(t)
	l := limits()
	l.Memory = 0
	if _, err := s.Run(context.Background(), Job{Args: []string{"/usr/bin/true"}, Limits: l}); err == nil || !strings.Contains(err.Error(), "limit memory = 0, want more than 0") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, Job{Args: []string{"/usr/bin/true"}, Limits: limits()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if r, err := s.Run(context.Background(), Job{Args: []string{"/usr/bin/no-such"}, Limits: limits()}); err != nil || r.Code == 0 {
		t.Errorf("a program that is not there: %+v, error %v", r, err)
	}
}

// TestNetwork tries to reach this machine and others. The listeners must hear
// nothing.
func TestNetwork(t *testing.T) {
	t.Parallel()
	s := box(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	name := mark(t)
	abstract, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	path := filepath.Join(t.TempDir(), "s")
	file, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	heard := make(chan string, 4)
	for _, l := range []net.Listener{tcp, abstract, file} {
		go func() {
			if _, err := l.Accept(); err == nil {
				heard <- l.Addr().String()
			}
		}()
	}
	go func() {
		if _, from, err := udp.ReadFrom(make([]byte, 1)); err == nil {
			heard <- from.String()
		}
	}()
	refuses(t, s, 13, `
tcp, udp, name, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
attempt('loopback', lambda: socket.create_connection(('127.0.0.1', tcp), 5))
attempt('another host', lambda: socket.create_connection(('192.0.2.1', 80), 5))
attempt('another host by UDP', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
attempt('IPv6', lambda: socket.create_connection(('2001:db8::1', 80), 5))
attempt('names', lambda: socket.getaddrinfo('example.com', 80))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
for n in ('\0' + name, path):
    attempt('unix', lambda: socket.socket(socket.AF_UNIX).connect(n))
attempt('routes', lambda: -1 if len(open('/proc/net/route').readlines()) < 2 else 0)
attempt('UDP to this machine', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp)))
# What waits in buffers is memory that no limit counts, so there is no network within either.
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK): attempt('a socket', lambda: socket.socket(family))
a, b = socket.socketpair() # programs of several processes need these
a.send(b'x')
if b.recv(1) != b'x': print('ALLOWED nothing between processes')
`, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port), strconv.Itoa(udp.LocalAddr().(*net.UDPAddr).Port), name, path)
	select {
	case who := <-heard:
		t.Errorf("%s was reached", who)
	case <-time.After(50 * time.Millisecond):
	}
}

// show lets every user of the machine into a folder.
func show(t *testing.T, dir string) {
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFiles tries to read and change files of the machine, also by links and what
// /proc shows.
func TestFiles(t *testing.T) {
	s := box(t)
	t.Setenv("VIGORLAB_SECRET", "do-not-tell")
	dir := t.TempDir()
	show(t, dir) // so that only the sandbox hides it
	secret, m := filepath.Join(dir, "secret"), mark(t)
	if err := os.WriteFile(secret, []byte("do-not-tell"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(secret, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const leaked = 77 // as a shell leaves one open, above those of the job
	if err := unix.Dup3(int(f.Fd()), leaked, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	refuses(t, s, 40, `
secret = sys.argv[1]
for path in (secret, '/etc/passwd', '/etc/shadow', '/etc/hostname', '/root', '/home', '/var', '/sys', '/run', '/mnt', '/opt/x',
             '/proc/1/root' + secret, '/proc/self/root' + secret, '/proc/self/cwd/../..' + secret, '/tmp/../..' + secret,
             '/proc/kcore', '/proc/sysrq-trigger', '/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda'):
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else read(path))
for path in ('/x', '/usr/x', '/usr/bin/x', '/bin/x', '/lib/x', '/dev/x', '/box/x', '/box/p.py', '/proc/x', '/etc/x',
             '/proc/sys/kernel/hostname', '/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/self/uid_map', '/proc/self/oom_score_adj/..'):
    attempt('write ' + path, lambda: write(path))
attempt('rename', lambda: os.rename('/box/p.py', '/box/q.py'))
attempt('remove', lambda: os.remove('/box/p.py'))
attempt('remove folder', lambda: os.rmdir('/box'))
attempt('chmod', lambda: os.chmod('/usr/bin/true', 0o777))
link = '/tmp/' + sys.argv[2]
os.symlink(secret, link)
os.symlink('/usr/bin', link + '-bin')
attempt('symbolic link', lambda: read(link))
attempt('write by link', lambda: write(link))
attempt('write by link to a folder', lambda: write(link + '-bin/x'))
attempt('hard link', lambda: os.link('/usr/bin/true', '/tmp/true'))
attempt('hard link to the job', lambda: os.link('/box/p.py', '/tmp/p.py'))
attempt('device', lambda: os.mknod('/tmp/device', 0o600 | 0o020000, os.makedev(1, 1)))
attempt('descriptors', lambda: -1 if set(os.listdir('/proc/self/fd')) <= set('0123') else os.listdir('/proc/self/fd'))
attempt('environment', lambda: -1 if not any('do-not-tell' in v for v in os.environ.values()) else 0)
attempt('environment of bubblewrap', lambda: open('/proc/1/environ', 'rb').read())
attempt('processes', lambda: -1 if len([p for p in os.listdir('/proc') if p.isdigit()]) <= 3 else 0)
attempt('folders', lambda: -1 if set(os.listdir('/')) <= set('bin sbin lib lib32 lib64 libx32 usr etc proc dev tmp box'.split()) else os.listdir('/'))
`, secret, m)
	if text, err := os.ReadFile(secret); err != nil || string(text) != "do-not-tell" {
		t.Errorf("the file outside is %q now, error %v", text, err)
	}
	for _, path := range []string{"/x", "/usr/x", "/usr/bin/x", "/tmp/" + m, "/tmp/" + m + "-bin"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("there is a %s outside", path)
		}
	}
}

// TestPrivileges tries to gain some.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	s := box(t)
	refuses(t, s, 20, `
import shutil, subprocess
status = dict(l.split(':', 1) for l in open('/proc/self/status'))
attempt('privileges', lambda: -1 if status['NoNewPrivs'].strip() == '1' else 0)
attempt('filter', lambda: -1 if status['Seccomp'].strip() == '2' else 0)
for c in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
    attempt(c, lambda: -1 if int(status[c], 16) == 0 else status[c])
for path in ('mem', 'task/1/mem', 'root', 'cwd', 'fd/0'):
    attempt('process 1', lambda: os.open('/proc/1/' + path, os.O_RDWR if 'mem' in path else os.O_RDONLY))
attempt('a file beside it', lambda: os.open('/proc/1/x', os.O_WRONLY | os.O_CREAT))
attempt('limits of process 1', lambda: __import__('resource').prlimit(1, 0))
attempt('setuid', lambda: os.setuid(0))
attempt('setgid', lambda: os.setgid(0))
attempt('setgroups', lambda: os.setgroups([0]))
attempt('groups', lambda: -1 if set(os.getgroups()) <= {65534} else os.getgroups())
shutil.copy('/usr/bin/id', '/tmp/id')
os.chmod('/tmp/id', 0o6755)
attempt('a setuid program', lambda: -1 if subprocess.run(['/tmp/id', '-u'], capture_output=True).stdout == b'65534\n' else 0)
for su in ('/usr/bin/su', '/usr/bin/passwd', '/usr/bin/mount', '/usr/bin/newgrp'):
    if os.path.exists(su):
        attempt(su, lambda: -1 if subprocess.run([su, '-c', 'id'], stdin=subprocess.DEVNULL, capture_output=True).returncode != 0 else 0)
attempt('priority', lambda: os.nice(-5))
attempt('limit', lambda: __import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (-1, -1)))
attempt('terminal', lambda: os.open('/dev/tty', os.O_RDWR))
attempt('TIOCSTI', lambda: __import__('fcntl').ioctl(0, 0x5412, b'x'))
attempt('shared memory', lambda: libc.shmget(0, 4096, 0o1666))
attempt('memory file', lambda: os.memfd_create('x'))
attempt('io_uring', lambda: libc.syscall(425, 1, 0))
`)
}

// TestForbidden checks that calls which reach for the machine end the program.
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := box(t)
	for name, call := range map[string]string{
		"mount":            "libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0)",
		"bind mount":       "libc.mount(b'/usr', b'/tmp', 0, 4096, 0)",
		"umount":           "libc.umount2(b'/usr', 2)",
		"ptrace a parent":  "libc.ptrace(16, os.getppid(), 0, 0)",
		"ptrace oneself":   "libc.ptrace(0, 0, 0, 0)",
		"memory of others": "libc.process_vm_readv(1, 0, 0, 0, 0, 0)",
		"user namespace":   "libc.unshare(0x10000000)",
		"by clone":         "libc.syscall({'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000000 | 17, 0, 0, 0, 0)",
		"setns":            "libc.setns(0, 0)",
		"chroot":           "os.chroot('/tmp')",
		"keys":             "libc.syscall({'x86_64': 250, 'aarch64': 219}[os.uname().machine], 0, 0)",
		"bpf":              "libc.syscall({'x86_64': 321, 'aarch64': 280}[os.uname().machine], 0, 0, 0)",
		"the host's VM":    "socket.socket(40, socket.SOCK_STREAM)",
		"packets":          "socket.socket(17, socket.SOCK_RAW)",
		"a pair of TIPC":   "libc.socketpair(30, 1, 0, (ctypes.c_int * 2)())",
		"host name":        "socket.sethostname('x')",
		"clock":            "time.clock_settime(time.CLOCK_REALTIME, 0)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, s, limits(), "print('before', flush=True)\n"+call+"\nprint('after')")
			if r.End != Forbidden || string(r.Stdout) != "before\n" {
				t.Errorf("%s, status %d, %q, %q, want %s", r.End, r.Code, r.Stdout, r.Stderr, Forbidden)
			}
		})
	}
}

// TestSignals sends signals to everything that a program can name: to a process of
// the same user outside, to this one and to bubblewrap.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := box(t)
	victim := exec.Command("sleep", "100")
	victim.SysProcAttr = apart()
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	defer func() { _ = victim.Process.Kill() }()
	caught := make(chan os.Signal, 9)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGHUP)
	defer signal.Stop(caught)
	refuses(t, s, 4, `
import signal
for pid in (int(sys.argv[1]), int(sys.argv[2])):
    if not os.path.exists(f'/proc/{pid}'): # else one of this sandbox
        for number in (signal.SIGTERM, signal.SIGKILL): attempt('signal', lambda: os.kill(pid, number))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid in (os.getppid(), 1): os.kill(pid, signal.SIGTERM)
os.kill(1, signal.SIGSTOP)
os.kill(1, signal.SIGKILL)
`, strconv.Itoa(victim.Process.Pid), strconv.Itoa(os.Getpid()))
	r := run(t, s, limits(), "try: os.kill(-1, 15)\nexcept ProcessLookupError: pass\nprint('on')")
	if r.End != Exited || string(r.Stdout) != "on\n" {
		t.Errorf("after a signal to all: %s, status %d, %q", r.End, r.Code, r.Stdout)
	}
	select {
	case err := <-ended:
		t.Errorf("a process outside was ended: %v", err)
	case got := <-caught:
		t.Errorf("this process got %v", got)
	case <-time.After(50 * time.Millisecond):
	}
}

// TestForks starts processes until that is refused, at most 200, and leaves them;
// also where there are no cgroups.
func TestForks(t *testing.T) {
	t.Parallel()
	s := box(t)
	bare := *s
	bare.groups = groups{}
	for name, s := range map[string]*Sandbox{"as it is": s, "without cgroups": &bare} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forks(t, s)
		})
	}
}

func forks(t *testing.T, s *Sandbox) {
	m := mark(t)
	l := limits()
	l.Processes = 20
	r := run(t, s, l, `
n = 1
try:
    while n < 200:
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError as e: print(n, errno.errorcode[e.errno])
`, m)
	if got := string(r.Stdout); r.End != Exited || got != "20 EAGAIN\n" {
		t.Errorf("%s, status %d, %q, want 20 processes and no more; %s", r.End, r.Code, got, r.Stderr)
	}
	if found := left(t, m); found != nil {
		t.Errorf("left: %v", found)
	}
}

// TestMemory takes memory in every way, at most 1 GB.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := box(t)
	r := run(t, s, limits(), "x = [bytearray(1 << 20) for _ in range(1000)]\nprint('had it')")
	if !(r.End == NoMemory || r.Code == 1 && strings.Contains(string(r.Stderr), "MemoryError")) || len(r.Stdout) > 0 {
		t.Errorf("%s, status %d, %q, %.200q", r.End, r.Code, r.Stdout, r.Stderr)
	}
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		r := run(t, s, limits(), `
total = 0
try:
    for i in range(20):
        total += write(sys.argv[1] + f'/{i}', b'x' * (10 << 20))
except OSError as e: print(total >> 20, errno.errorcode[e.errno])
`, dir)
		if got := string(r.Stdout); r.End != Exited || got != "60 ENOSPC\n" {
			t.Errorf("%s: %s, status %d, %q, want no more than 64 MiB; %s", dir, r.End, r.Code, got, r.Stderr)
		}
	}
	r = run(t, s, limits(), `
try: write('/tmp/x', b'x' * (20 << 20))
except OSError as e: print(errno.errorcode[e.errno])
`)
	if got := string(r.Stdout); got != "EFBIG\n" {
		t.Errorf("a large file: %s, status %d, %q", r.End, r.Code, got)
	}
	if !s.Whole() {
		t.Log("no cgroup may be written to: memory of all processes together is not bounded")
		return
	}
	m := mark(t)
	r = run(t, s, limits(), `
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(b'x' * (100 << 20))
        time.sleep(60)
for _ in range(8): os.wait()
`, m)
	if r.End != NoMemory {
		t.Errorf("eight processes of 100 MiB: %s, status %d, want %s", r.End, r.Code, NoMemory)
	}
	if found := left(t, m); found != nil {
		t.Errorf("left: %v", found)
	}
}

// TestTime runs programs that do not end, with children that do not want to.
func TestTime(t *testing.T) {
	t.Parallel()
	s := box(t)
	daemon := `
import signal
for i in range(1, 65):
    try: signal.signal(i, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(600)
`
	for name, c := range map[string]struct {
		program   string
		wall, cpu time.Duration
		end       End
	}{
		"processor": {"while True: pass", time.Minute, time.Second, TimedOut},
		"sleep":     {daemon + "time.sleep(600)", 2 * time.Second, time.Minute, TimedOut},
		"children":  {daemon, time.Minute, time.Minute, Exited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mark(t)
			l := limits()
			l.Wall, l.CPU = c.wall, c.cpu
			start := time.Now()
			r := run(t, s, l, c.program, m)
			if took := time.Since(start); r.End != c.end || took > 50*time.Second {
				t.Errorf("%s, status %d after %v, want %s", r.End, r.Code, took, c.end)
			}
			if found := left(t, m); found != nil {
				t.Errorf("left: %v", found)
			}
		})
	}
}

// TestAnyWall kills at every moment of a start.
func TestAnyWall(t *testing.T) {
	t.Parallel()
	s := box(t)
	s.groups = groups{} // which end what is in them
	m := mark(t)
	start := time.Now()
	run(t, s, limits(), "pass")
	whole := time.Since(start)
	const moments = 40
	for i := range moments {
		l := limits()
		l.Wall = whole * time.Duration(i+1) / (moments - 5)
		if r := run(t, s, l, "time.sleep(600)", m); r.End != TimedOut {
			t.Errorf("after %v: %s, status %d", l.Wall, r.End, r.Code)
		}
	}
	if found := left(t, m); found != nil {
		t.Errorf("left: %v", found)
	}
}

// TestLeash pulls a leash on a command and a process of its that has a session of
// its own, as process 1 of a sandbox has.
func TestLeash(t *testing.T) {
	box(t)
	for name, end := range map[string]func(l *leash) error{
		"pull": func(l *leash) error { return l.pull() },
		"end": func(l *leash) error {
			err := syscall.Kill(l.group, syscall.SIGKILL) // the command alone
			l.end()
			return err
		},
	} {
		m := mark(t)
		cmd := exec.Command("/usr/bin/python3", "-c",
			"import subprocess, time\nprint(subprocess.Popen(['/usr/bin/python3', '-c', 'import time; time.sleep(600)', '"+m+"'], start_new_session=True, stdout=2).pid, flush=True)\ntime.sleep(600)")
		cmd.SysProcAttr = apart()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var child int
		if _, err := fmt.Fscan(out, &child); err != nil {
			t.Fatal(err)
		}
		l := &leash{group: cmd.Process.Pid, inside: -1}
		var released bytes.Buffer
		if err := l.let(child, group{}, &released); err != nil || released.Len() != 1 {
			t.Fatalf("%s: released by %d bytes, error %v", name, released.Len(), err)
		}
		if err := end(l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = cmd.Wait() // killed
		if found := left(t, m); found != nil {
			t.Errorf("%s: left: %v", name, found)
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
	late := &leash{inside: -1, pulled: true}
	var released bytes.Buffer
	if err := late.let(os.Getpid(), group{}, &released); err != nil || late.inside != -1 || released.Len() > 0 {
		t.Errorf("let go though pulled: %v", err)
	}
}

// TestOutput writes 1 GB to each of stdout and stderr.
func TestOutput(t *testing.T) {
	t.Parallel()
	s := box(t)
	l := limits()
	l.Output = 1 << 20
	for fd := 1; fd <= 2; fd++ {
		r := run(t, s, l, fmt.Sprintf("import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_IGN)\nfor _ in range(1 << 14):\n    try: os.write(%d, b'x' * (1 << 16))\n    except OSError: pass", fd))
		if r.End != TooLong || int64(max(len(r.Stdout), len(r.Stderr))) != l.Output {
			t.Errorf("descriptor %d: %s, status %d, %d bytes", fd, r.End, r.Code, len(r.Stdout))
		}
	}
}

// TestLinger reads pipes of which the kernel keeps an end after the program, which sent
// it to itself. When it lets go depends on what else runs: here it may come at once.
func TestLinger(t *testing.T) {
	t.Parallel()
	s := box(t)
	start := time.Now()
	r := run(t, s, limits(), `
import array
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1, 2, a.fileno(), b.fileno()]))])
print('held')
`)
	if r.End != Exited || r.Code != 0 || string(r.Stdout) != "held\n" {
		t.Errorf("%s, status %d, %q, %q", r.End, r.Code, r.Stdout, r.Stderr)
	}
	if took := time.Since(start); took > limits().Wall {
		t.Errorf("it took %v", took)
	}
	out, in, err := os.Pipe() // whose writer never goes
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer time.AfterFunc(time.Minute, func() { in.Close() }).Stop()
	Linger(out)
	if text, err := io.ReadAll(out); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, error %v, want one of the deadline", text, err)
	}
	out.Close()
	Linger(out)
	var given passed
	var text bytes.Buffer
	rest, err := given.collect(&text)
	if err != nil {
		t.Fatal(err)
	}
	defer given.start()
	defer time.AfterFunc(time.Minute, func() { closeAll(given.theirs) }).Stop()
	if _, err := given.theirs[0].WriteString("text"); err != nil {
		t.Fatal(err)
	}
	rest()
	if text.String() != "text" {
		t.Errorf("%q, want text", &text)
	}
}

// TestRefusals checks that without bubblewrap, or with one that fails, there is no
// sandbox.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	var refusal *Refusal
	if _, err := New(context.Background()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("error %v, want a refusal that says how to get bubblewrap", err)
	}
	// One that runs the program without a sandbox says nothing of it as it must.
	show(t, dir)
	for _, script := range []string{"#!/bin/sh\necho no namespaces >&2\nexit 1\n", "#!/bin/sh\nexit 0\n"} {
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := New(context.Background()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "user namespaces") {
			t.Errorf("error %v, want a refusal", err)
		}
	}
}

// TestGroups reads where cgroups are, by hand.
func TestGroups(t *testing.T) {
	root := t.TempDir()
	hand := filepath.Join(root, "user.slice", "app.slice")
	if err := os.MkdirAll(filepath.Join(hand, "shell.scope"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, text := range map[string]string{hand: "cpu memory pids\n", filepath.Join(hand, "shell.scope"): "\n"} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]groups{
		"0::/user.slice/app.slice/shell.scope\n": {[]string{hand}, true},
		"0::/user.slice\n":                       {},
		"8:pids:/\n4:memory,x:/a/b\n0::/\n":      {[]string{root + "/memory/a/b", root + "/pids"}, false},
		"4:memory:/a\n":                          {},
		"1:name=systemd:/\n":                     {},
		"nothing":                                {},
	} {
		if got := groupsOf(root, text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCgroupCannotBeMade(t *testing.T) {
	t.Parallel()
	s := box(t)
	s.groups = groups{[]string{filepath.Join(t.TempDir(), "none")}, true}
	if _, err := s.Run(context.Background(), Job{Args: []string{"/usr/bin/true"}, Limits: limits()}); err == nil {
		t.Error("no error, want one: limits that were promised are not kept")
	}
}
