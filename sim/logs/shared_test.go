package logs_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigorlab/sim/logs"
)

// shared returns the folder of third-party formats, or skips the test.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("VIGORLAB_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "formats")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatalf("%v: set VIGORLAB_SHARED to the shared folder", err)
		}
		t.Skip("needs the logs of ../shared/formats: set VIGORLAB_SHARED to the shared folder")
	}
	return dir
}

// text is the name of a prompt that is known by its text.
func text(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%x", sum[:8])
}

// The prompts of the shared logs, as most of them write them.
const (
	sum     = "What is 3+4?"
	product = "What is 12*12?"
)

// verl is a prompt as verl writes it.
func verl(s string) string { return text("user\n" + s + "\nassistant\n") }

// sharedLogs are the files of ../shared/formats with what is right for each,
// written by hand from reading them: the rows of the table, "PROMPT STEP VISIT
// OUTCOMES", or the defects that refuse it.
var sharedLogs = []struct {
	path    string
	options logs.Options
	from    string
	rows    []string
	refused string
	says    []string // defects that it warns or notes
	counts  string   // rows, dropped, torn, coerced, duplicated, superseded
}{
	{path: "verl_v0_rollout/3.jsonl", from: "verl", rows: []string{verl(sum) + " 3 0 101", verl(product) + " 3 0 010"}, says: []string{"no-id"}, counts: "6 0 0 0 0 0"},
	{path: "verl_v1_rollout/3.jsonl", from: "verl", rows: []string{verl(sum) + " 3 0 101", verl(product) + " 3 0 100"}, says: []string{"no-id"}, counts: "6 0 0 0 0 0"},
	{path: "verl_dapo_minus1/3.jsonl", from: "verl", rows: []string{verl(sum) + " 3 0 101", verl(product) + " 3 0 010"}, says: []string{"no-id"}, counts: "6 0 0 0 0 0"},
	{path: "verl_validation/0.jsonl", from: "verl", rows: []string{verl(sum) + " 0 0 10", verl(product) + " 0 0 10"}, says: []string{"no-id"}, counts: "4 0 0 0 0 0"},

	{path: "trl/completions/completions_00005.parquet", refused: "several-rewards"},
	{
		path: "trl/completions/completions_00005.parquet", options: logs.Options{Reward: "accuracy_reward"}, from: "trl",
		rows: []string{text(sum) + " 5 0 101", text(product) + " 5 0 100"}, says: []string{"no-id", "last-batch-alone"}, counts: "6 0 0 0 0 0",
	},
	{
		path: "trl/completions/completions_00005.as_rows.jsonl", options: logs.Options{Reward: "format_reward"}, from: "trl",
		rows: []string{text(sum) + " 5 0 11", text(product) + " 5 0 01"}, says: []string{"missing-rewards"}, counts: "6 2 0 0 0 0",
	},
	{path: "trl/completions/completions_00005.as_rows.jsonl", refused: "several-rewards"},
	{path: "trl/completions/completions_00005.as_rows.jsonl", options: logs.Options{Reward: "accuracy"}, refused: "no-such-column"},

	{path: "nemo_rl/train_data_step3.jsonl", refused: "no-group-key"},
	{
		path: "nemo_rl/train_data_step3.jsonl", options: logs.Options{Group: logs.GroupPosition, GroupSize: 3}, from: "nemo-rl",
		rows: []string{"step3/0 3 0 101", "step3/1 3 0 100"}, says: []string{"by-position"}, counts: "6 0 0 0 0 0",
	},
	{path: "nemo_rl/train_data_step3.jsonl", options: logs.Options{Group: logs.GroupPosition, GroupSize: 2}, refused: "misaligned"},
	{path: "nemo_rl_dynamic_sampling/train_data_step4.jsonl", options: logs.Options{Group: logs.GroupPosition, GroupSize: 3}, refused: "filtered-rewards"},
	{
		path: "nemo_rl_dynamic_sampling/train_data_step4.jsonl", options: logs.Options{Group: logs.GroupPosition, GroupSize: 3, Reward: "filtered_rewards"}, from: "nemo-rl",
		rows: []string{"step4/0 4 0 100"}, says: []string{"filtered-log"}, counts: "3 0 0 0 0 0",
	},

	{path: "prime_rl", from: "prime-rl", rows: []string{"toy-math/10 3 0 101", "toy-math/11 3 0 10"}, says: []string{"missing-rewards", "ragged"}, counts: "6 1 0 0 0 0"},
	{path: "prime_rl_gz", from: "prime-rl", rows: []string{"toy-math/10 3 0 101", "toy-math/11 3 0 10"}, says: []string{"missing-rewards", "ragged"}, counts: "6 1 0 0 0 0"},
	{path: "prime_rl*", refused: "several-runs"},
	{path: "prime_rl*", options: logs.Options{Group: logs.GroupText, KeepAll: true}, from: "prime-rl", rows: []string{
		text(`[{"role": "user", "content": "What is 3+4?"}]`) + " 3 0 101101", text(`[{"role": "user", "content": "What is 12*12?"}]`) + " 3 0 1010",
	}, says: []string{"missing-rewards", "ragged"}, counts: "12 2 0 0 0 0"},

	{path: "skyrl", from: "skyrl", rows: []string{"toy_math/0 3 0 101", "toy_math/1 3 0 100"}, says: []string{"skipped-files"}, counts: "6 0 0 0 0 0"},
	{path: "open_instruct", from: "open-instruct", rows: []string{
		text("[5, 6, 7]") + " 1 0 101", text("[5, 6, 8]") + " 1 0 100", text("[5, 6, 7]") + " 2 1 101", text("[5, 6, 8]") + " 2 1 100",
	}, says: []string{"skipped-files", "no-id"}, counts: "12 0 0 0 0 0"},
	{path: "areal", from: "areal", rows: []string{"q17 3 0 101"}, counts: "3 0 0 0 0 0"},
	{path: "rllm", from: "rllm", rows: []string{"cbd27ad0 3 0 101"}, counts: "3 0 0 0 0 0"},
	{path: "ms_swift_rows/completions.jsonl", from: "ms-swift", rows: []string{text("user: What is 3+4?\n") + " 3 0 101", text("user: What is 12*12?\n") + " 3 0 100"}, counts: "6 0 0 0 0 0"},
	{path: "ms_swift_columnar/completions.jsonl", refused: "several-rewards"},
	{
		path: "ms_swift_columnar/completions.jsonl", options: logs.Options{Reward: "MathAccuracy"}, from: "ms-swift",
		rows: []string{text("user: What is 3+4?") + " 3 0 101", text("user: What is 12*12?") + " 3 0 100"}, counts: "6 0 0 0 0 0",
	},
	{path: "openrlhf_limr_fork", from: "openrlhf-limr", rows: []string{text(sum) + " 3 0 101", text(product) + " 3 0 100"}, counts: "6 0 0 0 0 0"},
	{path: "lm_eval", refused: "not-scored-singly"},
	{path: "openai_batch/output.jsonl", refused: "no-rewards"},
	{path: "openai_chat_rows/rollouts.jsonl", from: "openai", rows: []string{"q0 0 0 101", "q1 0 0 100"}, counts: "6 0 0 0 0 0"},

	{path: "eval_lists/cruxeval_scored.json", from: "eval-list", rows: []string{"sample_0 0 0 101", "sample_1 0 0 100"}, counts: "6 0 0 0 0 0"},
	{path: "eval_lists/humaneval_results.jsonl", from: "eval-list", rows: []string{"HumanEval/0 0 0 101", "HumanEval/1 0 0 100"}, counts: "6 0 0 0 0 0"},
	{path: "eval_lists/livecodebench_eval_all.json", from: "eval-list", rows: []string{"q0 0 0 101", "q1 0 0 100"}, counts: "6 0 0 0 0 0"},
	{path: "eval_lists/qwen_math_eval.jsonl", from: "eval-list", rows: []string{"0 0 0 101", "1 0 0 100"}, counts: "6 0 0 0 0 0"},

	{path: "awkward/crlf_bom.jsonl", from: "rows", rows: []string{text("a") + " 0 0 10"}, counts: "2 0 0 0 0 0"},
	{path: "awkward/duplicate_prompt_in_step.jsonl", from: "verl", rows: []string{text("a") + " 1 0 11000000"}, counts: "8 0 0 0 0 0"},
	{path: "awkward/nan_and_null.jsonl", from: "rows", rows: []string{text("a") + " 0 0 1"}, says: []string{"missing-rewards", "numbers-as-text"}, counts: "4 3 0 1 0 0"},
	{path: "awkward/ragged_groups.jsonl", from: "rows", rows: []string{text("a") + " 0 0 01010101", text("b") + " 0 0 0101010", text("c") + " 0 0 0"}, says: []string{"ragged"}, counts: "16 0 0 0 0 0"},
	// Steps do not go back here: that step 2 was logged twice shows in its size alone.
	{path: "awkward/resumed_run_duplicate_step.jsonl", from: "rows", rows: []string{text("a") + " 1 0 1", text("a") + " 2 1 01", text("a") + " 3 2 1"}, says: []string{"merged-prompts", "ragged"}, counts: "4 0 0 0 0 0"},
	{path: "awkward/sentinel_minus_one.json", refused: "no-rewards"},
	{path: "awkward/truncated_tail.jsonl", from: "verl", rows: []string{text("a") + " 1 0 1"}, says: []string{"torn-tail"}, counts: "1 0 1 0 0 0"},

	{path: "slime/rollout_3.as_json.json", refused: "reward-unreadable"},
	{path: "slime/rollout_3.pt", refused: "reward-unreadable"},
	{path: "slime/rollout_3.pt", options: logs.Options{Reward: "acc"}, refused: "no-such-column"},
	{
		path: "slime/rollout_3.pt", options: logs.Options{Reward: "reward.acc"}, from: "slime",
		rows: []string{text(sum) + " 3 0 101", text(product) + " 3 0 10"}, says: []string{"missing-rewards"}, counts: "6 1 0 0 0 0",
	},
	{
		path: "slime/rollout_3.as_json.json", options: logs.Options{Reward: "reward.acc"}, from: "slime",
		rows: []string{text(sum) + " 3 0 101", text(product) + " 3 0 10"}, says: []string{"missing-rewards"}, counts: "6 1 0 0 0 0",
	},
}

func TestSharedLogs(t *testing.T) {
	dir := shared(t)
	for _, c := range sharedLogs {
		o := c.options
		o.Paths = []string{filepath.Join(dir, c.path)}
		tab, report, err := logs.Import(context.Background(), o)
		if c.refused != "" {
			var refusal *logs.Refusal
			if !errors.As(err, &refusal) || refusal.Findings[0].ID != c.refused || len(refusal.Findings) != 1 {
				t.Errorf("%s: %v, want the refusal %s", c.path, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		var rows []string
		for _, r := range tab.Rows {
			rows = append(rows, fmt.Sprintf("%s %d %d %s", r.PromptID, r.Step, r.Visit, r.Outcomes))
			if r.N != len(r.Outcomes) || r.S != strings.Count(r.Outcomes, "1") {
				t.Errorf("%s: row %+v", c.path, r)
			}
		}
		if !slices.Equal(rows, c.rows) || report.From != c.from {
			t.Errorf("%s: rows %q from %s, want %q from %s", c.path, rows, report.From, c.rows, c.from)
		}
		counts := fmt.Sprintf("%d %d %d %d %d %d", report.Rows, report.Dropped, report.Torn, report.Coerced, report.Duplicated, report.Superseded)
		if counts != c.counts {
			t.Errorf("%s: rows, dropped, torn, coerced, duplicated, superseded = %s, want %s", c.path, counts, c.counts)
		}
		for _, id := range c.says {
			if !slices.ContainsFunc(report.Findings, func(f logs.Finding) bool { return f.ID == id }) {
				t.Errorf("%s: findings %+v, want %s among them", c.path, report.Findings, id)
			}
		}
	}
}

// TestLengths: mean tokens and the share that was truncated, where every rollout
// of the log has them.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		lines     []string
		tokens    []float64 // a prompt; nil where the table has none
		truncated []float64
	}{
		{[]string{
			`{"prompt": "a", "response": "x", "reward": 1, "response_length": 2.0}`, `{"prompt": "b", "response": "x", "reward": 1, "response_length": 7}`,
			`{"prompt": "a", "response": "x", "reward": 0, "response_length": 4}`,
		}, []float64{3, 7}, nil},
		{[]string{
			`{"prompt": "a", "response": "x", "reward": 1, "response_length": 2.0}`, `{"prompt": "a", "response": "x", "reward": 0, "response_length": null}`,
		}, nil, nil},
		{[]string{
			`{"step": 1, "sample_idx": 0, "prompt_idx": 0, "prompt_tokens": [5], "response_tokens": [9, 9, 9], "reward": 10, "finish_reason": "length"}`,
			`{"step": 1, "sample_idx": 1, "prompt_idx": 0, "prompt_tokens": [5], "response_tokens": [9, 9], "reward": 0, "finish_reason": "stop"}`,
		}, []float64{2.5}, []float64{0.5}},
		{[]string{
			`{"example_id": 1, "reward": 1, "is_truncated": false}`, `{"example_id": 1, "reward": 0, "is_truncated": true}`,
			`{"example_id": 2, "reward": 0, "is_truncated": true}`, `{"example_id": 1, "reward": null, "is_truncated": true}`,
		}, nil, []float64{0.5, 1}},
	} {
		path := filepath.Join(t.TempDir(), "step_1.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(c.lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
		tab, _, err := logs.Import(context.Background(), logs.Options{Paths: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		var tokens, truncated []float64
		for _, r := range tab.Rows {
			if tab.HasTokens {
				tokens = append(tokens, r.Tokens)
			}
			if tab.HasTruncated {
				truncated = append(truncated, r.Truncated)
			}
		}
		if !slices.Equal(tokens, c.tokens) || !slices.Equal(truncated, c.truncated) {
			t.Errorf("%q: tokens %v, truncated %v, want %v, %v", c.lines, tokens, truncated, c.tokens, c.truncated)
		}
	}
}
