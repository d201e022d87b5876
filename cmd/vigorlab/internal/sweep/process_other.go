//go:build !linux

package sweep

import (
	"os"
	"os/exec"
)

// runAlone runs a process.
func runAlone(cmd *exec.Cmd) error { return cmd.Run() }

func terminate(p *os.Process) error { return p.Signal(os.Interrupt) }
