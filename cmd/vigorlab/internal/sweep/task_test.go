package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripted returns a sweep of one shard whose points are scripts of a shell, run in a
// folder of their own.
func scripted(t *testing.T, scripts ...string) *Sweep {
	t.Helper()
	var batch []string
	for i := range scripts {
		batch = append(batch, fmt.Sprint(i+1))
	}
	s := storedPlan(t, "command = \"simulate\"\ngrid.batch = ["+strings.Join(batch, ", ")+"]", 1)
	s.Folder = t.TempDir()
	for i, script := range scripts {
		s.Points[i].Words = []string{"-c", script}
	}
	return s
}

const shell = "/bin/sh"

// prints is a script that prints a figure.
func prints(value int) string {
	return fmt.Sprintf("printf 'population,strategy,figure,value,replicates,seed\\nuniform,vigor,eta,%d,5,1\\n'", value)
}

// table returns the rows of all shards.
func table(t *testing.T, s *Sweep) string {
	t.Helper()
	var b bytes.Buffer
	must(t, s.WriteCSV(&b))
	_, rows, _ := strings.Cut(b.String(), "\n")
	return rows
}

// TestRunKeepsTheOrder: rows are in the order of points, also where a point ends when
// those behind it have: the first waits until the process of the second is gone.
func TestRunKeepsTheOrder(t *testing.T) {
	s := scripted(t, "until [ -e second ] && ! kill -0 $(cat second) 2>/dev/null; do sleep 0.01; done; "+prints(1), "echo $$ >new; mv new second; "+prints(2))
	must(t, s.Run(t.Context(), shell, 1, 2))
	if got, want := table(t, s), "1,1,uniform,vigor,eta,1,5,1,\n2,2,uniform,vigor,eta,2,5,1,\n"; got != want {
		t.Errorf("rows are\n%swant\n%s", got, want)
	}
}

// TestInterruptedPoint: a point that was interrupted, as the scheduler of a cluster does
// with all processes of a task, has not failed: its shard has not been run.
func TestInterruptedPoint(t *testing.T) {
	s := scripted(t, prints(1), "exit 130")
	if err := s.Run(t.Context(), shell, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the shard was interrupted", err)
	}
	if shards, _, err := s.Scan(); err != nil || !shards[0].Absent {
		t.Errorf("%+v, %v: want a shard that has not been run", shards, err)
	}
}

// TestKilledPoint: a point that is killed is begun again, three times in all.
func TestKilledPoint(t *testing.T) {
	for kills, want := range map[int]string{
		2: "1,1,uniform,vigor,eta,7,5,1,\n",
		3: "1,1,,,,,,,signal: killed\n",
	} {
		s := scripted(t, fmt.Sprintf("echo >>begun; [ $(wc -l <begun) -gt %d ] || kill -9 $$; ", kills)+prints(7))
		must(t, s.Run(t.Context(), shell, 1, 1))
		if got := table(t, s); got != want {
			t.Errorf("killed %d times: %q, want %q", kills, got, want)
		}
		if n := strings.Count(string(contentOf(t, filepath.Join(s.Folder, "begun"))), "\n"); n != 3 {
			t.Errorf("begun %d times, want 3", n)
		}
	}
}

// TestManifestIsLast: where the rows of a shard cannot be written, no manifest says that
// they are there.
func TestManifestIsLast(t *testing.T) {
	s := scripted(t, prints(1))
	must(t, os.MkdirAll(s.file(1, "parquet"), 0o777))
	if err := s.Run(t.Context(), shell, 1, 1); err == nil {
		t.Error("a directory was replaced")
	}
	if _, err := os.Stat(s.file(1, "json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a manifest is there: %v", err)
	}
}

// TestFailedTaskIsTheLast: no task is begun behind one that fails, as on a full disk.
func TestFailedTaskIsTheLast(t *testing.T) {
	fails, err := exec.LookPath("false")
	must(t, err)
	err = (&Local{Executable: fails, Workers: 1}).Run(t.Context(), []Task{{Shard: 1}, {Shard: 2}, {Shard: 3}})
	if err == nil || err.Error() != "shard 0001: exit status 1" {
		t.Errorf("error %v, want that of shard 1 alone", err)
	}
}

// TestWriteFileAtOnce: a file is replaced under its name and never written in place, so
// that whoever reads the earlier one reads it to its end.
func TestWriteFileAtOnce(t *testing.T) {
	dir := t.TempDir()
	path, earlier := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	must(t, writeFile(path, []byte("first")))
	must(t, os.Link(path, earlier))
	must(t, writeFile(path, []byte("second")))
	if got := string(contentOf(t, earlier)) + ", " + string(contentOf(t, path)); got != "first, second" {
		t.Errorf("the earlier file and the new one hold %s", got)
	}
}
