//go:build !linux

package sandbox

import (
	"context"
	"runtime"
)

// A Sandbox runs jobs; there is none but on Linux.
type Sandbox struct{}

// New refuses.
func New(context.Context) (*Sandbox, error) {
	return nil, &Refusal{"bubblewrap needs Linux, and this is " + runtime.GOOS, "grade in a virtual machine or container with Linux"}
}

// Whole reports false.
func (*Sandbox) Whole() bool { return false }

// Run is never reached.
func (*Sandbox) Run(context.Context, Job) (Result, error) { panic("sandbox: no sandbox") }

// Find finds nothing.
func Find(string) (string, bool) { return "", false }
