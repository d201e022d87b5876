package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// openSweep opens the sweep of a directory that a user named.
func openSweep(dir string) (*sweep.Sweep, error) {
	s, err := sweep.Open(dir)
	if err != nil {
		return nil, usagef("name the --out of a sweep", "%w", err)
	}
	return s, nil
}

// oneDirectory wants a command to have one argument.
func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef(helpHint(cmd), "%d arguments, want the directory of a sweep", len(args))
	}
	return nil
}

func newSweepStatus(a *app) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Say which points of a sweep are done, have failed or are missing",
		Long: `status reads what the tasks of a sweep have written to DIR, while it runs or later: a
point is done, has failed, with its reason, or is missing, as its shard has not been run, or
its rows are not what was written.`,
		Example: `  vigorlab sweep grid.toml --out grid
  vigorlab sweep status grid`,
		Args: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.err(); err != nil {
				return err
			}
			s, err := openSweep(args[0])
			if err != nil {
				return err
			}
			r, err := statusOf(s)
			if err != nil {
				return err
			}
			return r.print(a, c.format)
		},
	}
	c.registerFormat(cmd.Flags())
	return cmd
}

// The states of a point.
const (
	pointDone    = "done"
	pointFailed  = "failed"
	pointMissing = "missing"
)

// A pointRow is the state of a point.
type pointRow struct {
	Point  int64  `parquet:"point"`
	Shard  int64  `parquet:"shard"`
	Status string `parquet:"status"`
	Reason string `parquet:"reason"`
}

// statusOf returns the state of every point and shard.
func statusOf(s *sweep.Sweep) (result[pointRow], error) {
	shards, strays, err := s.Scan()
	if err != nil {
		return result[pointRow]{}, err
	}
	var rows []pointRow
	count := map[string]int{}
	missing, failed := []output.Object{}, []output.Object{}
	for _, k := range shards {
		why := map[int]string{}
		for _, f := range k.Failed {
			why[f.Point] = f.Error
			failed = append(failed, output.Object{{Key: "point", Value: f.Point}, {Key: "error", Value: f.Error}, {Key: "command", Value: pointLine(s.Points[f.Point-1])}})
		}
		if !k.Done() {
			missing = append(missing, output.Object{{Key: "shard", Value: k.Number}, {Key: "from", Value: k.Span.From}, {Key: "to", Value: k.Span.To}, {Key: "reason", Value: missingShard(k)}})
		}
		for number := k.Span.From; number <= k.Span.To; number++ {
			row := pointRow{Point: int64(number), Shard: int64(k.Number), Status: pointDone}
			if text, ok := why[number]; ok {
				row.Status, row.Reason = pointFailed, text
			}
			if !k.Done() {
				row.Status, row.Reason = pointMissing, missingShard(k)
			}
			count[row.Status]++
			rows = append(rows, row)
		}
	}
	o := header("sweep").Object()
	o.Add("of", s.Name)
	o.Add("points", output.Object{
		{Key: "total", Value: len(rows)},
		{Key: pointDone, Value: count[pointDone]},
		{Key: pointFailed, Value: count[pointFailed]},
		{Key: pointMissing, Value: count[pointMissing]},
	})
	o.Add("shards", output.Object{{Key: "total", Value: len(shards)}, {Key: pointMissing, Value: len(missing)}})
	o.Add(pointFailed, failed)
	o.Add(pointMissing, missing)
	o.Add("strays", append([]string{}, strays...))
	return result[pointRow]{o, rows, func(t *output.Text) { statusText(t, s, shards, strays, count) }}, nil
}

// missingShard says why the points of a shard are missing.
func missingShard(k sweep.Shard) string {
	if k.Absent {
		return "its shard has not been run"
	}
	return fmt.Sprintf("shard %04d cannot be used: %s", k.Number, k.Fault)
}

// mostShown is how many failed points and missing shards a table names; the other formats
// have all of them.
const mostShown = 20

func statusText(t *output.Text, s *sweep.Sweep, shards []sweep.Shard, strays []string, count map[string]int) {
	t.Line(fmt.Sprintf("%d points of %s in %d shards: %d done, %d failed, %d missing",
		len(s.Points), s.Name, len(shards), count[pointDone], count[pointFailed], count[pointMissing]))
	var failed []string
	for _, k := range shards {
		for _, f := range k.Failed {
			failed = append(failed, fmt.Sprintf("point %d: %s", f.Point, f.Error))
		}
	}
	for _, section := range []struct {
		head  string
		lines []string
	}{{"Failed", failed}, {"Missing", sweep.Lacks(shards)}, {"There twice", strays}} {
		if len(section.lines) == 0 {
			continue
		}
		t.Heading(section.head)
		for i, line := range section.lines {
			if i == mostShown {
				t.Line(fmt.Sprintf("  and %d more: --format csv has all", len(section.lines)-mostShown))
				break
			}
			t.Note("  ", line)
		}
	}
}

func newSweepMerge(a *app) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "merge DIR",
		Short: "Make one table of a sweep's shards",
		Long: `merge writes results.csv, results.parquet and results.json of a sweep whose tasks have
been run by other means, as by hand or by another scheduler: --print-script prepares DIR,
and vigorlab sweep task DIR --shard N runs one shard. It refuses shards that are missing,
have changed or are there twice, by name. A sweep that ends merges by itself.`,
		Example: `  # prepare DIR, run its shards on any machine that sees it, and merge
  vigorlab sweep grid.toml --out byhand --shards 2 --print-script
  vigorlab sweep task byhand --shard 1
  vigorlab sweep task byhand --shard 2
  vigorlab sweep merge byhand`,
		Args: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.err(); err != nil {
				return err
			}
			f.out = args[0]
			return f.merge(a)
		},
	}
	f.registerFormat(cmd.Flags())
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no warnings on standard error")
	return cmd
}

// merge merges the shards of a directory that no sweep holds.
func (f *sweepFlags) merge(a *app) error {
	s, err := openSweep(f.out)
	if err != nil {
		return err
	}
	if err := s.Whole(); err != nil {
		var c faults
		c.add(f.out+":", err)
		c.hint("vigorlab sweep FILE.toml --out " + quote(f.out) + " runs what is missing")
		return c.err()
	}
	r, err := rundir.Read(f.out)
	if err != nil {
		return err
	}
	if r.Status == rundir.Complete {
		same, err := isMerged(f.out, s)
		if err != nil {
			return err
		}
		if same {
			return f.print(a, s, r.Reproduce)
		}
		if err := rundir.Reopen(f.out); err != nil { // changed by hand
			return err
		}
	}
	d, _, err := rundir.Resume(f.out, *r, false)
	if err != nil {
		return err
	}
	if err := d.End(mergeInto(d, s)); err != nil {
		return err
	}
	return f.print(a, s, r.Reproduce)
}

// newSweepTask returns the hidden command that runs one shard.
func newSweepTask() *cobra.Command {
	var c common
	shard, workers := 0, 1
	cmd := &cobra.Command{
		Use:   "task DIR --shard N",
		Short: "Run one shard of a sweep",
		Long: `task runs the points of one shard of DIR, and writes their rows there. It is what a
cluster is given, and what you run where the scheduler is another: vigorlab sweep FILE.toml
--out DIR --print-script prepares DIR, vigorlab sweep status DIR says how many shards there
are and which are missing, and vigorlab sweep merge DIR makes the table.`,
		Hidden: true,
		Args:   oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openSweep(args[0])
			if err != nil {
				return err
			}
			if shard < 1 || shard > len(s.Shards) {
				c.addf("--shard = %d, want a whole number in [1, %d]", shard, len(s.Shards))
			}
			if s.Version != version || s.Revision != sourceRevision() {
				c.addf("%s was begun by vigorlab %s %s, this is %s %s", args[0], s.Version, s.Revision, version, sourceRevision())
			}
			if err := c.err(); err != nil {
				return err
			}
			executable, err := os.Executable()
			if err != nil {
				return err
			}
			return s.Run(cmd.Context(), executable, shard, workers)
		},
	}
	c.whole(cmd.Flags(), &shard, "shard", 1, maxShards, "the shard `N`")
	c.whole(cmd.Flags(), &workers, "workers", 1, 4096, "`N` points at once")
	return cmd
}
