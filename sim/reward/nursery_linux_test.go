package reward

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"vigorlab/sim/reward/sandbox"
)

// tester makes a verifier that has one nursery at a time, or skips.
func tester(t *testing.T, spec string) *code {
	t.Helper()
	for program, pkg := range map[string]string{"bwrap": "bubblewrap", "python3": "python3"} {
		if _, ok := sandbox.Find(program); !ok {
			missing := "no " + program + ": apt-get install " + pkg
			if os.Getenv("VIGORLAB_NO_SKIP") != "" {
				t.Fatal(missing)
			}
			t.Skip(missing)
		}
	}
	v, err := readCode(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v.(*code)
}

// waiting is the nursery that waits for tests, or nil.
func (c *code) waiting() *sandbox.Nursery {
	select {
	case n := <-c.idle:
		c.idle <- n
		return n
	default:
		return nil
	}
}

// clean asserts that a file of tests is alone where it runs: no process but process 1
// and its own, no file, no descriptor but its own, no name of another's socket, limits
// and means as given, and in its memory nothing of another's tests.
const clean = `
import os, re, resource, socket
secret = b"secret-of-" + b"another"
found = False
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
    for line in maps:
        low, high, mode, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
        if mode.startswith("rw") and name not in ("[vvar]", "[vsyscall]"):
            mem.seek(int(low, 16))
            found = found or mem.read(int(high, 16) - int(low, 16)).count(secret + b"!") > 0
assert not found, "the memory of other tests"
assert sorted(p for p in os.listdir("/proc") if p.isdigit()) == sorted(["1", str(os.getpid())]), "other processes"
assert os.getppid() == 1
assert os.listdir("/tmp") == os.listdir("/dev/shm") == [], "files"
assert os.stat("/tmp").st_mode & 0o777 == 0o755
assert {int(n) for n in os.listdir("/proc/self/fd")} - set(range(6)) <= {6, 7}, os.listdir("/proc/self/fd")
try:
    socket.socket(socket.AF_UNIX).connect("\0left")
    assert False, "a socket"
except OSError: pass
assert resource.getrlimit(resource.RLIMIT_NPROC) == (33, 33)
assert resource.getrlimit(resource.RLIMIT_CPU) == (20, 21)
assert resource.getrlimit(resource.RLIMIT_AS) == (256 << 20, 256 << 20)
assert len(os.sched_getaffinity(0)) == len(os.sched_getaffinity(1)) == processors
assert os.getpriority(os.PRIO_PROCESS, 0) == os.getpriority(os.PRIO_PROCESS, 1) == nice
children = []
for _ in range(20):
    if (child := os.fork()) == 0:
        try: os.read(-1, 1) # a process
        except OSError: os._exit(0)
    children.append(child)
for child in children: os.waitpid(child, 0)
assert add(1, 2) == 3
`

// attempts begins files of tests that attack.
const attempts = `
import ctypes, os, resource, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
def refused(act):
    try:
        return act() == -1
    except OSError:
        return True
`

// TestNursery runs files of tests that attack what runs the tests of others: whatever
// they do, others are alone, and judged as they must be.
func TestNursery(t *testing.T) {
	t.Parallel()
	c := tester(t, "code:parallel=1,wall=60,cpu=20,memory=256")
	judge := func(t *testing.T, program, tests string) Grade {
		t.Helper()
		g, err := c.Verify(context.Background(), Item{Completion: "```python\n" + program + "\n```", Answer: tests})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	right, wrong := "def add(a, b): return a + b", "def add(a, b): return 9"
	honest := fmt.Sprintf("nice, processors = %d, %d\n", niceness(t), runtime.NumCPU()) + clean
	// before attacks, so that there is something to attack
	if g := judge(t, right, honest); g.Kind != Pass {
		t.Fatalf("%+v, want a pass", g)
	}
	for _, a := range []struct {
		name, tests string
		kind        Kind
		kept        bool // the nursery goes on
	}{
		{"signals", `
for number in range(1, 65):
    if number not in (32, 33): os.kill(1, number)
os.kill(os.getppid(), signal.SIGSTOP)
try: os.kill(0, signal.SIGCONT)
except OSError: pass`, Pass, true},
		{"all signals to all", `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    assert refused(lambda: os.kill(-1, number))`, Pass, true},
		{"memory", `
for path in ("/proc/1/mem", "/proc/1/task/1/mem", "/proc/self/../1/mem", "/proc/1/fd/3", "/proc/1/oom_score_adj", "/proc/1/autogroup"):
    assert refused(lambda: os.open(path, os.O_RDWR)), path
assert os.listdir("/proc/1") == []
number = {"x86_64": 274, "aarch64": 100}[os.uname().machine] # get_robust_list, for those who might trace it
assert refused(lambda: libc.syscall(number, 1, ctypes.byref(ctypes.c_long()), ctypes.byref(ctypes.c_long())))`, Pass, true},
		{"ptrace", "libc.ptrace(16, 1, 0, 0)", Sandbox, false},
		{"process_vm_writev", "libc.process_vm_writev(1, 0, 0, 0, 0, 0)", Sandbox, false},
		{"limits", `
assert refused(lambda: resource.prlimit(1, resource.RLIMIT_NPROC, (1, 1)))
assert refused(lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1)))
assert refused(lambda: resource.prlimit(1, resource.RLIMIT_AS))
assert refused(lambda: os.sched_setaffinity(1, {0}))
assert refused(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
assert refused(lambda: os.sched_setparam(1, os.sched_param(0)))
assert refused(lambda: libc.syscall({"x86_64": 314, "aarch64": 274}[os.uname().machine], 1, b"\x30\0\0\0" + bytes(44), 0))
for which, who in ((os.PRIO_PROCESS, 1), (os.PRIO_PGRP, 1), (os.PRIO_USER, 0), (os.PRIO_USER, os.getuid())):
    assert refused(lambda: os.setpriority(which, who, 19))
for which, who in ((1, 1), (2, 1), (3, 0)):
    assert refused(lambda: libc.syscall({"x86_64": 251, "aarch64": 30}[os.uname().machine], which, who, 3 << 13))
resource.prlimit(0, resource.RLIMIT_NOFILE, (64, 64)) # its own
os.setpriority(os.PRIO_PGRP, 0, 19)`, Pass, true},
		{"processes left", `
s = socket.socket(socket.AF_UNIX)
s.bind("\0left")
s.listen()
for _ in range(25):
    if os.fork() == 0:
        os.setsid()
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True:
            for fd in range(3, 9):
                try: os.write(fd, b'{"kind": "pass"}\n{"done": true, "asked": true}\n') if fd != 5 else time.sleep(1)
                except OSError: pass
            time.sleep(.1)`, "", true},
		{"a process above", `
if libc.syscall({"x86_64": 56, "aarch64": 220}[os.uname().machine], 0x8000 | 17, 0, 0, 0, 0) == 0: # CLONE_PARENT
    time.sleep(600)`, Pass, true},
		{"a file", `open("/tmp/left", "w").write("x")`, Pass, false},
		{"a file that was", "open('/tmp/left', 'w').close()\nos.remove('/tmp/left')", Pass, false},
		{"shared memory", `open("/dev/shm/left", "w").write("x" * (10 << 20))`, Pass, false},
		{"a folder's mode", `os.chmod("/tmp", 0)`, Pass, false},
		{"a secret", `kept = ["secret-of-" + "another" + "!" for _ in range(1000)] + ["".join(["secret-of-", "another", "!"])]`, Pass, true},
		{"much memory", "x = 'x' * (1 << 30)", Error, true},
		{"much memory of others", `
for _ in range(3):
    if os.fork() == 0:
        x = b"x" * (120 << 20)
        time.sleep(600)
os.wait()`, Pass, false},
		{"its end", "os._exit(0)", Error, true},
		{"its failure", "raise SystemExit(3)", Error, true},
		{"its death", "os.kill(os.getpid(), 9)", Error, false},
		{"ends held", `
import array
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2, 3, 4, 5, a.fileno(), b.fileno()]))])`, Pass, true},
		{"the channel", `
for fd in range(3, 128):
    if fd != 5:
        try: os.write(fd, b"0 1")
        except OSError: pass`, Error, true}, // nothing of it reaches process 1
	} {
		t.Run(a.name, func(t *testing.T) {
			if strings.HasSuffix(a.name, "of others") && !c.box.Whole() {
				t.Log("no cgroup may be written to: memory of all processes together is not bounded")
				return
			}
			before := c.waiting()
			if before == nil {
				judge(t, right, addOne)
				before = c.waiting()
			}
			g := judge(t, right, attempts+a.tests+"\nassert add(1, 2) == 3\n")
			if a.kind != "" && g.Kind != a.kind {
				t.Errorf("%+v, want %s", g, a.kind)
			}
			if kept := c.waiting() == before; kept != a.kept {
				t.Errorf("the nursery is kept: %v, want %v", kept, a.kept)
			}
			if g := judge(t, right, honest); g.Kind != Pass {
				t.Errorf("afterwards: %+v, want a pass", g)
			}
			if g := judge(t, wrong, addOne); g.Kind != Wrong {
				t.Errorf("afterwards, of a wrong program: %+v, want %s", g, Wrong)
			}
		})
	}
}

const addOne = "assert add(1, 2) == 3"

// niceness is that of this process, which what it starts has too.
func niceness(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	var nice int
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if err := json.Unmarshal([]byte(fields[16]), &nice); err != nil {
		t.Fatal(err)
	}
	return nice
}

// TestAsPython checks that a program cannot tell by what it writes, nor by how it
// ends, that a harness of ours started it in place of python3 itself.
func TestAsPython(t *testing.T) {
	t.Parallel()
	c := tester(t, "code:parallel=1,wall=60")
	for name, program := range map[string]string{
		"depth": `
import sys
def f(n):
    global deepest
    deepest = n
    f(n + 1)
try: f(1)
except RecursionError: print(deepest)
`,
		"names": `
print(__name__, __file__, sorted(n for n in globals() if n not in ("__cached__", "__annotations__")), type(__builtins__))
import sys
print(sys.argv, sys.path, hash("seed"), sys.stdin.encoding, sys.stdout.encoding, repr(exit), repr(quit), sys.stdin.read())
print(sys.dont_write_bytecode, sys.flags.utf8_mode, sys.flags.isolated, sys.flags.no_user_site)
x: int = 1
print(__annotations__)
`,
		"limits": `
import resource
print([(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith("RLIMIT_")])
import os
print(os.getppid(), sorted(os.listdir("/proc/self/fd")), sorted(os.environ.items()), os.getcwd(), os.listdir("/tmp"))
`,
		"imports": `
try: import no_such_module
except ImportError as e: print(e)
import sys
print(sys.path)
print("site" in sys.modules)
import copy, pickle, dataclasses, json, inspect, threading, __main__
class A: pass
print(type(pickle.loads(pickle.dumps(A()))) is A, __main__.A is A, inspect.getsource(A))
t = threading.Thread(target=lambda: print("in a thread"))
t.start()
`,
		"packages": `
try: import numpy; print(numpy.__file__)
except ImportError: print("none")
`,
		"processes": `
import multiprocessing, subprocess, sys
def f(x): return x * x
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as p: print(p.map(f, range(5)))
    print(subprocess.run([sys.executable, "-c", "exit(3)"]).returncode)
`,
		"end": `
import atexit, sys
class D:
    def __del__(self): print("deleted")
d = D()
atexit.register(print, "exit")
out = open(1, "w", closefd=False)
out.write("not flushed\n")
sys.stdout.write("nor this\n")
`,
		"exit":      "print(1)\nexit(7)",
		"exit text": "import sys\nsys.exit('a reason')",
		"raises":    "def f(): raise KeyError('x')\nf()",
		"interrupt": "raise KeyboardInterrupt",
		"abort":     "import os\nos.abort()",
		"latin":     "# -*- coding: latin-1 -*-\nprint(ascii('\xc3\xa9'))",
		"mark":      "\ufeffprint(1)\r\nprint(2)\r\n",
		"syntax":    "print(1)\nx = = 2",
		"indented":  "  print(1)",
		"future":    "from __future__ import annotations\ndef f(x: no_such): print(f.__annotations__)\nf(1)",
		"empty":     "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := c.program(program)
			plain := ours
			plain.Args, plain.Harness = []string{c.interpreter, "-s", "-B", sandbox.Box + "/program.py"}, false
			var got [2]sandbox.Result
			for i, job := range []sandbox.Job{plain, ours} {
				job.Stdin = []byte("text")
				var err error
				if got[i], err = c.box.Run(context.Background(), job); err != nil {
					t.Fatal(err)
				}
			}
			want, is := got[0], got[1]
			if is.End != want.End || is.Code != want.Code || string(is.Stdout) != string(want.Stdout) || lastLine(is.Stderr) != lastLine(want.Stderr) {
				t.Errorf("%s, status %d, %q, %q\nwant %s, status %d, %q, %q", is.End, is.Code, is.Stdout, is.Stderr, want.End, want.Code, want.Stdout, want.Stderr)
			}
		})
	}
}

// TestPythonTooOld: a Python that the harnesses cannot run on is refused with its
// version, before any program is judged wrong for it.
func TestPythonTooOld(t *testing.T) {
	t.Parallel()
	c := tester(t, "code:parallel=1")
	run := func(version string) string {
		files, err := sourceFiles()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(c.interpreter, "-c", "import sys\nsys.version_info = "+version+"\n"+string(files["prepare.py"]))
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: it does not fail", version)
		}
		return lastLine(out)
	}
	const want = "Python 3.9 is too old, want 3.10 or newer"
	if got := run("(3, 9, 2)"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := run("(3, 10, 0)"); strings.Contains(got, "too old") { // it goes on, to files that are not there
		t.Errorf("3.10 is refused: %q", got)
	}
	c.interpreter = "/usr/bin/false"
	if err := c.prepare(context.Background()); err == nil || !strings.Contains(err.Error(), "code: language = python, and /usr/bin/false cannot begin") {
		t.Errorf("error %v", err)
	}
}
