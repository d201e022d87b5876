// Package cluster starts a Slurm cluster on this machine, for tests alone: a controller
// and three nodes of two processors on loopback. It refuses to submit anything.
package cluster

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The parts of a cluster.
const (
	Controller = "controller"
	N1         = "n1"
	N2         = "n2"
	N3         = "n3"
)

// A Cluster is a running cluster, that the subtests of a test share.
type Cluster struct{ script, dir string }

// Start starts a cluster, which ends with the test, and makes it the one of Slurm's
// commands. Where parts of it are missing the test is skipped, or fails where skipping
// is forbidden.
func Start(t *testing.T) *Cluster {
	t.Helper()
	c := prepare(t)
	c.do(t, "up")
	t.Setenv("SLURM_CONF", filepath.Join(c.dir, "slurm.conf"))
	return c
}

// prepare returns a cluster that is not started. What is started of it ends with the
// test.
func prepare(t *testing.T) *Cluster {
	t.Helper()
	look(t)
	script, err := script()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "slurm") // a short path: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{script, dir}
	t.Cleanup(func() {
		c.do(t, "down")
		c.ends(t)
		if t.Failed() {
			t.Logf("the controller's last words:\n%s", c.said("slurmctld"))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

// look skips or fails a test where the parts of a cluster are missing.
func look(t *testing.T) {
	t.Helper()
	missing := ""
	for _, program := range []string{"slurmctld", "slurmd", "munged", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = "no " + program + ": apt-get install slurm-wlm munge"
		}
	}
	if os.Geteuid() != 0 {
		missing = "a Slurm cluster takes root"
	}
	if missing == "" {
		return
	}
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// script returns the path of .ci/slurm, in the repository that the test runs in.
func script() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".ci", "slurm")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no .ci/slurm at or above the working directory")
		}
	}
	return "", err
}

// Kill ends a part as a power cut does, with the jobs there.
func (c *Cluster) Kill(t *testing.T, part string) { t.Helper(); c.do(t, "kill", part) }

// Stop asks a part to end, and waits for it.
func (c *Cluster) Stop(t *testing.T, part string) { t.Helper(); c.do(t, "stop", part) }

// Begin begins a part again.
func (c *Cluster) Begin(t *testing.T, part string) { t.Helper(); c.do(t, "start", part) }

// do runs the script.
func (c *Cluster) do(t *testing.T, verb string, part ...string) {
	t.Helper()
	cmd := exec.Command(c.script, append([]string{verb, c.dir}, part...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Errorf("slurm %s %s: %v\n%s", verb, strings.Join(part, " "), err, &said)
		if verb != "down" {
			t.FailNow()
		}
	}
}

// ends waits until no process of the cluster is left: its folder is in the command line of
// each.
func (c *Cluster) ends(t *testing.T) {
	t.Helper()
	left := c.processes()
	for late := time.Now().Add(Patience); len(left) > 0; left = c.processes() {
		if time.Now().After(late) {
			t.Errorf("%v after the cluster's end there still are\n%s", Patience, strings.Join(left, "\n"))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Patience is how long a test waits for what must come: the machine may be busy.
const Patience = 5 * time.Minute

// Until waits for a condition, and ends the test where it does not come.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("no sign of %s in %v", what, Patience)
		}
	}
}

// processes returns the command lines of the cluster's processes.
func (c *Cluster) processes() []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // of a sound pattern
	for _, path := range paths {
		line, _ := os.ReadFile(path) // empty where the process has ended, an error where it is gone
		if bytes.Contains(line, []byte(c.dir)) {
			found = append(found, filepath.Dir(path)+": "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// said returns the end of a part's log.
func (c *Cluster) said(name string) string {
	content, err := os.ReadFile(filepath.Join(c.dir, "log", name))
	if err != nil {
		return err.Error()
	}
	const longest = 4000 // bytes
	return string(content[max(0, len(content)-longest):])
}
