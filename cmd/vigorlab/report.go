package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/pages"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

type reportFlags struct {
	common
	title string
}

func newReport(a *app) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUNDIR ... --out FILE.html",
		Short: "Put finished runs into one page to send around",
		Long: `report reads run directories, as --out of the other commands makes them, and writes
one page of HTML: claims with their verdicts, what a run's own report says, figures,
tables that sort by any column, parameters, and how to repeat every run. The page
holds all it shows: it opens without a network, asks for nothing and runs no script
but the one that sorts. It is made for paper and phones too, light and dark.

It computes nothing, and it shows complete runs alone: one that was stopped, or whose
files are lost or cannot be read, is refused. A number that somebody changed in a file
is shown as it stands there. Of a table it shows at most 1,000 rows, and says there and
on standard error where the others are. Names of folders above the run directory, and of
the machine, stay at home, unless the command line that made the run has them.`,
		Example: `  # one run
  vigorlab simulate --population beta:a=0.3,b=0.7 --strategy vigor --batch 64 --replicates 50 \
    --out easy
  vigorlab report easy --out easy.html

  # several runs, under a title of your own
  vigorlab simulate --population beta:a=0.1,b=0.9 --strategy vigor --batch 64 --replicates 50 \
    --out hard
  vigorlab report easy hard --title Populations --out both.html`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, dirs []string) error { return f.run(cmd.Context(), a, dirs) },
	}
	flags := cmd.Flags()
	flags.Var(&textFlag{&f.title, "title", "the page's title", &f.faults}, "title", "`TITLE` of the page (default Report on, and the run's name)")
	flags.Var(&textFlag{&f.out, "out", "a file", &f.faults}, "out", "write the page to `FILE`, which ends in .html")
	f.registerFormat(flags)
	flags.BoolVar(&f.force, "force", false, "replace the file of --out")
	flags.BoolVar(&f.quiet, "quiet", false, "no warnings on standard error")
	return cmd
}

func (f *reportFlags) run(ctx context.Context, a *app, dirs []string) error {
	path := f.file()
	if len(dirs) == 0 {
		f.addf("no run directory is given, want what --out of another command made")
	}
	runs, err := await(ctx, func() ([]*pages.Run, error) { return f.read(dirs), nil })
	if err != nil {
		return err
	}
	f.outsideRuns(dirs)
	if err := f.err(); err != nil {
		return err
	}
	if err := rundir.CanWrite(path); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	title := f.heading(runs)
	if err := rundir.WriteFile(path, func(w io.Writer) error { return pages.Write(stopped{ctx, w}, title, runs) }); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for i, r := range runs {
		for _, left := range r.Left {
			f.warn(a, []string{fmt.Sprintf("%s: %s are not on the page", shown(dirs[i]), left)})
		}
	}
	return f.result(dirs, title, runs).print(a, f.format)
}

// outsideRuns records where --out lies in one of the runs, which a page is no part of:
// it could take the place of a file that run.json lists.
func (f *reportFlags) outsideRuns(dirs []string) {
	for _, dir := range dirs {
		if f.out != "" && inside(f.out, dir) {
			f.addf("--out %s lies in the run directory %s, want another place", shown(f.out), shown(dir))
		}
	}
}

// file checks --out and returns the file to write.
func (f *reportFlags) file() string {
	if f.out == "" {
		f.addf("--out is missing, want a file that ends in .html")
		return ""
	}
	if strings.ToLower(filepath.Ext(f.out)) != ".html" {
		f.addf("--out %s, want a file that ends in .html", f.out)
		return f.out
	}
	return f.target("--out", f.out)
}

// read reads every run and records what is wrong with them.
func (f *reportFlags) read(dirs []string) []*pages.Run {
	var runs []*pages.Run
	seen := map[string]bool{}
	for i, dir := range dirs {
		if seen[followed(dir)] {
			f.addf("report %s is given twice, want each run once", shown(dir))
			continue
		}
		seen[followed(dir)] = true
		run, err := pages.Read(dir, fmt.Sprintf("run-%d", i+1))
		var incomplete *pages.IncompleteError
		if errors.As(err, &incomplete) {
			f.hint("finish that run: give its command again, or see " + filepath.Join(dir, "run.json"))
		}
		f.add("report "+shown(dir)+":", err)
		if err == nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// heading returns the title of the page.
func (f *reportFlags) heading(runs []*pages.Run) string {
	switch {
	case f.title != "":
		return f.title
	case len(runs) == 1:
		return "Report on " + runs[0].Name
	}
	return fmt.Sprintf("Report on %d runs", len(runs))
}

// A reportRow is what the page has of a run.
type reportRow struct {
	Directory string `parquet:"directory"`
	Command   string `parquet:"command"`
	Claims    int    `parquet:"claims"`
	Checks    int    `parquet:"checks"`
	Tables    int    `parquet:"tables"`
	Figures   int    `parquet:"figures"`
}

// result returns what was written, in each format.
func (f *reportFlags) result(dirs []string, title string, runs []*pages.Run) result[reportRow] {
	var rows []reportRow
	list := []output.Object{}
	for i, r := range runs {
		row := reportRow{dirs[i], r.Record.Command, r.Claims, r.Checks, r.Tables, r.Figures}
		rows = append(rows, row)
		list = append(list, output.Object{
			{Key: "directory", Value: row.Directory},
			{Key: "command", Value: row.Command},
			{Key: "claims", Value: row.Claims},
			{Key: "checks", Value: row.Checks},
			{Key: "tables", Value: row.Tables},
			{Key: "figures", Value: row.Figures},
		})
	}
	o := header("report").Object()
	o.Add("page", f.out)
	o.Add("title", title)
	o.Add("runs", list)
	return result[reportRow]{o, rows, func(t *output.Text) { f.text(t, dirs, rows) }}
}

// text says what the page holds.
func (f *reportFlags) text(t *output.Text, dirs []string, rows []reportRow) {
	line := newCommandLine("report")
	for _, dir := range dirs {
		line.argument(dir)
	}
	if f.title != "" {
		line.add("title", f.title)
	}
	line.add("out", f.out)
	t.Command(line.String())
	t.Blank()
	g := output.Grid{Head: []string{"run", "command", "claims", "checks", "tables", "figures"}, Left: 1}
	for _, r := range rows {
		g.Add(r.Directory, r.Command, fmt.Sprint(r.Claims), fmt.Sprint(r.Checks), fmt.Sprint(r.Tables), fmt.Sprint(r.Figures))
	}
	t.Grid(g)
}
