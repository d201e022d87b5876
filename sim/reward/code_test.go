package reward_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vigorlab/sim/reward"
	"vigorlab/sim/reward/sandbox"
)

// needPrograms skips a test where programs that it needs are missing.
func needPrograms(t testing.TB, names ...string) {
	t.Helper()
	packages := map[string]string{"bwrap": "bubblewrap", "node": "nodejs"}
	for _, name := range append(names, "bwrap") {
		_, err := exec.LookPath(name)
		if _, ok := sandbox.Find(name); ok || name == "bwrap" && err == nil {
			continue
		}
		pkg := name
		if p := packages[name]; p != "" {
			pkg = p
		}
		missing := "no " + name + ": apt-get install " + pkg
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
}

// fenced is a completion as models write them.
func fenced(program string) string {
	return "Here it is.\n```python\n" + program + "\n```\nThis takes linear time.\n"
}

// A verdict is what a program must get, by the tests in an answer.
type verdict struct {
	name, program, answer string
	kind                  reward.Kind
	reward                float64
	detail                string // a part of it
}

// judgePrograms judges programs, a few at a time.
func judgePrograms(t *testing.T, spec string, verdicts []verdict) {
	t.Helper()
	v := parse(t, spec)
	t.Run("programs", func(t *testing.T) {
		for _, c := range verdicts {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				g := grade(t, v, reward.Item{Completion: c.program, Answer: c.answer})
				if g.Kind != c.kind || g.Reward != c.reward || !strings.Contains(g.Detail, c.detail) {
					t.Errorf("%+v, want %s, %v and %q in the detail", g, c.kind, c.reward, c.detail)
				}
			})
		}
	})
}

const (
	sums    = `{"inputs": ["1 2\n", "3 4\n", "-5 5\n"], "outputs": ["3\n", "7\n", "0\n"]}`
	adder   = "a, b = map(int, input().split())\nprint(a + b)"
	addCall = `{"fn_name": "add", "inputs": [[1, 2], [3, 4], [-5, 5]], "outputs": [3, 7, 0]}`
	addTest = `{"test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(-5, 5) == 0\n", "entry_point": "add"}`
	addList = `{"test_list": ["assert add(1, 2) == 3", "assert add(3, 4) == 7", "assert add(-5, 5) == 0"]}`
	adding  = "def add(a, b):\n    return a + b"
)

func TestCodeStdin(t *testing.T) {
	needPrograms(t, "python3")
	judgePrograms(t, "code:reward=share,parallel=2,wall=60", []verdict{
		{"right", fenced(adder), sums, reward.Pass, 1, "the last fenced block: 3 of 3 tests pass"},
		{"whole completion", adder, sums, reward.Pass, 1, "the whole completion"},
		{"second block counts", fenced("print(0)") + fenced(adder), sums, reward.Pass, 1, ""},
		{"no end of block", "```\n" + adder, sums, reward.Pass, 1, ""},
		{"some", fenced("a, b = map(int, input().split())\nprint(abs(a) + b)"), sums, reward.Partial, 2. / 3, `2 of 3 tests pass; the last fenced block: test 3: writes "10", want "0"`},
		{"none", fenced("print('?')"), sums, reward.Wrong, 0, `test 1: writes "?", want "3"`},
		{"no program", "I do not know.", sums, reward.Error, 0, "SyntaxError"},
		{"raises", fenced("raise KeyError(7)"), sums, reward.Error, 0, "KeyError: 7"},
		{"right and then raises", fenced(adder + "\n1/0"), sums, reward.Error, 0, "ZeroDivisionError"},
		{"exit status", fenced(adder + "\nexit(3)"), sums, reward.Error, 0, "exit status 3"},
		{"exit status 0", fenced(adder + "\nexit()"), sums, reward.Pass, 1, ""},
		{"main", fenced("if __name__ == '__main__':\n    print(sum(map(int, input().split())))"), sums, reward.Pass, 1, ""},
		{"other white space", fenced("print('', sum(map(int, input().split())), '')\nprint()"), sums, reward.Pass, 1, ""},
		{"another line", fenced(adder + "\nprint(1)"), sums, reward.Wrong, 0, "writes"},
		{"LiveCodeBench", fenced(adder), `[{"input": "1 2", "output": "3", "testtype": "stdin"}]`, reward.Pass, 1, "1 of 1"},
		{"CodeContests", fenced(adder), `{"public_tests": {"input": ["1 2"], "output": ["3"]}, "private_tests": {"input": [], "output": []}, "generated_tests": {"input": ["2 2"], "output": ["4"]}}`, reward.Pass, 1, "2 of 2"},
		{"floats", fenced("print(1/3)"), `{"inputs": [""], "outputs": ["0.33333"]}`, reward.Wrong, 0, ""},
		{"close floats", fenced("print(1/3)"), `{"inputs": [""], "outputs": ["0.33333333"]}`, reward.Pass, 1, ""},
		{"unicode", fenced("print(input()[::-1])"), `{"inputs": ["żółw é"], "outputs": ["é włóż"]}`, reward.Pass, 1, ""},
		{"no tests", fenced(adder), "42", reward.CannotTell, 0, "no tests that are known"},
		{"no answer", fenced(adder), "", reward.CannotTell, 0, "there are no tests"},
		{"other counts", fenced(adder), `{"inputs": ["1"], "outputs": []}`, reward.CannotTell, 0, "1 inputs and 0 outputs"},
	})
}

func TestCodeCalls(t *testing.T) {
	needPrograms(t, "python3")
	one := func(function, args, want string) string {
		return `{"fn_name": "` + function + `", "inputs": [` + args + `], "outputs": [` + want + `]}`
	}
	judgePrograms(t, "code:reward=share,parallel=2,wall=60", []verdict{
		{"right", fenced(adding), addCall, reward.Pass, 1, "3 of 3"},
		{"in a class", fenced("class Solution:\n    def add(self, a: int, b: int) -> Optional[int]:\n        return a + b"), addCall, reward.Pass, 1, ""},
		{"some", fenced("def add(a, b):\n    return abs(a) + b"), addCall, reward.Partial, 2. / 3, `test 3: add returns "10", want "0"`},
		{"one raises", fenced("def add(a, b):\n    return a + b if a > 0 else {}[a]"), addCall, reward.Partial, 2. / 3, `test 3: add raises "KeyError: -5"`},
		{"one ends it", fenced("import os\ndef add(a, b):\n    if a == 3: os._exit(0)\n    return a + b"), addCall, reward.Partial, 2. / 3, "test 2: ended before its tests did"},
		{"not defined", fenced("def sub(a, b): pass"), addCall, reward.Error, 0, "name 'add' is not defined"},
		{"does not load", fenced("def add(a, b)"), addCall, reward.Error, 0, "SyntaxError"},
		{"keeps the pipes", fenced("import array, socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1, 2, 4, a.fileno(), b.fileno()]))])\n" + adding), addCall, reward.Pass, 1, ""},
		{"prints too", fenced("print('hello')\n" + adding), addCall, reward.Pass, 1, ""},
		{"exits after definitions", fenced(adding + "\nraise SystemExit(1)"), addCall, reward.Pass, 1, ""},
		{"main does not run", fenced(adding + "\nif __name__ == '__main__':\n    1/0"), addCall, reward.Pass, 1, ""},
		{"tuple for list", fenced("def f(n): return (1, n)"), one("f", "[2]", "[1, 2]"), reward.Pass, 1, ""},
		{"APPS wraps", fenced("def f(n): return n"), one("f", "[2]", "[2]"), reward.Pass, 1, ""},
		{"dict", fenced("def f(d): return {k: v + 1 for k, v in d.items()}"), one("f", `[{"a": 1}]`, `{"a": 2}`), reward.Pass, 1, ""},
		{"dict of numbers", fenced("def f(n): return {n: 1}"), one("f", `[5]`, `{"5": 1}`), reward.Pass, 1, ""},
		{"set is no list", fenced("def f(n): return {n}"), one("f", `[5]`, `[5]`), reward.Wrong, 0, "set"},
		{"equal to everything", fenced("class E:\n    def __eq__(self, other): return True\ndef f(n): return E()"), one("f", "[2]", "3"), reward.Wrong, 0, "ref"},
		{"list equal to everything", fenced("class E(list):\n    def __eq__(self, other): return True\ndef f(n): return E()"), one("f", "[2]", "3"), reward.Wrong, 0, ""},
		{"not a number", fenced("def f(n): return float('nan')"), one("f", "[2]", "3"), reward.Wrong, 0, "nan"},
		{"true is 1", fenced("def f(n): return n == 2"), one("f", "[2]", "1"), reward.Pass, 1, ""},
		{"large", fenced("def f(n): return 7**n"), one("f", "[100]", "3234476509624757991344647769100216810857203198904625400933895331391691459636928060001"), reward.Pass, 1, ""},
		{"float", fenced("def f(n): return n/3"), one("f", "[1]", "0.333333333"), reward.Pass, 1, ""},
		{"LiveCodeBench", fenced("class Solution:\n    def f(self, xs: List[int], k: int) -> int:\n        return k * sum(xs)"), `[{"input": "[1, 2]\n3", "output": "9", "testtype": "functional", "metadata": {"func_name": "f"}}]`, reward.Pass, 1, ""},
	})
}

func TestCodeAsserts(t *testing.T) {
	needPrograms(t, "python3")
	file := "from solution import add\n\ndef test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert add(-5, 5) == 0, 'not zero'\n"
	judgePrograms(t, "code:reward=share,parallel=2,wall=60", []verdict{
		{"HumanEval", fenced(adding), addTest, reward.Pass, 1, "1 of 1"},
		{"HumanEval wrong", fenced("def add(a, b): return abs(a) + b"), addTest, reward.Wrong, 0, "an assert does not hold"},
		{"MBPP", fenced(adding), addList, reward.Pass, 1, "3 of 3"},
		{"MBPP some", fenced("def add(a, b): return abs(a) + b"), addList, reward.Partial, 2. / 3, "test 3: an assert does not hold"},
		{"a file", fenced(adding), file, reward.Pass, 1, "2 of 2"},
		{"a file, some", fenced("def add(a, b): return abs(a) + b"), file, reward.Partial, .5, "test 2: not zero"},
		{"plain asserts", fenced(adding), "x = add(1, 1)\nassert x == 2\nassert add(x, x) == 4\n", reward.Pass, 1, "2 of 2"},
		{"not defined", fenced("def sub(a, b): pass"), addList, reward.Error, 0, "NameError: name 'add' is not defined"},
		{"raises", fenced("def add(a, b): raise ValueError('no')"), addList, reward.Error, 0, "ValueError: no"},
		{"raises as it must", fenced("def f(): raise ValueError('no')"), "try:\n    f()\n    caught = False\nexcept ValueError:\n    caught = True\nassert caught", reward.Pass, 1, ""},
		{"changes its argument", fenced("def f(xs): xs.sort()"), "xs = [2, 1]\nf(xs)\nassert xs == [1, 2]", reward.Pass, 1, ""},
		{"generator", fenced("def f(n):\n    for i in range(n): yield i"), "assert list(f(3)) == [0, 1, 2]", reward.Pass, 1, ""},
		{"object", fenced("class Stack:\n    def __init__(self): self.xs = []\n    def push(self, x): self.xs.append(x)\n    def pop(self): return self.xs.pop()"), "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.xs == [1]", reward.Pass, 1, ""},
		{"plain values", fenced("def f(): return (1, {2}, {3: None}, 1j, b'x', float('inf'), True)"), "assert f() == (1, {2}, {3: None}, 1j, b'x', float('inf'), True) and type(f()) is tuple", reward.Pass, 1, ""},
		{"its modules", fenced("import math\ndef f(): return math.pi"), "assert math.isclose(f(), 3.14159, rel_tol=1e-4)", reward.Pass, 1, ""},
		{"names of Python", fenced("def f(): return []\ndef len(x): return 3"), "assert len(f()) == 3", reward.Wrong, 0, ""},
		{"a name of Python's", fenced("def sum(xs): return 3 if xs else 1"), `{"test_list": ["assert sum([1, 2]) == 3", "assert sum([]) == 0"]}`, reward.Partial, .5, "test 2"},
		{"a name of Python's, HumanEval", fenced("def sum(xs): return 9"), `{"test": "def check(candidate):\n    assert candidate([1, 2]) == 3\n", "entry_point": "sum"}`, reward.Wrong, 0, ""},
		{"a name of Python's, imported", fenced("def sum(xs): return 9"), "from solution import sum\nassert sum([1, 2]) == 3", reward.Wrong, 0, ""},
		{"tests that ask for nothing", fenced(adding), "assert 1 + 1 == 2", reward.CannotTell, 0, "ask the program for nothing"},
		{"asserts in a loop", fenced(adding), "for i in range(3):\n    assert add(i, 1) == i + 1\n", reward.Pass, 1, "1 of 1"},
		{"asserts in a loop, wrong", fenced("def add(a, b): return 1"), "for i in range(3):\n    assert add(i, 1) == i + 1\nassert add(0, 1) == 1", reward.Partial, .5, "test 1"},
		{"keywords", fenced("def f(a, *, b=1): return a - b"), "assert f(3, b=2) == 1", reward.Pass, 1, ""},
		{"a function as an argument", fenced("def f(g): return g(1)"), "assert f(lambda x: x) == 1", reward.CannotTell, 0, "hand the program an object of type function"},
		{"tests that are no Python", fenced(adding), "assert add(1, 2) = 3", reward.CannotTell, 0, "SyntaxError"},
		{"tests that spoil their report", fenced(adding), "import json\njson.dumps = lambda *a, **k: '{}'\nassert add(1, 2) == 3", reward.Error, 0, "ended before"},
		{"nothing to test", fenced(adding), "def test_x(fixture):\n    pass", reward.CannotTell, 0, "nothing to test"},
		{"tests without a module", fenced(adding), "import no_such_module\nassert add(1, 2) == 3", reward.CannotTell, 0, "No module named 'no_such_module'"},
		{"a program without a module", fenced("def add(a, b): import no_such_module"), addList, reward.Error, 0, "No module named 'no_such_module'"},
		{"not to be imported", fenced(adding), "from solution import sub\nassert sub(1, 2) == 3", reward.Error, 0, "before the tests: ImportError"},
		{"false object", fenced("from collections import deque\ndef f(): return deque()"), "assert f()", reward.Wrong, 0, "an assert does not hold"},
		{"not a false object", fenced("from collections import deque\ndef f(): return deque()"), "assert not f()\nassert f", reward.Pass, 1, "2 of 2"},
		{"tests with threads", fenced("def f(n):\n    for _ in range(100000): pass\n    return n"), "from concurrent.futures import ThreadPoolExecutor\nassert list(ThreadPoolExecutor(8).map(lambda n: f(n), range(64))) == list(range(64))", reward.Pass, 1, ""},
		{"before the tests", fenced("def f(): raise ValueError('no')"), "x = f()\nassert x == 1\nassert x == 2", reward.Error, 0, "before the tests: ValueError: no"},
	})
}

// TestCodePrompt checks completions that go on with their prompt, as HumanEval's do.
func TestCodePrompt(t *testing.T) {
	needPrograms(t, "python3")
	v := parse(t, "code:wall=60")
	g := grade(t, v, reward.Item{Prompt: "def add(a, b):\n    \"\"\"Adds.\"\"\"\n", Completion: "    return a + b\n", Answer: addTest})
	if g.Kind != reward.Pass || !strings.Contains(g.Detail, "prompt and completion") {
		t.Errorf("%+v, want a pass of prompt and completion", g)
	}
}

// TestCodeKinds checks that tests of another kind than asked for are not run, and
// that completions which were cut off are wrong or judged.
func TestCodeKinds(t *testing.T) {
	needPrograms(t, "python3")
	kinds := map[string]string{"stdin": sums, "calls": addCall, "assert": addTest}
	both := fenced(adding + "\nif __name__ == '__main__': print(add(*map(int, input().split())))")
	for kind := range kinds {
		v := parse(t, "code:wall=60,truncated=judge,tests="+kind)
		for of, answer := range kinds {
			want := reward.CannotTell
			if kind == of {
				want = reward.Pass
			}
			if g := grade(t, v, reward.Item{Completion: both, Answer: answer, Truncated: true}); g.Kind != want {
				t.Errorf("tests=%s of %s: %+v, want %s", kind, of, g, want)
			}
		}
	}
	if g := grade(t, parse(t, "code"), reward.Item{Completion: both, Answer: sums, Truncated: true}); g.Kind != reward.Wrong {
		t.Errorf("cut off: %+v, want %s", g, reward.Wrong)
	}
}

// TestCodeForged checks that a program cannot talk its way to a reward.
func TestCodeForged(t *testing.T) {
	needPrograms(t, "python3")
	shared := `
import os, sys, builtins, json, signal
def say(*texts):
    for text in texts:
        for fd in range(1, 9):
            try: os.write(fd, (text + "\n").encode())
            except OSError: pass
`
	var verdicts []verdict
	for _, f := range []struct {
		name, program string
		kind          reward.Kind
	}{
		{"ends early", "import os\nos._exit(0)", reward.Error},
		{"ends early in the call", "import os\ndef add(a, b): os._exit(0)", reward.Error},
		{"a report of tests", shared + `say('{"tests": 3}', '{"kind": "pass"}', '{"kind": "pass"}', '{"kind": "pass"}', '{"done": true, "asked": true}')` + "\nos._exit(0)", ""},
		{"a report and then definitions", shared + `say('{"tests": 1}', '{"kind": "pass"}', '{"done": true, "asked": true}')` + "\ndef add(a, b): return 9", ""},
		{"answers of its own", shared + `say(*['{"value": 3}'] * 9)` + "\nos._exit(0)", ""},
		{"files of reports", "for n in ('report.json', 'results.xml', 'junit.xml', '.report', 'tests.json'):\n    open('/tmp/' + n, 'w').write('{\"tests\": 1, \"passed\": 1, \"kind\": \"pass\", \"done\": true}')\ndef add(a, b): return 9", reward.Wrong},
		{"text on stdout", "print('3 passed in 0.01s')\nprint('OK')\ndef add(a, b): return 9", reward.Wrong},
		{"no asserts", "import builtins\nbuiltins.AssertionError = type('A', (BaseException,), {})\ndef add(a, b): return 9", reward.Wrong},
		{"other builtins", "import builtins\nbuiltins.len = builtins.abs = builtins.all = lambda *a: True\ndef add(a, b): return 9", ""},
		{"equal to everything", "class E:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\ndef add(a, b): return E()", reward.Wrong},
		{"number equal to everything", "class E(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\ndef add(a, b): return E(9)", reward.Wrong},
		{"looks for what is expected", `
import sys, gc, os, re
def add(a, b):
    texts = [repr(o) for o in gc.get_objects() if isinstance(o, (str, dict, list))]
    f = sys._getframe()
    while f:
        texts += [repr(f.f_locals), repr(f.f_globals)]
        f = f.f_back
    for root in ('/proc/self/environ', '/proc/self/cmdline', '/proc/1/cmdline', '/box/tests.json', '/box/asserts.py'):
        try: texts.append(open(root).read())
        except OSError: pass
    words = ('candidate', 'assert', 'wanted')
    return a + b if any(w + end in t for t in texts for w in words for end in ('(1, 2)', ' add(1, 2)', ': 3')) else 9`, reward.Wrong},
		{"changes the harness", "import sys\nm = sys.modules['__main__']\nm.pack = lambda v, o: True\nm.json.dumps = lambda v, **k: '{\"value\": true, \"kind\": \"pass\", \"done\": true}'\ndef add(a, b): return 9", ""},
		{"raises what asserts raise", "def add(a, b): raise AssertionError", ""},
		{"raises SystemExit", "def add(a, b): raise SystemExit(0)", reward.Error},
		{"raises a type to be found", "class Unsendable(BaseException): pass\nclass Gone(Exception): pass\ndef add(a, b): raise Gone", reward.Error},
		{"no answer at all", "import os\nos.close(4)\ndef add(a, b): return 3", reward.Error},
		{"an answer that is none", "import os\nos.write(4, b'[1]\\n{\\n')\ndef add(a, b): return 9", ""},
		{"a deep answer", "def add(a, b):\n    x = []\n    for _ in range(900): x = [x]\n    return x", ""},
	} {
		for _, tests := range []struct{ name, answer string }{{"calls", addCall}, {"HumanEval", addTest}} {
			verdicts = append(verdicts, verdict{f.name + ", " + tests.name, fenced(f.program), tests.answer, f.kind, 0, ""})
		}
	}
	v := parse(t, "code:wall=60,parallel=2")
	t.Run("programs", func(t *testing.T) {
		for _, c := range verdicts {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				g := grade(t, v, reward.Item{Completion: c.program, Answer: c.answer})
				if g.Reward != 0 || c.kind != "" && g.Kind != c.kind {
					t.Errorf("%+v, want no reward and %q", g, c.kind)
				}
			})
		}
	})
}

// TestCodeCaught checks that tests which catch whatever a program raises do not catch
// its end, its time, nor what cannot be sent to it.
func TestCodeCaught(t *testing.T) {
	needPrograms(t, "python3")
	raises := "def raises(*args):\n    try: add(*args)\n    except: return True\n    return False\nassert add(1, 2) == 3\n"
	judgePrograms(t, "code:wall=60,cpu=3,parallel=2", []verdict{
		{"raises", fenced(adding), raises + "assert raises(None, 1)", reward.Pass, 1, "2 of 2"},
		{"ends", fenced("import os\ndef add(a, b):\n    if a is None: os._exit(0)\n    return a + b"), raises + "assert raises(None, 1)", reward.Error, 0, "test 2: ended before"},
		{"loops", fenced("def add(a, b):\n    while a is None: pass\n    return a + b"), raises + "assert raises(None, 1)", reward.Time, 0, "test 2"},
		{"ends, in a thread", fenced("import os\ndef add(a, b): os._exit(0)"), "import threading\nt = threading.Thread(target=lambda: add(1, 2))\nt.start()\nt.join()\nassert not t.is_alive()", reward.Error, 0, "ended before"},
		{"ends, by finally", fenced("import os\ndef add(a, b): os._exit(0)"), "def wanted():\n    try: add(1, 2)\n    finally: return 3\nassert wanted() == 3", reward.Error, 0, "test 1"},
		{"ends, and is handed what cannot be sent", fenced("import os\ndef add(a, b):\n    if a is None: os._exit(0)\n    return a + b"), raises + "assert raises(None, 1) and raises(object(), 1)", reward.Error, 0, "test 2: ended before"},
		{"not to be sent", fenced("def add(a, b): return 3"), raises + "assert raises(object(), 1)", reward.CannotTell, 0, "object of type object"},
		{"ends a map", fenced("def add(a, b): raise StopIteration"), "assert all(map(lambda a: add(a, 1) == a + 1, range(9)))", reward.Error, 0, "StopIteration"},
	})
}

// TestCodeShareForged checks that answers written early win nothing either where
// single tests count: they are claims like others.
func TestCodeShareForged(t *testing.T) {
	needPrograms(t, "python3")
	program := "import os\nfor _ in range(3): os.write(4, b'{\"value\": 9}\\n')\ndef add(a, b): return a + b"
	g := grade(t, parse(t, "code:reward=share,wall=60"), reward.Item{Completion: fenced(program), Answer: addCall})
	if g.Reward != 0 || g.Kind != reward.Sandbox {
		t.Errorf("%+v, want no reward", g)
	}
}

// TestCodeHides has a program look for what is expected where it could be: in its memory,
// its files, its descriptors, its frames and its objects. One that found it would pass.
func TestCodeHides(t *testing.T) {
	needPrograms(t, "python3")
	// What it looks for is one less than after, so that it is nowhere by its own doing.
	seek := `
import gc, glob, re, sys
after = 7391826458
def is_there(text): return any(int(n) + 1 == after for n in re.findall(rb"[0-9]{10}", text))
def found():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
        for line in maps:
            low, high, mode, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
            if mode.startswith("rw") and name not in ("[vvar]", "[vsyscall]"):
                mem.seek(int(low, 16))
                if is_there(mem.read(int(high, 16) - int(low, 16))): return True
    for path in glob.glob("/box/*") + glob.glob("/tmp/*") + ["/proc/self/cmdline", "/proc/self/environ"]:
        if is_there(open(path, "rb").read()): return True
    objects, frame = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))], sys._getframe()
    while frame:
        objects.append(frame.f_locals)
        frame = frame.f_back
    return any(after - 1 in (o.values() if isinstance(o, dict) else o) for o in objects)
def add(a, b): return after - 1 if found() else 9
`
	const wanted = "7391826457"
	var verdicts []verdict
	for name, answer := range map[string]string{
		"calls":  `{"fn_name": "add", "inputs": [[1, 2]], "outputs": [` + wanted + `]}`,
		"assert": `{"test_list": ["assert add(1, 2) == ` + wanted + `"]}`,
		"stdin":  `{"inputs": ["1 2"], "outputs": ["` + wanted + `"]}`,
	} {
		program := seek
		if name == "stdin" {
			program += "text = sys.stdin.read()\nprint(add(1, 2))"
		}
		verdicts = append(verdicts, verdict{name, fenced(program), answer, reward.Wrong, 0, ""})
	}
	verdicts = append(verdicts, verdict{
		"a program that has it", fenced(seek + "text = str(after - 1)\nprint(add(1, 2))"),
		`{"inputs": [""], "outputs": ["` + wanted + `"]}`, reward.Pass, 1, "",
	})
	judgePrograms(t, "code:wall=60,cpu=20,parallel=2", verdicts)
}

func TestCodeLimits(t *testing.T) {
	needPrograms(t, "python3")
	loop, hoard := "while True: pass", "x = 'x' * (400 << 20)"
	manyCalls := `{"fn_name": "add", "inputs": [[0, 1]` + strings.Repeat(`, [1, 1]`, 29) + `], "outputs": [1` + strings.Repeat(`, 2`, 29) + `]}`
	judgePrograms(t, "code:wall=3,cpu=1,memory=128,parallel=2", []verdict{
		{"loop", fenced(loop), sums, reward.Time, 0, "longer than"},
		{"sleep", fenced("import time; time.sleep(60)"), sums, reward.Time, 0, ""},
		{"loop in a call", fenced("def add(a, b):\n    " + loop), addCall, reward.Time, 0, ""},
		{"loop in a test", fenced("def add(a, b):\n    " + loop), addTest, reward.Time, 0, ""},
		{"sleep in a test", fenced("import time\ndef add(a, b): time.sleep(60)"), addTest, reward.Time, 0, ""},
		// It would be done long before the time of all calls together is over.
		{"deaf in a call", fenced("import signal, time\nfor s in (signal.SIGALRM, signal.SIGPROF): signal.signal(s, signal.SIG_IGN)\ndef add(a, b):\n    time.sleep(30 if a == 0 else 0)\n    return a + b"), manyCalls, reward.Time, 0, ""},
	})
	// These do not wait for the clock, and a busy machine must not make it late.
	judgePrograms(t, "code:wall=60,cpu=20,memory=128,parallel=2", []verdict{
		{"memory", fenced(hoard), sums, reward.Memory, 0, "128 MiB"},
		{"memory in a call", fenced("def add(a, b):\n    " + hoard), addCall, reward.Memory, 0, ""},
		{"memory in a test", fenced("def add(a, b):\n    " + hoard), addTest, reward.Memory, 0, ""},
		{"output", fenced("while True: print('x' * 9999)"), sums, reward.Sandbox, 0, "writes more than"},
		{"answer", fenced("def add(a, b): return 'x' * (9 << 20)"), addCall, reward.Error, 0, ""},
		{"file", fenced("import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('x', 'w').write('x' * (20 << 20))"), sums, reward.Sandbox, 0, "a file of more than"},
		{"kernel", fenced("import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)"), sums, reward.Sandbox, 0, "forbids"},
		{"signal", fenced("import os\nos.kill(os.getpid(), 11)"), sums, reward.Error, 0, "segmentation fault"},
	})
}

// TestLanguages runs a program of every language, one that takes too much memory
// and one that fails.
func TestLanguages(t *testing.T) {
	for _, c := range []struct{ language, command, adds, fails, hoards, nine string }{
		{"python", "python3", adder, "1/0", "x = [0]\nwhile True: x += x", "print(9)"},
		{
			"javascript", "node", "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b)",
			"throw 1", "const x = []; while (true) x.push(new Array(1e5).fill(x.length))", "console.log(9)",
		},
		{"bash", "bash", "read a b; echo $((a + b))", "exit 1", "x=x; while :; do x=$x$x; done", "echo 9"},
	} {
		t.Run(c.language, func(t *testing.T) {
			needPrograms(t, c.command)
			calls, reason := reward.CannotTell, "of Python alone"
			if c.language == "python" {
				calls, reason = reward.Error, "SyntaxError"
			}
			judgePrograms(t, "code:wall=60,cpu=20,memory=256,parallel=2,language="+c.language, []verdict{
				{"right", fenced(c.adds), sums, reward.Pass, 1, "3 of 3"},
				{"wrong", fenced(c.nine), sums, reward.Wrong, 0, `writes "9", want "3"`},
				{"error", fenced(c.fails), sums, reward.Error, 0, "exit status 1"},
				{"memory", fenced(c.hoards), sums, reward.Memory, 0, "256 MiB"},
				{"calls", fenced("?"), addCall, calls, 0, reason},
			})
		})
	}
}

func TestCodeSpecs(t *testing.T) {
	needPrograms(t, "python3")
	want := "code:language=python,tests=auto,reward=pass,wall=10,cpu=5,memory=512,processes=32,tolerance=1e-06,parallel=0,truncated=wrong"
	for _, text := range []string{"code", want, "code:wall=10, language=python"} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s is normalised to %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"code:language=pyton":                "code: language = pyton, want one of python, javascript, bash (did you mean python?)",
		"code:tests=unit":                    "code: tests = unit, want one of auto, stdin, calls, assert",
		"code:wall=NaN":                      "code: wall = NaN, want [0.1, 3600]",
		"code:cpu=0.5":                       "code: cpu = 0.5, want [1, 3600]",
		"code:memory=1":                      "code: memory = 1, want a whole number in [32, 1048576]",
		"code:wal=1":                         "code: unknown parameter wal",
		"code:language=bash,tests=calls":     "code: tests = calls, want stdin or auto with language = bash",
		"code:tolerance=1,reward=half":       "code: reward = half, want one of pass, share",
		"code:tolerance=1.0,reward=pass":     "code: tolerance = 1.0, want [0, 1)",
		"code:processes=0,parallel=-1,cpu=5": "code: parallel = -1, want a whole number in [0, 4096]",
	} {
		if _, err := reward.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestCodeWithoutSandbox checks that nothing runs without bubblewrap.
func TestCodeWithoutSandbox(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := reward.Parse("code")
	var refusal *sandbox.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("error %v, want a refusal that says how to get bubblewrap", err)
	}
}

// TestCodeEnds checks that programs end with the context and with the verifier.
func TestCodeEnds(t *testing.T) {
	needPrograms(t, "python3")
	item := reward.Item{Completion: fenced("import time; time.sleep(600)"), Answer: sums}
	v := parse(t, "code:wall=600")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	verify := func(ctx context.Context) <-chan error {
		failed := make(chan error, 1)
		go func() {
			_, err := v.Verify(ctx, item)
			failed <- err
		}()
		return failed
	}
	failed := verify(ctx)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	failed = verify(context.Background())
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	for range 2 { // the one that ran, and one that came late
		if err := <-failed; !errors.Is(err, reward.ErrClosed) {
			t.Errorf("error %v, want %v", err, reward.ErrClosed)
		}
		failed = verify(context.Background())
	}
	<-failed
}

// BenchmarkCode says how many programs a second and core are judged by 1, 3 and 10
// tests, each beside a bare start of Python, since only what took turns can be compared.
// A program waits for nothing: its time is that of processors, of which most never
// comes back to this process, since bubblewrap leaves its process 1 to others to wait for.
func BenchmarkCode(b *testing.B) {
	needPrograms(b, "python3")
	v := parse(b, "code:wall=60")
	for _, kind := range []string{"stdin", "calls", "assert"} {
		for _, tests := range []int{1, 3, 10} {
			item := additions(kind, tests)
			b.Run(fmt.Sprintf("%s/tests=%d", kind, tests), func(b *testing.B) {
				var bare, judged atomic.Int64 // nanoseconds
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						start := time.Now()
						startPython(b)
						between := time.Now()
						if g := grade(b, v, item); g.Kind != reward.Pass {
							b.Error(g.Detail)
						}
						bare.Add(int64(between.Sub(start)))
						judged.Add(int64(time.Since(between)))
					}
				})
				starts, programs := float64(bare.Load())/float64(b.N), float64(judged.Load())/float64(b.N)
				b.ReportMetric(0, "ns/op") // of both together
				b.ReportMetric(1e9/programs, "programs/s/core")
				b.ReportMetric(1e9/starts, "bare/s/core")
				b.ReportMetric(programs/starts, "bare/program")
			})
		}
	}
}

// startPython starts Python with nothing to do.
func startPython(b *testing.B) {
	python, _ := sandbox.Find("python3")
	if err := exec.Command(python, "-s", "-B", "-c", "pass").Run(); err != nil {
		b.Error(err)
	}
}

// additions is a right program with some tests of a kind.
func additions(kind string, tests int) reward.Item {
	list := func(test string) string { return "[" + strings.Repeat(test+", ", tests-1) + test + "]" }
	switch kind {
	case "stdin":
		return reward.Item{Completion: fenced(adder), Answer: fmt.Sprintf(`{"inputs": %s, "outputs": %s}`, list(`"1 2"`), list(`"3"`))}
	case "calls":
		return reward.Item{Completion: fenced(adding), Answer: fmt.Sprintf(`{"fn_name": "add", "inputs": %s, "outputs": %s}`, list("[1, 2]"), list("3"))}
	}
	return reward.Item{Completion: fenced(adding), Answer: fmt.Sprintf(`{"test_list": %s}`, list(`"assert add(1, 2) == 3"`))}
}
