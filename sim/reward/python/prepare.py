"""Prepares what runs in sandboxes: prints Python's path, and the files of byte code
of every harness with its modules, which are compiled once instead of at every start.
"""
import json
import marshal
import sys
from base64 import b64encode
from importlib._bootstrap_external import _code_to_timestamp_pyc

if sys.version_info < (3, 10):  # start.py takes sys.stdlib_module_names
    sys.exit("Python %d.%d is too old, want 3.10 or newer" % sys.version_info[:2])

HARNESSES = {"run": ["start"], "serve": ["start", "plain"], "nursery": ["start", "plain", "asserts"]}


def compiled(name):
    with open(f"/box/{name}.py", "rb") as f:
        return compile(f.read(), f"/box/{name}.py", "exec")


def bundle(name, modules):
    """Returns a file of byte code that makes modules and then runs a harness."""
    codes = [(m, marshal.dumps(compiled(m))) for m in modules]
    source = f"""
import marshal, sys
for name, code in {codes!r}:
    module = sys.modules[name] = type(sys)(name)
    exec(marshal.loads(code), module.__dict__)
del name, code, module
exec(marshal.loads({marshal.dumps(compiled(name))!r}))
"""
    return _code_to_timestamp_pyc(compile(source, name, "exec"))


files = {name: b64encode(bundle(name, modules)).decode() for name, modules in HARNESSES.items()}
print(json.dumps({"path": sys.path[1:], "files": files}))
