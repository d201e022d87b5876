"""Runs the program of a model as python3 does."""
import builtins
import sys

from start import start

start()
with open("/box/program.py", "rb") as f:
    source = f.read()
main = type(sys)("__main__")
main.__file__ = "/box/program.py"
main.__builtins__ = builtins
sys.argv[0] = main.__file__
sys.modules["__main__"] = main
# What calls the program has no part in its depth: two modules, and before Python 3.12
# the two exec that run one in the other.
sys.setrecursionlimit(sys.getrecursionlimit() + (2 if sys.version_info >= (3, 12) else 4))
exec(compile(source, main.__file__, "exec", dont_inherit=True), main.__dict__)
