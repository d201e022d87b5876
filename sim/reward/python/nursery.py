"""Is process 1 of a sandbox, which forks a process for every file of tests.

Every message on descriptor 3 brings the descriptors that the process has, from 0 on, and
is the seconds of processor time that it may take; those of this one have no limit. When
it has ended, all others are killed, and the answer is its exit status (less than 0:
the signal that ended it) and whether /tmp and /dev/shm are as they were.

The process must not reach this one, which goes on. The kernel gives process 1 no
signal from inside that it has no handler for, and to one that is not dumpable nothing
that it allows only those who might trace it; the sandbox hides its /proc/1, and a filter
refuses to change its limits.
"""
import os
import sys
import traceback
from _ctypes import call_function, dlopen, dlsym
from _signal import SIG_DFL, SIGINT, SIGKILL, default_int_handler, signal
from array import array
from resource import RLIMIT_CPU, setrlimit
from socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket

import asserts
from start import start

MOST = 8  # descriptors that a process is given
FILES = 128  # that it may have
PR_SET_DUMPABLE = 4


def dumpable(yes):
    if call_function(dlsym(dlopen(None, 0), "prctl"), (PR_SET_DUMPABLE, yes, 0, 0, 0)) != 0:
        raise OSError("PR_SET_DUMPABLE")


def scratch():
    """Returns what changes with anything in /tmp and /dev/shm: the time of the last
    change, and the size, which counts entries."""
    return [(s.st_ctime_ns, s.st_size) for s in map(os.stat, ("/tmp", "/dev/shm"))]


def receive(control):
    """Returns a message and its descriptors, which are none at the end."""
    size = array("i").itemsize
    text, parts, _, _ = control.recvmsg(32, CMSG_SPACE(MOST * size))
    fds = array("i")
    for level, kind, data in parts:
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
            fds.frombytes(data[: len(data) - len(data) % size])
    return text, list(fds)


def become(fds, cpu):
    """Gives the descriptors the numbers from 0 on, and closes all others. They are
    in ascending order, and each is above the number that it gets."""
    for to, fd in enumerate(fds):
        os.dup2(fd, to)
    os.closerange(len(fds), FILES)
    os.setsid()  # whose signals and priorities are its own
    signal(SIGINT, default_int_handler)
    setrlimit(RLIMIT_CPU, (cpu, cpu + 1))
    dumpable(1)


def work(fds, cpu):
    """Runs a file of tests in the process that was forked for it."""
    code = 1
    try:
        become(fds, cpu)
        try:
            asserts.main()
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def reap(child):
    """Waits for the child and for what is left of others, and returns its status."""
    status = None
    while True:
        try:
            pid, ended = os.wait()
        except ChildProcessError:
            return status
        if pid == child:
            status = ended
            try:
                os.kill(-1, SIGKILL)  # all but this one
            except ProcessLookupError:
                pass


def main():
    start()
    signal(SIGINT, SIG_DFL)
    dumpable(0)
    control = socket(fileno=3)
    before = scratch()
    while True:
        text, fds = receive(control)
        if not text:
            return
        child = os.fork()
        if child == 0:
            work(fds, int(text))
        for fd in fds:
            os.close(fd)
        status = os.waitstatus_to_exitcode(reap(child))
        control.send(b"%d %d" % (status, scratch() == before))


main()
