package sweep

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// runAlone runs a process that a terminal's Ctrl-C does not reach, as it is told by
// this one, and that the system kills where this one ends, however it ends.
func runAlone(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the system watches the thread that starts it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
