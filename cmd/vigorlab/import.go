package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/table"
	"vigorlab/sim/logs"
)

type importFlags struct {
	common
	from, group, reward, success, attempts string
	groupSize                              int
	lenient                                bool
}

func newImport(a *app) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import PATH ... --out FILE",
		Short: "Read a trainer's rollout logs into a table for replay and --population table",
		Long: `import reads what trainers log of their rollouts, files, folders or patterns, and
writes one table: a row a prompt and visit, with its rollouts and successes. The
extension of --out says how: .csv, .jsonl or .parquet. A format is recognised by
the keys of its records, whatever the file is called and however it is packed:
JSON lines, JSON, CSV, Parquet, .gz, .zst, and slime's .pt, of which no code runs.

Rewards of two values are failures and successes. Others stay graded until
--success says what succeeds, as in --success "reward > 0". What a wrong guess
would bias is refused, with what to type to decide it.

Memory grows with the prompts, some 60 bytes each and those of the name, and with
the rollouts of the largest step, some 30 bytes each; a log without steps is one
step. The rest, some 25 bytes a rollout, lies beside --out until that is written.`,
		Example: `  # a folder of logs, whatever the trainer
  vigorlab import rollouts --out pilot.csv

  # by the text of the prompts, and as Parquet
  vigorlab import rollouts/1.jsonl rollouts/2.jsonl --from verl --group text --reward score \
    --out pilot.parquet

  # a table that is one already, with a report for a script
  vigorlab import outcomes.csv --out outcomes.jsonl --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error { return f.run(cmd.Context(), a, paths) },
	}
	flags := cmd.Flags()
	f.registerLog(flags)
	f.registerFormat(flags)
	flags.Var(&textFlag{&f.out, "out", "a file", &f.faults}, "out", "write the table to `FILE`")
	flags.BoolVar(&f.force, "force", false, "replace the file of --out")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress and no warnings on standard error")
	return cmd
}

// registerLog adds the flags that say how logs are read.
func (f *importFlags) registerLog(flags *pflag.FlagSet) {
	f.choice(flags, &f.from, "from", append([]string{logs.Auto}, logs.Formats()...), "`FORMAT` of the logs")
	flags.Var(&textFlag{&f.reward, "reward", "a column", &f.faults}, "reward", "`COLUMN` of the reward, with dots into nested ones (default that of the format)")
	flags.Var(&textFlag{&f.success, "success", "a rule such as reward > 0", &f.faults}, "success", "`RULE` by which a reward is a success, an operator and a number (default the higher of two values)")
	f.choice(flags, &f.group, "group", []string{logs.Auto, logs.GroupID, logs.GroupText, logs.GroupPosition}, "`HOW` groups are found: by the log's names, by the text of the prompt, or --group-size rollouts after the other")
	f.whole(flags, &f.groupSize, "group-size", 1, 1_000_000, "`N` rollouts a prompt, for --group position")
	flags.Lookup("group-size").DefValue = ""
	f.choice(flags, &f.attempts, "attempts", []string{attemptsLast, attemptsAll}, "`WHICH` rollouts count where a resumed run logged a step again")
	flags.BoolVar(&f.lenient, "lenient", false, "count records that cannot be read, and go on")
}

// collectEarly is the growth of the heap, in per cent, at which memory is
// collected while logs are read: groups stay and lines go, so that memory is
// better spent on groups.
const collectEarly = 40

// The choices of --attempts.
const (
	attemptsLast = "last"
	attemptsAll  = "all"
)

func (f *importFlags) run(ctx context.Context, a *app, paths []string) error {
	options := f.options(paths)
	path := f.file()
	if err := f.err(); err != nil {
		return err
	}
	if err := rundir.CanWrite(path); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectEarly))
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	options.Progress = func(done, total int64) { bar.Show("bytes read", int(done), int(total)) }
	log, err := logs.Read(ctx, options)
	bar.Close()
	if err != nil {
		return f.refusal(ctx, "import", paths, err)
	}
	defer log.Close()
	if err := rundir.WriteFile(path, func(w io.Writer) error { return log.Write(stopped{ctx, w}, f.out) }); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	f.warn(a, log.Report.Warnings)
	return importResult(f.line(paths), f.out, log.Report).print(a, f.format)
}

// options returns what to import.
func (f *importFlags) options(paths []string) logs.Options {
	o := logs.Options{
		Paths: paths, From: f.from, Group: f.group, GroupSize: f.groupSize, Reward: f.reward,
		Lenient: f.lenient, KeepAll: f.attempts == attemptsAll, Out: f.out,
	}
	if len(paths) == 0 {
		f.addf("no path is given, want files, folders or patterns")
	}
	if f.group == logs.GroupPosition && f.groupSize == 0 {
		f.addf("--group position needs --group-size N, the rollouts a prompt")
	} else if f.group != logs.GroupPosition && f.groupSize != 0 {
		f.addf("--group-size = %d is for --group position alone", f.groupSize)
	}
	if f.success != "" {
		rule, err := logs.ParseRule(f.success)
		f.add("--success =", err)
		o.Success = rule
	}
	return o
}

// file checks --out and returns the file to write.
func (f *importFlags) file() string {
	if f.out == "" {
		f.addf("--out is missing, want a file that ends in %s", strings.Join(table.Extensions(), ", "))
		return ""
	}
	if !slices.Contains(table.Extensions(), strings.ToLower(filepath.Ext(f.out))) {
		f.addf("--out %s, want a file that ends in %s", f.out, strings.Join(table.Extensions(), ", "))
		return f.out
	}
	return f.target("--out", f.out)
}

// refusal turns what stands against a log into usage errors with their hints.
func (f *importFlags) refusal(ctx context.Context, command string, paths []string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *logs.Refusal
	var full *logs.SpillError
	switch {
	case errors.As(err, &full):
		return full
	case !errors.As(err, &refused):
		f.add(command, err)
		return f.err()
	}
	for _, finding := range refused.Findings {
		f.addf("%s %s: %s", command, strings.Join(paths, " "), finding.Text)
		if finding.Hint != "" {
			f.hint(finding.Hint)
		}
	}
	return f.err()
}

// line returns the command that reproduces the import.
func (f *importFlags) line(paths []string) string {
	l := newCommandLine("import")
	f.addLog(l, paths)
	l.add("out", f.out)
	return l.String()
}

// addLog adds what says how logs are read.
func (f *importFlags) addLog(l *commandLine, paths []string) {
	for _, p := range paths {
		l.argument(p)
	}
	l.add("from", f.from)
	for _, flag := range []struct{ name, value string }{{"reward", f.reward}, {"success", f.success}} {
		if flag.value != "" {
			l.add(flag.name, flag.value)
		}
	}
	l.add("group", f.group)
	if f.groupSize > 0 {
		l.add("group-size", f.groupSize)
	}
	l.add("attempts", f.attempts)
	if f.lenient {
		l.mark("lenient")
	}
}

// An importRow is one figure of the report.
type importRow struct {
	Figure string `parquet:"figure"`
	At     string `parquet:"at"`
	Value  string `parquet:"value"`
}

// importResult returns the report in each format.
func importResult(reproduce, file string, r *logs.Report) result[importRow] {
	o := header("import").Object()
	o.Add("table", file)
	var rows []importRow
	for _, f := range importFigures(r) {
		o.Add(f.Key, f.Value)
		rows = append(rows, importRows(f)...)
	}
	return result[importRow]{o, rows, func(t *output.Text) { importText(t, reproduce, file, r) }}
}

// importFigures returns the report's figures by name.
func importFigures(r *logs.Report) output.Object {
	return output.Object{
		{Key: "from", Value: r.From},
		{Key: "why", Value: r.Why},
		{Key: "basis", Value: r.Basis},
		{Key: "files", Value: r.Files},
		{Key: "rows", Value: r.Rows},
		{Key: "prompts", Value: r.Prompts},
		{Key: "steps", Value: r.Steps},
		{Key: "groups", Value: r.Groups},
		{Key: "group_sizes", Value: r.GroupSizes},
		{Key: "grouping", Value: r.Grouping},
		{Key: "reward", Value: r.Reward},
		{Key: "support", Value: r.Support},
		{Key: "continuous", Value: r.Continuous},
		{Key: "success", Value: r.Success},
		{Key: "constant_groups", Value: r.Constant},
		{Key: "variance_within", Value: r.Within},
		{Key: "variance_between", Value: r.Between},
		{Key: "coerced", Value: r.Coerced},
		{Key: "dropped", Value: r.Dropped},
		{Key: "torn", Value: r.Torn},
		{Key: "duplicated", Value: r.Duplicated},
		{Key: "superseded", Value: r.Superseded},
		{Key: "warnings", Value: r.Warnings},
		{Key: "notes", Value: r.Notes},
	}
}

// importRows returns the tidy rows of a figure.
func importRows(f output.Field) []importRow {
	var rows []importRow
	switch list := f.Value.(type) {
	case []logs.Size:
		for _, s := range list {
			rows = append(rows, importRow{f.Key, fmt.Sprintf("size=%d", s.Size), strconv.Itoa(s.Groups)})
		}
	case []logs.Level:
		for _, l := range list {
			rows = append(rows, importRow{f.Key, fmt.Sprintf("reward=%v", l.Reward), strconv.Itoa(l.Rollouts)})
		}
	case []string:
		for i, s := range list {
			rows = append(rows, importRow{f.Key, strconv.Itoa(i + 1), s})
		}
	default:
		rows = append(rows, importRow{f.Key, "", fmt.Sprint(f.Value)})
	}
	return rows
}

// importText prints the report for a person.
func importText(t *output.Text, reproduce, file string, r *logs.Report) {
	t.Command(reproduce)
	t.Heading(fmt.Sprintf("%s: %d prompts, %d groups, %s", file, r.Prompts, r.Groups, stepsText(r.Steps)))
	say := func(name, text string) { t.Note("  "+fmt.Sprintf("%-12s", name), text) }
	say("from", fmt.Sprintf("%s, as its %s (%s)", r.From, r.Why, r.Basis))
	say("groups", r.Grouping)
	say("sizes", sizesText(r.GroupSizes))
	say("reward", rewardText(r))
	if r.Success == "" {
		say("success", "no rule: rewards stay graded, and replay needs successes; --success says what succeeds")
	} else {
		say("success", r.Success)
	}
	say("constant", fmt.Sprintf("%d of %d groups have rewards that are all the same", r.Constant, r.Groups))
	if r.Within > 0 || r.Between > 0 {
		say("variance", fmt.Sprintf("of the rewards %.4g within groups and %.4g between them", r.Within, r.Between))
	}
	say("rollouts", fmt.Sprintf("%d in %d files; left out: %d without a reward, %d logged twice, %d of earlier attempts, %d torn; %d read from text",
		r.Rows, r.Files, r.Dropped, r.Duplicated, r.Superseded, r.Torn, r.Coerced))
	for _, n := range r.Notes {
		say("note", n)
	}
}

// stepsText counts steps; a log of a single one may know of none.
func stepsText(steps int) string {
	if steps == 1 {
		return "no steps to tell apart"
	}
	return fmt.Sprintf("%d steps", steps)
}

// sizesText lists group sizes, at most eight of them.
func sizesText(sizes []logs.Size) string {
	var parts []string
	for i, s := range sizes {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more sizes", len(sizes)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d of %d rollouts", s.Groups, s.Size))
	}
	return strings.Join(parts, ", ")
}

// rewardText lists reward values, at most eight of them.
func rewardText(r *logs.Report) string {
	var parts []string
	for i, l := range r.Support {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more values", len(r.Support)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%v (%d)", l.Reward, l.Rollouts))
	}
	if r.Continuous {
		parts = append(parts, "and others: a continuum")
	}
	if len(parts) == 0 {
		return r.Reward
	}
	return r.Reward + ": " + strings.Join(parts, ", ")
}
