// Package sandbox runs programs that nobody vouches for, by bubblewrap: it holds
// their limits and how they end. It refuses to run anything without a sandbox, and
// to judge what a program wrote.
//
// A program sees a read-only /usr, an empty and private /tmp, /dev/shm and /proc,
// and the files of its job. It has no network and no sockets but between its own
// processes, no other process of the machine and no variable of the environment;
// namespaces of users, processes, mounts, IPC, names and cgroups are its own. It
// cannot gain privileges, and calls of the kernel that no program under test needs
// end it (the filter of seccomp). All of it ends with its first process, with the
// wall clock and with the process that asked.
//
// What that does not promise: the kernel is shared, so a fault of the kernel is a
// way out, and so may be timing; a program can tell the machine's kernel, processors,
// memory, time and what is installed under /usr; without a cgroup that may be written
// to, memory is bounded for each process and not for all together (see
// [Sandbox.Whole]); where the process that asked is killed in the instant of a start,
// the limit of CPU is what ends the program, or a process of bubblewrap is left that
// runs nothing and waits; limits of time are of a machine that may be busy with other
// work.
package sandbox

import (
	"fmt"
	"os"
	"time"
)

// Limits bound a program. All must be positive.
type Limits struct {
	Wall      time.Duration // from start to end
	CPU       time.Duration // of each process, rounded up to whole seconds
	Memory    int64         // bytes: of each process its address space, of all together where a cgroup allows
	Processes int           // threads count too
	File      int64         // bytes of each file written
	Scratch   int64         // bytes in /tmp, and again in /dev/shm
	Output    int64         // bytes of stdout, and again of stderr
}

// DefaultLimits are enough for the tests of usual data sets.
func DefaultLimits() Limits {
	return Limits{
		Wall: 10 * time.Second, CPU: 5 * time.Second, Memory: 512 << 20, Processes: 32,
		File: 16 << 20, Scratch: 64 << 20, Output: 4 << 20,
	}
}

// A Job is a program to run.
type Job struct {
	// Args is the command. Its first word is the path of a program under /usr.
	Args []string
	// Files are there for the program to read, by their names in Box.
	Files map[string][]byte
	Stdin []byte
	// Pipes are open to the program as descriptors 3, 4 and so on. Run closes them.
	Pipes []*os.File
	// Harness says that the command is ours up to where it runs what nobody vouches
	// for, and sets the limits before that: they are its last argument, each the
	// kernel's number of a resource, the soft and the hard limit ("0:5:6 7:128:128").
	// Of other commands prlimit sets them, which takes a start of its own.
	Harness bool
	// First says that the command is process 1 inside, which has to wait for orphans.
	First bool
	// Reserves says that the program reserves far more address space than it uses
	// (V8 does), so that Memory bounds its data in place of its address space.
	Reserves bool
	Limits   Limits
}

// Box is where a job's files are. The program starts in /tmp, which is its home.
const Box = "/box"

// An End says how a program ended.
type End string

// The ends.
const (
	Exited    End = "exited"    // by itself or by a signal: see Result.Code
	TimedOut  End = "timed out" // killed by the wall clock, or ended by the limit of CPU
	NoMemory  End = "no memory" // killed for the memory of all its processes together
	TooLong   End = "too long"  // killed for the length of its output
	Forbidden End = "forbidden" // ended by a call of the kernel that the filter forbids, or by the size of a file
)

// A Result is what became of a job.
type Result struct {
	End            End
	Code           int // the exit status; 128 and the signal of one that a signal ended
	Stdout, Stderr []byte
}

// Signals of Linux, the same on every architecture that the filter knows.
const (
	sigALRM = 14
	sigXCPU = 24
	sigXFSZ = 25
	sigPROF = 27
	sigSYS  = 31
)

// endOf reads an exit status. Programs may choose theirs, and so how they seem to
// have ended: none of the ends below is a success.
func endOf(code int) End {
	switch code - 128 {
	case sigALRM, sigXCPU, sigPROF:
		return TimedOut
	case sigXFSZ, sigSYS:
		return Forbidden
	}
	return Exited
}

// check refuses limits that are not positive.
func (l Limits) check() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"wall", int64(l.Wall)},
		{"cpu", int64(l.CPU)},
		{"memory", l.Memory},
		{"processes", int64(l.Processes)},
		{"file", l.File},
		{"scratch", l.Scratch},
		{"output", l.Output},
	} {
		if !(f.value > 0) {
			return fmt.Errorf("sandbox: limit %s = %d, want more than 0", f.name, f.value)
		}
	}
	return nil
}

// lingering is how long pipes are read whose writers have ended: the kernel may keep
// an end open that a program sent to itself over a socket.
const lingering = 5 * time.Second

// Linger bounds how long a pipe is read on whose writers have ended. One that is
// closed stays so.
func Linger(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(lingering)) }

// A Refusal says why there is no sandbox on this machine.
type Refusal struct {
	Why  string
	Hint string // what brings one
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("programs of models run in a sandbox or not at all, and there is none: %s: %s", r.Why, r.Hint)
}
