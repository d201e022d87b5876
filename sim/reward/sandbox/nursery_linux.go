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
	"strconv"
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
	control *net.UnixConn
	cancel  context.CancelCauseFunc
	group   group
	spent   bool
	ended   chan struct{}
	result  Result // of the sandbox, once it has ended
	err     error
}

// forever is longer than any run, and leaves room to round it up.
const forever = math.MaxInt64 / 2

// Nursery starts one, which ends with ctx or by Close. Its job has no pipes of its own:
// requests come on descriptor 3. Limits of time are those of its children.
func (s *Sandbox) Nursery(ctx context.Context, job Job) (*Nursery, error) {
	control, theirs, err := channel()
	if err != nil {
		return nil, err
	}
	job.Pipes, job.First, job.Limits.Wall, job.Limits.CPU = []*os.File{theirs}, true, forever, forever
	g, err := s.groups.make(job.Limits)
	if err != nil {
		return nil, errors.Join(err, control.Close(), theirs.Close())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n := &Nursery{control: control, cancel: cancel, group: g, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		defer g.remove()
		defer cancel(nil)
		n.result, n.err = s.runIn(ctx, g, job)
	}()
	return n, nil
}

// channel makes a socket for messages with descriptors, and its other end.
func channel() (*net.UnixConn, *os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "nursery"), os.NewFile(uintptr(ends[1]), "nursery")
	defer ours.Close() // FileConn makes its own
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("sandbox: %w", err), theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// Close ends the sandbox and what runs in it.
func (n *Nursery) Close() {
	n.cancel(nil)
	<-n.ended
	n.control.Close()
}

// Spent reports that the nursery must not be asked for another child: one was killed
// or left something, or the nursery has ended.
func (n *Nursery) Spent() bool {
	select {
	case <-n.ended:
		return true
	default:
		return n.spent
	}
}

// Run forks a child and runs it to its end, with pipes as its descriptors from 3 on, which
// it closes. Of limits, those of time and of output are the child's.
func (n *Nursery) Run(ctx context.Context, stdin []byte, pipes []*os.File, l Limits) (r Result, err error) {
	defer closeAll(pipes)
	n.spent = true // until it is known better
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(l.Wall, func() { cancel(errWall) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { n.cancel(context.Cause(ctx)) })

	var given passed
	defer given.start()
	if _, err := given.data(stdin); err != nil {
		return r, err
	}
	texts := [2]capped{{most: l.Output, full: cancel}, {most: l.Output, full: cancel}} // stdout and stderr
	read, err := given.collect(&texts[0], &texts[1])
	if err != nil {
		return r, err
	}
	given.theirs = append(given.theirs, pipes...)
	r, err = n.ask(&given, seconds(l.CPU))
	read()
	if !stop() { // the sandbox has ended, or will
		n.spent = true
	}
	r.Stdout, r.Stderr = texts[0].text.Bytes(), texts[1].text.Bytes()
	return r, err
}

// collect adds pipes that the command writes to, each of whose text goes to a writer.
// When the command has ended, the returned function waits for the rest.
func (p *passed) collect(to ...io.Writer) (rest func(), err error) {
	var read sync.WaitGroup
	var outs []*os.File
	for _, w := range to {
		out, err := p.reader()
		if err != nil {
			closeAll(outs)
			return nil, err
		}
		outs = append(outs, out)
		read.Go(func() {
			_, _ = io.Copy(w, out) // of one that is full, the writer says so
			out.Close()
		})
	}
	return func() {
		for _, out := range outs {
			Linger(out)
		}
		read.Wait()
	}, nil
}

// ask hands over what a child is given, and waits for its end or that of the sandbox.
func (n *Nursery) ask(given *passed, cpu int64) (r Result, err error) {
	var fds []int
	for _, f := range given.theirs {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err = n.control.WriteMsgUnix(strconv.AppendInt(nil, cpu, 10), unix.UnixRights(fds...), nil)
	given.start()
	answer := make([]byte, 64)
	size := 0
	if err == nil {
		size, err = n.control.Read(answer)
	}
	var clean int
	if _, torn := fmt.Sscanf(string(answer[:size]), "%d %d", &r.Code, &clean); err != nil || torn != nil {
		<-n.ended // by itself, or with the wall clock
		if n.err == nil && n.result.End == Exited {
			return r, fmt.Errorf("sandbox: a nursery ended with status %d: %s", n.result.Code, bytes.TrimSpace(n.result.Stderr))
		}
		return n.result, n.err
	}
	n.spent = r.Code < 0 || clean != 1 || n.group.exhausted()
	if r.Code < 0 {
		r.Code = 128 - r.Code
	}
	return r.ended(nil, n.group.exhausted(), &r.Code, nil)
}
