package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// smallGrid is the file of help's examples.
const smallGrid = `command = "simulate"
[flags]
population = "beta:a={a},b=0.7"
batch = 16
replicates = 10
[grid]
a = [0.3, 0.6]
strategy = ["vigor", "fixed:g=8"]
`

// patience is how long a test waits for what must come.
const patience = 5 * time.Minute

// sweepKilled starts a sweep and kills it as soon as one more of its shards is finished
// and a random while has passed, N times. Each time all of its processes must end. Then
// the sweep runs to its end, unless it did before it could be killed, as it may where the
// machine is fast, or busy with other things than this test.
//
//	sweepkilled DIR N ARG...
func sweepKilled(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: sweepkilled DIR N ARG...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	random := rand.New(rand.NewPCG(10, 1))
	for range n {
		before := manifests(dir)
		cmd := start(ts, nil, args[2:])
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		waitFor(ts, "a shard more in "+dir, func() bool { return manifests(dir) > before || len(ended) > 0 }) // there may be none to come
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)                                         // anywhere in the next one
		_ = cmd.Process.Kill()                                                                                // it may have ended
		err := <-ended
		waitFor(ts, "the end of every process of the sweep", func() bool { return len(processes(dir)) == 0 })
		if err == nil {
			return
		}
	}
	ts.Check(ts.Exec("vigorlab", args[2:]...))
}

// manifests counts the shards that are finished.
func manifests(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, "shards", "*.json")) // of a sound pattern
	return len(found)
}

// waitFor waits for a condition.
func waitFor(ts *testscript.TestScript, what string, holds func() bool) {
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("no sign of %s in %v", what, patience)
		}
	}
}

// processes returns the processes whose command line holds the text, this one and those
// that have ended apart.
func processes(text string) []int {
	var found []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // of a sound pattern
	for _, path := range lines {
		content, err := os.ReadFile(path) // empty where the process has ended, an error where it is gone
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && bad == nil && pid != os.Getpid() && strings.Contains(string(content), text) {
			found = append(found, pid)
		}
	}
	return found
}

// partsKilled starts a sweep and kills a process that it began, whose command line holds
// TEXT, N times, as soon as there is another. The sweep must end well.
//
//	partskilled TEXT N ARG...
func partsKilled(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: partskilled TEXT N ARG...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	cmd := start(ts, nil, args[2:])
	var dead []int
	for range n {
		waitFor(ts, "a process of "+args[0], func() bool {
			for _, pid := range processes(args[0]) {
				// Nothing but what this test began is ever killed.
				if descends(pid, cmd.Process.Pid) && !slices.Contains(dead, pid) && syscall.Kill(pid, syscall.SIGKILL) == nil {
					dead = append(dead, pid)
					return true
				}
			}
			return false
		})
	}
	if code := codeOf(ts, cmd.Wait()); code != exitDone {
		ts.Fatalf("exit code %d; standard error: %s", code, cmd.Stderr)
	}
}

// descends reports whether a process was begun by another, or by one that it began.
func descends(pid, from int) bool {
	for range 10 { // generations
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		after := content[bytes.LastIndexByte(content, ')')+1:] // behind the name: state, parent, ...
		fields := strings.Fields(string(after))
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid <= 1 {
			return false
		}
		if pid == from {
			return true
		}
	}
	return false
}

// sweepStopped starts a sweep, interrupts it when a shard is finished, as Ctrl-C does, and
// checks that it ends with exit code 130, says how to go on and leaves no process. A sweep
// that has ended before it is interrupted is taken away and begun anew.
//
//	sweepstopped DIR ARG...
func sweepStopped(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: sweepstopped DIR ARG...")
	}
	dir := ts.MkAbs(args[0])
	var cmd *exec.Cmd
	code := exitDone
	for most := 20; code == exitDone && most > 0; most-- {
		ts.Check(os.RemoveAll(dir))
		cmd = start(ts, nil, args[1:])
		waitFor(ts, "a shard in "+dir, func() bool { return manifests(dir) > 0 })
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		code = codeOf(ts, cmd.Wait())
	}
	if said := fmt.Sprint(cmd.Stderr); code != exitInterrupted || !strings.Contains(said, "give the same command again to go on") {
		ts.Fatalf("exit code %d, want %d; standard error: %s", code, exitInterrupted, said)
	}
	if left := processes(dir); len(left) > 0 {
		ts.Fatalf("%d processes are left", len(left))
	}
}

// noOrphans starts a sweep of a point that never ends, whose command line holds TEXT,
// ends the sweep by SIGINT or SIGKILL once the point runs, and checks that the point ends
// with it.
//
//	noorphans INT|KILL TEXT ARG...
func noOrphans(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: noorphans INT|KILL TEXT ARG...")
	}
	cmd := start(ts, nil, args[2:])
	point := 0
	waitFor(ts, "the point", func() bool {
		for _, pid := range processes(args[1]) {
			if descends(pid, cmd.Process.Pid) {
				point = pid
			}
		}
		return point != 0
	})
	ts.Check(cmd.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}[args[0]]))
	if err := cmd.Wait(); err == nil {
		ts.Fatalf("the sweep ended well")
	}
	for deadline := time.Now().Add(patience); slices.Contains(processes(args[1]), point); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Check(syscall.Kill(point, syscall.SIGKILL))
			ts.Fatalf("the point outlived its sweep by %v", patience)
		}
	}
}

// TestSweepIsOneTable: the table of a sweep is what its commands print one by one, under
// the points' numbers and axes; of 24 points, it has the same bytes for any number of
// shards and workers.
func TestSweepIsOneTable(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `command = "simulate"
[flags]
population = "pareto-variance:shape={shape},min=0.01,max=1"
batch = 8
replicates = 2
[grid]
shape = [1.2, 1.5, 2]
alpha = {from = 0.3, to = 0.6, step = 0.1}
strategy = ["vigor:alpha={alpha}", "vigor:alpha={alpha},rounds=3"]
`
	if err := os.WriteFile("grid.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	point := 0
	for _, shape := range []string{"1.2", "1.5", "2"} {
		for _, alpha := range []string{"0.3", "0.4", "0.5", "0.6"} {
			for _, rounds := range []string{"", ",rounds=3"} {
				point++
				printed := runTable(t, []string{
					"simulate", "--population", "pareto-variance:shape=" + shape + ",min=0.01,max=1", "--batch", "8",
					"--replicates", "2", "--strategy", "vigor:alpha=" + alpha + rounds, "--format", "csv",
				})
				head, rows, _ := strings.Cut(printed, "\n")
				if point == 1 {
					want.WriteString("point,shape,alpha,axis_strategy," + head + ",error\n")
				}
				axis := "vigor:alpha={alpha}" + rounds
				if strings.Contains(axis, ",") {
					axis = `"` + axis + `"`
				}
				for line := range strings.Lines(rows) {
					fmt.Fprintf(&want, "%d,%s,%s,%s,%s,\n", point, shape, alpha, axis, strings.TrimSuffix(line, "\n"))
				}
			}
		}
	}
	for _, c := range []struct{ shards, workers string }{{"24", "2"}, {"5", "1"}, {"2", "2"}, {"1", "2"}} {
		command(t, "sweep", "grid.toml", "--shards", c.shards, "--workers", c.workers, "--out", c.shards)
		if got := read(t, filepath.Join(c.shards, "results.csv")); got != want.String() {
			t.Fatalf("%s shards: the table is\n%.3000s\nwant\n%.3000s", c.shards, got, &want)
		}
		for _, name := range []string{"results.parquet", "results.json"} {
			if got := read(t, filepath.Join(c.shards, name)); got != read(t, filepath.Join("24", name)) {
				t.Errorf("%s of %s shards has other bytes than of 24", name, c.shards)
			}
		}
		if n := manifests(c.shards); fmt.Sprint(n) != c.shards {
			t.Errorf("%d shards, want %s", n, c.shards)
		}
	}
	noTimes(t, "24")
}

// TestSweepExamples runs the examples of help's commands of a sweep.
func TestSweepExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("grid.toml", []byte(smallGrid), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range newSweep(&app{}).Commands() {
		if cmd.Hidden {
			continue
		}
		for _, words := range commandsOf(cmd.Example) {
			if stdout, _ := command(t, words[1:]...); stdout == "" {
				t.Errorf("%q prints nothing", words)
			}
			checkWidth(t, strings.Join(words, " "), runTable(t, []string{"sweep", cmd.Name(), "--help"}))
		}
	}
}

// TestReadmeSweep writes the file of README's section on sweeps, runs the commands there
// and expects the lines that it quotes and the picture in the gallery.
func TestReadmeSweep(t *testing.T) {
	section := readmeSection(t, "From laptop to cluster")
	_, file, _ := strings.Cut(section, "```toml\n")
	file, _, ok := strings.Cut(file, "```")
	if !ok {
		t.Fatal("the section shows no file")
	}
	drawn := pixelsOf(t, filepath.Join("..", "..", "plots", "gallery", "sweep-eta.png"))
	t.Chdir(t.TempDir())
	if err := os.WriteFile("grid.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	if n := runQuoted(t, section); n < 3 {
		t.Errorf("%d commands in the section, want at least 3", n)
	}
	if share := unlike(pixelsOf(t, "eta.png"), drawn); !(share <= 0.005) {
		t.Errorf("%.2f %% of the pixels of the gallery's sweep-eta.png are others, want at most 0.5 %%: make figures draws it again", 100*share)
	}
}

// noTimes checks that the files of shards and results say nothing of when, where and in
// how many parts they were made.
func noTimes(t *testing.T, dir string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`\b20[2-9][0-9]-[01][0-9]-|\b` + regexp.QuoteMeta(host) + `\b`)
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || slices.Contains([]string{"run.json", "sweep.json"}, e.Name()) {
			return err
		}
		content := read(t, path)
		if m := told.FindString(content); m != "" && !strings.HasSuffix(path, ".parquet") {
			t.Errorf("%s tells %s", path, m)
		}
		if strings.HasPrefix(e.Name(), "results") && bytes.Contains([]byte(content), []byte("shard")) {
			t.Errorf("%s tells of shards", path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
