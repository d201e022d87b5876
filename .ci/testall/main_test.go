package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestTally runs the real `go test -json` on small modules and reads its
// events: what it prints and its exit code are what CI stands on.
func TestTally(t *testing.T) {
	const pass = "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\nfunc TestA(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\n"
	for _, c := range []struct {
		name, test   string
		want         []string // in the output
		code, noSkip int      // exit codes, and where skipping is forbidden
	}{
		{"pass", pass, []string{"ok  \tvigorlab/a", "2 passed, 0 failed, 0 skipped"}, 0, 0},
		{
			"skip", pass + "\nfunc TestB(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Skip(\"no tool: apt-get install tool\") }) }\n",
			[]string{"SKIPPED vigorlab/a TestB/sub: a_test.go:12: no tool: apt-get install tool", "3 passed, 0 failed, 1 skipped"},
			0, 1,
		},
		{
			"fail", pass + "\nfunc TestB(t *testing.T) { t.Error(\"got 1, want 2\") }\n",
			[]string{"got 1, want 2", "FAILED vigorlab/a TestB\n", "2 passed, 1 failed, 0 skipped"},
			1, 1,
		},
		{
			"exit", pass + "\nfunc TestB(t *testing.T) { os.Exit(0) }\n",
			[]string{"FAILED vigorlab/a", "1 failed"},
			1, 1,
		},
		{
			"panic", pass + "\nfunc TestB(t *testing.T) { panic(\"broken contract\") }\n",
			[]string{"broken contract", "FAILED vigorlab/a", "1 failed"},
			1, 1,
		},
		{
			"killed", pass + "\nfunc TestB(t *testing.T) {\n\tprintln(\"last words\")\n\tp, _ := os.FindProcess(os.Getpid())\n\tp.Kill()\n\tselect {}\n}\n",
			[]string{"last words", "FAILED vigorlab/a TestB\n", "2 passed, 1 failed"},
			1, 1,
		},
		{"build", pass + "\nfunc TestB(t *testing.T) { undefined() }\n", []string{"undefined: undefined", "FAILED vigorlab/a\n", "0 passed, 1 failed"}, 1, 1},
		{
			"end", pass + "\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(3) }\n",
			[]string{"FAIL\tvigorlab/a", "FAILED vigorlab/a\n", "2 passed, 1 failed"},
			1, 1,
		},
		{"none", "package a\n", []string{"no test has run", "0 passed, 0 failed"}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := goTestJSON(t, c.test)
			for _, noSkip := range []bool{false, true} {
				var out bytes.Buffer
				tally := newTally(&out)
				if err := tally.read(bytes.NewReader(events)); err != nil {
					t.Fatal(err)
				}
				want := c.code
				if noSkip {
					want = c.noSkip
				}
				if got := tally.close(noSkip); got != want {
					t.Errorf("exit code = %d, want %d (noSkip = %v)", got, want, noSkip)
				}
				for _, w := range c.want {
					if !strings.Contains(out.String(), w) {
						t.Errorf("output lacks %q:\n%s", w, out.String())
					}
				}
			}
		})
	}
}

// TestDeal deals every package once, in turns.
func TestDeal(t *testing.T) {
	for _, c := range []struct{ packages, want string }{
		{"a b c d e", "[[a c e] [b d]]"},
		{"a", "[[a]]"},
	} {
		if got := fmt.Sprint(deal(strings.Fields(c.packages))); got != c.want {
			t.Errorf("deal(%s) = %s, want %s", c.packages, got, c.want)
		}
	}
}

// TestWithTests finds packages by the names of their tests, in both kinds of test
// files, and no other word of a file.
func TestWithTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module vigorlab\n\ngo 1.26.0\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestWorkersAgree(t *testing.T) {}\n",
		"b/b.go":         "package b\n",
		"b/x_test.go":    "package b_test\n\nimport \"testing\"\n\nfunc TestConcurrent(t *testing.T) {}\n",
		"c/c_test.go":    "package c\n\nimport \"testing\"\n\n// TestWorkers(t) was here.\nfunc TestA(t *testing.T) {}\n\nfunc runWorkers() {}\n",
		"d/d.go":         "package d\n\nfunc TestWorkers() {}\n",
		"e/race_test.go": "//go:build race\n\npackage e\n\nimport \"testing\"\n\nfunc TestWorkers(t *testing.T) {}\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	t.Chdir(dir)
	packages := []string{"vigorlab/e", "vigorlab/d", "vigorlab/c", "vigorlab/b", "vigorlab/a"}
	got, err := withTests(packages, "Worker|Concurrent", "race")
	if want := []string{"vigorlab/e", "vigorlab/b", "vigorlab/a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	got, err = withTests(packages[1:], "Worker|Concurrent", "")
	if want := []string{"vigorlab/b", "vigorlab/a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("without the race detector %q, %v, want %q", got, err, want)
	}
	if _, err := withTests(packages, "(", ""); err == nil {
		t.Error("a pattern that is none is accepted")
	}
	if _, err := withTests([]string{"vigorlab/nowhere"}, "Worker", ""); err == nil {
		t.Error("a package that is not there is accepted")
	}
}

// TestRunAll: calls side by side are counted each by itself, though they are of one
// package, and none of them is forgotten when one fails.
func TestRunAll(t *testing.T) {
	var out bytes.Buffer
	all := newTally(&out)
	broken := errors.New("go test: killed")
	var lanesFull sync.WaitGroup
	lanesFull.Add(lanes)
	runs := [][]string{{"pass"}, {"fail"}, {"skip"}, {"broken"}}
	for range lanes {
		runs = append(runs, []string{"lane"})
	}
	err := all.runAll(plan{runs: runs, waiting: []string{"waiting"}}, func(own *tally, args []string) error {
		switch args[0] {
		case "broken":
			return broken
		case "lane":
			lanesFull.Done()
			lanesFull.Wait()
			return nil
		case "waiting":
			lanesFull.Wait() // for ever, had it taken a lane
			args = []string{"pass"}
		}
		own.add(event{Action: "output", Package: "a", Test: "TestA", Output: args[0] + "\n"})
		own.add(event{Action: args[0], Package: "a", Test: "TestA"})
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if code := all.close(false); code != 1 || out.String() != "fail\nSKIPPED a TestA: skip\nFAILED a TestA\n2 passed, 1 failed, 1 skipped\n" {
		t.Errorf("exit code %d with\n%s", code, &out)
	}
}

// TestInOrder: no package is lost, doubled or made up.
func TestInOrder(t *testing.T) {
	if got, want := inOrder([]string{"c", "x", "a"}, []string{"a", "b", "c", "d"}), []string{"c", "a", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goTestJSON returns the events of a package with the given test file.
func goTestJSON(t *testing.T, test string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module vigorlab\n\ngo 1.26.0\n", "a/a_test.go": test} {
		write(t, filepath.Join(dir, name), text)
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	out, err := cmd.Output() // fails where the test does
	if len(out) == 0 {
		t.Fatalf("go test -json: no event, %v", err)
	}
	return out
}
