"""Begins an interpreter of ours that was started without site (-S), whose code in
.pth files can take longer than the rest of the start.

Its last argument are limits, and the first is Python's path with site.
"""
import sys
from _sitebuiltins import Quitter, _Helper
from builtins import __dict__ as names
from resource import setrlimit


class Site:
    """Finds what is there only after the code in .pth files."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        # copy and pickle look for org, which is of Jython.
        if name.partition(".")[0] in sys.stdlib_module_names or name == "org":
            return None
        sys.meta_path.remove(Site)
        import site

        site.main()
        specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        return next((spec for spec in specs if spec is not None), None)


def start():
    for limit in sys.argv.pop().split():
        number, soft, hard = map(int, limit.split(":"))
        setrlimit(number, (soft, hard))
    sys.path[1:] = sys.argv.pop(1).split(":")
    sys.meta_path.append(Site)
    names["exit"] = Quitter("exit", "Ctrl-D (i.e. EOF)")
    names["quit"] = Quitter("quit", "Ctrl-D (i.e. EOF)")
    names["help"] = _Helper()
