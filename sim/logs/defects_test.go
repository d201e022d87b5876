package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions/table"
)

// A case is a log in small files.
type smallLog struct {
	files map[string]string
	o     Options
}

// rows is a log of prompts and rewards, "a 1 a 0 b 1", step by step.
func rows(steps ...string) smallLog {
	var b strings.Builder
	for i, step := range steps {
		words := strings.Fields(step)
		for k := 0; k < len(words); k += 2 {
			fmt.Fprintf(&b, "{\"prompt\": %q, \"reward\": %s, \"step\": %d}\n", words[k], words[k+1], i+1)
		}
	}
	return file(b.String())
}

// file is a log of one file.
func file(content string) smallLog { return smallLog{files: map[string]string{"1.jsonl": content}} }

// with returns the log with other options.
func (l smallLog) with(o Options) smallLog {
	l.o = o
	return l
}

// verlRows is a verl log of rows "PROMPT SCORE ACC".
func verlRows(lines ...string) smallLog {
	var b strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		fmt.Fprintf(&b, "{\"input\": %q, \"output\": \"x\", \"score\": %s, \"step\": 1, \"acc\": %s}\n", words[0], words[1], words[2])
	}
	return file(b.String())
}

// primeRows is a prime-rl log of rows "ID PROMPT REWARD".
func primeRows(lines ...string) smallLog {
	var b strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		fmt.Fprintf(&b, "{\"example_id\": %s, \"prompt\": %q, \"reward\": %s}\n", words[0], words[1], words[2])
	}
	return file(b.String())
}

// nemoRows is a NeMo-RL log of contents with rewards, and filtered ones where given.
func nemoRows(lines ...string) smallLog {
	var b strings.Builder
	for i, line := range lines {
		words := strings.Fields(line)
		filtered := ""
		if len(words) > 2 {
			filtered = fmt.Sprintf(`, "filtered_rewards": [%s]`, words[2])
		}
		fmt.Fprintf(&b, "{\"content\": [%q], \"rewards\": [%s], \"idx\": %d%s}\n", words[0], words[1], i, filtered)
	}
	return smallLog{map[string]string{"train_data_step1.jsonl": b.String()}, Options{Group: GroupPosition, GroupSize: 2}}
}

// mixedGroups is a step of n groups "p 1 p 0".
func mixedGroups(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p%d 1 p%d 0 ", i, i)
	}
	return b.String()
}

// backAndForth is a log whose steps go back n times.
func backAndForth(n int) smallLog {
	var b strings.Builder
	for i := range 2*n + 1 {
		fmt.Fprintf(&b, "{\"prompt\": \"a\", \"reward\": %d, \"step\": %d}\n", i/2%2, 1+(i+1)%2)
	}
	return file(b.String())
}

// defectCases has for every defect a log that has it, what its text must say,
// and a log that is as close to it as can be without.
var defectCases = map[string]struct {
	has  smallLog
	says string
	not  smallLog
}{
	"no-rewards":        {file(`{"custom_id": "q0", "response": {"body": {}}}`), "a log of openai: it has answers and no rewards", file(`{"id": "q0", "messages": [{"role": "user"}], "reward": 1}`)},
	"no-group-key":      {nemoRows("ab 1", "ac 0").with(Options{}), "nemo-rl name no prompt", nemoRows("ab 1", "ac 0")},
	"not-scored-singly": {file(`{"doc_id": 0, "filter": "f", "resps": [["a", "b"]], "filtered_resps": ["a"], "metrics": ["m"], "m": 1}`), "1 records have several answers", file(`{"doc_id": 0, "filter": "f", "resps": [["a"]], "filtered_resps": ["a"], "metrics": ["m"], "m": 1}`)},
	"several-rewards": {
		file(`{"step": 1, "prompt": "a", "completion": "x", "r1": 1, "r2": 0.5, "advantage": 0}`), "may be the reward: r1, r2",
		file(`{"step": 1, "prompt": "a", "completion": "x", "r1": 1, "note": "2", "advantage": 0}`),
	},
	"no-such-column":    {rows("a 1").with(Options{Reward: "score"}), "column score of --reward; there are prompt, reward, step", rows("a 1").with(Options{Reward: "reward"})},
	"reward-unreadable": {rows(`a "good" a 1`), `1 rewards are no numbers in [-1e100, 1e100]: reward = "good"`, rows(`a "1" a 1`)},
	"filtered-rewards":  {nemoRows("ab 0 1", "ac 0 0"), "filtered_rewards and rewards disagree in 1 rows", nemoRows("ab 1 1", "ac 0 0")},
	"reward-against-judge": {
		verlRows("a 0 true", "a 1 false"), "score and acc disagree: an answer that is right has reward 0, one that is wrong 1",
		verlRows("a 1 true", "a 0.1 false", "a 0.1 true", "a 0 false"),
	},
	"single-rollouts": {primeRows("1 a 1", "2 a 0", "3 b 1", "4 c 1", "4 c 0"), "3 of 4 groups by id: info.prime_rl.env_name, example_id have one rollout, and the prompts of 2 of them repeat", primeRows("1 a 1", "2 b 0", "3 c 1")},
	"several-runs": {
		smallLog{map[string]string{"run/1.jsonl": rows("a 1 a 0 b 1").files["1.jsonl"], "val/1.jsonl": rows("a 0 a 1 c 1").files["1.jsonl"]}, Options{}},
		"1 groups have rollouts from several places (",
		smallLog{map[string]string{"run/1.jsonl": rows("a 1 a 0").files["1.jsonl"], "run/2.jsonl": rows("a 0 a 1", "a 1").files["1.jsonl"], "val/1.jsonl": rows("b 0 b 1").files["1.jsonl"]}, Options{}},
	},
	"several-prompts": {primeRows("1 a 1", "1 b 0"), "1 rollouts have another prompt", primeRows("1 a 1", "2 b 0")},
	"misaligned":      {nemoRows("ab 1", "cb 0", "cd 1", "ce 0"), "1 pairs of neighbouring groups of 2", nemoRows("ab 1", "ac 0", "cd 1", "ce 0")},
	"half-named":      {primeRows("1 a 1", "null a 0"), "some rollouts have a name of their prompt (info.prime_rl.env_name, example_id)", primeRows("1 a 1", "2 b 0")},
	"no-names":        {rows("a 1 a 0").with(Options{Group: GroupID}), "names neither prompts nor groups", primeRows("1 a 1").with(Options{Group: GroupID})},
	"no-name":         {file(`{"task_id": null, "passed": true}`), "1 rollouts have nothing that names", file(`{"task_id": "a", "passed": true}`)},
	"mixed-ranges": {
		smallLog{map[string]string{"1.jsonl": rows("a 1 a 0").files["1.jsonl"], "2.jsonl": rows("a 1 a -1").files["1.jsonl"]}, Options{}},
		"rewards of one file are 0 or 1, of another -1 or 1",
		smallLog{map[string]string{"1.jsonl": rows("a 1 a -1").files["1.jsonl"], "2.jsonl": rows("a -1 a -1").files["1.jsonl"]}, Options{}},
	},
	"sentinel":   {rows("a 1 a 0 a -1 a -1"), "rewards are -1 (2), 0 (1) and 1 (1)", rows("a 1 a 0 a -0.5")},
	"one-value":  {rows("a 10 a 10"), "every reward is 10", rows("a 1 a 1")},
	"bad-record": {file("{\"prompt\": \"a\", \"reward\": 1}\n{\"prompt\": \"a\", \"rew\n{\"prompt\": \"a\", \"reward\": 0}\n"), "1 records before the end cannot be read: ", file("{\"prompt\": \"a\", \"reward\": 1}\n{\"prompt\": \"a\", \"rew")},
	"interleaved": {
		backAndForth(maxAttempts + 1), fmt.Sprintf("steps go back %d times", maxAttempts+1), backAndForth(maxAttempts),
	},
	"nothing-left": {rows("a null"), "no rollout with a reward is left of 1", rows("a 1")},

	// Of n groups of two, none is constant with probability 3^-n: seven make 1/2187.
	"survivors":    {rows(mixedGroups(7)), "SURVIVOR BIAS: none of 7 full groups", rows(mixedGroups(6))},
	"filtered-log": {nemoRows("ab 1 1", "ac 0 0"), "SURVIVOR BIAS: the run filtered groups", nemoRows("ab 1", "ac 0")},
	"torn-tail":    {file("{\"prompt\": \"a\", \"reward\": 1}\n{\"prompt\": \"a\", \"rew"), "the last record of 1 files is torn", file("{\"prompt\": \"a\", \"reward\": 1}\n{\"prompt\": \"a\", \"reward\": 1}")},
	"no-end-of-line": {
		smallLog{map[string]string{"t.csv": "prompt,reward\na,0\na,1\na,1"}, Options{}},
		"the last line of 1 CSV files has no end of line",
		smallLog{map[string]string{"t.csv": "prompt,reward\na,0\na,1\na,\"1\""}, Options{}},
	},
	"missing-rewards": {
		rows("a 1 a null a NaN a Infinity a 0"), "3 of 5 rollouts have no reward and are left out, not counted as failures (no reward: 3)", rows("a 1 a 0"),
	},
	"resumed": {file(rows("a 1 a 0", "a 0 a 0", "a 1 a 1").files["1.jsonl"] + rows("", "a 1 a 1", "a 1 a 0").files["1.jsonl"]), "steps go back 1 times, as when a run is resumed: 4 rollouts", rows("a 1 a 0", "a 0 a 0", "a 1 a 1")},
	"copies": {
		smallLog{map[string]string{"1.jsonl": rows("a 1 a 0").files["1.jsonl"], "x/1.jsonl": rows("a 1 a 0").files["1.jsonl"]}, Options{}},
		"2 rollouts were logged twice and count once",
		smallLog{map[string]string{"1.jsonl": rows("a 1 a 0").files["1.jsonl"], "x/1.jsonl": rows("a 0 a 1").files["1.jsonl"]}, Options{}},
	},
	"merged-prompts": {rows("a 1 a 0 b 1 b 0 c 1 c 0 c 1 c 1"), "1 groups by text: prompt have 2 times the usual 2", rows("a 1 a 0 b 1 b 0 c 1 c 0 c 1")},
	"repeated-records": {
		file(`[{"question_id": "q", "graded_list": [true, false]}, {"question_id": "q", "graded_list": [true]}, {"question_id": "r", "graded_list": [false]}]`), "2 groups by id: question_id",
		file(`[{"question_id": "q", "graded_list": [true, false]}, {"question_id": "s", "graded_list": [true]}]`),
	},
	"ragged":          {rows("a 1 a 0 b 1"), "different sizes (1 of 1, 1 of 2)", rows("a 1 a 0 b 1 b 0")},
	"single-sizes":    {rows("a 1 b 0"), "every group has one rollout", rows("a 1 a 0")},
	"constant-groups": {rows("a 1 a 1 b 0 b 0"), "(variance 0.25) and not at all within any of 2 groups", rows("a 1 a 1 b 0 b 1")},
	"no-variance":     {rows("a 1 a 1 b 1 b 1"), "every reward is 1: none of 2 groups has a signal", rows("a 1 a 1 b 0 b 0")},
	"dead-off-the-ends": {
		rows("a 0.5 a 0.5 b 0 b 0 c 1 c 1"), "1 groups are constant at a reward between", rows("a 0.5 a 0.4 b 0 b 0 c 1 c 1"),
	},
	"shaped-rewards": {
		verlRows("a 0.1 false", "a 0 false", "b 1 true", "b 0 false"), "0 of 2 groups are constant by score, 1 by acc",
		verlRows("a 0 false", "a 0 false", "b 1 true", "b 0 false"),
	},
	"columns-change": {
		file("{\"prompt\": \"a\", \"reward\": 1}\n" + strings.Repeat("{\"prompt\": \"a\", \"reward\": 1, \"acc\": 1}\n", 2) + "{\"prompt\": \"a\", \"reward\": 0}\n"), "of 4 records, acc in 2",
		file("{\"prompt\": \"a\", \"reward\": 1}\n{\"reward\": 1, \"prompt\": \"a\"}\n"),
	},
	"skipped-files": {
		smallLog{map[string]string{"1.jsonl": rows("a 1").files["1.jsonl"], "notes.txt": "hello\n"}, Options{}},
		"1 files are no part of the log: ",
		rows("a 1"),
	},
	"numbers-as-text":  {rows(`a "True" a "0" a 1`), "2 rewards are written as text", rows("a true a 0 a 1")},
	"no-id":            {rows("a 1"), "groups are those of equal text in prompt", primeRows("1 a 1")},
	"by-position":      {nemoRows("ab 1", "ac 0"), "found by position", rows("a 1")},
	"rounding":         {rows("a 0.99999999 a 1 a 0"), "differ by less than 1e-06", rows("a 0.999 a 1 a 0")},
	"last-batch-alone": {file(`{"step": 1, "prompt": "a", "completion": "x", "r": 1, "advantage": 0}`), "trl logs one generation batch", rows("a 1")},
	"no-step":          {smallLog{map[string]string{"x.jsonl": `{"input": "a", "output": "x", "score": 1}`}, Options{}}, "it is 0", file(`{"input": "a", "output": "x", "score": 1}`)},
}

// run imports a small log and returns every finding, of a refusal or a report.
func (l smallLog) run(t *testing.T) ([]Finding, *table.Table, error) {
	t.Helper()
	dir := t.TempDir()
	for path, content := range l.files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	l.o.Paths = []string{dir}
	tab, report, err := Import(context.Background(), l.o)
	var refusal *Refusal
	switch {
	case err == nil:
		return report.Findings, tab, nil
	case errors.As(err, &refusal):
		return refusal.Findings, nil, err
	}
	t.Errorf("%v: %v", l.files, err)
	return nil, nil, err
}

func find(findings []Finding, id string) *Finding {
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// TestDefects holds every row of the table to a log that has the defect and one
// that has it not.
func TestDefects(t *testing.T) {
	if len(defectCases) != len(defects) {
		t.Errorf("%d cases, want one for each of %d defects", len(defectCases), len(defects))
	}
	for _, d := range defects {
		c, ok := defectCases[d.ID]
		if !ok {
			t.Errorf("%s has no case", d.ID)
			continue
		}
		t.Run(d.ID, func(t *testing.T) {
			findings, tab, err := c.has.run(t)
			f := find(findings, d.ID)
			switch {
			case f == nil:
				t.Errorf("found %+v, want %s", findings, d.ID)
			case f.Action != d.Action || !strings.Contains(f.Text, c.says) || strings.Contains(f.Text, "%!"):
				t.Errorf("found %+v, want action %d and %q", f, d.Action, c.says)
			case (d.Action == Refuse) != (err != nil && tab == nil):
				t.Errorf("action %d, error %v", d.Action, err)
			}
			if findings, _, _ := c.not.run(t); find(findings, d.ID) != nil {
				t.Errorf("found %+v where it is not", find(findings, d.ID))
			}
		})
	}
}

// TestSettled: whoever says what to trust gets a table, with a warning.
func TestSettled(t *testing.T) {
	for id, o := range map[string]Options{
		"filtered-rewards":     {}, // nothing left to compare once a column is chosen
		"reward-against-judge": {Reward: "score"},
		"mixed-ranges":         {Success: Rule{">", 0}},
		"sentinel":             {Success: Rule{">", 0}},
		"one-value":            {Success: Rule{">", 0}},
		"bad-record":           {Lenient: true},
		"interleaved":          {KeepAll: true},
		"single-rollouts":      {Group: GroupText},
		"several-runs":         {KeepAll: true},
		"several-prompts":      {Group: GroupText},
		"several-rewards":      {Reward: "r1"},
	} {
		l := defectCases[id].has
		if id == "filtered-rewards" {
			o = l.o
			o.Reward = "filtered_rewards"
		}
		findings, tab, err := l.with(o).run(t)
		if err != nil || tab == nil {
			t.Errorf("%s with %+v: %v", id, o, err)
		}
		if f := find(findings, id); f != nil && f.Action != Warn {
			t.Errorf("%s with %+v: %+v, want a warning", id, o, f)
		}
	}
}

// TestAttempts: the last attempt at a step counts, or all of them.
func TestAttempts(t *testing.T) {
	l := defectCases["resumed"].has
	for _, all := range []bool{false, true} {
		_, tab, err := l.with(Options{KeepAll: all}).run(t)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range tab.Rows {
			got = append(got, r.Outcomes)
		}
		want := []string{"10", "11", "10"}
		if all {
			want = []string{"10", "0011", "1110"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("all attempts %v: outcomes %q, want %q", all, got, want)
		}
	}
}

// TestRunsArePooled: two runs call their rollouts alike, so that where all are
// pooled an index tells copies within a run alone, whatever the texts are; a file of
// the same bytes is a copy all the same.
func TestRunsArePooled(t *testing.T) {
	run := func(said ...string) string {
		var b strings.Builder
		for i, text := range said {
			fmt.Fprintf(&b, `{"prompt_id":"q","index":%d,"round":1,"prompt":"?","completion":%q,"reward":%d}`+"\n", i, text, len(text)%2)
		}
		return b.String()
	}
	first := run("7", "eight")
	again := strings.SplitAfter(first, "\n")[0] // logged twice
	l := smallLog{files: map[string]string{
		"a/rollouts.jsonl": first + again, "b/rollouts.jsonl": run("7", "ten!"), "copy/rollouts.jsonl": first + again,
	}}
	if findings, _, err := l.run(t); err == nil || find(findings, "several-runs") == nil {
		t.Errorf("%+v, %v, want a refusal of several runs", findings, err)
	}
	findings, tab, err := l.with(Options{KeepAll: true}).run(t)
	if err != nil || len(tab.Rows) != 1 || tab.Rows[0].Outcomes != "1110" {
		t.Fatalf("%+v, %v, want the outcomes 1110", tab, err)
	}
	if f := find(findings, "copies"); f == nil || !strings.Contains(f.Text, "4 rollouts were logged twice") {
		t.Errorf("%+v, want 4 rollouts logged twice: one line of a, three of its copy", f)
	}
}

// TestShardsAreOneStream: a run that was resumed goes on in the next file of
// its folder, and supersedes what stands in the one before.
func TestShardsAreOneStream(t *testing.T) {
	l := smallLog{files: map[string]string{
		"run_000000.jsonl": rows("a 1", "a 1", "a 1").files["1.jsonl"], "run_000001.jsonl": rows("", "a 0", "a 0", "a 0").files["1.jsonl"],
		"other/run_000002.jsonl": rows("b 1").files["1.jsonl"],
	}}
	_, tab, err := l.run(t)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, r := range tab.Rows {
		got[r.Step] += r.Outcomes
	}
	if got[1] != "11" || got[2] != "0" || got[3] != "0" || got[4] != "0" || len(tab.Rows) != 5 {
		t.Errorf("rows %+v, want steps 2 and 3 of the second file alone", tab.Rows)
	}
}

// TestTornCSV: a last line with too few fields was being written, one before is
// damage.
func TestTornCSV(t *testing.T) {
	csv := func(content string) smallLog { return smallLog{files: map[string]string{"t.csv": content}} }
	findings, tab, err := csv("prompt,reward,step\na,1,1\na,0").run(t)
	if err != nil || find(findings, "torn-tail") == nil || len(tab.Rows) != 1 || tab.Rows[0].Outcomes != "1" {
		t.Errorf("torn: %+v, %+v, %v", findings, tab, err)
	}
	findings, tab, err = csv("reward,prompt\n1,a\n0,a\n1,\"a wo").run(t)
	if err != nil || find(findings, "torn-tail") == nil || len(tab.Rows) != 1 || tab.Rows[0].Outcomes != "10" {
		t.Errorf("torn within quotes: %+v, %+v, %v", findings, tab, err)
	}
	findings, tab, err = csv("prompt,reward\na,10\na,0\na,1").run(t)
	if err != nil || find(findings, "no-end-of-line") == nil || find(findings, "torn-tail") != nil || tab.Rows[0].N != 3 {
		t.Errorf("no end of line: %+v, %+v, %v", findings, tab, err)
	}
	findings, tab, err = csv("prompt,reward\na,True\na,False\na,TRUE\na,\n").run(t)
	if err != nil || tab.Rows[0].Outcomes != "101" || find(findings, "numbers-as-text") != nil || find(findings, "missing-rewards") == nil {
		t.Errorf("truth values: %+v, %+v, %v", findings, tab, err)
	}
	for _, content := range []string{"prompt,reward,step\na,1,1\na,0\na,1,1\n", "prompt,reward,step\na,1,1\na,0,1,1\n"} {
		if findings, _, _ := csv(content).run(t); find(findings, "bad-record") == nil {
			t.Errorf("%q: %+v, want it refused", content, findings)
		}
	}
}

// TestGraded: rewards that no rule reads keep their values.
func TestGraded(t *testing.T) {
	_, tab, err := rows("a 0.25 a 1 b -2 b null").run(t)
	if err != nil {
		t.Fatal(err)
	}
	if !tab.Graded || len(tab.Rows) != 2 || !slices.Equal(tab.Rows[0].Rewards, []float64{0.25, 1}) || !slices.Equal(tab.Rows[1].Rewards, []float64{-2}) || tab.Rows[0].S != 0 {
		t.Errorf("%+v", tab)
	}
	dir := t.TempDir()
	for _, extension := range table.Extensions() {
		path := filepath.Join(dir, "graded"+extension)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tab.WriteAs(f, path), f.Close()); err != nil {
			t.Fatal(err)
		}
		counted, _, err := Import(context.Background(), Options{Paths: []string{path}, Success: Rule{">", 0.5}})
		if err != nil || len(counted.Rows) != 2 || counted.Rows[0].Outcomes != "01" || counted.Rows[1].Outcomes != "0" || counted.Rows[0].PromptID != tab.Rows[0].PromptID {
			t.Errorf("%s: %+v, %v", extension, counted, err)
		}
	}
	_, tab, err = rows("a 0.25 a 1 b -2 b null").with(Options{Success: Rule{">=", 0.25}}).run(t)
	if err != nil || tab.Graded || tab.Rows[0].Outcomes != "11" || tab.Rows[1].Outcomes != "0" || tab.Rows[0].Rewards != nil {
		t.Errorf("%+v, %v", tab, err)
	}
}

// TestParts: what the log tells apart within a step stays apart, unless text
// alone shall count.
func TestParts(t *testing.T) {
	verl := file(strings.Join([]string{
		`{"input": "a", "output": "x", "score": 1, "step": 1, "uid": "u"}`, `{"input": "a", "output": "x", "score": 0, "step": 1, "uid": "v"}`,
		`{"input": "a", "output": "x", "score": 1, "step": 1, "uid": "u"}`, `{"input": "a", "output": "x", "score": 1, "step": 1, "uid": "v"}`,
		`{"input": "a", "output": "x", "score": 0, "step": 2, "uid": "w"}`, `{"input": "a", "output": "x", "score": 0, "step": 2, "uid": "w"}`,
	}, "\n"))
	lists := file(`[{"question_id": "q", "graded_list": [true, false]}, {"question_id": "q", "graded_list": [true, true]}]`)
	dump := smallLog{files: map[string]string{"3/q.txt": "idx: 1 / 2, seqlen: 3, reward is 1.0.\nidx: 2 / 2, seqlen: 3, reward is 0.0.\nidx: 1 / 2, seqlen: 3, reward is 0.0.\nidx: 7 / 9, seqlen: 3, reward is 1.0.\n"}}
	for _, c := range []struct {
		log  smallLog
		want string
	}{
		{verl, "1/0:11 1/1:01 2/2:00"},
		{verl.with(Options{Group: GroupText}), "1/0:1011 2/1:00"},
		{lists, "0/0:10 0/1:11"},
		{dump, "3/0:10 3/1:0"},
	} {
		_, tab, err := c.log.run(t)
		if err != nil {
			t.Errorf("%v: %v", c.log, err)
			continue
		}
		var got []string
		for _, r := range tab.Rows {
			got = append(got, fmt.Sprintf("%d/%d:%s", r.Step, r.Visit, r.Outcomes))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %q, want %s", c.log, got, c.want)
		}
	}
}

// TestPackedBesidePlain: a log that was packed and not removed counts once.
func TestPackedBesidePlain(t *testing.T) {
	content := rows("a 1 a 0").files["1.jsonl"]
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	findings, tab, err := smallLog{files: map[string]string{"1.jsonl": content, "1.jsonl.gz": packed.String()}}.run(t)
	if err != nil || len(tab.Rows) != 1 || tab.Rows[0].N != 2 || find(findings, "skipped-files") == nil {
		t.Errorf("%+v, %+v, %v, want one group of 2", tab, findings, err)
	}
	for _, lost := range []int{4, 9} { // killed while it was packed, behind the last line or in it
		cut := packed.String()[:packed.Len()-lost]
		findings, tab, err = smallLog{files: map[string]string{"1.jsonl.gz": cut}}.run(t)
		if err != nil || len(tab.Rows) != 1 || find(findings, "torn-tail") == nil {
			t.Errorf("cut by %d: %+v, %+v, %v, want what can be read, and a warning", lost, tab, findings, err)
		}
	}
}

// TestEqualSteps: files of the same bytes at two steps are no copies.
func TestEqualSteps(t *testing.T) {
	content := primeRows("1 a 1", "1 a 0").files["1.jsonl"]
	findings, tab, err := smallLog{files: map[string]string{"step_1/r.jsonl": content, "step_2/r.jsonl": content, "copy/step_2/r.jsonl": content}}.run(t)
	if err != nil || len(tab.Rows) != 2 || tab.Rows[0].N != 2 || tab.Rows[1].Step != 2 || find(findings, "copies") == nil {
		t.Errorf("%+v, %+v, %v, want a group a step and one copy", tab, findings, err)
	}
}

// TestHiddenFiles: what editors and file systems leave in a folder is no log.
func TestHiddenFiles(t *testing.T) {
	content := rows("a 1 a 0").files["1.jsonl"]
	findings, tab, err := smallLog{files: map[string]string{"1.jsonl": content, ".2.jsonl": content, ".cache/3.jsonl": content}}.run(t)
	if err != nil || len(tab.Rows) != 1 || tab.Rows[0].N != 2 || find(findings, "copies") != nil {
		t.Errorf("%+v, %+v, %v, want the two rollouts of 1.jsonl", tab, findings, err)
	}
}

// TestRangesThatAgree: files of fewer values than others have, or of graded
// rewards, mix no ranges.
func TestRangesThatAgree(t *testing.T) {
	of := func(files ...string) smallLog {
		l := smallLog{files: map[string]string{}}
		for i, f := range files {
			l.files[fmt.Sprintf("%d.jsonl", i)] = rows(f).files["1.jsonl"]
		}
		return l
	}
	for _, l := range []smallLog{of("a 1 a -1", "a -1 a -1", "a 1"), of("a 0 a 1", "a 0 a 0.5", "a 0 a 0.5 a 1")} {
		if findings, _, err := l.run(t); err != nil || find(findings, "mixed-ranges") != nil {
			t.Errorf("%v: %+v, %v", l.files, findings, err)
		}
	}
}

// TestPosition: places in a step count every rollout, also those without a
// reward, and begin anew with a step.
func TestPosition(t *testing.T) {
	_, tab, err := rows("a 1 a null b 0 b 1 c 1", "a 0 a 1").with(Options{Group: GroupPosition, GroupSize: 2}).run(t)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range tab.Rows {
		got += r.PromptID + ":" + r.Outcomes + " "
	}
	if want := "step1/0:1 step1/1:01 step1/2:1 step2/0:01 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	findings, _, _ := rows("a 1 b 1 b 0 c 1").with(Options{Group: GroupPosition, GroupSize: 2}).run(t)
	if find(findings, "several-prompts") == nil {
		t.Errorf("%+v, want several-prompts", findings)
	}
}

// TestOneStreamAlone: a run that is resumed supersedes nothing of another one.
func TestOneStreamAlone(t *testing.T) {
	l := smallLog{files: map[string]string{
		"a/1.jsonl": rows("a 1", "a 1").files["1.jsonl"], "b/1.jsonl": rows("b 1", "b 1").files["1.jsonl"] + rows("b 0", "b 0").files["1.jsonl"],
	}}
	_, tab, err := l.run(t)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range tab.Rows {
		got += r.Outcomes
	}
	if len(tab.Rows) != 4 || strings.Count(got, "1") != 2 {
		t.Errorf("rows %+v, want the successes of a and the later failures of b", tab.Rows)
	}
}

// TestConstant: the spread decides, also where the mean is that of the first.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		rewards []float64
		want    bool
	}{{[]float64{0.5, 0, 1}, false}, {[]float64{0.35, float64(float32(0.35))}, true}, {[]float64{-1}, true}, {[]float64{0, 0, 1}, false}} {
		g := group{reward: c.rewards}
		if got := g.constant(); got != c.want {
			t.Errorf("%v: constant %v, want %v", c.rewards, got, c.want)
		}
	}
}

// TestSplit: by hand, groups (0, 1), (1, 1) and (1) of which the last is too
// small: mean 3/4, within (1/4+1/4)/4, between 2((1/2-3/4)^2+(1-3/4)^2)/4.
func TestSplit(t *testing.T) {
	c := newCensus(1)
	groups := []*group{{reward: []float64{0, 1}}, {reward: []float64{1, 1}}, {reward: []float64{1}}}
	c.add(groups, &support{})
	for _, g := range groups {
		c.spread(g)
	}
	if within, between, n := c.split(); within != 0.125 || between != 0.0625 || n != 4 {
		t.Errorf("within %v, between %v over %d, want 0.125, 0.0625 over 4", within, between, n)
	}
}

// TestOptions: what cannot be is said at once.
func TestOptions(t *testing.T) {
	_, _, err := Import(context.Background(), Options{From: "vrel", Group: "place", GroupSize: 4})
	for _, want := range []string{"no paths", "from = vrel, want auto or one of verl", "group = place", "group-size = 4"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "1.jsonl")
	if err := os.WriteFile(path, []byte(rows("a 1").files["1.jsonl"]), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Import(ctx, Options{Paths: []string{path}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestSurvivors: groups that lost rollouts may be constant and say nothing of a
// filter, a full one that is constant denies it.
func TestSurvivors(t *testing.T) {
	for _, c := range []struct {
		more string
		want bool
	}{{"z 1", true}, {"z 1 z 1", false}, {"z 1 z 1 z 1", false}, {"y 0.5", false}} {
		findings, _, err := rows(mixedGroups(7) + c.more).run(t)
		if err != nil || (find(findings, "survivors") != nil) != c.want {
			t.Errorf("with %q: %+v, %v, want the warning: %v", c.more, findings, err, c.want)
		}
	}
}

// TestUsualSize: where no size is that of most groups, none is a multiple of it.
func TestUsualSize(t *testing.T) {
	if findings, _, err := rows("a 1 a 0 a 1 b 1 b 0 c 1").run(t); err != nil || find(findings, "merged-prompts") != nil {
		t.Errorf("%+v, %v, want no groups that are merged", findings, err)
	}
}

// TestSurvivorsFalseAlarm: the fewest groups that raise the alarm have none
// constant with probability (1-2/(n+1))^k of at most 10^-3 under a uniform law,
// and with less under laws with more easy and hard prompts: of Beta(a, b), all n
// succeed with probability B(a+n, b)/B(a, b). Under laws of middle difficulty it
// is no rare event, and the text says so.
func TestSurvivorsFalseAlarm(t *testing.T) {
	logBeta := func(a, b float64) float64 {
		x, _ := math.Lgamma(a)
		y, _ := math.Lgamma(b)
		z, _ := math.Lgamma(a + b)
		return x + y - z
	}
	for _, n := range []int{2, 4, 8, 16, 64} {
		e := newEvidence(Options{})
		for filtered := false; !filtered; _, filtered = e.filteredOut() {
			e.census.sizes[n]++
		}
		k, size := float64(e.census.sizes[n]), float64(n)
		if p := math.Pow(1-2/(size+1), k); !(p < rareEnough && p/(1-2/(size+1)) >= rareEnough) {
			t.Errorf("%v groups of %d: probability %v, want just below %v", k, n, p, rareEnough)
		}
		for _, c := range [][2]float64{{0.1, 0.3}, {0.35, 0.7}, {0.5, 0.5}, {0.2, 5}} {
			a, b := c[0], c[1]
			constant := math.Exp(logBeta(a+size, b)-logBeta(a, b)) + math.Exp(logBeta(a, b+size)-logBeta(a, b))
			if p := math.Pow(1-constant, k); !(p < rareEnough/10) {
				t.Errorf("%v groups of %d under Beta(%v, %v): false alarm with probability %v", k, n, a, b, p)
			}
		}
	}
}
