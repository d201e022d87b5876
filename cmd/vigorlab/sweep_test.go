package main

import (
	"bytes"
	"encoding/csv"
	"errors"
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

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// smallGrid is the file of help's examples.
const smallGrid = `command = "simulate"
[flags]
population = "pareto-variance:shape={shape},min=0.01,max=1"
batch = 16
replicates = 10
[grid]
shape = [1.2, 2]
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
		ended := end(cmd)
		waitFor(ts, "a shard more in "+dir, func() bool { return manifests(dir) > before || len(ended) > 0 }) // there may be none to come
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)                                         // anywhere in the next one
		_ = cmd.Process.Kill()                                                                                // it may have ended
		err := <-ended
		waitFor(ts, "the end of every task", func() bool { return len(processes(dir)) == 0 })
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
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("no sign of %s in %v", what, patience)
		}
	}
}

// processes returns the processes whose command line holds the text, this one and those
// that have ended apart.
func processes(text string) []int {
	var found []int
	entries, _ := os.ReadDir("/proc") // none: no process
	for _, e := range entries {
		pid, bad := strconv.Atoi(e.Name())
		if bad != nil || pid == os.Getpid() {
			continue
		}
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty where the process has ended, an error where it is gone
		if err == nil && strings.Contains(string(content), text) {
			found = append(found, pid)
		}
	}
	return found
}

// parentOf returns which process began another, 0 for none, and whether that has ended.
func parentOf(pid int) (parent int, ended bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, true
	}
	after := content[bytes.LastIndexByte(content, ')')+1:] // behind the name: state, parent, ...
	fields := strings.Fields(string(after))
	if len(fields) < 2 {
		return 0, true
	}
	parent, _ = strconv.Atoi(fields[1]) // a number
	return parent, fields[0] == "Z" || fields[0] == "X"
}

// descends reports whether a process was begun by another, or by one that it began.
func descends(pid, from int) bool {
	for range 10 { // generations
		parent, ended := parentOf(pid)
		if ended || parent <= 1 {
			return false
		}
		if pid = parent; pid == from {
			return true
		}
	}
	return false
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, file os.FileInfo) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // of a sound pattern
	return slices.ContainsFunc(links, func(link string) bool {
		open, err := os.Stat(link)
		return err == nil && os.SameFile(open, file)
	})
}

// A waiting is a sweep of which a point waits for what a named pipe holds.
type waiting struct {
	cmd   *exec.Cmd
	ended <-chan error
	pipe  *os.File // both its ends, so that the point is no further than reading it
}

// startWaiting starts a sweep.
func startWaiting(ts *testscript.TestScript, pipe string, args []string) *waiting {
	f, err := os.OpenFile(ts.MkAbs(pipe), os.O_RDWR, 0)
	ts.Check(err)
	w := &waiting{cmd: start(ts, nil, args), pipe: f}
	w.ended = end(w.cmd)
	ts.Defer(func() { _ = errors.Join(w.cmd.Process.Kill(), f.Close()) }) // where the script fails
	return w
}

// code waits for the end of the sweep and returns its exit code.
func (w *waiting) code(ts *testscript.TestScript) int {
	waitFor(ts, "the end of the sweep", func() bool { return len(w.ended) > 0 })
	return codeOf(ts, <-w.ended)
}

// point waits until the point reads the pipe, and returns its process; 0 where the sweep
// ends without.
func (w *waiting) point(ts *testscript.TestScript) int {
	pipe, err := w.pipe.Stat()
	ts.Check(err)
	point := 0
	waitFor(ts, "a point that reads "+w.pipe.Name(), func() bool {
		for _, pid := range processes(filepath.Base(w.pipe.Name())) { // that name it
			if descends(pid, w.cmd.Process.Pid) && hasOpen(pid, pipe) {
				point = pid
			}
		}
		return point != 0 || len(w.ended) > 0
	})
	return point
}

// gone waits until processes have ended.
func gone(ts *testscript.TestScript, pids ...int) {
	for _, pid := range pids {
		waitFor(ts, fmt.Sprintf("the end of process %d", pid), func() bool { _, ended := parentOf(pid); return ended })
	}
}

// finish gives the point a law, if there is one that waits, and wants the sweep to end
// well.
func (w *waiting) finish(ts *testscript.TestScript) {
	w.point(ts)
	_, err := w.pipe.WriteString("beta:a=0.3,b=0.7")
	ts.Check(errors.Join(err, w.pipe.Close()))
	if code := w.code(ts); code != exitDone {
		ts.Fatalf("exit code %d; standard error: %s", code, w.cmd.Stderr)
	}
}

// fed runs a sweep of which a point reads a named pipe, and writes a law there. The sweep
// must end well.
//
//	fed PIPE ARG...
func fed(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fed PIPE ARG...")
	}
	startWaiting(ts, args[0], args[1:]).finish(ts)
}

// partsKilled is fed, but kills the point while it waits, or the task that runs it, N
// times. With a task its point must end.
//
//	partskilled point|task N PIPE ARG...
func partsKilled(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: partskilled point|task N PIPE ARG...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	w := startWaiting(ts, args[2], args[3:])
	for range n {
		point := w.point(ts)
		task, ended := parentOf(point)
		if point == 0 || ended {
			ts.Fatalf("no point waits; standard error: %s", w.cmd.Stderr)
		}
		victim := map[string]int{"point": point, "task": task}[args[0]]
		if victim == 0 || victim == w.cmd.Process.Pid {
			ts.Fatalf("no %s to be killed", args[0])
		}
		ts.Check(syscall.Kill(victim, syscall.SIGKILL))
		gone(ts, victim, point)
	}
	w.finish(ts)
}

// sweepEnded starts a sweep, ends it by SIGINT, as Ctrl-C does, or SIGKILL once N shards
// are finished and a point reads a named pipe, and checks that all of its processes end
// with it. After SIGINT the exit code is 130, and it says how to go on.
//
//	sweepended INT|KILL DIR N PIPE ARG...
func sweepEnded(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 5 {
		ts.Fatalf("usage: sweepended INT|KILL DIR N PIPE ARG...")
	}
	dir := ts.MkAbs(args[1])
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	w := startWaiting(ts, args[3], args[4:])
	waitFor(ts, "shards in "+dir, func() bool { return manifests(dir) == n })
	point := w.point(ts)
	ts.Check(w.cmd.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}[args[0]]))
	code := w.code(ts)
	if said := fmt.Sprint(w.cmd.Stderr); args[0] == "INT" && (code != exitInterrupted || !strings.Contains(said, "give the same command again to go on")) {
		ts.Fatalf("exit code %d, want %d; standard error: %s", code, exitInterrupted, said)
	}
	gone(ts, point)
	waitFor(ts, "the end of every task", func() bool { return len(processes(dir)) == 0 })
	ts.Check(w.pipe.Close()) // whoever reads it next would wait for its end
}

// TestSweepIsOneTable: the table of a sweep is what its commands print one by one, under
// the points' numbers and axes, with the same bytes for any number of shards and workers.
func TestSweepIsOneTable(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `command = "simulate"
[flags]
population = "pareto-variance:shape={shape},min=0.01,max=1"
batch = 8
replicates = 2
[grid]
shape = [1.2]
alpha = {from = 0.3, to = 0.4, step = 0.1}
strategy = ["vigor:alpha={alpha}", "vigor:alpha={alpha},rounds=3"]
`
	if err := os.WriteFile("grid.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	point := 0
	for _, shape := range []string{"1.2"} {
		for _, alpha := range []string{"0.3", "0.4"} {
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
	for _, c := range []struct{ shards, workers string }{{"4", "2"}, {"3", "1"}, {"1", "2"}} {
		command(t, "sweep", "grid.toml", "--shards", c.shards, "--workers", c.workers, "--out", c.shards)
		if got := read(t, filepath.Join(c.shards, "results.csv")); got != want.String() {
			t.Fatalf("%s shards: the table is\n%.3000s\nwant\n%.3000s", c.shards, got, &want)
		}
		for _, name := range []string{"results.parquet", "results.json"} {
			if got := read(t, filepath.Join(c.shards, name)); got != read(t, filepath.Join("4", name)) {
				t.Errorf("%s of %s shards has other bytes than of 4", name, c.shards)
			}
		}
		if n := manifests(c.shards); fmt.Sprint(n) != c.shards {
			t.Errorf("%d shards, want %s", n, c.shards)
		}
	}
	noTimes(t, "4")
}

// TestSweepOfEveryCommand: every command runs at the points of a list, a random search and
// a grid beside each other. Its rows are what it prints alone, but for times of this machine.
func TestSweepOfEveryCommand(t *testing.T) {
	for name, file := range map[string]string{
		"simulate": `list = [{strategy = "vigor:alpha={alpha}"}, {strategy = "fixed:g=8"}]
random.axes.alpha = {min = 0.3, max = 0.7}
grid.population = ["uniform"]
flags = {batch = 8, replicates = 2}
`,
		"compare": `list = [{strategy = "vigor"}, {strategy = "dapo:n=4"}]
random.axes.seed = {min = 1, max = 99, whole = true}
grid.steps = [2]
flags = {population = "uniform", batch = 8, replicates = 2}
`,
		"train": `list = [{strategy = "vigor"}, {strategy = "fixed:g=8"}]
random.axes.seed = {min = 1, max = 99, whole = true}
grid.lr = [10]
flags = {population = "uniform", policy = "logit:floor=0.001", target = 0.6, batch = 16, prompts = 32, seeds = 2}
`,
		"verify": `list = [{only = "2.published-speedup"}, {only = "2.closed-form"}]
random.axes.seed = {min = 1, max = 99, whole = true}
grid.quick = [true]
`,
		"plan": `args = ["outcomes.csv"]
list = [{objective = "progress"}, {objective = "signal"}]
random.axes.seed = {min = 1, max = 99, whole = true}
grid.batch = [16]
flags = {replicates = 2, worlds = 0, max-rounds = 2}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, text := range map[string]string{
				"points.toml":  "command = \"" + name + "\"\nrandom.n = 1\n" + file,
				"outcomes.csv": "prompt_id,n,successes\na,40,10\nb,40,20\nc,40,0\nd,40,40\n",
			} {
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			command(t, "sweep", "points.toml", "--out", "out", "--quiet")
			s, err := sweep.Open("out")
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Points) != 2 || len(s.Axes) != 3 {
				t.Fatalf("%d points on %d axes, want 2 on 3", len(s.Points), len(s.Axes))
			}
			var want [][]string
			for _, p := range s.Points {
				for _, r := range recordsOf(t, runTable(t, append(slices.Clone(p.Words), "--format", "csv", "--quiet")))[1:] {
					if !slices.Contains(r, "select_ns") {
						want = append(want, slices.Concat([]string{fmt.Sprint(p.Number)}, p.Cells, r, []string{""}))
					}
				}
			}
			if got := recordsOf(t, read(t, filepath.Join("out", "results.csv")))[1:]; !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("the rows are\n%.3000q\nwant\n%.3000q", got, want)
			}
		})
	}
}

// recordsOf returns the records of a table in CSV.
func recordsOf(t *testing.T, table string) [][]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestSweepRunsWhatIsMissing: the same command again runs the shards that are missing, with
// --retry-failed those in which a point failed, and no other.
func TestSweepRunsWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `command = "simulate"
flags = {batch = 8, replicates = 2}
grid.population = ["uniform", "beta:a=0", "beta:a=0.3,b=0.7"]
`
	if err := os.WriteFile("points.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) (shards []os.FileInfo) {
		command(t, append([]string{"sweep", "points.toml", "--out", "out", "--quiet"}, more...)...)
		for _, name := range []string{"0001.parquet", "0002.parquet", "0003.parquet"} {
			info, err := os.Stat(filepath.Join("out", "shards", name))
			if err != nil {
				t.Fatal(err)
			}
			shards = append(shards, info)
		}
		return shards
	}
	expect := func(what string, before, after []os.FileInfo, again int) {
		for i := range before {
			if ran := !os.SameFile(before[i], after[i]); ran != (i+1 == again) {
				t.Errorf("%s: shard %d was run again: %v", what, i+1, ran)
			}
		}
	}
	first := run()
	if err := os.Remove(filepath.Join("out", "shards", "0003.json")); err != nil {
		t.Fatal(err)
	}
	second := run()
	expect("shard 3 is missing", first, second, 3)
	expect("a point of shard 2 failed", second, run("--retry-failed"), 2)
}

// TestSweepMeetsTheSamePrompts: strategies that are points of a sweep have the figures that
// they have beside each other in one command, which gives them the same prompts.
func TestSweepMeetsTheSamePrompts(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `command = "simulate"
flags = {population = "uniform", batch = 8, replicates = 2}
grid.strategy = ["vigor", "fixed:g=4"]
`
	if err := os.WriteFile("points.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	table, _ := command(t, "sweep", "points.toml", "--out", "out", "--quiet", "--format", "csv")
	one := runTable(t, []string{"simulate", "--population", "uniform", "--batch", "8", "--replicates", "2", "--strategy", "vigor", "--strategy", "fixed:g=4", "--format", "csv"})
	rows := strings.Split(one, "\n")
	for _, r := range strings.Split(table, "\n")[1:] {
		parts := strings.SplitN(r, ",", 3) // point, axis, what simulate prints and no error
		if len(parts) == 3 && !slices.Contains(rows, strings.TrimSuffix(parts[2], ",")) {
			t.Errorf("no such row where both strategies run in one command: %s", parts[2])
		}
	}
}

// TestSweepCost: points of 6 and 9 seconds are 7 in the mean where the first has two shares;
// 5 of them in 4 shards, each of which takes 1.25 to begin, take 40 seconds of one core, 20
// of two, and a shard 10.
func TestSweepCost(t *testing.T) {
	plan, err := sweep.New([]byte("command = \"plan\"\ngrid.seed = [1, 2, 3, 4, 5]"), sweepable())
	if err != nil {
		t.Fatal(err)
	}
	e := &sweep.Estimate{Start: 1.25, Samples: []sweep.Sample{{Point: 1, Share: 2, Seconds: 6}, {Point: 5, Share: 1, Seconds: 9}}}
	f := &sweepFlags{shards: 4}
	f.workers = 2
	var text output.Text
	f.costText(&text, plan, f.deal(plan), e)
	want := "40 s of one core, 20 s with 2 workers; 35 s if all points were as the cheapest, 50 s as the dearest that was timed"
	got := strings.Join(strings.Fields(string(text.Bytes())), " ")
	if !strings.Contains(got, "Cost: about "+want) || !strings.Contains(got, "A shard: about 10 s timed") {
		t.Errorf("the cost is told as\n%s\nwant\n%s", text.Bytes(), want)
	}
	document, err := output.JSON(f.costDocument(5, 4, e))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"seconds": 40,`, `"low": 35,`, `"high": 50,`} {
		if !strings.Contains(string(document), part) {
			t.Errorf("the cost is\n%s\nwant %s", document, part)
		}
	}
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
			if stdout, _ := command(t, words[1:]...); stdout == "" && words[2] != "task" {
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
