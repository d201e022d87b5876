package logs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"vigorlab/sim/logs"
)

// A made rollout is what the generator knows of a row that it writes.
type made struct {
	prompt, step, rank int
	reward             string // as JSON
	right              bool
	id, text           string // of the prompt
	void               bool   // its status says that nothing was rewarded
	cut                bool
}

// A writer writes made rollouts in a format. What a format cannot have is not
// asked of it.
type writer struct {
	name    string
	format  string
	options logs.Options
	path    func(step int) string // one for all steps where a trainer appends
	write   func(step int, rows []made) []byte
	id      func(m made) string // the prompt_id to find

	texts   bool // rewards may be written as text
	missing bool // rewards may be null
	nan     bool // rewards may be NaN
	voids   bool // a status may say that nothing was rewarded
	ids     bool // the log names prompts or groups, and has their text, too
	judged  bool // something else judges the answers
	own     bool // rollouts have names of their own
	lines   bool // a record a line
	ordered bool // groups are found by position
	whole   bool // a file torn is a step lost
	binary  bool // files are not text
}

func lines(line func(m made) string) func(int, []made) []byte {
	return func(_ int, rows []made) []byte {
		var b bytes.Buffer
		for _, m := range rows {
			b.WriteString(line(m) + "\n")
		}
		return b.Bytes()
	}
}

func perStep(pattern string) func(int) string {
	return func(step int) string { return fmt.Sprintf(pattern, step) }
}

func appended(path string) func(int) string { return func(int) string { return path } }

func ownID(m made) string   { return m.id }
func ownText(m made) string { return text(m.text) }

// answer is filler of some length, with what JSON has to escape.
func answer(m made) string {
	return strconv.Quote(strings.Repeat("so \\frac{1}{2} is it, \"idx: 1 / 3\"\n", m.rank%3) + "end")
}

// joined returns rows as elements.
func joined(rows []made, one func(m made) string) string {
	parts := make([]string, len(rows))
	for i, m := range rows {
		parts[i] = one(m)
	}
	return strings.Join(parts, ",")
}

// trlRow is a row of TRL's Parquet files.
type trlRow struct {
	Step       int64    `parquet:"step"`
	Prompt     []turn   `parquet:"prompt,list"`
	Completion string   `parquet:"completion,dict"`
	Accuracy   *float64 `parquet:"accuracy_reward,optional"`
	Advantage  float64  `parquet:"advantage"`
}

type turn struct {
	Content string `parquet:"content"`
	Role    string `parquet:"role"`
}

var writers = []writer{
	{
		name: "verl v0", format: "verl", path: perStep("rollout/%d.jsonl"), id: ownText, texts: true, missing: true, nan: true, judged: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"input": %q, "output": %s, "gts": "7", "score": %s, "step": %d, "acc": %v}`, m.text, answer(m), m.reward, m.step, m.right)
		}),
	},
	{
		name: "verl v1", format: "verl", path: perStep("rollout/%d.jsonl"), id: ownText, texts: true, missing: true, nan: true, ids: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"input": %q, "output": %s, "gts": "7", "score": %s, "step": %d, "uid": "%s-%d"}`, m.text, answer(m), m.reward, m.step, m.id, m.step)
		}),
	},
	{
		name: "trl rows", format: "trl", path: appended("completions.jsonl"), id: ownText, missing: true, nan: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"step": %d, "prompt": %q, "completion": %s, "accuracy": %s, "advantage": 0.5}`, m.step, m.text, answer(m), m.reward)
		}),
	},
	{
		name: "trl", format: "trl", path: perStep("completions/completions_%05d.parquet"), missing: true, nan: true, binary: true,
		id: func(m made) string { return text(`[{"content":` + strconv.Quote(m.text) + `,"role":"user"}]`) },
		write: func(step int, rows []made) []byte {
			var b bytes.Buffer
			w := parquet.NewGenericWriter[trlRow](&b, parquet.Compression(&parquet.Snappy))
			for _, m := range rows {
				row := trlRow{Step: int64(m.step), Prompt: []turn{{m.text, "user"}}, Completion: answer(m)}
				if x, err := strconv.ParseFloat(m.reward, 64); err == nil {
					row.Accuracy = &x
				}
				if _, err := w.Write([]trlRow{row}); err != nil {
					panic(err)
				}
			}
			if err := w.Close(); err != nil {
				panic(err)
			}
			return b.Bytes()
		},
	},
	{
		name: "nemo-rl", format: "nemo-rl", path: perStep("logs/train_data_step%d.jsonl"), ordered: true, missing: true, nan: true, lines: true,
		options: logs.Options{Group: logs.GroupPosition, GroupSize: 8},
		id:      func(m made) string { return fmt.Sprintf("step%d/%d", m.step, m.prompt) },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"content": [%q], "rewards": [%s], "generation_logprobs": [[0.0, -0.2]], "input_lengths": [9], "idx": %d}`,
				m.text+"? "+string(rune('a'+m.rank)), m.reward, 8*m.prompt+m.rank)
		}),
	},
	{
		name: "prime-rl", format: "prime-rl", path: perStep("rollouts/step_%d/train_rollouts.jsonl"), missing: true, nan: true, ids: true, judged: true, lines: true,
		id: func(m made) string { return "toy/" + m.id },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"example_id": %q, "prompt": [{"role": "user", "content": %q}], "completion": [%s], "reward": %s, "is_truncated": %v, "metrics": {"correct": %v.0}, "info": {"prime_rl": {"env_name": "toy"}}}`,
				m.id, m.text, answer(m), m.reward, m.cut, map[bool]int{true: 1}[m.right])
		}),
	},
	{
		name: "skyrl", format: "skyrl", path: perStep("dumped_evals/global_step_%d_evals/toy.jsonl"), missing: true, nan: true, ids: true, lines: true,
		id: func(m made) string { return "toy/" + m.id },
		write: lines(func(m made) string {
			reward := m.reward
			if m.rank%2 == 1 && reward != "null" {
				reward = "[0.0, " + reward + "]"
			}
			return fmt.Sprintf(`{"input_prompt": %q, "output_response": %s, "score": %s, "stop_reason": %q, "env_extras": {"extra_info": {"index": %q}}, "data_source": "toy"}`,
				m.text, answer(m), reward, map[bool]string{true: "length", false: "stop"}[m.cut], m.id)
		}),
	},
	{
		name: "open-instruct", format: "open-instruct", path: appended("run_rollouts_000000.jsonl"), missing: true, nan: true, texts: true, own: true, lines: true,
		id: func(m made) string { return text(fmt.Sprintf("[5, %d]", m.prompt)) },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"step": %d, "sample_idx": %d, "prompt_idx": %d, "prompt_tokens": [5, %d], "response_tokens": [9, 1], "reward": %s, "advantage": 0.5, "finish_reason": "stop"}`,
				m.step, 8*m.prompt+m.rank, m.prompt, m.prompt, m.reward)
		}),
	},
	{
		name: "slime", format: "slime", path: perStep("rollout_%d.json"), missing: true, nan: true, voids: true, ids: true, own: true, whole: true, id: ownText,
		write: func(step int, rows []made) []byte {
			return fmt.Appendf(nil, "{\n\"rollout_id\": %d, \"samples\": [%s]}\n", step, joined(rows, func(m made) string {
				status := map[bool]string{true: "truncated", false: "completed"}[m.cut]
				if m.void {
					status = "aborted"
				}
				return fmt.Sprintf(`{"group_index": %q, "index": %d, "prompt": %q, "response": %s, "response_length": 3, "reward": %s, "status": %q}`,
					m.id, 8*m.prompt+m.rank, m.text, answer(m), m.reward, status)
			}))
		},
	},
	{
		name: "areal", format: "areal", path: nil, nan: true, id: ownID,
	},
	{
		name: "rllm", format: "rllm", path: perStep("episodes/train_step_%d_epoch_0.json"), missing: true, nan: true, ids: true, judged: true, own: true, id: ownID,
		write: func(_ int, rows []made) []byte {
			return []byte(strings.ReplaceAll(joined(rows, func(m made) string {
				return fmt.Sprintf("{\n  \"training_step\": %d,\n  \"episode_id\": \"%s:%d\",\n  \"task\": {\"question\": %q},\n  \"task_hash\": %q,\n  \"is_correct\": %v,\n  \"trajectories\": [\n {\"name\": %s, \"reward\": %s}]\n}",
					m.step, m.id, m.rank, m.text, m.id, m.right, answer(m), m.reward)
			}), "},{", "}\n{"))
		},
	},
	{
		name: "ms-swift rows", format: "ms-swift", path: appended("completions.jsonl"), missing: true, nan: true, texts: true, lines: true, id: ownText,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"gen_step": %d, "prompt": %q, "completion": %s, "reward": %s}`, m.step, m.text, answer(m), m.reward)
		}),
	},
	{
		name: "ms-swift", format: "ms-swift", path: appended("completions.jsonl"), missing: true, nan: true, whole: true, id: ownText,
		write: func(step int, rows []made) []byte {
			return fmt.Appendf(nil, "{\"gen_step\": %d, \"prompt\": [%s], \"completion\": [%s], \"Accuracy\": [%s], \"advantages\": [%s]}\n", step,
				joined(rows, func(m made) string { return strconv.Quote(m.text) }), joined(rows, answer),
				joined(rows, func(m made) string { return m.reward }), joined(rows, func(made) string { return "0.5" }))
		},
	},
	{
		name: "openrlhf-limr", format: "openrlhf-limr", path: perStep("train/step_%d.json"), missing: true, nan: true, texts: true, id: ownText,
		write: func(_ int, rows []made) []byte {
			return []byte("[\n" + joined(rows, func(m made) string {
				return fmt.Sprintf("\n  {\"prompt\": %q,\n \"response\": %s,\n \"reward\": %s,\n \"response_length\": 2.0}", m.text, answer(m), m.reward)
			}) + "\n]\n")
		},
	},
	{
		name: "openai", format: "openai", path: appended("rollouts.jsonl"), missing: true, nan: true, texts: true, ids: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"id": %q, "messages": [{"role": "user", "content": %q}, {"role": "assistant", "content": %s}], "reward": %s}`, m.id, m.text, answer(m), m.reward)
		}),
	},
	{
		name: "vigorlab", format: "vigorlab", path: appended("rollouts.jsonl"), missing: true, nan: true, ids: true, own: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"prompt_id": %q, "index": %d, "round": 1, "step": %d, "prompt": %q, "reward": %s, "completion": %s, "truncated": %v}`,
				m.id, m.rank, m.step, m.text, m.reward, answer(m), m.cut)
		}),
	},
	{
		name: "rows as CSV", format: "rows", path: appended("rows.csv"), missing: true, nan: true, id: ownText,
		write: func(step int, rows []made) []byte {
			var b bytes.Buffer
			if step == 1 {
				b.WriteString("step,prompt,completion,reward\r\n")
			}
			for _, m := range rows {
				fmt.Fprintf(&b, "%d,\"%s\",\"a, \"\"b\"\"\n c\",%s\r\n", m.step, m.text, strings.Replace(m.reward, "null", "", 1))
			}
			return b.Bytes()
		},
	},
	{
		name: "humaneval", format: "eval-list", path: appended("results.jsonl"), own: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"task_id": %q, "completion": %s, "passed": %v, "completion_id": %d}`, m.id, answer(m), m.reward == "1.0", 1000*m.step+m.rank)
		}),
	},
	{
		name: "lm-eval", format: "lm-eval", path: appended("samples.jsonl"), missing: true, nan: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"doc_id": %q, "doc": {"q": %q}, "resps": [[%s]], "filtered_resps": ["7"], "filter": "none", "metrics": ["acc"], "acc": %s}`, m.id, m.text, answer(m), m.reward)
		}),
	},
}

// stepless reports whether a format has no steps: all rollouts of a prompt are
// one group.
func (w *writer) stepless() bool {
	return slices.Contains([]string{"openai", "humaneval", "lm-eval"}, w.name)
}

// appends reports whether a trainer appends all steps to one file.
func (w *writer) appends() bool { return w.path(1) == w.path(2) }

// A log is what the generator made, and what an import must find.
type log struct {
	files    map[string][]byte
	order    []string
	outcomes map[string]string // "ID STEP" to outcomes
	counts   struct{ rows, dropped, torn, coerced, duplicated, superseded int }
}

const (
	madePrompts = 500
	madeGroup   = 8
)

// promptOf returns the text and name of a prompt.
func promptOf(k int) (text, id string) {
	return fmt.Sprintf("Was %d*%d? <b>\u00e9</b>", k, k), fmt.Sprintf("q%d", k)
}

// draw draws the rollouts of a step with what may be wrong with each.
func (w *writer) draw(r *rand.Rand, step int) []made {
	var rows []made
	for k := range madePrompts {
		text, id := promptOf(k)
		for rank := range madeGroup {
			if !w.ordered && r.IntN(100) == 0 {
				continue // ragged
			}
			right := r.Float64() < float64(k)/madePrompts
			m := made{prompt: k, step: step, rank: rank, right: right, id: id, text: text, cut: r.IntN(10) == 0, reward: "0.0"}
			if right {
				m.reward = "1.0"
			}
			switch x := r.IntN(200); {
			case x < 2 && w.missing:
				m.reward = "null"
			case x < 3 && w.nan:
				m.reward = "NaN"
			case x < 5 && w.texts && right:
				m.reward = []string{`"True"`, `"1"`, `"1.0"`}[r.IntN(3)]
			case x < 7 && w.voids:
				m.void = true
			case x < 8 && right && w.missing:
				m.reward = "0.99999999" // rounding
			}
			rows = append(rows, m)
		}
	}
	if !w.ordered {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	return rows
}

// count adds the rows of a step to what an import must find.
func (l *log) count(w *writer, rows []made) {
	for _, m := range rows {
		l.counts.rows++
		step := m.step
		if w.stepless() {
			step = 0
		}
		switch {
		case m.void || m.reward == "null" || m.reward == "NaN":
			l.counts.dropped++
			continue
		case strings.HasPrefix(m.reward, `"`):
			l.counts.coerced++
		}
		key := fmt.Sprintf("%s %d", w.id(m), step)
		l.outcomes[key] += map[bool]string{true: "1", false: "0"}[m.right]
	}
}

func (l *log) append(path string, content []byte) {
	if l.files[path] == nil {
		l.order = append(l.order, path)
	}
	l.files[path] = append(l.files[path], content...)
}

// make writes a log of the given steps with every defect that an import
// survives.
func (w *writer) make(r *rand.Rand, steps int) *log {
	l := &log{files: map[string][]byte{}, outcomes: map[string]string{}}
	order := make([]int, 0, steps+3)
	for step := 1; step <= steps; step++ {
		order = append(order, step)
		if step == 13 && w.appends() && !w.stepless() {
			order = append(order, 11, 12, 13) // resumed
		}
	}
	seen := map[int]bool{}
	for _, step := range order {
		rows := w.draw(r, step)
		if seen[step] {
			for key, outcomes := range l.outcomes {
				if strings.HasSuffix(key, " "+strconv.Itoa(step)) {
					l.counts.superseded += len(outcomes)
					delete(l.outcomes, key)
				}
			}
		}
		seen[step] = true
		l.count(w, rows)
		if w.own { // some are logged twice
			for i := range 20 {
				m := rows[i*7]
				rows = append(rows, m)
				l.counts.rows++
				switch {
				case m.void || m.reward == "null" || m.reward == "NaN":
					l.counts.dropped++
				default:
					l.counts.duplicated++
					if strings.HasPrefix(m.reward, `"`) {
						l.counts.coerced++
					}
				}
			}
		}
		content := w.write(step, rows)
		if step == 1 && !w.binary {
			content = append([]byte("\ufeff"), content...)
		}
		if step%2 == 0 && w.lines {
			content = bytes.ReplaceAll(content, []byte("}\n{"), []byte("}\r\n\r\n{"))
		}
		l.append(w.path(step), content)
		if step == 3 && !w.appends() {
			l.append(filepath.Join("copy", w.path(step)), content)
			l.counts.rows += len(rows)
			l.counts.duplicated += len(rows)
		}
	}
	if w.lines { // the last record was being written when the run was killed
		l.append(w.path(steps), []byte(`{"input": "Was`))
		l.counts.torn++
	}
	return l
}

// save writes the files below dir, some of them compressed.
func (l *log) save(t *testing.T, dir string, compress bool) {
	t.Helper()
	for i, path := range l.order {
		content := l.files[path]
		if compress && i < 60 && i%3 == 1 && !strings.HasPrefix(path, "copy") && l.files[filepath.Join("copy", path)] == nil {
			path, content = packed(t, path, content, i%2 == 0)
		}
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// packed compresses a file, as gzip with several members or as zstd.
func packed(t *testing.T, path string, content []byte, asGzip bool) (string, []byte) {
	t.Helper()
	var b bytes.Buffer
	if asGzip {
		for part := range slices.Chunk(content, 1+len(content)/3) {
			w := gzip.NewWriter(&b)
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return path + ".gz", b.Bytes()
	}
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path + ".zst", b.Bytes()
}

// TestGeneratedLogs writes logs of 10^5 rollouts in every format with every
// defect that an import survives, and wants each group's outcomes and each count
// back.
func TestGeneratedLogs(t *testing.T) {
	const steps = 25 // of 500 prompts with 8 rollouts
	for i := range writers {
		w := &writers[i]
		t.Run(w.name, func(t *testing.T) {
			if w.path == nil {
				w.path, w.write = appended("unused"), func(int, []made) []byte { return nil }
				defer func() { w.path, w.write = nil, nil }()
			}
			r := rand.New(rand.NewPCG(20260101, uint64(i)))
			dir := t.TempDir()
			var l *log
			if w.name == "areal" {
				l = dumps(w, r, steps)
			} else {
				l = w.make(r, steps)
			}
			l.save(t, dir, !w.binary)
			o := w.options
			o.Paths = []string{dir}
			tab, report, err := logs.Import(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if report.From != w.format || report.Rows < 90_000 {
				t.Errorf("%d rows from %s, want 10^5 from %s", report.Rows, report.From, w.format)
			}
			got := l.counts
			got.rows, got.dropped, got.torn = report.Rows, report.Dropped, report.Torn
			got.coerced, got.duplicated, got.superseded = report.Coerced, report.Duplicated, report.Superseded
			if got != l.counts {
				t.Errorf("counts %+v, want %+v", got, l.counts)
			}
			wrong := 0
			visits := map[string]int{}
			for _, row := range tab.Rows {
				key := fmt.Sprintf("%s %d", row.PromptID, row.Step)
				if want := l.outcomes[key]; row.Outcomes != want || row.Visit != visits[row.PromptID] {
					if wrong++; wrong < 4 {
						t.Errorf("%s, visit %d: outcomes %s, want %s at visit %d", key, row.Visit, row.Outcomes, want, visits[row.PromptID])
					}
				}
				visits[row.PromptID]++
			}
			if len(tab.Rows) != len(l.outcomes) {
				t.Errorf("%d groups, want %d", len(tab.Rows), len(l.outcomes))
			}
		})
	}
}

// dumps writes AReaL's text dumps, a file a prompt and version.
func dumps(w *writer, r *rand.Rand, steps int) *log {
	l := &log{files: map[string][]byte{}, outcomes: map[string]string{}}
	for step := 1; step <= steps; step++ {
		groups := map[string][]made{}
		rows := w.draw(r, step)
		for _, m := range rows {
			groups[m.id] = append(groups[m.id], m)
		}
		l.count(w, rows)
		for k := range madePrompts {
			_, id := promptOf(k)
			var b bytes.Buffer
			for i, m := range groups[id] {
				fmt.Fprintf(&b, "idx: %d / %d, seqlen: 12, reward is %s.\nprompt is \n\x1b[33m%s\x1b[0m\nsequence is: \nidx: 1 / 3, reward is\n%s\n", i+1, madeGroup, strings.ToLower(m.reward), m.text, answer(m))
			}
			if b.Len() > 0 {
				l.append(fmt.Sprintf("%d/%s.txt", step, id), b.Bytes())
			}
		}
	}
	return l
}

// refusals are what must not become a table, injected into a log of 500 prompts
// and 3 steps; each names the defect that must refuse it.
var refusals = []struct {
	id     string
	can    func(w *writer) bool
	change func(r *rand.Rand, rows []made)
	text   func(content []byte) []byte // of a file, where the defect is in that
}{
	{id: "bad-record", can: func(w *writer) bool { return w.lines }, text: func(content []byte) []byte {
		cut := len(content) / 2
		return slices.Concat(content[:cut], []byte("\n"), content[cut:])
	}},
	{id: "misaligned", can: func(w *writer) bool { return w.ordered }, change: func(_ *rand.Rand, rows []made) {
		for i := range rows { // neighbours change places, as where prompts take turns
			if k := i + madeGroup; i%(2*madeGroup) < madeGroup && i%2 == 1 && k < len(rows) {
				rows[i].text, rows[k].text = rows[k].text, rows[i].text
			}
		}
	}},
	{id: "filtered-rewards", can: func(w *writer) bool { return w.format == "nemo-rl" }, text: func(content []byte) []byte {
		return bytes.ReplaceAll(content, []byte(`"rewards": `), []byte(`"filtered_rewards": [0.0], "rewards": `))
	}},
	{id: "single-rollouts", can: func(w *writer) bool { return w.ids }, change: func(_ *rand.Rand, rows []made) {
		for i := range rows {
			rows[i].id += fmt.Sprintf("-%d", i)
		}
	}},
	{id: "several-prompts", can: func(w *writer) bool { return w.ids && w.name != "verl v1" && w.name != "slime" }, change: func(_ *rand.Rand, rows []made) {
		for i := range rows {
			rows[i].id = fmt.Sprintf("q%d", rows[i].prompt/2)
		}
	}},
	{id: "mixed-ranges", can: func(w *writer) bool { return !w.appends() }, change: func(_ *rand.Rand, rows []made) {
		for i := range rows {
			if rows[i].step == 2 && rows[i].reward == "0.0" {
				rows[i].reward = "-1.0"
			}
		}
	}},
	{id: "sentinel", can: func(w *writer) bool { return w.name != "humaneval" }, change: func(r *rand.Rand, rows []made) {
		for i := range rows {
			if r.IntN(50) == 0 {
				rows[i].reward = "-1.0"
			}
		}
	}},
	{id: "one-value", can: func(w *writer) bool { return w.name != "humaneval" }, change: func(_ *rand.Rand, rows []made) {
		for i := range rows {
			rows[i].reward = "-1.0"
		}
	}},
	{id: "reward-against-judge", can: func(w *writer) bool { return w.judged }, change: func(r *rand.Rand, rows []made) {
		for i := range rows {
			rows[i].right = r.IntN(2) == 0
		}
	}},
	{id: "reward-unreadable", can: func(w *writer) bool {
		return w.name != "humaneval" && !w.binary && w.format != "rows" && w.name != "nemo-rl" && len(w.options.Reward) == 0 && w.name != "trl rows" && w.name != "ms-swift"
	}, change: func(r *rand.Rand, rows []made) {
		for i := range rows {
			if i%500 == 499 {
				rows[i].reward = `"good"`
			}
		}
	}},
}

func TestGeneratedRefusals(t *testing.T) {
	for i := range writers {
		w := &writers[i]
		if w.path == nil {
			continue
		}
		for _, c := range refusals {
			if !c.can(w) {
				continue
			}
			t.Run(w.name+"/"+c.id, func(t *testing.T) {
				r := rand.New(rand.NewPCG(20260102, uint64(i)))
				dir := t.TempDir()
				l := &log{files: map[string][]byte{}}
				for step := 1; step <= 3; step++ {
					rows := w.draw(r, step)
					if c.change != nil {
						c.change(r, rows)
					}
					content := w.write(step, rows)
					if c.text != nil {
						content = c.text(content)
					}
					l.append(w.path(step), content)
				}
				l.save(t, dir, false)
				o := w.options
				o.Paths = []string{dir}
				_, _, err := logs.Import(context.Background(), o)
				var refusal *logs.Refusal
				if !errors.As(err, &refusal) || !slices.ContainsFunc(refusal.Findings, func(f logs.Finding) bool { return f.ID == c.id }) {
					t.Errorf("error %v, want the refusal %s", err, c.id)
				}
			})
		}
	}
}

// TestGeneratedRuns: two runs that were logged into one folder are not pooled,
// in any format of which the files can be told apart.
func TestGeneratedRuns(t *testing.T) {
	for i := range writers {
		w := &writers[i]
		if w.path == nil {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			l := &log{files: map[string][]byte{}}
			for run := range 2 {
				r := rand.New(rand.NewPCG(20260103+uint64(run), uint64(i)))
				for step := 1; step <= 2; step++ {
					l.append(filepath.Join(fmt.Sprint("run", run), w.path(step)), w.write(step, w.draw(r, step)))
				}
			}
			l.save(t, dir, false)
			o := w.options
			o.Paths = []string{dir}
			tab, _, err := logs.Import(context.Background(), o)
			var refusal *logs.Refusal
			if !errors.As(err, &refusal) || !slices.ContainsFunc(refusal.Findings, func(f logs.Finding) bool { return f.ID == "several-runs" }) {
				for _, row := range tab.Rows {
					if row.N > madeGroup {
						t.Fatalf("error %v, row %+v, want the refusal several-runs or groups of one run each", err, row)
					}
				}
			}
		})
	}
}
