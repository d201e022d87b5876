package parts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Table() {
		if seen[p.Name] || p.For == "" || p.Elsewhere == "" || p.look == nil || p.Needed != Using && p.Needed != Tests {
			t.Errorf("%+v: want a name of its own, what it is for, what brings it, and who needs it", p)
		}
		seen[p.Name] = true
	}
}

// TestPartsOfCI holds that what CI installs is what doctor advises: the packages of
// each line of .ci/parts are those of one part, or some of them.
func TestPartsOfCI(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", ".ci", "parts"))
	if err != nil {
		t.Fatal(err)
	}
	needs := regexp.MustCompile(`(?m)^\s*need '([^']*)' (?:'([^']*)'|(\S+))`).FindAllStringSubmatch(string(content), -1)
	if len(needs) < 7 {
		t.Fatalf("%d lines that begin with need in .ci/parts, want seven at least", len(needs))
	}
	for _, need := range needs {
		packages := strings.Fields(need[2] + need[3])
		if !slices.ContainsFunc(Table(), func(p Part) bool { return subset(packages, strings.Fields(p.Debian)) }) {
			t.Errorf(".ci/parts installs %q for %s, and no part of the table in parts.go has them", packages, need[1])
		}
	}
}

// TestOldNode holds that CI's script does not advise the package that brought a node
// too old for the model server, as Debian 12's is.
func TestOldNode(t *testing.T) {
	ci := filepath.Join("..", "..", "..", "..", ".ci", "parts")
	advice := "apt-get install nodejs npm"
	old := "node 20 or newer, and this is v18.20.4: Debian 13 has it, or nodejs.org"
	for _, c := range []struct {
		programs  []string
		want, not string
	}{
		{nil, advice, old},
		{[]string{"npm"}, advice, old},
		{[]string{"npm", "node"}, old, advice},
	} {
		folder := t.TempDir() // without apt-get nothing is installed
		for _, name := range append(c.programs, "id") {
			text := "#!/bin/sh\n[ \"$1\" = --version ] && echo v18.20.4\n"
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("/bin/sh", ci, "live")
		cmd.Env = []string{"PATH=" + folder}
		out, err := cmd.CombinedOutput()
		if got := string(out); err != nil || !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("with %q it says %q (%v), want %q and not %q", c.programs, got, err, c.want, c.not)
		}
	}
}

// TestPackageRefused holds that one package that cannot be installed keeps no other
// away, as npm does where nodejs is not Debian's and has it inside.
func TestPackageRefused(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"id":      "echo 0",
		"apt-get": `case "$*" in *npm*) exit 100 ;; *install*) echo "$*" >>"${0%/*}/installed" ;; esac`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh", filepath.Join("..", "..", "..", "..", ".ci", "parts"))
	cmd.Env = []string{"PATH=" + folder}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	installed, err := os.ReadFile(filepath.Join(folder, "installed"))
	if err != nil {
		t.Fatal("nothing was installed: ", err)
	}
	for _, name := range []string{"nodejs", "bubblewrap", "chromium", "gcc"} {
		if !strings.Contains(string(installed), " "+name+"\n") {
			t.Errorf("%s was not installed for itself: %s", name, installed)
		}
	}
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// script puts a program on an otherwise empty PATH.
func script(t *testing.T, name, text string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
}

func TestProgram(t *testing.T) {
	for _, c := range []struct{ text, version, err string }{
		{"echo tool 1.2.3-rc1, of 2026", "1.2.3-rc1", ""},
		{"echo version v20.1.0 >&2", "20.1.0", ""},
		{"echo a tool", "", ""},
		{"echo 1.2; exit 3", "", "does not run: exit status 3"},
	} {
		script(t, "tool", c.text)
		version, err := program("tool")(context.Background())
		if version != c.version || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: version %q, %v; want %q, %q", c.text, version, err, c.version, c.err)
		}
	}
	if _, err := program("nobody")(context.Background()); err == nil || err.Error() != "no nobody on PATH" {
		t.Errorf("a program that is not there: %v", err)
	}
	if version, err := anyProgram("nobody", "tool")(context.Background()); version != "" || err == nil {
		t.Errorf("the second name: %q, %v, want the error of the program that fails", version, err)
	}
}

func TestCluster(t *testing.T) {
	script(t, "sbatch", "echo slurm-wlm 22.05.8")
	if version, err := cluster(context.Background()); version != "22.05.8" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	script(t, "sbatch", "echo no configuration >&2; exit 1")
	if _, err := cluster(context.Background()); err == nil || !strings.Contains(err.Error(), "sbatch finds no cluster") {
		t.Errorf("a machine of no cluster: %v", err)
	}
}

// TestTalks holds that of a program that talks much a bounded start is kept, with its
// version.
func TestTalks(t *testing.T) {
	script(t, "tool", `echo tool 1.2.3; i=0; while [ $i -lt 3000 ]; do echo "`+strings.Repeat("x", 99)+`"; i=$((i+1)); done`)
	path, err := exec.LookPath("tool")
	if err != nil {
		t.Fatal(err)
	}
	said, err := run(context.Background(), path)
	if err != nil || len(said) != 64<<10 {
		t.Errorf("%d bytes are kept, %v, want %d", len(said), err, 64<<10)
	}
	if version, err := program("tool")(context.Background()); version != "1.2.3" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
}

// TestHangs holds that a program that hangs is given up, also where what it started
// goes on and keeps its output open.
func TestHangs(t *testing.T) {
	script(t, "tool", `while [ -e "$0" ]; do /bin/sleep 0.1; done & echo >"$0.runs"; wait`)
	path, err := exec.LookPath("tool")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := program("tool")(ctx)
		done <- err
	}()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path + ".runs"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the program does not start")
		}
	}
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a program that hangs has no error")
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits for a program that hangs")
	}
}

func TestModules(t *testing.T) {
	script(t, "snake", "echo one 1.0; echo two -")
	if _, err := modules("snake", "one", "two")(context.Background()); err == nil || !strings.HasPrefix(err.Error(), "no two of ") {
		t.Errorf("a module is missing: %v", err)
	}
	script(t, "snake", "echo one 1.0; echo two 2.5")
	if version, err := modules("snake", "one", "two")(context.Background()); version != "one 1.0, two 2.5" || err != nil {
		t.Errorf("%q, %v", version, err)
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"MemTotal:        2048 kB\nMemFree:  1 kB\n", 2 << 20},
		{"MemFree:  1 kB\nMemTotal: 1 kB\n", 1 << 10},
		{"MemTotal: many kB\n", 0},
		{"", 0},
	} {
		path := filepath.Join(t.TempDir(), "meminfo")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := memory(path); got != c.want {
			t.Errorf("%q is %d bytes, want %d", c.text, got, c.want)
		}
	}
	if got := memory(filepath.Join(t.TempDir(), "none")); got != 0 {
		t.Errorf("without a file %d bytes, want 0", got)
	}
	if m := Here(); m.Cores < 1 {
		t.Errorf("%d cores", m.Cores)
	}
}

// TestRepository finds the parts that are of a checkout only inside one.
func TestRepository(t *testing.T) {
	if _, err := repository(); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("VIGORLAB_SHARED", "")
	if _, err := repository(); err == nil {
		t.Error("a repository in an empty folder")
	}
	if _, err := sharedFolder(context.Background()); err == nil {
		t.Error("shared data in an empty folder")
	}
	t.Setenv("VIGORLAB_SHARED", folder)
	if err := os.Mkdir("data", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := sharedFolder(context.Background()); err != nil {
		t.Error(err)
	}
}
