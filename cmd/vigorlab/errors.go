package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/cmd/vigorlab/internal/slurm"
)

// The exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// A usageError is bad usage or bad input: every fault of it at once, and hints.
type usageError struct{ faults }

func (e *usageError) Error() string { return errors.Join(e.errs...).Error() }

func (e *usageError) Unwrap() []error { return e.errs }

// A faults collects what is wrong with a command line.
type faults struct {
	errs  []error
	hints []string
}

// add records err, each of its joined parts, under what the user typed:
// "--population".
func (f *faults) add(subject string, err error) {
	for _, e := range flatten(err) {
		f.errs = append(f.errs, fmt.Errorf("%s %w", subject, e))
	}
}

// addf records a fault of a flag.
func (f *faults) addf(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// hint records advice, once.
func (f *faults) hint(text string) {
	for _, h := range f.hints {
		if h == text {
			return
		}
	}
	f.hints = append(f.hints, text)
}

// err returns a usageError, or nil where nothing is wrong.
func (f *faults) err() error {
	if len(f.errs) == 0 {
		return nil
	}
	return &usageError{*f}
}

// usagef returns a usageError of one fault with a hint, which may be empty.
func usagef(hint, format string, args ...any) error {
	f := faults{}
	f.addf(format, args...)
	if hint != "" {
		f.hint(hint)
	}
	return f.err()
}

// flatten returns the parts of joined errors; none for nil.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var parts []error
	for _, e := range joined.Unwrap() {
		parts = append(parts, flatten(e)...)
	}
	return parts
}

// A stoppedError is an interrupt, or a failure, that left a run in a directory which the
// same command goes on with.
type stoppedError struct {
	err  error
	out  string
	what string // that out keeps
}

func (e *stoppedError) Error() string   { return e.err.Error() }
func (e *stoppedError) Unwrap() []error { return []error{e.err} }

// exitCode prints an error with its hints and returns the exit code.
func exitCode(stderr io.Writer, err error) int {
	var usage *usageError
	var conflict *rundir.ConflictError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		others := slices.DeleteFunc(flatten(err), func(e error) bool { return errors.Is(e, context.Canceled) })
		complain(stderr, append(others, errors.New("interrupted")), goOn(err))
		return exitInterrupted
	case errors.As(err, &usage):
		complain(stderr, usage.errs, usage.hints)
		return exitUsage
	case errors.As(err, &conflict):
		complain(stderr, []error{fmt.Errorf("--out %w", conflict)}, []string{conflict.Hint})
		return exitUsage
	}
	complain(stderr, flatten(err), goOn(err))
	return exitFailed
}

// goOn returns what a cluster's command, or the end of a task there, advises, and a hint how
// to go on where a run directory keeps what is finished.
func goOn(err error) []string {
	f := &faults{}
	for _, e := range flatten(err) {
		var command *slurm.CommandError
		var end *slurm.EndError
		switch {
		case errors.As(e, &command) && command.Hint != "":
			f.hint(command.Hint)
		case errors.As(e, &end) && end.Hint != "":
			f.hint(end.Hint)
		}
	}
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		f.hint("give the same command again to go on; " + stopped.out + " keeps " + stopped.what)
	}
	return f.hints
}

// complain prints every fault, then the hints.
func complain(stderr io.Writer, errs []error, hints []string) {
	for _, e := range errs {
		fmt.Fprintf(stderr, "vigorlab: %v\n", e)
	}
	for _, h := range hints {
		fmt.Fprintf(stderr, "hint: %s\n", h)
	}
}

// write prints the bytes of a result to stdout. Where the reader has closed it,
// as `| head` does, nothing is left to say, and that is no error.
func write(stdout io.Writer, content []byte) error {
	_, err := stdout.Write(content)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// await runs f and returns what it returns, or the cause at once where ctx is
// cancelled first: f then ends with the process. It is for work that cannot
// be interrupted.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
