package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
)

type replayFlags struct {
	comparing
	tables    []string
	draw      string
	batch     int // 0 stands for all
	resamples int
}

func newReplay(a *app) *cobra.Command {
	f := &replayFlags{resamples: sim.DefaultBootstrap().Resamples}
	cmd := &cobra.Command{
		Use:   "replay --table FILE [--strategy SPEC ...]",
		Short: "Compare strategies on recorded outcomes of a real model",
		Long: `replay lets every strategy spend its rollouts on the prompts of a recorded table,
with the columns prompt_id, n and successes, as CSV, JSON lines or Parquet, which
import makes of a trainer's logs. Beside the standard error over batches each
figure has an interval over other samples of prompts, which costs up to
--resamples times the replay itself. A prompt with several rows is drawn with all
of them.

The interval does not cover that the true success probabilities are unknown. The
recorded shares s/n differ more than these, so that gains come out too large with
few rollouts a prompt. --draw posterior, prompt by prompt with Jeffreys' prior,
errs too, to either side: too low where many prompts are nearly dead or solved.
The two need not have the truth between them; only more rollouts a prompt help.`,
		Example: `  # would VIGOR have helped on these prompts?
  vigorlab replay --table outcomes.csv --strategy vigor --strategy fixed:g=8 --replicates 100

  # with few recorded rollouts a prompt, draw its success probability anew
  vigorlab replay --table outcomes.csv --draw posterior --batch 4 --replicates 100

  # only rollouts that were recorded, each at most once
  vigorlab replay --table outcomes.csv --draw without --strategy fixed:g=4 --replicates 100 \
    --format csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.tables, "table", nil, "recorded outcomes, a `FILE` of CSV, .jsonl or .parquet")
	f.choice(flags, &f.draw, "draw", source.Draws(), "`HOW` rollouts are drawn: from s/n, from the record itself, or from p ~ Beta(s+1/2, n-s+1/2)")
	flags.Var(&batchFlag{&f.batch, &f.faults}, "batch", "`B` prompts a batch, drawn without replacement, or all")
	f.registerComparing(cmd)
	f.whole(flags, &f.resamples, "resamples", 0, maxResamples, "`N` samples of prompts that the intervals over prompts rest on, 0 for no intervals")
	f.register(flags)
	return cmd
}

// maxResamples bounds the figures of samples by what fits into memory.
const maxResamples = 1_000_000

// A batchFlag is a whole number >= 1, or all, which is 0.
type batchFlag struct {
	target *int
	faults *faults
}

const allPrompts = "all"

func (v *batchFlag) Type() string { return "int" }

func (v *batchFlag) String() string {
	if v.target == nil || *v.target == 0 {
		return allPrompts
	}
	return strconv.Itoa(*v.target)
}

func (v *batchFlag) Set(text string) error {
	if text == allPrompts {
		*v.target = 0
		return nil
	}
	x, err := strconv.Atoi(text)
	if err != nil || x < 1 || x > maxBatch {
		v.faults.addf("--batch = %s, want a whole number in [1, %d] or all", shown(text), maxBatch)
		return nil
	}
	*v.target = x
	return nil
}

func (f *replayFlags) run(ctx context.Context, a *app) error {
	if f.resamples == 1 {
		f.addf("--resamples = 1, want 0 or at least 2: a single sample makes no interval")
	}
	t, digest := f.table(ctx)
	strategies := f.parseStrategies(ctx)
	size := f.batch
	if t != nil {
		if size > len(t.Rows) {
			f.addf("--batch = %d, want a whole number in [1, %d], the prompts of %s, or all", size, len(t.Rows), t.Name)
		}
		if size == 0 {
			size = len(t.Rows)
		}
		if err := f.startable(ctx, strategies, size); err != nil {
			return err
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	line := f.line(t.Name, specsOf(strategies))
	record, err := f.record(a, "replay", line, output.Object{
		{Key: "table", Value: t.Name},
		{Key: "sha256", Value: digest},
		{Key: "draw", Value: f.draw},
		{Key: "strategies", Value: specsOf(strategies)},
		{Key: "batch", Value: size},
		{Key: "replicates", Value: f.replicates},
		{Key: "aggregate", Value: f.aggregate},
		{Key: "frontier", Value: f.frontier},
		{Key: "resamples", Value: f.resamples},
	})
	if err != nil {
		return err
	}
	c := &comparison{
		command: "replay", truth: truths[f.draw], reproduce: line.String(), population: "table:path=" + t.Name,
		subject:  output.Object{{Key: "table", Value: t.Name}, {Key: "draw", Value: f.draw}},
		warnings: singlePrompts(strategies, size),
	}
	if f.draw == source.DrawReplacement {
		c.warnings = append(c.warnings, fewRollouts(t)...)
	}
	if prompts, varied := promptsOf(t); prompts < 2 && f.resamples > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s has one prompt: there are no other samples of prompts, and no figure has an interval over them", t.Name))
	} else if few := sim.FewPrompts(prompts, varied); few != "" {
		c.warnings = append(c.warnings, fmt.Sprintf("%s: the intervals over other prompts are too narrow, and often miss: %s", t.Name, few))
	}
	f.warn(a, c.warnings)
	var notes []string // what figures do not show
	err = f.oneShot(record, func(d *rundir.Dir) error {
		c.Result, err = await(ctx, func() (*sim.Result, error) { return f.replay(ctx, a, t, strategies) })
		if err != nil {
			return f.input(err, "--table "+t.Name)
		}
		notes, err = saveRun(ctx, d, c.result, c.drawings)
		return err
	})
	if err != nil {
		return err
	}
	f.warn(a, notes)
	return c.result().print(a, f.format)
}

// truths says, by --draw, what reward variance stands for the unknown one.
var truths = map[string]string{
	source.DrawReplacement: "reward variance u = 4p(1-p), p the recorded share of successes,",
	source.DrawWithout:     "reward variance u = 4p(1-p), p the recorded share of successes,",
	source.DrawPosterior:   "reward variance u = 4p(1-p), p drawn from its posterior,",
}

// table reads the table of --table and returns it with the digest of its
// bytes; nil where it is at fault.
func (f *replayFlags) table(ctx context.Context) (*table.Table, string) {
	path, ok := f.once(f.tables, "table", "a file with the columns prompt_id, n, successes")
	if !ok {
		return nil, ""
	}
	t, digest, err := readTable(ctx, path)
	f.addTable("--table", path, err)
	return t, digest
}

// addTable records why the file at path is no table, with a hint where it may be
// a trainer's logs.
func (f *faults) addTable(subject, path string, err error) {
	f.add(subject, err)
	var missing *table.MissingError
	info, fault := os.Stat(path)
	if errors.As(err, &missing) || err != nil && fault == nil && info.IsDir() {
		f.hint("vigorlab import " + quote(path) + " --out table.csv makes a table of a trainer's logs")
	}
}

// readTable reads a table with the SHA-256 digest of its file.
func readTable(ctx context.Context, path string) (*table.Table, string, error) {
	file, err := opener(ctx)(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close() // only read
	digest := sha256.New()
	t, err := table.Read(io.TeeReader(file, digest), path)
	if err != nil {
		return nil, "", err
	}
	return t, fmt.Sprintf("%x", digest.Sum(nil)), nil
}

func (f *replayFlags) line(path string, strategies []string) *commandLine {
	l := newCommandLine("replay")
	l.add("table", path)
	l.add("draw", f.draw)
	l.add("batch", (&batchFlag{target: &f.batch}).String())
	for _, s := range strategies {
		l.add("strategy", s)
	}
	l.add("resamples", f.resamples)
	f.addTo(l)
	return l
}

// fewEnough is the number of recorded rollouts below which all-equal prompts
// are often no dead or solved ones.
const fewEnough = 32

// fewRollouts warns where drawing with replacement takes all-equal prompts of
// few rollouts for dead or solved ones.
func fewRollouts(t *table.Table) []string {
	few := 0
	for _, row := range t.Rows {
		if row.N < fewEnough && !row.Varied() {
			few++
		}
	}
	if few == 0 {
		return nil
	}
	noun := "prompts"
	if prompts, _ := promptsOf(t); prompts < len(t.Rows) {
		noun = "rows"
	}
	return []string{fmt.Sprintf(
		"%d of %d %s of %s have fewer than %d recorded rollouts and all of them equal: drawing with replacement treats them as dead or solved for ever, and gains come out too large; replay --draw posterior errs too, to either side, and intervals over prompts cover neither",
		few, len(t.Rows), noun, t.Name, fewEnough)}
}

// promptsOf returns how many prompts a table has, and how many of them have
// outcomes that differ in some row.
func promptsOf(t *table.Table) (prompts, varied int) {
	for _, rows := range t.ByPrompt() {
		prompts++
		if slices.ContainsFunc(rows, table.Row.Varied) {
			varied++
		}
	}
	return prompts, varied
}

// replay runs the engine on the table, then on bootstrap samples of its
// prompts.
func (f *replayFlags) replay(ctx context.Context, a *app, t *table.Table, strategies []strategy.Strategy) (*sim.Result, error) {
	newSource := func() (rollout.TruthSource, error) { return source.NewTable(t, f.draw, f.batch) }
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	cfg := f.config(filepath.Base(t.Name), bar) // where the file lies does not change what is drawn
	r, err := sim.Run(ctx, cfg, newSource, makers(strategies))
	if err != nil || f.resamples == 0 {
		return r, err
	}
	cfg.Progress = func(done, total int) { bar.Show("samples of prompts", done, total) }
	bootstrap := sim.DefaultBootstrap()
	bootstrap.Resamples = f.resamples
	return r, sim.Bootstrap(ctx, cfg, bootstrap, newSource, makers(strategies), r)
}
