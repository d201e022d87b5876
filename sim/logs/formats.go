package logs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A format says where a trainer's records have what a table needs. Paths are
// keys, with dots into nested objects; "" stands for what a format has not.
type format struct {
	name   string
	keys   []string // every record has them: that is how it is recognised
	basis  string   // what the description rests on
	refuse string   // why such a log cannot become a table
	ignore string   // why such a file beside the log is no part of it

	expand func(r record, yield func(record) error) error // one record into rollouts; nil for itself

	id       []string // together they name the prompt for good; the last must be there
	text     string   // of the prompt
	joined   bool     // text goes on with the answer, and so tells no prompts apart
	fileName bool     // the file's name names the prompt
	single   bool     // a file has one rollout
	part     string   // tells apart the groups of one prompt within a step
	order    string   // place of the rollout within the step
	rollout  string   // tells apart the rollouts of a group
	step     string
	stepIn   *regexp.Regexp // the step in the path, where records do not have it

	reward  []string // the first that is there
	others  []string // where any further number may be a reward: the keys that are none; nil where none may
	sparse  bool     // a record without the reward belongs to another one
	sum     bool     // a list of rewards is one a token: its sum counts
	correct []string // what else says that an answer is right

	tokens    string   // of the completion: a number, or a list to count
	truncated []string // true, "length" or "truncated"
	void      string   // a status under which nothing was rewarded

	completion []string // what the model wrote: the first that is there
	answer     []string // the reference, likewise; nil where the trainer logs none
	textless   string   // why completions cannot be read
}

// The steps in paths.
var (
	stepFile   = regexp.MustCompile(`(?:^|/)(\d+)\.jsonl?[^/]*$`)
	stepName   = regexp.MustCompile(`step_?(\d+)[^/]*$`)
	stepFolder = regexp.MustCompile(`step_(\d+)[^/]*/[^/]*$`)
	version    = regexp.MustCompile(`(?:^|/)(\d+)/[^/]*$`)
)

// eachRecord is the part of a format whose records are whole groups.
const eachRecord = "record"

const (
	readSource  = "the writer's source was read"
	readReaders = "readers of the format were read, not its writer"
	recalled    = "recalled, no source was read"
)

// formats lists what is recognised, the most particular first. ../shared/formats
// tells how each was learned.
var formats = []format{
	{
		name: "verl", keys: []string{"input", "output", "score"}, basis: readSource,
		text: "input", part: "uid", step: "step", stepIn: stepFile,
		reward: []string{"score"}, correct: []string{"acc"},
		completion: []string{"output"}, answer: []string{"gts"},
	},
	{
		name: "trl", keys: []string{"step", "prompt", "completion", "advantage"}, basis: readReaders,
		text: "prompt", step: "step",
		others:     []string{"step", "advantage", "prompt", "completion"},
		completion: []string{"completion"},
	},
	{
		name: "nemo-rl", keys: []string{"content", "rewards", "idx"}, basis: readSource,
		expand: unwrapped, text: "content", joined: true, order: "idx", stepIn: stepName,
		reward:   []string{"filtered_rewards", "rewards"},
		textless: "content is prompt and answer in one text, and where one ends is not logged",
	},
	{
		name: "prime-rl", keys: []string{"example_id", "reward"}, basis: readSource,
		id: []string{"info.prime_rl.env_name", "example_id"}, text: "prompt", stepIn: stepFolder,
		reward: []string{"reward"}, correct: []string{"metrics.correct"}, truncated: []string{"is_truncated"},
		completion: []string{"completion"}, answer: []string{"answer"},
	},
	{
		name: "skyrl", keys: []string{"input_prompt", "output_response", "score"}, basis: readReaders,
		id: []string{"data_source", "env_extras.extra_info.index"}, text: "input_prompt", stepIn: stepFolder,
		reward: []string{"score"}, sum: true, truncated: []string{"stop_reason"},
		completion: []string{"output_response"},
	},
	{
		name: "open-instruct", keys: []string{"prompt_idx", "sample_idx", "prompt_tokens", "reward"}, basis: readSource,
		text: "prompt_tokens", rollout: "sample_idx", step: "step", // prompt_idx is wrong once masking dropped rows
		reward: []string{"reward"}, tokens: "response_tokens", truncated: []string{"finish_reason"},
		textless: "response_tokens are numbers of tokens, and their texts are not logged",
	},
	{name: "open-instruct", keys: []string{"run_name", "git_commit", "model_name"}, basis: readSource, ignore: "metadata of the run"},
	{
		name: "slime", keys: []string{"rollout_id", "samples"}, basis: readSource,
		expand: slimeSamples, text: "prompt", part: "group_index", rollout: "index", step: "rollout_id",
		reward: []string{"reward"}, tokens: "response_length", truncated: []string{"status"}, void: "status",
		completion: []string{"response"}, answer: []string{"label"},
	},
	{
		name: "areal", keys: []string{"idx", "of", "seqlen", "reward"}, basis: readSource,
		fileName: true, part: "pass", stepIn: version, reward: []string{"reward"},
		completion: []string{"completion"},
	},
	{
		name: "rllm", keys: []string{"task_hash", "trajectories"}, basis: readSource,
		expand: trajectories, single: true, id: []string{"task_hash"}, text: "task", rollout: "episode_id", step: "training_step",
		reward: []string{"reward"}, others: []string{"training_step", "epoch", "is_correct"}, correct: []string{"is_correct"},
		completion: []string{"completion"}, answer: []string{"task.answer"},
	},
	{
		name: "ms-swift", keys: []string{"gen_step", "prompt", "completion"}, basis: readSource + "; that a dict makes one line is recalled",
		expand: columns, text: "prompt", step: "gen_step",
		reward: []string{"reward"}, others: []string{"gen_step", "prompt", "completion", "advantages", "advantage", "global_step"},
		completion: []string{"completion"},
	},
	{
		name: "openrlhf-limr", keys: []string{"prompt", "response", "reward", "response_length"}, basis: readSource,
		text: "prompt", stepIn: stepName, reward: []string{"reward"}, tokens: "response_length",
		completion: []string{"response"},
	},
	{
		name: "lm-eval", keys: []string{"doc_id", "filter", "filtered_resps", "metrics"}, basis: readSource + "; the meaning of single keys is recalled",
		expand: filters, id: []string{"doc_id"}, text: "doc", sparse: true, others: []string{"doc_id", "doc", "completion", "target"},
		completion: []string{"completion"}, answer: []string{"target"},
	},
	{
		name: "openai", keys: []string{"custom_id", "response"}, basis: recalled,
		refuse: "it has answers and no rewards: grade them first and put the reward beside each, as a key reward of chat rows",
	},
	{
		name: "openai", keys: []string{"messages"}, basis: recalled,
		expand: chat, id: []string{"id"}, text: "prompt", reward: []string{"reward", "score"},
		completion: []string{"completion"}, answer: []string{"answer"},
	},
	{
		name: "eval-list", keys: []string{"question_id", "graded_list"}, basis: readSource,
		expand: list("graded_list", "code_list"), id: []string{"question_id"}, part: eachRecord, reward: []string{"graded_list"},
		completion: []string{"code_list"},
	},
	{
		name: "eval-list", keys: []string{"raw_scored_generations"}, basis: readSource,
		expand: scoredGenerations, id: []string{"key"}, part: eachRecord, reward: []string{"scored"},
		completion: []string{"generation"},
	},
	{
		name: "eval-list", keys: []string{"idx", "question", "score"}, basis: readSource,
		expand: list("score", "code"), id: []string{"idx"}, text: "question", part: eachRecord, reward: []string{"score"},
		completion: []string{"code"}, answer: []string{"gt"},
	},
	{
		name: "eval-list", keys: []string{"task_id", "passed"}, basis: readSource,
		id: []string{"task_id"}, rollout: "completion_id", reward: []string{"passed"},
		completion: []string{"completion"},
	},
	{
		name: "eval-list", keys: []string{"sample_id", "Pass@1"}, basis: readSource,
		refuse: "it has shares of successes without the number of rollouts behind them, and -1 there means not run",
	},
	{name: tableFormat, keys: []string{"prompt_id", "n", "successes"}, basis: "our own", textless: noTexts},
	{
		name: tableFormat, keys: []string{"prompt_id", "n", "rewards"}, basis: "our own",
		expand: gradedRow, id: []string{"prompt_id"}, part: "visit", step: "step", reward: []string{"rewards"},
		textless: noTexts,
	},
	{
		name: "vigorlab", keys: []string{"prompt_id", "index", "round", "reward"}, basis: "our own, rollouts.jsonl of vigorlab rollout and grade",
		id: []string{"prompt_id"}, text: "prompt", part: "visit", rollout: "index", step: "step",
		reward: []string{"reward"}, tokens: "tokens", truncated: []string{"truncated"},
		completion: []string{"completion"}, answer: []string{"answer"},
	},
	{
		name: "rows", keys: []string{"prompt", "reward"}, basis: "our own",
		text: "prompt", step: "step", reward: []string{"reward"},
		completion: []string{"completion", "response"}, answer: []string{"answer"},
	},
}

// noTexts is why a table has no completions.
const noTexts = "a table has counts of rollouts and no texts: grade the log that it was made of"

// tableFormat is the name of canonical tables.
const tableFormat = "table"

// ready reports whether the log is a table with successes, which is read as it
// is.
func (f *format) ready() bool { return f.name == tableFormat && f.reward == nil }

// gradedRow yields the rewards of a graded table's row, a list or in text.
func gradedRow(r record, yield func(record) error) error {
	for i, f := range r {
		if text, ok := f.value.text(); ok && f.key == "rewards" {
			r[i].value = value("[" + strings.Join(strings.Fields(text), ",") + "]")
		} else if f.key == "rewards" && !f.value.is('[') {
			r[i].value = "[" + f.value + "]"
		}
	}
	return list("rewards")(r, yield)
}

// Formats returns the names that From takes, each once.
func Formats() []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range formats {
		if !seen[f.name] {
			seen[f.name] = true
			names = append(names, f.name)
		}
	}
	return names
}

// recognise returns the format of a record, nil where none fits; from narrows
// the choice unless it is "" or "auto".
func recognise(r record, from string) *format {
	for i := range formats {
		f := &formats[i]
		if (from == "" || from == Auto || from == f.name) && r.has(f.keys...) {
			return f
		}
	}
	if len(r) > 0 && aggregated(r) && (from == "" || from == Auto || from == "skyrl") {
		return &format{name: "skyrl", ignore: "metrics, no rollouts"}
	}
	return nil
}

// aggregated recognises SkyRL's metrics, whose keys are all paths.
func aggregated(r record) bool {
	for _, f := range r {
		if !strings.HasPrefix(f.key, "eval/") {
			return false
		}
	}
	return true
}

// wanted says which keys the formats of a name have.
func wanted(name string) string {
	var ways []string
	for _, f := range formats {
		if f.name == name {
			ways = append(ways, strings.Join(f.keys, ", "))
		}
	}
	return strings.Join(ways, "; or ")
}

// unwrapped takes every value out of its list of one: NeMo-RL writes them so.
func unwrapped(r record, yield func(record) error) error {
	for i, f := range r {
		if list, err := f.value.elements(); err == nil && len(list) == 1 {
			r[i].value = list[0]
		}
	}
	return yield(r)
}

// list yields a record for every element of a list, which takes its place; so do
// those of a list of completions beside it, if it is as long.
func list(key string, beside ...string) func(record, func(record) error) error {
	return func(r record, yield func(record) error) error {
		elements, err := r.key(key).elements()
		if err != nil {
			return fmt.Errorf("%s is %w", key, err)
		}
		completions := map[string][]value{}
		for _, k := range beside {
			if texts, err := r.key(k).elements(); err == nil && len(texts) == len(elements) {
				completions[k] = texts
			}
		}
		one := append(record(nil), r...)
		for place, e := range elements {
			for i := range one {
				if one[i].key == key {
					one[i].value = e
				} else if texts := completions[one[i].key]; texts != nil {
					one[i].value = texts[place]
				}
			}
			if err := yield(one); err != nil {
				return err
			}
		}
		return nil
	}
}

// columns yields a record for every row of a record of columns, as ms-swift
// writes a generation; one that is no record of columns is a row itself.
func columns(r record, yield func(record) error) error {
	prompts, err := r.key("prompt").elements()
	if err != nil || len(prompts) == 0 || len(prompts) > 0 && prompts[0].is('{') {
		return yield(r) // a text, or the messages of one prompt
	}
	all := make([][]value, len(r))
	for i, f := range r {
		if all[i], err = f.value.elements(); err == nil && len(all[i]) != len(prompts) {
			return fmt.Errorf("%s has %d elements, want %d as prompt has", f.key, len(all[i]), len(prompts))
		}
	}
	row := append(record(nil), r...)
	for k := range prompts {
		for i := range row {
			if all[i] != nil {
				row[i].value = all[i][k]
			}
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

// slimeSamples yields the samples of a rollout, each with the rollout's number.
func slimeSamples(r record, yield func(record) error) error {
	samples, err := r.key("samples").elements()
	if err != nil {
		return fmt.Errorf("samples is %w", err)
	}
	step := field{"rollout_id", r.key("rollout_id")}
	var one record
	for _, s := range samples {
		if one, err = one.parse(string(s)); err != nil {
			return fmt.Errorf("samples: %w", err)
		}
		if class, _ := one.key(codeKey).text(); class != "" {
			return fmt.Errorf("samples are objects of %.80s, which only its own code can read: save them as dicts", class)
		}
		if err := yield(append(one, step)); err != nil {
			return err
		}
	}
	return nil
}

// trajectories puts the reward of an rLLM episode beside its other keys: as
// reward, or by the names of several trajectories.
func trajectories(r record, yield func(record) error) error {
	all, err := r.key("trajectories").elements()
	if err != nil {
		return fmt.Errorf("trajectories is %w", err)
	}
	out := make(record, 0, len(r)+len(all))
	for _, f := range r {
		if f.key != "trajectories" {
			out = append(out, f)
		}
	}
	for i, t := range all {
		one, err := record(nil).parse(string(t))
		if err != nil {
			return fmt.Errorf("trajectories: %w", err)
		}
		key := "reward"
		if len(all) > 1 {
			key = "trajectories." + strconv.Itoa(i)
		}
		if v := one.key("reward"); v != "" {
			out = append(out, field{key, v})
		}
		if steps, err := one.key("steps").elements(); err == nil && len(steps) > 0 && len(all) == 1 {
			if last, err := record(nil).parse(string(steps[len(steps)-1])); err == nil {
				out = append(out, field{"completion", last.key("model_response")})
			}
		}
	}
	return yield(out)
}

// filters names the metrics of an lm-eval record as its results do: the metric,
// a comma and the filter. A record whose answers are more than what its filter
// keeps has no reward for each of them.
func filters(r record, yield func(record) error) error {
	metrics, err := r.key("metrics").elements()
	if err != nil {
		return fmt.Errorf("metrics is %w", err)
	}
	filter, _ := r.key("filter").text()
	out := record{{"doc_id", r.key("doc_id")}, {"doc", r.key("doc")}}
	for _, m := range metrics {
		name, _ := m.text()
		if v := r.key(name); v != "" {
			out = append(out, field{name + "," + filter, v})
		}
	}
	responses, err := r.key("resps").elements()
	if err == nil && len(responses) == 1 && responses[0].count() > r.key("filtered_resps").count() {
		out = append(out, field{unscored, "true"})
	} else if err == nil && len(responses) == 1 {
		out = append(out, field{"completion", responses[0]}, field{"target", r.key("target")})
	}
	return yield(out)
}

// unscored marks a record whose single answers have no score.
const unscored = "#unscored"

// chat puts what precedes the last answer of a conversation as its prompt.
func chat(r record, yield func(record) error) error {
	messages, err := r.key("messages").elements()
	if err != nil {
		return fmt.Errorf("messages is %w", err)
	}
	var prompt strings.Builder
	completion := value("")
	for i, m := range messages {
		one, err := record(nil).parse(string(m))
		if err != nil {
			return fmt.Errorf("messages: %w", err)
		}
		if role, _ := one.key("role").text(); i == len(messages)-1 && role == "assistant" {
			completion = one.key("content")
			break
		}
		prompt.WriteString(string(m))
	}
	return yield(append(r, field{"prompt", quote(prompt.String())}, field{"completion", completion}))
}

// scoredGenerations yields the graded answers of CRUXEval's map of lists, with
// what was generated where a second map has it.
func scoredGenerations(r record, yield func(record) error) error {
	prompts, err := record(nil).parse(string(r.key("raw_scored_generations")))
	if err != nil {
		return fmt.Errorf("raw_scored_generations: %w", err)
	}
	generated, _ := record(nil).parse(string(r.key("raw_generations"))) // without it there are no texts
	for _, p := range prompts {
		answers, err := p.value.elements()
		if err != nil {
			return fmt.Errorf("%.40s is %w", p.key, err)
		}
		texts, err := generated.key(p.key).elements()
		if err != nil || len(texts) != len(answers) {
			texts = make([]value, len(answers))
		}
		for i, a := range answers {
			if err := yield(record{{"key", quote(p.key)}, {"scored", a}, {"generation", texts[i]}}); err != nil {
				return err
			}
		}
	}
	return nil
}
