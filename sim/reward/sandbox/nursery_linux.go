package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Nursery is a sandbox whose first process waits, and forks one for every child
// that is asked for: those who need not be kept from each other's kernel objects
// share its start. The first process is trusted, and must keep itself out of its
// children's reach, end what a child leaves, and say whether anything of it is left
// (python/nursery.py in sim/reward does). It serves one child at a time.
type Nursery struct {
	control  *net.UnixConn
	cancel   context.CancelCauseFunc
	ended    chan struct{}
	result   Result // of the sandbox, once it has ended
	err      error
	children int
	spent    bool
}

// mostChildren bounds those of a nursery, whose limit of CPU is for all of its own work.
const mostChildren = 100

// Nursery starts one, which ends with ctx or by Close. Its job has no pipes of its own:
// requests come on descriptor 3.
func (s *Sandbox) Nursery(ctx context.Context, job Job) (*Nursery, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("sandbox: socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "nursery"), os.NewFile(uintptr(ends[1]), "nursery")
	defer ours.Close() // FileConn makes its own
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: %w", err), theirs.Close())
	}
	n := &Nursery{control: conn.(*net.UnixConn), ended: make(chan struct{})}
	ctx, n.cancel = context.WithCancelCause(ctx)
	job.Pipes, job.First, job.Limits.Wall = []*os.File{theirs}, true, math.MaxInt64
	go func() {
		defer close(n.ended)
		n.result, n.err = s.Run(ctx, job)
		n.cancel(nil)
	}()
	return n, nil
}

// Close ends the sandbox and what runs in it.
func (n *Nursery) Close() {
	n.cancel(nil)
	<-n.ended
	n.control.Close()
}

// Spent reports that the nursery must not be asked for another child: one was killed
// or left something, there were many, or the nursery has ended.
func (n *Nursery) Spent() bool {
	select {
	case <-n.ended:
		return true
	default:
		return n.spent || n.children >= mostChildren
	}
}

// Run forks a child and runs it to its end, with pipes as its descriptors from 3 on, which
// it closes. Of limits, those of the wall clock and of output are the child's.
func (n *Nursery) Run(ctx context.Context, stdin []byte, pipes []*os.File, l Limits) (r Result, err error) {
	n.children++
	n.spent = true // until it is known better
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var given passed
	defer given.start()
	in, err := given.writer()
	if err != nil {
		return r, errors.Join(err, closeAll(pipes))
	}
	given.writes = append(given.writes, func() {
		_, _ = in.Write(stdin) // a child that has ended reads no more
		in.Close()
	})
	var read sync.WaitGroup
	var texts [2]capped // stdout and stderr
	for i := range texts {
		out, err := given.reader()
		if err != nil {
			return r, errors.Join(err, closeAll(pipes))
		}
		texts[i] = capped{most: l.Output, full: cancel}
		read.Add(1)
		given.writes = append(given.writes, func() {
			defer read.Done()
			_, _ = io.Copy(&texts[i], out) // of one that is full, cancel says so
			out.Close()
		})
	}
	given.theirs = append(given.theirs, pipes...)
	timer := time.AfterFunc(l.Wall, func() { cancel(errWall) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { n.cancel(context.Cause(ctx)) })
	r, err = n.ask(&given)
	read.Wait()  // all that could write has ended
	if !stop() { // and the sandbox has, or will
		n.spent = true
	}
	r.Stdout, r.Stderr = texts[0].text.Bytes(), texts[1].text.Bytes()
	return r, err
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// ask hands over what a child is given, and waits for its end or that of the sandbox.
func (n *Nursery) ask(given *passed) (r Result, err error) {
	var fds []int
	for _, f := range given.theirs {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err = n.control.WriteMsgUnix([]byte{'\n'}, unix.UnixRights(fds...), nil)
	given.start()
	answer := make([]byte, 64)
	size := 0
	if err == nil {
		size, err = n.control.Read(answer)
	}
	var clean int
	if _, torn := fmt.Sscanf(string(answer[:size]), "%d %d", &r.Code, &clean); err != nil || torn != nil {
		<-n.ended // by cancel, or by itself
		if n.err == nil && n.result.End == Exited {
			return r, fmt.Errorf("sandbox: a nursery ended with status %d: %s", n.result.Code, bytes.TrimSpace(n.result.Stderr))
		}
		return n.result, n.err
	}
	n.spent = r.Code < 0 || clean != 1
	if r.Code < 0 {
		r.Code = 128 - r.Code
	}
	r.End = endOf(r.Code)
	if r.Code == 128+sigKILL { // perhaps for its memory, of which the sandbox knows at its end
		_ = n.control.CloseWrite()
		if <-n.ended; n.err == nil && n.result.End == NoMemory {
			r.End = NoMemory
		}
	}
	return r, nil
}
