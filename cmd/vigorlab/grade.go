package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/sim/logs"
	"vigorlab/sim/reward"
	"vigorlab/sim/reward/agreement"
	"vigorlab/sim/source/prompts"
)

type gradeFlags struct {
	importFlags
	promptFlags
	verifierSpecs      []string
	verifierSuccess    string
	completion, answer string
	examples           int
}

func newGrade(a *app) *cobra.Command {
	f := &gradeFlags{verifierSuccess: defaultSuccess, examples: 5}
	cmd := &cobra.Command{
		Use:   "grade PATH ... --verifier SPEC",
		Short: "Grade the completions of a log again, and say where two graders disagree",
		Long: `grade reads the completions of a rollout log, judges each with a verifier, and
compares the verdicts with the rewards that the log has: a confusion table, rates
with intervals over prompts, what the disagreement does to the reward variance of
groups, and the first disagreements. Logs are those that import reads, with the
same flags; what import refuses, grade refuses. Of a run directory it reads
rollouts.jsonl. Answers that a log has not come from the file of --prompts, by the
prompt's name where every record there has one, else by its text.

Neither grader is taken for the truth. A verifier that errs at random turns dead
and solved groups into mixed ones, which looks like reward variance and carries no
gradient: with errors at rates q01 (failures called successes) and q10 the success
probability becomes p(1-q10) + (1-p)q01.

Which rewards flip turns round depends on seed= of its spec and never on --seed: a
log that is graded again gets the same rewards, those that rollout gave it.

Completions that a verifier cannot judge are counted apart. --out keeps the results
and rollouts.jsonl, the new rewards one line a rollout, which import reads.`,
		Example: `  # does exact comparison agree with the rewards that were logged?
  vigorlab grade graded.jsonl --verifier exact

  # label noise: every twentieth reward of the verifier turned round; new rewards go to DIR
  vigorlab grade graded.jsonl --verifier flip:q=0.05@numeric --out regraded --format json

  # columns that the format does not name
  vigorlab grade graded.jsonl --completion completion --answer answer --verifier math --format csv

  # a log without answers, which are in a data set; with --preset gsm8k in one as it is published
  vigorlab grade unanswered.jsonl --prompts sums.jsonl --verifier exact`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error { return f.run(cmd.Context(), a, paths) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.verifierSpecs, "verifier", nil, "verifier `SPEC`: exact, numeric, choice, regex, math, code, command:CMD, or flip:q=0.05@math for noise")
	flags.Var(&textFlag{&f.verifierSuccess, "verifier-success", "a rule such as reward > 0", &f.faults}, "verifier-success", "`RULE` by which a reward of the verifier is a success")
	flags.Var(&textFlag{&f.completion, "completion", "a column", &f.faults}, "completion", "`COLUMN` of the completions, with dots into nested ones (default that of the format)")
	flags.Var(&textFlag{&f.answer, "answer", "a column", &f.faults}, "answer", "`COLUMN` of the answers, likewise")
	f.registerPrompts(flags, &f.common, "answers of prompts")
	f.whole(flags, &f.examples, "examples", 0, 1000, "show the first `N` disagreements, and as many that the verifier cannot judge")
	f.registerLog(flags)
	f.register(flags)
	return cmd
}

func (f *gradeFlags) run(ctx context.Context, a *app, paths []string) error {
	paths = logsOfRuns(paths)
	options := f.options(paths)
	options.Out, options.Completion, options.Answer = "", f.completion, f.answer
	set, digest := f.answers(ctx)
	if set != nil {
		find := set.Finder()
		options.Answers = func(id, text string) string {
			p, _ := find(id, text)
			return p.Answer
		}
	}
	v := f.verifier(ctx, f.verifierSpecs, "a spec such as math")
	if v != nil {
		defer v.Close()
	}
	rule, err := logs.ParseRule(f.verifierSuccess)
	f.add("--verifier-success =", err)
	if err := f.err(); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectEarly))
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	options.Progress = func(done, total int64) { bar.Show("bytes read", int(done), int(total)) }
	texts, err := logs.ReadTexts(ctx, options)
	if err != nil {
		return f.refusal(ctx, "grade", paths, err)
	}
	if err := f.suits(texts, v); err != nil {
		return err
	}
	line := f.line(paths, v)
	record, err := f.record(a, "grade", line, f.specs(paths, v, texts, rule, digest))
	if err != nil {
		return err
	}
	r := newGraded(line.String(), paths, texts, v.String(), rule, f.examples)
	if set != nil {
		r.answersFile = f.promptFiles[0]
	}
	err = f.oneShot(record, func(d *rundir.Dir) error {
		if err := f.grade(ctx, d, v, r, bar); err != nil {
			return err
		}
		r.Result = agreement.Measure(r.groups)
		if d == nil {
			return nil
		}
		return r.result().save(d)
	})
	bar.Close()
	if err != nil {
		return err
	}
	f.warn(a, r.warnings())
	return r.result().print(a, f.format)
}

// logsOfRuns returns the paths with its log in place of a run directory, whose tables
// and results are none.
func logsOfRuns(paths []string) []string {
	logged := slices.Clone(paths)
	for i, path := range paths {
		log := filepath.Join(path, gradedFile)
		if _, err := os.Stat(log); err != nil {
			continue
		}
		if _, err := rundir.Read(path); err == nil {
			logged[i] = log
		}
	}
	return logged
}

// answers reads --prompts, where it is given.
func (f *gradeFlags) answers(ctx context.Context) (*prompts.Set, string) {
	if len(f.promptFiles) > 0 {
		return f.readPrompts(ctx, &f.common)
	}
	if f.preset != noPreset || f.promptField+f.answerField+f.idField != "" {
		f.addf("--prompts is missing, and --preset, --prompt-field, --answer-field and --id-field are for its file; --answer names a column of the log")
	}
	return nil, ""
}

// suits checks that the log has what the comparison needs.
func (f *gradeFlags) suits(t *logs.Texts, v reward.Verifier) error {
	if t.Rule == (logs.Rule{}) {
		f.addf("the log's rewards (%s) are neither successes nor failures, and there is nothing to compare verdicts with", rewardText(t.Report))
		f.hint(`give --success RULE, as in --success "reward > 0"`)
	}
	if reward.NeedsAnswer(v) && t.Answered == 0 {
		where := "a log of " + t.Report.From + " has no column of answers that is known"
		if len(t.Answer) > 0 {
			where = "no rollout has one in " + strings.Join(t.Answer, " or ")
		}
		hint := "name the column with --answer COLUMN, give a file of answers with --prompts FILE, or take a verifier that needs none, such as command"
		if len(f.promptFiles) > 0 {
			where += fmt.Sprintf(", and no prompt of %s, by name or text, has one for it", f.promptFiles[0])
			hint = "--id-field names the log's prompts, --prompt-field has their very text, --answer-field or --preset the answers"
		}
		f.addf("--verifier %s compares with an answer: %s", v.String(), where)
		f.hint(hint)
	}
	return f.err()
}

// line returns the command that reproduces the run.
func (f *gradeFlags) line(paths []string, v reward.Verifier) *commandLine {
	l := newCommandLine("grade")
	f.addLog(l, paths)
	l.add("verifier", v.String())
	l.add("verifier-success", f.verifierSuccess)
	if f.completion != "" {
		l.add("completion", f.completion)
	}
	if f.answer != "" {
		l.add("answer", f.answer)
	}
	if len(f.promptFiles) > 0 {
		f.addPrompts(l)
	}
	l.add("examples", f.examples)
	return l
}

func (f *gradeFlags) specs(paths []string, v reward.Verifier, t *logs.Texts, rule logs.Rule, digest string) output.Object {
	specs := output.Object{
		{Key: "paths", Value: paths},
		{Key: "from", Value: t.Report.From},
		{Key: "group", Value: f.group},
		{Key: "group_size", Value: f.groupSize},
		{Key: "attempts", Value: f.attempts},
		{Key: "reward", Value: t.Report.Reward},
		{Key: "success", Value: t.Rule.String()},
		{Key: "completion", Value: t.Completion},
		{Key: "answer", Value: t.Answer},
		{Key: "verifier", Value: v.String()},
		{Key: "verifier_success", Value: rule.String()},
		{Key: "examples", Value: f.examples},
	}
	if digest != "" {
		specs.Add("prompts", f.promptFiles[0])
		specs.Add("prompts_sha256", digest)
		specs.Add("fields", f.fieldsRead())
	}
	return specs
}

// gradedFile is the log of the new rewards in a run directory.
const gradedFile = "rollouts.jsonl"

// grade judges every completion and writes the new rewards.
func (f *gradeFlags) grade(ctx context.Context, d *rundir.Dir, v reward.Verifier, r *graded, bar *progress.Bar) error {
	if d == nil {
		return f.judge(ctx, v, r, bar, io.Discard)
	}
	return d.WriteWith(gradedFile, func(w io.Writer) error {
		out := bufio.NewWriter(stopped{ctx, w})
		if err := f.judge(ctx, v, r, bar, out); err != nil {
			return err
		}
		return out.Flush()
	})
}

// judge judges every completion, in parallel, and takes the grades in the order
// of the log.
func (f *gradeFlags) judge(ctx context.Context, v reward.Verifier, r *graded, bar *progress.Bar, w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	done := 0
	source := func(ctx context.Context, yield func(reward.Item, logs.Rollout) error) error {
		return r.texts.Each(func(x logs.Rollout) error {
			return yield(reward.Item{
				Prompt: x.Prompt, Completion: x.Completion, Answer: x.Answer, Truncated: x.Truncated,
				Index: uint64(x.Visit)<<32 | uint64(x.Index), // as rollout numbers them, where prompts have one visit
			}, x)
		})
	}
	err := reward.InOrder(ctx, v, f.workers, source, func(x logs.Rollout, item reward.Item, g reward.Grade) error {
		done++
		bar.Show("rollouts", done, r.texts.Rollouts)
		return out.Encode(r.take(x, g))
	})
	var failed *reward.ItemError
	if ctx.Err() == nil && errors.As(err, &failed) {
		x := failed.About.(logs.Rollout)
		return fmt.Errorf("--verifier %s: prompt %s (%s, line %d): %w", v.String(), x.PromptID, x.File, x.Line, failed.Err)
	}
	return err
}
