// Package figures holds what stands beside a picture, so that it can be drawn again and
// printed: its data as JSON and as a tidy table, and its caption in Markdown and
// LaTeX. It refuses computing, and opening files.
package figures

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
)

// Schema is the version of the JSON document: keys may be added under it, none
// renamed.
const Schema = 1

// The ends of the names of what stands beside a picture.
const (
	DataEnd     = ".json"
	TableEnd    = ".csv"
	MarkdownEnd = ".caption.md"
	LaTeXEnd    = ".caption.tex"
)

// A Figure is the data of a picture and what its caption says.
type Figure struct {
	Name    string // of its files, without their ends
	Version string // of vigorlab that found the data
	Command string // the name of the command that did, or of several with commas between
	Coding  string // output.Signed or output.Binary
	Width   plots.Width
	Caption Caption
	Data    plots.Data
}

// commandsBetween parts the names of commands whose figures share one.
const commandsBetween = ", "

// A Caption is what a caption states.
type Caption struct {
	What        string   // sentences that say what is drawn
	Populations []string // specs or tables
	Strategies  []string // specs
	Replicates  []string // how many of what; none where every number is exact
	Intervals   []string // their level and kind; none where there are none
	Seeds       []uint64
	Commands    []string // that made the numbers
}

// A File is a file of a figure.
type File struct {
	Name    string
	Content []byte
}

// Bounded reports whether any number of the figure has an interval; as in plots.Point,
// [0, 0] is none.
func (f *Figure) Bounded() bool {
	return slices.ContainsFunc(f.Data.Table(), func(r plots.Row) bool {
		return !math.IsNaN(r.Low) && !math.IsNaN(r.High) && (r.Low != 0 || r.High != 0)
	})
}

// A Look is how a picture is drawn.
type Look struct {
	Style   plots.Style
	Width   plots.Width // 0 for that of the figure in the style
	Formats []string    // of plots.Formats
}

// WidthIn returns the width of the figure's pictures in a look.
func (f *Figure) WidthIn(look Look) plots.Width {
	if look.Width != 0 {
		return look.Width
	}
	return look.Style.Width(f.Width)
}

// Pictures returns the figure in every format, and what it does not show.
func (f *Figure) Pictures(look Look) (files []File, notes []string, err error) {
	drawn, err := f.Data.Draw()
	if err != nil {
		return nil, nil, fmt.Errorf("figure %s: %w", f.Name, err)
	}
	width := f.WidthIn(look)
	for _, format := range look.Formats {
		content, err := plots.Render(drawn, format, width, look.Style)
		if err != nil {
			return nil, nil, fmt.Errorf("figure %s: %w", f.Name, err)
		}
		files = append(files, File{f.Name + "." + format, content})
	}
	for _, note := range drawn.Notes() {
		notes = append(notes, fmt.Sprintf("figure %s: %s", f.Name, note))
	}
	return files, notes, nil
}

// Records returns data and captions.
func (f *Figure) Records() ([]File, error) {
	table, err := f.table()
	if err != nil {
		return nil, fmt.Errorf("figure %s: %w", f.Name, err)
	}
	return []File{
		{f.Name + DataEnd, f.encode()},
		{f.Name + TableEnd, table},
		{f.Name + MarkdownEnd, []byte(f.markdown())},
		{f.Name + LaTeXEnd, []byte(f.latex())},
	}, nil
}

// A tableRow is a plots.Row as CSV has it; what is NaN there is empty here.
type tableRow struct {
	Panel  string   `parquet:"panel"`
	Group  string   `parquet:"group"`
	Series string   `parquet:"series"`
	Number string   `parquet:"number"`
	X      *float64 `parquet:"x,optional"`
	Y      *float64 `parquet:"y,optional"`
	Low    *float64 `parquet:"low,optional"`
	High   *float64 `parquet:"high,optional"`
}

// table returns the tidy table, a row a number.
func (f *Figure) table() ([]byte, error) {
	number := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	var rows []tableRow
	for _, r := range f.Data.Table() {
		rows = append(rows, tableRow{r.Panel, r.Group, r.Series, r.Number, number(r.X), number(r.Y), number(r.Low), number(r.High)})
	}
	var b bytes.Buffer
	err := output.CSV(&b, rows)
	return b.Bytes(), err
}

// A Run is a figure of a run, and what tells the run from others.
type Run struct {
	Name   string
	Figure *Figure
}

// Overlay returns one figure of all runs, and what it cannot show of them; see
// plots.Overlay.
func Overlay(runs []Run) (*Figure, []string, error) {
	all := *runs[0].Figure
	parts := make([]plots.Run, len(runs))
	for i, r := range runs {
		parts[i] = plots.Run{Name: r.Name, Data: r.Figure.Data}
		all.Width = max(all.Width, r.Figure.Width)
		if !slices.Contains(strings.Split(all.Command, commandsBetween), r.Figure.Command) {
			all.Command += commandsBetween + r.Figure.Command
		}
		if r.Figure.Coding != all.Coding {
			return nil, nil, fmt.Errorf("figure %s: rewards are of %s coding in one run and of %s in another, want one", all.Name, all.Coding, r.Figure.Coding)
		}
		if i > 0 {
			all.Caption.join(&r.Figure.Caption)
		}
	}
	data, notes, err := plots.Overlay(parts)
	if err != nil {
		return nil, nil, fmt.Errorf("figure %s: %w", all.Name, err)
	}
	all.Data = data
	all.Caption.What = whatOf(runs, len(all.Caption.Commands))
	for i, note := range notes {
		notes[i] = fmt.Sprintf("figure %s: %s", all.Name, note)
	}
	return &all, notes, nil
}

// whatOf says what is drawn, once or run by run, and how labels name the runs, whose
// commands stand in the same order where each has its own.
func whatOf(runs []Run, commands int) string {
	what := runs[0].Figure.Caption.What
	alike := !slices.ContainsFunc(runs, func(r Run) bool { return r.Figure.Caption.What != what })
	names := make([]string, len(runs))
	var each []string
	for i, r := range runs {
		names[i] = r.Name
		each = append(each, r.Name+": "+r.Figure.Caption.What)
	}
	if !alike {
		what = strings.Join(each, " ")
	}
	order := ""
	if commands == len(runs) {
		order = ", in the order of their commands"
	}
	return fmt.Sprintf("%s Labels end in the run that numbers are of: %s%s.", what, strings.Join(names, "; "), order)
}

// join adds what other states beyond c, its words apart.
func (c *Caption) join(other *Caption) {
	c.Populations = union(c.Populations, other.Populations)
	c.Strategies = union(c.Strategies, other.Strategies)
	c.Replicates = union(c.Replicates, other.Replicates)
	c.Intervals = union(c.Intervals, other.Intervals)
	c.Seeds = union(c.Seeds, other.Seeds)
	c.Commands = union(c.Commands, other.Commands)
}

// union returns a with what b has beyond it, in their order.
func union[T comparable](a, b []T) []T {
	a = slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}
