package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// killed are calls that no program under test needs: they reach for other
// processes, mounts, the kernel or the clock of the machine. They end the program.
var killed = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
}

// absent are calls that libraries try and do without: they fail as on a kernel
// that has not got them. io_uring goes round the filter, clone3 hides its flags
// from it, and the others hold memory that no limit of a process counts.
var absent = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET,
}

// meddling are calls that change how another process runs, where an argument, from 0 on,
// names process 1, or all processes of the user: they are refused. The kernel lets
// any process of the user make them, whatever else keeps process 1 out of reach.
var meddling = []struct{ call, argument, value uint32 }{
	{unix.SYS_PRLIMIT64, 0, 1},
	{unix.SYS_SCHED_SETAFFINITY, 0, 1},
	{unix.SYS_SCHED_SETSCHEDULER, 0, 1},
	{unix.SYS_SCHED_SETPARAM, 0, 1},
	{unix.SYS_SCHED_SETATTR, 0, 1},
	{unix.SYS_SETPRIORITY, 1, 1},
	{unix.SYS_SETPRIORITY, 0, unix.PRIO_USER},
	{unix.SYS_IOPRIO_SET, 1, 1},
	{unix.SYS_IOPRIO_SET, 0, ioprioWhoUser},
}

// ioprioWhoUser is the kernel's IOPRIO_WHO_USER.
const ioprioWhoUser = 3

// unavailable are the sockets of a network, which has nobody in it: they fail as on
// a kernel that has not got them, since what waits in TCP's buffers is memory that
// no limit counts, up to a tenth of the machine's. Of others than these and
// [unix.AF_UNIX], some are not of a network namespace, such as those to the host of
// a virtual machine, and any may load a module of the kernel; they end the program.
var unavailable = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// architectures maps Go's name of an architecture to the kernel's; both are little
// endian.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Offsets in what a filter looks at, struct seccomp_data.
const (
	atNumber       = 0
	atArchitecture = 4
	atArgument     = 16 // the low half of the first; the others follow, 8 bytes each
)

// newNamespaces are the flags of clone that make one.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// filter assembles the program of seccomp, as the kernel reads it: every
// instruction has a code, two jumps and a constant.
func filter() ([]byte, error) {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil, &Refusal{
			fmt.Sprintf("the filter of calls knows amd64 and arm64, and this is %s", runtime.GOARCH),
			"grade on one of those machines",
		}
	}
	var p []unix.SockFilter
	load := func(offset uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
	}
	// when skips the next instructions unless the comparison holds.
	when := func(comparison uint16, k uint32, next uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | comparison, Jf: next, K: k})
	}
	end := func(how uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: how}) }

	load(atArchitecture)
	when(unix.BPF_JEQ, architecture, 1)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1})
	end(unix.SECCOMP_RET_KILL_PROCESS)
	load(atNumber)
	const x32 = 0x40000000 // the other numbers of amd64
	when(unix.BPF_JGE, x32, 1)
	end(unix.SECCOMP_RET_KILL_PROCESS)
	for _, n := range killed {
		when(unix.BPF_JEQ, n, 1)
		end(unix.SECCOMP_RET_KILL_PROCESS)
	}
	for _, n := range absent {
		when(unix.BPF_JEQ, n, 1)
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	}
	for _, m := range meddling {
		when(unix.BPF_JEQ, m.call, 4)
		load(atArgument + 8*m.argument)
		when(unix.BPF_JEQ, m.value, 1)
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
		load(atNumber)
	}
	when(unix.BPF_JEQ, unix.SYS_CLONE, 4)
	load(atArgument)
	when(unix.BPF_JSET, newNamespaces, 1)
	end(unix.SECCOMP_RET_KILL_PROCESS)
	end(unix.SECCOMP_RET_ALLOW)
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		when(unix.BPF_JEQ, call, uint8(4+2*len(unavailable)))
		load(atArgument)
		for _, f := range unavailable {
			when(unix.BPF_JEQ, f, 1)
			end(unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT))
		}
		when(unix.BPF_JEQ, unix.AF_UNIX, 1)
		end(unix.SECCOMP_RET_ALLOW)
		end(unix.SECCOMP_RET_KILL_PROCESS)
	}
	end(unix.SECCOMP_RET_ALLOW)

	return binary.Append(nil, binary.LittleEndian, p)
}
