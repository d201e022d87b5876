"""Loads the program of a model and answers calls to what it defines.

Requests are read from descriptor 3 and answers written to 4, a JSON object a line;
the first, when the program is loaded, is {"loaded": true}. It stands on the
program's side: whoever asks must take an answer for no more than what the program
claims, since the program can write answers too.

    {"get": NAME}                                        -> {"value": ...} | {"module": true} | {"missing": true}
    {"call": REF or NAME, "args": [...], "kwargs": {..}} -> {"value": ..., "args": [...]} | {"raise": [TYPE, TEXT]}
    {"attr": REF, "name": NAME}, {"list": REF}           -> the same
    {"truth": REF}                                       -> {"value": true or false}

A TYPE is one that Python has, the nearest to that of the exception. A REF stands for
an object that is no plain value. The args of an answer are those of the call
afterwards, for functions that change them.
"""
import _signal as signal  # which signal dresses, and takes long to
import builtins
import sys

from plain import pack, read, unpack, write
from start import start

Module = type(sys)

# What a program may name without importing it, as on the sites that its problem
# comes from.
FREE = {
    "typing": "Any Callable Counter DefaultDict Deque Dict FrozenSet Generator Iterable Iterator List NamedTuple Optional Set Tuple Union",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "functools": "cache cmp_to_key lru_cache reduce",
    "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "itertools": "accumulate chain combinations combinations_with_replacement count cycle groupby islice pairwise permutations product repeat zip_longest",
    "math": "ceil comb exp factorial floor gcd inf isqrt lcm log log2 log10 perm pi sqrt",
}
MODULES = "bisect collections copy datetime functools heapq itertools math operator random re statistics string sys".split()


def free(source):
    """Returns those names of FREE and MODULES that the source has."""
    names = {}
    for module in MODULES:
        if module in source:
            names[module] = __import__(module)
    for module, members in FREE.items():
        here = [m for m in members.split() if m in source]
        if here:
            held = __import__(module)
            names.update((m, getattr(held, m)) for m in here if hasattr(held, m))
    return names


class Server:
    def __init__(self, wall, cpu):
        self.limits = wall, cpu
        self.refs = []
        self.module = Module("program")
        sys.modules["program"] = self.module

    def arm(self):
        """Ends the process where the next call takes too long."""
        signal.setitimer(signal.ITIMER_REAL, self.limits[0])
        signal.setitimer(signal.ITIMER_PROF, self.limits[1])

    def load(self, path):
        with open(path, encoding="utf-8") as f:
            source = f.read()
        self.module.__dict__.update(free(source))
        try:
            exec(compile(source, "program.py", "exec"), self.module.__dict__)
        except SystemExit:
            pass  # at the end of a script that also defines functions

    def find(self, name):
        """Returns what a name means: a global, or a method of class Solution."""
        missing = object()
        found = getattr(self.module, name, missing)
        solution = getattr(self.module, "Solution", None)
        if isinstance(solution, type) and hasattr(solution, name):
            found = getattr(solution(), name)
        if found is missing:
            raise NameError(f"name {name!r} is not defined")
        return found

    def ref(self, value):
        self.refs.append(value)
        return {"ref": len(self.refs) - 1}

    def unref(self, kind, value):
        return self.refs[value]

    def answer(self, request):
        if "get" in request:
            try:
                value = self.find(request["get"])
            except NameError:
                return {"missing": True}
            if isinstance(value, Module):
                return {"module": True}
            return {"value": pack(value, self.ref)}
        if "attr" in request:
            return {"value": pack(getattr(self.refs[request["attr"]], request["name"]), self.ref)}
        if "list" in request:
            return {"value": pack(list(self.refs[request["list"]]), self.ref)}
        if "truth" in request:
            return {"value": bool(self.refs[request["truth"]])}
        what = request["call"]
        function = self.find(what) if isinstance(what, str) else self.refs[what]
        args = [unpack(a, self.unref) for a in request["args"]]
        kwargs = {k: unpack(a, self.unref) for k, a in request.get("kwargs", {}).items()}
        value = function(*args, **kwargs)
        return {"value": pack(value, self.ref), "args": [pack(a, self.ref) for a in args]}


def main():
    start()
    requests = open(3, encoding="utf-8")
    answers = open(4, "w", encoding="utf-8")
    server = Server(float(sys.argv[1]), float(sys.argv[2]))
    server.arm()
    server.load("/box/program.py")

    def say(answer):
        answers.write(write(answer) + "\n")
        answers.flush()

    say({"loaded": True})
    for line in requests:
        server.arm()
        try:
            answer = server.answer(read(line))
        except MemoryError:
            raise
        except Exception as e:
            names = [t.__name__ for t in type(e).__mro__ if getattr(builtins, t.__name__, None) is t]
            own = "" if type(e).__name__ == names[0] else f"{type(e).__name__}: "
            answer = {"raise": [names[0], f"{own}{e}"]}
        say(answer)


main()
