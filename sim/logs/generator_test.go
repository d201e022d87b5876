package logs_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"vigorlab/distributions/table"
	"vigorlab/sim/logs"
)

// A made rollout is what the generator knows of a row that it writes. Steps begin
// with 1; of what is logged at step 0 the log says no step.
type made struct {
	prompt, step, rank int
	reward             string // as JSON
	other              string // a second column of rewards, "" for none
	right              bool
	id, text           string // of the prompt, "" for null
	void               bool   // its status says that nothing was rewarded
	cut                bool
	part               int  // of the groups of its prompt at its step
	extra              bool // it has a column that others have not
	unscored           bool // its reward is that of several answers
}

// name returns the prompt's name as JSON.
func (m made) name() string { return orNull(m.id) }

// says returns the prompt's text as JSON.
func (m made) says() string { return orNull(m.text) }

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return strconv.Quote(s)
}

// at returns the step as JSON.
func (m made) at() string {
	if m.step == 0 {
		return "null"
	}
	return strconv.Itoa(m.step)
}

// more returns a second reward under a name, and the column that others have not.
func (m made) more(second string) string {
	s := ""
	if m.other != "" {
		s = `, "` + second + `": ` + m.other
	}
	if m.extra {
		s += `, "extra": "x"`
	}
	return s
}

// A writer writes made rollouts in a format. What a format cannot have is not
// asked of it.
type writer struct {
	name    string
	format  string
	options logs.Options
	path    func(step int) string // one for all steps where a trainer appends
	write   func(step int, rows []made) []byte
	split   func(rows []made) map[string][]byte // files below path in the place of write
	id      func(m made) string                 // the prompt_id to find

	texts   bool // rewards may be written as text
	missing bool // rewards may be null
	nan     bool // rewards may be NaN
	voids   bool // a status may say that nothing was rewarded
	ids     bool // the log names prompts or groups, and has their text, too
	named   bool // it names prompts, and has no text of them
	judged  bool // something else judges the answers
	own     bool // rollouts have names of their own
	lines   bool // a record a line
	ordered bool // groups are found by position
	whole   bool // a file torn is a step lost
	binary  bool // files are not text

	bare    string // a path without a step, "" where the step stands in the records
	steps   bool   // records say their step
	second  string // the name of a second column of rewards that must agree, "" for none
	several bool   // a second column of rewards is another reward
	parts   bool   // one prompt may have several groups in a step
	nulls   bool   // prompts have names, and where those are null, texts
	head    string // of every file
	fixed   bool   // no record has another column
	group   int    // rollouts, 0 for madeGroup
}

// size returns the rollouts of a group.
func (w *writer) size() int { return cmp.Or(w.group, madeGroup) }

// prompts returns how many prompts a step has.
func (w *writer) prompts() int { return madePrompts * madeGroup / w.size() }

// byText reports whether groups are those of equal text.
func (w *writer) byText() bool { return !w.ids && !w.ordered && !w.named }

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

// tokens returns a prompt's tokens as JSON.
func tokens(m made) string {
	if m.text == "" {
		return "null"
	}
	return fmt.Sprintf("[5, %d]", m.prompt)
}

// trajectory returns a second trajectory of an episode.
func trajectory(m made) string {
	if m.other == "" {
		return ""
	}
	return `, {"reward": ` + m.other + "}"
}

// passed returns a reward as a truth value.
func passed(m made) string {
	if x, err := strconv.ParseFloat(m.reward, 64); err == nil {
		return strconv.FormatBool(x == 1)
	}
	return m.reward
}

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
	Step       *int64   `parquet:"step,optional"`
	Prompt     []turn   `parquet:"prompt,list"`
	Completion string   `parquet:"completion,dict"`
	Accuracy   *float64 `parquet:"accuracy_reward,optional"`
	Format     *float64 `parquet:"format_reward,optional"`
	Advantage  float64  `parquet:"advantage"`
}

type turn struct {
	Content string `parquet:"content"`
	Role    string `parquet:"role"`
}

// trlExtraRow is a row with a column more.
type trlExtraRow struct {
	trlRow
	Extra string `parquet:"extra"`
}

// parquetFile writes rows as TRL does.
func parquetFile[R any](rows []made, whole func(trlRow) R) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[R](&b, parquet.Compression(&parquet.Snappy))
	for _, m := range rows {
		row := trlRow{Prompt: []turn{{m.text, "user"}}, Completion: answer(m)}
		if m.step > 0 {
			step := int64(m.step)
			row.Step = &step
		}
		if x, err := strconv.ParseFloat(m.reward, 64); err == nil {
			row.Accuracy = &x
		}
		if x, err := strconv.ParseFloat(m.other, 64); err == nil {
			row.Format = &x
		}
		if _, err := w.Write([]R{whole(row)}); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

var writers = []writer{
	{
		name: "verl v0", format: "verl", bare: "rollout/first.jsonl", steps: true, path: perStep("rollout/%d.jsonl"), id: ownText, texts: true, missing: true, nan: true, judged: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"input": %s, "output": %s, "gts": "7", "score": %s, "step": %s, "acc": %v%s}`, m.says(), answer(m), m.reward, m.at(), m.right, m.more(""))
		}),
	},
	{
		name: "verl v1", format: "verl", bare: "rollout/first.jsonl", steps: true, parts: true, path: perStep("rollout/%d.jsonl"), id: ownText, texts: true, missing: true, nan: true, ids: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"input": %s, "output": %s, "gts": "7", "score": %s, "step": %s, "uid": "%s-%d-%d"%s}`, m.says(), answer(m), m.reward, m.at(), m.id, m.step, m.part, m.more(""))
		}),
	},
	{
		name: "trl rows", format: "trl", steps: true, several: true, path: appended("completions.jsonl"), id: ownText, missing: true, nan: true, lines: true,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"step": %s, "prompt": %s, "completion": %s, "accuracy": %s, "advantage": 0.5%s}`, m.at(), m.says(), answer(m), m.reward, m.more("format"))
		}),
	},
	{
		name: "trl", format: "trl", steps: true, several: true, path: perStep("completions/completions_%05d.parquet"), missing: true, nan: true, binary: true,
		id: func(m made) string { return text(`[{"content":` + strconv.Quote(m.text) + `,"role":"user"}]`) },
		write: func(_ int, rows []made) []byte {
			if rows[0].extra {
				return parquetFile(rows, func(r trlRow) trlExtraRow { return trlExtraRow{r, "x"} })
			}
			return parquetFile(rows, func(r trlRow) trlRow { return r })
		},
	},
	{
		name: "nemo-rl", format: "nemo-rl", bare: "logs/train_data.jsonl", second: "filtered_rewards", path: perStep("logs/train_data_step%d.jsonl"), ordered: true, missing: true, nan: true, lines: true,
		options: logs.Options{Group: logs.GroupPosition, GroupSize: 8},
		id:      func(m made) string { return fmt.Sprintf("step%d/%d", m.step, m.prompt) },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"content": [%q], "rewards": [%s], "generation_logprobs": [[0.0, -0.2]], "input_lengths": [9], "idx": %d%s}`,
				m.text+"? "+string(rune('a'+m.rank)), m.reward, madeGroup*m.prompt+m.rank, m.more("filtered_rewards"))
		}),
	},
	{
		name: "prime-rl", format: "prime-rl", bare: "rollouts/train_rollouts.jsonl", nulls: true, path: perStep("rollouts/step_%d/train_rollouts.jsonl"), missing: true, nan: true, ids: true, judged: true, lines: true,
		id: func(m made) string { return "toy/" + m.id },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"example_id": %s, "prompt": [{"role": "user", "content": %s}], "completion": [%s], "reward": %s, "is_truncated": %v, "metrics": {"correct": %v.0}, "info": {"prime_rl": {"env_name": "toy"}}%s}`,
				m.name(), m.says(), answer(m), m.reward, m.cut, map[bool]int{true: 1}[m.right], m.more(""))
		}),
	},
	{
		name: "skyrl", format: "skyrl", bare: "dumped_evals/toy.jsonl", nulls: true, path: perStep("dumped_evals/global_step_%d_evals/toy.jsonl"), missing: true, nan: true, ids: true, lines: true,
		id: func(m made) string { return "toy/" + m.id },
		write: lines(func(m made) string {
			reward := m.reward
			if m.rank%2 == 1 && reward != "null" {
				reward = "[0.0, " + reward + "]"
			}
			return fmt.Sprintf(`{"input_prompt": %s, "output_response": %s, "score": %s, "stop_reason": %q, "env_extras": {"extra_info": {"index": %s}}, "data_source": "toy"%s}`,
				m.says(), answer(m), reward, map[bool]string{true: "length", false: "stop"}[m.cut], m.name(), m.more(""))
		}),
	},
	{
		name: "open-instruct", format: "open-instruct", steps: true, path: appended("run_rollouts_000000.jsonl"), missing: true, nan: true, texts: true, own: true, lines: true,
		id: func(m made) string { return text(tokens(m)) },
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"step": %s, "sample_idx": %d, "prompt_idx": %d, "prompt_tokens": %s, "response_tokens": [9, 1], "reward": %s, "advantage": 0.5, "finish_reason": "stop"%s}`,
				m.at(), madeGroup*m.prompt+m.rank, m.prompt, tokens(m), m.reward, m.more(""))
		}),
	},
	{
		name: "slime", format: "slime", steps: true, parts: true, path: perStep("rollout_%d.json"), missing: true, nan: true, voids: true, ids: true, own: true, whole: true, id: ownText,
		write: func(step int, rows []made) []byte {
			return fmt.Appendf(nil, "{\n\"rollout_id\": %s, \"samples\": [%s]%s}\n", made{step: step}.at(), joined(rows, func(m made) string {
				status := map[bool]string{true: "truncated", false: "completed"}[m.cut]
				if m.void {
					status = "aborted"
				}
				return fmt.Sprintf(`{"group_index": "%s-%d", "index": %d, "prompt": %s, "response": %s, "response_length": 3, "reward": %s, "status": %q}`,
					m.id, m.part, madeGroup*m.prompt+m.rank, m.says(), answer(m), m.reward, status)
			}), rows[0].more(""))
		},
	},
	{
		name: "areal", format: "areal", path: perStep("%d/"), bare: "first/", nan: true, named: true, parts: true, fixed: true, group: 32, id: ownID, split: dumps,
	},
	{
		name: "rllm", format: "rllm", steps: true, several: true, nulls: true, path: perStep("episodes/train_step_%d_epoch_0.json"), missing: true, nan: true, ids: true, judged: true, own: true, id: ownID,
		write: func(_ int, rows []made) []byte {
			return []byte(strings.ReplaceAll(joined(rows, func(m made) string {
				return fmt.Sprintf("{\n  \"training_step\": %s,\n  \"episode_id\": \"%s:%d\",\n  \"task\": {\"question\": %s},\n  \"task_hash\": %s,\n  \"is_correct\": %v,\n  \"trajectories\": [\n {\"name\": %s, \"reward\": %s}%s]%s\n}",
					m.at(), m.id, m.rank, m.says(), m.name(), m.right, answer(m), m.reward, trajectory(m), made{extra: m.extra}.more(""))
			}), "},{", "}\n{"))
		},
	},
	{
		name: "ms-swift rows", format: "ms-swift", steps: true, path: appended("completions.jsonl"), missing: true, nan: true, texts: true, lines: true, id: ownText,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"gen_step": %s, "prompt": %s, "completion": %s, "reward": %s%s}`, m.at(), m.says(), answer(m), m.reward, m.more(""))
		}),
	},
	{
		name: "ms-swift", format: "ms-swift", steps: true, several: true, path: appended("completions.jsonl"), missing: true, nan: true, whole: true, id: ownText,
		write: func(step int, rows []made) []byte {
			second := ""
			if rows[0].other != "" {
				second = fmt.Sprintf(`, "Format": [%s]`, joined(rows, func(m made) string { return m.other }))
			}
			return fmt.Appendf(nil, "{\"gen_step\": %s, \"prompt\": [%s], \"completion\": [%s], \"Accuracy\": [%s], \"advantages\": [%s]%s%s}\n", made{step: step}.at(),
				joined(rows, made.says), joined(rows, answer),
				joined(rows, func(m made) string { return m.reward }), joined(rows, func(made) string { return "0.5" }), second, made{extra: rows[0].extra}.more(""))
		},
	},
	{
		name: "openrlhf-limr", format: "openrlhf-limr", bare: "train/first.json", path: perStep("train/step_%d.json"), missing: true, nan: true, texts: true, id: ownText,
		write: func(_ int, rows []made) []byte {
			return []byte("[\n" + joined(rows, func(m made) string {
				return fmt.Sprintf("\n  {\"prompt\": %s,\n \"response\": %s,\n \"reward\": %s,\n \"response_length\": 2.0%s}", m.says(), answer(m), m.reward, m.more(""))
			}) + "\n]\n")
		},
	},
	{
		name: "openai", format: "openai", second: "score", nulls: true, path: appended("rollouts.jsonl"), missing: true, nan: true, texts: true, ids: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"id": %s, "messages": [{"role": "user", "content": %s}, {"role": "assistant", "content": %s}], "reward": %s%s}`, m.name(), m.says(), answer(m), m.reward, m.more("score"))
		}),
	},
	{
		name: "vigorlab", format: "vigorlab", steps: true, parts: true, nulls: true, path: appended("rollouts.jsonl"), missing: true, nan: true, ids: true, own: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"prompt_id": %s, "index": %d, "round": 1, "step": %s, "visit": %d, "prompt": %s, "reward": %s, "completion": %s, "truncated": %v%s}`,
				m.name(), m.rank, m.at(), m.part, m.says(), m.reward, answer(m), m.cut, m.more(""))
		}),
	},
	{
		name: "rows as CSV", format: "rows", head: "step,prompt,completion,reward\r\n", steps: true, fixed: true, path: appended("rows.csv"), missing: true, nan: true, id: ownText,
		write: func(_ int, rows []made) []byte {
			var b bytes.Buffer
			for _, m := range rows {
				fmt.Fprintf(&b, "%s,\"%s\",\"a, \"\"b\"\"\n c\",%s\r\n", strings.Replace(m.at(), "null", "", 1), m.text, strings.Trim(strings.Replace(m.reward, "null", "", 1), `"`))
			}
			return b.Bytes()
		},
	},
	{
		name: "humaneval", format: "eval-list", named: true, path: appended("results.jsonl"), own: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"task_id": %s, "completion": %s, "passed": %v, "completion_id": %d%s}`, m.name(), answer(m), passed(m), 1000*m.step+m.rank, m.more(""))
		}),
	},
	{
		name: "lm-eval", format: "lm-eval", several: true, nulls: true, ids: true, path: appended("samples.jsonl"), missing: true, nan: true, lines: true, id: ownID,
		write: lines(func(m made) string {
			return fmt.Sprintf(`{"doc_id": %s, "doc": {"q": %s}, "resps": [[%s%s]], "filtered_resps": ["7"], "filter": "none", "metrics": ["acc", "f1"], "acc": %s%s}`,
				m.name(), m.says(), answer(m), map[bool]string{true: `, "8"`}[m.unscored], m.reward, m.more("f1"))
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

// resumes reports whether a run that goes on shows in the log.
func (w *writer) resumes() bool { return w.appends() && !w.stepless() }

// place returns the path of a step, 0 for none.
func (w *writer) place(step int) string {
	if step == 0 && w.bare != "" {
		return w.bare
	}
	return w.path(step)
}

// dumps writes AReaL's text dumps, a file a prompt.
func dumps(rows []made) map[string][]byte {
	files := map[string][]byte{}
	for part := range 2 {
		next := map[string]int{}
		for _, m := range rows {
			if m.part != part {
				continue
			}
			next[m.id]++
			path := m.id + ".txt"
			files[path] = fmt.Appendf(files[path], "idx: %d / %d, seqlen: 12, reward is %s.\nprompt is \n\x1b[33m%s\x1b[0m\nsequence is: \nidx: 1 / 3, reward is\n%s\n",
				next[m.id], 32, strings.ToLower(strings.Trim(m.reward, `"`)), m.text, answer(m))
		}
	}
	return files
}

// A log is what the generator made, and what an import must find.
type log struct {
	files    map[string][]byte
	order    []string
	outcomes map[string][]madeGroupOf // by "ID STEP", in order of appearance
	counts   struct{ rows, dropped, torn, coerced, duplicated, superseded int }
	graded   bool // outcomes are rewards
}

// A madeGroupOf is the outcomes of a part of a prompt's rollouts at a step.
type madeGroupOf struct {
	part     int
	outcomes []string
}

const (
	madePrompts = 500 // of madeGroup rollouts
	madeGroup   = 8
	madeSteps   = 25 // make 10^5 rollouts
)

// promptOf returns the text and name of a prompt.
func promptOf(k int) (text, id string) {
	return fmt.Sprintf("Was %d*%d? <b>\u00e9</b>", k, k), fmt.Sprintf("q%d", k)
}

// clean draws the rollouts of a step in which nothing is wrong. Every full group
// has a success and a failure.
func (w *writer) clean(r *rand.Rand, step int) []made {
	var rows []made
	for k := range w.prompts() {
		text, id := promptOf(k)
		for rank := range w.size() {
			right := rank == 0 || rank > 1 && r.IntN(w.prompts()) < k
			m := made{prompt: k, step: step, rank: rank, right: right, id: id, text: text, cut: r.IntN(10) == 0, reward: "0.0"}
			if right {
				m.reward = "1.0"
			}
			rows = append(rows, m)
		}
	}
	return w.shuffle(r, rows)
}

// shuffle brings rows into any order, where groups need not stand together.
func (w *writer) shuffle(r *rand.Rand, rows []made) []made {
	if !w.ordered {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	return rows
}

// draw draws the rollouts of a step with what may be wrong with each.
func (w *writer) draw(r *rand.Rand, step int) []made {
	var rows []made
	for _, m := range w.clean(r, step) {
		if !w.ordered && r.IntN(100) == 0 {
			continue // ragged
		}
		if m.right = r.IntN(w.prompts()) < m.prompt; m.right {
			m.reward = "1.0"
		} else {
			m.reward = "0.0"
		}
		switch x := r.IntN(200); {
		case x < 2 && w.missing:
			m.reward = "null"
		case x < 3 && w.nan:
			m.reward = "NaN"
		case x < 5 && w.texts && m.right:
			m.reward = []string{`"True"`, `"1"`, `"1.0"`}[r.IntN(3)]
		case x < 7 && w.voids:
			m.void = true
		case x < 8 && m.right && w.missing:
			m.reward = "0.99999999" // rounding
		}
		rows = append(rows, m)
	}
	return rows
}

// none reports whether a rollout has no reward.
func (m made) none() bool { return m.void || m.reward == "null" || m.reward == "NaN" }

// key names what the table has of a rollout's prompt and step.
func (w *writer) key(m made) string {
	step := m.step
	if w.stepless() {
		step = 0
	}
	return w.id(m) + " " + strconv.Itoa(step)
}

// outcome returns what the table has of a rollout.
func (l *log) outcome(m made) string {
	if !l.graded {
		return map[bool]string{true: "1", false: "0"}[m.right]
	}
	x, err := strconv.ParseFloat(m.reward, 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// count adds the rows of a step to what an import must find.
func (l *log) count(w *writer, rows []made) {
	for _, m := range rows {
		l.counts.rows++
		switch {
		case m.none():
			l.counts.dropped++
			continue
		case strings.HasPrefix(m.reward, `"`):
			l.counts.coerced++
		}
		key := w.key(m)
		i := slices.IndexFunc(l.outcomes[key], func(g madeGroupOf) bool { return g.part == m.part })
		if i < 0 {
			i = len(l.outcomes[key])
			l.outcomes[key] = append(l.outcomes[key], madeGroupOf{part: m.part})
		}
		g := &l.outcomes[key][i]
		g.outcomes = append(g.outcomes, l.outcome(m))
	}
}

// supersede takes from what an import must find what was logged at a step.
func (l *log) supersede(step int) {
	for key, groups := range l.outcomes {
		if strings.HasSuffix(key, " "+strconv.Itoa(step)) {
			for _, g := range groups {
				l.counts.superseded += len(g.outcomes)
			}
			delete(l.outcomes, key)
		}
	}
}

// append appends to a file, which begins with head.
func (l *log) append(path, head string, content []byte) {
	file := l.files[path]
	if file == nil {
		l.order = append(l.order, path)
		file = []byte(head)
	}
	if free := cap(file) - len(file); len(content) > free { // by more than append does, which copied for a sixth of the time
		file = slices.Grow(file, len(file)+len(content))
	}
	l.files[path] = append(file, content...)
}

// write writes the rows of a step below a folder.
func (l *log) write(w *writer, dir string, step int, rows []made) {
	path := filepath.Join(dir, w.place(step))
	if w.split == nil {
		l.append(path, w.head, w.write(step, rows))
		return
	}
	files := w.split(rows)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		l.append(filepath.Join(path, name), "", files[name])
	}
}

// twice logs some rollouts a second time.
func (l *log) twice(rows []made) []made {
	for i := range 20 {
		m := rows[i*7]
		rows = append(rows, m)
		l.counts.rows++
		switch {
		case m.none():
			l.counts.dropped++
			continue
		case strings.HasPrefix(m.reward, `"`):
			l.counts.coerced++
		}
		l.counts.duplicated++
	}
	return rows
}

// An injection puts a defect into the logs of a variant, step by step, or into
// the files, or into what the user asks.
type injection struct {
	id      string
	into    string // a variant
	can     func(w *writer) bool
	rows    func(w *writer, r *rand.Rand, rows []made) []made
	files   func(w *writer, r *rand.Rand, l *log)
	options func(o *logs.Options)
}

func everywhere(*writer) bool { return true }

// oneFile leaves out a writer of a file a prompt, 10^5 of one rollout each.
func oneFile(w *writer) bool { return w.split == nil }

// not returns a can that leaves writers out.
func not(names ...string) func(*writer) bool {
	return func(w *writer) bool { return !slices.Contains(names, w.name) }
}

// each changes single rows.
func each(change func(w *writer, r *rand.Rand, i int, m *made)) func(*writer, *rand.Rand, []made) []made {
	return func(w *writer, r *rand.Rand, rows []made) []made {
		for i := range rows {
			change(w, r, i, &rows[i])
		}
		return rows
	}
}

// steps returns how many steps a variant's log has.
func (v *variant) steps() int {
	if v.short && os.Getenv("VIGORLAB_COVERAGE") == "" {
		return madeSteps / 5
	}
	return madeSteps
}

// A variant is a log that some defects share.
type variant struct {
	name   string
	short  bool // a fifth of 10^5 rollouts, all with VIGORLAB_COVERAGE, as in `make coverage`
	graded bool // its rewards have no rule
	draw   func(w *writer, r *rand.Rand, step int) []made
	from   string // the variant whose files these are, too, "" for its own
}

var variants = []variant{
	{name: "usual", draw: (*writer).draw},
	{name: "graded", graded: true, draw: (*writer).clean},
	{name: "plain", draw: (*writer).clean},
	{name: "constant", short: true, draw: (*writer).clean},
	{name: "single", short: true, draw: (*writer).clean},
	{name: "bad", draw: (*writer).clean},
	{name: "mixed", short: true, draw: (*writer).clean},
	{name: "nothing", short: true, draw: (*writer).clean},
	{name: "column", from: "plain"},
	{name: "keyless", from: "plain"},
	{name: "broken", from: "plain"},
}

// injections walk the table of defects. Those of one variant stand together in
// one log, and every one of them must be found.
var injections = []injection{
	// What is survived: the draw of "usual" brings the first of these along.
	{id: "ragged", into: "usual", can: everywhere},
	{id: "missing-rewards", into: "usual", can: func(w *writer) bool { return w.missing || w.nan || w.voids }},
	{id: "numbers-as-text", into: "usual", can: func(w *writer) bool { return w.texts }},
	{id: "rounding", into: "usual", can: func(w *writer) bool { return w.missing }},
	{id: "no-id", into: "usual", can: func(w *writer) bool { return w.byText() || w.name == "verl v1" || w.name == "slime" }},
	{id: "by-position", into: "usual", can: func(w *writer) bool { return w.ordered }},
	{id: "last-batch-alone", into: "usual", can: func(w *writer) bool { return w.format == "trl" }},
	{id: "no-step", into: "usual", can: func(w *writer) bool { return !w.stepless() }}, // step 0
	{id: "resumed", into: "usual", can: (*writer).resumes},
	{id: "copies", into: "usual", can: func(w *writer) bool { return w.own || !w.appends() }},
	{id: "merged-prompts", into: "usual", can: (*writer).byText, rows: func(w *writer, r *rand.Rand, rows []made) []made {
		return w.shuffle(r, append(rows, again(rows, func(m *made) { m.rank += madeGroup })...))
	}},
	{id: "repeated-records", into: "usual", can: func(w *writer) bool { return w.parts }, rows: func(w *writer, r *rand.Rand, rows []made) []made {
		if w.split != nil { // which writes one part after the other
			return append(rows, again(rows, func(m *made) { m.part = 1 })...)
		}
		return w.shuffle(r, append(rows, again(rows, func(m *made) { m.part = 1 })...))
	}},
	{id: "columns-change", into: "usual", can: func(w *writer) bool { return !w.fixed && w.name != "lm-eval" }, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) {
		m.extra = m.step > 9
	})},
	{id: "skipped-files", into: "usual", can: everywhere, files: func(_ *writer, _ *rand.Rand, l *log) { l.append("notes.txt", "", []byte("hello\n")) }},
	{id: "torn-tail", into: "usual", can: func(w *writer) bool { return !w.binary && w.split == nil }, files: func(w *writer, _ *rand.Rand, l *log) {
		l.counts.torn++
		switch {
		case w.lines || w.name == "ms-swift":
			l.append(w.path(madeSteps), "", []byte(`{"input": "Was`))
		case w.head != "":
			l.append(w.path(madeSteps), "", []byte("25,\"Was"))
		default:
			l.append(w.path(madeSteps+1), "", []byte("{\n\"input\": \"Was"))
		}
	}},

	{id: "no-end-of-line", into: "graded", can: func(w *writer) bool { return w.head != "" }, files: func(w *writer, _ *rand.Rand, l *log) {
		path := w.path(1)
		l.files[path] = bytes.TrimSuffix(l.files[path], []byte("\r\n"))
	}},
	{id: "dead-off-the-ends", into: "graded", can: not("humaneval"), rows: each(func(_ *writer, r *rand.Rand, _ int, m *made) {
		if m.prompt%5 == 0 {
			m.reward = "0.5"
		} else if !m.right {
			m.reward = []string{"0.0", "0.1"}[r.IntN(2)]
		}
	})},
	{id: "shaped-rewards", into: "graded", can: func(w *writer) bool { return w.judged }},
	{id: "survivors", into: "plain", can: everywhere, rows: each(func(w *writer, _ *rand.Rand, _ int, m *made) {
		if w.stepless() { // or its few large groups would say nothing
			m.prompt += m.step * 10_000
			m.text, m.id = promptOf(m.prompt)
		}
	})},
	{id: "filtered-log", into: "plain", can: func(w *writer) bool { return w.name == "nemo-rl" }, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) { m.other = m.reward })},
	{id: "constant-groups", into: "constant", can: everywhere, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) {
		m.right = m.prompt%2 == 0
		m.reward = map[bool]string{true: "1.0", false: "0.0"}[m.right]
	})},
	{id: "single-sizes", into: "single", can: oneFile, rows: each(func(w *writer, _ *rand.Rand, _ int, m *made) {
		m.prompt = m.prompt*w.size() + m.rank
		if w.stepless() {
			m.prompt += m.step * 10_000
		}
		m.rank = 0
		m.text, m.id = promptOf(m.prompt)
	})},
	{id: "no-variance", into: "single", can: oneFile, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) { m.right, m.reward = true, "1.0" })},

	// What is refused.
	{id: "sentinel", into: "bad", can: not("humaneval"), rows: each(func(w *writer, r *rand.Rand, i int, m *made) {
		if w.appends() && r.IntN(50) == 0 || m.step == 2 && m.reward == "0.0" {
			m.reward = "-1.0"
		}
	})},
	{id: "mixed-ranges", into: "bad", can: func(w *writer) bool { return !w.appends() }}, // step 2
	{id: "reward-unreadable", into: "bad", can: func(w *writer) bool { return !w.binary }, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) {
		if i%500 == 499 {
			m.reward = `"good"`
		}
	})},
	{id: "filtered-rewards", into: "bad", can: func(w *writer) bool { return w.second != "" }, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) {
		if m.other = m.reward; m.step == 4 {
			m.other = "0.0"
		}
	})},
	{id: "several-rewards", into: "bad", can: func(w *writer) bool { return w.several }, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) { m.other = "0.5" })},
	{id: "reward-against-judge", into: "bad", can: func(w *writer) bool { return w.judged }, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) {
		if i%50 == 7 {
			m.right = !m.right
		}
	})},
	{id: "single-rollouts", into: "bad", can: func(w *writer) bool { return w.ids }, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) {
		m.id += fmt.Sprintf("-%d-%d", m.step, i)
	})},
	{id: "half-named", into: "bad", can: func(w *writer) bool { return w.nulls }, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) {
		if i%100 == 0 {
			m.id = ""
		}
	})},
	{id: "no-name", into: "bad", can: func(w *writer) bool { // where a prompt has parts, they are there
		return !w.ordered && !w.binary && w.split == nil && not("prime-rl", "rllm", "openai", "lm-eval")(w)
	}, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) {
		if i%100 == 1 {
			m.id, m.text = "", ""
		}
	})},
	{id: "misaligned", into: "bad", can: func(w *writer) bool { return w.ordered }, rows: func(_ *writer, _ *rand.Rand, rows []made) []made {
		for i := range rows { // neighbours change places, as where prompts take turns
			if k := i + madeGroup; i%(2*madeGroup) < madeGroup && i%2 == 1 && k < len(rows) {
				rows[i].text, rows[k].text = rows[k].text, rows[i].text
			}
		}
		return rows
	}},
	{id: "not-scored-singly", into: "bad", can: func(w *writer) bool { return w.name == "lm-eval" }, rows: each(func(_ *writer, _ *rand.Rand, i int, m *made) { m.unscored = i%200 == 3 })},

	{id: "one-value", into: "mixed", can: not("humaneval"), rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) { m.reward, m.right = "-1.0", false })},
	{id: "several-prompts", into: "mixed", can: func(w *writer) bool { return w.ids && w.name != "verl v1" && w.name != "slime" }, rows: each(func(_ *writer, _ *rand.Rand, _ int, m *made) {
		m.id = fmt.Sprintf("q%d", m.prompt/2)
	})},
	{id: "no-names", into: "mixed", can: (*writer).byText, options: func(o *logs.Options) { o.Group = logs.GroupID }},
	{id: "several-runs", into: "mixed", can: everywhere, files: func(w *writer, r *rand.Rand, l *log) {
		rows := w.clean(r, 1)[madeGroup:] // or it might be a copy
		for i := range rows {
			rows[i].reward = "-1.0"
		}
		l.write(w, "run2", 1, rows)
	}},
	{id: "interleaved", into: "mixed", can: func(w *writer) bool { return w.steps && !w.binary }, files: func(w *writer, r *rand.Rand, l *log) {
		for i := range 2*logs.MaxAttempts + 4 {
			rows := w.clean(r, madeSteps-1+i%2)[:3]
			for k := range rows {
				rows[k].reward = "-1.0"
			}
			l.append(w.path(madeSteps), w.head, w.write(rows[0].step, rows))
		}
	}},

	{id: "nothing-left", into: "nothing", can: func(w *writer) bool { return w.missing || w.nan }, rows: each(func(w *writer, _ *rand.Rand, i int, m *made) {
		m.reward = "NaN"
		if w.missing && i%2 == 0 {
			m.reward = "null"
		}
	})},
	{id: "no-such-column", into: "column", can: everywhere, options: func(o *logs.Options) { o.Reward = "none" }},
	{id: "no-group-key", into: "keyless", can: func(w *writer) bool { return w.ordered }, options: func(o *logs.Options) { o.Group, o.GroupSize = "", 0 }},
	{id: "bad-record", into: "broken", can: func(w *writer) bool { return !w.binary && w.split == nil }, files: func(w *writer, _ *rand.Rand, l *log) {
		path := w.path(3)
		switch content := l.files[path]; {
		case w.lines || w.name == "ms-swift":
			half := bytes.LastIndexByte(content[:len(content)/2], '\n') + 1
			l.files[path] = slices.Concat(content[:half], []byte("{\"input\": \"Was\n"), content[half:])
		case w.head != "":
			l.files[path] = append(slices.Clone(content), "1,2,3,4,5\r\n1,a,b,1\r\n"...)
		case content[0] == '[':
			l.files[path] = slices.Concat([]byte("[\n{\"input\": Was},\n"), content[1:])
		default:
			l.files[path] = append(slices.Clone(content), "{\"input\": Was}\n"...)
		}
	}},
}

// again returns what forty prompts of step 5 did, once more.
func again(rows []made, change func(m *made)) []made {
	var more []made
	for _, m := range rows {
		if m.step == 5 && m.prompt < 40 {
			change(&m)
			more = append(more, m)
		}
	}
	return more
}

// of returns what is injected into a variant's log by a writer.
func (v *variant) of(w *writer) []injection {
	var in []injection
	for _, c := range injections {
		if c.into == v.name && c.can(w) {
			in = append(in, c)
		}
	}
	return in
}

// make writes the log of a variant.
func (v *variant) make(w *writer, seed uint64, in []injection) *log {
	r := rand.New(rand.NewPCG(20260101, seed))
	l := &log{files: map[string][]byte{}, outcomes: map[string][]madeGroupOf{}, graded: v.graded}
	usual := v.name == "usual"
	order := make([]int, 0, madeSteps+4)
	for step := 1; step <= v.steps(); step++ {
		order = append(order, step)
		if step == 13 && usual && w.resumes() {
			order = append(order, 11, 12, 13)
		}
	}
	if usual && !w.stepless() {
		order = slices.Insert(order, 0, 0)
	}
	seen := map[int]bool{}
	for _, step := range order {
		rows := v.draw(w, r, step)
		for _, c := range in {
			if c.rows != nil {
				rows = c.rows(w, r, rows)
			}
		}
		if seen[step] {
			l.supersede(step)
		}
		seen[step] = true
		l.count(w, rows)
		if usual && w.own {
			rows = l.twice(rows)
		}
		l.write(w, "", step, rows)
		if usual && step == 3 && !w.appends() {
			l.write(w, "copy", step, rows)
			l.counts.rows += len(rows)
			l.counts.duplicated += len(rows)
		}
	}
	if usual {
		l.disturb(w)
	}
	for _, c := range in {
		if c.files != nil {
			c.files(w, r, l)
		}
	}
	return l
}

// disturb adds what every reader must bear: a mark at the start, and other ends of
// lines with blank ones between.
func (l *log) disturb(w *writer) {
	for i, path := range l.order {
		content := l.files[path]
		if w.lines && i%2 == 0 && !strings.HasPrefix(path, "copy") && l.files[filepath.Join("copy", path)] == nil {
			content = bytes.ReplaceAll(content, []byte("}\n{"), []byte("}\r\n\r\n{"))
		}
		if !w.binary && i == 0 {
			content = append([]byte("\ufeff"), content...)
		}
		l.files[path] = content
	}
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

// TestInjections: every defect of the table is injected, into the logs of one
// format at least.
func TestInjections(t *testing.T) {
	for _, d := range logs.Defects() {
		formats := 0
		for _, c := range injections {
			for i := range writers {
				if c.id == d.ID && c.can(&writers[i]) {
					formats++
				}
			}
		}
		if formats == 0 && d.ID != "no-rewards" { // TestGeneratedWithoutRewards
			t.Errorf("%s is injected into no format", d.ID)
		}
	}
}

// TestGeneratedLogs writes logs in every format with every defect of the table
// that it can have, of 10^5 rollouts, or of a fifth where a variant is short. Each
// defect must be found with its action and wording, and each log is refused, or every
// group's outcomes and every count come back.
func TestGeneratedLogs(t *testing.T) {
	for i := range writers {
		w := &writers[i]
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var plain *log
			for k := range variants {
				v := &variants[k]
				in := v.of(w)
				if len(in) == 0 {
					continue
				}
				l := plain
				if v.from == "" {
					l = v.make(w, uint64(100*k+i), in)
				}
				if v.name == "plain" {
					plain = l
				}
				t.Run(v.name, func(t *testing.T) {
					if v.from != "" {
						l = &log{files: maps.Clone(plain.files), order: plain.order}
						for _, c := range in {
							if c.files != nil {
								c.files(w, nil, l)
							}
						}
					}
					l.check(t, w, v, in)
				})
			}
		})
	}
}

// check imports a log and holds what comes out to what was put in.
func (l *log) check(t *testing.T, w *writer, v *variant, in []injection) {
	dir := t.TempDir()
	l.save(t, dir, v.name == "usual" && !w.binary && w.split == nil)
	o := w.options
	o.Paths = []string{dir}
	for _, c := range in {
		if c.options != nil {
			c.options(&o)
		}
	}
	tab, report, err := logs.Import(context.Background(), o)
	var refusal *logs.Refusal
	var findings []logs.Finding
	switch {
	case errors.As(err, &refusal):
		findings = refusal.Findings
	case err != nil:
		t.Fatal(err)
	default:
		findings = report.Findings
	}
	refused := false
	var found []string
	for _, f := range findings {
		found = append(found, f.ID)
	}
	for _, c := range in {
		d := defectOf(t, c.id)
		f := slices.IndexFunc(findings, func(f logs.Finding) bool { return f.ID == c.id })
		refused = refused || d.Action == logs.Refuse
		switch {
		case f < 0:
			t.Errorf("%s is not found, but %s", c.id, strings.Join(found, ", "))
		case findings[f].Action != d.Action || !worded(findings[f].Text, d.Wording):
			t.Errorf("%s: %+v, want action %d and the wording %s", c.id, findings[f], d.Action, d.Wording)
		}
	}
	if refused != (err != nil) {
		t.Fatalf("error %.2000v, want a refusal: %v", err, refused)
	}
	if !refused {
		l.compare(t, w, v, tab, report)
	}
}

// defectOf returns a row of the table.
func defectOf(t *testing.T, id string) logs.Defect {
	t.Helper()
	for _, d := range logs.Defects() {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("%s is no defect of the table", id)
	return logs.Defect{}
}

var verbs = regexp.MustCompile(`%(\[\d+\])?[.\d]*[a-z]`)

// worded reports whether a text follows a wording.
func worded(text, wording string) bool {
	for _, part := range verbs.Split(wording, -1) {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return !strings.Contains(text, "%!")
}

// compare holds a table to what the log was made of.
func (l *log) compare(t *testing.T, w *writer, v *variant, tab *table.Table, report *logs.Report) {
	if report.From != w.format || report.Rows < 3_600*v.steps() {
		t.Errorf("%d rows from %s, want %d and more from %s", report.Rows, report.From, 3_600*v.steps(), w.format)
	}
	got := l.counts
	got.rows, got.dropped, got.torn = report.Rows, report.Dropped, report.Torn
	got.coerced, got.duplicated, got.superseded = report.Coerced, report.Duplicated, report.Superseded
	if got != l.counts {
		t.Errorf("counts %+v, want %+v", got, l.counts)
	}
	wrong, groups := 0, 0
	for _, g := range l.outcomes {
		groups += len(g)
	}
	visits, parts := map[string]int{}, map[string]int{}
	for _, row := range tab.Rows {
		key := fmt.Sprintf("%s %d", row.PromptID, row.Step)
		outcomes, want := row.Outcomes, "none"
		if l.graded {
			outcomes = strings.Trim(fmt.Sprint(row.Rewards), "[]")
		}
		if part := parts[key]; part < len(l.outcomes[key]) {
			want = strings.Join(l.outcomes[key][part].outcomes, map[bool]string{true: " "}[l.graded])
		}
		if outcomes != want || row.Visit != visits[row.PromptID] {
			if wrong++; wrong < 4 {
				t.Errorf("%s, visit %d: outcomes %s, want %s at visit %d", key, row.Visit, outcomes, want, visits[row.PromptID])
			}
		}
		visits[row.PromptID]++
		parts[key]++
	}
	if len(tab.Rows) != groups {
		t.Errorf("%d groups, want %d", len(tab.Rows), groups)
	}
}

// TestGeneratedWithoutRewards: 10^5 answers that nobody graded are refused.
func TestGeneratedWithoutRewards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output.jsonl")
	var b bytes.Buffer
	for i := range madeSteps * madePrompts * madeGroup {
		fmt.Fprintf(&b, "{\"custom_id\": \"q%d\", \"response\": {\"body\": {\"choices\": []}}}\n", i)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := logs.Import(context.Background(), logs.Options{Paths: []string{path}})
	var refusal *logs.Refusal
	if !errors.As(err, &refusal) || refusal.Findings[0].ID != "no-rewards" || !worded(refusal.Findings[0].Text, defectOf(t, "no-rewards").Wording) {
		t.Errorf("error %v, want the refusal no-rewards", err)
	}
}
