package rundir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/rundir"
)

func record(specs string) rundir.Record {
	return rundir.Record{
		Schema: 1, Version: "v", Command: "simulate", CommandLine: []string{"simulate"},
		Reproduce: "vigorlab simulate", Specs: json.RawMessage(specs), Seed: 1, Workers: 2,
	}
}

func create(t *testing.T, path string, force bool) *rundir.Dir {
	t.Helper()
	d, err := rundir.Create(path, record(`{"batch": 4}`), force)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var n []string
	for _, e := range entries {
		n = append(n, e.Name())
	}
	return strings.Join(n, " ")
}

func status(t *testing.T, path string) string {
	t.Helper()
	r, err := rundir.Read(path)
	must(t, err)
	return r.Status
}

func conflict(t *testing.T, err error, want string) {
	t.Helper()
	var c *rundir.ConflictError
	if !errors.As(err, &c) || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want a conflict with %q", err, want)
	}
}

func TestOneShotAppearsWhenComplete(t *testing.T) {
	root := t.TempDir()
	out := filepath.Join(root, "deep", "out")
	d := create(t, out, false)
	must(t, d.Write("figures/a.svg", []byte("svg")))
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("%s exists before the run is complete (%v)", out, err)
	}
	must(t, d.Complete())
	if got := names(t, filepath.Dir(out)); got != "out" {
		t.Errorf("beside the run stands %q", got)
	}
	r, err := rundir.Read(out)
	must(t, err)
	if r.Status != rundir.Complete || r.End == nil || r.End.Before(r.Start) || r.Go == "" || r.Machine.CPUs < 1 {
		t.Errorf("run.json = %+v", r)
	}
}

func TestCompleteRunNeedsForce(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d := create(t, out, false)
	must(t, d.Write("results.csv", []byte("old")))
	must(t, d.Complete())
	_, err := rundir.Create(out, record(`{"batch": 4}`), false)
	conflict(t, err, "complete run")
	_, _, err = rundir.Resume(out, record(`{"batch": 4}`), false)
	conflict(t, err, "complete run")

	d = create(t, out, true)
	if got := status(t, out); got != rundir.Complete {
		t.Errorf("the earlier run is %s while the next one runs", got)
	}
	must(t, d.Write("results.csv", []byte("new")))
	must(t, d.Complete())
	content, err := os.ReadFile(filepath.Join(out, "results.csv"))
	must(t, err)
	if string(content) != "new" || names(t, filepath.Dir(out)) != "out" {
		t.Errorf("results.csv = %q beside %q", content, names(t, filepath.Dir(out)))
	}
}

// TestTwoRunsIntoOneDirectory: the run that ends last must not replace what the
// other has finished meanwhile, and leaves nothing behind.
func TestTwoRunsIntoOneDirectory(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	first, second := create(t, out, false), create(t, out, false)
	must(t, second.Write("results.csv", []byte("second")))
	must(t, second.Complete())
	conflict(t, first.Complete(), "complete run")
	content, err := os.ReadFile(filepath.Join(out, "results.csv"))
	must(t, err)
	if string(content) != "second" || names(t, filepath.Dir(out)) != "out" {
		t.Errorf("results.csv = %q beside %q", content, names(t, filepath.Dir(out)))
	}
}

func TestInterruptedRunIsIncomplete(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	err := create(t, out, false).End(context.Canceled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("End = %v", err)
	}
	if got := status(t, out); got != rundir.Incomplete {
		t.Errorf("status = %s", got)
	}
	_, err = rundir.Create(out, record(`{"batch": 5}`), false)
	conflict(t, err, "incomplete run of other specs")
	other := record(`{"batch": 4}`)
	other.Version = "w"
	_, err = rundir.Create(out, other, false)
	conflict(t, err, "incomplete run of version v, this is version w")
	other = record(`{"batch": 4}`)
	other.Revision = "c0ffee"
	_, err = rundir.Create(out, other, false)
	conflict(t, err, "incomplete run of version v, this is version v (c0ffee)")
	must(t, create(t, out, false).Complete()) // identical specs, another layout would do too
	if got := status(t, out); got != rundir.Complete {
		t.Errorf("status = %s", got)
	}
}

func TestInterruptKeepsTheEarlierRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	must(t, create(t, out, false).Complete())
	if err := create(t, out, true).End(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("End = %v", err)
	}
	if got := status(t, out); got != rundir.Complete || names(t, filepath.Dir(out)) != "out" {
		t.Errorf("status = %s beside %s", got, names(t, filepath.Dir(out)))
	}
}

func TestFailedRunLeavesNothing(t *testing.T) {
	root := t.TempDir()
	d := create(t, filepath.Join(root, "out"), false)
	must(t, d.Write("results.csv", []byte("half")))
	failure := errors.New("no")
	if err := d.End(failure); !errors.Is(err, failure) {
		t.Errorf("End = %v", err)
	}
	if got := names(t, root); got != "" {
		t.Errorf("left %q", got)
	}
}

func TestForeignFilesAreNeverReplaced(t *testing.T) {
	out := t.TempDir()
	must(t, os.WriteFile(filepath.Join(out, "thesis.tex"), nil, 0o666))
	_, err := rundir.Create(out, record(`{}`), true)
	conflict(t, err, "thesis.tex")
	_, _, err = rundir.Resume(out, record(`{}`), true)
	conflict(t, err, "thesis.tex")
}

// TestForceSparesAUsersFiles: force replaces what a run wrote, never a folder
// that no run wrote nor a file that a user put beside a run's own.
func TestForceSparesAUsersFiles(t *testing.T) {
	paper := filepath.Join(t.TempDir(), "paper")
	must(t, os.MkdirAll(filepath.Join(paper, "figures"), 0o777))
	must(t, os.WriteFile(filepath.Join(paper, "report.md"), []byte("mine"), 0o600))
	for _, force := range []bool{false, true} {
		_, err := rundir.Create(paper, record(`{"batch": 4}`), force)
		conflict(t, err, "which no run wrote")
		_, _, err = rundir.Resume(paper, record(`{"batch": 4}`), force)
		conflict(t, err, "which no run wrote")
	}

	out := filepath.Join(t.TempDir(), "out")
	d := create(t, out, false)
	must(t, d.Write("figures/a.svg", []byte("ours")))
	must(t, d.Complete())
	must(t, create(t, out, true).Complete())
	d = create(t, out, true)
	must(t, d.Write("figures/a.svg", []byte("ours")))
	must(t, d.Complete())
	must(t, os.WriteFile(filepath.Join(out, "figures", "mine.pdf"), []byte("mine"), 0o600))
	_, err := rundir.Create(out, record(`{"batch": 4}`), true)
	conflict(t, err, "holds figures/mine.pdf, which no run wrote")
}

// TestForeignRunFileIsNoRun: a run.json of another tool, or one that cannot be
// read, makes no run directory.
func TestForeignRunFileIsNoRun(t *testing.T) {
	for _, content := range []string{"", "[1,2]", `{"learning_rate":0.1}`, `{"id":"abc","status":"running"}`} {
		out := t.TempDir()
		must(t, os.WriteFile(filepath.Join(out, "run.json"), []byte(content), 0o600))
		must(t, os.WriteFile(filepath.Join(out, "report.md"), []byte("mine"), 0o600))
		for _, force := range []bool{false, true} {
			_, err := rundir.Create(out, record(`{"batch": 4}`), force)
			conflict(t, err, "holds run.json, which no run wrote")
		}
		if got := names(t, out); got != "report.md run.json" {
			t.Errorf("run.json %q: %s is left", content, got)
		}
	}
}

// TestKilledRunKnowsItsFiles: the record of a run that was killed lists what it
// wrote, and what a user adds is spared; taken up and completed, the run may be
// replaced.
func TestKilledRunKnowsItsFiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	must(t, d.Write("rungs/1.json", []byte("{}")))
	killed, err := os.ReadFile(filepath.Join(out, "run.json"))
	must(t, err)
	must(t, d.Complete()) // lets the lock go
	must(t, os.WriteFile(filepath.Join(out, "run.json"), killed, 0o600))

	mine := filepath.Join(out, "report.md")
	must(t, os.WriteFile(mine, []byte("mine"), 0o600))
	for _, force := range []bool{false, true} {
		_, _, err = rundir.Resume(out, record(`{"batch": 4}`), force)
		conflict(t, err, "holds report.md, which no run wrote")
	}
	must(t, os.Remove(mine))

	d, resumed, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	if !resumed {
		t.Error("the killed run is not taken up")
	}
	must(t, d.Complete())
	must(t, create(t, out, true).Complete())
}

// TestHiddenFilesAreSpared: what only looks like a temporary file of a run is
// somebody's.
func TestHiddenFilesAreSpared(t *testing.T) {
	for _, name := range []string{".data.tmp-backup", ".other.tmp-5ee9e2d3", ".run.json.tmp-1"} {
		out := t.TempDir()
		must(t, os.Mkdir(filepath.Join(out, name), 0o777))
		_, err := rundir.Create(out, record(`{"batch": 4}`), true)
		conflict(t, err, "holds "+name+", which no run wrote")
	}
	out := t.TempDir()
	for _, name := range []string{".results.csv.tmp-00000000", ".run.tmp-5ee9e2d3"} {
		must(t, os.Mkdir(filepath.Join(out, name), 0o777))
	}
	must(t, create(t, out, false).Complete())
	if got := names(t, out); got != "run.json" {
		t.Errorf("%s is left, want run.json alone", got)
	}
}

// TestOneShotMindsTheLock: a one-shot run, even by force, waits for no long run
// and does not write into its directory.
func TestOneShotMindsTheLock(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	long, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	for _, force := range []bool{false, true} {
		for _, specs := range []string{`{"batch": 4}`, `{"batch": 5}`} { // others are no reason to replace it
			_, err := rundir.Create(out, record(specs), force)
			conflict(t, err, "is being written by another run")
		}
	}
	must(t, long.Complete())
	must(t, create(t, out, true).Complete())
}

// TestWorkingDirectoryStays: a run into the working directory leaves the shell
// where it is.
func TestWorkingDirectoryStays(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, force := range []bool{false, true} {
		d := create(t, ".", force)
		must(t, d.Write("results.csv", []byte("x")))
		must(t, d.Complete())
		if got := names(t, "."); got != "results.csv run.json" {
			t.Errorf("the working directory holds %q", got)
		}
	}
}

// TestWorkingDirectoryKeepsTheEarlierRun until the next one is complete,
// whether that fails or is interrupted, and for good without force.
func TestWorkingDirectoryKeepsTheEarlierRun(t *testing.T) {
	t.Chdir(t.TempDir())
	d := create(t, ".", false)
	must(t, d.Write("results.csv", []byte("old")))
	must(t, d.Write("figures/a.svg", []byte("old")))
	must(t, d.Complete())
	_, err := rundir.Create(".", record(`{"batch": 4}`), false)
	conflict(t, err, "complete run")
	for _, failure := range []error{errors.New("no"), context.Canceled} {
		d := create(t, ".", true)
		must(t, d.Write("results.csv", []byte("half")))
		if err := d.End(failure); !errors.Is(err, failure) {
			t.Errorf("End = %v", err)
		}
		content, err := os.ReadFile("results.csv")
		must(t, err)
		if string(content) != "old" || names(t, ".") != "figures results.csv run.json" || status(t, ".") != rundir.Complete {
			t.Errorf("after %v: results.csv = %q in %s, %s", failure, content, names(t, "."), status(t, "."))
		}
	}
	d = create(t, ".", true)
	must(t, d.Write("results.csv", []byte("new")))
	must(t, d.Complete())
	content, err := os.ReadFile("results.csv")
	must(t, err)
	if string(content) != "new" || names(t, ".") != "results.csv run.json" {
		t.Errorf("results.csv = %q in %s", content, names(t, "."))
	}
}

func TestEmptyDirectoryIsTaken(t *testing.T) {
	out := t.TempDir()
	must(t, create(t, out, false).Complete())
	if got := status(t, out); got != rundir.Complete {
		t.Errorf("status = %s", got)
	}
}

func TestPathUnderAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o666))
	for _, path := range []string{file, filepath.Join(file, "out")} {
		_, err := rundir.Create(path, record(`{}`), false)
		var c *rundir.ConflictError
		if err == nil || errors.As(err, &c) {
			t.Errorf("Create(%s) = %v, want a failure that is no conflict", path, err)
		}
	}
}

func TestLongRunResumes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d, resumed, err := rundir.Resume(out, record(`{"batch":4}`), false)
	must(t, err)
	if resumed || status(t, out) != rundir.Running {
		t.Errorf("resumed = %v, status = %s", resumed, status(t, out))
	}
	must(t, d.Write("rungs/1.json", []byte("{}")))
	_, _, err = rundir.Resume(out, record(`{"batch": 4}`), false)
	conflict(t, err, "another run")
	if err := d.End(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("End = %v", err)
	}

	_, _, err = rundir.Resume(out, record(`{"batch": 5}`), false)
	conflict(t, err, "other specs")
	d, resumed, err = rundir.Resume(out, record(`{ "batch": 4 }`), false)
	must(t, err)
	if !resumed || names(t, filepath.Join(out, "rungs")) != "1.json" {
		t.Errorf("resumed = %v with %s", resumed, names(t, out))
	}
	must(t, d.Complete())

	d, resumed, err = rundir.Resume(out, record(`{"batch": 5}`), true)
	must(t, err)
	if resumed || names(t, out) != "run.json" {
		t.Errorf("force: resumed = %v with %s", resumed, names(t, out))
	}
	must(t, d.Complete())
}

func TestKilledRunIsTakenUp(t *testing.T) {
	out := t.TempDir()
	must(t, os.WriteFile(filepath.Join(out, "run.json"), []byte(`{"schema":1,"command":"simulate","version":"v","specs":{"batch":4},"status":"running"}`), 0o666))
	must(t, os.WriteFile(filepath.Join(out, ".results.csv.tmp-00000000"), nil, 0o666))
	must(t, os.MkdirAll(filepath.Join(out, ".run.tmp-00000000", "figures"), 0o777))
	must(t, os.Mkdir(filepath.Join(out, "figures"), 0o777))
	must(t, os.WriteFile(filepath.Join(out, "figures", ".a.svg.tmp-00000000"), nil, 0o666))
	d, resumed, err := rundir.Resume(out, record(`{"batch":4}`), false)
	must(t, err)
	if !resumed {
		t.Error("a run without a process was not resumed")
	}
	must(t, d.Complete())
	if got := names(t, out); got != "figures run.json" || names(t, filepath.Join(out, "figures")) != "" {
		t.Errorf("%s is left, and %s among the figures, want no temporary names", got, names(t, filepath.Join(out, "figures")))
	}
}

func TestWriteFileLeavesNothingOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.csv")
	must(t, os.WriteFile(path, []byte("earlier"), 0o666))
	full := errors.New("no space left on device")
	err := rundir.WriteFile(path, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader([]byte("half")))
		return errors.Join(err, full)
	})
	content, readErr := os.ReadFile(path)
	must(t, readErr)
	if !errors.Is(err, full) || string(content) != "earlier" || names(t, dir) != "table.csv" {
		t.Errorf("WriteFile = %v, content %q, files %s", err, content, names(t, dir))
	}
}

func TestSymbolicLinkStaysOne(t *testing.T) {
	root := t.TempDir()
	real, link := filepath.Join(root, "real"), filepath.Join(root, "link")
	must(t, os.Mkdir(real, 0o777))
	must(t, os.Symlink(real, link))
	must(t, create(t, link, false).Complete())
	must(t, create(t, link, true).Complete())
	info, err := os.Lstat(link)
	must(t, err)
	if info.Mode()&os.ModeSymlink == 0 || status(t, real) != rundir.Complete || names(t, root) != "link real" {
		t.Errorf("the link is %v beside %s", info.Mode(), names(t, root))
	}
}

func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	root := t.TempDir()
	d := create(t, filepath.Join(root, "out"), false)
	must(t, d.Discard())
	if err := d.Write("figures/late.svg", nil); err == nil || names(t, root) != "" {
		t.Errorf("Write = %v, left %q", err, names(t, root))
	}
}

// TestOtherSpecsAreNamed: what two runs have different is named, nested keys and
// missing ones too, and nothing else.
func TestOtherSpecsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, _, err := rundir.Resume(path, record(`{"batch": 4, "sampling": {"t": 1, "stop": ["a"]}, "sha": "x", "old": null}`), false)
	must(t, err)
	must(t, d.Stop())
	_, _, err = rundir.Resume(path, record(`{"batch": 4, "sampling": {"t": 0.5, "stop": ["a"]}, "sha": "y", "new": [1]}`), false)
	conflict(t, err, "vigorlab simulate; new: nothing there, [1] here; old: null there, nothing here; sampling.t: 1 there, 0.5 here; sha: \"x\" there, \"y\" here")
}
