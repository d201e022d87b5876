package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Rollout is a rollout of a log with its texts.
type Rollout struct {
	PromptID   string
	Step       int
	Visit      int    // of the prompt, as in the table that Import makes
	Group      int    // number of its group, in order of appearance
	Index      int    // in its group
	File       string // where it stands
	Line       int    // its line, or the number of its record
	Prompt     string // "" where the log has none
	Completion string
	Answer     string // the reference, "" where the log has none
	Truncated  bool
	Reward     float64
	Success    bool // by the rule of the log
}

// Texts is a log whose completions can be read. Build it with ReadTexts.
type Texts struct {
	Report     *Report
	Rule       Rule     // of successes; zero where rewards are graded and no rule was given
	Prompts    int      // that have rollouts
	Groups     int      // numbers that Rollout.Group may have, from 0
	Rollouts   int      // that Each yields
	Missing    int      // further ones without a completion
	Answered   int      // of Rollouts, those with an answer
	Joined     int      // of Answered, those that have it from Options.Answers
	Completion []string // the columns: the first that a record has counts
	Answer     []string

	ctx    context.Context
	o      Options
	files  []logFile
	groups []*group
	visits []int // of every group, -1 for one that a later attempt superseded
}

// ReadTexts reads a log as Import does, and so refuses what Import refuses, and
// looks where it has completions. One without them is an error that says why.
func ReadTexts(ctx context.Context, o Options) (*Texts, error) {
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	t := &Texts{ctx: ctx, o: o, files: files}
	im := newImporter(ctx, o)
	having := map[*group]*texted{}
	im.visit = func(r record, g *group) error {
		h := having[g]
		if h == nil {
			h = &texted{}
			having[g] = h
		}
		h.see(t, im.format, r, string(im.names.at(g.prompt)))
		return nil
	}
	if err := im.read(files); err != nil {
		return nil, err
	}
	if why := im.format.textless; why != "" {
		return nil, fmt.Errorf("a log of %s has no completions to read: %s", im.format.name, why)
	}
	if t.Report, t.Rule, err = im.judged(); err != nil {
		return nil, err
	}
	t.columns(im.format)
	t.number(im, having)
	if t.Rollouts == 0 {
		return nil, fmt.Errorf("none of %d rollouts has a completion in %s; the columns are %s",
			t.Missing, strings.Join(t.Completion, " or "), strings.Join(slices.Sorted(maps.Keys(im.evidence.columns)), ", "))
	}
	if o.Answer != "" && t.Answered == t.Joined {
		return nil, fmt.Errorf("none of %d rollouts has an answer in %s; the columns are %s",
			t.Rollouts, o.Answer, strings.Join(slices.Sorted(maps.Keys(im.evidence.columns)), ", "))
	}
	t.Report.Success, t.Report.Prompts = t.Rule.String(), t.Prompts
	return t, nil
}

// texted counts the rollouts of a group by the texts that they have.
type texted struct{ completions, answers, joined int }

func (h *texted) see(t *Texts, f *format, r record, prompt string) {
	if t.completion(f, r) == "" {
		return
	}
	h.completions++
	if a := t.answer(f, r); a != "" && a != `""` {
		h.answers++
	} else if t.joined(f, r, prompt) != "" {
		h.answers++
		h.joined++
	}
}

// columns says where the texts are.
func (t *Texts) columns(f *format) {
	t.Completion, t.Answer = f.completion, f.answer
	if t.o.Completion != "" {
		t.Completion = []string{t.o.Completion}
	}
	if t.o.Answer != "" {
		t.Answer = []string{t.o.Answer}
	}
}

// number gives visits to the groups that count, and counts what they have.
func (t *Texts) number(im *importer, having map[*group]*texted) {
	t.groups, t.Groups = im.tally.groups, len(im.tally.groups)
	t.visits = make([]int, t.Groups)
	for i := range t.visits {
		t.visits[i] = -1
	}
	visits := make([]int, len(im.names.ends))
	for _, g := range im.tally.kept() {
		if visits[g.prompt] == 0 {
			t.Prompts++
		}
		t.visits[g.ordinal] = visits[g.prompt]
		visits[g.prompt]++
		if h := having[g]; h != nil {
			t.Rollouts += h.completions
			t.Answered += h.answers
			t.Joined += h.joined
			t.Missing += len(g.reward) - h.completions
		}
	}
}

// completion returns what the model wrote, "" for none; an empty text is one.
func (t *Texts) completion(f *format, r record) value {
	if t.o.Completion != "" {
		return first(r, []string{t.o.Completion})
	}
	return first(r, f.completion)
}

// answer returns the reference, "" for none.
func (t *Texts) answer(f *format, r record) value {
	if t.o.Answer != "" {
		return first(r, []string{t.o.Answer})
	}
	return first(r, f.answer)
}

// joined returns the answer from elsewhere of a rollout that has none.
func (t *Texts) joined(f *format, r record, prompt string) string {
	if t.o.Answers == nil {
		return ""
	}
	return t.o.Answers(prompt, said(r.get(f.text), ""))
}

// first returns the first value that is there.
func first(r record, paths []string) value {
	for _, path := range paths {
		if v := r.get(path); !v.null() {
			return v
		}
	}
	return ""
}

// Each reads the log once more and yields every rollout that has a completion, in
// the order of the log, but for those that count twice or that a later attempt
// superseded. What was added to the log meanwhile is left out; a log that lost
// rollouts meanwhile, or has others, is an error.
func (t *Texts) Each(yield func(Rollout) error) error {
	o := t.o
	o.Progress = nil
	im := newImporter(t.ctx, o)
	seen := 0
	im.visit = func(r record, g *group) error {
		x, ok, err := t.rollout(im, r, g)
		if err != nil || !ok {
			return err
		}
		seen++
		return yield(x)
	}
	if err := im.read(t.files); err != nil {
		return err
	}
	if seen != t.Rollouts {
		return ErrChanged
	}
	return nil
}

// ErrChanged is why a second reading is given up.
var ErrChanged = errors.New("the log changed while it was read, want one that no trainer writes to")

// rollout returns the rollout that g took last; false where it does not count or
// has no completion.
func (t *Texts) rollout(im *importer, r record, g *group) (Rollout, bool, error) {
	k, index := int(g.ordinal), len(g.reward)-1
	if k >= t.Groups || index >= len(t.groups[k].reward) || t.visits[k] < 0 {
		return Rollout{}, false, nil
	}
	reward := g.reward[index]
	if cmp.Compare(reward, t.groups[k].reward[index]) != 0 {
		return Rollout{}, false, ErrChanged
	}
	completion := t.completion(im.format, r)
	if completion == "" {
		return Rollout{}, false, nil
	}
	prompt := string(im.names.at(g.prompt))
	answer := said(t.answer(im.format, r), "")
	if answer == "" {
		answer = t.joined(im.format, r, prompt)
	}
	return Rollout{
		PromptID: prompt, Step: int(g.step), Visit: t.visits[k], Group: k, Index: index,
		File: im.file.path, Line: im.place,
		Prompt: said(r.get(im.format.text), ""), Completion: said(completion, "assistant"), Answer: answer,
		Truncated: im.sample.cut == 1, Reward: reward, Success: t.Rule != Rule{} && t.Rule.Success(reward),
	}, true, nil
}

// said returns what a value says: a text, a number's digits, the one element of a
// list, or the messages of a conversation, those of a role alone unless it is "".
// Anything else stays JSON.
func said(v value, role string) string {
	if v.null() {
		return ""
	}
	if s, ok := v.text(); ok {
		return s
	}
	list, err := v.elements()
	if err != nil {
		return string(v)
	}
	if len(list) == 1 && !list[0].is('{') {
		return said(list[0], role)
	}
	var texts []string
	for _, e := range list {
		message, err := record(nil).parse(string(e))
		content := message.key("content")
		if err != nil || content == "" {
			return string(v)
		}
		if by, _ := message.key("role").text(); role == "" || by == role {
			texts = append(texts, said(content, ""))
		}
	}
	return strings.Join(texts, "\n")
}
