// Package pages writes finished runs as one page of HTML that holds all it shows
// and asks for nothing: figures stand in it as SVG, tables sort, and a policy in its
// head forbids every request. It refuses to compute: it shows what is in run
// directories, and an incomplete, foreign or damaged one is an error.
package pages

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"

	"vigorlab/cmd/vigorlab/internal/rundir"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{"breaks": breaks}).Parse(pageTemplate))

// A Run is a complete run as the page shows it.
type Run struct {
	ID       string // of the section: run-1
	Name     string // the folder of the directory, without its path
	Title    string
	Record   *rundir.Record
	Coding   string
	Tally    []Count // of verdicts, where the run has claims
	Warnings []string
	Sections []Section

	Claims, Checks, Tables, Figures int // that the sections show

	Left []string // what of tables is not on the page, and says so there
}

// A Count is how many claims have a verdict.
type Count struct {
	Verdict Verdict
	Number  int
}

// A Section is a part of a run under a heading of its own.
type Section struct {
	ID, Title string
	Blocks    []Block
}

// A Block is one thing of a section; exactly one of its fields is set.
type Block struct {
	Heading   string
	Paragraph []Span
	List      [][]Span
	Command   []string // flag by flag
	Facts     []Fact
	Table     *Table
	Figures   []*Figure // beside each other where there is room
}

// A Fact is a line of a list of names and values.
type Fact struct {
	Name  string
	Value Span
}

// A Figure is a picture with its caption.
type Figure struct {
	Name    string
	Alt     string
	Caption []Span
	SVG     template.HTML
	Width   float64 // in points, as it stands in a paper
}

// widest is the width, in points, up to which figures stand beside each other: that
// of a column of a paper, and some more.
const widest = 300

// Wide reports whether a figure has a line of its own.
func (f *Figure) Wide() bool { return f.Width > widest }

// parting is where a line of code may break: behind the signs that part it, and in
// names, not in numbers.
var parting = regexp.MustCompile(`[,_/:]|\.\b[A-Za-z]`)

// breaks lets a line of code break.
func breaks(text string) template.HTML {
	return template.HTML(parting.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(sign string) string {
		return sign[:1] + "<wbr>" + sign[1:]
	}))
}

// policy forbids every request and every script but the page's own. Styles stand in
// the page, and inside its figures as attributes.
func policy() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// Write writes the page of runs in their order. The same runs give the same bytes.
func Write(w io.Writer, title string, runs []*Run) error {
	buffer := bufio.NewWriter(w) // the template writes word by word
	if err := page.Execute(buffer, struct {
		Title, Policy string
		Style         template.CSS
		Script        template.JS
		Runs          []*Run
	}{title, policy(), template.CSS(pageStyle), template.JS(pageScript), runs}); err != nil {
		return err
	}
	return buffer.Flush()
}
