//go:build linux && !race

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vigorlab/cmd/internal/cluster"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// TestSweepOnSlurm runs sweeps on a real cluster of three nodes, and hits it in every way:
// their table always has the bytes of the same sweep on this machine. Nothing in it is
// random; every step waits for the one before.
func TestSweepOnSlurm(t *testing.T) {
	disk := newDisk(t) // before the nodes, which see what is mounted when they begin
	nodes := cluster.Start(t)
	small := newGrid(t, "[0.3, 0.5]", 8)
	t.Run("three nodes", func(t *testing.T) {
		large := newGrid(t, "{from = 0.2, to = 0.7, step = 0.1}", 24)
		large.hold(t)
		r := large.sweep(t)
		cluster.Until(t, "six tasks", func() bool { return large.begins("") >= allPlaces })
		for _, node := range []string{cluster.N1, cluster.N2, cluster.N3} {
			if n := large.begins(" " + node); n < 2 {
				t.Errorf("%d tasks began on %s, want 2 at least", n, node)
			}
		}
		large.let(t)
		large.finish(t, r)
	})
	t.Run("shards by default", func(t *testing.T) {
		quick := *small
		quick.byDefault = true
		r := quick.sweep(t)
		quick.finish(t, r)
		if n := manifests(r.out); n != 1 || !strings.Contains(r.stderr.String(), "8 points in 1 task") {
			t.Errorf("%d shards, and it says %q; want that points of less than a second are one task", n, r.stderr)
		}
	})
	t.Run("two points at once", func(t *testing.T) { small.finish(t, small.sweep(t, "--cpus", "2", "--shards", "3")) })
	t.Run("node", func(t *testing.T) { testLostNode(t, small, nodes) })
	t.Run("killed, and another controller", func(t *testing.T) { testKilledSweep(t, small, nodes) })
	t.Run("killed task", func(t *testing.T) { testKilledTask(t, small) })
	t.Run("full disk", func(t *testing.T) { testFullDisk(t, small, disk) })
	t.Run("interrupt", func(t *testing.T) { testInterrupts(t, small) })
	t.Run("truncated", func(t *testing.T) { testTruncated(t, small) })
	t.Run("memory", testOverMemory)
	t.Run("by hand", func(t *testing.T) { testByHand(t, small) })
}

// A grid is a sweep of so many points, with what it gives on this machine.
type grid struct {
	folder, file string
	points       int
	local        string // its directory
	byDefault    bool   // shards are of many points, by what these cost, and not of one

	// Tasks of a cluster note that they begin, and wait while the file wait is there.
	begun, wait string
}

// newGrid writes the file of a sweep over alpha and 4 populations, and runs it here.
func newGrid(t *testing.T, alpha string, points int) *grid {
	t.Helper()
	folder := t.TempDir()
	g := &grid{folder: folder, file: filepath.Join(folder, "grid.toml"), points: points, local: filepath.Join(folder, "local")}
	g.begun, g.wait = filepath.Join(folder, "begun"), filepath.Join(folder, "wait")
	const text = `command = "simulate"
[flags]
population = "beta:a={a},b=0.7"
strategy = ["vigor:alpha={alpha}", "fixed:g=8"]
batch = 16
replicates = 10
[grid]
a = [0.2, 0.4, 0.6, 0.8]
alpha = %s
[slurm]
partition = "local"
memory = "100M"
setup = ["echo >>'%s' $SLURM_ARRAY_TASK_ID $SLURMD_NODENAME", "while [ -e '%s' ]; do sleep 0.1; done"]
`
	if err := os.WriteFile(g.file, fmt.Appendf(nil, text, alpha, g.begun, g.wait), 0o666); err != nil {
		t.Fatal(err)
	}
	command(t, "sweep", g.file, "--out", g.local, "--quiet")
	return g
}

// hold makes tasks wait, and let lets them go on.
func (g *grid) hold(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.WriteFile(g.begun, nil, 0o666), os.WriteFile(g.wait, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
}

func (g *grid) let(t *testing.T) {
	t.Helper()
	if err := os.Remove(g.wait); err != nil {
		t.Fatal(err)
	}
}

// begins returns how many tasks have begun, or of one node.
func (g *grid) begins(node string) int {
	content, _ := os.ReadFile(g.begun) // none: 0
	return strings.Count(string(content), node+"\n")
}

// A slurmRun is a process of vigorlab that runs a sweep on the cluster.
type slurmRun struct {
	cmd    *exec.Cmd
	out    string
	stderr *spoken
	ended  chan error
}

// A spoken is what a process writes, which a test may read meanwhile.
type spoken struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *spoken) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *spoken) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// sweep starts a sweep on the cluster, into a directory of the test, a shard a point.
func (g *grid) sweep(t *testing.T, more ...string) *slurmRun {
	t.Helper()
	return g.sweepInto(t, filepath.Join(t.TempDir(), "out"), more...)
}

func (g *grid) sweepInto(t *testing.T, out string, more ...string) *slurmRun {
	t.Helper()
	r := g.command(t, out, more...)
	r.cmd.Stderr = r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	return r
}

// onTerminal is sweepInto with a terminal as standard error.
func (g *grid) onTerminal(t *testing.T, out string, more ...string) *slurmRun {
	t.Helper()
	r := g.command(t, out, more...)
	screen, terminal := openTerminal(t)
	r.cmd.Stderr = terminal
	if err := errors.Join(r.cmd.Start(), terminal.Close()); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(r.stderr, screen) // until nobody has the terminal open, which is an error
		r.ended <- r.cmd.Wait()
	}()
	return r
}

// openTerminal returns the two ends of a terminal: what is written on the other, the
// screen shows.
func openTerminal(t *testing.T) (screen, other *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() }) // it has no more to say
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	other, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(other.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return screen, other
}

// misleading are variables of a user's shell that Slurm's commands would heed: other
// partitions, tasks, users. None may change what a sweep does.
var misleading = []string{
	"SBATCH_PARTITION=nowhere", "SBATCH_ARRAY_INX=99", "SBATCH_JOB_NAME=other", "SBATCH_MEM_PER_NODE=900G", "SBATCH_NO_REQUEUE=1",
	"SBATCH_WAIT=1", "SBATCH_ERROR=/dev/null", "SBATCH_OPEN_MODE=truncate", "SBATCH_CLUSTERS=other", "SLURM_CLUSTERS=other",
	"SQUEUE_PARTITION=nowhere", "SQUEUE_STATES=FAILED", "SQUEUE_USERS=nobody", "SQUEUE_FORMAT=%i", "SCANCEL_STATE=SUSPENDED", "SCANCEL_USER=nobody",
}

// command returns a sweep on the cluster that is not begun.
func (g *grid) command(t *testing.T, out string, more ...string) *slurmRun {
	t.Helper()
	hearInterrupts()
	args := append([]string{"sweep", g.file, "--engine", engineSlurm, "--out", out}, more...)
	if !g.byDefault {
		args = slices.Insert(args, 2, "--shards", fmt.Sprint(g.points))
	}
	r := &slurmRun{cmd: exec.Command("vigorlab", args...), out: out, stderr: new(spoken), ended: make(chan error, 1)}
	r.cmd.Env = append(os.Environ(), misleading...)
	t.Cleanup(func() {
		if t.Failed() {
			_ = r.cmd.Process.Kill()
			t.Logf("the sweep said:\n%s", r.stderr)
		}
	})
	return r
}

// fails waits for the end of a sweep that fails, and says so.
func (r *slurmRun) fails(t *testing.T, said string) {
	t.Helper()
	if code := r.end(t); code != exitFailed || !strings.Contains(r.stderr.String(), said) {
		t.Fatalf("exit code %d, want %d and %q on standard error", code, exitFailed, said)
	}
}

// end waits for the end of a sweep and returns its exit code.
func (r *slurmRun) end(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatal("the sweep does not end")
		return 0
	}
}

// finish waits for the end of a sweep, whose table must be that of this machine.
func (g *grid) finish(t *testing.T, r *slurmRun) {
	t.Helper()
	if code := r.end(t); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	g.same(t, r.out)
}

func (g *grid) same(t *testing.T, out string) {
	t.Helper()
	for _, name := range []string{"results.csv", "results.parquet", "results.json"} {
		if read(t, filepath.Join(out, name)) != read(t, filepath.Join(g.local, name)) {
			t.Errorf("%s has other bytes than of the sweep on this machine", name)
		}
	}
}

// allPlaces is how many tasks the cluster runs at once.
const allPlaces = 6

// testLostNode kills a node with its tasks, which are begun again on the others. The
// terminal shows how many run.
func testLostNode(t *testing.T, g *grid, nodes *cluster.Cluster) {
	g.hold(t)
	r := g.onTerminal(t, filepath.Join(t.TempDir(), "out"))
	cluster.Until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	cluster.Until(t, "progress", func() bool { return strings.Contains(r.stderr.String(), "shards, 6 tasks run, 2 wait") })
	nodes.Kill(t, cluster.N2)
	g.let(t)
	cluster.Until(t, "tasks that are begun again", func() bool { return strings.Contains(r.stderr.String(), "and is begun again") })
	nodes.Begin(t, cluster.N2)
	g.finish(t, r)
	if !strings.Contains(r.stderr.String(), "\rvigorlab: slurm: task ") {
		t.Error("a word on a lost task stands behind the progress, want a line of its own")
	}
	if lost, all := g.begins(" n2"), g.begins(""); lost < 2 || all < g.points+2 {
		t.Errorf("%d tasks began on n2, %d in all; want 2, and %d at least", lost, all, g.points+2)
	}
}

// testKilledSweep kills the sweep itself and begins the controller again. The same
// command finds the tasks, and begins none twice.
func testKilledSweep(t *testing.T, g *grid, nodes *cluster.Cluster) {
	g.hold(t)
	r := g.sweep(t)
	cluster.Until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.end(t)
	nodes.Stop(t, cluster.Controller)
	nodes.Begin(t, cluster.Controller)
	again := g.sweepInto(t, r.out)
	cluster.Until(t, "a word on tasks that run", func() bool { return strings.Contains(again.stderr.String(), "8 of 8 tasks wait or run already") })
	nodes.Stop(t, cluster.Controller)
	g.let(t)
	cluster.Until(t, "shards without a controller", func() bool { return manifests(r.out) == allPlaces })
	nodes.Begin(t, cluster.Controller)
	g.finish(t, again)
	if n := g.begins(""); n != g.points {
		t.Errorf("%d tasks were begun, want %d", n, g.points)
	}
}

// testKilledTask kills a task. The sweep says which, and how it ended; the same command
// runs that one alone.
func testKilledTask(t *testing.T, g *grid) {
	g.hold(t)
	r := g.sweep(t)
	cluster.Until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	killTask(t, 3)
	g.let(t)
	r.fails(t, "shard 0003 ended as FAILED, by signal 9")
	g.finish(t, g.sweepInto(t, r.out))
	if n := g.begins(""); n != g.points+1 {
		t.Errorf("%d tasks were begun, want %d", n, g.points+1)
	}
}

// killTask kills the shell that a task of the cluster begins as, as kill -9 on its node
// does, and what that shell is about to begin, which looks the same for a moment.
func killTask(t *testing.T, index int) {
	t.Helper()
	killed := 0
	for _, pid := range processes("slurm_script") {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may have ended
		is := func(variable string) bool {
			return strings.Contains("\x00"+string(environment), "\x00"+variable+"\x00")
		}
		if is(fmt.Sprint("SLURM_ARRAY_TASK_ID=", index)) && is("SLURM_CONF="+os.Getenv("SLURM_CONF")) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("no process of task %d", index)
	}
}

// newDisk returns a small file system of the test's.
func newDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := mount(dir, "4m"); err != nil {
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatalf("a small file system cannot be mounted here: %v", err)
		}
		t.Skipf("a small file system cannot be mounted here, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// testFullDisk fills the disk under tasks that run: they fail, and the same command runs
// them where there is room again.
func testFullDisk(t *testing.T, g *grid, disk string) {
	g.hold(t)
	r := g.sweepInto(t, filepath.Join(disk, "out"))
	cluster.Until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o666); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v, want a full disk", err)
	}
	g.let(t)
	r.fails(t, "no space left on device")
	if n := manifests(r.out); n != 0 {
		t.Errorf("%d shards stand on a full disk, want none", n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	g.finish(t, g.sweepInto(t, r.out))
}

// testInterrupts sends Ctrl-C: the tasks go on, and the same command finds them; where
// it is asked to, they are cancelled.
func testInterrupts(t *testing.T, g *grid) {
	g.hold(t)
	r := g.sweep(t)
	cluster.Until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	interruptRun(t, r, "tasks go on on the cluster")
	if n := queued(t); n != g.points {
		t.Errorf("%d tasks wait or run, want %d", n, g.points)
	}
	again := g.sweepInto(t, r.out, "--cancel-on-interrupt")
	cluster.Until(t, "a word on tasks that run", func() bool { return strings.Contains(again.stderr.String(), "8 of 8 tasks wait or run already") })
	interruptRun(t, again, "give the same command again to go on")
	cluster.Until(t, "the end of all tasks", func() bool { return queued(t) == 0 })
	g.let(t)
	g.finish(t, g.sweepInto(t, r.out))
}

func interruptRun(t *testing.T, r *slurmRun, said string) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := r.end(t); code != exitInterrupted || !strings.Contains(r.stderr.String(), said) {
		t.Fatalf("exit code %d, want %d and %q on standard error", code, exitInterrupted, said)
	}
}

// queued counts the tasks that wait or run.
func queued(t *testing.T) int {
	t.Helper()
	said, err := exec.Command("squeue", "--noheader", "--array", "--states=PENDING,RUNNING").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(said), "\n")
}

// testTruncated cuts a shard, which is run again, alone.
func testTruncated(t *testing.T, g *grid) {
	r := g.sweep(t)
	g.finish(t, r)
	if err := os.Truncate(filepath.Join(r.out, "shards", "0003.parquet"), 100); err != nil {
		t.Fatal(err)
	}
	before := g.begins("")
	again := g.sweepInto(t, r.out)
	g.finish(t, again)
	if n := g.begins("") - before; n != 1 || !strings.Contains(again.stderr.String(), "shard 0003 is run again: its rows have 100 bytes") {
		t.Errorf("%d tasks are begun, want one, and a word on shard 0003", n)
	}
}

// testOverMemory runs a point that has too little memory: it has failed, with its error,
// and the others are there.
func testOverMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `command = "simulate"
[flags]
population = "uniform"
strategy = "fixed:g=8"
replicates = 2
[grid]
batch = [16, 10000000, 32]
[slurm]
setup = ["ulimit -v 2500000"]
`
	if err := os.WriteFile("large.toml", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("vigorlab", "sweep", "large.toml", "--engine", "slurm", "--shards", "3", "--out", "out").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	csv := read(t, filepath.Join("out", "results.csv"))
	if !strings.Contains(csv, "\n2,10000000,,") || !strings.Contains(csv, "out of memory\n") || !strings.Contains(csv, "\n3,32,uniform") {
		t.Errorf("the table is\n%.2000s\nwant point 2 out of memory, and the others", csv)
	}
}

// testByHand submits what --print-script prints, as a person would.
func testByHand(t *testing.T, g *grid) {
	out := filepath.Join(t.TempDir(), "out")
	printed, err := exec.Command("vigorlab", "sweep", g.file, "--print-script", "--out", out, "--shards", fmt.Sprint(g.points)).Output()
	if err != nil {
		t.Fatal(err)
	}
	submitted := false
	for line := range strings.Lines(string(printed)) {
		if at := strings.Index(line, "sbatch "); at >= 0 {
			submitted = true
			if said, err := exec.Command("sh", "-c", line[at:]).CombinedOutput(); err != nil {
				t.Fatalf("%s%v\n%s", line, err, said)
			}
		}
	}
	if !submitted {
		t.Fatalf("no sbatch in\n%s", printed)
	}
	cluster.Until(t, "all shards", func() bool { return manifests(out) == g.points })
	command(t, "sweep", "merge", out)
	g.same(t, out)
}

// TestSlurmOptions holds that what a task asks for reaches sbatch, and the script, from
// flags and from the file; a flag comes before the file. Nothing is asked for that nobody
// gave.
func TestSlurmOptions(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"sbatch":   `for word; do echo "$word"; done >"$SAID"; echo "sbatch: error: enough" >&2; exit 1`,
		"squeue":   ":",
		"scontrol": "echo 'MaxArraySize            = 1001'",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("SAID", filepath.Join(folder, "said"))
	const table = "[slurm]\naccount = \"theirs\"\npartition = \"old,new\"\ntime = \"1-12\"\nmemory = \"3G\"\ncpus = 3\nsetup = [\"module load x\"]\n"
	for _, c := range []struct {
		name, file string
		flags      string
		want       string // of sbatch and the script
		width      string
	}{
		{"none", "", "", "", "1"},
		{"flags", "", "--account mine --partition fast --time 30 --memory 500M --cpus 2", "--account=mine --partition=fast --time=30 --mem=500M --cpus-per-task=2", "2"},
		{"file", table, "", "--account=theirs --partition=old,new --time=1-12 --mem=3G --cpus-per-task=3", "3"},
		{"both", table, "--account mine --time 2:00:00 --cpus 8", "--account=mine --partition=old,new --time=2:00:00 --mem=3G --cpus-per-task=8", "8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, out := filepath.Join(t.TempDir(), "grid.toml"), filepath.Join(t.TempDir(), "out")
			if err := os.WriteFile(file, []byte(smallGrid+c.file), 0o666); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"sweep", file, "--engine", "slurm", "--shards", "4", "--out", out}, strings.Fields(c.flags)...)
			var stderr bytes.Buffer
			if code := execute(t.Context(), args, io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "sbatch: enough") {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			script := read(t, filepath.Join(out, "slurm", "task.sh"))
			said := strings.Split(strings.TrimSpace(read(t, filepath.Join(folder, "said"))), "\n")
			var written []string
			for line := range strings.Lines(script) {
				if option, ok := strings.CutPrefix(strings.TrimSpace(line), "#SBATCH "); ok {
					written = append(written, option)
				}
			}
			const always = "--ntasks=1 --requeue --open-mode=append"
			want := strings.Fields(always + " " + c.want)
			if !slices.Equal(written, want) || !slices.Equal(said[1:min(len(said), 1+len(want))], want) { // behind --parsable
				t.Errorf("the script has %q, sbatch is given %q, want %q", written, said, want)
			}
			if !strings.Contains(script, " --workers "+c.width+" --shard ") || strings.Contains(script, "module load x") != (c.file != "") {
				t.Errorf("want %s points at once, and setup where the file has it:\n%s", c.width, script)
			}
		})
	}
}

// TestJobNames: by its job's name a sweep finds its own tasks on the cluster, and no
// other's: not those of another directory, of other points, or of other shards.
func TestJobNames(t *testing.T) {
	f := &sweepFlags{}
	name := func(dir, digest string, shards int) string {
		return f.job(&sweep.Sweep{Dir: dir, Digest: digest, Shards: make([]sweep.Span, shards)}, "/bin/vigorlab").Name
	}
	one := name("/a", "x", 3)
	if again := name("/a", "x", 3); again != one {
		t.Errorf("one sweep has two names, %s and %s", one, again)
	}
	for _, other := range []string{name("/b", "x", 3), name("/a", "y", 3), name("/a", "x", 4)} {
		if other == one {
			t.Errorf("another sweep is %s too", one)
		}
	}
}

// TestDefaultShards: a task has points for a minute, of what they were timed to cost.
func TestDefaultShards(t *testing.T) {
	for _, c := range []struct {
		seconds []float64 // of the points that were timed
		points  int
		want    int
	}{
		{[]float64{0.05, 0.15}, 24, 1},
		{[]float64{1, 3}, 24, 1},
		{[]float64{1, 3}, 100, 4}, // 30 points each, in even shards 25
		{[]float64{40, 50}, 100, 50},
		{[]float64{7200}, 12, 12},
		{[]float64{7200}, 2 * maxShards, maxShards},
		{nil, 12, 12}, // all of them failed
	} {
		e := &sweep.Estimate{}
		for _, s := range c.seconds {
			e.Samples = append(e.Samples, sweep.Sample{Share: 1, Seconds: s})
		}
		if got := shardsOf(e, c.points); got != c.want {
			t.Errorf("%d points, timed to take %v s, make %d tasks, want %d", c.points, c.seconds, got, c.want)
		}
	}
}
