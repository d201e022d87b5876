package cluster

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// number waits for the file that has the number of a process, and returns that.
func (c *Cluster) number(t *testing.T, name string) int {
	t.Helper()
	for late := time.Now().Add(Patience); time.Now().Before(late); time.Sleep(time.Millisecond) {
		content, _ := os.ReadFile(filepath.Join(c.dir, "pid", name)) // none yet
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			return pid
		}
	}
	t.Fatalf("no process %s in %v", name, Patience)
	return 0
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestKilledStart kills the script that starts a cluster while it does: every part that
// it has begun ends by itself.
func TestKilledStart(t *testing.T) {
	for _, stage := range []string{"guard", "munge", N2} {
		t.Run(stage, func(t *testing.T) {
			c := prepare(t)
			cmd := exec.Command(c.script, "up", c.dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			c.number(t, stage)
			kill(t, cmd.Process.Pid)
			_ = cmd.Wait() // it was killed
			if _, err := os.Stat(filepath.Join(c.dir, "pid", "stands")); err == nil {
				return // too late: the cluster stands, and ends with this test
			}
			c.ends(t)
			if _, err := os.Stat(filepath.Join(c.dir, "pid", "guard")); !os.IsNotExist(err) {
				t.Errorf("the guard has left its number, which may be another's by now: %v", err)
			}
		})
	}
}

// TestKilledCaller kills the shell that has started a cluster, with its process group:
// the cluster ends by itself.
func TestKilledCaller(t *testing.T) {
	c := prepare(t)
	cmd := exec.Command("sh", "-c", `"$0" up "$1" && sleep 3600`, c.script, c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n') // the cluster stands
	kill(t, -cmd.Process.Pid)
	_ = cmd.Wait() // it was killed
	if err != nil || !strings.HasPrefix(line, "export SLURM_CONF=") {
		t.Fatalf("it says %q, %v; want what to set", line, err)
	}
	c.ends(t)
}

// TestKilledNamespace kills what holds the namespaces of two parts: the parts end with it,
// and the cluster with munge.
func TestKilledNamespace(t *testing.T) {
	c := prepare(t)
	c.do(t, "up")
	for _, part := range []string{N1, "munge"} {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.number(t, part)))
		if err != nil {
			t.Fatal(err)
		}
		var parent int
		if _, err := fmt.Sscan(strings.SplitN(string(stat), ") ", 2)[1][2:], &parent); err != nil { // behind the name and the state
			t.Fatal(err)
		}
		kill(t, parent)
	}
	c.ends(t)
}

// TestPorts: a cluster takes no port that another has.
func TestPorts(t *testing.T) {
	look(t)
	script, err := script()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", `source <(sed '/^usage=/,$d' "$0"); ports; read -r _; ports`, script)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var first, second int
	if _, err := fmt.Fscan(out, &first); err != nil {
		t.Fatal(err)
	}
	taken := first + 2
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", taken))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	fmt.Fprintln(in)
	if _, err := fmt.Fscan(out, &second); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || second <= taken && taken <= second+3 {
		t.Errorf("%v: ports %d to %d, though %d is taken", err, second, second+3, taken)
	}
}
