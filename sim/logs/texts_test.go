package logs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/sim/logs"
)

// spell writes what ReadTexts finds, a rollout an element: "STEP VISIT INDEX
// COMPLETION/ANSWER REWARD".
func spell(t *testing.T, texts *logs.Texts) []string {
	t.Helper()
	var all []string
	err := texts.Each(func(x logs.Rollout) error {
		all = append(all, fmt.Sprintf("%d %d %d %s/%s %v", x.Step, x.Visit, x.Index, x.Completion, x.Answer, x.Reward))
		if x.Line < 1 || x.Group < 0 || x.Group >= texts.Groups || x.PromptID == "" || !strings.Contains(x.File, string(filepath.Separator)) {
			t.Errorf("%+v: want a place, a group below %d and a prompt", x, texts.Groups)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != texts.Rollouts {
		t.Errorf("%d rollouts, want %d as promised", len(all), texts.Rollouts)
	}
	return all
}

// TestSharedTexts checks the completions, answers and rewards of every format
// against what was read from the files by hand.
func TestSharedTexts(t *testing.T) {
	dir := shared(t)
	const (
		plain    = "3 0 0 7/ 1|3 0 1 8/ 0|3 0 2 7/ 1|3 0 0 144/ 1|3 0 1 124/ 0|3 0 2 140/ 0"
		answered = "3 0 0 7/7 1|3 0 1 8/7 0|3 0 2 7/7 1|3 0 0 144/144 1|3 0 1 124/144 0|3 0 2 140/144 0"
	)
	at := func(step string, text string) string { return step + strings.ReplaceAll(text[1:], "|3", "|"+step) }
	for _, c := range []struct {
		path    string
		options logs.Options
		want    string // or the end of an error, after "!"
	}{
		{path: "verl_v0_rollout", want: "3 0 0 7/7 1|3 0 0 124/144 0|3 0 1 144/144 1|3 0 1 8/7 0|3 0 2 7/7 1|3 0 2 140/144 0"},
		{path: "verl_v1_rollout", want: answered},
		{path: "verl_dapo_minus1", want: "3 0 0 7/7 1|3 0 0 124/144 -1|3 0 1 144/144 1|3 0 1 8/7 -1|3 0 2 7/7 1|3 0 2 140/144 -1"},
		{path: "verl_validation", want: "0 0 0 7/7 1|0 0 1 8/7 0|0 0 0 144/144 1|0 0 1 124/144 0"},
		{path: "trl/completions/completions_00005.parquet", options: logs.Options{Reward: "accuracy_reward"}, want: at("5", plain)},
		{path: "trl/completions/completions_00005.as_rows.jsonl", options: logs.Options{Reward: "accuracy_reward", Answer: "extracted_answer"}, want: "5 0 0 7/7 1|5 0 1 8/8 0|5 0 2 7/7 1|5 0 0 144/144 1|5 0 1 124/124 0|5 0 2 140/140 0"},
		{path: "trl/completions/completions_00005.parquet", want: "!several columns may be the reward: accuracy_reward, format_reward; the log has neither their total nor its weights"},
		{path: "nemo_rl/train_data_step3.jsonl", options: logs.Options{Group: logs.GroupPosition, GroupSize: 3}, want: "!a log of nemo-rl has no completions to read: content is prompt and answer in one text, and where one ends is not logged"},
		{path: "prime_rl", want: "3 0 0 7/ 1|3 0 1 8/ 0|3 0 2 7/ 1|3 0 0 144/ 1|3 0 1 124/ 0"},
		{path: "prime_rl_gz", want: "3 0 0 7/ 1|3 0 1 8/ 0|3 0 2 7/ 1|3 0 0 144/ 1|3 0 1 124/ 0"},
		{path: "skyrl", want: plain},
		{path: "open_instruct", want: "!a log of open-instruct has no completions to read: response_tokens are numbers of tokens, and their texts are not logged"},
		{path: "areal", want: "3 0 0 7/ 1|3 0 1 8/ 0|3 0 2 7/ 1"},
		{path: "rllm", want: "3 0 0 7/7 1|3 0 1 8/7 0|3 0 2 7/7 1"},
		{path: "ms_swift_rows", want: plain},
		{path: "ms_swift_columnar", options: logs.Options{Reward: "MathAccuracy"}, want: plain},
		{path: "openrlhf_limr_fork", want: plain},
		{path: "openai_chat_rows", want: at("0", plain)},
		{path: "eval_lists/cruxeval_scored.json", want: at("0", plain)},
		{path: "eval_lists/humaneval_results.jsonl", want: at("0", plain)},
		{path: "eval_lists/livecodebench_eval_all.json", want: at("0", plain)},
		{path: "eval_lists/qwen_math_eval.jsonl", want: at("0", answered)},
		{path: "slime/rollout_3.pt", options: logs.Options{Reward: "reward.acc"}, want: "3 0 0 7/7 1|3 0 1 8/7 0|3 0 2 7/7 1|3 0 0 144/144 1|3 0 1 140/144 0"},
		{path: "slime/rollout_3.as_json.json", options: logs.Options{Reward: "reward.acc", Answer: "index"}, want: "3 0 0 7/0 1|3 0 1 8/1 0|3 0 2 7/2 1|3 0 0 144/3 1|3 0 1 140/5 0"},
		{path: "awkward/crlf_bom.jsonl", want: "!none of 2 rollouts has a completion in completion or response; the columns are prompt, reward"},
		{path: "awkward/ragged_groups.jsonl", options: logs.Options{Answer: "reference"}, want: "!none of 16 rollouts has an answer in reference; the columns are completion, prompt, reward"},
		{path: "awkward/nan_and_null.jsonl", want: "0 0 0 z/ 1"},
	} {
		o := c.options
		o.Paths = []string{filepath.Join(dir, c.path)}
		texts, err := logs.ReadTexts(context.Background(), o)
		if fault, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.HasSuffix(err.Error(), fault) {
				t.Errorf("%s: %v, want the error %s", c.path, err, fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got := strings.Join(spell(t, texts), "|"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.path, got, c.want)
		}
	}
}

// writeLog writes a log of one file and returns its path.
func writeLog(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTextsThatCount: rollouts of an attempt that a later one superseded, those
// logged twice, without a reward or without a completion do not come; visits are
// those of the table; a further line that was written meanwhile is left out, and
// one that is gone is an error.
func TestTextsThatCount(t *testing.T) {
	lines := []string{
		`{"prompt_id":"a","index":0,"round":1,"step":1,"reward":1,"completion":"x","answer":"X"}`,
		`{"prompt_id":"a","index":0,"round":1,"step":1,"reward":1,"completion":"again"}`,
		`{"prompt_id":"a","index":1,"round":1,"step":1,"reward":0,"completion":null}`,
		`{"prompt_id":"b","index":0,"round":1,"step":2,"reward":1,"completion":"lost"}`,
		`{"prompt_id":"a","index":0,"round":1,"step":2,"reward":0,"completion":"lost"}`,
		`{"prompt_id":"a","index":0,"round":1,"step":2,"reward":null,"completion":"judge failed"}`,
		`{"prompt_id":"b","index":0,"round":1,"step":1,"reward":0,"completion":"kept"}`,
		`{"prompt_id":"a","index":0,"round":1,"step":2,"reward":1,"completion":"","answer":17}`,
	}
	// The steps go back at line 7, so that a later attempt wrote steps 1 and 2 again.
	path := writeLog(t, "run.jsonl", strings.Join(lines, "\n")+"\n")
	texts, err := logs.ReadTexts(context.Background(), logs.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 0 0 kept/ 0|2 0 0 /17 1"
	if got := strings.Join(spell(t, texts), "|"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if texts.Prompts != 2 || texts.Answered != 1 || texts.Missing != 0 {
		t.Errorf("%d prompts, %d answered, %d missing, want 2, 1, 0", texts.Prompts, texts.Answered, texts.Missing)
	}
	texts, err = logs.ReadTexts(context.Background(), logs.Options{Paths: []string{path}, KeepAll: true})
	if err != nil {
		t.Fatal(err)
	}
	want = "1 0 0 x/X 1|2 1 0 lost/ 1|2 1 0 lost/ 0|1 0 0 kept/ 0|2 1 1 /17 1"
	if got := strings.Join(spell(t, texts), "|"); got != want || texts.Missing != 1 {
		t.Errorf("%s and %d missing, want %s and 1", got, texts.Missing, want)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"+strings.Replace(lines[0], `"index":0`, `"index":9`, 1)+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(spell(t, texts), "|"); got != want {
		t.Errorf("a line more: %s, want %s", got, want)
	}
	for name, content := range map[string]string{
		"a line less":    strings.Join(lines[:6], "\n"),
		"another reward": strings.Replace(strings.Join(lines, "\n"), `"reward":1`, `"reward":0`, 1),
	} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := texts.Each(func(logs.Rollout) error { return nil }); !errors.Is(err, logs.ErrChanged) {
			t.Errorf("%s: %v, want %v", name, err, logs.ErrChanged)
		}
	}
}

// TestTextsJoined: answers from elsewhere are those of rollouts that have none.
func TestTextsJoined(t *testing.T) {
	path := writeLog(t, "run.jsonl", strings.Join([]string{
		`{"prompt_id":"a","index":0,"round":1,"prompt":"A?","reward":1,"completion":"x"}`,
		`{"prompt_id":"a","index":1,"round":1,"prompt":"A?","reward":0,"completion":"y","answer":"own"}`,
		`{"prompt_id":"b","index":0,"round":1,"prompt":"B?","reward":0,"completion":"z","answer":""}`,
		`{"prompt_id":"c","index":0,"round":1,"prompt":"C?","reward":0,"completion":"z"}`,
	}, "\n"))
	texts, err := logs.ReadTexts(context.Background(), logs.Options{Paths: []string{path}, Answers: func(prompt, text string) string {
		return map[string]string{"a A?": "1", "b B?": "2"}[prompt+" "+text]
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(spell(t, texts), "|"), "0 0 0 x/1 1|0 0 1 y/own 0|0 0 0 z/2 0|0 0 0 z/ 0"; got != want || texts.Answered != 3 || texts.Joined != 2 {
		t.Errorf("%s, %d answered and %d of them joined, want %s, 3, 2", got, texts.Answered, texts.Joined, want)
	}
}

// TestTextsOfMessages: what messages, lists and numbers say.
func TestTextsOfMessages(t *testing.T) {
	path := writeLog(t, "rows.jsonl", strings.Join([]string{
		`{"prompt":[{"role":"system","content":"be brief"},{"role":"user","content":"1+1?"}],"completion":[{"role":"assistant","content":"two, "},{"role":"tool","content":"no"},{"role":"assistant","content":"2"}],"answer":["2"],"reward":1}`,
		`{"prompt":[{"role":"system","content":"be brief"},{"role":"user","content":"1+1?"}],"completion":"3","answer":[2,"two"],"reward":0}`,
	}, "\n"))
	texts, err := logs.ReadTexts(context.Background(), logs.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(spell(t, texts), "|"), "0 0 0 two, \n2/2 1|0 0 1 3/[2,\"two\"] 0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_ = texts.Each(func(x logs.Rollout) error {
		if x.Prompt != "be brief\n1+1?" {
			t.Errorf("prompt %q", x.Prompt)
		}
		return nil
	})
}

// TestTextsOfTables: a table has none.
func TestTextsOfTables(t *testing.T) {
	for _, content := range []string{"prompt_id,n,successes\na,4,1\n", "prompt_id,n,rewards\na,2,0.5 1\n"} {
		path := writeLog(t, "t.csv", content)
		if _, err := logs.ReadTexts(context.Background(), logs.Options{Paths: []string{path}}); err == nil || !strings.Contains(err.Error(), "a table has counts of rollouts and no texts") {
			t.Errorf("%q: %v, want a refusal that says why", content, err)
		}
	}
}
