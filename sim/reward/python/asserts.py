"""Runs a file of tests whose program is elsewhere.

The program runs in a sandbox of its own and answers calls (serve.py): it never
meets the tests, what they expect, or this interpreter, which nursery.py forks. A name that the tests use
and do not define is the program's. Its answers are read as plain values, and
anything else is a stand-in that knows calls, attributes, iteration and truth, and is
equal to itself alone. The tests come from stdin, requests go to descriptor 3, answers come from 4, and the report
goes to 5: {"tests": N}, for each {"kind": ..., "detail": ...}, then {"done": true}. What
fails before the tests is reported once, with "all": true.

The tests are the calls and the statements with asserts at the top level of the file
and then its functions test_... that need no arguments. Where none of them asked the
program for anything, the report ends in {"asked": false}.
"""
import ast
import builtins
import json
import os
import sys
import types
from _thread import RLock

from plain import pack, unpack

LONGEST = 16 << 20  # an answer, in characters


class ProgramError(Exception):
    """An exception of the program that Python itself does not have."""


class Lost(BaseException):
    """What no test may catch; run finds it where one has."""


class Gone(Lost):
    """The program has ended, or does not answer as it must."""


class Unsendable(Lost):
    """The tests hand the program what is no plain value."""


class Program:
    def __init__(self):
        self.requests = os.fdopen(3, "w", encoding="utf-8")
        self.answers = os.fdopen(4, encoding="utf-8")
        self.asked = False  # for something that it has
        self.lost = None  # what was raised, of Lost
        self.turn = RLock()  # tests may have threads
        self.answer()  # the program is loaded

    def answer(self):
        line = self.answers.readline(LONGEST)
        if not line.endswith("\n"):
            raise self.lose(Gone())
        return json.loads(line)

    def lose(self, error):
        """Keeps what is to be raised, which it returns. That the program is gone stays so."""
        if not isinstance(self.lost, Gone):
            self.lost = error
        return error

    def ask(self, request):
        with self.turn:
            return self.exchange(request)

    def exchange(self, request):
        try:
            self.requests.write(json.dumps(request) + "\n")
            self.requests.flush()
            answer = self.answer()
            if "value" in answer:
                return unpack(answer["value"], self.stand_in), answer
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.lose(Gone()) from None
        if "raise" in answer:
            name, text = answer["raise"]
            kind = getattr(builtins, str(name), None)
            if not (isinstance(kind, type) and issubclass(kind, Exception)) or kind is StopIteration:
                # StopIteration would end a map over tests as if it were through.
                kind, text = ProgramError, f"{name}: {text}"
            try:
                error = kind(str(text))
            except Exception:  # one that wants other arguments
                error = ProgramError(str(text))
            raise error
        return None, answer

    def stand_in(self, kind, value):
        if kind != "ref" or type(value) is not int:
            raise ValueError(kind)
        return StandIn(self, value)

    def call(self, what, args, kwargs):
        request = {"call": what, "args": [self.send(a) for a in args]}
        if kwargs:
            request["kwargs"] = {k: self.send(a) for k, a in kwargs.items()}
        value, answer = self.ask(request)
        after = answer.get("args")
        if isinstance(after, list) and len(after) == len(args):
            for old, new in zip(args, after):
                self.change(old, new)
        return value

    def send(self, value):
        def other(v):
            if isinstance(v, StandIn):
                return {"ref": v._ref}
            raise self.lose(Unsendable(type(v).__name__))

        return pack(value, other)

    def change(self, old, packed):
        """Makes an argument what the call has made of it."""
        if not isinstance(old, (list, dict, set)):
            return
        try:
            new = unpack(packed, self.stand_in)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.lose(Gone()) from None
        if type(new) is not type(old) or new == old:
            return
        if isinstance(old, list):
            old[:] = new
        else:
            old.clear()
            old.update(new)


class StandIn:
    """An object of the program's."""

    def __init__(self, program, ref):
        self._program, self._ref = program, ref

    def __call__(self, *args, **kwargs):
        return self._program.call(self._ref, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._program.ask({"attr": self._ref, "name": name})[0]

    def __iter__(self):
        return iter(self._program.ask({"list": self._ref})[0])

    def __bool__(self):
        return self._program.ask({"truth": self._ref})[0] is True


class Names(dict):
    """The globals of the tests; what is missing is the program's, but for what
    Python has: a program must not put its own len into the tests."""

    def __init__(self, program, builtin):
        super().__init__(__name__="tests")
        self.program = program
        self.builtin = builtin

    def __missing__(self, name):
        if name.startswith("__") or self.builtin and hasattr(builtins, name):
            raise KeyError(name)
        return self.own(name)

    def own(self, name):
        """Returns what the program calls by a name."""
        value, answer = self.program.ask({"get": name})
        if "value" in answer:
            self.program.asked = True
            self[name] = value
            return value
        if answer.get("module") and name in sys.stdlib_module_names:
            self[name] = __import__(name)
            return self[name]
        raise KeyError(name)


class Solution(types.ModuleType):
    """The program as a module, for tests that import it by the usual names."""

    def __init__(self, name, names):
        super().__init__(name)
        self._names = names
        self.__all__ = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._names[name] if name in self._names else self._names.own(name)
        except KeyError:
            raise AttributeError(name) from None


def steps(source):
    """Splits a file into its statements and whether each is a test."""
    for node in ast.parse(source, "tests.py").body:
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        code = compile(ast.Module([node], []), "tests.py", "exec")
        yield code, is_call or asserts(node), node


def asserts(node):
    """Tells whether a statement asserts when it runs, as a loop of asserts does."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return isinstance(node, ast.Assert) or any(asserts(n) for n in ast.iter_child_nodes(node))


def free_names(sources):
    """Returns the names that the tests use and neither make nor import."""
    used, made = set(), set()
    for node in (n for source in sources for n in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add(node.asname or node.name.split(".")[0])
    return used - made


def wants_nothing(function):
    a = function.args
    return len(a.defaults) >= len(a.args) + len(a.posonlyargs) and all(d is not None for d in a.kw_defaults)


def parts(suite):
    """Lists what is to be done, and whether each is a test."""
    todo = []
    for source in suite["setup"]:
        todo += [(code, False) for code, _, _ in steps(source)]
    for source in suite["tests"]:
        whole = list(steps(source))
        if len(suite["tests"]) > 1:  # each text is one test
            todo.append((compile(source, "tests.py", "exec"), True))
            continue
        todo += [(code, is_test) for code, is_test, _ in whole]
        todo += [
            (compile(node.name + "()", "tests.py", "exec"), True)
            for _, _, node in whole
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and wants_nothing(node)
        ]
    return todo


def main():
    report = os.fdopen(5, "w", encoding="utf-8")

    def say(**what):
        report.write(json.dumps(what) + "\n")
        report.flush()

    suite = json.load(sys.stdin)
    todo = parts(suite)
    say(tests=sum(is_test for _, is_test in todo))
    # A task may be to write sum: tests that use no other name than Python's are of it.
    names = Names(Program(), not free_names(suite["setup"] + suite["tests"]) <= set(dir(builtins)))
    for module in ("solution", "program"):
        sys.modules[module] = Solution(module, names)
    for code, is_test in todo:
        kind, detail = run(code, names)
        if is_test:
            say(kind=kind, detail=detail[:300])
        elif kind != "pass":
            say(kind=kind, detail="before the tests: " + detail[:300], all=True)
            break
        if kind != "pass" and suite["first"]:
            break
    say(done=True, asked=names.program.asked)


def run(code, names):
    """Runs a step, and returns its kind and a detail."""
    kind, detail = attempt(code, names)
    lost = names.program.lost
    if isinstance(lost, Gone):
        raise lost
    if lost:
        names.program.lost = None
        return "cannot tell", f"the tests hand the program an object of type {lost}"
    return kind, detail


def attempt(code, names):
    """Runs a step, and returns how it seems to have ended."""
    try:
        exec(code, names)
    except AssertionError as e:
        return "wrong", str(e) or "an assert does not hold"
    except Lost as e:
        return "error", type(e).__name__  # run knows better
    except ImportError as e:
        # One of the program's, sent over, has no name.
        untold = e.name and e.name not in ("solution", "program")
        return "cannot tell" if untold else "error", f"{type(e).__name__}: {e}"
    except Exception as e:
        return "error", f"{type(e).__name__}: {e}"
    return "pass", ""
