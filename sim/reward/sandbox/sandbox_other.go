//go:build !linux

package sandbox

import (
	"context"
	"os"
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

// Nursery is never reached.
func (*Sandbox) Nursery(context.Context, Job) (*Nursery, error) { panic("sandbox: no sandbox") }

// A Nursery is never made.
type Nursery struct{}

// Close does nothing.
func (*Nursery) Close() {}

// Spent reports true.
func (*Nursery) Spent() bool { return true }

// Run is never reached.
func (*Nursery) Run(context.Context, []byte, []*os.File, Limits) (Result, error) {
	panic("sandbox: no sandbox")
}

// Find finds nothing.
func Find(string) (string, bool) { return "", false }
