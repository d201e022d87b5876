package pages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

// The files of a run directory that a page rests on.
const (
	recordFile  = "run.json"
	resultsFile = "results.json"
	figuresFile = "results.csv"
	reportFile  = "report.md"
)

// titles say what the runs of a command are about, where its report has no title.
var titles = map[string]string{
	"theory":   "What theory says",
	"simulate": "Strategies on synthetic prompts",
	"replay":   "Strategies on recorded outcomes",
	"fit":      "Laws of difficulty fitted to a table",
	"plan":     "A schedule for a pilot",
	"rollout":  "A batch of rollouts",
	"grade":    "Rewards of a log, judged again",
}

// An IncompleteError reports a run that has not ended yet, or was stopped.
type IncompleteError struct{ Status, Reproduce string }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s: status = %s, want %s", recordFile, e.Status, rundir.Complete)
}

// results is what pages read of results.json.
type results struct {
	Schema   int             `json:"schema"`
	Version  string          `json:"version"`
	Command  string          `json:"command"`
	Coding   string          `json:"coding"`
	Warnings []string        `json:"warnings"`
	Rungs    []claim         `json:"rungs"`
	Verdict  json.RawMessage `json:"verdict"` // of fit: sentences
	Best     struct {
		Verdict string `json:"verdict"` // of plan
	} `json:"best"`
}

// A reader reads one run directory.
type reader struct {
	root    *os.Root
	run     *Run
	claims  []claim
	placed  map[string]bool // figures and tables of claims that stand in a section
	figures map[string]*Figure
	names   []string // of figures, as the run wrote them
	tables  int
}

// Read reads a complete run directory, for the place in a page that id names: run-1.
// Its errors name the file and what is wrong in it.
func Read(dir, id string) (*Run, error) {
	record, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := nameOf(dir)
	if err != nil {
		return nil, err
	}
	r := &reader{root: root, placed: map[string]bool{}, figures: map[string]*Figure{}}
	r.run = &Run{ID: id, Name: name, Record: record}
	if err := r.listed(); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.run, nil
}

// nameOf returns the name of a directory without the folders above it, which are
// nobody's business where the page is read.
func nameOf(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	return filepath.Base(full), err
}

// readRecord returns the record of a run that is complete.
func readRecord(dir string) (*rundir.Record, error) {
	record, err := rundir.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s in it, want the directory of a run", recordFile)
	}
	var unread *fs.PathError
	if errors.As(err, &unread) {
		return nil, fmt.Errorf("%s: %w", recordFile, unread.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", recordFile, errors.Unwrap(err))
	}
	var errs []error
	fault := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s: %s = %.60q, want %s", recordFile, field, fmt.Sprint(value), want))
	}
	if record.Schema != output.Schema {
		fault("schema", record.Schema, strconv.Itoa(output.Schema))
	}
	for _, f := range []struct{ field, value string }{
		{"version", record.Version},
		{"command", record.Command},
		{"reproduce", record.Reproduce},
	} {
		if strings.TrimSpace(f.value) == "" {
			fault(f.field, f.value, "what vigorlab writes there")
		}
	}
	var specs map[string]any
	if err := json.Unmarshal(record.Specs, &specs); err != nil || specs == nil {
		fault("specs", string(record.Specs), "an object")
	}
	if len(errs) == 0 && record.Status != rundir.Complete {
		errs = append(errs, &IncompleteError{record.Status, record.Reproduce})
	}
	return record, errors.Join(errs...)
}

// listed checks that every file of the run is there.
func (r *reader) listed() error {
	for _, name := range r.run.Record.Files {
		if !fs.ValidPath(name) {
			return fmt.Errorf("%s: files has %.60q, want names inside the directory", recordFile, name)
		}
		info, err := r.root.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is not there, and %s lists it", name, recordFile)
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no file, and %s lists it", name, recordFile)
		}
	}
	for _, name := range []string{resultsFile, figuresFile} {
		if !r.has(name) {
			return fmt.Errorf("%s: files lacks %s, want the results of a run", recordFile, name)
		}
	}
	return nil
}

// has reports whether the run wrote a file.
func (r *reader) has(name string) bool { return slices.Contains(r.run.Record.Files, name) }

// read fills in the run.
func (r *reader) read() error {
	content, err := r.root.ReadFile(resultsFile)
	if err != nil {
		return err
	}
	found, err := r.results(content)
	if err != nil {
		return err
	}
	if err := r.readDrawings(); err != nil {
		return err
	}
	if err := r.report(found); err != nil {
		return err
	}
	r.leftFigures()
	if err := r.leftClaims(); err != nil {
		return err
	}
	if len(r.claims) == 0 {
		if err := r.figureTables(); err != nil {
			return err
		}
	}
	r.parameters()
	r.repeat()
	return nil
}

// results checks results.json against run.json.
func (r *reader) results(content []byte) (*results, error) {
	var found results
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	var errs []error
	for _, f := range []struct{ field, value, want string }{
		{"schema", strconv.Itoa(found.Schema), strconv.Itoa(r.run.Record.Schema)},
		{"version", found.Version, r.run.Record.Version},
		{"command", found.Command, r.run.Record.Command},
	} {
		if f.value != f.want {
			errs = append(errs, fmt.Errorf("%s: %s = %.60q, want %s as in %s", resultsFile, f.field, f.value, f.want, recordFile))
		}
	}
	if found.Coding != output.Signed && found.Coding != output.Binary {
		errs = append(errs, fmt.Errorf("%s: coding = %.60q, want %s or %s", resultsFile, found.Coding, output.Signed, output.Binary))
	}
	for _, err := range flatten(checkClaims(found.Rungs)) {
		errs = append(errs, fmt.Errorf("%s: %w", resultsFile, err))
	}
	r.run.Coding, r.run.Warnings = found.Coding, append(found.Warnings, r.run.Record.Notices...)
	if r.claims = found.Rungs; len(r.claims) > 0 {
		r.run.Tally = tally(r.claims)
		for _, count := range r.run.Tally {
			r.run.Claims += count.Number
		}
		r.run.Checks = len(r.claims) - r.run.Claims
	}
	return &found, errors.Join(errs...)
}

// flatten returns joined errors one by one.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

// drawings reads every figure of the run, with the caption that stands beside it.
func (r *reader) readDrawings() error {
	for _, file := range r.run.Record.Files {
		name, ok := strings.CutSuffix(file, ".svg")
		if !ok || path.Dir(file) != "figures" {
			continue
		}
		name = path.Base(name)
		content, err := r.root.ReadFile(file)
		if err != nil {
			return err
		}
		f := &Figure{Name: name, Alt: wordsOf(name)}
		prefix := fmt.Sprintf("%s-figure-%d-", r.run.ID, len(r.names)+1)
		if f.SVG, f.Width, err = inlineSVG(content, prefix, f.Alt); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if f.Caption, err = r.caption(name); err != nil {
			return err
		}
		r.names, r.figures[name] = append(r.names, name), f
	}
	r.run.Figures = len(r.names)
	return nil
}

// wordsOf returns the name of a figure in words.
func wordsOf(name string) string { return strings.ReplaceAll(name, "-", " ") }

// caption returns the caption that a run wrote beside a figure, or one that says
// which run it is of.
func (r *reader) caption(name string) ([]Span, error) {
	file := "figures/" + name + ".caption.md"
	if !r.has(file) {
		return r.subject(name), nil
	}
	content, err := r.root.ReadFile(file)
	return inline(strings.Join(strings.Fields(string(content)), " ")), err
}

// subjects are the specs without which no figure can be read.
var subjects = strings.Fields("population populations table tables strategy strategies policy replicates seeds seed")

// subject says what a figure shows: its name, and what it is of.
func (r *reader) subject(name string) []Span {
	first, size := utf8.DecodeRuneInString(name)
	spans := words(string(unicode.ToUpper(first)) + wordsOf(name[size:]))
	for _, f := range facts("", r.run.Record.Specs) {
		if slices.Contains(subjects, f.Name) {
			spans = append(spans, Span{Text: ", " + f.Name + " "}, f.Value)
		}
	}
	return append(spans, Span{Text: ", " + r.run.Coding + " coding."})
}

// section begins a section; those before it are finished.
func (r *reader) section(title string) *Section {
	id := fmt.Sprintf("%s-section-%d", r.run.ID, len(r.run.Sections)+1)
	r.run.Sections = append(r.run.Sections, Section{ID: id, Title: title})
	return r.last()
}

func (r *reader) last() *Section { return &r.run.Sections[len(r.run.Sections)-1] }

// put appends blocks to the last section. A figure behind others joins them.
func (r *reader) put(blocks ...Block) {
	s := r.last()
	for _, b := range blocks {
		if b.Table != nil {
			r.run.Tables++
			if left := b.Table.Left; left != "" && !slices.Contains(r.run.Left, left) {
				r.run.Left = append(r.run.Left, left)
			}
		}
		if n := len(s.Blocks); b.Figures != nil && n > 0 && s.Blocks[n-1].Figures != nil {
			s.Blocks[n-1].Figures = append(s.Blocks[n-1].Figures, b.Figures...)
			continue
		}
		s.Blocks = append(s.Blocks, b)
	}
}

// tableID returns a name for the next table.
func (r *reader) tableID() string {
	r.tables++
	return fmt.Sprintf("%s-table-%d", r.run.ID, r.tables)
}

// ofRung finds the rung that a heading is about.
var ofRung = regexp.MustCompile(`^Rung (\d+):`)

// appendix opens the part of a ladder's report about checks of its own.
const appendix = "Appendix"

// report shows report.md where the run has one: its figures as SVG, its tables of
// claims with all their digits, from results.json. Elsewhere it says what the run
// itself concludes.
func (r *reader) report(found *results) error {
	r.run.Title = titles[r.run.Record.Command]
	if r.run.Title == "" {
		r.run.Title = "A run of " + r.run.Record.Command
	}
	if !r.has(reportFile) {
		return r.conclusions(found)
	}
	content, err := r.root.ReadFile(reportFile)
	if err != nil {
		return err
	}
	rung, kind, heading := 0, kindClaim, ""
	for _, p := range parse(string(content)) {
		text := strings.Join(p.lines, " ")
		switch {
		case p.level == 1:
			r.run.Title = plain(inline(text))
			r.section("Summary")
			continue
		case p.level != 2 && len(r.run.Sections) == 0:
			r.section("Summary")
		}
		if p.level > 0 {
			heading = plain(inline(text))
			rung = 0
			if m := ofRung.FindStringSubmatch(heading); m != nil {
				rung, _ = strconv.Atoi(m[1])
			}
		}
		switch {
		case p.level == 2:
			r.section(heading)
			kind = kindClaim
			if strings.HasPrefix(heading, appendix) {
				kind = kindCheck
			}
		case p.level > 2:
			r.put(Block{Heading: heading})
		case p.code: // the command line, which stands under how to repeat it
		case p.list:
			r.put(Block{List: itemsOf(p.lines)})
		case p.figure != "":
			if err := r.place(p); err != nil {
				return err
			}
		case len(p.table) > 0 && rung > 0 && p.table[0][0] == "verdict":
			r.placeClaims(rung, kind)
		case len(p.table) > 0:
			r.put(Block{Table: markdownTable(r.tableID(), words(heading), p.table)})
		default:
			r.put(Block{Paragraph: inline(text)})
		}
	}
	return nil
}

// itemsOf returns the items of a list.
func itemsOf(lines []string) [][]Span {
	var items [][]Span
	for _, line := range lines {
		items = append(items, inline(strings.TrimPrefix(line, "- ")))
	}
	return items
}

// place puts a figure of the report.
func (r *reader) place(p part) error {
	f := r.figures[p.figure]
	if f == nil {
		return fmt.Errorf("%s shows figures/%s, and the run has no figures/%s.svg", reportFile, p.figure, p.figure)
	}
	if p.caption != "" && !r.has("figures/"+p.figure+".caption.md") {
		f.Caption = inline(p.caption)
	}
	if !r.placed[p.figure] {
		r.put(Block{Figures: []*Figure{f}})
	}
	r.placed[p.figure] = true
	return nil
}

// placeClaims puts the claims, or the checks, of a rung.
func (r *reader) placeClaims(rung int, kind string) {
	t := claimTable(r.tableID(), r.claims, rung, kind)
	if key := claimsOf(rung, kind); t != nil && !r.placed[key] {
		r.put(Block{Table: t})
		r.placed[key] = true
	}
}

func claimsOf(rung int, kind string) string { return fmt.Sprintf("%s of rung %d", kind, rung) }

// conclusions puts what results.json itself concludes.
func (r *reader) conclusions(found *results) error {
	var sentences []string
	if found.Best.Verdict != "" {
		sentences = []string{found.Best.Verdict}
	}
	if len(found.Verdict) > 0 && !bytes.Equal(found.Verdict, []byte("null")) {
		if err := json.Unmarshal(found.Verdict, &sentences); err != nil {
			return fmt.Errorf("%s: verdict: %w", resultsFile, err)
		}
	}
	if len(sentences) == 0 {
		return nil
	}
	var items [][]Span
	for _, s := range sentences {
		items = append(items, words(s))
	}
	r.section("What was found")
	r.put(Block{List: items})
	return nil
}

// leftFigures puts the figures that the report does not show.
func (r *reader) leftFigures() {
	left := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return r.placed[name] })
	if len(left) == 0 {
		return
	}
	r.section("Figures")
	for _, name := range left {
		r.put(Block{Figures: []*Figure{r.figures[name]}})
	}
}

// leftClaims returns an error where the report does not show a rung of results.json.
func (r *reader) leftClaims() error {
	for _, c := range r.claims {
		if !r.placed[claimsOf(c.Rung, c.Kind)] {
			return fmt.Errorf("%s has no table of rung %d, of which %s has the %s %s", reportFile, c.Rung, resultsFile, c.Kind, c.ID)
		}
	}
	return nil
}

// figureTables puts the figures of results.csv.
func (r *reader) figureTables() error {
	content, err := r.root.ReadFile(figuresFile)
	if err != nil {
		return err
	}
	f, err := readFigures(content)
	if err != nil {
		return fmt.Errorf("%s: %w", figuresFile, err)
	}
	r.section("Results")
	r.put(f.blocks(r.tableID(), !r.has(reportFile))...)
	return nil
}

// parameters puts the resolved specs.
func (r *reader) parameters() {
	r.section("Parameters")
	r.put(Block{Facts: facts("", r.run.Record.Specs)})
}

// facts lists the values of a document, by keys with dots into nested objects, in
// their order.
func facts(key string, value json.RawMessage) []Fact {
	d := json.NewDecoder(bytes.NewReader(value))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		if shown := shownJSON(value); shown != "" {
			return []Fact{{key, Span{shown, true}}}
		}
		return []Fact{{key, Span{Text: "not given"}}}
	}
	var list []Fact
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var inner json.RawMessage
		if err := d.Decode(&inner); err != nil {
			break
		}
		list = append(list, facts(strings.TrimPrefix(key+"."+fmt.Sprint(name), "."), inner)...)
	}
	return list
}

// shownJSON returns a value as one reads it: texts without quotes, lists with commas.
func shownJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		shown := make([]string, len(list))
		for i, v := range list {
			shown[i] = shownJSON(v)
		}
		if len(shown) == 0 {
			return "none"
		}
		return strings.Join(shown, "; ")
	}
	var line bytes.Buffer
	if json.Compact(&line, value) != nil {
		return string(value)
	}
	return line.String()
}

// flagsOf splits a command line before its flags.
func flagsOf(line string) []string {
	parts := strings.Split(line, " --")
	for i := range parts[1:] {
		parts[i+1] = "--" + parts[i+1]
	}
	return parts
}

// repeat puts how to get the same numbers again. The machine's name stays at home.
func (r *reader) repeat() {
	rec := r.run.Record
	r.section("How to repeat it")
	r.put(Block{Command: flagsOf(rec.Reproduce)})
	source := rec.Version
	if rec.Revision != "" {
		source += " (" + rec.Revision + ")"
	}
	list := []Fact{
		{"vigorlab", Span{Text: source}},
		{"seed", Span{Text: strconv.FormatUint(rec.Seed, 10)}},
		{"built with", Span{Text: rec.Go}},
		{"machine", Span{Text: fmt.Sprintf("%s/%s, %d processors, %d workers", rec.Machine.OS, rec.Machine.Arch, rec.Machine.CPUs, rec.Workers)}},
		{"begun", Span{Text: rec.Start.UTC().Format("2006-01-02 15:04:05 UTC")}},
	}
	if rec.End != nil {
		list = append(list, Fact{"ended", Span{Text: rec.End.UTC().Format("2006-01-02 15:04:05 UTC")}})
	}
	r.put(Block{Facts: list})
}
