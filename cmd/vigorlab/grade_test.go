package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/sim/reward"
)

// TestGradeRepeatsRollout: the rewards that rollout logged are those of the same
// verifier here, and label noise turns the rewards that it would turn there, where
// a rollout's index is that of its line.
func TestGradeRepeatsRollout(t *testing.T) {
	const log, noisy = "testdata/sums.jsonl", "flip:q=0.3@exact"
	document, _ := runJSON(t, "grade", log, "--verifier", "exact")
	rates := document.(map[string]any)["rates"].(map[string]any)
	if got := rates["agreement"].(map[string]any)["mean"]; got != 1. {
		t.Errorf("agreement %v with the verifier that graded the log, want 1", got)
	}
	document, _ = runJSON(t, "grade", log, "--verifier", "numeric")
	for i, want := range []float64{27, 0, 0, 3, 26, 0} { // as the table in README
		cell := document.(map[string]any)["confusion"].([]any)[i].(map[string]any)
		if cell["rollouts"] != want {
			t.Errorf("%v, want %v rollouts", cell, want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), []string{"grade", log, "--verifier", noisy, "--out", out, "--workers", "3"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	v, err := reward.Parse(noisy)
	if err != nil {
		t.Fatal(err)
	}
	logged, graded := linesOf(t, log), linesOf(t, filepath.Join(out, gradedFile))
	if len(logged) != 56 || len(graded) != len(logged) {
		t.Fatalf("%d lines of %d, want 56 of 56", len(graded), len(logged))
	}
	turned := 0
	for i, l := range logged {
		var x struct {
			Prompt, Completion, Answer string
			Index                      uint64
			Truncated                  bool
			Reward                     float64
		}
		var y gradedLine
		if err := json.Unmarshal(l, &x); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(graded[i], &y); err != nil {
			t.Fatal(err)
		}
		g, err := v.Verify(context.Background(), reward.Item{Prompt: x.Prompt, Completion: x.Completion, Answer: x.Answer, Index: x.Index, Truncated: x.Truncated})
		if err != nil {
			t.Fatal(err)
		}
		if y.Reward == nil || *y.Reward != g.Reward || y.Kind != g.Kind || y.Line != i+1 || y.LogReward != x.Reward {
			t.Errorf("line %d: %+v, want reward %v (%s)", i+1, y, g.Reward, g.Kind)
		}
		if g.Reward != x.Reward {
			turned++
		}
	}
	if turned < 5 || turned > 30 {
		t.Errorf("%d of 56 rewards are turned round, want about 17", turned)
	}
}

// linesOf returns the lines of a file.
func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for s := bufio.NewScanner(bytes.NewReader(content)); s.Scan(); {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	return lines
}

// TestHarmless checks that texts of a log or of a verifier cannot command a terminal,
// nor fill it.
func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		`"8" against "7"`: `"8" against "7"`, "żółw": "żółw", "a\x1b[31m\n": `a\x1b[31m\n`, "\u202e": `\u202e`,
		strings.Repeat("é", 201): strings.Repeat("é", 200) + "...",
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
