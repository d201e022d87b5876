//go:build !race

package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vigorlab/cmd/internal/cluster"
)

// TestCluster runs jobs on a real cluster of three nodes. Nothing in it is random: what
// happens when depends on the machine, and every step waits for the one before.
func TestCluster(t *testing.T) {
	nodes := cluster.Start(t)
	t.Run("loopback", testLoopback)
	t.Run("arrays", testArrays)
	t.Run("failures", testFailures)
	t.Run("attach", testAttach)
	t.Run("node", testNode)
	t.Run("requeue", testRequeue)
	t.Run("controller", func(t *testing.T) { testController(t, nodes) })
	t.Run("cancel", testCancel)
	t.Run("refusals", testRefusals)
	t.Run("waiting", testWaiting)
	t.Run("silence", func(t *testing.T) { testSilence(t, nodes) })
}

// A trial is a job of shell scripts in a folder of its own.
type trial struct {
	Job
	folder string

	mutex   sync.Mutex
	notices []string
	last    Progress
}

// newTrial returns a job whose tasks run a script with the number as $1, in the trial's
// folder. A script leaves the file done.NUMBER.
func newTrial(t *testing.T, script string) *trial {
	t.Helper()
	folder := t.TempDir()
	name := "test-" + strings.ToLower(filepath.Base(filepath.Dir(folder)))
	command := []string{"/bin/sh", "-c", "cd '" + folder + "'; echo begin >>begun.$1; " + script, "task"}
	r := &trial{Job: Job{Name: name, Command: command, Dir: filepath.Join(folder, "slurm")}, folder: folder}
	t.Cleanup(func() {
		if t.Failed() { // what still runs would be in the way of the tests to come
			_ = r.Cancel(context.Background(), upTo(1, 30))
		}
	})
	return r
}

// waits is a script that waits for the file go, and then is done.
const waits = "while [ ! -e go ]; do sleep 0.1; done; : >done.$1"

func (r *trial) path(name string, number int) string {
	return filepath.Join(r.folder, fmt.Sprintf("%s.%d", name, number))
}

func (r *trial) done(number int) bool {
	_, err := os.Stat(r.path("done", number))
	return err == nil
}

// begun returns how often a task was begun.
func (r *trial) begun(number int) int {
	content, _ := os.ReadFile(r.path("begun", number)) // none: 0
	return strings.Count(string(content), "\n")
}

// let lets tasks that wait go on.
func (r *trial) let(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

func (r *trial) notice(text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.notices = append(r.notices, text)
}

func (r *trial) said(text string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.ContainsFunc(r.notices, func(n string) bool { return strings.Contains(n, text) })
}

func (r *trial) show(p Progress) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.last = p
}

func (r *trial) progress() Progress {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last
}

// start runs the job in the background.
func (r *trial) start(ctx context.Context, tasks []int) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, tasks, Watch{Done: r.done, Show: r.show, Notice: r.notice}) }()
	return ended
}

// end waits for the end of a run.
func end(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(cluster.Patience):
		t.Fatal("the job does not end")
		return nil
	}
}

// upTo returns first, ..., last.
func upTo(first, last int) []int {
	var all []int
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// testLoopback holds that the controller and the nodes listen on 127.0.0.1 alone.
func testLoopback(t *testing.T) {
	conf, err := os.ReadFile(os.Getenv("SLURM_CONF"))
	if err != nil {
		t.Fatal(err)
	}
	var first int64 // of the controller's port and the three of the nodes
	_, after, _ := strings.Cut(string(conf), "SlurmctldPort=")
	if _, err := fmt.Sscan(after, &first); err != nil {
		t.Fatal(err)
	}
	listening := 0
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, _ := os.ReadFile(path) // none without IPv6
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line) // number, local address, remote address, state
			if len(fields) < 4 || fields[3] != "0A" {
				continue
			}
			address, text, _ := strings.Cut(fields[1], ":")
			port, err := strconv.ParseInt(text, 16, 32)
			if err != nil || port < first || port > first+3 {
				continue
			}
			if listening++; address != "0100007F" {
				t.Errorf("port %d listens on %s, want 0100007F, which is 127.0.0.1", port, address)
			}
		}
	}
	if listening != 4 {
		t.Errorf("%d ports from %d listen, want 4", listening, first)
	}
}

// testArrays runs more tasks than one array of the cluster has, with gaps.
func testArrays(t *testing.T) {
	r := newTrial(t, ": >done.$1")
	r.Time, r.Memory, r.CPUs, r.Partition = "5", "100M", 1, "local"
	r.Setup = []string{"export VALUE='a b'", `[ "$VALUE" = 'a b' ] || exit 9`}
	tasks := append(upTo(1, 4), upTo(19, 25)...)
	if err := end(t, r.start(context.Background(), tasks)); err != nil {
		t.Fatal(err)
	}
	if want := (Progress{Ended: len(tasks)}); r.progress() != want {
		t.Errorf("at the end %+v, want %+v", r.progress(), want)
	}
	for n := range 30 {
		if want := slices.Contains(tasks, n); r.done(n) != want {
			t.Errorf("task %d was run: %v, want %v", n, r.done(n), want)
		}
	}
	if logs, _ := filepath.Glob(filepath.Join(r.Dir, "*.log")); len(logs) > 0 {
		t.Errorf("empty logs stay: %q", logs)
	}
}

// testFailures holds that the error of a task that fails has its last words, and that
// others do not suffer.
func testFailures(t *testing.T) {
	r := newTrial(t, `[ $1 != 2 ] || { echo first; echo no more memory >&2; exit 3; }; : >done.$1`)
	err := end(t, r.start(context.Background(), upTo(1, 3)))
	var failed *EndError
	if !errors.As(err, &failed) || failed.Task != 2 || !strings.Contains(failed.Why, "ended as FAILED: no more memory (") {
		t.Errorf("%v, want that task 2 FAILED, and its last words", err)
	}
	if !r.done(1) || !r.done(3) || r.begun(2) != 1 {
		t.Errorf("task 2 was begun %d times, want once; the others are done: %v, %v", r.begun(2), r.done(1), r.done(3))
	}
}

// testAttach ends a run as an interrupt does. The next one finds the tasks, and begins
// only what is of no array.
func testAttach(t *testing.T) {
	r := newTrial(t, waits)
	ctx, cancel := context.WithCancel(context.Background())
	ended := r.start(ctx, upTo(1, 3))
	cluster.Until(t, "three tasks", func() bool { return r.begun(1)+r.begun(2)+r.begun(3) == 3 })
	cancel()
	if err := end(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it is cancelled", err)
	}
	ended = r.start(context.Background(), upTo(1, 4))
	cluster.Until(t, "the fourth task", func() bool { return r.begun(4) == 1 })
	r.let(t)
	if err := end(t, ended); err != nil {
		t.Error(err)
	}
	for n := 1; n <= 4; n++ {
		if r.begun(n) != 1 {
			t.Errorf("task %d was begun %d times, want once", n, r.begun(n))
		}
	}
	if !r.said("3 of 4 tasks wait or run already") {
		t.Errorf("it says %q, want that 3 of 4 tasks run already", r.notices)
	}
}

// testNode takes a node out of service: its tasks are begun again, elsewhere and at
// once, where Slurm alone would hold them back for two minutes.
func testNode(t *testing.T) {
	r := newTrial(t, `: >"node.$1.$SLURMD_NODENAME"; `+waits)
	tasks := upTo(1, 6) // all places of the cluster
	ended := r.start(context.Background(), tasks)
	cluster.Until(t, "six tasks", func() bool { nodes, _ := filepath.Glob(filepath.Join(r.folder, "node.*")); return len(nodes) == 6 })
	scontrol(t, "update", "NodeName=n2", "State=DOWN", "Reason=test")
	cluster.Until(t, "the lost tasks", func() bool { return r.said("is begun again") })
	cluster.Until(t, "the node's return", func() bool {
		_ = exec.Command("scontrol", "update", "NodeName=n2", "State=RESUME").Run() // refused where it is back by itself
		said, _ := exec.Command("sinfo", "--noheader", "--nodes=n2", "--format=%T").Output()
		return !strings.HasPrefix(string(said), "down")
	})
	r.let(t)
	if err := end(t, ended); err != nil {
		t.Error(err)
	}
	for _, n := range tasks {
		_, err := os.Stat(fmt.Sprintf("%s.n2", r.path("node", n)))
		if onN2 := err == nil; onN2 != (r.begun(n) > 1) {
			t.Errorf("task %d began on n2: %v, and was begun %d times", n, onN2, r.begun(n))
		}
	}
}

// testRequeue puts a task that runs back into the queue, as the cluster does where a job
// that comes first needs its place: it is begun again, at once.
func testRequeue(t *testing.T) {
	r := newTrial(t, waits)
	ended := r.start(context.Background(), []int{1})
	cluster.Until(t, "the task", func() bool { return r.begun(1) == 1 })
	id, err := exec.Command("squeue", "--noheader", "--array", "--name="+r.name(0), "--format=%i").Output()
	if err != nil {
		t.Fatal(err)
	}
	scontrol(t, "requeue", strings.TrimSpace(string(id)))
	cluster.Until(t, "its second time", func() bool { return r.begun(1) == 2 })
	r.let(t)
	if err := end(t, ended); err != nil || !r.said("task 1 lost its node, or its place to another job, and is begun again") {
		t.Errorf("%v; it says %q", err, r.notices)
	}
}

func scontrol(t *testing.T, args ...string) {
	t.Helper()
	if said, err := exec.Command("scontrol", args...).CombinedOutput(); err != nil {
		t.Fatalf("scontrol %q: %v\n%s", args, err, said)
	}
}

// testController begins the controller again while tasks run, and end without it. (One
// that is killed forgets numbers that it has given, and takes nodes out of service.)
func testController(t *testing.T, nodes *cluster.Cluster) {
	r := newTrial(t, waits)
	tasks := upTo(1, 8)
	ended := r.start(context.Background(), tasks)
	cluster.Until(t, "six tasks", func() bool {
		n := 0
		for _, task := range tasks {
			n += min(1, r.begun(task))
		}
		return n == 6
	})
	nodes.Stop(t, cluster.Controller)
	r.let(t)
	cluster.Until(t, "tasks that end without it", func() bool { return r.done(1) })
	nodes.Begin(t, cluster.Controller)
	if err := end(t, ended); err != nil {
		t.Error(err)
	}
	for _, n := range tasks {
		if !r.done(n) {
			t.Errorf("task %d is not done", n)
		}
	}
}

// testCancel cancels tasks that run and tasks that wait.
func testCancel(t *testing.T) {
	r := newTrial(t, waits)
	tasks := upTo(1, 25)
	ended := r.start(context.Background(), tasks)
	cluster.Until(t, "two arrays", func() bool { p := r.progress(); return p.Waiting+p.Running == len(tasks) && r.begun(1) == 1 })
	if err := r.Cancel(context.Background(), tasks); err != nil {
		t.Fatal(err)
	}
	err := end(t, ended)
	if err == nil || strings.Count(err.Error(), "ended as CANCELLED") != len(tasks) {
		t.Errorf("%v, want that %d tasks are CANCELLED", err, len(tasks))
	}
}

// testRefusals holds that what sbatch refuses is an error with a hint.
func testRefusals(t *testing.T) {
	for _, c := range []struct {
		change     func(*Job)
		said, hint string
	}{
		{func(j *Job) { j.Partition = "nowhere" }, "invalid partition", "sinfo"},
		{func(j *Job) { j.Memory = "400G" }, "node configuration is not available", "--memory"},
	} {
		r := newTrial(t, ": >done.$1")
		c.change(&r.Job)
		err := end(t, r.start(context.Background(), []int{1}))
		var refused *CommandError
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), c.said) || !strings.Contains(refused.Hint, c.hint) {
			t.Errorf("%v, want an error that says %q, and a hint of %q", err, c.said, c.hint)
		}
	}
}

// testWaiting holds that a user hears of a reason to wait that will not end.
func testWaiting(t *testing.T) {
	r := newTrial(t, ": >done.$1")
	r.CPUs = 64
	ended := r.start(context.Background(), []int{1})
	cluster.Until(t, "a word on why it waits", func() bool { return r.said("task 1 waits for PartitionConfig") })
	if err := r.Cancel(context.Background(), []int{1}); err != nil {
		t.Error(err)
	}
	if err := end(t, ended); err == nil {
		t.Error("it ends well")
	}
}

// testSilence holds that a cluster that does not answer from the first is an error.
func testSilence(t *testing.T, nodes *cluster.Cluster) {
	nodes.Stop(t, cluster.Controller)
	r := newTrial(t, ": >done.$1")
	err := end(t, r.start(context.Background(), []int{1}))
	var refused *CommandError
	if !errors.As(err, &refused) || !strings.Contains(refused.Hint, "scontrol ping") {
		t.Errorf("%v, want an error with a hint", err)
	}
}
