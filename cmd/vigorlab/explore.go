package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/explore"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

type exploreFlags struct {
	common
	port int
}

func newExplore(a *app) *cobra.Command {
	f := &exploreFlags{}
	cmd := &cobra.Command{
		Use:   "explore [--port N | --out DIR]",
		Short: "Open theory as a page with sliders, in the browser",
		Long: `explore serves a page on this machine alone, at the address that it prints, until
Ctrl-C. Its sliders move a population and VIGOR's schedule; it shows eta with
perfect and with noisy selection, the caps, progress and who gets the rollouts,
computed in the browser by the same code as vigorlab theory, and the command that
prints the same figures. Its address holds the view, to be kept or shared.

The theory is compiled for the browser at the start, which needs the go command and
the source that this program was built of. With --out the page is written as files,
which any web server serves and which need neither.`,
		Example: `  # the page as files, for any web server
  vigorlab explore --out site`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	f.whole(flags, &f.port, "port", 0, 65535, "serve on port `N` of 127.0.0.1; 0 is a free one")
	flags.Var(&textFlag{&f.out, "out", "a directory", &f.faults}, "out", "write the page into `DIR`, with run.json beside it, and serve nothing")
	flags.BoolVar(&f.force, "force", false, "replace what an earlier run wrote")
	flags.BoolVar(&f.quiet, "quiet", false, "nothing on standard error but errors")
	return cmd
}

func (f *exploreFlags) run(ctx context.Context, a *app) error {
	if f.out != "" && f.port != 0 {
		f.addf("--port is for a page that is served, --out writes it as files: want one of them")
	}
	if err := f.err(); err != nil {
		return err
	}
	if f.out != "" {
		return f.write(ctx, a)
	}
	return f.serve(ctx, a)
}

// write writes the page as a run directory.
func (f *exploreFlags) write(ctx context.Context, a *app) error {
	record, err := f.record(a, "explore", newCommandLine("explore"), output.Object{})
	if err != nil {
		return err
	}
	err = f.oneShot(record, func(d *rundir.Dir) error {
		files, err := f.build(ctx, a)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := d.Write(file.Name, file.Content); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return write(a.stdout, []byte(f.out+"\n"))
}

// serve serves the page until ctx ends.
func (f *exploreFlags) serve(ctx context.Context, a *app) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("--port %d: %w", f.port, err)
	}
	defer l.Close() // Serve closes it too
	files, err := f.build(ctx, a)
	if err != nil {
		return err
	}
	if err := write(a.stdout, []byte("http://"+l.Addr().String()+"/\n")); err != nil {
		return err
	}
	f.say(a, "serving until Ctrl-C")
	return explore.Serve(ctx, l, files)
}

// build compiles the page, which takes half a minute the first time.
func (f *exploreFlags) build(ctx context.Context, a *app) ([]explore.File, error) {
	f.say(a, "compiling the theory for the browser ...")
	files, err := explore.Build(ctx)
	if errors.Is(err, explore.ErrNoGo) {
		err = fmt.Errorf("%w; install Go (https://go.dev/dl), or serve what explore --out wrote elsewhere", err)
	}
	return files, err
}

// say prints a line to a terminal's user, unless --quiet.
func (f *exploreFlags) say(a *app, line string) {
	if !f.quiet && output.Terminal(a.stderr) {
		fmt.Fprintf(a.stderr, "vigorlab: %s\n", line)
	}
}
