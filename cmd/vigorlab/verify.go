package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/report"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/table"
	"vigorlab/sim/verify"
)

type verifyFlags struct {
	common
	quick  bool
	only   []string
	tables []string
	live   string
}

func newVerify(a *app) *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [--quick] [--only ID,...] [--table FILE ...] [--live DIR]",
		Short: "Climb the ladder of claims: what holds, what fails, what cannot be tested here",
		Long: `verify checks every claim of the theory against exact computations, simulation,
enumeration, recorded outcomes and a live run, rung by rung. A claim holds, holds within d
(it is off by d, at most 10 % of what it claims), fails, or cannot be tested. A published
claim that fails is a result; a check of vigorlab's own code that fails is an error of
vigorlab, and the exit code is 1. With --out it writes figures and tables of the rungs and
report.md, and goes on where an interrupted run stopped.

Rungs 1 to 5 are VIGOR's theorems, 6 training, 7 recorded outcomes, 8 a live
run, 9 and 10 the theorems of other methods (CERO, MC-UCB, sequential halving;
PAIR, SERA, ARCUS, M2PO, Speculative Evaluation), 11 what choosing by rewards
does to the update.`,
		Example: `  # everything that needs no recorded table, in under a minute
  vigorlab verify --quick --out ladder

  # a rung, or one study of it
  vigorlab verify --quick --only 2,4.screening

  # the outcomes of a real training run
  vigorlab verify --quick --only 7 --table outcomes.csv

  # does one half of a live run's prompts foretell the other?
  vigorlab rollout --source synthetic:beta:a=0.3,b=0.7 --batch 512 --strategy vigor --holdout 2 \
    --out live
  vigorlab verify --quick --only 8 --live live`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("only") && len(f.only) == 0 {
				f.addf("--only is empty, want rungs or studies such as 2 or 4.screening")
			}
			return f.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.quick, "quick", false, "fewer replicates: the whole ladder in under a minute")
	flags.StringSliceVar(&f.only, "only", nil, "only these rungs or studies, `ID`s such as 2 or 4.screening")
	flags.StringArrayVar(&f.tables, "table", nil, "recorded outcomes for rungs 7 and 10, a `FILE` of CSV, .jsonl or .parquet, repeatable")
	flags.Var(&textFlag{&f.live, "live", "a directory", &f.faults}, "live", "the `DIR` of a complete run of rollout, for rung 8")
	f.register(flags)
	return cmd
}

func (f *verifyFlags) run(ctx context.Context, a *app) error {
	for i, name := range f.only {
		f.only[i] = strings.TrimSpace(name) // "2, 4.screening"
	}
	cfg := verify.Config{Seed: f.seed, Workers: f.workers, Quick: f.quick, Only: f.only}
	digests := f.readTables(ctx, &cfg)
	run := f.readLive(ctx, &cfg)
	f.add("--only", cfg.Validate())
	if err := f.err(); err != nil {
		return err
	}
	line := f.line()
	record, err := f.record(a, "verify", line, output.Object{
		{Key: "quick", Value: f.quick},
		{Key: "only", Value: append([]string{}, f.only...)},
		{Key: "tables", Value: digests},
		{Key: "live", Value: run},
	})
	if err != nil {
		return err
	}
	for _, t := range cfg.Tables {
		f.warn(a, fewRollouts(t))
	}
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	cfg.Progress = bar.Show
	l := &ladder{reproduce: line.String()}
	var notes []string // what figures do not show
	if err := f.long(record, func(d *rundir.Dir) error {
		keepSections(&cfg, d)
		l.Report, err = await(ctx, func() (*verify.Report, error) { return verify.Run(ctx, cfg) })
		if err != nil {
			return err
		}
		notes, err = l.save(ctx, d)
		return err
	}); err != nil {
		return err
	}
	bar.Close()
	f.warn(a, notes)
	if f.out != "" && !f.quiet {
		fmt.Fprintf(a.stderr, "report: %s\n", filepath.Join(f.out, "report.md"))
	}
	return errors.Join(l.result().print(a, f.format), l.wrong())
}

// readTables reads the tables of --table and returns what names them.
func (f *verifyFlags) readTables(ctx context.Context, cfg *verify.Config) []output.Object {
	digests := []output.Object{}
	for _, path := range f.tables {
		t, digest, err := readTable(ctx, path)
		if err != nil {
			f.add("--table", err)
			continue
		}
		if slices.ContainsFunc(cfg.Tables, func(earlier *table.Table) bool { return followed(earlier.Name) == followed(path) }) {
			f.addf("--table %s is given twice, want each table once", path)
			continue
		}
		cfg.Tables = append(cfg.Tables, t)
		digests = append(digests, output.Object{{Key: "path", Value: path}, {Key: "sha256", Value: digest}})
	}
	return digests
}

func (f *verifyFlags) line() *commandLine {
	l := newCommandLine("verify")
	if f.quick {
		l.mark("quick")
	}
	if len(f.only) > 0 {
		l.add("only", strings.Join(f.only, ","))
	}
	for _, path := range f.tables {
		l.add("table", path)
	}
	if f.live != "" {
		l.add("live", f.live)
	}
	l.add("seed", f.seed)
	return l
}

// keepSections makes the ladder write every study as soon as it is finished,
// and take over those that an earlier run of the directory wrote.
func keepSections(cfg *verify.Config, d *rundir.Dir) {
	if d == nil {
		return
	}
	name := func(study string) string {
		const longest = 100 // a study has the name of its table, after a number of its own
		return "rungs/" + strings.ToValidUTF8(study[:min(len(study), longest)], "") + ".json"
	}
	cfg.Save = func(s *verify.Section) error {
		content, err := output.JSON(s)
		if err != nil {
			return err
		}
		return d.Write(name(s.Study), content)
	}
	cfg.Done = func(study string) (*verify.Section, bool) {
		content, err := os.ReadFile(d.Path(name(study)))
		if err != nil {
			return nil, false
		}
		s := new(verify.Section)
		return s, json.Unmarshal(content, s) == nil && s.Study == study
	}
}

// wrong returns an error where a check of our own fails.
func (l *ladder) wrong() error {
	var errs []error
	for _, row := range l.Wrong() {
		errs = append(errs, fmt.Errorf("%s: a check of vigorlab itself fails: %s", row.ID, row.Claim))
	}
	return errors.Join(errs...)
}

// save writes results, figures, a table a rung and report.md into the run
// directory, if there is one, and returns what the figures do not show.
func (l *ladder) save(ctx context.Context, d *rundir.Dir) (notes []string, err error) {
	if d == nil {
		return nil, nil
	}
	return await(ctx, func() ([]string, error) {
		drawings, figures := l.drawings()
		if err := errors.Join(l.result().save(d), l.saveTables(d)); err != nil {
			return nil, err
		}
		notes, err := drawings.save(d)
		if err != nil {
			return nil, err
		}
		return notes, d.Write("report.md", report.Ladder(l.Report, l.reproduce, figures))
	})
}

// saveTables writes a table a rung.
func (l *ladder) saveTables(d *rundir.Dir) error {
	for _, rung := range report.Rungs(l.Rows()) {
		var rows []ladderRow
		for _, row := range l.rows() {
			if row.Rung == int64(rung) {
				rows = append(rows, row)
			}
		}
		content, err := result[ladderRow]{rows: rows}.csv()
		if err != nil {
			return err
		}
		if err := d.Write(fmt.Sprintf("rungs/rung-%d.csv", rung), content); err != nil {
			return err
		}
	}
	return nil
}
