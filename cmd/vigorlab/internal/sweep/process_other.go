//go:build !linux

package sweep

import (
	"os"
	"os/exec"
)

// runAlone runs a process. Where kill -9 ends this one, it goes on to its own end.
func runAlone(cmd *exec.Cmd) error { return cmd.Run() }

func terminate(p *os.Process) error { return p.Signal(os.Interrupt) }
