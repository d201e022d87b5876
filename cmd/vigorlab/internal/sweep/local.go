package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Local runs tasks on this machine, each in a process of its own.
type Local struct {
	Executable string
	Workers    int // tasks at once
}

var _ Engine = (*Local)(nil)

// attempts is how often a task, or a point, that a signal killed is begun.
const attempts = 3

// Run implements Engine. A task that fails, as on a full disk, keeps further ones from
// being begun; those that run go on.
func (l *Local) Run(ctx context.Context, tasks []Task) error {
	var group errgroup.Group
	var stop atomic.Bool
	group.SetLimit(l.Workers)
	errs := make([]error, len(tasks))
	for i, t := range tasks {
		group.Go(func() error {
			if ctx.Err() != nil || stop.Load() {
				return nil
			}
			if errs[i] = l.run(ctx, t); errs[i] != nil {
				stop.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are those of errs
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// run runs one task, again where a signal killed it.
func (l *Local) run(ctx context.Context, t Task) error {
	var err error
	for range attempts {
		var stderr bytes.Buffer
		cmd := process(ctx, l.Executable, t.Args())
		cmd.Stderr = &stderr
		err = runAlone(cmd)
		var exit *exec.ExitError
		if err == nil || ctx.Err() != nil || !errors.As(err, &exit) {
			return err
		}
		err = fmt.Errorf("shard %04d: %s", t.Shard, strings.TrimPrefix(reason(stderr.String(), exit), fmt.Sprintf("shard %04d: ", t.Shard)))
		if exit.ExitCode() >= 0 {
			return err
		}
	}
	return err
}
