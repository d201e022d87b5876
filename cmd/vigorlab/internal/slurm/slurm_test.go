package slurm

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	for _, good := range []Options{
		{},
		{Account: "lab-7", Partition: "cpu,gpu", Time: "1-12:30:00", Memory: "4G", CPUs: 4, Setup: []string{"module load x"}},
		{Time: "30"},
		{Time: "infinite", Memory: "500"},
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	bad := Options{Account: "a b", Partition: "-p", Time: "soon", Memory: "4 gigs", CPUs: -1, Setup: []string{"a\nb"}}
	err := bad.Check()
	for _, want := range []string{`account = "a b", want`, `partition = "-p"`, `time = "soon"`, `memory = "4 gigs", want a whole number`, "cpus = -1, want [1, 65536]", `setup = "a\nb"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// TestArrays holds that arrays, as sbatch reads their indices, are the tasks: each once,
// in the array that is its own whatever the others are.
func TestArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 30).Draw(t, "size")
		tasks := rapid.SliceOfNDistinct(rapid.IntRange(0, 100), 0, 40, rapid.ID[int]).Draw(t, "tasks")
		slices.Sort(tasks)
		var got []int
		for _, a := range arrays(tasks, size) {
			if a.base%size != 0 {
				t.Fatalf("base %d of arrays of %d", a.base, size)
			}
			for _, i := range indices(t, a.spec()) {
				if i >= size {
					t.Fatalf("index %d of %d", i, size)
				}
				got = append(got, a.base+i)
			}
		}
		if !slices.Equal(got, tasks) && len(tasks) > 0 {
			t.Fatalf("tasks %v, want %v", got, tasks)
		}
	})
	if got := (array{indices: []int{0, 1, 2, 5, 7, 8}}).spec(); got != "0-2,5,7-8" {
		t.Errorf("%s, want 0-2,5,7-8", got)
	}
}

// indices reads what sbatch is given.
func indices(t *rapid.T, spec string) []int {
	var all []int
	for _, part := range strings.Split(spec, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		for i := number(t, from); i <= number(t, to); i++ {
			all = append(all, i)
		}
	}
	return all
}

func number(t *rapid.T, digits string) int {
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			t.Fatalf("%q is no number", digits)
		}
		n = 10*n + int(d-'0')
	}
	return n
}

// TestScript runs the script as Slurm would, in a folder whose name needs quotes.
func TestScript(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's 100% $HOME")
	j := Job{
		Name: "x", Dir: folder, Command: []string{"/bin/sh", "-c", `printf '%s|' "$@" >"$0"`, filepath.Join(folder, "said"), "a b", "--shard"},
		Options: Options{Account: "lab", Partition: "cpu", Time: "30", Memory: "4G", CPUs: 2, Setup: []string{"cd /"}},
	}
	if err := j.WriteScript(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(j.ScriptFile(), "40")
	cmd.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID=2")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "said")); string(got) != "a b|--shard|42|" || err != nil {
		t.Errorf("the task is given %q, %v, want the number 42 last", got, err)
	}
	text, err := j.Script()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--account=lab", "--partition=cpu", "--time=30", "--mem=4G", "--cpus-per-task=2", "--requeue"} {
		if !strings.Contains(text, "\n#SBATCH "+want+"\n") {
			t.Errorf("no %s in the script:\n%s", want, text)
		}
	}
	if plain, _ := (Job{Command: []string{"true"}}).Script(); strings.Contains(plain, "account") || strings.Contains(plain, "mem=") || strings.Contains(plain, "cpus") {
		t.Errorf("options that nobody gave:\n%s", plain)
	}
	line := strings.Join(j.Lines([]int{1, 2, 3, 1000}), "\n")
	for _, want := range []string{"sbatch --array=1-3 --job-name=x.0 ", "sbatch --array=0 --job-name=x.1000 ", `s 100%% $HOME/%A_%a.log'`, " 1000"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in\n%s", want, line)
		}
	}
}

func TestLatest(t *testing.T) {
	old, done := entry{job: 1, state: "RUNNING"}, entry{job: 2, state: "FAILED"}
	again := entry{job: 3, state: "PENDING"}
	for _, c := range []struct {
		entries []entry
		job     int
		want    entry
		found   bool
	}{
		{nil, 0, entry{}, false},
		{[]entry{done}, 0, entry{}, false}, // of an earlier sitting
		{[]entry{done}, 2, done, true},
		{[]entry{old, done}, 2, old, true}, // it runs all the same
		{[]entry{done, old, again}, 2, again, true},
		{[]entry{again, old}, 0, again, true},
	} {
		if got, found := latest(c.entries, c.job); got != c.want || found != c.found {
			t.Errorf("%v, array %d: %v, %v; want %v, %v", c.entries, c.job, got, found, c.want, c.found)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]entry{
		"x.0|12|3|PENDING|BeginTime":  {12, 3, "PENDING", "BeginTime"},
		"x.0|12|N/A|CANCELLED|None":   {12, -1, "CANCELLED", "None"},
		"x.0|1|0|PENDING|(a|strange)": {1, 0, "PENDING", "(a|strange)"},
	} {
		if name, got, err := parse(line); name != "x.0" || !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%s: %q, %v, %v; want %v", line, name, got, err, want)
		}
	}
	for _, line := range []string{"", "x|1|2", "x|one|2|RUNNING|", "x|1|two|RUNNING|"} {
		if _, _, err := parse(line); err == nil || !strings.Contains(err.Error(), "squeue: it printed") {
			t.Errorf("%q: %v, want an error that shows it", line, err)
		}
	}
}

// program puts a program alone on PATH.
func program(t *testing.T, name, text string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
}

func TestRun(t *testing.T) {
	for _, c := range []struct{ text, said, hint string }{
		{"echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2; exit 1", "sbatch: Batch job submission failed: Invalid account", "sacctmgr"},
		{"echo 'sbatch: error: one' >&2; echo 'sbatch: error: two' >&2; exit 1", "sbatch: one; two", ""},
		{"exit 3", "sbatch: exit status 3", ""},
		{"echo nonsense", `sbatch: it printed "nonsense\n", want the number of a job`, ""},
	} {
		program(t, "sbatch", c.text)
		_, err := Job{Name: "x"}.submit(context.Background(), array{indices: []int{1}})
		var failed *CommandError
		if !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), c.said) || !strings.Contains(failed.Hint, c.hint) || (failed.Hint == "") != (c.hint == "") {
			t.Errorf("%s: %v (hint %q), want %q (hint %q)", c.text, err, failed.Hint, c.said, c.hint)
		}
	}
	t.Setenv("PATH", t.TempDir())
	err := Job{Name: "x", Dir: t.TempDir()}.Run(context.Background(), []int{1}, Watch{})
	var failed *CommandError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "scontrol: it is not on PATH") || !strings.Contains(failed.Hint, "--print-script") {
		t.Errorf("without Slurm: %v, want an error with a hint", err)
	}
}

// TestLost holds that a task that the cluster loses again and again is given up, but
// not one that has done its work.
func TestLost(t *testing.T) {
	done := map[int]bool{2: true}
	f := &follower{watch: Watch{Done: func(n int) bool { return done[n] }}}
	one, two := &task{number: 1}, &task{number: 2, job: 5}
	for i := range tries {
		one.job = 7 + i
		f.judge(context.Background(), one, entry{job: one.job, state: "NODE_FAIL"}, true)
		if one.end != "" || one.job != 0 || one.begun != i+1 {
			t.Fatalf("lost %d times: %+v, want it to be submitted again", i+1, one)
		}
	}
	one.job = 20
	f.judge(context.Background(), one, entry{}, false)
	if !strings.Contains(one.end, "was lost by the cluster, 4 times") {
		t.Errorf("it ends as %q, want that it was lost", one.end)
	}
	f.judge(context.Background(), two, entry{}, false)
	if two.end != "COMPLETED" || two.begun != 0 {
		t.Errorf("%+v, want it to have ended", two)
	}
}

func TestLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"":             "",
		"one\ntwo\n\n": "two",
		strings.Repeat("x\n", 9000) + "last \xff": "last ?",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := lastLine(path + ".none"); got != "" {
		t.Errorf("of no file %q", got)
	}
}
