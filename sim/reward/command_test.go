package reward_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vigorlab/sim/reward"
)

// judgeVariable makes the test binary a program that judges.
const judgeVariable = "VIGORLAB_TEST_JUDGE"

func TestMain(m *testing.M) {
	if os.Getenv(judgeVariable) != "" {
		judge()
		return
	}
	os.Exit(m.Run())
}

// judge replies to each item with the completion, after doing what the prompt
// says; the answer names a file.
func judge() {
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var item struct {
			ID                         int
			Prompt, Completion, Answer string
		}
		if err := json.Unmarshal(text, &item); err != nil {
			fmt.Fprintln(os.Stderr, "no request:", err)
			os.Exit(1)
		}
		act(item.Prompt, item.Answer)
		fmt.Println(strings.ReplaceAll(item.Completion, "ID", strconv.Itoa(item.ID)))
		if item.Prompt == "then leave" {
			return
		}
	}
}

func act(what, file string) {
	switch what {
	case "crash":
		fmt.Fprintln(os.Stderr, "Traceback: out of luck")
		os.Exit(3)
	case "crash once":
		if _, err := os.Stat(file); err != nil {
			_ = os.WriteFile(file, nil, 0o600)
			os.Exit(3)
		}
	case "hang":
		time.Sleep(time.Hour)
	case "hang with child":
		child := exec.Command("sleep", "600")
		_ = child.Start()
		_ = os.WriteFile(file, []byte(strconv.Itoa(child.Process.Pid)), 0o600)
		time.Sleep(time.Hour)
	case "count":
		_ = os.WriteFile(fmt.Sprint(file, "/", os.Getpid()), nil, 0o600)
		time.Sleep(5 * time.Millisecond)
		busy, _ := os.ReadDir(file)
		if len(busy) > 2 {
			os.Exit(3)
		}
		_ = os.Remove(fmt.Sprint(file, "/", os.Getpid()))
	}
}

// judged makes the verifier that runs judge.
func judged(t *testing.T, parameters string) reward.Verifier {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, fmt.Sprintf("command:%srun=%s=1 exec '%s'", parameters, judgeVariable, program))
}

func TestCommand(t *testing.T) {
	v := judged(t, "")
	for reply, want := range map[string]reward.Grade{
		`{"id": ID, "reward": 1}`:                           {Reward: 1, Kind: reward.Right},
		`{"id": ID, "reward": 0.25, "detail": "a quarter"}`: {Reward: 0.25, Kind: reward.Partial, Detail: "a quarter"},
		`{"reward": 0}`:                                     {Kind: reward.Wrong},
		`1`:                                                 {Reward: 1, Kind: reward.Right},
		`0.5`:                                               {Reward: 0.5, Kind: reward.Partial},
		`{"id": ID, "reward": 1, "kind": "pass", "more": []}`:         {Reward: 1, Kind: reward.Pass},
		`{"id": ID, "reward": 0, "kind": "time"}`:                     {Kind: reward.Time},
		`{"id": ID, "kind": "cannot tell", "detail": "no parser"}`:    {Kind: reward.CannotTell, Detail: "no parser"},
		`{"id": ID, "reward": null, "kind": "cannot tell"}`:           {Kind: reward.CannotTell},
		`{"id": ID, "reward": 1, "detail": "` + "\u00e9\u2028" + `"}`: {Reward: 1, Kind: reward.Right, Detail: "\u00e9\u2028"},
	} {
		if got := grade(t, v, reward.Item{Completion: reply}); got != want {
			t.Errorf("%s: %+v, want %+v", reply, got, want)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if got := grade(t, v, reward.Item{Completion: `{"id": ID, "reward": 1, "detail": "` + long[:1<<17] + `"}`}); got.Reward != 1 {
		t.Errorf("a reply of 128 KiB: %.80v", got)
	}
	if got := grade(t, v, reward.Item{Completion: "1", Answer: long}); got.Reward != 1 {
		t.Errorf("an item of 1 MiB: %+v", got)
	}
}

// TestCommandFaults checks that every fault of the program is an error that names
// it, and that the next item is judged all the same.
func TestCommandFaults(t *testing.T) {
	v := judged(t, "retries=0,")
	for _, c := range []struct{ prompt, reply, want string }{
		{"crash", "1", `try 1: the program ended; its stderr ends in "Traceback: out of luck"`},
		{"", "", `the program wrote "", want a JSON object with a reward`},
		{"", "right", `the program wrote "right", want a JSON object`},
		{"", `"1"`, "want a JSON object"},
		{"", "null", `the program wrote "null", which has no reward`},
		{"", "NaN", "want a JSON object"},
		{"", "{}", "which has no reward"},
		{"", `{"id": ID}`, "which has no reward"},
		{"", `{"id": 999, "reward": 1}`, "reply has id = 999, want 2, that of the request"},
		{"", `{"id": 1, "reward": 1}`, "reply has id = 1, want 2"}, // late, to the item before
		{"", `{"reward": 1.5}`, "reply has reward = 1.5, want [0, 1]"},
		{"", "-1", "reply has reward = -1, want [0, 1]"},
		{"", "1e999", "want a JSON object"},
		{"", `{"reward": 1, "kind": "wrong"}`, `reply has kind = "wrong" with reward = 1, want one such as "right"`},
		{"", `{"reward": 0, "kind": "perhaps"}`, `kind = "perhaps"`},
		{"", `{"error": "no model"}`, `the program's error: "no model"`},
		{"", strings.Repeat(" ", 1<<20) + "1", "token too long"},
	} {
		g, err := v.Verify(context.Background(), reward.Item{Prompt: c.prompt, Completion: c.reply})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %.40q: %+v, error %v, want %q", c.prompt, c.reply, g, err, c.want)
		}
		if g := grade(t, v, reward.Item{Completion: "1"}); g.Reward != 1 {
			t.Errorf("after %q, %.40q: %+v", c.prompt, c.reply, g)
		}
	}
}

func TestCommandLate(t *testing.T) {
	v := judged(t, "timeout=0.2,")
	g, err := v.Verify(context.Background(), reward.Item{Prompt: "hang", Completion: "1"})
	if want := "try 2: no reply within 200ms"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v, error %v, want %q", g, err, want)
	}
}

func TestCommandNoProgram(t *testing.T) {
	v := parse(t, "command:/nowhere/judge")
	if g, err := v.Verify(context.Background(), reward.Item{}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%+v, error %v, want the shell's", g, err)
	}
}

// TestCommandEarlyReply checks that a second reply is not taken for that of the
// next item.
func TestCommandEarlyReply(t *testing.T) {
	v := judged(t, "retries=0,")
	grade(t, v, reward.Item{Completion: `{"reward": 1}` + "\n" + `{"reward": 1}`})
	time.Sleep(500 * time.Millisecond) // for the second line to arrive
	g, err := v.Verify(context.Background(), reward.Item{Completion: `{"reward": 0}`})
	if err == nil || !strings.Contains(err.Error(), "without being asked") {
		t.Errorf("%+v, error %v, want one of a reply that nobody asked for", g, err)
	}
}

func TestCommandRestarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crashed")
	if g := grade(t, judged(t, ""), reward.Item{Prompt: "crash once", Completion: "1", Answer: file}); g.Reward != 1 {
		t.Errorf("after one crash: %+v", g)
	}
	_ = os.Remove(file)
	if g, err := judged(t, "retries=0,").Verify(context.Background(), reward.Item{Prompt: "crash once", Completion: "1", Answer: file}); err == nil {
		t.Errorf("without retries: %+v", g)
	}
	v := judged(t, "")
	for range 3 { // a program may leave between items
		grade(t, v, reward.Item{Prompt: "then leave", Completion: "1"})
	}
}

// TestCommandConcurrent checks that items wait for a free process, that none is
// asked two at once, and that every item gets its own reply.
func TestCommandConcurrent(t *testing.T) {
	v := judged(t, "processes=2,retries=0,")
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			want := float64(i) / 64
			g, err := v.Verify(context.Background(), reward.Item{Prompt: "count", Completion: fmt.Sprintf(`{"id": ID, "reward": %v}`, want), Answer: dir})
			if err != nil || g.Reward != want {
				t.Errorf("item %d: %+v, %v, want %v", i, g, err, want)
			}
		})
	}
	wait.Wait()
}

// TestCommandChildren checks that a program is killed with those it started.
func TestCommandChildren(t *testing.T) {
	v := judged(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	file := filepath.Join(t.TempDir(), "pid")
	go func() { // once the child runs
		for pid := ""; pid == ""; time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(file)
			pid = string(text)
		}
		cancel()
	}()
	if _, err := v.Verify(ctx, reward.Item{Prompt: "hang with child", Answer: file}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for try := 0; alive(string(pid)); try++ {
		if try == 500 {
			t.Fatalf("the child %s of a killed program lives on", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCommandEnds checks that the caller's context ends the wait for a reply and
// for a free process, that Close does not wait for either, and that nothing is
// left.
func TestCommandEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	v := judged(t, "retries=0,")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	var wait sync.WaitGroup
	for range 2 { // one has the process, one waits for it
		wait.Go(func() {
			if _, err := v.Verify(ctx, reward.Item{Prompt: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
		})
	}
	wait.Wait()
	for range 2 {
		wait.Go(func() {
			if _, err := v.Verify(context.Background(), reward.Item{Prompt: "hang"}); !errors.Is(err, reward.ErrClosed) {
				t.Errorf("error %v, want %v", err, reward.ErrClosed)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	for range 2 {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	for range 100 { // whatever comes first of what tells it
		if _, err := v.Verify(context.Background(), reward.Item{Completion: "1"}); !errors.Is(err, reward.ErrClosed) {
			t.Fatalf("after Close: error %v, want %v", err, reward.ErrClosed)
		}
	}
	for try := 0; runtime.NumGoroutine() > before; try++ {
		if try == 100 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// alive reports whether a process runs; one that only waits to be collected
// does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// TestExamplePython runs the example that the documentation shows.
func TestExamplePython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		const missing = "no python3: apt-get install python3"
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	v := parse(t, "command:python3 examples/judge.py")
	for completion, want := range map[string]float64{"it is 7.": 1, "7 or 8": 0.5, "8": 0, "": 0, "\"ü\u2028\"\n7": 1} {
		if g := grade(t, v, reward.Item{Completion: completion, Answer: "7"}); g.Reward != want {
			t.Errorf("%q: %+v, want %v", completion, g, want)
		}
	}
}
