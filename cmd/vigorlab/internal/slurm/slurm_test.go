package slurm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestScript runs the script as Slurm would, in a folder whose name needs quotes. It has
// the functions of the shell that submitted it, and reads no profile.
func TestScript(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's 100% $HOME")
	j := Job{
		Name: "x", Dir: folder, Command: []string{"/bin/sh", "-c", `printf '%s|' "$MODULE" "$@" >"$0"`, filepath.Join(folder, "said"), "a b", "--shard"},
		Options: Options{Account: "lab", Partition: "cpu", Time: "30", Memory: "4G", CPUs: 2, Setup: []string{"cd /", "module load x", "export MODULE"}},
	}
	if err := j.WriteScript(); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir() // whose profile may do anything, and slowly
	for _, name := range []string{".profile", ".bash_profile", ".bashrc"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("echo; MODULE=profile; exit 3\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(j.ScriptFile(), "40")
	// Where there is module it is a function of bash, which Slurm hands on.
	cmd.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID=2", "HOME="+home, "BASH_FUNC_module%%=() { MODULE=$*; }")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "said")); string(got) != "load x|a b|--shard|42|" || err != nil {
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
	program(t, "scontrol", "exit 1")
	lines, size, known := j.Lines(context.Background(), []int{1, 2, 3, 1000})
	if size != most || known {
		t.Errorf("arrays of %d, known: %v; want Slurm's own %d", size, known, most)
	}
	line := strings.Join(lines, "\n")
	for _, want := range []string{"sbatch --array=1-3 --job-name=x.0 ", "sbatch --array=0 --job-name=x.1000 ", `s 100%% $HOME/%A_%a.log'`, " 1000"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in\n%s", want, line)
		}
	}
	program(t, "scontrol", "echo 'MaxArraySize            = 3'")
	if lines, size, known := j.Lines(context.Background(), []int{1, 2, 3}); size != 3 || !known || len(lines) != 2 || !strings.HasSuffix(lines[1], " 3") {
		t.Errorf("arrays of %d, known: %v: %q; want the cluster's 3, in two lines", size, known, lines)
	}
}

// TestScriptIsWhole: who reads the script while it is written anew has all of the old one.
func TestScriptIsWhole(t *testing.T) {
	j := Job{Dir: t.TempDir(), Command: []string{"old"}}
	if err := j.WriteScript(); err != nil {
		t.Fatal(err)
	}
	old, _ := j.Script()
	file, err := os.Open(j.ScriptFile())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	j.Command = []string{"a", "new", "command"}
	if err := j.WriteScript(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file); string(got) != old || err != nil {
		t.Errorf("the old script is now %q, %v", got, err)
	}
	want, _ := j.Script()
	if got, err := os.ReadFile(j.ScriptFile()); string(got) != want || err != nil {
		t.Errorf("the new script is %q, %v", got, err)
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
		{"printf 'sbatch: error: QOSMaxSubmitJobPerUserLimit\\nsbatch: error: ...policy (job submit limit, user'\"'\"'s size and/or time limits)' >&2; exit 1", "sbatch: QOSMaxSubmitJob", "no more tasks"},
		{"printf 'sbatch: error: QOSMaxWallDurationPerJobLimit\\nsbatch: error: ...policy (job submit limit, user'\"'\"'s size and/or time limits)' >&2; exit 1", "sbatch: QOSMaxWall", "--time"},
		{"echo 'sbatch: error: Batch job submission failed: Requested node configuration is not available' >&2; exit 1", "sbatch: Batch job", "sinfo --Node"},
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

// TestEnvironment: of the variables of a user's shell, Slurm's commands see none that
// would have them do or show something else.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"SBATCH_WAIT", "SBATCH_ERROR", "SBATCH_CLUSTERS", "SLURM_CLUSTERS", "SQUEUE_USERS", "SCANCEL_STATE", "SCANCEL_INTERACTIVE"} {
		t.Setenv(name, "misleads")
	}
	for _, name := range []string{"SBATCH_QOS", "SBATCH_ACCOUNT", "SLURM_CONF", "XSQUEUE_USERS"} {
		t.Setenv(name, "stays")
	}
	program(t, "squeue", "set >&2; set")
	printed, err := run(context.Background(), "squeue")
	if err != nil || strings.Contains(printed, "misleads") || strings.Count(printed, "stays") != 4 {
		t.Errorf("%v: squeue sees\n%s", err, printed)
	}
}

// TestInterruptedCommand: Ctrl-C does not wait for a command that does not answer.
func TestInterruptedCommand(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	program(t, "squeue", ": >'"+begun+"'; exec /bin/sleep 3600")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { _, err := run(ctx, "squeue"); ended <- err }()
	for late := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal("squeue is not begun")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it is cancelled", err)
	}
}

// TestCrowded: where a user may have three tasks on the cluster, that many are submitted,
// and the others when some have ended. One who has none there is told.
func TestCrowded(t *testing.T) {
	folder := t.TempDir()
	queue := filepath.Join(folder, "queue")
	for name, text := range map[string]string{
		"squeue": `exec /bin/cat "` + queue + `"`,
		// an array of the indices a-b or a: a line of each, as squeue has it
		"sbatch": `for word; do case $word in --array=*) a=${word#*=} ;; --job-name=*) name=${word#*=} ;; esac; done
			lines=; n=0; i=${a%-*}
			while [ "$i" -le "${a#*-}" ]; do
				lines="$lines$name|$$|$i|RUNNING|None
"; i=$((i + 1)); n=$((n + 1)); done
			while read -r line; do case $line in *RUNNING*) n=$((n + 1)) ;; esac; done <"` + queue + `"
			[ $n -le 3 ] || { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1; }
			printf %s "$lines" >>"` + queue + `"; echo $$`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
	write := func(text string) {
		if err := os.WriteFile(queue, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("other|1|0|RUNNING|None\nother|1|1|RUNNING|None\nother|1|2|RUNNING|None\n")
	newFollower := func() *follower {
		f := &follower{job: Job{Name: "x", Dir: folder}, size: 100, watch: Watch{Done: func(int) bool { return true }}}
		for n := 1; n <= 5; n++ {
			f.tasks = append(f.tasks, &task{number: n})
		}
		return f
	}
	if err := newFollower().turn(context.Background()); !crowded(err) {
		t.Errorf("%v, want that nothing may be submitted", err)
	}
	write("other|1|0|RUNNING|None\n")
	f := newFollower()
	said := 0
	f.watch.Notice = func(string) { said++ }
	turn := func(want Progress) {
		t.Helper()
		f.later = time.Time{}
		if err := f.turn(context.Background()); err != nil {
			t.Fatal(err)
		}
		on := f.numbers(func(t *task) bool { return t.end == "" && t.job != 0 })
		if got := f.progress(); got.Ended != want.Ended || len(on) != want.Running {
			t.Fatalf("%d on the cluster, %+v; want %+v", len(on), got, want)
		}
	}
	turn(Progress{Running: 2}) // 5 and 2 of 5 tried
	turn(Progress{Running: 2})
	content, err := os.ReadFile(queue)
	if err != nil {
		t.Fatal(err)
	}
	write(strings.ReplaceAll(string(content), "RUNNING", "COMPLETED"))
	turn(Progress{Running: 3, Ended: 2})
	if content, err = os.ReadFile(queue); err != nil {
		t.Fatal(err)
	}
	write(strings.ReplaceAll(string(content), "RUNNING", "COMPLETED"))
	turn(Progress{Ended: 5})
	if said != 1 {
		t.Errorf("%d words on it, want one", said)
	}
}

// TestSilence: a user hears that the cluster does not answer also where nothing had
// happened for a while, and once of each time.
func TestSilence(t *testing.T) {
	folder := t.TempDir()
	// looks 4 and 5 fail, 7 finds the end
	program(t, "squeue", `echo >>"`+folder+`/looks"; n=0; while read -r _; do n=$((n + 1)); done <"`+folder+`/looks"
		case $n in
		4 | 5) echo "squeue: error: slurm_load_jobs error: Socket timed out" >&2; exit 1 ;;
		7) echo "x.0|7|1|COMPLETED|None" ;;
		*) echo "x.0|7|1|RUNNING|None" ;;
		esac`)
	var said []string
	f := &follower{
		job: Job{Name: "x", Dir: folder}, size: 100, tasks: []*task{{number: 1}}, pace: time.Millisecond,
		watch: Watch{Done: func(int) bool { return false }, Notice: func(text string) { said = append(said, text) }},
	}
	if err := f.follow(context.Background()); err != nil || f.tasks[0].end != "COMPLETED" {
		t.Errorf("%v, task %+v; want that it has ended", err, f.tasks[0])
	}
	if want := []string{"1 of 1 tasks wait or run already", "squeue: slurm_load_jobs error: Socket timed out; asking again for up to 15m0s"}; !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}

// TestWhy: the end of a task is told in a user's words, with the next step where there is
// one.
func TestWhy(t *testing.T) {
	f := &follower{job: Job{Dir: filepath.Join(t.TempDir(), "slurm")}}
	if err := os.MkdirAll(f.job.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.job.Dir, "7_1.log"), []byte("last words\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		index                 int
		state, reason, signal string
		why, hint             string
	}{
		{1, "FAILED", "NonZeroExitCode", "", "ended as FAILED: last words (", ""},
		{1, "FAILED", "JobLaunchFailure", "by signal 9", "ended as FAILED, by signal 9: last", ""},
		{2, "FAILED", "NonZeroExitCode", "", "ended as FAILED", "the nodes must see"},
		{1, "COMPLETED", "None", "", "ended well, but left nothing that is seen here", "the nodes must see"},
		{1, "TIMEOUT", "TimeLimit", "", "ended as TIMEOUT, TimeLimit", "--time"},
		{1, "OUT_OF_MEMORY", "OutOfMemory", "", "ended as OUT_OF_MEMORY", "--memory"},
		{1, "CANCELLED", "None", "", "ended as CANCELLED", ""},
	} {
		one := &task{number: 1, job: 7, end: c.state, entry: entry{7, c.index, c.state, c.reason}}
		why, hint := f.why(one, c.signal), f.remedy(one)
		if !strings.HasPrefix(why, c.why) || !strings.Contains(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("%s, %s: %q (hint %q), want %q (hint %q)", c.state, c.reason, why, hint, c.why, c.hint)
		}
	}
}

// TestExplain: who waits for what may never come hears of it, once, with the next step.
func TestExplain(t *testing.T) {
	var said []string
	f := &follower{watch: Watch{Notice: func(text string) { said = append(said, text) }}}
	for n, reason := range []string{"Resources", "JobHeldAdmin", "JobHeldAdmin", "JobHeldUser", "PartitionConfig", heldBack} {
		f.tasks = append(f.tasks, &task{number: n, entry: entry{70 + n, 1, "PENDING", reason}})
	}
	for range 2 {
		f.explain()
	}
	want := []string{
		"task 1 waits for JobHeldAdmin, as squeue says; an administrator of the cluster holds it, and can say why: scontrol show job 71",
		"task 3 waits for JobHeldUser, as squeue says; to let it go: scontrol release 73",
		"task 4 waits for PartitionConfig, as squeue says; where that will not come, cancel, and ask for less",
	}
	if !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
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

// TestSettles: a task that is held back is not begun again at once, where its node would
// take it for the one that it was told to end.
func TestSettles(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no scontrol
	f, k := &follower{}, &task{number: 1, job: 5}
	sees := func(reason string) int {
		f.judge(context.Background(), k, entry{job: 5, index: 1, state: "PENDING", reason: reason}, true)
		return k.begun
	}
	for range 2 {
		if sees(heldBack) != 0 {
			t.Error("it is begun again at once")
		}
	}
	k.since = k.since.Add(-settling)
	if sees("Priority") != 0 || sees(heldBack) != 0 {
		t.Error("it is begun again at once where it was held back before")
	}
	k.since = k.since.Add(-settling)
	for range 2 {
		if n := sees(heldBack); n != 1 {
			t.Errorf("it is begun again %d times, want once", n)
		}
	}
}

// TestLate: what a task has left may be seen some time after its end, as on the file
// system of a network; nobody waits for what a task that failed has not left.
func TestLate(t *testing.T) {
	asked := map[int]int{}
	f := &follower{
		job: Job{Dir: t.TempDir()}, pace: time.Millisecond,
		watch: Watch{Done: func(n int) bool { asked[n]++; return n == 1 && asked[n] > 3 }},
		tasks: []*task{
			{number: 1, end: "COMPLETED", entry: entry{7, 1, "COMPLETED", ""}},
			{number: 2, end: "FAILED", entry: entry{7, 2, "FAILED", ""}},
		},
	}
	err := f.verdict(context.Background())
	var end *EndError
	if !errors.As(err, &end) || end.Task != 2 || asked[2] != 1 {
		t.Errorf("%v, want an error of task 2 alone, which is looked at once, not %d times", err, asked[2])
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
