package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"vigorlab/distributions/table"
)

// A Refusal is why a log did not become a table: every finding that stands
// against it.
type Refusal struct{ Findings []Finding }

func (e *Refusal) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.Text
	}
	return strings.Join(texts, "\n")
}

// A Size is how many groups have so many rollouts.
type Size struct {
	Size   int `json:"size"`
	Groups int `json:"groups"`
}

// A Level is a reward value with the number of rollouts that have it.
type Level struct {
	Reward   float64 `json:"reward"`
	Rollouts int     `json:"rollouts"`
}

// A Report says what an import did. Rows counts rollouts as they were logged:
// those of the table, dropped, duplicated and superseded ones. Torn counts
// records that cannot be read.
type Report struct {
	From       string   `json:"from"`
	Why        string   `json:"why"` // it was taken for that format
	Basis      string   `json:"basis"`
	Files      int      `json:"files"`
	Rows       int      `json:"rows"`
	Prompts    int      `json:"prompts"`
	Steps      int      `json:"steps"`
	Groups     int      `json:"groups"`
	GroupSizes []Size   `json:"group_sizes"`
	Grouping   string   `json:"grouping"`
	Reward     string   `json:"reward"`
	Support    []Level  `json:"support"`
	Continuous bool     `json:"continuous"` // there are more reward values than Support lists
	Success    string   `json:"success"`    // the rule, "" for rewards that stay graded
	Constant   int      `json:"constant_groups"`
	Within     float64  `json:"variance_within"` // of rewards, over groups of at least two
	Between    float64  `json:"variance_between"`
	Coerced    int      `json:"coerced"`
	Dropped    int      `json:"dropped"`
	Torn       int      `json:"torn"`
	Duplicated int      `json:"duplicated"`
	Superseded int      `json:"superseded"`
	Warnings   []string `json:"warnings"`
	Notes      []string `json:"notes"`

	Findings []Finding `json:"-"`
}

// A Log is a log that was read and is sound. Its rows are made one at a time, of
// rollouts that lie on the disk where they are many. Build it with Read, and
// close it.
type Log struct {
	Report *Report
	Shape  table.Shape // of the rows

	rows  iter.Seq2[table.Row, error]
	close func()
}

// Read reads logs. One that must not become a table is a *Refusal, with every
// reason at once.
//
// Memory grows with what tells rollouts apart, and not with their number: some 60
// bytes a prompt and those of its name, some 30 a rollout of the one step that
// has the most. The rest, some 25 bytes a rollout, is beyond a few megabytes on
// the disk: beside Out, in a file that vanishes with the process. Where no step is
// logged, all is of one step. Canonical tables are read as a whole.
func Read(ctx context.Context, o Options) (*Log, error) {
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	im := newImporter(ctx, o)
	im.steps = newSteps(o.dir())
	l, err := im.log(files)
	if err != nil {
		im.close()
		return nil, err
	}
	return l, nil
}

// log reads files.
func (im *importer) log(files []logFile) (*Log, error) {
	if err := im.read(files); err != nil {
		return nil, err
	}
	if im.format.ready() {
		return im.tables(files)
	}
	report, rule, err := im.judged()
	if err != nil {
		return nil, err
	}
	c := &im.census
	return &Log{report, table.Shape{
		Graded: rule == Rule{}, Outcomes: true, Steps: c.stepped, Visits: c.revisits, Tokens: !c.unmeasured, Truncated: !c.unended,
	}, im.rowsOf(rule), im.close}, nil
}

// Rows yields the rows by step, then in the order of the log. Errors are those of
// the disk.
func (l *Log) Rows() iter.Seq2[table.Row, error] { return l.rows }

// Write writes the table as the extension of name says.
func (l *Log) Write(w io.Writer, name string) error {
	return table.WriteRows(w, name, l.Shape, l.rows)
}

// Close gives up what lies on the disk. Rows are not to be asked for afterwards.
func (l *Log) Close() { l.close() }

// Import reads logs as Read does, into a table in memory.
func Import(ctx context.Context, o Options) (*table.Table, *Report, error) {
	l, err := Read(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	t := &table.Table{Name: strings.Join(o.Paths, " "), Graded: l.Shape.Graded, HasTokens: l.Shape.Tokens, HasTruncated: l.Shape.Truncated}
	t.Rows = make([]table.Row, 0, l.Report.Groups)
	for row, err := range l.Rows() {
		if err != nil {
			return nil, nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, l.Report, nil
}

// files checks the options and returns the files that they name.
func (o Options) files() ([]logFile, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return expand(o.Paths, o.Out)
}

func newImporter(ctx context.Context, o Options) *importer {
	return &importer{
		evidence: newEvidence(o), ctx: ctx, twins: map[string]string{},
		names: newNames(), digests: map[uint64]uint64{},
	}
}

// close gives up what lies on the disk.
func (im *importer) close() {
	im.shelf.spill.close()
	if im.steps != nil {
		im.steps.spill.close()
	}
}

// read reads files until one shows that the log will be refused.
func (im *importer) read(files []logFile) error {
	for _, f := range files {
		im.total += f.size
	}
	for _, f := range files {
		if err := im.open(f); err != nil {
			return err
		}
		if im.joined || im.badLine > 0 && !im.o.Lenient {
			break
		}
	}
	switch {
	case im.format == nil && im.bad > 0:
		return errors.New(im.badExample)
	case im.format == nil:
		return fmt.Errorf("none of %d files is a log: %s", len(files), short(append(im.skipped, torn(im.tornTails)...)))
	}
	return nil
}

// torn says of files that they end within their first record.
func torn(paths []string) []string {
	said := make([]string, len(paths))
	for i, p := range paths {
		said[i] = p + " (ends in the middle of its first record)"
	}
	return said
}

// check reports options that cannot be.
func (o Options) check() error {
	var errs []error
	if len(o.Paths) == 0 {
		errs = append(errs, errors.New("no paths, want at least one file, folder or pattern"))
	}
	if o.From != "" && o.From != Auto && !slices.Contains(Formats(), o.From) {
		errs = append(errs, fmt.Errorf("from = %s, want %s or one of %s", o.From, Auto, strings.Join(Formats(), ", ")))
	}
	if !slices.Contains([]string{"", Auto, GroupID, GroupText, GroupPosition}, o.Group) {
		errs = append(errs, fmt.Errorf("group = %s, want %s, %s, %s or %s", o.Group, Auto, GroupID, GroupText, GroupPosition))
	}
	if (o.Group == GroupPosition) != (o.GroupSize >= 1) {
		errs = append(errs, fmt.Errorf("group-size = %d with group = %s, want a whole number >= 1 with group = %s and none otherwise", o.GroupSize, o.Group, GroupPosition))
	}
	if o.Group == GroupPosition && o.Lenient {
		errs = append(errs, errors.New("lenient with group = position: a record that is left out would shift all groups after it"))
	}
	return errors.Join(errs...)
}

// open reads one file.
func (im *importer) open(f logFile) error {
	im.file, im.opened, im.twice, im.seen, im.rank = f, false, false, support{}, 0
	seen := func(n int) {
		im.done += int64(n)
		if im.o.Progress != nil {
			im.o.Progress(min(im.done, im.total), im.total)
		}
	}
	if f.aside != "" {
		seen(int(f.size))
		return im.skip(f.aside, false)
	}
	err := f.read(im, seen)
	im.ended(&im.seen, f.path)
	var kind errKind
	var strange *unknown
	var other *otherFormat
	switch {
	case errors.As(err, &kind):
		return im.skip(kind.Error(), false)
	case errors.As(err, &strange):
		return im.skip(strange.describe(im.o.From), f.named)
	case errors.As(err, &other):
		return fmt.Errorf("%s is a log of %s, files before it one of %s: import one at a time", f.path, other.format.name, im.format.name)
	case err == nil && !im.opened && len(im.tornTails) == 0 && im.bad == 0:
		return im.skip("empty", false)
	case err != nil && !errors.Is(err, errStop):
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// skip sets a file aside; must says that the user named it.
func (im *importer) skip(why string, must bool) error {
	if must {
		return fmt.Errorf("%s: %s", im.file.path, why)
	}
	im.skipped = append(im.skipped, fmt.Sprintf("%s (%s)", im.file.path, why))
	return nil
}

// An unknown is a record that no format has.
type unknown struct{ keys string }

func (e *unknown) Error() string { return "no log that is known" }

func (e *unknown) describe(from string) string {
	if from == "" || from == Auto {
		return fmt.Sprintf("no log that is known: its records have the keys %.200s", e.keys)
	}
	return fmt.Sprintf("no log of %s: its records have the keys %.200s, want %s", from, e.keys, wanted(from))
}

// An otherFormat is a record of another format than the files before.
type otherFormat struct{ format *format }

func (e *otherFormat) Error() string { return "another format" }

// groups yields the groups that count, step by step, in order of appearance.
func (im *importer) groups(yield func([]*group) error) error {
	if im.steps == nil {
		kept := im.tally.kept()
		for len(kept) > 0 {
			next := slices.IndexFunc(kept, func(g *group) bool { return g.step != kept[0].step })
			if next < 0 {
				next = len(kept)
			}
			if err := yield(kept[:next]); err != nil {
				return err
			}
			kept = kept[next:]
		}
		return nil
	}
	var buffer []byte
	for _, step := range slices.Sorted(maps.Keys(im.steps.kept)) {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		im.tally.clear()
		if err := im.steps.gather(step, im.tally, &buffer); err != nil {
			return err
		}
		if err := yield(im.tally.kept()); err != nil {
			return err
		}
	}
	im.tally.clear()
	im.steps.spill.close()
	return nil
}

// judged judges what was read and reports it, with the rule of successes.
func (im *importer) judged() (*Report, Rule, error) {
	im.compare()
	im.digests = nil
	if err := im.finish(len(im.names.ends), im.groups); err != nil {
		return nil, Rule{}, err
	}
	findings := im.verdicts()
	against := slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Action != Refuse })
	if len(against) > 0 {
		return nil, Rule{}, &Refusal{against}
	}
	rule := im.o.Success
	if rule == (Rule{}) {
		rule, _ = im.support.rule()
	}
	return im.report(findings, rule), rule, nil
}

// report says what was done.
func (im *importer) report(findings []Finding, rule Rule) *Report {
	e := im.evidence
	r := &Report{
		From: e.format.name, Why: "records have the keys " + strings.Join(e.format.keys, ", "), Basis: e.format.basis,
		Files: e.files, Rows: e.rows, Prompts: e.census.prompts, Steps: e.census.steps, Groups: e.census.groups, Grouping: e.grouping(), Reward: e.column,
		Continuous: e.support.more, Success: rule.String(), Constant: e.census.constant,
		Coerced: e.coerced, Dropped: e.dropped, Torn: len(e.tornTails) + e.bad, Duplicated: e.duplicated, Superseded: e.tally.superseded,
		Support: []Level{}, Warnings: []string{}, Notes: []string{}, Findings: findings,
	}
	r.Within, r.Between, _ = e.census.split()
	for _, n := range slices.Sorted(maps.Keys(e.census.sizes)) {
		r.GroupSizes = append(r.GroupSizes, Size{n, e.census.sizes[n]})
	}
	for i, x := range e.support.values {
		r.Support = append(r.Support, Level{x, e.support.counts[i]})
	}
	for _, f := range findings {
		if f.Action == Note {
			r.Notes = append(r.Notes, f.Text)
		} else {
			r.Warnings = append(r.Warnings, f.Text)
		}
	}
	return r
}

// fill counts what the table has.
func (r *Report) fill(t *table.Table) {
	prompts, steps, sizes := map[string]bool{}, map[int]bool{}, map[int]int{}
	for _, row := range t.Rows {
		prompts[row.PromptID], steps[row.Step] = true, true
		sizes[row.N]++
	}
	r.Prompts, r.Steps = len(prompts), len(steps)
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		r.GroupSizes = append(r.GroupSizes, Size{n, sizes[n]})
	}
}

// rowsOf returns the groups as the rows of a table.
func (im *importer) rowsOf(rule Rule) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		for g, err := range im.shelf.each() {
			if err != nil {
				yield(table.Row{}, err)
				return
			}
			if !yield(im.row(g, rule), nil) {
				return
			}
		}
	}
}

// row returns a group as the row of a table.
func (im *importer) row(g *group, rule Rule) table.Row {
	row := table.Row{PromptID: string(im.names.at(g.prompt)), Step: int(g.step), Visit: int(g.visit), N: len(g.reward)}
	if rule == (Rule{}) {
		row.Rewards = slices.Clone(g.reward)
	} else {
		outcomes := make([]byte, len(g.reward))
		for i, x := range g.reward {
			outcomes[i] = '0'
			if rule.Success(x) {
				outcomes[i] = '1'
				row.S++
			}
		}
		row.Outcomes = string(outcomes)
	}
	if !im.census.unmeasured {
		row.Tokens = g.tokens / float64(g.measured)
	}
	if !im.census.unended {
		row.Truncated = float64(g.cut) / float64(g.ended)
	}
	return row
}

// tables joins canonical tables into one.
func (im *importer) tables(files []logFile) (*Log, error) {
	if im.o.Reward != "" || im.o.Success != (Rule{}) || im.o.Group == GroupText || im.o.Group == GroupPosition {
		return nil, fmt.Errorf("%s is a table with prompts and successes: there is no reward, success or group left to choose", files[0].path)
	}
	all := &table.Table{Name: strings.Join(im.o.Paths, " "), HasTokens: true, HasTruncated: true}
	rule := Rule{"==", 1}
	r := &Report{
		From: tableFormat, Why: "records have the keys " + strings.Join(im.format.keys, ", "), Basis: im.format.basis,
		Grouping: "id: prompt_id", Reward: "successes", Success: rule.String(), Support: []Level{}, Warnings: []string{}, Notes: []string{},
	}
	type key struct {
		prompt      string
		step, visit int
	}
	seen := map[key]string{}
	for _, f := range files {
		t, err := readTable(f.path)
		if err != nil {
			return nil, err
		}
		for _, row := range t.Rows {
			k := key{row.PromptID, row.Step, row.Visit}
			if first, twice := seen[k]; twice {
				return nil, fmt.Errorf("%s: (prompt_id, step, visit) = (%.80q, %d, %d) is in %s, too, want it once", f.path, k.prompt, k.step, k.visit, first)
			}
			seen[k] = f.path
			r.Rows += row.N
			if !row.Varied() {
				r.Constant++
			}
		}
		all.Rows = append(all.Rows, t.Rows...)
		all.HasTokens, all.HasTruncated = all.HasTokens && t.HasTokens, all.HasTruncated && t.HasTruncated
		r.Files++
	}
	r.Groups = len(all.Rows)
	r.fill(all)
	return &Log{r, all.Shape(), lacking(all).All(), func() {}}, nil
}

func readTable(path string) (*table.Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return table.Read(f, path)
}

// lacking takes from all rows what some of them lack.
func lacking(t *table.Table) *table.Table {
	for i := range t.Rows {
		if !t.HasTokens {
			t.Rows[i].Tokens = 0
		}
		if !t.HasTruncated {
			t.Rows[i].Truncated = 0
		}
	}
	return t
}
