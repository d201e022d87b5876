package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vigorlab": main})
}

// TestScripts runs testdata/script: every command, and every error that a user
// can make.
func TestScripts(t *testing.T) {
	folder := sharedFolder(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("SHARED", folder)
			return nil
		},
		Condition: condition(folder),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"refused":   refused,
			"interrupt": interrupt,
			"blocked":   blocked,
			"killed":    killed,
			"taken":     taken,
			"smalldisk": smallDisk,
			"full":      full,

			"sweepkilled": sweepKilled,
			"sweepended":  sweepEnded,
			"partskilled": partsKilled,
			"fed":         fed,
		},
	})
}

// sharedFolder returns the absolute path of the folder of recorded tables, or
// "" where it is absent.
func sharedFolder(t *testing.T) string {
	path := os.Getenv("VIGORLAB_SHARED")
	if path == "" {
		path = filepath.Join("..", "..", "..", "shared")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "data")); err != nil {
		return ""
	}
	return path
}

// condition answers [shared], [mount] and [devfull]: what a script needs and a
// machine may lack. Where skipping is forbidden, lacking it is an error.
func condition(shared string) func(string) (bool, error) {
	return func(name string) (bool, error) {
		var ok bool
		switch name {
		case "shared":
			ok = shared != ""
		case "mount":
			ok = canMount()
		case "devfull":
			_, err := os.Stat("/dev/full")
			ok = err == nil
		default:
			return false, fmt.Errorf("unknown condition %q", name)
		}
		if !ok && os.Getenv("VIGORLAB_NO_SKIP") != "" {
			return false, fmt.Errorf("%s is not here, and VIGORLAB_NO_SKIP forbids skipping", name)
		}
		return ok, nil
	}
}

// canMount reports whether this process may mount a file system.
func canMount() bool {
	dir, err := os.MkdirTemp("", "vigorlab-mount")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if mount(dir, "64k") != nil {
		return false
	}
	return unmount(dir) == nil
}

func mount(dir, size string) error {
	return exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).Run()
}

func unmount(dir string) error { return exec.Command("umount", dir).Run() }

// exits runs a program and checks its exit code.
//
//	exits CODE PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := codeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// codeOf returns the exit code that a program's error tells.
func codeOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err == nil {
		return exitDone
	}
	if !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	return exit.ExitCode()
}

// refused runs vigorlab and checks that it refuses its input: exit code 2,
// nothing on standard output, complaints and hints alone on standard error,
// and no file more than before.
//
//	refused ARG...
func refused(ts *testscript.TestScript, _ bool, args []string) {
	before := files(ts)
	if got := codeOf(ts, ts.Exec("vigorlab", args...)); got != exitUsage {
		ts.Fatalf("exit code %d, want %d", got, exitUsage)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty: %q", out)
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "vigorlab: ") && !strings.HasPrefix(line, "hint: ") {
			ts.Fatalf("neither complaint nor hint: %q", line)
		}
	}
	if after := files(ts); !slices.Equal(before, after) {
		ts.Fatalf("files changed from %q to %q", before, after)
	}
}

// files lists everything below the working directory of the script.
func files(ts *testscript.TestScript) []string {
	var names []string
	root := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// interrupt starts vigorlab, waits until its run directory is being written, or
// until it reads a named pipe that nobody fills, sends SIGINT, and checks that
// the program ends in time with exit code 130.
//
//	interrupt DIR|PIPE ARG...
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: interrupt DIR|PIPE ARG...")
	}
	var pipe *os.File
	defer func() { pipe.Close() }()
	endInTime(ts, func() *exec.Cmd {
		cmd := start(ts, nil, args[1:])
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			pipe.Close() // of a try before
			pipe = waitForReader(ts, args[0])
		} else {
			waitForRun(ts, args[0], "running")
			time.Sleep(100 * time.Millisecond) // into the computation
		}
		return cmd
	})
}

// blocked starts vigorlab with a standard output that nobody reads and is full,
// waits until its run directory is complete, sends SIGINT, and checks that the
// program ends in time with exit code 130.
//
//	blocked DIR ARG...
func blocked(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: blocked DIR ARG...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	defer r.Close()
	defer w.Close()
	fill(ts, w)
	endInTime(ts, func() *exec.Cmd {
		ts.Check(os.RemoveAll(ts.MkAbs(args[0])))
		cmd := start(ts, w, args[1:])
		waitForRun(ts, args[0], "complete")
		time.Sleep(100 * time.Millisecond) // into printing
		return cmd
	})
}

// fill writes into a pipe, which does not block, until it is full.
func fill(ts *testscript.TestScript, pipe *os.File) {
	conn, err := pipe.SyscallConn()
	ts.Check(err)
	ts.Check(conn.Write(func(fd uintptr) bool {
		for err = nil; err == nil || errors.Is(err, syscall.EINTR); {
			_, err = syscall.Write(int(fd), []byte{0})
		}
		return true
	}))
	if !errors.Is(err, syscall.EAGAIN) {
		ts.Fatalf("a pipe cannot be filled: %v", err)
	}
}

// killed starts vigorlab and kills it as soon as its journal has grown by a line, N
// times, and then lets it end, unless it did before it could be killed.
//
//	killed DIR N ARG...
func killed(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: killed DIR N ARG...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range n {
		before := linesIn(ts, args[0])
		cmd := start(ts, nil, args[2:])
		ended := end(cmd)
		waitFor(ts, "a line more in the journal of "+args[0], func() bool { return linesIn(ts, args[0]) > before || len(ended) > 0 })
		_ = cmd.Process.Kill() // it may have ended
		if <-ended == nil {
			return
		}
	}
	ts.Check(ts.Exec("vigorlab", args[2:]...))
}

// linesIn counts the lines of a run's journal.
func linesIn(ts *testscript.TestScript, dir string) int {
	content, err := os.ReadFile(filepath.Join(ts.MkAbs(dir), "journal"))
	if err != nil {
		return 0
	}
	return bytes.Count(content, []byte("\n"))
}

// taken starts vigorlab, puts a file where its run directory will be once that
// is being written, and checks that the program ends with exit code 2.
//
//	taken DIR ARG...
func taken(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: taken DIR ARG...")
	}
	cmd := start(ts, nil, args[1:])
	waitForRun(ts, args[0], "running")
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o777))
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "thesis.tex"), nil, 0o666))
	if code := codeOf(ts, cmd.Wait()); code != exitUsage {
		ts.Fatalf("exit code %d, want %d; standard error: %s", code, exitUsage, cmd.Stderr)
	}
}

// hearInterrupts lets programs that a test starts hear Ctrl-C, also where this process
// ignores it, as in the background of a shell: they would inherit that.
func hearInterrupts() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}

// start starts vigorlab with the given standard output.
func start(ts *testscript.TestScript, stdout *os.File, args []string) *exec.Cmd {
	hearInterrupts()
	cmd := exec.Command("vigorlab", args...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), new(bytes.Buffer)
	if stdout != nil {
		cmd.Stdout = stdout
	}
	ts.Check(cmd.Start())
	return cmd
}

// end waits for a program in the background, and tells its error once.
func end(cmd *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}

// endInTime sends SIGINT to a program that begin has brought to some place, and checks
// that it ends with exit code 130 and in time. What came in between once may not come
// again: one of three tries must be in time.
func endInTime(ts *testscript.TestScript, begin func() *exec.Cmd) {
	var took, most time.Duration
	for range 3 {
		cmd := begin()
		sent := time.Now()
		ts.Check(cmd.Process.Signal(syscall.SIGINT))
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // Wait says so
		code := codeOf(ts, cmd.Wait())
		took = time.Since(sent)
		late.Stop()
		if code != exitInterrupted {
			ts.Fatalf("exit code %d, want %d; standard error: %s", code, exitInterrupted, cmd.Stderr)
		}
		var err error
		most, err = longestEnd(took)
		ts.Check(err)
		if took <= most {
			return
		}
	}
	ts.Fatalf("ended %v after the interrupt, want at most %v", took, most)
}

// longestEnd returns how long a program that took so long may take to end by a signal: a
// second, or, on a machine that is so slow or busy, ten times what `vigorlab version`
// takes.
func longestEnd(took time.Duration) (time.Duration, error) {
	if took <= time.Second {
		return time.Second, nil
	}
	begun := time.Now()
	err := exec.Command("vigorlab", "version").Run()
	return max(time.Second, 10*time.Since(begun)), err
}

// waitForReader waits until a named pipe is read and returns its other end.
func waitForReader(ts *testscript.TestScript, name string) *os.File {
	var pipe *os.File
	waitFor(ts, "a reader of "+name, func() (open bool) {
		f, err := os.OpenFile(ts.MkAbs(name), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		pipe = f
		return err == nil
	})
	return pipe
}

// waitForRun waits until the run.json of a run of the given status stands in
// dir or in a temporary directory that will become it.
func waitForRun(ts *testscript.TestScript, dir, status string) {
	pattern := []string{
		filepath.Join(ts.MkAbs(dir), "run.json"),
		filepath.Join(filepath.Dir(ts.MkAbs(dir)), "."+filepath.Base(dir)+".tmp-*", "run.json"),
	}
	waitFor(ts, "a run in "+dir+" that is "+status, func() bool {
		return slices.ContainsFunc(pattern, func(p string) bool { return hasStatus(p, status) })
	})
}

func hasStatus(pattern, status string) bool {
	found, _ := filepath.Glob(pattern) // of a sound pattern
	return slices.ContainsFunc(found, func(path string) bool {
		content, err := os.ReadFile(path)
		return err == nil && bytes.Contains(content, []byte(`"status": "`+status+`"`))
	})
}

// smallDisk mounts a file system of SIZE at DIR until the script ends.
//
//	smalldisk DIR SIZE
func smallDisk(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: smalldisk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(mount(dir, args[1]))
	ts.Defer(func() { ts.Check(unmount(dir)) })
}

// full runs vigorlab with /dev/full as its standard output and checks that it
// fails with exit code 1.
//
//	full ARG...
func full(ts *testscript.TestScript, _ bool, args []string) {
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	defer device.Close()
	cmd := exec.Command("vigorlab", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), device, &stderr
	if code := codeOf(ts, cmd.Run()); code != exitFailed || !strings.Contains(stderr.String(), "no space left") {
		ts.Fatalf("exit code %d with %q, want %d for a full disk", code, &stderr, exitFailed)
	}
}
