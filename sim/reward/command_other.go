//go:build !unix

package reward

import "os/exec"

// separate does nothing where there are no process groups.
func separate(*exec.Cmd) {}

// killGroup kills a started command. That it is gone already is no error.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
