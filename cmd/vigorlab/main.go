// Command vigorlab checks theorems about rollout allocation and the methods
// that they describe, on synthetic prompts and on recorded outcomes. This package
// holds flags, calls and printing; it refuses to compute.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes one command line and returns the exit code. The first SIGINT,
// SIGTERM or SIGHUP (a lost terminal) cancels it, the second kills the process;
// those that nohup or a shell made it ignore stay ignored.
func run(args []string, stdout, stderr *os.File) int {
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough is told by EPIPE
	ends := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			ends = append(ends, s)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return execute(ctx, args, stdout, stderr)
}
