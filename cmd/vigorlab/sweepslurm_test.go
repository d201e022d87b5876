//go:build !race

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vigorlab/cmd/internal/cluster"
)

// TestSweepOnSlurm runs sweeps on a real cluster of three nodes, and hits it in every way:
// their table always has the bytes of the same sweep on this machine. Nothing in it is
// random; every step waits for the one before.
func TestSweepOnSlurm(t *testing.T) {
	nodes := cluster.Start(t)
	small := newGrid(t, "[0.3, 0.5]", 8)
	t.Run("three nodes", func(t *testing.T) {
		large := newGrid(t, "{from = 0.2, to = 0.7, step = 0.1}", 24)
		large.finish(t, large.sweep(t))
	})
	t.Run("two points at once", func(t *testing.T) { small.finish(t, small.sweep(t, "--cpus", "2", "--shards", "3")) })
	t.Run("node", func(t *testing.T) { testLostNode(t, small, nodes) })
	t.Run("killed", func(t *testing.T) { testKilledSweep(t, small, nodes) })
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
	hearInterrupts()
	args := append([]string{"sweep", g.file, "--engine", engineSlurm, "--out", out, "--shards", fmt.Sprint(g.points)}, more...)
	r := &slurmRun{cmd: exec.Command("vigorlab", args...), out: out, stderr: new(spoken), ended: make(chan error, 1)}
	r.cmd.Stderr = r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			_ = r.cmd.Process.Kill()
			t.Logf("the sweep said:\n%s", r.stderr)
		}
	})
	return r
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

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s in %v", what, patience)
		}
	}
}

// allPlaces is how many tasks the cluster runs at once.
const allPlaces = 6

// testLostNode kills a node with its tasks, which are begun again on the others.
func testLostNode(t *testing.T, g *grid, nodes *cluster.Cluster) {
	g.hold(t)
	r := g.sweep(t)
	until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	nodes.Kill(t, cluster.N2)
	g.let(t)
	until(t, "tasks that are begun again", func() bool { return strings.Contains(r.stderr.String(), "lost its node, and is begun again") })
	nodes.Begin(t, cluster.N2)
	g.finish(t, r)
	if lost, all := g.begins(" n2"), g.begins(""); lost < 2 || all < g.points+2 {
		t.Errorf("%d tasks began on n2, %d in all; want 2, and %d at least", lost, all, g.points+2)
	}
}

// testKilledSweep kills the sweep itself and begins the controller again. The same
// command finds the tasks, and begins none twice.
func testKilledSweep(t *testing.T, g *grid, nodes *cluster.Cluster) {
	g.hold(t)
	r := g.sweep(t)
	until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.end(t)
	nodes.Stop(t, cluster.Controller)
	nodes.Begin(t, cluster.Controller)
	again := g.sweepInto(t, r.out)
	until(t, "a word on tasks that run", func() bool { return strings.Contains(again.stderr.String(), "8 of 8 tasks wait or run already") })
	nodes.Stop(t, cluster.Controller)
	g.let(t)
	until(t, "shards without a controller", func() bool { return manifests(r.out) == allPlaces })
	nodes.Begin(t, cluster.Controller)
	g.finish(t, again)
	if n := g.begins(""); n != g.points {
		t.Errorf("%d tasks were begun, want %d", n, g.points)
	}
}

// testInterrupts sends Ctrl-C: the tasks go on, and the same command finds them; where
// it is asked to, they are cancelled.
func testInterrupts(t *testing.T, g *grid) {
	g.hold(t)
	r := g.sweep(t)
	until(t, "six tasks", func() bool { return g.begins("") == allPlaces })
	interruptRun(t, r, "tasks go on on the cluster")
	if n := queued(t); n != g.points {
		t.Errorf("%d tasks wait or run, want %d", n, g.points)
	}
	again := g.sweepInto(t, r.out, "--cancel-on-interrupt")
	until(t, "a word on tasks that run", func() bool { return strings.Contains(again.stderr.String(), "8 of 8 tasks wait or run already") })
	interruptRun(t, again, "give the same command again to go on")
	until(t, "the end of all tasks", func() bool { return queued(t) == 0 })
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
	until(t, "all shards", func() bool { return manifests(out) == g.points })
	command(t, "sweep", "merge", out)
	g.same(t, out)
}
